"""Opening text whatever its compression, and cutting it into blocks of whole lines."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, cast

import numpy as np

from vrspam.data.errors import DataError

# Told apart by their first bytes, because names lie.
_OPENERS: dict[bytes, Callable[..., Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}

#: What reading a damaged or cut-off compressed file can raise.
DAMAGED = (EOFError, OSError, lzma.LZMAError, zlib.error)

# One line longer than this is taken for a file that is no text at all.
_LONGEST_LINE = 256 << 20
_LONGEST_FIELD = 1000  # lines in one quoted field


class TextFile:
    """A file opened for reading bytes, unpacked on the way (gzip, bzip2, xz or plain).

    `share` is the part of the file on disk that has been read, so progress is known for packed files too.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            self._raw = open(path, "rb")  # noqa: SIM115
        except OSError as error:
            raise DataError(f"{os.fspath(path)} cannot be opened ({error.strerror})") from error
        self._size = max(os.fstat(self._raw.fileno()).st_size, 1)
        start = self._raw.read(6)
        self._raw.seek(0)
        opener = next((o for magic, o in _OPENERS.items() if start.startswith(magic)), None)
        self.stream = cast(BinaryIO, opener(self._raw)) if opener else cast(BinaryIO, self._raw)

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

    With `quoted` a line end inside double quotes is no cut (fields of a CSV file may hold line ends).
    """
    line = first_line
    while data := stream.read(size):
        block = data + _line(stream, line) if data[-1:] != b"\n" else data
        if quoted and b'"' in block and _odd(block):
            block += _to_closing_quote(stream, line)
        yield block, line
        line += count_lines(block)


def count_lines(block: bytes) -> int:
    """Count line ends; bytes.count goes byte by byte, which is felt in files of gigabytes."""
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == 10))


def _line(stream: BinaryIO, number: int) -> bytes:
    line = stream.readline(_LONGEST_LINE)
    if len(line) == _LONGEST_LINE:
        raise DataError(f"a line after line {number} is longer than {_LONGEST_LINE >> 20} MiB: this is no text table")
    return line


def _odd(part: bytes) -> bool:
    return part.count(b'"') % 2 == 1


def _to_closing_quote(stream: BinaryIO, number: int) -> bytes:
    """Read on to the end of the line that closes an open quote.

    A lone quote inside a field never closes, so the search gives up after a while; the cut is at a line end anyway.
    """
    lines: list[bytes] = []
    while len(lines) < _LONGEST_FIELD and (line := _line(stream, number)):
        lines.append(line)
        if _odd(line):
            break
    return b"".join(lines)
