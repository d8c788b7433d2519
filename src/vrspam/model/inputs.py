"""The columns that a model takes: as they come from outside, and as its parts take them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

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


def named_columns(
    names: Sequence[str], numeric: Sequence[bool], schema: Schema | None
) -> tuple[tuple[Input, ...], tuple[Column, ...]]:
    """The inputs from which columns of these names are made, and the columns; `numeric` says which hold numbers.

    >>> from vrspam.tables.kinds.numbers import Numbers
    >>> from vrspam.tables.schema import Schema
    >>> inputs, _ = named_columns(["income"], [True], Schema(readings={"income": Numbers(".", ",", "$")}))
    >>> inputs[0].note
    "In training this was text such as '$1,234.5': give the number, 1234.5."
    """
    made = {} if schema is None else schema.made()
    inputs: dict[Any, Input] = {}
    places: dict[Any, int] = {}
    columns: list[Column] = []
    for name, is_number in zip(names, numeric, strict=True):
        source, part = made.get(name, (name, ""))
        if source not in inputs:
            kind = None if schema is None else schema.readings.get(source)
            number = Input(str(source), NUMBER if is_number else TEXT, "" if kind is None else kind.hint)
            places[source], inputs[source] = len(inputs), number
            if isinstance(kind, Dates):
                inputs[source] = Input(str(source), DATE)
        columns.append(Column(name, places[source], part or None))
    return tuple(inputs.values()), tuple(columns)
