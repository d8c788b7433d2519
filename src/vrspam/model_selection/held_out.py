"""Held-out scores, one array of rows × points: each row is scored by a model that was trained on the other folds.

`HeldOut` holds them on the host or on a device. A `Sample` names the rows whose scores are kept at all points of a
grid. Blends, the correction of the AUC, calibration and reports are functions of these two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils import array_api
from vrspam.features.mapped import MappedArray
from vrspam.moments import ClassMoments, RankedPairs
from vrspam.tables.frames import WHOLE_ROWS

MOST_ROWS = 2_000  # of a sample: half of them of each class, where there are as many
MOST_VALUES = 1 << 23  # scores in all (64 MB): with very many points fewer rows are kept
MANY_GROUPS = 60  # from here on the correction draws groups; with fewer the choice is made anew without each fold
BLOCK_BYTES = 1 << 25  # rows gathered, and scores held, at once


class HeldOut(NamedTuple):
    """Held-out rows with their scores, by the model of the other folds.

    Attributes
    ----------
    positive : boolean array of n
    scores : array of n
        At one point of the grid, with the intercept of the model. Inside this package also of shape (n, points),
        without intercepts.
    fold : array of n
        The fold that holds each row out.
    weights : array of n
        How many rows each one stands for.
    places : array of n or None
        Which of the training rows these are, where they were in memory.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam import AUCClassifierCV
    >>> model = AUCClassifierCV(features="standardized").fit(*load_breast_cancer(return_X_y=True))
    >>> held_out = model.out_of_fold_
    >>> held_out.scores.shape, sorted(set(held_out.fold.tolist()))
    ((569,), [0, 1, 2, 3, 4])
    """

    positive: Any
    scores: Any
    fold: Any
    weights: Any
    places: Any = None

    def of_fold(self, fold: int) -> HeldOut:
        """The rows that one fold holds out, where the rows lie fold by fold."""
        part = slice(*np.searchsorted(self.fold, [fold, fold + 1]).tolist())
        return HeldOut(*(None if column is None else column[part] for column in self))

    def at(self, point: int, intercepts: np.ndarray) -> HeldOut:
        """The scores at one point of the grid; `intercepts` has one entry per fold."""
        weights = np.ones(self.fold.size) if self.weights is None else self.weights
        return self._replace(scores=self.scores[:, point] + intercepts[self.fold], weights=weights)

    def on_host(self) -> HeldOut:
        """All rows of a data set, in their order, brought from a device to the memory of the host."""
        scores = np.asarray(array_api.on_host(self.scores), dtype=np.float64)
        weights = np.ones(scores.size) if self.weights is None else array_api.on_host(self.weights).astype(np.float64)
        positive, fold = np.asarray(array_api.on_host(self.positive)), array_api.on_host(self.fold).astype(np.intp)
        return HeldOut(positive, scores, fold, weights, np.arange(scores.size))


@dataclass(eq=False)
class Sample:
    """Held-out rows whose scores are kept at all points of a grid, fold by fold.

    A row that several folds hold out is there for each of them.
    """

    rows: np.ndarray  # which of the training rows these are
    positive: np.ndarray
    fold: np.ndarray
    weights: np.ndarray  # the largest is 1
    places: np.ndarray  # among the held-out rows of their fold
    unit: np.ndarray  # the number of the row, or of its group: those of the same number are drawn together
    sizes: np.ndarray  # negative and positive rows that each fold holds out, in the sample or not, (folds, 2)
    totals: tuple[int, int]  # the same for all folds together, each row counted once
    held_out_per_trained: float  # rows that a fold holds out, over those it is trained on: 1/(K-1) for K folds
    pairs: RankedPairs | None = None  # of the training rows, those that count if they are not all of two classes
    by_strata: bool = False  # whether units are whole strata: then each pair is inside a unit
    n_units: int = field(init=False)  # rows or groups that are drawn
    parts: list[slice] = field(init=False)  # where the rows of each fold lie
    kept: np.ndarray = field(init=False)  # negative and positive rows of each fold in the sample, (folds, 2)
    standing_for: np.ndarray = field(init=False)  # weights with which rows stand for all that their fold holds out

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
        that would hold each row out once. Scores that are `stable`, the same for all training rows, have no part in it.
        """
        folds = len(self.sizes) * sum(self.totals) / int(self.sizes.sum())
        return float(np.sqrt(1.0 + (1.0 - stable) * folds * self.held_out_per_trained))

    def spreads(self, scores: np.ndarray) -> np.ndarray:
        """Standard deviation of scores, (rows, points), about the mean of their fold; 1 where they are all equal."""
        total, squares, standing = 0.0, np.zeros(scores.shape[1]), self.standing_for
        for part in self.parts:
            weights, lines = standing[part], scores[part].T
            if weights.size:
                centred = lines - (lines @ weights / weights.sum())[:, np.newaxis]
                squares += centred**2 @ weights
                total += float(weights.sum())
        found = np.sqrt(squares / total)
        return np.where(found > 0.0, found, 1.0)


def draw_sample(
    parts: Sequence[np.ndarray],
    trained: Sequence[int] | np.ndarray,
    positive: np.ndarray,
    weights: np.ndarray | None,
    groups: Any,
    n_points: int,
    seed: int,
) -> Sample:
    """Draw the held-out rows whose scores are kept: all of them, or a random part of each class, or of the groups.

    `parts` are the numbers of the rows that each fold holds out, `trained` how many rows it is trained on, and
    `n_points` the points of all grids. Of many groups some are kept with all their rows, of few groups some rows of
    each.
    """
    rng = np.random.default_rng(seed)
    uses = np.bincount(np.concatenate(parts), minlength=positive.size)
    if weights is not None:
        weights = weights / weights.max()  # sums of very large weights stay finite
    counts = uses > 0 if weights is None else (uses > 0) & (weights > 0)
    each = n_points * max(1, round(uses.sum() / max(1, np.count_nonzero(uses))))
    most = min(MOST_ROWS, max(400, MOST_VALUES // each))
    unit = np.arange(positive.size) if groups is None else group_numbers(groups, positive.size)
    sizes = np.bincount(unit[counts])
    if groups is not None and sizes.size >= MANY_GROUPS:
        order = rng.permutation(sizes.size)
        kept = counts & np.isin(unit, order[: max(2, int(np.searchsorted(np.cumsum(sizes[order]), most, "right")))])
    else:
        kept = np.zeros(positive.size, dtype=bool)
        kept[some_of_each_class(counts, positive, most, rng)] = True
    places = [np.flatnonzero(kept[part]) for part in parts]
    rows = np.concatenate([part[some] for part, some in zip(parts, places, strict=True)])
    negatives, positives = np.bincount(positive[counts], minlength=2)
    return Sample(
        rows,
        positive[rows],
        np.repeat(np.arange(len(parts)), list(map(len, places))),
        np.ones(rows.size) if weights is None else weights[rows].astype(np.float64),
        np.concatenate(places),
        np.unique(unit[rows], return_inverse=True)[1],
        np.stack([np.bincount(positive[part[counts[part]]], minlength=2) for part in parts]),
        (int(negatives), int(positives)),
        float(np.mean([part.size / size for part, size in zip(parts, trained, strict=True)])),
    )


def sample_of(held_out: HeldOut, n_points: int, seed: int) -> Sample:
    """Draw rows out of held-out rows that lie fold by fold; the training part of a fold is all others."""
    sizes = np.bincount(held_out.fold)
    parts = np.split(np.arange(held_out.fold.size), np.cumsum(sizes)[:-1])
    weights = np.ones(held_out.fold.size) if held_out.weights is None else held_out.weights
    return draw_sample(parts, sizes.sum() - sizes, held_out.positive, weights, None, n_points, seed)


def some_of_each_class(counts: np.ndarray, positive: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """The numbers of at most `most` rows that count, class by class: half of each, or all of a class that has fewer."""
    sides = [np.flatnonzero(counts & ~positive), np.flatnonzero(counts & positive)]
    drawn = places_in_classes([side.size for side in sides], most, rng)
    return np.concatenate([side[places] for side, places in zip(sides, drawn, strict=True)])


def places_in_classes(sizes: Sequence[int], most: int, rng: np.random.Generator) -> list[Any]:
    """Which rows of two classes of these sizes are drawn, as in `some_of_each_class`."""
    smaller, drawn = min(*sizes, most // 2), []
    for size in sizes:
        room = min(size, max(most - smaller, most // 2) if size > smaller else smaller)
        drawn.append(slice(None) if room == size else rng.choice(size, room, replace=False, shuffle=False))
    return drawn


def group_numbers(groups: Any, n_rows: int) -> np.ndarray:
    """The number of each row's group; groups may be named by anything that can be hashed."""
    names = array_api.on_host(groups)
    if names.shape != (n_rows,):
        raise ValueError(f"groups has shape {names.shape}; it needs one entry for each of {n_rows} rows.")
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names.tolist()], dtype=np.intp)


def score_rows(X: Any, index: Any, coefs: np.ndarray) -> Any:
    """Scores of some rows by each of `coefs`, (rows, points), a few rows at a time; those of a device stay there."""
    if (xp := array_api.device_namespace(X)) is not None:
        return xp.matrix_transpose(array_api.score_lines(X, coefs, array_api.beside(index, X)))
    transposed = np.ascontiguousarray(coefs.T, dtype=X.dtype)
    step = max(64, BLOCK_BYTES // (X.dtype.itemsize * max(coefs.shape[1], 1)))
    scores = np.empty((coefs.shape[0], index.size), dtype=X.dtype)
    for start in range(0, index.size, step):
        some = index[start : start + step]
        # equal rows must have equal scores, for ties to count as ties
        whole = np.pad(some, (0, -some.size % WHOLE_ROWS), mode="edge")
        product = X.products(whole, transposed) if isinstance(X, MappedArray) else X[whole] @ transposed
        scores[:, start : start + step] = product[: some.size].T
    return scores.T


def in_range(coefs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients divided by a power of two for each point, and these powers: scores stay in the range of float32."""
    exponents = np.frexp(np.abs(coefs).max(axis=1))[1]
    return np.ldexp(coefs, -exponents[:, np.newaxis]), exponents


def as_they_are(scores: Any, exponents: np.ndarray, places: np.ndarray | None = None) -> np.ndarray:
    """Scores by coefficients `in_range`, or those of some of the rows, times their powers: float64 on the host."""
    if places is not None:  # only these rows leave a device
        xp = array_api.device_namespace(scores)
        scores = scores[places] if xp is None else xp.take(scores, array_api.beside(places, scores), axis=0)
    return np.ldexp(np.asarray(array_api.on_host(scores), dtype=np.float64), exponents)


def scores_of(X: Any, index: np.ndarray, coefs: np.ndarray) -> np.ndarray:
    """Scores of some rows, in memory or on a device, by several models: an array (rows, models) on the host."""
    coefs, exponents = in_range(coefs)
    return as_they_are(score_rows(X, index, coefs), exponents)


def stable_share(by_all: np.ndarray, common: np.ndarray, sample: Sample) -> float:
    """The share of the variance of the scores, within the classes, that does not come from the choice of training rows.

    A score is s + e, where s is common to all training sets, and e is a sum over training rows: two models correlate by
    (var s + o var e) / (var s + var e), where o is the share of training rows they have in common. So the share is
    (correlation - o) / (1 - o), averaged over all pairs of folds. Each fold's rows are scored by its own model, which
    has not seen them, and by those of the other folds, which have.

    `by_all`, of shape (rows of the sample, folds), are the scores by the models of all folds; `common` are the training
    rows that each two of them share. The share of these is taken of the geometric mean of their numbers.
    """
    sizes = np.sqrt(np.diagonal(common))
    overlap, beyond, room = common / np.outer(sizes, sizes), 0.0, 0.0
    for number, part in enumerate(sample.parts):
        scores, positive = by_all[part], sample.positive[part]
        centred, mass = scores.copy(), np.zeros(len(scores))
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


def stable_share_of_moments(moments: ClassMoments, sample: Sample, coefs: np.ndarray) -> float:
    """The same for rows that came in blocks, so many that it makes no difference which of them a model has seen."""
    products = coefs @ moments.within @ coefs.T
    others = ~np.eye(len(coefs), dtype=bool)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = (products / np.sqrt(np.outer(np.diagonal(products), np.diagonal(products))))[others]
    overlap = 1.0 - sample.held_out_per_trained
    if overlap >= 1.0 or not np.isfinite(correlation).all():
        return 0.0
    return float(np.clip((correlation.mean() - overlap) / (1.0 - overlap), 0.0, 1.0))
