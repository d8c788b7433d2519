"""What scores rank, in the words of the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vrspam.tables.schema import Label


@dataclass(frozen=True)
class Outcome:
    """What scores rank: the labels of a column, or pairs of rows that differ in a time, or in an order.

    Attributes
    ----------
    target : str or None
        The column of labels, of events or of an order; None where the labels of a file have no name.
    positive : bool, int, float or str
        The label that is ranked above the others.
    labels : tuple of labels
    times, order, within : str or None
        The column of times, of an order, and of strata.
    """

    target: str | None
    positive: Label
    labels: tuple[Label, ...] = ()
    times: str | None = None
    order: str | None = None
    within: str | None = None

    @classmethod
    def of(cls, target: str | None, positive: Label, labels: tuple[Label, ...], columns: Mapping[str, Any]) -> Outcome:
        """`columns` has the columns that say which pairs count, by "times", "order" and "within"."""
        return cls(
            target,
            positive,
            labels,
            times=columns.get("times"),
            order=columns.get("order"),
            within=columns.get("within"),
        )

    @property
    def ranks(self) -> bool:
        """Whether scores only rank rows: by times, by an order or inside strata."""
        return (self.times, self.order, self.within) != (None, None, None)

    @property
    def others(self) -> list[Label]:
        """The labels that are ranked below the positive one."""
        return [label for label in self.labels if label != self.positive]

    @property
    def classes(self) -> tuple[Label, Label]:
        """The labels that rows are given, the negative one first; one text stands for several negative labels."""
        if len(self.others) == 1:
            return self.others[0], self.positive
        return f"not {self.positive}", str(self.positive)

    @property
    def higher(self) -> str:
        """What a higher score means."""
        if not self.ranks:
            return f"more likely {self.classes[1]!r}"
        inside = "" if self.within is None else f", among rows of the same {self.within}"
        if self.order is not None:
            return f"a larger {self.target}{inside}"
        label = str(self.positive) if self.target is None else f"{self.target} = {self.positive}"
        more = "more likely" if self.times is None else "an earlier"
        return f"{more} {label}{inside}"
