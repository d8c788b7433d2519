"""`vrspam check`: what fools people in a table, before anything is trained on it."""

from __future__ import annotations

import shlex
from typing import Any

import typer

from vrspam._utils.messages import Parameter, require
from vrspam.cli import app
from vrspam.tool.plan import CHECKED, PANELS, ReportPlan


@app.with_options(*CHECKED, panels=PANELS)
def check(data: app.Data, as_json: app.AsJson = False, **given: Any) -> None:
    """Look at a table for what fools people: repeated rows, leaks, missing labels, codes, drift.

    Each finding has a severity, a code, a sentence and what mends it; docs/doctor.md explains the codes.
    The exit code is 0 if nothing is severe, 1 if something is, and 2 if the table cannot be read.

    Example:  vrspam check patients.csv --target sick

    Example:  vrspam check visits.xlsx --target readmitted --ignore order,missing-values
    """
    require("data", "pyarrow")
    plan = app.plan_of(data, given)
    from vrspam.tool.doctor import check as look

    try:
        with app.warnings_as_lines():
            found = look(data, plan=plan)
    except (ValueError, OSError) as error:  # 1 says that something is severe
        raise app.Misuse(app.in_options(error)) from error
    severe = any(one.severity == "severe" for one in found)
    if as_json:
        app.print_json({"findings": app.findings(found), "severe": severe})
    else:
        if not found:
            app.say("nothing was found that might fool you")
        for one in found:
            app.tell(app.worry_line(one))
            if one.fix is not None and one.severity != "note":
                app.tell(_command(data, plan, one.fix), app.INDENT)
    raise typer.Exit(int(severe))


def _command(data: str, plan: ReportPlan, fix: Parameter) -> str:
    """The command that makes the report with what mends a finding, and with all options that were given."""
    asked = {name: getattr(plan, name) for name in CHECKED if getattr(plan, name) != getattr(ReportPlan(), name)}
    several = isinstance(fix.value, list | tuple)
    asked[fix.name] = [*asked.get(fix.name, ()), *fix.value] if several else fix.value
    options = [app.as_option(Parameter(*one)) for one in asked.items()]
    return " ".join([shlex.join(["vrspam", "report", data]), *options])
