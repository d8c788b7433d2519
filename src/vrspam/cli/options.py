"""Options that several commands share, and those that are declared in `vrspam.tool.plan`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from vrspam._utils.findings import text_of
from vrspam.cli.errors import misuse
from vrspam.cli.output import err, warn
from vrspam.cli.typed import typed

if TYPE_CHECKING:
    from vrspam.tool.plan import ReportPlan

Command = TypeVar("Command", bound=Callable[..., Any])
NO_MODEL = "--allow-missing is about the columns of a model: leave it out"

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
