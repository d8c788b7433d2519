"""Random cells through every kind of text and every library: a column is read as its cells are, one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st

from vrspam.tables.kinds.base import KindOfText
from vrspam.tables.kinds.dates import ORDERS, Dates
from vrspam.tables.kinds.numbers import Numbers
from vrspam.tables.kinds.times import Times

LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
FORMATS = [(".", ""), (".", ","), (",", ""), (",", "."), (".", " "), (",", " "), (".", "'"), (",", "'")]
KINDS = [Numbers(*signs, unit) for signs in FORMATS for unit in ("", "$", "EUR", "%")]
EVERY_KIND = [*KINDS, Times(), *(Dates(order) for order in ORDERS)]
#: Parts of cells: numbers, dates and times with all that may stand around them, also where it does not belong.
PARTS = [
    *["0", "5", "12", "007", "1234", "1,234", "1.234,5", "1 234", "1'234", "0.5", ".5", "5.", ",5", "9" * 320, "1e5"],
    *[
        "1E+05",
        "1e999",
        "e5",
        "+",
        "-",
        "\u2212",
        "(",
        ")",
        "$",
        "EUR",
        "%",
        " ",
        "\u00a0",
        "\u202f",
        "\t",
        "\n",
        "\x1c",
    ],
    *[
        "2020-12-21",
        "21.12.2020",
        "12/21/2020",
        "21 Dec 2020",
        "T",
        "10:30",
        "10:30:15.5",
        "pm",
        "Z",
        "+01:00",
        "24:00",
    ],
    *["inf", "nan", "unknown", "x", "\u0663", "\uff15", "\x00", "\ud7ff", "12345-6789", "24:00", "\x1c"],
]
CELLS = st.lists(st.sampled_from(PARTS), max_size=5).map("".join)


def series(library: str, cells: list[str | None]):
    """The cells as a column of a library, of text even if there is none."""
    table = {"pandas": pd.Series(cells, dtype="str" if pd.__version__ >= "3" else "string")}
    table |= {
        "polars": pl.Series("cells", cells, pl.String),
        "pyarrow": pa.chunked_array([pa.array(cells, pa.string())]),
    }
    return nw.from_native(table[library], series_only=True).alias("cells")


def disagreements(cells: list[str], kinds: Sequence[KindOfText] = EVERY_KIND) -> list[str]:
    """What the kinds make of a column of these cells where it is not what they make of each cell."""
    found = []
    for kind in kinds:
        numbers = np.array([*map(kind.number, cells), np.nan])
        for cell, number in zip(cells, numbers.tolist(), strict=False):
            if math.isinf(number):
                found.append(f"{kind}: {cell!r} is infinite")
        for library in LIBRARIES:
            try:
                values, stray = kind.values(series(library, [*cells, None]))
            except Exception as error:
                found.append(f"{kind}, {library}: {cells!r} fails: {error}")
                continue
            if not np.array_equal(values, numbers, equal_nan=True):
                found.append(f"{kind}, {library}: {cells!r} are {values.tolist()}, not {numbers.tolist()}")
            if not np.array_equal(stray, np.isnan(numbers) & (np.arange(numbers.size) < len(cells))):
                found.append(f"{kind}, {library}: {cells!r} has strays {stray.tolist()}")
    return found


def run_case(seed: int) -> list[str]:
    """What is wrong with some cells that are drawn, and that numbers and dates are read as they were written."""
    rng = np.random.default_rng(seed)
    kinds = [EVERY_KIND[place] for place in rng.choice(len(EVERY_KIND), 3)]
    found = disagreements(["".join(rng.choice(PARTS, rng.integers(6)).tolist()) for _ in range(8)], kinds)
    value, moment = round(float(rng.normal(0.0, 10.0 ** rng.integers(9))), 2), datetime(1990, 1, 1)
    moment += timedelta(minutes=int(rng.integers(20_000_000)))
    written: dict[str, KindOfText]
    written = {f"${value:,.2f}": Numbers(".", ",", "$"), f"{value:.2f} %": Numbers(unit="%"), f"{value!r}": Numbers()}
    for text, kind in written.items():
        if kind.number(f" {text} ") != value:
            found.append(f"{kind}: {text!r} is read as {kind.number(text)!r}, not {value!r}")
    forms = {"%d.%m.%Y %H:%M": Dates("dmy"), "%m/%d/%y %I:%M %p": Dates("mdy"), "%d %b %Y": Dates()}
    for form, kind in forms.items():
        day = moment if "M" in form else moment.replace(hour=0, minute=0)
        if kind.number(moment.strftime(form)) != (day - datetime(1970, 1, 1)) / timedelta(microseconds=1):
            found.append(f"{kind}: {moment.strftime(form)!r} is not read as {day}")
    return found
