"""Processor time of the command line: help and a misuse, with and without what makes it light, and by cyclopts.

`python -m benchmarks.command_line` prints a table in milliseconds, the least of many runs. The last row is the list of
commands and `train` with the options of its plan, by cyclopts in place of typer; it needs `pip install cyclopts`.
"""

from __future__ import annotations

import inspect
import resource
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Annotated, Any, Literal, get_origin

COMMANDS = {
    "--help": ["--help"],
    "train --help": ["train", "--help"],
    "a misuse": ["train", "x.csv", "--targte", "sick"],
}
REPEATS = 15


def run_ours(arguments: list[str], without: str) -> int:
    """The command line, without one of the things that make it light."""
    import gc

    import vrspam.cli

    if without == "fewer collections":
        gc.set_threshold = lambda *_: None
        gc.freeze = lambda: None
    if without == "light help":
        import vrspam.cli.run

        vrspam.cli.run.load_light_help = lambda: None
    sys.argv = ["vrspam", *arguments]
    return vrspam.cli.main()


def run_cyclopts(arguments: list[str]) -> int:
    """The list of commands, and `train` with the options of its plan, by cyclopts."""
    import gc

    gc.set_threshold(100_000, 50, 50)  # as ours
    from cyclopts import App, CycloptsError

    from vrspam.cli.app import COMMANDS as LINES

    app = App(name="vrspam", result_action="return_value")
    for name, line in LINES.items():
        if arguments[0] == name:
            with_options_of_plan()
            app.command(train_of_plan, name=name)
        else:
            app.command(f"vrspam.cli.commands.{name}:{name}", name=name, help=line)  # imported when it is asked for
    try:
        app(arguments, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return 2
    return 0


def train_of_plan(*_: Any, **__: Any) -> None:
    """Train a model on a file and write it to a model file."""


def with_options_of_plan() -> None:
    """Give `train_of_plan` the options of the plan, as cyclopts takes them."""
    from cyclopts import Group, Parameter

    from vrspam.tool.options import PANELS
    from vrspam.tool.plan import OPTIONS, options_of

    groups = {panel: Group(panel, sort_key=place) for place, panel in enumerate(PANELS)}
    plain = (bool, bool | None, int, float, int | None, float | None)
    parameters = [inspect.Parameter("data", inspect.Parameter.POSITIONAL_ONLY, annotation=str)]
    for name in options_of("train"):
        option = OPTIONS[name]
        is_plain = option.type in plain or get_origin(option.type) is Literal
        shown = Parameter(
            name=[flag.partition("/")[0] for flag in option.flags],
            negative=option.flags[0].partition("/")[2] or (),
            help=f"{option.help} {option.kind.how}".strip(),
            group=groups[str(option.panel)],
            allow_leading_hyphen=True,
        )
        kind: Any = Annotated[option.type if is_plain else str | None, shown]
        default = None if isinstance(option.default, tuple) else option.default
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind))
    train_of_plan.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    train_of_plan.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}


def processor_time(program: Sequence[str]) -> float:
    """The least processor time of some runs, in milliseconds."""
    times = []
    for _ in range(REPEATS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return 1000.0 * min(times)


def main() -> None:
    print(f"Python alone: {processor_time(['-c', 'pass']):.0f} ms")
    print(f"imports of typer and rich: {processor_time(['-c', 'import typer, rich.console']):.0f} ms")
    print(f"and of pydantic: {processor_time(['-c', 'import typer, rich.console, pydantic']):.0f} ms\n")
    print(f"| | {' | '.join(COMMANDS)} |")
    print("|---" * (1 + len(COMMANDS)) + "|")
    variants = ["as it is", "without fewer collections", "without light help"]
    if find_spec("cyclopts") is not None:
        variants.append("cyclopts")
    for variant in variants:
        times = [processor_time(["-m", __spec__.name, variant, *arguments]) for arguments in COMMANDS.values()]
        print(f"| {variant} | {' | '.join(f'{time:.0f}' for time in times)} |")


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    elif sys.argv[1] == "cyclopts":
        sys.exit(run_cyclopts(sys.argv[2:]))
    else:
        sys.exit(run_ours(sys.argv[2:], sys.argv[1].removeprefix("without ")))
