"""Times of day and durations, as text or as such: hours, as one number."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import time, timedelta
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

_CLOCK = re.compile(r"(\d{1,4}):([0-5]\d)(?::([0-5]\d(?:[.,]\d+)?))?(?:\s?([AaPp])\.?[Mm]\.?)?")
_MICROSECONDS = 3_600e6  # of an hour


@dataclass(frozen=True)
class Times:
    """Times of day ("08:30", "8:30 pm") and durations ("26:15:00"), read as hours."""

    def values(self, column: Any) -> tuple[np.ndarray, np.ndarray]:
        """Hours of a series of texts, times or durations, missing ones as NaN, and which texts are no times.

        >>> import pandas as pd
        >>> Times().values(nw.from_native(pd.Series(["08:30", "8:30 pm", "26:15:00", "soon"]), series_only=True))[0]
        array([ 8.5 , 20.5 , 26.25,   nan])
        """
        if column.dtype == nw.Duration:
            hours = column.dt.total_microseconds().cast(nw.Float64).to_numpy() / _MICROSECONDS
            return hours, np.zeros(len(column), dtype=bool)
        cells = column.to_list()
        missing = np.array(column.is_null().to_list(), dtype=bool)
        read = {cell: _hours(cell) for cell in {*cells} if cell is not None}
        found = np.array([np.nan if gone else read[cell] for cell, gone in zip(cells, missing, strict=True)])
        return found, np.isnan(found) & ~missing

    def parses(self, text: str) -> bool:
        """Whether one text is a time."""
        return not np.isnan(_hours(text))

    @property
    def words(self) -> str:
        """What it is called in a message."""
        return "times"


def _hours(cell: Any) -> float:
    """One text, time of day or duration as hours; NaN for anything else."""
    if isinstance(cell, time):
        cell = cell.isoformat()
    if isinstance(cell, timedelta):
        return cell / timedelta(hours=1)
    match = _CLOCK.fullmatch(cell.strip()) if isinstance(cell, str) else None
    if match is None:
        return np.nan
    hour, half = int(match[1]), (match[4] or "").lower()
    if half:
        if not 1 <= hour <= 12:
            return np.nan
        hour = hour % 12 + (12 if half == "p" else 0)
    seconds = float((match[3] or "0").replace(",", "."))
    return hour + int(match[2]) / 60.0 + seconds / 3600.0
