"""Read labels and columns of scores that any model has made; no other column of the table is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vrspam._utils.findings import Fix
from vrspam._utils.names import INDEPENDENT
from vrspam._utils.roles import GROUPS_TOO
from vrspam.data import DataError, Schema
from vrspam.data.beside import beside_values, ordered_numbers, plain_values, split_groups
from vrspam.data.labels import choose_positive, one_spelling
from vrspam.data.readers.ahead import read_ahead
from vrspam.data.readers.arrow import type_kind
from vrspam.data.readers.problems import Problems, no_column
from vrspam.data.readers.reader import ColumnRequest
from vrspam.data.request import first_look, request_of
from vrspam.data.source import Source
from vrspam.measures.compare import Comparison  # noqa: F401 (a public name of `vrspam.tool`)
from vrspam.measures.rows import ScoredRows
from vrspam.model.outcome import Outcome
from vrspam.tables.decide import ColumnRules
from vrspam.tables.schema import Label
from vrspam.tool.conflicts import holds_labels
from vrspam.tool.plan import TrainPlan
from vrspam.tool.scored_rows import ScoredTable, check_classes
from vrspam.tool.table import check_target

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
    skip_errors: bool = False,
    progress: bool = False,
    **reading: Any,
) -> tuple[ScoredTable, Outcome]:
    """Read labels, columns of scores, and columns such as weights and groups; and say what is ranked."""
    source = Source.open(path, **reading)
    source.check_named()
    check_target(source, target)
    pairs = TrainPlan(target=target, positive=positive, event=event, within=within).pairs
    label_column = str(pairs.get("event") or target)
    names = [scores] if isinstance(scores, str) else list(dict.fromkeys(scores))
    columns_of_options = {
        "weights": weights,
        "groups": groups,
        "folds": folds,
        **{option: name for option, name in pairs.items() if option != "event"},
    }
    beside = {option: name for option, name in columns_of_options.items() if name not in (None, INDEPENDENT)}
    _check_columns(names, beside, label_column, pairs)

    problems, path = Problems("skip" if skip_errors else "raise"), source.paths[0]
    request = ScoreRequest(path, label_column, names, beside, by)
    blocks = read_ahead(source.blocks(request.choose, 1 << 20, problems, "reading" if progress else None))
    table = _as_one_table([block.table for block in blocks if block.rows])
    if table is None:
        raise problems.nothing_left(path)
    labels, codes = labels_of(table.column(label_column), problems)
    if not labels:
        raise problems.nothing_left(path)
    problems.warn()

    has_order = "order" in pairs
    known_labels, best = ((), "") if has_order else choose_positive(labels, positive, event)
    values = {name: ordered_numbers(table, name, path, "scores") for name in names}
    kept, notes = with_all_scores(values, codes >= 0)
    is_positive = np.array([has_order or label == best for label in labels])[codes]
    if not kept.all():
        table = _some_rows(table, kept)
        values = {name: column[kept] for name, column in values.items()}
        is_positive = is_positive[kept]
    if "event" not in pairs and not has_order:
        check_classes(is_positive, path)

    arrays = beside_values(table, beside, path, least_groups=2)
    columns = {}
    for name, column in values.items():
        columns[name] = ScoredRows(is_positive, column, column if holds_chances(column, pairs) else None, **arrays)
    levels = {name: plain_values(table, name) for name in by}
    return ScoredTable(columns, notes, levels), Outcome.of(label_column, best, tuple(known_labels), pairs)


def _check_columns(names: Sequence[str], beside: Mapping[str, str], label: str, pairs: Mapping[str, Any]) -> None:
    """Refuse columns of scores, or of weights and groups, that say something else."""
    if not names:
        raise DataError(Fix("scores"), " names no column: name one at least")
    for option, name in [*(("scores", name) for name in names), *beside.items()]:
        if name == label and option != "order":
            raise holds_labels(name, option)
        if option == "scores" and name in pairs.values():
            raise DataError(f"column {name!r} says which rows are compared: name another with ", Fix(option))


class ScoreRequest:
    """Which columns of a table are read, and as what, once the types of its columns are known."""

    def __init__(self, path: str, label: str, scores: Sequence[str], beside: dict[str, str], by: Sequence[str]):
        self.path, self.label = path, label
        self.scores, self.beside, self.by = scores, beside, by

    def choose(self, types: Mapping[str, Any]) -> ColumnRequest:
        """The label, the scores and what stands beside them; two columns may name groups together."""
        schema = first_look(types, self.label, ColumnRules(path=self.path), columns=[]).schema
        split_groups(self.beside, types)
        wanted = list(dict.fromkeys([*self.scores, *self.beside.values(), *self.by]))
        for name in wanted:
            if name not in types:
                raise DataError(no_column(self.path, name, types))
        names_of_rows = {self.label, *(self.beside.get(option) for option in ("groups", GROUPS_TOO, "within", "folds"))}
        numbers = []  # what is text in a file of text may still be numbers
        for name in wanted:
            if type_kind(types[name]) in ("number", "bool") and name not in names_of_rows:
                numbers.append(name)
        as_numbers = request_of(Schema(tuple(dict.fromkeys(numbers)))).types
        return ColumnRequest({**request_of(schema, keep=wanted).types, **as_numbers}, lenient=True)


def holds_chances(scores: np.ndarray, pairs: Mapping[str, Any]) -> bool:
    """Whether scores are taken as probabilities: they all lie between 0 and 1, and do more than rank pairs."""
    return not pairs and bool(scores.min() >= 0.0 and scores.max() <= 1.0)


def _as_one_table(batches: list[Any]) -> Any:
    """Batches of arrow columns below each other; None if there are none."""
    import pyarrow as pa

    return pa.Table.from_batches(batches) if batches else None


def _some_rows(table: Any, kept: np.ndarray) -> Any:
    """The rows of an arrow table that are kept."""
    import pyarrow as pa

    return table.filter(pa.array(kept))


def labels_of(column: Any, problems: Problems) -> tuple[list[Label], np.ndarray]:
    """The label of each code, and the code of each row, negative without a label; `problems` counts such rows."""
    coded = column.combine_chunks().dictionary_encode()
    codes = coded.indices.fill_null(-1).to_numpy()
    texts = [value.strip() if isinstance(value, str) else value for value in coded.dictionary.to_pylist()]
    empty = [code for code, value in enumerate(texts) if value == "" or value != value]
    if empty:
        codes = np.where(np.isin(codes, empty), -1, codes)
    problems.unlabelled = int((codes < 0).sum())
    counts = np.bincount(codes[codes >= 0], minlength=len(texts)).tolist()
    spelling = one_spelling({text: count for text, count in zip(texts, counts, strict=True) if count})
    if not spelling:
        return [], codes
    any_label = next(iter(spelling))  # of codes that no row has
    return [spelling.get(text, any_label) for text in texts], codes


def with_all_scores(
    scores: Mapping[str, np.ndarray], labelled: np.ndarray | None = None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return which rows (of those that are `labelled`) have all scores, and a note on the others."""
    empty = {name: np.isnan(values) for name, values in scores.items()}
    if labelled is None:
        labelled = np.ones(next(iter(empty.values())).size, dtype=bool)
    missing = {name: int((gaps & labelled).sum()) for name, gaps in empty.items()}
    missing = {name: count for name, count in missing.items() if count}
    if not missing:
        return labelled, ()
    kept = labelled & ~np.logical_or.reduce(list(empty.values()))
    where = ", ".join(f"'{name}' ({count:,} rows)" for name, count in missing.items())
    if not kept.any():
        raise DataError(f"no row has all scores: they are missing in {where}; fill them in, or name other columns")
    n_left_out = int(labelled.sum() - kept.sum())
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
