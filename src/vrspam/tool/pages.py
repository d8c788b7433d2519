"""Whole pages: a report of a table, an evaluation, a comparison, a model."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vrspam.metrics import DeLongTest
from vrspam.model_selection.calibration import Calibration
from vrspam.report import (
    Block,
    Cards,
    Cell,
    Drawing,
    Facts,
    Folded,
    Grid,
    Heading,
    Headline,
    Page,
    Table,
    Text,
    curves,
)
from vrspam.report.columns import bars
from vrspam.report.explorer import Explorer, Stops
from vrspam.report.numbers import percent, shorten
from vrspam.tool.evaluation import Evaluation, calibration_error, describe_thresholds, verdict
from vrspam.tool.explanation import expected_auc
from vrspam.tool.model import Model
from vrspam.tool.model_sections import (
    ShowParameter,
    add_model,
    add_origin,
    number_cell,
    versions,
    worded_notes,
)
from vrspam.tool.report import Report
from vrspam.tool.single_rows import KINDS, SingleRow
from vrspam.tool.subgroups import LEAST_TO_TEST, Subgroup

MOST_PARTS = 8  # columns of a single row that are shown one by one
LABEL = 40  # letters of a label


def class_names(model: Model) -> dict[str, str]:
    """What rows of both classes have, in the words of the table.

    A row has "sick = yes" or "sick = no"; with more than two labels, the others are "sick other than yes".
    """
    labels = [label for label in model.schema.labels or () if label != model.positive]
    target = model.schema.target
    name = f"{shorten(str(target), LABEL)} = " if target is not None and not str(target).isdigit() else "label "
    positive = f"{name}{shorten(str(model.positive), LABEL)}"
    if len(labels) == 1:
        return {"positive": positive, "negative": f"{name}{shorten(str(labels[0]), LABEL)}"}
    return {"positive": positive, "negative": f"another {name.removesuffix(' = ').strip()}"}


def pairs_sentence(auc: float, names: Mapping[str, str]) -> str:
    """What an AUC means.

    >>> pairs_sentence(0.834, {"positive": "sick = yes", "negative": "sick = no"})
    'Of 100 pairs of a row with sick = yes and a row with sick = no, 83 are ranked right.'
    """
    count = round(100 * auc)
    shown = "all but a few" if count == 100 and auc < 1.0 else "all" if count == 100 else str(count)
    return (
        f"Of 100 pairs of a row with {names['positive']} and a row with {names['negative']}, {shown} are ranked right."
    )


def report_page(
    report: Report,
    *,
    data_name: str,
    cost_ratio: float | None = None,
    parameter: ShowParameter = str,
    command: str = "",
) -> Page:
    """The report of a table on one page.

    Parameters
    ----------
    report : Report
    data_name : str
        What the table is called.
    cost_ratio : float, optional
        How many false alarms are as bad as one missed positive, before the reader changes it.
    parameter : callable
        How to show a parameter that a note names.
    command : str
        The command that makes the page again.
    """
    model, evaluation = report.model, report.evaluation
    names = class_names(model)
    expected = report.expected
    if report.folds is None:
        where = f"{evaluation.n:,} rows that were kept from the training"
        seen = "The curves, thresholds and groups below are of these rows alone."
        about = "of rows kept from the training"
    else:
        where = f"{evaluation.n:,} rows by {report.folds}-fold cross-validation"
        pooled = f"{evaluation.auc.auc:.3f}"
        seen = (
            "Every row below is scored by a model that was trained without it. Their curves, all folds in one, have the "
            f"AUC {pooled}; the number above is corrected for the choice of the model."
        )
        about = "to expect of new rows"
    page = Page(f"{data_name}: what predicts {shorten(names['positive'], 80)}?")
    page.headline = Headline(
        f"AUC {about}",
        f"{expected.auc:.2f}" if 0.005 < expected.auc < 0.995 else f"{expected.auc:.3f}",
        f"95 % interval {expected.low:.3f} to {expected.high:.3f}",
        pairs_sentence(expected.auc, names),
        curves.auc_scale(expected.auc, expected.low, expected.high),
        {
            "rows": f"{model.training['rows'] + (evaluation.n if report.folds is None else 0):,}",
            f"rows with {names['positive']}": percent(_prevalence(evaluation)),
            "judged by": where,
            "AUC": f"{expected.auc:.4f}, {expected.remark}",
        },
        [*worded_notes(model, parameter), *evaluation.notes],
        seen,
    )
    _add_thresholds(page, model.calibration, evaluation, names, cost_ratio)
    _add_scores(page, evaluation, names)
    if report.groups:
        page.add("Groups", *_groups(report.groups, evaluation))
    add_model(page, model)
    if report.rows:
        page.add("Single rows", *_single_rows(report, names))
    more = {"table": data_name, "columns used": f"{len(model.schema.columns):,}"}
    if report.left_out:
        more["columns left out"] = ", ".join(report.left_out[:30]) + (", ..." if len(report.left_out) > 30 else "")
    more["rows judged"] = f"{where}; columns, categories and their scales were read from all rows, without labels"
    add_origin(page, model, parameter, more={**more, "versions": versions()}, command=command)
    return page


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
        {"rows": f"{evaluation.n:,}", f"rows with {names['positive']}": percent(_prevalence(evaluation))},
        evaluation.notes,
        "AUC is the probability that a positive row scores above a negative one; 0.5 is guessing, 1 is perfect.",
    )
    _add_thresholds(page, model.calibration, evaluation, names, cost_ratio, recall)
    _add_scores(page, evaluation, names)
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
        words = f"{_part(max_fpr)} {verdict(partial, a, b, 'partial AUC')} Paired test on the same rows:"
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


def _prevalence(evaluation: Evaluation) -> float:
    return float(np.average(evaluation.positive, weights=evaluation.weights))


def _add_thresholds(
    page: Page,
    calibration: Calibration | None,
    evaluation: Evaluation,
    names: Mapping[str, str],
    cost_ratio: float | None,
    recall: float = 0.9,
) -> None:
    """Add the slider, the curves on which it moves a point, and the tables of thresholds."""
    stops = Stops.of(evaluation.positive, evaluation.scores, evaluation.weights)
    if calibration is not None:
        stops = Stops(**{**vars(stops), "probabilities": calibration(stops.thresholds)})
    ratio = cost_ratio or float(f"{stops.negatives / stops.positives:.1g}")
    place = stops.youden() if cost_ratio is None else stops.cheapest(cost_ratio)
    start = "The threshold of the highest sensitivity + specificity." if cost_ratio is None else "The least cost."
    drawn = [
        curves.roc(stops, place, names, evaluation.max_fpr),
        curves.precision_recall(stops, place, names),
        curves.gain(stops, place, names),
    ]
    bins = evaluation.bins
    predicted, observed, rows = (np.array([getattr(b, k) for b in bins]) for k in ("predicted", "observed", "rows"))
    if bins:
        at = None if stops.probabilities is None else float(stops.probabilities[place])
        drawn.append(curves.calibration(predicted, observed, rows, names, at))
    page.data = {
        "explorer": {
            **stops.data(),
            "curve": [predicted.tolist(), observed.tolist()] if bins else None,
            "names": dict(names),
            "ratio": ratio,
        }
    }
    kept = "" if stops.thresholds.size <= evaluation.n else " "
    counted = "Rows are counted by their weights. " if evaluation.weights is not None else ""
    words = (
        f"{counted}The slider stops at {stops.thresholds.size:,} thresholds; the numbers are exact at each.{kept}"
        " Click on a curve to go there."
    )
    page.add(
        "Choose a threshold",
        Explorer(stops, place, names, ratio, start),
        Grid(drawn),
        Text(" ".join(words.split()), soft=True, numbers=True),
        Folded(
            "Rules for a threshold, sensitivity at fixed specificity, and further numbers",
            [
                _threshold_table(evaluation, cost_ratio, recall),
                *_sensitivity_table(evaluation),
                *_ranking(evaluation),
                *_reliability(evaluation),
            ],
        ),
    )


def _add_scores(page: Page, evaluation: Evaluation, names: Mapping[str, str]) -> None:
    threshold = evaluation.thresholds["youden"].threshold
    drawn = curves.distribution(evaluation.positive, evaluation.scores, names, threshold, evaluation.weights)
    page.add("Scores", drawn, *_lift_table(evaluation))


def _ranking(evaluation: Evaluation) -> list[Block]:
    auc, part = evaluation.auc, evaluation.partial_auc
    words = "AUC is the probability that a positive row scores above a negative one; 0.5 is guessing, 1 is perfect."
    of_part: dict[str, str] = {}
    interval = f"{100 * auc.confidence:g} % interval"
    if part is not None and evaluation.max_fpr is not None:
        words = f"{words} {_part(evaluation.max_fpr)}"
        numbers = f"{part.auc:.4f} ({part.low:.4f} to {part.high:.4f}, {part.source})"
        of_part[f"partial AUC and its {interval}"] = numbers
    facts = {
        "AUC of these rows": f"{auc.auc:.4f}",
        f"{interval} ({auc.source})": f"{auc.low:.4f} to {auc.high:.4f}",
        "average precision": f"{evaluation.average_precision:.4f}",
        **of_part,
        "rows": f"{evaluation.n:,}",
        "positives": f"{evaluation.positives:,} ({evaluation.positives / evaluation.n:.2%})",
    }
    return [Text(words, numbers=True), Facts(facts, numbers=True)]


def _part(max_fpr: float) -> str:
    """What a partial AUC is, in one sentence."""
    return (
        f"The partial AUC is the AUC of the part of the curve up to {100 * max_fpr:g} % false positives, standardised: "
        "0.5 is guessing, 1 is perfect."
    )


def _lift_table(evaluation: Evaluation) -> list[Block]:
    rows = [[Cell(f"top {100 * share:g} %", share), Cell(f"{v:.2f}", v)] for share, v in evaluation.lift.items()]
    words = "Lift: how many times more positives are among the highest scores than among rows drawn at random"
    return [Table(["rows", "lift"], rows, words)]


def _threshold_table(evaluation: Evaluation, cost_ratio: float | None, recall: float) -> Table:
    rows = [
        [
            words,
            number_cell(found.threshold),
            number_cell(found.sensitivity),
            number_cell(found.specificity),
            "" if found.precision is None else number_cell(found.precision),
            Cell(f"{found.share:.2%}", found.share),
        ]
        for words, found in describe_thresholds(evaluation, cost_ratio, recall)
    ]
    names = ["rule", "score at least", "sensitivity", "specificity", "precision", "rows called positive"]
    return Table(names, rows, "A row is called positive if its score reaches the threshold")


def _sensitivity_table(evaluation: Evaluation) -> list[Block]:
    rows = [[Cell(f"{100 * s:g} %", s), number_cell(value)] for s, value in evaluation.sensitivity.items()]
    words = (
        "Share of the positives called positive (sensitivity) when at least this share of the negatives is called "
        "negative (specificity)"
    )
    return [Table(["specificity", "sensitivity"], rows, words)]


def _reliability(evaluation: Evaluation) -> list[Block]:
    if evaluation.brier is None:
        return []
    facts = {
        "Brier score (less is better)": f"{evaluation.brier:.4f}",
        "mean calibration error": f"{calibration_error(evaluation.bins):.4f}",
    }
    return [Facts(facts, numbers=True)]


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


GROUP_TEST = (
    "A difference is marked (▲ ▼) if noise does not explain it: tests of the AUC of a level against that of all other "
    "rows, and of the positives seen against those predicted (both two-sided, with a normal approximation), at 5 % for "
    "all levels of this page together (Holm). Levels with fewer than {least} rows of a class, inside or outside, are not "
    "tested."
)


def _groups(groups: tuple[Subgroup, ...], evaluation: Evaluation) -> list[Block]:
    """A picture and a table for each column."""
    blocks: list[Block] = [Text(GROUP_TEST.format(least=LEAST_TO_TEST))]
    for column in dict.fromkeys(group.column for group in groups):
        levels = [group for group in groups if group.column == column]
        drawn = [
            (group.name, group.auc.auc, group.auc.low, group.auc.high, group.ranked_differently)
            for group in levels
            if group.auc is not None
        ]
        picture = (
            [Drawing(f"AUC by {column}", curves.forest(drawn, evaluation.auc.auc), "dashed: all rows")] if drawn else []
        )
        blocks.append(Grid([*picture, Table(GROUP_COLUMNS, [_group_row(group) for group in levels], column)], "large"))
    return blocks


GROUP_COLUMNS = [
    "level",
    "rows",
    "positive",
    "AUC",
    "95 % interval",
    "predicted",
    "observed",
    "what noise does not explain",
]


def _group_row(group: Subgroup) -> list[Cell | str]:
    remarks = []
    if group.ranked_differently:
        word = "worse ▼" if group.worse else "better ▲"
        remarks.append(f"ranked {word} than the others (p = {group.auc_p:.2g})")
    if group.predicted_wrongly and group.predicted is not None:
        word = "low ▲" if group.observed > group.predicted else "high ▼"
        remarks.append(f"predicted too {word} (p = {group.calibration_p:.2g})")
    if group.auc_p is None and group.calibration_p is None:
        remarks.append("too few rows to test")
    tested = (
        Cell("; ".join(remarks), None, "", "bad")
        if group.ranked_differently or group.predicted_wrongly
        else "; ".join(remarks)
    )
    auc = group.auc
    return [
        group.name,
        Cell(f"{group.rows:,}", group.rows),
        Cell(f"{group.positives:,}", group.positives),
        "–" if auc is None else Cell(f"{auc.auc:.3f}", auc.auc),
        "–" if auc is None else Cell(f"{auc.low:.3f} to {auc.high:.3f}", auc.low),
        "–" if group.predicted is None else Cell(percent(group.predicted), group.predicted),
        Cell(percent(group.observed), group.observed),
        tested,
    ]


ROWS_WORDS = {
    None: "The bars are what each column adds to the score; 0 is half-way between the class means.",
    True: "The held-out score is that of a model that has not seen the row. The bars are what each column adds in the "
    "final model, which was trained on all rows: their sum is its own score of the row.",
}


def _single_rows(report: Report, names: Mapping[str, str]) -> list[Block]:
    blocks: list[Block] = [Text(ROWS_WORDS[None if report.folds is None else True])]
    for kind in KINDS:
        if rows := [row for row in report.rows if row.kind == kind]:
            blocks.append(Heading(f"{kind[0].upper()}{kind[1:]}"))
            blocks.append(Cards([_card(row, report, names) for row in rows]))
    return blocks


def _card(row: SingleRow, report: Report, names: Mapping[str, str]) -> tuple[str, list[Block]]:
    """A row: what it is, its score, and bars of what its columns add."""
    called = ", ".join(row.names)
    title = f"Row {row.number:,}{f' ({shorten(called, 60)})' if called else ''}: {names['positive' if row.positive else 'negative']}"
    other = names["negative" if row.positive else "positive"]
    held = "held-out score" if report.folds is not None else "score"
    words = [f"{held} {row.score:+.2f}"]
    if row.probability is not None:
        words.append(f"probability {percent(row.probability)}")
    words.append(f"above {percent(row.above, 0)} of the rows with {other}")
    if report.folds is not None:
        words.append(f"score of the final model {row.own_score:+.2f}")
    shown = list(row.parts[:MOST_PARTS])
    rest = sum(part for *_, part in row.parts[MOST_PARTS:])
    entries = [(name, part) for name, _, part in shown]
    values = [value for _, value, _ in shown]
    if len(row.parts) > MOST_PARTS:
        entries.append((f"{len(row.parts) - MOST_PARTS} other columns", rest))
        values.append("")
    return title, [Text(", ".join(words), soft=True), bars(entries, "added to the score", values=values)]
