"""Thresholds by a rule, such as a recall, that is kept on the rows at hand or promised for new rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import beta, binom

from vrspam._utils.findings import Fix, Note, VrspamError
from vrspam.metrics.roc import checked_scores, positive_rows
from vrspam.metrics.thresholds import ChosenThreshold, Curve


def choose_threshold(
    positive: NDArray, scores: NDArray, rule: str, asked: float, weights: NDArray | None = None
) -> ChosenThreshold:
    """The threshold that a rule takes on scored rows, as a short number between two scores.

    "recall": the highest that finds this share of the positives. "precision": the lowest above which this share of the
    rows is positive. "alerts": the lowest that calls at most this share of the rows. "cost_ratio": the least cost, a
    miss being as bad as so many false alarms. "threshold": the score itself.

    >>> scores, positive = np.arange(10.0), np.arange(10) % 3 > 0
    >>> [choose_threshold(positive, scores, rule, 0.5).threshold for rule in ("recall", "alerts", "threshold")]
    [4.7, 4.7, 0.5]
    """
    curve = Curve.of(positive, scores, weights)
    if rule == "threshold":
        return ChosenThreshold(**vars(curve.at_score(asked)), rule=rule, asked=asked)
    return ChosenThreshold(**vars(curve.short(_place_of_rule(curve, rule, asked))), rule=rule, asked=asked)


def _place_of_rule(curve: Curve, rule: str, asked: float) -> int:
    """The place in the curve that a rule takes."""
    if rule == "recall":
        return int(np.argmax(curve.hits >= asked * curve.positives * (1.0 - 1e-12)))
    if rule == "cost_ratio":
        return int(np.argmin(curve.alarms + asked * (curve.positives - curve.hits)))
    called = curve.hits + curve.alarms
    if rule == "precision":
        holds = curve.hits >= asked * called * (1.0 - 1e-12)
    else:
        holds = called <= asked * (curve.positives + curve.negatives) * (1.0 + 1e-12)
    places = np.flatnonzero(holds & (called > 0.0))
    if places.size == 0 or places[-1] == 0:
        size = "smaller" if rule == "precision" else "larger"
        raise VrspamError("no threshold keeps ", Fix(rule, asked), f" on held-out rows: give a {size} number")
    return int(places[-1])


def stored_threshold(
    positive: NDArray,
    scores: NDArray,
    rule: str,
    asked: float,
    weights: NDArray | None = None,
    grouped: bool = False,
    widened: float = 1.0,
) -> tuple[ChosenThreshold, Note | None]:
    """The threshold that a model stores for a rule, and a message if it is no promise about new rows.

    A recall, a precision or a share of alerts is promised (:func:`promised_threshold`) if the held-out rows are enough
    and independent. Else `choose_threshold` gives it: the rule then holds on the held-out rows alone. `widened` is as
    in `promised_threshold`.
    """
    if rule not in ("recall", "precision", "alerts"):
        return choose_threshold(positive, scores, rule, asked, weights), None
    target = Fix(rule, asked)
    reason = Note("no number of rows can promise ", target)
    if asked < 1.0:
        reason = Note("rows in groups, or with weights, cannot promise ", target)
    if weights is None and not grouped and asked < 1.0:
        try:
            promised = promised_threshold(positive, scores, widened=widened, **{rule: asked})
        except VrspamError as error:
            reason = error.note
        else:
            curve = Curve.of(positive, scores)
            short_text = curve.short(curve.place(promised.threshold))
            if short_text.share > 0.0:
                return ChosenThreshold(**vars(short_text), rule=rule, asked=asked, confidence=promised.confidence), None
            reason = Note("these rows are too few to promise ", target, ": no row would be called")
    outlook = "The stored threshold meets this target on the held-out rows alone."
    stop = " " if reason.endswith(".") else ". "
    return choose_threshold(positive, scores, rule, asked, weights), Note(*reason.parts, stop, outlook)


@dataclass(frozen=True)
class PromisedThreshold:
    """A threshold with a promise about new rows: those with ``score >= threshold`` are called positive.

    Attributes
    ----------
    threshold : float
    measure : {"recall", "specificity", "precision", "alerts"}
        What is promised: at least `promised`, for "alerts" at most.
    promised : float
    found : float
        The same measure on the rows at hand.
    confidence : float
        How sure the promise is.
    rows : int
        The rows that it rests on: positives, negatives, rows called positive, or all.

    Examples
    --------
    >>> from vrspam.metrics import promised_threshold
    >>> promised_threshold([0, 1] * 50, range(100), recall=0.9).rows
    50
    """

    threshold: float
    measure: str
    promised: float
    found: float
    confidence: float
    rows: int


def promised_threshold(
    y: ArrayLike,
    score: ArrayLike,
    *,
    recall: float | None = None,
    specificity: float | None = None,
    precision: float | None = None,
    alerts: float | None = None,
    confidence: float = 0.95,
    widened: float = 1.0,
) -> PromisedThreshold:
    """The threshold that keeps a promise about new rows, with a given confidence; no distribution is assumed.

    Of m positives, in order of their scores, the k-th smallest score is taken, with k the largest number for which
    P(Bin(m, 1 - recall) < k) ≤ 1 - confidence: the share of all positives above it is at least `recall`. `specificity`
    is the mirror image over the negatives, `alerts` the one over all rows. For `precision` many thresholds are tried:
    those above which there are 2^(j/2) rows, j = 0, 1, 2, ..., if so many rows can show the precision, each
    with Clopper and Pearson's bound at the level (1 - confidence) / their number; the lowest that keeps the promise is
    taken.

    Parameters
    ----------
    y, score
        As in :func:`roc_auc`, of rows that the model has not seen.
    recall, specificity, precision : float in (0, 1), optional
        The least share of positives that are found, of negatives that are left alone, of positives among the rows that
        are called positive. Exactly one of these and `alerts` is given.
    alerts : float in (0, 1), optional
        The largest share of rows that are called positive.
    confidence : float in (0, 1)
    widened : float, at least 1
        For out-of-fold scores: by how much errors are larger than for rows of a test set, because folds share
        training rows (`AUCClassifierCV.widening_`). The margin between the share that is kept on these rows and the
        share that is promised becomes so many times as large, as far as there are rows. A promised precision does not
        change.

    Returns
    -------
    PromisedThreshold

    Notes
    -----
    New rows have to come from where these rows came from, independently of each other. With rows of one patient, or
    scores of rows that the model was trained on, the promise is void.

    References
    ----------
    Wilks (1941), Annals of Mathematical Statistics 12, 91-96 (order statistics as tolerance limits). Clopper & Pearson
    (1934), Biometrika 26, 404-413.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.metrics import promised_threshold
    >>> y = np.arange(400) % 2
    >>> score = np.random.default_rng(0).normal(size=400) + 2 * y
    >>> found = promised_threshold(y, score, recall=0.9)
    >>> print(f"{found.found:.3f} of 200 are found, of all positives at least 0.9")
    0.940 of 200 are found, of all positives at least 0.9
    """
    asked = {"recall": recall, "specificity": specificity, "precision": precision, "alerts": alerts}
    given = {name: value for name, value in asked.items() if value is not None}
    if len(given) != 1:
        raise ValueError(f"Give exactly one of recall, specificity, precision and alerts, got {len(given)}.")
    ((measure, share),) = given.items()
    for name, value in (*given.items(), ("confidence", confidence)):
        if not 0.0 < value < 1.0:
            raise ValueError(f"{name} must lie strictly between 0 and 1, got {value!r}.")
    if not widened >= 1.0:
        raise ValueError(f"widened must be at least 1, got {widened!r}.")
    positive = positive_rows(y, at_least=1)
    scores = checked_scores(score, positive.size, "score").astype(np.float64)
    if not np.isfinite(scores).all():
        count = int(np.count_nonzero(~np.isfinite(scores)))
        raise ValueError(
            f"score is infinite in {count} rows, and no threshold can part equal infinities: replace them by a finite "
            "number beyond all others."
        )
    risk = 1.0 - confidence
    if measure == "precision":
        return _promised_precision(positive, scores, share, confidence)
    share_of_judged = 1.0 - share if measure == "alerts" else share  # of the rows that are judged, on the right side
    judged = np.sort({"recall": scores[positive], "specificity": scores[~positive]}.get(measure, scores))
    m = judged.size
    outside = int(binom.ppf(risk, m, 1.0 - share_of_judged))  # the largest k with P(Bin < k) at most the risk
    if outside == 0:
        least = int(np.ceil(np.log(risk) / np.log(share_of_judged)))
        rows = {"recall": "positives", "specificity": "negatives"}.get(measure, "rows")
        raise VrspamError(
            f"{m} {rows} are too few to promise ",
            Fix(measure, share),
            f" with {100 * confidence:g} % confidence: it takes {least}. Promise less, or collect more rows.",
        )
    allowed = m * (1.0 - share_of_judged)
    outside = max(1, int(np.floor(allowed - widened * (allowed - outside) + 1e-9)))
    if measure == "recall":
        threshold = float(judged[outside - 1])
        observed = float(np.mean(judged >= threshold))
    else:
        threshold = float(np.nextafter(judged[m - outside], np.inf))
        observed = float(np.mean(judged < threshold))
    return PromisedThreshold(
        threshold, measure, share, 1.0 - observed if measure == "alerts" else observed, confidence, m
    )


def _promised_precision(positive: NDArray, scores: NDArray, share: float, confidence: float) -> PromisedThreshold:
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    hits = np.concatenate([[0], np.cumsum(positive[order])])
    counts = np.floor(2.0 ** (0.5 * np.arange(2 * np.log2(ranked.size)))).astype(int)
    above = np.unique(np.searchsorted(-ranked, -ranked[counts], side="left"))  # ties stay below the threshold
    for _ in range(above.size):  # too few rows show nothing, even if all are positive: they need no share of the risk
        above = above[share**above <= (1.0 - confidence) / above.size] if above.size else above
    risk = (1.0 - confidence) / max(above.size, 1)
    bounds = beta.ppf(risk, np.maximum(hits[above], 1), above - hits[above] + 1) * (hits[above] > 0)
    if not np.any(bounds >= share):
        highest = float(bounds.max(initial=0.0))
        raise VrspamError(
            "No threshold shows ",
            Fix("precision", share),
            f" with {100 * confidence:g} % confidence; the highest shown precision is {highest:.2g}. Promise less, or "
            "collect more rows.",
        )
    count = int(above[bounds >= share].max())
    threshold = float(np.nextafter(ranked[count], np.inf))
    return PromisedThreshold(threshold, "precision", share, float(hits[count] / count), confidence, count)
