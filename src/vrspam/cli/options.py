"""Options that several commands share, and those that are declared in `vrspam.tool.plan`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from vrspam._utils.findings import VrspamError, text_of
from vrspam.cli.errors import misuse
from vrspam.cli.output import err, warn
from vrspam.cli.typed import typed

if TYPE_CHECKING:
    from vrspam.tool.options import Option
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
MarkdownOut = Annotated[
    Path | None, typer.Option("--markdown", help="Write the page as Markdown too, without its pictures.")
]
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
    list[str] | None,
    typer.Option(
        "--allow-missing",
        help="Columns that may be unreadable in more than half of the rows, and then count as missing. Commas separate "
        "them; it may be given again.",
        metavar="<names>",
    ),
]
FLAGS = (bool, bool | None)
NUMBERS = (int, float, int | None, float | None)
READING = ("format", "delimiter", "encoding", "zero_based")  # how a file is read, by any command


def with_options(*names: str, panels: Sequence[str] = ("File format",)) -> Callable[[Command], Command]:
    """A decorator for a command with `**given`: it adds options of the plan; help pages group those of `panels`."""
    from vrspam.tool.options import PANELS

    def place(one: inspect.Parameter) -> int:
        """Options without a panel come first, then the panels in their order."""
        order = (None, *PANELS)
        panel = getattr((*getattr(one.annotation, "__metadata__", ()), None)[0], "rich_help_panel", None)
        return order.index(panel) if panel in order else len(order)

    def decorate(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        own = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        several = sorted([*own, *(_parameter(name, panels) for name in names)], key=place)
        command.__signature__ = signature.replace(parameters=several)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in several}
        return command

    return decorate


def _parameter(name: str, panels: Sequence[str]) -> inspect.Parameter:
    """An option of the plan as typer takes it."""
    from vrspam.tool.plan import OPTIONS

    option = OPTIONS[name]
    default = _typed_default(option)
    is_flag = option.type in FLAGS
    shown = typer.Option(
        *option.flags,
        help=_help_of(option),
        metavar=_metavar_of(option),
        rich_help_panel=option.panel if option.panel in panels else None,
        show_default=default is not None and not is_flag,
    )
    return inspect.Parameter(
        name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=default,
        annotation=Annotated[_typed_type(option), shown],
    )


def _is_switched_off(option: Option) -> bool:
    """Whether the flag turns off what is usual."""
    return option.type is bool and option.default


def _help_of(option: Option) -> str:
    """The sentence about an option, and how its value is typed."""
    if _is_switched_off(option):
        return f"Do not {option.help[0].lower()}{option.help[1:]}"
    again = "It may be given again." if option.kind.repeats and not option.kind.several else ""
    return " ".join(part for part in (option.help, option.kind.how, again) if part)


def _metavar_of(option: Option) -> str | None:
    """What stands for a value in help pages; None leaves it to the type."""
    if option.type in FLAGS:
        return ""
    if option.kind.metavar is None and option.type not in NUMBERS:
        return "<name>"
    return option.kind.metavar


def _typed_type(option: Option) -> Any:
    """The type that typer reads; what is neither a flag nor a number is text, which `read_options` reads."""
    if option.kind.repeats:
        return list[str] | None
    return option.type if option.type in (*FLAGS, *NUMBERS) else str | None


def _typed_default(option: Option) -> Any:
    """The default as it would be typed."""
    if _is_switched_off(option):
        return False
    if isinstance(option.default, tuple):
        return ",".join(f"{value:g}" for value in option.default) or None
    return option.default


def read_options(typed: dict[str, Any]) -> dict[str, Any]:
    """Options as values of Python, checked one by one; those that were not given have their defaults."""
    from vrspam.tool.plan import OPTIONS, check_option

    values = {}
    with misuse():
        for name, text in typed.items():
            option = OPTIONS[name]
            value = _read_value(option, text)
            if value is None or value == option.default:
                values[name] = option.default
            else:
                check_option(name, value)
                values[name] = value
    return values


def _read_value(option: Option, typed: Any) -> Any:
    """The value of an option that was typed; None if it was not."""
    if option.kind.repeats and typed is not None:
        return joined([option.kind.read(text) for text in typed])
    if isinstance(typed, str):
        return option.kind.read(typed)
    if _is_switched_off(option):
        return not typed
    return typed


def joined(values: Sequence[Any]) -> Any:
    """What an option holds that was given several times: all names, or all entries; None for nothing.

    >>> joined([("a", "b"), ("c",)]), joined([{"a": 1}, {"b": -1}])
    (('a', 'b', 'c'), {'a': 1, 'b': -1})
    """
    if all(isinstance(value, tuple) for value in values):
        return tuple(name for names in values for name in names) or None

    entries: dict[str, Any] = {}
    for value in values:
        if not isinstance(value, dict):
            return value  # the check of the option refuses it
        for name, entry in value.items():
            if entries.setdefault(name, entry) != entry:
                raise VrspamError(f"{name!r} is given twice, and not alike: give it once")
    return entries or None


def names_in(texts: Sequence[str] | None) -> tuple[str, ...]:
    """The names in all texts of an option that may be given again."""
    from vrspam.tool.typed_values import read_names

    return tuple(name for text in texts or () for name in read_names(text))


def plan_of(data: str, given: dict[str, Any]) -> ReportPlan:
    """Return the plan of a command's options; what cannot be done is refused before the file is read."""
    from vrspam.tool.plan import ReportPlan

    with misuse():
        found = ReportPlan(
            **read_options(given), progress=err.is_terminal, say=lambda stage: warn(f"{text_of(stage, typed)} ...")
        )
    if found.target is None:  # refused, unless the rows carry their labels
        from vrspam.tool.request import table_request

        request = table_request(found)
        source = request.open_source(data)
        with misuse():
            request.check_target(source)
    return found
