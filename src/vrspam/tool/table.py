"""Open a training file: its columns, its labels as booleans, and notes about the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from vrspam._utils.messages import Parameter
from vrspam.data import Chunks, DataError, Schema
from vrspam.data.encode import check_table, encode_rows
from vrspam.data.errors import Problems
from vrspam.data.first_pass import Label
from vrspam.data.readers import Source
from vrspam.data.schema import infer_schema
from vrspam.tool.columns import ColumnInspector

BLOCK_ROWS = 1 << 15
ONE_PIECE = 1 << 30  # bytes up to which columns in memory are made one piece


@dataclass(frozen=True)
class OpenedTable:
    """Labelled rows of a file, in memory or to be read block by block as often as needed.

    Rows are arrow tables of typed columns, or arrays for files without names; `encode` makes features of them.
    `loaded` are all rows, and whether each is positive, where they are in memory. `grouped` are the columns of more
    than `max_categories` categories, whose rare ones count as one.
    """

    chunks: Chunks
    positive: Label
    identifiers: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    loaded: tuple[Any, np.ndarray] | None = None
    max_categories: int = 1000
    grouped: tuple[str, ...] = ()

    @property
    def schema(self) -> Schema:
        return self.chunks.schema

    @property
    def n_rows(self) -> int | None:
        return self.chunks.n_rows if self.loaded is None else self.loaded[1].size

    def blocks(self) -> Iterator[tuple[Any, np.ndarray]]:
        """Yield (rows as they are, whether each is positive); rows in memory are one block."""
        if self.loaded is not None:
            yield self.loaded
            return
        for rows, labels in self.chunks:
            yield rows, labels == self.positive

    def __iter__(self) -> Iterator[tuple[Any, np.ndarray]]:
        """Yield blocks of (encoded rows, whether each is positive)."""
        for rows, positive in self.blocks():
            yield self.encode(rows), positive

    def encode(self, rows: Any) -> Any:
        """Features of rows: missing numbers are replaced by their means, categories are one-hot."""
        return encode_rows(rows, self.schema, sparse=self.chunks.sparse)

    def load_rows(self) -> tuple[Any, np.ndarray]:
        """All rows as they are, and whether each is positive."""
        if self.loaded is not None:
            return self.loaded
        found = list(self.blocks())
        if not found:
            raise DataError(f"{self.chunks.source.paths[0]} has no rows; get it again")
        return stack([rows for rows, _ in found]), np.concatenate([positive for _, positive in found])

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
    return whole.combine_chunks() if whole.nbytes < ONE_PIECE else whole


def open_labelled(
    path: Any,
    target: str | None,
    positive: str | None = None,
    *,
    drop: Sequence[str] = (),
    include: Sequence[str] = (),
    categorical: Sequence[str] = (),
    max_categories: int = 1000,
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
    source = Source.open(path, **reading)
    on_error = "skip" if skip_errors else "raise"
    check_target(source, target)
    if source.reader.tabular:
        inspector = ColumnInspector(
            source.paths[0],
            str(target),
            drop=drop,
            include=include,
            categorical=categorical,
            max_categories=max_categories,
        )
        loaded = _read_table(source, inspector, Problems(on_error), progress, keep=not streaming)
        schema, identifiers, notes = inspector.finish(), tuple(inspector.identifiers), tuple(inspector.notes)
        grouped = tuple(inspector.grouped)
    else:
        for option, given in {"drop": drop, "include": include, "categorical": categorical}.items():
            if given:
                raise DataError(
                    "a {format} file has no named columns; leave {option} out",
                    format=source.reader.title,
                    option=Parameter(option),
                )
        missing = 0.0 if source.reader.sparse else "mean"
        problems = Problems(on_error)
        schema = infer_schema(source, target, labels=True, missing=missing, problems=problems, progress=progress)
        loaded, identifiers, notes, grouped = None, (), (), ()
    chunks = Chunks(source, schema, unknown="ignore", on_error=on_error, progress=progress, raw=True)
    label = choose_positive(schema.labels or (), positive)
    if loaded is not None:
        frame, labels = loaded
        loaded = frame.select(list(schema.columns)), labels == label
    return OpenedTable(chunks, label, identifiers, notes, loaded, max_categories, grouped)


def check_target(source: Source, target: str | None) -> None:
    """Ask for the label column, unless the rows of the file carry their labels."""
    if target is None and not source.reader.sparse:
        raise DataError(
            "which column of {path} holds the labels? Name it with {target}",
            path=source.paths[0],
            target=Parameter("target"),
        )


def _read_table(
    source: Source, inspector: ColumnInspector, problems: Problems, progress: bool, keep: bool
) -> tuple[Any, np.ndarray] | None:
    """Read a table once, show its blocks to the inspector, and keep them if they are to stay in memory."""
    frames, labels = [], []
    for block in source.blocks(inspector.choose, BLOCK_ROWS, problems, "reading" if progress else None):
        checked = check_table(block, inspector.schema, [], problems)
        if checked is not None:
            frame, y, _ = checked
            assert y is not None
            inspector.add(frame, y)
            if keep:
                frames.append(frame)
                labels.append(y)
    problems.warn()
    if not hasattr(inspector, "schema"):
        raise DataError(f"{source.paths[0]} has no rows; get it again")
    return (stack(frames), np.concatenate(labels)) if frames else None


def choose_positive(labels: Sequence[Label], wanted: str | None) -> Label:
    """The label to rank above the others.

    >>> choose_positive((0, 1), None), choose_positive(("ill", "well"), "ill"), choose_positive((-1.0, 1.0), "-1")
    (1, 'ill', -1.0)
    """
    shown = ", ".join(map(str, labels[:10])) + (", ..." if len(labels) > 10 else "")
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
