"""`Reader` and the blocks it yields; text files, compressed or not, read in blocks that end at a line end."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np

from vrspam._utils.messages import Message, Parameter
from vrspam.data.errors import DataError, NoLabel, Problems


class ColumnRequest(NamedTuple):
    """Which columns to read."""

    types: Mapping[str, Any] = {}  # arrow types of columns of a table; None takes a column as it is (text in CSV)
    features: tuple[int, ...] = ()  # columns of a `.npy` array
    label: int | None = None  # the same
    width: int = 0  # features of a LIBSVM file
    lenient: bool = False  # in CSV, text among numbers or dates is missing and counted (`Block.strays`), not an error


#: What to read: known beforehand, or chosen when the columns of the file and their types are known.
RequestOrChoice = ColumnRequest | Callable[[Mapping[str, Any]], ColumnRequest]


def choose(wanted: RequestOrChoice, columns: Mapping[str, Any]) -> ColumnRequest:
    """What to read of a file that has these columns."""
    return wanted if isinstance(wanted, ColumnRequest) else wanted(columns)


@dataclass(frozen=True)
class Block:
    """Rows of one file: `table` (an arrow record batch) for tables, `X` and `y` for LIBSVM and `.npy`.

    `where(i)` names the place of the block's row i; `done` is the share of the file up to the block's end. `strays` are
    texts that are missing in the table because its columns hold numbers, with their counts. `broken` are rows that
    could not be read at all: how many rows of the block come before, and what is wrong. `raw` is the table before text
    was read as numbers and dates, where it was.
    """

    file: str
    index: int
    rows: int
    where: Callable[[int], str]
    done: float
    table: Any = None
    X: Any = None
    y: Any = None
    strays: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    broken: tuple[tuple[int, str], ...] = ()
    raw: Any = None

    def split(self, rows: int) -> Iterator[Block]:
        """Cut the block into blocks of at most `rows` rows."""
        if self.rows <= rows:
            yield self
            return
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
                broken=tuple((p - start, why) for p, why in self.broken if start <= p < stop + (stop == self.rows)),
                X=None if self.X is None else self.X[start:stop],
                y=None if self.y is None else self.y[start:stop],
            )

    def without(self, bad: Mapping[int, str | Message], problems: Problems) -> np.ndarray:
        """Report bad rows; return the positions of the others."""
        for row in sorted(bad):
            if problems.leave_unlabelled and isinstance(bad[row], NoLabel):
                problems.unlabelled += 1
            else:
                problems.report(self.file, self.index, self.where(row), bad[row])
        return np.setdiff1d(np.arange(self.rows), list(bad))


class Reader:
    """Reads the files of one format in blocks; `vrspam.data.readers.READERS` lists all readers.

    Attributes
    ----------
    name, title : str
        What `format=` calls it, and what messages do.
    suffixes : tuple of str
        Ends of file names.
    magic : bytes
        The first bytes of its files; empty for text.
    line : pattern or None
        How the first line of a text file begins, where this tells the format.
    tabular : bool
        Columns have names and types, and blocks are arrow record batches. Otherwise blocks are arrays.
    sparse : bool
        Absent values are zeros, each row carries its label (LIBSVM), and `scan` finds how many features there are.
    options : tuple of str
        What its constructor takes: `block_bytes` and options that it alone has.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    magic = b""
    line: re.Pattern[bytes] | None = None
    tabular, sparse = True, False
    options: tuple[str, ...] = ()

    def columns(self, path: str) -> dict[str, Any]:
        """Return the columns of a file with their types."""
        return {}

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        return os.path.getsize(path)

    def rows(self, path: str) -> int | None:
        """Return the number of rows where the head of the file says it."""
        return None

    def blocks(self, path: str, wanted: RequestOrChoice, rows: int, problems: Problems) -> Iterator[Block]:
        """Yield blocks of the wanted columns; at most `rows` rows each, where the format can be cut by rows."""
        raise NotImplementedError

    def scan(self, path: str, problems: Problems) -> Iterator[tuple[int, set[bytes], int, int]]:
        """Yield (number of features, label texts, bytes, lines) of each block, without parsing its values."""
        raise NotImplementedError


_PIECE = 1 << 20


def find_encoding(stream: BinaryIO, most: int = 64 << 20) -> str:
    """The encoding of a text: UTF-8, UTF-16, Windows-1252 or Latin-1; at most `most` bytes of the stream are read.

    >>> import io
    >>> [find_encoding(io.BytesIO("Köln, Łódź"[:4].encode(name))) for name in ("utf-8", "latin-1", "utf-16")]
    ['utf-8', 'windows-1252', 'utf-16']
    """
    piece = stream.read(_PIECE)
    marks = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
    for mark, name in marks.items():
        if piece.startswith(mark):
            return name
    start = piece[:4096]
    even, odd = start[::2].count(0), start[1::2].count(0)
    if max(even, odd) >= max(0.4 * len(start) / 2.0, 1.0):  # every second byte of plain letters in UTF-16 is 0
        return "utf-16-le" if odd > even else "utf-16-be"
    looked_at = 0
    while piece:
        if not piece.isascii():
            return _of_letters(piece[: piece.rfind(b"\n") + 1] or piece)
        looked_at += len(piece)
        if looked_at >= most:
            break
        piece = stream.read(_PIECE)
    return "utf-8"


def _of_letters(piece: bytes) -> str:
    """UTF-8, unless more bytes contradict it than letters agree with it and they can be letters of Latin-1."""
    text = piece.decode("utf-8", "replace")
    others = len(text) - len(text.encode("ascii", "ignore"))
    invalid = text.count("\ufffd")
    foreign = {byte for byte in piece if byte >= 0x80}
    seldom, not_in_windows = set(b"\xff\xfe"), set(b"\x81\x8d\x8f\x90\x9d")  # seldom letters: more often no text
    if 2 * invalid <= others or foreign <= seldom or b"\0" in piece:
        return "utf-8"
    return "latin-1" if foreign & not_in_windows else "windows-1252"


def check_encoding(name: str) -> None:
    """Refuse a name that Python does not know as an encoding of text."""
    try:
        "".encode(name)
    except (LookupError, UnicodeError):
        raise DataError(
            "{given} is not known; give utf-8, windows-1252, latin-1, utf-16 or another name of Python",
            given=Parameter("encoding", name),
        ) from None


class RecodedStream:
    """A stream of text in some encoding, read as UTF-8."""

    def __init__(self, raw: BinaryIO, encoding: str, path: str) -> None:
        self._raw, self._encoding, self._path = raw, encoding, path
        self.seek(0)

    def seek(self, position: int) -> None:
        """Go to a place; text before it is decoded again."""
        self._raw.seek(0)
        self._decoder = codecs.getincrementaldecoder(self._encoding)()
        self._ready, self._position, self._ended = b"", 0, False
        if position:
            self.read(position)

    def tell(self) -> int:
        """Where the stream is, in bytes of UTF-8."""
        return self._position

    def read(self, size: int) -> bytes:
        """The next bytes."""
        while len(self._ready) < size and not self._ended:
            self._decode_more()
        return self._take(min(size, len(self._ready)))

    def readline(self, limit: int = 1 << 62) -> bytes:
        """The next line."""
        start = 0
        while (end := self._ready.find(b"\n", start)) < 0 and len(self._ready) < limit and not self._ended:
            start = len(self._ready)
            self._decode_more()
        return self._take(min(end + 1 if end >= 0 else len(self._ready), limit))

    def close(self) -> None:
        """Close the stream below."""
        self._raw.close()

    def _take(self, count: int) -> bytes:
        taken, self._ready = self._ready[:count], self._ready[count:]
        self._position += count
        return taken

    def _decode_more(self) -> None:
        data = self._raw.read(_PIECE)
        self._ended = not data
        try:
            self._ready += self._decoder.decode(data, final=self._ended).encode("utf-8", "replace")
        except UnicodeError as error:
            raise DataError(
                "{path} is not {name} text; name what it is with {encoding}",
                path=self._path,
                name=self._encoding,
                encoding=Parameter("encoding"),
            ) from error


#: What reading a damaged or cut-off compressed file can raise.
DAMAGED = (EOFError, OSError, lzma.LZMAError, zlib.error)


class TextFile:
    """A file opened for reading bytes, decompressed on the way (gzip, bzip2, xz or plain).

    Text in another `encoding`, None for one that is to be found, comes as UTF-8. `share` is the part of the file on
    disk that has been read, so progress is known for compressed files too.
    """

    def __init__(self, path: str | os.PathLike[str], encoding: str | None = "utf-8") -> None:
        try:
            self._raw = open(path, "rb")  # noqa: SIM115
        except OSError as error:
            raise DataError(f"{os.fspath(path)} cannot be opened ({error.strerror})") from error
        self._size = max(os.fstat(self._raw.fileno()).st_size, 1)
        start = self._raw.read(6)
        self._raw.seek(0)
        # told by the first bytes, because names can be wrong
        openers: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
        opener = next((o for magic, o in openers.items() if start.startswith(magic)), None)
        self.stream = cast(BinaryIO, opener(self._raw)) if opener else cast(BinaryIO, self._raw)
        if encoding is None:
            try:
                encoding = find_encoding(self.stream, (64 if opener is None else 4) << 20)
            except DAMAGED:  # said where it is read
                encoding = "utf-8"
            self.stream.seek(0)
        self.encoding = encoding
        if codecs.lookup(encoding).name not in ("utf-8", "ascii"):
            self.stream = cast(BinaryIO, RecodedStream(self.stream, encoding, os.fspath(path)))

    @property
    def share(self) -> float:
        return self._raw.tell() / self._size

    def __enter__(self) -> TextFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()
        self._raw.close()


def line_blocks(
    stream: BinaryIO, size: int, *, first_line: int = 1, quoted: bool = False
) -> Iterator[tuple[bytes, int]]:
    """Yield (about `size` bytes that end at a line end, number of its first line) until the stream ends.

    With `quoted` a line end inside double quotes does not end a block (fields of a CSV file may hold line ends).
    """
    line = first_line
    while data := stream.read(size):
        block = data + _line(stream, line) if data[-1:] != b"\n" else data
        if quoted and b'"' in block and count(block, b'"') % 2:
            # A lone quote inside a field never closes: after a thousand lines the block is cut at a line end anyway.
            more: list[bytes] = []
            while len(more) < 1000 and (not more or count(more[-1], b'"') % 2 == 0):
                more.append(_line(stream, line))
                if not more[-1]:
                    break
            block = b"".join([block, *more])
        yield block, line
        line += count(block, b"\n")


def count(block: bytes, sign: bytes) -> int:
    """Count a byte; bytes.count goes from one to the next, which is felt in files of gigabytes."""
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == ord(sign)))


def _line(stream: BinaryIO, number: int) -> bytes:
    longest = 256 << 20
    line = stream.readline(longest)
    if len(line) == longest:
        raise DataError(f"a line after line {number} is longer than {longest >> 20} MiB: this is not a text table")
    return line
