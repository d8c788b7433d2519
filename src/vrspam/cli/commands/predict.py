"""`vrspam predict`: the score of every row of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from vrspam._utils.extras import require
from vrspam._utils.findings import text_of
from vrspam.cli import errors, options, output
from vrspam.cli.files import check_output
from vrspam.cli.typed import typed
from vrspam.tool.options import one_or_more
from vrspam.tool.plan import check_option


@options.with_options(*options.READING)
def predict(
    model: options.ModelFile,
    data: options.Data,
    out: Annotated[Path, typer.Option(help="The file to write: .csv, .csv.gz or .parquet.")],
    ids: Annotated[
        list[str] | None,
        typer.Option(
            "--id",
            help="Columns to copy beside the scores, separated by commas; by default the identifiers that training "
            "left out, and the columns of groups and strata.",
            metavar="<names>",
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(help="Write only this many rows, those with the highest scores, highest first.", metavar="<int>"),
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
    allow_missing: options.AllowMissing = None,
    as_json: options.AsJson = False,
    **given: Any,
) -> None:
    """Score every row of a file, in the order of the file; with a probability if the model is calibrated.

    The threshold that `train` stored decides on the label, or else the probability 1/2.

    Rows far outside the range of training are marked.

    A row that cannot be scored stays in its place, with an empty score and a column that says why.

    The file is read and written block by block, so it may be larger than memory.

    Example:  vrspam predict patients.json new-patients.csv --out scores.csv --id patient
    """
    require("data", "pyarrow")
    from vrspam.report.words.thresholds import describe_scores
    from vrspam.tool import load_model
    from vrspam.tool.prediction import describe_unscored, predict_rows
    from vrspam.tool.write_scores import check_out

    reading = options.read_options(given)
    with errors.misuse():
        copied = options.names_in(ids) if ids else None
        may_be_missing = options.names_in(allow_missing)
        check_option("top", top, one_or_more)
        check_out(out)
    check_output("--out", out, model, data)

    with output.warnings_as_lines():
        loaded = load_model(model)
        prediction = predict_rows(
            loaded,
            data,
            out,
            ids=copied,
            top=top,
            escape_formulas=escape_formulas,
            drop_errors=drop_errors,
            allow_missing=may_be_missing,
            progress=output.err.is_terminal,
            **reading,
        )
    if as_json:
        output.print_json({"out": str(out), **prediction._asdict()})
        return

    for note in prediction.unseen:
        output.warn(f"warning: {note}")
    if prediction.unscored:
        output.warn(f"warning: {text_of(describe_unscored(prediction.unscored, top), typed)}")
    if top is None:
        output.say(f"{prediction.rows - prediction.unscored:,} rows scored: {out}")
    else:
        output.say(f"the {prediction.rows:,} rows with the highest scores: {out}")
    for sentence in describe_scores(loaded, prediction.called):
        output.tell(sentence)
