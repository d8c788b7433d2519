"""Evaluations on one page: of a model, or of columns of scores that any model has made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from vrspam._utils.findings import Fix
from vrspam._utils.texts import interval_text
from vrspam.model.outcome import Outcome
from vrspam.report.first_screen import headline
from vrspam.report.page import Html, Page, Section, facts, paragraph
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
    outcome, auc = model.outcome, evaluation.auc
    first = _first_screen(
        outcome,
        evaluation,
        title=measure_title(outcome),
        doubts=doubt_of(auc.low, auc.high, auc.confidence, name_measure(outcome)),
        quiet="No difference from the rows of training was noticed.",
        parameter=parameter,
    )
    page = Page(f"{model_name} on {data_name}", headline=first)
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
    title = measure_title(column.outcome)
    if len(several) > 1:
        title = f"{title} of {name}"
    first = _first_screen(column.outcome, evaluation, title, [], "Nothing stands out.", parameter)
    page = Page(f"{listed(list(several))} on {data_name}", headline=first)
    page.put(columns_side_by_side(several, cost_ratio, recall))
    shown = ShownScores.of_column(column.outcome, column.is_probability)
    for section in sections_of_scores(shown, evaluation, cost_ratio, recall):
        page.put(section)
    page.put(groups(evaluation))
    page.put(_where_scores_come_from(several, data_name))
    return page


def _first_screen(
    outcome: Outcome,
    evaluation: Evaluation,
    title: str,
    doubts: Sequence[str],
    quiet: str,
    parameter: Callable[[Fix], str],
) -> Html:
    """The AUC of these rows, what it means, and what was noticed in them."""
    auc, names = evaluation.auc, class_names(outcome)
    interval = f"{100 * auc.confidence:g} % interval {interval_text(auc.low, auc.high)}"
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
        f"{interval} ({describe_source(evaluation)})",
        describe_auc(auc.auc, names),
        facts_of_rows,
        [*doubts, *evaluation.notes],
        describe_ranks(outcome) if outcome.ranks else AUC_IS,
        parameter,
        alert="Noticed in these rows",
        quiet=quiet,
    )


def _where_scores_come_from(several: Evaluations, data_name: str) -> Section:
    """The table, and how the scores of each column are taken."""
    origin = {"table": data_name}
    for column in several.columns.values():
        origin[f"column {column.name}"] = column.describe()
    return Section("Where the scores come from", [paragraph(ELSEWHERE), facts(origin)])
