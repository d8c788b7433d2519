"""`Indicators`: one feature for each category of a column."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Indicators:
    """One feature for each category, 0 or its scale; an unseen category is all zeros or, if `grouped`, a rare one."""

    # if there were too many, the last one stands for all categories that are rare or were not seen before
    categories: tuple[str, ...]
    missing: bool  # whether values were missing in fit: they are a category of their own, the last
    scale: tuple[float, ...] = ()  # the value of each feature in rows of its category; empty for 1
    grouped: int = 0  # how many rare categories the last one stands for; 0 where it is a category like the others

    def check(self) -> None:
        """Refuse categories that are there twice, and scales and rare categories that do not fit."""
        if len(set(self.categories)) < len(self.categories):
            raise ValueError("categories must be different texts")
        if self.grouped < 0 or (self.grouped and not self.categories):
            raise ValueError("the number of rare categories does not fit")
        if len(self.scale) not in (0, self.width):
            raise ValueError(f"{len(self.scale)} scales do not fit {self.width} categories")

    def __getstate__(self) -> dict[str, Any]:
        """What is stored: the fields, not the computed `codes`, whose key None skops would refuse."""
        return {name: value for name, value in self.__dict__.items() if name != "codes"}

    @property
    def width(self) -> int:
        """Number of features."""
        return len(self.categories) + self.missing

    @property
    def scales(self) -> np.ndarray:
        """(width,): the value of each feature in rows of its category."""
        return np.array(self.scale) if self.scale else np.ones(self.width)

    @property
    def other(self) -> int:
        """The number of the feature of any other category: that of the rare ones, or -1 for none."""
        return len(self.categories) - 1 if self.grouped else -1

    @cached_property
    def codes(self) -> dict[str | None, int]:
        """The number of the feature of each category."""
        named = self.categories[:-1] if self.grouped else self.categories
        codes: dict[str | None, int] = {category: number for number, category in enumerate(named)}
        if self.missing:
            codes[None] = len(self.categories)
        return codes

    def names(self, column: str) -> list[str]:
        """Name of each feature."""
        names = [f"{column}={category}" for category in self.categories]
        if self.missing:
            names.append(f"{column}_missing")
        return names

    def write(self, codes: np.ndarray, out: np.ndarray) -> None:
        """Fill `out` (rows × width) with the indicators of rows with these codes; -1 is none of the categories."""
        out[:] = 0.0
        known = np.flatnonzero(codes >= 0)
        out[known, codes[known]] = np.take(self.scale, codes[known]) if self.scale else 1.0
