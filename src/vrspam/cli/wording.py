"""Messages of the library, which name parameters, in terms of the options of the command line.

The library writes a parameter as `name=`, with or without a value: `drop=['day']`, `zero_based=True`, `target=`.
"""

from __future__ import annotations

import ast
import csv
import io
import re
import shlex

# Parameters that are options, and those whose options have another name.
_OPTIONS = {
    name: f"--{name.replace('_', '-')}"
    for name in (
        *("target", "positive", "drop", "include", "categorical", "max_categories", "format", "delimiter"),
        *("features", "streaming", "calibration", "seed", "l1", "l2", "theta", "epsilon", "raw"),
        *("confidence", "recall", "cost_ratio"),
    )
} | {"n_splits": "--folds", "ids": "--id"}
_WHOLE = {
    "pass on_error='skip'": "give --skip-errors",
    "zero_based=True": "--zero-based",
    "zero_based=False": "--one-based",
}
_TEXT = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_START = r"(?<![\w/\\'\"-])"  # not within a word, a path or a name in quotes
_PARAMETER = re.compile(rf"{_START}({'|'.join(_OPTIONS)})=(\[(?:{_TEXT})\]|{_TEXT}|[\w+-]+(?:\.\d+)?)?")
_PHRASES = [
    *((re.compile(_START + re.escape(old)), new) for old, new in _WHOLE.items()),
    (re.compile(r"available\(\) lists"), "vrspam datasets lists"),
    (re.compile(rf"{_START}max_categories\b(?!=)"), "--max-categories"),
    (re.compile(r"use fewer folds, or another seed of HashFolds"), "use fewer --folds, or another --seed"),
]


def in_options(message: str) -> str:
    """A message of the library in terms of options, values as they are typed into a shell.

    >>> in_options("column 'day' is no number; leave it out with drop=['day']")
    "column 'day' is no number; leave it out with --drop day"
    >>> in_options("name it with target=; streaming=True; include=['cholesterol, mg/dl']")
    'name it with --target; --streaming; --include \\'"cholesterol, mg/dl"\\''
    """
    for pattern, words in _PHRASES:
        message = pattern.sub(words, message)
    return _PARAMETER.sub(lambda found: " ".join([_OPTIONS[found[1]], *_typed(found[2])]), message)


def _typed(value: str | None) -> list[str]:
    """What stands behind an option; nothing for a switch."""
    if value is None or value == "True":
        return []
    if value[0] not in "['\"":
        return [value]
    plain = ast.literal_eval(value)
    if isinstance(plain, list):  # options that name columns are read as lines of CSV
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow(plain)
        plain = line.getvalue()
    return [shlex.quote(plain)]
