"""Objects as plain values that JSON can hold, and back: by the fields of their classes and the types of these fields.

A class needs no code of its own. What its fields must fulfil together says its method `check`, which is called for each
object that is read. Whatever is refused is named by its path, such as "facts.rows". Objects of one of several classes
have the name of their class as `kind`. Arrays of more than a few numbers are packed (`vrspam.model.packing`).
"""

from __future__ import annotations

import dataclasses
import sys
import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from vrspam._utils.findings import Note, note_from_plain
from vrspam._utils.stored import FLAGS, GAPS, NEVER, ONCE, TEXTS_TOO, WHOLE
from vrspam.model.packing import ArrayPacker, unpack_arrays
from vrspam.tables.kinds.base import KindOfText
from vrspam.tables.schema import kind_from_plain

FEW = 32  # numbers of an array, or texts, that stay where they are
LARGEST = sys.float_info.max


def to_plain(value: Any) -> dict[str, Any]:
    """The fields of an object, with its arrays and what is shared in lists beside them."""
    sink = Sink()
    kind: Any = type(value)
    fields = form_of(kind).write(value, sink)
    return {"fields": fields, "shared": sink.shared, "arrays": sink.arrays.packed}


def from_plain(kind: Any, plain: Any) -> Any:
    """The object of a class that `to_plain` made plain; a `PlainError` says which field is wrong, and why."""
    _check_keys(plain, ("fields", "shared", "arrays"))
    if not isinstance(plain["shared"], list):
        raise PlainError("is not a list", ("shared",))
    source = Source(unpack_arrays(plain["arrays"]), plain["shared"])
    return form_of(kind).read(plain["fields"], source)


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


# Forms: how values of one type are written and read.


class Form(ABC):
    """How the values of a type are written and read."""

    @abstractmethod
    def write(self, value: Any, sink: Sink) -> Any:
        """The value as JSON can hold it."""

    @abstractmethod
    def read(self, plain: Any, source: Source) -> Any:
        """The value, or a `PlainError`."""


def _shown(plain: Any) -> str:
    """A wrong value, in few characters."""
    text = repr(plain) if not isinstance(plain, int) or abs(plain) < 2**64 else "a very large number"
    return text if len(text) <= 40 else f"{text[:37]}..."


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
            raise PlainError(f"is not {self.words} ({_shown(plain)})")
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
            raise PlainError(f"is not {self.words} ({_shown(plain)})")
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
        return [_at(f"[{place}]", self.form.write, part, sink) for place, part in enumerate(value)]

    def read(self, plain: Any, source: Source) -> tuple[Any, ...]:
        """A tuple."""
        if not isinstance(plain, list):
            raise PlainError(f"is not a list ({_shown(plain)})")
        return tuple(_at(f"[{place}]", self.form.read, part, source) for place, part in enumerate(plain))


class Texts(Form):
    """Tuples of texts: many of them are written once for all objects that have the same."""

    words = "a list of texts"

    def write(self, value: Any, sink: Sink) -> Any:
        """A list of few texts, or its place among what is shared."""
        for place, text in enumerate(value):
            if not isinstance(text, str):
                raise PlainError(f"is not a text ({_shown(text)})", (f"[{place}]",))
        texts = list(value)
        return {"shared": sink.place(texts)} if len(texts) > FEW else texts

    def read(self, plain: Any, source: Source) -> tuple[str, ...]:
        """A tuple."""
        if isinstance(plain, dict):
            _check_keys(plain, ("shared",))
            return source.shared_value(plain["shared"], self)
        if not isinstance(plain, list):
            raise PlainError(f"is not {self.words} ({_shown(plain)})")
        for place, text in enumerate(plain):
            if not isinstance(text, str):
                raise PlainError(f"is not a text ({_shown(text)})", (f"[{place}]",))
        return tuple(plain)


TEXTS = Texts()


class Fixed(Form):
    """A tuple whose entries have a type each."""

    def __init__(self, forms: Sequence[Form]):
        self.forms = forms

    def write(self, value: Any, sink: Sink) -> list[Any]:
        """A list."""
        entries = enumerate(zip(self.forms, value, strict=True))
        return [_at(f"[{place}]", form.write, part, sink) for place, (form, part) in entries]

    def read(self, plain: Any, source: Source) -> tuple[Any, ...]:
        """A tuple."""
        if not isinstance(plain, list) or len(plain) != len(self.forms):
            raise PlainError(f"is not a list of {len(self.forms)} ({_shown(plain)})")
        entries = enumerate(zip(self.forms, plain, strict=True))
        return tuple(_at(f"[{place}]", form.read, part, source) for place, (form, part) in entries)


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
        return {name: _at(f".{name}", self.form.write, part, sink) for name, part in value.items()}

    def read(self, plain: Any, source: Source) -> dict[str, Any]:
        """A dict."""
        if not isinstance(plain, dict):
            raise PlainError(f"is not values by name ({_shown(plain)})")
        return {name: _at(f".{name}", self.form.read, part, source) for name, part in plain.items()}


class NamedNumbers(Form):
    """Finite numbers by name: of many, the numbers are an array."""

    def write(self, value: Any, sink: Sink) -> dict[str, Any]:
        """The names, and an array."""
        numbers = np.array([float(number) for number in value.values()], dtype=np.float64)
        return {
            "names": TEXTS.write(tuple(value), sink),
            "numbers": _at(".numbers", Array().write, numbers, sink),
        }

    def read(self, plain: Any, source: Source) -> dict[str, float]:
        """A dict."""
        _check_keys(plain, ("names", "numbers"))
        names = _at(".names", TEXTS.read, plain["names"], source)
        numbers = _at(".numbers", Array().read, plain["numbers"], source)
        if numbers.shape != (len(names),) or len(set(names)) < len(names):
            raise PlainError("needs different names, with a number each")
        return dict(zip(names, numbers.tolist(), strict=True))


class Array(Form):
    """Arrays of finite numbers, as floats."""

    words = "an array of finite numbers"
    kinds = "fiu"

    def write(self, value: Any, sink: Sink) -> Any:
        """A list of few numbers, or the place of the packed array."""
        array = np.asarray(value)
        self.check(array)
        if array.size > FEW:
            return {"array": sink.arrays.place(array)}
        return array.tolist()

    def read(self, plain: Any, source: Source) -> np.ndarray:
        """The array."""
        if isinstance(plain, dict):
            _check_keys(plain, ("array",))
            array = source.array(plain["array"])
        else:
            array = self.from_list(plain)
        self.check(array)
        return self.typed(array)

    def from_list(self, plain: Any) -> np.ndarray:
        """The array of numbers that stayed readable."""
        if not isinstance(plain, list):
            raise PlainError(f"is not {self.words} ({_shown(plain)})")
        try:
            return np.array(plain) if plain else np.empty(0)
        except (ValueError, OverflowError) as error:
            raise PlainError(f"is not {self.words} ({_shown(plain)})") from error

    def check(self, array: np.ndarray) -> None:
        """Refuse arrays of something else."""
        if array.dtype.kind not in self.kinds:
            raise PlainError(f"holds something else than {self.words.partition(' of ')[2]}")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise PlainError("holds numbers that are not finite")

    def typed(self, array: np.ndarray) -> np.ndarray:
        """The array as the code takes it."""
        return array.astype(np.float64, copy=False)


class ArrayWithGaps(Array):
    """Arrays of numbers that are finite, or NaN where there is none."""

    words = "an array of numbers"

    def write(self, value: Any, sink: Sink) -> Any:
        """As other arrays; in lists None stands for NaN."""
        plain = super().write(value, sink)
        return _without_nan(plain) if isinstance(plain, list) else plain

    def from_list(self, plain: Any) -> np.ndarray:
        """The array of numbers that stayed readable."""
        return super().from_list(_with_nan(plain) if isinstance(plain, list) else plain)

    def check(self, array: np.ndarray) -> None:
        """Refuse arrays of something else."""
        if array.dtype.kind not in self.kinds:
            raise PlainError("holds something else than numbers")
        if np.isinf(array).any():
            raise PlainError("holds numbers that are not finite")


class WholeArray(Array):
    """Arrays of whole numbers of 32 bits."""

    words = "an array of whole numbers"
    kinds = "iu"

    def check(self, array: np.ndarray) -> None:
        """Refuse arrays of something else."""
        super().check(array)
        if array.size and max(-int(array.min()), int(array.max())) > 2**31 - 1:
            raise PlainError("holds whole numbers that are too large")

    def from_list(self, plain: Any) -> np.ndarray:
        """The array of numbers that stayed readable."""
        array = super().from_list(plain)
        return array if array.size else array.astype(np.int32)

    def typed(self, array: np.ndarray) -> np.ndarray:
        """The array as compiled code takes it."""
        return array.astype(np.int32, copy=False)


class FlagArray(Array):
    """Arrays of flags; packed ones are 0 or 1."""

    words = "an array of flags"
    kinds = "biu"

    def check(self, array: np.ndarray) -> None:
        """Refuse arrays of something else."""
        super().check(array)
        if array.size and not (array.min() >= 0 and array.max() <= 1):
            raise PlainError("holds something else than flags")

    def typed(self, array: np.ndarray) -> np.ndarray:
        """The array as compiled code takes it."""
        return array.astype(bool)


class ArrayOrTexts(Form):
    """An array of finite numbers, or of texts."""

    def write(self, value: Any, sink: Sink) -> Any:
        """An array, or a list of texts."""
        if value.dtype.kind == "O":
            return {"texts": TEXTS.write(value.tolist(), sink)}
        return Array().write(value, sink)

    def read(self, plain: Any, source: Source) -> np.ndarray:
        """The array."""
        if isinstance(plain, dict) and "texts" in plain:
            _check_keys(plain, ("texts",))
            return np.array(_at(".texts", TEXTS.read, plain["texts"], source), dtype=object)
        return Array().read(plain, source)


def _without_nan(plain: Any) -> Any:
    if isinstance(plain, list):
        return [_without_nan(part) for part in plain]
    return None if plain != plain else plain


def _with_nan(plain: Any) -> Any:
    if isinstance(plain, list):
        return [_with_nan(part) for part in plain]
    return float("nan") if plain is None else plain


class SharedForm(Form):
    """Values that several objects share; equal ones are written once, and are one object when they are read."""

    def __init__(self, form: Form):
        self.form = form

    def write(self, value: Any, sink: Sink) -> dict[str, int]:
        """The place of the value among those that are shared."""
        plain = self.form.write(value, sink)
        return {"shared": sink.place(plain)}

    def read(self, plain: Any, source: Source) -> Any:
        """The value that has this place."""
        _check_keys(plain, ("shared",))
        return source.shared_value(plain["shared"], self.form)


class Fields(Form):
    """Objects of a dataclass or named tuple: the fields with their names."""

    def __init__(self, kind: type, *, tagged: bool = False):
        self.kind = kind
        self.tagged = tagged
        self.forms: dict[str, Form] = {}
        hints = get_type_hints(kind, include_extras=True)
        for name in field_names(kind):
            if not _is_never_written(hints[name]):
                self.forms[name] = form_of(hints[name])
        self.keys = (*(("kind",) if tagged else ()), *self.forms)

    def write(self, value: Any, sink: Sink) -> dict[str, Any]:
        """A dict, with the name of the class if it is one of several."""
        plain: dict[str, Any] = {"kind": self.kind.__name__} if self.tagged else {}
        for name, form in self.forms.items():
            plain[name] = _at(f".{name}", form.write, getattr(value, name), sink)
        return plain

    def read(self, plain: Any, source: Source) -> Any:
        """The object, whose fields fit together."""
        _check_keys(plain, self.keys)
        values = {name: _at(f".{name}", form.read, plain[name], source) for name, form in self.forms.items()}
        try:
            value = self.kind(**values)
            if hasattr(value, "check"):
                value.check()
        except (ValueError, TypeError) as error:
            if isinstance(error, PlainError):
                raise
            raise PlainError(f"does not fit: {error}") from error
        return value


class OneOf(Form):
    """Objects of one of several classes, which their `kind` names."""

    def __init__(self, kinds: Sequence[type]):
        self.forms = {kind.__name__: Fields(kind, tagged=True) for kind in kinds}

    def write(self, value: Any, sink: Sink) -> Any:
        """The fields, and the name of the class."""
        name = type(value).__name__
        if name not in self.forms:
            raise PlainError(f"is a {name}, which no file can hold")
        return self.forms[name].write(value, sink)

    def read(self, plain: Any, source: Source) -> Any:
        """The object."""
        if not isinstance(plain, dict) or not isinstance(plain.get("kind"), str) or plain["kind"] not in self.forms:
            kind = plain.get("kind") if isinstance(plain, dict) else plain
            raise PlainError(f"is of the kind {_shown(kind)}, which is not known ({', '.join(self.forms)})")
        return self.forms[plain["kind"]].read(plain, source)


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


def _write_note(note: str) -> Any:
    return note.to_plain() if isinstance(note, Note) else note


# The form of each type.


@cache
def form_of(hint: Any) -> Form:
    """The form of a type, as it stands in the declaration of a field."""
    if hint in _FORMS:
        return _FORMS[hint]
    origin = get_origin(hint)
    arguments = get_args(hint)
    if origin is Annotated:
        return _annotated_form(*arguments)
    if origin in (Union, types.UnionType):
        return _form_of_union(arguments)
    if origin is Literal:
        return Choice(arguments)
    if origin is tuple and arguments[-1:] == (...,):
        form = form_of(arguments[0])
        return TEXTS if isinstance(form, Text) else Several(form)
    if origin is tuple:
        return Fixed([form_of(argument) for argument in arguments])
    if origin is not None and issubclass(origin, Mapping):
        values = form_of(arguments[1])
        return NamedNumbers() if isinstance(values, Number) else Named(values)
    if origin is not None and issubclass(origin, Sequence):
        return Several(form_of(arguments[0]))
    if isinstance(hint, type) and field_names(hint):
        return Fields(hint)
    raise TypeError(f"no file can hold a field of the type {hint}")


_FORMS: dict[Any, Form] = {
    float: Number(),
    int: Whole(),
    bool: Flag(),
    str: Text(),
    bool | int | float | str: Scalar(),
    frozenset[str]: Different(),
    np.ndarray: Array(),
    KindOfText: OwnForm(KindOfText.to_dict, kind_from_plain),
    str | Note: OwnForm(_write_note, note_from_plain),
}
_ARRAYS: dict[str, Form] = {
    WHOLE: WholeArray(),
    FLAGS: FlagArray(),
    GAPS: ArrayWithGaps(),
    TEXTS_TOO: ArrayOrTexts(),
}


def _annotated_form(hint: Any, note: Any) -> Form:
    """The form of a type with a note, which says how files hold it."""
    if isinstance(note, type):
        return form_of(note)
    if note == ONCE:
        return SharedForm(form_of(hint))
    return _ARRAYS[note]


def _form_of_union(hints: Sequence[Any]) -> Form:
    """The form of one of several types, or of None."""
    kinds = [hint for hint in hints if hint is not types.NoneType]
    form = form_of(kinds[0]) if len(kinds) == 1 else OneOf(kinds)
    return Maybe(form) if len(kinds) < len(hints) else form


def _is_never_written(hint: Any) -> bool:
    return get_origin(hint) is Annotated and get_args(hint)[1] == NEVER


def field_names(kind: type) -> tuple[str, ...]:
    """The fields that make an object of a dataclass or named tuple; none of another class."""
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind) if field.init)
    return getattr(kind, "_fields", ())


def _at(step: str, convert: Callable[[Any, Any], Any], value: Any, other: Any) -> Any:
    """What `convert` makes of a value; an error has the step to the value in its path."""
    try:
        return convert(value, other)
    except PlainError as error:
        raise error.inside(step) from error.__cause__


def _check_keys(plain: Any, names: Sequence[str]) -> None:
    """Refuse what is no dict of exactly these keys."""
    if not isinstance(plain, dict):
        raise PlainError(f"is not an object with {', '.join(names)} ({_shown(plain)})")
    for name in names:
        if name not in plain:
            raise PlainError("is missing", (f".{name}",))
    for name in plain:
        if name not in names:
            raise PlainError("is not known", (f".{name}",))
