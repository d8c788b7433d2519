"""The standard input as a file, because a table may be read more than once."""

from __future__ import annotations

import atexit
import os
import select
import shutil
import sys
import tempfile
from contextlib import suppress
from functools import cache
from typing import Any

from vrspam.tables.errors import DataError

_LEFT_FREE = 1 << 30  # bytes of the disk


@cache
def standard_input() -> str:
    """Copy the standard input to a file; return the file's path."""
    if sys.stdin is None:
        raise DataError("the standard input is closed: name a file, or open it")
    folder = tempfile.mkdtemp(prefix="vrspam-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = os.path.join(folder, "standard input")
    with open(path, "wb") as file:
        while block := _next_block(sys.stdin.buffer):
            if shutil.disk_usage(folder).free < _LEFT_FREE:
                raise DataError(
                    f"the standard input fills the disk: {file.tell() >> 20:,} MiB came, and less than "
                    f"{_LEFT_FREE >> 30} GiB is free in {tempfile.gettempdir()}; save it as a file, and name the file"
                )
            file.write(block)
    return path


def _next_block(stream: Any) -> bytes:
    """Return the next bytes of a stream. It waits a second at a time: a read misses a signal that came just before."""
    if os.name == "posix":
        with suppress(OSError, TypeError):  # not a file of the system
            while not select.select([stream], [], [], 1.0)[0]:
                pass
    return bytes(stream.read1(16 << 20))
