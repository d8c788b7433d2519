"""What the plain forms of a model share: they are written column by column, for people to review."""

from __future__ import annotations

from typing import Any

import vrspam
from vrspam._utils.findings import Fix
from vrspam.model.inputs import DATE, TEXT, NotExportable
from vrspam.model.model import Model, model_of
from vrspam.tables.kinds.dates import HOUR, MONTH, WEEKDAY, YEAR

WRITTEN_BY = f"Written by vrspam {vrspam.__version__}."
_DATE_PARTS = {
    YEAR: "the position in time, 1970 + days since 1970-01-01 / 365.2425",
    MONTH: "the month, 1 to 12",
    WEEKDAY: "the day of the week, 1 for Monday to 7 for Sunday",
    HOUR: "the hour, 0 to 23",
}


def additive_model(estimator: Any, language: str) -> Model:
    """The model of an estimator whose score is a sum over columns; others are refused with the reason."""
    model = model_of(estimator)
    joint_parts = []
    if model.parts.kernels:
        joint_parts.append("a kernel")
    if model.parts.trees:
        joint_parts.append("trees")
    if joint_parts:
        raise NotExportable(
            f"The score has parts that depend on several columns at once ({' and '.join(joint_parts)}), and {language} "
            "is written column by column: export ONNX instead, or train with ",
            Fix("features", "additive"),
            ".",
        )
    return model


def describe_column(model: Model, number: int) -> str:
    """What a column holds, as a comment says it."""
    column = model.columns[number]
    source = model.inputs[column.source]
    if source.kind == DATE:
        return f"{column.name!r}: of the date in {source.name!r} {_DATE_PARTS[str(column.part)]}."
    kind = "a number"
    if source.kind == TEXT:
        kind = "text"
    return f"{column.name!r}: {kind}. {source.note}".strip()
