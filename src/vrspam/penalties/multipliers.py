"""The gap of a convex penalty inside bounds, from its prox and its own gap."""

from __future__ import annotations

from typing import Any

import numpy as np


def gap_by_multipliers(penalty: Any, w: np.ndarray, grad: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
    """The gap of the penalty without bounds, with multipliers λ, μ ≥ 0 of the lower and upper bounds:

        gap of the penalty at (w, grad - λ + μ) + λ·(w - lower) + μ·(upper - w).

    It is a bound for all multipliers, and 0 at the optimum for those that take from -grad what no slope of the penalty
    at the bound explains.
    """
    step = 1.0 / (penalty.strong_convexity or 1.0)
    near = np.clip(penalty.prox(w - step * grad, step), lower, upper)
    # v - u is a slope at u, times the step, where prox(v) = u: look for the v nearest to u - step·grad
    free = near - step * grad
    minimiser = penalty.prox(free, step)
    pushed_down = np.isfinite(lower) & (near == lower) & (minimiser < near)
    pushed_up = np.isfinite(upper) & (near == upper) & (minimiser > near)
    signs = pushed_up.astype(float) - pushed_down  # of the penalty's own minimiser, seen from the bound
    multipliers = _distance_to_slope(penalty, near, free, signs, step) / step
    below = np.where(pushed_down, multipliers, 0.0)
    above = np.where(pushed_up, multipliers, 0.0)
    at_bounds = float(below[pushed_down] @ (w - lower)[pushed_down])
    at_bounds += float(above[pushed_up] @ (upper - w)[pushed_up])
    return penalty.gap(w, grad - below + above) + max(at_bounds, 0.0)


def _distance_to_slope(penalty: Any, u: np.ndarray, free: np.ndarray, signs: np.ndarray, step: float) -> np.ndarray:
    """The least t with prox(free - signs·t) = u, by halving an interval; rounded up."""

    def is_reached(t: np.ndarray) -> np.ndarray:
        return signs * (penalty.prox(free - signs * t, step) - u) <= 0.0

    low = np.zeros_like(u)
    high = np.maximum(np.abs(u - free), np.finfo(float).tiny)
    for _ in range(200):
        enough = is_reached(high)
        if enough.all():
            break
        high = np.where(enough, high, 2.0 * high)
    for _ in range(100):
        middle = 0.5 * (low + high)
        enough = is_reached(middle)
        low = np.where(enough, low, middle)
        high = np.where(enough, middle, high)
    return high
