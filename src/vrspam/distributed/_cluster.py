"""What the estimators of every cluster engine share: how rows are checked where they lie, and what clusters refuse.

No engine is imported here. An engine provides its `Blocks`, and estimators that make them from its collections; the
fits themselves are those of streams (`estimators/blocks.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from vrspam.estimators.base import PairwiseEstimator
from vrspam.estimators.cv import AUCClassifierCV
from vrspam.estimators.streams import check_block
from vrspam.features.names import is_plain
from vrspam.objective.blocks import Block
from vrspam.tables import frames

NO_ROWS = "There are no rows: every block of X is empty."


class RowChecks(NamedTuple):
    """How the rows of a block are checked, sent to the workers: as an estimator does, perhaps for a feature map."""

    estimator: PairwiseEstimator
    for_maps: bool = False

    @classmethod
    def of(cls, estimator: PairwiseEstimator, n_features: int) -> RowChecks:
        """The checks of an estimator that is fitted on so many columns."""
        features = getattr(estimator, "features", "linear")
        return cls(clone(estimator), not is_plain(features, np.empty((0, n_features))))

    def block(self, number: int, X: Any, y: Any, weights: Any, strata: Any = None) -> Block | None:
        """A block, checked; None if it has no rows with weight. An error names the block."""
        if self.for_maps and frames.is_frame(X):
            frames.check_frame(X)
            X = np.column_stack([frames.numbers(X, column) for column in range(X.shape[1])])
        return check_block(self.estimator, number, X, y, weights, strata, table=self.for_maps)


def add_block(checks: RowChecks, task: Callable, shared: Iterable[Any], total: Any, number: int, *columns: Any) -> Any:
    """Add a block, given as X, y, weights and perhaps strata, by a task; without rows it changes nothing."""
    block = checks.block(number, *columns)
    return total if block is None else task(total, block, *shared)


def refuse_strata(strata: object, name: str) -> None:
    """Refuse strata if a stratum may be split between blocks, or folds are drawn row by row."""
    if strata is not None:
        raise ValueError(
            f"{name} takes no strata, because it would split them: use DaskAUCClassifier, AUCClassifier.fit_stream "
            "with sorted rows, or AUCClassifierCV with all rows in memory."
        )


def not_corrected(name: str, collector: str) -> Any:
    """An attribute that a cluster does not have; `collector` is the engine's name of the process that adds results."""

    def refuse(estimator: AUCClassifierCV) -> float:
        raise AttributeError(
            f"{type(estimator).__name__} has no {name}: the correction repeats the choice some hundred times, all of "
            f"it on the {collector}. AUCClassifierCV.fit_stream on the same rows gives it."
        )

    return property(refuse, doc="Not available on a cluster: an AttributeError says why.")
