"""Reading a score column by column: curves, importances and interactions, made once from the training rows.

A score whose features are functions of single columns is a sum of curves, and these are read as they are
(`vrspam.inspection.sums`). Any other score is projected on such sums (`vrspam.inspection.projected`): the curves are
its best additive reading, and the interactions are the rest, in which no function of one column is left.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from vrspam._utils import array_api
from vrspam.features import AdditiveFeatures, FeatureMap
from vrspam.features.encoders import Curves
from vrspam.features.learning import SharedColumns
from vrspam.features.mapped import MAX_FEATURES
from vrspam.features.parts import CurvePart
from vrspam.inspection.groups import distinct
from vrspam.inspection.projected import read_projection
from vrspam.inspection.rows import MOST_ROWS, ReadRows, draw_rows
from vrspam.inspection.shapes import Shapes
from vrspam.inspection.sums import read_sum
from vrspam.moments import PairSums

MOST_COLUMNS = 1_000  # for curves of columns that are used as they are
SUM_ROWS = 2_000  # rows with which the curves of a sum of curves are compared; the curves themselves rest on all rows
ROWS_PER_FUNCTION = 20  # least number of rows for each function of a projection


def read_score(
    features: Any,
    coefs: np.ndarray,
    moments: PairSums | None,
    left_out: Sequence[np.ndarray],
    X: Any,
    positive: np.ndarray,
    weights: np.ndarray | None,
    names: Sequence[Any],
    seed: int | None,
    shared: SharedColumns | None = None,
) -> Shapes | str:
    """Return the curves of a score over the rows that it was fitted on, or a text that says why there are none.

    `coefs` (features × 1 + folds) are those of the fit on all rows, then of the folds, and `left_out` marks the rows
    that each fold leaves out. `moments` are those of features that keep columns apart, without scatter matrices if
    there are more features than rows. `shared` are the column summaries of maps that were fitted on the same rows.
    """
    columns = distinct(names)
    if getattr(features, "keeps_columns_apart", False):
        assert moments is not None
        return read_sum(
            features,
            coefs,
            moments,
            left_out=float(np.mean([left.mean() for left in left_out])),
            encoders=list(zip(*(member.encoders_ for member in features.members), strict=True)),
            effects=features.parts(coefs).effects,
            rows=draw_rows(X, positive, weights, seed, SUM_ROWS),
            names=columns,
        )
    if len(columns) > MAX_FEATURES:
        return f"X has {len(columns):,} columns, and curves are made for at most {MAX_FEATURES:,}"

    rows = draw_rows(X, positive, weights, seed, MOST_ROWS)
    try:
        basis = _learn_basis(features, X, weights, rows, seed, shared)
    except (TypeError, ValueError) as error:  # dates, say, which a transformer of another package may take
        return f"the columns have no curves ({error})"
    if basis.n_features_out_ > MAX_FEATURES:
        return f"curves of all columns would take {basis.n_features_out_:,} functions, of at most {MAX_FEATURES:,}"
    return read_projection(features, coefs, left_out, rows, columns, basis, seed)


def _learn_basis(
    features: Any,
    X: Any,
    weights: np.ndarray | None,
    rows: ReadRows,
    seed: int | None,
    shared: SharedColumns | None,
) -> AdditiveFeatures:
    """The functions of single columns on which a score is projected."""
    max_categories: Any = 1000
    encoders = None
    if isinstance(features, FeatureMap):
        first = features.members[0]
        max_categories = first.max_categories
        encoders = getattr(features, "encoders_", None)
        # with the seed of the map columns are summarised over the same rows, and so only once
        if isinstance(first.random_state, int):
            seed = first.random_state
    basis = AdditiveFeatures(
        max_features=max(1, min(1_000, int(rows.effective) // ROWS_PER_FUNCTION)),
        max_categories=max_categories,
        random_state=seed,
    )
    basis.learn(X, weights, shared)  # warnings about columns were given when the score was fitted

    # features may go on as straight lines far from the middle of a column, where additive ones are clipped
    if encoders is None or any(isinstance(encoder, Curves) and encoder.extend for encoder in encoders):
        basis.encoders_[:] = [_with_line(encoder) for encoder in basis.encoders_]
    return basis


def _with_line(encoder: Any) -> Any:
    """The functions of a column after the unclipped column itself; categories as they are."""
    if not isinstance(encoder, Curves) or encoder.nodes.size <= 2:
        return encoder
    line = (encoder.nodes - encoder.nodes[0]) / np.ptp(encoder.nodes) - 0.5
    table = np.column_stack([line, encoder.table])
    return Curves(encoder.nodes, table, ("line", *encoder.labels), encoder.missing, encoder.extend)


def read_later(
    coefs: np.ndarray,
    moments: PairSums | None,
    share: float,
    X: Any,
    positive: Any,
    weights: Any,
    names: Sequence[Any],
    seed: int | None,
    directions: Sequence[float],
) -> Callable[[], Shapes] | str:
    """Return a function that makes the curves of columns as they are, from some rows that it keeps; or why not.

    Folds leave out a mean `share` of the rows; `directions` are the requested directions of the columns, or 0.
    """
    columns = distinct(names)
    if len(columns) > MOST_COLUMNS:
        return (
            f"X has {len(columns):,} columns that are used as they are, and curves are made for at most "
            f"{MOST_COLUMNS:,}; coef_ says what each adds"
        )
    if moments is None or not moments.has_scatter:
        return "a fit by products with X keeps no moments of the columns; coef_ says what each adds"
    rows = draw_rows(X, positive, weights, seed, SUM_ROWS)
    if rows.X is X:
        rows = rows._replace(X=rows.X.copy())
    ranges = _column_ranges(X, rows)

    def read() -> Shapes:
        encoders = []
        effects = []
        for j, (low, high) in enumerate(zip(ranges.low, ranges.high, strict=True)):
            # a straight line over the range of each column
            nodes = np.array([low, high] if high > low else [low], dtype=np.float64)
            encoder = Curves(nodes, nodes[:, np.newaxis], ("",), missing=False, extend=nodes.size > 1)
            encoders.append((encoder,))
            effects.append(CurvePart.of(encoder, coefs[j : j + 1]))
        shapes = read_sum(None, coefs, moments, share, encoders, effects, rows, columns)
        directed = []
        for shape, direction in zip(shapes.columns, directions, strict=True):
            directed.append(shape._replace(direction=int(direction)))
        return replace(shapes, columns=tuple(directed))

    return read


class _Ranges(NamedTuple):
    low: np.ndarray  # (columns,)
    high: np.ndarray


def _column_ranges(X: Any, rows: ReadRows) -> _Ranges:
    """The least and the largest value of each column of numbers."""
    xp = array_api.device_namespace(X)
    if xp is not None:
        return _Ranges(array_api.on_host(xp.min(X, axis=0)), array_api.on_host(xp.max(X, axis=0)))
    if sparse.issparse(X):  # if it is large, the range of all rows would take a copy: that of the rows drawn must do
        return _Ranges(rows.X.min(axis=0).toarray().ravel(), rows.X.max(axis=0).toarray().ravel())

    lines = np.ascontiguousarray(X)
    if len(lines) < 16:
        return _Ranges(lines.min(axis=0), lines.max(axis=0))
    n_before = len(lines) % 16
    before = lines[:n_before]
    blocks = lines[n_before:].reshape(-1, 16, lines.shape[1])  # long lines take a third of the time
    return _Ranges(
        low=np.vstack([before, blocks.min(axis=0)]).min(axis=0),
        high=np.vstack([before, blocks.max(axis=0)]).max(axis=0),
    )
