"""The correction of the AUC for the choices of this package: a point of a grid, another measure, a blend, few groups.

`vrspam.metrics.correction` draws the rows and computes the optimism and the interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from vrspam.metrics import CorrectedAUC, roc_auc_columns
from vrspam.metrics.correction import Sample, Taken, corrected_choice
from vrspam.model_selection.scoring import Scoring
from vrspam.model_selection.selection import Points, SelectionRule, choose
from vrspam.pairs import TWO_CLASSES, Pairs


def correct(
    sample: Sample,
    scores: np.ndarray,
    points: Points,
    rule: SelectionRule,
    seed: int,
    other: OtherMeasure | None = None,
    nested: Nested | None = None,
    pairs: Pairs = TWO_CLASSES,
    **more: Any,
) -> CorrectedAUC:
    """Correct the AUC of the chosen point, or of the blend, for the choice, and give its interval.

    `scores` has the scores of the sample's rows at all points; `other` is the measure that chooses, if it is not the
    AUC; with few groups, `nested` gives the optimism, from a choice made anew without each fold. `before`, `stable` and
    `clusters` are as in `corrected_choice`. `pairs` are those that count.
    """
    spreads = sample.spreads(scores)[:, np.newaxis]

    def take(measured: np.ndarray) -> np.ndarray:
        """The choice, made again; a blend adds up scores that are divided by their spread."""
        weights = choose(measured, points, rule)
        return weights / spreads if rule == "blend" else weights

    return corrected_choice(
        sample,
        scores,
        points.measured,
        take,
        measure=pairs.measure(sample),
        other=None if other is None else partial(other.drawn, sample, scores),
        seed=seed,
        mixed=rule == "blend",
        optimism_by=None if nested is None else partial(nested.optimism, sample, scores, take),
        **more,
    )


class Nested(NamedTuple):
    """Scores of held-out rows at all points, by models that were trained without two folds, for a nested choice."""

    pairs: Sequence[tuple[int, int]]  # the folds
    fold: np.ndarray  # the fold that holds out each training row
    sample: Sample  # of the rows that each pair of folds holds out
    scores: np.ndarray
    intercepts: np.ndarray  # of shape (points, pairs)
    scoring: Scoring

    def optimism(self, sample: Sample, scores: np.ndarray, take: Taken, everything: np.ndarray) -> float:
        """The mean lead, on the sample, of the choice from all rows over the choices made without each fold.

        For each fold the choice is made on the other folds, by models that were not trained on this fold either: the
        AUC of that choice on the fold is the AUC of a nested cross-validation.
        """
        n_folds, n_points = len(sample.sizes), scores.shape[1]
        measured = np.full((n_folds, n_points, n_folds), np.nan)  # axes: the fold left out, the point, the other fold
        for number, (pair, part) in enumerate(zip(self.pairs, self.sample.parts, strict=True)):
            fold, positive = self.fold[self.sample.rows[part]], self.sample.positive[part]
            for without, other in (pair, pair[::-1]):
                rows = fold == other
                values = self.scores[part][rows]
                if self.scoring.needs_values:
                    values = values + self.intercepts[:, number]
                weights = self.sample.weights[part][rows]
                measured[without, :, other] = measure_or_nan(self.scoring, positive[rows], values, weights)
        leads = []
        for without, part in enumerate(sample.parts):
            is_known = np.isfinite(measured[without]).all(axis=0)
            if not is_known.any() or np.unique(sample.positive[part]).size < 2:
                continue
            line = take(measured[without][:, is_known, np.newaxis])[:, 0]
            both = scores[part] @ np.stack([everything, line], axis=1)
            aucs = roc_auc_columns(sample.positive[part], both, sample.weights[part])
            leads.append(aucs[0] - aucs[1])
        return float(np.mean(leads)) if leads else 0.0


class OtherMeasure(NamedTuple):
    """A measure that chooses in place of the AUC, of all held-out rows; arrays are of shape (points, folds)."""

    measure: Scoring
    scores: np.ndarray
    intercepts: np.ndarray

    def drawn(self, sample: Sample, scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The measure of drawn rows, an array (points, folds, draws).

        It is the measure of all held-out rows plus the change that the draw makes to the measure of the sample. The
        change is 0 in a fold where the measure of the drawn rows is undefined, such as a fold without positives.
        """
        found = np.repeat(self.scores[:, :, np.newaxis], weights.shape[1], axis=2)
        standing = sample.standing_for
        for number, part in enumerate(sample.parts):
            if np.all(weights[part] == 1.0):
                continue
            positive, values = sample.positive[part], scores[part]
            if self.measure.needs_values:
                values = values + self.intercepts[:, number]
            undrawn = measure_or_nan(self.measure, positive, values, standing[part])
            for draw, factor in enumerate(weights[part].T):
                change = measure_or_nan(self.measure, positive, values, standing[part] * factor) - undrawn
                found[:, number, draw] += np.where(np.isfinite(change), change, 0.0)
        return found


def measure_or_nan(measure: Scoring, positive: np.ndarray, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The measure of each column of scores, of rows with these weights; NaN where it is undefined."""
    used = weights > 0.0
    if len(np.unique(positive[used])) < 2:
        return np.full(values.shape[1], np.nan)
    try:
        return measure.columns(positive[used], values[used], weights[used])
    except ValueError:  # too few negatives in the part of the curve, or an error of the user's function
        return np.full(values.shape[1], np.nan)
