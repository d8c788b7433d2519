"""Running the application: its exit code, and an error as one sentence."""

from __future__ import annotations

import sys
from typing import Any

import typer

from vrspam import __version__
from vrspam._utils.extras import MissingExtra
from vrspam._utils.findings import text_of
from vrspam.cli.app import app
from vrspam.cli.errors import INTERRUPTED, Misuse
from vrspam.cli.light_help import load_light_help
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
    message = " ".join(str(error.format_message()).split())
    if not message:
        return
    context = getattr(error, "ctx", None)
    command = getattr(context, "info_name", "")
    option = getattr(error, "option_name", "")
    name = name_here(option, command)
    if name is not None:
        message = f"No such option: {option}. {command!r} calls it {name}."
    page = getattr(context, "command_path", "vrspam")
    warn(f"vrspam: {message}  (see {page} --help)")


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
