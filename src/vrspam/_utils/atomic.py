"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A name to write to, beside `path`; what was written takes its place at the end, unless something went wrong.

    >>> folder = Path(tempfile.mkdtemp())
    >>> with replacing(folder / "new.txt") as temporary:
    ...     _ = temporary.write_text("all of it")
    >>> [entry.name for entry in folder.iterdir()]
    ['new.txt']
    """
    target = Path(path)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    os.close(handle)
    try:
        yield Path(name)
        mask = os.umask(0)  # there is no other way to read it
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)  # a temporary file is its owner's alone
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a text file so that a reader sees the old one or the new one."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")
    return Path(path)
