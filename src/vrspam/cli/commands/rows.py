"""`vrspam rows`: what more rows would bring."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from vrspam._utils.extras import require
from vrspam.cli import errors, options, output
from vrspam.cli.files import check_output
from vrspam.cli.typed import typed
from vrspam.tool.options import MODEL, PANELS
from vrspam.tool.plan import RowsOptions, options_of


@options.with_options(*options_of("rows", RowsOptions), panels=PANELS)
def rows(
    data: options.Data,
    html: options.HtmlOut = None,
    features: Annotated[
        str | None,
        typer.Option(
            help="additive: smooth curves; linear: straight lines. By default additive.",
            metavar="<name>",
            rich_help_panel=MODEL,
        ),
    ] = None,
    width: Annotated[
        float | None, typer.Option(help="Tell how many rows make a 95 % interval of the AUC this wide, as in 0.05.")
    ] = None,
    difference: Annotated[
        float | None, typer.Option(help="Tell how many rows show that another AUC is larger by this, as in 0.02.")
    ] = None,
    power: Annotated[float, typer.Option(help="Probability that these rows show it.")] = 0.8,
    as_json: options.AsJson = False,
    **given: Any,
) -> None:
    """Tell what more rows would bring: the AUC of parts of a table, extrapolated to four times its rows.

    The model has smooth curves, or straight lines with --features linear.

    Example:  vrspam rows patients.csv --target sick

    Example:  vrspam rows visits.xlsx --target readmitted --groups patient --difference 0.02 --html rows.html
    """
    require("data", "pyarrow")
    plan = options.plan_of(data, {**given, "features": features})
    check_output("--html", html, data)
    from vrspam.report.words.more_rows import describe_needed
    from vrspam.tool.learning import check_wishes
    from vrspam.tool.learning import rows as look

    wishes: dict[str, Any] = {"width": width, "difference": difference, "power": power}
    with errors.misuse():
        check_wishes(plan, **wishes)
    with output.warnings_as_lines():
        found = look(data, plan=plan, **wishes)
    from vrspam.report.pages.rows import rows_page

    asked = describe_needed(found, **wishes)
    page = rows_page(found, data_name=output.page_name(data), asked=asked, parameter=typed)
    if html is not None:
        page.write(html)
    if as_json:
        return output.print_json({**found.flat(), "warnings": output.worries(None, found.notes)})
    from vrspam.cli import terminal

    terminal.show_page(page)
    terminal.show_written(page=html)
