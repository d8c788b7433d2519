"""Whole pages: a report of a table, an evaluation, a comparison, a model."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vrspam.metrics import DeLongTest
from vrspam.report import Block, Cell, Drawing, Facts, Grid, Headline, Page, Table, Text, curves
from vrspam.report.explorer import Stops
from vrspam.report.numbers import percent, shorten
from vrspam.tool.evaluation import Evaluation, verdict
from vrspam.tool.explanation import NOT_CORRECTED, doubt_of, expected_auc
from vrspam.tool.model import Model
from vrspam.tool.model_sections import ShowParameter, add_model, add_origin, number_cell, versions, worded_notes
from vrspam.tool.report import Report
from vrspam.tool.row_sections import describe_groups, describe_rows
from vrspam.tool.score_sections import (
    add_scores,
    add_thresholds,
    class_names,
    describe_partial,
    pairs_sentence,
    partial_fact,
    prevalence,
)

MOST_NAMED = 30  # columns that are no features


def report_page(
    report: Report,
    *,
    data_name: str,
    parameter: ShowParameter = str,
    command: str = "",
) -> Page:
    """The report of a table on one page.

    Parameters
    ----------
    report : Report
    data_name : str
        What the table is called.
    parameter : callable
        How to show a parameter that a note names.
    command : str
        The command that makes the page again.

    Returns
    -------
    Page
        One HTML file without anything from elsewhere: `write(path)` writes it.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import make_report, report_page
    >>> path = f"{tempfile.mkdtemp()}/cells.csv"
    >>> load_breast_cancer(as_frame=True).frame.to_csv(path, index=False)
    >>> report = make_report(path, "target", features="linear", rows=0)
    >>> page = report_page(report, data_name="cells.csv").write(f"{path}.html")
    >>> page.name, page.read_text("utf-8")[:15].lower()
    ('cells.csv.html', '<!doctype html>')
    """
    model, evaluation = report.model, report.evaluation
    names = class_names(model)
    expected = report.expected
    if report.folds is None:
        where = f"{evaluation.n:,} rows that were kept from the training{report.apart}"
        seen = "The curves, thresholds and groups below are of these rows alone."
        scale = ""
        about = "of rows kept from the training"
    else:
        where = f"{evaluation.n:,} rows by {report.folds}-fold cross-validation{report.apart}"
        corrected = model.training.get("corrected_auc") is not None
        number = "is corrected for the choice of the model" if corrected else "is the mean of the folds"
        seen = (
            "Every row below is scored by a model that was trained without it. Their curves, all folds in one, have "
            f"the AUC {evaluation.auc.auc:.3f}; the number above {number}."
        )
        about = "to expect of new rows"
        scale = "Scores of the final model have the same scale: 0 is half-way between the class means of the training."
    page = Page(f"{data_name}: what predicts {shorten(names['positive'], 80)}?")
    page.headline = Headline(
        f"AUC {about}",
        f"{expected.auc:.2f}" if 0.005 < expected.auc < 0.995 else f"{expected.auc:.3f}",
        f"95 % interval {expected.low:.3f} to {expected.high:.3f}",
        pairs_sentence(expected.auc, names),
        curves.auc_scale(expected.auc, expected.low, expected.high),
        {
            "rows": f"{model.training['rows'] + (evaluation.n if report.folds is None else 0):,}",
            _share_name(names, evaluation): percent(prevalence(evaluation)),
            "judged by": where,
            "AUC": f"{expected.auc:.4f}, {expected.remark}",
            **(partial_fact(evaluation) if report.folds is None else partial_fact(evaluation, NOT_CORRECTED)),
        },
        [*doubt_of(expected.low, expected.high), *worded_notes(model, parameter), *evaluation.notes],
        seen,
    )
    add_thresholds(page, model.calibration, evaluation, names, report.cost_ratio, remark=scale)
    add_scores(page, evaluation, names)
    if report.groups:
        page.add("Groups", *describe_groups(report.groups, evaluation))
    add_model(page, model)
    if report.rows:
        page.add("Single rows", *describe_rows(report, names, parameter))
    more = {"table": data_name, "columns used": f"{len(model.schema.columns):,}"}
    if report.left_out:
        shown = [*report.left_out[:MOST_NAMED], *(["..."] if len(report.left_out) > MOST_NAMED else [])]
        more["columns that are no features"] = ", ".join(shown)
    more["rows judged"] = f"{where}; columns, categories and their scales were read from all rows, without labels"
    add_origin(page, model, parameter, more={**more, "versions": versions()}, notes=False, command=command)
    return page


def _share_name(names: Mapping[str, str], evaluation: Evaluation) -> str:
    return f"rows with {names['positive']}{'' if evaluation.weights is None else ', by weight'}"


def evaluation_page(
    model: Model,
    evaluation: Evaluation,
    *,
    model_name: str,
    data_name: str,
    cost_ratio: float | None = None,
    recall: float = 0.9,
    parameter: ShowParameter = str,
) -> Page:
    """An evaluation on one page.

    Notes of the training name parameters of `train`; `parameter` says how to show one to the reader.
    """
    auc, names = evaluation.auc, class_names(model)
    page = Page(f"{model_name} on {data_name}")
    page.headline = Headline(
        "AUC",
        f"{auc.auc:.2f}" if 0.005 < auc.auc < 0.995 else f"{auc.auc:.3f}",
        f"{100 * auc.confidence:g} % interval {auc.low:.3f} to {auc.high:.3f} ({auc.source})",
        pairs_sentence(auc.auc, names),
        curves.auc_scale(auc.auc, auc.low, auc.high),
        {
            "rows": f"{evaluation.n:,}",
            _share_name(names, evaluation): percent(prevalence(evaluation)),
            **partial_fact(evaluation),
        },
        [*doubt_of(auc.low, auc.high, auc.confidence), *evaluation.notes],
        "AUC is the probability that a positive row scores above a negative one; 0.5 is guessing, 1 is perfect.",
        "Noticed in these rows",
        "Nothing in these rows looks unlike those of training.",
    )
    add_thresholds(page, model.calibration, evaluation, names, cost_ratio, recall)
    add_scores(page, evaluation, names)
    add_model(page, model)
    add_origin(page, model, parameter)
    return page


def explanation_page(model: Model, *, model_name: str, parameter: ShowParameter = str) -> Page:
    """What a model looks at, on one page."""
    name = f"{model.schema.target} = " if model.schema.target else ""
    words = f"A higher score means that {name}{model.positive} is more likely."
    if (found := expected_auc(model)) is not None:
        interval = f"95 % interval {found.low:.3f} to {found.high:.3f}"
        words = f"Cross-validated AUC {found.auc:.3f}, {interval} ({found.remark}). {words}"
    page = Page(model_name, words)
    add_model(page, model)
    add_origin(page, model, parameter)
    return page


def comparison_page(
    test: DeLongTest,
    positive: np.ndarray,
    scores: Mapping[str, np.ndarray],
    *,
    data_name: str,
    partial: DeLongTest | None = None,
    max_fpr: float | None = None,
) -> Page:
    """Two models on the same rows, on one page.

    `partial` is the test of their partial AUCs up to `max_fpr`, if it is to be shown too.
    """
    a, b = scores
    page = Page(
        f"{a} and {b} on {data_name}",
        f"{verdict(test, a, b)} ({positive.size:,} rows, {int(positive.sum()):,} positive.)",
    )
    page.add("AUC", Text("DeLong's paired test on the same rows:"), *_test_table(test, a, b, "AUC"))
    if partial is not None and max_fpr is not None:
        words = f"{describe_partial(max_fpr)} {verdict(partial, a, b, 'partial AUC')} Paired test on the same rows:"
        page.add("Partial AUC", Text(words), *_test_table(partial, a, b, "partial AUC"))
    stops = {name: Stops.of(positive, values) for name, values in scores.items()}
    roc = {name: (s.alarms / s.negatives, s.hits / s.positives) for name, s in stops.items()}
    precision = {name: (s.hits / s.positives, s.precision) for name, s in stops.items()}
    drawn: list[Drawing] = [
        curves.two_curves("ROC curves", roc, ("negatives called positive", "positives found")),
        curves.two_curves("Precision and recall", precision, ("positives found", "positives among those called")),
    ]
    page.add("Curves", Grid(drawn, "large"))
    return page


def _test_table(test: DeLongTest, a: str, b: str, measure: str) -> list[Block]:
    rows: list[list[Cell | str]] = [
        [a, number_cell(test.auc_a)],
        [b, number_cell(test.auc_b)],
        [f"{a} minus {b}", number_cell(test.difference, sign=True)],
    ]
    facts = {
        f"{100 * test.confidence:g} % interval of the difference": f"{test.low:+.4f} to {test.high:+.4f}",
        "z": f"{test.z:.3f}",
        "p, two-sided": f"{test.p_value:.3g}",
    }
    return [Table(["model", measure], rows), Facts(facts)]
