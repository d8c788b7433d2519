"""The application: its global options, and errors as one sentence."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from typing import Annotated, Any

import typer

from vrspam import __version__
from vrspam._utils.collector import without_collector
from vrspam.cli.commands import MARKUP, LazyCommands
from vrspam.cli.light_help import load_light_help

# the error of click for misuse; typer has it from click, or from its own copy of click
Misuse: Any = next(cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "ClickException")

app = typer.Typer(
    name="vrspam",
    cls=LazyCommands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=MARKUP,
    pretty_exceptions_enable=False,
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
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_version)
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error; may be given anywhere.")
    ] = False,
) -> None:
    pass


# What other programs call the options of these commands.
OUTPUTS, LABELS = ("--out", "--output", "-o"), ("--label", "--labels", "--outcome", "--y", "-y")
MEANT = {
    "train": dict.fromkeys(OUTPUTS, "--model") | dict.fromkeys(LABELS, "--target"),
    "theory": dict.fromkeys(LABELS, "--target"),
    "predict": dict.fromkeys(OUTPUTS, "--out"),
    "evaluate": dict.fromkeys(OUTPUTS, "--html"),
    "compare": dict.fromkeys(OUTPUTS, "--html or --picture"),
    "explain": dict.fromkeys(OUTPUTS, "--html or --picture"),
}


def _misuse(error: Any) -> str:
    """What was wrong with the arguments, with the option that was meant where that is known."""
    command, given = getattr(getattr(error, "ctx", None), "info_name", ""), getattr(error, "option_name", "")
    if meant := MEANT.get(command, {}).get(given):
        return f"No such option: {given}. {command!r} calls it {meant}."
    return str(error.format_message())


def run(arguments: list[str]) -> int:
    """Run the application; an error is one sentence on the standard error stream, without a traceback."""
    debug = "--debug" in arguments  # wherever it stands
    arguments = [argument for argument in arguments if argument != "--debug"]
    helping = not arguments or "--help" in arguments
    if helping:
        load_light_help()
    try:
        with without_collector() if helping else nullcontext():  # a page is drawn in no time
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
