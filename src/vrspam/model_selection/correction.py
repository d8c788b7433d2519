"""The cross-validated AUC without the optimism of the choice, and its interval; docs/corrected_auc.md says why.

The best of many cross-validated AUCs is too high, because it was chosen for being high. No model is fitted again to
correct it: the scores of held-out rows at all points are kept, rows are drawn, the choice is made again on the rows
drawn, and what it takes is scored on the rows left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from vrspam._utils.warnings import FewGroups, NoCorrection, warn
from vrspam.metrics import ENOUGH_FOR_DELONG, logit_interval, newcombe_interval, roc_auc_columns
from vrspam.metrics.intervals import Clusters, placements
from vrspam.model_selection.held_out import Sample
from vrspam.model_selection.pairs import concordance_of
from vrspam.model_selection.selection import TIE, Scoring, SelectionRule, blend_weights

Rule = Callable[[np.ndarray], np.ndarray]
"""From weights of the rows of a sample, (rows, draws), to weights of the points, (points, draws).

A choice gives one point the weight 1. A blend gives several points weights: their scores are then mixed with these.
"""
# From weights of the points, (lines, points), to AUCs of the folds, (lines, folds), and influences, (lines, rows).
Measured = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Corrected:
    """A cross-validated AUC corrected for the choice, with its 95 % interval; all NaN where that is impossible."""

    score: float
    low: float
    high: float


class Grid(NamedTuple):
    """The points of all candidates in one list."""

    auc: np.ndarray  # of shape (points, folds), on all held-out rows
    order: np.ndarray  # points from simple to complex: by candidate, from the largest l1, then from the largest l2
    sizes: tuple[int, ...]  # points of each candidate

    @classmethod
    def of(cls, candidates: Sequence[tuple[np.ndarray, Mapping[str, np.ndarray]]]) -> Grid:
        """From the AUC of each candidate, of shape (*grid, folds), and the axes of its grid."""
        parts, order, first = [], [], 0
        for auc, axes in candidates:
            places = np.meshgrid(*axes.values(), indexing="ij")
            order.append(first + np.lexsort([place.ravel() for place in places])[::-1])
            parts.append(auc.reshape(-1, auc.shape[-1]))
            first += parts[-1].shape[0]
        return cls(np.concatenate(parts), np.concatenate(order), tuple(part.shape[0] for part in parts))

    def blend(self, auc: np.ndarray, spread: np.ndarray) -> np.ndarray:
        """Weights of the points, (points, draws), that a blend gives them for AUCs of shape (points, folds, draws)."""
        stops = np.cumsum(self.sizes)
        chosen = []
        for start, stop in zip(stops - self.sizes, stops, strict=True):
            order = self.order[start:stop]
            mean = auc.mean(axis=1)[order]
            chosen.append(order[(mean >= mean.max(axis=0) - TIE).argmax(axis=0)])
        points, draws = np.stack(chosen), np.arange(auc.shape[2])
        of_candidates = np.moveaxis(auc[points, :, draws], -1, 1)
        found = np.zeros((auc.shape[0], draws.size))
        found[points, draws] = blend_weights(of_candidates) / spread[points]
        return found

    def choose(self, auc: np.ndarray, rule: SelectionRule) -> np.ndarray:
        """The point that `select` and `compare` take for AUCs of shape (points, folds, draws), for each draw."""
        mean = auc.mean(axis=1)[self.order]
        slack = np.full(mean.shape[1], TIE)
        if rule == "one-standard-error":
            best = self.order[(mean >= mean.max(axis=0) - TIE).argmax(axis=0)]
            folds = auc[best, :, np.arange(best.size)]
            slack = np.maximum(folds.std(axis=1, ddof=1) / np.sqrt(auc.shape[1]), TIE)
        return self.order[(mean >= mean.max(axis=0) - slack).argmax(axis=0)]


def correct(
    sample: Sample,
    scores: np.ndarray,
    grid: Grid,
    selection: SelectionRule,
    seed: int,
    other: OtherMeasure | None = None,
    blend_auc: float | None = None,
    stable: float = 0.0,
    most_draws: int = 400,
    nested: Nested | None = None,
    clusters: Clusters | None = None,
) -> Corrected:
    """Correct the AUC of the chosen point, or of the blend, for the choice, and give its interval.

    `scores` are those of the rows of the sample at all points; `other` is what chooses, if that is not the AUC;
    `blend_auc` is the mean AUC of the blend on all held-out rows, where the sample is only some of them. `stable` is as
    in `stable_share`: 0, where it is not known, gives the widest interval. All is NaN, with a warning, if no fold has
    two rows of each class. Rows of groups have `clusters`, from which the error comes; where the groups are few, the
    optimism is that of a choice made anew without each fold (`nested`).
    """
    if clusters is None and not (sample.kept.min(axis=1) >= 2).any():
        warn(NoCorrection())
        return Corrected(*[float("nan")] * 3)
    moves, spread = influences(sample, scores), sample.spreads(scores)

    def rule(weights: np.ndarray) -> np.ndarray:
        measured = (
            drawn_auc(sample, grid.auc, moves, weights) if other is None else other.drawn(sample, scores, weights)
        )
        if selection == "blend":
            return grid.blend(measured, spread)
        taken = grid.choose(measured, selection)
        return (np.arange(grid.auc.shape[0])[:, np.newaxis] == taken).astype(np.float64)

    mixed = selection == "blend"

    def measure(lines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if mixed:
            return mixture_auc(sample, scores, lines)
        points = lines.argmax(axis=1)
        return grid.auc[points], moves[points]

    most_draws = most_draws if other is None else 50  # another measure must be computed anew for each draw
    everything = rule(np.ones((sample.rows.size, 1))).T
    auc, moved = measure(everything)
    if nested is not None:
        optimism, variance_of_choice = nested.optimism(sample, scores, grid, selection, spread, everything), 0.0
    else:
        optimism, variance_of_choice = optimism_of(rule, measure, sample, seed, mixed, most_draws)
    before = float(auc.mean()) if blend_auc is None else blend_auc
    score = float(np.clip(before - optimism, 0.0, 1.0))
    if clusters is not None and (clusters.n_groups < 6 or len(sample.sizes) < 3):
        warn(FewGroups(clusters.n_groups))
        return Corrected(score, float("nan"), float("nan"))
    # DeLong's interval, or with few rows Newcombe's, as in `roc_auc_ci`, but wider.
    error, widened = standard_error(sample, moved[0]), sample.widening(stable)
    if clusters is not None:  # Student's t is for an error that comes from few groups; Newcombe's floor does not
        error = clusters.error * float(stdtrit(clusters.freedom, 0.975) / ndtri(0.975))
    if error > 0.0:
        widened = float(np.sqrt(widened**2 + variance_of_choice / error**2))
    if min(sample.totals) >= ENOUGH_FOR_DELONG and 0.0 < score < 1.0:
        interval = logit_interval(score, widened * error, min(sample.totals))
    else:
        interval = newcombe_interval(score, error, sample.totals, widened=widened)
    return Corrected(score, interval.low, interval.high)


class Nested(NamedTuple):
    """Scores of held-out rows at all points, by models that were trained without two folds, for a nested choice."""

    pairs: Sequence[tuple[int, int]]  # the folds
    fold: np.ndarray  # which one holds out each training row
    sample: Sample  # of rows that each two folds hold out
    scores: np.ndarray
    intercepts: np.ndarray  # of shape (points, pairs)
    scoring: Scoring

    def optimism(
        self,
        sample: Sample,
        scores: np.ndarray,
        grid: Grid,
        selection: SelectionRule,
        spread: np.ndarray,
        everything: np.ndarray,
    ) -> float:
        """How much better on the sample is what was taken on all rows than what is taken for each fold without it.

        For each fold the choice is made on the other folds, by models that were not trained on it either: its AUC there
        is that of a nested cross-validation.
        """
        n_folds, n_points = len(sample.sizes), scores.shape[1]
        measured = np.full((n_folds, n_points, n_folds), np.nan)  # without a fold, at a point, on another fold
        for number, (pair, part) in enumerate(zip(self.pairs, self.sample.parts, strict=True)):
            fold, positive = self.fold[self.sample.rows[part]], self.sample.positive[part]
            for without, other in (pair, pair[::-1]):
                rows = fold == other
                values = self.scores[part][rows]
                if np.unique(positive[rows]).size == 2:
                    if self.scoring.needs_values:
                        values = values + self.intercepts[:, number]
                    weights = self.sample.weights[part][rows]
                    measured[without, :, other] = self.scoring.columns(positive[rows], values, weights)
        leads = []
        for without, part in enumerate(sample.parts):
            known = np.isfinite(measured[without]).all(axis=0)
            if not known.any() or np.unique(sample.positive[part]).size < 2:
                continue
            inner = measured[without][:, known, np.newaxis]
            if selection == "blend":
                line = grid.blend(inner, spread)[:, 0]
            else:
                line = np.zeros(n_points)
                line[grid.choose(inner, selection)] = 1.0
            both = scores[part] @ np.stack([everything[0], line], axis=1)
            found = roc_auc_columns(sample.positive[part], both, sample.weights[part])
            leads.append(found[0] - found[1])
        return float(np.mean(leads)) if leads else 0.0


class OtherMeasure(NamedTuple):
    """A measure that chooses in place of the AUC, of all held-out rows; arrays are of shape (points, folds)."""

    measure: Scoring
    scores: np.ndarray
    intercepts: np.ndarray

    def drawn(self, sample: Sample, scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The measure of drawn rows, an array (points, folds, draws).

        It is that of all held-out rows, plus what the draw changes in that of the sample: nothing, in a fold whose
        drawn rows do not have the measure, such as one without positives.
        """
        found = np.repeat(self.scores[:, :, np.newaxis], weights.shape[1], axis=2)
        standing = sample.standing_for
        for number, part in enumerate(sample.parts):
            if np.all(weights[part] == 1.0):
                continue
            positive, values = sample.positive[part], scores[part]
            if self.measure.needs_values:
                values = values + self.intercepts[:, number]
            undrawn = self._measured(positive, values, standing[part])
            for draw, factor in enumerate(weights[part].T):
                change = self._measured(positive, values, standing[part] * factor) - undrawn
                found[:, number, draw] += np.where(np.isfinite(change), change, 0.0)
        return found

    def _measured(self, positive: np.ndarray, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The measure of rows with these weights, NaN where they do not have it."""
        used = weights > 0.0
        if len(np.unique(positive[used])) < 2:
            return np.full(values.shape[1], np.nan)
        try:
            return self.measure.columns(positive[used], values[used], weights[used])
        except ValueError:  # too few negatives in the part of the curve, or what a function of the user's says
            return np.full(values.shape[1], np.nan)


def influences(sample: Sample, scores: np.ndarray) -> np.ndarray:
    """How much the AUC of its fold moves when a row weighs one more, to first order; an array (points, rows).

    A positive row moves it by (its share of negatives below it - AUC) over the number of positives, a negative one
    likewise. The sum of their squares is DeLong's variance of the AUC: of all rows, where the sample is some of them.
    Folds that vary stand for those that do not show it.
    """
    varying = sample.kept.min(axis=1) >= 2
    scale = np.sqrt(varying.size / varying.sum())
    found = np.zeros(scores.T.shape)
    if sample.pairs is not None:
        for part in sample.parts:
            _, found[:, part] = _of_pairs(sample, part, scores[part].T)
        return found
    for number, part in enumerate(sample.parts):
        if not varying[number]:
            continue
        positive, weights = sample.positive[part], sample.weights[part]
        placed = placements(positive, scores[part].T, weights)
        moves = np.empty_like(placed)
        for side, size in zip((~positive, positive), sample.sizes[number], strict=True):
            kept, given = int(side.sum()), weights[side]
            share = given / given.sum() * np.sqrt(kept / max(kept - 1, 1) * kept / size)
            moves[:, side] = share * (placed[:, side] - placed[:, side] @ given[:, np.newaxis] / given.sum())
        found[:, part] = scale * moves
    return found


def _of_pairs(sample: Sample, part: slice, lines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The concordance of some rows by each line of scores, and the influences of the rows; ½ and 0 without a pair.

    A row that stands for g rows varies by √g times its own influence, not by g times. Where units are whole strata both
    rows of a pair are of one unit, which would count it twice.
    """
    assert sample.pairs is not None
    groups = sample.pairs.take(sample.rows[part]).groups(sample.standing_for[part])
    found, moves = np.full(lines.shape[0], 0.5), np.zeros(lines.shape)
    if groups.pairs > 0.0:
        each = sample.weights[part] / sample.standing_for[part]
        found, of_rows = concordance_of(groups, lines[:, groups.rows])
        moves[:, groups.rows] = of_rows * np.sqrt(each[groups.rows]) * (0.5 if sample.by_strata else 1.0)
    return found, moves


def drawn_auc(sample: Sample, auc: np.ndarray, moves: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """AUCs of drawn rows to first order, (points, folds, draws), from those of all rows and their influences."""
    drawn = [
        of_fold[:, np.newaxis] + moves[:, p] @ (weights[p] - 1.0)
        for of_fold, p in zip(auc.T, sample.parts, strict=True)
    ]
    return np.stack(drawn, axis=1)


def mixture_auc(sample: Sample, scores: np.ndarray, lines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """AUCs of mixtures of points on the sample, (lines, folds), and the influences of the rows, (lines, rows).

    Each line has the weights of the points. All are measured on the sample, so that they are alike.
    """
    mixtures = lines @ scores.T
    auc = np.full((lines.shape[0], len(sample.sizes)), 0.5)  # rows of one class say nothing
    if sample.pairs is not None:
        found = [_of_pairs(sample, part, mixtures[:, part]) for part in sample.parts]
        return np.stack([one[0] for one in found], axis=1), np.concatenate([one[1] for one in found], axis=1)
    for number, part in enumerate(sample.parts):
        if np.unique(sample.positive[part]).size == 2:
            auc[:, number] = roc_auc_columns(sample.positive[part], mixtures[:, part].T, sample.weights[part])
    return auc, influences(sample, mixtures.T)


def optimism_of(
    rule: Rule, measure: Measured, sample: Sample, seed: int, mixed: bool = False, most_draws: int = 400
) -> tuple[float, float]:
    """How much too good the AUC is of what a rule takes on all rows, and its variance from draw to draw.

    Each draw leaves out a share of the rows. What the rule takes on the others is compared, on the rows left out, with
    what it takes on all rows: the latter has seen the rows left out, and looks too good there. The AUC on the rows left
    out is their first-order one (AUC + sum of influences), which needs no fold to keep rows of both classes.

    Each held-out row also trains the models that score the others, so that AUCs vary more from one set of rows to the
    next than held-out rows show. For that the deviations on the rows left out count more: for K folds K/(K-1)-fold for
    a choice, and √(1 + K/(K-1))-fold for a blend (`mixed`), as in the interval (`Sample.widening`). Both were found by
    simulation (docs/corrected_auc.md).

    What is taken differs from draw to draw, and so does its AUC on all rows. The draws vary less than sets of rows do,
    by the odds of being left out; the variance is scaled accordingly.
    """
    share = 0.25  # of the rows that a draw leaves out
    rng, odds = np.random.default_rng(seed), share / (1.0 - share)
    scale = (sample.widening() if mixed else 1.0 + sample.held_out_per_trained) / odds
    everything = rule(np.ones((sample.rows.size, 1))).T
    # With more rows the choice varies less, and fewer draws do.
    draws = int(np.clip(80_000 // sample.n_units, 50, most_draws))
    leads: list[np.ndarray] = []  # of what was taken on all rows, on the rows left out
    taken_auc: list[np.ndarray] = []
    batch_values = 1 << 22  # AUCs of all points, folds and some draws that are held at once
    step = max(1, batch_values // (everything.size * len(sample.sizes)))
    for first in range(0, draws, step):
        size = min(step, draws - first)
        changes = np.where(rng.random((sample.n_units, size)) < share, -1.0, odds)[sample.unit]
        taken = np.ascontiguousarray(rule(1.0 + changes).T)
        lines, numbers = np.vstack([everything, taken]), dict[bytes, int]()
        which = np.array([numbers.setdefault(line.tobytes(), len(numbers)) for line in lines])
        auc, moves = measure(lines[np.unique(which, return_index=True)[1]])  # equal lines are measured once
        mean = auc.mean(axis=1)
        left_out = mean[:, np.newaxis] - scale / len(sample.sizes) * (moves @ changes)
        leads.append(left_out[which[0]] - left_out[which[1:], np.arange(size)])
        taken_auc.append(mean[which[1:]])
    return float(np.concatenate(leads).mean()), float(np.concatenate(taken_auc).var()) / odds


def standard_error(sample: Sample, moves: np.ndarray) -> float:
    """DeLong's standard error of the mean AUC of the folds; the rows of a group, or of several folds, vary together."""
    return float(np.linalg.norm(np.bincount(sample.unit, moves, sample.n_units))) / len(sample.sizes)
