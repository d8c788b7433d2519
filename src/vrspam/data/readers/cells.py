"""Cells of text as values of another type, and the texts that are none."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from vrspam.tables.kinds.dates import Dates
from vrspam.tables.kinds.numbers import BLANKS, CURRENCIES, FORMATS, Numbers

#: Cells without a value.
NULLS = ["", "#N/A", "#NA", "N/A", "NA", "NaN", "nan", "-nan", "-NaN", "NULL", "null", "None", "n/a"]

_NOT_FINITE = r"^[+-]?(?:inf|Inf|INF|infinity|Infinity|nan|NaN)$"


def convert_texts(column: Any, kind: Any, decimal: str, lenient: bool) -> tuple[Any, np.ndarray]:
    """Return a column of text as another type, and a mask of texts that are not of that type; these become missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_string(kind):
        return column, np.zeros(len(column), dtype=bool)
    trimmed = pc.utf8_trim(column, characters=BLANKS)
    if pa.types.is_floating(kind):
        return _as_numbers(trimmed, kind, decimal, lenient)
    if pa.types.is_temporal(kind):
        moments, unreadable = Dates().moments(nw.from_native(trimmed, series_only=True))
        return pa.chunked_array([pa.array(moments)]).cast(kind, safe=False), unreadable
    return _cast_one_by_one(trimmed, kind)


def _as_numbers(texts: Any, kind: Any, decimal: str, lenient: bool) -> tuple[Any, np.ndarray]:
    """Texts as floats of a type, infinite ones too."""
    import pyarrow as pa
    import pyarrow.compute as pc

    series = nw.from_native(texts, series_only=True)
    values, unreadable = Numbers(decimal).values(series)
    not_finite = pc.match_substring_regex(texts, _NOT_FINITE).fill_null(False).to_numpy()
    if not_finite.any():
        places = np.flatnonzero(not_finite)
        values[places] = [float(text) for text in texts.take(places).to_pylist()]
        unreadable &= ~not_finite
    if unreadable.any() and lenient:
        _read_strays(series, decimal, values, unreadable)
    missing = np.isnan(values) & ~not_finite
    return pa.chunked_array([pa.array(values, mask=missing)]).cast(kind), unreadable


def _read_strays(series: Any, decimal: str, values: np.ndarray, unreadable: np.ndarray) -> None:
    """Read true, false and numbers with separated thousands or a currency, in place; each cell by itself alone."""
    texts = series[np.flatnonzero(unreadable)].to_list()
    units = ["", *(unit for unit in CURRENCIES if any(unit in text for text in texts))]
    kinds = [Numbers(sign, thousands, unit) for unit in units for sign, thousands in FORMATS if sign == decimal]
    for kind in kinds:
        places = np.flatnonzero(unreadable)
        if not places.size:
            return
        values[places], unreadable[places] = kind.values(series[places])

    places = np.flatnonzero(unreadable)
    words = [text.lower() for text in series[places].to_list()]
    for word, number in (("true", 1.0), ("false", 0.0)):
        matching = places[[text == word for text in words]]
        values[matching] = number
        unreadable[matching] = False


def _cast_one_by_one(texts: Any, kind: Any) -> tuple[Any, np.ndarray]:
    """Texts cast to a type, such as true and false; where arrow refuses the column, each different text is tried."""
    import pyarrow as pa

    try:
        return texts.cast(kind), np.zeros(len(texts), dtype=bool)
    except pa.ArrowInvalid:
        cells = texts.to_pylist()
    wrong = {text for text in {*cells} - {None} if not _can_be_cast(text, kind)}
    kept = [None if text in wrong else text for text in cells]
    unreadable = np.array([text in wrong for text in cells], dtype=bool)
    return pa.chunked_array([pa.array(kept, pa.string())]).cast(kind), unreadable


def _can_be_cast(text: str, kind: Any) -> bool:
    import pyarrow as pa

    try:
        pa.array([text]).cast(kind)
    except pa.ArrowInvalid:
        return False
    return True
