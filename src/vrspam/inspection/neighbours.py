"""Curves beside the rows and beside each other: mean scores at each value, and columns that move together."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from vrspam.features.base import Places
from vrspam.features.encoders import Curves, Encoder, Indicators
from vrspam.inspection.bins import mean_at_numbers
from vrspam.inspection.projection import whitening
from vrspam.inspection.rows import ReadRows
from vrspam.inspection.shapes import Shape
from vrspam.tables import frames

MOST_COMPARED = 100  # columns whose curves are compared with the rows and with each other: the most important ones
MOST_NEIGHBOURS = 5


class CurveFunctions(NamedTuple):
    """The functions of columns that curves are made of."""

    encoders: Sequence[Encoder]  # of each column
    places: Sequence[Places]  # where the functions of each column are
    coef: np.ndarray
    covariance: Callable[[np.ndarray], np.ndarray]  # of functions at some places
    effective: float  # over how many rows of equal weight


def compare_curves(
    shapes: Sequence[Shape], functions: CurveFunctions, rows: ReadRows, scores: np.ndarray
) -> list[Shape]:
    """The same curves; the most important ones get mean scores at each value, and columns that move together."""
    least_importance = 0.02  # of the largest: a pair of columns whose curves are both smaller gets no remark
    together = 0.8  # part of the variance of a curve that a function of the other column explains
    sizes = np.array([shape.importance for shape in shapes])
    compared = np.sort(np.argsort(-sizes, kind="stable")[:MOST_COMPARED])

    # A flat curve needs the remark as well: its column may only be correlated with one that matters.
    explained = _explained_by_others(functions, compared)
    matters = sizes[compared] > least_importance * sizes.max(initial=0.0)
    near = np.maximum(explained, explained.T) * np.logical_or.outer(matters, matters)

    described = list(shapes)
    for j, shares in zip(compared.tolist(), near, strict=True):
        closest = np.argsort(-shares, kind="stable")[:MOST_NEIGHBOURS]
        neighbours = tuple(shapes[compared[k]].name for k in closest if shares[k] >= together)
        encoder = functions.encoders[j]
        if isinstance(encoder, Curves):
            numbers = frames.numbers(rows.X, j)
            means, missing_mean = mean_at_numbers(numbers, scores, rows.weights, shapes[j].grid)
        else:
            means, missing_mean = _mean_at_categories(encoder, j, rows, scores)
            means = means[: shapes[j].grid.size]
        described[j] = shapes[j]._replace(mean_score=means, missing_mean_score=missing_mean, together=neighbours)
    return described


def _mean_at_categories(
    encoder: Indicators, index: int, rows: ReadRows, scores: np.ndarray
) -> tuple[np.ndarray, float | None]:
    """The mean scores of rows with each category of a column, and with a missing value."""
    codes = frames.category_codes(rows.X, index, encoder.codes, encoder.other)
    coded = codes >= 0
    weight = np.bincount(codes[coded], rows.weights[coded], encoder.width)
    sums = np.bincount(codes[coded], (rows.weights * scores)[coded], encoder.width)
    means = np.divide(sums, weight, out=np.full(encoder.width, np.nan), where=weight > 0.0)
    if encoder.missing and weight[-1] > 0.0:
        return means, float(means[-1])
    return means, None


def _explained_by_others(functions: CurveFunctions, compared: np.ndarray) -> np.ndarray:
    """R²[k, j]: how much of the curve of column j, or of its first function, a function of column k explains.

    The first function of a column of numbers is the column itself.
    """
    numbers = [np.arange(functions.coef.size)[functions.places[j]] for j in compared]
    places = np.concatenate(numbers)
    stops = np.cumsum([places_of_column.size for places_of_column in numbers]).tolist()
    slices = [slice(start, stop) for start, stop in pairwise([0, *stops])]
    covariance = functions.covariance(places)
    white = [whitening(covariance[where, where]) for where in slices]

    coef = functions.coef[places]
    curves = [coef[where] for where in slices]
    firsts = [np.eye(1, where.stop - where.start)[0] for where in slices]
    of_curves = _adjusted_r2(covariance, slices, white, curves, functions.effective)
    of_firsts = _adjusted_r2(covariance, slices, white, firsts, functions.effective)
    explained = np.maximum(of_curves, of_firsts)
    np.fill_diagonal(explained, 0.0)
    return explained


def _adjusted_r2(
    covariance: np.ndarray,
    slices: Sequence[slice],
    white: Sequence[np.ndarray],
    probes: Sequence[np.ndarray],
    effective: float,
) -> np.ndarray:
    """R²[k, j], adjusted for degrees of freedom, of the function of column j with the coefficients probes[j]."""
    products = []
    variances = []
    for where, probe in zip(slices, probes, strict=True):
        product = covariance[:, where] @ probe
        products.append(product)
        variances.append(float(probe @ product[where]))
    columns = np.stack(products, axis=1)

    r2 = np.zeros((len(slices), len(slices)))
    for k, (w, where) in enumerate(zip(white, slices, strict=True)):
        free = effective - w.shape[1] - 1.0
        if free <= 0.0:
            continue
        with np.errstate(invalid="ignore", divide="ignore"):
            share = ((w.T @ columns[where]) ** 2).sum(axis=0) / variances
            adjusted = 1.0 - (1.0 - share) * (effective - 1.0) / free
        r2[k] = np.maximum(0.0, np.nan_to_num(adjusted, nan=0.0, posinf=0.0, neginf=0.0))
    return r2
