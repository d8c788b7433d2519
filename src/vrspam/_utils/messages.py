"""Messages that are made of templates."""

import string
from typing import Any, Self

from vrspam._utils.extras import how_to_install as how_to_install
from vrspam._utils.findings import Fix, Note, VrspamError

Parameter = Fix


class Message(Note):
    """A note that is made of a template and fields; a field that is a `Fix` is an option.

    A field of the template that is not given is the option of that name; `drop`, `categorical` and `include` name
    the column that the message is about, if that is a field.

    >>> print(Message("column {column!r} is empty: leave it out with {drop}", column="day"))
    column 'day' is empty: leave it out with drop=['day']
    """

    fields: dict[str, Any]

    def __new__(cls, template: str, /, **fields: Any) -> Self:
        if not fields:
            new = super().__new__(cls, template)
            new.fields = {}
            return new
        parts: list[str | Fix] = []
        for literal, name, form, conversion in string.Formatter().parse(template):
            parts.append(literal)
            if name is None:  # the text after the last field
                continue
            if name not in fields:
                about = "column" in fields and name in ("drop", "categorical", "include")
                fields[name] = Fix(name, [fields["column"]] if about else None)
            value = fields[name]
            if isinstance(value, Fix):
                parts.append(value)
            elif isinstance(value, Note):
                parts += value.parts
            else:
                parts.append(format(repr(value) if conversion == "r" else value, form or ""))
        new = super().__new__(cls, *parts)
        new.fields = fields
        return new

    def __reduce__(self) -> Any:
        return Note, self.parts


class WordedError(VrspamError):
    """An error whose text is a `Message`, if it has fields; they are kept as `error.note.fields`."""

    def __init__(self, *parts: str | Fix, **fields: Any):
        super().__init__(*parts)
        first = parts[0]
        if isinstance(first, Message):
            self.note = first
        elif fields:
            self.note = Message(str(first), **fields)
        self.args = (str(self.note),)
