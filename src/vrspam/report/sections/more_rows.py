"""What more rows would bring: the learning curve, and how many rows it takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vrspam._utils.texts import auc_text, interval_text
from vrspam.report.blocks import Bullets, Cell, Folded, Grid, Paragraph, Row, Table
from vrspam.report.page import Section
from vrspam.report.pictures.learning import learning_curve
from vrspam.report.words.more_rows import AS_MANY, describe_gain

if TYPE_CHECKING:
    from vrspam.model_selection.learning_curve import LearningCurve

FLAT = 0.005  # a gain of less AUC than this from four times the rows


def more_rows(curve: LearningCurve, lines: bool, fold: bool) -> Section:
    """The learning curve; with `fold` the picture of a flat one is folded."""
    drawn: Grid | Folded = Grid([learning_curve(curve), _table_of_rows(curve)], "large")
    if fold and curve.gain(4).value < FLAT:
        drawn = Folded("The learning curve", [drawn])
    return Section("How many more rows?", [Paragraph(describe_gain(curve, lines)), drawn])


def rows_needed(sentences: Sequence[str]) -> Section | None:
    """How many rows an interval or a comparison takes, if that was asked."""
    return Section("How many does it take?", [Bullets(sentences)]) if sentences else None


def _table_of_rows(curve: LearningCurve) -> Table:
    """The AUC to expect of once, twice and four times the rows."""
    rows: list[Row] = []
    for name, times in AS_MANY.items():
        count = times * curve.total
        expected = curve.at(count)
        band = f"{auc_text(expected.value)} ({interval_text(expected.low, expected.high)})"
        rows.append([name, Cell(f"{count:,}", count), Cell(band, expected.value)])
    return Table(["rows", "how many", "AUC, 90 % band"], rows, "What to expect of a model of this many rows")
