"""Epochs of VRSPAM that update all coordinates at each step.

The caller draws random numbers and passes them as arrays of indices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vrspam.kernels.compiling import compiled
from vrspam.kernels.prox import prox1
from vrspam.kernels.rows import add_row, column_at, either, entries, row_dot, value_at, whole_row


@compiled
def within_product(X, side, share, mean_scores, w, out, left):
    """out += Σ_i r_i x_i, left[c] += Σ_(i in c) r_i and left[2] += wᵀΣw, with r_i = share_i (w·x_i - w·μ_c).

    Σw is out - left[:2] @ means.
    """
    for i in range(side.shape[0]):
        if share[i] == 0.0:
            continue
        score = row_dot(X, i, w) - mean_scores[side[i]]
        residual = share[i] * score
        left[side[i]] += residual
        left[2] += residual * score
        add_row(X, i, residual, out)


# What an entry adds to ‖x - μ‖²; for a CSR that begins with ‖μ‖², the distance of a row of zeros.
_squared_from = either(lambda X, x, mean: (x - mean) * (x - mean), lambda X, x, mean: x * (x - 2.0 * mean))


@compiled
def all_row_distances(X, means, of_zeros, out):
    """out[i] = ‖x_i‖², ‖x_i - μ₋‖², ‖x_i - μ₊‖²; `of_zeros` is ‖μ‖² for a CSR, and 0 for an array."""
    for i in range(out.shape[0]):
        square, below, above = 0.0, of_zeros[0], of_zeros[1]
        for place in entries(X, i):
            x, j = np.float64(value_at(X, i, place)), column_at(X, place)
            square += x * x
            below += _squared_from(X, x, means[0, j])
            above += _squared_from(X, x, means[1, j])
        out[i, 0], out[i, 1], out[i, 2] = square, max(below, 0.0), max(above, 0.0)


class Draws(NamedTuple):
    """What a stochastic gradient of one row needs in addition to the row.

    side (n,) is 1 for positive rows; scale (n,) is 2q or 2p times the weight of the draw, sample weight /
    (total weight · probability); `centred` chooses between the two gradients of `row_direction`.
    """

    side: np.ndarray
    scale: np.ndarray
    k: float
    centred: bool


@compiled
def row_direction(draws, i, score, lower, upper):
    """Return (a, e₋, e₊) such that g_i(w) - g_i(w̃) = a x_i + e₋ μ₋ + e₊ μ₊, from the products of u = w - w̃.

    `score` is u·x_i, `lower` is u·μ₋, `upper` is u·μ₊. All gradients are affine in w, so the difference depends only on
    u, and no digits cancel as u goes to 0. With s_i = scale_i, the difference of the paper's gradient is
    s_i (u·(x_i - μ_other)) x_i, and that of the centred one is s_i (u·(x_i - μ_own)) (x_i - μ_own) + k (u·δ) δ.
    """
    if draws.centred:
        jump = draws.k * (upper - lower)
        if draws.side[i] == 1:
            a = draws.scale[i] * (score - upper)
            return a, -jump, jump - a
        a = draws.scale[i] * (score - lower)
        return a, -jump - a, jump
    other = lower if draws.side[i] == 1 else upper
    return draws.scale[i] * (score - other), 0.0, 0.0


@compiled
def ridge_epoch(X, order, draws, means, constant, u, step, shrink):
    """`svrg_epoch` with the paper's gradient and l1 = 0 on a dense X, in fewer operations; u changes in place.

    With u = w - w̃, from 0 on, and shrink = ρ = 1/(1 + step·l2) the textbook step is

        u ← ρ u - ρ step s_i (u·(x_i - μ_other)) x_i - constant,   constant = ρ step (∇f(w̃) + l2·w̃),

    because ρ w̃ - w̃ = -ρ step l2 w̃. The inner steps take a fifth less time.
    """
    last = order.shape[0] - 1
    following = order[0]
    score = 0.0
    for t in range(order.shape[0]):
        a, _, _ = row_direction(draws, following, score, 0.0, 0.0)
        a *= shrink * step
        row = X[following]
        following = order[min(t + 1, last)]
        following_row = X[following]
        other_mean = means[1 - draws.side[following]]
        score = 0.0
        for j in range(u.shape[0]):
            v = shrink * u[j] - a * row[j] - constant[j]
            u[j] = v
            score += v * (following_row[j] - other_mean[j])


@compiled
def svrg_epoch(X, order, draws, means, anchor, grad, w, step, penalty):
    """Take the inner steps of an epoch of Algorithm 1 from w = anchor; w changes in place.

    Textbook: w ← prox(w - step (g_i(w) - g_i(w̃) + ∇f(w̃))), one product u·x_i and then an update of all of w. Here
    the update for row i and the product for the next row share one sweep over the coordinates: as soon as w_j is
    updated, its part of u·x_next, u·μ₋ and u·μ₊ is added. The arithmetic is the same except for the order of sums.
    A step costs O(d), for a CSR as well.
    """
    last = order.shape[0] - 1
    lower_mean, upper_mean = means[0], means[1]
    buffers = np.empty((2, w.shape[0]))
    following = order[0]
    following_row = whole_row(X, following, buffers[0])
    score, lower, upper = 0.0, 0.0, 0.0
    for t in range(order.shape[0]):
        a, e_lower, e_upper = row_direction(draws, following, score, lower, upper)
        a, e_lower, e_upper = step * a, step * e_lower, step * e_upper
        row = following_row
        following = order[min(t + 1, last)]
        following_row = whole_row(X, following, buffers[(t + 1) & 1])
        score, lower, upper = 0.0, 0.0, 0.0
        if not draws.centred:  # then e₋ and e₊ are 0, and u·(x - μ_other) is the only product needed
            other_mean = means[1 - draws.side[following]]
            for j in range(w.shape[0]):
                v = prox1(penalty, w[j] - a * row[j] - step * grad[j], step, j)
                w[j] = v
                score += (v - anchor[j]) * (following_row[j] - other_mean[j])
            continue
        for j in range(w.shape[0]):
            v = w[j] - a * row[j] - e_lower * lower_mean[j] - e_upper * upper_mean[j] - step * grad[j]
            v = prox1(penalty, v, step, j)
            w[j] = v
            u = v - anchor[j]
            score += u * following_row[j]
            lower += u * lower_mean[j]
            upper += u * upper_mean[j]


@compiled
def katyusha_epoch(X, order, draws, means, anchor, grad, y, z, average, tau1, tau2, step, l2, penalty):
    """Take the inner steps of an accelerated epoch; y and z change in place, `average` is overwritten.

    Textbook (Allen-Zhu 2017): x = τ₁z + τ₂w̃ + τ₃y with τ₃ = 1-τ₁-τ₂; z⁺ = prox(z - step·v(x)); y⁺ = x + τ₁(z⁺ - z).
    The last equation is the same as y⁺ = τ₁z⁺ + τ₂w̃ + τ₃y, so x is never stored: its difference from the anchor is
    τ₁(z - w̃) + τ₃(y - w̃). A step is one sweep over the coordinates, as in `svrg_epoch`. The points y are averaged with
    the weights (1 + step·l2)^t, where l2 is the strong convexity of the penalty. The weighted sum is divided by its
    newest weight at each step, so it cannot overflow.
    """
    shrink = 1.0 / (1.0 + step * l2)
    last = order.shape[0] - 1
    tau3 = 1.0 - tau1 - tau2
    lower_mean, upper_mean = means[0], means[1]
    buffers = np.empty((2, y.shape[0]))
    following = order[0]
    following_row = whole_row(X, following, buffers[0])
    score, lower, upper, weight = 0.0, 0.0, 0.0, 0.0
    for j in range(y.shape[0]):
        average[j] = 0.0
        u = tau1 * (z[j] - anchor[j]) + tau3 * (y[j] - anchor[j])
        score += u * following_row[j]
        lower += u * lower_mean[j]
        upper += u * upper_mean[j]
    for t in range(order.shape[0]):
        a, e_lower, e_upper = row_direction(draws, following, score, lower, upper)
        a, e_lower, e_upper = step * a, step * e_lower, step * e_upper
        row = following_row
        following = order[min(t + 1, last)]
        following_row = whole_row(X, following, buffers[(t + 1) & 1])
        score, lower, upper = 0.0, 0.0, 0.0
        weight = shrink * weight + 1.0
        for j in range(y.shape[0]):
            v = z[j] - a * row[j] - e_lower * lower_mean[j] - e_upper * upper_mean[j] - step * grad[j]
            v = prox1(penalty, v, step, j)
            z[j] = v
            moved = tau1 * v + tau2 * anchor[j] + tau3 * y[j]
            y[j] = moved
            average[j] = shrink * average[j] + moved
            u = tau1 * (v - anchor[j]) + tau3 * (moved - anchor[j])
            score += u * following_row[j]
            lower += u * lower_mean[j]
            upper += u * upper_mean[j]
    for j in range(y.shape[0]):
        average[j] /= weight
