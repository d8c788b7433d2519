"""`vrspam explain`: what a model looks at, as a whole and in single rows."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vrspam._utils.extras import require
from vrspam._utils.findings import VrspamError
from vrspam._utils.plain import readable_name
from vrspam.cli import errors, options, output
from vrspam.cli.files import check_output
from vrspam.cli.typed import typed
from vrspam.tool.typed_values import read_rows

if TYPE_CHECKING:
    from vrspam.tool import Model


def parse_rows(text: str) -> tuple[int, ...]:
    """Numbers of rows; text that has none is refused as a wrong use."""
    try:
        return read_rows(text)
    except VrspamError as error:
        raise typer.BadParameter(str(error)) from error


@options.with_options(*options.READING)
def explain(
    model: options.ModelFile,
    data: Annotated[
        str | None, typer.Argument(help="A file of rows to explain one by one; the same as --rows.")
    ] = None,
    row: Annotated[
        Any,
        typer.Option(
            help="The row to explain, or several separated by commas; 1 is the first row of the data. Without a file: "
            "of the training file, if it is in this directory or beside the model.",
            parser=parse_rows,
            metavar="<row>",
        ),
    ] = None,
    rows: Annotated[
        str | None, typer.Option(help="A file of rows to explain, all or those of --row.", metavar="<file>")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many features to show.", metavar="<int>")] = 20,
    picture: options.Picture = None,
    html: options.HtmlOut = None,
    allow_missing: options.AllowMissing = None,
    as_json: options.AsJson = False,
    **given: Any,
) -> None:
    """Show what a model looks at: the curve of each column, or coefficients on the original scale.

    The picture and the page show what each column adds to the score.
    Pairs of columns that interact are named; the page shows them as heat maps.
    Share: part of the difference between the mean scores of the classes.

    With a file, or --row: what each column adds to the score of single rows.

    Example:  vrspam explain patients.json --picture curves.png

    Example:  vrspam explain patients.json --html patients.html

    Example:  vrspam explain patients.json new-patients.csv --row 3 --picture row-3.png

    Example:  vrspam explain patients.json --rows new-patients.csv --json
    """
    if data is not None and rows is not None:
        raise typer.BadParameter("the file of rows is named twice: name it once", param_hint="--rows")
    file = data if data is not None else rows
    single = file is not None or row is not None
    check_output("--picture", picture, model, file)
    check_output("--html", html, model)
    if single and html is not None:
        raise typer.BadParameter("a page shows the whole model: leave it out, or the rows", param_hint="--html")
    if single and picture is not None and (row is None or len(row) != 1):
        raise typer.BadParameter("a picture shows one row: name it with --row", param_hint="--picture")
    reading = options.read_options(given)
    with errors.misuse():
        reading["allow_missing"] = options.names_in(allow_missing)
    from vrspam.tool import load_model

    loaded = load_model(model)
    if single:
        _explain_rows(loaded, file or _training_file(loaded, model), row, reading, top, picture, as_json)
    else:
        _explain_model(loaded, model.name, top, picture, html, as_json)


def _explain_model(model: Model, name: str, top: int, picture: Path | None, html: Path | None, as_json: bool) -> None:
    """Print what the columns of a model do; draw it and write its page where that is asked for."""
    if picture is not None:
        from vrspam.plotting.style import save_figure
        from vrspam.tool.explanation import features_picture

        save_figure(features_picture(model), picture)
    if html is not None:
        from vrspam.report.pages.model import explanation_page

        explanation_page(model, model_name=name, parameter=typed).write(html)
    if as_json:
        output.print_json(_numbers(model))
        return
    from vrspam.cli import terminal
    from vrspam.report.summaries.model import summary_of_model
    from vrspam.report.words.model import describe_curves

    terminal.show_all(summary_of_model(model, top, typed))
    terminal.show_written(picture=picture, page=html)
    if picture is not None:
        output.tell(f"The picture: {describe_curves(model)}")


def _numbers(model: Model) -> dict[str, Any]:
    """Effects of features and columns, and the curves, for scripts."""
    from vrspam.model.effects import explain as effects_of
    from vrspam.model.effects import sum_by_column

    effects = effects_of(model)
    return {
        "positive": model.positive,
        "intercept": model.intercept,
        "features": [asdict(effect) for effect in effects],
        "columns": dict(sum_by_column(effects)),
        "shapes": None if model.shapes is None else model.shapes.to_dict(),
    }


def _training_file(model: Model, path: Path) -> str:
    """The file that the model was trained on, by its name, in this directory or in that of the model."""
    names = model.training.get("data", ())
    for folder in (Path(), path.parent):
        if len(names) != 1:
            continue
        if (folder / names[0]).is_file():
            return str(folder / names[0])
        for file in folder.iterdir():  # one whose name is not UTF-8 is stored as it is shown
            if readable_name(file) == names[0] and file.is_file():
                return str(file)
    raise typer.BadParameter(
        f"the file that the model was trained on is not here: name a file of rows, as in vrspam explain {path.name} "
        f"FILE --row 1",
        param_hint="--row",
    )


def _explain_rows(model: Model, data: str, numbers: Any, reading: Any, top: int, picture: Any, as_json: bool) -> None:
    """Print rows of a file with what each column adds; without `numbers`, the first rows, or in JSON all."""
    require("data", "pyarrow")
    from vrspam.tool.explanation import explain_file, row_picture

    with output.warnings_as_lines():
        explained = explain_file(model, data, numbers, most=None if as_json else 10, **reading)
    if picture is not None:
        from vrspam.plotting.style import save_figure

        save_figure(row_picture(model, explained.rows[0]), picture)
    if as_json:
        rows = [row.to_dict() for row in explained.rows]
        output.print_json({"data": data, "positive": model.positive, "rows": rows, "warnings": list(explained.notes)})
        return
    from vrspam.cli import terminal
    from vrspam.report.summaries.explained_rows import summary_of_rows

    terminal.show_all(summary_of_rows(model, explained, Path(data).name, top, typed))
    if numbers is None and explained.n > len(explained.rows):
        output.tell(f"and {explained.n - len(explained.rows):,} more rows: --row names some, --json prints all")
    terminal.show_written(picture=picture)
    for note in explained.notes:
        output.warn(f"warning: {note}")
