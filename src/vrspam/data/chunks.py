"""`read_chunks`: files of any size as a stream of (X, y) blocks."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from vrspam._utils.findings import Fix
from vrspam._utils.validation import LARGEST_EXACT
from vrspam._utils.warnings import IntegersRounded, warn
from vrspam.data.infer import find_labels, schema_of
from vrspam.data.readers.ahead import read_ahead
from vrspam.data.readers.arrow import is_exact
from vrspam.data.readers.block import BLOCK_BYTES
from vrspam.data.readers.problems import Problems, Skipped
from vrspam.data.source import PathLike, Source
from vrspam.data.stream import Pass, ReadingRules, Stream
from vrspam.data.table import Table
from vrspam.data.usable_rows import EncodedRows
from vrspam.tables.errors import DataError
from vrspam.tables.schema import Label, Schema


class Chunks:
    """A stream of (X, y) blocks of bounded size that can be read more than once; made by `read_chunks`.

    Parameters
    ----------
    source : Source
        The files and their reader.
    schema : Schema
        How columns become features.
    unknown, keep, sparse, chunk_rows, progress
        As in `read_chunks`.
    on_error : {"raise", "skip", "keep"}, default="raise"
        As in `read_chunks`. "keep" is for predictions: blocks are then (X, labels or None, kept columns, broken rows),
        see `vrspam.data.readers.block.BrokenRow`.
    is_given : bool, default=False
        The schema was found in other files. At the end of a reading, a warning tells of text that could not be read,
        which no first pass has named. Without it, a code (007) in a column of numbers ends the reading.

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
        keep: Sequence[str] = (),
        sparse: bool | None = None,
        chunk_rows: int | None = None,
        on_error: str = "raise",
        progress: bool = False,
        is_given: bool = False,
    ) -> None:
        if unknown not in ("error", "ignore"):
            raise DataError(Fix("unknown", unknown), " is not known; give 'error' or 'ignore'")
        if chunk_rows is not None and chunk_rows < 1:
            raise DataError(Fix("chunk_rows", chunk_rows), " must be at least 1")
        if keep:
            source.check_named("keep")
        self.source = source
        self.schema = schema
        self.n_features = schema.n_features
        self.keep = list(keep)
        self.sparse = schema.is_mostly_zeros if sparse is None else sparse
        self.on_error = on_error
        rules = ReadingRules(
            EncodedRows(self.sparse, refuse_unknown=unknown == "error"),
            on_error=on_error,
            watched="unread text" if is_given and schema.readings and schema.fill is not None else "nothing",
            learns=not is_given,
            most_rows=chunk_rows,
            progress=progress,
        )
        self._stream = Stream(source, schema, rules, keep=self.keep)
        self._problems = Problems(on_error)
        self._rounded = _RoundedIntegers(source, schema)

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
            if self.source.reader.tabular and self.schema.target is None:
                raise DataError("no label column is read here; give ", Fix("target"))
            labels = find_labels(self.source, self.schema, Problems(self.on_error))
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

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        reading = self._stream.read()
        self._problems = reading.problems
        blocks = self._blocks(reading)
        yield from read_ahead(blocks) if self.source.reader.tabular else blocks
        reading.finish()
        self._rounded.warn()

    def _blocks(self, reading: Pass) -> Generator[tuple[Any, ...], None, None]:
        """The blocks of a reading as who iterates gets them."""
        for table in reading.tables():
            if self.on_error != "keep":
                self._rounded.look(table)
            yield self._handed_on(table)

    def _handed_on(self, table: Table) -> tuple[Any, ...]:
        """(X, y), with kept columns if there are some, and with broken rows."""
        if self.on_error == "keep":
            return table.rows, table.labels, _record_batch(table.raw), list(table.broken)
        if self.keep:
            return table.rows, table.labels, _record_batch(table.raw)
        return table.rows, table.labels


def _record_batch(columns: Mapping[str, Any]) -> Any:
    """Kept columns as one arrow batch; None if there are none."""
    import pyarrow as pa

    return pa.record_batch(dict(columns)) if columns else None


class _RoundedIntegers:
    """Finds columns of integers that lose digits as 64-bit floats; a warning names each of them once."""

    def __init__(self, source: Source, schema: Schema) -> None:
        self._source = source
        self._names = schema.numeric
        self._integers_of_file: dict[str, list[int]] = {}  # places of columns
        self._rounded: list[str] = []
        self._named: set[str] = set()

    def look(self, table: Table) -> None:
        """Look at a block, which begins with the numeric columns."""
        (file,) = table.origin.paths
        if file not in self._integers_of_file:
            self._integers_of_file[file] = self._columns_of_integers(file)
        places = self._integers_of_file[file]
        if not places:
            return
        largest = abs(table.rows[:, places]).max(axis=0)
        if not isinstance(largest, np.ndarray):
            largest = largest.toarray().ravel()
        for place in np.array(places)[largest >= LARGEST_EXACT].tolist():  # 2⁵³ + 1 has become 2⁵³
            if self._names[place] not in self._rounded:
                self._rounded.append(self._names[place])

    def _columns_of_integers(self, file: str) -> list[int]:
        if self._source.reader.sparse:
            return []
        types = self._source.reader.columns(file)
        return [place for place, name in enumerate(self._names) if name in types and is_exact(types[name])]

    def warn(self) -> None:
        """Warn of columns that no warning has named."""
        new = [name for name in self._rounded if name not in self._named]
        if new:
            self._named.update(new)
            warn(IntegersRounded(tuple(new)))


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
    chunk_bytes: int = BLOCK_BYTES,
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
        The columns as found earlier (`infer_schema`, `Chunks.schema`), instead of `target`, `columns`, `drop`,
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
    if schema is not None:
        others_given = (drop, categorical, categories, missing != "error", target is not None, columns is not None)
        if any(others_given) or n_features is not None:
            raise DataError(
                Fix("schema"),
                " already says target, columns, categories and missing: give it alone, or infer it with the others "
                "(infer_schema)",
            )
        is_given = True
    else:
        is_given = False
        schema = schema_of(
            source,
            target,
            labels=False,
            problems=Problems(on_error),
            columns=columns,
            drop=[*drop, *keep] if columns is None else drop,
            categorical=categorical,
            categories=categories,
            missing=missing,
            max_categories=max_categories,
            n_features=n_features,
            progress=progress,
        )
    return Chunks(
        source,
        schema,
        unknown=unknown,
        keep=keep,
        sparse=sparse,
        chunk_rows=chunk_rows,
        on_error=on_error,
        progress=progress,
        is_given=is_given,
    )
