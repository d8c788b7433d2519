"""The one exception of this room, and the sentence for a column that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from vrspam._utils.messages import WordedError

_SHOWN = 20  # columns named in one message


class DataError(WordedError):
    """A file or a named data set cannot be used; the message says which, why, and what to do.

    Examples
    --------
    >>> from vrspam.data import DataError, load
    >>> try:
    ...     load("breast_cancer")
    ... except DataError as error:
    ...     print(error)
    no data set is called 'breast_cancer'; did you mean 'breast-cancer'? available() or `vrspam datasets` lists them all
    """


def no_column(path: str, name: str, columns: Iterable[str]) -> str:
    """Say that a table has no column of this name, and what it has.

    >>> no_column("patients.csv", "sik", ["age", "sick"])
    "patients.csv has no column 'sik' (did you mean 'sick'?); it has 'age', 'sick'"
    """
    return f"{path} has no column {name!r}{similar(name, columns)}"


def similar(name: str, columns: Iterable[str]) -> str:
    """The columns there are, a name much like the one wanted first."""
    names = list(columns)
    plain = {column.strip().casefold(): column for column in names}
    near = difflib.get_close_matches(name.strip().casefold(), plain, 1, 0.75)
    hint = f" (did you mean {plain[near[0]]!r}?)" if near else ""
    return f"{hint}; it has {', '.join(map(repr, names[:_SHOWN]))}{', ...' if len(names) > _SHOWN else ''}"
