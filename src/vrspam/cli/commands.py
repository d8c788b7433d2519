"""The commands by name: each has its line here, and its module is imported when it is asked for.

The list of `vrspam --help`, and what a shell completes, need the lines alone; they are the first ones of the commands'
own docstrings, and a test compares both.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
import typer.core
import typer.main

from vrspam._utils.collector import without_collector

MARKUP: Any = "rich"

# the first line of each command's help, in the order of the list
LINES = {
    "report": "Make one page of a table: what predicts the target, how well, and which threshold to take.",
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
# commands that share a module; of the others it has the command's name
PAPER = ("theory", "demo", "reproduce", "publish", "datasets")
MODULES = {"compare": "evaluate"} | dict.fromkeys(PAPER, "paper")


class LazyCommands(typer.core.TyperGroup):
    """A group whose commands are a name and a line each, until one of them is run or asked for its own help."""

    def __init__(self, **settings: Any):
        super().__init__(**settings)
        self.commands.update({name: typer.core.TyperCommand(name, help=line) for name, line in LINES.items()})

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args:
            self.load(args[0])
        return super().resolve_command(ctx, args)

    def load(self, *names: str) -> None:
        """Put whole commands, and those that share their modules, in the place of their lines."""
        for name in names:
            if name in LINES and self.commands[name].callback is None:
                self.commands.update(_commands_of(MODULES.get(name, name)))


def _commands_of(module: str) -> dict[str, Any]:
    app = typer.Typer(rich_markup_mode=MARKUP, add_completion=False, pretty_exceptions_enable=False)
    app.callback()(lambda: None)  # without it, a single command would not be in a group
    with without_collector():
        import_module(f"vrspam.cli.{module}").register(app)
        group: Any = typer.main.get_command(app)
    return dict(group.commands)
