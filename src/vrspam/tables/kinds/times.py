"""Times of day and durations, as hours."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import time, timedelta
from typing import Any, ClassVar

import narwhals.stable.v2 as nw
import numpy as np

from vrspam.tables.kinds.base import KindOfText

_CLOCK = re.compile(
    r"(?P<hour>\d{1,4}):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d(?:[.,]\d+)?))?(?:\s?(?P<half>[AaPp])\.?[Mm]\.?)?"
)


@dataclass(frozen=True)
class Times(KindOfText):
    """Times of day ("08:30", "8:30 pm") and durations ("26:15:00"), read as hours."""

    words: ClassVar[str] = "times"
    meaning: ClassVar[str] = "hours"
    hint: ClassVar[str] = "In training this was a time such as '08:30': give hours, 8.5."
    types: ClassVar[tuple[Any, ...]] = (nw.Time, nw.Duration)
    objects: ClassVar[tuple[type, ...]] = (time, timedelta)

    def values(self, column: Any) -> tuple[np.ndarray, np.ndarray]:
        if column.dtype == nw.Duration:
            hours = column.dt.total_microseconds().cast(nw.Float64).to_numpy() / 3_600e6
            return hours, np.zeros(len(column), dtype=bool)
        if column.dtype in (nw.String, nw.Enum, nw.Categorical):
            return super().values(column)

        missing = np.array(column.is_null().to_list(), dtype=bool)
        hours = np.full(len(column), np.nan)
        for place, cell in enumerate(column.to_list()):
            if isinstance(cell, timedelta) and not missing[place]:
                hours[place] = cell / timedelta(hours=1)
            elif isinstance(cell, time | str):
                hours[place] = self.number(str(cell))
        return hours, np.isnan(hours) & ~missing

    def number(self, text: str) -> float:
        match = _CLOCK.fullmatch(text.strip())
        if match is None:
            return np.nan
        hour = int(match["hour"])
        if match["half"]:
            if not 1 <= hour <= 12:
                return np.nan
            hour = hour_of_day(hour, match["half"])
        seconds = float((match["second"] or "0").replace(",", "."))
        return hour + int(match["minute"]) / 60.0 + seconds / 3600.0


def hour_of_day(hour: int, half: str) -> int:
    """An hour of a clock with am and pm, of 24 hours.

    >>> hour_of_day(12, "am"), hour_of_day(8, "pm")
    (0, 20)
    """
    return hour % 12 + (12 if half.lower().startswith("p") else 0)
