"""`vrspam theory`: the paper's constants for a file."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from vrspam._utils.messages import require
from vrspam.cli import options
from vrspam.cli.options import READING, err, print_json, say, warnings_as_lines, with_options
from vrspam.tool.plan import PANELS, positive_number, refuse, share

COLUMNS = ("target", "positive", "drop", "include", "categorical", "max_categories")


@with_options(*COLUMNS, *READING, "skip_errors", panels=PANELS)
def theory(
    data: options.Data,
    l2: Annotated[
        float | None, typer.Option(help="The penalty, the paper's β; by default that of AUCClassifier.")
    ] = None,
    theta: Annotated[float, typer.Option(help="Step size, as a fraction of the largest proven one.")] = 0.5,
    epsilon: Annotated[float, typer.Option(help="Accuracy to reach, relative to the start.")] = 1e-6,
    raw: Annotated[bool, typer.Option("--raw", help="Do not standardise the features.", metavar="")] = False,
    as_json: options.AsJson = False,
    **given: Any,
) -> None:
    """Compute the constants and rates of the paper for a file: as printed, sharpened, and from the rows themselves.

    Example:  vrspam theory patients.csv --target sick --theta 0.5
    """
    require("data", "pyarrow")
    with options.misuse():
        for name, value, rule in (("theta", theta, share), ("epsilon", epsilon, share), ("l2", l2, positive_number)):
            refuse(name, value, rule(value))
    opening = options.read_options(given)
    if opening["target"] is None:
        options.ask_for_target(data, {name: opening[name] for name in READING})
    from vrspam.tool.data_checks import constants

    with warnings_as_lines():
        table = constants(data, l2=l2, theta=theta, epsilon=epsilon, raw=raw, progress=err.is_terminal, **opening)
    if as_json:
        print_json({name: None if value != value else value for name, value in table.items()})
    else:
        say(str(table))
