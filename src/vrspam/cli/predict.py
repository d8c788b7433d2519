"""`vrspam predict`: scores for new rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from vrspam._utils.messages import require
from vrspam.cli import options
from vrspam.cli.options import err, in_options, print_json, say, warnings_as_lines


def register(app: typer.Typer) -> None:
    app.command("predict")(predict)


def predict(
    model: options.ModelFile,
    data: options.Data,
    out: Annotated[Path, typer.Option(help="The file to write: .csv, .csv.gz or .parquet.", show_default=False)],
    ids: Annotated[
        Any,
        typer.Option(
            "--id",
            help="Columns to copy beside the scores, separated by commas; by default the identifiers that training "
            "left out.",
            parser=options.parse_column_names,
            metavar="<names>",
            show_default=False,
        ),
    ] = None,
    escape_formulas: Annotated[
        bool,
        typer.Option(
            "--escape-formulas",
            help="In CSV, write ' before copied text that starts with = + - or @, which a spreadsheet would take for a "
            "formula.",
        ),
    ] = False,
    format: options.FileFormat = None,
    delimiter: options.Delimiter = None,
    zero_based: options.ZeroBased = None,
    skip_errors: options.SkipErrors = False,
    as_json: options.AsJson = False,
) -> None:
    """Score every row of a file, in the order of the file; with a probability if the model is calibrated.

    The file is read and written block by block, so it may be larger than memory.

    Example:  vrspam predict patients.json new-patients.csv --out scores.csv --id patient
    """
    require("data", "pyarrow")
    from vrspam.tool import load_model
    from vrspam.tool.prediction import check_out
    from vrspam.tool.prediction import predict as predict_file

    read = {"format": format, "delimiter": delimiter, "zero_based": zero_based}
    try:
        check_out(out)
    except ValueError as error:
        raise typer.BadParameter(in_options(error), param_hint="--out") from error
    options.check_output("--out", out, model, data)
    with warnings_as_lines():
        rows = predict_file(
            load_model(model),
            data,
            out,
            ids=ids,
            escape_formulas=escape_formulas,
            skip_errors=skip_errors,
            progress=err.is_terminal,
            **read,
        )
    if as_json:
        print_json({"out": str(out), "rows": rows})
    else:
        say(f"{rows:,} rows scored: {out}")
