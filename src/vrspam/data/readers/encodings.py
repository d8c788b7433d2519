"""Text that is not UTF-8: found out from its bytes, and handed on as UTF-8."""

from __future__ import annotations

import codecs
from typing import BinaryIO

from vrspam._utils.messages import Parameter
from vrspam.data.errors import DataError

LOOKED_AT = 64 << 20  # bytes of a file in which other encodings are looked for; fewer of a compressed one
_PIECE = 1 << 20
_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_NOT_IN_WINDOWS = frozenset(b"\x81\x8d\x8f\x90\x9d")
_SELDOM = frozenset(b"\xff\xfe")  # letters of Latin-1 that are more often no text at all
UTF8 = "utf-8"


def find_encoding(stream: BinaryIO, most: int = LOOKED_AT) -> str:
    """The encoding of a text: UTF-8, UTF-16, Windows-1252 or Latin-1; the stream is read to some point.

    >>> import io
    >>> [find_encoding(io.BytesIO("Köln, Łódź"[:4].encode(name))) for name in ("utf-8", "latin-1", "utf-16")]
    ['utf-8', 'windows-1252', 'utf-16']
    """
    piece = stream.read(_PIECE)
    for mark, name in _MARKS.items():
        if piece.startswith(mark):
            return name
    if b"\0" in piece[:4096] and (wide := _wide(piece[:4096])):
        return wide
    looked_at = 0
    while piece:
        if not piece.isascii():
            return _of_letters(piece[: piece.rfind(b"\n") + 1] or piece)
        looked_at += len(piece)
        if looked_at >= most:
            break
        piece = stream.read(_PIECE)
    return UTF8


def _wide(start: bytes) -> str | None:
    """UTF-16 without a mark: every second byte of plain letters is 0."""
    even, odd = start[::2].count(0), start[1::2].count(0)
    if max(even, odd) < 0.4 * len(start) / 2.0:
        return None
    return "utf-16-le" if odd > even else "utf-16-be"


def _of_letters(piece: bytes) -> str:
    """UTF-8, unless more bytes contradict it than letters agree with it and they can be letters of Latin-1."""
    text = piece.decode("utf-8", "replace")
    others = len(text) - len(text.encode("ascii", "ignore"))
    invalid = text.count("\ufffd")
    foreign = {byte for byte in piece if byte >= 0x80}
    if 2 * invalid <= others or foreign <= _SELDOM or b"\0" in piece:
        return UTF8
    return "latin-1" if foreign & _NOT_IN_WINDOWS else "windows-1252"


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
