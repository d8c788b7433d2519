"""`read_chunks`: files of any size as a stream of (X, y) blocks."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from vrspam._utils.messages import Parameter, WordedError
from vrspam._utils.validation import LARGEST_EXACT
from vrspam._utils.warnings import IntegersRounded, UnseenValues, warn
from vrspam.data.encode import EncodedBlock, encode_block
from vrspam.data.infer import find_labels, read_blocks, schema_of
from vrspam.data.readers.ahead import read_ahead
from vrspam.data.readers.arrow import is_exact
from vrspam.data.readers.block import BLOCK_BYTES, Block, as_batch, as_table, block_size, cut
from vrspam.data.readers.problems import Problems, Skipped
from vrspam.data.readers.reader import ColumnRequest
from vrspam.data.request import request_of
from vrspam.data.source import PathLike, Source
from vrspam.tables.errors import DataError
from vrspam.tables.schema import Label, Schema
from vrspam.tables.unseen import SEVERAL, Unseen, most_common, share_of_rows

_NO_LIMIT = 1 << 62

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
        see `vrspam.data.readers.block.BrokenRow`.
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
    learns : bool, default=False
        The schema was found in the first rows: a code (007) in a column of numbers ends the reading.
    tells_unread : bool, default=False
        Warn at the end of text that could not be read. For a schema that was given: no first pass has named the text.

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
    unseen : Unseen or None
        What the last reading met that training did not have, if it was `compared`.
    watch : callable or None
        Called with the feature columns of each block.

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
        learns: bool = False,
        tells_unread: bool = False,
    ) -> None:
        if unknown not in ("error", "ignore"):
            raise DataError("{given} is not known; give 'error' or 'ignore'", given=Parameter("unknown", unknown))
        if chunk_rows is not None and chunk_rows < 1:
            raise DataError("{given} must be at least 1", given=Parameter("chunk_rows", chunk_rows))
        _refuse_other_kind_of_file(source, schema)
        self.source = source
        self.schema = schema
        self.n_features = schema.n_features
        self.unknown = unknown
        self._choose_kept = keep if callable(keep) else None  # called once
        self.keep: list[str] = [] if callable(keep) else list(keep)
        if self.keep:
            source.check_named("keep")
        self.sparse = self._is_sparse_by_default if sparse is None else sparse
        self.chunk_rows = chunk_rows
        self.on_error = on_error
        self.progress = progress
        self.raw = raw
        self.lenient = lenient
        self.compared = compared
        self.allow_missing = allow_missing
        self.learns = learns
        self.tells_unread = tells_unread
        self.unseen: Unseen | None = None
        self.watch: Callable[[Any], None] | None = None
        self._rounded = _RoundedIntegers(source, schema)
        self._problems = Problems(on_error, lenient)

    @property
    def _tabular(self) -> bool:
        return self.source.reader.tabular

    @property
    def _n_inputs(self) -> int:
        return len(self.schema.numeric) + len(self.schema.categorical)

    @property
    def _is_sparse_by_default(self) -> bool:
        """Whether most entries of X are zero: in LIBSVM files, and where categories make most of the columns."""
        few_inputs = self._n_inputs <= DENSE_ABOVE * self.schema.n_features
        return self.source.reader.sparse or (self._tabular and few_inputs)

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
        other.keep = list(names)
        other._choose_kept = None
        other.progress = False
        return other

    def nothing_left(self) -> DataError:
        """Return the error to raise if the last reading gave no row."""
        return self._problems.nothing_left(self.source.paths[0])

    # One reading

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        self._problems = Problems(self.on_error, self.lenient)
        if self.compared and not self.source.reader.sparse:
            self.unseen = Unseen(self.schema)
        elif self.tells_unread:
            self.unseen = Unseen(Schema())  # which knows no column: only unread text is counted
        blocks = self._encoded_blocks(self._problems)
        # Arrow reads without Python's lock; the LIBSVM parser holds it, so another thread would gain nothing.
        yield from read_ahead(blocks) if self._tabular else blocks

        if self.unseen is not None and not self.tells_unread:
            self._refuse_mostly_unread(self.unseen)
        self._problems.warn()
        if self.unseen is not None and self.tells_unread and (sentences := self.unseen.sentences()):
            warn(UnseenValues(tuple(sentences)))
        self._rounded.warn()

    def _encoded_blocks(self, problems: Problems) -> Generator[tuple[Any, ...], None, None]:
        rows = self._rows_of_a_block()
        label = "reading" if self.progress else None
        if self._tabular:
            blocks = self.source.blocks(self._request, rows, problems, label)
        else:
            blocks = read_blocks(self.source, self.schema, rows, problems, label)
        for block in cut(blocks, rows):
            if self._tabular:
                block = self._with_readings(block)
            elif self.unseen is not None:
                self.unseen.add(block.X, names=self.schema.numeric)
            encoded = encode_block(
                block,
                self.schema,
                problems,
                keep=self.keep,
                sparse=self.sparse,
                refuse_unknown=self.unknown == "error",
                raw=self.raw,
                zero_based=self.source.zero_based,
            )
            if encoded is None:
                continue
            if self.on_error != "keep":
                self._look_at(block, encoded)
            yield self._handed_on(encoded)

    def _rows_of_a_block(self) -> int:
        """The largest number of rows in a block."""
        n_inputs = max(self._n_inputs, 1)
        if self.source.reader.sparse and self.sparse:
            rows = _NO_LIMIT  # the text of a block bounds it
        elif self.sparse or (self.raw and self._tabular):
            rows = block_size(self.source.block_bytes, 2 * n_inputs) // (16 * n_inputs)
        else:
            rows = self.source.block_bytes // (8 * max(self.schema.n_features, 1))
        if self.chunk_rows is not None:
            rows = min(rows, self.chunk_rows)
        return max(1, rows)

    def _request(self, columns: Mapping[str, Any]) -> ColumnRequest:
        """Return what to read of a table with these columns."""
        if self._choose_kept is not None:
            self.keep = list(self._choose_kept(columns))
            self._choose_kept = None
        return request_of(self.schema, keep=self.keep)._replace(lenient=self.lenient, learns=self.learns)

    def _with_readings(self, block: Block) -> Block:
        """A block of a table in which text is read as numbers and dates; what training did not have is counted."""
        batch, strays = block.table, dict[Any, Any]()
        if self.schema.readings:
            table, strays = self.schema.read(as_table(batch))
            batch = as_batch(table)
        if block.rows and (self.unseen is not None or self.watch is not None):
            columns = as_table(batch, self.schema.columns)
            labelled = self._labelled(batch)
            if labelled is not None:  # the others will be left out
                columns = columns.filter(labelled)
                strays = self.schema.read(as_table(block.table).filter(labelled))[1] if strays else {}
            if self.unseen is not None:
                texts_among_numbers = {
                    name: texts for name, texts in block.strays.items() if name != self.schema.target
                }
                self.unseen.add(columns, texts_among_numbers | strays)
            if self.watch is not None:
                self.watch(columns)
        return replace(block, table=batch, raw=block.table)

    def _labelled(self, batch: Any) -> Any:
        """Which rows have a label, if others are left out and there are some; else None."""
        target = self.schema.target
        if not self.lenient or target is None or not batch.column(target).null_count:
            return None
        return batch.column(target).is_valid()

    def _look_at(self, block: Block, encoded: EncodedBlock) -> None:
        """Look for integers that lose digits, and show rows without named columns to who watches."""
        if not self.lenient:
            self._rounded.look(block.file, encoded.X)
        if self.watch is not None and not self._tabular:
            self.watch(encoded.X)

    def _handed_on(self, encoded: EncodedBlock) -> tuple[Any, ...]:
        """A block as who iterates gets it: (X, y), with kept columns if there are some, and with broken rows."""
        if self.on_error == "keep":
            return tuple(encoded)
        if self.keep:
            return encoded.X, encoded.y, encoded.kept
        return encoded.X, encoded.y

    def _refuse_mostly_unread(self, unseen: Unseen) -> None:
        """Refuse columns of which most values could not be read."""
        for name, texts in unseen.strays.items():
            count = texts.total()
            if name not in self.allow_missing and unseen.rows >= SEVERAL and 2 * count > unseen.rows:
                raise WordedError(
                    "column {column!r} holds text where training had other values, in {share} ({examples}): correct "
                    "it, or let it count as missing with {allow}",
                    column=name,
                    share=share_of_rows(count, unseen.rows),
                    examples=most_common(texts),
                    allow=Parameter("allow_missing", [name]),
                )


def _refuse_other_kind_of_file(source: Source, schema: Schema) -> None:
    """Refuse files whose columns cannot be those of the schema: LIBSVM files are for one another."""
    if source.reader.sparse or schema.width is not None:
        can_be_read = source.reader.sparse and schema.width is not None
    else:
        columns_are_numbered = all(map(str.isdigit, schema.numeric)) and not schema.categorical
        can_be_read = source.reader.tabular or columns_are_numbered
    if not can_be_read:
        raise DataError(
            "{path} is read as {title}, but {kind} is needed; give such a file, or name its format with {format}",
            path=source.paths[0],
            title=source.reader.title,
            kind="a table" if schema.width is None else "a LIBSVM file",
        )


class _RoundedIntegers:
    """Finds columns of integers that lose digits as 64-bit floats; a warning names each of them once."""

    def __init__(self, source: Source, schema: Schema) -> None:
        self._source = source
        self._names = schema.numeric
        self._places: dict[str, list[int]] = {}  # of the columns of integers, by file
        self._found: dict[str, bool] = {}  # columns, and whether a warning has named them

    def look(self, file: str, X: Any) -> None:
        """Look at a block of a file; X begins with the numeric columns."""
        if file not in self._places:
            self._places[file] = self._columns_of_integers(file)
        places = self._places[file]
        if not places:
            return
        largest = abs(X[:, places]).max(axis=0)
        if not isinstance(largest, np.ndarray):
            largest = largest.toarray().ravel()
        for place in np.array(places)[largest >= LARGEST_EXACT].tolist():  # 2⁵³ + 1 has become 2⁵³
            self._found.setdefault(self._names[place], False)

    def _columns_of_integers(self, file: str) -> list[int]:
        if self._source.reader.sparse:
            return []
        types = self._source.reader.columns(file)
        return [place for place, name in enumerate(self._names) if name in types and is_exact(types[name])]

    def warn(self) -> None:
        new = [name for name, is_named in self._found.items() if not is_named]
        if new:
            self._found = dict.fromkeys(self._found, True)
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
                "{schema} already says target, columns, categories and missing: give it alone, or infer it with the "
                "others (infer_schema)",
                schema=Parameter("schema"),
            )
    is_given = schema is not None
    if schema is None:
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
        learns=not is_given,
        tells_unread=is_given and bool(schema.readings) and schema.fill is not None,
    )
