"""`export_model`: a model for other programs; and the public names of model files."""

from __future__ import annotations

import os
from pathlib import Path

from vrspam._utils.atomic import replacing_all
from vrspam.model.file import ModelFileError, load_model, save_model  # noqa: F401 (public names of `vrspam.tool`)
from vrspam.model.model import Model
from vrspam.tool.read_back import check_onnx, check_python, check_sql


def export_model(
    model: Model,
    *,
    onnx: str | os.PathLike[str] | None = None,
    python: str | os.PathLike[str] | None = None,
    sql: str | os.PathLike[str] | None = None,
    dtype: str = "float64",
) -> list[Path]:
    """Write a model for other programs, in one or more forms; nothing is written if one of them is refused or fails.

    Each form first scores test rows as its reader does (Python, SQLite, onnxruntime where it is installed), and must
    give the scores of the model.

    Parameters
    ----------
    model : Model
    onnx : path, optional
        An ONNX graph; see `vrspam.export.to_onnx`.
    python, sql : path, optional
        A file of plain Python, or one SQL expression, of a linear or additive model; see `vrspam.export.to_python` and
        `vrspam.export.to_sql`.
    dtype : {"float64", "float32"}, default="float64"
        Type of the numbers that go into the ONNX graph and come out of it.

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
    >>> model, path = train(load_breast_cancer(as_frame=True).frame, "target", features="linear"), tempfile.mkdtemp()
    >>> [written.name for written in export_model(model, python=f"{path}/cells.py", sql=f"{path}/cells.sql")]
    ['cells.py', 'cells.sql']
    """
    from vrspam.export import to_python, to_sql

    contents: dict[Path, bytes] = {}
    named = [Path(path) for path in (onnx, python, sql) if path is not None]
    if twice := [path for number, path in enumerate(named) if path in named[:number]]:
        raise ValueError(f"{twice[0]} is named for two forms: give each a file of its own")
    if onnx is not None:
        from vrspam.export import to_onnx  # needs an extra

        contents[Path(onnx)] = to_onnx(model, dtype=dtype).SerializeToString()
        check_onnx(contents[Path(onnx)], model)
    if python is not None:
        text = to_python(model)
        check_python(text, model)
        contents[Path(python)] = text.encode("utf-8")
    if sql is not None:
        text = to_sql(model)
        check_sql(text, model)
        contents[Path(sql)] = text.encode("utf-8")
    with replacing_all(list(contents)) as files:  # no file gets its name before all of them are written
        for file, content in zip(files, contents.values(), strict=True):
            file.write_bytes(content)
    return list(contents)
