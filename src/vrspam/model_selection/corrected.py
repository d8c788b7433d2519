"""The cross-validated AUC without the optimism of the choice, and its interval; docs/corrected_auc.md says why.

The best of many cross-validated AUCs is too high, because it was chosen for being high. No model is fitted again to
correct it: the scores of the held-out rows at all points are kept, rows are drawn, the choice is made again on the rows
drawn, and what it takes is scored on the rows left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vrspam._utils.warnings import NoCorrection, warn
from vrspam.metrics import ENOUGH_FOR_DELONG, AUCInterval, logit_interval, newcombe_interval, roc_auc_columns
from vrspam.model_selection.blending import blend_weights, spreads
from vrspam.model_selection.kept_scores import FoldRows, KeptRows
from vrspam.model_selection.scoring import Scoring
from vrspam.model_selection.selection import TIE, SelectionRule

DRAWN_ROWS = 80_000  # in all draws together: with more rows the choice varies less, and fewer draws do
LEAST_DRAWS, MOST_DRAWS = 50, 400  # the least, too, for a measure that must be computed anew for each draw
LEFT_OUT = 0.25  # share of the rows that a draw leaves out
BATCH_VALUES = 1 << 22  # AUCs of all points, folds and some draws that are held at once

Rule = Callable[[Sequence[np.ndarray]], np.ndarray]
"""From weights of the kept rows, an array (rows, draws) for each fold, to weights of the points, (points, draws).

A choice gives one point the weight 1. A blend gives several points weights: their scores are then mixed with these.
"""


@dataclass(frozen=True)
class Corrected:
    """A cross-validated AUC corrected for the choice, with its 95 % interval; all NaN where that is impossible."""

    score: float
    low: float
    high: float


class Grid(NamedTuple):
    """The points of all candidates in one list.

    Attributes
    ----------
    auc : ndarray of shape (points, folds)
        On all held-out rows.
    order : ndarray of int
        The points from simple to complex: candidates in their order, and in each the largest l1, then the largest l2.
    sizes : tuple of int
        Number of points of each candidate.
    """

    auc: np.ndarray
    order: np.ndarray
    sizes: tuple[int, ...]

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
        """The point that `select` and `choose_map` take for AUCs of shape (points, folds, draws), for each draw."""
        mean = auc.mean(axis=1)[self.order]
        slack = np.full(mean.shape[1], TIE)
        if rule == "one-standard-error":
            best = self.order[(mean >= mean.max(axis=0) - TIE).argmax(axis=0)]
            folds = auc[best, :, np.arange(best.size)]
            slack = np.maximum(folds.std(axis=1, ddof=1) / np.sqrt(auc.shape[1]), TIE)
        return self.order[(mean >= mean.max(axis=0) - slack).argmax(axis=0)]


def correct(
    rows: KeptRows,
    scores: Sequence[np.ndarray],
    grid: Grid,
    selection: SelectionRule,
    seed: int,
    other: OtherMeasure | None = None,
    blend_auc: float | None = None,
    stable: float = 0.0,
) -> Corrected:
    """Correct the AUC of the chosen point, or of the blend, for the choice, and give its interval.

    Parameters
    ----------
    rows : KeptRows
    scores : list of ndarray of shape (points, rows of the fold)
        Held-out scores of the kept rows of each fold, at all points.
    grid : Grid
    selection : {"best", "one-standard-error", "blend"}
    seed : int
    other : OtherMeasure, optional
        What chooses, if that is not the AUC.
    blend_auc : float, optional
        Mean AUC of the blend on all held-out rows, where only some were kept.
    stable : float, default=0.0
        See `stable_share`; 0, where it is not known, gives the widest interval.

    Returns
    -------
    Corrected
        All NaN, with a warning, if no fold has two rows of each class.
    """
    if not any(map(_varies, rows.folds)):
        warn(NoCorrection())
        return Corrected(*[float("nan")] * 3)
    moves = influences_of_folds(rows, scores)

    def rule(weights: Sequence[np.ndarray]) -> np.ndarray:
        drawn = [
            auc[:, np.newaxis] + move @ (some - 1.0) for auc, move, some in zip(grid.auc.T, moves, weights, strict=True)
        ]
        measured = np.stack(drawn, axis=1) if other is None else other.drawn(rows, scores, weights)
        if selection == "blend":
            return grid.blend(measured, spread)
        taken = grid.choose(measured, selection)
        return (np.arange(grid.auc.shape[0])[:, np.newaxis] == taken).astype(np.float64)

    spread = spreads(rows, scores)
    held_out = HeldOutAUC(rows, scores, grid.auc, moves, mixed=selection == "blend")
    optimism = optimism_of(rule, held_out, seed, MOST_DRAWS if other is None else LEAST_DRAWS)
    auc, moved = held_out.of(rule(rows.ones()).T)
    before = float(auc.mean()) if blend_auc is None else blend_auc
    score = float(np.clip(before - optimism.mean, 0.0, 1.0))
    move = [part[0] for part in moved]
    interval = _interval(score, rows, standard_error(rows, move), optimism.variance_of_choice, stable)
    return Corrected(score, interval.low, interval.high)


def _interval(score: float, rows: KeptRows, error: float, variance_of_choice: float, stable: float) -> AUCInterval:
    """DeLong's interval around a score, or with few rows Newcombe's, as in `roc_auc_ci`, but wider."""
    widened = rows.widening(stable)
    if error > 0.0:
        widened = float(np.sqrt(widened**2 + variance_of_choice / error**2))
    if min(rows.sizes) >= ENOUGH_FOR_DELONG and 0.0 < score < 1.0:
        return logit_interval(score, widened * error, min(rows.sizes))
    return newcombe_interval(score, error, rows.sizes, widened=widened)


def _varies(fold: FoldRows) -> bool:
    """Whether a fold has two rows of each class, and so shows how its AUC varies."""
    return bool(np.bincount(fold.positive, minlength=2).min() >= 2)


def influences_of_folds(rows: KeptRows, scores: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The influences of the rows of each fold; folds that vary stand for those that do not show it."""
    varying = list(map(_varies, rows.folds))
    scale = np.sqrt(len(varying) / sum(varying))
    parts = zip(varying, rows.folds, scores, strict=True)
    return [scale * influences(fold, part) if varies else np.zeros(part.shape) for varies, fold, part in parts]


class OtherMeasure(NamedTuple):
    """A measure that chooses in place of the AUC.

    Attributes
    ----------
    measure : Scoring
    scores : ndarray of shape (points, folds)
        The measure of all held-out rows.
    intercepts : ndarray of shape (points, folds)
    """

    measure: Scoring
    scores: np.ndarray
    intercepts: np.ndarray

    def drawn(self, rows: KeptRows, scores: Sequence[np.ndarray], weights: Sequence[np.ndarray]) -> np.ndarray:
        """The measure of drawn rows, an array (points, folds, draws).

        It is that of all held-out rows, plus what the draw changes in that of the kept rows: nothing, in a fold whose
        drawn rows do not have the measure, such as one without positives.
        """
        found = np.repeat(self.scores[:, :, np.newaxis], weights[0].shape[1], axis=2)
        for number, (fold, part, some) in enumerate(zip(rows.folds, scores, weights, strict=True)):
            if np.all(some == 1.0):
                continue
            values = part.T + self.intercepts[:, number] if self.measure.needs_values else part.T
            standing = fold.standing_for
            undrawn = self._measured(fold, values, standing)
            for draw, factor in enumerate(some.T):
                change = self._measured(fold, values, standing * factor) - undrawn
                found[:, number, draw] += np.where(np.isfinite(change), change, 0.0)
        return found

    def _measured(self, fold: FoldRows, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The measure of the rows of a fold with these weights, NaN where they do not have it."""
        used = weights > 0.0
        if len(np.unique(fold.positive[used])) < 2:
            return np.full(values.shape[1], np.nan)
        try:
            return self.measure.columns(fold.positive[used], values[used], weights[used])
        except ValueError:  # too few negatives in the part of the curve, or what a function of the user's says
            return np.full(values.shape[1], np.nan)


def influences(fold: FoldRows, scores: np.ndarray) -> np.ndarray:
    """How much the AUC of a fold moves when a row weighs one more, to first order; an array (points, rows).

    A positive row moves it by (its share of negatives below it - AUC) over the number of positives, a negative one
    likewise. The sum of their squares is DeLong's variance of the AUC: of all rows, where only some were kept.
    """
    placed = placements(fold.positive, scores, fold.weights)
    moves = np.empty_like(placed)
    for side, size in zip((~fold.positive, fold.positive), fold.sizes, strict=True):
        kept, weights = int(side.sum()), fold.weights[side]
        share = weights / weights.sum() * np.sqrt(kept / max(kept - 1, 1) * kept / size)
        moves[:, side] = share * (placed[:, side] - placed[:, side] @ weights[:, np.newaxis] / weights.sum())
    return moves


def placements(positive: np.ndarray, scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The share of negatives below each positive, and of positives above each negative; a tie counts one half.

    Examples
    --------
    >>> scores = np.array([[1.0, 2.0, 2.0, 3.0]])
    >>> placements(np.array([False, False, True, True]), scores, np.ones(4)).tolist()
    [[1.0, 0.75, 0.75, 1.0]]
    """
    order = np.argsort(scores, axis=1)
    ranked = np.take_along_axis(scores, order, axis=1)
    new = np.ones(ranked.shape, dtype=bool)  # whether a score differs from the one before it
    new[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    places = np.arange(ranked.shape[1])
    first = np.maximum.accumulate(np.where(new, places, 0), axis=1)
    ends = np.where(np.roll(new, -1, axis=1), places, ranked.shape[1])
    last = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    found = np.empty(ranked.shape)
    for side in (False, True):
        others = (positive != side)[order]
        mass = np.zeros((ranked.shape[0], ranked.shape[1] + 1))
        np.cumsum(np.where(others, weights[order], 0.0), axis=1, out=mass[:, 1:])
        below = (np.take_along_axis(mass, first, axis=1) + np.take_along_axis(mass, last + 1, axis=1)) / 2.0
        share = below / mass[:, -1:]
        np.copyto(found, share if side else 1.0 - share, where=~others)
    result = np.empty_like(found)
    np.put_along_axis(result, order, found, axis=1)
    return result


class HeldOutAUC(NamedTuple):
    """AUCs of the folds, and how rows move them, for points of the grid or mixtures of points.

    `auc` are those of all held-out rows. Those of mixtures rest on the rows that were kept; so that all are alike,
    `mixed` says whether any is a mixture.
    """

    rows: KeptRows
    scores: Sequence[np.ndarray]
    auc: np.ndarray
    moves: Sequence[np.ndarray]
    mixed: bool = False

    def of(self, lines: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """AUCs of the folds, (lines, folds), and for each fold the influences of its rows, (lines, rows).

        Each line has the weights of the points.
        """
        if not self.mixed:
            points = lines.argmax(axis=1)
            return self.auc[points], [moves[points] for moves in self.moves]
        mixtures = [lines @ scores for scores in self.scores]
        auc = np.full((lines.shape[0], len(mixtures)), 0.5)  # kept rows of one class say nothing
        for number, (fold, scores) in enumerate(zip(self.rows.folds, mixtures, strict=True)):
            if np.unique(fold.positive).size == 2:
                auc[:, number] = roc_auc_columns(fold.positive, scores.T, fold.weights)
        return auc, influences_of_folds(self.rows, mixtures)


class Optimism(NamedTuple):
    """How much too good the AUC is of what a rule takes on all rows, and how the choice itself makes it vary."""

    mean: float
    variance_of_choice: float


def optimism_of(rule: Rule, held_out: HeldOutAUC, seed: int, most_draws: int = MOST_DRAWS) -> Optimism:
    """How much too good the AUC is of what a rule takes on all rows.

    Each draw leaves out a share of the rows. What the rule takes on the others is compared, on the rows left out, with
    what it takes on all rows: the latter has seen the rows left out, and looks too good there. The AUC on the rows left
    out is their first-order one (AUC + sum of influences), which needs no fold to keep rows of both classes.

    Each held-out row also trains the models that score the others, so that AUCs vary more from one set of rows to the
    next than held-out rows show. For that the deviations on the rows left out count more: for K folds K/(K-1)-fold for
    a choice, and √(1 + K/(K-1))-fold for a blend, as in the interval (`KeptRows.widening`). Both were found by
    simulation (docs/corrected_auc.md).

    What is taken differs from draw to draw, and so does its AUC on all rows. The draws vary less than sets of rows do,
    by the odds of being left out; the variance is scaled accordingly.
    """
    rng, rows = np.random.default_rng(seed), held_out.rows
    odds = LEFT_OUT / (1.0 - LEFT_OUT)
    scale = (rows.widening() if held_out.mixed else 1.0 + rows.held_out_per_trained) / odds
    (everything,) = rule(rows.ones()).T
    draws = int(np.clip(DRAWN_ROWS // rows.n_units, LEAST_DRAWS, most_draws))
    leads: list[np.ndarray] = []  # of what was taken on all rows, on the rows left out
    taken_auc: list[np.ndarray] = []
    step = max(1, BATCH_VALUES // held_out.auc.size)
    for first in range(0, draws, step):
        size = min(step, draws - first)
        change = np.where(rng.random((rows.n_units, size)) < LEFT_OUT, -1.0, odds)
        changes = [change[fold.unit] for fold in rows.folds]
        taken = np.ascontiguousarray(rule([1.0 + part for part in changes]).T)
        different, which = _different_lines(np.vstack([everything, taken]))
        auc, moves = held_out.of(different)
        deviations = sum(fold @ part for fold, part in zip(moves, changes, strict=True))
        mean = auc.mean(axis=1)
        left_out = mean[:, np.newaxis] - scale / len(rows.folds) * deviations
        leads.append(left_out[which[0]] - left_out[which[1:], np.arange(size)])
        taken_auc.append(mean[which[1:]])
    return Optimism(float(np.concatenate(leads).mean()), float(np.concatenate(taken_auc).var()) / odds)


def _different_lines(lines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different lines of an array, and for each line the number of the one it equals."""
    numbers: dict[bytes, int] = {}
    which = np.array([numbers.setdefault(line.tobytes(), len(numbers)) for line in lines])
    return lines[np.unique(which, return_index=True)[1]], which


def standard_error(rows: KeptRows, moves: Sequence[np.ndarray]) -> float:
    """DeLong's standard error of the mean AUC of the folds; the rows of a group, or of several folds, vary together."""
    total = sum(np.bincount(fold.unit, move, rows.n_units) for fold, move in zip(rows.folds, moves, strict=True))
    return float(np.linalg.norm(total)) / len(rows.folds)
