"""From a file to the facts of its report: a model, its evaluation on rows that it has not seen, and single rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from vrspam.data.beside import ordered_numbers
from vrspam.data.table import Table
from vrspam.measures.compare import Comparison, compare
from vrspam.measures.measure import Evaluation
from vrspam.measures.subgroups import Subgroup
from vrspam.model.model import Model
from vrspam.model_selection.learning_curve import LearningCurve
from vrspam.report.pages.report import report_page  # noqa: F401 (a public name of `vrspam.tool`)
from vrspam.report.words.auc import ExpectedAUC, doubts_of_column, expected_auc
from vrspam.tool.evaluation import evaluate_rows
from vrspam.tool.learning import curve_of
from vrspam.tool.plan import ReportOptions, ReportPlan, TrainPlan
from vrspam.tool.scored_rows import check_classes
from vrspam.tool.scores import with_all_scores
from vrspam.tool.signatures import takes
from vrspam.tool.single_rows import SingleRow, single_rows
from vrspam.tool.training import Trained, fit_file
from vrspam.tool.unseen_rows import UnseenRows, unseen_rows, values_of_columns


@dataclass(frozen=True, eq=False)
class Report:
    """The facts that a page shows about a model and its table.

    Attributes
    ----------
    model : Model
    evaluation : Evaluation
        Measures on held-out rows, each scored by a model that has not seen it.
    expected : ExpectedAUC
        The AUC to expect of new rows: corrected for the choice of the model, or that of rows kept out of the training.
    folds : int or None
        Number of folds of the cross-validation that scored the rows; None for rows kept out of the training.
    groups : tuple of Subgroup
    rows : tuple of SingleRow
    left_out : tuple of str
        Columns of the file that are not used as features.
    cost_ratio : float or None
        How many false alarms are as bad as one missed positive, before the reader changes it.
    curve : LearningCurve or None
        How the AUC grows with the rows. None with times, an order, strata, time-ordered folds or a stream, and for too
        few rows or groups, or more than 1,000 features.
    apart : str
        How groups or times separate the rows; the page appends it to the words on how the rows are scored.
    beside : Comparison or None
        Comparison of this model with the out-of-fold scores of others on the same held-out rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import make_report
    >>> report = make_report(load_breast_cancer(as_frame=True).frame, "target", features="linear", rows=0)
    >>> report.folds, report.evaluation.n, 0.9 < report.expected.auc < 1.0
    (5, 569, True)
    """

    model: Model
    evaluation: Evaluation
    expected: ExpectedAUC
    folds: int | None
    groups: tuple[Subgroup, ...] = ()
    rows: tuple[SingleRow, ...] = ()
    left_out: tuple[str, ...] = ()
    cost_ratio: float | None = None
    apart: str = ""
    beside: Comparison | None = None
    curve: LearningCurve | None = None


@takes(ReportOptions)
def make_report(
    path: Any,
    target: str | None = None,
    positive: str | None = None,
    *,
    plan: TrainPlan | None = None,
    **options: Unpack[ReportOptions],
) -> Report:
    """Train a model on a table and find out how good it is, by rows that it has not seen.

    Parameters
    ----------
    path : path, directory, pattern or list of paths; or frame
        As in `vrspam.tool.train`.
    plan : TrainPlan, optional
        Options in one object; options that are given by keyword replace those of the plan.
    {options}

    Returns
    -------
    Report
        For `report_page`, which makes one HTML page of it.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from vrspam.tool import make_report
    >>> sick = np.random.default_rng(0).random(300) < 0.3
    >>> patients = pd.DataFrame({"age": np.arange(300) % 60 + 20 * sick, "sick": np.where(sick, "yes", "no")})
    >>> report = make_report(patients, "sick", features="linear", by=["age"], rows=2)
    >>> report.evaluation.n, report.folds, len(report.groups)
    (300, 5, 4)
    """
    report_plan = ReportPlan.of(target, positive, plan, options)
    trained = fit_file(path, report_plan)
    model = trained.model
    table = trained.table
    unseen = unseen_rows(trained)
    identifiers = table.schema.identifiers if report_plan.rows else ()
    columns: dict[str, np.ndarray] = {}
    if unseen.places is not None and (report_plan.by or identifiers):
        columns = values_of_columns(table, [*report_plan.by, *identifiers], unseen.places)
    evaluation = evaluate_rows(
        model,
        unseen.rows,
        levels={name: columns[name] for name in report_plan.by if name in columns},
        cost_ratio=report_plan.cost_ratio,
        max_fpr=model.training.get("max_fpr") if unseen.rows.weights is None else None,  # no interval with weights
    )
    shown: tuple[SingleRow, ...] = ()
    if unseen.places is not None and report_plan.rows:
        names = [columns[name] for name in identifiers]
        shown = single_rows(model, table, evaluation, unseen.places, report_plan.rows, names)
    return Report(
        model=model,
        evaluation=evaluation,
        expected=expected_of(trained, evaluation),
        folds=None if trained.kept is not None else int(np.unique(unseen.fold).size),
        groups=evaluation.subgroups,
        rows=shown,
        left_out=columns_left_out(table),
        cost_ratio=report_plan.cost_ratio,
        apart=how_kept_apart(trained),
        beside=put_beside(trained, unseen, report_plan.beside) if report_plan.beside else None,
        curve=curve_of_report(trained, report_plan),
    )


def expected_of(trained: Trained, evaluation: Evaluation) -> ExpectedAUC:
    """The AUC to expect of new rows: that of rows kept from the training, or corrected for the choice of the model."""
    corrected = expected_auc(trained.model) if trained.kept is None else None
    if corrected is not None:
        return corrected
    auc = evaluation.auc
    return ExpectedAUC(auc.auc, auc.low, auc.high, remark="")


def how_kept_apart(trained: Trained) -> str:
    """How groups or times separate the rows from those that the model was trained on; "" if nothing does."""
    table = trained.table
    if table.within is not None:
        return f", rows of one {trained.model.training['within']} together"
    if table.groups is not None:
        return ", groups in one part each"
    if table.time is not None:
        if trained.kept is not None:
            return ", the latest ones"
        return ", each fold later than the rows it was trained on"
    return ""


def columns_left_out(table: Table) -> tuple[str, ...]:
    """Columns of the file that are not used as features."""
    used = {*table.schema.columns, *table.schema.readings, table.schema.target}
    return tuple(name for name in table.origin.columns if name not in used)


def curve_of_report(trained: Trained, plan: ReportPlan) -> LearningCurve | None:
    """The learning curve, where one can be drawn."""
    if trained.model.ranks or trained.table.time is not None or trained.held_out.places is None:
        return None
    with suppress(ValueError):  # too few rows or groups, or too many features
        return curve_of(trained.table, plan, lines=False)
    return None


# ---- other models beside this one


def put_beside(trained: Trained, unseen: UnseenRows, names: Sequence[str]) -> Comparison:
    """Compare the model with scores of others on its held-out rows; its AUC is corrected for the choice of model."""
    path = trained.table.origin.paths[0]
    scores = {"this model": unseen.rows.scores}
    for name in names:
        scores[name] = ordered_numbers(trained.table.raw, name, path, "beside")[unseen.places]
    kept, lacking = with_all_scores(scores)
    rows = unseen.rows.take(kept)
    if rows.has_classes:
        check_classes(rows.positive, path)
        rows = replace(rows, folds=_folds_with_both_classes(trained, unseen.fold[kept], rows.positive))
    columns = {name: rows.with_scores(values[kept]) for name, values in scores.items()}
    comparison = compare(columns, optimism=optimism_of(trained))
    return replace(comparison, notes=(*lacking, *_doubts_of_others(trained.model, comparison)))


def _folds_with_both_classes(trained: Trained, fold: np.ndarray, positive: np.ndarray) -> np.ndarray | None:
    """The folds of out-of-fold scores; None if one lost a class with the rows that have no score."""
    if trained.kept is not None:
        return None
    for number in np.unique(fold):
        if np.unique(positive[fold == number]).size < 2:
            return None
    return fold


def optimism_of(trained: Trained) -> float:
    """How much too high the AUC of the held-out rows is, because they were used to choose the model."""
    facts: Mapping[str, Any] = trained.model.training
    measured = facts.get("cv_auc")
    corrected = facts.get("corrected_auc")
    if trained.kept is not None or measured is None or corrected is None or np.isnan(measured - corrected):
        return 0.0
    return float(measured - corrected)


def _doubts_of_others(model: Model, comparison: Comparison) -> list[str]:
    """Warnings about scores of others that rank rows the wrong way round."""
    doubts: list[str] = []
    for name, interval in zip(comparison.names[1:], comparison.intervals[1:], strict=True):
        if interval.high < 0.5:
            doubts += doubts_of_column(name, model.outcome, interval)
    return doubts
