"""`vrspam report`: from a table to one page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vrspam._utils.messages import require
from vrspam.cli import options
from vrspam.cli.options import in_options, print_json, say, warn, warnings_as_lines, with_options
from vrspam.cli.train import write_report
from vrspam.tool.plan import PAGE, PANELS, ReportPlan, options_of

if TYPE_CHECKING:
    from vrspam.tool.report import Report


@with_options(*options_of(ReportPlan, "report"), panels=PANELS)
def report(
    context: typer.Context,
    data: options.Data,
    html: Annotated[Path, typer.Option("--html", help="The page to write.", rich_help_panel=PAGE)] = Path(
        "report.html"
    ),
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
    if given["target"] is None and Path(data).is_dir():
        from vrspam.cli.paper import publish

        publish(Path(data), as_json)
        return warn(f"note: results of experiments are now published by  vrspam publish {data}")
    require("data", "pyarrow")
    options.check_output("--html", html, data)
    plan = options.plan_of(data, given)
    from vrspam.tool.report import make_report

    with warnings_as_lines():
        found = make_report(data, plan=plan)
        write_report(found, html, data, context)
    if as_json:
        print_json(_numbers(found, html))
    else:
        _describe(found, html)


def _numbers(found: Report, html: Path) -> dict[str, object]:
    """All numbers of the page under flat keys, for scripts."""
    expected, groups = found.expected, []
    for group in found.groups:
        plain = {name: value for name, value in vars(group).items() if name not in ("auc", "worse")}
        interval = {} if group.auc is None else {name: getattr(group.auc, name) for name in ("auc", "low", "high")}
        groups.append({**plain, **interval})
    return {
        "page": str(html),
        "expected_auc": expected.auc,
        "expected_auc_low": expected.low,
        "expected_auc_high": expected.high,
        "judged_by": "holdout" if found.folds is None else "cross-validation",
        **found.evaluation.flat(),
        "groups": groups,
        "left_out": list(found.left_out),
        "warnings": _warnings(found),
    }


def _warnings(found: Report) -> list[str]:
    """What to worry about, in options."""
    from vrspam.report.words import doubt_of

    notes = [in_options(note) for note in found.model.training["warnings"]]
    return [*doubt_of(found.expected.low, found.expected.high), *notes]


def _describe(found: Report, html: Path) -> None:
    expected, evaluation = found.expected, found.evaluation
    share = evaluation.positives / evaluation.n
    how = "kept from the training" if found.folds is None else f"{found.folds} folds"
    say(f"AUC      {expected.auc:.4f}, 95 % interval {expected.low:.4f} to {expected.high:.4f}")
    say(f"         {expected.remark}")
    say(f"scored   {evaluation.n:,} rows ({how}), of which {evaluation.positives:,} positive ({share:.2%})")
    for group in found.groups:
        if group.ranked_differently or group.predicted_wrongly:
            say(f"group    {group.column} = {group.name} differs from the other rows by more than noise")
    for note in _warnings(found):
        warn(f"warning: {note}")
    say(f"page     {html}")
