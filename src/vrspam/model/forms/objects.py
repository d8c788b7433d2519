"""Forms of objects, by the fields of their classes; and the form of each type."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from vrspam._utils.findings import Note, note_from_plain
from vrspam._utils.stored import FLAGS, GAPS, NEVER, ONCE, TEXTS_TOO, WHOLE
from vrspam.model.forms.arrays import Array, ArrayOrTexts, ArrayWithGaps, FlagArray, NamedNumbers, WholeArray
from vrspam.model.forms.base import Form, PlainError, Sink, Source, at, check_keys, show
from vrspam.model.forms.values import (
    TEXTS,
    Choice,
    Different,
    Fixed,
    Flag,
    Maybe,
    Named,
    Number,
    OwnForm,
    Scalar,
    Several,
    Text,
    Whole,
)
from vrspam.tables.kinds.base import KindOfText
from vrspam.tables.schema import kind_from_plain


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
        check_keys(plain, ("shared",))
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
            plain[name] = at(f".{name}", form.write, getattr(value, name), sink)
        return plain

    def read(self, plain: Any, source: Source) -> Any:
        """The object, whose fields fit together."""
        check_keys(plain, self.keys)
        values = {}
        for name, form in self.forms.items():
            try:
                values[name] = form.read(plain[name], source)
            except PlainError as error:
                raise error.inside(f".{name}") from error.__cause__
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
            raise PlainError(f"is of the kind {show(kind)}, which is not known ({', '.join(self.forms)})")
        return self.forms[plain["kind"]].read(plain, source)


# The form of each type.


def _write_note(note: str) -> Any:
    return note.to_plain() if isinstance(note, Note) else note


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
