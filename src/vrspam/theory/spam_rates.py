"""The rates of SPAM: functions of the numbers M, p, l2, epsilon and `noise`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from vrspam.theory.rates import require_positive, solution_bound


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
        C̃.

    Examples
    --------
    >>> from vrspam.theory import spam_constant
    >>> round(spam_constant(0.1, 128.0), 6)
    0.099984
    """
    require_positive(l2=l2, noise=noise)
    return l2 / (1.0 + l2**2 / noise) ** 2


def spam_step(l2: float, noise: float, t: Any) -> Any:
    """SPAM's proven step 1/(C̃(t+1)) at iteration t = 1, 2, ...; t may be an array.

    Parameters
    ----------
    l2 : float
        Positive: the strong convexity, the paper's β.
    noise : float
        Twice a bound on the mean square of the Lipschitz constants; `noise_bound`, for example.
    t : int or array of int
        The iteration, from 1 on.

    Returns
    -------
    float or array
        η_t.

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
        t₀.

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
        σ*², the variance of SPAM's gradient at the optimum: `gradient_variance` or `gradient_variance_bound`.

    Returns
    -------
    float
        The natural logarithm of F.

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
        σ*², the variance of SPAM's gradient at the optimum: `gradient_variance` or `gradient_variance_bound`.
    initial_error : float
        ‖w_1 - w*‖², the squared distance of the start to the optimum.

    Returns
    -------
    float
        The natural logarithm of the bound.

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
        The logarithm of the bound at t₀, from `spam_log_start_error`.
    epsilon : float
        The target for E‖w_T - w*‖².

    Returns
    -------
    float
        A natural logarithm.

    Examples
    --------
    >>> from vrspam.theory import spam_log_iterations
    >>> round(spam_log_iterations(132, 12804.0, 1e-6))
    12823
    """
    return math.log(start) + log_start_error - math.log(epsilon)


def spam_rate(t: float, start: int, start_error: float, l2: float, noise: float, gradient_variance: float) -> float:
    """Bound on E‖w_t - w*‖² for t > t₀: (t₀·e_{t₀} + 2σ*²/C̃²·log(t/t₀)) / t.

    Parameters
    ----------
    t : float
        The iteration, above `start`.
    start : int
        t₀, from `spam_start`.
    start_error : float
        The bound e_{t₀} on the squared distance at t₀.
    l2 : float
        Positive: the strong convexity, the paper's β.
    noise : float
        Twice a bound on the mean square of the Lipschitz constants; `noise_bound`, for example.
    gradient_variance : float
        σ*², the variance of SPAM's gradient at the optimum: `gradient_variance` or `gradient_variance_bound`.

    Returns
    -------
    float
        The bound.

    Examples
    --------
    >>> from vrspam.theory import spam_rate
    >>> round(spam_rate(10_000, 132, 1.0, 1.0, 128.0, 0.1), 6)
    0.013289
    """
    noise_term = 2.0 * gradient_variance / spam_constant(l2, noise) ** 2
    return (start * start_error + noise_term * math.log(t / start)) / t


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
        The bound.

    Examples
    --------
    >>> from vrspam.theory import gradient_variance_bound
    >>> gradient_variance_bound(1.0, 0.5, 0.5)
    4.0
    """
    return 4.0 * p * (1.0 - p) * (M * (1.0 + 2.0 * M * math.sqrt(solution_bound(l2, p)))) ** 2
