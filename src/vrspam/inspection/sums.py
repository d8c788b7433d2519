"""Scores that are sums of curves: these are read as they are."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from vrspam.features.encoders import Encoder
from vrspam.features.parts import Effect
from vrspam.inspection.groups import column_groups, importances
from vrspam.inspection.neighbours import CurveFunctions, compare_curves
from vrspam.inspection.rows import ReadRows
from vrspam.inspection.shapes import Shapes, make_shape
from vrspam.moments import PairSums


def read_sum(
    features: Any,
    coefs: np.ndarray,
    moments: PairSums,
    left_out: float,
    encoders: Sequence[Sequence[Encoder]],
    effects: Sequence[Effect | None],
    rows: ReadRows,
    names: list[str],
) -> Shapes:
    """The curves of a score that is a sum of them; `encoders` are those of each column, in one map or several."""
    coef = coefs[:, 0]
    centre = moments.means.mean(axis=0)
    delta = moments.delta
    groups = column_groups(features, names, coef.size)
    if moments.has_scatter:
        spread = importances(groups, coef, moments)
        covariance = partial(_covariance_of_moments, moments)
    else:  # more features than rows: their moments have no scatter matrices
        design = np.asarray(features.features_of(rows.X), dtype=np.float64)
        design = design - rows.weights @ design
        parts = {name: design[:, where] @ coef[where] for name, where in groups.items()}
        spread = {name: float(np.sqrt(rows.weights @ part**2)) for name, part in parts.items()}
        covariance = partial(_covariance_of_rows, design, rows.weights)

    shapes = []
    for of_column, effect, (name, where) in zip(encoders, effects, groups.items(), strict=True):
        means = centre[where] @ coefs[where]
        difference = float(coef[where] @ delta[where])
        shapes.append(make_shape(name, of_column, effect, means, left_out, spread[name], difference))

    functions = CurveFunctions(
        encoders=[of_column[0] for of_column in encoders],
        places=list(groups.values()),
        coef=coef,
        covariance=covariance,
        effective=4.0 / float((1.0 / moments.rows).sum()),
    )
    if features is None:
        scores = rows.X @ coef
    else:
        scores = np.asarray(features.products(rows.X, coef), dtype=np.float64)
    shapes = compare_curves(shapes, functions, rows, scores - centre @ coef)
    return Shapes(tuple(shapes), effects=np.array(list(spread.values())))


def _covariance_of_moments(moments: PairSums, functions: np.ndarray) -> np.ndarray:
    """Covariances of some functions, both classes weighing the same."""
    delta = moments.delta[functions]
    return moments.within[np.ix_(functions, functions)] / 2.0 + np.outer(delta, delta) / 4.0


def _covariance_of_rows(design: np.ndarray, weights: np.ndarray, functions: np.ndarray) -> np.ndarray:
    """Covariances of some functions over rows; their values are centred."""
    values = design[:, functions]
    return values.T @ (weights[:, np.newaxis] * values)
