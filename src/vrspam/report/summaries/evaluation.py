"""What `evaluate` prints of a model, or of columns of scores that any model has made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from vrspam._utils.findings import Fix
from vrspam.model.outcome import Outcome
from vrspam.report.blocks import Facts, Headline, Paragraph, Shown, Subheading
from vrspam.report.pages.evaluation import noticed_in_rows, screen_of_column, screen_of_model
from vrspam.report.sections.beside import pair_tables
from vrspam.report.sections.first import first_facts
from vrspam.report.sections.groups import groups
from vrspam.report.sections.numbers import table_of_lift, table_of_sensitivities, table_of_thresholds
from vrspam.report.words.auc import describe_auc
from vrspam.report.words.comparisons import describe_tests
from vrspam.report.words.names import class_names, describe_ranks, name_measure
from vrspam.report.words.numbers import describe_measure, describe_numbers
from vrspam.report.words.probabilities import describe_calibration
from vrspam.report.words.thresholds import SHARES, describe_promise

if TYPE_CHECKING:
    from vrspam.measures.measure import Evaluation
    from vrspam.tool.evaluation import Evaluations


def summary_of_evaluation(
    outcome: Outcome,
    evaluation: Evaluation,
    *,
    cost_ratio: float | None = None,
    recall: float = 0.9,
    parameter: Callable[[Fix], str] = str,
) -> list[Shown]:
    """An evaluation of a model: the measure, further numbers, thresholds, and groups."""
    first = screen_of_model(outcome, evaluation, parameter)
    return _with_numbers(first, outcome, evaluation, cost_ratio, recall)


def summary_of_columns(
    several: Evaluations,
    *,
    cost_ratio: float | None = None,
    recall: float = 0.9,
    parameter: Callable[[Fix], str] = str,
) -> list[Shown]:
    """Columns of scores: one as a model is shown; of several the numbers of each, and tests of all pairs."""
    name, first = next(iter(several.items()))
    outcome = several.columns[name].outcome
    if len(several) == 1:
        taken = Paragraph(f"{name}: {several.columns[name].describe()}.")
        screen = screen_of_column(several, name, parameter)
        return [*_with_numbers(screen, outcome, first, cost_ratio, recall), taken]

    evaluated = replace(first, partial_auc=None)  # of which each column has its own
    notes = dict.fromkeys(note for evaluation in several.values() for note in evaluation.notes)
    measure, names, pairs = name_measure(outcome), class_names(outcome), several.comparison.pairs
    blocks: list[Shown] = [
        noticed_in_rows(list(notes), parameter),
        Paragraph(describe_tests(pairs, measure)),
        Facts(first_facts(outcome, evaluated, names, rows=first.n, of_partial_auc="", further={})),
        *pair_tables(measure, pairs, several.comparison.intervals),
    ]
    if outcome.ranks:
        blocks.append(Paragraph(describe_ranks(outcome)))
    for name, evaluation in several.items():
        numbers = {**describe_measure(outcome, evaluation), **describe_numbers(evaluation)}
        numbers["scores"] = several.columns[name].describe()
        meaning = Paragraph(describe_auc(evaluation.auc.auc, names))
        blocks.append(Subheading(name, [Facts(numbers), meaning, *_blocks_of_groups(evaluation)]))
    return blocks


def _with_numbers(
    first: Headline, outcome: Outcome, evaluation: Evaluation, cost_ratio: float | None, recall: float
) -> list[Shown]:
    """The first screen, and what follows from single thresholds where scores have some."""
    blocks: list[Shown] = [first]
    if not outcome.ranks:
        blocks += [
            Facts(describe_numbers(evaluation)),
            *map(Paragraph, describe_calibration(evaluation.calibration)),
            table_of_thresholds(evaluation, cost_ratio, recall),
            Paragraph(SHARES),
            *map(Paragraph, describe_promise(evaluation)),
            table_of_sensitivities(evaluation),
            table_of_lift(evaluation),
        ]
    return [*blocks, *_blocks_of_groups(evaluation)]


def _blocks_of_groups(evaluation: Evaluation) -> list[Shown]:
    """The levels of columns, if some were asked for."""
    section = groups(evaluation)
    return [] if section is None else [Subheading(section.heading, section.blocks)]
