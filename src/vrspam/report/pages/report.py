"""The report of a table on one page."""

from __future__ import annotations

import platform
from collections.abc import Callable
from importlib.metadata import version
from typing import TYPE_CHECKING

from vrspam._utils.findings import Fix
from vrspam._utils.texts import shorten
from vrspam.report.blocks import Headline
from vrspam.report.first_screen import headline, worries
from vrspam.report.page import Page
from vrspam.report.pages.scores import sections_of_scores
from vrspam.report.sections.beside import others_beside
from vrspam.report.sections.first import first_facts
from vrspam.report.sections.groups import groups
from vrspam.report.sections.interactions import interactions
from vrspam.report.sections.model import what_it_looks_at
from vrspam.report.sections.more_rows import more_rows
from vrspam.report.sections.origin import how_it_was_made
from vrspam.report.sections.shown import ShownScores
from vrspam.report.sections.single_rows import single_rows
from vrspam.report.words.auc import (
    GUESSING,
    NOT_CORRECTED,
    describe_auc,
    describe_expected,
    describe_source,
    doubt_of,
    expected_auc,
    other_aucs,
)
from vrspam.report.words.names import class_names, measure_title, name_measure

if TYPE_CHECKING:
    from vrspam.tool.report import Report

MOST_LEFT_OUT = 30  # columns that are named
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def report_page(report: Report, *, data_name: str, parameter: Callable[[Fix], str] = str, command: str = "") -> Page:
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
        `write(path)` writes it as one HTML file that needs no other file.

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
    positive = class_names(model.outcome)["positive"]
    page = Page(f"{data_name}: what predicts {shorten(positive, 80)}?", headline=first_screen(report, parameter))
    if report.beside is not None:
        page.put(others_beside(model.outcome, report.beside, grouped=evaluation.groups is not None))
    for section in sections_of_scores(ShownScores.of_model(model), evaluation, report.cost_ratio):
        page.put(section)
    page.put(groups(evaluation))
    page.put(what_it_looks_at(model))
    page.put(interactions(model))
    if report.curve is not None:
        page.put(more_rows(report.curve, lines=False, fold=True))
    page.put(single_rows(report, parameter))
    page.put(how_it_was_made(model, further=_facts_of_table(report), command=command))
    return page


def first_screen(report: Report, parameter: Callable[[Fix], str]) -> Headline:
    """The AUC to expect, what it means, and what to worry about."""
    model, evaluation, expected = report.model, report.evaluation, report.expected
    names, kept = class_names(model.outcome), report.folds is None
    further = {
        "judged by": rows_judged(report),
        **describe_expected(expected),
        **other_aucs(model, kept),
    }
    n_rows = model.training["rows"]
    if kept:
        n_rows += evaluation.n
    facts = first_facts(
        model.outcome,
        evaluation,
        names,
        rows=n_rows,
        of_partial_auc=GUESSING if kept else NOT_CORRECTED,
        further=further,
    )
    texts = [
        *doubt_of(expected.low, expected.high, measure=name_measure(model.outcome)),
        *model.training.get("warnings", ()),
        *evaluation.notes,
    ]
    if report.beside is not None:
        texts += report.beside.notes
    source = f"{report.folds} folds"
    if kept or expected_auc(model) is None:  # measured on these rows, not corrected for the choice of the model
        source = describe_source(evaluation)
    of_what = "of rows kept from the training" if kept else "to expect on new rows"
    return headline(
        f"{measure_title(model.outcome)} {of_what}",
        expected,
        describe_auc(expected.auc, names),
        facts,
        worries(texts, parameter),
        remark="All counts below are for rows the model had not seen.",
        source=source,
    )


def rows_judged(report: Report) -> str:
    """On which rows the model is judged, and how they were kept apart from those that it was trained on."""
    how = f"by {report.folds}-fold cross-validation"
    if report.folds is None:
        how = "that were kept from the training"
    return f"{report.evaluation.n:,} rows {how}{report.apart}"


def _facts_of_table(report: Report) -> dict[str, str]:
    """Which columns are used, which rows are judged, and by which versions."""
    facts = {"columns used": f"{len(report.model.schema.columns):,}"}
    if report.left_out:
        shown = list(report.left_out[:MOST_LEFT_OUT])
        if len(report.left_out) > MOST_LEFT_OUT:
            shown.append("...")
        facts["columns not used as features"] = ", ".join(shown)
    read = "columns, categories and their scales were read from all rows, without labels"
    facts["rows judged"] = f"{rows_judged(report)}; {read}"
    packages = [f"{name} {version(name)}" for name in PACKAGES]
    facts["versions"] = ", ".join([f"Python {platform.python_version()}", *packages])
    return facts
