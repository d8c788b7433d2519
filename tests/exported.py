"""Rows of files as exported scorers take them: numbers, texts and dates by column, before the model reads them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from vrspam.data.readers.base import Problems
from vrspam.tables.frames import texts_of
from vrspam.tables.texts import Dates


def columns_of_file(model: Any, path: Path, **reading: Any) -> dict[str, np.ndarray]:
    """Each column of a file that the model needs: float64 with NaN, objects with None, or datetime64[us] with NaT."""
    schema = model.schema.without_target()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what training has said
        source, problems = model.open(path, labels=False, **reading).source, Problems("skip", True)
        blocks = list(source.blocks(schema.wanted(True)._replace(lenient=True), 10_000, problems))
    raw = pa.concat_tables([pa.Table.from_batches([block.table]) for block in blocks])
    read, _ = schema.read(raw)
    found = {}
    for name in raw.schema.names:
        how = schema.readings.get(name)
        if isinstance(how, Dates):
            column = nw.from_native(raw.column(name), series_only=True)
            texts = texts_of(column)
            found[name] = how.moments(column if texts is None else texts)[0]
        elif name in schema.categorical:
            found[name] = np.array(raw.column(name).to_pylist(), dtype=object)
        else:
            found[name] = np.asarray(read.column(name).to_numpy(zero_copy_only=False), dtype=np.float64)
    return found


def scores_of_file(model: Any, path: Path, **reading: Any) -> np.ndarray:
    """The scores of all rows by the model itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chunks = model.open(path, labels=False, skip_errors=True, **reading)
        return np.concatenate([block.scores for block in model.score_chunks(chunks)])


def onnx_feeds(session: Any, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Columns as the inputs of an onnxruntime session."""
    kinds = {"tensor(float)": np.float32, "tensor(double)": np.float64}
    feeds = {}
    for one in session.get_inputs():
        values = columns[one.name.removeprefix("column ")]
        if one.type == "tensor(string)":
            values = np.array(["" if value is None else value for value in values], dtype=object)
        elif one.type == "tensor(int64)":
            values = values.astype(np.int64)
        else:
            values = values.astype(kinds[one.type])
        feeds[one.name] = values[:, np.newaxis]
    return feeds
