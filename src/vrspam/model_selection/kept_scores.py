"""Which held-out rows keep their scores at all points of the grid: all of them, or a random part of each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils import array_api
from vrspam.model_selection.held_out import HeldOutBlock

MOST_ROWS = 2_000  # half of them of each class, where there are as many
MOST_VALUES = 1 << 23  # scores in all (64 MB): with very many points fewer rows are kept, but never fewer than
LEAST_ROWS = 400


class FoldRows(NamedTuple):
    """The kept rows of one fold.

    Attributes
    ----------
    places : ndarray of int
        Their places among the held-out rows of the fold.
    positive : ndarray of bool
    weights : ndarray of float
    unit : ndarray of int
        The number of the row, or of its group: rows with the same number are drawn together, in all folds.
    sizes : ndarray of two int
        Negative and positive rows that the fold holds out, kept or not.
    """

    places: np.ndarray
    positive: np.ndarray
    weights: np.ndarray
    unit: np.ndarray
    sizes: np.ndarray

    @property
    def standing_for(self) -> np.ndarray:
        """Weights of the kept rows that stand for all rows the fold holds out."""
        kept = np.bincount(self.positive, minlength=2)
        return self.weights * (self.sizes / np.maximum(kept, 1))[self.positive.astype(np.intp)]

    def scores(self, block: HeldOutBlock) -> np.ndarray:
        """The scores of the kept rows in a block of their fold, one line for each of its points."""
        xp, part = array_api.device_namespace(block.scores), block.scores
        if xp is None:
            part = part[self.places]
        else:  # only these rows leave the device
            part = array_api.on_host(xp.take(part, array_api.beside(self.places, part), axis=0))
        return block._replace(scores=part).values().T


class KeptRows(NamedTuple):
    """The kept rows of all folds.

    Attributes
    ----------
    folds : list of FoldRows
    n_units : int
        Rows or groups that are drawn.
    sizes : tuple of two int
        Negative and positive rows that the folds hold out, each row counted once.
    held_out_per_trained : float
        Rows that a fold holds out, over the rows it is trained on: 1/(K-1) for K folds.
    """

    folds: list[FoldRows]
    n_units: int
    sizes: tuple[int, int]
    held_out_per_trained: float

    def widening(self, stable: float = 0.0) -> float:
        """How much larger the standard error of the mean AUC is than DeLong's, because folds share training rows.

        √(1 + J · held out / trained), which is √(1 + K/(K-1)) for K folds (Nadeau & Bengio). J is the number of folds;
        if they hold rows out several times, it is the number that would hold each row out once. The share of the scores
        that is `stable`, the same for all training rows, has no part in it.
        """
        held_out = sum(int(fold.sizes.sum()) for fold in self.folds)
        folds = len(self.folds) * sum(self.sizes) / held_out
        return float(np.sqrt(1.0 + (1.0 - stable) * folds * self.held_out_per_trained))

    def ones(self) -> list[np.ndarray]:
        """The weight 1 for each kept row: one array (rows, 1) for each fold."""
        return [np.ones((fold.positive.size, 1)) for fold in self.folds]


def rows_to_keep(
    parts: Sequence[np.ndarray],
    trained: Sequence[int],
    positive: np.ndarray,
    weights: Any,
    groups: Any,
    n_points: int,
    seed: int,
) -> KeptRows:
    """Draw the rows whose scores are kept.

    Rows that no fold holds out are not among them; a row that several folds hold out is kept in all of these.

    Parameters
    ----------
    parts : list of ndarray of int
        Numbers of the rows that each fold holds out.
    trained : list of int
        Rows that each fold is trained on.
    positive, weights, groups : ndarrays, one entry for each row
        `weights` and `groups` may be None. Of groups all rows are kept, or none.
    n_points : int
        Points of all grids.
    seed : int
    """
    rng = np.random.default_rng(seed)
    uses = np.bincount(np.concatenate(parts), minlength=positive.size)
    if weights is not None:
        weights = weights / weights.max()  # sums of very large weights stay finite
    counts = uses > 0 if weights is None else (uses > 0) & (weights > 0)
    each = n_points * max(1, round(uses.sum() / max(1, np.count_nonzero(uses))))
    most = most_rows(each)
    if groups is None:
        unit, kept = np.arange(positive.size), some_of_each_class(counts, positive, most, rng)
    else:
        unit, kept = _some_groups(counts, groups, most, rng)
    used, number = np.unique(unit[kept], return_inverse=True)
    unit = np.empty(positive.size, dtype=np.intp)
    unit[kept] = number
    folds = []
    for part in parts:
        places = np.flatnonzero(kept[part])
        some = part[places]
        given = np.ones(some.size) if weights is None else weights[some].astype(np.float64)
        sizes = np.bincount(positive[part[counts[part]]], minlength=2)
        folds.append(FoldRows(places, positive[some], given, unit[some], sizes))
    ratio = float(np.mean([part.size / size for part, size in zip(parts, trained, strict=True)]))
    negatives, positives = np.bincount(positive[counts], minlength=2)
    return KeptRows(folds, used.size, (int(negatives), int(positives)), ratio)


def most_rows(each: int) -> int:
    """Most rows that are kept, if each has so many scores."""
    return min(MOST_ROWS, max(LEAST_ROWS, MOST_VALUES // each))


def rooms_of_classes(sizes: Sequence[int] | np.ndarray, most: int) -> list[int]:
    """Rows of each of two classes that are kept: half of `most`, or all of a class that has fewer."""
    smaller = min(int(sizes[0]), int(sizes[1]), most // 2)
    return [min(int(size), max(most - smaller, most // 2) if int(size) > smaller else smaller) for size in sizes]


def some_of_each_class(counts: np.ndarray, positive: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """A mask of at most `most` rows: half of them of each class, or all of a class that has fewer."""
    sides = [np.flatnonzero(counts & ~positive), np.flatnonzero(counts & positive)]
    kept = np.zeros(positive.size, dtype=bool)
    for side, size in zip(sides, rooms_of_classes([side.size for side in sides], most), strict=True):
        kept[side if size == side.size else rng.choice(side, size, replace=False, shuffle=False)] = True
    return kept


def _some_groups(counts: np.ndarray, groups: Any, most: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The number of each row's group, and a mask of the rows of random groups: about `most`, in two groups at least."""
    unit = _numbered(groups, counts.size)
    sizes = np.bincount(unit[counts])
    order = rng.permutation(sizes.size)
    last = max(2, int(np.searchsorted(np.cumsum(sizes[order]), most, side="right")))
    return unit, counts & np.isin(unit, order[:last])


def _numbered(groups: Any, n: int) -> np.ndarray:
    """The number of each row's group; groups may be named by anything."""
    names = array_api.on_host(groups)
    if names.shape != (n,):
        raise ValueError(f"groups has shape {names.shape}; it needs one entry for each of {n} rows.")
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names.tolist()])


def keep_of_blocks(blocks: Sequence[HeldOutBlock], n_points: int, seed: int) -> tuple[KeptRows, list[np.ndarray]]:
    """Draw rows out of blocks that hold all points, one block for each fold; with their scores.

    The training part of a fold is all others.
    """
    sizes = np.array([block.positive.size for block in blocks])
    starts = np.cumsum(sizes) - sizes
    parts = [start + np.arange(size) for start, size in zip(starts, sizes, strict=True)]
    weights = [np.ones(b.positive.size) if b.weights is None else b.weights for b in blocks]
    positive = np.concatenate([block.positive for block in blocks])
    rows = rows_to_keep(parts, sizes.sum() - sizes, positive, np.concatenate(weights), None, n_points, seed)
    return rows, [fold.scores(block) for fold, block in zip(rows.folds, blocks, strict=True)]
