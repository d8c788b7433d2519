"""Read labels and columns of scores that any model has made; no other column of the table is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vrspam._utils.findings import Fix
from vrspam._utils.names import INDEPENDENT
from vrspam._utils.roles import BY, SCORES
from vrspam.data import DataError
from vrspam.data.beside import beside_values, ordered_numbers, plain_values
from vrspam.data.open import open_columns
from vrspam.data.request import TableRequest, holds_labels
from vrspam.measures.compare import Comparison  # noqa: F401 (a public name of `vrspam.tool`)
from vrspam.measures.rows import ScoredRows
from vrspam.model.outcome import Outcome
from vrspam.tool.plan import TrainPlan
from vrspam.tool.scored_rows import ScoredTable, check_classes

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class ScoreColumn(NamedTuple):
    """What a column of scores ranks, and whether its scores are probabilities."""

    name: str
    outcome: Outcome
    is_probability: bool

    def describe(self) -> str:
        """Whether the scores are probabilities, and how that was decided."""
        if self.outcome.ranks:
            return "scores rank rows: they are not taken as probabilities"
        if self.is_probability:
            return "all values lie between 0 and 1, so they are taken as probabilities"
        return "some values lie outside 0 to 1, so they are scores, not probabilities: no calibration"


def read_scores(
    path: Any,
    target: str | None,
    scores: str | Sequence[str],
    *,
    positive: str | None = None,
    event: str | None = None,
    within: str | None = None,
    weights: str | None = None,
    groups: str | None = None,
    folds: str | None = None,
    by: Sequence[str] = (),
    **reading: Any,
) -> tuple[ScoredTable, Outcome]:
    """Read labels, columns of scores, and columns such as weights and groups; and say what is ranked."""
    pairs = TrainPlan(target=target, positive=positive, event=event, within=within).pairs
    columns_of_options = {
        "weights": weights,
        "groups": groups,
        "folds": folds,
        **{option: name for option, name in pairs.items() if option != "event"},
    }
    request = TableRequest(
        target=target,
        positive=positive,
        event=pairs.get("event"),
        roles={option: name for option, name in columns_of_options.items() if name not in (None, INDEPENDENT)},
        raw={SCORES: [scores] if isinstance(scores, str) else list(dict.fromkeys(scores)), BY: by},
        **reading,
    )
    _check_scores(request, pairs)
    table = open_columns(path, request)
    where = table.origin.paths[0]
    values = {name: ordered_numbers(table.raw, name, where, SCORES) for name in request.raw[SCORES]}
    kept, notes = with_all_scores(values)
    if not kept.all():
        table = table.take(np.flatnonzero(kept))
        values = {name: column[kept] for name, column in values.items()}
    if "event" not in pairs and not request.is_order:
        check_classes(table.positive, where)

    arrays = beside_values(table.raw, table.named, where, least_groups=2)
    columns = {}
    for name, column in values.items():
        probabilities = column if holds_chances(column, pairs) else None
        columns[name] = ScoredRows(table.positive, column, probabilities, **arrays)
    levels = {name: plain_values(table.raw, name) for name in by}
    outcome = Outcome.of(request.label_column, table.label, table.schema.labels or (), pairs)
    return ScoredTable(columns, notes, levels), outcome


def _check_scores(request: TableRequest, pairs: Mapping[str, Any]) -> None:
    """Refuse columns of scores, or of weights and groups, that say something else."""
    names = request.raw[SCORES]
    if not names:
        raise DataError(Fix("scores"), " names no column: name one at least")
    for name in names:
        if name == request.label_column:
            raise holds_labels(name, SCORES)
        if name in pairs.values():
            raise DataError(f"column {name!r} says which rows are compared: name another with ", Fix("scores"))


def holds_chances(scores: np.ndarray, pairs: Mapping[str, Any]) -> bool:
    """Whether scores are taken as probabilities: they all lie between 0 and 1, and do more than rank pairs."""
    return not pairs and bool(scores.min() >= 0.0 and scores.max() <= 1.0)


def with_all_scores(scores: Mapping[str, np.ndarray]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return which rows have all scores, and a note on the others."""
    empty = {name: np.isnan(values) for name, values in scores.items()}
    kept = ~np.logical_or.reduce(list(empty.values()))
    missing = {name: int(gaps.sum()) for name, gaps in empty.items() if gaps.any()}
    if not missing:
        return kept, ()
    where = ", ".join(f"'{name}' ({count:,} rows)" for name, count in missing.items())
    if not kept.any():
        raise DataError(f"no row has all scores: they are missing in {where}; fill them in, or name other columns")
    n_left_out = int((~kept).sum())
    note = (
        f"scores are missing in {where}: {n_left_out:,} rows were left out of all columns, so that all are measured on "
        "the same rows"
    )
    return kept, (note,)


def comparison_picture(positive: np.ndarray, scores: Mapping[str, np.ndarray], max_fpr: float | None = None) -> Figure:
    """Draw the ROC curves, and the curves of precision and recall."""
    from vrspam.plotting import plot_precision_recall, plot_roc
    from vrspam.plotting.style import new_figure

    figure, axes = new_figure(1, 2, (10.4, 4.9))
    plot_roc(positive, scores, max_fpr=max_fpr, ax=axes[0, 0])
    plot_precision_recall(positive, scores, ax=axes[0, 1])
    return figure
