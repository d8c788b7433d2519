"""Models of files for other programs: ONNX, plain Python and SQL."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from vrspam._utils.atomic import replacing
from vrspam.data import Schema
from vrspam.features.parts import Parts, Table
from vrspam.model.scorer import NUMBER, TEXT, Column, Input, Scorer, input_of_reading, linear_parts


def export_model(
    model: Any,
    *,
    onnx: str | os.PathLike[str] | None = None,
    python: str | os.PathLike[str] | None = None,
    sql: str | os.PathLike[str] | None = None,
    dtype: str = "float32",
) -> list[Path]:
    """Write a model for other programs, in one or more forms; nothing is written if one of them is refused.

    Parameters
    ----------
    model : Model
    onnx : path, optional
        An ONNX graph; see `vrspam.export.to_onnx`.
    python, sql : path, optional
        A file of plain Python, or one SQL expression, of a linear or additive model; see `vrspam.export.to_python` and
        `vrspam.export.to_sql`.
    dtype : {"float32", "float64"}, default="float32"
        Of the numbers that go into the graph and come out.

    Returns
    -------
    list of Path
        What was written, each file whole or not at all.

    Raises
    ------
    NotExportable
        With the reason, where a form cannot hold the model.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import export_model, train
    >>> path = f"{tempfile.mkdtemp()}/cells.csv"
    >>> load_breast_cancer(as_frame=True).frame.to_csv(path, index=False)
    >>> model = train(path, "target", features="linear")
    >>> [written.name for written in export_model(model, python=f"{path}.py", sql=f"{path}.sql")]
    ['cells.csv.py', 'cells.csv.sql']
    """
    from vrspam.export import to_python, to_sql

    contents: dict[Path, bytes] = {}
    if onnx is not None:
        from vrspam.export import to_onnx  # needs an extra

        contents[Path(onnx)] = to_onnx(model, dtype=dtype).SerializeToString()
    if python is not None:
        contents[Path(python)] = to_python(model).encode("utf-8")
    if sql is not None:
        contents[Path(sql)] = to_sql(model).encode("utf-8")
    for path, content in contents.items():
        with replacing(path) as temporary:
            temporary.write_bytes(content)
    return list(contents)


def describe_model(model: Any) -> Scorer:
    """What is exported of a `Model`: its columns as they are in a file, and the parts of its score."""
    schema, typical = model.schema, None
    if model.features is None:
        parts = _encoded_parts(schema, model.coef)
        typical = np.zeros((2, len(schema.columns)))
        n_numeric = len(schema.columns) - len(schema.categorical)
        typical[:, :n_numeric] = model.means.mean(axis=0)[:n_numeric], model.deviations[:n_numeric]
    else:
        parts = model.features
    inputs, columns = _file_columns(schema)
    calibration, labels = model.calibration, schema.labels
    threshold = 0.0 if calibration is None else calibration.half
    others = [label for label in labels if label != model.positive]
    classes = (others[0], model.positive)
    if len(others) != 1:
        classes = (f"not {model.positive}", str(model.positive))
    return Scorer(
        inputs,
        columns,
        parts.effects,
        parts.kernels,
        parts.trees,
        constant=model.intercept,
        classes=classes,
        threshold=threshold,
        calibration=calibration,
        matrix=schema.width is not None and not schema.numeric,
        left_out=model.identifiers,
        typical=typical,
    )


def _file_columns(schema: Schema) -> tuple[tuple[Input, ...], tuple[Column, ...]]:
    """The columns of a file, and those that the model makes of them."""
    made = schema.made()
    inputs: dict[str, Input] = {}
    columns = []
    for name in schema.columns:
        source, part = made.get(name, (name, ""))
        if source not in inputs:
            plain = Input(source, TEXT if source in schema.categorical else NUMBER)
            how = schema.readings.get(source)
            inputs[source] = plain if how is None else input_of_reading(source, how)
        columns.append(Column(name, list(inputs).index(source), part or None))
    return tuple(inputs.values()), tuple(columns)


def _encoded_parts(schema: Schema, coef: np.ndarray) -> Parts:
    """The parts of a score of encoded columns: numbers, then one indicator for each category."""
    n_numeric = len(schema.columns) - len(schema.categorical)
    fill = schema.fill
    if fill is not None and schema.width is not None:
        fill = fill * n_numeric  # one for all columns of a LIBSVM file
    numbers = linear_parts(coef[:n_numeric], fill)
    tables, start = [], n_numeric
    missing = 0.0 if schema.fill is not None else float("nan")
    for names in schema.categorical.values():
        values = coef[start : start + len(names)].tolist()
        tables.append(Table(dict(zip(names, values, strict=True)), missing))
        start += len(names)
    return Parts((*numbers.effects, *tables))
