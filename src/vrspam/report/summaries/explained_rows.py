"""What `explain` prints of single rows: what each column adds to their scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from vrspam._utils.findings import Fix
from vrspam._utils.texts import percent
from vrspam.model.explained_rows import value_text
from vrspam.report.blocks import Block, Cell, Paragraph, Row, Subheading, Table
from vrspam.report.words.names import equals_positive
from vrspam.report.words.thresholds import ZERO

if TYPE_CHECKING:
    from vrspam.model.explained_rows import ExplainedRow
    from vrspam.model.model import Model
    from vrspam.tool.explanation import ExplainedRows


def summary_of_rows(
    model: Model, explained: ExplainedRows, data_name: str, most: int, parameter: Callable[[Fix], str] = str
) -> list[Block]:
    """A table for each row with the `most` largest parts of its score; `parameter` returns how an option is shown."""
    others = f"others ({parameter(Fix('top'))})"
    blocks: list[Block] = [_row(model, row, data_name, most, others) for row in explained.rows]
    counted = "Rows are counted from 1, the first row of the data."
    blocks.append(Paragraph(counted if model.ranks else f"{counted} {ZERO}"))
    return blocks


def _row(model: Model, row: ExplainedRow, data_name: str, most: int, others: str) -> Block:
    """The number of a row, its score, and what each column adds to it."""
    names = ", ".join(f"{name} {value}" for name, value in row.identifiers.items())
    title = f"row {row.row:,} of {data_name}"
    if names:
        title = f"{title} ({names})"
    if row.score is None:
        return Paragraph(f"{title}: no score, because {row.reason}")
    title = f"{title}: score {row.score:+.4f}"
    if row.probability is not None:
        certain = min(max(row.probability, 1e-9), 1.0 - 1e-9)  # a model never is certain
        title = f"{title}, probability of {equals_positive(model.outcome)} {percent(certain)}"
    return Subheading(title, [_table_of_parts(model, row, most, others)])


def _table_of_parts(model: Model, row: ExplainedRow, most: int, others: str) -> Table:
    """What the columns add to the score of a row, the largest first, and their sum; `others` names those left out."""
    rows: list[Row] = [[part.column, value_text(model, part), _added(part.adds)] for part in row.parts[:most]]
    smaller = row.parts[most:]
    if smaller:
        rows.append([f"{len(smaller):,} {others}", "", _added(sum(part.adds for part in smaller))])
    rows.append(["total: the score", "", _added(row.score or 0.0)])
    return Table(["column", "value", "adds to the score"], rows)


def _added(part: float) -> Cell:
    return Cell(f"{part:+.4f}", part)
