"""Writing files so that they are complete or absent, never half written."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary name to write to; at the end the new file replaces `path`, unless an error was raised.

    Where `path` is a symbolic link, the file that it points to is replaced, and the link stays.
    """
    target = Path(os.path.realpath(path))
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    os.close(handle)
    try:
        yield Path(name)
        mask = os.umask(0)  # the mask can be read only by setting it
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)  # mkstemp lets only the owner read the file
        os.replace(name, target)
    except BaseException as error:
        os.unlink(name)
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:
            error.filename = os.fspath(path)  # so that the error of a full disk names a file
        raise


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a text file; a reader sees the old file or the new one, never a part."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")
    return Path(path)
