"""From scores to probabilities: functions that a model file can hold, fitted on rows that the model had not seen."""

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from scipy.special import expit, logit

from vrspam._utils import array_api
from vrspam._utils.findings import Fix, VrspamError

METHODS = ("sigmoid", "isotonic")
LEAST_SIGNAL = 0.05  # of the distance between the classes: the slope of a calibration stays positive
MANY_ROWS = 50_000  # with more rows, a fit on a few of them gives the starting point


@dataclass(frozen=True)
class Sigmoid:
    """Platt's calibration: 1 / (1 + exp(-(slope·score + offset))).

    Attributes
    ----------
    slope, offset : float
    half : float or None
        The score of probability ½; None where it is far beyond all scores.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.model_selection import Sigmoid
    >>> calibration = Sigmoid(slope=2.0, offset=-1.0)
    >>> calibration(np.array([0.0, 0.5])).round(3).tolist(), calibration.half
    ([0.269, 0.5], 0.5)
    """

    slope: float
    offset: float
    half: float | None = field(init=False, repr=False, compare=False)
    method = "sigmoid"

    def __post_init__(self) -> None:
        if not (np.isfinite(self.slope) and np.isfinite(self.offset)):
            raise ValueError("slope and offset of the calibration must be finite numbers")
        half = -self.offset / self.slope if self.slope > 0.0 else None  # earlier model files may hold a slope ≤ 0
        object.__setattr__(self, "half", half)

    def without_half(self) -> Self:
        """The same function, where ½ lies so far from all scores that no score stands for it."""
        same = replace(self)
        object.__setattr__(same, "half", None)
        return same

    def __call__(self, scores: np.ndarray, /) -> np.ndarray:
        return expit(self.slope * scores + self.offset)


@dataclass(frozen=True, eq=False)
class Isotonic:
    """Isotonic calibration: straight lines between (score, probability) nodes, constant outside them.

    Attributes
    ----------
    scores, probabilities : ndarray
        The nodes; neither decreases.
    half : float or None
        The largest score with a probability of at most ½; None if all scores have one, or none has.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.model_selection import Isotonic
    >>> calibration = Isotonic(np.array([0.0, 1.0]), np.array([0.2, 0.8]))
    >>> calibration(np.array([-5.0, 0.5, 5.0])).tolist()
    [0.2, 0.5, 0.8]
    """

    scores: np.ndarray
    probabilities: np.ndarray
    half: float | None = field(init=False, repr=False)
    method = "isotonic"

    def __post_init__(self) -> None:
        nodes = self.scores.ndim == self.probabilities.ndim == 1 and self.scores.size == self.probabilities.size > 0
        if not nodes or not (np.isfinite(self.scores).all() and np.isfinite(self.probabilities).all()):
            raise ValueError("the calibration needs as many probabilities as scores, all of them finite")
        if (np.diff(self.scores) < 0).any() or (np.diff(self.probabilities) < 0).any():
            raise ValueError("scores and probabilities of the calibration must not decrease")
        if self.probabilities[0] < 0 or self.probabilities[-1] > 1:
            raise ValueError("probabilities of the calibration must lie between 0 and 1")
        above, half = int(np.searchsorted(self.probabilities, 0.5, side="right")), None
        if 0 < above < self.probabilities.size:
            (low, high), (p, q) = self.scores[above - 1 : above + 1], self.probabilities[above - 1 : above + 1]
            half = float(low + (0.5 - p) / (q - p) * (high - low))
        object.__setattr__(self, "half", half)

    def __call__(self, scores: np.ndarray, /) -> np.ndarray:
        return np.interp(scores, self.scores, self.probabilities)


Calibration = Sigmoid | Isotonic  # functions from scores to probabilities that do not decrease


def calibrate(scores: np.ndarray, positive: np.ndarray, method: str, weights: np.ndarray | None = None) -> Calibration:
    """Fit a calibration to scores of rows that the scoring model had not seen.

    The result is that of scikit-learn's `CalibratedClassifierCV(ensemble=False)` on the same scores. The slope of a
    sigmoid is at least 0.001 for one standard deviation of the scores: higher scores never have lower probabilities.

    Parameters
    ----------
    scores : array of n numbers
        Out-of-fold scores.
    positive : boolean array of n
    method : {"sigmoid", "isotonic"}
        "sigmoid" has two parameters and suits few rows; "isotonic" fits any monotone shape and needs thousands.
    weights : array of n numbers, optional
        How many rows each row stands for. If the weights of a class add up to less than its effective number of rows,
        (Σw)² / Σw², all weights are scaled up.

    Returns
    -------
    Sigmoid or Isotonic

    References
    ----------
    J. Platt. Probabilistic outputs for support vector machines. Advances in Large Margin Classifiers, 1999.
    B. Zadrozny and C. Elkan. Transforming classifier scores into accurate multiclass probability estimates. KDD 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.model_selection import calibrate
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.standard_normal(5000)
    >>> positive = rng.random(5000) < 1 / (1 + np.exp(-2 * scores))
    >>> calibration = calibrate(scores, positive, "sigmoid")
    >>> print(f"{calibration.slope:.1f} {calibration(np.array([0.0]))[0]:.1f}")
    2.0 0.5
    """
    if method not in METHODS:
        raise VrspamError(Fix("calibration", method), f" is not known; give {' or '.join(METHODS)}")
    if array_api.device_namespace(scores) is None:
        scores = np.asarray(scores, dtype=np.float64)
    xp = array_api.device_namespace(scores) or np
    if weights is None:
        weights = xp.ones_like(scores)
    else:  # scale up: those of each class add up to at least its effective number of rows, (Σw)² / Σw²
        sides = (weights[positive], weights[~positive])
        weights = weights * max(1.0, *(float(xp.sum(side)) / (float(side @ side) or np.inf) for side in sides))
    if method == "isotonic":
        from sklearn.isotonic import IsotonicRegression  # here, because commands that only score do not need it

        scores, positive, weights = map(array_api.on_host, (scores, positive, weights))
        fitted = IsotonicRegression(out_of_bounds="clip").fit(scores, positive, sample_weight=weights)
        nodes = (fitted.X_thresholds_, fitted.y_thresholds_)
        return Isotonic(*(np.asarray(values, dtype=np.float64) for values in nodes))
    # Maximum likelihood with Platt's targets, (n₊ + 1)/(n₊ + 2) and 1/(n₋ + 2) instead of 1 and 0.
    least_slope = 1e-3  # for one standard deviation of the scores
    positives, negatives = float(xp.sum(weights[positive])), float(xp.sum(weights[~positive]))
    aims = ((positives + 1.0) / (positives + 2.0), 1.0 / (negatives + 2.0))
    targets = xp.where(positive, *(xp.full_like(scores, aim) for aim in aims))
    total = float(xp.sum(weights))
    centre = float(xp.sum(scores * weights)) / total
    spread = float(np.sqrt(float(xp.sum((scores - centre) ** 2 * weights)) / total))
    if spread <= 1e-12 * float(xp.max(xp.abs(scores))):  # all scores are tied: every row has the same probability
        return Sigmoid(1.0, float(logit(float(xp.sum(targets * weights)) / total)) - centre)
    standard, ones = (scores - centre) / spread, xp.ones_like(scores)
    slope, offset = _fit_logistic(xp.stack([standard, ones], axis=1), targets, weights, xp.zeros_like(scores), xp)
    if slope < least_slope:
        slope = least_slope
        (offset,) = _fit_logistic(ones[:, None], targets, weights, slope * standard, xp)
    return Sigmoid(float(slope / spread), float(offset - slope * centre / spread))


def signal_kept(auc: float, optimism: float, positive: Any, weights: Any) -> float:
    """The share of the distance between the classes, in held-out scores, that new rows can be expected to show.

    The choice among maps picks what is far apart by luck: with an AUC that is corrected by its `optimism`, the share
    that the correction leaves of the AUC beyond ½ is kept. Of a weak signal even an honest distance is partly luck:
    1 - 1/z² of it is kept, where z is the AUC beyond ½ over the standard error of scores without signal,
    √((n + 1) / (12 n₊ n₋)) (James and Stein's factor for one number).
    """
    beyond = auc - 0.5
    if not beyond > 0.0:
        return LEAST_SIGNAL
    optimism = optimism if optimism > 0.0 else 0.0  # NaN is not
    sizes = [max(1.0, size) for size in class_sizes(positive, weights)]
    error = float(np.sqrt((sum(sizes) + 1.0) / (12.0 * sizes[0] * sizes[1])))
    share = beyond / (beyond + optimism) * (1.0 - (error / beyond) ** 2)
    return max(share, LEAST_SIGNAL)


def class_sizes(positive: Any, weights: Any) -> list[float]:
    """How many positive and negative rows the weights stand for, scaled up as in `calibrate`."""
    xp = array_api.device_namespace(positive) or np
    sides = (positive, ~positive)
    if weights is None:
        return [float(xp.sum(xp.astype(side, xp.int64))) for side in sides]
    totals = [float(xp.sum(weights[side])) for side in sides]
    squares = [float(xp.sum(weights[side] * weights[side])) for side in sides]
    factor = max(1.0, *(total / square for total, square in zip(totals, squares, strict=True) if square > 0.0))
    return [factor * total for total in totals]


def scores_to_expect(scores: Any, positive: Any, weights: Any, kept: float, lift: float) -> Any:
    """Held-out scores with the classes as far apart as new rows will be; the mean of all rows stays where it is.

    The distance of the class means becomes `kept` times what it is, plus `lift`.
    """
    if kept == 1.0 and lift == 0.0:
        return scores
    xp = array_api.device_namespace(scores) or np
    weights = xp.ones_like(scores) if weights is None else weights
    share = float(xp.sum(weights[positive])) / float(xp.sum(weights))
    if not 0.0 < share < 1.0:
        return scores
    means = [float(xp.sum(scores[side] * weights[side]) / xp.sum(weights[side])) for side in (positive, ~positive)]
    apart = (kept - 1.0) * (means[0] - means[1]) + lift
    up, down = (xp.full_like(scores, move) for move in ((1.0 - share) * apart, -share * apart))
    return scores + xp.where(positive, up, down)


def _fit_logistic(X: np.ndarray, targets: np.ndarray, weights: np.ndarray, fixed: np.ndarray, xp: Any) -> np.ndarray:
    """The θ that minimises Σ w (log(1 + eᶻ) - t z), z = Xθ + fixed, by Newton's method with step halving.

    The last column of X is 1. All but θ are arrays of the library `xp`, and may lie on a device.
    """
    thinned = slice(None, None, 16)
    if targets.shape[0] > MANY_ROWS and bool(xp.any(weights[thinned] > 0.0)):
        theta = _fit_logistic(X[thinned, :], targets[thinned], weights[thinned], fixed[thinned], xp)
    else:
        theta = np.zeros(X.shape[1])
        theta[-1] = logit(float(xp.sum(targets * weights)) / float(xp.sum(weights)))
    step, size, gain, value, steps = np.zeros(X.shape[1]), 1.0, np.inf, np.inf, 0
    while steps <= 100:
        there = theta - size * step
        z = X @ (there if xp is np else array_api.beside(there, X)) + fixed
        after = float(weights @ (xp.logaddexp(xp.zeros_like(z), z) - targets * z))
        if after > value * (1.0 + 1e-13) and size >= 1e-10:  # too far
            size /= 2.0
            continue
        theta, value = there, after
        if gain <= 1e-18 * value:
            break
        p = expit(z) if xp is np else 1.0 / (1.0 + xp.exp(-z))
        gradient = array_api.on_host(X.T @ (weights * (p - targets)))
        hessian = array_api.on_host(X.T @ ((weights * p * (1.0 - p))[:, None] * X))
        step, size, steps = np.linalg.solve(hessian, gradient), 1.0, steps + 1
        gain = float(gradient @ step)  # what this step of Newton's method gains
    return theta
