"""`read_chunks`: files of any size as a stream of (X, y) blocks."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from vrspam._utils.messages import Parameter, WordedError
from vrspam._utils.texts import show_texts
from vrspam._utils.validation import LARGEST_EXACT
from vrspam._utils.warnings import IntegersRounded, UnseenValues, warn
from vrspam.data.readers import PathLike, Source
from vrspam.data.readers.arrow_reader import is_exact
from vrspam.data.readers.base import (
    ColumnRequest,
    DataError,
    Problems,
    Skipped,
    as_batch,
    as_table,
    block_size,
    read_ahead,
)
from vrspam.data.schema import Schema, encode_block, find_labels, infer_schema, read_blocks
from vrspam.tables.schema import SEVERAL, Comparison, Label, TableSchema, share_of_rows

#: Rows are handed out dense when more than this share of their entries can be other than zero.
DENSE_ABOVE = 0.1


class Chunks:
    """A stream of (X, y) blocks of bounded size that can be read more than once; made by `read_chunks`.

    Parameters
    ----------
    source : Source
        The files and their reader.
    schema : Schema
        How columns become features.
    unknown, sparse, chunk_rows, progress
        As in `read_chunks`.
    keep : sequence of str, or callable
        Columns to pass on unchanged with each block; or a function that chooses them from the columns of the file. It
        is called once, when the first file is opened.
    on_error : {"raise", "skip", "keep"}, default="raise"
        As in `read_chunks`. "keep" is for predictions: blocks are then (X, labels or None, kept columns, broken rows),
        see `vrspam.data.readers.base.BrokenRow`.
    raw : bool, default=False
        Do not encode the rows of a table: X is an arrow table, categories are text, and missing values stay missing
        (NaN in arrays).
    lenient : bool, default=False
        Take text in columns of numbers as missing, and leave out rows without a label. If False, one warning names
        the columns whose integers lose digits as floats.
    compared : bool, default=False
        Count in `unseen` the values that the schema does not know (not for LIBSVM). Refuse columns of which most values
        cannot be read, except those in `allow_missing`.
    allow_missing : sequence of str

    Attributes
    ----------
    schema : Schema
        The columns, categories and fill values in use.
    feature_names_, n_features : tuple of str, int
        The names of the columns of X, and their number.
    classes : ndarray
        The sorted labels; if the schema has none, the first access reads the whole label column.
    n_rows, n_bytes : int
        The number of rows if the headers of all files give it (None for text), and the size of all files on disk.
    skipped_, n_skipped_, n_skipped_rows_ : list of Skipped, int, int
        The parts that the last reading left out (at most 1,000 are listed), their number, and the number of known rows.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from vrspam.data import read_chunks
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.csv"
    >>> _ = path.write_text("age,sex,sick\\n30,f,no\\n40,m,yes\\n50,f,yes\\n")
    >>> chunks = read_chunks(path, "sick")
    >>> chunks.feature_names_, chunks.classes.tolist()
    (('age', 'sex=f', 'sex=m'), ['no', 'yes'])
    """

    def __init__(
        self,
        source: Source,
        schema: Schema,
        *,
        unknown: str = "error",
        keep: Sequence[str] | Callable[[Mapping[str, Any]], Sequence[str]] = (),
        sparse: bool | None = None,
        chunk_rows: int | None = None,
        on_error: str = "raise",
        progress: bool = False,
        raw: bool = False,
        lenient: bool = False,
        compared: bool = False,
        allow_missing: Sequence[str] = (),
    ) -> None:
        if unknown not in ("error", "ignore"):
            raise DataError("{given} is not known; give 'error' or 'ignore'", given=Parameter("unknown", unknown))
        if chunk_rows is not None and chunk_rows < 1:
            raise DataError("{given} must be at least 1", given=Parameter("chunk_rows", chunk_rows))
        if source.reader.sparse or schema.width is not None:
            readable = source.reader.sparse and schema.width is not None
        else:
            readable = source.reader.tabular or (all(map(str.isdigit, schema.numeric)) and not schema.categorical)
        if not readable:
            raise DataError(
                "{path} is read as {title}, but {kind} is needed; give such a file, or name its format with {format}",
                path=source.paths[0],
                title=source.reader.title,
                kind="a table" if schema.width is None else "a LIBSVM file",
            )
        self.source, self.schema, self.n_features = source, schema, schema.n_features
        self.unknown, self.progress, self.on_error = unknown, progress, on_error
        self._choose_kept = keep if callable(keep) else None  # called once
        self.keep: list[str] = [] if callable(keep) else list(keep)
        self.chunk_rows = chunk_rows
        self._tabular = source.reader.tabular
        self.raw, self.lenient, self.compared, self.allow_missing = raw, lenient, compared, allow_missing
        self._rounded: dict[str, bool] | None = None if lenient else {}  # columns, and whether a warning has named them
        self._integers: dict[str, list[int]] = {}  # places of the columns of integers in each file
        self.unseen: Comparison | None = None
        self.learns = False  # `read_chunks` sets it for a schema that was found in the first rows
        self.tells_unread = False  # `read_chunks` sets it for a schema that was given: no first pass has named the text
        self.watch: Callable[[Any], None] | None = None  # called with the feature columns of each block
        if self.keep:
            source.check_named("keep")
        inputs = len(schema.numeric) + len(schema.categorical)
        wide = self._tabular and inputs <= DENSE_ABOVE * schema.n_features
        self.sparse = (wide or source.reader.sparse) if sparse is None else sparse
        self._problems = Problems(on_error, lenient)

    @property
    def feature_names_(self) -> tuple[str, ...]:
        return self.schema.feature_names

    @cached_property
    def n_rows(self) -> int | None:
        return self.source.n_rows

    @cached_property
    def n_bytes(self) -> int:
        return self.source.n_bytes

    @cached_property
    def classes(self) -> np.ndarray:
        labels: tuple[Label, ...] | None = self.schema.labels
        if labels is None:
            if self._tabular and self.schema.target is None:
                raise DataError("no label column is read here; give {target}", target=Parameter("target"))
            labels = find_labels(self.source, self.schema, Problems(self.on_error, self.lenient))
        return np.array(labels)

    @property
    def skipped_(self) -> list[Skipped]:
        return self._problems.notes

    @property
    def n_skipped_(self) -> int:
        return self._problems.count

    @property
    def n_skipped_rows_(self) -> int:
        return self._problems.rows

    def keeping(self, names: Sequence[str]) -> Chunks:
        """Return the same stream with other kept columns."""
        other = copy(self)
        other.keep, other._choose_kept, other.progress = list(names), None, False
        return other

    def _wanted(self, columns: Mapping[str, Any]) -> ColumnRequest:
        """Return what to read of a table with these columns."""
        if self._choose_kept is not None:
            self.keep, self._choose_kept = list(self._choose_kept(columns)), None
        return self.schema.wanted(True, self.keep)._replace(lenient=self.lenient, learns=self.learns)

    def nothing_left(self) -> DataError:
        """Return the error to raise if the last reading gave no row."""
        return self._problems.nothing_left(self.source.paths[0])

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        self._problems = problems = Problems(self.on_error, self.lenient)
        if self.compared and not self.source.reader.sparse:
            self.unseen = Comparison(self.schema)
        elif self.tells_unread:
            self.unseen = Comparison(TableSchema())  # which knows no column: only unread text is counted
        blocks = self._encoded(problems)
        # Arrow reads without Python's lock; the LIBSVM parser holds it, so another thread would gain nothing.
        yield from read_ahead(blocks) if self._tabular else blocks
        n_rows, strays = (0, {}) if self.unseen is None or self.tells_unread else (self.unseen.rows, self.unseen.strays)
        for name, texts in strays.items():
            if name not in self.allow_missing and n_rows >= SEVERAL and 2 * sum(texts.values()) > n_rows:
                raise WordedError(
                    "column {column!r} holds text where training had other values, in {share} ({examples}): correct "
                    "it, or let it count as missing with {allow}",
                    column=name,
                    share=share_of_rows(sum(texts.values()), n_rows),
                    examples=show_texts([text for text, _ in texts.most_common(4)]),
                    allow=Parameter("allow_missing", [name]),
                )
        problems.warn()
        if self.tells_unread and self.unseen is not None and (said := self.unseen.sentences()):
            warn(UnseenValues(tuple(said)))
        if new := [name for name, is_named in (self._rounded or {}).items() if not is_named]:
            self._rounded = dict.fromkeys(self._rounded or (), True)
            warn(IntegersRounded(tuple(new)))

    def _look_for_rounded(self, rounded: dict[str, bool], file: str, X: Any) -> None:
        """Note columns of integers that may have lost digits as 64-bit floats; X begins with the numeric columns."""
        if file not in self._integers:
            kinds = {} if self.source.reader.sparse else self.source.reader.columns(file)
            exact = {name for name, kind in kinds.items() if is_exact(kind)}
            self._integers[file] = [j for j, name in enumerate(self.schema.numeric) if name in exact]
        if places := self._integers[file]:
            largest = abs(X[:, places]).max(axis=0)
            largest = largest if isinstance(largest, np.ndarray) else largest.toarray().ravel()
            for j in np.array(places)[largest >= LARGEST_EXACT].tolist():  # 2⁵³ + 1 has become 2⁵³
                rounded.setdefault(self.schema.numeric[j], False)

    def _encoded(self, problems: Problems) -> Generator[tuple[Any, ...], None, None]:
        label = "reading" if self.progress else None
        n_inputs = max(len(self.schema.numeric) + len(self.schema.categorical), 1)
        rows = self.source.block_bytes // (8 * max(self.schema.n_features, 1))
        if self.source.reader.sparse and self.sparse:
            rows = 1 << 62  # the text of a block bounds it
        elif self.sparse or (self.raw and self._tabular):
            rows = block_size(self.source.block_bytes, 2 * n_inputs) // (16 * n_inputs)
        rows = max(1, min(rows, self.chunk_rows or rows))
        if self._tabular:
            blocks = self.source.blocks(self._wanted, rows, problems, label)
        else:
            blocks = read_blocks(self.source, self.schema, rows, problems, label)
        for part in (part for block in blocks for part in (block.split(rows) if block.rows > rows else (block,))):
            if self._tabular:
                batch, strays = part.table, dict[Any, Any]()
                if self.schema.readings:  # text is read as numbers and dates
                    table, strays = self.schema.read(as_table(batch))
                    batch = as_batch(table)
                if part.rows and (self.unseen is not None or self.watch is not None):
                    columns, target = as_table(batch, self.schema.columns), self.schema.target
                    if self.lenient and target is not None and batch.column(target).null_count:  # rows to be left out
                        labelled = batch.column(target).is_valid()
                        columns = columns.filter(labelled)
                        strays = self.schema.read(as_table(part.table).filter(labelled))[1] if strays else {}
                    if self.unseen is not None:  # what training did not have is counted
                        others = {name: texts for name, texts in part.strays.items() if name != target}
                        self.unseen.add(columns, others | strays)
                    if self.watch is not None:
                        self.watch(columns)
                part = replace(part, table=batch, raw=part.table)
            elif self.unseen is not None:
                self.unseen.add(part.X, names=self.schema.numeric)
            how: dict[str, Any] = {"keep": self.keep, "sparse": self.sparse, "unknown": self.unknown, "raw": self.raw}
            encoded = encode_block(part, self.schema, problems, **how, zero_based=self.source.zero_based)
            if encoded is not None and self.on_error != "keep":
                if self._rounded is not None:
                    self._look_for_rounded(self._rounded, part.file, encoded[0])
                if self.watch is not None and not self._tabular:
                    self.watch(encoded[0])
            if encoded is not None:
                yield encoded if self.keep or self.on_error == "keep" else encoded[:2]


def read_chunks(
    path: PathLike | Sequence[PathLike],
    target: str | int | None = None,
    *,
    schema: Schema | None = None,
    columns: Sequence[str | int] | None = None,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    categories: Mapping[str, Sequence[str]] | None = None,
    missing: str | float = "error",
    unknown: str = "error",
    keep: Sequence[str] = (),
    sparse: bool | None = None,
    chunk_rows: int | None = None,
    chunk_bytes: int = 8 << 20,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    zero_based: bool | None = None,
    n_features: int | None = None,
    max_categories: int = 1000,
    on_error: str = "raise",
    progress: bool = False,
) -> Chunks:
    """Read files of any size as (X, y) blocks: LIBSVM, CSV, Parquet, Arrow/Feather, `.npy`.

    Text may be compressed (gzip, bzip2, xz). Numeric columns come first in X, then one 0/1 column for each category
    of each categorical column. If needed, a first pass finds the categories, the means, and whether text holds numbers
    or dates: these become columns of numbers, and text that differs in nearly every row is left out. A warning names
    such columns.

    Parameters
    ----------
    path : path, directory, pattern or list of paths
        The files are read as one stream, those of a directory or a pattern in order of their names.
    target : str or int, optional
        The label column. For `.npy`: its number, or the path of a `.npy` file of labels. Without it, y is None. LIBSVM
        files take no `target`: each line begins with its label.
    schema : Schema, optional
        The columns as found earlier (`Schema.infer`, `Chunks.schema`), instead of `target`, `columns`, `drop`,
        `categorical`, `categories`, `missing` and `n_features`.
    columns, drop : sequence of str, optional
        The columns to take (default: all but `target`), even if their text only identifies the rows; and those to leave
        out. Column numbers from 0 for `.npy`, indices as in the file for LIBSVM.
    categorical : sequence of str, optional
        Columns to take as categories although they hold numbers, dates, or text that differs in nearly every row.
    categories : dict of str to sequence of str, optional
        The categories of some columns, where they are known; the others are found in a first pass.
    missing : {"error", "mean"} or float, default="error"
        Refuse missing values; or replace them by the column's mean (found in a first pass), or by this number. A
        missing category is then a row of zeros. A missing label is always refused.
    unknown : {"error", "ignore"}, default="error"
        What to do with a category that the schema does not have: refuse it, or take it as a row of zeros.
    keep : sequence of str, optional
        Columns to pass on unchanged, such as an identifier: blocks are then (X, y, arrow record batch). By default they
        are not features.
    sparse : bool, optional
        True for CSR blocks, False for dense ones. By default CSR for LIBSVM, and where at most a tenth of the
        entries can be other than zero.
    chunk_rows : int, optional
        The largest number of rows in a block.
    chunk_bytes : int, default=8 MiB
        The approximate size of a block: of the text that is read at once, and of its X.
    format : str, optional
        A name in `vrspam.data.readers.READERS`: "csv", "libsvm", ...
        By default found from the file name, else from the content.
    delimiter : str, optional
        For CSV files; by default comma, semicolon, tab or bar, whichever is most frequent in the header.
    encoding : str, optional
        For CSV files: "utf-8", "windows-1252", "latin-1", "utf-16" or another name of Python; by default found from the
        bytes.
    zero_based : bool, optional
        LIBSVM indices start at 0; by default they do if `schema` says so, else at 1.
    n_features : int, optional
        For LIBSVM files; by default found in a first pass.
    max_categories : int, default=1000
        A column with more categories, or with more than 100,000, is refused.
    on_error : {"raise", "skip"}, default="raise"
        At a broken line, row, row group or file: stop, naming file, block and line; or leave it out, note it in
        `skipped_`, and warn at the end.
    progress : bool, default=False
        Show the share done, rows per second and the time left on the standard error stream.

    Returns
    -------
    Chunks
        Iterate over it as often as needed: each time it yields (X, y) blocks of float64 features. A warning at the end
        of the first iteration names columns of integers beyond 2⁵³, which float64 rounds.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from vrspam.data import read_chunks
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "patients.csv"
    >>> _ = path.write_text("age,sex,sick\\n61,f,yes\\n52,m,no\\n47,f,no\\n")
    >>> chunks = read_chunks(path, target="sick", chunk_rows=2)
    >>> chunks.feature_names_
    ('age', 'sex=f', 'sex=m')
    >>> for X, y in chunks:
    ...     print(X.tolist(), y.tolist())
    [[61.0, 1.0, 0.0], [52.0, 0.0, 1.0]] ['yes', 'no']
    [[47.0, 1.0, 0.0]] ['no']
    """
    source = Source.open(
        path,
        format,
        delimiter=delimiter,
        encoding=encoding,
        zero_based=zero_based,
        zero_based_before=schema is not None and schema.zero_based,
        trained=None if schema is None else schema.writing,
        chunk_bytes=chunk_bytes,
    )
    asked: dict[str, Any] = {"columns": columns, "categorical": categorical, "categories": categories}
    asked |= {"n_features": n_features, "missing": missing}
    given = schema is not None
    if schema is None:
        asked |= {"drop": [*drop, *keep] if columns is None else drop, "max_categories": max_categories}
        schema = infer_schema(source, target, labels=False, **asked, problems=Problems(on_error), progress=progress)
    elif any(
        (drop, categorical, categories, missing != "error", *(v is not None for v in (target, columns, n_features)))
    ):
        raise DataError(
            "{schema} already says target, columns, categories and missing: give it alone, or infer it with the others "
            "(Schema.infer)",
            schema=Parameter("schema"),
        )
    how: dict[str, Any] = {"unknown": unknown, "keep": keep, "sparse": sparse, "chunk_rows": chunk_rows}
    chunks = Chunks(source, schema, **how, on_error=on_error, progress=progress)
    chunks.learns = not given
    chunks.tells_unread = given and bool(schema.readings) and schema.fill is not None
    return chunks
