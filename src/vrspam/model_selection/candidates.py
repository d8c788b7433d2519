"""A candidate of a comparison: a fitted map, the scores of its grid, and the point that it is taken at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vrspam.features.mapped import MapNotFitted
from vrspam.metrics.correction import Sample
from vrspam.model_selection.cross_validate import CrossValidated, FoldModels, GridScores
from vrspam.model_selection.scoring import ROC_AUC
from vrspam.model_selection.selection import Choice, SelectionRule, select
from vrspam.solvers import ExactFit


@dataclass(frozen=True)
class Candidate:
    """A fitted map (None for the columns as they are), the scores of its grid, and a point of the grid."""

    name: str
    features: Any
    n_features: int
    n_rows: int
    scores: GridScores
    choice: Choice  # the point
    models: FoldModels | None  # the models of all folds at the point, if their coefficients were kept
    coefs: np.ndarray | None = None  # of all folds and points, if they were kept
    spread: float = 1.0  # of the held-out scores at the point
    fit: ExactFit | None = None  # at the point, on all rows, if the model may need it
    held_out: np.ndarray | None = None  # held-out scores of all rows, fold by fold and without intercepts, if kept
    by_all: np.ndarray | None = None  # scores of the rows of the sample by the models of all folds, if known
    lift: float = 0.0  # how much further apart the classes are in the fit's scores of new rows than in held-out scores

    @classmethod
    def of(
        cls,
        name: str,
        features: Any,
        found: CrossValidated,
        rule: SelectionRule,
        sample: Sample | None,
        *,
        n_features: int,
        n_rows: int,
        **known: Any,
    ) -> Candidate:
        """Choose a point by the rule; take the models of the folds and the spread of the kept scores at that point."""
        scores = found.scores
        measure = "" if scores.scoring is ROC_AUC else scores.scoring.name
        choice = select(scores.score, scores.grid, "best" if rule == "blend" else rule, measure=measure)
        spread = 1.0
        if sample is not None and scores.kept is not None:
            point = point_number(choice)
            spread = float(sample.spreads(scores.kept[:, point : point + 1])[0])
        models = found.models_at(choice.index)
        return cls(name, features, n_features, n_rows, scores, choice, models, found.coefs, spread, **known)

    @property
    def measured(self) -> tuple[float, float]:
        """The score at the point, and its standard error."""
        return float(self.choice.mean[self.choice.index]), float(self.choice.standard_error[self.choice.index])

    @property
    def aligned_models(self) -> FoldModels | None:
        """The models of all folds, moved so that all rows have the mean score that the fit on all rows gives them.

        A model has its zero half-way between the means of its classes, and the training rows of few positives are
        scored too far apart: by the more, the fewer they are. The mean of all rows does not depend on that.
        """
        if self.models is None or self.fit is None or getattr(self.features, "supervised", False):
            return self.models
        moments = self.fit.moments
        if moments.weights.size != 2:  # pairs of rows, which no constant moves
            return self.models
        means = moments.means
        middle, centre = np.average(means, axis=0, weights=moments.weights), means.mean(axis=0)
        at_middle = float(self.fit.solution.w @ (middle - centre))
        return self.models._replace(intercepts=at_middle - self.models.coefs @ middle)

    @property
    def densest(self) -> np.ndarray | None:
        """The fold models at the smallest l1, or None if the chosen l1 is 0: sparse models may agree by luck."""
        if self.coefs is None or not self.choice.values["l1"] > 0.0:
            return None
        return self.coefs[:, self.choice.index[0], int(self.scores.grid["l1"].argmin())]

    def __str__(self) -> str:
        """Name and score in a line."""
        mean, error = self.measured
        return f"{self.name}: {self.scores.scoring.name} {mean:.4f} ± {error:.4f} on {self.n_rows:,} rows"


def point_number(choice: Choice) -> int:
    """The number of the chosen point in the list of all points of its grid."""
    return int(np.ravel_multi_index(choice.index, choice.mean.shape))


def refuse_not_finite(scores: GridScores, coefs: np.ndarray | None = None) -> None:
    """Raise an error if the models of the folds have coefficients, or measures, that are not numbers."""
    parts = [scores.score, scores.auc, scores.intercepts]
    if coefs is not None:
        parts.append(coefs)
    if not all(np.isfinite(part).all() for part in parts):
        raise MapNotFitted("the coefficients or the scores of its models are not finite: rescale its features")
