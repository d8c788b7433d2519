"""`train`: from a file to a model, every choice by cross-validation.

`fit_file` opens the file, lets a recipe fit its rows (`recipes.py`), and puts together what a model file holds
(`facts.py`).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, Unpack

import numpy as np

from vrspam._utils.findings import Note
from vrspam._utils.names import THRESHOLD_RULES
from vrspam.checks.diagnose import Diagnosis, Fitted, look_after, merged
from vrspam.data.open import open_stream
from vrspam.data.stream import Stream
from vrspam.data.table import Table
from vrspam.metrics.promises import stored_threshold
from vrspam.metrics.thresholds import ChosenThreshold
from vrspam.model.fingerprint import Fingerprint
from vrspam.model.model import Model
from vrspam.model_selection.held_out import HeldOut
from vrspam.tool.checking import open_checked
from vrspam.tool.directions import notes_on_directions, with_orders
from vrspam.tool.facts import make_model
from vrspam.tool.folds import folds_in_options, split_off
from vrspam.tool.notes import notes_of_warnings
from vrspam.tool.plan import ReportPlan, TrainOptions, TrainPlan
from vrspam.tool.recipes import NOTHING_TO_LEARN, Fit, Recipe, choose_recipe
from vrspam.tool.request import table_request
from vrspam.tool.signatures import takes


@takes(TrainOptions)
def train(
    path: Any,
    target: str | None = None,
    positive: str | None = None,
    *,
    plan: TrainPlan | None = None,
    **options: Unpack[TrainOptions],
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
    """A model, its table (of a stream: a sample), held-out scores of the folds, and places of rows that were kept."""

    model: Model
    table: Table
    held_out: HeldOut
    kept: np.ndarray | None = None


def fit_file(path: Any, plan: TrainPlan) -> Trained:
    """Do what `train` does, and keep the rows.

    Columns that a report needs are looked for before the model is trained, and are kept, as are those that name the
    rows; scores of other models are not used as features.
    """
    plan.say("reading")
    holdout = plan.holdout if isinstance(plan, ReportPlan) else None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        table, diagnosis = _open(path, plan)
        if diagnosis.constant and len(diagnosis.constant) == len(table.schema.columns):
            raise ValueError(NOTHING_TO_LEARN)

        kept: np.ndarray | None = None
        part = table
        if holdout is not None and isinstance(table, Table):
            with folds_in_options(table, plan):
                others, kept = split_off(table, plan, holdout)
            part = table.take(others)

        recipe = choose_recipe(part, plan)
        if plan.monotone or plan.ordered:
            recipe = recipe._replace(plan=with_orders(path, recipe.plan, part, recipe.straight))
        with folds_in_options(part, recipe.plan):
            fit = recipe.fit(part)

    notes = _notes(recipe, fit, diagnosis, [warning.message for warning in caught])
    threshold, unkept_promise = _threshold(fit, recipe.plan)
    if unkept_promise is not None:
        notes.append(unkept_promise)
    model = make_model(
        fit,
        recipe.plan,
        diagnosis,
        notes,
        fingerprint=_fingerprint(fit, recipe.plan),
        threshold=threshold,
    )
    return Trained(model, table if isinstance(table, Table) else fit.table, fit.held_out, kept)


def _open(path: Any, plan: TrainPlan) -> tuple[Table | Stream, Diagnosis]:
    """The table of a plan, looked at; a stream is looked at when its blocks are read."""
    if plan.streaming:
        return open_stream(path, table_request(plan)), Diagnosis([])
    return open_checked(path, plan)


def _notes(recipe: Recipe, fit: Fit, diagnosis: Diagnosis, caught: Sequence[Warning | str]) -> list[str]:
    """What was noticed: findings, the gravest first, then what the recipe, the estimators and directions say."""
    plan, table = recipe.plan, fit.table
    too_good = look_after(Fitted(table, diagnosis, fit.estimator.corrected_score_, plan.random_state))
    findings = [*diagnosis.findings, *too_good, *fit.findings]
    notes: list[str] = [*merged(findings, plan.ignore)]
    narrowed = recipe.note(table.schema)
    if narrowed is not None:
        notes.append(narrowed)
    for note in notes_of_warnings(caught, table, plan):
        if note not in notes:
            notes.append(note)
    if fit.free is not None:
        notes += notes_on_directions(plan, table, fit, fit.free)
    return notes


def _fingerprint(fit: Fit, plan: TrainPlan) -> Fingerprint | None:
    """Hashes of some training rows, unless the plan forbids them."""
    if not plan.fingerprint or plan.private:
        return None
    return Fingerprint.of(fit.table.rows, plan.random_state)


def _threshold(fit: Fit, plan: TrainPlan) -> tuple[ChosenThreshold | None, Note | None]:
    """The threshold that the plan asks for, and a note if it is no promise about new rows."""
    rules = {name: getattr(plan, name) for name in THRESHOLD_RULES if getattr(plan, name) is not None}
    if not rules:
        return None, None
    ((rule, value),) = rules.items()
    rows = fit.held_out
    weights = rows.weights if np.ptp(rows.weights) > 0.0 else None
    widened = getattr(fit.estimator, "widening_", 1.0)
    return stored_threshold(rows.positive, rows.scores, rule, value, weights, fit.table.groups is not None, widened)
