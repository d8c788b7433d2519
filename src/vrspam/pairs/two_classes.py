"""All pairs of a row of the positive and a row of the negative class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vrspam import metrics
from vrspam._utils.validation import Rows
from vrspam.metrics.correction import RankMeasure, Sample, TwoClassMeasure
from vrspam.moments import AddableSums, ClassMoments, PairSums
from vrspam.objective.squared import SquaredPairLoss
from vrspam.pairs.base import LossOfRows


class TwoClasses:
    """All pairs of two classes, whose labels come with the rows."""

    by_class = True
    has_labels = True
    adds_up = True
    units = None
    measure_name = "AUC"

    def take(self, index: np.ndarray) -> TwoClasses:
        """The pairs among some of the rows."""
        return self

    def moments(
        self,
        rows: Rows,
        classes: np.ndarray,
        index: np.ndarray | None = None,
        *,
        scatter: bool = True,
        precise: bool = True,
    ) -> AddableSums:
        """The moments of both classes."""
        empty = ClassMoments(rows.X.shape[1], classes=classes, scatter=scatter)
        return empty.add_checked(*rows, index=index, precise=precise)

    def squared_loss(
        self, rows: Rows, classes: np.ndarray, sums: PairSums, index: np.ndarray | None
    ) -> SquaredPairLoss:
        """The squared loss by products with the rows."""
        weights = _inside(rows.weights, index, rows.y.size)
        return SquaredPairLoss.from_rows(rows.X, rows.y == classes[1], weights, sums)

    def loss_on_rows(
        self,
        make: LossOfRows,
        X: Any,
        is_upper: np.ndarray,
        weights: np.ndarray | None,
        sums: PairSums,
        index: np.ndarray | None = None,
    ) -> Any:
        """A loss that sorts scores, of both classes."""
        return make(X, is_upper, _inside(weights, index, is_upper.size), sums)

    def tree_targets(
        self, is_upper: np.ndarray, weights: np.ndarray | None, index: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """The labels and weights as they are."""
        return is_upper, weights

    def columns(self, places: np.ndarray | None, is_upper: Any, scores: Any, weights: Any) -> np.ndarray:
        """The AUC of each column of scores."""
        return metrics.roc_auc_columns(is_upper, scores, weights)

    def measure(self, sample: Sample) -> RankMeasure:
        """AUCs and influences of the rows of a sample."""
        return TwoClassMeasure(sample)

    def have_pairs(self, splits: Sequence[Sequence[np.ndarray]], weights: np.ndarray | None) -> bool:
        """Nothing more is asked for than two classes."""
        return True


def _inside(weights: np.ndarray | None, index: np.ndarray | None, n_rows: int) -> np.ndarray | None:
    """Weights that are 0 but for the rows `index`, which may name a row several times."""
    if index is None:
        return weights
    times = np.bincount(index, minlength=n_rows).astype(np.float64)
    return times if weights is None else times * weights


TWO_CLASSES = TwoClasses()
