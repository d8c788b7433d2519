"""`vrspam report`: from a file to a page."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vrspam._utils.extras import require
from vrspam.cli import options, output
from vrspam.cli.files import check_output
from vrspam.cli.typed import typed
from vrspam.tool.options import PAGE, PANELS
from vrspam.tool.plan import options_of

if TYPE_CHECKING:
    from vrspam.tool import Report


@options.with_options(*options_of("report"), panels=PANELS)
def report(
    context: typer.Context,
    data: options.Data,
    html: Annotated[Path, typer.Option(help="The page to write.", rich_help_panel=PAGE)] = Path("report.html"),
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
    plan = options.plan_of(data, given)
    from vrspam.tool.report import make_report

    with output.warnings_as_lines():
        found = make_report(data, plan=plan)
        write_report(found, html, data, context)
    from vrspam._utils.texts import auc_text, interval_text
    from vrspam.report.words.auc import other_aucs
    from vrspam.report.words.comparisons import describe_beside
    from vrspam.report.words.groups import UNLIKE
    from vrspam.report.words.names import name_measure

    measure = name_measure(found.model.outcome)
    if as_json:
        return output.print_json(_numbers(found, html, measure))
    expected, evaluation = found.expected, found.evaluation
    how = "kept from the training" if found.folds is None else f"{found.folds} folds"
    on = "of these rows" if found.folds is None else "to expect on new rows"
    output.show_worries(expected, found.model.training["warnings"], measure)
    interval = f"95 % interval {interval_text(expected.low, expected.high, 4)}"
    output.say(f"{measure:8} {auc_text(expected.auc, 4)} {on}, {interval}")
    output.say(f"         {expected.remark}")
    for name, other in other_aucs(found.model, found.folds is None).items():
        output.say(f"         {name} {other}")
    share = f", of which {evaluation.positives:,} positive ({evaluation.positives / evaluation.n:.2%})"
    output.say(f"scored   {evaluation.n:,} rows ({how}){'' if 'order' in found.model.training else share}")
    for group in found.groups:
        if group.ranked_differently or group.predicted_wrongly:
            output.say(f"group    {group.column} = {group.name} {UNLIKE}")
    if (beside := found.beside) is not None:
        for name, one in zip(beside.names, beside.intervals, strict=True):
            ends = interval_text(one.low, one.high, 4)
            output.say(f"beside   {name}: {measure} {auc_text(one.auc, 4)}, 95 % interval {ends}")
        for text in describe_beside(beside, measure, evaluation.groups is not None):
            output.say(f"         {text}")
        output.show_worries(None, beside.notes)
    output.say(f"page     {html}")


def write_report(report: Report, html: Path, data: str, context: typer.Context) -> None:
    """Write the page, with the command that makes it again."""
    from vrspam.report.pages.report import report_page

    command = shlex.join(["vrspam", *context.obj])
    report_page(report, data_name=output.page_name(data), parameter=typed, command=command).write(html)


def _numbers(found: Report, html: Path, measure: str) -> dict[str, object]:
    """All numbers of the page under flat keys, for scripts."""
    expected, facts = found.expected, found.model.training
    return {
        "page": str(html),
        "expected_auc": expected.auc,
        "expected_auc_low": expected.low if expected.low == expected.low else None,
        "expected_auc_high": expected.high if expected.high == expected.high else None,
        "judged_by": "holdout" if found.folds is None else "cross-validation",
        **found.evaluation.flat(),
        "groups": [group.flat() for group in found.groups],
        "left_out": list(found.left_out),
        **({} if found.beside is None else {"beside": found.beside.flat()}),
        **({"grouped_by": facts["groups"]} if "groups" in facts else {}),
        **{name: facts[name] for name in ("independent_auc", "unconstrained_auc") if name in facts},
        "warnings": output.worries(found.expected, facts["warnings"], measure),
        "findings": output.findings(facts["warnings"]),
    }
