"""Opening text whatever its compression, and cutting it into blocks of whole lines."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, cast

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
        self.packed = opener is not None
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
    rest, line = b"", first_line
    while True:
        data = stream.read(size)
        if not data:
            if rest:
                yield rest, line
            return
        buffer = rest + data if rest else data
        cut = last_line_end(buffer, quoted)
        if cut == 0:
            if len(buffer) > _LONGEST_LINE:
                raise DataError(f"line {line} is longer than {_LONGEST_LINE >> 20} MiB: this is no text table")
            rest = buffer
            continue
        yield buffer[:cut], line
        line += buffer.count(b"\n", 0, cut)
        rest = buffer[cut:]


def last_line_end(buffer: bytes, quoted: bool) -> int:
    """Return the position after the last usable line end, 0 when there is none."""
    plain = cut = buffer.rfind(b"\n") + 1
    # An odd number of quotes before the cut means that it falls inside a quoted field: go back to the line
    # end before the quote that opens it. A lone quote inside a field never closes; cut there as if plain.
    while quoted and cut and buffer.count(b'"', 0, cut) % 2:
        cut = buffer.rfind(b"\n", 0, buffer.rfind(b'"', 0, cut)) + 1
    return cut or plain
