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
from typing import Any

import numpy as np
from scipy.special import stdtr

from vrspam._utils.texts import number_labels
from vrspam.inspection.interactions import ColumnBins, bin_categories, bin_numbers
from vrspam.metrics import AUCInterval, concordance_index_ci, exponential_variance, roc_auc_ci
from vrspam.metrics.comparison import holm
from vrspam.metrics.groups import Clusters, satterthwaite
from vrspam.tool.table import ranked_target, two_sides

LEVEL = 0.05  # the level of all tests of groups together


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
        return plain | ({} if self.auc is None else {name: getattr(self.auc, name) for name in ("auc", "low", "high")})

    @property
    def ranked_differently(self) -> bool:
        return self.auc_p is not None and self.auc_p < LEVEL

    @property
    def predicted_wrongly(self) -> bool:
        return self.calibration_p is not None and self.calibration_p < LEVEL


def ranking_ci(
    positive: np.ndarray,
    scores: np.ndarray,
    *,
    times: np.ndarray | None = None,
    within: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    groups: np.ndarray | None = None,
    confidence: float = 0.95,
) -> AUCInterval:
    """The AUC with its interval; with `times`, the concordance index; with `within`, only of pairs inside strata."""
    shared: dict[str, Any] = {"sample_weight": weights, "groups": groups, "confidence": confidence}
    if times is None and within is None:
        return roc_auc_ci(positive, scores, **shared)
    y, event = ranked_target(positive, times)
    return concordance_index_ci(y, scores, event=event, strata=within, **shared)


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
    gone = np.array([value is None for value in array.tolist()])
    names, present = np.unique(array[~gone].astype(str), return_inverse=True)
    if names.size > 12 and all(re.fullmatch(r"\d{4}-\d\d-\d\d( 00:00:00)?", name) for name in names):
        days = np.where(gone, np.nan, array.astype("datetime64[D]").astype(float))
        return _quarters(days, lambda ends: ends.astype("datetime64[D]").astype(str).tolist())
    codes = np.full(array.size, names.size, dtype=np.intp)
    codes[~gone] = present
    return bin_categories(codes, tuple(names.tolist()), bool(gone.any()), 12)  # rarer ones are taken together


def _quarters(numbers: np.ndarray, texts: Callable[[np.ndarray], list[str]]) -> ColumnBins:
    """Numbers in quarters of the rows, or each by itself if there are few; `texts` writes them."""
    few = np.unique(numbers[~np.isnan(numbers)]).size <= 8
    bins = bin_numbers(numbers, 8 if few else 4)
    if few:
        return bins
    levels = [numbers[bins.codes == code] for code in np.unique(bins.codes[~np.isnan(numbers)])]
    ends = texts(np.array([end for level in levels for end in (level.min(), level.max())]))
    named = [low if low == high else f"{low} to {high}" for low, high in zip(ends[::2], ends[1::2], strict=True)]
    return bins._replace(labels=(*named, *bins.labels[len(named) :]))


def subgroups(
    columns: Mapping[str, Sequence[Any] | np.ndarray],
    positive: np.ndarray,
    scores: np.ndarray,
    probabilities: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    groups: np.ndarray | None = None,
    **pairs: Any,
) -> tuple[Subgroup, ...]:
    """Test all levels of some columns; each score is by a model that has not seen the row.

    `groups` are rows that belong together, as in `vrspam.metrics.roc_auc_ci`; `pairs` are `times` and `within`.
    """
    beside, sides = {"weights": weights, "groups": groups, **pairs}, two_sides(positive, pairs.get("times"))
    whole = ranking_ci(positive, scores, weights=weights, **pairs).auc
    found, auc_ps, calibration_ps = [], [], []
    for column, values in columns.items():
        bins = levels_of(values)
        for code, name in enumerate(bins.labels):
            inside = bins.codes == code
            if not inside.any():
                continue
            labels, own = positive[inside], None if weights is None else weights[inside]
            auc, auc_p, worse, predicted, calibration_p = None, np.nan, False, None, np.nan
            enough = min(_smaller(sides[inside]), _smaller(sides[~inside])) >= 10
            if _smaller(sides[inside] if own is None else sides[inside][own > 0.0]) >= 2:
                auc = _level_auc(inside, positive, scores, beside)
                others = _level_auc(~inside, positive, scores, beside) if enough and auc is not None else None
                if auc is not None and others is not None:
                    variances, difference = [], auc.auc - others.auc
                    for part, one in ((inside, auc), (~inside, others)):
                        up = int(sides[part].sum())
                        least = exponential_variance(whole, up, int(part.sum()) - up)
                        variances.append((max(one.standard_error**2, least), one.freedom))
                    variance, freedom = sum(one for one, _ in variances), satterthwaite(*variances)
                    if variance > 0.0:
                        auc_p, worse = (
                            float(2.0 * stdtr(freedom, -abs(difference) / np.sqrt(variance))),
                            difference < 0.0,
                        )
            mass = own if own is not None and own.any() else None
            if probabilities is not None:
                predicted = float(np.average(probabilities[inside], weights=mass))
                p, each = probabilities[inside], np.ones(labels.size) if own is None else own
                variance, freedom = float(each**2 @ (p * (1.0 - p))), np.inf
                if groups is not None:  # rows of a group may all be wrong together
                    clusters = Clusters.of_moves(each * (labels - p), each, groups[inside], labels, centred=False)
                    if clusters.error**2 > variance:
                        variance, freedom = clusters.error**2, clusters.freedom
                if enough and variance > 0.0:
                    calibration_p = float(2.0 * stdtr(freedom, -abs(each @ (labels - p)) / np.sqrt(variance)))
            observed = float(np.average(labels, weights=mass))
            count = int(inside.sum()), int(labels.sum())
            found.append(Subgroup(column, name, *count, auc, predicted, observed, worse=worse))
            auc_ps.append(auc_p)
            calibration_ps.append(calibration_p)
    corrected = [None if np.isnan(p) else float(p) for p in holm(np.array([*auc_ps, *calibration_ps]))]
    tested = zip(found, corrected[: len(found)], corrected[len(found) :], strict=True)
    return tuple(replace(group, auc_p=ranked, calibration_p=predicted) for group, ranked, predicted in tested)


def _smaller(positive: np.ndarray) -> int:
    return int(min(positive.sum(), (~positive).sum()))


def _level_auc(
    part: np.ndarray, positive: np.ndarray, scores: np.ndarray, beside: Mapping[str, np.ndarray | None]
) -> AUCInterval | None:
    """The AUC of some rows, with an interval that allows for groups; None if no two of these rows are compared."""
    own: dict[str, Any] = {name: values[part] for name, values in beside.items() if values is not None}
    if "groups" in own and np.unique(own["groups"]).size < 2:  # with a single group, rows count as independent
        del own["groups"]
    try:
        return ranking_ci(positive[part], scores[part], **own)
    except ValueError:
        if own.keys().isdisjoint(("times", "within")):
            raise
        return None
