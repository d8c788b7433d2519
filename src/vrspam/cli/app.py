"""The application `vrspam`: the list of its commands.

A command is only a name and a line of help until it is used: `vrspam --help` and the completion of a shell need no
more. docs/add_a_command.md shows how to add one.
"""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
import typer.core
import typer.main

SETTINGS: Any = {"rich_markup_mode": "rich", "add_completion": False, "pretty_exceptions_enable": False}

# Each command is the function of its name in the file of its name in `commands/`; the line is the first one of its
# docstring. Help lists them in this order.
COMMANDS = {
    "check": "Look at a table for what fools people: repeated rows, leaks, missing labels, codes, drift.",
    "report": "Make one page of a table: what predicts the target, how well, and which threshold to take.",
    "rows": "Tell what more rows would bring: the AUC of parts of a table, extrapolated to four times its rows.",
    "train": "Train a model on a file and write it to a model file.",
    "evaluate": "Measure how good a model is on labelled rows: AUC with its interval, curves, thresholds, lift, "
    "calibration.",
    "compare": "Test whether one model ranks the same rows better than another: DeLong's paired test.",
    "predict": "Score every row of a file, in the order of the file; with a probability if the model is calibrated.",
    "explain": "Show what a model looks at: the curve of each column, or coefficients on the original scale.",
    "export": "Write a model for other programs: an ONNX graph, plain Python, or SQL.",
    "theory": "Compute the constants and rates of the paper for a file: as printed, sharpened, and from the "
    "rows themselves.",
    "demo": "Show what vrspam does: a table goes in and a report comes out; then all algorithms of the "
    "paper on two sets.",
    "reproduce": "Repeat the paper's experiments: its table, its figures, one report.",
    "publish": "Write table, figures and report of the experiments again from stored results, without running "
    "anything.",
    "datasets": "List the data sets known by name, with their size and where each would be read from.",
}


class LazyCommands(typer.core.TyperGroup):
    """A group whose commands are a name and a line each, until one of them is run or asked for its own help."""

    def __init__(self, **settings: Any):
        super().__init__(**settings)
        self.commands.update({name: typer.core.TyperCommand(name, help=line) for name, line in COMMANDS.items()})

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Load the whole command, which is the function of its name, before it is run."""
        name = args[0] if args else ""
        if name in COMMANDS and self.commands[name].callback is None:
            alone = typer.Typer(**SETTINGS)
            alone.command(name)(getattr(import_module(f"vrspam.cli.commands.{name}"), name))
            self.commands[name] = typer.main.get_command(alone)
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="vrspam",
    cls=LazyCommands,
    no_args_is_help=True,
    **SETTINGS,
    help="Find out what predicts a yes or no in your table, how well, and which rows come first.\n\n"
    "Try:  vrspam demo\n\n"
    "Your own file:  vrspam report patients.csv --target sick\n\n"
    "A model to keep:  vrspam train patients.csv --target sick, then evaluate, predict, explain",
)


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", metavar="")] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error; may be given anywhere.", metavar="")
    ] = False,
) -> None:
    """The options of all commands; `run` handles both before it looks for a command."""
