"""Messages, errors and warnings that are worded once, and shown in the reader's own terms.

A message is a template with fields. A field that is a `Parameter` is shown as Python writes it (`drop=['day']`) unless
the reader gives parameters another form: the command line shows `--drop day`. So no sentence is ever taken apart.
Warnings of the estimators are classes with fields: code that must say the same in other words asks for those.
`warn` points at the user's own line.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from sklearn.exceptions import ConvergenceWarning


class Parameter(NamedTuple):
    """A parameter that the reader may set, with the value to give it where one is known.

    >>> str(Parameter("target")), str(Parameter("drop", ["day"]))
    ('target=', "drop=['day']")
    """

    name: str
    value: Any = None

    def __str__(self) -> str:
        return f"{self.name}=" if self.value is None else f"{self.name}={self.value!r}"


class Message:
    """A template and its fields.

    >>> message = Message(
    ...     "column {column!r} is not a number; use {fix} to leave it out", column="day", fix=Parameter("drop", ["day"])
    ... )
    >>> str(message)
    "column 'day' is not a number; use drop=['day'] to leave it out"
    >>> message.worded(lambda parameter: f"--{parameter.name}")
    "column 'day' is not a number; use --drop to leave it out"
    """

    def __init__(self, template: str, /, **fields: Any):
        self.template, self.fields = template, fields

    def worded(self, parameter: Callable[[Parameter], str] = str) -> str:
        """The text, with each parameter in the given form; a field may itself be a message."""
        shown = {name: _shown(value, parameter) for name, value in self.fields.items()}
        return self.template.format(**shown) if self.fields else self.template

    def __str__(self) -> str:
        return self.worded()

    def __reduce__(self) -> Any:
        return _message, (type(self), self.template, self.fields)


class WordedError(ValueError):
    """An error whose text is a `Message`; fields are kept as `error.message.fields`."""

    def __init__(self, message: Message | str, /, **fields: Any):
        self.message = message if isinstance(message, Message) else Message(message, **fields)
        super().__init__(str(self.message))

    def __reduce__(self) -> Any:
        return type(self), (self.message,)


class WordedWarning(UserWarning):
    """A warning whose text is a `Message`."""

    def __init__(self, message: Message | str, /, **fields: Any):
        self.message = message if isinstance(message, Message) else Message(message, **fields)
        super().__init__(str(self.message))

    def __reduce__(self) -> Any:
        return type(self), (self.message,)


class WordedText(str):
    """A text in Python's terms that keeps the `Message` it was made of; it can be stored as JSON.

    >>> note = WordedText("'day' is left out; use {fix} to keep it", fix=Parameter("include", ["day"]))
    >>> note
    "'day' is left out; use include=['day'] to keep it"
    >>> WordedText.from_plain(note.to_plain()).message.fields == note.message.fields
    True
    """

    message: Message

    def __new__(cls, template: str, /, **fields: Any) -> WordedText:
        message = Message(template, **fields)
        new = super().__new__(cls, message)
        new.message = message
        return new

    def __getnewargs_ex__(self) -> Any:
        return (self.message.template,), self.message.fields

    def to_plain(self) -> dict[str, Any]:
        """Template and fields as JSON can hold them."""
        fields = {
            name: {"parameter": value.name, "value": value.value} if isinstance(value, Parameter) else value
            for name, value in self.message.fields.items()
        }
        return {"template": self.message.template, "fields": fields}

    @classmethod
    def from_plain(cls, plain: Any) -> WordedText | str:
        """What `to_plain` returned as a text again; a plain text stays what it is."""
        if isinstance(plain, str):
            return plain
        fields = {
            name: Parameter(value["parameter"], value["value"]) if isinstance(value, dict) else value
            for name, value in plain["fields"].items()
        }
        return cls(plain["template"], **fields)


def worded(thing: Any, parameter: Callable[[Parameter], str]) -> str:
    """The text of an error, a warning or a message, with parameters in the given form where it has any."""
    message = getattr(thing, "message", thing)
    return message.worded(parameter) if isinstance(message, Message) else str(thing)


def _message(kind: type[Message], template: str, fields: dict[str, Any]) -> Message:
    return kind(template, **fields)


def _shown(value: Any, parameter: Callable[[Parameter], str]) -> Any:
    if isinstance(value, Parameter):
        return parameter(value)
    return value.worded(parameter) if isinstance(value, Message) else value


PASSED_OVER = {"vrspam", "sklearn", "joblib"}


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the first line outside of this package and of those that call it on behalf of others.

    A warning that is an object has its own category.
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in PASSED_OVER:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


class FieldsWarning(UserWarning):
    """A warning that is a data class: it is pickled by its fields."""

    def __reduce__(self) -> Any:
        return type(self), tuple(vars(self).values())


@dataclass(eq=False)
class NotConverged(FieldsWarning, ConvergenceWarning):
    """A solver stopped before its certificate reached the tolerance.

    >>> print(NotConverged("AUCClassifier", 10, 0.0123))
    AUCClassifier stopped after 10 iterations with gap_ = 0.0123, above tol * F(0): raise max_iter, ...
    """

    estimator: str
    n_iter: int
    gap: float
    more_advice: str = ""

    def __str__(self) -> str:
        return (
            f"{self.estimator} stopped after {self.n_iter} iterations with gap_ = {self.gap:.3g}, above tol * F(0): "
            f"raise max_iter, standardise the features, or give a larger l2{self.more_advice}."
        )


@dataclass(eq=False)
class GridNotCertified(FieldsWarning, ConvergenceWarning):
    """Some points of a grid of penalties were not solved to the tolerance: `missed` of `total`.

    >>> print(GridNotCertified(2, 60))
    2 of 60 solutions of the grid were not certified to tol: raise max_iter, standardise the features, ...
    """

    missed: int
    total: int

    def __str__(self) -> str:
        return (
            f"{self.missed} of {self.total} solutions of the grid were not certified to tol: raise max_iter, "
            "standardise the features, or leave out the smallest l2."
        )


@dataclass(eq=False)
class GridEdge(FieldsWarning):
    """The best value of a parameter lies at an end of its grid and clearly beats its neighbour.

    `lead` is how much better its mean score is than its neighbour's, `error` the standard error of that mean.

    >>> print(GridEdge("l2", 0.1, "largest", lead=0.09, error=0.02))
    The best l2 is 0.1, the largest of the grid, and beats its neighbour by 0.09, ...: add larger values of l2.
    """

    parameter: str
    value: float
    end: str  # "smallest" or "largest"
    lead: float
    error: float

    @property
    def beyond(self) -> str:
        """What values beyond the end of the grid are: "smaller" or "larger"."""
        return {"smallest": "smaller", "largest": "larger"}[self.end]

    def __str__(self) -> str:
        return (
            f"The best {self.parameter} is {self.value:g}, the {self.end} of the grid, and beats its neighbour by "
            f"{self.lead:.2g}, more than one standard error ({self.error:.2g}): add {self.beyond} values of "
            f"{self.parameter}."
        )


@dataclass(eq=False)
class AllCoefficientsZero(FieldsWarning):
    """Every coefficient of the chosen model is 0; `l1` is the one that was chosen."""

    l1: float

    def __str__(self) -> str:
        if self.l1 == 0.0:
            return "All coefficients are 0: the classes have the same mean in every feature (or no feature varies)."
        return (
            f"All coefficients are 0 at the chosen l1 = {self.l1:g}: no feature ranks the validation rows better "
            "than chance at a smaller one of the grid. Add smaller values of l1, if there is anything to find."
        )
