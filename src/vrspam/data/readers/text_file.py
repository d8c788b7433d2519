"""Text files, compressed or not, recoded to UTF-8, and in blocks that end at a line end."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np

from vrspam._utils.findings import Fix
from vrspam.tables.errors import DataError

_PIECE = 1 << 20
_LONGEST_LINE = 256 << 20
_MOST_QUOTED_LINES = 1000

#: What reading a damaged or cut-off compressed file can raise.
DAMAGED = (EOFError, OSError, lzma.LZMAError, zlib.error)

# told by the first bytes, because names can be wrong
_OPENERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
_UNREAD_PACKING = {
    "Zstandard": (b"\x28\xb5\x2f\xfd", "zstd -d FILE"),
    "LZ4": (b"\x04\x22\x4d\x18", "lz4 -d FILE"),
}
_BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


class TextFile(NamedTuple):
    """A file opened for reading bytes, decompressed on the way; `raw` is the file of `size` bytes on the disk.

    The position in `raw` shows the progress of the reading, for compressed files too.
    """

    stream: BinaryIO
    encoding: str
    raw: BinaryIO
    size: int


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
        _refuse_unread_packing(path, start)
        opener = next((opener for magic, opener in _OPENERS.items() if start.startswith(magic)), None)
        stream = raw if opener is None else cast(BinaryIO, opened.enter_context(opener(raw)))
        if encoding is None:
            encoding = _detected_encoding(stream, looked_at=(64 if opener is None else 4) << 20)

        carriage_returns = _ends_at_carriage_returns(stream, encoding)
        if carriage_returns or codecs.lookup(encoding).name not in ("utf-8", "ascii"):
            recoded = RecodedStream(stream, encoding, os.fspath(path), carriage_returns)
            stream = cast(BinaryIO, opened.enter_context(io.BufferedReader(recoded, _PIECE)))
        yield TextFile(stream, encoding, raw, max(os.fstat(raw.fileno()).st_size, 1))


def _refuse_unread_packing(path: str | os.PathLike[str], start: bytes) -> None:
    for name, (magic, command) in _UNREAD_PACKING.items():
        if start.startswith(magic):
            raise DataError(
                f"{os.fspath(path)} is compressed by {name}, which is not read: unpack it first ({command})"
            )


def _detected_encoding(stream: BinaryIO, looked_at: int) -> str:
    """The encoding of a text, whose stream is left at its start."""
    try:
        encoding = find_encoding(stream, looked_at)
    except DAMAGED:  # reported when the text is read
        encoding = "utf-8"
    stream.seek(0)
    return encoding


def _ends_at_carriage_returns(stream: BinaryIO, encoding: str) -> bool:
    """Return whether lines end at carriage returns alone, as on old Macs; the stream is left at its start."""
    try:
        start = stream.read(1 << 16).decode(encoding, "replace")
    except DAMAGED:  # reported when the text is read
        start = ""
    stream.seek(0)
    return "\r" in start and "\n" not in start


# Encodings


def find_encoding(stream: BinaryIO, most: int = 64 << 20) -> str:
    """The encoding of a text: UTF-8, UTF-16, Windows-1252 or Latin-1; at most `most` bytes of the stream are read."""
    piece = stream.read(_PIECE)
    for mark, name in _BYTE_ORDER_MARKS.items():
        if piece.startswith(mark):
            return name
    utf_16 = _utf_16_without_mark(piece[:4096])
    if utf_16:
        return utf_16

    looked_at = len(piece)
    while piece.isascii():
        if not piece or looked_at >= most:
            return "utf-8"
        piece = stream.read(_PIECE)
        looked_at += len(piece)
    return _encoding_of_letters(piece)


def _utf_16_without_mark(start: bytes) -> str:
    """The form of UTF-16 in which every second byte of plain letters is 0; "" for other texts."""
    even = start[::2].count(0)
    odd = start[1::2].count(0)
    if max(even, odd) < max(0.4 * len(start) / 2.0, 1.0):
        return ""
    return "utf-16-le" if odd > even else "utf-16-be"


def _encoding_of_letters(piece: bytes) -> str:
    """The encoding of bytes beyond ASCII.

    It is UTF-8, unless most of these characters are invalid in it, and their bytes can be letters of Latin-1.
    """
    piece = piece[: piece.rfind(b"\n") + 1] or piece
    text = piece.decode("utf-8", "replace")
    beyond_ascii = len(text) - len(text.encode("ascii", "ignore"))
    is_utf_8 = 2 * text.count("\ufffd") <= beyond_ascii
    foreign = {byte for byte in piece if byte >= 0x80}
    seldom = set(b"\xff\xfe")  # rare letters: more likely no text
    if is_utf_8 or foreign <= seldom or b"\0" in piece:
        return "utf-8"
    not_in_windows = set(b"\x81\x8d\x8f\x90\x9d")
    return "latin-1" if foreign & not_in_windows else "windows-1252"


class RecodedStream(io.RawIOBase):
    """A stream that recodes text to UTF-8, for a buffer that reads it; `seek` can only return to the start.

    With `carriage_returns` lines end at these, which become line feeds.
    """

    def __init__(self, raw: BinaryIO, encoding: str, path: str, carriage_returns: bool = False) -> None:
        self._raw = raw
        self._encoding = encoding
        self._path = path
        self._carriage_returns = carriage_returns
        self._strict = codecs.lookup(encoding).name != "utf-8"  # wrong bytes of UTF-8 are reported by line
        self.seek(0)

    def seek(self, position: int, whence: int = 0) -> int:
        if whence == 0:
            self._raw.seek(0)
            errors = "strict" if self._strict else "surrogateescape"
            self._decoder = codecs.getincrementaldecoder(self._encoding)(errors)
            self._ready = memoryview(b"")
            self._position = 0
        return self._position

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        at_end = False
        while not self._ready and not at_end:
            data = self._raw.read(_PIECE)
            at_end = not data
            self._ready = memoryview(self._recoded(data))
        taken = self._ready[: len(buffer)]
        buffer[: len(taken)] = taken
        self._ready = self._ready[len(taken) :]
        self._position += len(taken)
        return len(taken)

    def _recoded(self, data: bytes) -> bytes:
        """The next bytes of the text in UTF-8; no data ends it."""
        try:
            text = self._decoder.decode(data, final=not data)
        except UnicodeError as error:
            what = f"{self._path} is not {self._encoding} text; give its encoding with "
            raise DataError(what, Fix("encoding")) from error
        if self._carriage_returns:
            text = text.replace("\r", "\n")
        return text.encode("utf-8", "replace" if self._strict else "surrogateescape")


# Blocks of lines


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
    number = 0
    start, next_line = 1, first_line
    try:
        while data := file.stream.read(size):
            text = _up_to_line_end(file.stream, data, next_line, quoted)
            number += 1
            start, next_line = next_line, next_line + count(text, b"\n")
            yield TextBlock(number, start, text, file.raw.tell() / file.size)
    except DAMAGED as error:
        yield TextBlock(number + 1, start, b"", 1.0, error)


def _up_to_line_end(stream: BinaryIO, data: bytes, line: int, quoted: bool) -> bytes:
    """The data, which begin at this line, and what follows up to a line end that is not inside quotes.

    A lone quote inside a field never closes: after a thousand lines the text is cut at a line end.
    """
    in_quotes = quoted and _has_odd_quotes(data)
    pieces = [data]
    while pieces[-1] and (not pieces[-1].endswith(b"\n") or (in_quotes and len(pieces) <= _MOST_QUOTED_LINES)):
        pieces.append(stream.readline(_LONGEST_LINE))
        if len(pieces[-1]) == _LONGEST_LINE:
            what = f"a line after line {line} is longer than {_LONGEST_LINE >> 20} MiB"
            raise DataError(f"{what}: this is not a text table")
        if quoted and _has_odd_quotes(pieces[-1]):
            in_quotes = not in_quotes
    return b"".join(pieces) if len(pieces) > 1 else data


def _has_odd_quotes(text: bytes) -> bool:
    return b'"' in text and count(text, b'"') % 2 == 1


def count(text: bytes, sign: bytes) -> int:
    """Count a byte; bytes.count is slower, which matters for files of gigabytes."""
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord(sign)))
