"""Rows like those of training, by which a written model or export is tested before its file takes its name."""

from __future__ import annotations

from typing import Any

import numpy as np

from vrspam.model.inputs import DATE, column_names, is_matrix
from vrspam.model.model import Model
from vrspam.tables.kinds.dates import Dates
from vrspam.tables.schema import Schema

ROWS = 20
FIRST_DAY, DAYS = 14_000, 6_000  # dates that are drawn, in days since 1970


class ProbeRows:
    """Rows like those of training, drawn from the ranges and categories of the columns.

    Attributes
    ----------
    table : arrow table or array
        The columns as the model's score takes them.
    moments : dict
        The dates of each column that is read as dates, of which `table` has the parts.
    """

    def __init__(self, schema: Schema, count: int = ROWS):
        rng = np.random.default_rng(0)
        self.moments: dict[str, np.ndarray] = {}
        self.table: Any
        if is_matrix(schema):
            self.table = rng.standard_normal((count, schema.n_features))
            return
        import pyarrow as pa

        parts_of_dates: dict[str, np.ndarray] = {}
        for name, kind in schema.readings.items():
            if isinstance(kind, Dates):
                self.moments[name] = _draw_dates(rng, count)
                parts_of_dates.update(zip(kind.made(name), _parts_of(kind, self.moments[name]), strict=True))

        columns: dict[str, Any] = {}
        for name in schema.numeric:
            numbers, missing = _draw_numbers(rng, count, schema.ranges.get(name, (-1.0, 1.0)))
            if name in parts_of_dates:
                numbers = parts_of_dates[name]
                missing = np.isnan(numbers)
            columns[name] = pa.array(numbers, mask=missing)
        for name, categories in schema.categorical.items():
            columns[name] = pa.array(_draw_texts(rng, count, categories), pa.string())
        self.table = pa.table({name: columns[name] for name in column_names(schema)})

    def inputs(self, model: Model) -> dict[str, list[Any]]:
        """The rows as exported models take them: numbers, texts and dates by name, None where missing."""
        inputs: dict[str, list[Any]] = {}
        for column in model.columns:
            source = model.inputs[column.source]
            if source.kind == DATE:
                inputs[source.name] = self.moments[source.name].tolist()
            elif isinstance(self.table, np.ndarray):
                inputs[source.name] = self.table[:, column.source].tolist()
            else:
                inputs[source.name] = self.table.column(column.name).to_pylist()
        return inputs


def _draw_numbers(rng: np.random.Generator, count: int, ends: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Numbers between two ends, and which of them are missing."""
    low, high = ends
    share = rng.random(count)
    missing = rng.random(count) < 0.1
    return low * (1.0 - share) + high * share, missing


def _draw_texts(rng: np.random.Generator, count: int, categories: tuple[str, ...]) -> list[str | None]:
    """Categories, a new one and, unless that is a category, a missing one."""
    texts: list[str | None] = [*categories, "a new category"]
    if "" not in categories:  # which is how exports take a missing text
        texts.append(None)
    return [texts[place] for place in rng.integers(0, len(texts), count)]


def _draw_dates(rng: np.random.Generator, count: int) -> np.ndarray:
    days = rng.integers(FIRST_DAY, FIRST_DAY + DAYS, count).astype("datetime64[D]")
    moments = days.astype("datetime64[us]") + rng.integers(0, 24 * 3600, count).astype("timedelta64[s]")
    moments[rng.random(count) < 0.1] = np.datetime64("NaT")
    return moments


def _parts_of(kind: Dates, moments: np.ndarray) -> list[np.ndarray]:
    import narwhals.stable.v2 as nw
    import pyarrow as pa

    return kind.read(nw.from_native(pa.chunked_array([pa.array(moments)]), series_only=True))[0]
