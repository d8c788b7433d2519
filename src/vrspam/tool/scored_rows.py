"""Labels and scores of the rows of a table by a model, with the columns beside them and what was noticed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils.findings import Fix, Note
from vrspam._utils.names import COPIES, INDEPENDENT
from vrspam._utils.roles import GROUPS_TOO
from vrspam.data import DataError
from vrspam.data.beside import beside_values, ordered_numbers, plain_values, split_groups
from vrspam.data.readers.problems import no_column
from vrspam.data.rows import stack, stack_columns
from vrspam.data.source import Source
from vrspam.data.table import Table
from vrspam.measures.auc_interval import auc_interval
from vrspam.measures.rows import ScoredRows
from vrspam.model.fingerprint import Fingerprint
from vrspam.model.model import Model
from vrspam.tool.promises import independent_share, prevalence_note, share_of_calls_note
from vrspam.tool.score_blocks import open_rows, positives_of, score_blocks

MOST_COMPARED = 20_000  # rows that are kept to look for copies where nobody asked for them


class ScoredTable(NamedTuple):
    """Scores of a table, by models (named "", or numbered) and from columns; rows that lack one are left out."""

    columns: Mapping[Any, ScoredRows]
    notes: tuple[str, ...]
    levels: Mapping[str, np.ndarray]  # the values of columns whose levels are to be judged


def score_rows(
    model: Model,
    path: Any,
    *,
    weights: str | None = None,
    groups: str | None = None,
    by: Sequence[str] = (),
    columns: Sequence[str] = (),
    skip_errors: bool = False,
    progress: bool = False,
    **reading: Any,
) -> ScoredTable:
    """Score the rows of a labelled table, in its order.

    `weights` and `groups` name columns: by default those of training, INDEPENDENT stands for none. `columns` names
    scores of other models.
    """
    named = {"weights": weights, "groups": groups, "times": None, "order": None, "within": None}
    beside, notes = dict[str, str](), list[str]()

    def choose(names: Mapping[str, Any]) -> list[str]:
        """The columns to keep beside the features."""
        chosen, missed = columns_beside(model, source.paths[0], names, named)
        beside.update(chosen)
        notes.extend(missed)
        for name in (*by, *columns):
            if name not in names:
                raise DataError(no_column(source.paths[0], name, names))
        return list(dict.fromkeys([*beside.values(), *by, *columns]))

    on_error = "skip" if skip_errors else "raise"
    stream = open_rows(model, path, labels=True, keep=choose, on_error=on_error, progress=progress, **reading)
    source = stream.source
    _check_named(source, {**named, "by": by or None}, columns)

    group_column = model.training.get("groups") if groups is None else groups
    by_copies = group_column == COPIES
    independent = group_column is None and not model.ranks
    most_kept = np.inf if by_copies else MOST_COMPARED if independent else 0
    watch = RowWatch(model.fingerprint, most_kept)
    tables = stream.read()
    positive_blocks, score_of_blocks, raw_blocks = list[Any](), list[Any](), list[Any]()
    for block in score_blocks(model, tables, watch.look):
        positive_blocks.append(positives_of(model, block.table))
        score_of_blocks.append(block.scores)
        raw_blocks.append(block.table.raw)
    if not score_of_blocks:
        raise tables.nothing_left()
    positive = np.concatenate(positive_blocks)
    scores = np.concatenate(score_of_blocks)
    raw = stack_columns(raw_blocks)
    arrays = beside_values(raw, beside, source.paths[0], least_groups=2)
    if by_copies:
        arrays["groups"] = watch.copies(positive, scores, stream.schema)
    rows = ScoredRows(positive, scores, probabilities_of(model, scores), **arrays)
    if rows.has_classes:
        check_classes(positive, source.paths[0])

    if independent:
        notes += note_on_copies(rows, watch.copies(positive, scores, stream.schema))
    notes += notes_on_rows(model, rows, watch)
    if tables.unseen is not None:
        notes += tables.unseen.sentences()
    scored = {"": rows}
    for name in columns:
        scored[name] = rows.with_scores(ordered_numbers(raw, name, "the table", "scores"))
    return ScoredTable(scored, tuple(notes), {name: plain_values(raw, name) for name in by})


def probabilities_of(model: Model, scores: np.ndarray) -> np.ndarray | None:
    """The probabilities that a model gives to scores; None if it has no calibration, or only ranks rows."""
    return None if model.ranks else model.probabilities(scores)


def check_classes(positive: np.ndarray, path: str) -> None:
    """Refuse rows that hold fewer than two of a class."""
    for rows, name in ((positive, "positive"), (~positive, "negative")):
        if rows.sum() < 2:
            raise DataError(f"an evaluation needs at least two {name} rows, and {path} has {rows.sum()}")


def _check_named(source: Source, options: Mapping[str, Any], columns: Sequence[str]) -> None:
    """Refuse options that name columns of a file whose columns have no names."""
    for option, column in options.items():
        if column not in (None, INDEPENDENT, COPIES):
            source.check_named(option)
    if columns:
        source.check_named()


# ---- columns beside the features


def columns_beside(
    model: Model, path: str, names: Any, options: Mapping[str, str | None]
) -> tuple[dict[str, str], list[str]]:
    """Return the column of each option, such as weights and groups, and notes on columns that the table lacks.

    An option names its column (INDEPENDENT stands for none), or has that of training.
    """
    chosen, missed = dict[str, str](), list[str]()
    for option, name in options.items():
        of_training = model.training.get(option)
        if option == "groups" and (pair := _two_columns(of_training if name is None else name, names)):
            chosen.update(pair)
            continue
        if name is not None:
            if name == INDEPENDENT or (name == COPIES and option == "groups"):
                continue
            if name not in names:
                raise DataError(no_column(path, str(name), names))
            chosen[option] = str(name)
        elif of_training in names:
            chosen[option] = str(of_training)
        elif of_training is not None and option in ("times", "order", "within"):
            raise DataError(no_column(path, str(of_training), names))
        elif of_training is not None and of_training != COPIES:
            missed.append(_note_on_lacking(option, path, of_training))
    return chosen, missed


def _two_columns(name: Any, names: Any) -> dict[str, str]:
    """The two columns that name groups together, by their options; nothing if one column does."""
    columns = split_groups({"groups": str(name)}, names)
    return columns if GROUPS_TOO in columns else {}


def _note_on_lacking(option: str, path: str, column: Any) -> Note:
    """The note that a table lacks the column of weights, or of groups, that training had."""
    effect = "rows count as independent, which narrows intervals"
    if option == "weights":
        effect = "rows count alike"
    sentence = f"{path} has no column {column!r}, which training had as {option}: {effect}. Name one, or add "
    return Note(sentence, Fix(option, INDEPENDENT))


# ---- what is noticed


class RowWatch:
    """Rows as they pass: which of them training had, and the first ones, in which copies are looked for."""

    def __init__(self, fingerprint: Fingerprint | None, most_kept: float):
        self.fingerprint, self.most_kept = fingerprint, most_kept
        self.of_training = set[str]()  # hashes
        self.kept = list[Any]()

    def look(self, table: Table) -> None:
        """Look at a block of rows."""
        if self.fingerprint is not None:
            self.of_training.update(self.fingerprint.find(table.rows))
        if sum(block.shape[0] for block in self.kept) < self.most_kept:
            self.kept.append(table.rows)

    def copies(self, positive: np.ndarray, scores: np.ndarray, schema: Any) -> np.ndarray:
        """Groups of equal or nearly equal rows, as in training; groups of equal scores if some rows were not kept."""
        from vrspam.checks.coded import CodedColumns
        from vrspam.checks.copies import find_copies

        if sum(block.shape[0] for block in self.kept) != scores.size:
            return np.unique(scores, return_inverse=True)[1]
        columns = CodedColumns.of(stack(self.kept), positive, schema, {})
        groups = find_copies(columns.codes, numeric=columns.numeric)
        return np.arange(scores.size) if groups is None else groups


def note_on_copies(rows: ScoredRows, copies: np.ndarray) -> list[Note]:
    """A warning if intervals would be wider, by more than chance, were copies of a row not taken for independent."""
    independent = auc_interval(rows).standard_error
    grouped = auc_interval(ScoredRows(rows.positive, rows.scores, weights=rows.weights, groups=copies)).standard_error
    beyond_chance = 1.2 + 2.0 / np.sqrt(np.unique(copies).size)
    if not grouped > beyond_chance * independent > 0.0:
        return []
    times = f"{grouped / independent:.1f} times"
    sentence = f"rows are copies of others, or nearly: intervals should be {times} as wide. Add "
    return [Note(sentence, Fix("groups", COPIES))]


def notes_on_rows(model: Model, rows: ScoredRows, watch: RowWatch) -> list[str]:
    """A warning if the model was trained on these rows, or if they are not like those of its stored threshold."""
    trained_on: list[str] = []
    if model.fingerprint is not None:
        trained_on = model.fingerprint.sentences(watch.of_training)
    if trained_on or model.threshold is None:
        return trained_on
    return notes_on_promise(model, rows)


def notes_on_promise(model: Model, rows: ScoredRows) -> list[str]:
    """A warning if labelled rows are not like those for which the threshold of the model was chosen."""
    note = prevalence_note(model.threshold, model.training, rows.positive, rows.weights, rows.groups)
    if note is None and model.threshold is not None:
        called = rows.scores >= model.threshold.threshold
        share, n_independent = independent_share(called, rows.weights, rows.groups)
        note = share_of_calls_note(model.threshold, model.training, share * n_independent, n_independent)
    return [] if note is None else [note]
