"""Which pairs of columns interact: functions of two columns, in bins, in what the curves of single columns leave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from vrspam.inspection.rows import ColumnBins, ReadRows
from vrspam.tables import frames

MOST_PAIRS = 10
MOST_SCREENED = 15  # columns among which pairs are sought
MOST_BINS, LEAST_BINS, ROWS_PER_CELL = 10, 3, 30.0
NOISE = 5.0  # standard errors that a pair must exceed
LEAST_OF_INTERACTIONS = 0.05  # part of the variance of all interactions that is worth a name
SWEEPS = 12
FEW_ROWS = 3  # the mean of fewer rows is not shown


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


class PairEffect(NamedTuple):
    """How two columns interact.

    Attributes
    ----------
    columns : tuple of two Axis
    share : float
        Part of the variance of the score that a function of the two columns explains, beyond the curves of single
        columns and beyond the pairs named before.
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


class Interactions(NamedTuple):
    """The part of the score that is not a sum of curves.

    Attributes
    ----------
    spread : float
        Its standard deviation over the rows, both classes weighing the same.
    share : float
        Its part of the variance of the score.
    pairs : tuple of PairEffect
        The strongest pairs, the first the strongest; their shares add up to at most `share`.
    """

    spread: float
    share: float
    pairs: tuple[PairEffect, ...]


def bins_for(effective: float) -> int:
    """Bins of each column, such that a cell of two columns holds enough rows."""
    return int(np.clip(np.sqrt(effective / ROWS_PER_CELL), LEAST_BINS, MOST_BINS))


class _Cells:
    """The cells of two columns: their weights, and the means of something in them."""

    def __init__(self, a: ColumnBins, b: ColumnBins, weights: np.ndarray):
        self.shape = (a.size, b.size)
        self.codes = a.codes * b.size + b.codes
        self.row_weights = weights
        self.weights = np.bincount(self.codes, weights, a.size * b.size).reshape(self.shape)
        seen = self.weights > 0.0
        self.freedom = max(int(seen.sum() - seen.any(axis=1).sum() - seen.any(axis=0).sum()) + 1, 0)
        self.count = int(seen.sum())

    def means(self, rest: np.ndarray) -> np.ndarray:
        sums = np.bincount(self.codes, self.row_weights * rest, self.weights.size).reshape(self.shape)
        return np.divide(sums, self.weights, out=np.zeros(self.shape), where=self.weights > 0.0)

    def pure(self, rest: np.ndarray) -> np.ndarray:
        """The means without what is a sum of a function of one column and a function of the other."""
        table = self.means(rest)
        for _ in range(SWEEPS):
            for axis in (0, 1):
                total = self.weights.sum(axis=axis, keepdims=True)
                mean = (self.weights * table).sum(axis=axis, keepdims=True) / np.where(total > 0.0, total, 1.0)
                table = table - mean
        return np.where(self.weights > 0.0, table, 0.0)

    def explained(self, rest: np.ndarray) -> tuple[float, float]:
        """Variance that a function of both columns explains, corrected for chance, and the standard error of chance."""
        if self.freedom == 0:
            return 0.0, 0.0
        table = self.pure(rest)
        within = self.row_weights * (rest - self.means(rest).ravel()[self.codes])
        squares = np.bincount(self.codes, within**2, self.weights.size).reshape(self.shape)
        noise = np.divide(squares, self.weights, out=np.zeros(self.shape), where=self.weights > 0.0)
        chance = float(noise.sum()) * self.freedom / self.count
        return float((self.weights * table**2).sum()) - chance, chance * np.sqrt(2.0 / self.freedom)


def strongest_pairs(
    columns: Sequence[ColumnBins], rest: np.ndarray, weights: np.ndarray
) -> list[tuple[int, int, float]]:
    """Pairs of columns and the variance that each explains of `rest`, one after the other.

    The strongest pair is taken, its function of both columns removed from `rest`, and so on: a column that only moves
    together with one of a pair is not named for what that pair already says.
    """
    total = float(weights @ rest**2)
    cells = {pair: _Cells(columns[pair[0]], columns[pair[1]], weights) for pair in combinations(range(len(columns)), 2)}
    first = {pair: cell.explained(rest)[0] for pair, cell in cells.items()}
    hopeful = sorted(cells, key=lambda pair: -first[pair])[: 3 * MOST_PAIRS]
    found: list[tuple[int, int, float]] = []
    while hopeful and len(found) < MOST_PAIRS:
        strengths = {}
        for pair in hopeful:
            explained, error = cells[pair].explained(rest)
            if explained > max(NOISE * error, LEAST_OF_INTERACTIONS * total):
                strengths[pair] = explained
        if not strengths:
            break
        best = max(strengths, key=lambda pair: strengths[pair])
        found.append((*best, strengths[best]))
        rest = rest - cells[best].pure(rest).ravel()[cells[best].codes]
        hopeful = [pair for pair in strengths if pair != best]
    return found


def pair_effect(a: ColumnBins, b: ColumnBins, names: tuple[str, str], rest: np.ndarray, rows: ReadRows, share: float):
    """The heat map of two columns."""
    cells = _Cells(a, b, rows.weights)
    counts = np.bincount(cells.codes, minlength=cells.weights.size).reshape(cells.shape)
    values = np.where(counts >= FEW_ROWS, cells.means(rest), np.nan)
    axes = (Axis(names[0], a.labels, a.edges), Axis(names[1], b.labels, b.edges))
    return PairEffect(axes, share, values)


SHUFFLED_ROWS = 10_000  # rows scored to see which columns interact
MOST_SHUFFLED = 300  # columns; of more, only the curves count
LEAST_SHUFFLED = 16


def shuffle_effects(
    rows: ReadRows, part: Callable[[int], np.ndarray], score: Callable[[Any], np.ndarray], seed: int | None
) -> np.ndarray:
    """How far each column takes part in interactions: ½ mean squared change of them when its values are shuffled.

    Parameters
    ----------
    rows : ReadRows
    part : callable
        Of the number of a column: what its curve adds to the score of each row.
    score : callable
        Scores of rows.

    Returns
    -------
    ndarray of shape (columns,)
        Variances; 0 for all where there are more than `MOST_SHUFFLED` columns.
    """
    X = rows.X
    d = X.shape[1]
    if d > MOST_SHUFFLED:
        return np.zeros(d)
    rng = np.random.default_rng(seed)
    each = min(rows.size, max(LEAST_SHUFFLED, min(SHUFFLED_ROWS, 4 * rows.size) // d))
    chosen = rng.choice(rows.size, each, p=rows.weights)
    before = score(frames.rows_of(X, chosen))
    other = rng.permutation(chosen)
    effects = np.empty(d)
    at_once = max(1, frames.BLOCK_ENTRIES // (each * d))
    for start in range(0, d, at_once):
        some = range(start, min(start + at_once, d))
        index = np.tile(chosen[:, np.newaxis], (len(some), d))
        for number, j in enumerate(some):
            index[number * each : (number + 1) * each, j] = other
        after = score(frames.mixed_rows(X, index)).reshape(len(some), each)
        for number, j in enumerate(some):
            own = part(j)
            effects[j] = 0.5 * np.mean((after[number] - before - own[other] + own[chosen]) ** 2)
    return effects
