"""Reading a model column by column: curves with bands from the folds, importances, the parts of one row's score."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student

from vrspam._utils.validation import Rows
from vrspam.features import FeatureMap
from vrspam.features.encoders import Curves, Encoder
from vrspam.features.landmarks import LandmarkFeatures
from vrspam.moments import ClassMoments

INTERACTIONS = "interactions"


def distinct(names: Iterable[Any]) -> list[str]:
    """Names of parts, each only once: those that were there before get a number.

    >>> distinct(["age", "age", 3])
    ['age', 'age (2)', '3']
    """
    found: dict[str, None] = {}
    for name in map(str, names):
        number, free = 2, name
        while free in found:
            number, free = number + 1, f"{name} ({number})"
        found[free] = None
    return list(found)


def column_groups(features: Any, names: Sequence[str], n_features: int) -> dict[str, slice]:
    """Where the features of each part of the score are: by column where the map keeps columns apart."""
    if features is None:
        return {name: slice(j, j + 1) for j, name in enumerate(distinct(names))}
    if isinstance(features, LandmarkFeatures):
        groups = {}
        if features.additive_ is not None:
            groups = column_groups(features.additive_, names, n_features)
        start = max((where.stop for where in groups.values()), default=0)
        return {**groups, distinct([*groups, INTERACTIONS])[-1]: slice(start, n_features)}
    if isinstance(features, FeatureMap):
        return dict(zip(distinct(names), features.column_slices_, strict=True))
    try:
        parts = distinct(features.get_feature_names_out())
    except Exception:  # a transformer, or a step of a pipeline, that names nothing
        parts = [f"feature{j}" for j in range(n_features)]
    return {name: slice(j, j + 1) for j, name in enumerate(parts)}


def importances(groups: dict[str, slice], coef: np.ndarray, moments: ClassMoments) -> dict[str, float]:
    """Standard deviation of each part of the score over the rows, both classes weighing the same."""
    within, delta = moments.within, moments.delta
    spread = {}
    for name, where in groups.items():
        w = coef[where]
        variance = w @ within[where, where] @ w / 2.0 + float(w @ delta[where]) ** 2 / 4.0
        spread[name] = float(np.sqrt(max(variance, 0.0)))
    return spread


def importances_over_rows(
    groups: dict[str, slice], coef: np.ndarray, rows: Rows, classes: np.ndarray
) -> dict[str, float]:
    """What `importances` gives, from the rows themselves, which are dense."""
    X, y, weights = rows
    shares = np.ones(len(y)) if weights is None else weights
    sides = [
        (side := np.flatnonzero((y == label) & (shares > 0.0)), shares[side] / shares[side].sum()) for label in classes
    ]
    spread = {}
    for name, where in groups.items():
        part = X[:, where] @ coef[where]
        means = [float(share @ part[side]) for side, share in sides]
        within = [float(share @ (part[side] - mean) ** 2) for (side, share), mean in zip(sides, means, strict=True)]
        spread[name] = float(np.sqrt(sum(within) / 2.0 + (means[1] - means[0]) ** 2 / 4.0))
    return spread


def parts_of_score(groups: dict[str, slice], row: np.ndarray, coef: np.ndarray, centre: np.ndarray) -> dict[str, float]:
    """What each group of features adds to the score w·(φ - centre) of one row; the parts add up to the score."""
    return {name: float(coef[where] @ (row[where] - centre[where])) for name, where in groups.items()}


CONFIDENCE = 0.95
LINE_POINTS = 11  # at which a straight line is drawn, as a line and not as two points


class Shape(NamedTuple):
    """What one column adds to the score.

    Attributes
    ----------
    name : str
        The column.
    grid : ndarray
        Values of the column: numbers in increasing order, between which the curve is straight, or categories.
    contribution : ndarray
        What each of them adds to the score; 0 is half-way between the class means.
    low, high : ndarray
        Pointwise 95 % band from the folds; NaN where there was only one.
    missing : tuple of float or None
        (contribution, low, high) of a missing value, None when none was seen.
    importance : float
        Spread of the contribution over the rows, see `importances`.
    """

    name: str
    grid: np.ndarray
    contribution: np.ndarray
    low: np.ndarray
    high: np.ndarray
    missing: tuple[float, float, float] | None
    importance: float

    @property
    def numeric(self) -> bool:
        """Whether the column holds numbers."""
        return self.grid.dtype.kind == "f"


@dataclass(frozen=True)
class Reading:
    """What curves are drawn from: coefficients of all rows and of each fold, and the moments of the features.

    Attributes
    ----------
    coef : ndarray of shape (D,)
    fold_coefs : ndarray of shape (K, D)
    left_out : float
        Share of the rows that each fold leaves out.
    moments : ClassMoments
        Of the features, all rows.
    spread : dict of str to float or None
        The importance of each part of the score, where the moments have no scatter matrices.
    """

    coef: np.ndarray
    fold_coefs: np.ndarray
    left_out: float
    moments: ClassMoments
    spread: dict[str, float] | None = None

    def curve(self, design: np.ndarray, where: slice) -> tuple[np.ndarray, np.ndarray]:
        """What a group of features adds to the score at some points, and half the width of the 95 % band there.

        The coefficients of K folds, each without a share v of the rows, give the standard error at every point by
        the delete-a-group jackknife, se² = (1 - v)/v · mean of the squared differences from their mean; the band
        is ± t(K - 1) · se, NaN for a single fold.

        Parameters
        ----------
        design : ndarray of shape (points, features of the group)
        where : slice
            The group.
        """
        centred = design - self.moments.means[:, where].mean(axis=0)
        each = centred @ self.fold_coefs[:, where].T
        quantile = student.ppf(0.5 + CONFIDENCE / 2.0, self.fold_coefs.shape[0] - 1)  # NaN for one
        half = np.sqrt((1.0 - self.left_out) / self.left_out) * quantile * each.std(axis=1)
        return centred @ self.coef[where], half


def make_shape(
    name: str, grid: np.ndarray, curve: tuple[np.ndarray, np.ndarray], missing: bool, importance: float
) -> Shape:
    """A `Shape` of what `Reading.curve` gave at the grid and, if `missing`, at one more point for missing values."""
    value, half = curve
    absent = None
    if missing:
        absent = (float(value[-1]), float(value[-1] - half[-1]), float(value[-1] + half[-1]))
        value, half = value[:-1], half[:-1]
    return Shape(name, grid, value, value - half, value + half, absent, importance)


def shape_functions(features: FeatureMap, names: Sequence[str], reading: Reading) -> dict[str, Shape]:
    """Return the curve of each column, with its band.

    Parameters
    ----------
    features : FeatureMap
        One that `drawn_part` finds curves in.
    names : columns of X
    reading : Reading
    """
    drawn = drawn_part(features)
    assert drawn is not None
    additive, scale = drawn
    groups = column_groups(additive, names, reading.coef.size)
    spread = importances(groups, reading.coef, reading.moments) if reading.spread is None else reading.spread
    shapes = {}
    for encoder, (name, where) in zip(additive.encoders_, groups.items(), strict=True):
        grid, design = points(encoder)
        shapes[name] = make_shape(name, grid, reading.curve(scale * design, where), encoder.missing, spread[name])
    return shapes


def points(encoder: Encoder) -> tuple[np.ndarray, np.ndarray]:
    """The points at which a column's curve is drawn and their features; a missing value is the last row."""
    if not isinstance(encoder, Curves):
        grid = np.array(encoder.categories, dtype=object)
        return grid, encoder.design
    grid, table = encoder.nodes, encoder.table
    if encoder.extend and grid.size == 2:
        share = np.linspace(0.0, 1.0, LINE_POINTS)[:, np.newaxis]
        grid, table = grid[0] + share[:, 0] * np.ptp(grid), table[0] + share * (table[1] - table[0])
    if not encoder.missing:
        return grid, table
    design = np.zeros((grid.size + 1, encoder.width))
    design[:-1, :-1], design[-1, -1] = table, 1.0
    return grid, design


def drawn_part(features: Any) -> tuple[FeatureMap, float] | None:
    """The map whose features make one curve for each column, and a factor of them; None where there is none.

    It is the map itself, or the additive part of a kernel: interactions then come on top of the curves.
    """
    if isinstance(features, LandmarkFeatures):
        return None if features.additive_ is None else (features.additive_, features.additive_scale_)
    return (features, 1.0) if isinstance(features, FeatureMap) else None
