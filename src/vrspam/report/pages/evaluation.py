"""Evaluations on one page: of a model, or of columns of scores that any model has made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from vrspam._utils.findings import Fix
from vrspam.model.outcome import Outcome
from vrspam.report.blocks import Alerts, Facts, Headline, Paragraph, all_noticed
from vrspam.report.first_screen import headline
from vrspam.report.page import Page, Section
from vrspam.report.pages.scores import sections_of_scores
from vrspam.report.sections.beside import columns_side_by_side
from vrspam.report.sections.first import first_facts
from vrspam.report.sections.groups import groups
from vrspam.report.sections.interactions import interactions
from vrspam.report.sections.model import what_it_looks_at
from vrspam.report.sections.origin import how_it_was_made
from vrspam.report.sections.shown import ShownScores
from vrspam.report.words.auc import AUC_IS, GUESSING, describe_auc, describe_source, doubt_of
from vrspam.report.words.names import class_names, describe_ranks, listed, measure_title, name_measure

if TYPE_CHECKING:
    from vrspam.measures.measure import Evaluation
    from vrspam.model.model import Model
    from vrspam.tool.evaluation import Evaluations

QUIET = "Nothing stands out."
ELSEWHERE = (
    "The scores were made elsewhere: these numbers hold for new rows if no model scored rows that it was trained on."
)


def evaluation_page(
    model: Model,
    evaluation: Evaluation,
    *,
    model_name: str,
    data_name: str,
    cost_ratio: float | None = None,
    recall: float = 0.9,
    parameter: Callable[[Fix], str] = str,
) -> Page:
    """An evaluation of a model on one page; notes of the training name parameters of `train`."""
    page = Page(f"{model_name} on {data_name}", headline=screen_of_model(model.outcome, evaluation, parameter))
    for section in sections_of_scores(ShownScores.of_model(model), evaluation, cost_ratio, recall):
        page.put(section)
    page.put(groups(evaluation))
    page.put(what_it_looks_at(model))
    page.put(interactions(model))
    page.put(how_it_was_made(model, show_notes=parameter))
    return page


def columns_page(
    several: Evaluations,
    *,
    data_name: str,
    cost_ratio: float | None = None,
    recall: float = 0.9,
    parameter: Callable[[Fix], str] = str,
) -> Page:
    """Evaluations of columns of scores on one page: all side by side, then more about the first."""
    name, evaluation = next(iter(several.items()))
    column = several.columns[name]
    page = Page(f"{listed(list(several))} on {data_name}", headline=screen_of_column(several, name, parameter))
    page.put(columns_side_by_side(several, cost_ratio, recall))
    shown = ShownScores.of_column(column.outcome, column.is_probability)
    for section in sections_of_scores(shown, evaluation, cost_ratio, recall):
        page.put(section)
    page.put(groups(evaluation))
    page.put(_where_scores_come_from(several, data_name))
    return page


def screen_of_model(outcome: Outcome, evaluation: Evaluation, parameter: Callable[[Fix], str] = str) -> Headline:
    """The first screen of an evaluation of a model."""
    auc = evaluation.auc
    return _first_screen(
        outcome,
        evaluation,
        title=measure_title(outcome),
        doubts=doubt_of(auc.low, auc.high, auc.confidence, name_measure(outcome)),
        quiet="No difference from the rows of training was noticed.",
        parameter=parameter,
    )


def screen_of_column(several: Evaluations, name: str, parameter: Callable[[Fix], str] = str) -> Headline:
    """The first screen of an evaluation of a column of scores, of which there may be several."""
    outcome = several.columns[name].outcome
    title = measure_title(outcome)
    if len(several) > 1:
        title = f"{title} of {name}"
    return _first_screen(outcome, several[name], title, [], QUIET, parameter)


def noticed_in_rows(texts: Sequence[str], parameter: Callable[[Fix], str] = str, quiet: str = QUIET) -> Alerts:
    """What was noticed in the rows of an evaluation; `quiet` says that there is nothing."""
    return Alerts("Noticed in these rows", all_noticed(texts, parameter), quiet)


def _first_screen(
    outcome: Outcome,
    evaluation: Evaluation,
    title: str,
    doubts: Sequence[str],
    quiet: str,
    parameter: Callable[[Fix], str],
) -> Headline:
    """The AUC of these rows, what it means, and what was noticed in them."""
    auc, names = evaluation.auc, class_names(outcome)
    facts_of_rows = first_facts(
        outcome,
        evaluation,
        names,
        rows=evaluation.n,
        of_partial_auc=GUESSING,
        further={},
    )
    return headline(
        title,
        auc,
        describe_auc(auc.auc, names),
        facts_of_rows,
        noticed_in_rows([*doubts, *evaluation.notes], parameter, quiet),
        remark=describe_ranks(outcome) if outcome.ranks else AUC_IS,
        source=describe_source(evaluation),
    )


def _where_scores_come_from(several: Evaluations, data_name: str) -> Section:
    """The table, and how the scores of each column are taken."""
    origin = {"table": data_name}
    for column in several.columns.values():
        origin[f"column {column.name}"] = column.describe()
    return Section("Where the scores come from", [Paragraph(ELSEWHERE), Facts(origin)])
