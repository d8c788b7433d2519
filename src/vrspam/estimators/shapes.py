"""Reading a model column by column: curves with bands, importances, the parts of one row's score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student

from vrspam.features import FeatureMap, KernelFeatures
from vrspam.features.encoders import Curves
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


def shape_functions(
    features: FeatureMap,
    names: Sequence[str],
    coef: np.ndarray,
    fold_coefs: np.ndarray,
    left_out: float,
    moments: ClassMoments,
) -> dict[str, Shape]:
    """Return the curve of each column, with its band.

    The coefficients of K folds, each without a share v of the rows, give the standard error at every point by the
    delete-a-group jackknife, se² = (1 - v)/v · mean of the squared differences from their mean; the band is
    ± t(K - 1) · se.

    Parameters
    ----------
    features : LinearFeatures or AdditiveFeatures
    names : columns of X
    coef : array (D,)
    fold_coefs : array (K, D)
    left_out : float
        Share of the rows that each fold leaves out.
    moments : ClassMoments
        Of the features, all rows.
    """
    centre = moments.means.mean(axis=0)
    groups = column_groups(features, names, coef.size)
    spread = importances(groups, coef, moments)
    folds = fold_coefs.shape[0]
    factor = np.sqrt((1.0 - left_out) / left_out) * student.ppf(0.5 + CONFIDENCE / 2.0, folds - 1)
    shapes = {}
    for encoder, (name, where) in zip(features.encoders_, groups.items(), strict=True):
        grid, design = _points(encoder)
        value = (design - centre[where]) @ coef[where]
        each = (design - centre[where]) @ fold_coefs[:, where].T
        half = factor * each.std(axis=1)
        missing = None
        if encoder.missing:
            missing = (float(value[-1]), float(value[-1] - half[-1]), float(value[-1] + half[-1]))
            value, half = value[:-1], half[:-1]
        shapes[name] = Shape(name, grid, value, value - half, value + half, missing, spread[name])
    return shapes


def _points(encoder) -> tuple[np.ndarray, np.ndarray]:
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
