"""Rows of a table with scores of models that have not seen them, and further columns of these rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils.roles import GROUPS, TIMES, WEIGHTS, WITHIN
from vrspam.data.table import Table
from vrspam.measures.rows import ScoredRows
from vrspam.model_selection.calibration import calibrate
from vrspam.tool.scored_rows import probabilities_of
from vrspam.tool.training import Trained


class UnseenRows(NamedTuple):
    """Scored rows, the fold that held each one out, and their places among the labelled rows, if those are known."""

    rows: ScoredRows
    fold: np.ndarray
    places: np.ndarray | None


def unseen_rows(trained: Trained) -> UnseenRows:
    """The rows that were kept from the training, or else those that the folds held out."""
    return _held_out_rows(trained) if trained.kept is None else _kept_rows(trained, trained.kept)


def _kept_rows(trained: Trained, places: np.ndarray) -> UnseenRows:
    """Rows that were kept from the training, scored by the model itself."""
    kept = trained.table.take(places)
    scores = trained.model.score(kept.rows)
    rows = ScoredRows(
        kept.positive,
        scores,
        probabilities_of(trained.model, scores),
        weights=kept.relative_weights,
        groups=kept.groups,
        times=kept.times,
        within=kept.within,
    )
    return UnseenRows(rows, np.zeros(scores.size, dtype=int), places)


def _held_out_rows(trained: Trained) -> UnseenRows:
    """Rows that the folds held out, scored by the model of the other folds."""
    table = trained.table
    held_out = trained.held_out
    has_weights = WEIGHTS in table.named or np.ptp(held_out.weights) > 0.0  # a sample of a stream, say
    beside: dict[str, Any] = {}
    if held_out.places is not None:
        for role in (GROUPS, TIMES, WITHIN):
            if role in table.beside:
                beside[role] = table.beside[role][held_out.places]
    rows = ScoredRows(
        held_out.positive,
        held_out.scores,
        crossfitted_probabilities(trained),
        weights=held_out.weights if has_weights else None,
        **beside,
    )
    return UnseenRows(rows, held_out.fold, held_out.places)


def crossfitted_probabilities(trained: Trained) -> np.ndarray | None:
    """Probabilities of the held-out rows of a fold, by a calibration that was fitted on the rows of the other folds."""
    calibration = trained.model.calibration
    held_out = trained.held_out
    if calibration is None:
        return None
    probabilities = np.empty(held_out.scores.size)
    for number in np.unique(held_out.fold):
        inside = held_out.fold == number
        fitted_on = ~inside
        if held_out.positive[fitted_on].all() or not held_out.positive[fitted_on].any():
            fitted_on = np.ones_like(inside)  # the other folds have rows of one class alone
        fitted = calibrate(
            held_out.scores[fitted_on],
            held_out.positive[fitted_on],
            calibration.method,
            held_out.weights[fitted_on],
        )
        probabilities[inside] = fitted(held_out.scores[inside])
    return probabilities


def values_of_columns(table: Table, names: Sequence[str], places: np.ndarray) -> dict[str, np.ndarray]:
    """Values of columns, features or not, in some labelled rows: numbers, missing ones as NaN, or texts and None.

    Columns that only name rows are read as text.
    """
    import pyarrow as pa

    as_texts = table.schema.identifiers
    return {name: _plain(table.column(name).take(pa.array(places)), name in as_texts) for name in names}


def _plain(column: Any, as_text: bool) -> np.ndarray:
    """An arrow column as numbers or as texts."""
    import pyarrow as pa

    values = [value if value == value else None for value in column.to_pylist()]
    is_number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    if is_number and not as_text:
        return np.array(values, dtype=float)
    return np.array([None if value is None else str(value) for value in values], dtype=object)
