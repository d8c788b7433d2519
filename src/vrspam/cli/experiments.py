"""`vrspam reproduce` and `publish`: the paper's experiments; `vrspam datasets`: their data."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from vrspam._utils.messages import require
from vrspam.cli.options import INTERRUPTED, AsJson, in_options, out, print_json, say, warn

if TYPE_CHECKING:
    from vrspam.experiments.protocol import Protocol


class ScalingName(StrEnum):
    published = "published"
    standardised = "standardised"
    standardized = "standardized"  # the same, see `usual_spelling`
    unit_rows = "unit-rows"


class CrossValidation(StrEnum):
    exact = "exact"
    own = "own"


Out = Annotated[Path, typer.Option("--out", help="The directory to write everything to.")]
Jobs = Annotated[int | None, typer.Option("--jobs", min=1, help="Number of processes; by default one for each core.")]


def reproduce(
    sets: Annotated[
        str | None, typer.Option(help="Data sets, separated by commas; by default all in the paper's table.")
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="Random splits into a training and a test part.")] = 20,
    directory: Out = Path("vrspam-results"),
    cv: Annotated[
        CrossValidation,
        typer.Option(help="Which solver the cross-validation uses: the exact one, or each algorithm its own (slow)."),
    ] = CrossValidation.exact,
    scaling: Annotated[ScalingName, typer.Option(help="How the features are scaled.")] = ScalingName.published,
    algorithms: Annotated[str | None, typer.Option(help="Algorithms, separated by commas; by default all.")] = None,
    jobs: Jobs = None,
    as_json: AsJson = False,
) -> None:
    """Repeat the paper's experiments: its table, its figures, one report.

    You can stop it at any moment (Ctrl-C, kill, power cut): the same command continues where it stopped.

    Example:  vrspam reproduce --sets diabetes,german --runs 20 --out results
    """
    _require_all()
    from vrspam.experiments.protocol import paper_protocol

    chosen, wanted = _names(sets), _names(algorithms)
    try:
        protocol = paper_protocol(runs=runs, cv=cv.value, scaling=scaling.value, **({"sets": chosen} if chosen else {}))
        protocol = protocol.with_algorithms(wanted) if wanted else protocol
    except ValueError as error:
        raise typer.BadParameter(in_options(error)) from error
    _run(protocol, directory, jobs, as_json, skip_missing=chosen is None)


def publish(
    directory: Annotated[
        Path,
        typer.Argument(help="A directory that `vrspam demo` or `vrspam reproduce` has written.", show_default=False),
    ],
    as_json: AsJson = False,
) -> None:
    """Write table, figures and report of the experiments again from stored results, without running anything.

    Example:  vrspam publish vrspam-results
    """
    _require_all()
    from vrspam.experiments.publish import publish as publish_results

    _print_written(publish_results(directory), as_json)


def datasets(as_json: AsJson = False) -> None:
    """List the data sets known by name, with their size and where each would be read from.

    A set is read from the directory that VRSPAM_DATA names, else from the user's cache, else downloaded on first use.

    Example:  vrspam datasets --json
    """
    from vrspam.data import available

    rows = available()
    if as_json:
        print_json(rows)
        return
    table = Table(box=None, pad_edge=False)
    for name in ("name", "rows", "features", "positive", "paper", "from", "what it is"):
        table.add_column(
            name, justify="right" if name in ("rows", "features", "positive") else "left", no_wrap=name != "what it is"
        )
    for row in rows:
        share = f"{row['positives'] / row['n']:.1%}" if row["positives"] is not None else ""
        paper = "yes" if row["paper"] else ""
        table.add_row(row["name"], f"{row['n']:,}", f"{row['d']:,}", share, paper, row["where"], row["title"])
    out.print(table)


def _run(protocol: Protocol, directory: Path, jobs: int | None, as_json: bool, skip_missing: bool) -> None:
    if directory.exists() and not directory.is_dir():
        raise typer.BadParameter(f"{directory} is a file: give the name of a directory", param_hint="--out")
    from vrspam.cli.watching import duration, watching
    from vrspam.experiments.publish import publish
    from vrspam.experiments.run import run_experiment

    start = time.monotonic()
    try:
        with watching() as watcher:
            done = run_experiment(protocol, directory, n_jobs=jobs, skip_missing=skip_missing, watcher=watcher)
    except KeyboardInterrupt:
        warn("vrspam: stopped; the same command goes on from here")
        raise typer.Exit(INTERRUPTED) from None
    written = publish(directory)
    if not as_json:
        again = f", {done.skipped} had been done before" if done.skipped else ""
        say(f"{done.done} runs in {duration(time.monotonic() - start)}{again}")
    _print_written(written, as_json)
    if done.failed:
        warn(f"vrspam: {len(done.failed)} runs failed: the report lists them, and the same command tries them again")
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


def _names(value: str | None) -> tuple[str, ...] | None:
    """A comma-separated option as a tuple.

    >>> _names("diabetes, german")
    ('diabetes', 'german')
    """
    if value is None:
        return None
    found = tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))
    if not found:
        raise typer.BadParameter("give at least one name")
    return found
