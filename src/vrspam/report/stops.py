"""The thresholds at which the slider of a page can stop, thinned, with exact counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vrspam._utils.texts import short_between
from vrspam.metrics.thresholds import Curve

FINE = 1.0 / 1500.0  # how far curves may move between two thresholds, as a part of a picture's side: under half a pixel


@dataclass(frozen=True, eq=False)
class Stops:
    """The thresholds at which the slider can stop, in increasing order, and the counts at each.

    A row is called positive if its score is at least the threshold; thresholds have few decimals and separate the same
    rows as the scores themselves. `hits` and `alarms` are the positive and negative rows that are called positive (sums
    of weights where rows have some). `probabilities` has the probability of a row whose score is the threshold.
    `effective` is how many independent rows a positive counts for, and a row that is called positive.
    """

    thresholds: np.ndarray
    hits: np.ndarray
    alarms: np.ndarray
    positives: float
    negatives: float
    probabilities: np.ndarray | None = None
    effective: tuple[float, float] = (1.0, 1.0)

    @classmethod
    def of(cls, curve: Curve, fine: float = FINE) -> Stops:
        """Return the thresholds of a curve, thinned so that no share changes by more than `fine` from one to the next.

        Where the curve itself jumps by more, the jump stays.

        >>> stops = Stops.of(Curve.of(np.array([True, False, True]), np.array([3.0, 2.0, 1.0])))
        >>> stops.thresholds.tolist(), stops.hits.tolist(), stops.alarms.tolist()
        ([1.0, 2.0, 3.0, 3.04], [2.0, 1.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0])
        >>> stops = Stops.of(Curve.of(np.arange(100_000) % 2 > 0, np.arange(100_000.0)))
        >>> stops.hits.size < 4_000, bool(np.abs(np.diff(stops.hits)).max() <= FINE * stops.positives + 1)
        (True, True)
        """
        kept = _thinned(curve, fine)
        return cls(
            _short_thresholds(curve.thresholds, kept),
            curve.hits[kept],
            curve.alarms[kept],
            curve.positives,
            curve.negatives,
        )


def _thinned(curve: Curve, fine: float) -> np.ndarray:
    """The places of the thresholds that are kept, from the lowest threshold to the highest."""
    last = curve.hits.size - 1
    shares = (curve.hits, fine * curve.positives), (curve.alarms, fine * curve.negatives)
    precision = np.divide(curve.hits, curve.called, out=np.zeros(last + 1), where=curve.called > 0.0)
    places = [last]
    while last > 0:  # the first point that is too far away is found by bisection
        far = max(int(rising.searchsorted(rising[last] - step)) for rising, step in shares)
        differs = np.abs(precision[far:last] - precision[last]) > fine
        if differs.any():
            far = last - int(np.argmax(differs[::-1]))
        last = min(last - 1, far)
        places.append(last)
    return np.array(places)


def _short_thresholds(scores: np.ndarray, places: np.ndarray) -> np.ndarray:
    """A number with few decimals between each score and the next one below; no row reaches the highest."""
    low = float(scores[-1])
    high = float(scores[1])
    margin = 0.02 * (high - low) or max(1.0, abs(low))
    above = np.where(places == 0, high + margin, scores[places])
    next_below = scores[np.minimum(places + 1, scores.size - 1)]
    below = np.where(places == scores.size - 1, low - margin, next_below)
    return np.array([short_between(*ends) for ends in zip(below.tolist(), above.tolist(), strict=True)])
