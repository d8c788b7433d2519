"""`vrspam publish`: table, figures and report from stored results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vrspam.cli import options, output
from vrspam.cli.experiments import print_written, require_all


def publish(
    directory: Annotated[
        Path, typer.Argument(help="A directory that `vrspam demo` or `vrspam reproduce` has written.")
    ],
    as_json: options.AsJson = False,
) -> None:
    """Write table, figures and report of the experiments again from stored results, without running anything.

    Example:  vrspam publish vrspam-results
    """
    require_all()
    from vrspam.paper.publish import publish as publish_results

    with output.warnings_as_lines():
        written = publish_results(directory)
    print_written(written, as_json)
