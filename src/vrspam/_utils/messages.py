"""Messages that are made of templates; choices; what to do about a missing extra."""

import importlib
import string
from collections.abc import Iterable
from typing import Any, Literal, Self, get_args

from vrspam._utils.findings import Fix, Note, VrspamError


class MissingExtra(ModuleNotFoundError):
    """A module that comes with an extra is not installed; the message says how to get it."""


def how_to_install(module: str, extra: str) -> str:
    """Return the advice for a module that is not installed."""
    return f'{module} is missing: run pip install ".[{extra}]" in a clone of vrspam'


def require(extra: str, module: str) -> None:
    """Refuse to go on where a module of an extra is not installed."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:  # it is there, and something that it needs is not
            raise
        raise MissingExtra(how_to_install(module, extra), name=module) from error


Parameter = Fix


class Message(Note):
    """A note that is made of a template and fields; a field that is a `Fix` is an option.

    A field of the template that is not given is the option of that name; `drop`, `categorical` and `include` name
    the column that the message is about, if that is a field.

    >>> print(Message("column {column!r} is empty: leave it out with {drop}", column="day"))
    column 'day' is empty: leave it out with drop=['day']
    """

    fields: dict[str, Any]

    def __new__(cls, template: str, /, **fields: Any) -> Self:
        if not fields:
            new = super().__new__(cls, template)
            new.fields = {}
            return new
        parts: list[str | Fix] = []
        for literal, name, form, conversion in string.Formatter().parse(template):
            parts.append(literal)
            if name is None:  # the text after the last field
                continue
            if name not in fields:
                about = "column" in fields and name in ("drop", "categorical", "include")
                fields[name] = Fix(name, [fields["column"]] if about else None)
            value = fields[name]
            if isinstance(value, Fix):
                parts.append(value)
            elif isinstance(value, Note):
                parts += value.parts
            else:
                parts.append(format(repr(value) if conversion == "r" else value, form or ""))
        new = super().__new__(cls, *parts)
        new.fields = fields
        return new

    def __reduce__(self) -> Any:
        return Note, self.parts


class WordedError(VrspamError):
    """An error whose text is a `Message`, if it has fields; they are kept as `error.note.fields`."""

    def __init__(self, *parts: str | Fix, **fields: Any):
        super().__init__(*parts)
        first = parts[0]
        if isinstance(first, Message):
            self.note = first
        elif fields:
            self.note = Message(str(first), **fields)
        self.args = (str(self.note),)


# Choices that parameters share with options of the command line: each list is written here only.

LossName = Literal["squared", "squared_hinge"]
PenaltyName = Literal["elasticnet", "mcp", "scad"]
USUAL_PENALTY: PenaltyName = "elasticnet"
SelectionRule = Literal["best", "one-standard-error", "blend"]  # how a point and a feature map are chosen
Selection = Literal["auto", SelectionRule]
THRESHOLD_RULES = ("recall", "precision", "alerts", "cost_ratio", "threshold")  # for a threshold that is stored
SELECTION_RULES: tuple[str, ...] = get_args(Selection)


def usual_spelling(word: Any, known: Iterable[str]) -> Any:
    """Return a word in the spelling that `known` has, British or American; anything else stays as it is."""
    if isinstance(word, str):
        british_and_american = (("centred", "centered"), ("standardised", "standardized"))
        for pair in british_and_american:
            if word in pair:
                return next((other for other in pair if other in known), word)
    return word
