"""Epochs of VRSPAM on CSR rows: a step costs O(nonzeros of its row), and other coordinates wait until a row needs them.

The caller draws random numbers and passes them as arrays of indices.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from vrspam.kernels.compiling import compiled
from vrspam.kernels.prefetch import fetch_row
from vrspam.kernels.prox import prox1
from vrspam.kernels.vrspam import row_direction

# Columns of `work`: those of `sparse_ridge_epoch`, and those of `sparse_net_epoch`.
Ridge = IntEnum("Ridge", "Z Y AVERAGE TIME LOWER UPPER GRAD", start=0)
Net = IntEnum("Net", "W ANCHOR ANCHOR_GRAD TIME", start=0)
AHEAD = 3  # steps before its own that a row is fetched
IDLE_BLOCK = 1024


@compiled
def idle_table(step, count):
    """Return what t idle steps do to the (z, y, average) of a coordinate, for t = 0 ... count, one row for each.

    In an idle step the coordinate is zero in the drawn row: z ← ρz, y ← τ₁z + τ₃y, average ← ρ·average + y. That, and
    any number of such steps, is a linear map with five coefficients,

        z' = T₀ z,   y' = T₁ z + T₂ y,   average' = T₀ average + T₃ z + T₄ y;

    `step` has those of the map of which the table holds the powers.
    """
    table = np.zeros((count + 1, 5))
    table[0, 0] = 1.0
    table[0, 2] = 1.0
    power, y_of_z, y_of_y, average_of_z, average_of_y = step
    for t in range(count):
        before, after = table[t], table[t + 1]
        after[0] = power * before[0]
        after[1] = y_of_z * before[0] + y_of_y * before[1]
        after[2] = y_of_y * before[2]
        after[3] = power * before[3] + average_of_z * before[0] + average_of_y * before[1]
        after[4] = power * before[4] + average_of_y * before[2]
        for k in range(5):
            after[k] = after[k] if abs(after[k]) > 1e-60 else 0.0  # it does not matter, and denormal numbers are slow
    return table


class Idling(NamedTuple):
    """What any number of idle steps does to a coordinate: rows of `idle_table` for `few`, and for `many` at once.

    Row b of `many` is for b · `IDLE_BLOCK` steps. One table for all steps of an epoch would not stay in the cache, and
    the steps that a rare coordinate missed are a random place in it.
    """

    few: np.ndarray
    many: np.ndarray


@compiled
def idling(shrink, tau1, tau3, steps):
    """Return the `Idling` for up to that many steps."""
    few = idle_table(np.array([shrink, tau1 * shrink, tau3, tau1 * shrink, tau3]), IDLE_BLOCK)
    return Idling(few, idle_table(few[IDLE_BLOCK], steps // IDLE_BLOCK))


@compiled
def _idle(work, j, now, rule):
    """Bring coordinate j of `sparse_ridge_epoch` up to time `now`."""
    lag = int(now - work[j, Ridge.TIME])
    z, y, average = work[j, Ridge.Z], work[j, Ridge.Y], work[j, Ridge.AVERAGE]
    if lag >= IDLE_BLOCK:
        blocks = rule.many[lag // IDLE_BLOCK]
        average = blocks[0] * average + blocks[3] * z + blocks[4] * y
        y = blocks[1] * z + blocks[2] * y
        z *= blocks[0]
        lag %= IDLE_BLOCK
    steps = rule.few[lag]
    work[j, Ridge.Z] = steps[0] * z
    work[j, Ridge.Y] = steps[1] * z + steps[2] * y
    work[j, Ridge.AVERAGE] = steps[0] * average + steps[3] * z + steps[4] * y
    work[j, Ridge.TIME] = now


@compiled
def sparse_ridge_epoch(X, order, draws, products, work, scores, tau1, tau3, step, l2):
    """Do `svrg_epoch` (τ₁ = 1, τ₃ = 0) or `katyusha_epoch` with l1 = 0; each step costs O(nonzeros of the row).

    Everything is measured from the anchor: Z = z - w̃, Y = y - w̃, U = τ₁Z + τ₃Y = x - w̃. Because the prox divides
    by 1 + step·l2 = 1/ρ, the textbook steps become linear, with G = ∇f(w̃) + l2·w̃:

        Z ← ρ (Z - step (a x_i + e₋ μ₋ + e₊ μ₊ + G)),   Y ← τ₁Z + τ₃Y,   average ← ρ·average + Y.

    So each of the three is the sum of a sparse part, which the gradient changes only where x_i is not zero, and a
    combination of the fixed vectors B = (μ₋, μ₊, G). The 3×3 coefficients of the combinations follow the recursion in
    O(1). Between visits, a coordinate of the sparse part takes idle steps, and `idle_table` holds their effect in
    closed form. Z·μ± and Y·μ±, which the direction needs, follow the recursion too: `scores` =
    [Z·μ₋, Z·μ₊, Y·μ₋, Y·μ₊] at the start.

    work (d, 8): Z, Y, average, time of the last visit, μ₋, μ₊, G and padding: one cache line for each coordinate. On
    return its first three columns are the complete Z, Y and average. `products` (3, 2) is B·(μ₋, μ₊).
    """
    shrink = 1.0 / (1.0 + step * l2)
    steps = order.shape[0]
    rule = idling(shrink, tau1, tau3, steps)
    of_z, of_y, of_average, e = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
    e[2] = 1.0
    weight = 0.0
    for t in range(min(AHEAD, steps)):
        fetch_row(X, order[t], work)
    for t in range(steps):
        i = order[t]
        if t + AHEAD < steps:
            fetch_row(X, order[t + AHEAD], work)
        score, dot_lower, dot_upper, dot_grad = 0.0, 0.0, 0.0, 0.0
        for position in range(X.indptr[i], X.indptr[i + 1]):
            x, j = np.float64(X.data[position]), X.indices[position]
            _idle(work, j, float(t), rule)
            score += x * (tau1 * work[j, Ridge.Z] + tau3 * work[j, Ridge.Y])
            dot_lower += x * work[j, Ridge.LOWER]
            dot_upper += x * work[j, Ridge.UPPER]
            dot_grad += x * work[j, Ridge.GRAD]
        score += (tau1 * of_z[0] + tau3 * of_y[0]) * dot_lower
        score += (tau1 * of_z[1] + tau3 * of_y[1]) * dot_upper
        score += (tau1 * of_z[2] + tau3 * of_y[2]) * dot_grad
        lower = tau1 * scores[0] + tau3 * scores[2]
        upper = tau1 * scores[1] + tau3 * scores[3]
        a, e[0], e[1] = row_direction(draws, i, score, lower, upper)
        for position in range(X.indptr[i], X.indptr[i + 1]):
            j = X.indices[position]
            z = shrink * (work[j, Ridge.Z] - step * a * X.data[position])
            y = tau1 * z + tau3 * work[j, Ridge.Y]
            work[j, Ridge.Z], work[j, Ridge.Y], work[j, Ridge.AVERAGE] = z, y, shrink * work[j, Ridge.AVERAGE] + y
            work[j, Ridge.TIME] = t + 1.0
        weight = shrink * weight + 1.0
        for b in range(3):
            of_z[b] = shrink * (of_z[b] - step * e[b])
            of_y[b] = tau1 * of_z[b] + tau3 * of_y[b]
            of_average[b] = shrink * of_average[b] + of_y[b]
        for c in range(2):
            moved = a * (dot_upper if c == 1 else dot_lower)
            for b in range(3):
                moved += e[b] * products[b, c]
            scores[c] = shrink * (scores[c] - step * moved)
            scores[2 + c] = tau1 * scores[c] + tau3 * scores[2 + c]
    for j in range(work.shape[0]):
        _idle(work, j, float(steps), rule)
        for b in range(3):
            work[j, Ridge.Z] += of_z[b] * work[j, Ridge.LOWER + b]
            work[j, Ridge.Y] += of_y[b] * work[j, Ridge.LOWER + b]
            work[j, Ridge.AVERAGE] += of_average[b] * work[j, Ridge.LOWER + b]
        work[j, Ridge.AVERAGE] /= weight


class Drift(NamedTuple):
    """The map w ← ρ soft(w - step·grad, step·l1), ρ = 1/(1 + step·l2); `table` holds ρ^t and ρ + ρ² + ... + ρ^t."""

    step: float
    l1: float
    l2: float
    table: np.ndarray


@compiled
def drift_rule(step, penalty, steps):
    """Return the `Drift` for up to that many steps."""
    shrink = 1.0 / (1.0 + step * penalty.l2)
    table = np.zeros((steps + 1, 2))
    table[0, 0] = 1.0
    for t in range(steps):
        table[t + 1, 0] = shrink * table[t, 0] if table[t, 0] > 1e-60 else 0.0  # denormal numbers are slow
        table[t + 1, 1] = shrink * (table[t, 1] + 1.0)
    return Drift(step, penalty.l1, penalty.l2, table)


@compiled
def _drift_from_above(w, grad, lag, rule):
    """`drift` for w > 0, and for w = 0 if grad ≤ 0."""
    table = rule.table
    pull = rule.step * (grad + rule.l1)
    if w == 0.0:
        return max(-pull * table[lag, 1], 0.0)
    value = table[lag, 0] * w - pull * table[lag, 1]
    if value > 0.0 or pull <= 0.0:  # with no pull, it is 0 where ρ^t w is too small for a float
        return value
    # The value falls steadily: ρ^t (w + c) - c with c = (grad + l1) / l2. Solve for its zero, and correct t for
    # rounding, so that `before` is the last positive value. (Where step·l2 is too small for a float, ρ = 1.)
    rate = np.log1p(rule.step * rule.l2)
    zero = np.log1p(w * rule.l2 / (grad + rule.l1)) / rate if rate > 0.0 else w / pull
    t = int(min(zero, lag - 1.0))  # `zero` may be infinite
    while t > 0 and table[t, 0] * w - pull * table[t, 1] <= 0.0:
        t -= 1
    while t + 1 < lag and table[t + 1, 0] * w - pull * table[t + 1, 1] > 0.0:
        t += 1
    before = table[t, 0] * w - pull * table[t, 1]
    below = rule.step * (grad - rule.l1)
    landed = table[1, 0] * min(before - below, 0.0)
    rest = lag - t - 1
    if below > 0.0:
        return table[rest, 0] * landed - below * table[rest, 1]
    return landed


@compiled
def drift(w, grad, lag, rule):
    """Apply w ← ρ soft(w - step·grad, step·l1) `lag` times, in closed form.

    While w > 0 a step is w ← ρ (w - step (grad + l1)), so t steps give ρ^t w - step (grad + l1) Σ_(r ≤ t) ρ^r. If
    this stays positive it is the result. Otherwise w reaches 0. From there it stays at 0 if |grad| ≤ l1; if grad > l1
    it goes on below 0 by the mirrored formula, and stays negative.
    """
    if lag == 0:
        return w
    if w < 0.0 or (w == 0.0 and grad > 0.0):
        return -_drift_from_above(-w, -grad, lag, rule)
    return _drift_from_above(w, grad, lag, rule)


@compiled
def _score_after_drift(X, i, work, now, rule):
    """Return (w - w̃)·x_i, after bringing the coordinates of x_i up to time `now`."""
    score = 0.0
    for position in range(X.indptr[i], X.indptr[i + 1]):
        j = X.indices[position]
        work[j, Net.W] = drift(work[j, Net.W], work[j, Net.ANCHOR_GRAD], now - int(work[j, Net.TIME]), rule)
        work[j, Net.TIME] = now
        score += X.data[position] * (work[j, Net.W] - work[j, Net.ANCHOR])
    return score


@compiled
def sparse_net_epoch(X, positives, negatives, scale, work, step, penalty):
    """Take steps of proximal SVRG with the pair gradient; each costs O(nonzeros of its two rows).

    Textbook: w ← prox(w - step (s_t (u·(x - x')) (x - x') + ∇f(w̃))), with u = w - w̃, x a positive row, x' a negative
    one and s_t = `scale`. A coordinate that is zero in both rows goes through the same scalar map at every step, so it
    is brought up to date with `drift` only when a row needs it, and at the end. A coordinate that is nonzero in both
    rows must be thresholded only once: the gradient is added first, then the row that comes first takes the step and
    records the time.

    work (d, 4): w, w̃, ∇f(w̃), time of the last visit.
    """
    steps = positives.shape[0]
    rule = drift_rule(step, penalty, steps)
    for t in range(steps):
        i, k = positives[t], negatives[t]
        if t + AHEAD < steps:
            fetch_row(X, positives[t + AHEAD], work)
            fetch_row(X, negatives[t + AHEAD], work)
        score = _score_after_drift(X, i, work, t, rule) - _score_after_drift(X, k, work, t, rule)
        a = step * scale[t] * score
        for position in range(X.indptr[i], X.indptr[i + 1]):
            work[X.indices[position], Net.W] -= a * X.data[position]
        for position in range(X.indptr[k], X.indptr[k + 1]):
            work[X.indices[position], Net.W] += a * X.data[position]
        for row in (i, k):
            for position in range(X.indptr[row], X.indptr[row + 1]):
                j = X.indices[position]
                if work[j, Net.TIME] == t:
                    work[j, Net.W] = prox1(penalty, work[j, Net.W] - step * work[j, Net.ANCHOR_GRAD], step, j)
                    work[j, Net.TIME] = t + 1
    for j in range(work.shape[0]):
        work[j, Net.W] = drift(work[j, Net.W], work[j, Net.ANCHOR_GRAD], steps - int(work[j, Net.TIME]), rule)
