"""The columns that a model takes: as they come from outside, and as its parts take them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from vrspam._utils.findings import VrspamError
from vrspam.tables.kinds.dates import Dates
from vrspam.tables.schema import Schema

NUMBER, TEXT, DATE = "number", "text", "date"


class NotExportable(VrspamError):
    """A model, or a part of one, that the format cannot hold; the message says why.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vrspam import OneVsRestAUC
    >>> from vrspam.export import to_sql
    >>> to_sql(OneVsRestAUC().fit(*load_iris(return_X_y=True)))
    Traceback (most recent call last):
    vrspam.model.inputs.NotExportable: OneVsRestAUC has 3 scores for each row: export an estimator of two classes ...
    """


@dataclass(frozen=True)
class Input:
    """A column as it comes from outside."""

    name: str
    kind: str = NUMBER  # {"number", "text", "date"}
    note: str = ""  # what the reader should know of its values, as a sentence; "" for nothing


@dataclass(frozen=True)
class Column:
    """A column as the model takes it: the input of number `source` or, if this is a date, one part of the date."""

    name: str
    source: int
    part: str | None = None  # one of `Dates.parts`


def check_utf8(texts: Iterable[str], language: str) -> None:
    """Refuse texts that no file in UTF-8 holds, and so no program that the model is exported to."""
    for text in texts:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise NotExportable(
                f"{text!r} holds half of a surrogate pair, which {language} cannot hold: correct the text, and train "
                "again."
            ) from error


class TakenColumns(NamedTuple):
    """The columns that a model takes."""

    inputs: tuple[Input, ...]
    columns: tuple[Column, ...]  # made from the inputs, in the order in which the parts of the score take them


def is_matrix(schema: Schema) -> bool:
    """Whether the columns are those of one matrix, and have no names."""
    return schema.width is not None and not schema.numeric


def column_names(schema: Schema) -> tuple[str, ...]:
    """The columns in the order in which the parts of a score take them: that of a frame, or numbers first."""
    if schema.source:
        return tuple(str(name) for name in schema.names)
    return schema.columns


def taken_columns(schema: Schema) -> TakenColumns:
    """The inputs of a model, and the columns that are made from them.

    >>> from vrspam.tables.kinds.numbers import Numbers
    >>> from vrspam.tables.schema import Schema
    >>> schema = Schema(("income",), readings={"income": Numbers(".", ",", "$")})
    >>> taken_columns(schema).inputs[0].note
    "In training this was text such as '$1,234.5': give the number, 1234.5."
    """
    made = schema.made()
    inputs: dict[Any, Input] = {}
    places: dict[Any, int] = {}
    columns: list[Column] = []
    for name in column_names(schema):
        source, part = made.get(name, (name, ""))
        if source not in inputs:
            places[source] = len(inputs)
            inputs[source] = _input(source, schema, is_text=name in schema.categorical)
        columns.append(Column(name, places[source], part or None))
    return TakenColumns(tuple(inputs.values()), tuple(columns))


def _input(source: Any, schema: Schema, *, is_text: bool) -> Input:
    """A column as it comes from outside, of its kind."""
    reading = schema.readings.get(source)
    if isinstance(reading, Dates):
        return Input(str(source), DATE)
    note = "" if reading is None else reading.hint
    return Input(str(source), TEXT if is_text else NUMBER, note)
