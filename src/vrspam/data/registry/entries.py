"""The table of data sets known by name: `registry.toml`, read and checked."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files as package_files

from vrspam.data.errors import DataError


@dataclass(frozen=True)
class FileInfo:
    """One published file; the fields are explained at the head of `registry.toml`."""

    name: str
    n: int
    d: int
    url: str | None = None
    format: str = "libsvm"
    scaled_from: tuple[str, str] | None = None
    sha256: str | None = None
    publisher_bytes: bool = False
    labels: Mapping[int, int] | None = None

    @property
    def published_name(self) -> str | None:
        return self.url.rsplit("/", 1)[1] if self.url else None


@dataclass(frozen=True)
class SetInfo:
    """One data set: files joined, and how its labels become -1 and +1."""

    name: str
    title: str
    n: int
    d: int
    positives: int | None
    positive: str
    files: tuple[FileInfo, ...] = ()
    sklearn: str | None = None
    divide_by: float = 1.0
    paper: bool = False


def is_positive(label: float, rule: str, labels: Mapping[int, int]) -> bool:
    """Say whether a label is the positive class under "larger" or "even"."""
    return label % 2 == 0 if rule == "even" else label == max(labels)


@cache
def file_registry() -> dict[str, FileInfo]:
    """Return every published file by its name here."""
    return {name: _file(name, entry) for name, entry in _table()["files"].items()}


@cache
def registry() -> dict[str, SetInfo]:
    """Return every data set known by name, those of the paper first."""
    return {name: _set(name, entry) for name, entry in _table()["sets"].items()}


def set_info(name: str) -> SetInfo:
    """Return the entry of one set, or say which name may have been meant."""
    sets = registry()
    if name not in sets:
        close = difflib.get_close_matches(str(name), sets, n=1, cutoff=0.5)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise DataError(
            "no data set is called {name!r}; {hint}available() or `vrspam datasets` lists them all",
            name=name,
            hint=hint,
        )
    return sets[name]


def _table() -> dict:
    return tomllib.loads(package_files("vrspam.data.registry").joinpath("registry.toml").read_text("utf-8"))


def _file(name: str, entry: dict) -> FileInfo:
    entry = dict(entry)
    if "labels" in entry:
        entry["labels"] = {int(label): count for label, count in entry["labels"].items()}
    if "scaled_from" in entry:
        entry["scaled_from"] = tuple(entry["scaled_from"])
    return FileInfo(name=name, **entry)


def _set(name: str, entry: dict) -> SetInfo:
    entry = dict(entry)
    parts = tuple(file_registry()[file] for file in entry.pop("files", ()))
    if parts:
        counted = [part.labels for part in parts if part.labels is not None]
        entry["n"] = sum(part.n for part in parts)
        entry.setdefault("d", max(part.d for part in parts))
        entry["positives"] = None
        if len(counted) == len(parts):
            entry["positives"] = sum(
                count
                for labels in counted
                for label, count in labels.items()
                if is_positive(label, entry["positive"], labels)
            )
    return SetInfo(name=name, files=parts, **entry)
