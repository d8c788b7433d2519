"""Pairs of columns that interact, where the score is not a sum of curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vrspam._utils.texts import percent
from vrspam.pictures.pairs import largest_cell
from vrspam.report.blocks import Cell, Folded, Grid, Paragraph, Row, Shown, Table
from vrspam.report.page import Section
from vrspam.report.pictures.heat_map import heat_map
from vrspam.report.words.model import CELLS, describe_pairs

if TYPE_CHECKING:
    from vrspam.inspection import Shapes
    from vrspam.model.model import Model

MOST_PAIRS = 6


def interactions(model: Model) -> Section | None:
    """The strongest pairs as heat maps; none where a score is a sum of curves."""
    shapes = model.shapes
    heading = "Which columns interact"
    if shapes is None or shapes.interactions is None or len(shapes.columns) < 2:
        return None
    share = share_of_combinations(shapes)
    if not shapes.pairs:
        return Section(heading, [Paragraph(f"{share} No pair of columns stands out.")])
    drawn = shapes.pairs[:MOST_PAIRS]
    largest = largest_cell(drawn)
    blocks: list[Shown] = [
        Paragraph(share),
        Paragraph(CELLS.format(largest), soft=True),
        Grid([heat_map(pair, largest) for pair in drawn]),
        Folded("All pairs as numbers", [table_of_pairs(model)]),
    ]
    return Section(heading, blocks)


def table_of_pairs(model: Model) -> Table:
    """The strongest pairs of columns as numbers."""
    rows: list[Row] = [[name, Cell(percent(part), part)] for name, part in describe_pairs(model)]
    return Table(["columns that interact", "share"], rows, "Share: part of the variance of the score")


def share_of_combinations(shapes: Shapes) -> str:
    """How much of the score comes from combinations of columns."""
    share = 100 * shapes.share
    if share >= 0.5:
        return f"{share:.0f} % of the score comes from combinations of columns."
    amount = "Hardly anything" if share else "Nothing"
    return f"{amount} here depends on combinations of columns."
