"""Text and JSON that every program can read: no NaN, no characters that files or XML cannot hold."""

import json
import math
import os
import re
from collections.abc import Mapping
from typing import Any

# Characters that XML cannot hold (and HTML should not): control characters, halves of surrogate pairs, no characters.
_UNREADABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_SURROGATES = re.compile("[\ud800-\udfff]")


def readable(text: str) -> str:
    """A text whose characters all programs can read; others are written as in JSON.

    >>> print(readable("age\\x1b"))
    age\\u001b
    """
    return _UNREADABLE.sub(_escaped, text)


def without_surrogates(text: str) -> str:
    """JSON that UTF-8 can hold: halves of surrogate pairs are escaped."""
    return _SURROGATES.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def readable_name(path: str | os.PathLike[str]) -> str:
    """The name of a file; bytes that are not UTF-8 are shown as numbers.

    >>> print(readable_name(b"data/K\\xf6ln.csv".decode("utf-8", "surrogateescape")))
    K\\xf6ln.csv
    """
    name = os.path.basename(os.fspath(path))
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def json_text(value: Any, **options: Any) -> str:
    """JSON of plain values, as strict readers take it: what is not known (NaN), or infinite, is null.

    >>> json_text({"gap": float("nan"), "rows": [1, 2.5]})
    '{"gap": null, "rows": [1, 2.5]}'
    """
    return json.dumps(finite_or_none(value), allow_nan=False, **options)


def json_lines(value: Any, *, width: int = 120, depth: int = 0) -> str:
    """JSON for people: what fits into a line stands on one; texts and numbers of longer lists fill lines.

    >>> print(json_lines({"rows": [1, 2.5], "words": {"name": "a long text", "none": None}}, width=40))
    {
     "rows": [1, 2.5],
     "words": {"name": "a long text", "none": null}
    }
    """
    if not isinstance(value, dict | list) or not value:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    first, last = "[", "]"
    if isinstance(value, dict):
        first, last = "{", "}"
        entries = []
        for name, part in value.items():
            text = json_lines(part, width=width, depth=depth + 1)
            entries.append(f"{json.dumps(name, ensure_ascii=False)}: {text}")
    else:
        entries = [json_lines(part, width=width, depth=depth + 1) for part in value]

    length = depth + 2 + sum(len(entry) + 2 for entry in entries)
    if length <= width and not any("\n" in entry for entry in entries):
        return first + ", ".join(entries) + last
    lines = entries
    if isinstance(value, list) and not any(isinstance(part, dict | list) for part in value):
        lines = _filled_lines(entries, width - depth - 1)
    indent = "\n" + " " * (depth + 1)
    return first + indent + f",{indent}".join(lines) + "\n" + " " * depth + last


def _filled_lines(entries: list[str], width: int) -> list[str]:
    """The entries, as many on each line as have room."""
    lines: list[list[str]] = []
    room = 0
    for entry in entries:
        room -= len(entry) + 2
        if room < 0 or not lines:
            lines.append([])
            room = width - len(entry) - 2
        lines[-1].append(entry)
    return [", ".join(line) for line in lines]


def finite_or_none(value: Any) -> Any:
    """Plain values in which None stands for numbers that are not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: finite_or_none(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [finite_or_none(part) for part in value]
    return value
