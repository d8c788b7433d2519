"""What every kind of pairs gives: sums and products for losses, measures for scores, and what splits must keep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from vrspam._utils.validation import Rows
from vrspam.comparable import Comparable
from vrspam.metrics.correction import RankMeasure, Sample
from vrspam.moments import AddableSums, PairSums
from vrspam.objective.losses import SmoothLoss
from vrspam.objective.squared import SquaredPairLoss


class LossOfRows(Protocol):
    """How a loss that sorts scores is made: a class like `vrspam.objective.SquaredHingeLoss`."""

    def __call__(self, X: Any, is_upper: np.ndarray, weights: np.ndarray | None, sums: PairSums, /) -> SmoothLoss:
        """The loss over all pairs of two classes."""

    def of_pairs(self, X: Any, groups: Comparable, sums: PairSums, /) -> SmoothLoss:
        """The loss over certain pairs of ranked rows."""


class Pairs(Protocol):
    """Which pairs of an upper and a lower row count, and how much; inside the package it is never None.

    A loss meets every kind of pairs by what they give it: `moments`, `squared_loss` (products with the rows) or
    `loss_on_rows` (in which scores are sorted). Rows have their labels in `y`, of which the larger
    one stands for upper rows; `index` has the numbers of the rows among which pairs count, all by default.
    """

    @property
    def by_class(self) -> bool:
        """Whether all pairs of two classes count: there is one ROC curve, and sums are those of two classes."""

    @property
    def has_labels(self) -> bool:
        """Whether rows are of two classes, in strata or not, and have no other order."""

    @property
    def adds_up(self) -> bool:
        """Whether the moments of the parts of a split add up to those of all rows."""

    @property
    def units(self) -> np.ndarray | None:
        """The number of the stratum of each row, which no split tears; None if each row is alone."""

    @property
    def measure_name(self) -> str:
        """What `columns` measures, in words."""

    def take(self, index: np.ndarray) -> Pairs:
        """The pairs among some of the rows."""

    def moments(
        self,
        rows: Rows,
        classes: np.ndarray,
        index: np.ndarray | None = None,
        *,
        scatter: bool = True,
        precise: bool = True,
    ) -> AddableSums:
        """Sums over the pairs, in one reading of the rows; `precise` as in `ClassMoments.add_checked`."""

    def squared_loss(
        self, rows: Rows, classes: np.ndarray, sums: PairSums, index: np.ndarray | None
    ) -> SquaredPairLoss:
        """The squared loss by products with the rows; `sums` need no matrices."""

    def loss_on_rows(
        self,
        make: LossOfRows,
        X: Any,
        is_upper: np.ndarray,
        weights: np.ndarray | None,
        sums: PairSums,
        index: np.ndarray | None = None,
    ) -> Any:
        """A loss that sorts scores, over these pairs."""

    def tree_targets(
        self, is_upper: np.ndarray, weights: np.ndarray | None, index: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """The label, from 0 to 1, and the weight of each row, for trees that are grown on the rows `index`."""

    def columns(self, places: np.ndarray | None, is_upper: Any, scores: Any, weights: Any) -> np.ndarray:
        """The AUC, or concordance, of each column of scores of the rows of the numbers `places`."""

    def measure(self, sample: Sample) -> RankMeasure:
        """AUCs and influences of the rows of a sample."""

    def have_pairs(self, splits: Sequence[Sequence[np.ndarray]], weights: np.ndarray | None) -> bool:
        """Whether each part of each split has a pair that counts; two classes are asked for where labels are known."""
