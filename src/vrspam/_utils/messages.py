"""Messages that are worded once and shown in the reader's own terms; choices; what to do about a missing extra.

A message is a template with fields. A field that is a `Parameter` is shown as Python writes it (`drop=['day']`) unless
the reader gives parameters another form: the command line shows `--drop day`. So no sentence is ever taken apart.
"""

import importlib
import re
import string
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple, Self, get_args


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


class Parameter(NamedTuple):
    """A parameter that the reader may set, with the value to give it where one is known."""

    name: str
    value: Any = None

    def __str__(self) -> str:
        return f"{self.name}=" if self.value is None else f"{self.name}={self.value!r}"


class Message(str):
    """A text in Python's terms that keeps the template and the fields it was made of.

    A field of the template that is not given is the parameter of that name; `drop`, `categorical` and `include` name
    the column that the message is about, if that is a field.

    >>> print(Message("column {column!r} is empty: leave it out with {drop}", column="day"))
    column 'day' is empty: leave it out with drop=['day']
    """

    template: str
    fields: dict[str, Any]

    def __new__(cls, template: str, /, **fields: Any) -> Self:
        for _, name, _, _ in string.Formatter().parse(template) if fields else ():
            if name and name not in fields:
                about = "column" in fields and name in ("drop", "categorical", "include")
                fields[name] = Parameter(name, [fields["column"]] if about else None)
        new = super().__new__(cls, template.format(**fields) if fields else template)
        new.template, new.fields = template, fields
        return new

    def __getnewargs_ex__(self) -> Any:
        return (self.template,), self.fields

    def to_plain(self) -> dict[str, Any] | str:
        """Return template and fields as JSON can hold them, or the text itself if no field is a parameter."""
        if not any(isinstance(value, Parameter) for value in self.fields.values()):
            return str(self)
        fields = {
            name: {"parameter": value.name, "value": value.value} if isinstance(value, Parameter) else value
            for name, value in self.fields.items()
        }
        return {"template": self.template, "fields": fields}

    @classmethod
    def from_plain(cls, plain: Any) -> Any:
        """Return the text that `to_plain` made plain; anybody can have written it, so only plain templates are taken.

        A field that is not plain, not given or twice is refused: `str.format` would look up attributes.
        """
        if isinstance(plain, str):
            return plain
        template, names = plain["template"], set[str]()
        fields = {
            name: Parameter(value["parameter"], value["value"]) if isinstance(value, dict) else value
            for name, value in plain["fields"].items()
        }
        plain_form = r",?(\.\d)?[dfg%]?"  # digits of a number; no width, and no field inside
        for _, name, form, conversion in string.Formatter().parse(template) if fields else ():
            if name is None:  # the text after the last field
                continue
            if not (name.isidentifier() and conversion in (None, "r") and re.fullmatch(plain_form, form or "")):
                raise ValueError(f"a text has a field that is not plain: {name!r}")
            if name in names or name not in fields:
                raise ValueError(f"a text has the field {name!r} {'twice' if name in names else 'without a value'}")
            names.add(name)
        if "code" in plain:
            return Finding(plain["code"], plain["severity"], template, **fields)
        return cls(template, **fields)


#: How grave a finding is, the gravest first: the results mislead; the results may mislead; good to know.
SEVERITIES = ("severe", "warning", "note")
#: The subjects of findings, in the order in which findings of one severity are shown.
CODES = (
    *("repeated-rows", "duplicates", "leak", "missingness", "unlabelled", "labels", "few-rows", "drift", "order"),
    *("codes", "spellings", "unread-text", "large-integers", "many-categories", "majority", "missing-values"),
    *("constant", "identifiers", "left-out", "dates", "text-numbers", "not-checked"),
)


class Finding(Message):
    """A sentence about a table, with a code by which it can be muted; docs/doctor.md has a section for each code.

    Parameters
    ----------
    code : str
    severity : {"severe", "warning", "note"}
    template : str
    **fields
        The fields of the template. The first field that is a parameter with a value is the remedy (`fix`).

    Examples
    --------
    >>> from vrspam.tool import Finding
    >>> found = Finding("order", "note", "{what} goes with the label", what="the order of the rows")
    >>> found.code, str(found)
    ('order', 'the order of the rows goes with the label')
    """

    code: str
    severity: str

    def __new__(cls, code: str, severity: str, template: str, /, **fields: Any) -> Self:
        new = super().__new__(cls, template, **fields)
        new.code, new.severity = code, severity
        return new

    def __getnewargs_ex__(self) -> Any:
        return (self.code, self.severity, self.template), self.fields

    @property
    def fix(self) -> Parameter | None:
        """The parameter to set as a remedy, or None."""
        known = (value for value in self.fields.values() if isinstance(value, Parameter) and value.value is not None)
        return next(known, None)

    def to_plain(self) -> dict[str, Any]:
        """Code, severity, template and fields as JSON can hold them."""
        plain = super().to_plain()
        parts = {"template": plain, "fields": {}} if isinstance(plain, str) else plain
        return {"code": self.code, "severity": self.severity, **parts}


class WordedError(ValueError):
    """An error whose text is a `Message`; fields are kept as `error.message.fields`."""

    def __init__(self, message: str, /, **fields: Any):
        self.message = message if isinstance(message, Message) else Message(message, **fields)
        super().__init__(str(self.message))

    def __reduce__(self) -> Any:
        return type(self), (self.message,)


def worded(thing: Any, parameter: Callable[[Parameter], str]) -> str:
    """The text of an error, a warning or a message, with parameters in the given form; a field may be a message."""
    message = getattr(thing, "message", thing)
    if not isinstance(message, Message):
        return str(thing)
    shown = dict(message.fields)
    for name, value in message.fields.items():
        if isinstance(value, Parameter):
            shown[name] = parameter(value)
        elif isinstance(value, Message):
            shown[name] = worded(value, parameter)
    return message.template.format(**shown) if shown else message.template


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
