"""Objects as plain values that JSON can hold, and back: by the fields of their classes and the types of these fields.

A class needs no code of its own. What its fields must fulfil together says its method `check`, which is called for each
object that is read. Whatever is refused is named by its path, such as "facts.rows". Objects of one of several classes
have the name of their class as `kind`. Arrays of more than a few numbers are packed (`vrspam.model.packing`).
"""

from __future__ import annotations

from typing import Any

from vrspam.model.forms.base import PlainError, Sink, Source, check_keys
from vrspam.model.forms.objects import form_of
from vrspam.model.packing import unpack_arrays


def to_plain(value: Any) -> dict[str, Any]:
    """The fields of an object, with its arrays and what is shared in lists beside them."""
    sink = Sink()
    kind: Any = type(value)
    fields = form_of(kind).write(value, sink)
    return {"fields": fields, "shared": sink.shared, "arrays": sink.arrays.packed}


def from_plain(kind: Any, plain: Any) -> Any:
    """The object of a class that `to_plain` made plain; a `PlainError` says which field is wrong, and why."""
    check_keys(plain, ("fields", "shared", "arrays"))
    if not isinstance(plain["shared"], list):
        raise PlainError("is not a list", ("shared",))
    source = Source(unpack_arrays(plain["arrays"]), plain["shared"])
    return form_of(kind).read(plain["fields"], source)
