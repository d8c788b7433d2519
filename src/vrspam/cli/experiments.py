"""`vrspam demo`, `vrspam reproduce`, `vrspam report`: the paper's experiments."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vrspam._utils.optional import require
from vrspam.cli.console import INTERRUPTED, AsJson, names, print_json, say, warn
from vrspam.cli.wording import in_options

if TYPE_CHECKING:
    from vrspam.experiments.protocol import Protocol


class Scaling(StrEnum):
    published = "published"
    standardised = "standardised"
    unit_rows = "unit-rows"


class Choice(StrEnum):
    exact = "exact"
    own = "own"


Out = Annotated[Path, typer.Option("--out", help="Where everything is written.")]
Jobs = Annotated[int | None, typer.Option("--jobs", min=1, help="Processes; all cores by default.")]


def register(app: typer.Typer) -> None:
    app.command("demo")(demo)
    app.command("reproduce")(reproduce)
    app.command("report")(report)


def demo(
    directory: Out = Path("vrspam-demo"),
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """All algorithms of the paper on two small sets that are always there: table, figures and report in a minute.

    Example:  vrspam demo --out /tmp/demo
    """
    _require_all()
    from vrspam.experiments.protocol import demo_protocol

    _run(demo_protocol(), directory, jobs, as_json, skip_missing=False)


def reproduce(
    sets: Annotated[
        str | None, typer.Option(help="Names, separated by commas; all rows of the paper's table by default.")
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="Random divisions into training and test part.")] = 20,
    directory: Out = Path("vrspam-results"),
    cv: Annotated[
        Choice, typer.Option(help="Who cross-validates the penalties: the exact solver, or each algorithm (slow).")
    ] = Choice.exact,
    scaling: Annotated[Scaling, typer.Option(help="What is done to the features.")] = Scaling.published,
    algorithms: Annotated[str | None, typer.Option(help="Names, separated by commas; all by default.")] = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Do the paper's experiments again: its table, its figures, one report.

    Can be stopped at any moment (Ctrl-C, kill, power cut): the same command goes on where it was.

    Example:  vrspam reproduce --sets diabetes,german --runs 20 --out results
    """
    _require_all()
    from vrspam.data import DataError
    from vrspam.experiments.protocol import paper_protocol

    chosen, wanted = names(sets), names(algorithms)
    try:
        protocol = paper_protocol(runs=runs, cv=cv.value, scaling=scaling.value, **({"sets": chosen} if chosen else {}))
        protocol = protocol.with_algorithms(wanted) if wanted else protocol
    except (DataError, ValueError) as error:
        raise typer.BadParameter(in_options(str(error))) from error
    _run(protocol, directory, jobs, as_json, skip_missing=chosen is None)


def report(
    directory: Annotated[
        Path, typer.Argument(help="What `vrspam demo` or `vrspam reproduce` has written.", show_default=False)
    ],
    as_json: AsJson = False,
) -> None:
    """Write table, figures and report again, from the stored rows alone.

    Example:  vrspam report vrspam-results
    """
    _require_all()
    from vrspam.experiments.publish import publish

    _print_written(publish(directory), as_json)


def _run(protocol: Protocol, directory: Path, jobs: int | None, as_json: bool, skip_missing: bool) -> None:
    if directory.exists() and not directory.is_dir():
        raise typer.BadParameter(f"{directory} is a file: give the name of a directory", param_hint="--out")
    from vrspam.cli.progress import duration, watching
    from vrspam.experiments.harness import run_experiment
    from vrspam.experiments.publish import publish

    start = time.monotonic()
    try:
        with watching() as watcher:
            done = run_experiment(protocol, directory, n_jobs=jobs, skip_missing=skip_missing, watcher=watcher)
    except KeyboardInterrupt:
        warn("vrspam: stopped; the same command goes on from here")
        raise typer.Exit(INTERRUPTED) from None
    written = publish(directory)
    if not as_json:
        again = f", {done.skipped} were there already" if done.skipped else ""
        say(f"{done.done} runs in {duration(time.monotonic() - start)}{again}")
    _print_written(written, as_json)
    if done.failed:
        warn(f"vrspam: {len(done.failed)} runs failed; the report says which, the same command tries them again")
        raise typer.Exit(1)


def _print_written(written: dict[str, list[Path]], as_json: bool) -> None:
    if as_json:
        print_json({kind: [str(path) for path in paths] for kind, paths in written.items()})
        return
    for kind, paths in written.items():
        for path in paths:
            if path.suffix != ".svg":
                say(f"{kind:8} {path}")


def _require_all() -> None:
    require("data", "pyarrow")
    require("plots", "matplotlib")
