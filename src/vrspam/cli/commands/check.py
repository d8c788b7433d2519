"""`vrspam check`: what is wrong with a table, and what mends it."""

from __future__ import annotations

import shlex
from typing import Any

import typer

from vrspam._utils.extras import require
from vrspam._utils.findings import Fix, text_of
from vrspam.cli import errors, options, output
from vrspam.cli.typed import typed
from vrspam.tool.options import PANELS
from vrspam.tool.plan import OPTIONS, CheckOptions, TrainPlan, options_of


@options.with_options(*options_of("check", CheckOptions), panels=PANELS)
def check(data: options.Data, as_json: options.AsJson = False, **given: Any) -> None:
    """Look at a table for what fools people: repeated rows, leaks, missing labels, codes, drift.

    Each finding has a severity, a code, a sentence and what mends it; docs/doctor.md explains the codes.
    The exit code is 0 if nothing is severe, 1 if something is, and 2 if the table cannot be read.

    Example:  vrspam check patients.csv --target sick

    Example:  vrspam check visits.xlsx --target readmitted --ignore order,missing-values
    """
    require("data", "pyarrow")
    plan = options.plan_of(data, given)
    from vrspam.tool.checking import check as look

    try:
        with output.warnings_as_lines():
            findings = look(data, plan=plan)
    except (ValueError, OSError) as error:  # 1 says that something is severe
        raise errors.Misuse(text_of(error, typed)) from error

    severe = any(finding.severity == "severe" for finding in findings)
    if as_json:
        output.print_json({"findings": output.findings(findings), "severe": severe})
    elif not findings:
        output.say("nothing was found that might fool you")
    else:
        from vrspam.cli.terminal import line_of
        from vrspam.report.blocks import all_noticed

        for finding in findings:
            [noticed] = all_noticed([finding], typed)
            output.tell(line_of(noticed))
            if finding.fix is not None and finding.severity != "note":
                output.tell(command_with(plan, data, finding.fix), output.INDENT)
    raise typer.Exit(int(severe))


def command_with(plan: TrainPlan, data: str, fix: Fix) -> str:
    """The command that makes the page of a table with a fix, beside the options that were given."""
    values = {}
    for name in options_of("check", CheckOptions):
        value = getattr(plan, name)
        if value != OPTIONS[name].default:
            values[name] = value
    if fix.option == "time":  # which cannot be combined with groups
        values.pop("groups", None)
    if isinstance(fix.value, list | tuple):
        values[fix.option] = [*values.get(fix.option, ()), *fix.value]
    else:
        values[fix.option] = fix.value
    flags = [typed(Fix(name, value)) for name, value in values.items()]
    return " ".join([shlex.join(["vrspam", "report", data]), *flags])
