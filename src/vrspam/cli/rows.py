"""`vrspam rows`: what more rows of a table would bring."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from vrspam._utils.messages import require
from vrspam.cli import app
from vrspam.tool.plan import PANELS, ROWS


@app.with_options(*ROWS, panels=PANELS)
def rows(
    data: app.Data,
    html: app.HtmlOut = None,
    width: Annotated[
        float | None, typer.Option(help="Tell how many rows make a 95 % interval of the AUC so narrow, as in 0.05.")
    ] = None,
    difference: Annotated[
        float | None, typer.Option(help="Tell how many rows show that another AUC is larger by this, as in 0.02.")
    ] = None,
    power: Annotated[float, typer.Option(help="How probable it is that they show it.")] = 0.8,
    as_json: app.AsJson = False,
    **given: Any,
) -> None:
    """Tell what more rows would bring: the AUC of parts of a table, extrapolated to four times its rows.

    The model is one of smooth curves, or with --features linear of straight lines.

    Example:  vrspam rows patients.csv --target sick

    Example:  vrspam rows visits.xlsx --target readmitted --groups patient --difference 0.02 --html rows.html
    """
    require("data", "pyarrow")
    plan = app.plan_of(data, given)
    app.check_output("--html", html, data)
    from vrspam.report import words
    from vrspam.tool.planning import check_wishes
    from vrspam.tool.planning import rows as look

    wishes: dict[str, Any] = {"width": width, "difference": difference, "power": power}
    with app.misuse():
        check_wishes(plan, **wishes)
    with app.warnings_as_lines():
        found = look(data, plan=plan, **wishes)
    asked = words.describe_needed(found, **wishes)
    if html is not None:
        from vrspam.report.sections import rows_page

        rows_page(found, data_name=Path(data).name, asked=asked, parameter=app.as_option).write(html)
    if as_json:
        app.print_json({**found.flat(), "warnings": app.worries(None, found.notes)})
        return
    app.show_worries(None, found.notes)
    app.say(f"{found.curve.total:,} rows, of which {found.positives:,} positive")
    app.tell(words.describe_gain(found.curve, found.lines))
    shown = []
    for name, count, at in words.gain_rows(found.curve):
        shown.append([name, f"{count:,}", words.auc_text(at.value), words.interval_text(at.low, at.high)])
    app.show_table(["rows", "how many", "AUC", "90 % band"], shown, margin=2)
    for sentence in asked:
        app.tell(sentence)
    if html is not None:
        app.show_facts([("page", str(html))], 4)
