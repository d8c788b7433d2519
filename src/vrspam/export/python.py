"""`to_python`: a linear or additive model as one file of plain Python, column by column, for people to review."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from vrspam.export.additive import WRITTEN_BY, additive_model, describe_column
from vrspam.features.parts import CategoryPart, CurvePart, Effect
from vrspam.model.inputs import DATE, NotExportable
from vrspam.model.model import Model
from vrspam.model_selection.calibration import Isotonic, Sigmoid

_HEAD = '''
def score(row: dict) -> float:
    """The score of a row, a dict from the names of columns to values; it ranks rows, and is not a probability."""
    return CONSTANT + sum(parts(row).values())
'''

_HELPERS = '''

def _is_missing(value):
    return value in (None, "", float("inf"), -float("inf")) or value != value


def _line(value, at, height, slope, missing):
    """A straight line: `height` where the value is `at`, and `slope` more for each 1 above it."""
    return missing if _is_missing(value) else height + slope * (float(value) - at)


def _curve(value, points, before, after, missing):
    """Straight lines between points (value, height); `before` and `after` are the slopes outside of them."""
    if _is_missing(value):
        return missing
    value = float(value)
    if value < points[0][0]:
        return points[0][1] + before * (value - points[0][0])
    if value >= points[-1][0]:
        return points[-1][1] + after * (value - points[-1][0])
    low, high = 0, len(points) - 1  # the value is between the points of these numbers
    while high - low > 1:
        middle = (low + high) // 2
        if value < points[middle][0]:
            high = middle
        else:
            low = middle
    (left, start), (right, end) = points[low], points[high]
    return start + (end - start) * ((value - left) / (right - left))


def _category(value, heights, other, missing):
    """A height for each text."""
    return missing if _is_missing(value) and value not in heights else heights.get(str(value), other)
'''

_DATES = '''

def _date(value, part):
    """One part of a datetime.date, or of a datetime.datetime as on the wall clock, as a number; None if missing."""
    if _is_missing(value):
        return None
    hour = getattr(value, "hour", 0)
    if part == "month":
        return value.month
    if part == "weekday":
        return value.isoweekday()
    if part == "hour":
        return hour
    clock = (getattr(value, "minute", 0), getattr(value, "second", 0), getattr(value, "microsecond", 0))
    seconds = (value.toordinal() - 719163) * 86400 + hour * 3600 + clock[0] * 60 + clock[1]  # since 1970
    return 1970.0 + (seconds * 1000000 + clock[2]) / (86400e6 * 365.2425)
'''


class _Function(NamedTuple):
    """Lines of a file: the constants that a function needs, and the function."""

    constants: list[str]
    code: list[str]


class _WrittenEffect(NamedTuple):
    """What a column adds: the lines of its table, and the expression that evaluates it."""

    table: list[str]
    expression: str


def to_python(model: Any) -> str:
    """Return a linear or additive model as the text of a Python file that imports nothing but `math`.

    Parameters
    ----------
    model : fitted estimator of this package, or `vrspam.tool.Model`
        Its score must be a sum over columns: no map, "standardized", "additive", or a blend of these.

    Returns
    -------
    str
        With functions `score(row)`, `parts(row)` (what each column adds), `label(row)` and, for a calibrated model,
        `probability(row)`; a model that only ranks rows has neither `label` nor `probability`. A row is a dict. Scores
        equal those of the model to 1e-12 of their spread. Comments say what each column holds.

    Raises
    ------
    NotExportable
        With the reason, where the score is not a sum over columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from vrspam import AUCClassifierCV
    >>> from vrspam.export import to_python
    >>> table = pd.DataFrame({"age": [30, 50, 41, 63] * 20, "town": ["Graz", "Linz", "Linz", "Graz"] * 20})
    >>> model = AUCClassifierCV(features="standardized").fit(table, [False, False, True, True] * 20)
    >>> namespace = {}
    >>> exec(to_python(model), namespace)
    >>> one = namespace["score"]({"age": 41, "town": "Linz"})
    >>> bool(abs(one - model.decision_function(table)[2]) < 1e-12)
    True
    """
    model = additive_model(model, "plain Python")
    if len({column.name for column in model.columns}) < len(model.columns):
        raise NotExportable("Two columns of the model have the same name: rename one, and train again.")

    lines = [
        f'"""Scores rows: higher means {_escape(model.outcome.higher)}.',
        "",
        "`score(row)` takes a dict from the names of columns to values and returns a number; `parts(row)` says what",
        "each column adds to it. None, NaN, infinity and an empty text are missing values; a column that is not in the",
        "dict is an error.",
        "",
        WRITTEN_BY,
        '"""',
        "",
        "import math",
        "",
        f"CONSTANT = {_number(model.intercept)}",
    ]
    items = []  # of the dict that `parts` returns
    for number, (column, effect) in enumerate(zip(model.columns, model.effects, strict=True)):
        table, expression = _write_effect(effect, _value(model, number), number + 1)
        lines += ["", "", f"# {describe_column(model, number)}", f"# A missing value {_missing_words(effect)}.", *table]
        items.append(f"        {column.name!r}: {expression},")

    functions: list[str] = []
    if not model.ranks:
        probability = _write_probability(model)
        lines += probability.constants
        functions = [*probability.code, *_write_label(model)]

    lines += ["", _HEAD, ""]
    lines += ["def parts(row: dict) -> dict:", '    """What each column adds to the score."""', "    return {"]
    lines += [*items, "    }", "", *functions]
    text = "\n".join(lines) + _HELPERS
    if any(source.kind == DATE for source in model.inputs):
        text += _DATES
    return text


def _escape(words: str) -> str:
    """Words, escaped for a docstring."""
    return words.replace("\\", "\\\\").replace('"""', "'''")


def _number(value: float) -> str:
    if np.isnan(value):
        return "math.nan"
    return repr(float(value))


def _value(model: Model, number: int) -> str:
    """The expression of the value of a column."""
    column = model.columns[number]
    source = model.inputs[column.source]
    if source.kind == DATE:
        return f'_date(row[{source.name!r}], "{column.part}")'
    return f"row[{source.name!r}]"


def _missing_words(effect: Effect | None) -> str:
    """What a missing value in a column does to the score."""
    if effect is None or effect.missing == 0.0:
        return "adds nothing"
    if np.isnan(effect.missing):
        return "has no score: the result is NaN"
    return f"adds {_number(effect.missing)}"


def _write_effect(effect: Effect | None, value: str, number: int) -> _WrittenEffect:
    """What a column adds, as a function of the expression of its value; its table is named by the number."""
    if effect is None:
        return _WrittenEffect([], "0.0")
    if isinstance(effect, CategoryPart):
        return _write_categories(effect, value, f"CATEGORIES_{number}")
    if effect.is_line:
        return _write_line(effect, value, f"LINE_{number}")
    return _write_curve(effect, value, f"POINTS_{number}")


def _write_categories(part: CategoryPart, value: str, name: str) -> _WrittenEffect:
    other = _number(part.other)
    heights = [f"    {text!r}: {_number(height)}," for text, height in part.values.items()]
    table = [f"# Any other text adds {other}.", f"{name} = {{", *heights, "}"]
    return _WrittenEffect(table, f"_category({value}, {name}, {other}, {_number(part.missing)})")


def _write_line(curve: CurvePart, value: str, name: str) -> _WrittenEffect:
    at = _number(curve.nodes[0])
    height = _number(curve.values[0])
    slope = _number(curve.left)
    table = [f"{name} = ({at}, {height}, {slope})  # at, height, slope"]
    return _WrittenEffect(table, f"_line({value}, *{name}, {_number(curve.missing)})")


def _write_curve(curve: CurvePart, value: str, name: str) -> _WrittenEffect:
    table = [f"{name} = (  # value, what it adds", *_points(curve.nodes, curve.values), ")"]
    before = _number(curve.left)
    after = _number(curve.right)
    return _WrittenEffect(table, f"_curve({value}, {name}, {before}, {after}, {_number(curve.missing)})")


def _points(nodes: Iterable[float], values: Iterable[float]) -> list[str]:
    return [f"    ({_number(node)}, {_number(value)})," for node, value in zip(nodes, values, strict=True)]


def _write_probability(model: Model) -> _Function:
    """The function `probability` and the constants of the calibration; nothing for a model that has none."""
    calibration = model.calibration
    if calibration is None:
        return _Function([], [])

    if isinstance(calibration, Sigmoid):
        slope = _number(calibration.slope)
        offset = _number(calibration.offset - calibration.slope * model.baseline)
        constants = [
            "# Probabilities: 1 / (1 + exp(-(slope * score + offset))).",
            f"SLOPE, OFFSET = {slope}, {offset}",
        ]
        body = [
            "    power = -(SLOPE * score(row) + OFFSET)",
            "    return 1.0 / (1.0 + math.exp(power)) if power < 700.0 else 0.0",
        ]
    elif isinstance(calibration, Isotonic):
        constants = [
            "# Probabilities of scores: straight lines between these, constant outside.",
            "PROBABILITIES = (",
            *_points(calibration.scores + model.baseline, calibration.probabilities),
            ")",
        ]
        body = ["    return _curve(score(row), PROBABILITIES, 0.0, 0.0, math.nan)"]
    else:
        raise NotExportable(
            f"The calibration {type(calibration).__name__} cannot be exported: use sigmoid or isotonic."
        )

    positive = _escape(repr(model.classes[1]))
    head = [
        "def probability(row: dict) -> float:",
        f'    """The probability that the label of a row is {positive}."""',
    ]
    return _Function(["", "", *constants], ["", *head, *body, ""])


def _write_label(model: Model) -> list[str]:
    """The function `label`."""
    negative, positive = model.classes
    if model.threshold is not None:
        least = _number(model.threshold.threshold)
        words = (
            f"{_escape(repr(positive))} where the score is at least {least}, a threshold that {model.threshold.words}."
        )
        condition = f"score(row) >= {least}"
    elif model.limit is not None:
        words = "The likelier label of a row."
        condition = f"score(row) > {_number(model.limit)}"
    else:
        words = "The likelier label of a row."
        condition = "probability(row) > 0.5"
    return [
        "",
        "def label(row: dict):",
        f'    """{words}"""',
        f"    return {positive!r} if {condition} else {negative!r}",
        "",
    ]
