"""The rates of VRSPAM and SPAM as formulas, constants from the rows of a data set, and `describe`, a table of all.

The paper's section 4 (convergence) proves the rates; `vrspam.theory` explains `noise`, and docs/theory.md derives each.
"""

import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_X_y, gen_batches
from sklearn.utils.extmath import row_norms

# ---- bounds on the Lipschitz constants L_i of the stochastic gradients


def lipschitz_printed(M: float) -> float:
    """The paper's bound 8M² on the Lipschitz constant of a stochastic gradient, for rows of norm at most M.

    Parameters
    ----------
    M : float
        The largest norm of a row.

    Returns
    -------
    float

    Examples
    --------
    >>> from vrspam.theory import lipschitz_printed
    >>> lipschitz_printed(2.0)
    32.0
    """
    return 8.0 * M * M


def lipschitz_bound(M: float, p: float) -> float:
    """4M²·max(p, 1-p): the sharp bound, at most half of the paper's.

    It is attained when all rows of a class are at one point, M or -M.

    Parameters
    ----------
    M : float
        The largest norm of a row.
    p : float in (0, 1)
        The share of positives.

    Returns
    -------
    float

    Examples
    --------
    >>> from vrspam.theory import lipschitz_bound
    >>> lipschitz_bound(2.0, 0.25)
    12.0
    """
    return 4.0 * M * M * max(p, 1.0 - p)


def noise_printed(M: float) -> float:
    """The paper's 2(8M²)² = 128M⁴, for the parameter `noise` of the other functions.

    Parameters
    ----------
    M : float
        The largest norm of a row.

    Returns
    -------
    float

    Examples
    --------
    >>> from vrspam.theory import noise_printed
    >>> noise_printed(1.0)
    128.0
    """
    return 2.0 * lipschitz_printed(M) ** 2


def noise_bound(M: float, p: float) -> float:
    """2·E[L_i²] ≤ 32M⁴p(1-p), at most a sixteenth of the paper's.

    Positive rows, a share p of the draws, have L_i ≤ 4M²(1-p), negative rows L_i ≤ 4M²p.

    Parameters
    ----------
    M : float
        The largest norm of a row.
    p : float in (0, 1)
        The share of positives.

    Returns
    -------
    float

    Examples
    --------
    >>> from vrspam.theory import noise_bound
    >>> noise_bound(1.0, 0.5)
    8.0
    """
    return 32.0 * (M * M) ** 2 * p * (1.0 - p)


# ---- VRSPAM: Theorem 1 and its complexity


def step_bound(l2: float, noise: float) -> float:
    """The largest proven step, l2/noise: with a smaller one every epoch is a contraction.

    Parameters
    ----------
    l2 : float
        Positive: the strong convexity, the paper's β.
    noise : float
        Twice a bound on the mean square of the Lipschitz constants; `noise_bound`, for example.

    Returns
    -------
    float

    Examples
    --------
    >>> from vrspam.theory import noise_printed, step_bound
    >>> step_bound(0.5, noise_printed(1.0))
    0.00390625
    """
    require_positive(l2=l2, noise=noise)
    return l2 / noise


def step_constants(l2: float, step: float, noise: float) -> tuple[float, float]:
    """(C, D) of the recursion e_{t+1} ≤ C e_t + D ẽ of one inner step.

    Parameters
    ----------
    l2 : float
        Positive: the strong convexity, the paper's β.
    step : float
        The step size η, below `step_bound`.
    noise : float
        Twice a bound on the mean square of the Lipschitz constants; `noise_bound`, for example.

    Returns
    -------
    tuple[float, float]

    Examples
    --------
    >>> from vrspam.theory import step_constants
    >>> step_constants(1.0, 1.0, 2.0)
    (0.75, 0.5)
    """
    shrink = (1.0 + step * l2) ** 2
    return (1.0 + noise * step**2) / shrink, noise * step**2 / shrink


def contraction(l2: float, step: float, inner_steps: float, noise: float) -> float:
    """α: an epoch multiplies the expected squared distance to the optimum by at most this.

    It is C^m + D(1-C^m)/(1-C), the recursion iterated m = `inner_steps` times from e_0 = ẽ.

    Parameters
    ----------
    l2 : float
        Positive: the strong convexity, the paper's β.
    step : float
        The step size η, below `step_bound`.
    inner_steps : int
        Inner steps of an epoch, the paper's m.
    noise : float
        Twice a bound on the mean square of the Lipschitz constants; `noise_bound`, for example.

    Returns
    -------
    float

    Examples
    --------
    >>> from vrspam.theory import contraction, step_bound
    >>> round(contraction(0.5, 0.9 * step_bound(0.5, 128.0), 120, 128.0), 6)
    0.962111
    """
    return 1.0 - _progress(l2, step, inner_steps, noise)


def contraction_printed(l2: float, step: float, inner_steps: float, noise: float) -> float:
    """α as the paper prints it, with one factor C too many: C^m + DC(1-C^m)/(1-C). It is smaller than the correct α.

    Parameters
    ----------
    l2 : float
        Positive: the strong convexity, the paper's β.
    step : float
        The step size η, below `step_bound`.
    inner_steps : int
        Inner steps of an epoch, the paper's m.
    noise : float
        Twice a bound on the mean square of the Lipschitz constants; `noise_bound`, for example.

    Returns
    -------
    float

    Examples
    --------
    >>> from vrspam.theory import contraction_printed, step_bound
    >>> round(contraction_printed(0.5, 0.9 * step_bound(0.5, 128.0), 120, 128.0), 6)
    0.961785
    """
    C, D = step_constants(l2, step, noise)
    return contraction(l2, step, inner_steps, noise) - D * (1.0 - C) * _power_sum(l2, step, inner_steps, noise)


def contraction_limit(l2: float, theta: float, noise: float) -> float:
    """The limit of α for long epochs with step θ·l2/noise: θ/(2 - θ + x) < 1, with x = θ·l2²/noise.

    Parameters
    ----------
    l2 : float
        Positive: the strong convexity, the paper's β.
    theta : float in (0, 1)
        θ, the step size as a fraction of `step_bound`.
    noise : float
        Twice a bound on the mean square of the Lipschitz constants; `noise_bound`, for example.

    Returns
    -------
    float

    Examples
    --------
    >>> from vrspam.theory import contraction_limit
    >>> round(contraction_limit(0.5, 0.9, 128.0), 4)
    0.8169
    """
    return theta / (2.0 - theta + theta * l2**2 / noise)


def inner_steps(l2: float, theta: float, noise: float) -> int:
    """m = ⌈2 log θ / log E⌉ with E = 1/(1 + θ·l2²/noise), so that C^m < E^m ≤ θ².

    Parameters
    ----------
    l2 : float
        Positive: the strong convexity, the paper's β.
    theta : float in (0, 1)
        θ, the step size as a fraction of `step_bound`.
    noise : float
        Twice a bound on the mean square of the Lipschitz constants; `noise_bound`, for example.

    Returns
    -------
    int

    Examples
    --------
    >>> from vrspam.theory import inner_steps
    >>> inner_steps(0.5, 0.9, 128.0)
    120
    """
    require_positive(l2=l2, noise=noise)
    require_fraction(theta=theta)
    return math.ceil(-2.0 * math.log(theta) / math.log1p(theta * l2**2 / noise))


def epochs(l2: float, step: float, inner_steps: float, noise: float, epsilon: float) -> int:
    """The least s with α^s ≤ ε, so that E‖w̃_s - w*‖² ≤ ε·‖w_0 - w*‖².

    Parameters
    ----------
    l2 : float
        Positive: the strong convexity, the paper's β.
    step : float
        The step size η, below `step_bound`.
    inner_steps : int
        Inner steps of an epoch, the paper's m.
    noise : float
        Twice a bound on the mean square of the Lipschitz constants; `noise_bound`, for example.
    epsilon : float
        The target ε: for `epochs` a fraction in (0, 1) of the squared distance at the start.

    Returns
    -------
    int

    Examples
    --------
    >>> from vrspam.theory import epochs, step_bound
    >>> epochs(0.5, 0.9 * step_bound(0.5, 128.0), 120, 128.0, 1e-6)
    358
    """
    require_fraction(epsilon=epsilon)
    progress = _progress(l2, step, inner_steps, noise)
    if progress <= 0:
        raise ValueError(f"step {step:.3g} does not contract; it must be below l2/noise = {l2 / noise:.3g}.")
    return math.ceil(math.log(epsilon) / math.log1p(-progress))


def gradient_evaluations(n: int, inner_steps: int, epochs: int = 1) -> int:
    """Gradients of single rows, (n + 2m) per epoch: one for each row at the anchor, two for each inner step.

    Parameters
    ----------
    n : int
        Rows.
    inner_steps : int
        Inner steps of an epoch, the paper's m.
    epochs : int, default=1
        Epochs, the paper's s.

    Returns
    -------
    int

    Examples
    --------
    >>> from vrspam.theory import gradient_evaluations
    >>> gradient_evaluations(1000, 120, 358)
    443920
    """
    return epochs * (n + 2 * inner_steps)


def variance_bounds(noise: float, error: float, anchor_error: float) -> tuple[float, float]:
    """The paper's two bounds on the SVRG direction v: about the optimum, and on its variance.

    E‖v - ∇f(w*)‖² ≤ noise·(error + anchor_error), and E‖v - ∇f(w)‖² ≤ noise·(2 error + anchor_error). The first also
    bounds the variance, since the variance is least around the mean.

    Parameters
    ----------
    noise : float
        Twice a bound on the mean square of the Lipschitz constants; `noise_bound`, for example.
    error : float
        ‖w - w*‖², the squared distance of the point to the optimum.
    anchor_error : float
        ‖w̃ - w*‖², the squared distance of the anchor to the optimum.

    Returns
    -------
    tuple[float, float]

    Examples
    --------
    >>> from vrspam.theory import variance_bounds
    >>> variance_bounds(8.0, 1.0, 0.5)
    (12.0, 20.0)
    """
    return noise * (error + anchor_error), noise * (2.0 * error + anchor_error)


def solution_bound(l2: float, p: float) -> float:
    """p(1-p)/(2 l2): a bound on ‖w*‖², the squared distance from 0 to the optimum, for any rows.

    Parameters
    ----------
    l2 : float
        Positive: the strong convexity, the paper's β.
    p : float in (0, 1)
        The share of positives.

    Returns
    -------
    float

    Examples
    --------
    >>> from vrspam.theory import solution_bound
    >>> solution_bound(0.5, 0.5)
    0.25
    """
    return p * (1.0 - p) / (2.0 * l2)


# ---- SPAM: its rate, which the paper compares with


def spam_constant(l2: float, noise: float) -> float:
    """C̃ = l2/(1 + l2²/noise)²: for steps η ≤ l2/noise one SPAM step contracts by 1 - C̃η.

    Parameters
    ----------
    l2 : float
        Positive: the strong convexity, the paper's β.
    noise : float
        Twice a bound on the mean square of the Lipschitz constants; `noise_bound`, for example.

    Returns
    -------
    float

    Examples
    --------
    >>> from vrspam.theory import spam_constant
    >>> round(spam_constant(0.1, 128.0), 6)
    0.099984
    """
    require_positive(l2=l2, noise=noise)
    return l2 / (1.0 + l2**2 / noise) ** 2


def spam_step(l2: float, noise: float, t: Any) -> Any:
    """SPAM's proven step η_t = 1/(C̃(t+1)) at iteration t = 1, 2, ...; t may be an array.

    Parameters
    ----------
    l2 : float
        Positive: the strong convexity, the paper's β.
    noise : float
        Twice a bound on the mean square of the Lipschitz constants; `noise_bound`, for example.
    t : int, float or array
        The iteration, from 1 on.

    Returns
    -------
    Any

    Examples
    --------
    >>> from vrspam.theory import spam_step
    >>> round(spam_step(0.1, 128.0, 9), 4)
    1.0002
    """
    return 1.0 / (spam_constant(l2, noise) * (t + 1.0))


def spam_start(l2: float, noise: float) -> int:
    """t₀ = max(2, ⌈1 + (noise + l2²)²/(noise·l2²)⌉): from step t₀ on, SPAM's steps are below l2/noise.

    Parameters
    ----------
    l2 : float
        Positive: the strong convexity, the paper's β.
    noise : float
        Twice a bound on the mean square of the Lipschitz constants; `noise_bound`, for example.

    Returns
    -------
    int

    Examples
    --------
    >>> from vrspam.theory import spam_start
    >>> spam_start(1.0, 128.0)
    132
    """
    require_positive(l2=l2, noise=noise)
    return max(2, math.ceil(1.0 + noise / l2**2 * (1.0 + l2**2 / noise) ** 2))


def spam_log_start_error_printed(l2: float, noise: float, gradient_variance: float) -> float:
    """log F, F = 2σ*²/C̃² + exp(noise/C̃²): the paper's bound on E‖w_{t₀} - w*‖², too large for a float.

    Parameters
    ----------
    l2 : float
        Positive: the strong convexity, the paper's β.
    noise : float
        Twice a bound on the mean square of the Lipschitz constants; `noise_bound`, for example.
    gradient_variance : float
        σ*², from `gradient_variance` or `gradient_variance_bound`.

    Returns
    -------
    float

    Examples
    --------
    >>> from vrspam.theory import spam_log_start_error_printed
    >>> round(spam_log_start_error_printed(0.1, 128.0, 1.0))
    12804
    """
    square = spam_constant(l2, noise) ** 2
    first = math.log(2.0 * gradient_variance / square) if gradient_variance > 0 else -math.inf
    return float(np.logaddexp(first, noise / square))


def spam_log_start_error(l2: float, noise: float, gradient_variance: float, initial_error: float) -> float:
    """log of exp(noise/C̃²)·(‖w_1 - w*‖² + 2σ*²/C̃²), a correct bound on E‖w_{t₀} - w*‖².

    The printed F is a sum where it must be a product, and it leaves out the initial error, so it cannot hold on every
    scale.

    Parameters
    ----------
    l2 : float
        Positive: the strong convexity, the paper's β.
    noise : float
        Twice a bound on the mean square of the Lipschitz constants; `noise_bound`, for example.
    gradient_variance : float
        σ*², from `gradient_variance` or `gradient_variance_bound`.
    initial_error : float
        ‖w_1 - w*‖², the squared distance of the start to the optimum.

    Returns
    -------
    float

    Examples
    --------
    >>> from vrspam.theory import spam_log_start_error
    >>> round(spam_log_start_error(0.1, 128.0, 1.0, 1.0))
    12809
    """
    square = spam_constant(l2, noise) ** 2
    return noise / square + math.log(initial_error + 2.0 * gradient_variance / square)


def spam_log_iterations(start: int, log_start_error: float, epsilon: float) -> float:
    """log(t₀F/ε): the logarithm of the order of SPAM's iterations until E‖w_T - w*‖² ≤ ε.

    Parameters
    ----------
    start : int
        t₀, from `spam_start`.
    log_start_error : float
        The logarithm of a bound on the squared distance at t₀, from `spam_log_start_error`.
    epsilon : float
        The target ε: for `epochs` a fraction in (0, 1) of the squared distance at the start.

    Returns
    -------
    float

    Examples
    --------
    >>> from vrspam.theory import spam_log_iterations
    >>> round(spam_log_iterations(132, 12804.0, 1e-6))
    12823
    """
    return math.log(start) + log_start_error - math.log(epsilon)


def spam_rate(t: Any, start: int, start_error: float, l2: float, noise: float, gradient_variance: float) -> Any:
    """The bound (t₀·e_{t₀} + 2σ*²/C̃²·log(t/t₀)) / t on E‖w_t - w*‖², for t > t₀.

    Parameters
    ----------
    t : int, float or array
        The iteration, from 1 on.
    start : int
        t₀, from `spam_start`.
    start_error : float
        A bound e_{t₀} on the squared distance to the optimum at t₀.
    l2 : float
        Positive: the strong convexity, the paper's β.
    noise : float
        Twice a bound on the mean square of the Lipschitz constants; `noise_bound`, for example.
    gradient_variance : float
        σ*², from `gradient_variance` or `gradient_variance_bound`.

    Returns
    -------
    Any

    Examples
    --------
    >>> from vrspam.theory import spam_rate
    >>> round(float(spam_rate(10_000, 132, 1.0, 1.0, 128.0, 0.1)), 6)
    0.013289
    """
    noise_term = 2.0 * gradient_variance / spam_constant(l2, noise) ** 2
    return (start * start_error + noise_term * np.log(t / start)) / t


def gradient_variance_bound(M: float, l2: float, p: float) -> float:
    """4p(1-p)M²(1 + 2MR)², R² = p(1-p)/(2 l2): a bound on σ*², the variance of SPAM's gradient at the optimum.

    Parameters
    ----------
    M : float
        The largest norm of a row.
    l2 : float
        Positive: the strong convexity, the paper's β.
    p : float in (0, 1)
        The share of positives.

    Returns
    -------
    float

    Examples
    --------
    >>> from vrspam.theory import gradient_variance_bound
    >>> gradient_variance_bound(1.0, 0.5, 0.5)
    4.0
    """
    return 4.0 * p * (1.0 - p) * (M * (1.0 + 2.0 * M * math.sqrt(solution_bound(l2, p)))) ** 2


def _one_minus_C(l2: float, step: float, noise: float) -> float:
    """1 - C without cancellation; with twice the noise it is 1 - C - D."""
    return (2.0 * step * l2 + (step * l2) ** 2 - noise * step**2) / (1.0 + step * l2) ** 2


def _power_sum(l2: float, step: float, inner_steps: float, noise: float) -> float:
    """1 + C + ... + C^(m-1) = (1-C^m)/(1-C), computed without cancellation: C may round to 1 on real data."""
    require_positive(l2=l2, step=step, inner_steps=inner_steps, noise=noise)
    one_minus_C = _one_minus_C(l2, step, noise)
    if one_minus_C <= 0:
        raise ValueError(f"step {step:.3g} does not contract; it must be below l2/noise = {l2 / noise:.3g}.")
    log_C = math.log1p(noise * step**2) - 2.0 * math.log1p(step * l2)
    return -math.expm1(inner_steps * log_C) / one_minus_C


def _progress(l2: float, step: float, inner_steps: float, noise: float) -> float:
    """1 - α = (1-C-D)(1 + C + ... + C^(m-1)), accurate also when α rounds to 1."""
    return _one_minus_C(l2, step, 2.0 * noise) * _power_sum(l2, step, inner_steps, noise)


def require_positive(**values: float) -> None:
    for name, value in values.items():
        if not isinstance(value, Real) or not 0.0 < value < math.inf:
            raise ValueError(f"{name} must be positive and finite, got {value!r}.")


def require_fraction(**values: float) -> None:
    for name, value in values.items():
        if not isinstance(value, Real) or not 0.0 < value < 1.0:
            raise ValueError(f"{name} must lie strictly between 0 and 1, got {value!r}.")


# ---- constants and rates of a data set


def _share(positive: NDArray[np.bool_]) -> float:
    """The share of positives; labels that are not booleans are refused, as their complement is another one."""
    if np.asarray(positive).dtype != bool:
        raise ValueError("positive must be a one-dimensional boolean array; pass y == positive_label.")
    return float(positive.mean())


def lipschitz_rows(X: Any, positive: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Lipschitz constant of each row's gradient: 2(1-p)‖x-μ₋‖‖x‖ for a positive row, 2p‖x-μ₊‖‖x‖ for a negative one.

    None is larger than `lipschitz_bound` of the largest norm. A sparse X is not made dense.

    Parameters
    ----------
    X : array or sparse matrix (n, d)
        The rows.
    positive : boolean array of n
        Which rows are positive.

    Returns
    -------
    numpy.ndarray[tuple[typing.Any, ...], numpy.dtype[numpy.float64]]

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.theory import lipschitz_rows
    >>> lipschitz_rows(np.array([[1.0], [-1.0]]), np.array([True, False]))
    array([2., 2.])
    """
    p = _share(positive)
    norm_square = row_norms(X, squared=True).astype(np.float64)
    mean_up, mean_down = X.T @ positive / positive.sum(), X.T @ ~positive / (~positive).sum()
    if sparse.issparse(X):
        other = np.where(positive, mean_down @ mean_down, mean_up @ mean_up)
        distance_square = norm_square - 2.0 * np.where(positive, X @ mean_down, X @ mean_up) + other
    else:  # subtract first, block by block: the formula above loses all digits if the rows are far from the origin
        distance_square = np.empty(norm_square.size)
        for rows in gen_batches(norm_square.size, 1024):
            centre = np.where(positive[rows, None], mean_down, mean_up)
            distance_square[rows] = row_norms(X[rows] - centre, squared=True)
    return 2.0 * np.where(positive, 1.0 - p, p) * np.sqrt(np.maximum(distance_square, 0.0) * norm_square)


def noise_rows(X: Any, positive: NDArray[np.bool_]) -> float:
    """2·mean(L_i²) over the rows of X, each drawn with the same probability: at most `noise_bound`.

    Parameters
    ----------
    X : array or sparse matrix (n, d)
        The rows.
    positive : boolean array of n
        Which rows are positive.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.theory import noise_rows
    >>> noise_rows(np.array([[1.0], [-1.0]]), np.array([True, False]))
    8.0
    """
    return 2.0 * float(np.mean(lipschitz_rows(X, positive) ** 2))


def gradient_variance(X: Any, positive: NDArray[np.bool_], coef: NDArray) -> float:
    """σ² = E‖G(w; z) - ∇f(w)‖² of the paper's stochastic gradient at w = `coef`; this is σ*² if `coef` is the optimum.

    Parameters
    ----------
    X : array or sparse matrix (n, d)
        The rows.
    positive : boolean array of n
        Which rows are positive.
    coef : array of d
        The point w.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.theory import gradient_variance
    >>> gradient_variance(np.array([[1.0], [-1.0]]), np.array([True, False]), np.array([0.3]))
    0.0
    """
    p, score = _share(positive), X @ coef
    slope = np.where(
        positive,
        2.0 * (1.0 - p) * (score - score[~positive].mean() - 1.0),
        2.0 * p * (score - score[positive].mean() + 1.0),
    )  # G(w; z_i) = slope_i · x_i
    mean = X.T @ slope / positive.size
    return max(0.0, float(np.mean(slope**2 * row_norms(X, squared=True)) - mean @ mean))


class Description(dict[str, Any]):
    """What :func:`describe` returns: a dict of numbers whose ``str`` is a table.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.theory import describe
    >>> found = describe(np.array([[1.0], [0.5], [-1.0]]), [1, 1, 0], l2=0.5)
    >>> found["n"], found["noise_printed"]
    (3, 128.0)
    >>> print(str(found).splitlines()[3])
    M                             1  largest norm of a row
    """

    def __str__(self) -> str:
        lines = [f"{name:<18}{_short(self[name]):>13}  {meaning}" for name, meaning in _DATA.items()]
        lines += ["", f"{'':<18}" + "".join(f"{kind:>13}" for kind in _KINDS)]
        for name, meaning in _RATES.items():
            cells = "".join(f"{_short(self[f'{name}_{kind}']):>13}" for kind in _KINDS)
            lines.append(f"{name:<18}{cells}  {meaning}")
        return "\n".join(lines)


_KINDS = ("printed", "sharp", "rows")
_DATA = {
    "n": "rows",
    "d": "features",
    "p": "share of positives",
    "M": "largest norm of a row",
    "l2": "strong convexity, the paper's β",
    "theta": "step as a fraction of the largest proven one",
    "epsilon": "target for ‖w-w*‖², as a fraction of its value at the start",
    "initial_error": "‖w*‖², the error of starting at 0 (a bound unless coef is given)",
    "gradient_variance": "σ*², variance of SPAM's gradient at w* (a bound unless coef is given)",
}
_RATES = {
    "lipschitz": "Lipschitz constant: 8M², 4M²·max(p,1-p), largest of the rows",
    "noise": "twice its mean square: 128M⁴, 32M⁴p(1-p), mean over the rows",
    "step": "η = θ·l2/noise",
    "C": "factor of the error in an inner step",
    "one_minus_C": "1 - C",
    "D": "share of the anchor's error added",
    "inner_steps": "m = ⌈2 log θ/log E⌉",
    "contraction": "α per epoch (first column: the paper's formula, one factor C too many)",
    "epochs": "least s with α^s ≤ ε (with the correct α in all columns)",
    "gradients": "s·(n + 2m) gradient evaluations",
    "passes": "the same divided by n",
    "spam_constant": "C̃ = l2/(1 + l2²/noise)²",
    "spam_start": "t₀, the step from which SPAM's rate holds",
    "spam_log10_error": "log₁₀ of the bound on ‖w_t₀-w*‖² (first column: the paper's F)",
    "spam_log10_steps": "log₁₀(t₀F/ε'), ε' = ε·‖w*‖²",
}


def describe(
    X: Any, y: ArrayLike, l2: float, *, theta: float = 0.5, epsilon: float = 1e-6, coef: ArrayLike | None = None
) -> Description:
    """Compute all constants and rates of the paper for a data set: as printed, sharpened, and from the rows themselves.

    Parameters
    ----------
    X : array or sparse matrix (n, d)
    y : array of n labels
        Two different labels; the one that sorts last is positive.
    l2 : float
        Positive.
    theta : float in (0, 1)
        Step size as a fraction of :func:`step_bound`.
    epsilon : float in (0, 1)
        Target for E‖w - w*‖², relative to its value at the start w = 0.
    coef : array of d, optional
        The optimum, if it is known. Then the initial error and σ*² are exact values instead of bounds.

    Returns
    -------
    Description
        A dict; ``print`` shows it as a table with the meaning of each name. Quantities that depend on the
        Lipschitz bound are given three times, as ``name_printed``, ``name_sharp`` and ``name_rows``.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.theory import describe
    >>> table = describe(np.array([[1.0], [0.5], [-1.0]]), [1, 1, 0], l2=0.5)
    >>> table["step_printed"], round(table["step_rows"] / table["step_printed"], 1)
    (0.001953125, 25.7)
    >>> print("\\n".join(str(table).splitlines()[:4]))
    n                             3  rows
    d                             1  features
    p                        0.6667  share of positives
    M                             1  largest norm of a row
    """
    require_fraction(theta=theta, epsilon=epsilon)
    require_positive(l2=l2)
    X, labels = check_X_y(X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
    classes = np.unique(labels)
    if classes.size != 2:
        raise ValueError(f"y has {classes.size} different labels; the theory is about two classes.")
    positive = labels == classes[1]
    n, p = positive.size, float(positive.mean())
    M = float(np.sqrt(row_norms(X, squared=True).max()))
    if not 1e-30 < M < 1e30:
        raise ValueError(f"the largest row has norm {M:.3g}, and M⁴ overflows or vanishes; scale the features.")
    table = Description(n=n, d=X.shape[1], p=p, M=M, l2=l2, theta=theta, epsilon=epsilon)
    if coef is None:
        table.update(initial_error=solution_bound(l2, p), gradient_variance=gradient_variance_bound(M, l2, p))
    else:
        w = np.asarray(coef, dtype=np.float64).ravel()
        if w.size != X.shape[1] or not np.isfinite(w).all() or not w.any():
            raise ValueError(f"coef must hold {X.shape[1]} finite numbers, not all zero.")
        table.update(initial_error=float(w @ w), gradient_variance=gradient_variance(X, positive, w))

    row_constants = lipschitz_rows(X, positive)
    lipschitz = (lipschitz_printed(M), lipschitz_bound(M, p), float(row_constants.max()))
    noises = (noise_printed(M), noise_bound(M, p), 2.0 * float(np.mean(row_constants**2)))
    for kind, constant, noise in zip(_KINDS, lipschitz, noises, strict=True):
        for name, value in _rates(table, noise, printed=kind == "printed").items():
            table[f"{name}_{kind}"] = value
        table[f"lipschitz_{kind}"] = constant
    return table


def _rates(table: Description, noise: float, printed: bool) -> dict[str, Any]:
    n, l2, theta, epsilon = table["n"], table["l2"], table["theta"], table["epsilon"]
    initial_error, variance = table["initial_error"], table["gradient_variance"]
    if noise == 0:
        raise ValueError("all rows are at the same point: no gradient depends on w, so there is nothing to bound.")
    if abs(2 * math.log10(l2) - math.log10(noise)) > 140:
        raise ValueError("l2 and the size of the rows are too far apart for these formulas; rescale one of them.")
    step, m = theta * step_bound(l2, noise), inner_steps(l2, theta, noise)
    C, D = step_constants(l2, step, noise)
    s = epochs(l2, step, m, noise, epsilon)
    start = spam_start(l2, noise)
    if printed:
        alpha = contraction_printed(l2, step, m, noise)
        log_error = spam_log_start_error_printed(l2, noise, variance)
    else:
        alpha = contraction(l2, step, m, noise)
        log_error = spam_log_start_error(l2, noise, variance, initial_error)
    return {
        "noise": noise,
        "step": step,
        "C": C,
        "one_minus_C": _one_minus_C(l2, step, noise),
        "D": D,
        "inner_steps": m,
        "contraction": alpha,
        "epochs": s,
        "gradients": gradient_evaluations(n, m, s),
        "passes": gradient_evaluations(n, m, s) / n,
        "spam_constant": spam_constant(l2, noise),
        "spam_start": start,
        "spam_log10_error": log_error / math.log(10),
        "spam_log10_steps": spam_log_iterations(start, log_error, epsilon * initial_error) / math.log(10),
    }


def _short(value: float) -> str:
    """Write whole numbers of up to nine digits in full, and other numbers to four significant digits."""
    return str(value) if isinstance(value, int) and abs(value) < 10**9 else f"{value:.4g}"
