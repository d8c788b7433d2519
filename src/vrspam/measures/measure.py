"""Every number about scored rows: AUC and curves, thresholds, lift, calibration.

A number on the page is computed here: a field of `Evaluation`, its key in `flat`, and a line of `measure`.
`vrspam.report.words.numbers` says how the page and the terminal show it (docs/add_a_number.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vrspam.measures.compare import compare
from vrspam.measures.rows import ScoredRows
from vrspam.measures.subgroups import Subgroup
from vrspam.metrics import AUCInterval, Calibration, Estimate, calibration_measures, partial_auc_ci
from vrspam.metrics.calibration import BINS, Bin, calibration_error, reliability
from vrspam.metrics.thresholds import ChosenThreshold, Curve, Threshold

SPECIFICITIES = (0.80, 0.90, 0.95, 0.99)
TOP_SHARES = (0.01, 0.05, 0.10, 0.20)


@dataclass(frozen=True, eq=False)
class Evaluation(ScoredRows):
    """Scores, labels and the numbers that follow from them.

    Attributes
    ----------
    positive : boolean array of n
    scores : array of n
    probabilities, weights, groups : array of n or None
    auc : AUCInterval
        The AUC with its interval.
    average_precision : float
    sensitivity : dict of float to float
        The sensitivity at each specificity.
    lift : dict of float to float
        The lift of each top share of the rows.
    thresholds : dict of str to Threshold
        "youden", "recall", "cost" (with a cost ratio) and "model" (if the model stores a threshold): each with
        `threshold`, `sensitivity`, `specificity`, `precision` and `share`.
    bins : tuple of Bin
        Groups of rows of similar probability: `rows`, `predicted`, `observed`.
    brier : float or None
        Brier score, where there are probabilities.
    calibration : Calibration or None
        Slope, intercept and expected ÷ observed with their intervals, where there are probabilities.
    max_fpr, partial_auc : float and AUCInterval, or None
    notes : tuple of str
        What was noticed about the rows.
    times, within : array of n or None
        `times` are those of events or censoring (a positive row has its event), or the negated numbers of an order
        (all rows are positive); `within` are strata. With either, `auc` is the concordance index, or the AUC inside
        strata, and measures that need a threshold or a probability are missing.
    promised : ChosenThreshold or None
        The threshold of the model with its measures on held-out rows; ``thresholds["model"]`` has those of these rows.
    subgroups : tuple of Subgroup
        The levels of the columns that were asked for with `by`.
    curve : Curve or None
        True and false positives at every threshold.
    folds : array of n or None
        The folds of out-of-fold scores: `auc` is then the mean of those of the folds, and its interval allows for the
        training rows that models of different folds share.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import evaluate, train
    >>> cells = load_breast_cancer(as_frame=True).frame
    >>> found = evaluate(train(cells[::2], "target", features="linear"), cells[1::2])
    >>> sorted(found.thresholds), found.positives, found.flat()["positives"]
    (['recall', 'youden'], 174, 174)
    """

    auc: AUCInterval = field(kw_only=True)
    average_precision: float = np.nan
    sensitivity: dict[float, float] = field(default_factory=dict)
    lift: dict[float, float] = field(default_factory=dict)
    thresholds: dict[str, Threshold] = field(default_factory=dict)
    bins: tuple[Bin, ...] = ()
    brier: float | None = None
    max_fpr: float | None = None
    partial_auc: AUCInterval | None = None
    notes: tuple[str, ...] = ()
    promised: ChosenThreshold | None = None
    calibration: Calibration | None = None
    subgroups: tuple[Subgroup, ...] = ()
    curve: Curve | None = None

    @property
    def calibration_error(self) -> float | None:
        """The mean distance between predicted probability and observed frequency, where there are probabilities."""
        return None if self.probabilities is None else calibration_error(self.bins)

    def flat(self) -> dict[str, Any]:
        """All numbers under flat keys, for scripts."""
        values = flat_interval("auc" if self.times is None else "concordance_index", self.auc)
        if self.partial_auc is not None:
            values |= flat_interval("partial_auc", self.partial_auc)
        if self.folds is not None:
            values["folds"] = int(np.unique(self.folds).size)
        values["confidence"] = self.auc.confidence
        values["n"] = self.n
        values["positives"] = self.positives
        if self.max_fpr is not None:
            values["max_fpr"] = self.max_fpr
        if not np.isnan(self.average_precision):
            values["average_precision"] = self.average_precision
        for specificity, sensitivity in self.sensitivity.items():
            values[f"sensitivity_at_specificity_{100 * specificity:g}"] = sensitivity
        for share, lift in self.lift.items():
            values[f"lift_top_{100 * share:g}"] = lift
        if self.promised is not None:
            values |= {f"promised_{key}": value for key, value in vars(self.promised).items()}
        for rule, threshold in self.thresholds.items():
            values |= {f"{rule}_{key}": value for key, value in vars(threshold).items()}
        if self.brier is not None:
            values["brier"] = self.brier
            values["calibration_error"] = self.calibration_error
        if self.calibration is not None:
            values |= _flat_calibration(self.calibration)
        if self.subgroups:
            values["groups"] = [group.flat() for group in self.subgroups]
        return values


def flat_interval(name: str, interval: AUCInterval) -> dict[str, Any]:
    """A measure and its interval under flat keys; what is not finite is None."""
    error = interval.standard_error
    return {
        name: interval.auc,
        f"{name}_low": interval.low,
        f"{name}_high": interval.high,
        f"{name}_method": interval.method,
        f"{name}_standard_error": None if error == np.inf else error,
    }


def _flat_calibration(calibration: Calibration) -> dict[str, float | None]:
    """The measures of calibration, with their intervals, under flat keys."""
    return {
        **flat_estimate("calibration_slope", calibration.slope),
        **flat_estimate("calibration_intercept", calibration.intercept),
        **flat_estimate("expected_by_observed", calibration.ratio),
    }


def flat_estimate(name: str, estimate: Estimate) -> dict[str, float | None]:
    """A number and its interval under flat keys; what is not finite is None."""
    values = {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return {key: value if np.isfinite(value) else None for key, value in values.items()}


def measure(
    rows: ScoredRows,
    *,
    auc: AUCInterval | None = None,
    confidence: float = 0.95,
    recall: float = 0.9,
    cost_ratio: float | None = None,
    max_fpr: float | None = None,
    stored: ChosenThreshold | None = None,
) -> Evaluation:
    """Measure scored rows; without two classes there is nothing but the AUC with its interval.

    Parameters
    ----------
    rows : ScoredRows
    auc : AUCInterval, optional
        The AUC, if a comparison of several scores has found it already.
    confidence : float in (0, 1)
        Of all intervals.
    recall : float in (0, 1]
        Adds the highest threshold that finds this share of the positives.
    cost_ratio : float, optional
        How many false alarms are as bad as one missed positive; adds the threshold of least cost.
    max_fpr : float in (0, 1], optional
        Adds the partial AUC up to this false-positive rate.
    stored : ChosenThreshold, optional
        The threshold that the model stores.

    >>> positive, scores = np.arange(8) > 3, np.array([1.0, 2, 3, 5, 4, 6, 7, 8])
    >>> found = measure(ScoredRows(positive, scores))
    >>> found.auc.auc, found.thresholds["youden"].threshold, found.lift[0.2]
    (0.9375, 6.0, 2.0)
    """
    if auc is None:
        (auc,) = compare({"scores": rows}, confidence=confidence).intervals
    if not rows.has_classes:
        return Evaluation(**rows.arrays(), auc=auc)
    curve = Curve.of(rows.positive, rows.scores, rows.weights, rows.sorted_scores)
    partial_auc, notes = None, list[str]()
    if max_fpr is not None:
        partial_auc = partial_auc_ci(rows.positive, rows.scores, max_fpr=max_fpr, confidence=confidence)
        if rows.groups is not None:
            notes.append("the interval of the partial AUC is for independent rows: with groups it is too narrow")
    return Evaluation(
        **rows.arrays(),
        auc=auc,
        average_precision=curve.average_precision,
        sensitivity=sensitivity_at(curve, SPECIFICITIES),
        lift=lift_of_top(curve, TOP_SHARES),
        thresholds=thresholds_by_rule(curve, recall, cost_ratio, stored),
        bins=bins_of_probability(rows),
        brier=brier_score(rows),
        max_fpr=max_fpr,
        partial_auc=partial_auc,
        notes=tuple(notes),
        promised=stored,
        calibration=calibration_of(rows, confidence),
        curve=curve,
    )


def thresholds_by_rule(
    curve: Curve, recall: float, cost_ratio: float | None, stored: ChosenThreshold | None
) -> dict[str, Threshold]:
    """The stored threshold, that of the highest sensitivity + specificity, of a recall, and of the least cost."""
    found = {}
    if stored is not None:
        found["model"] = curve.at_score(stored.threshold)
    found["youden"] = curve.at(np.argmax(curve.hits / curve.positives - curve.alarms / curve.negatives))
    found["recall"] = curve.at(np.argmax(curve.hits >= recall * curve.positives * (1 - 1e-12)))
    if cost_ratio is not None:
        misses = curve.positives - curve.hits
        found["cost"] = curve.at(np.argmin(curve.alarms + cost_ratio * misses))
    return found


def sensitivity_at(curve: Curve, specificities: tuple[float, ...]) -> dict[float, float]:
    """The largest sensitivity where the specificity is at least this, as in `sensitivity_at_specificity`."""
    most_alarms = (1.0 - np.array(specificities) + 1e-12) * curve.negatives
    places = curve.alarms.searchsorted(most_alarms, side="right") - 1
    return dict(zip(specificities, (curve.hits[places] / curve.positives).tolist(), strict=True))


def lift_of_top(curve: Curve, top_shares: tuple[float, ...]) -> dict[float, float]:
    """Positives among the top share of rows, relative to as many drawn at random; ties share their places."""
    shares = np.array(top_shares)
    hits = np.interp(shares * (curve.positives + curve.negatives), curve.called, curve.hits)
    return dict(zip(top_shares, (hits / shares / curve.positives).tolist(), strict=True))


def bins_of_probability(rows: ScoredRows) -> tuple[Bin, ...]:
    """Groups of rows of similar probability; none without probabilities."""
    if rows.probabilities is None:
        return ()
    order = None
    if rows.probabilities is rows.scores and rows.sorted_scores.order.size == rows.n:  # no row has the weight 0
        order = rows.sorted_scores.order
    return reliability(rows.positive, rows.probabilities, BINS, rows.weights, order=order)


def brier_score(rows: ScoredRows) -> float | None:
    """The mean squared distance between probability and label; None without probabilities."""
    if rows.probabilities is None:
        return None
    return float(np.average((rows.probabilities - rows.positive) ** 2, weights=rows.weights))


def calibration_of(rows: ScoredRows, confidence: float) -> Calibration | None:
    """Slope, intercept and expected ÷ observed with their intervals; None without probabilities."""
    if rows.probabilities is None:
        return None
    return calibration_measures(
        rows.positive,
        rows.probabilities,
        confidence=confidence,
        groups=rows.groups,
        sample_weight=rows.weights,
    )
