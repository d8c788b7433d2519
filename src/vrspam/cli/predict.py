"""`vrspam predict` and `vrspam export`: scores for new rows, and a model for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from vrspam._utils.messages import require
from vrspam.cli import app
from vrspam.tool.plan import at_least, check_option, read_names


@app.with_options(*app.READING)
def predict(
    model: app.ModelFile,
    data: app.Data,
    out: Annotated[Path, typer.Option(help="The file to write: .csv, .csv.gz or .parquet.")],
    ids: Annotated[
        str | None,
        typer.Option(
            "--id",
            help="Columns to copy beside the scores, separated by commas; by default the identifiers that training "
            "left out.",
            metavar="<names>",
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(help="Write only so many rows, those of the highest scores, the highest first.", metavar="<int>"),
    ] = None,
    escape_formulas: Annotated[
        bool,
        typer.Option(
            "--escape-formulas",
            help="In CSV, write ' before copied text that starts with = + - or @, which a spreadsheet would take for a "
            "formula.",
            metavar="",
        ),
    ] = False,
    drop_errors: Annotated[
        bool,
        typer.Option(
            "--drop-errors",
            "--skip-errors",
            help="Leave out rows that cannot be scored; by default they stay, with an empty score and a reason.",
            metavar="",
            rich_help_panel="Errors",
        ),
    ] = False,
    allow_missing: app.AllowMissing = None,
    as_json: app.AsJson = False,
    **given: Any,
) -> None:
    """Score every row of a file, in the order of the file; with a probability if the model is calibrated.

    The label goes by the threshold of `train`, or else by the probability 1/2.

    Rows far outside the range of training are marked.

    A row that cannot be scored stays in its place, with an empty score and a column that says why.

    The file is read and written block by block, so it may be larger than memory.

    Example:  vrspam predict patients.json new-patients.csv --out scores.csv --id patient
    """
    require("data", "pyarrow")
    from vrspam.report import words
    from vrspam.tool import load_model
    from vrspam.tool.prediction import check_out, predict_rows

    reading = app.read_options(given)
    with app.misuse():
        reading["ids"] = None if ids is None else read_names(ids)
        reading["allow_missing"] = () if allow_missing is None else read_names(allow_missing)
        check_option("top", top, at_least(1))
        check_out(out)
    app.check_output("--out", out, model, data)
    reading |= {"top": top, "escape_formulas": escape_formulas, "drop_errors": drop_errors}
    with app.warnings_as_lines():
        loaded = load_model(model)
        found = predict_rows(loaded, data, out, **reading, progress=app.err.is_terminal)
    if as_json:
        app.print_json({"out": str(out), **found._asdict()})
        return
    for note in found.unseen:
        app.warn(f"warning: {note}")
    if found.unscored:
        rows = f"{found.unscored:,} row{' has' if found.unscored == 1 else 's have'}"
        app.warn(f"warning: {rows} no score: 'reason' says why, --drop-errors leaves such rows out")
    rows = f"{found.rows - found.unscored:,} rows"
    app.say(f"{rows} scored: {out}" if top is None else f"{rows} of the highest scores: {out}")
    if not loaded.ranks:
        app.tell(words.describe_decision(loaded, found.called))
    app.tell(f"{words.describe_direction(loaded)} {words.describe_probability(loaded)}")


def export(
    model: app.ModelFile,
    onnx: Annotated[Path | None, typer.Option("--onnx", help="Write an ONNX graph, for any model.")] = None,
    python: Annotated[
        Path | None, typer.Option("--python", help="Write a file of plain Python, for linear and additive models.")
    ] = None,
    sql: Annotated[
        Path | None, typer.Option("--sql", help="Write one SQL expression, for linear and additive models.")
    ] = None,
    dtype: Annotated[
        Literal["float32", "float64"], typer.Option(help="Of numbers that go into the ONNX graph and come out.")
    ] = "float32",
    as_json: app.AsJson = False,
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
        app.check_output(option, path, model)
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
        app.print_json({**{option.strip("-"): path and str(path) for option, path in wanted.items()}, "inputs": inputs})
        return
    for path in written:
        app.say(f"{path}: {path.stat().st_size:,} bytes")
