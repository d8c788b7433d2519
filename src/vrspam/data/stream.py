"""`Stream`: rows of files in blocks, each a `Table`, read as often as needed: the files may be larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from vrspam._utils.findings import Finding, Fix
from vrspam._utils.warnings import UnseenValues, warn
from vrspam.data.beside import beside_values
from vrspam.data.first_look import request_of
from vrspam.data.infer import read_blocks
from vrspam.data.readers.ahead import read_ahead
from vrspam.data.readers.block import Block, as_batch, as_table, block_size, cut
from vrspam.data.readers.problems import Problems
from vrspam.data.readers.reader import ColumnRequest
from vrspam.data.rows import RowSample, stack
from vrspam.data.source import Source
from vrspam.data.table import Origin, Table
from vrspam.data.usable_rows import EncodedRows, TypedRows, UsableRows, usable_rows
from vrspam.tables.errors import DataError
from vrspam.tables.schema import Label, Schema
from vrspam.tables.unseen import SEVERAL, Unseen, most_common, share_of_rows

_NO_LIMIT = 1 << 62


@dataclass(frozen=True)
class ReadingRules:
    """How rows are read, and what becomes of those that cannot be used.

    Attributes
    ----------
    form : TypedRows or EncodedRows
        As what rows are handed on.
    on_error : {"raise", "skip", "keep"}
        At a row that cannot be used: stop; leave it out; or keep its place (`Table.broken`).
    watched : {"nothing", "unread text", "unseen values"}
        What a reading counts of what it meets. Of text that could not be read it warns at its end. Where it counts all
        that the schema does not know, it refuses columns of which most values cannot be read.
    allow_missing : sequence of str
        Columns of which most values may be unreadable.
    learns : bool
        The schema was found in the first rows: a code (007) in a column of numbers ends the reading.
    most_rows : int or None
        The largest number of rows in a block.
    progress : bool
        Show a line.
    """

    form: TypedRows | EncodedRows = field(default_factory=TypedRows)
    on_error: str = "raise"
    watched: Literal["nothing", "unread text", "unseen values"] = "nothing"
    allow_missing: Sequence[str] = ()
    learns: bool = False
    most_rows: int | None = None
    progress: bool = False


@dataclass(frozen=True, eq=False)
class Stream:
    """Rows of files in blocks, read as often as needed.

    Attributes
    ----------
    source : Source
        The files and their reader.
    schema : Schema
    rules : ReadingRules
    keep : sequence of str, or callable
        Columns to hand on as they are in the file; or a function that chooses them from the columns of the first file.
    label : label or None
        That of positive rows; None where nobody asks which rows are positive.
    named : dict of str to str
        Columns beside the features by their roles. Their values must follow from each row alone.
    findings : tuple of Finding
        What was decided about the columns.
    origin : Origin
    """

    source: Source
    schema: Schema
    rules: ReadingRules = field(default_factory=ReadingRules)
    keep: Sequence[str] | Callable[[Mapping[str, Any]], Sequence[str]] = ()
    label: Label | None = None
    named: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    origin: Origin = field(default_factory=Origin)

    def __post_init__(self) -> None:
        _refuse_other_kind_of_file(self.source, self.schema)

    def read(self) -> Pass:
        """Begin a reading, from the first row on."""
        return Pass(self)

    def blocks(self) -> Iterator[Table]:
        """Read the rows, and hand on each block."""
        return iter(self.read())

    def sampled(self, sample: RowSample) -> Table:
        """Rows that were drawn while the stream was read."""
        return Table(
            rows=sample.X,
            schema=self.schema,
            positive=sample.y,
            label="" if self.label is None else self.label,
            named=self.named,
            findings=self.findings,
            origin=self.origin,
            sampled_of=sample.seen,
        )

    def as_table(self) -> Table:
        """All rows in memory."""
        reading = self.read()
        blocks = list(reading)
        if not blocks:
            raise reading.nothing_left()
        return Table(
            rows=stack([block.rows for block in blocks]),
            schema=self.schema,
            positive=np.concatenate([block.positive for block in blocks]),
            label="" if self.label is None else self.label,
            places=np.concatenate([block.places for block in blocks]),
            findings=self.findings,
            origin=self.origin,
        )


class Pass:
    """One reading of a stream: its blocks in their order, and what it has met so far.

    Attributes
    ----------
    stream : Stream
    problems : Problems
        What was left out.
    unseen : Unseen or None
        What was met that training did not have, where that is watched.
    """

    def __init__(self, stream: Stream) -> None:
        rules = stream.rules
        self.stream = stream
        self.problems = Problems(rules.on_error, rules.form.is_lenient)
        self.unseen: Unseen | None = None
        if rules.watched == "unseen values" and not stream.source.reader.sparse:
            self.unseen = Unseen(stream.schema)
        elif rules.watched == "unread text":
            self.unseen = Unseen(Schema())  # which knows no column: only unread text is counted
        self._kept = () if callable(stream.keep) else tuple(stream.keep)
        self._is_kept_chosen = not callable(stream.keep)
        self._rows_before = 0

    def __iter__(self) -> Iterator[Table]:
        tables = self.tables()
        # Arrow reads without Python's lock; the LIBSVM parser holds it, so another thread would gain nothing.
        yield from read_ahead(tables) if self.stream.source.reader.tabular else tables
        self.finish()

    def tables(self) -> Generator[Table, None, None]:
        """Read the blocks one after the other; who goes through them calls `finish` behind the last."""
        stream = self.stream
        for block in self._blocks():
            typed = self._with_readings(block)
            usable = usable_rows(
                typed,
                stream.schema,
                self.problems,
                stream.rules.form,
                keep=self._kept,
                zero_based=stream.source.zero_based,
                first=self._rows_before + 1,
            )
            self._rows_before += block.n_rows
            if usable is not None:
                yield self._as_table(block.file, usable)

    def finish(self) -> None:
        """Warn of what was left out and what could not be read; refuse columns of which most could not."""
        only_told = self.stream.rules.watched == "unread text"
        if self.unseen is not None and not only_told:
            self._refuse_mostly_unread(self.unseen)
        self.problems.warn()
        if self.unseen is not None and only_told and (sentences := self.unseen.sentences()):
            warn(UnseenValues(tuple(sentences)))

    def nothing_left(self) -> DataError:
        """Return the error to raise if the reading gave no row."""
        return self.problems.nothing_left(self.stream.source.paths[0])

    def _blocks(self) -> Iterator[Block]:
        """The blocks of the files, cut to their largest size."""
        stream = self.stream
        rows = self._rows_of_a_block()
        label = "reading" if stream.rules.progress else None
        if stream.source.reader.tabular:
            blocks = stream.source.blocks(self._request, rows, self.problems, label)
        else:
            blocks = read_blocks(stream.source, stream.schema, rows, self.problems, label)
        return cut(blocks, rows)

    def _rows_of_a_block(self) -> int:
        """The largest number of rows in a block."""
        source, schema, rules = self.stream.source, self.stream.schema, self.stream.rules
        n_inputs = max(len(schema.numeric) + len(schema.categorical), 1)
        is_sparse = rules.form.sparse if isinstance(rules.form, EncodedRows) else source.reader.sparse
        is_typed_table = isinstance(rules.form, TypedRows) and source.reader.tabular
        if source.reader.sparse and is_sparse:
            rows = _NO_LIMIT  # the text of a block bounds it
        elif is_sparse or is_typed_table:
            rows = block_size(source.block_bytes, 2 * n_inputs) // (16 * n_inputs)
        else:
            rows = source.block_bytes // (8 * max(schema.n_features, 1))
        if rules.most_rows is not None:
            rows = min(rows, rules.most_rows)
        return max(1, rows)

    def _request(self, columns: Mapping[str, Any]) -> ColumnRequest:
        """What to read of a file with these columns; the first file decides which are kept."""
        stream = self.stream
        if callable(stream.keep) and not self._is_kept_chosen:
            self._kept = tuple(stream.keep(columns))
            self._is_kept_chosen = True
        request = request_of(stream.schema, keep=self._kept)
        return request._replace(lenient=stream.rules.form.is_lenient, learns=stream.rules.learns)

    def _with_readings(self, block: Block) -> Block:
        """A block in which text is read as numbers and dates; what training did not have is counted."""
        schema = self.stream.schema
        if block.table is None:
            if self.unseen is not None:
                self.unseen.add(block.X, names=schema.numeric)
            return block
        batch, strays = block.table, dict[Any, Any]()
        if schema.readings:
            table, strays = schema.read(as_table(batch))
            batch = as_batch(table)
        if block.rows and self.unseen is not None:
            columns = as_table(batch, schema.columns)
            labelled = self._labelled(batch)
            if labelled is not None:  # the others will be left out
                columns = columns.filter(labelled)
                strays = schema.read(as_table(block.table).filter(labelled))[1] if strays else {}
            texts_among_numbers = {name: texts for name, texts in block.strays.items() if name != schema.target}
            self.unseen.add(columns, texts_among_numbers | strays)
        return replace(block, table=batch, raw=block.table)

    def _labelled(self, batch: Any) -> Any:
        """Which rows have a label, if others are left out and there are some; else None."""
        target = self.stream.schema.target
        if not self.stream.rules.form.is_lenient or target is None or not batch.column(target).null_count:
            return None
        return batch.column(target).is_valid()

    def _as_table(self, file: str, usable: UsableRows) -> Table:
        """A block as a table."""
        stream = self.stream
        positive = None
        if stream.label is not None and usable.labels is not None:
            positive = usable.labels == stream.label
        beside = {}
        if stream.named:
            beside = beside_values(usable.raw, stream.named, stream.source.paths[0])
        return Table(
            rows=usable.rows,
            schema=stream.schema,
            positive=positive,
            label="" if stream.label is None else stream.label,
            labels=usable.labels,
            beside=beside,
            named=stream.named,
            raw=usable.raw,
            places=usable.places,
            broken=usable.broken,
            origin=replace(stream.origin, paths=(file,)),
        )

    def _refuse_mostly_unread(self, unseen: Unseen) -> None:
        """Refuse columns of which most values could not be read."""
        for name, texts in unseen.strays.items():
            count = texts.total()
            is_allowed = name in self.stream.rules.allow_missing
            if is_allowed or unseen.rows < SEVERAL or 2 * count <= unseen.rows:
                continue
            share = share_of_rows(count, unseen.rows)
            raise DataError(
                f"column {name!r} holds text where training had other values, in {share} ({most_common(texts)}): "
                "correct it, or let it count as missing with ",
                Fix("allow_missing", [name]),
            )


def _refuse_other_kind_of_file(source: Source, schema: Schema) -> None:
    """Refuse files whose columns cannot be those of the schema: LIBSVM files are for one another."""
    if source.reader.sparse or schema.width is not None:
        can_be_read = source.reader.sparse and schema.width is not None
    else:
        columns_are_numbered = all(map(str.isdigit, schema.numeric)) and not schema.categorical
        can_be_read = source.reader.tabular or columns_are_numbered
    if not can_be_read:
        kind = "a table" if schema.width is None else "a LIBSVM file"
        raise DataError(
            f"{source.paths[0]} is read as {source.reader.title}, but {kind} is needed; give such a file, or name its "
            "format with ",
            Fix("format"),
        )
