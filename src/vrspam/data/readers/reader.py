"""`Reader`: what the reader of a format must be able to do; and what it is asked for (`ColumnRequest`)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from vrspam.data.readers.block import Block
from vrspam.data.readers.problems import Problems
from vrspam.tables.writing import Writing


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
    tabular = True
    sparse = False
    options: tuple[str, ...] = ()
    declared: Sequence[str] = ()

    @classmethod
    def begins(cls, start: bytes) -> bool:
        """Whether a file of this format begins so; text says nothing here."""
        return bool(cls.magic) and start.startswith(cls.magic)

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
