"""From a fit to the model that a file holds: parts on the scale of the columns, and facts about the training."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from vrspam._utils.plain import readable_name
from vrspam._utils.roles import WEIGHTS
from vrspam.checks.diagnose import Diagnosis
from vrspam.features.base import kind_of_map
from vrspam.inspection import Shapes
from vrspam.measures.fold_interval import fold_auc_ci
from vrspam.metrics import AUCInterval
from vrspam.metrics.thresholds import ChosenThreshold
from vrspam.model.fingerprint import Fingerprint
from vrspam.moments.class_moments import spread
from vrspam.penalties.family import PENALTIES
from vrspam.tables.schema import Schema
from vrspam.tool.model import Model
from vrspam.tool.plan import TrainPlan
from vrspam.tool.recipes import Fit
from vrspam.tool.score_parts import parts_of_map, undo_linear_map


def training_facts(plan: TrainPlan, fit: Fit, diagnosis: Diagnosis) -> dict[str, Any]:
    """What a model remembers of how it was asked for: directions, columns beside the features, groups."""
    facts: dict[str, Any] = {}
    if plan.monotone:
        facts["monotone"] = plan.monotone
    if fit.free is not None and not np.isnan(fit.free.corrected_score_):
        facts["unconstrained_auc"] = fit.free.corrected_score_
    if plan.weights is not None:
        facts["weights"] = plan.weights
    facts.update(plan.pairs)
    if fit.table.groups is not None:
        facts["groups"] = fit.table.name_of_groups
    if diagnosis.groups is not None and not np.isnan(diagnosis.groups.apart):
        facts["independent_auc"] = diagnosis.groups.apart
    return facts


def make_model(
    fit: Fit,
    facts: dict[str, Any],
    *,
    fingerprint: Fingerprint | None,
    threshold: ChosenThreshold | None,
) -> Model:
    """Put the model together, on the original scale of the columns; `facts` follow those of the fit."""
    parts = _parts(fit)
    schema = fit.table.schema
    return Model(
        schema=schema,
        positive=fit.table.label,
        **parts,
        calibration=getattr(fit.estimator, "calibration_", None),
        identifiers=schema.identifiers,
        fingerprint=fingerprint,
        threshold=threshold,
        training={**_facts_of_fit(fit, keeps_map="features" in parts), **facts},
    )


def _facts_of_fit(fit: Fit, *, keeps_map: bool) -> dict[str, Any]:
    """Sizes, the choice of the model, its penalties, its AUC and its certificate.

    `keeps_map`: the model has the parts of a feature map, in place of coefficients of encoded columns.
    """
    fitted = fit.estimator
    others, positives = fit.counts
    n_rows = others + positives
    interval = _interval(fit)

    facts: dict[str, Any] = {
        "data": [readable_name(path) for path in fit.table.origin.paths],
        "rows": n_rows,
        "positives": positives,
        "columns": len(fit.table.schema.columns),
        "features": int(fitted.coef_.size),
        "rows_held": min(fitted.features_.n_rows_held_, n_rows) if keeps_map else 0,
        "map": kind_of_map(fitted.features_),
        "selection": _candidates(fitted.selection_),
        "nonzero": int(np.count_nonzero(fitted.coef_)),
        "loss": fitted.loss,
        "l2": float(fitted.l2_),
        "l1": float(fitted.l1_),
        "penalty": fitted.penalty,
        "folds": int(np.unique(fit.held_out.fold).size),
        "cv_auc": interval.auc,
        "cv_auc_low": interval.low,
        "cv_auc_high": interval.high,
    }
    facts.update(_partial_auc(fit))
    facts["corrected_auc"] = _known(fitted.corrected_score_)
    low, high = fitted.corrected_interval_
    facts["corrected_auc_low"] = _known(low)
    facts["corrected_auc_high"] = _known(high)
    if fitted.objective_ is not None and not np.isnan(fitted.objective_):  # a blend has none
        facts["objective"] = float(fitted.objective_)
    facts.update(_accuracy(fit))
    return facts


def _candidates(selection: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """What was compared, a dict for each candidate, without values that do not exist."""
    rows = []
    for values in zip(*selection.values(), strict=True):
        row = dict(zip(selection, values, strict=True))
        rows.append({name: value for name, value in row.items() if _known(value) is not None})
    return rows


def _known(value: Any) -> Any:
    """A fact about a fit; None in place of the NaN of estimators, which stands for one that does not exist."""
    return None if value is None or value != value else value


def _interval(fit: Fit) -> AUCInterval:
    """The AUC of the held-out rows; where rows belong to groups, with the bounds that allow for new groups."""
    table, held_out = fit.table, fit.held_out
    places = held_out.places
    at: Any = slice(None) if places is None else places
    groups = None if table.groups is None or places is None else table.groups[places]
    interval = fold_auc_ci(
        held_out.positive,
        held_out.scores,
        held_out.fold,
        weights=held_out.weights if WEIGHTS in table.named else None,
        groups=groups,
        times=None if table.times is None else table.times[at],
        within=None if table.within is None else table.within[at],
    )
    bounds = np.array(fit.estimator.corrected_interval_)
    if groups is None or not np.isfinite(bounds[0]):
        return interval
    low, high = np.clip(bounds + interval.auc - fit.estimator.corrected_score_, 0.0, 1.0).tolist()
    return replace(interval, low=low, high=high)


def _partial_auc(fit: Fit) -> dict[str, float]:
    """The part of the ROC curve that the model was chosen by, if there is one."""
    max_fpr = getattr(fit.estimator, "max_fpr", None)
    if max_fpr is None:
        return {}
    rows = fit.held_out
    part = fold_auc_ci(rows.positive, rows.scores, rows.fold, max_fpr=max_fpr)
    return {
        "max_fpr": float(max_fpr),
        "cv_partial_auc": part.auc,
        "cv_partial_auc_low": part.low,
        "cv_partial_auc_high": part.high,
    }


def _accuracy(fit: Fit) -> dict[str, float | None]:
    """The certificate, or how stationary the model is where its penalty allows none; also as a share of F(0)."""
    fitted = fit.estimator
    measure = "gap" if PENALTIES[fitted.penalty].has_gap else "stationarity"
    reached = getattr(fitted, f"{measure}_", None)
    if reached is None:
        return {measure: None, f"relative_{measure}": None}
    moments = fitted.moments_ if fit.moments is None else fit.moments  # with the weights of the rows
    return {measure: float(reached), f"relative_{measure}": float(reached) / (moments.p * moments.q)}


def _parts(fit: Fit) -> dict[str, Any]:
    """Coefficients, intercept, class means and deviations; of the features of a map where there is one."""
    fitted = fit.estimator
    # The score of a model file is 0 half-way between the class means, with calibration or without.
    intercept = float(fitted.intercept_[0]) - fitted.baseline_
    if fit.scaling is not None and fit.moments is not None:
        return _parts_of_encoded_rows(fit, intercept)

    means = fitted.moments_.means
    deviations = spread(fitted.moments_)[1]
    deviations = np.where(deviations > 0.0, deviations, 1.0)
    categories = fit.table.schema.categorical.values()
    coef = fitted.coef_[0]
    plain = undo_linear_map(fitted.features_, categories, coef, intercept, means, deviations)
    if plain is not None:
        return plain

    parts = {**parts_of_map(fitted.features_, coef, means), "intercept": intercept}
    if isinstance(fitted._reading, Shapes):
        parts["shapes"] = _named_by_the_table(fitted._reading, fit.table.schema)
    return parts


def _parts_of_encoded_rows(fit: Fit, intercept: float) -> dict[str, Any]:
    """Straight lines of standardised rows, on the scale of the columns."""
    assert fit.scaling is not None
    assert fit.moments is not None
    coef = fit.estimator.coef_[0] / fit.scaling.deviations
    means = fit.moments.means
    if fit.table.times is not None or fit.table.within is not None:
        # the intercept is half-way between upper and lower rows of pairs, not between labels
        means = fit.estimator.moments_.means * fit.scaling.deviations + fit.scaling.centre
    return {
        "coef": coef,
        "intercept": intercept - float(coef @ fit.scaling.centre),
        "means": means,
        "deviations": fit.scaling.deviations,
    }


def _named_by_the_table(shapes: Shapes, schema: Schema) -> Shapes:
    """The curves of a fit, whose columns get the names of the table."""
    names = dict(zip((shape.name for shape in shapes.columns), schema.columns, strict=True))
    columns = []
    for shape in shapes.columns:
        together = tuple(names[other] for other in shape.together)
        columns.append(shape._replace(name=names[shape.name], together=together))
    pairs = []
    for pair in shapes.pairs:
        first, second = (axis._replace(name=names[axis.name]) for axis in pair.columns)
        pairs.append(pair._replace(columns=(first, second)))
    named = replace(shapes, columns=tuple(columns), pairs=tuple(pairs), effects=None)
    return named.dated(schema.made())
