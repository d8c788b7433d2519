"""CSV in blocks that end at line ends, each parsed by pyarrow; a second pass locates what pyarrow refuses.

Parsing block by block is as fast as pyarrow's streaming reader, and reading can go on after a bad line.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any

from vrspam._utils.warnings import warn
from vrspam.data.readers.ahead import read_ahead
from vrspam.data.readers.block import Block, as_batch, block_size
from vrspam.data.readers.csv_codes import LateCodes, columns_of_codes
from vrspam.data.readers.csv_head import Head, make_text, read_head
from vrspam.data.readers.csv_repair import parse_block
from vrspam.data.readers.problems import Problems, similar
from vrspam.data.readers.reader import Choice, ColumnRequest, Reader
from vrspam.data.readers.text_file import DAMAGED, TextBlock, TextFile, open_text, text_blocks
from vrspam.tables.errors import DataError
from vrspam.tables.writing import Writing


@dataclass(eq=False)
class CSVReader(Reader):
    """CSV text, compressed or not.

    The types of columns are found from the first rows of a file, once for each file: when it is first opened. They are
    kept for later readings.
    """

    name = "csv"
    title = "CSV"
    suffixes = (".csv", ".tsv")
    options = ("delimiter", "encoding", "block_bytes", "trained")
    delimiter: str | None = None
    encoding: str | None = None
    block_bytes: int = 8 << 20
    trained: Writing | None = None  # how the training file was written; None where a file tells how to read it
    _codes: set[str] = field(default_factory=set)  # columns that hold numbers with leading zeros, which are names
    _encodings: dict[str, str] = field(default_factory=dict)
    _heads: dict[tuple[str, int, int], Head] = field(default_factory=dict)

    def columns(self, path: str) -> dict[str, Any]:
        """Return the columns of a file with the arrow types of its first rows."""
        with self._open(path) as file:
            try:
                return dict(self._head(path, file).types)
            except DAMAGED as error:
                raise DataError(f"{path} is cut off or damaged ({error}); get it again") from error

    def writing(self, path: str) -> Writing:
        """Return how a file is written."""
        if _state_of(path) not in self._heads:
            self.columns(path)
        return self._heads[_state_of(path)].dialect.writing

    def blocks(self, path: str, wanted: Choice, rows: int, problems: Problems) -> Iterator[Block]:
        """Yield the wanted columns of a file, a block of text at a time."""
        import pyarrow as pa

        with self._open(path) as file:
            try:
                head = self._head(path, file)
            except DAMAGED as error:
                problems.report(path, 1, "after line 1", f"cut off or damaged ({error})", rows=None)
                return
            request = wanted(head.types)
            missing = [name for name in request.types if name not in head.types]
            if missing:
                problems.refuse(path, f"there is no column {missing[0]!r}{similar(missing[0], head.types)}")
                return
            types = _types_read(request, head.types)
            parsed_types = _types_parsed(types, head.types)
            schema = pa.schema(list(types.items()))

            def parse(text: TextBlock) -> Block:
                if request.learns:
                    self._refuse_late_codes(path, text, head, types)
                return parse_block(text, path, head.dialect, parsed_types, request.lenient)

            size = block_size(self.block_bytes, len(head.types))
            texts = text_blocks(file, size, first_line=head.first_line, quoted=True)
            parsers = min(4, os.cpu_count() or 1)  # blocks that are parsed at the same time
            for block in read_ahead(texts, parse, parsers):
                if block.table is not None:
                    block = replace(block, table=as_batch(block.table.cast(schema)))
                yield block

    def _open(self, path: str) -> AbstractContextManager[TextFile]:
        return open_text(path, self.encoding or self._encodings.get(path))

    def _head(self, path: str, file: TextFile) -> Head:
        """The head of a file, whose stream is left at the first row.

        The encoding is found when the file is first opened; a warning names it if it is not UTF-8.
        """
        if path not in self._encodings and self.encoding is None and file.encoding != "utf-8":
            warn(f"{path} is read as {file.encoding.upper()} text, as it is not UTF-8")
        self._encodings[path] = file.encoding
        state = _state_of(path)
        if state in self._heads:
            self._heads[state].skip(file)
        else:
            trained = self.trained or self._first_writing()
            self._heads[state] = read_head(path, file, self.delimiter, trained, self._codes)
        return self._heads[state]

    def _first_writing(self) -> Writing | None:
        """Return how the first of several files is written, which decides for all, if its numbers have a sign."""
        first = next(iter(self._heads.values()), None)
        if first is None or not first.dialect.decimal:
            return None
        return first.dialect.writing

    def _refuse_late_codes(self, path: str, text: TextBlock, head: Head, types: Mapping[str, Any]) -> None:
        """Raise an error if a column of numbers holds codes (007), and read it as text from now on."""
        import pyarrow as pa

        numbers = [name for name, kind in types.items() if pa.types.is_floating(kind) or pa.types.is_integer(kind)]
        codes = columns_of_codes(text.text, head.dialect, numbers)
        if codes:
            self._take_as_text(path, codes)
            raise LateCodes(path, *codes.popitem())

    def _take_as_text(self, path: str, columns: Collection[str]) -> None:
        """Remember that columns that looked like numbers hold codes (007), and so do those of all later rows."""
        head = self._heads[_state_of(path)]
        with_codes = set(columns)
        with self._open(path) as file:
            head.skip(file)
            for text in text_blocks(file, self.block_bytes, quoted=True):
                others = [name for name in head.types if name not in with_codes]
                with_codes.update(columns_of_codes(text.text, head.dialect, others))
        self._codes.update(with_codes)
        for known in self._heads.values():
            make_text(known.types, self._codes)


def _state_of(path: str) -> tuple[str, int, int]:
    """Return what identifies a file while it does not change."""
    state = os.stat(path)
    return path, state.st_size, state.st_mtime_ns


def _types_read(request: ColumnRequest, own: Mapping[str, Any]) -> dict[str, Any]:
    """The types of the wanted columns in blocks; text is parsed as dates later, when its form is known."""
    import pyarrow as pa

    types = {}
    for name, kind in request.types.items():
        is_text_of_dates = kind is not None and pa.types.is_timestamp(kind) and not pa.types.is_temporal(own[name])
        types[name] = pa.string() if kind is None or is_text_of_dates else kind
    return types


def _types_parsed(types: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """The types that text is parsed as: true and false become numbers afterwards."""
    import pyarrow as pa

    flags = [name for name, kind in types.items() if kind == pa.float64() and pa.types.is_boolean(own[name])]
    return {**types, **dict.fromkeys(flags, pa.bool_())}
