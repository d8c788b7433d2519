"""`vrspam predict`: scores for new rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vrspam._utils.messages import require
from vrspam.cli import options
from vrspam.cli.options import READING, err, in_options, print_json, say, tell, warn, warnings_as_lines, with_options
from vrspam.tool.plan import read_names

if TYPE_CHECKING:
    pass


@with_options(*READING)
def predict(
    model: options.ModelFile,
    data: options.Data,
    out: Annotated[Path, typer.Option(help="The file to write: .csv, .csv.gz or .parquet.", show_default=False)],
    ids: Annotated[
        str | None,
        typer.Option(
            "--id",
            help="Columns to copy beside the scores, separated by commas; by default the identifiers that training "
            "left out.",
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
    as_json: options.AsJson = False,
    **given: Any,
) -> None:
    """Score every row of a file, in the order of the file; with a probability if the model is calibrated.

    A row that cannot be scored stays in its place, with an empty score and a column that says why.

    The file is read and written block by block, so it may be larger than memory.

    Example:  vrspam predict patients.json new-patients.csv --out scores.csv --id patient
    """
    require("data", "pyarrow")
    from vrspam.report import words
    from vrspam.tool import load_model
    from vrspam.tool.prediction import check_out, predict_rows

    reading = options.read_options(given)
    with options.misuse():
        copied = None if ids is None else read_names(ids)
    try:
        check_out(out)
    except ValueError as error:
        raise typer.BadParameter(in_options(error), param_hint="--out") from error
    options.check_output("--out", out, model, data)
    with warnings_as_lines():
        loaded = load_model(model)
        found = predict_rows(
            loaded,
            data,
            out,
            ids=copied,
            escape_formulas=escape_formulas,
            drop_errors=drop_errors,
            progress=err.is_terminal,
            **reading,
        )
    if as_json:
        print_json({"out": str(out), **found._asdict()})
        return
    for note in found.unseen:
        warn(f"warning: {note}")
    if found.unscored:
        rows = f"{found.unscored:,} row{' has' if found.unscored == 1 else 's have'}"
        warn(f"warning: {rows} no score: 'reason' says why, --drop-errors leaves such rows out")
    say(f"{found.rows - found.unscored:,} rows scored: {out}")
    tell(f"{words.describe_direction(loaded)} {words.describe_probability(loaded)}")
