"""What each column adds to the scores of single rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vrspam.tables import frames
from vrspam.tables.unseen import far_outside

if TYPE_CHECKING:
    from vrspam.model.model import Model


class Part(NamedTuple):
    """What one column, or "interactions", adds to a score, and the row's value; None where it is missing."""

    column: str
    value: float | str | None
    adds: float


@dataclass(frozen=True)
class ExplainedRow:
    """One row of a file: its number (1 is the first row of the data), its score, and its parts, the largest first.

    A row that cannot be scored has no score, and a `reason`. `identifiers` are columns that name the row.
    """

    row: int
    score: float | None
    probability: float | None
    identifiers: dict[str, str]
    parts: tuple[Part, ...]
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {**vars(self), "parts": [part._asdict() for part in self.parts]}


def value_text(model: Model, part: Part) -> str:
    """The value of a column in a row, as people write it; "" where it has none."""
    schema = model.schema
    value = part.value
    if value is None:
        return "missing" if part.column in schema.columns else ""

    if not isinstance(value, float):
        categories = schema.categorical.get(part.column)
        if not categories or value in categories:
            return value
        return f"{value} (new or rare)"

    source, piece = schema.made().get(part.column, ("", ""))
    if piece:
        return schema.readings[source].show(piece, value)

    low, high = schema.ranges.get(part.column, (value, value))
    text = f"{value:.7g}"
    if far_outside(np.array(value), low, high):
        text += f" (training: {low:.7g} to {high:.7g})"
    return text


def explain_rows(
    model: Model,
    X: Any,
    identifiers: Mapping[str, Any],
    broken: Sequence[Any],
    rows: np.ndarray,
    order: np.ndarray,
) -> Iterator[ExplainedRow]:
    """Yield the rows with numbers `rows` in the file; `order` has places in X, or -1 - the place in `broken`.

    `identifiers` are columns that name the rows of X, as they are in the file.
    """
    readable = order[order >= 0]
    scores = np.empty(0)
    parts: dict[str, np.ndarray] = {}
    if readable.size:
        chosen = frames.rows_of(X, readable)
        scores = model.score(chosen)
        parts = model.parts_of_rows(chosen)
    probabilities = model.probabilities(scores)

    indices = {name: j for j, name in enumerate(model.schema.columns) if name in parts}
    n_scored = 0
    for row, place in zip(rows.tolist(), order.tolist(), strict=True):
        if place < 0:
            yield ExplainedRow(row, None, None, {}, (), broken[-1 - place].reason)
            continue

        values = _plain_values(X, identifiers, indices, place)
        added = []
        for name, part in parts.items():
            value = values.get(name) if name in indices else None  # interactions have no value
            added.append(Part(name, value, float(part[n_scored])))
        added.sort(key=lambda part: -abs(part.adds))

        yield ExplainedRow(
            row=row,
            score=float(scores[n_scored]),
            probability=None if probabilities is None else float(probabilities[n_scored]),
            identifiers={name: str(values[name]) for name in identifiers if name in values},
            parts=tuple(added),
        )
        n_scored += 1


def _plain_values(
    X: Any, identifiers: Mapping[str, Any], indices: Mapping[str, int], place: int
) -> dict[str, float | str]:
    """The values of one row by column, as JSON can hold them, without missing ones."""
    cells = [(name, column[place].as_py()) for name, column in identifiers.items()]
    if frames.is_frame(X):
        cells += [(name, X.column(j)[place].as_py()) for name, j in indices.items()]
    else:
        cells += [(name, float(X[place, j])) for name, j in indices.items()]

    values: dict[str, float | str] = {}
    for name, value in cells:
        if value is None or value == "" or value != value:
            continue
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        values[name] = float(value) if is_number else str(value)
    return values
