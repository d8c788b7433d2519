"""What pages say about groups of rows, and about single ones."""

from __future__ import annotations

from collections.abc import Mapping

from vrspam._utils.messages import Message, Parameter
from vrspam.report import Block, Cards, Cell, Drawing, Facts, Grid, Heading, Table, Text, curves
from vrspam.report.columns import bars
from vrspam.report.numbers import decimals, percent, shorten
from vrspam.tool.evaluation import Evaluation
from vrspam.tool.model_sections import ShowParameter
from vrspam.tool.report import KINDS, LEAST_TO_TEST, Report, SingleRow, Subgroup

MOST_PARTS = 8  # columns of a single row that are shown one by one
GROUP_TEST = (
    "A difference is marked (▲ ▼) if noise does not explain it: tests of the AUC of a level against that of all other "
    "rows, and of the positives seen against those predicted (both two-sided, with a normal approximation), at 5 % for "
    "all levels of this page together (Holm). Levels with fewer than {least} rows of a class, inside or outside, are "
    "not tested. Within the levels of a column that itself predicts well, AUCs are lower than for all rows."
)
GROUP_COLUMNS = ["level", "rows", "positive", "AUC", "95 % interval", "predicted", "observed", "beyond noise"]
ROWS_KEPT = "The bars are what each column adds to the score; 0 is half-way between the class means of the training."
ROWS_HELD_OUT = (
    "The held-out score is that of a model that has not seen the row. The bars are what each column adds in the final "
    "model, which was trained on all rows: their sum is its own score of the row."
)

PRIVATE = "These are rows of the table, with their values; {none} makes a page without any."


def describe_groups(groups: tuple[Subgroup, ...], evaluation: Evaluation) -> list[Block]:
    """A picture and a table for each column."""
    blocks: list[Block] = [Text(GROUP_TEST.format(least=LEAST_TO_TEST))]
    for column in dict.fromkeys(group.column for group in groups):
        levels = [group for group in groups if group.column == column]
        drawn = [
            (group.name, group.auc.auc, group.auc.low, group.auc.high, group.ranked_differently)
            for group in levels
            if group.auc is not None
        ]
        title, remark = f"AUC by {column}", "dashed: all rows"
        picture = [Drawing(title, curves.forest(drawn, evaluation.auc.auc), remark)] if drawn else []
        table = Table(GROUP_COLUMNS, [_group_row(group) for group in levels], column)
        blocks.append(Grid([*picture, table], "beside" if picture else "large"))
    return blocks


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
    auc, words = group.auc, "; ".join(remarks) or "within noise"
    bad = group.predicted_wrongly or (group.ranked_differently and group.worse)
    mark = "bad" if bad else "below" if group.ranked_differently else ""  # blue: different, and good news
    return [
        group.name,
        Cell(f"{group.rows:,}", group.rows),
        Cell(f"{group.positives:,}", group.positives),
        "–" if auc is None else Cell(f"{auc.auc:.3f}", auc.auc),
        "–" if auc is None else Cell(f"{auc.low:.3f} to {auc.high:.3f}", auc.low),
        "–" if group.predicted is None else Cell(percent(group.predicted), group.predicted),
        Cell(percent(group.observed), group.observed),
        Cell(words, None, "", mark) if mark else words,
    ]


def describe_rows(report: Report, names: Mapping[str, str], parameter: ShowParameter) -> list[Block]:
    """A card for each single row, all with the same scale."""
    without = Message(PRIVATE, none=Parameter("rows", 0)).worded(parameter)
    blocks: list[Block] = [Text(ROWS_KEPT if report.folds is None else ROWS_HELD_OUT), Text(without, soft=True)]
    sizes = [size for row in report.rows for _, _, size in _shown_parts(row)]
    ends = (min(sizes, default=0.0), max(sizes, default=0.0))
    for kind in KINDS:
        if rows := [row for row in report.rows if row.kind == kind]:
            blocks.append(Heading(f"{kind[0].upper()}{kind[1:]}"))
            blocks.append(Cards([_card(row, report, names, ends) for row in rows]))
    return blocks


def _shown_parts(row: SingleRow) -> list[tuple[str, str, float]]:
    """(column, value, part) of the largest parts, and the others in one."""
    most = MOST_PARTS if len(row.parts) > MOST_PARTS + 1 else len(row.parts)
    rest = row.parts[most:]
    others = [(f"{len(rest)} other columns", "", sum(part for *_, part in rest))] if rest else []
    return [*row.parts[:most], *others]


def _card(
    row: SingleRow, report: Report, names: Mapping[str, str], ends: tuple[float, float]
) -> tuple[str, list[Block]]:
    """A row: what it is, its score, and bars of what its columns add."""
    called = f" ({shorten(', '.join(row.names), 60)})" if row.names else ""
    own, other = (names[side] for side in (("positive", "negative") if row.positive else ("negative", "positive")))
    digits = decimals(max(abs(row.score), abs(row.own_score)))
    facts = {"score" if report.folds is None else "held-out score": f"{row.score:+.{digits}f}"}
    if row.probability is not None:
        facts["probability"] = percent(row.probability)
    facts[f"rows with {other} below it"] = percent(row.above, 0)
    if report.folds is not None:
        facts["score of the final model"] = f"{row.own_score:+.{digits}f}"
    shown = _shown_parts(row)
    entries, values = [(name, part) for name, _, part in shown], [value for _, value, _ in shown]
    drawn = bars(entries, "added to the score", values=values, ends=ends)
    return f"Row {row.number:,}{called}: {own}", [Facts(facts, numbers=True), drawn]
