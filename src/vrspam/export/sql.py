"""`to_sql`: a linear or additive model as one SQL expression, column by column, for people to review."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vrspam.export.python import PART_WORDS, additive_scorer, shown, written_by
from vrspam.features.parts import Curve, Effect, Table
from vrspam.model.scorer import DATE, TEXT, NotExportable, Scorer
from vrspam.model_selection.calibration import Sigmoid

GROUP = 100  # terms that are added without parentheses: engines limit how deep an expression may be


def to_sql(model: Any) -> str:
    """Return the score of a linear or additive model as one expression of standard SQL.

    Parameters
    ----------
    model : fitted estimator of this package, or `vrspam.tool.Model`
        Its score must be a sum over columns: no map, "standardized", "additive", or a blend of these.

    Returns
    -------
    str
        The expression, with comments: ``SELECT id, (<expression>) AS score FROM patients``. NULL is a missing value.
        Scores equal those of the model to 1e-12 of their spread. Dates have no standard arithmetic in SQL: their parts
        are columns that the query must give, and comments say what each of them is.

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
    scorer = additive_scorer(model, "SQL")
    comments = [
        f"The score of a row: higher means more likely {shown(scorer.classes[1])}. {written_by()}",
        "NULL is a missing value, and so is an empty text. Texts are compared letter by letter.",
        *_after(scorer),
    ]
    lines = [f"-- {comment}" for comment in comments]
    terms = [[_number(scorer.constant)]]
    for number, effect in enumerate(scorer.effects):
        words, name = _words(scorer, number)
        terms.append([f"-- {words}", *_effect(effect, name)])
    groups = [terms[start : start + GROUP] for start in range(0, len(terms), GROUP)]
    if len(groups) == 1:
        return "\n".join([*lines, *_added(terms)]) + "\n"
    inner = [["(", *_added(group), ")"] for group in groups]
    return "\n".join([*lines, *_added(inner)]) + "\n"


def _added(terms: Sequence[Sequence[str]]) -> list[str]:
    """Terms of several lines, with a plus sign between."""
    found = list(terms[0])
    for term in terms[1:]:
        found += ["+", *term]
    return found


def _number(value: float) -> str:
    """A number in double precision: without an exponent it would be a decimal.

    >>> _number(0.5), _number(-1e-7), _number(float("nan"))
    ('0.5E0', '(-1E-07)', 'NULL')
    """
    if np.isnan(value):
        return "NULL"
    digits = repr(abs(float(value))).upper()
    digits = digits if "E" in digits else f"{digits}E0"
    return f"(-{digits})" if value < 0.0 else digits


def _quoted(text: str, sign: str) -> str:
    """An identifier (") or a text ('), whatever it holds.

    >>> print(_quoted('5" pipes', '"'), _quoted("O'Brien", "'"))
    "5"" pipes" 'O''Brien'
    """
    if "\0" in text:
        raise NotExportable(f"{shown(text)} holds a NUL character, which SQL cannot hold: remove it, and train again.")
    return f"{sign}{text.replace(sign, 2 * sign)}{sign}"


def _words(scorer: Scorer, number: int) -> tuple[str, str]:
    """What is said of a column, and what it is called in the expression."""
    column = scorer.columns[number]
    one = scorer.inputs[column.source]
    if one.kind == DATE:
        words = f"{shown(column.name)}: of the date {shown(one.name)} {PART_WORDS[str(column.part)]}"
        return words, _quoted(column.name, '"')
    said = f"{shown(one.name)}: {'text' if one.kind == TEXT else 'a number'}. {one.note}"
    return said.strip(), _quoted(one.name, '"')


def _effect(effect: Effect | None, name: str) -> list[str]:
    """What a column adds."""
    if effect is None:
        return ["0E0"]
    if isinstance(effect, Table):
        return _table(effect, name)
    if effect.is_line:
        line = f"{_number(effect.values[0])} + {_line(effect.left, name, effect.nodes[0])}"
        if not effect.values[0]:
            line = _line(effect.left, name, effect.nodes[0])
        if np.isnan(effect.missing):  # NULL stays NULL
            return [f"({line})"]
        return [f"CASE WHEN {name} IS NULL THEN {_number(effect.missing)} ELSE {line} END"]
    return _curve(effect, name)


def _line(slope: float, name: str, base: float) -> str:
    shifted = f"({name} - {_number(base)})" if base else name
    return f"{_number(slope)} * {shifted}"


def _curve(curve: Curve, name: str) -> list[str]:
    """Straight lines, from left to right."""
    found = [f"CASE WHEN {name} IS NULL THEN {_number(curve.missing)}"]
    nodes = [None, *curve.nodes.tolist()]
    for upper, base, value, slope in zip([*nodes[1:], None], *curve.segments, strict=True):
        height = _number(value) if slope == 0.0 else f"{_number(value)} + {_line(slope, name, base)}"
        found.append(f"  ELSE {height}" if upper is None else f"  WHEN {name} < {_number(upper)} THEN {height}")
    return [*found, "END"]


def _table(table: Table, name: str) -> list[str]:
    gone = f"{name} IS NULL" if "" in table.values else f"{name} IS NULL OR {name} = ''"
    found = [f"CASE WHEN {gone} THEN {_number(table.missing)}"]
    for text, height in table.values.items():
        found.append(f"  WHEN {name} = {_quoted(text, chr(39))} THEN {_number(height)}")
    return [*found, f"  ELSE {_number(table.other)}", "END"]


def _after(scorer: Scorer) -> list[str]:
    """What follows from the score: the label and the probability."""
    found = []
    positive = shown(scorer.classes[1])
    if scorer.threshold is not None:
        found.append(f"Label: {positive} where the score is above {scorer.threshold!r}.")
    calibration = scorer.calibration
    if isinstance(calibration, Sigmoid):
        slope, offset = calibration.slope, calibration.offset - calibration.slope * scorer.baseline
        line = f"{_number(slope)} * score + {_number(offset)}"
        found.append(f"Probability of {positive}: 1E0 / (1E0 + EXP(-({line}))).")
    elif calibration is not None:
        found.append("Probabilities (isotonic) are not in this expression; the Python export has them.")
    return found
