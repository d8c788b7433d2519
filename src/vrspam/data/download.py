"""Fetching one file over HTTP, whole or not at all."""

from __future__ import annotations

import http.client
import os
import urllib.error
import urllib.request
from pathlib import Path

from vrspam import __version__
from vrspam._utils.progress import Progress
from vrspam.data.errors import DataError

_BLOCK = 1 << 16


def download(url: str, path: str | os.PathLike[str], *, timeout: float = 30.0, progress: bool = True) -> None:
    """Write what is at `url` to `path`; on any failure remove `path` and raise `DataError` with the reason.

    `timeout` is the longest silence, in seconds, that the server is allowed.
    """
    path = Path(path)
    try:
        _fetch(url, path, timeout, progress)
    except BaseException as error:
        path.unlink(missing_ok=True)
        if not isinstance(error, (OSError, http.client.HTTPException)):
            raise
        raise DataError(f"{url} could not be downloaded: {_reason(error, timeout)}") from error


def _fetch(url: str, path: Path, timeout: float, progress: bool) -> None:
    request = urllib.request.Request(url, headers={"User-Agent": f"vrspam/{__version__}"})
    # An opener of its own: the global one keeps the proxies that were set when it was first used.
    opener = urllib.request.build_opener()
    with opener.open(request, timeout=timeout) as answer, open(path, "wb") as file:
        length = answer.headers.get("Content-Length")
        total = int(length) if length else None
        done = 0
        with Progress(f"download {url.rsplit('/', 1)[1]}", total, "B", progress) as bar:
            while block := answer.read(_BLOCK):
                file.write(block)
                done += len(block)
                bar.update(done)
    # read(size) ends quietly when the connection closes early
    if total is not None and done != total:
        raise http.client.IncompleteRead(b"", total - done)


def _reason(error: Exception, timeout: float) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"the server answers {error.code} {error.reason}"
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return f"nothing came for {timeout:g} seconds"
    if isinstance(cause, http.client.IncompleteRead):
        return "the connection closed before the whole file had come"
    return f"no connection ({cause})"
