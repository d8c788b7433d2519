"""From a file to a model: its columns, folds, feature maps and penalties by cross-validation, calibration, notes.

`fit_file` opens the file, one of `fit_maps`, `fit_linear` and `fit_blocks` fits its rows by folds, and `_model` puts
together what a model file holds.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import stdtrit

from vrspam import AUCClassifierCV, ClassMoments, ConcordanceRankerCV, HashFolds
from vrspam._utils.blas import blas_threads
from vrspam._utils.messages import THRESHOLD_RULES, Finding, Message, Parameter, WordedError
from vrspam._utils.plain import readable_name
from vrspam._utils.progress import is_terminal
from vrspam._utils.texts import rounded
from vrspam._utils.warnings import (
    AllCoefficientsZero,
    CategoriesGrouped,
    FewerFolds,
    GridEdge,
    GridNotCertified,
    NotConverged,
    NothingAtTheTop,
)
from vrspam.data.readers.base import RowsUnlabelled
from vrspam.features import FeatureMap, LinearFeatures
from vrspam.features.base import kind_of_map
from vrspam.features.mapped import MAX_FEATURES
from vrspam.features.names import is_plain, named_maps
from vrspam.inspection import Shape, Shapes
from vrspam.measures.fold_interval import fold_auc_ci
from vrspam.measures.rows import two_sides
from vrspam.metrics.promises import stored_threshold
from vrspam.model_selection.held_out import HeldOut
from vrspam.moments.class_moments import spread
from vrspam.solvers import choose_solver
from vrspam.tables.frames import columns_of, is_frame, levels
from vrspam.tool.doctor import MOST_COLUMNS, SAMPLED, constant_columns, examine, in_order, look_after, open_table
from vrspam.tool.folds import check_size, fewer_folds, folds_in_options, make_folds, split_off
from vrspam.tool.model import Fingerprint, Model, Scaling, parts_of_map, undo_linear_map
from vrspam.tool.plan import COPIES, ReportPlan, TrainPlan, takes
from vrspam.tool.repeats import TableClassifier
from vrspam.tool.table import OpenedTable, RowSample

NOTHING_TO_LEARN = "every feature is constant: there is nothing to learn from"


@takes(TrainPlan)
def train(
    path: Any, target: str | None = None, positive: str | None = None, *, plan: TrainPlan | None = None, **options: Any
) -> Model:
    """Train a model on a table: every choice is made by cross-validation and recorded in the model.

    Parameters
    ----------
    path : path, directory, pattern or list of paths; or frame
        CSV, Parquet, Feather, Excel, LIBSVM or `.npy`; or a frame of pandas or polars, or an arrow table.
    plan : TrainPlan, optional
        Options in one object; options that are given by keyword replace those of the plan.
    {options}

    Returns
    -------
    Model
        `training["warnings"]` holds what was noticed about the data.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from vrspam.tool import train
    >>> sick = np.random.default_rng(0).random(300) < 0.3
    >>> patients = pd.DataFrame({"age": np.arange(300) % 60 + 20 * sick, "sick": np.where(sick, "yes", "no")})
    >>> model = train(patients, "sick", features="linear")
    >>> model.positive, model.schema.feature_names, bool(model.coef[0] > 0)
    ('yes', ('age',), True)
    """
    return fit_file(path, TrainPlan.of(target, positive, plan, options)).model


class Trained(NamedTuple):
    """A model, its table, scores of rows by models of the other folds, and places of rows that were kept apart."""

    model: Model
    opened: OpenedTable
    held_out: HeldOut
    kept: np.ndarray | None = None


def fit_file(path: Any, plan: TrainPlan) -> Trained:
    """Do what `train` does, and keep the rows.

    Columns that a report needs are looked for before the model is trained, and are kept, as are those that name the
    rows; scores of other models are not used as features.
    """
    plan.say("reading")
    by, holdout, kept = tuple[str, ...](), None, None
    if isinstance(plan, ReportPlan):
        by, holdout = (*plan.by, *plan.beside), plan.holdout
        plan = replace(plan, drop=(*plan.drop, *plan.beside))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        opened, found = open_table(path, plan, keep=by)
        whole = opened
        if found.constant and len(found.constant) == len(opened.schema.columns):
            raise ValueError(NOTHING_TO_LEARN)
        if holdout is not None:
            with folds_in_options(opened, plan):
                others, kept = split_off(opened, holdout, plan.random_state)
            opened = opened.take(others)
        wanted, asked = plan.features, plan.streaming or plan.l1 == "auto" or any(plan.l1)
        wide = wanted is None and not asked and opened.schema.n_features > 1_000  # then most maps take long
        if wanted is None:
            tabular = opened.chunks.source.reader.tabular
            plan = replace(plan, features="linear" if asked or (wide and not tabular) else "auto")
        too_wide = len(opened.schema.columns) > MAX_FEATURES  # for any map
        if plan.monotone and not plan.streaming and not too_wide and plan.features == "linear":
            plan = replace(plan, features="standardized")  # the same lines, column by column
        straight = plan.features == "linear" or (too_wide and plan.features == "auto")
        if plan.monotone or plan.ordered:
            plan = with_orders(path, plan, opened, straight)
        with folds_in_options(opened, plan):
            if straight or plan.streaming:
                fit = (fit_blocks if plan.streaming else fit_linear)(opened, plan)
            else:
                fit = fit_maps(opened, plan, FEW_MAPS if wide else None)
    too_good = look_after(opened, found, fit.estimator.corrected_score_, plan.random_state)
    notes: list[str] = [*in_order([*found.findings, *too_good, *fit.findings, *opened.notes], plan.ignore)]
    if too_wide and plan.features == "auto":
        words = "Only a simple model was fitted, because {reason}; probably clearly worse."
        notes.append(Message(words, reason=f"curves are made of at most {MAX_FEATURES:,} columns"))
    elif wide and not straight:
        made = "Straight lines alone were fitted" if plan.event else "Straight lines and trees were compared"
        words = f"{made}, because there are {{count:,}} features. {{all}} compares all, slowly."
        notes.append(Message(words, count=opened.schema.n_features, all=Parameter("features", "auto")))
    for warning in caught:
        said = isinstance(warning.message, RowsUnlabelled)
        said |= isinstance(warning.message, CategoriesGrouped) and warning.message.column in opened.schema.grouped
        if said:
            continue
        if isinstance(warning.message, FewerFolds) and opened.whole is not None:
            note: str = fewer_folds(opened, warning.message)
        else:
            note = note_of(warning.message)
        if note not in notes:
            notes.append(note)
    known = plan.fingerprint and not plan.private and fit.sample is not None
    fingerprint = Fingerprint.of(fit.sample, plan.random_state) if known else None
    notes += [] if fit.free is None else notes_on_directions(plan, opened, fit, fit.free)
    facts: dict[str, Any] = {"warnings": notes, **({"monotone": plan.monotone} if plan.monotone else {})}
    if fit.free is not None and not np.isnan(fit.free.corrected_score_):
        facts["unconstrained_auc"] = fit.free.corrected_score_
    facts |= plan.pairs if plan.weights is None else {"weights": plan.weights, **plan.pairs}
    facts |= {} if opened.groups is None else {"groups": opened.plan.groups or COPIES}
    if found.repeats is not None and not np.isnan(found.repeats.apart):
        facts["independent_auc"] = found.repeats.apart
    model = _model(opened, fit, facts, fingerprint)
    if rules := [(name, getattr(plan, name)) for name in THRESHOLD_RULES if getattr(plan, name) is not None]:
        rows = fit.held_out
        weights = rows.weights if np.ptp(rows.weights) > 0.0 else None
        chosen, unkept = stored_threshold(rows.positive, rows.scores, *rules[0], weights, opened.groups is not None)
        notes += [] if unkept is None else [unkept]
        model = replace(model, threshold=chosen)
    return Trained(model, whole, fit.held_out, kept)


class Fit(NamedTuple):
    """A fitted estimator, the number of rows of each class (negatives first), held-out scores, and findings.

    `moments` and `scaling` are those of encoded rows, None where a map took the columns as they are; `sample` are some
    training rows as they are. `free` is the same search without the directions of columns, where some were given.
    """

    estimator: AUCClassifierCV
    counts: Sequence[int]
    held_out: HeldOut
    findings: Sequence[Finding] = ()
    moments: ClassMoments | None = None
    scaling: Scaling | None = None
    sample: Any = None
    free: AUCClassifierCV | None = None


def _cross_validate(
    kind: type[AUCClassifierCV],
    plan: TrainPlan,
    opened: OpenedTable,
    names: Sequence[str],
    l1s: Any,
    folds: Any,
    rows: tuple[Any, np.ndarray] | None = None,
    **more: Any,
) -> tuple[AUCClassifierCV, HeldOut, AUCClassifierCV | None]:
    """Fit the estimator of a plan on columns or features of these names; return it with scores of held-out rows.

    `rows` are features and labels in memory; without them the blocks of the table are read. If columns have directions,
    a second estimator is fitted without them and returned, else None.
    """
    same: dict[str, Any] = {name: getattr(plan, name) for name in ("loss", "penalty", "selection", "n_jobs")}
    same |= {"l1s": l1s, "cv": folds, "monotonic_cst": plan.monotone and [plan.monotone.get(name, 0) for name in names]}
    if plan.event is not None:
        search: Any = ConcordanceRankerCV(**same, **more)
        search._reads_columns, search._in_words = kind._reads_columns, kind._in_words
    else:
        calibration = None if plan.calibration == "none" or plan.within is not None else plan.calibration
        search = kind(calibration=calibration, max_fpr=plan.max_fpr, **same, **more)
    search._orders = plan.ordered or {}
    fitted = []
    for free in (False, True) if plan.monotone and any(plan.monotone.values()) else (False,):
        if free:
            plan.say("fitting the model again without directions, to tell what they cost")
            search = copy(search).set_params(monotonic_cst=None)
        if rows is None:
            fitted.append(search.fit_stream(opened))
            continue
        (X, positive), given = rows, {"sample_weight": opened.relative_weights, "groups": opened.groups}
        given |= {} if opened.within is None else {"strata": opened.within}
        given |= {"y": positive} if opened.times is None else {"y": opened.times, "event": positive}
        search.set_params(verbose=int(is_terminal(sys.stderr)))
        with blas_threads(1 if positive.size <= 5_000 else None):  # threads of few rows would only wait for each other
            fitted.append(search.fit(X, **given))
    held_out = fitted[0].held_out_ if rows is None else fitted[0].out_of_fold_
    if rows is not None and opened.times is not None and held_out.places is not None:
        held_out = held_out._replace(positive=rows[1][held_out.places])
    return fitted[0], held_out, fitted[1] if len(fitted) > 1 else None


def with_orders(path: Any, plan: TrainPlan, opened: OpenedTable, encoded: bool) -> TrainPlan:
    """Return the plan with the orders that a frame's types have, for columns with directions.

    Refuse directions and orders of columns that do not exist, or whose type cannot have them.
    """
    names = columns_of(path).names if plan.monotone and is_frame(path) else ()
    typed = {name: own for place, name in enumerate(names) if name in plan.monotone and (own := levels(path, place))}
    plan = replace(plan, ordered={**typed, **(plan.ordered or {})}) if typed else plan
    known, categories = opened.schema.columns, opened.schema.categorical
    for name, given in (("monotone", plan.monotone), ("ordered", plan.ordered)):
        for column in given or ():
            if column not in known:
                words = "{given} names {column!r}, which is not among the columns: {columns}"
                names = ", ".join(known[:20]) + (", ..." if len(known) > 20 else "")
                raise WordedError(words, given=Parameter(name), column=column, columns=names)
            if name == "ordered" and column not in categories:
                words = "{given} is for categories, and {column!r} holds numbers, which have an order: leave it out"
                raise WordedError(words, given=Parameter(name), column=column)
            if encoded and given[column] and column in categories:
                words = "{given} names {column!r}, which holds categories: in a stream, or beyond {most:,} columns, "
                words += "only columns of numbers can have directions. Leave it out"
                raise WordedError(words, given=Parameter(name), column=column, most=MAX_FEATURES)
            if name == "monotone" and given[column] and column in categories and column not in (plan.ordered or ()):
                words = "{given} names {column!r}, whose categories have no order: give one with {ordered}"
                raise WordedError(words, given=Parameter(name), column=column, ordered=Parameter("ordered"))
    return plan


FEW_MAPS = ("standardized", "forest", "boosted")  # which many features do not make slow


def fit_maps(opened: OpenedTable, plan: TrainPlan, few: Sequence[str] | None = None) -> Fit:
    """Fit feature maps of the columns as they are, all that a name stands for or those in `few`; rows are in memory."""
    rows, positive = opened.load_rows()
    folds = make_folds(opened, positive, plan.n_splits, plan.random_state)
    plan.say(f"choosing the curves and the penalty by {folds.get_n_splits()} folds")
    l1s = plan.l1
    if l1s == "auto":
        straight_lines = LinearFeatures(max_categories=plan.max_categories, random_state=plan.random_state)
        straight_lines.learn(rows)
        lines = straight_lines.features_of(rows)
        moments = ClassMoments(classes=[False, True], scatter=False).update(lines, two_sides(positive, opened.times))
        l1s = l1_grid(plan, moments)
    features = plan.features
    if isinstance(features, str) and not is_plain(features, rows):
        maps = named_maps(features, None)
        auto = features == "auto" and plan.event is not None  # without trees that learn from the target
        left_out = [name for name, new in maps.items() if auto and new.supervised]
        maps = {name: new for name, new in maps.items() if (few is None or name in few) and name not in left_out}
        features = {name: new.set_params(max_categories=plan.max_categories) for name, new in maps.items()}
    elif isinstance(features, FeatureMap):
        features = {" ".join(repr(features).split()): features}
    if plan.private and isinstance(features, dict):
        features = {name: new.holding_no_rows() for name, new in features.items()}
    names = getattr(rows, "column_names", opened.schema.columns)
    made: dict[str, Any] = {"random_state": plan.random_state, "features": features}
    fitted, held_out, free = _cross_validate(TableClassifier, plan, opened, names, l1s, folds, (rows, positive), **made)
    return Fit(fitted, np.bincount(positive, minlength=2).tolist(), held_out, sample=rows, free=free)


def fit_linear(opened: OpenedTable, plan: TrainPlan) -> Fit:
    """Fit straight lines to encoded and standardised rows, all of them in memory."""
    rows, positive = opened.load_rows()
    folds = make_folds(opened, positive, plan.n_splits, plan.random_state)
    X = opened.encode(rows)
    moments = ClassMoments(X.shape[1], classes=[False, True], scatter=False)
    moments.update(X, two_sides(positive, opened.times, opened.weights), opened.weights)
    scaling, constant = _scaling(opened, moments, sparse.issparse(X))
    X = scaling(X)
    wide = choose_solver(X.shape[0], X.shape[1], sparse.issparse(X)) == "products"
    stage = f"choosing the penalty by {folds.get_n_splits()} folds"
    if wide and plan.n_jobs is None:
        words = f"{stage} of {X.shape[1]:,} features, which may take minutes; {{jobs}} computes two folds at a time"
        stage = Message(words, jobs=Parameter("n_jobs", 2))
    plan.say(stage)
    l1s = l1_grid(plan, moments, scaling)
    asked = AUCClassifierCV, plan, opened, opened.schema.feature_names, l1s, folds
    fitted, held_out, free = _cross_validate(*asked, (X, positive), random_state=plan.random_state)
    found = constant if len(opened.schema.columns) > MOST_COLUMNS else ()  # of fewer columns, the doctor has told
    counts = np.bincount(positive, minlength=2).tolist()
    return Fit(fitted, counts, held_out, found, moments, scaling, rows, free)


def fit_blocks(opened: OpenedTable, plan: TrainPlan) -> Fit:
    """Fit straight lines to encoded and standardised rows, block by block, for files larger than memory."""
    plan.say("first reading of the blocks: spread of the features")
    moments = ClassMoments(opened.schema.n_features, classes=[False, True], scatter=False)
    sample = RowSample(SAMPLED, plan.random_state)
    for rows, positive, weights in opened.blocks():
        moments.update(opened.encode(rows), positive, weights)
        sample.add(rows, positive)
    check_size(moments.rows, plan)
    scaling, constant = _scaling(opened, moments, opened.chunks.sparse)
    plan.say(f"second and third reading: moments and scores of {plan.n_splits} folds")
    l1s, folds = l1_grid(plan, moments, scaling), HashFolds(plan.n_splits, plan.random_state)
    findings = [*examine(opened, plan, sample).findings, *constant]
    scaled, names = replace(opened, scaling=scaling), opened.schema.feature_names
    fitted, held_out, free = _cross_validate(AUCClassifierCV, plan, scaled, names, l1s, folds)
    return Fit(fitted, list(map(int, moments.rows)), held_out, findings, moments, scaling, sample.X, free)


def l1_grid(plan: TrainPlan, moments: ClassMoments, scaling: Scaling | None = None) -> Sequence[float]:
    """Candidates for l1; "auto" spreads them below the value 2pq·max|δ| from which all coefficients are 0."""
    if plan.l1 != "auto":
        return tuple(float(value) for value in plan.l1)
    delta = moments.delta if scaling is None else moments.delta / scaling.deviations
    largest = 2.0 * moments.p * moments.q * float(np.abs(delta).max())
    shares = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3)
    return tuple(share * largest for share in shares if share > 0.0 or plan.penalty == "elasticnet")


def _scaling(opened: OpenedTable, moments: ClassMoments, is_sparse: bool) -> tuple[Scaling, list[Finding]]:
    """How features are standardised, and a finding on those that are constant."""
    constant = spread(moments)[1] == 0.0
    if constant.all():
        raise ValueError(NOTHING_TO_LEARN)
    names = [opened.schema.feature_names[j] for j in np.flatnonzero(constant)]
    return Scaling.of(moments, is_sparse), [constant_columns(names)] if names else []


def _model(opened: OpenedTable, fit: Fit, facts: dict[str, Any], fingerprint: Fingerprint | None) -> Model:
    """Put the model together, on the original scale of the columns, with the facts about its training."""
    fitted, held_out = fit.estimator, fit.held_out
    positive, scores, fold, weights, places = held_out
    groups = None if opened.groups is None or places is None else opened.groups[places]
    at, mass = slice(None) if places is None else places, None if opened.plan.weights is None else weights
    times, within = (None if values is None else values[at] for values in (opened.times, opened.within))
    interval = fold_auc_ci(positive, scores, fold, weights=mass, groups=groups, times=times, within=within)
    low, high = fitted.corrected_interval_
    if groups is not None and np.isfinite(low):  # this allows for models of other groups, too
        low, high = np.clip(np.array([low, high]) + interval.auc - fitted.corrected_score_, 0.0, 1.0).tolist()
        interval = replace(interval, low=low, high=high)
    parts = _parts(fit, opened)
    others, positives = fit.counts
    features, candidates = parts.get("features"), fitted.selection_
    rows = (zip(candidates, row, strict=True) for row in zip(*candidates.values(), strict=True))
    selection = [{name: value for name, value in row if _is_known(value)} for row in rows]
    names = ("corrected_auc", "corrected_auc_low", "corrected_auc_high")
    corrected = dict(zip(names, (fitted.corrected_score_, *fitted.corrected_interval_), strict=True))
    moments = fitted.moments_ if fit.moments is None else fit.moments  # with the weights of the rows
    # the certificate of the model, or how stationary it is where its penalty allows none, also as a share of F(0)
    accuracy = "gap" if fitted.penalty == "elasticnet" else "stationarity"
    reached = getattr(fitted, f"{accuracy}_", None)
    accuracies: dict[str, float | None] = {accuracy: None, f"relative_{accuracy}": None}
    if reached is not None:
        accuracies = {accuracy: float(reached), f"relative_{accuracy}": float(reached) / (moments.p * moments.q)}
    objective = fitted.objective_  # a blend has none
    partial: dict[str, float] = {}
    if getattr(fitted, "max_fpr", None) is not None:
        part = fold_auc_ci(positive, scores, fold, max_fpr=fitted.max_fpr)
        partial = {"max_fpr": float(fitted.max_fpr), "cv_partial_auc": part.auc}
        partial |= {"cv_partial_auc_low": part.low, "cv_partial_auc_high": part.high}
    return Model(
        schema=opened.schema,
        positive=opened.positive,
        **parts,
        calibration=getattr(fitted, "calibration_", None),
        identifiers=opened.schema.identifiers,
        fingerprint=fingerprint,
        training={
            "data": [readable_name(path) for path in opened.chunks.source.paths],
            "rows": others + positives,
            "positives": positives,
            "columns": len(opened.schema.columns),
            "features": int(fitted.coef_.size),
            "rows_held": 0 if features is None else min(fitted.features_.n_rows_held_, others + positives),
            "map": kind_of_map(fitted.features_),
            "selection": selection,
            "nonzero": int(np.count_nonzero(fitted.coef_)),
            "loss": fitted.loss,
            "l2": float(fitted.l2_),
            "l1": float(fitted.l1_),
            "penalty": fitted.penalty,
            "folds": int(np.unique(fold).size),
            "cv_auc": interval.auc,
            "cv_auc_low": interval.low,
            "cv_auc_high": interval.high,
            **partial,
            **{name: None if np.isnan(value) else value for name, value in corrected.items()},
            **({} if objective is None or np.isnan(objective) else {"objective": float(objective)}),
            **accuracies,
            **facts,
        },
    )


def _is_known(value: Any) -> bool:
    """Whether a fact about a fit is there: None, and the NaN of estimators, stand for one that does not exist."""
    return value is not None and value == value


def _parts(fit: Fit, opened: OpenedTable) -> dict[str, Any]:
    """Coefficients, intercept, class means and deviations; of the features of a map where there is one."""
    fitted = fit.estimator
    # The score of a model file is 0 half-way between the class means, with calibration or without.
    coef, intercept = fitted.coef_[0], float(fitted.intercept_[0]) - fitted.baseline_
    if fit.scaling is not None and fit.moments is not None:
        scaling, coef = fit.scaling, coef / fit.scaling.deviations
        means = fit.moments.means
        if opened.plan.pairs:  # the intercept is half-way between upper and lower rows of pairs, not between labels
            means = fitted.moments_.means * scaling.deviations + scaling.centre
        return {
            "coef": coef,
            "intercept": intercept - float(coef @ scaling.centre),
            "means": means,
            "deviations": scaling.deviations,
        }
    means, deviations = fitted.moments_.means, spread(fitted.moments_)[1]
    deviations = np.where(deviations > 0.0, deviations, 1.0)
    categories = opened.schema.categorical.values()
    if (plain := undo_linear_map(fitted.features_, categories, coef, intercept, means, deviations)) is not None:
        return plain
    found = {**parts_of_map(fitted.features_, coef, means), "intercept": intercept}
    if not isinstance(reading := fitted._reading, Shapes):
        return found
    # the curves of its columns, which get the names of the table
    names = dict(zip((shape.name for shape in reading.columns), opened.schema.columns, strict=True))
    shapes, pairs = [], []
    for shape in reading.columns:
        shapes.append(shape._replace(name=names[shape.name], together=tuple(names[other] for other in shape.together)))
    for pair in reading.pairs:
        first, second = (axis._replace(name=names[axis.name]) for axis in pair.columns)
        pairs.append(pair._replace(columns=(first, second)))
    read = replace(reading, columns=tuple(shapes), pairs=tuple(pairs), effects=None)
    return {**found, "shapes": read.dated(opened.schema.made())}


def note_of(noticed: Warning | str) -> str:
    """A note for the model file; advice of the estimators becomes advice about `train`.

    >>> note_of(GridNotCertified(2, 60))
    '2 of 60 candidates for the penalty did not reach the tolerance; the certificate says ...'
    >>> note_of(GridEdge("l1", 0.5, "largest", lead=0.25, error=0.125))
    'The best l1 is 0.5, the largest that was tried, and beats its neighbour by 0.25, ...: try larger numbers with l1='
    """
    missed_it = "did not reach the tolerance"
    certificate = f"{missed_it}; the certificate says how far from the optimum the model can be"
    at_the_edge = (
        "The best {parameter} is {value:g}, the {end} that was tried, and beats its neighbour by {lead:.2g}{unit}, "
        "more than one standard error ({error:.2g}): "
    )
    match noticed:
        case str():
            return noticed
        case GridNotCertified(missed=missed, total=total, convex=convex):
            return f"{missed} of {total} candidates for the penalty {certificate if convex else missed_it}"
        case NotConverged(measure=measure):
            return f"the model {certificate if measure == 'gap_' else missed_it}"
        case GridEdge(parameter=parameter, beyond=beyond):
            fields = {**vars(noticed), "unit": noticed.unit, "beyond": beyond}
            if parameter == "l1":
                return Message(at_the_edge + "try {beyond} numbers with {option}", **fields, option=Parameter("l1"))
            advice = "a {beyond} value might rank better, but `train` does not try one"
            return Message(at_the_edge + advice, **fields)
        case AllCoefficientsZero(l1=l1) if l1 > 0.0:
            words = "All coefficients are 0 at the chosen l1 = {l1:g}: every l1 that was tried is too large, or no "
            words += "feature ranks the validation rows better than chance; try smaller numbers with {option}"
            return Message(words, l1=l1, option=Parameter("l1"))
        case NothingAtTheTop(max_fpr=max_fpr):
            words = "With {part} all coefficients are 0: no score of these columns puts the positives clearly above "
            words += "the negatives at the top; use a larger share, more columns, or {squared}, which trains on the "
            words += "whole curve and chooses by the part"
            return Message(words, part=Parameter("max_fpr", max_fpr), squared=Parameter("loss", "squared"))
    return getattr(noticed, "message", str(noticed))


def notes_on_directions(plan: TrainPlan, opened: OpenedTable, fit: Fit, free: AUCClassifierCV) -> list[Message]:
    """Notes on columns whose curve in the model without directions clearly goes against their direction somewhere."""
    notes, shapes, coefs = [], dict[str, Any](), getattr(free, "_fold_coefs", None)
    if coefs is None or fit.moments is None:
        shapes = getattr(free, "shape_functions_", {})
    else:  # straight lines of encoded rows, a deviation around their means, with bands of the folds
        band = np.sqrt(len(coefs) - 1.0) * stdtrit(len(coefs) - 1.0, 0.975) * coefs.std(axis=0)
        (mean, deviation), sides = spread(fit.moments), np.array([-1.0, 1.0])
        for j, name in enumerate(opened.schema.feature_names):
            line, at = sides * free.coef_[0, j], mean[j] + sides * deviation[j]
            shapes[name] = Shape(name, at, line, line - band[j], line + band[j], None, line[1])
    for name, sign in plan.monotone.items():
        if not sign or name not in shapes:
            continue
        shape = shapes[name]
        places = list(range(shape.grid.size))
        if not shape.numeric:
            known = shape.grid.tolist()
            places = [known.index(level) for level in (plan.ordered or {}).get(name, ()) if level in known]
        values, half = sign * shape.contribution[places], (shape.high - shape.low)[places] / 2.0
        if values.size < 2 or not np.isfinite(half).all():
            continue
        falls = np.maximum.accumulate(values) - values
        stop = int(falls.argmax())
        start = int(values[: stop + 1].argmax())
        if falls[stop] > np.hypot(half[start], half[stop]):  # more than the bands at both ends explain
            low, high = (shape.grid[places[at]] for at in (start, stop))
            told, other = ("rise", "fall") if sign > 0 else ("fall", "rise")
            words = "{column!r} must {told}; without this direction the score would {other} by {size:.2g} between "
            words += "{low} and {high}, more than chance explains: check the direction, or leave it out of {option}"
            ends = {"low": rounded(low), "high": rounded(high)} if shape.numeric else {"low": low, "high": high}
            fields = {"column": name, "told": told, "other": other, "size": float(falls[stop])}
            notes.append(Message(words, **fields, **ends, option=Parameter("monotone")))
    return notes
