"""Net benefit: what decisions by a threshold are worth (decision curves)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vrspam.metrics import roc
from vrspam.metrics.estimates import Estimate, estimate_of
from vrspam.metrics.groups import Clusters, satterthwaite
from vrspam.metrics.intervals import checked_rows


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
    gain = np.where(y, -1.0, at / (1.0 - at)) * (probability < at)
    share = weight / weight.sum()
    value = float(share @ gain)
    return estimate_of(value, share * (gain - value), y, weight, groups, confidence)
