"""The encoders of one column in several maps that stand side by side: one curve, the sum of theirs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from vrspam.features import StackedFeatures
from vrspam.features.encoders import Curves, Indicators


@dataclass(frozen=True)
class CurvesSideBySide:
    """Functions of a column of numbers in several maps, as `Curves` has those of one."""

    members: tuple[Curves, ...]

    @property
    def missing(self) -> bool:
        """Whether values were missing in fit."""
        return self.members[0].missing

    @property
    def extend(self) -> bool:
        """Whether all functions go on as straight lines outside the nodes."""
        return all(member.extend for member in self.members)

    @cached_property
    def nodes(self) -> np.ndarray:
        """Values of the column between which every function is straight."""
        return np.unique(np.concatenate([member.nodes for member in self.members]))

    def design_at(self, values: np.ndarray) -> np.ndarray:
        """The features of these values, in the order of the maps; NaN is a missing one."""
        parts = [np.empty((values.size, member.width)) for member in self.members]
        for member, part in zip(self.members, parts, strict=True):
            member.write(values, part)
        return np.hstack(parts)


@dataclass(frozen=True)
class IndicatorsSideBySide:
    """Indicators of the same categories in several maps, as `Indicators` has those of one."""

    members: tuple[Indicators, ...]

    @property
    def missing(self) -> bool:
        """Whether values were missing in fit."""
        return self.members[0].missing

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories."""
        return self.members[0].categories

    @property
    def width(self) -> int:
        """Number of categories, a missing value among them."""
        return self.members[0].width

    @property
    def codes(self) -> dict[str | None, int]:
        """The number of each category."""
        return self.members[0].codes

    @property
    def design(self) -> np.ndarray:
        """The features of each category, in the order of the maps."""
        return np.hstack([member.design for member in self.members])


def stacked_encoders(features: StackedFeatures) -> list[Any] | None:
    """One encoder for each column of maps whose features are those of single columns; None if they do not agree."""
    found: list[Any] = []
    for members in zip(*(part.encoders_ for part in features.maps_), strict=True):
        if all(isinstance(member, Curves) for member in members):
            found.append(CurvesSideBySide(members))
        elif all(isinstance(member, Indicators) and member.codes == members[0].codes for member in members):
            found.append(IndicatorsSideBySide(members))
        else:
            return None
        if any(member.missing != members[0].missing for member in members):
            return None
    return found
