"""The application: its commands, its global options, and errors as one sentence.

A command is a name and a line until it is asked for: the list of `vrspam --help`, and what a shell completes, need no
more. The lines are the first ones of the commands' own docstrings, and a test compares both.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import Annotated, Any

import typer
import typer.core
import typer.main

from vrspam import __version__

# the error of click for misuse; typer has it from click, or from its own copy of click
Misuse: Any = next(cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "ClickException")
SETTINGS: Any = {"rich_markup_mode": "rich", "add_completion": False, "pretty_exceptions_enable": False}

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
MODULES = {"compare": "evaluate", "report": "train", "export": "predict"} | dict.fromkeys(
    ("theory", "demo", "reproduce", "publish", "datasets"), "paper"
)


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
        """Put whole commands in the place of their lines; each is the function of its name."""
        for name in names:
            if name in LINES and self.commands[name].callback is None:
                alone = typer.Typer(**SETTINGS)
                alone.command(name)(getattr(import_module(f"vrspam.cli.{MODULES.get(name, name)}"), name))
                self.commands[name] = typer.main.get_command(alone)


app = typer.Typer(
    name="vrspam",
    cls=LazyCommands,
    no_args_is_help=True,
    **SETTINGS,
    help="Linear scorers that maximise the area under the ROC curve.\n\n"
    "Try:  vrspam demo\n\n"
    "Your own file:  vrspam report patients.csv --target sick\n\n"
    "A model to keep:  vrspam train patients.csv --target sick, then evaluate, predict, explain",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"vrspam {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_version, metavar="")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error; may be given anywhere.", metavar="")
    ] = False,
) -> None:
    pass


def _misuse(error: Any) -> str:
    """What was wrong with the arguments, with the option that was meant where that is known."""
    # what other programs call the options of these commands
    outputs, labels = ("--out", "--output", "-o"), ("--label", "--labels", "--outcome", "--y", "-y")
    known = {
        "train": dict.fromkeys(outputs, "--model") | dict.fromkeys(labels, "--target"),
        "theory": dict.fromkeys(labels, "--target"),
        "predict": dict.fromkeys(outputs, "--out"),
        "evaluate": dict.fromkeys(outputs, "--html"),
        "compare": dict.fromkeys(outputs, "--html or --picture"),
        "explain": dict.fromkeys(outputs, "--html or --picture"),
    }
    command, given = getattr(getattr(error, "ctx", None), "info_name", ""), getattr(error, "option_name", "")
    if meant := known.get(command, {}).get(given):
        return f"No such option: {given}. {command!r} calls it {meant}."
    return str(error.format_message())


class _Later(type):
    """The type of a class that stands in for another one until it is called, or asked for an attribute."""

    module: str

    def _real(cls) -> Any:
        return getattr(import_module(cls.module), cls.__name__)

    def __call__(cls, *arguments: Any, **named: Any) -> Any:
        return cls._real()(*arguments, **named)

    def __getattr__(cls, attribute: str) -> Any:
        return getattr(cls._real(), attribute)


def load_light_help() -> None:
    """Import what typer needs for a page of help, without Markdown and tracebacks, which take longer than the page.

    Our pages show neither. What stands in for them loads the real ones when another typer application uses it.
    """
    if "typer.rich_utils" in sys.modules:
        return
    standing_in = {"rich.markdown": "Markdown", "rich.traceback": "Traceback"}
    standing_in = {name: cls for name, cls in standing_in.items() if name not in sys.modules}
    for name, cls in standing_in.items():
        module = ModuleType(name)
        setattr(module, cls, _Later(cls, (), {"module": name}))
        sys.modules[name] = module
    try:
        import_module("typer.rich_utils")
    finally:
        for name in standing_in:
            del sys.modules[name]


def run(arguments: list[str]) -> int:
    """Run the application; an error is one sentence on the standard error stream, without a traceback."""
    debug = "--debug" in arguments  # wherever it stands
    arguments = [argument for argument in arguments if argument != "--debug"]
    if not arguments or "--help" in arguments:
        load_light_help()
    try:
        return int(app(arguments, prog_name="vrspam", standalone_mode=False) or 0)
    except typer.Exit as error:
        return error.exit_code
    except BrokenPipeError:  # the reader of the pipe has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (Exception, KeyboardInterrupt) as error:
        return _report(error, debug)


def _report(error: BaseException, debug: bool) -> int:
    """Say what went wrong; return the exit code."""
    from vrspam._utils.messages import MissingExtra
    from vrspam.cli.options import INTERRUPTED, in_options, warn  # here, because the help does not need them

    if isinstance(error, Misuse):
        command = getattr(getattr(error, "ctx", None), "command_path", "vrspam")
        if message := _misuse(error):  # without a command the help was shown, and there is no message
            warn(f"vrspam: {' '.join(message.split())}  (see {command} --help)")
        return 2
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        warn("vrspam: stopped")
        return INTERRUPTED
    if debug:
        raise error
    unexpected = not isinstance(error, (ValueError, OSError, RuntimeError, MissingExtra))
    kind = f"unexpected {type(error).__name__}: " if unexpected else ""
    hint = " (--debug shows where)" if unexpected else ""
    sentence = " ".join(in_options(error).split())  # one line, whatever bytes of a damaged file it quotes
    warn(f"vrspam: {kind}{sentence}{hint}")
    return 1
