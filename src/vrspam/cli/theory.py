"""`vrspam theory`: the paper's constants for a file."""

from __future__ import annotations

from typing import Annotated

import typer

from vrspam._utils.optional import require
from vrspam.cli import files
from vrspam.cli.common import AsJson, print_json, say


def register(app: typer.Typer) -> None:
    app.command("theory")(theory)


def theory(
    data: files.Data,
    target: files.Target = None,
    positive: files.Positive = None,
    l2: Annotated[
        float | None, typer.Option(help="The penalty, the paper's β; that of AUCClassifier by default.")
    ] = None,
    theta: Annotated[float, typer.Option(help="Step size as a fraction of the largest proven one.")] = 0.5,
    epsilon: Annotated[float, typer.Option(help="Wanted accuracy, relative to the start.")] = 1e-6,
    raw: Annotated[bool, typer.Option("--raw", help="Take the features as they are, not standardised.")] = False,
    drop: files.Drop = None,
    include: files.Include = None,
    categorical: files.Categorical = None,
    max_categories: files.MaxCategories = 1000,
    format: files.FileFormat = None,
    delimiter: files.Delimiter = None,
    zero_based: files.ZeroBased = None,
    skip_errors: files.SkipErrors = False,
    as_json: AsJson = False,
) -> None:
    """The constants and rates of the paper for a file: as printed, sharpened, and from the rows themselves.

    Example:  vrspam theory patients.csv --target sick --theta 0.5
    """
    require("data", "pyarrow")
    files.check_share("--theta", theta)
    files.check_share("--epsilon", epsilon)
    if l2 is not None and not 0.0 < l2 < float("inf"):
        raise typer.BadParameter(f"{l2:g} is no positive number", param_hint="--l2")
    chosen = files.columns(drop, include, categorical)
    read = files.reading(format, delimiter, zero_based)
    files.check_target(data, target, read)
    from vrspam.tool.constants import constants

    with files.plain_words():
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
            progress=files.on_terminal(),
            **chosen,
            **read,
        )
    if as_json:
        print_json({name: None if value != value else value for name, value in table.items()})
    else:
        say(str(table))
