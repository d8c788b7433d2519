"""What a model looks at: bars of the most important columns, and the curves of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from vrspam.inspection import Shape
from vrspam.model.effects import Effect, explain, find_strongest, sum_by_column
from vrspam.pictures.columns import common_range, shown_columns
from vrspam.report.blocks import Bullets, Cell, Folded, Grid, Paragraph, Row, Shown, Table, number_cell
from vrspam.report.html import Html
from vrspam.report.page import Section
from vrspam.report.pictures.bars import bars
from vrspam.report.pictures.columns import column_picture, key
from vrspam.report.words.auc import requests
from vrspam.report.words.model import (
    ONE_DEVIATION,
    SHARE,
    SHARE_OF_PAIRS,
    SPREAD,
    describe_curves,
    describe_size,
    describe_together,
)

if TYPE_CHECKING:
    from vrspam.model.model import Model

MOST_FEATURES = 20
MOST_CURVES = 24
FIRST_CURVES = 11  # with the bars twelve pictures, in two, three or four columns; the others are folded


def what_it_looks_at(model: Model) -> Section:
    """Bars, curves and numbers of the columns of a model."""
    blocks: list[Shown] = [Paragraph(describe_curves(model)), *_say_nearly_the_same(model)]
    strongest = _strongest(model)
    numbers = table_of_effects(model)
    explained = Paragraph(meaning_of_effects(model), soft=True)
    if model.shapes is None:
        blocks += [Grid([*strongest, numbers], "large"), explained]
    else:
        blocks += _curves(shown_columns(model.shapes.columns), strongest)
        blocks.append(Folded(f"{numbers.caption} as numbers", [numbers, explained]))
    return Section("What the model looks at", blocks)


def _say_nearly_the_same(model: Model) -> list[Shown]:
    """Remarks on columns whose curves can hardly be told apart; many are folded."""
    remarks = describe_together(model)
    if len(remarks) <= 2:
        return [Paragraph(remark) for remark in remarks]
    title = f"{len(remarks)} groups of columns say nearly the same: judge them together"
    return [Folded(title, [Bullets(remarks)])]


def _strongest(model: Model) -> list[Html]:
    """A bar for each of the strongest columns or features; none if none has an effect."""
    effects = [feature for feature in find_strongest(model, MOST_FEATURES) if np.isfinite(feature.size)]
    if not effects:
        return []
    label = "part of the difference of the classes"
    if model.is_linear:
        label = "change for one standard deviation"
    elif model.shapes is not None:
        label = "how much it moves scores"
    spoken = f"Picture: what the model looks at, {describe_size(model)}."
    return [bars(effects, label, "What matters most", spoken=spoken)]


def _curves(columns: Sequence[Shape], strongest: list[Html]) -> list[Shown]:
    """The curves of the most important columns, on one scale; the first stand beside the strongest effects."""
    shown = columns[:MOST_CURVES]
    ends = common_range(shown)
    drawn = []
    for shape in shown:
        name = f"column {shape.name}" if shape.name.isdigit() else shape.name
        drawn.append(column_picture(shape._replace(name=name), ends))
    blocks: list[Shown] = [key(shown), Grid([*strongest, *drawn[:FIRST_CURVES]])]

    n_folded = len(drawn) - FIRST_CURVES
    if n_folded > 0:
        title = f"{n_folded} more column{'s' if n_folded != 1 else ''}"
        blocks.append(Folded(title, [Grid(drawn[FIRST_CURVES:])]))

    n_left_out = len(columns) - MOST_CURVES
    if n_left_out > 0:
        matter = "columns that matter less are" if n_left_out != 1 else "column that matters less is"
        blocks.append(Paragraph(f"{n_left_out:,} {matter} not drawn.", soft=True))
    return blocks


def table_of_effects(model: Model, most: int = MOST_FEATURES) -> Table:
    """The strongest effects as numbers."""
    effects, directions = explain(model), requests(model)
    if model.is_linear:
        what, columns = "features", ["feature", "coefficient", "one deviation", "share", "share of its column"]
        rows = _rows_of_features(model, effects, most, directions)
    else:
        what, columns = "columns", ["column", "spread", "share"]
        rows = [_row_of_column(effect, directions) for effect in effects[:most]]
    caption = f"All {what}"
    if len(effects) > most:
        caption = f"The first {most} of {len(effects):,} {what}"
    return Table(columns, rows, caption)


def meaning_of_effects(model: Model) -> str:
    """What the numbers of the table of effects measure."""
    meaning = SPREAD if not model.is_linear else ONE_DEVIATION
    return f"{meaning} {SHARE_OF_PAIRS if model.ranks else SHARE}"


def _row_of_column(effect: Effect, directions: Mapping[str, str]) -> Row:
    """A column of a model with feature maps."""
    spread = "" if effect.importance is None else number_cell(effect.importance)
    return [_name(effect, directions), spread, _share(effect.share)]


def _rows_of_features(model: Model, effects: Sequence[Effect], most: int, directions: Mapping[str, str]) -> list[Row]:
    """The features of a linear model, and its intercept; a column of categories has several features."""
    of_columns = dict(sum_by_column(list(effects)))
    rows: list[Row] = []
    for effect in effects[:most]:
        assert effect.coefficient is not None
        assert effect.effect is not None
        coefficient = Cell(f"{effect.coefficient:.5g}", effect.coefficient)
        shares = _share(effect.share), _share(of_columns[effect.column])
        rows.append([_name(effect, directions), coefficient, number_cell(effect.effect, sign=True), *shares])
    rows.append(["intercept", Cell(f"{model.intercept:.5g}", model.intercept), "", "", ""])
    return rows


def _name(effect: Effect, directions: Mapping[str, str]) -> str:
    """A column or feature, with the direction that was asked for."""
    direction = directions.get(effect.feature)
    return effect.feature if direction is None else f"{effect.feature} ({direction} by request)"


def _share(share: float) -> Cell:
    """A share of a difference, which may be negative."""
    text = f"{100.0 * share:.1f}"
    if text == "-0.0":
        text = "0.0"
    return Cell(f"{text}\N{NO-BREAK SPACE}%", share)
