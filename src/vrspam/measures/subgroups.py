"""Levels of columns, one by one: how well their rows are ranked, and whether their probabilities are right.

Two tests for each level of a column, and one correction for all of them together:

- ranking: the AUC of the level against that of all other rows, z = (A - B) / √(v(A) + v(B)); v is DeLong's variance, or
  that of exponential scores with the AUC of all rows, where that is larger (for few rows DeLong's is too small);
- probabilities: positives seen against positives predicted, z = (Σ y - Σ p) / √(Σ p (1 - p)).

A difference is marked if its p-value, adjusted by Holm's method for all tests of the page, is below 5 %.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtr

from vrspam._utils.texts import number_labels
from vrspam.inspection.bins import ColumnBins, bin_categories, bin_numbers
from vrspam.measures.auc_interval import auc_interval
from vrspam.measures.rows import ScoredRows, two_sides
from vrspam.metrics import AUCInterval, exponential_variance
from vrspam.metrics.comparison import holm
from vrspam.metrics.groups import Clusters, satterthwaite

LEVEL = 0.05  # the level of all tests of groups together
LEAST_MEASURED = 2  # rows of each class inside a level, for an AUC
LEAST_TESTED = 10  # rows of each class inside a level, and outside of it, for a test
MOST_CATEGORIES = 12  # rarer ones are taken together
MOST_NUMBERS = 8  # of a column with more different numbers the levels are quarters of the rows


@dataclass(frozen=True)
class Subgroup:
    """One level of a column.

    `auc` is None with fewer than two rows of a class. `predicted` is the mean probability, None without any, `observed`
    the share of positives. `auc_p` and `calibration_p` are corrected p-values, None where there are too few rows to
    test; `worse` says whether the AUC is below that of the other rows.
    """

    column: str
    name: str
    rows: int
    positives: int
    auc: AUCInterval | None
    predicted: float | None
    observed: float
    auc_p: float | None = None
    calibration_p: float | None = None
    worse: bool = False

    def flat(self) -> dict[str, Any]:
        """Its numbers, for scripts."""
        plain = {name: value for name, value in vars(self).items() if name not in ("auc", "worse")}
        if self.auc is not None:
            plain |= {"auc": self.auc.auc, "low": self.auc.low, "high": self.auc.high}
        return plain

    @property
    def ranked_differently(self) -> bool:
        return self.auc_p is not None and self.auc_p < LEVEL

    @property
    def predicted_wrongly(self) -> bool:
        return self.calibration_p is not None and self.calibration_p < LEVEL


def levels_of(values: Sequence[Any] | np.ndarray) -> ColumnBins:
    """Split a column into levels: each text, each of few numbers, or quarters of the rows; "missing" is a level too.

    Levels of numbers and of dates are named by the lowest and the highest value in them, so that no two overlap.

    >>> levels_of(np.array(["f", "m", None, "f"], dtype=object)).labels
    ('f', 'm', 'missing')
    >>> levels_of(np.arange(40.0)).labels
    ('0 to 10', '11 to 20', '21 to 30', '31 to 39')
    """
    array = np.asarray(values)
    if array.dtype.kind in "fiub":
        return _quarters(array.astype(np.float64), number_labels)
    missing = np.array([value is None for value in array.tolist()])
    names, present = np.unique(array[~missing].astype(str), return_inverse=True)
    if names.size > MOST_CATEGORIES and all(re.fullmatch(r"\d{4}-\d\d-\d\d( 00:00:00)?", name) for name in names):
        days = np.where(missing, np.nan, array.astype("datetime64[D]").astype(float))
        return _quarters(days, lambda ends: ends.astype("datetime64[D]").astype(str).tolist())
    codes = np.full(array.size, names.size, dtype=np.intp)
    codes[~missing] = present
    return bin_categories(codes, tuple(names.tolist()), bool(missing.any()), MOST_CATEGORIES)


def _quarters(numbers: np.ndarray, texts: Callable[[np.ndarray], list[str]]) -> ColumnBins:
    """Numbers in quarters of the rows, or each by itself if there are few; `texts` writes them."""
    known = ~np.isnan(numbers)
    if np.unique(numbers[known]).size <= MOST_NUMBERS:
        return bin_numbers(numbers, MOST_NUMBERS)
    bins = bin_numbers(numbers, 4)
    ends: list[float] = []  # the lowest and the highest number of each quarter
    for code in np.unique(bins.codes[known]):
        quarter = numbers[bins.codes == code]
        ends += [quarter.min(), quarter.max()]
    written = texts(np.array(ends))
    named = [low if low == high else f"{low} to {high}" for low, high in zip(written[::2], written[1::2], strict=True)]
    return bins._replace(labels=(*named, *bins.labels[len(named) :]))


class _Tested(NamedTuple):
    """The p-value of a test of a level, NaN where there was none, and whether its AUC is below that of the others."""

    p_value: float
    worse: bool = False


NOT_TESTED = _Tested(np.nan)


def judge_levels(rows: ScoredRows, columns: Mapping[str, Sequence[Any] | np.ndarray]) -> tuple[Subgroup, ...]:
    """Test all levels of some columns; each score is by a model that has not seen the row."""
    sides = two_sides(rows.positive, rows.times)
    auc_of_all = auc_interval(replace(rows, groups=None)).auc
    judged: list[Subgroup] = []
    auc_ps: list[float] = []
    calibration_ps: list[float] = []
    for column, values in columns.items():
        bins = levels_of(values)
        for code, name in enumerate(bins.labels):
            inside = bins.codes == code
            if not inside.any():
                continue
            level, others = rows.take(inside), rows.take(~inside)
            tested = min(_smaller(sides[inside]), _smaller(sides[~inside])) >= LEAST_TESTED
            auc = _auc_of(level, sides[inside])
            ranking = calibration = NOT_TESTED
            if tested and auc is not None:
                ranking = compare_ranking(auc, _interval_or_none(others), sides, inside, auc_of_all)
            if tested:
                calibration = compare_probabilities(level)
            judged.append(_subgroup(column, name, level, auc, worse=ranking.worse))
            auc_ps.append(ranking.p_value)
            calibration_ps.append(calibration.p_value)
    corrected = [None if np.isnan(p) else float(p) for p in holm(np.array([*auc_ps, *calibration_ps]))]
    with_p = zip(judged, corrected[: len(judged)], corrected[len(judged) :], strict=True)
    return tuple(replace(level, auc_p=auc_p, calibration_p=calibration_p) for level, auc_p, calibration_p in with_p)


def _subgroup(column: str, name: str, level: ScoredRows, auc: AUCInterval | None, worse: bool) -> Subgroup:
    """A level with its counts and shares, by weight if rows have some."""
    weights = level.weights if level.weights is not None and level.weights.any() else None
    predicted = None
    if level.probabilities is not None:
        predicted = float(np.average(level.probabilities, weights=weights))
    return Subgroup(
        column,
        name,
        rows=level.n,
        positives=level.positives,
        auc=auc,
        predicted=predicted,
        observed=float(np.average(level.positive, weights=weights)),
        worse=worse,
    )


def compare_ranking(
    auc: AUCInterval, others: AUCInterval | None, sides: np.ndarray, inside: np.ndarray, auc_of_all: float
) -> _Tested:
    """Whether the AUC of a level differs from that of all other rows."""
    if others is None:
        return NOT_TESTED
    of_level = _squared_error(auc, sides[inside], auc_of_all), auc.freedom
    of_others = _squared_error(others, sides[~inside], auc_of_all), others.freedom
    variance = of_level[0] + of_others[0]
    if not variance > 0.0:
        return NOT_TESTED
    difference = auc.auc - others.auc
    freedom = satterthwaite(of_level, of_others)
    return _Tested(float(2.0 * stdtr(freedom, -abs(difference) / np.sqrt(variance))), difference < 0.0)


def _squared_error(auc: AUCInterval, sides: np.ndarray, auc_of_all: float) -> float:
    """The variance of an AUC: of few rows at least that of exponential scores with the AUC of all rows."""
    up = int(sides.sum())
    return max(auc.standard_error**2, exponential_variance(auc_of_all, up, sides.size - up))


def compare_probabilities(level: ScoredRows) -> _Tested:
    """Whether a level has more or fewer positives than its probabilities say."""
    if level.probabilities is None:
        return NOT_TESTED
    weights = np.ones(level.n) if level.weights is None else level.weights
    surprise = level.positive - level.probabilities
    variance = float(weights**2 @ (level.probabilities * (1.0 - level.probabilities)))
    freedom = np.inf
    if level.groups is not None:  # rows of a group may all be wrong together
        clusters = Clusters.of_moves(weights * surprise, weights, level.groups, level.positive, centred=False)
        if clusters.error**2 > variance:
            variance, freedom = clusters.error**2, clusters.freedom
    if not variance > 0.0:
        return NOT_TESTED
    return _Tested(float(2.0 * stdtr(freedom, -abs(weights @ surprise) / np.sqrt(variance))))


def _smaller(sides: np.ndarray) -> int:
    """The rows of the smaller of two sides."""
    return int(min(sides.sum(), (~sides).sum()))


def _auc_of(level: ScoredRows, sides: np.ndarray) -> AUCInterval | None:
    """The AUC of a level, None with too few rows of a side; rows of weight 0 do not count."""
    counted = sides if level.weights is None else sides[level.weights > 0.0]
    return _interval_or_none(level) if _smaller(counted) >= LEAST_MEASURED else None


def _interval_or_none(rows: ScoredRows) -> AUCInterval | None:
    """The AUC of some rows, with an interval that allows for groups; None if no two of these rows are compared."""
    if rows.groups is not None and np.unique(rows.groups).size < 2:  # rows of a single group count as independent
        rows = replace(rows, groups=None)
    try:
        return auc_interval(rows)
    except ValueError:
        if rows.has_classes:
            raise
        return None
