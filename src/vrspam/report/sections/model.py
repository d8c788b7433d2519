"""What a model looks at: bars of the most important columns, and the curves of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vrspam.inspection import Shape
from vrspam.model.drawing import common_range, shown_columns
from vrspam.model.effects import Effect, explain, find_strongest, sum_by_column
from vrspam.report.page import Cell, Html, Row, Section, bullets, folded, grid, number_cell, paragraph, table
from vrspam.report.pictures.bars import bars
from vrspam.report.pictures.columns import column_picture, key
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
FIRST_CURVES = 12  # the others are folded


def what_it_looks_at(model: Model) -> Section:
    """Bars, curves and numbers of the columns of a model."""
    blocks = [paragraph(describe_curves(model)), *_say_nearly_the_same(model)]
    strongest = _strongest(model)
    caption, numbers = _table_of_effects(model)
    meaning = SPREAD if not model.is_linear else ONE_DEVIATION
    explained = paragraph(f"{meaning} {SHARE_OF_PAIRS if model.ranks else SHARE}", soft=True)
    if model.shapes is None:
        blocks += [grid([*strongest, numbers], "large"), explained]
    else:
        blocks += _curves(shown_columns(model.shapes.columns), strongest)
        blocks.append(folded(f"{caption} as numbers", numbers, explained))
    return Section("What the model looks at", blocks)


def _say_nearly_the_same(model: Model) -> list[Html]:
    """Remarks on columns whose curves can hardly be told apart; many are folded."""
    remarks = describe_together(model)
    if len(remarks) <= 2:
        return [paragraph(remark) for remark in remarks]
    title = f"{len(remarks)} groups of columns say nearly the same: judge them together"
    return [folded(title, bullets(remarks))]


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


def _curves(columns: Sequence[Shape], strongest: list[Html]) -> list[Html]:
    """The curves of the most important columns, on one scale; the first stand beside the strongest effects."""
    shown = columns[:MOST_CURVES]
    ends = common_range(shown)
    drawn = []
    for shape in shown:
        name = f"column {shape.name}" if shape.name.isdigit() else shape.name
        drawn.append(column_picture(shape._replace(name=name), ends))
    blocks = [key(shown), grid([*strongest, *drawn[:FIRST_CURVES]])]
    n_folded, n_left_out = len(drawn) - FIRST_CURVES, len(columns) - MOST_CURVES
    if n_folded > 0:
        title = f"{n_folded} more column{'s' if n_folded != 1 else ''}"
        blocks.append(folded(title, grid(drawn[FIRST_CURVES:])))
    if n_left_out > 0:
        matter = "columns that matter less are" if n_left_out != 1 else "column that matters less is"
        blocks.append(paragraph(f"{n_left_out:,} {matter} not drawn.", soft=True))
    return blocks


def _table_of_effects(model: Model) -> tuple[str, Html]:
    """The strongest effects as numbers, and the caption of their table."""
    effects = explain(model)
    if model.is_linear:
        what, columns = "features", ["feature", "coefficient", "one deviation", "share", "share of its column"]
        rows = _rows_of_features(effects)
    else:
        what, columns = "columns", ["column", "spread", "share"]
        rows = [_row_of_column(effect) for effect in effects[:MOST_FEATURES]]
    caption = f"All {what}"
    if len(effects) > MOST_FEATURES:
        caption = f"The first {MOST_FEATURES} of {len(effects):,} {what}"
    return caption, table(columns, rows, caption)


def _row_of_column(effect: Effect) -> Row:
    """A column of a model with feature maps."""
    spread = "" if effect.importance is None else number_cell(effect.importance)
    return [effect.feature, spread, _share(effect.share)]


def _rows_of_features(effects: Sequence[Effect]) -> list[Row]:
    """The features of a linear model; a column of categories has several of them."""
    of_columns = dict(sum_by_column(list(effects)))
    rows: list[Row] = []
    for effect in effects[:MOST_FEATURES]:
        assert effect.coefficient is not None
        assert effect.effect is not None
        coefficient = Cell(f"{effect.coefficient:.4g}", effect.coefficient)
        shares = _share(effect.share), _share(of_columns[effect.column])
        rows.append([effect.feature, coefficient, number_cell(effect.effect, sign=True), *shares])
    return rows


def _share(share: float) -> Cell:
    return Cell(f"{share:.1%}", share)
