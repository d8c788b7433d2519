"""`Form`: how the values of a type are written and read, what is written beside them, and how wrong ones are named."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from vrspam.model.packing import ArrayPacker

FEW = 32  # numbers of an array, or texts, that stay where they are


class PlainError(ValueError):
    """A value is not what its field needs."""

    def __init__(self, words: str, path: tuple[str, ...] = ()):
        self.words = words
        self.path = path
        super().__init__(words, path)

    def inside(self, step: str) -> PlainError:
        """The same error, seen from an object whose field or entry the value is."""
        return PlainError(self.words, (step, *self.path))

    def __str__(self) -> str:
        path = "".join(self.path).removeprefix(".") or "the content"
        return f"{path} {self.words}"


class Sink:
    """What is written beside the fields: arrays, and values that several objects share, each once."""

    def __init__(self) -> None:
        self.arrays = ArrayPacker()
        self.shared: list[Any] = []

    def place(self, plain: Any) -> int:
        """The place of a value among those that are shared."""
        if plain not in self.shared:
            self.shared.append(plain)
        return self.shared.index(plain)


class Source:
    """What was written beside the fields."""

    def __init__(self, arrays: Sequence[np.ndarray], shared: Sequence[Any]):
        self.arrays = arrays
        self.shared = shared
        self._read: dict[tuple[int, Form], Any] = {}
        self._open: set[int] = set()  # places of what is being read

    def array(self, place: Any) -> np.ndarray:
        """The array that has this place."""
        if type(place) is not int or not 0 <= place < len(self.arrays):
            raise PlainError("names an array that is not there")
        return self.arrays[place]

    def shared_value(self, place: Any, form: Form) -> Any:
        """The shared value that has this place: one object for all that share it."""
        if type(place) is not int or not 0 <= place < len(self.shared):
            raise PlainError("names a shared part that is not there")
        if (place, form) not in self._read:
            if place in self._open:
                raise PlainError("is a part of itself")
            self._open.add(place)
            self._read[place, form] = form.read(self.shared[place], self)
            self._open.discard(place)
        return self._read[place, form]


class Form(ABC):
    """How the values of a type are written and read."""

    @abstractmethod
    def write(self, value: Any, sink: Sink) -> Any:
        """The value as JSON can hold it."""

    @abstractmethod
    def read(self, plain: Any, source: Source) -> Any:
        """The value, or a `PlainError`."""


# What forms share.


def show(plain: Any) -> str:
    """A wrong value, in few characters."""
    text = repr(plain) if not isinstance(plain, int) or abs(plain) < 2**64 else "a very large number"
    return text if len(text) <= 40 else f"{text[:37]}..."


def at(step: str, convert: Callable[[Any, Any], Any], value: Any, other: Any) -> Any:
    """What `convert` makes of a value; an error has the step to the value in its path."""
    try:
        return convert(value, other)
    except PlainError as error:
        raise error.inside(step) from error.__cause__


def check_keys(plain: Any, names: Sequence[str]) -> None:
    """Refuse what is no dict of exactly these keys."""
    if not isinstance(plain, dict):
        raise PlainError(f"is not an object with {', '.join(names)} ({show(plain)})")
    for name in names:
        if name not in plain:
            raise PlainError("is missing", (f".{name}",))
    for name in plain:
        if name not in names:
            raise PlainError("is not known", (f".{name}",))
