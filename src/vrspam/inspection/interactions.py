"""Pairs of columns that interact: functions of two binned columns that explain what curves of single columns leave."""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from vrspam._utils.stored import NumbersWithGaps
from vrspam.inspection.bins import ColumnBins
from vrspam.inspection.rows import ReadRows
from vrspam.tables.kinds.dates import PARTS


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

    def check(self) -> None:
        """Refuse bins that do not fit their labels, as a file may hold them."""
        if self.part and self.part not in PARTS:
            raise ValueError(f"{self.part!r} is no part of a date")
        if self.edges is None:
            return
        n_bins = len(self.labels)
        if self.labels[-1:] == ("missing",):
            n_bins -= 1
        if self.edges.shape != (n_bins + 1,) or (np.diff(self.edges) < 0.0).any():
            raise ValueError("the bins of a pair do not fit")


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
    values: NumbersWithGaps

    def check(self) -> None:
        """Refuse a heat map of another size, and a share that is none."""
        first, second = self.columns
        if self.values.shape != (len(first.labels), len(second.labels)):
            raise ValueError("the heat map of a pair does not fit its bins")
        if not 0.0 <= self.share <= 1.0:
            raise ValueError("the share of a pair is not between 0 and 1")

    @property
    def names(self) -> tuple[str, str]:
        """The two columns."""
        return self.columns[0].name, self.columns[1].name


class Explained(NamedTuple):
    """The variance that a function of two columns explains, corrected for chance, and the standard error of chance."""

    variance: float
    error: float


class Cells:
    """The cells of two binned columns: their weights, and means over the rows in them."""

    def __init__(self, a: ColumnBins, b: ColumnBins, weights: np.ndarray):
        self.shape = (len(a.labels), len(b.labels))
        self.codes = a.codes * self.shape[1] + b.codes
        self.row_weights = weights
        self.weights = np.bincount(self.codes, weights, self.shape[0] * self.shape[1]).reshape(self.shape)

        seen = self.weights > 0.0
        self.count = int(seen.sum())
        self.freedom = max(self.count - int(seen.any(axis=1).sum() + seen.any(axis=0).sum()) + 1, 0)

    def means(self, rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The mean of `rest` in each cell; and these means less their best sum of functions of single columns."""
        sums = np.bincount(self.codes, self.row_weights * rest, self.weights.size).reshape(self.shape)
        means = np.divide(sums, self.weights, out=np.zeros(self.shape), where=self.weights > 0.0)
        table = means
        for _ in range(12):
            for axis in (0, 1):
                total = self.weights.sum(axis=axis, keepdims=True)
                mean = (self.weights * table).sum(axis=axis, keepdims=True) / np.where(total > 0.0, total, 1.0)
                table = table - mean
        return means, np.where(self.weights > 0.0, table, 0.0)

    def explained(self, rest: np.ndarray) -> Explained:
        """How much of `rest` the function of both columns explains."""
        if not self.freedom:
            return Explained(0.0, 0.0)
        means, pure = self.means(rest)
        within = self.row_weights * (rest - means.ravel()[self.codes])
        squares = np.bincount(self.codes, within**2, self.weights.size).reshape(self.shape)
        variances = np.divide(squares, self.weights, out=np.zeros(self.shape), where=self.weights > 0.0)
        chance = float(variances.sum()) * self.freedom / self.count
        return Explained(float((self.weights * pure**2).sum()) - chance, chance * np.sqrt(2.0 / self.freedom))


class StrongPair(NamedTuple):
    """Two columns (their places), their cells, and the variance that a function of them explains."""

    columns: tuple[int, int]
    cells: Cells
    variance: float


def strongest_pairs(columns: Sequence[ColumnBins], rest: np.ndarray, weights: np.ndarray) -> list[StrongPair]:
    """Pairs of columns that explain variance of `rest`, the strongest first.

    The function of a pair is removed before the next pair is sought: a column that is only correlated with one of a
    pair is not listed for the same interaction.
    """
    least_of_interactions = 0.05  # least part of the variance of all interactions for a pair to be listed
    noise = 5.0  # standard errors that a pair must exceed
    most_pairs = 10
    total = float(weights @ rest**2)
    cells = {(i, j): Cells(columns[i], columns[j], weights) for i, j in combinations(range(len(columns)), 2)}
    hopeful = list(cells)
    strongest: list[StrongPair] = []
    while hopeful and len(strongest) < most_pairs:
        explained = {pair: cells[pair].explained(rest) for pair in hopeful}
        hopeful.sort(key=lambda pair: -explained[pair].variance)

        strengths = {}
        for pair in hopeful[: 3 * most_pairs]:
            variance, error = explained[pair]
            if variance > max(noise * error, least_of_interactions * total):
                strengths[pair] = variance
        if not strengths:
            break

        best = max(strengths, key=lambda pair: strengths[pair])
        strongest.append(StrongPair(best, cells[best], strengths[best]))
        rest = rest - cells[best].means(rest)[1].ravel()[cells[best].codes]
        hopeful = [pair for pair in strengths if pair != best]
    return strongest


def support(cells: Cells, rows: ReadRows, additive: np.ndarray, rest: np.ndarray, unseen: np.ndarray) -> float:
    """How strongly held-out rows support an interaction, in standard errors.

    For the model of each fold, arrays (rows × folds) hold its sum of curves (`additive`), its score less this sum
    (`rest`) and which rows it had not seen (`unseen`). Among rows with about the same sum of curves, the test asks
    whether those with a larger value of the function are the positive ones. So an effect that a sum of curves has on
    any scale, such as one that saturates, supports no pair.
    """
    rows_alike = 10  # more would differ in their sums of curves
    products = []  # of the function and the label, in each such group of rows
    for fold_additive, fold_rest, fold_unseen in zip(additive.T, rest.T, unseen.T, strict=True):
        values = cells.means(fold_rest)[1].ravel()[cells.codes]
        places = np.flatnonzero(fold_unseen)
        places = places[np.argsort(fold_additive[places])]
        for alike in np.array_split(places, max(1, places.size // rows_alike)):
            weights = rows.weights[alike, np.newaxis]
            both = np.stack([values[alike], rows.positive[alike]], axis=1)
            centred = both - (weights * both).sum(axis=0) / max(float(weights.sum()), np.finfo(float).tiny)
            products.append(weights[:, 0] * centred.prod(axis=1))

    all_products = np.concatenate(products)
    error = float(np.linalg.norm(all_products))
    return float(all_products.sum()) / error if error > 0.0 else 0.0
