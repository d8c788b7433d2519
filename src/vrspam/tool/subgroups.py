"""How well a score ranks the rows of each group, how well its probabilities fit there, and what noise explains.

Two tests for each level of each column, and one correction for all of them together:

- ranking: the AUC of the level against that of all other rows, z = (A - B) / √(v(A) + v(B)); v is DeLong's variance, or
  that of exponential scores with the AUC of all rows, where that is larger (for few rows DeLong's is too small);
- probabilities: positives seen against positives predicted, z = (Σ y - Σ p) / √(Σ p (1 - p)).

A difference is marked if its p-value, multiplied by Holm's method over all tests of the page, is below 5 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtr

from vrspam.inspection.rows import ColumnBins, bin_categories, bin_numbers
from vrspam.metrics import AUCInterval, exponential_variance, roc_auc_ci

FEW_VALUES = 8  # a column of numbers with at most so many has a level for each
PARTS = 4  # of a column with more
MOST_LEVELS = 12  # of a column of text: rarer ones are taken together
LEAST_TO_TEST = 10  # rows of each class, in the level and outside
LEVEL = 0.05


@dataclass(frozen=True)
class Subgroup:
    """One level of a column.

    Attributes
    ----------
    column, name : str
    rows, positives : int
    auc : AUCInterval or None
        None with fewer than two rows of a class.
    predicted, observed : float or None
        Mean probability and share of positives; `predicted` is None without probabilities.
    auc_p, calibration_p : float or None
        Corrected p-values; None where there are too few rows to test.
    worse : bool
        Whether the AUC is below that of the other rows.
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

    @property
    def ranked_differently(self) -> bool:
        return self.auc_p is not None and self.auc_p < LEVEL

    @property
    def predicted_wrongly(self) -> bool:
        return self.calibration_p is not None and self.calibration_p < LEVEL


def levels_of(values: Sequence[Any] | np.ndarray) -> ColumnBins:
    """A column in levels: each value of text or of few numbers, else quarters of the rows; a missing value is one.

    >>> levels_of(np.array(["f", "m", None, "f"], dtype=object)).labels
    ('f', 'm', 'missing')
    """
    array = np.asarray(values)
    if array.dtype.kind in "fiub":
        numbers = array.astype(np.float64)
        different = np.unique(numbers[~np.isnan(numbers)]).size
        return bin_numbers(numbers, FEW_VALUES if different <= FEW_VALUES else PARTS)
    texts = ["" if value is None else str(value) for value in array.tolist()]
    gone = np.array([value is None for value in array.tolist()])
    names = sorted({text for text, absent in zip(texts, gone, strict=True) if not absent})
    place = {name: number for number, name in enumerate(names)}
    codes = np.where(gone, len(names), np.array([place.get(text, 0) for text in texts]))
    return bin_categories(codes.astype(np.intp), tuple(names), bool(gone.any()), MOST_LEVELS)


def subgroups(
    columns: Mapping[str, Sequence[Any] | np.ndarray],
    positive: np.ndarray,
    scores: np.ndarray,
    probabilities: np.ndarray | None = None,
    weights: np.ndarray | None = None,
) -> tuple[Subgroup, ...]:
    """All levels of some columns, with what the tests say.

    Parameters
    ----------
    columns : mapping of str to arrays of n values
    positive : boolean array of n
    scores, probabilities, weights : arrays of n numbers
        `scores` and `probabilities` are by models that have not seen the row.

    Returns
    -------
    tuple of Subgroup
    """
    whole = roc_auc_ci(positive, scores, sample_weight=weights).auc
    found, auc_ps, calibration_ps = [], [], []
    for column, values in columns.items():
        bins = levels_of(values)
        for code, name in enumerate(bins.labels):
            inside = bins.codes == code
            if not inside.any():
                continue
            group = _describe(column, name, inside, positive, scores, probabilities, weights)
            enough = min(_smaller(positive[inside]), _smaller(positive[~inside])) >= LEAST_TO_TEST
            p_ranked, worse = np.nan, False
            if enough and group.auc is not None:
                p_ranked, worse = _ranking_p(inside, positive, scores, weights, whole)
            auc_ps.append(p_ranked)
            calibrated = enough and probabilities is not None
            calibration_ps.append(_calibration_p(inside, positive, probabilities, weights) if calibrated else np.nan)
            found.append(replace(group, worse=worse))
    corrected = holm(np.array([*auc_ps, *calibration_ps]))
    known = [None if np.isnan(p) else float(p) for p in corrected]
    count = len(found)
    return tuple(replace(group, auc_p=known[k], calibration_p=known[count + k]) for k, group in enumerate(found))


def _smaller(positive: np.ndarray) -> int:
    return int(min(positive.sum(), (~positive).sum()))


def _describe(
    column: str,
    name: str,
    inside: np.ndarray,
    positive: np.ndarray,
    scores: np.ndarray,
    probabilities: np.ndarray | None,
    weights: np.ndarray | None,
) -> Subgroup:
    own = None if weights is None else weights[inside]
    counted = positive[inside] if own is None else positive[inside][own > 0.0]
    auc = None
    if _smaller(counted) >= 2:
        auc = roc_auc_ci(positive[inside], scores[inside], sample_weight=own)
    if own is not None and not own.any():
        own = None
    predicted = None if probabilities is None else float(np.average(probabilities[inside], weights=own))
    observed = float(np.average(positive[inside], weights=own))
    return Subgroup(column, name, int(inside.sum()), int(positive[inside].sum()), auc, predicted, observed)


def _ranking_p(
    inside: np.ndarray, positive: np.ndarray, scores: np.ndarray, weights: np.ndarray | None, whole: float
) -> tuple[float, bool]:
    """Two-sided p-value of the difference between the AUC of a level and that of all other rows."""
    difference, variance = 0.0, 0.0
    for part, sign in ((inside, 1.0), (~inside, -1.0)):
        own = None if weights is None else weights[part]
        found = roc_auc_ci(positive[part], scores[part], sample_weight=own)
        up = int(positive[part].sum())
        difference += sign * found.auc
        variance += max(found.standard_error**2, exponential_variance(whole, up, int(part.sum()) - up))
    if variance == 0.0:
        return np.nan, False
    return float(2.0 * ndtr(-abs(difference) / np.sqrt(variance))), difference < 0.0


def _calibration_p(
    inside: np.ndarray, positive: np.ndarray, probabilities: np.ndarray | None, weights: np.ndarray | None
) -> float:
    """Two-sided p-value of positives seen against positives predicted."""
    assert probabilities is not None
    p = probabilities[inside]
    mass = np.ones(p.size) if weights is None else weights[inside]
    variance = float(mass**2 @ (p * (1.0 - p)))
    if variance == 0.0:
        return np.nan
    return float(2.0 * ndtr(-abs(mass @ (positive[inside] - p)) / np.sqrt(variance)))


def holm(p_values: np.ndarray) -> np.ndarray:
    """P-values corrected by Holm's method; NaN are no tests.

    >>> holm(np.array([0.01, 0.04, np.nan, 0.03])).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    corrected = np.full(p_values.shape, np.nan)
    order = np.argsort(p_values)
    order = order[: int(np.isfinite(p_values).sum())]
    factors = np.arange(order.size, 0, -1)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(factors * p_values[order]))
    return corrected
