"""What the curves of single columns leave of a score: which columns take part in it, and the strongest pairs."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from vrspam.features.encoders import Indicators
from vrspam.inspection.bins import ColumnBins, bin_categories, bin_numbers
from vrspam.inspection.interactions import Axis, Cells, PairEffect, strongest_pairs, support
from vrspam.inspection.rows import ReadRows
from vrspam.inspection.shapes import Shape, Shapes
from vrspam.tables import frames

LEAST_SHARE = 0.005  # of the variance of the score: weaker pairs are not listed
LEAST_SUPPORT = 3.0  # least support of a pair by held-out rows, in standard errors
MOST_SHUFFLED = 300  # columns: of more only the curves count
MOST_SCREENED = 15  # columns among which pairs are sought
LEAST_ROWS_OF_CELL = 3  # the mean of fewer rows is not shown


class Remainder(NamedTuple):
    """What curves leave of a score over the rows, and of the scores of the folds (rows × folds)."""

    variance: float  # of the score
    rest: np.ndarray  # the score less its curves
    fold_additive: np.ndarray  # the curves of each fold's score, added up
    fold_rest: np.ndarray  # its score less these
    unseen: np.ndarray  # the rows that each fold leaves out


def read_remainder(
    shapes: Sequence[Shape],
    score: Callable[[Any], np.ndarray],
    rows: ReadRows,
    remainder: Remainder,
    seed: int | None,
) -> Shapes:
    """The curves of a score, and what they leave of it."""
    left = float(rows.weights @ remainder.rest**2)
    curves = np.array([shape.importance for shape in shapes])
    if left <= 1e-12 * remainder.variance:  # rounding
        return Shapes(tuple(shapes), float(np.sqrt(left)), effects=curves)

    taking_part = np.zeros(len(shapes))
    if len(shapes) <= MOST_SHUFFLED:
        taking_part = _taking_part(shapes, score, rows, seed)
    effects = np.sqrt(curves**2 + taking_part)
    strength = taking_part if taking_part.any() else effects
    screened = np.sort(np.argsort(-strength, kind="stable")[:MOST_SCREENED]).tolist()
    return Shapes(
        tuple(shapes),
        interactions=float(np.sqrt(left)),
        share=min(left / remainder.variance, 1.0),
        pairs=_supported_pairs(shapes, screened, rows, remainder),
        effects=effects,
    )


def _taking_part(
    shapes: Sequence[Shape], score: Callable[[Any], np.ndarray], rows: ReadRows, seed: int | None
) -> np.ndarray:
    """How far each column takes part in interactions: ½ mean squared change of them when its values are shuffled."""
    n_columns = len(shapes)
    n_rows = rows.weights.size
    n_shuffled = min(n_rows, max(16, min(10_000, 4 * n_rows) // n_columns))  # about 10,000 rows are scored
    rng = np.random.default_rng(seed)
    chosen = rng.choice(n_rows, n_shuffled, p=rows.weights)
    shuffled = rng.permutation(chosen)
    before = score(frames.rows_of(rows.X, chosen)).astype(np.float64, copy=False).ravel()

    taking_part = np.zeros(n_columns)
    at_once = max(1, frames.BLOCK_ENTRIES // (n_shuffled * n_columns))
    for start in range(0, n_columns, at_once):
        columns = range(start, min(start + at_once, n_columns))
        index = np.tile(chosen[:, np.newaxis], (len(columns), n_columns))
        for number, j in enumerate(columns):
            index[number * n_shuffled : (number + 1) * n_shuffled, j] = shuffled
        after = score(frames.rows_of(rows.X, index)).astype(np.float64, copy=False).reshape(len(columns), n_shuffled)
        for number, j in enumerate(columns):
            part = shapes[j].parts(rows.X, j)
            taking_part[j] = 0.5 * np.mean((after[number] - before - part[shuffled] + part[chosen]) ** 2)
    return taking_part


def _supported_pairs(
    shapes: Sequence[Shape], screened: Sequence[int], rows: ReadRows, remainder: Remainder
) -> tuple[PairEffect, ...]:
    """The strongest pairs of the screened columns that held-out rows support."""
    most_bins = int(np.clip(np.sqrt(rows.effective / 30.0), 3, 10))  # a cell of two columns holds about 30 rows
    bins = [_bin_column(shapes[j], j, rows, most_bins) for j in screened]
    pairs = []
    for pair in strongest_pairs(bins, remainder.rest, rows.weights):
        if pair.variance < LEAST_SHARE * remainder.variance:
            break
        supported = support(pair.cells, rows, remainder.fold_additive, remainder.fold_rest, remainder.unseen)
        if supported > LEAST_SUPPORT:
            first, second = (Axis(shapes[screened[k]].name, bins[k].labels, bins[k].edges) for k in pair.columns)
            share = pair.variance / remainder.variance
            pairs.append(PairEffect((first, second), share, _shown_means(pair.cells, remainder.rest)))
    return tuple(pairs)


def _bin_column(shape: Shape, index: int, rows: ReadRows, most: int) -> ColumnBins:
    if shape.numeric:
        return bin_numbers(frames.numbers(rows.X, index), most)
    encoder = Indicators(tuple(shape.grid), shape.missing is not None)
    codes = frames.category_codes(rows.X, index, encoder.codes)
    return bin_categories(codes, encoder.categories, encoder.missing, most)


def _shown_means(cells: Cells, rest: np.ndarray) -> np.ndarray:
    """The mean of `rest` in each cell; NaN in cells of few rows."""
    counts = np.bincount(cells.codes, minlength=cells.weights.size).reshape(cells.shape)
    return np.where(counts >= LEAST_ROWS_OF_CELL, cells.means(rest)[0], np.nan)
