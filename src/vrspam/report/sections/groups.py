"""Levels of columns, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vrspam._utils.texts import auc_text, interval_text, percent
from vrspam.report.blocks import Bullets, Cell, Folded, Grid, Paragraph, Shown, Table
from vrspam.report.page import Section
from vrspam.report.pictures.aucs import forest
from vrspam.report.words.groups import describe_unlike

if TYPE_CHECKING:
    from vrspam.measures.measure import Evaluation
    from vrspam.measures.subgroups import Subgroup

UNKNOWN = "–"


def groups(evaluation: Evaluation) -> Section | None:
    """A picture and a table for each column whose levels were judged."""
    if not evaluation.subgroups:
        return None
    measure = "AUC" if evaluation.times is None else "concordance index"
    several = "AUCs" if evaluation.times is None else "indices"
    legend = f"▲▼: differs from the rest by more than chance. Lower {several} inside groups are normal."
    blocks: list[Shown] = [
        _unlike(evaluation),
        Paragraph(legend),
        Folded("How this is tested", [Paragraph(_how_tested(evaluation, measure))]),
    ]
    for column in dict.fromkeys(group.column for group in evaluation.subgroups):
        levels = [group for group in evaluation.subgroups if group.column == column]
        blocks.append(_column(column, levels, evaluation, measure))
    return Section("Groups", blocks)


def _unlike(evaluation: Evaluation) -> Paragraph | Bullets:
    """The levels that differ from the other rows, or that none does."""
    sentences = describe_unlike(evaluation.subgroups)
    return Paragraph(sentences[0]) if len(sentences) == 1 else Bullets(sentences)


def _how_tested(evaluation: Evaluation, measure: str) -> str:
    """How a level is compared with the other rows."""
    predicted = "" if evaluation.probabilities is None else ", and its positives with those that were predicted"
    return (
        f"Each level is compared with all other rows: its {measure} with theirs{predicted} (two-sided tests, normal "
        "approximation). Holm's method keeps the chance of any false mark on this page at 5 %. Levels with too few "
        "rows of a class, inside or outside, are not tested."
    )


def _column(column: str, levels: list[Subgroup], evaluation: Evaluation, measure: str) -> Grid:
    """The levels of one column."""
    left_out = set()
    if evaluation.probabilities is None:
        left_out.add("predicted")
    if evaluation.times is not None and evaluation.positive.all():  # an order has no positive rows
        left_out |= {"positive", "observed"}
    rows = [_row(level, measure) for level in levels]
    names = [name for name in rows[0] if name not in left_out]
    numbers = Table(names, [[row[name] for name in names] for row in rows], column)
    drawn = [level for level in levels if level.auc is not None]
    if not drawn:
        return Grid([numbers], "large")
    title = f"{measure[0].upper()}{measure[1:]} by {column}"
    return Grid([forest(title, drawn, evaluation.auc.auc, measure), numbers], "beside")


def _row(level: Subgroup, measure: str) -> dict[str, Cell | str]:
    """The cells of a level by the names of their columns."""
    auc: Cell | str = UNKNOWN
    if level.auc is not None:
        ends = interval_text(level.auc.low, level.auc.high)
        auc = Cell(f"{auc_text(level.auc.auc)} ({ends})", level.auc.auc)
    predicted: Cell | str = UNKNOWN
    if level.predicted is not None:
        predicted = Cell(percent(level.predicted), level.predicted)
    return {
        "level": level.name,
        "rows": Cell(f"{level.rows:,}", level.rows),
        "positive": Cell(f"{level.positives:,}", level.positives),
        f"{measure}, 95 % interval": auc,
        "predicted": predicted,
        "observed": Cell(percent(level.observed), level.observed),
        "beyond chance": _verdict(level),
    }


def _verdict(level: Subgroup) -> Cell | str:
    """What differs by more than chance; red is bad news, blue a difference that is none."""
    remarks, mark = [], ""
    if level.ranked_differently:
        word = "worse ▼" if level.worse else "better ▲"
        mark = "bad" if level.worse else "below"
        remarks.append(f"ranked {word} than the others (p = {level.auc_p:.2g})")
    if level.predicted_wrongly and level.predicted is not None:
        word = "low ▲" if level.observed > level.predicted else "high ▼"
        mark = "bad"
        remarks.append(f"predicted too {word} (p = {level.calibration_p:.2g})")
    if level.auc_p is None and level.calibration_p is None:
        remarks.append("too few rows to test")
    verdict = "; ".join(remarks) or "no"
    return Cell(verdict, None, "", mark) if mark else verdict
