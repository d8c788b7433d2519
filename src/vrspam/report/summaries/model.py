"""What `explain` prints of a model: what it looks at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from vrspam._utils.findings import Fix
from vrspam.model.effects import explain
from vrspam.report.blocks import Block, Paragraph
from vrspam.report.sections.interactions import share_of_combinations, table_of_pairs
from vrspam.report.sections.model import meaning_of_effects, table_of_effects
from vrspam.report.words.model import describe_together
from vrspam.report.words.names import describe_direction

if TYPE_CHECKING:
    from vrspam.model.model import Model


def summary_of_model(model: Model, most: int, parameter: Callable[[Fix], str] = str) -> list[Block]:
    """What a higher score means, the effects of columns, which columns interact, and which say nearly the same.

    `parameter` returns how an option is shown.
    """
    effects = table_of_effects(model, most)
    if most < len(explain(model)):
        effects = replace(effects, caption=f"{effects.caption} ({parameter(Fix('top'))})")
    blocks: list[Block] = [
        Paragraph(describe_direction(model.outcome)),
        effects,
        Paragraph(meaning_of_effects(model)),
    ]
    shapes = model.shapes
    if shapes is not None and shapes.interactions is not None:
        blocks.append(Paragraph(share_of_combinations(shapes)))
        if shapes.pairs:
            blocks.append(table_of_pairs(model))
    blocks += map(Paragraph, describe_together(model))
    return blocks
