"""The cross-validated AUC of the best of several models, without the optimism of the choice, and its interval.

The best of many cross-validated AUCs is too high, because it was chosen for being high. No model is fitted again to
correct it: held-out rows, scored by all models, are drawn; the choice is made again on the drawn rows, and the model
that it takes is measured on the rows left out. docs/corrected_auc.md says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vrspam._utils import array_api
from vrspam._utils.validation import numbers_of, row_numbers
from vrspam._utils.warnings import FewGroups, NoCorrection, warn
from vrspam.metrics.folds import fold_parts
from vrspam.metrics.groups import Clusters, placements
from vrspam.metrics.intervals import ENOUGH_FOR_DELONG, logit_interval, newcombe_interval
from vrspam.metrics.roc import checked_columns, positive_rows, roc_auc_columns

MOST_ROWS = 2_000  # of a sample: half of them of each class, where there are as many
MOST_VALUES = 1 << 23  # scores in all (64 MB): with very many points fewer rows are kept
MANY_GROUPS = 60  # from here on the correction draws groups; with fewer the choice is made anew without each fold

Rule = Callable[[NDArray], NDArray]
"""From weights of the rows of a sample, (rows, draws), to weights of the points, (points, draws).

A choice gives one point the weight 1. A blend gives several points weights: their scores are then mixed with these.
"""
Taken = Callable[[NDArray], NDArray]  # the same from measures of the points, (points, folds, draws)
# From weights of the points, (lines, points), to AUCs of the folds, (lines, folds), and influences, (lines, rows).
Measured = Callable[[NDArray], tuple[NDArray, NDArray]]


class RankMeasure(Protocol):
    """What is corrected: the AUC, or the concordance of the pairs that count, of the rows of a sample."""

    def __call__(self, fold: int, lines: NDArray) -> tuple[NDArray, NDArray]:
        """The measure of each line of scores of the rows of a fold, and the influence of each row, (lines, rows).

        The influence is the change of the measure if the weight of a row grows by one, to first order; the sum of the
        squares is the variance of the measure of all rows of the fold, also if the sample has only some.
        """


@dataclass(frozen=True)
class CorrectedAUC:
    """A cross-validated AUC corrected for the choice, with its 95 % interval; NaN where that is impossible.

    Attributes
    ----------
    auc : float
        What to expect on new rows.
    low, high : float
        Its 95 % interval.
    optimism : float
        How much too high the best cross-validated AUC is: it is `auc` + `optimism`.
    widened : float
        How many times as large the standard error is as that of rows of a test set: the folds share training rows.

    Examples
    --------
    >>> from vrspam.metrics import CorrectedAUC
    >>> found = CorrectedAUC(auc=0.81, low=0.76, high=0.85, optimism=0.02)
    >>> print(f"the best of the models showed {found.auc + found.optimism:.2f}: expect {found.auc:.2f}")
    the best of the models showed 0.83: expect 0.81
    """

    auc: float
    low: float
    high: float
    optimism: float = float("nan")
    widened: float = 1.0


def corrected_auc(
    y: ArrayLike,
    scores: ArrayLike,
    *,
    folds: ArrayLike,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> CorrectedAUC:
    """The AUC to expect of the best of several models, from their out-of-fold scores, corrected for the choice.

    The best is the column with the highest mean AUC of the folds; ties go to the first column. Rows are drawn, the
    choice is made again on them, and its model is compared, on the rows left out, with the model chosen on all rows.

    Parameters
    ----------
    y : array of n labels
        As in :func:`roc_auc`.
    scores : array (n, m)
        Out-of-fold scores: column j has the scores of model j, each row scored by a model that was trained on the other
        folds alone.
    folds : array of n labels
        The fold that held each row out; every fold holds rows of both classes.
    groups : array of n labels, optional
        Rows that belong together, as in :func:`roc_auc_ci`; a fold holds whole groups.
    sample_weight : array of n numbers, optional
        How much each row counts.

    Returns
    -------
    CorrectedAUC
        Models of different folds share training rows, so their AUCs vary together. Scores do not tell how strongly:
        the interval assumes the most. That of :func:`corrected_auc_of`, which fits the models, is narrower.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.metrics import corrected_auc
    >>> rng = np.random.default_rng(2)
    >>> y, noise = np.arange(300) % 2, rng.normal(size=(300, 50))  # fifty models that know nothing
    >>> found = corrected_auc(y, noise, folds=np.arange(300) // 60)
    >>> print(f"the best shows {found.auc + found.optimism:.2f}, expect {found.auc:.2f}")
    the best shows 0.58, expect 0.50
    """
    positive = positive_rows(y, at_least=2)
    matrix = np.asarray(scores)
    matrix = matrix[:, np.newaxis] if matrix.ndim == 1 else matrix
    positive, matrix, weight, _, _ = checked_columns(positive, matrix, sample_weight, "the corrected AUC")
    parts = fold_parts(folds, positive, weight, groups)
    trained = [positive.size - part.size for part in parts]
    sample = draw_sample(parts, trained, positive, weight, groups, matrix.shape[1], seed=0)
    return corrected_best(sample, matrix, positive, parts, weight, groups)


def checked_splits(splits: Iterable[Sequence[Any]], n_rows: int) -> list[tuple[NDArray, NDArray]]:
    """The rows that each fold trains on and holds out, as numbers."""
    checked = []
    for number, parts in enumerate(splits):
        train, held_out = (row_numbers(part, n_rows) for part in parts)
        if train is None or held_out is None:
            raise ValueError(f"Fold {number}: its parts must be row numbers below {n_rows}, or masks of the rows.")
        checked.append((train, held_out))
    return checked


def shared_rows(splits: Sequence[tuple[NDArray, NDArray]], n_rows: int) -> NDArray[np.float64]:
    """The number of training rows that each two folds have in common."""
    used = np.zeros((len(splits), n_rows), dtype=np.float32)
    for row, (trained, _) in zip(used, splits, strict=True):
        row[trained] = 1.0
    return (used @ used.T).astype(np.float64)


def corrected_best(
    sample: Sample,
    scores: NDArray,
    positive: NDArray,
    parts: Sequence[NDArray],
    weight: NDArray | None,
    groups: Any,
    stable: Callable[[int], float] = lambda chosen: 0.0,
) -> CorrectedAUC:
    """Correct the AUC of the best column of out-of-fold scores; `stable` gives the stable share of the choice."""
    mass = np.ones(positive.size) if weight is None else weight
    auc = np.stack([roc_auc_columns(positive[part], scores[part], mass[part]) for part in parts], axis=1)

    def take(measured: NDArray) -> NDArray:
        mean = measured.mean(axis=1)
        return one_point((mean >= mean.max(axis=0) - 1e-12).argmax(axis=0), len(mean))

    chosen = int(take(auc[:, :, np.newaxis]).argmax())
    clusters = None
    if groups is not None:
        numbers = group_numbers(groups, positive.size)
        clusters = Clusters.of(positive, scores[:, chosen].astype(np.float64), mass, numbers)
    held_out_scores = scores[sample.rows].astype(np.float64)
    return corrected_choice(sample, held_out_scores, auc, take, stable=stable(chosen), fixed=1.0, clusters=clusters)


def one_point(chosen: NDArray, n_points: int) -> NDArray:
    """The weights, (points, draws), of a choice of one point for each draw."""
    return (np.arange(n_points)[:, np.newaxis] == chosen).astype(np.float64)


def corrected_choice(
    sample: Sample,
    scores: NDArray,
    point_auc: NDArray,
    take: Taken,
    *,
    measure: RankMeasure | None = None,
    other: Callable[[NDArray], NDArray] | None = None,
    seed: int = 0,
    mixed: bool = False,
    before: float | None = None,
    optimism_by: Callable[[NDArray], float] | None = None,
    stable: float = 0.0,
    fixed: float = 0.0,
    clusters: Clusters | None = None,
) -> CorrectedAUC:
    """Correct the AUC of the point, or blend, that `take` chooses on all rows, and give its interval.

    `scores` has the scores of the sample's rows at all points, `point_auc` the AUCs on all held-out rows, (points,
    folds); `measure` computes them on the sample, by default for two classes. The choice is by the AUC of drawn
    rows or by an `other` measure of them, (points, folds, draws); `mixed` means that it is a blend. `before` is the
    AUC to correct; by default it comes from `point_auc`, or for a blend from the sample. `optimism_by` computes the
    optimism of the choice, if draws do not. `stable` is as in `stable_share`; 0, for an unknown share, gives the
    widest interval. `fixed` is the same for the optimism. If rows belong to groups, the error comes from
    `clusters`; otherwise all is NaN, with a warning, if no fold has two rows of each class.
    """
    if clusters is None and sample.kept.min(axis=1).max() < 2:
        warn(NoCorrection())
        nan = float("nan")
        return CorrectedAUC(nan, nan, nan, nan, sample.widening(stable))
    if measure is None:
        measure = TwoClassMeasure(sample)
    moves = measure_folds(sample, measure, scores.T)[1]

    def rule(weights: NDArray) -> NDArray:
        """The choice on drawn rows; their AUCs are those of all rows plus the influences, to first order."""
        if other is not None:
            return take(other(weights))
        drawn = [
            of_fold[:, np.newaxis] + moves[:, part] @ (weights[part] - 1.0)
            for of_fold, part in zip(point_auc.T, sample.parts, strict=True)
        ]
        return take(np.stack(drawn, axis=1))

    def measure_chosen(lines: NDArray) -> tuple[NDArray, NDArray]:
        """AUCs and influences of choices; mixtures are all measured on the sample, to be comparable."""
        if mixed:
            return measure_folds(sample, measure, lines @ scores.T)
        points = lines.argmax(axis=1)
        return point_auc[points], moves[points]

    everything = rule(np.ones((sample.rows.size, 1))).T
    auc, moved = measure_chosen(everything)
    if optimism_by is None:
        most_draws = 400 if other is None else 50  # another measure must be computed anew for each draw
        optimism, variance_of_choice = optimism_of(rule, measure_chosen, sample, seed, mixed, most_draws, fixed)
    else:
        optimism = optimism_by(everything[0])
        variance_of_choice = 0.0
    if before is None:
        before = float(auc.mean())
    score = float(np.clip(before - optimism, 0.0, 1.0))
    widened = sample.widening(stable)
    if clusters is not None and (clusters.n_groups < 6 or len(sample.sizes) < 3):
        warn(FewGroups(clusters.n_groups))
        return CorrectedAUC(score, float("nan"), float("nan"), optimism, widened)
    # DeLong's interval, or with few rows Newcombe's, as in `roc_auc_ci`, but wider.
    error = standard_error(sample, moved[0])
    freedom = np.inf
    rows = (float(sample.totals[0]), float(sample.totals[1]))
    if clusters is not None:  # Student's t widens this error from few groups
        error = clusters.error
        freedom = clusters.freedom
        if clusters.rows is not None:
            rows = clusters.rows
    if error == np.inf:  # all rows of a class are of one group
        return CorrectedAUC(score, 0.0, 1.0, optimism, widened)
    if error > 0.0:
        widened = float(np.sqrt(widened**2 + variance_of_choice / error**2))
    if min(rows) >= ENOUGH_FOR_DELONG and 0.0 < score < 1.0:
        interval = logit_interval(score, widened * error, int(min(rows)), freedom=freedom)
    else:
        interval = newcombe_interval(score, error, rows, widened=widened, freedom=freedom)
    return CorrectedAUC(score, interval.low, interval.high, optimism, widened)


@dataclass(eq=False)
class Sample:
    """Held-out rows whose scores are kept at all points of a grid, fold by fold.

    A row that several folds hold out occurs once for each of them.
    """

    rows: NDArray  # which of the training rows these are
    positive: NDArray
    fold: NDArray
    weights: NDArray  # the largest is 1
    places: NDArray  # among the held-out rows of their fold
    unit: NDArray  # the number of the row, or of its group: those of the same number are drawn together
    sizes: NDArray  # negative and positive rows that each fold holds out, in the sample or not, (folds, 2)
    totals: tuple[int, int]  # the same for all folds together, each row counted once
    held_out_per_trained: float  # rows that a fold holds out, over those it is trained on: 1/(K-1) for K folds
    whole_strata: bool = False  # whether units are whole strata: then each pair that counts is inside a unit
    n_units: int = field(init=False)  # rows or groups that are drawn
    parts: list[slice] = field(init=False)  # where the rows of each fold lie
    kept: NDArray = field(init=False)  # negative and positive rows of each fold in the sample, (folds, 2)
    standing_for: NDArray = field(init=False)  # weights with which rows stand for all rows that their fold holds out

    def __post_init__(self) -> None:
        self.n_units = int(self.unit.max(initial=-1)) + 1
        ends = np.searchsorted(self.fold, np.arange(len(self.sizes) + 1)).tolist()
        self.parts = list(map(slice, ends[:-1], ends[1:]))
        self.kept = np.bincount(2 * self.fold + self.positive, minlength=self.sizes.size).reshape(self.sizes.shape)
        each = (self.sizes / np.maximum(self.kept, 1))[self.fold, self.positive.astype(np.intp)]
        self.standing_for = self.weights * each

    def widening(self, stable: float = 0.0) -> float:
        """How much larger the standard error of the mean AUC is than DeLong's, because folds share training rows.

        √(1 + J · held out / trained), which is √(1 + K/(K-1)) for K folds (Nadeau & Bengio). J is the number of folds
        that would hold each row out once. The `stable` share of scores, the same for all training rows, does not count.
        """
        folds = len(self.sizes) * sum(self.totals) / int(self.sizes.sum())
        return float(np.sqrt(1.0 + (1.0 - stable) * folds * self.held_out_per_trained))

    def spreads(self, scores: NDArray) -> NDArray:
        """Standard deviation of scores, (rows, points), about the mean of their fold; 1 where they are all equal."""
        total = 0.0
        squares = np.zeros(scores.shape[1])
        standing = self.standing_for
        for part in self.parts:
            weights = standing[part]
            lines = scores[part].T
            if weights.size:
                centred = lines - (lines @ weights / weights.sum())[:, np.newaxis]
                squares += centred**2 @ weights
                total += float(weights.sum())
        spreads = np.sqrt(squares / total)
        return np.where(spreads > 0.0, spreads, 1.0)


def draw_sample(
    parts: Sequence[NDArray],
    trained: Sequence[int] | NDArray,
    positive: NDArray,
    weights: NDArray | None,
    groups: Any,
    n_points: int,
    seed: int,
    *,
    whole_strata: bool = False,
) -> Sample:
    """Draw the held-out rows whose scores are kept: all of them, or a random part of each class, or of the groups.

    `parts` are the numbers of the rows that each fold holds out, `trained` how many rows it is trained on, and
    `n_points` the points of all grids. With many groups, some groups are kept with all their rows; with few,
    some rows of each. `whole_strata` says that groups are whole strata.
    """
    rng = np.random.default_rng(seed)
    uses = np.bincount(np.concatenate(parts), minlength=positive.size)
    counts = uses > 0
    if weights is not None:
        weights = weights / weights.max()  # sums of very large weights stay finite
        counts &= weights > 0
    times = max(1, round(uses.sum() / max(1, np.count_nonzero(uses))))  # that a row is held out
    most = min(MOST_ROWS, max(400, MOST_VALUES // (n_points * times)))

    unit = np.arange(positive.size) if groups is None else group_numbers(groups, positive.size)
    sizes = np.bincount(unit[counts])
    if groups is not None and sizes.size >= MANY_GROUPS:
        order = rng.permutation(sizes.size)
        n_kept = int(np.searchsorted(np.cumsum(sizes[order]), most, "right"))
        drawn_rows = counts & np.isin(unit, order[: max(2, n_kept)])
    else:
        drawn_rows = np.zeros(positive.size, dtype=bool)
        sides = [np.flatnonzero(counts & ~positive), np.flatnonzero(counts & positive)]
        drawn_rows[np.concatenate(some_of_each_class(sides, most, rng))] = True

    places = [np.flatnonzero(drawn_rows[part]) for part in parts]
    rows = np.concatenate([part[chosen] for part, chosen in zip(parts, places, strict=True)])
    negatives, positives = np.bincount(positive[counts], minlength=2)
    return Sample(
        rows=rows,
        positive=positive[rows],
        fold=np.repeat(np.arange(len(parts)), [chosen.size for chosen in places]),
        weights=np.ones(rows.size) if weights is None else weights[rows].astype(np.float64),
        places=np.concatenate(places),
        unit=np.unique(unit[rows], return_inverse=True)[1],
        sizes=np.stack([np.bincount(positive[part[counts[part]]], minlength=2) for part in parts]),
        totals=(int(negatives), int(positives)),
        held_out_per_trained=float(np.mean([part.size / size for part, size in zip(parts, trained, strict=True)])),
        whole_strata=whole_strata,
    )


def some_of_each_class(sides: Sequence[Any], most: int, rng: np.random.Generator) -> list[Any]:
    """At most `most` of the rows of two classes, given their numbers: half of each, or all of a class that has fewer.

    Numbers on a device stay there.
    """
    sizes = [side.shape[0] for side in sides]
    smaller = min(*sizes, most // 2)
    drawn = []
    for side, size in zip(sides, sizes, strict=True):
        room = min(size, max(most - smaller, most // 2) if size > smaller else smaller)
        if room < size:
            chosen = rng.choice(size, room, replace=False, shuffle=False)
            xp = array_api.device_namespace(side)
            side = side[chosen] if xp is None else xp.take(side, array_api.beside(chosen, side))
        drawn.append(side)
    return drawn


def group_numbers(groups: Any, n_rows: int) -> NDArray:
    """The number of each row's group, in order of appearance; groups may be named by anything that can be hashed."""
    numbers = numbers_of(groups, n_rows, "groups", "group")
    return np.argsort(np.argsort(np.unique(numbers, return_index=True)[1]))[numbers]


def stable_share(by_all: NDArray, common: NDArray, sample: Sample) -> float:
    """The share of the variance of the scores, within the classes, that does not come from the choice of training rows.

    A score is s + e, where s is common to all training sets, and e is a sum over training rows: two models correlate by
    (var s + o var e) / (var s + var e), where o is the share of training rows they have in common. So the share is
    (correlation - o) / (1 - o), averaged over all pairs of folds. Each fold's rows are scored by its own model, which
    has not seen them, and by those of the other folds, which have.

    `by_all`, of shape (rows of the sample, folds), are the scores by the models of all folds; `common` has the numbers
    of training rows that each two models share; o is this number over the geometric mean of their numbers of rows.
    """
    sizes = np.sqrt(np.diagonal(common))
    overlap = common / np.outer(sizes, sizes)
    beyond = room = 0.0
    for number, part in enumerate(sample.parts):
        scores = by_all[part]
        positive = sample.positive[part]
        centred = scores.copy()
        mass = np.zeros(len(scores))
        for side in (positive, ~positive):  # both classes weigh the same
            weights = sample.weights[part][side]
            if weights.sum() > 0.0:
                mass[side] = weights / weights.sum()
                centred[side] -= mass[side] @ scores[side]
        products = (mass * centred[:, number]) @ centred
        with np.errstate(invalid="ignore", divide="ignore"):
            correlation = products / np.sqrt(products[number] * (mass @ centred**2))
        others = np.isfinite(correlation) & (np.arange(len(overlap)) != number)
        beyond += float(np.sum(correlation[others] - overlap[number, others]))
        room += float(np.sum(1.0 - overlap[number, others]))
    return float(np.clip(beyond / room, 0.0, 1.0)) if room > 0.0 else 0.0


class TwoClassMeasure:
    """The AUC of the rows of a sample by lines of scores, and the influences of the rows.

    A positive row moves it by (its share of negatives below it - AUC) over the number of positives, a negative one
    likewise. The sum of the squares is DeLong's variance. Folds with two rows of each class also stand for the other
    folds, whose rows have no influence.
    """

    def __init__(self, sample: Sample):
        self.sample = sample
        self.varies = sample.kept.min(axis=1) >= 2
        self.scale = np.sqrt(self.varies.size / max(self.varies.sum(), 1))

    def __call__(self, fold: int, lines: NDArray) -> tuple[NDArray, NDArray]:
        """½ for a fold with rows of one class."""
        part = self.sample.parts[fold]
        positive, weights = self.sample.positive[part], self.sample.weights[part]
        if np.unique(positive).size < 2:
            return np.full(len(lines), 0.5), np.zeros(lines.shape)
        auc = roc_auc_columns(positive, lines.T, weights)
        moves = np.zeros(lines.shape)
        if not self.varies[fold]:
            return auc, moves
        placed = placements(positive, lines, weights)
        for side, size in zip((~positive, positive), self.sample.sizes[fold], strict=True):
            n_of_class = int(side.sum())
            of_side = weights[side]
            mean = (placed[:, side] @ of_side) / of_side.sum()  # exact where all are alike, so that nothing varies
            share = of_side / of_side.sum()
            centred = placed[:, side] - mean[:, np.newaxis]
            moves[:, side] = (
                self.scale * share * np.sqrt(n_of_class / max(n_of_class - 1, 1) * n_of_class / size) * centred
            )
        return auc, moves


def measure_folds(sample: Sample, measure: RankMeasure, lines: NDArray) -> tuple[NDArray, NDArray]:
    """The measure of each line of scores in each fold, (lines, folds), and the influences, (lines, rows)."""
    of_folds = [measure(fold, lines[:, part]) for fold, part in enumerate(sample.parts)]
    values = np.stack([values for values, _ in of_folds], axis=1)
    return values, np.concatenate([moves for _, moves in of_folds], axis=1)


def optimism_of(
    rule: Rule,
    measure: Measured,
    sample: Sample,
    seed: int,
    mixed: bool = False,
    most_draws: int = 400,
    stable: float = 0.0,
) -> tuple[float, float]:
    """The optimism in the AUC of a rule's choice on all rows, and the variance of the AUC from draw to draw.

    Each draw leaves out a share of the rows. The choice on the other rows is compared, on the rows left out, with the
    choice on all rows, which has seen the rows left out and looks too good there. The AUC on the rows left
    out is their first-order one (AUC + sum of influences), which needs no fold to keep rows of both classes.

    Each held-out row also trains the models that score the others, so that AUCs vary more from one set of rows to the
    next than held-out rows show. Therefore the deviations on the rows left out count more: for K folds K/(K-1)-fold for
    a choice, and √(1 + K/(K-1))-fold for a blend (`mixed`), as in the interval (`Sample.widening`). Both were found by
    simulation (docs/corrected_auc.md). Where scores are `stable`, the same for all training rows, they count once.

    The choice differs from draw to draw, and so does its AUC on all rows. The draws vary less than sets of rows do,
    by the odds of being left out; the variance is scaled accordingly.
    """
    share = 0.25  # of the rows that a draw leaves out
    rng = np.random.default_rng(seed)
    odds = share / (1.0 - share)
    scale = (sample.widening() if mixed else 1.0 + (1.0 - stable) * sample.held_out_per_trained) / odds
    everything = rule(np.ones((sample.rows.size, 1))).T
    # With more rows the choice varies less, and fewer draws are enough.
    draws = int(np.clip(80_000 // sample.n_units, 50, most_draws))
    leads: list[NDArray] = []  # of the choice on all rows, on the rows left out
    taken_auc: list[NDArray] = []
    batch_values = 1 << 22  # AUCs of all points, folds and some draws that are held at once
    step = max(1, batch_values // (everything.size * len(sample.sizes)))
    for first in range(0, draws, step):
        size = min(step, draws - first)
        changes = np.where(rng.random((sample.n_units, size)) < share, -1.0, odds)[sample.unit]
        taken = np.ascontiguousarray(rule(1.0 + changes).T)
        lines = np.vstack([everything, taken])
        numbers = dict[bytes, int]()
        which = np.array([numbers.setdefault(line.tobytes(), len(numbers)) for line in lines])
        auc, moves = measure(lines[np.unique(which, return_index=True)[1]])  # equal lines are measured once
        mean = auc.mean(axis=1)
        left_out = mean[:, np.newaxis] - scale / len(sample.sizes) * (moves @ changes)
        leads.append(left_out[which[0]] - left_out[which[1:], np.arange(size)])
        taken_auc.append(mean[which[1:]])
    return float(np.concatenate(leads).mean()), float(np.concatenate(taken_auc).var()) / odds


def standard_error(sample: Sample, moves: NDArray) -> float:
    """DeLong's standard error of the mean AUC of the folds; the rows of a group, or of several folds, vary together."""
    return float(np.linalg.norm(np.bincount(sample.unit, moves, sample.n_units))) / len(sample.sizes)
