"""`vrspam report`: from a file to a page."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vrspam._utils.extras import require
from vrspam.cli import options, output
from vrspam.cli.files import check_output, write_page
from vrspam.cli.typed import typed
from vrspam.tool.options import PAGE, PANELS
from vrspam.tool.plan import options_of

if TYPE_CHECKING:
    from vrspam.report.page import Page
    from vrspam.tool import Report


@options.with_options(*options_of("report"), panels=PANELS)
def report(
    context: typer.Context,
    data: options.Data,
    html: Annotated[Path, typer.Option(help="The page to write.", rich_help_panel=PAGE)] = Path("report.html"),
    markdown: Annotated[
        Path | None,
        typer.Option("--markdown", help="Write the page as Markdown too, without its pictures.", rich_help_panel=PAGE),
    ] = None,
    as_json: options.AsJson = False,
    **given: Any,
) -> None:
    """Make one page of a table: what predicts the target, how well, and which threshold to take.

    The page needs no other file and no network, and can be mailed.
    A model is trained as by `vrspam train`; every row is scored by a model that was trained without it.
    The reader moves a threshold and sees what follows from it.

    Example:  vrspam report patients.csv --target sick --html report.html

    Example:  vrspam report patients.csv --target sick --by sex,clinic --cost-ratio 10

    Example:  vrspam report visits.xlsx --target readmitted --groups patient --holdout 0.3
    """
    if given["target"] is None and (Path(data) / "rows").is_dir():  # results of experiments (`vrspam.paper.run.ROWS`)
        from vrspam.cli.commands.publish import publish

        publish(Path(data), as_json)
        return output.warn(f"note: results of experiments are now published by  vrspam publish {data}")
    require("data", "pyarrow")
    check_output("--html", html, data)
    check_output("--markdown", markdown, data)
    plan = options.plan_of(data, given)
    from vrspam.tool.report import make_report

    with output.warnings_as_lines():
        facts = make_report(data, plan=plan)
        write_page(page_of(facts, data, context), html, markdown)
    if as_json:
        from vrspam.report.words.names import name_measure

        return output.print_json(_numbers(facts, html, name_measure(facts.model.outcome)))
    from vrspam.cli import terminal
    from vrspam.report.summaries.report import summary_of_report

    terminal.show_all(summary_of_report(facts, typed))
    terminal.show_written(page=html, markdown=markdown)


def page_of(report: Report, data: str, context: typer.Context) -> Page:
    """The page of a report, with the command that makes it again."""
    from vrspam.report.pages.report import report_page

    command = shlex.join(["vrspam", *context.obj])
    return report_page(report, data_name=output.page_name(data), parameter=typed, command=command)


def _numbers(report: Report, html: Path, measure: str) -> dict[str, object]:
    """All numbers of the page under flat keys, for scripts."""
    expected = report.expected
    facts = report.model.training
    numbers: dict[str, object] = {
        "page": str(html),
        "expected_auc": expected.auc,
        "expected_auc_low": expected.low,
        "expected_auc_high": expected.high,
        "judged_by": "holdout" if report.folds is None else "cross-validation",
        **report.evaluation.flat(),
        "groups": [group.flat() for group in report.groups],
        "left_out": list(report.left_out),
    }
    if report.beside is not None:
        numbers["beside"] = report.beside.flat()
    if "groups" in facts:
        numbers["grouped_by"] = facts["groups"]
    for name in ("independent_auc", "unconstrained_auc"):
        if name in facts:
            numbers[name] = facts[name]
    numbers["warnings"] = output.worries(expected, facts["warnings"], measure)
    numbers["findings"] = output.findings(facts["warnings"])
    return numbers
