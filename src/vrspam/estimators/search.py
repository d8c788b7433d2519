"""A search among penalties and feature maps, as the estimators with cross-validation run it and keep what it finds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from vrspam._utils import array_api
from vrspam._utils.findings import Fix, VrspamError
from vrspam._utils.parameters import checks_parameters
from vrspam._utils.progress import StepProgress
from vrspam._utils.validation import Rows, counted_rows
from vrspam._utils.warnings import AllCoefficientsZero, MapsLeftOut, NothingAtTheTop, warn
from vrspam.estimators.base import names_as_read, warn_of_missed_tolerance, warn_of_raw_columns
from vrspam.estimators.coef_path import warn_if_not_converged
from vrspam.estimators.constraints import directions_as_read, directions_of, names_of
from vrspam.features import FeatureMap
from vrspam.features.learning import SharedColumns
from vrspam.features.names import is_plain, named_maps
from vrspam.features.scoring import PreparedParts
from vrspam.inspection import MOST_COLUMNS, Shapes, read_later, read_score
from vrspam.metrics import correction, promises
from vrspam.metrics.thresholds import ChosenThreshold
from vrspam.model_selection.calibration import Calibration, Sigmoid, calibrate, scores_to_expect, signal_kept
from vrspam.model_selection.choose_model import Selected, choose_map, choose_point
from vrspam.model_selection.device_folds import DeviceFolds
from vrspam.model_selection.folds import FoldedRows, Split, make_splits, of_counted_rows
from vrspam.model_selection.grid_search import GridSearch
from vrspam.model_selection.held_out import HeldOut
from vrspam.model_selection.pairs import ranked_folds, refuse_torn_pairs
from vrspam.model_selection.scoring import ROC_AUC, make_scoring
from vrspam.objective import PenaltyFamily
from vrspam.pairs import TWO_CLASSES, LossChoice, Pairs, Ranked, whole_units
from vrspam.penalties.family import PENALTIES
from vrspam.solvers.path import check_grid_axis
from vrspam.tables import frames
from vrspam.tables.frames import HeldColumns, is_frame, needs_reading
from vrspam.tables.learner import learn_schema
from vrspam.tables.schema import Schema

MOST_DEVIATIONS = 50.0  # of the scores, from their mean to the score of probability ½; beyond that the score 0 stays
KEPT_COEFS_BYTES = 1 << 27  # coefficients of all folds and points are kept up to this size

Reading = Shapes | str | Callable[[], Shapes]  # the curves of a score, why there are none, or what makes them


class ColumnsOfFrames(NamedTuple):
    """How a search takes the columns of a frame, and how it calls what it compares."""

    read_texts: bool = True  # whether text is read as numbers and dates; else it is categories
    orders: Mapping[str, Sequence[str]] = {}  # the categories of some columns in their order, beside ordered types
    in_words: Callable[[str], str] = str  # what `verbose` says of a model that was compared


AS_THEY_ARE = ColumnsOfFrames()


@checks_parameters(skip_nested=False)
def fit_read_columns(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    orders: Mapping[str, Sequence[str]] | None = None,
    in_words: Callable[[str], str] = str,
    **rows: Any,
) -> Any:
    """Fit an estimator with cross-validation to columns that were read before: text is categories, nothing else.

    `orders` are the categories of some columns in their order, `in_words` what `verbose` says of a model that was
    compared, and `rows` the other arguments of `fit`.
    """
    columns = ColumnsOfFrames(read_texts=False, orders=orders or {}, in_words=in_words)
    return estimator._fit(X, y, columns=columns, **rows)


class Searched(NamedTuple):
    """What a search has found, and how its columns were read."""

    selected: Selected
    reading: Reading
    schema: Schema | None = None


def takes_raw_columns(features: Any, X: Any) -> bool:
    """Whether a search is for coefficients of the columns as they are, which are numbers."""
    return is_plain(features, X) and not needs_reading(X)


def check_grid(estimator: Any) -> None:
    """Refuse a penalty that does not fit the l1 of the grid."""
    l1s = np.inf if isinstance(estimator.l1s, str) else check_grid_axis("l1s", estimator.l1s)
    PenaltyFamily(estimator.penalty, estimator.gamma).check(l1s)


def run_search(
    estimator: Any, rows: Rows, classes: np.ndarray, loss: LossChoice, groups: Any, columns: ColumnsOfFrames
) -> None:
    """Cross-validate on validated rows, fit what was chosen, and keep it; rows of weight 0 are left out everywhere."""
    plain = takes_raw_columns(estimator.features, rows.X)
    counted = counted_rows(rows.weights)
    if plain and groups is None and loss.pairs.by_class and array_api.device_namespace(rows.X) is not None:
        there = rows if counted is None else take_rows(rows, counted)
        on_device = DeviceFolds.of(estimator.cv, there, classes, estimator.random_state)
        if on_device is not None:
            keep_search(estimator, search_columns(estimator, on_device), like=rows.X)
            if counted is not None:
                number_all_rows(estimator, counted)
            return

    if not loss.pairs.by_class and make_scoring(estimator.scoring, estimator.max_fpr) is not ROC_AUC:
        raise not_of_pairs(estimator)
    cv = 5 if estimator.cv is None else estimator.cv
    if counted is not None:
        if not isinstance(cv, Integral):  # folds of all rows
            cv = splits_of_counted(estimator, rows, classes, loss.pairs, groups, counted)
        rows, loss, groups = without_weight_zero(rows, counted, loss, groups)

    folds = make_folds(estimator, cv, rows, classes, loss.pairs, groups)
    searched = search_columns(estimator, folds) if plain else search_maps(estimator, folds, columns)
    keep_search(estimator, searched, like=rows.X)
    if counted is not None:
        number_all_rows(estimator, counted)
    if isinstance(loss.pairs, Ranked):
        estimator.pairs_ = float(loss.pairs.pairs_of_strata(rows.weights).sum())
        estimator.measure_ = loss.pairs.measure_name


def not_of_pairs(estimator: Any) -> ValueError:
    """The error that a measure of all rows was asked for, where only some pairs of them count."""
    what = f"scoring={estimator.scoring!r}"
    if estimator.scoring == "auto":
        what = f"max_fpr={estimator.max_fpr!r}"
    return ValueError(
        f"{what} looks at all rows, but with strata only some pairs of rows count: use scoring='auto' without "
        "max_fpr, the AUC of these pairs."
    )


# Folds, and rows of weight 0, which are no rows.


def make_folds(estimator: Any, cv: Any, rows: Rows, classes: np.ndarray, pairs: Pairs, groups: Any) -> FoldedRows:
    """The folds of the rows; strata stay whole."""
    units = groups  # rows that folds hold out together
    if pairs.units is not None:
        units = whole_units(pairs.units, groups)
        if int(units.max()) + 1 >= correction.MANY_GROUPS:  # else single rows vary inside fixed strata
            groups = units
    if isinstance(pairs, Ranked) and units is None and isinstance(cv, Integral) and int(cv) > 1:
        seed = 0 if estimator.random_state is None else estimator.random_state
        splits = ranked_folds(pairs, int(cv), seed)
    else:
        splits = make_splits(cv, rows, classes, units, estimator.random_state, not pairs.has_labels)
    if isinstance(pairs, Ranked):
        refuse_torn_pairs(pairs, splits, rows.weights)
    positive = array_api.on_host(rows.y) == classes[1]
    return FoldedRows(rows, splits, classes, positive, groups, pairs)


def splits_of_counted(
    estimator: Any, rows: Rows, classes: np.ndarray, pairs: Pairs, groups: Any, counted: np.ndarray
) -> list[Split]:
    """The splits of all rows by a splitter, or a list, among the counted rows."""
    units = groups
    if pairs.units is not None:
        units = whole_units(pairs.units, groups)
    splits = make_splits(estimator.cv, rows, classes, units, estimator.random_state, not pairs.has_labels)
    return of_counted_rows(splits, counted, rows.y.size)


def without_weight_zero(
    rows: Rows, counted: np.ndarray, loss: LossChoice, groups: Any
) -> tuple[Rows, LossChoice, np.ndarray | None]:
    """The rows of positive weight, the loss on the pairs among them, and their groups."""
    n_rows = rows.y.size
    rows = take_rows(rows, counted)
    if isinstance(loss.pairs, Ranked):
        pairs = loss.pairs.take(counted).renumbered()
        if not pairs.has_labels:
            rows = rows._replace(y=pairs.upper)
        loss = loss.on_pairs(pairs)
    if groups is not None:
        groups = correction.group_numbers(groups, n_rows)[counted]
    return rows, loss, groups


def take_rows(rows: Rows, index: np.ndarray) -> Rows:
    """Some of the rows, where they are."""

    def take(values: Any) -> Any:
        xp = array_api.device_namespace(values)
        if xp is None:
            return frames.rows_of(values, index)
        return xp.take(values, array_api.beside(index, values), axis=0)

    weights = None if rows.weights is None else take(rows.weights)
    return Rows(take(rows.X), take(rows.y), weights)


def number_all_rows(estimator: Any, counted: np.ndarray) -> None:
    """Let the held-out rows have the numbers that they have among all rows, those of weight 0 too."""
    held_out = estimator.out_of_fold_
    estimator.out_of_fold_ = held_out._replace(places=counted[held_out.places])


# The search itself.


def search_columns(estimator: Any, folds: FoldedRows | DeviceFolds) -> Searched:
    """Choose the penalties for the columns as they are."""
    search = make_search(estimator, {}, folds.pairs)
    n_features = folds.rows.X.shape[1]
    # Bands of curves need the fits on the folds, and so do out-of-fold scores.
    coefs_bytes = 8 * n_features * folds.n_folds * search.n_points
    keep_coefs = n_features <= MOST_COLUMNS or coefs_bytes <= KEPT_COEFS_BYTES or isinstance(folds, DeviceFolds)
    with StepProgress("choosing the penalty") if estimator.verbose else nullcontext() as progress:
        selected = choose_point(folds, search, keep_coefs, progress)
    return Searched(selected, read_columns(estimator, selected, folds, search.seed))


def search_maps(estimator: Any, folds: FoldedRows, columns: ColumnsOfFrames) -> Searched:
    """Choose the feature map, or a blend of maps, and its penalties."""
    maps = named_maps(estimator.features, check_random_state(estimator.random_state).randint(2**31))
    if estimator.features == "auto" and not estimator._auto_has_labelled_trees:
        maps = {name: features for name, features in maps.items() if not features.supervised}
    search = make_search(estimator, maps, folds.pairs)

    schema = None
    X = folds.rows.X
    if is_frame(X) and all(isinstance(features, FeatureMap) for features in maps.values()):
        if columns.read_texts:
            schema = learn_schema(X, means=False)
            X = schema.read(X)[0]
        X = HeldColumns.of(X, orders=columns.orders)
    folds = folds._replace(rows=folds.rows._replace(X=X))
    if estimator._has_limits:
        maps = maps_that_obey(estimator, maps, schema)

    shared = SharedColumns()
    alone = estimator.selection != "blend"  # selection="blend" always blends
    with StepProgress("comparing models", columns.in_words) if estimator.verbose else nullcontext() as progress:
        selected = choose_map(maps, folds, search, alone, progress, shared)
    features = selected.fit.features
    if schema is not None and (schema.readings or schema.identifiers) and isinstance(features, FeatureMap):
        features._read_columns = schema.source

    reading = read_maps(estimator, selected, folds, search.seed, schema, shared)
    directions = getattr(next(iter(maps.values())), "monotonic_cst", None)
    if directions is not None and isinstance(reading, Shapes):
        levels = [frames.levels(X, j) if is_frame(X) else () for j in range(len(directions))]
        reading = reading.with_directions(directions, levels, X, folds.positive, folds.rows.weights)
    if schema is not None and isinstance(reading, Shapes):
        reading = reading.dated(schema.made())
    return Searched(selected, reading, schema)


def make_search(estimator: Any, maps: Mapping[str, Any], pairs: Pairs = TWO_CLASSES) -> GridSearch:
    """The grid, how it is solved, and how the point, and the map, are chosen, from the parameters of an estimator."""
    rule = estimator.selection
    if rule in ("auto", "blend"):
        foreign = [name for name, features in maps.items() if not isinstance(features, FeatureMap)]
        if rule == "blend" and foreign:
            raise ValueError(
                f"A blend is stored as one map of this package, which cannot hold {foreign[0]}: use "
                "selection='best', or maps of vrspam.features."
            )
        rule = "best" if len(maps) < 2 or foreign else "blend"
    # The seed of the correction is the same in each fit if random_state is None.
    seed = 0
    if estimator.random_state is not None:
        seed = int(check_random_state(estimator.random_state).randint(2**31))
    family = PenaltyFamily(estimator.penalty, estimator.gamma)
    if not maps:  # maps have limits of their own
        family = estimator._family(estimator.n_features_in_)
    return GridSearch(
        estimator.l2s,
        estimator.l1s,
        estimator.tol,
        estimator.max_iter,
        estimator.n_jobs,
        penalty=family,
        scoring=make_scoring(estimator.scoring, estimator.max_fpr),
        loss=estimator._loss.on_pairs(pairs),
        rule=rule,
        seed=seed,
    )


def maps_that_obey(estimator: Any, maps: dict[str, Any], schema: Schema | None) -> dict[str, Any]:
    """The maps that can obey the directions asked for, with these set; all maps if there are no directions."""
    if estimator.bounds is not None:
        raise VrspamError(
            Fix("bounds"),
            " are limits of the coefficients of columns: use ",
            Fix("features", "linear"),
            ", or ",
            Fix("monotonic_cst"),
            " for curves and trees.",
        )
    signs = directions_of(estimator, names_of(estimator), estimator.n_features_in_)
    if signs is None:
        return maps
    if schema is not None:
        signs = directions_as_read(signs, schema)

    able = {name: new for name, new in maps.items() if "monotonic_cst" in getattr(new, "get_params", dict)()}
    others = tuple(dict.fromkeys(name.partition(" ")[0] for name in maps if name not in able))
    if not able:
        raise VrspamError(
            f"{', '.join(others)} cannot keep a score rising or falling with a column: use ",
            Fix("features", "additive"),
            ", 'standardized', 'boosted' or 'auto', or leave ",
            Fix("monotonic_cst"),
            " out.",
        )
    only_l2 = PENALTIES[estimator.penalty].ridge_without_l1 and np.array_equal(np.atleast_1d(estimator.l1s), [0.0])
    if not only_l2 and any(new.kind != "standardized" for new in able.values()):
        raise VrspamError(
            "Curves that must rise or fall allow only l2: leave ",
            Fix("l1s"),
            " and ",
            Fix("penalty"),
            " out, or use ",
            Fix("features", "standardized"),
            ".",
        )
    if others:
        warn(MapsLeftOut(others))
    return {name: new.set_params(monotonic_cst=signs.tolist()) for name, new in able.items()}


# Reading the score by column.


def coefs_of_all(selected: Selected) -> np.ndarray:
    """The coefficients of the model, and of the models of the folds if they are known, (features, models)."""
    coef = selected.fit.solution.w
    models = selected.fit.models
    if models is None:
        return coef[:, np.newaxis]
    return np.vstack([coef, models.coefs]).T


def left_out_by_folds(folds: FoldedRows) -> list[np.ndarray]:
    """For each fold, whether it does not train on a row."""
    left_out = []
    for split in folds.splits:
        rows = np.ones(folds.rows.X.shape[0], dtype=bool)
        rows[split.train] = False
        left_out.append(rows)
    return left_out


def read_columns(estimator: Any, selected: Selected, folds: FoldedRows | DeviceFolds, seed: int) -> Reading:
    """What reads the score of columns as they are, when it is first asked for."""
    X, _, weights = folds.rows
    n_features = selected.fit.solution.w.size
    if isinstance(folds, FoldedRows):
        weights = None if weights is None else array_api.on_host(weights)
        share = float(np.mean([rows.mean() for rows in left_out_by_folds(folds)]))
    else:
        share = 1.0 / folds.n_folds
    signs = None
    if estimator._has_limits:
        signs = directions_of(estimator, names_of(estimator), n_features)
    if signs is None:
        signs = np.zeros(n_features)
    names = names_as_read(estimator, None)
    coefs = coefs_of_all(selected)
    moments = selected.fit.moments
    return read_later(coefs, moments, share, X, folds.positive, weights, names, seed, signs.tolist())


def read_maps(
    estimator: Any,
    selected: Selected,
    folds: FoldedRows,
    seed: int,
    schema: Schema | None,
    shared: SharedColumns,
) -> Reading:
    """Read the score of a feature map by column, or say why that is impossible."""
    X, _, weights = folds.rows
    weights = None if weights is None else array_api.on_host(weights)
    names = names_as_read(estimator, schema)
    fit = selected.fit
    left_out = left_out_by_folds(folds)
    coefs = coefs_of_all(selected)
    return read_score(fit.features, coefs, fit.moments, left_out, X, folds.positive, weights, names, seed, shared)


# What is kept.


def keep_search(estimator: Any, searched: Searched, like: Any = None) -> None:
    """Assign what a search of rows in memory, or on a device, has found."""
    held_out = searched.selected.held_out
    keep_selected(estimator, searched, like)
    if isinstance(held_out.scores, np.ndarray):
        estimator.out_of_fold_ = held_out
    else:
        estimator._out_of_fold_there = held_out
    fit = searched.selected.fit
    if fit.features is None and not sparse.issparse(like):
        warn_of_raw_columns(estimator, fit.moments, fit.l2)


def keep_search_of_blocks(estimator: Any, searched: Searched) -> None:
    """Assign what a search of rows in blocks has found."""
    keep_selected(estimator, searched)
    estimator.held_out_ = searched.selected.held_out
    models = searched.selected.fit.models
    estimator._fold_coefs = None if models is None else models.coefs


def keep_selected(estimator: Any, searched: Searched, like: Any = None) -> None:
    """Assign the chosen point, its fit on all rows, calibration and threshold; warn of what is wrong with them."""
    selected = searched.selected
    fit = selected.fit
    chosen = selected.comparison.chosen
    scores, point = chosen.scores, chosen.choice
    calibration = calibrate_selected(estimator.calibration, selected)

    estimator._keep_fit(fit.solution, fit.moments.classes, fit.moments.means, fit.l2, like=like)
    estimator.solver_ = fit.solver
    estimator.l1_ = point.values["l1"]
    estimator.l2s_ = scores.grid["l2"]
    estimator.l1s_ = scores.grid["l1"]
    estimator.best_score_ = float(point.mean[point.index])
    estimator.measure_ = scores.scoring.name
    estimator.auc_path_ = scores.auc
    estimator.score_path_ = scores.score
    estimator.gap_path_ = scores.gaps
    estimator.converged_path_ = scores.converged
    estimator.features_ = fit.features
    estimator.selection_ = selected.comparison.table()
    if selected.corrected is not None:
        estimator.corrected_score_ = selected.corrected.auc
        estimator.corrected_interval_ = (selected.corrected.low, selected.corrected.high)
        estimator.widening_ = selected.corrected.widened
    if fit.moments.has_scatter or fit.features is not None:
        estimator.moments_ = fit.moments
    estimator._centre = fit.moments.means.mean(axis=0)
    estimator._table_schema = searched.schema
    if callable(searched.reading):
        estimator._read_later = searched.reading
    else:
        estimator._reading = searched.reading
    if isinstance(fit.features, FeatureMap):  # the parts of the score are made once: rows are scored by them
        estimator._kept_parts = estimator.coef_, PreparedParts(fit.features.parts(estimator.coef_[0]))
    warn_of_missed_tolerance(estimator, fit.solution)

    if isinstance(calibration, Sigmoid) and not half_is_near(calibration, selected.held_out):
        calibration = calibration.without_half()
    estimator.calibration_ = calibration
    estimator.baseline_ = 0.0
    if calibration is not None and calibration.half is not None:
        estimator.baseline_ = -calibration.half
    estimator.intercept_ = estimator.intercept_ + estimator.baseline_
    estimator.threshold_ = choose_threshold(estimator.threshold, selected.held_out, estimator.baseline_)
    warn_of_search(estimator, selected)


def calibrate_selected(method: str | None, selected: Selected) -> Calibration | None:
    """The function from scores to probabilities, fitted on scores of rows by models that had not seen them."""
    if method is None:
        return None
    comparison, fit, held_out, corrected = selected
    auc = float(comparison.chosen.scores.auc[comparison.chosen.choice.index].mean())
    optimism = 0.0
    several = len(comparison.candidates) + len(comparison.others) > 1
    if several and corrected is not None and not np.isnan(corrected.auc):
        auc, optimism = corrected.auc, corrected.optimism
    kept = signal_kept(auc, optimism, held_out.positive, held_out.weights)
    expected = scores_to_expect(held_out.scores, held_out.positive, held_out.weights, kept, fit.lift)
    return calibrate(expected, held_out.positive, method, held_out.weights)


def half_is_near(calibration: Sigmoid, held_out: HeldOut) -> bool:
    """Whether the score of probability ½ is among the scores, or at most 50 of their deviations from their mean.

    Scores that say next to nothing have a slope of next to nothing, and ½ lies thousands of deviations away.
    """
    if calibration.half is None:
        return False
    scores = held_out.scores
    xp = array_api.device_namespace(scores) or np
    weights = xp.ones_like(scores) if held_out.weights is None else held_out.weights
    total = float(xp.sum(weights))
    mean = float(xp.sum(scores * weights)) / total
    deviation = np.sqrt(float(xp.sum((scores - mean) ** 2 * weights)) / total)
    tied = deviation <= 1e-12 * float(xp.max(xp.abs(scores)))
    return tied or abs(calibration.half - mean) <= MOST_DEVIATIONS * deviation


def choose_threshold(threshold: Any, held_out: HeldOut, baseline: float) -> ChosenThreshold | None:
    """The threshold that a rule takes on held-out rows, or a score that was given, with what it does on them."""
    if threshold is None:
        return None
    rule, value = "threshold", threshold
    if isinstance(threshold, dict):
        ((rule, value),) = threshold.items()
    rows = held_out.on_host()
    weights = rows.weights if np.ptp(rows.weights) > 0.0 else None
    return promises.choose_threshold(rows.positive, rows.scores + baseline, rule, float(value), weights)


def warn_of_search(estimator: Any, selected: Selected) -> None:
    """Warn if a parameter has no effect, the grid is too short, all coefficients are 0, or points did not converge."""
    by_part = estimator.scoring in ("auto", "partial_roc_auc")
    if estimator.max_fpr is not None and not by_part and estimator._loss.max_fpr is None:
        warn(
            f"max_fpr={estimator.max_fpr:g} has no effect, because scoring chooses by {estimator.measure_}: leave "
            "max_fpr out, or choose by the partial AUC (scoring='auto')."
        )
    chosen = selected.comparison.chosen
    if selected.fit.solution.w.any():
        chosen.choice.warn()
    elif estimator._loss.is_partial and estimator.l1_ == 0.0:
        warn(NothingAtTheTop(estimator._loss.max_fpr))
    else:
        warn(AllCoefficientsZero(estimator.l1_))
    # Of a map, or of the default grid, only the chosen point must converge.
    own_grid = not isinstance(estimator.l2s, str) or estimator.l1s_.any()
    if selected.fit.features is None and own_grid:
        warn_if_not_converged(chosen.scores.converged, PenaltyFamily(estimator.penalty, estimator.gamma))
