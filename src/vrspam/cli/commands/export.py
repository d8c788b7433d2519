"""`vrspam export`: a model for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from vrspam._utils.extras import require
from vrspam.cli import options, output
from vrspam.cli.files import check_output


def export(
    model: options.ModelFile,
    onnx: Annotated[Path | None, typer.Option("--onnx", help="Write an ONNX graph, for any model.")] = None,
    python: Annotated[
        Path | None, typer.Option("--python", help="Write a file of plain Python, for linear and additive models.")
    ] = None,
    sql: Annotated[
        Path | None, typer.Option("--sql", help="Write one SQL expression, for linear and additive models.")
    ] = None,
    dtype: Annotated[
        Literal["float64", "float32"], typer.Option(help="Type of numbers that go into the ONNX graph and come out.")
    ] = "float64",
    as_json: options.AsJson = False,
) -> None:
    """Write a model for other programs: an ONNX graph, plain Python, or SQL.

    The graph takes the columns of the file and gives label, score and probability.
    Its dates are microseconds since 1970, its text is strings.
    Python and SQL are written column by column, for people to review.
    They need nothing of this program.

    Example:  vrspam export patients.json --onnx patients.onnx

    Example:  vrspam export patients.json --python scorer.py --sql scorer.sql
    """
    files = {"--onnx": onnx, "--python": python, "--sql": sql}
    if not any(files.values()):
        raise typer.BadParameter("give at least one of --onnx, --python and --sql")
    for option, path in files.items():
        check_output(option, path, model)
        if path is not None and list(files.values()).count(path) > 1:
            raise typer.BadParameter(f"{path} is given twice: give each file a name of its own", param_hint=option)
    if onnx is not None:
        require("onnx", "onnx")
    from vrspam.tool import export_model, load_model

    loaded = load_model(model)
    written = export_model(loaded, onnx=onnx, python=python, sql=sql, dtype=dtype)
    if as_json:
        numbers: dict[str, Any] = {option.strip("-"): path and str(path) for option, path in files.items()}
        numbers["inputs"] = [
            {"name": column.name, "kind": column.kind, "note": column.note} for column in loaded.inputs
        ]
        output.print_json(numbers)
        return
    for path in written:
        output.say(f"{path}: {path.stat().st_size:,} bytes")
