"""Writing files so that they are complete or absent, never half written.

A file is written under a temporary name beside its own, brought to the disk, and then takes its name. So a reader, and
a machine that loses its power, see the old file or the whole new one. A file that is replaced keeps its mode and its
owner.
"""

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

AnyPath = str | os.PathLike[str]
_ENDING = ".part"  # of temporary names


@contextmanager
def replacing(path: AnyPath) -> Iterator[Path]:
    """Give a temporary name to write to; at the end the new file replaces `path`, unless an error was raised.

    Where `path` is a symbolic link, the file that it points to is replaced, and the link stays.
    """
    with replacing_all([path]) as (temporary,):
        yield temporary


@contextmanager
def replacing_all(paths: Sequence[AnyPath]) -> Iterator[list[Path]]:
    """Give a temporary name for each path; at the end all of them are replaced, or none."""
    targets = [Path(os.path.realpath(path)) for path in paths]
    with ExitStack() as files:
        temporaries = []
        for path, target in zip(paths, targets, strict=True):
            files.enter_context(_naming(path))
            check_replaceable(path)
            temporaries.append(files.enter_context(_temporary(target)))
        yield temporaries
        for path, target, temporary in zip(paths, targets, temporaries, strict=True):
            with _naming(path):
                _keep_mode(target, temporary)
                _bring_to_disk(temporary)
        _take_names(paths, targets, temporaries)


def write_text(path: AnyPath, text: str) -> Path:
    """Write a text file; a reader sees the old file or the new one, never a part."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")
    return Path(path)


def check_replaceable(path: AnyPath) -> None:
    """Refuse what cannot, or should not, be replaced: a device or pipe, and a file that may not be written to."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "It is a directory: give the name of a file", os.fspath(path))
    if not stat.S_ISREG(mode):
        words = "It is a device or a pipe, which a new file would replace: give the name of a file"
        raise OSError(errno.EINVAL, words, os.fspath(path))
    if not os.access(path, os.W_OK):
        words = "It may not be written to: change its mode, or give another name"
        raise PermissionError(errno.EACCES, words, os.fspath(path))


@contextmanager
def _naming(path: AnyPath) -> Iterator[None]:
    """Give errors of the disk the name of the file that the reader knows, not none or a temporary one."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and (error.filename is None or str(error.filename).endswith(_ENDING)):
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from error
        raise


@contextmanager
def _temporary(target: Path) -> Iterator[Path]:
    """Make an empty file beside the target, and remove it at the end if it still has its own name."""
    # the name is known before the file exists, so that a signal cannot come between the file and its removal
    name = target.with_name(f".{_beginning(target.name)}.{secrets.token_hex(6)}{_ENDING}")
    # nobody else may read what replaces a file before the mode of that file is known; a new file gets the usual mode
    mode = 0o600 if target.exists() else 0o666
    try:
        os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
        yield name
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)


def _beginning(name: str) -> str:
    """As much of a name as leaves room for a temporary ending, in UTF-8: file systems allow 255 bytes."""
    return os.fsencode(name)[:200].decode("utf-8", "ignore")


def _keep_mode(target: Path, temporary: Path) -> None:
    """Give a new file the mode and the owner of the file that it replaces."""
    try:
        old = os.stat(target)
    except FileNotFoundError:
        return
    new = os.stat(temporary)
    mode = stat.S_IMODE(old.st_mode)
    if hasattr(os, "chown") and (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        try:
            os.chown(temporary, old.st_uid, old.st_gid)
        except PermissionError:  # only the superuser may give files away
            # the bits of the old group would be given to another one
            mode &= ~0o070 | (mode & 0o007) << 3
    os.chmod(temporary, mode)


def _bring_to_disk(path: Path) -> None:
    """Wait until the content of a file is on the disk."""
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _bring_folder_to_disk(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system can do that; the file is whole without it."""
    if os.name == "posix":
        with suppress(OSError):
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def _take_names(paths: Sequence[AnyPath], targets: Sequence[Path], temporaries: Sequence[Path]) -> None:
    """Give all files their names; if one cannot have it, those before it are put back as they were."""
    replaced: list[tuple[Path, Path | None]] = []  # each with a second name of the file that it replaced
    with ExitStack() as second_names:
        try:
            for path, target, temporary in zip(paths, targets, temporaries, strict=True):
                with _naming(path):
                    old = second_names.enter_context(_second_name(target)) if len(targets) > 1 else None
                    os.replace(temporary, target)
                replaced.append((target, old))
        except BaseException:
            for target, old in replaced:
                if old is None:
                    os.unlink(target)
                else:
                    os.replace(old, target)
            raise
    for folder in dict.fromkeys(target.parent for target in targets):
        _bring_folder_to_disk(folder)


@contextmanager
def _second_name(target: Path) -> Iterator[Path | None]:
    """Keep an old file under a second name while a new one takes its place; None where there is no old file."""
    if not target.exists():
        yield None
        return
    with _temporary(target) as name:
        shutil.copy2(target, name)
        yield name
