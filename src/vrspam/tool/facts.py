"""From a fit to the model that a file holds: parts on the scale of the columns, and facts about the training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils.plain import readable_name
from vrspam._utils.roles import GROUPS, WEIGHTS
from vrspam.checks.diagnose import Diagnosis
from vrspam.features.base import kind_of_map
from vrspam.features.parts import Parts
from vrspam.inspection import Shapes
from vrspam.measures.fold_interval import fold_auc_ci
from vrspam.metrics import AUCInterval
from vrspam.metrics.thresholds import ChosenThreshold
from vrspam.model.facts import CandidateFacts, Certificate, ColumnFacts, MeasuredAUC, PartialAUC, TrainingFacts
from vrspam.model.fingerprint import Fingerprint
from vrspam.model.model import Model
from vrspam.moments.class_moments import spread
from vrspam.penalties.family import PENALTIES
from vrspam.tables.schema import Schema
from vrspam.tool.plan import TrainPlan
from vrspam.tool.recipes import Fit
from vrspam.tool.score_parts import StraightLines, means_of_parts, parts_of_lines, undo_linear_map


def make_model(
    fit: Fit,
    plan: TrainPlan,
    diagnosis: Diagnosis,
    notes: Sequence[str],
    *,
    fingerprint: Fingerprint | None,
    threshold: ChosenThreshold | None,
) -> Model:
    """Put the model together, on the original scale of the columns."""
    table = fit.table
    score = _score_of(fit)
    shapes = None
    if score.keeps_map and isinstance(fit.estimator._reading, Shapes):
        shapes = _named_by_the_table(fit.estimator._reading, table.schema)
    return Model(
        schema=table.schema,
        positive=table.label,
        parts=score.parts,
        intercept=score.intercept,
        calibration=getattr(fit.estimator, "calibration_", None),
        threshold=threshold,
        shapes=shapes,
        roles=_roles(fit, plan),
        facts=_training_facts(fit, plan, diagnosis, notes, score),
        fingerprint=fingerprint,
    )


# The score.


class Score(NamedTuple):
    """The score of a fit on the scale of the columns, and what its terms are in the training rows."""

    parts: Parts
    intercept: float
    of_columns: ColumnFacts
    keeps_map: bool  # whether the parts are those of a feature map, and not coefficients of encoded columns


def _score_of(fit: Fit) -> Score:
    """Straight lines of encoded columns where the fit is that, or else the parts of its feature map."""
    fitted = fit.estimator
    # The score of a model file is 0 half-way between the class means, with calibration or without.
    intercept = float(fitted.intercept_[0]) - fitted.baseline_
    if fit.scaling is not None and fit.moments is not None:
        return _score_of_lines(fit.table.schema, _lines_of_encoded_rows(fit, intercept))

    coef = fitted.coef_[0]
    means = fitted.moments_.means
    deviations = spread(fitted.moments_)[1]
    deviations = np.where(deviations > 0.0, deviations, 1.0)
    categories = fit.table.schema.categorical.values()
    lines = undo_linear_map(fitted.features_, categories, coef, intercept, means, deviations)
    if lines is not None:
        return _score_of_lines(fit.table.schema, lines)

    terms = means_of_parts(fitted.features_, coef, means)
    of_columns = ColumnFacts(terms, np.ones(terms.shape[1]))
    return Score(fitted.features_.parts(coef), intercept, of_columns, keeps_map=True)


def _score_of_lines(schema: Schema, lines: StraightLines) -> Score:
    of_columns = ColumnFacts(lines.means, lines.deviations)
    return Score(parts_of_lines(schema, lines.coef), lines.intercept, of_columns, keeps_map=False)


def _lines_of_encoded_rows(fit: Fit, intercept: float) -> StraightLines:
    """Straight lines of standardised rows, on the scale of the columns."""
    assert fit.scaling is not None
    assert fit.moments is not None
    coef = fit.estimator.coef_[0] / fit.scaling.deviations
    means = fit.moments.means
    if fit.table.times is not None or fit.table.within is not None:
        # the intercept is half-way between upper and lower rows of pairs, not between labels
        means = fit.estimator.moments_.means * fit.scaling.deviations + fit.scaling.centre
    return StraightLines(coef, intercept - float(coef @ fit.scaling.centre), means, fit.scaling.deviations)


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


# The training.


def _roles(fit: Fit, plan: TrainPlan) -> dict[str, str]:
    """The columns beside the features that the model remembers, by their roles."""
    roles: dict[str, str] = {}
    if plan.weights is not None:
        roles[WEIGHTS] = plan.weights
    for role, column in plan.pairs.items():
        if column is not None:
            roles[role] = column
    if fit.table.groups is not None:
        roles[GROUPS] = fit.table.name_of_groups
    return roles


def _training_facts(
    fit: Fit, plan: TrainPlan, diagnosis: Diagnosis, notes: Sequence[str], score: Score
) -> TrainingFacts:
    """Sizes, the choice of the model, its penalties, its AUC, its certificate, and what was noticed."""
    fitted = fit.estimator
    others, positives = fit.counts
    n_rows = others + positives
    interval = _interval(fit)
    low, high = fitted.corrected_interval_
    return TrainingFacts(
        data=tuple(readable_name(path) for path in fit.table.origin.paths),
        rows=n_rows,
        positives=positives,
        columns=len(fit.table.schema.columns),
        features=int(fitted.coef_.size),
        rows_held=min(fitted.features_.n_rows_held_, n_rows) if score.keeps_map else 0,
        map=kind_of_map(fitted.features_),
        selection=_candidates(fitted.selection_),
        nonzero=int(np.count_nonzero(fitted.coef_)),
        loss=fitted.loss,
        l2=float(fitted.l2_),
        l1=float(fitted.l1_),
        penalty=fitted.penalty,
        folds=int(np.unique(fit.held_out.fold).size),
        cv_auc=MeasuredAUC(interval.auc, interval.low, interval.high),
        partial_auc=_partial_auc(fit),
        corrected_auc=MeasuredAUC(_known(fitted.corrected_score_), _known(low), _known(high)),
        objective=_known(fitted.objective_),  # a blend has none
        certificate=_certificate(fit),
        warnings=tuple(notes),
        of_columns=score.of_columns,
        monotone=dict(plan.monotone or {}),
        unconstrained_auc=None if fit.free is None else _known(fit.free.corrected_score_),
        independent_auc=None if diagnosis.groups is None else _known(diagnosis.groups.apart),
    )


def _candidates(selection: dict[str, list[Any]]) -> tuple[CandidateFacts, ...]:
    """What was compared, candidate by candidate."""
    candidates = []
    for values in zip(*selection.values(), strict=True):
        known_values = [_known(value) for value in values]
        candidates.append(CandidateFacts(**dict(zip(selection, known_values, strict=True))))
    return tuple(candidates)


def _known(value: Any) -> Any:
    """A fact about a fit; None in place of the NaN of estimators, which stands for one that does not exist."""
    if value is None or value != value:
        return None
    return value.item() if isinstance(value, np.generic) else value


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


def _partial_auc(fit: Fit) -> PartialAUC | None:
    """The part of the ROC curve that the model was chosen by, if there is one."""
    max_fpr = getattr(fit.estimator, "max_fpr", None)
    if max_fpr is None:
        return None
    rows = fit.held_out
    part = fold_auc_ci(rows.positive, rows.scores, rows.fold, max_fpr=max_fpr)
    return PartialAUC(float(max_fpr), MeasuredAUC(part.auc, part.low, part.high))


def _certificate(fit: Fit) -> Certificate:
    """The certificate, or how stationary the model is where its penalty allows none; also as a share of F(0)."""
    fitted = fit.estimator
    measure: Any = "gap" if PENALTIES[fitted.penalty].has_gap else "stationarity"
    reached = getattr(fitted, f"{measure}_", None)
    if reached is None:
        return Certificate(measure, None, None)
    moments = fitted.moments_ if fit.moments is None else fit.moments  # with the weights of the rows
    return Certificate(measure, float(reached), float(reached) / (moments.p * moments.q))
