"""Single rows of a table: the highest, the lowest, the most wrong ones, and what each column adds to their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vrspam.data.table import Table
from vrspam.measures.measure import Evaluation
from vrspam.measures.rows import ScoredRows, ranked_target
from vrspam.metrics.concordance import ComparablePairs
from vrspam.metrics.intervals import placements
from vrspam.model.explained_rows import explain_rows, value_text
from vrspam.model.model import Model
from vrspam.tables.frames import rows_of

MOST_COLUMNS = 5_000
EACH = 4  # rows of each kind


@dataclass(frozen=True)
class SingleRow:
    """One row, its score, and what each column adds to it.

    `kind` says why it is shown, `number` is its place among the labelled rows, from 1, and `names` are values of
    columns that only name rows. `score` and `probability` are by a model that has not seen the row. `above` is the
    share of the other class that scores lower, ties by half; with times or strata, the share of the row's pairs that
    are ranked right. `time` is the time of the event, or of censoring. `own_score`, by the model itself, is the sum of
    `parts`: (column, value, part), the largest first.
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
    time: float | None = None


def single_rows(
    model: Model,
    table: Table,
    evaluation: Evaluation,
    places: np.ndarray,
    spread: int,
    identifiers: Sequence[np.ndarray],
) -> tuple[SingleRow, ...]:
    """Explain the highest, the lowest and the most wrong rows, and so many rows `spread` over the ranking.

    `places` are those of the evaluated rows among the labelled ones, and `identifiers` have values that name them.
    There are none if the model cannot say what each column adds, or has more than 5,000 columns.
    """
    has_curves = model.is_linear or model.shapes is not None
    if not has_curves or len(model.schema.columns) > MOST_COLUMNS:
        return ()
    right = ranked_right(evaluation)
    chosen = choose_rows(evaluation.scores, right, spread)
    numbers = places[[place for _, place in chosen]]
    explained = explain_rows(model, rows_of(table.rows, numbers), {}, (), numbers + 1, np.arange(numbers.size))
    above = right if model.ranks else np.where(evaluation.positive, right, 1.0 - right)
    probabilities = evaluation.probabilities
    times = evaluation.times
    shown = []
    for (kind, place), row in zip(chosen, explained, strict=True):
        names = ["missing" if values[place] is None else values[place] for values in identifiers]
        parts = [(part.column, value_text(model, part), part.adds) for part in row.parts]
        shown.append(
            SingleRow(
                kind,
                number=row.row,
                names=tuple(names),
                positive=bool(evaluation.positive[place]),
                score=float(evaluation.scores[place]),
                probability=None if probabilities is None else float(probabilities[place]),
                above=float(above[place]),
                own_score=float(row.score or 0.0),
                parts=tuple(parts),
                time=None if times is None else float(times[place]),
            )
        )
    return tuple(shown)


def ranked_right(rows: ScoredRows) -> np.ndarray:
    """For each row, the share of the rows that it is compared with that are ranked right, ties by half.

    NaN where a row is compared with none.
    """
    if rows.has_classes:
        return placements(rows.positive, rows.scores[np.newaxis], np.ones(rows.n))[0]
    pairs = ComparablePairs.of(*ranked_target(rows.positive, rows.times), rows.within)
    won = np.add(*pairs.wins_of_rows(rows.scores))
    compared = np.add(*pairs.pairs_of_rows())
    return np.divide(won, compared, out=np.full(rows.n, np.nan), where=compared > 0.0)


def choose_rows(scores: np.ndarray, right: np.ndarray, spread: int) -> list[tuple[str, int]]:
    """Why a row is shown, and its place."""
    by_score = np.argsort(scores, kind="stable")
    by_right = np.argsort(right, kind="stable")
    steps = np.linspace(0, scores.size - 1, spread + 2).round().astype(int)[1:-1]
    kinds = {
        "highest scores": by_score[::-1][:EACH],
        "lowest scores": by_score[:EACH],
        "most wrong": by_right[:EACH],
        "spread over the ranking": by_score[np.unique(steps)[::-1]],
    }
    return [(kind, int(place)) for kind, places in kinds.items() for place in places]
