"""Signatures and docstrings of functions that take options of a plan as keywords."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from vrspam.tool.options import with_options
from vrspam.tool.plan import OPTIONS, names_of_options

Function = TypeVar("Function", bound=Callable[..., Any])


def takes(keywords: Any) -> Callable[[Function], Function]:
    """A decorator for a function with `**options: Unpack[keywords]`: its signature and docstring list the options."""

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        options = [OPTIONS[name] for name in names_of_options(keywords)]
        parameters = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        for option in options:
            if option.name not in signature.parameters:
                parameters.append(
                    inspect.Parameter(
                        option.name,
                        inspect.Parameter.KEYWORD_ONLY,
                        default=option.default,
                        annotation=option.type,
                    )
                )
        function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        function.__doc__ = with_options(function.__doc__, options)
        return function

    return decorate
