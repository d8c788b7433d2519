"""Feature maps on rows in memory: learnt, cross-validated one by one, and fitted on all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils.validation import Rows
from vrspam.features import FeatureMap
from vrspam.features.learning import SharedColumns
from vrspam.features.mapped import MappedArray, hold_features
from vrspam.metrics.correction import Sample
from vrspam.model_selection.candidates import Candidate, point_number, refuse_not_finite
from vrspam.model_selection.cross_validate import cross_validate
from vrspam.model_selection.folds import FoldedRows
from vrspam.model_selection.grid_search import GridSearch
from vrspam.model_selection.held_out import scores_of
from vrspam.model_selection.labelled import cross_validate_labelled
from vrspam.model_selection.sources import FoldProblem, RowsInMemory, over_folds, rows_for_solver
from vrspam.moments import FinishedMoments
from vrspam.solvers import ExactFit

FEW_BYTES = 1 << 25  # features of all rows are held up to this size, for the moments and then for the scores


class NotLearnt(ValueError):
    """A transformer of another package could not be fitted to these rows."""


class MapsInMemory(NamedTuple):
    """Cross-validates and fits learnt maps on rows in memory."""

    folds: FoldedRows
    search: GridSearch
    sample: Sample | None = None  # held-out rows whose scores at all points are kept

    def evaluate(self, name: str, features: Any) -> tuple[Candidate, RowsInMemory | None]:
        """Cross-validate the grid of a fitted map; also return the source of its folds (None if it is supervised)."""
        folds, search, sample = self
        if getattr(features, "supervised", False):
            return cross_validate_labelled(name, features, folds, search, sample), None

        X: Any = hold_features(MappedArray(folds.rows.X, features), FEW_BYTES)
        source = RowsInMemory(folds.rows._replace(X=X), folds.splits, folds.classes, search.n_jobs, search.loss)
        sizes = () if sample is None else [split.validation.size for split in folds.splits]
        scores = cross_validate(source, search.on(features), sample=sample, keep_coefs=True, held_out=sizes)
        refuse_not_finite(scores.scores, scores.coefs)
        candidate = Candidate.of(
            name, features, scores, search.rule, sample, n_features=X.shape[1], n_rows=folds.rows.y.size
        )
        if scores.held_out is not None:  # all points of all maps would take too much memory
            held_out = scores.held_out.scores[:, point_number(candidate.choice)].copy()
            candidate = replace(candidate, held_out=held_out)
        if sample is not None and isinstance(X, np.ndarray) and candidate.models is not None:
            candidate = replace(candidate, by_all=scores_of(X, sample.rows, candidate.models.coefs))
        return candidate, source

    def fit(self, candidate: Candidate, source: RowsInMemory | None = None) -> ExactFit:
        """Fit a candidate on all rows at its point; without the `source` of `evaluate` moments are computed again."""
        if candidate.fit is not None:  # of trees that learnt from labels
            return candidate.fit
        if source is None:
            X = MappedArray(self.folds.rows.X, candidate.features)
            rows, solver = rows_for_solver(self.folds.rows._replace(X=X))
            total = None
        else:
            rows, solver, total = source.rows, source.solver, source.total
        if self.search.loss.needs_rows:
            rows = rows._replace(X=hold_features(rows.X))
        settings = self.search.on(candidate.features).settings_at(candidate.choice)
        fit = settings.fit_rows(rows, self.folds.classes, solver, total)
        if isinstance(fit.moments, FinishedMoments):  # computed completely, so that the rows are no longer needed
            return fit._replace(moments=fit.moments.settled)
        return fit


def learn_maps(maps: Sequence[Any], rows: Rows, n_jobs: int | None, shared: SharedColumns) -> None:
    """Fit the maps without labels: the first one fills `shared` for all maps, then the others fit in parallel."""

    def learn(features: Any) -> None:
        if isinstance(features, FeatureMap):
            features.learn(rows.X, rows.weights, shared)
            return
        try:
            features.fit(rows.X)
        except (TypeError, ValueError) as error:
            raise NotLearnt(
                f"{type(features).__name__} could not be fitted as a feature map, which is given X alone and no "
                f"labels: {error}"
            ) from error

    first, *others = maps
    learn(first)
    if others:
        in_turn = not all(isinstance(features, FeatureMap) for features in others)
        learn_bytes = 1 << 25  # that a map takes at most while it is fitted
        over_folds(learn, others, FoldProblem(True, False, learn_bytes, in_turn), n_jobs)
