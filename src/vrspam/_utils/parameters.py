"""Allowed parameters of estimators: a table of rules for each class, checked when it is fitted; links to pages.

A parameter satisfies one of its rules: an `Interval`, `StrOptions`, `HasMethods`, `Instance`, None, `callable`, a table
of which it is a name, or one of the words in `_NAMED`. The errors read like those of scikit-learn, whose own checks are
not public.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from scipy import sparse
from sklearn import config_context, get_config


class InvalidParameter(ValueError, TypeError):
    """A parameter has a wrong type or value."""


class Rule(NamedTuple):
    """The values that a parameter may have, in words, and a function that tests a value."""

    words: str
    accepts: Callable[[Any], bool]


def Interval(
    kind: type[Any], low: float | None, high: float | None, *, closed: Literal["left", "right", "both", "neither"]
) -> Rule:
    """Numbers between two bounds, or beyond one of them."""
    above, left = (operator.ge, "[") if closed in ("left", "both") else (operator.gt, "(")
    below, right = (operator.le, "]") if closed in ("right", "both") else (operator.lt, ")")
    least = -np.inf if low is None else low
    most = np.inf if high is None else high
    if kind is Integral:
        words = f"an int in the range {left}{least}, {most}{right}"
    else:
        words = f"a float in the range {left}{float(least)}, {float(most)}{right}"
    return Rule(words, lambda value: isinstance(value, kind) and bool(above(value, least) and below(value, most)))


def StrOptions(options: Iterable[str]) -> Rule:
    """One of these words."""
    known = sorted(options)
    words = f"a str among {{{', '.join(map(repr, known))}}}"
    return Rule(words, lambda value: isinstance(value, str) and value in known)


def HasMethods(*methods: str) -> Rule:
    """An object with all of these methods."""
    words = f"an object implementing {' and '.join(map(repr, methods))}"
    return Rule(words, lambda value: all(callable(getattr(value, method, None)) for method in methods))


def Instance(kind: type) -> Rule:
    """An object of this type."""
    abstract: dict[type, str] = {Integral: "int", Real: "float"}
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    name = abstract.get(kind, f"{module}{kind.__qualname__}")
    return Rule(f"an instance of {name!r}", lambda value: isinstance(value, kind))


_NONE = Rule("None", lambda value: value is None)
_BOOLEANS = (Instance(bool), Instance(np.bool_))
_NAMED: dict[Any, tuple[Rule, ...]] = {
    None: (_NONE,),
    callable: (Rule("a callable", callable),),
    "boolean": _BOOLEANS,
    "array-like": (
        Rule(
            "an array-like",
            lambda value: (
                any(hasattr(value, name) for name in ("__len__", "shape", "__array__"))
                and not (sparse.issparse(value) or np.isscalar(value))
            ),
        ),
    ),
    "random_state": (Interval(Integral, 0, 2**32 - 1, closed="both"), Instance(np.random.RandomState), _NONE),
    "verbose": (Interval(Integral, 0, None, closed="left"), *_BOOLEANS),
    "cv_object": (
        Interval(Integral, 2, None, closed="left"),
        HasMethods("split", "get_n_splits"),
        Rule("an iterable", lambda value: isinstance(value, Iterable) and not isinstance(value, str)),
        _NONE,
    ),
}


def rules_of(entry: Any) -> tuple[Rule, ...]:
    """The rules that an entry of `_parameter_constraints` stands for."""
    if isinstance(entry, Rule):
        return (entry,)
    if isinstance(entry, Mapping):  # its names, of which there may be more by now
        return (StrOptions(entry),)
    return _NAMED[entry]


def check_parameters(estimator: Any) -> None:
    """Refuse the first parameter that satisfies none of its rules in `_parameter_constraints`, if it has any."""
    owner = type(estimator).__name__
    for name, value in estimator.get_params(deep=False).items():
        rules: list[Rule] = []
        for entry in estimator._parameter_constraints.get(name, ()):
            rules += rules_of(entry)
        if rules and not any(rule.accepts(value) for rule in rules):
            *first, last = (rule.words for rule in rules)
            words = f"{', '.join(first)} or {last}" if first else last
            raise InvalidParameter(f"The {name!r} parameter of {owner} must be {words}. Got {value!r} instead.")


def checks_parameters(*, skip_nested: bool) -> Callable[[Any], Any]:
    """Decorate `fit` to check parameters first; with `skip_nested`, not those of estimators that are fitted inside."""

    def decorate(fit: Callable[..., Any]) -> Any:
        @wraps(fit)
        def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
            skipped = get_config()["skip_parameter_validation"]
            if not skipped:
                self._validate_params()
            with config_context(skip_parameter_validation=skip_nested or skipped):
                return fit(self, *args, **kwargs)

        return checked

    return decorate


def constructor_without(base: type, *names: str) -> Callable[..., None]:
    """Return the constructor of `base` without some of its parameters, which the new class has as attributes."""
    whole = inspect.signature(base)
    signature = whole.replace(parameters=[one for name, one in whole.parameters.items() if name not in names])

    def __init__(self: Any, *args: Any, **parameters: Any) -> None:
        bound = signature.bind(*args, **parameters)
        bound.apply_defaults()
        vars(self).update(bound.arguments)

    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    __init__.__signature__ = signature.replace(parameters=[own, *signature.parameters.values()])  # type: ignore[attr-defined]
    return __init__


# Links from the HTML representation of estimators to their pages in the documentation.

BASE = ""  # address of the folder `api` of the documentation site; while it is empty, there are no links
Class = TypeVar("Class")


def links_to_documentation(kind: type[Class]) -> type[Class]:
    """Let scikit-learn's HTML representation link a class, and its subclasses, to their pages: BASE/NAME.html."""
    ours: Any = kind
    inherited = getattr(ours, "_get_doc_link", lambda self: "")  # not public
    ours._doc_link_module = "vrspam"
    ours._doc_link_template = property(lambda self: f"{BASE.rstrip('/')}/{{public_name}}.html")
    ours._doc_link_url_param_generator = lambda self: {"public_name": public_name(type(self))}
    ours._get_doc_link = lambda self: inherited(self) if BASE else ""
    return kind


def public_name(kind: type) -> str:
    """The name under which users import a class: estimators from the package, others from their subpackage."""
    package, _, below = kind.__module__.partition(".")
    room = below.partition(".")[0]
    if room == "estimators":
        return f"{package}.{kind.__name__}"
    return f"{package}.{room}.{kind.__name__}"
