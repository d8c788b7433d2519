"""`to_sql`: a linear or additive model as one expression of standard SQL, column by column, for people to review."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from vrspam.export.additive import WRITTEN_BY, additive_model, describe_column
from vrspam.features.parts import CategoryPart, CurvePart, Effect
from vrspam.model.inputs import DATE, NotExportable, check_utf8
from vrspam.model.model import Model
from vrspam.model_selection.calibration import Sigmoid

MOST_TERMS = 100  # of a sum without parentheses: engines limit the depth of an expression
_BOOLEANS = {"True": ["True", "true", "1"], "False": ["False", "false", "0"]}  # as engines show them


class _Case(NamedTuple):
    """What a column adds under a condition."""

    condition: str
    height: str


def to_sql(model: Any) -> str:
    """Return the score of a linear or additive model as one expression of standard SQL.

    Parameters
    ----------
    model : fitted estimator of this package, or `vrspam.tool.Model`
        Its score must be a sum over columns: no map, "standardized", "additive", or a blend of these.

    Returns
    -------
    str
        The expression, with comments: ``SELECT id, (<expression>) AS score FROM patients``. NULL and NaN are missing
        values. Scores equal those of the model to 1e-12 of their spread. Dates have no standard arithmetic in SQL:
        their parts are columns that the query must give, and comments say what each of them is.

    Raises
    ------
    NotExportable
        With the reason, where the score is not a sum over columns.

    Examples
    --------
    >>> import sqlite3
    >>> import pandas as pd
    >>> from vrspam import AUCClassifierCV
    >>> from vrspam.export import to_sql
    >>> table = pd.DataFrame({"age": [30, 50, 41, 63] * 20, "town": ["Graz", "Linz", "Linz", "Graz"] * 20})
    >>> model = AUCClassifierCV(features="additive").fit(table, [False, False, True, True] * 20)
    >>> with sqlite3.connect(":memory:") as database:
    ...     _ = table.to_sql("patients", database, index=False)
    ...     scores = [score for (score,) in database.execute(f"SELECT ({to_sql(model)}) FROM patients")]
    >>> bool(abs(scores - model.decision_function(table)).max() < 1e-12)
    True
    """
    model = additive_model(model, "SQL")
    comments = [
        f"The score of a row: higher means {model.outcome.higher}. {WRITTEN_BY}",
        "NULL is a missing value, and so are NaN, infinity and an empty text. Texts are compared letter by letter.",
    ]
    if not model.ranks:
        comments += [*_label_comments(model), *_probability_comments(model)]

    terms = [_number(model.intercept)]
    for number, (column, effect) in enumerate(zip(model.columns, model.effects, strict=True)):
        source = model.inputs[column.source]
        name = source.name
        if source.kind == DATE:  # the query gives its parts
            name = column.name
        identifier = _quoted(name, '"')
        terms.append(f"-- {describe_column(model, number)}\n{_effect(effect, identifier)}")

    lines = [f"-- {comment}" for comment in comments]
    return "\n".join([*lines, _sum(terms), ""])


def _label_comments(model: Model) -> list[str]:
    """Which rows have the positive label; nothing where the probability decides."""
    positive = model.classes[1]
    threshold = model.threshold
    if threshold is not None:
        return [f"Label: {positive!r} where the score is at least {threshold.threshold!r} ({threshold.words})."]
    if model.limit is not None:
        return [f"Label: {positive!r} where the score is above {model.limit!r}."]
    return []


def _probability_comments(model: Model) -> list[str]:
    """How a probability follows from the score; nothing without a calibration."""
    calibration = model.calibration
    if calibration is None:
        return []
    if isinstance(calibration, Sigmoid):
        slope = _number(calibration.slope)
        offset = _number(calibration.offset - calibration.slope * model.baseline)
        positive = model.classes[1]
        return [f"Probability of {positive!r}: 1E0 / (1E0 + EXP(-({slope} * score + {offset})))."]
    return ["Probabilities (isotonic) are not in this expression; the Python export has them."]


def _sum(terms: list[str]) -> str:
    """The sum of terms, in parentheses for each hundred of many."""
    if len(terms) > MOST_TERMS:
        groups = [terms[start : start + MOST_TERMS] for start in range(0, len(terms), MOST_TERMS)]
        terms = ["(\n" + "\n+\n".join(group) + "\n)" for group in groups]
    return "\n+\n".join(terms)


def _number(value: float) -> str:
    """A number in double precision: without an exponent it would be a decimal.

    >>> _number(0.5), _number(-1e-7), _number(float("nan"))
    ('0.5E0', '(-1E-07)', 'NULL')
    """
    if np.isnan(value):
        return "NULL"
    digits = repr(abs(float(value))).upper()
    if "E" not in digits:
        digits = f"{digits}E0"
    if value < 0.0:
        return f"(-{digits})"
    return digits


def _quoted(text: str, sign: str) -> str:
    """An identifier (") or a text ('), with quotation marks in it doubled.

    >>> print(_quoted('5" pipes', '"'), _quoted("O'Brien", "'"))
    "5"" pipes" 'O''Brien'
    """
    if "\0" in text:
        raise NotExportable(f"{text!r} holds a NUL character, which SQL cannot hold: remove it, and train again.")
    check_utf8([text], "SQL")
    return f"{sign}{text.replace(sign, 2 * sign)}{sign}"


def _effect(effect: Effect | None, name: str) -> str:
    """What a column adds."""
    if effect is None:
        return "0E0"
    if isinstance(effect, CategoryPart):
        return _categories(effect, name)
    number = f"CAST({name} AS DOUBLE PRECISION)"  # BOOLEAN has no arithmetic, and text has another order
    is_missing = f"COALESCE(0E0 * {number}, 1E0) <> 0E0"  # true for NULL, NaN and infinity
    if effect.is_line:
        return _straight_line(effect, number, is_missing)
    return _curve(effect, number, is_missing)


def _straight_line(curve: CurvePart, number: str, is_missing: str) -> str:
    line = _line(curve.values[0], curve.left, number, curve.nodes[0])
    if np.isnan(curve.missing):  # NULL stays NULL
        return f"({line})"
    return f"CASE WHEN {is_missing} THEN {_number(curve.missing)} ELSE {line} END"


def _curve(curve: CurvePart, number: str, is_missing: str) -> str:
    """Straight lines, from left to right."""
    heights = []
    for base, value, slope in zip(*(part.tolist() for part in curve.segments), strict=True):
        if slope:
            heights.append(_line(value, slope, number, base))
        else:
            heights.append(_number(value))

    cases = [_Case(is_missing, _number(curve.missing))]
    for upper, height in zip(curve.nodes, heights[:-1], strict=True):
        cases.append(_Case(f"{number} < {_number(upper)}", height))
    return _case_expression(cases, heights[-1])


def _categories(part: CategoryPart, name: str) -> str:
    """A height for each text."""
    is_boolean = set(part.values) <= set(_BOOLEANS)
    if is_boolean or any(text.replace(".", "").isdigit() for text in part.values):  # the column may hold no text
        name = f"CAST({name} AS VARCHAR)"

    is_missing = f"{name} IS NULL"
    if "" not in part.values:
        is_missing += f" OR {name} = ''"
    cases = [_Case(is_missing, _number(part.missing))]
    for text, height in part.values.items():
        if is_boolean:
            texts = [_quoted(spelling, "'") for spelling in _BOOLEANS[text]]
            condition = f"{name} IN ({', '.join(texts)})"
        else:
            quoted = _quoted(text, "'")
            condition = f"{name} = {quoted}"
        cases.append(_Case(condition, _number(height)))
    return _case_expression(cases, _number(part.other))


def _case_expression(cases: list[_Case], other: str) -> str:
    """The height of the first case whose condition holds."""
    first, *later = cases
    lines = [f"CASE WHEN {first.condition} THEN {first.height}"]
    for case in later:
        lines.append(f"  WHEN {case.condition} THEN {case.height}")
    lines += [f"  ELSE {other}", "END"]
    return "\n".join(lines)


def _line(value: float, slope: float, number: str, base: float) -> str:
    """value + slope · (number - base), without values and bases that are 0."""
    distance = number
    if base:
        distance = f"({number} - {_number(base)})"
    rise = f"{_number(slope)} * {distance}"
    if not value:
        return rise
    return f"{_number(value)} + {rise}"
