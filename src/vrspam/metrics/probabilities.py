"""What probabilities are worth: the decision curve, and how they compare with what was observed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, stdtrit

from vrspam.metrics.intervals import Clusters, group_names
from vrspam.metrics.roc import both_classes, checked_scores, checked_weights, normal_quantile, positive_rows


class Estimate(NamedTuple):
    """A number with its interval; NaN where the rows do not say it.

    Attributes
    ----------
    value, low, high : float

    Examples
    --------
    >>> from vrspam.metrics import Estimate
    >>> Estimate(0.9, 0.7, 1.1).low
    0.7
    """

    value: float
    low: float
    high: float


class NetBenefit(NamedTuple):
    """A decision curve: what a row brings on average, in hits, if rows of at least a probability are treated.

    Attributes
    ----------
    thresholds : ndarray
        Probabilities from which on a row is treated.
    model, low, high : ndarray
        The net benefit of the model, and its interval at each threshold.
    standard_error : ndarray
        Of the net benefit of the model.
    treat_all : ndarray
        The net benefit if all rows are treated; with none it is 0.

    Examples
    --------
    >>> from vrspam.metrics import net_benefit
    >>> net_benefit([0, 1], [0.2, 0.8]).thresholds.size
    99
    """

    thresholds: np.ndarray
    model: np.ndarray
    low: np.ndarray
    high: np.ndarray
    standard_error: np.ndarray
    treat_all: np.ndarray


def net_benefit(
    y: ArrayLike,
    probability: ArrayLike,
    thresholds: ArrayLike | None = None,
    *,
    confidence: float = 0.95,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> NetBenefit:
    """The net benefit of treating the rows whose probability is at least t: hits - alarms · t/(1 - t), a row.

    Who treats from the probability t on takes 1/t - 1 false alarms for one hit; the net benefit counts in hits. A model
    is of use where it beats treating all rows and treating none. The interval at a threshold is that of a mean over
    rows, a row bringing 1, -t/(1 - t) or 0.

    Parameters
    ----------
    y : array of n labels
        As in :func:`roc_auc`.
    probability : array of n numbers in [0, 1]
    thresholds : array of numbers in (0, 1), optional
        By default 0.01, 0.02, ..., 0.99.
    confidence : float in (0, 1)
        Of the intervals.
    groups, sample_weight : array of n, optional
        Rows that belong together, and how much each row counts, as in :func:`roc_auc_ci`.

    Returns
    -------
    NetBenefit
        Arrays as long as `thresholds`.

    References
    ----------
    Vickers & Elkin (2006), Medical Decision Making 26, 565-574.

    Examples
    --------
    >>> from vrspam.metrics import net_benefit
    >>> found = net_benefit([0, 0, 0, 1], [0.1, 0.2, 0.6, 0.7], [0.5])
    >>> found.model.tolist(), found.treat_all.tolist()  # one hit and one alarm in four rows; one hit and three
    ([0.0], [-0.5])
    """
    limit, positive = normal_quantile(confidence), positive_rows(y)
    chance = _checked_chances(probability, positive.size)
    points = np.arange(1, 100) / 100 if thresholds is None else np.atleast_1d(np.asarray(thresholds, np.float64))
    if not np.all((points > 0.0) & (points < 1.0)):
        raise ValueError("thresholds must lie strictly between 0 and 1.")
    weight = np.ones(positive.size) if sample_weight is None else checked_weights(sample_weight, positive.size)
    odds, share = points / (1.0 - points), weight / weight.sum()
    rising = np.argsort(points)
    reached = np.searchsorted(points[rising], chance, side="right")  # how many thresholds a row reaches
    sums = np.empty((4, points.size))  # of rows from each threshold on: hits, alarms, and their squares
    for place, part in enumerate((share * positive, share * ~positive, share**2 * positive, share**2 * ~positive)):
        sums[place, rising] = np.bincount(reached, part, points.size + 1)[::-1].cumsum()[::-1][1:]
    hits, alarms, hits2, alarms2 = sums
    model = hits - odds * alarms
    if groups is None:  # Σ share² (gain - model)², the gain of a row being 1, -odds or 0
        left = share @ share - hits2 - alarms2
        error = np.sqrt(hits2 * (1.0 - model) ** 2 + alarms2 * (odds + model) ** 2 + left * model**2)
    else:
        names, error = group_names(groups, positive.size), np.empty(points.size)
        for k, (at, one) in enumerate(zip(points, odds, strict=True)):
            moves = share * (np.where(positive, 1.0, -one) * (chance >= at) - model[k])
            clusters = Clusters.of_moves(moves, weight, names)
            error[k], limit = clusters.error, float(stdtrit(clusters.freedom, 0.5 + confidence / 2.0))
    prevalence = float(share @ positive)
    treat_all = prevalence - odds * (1.0 - prevalence)
    return NetBenefit(points, model, model - limit * error, model + limit * error, error, treat_all)


def benefit_over_all(y: NDArray, probability: NDArray, at: float, **beside: Any) -> Estimate:
    """The net benefit of a model minus that of treating all rows, with its interval: `beside` as in `net_benefit`.

    To leave rows below t alone saves alarms and misses hits, which is the net benefit of treating the others.
    """
    found = net_benefit(~y, 1.0 - probability, [np.nextafter(1.0 - at, 1.0)], **beside)
    odds = at / (1.0 - at)
    return Estimate(*(float(odds * values[0]) for values in (found.model, found.low, found.high)))


def _checked_chances(probability: ArrayLike, n: int) -> NDArray[np.float64]:
    chance = checked_scores(probability, n, "probability").astype(np.float64)
    if chance.size == 0 or chance.min() < 0.0 or chance.max() > 1.0:
        raise ValueError("probability must hold numbers from 0 to 1: make probabilities of scores first.")
    return chance


class Calibration(NamedTuple):
    """How probabilities compare with what was observed.

    Attributes
    ----------
    slope : Estimate
        Of the log-odds of y on those of the probability: 1 is right, less means that probabilities are too extreme.
    intercept : Estimate
        Of the log-odds of y beside those of the probability: 0 is right, more means that probabilities are too low.
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
    z_limit = normal_quantile(confidence)
    positive = both_classes(positive_rows(y), at_least=1)
    chance = _checked_chances(probability, positive.size)
    weight = np.ones(positive.size) if sample_weight is None else checked_weights(sample_weight, positive.size)
    odds, shrink, many = logit(np.clip(chance, 1e-6, 1.0 - 1e-6)), np.ones(1), 50_000
    if groups is None and positive.size > many:  # rows of nearly the same probability and of one class count as one
        level = 2 * np.rint(1000.0 * odds).astype(np.intp) + positive
        level -= level.min() - level.min() % 2
        mass = np.bincount(level, weight)
        there = np.flatnonzero(mass)
        odds, chance = (np.bincount(level, weight * part)[there] / mass[there] for part in (odds, chance))
        shrink, weight = np.sqrt(np.bincount(level, weight**2)[there]) / mass[there], mass[there]
        positive = there % 2 == 1
    names = np.arange(positive.size) if groups is None else group_names(groups, positive.size)
    ones = np.ones((positive.size, 1))

    def estimate(value: float, moves: NDArray) -> Estimate:
        found = Clusters.of_moves(shrink * moves, weight, names)
        limit = z_limit if groups is None else float(stdtrit(found.freedom, 0.5 + confidence / 2.0))
        return Estimate(float(value), float(value - limit * found.error), float(value + limit * found.error))

    slope = intercept = Estimate(*[float("nan")] * 3)
    if np.ptp(odds) > 0.0 and (fit := _logistic(np.column_stack([ones, odds]), positive, weight)) is not None:
        slope = estimate(fit[0][1], fit[1][:, 1])
    if (fit := _logistic(ones, positive, weight, odds)) is not None:
        intercept = estimate(fit[0][0], fit[1][:, 0])
    expected, observed = float(weight @ chance), float(weight @ positive)
    of_log = estimate(float(np.log(expected / observed)), weight * (chance / expected - positive / observed))
    return Calibration(slope, intercept, Estimate(*np.exp(of_log).tolist()))


def _logistic(
    X: NDArray, positive: NDArray, weight: NDArray, fixed: NDArray | float = 0.0
) -> tuple[NDArray, NDArray] | None:
    """Coefficients of a logistic regression by Newton's method, and how much each row moves them; None if it fails."""
    coef = np.zeros(X.shape[1])
    coef[1:] = 1.0
    for _ in range(50):
        chance = expit(X @ coef + fixed)
        curvature = (X * (weight * chance * (1.0 - chance))[:, np.newaxis]).T @ X
        rows = X * (weight * (positive - chance))[:, np.newaxis]
        try:
            inverse = np.linalg.inv(curvature)
        except np.linalg.LinAlgError:  # the classes are separated: the slope is infinite
            return None
        step = inverse @ rows.sum(axis=0)
        coef = coef + np.clip(step, -2.0, 2.0)
        if np.abs(step).max() < 1e-10:
            return coef, rows @ inverse
    return None
