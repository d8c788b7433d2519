"""Pairs of columns that interact: functions of two binned columns that explain what curves of single columns leave."""

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils import array_api
from vrspam._utils.texts import number_labels
from vrspam.tables import frames

MOST_ROWS = 10_000
FINE_BINS = 20  # of a column of numbers, for mean scores


class ReadRows(NamedTuple):
    """Rows, their classes and their weights."""

    X: Any
    positive: np.ndarray
    weights: np.ndarray  # they add up to ½ in each class
    places: np.ndarray  # which of the training rows these are
    effective: float  # effective sample size: with so many rows of equal weight, a mean is as exact as with these


def draw_rows(
    X: Any, positive: np.ndarray, weights: np.ndarray | None, seed: int | None, most: int = MOST_ROWS
) -> ReadRows:
    """All rows of positive weight, or `most` of them: half from each class, or all of a smaller class."""
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
    mass = np.ones(chosen.size) if weights is None else array_api.on_host(xp.take(weights, places))
    balanced = mass / (2.0 * np.where(chosen, mass[chosen].sum(), mass[~chosen].sum()))
    return ReadRows(some, chosen, balanced, index, 1.0 / float(balanced @ balanced))


def mean_at_numbers(
    values: np.ndarray, amounts: np.ndarray, weights: np.ndarray, at: np.ndarray
) -> tuple[np.ndarray, float | None]:
    """The means of `amounts` over rows with values at or near each of `at`, and over rows with missing values.

    Rows are sorted into at most `FINE_BINS` bins, equal values into the same one; means are interpolated between bins.
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
    """One column, sorted into bins."""

    codes: np.ndarray  # the bin of each row
    labels: tuple[str, ...]  # what the values of each bin are; a bin of missing values comes last
    # for numbers: bin i holds values above edges[i] up to edges[i + 1] (the first also its lower edge)
    edges: np.ndarray | None


def bin_numbers(values: np.ndarray, most: int) -> ColumnBins:
    """Bins with about equal numbers of rows; one bin for each value if there are at most `most` values.

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
            labels = number_labels(different)
        else:
            inner = np.unique(ordered[np.arange(1, most) * ordered.size // most])
            inner = inner[inner < ordered[-1]]
        edges = np.concatenate([ordered[:1], inner, ordered[-1:]])
        if not labels:
            labels = [f"{low} to {high}" for low, high in pairwise(number_labels(edges))]
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


class Axis(NamedTuple):
    """One side of a heat map.

    Attributes
    ----------
    name : str
        The column.
    labels : tuple of str
        What the values of each bin are.
    edges : ndarray or None
        For numbers: the limits of the bins, one more than there are bins of numbers; a bin of missing values comes
        last.
    part : {"year", "month", "weekday", "hour", ""}
        The part of a date that the column is; "" for other columns.

    Examples
    --------
    >>> from vrspam.inspection import Axis
    >>> axis = Axis("sex", ("f", "m"), None)  # of `PairEffect.columns`
    >>> axis.name, axis.labels
    ('sex', ('f', 'm'))
    """

    name: str
    labels: tuple[str, ...]
    edges: np.ndarray | None
    part: str = ""


class PairEffect(NamedTuple):
    """How two columns interact.

    Attributes
    ----------
    columns : tuple of two Axis
    share : float
        Part of the variance of the score that a function of the two columns explains, beyond the curves of single
        columns and beyond the pairs listed before.
    values : ndarray of shape (bins of the first column, bins of the second)
        Mean of the interactions over the rows in each cell; NaN where there are fewer than three rows.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.inspection import Axis, PairEffect
    >>> axes = Axis("sex", ("f", "m"), None), Axis("smoker", ("no", "yes"), None)
    >>> effect = PairEffect(axes, 0.1, np.array([[0.2, -0.2], [-0.2, 0.2]]))  # as in `pair_effects_`
    >>> effect.names, float(effect.values[1, 1])
    (('sex', 'smoker'), 0.2)
    """

    columns: tuple[Axis, Axis]
    share: float
    values: np.ndarray

    @property
    def names(self) -> tuple[str, str]:
        """The two columns."""
        return self.columns[0].name, self.columns[1].name


class Cells:
    """The cells of two binned columns: their weights, and means over the rows in them."""

    def __init__(self, a: ColumnBins, b: ColumnBins, weights: np.ndarray):
        self.shape = (len(a.labels), len(b.labels))
        self.codes = a.codes * self.shape[1] + b.codes
        self.row_weights = weights
        self.weights = np.bincount(self.codes, weights, self.shape[0] * self.shape[1]).reshape(self.shape)
        seen = self.weights > 0.0
        self.freedom = max(int(seen.sum() - seen.any(axis=1).sum() - seen.any(axis=0).sum()) + 1, 0)
        self.count = int(seen.sum())

    def means(self, rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The mean of `rest` in each cell; and these means less their best sum of functions of single columns."""
        sums = np.bincount(self.codes, self.row_weights * rest, self.weights.size).reshape(self.shape)
        table = means = np.divide(sums, self.weights, out=np.zeros(self.shape), where=self.weights > 0.0)
        for _ in range(12):
            for axis in (0, 1):
                total = self.weights.sum(axis=axis, keepdims=True)
                mean = (self.weights * table).sum(axis=axis, keepdims=True) / np.where(total > 0.0, total, 1.0)
                table = table - mean
        return means, np.where(self.weights > 0.0, table, 0.0)


def strongest_pairs(
    columns: Sequence[ColumnBins], rest: np.ndarray, weights: np.ndarray
) -> list[tuple[tuple[int, int], Cells, float]]:
    """Pairs of columns, their cells, and the variance of `rest` that each pair explains, the strongest first.

    The function of a pair is removed before the next pair is sought: a column that is only correlated with one of a
    pair is not listed for the same interaction.
    """
    least_of_interactions = 0.05  # least part of the variance of all interactions for a pair to be listed
    noise = 5.0  # standard errors that a pair must exceed
    most_pairs = 10
    total = float(weights @ rest**2)
    cells = {(i, j): Cells(columns[i], columns[j], weights) for i, j in combinations(range(len(columns)), 2)}
    hopeful = list(cells)
    found: list[tuple[tuple[int, int], Cells, float]] = []
    while hopeful and len(found) < most_pairs:
        # variance that a function of both columns explains, corrected for chance, and the standard error of chance
        explained, strengths = dict.fromkeys(hopeful, (0.0, 0.0)), {}
        for pair in [pair for pair in hopeful if cells[pair].freedom]:
            own = cells[pair]
            means, pure = own.means(rest)
            within = weights * (rest - means.ravel()[own.codes])
            squares = np.bincount(own.codes, within**2, own.weights.size).reshape(own.shape)
            variances = np.divide(squares, own.weights, out=np.zeros(own.shape), where=own.weights > 0.0)
            chance = float(variances.sum()) * own.freedom / own.count
            explained[pair] = float((own.weights * pure**2).sum()) - chance, chance * np.sqrt(2.0 / own.freedom)
        for pair in sorted(hopeful, key=lambda pair: -explained[pair][0])[: 3 * most_pairs]:
            strength, error = explained[pair]
            if strength > max(noise * error, least_of_interactions * total):
                strengths[pair] = strength
        if not strengths:
            break
        best = max(strengths, key=lambda pair: strengths[pair])
        found.append((best, cells[best], strengths[best]))
        rest = rest - cells[best].means(rest)[1].ravel()[cells[best].codes]
        hopeful = [pair for pair in strengths if pair != best]
    return found


def support(cells: Cells, rows: ReadRows, additive: np.ndarray, rest: np.ndarray, unseen: np.ndarray) -> float:
    """How strongly held-out rows support an interaction, in standard errors.

    For the model of each fold, arrays (rows × folds) hold its sum of curves (`additive`), its score less this sum
    (`rest`) and which rows it had not seen (`unseen`). Among rows with about the same sum of curves, the test asks
    whether those with a larger value of the function are the positive ones. So an effect that a sum of curves has on
    any scale, such as one that saturates, supports no pair.
    """
    rows_alike, moves = 10, []  # more would differ in their sums of curves
    for curves, left, new in zip(additive.T, rest.T, unseen.T, strict=True):
        places = np.flatnonzero(new)
        values = cells.means(left)[1].ravel()[cells.codes]
        for some in np.array_split(places[np.argsort(curves[places])], max(1, places.size // rows_alike)):
            weights = rows.weights[some, np.newaxis]
            both = np.stack([values[some], rows.positive[some]], axis=1)
            centred = both - (weights * both).sum(axis=0) / max(float(weights.sum()), np.finfo(float).tiny)
            moves.append(weights[:, 0] * centred.prod(axis=1))
    found = np.concatenate(moves)
    error = float(np.linalg.norm(found))
    return float(found.sum()) / error if error > 0.0 else 0.0
