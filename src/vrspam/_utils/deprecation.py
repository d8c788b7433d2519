"""Old names that still work for one version, each with a `FutureWarning` that says the new one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from vrspam._utils.warnings import warn

Function = TypeVar("Function", bound=Callable[..., Any])


def renamed_parameter(old: str, new: str) -> Callable[[Function], Function]:
    """A decorator: the keyword `old` is taken as `new`, with a warning.

    >>> @renamed_parameter("seed", "random_state")
    ... def draw(random_state=0):
    ...     return random_state
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     draw(seed=3)
    3
    >>> print(caught[0].message)
    draw: seed is now called random_state; the old name goes with the next version.
    """

    def decorate(function: Function) -> Function:
        called = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
        place = list(inspect.signature(function).parameters).index(new)

        @wraps(function)
        def renamed(*args: Any, **kwargs: Any) -> Any:
            if old in kwargs:
                if new in kwargs or len(args) > place:
                    raise TypeError(f"{called}() got {new}, and {old}, its old name: give {new} alone.")
                warn(f"{called}: {old} is now called {new}; the old name goes with the next version.", FutureWarning)
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return cast(Function, renamed)

    return decorate


def keyword_only(name: str) -> Callable[[Function], Function]:
    """A decorator: the first keyword-only parameter, `name`, is still taken by position, with a warning.

    >>> @keyword_only("sample_weight")
    ... def mean(values, *, sample_weight=None):
    ...     return sample_weight
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     mean([1.0], 2.0)
    2.0
    >>> print(caught[0].message)
    mean: give sample_weight by its name, sample_weight=...; by position it is taken until the next version.
    """

    def decorate(function: Function) -> Function:
        place = list(inspect.signature(function).parameters).index(name)

        @wraps(function)
        def by_name(*args: Any, **kwargs: Any) -> Any:
            if len(args) == place + 1 and name not in kwargs:
                warn(
                    f"{function.__name__}: give {name} by its name, {name}=...; by position it is taken until the next "
                    "version.",
                    FutureWarning,
                )
                args, kwargs[name] = args[:-1], args[-1]
            return function(*args, **kwargs)

        return cast(Function, by_name)

    return decorate
