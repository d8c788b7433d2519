"""`vrspam predict`, `export` and `explain`: scores of new rows, a model for other programs, what it looks at."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from vrspam._utils.findings import text_of
from vrspam._utils.messages import require
from vrspam._utils.plain import readable_name
from vrspam._utils.texts import percent
from vrspam.cli import app
from vrspam.cli.typed import typed
from vrspam.tool.plan import NO_ROW, check_option, one_or_more, read_names

if TYPE_CHECKING:
    from vrspam.model.drawing import Effect
    from vrspam.tool import Model


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
    allow_missing: app.AllowMissing = None,
    as_json: app.AsJson = False,
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

    reading = app.read_options(given)
    with app.misuse():
        reading["ids"] = None if ids is None else read_names(ids)
        reading["allow_missing"] = () if allow_missing is None else read_names(allow_missing)
        check_option("top", top, one_or_more)
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
        app.warn(f"warning: {text_of(describe_unscored(found.unscored, top), typed)}")
    scored = f"{found.rows - found.unscored:,} rows scored"
    app.say(f"{scored if top is None else f'the {found.rows:,} rows with the highest scores'}: {out}")
    for sentence in describe_scores(loaded, found.called):
        app.tell(sentence)


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
        Literal["float64", "float32"], typer.Option(help="Type of numbers that go into the ONNX graph and come out.")
    ] = "float64",
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
        inputs = [{"name": one.name, "kind": one.kind, "note": one.note} for one in loaded.to_model().inputs]
        app.print_json({**{option.strip("-"): path and str(path) for option, path in wanted.items()}, "inputs": inputs})
        return
    for path in written:
        app.say(f"{path}: {path.stat().st_size:,} bytes")


def parse_rows(value: str) -> tuple[int, ...]:
    """Numbers of rows.

    >>> parse_rows("3, 17")
    (3, 17)
    """
    try:
        found = tuple(int(part) for part in value.split(","))
    except ValueError as error:
        raise typer.BadParameter(f"{value!r} is not a number, or numbers separated by commas") from error
    if min(found) < 1:
        raise typer.BadParameter(NO_ROW.format(min(found)))
    return found


@app.with_options(*app.READING)
def explain(
    model: app.ModelFile,
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
    picture: app.Picture = None,
    html: app.HtmlOut = None,
    allow_missing: app.AllowMissing = None,
    as_json: app.AsJson = False,
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
    app.check_output("--picture", picture, model, file)
    app.check_output("--html", html, model)
    if single and html is not None:
        raise typer.BadParameter("a page shows the whole model: leave it out, or the rows", param_hint="--html")
    if single and picture is not None and (row is None or len(row) != 1):
        raise typer.BadParameter("a picture shows one row: name it with --row", param_hint="--picture")
    reading = app.read_options(given)
    with app.misuse():
        reading["allow_missing"] = () if allow_missing is None else read_names(allow_missing)
    from vrspam.tool import load_model

    loaded = load_model(model)
    if single:
        return _explain_rows(loaded, file or _training_file(loaded, model), row, reading, top, picture, as_json)
    from vrspam.model.drawing import explain as explain_model
    from vrspam.model.drawing import sum_by_column
    from vrspam.report.words.model import describe_curves

    if picture is not None:
        from vrspam.plotting.style import save_figure
        from vrspam.tool.explanation import features_picture

        save_figure(features_picture(loaded), picture)
    if html is not None:
        from vrspam.report.pages.model import explanation_page

        explanation_page(loaded, model_name=model.name, parameter=typed).write(html)
    effects = explain_model(loaded)
    columns = dict(sum_by_column(effects))
    if as_json:
        shapes = None if loaded.shapes is None else loaded.shapes.to_dict()
        found = {"features": [asdict(effect) for effect in effects], "columns": columns, "shapes": shapes}
        app.print_json({"positive": loaded.positive, "intercept": loaded.intercept, **found})
        return
    _print_effects(loaded, effects, columns, top)
    if picture is not None:
        app.tell(f"{picture}: {describe_curves(loaded)}")
    if html is not None:
        app.say(str(html))


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


def _print_effects(model: Model, effects: list[Effect], columns: dict[str, float], top: int) -> None:
    """Print the effects of columns; for curves also which columns interact, and which say nearly the same."""
    from vrspam.report.words.auc import requests
    from vrspam.report.words.model import (
        ONE_DEVIATION,
        SHARE,
        SHARE_OF_PAIRS,
        SPREAD,
        describe_pairs,
        describe_rest,
        describe_together,
    )
    from vrspam.report.words.names import describe_direction

    app.tell(describe_direction(model.outcome))
    lines, told = [], requests(model)
    for effect in effects[:top]:
        if effect.coefficient is None or effect.effect is None:
            numbers = ["" if effect.importance is None else f"{effect.importance:.4f}"]
        else:
            numbers = [f"{effect.coefficient:.5g}", f"{effect.effect:+.4f}"]
        marked = f"{effect.feature} ({told[effect.feature]} by request)" if effect.feature in told else effect.feature
        lines.append([marked, *numbers, f"{effect.share:.1%}"])
    if model.features is None:
        lines.append(["intercept", f"{model.intercept:.5g}", "", ""])
        app.show_table(["feature", "coefficient", "one deviation", "share"], lines)
    else:
        app.show_table(["column", "spread", "share"], lines)
    if len(effects) > top:
        app.say(f"and {len(effects) - top:,} more (--top)")
    app.tell(ONE_DEVIATION if model.features is None else SPREAD)
    app.tell(SHARE_OF_PAIRS if model.ranks else SHARE)
    if model.features is None:
        if model.schema.categorical:
            app.say("")
            shown = [[f"column {name}", f"{share:.1%}"] for name, share in list(columns.items())[:top]]
            app.show_table(["", "share of all its features"], shown)
        return
    shapes = model.shapes
    if shapes is not None and shapes.interactions is not None:
        app.tell(describe_rest(model))
        if pairs := describe_pairs(model):
            rows = [[pair, f"{100 * share:.1f} %"] for pair, share in pairs]
            app.show_table(["columns that interact", "of the variance"], rows, margin=2)
    for remark in describe_together(model):
        app.tell(remark)


def _explain_rows(model: Model, data: str, numbers: Any, reading: Any, top: int, picture: Any, as_json: bool) -> None:
    """Print rows of a file with what each column adds; without `numbers`, the first rows, or in JSON all."""
    require("data", "pyarrow")
    from vrspam.model.drawing import value_text
    from vrspam.tool.explanation import explain_file, row_picture

    with app.warnings_as_lines():
        found = explain_file(model, data, numbers, most=None if as_json else 10, **reading)
    if picture is not None:
        from vrspam.plotting.style import save_figure

        save_figure(row_picture(model, found.rows[0]), picture)
    if as_json:
        rows = [row.to_dict() for row in found.rows]
        app.print_json({"data": data, "positive": model.positive, "rows": rows, "warnings": list(found.notes)})
        return
    for number, row in enumerate(found.rows):
        if number:
            app.say("")
        names = ", ".join(f"{name} {value}" for name, value in row.identifiers.items())
        title = f"row {row.row:,} of {Path(data).name}{f' ({names})' if names else ''}"
        if row.score is None:
            app.tell(f"{title}: no score, because {row.reason}")
            continue
        likely = f"score {row.score:+.4f}"
        if row.probability is not None:
            label = f"{model.schema.target} = " if model.schema.target else ""
            certain = min(max(row.probability, 1e-9), 1.0 - 1e-9)  # a model never is certain
            likely += f", probability of {label}{model.positive} {percent(certain)}"
        app.tell(f"{title}: {likely}")
        lines = [[part.column, value_text(model, part), f"{part.adds:+.4f}"] for part in row.parts[:top]]
        if others := row.parts[top:]:
            lines.append([f"{len(others):,} others (--top)", "", f"{sum(part.adds for part in others):+.4f}"])
        lines.append(["total: the score", "", f"{row.score:+.4f}"])
        app.show_table(["column", "value", "adds to the score"], lines, texts=(0, 1), margin=2)
    if numbers is None and found.n > len(found.rows):
        app.tell(f"and {found.n - len(found.rows):,} more rows: --row names some, --json prints all")
    app.say("")
    app.tell("Rows are counted from 1, the first row of the data. A score of 0 is half-way between the classes.")
    if picture is not None:
        app.say(str(picture))
    for note in found.notes:
        app.warn(f"warning: {note}")
