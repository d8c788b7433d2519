"""Values as people type them: names, numbers, directions, orders and numbers of rows.

What cannot be read as a direction, an order or a number is returned as it is, and the check of its option refuses it.
"""

import csv
import re
from typing import Any

from vrspam._utils.findings import VrspamError


def read_names(text: str) -> tuple[str, ...]:
    """Names as in a line of a CSV file.

    >>> read_names('age, "cholesterol, mg/dl"')
    ('age', 'cholesterol, mg/dl')
    """
    names = next(csv.reader([text], skipinitialspace=True), [])
    if not any(names):
        raise VrspamError("give at least one name")
    return tuple(name for name in names if name)


def read_numbers(text: str) -> Any:
    """Numbers separated by commas, or a word.

    >>> read_numbers("0,0.1"), read_numbers(" auto"), read_numbers("some")
    ((0.0, 0.1), 'auto', 'some')
    """
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        return text.strip()


def read_directions(text: str) -> Any:
    """Columns with their directions.

    >>> read_directions('income=-1,"age, years"=1'), read_directions("income")
    ({'income': -1, 'age, years': 1}, 'income')
    """
    known = {"-1": -1, "0": 0, "1": 1, "+1": 1}
    directions = {}
    for part in re.findall(r'(?:"[^"]*"|[^,"])+', text):
        name, _, direction = part.strip().rpartition("=")
        if not name or direction.strip() not in known:
            return text
        directions[name.strip().strip('"')] = known[direction.strip()]
    return directions or text


def read_order(text: str) -> Any:
    """The categories of a column in their order.

    >>> read_order("size=small,medium,large"), read_order("size")
    ({'size': ('small', 'medium', 'large')}, 'size')
    """
    name, _, categories = text.partition("=")
    if not name.strip() or not categories.strip():
        return text
    return {name.strip(): read_names(categories)}


def read_delimiter(text: str) -> str:
    """A character, or the word for the one that cannot be typed.

    >>> read_delimiter("tab"), read_delimiter(";")
    ('\\t', ';')
    """
    return "\t" if text in ("tab", "\\t") else text


def read_rows(text: str) -> tuple[int, ...]:
    """Numbers of rows.

    >>> read_rows("3, 17")
    (3, 17)
    """
    try:
        rows = tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise VrspamError(f"{text!r} is not a number, or numbers separated by commas") from error
    if min(rows) < 1:
        raise VrspamError(no_row(min(rows)))
    return rows


def no_row(number: int) -> str:
    """The sentence that no row has a number."""
    return f"there is no row {number}: rows are counted from 1, the first row of the data"
