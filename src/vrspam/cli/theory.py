"""`vrspam theory`: the paper's constants for a file."""

from __future__ import annotations

from typing import Annotated

import typer

from vrspam._utils.messages import require
from vrspam.cli import options
from vrspam.cli.options import err, print_json, say, warnings_as_lines


def register(app: typer.Typer) -> None:
    app.command("theory")(theory)


def theory(
    data: options.Data,
    target: options.Target = None,
    positive: options.Positive = None,
    l2: Annotated[
        float | None, typer.Option(help="The penalty, the paper's β; by default that of AUCClassifier.")
    ] = None,
    theta: Annotated[float, typer.Option(help="Step size, as a fraction of the largest proven one.")] = 0.5,
    epsilon: Annotated[float, typer.Option(help="Accuracy to reach, relative to the start.")] = 1e-6,
    raw: Annotated[bool, typer.Option("--raw", help="Do not standardise the features.")] = False,
    drop: options.Drop = None,
    include: options.Include = None,
    categorical: options.Categorical = None,
    max_categories: options.MaxCategories = 1000,
    format: options.FileFormat = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    zero_based: options.ZeroBased = None,
    skip_errors: options.SkipErrors = False,
    as_json: options.AsJson = False,
) -> None:
    """Compute the constants and rates of the paper for a file: as printed, sharpened, and from the rows themselves.

    Example:  vrspam theory patients.csv --target sick --theta 0.5
    """
    require("data", "pyarrow")
    options.check_share("--theta", theta)
    options.check_share("--epsilon", epsilon)
    options.check_positive("--l2", l2)
    read = {"format": format, "delimiter": delimiter, "encoding": encoding, "zero_based": zero_based}
    if target is None:
        options.ask_for_target(data, read)
    from vrspam.tool.data_checks import constants

    with warnings_as_lines():
        table = constants(
            data,
            target,
            positive,
            l2=l2,
            theta=theta,
            epsilon=epsilon,
            raw=raw,
            max_categories=max_categories,
            skip_errors=skip_errors,
            progress=err.is_terminal,
            drop=drop or (),
            include=include or (),
            categorical=categorical or (),
            **read,
        )
    if as_json:
        print_json({name: None if value != value else value for name, value in table.items()})
    else:
        say(str(table))
