"""Scores side by side: a model and others, columns of a table, models that are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vrspam._utils.texts import auc_text, interval_text
from vrspam.metrics.thresholds import Curve
from vrspam.model.outcome import Outcome
from vrspam.report.blocks import Cell, Facts, Folded, Grid, Paragraph, Row, Shown, Subheading, Table, number_cell
from vrspam.report.page import Section
from vrspam.report.pictures.several import curves_of
from vrspam.report.pictures.thresholds import calibration, drawn_bins
from vrspam.report.sections.groups import groups
from vrspam.report.sections.numbers import further_numbers
from vrspam.report.words.auc import describe_auc, describe_partial
from vrspam.report.words.comparisons import aucs_of, describe_beside, describe_tests
from vrspam.report.words.names import class_names, listed, name_measure
from vrspam.report.words.numbers import describe_measure

if TYPE_CHECKING:
    from vrspam.measures.compare import Comparison
    from vrspam.measures.measure import Evaluation
    from vrspam.metrics import AUCInterval, ComparedPair
    from vrspam.tool.evaluation import Evaluations


def others_beside(outcome: Outcome, comparison: Comparison, grouped: bool) -> Section:
    """The comparison of this model with others whose scores were given."""
    measure = name_measure(outcome)
    result, *assumptions = [Paragraph(text) for text in describe_beside(comparison, measure, grouped)]
    blocks: list[Shown] = [result, *pair_tables(measure, comparison.pairs, comparison.intervals)]
    if not outcome.ranks:
        blocks.append(curves_of(curves_of_comparison(comparison)))
    return Section(f"Beside {listed(comparison.names[1:])}", [*blocks, *assumptions])


def columns_side_by_side(several: Evaluations, cost_ratio: float | None, recall: float) -> Section | None:
    """The AUCs of columns of scores, tests of all pairs, their curves, and further numbers of all but the first."""
    first, *others = several
    if not others:
        return None
    outcome = several.columns[first].outcome
    measure, names = name_measure(outcome), class_names(outcome)
    pairs = several.comparison.pairs
    blocks: list[Shown] = [
        Paragraph(describe_tests(pairs, measure)),
        *pair_tables(measure, pairs, several.comparison.intervals),
    ]
    curves = {name: evaluation.curve for name, evaluation in several.items() if evaluation.curve is not None}
    if curves:
        calibrations = []
        for name in others:
            if bins := drawn_bins(several[name]):
                calibrations.append(calibration(bins, names, None, title=f"Calibration of {name}"))
        blocks += [curves_of(curves), Grid(calibrations)]
    for name in others:
        blocks.append(Folded(f"More about {name}", _more_about(outcome, several[name], cost_ratio, recall)))
    remark = f"What follows on this page is about {first}. To see another, name it first."
    return Section("The columns side by side", [*blocks, Paragraph(remark, soft=True)])


def _more_about(outcome: Outcome, evaluation: Evaluation, cost_ratio: float | None, recall: float) -> list[Shown]:
    """What the AUC of a column means, its numbers, and its groups."""
    blocks: list[Shown] = [Paragraph(describe_auc(evaluation.auc.auc, class_names(outcome)))]
    if outcome.ranks:
        blocks.append(Facts(describe_measure(outcome, evaluation)))
    else:
        blocks += further_numbers(outcome, evaluation, cost_ratio, recall)
    section = groups(evaluation)
    return blocks if section is None else [*blocks, Subheading(section.heading, section.blocks)]


def paired_tests(comparison: Comparison, measure: str, measure_title: str) -> Section:
    """The tests of models on the same rows."""
    how = "Paired test, by the jackknife," if comparison.ranks else "DeLong's paired test"
    tables = pair_tables(measure, comparison.pairs, comparison.intervals)
    return Section(measure_title, [Paragraph(f"{how} on the same rows:"), *tables])


def partial_aucs(partial: Sequence[ComparedPair], max_fpr: float | None) -> Section | None:
    """The tests of partial AUCs up to a false-positive rate, if they were asked for."""
    if not partial or max_fpr is None:
        return None
    text = f"{describe_partial(max_fpr)} {describe_tests(partial, 'partial AUC')}"
    return Section("Partial AUC", [Paragraph(text), *pair_tables("partial AUC", partial)])


def curves_compared(comparison: Comparison) -> Section | None:
    """The curves of all scores; none where they only rank rows."""
    if comparison.ranks:
        return None
    return Section("Curves", [curves_of(curves_of_comparison(comparison))])


def curves_of_comparison(comparison: Comparison) -> dict[str, Curve]:
    """The curve of each of the scores that are compared."""
    both = zip(comparison.names, comparison.scores, strict=True)
    return {name: Curve.of(comparison.positive, scores) for name, scores in both}


def pair_tables(measure: str, pairs: Sequence[ComparedPair], intervals: Sequence[AUCInterval] = ()) -> list[Table]:
    """A table of the scores with their AUCs, and one of the tests of all pairs."""
    confidence = f"{100 * pairs[0].test.confidence:g} % interval"
    return [_table_of_aucs(measure, confidence, pairs, intervals), _table_of_tests(measure, confidence, pairs)]


def _table_of_aucs(
    measure: str, confidence: str, pairs: Sequence[ComparedPair], intervals: Sequence[AUCInterval]
) -> Table:
    """The AUC of each score, with its interval if that is known."""
    columns = ["scores", measure]
    rows: list[list[Cell | str]] = [[name, Cell(auc_text(auc, 4), auc)] for name, auc in aucs_of(pairs).items()]
    if intervals:
        columns.append(confidence)
        for row, interval in zip(rows, intervals, strict=True):
            row.append(Cell(interval_text(interval.low, interval.high, 4), interval.low))
    return Table(columns, rows)


def _table_of_tests(measure: str, confidence: str, pairs: Sequence[ComparedPair]) -> Table:
    """The test of each pair; of several pairs with p-values that are adjusted for their number."""
    columns = ["difference of", measure, confidence, "z", "p, two-sided"]
    caption = "Paired tests"
    if len(pairs) > 1:
        columns.append("p, adjusted")
        caption = f"{caption}; adjusted: for {len(pairs)} pairs, by Holm's method"
    rows: list[Row] = []
    for a, b, test, adjusted_p in pairs:
        row: list[Cell | str] = [
            f"{a} minus {b}",
            number_cell(test.difference, sign=True),
            Cell(f"{test.low:+.4f} to {test.high:+.4f}", test.low),
            Cell(f"{test.z:.3f}", test.z),
            Cell(f"{test.p_value:.3g}", test.p_value),
        ]
        if len(pairs) > 1:
            row.append(Cell(f"{adjusted_p:.3g}", adjusted_p))
        rows.append(row)
    return Table(columns, rows, caption)
