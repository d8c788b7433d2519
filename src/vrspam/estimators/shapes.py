"""Reading a model column by column: curves with bands, importances, the parts of one row's score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student

from vrspam.features import FeatureMap, KernelFeatures
from vrspam.features.encoders import Curves, Encoder
from vrspam.moments import ClassMoments

INTERACTIONS = "interactions"
CONFIDENCE = 0.95


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
        Pointwise 95 % band from the folds.
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


def column_groups(features: Any, names: Sequence[str], n_features: int) -> dict[str, slice]:
    """Where the features of each part of the score are: by column where the map keeps columns apart."""
    if features is None:
        return {str(name): slice(j, j + 1) for j, name in enumerate(names)}
    if isinstance(features, KernelFeatures):
        groups = {}
        if features.additive_ is not None:
            groups = column_groups(features.additive_, names, n_features)
        start = max((where.stop for where in groups.values()), default=0)
        return {**groups, INTERACTIONS: slice(start, n_features)}
    if isinstance(features, FeatureMap):
        return dict(zip(map(str, names), features.column_slices_, strict=True))
    if hasattr(features, "get_feature_names_out"):
        return {str(name): slice(j, j + 1) for j, name in enumerate(features.get_feature_names_out())}
    return {f"feature{j}": slice(j, j + 1) for j in range(n_features)}


def importances(groups: dict[str, slice], coef: np.ndarray, moments: ClassMoments) -> dict[str, float]:
    """Standard deviation of each part of the score over the rows, both classes weighing the same."""
    within, delta = moments.within, moments.delta
    spread = {}
    for name, where in groups.items():
        w = coef[where]
        variance = w @ within[where, where] @ w / 2.0 + float(w @ delta[where]) ** 2 / 4.0
        spread[name] = float(np.sqrt(max(variance, 0.0)))
    return spread


def parts_of_score(groups: dict[str, slice], row: np.ndarray, coef: np.ndarray, centre: np.ndarray) -> dict[str, float]:
    """What each group of features adds to the score w·(φ - centre) of one row; the parts add up to the score."""
    return {name: float(coef[where] @ (row[where] - centre[where])) for name, where in groups.items()}


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
    """

    coef: np.ndarray
    fold_coefs: np.ndarray
    left_out: float
    moments: ClassMoments

    def curve(self, design: np.ndarray, where: slice) -> tuple[np.ndarray, np.ndarray]:
        """What a group of features adds to the score at some points, and half the width of the 95 % band there.

        The coefficients of K folds, each without a share v of the rows, give the standard error at every point by
        the delete-a-group jackknife, se² = (1 - v)/v · mean of the squared differences from their mean; the band
        is ± t(K - 1) · se.

        Parameters
        ----------
        design : ndarray of shape (points, features of the group)
        where : slice
            The group.
        """
        centred = design - self.moments.means[:, where].mean(axis=0)
        each = centred @ self.fold_coefs[:, where].T
        quantile = student.ppf(0.5 + CONFIDENCE / 2.0, self.fold_coefs.shape[0] - 1)
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
    features : LinearFeatures or AdditiveFeatures
    names : columns of X
    reading : Reading
    """
    groups = column_groups(features, names, reading.coef.size)
    spread = importances(groups, reading.coef, reading.moments)
    shapes = {}
    for encoder, (name, where) in zip(features.encoders_, groups.items(), strict=True):
        grid, design = points(encoder)
        shapes[name] = make_shape(name, grid, reading.curve(design, where), encoder.missing, spread[name])
    return shapes


def points(encoder: Encoder) -> tuple[np.ndarray, np.ndarray]:
    """The points at which a column's curve is drawn and their features; a missing value is the last row."""
    if not isinstance(encoder, Curves):
        grid = np.array(encoder.categories, dtype=object)
        return grid, np.eye(encoder.width)
    grid, table = encoder.nodes, encoder.table
    if not encoder.missing:
        return grid, table
    design = np.zeros((grid.size + 1, encoder.width))
    design[:-1, :-1], design[-1, -1] = table, 1.0
    return grid, design


def can_be_drawn(features: Any) -> bool:
    """Whether the score is a sum of one curve for each column."""
    return isinstance(features, FeatureMap) and not isinstance(features, KernelFeatures)
