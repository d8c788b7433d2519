"""`Reader` and the blocks it yields; broken rows; text files, compressed or not, in blocks that end at a line end."""

from __future__ import annotations

import bz2
import codecs
import difflib
import gzip
import io
import lzma
import os
import re
import zlib
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np

from vrspam._utils.findings import VrspamError
from vrspam._utils.messages import Message, Parameter, WordedError
from vrspam._utils.warnings import warn
from vrspam.tables.schema import Writing

BLOCK_BYTES = 8 << 20  # the usual size of a block
_FEWEST_ROWS = 1024  # of a usual block, because each block takes some time for each of its columns
_LARGEST_BLOCK = 64 << 20


def block_size(asked: int, n_columns: int) -> int:
    """Return the size of a block in bytes: what was asked for; of the usual size, larger for tables of many columns.

    >>> block_size(1000, 20_000), block_size(BLOCK_BYTES, 100) >> 20, block_size(BLOCK_BYTES, 4000) >> 20
    (1000, 8, 31)
    """
    if asked != BLOCK_BYTES:
        return asked
    return max(asked, min(_FEWEST_ROWS * 8 * n_columns, _LARGEST_BLOCK))


class DataError(WordedError):
    """A file or a named data set cannot be used; the message says which, why, and what to do.

    Examples
    --------
    >>> from vrspam.data import DataError, load
    >>> try:
    ...     load("breast_cancer")
    ... except DataError as error:
    ...     print(error)
    no data set is called 'breast_cancer'; did you mean 'breast-cancer'? available() or `vrspam datasets` lists them all
    """


def problem_of(error: Exception) -> str:
    """Return the field `problem` of an error (what is wrong, without the file) if it has one, else its whole text."""
    if isinstance(error, VrspamError):
        fields = getattr(error.note, "fields", {})
        return fields.get("problem", error.note)
    return str(error)


def no_column(path: str, name: str, columns: Iterable[str]) -> str:
    """Say that a table has no column of this name, and what it has."""
    return f"{path} has no column {name!r}{similar(name, columns)}"


def named_twice(names: Iterable[str]) -> str | None:
    """Return the first name that occurs again later; None if all differ."""
    counts = Counter(names)
    return next((name for name, number in counts.items() if number > 1), None)


def similar(name: str, columns: Iterable[str]) -> str:
    """Return a list of the columns as text, after a hint at a similar name if there is one."""
    names = list(columns)
    plain = {column.strip().casefold(): column for column in names}
    near = difflib.get_close_matches(name.strip().casefold(), plain, 1, 0.75)
    hint = f" (did you mean {plain[near[0]]!r}?)" if near else ""
    shown = 20  # columns named in one message
    return f"{hint}; it has {', '.join(map(repr, names[:shown]))}{', ...' if len(names) > shown else ''}"


class NoLabel(str):
    """The reason for refusing a row without a label; the tool leaves such rows out."""


class Skipped(NamedTuple):
    """Rows that were left out of a file.

    Attributes
    ----------
    file, where, reason : str
        The file, the place in it in words (a line, say; None if that is not known), and what is wrong there.
    block, rows : int or None
        The number of the block (None for a whole file), and the number of rows (None if it is not known).

    Examples
    --------
    >>> from vrspam.data import Skipped
    >>> left_out = Skipped("rows.csv", None, "line 3", 1, "3 fields where the header has 2")  # of `Chunks.skipped_`
    >>> print(f"{left_out.file}, {left_out.where}: {left_out.reason}")
    rows.csv, line 3: 3 fields where the header has 2
    """

    file: str
    block: int | None
    where: str | None
    rows: int | None
    reason: str


class RowsUnlabelled(UserWarning):
    """Rows without a label were left out; in training a note of the doctor takes the place of this warning."""


class Problems:
    """Raise at the first problem (`on_error="raise"`), or collect them (`"skip"`, and `"keep"` for single rows).

    With `leave_unlabelled` (as in `vrspam.tool`, where the parameter is called `skip_errors`), rows without a label are
    left out and counted in `unlabelled`. At most `most` notes are kept.
    """

    def __init__(self, on_error: str, leave_unlabelled: bool = False, most: int = 1000) -> None:
        if on_error not in ("raise", "skip", "keep"):
            raise DataError("{given} is not known; give 'raise' or 'skip'", given=Parameter("on_error", on_error))
        self.on_error, self.leave_unlabelled, self._most = on_error, leave_unlabelled, most
        self.notes: list[Skipped] = []
        self.count = self.rows = self.unlabelled = 0
        self.new_labels: Counter[str] = Counter()  # labels that training did not have, of a class of several labels

    def report(
        self, file: str, block: int | None, where: str | None, reason: str | Message, rows: int | None = 1
    ) -> None:
        """Raise an error that names file, block and line, or add a note."""
        if self.on_error == "raise" or (self.on_error == "keep" and rows != 1):
            raise DataError(
                "{place}: {reason}; correct it, or give {skip} to leave it out",
                place=", ".join(filter(None, [file, f"block {block}" if block else None, where])),
                reason=reason,
                skip=Parameter("skip_errors", True) if self.leave_unlabelled else Parameter("on_error", "skip"),
            )
        self.count += 1
        self.rows += rows or 0
        if len(self.notes) < self._most:
            self.notes.append(Skipped(file, block, where, rows, str(reason)))

    def refuse(self, file: str, reason: str | Message, rows: int | None = None) -> None:
        """Raise an error because a whole file cannot be used, or leave the file out."""
        if self.on_error == "skip":
            self.report(file, None, None, reason, rows=rows)
        else:
            raise DataError("{path}: {problem}", path=file, problem=reason)

    def nothing_left(self, path: str) -> DataError:
        """Return the error to raise if no row of a file can be used."""
        if self.unlabelled:
            return DataError(f"no row of {path} has a label: {self.unlabelled} rows are without one")
        if self.notes:
            return DataError(f"no row of {path} can be used: {self.notes[0].reason}")
        return DataError(f"{path} has no rows; get it again")

    def warn(self) -> None:
        """Warn at the end of what was left out, and of labels that are new."""
        if self.new_labels:
            total, texts = self.new_labels.total(), [text for text, _ in self.new_labels.most_common(4)]
            shown = ", ".join(map(repr, texts[:3])) + (", ..." if len(texts) > 3 else "")
            words = "rows have labels that training did not have ({}): they count as not positive, like the others"
            if total == 1:
                words = "row has a label that training did not have ({}): it counts as not positive, like the others"
            warn(f"{total:,} {words.format(shown)}")
        if self.unlabelled:
            one = self.unlabelled == 1
            words = f"{self.unlabelled:,} row{'' if one else 's'} without a label {'was' if one else 'were'} left out"
            warn(RowsUnlabelled(words))
        if self.count and self.on_error == "skip":
            first = self.notes[0]
            place = ", ".join(filter(None, [first.file, first.where]))
            parts = f"{self.count} broken part{'' if self.count == 1 else 's'}"
            rows = f"{self.rows} row{'' if self.rows == 1 else 's'}"
            warn(f"left out {parts} with at least {rows}, the first at {place}: {first.reason}")


class ColumnRequest(NamedTuple):
    """The columns to read. It can be given as a `Choice`: called with the columns of a file, it returns itself."""

    types: Mapping[str, Any] = {}  # arrow types of columns of a table; None takes a column as it is (text in CSV)
    features: tuple[int, ...] = ()  # columns of a `.npy` array
    label: int | None = None  # column of a `.npy` array
    width: int = 0  # features of a LIBSVM file
    learns: bool = False  # in CSV, a code (007) in a column of numbers is an error: the column has to be read as text
    lenient: bool = False  # in CSV, text among numbers or dates is missing and counted (`Block.strays`), not an error

    def __call__(self, columns: Mapping[str, Any]) -> ColumnRequest:
        return self


#: What to read: a request, or a function that makes one from the columns of a file and their types.
Choice = ColumnRequest | Callable[[Mapping[str, Any]], ColumnRequest]


#: An unreadable part of a block: number of good rows before it, place, reason, and number of its rows if known.
Broken = tuple[int, str, str | Message, int | None]


@dataclass(frozen=True)
class Block:
    """Rows of one file: `table` (an arrow record batch) for tables, `X` and `y` for LIBSVM and `.npy`."""

    file: str
    index: int
    rows: int
    where: Callable[[int], str]  # the place of the block's row i, in words
    done: float  # the share of the file up to the block's end
    table: Any = None
    X: Any = None
    y: Any = None
    strays: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # counts of the texts taken as missing
    broken: tuple[Broken, ...] = ()  # `Source.blocks` reports it
    raw: Any = None  # the table before text was read as numbers and dates, if it was

    def split(self, rows: int) -> Iterator[Block]:
        """Cut the block into blocks of at most `rows` rows."""
        for start in range(0, self.rows, rows):
            stop = min(start + rows, self.rows)

            def where(row: int, start: int = start) -> str:
                return self.where(start + row)

            yield replace(
                self,
                rows=stop - start,
                where=where,
                table=None if self.table is None else self.table.slice(start, stop - start),
                strays=self.strays if start == 0 else {},
                broken=tuple((b[0] - start, *b[1:]) for b in self.broken if start <= b[0] < stop + (stop == self.rows)),
                X=None if self.X is None else self.X[start:stop],
                y=None if self.y is None else self.y[start:stop],
            )

    def without(self, bad: Mapping[int, str | Message], problems: Problems) -> np.ndarray:
        """Report bad rows; return the positions of the others."""
        for row in sorted(bad):
            if problems.leave_unlabelled and isinstance(bad[row], NoLabel) and problems.on_error != "keep":
                problems.unlabelled += 1
            else:
                problems.report(self.file, self.index, self.where(row), bad[row])
        return np.setdiff1d(np.arange(self.rows), list(bad))


class BrokenRow(NamedTuple):
    """A row that cannot be used: the number of good rows before it in its block, the reason, and its kept columns."""

    place: int
    reason: str
    kept: Any


class Reader:
    """Reads the files of one format in blocks; `vrspam.data.readers.READERS` lists all readers.

    Attributes
    ----------
    name, title : str
        Its name in `format=`, and its name in messages.
    suffixes : tuple of str
        Suffixes of file names.
    magic : bytes
        The first bytes of its files; empty for text.
    line : pattern or None
        Pattern of the first line of a text file, if it identifies the format.
    tabular : bool
        Columns have names and types, and blocks are arrow record batches. Otherwise blocks are arrays.
    sparse : bool
        Absent values are zeros, each row carries its label (LIBSVM), and `scan` finds how many features there are.
    options : tuple of str
        Parameters of its constructor: `block_bytes`, and options of this format alone.
    declared : sequence of str
        Columns of a frame whose type says that they are categories.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    magic = b""
    line: re.Pattern[bytes] | None = None
    tabular, sparse = True, False
    options: tuple[str, ...] = ()
    declared: Sequence[str] = ()

    def columns(self, path: str) -> dict[str, Any]:
        """Return the columns of a file with their types."""
        return {}

    def writing(self, path: str) -> Writing:
        """Return how the text of a file is written; by default there is no text, and nothing tells a decimal sign."""
        return Writing(decimal="")

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        return os.path.getsize(path)

    def rows(self, path: str) -> int | None:
        """Return the number of rows if the header of the file gives it, else None."""
        return None

    def blocks(self, path: str, wanted: Choice, rows: int, problems: Problems) -> Iterator[Block]:
        """Yield blocks of the wanted columns, of at most `rows` rows each if the format can be cut by rows."""
        raise NotImplementedError

    def scan(self, path: str, problems: Problems) -> Iterator[tuple[int, set[bytes], int, int]]:
        """Yield (number of features, label texts, bytes, lines) of each block, without parsing its values."""
        raise NotImplementedError


_PIECE = 1 << 20


def find_encoding(stream: BinaryIO, most: int = 64 << 20) -> str:
    """The encoding of a text: UTF-8, UTF-16, Windows-1252 or Latin-1; at most `most` bytes of the stream are read."""
    piece = stream.read(_PIECE)
    marks = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
    for mark, name in marks.items():
        if piece.startswith(mark):
            return name
    start = piece[:4096]
    even, odd = start[::2].count(0), start[1::2].count(0)
    if max(even, odd) >= max(0.4 * len(start) / 2.0, 1.0):  # every second byte of plain letters in UTF-16 is 0
        return "utf-16-le" if odd > even else "utf-16-be"
    looked_at = len(piece)
    while piece.isascii():
        if not piece or looked_at >= most:
            return "utf-8"
        piece = stream.read(_PIECE)
        looked_at += len(piece)
    # UTF-8, unless most characters beyond ASCII are invalid in it, and their bytes can be letters of Latin-1
    piece = piece[: piece.rfind(b"\n") + 1] or piece
    text = piece.decode("utf-8", "replace")
    others = len(text) - len(text.encode("ascii", "ignore"))
    foreign = {byte for byte in piece if byte >= 0x80}
    seldom, not_in_windows = set(b"\xff\xfe"), set(b"\x81\x8d\x8f\x90\x9d")  # rare letters: more likely no text
    if 2 * text.count("\ufffd") <= others or foreign <= seldom or b"\0" in piece:
        return "utf-8"
    return "latin-1" if foreign & not_in_windows else "windows-1252"


class RecodedStream(io.RawIOBase):
    """A stream that recodes text to UTF-8, for a buffer that reads it; `seek` can only return to the start.

    With `carriage` lines end at carriage returns, which become line feeds.
    """

    def __init__(self, raw: BinaryIO, encoding: str, path: str, carriage: bool = False) -> None:
        self._raw, self._encoding, self._path, self._carriage = raw, encoding, path, carriage
        self.seek(0)

    def seek(self, position: int, whence: int = 0) -> int:
        if whence == 0:
            self._raw.seek(0)
            self._strict = codecs.lookup(self._encoding).name != "utf-8"  # wrong bytes of UTF-8 are reported by line
            self._decoder = codecs.getincrementaldecoder(self._encoding)(
                "strict" if self._strict else "surrogateescape"
            )
            self._ready, self._position = memoryview(b""), 0
        return self._position

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            data = self._raw.read(_PIECE)
            try:
                text = self._decoder.decode(data, final=not data)
            except UnicodeError as error:
                words = "{path} is not {name} text; give its encoding with {encoding}"
                raise DataError(words, path=self._path, name=self._encoding) from error
            if self._carriage:
                text = text.replace("\r", "\n")
            self._ready = memoryview(text.encode("utf-8", "replace" if self._strict else "surrogateescape"))
            if not data:
                break
        taken = self._ready[: len(buffer)]
        buffer[: len(taken)], self._ready = taken, self._ready[len(taken) :]
        self._position += len(taken)
        return len(taken)


#: What reading a damaged or cut-off compressed file can raise.
DAMAGED = (EOFError, OSError, lzma.LZMAError, zlib.error)


class TextFile(NamedTuple):
    """A file opened for reading bytes, decompressed on the way; `raw` is the file of `size` bytes on the disk.

    The position in `raw` shows the progress of the reading, for compressed files too.
    """

    stream: BinaryIO
    encoding: str
    raw: BinaryIO
    size: int


_UNREAD_PACKING = {
    "Zstandard": (b"\x28\xb5\x2f\xfd", "zstd -d FILE"),
    "LZ4": (b"\x04\x22\x4d\x18", "lz4 -d FILE"),
}


def _ends_at_carriage_returns(stream: BinaryIO, encoding: str) -> bool:
    """Return whether lines end at carriage returns alone, as on old Macs; the stream is left at its start."""
    try:
        start = stream.read(1 << 16).decode(encoding, "replace")
    except DAMAGED:  # reported when the text is read
        start = ""
    stream.seek(0)
    return "\r" in start and "\n" not in start


@contextmanager
def open_text(path: str | os.PathLike[str], encoding: str | None = "utf-8") -> Iterator[TextFile]:
    """Open a file (gzip, bzip2, xz or plain) whose text is recoded to UTF-8; with None its encoding is detected."""
    try:
        raw = open(path, "rb")  # noqa: SIM115
    except OSError as error:
        raise DataError(f"{os.fspath(path)} cannot be opened ({error.strerror})") from error
    with raw, ExitStack() as opened:
        start = raw.read(6)
        raw.seek(0)
        for name, (magic, command) in _UNREAD_PACKING.items():
            if start.startswith(magic):
                raise DataError(
                    f"{os.fspath(path)} is compressed by {name}, which is not read: unpack it first ({command})"
                )
        # told by the first bytes, because names can be wrong
        openers: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
        opener = next((o for magic, o in openers.items() if start.startswith(magic)), None)
        stream = cast(BinaryIO, opened.enter_context(opener(raw)) if opener else raw)
        if encoding is None:
            try:
                encoding = find_encoding(stream, (64 if opener is None else 4) << 20)
            except DAMAGED:  # reported when the text is read
                encoding = "utf-8"
            stream.seek(0)
        carriage = _ends_at_carriage_returns(stream, encoding)
        if carriage or codecs.lookup(encoding).name not in ("utf-8", "ascii"):
            recoded = io.BufferedReader(RecodedStream(stream, encoding, os.fspath(path), carriage), _PIECE)
            stream = cast(BinaryIO, opened.enter_context(recoded))
        yield TextFile(stream, encoding, raw, max(os.fstat(raw.fileno()).st_size, 1))


def read_ahead(items: Iterator[Any], function: Callable[[Any], Any] | None = None, threads: int = 1) -> Iterator[Any]:
    """Yield the items, or function(item), in the order of the items; some are computed before they are asked for.

    Without a function one thread makes the items; otherwise `threads` threads compute at the same time. While a result
    is used, up to max(threads, 2) others may be waiting or being computed. An error is raised in its item's place.
    """
    pool = ThreadPoolExecutor(threads, thread_name_prefix="vrspam ahead")
    made: deque[Future] = deque()
    end = object()
    try:
        for item in repeat(end) if function is None else items:
            made.append(pool.submit(next, items, end) if function is None else pool.submit(function, item))
            if len(made) > max(threads, 2):
                if (found := made.popleft().result()) is end:
                    return
                yield found
        while made:
            yield made.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
        if isinstance(items, Generator):
            items.close()


def as_table(batch: Any, names: Sequence[str] | None = None) -> Any:
    """Return a record batch, or some columns of it, as an arrow table, which narwhals accepts as a frame."""
    import pyarrow as pa

    return pa.Table.from_batches([batch if names is None else batch.select(list(names))])


def as_batch(table: Any) -> Any:
    """Return an arrow table as one record batch."""
    import pyarrow as pa

    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], table.schema)


class TextBlock(NamedTuple):
    """About as many bytes as were asked for, up to a line end; `share` of the file has been read so far.

    Where the file is cut off or damaged, `damage` is the error, and there is no text.
    """

    number: int
    line: int  # the first line; for damage, the first line of the block before
    text: bytes
    share: float
    damage: Exception | None = None


def text_blocks(file: TextFile, size: int, *, first_line: int = 1, quoted: bool = False) -> Iterator[TextBlock]:
    """Yield blocks until the stream ends.

    With `quoted` a line end inside double quotes does not end a block (fields of a CSV file may hold line ends).
    """
    stream, number, line, start, longest = file.stream, 0, first_line, 1, 256 << 20
    try:
        while data := stream.read(size):
            lines, in_quotes = [data], quoted and b'"' in data and count(data, b'"') % 2 == 1
            # A lone quote inside a field never closes: after a thousand lines the block is cut at a line end.
            while lines[-1] and (lines[-1][-1:] != b"\n" or (in_quotes and len(lines) <= 1000)):
                lines.append(stream.readline(longest))
                if len(lines[-1]) == longest:
                    what = f"a line after line {line} is longer than {longest >> 20} MiB"
                    raise DataError(f"{what}: this is not a text table")
                in_quotes ^= quoted and b'"' in lines[-1] and count(lines[-1], b'"') % 2 == 1
            block = b"".join(lines) if len(lines) > 1 else data
            number, start, line = number + 1, line, line + count(block, b"\n")
            yield TextBlock(number, start, block, file.raw.tell() / file.size)
    except DAMAGED as error:
        yield TextBlock(number + 1, start, b"", 1.0, error)


def count(block: bytes, sign: bytes) -> int:
    """Count a byte; bytes.count is slower, which matters for files of gigabytes."""
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord(sign)))
