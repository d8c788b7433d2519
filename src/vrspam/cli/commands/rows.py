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
    from vrspam._utils.texts import auc_text, interval_text
    from vrspam.report.words.more_rows import AS_MANY, describe_gain, describe_needed
    from vrspam.tool.learning import check_wishes
    from vrspam.tool.learning import rows as look

    wishes: dict[str, Any] = {"width": width, "difference": difference, "power": power}
    with errors.misuse():
        check_wishes(plan, **wishes)
    with output.warnings_as_lines():
        found = look(data, plan=plan, **wishes)
    asked = describe_needed(found, **wishes)
    if html is not None:
        from vrspam.report.pages.rows import rows_page

        rows_page(found, data_name=output.page_name(data), asked=asked, parameter=typed).write(html)
    if as_json:
        output.print_json({**found.flat(), "warnings": output.worries(None, found.notes)})
        return
    output.show_worries(None, found.notes)
    output.say(f"{found.curve.total:,} rows, of which {found.positives:,} positive")
    output.tell(describe_gain(found.curve, found.lines))
    shown = []
    for name, times in AS_MANY.items():
        count, at = times * found.curve.total, found.curve.at(times * found.curve.total)
        shown.append([name, f"{count:,}", auc_text(at.value), interval_text(at.low, at.high)])
    output.show_table(["rows", "how many", "AUC", "90 % band"], shown, margin=2)
    for sentence in asked:
        output.tell(sentence)
    if html is not None:
        output.show_facts([("page", str(html))], 4)
