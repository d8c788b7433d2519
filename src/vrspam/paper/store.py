"""Store one Parquet file for each run, named by the run and the version of the package.

A file holds the rows of a run and a description of how they were computed (protocol, machine, hashes of the data), so a
report needs only the files. A file is written completely or not at all. Failed runs are stored too, marked as failed,
and count as not done.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from vrspam import __version__
from vrspam._utils.atomic import replacing
from vrspam.paper.protocol import Run

Row = dict[str, Any]

_STRINGS = "set task algorithm version kind variant tuned message"
_INTEGERS = "split seed n_train n_test d epoch nonzeros repeat"
_NUMBERS = (
    "positive_share l2 l1 passes seconds objective gap excess auc auc_exact auc_cv variance bound bound_rows distance"
)
_TYPES = ((_STRINGS, pa.string()), (_INTEGERS, pa.int64()), (_NUMBERS, pa.float64()))
SCHEMA = pa.schema([(name, kind) for names, kind in _TYPES for name in names.split()])
_ABOUT = b"vrspam"


class Store:
    """The result files in one directory.

    Parameters
    ----------
    directory : path
        Created when the first run is stored.
    version : str
        Results of this version of the package count; files of other versions are left as they are.
    """

    def __init__(self, directory: str | os.PathLike[str], version: str = __version__):
        self.directory = Path(directory)
        self.version = version

    def path(self, run: Run) -> Path:
        """Return the path of a run's file."""
        return self.directory / f"{run.key}.v{self.version}.parquet"

    def write(self, run: Run, rows: Iterable[Row], about: dict[str, Any]) -> None:
        """Store the rows of a run, replacing earlier ones; a reader sees either the old file or the new one."""
        key = asdict(run) | {"version": self.version}
        unknown = {name for row in rows for name in row} - set(SCHEMA.names)
        if unknown:
            raise KeyError(f"rows have fields that the store does not know: {sorted(unknown)}")
        schema = SCHEMA.with_metadata({_ABOUT: json.dumps(about)})
        table = pa.Table.from_pylist([_without_nan(row) | key for row in rows], schema=schema)
        self.directory.mkdir(parents=True, exist_ok=True)
        with replacing(self.path(run)) as temporary, temporary.open("wb") as file:
            pq.write_table(table, file, write_page_checksum=True)
            file.flush()
            os.fsync(file.fileno())

    def write_failure(self, run: Run, message: str, about: dict[str, Any]) -> None:
        """Store that a run failed, and why."""
        self.write(run, [{"kind": "failed", "message": message}], about)

    def read(self, run: Run) -> list[Row] | None:
        """Return the rows of a run, or None if its file is missing or damaged."""
        found = _read(self.path(run))
        return found[0] if found and found[0] and _run_of(found[0][0]) == run else None

    def done(self, run: Run, run_digest: str) -> bool:
        """Return whether the run has succeeded before with the same protocol, and its file is not damaged."""
        found = _read(self.path(run))
        if not found or not found[0]:
            return False
        rows, about = found
        return _run_of(rows[0]) == run and rows[0]["kind"] != "failed" and about.get("run_digest") == run_digest

    def remove_leftovers(self) -> None:
        """Delete incomplete files of killed processes; a file younger than an hour may belong to a running process."""
        for path in self.directory.glob(".*.part"):
            if time.time() - path.stat().st_mtime > 3600:
                path.unlink(missing_ok=True)

    def digests(self) -> set[str]:
        """Return the digests of the protocols of all files of this version."""
        found = (_read_about(path) for path in sorted(self.directory.glob(f"*.v{self.version}.parquet")))
        return {about["digest"] for about in found if about}


def read_all(directory: str | os.PathLike[str]) -> tuple[list[Row], list[dict[str, Any]], list[Path]]:
    """Return all rows in a directory, the different descriptions of how they were computed, and the unreadable files.

    If several versions of the package have stored the same run, the newest version counts.
    """
    newest: dict[Run, tuple[tuple[int, ...], list[Row], dict[str, Any]]] = {}
    unreadable: list[Path] = []
    for path in sorted(Path(directory).glob("*.parquet")):
        found = _read(path)
        if not found or not found[0]:
            unreadable.append(path)
            continue
        rows, about = found
        run, version = _run_of(rows[0]), _version_key(rows[0]["version"])
        if run not in newest or version > newest[run][0]:
            newest[run] = (version, rows, about)
    rows = [row for run in sorted(newest) for row in newest[run][1]]
    ways = {json.dumps(about, sort_keys=True): about for _, _, about in newest.values()}
    return rows, list(ways.values()), unreadable


def _read(path: Path) -> tuple[list[Row], dict[str, Any]] | None:
    try:
        table = pq.read_table(path, page_checksum_verification=True, memory_map=False, partitioning=None)
        about = json.loads(table.schema.metadata[_ABOUT])
        return table.select(SCHEMA.names).to_pylist(), about
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError):
        return None


def _read_about(path: Path) -> dict[str, Any] | None:
    try:
        return json.loads(pq.read_schema(path).metadata[_ABOUT])
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError):
        return None


def _without_nan(row: Row) -> Row:
    """Replace NaN by None, so that equal rows compare equal."""
    return {name: None if isinstance(value, float) and value != value else value for name, value in row.items()}


def _run_of(row: Row) -> Run:
    return Run(row["set"], row["algorithm"], row["split"], row["seed"], row["task"])


def _version_key(version: str) -> tuple[int, ...]:
    return tuple(int("".join(c for c in part if c.isdigit()) or 0) for part in version.split("."))
