"""Rows that nearly agree in all numbers: visits of one patient whose number was left out of the table.

Around a row, the volume of the ball that holds its k nearest rows grows with k, if rows are drawn independently: the
nearest row of 100 lies within 1/5,000 of their volume once in fifty rows. Rows of one unit are that near everywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

LEAST_COLUMNS = 3  # in which rows nearly agree; fewer say too little
MOST_COLUMNS = 10
FEW_ROWS, MANY_ROWS = 100, 20_000
AROUND = 100  # rows whose distance is the measure
NEAR = 1.0 / 5_000  # of their volume
SCREENED = 300  # rows that are looked at first
LEAST_SHARE = 0.25  # of the rows that have another one so near


def find_near_copies(columns: Mapping[str, np.ndarray], numeric: Collection[str]) -> np.ndarray | None:
    """Groups of rows that nearly agree in all columns of many different numbers; None if few rows do.

    `columns` are codes whose order is that of the numbers, and -1 where one is missing.

    >>> rng = np.random.default_rng(0)
    >>> unit = np.repeat(np.arange(100), 4)
    >>> rows = rng.standard_normal((100, 4))[unit] + 0.01 * rng.standard_normal((400, 4))
    >>> codes = {name: column.argsort().argsort() for name, column in zip("abcd", rows.T)}
    >>> groups = find_near_copies(codes, codes)
    >>> bool((groups[::4] == groups[1::4]).mean() > 0.9), np.unique(groups).size > 80
    (True, True)
    >>> find_near_copies({name: rng.permutation(400) for name in "abcd"}, "abcd") is None
    True
    """
    places = _places_of_rows(columns, numeric)
    if places is None:
        return None
    n_rows = len(places)
    around = min(AROUND, n_rows // 8)
    tree = KDTree(places)

    some = np.linspace(0, n_rows - 1, min(SCREENED, n_rows)).astype(int)
    distances = tree.query(places[some], k=2 * around + 1)[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        growth = np.median(np.log(distances[:, 2 * around] / distances[:, around]))
    if not growth > 0.0:
        return None
    dimension = min(np.log(2.0) / growth, float(places.shape[1]))
    near = NEAR ** (1.0 / dimension)  # as a share of the distance of the last row around
    if np.mean(distances[:, 1] < near * distances[:, around]) < LEAST_SHARE:
        return None

    distances, neighbours = tree.query(places, k=around + 1)
    first, rank = np.nonzero(distances[:, 1:] < near * distances[:, [around]])
    links = coo_array((np.ones(first.size), (first, neighbours[first, rank + 1])), shape=(n_rows, n_rows))
    groups = connected_components(links, directed=False)[1]
    sizes = np.bincount(groups)
    chained = sizes.max() > max(20.0, 0.05 * n_rows)
    if chained or sizes[sizes > 1].sum() < LEAST_SHARE * n_rows:
        return None
    return groups


def _places_of_rows(columns: Mapping[str, np.ndarray], numeric: Collection[str]) -> np.ndarray | None:
    """The ranks of the rows in columns of many different numbers, as shares; None with too few rows or columns."""
    names = [name for name in columns if name in numeric]
    n_rows = columns[names[0]].size if names else 0
    if not FEW_ROWS <= n_rows <= MANY_ROWS:
        return None
    distinct = {name: np.unique(columns[name]).size for name in names if columns[name].min() >= 0}
    many_values = sorted(name for name, count in distinct.items() if count >= 0.5 * n_rows)
    if len(many_values) < LEAST_COLUMNS:
        return None
    chosen = sorted(many_values, key=lambda name: -distinct[name])[:MOST_COLUMNS]
    return np.column_stack([columns[name] / distinct[name] for name in chosen])
