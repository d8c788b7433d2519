"""`vrspam predict` and `vrspam explain`: a model at work, and what it looks at."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from vrspam._utils.optional import require
from vrspam.cli import options
from vrspam.cli.console import AsJson, print_json, say
from vrspam.cli.wording import in_options


def register(app: typer.Typer) -> None:
    app.command("predict")(predict)
    app.command("explain")(explain)


def predict(
    model: options.ModelFile,
    data: options.Data,
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
    format: options.FileFormat = None,
    delimiter: options.Delimiter = None,
    zero_based: options.ZeroBased = None,
    skip_errors: options.SkipErrors = False,
    as_json: AsJson = False,
) -> None:
    """Score every row of a file, in its order; with a probability where the model is calibrated.

    Reads and writes block by block, so the file may be larger than memory.

    Example:  vrspam predict patients.json new-patients.csv --out scores.csv --id patient
    """
    require("data", "pyarrow")
    from vrspam.tool import load_model
    from vrspam.tool.prediction import check_out
    from vrspam.tool.prediction import predict as predict_file

    chosen, read = options.column_names(ids), options.reading(format, delimiter, zero_based)
    try:
        check_out(out)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--out") from error
    options.check_output("--out", out, model, data)
    with options.plain_words():
        rows = predict_file(
            load_model(model), data, out, ids=chosen, skip_errors=skip_errors, progress=options.on_terminal(), **read
        )
    if as_json:
        print_json({"out": str(out), "rows": rows})
    else:
        say(f"{rows:,} rows scored: {out}")


def explain(
    model: options.ModelFile,
    top: Annotated[int, typer.Option(min=1, help="How many features to show.")] = 20,
    picture: options.Picture = None,
    html: options.HtmlOut = None,
    as_json: AsJson = False,
) -> None:
    """What a model looks at: the curve of each column, or coefficients, on the original scale.

    The picture and the page draw what each column adds to the score. The share of a feature is its part of the
    difference between the mean scores of the two classes.

    Example:  vrspam explain patients.json --picture curves.png

    Example:  vrspam explain patients.json --html patients.html
    """
    options.check_picture(picture)
    options.check_output("--picture", picture, model)
    options.check_output("--html", html, model)
    if picture is not None or html is not None:
        require("plots", "matplotlib")
    from vrspam.tool import load_model
    from vrspam.tool.explanation import by_column, curve_words
    from vrspam.tool.explanation import explain as explain_model

    with options.plain_words():
        loaded = load_model(model)
    if picture is not None:
        from vrspam.plotting.style import save_figure
        from vrspam.tool.pages import features_picture

        save_figure(features_picture(loaded), picture)
    if html is not None:
        from vrspam.tool.pages import explanation_page

        with tempfile.TemporaryDirectory() as folder:
            explanation_page(loaded, Path(folder), model_name=model.name, words=in_options).write(html)
    effects = explain_model(loaded)
    columns = dict(by_column(effects))
    if as_json:
        print_json(
            {
                "positive": loaded.positive,
                "intercept": loaded.intercept,
                "features": [asdict(effect) for effect in effects],
                "columns": columns,
                "shapes": None if loaded.shapes is None else loaded.shapes.to_dict(),
            }
        )
        return
    width = max(len("feature"), *(len(effect.feature) for effect in effects[:top]))
    if loaded.features is None:
        say(f"{'feature':{width}}  {'coefficient':>12}  {'one deviation':>13}  {'share':>7}")
    else:
        say(f"{'column':{width}}  {'spread':>12}  {'share':>7}")
    for effect in effects[:top]:
        if effect.coefficient is None or effect.effect is None:
            numbers = f"{'' if effect.importance is None else f'{effect.importance:.4f}':>12}"
        else:
            numbers = f"{effect.coefficient:>12.5g}  {effect.effect:>+13.4f}"
        say(f"{effect.feature:{width}}  {numbers}  {effect.share:>7.1%}")
    if len(effects) > top:
        say(f"and {len(effects) - top:,} more (--top)")
    if loaded.features is None:
        say(f"{'intercept':{width}}  {loaded.intercept:>12.5g}")
        if loaded.schema.categorical:
            say("")
            for column, share in list(columns.items())[:top]:
                say(f"column {column:{width}}  {share:>7.1%}")
    else:
        say("spread: standard deviation of what the column adds to the score")
    if picture is not None:
        say(f"{picture}: {curve_words(loaded)}")
    if html is not None:
        say(str(html))
