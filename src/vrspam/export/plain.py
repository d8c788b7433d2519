"""`to_python`: a linear or additive model as one file of plain Python, column by column, for people to review."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

import vrspam
from vrspam._utils.findings import Fix
from vrspam.features.parts import CategoryPart, CurvePart, Effect
from vrspam.model.inputs import DATE, TEXT, NotExportable, check_utf8
from vrspam.model.model import Model, model_of
from vrspam.model_selection.calibration import Isotonic, Sigmoid
from vrspam.tables.kinds.dates import HOUR, MONTH, WEEKDAY, YEAR

_WRITTEN_BY = f"Written by vrspam {vrspam.__version__}."
_PART_WORDS = {
    YEAR: "the position in time, 1970 + days since 1970-01-01 / 365.2425",
    MONTH: "the month, 1 to 12",
    WEEKDAY: "the day of the week, 1 for Monday to 7 for Sunday",
    HOUR: "the hour, 0 to 23",
}

_HEAD = '''
def score(row: dict) -> float:
    """The score of a row, a dict from the names of columns to values; it ranks rows, and is not a probability."""
    return CONSTANT + sum(parts(row).values())
'''

HELPERS = '''

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
    model = _additive_model(model, "plain Python")
    if len({column.name for column in model.columns}) < len(model.columns):
        raise NotExportable("Two columns of the model have the same name: rename one, and train again.")
    lines = [
        f'"""Scores rows: higher means {_docstring(model.label.higher)}.',
        "",
        "`score(row)` takes a dict from the names of columns to values and returns a number; `parts(row)` says what",
        "each column adds to it. None, NaN, infinity and an empty text are missing values; a column that is not in the",
        "dict is an error.",
        "",
        _WRITTEN_BY,
        '"""',
        "",
        "import math",
        "",
        f"CONSTANT = {_number(model.constant)}",
    ]
    calls = []
    for number, (column, effect) in enumerate(zip(model.columns, model.effects, strict=True)):
        one = model.inputs[column.source]
        value = f'_date(row[{one.name!r}], "{column.part}")' if one.kind == DATE else f"row[{one.name!r}]"
        gone = "adds nothing" if effect is None or effect.missing == 0.0 else f"adds {_number(effect.missing)}"
        if effect is not None and np.isnan(effect.missing):
            gone = "has no score: the result is NaN"
        table, call = _effect(effect, value, number + 1)
        lines += ["", "", f"# {_words(model, number)}", f"# A missing value {gone}.", *table]
        calls.append(f"        {column.name!r}: {call},")
    constants, functions = _calibration(model)
    adds = ["def parts(row: dict) -> dict:", '    """What each column adds to the score."""', "    return {"]
    text = "\n".join([*lines, *constants, "", _HEAD, "", *adds, *calls, "    }", "", *functions]) + HELPERS
    return text + (_DATES if any(one.kind == DATE for one in model.inputs) else "")


def _docstring(words: str) -> str:
    """Words, escaped for a docstring."""
    return words.replace("\\", "\\\\").replace('"""', "'''")


def _number(value: float) -> str:
    return "math.nan" if np.isnan(value) else repr(float(value))


def _words(model: Model, number: int) -> str:
    """What a column holds."""
    column = model.columns[number]
    one = model.inputs[column.source]
    if one.kind == DATE:
        return f"{column.name!r}: of the date in {one.name!r} {_PART_WORDS[str(column.part)]}."
    return f"{column.name!r}: {'text' if one.kind == TEXT else 'a number'}. {one.note}".strip()


def _effect(effect: Effect | None, value: str, number: int) -> tuple[list[str], str]:
    """The table of a column, and the call that evaluates it."""
    if effect is None:
        return [], "0.0"
    missing = _number(effect.missing)
    if isinstance(effect, CategoryPart):
        other, name = _number(effect.other), f"CATEGORIES_{number}"
        heights = [f"    {text!r}: {_number(height)}," for text, height in effect.values.items()]
        lines = [f"# Any other text adds {other}.", f"{name} = {{", *heights, "}"]
        return lines, f"_category({value}, {name}, {other}, {missing})"
    if effect.is_line:
        line = ", ".join(_number(part) for part in (effect.nodes[0], effect.values[0], effect.left))
        return [f"LINE_{number} = ({line})  # at, height, slope"], f"_line({value}, *LINE_{number}, {missing})"
    slopes, name = f"{_number(effect.left)}, {_number(effect.right)}", f"POINTS_{number}"
    lines = [f"{name} = (  # value, what it adds", *_points(effect.nodes, effect.values), ")"]
    return lines, f"_curve({value}, {name}, {slopes}, {missing})"


def _points(nodes: Iterable[float], values: Iterable[float]) -> list[str]:
    return [f"    ({_number(node)}, {_number(value)})," for node, value in zip(nodes, values, strict=True)]


def _calibration(model: Model) -> tuple[list[str], list[str]]:
    """The constants of the calibration, and the functions `probability` and `label`."""
    calibration, (negative, positive) = model.calibration, model.label.classes
    constants: list[str] = []
    body: list[str] = []
    if model.label.ranks:
        return [], []
    if isinstance(calibration, Sigmoid):
        offset = calibration.offset - calibration.slope * model.baseline
        constants = ["", "", "# Probabilities: 1 / (1 + exp(-(slope * score + offset)))."]
        constants.append(f"SLOPE, OFFSET = {_number(calibration.slope)}, {_number(offset)}")
        body = [
            "    power = -(SLOPE * score(row) + OFFSET)",
            "    return 1.0 / (1.0 + math.exp(power)) if power < 700.0 else 0.0",
        ]
    elif isinstance(calibration, Isotonic):
        points = _points(calibration.scores + model.baseline, calibration.probabilities)
        constants = ["", "", "# Probabilities of scores: straight lines between these, constant outside."]
        constants += ["PROBABILITIES = (", *points, ")"]
        body = ["    return _curve(score(row), PROBABILITIES, 0.0, 0.0, math.nan)"]
    elif calibration is not None:
        raise NotExportable(
            f"The calibration {type(calibration).__name__} cannot be exported: use sigmoid or isotonic."
        )
    functions: list[str] = []
    if body:
        words = f'    """The probability that the label of a row is {_docstring(repr(positive))}."""'
        functions = ["", "def probability(row: dict) -> float:", words, *body, ""]
    test = "probability(row) > 0.5" if model.limit is None else f"score(row) > {_number(model.limit)}"
    words = "The likelier label of a row."
    if (chosen := model.threshold) is not None:
        test, least = f"score(row) >= {_number(chosen.threshold)}", _number(chosen.threshold)
        words = f"{_docstring(repr(positive))} where the score is at least {least}, a threshold that {chosen.words}."
    functions += ["", "def label(row: dict):", f'    """{words}"""']
    return constants, [*functions, f"    return {positive!r} if {test} else {negative!r}", ""]


def _additive_model(scorer: Any, language: str) -> Model:
    """Return the model to export of a scorer that is a sum over columns; refuse others with the reason."""
    model = model_of(scorer)
    if model.parts.kernels or model.parts.trees:
        kinds = " and ".join(["a kernel"] * bool(model.parts.kernels) + ["trees"] * bool(model.parts.trees))
        raise NotExportable(
            f"The score has parts that depend on several columns at once ({kinds}), and {language} is written column "
            "by column: export ONNX instead, or train with ",
            Fix("features", "additive"),
            ".",
        )
    return model


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
    model = _additive_model(model, "SQL")
    comments = [
        f"The score of a row: higher means {model.label.higher}. {_WRITTEN_BY}",
        "NULL is a missing value, and so are NaN, infinity and an empty text. Texts are compared letter by letter.",
    ]
    if not model.label.ranks:
        positive, calibration = repr(model.label.classes[1]), model.calibration
        if (chosen := model.threshold) is not None:
            comments.append(f"Label: {positive} where the score is at least {chosen.threshold!r} ({chosen.words}).")
        elif model.limit is not None:
            comments.append(f"Label: {positive} where the score is above {model.limit!r}.")
        if isinstance(calibration, Sigmoid):
            slope, offset = calibration.slope, calibration.offset - calibration.slope * model.baseline
            line = f"{_sql_number(slope)} * score + {_sql_number(offset)}"
            comments.append(f"Probability of {positive}: 1E0 / (1E0 + EXP(-({line}))).")
        elif calibration is not None:
            comments.append("Probabilities (isotonic) are not in this expression; the Python export has them.")
    terms = [_sql_number(model.constant)]
    for number, (column, effect) in enumerate(zip(model.columns, model.effects, strict=True)):
        one = model.inputs[column.source]
        name = _quoted(column.name if one.kind == DATE else one.name, '"')
        terms.append(f"-- {_words(model, number)}\n{_sql_effect(effect, name)}")
    if len(terms) > 100:  # parentheses around each 100 terms, because engines limit the depth of an expression
        groups = [terms[start : start + 100] for start in range(0, len(terms), 100)]
        terms = ["(\n" + "\n+\n".join(group) + "\n)" for group in groups]
    return "\n".join([*(f"-- {comment}" for comment in comments), "\n+\n".join(terms), ""])


def _sql_number(value: float) -> str:
    """A number in double precision: without an exponent it would be a decimal.

    >>> _sql_number(0.5), _sql_number(-1e-7), _sql_number(float("nan"))
    ('0.5E0', '(-1E-07)', 'NULL')
    """
    if np.isnan(value):
        return "NULL"
    digits = repr(abs(float(value))).upper()
    digits = digits if "E" in digits else f"{digits}E0"
    return f"(-{digits})" if value < 0.0 else digits


def _quoted(text: str, sign: str) -> str:
    """An identifier (") or a text ('), with quotation marks in it doubled.

    >>> print(_quoted('5" pipes', '"'), _quoted("O'Brien", "'"))
    "5"" pipes" 'O''Brien'
    """
    if "\0" in text:
        raise NotExportable(f"{text!r} holds a NUL character, which SQL cannot hold: remove it, and train again.")
    check_utf8([text], "SQL")
    return f"{sign}{text.replace(sign, 2 * sign)}{sign}"


def _sql_effect(effect: Effect | None, name: str) -> str:
    """What a column adds."""
    if effect is None:
        return "0E0"
    if isinstance(effect, CurvePart):
        name = f"CAST({name} AS DOUBLE PRECISION)"  # BOOLEAN has no arithmetic, and text has another order
        gone = f"COALESCE(0E0 * {name}, 1E0) <> 0E0"  # true for NULL, NaN and infinity
    if isinstance(effect, CurvePart) and effect.is_line:
        line = _sql_line(effect.values[0], effect.left, name, effect.nodes[0])
        if np.isnan(effect.missing):  # NULL stays NULL
            return f"({line})"
        return f"CASE WHEN {gone} THEN {_sql_number(effect.missing)} ELSE {line} END"
    if isinstance(effect, CategoryPart):
        booleans = {"True": ("True", "true", "1"), "False": ("False", "false", "0")}  # as engines show them
        booleans = booleans if set(effect.values) <= set(booleans) else {}
        if booleans or any(text.replace(".", "").isdigit() for text in effect.values):  # the column may hold no text
            name = f"CAST({name} AS VARCHAR)"
        gone = f"{name} IS NULL" + (f" OR {name} = ''" if "" not in effect.values else "")
        cases = []
        for text, height in effect.values.items():
            texts = [_quoted(one, "'") for one in booleans.get(text, (text,))]
            condition = f"{name} = {texts[0]}" if len(texts) == 1 else f"{name} IN ({', '.join(texts)})"
            cases.append((condition, _sql_number(height)))
        last = _sql_number(effect.other)
    else:  # straight lines, from left to right
        lines = zip(*(part.tolist() for part in effect.segments), strict=True)
        *heights, last = [_sql_line(at, slope, name, base) if slope else _sql_number(at) for base, at, slope in lines]
        cases = [(f"{name} < {_sql_number(upper)}", at) for upper, at in zip(effect.nodes, heights, strict=True)]
    found = [f"CASE WHEN {gone} THEN {_sql_number(effect.missing)}"]
    found += [f"  WHEN {condition} THEN {height}" for condition, height in cases]
    return "\n".join([*found, f"  ELSE {last}", "END"])


def _sql_line(value: float, slope: float, name: str, base: float) -> str:
    """value + slope · (column - base), without values and bases that are 0."""
    line = f"{_sql_number(slope)} * " + (f"({name} - {_sql_number(base)})" if base else name)
    return f"{_sql_number(value)} + {line}" if value else line
