"""Coordinate descent on quadratic losses, and the number that decides when it stops."""

from __future__ import annotations

import numpy as np
from numba.extending import overload

from vrspam.kernels.compiling import TINY, compiled, kind_of
from vrspam.kernels.prox import prox1
from vrspam.kernels.rows import add_row, row_dot
from vrspam.penalties.elastic_net import ElasticNet


def violation(penalty, w, grad, curvature, divisor):
    """The number that decides when to stop: the elastic net's certificate; `divisor` is the penalty's `gap_curvature`.

    For other penalties it is what a step along each coordinate gains (`Separable.violation`). It is 0 at a solution.
    """
    raise TypeError("only compiled code calls this")


@compiled
def _elastic_net_violation(penalty, w, grad, divisor):
    l1 = penalty.l1
    l2 = penalty.l2
    total = 0.0
    root = np.sqrt(2.0 * divisor)
    for j in range(w.shape[0]):
        s = max(grad[j] - l1, 0.0) + min(grad[j] + l1, 0.0)
        scaled = (l2 * w[j] + s) / root
        total += scaled * scaled + max(l1 * abs(w[j]) + (grad[j] - s) * w[j], 0.0)
    return total


@compiled
def _prox_violation(penalty, w, grad, curvature):
    total = 0.0
    for j in range(w.shape[0]):
        if curvature[j] >= TINY:
            step = 1.0 / curvature[j]
            moved = prox1(penalty, w[j] - step * grad[j], step, j) - w[j]
            total += 0.5 * curvature[j] * moved * moved
    return total


@overload(violation)
def _overload_violation(penalty, w, grad, curvature, divisor):
    if kind_of(penalty) is ElasticNet:
        return lambda penalty, w, grad, curvature, divisor: _elastic_net_violation(penalty, w, grad, divisor)
    return lambda penalty, w, grad, curvature, divisor: _prox_violation(penalty, w, grad, curvature)


@compiled
def gram_descent(gram, curvature, w, grad, penalty, divisor, target, max_sweeps):
    """Coordinate descent on wᵀ gram w / 2 - b·w + Ω(w), with grad = gram w - b kept up to date.

    A step along coordinate j is exact. It changes grad by a multiple of row j of gram, so after every sweep the
    violation costs only O(d). Only one sweep in five visits coordinates that are zero, because most zeros of
    a sparse solution stay zero. `curvature` is the diagonal of gram, `divisor` goes to `violation`. Returns (sweeps
    done, violation); w and grad change in place.
    """
    full_every = 5
    d = w.shape[0]
    steps = np.zeros(d)
    for j in range(d):
        if curvature[j] >= TINY:
            steps[j] = 1.0 / curvature[j]
    left = violation(penalty, w, grad, curvature, divisor)
    sweep = 0
    while sweep < max_sweeps and not left <= target:
        for j in range(d):
            old = w[j]
            if (old == 0.0 and sweep % full_every != 0) or steps[j] == 0.0:
                continue
            new = prox1(penalty, old - steps[j] * grad[j], steps[j], j)
            if new != old:
                w[j] = new
                add_row(gram, j, new - old, grad)
        sweep += 1
        left = violation(penalty, w, grad, curvature, divisor)
    return sweep, left


@compiled
def column_sweep(columns, means, delta, k, curvature, w, scores, running, penalty, only_active):
    """One sweep of coordinate descent that only multiplies by the columns of X.

    `columns` holds, as rows, the columns of diag(√a) X, where a_i is the weight of row i over the weight of its
    class; `scores` is √a ∘ Xw and `running` holds μ_0·w, μ_1·w and δ·w. Because Σ_(i in c) a_i x_ij = μ_cj,

        ∂f/∂w_j = k (columns_j · scores - μ_0j (μ_0·w) - μ_1j (μ_1·w) - (1 - δ·w) δ_j):

    subtracting the class means takes only the two numbers μ_0·w and μ_1·w, so a step costs O(nonzeros of the column).
    For columns that are centred already, `means` is zero. `curvature` is the diagonal of k (Σ + δδᵀ).
    """
    for j in range(w.shape[0]):
        old = w[j]
        if (only_active and old == 0.0) or curvature[j] < TINY:
            continue
        grad = k * (
            row_dot(columns, j, scores)
            - means[0, j] * running[0]
            - means[1, j] * running[1]
            - (1.0 - running[2]) * delta[j]
        )
        step = 1.0 / curvature[j]
        new = prox1(penalty, old - step * grad, step, j)
        if new != old:
            change = new - old
            w[j] = new
            add_row(columns, j, change, scores)
            running[0] += change * means[0, j]
            running[1] += change * means[1, j]
            running[2] += change * delta[j]
