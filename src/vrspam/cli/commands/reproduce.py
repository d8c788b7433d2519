"""`vrspam reproduce`: the experiments of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from vrspam._utils.findings import text_of
from vrspam.cli import errors, options, output
from vrspam.cli.experiments import Jobs, Out, print_written, require_all, run_protocol
from vrspam.cli.typed import typed
from vrspam.tool.typed_values import read_names

Scaling = Literal["published", "standardised", "standardized", "unit-rows"]  # two are the same, see `usual_spelling`


def reproduce(
    sets: Annotated[
        str | None, typer.Option(help="Data sets, separated by commas; by default all in the paper's table.")
    ] = None,
    runs: Annotated[
        int, typer.Option(min=1, help="Random splits into a training and a test part.", metavar="<int>")
    ] = 20,
    directory: Out = Path("vrspam-results"),
    cv: Annotated[
        Literal["exact", "own"],
        typer.Option(help="Which solver the cross-validation uses: the exact one, or each algorithm its own (slow)."),
    ] = "exact",
    scaling: Annotated[
        Scaling,
        typer.Option(help="The features: published (as they are), standardised or unit-rows.", metavar="<name>"),
    ] = "published",
    algorithms: Annotated[str | None, typer.Option(help="Algorithms, separated by commas; by default all.")] = None,
    jobs: Jobs = None,
    as_json: options.AsJson = False,
) -> None:
    """Repeat the paper's experiments: its table, its figures, one report.

    You can stop it at any moment (Ctrl-C, kill, power cut): the same command continues where it stopped.

    Example:  vrspam reproduce --sets diabetes,german --runs 20 --out results
    """
    require_all(directory)
    from vrspam.paper.protocol import paper_protocol

    protocol_options: dict[str, Any] = {"runs": runs, "cv": cv, "scaling": scaling}
    with errors.misuse():
        if sets is not None:
            protocol_options["sets"] = different_names(sets)
        names = None if algorithms is None else different_names(algorithms)
    try:
        protocol = paper_protocol(**protocol_options)
        if names is not None:
            protocol = protocol.with_algorithms(names)
    except ValueError as error:
        raise typer.BadParameter(text_of(error, typed)) from error

    done, words, written = run_protocol(protocol, directory, jobs, skip_missing=sets is None)
    if not as_json:
        output.say(words)
    print_written(written, as_json, failed=done.failed)


def different_names(text: str) -> tuple[str, ...]:
    """Names separated by commas, each once."""
    return tuple(dict.fromkeys(name.strip() for name in read_names(text)))
