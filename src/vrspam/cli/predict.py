"""`vrspam predict` and `vrspam explain`: a model at work, and what it looks at."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from vrspam.cli import files
from vrspam.cli.common import AsJson, print_json, require, say


def register(app: typer.Typer) -> None:
    app.command("predict")(predict)
    app.command("explain")(explain)


def predict(
    model: files.ModelFile,
    data: files.Data,
    out: Annotated[Path, typer.Option(help="Where the scores go: .csv, .csv.gz or .parquet.", show_default=False)],
    ids: Annotated[
        str | None,
        typer.Option(
            "--id",
            help="Columns to hand on beside the scores, separated by commas; by default the identifiers that "
            "training left out.",
            show_default=False,
        ),
    ] = None,
    skip_errors: files.SkipErrors = False,
    as_json: AsJson = False,
) -> None:
    """Score every row of a file, in its order; with a probability where the model is calibrated.

    Reads and writes block by block, so the file may be larger than memory.

    Example:  vrspam predict patients.json new-patients.csv --out scores.csv --id patient
    """
    require("data", "pyarrow")
    from vrspam.tool import load_model
    from vrspam.tool.predicting import check_out
    from vrspam.tool.predicting import predict as predict_file

    chosen = files.column_names(ids)
    try:
        check_out(out)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--out") from error
    files.check_output("--out", out, model, data)
    with files.plain_words():
        rows = predict_file(
            load_model(model), data, out, ids=chosen, skip_errors=skip_errors, progress=files.on_terminal()
        )
    if as_json:
        print_json({"out": str(out), "rows": rows})
    else:
        say(f"{rows:,} rows scored: {out}")


def explain(
    model: files.ModelFile,
    top: Annotated[int, typer.Option(min=1, help="How many features to show.")] = 20,
    picture: files.Picture = None,
    as_json: AsJson = False,
) -> None:
    """What a model looks at: coefficients on the original scale, and what each feature adds.

    The share of a feature is its part of the difference between the mean scores of the two classes.

    Example:  vrspam explain patients.json --picture features.png
    """
    files.check_picture(picture)
    files.check_output("--picture", picture, model)
    from vrspam.tool import load_model
    from vrspam.tool.explaining import by_column
    from vrspam.tool.explaining import explain as explain_model

    with files.plain_words():
        loaded = load_model(model)
    if picture is not None:
        require("plots", "matplotlib")
        from vrspam.plotting.style import save_figure
        from vrspam.tool.pages import features_picture

        save_figure(features_picture(loaded), picture)
    effects = explain_model(loaded)
    columns = dict(by_column(effects))
    if as_json:
        print_json(
            {
                "positive": loaded.positive,
                "intercept": loaded.intercept,
                "features": [asdict(effect) for effect in effects],
                "columns": columns,
            }
        )
        return
    width = max(len("feature"), *(len(effect.feature) for effect in effects[:top]))
    say(f"{'feature':{width}}  {'coefficient':>12}  {'one deviation':>13}  {'share':>7}")
    for effect in effects[:top]:
        coefficient = "curve" if effect.coefficient is None else f"{effect.coefficient:.5g}"
        change = "" if effect.effect is None else f"{effect.effect:+.4f}"
        say(f"{effect.feature:{width}}  {coefficient:>12}  {change:>13}  {effect.share:>7.1%}")
    if len(effects) > top:
        say(f"and {len(effects) - top:,} more (--top)")
    say(f"{'intercept':{width}}  {loaded.intercept:>12.5g}")
    if loaded.schema.categorical:
        say("")
        for column, share in list(columns.items())[:top]:
            say(f"column {column:{width}}  {share:>7.1%}")
    if picture is not None:
        say(str(picture))
