"""The application `vrspam`: its commands, and errors as one sentence.

A command is only a name and a line of help until it is used: `vrspam --help` and the completion of a shell need no
more. The line is the first one of the command's docstring, and a test compares both.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Annotated, Any

import typer
import typer.core
import typer.main

from vrspam import __version__
from vrspam._utils.extras import MissingExtra
from vrspam._utils.findings import text_of
from vrspam.cli.errors import INTERRUPTED, Misuse
from vrspam.cli.output import warn
from vrspam.cli.streams import drop
from vrspam.cli.typed import typed

# the option of each command that names what it writes
OUTPUTS = {
    "train": "--model",
    "predict": "--out",
    "evaluate": "--html",
    "compare": "--html or --picture",
    "explain": "--html or --picture",
}
SETTINGS: Any = {"rich_markup_mode": "rich", "add_completion": False, "pretty_exceptions_enable": False}

# the first line of each command's help, in the order of the list
LINES = {
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
        self.commands.update({name: typer.core.TyperCommand(name, help=line) for name, line in LINES.items()})

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Load the whole command, which is the function of its name, before it is run."""
        name = args[0] if args else ""
        if name in LINES and self.commands[name].callback is None:
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
    """Import what typer needs for a page of help; Markdown and tracebacks, which are slow to load, come later."""
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
    """Run the application, and bring out all that it has printed; return the exit code."""
    code = _run(arguments)
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the pipe has gone
        drop(sys.stdout)
        return code or 1
    except OSError as error:  # a full disk
        drop(sys.stdout)
        if code == 0:
            warn(f"vrspam: the standard output cannot be written: {error.strerror}")
        return code or 1
    return code


def _run(arguments: list[str]) -> int:
    """Run the application; an error is one sentence on the standard error stream, without a traceback."""
    debug = "--debug" in arguments  # wherever it stands
    arguments = [argument for argument in arguments if argument != "--debug"]
    if arguments[:1] == ["--version"]:
        typer.echo(f"vrspam {__version__}")
        return 0
    if not arguments or "--help" in arguments:
        load_light_help()
    try:
        return int(app(arguments, prog_name="vrspam", standalone_mode=False, obj=arguments) or 0)
    except typer.Exit as error:
        return error.exit_code
    except BrokenPipeError:  # the reader of the pipe has gone
        drop(sys.stdout)
        return 1
    except (KeyboardInterrupt, typer.Abort):
        warn("vrspam: stopped")
        return INTERRUPTED
    except Misuse as error:
        warn_of_misuse(error)
        return 2
    except Exception as error:
        if debug:
            raise
        warn(f"vrspam: {describe_error(error)}")
        return 1


def warn_of_misuse(error: Any) -> None:
    """Say what is wrong with the command line; without a command the help was shown, and there is nothing to say."""
    context = getattr(error, "ctx", None)
    command = getattr(context, "info_name", "")
    typed_option = getattr(error, "option_name", "")
    option = name_here(typed_option, command)
    message = str(error.format_message())
    if option is not None:
        message = f"No such option: {typed_option}. {command!r} calls it {option}."
    if message:
        warn(f"vrspam: {' '.join(message.split())}  (see {getattr(context, 'command_path', 'vrspam')} --help)")


def name_here(option: str, command: str) -> str | None:
    """What a command calls an option that other programs have by another name; None if it has no such option."""
    if option in ("--out", "--output", "-o"):
        return OUTPUTS.get(command)
    if option in ("--label", "--labels", "--outcome", "--y", "-y") and command in ("train", "theory"):
        return "--target"
    return None


def describe_error(error: Exception) -> str:
    """An error as one sentence, whatever bytes of a damaged file it quotes."""
    sentence = " ".join(text_of(error, typed).split())
    if isinstance(error, MemoryError):
        detail = f" ({sentence})" if sentence else ""
        return f"the memory is not enough{detail}: free some, leave out columns, or train with --streaming"
    if isinstance(error, ValueError | OSError | RuntimeError | MissingExtra):
        return sentence
    return f"unexpected {type(error).__name__}: {sentence} (--debug shows where)"
