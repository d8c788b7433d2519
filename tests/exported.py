"""Models in their exported forms, run as their users run them: ONNX, plain Python, SQL in SQLite and in DuckDB.

Each form takes columns as they are before the model reads them: numbers, booleans and texts, None or NaN where a value
is missing, and dates as datetime64[us]. They come from a frame, or from a file as the model reads it.
"""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa

from vrspam.data.first_look import request_of
from vrspam.data.readers.problems import Problems
from vrspam.export import to_onnx, to_python, to_sql
from vrspam.tables.frames import texts_of
from vrspam.tables.kinds.dates import Dates
from vrspam.tool.score_blocks import open_rows, score_blocks

Columns = Mapping[str, np.ndarray]

# Columns, and the scores that the model itself gives them.


def columns_of_file(model: Any, path: Any, **reading: Any) -> dict[str, np.ndarray]:
    """Each column of a file that the model needs: float64 with NaN, objects with None, or datetime64[us] with NaT."""
    schema = model.schema.without_target()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what training has said
        source, problems = open_rows(model, path, labels=False, **reading).source, Problems("skip", True)
        blocks = list(source.blocks(request_of(schema)._replace(lenient=True), 10_000, problems))
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
        rows = open_rows(model, path, labels=False, on_error="skip", **reading)
        return np.concatenate([block.scores for block in score_blocks(model, rows.read())])


def columns_of_frame(frame: pd.DataFrame) -> dict[str, np.ndarray]:
    """The columns of a frame of pandas: dates as on the wall clock, and None for what pandas calls NA."""
    return {str(name): values_of(frame[name]) for name in frame.columns}


def values_of(column: pd.Series) -> np.ndarray:
    if pd.api.types.is_datetime64_any_dtype(column):
        local = column if column.dt.tz is None else column.dt.tz_localize(None)
        return local.to_numpy().astype("datetime64[us]")
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
        return column.to_numpy()
    known = column.astype(object).to_numpy()
    return np.array([None if value is pd.NA else value for value in known], dtype=object)


# Plain Python.


def in_python(text: str, columns: Columns) -> np.ndarray:
    """Scores by an exported Python file."""
    names: dict[str, Any] = {}
    exec(compile(text, "scorer.py", "exec"), names)
    return np.array([names["score"](row) for row in rows_of(columns)])


def rows_of(columns: Columns) -> list[dict[str, Any]]:
    """Rows as the Python file takes them: dates are those of the standard library."""
    plain = {name: values.tolist() for name, values in columns.items()}
    return [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]


# SQL.


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def sql_columns(columns: Columns) -> dict[str, tuple[str, list[Any]]]:
    """Columns of a database, type and values: NaN stays NaN among numbers, and dates become the parts of a query."""
    found: dict[str, tuple[str, list[Any]]] = {}
    for name, values in columns.items():
        plain = values.tolist()
        if values.dtype.kind == "M":
            dates = nw.from_native(pd.Series(values), series_only=True)
            for part, numbers in zip(Dates().made(name), Dates().read(dates)[0], strict=True):
                found[part] = "DOUBLE", numbers.tolist()
        elif values.dtype.kind in "biu":
            found[name] = ("BOOLEAN" if values.dtype.kind == "b" else "BIGINT"), plain
        elif values.dtype.kind == "f":
            found[name] = "DOUBLE", plain
        elif {type(value) for value in plain if not is_gap(value)} <= {bool}:
            found[name] = "BOOLEAN", [None if is_gap(value) else value for value in plain]
        else:
            found[name] = "VARCHAR", [None if is_gap(value) else value for value in plain]
    return found


def is_gap(value: Any) -> bool:
    return value is None or value != value


def in_sqlite(sql: str, columns: Columns) -> np.ndarray:
    """Scores by an exported query, in SQLite."""
    with sqlite3.connect(":memory:") as database:
        found = query(database, sql, sql_columns(columns))
    database.close()
    return found


def in_duckdb(sql: str, columns: Columns) -> np.ndarray:
    """Scores by an exported query, in DuckDB."""
    import duckdb

    with duckdb.connect() as database:
        return query(database, sql, sql_columns(columns))


def query(database: Any, sql: str, columns: Mapping[str, tuple[str, list[Any]]]) -> np.ndarray:
    kinds = ", ".join(f"{quoted(name)} {kind}" for name, (kind, _) in columns.items())
    database.execute(f'CREATE TABLE rows ("its number" BIGINT, {kinds})')
    rows = [[number, *row] for number, row in enumerate(zip(*(values for _, values in columns.values()), strict=True))]
    database.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * (len(columns) + 1))})", rows)
    found = database.execute(f'SELECT ({sql}) FROM rows ORDER BY "its number"').fetchall()
    return np.array([np.nan if score is None else score for (score,) in found])


# ONNX.


def onnx_feeds(session: Any, columns: Columns) -> dict[str, np.ndarray]:
    """Columns as inputs of an onnxruntime session; one that is called as an output has "column " before its name."""
    kinds = {"tensor(float)": np.float32, "tensor(double)": np.float64}
    feeds = {}
    for one in session.get_inputs():
        values = columns[one.name if one.name in columns else one.name.removeprefix("column ")]
        if one.type == "tensor(string)":
            texts = ["" if is_gap(value) else str(value) for value in values]
            feeds[one.name] = np.array(texts, dtype=object)[:, np.newaxis]
        elif one.type == "tensor(int64)":
            feeds[one.name] = values.astype(np.int64)[:, np.newaxis]
        else:
            numbers = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
            with np.errstate(over="ignore"):
                feeds[one.name] = numbers.astype(kinds[one.type])[:, np.newaxis]
    return feeds


def in_onnx(graph: bytes, columns: Columns) -> np.ndarray:
    """Scores by an exported graph."""
    import onnxruntime

    session = onnxruntime.InferenceSession(graph)
    return np.asarray(session.run(["score"], onnx_feeds(session, columns))[0], dtype=np.float64)


#: Every form: scores of the columns of a frame by the export of a fitted model.
FORMS: dict[str, Callable[[Any, pd.DataFrame], np.ndarray]] = {
    "onnx": lambda model, frame: in_onnx(to_onnx(model, dtype="float64").SerializeToString(), columns_of_frame(frame)),
    "python": lambda model, frame: in_python(to_python(model), columns_of_frame(frame)),
    "sqlite": lambda model, frame: in_sqlite(to_sql(model), columns_of_frame(frame)),
    "duckdb": lambda model, frame: in_duckdb(to_sql(model), columns_of_frame(frame)),
}
