"""A loss by its name, on the pairs that count."""

from __future__ import annotations

from typing import Any

import numpy as np

from vrspam._utils.findings import Fix, VrspamError
from vrspam._utils.names import LossName
from vrspam._utils.validation import Rows
from vrspam.metrics.partial import check_max_fpr
from vrspam.moments import AddableSums, PairSums
from vrspam.objective import LOSSES
from vrspam.objective.hinge import SquaredHingeLoss
from vrspam.objective.losses import SmoothLoss
from vrspam.objective.partial_hinge import PartialHingeLoss
from vrspam.objective.squared import SquaredPairLoss
from vrspam.pairs.base import Pairs
from vrspam.pairs.two_classes import TWO_CLASSES


class LossChoice:
    """A loss by its name, on all negatives or on the share `max_fpr` of them with the highest scores.

    `needs_rows` is whether the loss needs the rows, not only moments, `is_partial` whether only some of the negatives
    count, `has_part` whether the loss can be restricted to the highest-scored negatives. `pairs` are the pairs of rows
    that count. `least_tol` is the smallest tolerance: the kinks of a partial loss allow none below 1e-6.
    """

    def __init__(self, name: LossName = "squared", max_fpr: float | None = None, pairs: Pairs = TWO_CLASSES):
        self.name = name
        self.max_fpr = max_fpr
        self.pairs = pairs
        self._of_rows = LOSSES.get(name)  # unknown names are refused when parameters are checked
        self.needs_rows = self._of_rows is not None
        self.has_part = self._of_rows is SquaredHingeLoss
        self.is_partial = max_fpr is not None and max_fpr < 1.0
        self.least_tol = 1e-6 if self.is_partial else 0.0

    def check(self) -> None:
        """Refuse `max_fpr` for a loss that cannot be restricted to the highest-scored negatives."""
        if self.max_fpr is not None and not self.has_part:
            raise VrspamError(
                Fix("max_fpr", self.max_fpr),
                " needs ",
                Fix("loss", "squared_hinge"),
                ": with ",
                Fix("loss", self.name),
                " the negatives with the highest scores are not always those that cost most.",
            )

    def on_pairs(self, pairs: Pairs) -> LossChoice:
        """The loss on these pairs; only with all pairs of two classes can it be restricted to some negatives."""
        if self.max_fpr is not None and not pairs.by_class:
            raise VrspamError(
                Fix("max_fpr", self.max_fpr),
                " is not available for pairs inside strata or of censored rows, which have no common ROC curve: leave "
                "it out.",
            )
        return LossChoice(self.name, self.max_fpr, pairs)

    def gather(
        self,
        rows: Rows,
        classes: np.ndarray,
        index: np.ndarray | None = None,
        scatter: bool = True,
        precise: bool = True,
    ) -> AddableSums:
        """The sums over the pairs among the rows in memory, or among the rows `index`."""
        return self.pairs.moments(rows, classes, index, scatter=scatter, precise=precise)

    def by_products(
        self, rows: Rows, classes: np.ndarray, sums: PairSums, index: np.ndarray | None = None
    ) -> SquaredPairLoss:
        """The squared loss without a matrix."""
        return self.pairs.squared_loss(rows, classes, sums, index)

    def from_rows(
        self,
        X: Any,
        is_positive: np.ndarray,
        weights: np.ndarray | None,
        moments: PairSums,
        index: np.ndarray | None = None,
    ) -> SmoothLoss:
        """The loss of the rows in memory, for a loss that needs rows; only pairs among the rows `index` count."""
        assert self._of_rows is not None
        on_all_negatives = self.pairs.loss_on_rows(self._of_rows, X, is_positive, weights, moments, index)
        if not self.is_partial:
            return on_all_negatives
        assert self.max_fpr is not None
        is_negative = ~is_positive
        if weights is not None:
            is_negative = is_negative & (weights > 0.0)
        if index is not None:
            is_negative = is_negative & (np.bincount(index, minlength=is_negative.size) > 0)
        check_max_fpr(self.max_fpr, int(np.count_nonzero(is_negative)))
        return PartialHingeLoss(on_all_negatives, self.max_fpr)


SQUARED = LossChoice()
