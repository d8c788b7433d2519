"""Open a training file: its columns, its labels as booleans, and notes about the data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from vrspam._utils.messages import Parameter
from vrspam.data import Chunks, DataError, Schema
from vrspam.data.chunks import read_ahead
from vrspam.data.encode import check_table, encode_rows
from vrspam.data.errors import Problems, no_column
from vrspam.data.first_pass import Label, Means
from vrspam.data.readers import Source
from vrspam.data.schema import infer_schema
from vrspam.features.frames import rows_of
from vrspam.tool.beside import beside_values, check_beside
from vrspam.tool.columns import ColumnInspector

BLOCK_ROWS = 1 << 15
ONE_PIECE = 1 << 30  # bytes up to which columns in memory are made one piece


@dataclass(frozen=True)
class OpenedTable:
    """Labelled rows of a file, in memory or to be read block by block as often as needed.

    Rows are arrow tables of typed columns, or arrays for files without names; `encode` makes features of them.
    `loaded` are all rows, and whether each is positive, where they are in memory. `grouped` are the columns of more
    than `max_categories` categories, whose rare ones count as one. `weights`, `groups` and `time` are columns beside
    the features, of rows in memory.
    """

    chunks: Chunks
    positive: Label
    identifiers: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    loaded: tuple[Any, np.ndarray] | None = None
    max_categories: int = 1000
    grouped: tuple[str, ...] = ()
    weights: np.ndarray | None = None
    groups: np.ndarray | None = None
    time: np.ndarray | None = None
    weights_column: str | None = None

    @property
    def schema(self) -> Schema:
        return self.chunks.schema

    @property
    def n_rows(self) -> int | None:
        return self.chunks.n_rows if self.loaded is None else self.loaded[1].size

    @property
    def relative_weights(self) -> np.ndarray | None:
        """The weights of rows in memory with the mean 1: only their ratios count, not their unit."""
        return None if self.weights is None else self.weights / self.weights.mean()

    def check_columns(self, names: Sequence[str]) -> None:
        """Refuse columns, named with `by`, that the file does not have, that hold the labels, or that are not kept."""
        source = self.chunks.source
        if names and (self.loaded is None or not source.reader.tabular):
            raise DataError(
                "{by} needs the named columns of a table in memory: leave it out", by=Parameter("by", list(names))
            )
        known = list(source.reader.columns(source.paths[0])) if names else []
        for name in names:
            if name not in known:
                raise DataError(no_column(source.paths[0], name, known))
            if name == self.schema.target:
                raise DataError(
                    "column {column!r} holds the labels: name another with {by}", column=name, by=Parameter("by")
                )

    def take(self, places: np.ndarray) -> OpenedTable:
        """The table with some of its rows, all in memory."""
        rows, positive = self.load_rows()
        beside = {name: getattr(self, name) for name in ("weights", "groups", "time")}
        some: Any = {name: None if values is None else values[places] for name, values in beside.items()}
        return replace(self, loaded=(rows_of(rows, places), positive[places]), **some)

    def blocks(self) -> Iterator[tuple[Any, np.ndarray, np.ndarray | None]]:
        """Yield (rows as they are, whether each is positive, weights or None); rows in memory are one block."""
        if self.loaded is not None:
            yield *self.loaded, self.weights
            return
        for rows, labels, *more in self.chunks:
            weights = None
            if self.weights_column is not None:
                path = self.chunks.source.paths[0]
                weights = beside_values(more[0], {"weights": self.weights_column}, path)["weights"]
            yield rows, labels == self.positive, weights

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Yield blocks of (encoded rows, whether each is positive), with weights where there are some."""
        for rows, positive, weights in self.blocks():
            yield (self.encode(rows), positive) if weights is None else (self.encode(rows), positive, weights)

    def encode(self, rows: Any) -> Any:
        """Features of rows: missing numbers are replaced by their means, categories are one-hot."""
        return encode_rows(rows, self.schema, sparse=self.chunks.sparse)

    def load_rows(self) -> tuple[Any, np.ndarray]:
        """All rows as they are, and whether each is positive."""
        if self.loaded is not None:
            return self.loaded
        found = list(self.blocks())
        if not found:
            raise self.chunks.nothing_left()
        return stack([rows for rows, *_ in found]), np.concatenate([positive for _, positive, _ in found])

    def load(self) -> tuple[Any, np.ndarray]:
        """All rows encoded, and whether each is positive."""
        rows, positive = self.load_rows()
        return self.encode(rows), positive


def stack(parts: list[Any]) -> Any:
    """Blocks of rows, arrow tables or arrays, below each other."""
    if len(parts) == 1:
        return parts[0]
    if sparse.issparse(parts[0]):
        return sparse.csr_array(sparse.vstack(parts))
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    import pyarrow as pa

    whole = pa.concat_tables(parts)
    if whole.nbytes >= ONE_PIECE:
        return whole
    with ThreadPoolExecutor() as pool:
        columns = list(pool.map(lambda column: column.combine_chunks(), whole.columns))
    return pa.Table.from_arrays(columns, schema=whole.schema)


def open_labelled(
    path: Any,
    target: str | None,
    positive: str | None = None,
    *,
    drop: Sequence[str] = (),
    include: Sequence[str] = (),
    categorical: Sequence[str] = (),
    max_categories: int = 1000,
    dates: str = "features",
    weights: str | None = None,
    groups: str | None = None,
    time: str | None = None,
    skip_errors: bool = False,
    progress: bool = False,
    streaming: bool = False,
    **reading: Any,
) -> OpenedTable:
    """Find the columns and labels of a file.

    Parameters
    ----------
    path : path, directory, pattern or list of paths
    target : str or None
        The label column; None for LIBSVM files.
    positive : str, optional
        The positive label as text; with several labels all others stand against it. By default the larger of two.
    drop, include, categorical : sequence of str
        Columns to leave out, to keep although they look like identifiers, and to take as categories.
    max_categories : int
        Of a text column with more the most frequent are kept, and the others count as one.
    dates : {"features", "drop"}
        Whether dates become features (position in time, month, weekday, hour) or are left out.
    weights, groups, time : str, optional
        Columns of weights of rows, of groups that folds keep together, and of times; they are no features.
    skip_errors : bool
        Leave out broken lines and rows instead of stopping at the first.
    progress : bool
        Show a progress line.
    streaming : bool
        Do not keep the rows of a table in memory.
    **reading
        `format`, `delimiter` and `zero_based` of `vrspam.data.read_chunks`.

    Returns
    -------
    OpenedTable
    """
    if dates not in ("features", "drop"):
        raise DataError("{given} is not known; give features or drop", given=Parameter("dates", dates))
    source = Source.open(path, **reading)
    on_error = "skip" if skip_errors else "raise"
    check_target(source, target)
    beside = {option: name for option, name in (("weights", weights), ("groups", groups), ("time", time)) if name}
    if not source.reader.tabular:
        named = {"drop": drop, "include": include, "categorical": categorical, **beside}
        return _open_unnamed(source, target, positive, named, on_error, progress, max_categories)
    check_beside(beside, str(target), drop)
    inspector = ColumnInspector(
        source.paths[0],
        str(target),
        drop=drop,
        include=include,
        categorical=categorical,
        max_categories=max_categories,
        dates=dates,
        beside=dict.fromkeys(beside.values()),
    )
    problems = Problems(on_error, leave_unlabelled=True)
    loaded = _read_table(source, inspector, problems, progress, keep=not streaming)
    schema = inspector.finish()
    if loaded is not None:
        with ThreadPoolExecutor() as pool:  # arrow does without Python's lock
            parts = pool.map(lambda part: schema.read(part)[0].select(list(schema.columns)), loaded.frames)
        frame = stack(list(parts))
        schema = _with_means(schema, [frame])
    elif schema.readings:
        again = Chunks(source, schema, unknown="ignore", on_error=on_error, raw=True, lenient=True)
        schema = _with_means(schema, (rows for rows, *_ in again))
    label = choose_positive(schema.labels or (), positive)
    columns = {} if loaded is None else beside_values(loaded.others, beside, source.paths[0])
    chunks = Chunks(
        source,
        schema,
        unknown="ignore",
        keep=[weights] if weights else (),
        on_error=on_error,
        progress=progress,
        raw=True,
        lenient=True,
    )
    return OpenedTable(
        chunks,
        label,
        tuple(inspector.identifiers),
        tuple(inspector.notes),
        None if loaded is None else (frame, loaded.labels == label),
        max_categories,
        tuple(inspector.grouped),
        weights_column=weights,
        **columns,
    )


def _open_unnamed(
    source: Source,
    target: str | None,
    positive: str | None,
    named: dict[str, Any],
    on_error: str,
    progress: bool,
    max_categories: int,
) -> OpenedTable:
    """Open a file whose columns have numbers instead of names."""
    for option, given in named.items():
        if given:
            raise DataError(
                "a {format} file has no named columns; leave {option} out",
                format=source.reader.title,
                option=Parameter(option),
            )
    missing = 0.0 if source.reader.sparse else "mean"
    problems = Problems(on_error, leave_unlabelled=True)
    schema = infer_schema(source, target, labels=True, missing=missing, problems=problems, progress=progress)
    chunks = Chunks(source, schema, unknown="ignore", on_error=on_error, progress=progress, raw=True, lenient=True)
    return OpenedTable(chunks, choose_positive(schema.labels or (), positive), max_categories=max_categories)


def _with_means(schema: Schema, tables: Iterable[Any]) -> Schema:
    """The schema with the means and ranges of the columns that text and dates became."""
    made = [name for name, value in zip(schema.numeric, schema.fill or (), strict=True) if np.isnan(value)]
    if not made:
        return schema
    means = Means(made)
    for table in tables:
        means.add_table(table)
    known = dict(zip(made, means.values("the table"), strict=True))
    fill = tuple(known.get(name, value) for name, value in zip(schema.numeric, schema.fill or (), strict=True))
    return replace(schema, fill=fill, ranges={**schema.ranges, **means.ranges})


def check_target(source: Source, target: str | None) -> None:
    """Ask for the label column, unless the rows of the file carry their labels."""
    if target is None and not source.reader.sparse:
        raise DataError(
            "which column of {path} holds the labels? Name it with {target}",
            path=source.paths[0],
            target=Parameter("target"),
        )


class LoadedTable(NamedTuple):
    """All rows of a table: numbers and text as they are, in blocks, columns that are no features, and labels."""

    frames: list[Any]
    others: Any
    labels: np.ndarray


def _read_table(
    source: Source, inspector: ColumnInspector, problems: Problems, progress: bool, keep: bool
) -> LoadedTable | None:
    """Read a table once, show its blocks to the inspector, and keep them if they are to stay in memory."""
    import pyarrow as pa

    frames, others, labels = [], [], []
    for block in read_ahead(source.blocks(inspector.choose, BLOCK_ROWS, problems, "reading" if progress else None)):
        checked = check_table(block, inspector.schema, inspector.handed_on, problems) if block.rows else None
        if checked is not None:
            frame, y, other = checked
            assert y is not None
            inspector.add(frame, other, y, block.strays)
            if keep:
                for name in inspector.times_seen:
                    frame = frame.append_column(name, other.column(name))
                frames.append(frame)
                others.append(pa.Table.from_batches([other]).select(list(inspector.beside)))
                labels.append(y)
    problems.warn()
    if not hasattr(inspector, "schema") or not inspector.has_rows:
        raise problems.nothing_left(source.paths[0])
    if not keep:
        return None
    return LoadedTable(frames, stack(others), np.concatenate(labels))


def choose_positive(labels: Sequence[Label], wanted: str | None) -> Label:
    """The label to rank above the others.

    >>> choose_positive((0, 1), None), choose_positive(("ill", "well"), "ill"), choose_positive((-1.0, 1.0), "-1")
    (1, 'ill', -1.0)
    """
    shown = ", ".join(" ".join(str(label).split()) for label in labels[:10]) + (", ..." if len(labels) > 10 else "")
    if len(labels) < 2:
        raise DataError(f"the label column holds only {shown or 'missing values'}: rows of two classes are needed")
    if wanted is None:
        if len(labels) > 2:
            raise DataError(
                "the label column holds {count} different values ({shown}): name the positive one with {positive}, all "
                "others then stand against it",
                count=len(labels),
                shown=shown,
                positive=Parameter("positive"),
            )
        return labels[-1]
    for same in (_same_text, _same_number, _same_word):
        for label in labels:
            if same(label, wanted):
                return label
    raise DataError(f"no row has the label {wanted!r}; there are {shown}")


def _same_text(label: Label, text: str) -> bool:
    return str(label) == text


def _same_word(label: Label, text: str) -> bool:
    return str(label).casefold() == text.casefold()


def _same_number(label: Label, text: str) -> bool:
    try:
        return not isinstance(label, str) and float(label) == float(text)
    except ValueError:
        return False
