"""Exports are read again before they take their names: by Python, SQLite and onnxruntime, on test rows."""

from __future__ import annotations

import builtins
import math
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import numpy as np

from vrspam.model.inputs import DATE, NotExportable
from vrspam.model.model import Model
from vrspam.model.probe_rows import ProbeRows

NOT_SQLITE = ("too large", "too many", "too deep", "stack overflow", "too big")  # what SQLite alone does not hold


def check_python(text: str, model: Model) -> None:
    """Run exported Python on test rows; refuse it if its scores are not those of the model."""
    rows = ProbeRows(model.schema)
    allowed = ("dict", "float", "getattr", "len", "list", "round", "str", "sum")  # what an export needs
    known = {name: getattr(builtins, name) for name in allowed} | {"__import__": _import_math}
    namespace: dict[str, Any] = {"__builtins__": known}
    exec(compile(text, "the exported file", "exec"), namespace)
    inputs = rows.inputs(model)
    exported = []
    for line in zip(*inputs.values(), strict=True):
        exported.append(namespace["score"](dict(zip(inputs, line, strict=True))))
    _compare(exported, model.score(rows.table), "Python")


def _import_math(name: str, *_: Any) -> Any:
    if name != "math":
        raise ImportError(f"an exported file needs {name}")
    return math


def check_sql(expression: str, model: Model) -> None:
    """Run exported SQL on test rows in SQLite; refuse it if its scores are not those of the model."""
    rows = ProbeRows(model.schema)
    columns: dict[str, Sequence[Any]] = {}
    for number, column in enumerate(model.columns):
        source = model.inputs[column.source]
        if source.kind == DATE:
            columns[column.name] = rows.table.column(number).to_pylist()
        else:
            columns[source.name] = rows.inputs(model)[source.name]
    names = ['"' + name.replace('"', '""') + '"' for name in columns]
    lines = list(zip(*columns.values(), strict=True))
    try:
        with closing(sqlite3.connect(":memory:")) as database:
            database.execute(f"CREATE TABLE rows ({', '.join(names)})")
            database.executemany(f"INSERT INTO rows VALUES ({', '.join('?' * len(names))})", lines)
            exported = [score for (score,) in database.execute(f"SELECT ({expression}\n) FROM rows ORDER BY rowid")]
    except sqlite3.Error as error:
        if any(words in str(error) for words in NOT_SQLITE):  # other engines hold more
            return
        raise NotExportable(f"The SQL was not written, because SQLite refuses it: {error}") from error
    _compare(exported, model.score(rows.table), "SQL")


def check_onnx(graph: bytes, model: Model) -> None:
    """Run an exported graph on test rows, where onnxruntime is installed; refuse it if the scores are others."""
    try:
        import onnxruntime
    except ImportError:
        return
    rows = ProbeRows(model.schema)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    inputs = session.get_inputs()
    outputs = session.get_outputs()
    feeds: dict[str, np.ndarray] = {}
    if model.is_matrix:
        for entry in inputs:
            feeds[entry.name] = rows.table.astype(_TYPES[entry.type])
    else:  # in the order of the columns: some have other names in the graph
        values = rows.inputs(model)
        for entry, column in zip(inputs, model.inputs, strict=True):
            feeds[entry.name] = _as_input(values[column.name], entry.type)
    exact = all(entry.type != "tensor(float)" for entry in (*inputs, *outputs))
    names = [entry.name for entry in outputs]
    exported = dict(zip(names, session.run(None, feeds), strict=True))["score"]
    _compare(np.asarray(exported, dtype=np.float64).ravel(), model.score(rows.table), "ONNX", exact=exact)


_TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64}


def _as_input(values: list[Any], kind: str) -> np.ndarray:
    """A column as an input of a graph, with its own form of missing values."""
    if kind == "tensor(string)":
        return np.array([["" if value is None else value] for value in values], dtype=object)
    if kind == "tensor(int64)":
        return np.array(values, dtype="datetime64[us]").astype(np.int64)[:, np.newaxis]
    return np.array([[np.nan if value is None else value] for value in values], dtype=_TYPES[kind])


def _compare(values: Any, scores: np.ndarray, form: str, exact: bool = True) -> None:
    """Refuse an export whose scores are not those of the model.

    Numbers rounded to float32 may fall to the other side of a tree's threshold, so that only most rows must agree.
    """
    exported = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    known = np.isfinite(scores)
    if not known.any():
        return
    spread = max(float(np.ptp(scores[known])), float(np.abs(scores[known]).max()), 1e-300)
    off = np.abs(exported[known] - scores[known]) / spread
    agrees = bool((off <= 1e-9).all()) if exact else bool(np.median(off) <= 1e-3)
    if not agrees or (exact and np.isfinite(exported[~known]).any()):
        raise NotExportable(f"The {form} was not written, because it gives other scores than the model.")
