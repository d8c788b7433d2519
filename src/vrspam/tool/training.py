"""From a file to a model: columns, features, penalties by cross-validation, calibration, warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vrspam import AUCClassifierCV
from vrspam._utils.choices import SELECTION_RULES
from vrspam._utils.deprecation import renamed_parameter
from vrspam._utils.messages import Parameter, WordedError, WordedText
from vrspam._utils.warnings import CategoriesGrouped
from vrspam.features import FeatureMap
from vrspam.features.mapped import MAX_FEATURES, kind_of_map
from vrspam.metrics.partial import check_max_fpr
from vrspam.model.shapes import shapes_of
from vrspam.model_selection.calibration import METHODS
from vrspam.model_selection.held_out import HeldOut
from vrspam.moments.spread import spread
from vrspam.objective import LOSSES
from vrspam.objective.choice import LossName
from vrspam.objective.penalties import CONCAVE, PenaltyName
from vrspam.tool import data_checks
from vrspam.tool.data_checks import note_of
from vrspam.tool.fingerprint import Fingerprint
from vrspam.tool.fitting import FOLDS, Fit, Plan, fit_blocks, fit_linear, fit_maps, fold_auc_ci
from vrspam.tool.folds import split_off
from vrspam.tool.model import LinearParts, Model, parts_of_map, undo_linear_map
from vrspam.tool.table import OpenedTable, open_labelled

MAJORITY = 0.6  # share of the rows from which the positive label is asked about
MOST_COLUMNS = 1_000  # encoded; maps of wider tables take long and seldom help


@renamed_parameter("seed", "random_state")
def train(
    path: Any,
    target: str | None = None,
    positive: str | None = None,
    *,
    l1: str | Sequence[float] = (0.0,),
    penalty: PenaltyName = "elasticnet",
    loss: LossName = "squared",
    features: Any = None,
    max_fpr: float | None = None,
    calibration: str = "sigmoid",
    n_splits: int = FOLDS,
    random_state: int = 0,
    streaming: bool = False,
    private: bool = False,
    selection: str = "auto",
    n_jobs: int | None = None,
    fingerprint: bool = True,
    say: Callable[[str], None] = lambda stage: None,
    **opening: Any,
) -> Model:
    """Train a model on a file: every choice is made by cross-validation and recorded in the model.

    Parameters
    ----------
    path : path, directory, pattern or list of paths
        CSV, Parquet, Feather, LIBSVM or `.npy`.
    target, positive : str, optional
        The label column, and the label to rank above the others (see `vrspam.tool.table.open_labelled`).
    l1 : "auto" or sequence of numbers, default=(0.0,)
        Candidates for the absolute norm, for standardised features; "auto" tries six from 0 upwards.
    penalty : {"elasticnet", "mcp", "scad"}, default="elasticnet"
        How l1 acts (docs/penalties.md): "mcp" and "scad" leave features out without shrinking the others, and need
        positive numbers in l1, or "auto".
    loss : {"squared", "squared_hinge"}, default="squared"
        What a pair costs, as in `AUCClassifierCV`; the squared hinge needs all rows in memory.
    features : {"linear", "additive", "kernel", "trees", "auto"} or a map of `vrspam.features`, optional
        Curves for the columns, or curves and interactions, as in `AUCClassifierCV`; "auto" blends all. By default
        "auto", but "linear" for streams, more than 1,000 features, and where l1 is to choose some of them.
    max_fpr : float in (0, 1], optional
        Choose by the AUC up to this false-positive rate, as in `AUCClassifierCV`, and record it beside the AUC.
    calibration : {"sigmoid", "isotonic", "none"}, default="sigmoid"
        How scores become probabilities.
    n_splits : int, default=5
        Folds of the cross-validation.
    random_state : int, default=0
        Draws the folds. `seed` is its old name.
    streaming : bool, default=False
        Read the file block by block instead of holding it in memory (see `vrspam.tool.fitting.fit_blocks`).
    private : bool, default=False
        Hold no row of the table in the model: landmarks of kernels are drawn column by column, and rank a little worse.
        There is no fingerprint either.
    selection : {"auto", "blend", "best", "one-standard-error"}, default="auto"
        What is made of the points and feature maps that were compared, as in `AUCClassifierCV`.
    n_jobs : int, optional
        Folds that are computed at the same time, as in `AUCClassifierCV`.
    fingerprint : bool, default=True
        Keep salted hashes of at most 1,000 training rows in the model, by which `evaluate` can tell that it is given
        the training file.
    say : callable, optional
        Is told each stage as it begins.
    **opening
        Further options of `open_labelled`: among others `weights`, `groups` and `time`, columns of weights of rows, of
        groups that folds keep together, and of times, by which folds look forward only.

    Returns
    -------
    Model
        `training["warnings"]` holds what was noticed about the data.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from vrspam.tool import train
    >>> rng = np.random.default_rng(0)
    >>> age, sick = rng.normal(60, 10, 300), rng.random(300) < 0.3
    >>> lines = [f"{a:.0f},{'yes' if s else 'no'}" for a, s in zip(age + 10 * sick, sick)]
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "patients.csv"
    >>> _ = path.write_text("\\n".join(["age,sick", *lines]))
    >>> model = train(path, "sick", features="linear")
    >>> model.positive, model.schema.feature_names, bool(model.coef[0] > 0)
    ('yes', ('age',), True)
    """
    plan = Plan(
        l1, features, n_splits, random_state, say, max_fpr, loss, penalty, private, calibration, selection, n_jobs
    )
    return fit_file(path, target, positive, plan, streaming=streaming, fingerprint=fingerprint, **opening).model


class Trained(NamedTuple):
    """A model, the table that it was trained on, and what the folds say about rows that it had not seen.

    `held_out` are scores of training rows by models of the other folds, `weights` theirs, where rows have some. `kept`
    are the places of the rows that were kept from the training (`holdout`), None where there are none.
    """

    model: Model
    opened: OpenedTable
    held_out: HeldOut
    weights: np.ndarray | None = None
    kept: np.ndarray | None = None


def fit_file(
    path: Any,
    target: str | None,
    positive: str | None,
    plan: Plan,
    *,
    streaming: bool = False,
    fingerprint: bool = True,
    holdout: float | None = None,
    by: Sequence[str] = (),
    **opening: Any,
) -> Trained:
    """Do what `train` does, and keep the rows.

    Parameters
    ----------
    path, target, positive, streaming, fingerprint, **opening
        As in `train`.
    plan : Plan
        The other parameters of `train`.
    holdout : float in (0, 1), optional
        Keep this share of the rows from the training (`vrspam.tool.folds.split_off`).
    by : sequence of str
        Columns that a report will need; they are looked for before the model is trained.

    Returns
    -------
    Trained
        `opened` has all rows, those that were kept among them.
    """
    check_plan(plan)
    check_folds(opening, streaming, plan.max_fpr)
    if streaming:
        check_straight(plan.features)
        check_sums(plan.loss)
    plan.say("reading")
    kept = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        opened = whole = open_labelled(path, target, positive, streaming=streaming, **opening)
        opened.check_columns(by)
        if holdout is not None:
            others, kept = split_off(opened, holdout, plan.seed)
            opened = opened.take(others)
        features = wanted = plan.features
        if features is None:
            asked = streaming or plan.l1 == "auto" or any(plan.l1)
            features = "linear" if asked or opened.schema.n_features > MOST_COLUMNS else "auto"
        method = None if plan.calibration == "none" else plan.calibration
        plan = replace(plan, features=features, calibration=method)
        too_wide = len(opened.schema.columns) > MAX_FEATURES  # for any map
        straight = isinstance(features, str) and (features == "linear" or (too_wide and features == "auto"))
        in_memory = fit_linear if straight else fit_maps
        fit = (fit_blocks if streaming else in_memory)(opened, plan)
    notes = [*opened.notes, *data_checks.note_few_rows(fit.counts), *fit.notes]
    by_default = wanted is None and features == "linear" and not asked and opened.chunks.source.reader.tabular
    if too_wide and (by_default or (isinstance(wanted, str) and wanted == "auto")):
        notes.append(note_too_wide(len(opened.schema.columns)))
    elif by_default:
        notes.append(note_straight(opened.schema.n_features, opened.schema.categorical))
    for warning in caught:
        said = isinstance(warning.message, CategoriesGrouped) and warning.message.column in opened.grouped
        if not said and (note := note_of(warning.message)) not in notes:
            notes.append(note)
    if positive is None:
        notes = [*note_majority(opened, fit.counts), *notes]
    known = fingerprint and not plan.private and fit.sample is not None
    print_of = Fingerprint.of(fit.sample, plan.seed) if known else None
    return Trained(_model(opened, fit, notes, print_of), whole, fit.held_out, fit.weights, kept)


def check_plan(plan: Plan) -> None:
    """Refuse what is not known."""
    if not (plan.features is None or isinstance(plan.features, (str, FeatureMap))):
        raise WordedError(
            "a model file cannot hold {given}: give a name, or a map of vrspam.features",
            given=Parameter("features", plan.features),
        )
    if plan.calibration not in (*METHODS, "none"):
        raise WordedError(
            "{given} is not known; give sigmoid, isotonic or none", given=Parameter("calibration", plan.calibration)
        )
    if plan.max_fpr is not None:
        check_max_fpr(plan.max_fpr)
    if plan.loss not in LOSSES:
        raise WordedError("{given} is not known; give squared or squared_hinge", given=Parameter("loss", plan.loss))
    check_penalty(plan.penalty, plan.l1)
    if plan.selection not in SELECTION_RULES:
        raise WordedError(
            "{given} is not known; give {known}",
            given=Parameter("selection", plan.selection),
            known=" or ".join(SELECTION_RULES),
        )


def note_straight(n_features: int, categories: Mapping[str, Sequence[Any]]) -> WordedText:
    """The note that a wide table got straight lines, and what gives it curves: to drop a column, if one is enough."""
    words = "{n_features:,} features are more than {most:,}: straight lines alone were fitted; use {fix}{why}"
    largest = max(categories, key=lambda name: len(categories[name]), default=None)
    if largest is not None and n_features - len(categories[largest]) <= MOST_COLUMNS:
        return WordedText(
            words,
            n_features=n_features,
            most=MOST_COLUMNS,
            fix=Parameter("drop", [largest]),
            why=f", which has {len(categories[largest]):,} categories, for curves and interactions of the others",
        )
    fix, why = Parameter("features", "auto"), " for curves and interactions, which takes long"
    return WordedText(words, n_features=n_features, most=MOST_COLUMNS, fix=fix, why=why)


def note_too_wide(n_columns: int) -> WordedText:
    """The note that a table got straight lines because no map takes so many columns."""
    return WordedText(
        "{given} makes curves of at most {most:,} columns, and there are {n_columns:,}: straight lines were fitted",
        n_columns=n_columns,
        most=MAX_FEATURES,
        given=Parameter("features", "auto"),
    )


def note_majority(opened: OpenedTable, counts: Sequence[int]) -> list[str]:
    """A note where the label that is ranked above the other, because it is the larger, is that of most rows."""
    others, positives = counts
    other = next(label for label in opened.schema.labels or () if label != opened.positive)
    if positives <= MAJORITY * (others + positives):
        return []
    note = WordedText(
        "the rows labelled {positive!r} are ranked above the others, because it is the larger label, and they are "
        "{share:.0f} % of all rows: if the others are to be found, give {fix}",
        positive=str(opened.positive),
        share=100.0 * positives / (others + positives),
        fix=Parameter("positive", str(other)),
    )
    return [note]


def check_folds(opening: Mapping[str, Any], streaming: bool, max_fpr: float | None) -> None:
    """Refuse columns beside the features where they cannot be used."""
    groups, time, weights = (opening.get(name) for name in ("groups", "time", "weights"))
    if groups and time:
        raise WordedError(
            "{time} makes folds that look forward, which would tear the groups of {groups} apart: leave one out",
            time=Parameter("time"),
            groups=Parameter("groups"),
        )
    for name in ("groups", "time"):
        if streaming and opening.get(name):
            raise WordedError(
                "{streaming} draws the folds from the content of each row, without {option}: leave one of them out",
                streaming=Parameter("streaming", True),
                option=Parameter(name),
            )
    if weights and max_fpr is not None:
        raise WordedError(
            "{max_fpr} has an interval for rows that count alike, not with {weights}: leave one of them out",
            max_fpr=Parameter("max_fpr"),
            weights=Parameter("weights"),
        )


def check_penalty(penalty: str, l1: str | Sequence[float]) -> None:
    """Refuse an unknown penalty, and l1 = 0 where that is its strength."""
    if penalty not in ("elasticnet", *CONCAVE):
        names = ", ".join(("elasticnet", *CONCAVE))
        raise WordedError("{given} is not known; give one of {names}", given=Parameter("penalty", penalty), names=names)
    if penalty in CONCAVE and not isinstance(l1, str) and not all(value > 0.0 for value in l1):
        raise WordedError(
            "{given} needs positive numbers for l1, its strength: give {fix}, or numbers above 0",
            given=Parameter("penalty", penalty),
            fix=Parameter("l1", "auto"),
        )


def check_straight(features: Any) -> None:
    """Refuse feature maps for a file that is read block by block."""
    if not (features is None or (isinstance(features, str) and features == "linear")):
        raise WordedError(
            "{streaming} trains straight lines only: leave {features} out",
            streaming=Parameter("streaming", True),
            features=Parameter("features"),
        )


def check_sums(loss: str) -> None:
    """Refuse a loss that needs all rows for a file that is read block by block."""
    if loss != "squared":
        raise WordedError(
            "{streaming} keeps sums of the rows, and {loss} needs the rows themselves: leave one of them out",
            streaming=Parameter("streaming", True),
            loss=Parameter("loss", loss),
        )


def _model(opened: OpenedTable, fit: Fit, notes: list[str], fingerprint: Fingerprint | None) -> Model:
    """Put the model together, on the original scale of the columns, with the facts about its training."""
    fitted, held_out = fit.estimator, fit.held_out
    interval = fold_auc_ci(held_out.positive, held_out.scores, held_out.fold, weights=fit.weights)
    parts = _parts(fit, opened)
    others, positives = fit.counts
    features, candidates = parts.get("features"), fitted.selection_
    moments = fitted.moments_ if fit.moments is None else fit.moments  # with the weights of the rows
    return Model(
        schema=opened.schema,
        positive=opened.positive,
        **parts,
        calibration=fitted.calibration_,
        identifiers=opened.identifiers,
        fingerprint=fingerprint,
        training={
            "data": [Path(name).name for name in opened.chunks.source.paths],
            "rows": others + positives,
            "positives": positives,
            "columns": len(opened.schema.columns),
            "features": int(fitted.coef_.size),
            "rows_held": 0 if features is None else min(fitted.features_.n_rows_held_, others + positives),
            "map": kind_of_map(fitted.features_),
            "selection": [_known(zip(candidates, row, strict=True)) for row in zip(*candidates.values(), strict=True)],
            "nonzero": int(np.count_nonzero(fitted.coef_)),
            "loss": fitted.loss,
            "l2": float(fitted.l2_),
            "l1": float(fitted.l1_),
            "penalty": fitted.penalty,
            "folds": int(np.unique(held_out.fold).size),
            "cv_auc": interval.auc,
            "cv_auc_low": interval.low,
            "cv_auc_high": interval.high,
            **_partial_facts(fit),
            **corrected_facts(fitted.corrected_score_, *fitted.corrected_interval_),
            **_known({"objective": float(fitted.objective_)}.items()),
            **_accuracy(fitted, 1.0 / (moments.p * moments.q)),
            "warnings": notes,
        },
    )


def _known(facts: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """The facts without those that are not known, NaN: a blend has no objective, a map that was not taken no gap."""
    return {name: value for name, value in facts if value == value}


def _partial_facts(fit: Fit) -> dict[str, float]:
    """The partial AUC of the folds, where the model was chosen by it."""
    max_fpr, held_out = fit.estimator.max_fpr, fit.held_out
    if max_fpr is None:
        return {}
    interval = fold_auc_ci(held_out.positive, held_out.scores, held_out.fold, max_fpr=max_fpr)
    return {
        "max_fpr": float(max_fpr),
        "cv_partial_auc": interval.auc,
        "cv_partial_auc_low": interval.low,
        "cv_partial_auc_high": interval.high,
    }


def corrected_facts(auc: float, low: float, high: float) -> dict[str, float | None]:
    """The AUC corrected for the choice, and its interval; None where they are not known.

    >>> corrected_facts(0.7, 0.6, 0.8)
    {'corrected_auc': 0.7, 'corrected_auc_low': 0.6, 'corrected_auc_high': 0.8}
    """
    found = {"corrected_auc": auc, "corrected_auc_low": low, "corrected_auc_high": high}
    return {name: None if np.isnan(value) else value for name, value in found.items()}


def _accuracy(fitted: AUCClassifierCV, unit: float) -> dict[str, float]:
    """The certificate of the model, or how stationary it is where its penalty allows none; `unit` is 1/F(0)."""
    name = "gap" if fitted.penalty == "elasticnet" else "stationarity"
    value = float(getattr(fitted, f"{name}_"))
    return {name: value, f"relative_{name}": value * unit}


def _parts(fit: Fit, opened: OpenedTable) -> dict[str, Any]:
    """Coefficients, intercept, class means and deviations; of the features of a map where there is one."""
    fitted = fit.estimator
    # The score of a model file is 0 half-way between the class means, with calibration or without.
    coef, intercept = fitted.coef_[0], float(fitted.intercept_[0]) - fitted.baseline_
    if fit.scaling is not None and fit.moments is not None:
        coef, intercept = fit.scaling.undo(coef, intercept)
        return LinearParts(coef, intercept, fit.moments.means, fit.scaling.deviations)._asdict()
    deviations = spread(fitted.moments_)[1]
    parts = LinearParts(coef, intercept, fitted.moments_.means, np.where(deviations > 0.0, deviations, 1.0))
    if (plain := undo_linear_map(fitted.features_, parts)) is not None:
        return plain._asdict()
    found = parts_of_map(fitted.features_, parts.coef, parts.means)
    return {**found, "intercept": intercept, "shapes": shapes_of(fitted, opened.schema.columns)}
