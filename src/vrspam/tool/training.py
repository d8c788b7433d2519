"""From a file to a model: columns, standardisation, penalties by cross-validation, calibration, warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict

from vrspam import AUCClassifier, AUCClassifierCV, ClassMoments, HashFolds
from vrspam._utils.blas import blas_threads
from vrspam.features import FeatureMap
from vrspam.model_selection.held_out import HeldOut
from vrspam.tool import suspicions
from vrspam.tool.calibration import METHODS, Calibration, calibrate
from vrspam.tool.crossfit import FOLDS, check_size, fold_auc_ci, fold_numbers, stratified_folds
from vrspam.tool.model import Model
from vrspam.tool.notes import note_of
from vrspam.tool.opening import Opened, open_labelled
from vrspam.tool.scaling import Map, Scaling, as_linear, count_gaps, fill_gaps, is_linear, spread
from vrspam.tool.shapes import shapes_of
from vrspam.tool.streaming import Standardised, gather

MOST_COLUMNS = 1_000  # encoded; maps of wider tables take long and seldom help
SMALL_ROWS = 5_000  # of so few, matrices are too small to be shared out over cores: that only waits on a busy machine
L1_SHARES = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3)  # of the least l1 that makes every coefficient 0


def train(
    path: Any,
    target: str | None = None,
    positive: str | None = None,
    *,
    l1: str | Sequence[float] = (0.0,),
    features: Any = None,
    calibration: str = "sigmoid",
    n_splits: int = FOLDS,
    seed: int = 0,
    streaming: bool = False,
    say: Callable[[str], None] = lambda stage: None,
    **opening: Any,
) -> Model:
    """Train a model on a file: every choice is made by cross-validation and recorded in the model.

    Parameters
    ----------
    path : path, directory, pattern or list of paths
        CSV, Parquet, Feather, LIBSVM or `.npy`.
    target, positive : str, optional
        The label column, and the label to rank above the others (see `vrspam.tool.opening.open_labelled`).
    l1 : "auto" or sequence of numbers, default=(0.0,)
        Candidates for the absolute norm, for standardised features; "auto" tries six from 0 upwards.
    features : {"linear", "additive", "kernel", "auto"} or a map of `vrspam.features`, optional
        Curves for the columns, or curves and interactions, as in `AUCClassifierCV`; "auto" chooses. By default
        "auto", but "linear" for streams, more than 1,000 features, and where l1 is to choose some of them.
    calibration : {"sigmoid", "isotonic", "none"}, default="sigmoid"
        How scores become probabilities.
    n_splits : int, default=5
        Folds of the cross-validation.
    seed : int, default=0
        Draws the folds.
    streaming : bool, default=False
        Read the file block by block instead of holding it in memory (see `vrspam.tool.streaming`).
    say : callable, optional
        Is told each stage as it begins.
    **opening
        Further options of `open_labelled`.

    Returns
    -------
    Model
        `training["warnings"]` holds what was noticed about the data.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from vrspam.tool.training import train
    >>> rng = np.random.default_rng(0)
    >>> age, sick = rng.normal(60, 10, 300), rng.random(300) < 0.3
    >>> lines = [f"{a:.0f},{'yes' if s else 'no'}" for a, s in zip(age + 10 * sick, sick)]
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "patients.csv"
    >>> _ = path.write_text("\\n".join(["age,sick", *lines]))
    >>> model = train(path, "sick", features="linear")
    >>> model.positive, model.schema.feature_names, bool(model.coef[0] > 0)
    ('yes', ('age',), True)
    """
    if not (features is None or isinstance(features, (str, FeatureMap))):
        raise ValueError(f"no model file can hold {features!r}: give a name, or a map of vrspam.features")
    if calibration not in (*METHODS, "none"):
        raise ValueError(f"calibration {calibration!r} is not known; give sigmoid, isotonic or none")
    say("reading")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        opened = open_labelled(path, target, positive, **opening)
        if features is None:
            straight = streaming or opened.schema.n_features > MOST_COLUMNS or l1 == "auto" or any(l1)
            features = "linear" if straight else "auto"
        plan = Plan(l1, features, n_splits, seed, say)
        fitted, moments, scaling, held_out, notes = (_fit_blocks if streaming else _fit_rows)(opened, plan)
    notes = [*opened.notes, *suspicions.few_rows(moments), *notes]
    notes += suspicions.constant_features(opened.schema, spread(moments)[1])
    notes += dict.fromkeys(note_of(warning.message) for warning in caught)
    return _model(opened, fitted, moments, scaling, held_out, calibration, notes)


@dataclass(frozen=True)
class Plan:
    """How to fit."""

    l1: str | Sequence[float]
    features: Any
    n_splits: int
    seed: int
    say: Callable[[str], None]


Fitted = tuple[AUCClassifierCV, ClassMoments, Scaling, HeldOut, list[str]]


def _fit_rows(opened: Opened, plan: Plan) -> Fitted:
    """All rows in memory."""
    straight = isinstance(plan.features, str) and plan.features == "linear"
    holed, labels = opened.keeping_gaps().load()  # maps see gaps as gaps, everything else sees means
    gaps = count_gaps(holed, len(opened.schema.numeric))
    X = fill_gaps(holed, opened.schema.fill or ())
    if straight:
        holed = X
    moments = ClassMoments(X.shape[1], classes=[False, True], scatter=False).update(X, labels)
    folds = stratified_folds(labels, plan.n_splits, plan.seed)
    notes = suspicions.missing_values(gaps, moments, opened.schema)
    notes += suspicions.leaking_features(X, labels, moments, opened.schema)
    scaling = _scaling(moments, sparse.issparse(X))
    X = scaling(holed)
    l1s = l1_grid(plan.l1, moments, scaling)
    what = "penalty" if straight else "curves and the penalty"
    plan.say(f"choosing the {what} by {folds.get_n_splits()} folds")
    search = AUCClassifierCV(l1s=l1s, features=plan.features, cv=folds, random_state=plan.seed)
    with blas_threads(1 if labels.size <= SMALL_ROWS else None):
        fitted = search.fit(X, labels)
        plan.say("scoring each fold by a model of the others")
        chosen: Any = AUCClassifier(fitted.l2_, fitted.l1_)
        if fitted.features_ is not None:  # the map learns from the other folds alone
            chosen = AUCClassifierCV([fitted.l2_], [fitted.l1_], features=clone(fitted.features_), cv=2)
        scores = cross_val_predict(chosen, X, labels, cv=folds, method="decision_function")
    held_out = HeldOut(labels, scores, fold_numbers(folds, X, labels), np.ones(labels.size))
    return fitted, moments, scaling, held_out, notes


def _fit_blocks(opened: Opened, plan: Plan) -> Fitted:
    """Block by block, for files larger than memory."""
    if plan.features != "linear":
        raise ValueError("streaming=True takes the columns as they are: leave features= out")
    plan.say("first reading of the blocks: spread of the features")
    moments, sample, gaps = gather(opened, plan.seed)
    check_size(moments.rows)
    seen = ClassMoments(classes=[False, True], scatter=False).update(sample.X, sample.y)
    notes = suspicions.missing_values(gaps, moments, opened.schema)
    if seen.complete:
        notes += suspicions.leaking_features(sample.X, sample.y, seen, opened.schema)
    scaling = _scaling(moments, sparse.issparse(sample.X))
    l1s = l1_grid(plan.l1, moments, scaling)
    plan.say(f"second and third reading: moments and scores of {plan.n_splits} folds")
    search = AUCClassifierCV(l1s=l1s, cv=HashFolds(plan.n_splits, plan.seed))
    fitted = search.fit_stream(Standardised(opened, scaling))
    return fitted, moments, scaling, fitted.held_out_, notes


def _scaling(moments: ClassMoments, is_sparse: bool) -> Scaling:
    if not spread(moments)[1].any():
        raise ValueError("every feature is constant: there is nothing to learn from")
    return Scaling.of(moments, is_sparse)


def l1_grid(l1: str | Sequence[float], moments: ClassMoments, scaling: Scaling) -> Sequence[float]:
    """Candidates for l1; "auto" spreads them below the value 2pq·max|δ| from which all coefficients are 0."""
    if l1 != "auto":
        return tuple(float(value) for value in l1)
    largest = 2.0 * moments.p * moments.q * float(np.abs(moments.delta / scaling.deviations).max())
    return tuple(share * largest for share in L1_SHARES)


def _model(
    opened: Opened,
    fitted: Any,
    moments: ClassMoments,
    scaling: Scaling,
    held_out: HeldOut,
    calibration: str,
    notes: list[str],
) -> Model:
    """Put the model together, on the original scale of the columns."""
    interval = fold_auc_ci(held_out.positive, held_out.scores, held_out.fold)
    coef, intercept, features, shapes = fitted.coef_[0], float(fitted.intercept_[0]), None, None
    if is_linear(fitted.features_):
        coef, intercept = as_linear(fitted.features_, coef, intercept)
    elif fitted.features_ is not None:
        features = Map(scaling, fitted.features_, gaps=True)
        shapes = shapes_of(fitted, opened.schema, scaling, moments)
    if features is None:
        coef, intercept = scaling.undo(coef, intercept)
        means, deviations = moments.means, scaling.deviations
    else:
        means, deviations = fitted.moments_.means, Scaling.of(fitted.moments_, False).deviations
    pq = moments.p * moments.q
    calibrated: Calibration | None = None
    if calibration != "none":
        calibrated = calibrate(held_out.scores, held_out.positive, calibration, held_out.weights)
    return Model(
        schema=opened.schema,
        positive=opened.positive,
        coef=coef,
        intercept=intercept,
        means=means,
        deviations=deviations,
        features=features,
        shapes=shapes,
        calibration=calibrated,
        identifiers=opened.identifiers,
        training={
            "data": [Path(name).name for name in opened.chunks.source.paths],
            "rows": int(moments.rows.sum()),
            "positives": int(moments.rows[1]),
            "columns": len(opened.schema.numeric) + len(opened.schema.categorical) or opened.schema.n_features,
            "features": len(coef),
            "map": "linear" if features is None else type(fitted.features_).__name__.removesuffix("Features").lower(),
            "selection": _candidates(fitted.selection_),
            "nonzero": int(np.count_nonzero(coef)),
            "l2": float(fitted.l2_),
            "l1": float(fitted.l1_),
            "folds": int(np.unique(held_out.fold).size),
            "cv_auc": interval.auc,
            "cv_auc_low": interval.low,
            "cv_auc_high": interval.high,
            "objective": float(fitted.objective_),
            "gap": float(fitted.gap_),
            "relative_gap": float(fitted.gap_) / pq,
            "warnings": notes,
        },
    )


def _candidates(table: dict[str, list]) -> list[dict[str, Any]]:
    """The table of candidates, row by row."""
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
