"""How far chances agree with what happens: reliability, calibration error, slope and intercept, Brier score."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from vrspam.metrics import roc
from vrspam.metrics.estimates import Estimate, estimate_of
from vrspam.metrics.intervals import checked_rows

BINS = 10
LEAST_IN_BIN = 15
MANY_ROWS = 50_000  # beyond so many, rows of nearly the same probability are taken together


class Bin(NamedTuple):
    """Rows of similar probability: their mean predicted probability, and the observed frequency of positives."""

    rows: int
    predicted: float
    observed: float


def reliability(
    positive: NDArray, probabilities: NDArray, bins: int = 0, weights: Any = None, order: NDArray | None = None
) -> tuple[Bin, ...]:
    """Rows in order of their probability, cut into groups of about equal size; equal probabilities stay together.

    Without a number of groups there are ten, or fewer of at least 15 rows, but two. `order` is that of falling
    probabilities, if it is known.
    """
    bins = bins or max(2, min(BINS, positive.size // LEAST_IN_BIN))
    order = np.argsort(probabilities) if order is None else order[::-1]
    ranked = probabilities[order]
    labels = positive[order]
    edges = ranked[np.ceil(np.linspace(0, 1, bins + 1)[1:-1] * (ranked.size - 1)).astype(int)]
    starts = np.unique(np.append(0, ranked.searchsorted(edges))).tolist()
    groups = []
    for start, stop in pairwise([*starts, ranked.size]):
        mass = None if weights is None else weights[order[start:stop]]
        if mass is None or mass.any():
            predicted = float(np.average(ranked[start:stop], weights=mass))
            observed = float(np.average(labels[start:stop], weights=mass))
            groups.append(Bin(stop - start, predicted, observed))
    return tuple(groups)


def wilson(share: NDArray, rows: NDArray) -> tuple[NDArray, NDArray]:
    """Wilson's 95 % interval of a share."""
    z = 1.959963984540054
    middle = (share + z**2 / (2 * rows)) / (1 + z**2 / rows)
    half = z * np.sqrt(share * (1 - share) / rows + z**2 / (4 * rows**2)) / (1 + z**2 / rows)
    return np.clip(middle - half, 0.0, 1.0), np.clip(middle + half, 0.0, 1.0)


def effective_share(right: NDArray, weights: NDArray, groups: NDArray | None = None) -> float:
    """The number of independent rows per unit of weight, for an interval of the share of rows that are `right`.

    With weights it is (Σ w)² / Σ w² over Σ w; rows of a group vary together, as in `vrspam.metrics.roc_auc_ci`. Few
    groups tell little about how much they vary: the number falls by the square of Student's t over the normal quantile.
    """
    total = float(weights.sum())
    if right.size < 2 or total == 0.0:
        return 1.0
    share = float(weights @ right) / total
    names = np.arange(right.size) if groups is None else np.unique(groups, return_inverse=True)[1]
    sums = np.bincount(names, weights * (right - share))
    variance = float(sums @ sums) / total**2
    sizes = np.bincount(names, weights)
    enough = float(sizes.sum() ** 2 / (sizes @ sizes))  # groups of equal size that would tell as much
    if not 0.0 < share < 1.0 or variance == 0.0:  # all right, or none: as many as there are groups
        return min(1.0, enough / total)
    if groups is not None and enough > 1.0 + 1e-9:
        wider = roc.quantile(0.95, enough - 1.0) / roc.quantile(0.95)
        variance *= enough / (enough - 1.0) * wider**2
    return share * (1.0 - share) / variance / total


def calibration_error(bins: tuple[Bin, ...]) -> float:
    """Mean distance between predicted probability and observed frequency, over rows."""
    return sum(b.rows * abs(b.predicted - b.observed) for b in bins) / sum(b.rows for b in bins)


class Calibration(NamedTuple):
    """How probabilities compare with what was observed.

    Attributes
    ----------
    slope : Estimate
        Of the log-odds of y on those of the probability: 1 is right, less means that probabilities are too extreme.
    intercept : Estimate
        Of a logistic regression of y with logit(p) as offset: 0 is right, more than 0 means that probabilities are
        too low.
    ratio : Estimate
        Expected ÷ observed positives: 1 is right, more means that probabilities are too high.

    Examples
    --------
    >>> from vrspam.metrics import calibration_measures
    >>> found = calibration_measures([0, 0, 1, 0, 1, 1], [0.1, 0.3, 0.4, 0.6, 0.7, 0.9])
    >>> round(found.ratio.value, 6)  # three positives are expected, and three there are
    1.0
    """

    slope: Estimate
    intercept: Estimate
    ratio: Estimate


def calibration_measures(
    y: ArrayLike,
    probability: ArrayLike,
    *,
    confidence: float = 0.95,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> Calibration:
    """Calibration slope, intercept and expected ÷ observed, each with its interval.

    The slope is that of a logistic regression of y on logit(p); the intercept that of one with logit(p) as a fixed
    part. Standard errors are those of the sandwich formula, which need no model of the rows; the interval of the ratio
    is symmetric on the logarithmic scale.

    Parameters
    ----------
    y : array of n labels
        As in :func:`roc_auc`, of rows that the model has not seen.
    probability : array of n numbers in [0, 1]
        Those nearer to 0 or 1 than a millionth count as a millionth away.
    confidence : float in (0, 1)
    groups, sample_weight : array of n, optional
        Rows that belong together, and how much each row counts, as in :func:`roc_auc_ci`.

    Returns
    -------
    Calibration

    References
    ----------
    Cox (1958), Biometrika 45, 562-565. Van Calster et al. (2016), Journal of Clinical Epidemiology 74, 167-176.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import expit
    >>> from vrspam.metrics import calibration_measures
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=5000)
    >>> found = calibration_measures(rng.random(5000) < expit(z), expit(2 * z))  # twice too sure
    >>> print(f"slope {found.slope.value:.2f}, 95 % interval {found.slope.low:.2f} to {found.slope.high:.2f}")
    slope 0.52, 95 % interval 0.49 to 0.56
    """
    roc.quantile(confidence)  # refuses numbers outside (0, 1)
    positive, (chance,), weights, names = checked_rows(
        y, [probability], ["probability"], sample_weight, groups, at_least=1, chances=True
    )
    inner = np.clip(chance, 1e-6, 1.0 - 1e-6)
    odds = np.log(inner / (1.0 - inner))
    n = positive.size
    rows = (int((~positive).sum()), int(positive.sum()))
    shrink = np.ones(1)
    if names is None and n > MANY_ROWS:  # rows of nearly the same probability and of one class count as one
        level = np.rint(250.0 * odds).astype(np.intp)
        level += level
        level += positive
        level -= level.min() // 2 * 2
        mass: Any = np.bincount(level, weights).astype(np.float64)
        present = np.flatnonzero(mass)
        mass = mass[present]
        squares = _sums_of_levels(level, weights, weights)[present]
        odds = _sums_of_levels(level, odds, weights)[present] / mass
        chance = _sums_of_levels(level, chance, weights)[present] / mass
        weights = mass
        shrink = np.sqrt(squares) / mass
        positive = present % 2 == 1
    weight = np.ones(positive.size) if weights is None else weights
    if names is None:
        shrink = shrink * np.sqrt(n / (n - 1))

    def estimate(value: float, moves: NDArray) -> Estimate:
        return estimate_of(value, shrink * moves, positive, weight, names, confidence, rows)

    slope = intercept = Estimate(*[float("nan")] * 3)
    ones = np.ones((positive.size, 1))
    if np.ptp(odds) > 0.0 and (fit := _logistic(np.column_stack([ones, odds]), positive, weight)) is not None:
        slope = estimate(fit[0][1], fit[1][:, 1])
    if (fit := _logistic(ones, positive, weight, odds)) is not None:
        intercept = estimate(fit[0][0], fit[1][:, 0])
    expected = float(weight @ chance)
    observed = float(weight @ positive)
    of_log = estimate(float(np.log(expected / observed)), weight * (chance / expected - positive / observed))
    return Calibration(slope, intercept, Estimate(*np.exp(of_log).tolist()))


def _sums_of_levels(level: NDArray, values: NDArray | None, weights: NDArray | None) -> NDArray[np.float64]:
    """For each level the weighted sum of the values of its rows; without values, or weights, these are 1."""
    if values is not None and weights is not None:
        values = weights * values
    return np.bincount(level, values if values is not None else weights).astype(np.float64)


def _logistic(
    X: NDArray, positive: NDArray, weight: NDArray, fixed: NDArray | float = 0.0
) -> tuple[NDArray, NDArray] | None:
    """Coefficients of a logistic regression by Newton's method, and how much each row moves them; None if it fails."""
    coef = np.zeros(X.shape[1])
    loss = np.inf
    step = coef
    for _ in range(100):
        odds = X @ (coef + step) + fixed
        new = float(weight @ (np.logaddexp(0.0, odds) - positive * odds))
        if new > loss + 1e-12 * abs(loss):  # too far
            step = step / 2.0
            continue
        loss = new
        coef = coef + step
        chance = expit(odds)
        curvature = (X * (weight * chance * (1.0 - chance))[:, np.newaxis]).T @ X
        rows = X * (weight * (positive - chance))[:, np.newaxis]
        try:
            inverse = np.linalg.inv(curvature)
        except np.linalg.LinAlgError:  # the classes are separated: the slope is infinite
            return None
        step = inverse @ rows.sum(axis=0)
        if np.abs(step).max() < 1e-10:
            return coef, rows @ inverse
    return None
