"""Measures of scores and labels: thresholds, average precision, net benefit, calibration of probabilities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from vrspam._utils.names import THRESHOLD_RULES
from vrspam._utils.texts import short_between
from vrspam.metrics import roc
from vrspam.metrics.groups import Clusters, satterthwaite
from vrspam.metrics.intervals import checked_rows

BINS = 10
LEAST_IN_BIN = 15
MANY_ROWS = 50_000  # beyond so many, rows of nearly the same probability are taken together


def average_precision_columns(
    positive: ArrayLike, scores: ArrayLike, sample_weight: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Average precision of every column of a matrix of scores: one row per sample, one column per model.

    The mean, over the positives, of the precision at the threshold that just includes them:

        AP = mean over i in + of  TP(s_i) / (TP(s_i) + FP(s_i)),   TP(s), FP(s): positives, negatives with score ≥ s

    Parameters
    ----------
    positive : boolean array of n
    scores : array (n, m)
        Scores on a device are copied to the host.
    sample_weight : array of n numbers, optional
        How many rows each one stands for.

    Returns
    -------
    array of m
        Equal to :func:`sklearn.metrics.average_precision_score` to rounding. All NaN, with a warning, when only one
        class has weight.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.metrics import average_precision_columns
    >>> scores = np.array([[0.1, 3.0], [0.4, 3.0], [0.35, 3.0], [0.8, 3.0]])
    >>> average_precision_columns(np.array([False, False, True, True]), scores).round(4).tolist()
    [0.8333, 0.5]
    """
    positive, scores, weight, up, down = roc.checked_columns(positive, scores, sample_weight, "average precision")
    if up.size == 0 or down.size == 0:
        return np.full(scores.shape[1], np.nan)
    if weight is not None:
        weight = roc.unit_weights(weight)
    found = np.empty(scores.shape[1])
    for j in range(scores.shape[1]):
        if weight is None:
            of_up, ranked = np.sort(scores[up, j]), np.sort(scores[down, j])
            hits = up.size - of_up.searchsorted(of_up)
            alarms = down.size - ranked.searchsorted(of_up)
            found[j] = np.mean(hits / (hits + alarms))
        else:
            found[j] = Curve.of(positive, scores[:, j], weight).average_precision
    return np.clip(found, 0.0, 1.0)


@dataclass(frozen=True)
class Threshold:
    """What follows if rows are called positive when their score is at least `threshold`."""

    threshold: float
    sensitivity: float
    specificity: float
    precision: float | None  # None where no row is called positive
    share: float


@dataclass(frozen=True)
class ChosenThreshold(Threshold):
    """A threshold in use, with its rule, the number asked for, and its measures on held-out rows.

    Attributes
    ----------
    threshold : float
        Rows whose score is at least this are called positive.
    sensitivity, specificity, precision, share : float
        What follows from it on held-out rows; `share` is that of the rows called positive, `precision` may be None.
    rule : {"recall", "precision", "alerts", "cost_ratio", "threshold"}
    asked : float
    confidence : float or None
        How sure it is that new rows keep the number asked for; None if only the held-out rows are known to keep it.
        A precision and a share of alerts are promised for rows with the same share of positives (`prevalence`).
    """

    rule: str
    asked: float
    confidence: float | None = None

    def check(self) -> None:
        """Refuse a rule that is not known, as a file may hold it."""
        if self.rule not in THRESHOLD_RULES:
            raise ValueError(f"the rule {self.rule!r} of the threshold is not known")

    @property
    def prevalence(self) -> float | None:
        """The share of positives among the held-out rows; None where no row, or no positive, is called."""
        if self.precision is None or not self.sensitivity > 0.0:
            return None
        return min(1.0, self.precision * self.share / self.sensitivity)

    @property
    def condition(self) -> str:
        """What the promise depends on beside the model, in words; empty if it depends on nothing else."""
        if self.confidence is None or self.rule not in ("precision", "alerts") or self.prevalence is None:
            return ""
        return f", where {100 * self.prevalence:.2g} % of the rows are positive as in training"

    @property
    def words(self) -> str:
        """What the threshold does, in words."""
        asked, least, most, sure = f"{100 * self.asked:g} %", "", "", ""
        if self.confidence is not None:
            least, most = "at least ", "at most "
            sure = f", with {100 * self.confidence:g} % confidence{self.condition}"
        return {
            "recall": f"finds {least}{asked} of the positives{sure}",
            "precision": f"is right in {least}{asked} of its calls{sure}",
            "alerts": f"calls {most}{asked} of the rows{sure}",
            "cost_ratio": f"has the least cost, one miss worth {self.asked:g} false alarms",
            "threshold": "was given",
        }[self.rule]


class Bin(NamedTuple):
    """Rows of similar probability: their mean predicted probability, and the observed frequency of positives."""

    rows: int
    predicted: float
    observed: float


@dataclass(frozen=True, eq=False)
class Curve:
    """Hits (positives found) and false alarms for every threshold, starting at one that no row reaches."""

    thresholds: NDArray
    hits: NDArray
    alarms: NDArray
    called: NDArray  # rows that are called positive
    positives: float
    negatives: float

    @classmethod
    def of(
        cls, positive: NDArray, scores: NDArray, weights: NDArray | None = None, ranked: roc.Ranked | None = None
    ) -> Curve:
        """The curve of scores, which may be sorted already; rows of weight 0 do not count."""
        _, ranks, hits, alarms = roc.Ranked.of(positive, scores, weights) if ranked is None else ranked
        thresholds = np.append(np.nextafter(ranks[0], np.inf), ranks)
        return cls(thresholds, hits, alarms, hits + alarms, float(hits[-1]), float(alarms[-1]))

    @property
    def average_precision(self) -> float:
        """The mean, over the positives, of the precision at the threshold that just includes them."""
        new = np.flatnonzero(self.hits[1:] > self.hits[:-1])  # thresholds that include positives
        more = self.hits[new + 1] - self.hits[new]
        return float(np.sum(more * self.hits[new + 1] / self.called[new + 1]) / self.positives)

    def place(self, threshold: float) -> int:
        """The place of any threshold, which need not be the score of a row."""
        return max(int(np.searchsorted(-self.thresholds, -threshold, side="right")) - 1, 0)

    def at_score(self, threshold: float) -> Threshold:
        """What follows from a threshold that need not be the score of a row."""
        return replace(self.at(self.place(threshold)), threshold=threshold)

    def short(self, place: int) -> Threshold:
        """What follows from the threshold of a place, as a short number between two scores."""
        found = self.at(place)
        below = float(self.thresholds[place + 1]) if place + 1 < self.thresholds.size else found.threshold - 1.0
        gap = found.threshold - below  # well inside it: rounding of scores must not move a row to the other side
        return replace(found, threshold=short_between(below + 0.25 * gap, below + 0.75 * gap))

    def at(self, place: Any) -> Threshold:
        hits, alarms = float(self.hits[place]), float(self.alarms[place])
        return Threshold(
            threshold=float(self.thresholds[place]),
            sensitivity=hits / self.positives,
            specificity=1.0 - alarms / self.negatives,
            precision=hits / (hits + alarms) if hits + alarms else None,
            share=(hits + alarms) / (self.positives + self.negatives),
        )


def reliability(
    positive: NDArray, probabilities: NDArray, bins: int = 0, weights: Any = None, order: NDArray | None = None
) -> tuple[Bin, ...]:
    """Rows in order of their probability, cut into groups of about equal size; equal probabilities stay together.

    Without a number of groups there are ten, or fewer of at least 15 rows, but two. `order` is that of falling
    probabilities, if it is known.
    """
    bins = bins or max(2, min(BINS, positive.size // LEAST_IN_BIN))
    order = np.argsort(probabilities) if order is None else order[::-1]
    ranked, labels = probabilities[order], positive[order]
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


class Estimate(NamedTuple):
    """A number with its interval; NaN where the rows do not determine it.

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
    """A decision curve: the mean benefit per row, in hits, of treating the rows with at least a given probability.

    Attributes
    ----------
    thresholds : ndarray
        Probability thresholds: a row is treated if its probability is at least this.
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

    thresholds: NDArray
    model: NDArray
    low: NDArray
    high: NDArray
    standard_error: NDArray
    treat_all: NDArray


def net_benefit(
    y: ArrayLike,
    probability: ArrayLike,
    thresholds: ArrayLike | None = None,
    *,
    confidence: float = 0.95,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> NetBenefit:
    """The net benefit of treating the rows whose probability is at least t: hits - alarms · t/(1 - t), per row.

    To treat rows from the probability t on is to accept 1/t - 1 false alarms for one hit; the unit of the net benefit
    is one hit. A model is useful where it beats treating all rows and treating none. The interval at a threshold is
    that of a mean over rows, where a row has the value 1, -t/(1 - t) or 0.

    Parameters
    ----------
    y : array of n labels
        As in :func:`roc_auc`.
    probability : array of n numbers in [0, 1]
    thresholds : array of numbers in (0, 1), optional
        By default 0.01, 0.02, ..., 0.99.
    confidence : float in (0, 1)
        Nominal coverage of the intervals.
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
    roc.quantile(confidence)  # refuses numbers outside (0, 1)
    positive, (chance,), weights, names = checked_rows(
        y, [probability], ["probability"], sample_weight, groups, at_least=1, chances=True
    )
    points = np.arange(1, 100) / 100 if thresholds is None else np.atleast_1d(np.asarray(thresholds, np.float64))
    if not np.all((points > 0.0) & (points < 1.0)):
        raise ValueError("thresholds must lie strictly between 0 and 1.")
    weight = np.ones(positive.size) if weights is None else weights
    share = weight / weight.sum()
    odds = points / (1.0 - points)
    hits, hits2 = _shares_from(points, chance[positive], None if weights is None else share[positive], positive.size)
    alarms, alarms2 = _shares_from(
        points, chance[~positive], None if weights is None else share[~positive], positive.size
    )
    model = hits - odds * alarms
    if names is None:  # Σ share² (gain - model)², the gain of a row being 1, -odds or 0
        left = share @ share - hits2 - alarms2
        of_hits = hits2 * (1.0 - model) ** 2
        others = alarms2 * (odds + model) ** 2 + left * model**2
        error = np.sqrt(of_hits + others)
        n_up = int(positive.sum())
        freedom_up = max(n_up - 1.0, 1.0)
        freedom_down = max(positive.size - n_up - 1.0, 1.0)
        limits = np.empty(points.size)
        for k in range(points.size):
            freedom = satterthwaite((of_hits[k], freedom_up), (others[k], freedom_down))
            limits[k] = roc.quantile(confidence, freedom)
    else:
        error, limits = np.empty((2, points.size))
        for k in range(points.size):
            gain = np.where(positive, 1.0, -odds[k]) * (chance >= points[k])
            clusters = Clusters.of_moves(share * (gain - model[k]), weight, names, positive, centred=False)
            error[k] = clusters.error
            limits[k] = roc.quantile(confidence, clusters.freedom)
    prevalence = float(share @ positive)
    treat_all = prevalence - odds * (1.0 - prevalence)
    return NetBenefit(points, model, model - limits * error, model + limits * error, error, treat_all)


def _shares_from(
    points: NDArray, chance: NDArray, share: NDArray | None, n_rows: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each threshold the sum of the shares, and of their squares, of the rows of a class from there on.

    Without `share` each of the `n_rows` rows of both classes has the same.
    """
    if share is None:
        reached = (chance.size - np.sort(chance).searchsorted(points)) / n_rows
        return reached, reached / n_rows
    falling = np.argsort(chance)[::-1]
    count = chance.size - np.searchsorted(chance[falling[::-1]], points)
    sums = np.append(0.0, np.cumsum(share[falling]))
    squares = np.append(0.0, np.cumsum(share[falling] ** 2))
    return sums[count], squares[count]


def benefit_over_all(
    y: NDArray,
    probability: NDArray,
    at: float,
    confidence: float = 0.95,
    groups: NDArray | None = None,
    sample_weight: NDArray | None = None,
) -> Estimate:
    """The net benefit of a model minus that of treating all: a row left alone avoids a false alarm or misses a hit."""
    weight = np.ones(y.size) if sample_weight is None else sample_weight
    gain, share = np.where(y, -1.0, at / (1.0 - at)) * (probability < at), weight / weight.sum()
    value = float(share @ gain)
    return _estimate(value, share * (gain - value), y, weight, groups, confidence)


def _estimate(
    value: float,
    moves: NDArray,
    positive: NDArray,
    weight: NDArray,
    groups: NDArray | None,
    confidence: float,
    rows: tuple[int, int] | None = None,
) -> Estimate:
    """A number with its interval, from how much each row moves it; rows of a group move it together.

    Student's t counts the rows, or groups, of each class: five positives tell little, however many negatives there are.
    `rows` has the numbers of negatives and positives, where entries stand for several rows.
    """
    counts = rows or (int((~positive).sum()), int(positive.sum()))
    sums = [float(moves[side] @ moves[side]) for side in (~positive, positive)]
    error = float(np.linalg.norm(moves))
    freedom = satterthwaite(*[(own, max(count - 1.0, 1.0)) for own, count in zip(sums, counts, strict=True)])
    if groups is not None:
        clusters = Clusters.of_moves(moves, weight, groups, positive, centred=False)
        error, freedom = clusters.error, clusters.freedom
    limit = roc.quantile(confidence, freedom)
    return Estimate(float(value), float(value - limit * error), float(value + limit * error))


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
        return _estimate(value, shrink * moves, positive, weight, names, confidence, rows)

    slope = intercept = Estimate(*[float("nan")] * 3)
    ones = np.ones((positive.size, 1))
    if np.ptp(odds) > 0.0 and (fit := _logistic(np.column_stack([ones, odds]), positive, weight)) is not None:
        slope = estimate(fit[0][1], fit[1][:, 1])
    if (fit := _logistic(ones, positive, weight, odds)) is not None:
        intercept = estimate(fit[0][0], fit[1][:, 0])
    expected, observed = float(weight @ chance), float(weight @ positive)
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
    loss, step = np.inf, coef
    for _ in range(100):
        odds = X @ (coef + step) + fixed
        new = float(weight @ (np.logaddexp(0.0, odds) - positive * odds))
        if new > loss + 1e-12 * abs(loss):  # too far
            step = step / 2.0
            continue
        loss, coef, chance = new, coef + step, expit(odds)
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
