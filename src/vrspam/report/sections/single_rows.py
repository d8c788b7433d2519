"""Single rows: what each is, its score, and what its columns add."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from vrspam._utils.findings import Fix, Note
from vrspam._utils.texts import percent, rounded, shorten, signed
from vrspam.pictures.columns import ADDED
from vrspam.report.blocks import Card, Facts, Grid, Paragraph, Shown, Subheading
from vrspam.report.page import Section
from vrspam.report.pictures.bars import bars
from vrspam.report.words.names import class_names
from vrspam.report.words.thresholds import ZERO

if TYPE_CHECKING:
    from vrspam.tool.report import Report
    from vrspam.tool.single_rows import SingleRow

MOST_PARTS = 8  # of a row with more than 9
ShownPart = tuple[str, str, float]  # column, value, what it adds


def single_rows(report: Report, show: Callable[[Fix], str]) -> Section | None:
    """A card for each row, all with the same scale; none if no row is shown."""
    if not report.rows:
        return None
    names = class_names(report.model.outcome)
    shown = [largest_parts(row) for row in report.rows]
    sizes = [size for parts in shown for *_, size in parts]
    ends = (min(sizes, default=0.0), max(sizes, default=0.0))
    cards: dict[str, list[Card]] = {}
    for row, parts in zip(report.rows, shown, strict=True):
        drawn = bars(
            [(name, part) for name, _, part in parts],
            ADDED,
            values=[value for _, value, _ in parts],
            ends=ends,
        )
        numbers = Facts(numbers_of(row, report, names), numbers=True)
        kind = f"{row.kind[0].upper()}{row.kind[1:]}"
        cards.setdefault(kind, []).append(Card(title_of(row, report, names), [numbers, drawn]))
    blocks: list[Shown] = [Paragraph(_meaning(report)), Paragraph(_privacy(show), soft=True)]
    for kind, of_kind in cards.items():
        blocks.append(Subheading(kind, [Grid(of_kind)]))
    return Section("Single rows", blocks)


def largest_parts(row: SingleRow) -> list[ShownPart]:
    """The largest parts of a row, and the sum of the others."""
    most = MOST_PARTS if len(row.parts) > MOST_PARTS + 1 else len(row.parts)
    shown, others = list(row.parts[:most]), row.parts[most:]
    if others:
        shown.append((f"{len(others)} other columns", "", sum(part for *_, part in others)))
    return shown


def title_of(row: SingleRow, report: Report, names: Mapping[str, str]) -> str:
    """The number of a row, what it is called, its label and its time."""
    called = f" ({shorten(', '.join(row.names), 60)})" if row.names else ""
    outcome = report.model.outcome
    label = names["positive" if row.positive else "negative"]
    if row.time is not None and outcome.order is not None:
        label = f"{outcome.order} {rounded(-row.time, 6)}"
    elif row.time is not None:
        label = f"{label}, {outcome.times} {rounded(row.time, 6)}"
    return f"Row {row.number:,}{called}: {label}"


def numbers_of(row: SingleRow, report: Report, names: Mapping[str, str]) -> dict[str, str]:
    """The scores of a row, and how it is ranked."""
    by_folds = report.folds is not None
    largest = max(abs(row.score), abs(row.own_score))
    numbers = {"held-out score" if by_folds else "score": signed(row.score, largest)}
    if row.probability is not None:
        numbers["probability"] = percent(row.probability)
    if not report.model.ranks:
        others = names["negative" if row.positive else "positive"]
        numbers["ranked above"] = f"{percent(row.above, 0)} of the rows with {others}"
    elif np.isnan(row.above):
        numbers["ranked right"] = "it has no pair"
    else:
        numbers["ranked right"] = f"{percent(row.above, 0)} of its pairs"
    if by_folds:
        numbers["score of the final model"] = signed(row.own_score, largest)
    return numbers


def _meaning(report: Report) -> str:
    """What the bars show."""
    if report.folds is not None:
        return (
            "The held-out score comes from a model that has not seen the row. The bars show what each column adds in "
            "the final model, which was trained on all rows; they add up to its score."
        )
    meaning = "The bars show what each column adds to the score."
    return meaning if report.model.ranks else f"{meaning} {ZERO}"


def _privacy(show: Callable[[Fix], str]) -> str:
    """That these are rows of the table, and how to leave them out."""
    without = Fix("rows", 0)
    return Note("These are rows of your table, with their values; ", without, " makes a page without them.").text(show)
