"""Forms of single values, and of tuples, sets and mappings of values."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from vrspam.model.forms.base import FEW, Form, PlainError, Sink, Source, at, check_keys, show

LARGEST = sys.float_info.max


# Single values.


class Single(Form):
    """Values that JSON holds as they are, if they are of the type."""

    words: str

    @abstractmethod
    def fits(self, value: Any) -> bool:
        """Whether a value is of the type."""

    def write(self, value: Any, sink: Sink) -> Any:
        """The value itself."""
        if isinstance(value, np.generic):
            value = value.item()
        return self.read(value, None)  # type: ignore[arg-type]

    def read(self, plain: Any, source: Source) -> Any:
        """The value itself."""
        if not self.fits(plain):
            raise PlainError(f"is not {self.words} ({show(plain)})")
        return plain


class Number(Single):
    """Finite numbers."""

    words = "a finite number"

    def fits(self, value: Any) -> bool:
        """Whether a value is a number that a float can be."""
        return type(value) in (float, int) and abs(value) <= LARGEST  # which NaN is not

    def read(self, plain: Any, source: Source) -> float:
        """The number as a float."""
        if not self.fits(plain):
            raise PlainError(f"is not {self.words} ({show(plain)})")
        return float(plain)


class Whole(Single):
    """Whole numbers."""

    words = "a whole number"

    def fits(self, value: Any) -> bool:
        """Whether a value is a whole number of 64 bits."""
        return type(value) is int and abs(value) < 2**63


class Flag(Single):
    """True or false."""

    words = "true or false"

    def fits(self, value: Any) -> bool:
        """Whether a value is one of the two."""
        return isinstance(value, bool)


class Text(Single):
    """Texts."""

    words = "a text"

    def fits(self, value: Any) -> bool:
        """Whether a value is a text."""
        return isinstance(value, str)


class Scalar(Single):
    """Labels: texts, numbers, true or false."""

    words = "a label"

    def fits(self, value: Any) -> bool:
        """Whether a value can be a label."""
        return isinstance(value, bool | str) or (type(value) in (float, int) and abs(value) <= LARGEST)


class Choice(Single):
    """One of a few values."""

    def __init__(self, values: tuple[Any, ...]):
        self.values = values
        self.words = f"one of {', '.join(map(repr, values))}"

    def fits(self, value: Any) -> bool:
        """Whether a value is among them."""
        return isinstance(value, str) and value in self.values


# Values of values.


class Maybe(Form):
    """Values that may be missing."""

    def __init__(self, form: Form):
        self.form = form

    def write(self, value: Any, sink: Sink) -> Any:
        """None, or the value."""
        return None if value is None else self.form.write(value, sink)

    def read(self, plain: Any, source: Source) -> Any:
        """None, or the value."""
        return None if plain is None else self.form.read(plain, source)


class Several(Form):
    """Any number of values of one type, as a tuple."""

    def __init__(self, form: Form):
        self.form = form

    def write(self, value: Any, sink: Sink) -> list[Any]:
        """A list."""
        return [at(f"[{place}]", self.form.write, part, sink) for place, part in enumerate(value)]

    def read(self, plain: Any, source: Source) -> tuple[Any, ...]:
        """A tuple."""
        if not isinstance(plain, list):
            raise PlainError(f"is not a list ({show(plain)})")
        values = []
        for place, part in enumerate(plain):
            try:
                values.append(self.form.read(part, source))
            except PlainError as error:
                raise error.inside(f"[{place}]") from error.__cause__
        return tuple(values)


class Texts(Form):
    """Tuples of texts: many of them are written once for all objects that have the same."""

    words = "a list of texts"

    def write(self, value: Any, sink: Sink) -> Any:
        """A list of few texts, or its place among what is shared."""
        for place, text in enumerate(value):
            if not isinstance(text, str):
                raise PlainError(f"is not a text ({show(text)})", (f"[{place}]",))
        texts = list(value)
        return {"shared": sink.place(texts)} if len(texts) > FEW else texts

    def read(self, plain: Any, source: Source) -> tuple[str, ...]:
        """A tuple."""
        if isinstance(plain, dict):
            check_keys(plain, ("shared",))
            return source.shared_value(plain["shared"], self)
        if not isinstance(plain, list):
            raise PlainError(f"is not {self.words} ({show(plain)})")
        for place, text in enumerate(plain):
            if not isinstance(text, str):
                raise PlainError(f"is not a text ({show(text)})", (f"[{place}]",))
        return tuple(plain)


TEXTS = Texts()


class Fixed(Form):
    """A tuple whose entries have a type each."""

    def __init__(self, forms: Sequence[Form]):
        self.forms = forms

    def write(self, value: Any, sink: Sink) -> list[Any]:
        """A list."""
        entries = enumerate(zip(self.forms, value, strict=True))
        return [at(f"[{place}]", form.write, part, sink) for place, (form, part) in entries]

    def read(self, plain: Any, source: Source) -> tuple[Any, ...]:
        """A tuple."""
        if not isinstance(plain, list) or len(plain) != len(self.forms):
            raise PlainError(f"is not a list of {len(self.forms)} ({show(plain)})")
        values = []
        for place, (form, part) in enumerate(zip(self.forms, plain, strict=True)):
            try:
                values.append(form.read(part, source))
            except PlainError as error:
                raise error.inside(f"[{place}]") from error.__cause__
        return tuple(values)


class Different(Form):
    """A set of texts."""

    def write(self, value: Any, sink: Sink) -> list[str]:
        """A sorted list."""
        return sorted(value)

    def read(self, plain: Any, source: Source) -> frozenset[str]:
        """A set."""
        return frozenset(TEXTS.read(plain, source))


class Named(Form):
    """Values of one type by their names."""

    def __init__(self, form: Form):
        self.form = form

    def write(self, value: Any, sink: Sink) -> dict[str, Any]:
        """A dict."""
        return {name: at(f".{name}", self.form.write, part, sink) for name, part in value.items()}

    def read(self, plain: Any, source: Source) -> dict[str, Any]:
        """A dict."""
        if not isinstance(plain, dict):
            raise PlainError(f"is not values by name ({show(plain)})")
        values = {}
        for name, part in plain.items():
            try:
                values[name] = self.form.read(part, source)
            except PlainError as error:
                raise error.inside(f".{name}") from error.__cause__
        return values


class OwnForm(Form):
    """Objects that make themselves plain, and are read back by a function that checks them."""

    def __init__(self, write: Callable[[Any], Any], read: Callable[[Any], Any]):
        self._write = write
        self._read = read

    def write(self, value: Any, sink: Sink) -> Any:
        """What they make of themselves."""
        return self._write(value)

    def read(self, plain: Any, source: Source) -> Any:
        """The object."""
        try:
            return self._read(plain)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            words = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise PlainError(f"does not fit: {words}") from error
