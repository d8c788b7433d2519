"""`vrspam export`: a model for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from vrspam._utils.messages import require
from vrspam.cli import options
from vrspam.cli.options import print_json, say


def export(
    model: options.ModelFile,
    onnx: Annotated[
        Path | None, typer.Option("--onnx", help="Write an ONNX graph, for any model.", show_default=False)
    ] = None,
    python: Annotated[
        Path | None,
        typer.Option(
            "--python", help="Write a file of plain Python, for linear and additive models.", show_default=False
        ),
    ] = None,
    sql: Annotated[
        Path | None,
        typer.Option("--sql", help="Write one SQL expression, for linear and additive models.", show_default=False),
    ] = None,
    dtype: Annotated[
        Literal["float32", "float64"], typer.Option(help="Of numbers that go into the ONNX graph and come out.")
    ] = "float32",
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
    wanted = {"--onnx": onnx, "--python": python, "--sql": sql}
    if not any(wanted.values()):
        raise typer.BadParameter("give at least one of --onnx, --python and --sql")
    given = [path for path in wanted.values() if path is not None]
    for option, path in wanted.items():
        options.check_output(option, path, model)
        if path is not None and given.count(path) > 1:
            raise typer.BadParameter(f"{path} is given twice: give each file a name of its own", param_hint=option)
    if onnx is not None:
        require("onnx", "onnx")
    from vrspam.tool import export_model, load_model

    loaded = load_model(model)
    written = export_model(loaded, onnx=onnx, python=python, sql=sql, dtype=dtype)
    if as_json:
        scorer = loaded.as_scorer()
        inputs = [{"name": one.name, "kind": one.kind, "note": one.note} for one in scorer.inputs]
        print_json({**{option.strip("-"): path and str(path) for option, path in wanted.items()}, "inputs": inputs})
        return
    for path in written:
        say(f"{path}: {path.stat().st_size:,} bytes")
