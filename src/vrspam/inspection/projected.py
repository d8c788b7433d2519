"""Scores that are no sums of curves: their best additive reading, and the interactions that it leaves."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from vrspam.features import AdditiveFeatures, FeatureMap
from vrspam.features.mapped import MappedArray
from vrspam.features.scoring import PreparedParts
from vrspam.inspection.column_pairs import Remainder, read_remainder
from vrspam.inspection.neighbours import CurveFunctions, compare_curves
from vrspam.inspection.projection import Projection
from vrspam.inspection.rows import ReadRows
from vrspam.inspection.shapes import Shape, Shapes, make_shape


def read_projection(
    features: Any,
    coefs: np.ndarray,
    left_out: Sequence[np.ndarray],
    rows: ReadRows,
    names: list[str],
    basis: AdditiveFeatures,
    seed: int | None,
) -> Shapes:
    """The best additive reading of any score, and the interactions that it leaves."""
    scores = _scores_of_fits(features, coefs, rows.X)
    scores -= rows.weights @ scores
    unseen = np.stack([left[rows.places] for left in left_out], axis=1)

    projection = Projection(basis, rows, scores[:, 0])
    white, curve_coefs = projection.solve(rows.weights[:, np.newaxis] * scores)
    rest = scores[:, 0] - (projection.design @ curve_coefs[:, :1])[:, 0]
    _refine_folds(projection, curve_coefs, scores, unseen)

    share = float(np.mean([left.mean() for left in left_out]))
    shapes = _make_shapes(projection, basis, white[:, 0], curve_coefs, share, names)
    functions = CurveFunctions(
        encoders=basis.encoders_,
        places=projection.slices,
        coef=curve_coefs[:, 0],
        covariance=projection.covariance,
        effective=rows.effective,
    )
    shapes = compare_curves(shapes, functions, rows, scores[:, 0])

    fold_additive = projection.design @ curve_coefs[:, 1:]
    remainder = Remainder(
        variance=float(rows.weights @ scores[:, 0] ** 2),
        rest=rest,
        fold_additive=fold_additive,
        fold_rest=scores[:, 1:] - fold_additive,
        unseen=unseen,
    )
    return read_remainder(shapes, _scorer(features, coefs[:, 0]), rows, remainder, seed)


def _scores_of_fits(features: Any, coefs: np.ndarray, X: Any) -> np.ndarray:
    """The scores of the rows by each column of `coefs`."""
    if isinstance(features, FeatureMap):
        scores = features.products(X, coefs)
    else:
        scores = MappedArray(X, features) @ coefs
    return scores.astype(np.float64, copy=False)


def _scorer(features: Any, coef: np.ndarray) -> Callable[[Any], np.ndarray]:
    """A function that scores rows."""
    if isinstance(features, FeatureMap):
        return partial(PreparedParts(features.parts(coef)).scores, single=True)
    return lambda X: MappedArray(X, features) @ coef


def _refine_folds(projection: Projection, coefs: np.ndarray, scores: np.ndarray, unseen: np.ndarray) -> None:
    """Project the score of each fold over the rows that it does not leave out; `coefs` are changed in place.

    So the bands say how much a curve varies with the rows of the fit and with those it is read from. The factors for
    all rows also solve the problem of a fold, in a few steps of iterative refinement that start at the solution for
    all rows.
    """
    inside = ~unseen * projection.rows.weights[:, np.newaxis]
    kept = inside.sum(axis=0)
    kept = np.where(kept > 0.0, kept, 1.0)
    for _ in range(3):
        residual = scores[:, 1:] - projection.design @ coefs[:, 1:]
        residual -= (inside * residual).sum(axis=0) / kept
        coefs[:, 1:] += projection.solve(inside * residual)[1] / kept


def _make_shapes(
    projection: Projection,
    basis: AdditiveFeatures,
    white: np.ndarray,
    coefs: np.ndarray,
    share: float,
    names: list[str],
) -> list[Shape]:
    """The curve of each column; the squares of its whitened coefficients add up to its variance."""
    effects = basis.parts(coefs).effects
    shapes = []
    for j, (name, encoder) in enumerate(zip(names, basis.encoders_, strict=True)):
        of_column = white[projection.white_slices[j]]
        where = projection.slices[j]
        shapes.append(
            make_shape(
                name,
                [encoder],
                effects[j],
                means=projection.centre[where] @ coefs[where],
                share=share,
                size=float(np.sqrt(float(of_column @ of_column))),
                difference=float(projection.difference[where] @ coefs[where, 0]),
            )
        )
    return shapes
