"""The rows that a score is read from: a part of the training rows, both classes weighing the same, sorted into bins."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils import array_api
from vrspam.tables import frames

MOST_ROWS = 10_000
FINE_BINS = 20  # of a column of numbers, for mean scores


class ReadRows(NamedTuple):
    """Rows, their classes and their weights.

    Attributes
    ----------
    X : array or frame
    positive : ndarray of bool
    weights : ndarray
        They add up to ½ in each class.
    places : ndarray of int
        Which of the training rows these are.
    """

    X: Any
    positive: np.ndarray
    weights: np.ndarray
    places: np.ndarray

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.places.size

    @property
    def effective(self) -> float:
        """The number of rows of equal weight in which a mean is as exact as in these."""
        return 1.0 / float(self.weights @ self.weights)


def balanced_weights(positive: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Weights of rows such that each class weighs ½."""
    given = np.ones(positive.size) if weights is None else weights
    totals = np.array([given[~positive].sum(), given[positive].sum()])
    return given / (2.0 * totals[positive.astype(int)])


def draw_rows(
    X: Any, positive: np.ndarray, weights: np.ndarray | None, seed: int | None, most: int = MOST_ROWS
) -> ReadRows:
    """All rows that count, or `most` of them: half of each class, or all rows of a class that has fewer.

    `positive` and `weights` may lie on a device.
    """
    there = array_api.device_namespace(positive)
    xp: Any = there or np
    counted = xp.ones_like(positive) if weights is None else weights > 0.0
    classes = [xp.nonzero(counted & side)[0] for side in (~positive, positive)]
    sizes = [int(rows.shape[0]) for rows in classes]
    if sum(sizes) > most:
        rng = np.random.default_rng(seed)
        smaller = min(*sizes, most // 2)
        room = [smaller if size == smaller else most - smaller for size in sizes]
        room = [most // 2, most // 2] if smaller == most // 2 else room
        for label in (0, 1):
            if sizes[label] > room[label]:
                drawn = rng.choice(sizes[label], room[label], replace=False)
                classes[label] = xp.take(classes[label], drawn if there is None else array_api.beside(drawn, positive))
    index = np.sort(np.concatenate(list(map(array_api.on_host, classes))))
    if array_api.device_namespace(X) is not None:
        some: Any = array_api.on_host(array_api.device_namespace(X).take(X, array_api.beside(index, X), axis=0))
    else:
        some = X if index.size == positive.size else frames.rows_of(X, index)
    places = index if there is None else array_api.beside(index, positive)
    chosen = array_api.on_host(xp.take(positive, places))
    mass = None if weights is None else array_api.on_host(xp.take(weights, places))
    return ReadRows(some, chosen, balanced_weights(chosen, mass), index)


def mean_at_numbers(
    values: np.ndarray, amounts: np.ndarray, weights: np.ndarray, at: np.ndarray
) -> tuple[np.ndarray, float | None]:
    """The mean of `amounts` over the rows with a value, or near it, at each of `at`; and that of the missing ones.

    Rows are sorted into at most `FINE_BINS` bins, each value in one of them; between them the means are interpolated.
    """
    values = np.asarray(values, dtype=np.float64)
    order = np.argsort(values)  # NaN comes last
    ordered, mass = values[order], weights[order]
    sums = mass * amounts[order]
    present = int(np.searchsorted(ordered, np.nan))
    gone = mass[present:].sum()
    absent = float(sums[present:].sum() / gone) if gone > 0.0 else None
    if present == 0:
        return np.full(at.size, np.nan), absent
    starts = np.arange(FINE_BINS) * present // FINE_BINS
    different = np.flatnonzero(np.append(True, ordered[1:present] > ordered[: present - 1]))
    if different.size > FINE_BINS:
        different = np.unique(np.searchsorted(ordered[:present], ordered[starts]))
    weight = np.add.reduceat(mass[:present], different)
    share = mass[:present] / np.repeat(weight, np.diff(np.append(different, present)))  # huge values stay within range
    centres = np.add.reduceat(share * ordered[:present], different)
    return np.interp(at, centres, np.add.reduceat(sums[:present], different) / weight), absent


class ColumnBins(NamedTuple):
    """One column, sorted into bins.

    Attributes
    ----------
    codes : ndarray of int
        The bin of each row.
    labels : tuple of str
        What the values of each bin are; a bin of missing values comes last.
    edges : ndarray or None
        For numbers: bin i holds values above edges[i] up to edges[i + 1] (the first also its lower edge).
    """

    codes: np.ndarray
    labels: tuple[str, ...]
    edges: np.ndarray | None

    @property
    def size(self) -> int:
        """Number of bins."""
        return len(self.labels)


def bin_numbers(values: np.ndarray, most: int) -> ColumnBins:
    """Bins of about as many rows each; each value has its own where there are at most `most`.

    >>> bin_numbers(np.array([-0.0, 1.0, 0.0, np.nan]), 4).labels
    ('0', '1', 'missing')
    """
    values = np.asarray(values, dtype=np.float64) + 0.0  # no label is "-0"
    absent = np.isnan(values)
    present = values[~absent]
    codes = np.empty(values.size, dtype=np.intp)
    labels: list[str] = []
    edges = np.empty(0)
    if present.size:
        ordered = np.sort(present)
        different = ordered[np.flatnonzero(np.append(ordered[1:] > ordered[:-1], True))]
        if different.size <= most:
            inner = different[:-1]
            labels = [_shown(value) for value in different]
        else:
            inner = np.unique(ordered[np.arange(1, most) * ordered.size // most])
            inner = inner[inner < ordered[-1]]
        edges = np.concatenate([ordered[:1], inner, ordered[-1:]])
        if not labels:
            labels = [f"{_shown(low)} to {_shown(high)}" for low, high in pairwise(edges)]
        codes[~absent] = np.searchsorted(inner, present, side="left")
    if absent.any():
        codes[absent] = len(labels)
        labels.append("missing")
    return ColumnBins(codes, tuple(labels), edges)


def bin_categories(codes: np.ndarray, names: tuple[str, ...], missing: bool, most: int) -> ColumnBins:
    """One bin for each category that occurs; if there are more than `most`, rare ones share the bin "others"."""
    n_names = len(names) + missing
    codes = np.where(codes < 0, n_names, codes)  # none of the categories
    counts = np.bincount(codes, minlength=n_names + 1)
    named = np.flatnonzero(counts[: len(names)])
    if named.size > most:
        named = np.sort(named[np.argsort(-counts[named], kind="stable")[: most - 1]])
    place = np.full(n_names + 1, -1)
    place[named] = np.arange(named.size)
    labels = [names[i] for i in named]
    rest = np.ones(n_names + 1, dtype=bool)
    rest[named] = False
    if missing:
        rest[len(names)] = False
    if counts[rest].any():
        place[rest] = len(labels)
        labels.append("others")
    if missing and counts[len(names)]:
        place[len(names)] = len(labels)
        labels.append("missing")
    return ColumnBins(place[codes], tuple(labels), None)


def bin_column(rows: ReadRows, index: int, categories: tuple[str, ...] | None, missing: bool, most: int) -> ColumnBins:
    """Column `index` in bins; `categories` are those of a column of text."""
    if categories is None:
        return bin_numbers(frames.numbers(rows.X, index), most)
    codes: dict[str | None, int] = {name: i for i, name in enumerate(categories)}
    if missing:
        codes[None] = len(categories)
    return bin_categories(frames.category_codes(rows.X, index, codes), categories, missing, most)


def _shown(value: float) -> str:
    return f"{value:.4g}"
