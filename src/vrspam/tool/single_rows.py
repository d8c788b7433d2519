"""Single rows: the highest scores, the lowest, the most wrong and some in between, with what each column adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vrspam.model_selection.held_out import HeldOut
from vrspam.report.numbers import rounded
from vrspam.tables.frames import rows_of
from vrspam.tool.explained_rows import Part, parts_by_column, value_of, value_text
from vrspam.tool.model import Model
from vrspam.tool.table import OpenedTable

EACH = 4  # highest, lowest and most wrong rows
MOST_COLUMNS = 5_000  # of a wider table no rows are explained
KINDS = ("highest scores", "lowest scores", "most wrong", "spread over the ranking")


@dataclass(frozen=True)
class SingleRow:
    """One row, its score, and what each column adds to it.

    Attributes
    ----------
    kind : str
        Why it is shown, one of `KINDS`.
    number : int
        Its place among the rows of the table that have a label, from 1.
    names : tuple of str
        Values of the columns that only name rows.
    positive : bool
    score, probability : float
        Of a model that has not seen the row; `probability` is None without calibration.
    above : float
        Share of the other class that scores lower, ties by half: for a positive row 1 is perfect, for another row 0.
    own_score : float
        Score of the model itself: the sum of the parts.
    parts : tuple of (column, value, part)
        What each column adds to `own_score`, the largest first.
    """

    kind: str
    number: int
    names: tuple[str, ...]
    positive: bool
    score: float
    probability: float | None
    above: float
    own_score: float
    parts: tuple[tuple[str, str, float], ...]


def share_above(positive: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """For each row the share of the other class that scores lower, ties by half.

    >>> share_above(np.array([True, False, False]), np.array([2.0, 1.0, 3.0])).tolist()
    [0.5, 0.0, 1.0]
    """
    found = np.empty(scores.size)
    for side in (positive, ~positive):
        others = np.sort(scores[~side])
        below, upto = (np.searchsorted(others, scores[side], side=end) for end in ("left", "right"))
        found[side] = (below + upto) / (2.0 * others.size)
    return found


def choose_rows(positive: np.ndarray, scores: np.ndarray, more: int) -> list[tuple[str, int]]:
    """(why, which) of the rows to show: highest, lowest, most wrong, and `more` that are spread over the ranking."""
    order = np.argsort(scores, kind="stable")
    above = share_above(positive, scores)
    wrong = np.argsort(-np.where(positive, 1.0 - above, above), kind="stable")
    each = min(EACH, scores.size)
    spread = order[np.unique(np.linspace(0, scores.size - 1, more + 2).round().astype(int)[1:-1])[::-1]] if more else []
    parts = (order[::-1][:each], order[:each], wrong[:each], spread)
    return [(kind, int(place)) for kind, places in zip(KINDS, parts, strict=True) for place in places]


def single_rows(
    model: Model,
    opened: OpenedTable,
    held_out: HeldOut,
    probabilities: np.ndarray | None,
    more: int,
    names: Sequence[np.ndarray] = (),
) -> tuple[SingleRow, ...]:
    """Explain some rows of a table in memory.

    Parameters
    ----------
    model : Model
    opened : OpenedTable
    held_out : HeldOut
        Rows with scores of models that have not seen them; `places` says which rows of the table they are.
    probabilities : array, optional
        Of these rows.
    more : int
        How many rows to show beside the highest, the lowest and the most wrong.
    names : sequence of arrays
        Values of columns that name these rows.

    Returns
    -------
    tuple of SingleRow
        Empty where the model cannot say what its columns add.
    """
    assert held_out.places is not None
    no_curves = model.features is not None and (model.shapes is None or not model.shapes.whole)
    if no_curves or len(model.schema.columns) > MOST_COLUMNS:
        return ()
    chosen = choose_rows(held_out.positive, held_out.scores, more)
    places = held_out.places[[place for _, place in chosen]]
    rows, _ = opened.load_rows()
    some = rows_of(rows, places)
    X = opened.encode(some) if model.features is None else some
    scores, columns = model.score(X), parts_by_column(model, X)
    above = share_above(held_out.positive, held_out.scores)
    found = []
    for number, (kind, place) in enumerate(chosen):
        parts = []
        for name, values in columns.items():
            part = Part(name, value_of(model, name, some, number), float(values[number]))
            parts.append((name, value_text(model, part), part.adds))
        parts.sort(key=lambda part: -abs(part[2]))
        found.append(
            SingleRow(
                kind,
                int(places[number]) + 1,
                tuple(_name(values[place]) for values in names),
                bool(held_out.positive[place]),
                float(held_out.scores[place]),
                None if probabilities is None else float(probabilities[place]),
                float(above[place]),
                float(scores[number]),
                tuple(parts),
            )
        )
    return tuple(found)


def _name(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "missing"
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, float) and not value.is_integer():
        return rounded(value, 4)
    return str(int(value)) if isinstance(value, float | int) else str(value)
