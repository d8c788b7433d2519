"""Reading a score column by column: curves, importances and interactions, made once from the training rows.

A score whose features are functions of single columns is a sum of curves, and these are read as they are. Any other
score is projected on such sums (`vrspam.inspection.projection`): the curves are its best additive reading, and the
interactions are the rest, in which no function of one column is left.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from vrspam._utils import array_api
from vrspam.features import AdditiveFeatures, FeatureMap
from vrspam.features.base import Places
from vrspam.features.encoders import Curves, Encoder, Indicators
from vrspam.features.learning import SharedColumns
from vrspam.features.mapped import MAX_FEATURES, MappedArray
from vrspam.features.parts import CurvePart, Effect
from vrspam.features.scoring import PreparedParts
from vrspam.inspection import interactions
from vrspam.inspection.interactions import Axis, PairEffect
from vrspam.inspection.projection import Projection, whitening
from vrspam.inspection.shapes import Shape, Shapes, column_groups, distinct, importances, make_shape
from vrspam.moments import PairSums
from vrspam.tables import frames

MOST_COLUMNS = 1_000  # for curves of columns that are used as they are
SUM_ROWS = 2_000  # rows with which the curves of a sum of curves are compared; the curves themselves rest on all rows
ROWS_PER_FUNCTION = 20  # least number of rows for each function of a projection
LEAST_SHARE = 0.005  # of the variance of the score: weaker pairs are not listed
LEAST_SUPPORT = 3.0  # least support of a pair by held-out rows, in standard errors
MOST_COMPARED = 100  # columns whose curves are compared with the rows and with each other: the most important ones


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
        share = float(np.mean([left.mean() for left in left_out]))
        rows = interactions.draw_rows(X, positive, weights, seed, SUM_ROWS)
        members = list(zip(*(part.encoders_ for part in features.members), strict=True))
        return _read_sum(features, coefs, moments, share, members, features.parts(coefs).effects, rows, columns)
    if len(columns) > MAX_FEATURES:
        return f"X has {len(columns):,} columns, and curves are made for at most {MAX_FEATURES:,}"
    rows = interactions.draw_rows(X, positive, weights, seed, interactions.MOST_ROWS)
    own = features if isinstance(features, FeatureMap) else None
    # with the seed of the map columns are summarised over the same rows, and so only once
    given = None if own is None else own.members[0].random_state
    try:
        basis = AdditiveFeatures(
            max_features=max(1, min(1_000, int(rows.effective) // ROWS_PER_FUNCTION)),
            max_categories=1000 if own is None else own.members[0].max_categories,
            random_state=given if isinstance(given, int) else seed,
        )
        basis.learn(X, weights, shared)  # warnings about columns were given when the score was fitted
    except (TypeError, ValueError) as error:  # dates, say, which a transformer of another package may take
        return f"the columns have no curves ({error})"
    # features may go on as straight lines far from the middle of a column, where additive ones are clipped: then the
    # unclipped column is put before the functions of the column
    encoders = getattr(own, "encoders_", None)
    if encoders is None or any(isinstance(encoder, Curves) and encoder.extend for encoder in encoders):
        for j, one in enumerate(basis.encoders_):
            if isinstance(one, Curves) and one.nodes.size > 2:
                line = (one.nodes - one.nodes[0]) / np.ptp(one.nodes) - 0.5
                table = np.column_stack([line, one.table])
                basis.encoders_[j] = Curves(one.nodes, table, ("line", *one.labels), one.missing, one.extend)
    if basis.n_features_out_ > MAX_FEATURES:
        return f"curves of all columns would take {basis.n_features_out_:,} functions, of at most {MAX_FEATURES:,}"
    return _read_projection(features, coefs, left_out, rows, columns, basis, seed)


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
    rows = interactions.draw_rows(X, positive, weights, seed, SUM_ROWS)
    rows = rows._replace(X=rows.X.copy()) if rows.X is X else rows
    if (xp := array_api.device_namespace(X)) is not None:
        ends = [array_api.on_host(xp.min(X, axis=0)), array_api.on_host(xp.max(X, axis=0))]
    elif sparse.issparse(X):  # if it is large, the range of all rows would take a copy: that of the rows drawn must do
        ends = [rows.X.min(axis=0).toarray().ravel(), rows.X.max(axis=0).toarray().ravel()]
    else:
        rest, lines = len(X) % 16, np.ascontiguousarray(X)
        many, few = lines[rest:].reshape(-1, 16, X.shape[1]), len(X) < 16  # long lines take a third of the time
        picks = (np.min, np.max)
        ends = [pick(lines if few else np.vstack([lines[:rest], pick(many, axis=0)]), axis=0) for pick in picks]

    def read() -> Shapes:
        members, effects = [], []
        for j, (low, high) in enumerate(zip(*ends, strict=True)):  # straight lines over the range of each column
            nodes = np.array([low, high] if high > low else [low], dtype=np.float64)
            members.append((Curves(nodes, nodes[:, np.newaxis], ("",), missing=False, extend=nodes.size > 1),))
            effects.append(CurvePart.of(members[-1][0], coefs[j : j + 1]))
        found = _read_sum(None, coefs, moments, share, members, effects, rows, columns)
        told = zip(found.columns, directions, strict=True)
        return replace(found, columns=tuple(shape._replace(direction=int(sign)) for shape, sign in told))

    return read


def _read_sum(
    features: Any,
    coefs: np.ndarray,
    moments: PairSums,
    left_out: float,
    members: Sequence[Sequence[Encoder]],
    effects: Sequence[Effect | None],
    rows: interactions.ReadRows,
    names: list[str],
) -> Shapes:
    """The curves of a score that is a sum of them; `members` are the encoders of each column, in one map or several."""
    coef, centre, delta = coefs[:, 0], moments.means.mean(axis=0), moments.delta
    groups = column_groups(features, names, coef.size)
    design = np.empty((0, 0))
    if moments.has_scatter:
        spread = importances(groups, coef, moments)
    else:  # more features than rows: their moments have no scatter matrices
        design = np.asarray(features.features_of(rows.X), dtype=np.float64)
        design = design - rows.weights @ design
        parts = {name: design[:, where] @ coef[where] for name, where in groups.items()}
        spread = {name: float(np.sqrt(rows.weights @ part**2)) for name, part in parts.items()}
    shapes = []
    for own, effect, (name, where) in zip(members, effects, groups.items(), strict=True):
        means, difference = centre[where] @ coefs[where], float(coef[where] @ delta[where])
        shapes.append(make_shape(name, own, effect, means, left_out, spread[name], difference))

    def covariance(functions: np.ndarray) -> np.ndarray:
        if not moments.has_scatter:
            return design[:, functions].T @ (rows.weights[:, np.newaxis] * design[:, functions])
        between = np.outer(delta[functions], delta[functions])
        return moments.within[np.ix_(functions, functions)] / 2.0 + between / 4.0

    effective = 4.0 / float((1.0 / moments.rows).sum())
    scores = rows.X @ coef if features is None else np.asarray(features.products(rows.X, coef), dtype=np.float64)
    encoders, places = [own[0] for own in members], list(groups.values())
    shapes = _compare(shapes, encoders, places, coef, covariance, effective, rows, scores - centre @ coef)
    return Shapes(tuple(shapes), effects=np.array(list(spread.values())))


def _read_projection(
    features: Any,
    coefs: np.ndarray,
    left_out: Sequence[np.ndarray],
    rows: interactions.ReadRows,
    names: list[str],
    basis: AdditiveFeatures,
    seed: int | None,
) -> Shapes:
    """The best additive reading of any score, and the interactions that it leaves."""
    own = isinstance(features, FeatureMap)
    scores = features.products(rows.X, coefs) if own else MappedArray(rows.X, features) @ coefs
    scores = scores.astype(np.float64, copy=False)
    scores -= rows.weights @ scores
    projection = Projection(basis, rows, scores[:, 0])
    white, found = projection.solve(rows.weights[:, np.newaxis] * scores)
    rest = scores[:, 0] - (projection.design @ found[:, :1])[:, 0]
    # The score of each fold is projected over the rows that it does not leave out, so that the bands say how much a
    # curve varies with the rows of the fit and with those it is read from. The factors for all rows also solve the
    # problem of a fold, in a few steps of iterative refinement that start at the solution for all rows.
    unseen = np.stack([left[rows.places] for left in left_out], axis=1)
    inside = ~unseen * rows.weights[:, np.newaxis]
    kept = inside.sum(axis=0)
    kept = np.where(kept > 0.0, kept, 1.0)
    for _ in range(3):
        residual = scores[:, 1:] - projection.design @ found[:, 1:]
        residual -= (inside * residual).sum(axis=0) / kept
        found[:, 1:] += projection.solve(inside * residual)[1] / kept
    variances = np.array([float(white[where, 0] @ white[where, 0]) for where in projection.white_slices])
    share, shapes = float(np.mean([left.mean() for left in left_out])), []
    columns = zip(names, basis.encoders_, basis.parts(found).effects, projection.slices, strict=True)
    for (name, encoder, effect, where), size in zip(columns, np.sqrt(variances).tolist(), strict=True):
        means, difference = projection.centre[where] @ found[where], projection.difference[where] @ found[where, 0]
        shapes.append(make_shape(name, [encoder], effect, means, share, size, float(difference)))
    slices, covariance = projection.slices, projection.covariance
    shapes = _compare(shapes, basis.encoders_, slices, found[:, 0], covariance, rows.effective, rows, scores[:, 0])
    additive = projection.design @ found[:, 1:]
    total, folds = float(rows.weights @ scores[:, 0] ** 2), (additive, scores[:, 1:] - additive, unseen)
    known = (rows, shapes, total, rest, folds, seed)
    if not own:
        return _with_interactions(lambda X: MappedArray(X, features) @ coefs[:, 0], *known)
    return _with_interactions(partial(PreparedParts(features.parts(coefs[:, 0])).scores, single=True), *known)


def _with_interactions(
    score: Callable[[Any], np.ndarray],
    rows: interactions.ReadRows,
    shapes: list[Shape],
    total: float,
    rest: np.ndarray,
    folds: tuple[np.ndarray, np.ndarray, np.ndarray],
    seed: int | None,
) -> Shapes:
    """The curves of a score of variance `total`, and what they leave of it; `folds` are as in `support`."""
    left = float(rows.weights @ rest**2)
    curves = np.array([shape.importance for shape in shapes])
    if left <= 1e-12 * total:  # rounding
        return Shapes(tuple(shapes), float(np.sqrt(left)), effects=curves)
    # how far each column takes part in interactions: ½ mean squared change of them when its values are shuffled; 0 for
    # all columns where there are more than 300: only the curves count then
    X, d, n_rows = rows.X, len(shapes), rows.weights.size
    rng, taking_part = np.random.default_rng(seed), np.zeros(d)
    each = min(n_rows, max(16, min(10_000, 4 * n_rows) // d))  # about 10,000 rows are scored
    if d <= 300:
        chosen = rng.choice(n_rows, each, p=rows.weights)
        before = score(frames.rows_of(X, chosen)).astype(np.float64, copy=False).ravel()
        other = rng.permutation(chosen)
        at_once = max(1, frames.BLOCK_ENTRIES // (each * d))
        for start in range(0, d, at_once):
            some = range(start, min(start + at_once, d))
            index = np.tile(chosen[:, np.newaxis], (len(some), d))
            for number, j in enumerate(some):
                index[number * each : (number + 1) * each, j] = other
            after = score(frames.rows_of(X, index)).astype(np.float64, copy=False).reshape(len(some), each)
            for number, j in enumerate(some):
                own = shapes[j].parts(X, j)
                taking_part[j] = 0.5 * np.mean((after[number] - before - own[other] + own[chosen]) ** 2)
    effects = np.sqrt(curves**2 + taking_part)
    strength = taking_part if taking_part.any() else effects
    screened = np.sort(np.argsort(-strength, kind="stable")[:15]).tolist()  # columns among which pairs are sought
    most = int(np.clip(np.sqrt(rows.effective / 30.0), 3, 10))  # a cell of two columns holds about 30 rows
    bins = []
    for j in screened:
        if shapes[j].numeric:
            bins.append(interactions.bin_numbers(frames.numbers(rows.X, j), most))
        else:
            known = Indicators(tuple(shapes[j].grid), shapes[j].missing is not None)
            codes = frames.category_codes(rows.X, j, known.codes)
            bins.append(interactions.bin_categories(codes, known.categories, known.missing, most))
    pairs = []
    for (a, b), cells, variance in interactions.strongest_pairs(bins, rest, rows.weights):
        if variance < LEAST_SHARE * total:
            break
        if interactions.support(cells, rows, *folds) > LEAST_SUPPORT:
            counts = np.bincount(cells.codes, minlength=cells.weights.size).reshape(cells.shape)
            values = np.where(counts >= 3, cells.means(rest)[0], np.nan)  # the mean of fewer rows is not shown
            first, second = (Axis(shapes[screened[k]].name, bins[k].labels, bins[k].edges) for k in (a, b))
            pairs.append(PairEffect((first, second), variance / total, values))
    share = min(left / total, 1.0)
    return Shapes(tuple(shapes), float(np.sqrt(left)), share, tuple(pairs), effects=effects)


def _compare(
    shapes: list[Shape],
    encoders: Sequence[Encoder],
    places: Sequence[Places],
    coef: np.ndarray,
    covariance: Callable[[np.ndarray], np.ndarray],
    effective: float,
    rows: interactions.ReadRows,
    scores: np.ndarray,
) -> list[Shape]:
    """The same curves; the most important ones get mean scores at each value, and columns that move together.

    `places` say where the functions of each column are, `coef` are their coefficients, and `covariance` gives the
    covariances of some of them over `effective` rows.
    """
    least_importance = 0.02  # of the largest: a pair of columns whose curves are both smaller gets no remark
    together = 0.8  # part of the variance of a curve that a function of the other column explains
    sizes, shapes = np.array([shape.importance for shape in shapes]), list(shapes)
    compared = np.sort(np.argsort(-sizes, kind="stable")[:MOST_COMPARED])
    numbers = [np.arange(coef.size)[places[j]] for j in compared]
    functions, stops = np.concatenate(numbers), np.cumsum([own.size for own in numbers]).tolist()
    slices = [slice(*ends) for ends in pairwise([0, *stops])]
    shared, own = covariance(functions), coef[functions]
    white = [whitening(shared[where, where]) for where in slices]
    # R²[k, j], adjusted for degrees of freedom: how much of the curve of column j, or of its first function, a function
    # of column k explains. The first function of a column of numbers is the column itself.
    explained = np.zeros((len(slices), len(slices)))
    for first in (False, True):
        products, variances = [], []
        for where in slices:
            probe = np.eye(1, where.stop - where.start)[0] if first else own[where]
            products.append(shared[:, where] @ probe)
            variances.append(float(probe @ products[-1][where]))
        columns = np.stack(products, axis=1)
        for k, (w, where) in enumerate(zip(white, slices, strict=True)):
            free = effective - w.shape[1] - 1.0
            if free > 0.0:
                with np.errstate(invalid="ignore", divide="ignore"):
                    share = ((w.T @ columns[where]) ** 2).sum(axis=0) / variances
                    found = 1.0 - (1.0 - share) * (effective - 1.0) / free
                explained[k] = np.maximum(explained[k], np.nan_to_num(found, nan=0.0, posinf=0.0, neginf=0.0))
    np.fill_diagonal(explained, 0.0)
    matters = sizes[compared] > least_importance * sizes.max(initial=0.0)
    # A flat curve needs the remark as well: its column may only be correlated with one that matters.
    near = np.maximum(explained, explained.T) * np.logical_or.outer(matters, matters)
    for j, row in zip(compared.tolist(), near, strict=True):
        closest = np.argsort(-row, kind="stable")[:5]
        others = tuple(shapes[compared[k]].name for k in closest if row[k] >= together)
        encoder, grid = encoders[j], shapes[j].grid
        if isinstance(encoder, Curves):
            means, absent = interactions.mean_at_numbers(frames.numbers(rows.X, j), scores, rows.weights, grid)
        else:
            codes = frames.category_codes(rows.X, j, encoder.codes, encoder.other)
            known = codes >= 0
            weight = np.bincount(codes[known], rows.weights[known], encoder.width)
            sums = np.bincount(codes[known], (rows.weights * scores)[known], encoder.width)
            means = np.divide(sums, weight, out=np.full(encoder.width, np.nan), where=weight > 0.0)
            absent = float(means[-1]) if encoder.missing and weight[-1] > 0.0 else None
            means = means[: grid.size]
        shapes[j] = shapes[j]._replace(mean_score=means, missing_mean_score=absent, together=others)
    return shapes
