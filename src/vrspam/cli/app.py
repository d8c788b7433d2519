"""The application `vrspam`: its commands, the options that they share, errors as one sentence, and printing.

A command is only a name and a line of help until it is used: `vrspam --help` and the completion of a shell need no
more. The line is the first one of the command's docstring, and a test compares both. Options of `train` and `report`
are declared in `vrspam.tool.plan`, which is imported when a command needs it. Sentences for people are broken to the
width of a terminal; where the output goes elsewhere, each is one line.
"""

from __future__ import annotations

import glob
import inspect
import io
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from textwrap import indent
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
import typer.core
import typer.main
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from vrspam import __version__
from vrspam._utils.atomic import check_replaceable
from vrspam._utils.findings import Finding, VrspamError, text_of
from vrspam._utils.messages import MissingExtra, require
from vrspam._utils.plain import json_text
from vrspam.cli.streams import can_hold, drop
from vrspam.cli.typed import typed

if TYPE_CHECKING:
    from vrspam.tool.plan import ReportPlan

# the error of click for misuse; typer has it from click, or from its own copy of click
Misuse: Any = next(cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "UsageError")
Command = TypeVar("Command", bound=Callable[..., Any])
SETTINGS: Any = {"rich_markup_mode": "rich", "add_completion": False, "pretty_exceptions_enable": False}
INTERRUPTED = 130  # exit code after Ctrl-C, by custom
_WIDE = 200  # columns, where the output is not a terminal and so has no width
INDENT = 2


class Output(Console):
    """A console that leaves a broken pipe to `run`; rich would end the process at once."""

    def on_broken_pipe(self) -> None:
        """Raise the error that is being handled."""
        raise


out = Output(highlight=False, width=None if sys.stdout.isatty() else _WIDE)
err = Output(highlight=False, stderr=True, width=None if sys.stderr.isatty() else _WIDE)

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
# commands that share a module; the module of any other command has its name
MODULES = {"compare": "evaluate", **dict.fromkeys(("report", "check", "rows"), "train")}
MODULES |= dict.fromkeys(("export", "explain"), "predict")
MODULES |= dict.fromkeys(("theory", "demo", "reproduce", "publish", "datasets"), "paper")


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
            alone.command(name)(getattr(import_module(f"vrspam.cli.{MODULES.get(name, name)}"), name))
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
        context, given = getattr(error, "ctx", None), getattr(error, "option_name", "")
        command, message = getattr(context, "info_name", ""), str(error.format_message())
        meant = None  # what other programs call the options of these commands
        if given in ("--out", "--output", "-o"):
            pages = dict.fromkeys(("compare", "explain"), "--html or --picture")
            meant = ({"train": "--model", "predict": "--out", "evaluate": "--html"} | pages).get(command)
        elif given in ("--label", "--labels", "--outcome", "--y", "-y") and command in ("train", "theory"):
            meant = "--target"
        if meant:
            message = f"No such option: {given}. {command!r} calls it {meant}."
        if message:  # without a command the help was shown, and there is no message
            warn(f"vrspam: {' '.join(message.split())}  (see {getattr(context, 'command_path', 'vrspam')} --help)")
        return 2
    except Exception as error:
        if debug:
            raise
        sentence = " ".join(text_of(error, typed).split())  # one line, whatever bytes of a damaged file it quotes
        if isinstance(error, MemoryError):
            detail = f" ({sentence})" if sentence else ""
            sentence = f"the memory is not enough{detail}: free some, leave out columns, or train with --streaming"
        elif not isinstance(error, (ValueError, OSError, RuntimeError, MissingExtra)):
            sentence = f"unexpected {type(error).__name__}: {sentence} (--debug shows where)"
        warn(f"vrspam: {sentence}")
        return 1


# Characters that a terminal obeys instead of showing: control characters, line ends, changes of direction, surrogates.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def as_shown(text: str) -> str:
    """A text with control characters escaped, so that names from a file cannot steer the terminal.

    >>> print(as_shown("\\x1b[31mage"))
    \\x1b[31mage
    """
    return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)


def say(text: str) -> None:
    """Print a line of the result, unbroken."""
    out.print(as_shown(text), markup=False, soft_wrap=True)


def warn(text: str) -> None:
    """Print a line on the standard error stream: broken between words on a terminal, unbroken elsewhere."""
    try:
        err.print(as_shown(text), markup=False, soft_wrap=not err.is_terminal)
        sys.stderr.flush()
    except OSError:  # nobody can read it, and no work is lost for that
        drop(sys.stderr)


def print_json(value: Any) -> None:
    """Print one JSON document on the standard output."""
    lines = json_text(value, indent=2, ensure_ascii=False).split("\n")
    text = "\n".join(_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", line) for line in lines)
    if not can_hold(sys.stdout, text):
        text = json_text(value, indent=2)
    typer.echo(text)


def worries(interval: Any, notes: Iterable[str], measure: str = "AUC", marked: bool = False) -> list[str]:
    """Return warnings in terms of options: severe ones, doubts about the measure, other warnings, and last notes.

    With `marked` each sentence has its severity, and its code if it is a finding.
    """
    from vrspam.report.words.auc import doubt_of

    at = getattr(interval, "confidence", 0.95)
    doubt = [] if interval is None else doubt_of(interval.low, interval.high, at, measure)
    grade, lines = {"severe": 0, "note": 2}, []
    for note in sorted([*doubt, *notes], key=lambda note: grade.get(getattr(note, "severity", ""), 1)):
        line = text_of(note, typed)
        if marked:
            line = f"{note.severity}: {line} [{note.code}]" if isinstance(note, Finding) else f"warning: {line}"
        lines.append(line)
    return lines


def show_worries(interval: Any, notes: Iterable[str], measure: str = "AUC") -> None:
    """Print what to worry about on the standard error stream, with severities and codes."""
    for line in worries(interval, notes, measure, marked=True):
        warn(line)


def findings(notes: Iterable[str]) -> list[dict[str, Any]]:
    """The findings among notes, for JSON."""
    return [
        {
            "code": note.code,
            "severity": note.severity,
            "sentence": text_of(note, typed),
            **({} if note.fix is None else {"fix": typed(note.fix)}),
            "page": f"docs/doctor.md#{note.code}",
        }
        for note in notes
        if isinstance(note, Finding)
    ]


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print each different warning once, as one line that names options."""
    shown: set[str] = set()  # a file that is read twice has the same broken lines twice

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if (text := text_of(message, typed)) not in shown:
            shown.add(text)
            warn(f"warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        yield


@contextmanager
def misuse() -> Iterator[None]:
    """Report what the library refuses as a wrong use of the command, in the same words."""
    try:
        yield
    except VrspamError as error:
        raise Misuse(text_of(error, typed)) from error


def tell(text: str, margin: int = 0) -> None:
    """Print a sentence: broken between words on a terminal, in one line elsewhere."""
    if out.is_terminal:
        out.print(Padding(Text(as_shown(text)), (0, 0, 0, margin)))
    else:
        say(" " * margin + text)


def show_facts(facts: Iterable[tuple[str, str]], width: int = 19) -> None:
    """Print facts with their labels; a fact without a label continues the one before."""
    facts = list(facts)
    if out.is_terminal and out.width < 60:  # a label has a line of its own
        for label, text in facts:
            if label:
                out.print(Text(label, style="bold"))
            tell(text, INDENT)
        return
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True, min_width=width)
    table.add_column(overflow="fold")
    for label, text in facts:
        table.add_row(Text(as_shown(label)), Text(as_shown(text)))
    _show(table)


def show_table(
    names: Sequence[str], rows: Iterable[Sequence[str]], texts: Sequence[int] = (0,), *, margin: int = 0
) -> None:
    """Print a table; columns in `texts` may be broken, and in a narrow terminal each number has its own line."""
    rows = [[as_shown(cell) for cell in row] for row in rows]
    numbers = [j for j in range(len(names)) if j not in texts]
    wide = sum(max(cell_len(cell) for cell in (names[j], *(row[j] for row in rows))) for j in numbers)
    if out.is_terminal and out.width < margin + wide + 2 * len(names) + 12 * len(texts):
        for row in rows:
            out.print(Text(row[0], style="bold"))
            for name, cell in zip(names[1:], row[1:], strict=True):
                if cell:
                    tell(f"{name}: {cell}", INDENT)
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for j, name in enumerate(names):
        text = j in texts
        table.add_column(Text(name), justify="left" if text else "right", no_wrap=not text, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    _show(table, margin)


def _show(table: Table, margin: int = 0) -> None:
    if out.is_terminal:
        out.print(Padding(table, (0, 0, 0, margin), expand=False))
        return
    plain = io.StringIO()
    Console(file=plain, width=100_000, color_system=None, force_terminal=False).print(table)
    lines = "\n".join(line.rstrip() for line in plain.getvalue().rstrip("\n").split("\n"))
    for line in indent(lines, " " * margin).split("\n"):
        say(line)


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document for scripts.", metavar="")]
Data = Annotated[
    str,
    typer.Argument(
        help="CSV, Parquet, Feather, Excel, LIBSVM or .npy, also compressed (.gz, .bz2, .xz). A directory, or a "
        "pattern in quotes, is read as one table; - is the standard input."
    ),
]
ModelFile = Annotated[Path, typer.Argument(help="A model that `vrspam train` has written.")]
HtmlOut = Annotated[Path | None, typer.Option("--html", help="Write one self-contained HTML page, with pictures.")]
Picture = Annotated[Path | None, typer.Option("--picture", help="Write a picture (.png, .svg or .pdf).")]
Confidence = Annotated[float, typer.Option(help="Coverage of the intervals, between 0 and 1.")]
Weights = Annotated[
    str | None,
    typer.Option(help="A column of weights; by default that of training; none: rows count alike.", metavar="<column>"),
]
Groups = Annotated[
    str | None,
    typer.Option(
        help="A column that says which rows belong together, such as patients; by default that of training; none: rows "
        "are independent.",
        metavar="<column>",
    ),
]
AllowMissing = Annotated[
    str | None,
    typer.Option(
        "--allow-missing",
        help="Columns that may be unreadable in more than half of the rows, and then count as missing.",
        metavar="<names>",
    ),
]
READING = ("format", "delimiter", "encoding", "zero_based")  # how a file is read, by any command


def with_options(*names: str, panels: Sequence[str] = ("File format",)) -> Callable[[Command], Command]:
    """A decorator for a command with `**given`: it adds options of the plan; help pages group those of `panels`."""
    from vrspam.tool.plan import PANELS

    def place(one: inspect.Parameter) -> int:
        """Options without a panel come first, then the panels in their order."""
        order = (None, *PANELS)
        panel = getattr((*getattr(one.annotation, "__metadata__", ()), None)[0], "rich_help_panel", None)
        return order.index(panel) if panel in order else len(order)

    def decorate(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        several = sorted([*own, *(_parameter(name, panels, command.__name__) for name in names)], key=place)
        command.__signature__ = signature.replace(parameters=several)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in several}
        return command

    return decorate


def _parameter(name: str, panels: Sequence[str], command: str) -> inspect.Parameter:
    """An option of a command as typer takes it; one that is neither a number nor a flag is text that the plan reads."""
    from vrspam.tool.plan import OPTIONS

    shown = OPTIONS[name].of(command)
    kind, default = shown.type, shown.default
    flag = kind in (bool, bool | None)
    is_text = not (flag or kind in (int, float, int | None, float | None))
    text = shown.help.format_map({other: one.flag for other, one in OPTIONS.items()})
    if kind is bool and default:
        text, default = f"Do not {text[0].lower()}{text[1:]}", False
    elif isinstance(default, tuple):
        default = ",".join(f"{value:g}" for value in default) or None
    option = typer.Option(
        *(shown.flags or (shown.flag,)),
        help=f"{text} {shown.typed}".strip(),
        metavar="" if flag else shown.metavar or ("<name>" if is_text else None),
        rich_help_panel=shown.panel if shown.panel in panels else None,
        show_default=default is not None and not flag,
    )
    typed: Any = list[str] | None if shown.several else str | None if is_text else kind
    return inspect.Parameter(
        name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=Annotated[typed, option]
    )


def read_options(given: dict[str, Any]) -> dict[str, Any]:
    """Options as values of Python, checked one by one; those that were not given have their defaults."""
    from vrspam.tool.plan import OPTIONS, check_option

    found = {}
    with misuse():
        for name, value in given.items():
            shown = OPTIONS[name]
            if shown.several and value is not None:
                read = [shown.read(text) for text in value]
                wrong = [one for one in read if not isinstance(one, dict)]
                value = wrong[0] if wrong else {name: part for one in read for name, part in one.items()} or None
            elif isinstance(value, str):
                value = shown.read(value)
            elif shown.type is bool and shown.default:
                value = not value
            if value is None or value == shown.default:
                value = shown.default
            else:
                check_option(name, value)
            found[name] = value
    return found


def plan_of(data: str, given: dict[str, Any]) -> ReportPlan:
    """Return the plan of a command's options; what cannot be done is refused before the file is read."""
    from vrspam.tool.plan import ReportPlan

    with misuse():
        found = ReportPlan(
            **read_options(given), progress=err.is_terminal, say=lambda stage: warn(f"{text_of(stage, typed)} ...")
        )
    if found.target is None:  # refused, unless the rows carry their labels
        from vrspam.data.source import Source
        from vrspam.tool.table import check_target

        source = Source.open(data, **{name: getattr(found, name) for name in READING})
        with misuse():
            check_target(source, None)
    return found


def page_name(data: str) -> str:
    """The name of the data on a page."""
    return "standard input" if data == "-" else Path(data).name


def check_output(option: str, path: Path | None, *inputs: str | Path | None) -> None:
    """Refuse a file that could not be written, or that would replace an input, before any work is done."""
    if path is None:
        return
    reason = None
    folder = Path(os.path.realpath(path)).parent if path.is_symlink() else path.parent
    if option == "--picture" and path.suffix.lower() not in (".png", ".svg", ".pdf"):
        reason = f"{path} must end in .png, .svg or .pdf"
    elif not folder.is_dir():
        reason = f"{folder} is not a directory: make it first"
    elif path.is_dir():
        reason = f"{path} is a directory: give the name of a file"
    elif not os.access(folder, os.W_OK):
        reason = f"{folder} may not be written to: choose another directory"
    elif path.exists():
        try:
            check_replaceable(path)
        except OSError as error:
            reason = f"{path} cannot be replaced. {error.strerror}"
        for given in (Path(data) for data in inputs if data is not None):  # a file, a directory or a pattern
            files = given.iterdir() if given.is_dir() else [given, *map(Path, glob.glob(str(given)))]
            if any(file.exists() and file.samefile(path) for file in files):
                reason = f"{path} is an input of this command and would be replaced: give another name"
    if reason:
        raise typer.BadParameter(reason, param_hint=option)
    if option == "--picture":
        require("plots", "matplotlib")
