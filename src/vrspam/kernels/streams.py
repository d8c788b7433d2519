"""Online methods: running class statistics, and the steps of SPAM, SOLAM and OPAUC.

The caller draws random numbers and passes them as arrays of indices.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from vrspam.kernels.compiling import compiled
from vrspam.kernels.prox import prox1
from vrspam.kernels.rows import add_row, row_dot, row_square, whole_row
from vrspam.penalties.elastic_net import ElasticNet

# Slots of `ClassSums.totals`.
Totals = IntEnum("Totals", {"SQUARES": 0, "OWN": 2, "CROSS": 4, "LARGEST": 5})

# Slots of `carry`, the numbers that an online method keeps between calls: t and the scale of v for all methods,
Carry = IntEnum("Carry", "STEPS SCALE", start=0)

# w·S₋, w·S₊, G, Σ t and the steps since the last fold for SPAM,
Spam = IntEnum("Spam", "LOWER UPPER OF_V WEIGHT SINCE_FOLD", start=2)

# a, b, ζ, G, Σ η, ‖w‖², the steps since the last fold and Σ η (a, b, ζ) for SOLAM.
Solam = IntEnum("Solam", "A B ZETA OF_V WEIGHT SQUARE SINCE_FOLD SUMS", start=2)


class ClassSums(NamedTuple):
    """Size and sum of each class (index 0 negative, 1 positive), and six numbers computed from the rows.

    counts (2,), sums (2, d), totals = [Σ₋‖x‖², Σ₊‖x‖², ‖S₋‖², ‖S₊‖², S₋·S₊, max ‖x‖²] with S the sums. Sums, not
    means, are kept because adding a row to a sum costs O(its nonzeros).
    """

    counts: np.ndarray
    sums: np.ndarray
    totals: np.ndarray


class StepRule(NamedTuple):
    """The length of a step and its l2.

    size : the c of c/√t. 0.0 means "auto": c = 1 / (mean Lipschitz constant), and no step is longer than
        1 / (Lipschitz constant of its row).
    theory : use steps 1/(C̃ (t+1)) instead of c/√t, with C̃ = l2 / (1 + l2²/(128 M⁴))². A size > 0 multiplies them; with
        size 0.0 they are never longer than the automatic c/√t.
    l2, l2_share : if l2_share is 0.0 the penalty is l2, otherwise it is l2_share times `running_unit`.
    """

    size: float
    theory: bool
    l2: float
    l2_share: float


@compiled
def running_unit(classes):
    """2pq · (mean diagonal of H), computed from the totals: `vrspam.objective.l2_unit` of the rows so far."""
    n0, n1 = classes.counts
    squares0, squares1, own0, own1, cross, _ = classes.totals
    spread = squares0 / n0 - own0 / (n0 * n0) + squares1 / n1 - own1 / (n1 * n1)
    shift = own0 / (n0 * n0) + own1 / (n1 * n1) - 2.0 * cross / (n0 * n1)
    mean_diagonal = (max(spread, 0.0) + max(shift, 0.0)) / max(classes.sums.shape[1], 1)
    if not mean_diagonal > 0.0:
        mean_diagonal = 1.0
    return 2.0 * n0 * n1 / ((n0 + n1) * (n0 + n1)) * mean_diagonal


@compiled
def mean_lipschitz(classes):
    """k Σ_c √(mean_c ‖x‖² · mean_c ‖x - μ_other‖²): bounds the mean Lipschitz constant of the paper's gradient."""
    n0, n1 = classes.counts
    squares0, squares1, own0, own1, cross, _ = classes.totals
    far0 = max(squares0 / n0 - 2.0 * cross / (n0 * n1) + own1 / (n1 * n1), 0.0)
    far1 = max(squares1 / n1 - 2.0 * cross / (n0 * n1) + own0 / (n0 * n0), 0.0)
    k = 2.0 * n0 * n1 / ((n0 + n1) * (n0 + n1))
    return k * (np.sqrt(squares0 / n0 * far0) + np.sqrt(squares1 / n1 * far1))


@compiled
def take_in(classes, X, i, c, square, learn):
    """Return (x_i·S₋, x_i·S₊); if `learn`, x_i is first added to the statistics of class c."""
    own = row_dot(X, i, classes.sums[c])
    other = row_dot(X, i, classes.sums[1 - c])
    if learn:
        totals = classes.totals
        totals[Totals.SQUARES + c] += square
        totals[Totals.OWN + c] += 2.0 * own + square
        totals[Totals.CROSS] += other
        totals[Totals.LARGEST] = max(totals[Totals.LARGEST], square)
        classes.counts[c] += 1.0
        add_row(X, i, 1.0, classes.sums[c])
        own += square
    if c == 1:
        return other, own
    return own, other


@compiled
def step_length(rule, t, l2, largest_square, lipschitz_mean, lipschitz_row):
    """η_t for the t-th step (t = 1, 2, ...)."""
    auto = rule.size == 0.0
    root = rule.size / np.sqrt(t)
    if auto:
        root = 1.0 / (lipschitz_mean * np.sqrt(t)) if lipschitz_mean > 0.0 else 1.0
        if root * lipschitz_row > 1.0:
            root = 1.0 / lipschitz_row
    if not rule.theory:
        return root
    ratio = 1.0 + l2 * l2 / max(128.0 * largest_square * largest_square, 1e-300)
    proven = ratio * ratio / (l2 * (t + 1.0))
    return min(proven, root) if auto else rule.size * proven


@compiled
def spam_fold(classes, v, average, carry):
    """Fold: multiply v by the scale of `spam_steps`, so that v is w, and compute the products in `carry` again."""
    scale = carry[Carry.SCALE]
    weight = carry[Spam.OF_V]
    for j in range(average.shape[0]):
        average[j] += weight * v[j]
    for j in range(v.shape[0]):
        v[j] *= scale
    carry[Carry.SCALE], carry[Spam.OF_V], carry[Spam.SINCE_FOLD] = 1.0, 0.0, 0.0
    carry[Spam.LOWER] = np.dot(v, classes.sums[0])
    carry[Spam.UPPER] = np.dot(v, classes.sums[1])


@compiled
def spam_steps(X, order, side, classes, learn, v, average, carry, rule, l1):
    """Take steps of SPAM on the rows `order`; with l1 = 0 each step costs O(nonzeros of the row).

    Textbook: w ← prox(w - η f x) with the gradient f x, 2q (w·(x-μ₋) - 1) x for a positive row and 2p (w·(x-μ₊) + 1) x
    for a negative one, whose Lipschitz constant is 2q ‖x‖ ‖x-μ₋‖ (2p ‖x‖ ‖x-μ₊‖). That is of O(d): with l1 > 0 the
    threshold moves every coordinate, and `average` is Σ t w_t. With l1 = 0 the prox divides by 1 + η l2. There
    w = scale · v: the division changes only `scale`, and the subtraction changes only the nonzero coordinates of x. The
    products w·S₋ and w·S₊, which f needs, follow the same recursion: (w - η f x)·S = w·S - η f (x·S). The average
    Σ t w_t / Σ t is kept in the same way: with G = Σ t scale_t, the sum is G v + average as long as a change b x of v
    adds -G b x to `average`.

    A fold (`spam_fold`) must come between steps with l1 = 0 and with l1 > 0. When to fold depends on the number of
    steps and not on where a batch ends, so the batches of a stream do not change a bit of the result.
    If `learn`, a row is added to `classes` before its step; there are no steps until both classes have been seen.
    """
    fold_every = max(1000, v.shape[0])
    for i in order:
        c = side[i]
        square = row_square(X, i)
        score = carry[Carry.SCALE] * row_dot(X, i, v)
        dot0, dot1 = take_in(classes, X, i, c, square, learn)
        if learn:
            carry[Spam.LOWER + c] += score
        if classes.counts[0] == 0.0 or classes.counts[1] == 0.0:
            continue
        carry[Carry.STEPS] += 1.0
        carry[Spam.WEIGHT] += carry[Carry.STEPS]
        other_sum = carry[Spam.UPPER - c] if l1 == 0.0 else np.dot(v, classes.sums[1 - c])
        n_other = classes.counts[1 - c]
        share = 2.0 * n_other / (classes.counts[0] + classes.counts[1])
        factor = share * (score - other_sum / n_other - (1.0 if c == 1 else -1.0))
        dot_other = dot0 if c == 1 else dot1
        own_other = classes.totals[Totals.OWN + 1 - c]
        distance = square - 2.0 * dot_other / n_other + own_other / (n_other * n_other)
        lipschitz_row = share * np.sqrt(square * max(distance, 0.0))
        l2 = rule.l2 if rule.l2_share == 0.0 else rule.l2_share * running_unit(classes)
        largest = classes.totals[Totals.LARGEST]
        step = step_length(rule, carry[Carry.STEPS], l2, largest, mean_lipschitz(classes), lipschitz_row)
        if l1 > 0.0:
            add_row(X, i, -step * factor, v)
            penalty = ElasticNet(l2, l1)
            for j in range(v.shape[0]):
                v[j] = prox1(penalty, v[j], step, j)
            for j in range(average.shape[0]):
                average[j] += carry[Carry.STEPS] * v[j]
            continue
        shrink = 1.0 / (1.0 + step * l2)
        change = -step * factor / carry[Carry.SCALE]
        add_row(X, i, change, v)
        if average.shape[0] > 0:
            add_row(X, i, -carry[Spam.OF_V] * change, average)
        carry[Carry.SCALE] *= shrink
        carry[Spam.LOWER] = shrink * (carry[Spam.LOWER] - step * factor * dot0)
        carry[Spam.UPPER] = shrink * (carry[Spam.UPPER] - step * factor * dot1)
        carry[Spam.OF_V] += carry[Carry.STEPS] * carry[Carry.SCALE]
        carry[Spam.SINCE_FOLD] += 1.0
        if carry[Carry.SCALE] < 1e-9 or carry[Spam.SINCE_FOLD] >= fold_every:
            spam_fold(classes, v, average, carry)


@compiled
def solam_steps(X, order, side, classes, learn, v, average, carry, rule, radius):
    """Take steps of SOLAM on the rows `order`: descent in (w, a, b), ascent in ζ; each costs O(nonzeros of the row).

    The saddle function of one row, with s = w·x, is  q (s-a)² - 2q (1+ζ) s  for a positive row,
    p (s-b)² + 2p (1+ζ) s  for a negative one, plus  -pq ζ²  for both. As in `spam_steps`, w = scale · v and the
    average Σ η_t w_t is G v + `average`. With an automatic step, a, b and ζ, which are scores, are measured in units
    of the root mean square of ‖x‖, so that all variables move equally fast: their steps are longer by its square. A
    fold multiplies v by the scale, so that v is w and `average` is Σ η_t w_t.
    """
    fold_every = max(1000, v.shape[0])
    for i in order:
        c = side[i]
        square = row_square(X, i)
        score = carry[Carry.SCALE] * row_dot(X, i, v)
        if learn:
            take_in(classes, X, i, c, square, True)
        n0, n1 = classes.counts
        if n0 == 0.0 or n1 == 0.0:
            continue
        carry[Carry.STEPS] += 1.0
        share = (n0 if c == 1 else n1) / (n0 + n1)
        pq = n0 * n1 / ((n0 + n1) * (n0 + n1))
        sign = -1.0 if c == 1 else 1.0
        l2 = rule.l2 if rule.l2_share == 0.0 else rule.l2_share * running_unit(classes)
        mean_square = (classes.totals[Totals.SQUARES] + classes.totals[Totals.SQUARES + 1]) / (n0 + n1)
        class_squares = classes.totals[Totals.SQUARES] / n0 + classes.totals[Totals.SQUARES + 1] / n1
        lipschitz_row = 2.0 * share * (np.sqrt(square) + np.sqrt(mean_square)) ** 2
        lipschitz_mean = 2.0 * pq * class_squares
        step = step_length(rule, carry[Carry.STEPS], l2, classes.totals[Totals.LARGEST], lipschitz_mean, lipschitz_row)
        score_step = step * mean_square if rule.size == 0.0 else step

        own = Solam.A if c == 1 else Solam.B
        residual = score - carry[own]
        factor = 2.0 * share * (residual + sign * (1.0 + carry[Solam.ZETA]))
        zeta_slope = 2.0 * (share * sign * score - pq * carry[Solam.ZETA])
        carry[own] += score_step * 2.0 * share * residual
        carry[Solam.ZETA] += score_step * zeta_slope

        shrink = 1.0 / (1.0 + step * l2)
        change = -step * factor
        norm_square = shrink * shrink * max(carry[Solam.SQUARE] + 2.0 * change * score + change * change * square, 0.0)
        add_row(X, i, change / carry[Carry.SCALE], v)
        add_row(X, i, -carry[Solam.OF_V] * change / carry[Carry.SCALE], average)
        if norm_square > radius * radius:
            shrink *= radius / np.sqrt(norm_square)
            norm_square = radius * radius
        if radius < np.inf:
            bound = radius * np.sqrt(classes.totals[Totals.LARGEST])
            carry[own] = min(max(carry[own], -bound), bound)
            carry[Solam.ZETA] = min(max(carry[Solam.ZETA], -2.0 * bound), 2.0 * bound)
        carry[Carry.SCALE] *= shrink
        carry[Solam.OF_V] += step * carry[Carry.SCALE]
        carry[Solam.WEIGHT] += step
        carry[Solam.SQUARE] = norm_square
        carry[Solam.SINCE_FOLD] += 1.0
        for k in range(3):
            carry[Solam.SUMS + k] += step * carry[Solam.A + k]
        if carry[Carry.SCALE] < 1e-9 or carry[Solam.SINCE_FOLD] >= fold_every:
            for j in range(v.shape[0]):
                average[j] += carry[Solam.OF_V] * v[j]
                v[j] *= carry[Carry.SCALE]
            carry[Carry.SCALE], carry[Solam.OF_V], carry[Solam.SINCE_FOLD] = 1.0, 0.0, 0.0
            carry[Solam.SQUARE] = np.dot(v, v)


class RunningCovariances(NamedTuple):
    """Size, mean and trace of the scatter of each class (index 0 negative): counts (2,), means (2, d), traces (2,)."""

    counts: np.ndarray
    means: np.ndarray
    traces: np.ndarray


@compiled
def _opauc_step(classes, c, x, product, w, t, rule):
    """w ← w - η (λ w + (r·w ∓ 1) r + Σ_other w), r = x - μ_other; `product` is Σ_other w, λ = l2 / (2pq).

    Averaged over the rows the direction is (H + λ) w - δ = ∇F(w) / (2pq). A row's Lipschitz constant is at most
    λ + ‖r‖² + tr Σ_other; their mean is λ + tr H.
    """
    n0, n1 = classes.counts
    other = classes.means[1 - c]
    score, square, shift = 0.0, 0.0, 0.0
    for j in range(x.shape[0]):
        r = x[j] - other[j]
        score += r * w[j]
        square += r * r
        delta = classes.means[1, j] - classes.means[0, j]
        shift += delta * delta
    trace = classes.traces[0] / n0 + classes.traces[1] / n1 + shift
    k = 2.0 * n0 * n1 / ((n0 + n1) * (n0 + n1))
    unit = trace / max(x.shape[0], 1)
    ridge = rule.l2 / k if rule.l2_share == 0.0 else rule.l2_share * (unit if unit > 0.0 else 1.0)
    row = ridge + square + classes.traces[1 - c] / classes.counts[1 - c]
    step = step_length(rule, t, 0.0, 0.0, ridge + trace, row)
    margin = score - (1.0 if c == 1 else -1.0)
    for j in range(x.shape[0]):
        w[j] -= step * (ridge * w[j] + margin * (x[j] - other[j]) + product[j])


@compiled
def opauc_steps(X, order, side, classes, scatters, buffers, filled, spread, learn, step, w, carry, rule):
    """Take steps of OPAUC on the rows `order`; the scatter of class c is scatters[c] + BᵀB + spread[c] · I.

    B is the first filled[c] rows of buffers[c]. x is added to the scatter as one more row of B, √((n-1)/n) (x - old
    mean), which costs O(d); adding its outer product to a matrix would cost as much as the multiplication of the
    step. When a buffer is full the kernel stops. The caller then adds the buffer to the matrix (all rows at once, which
    is faster than one by one) or, without a matrix (scatters of shape (2, 0, 0)), compresses it to the rank of the
    sketch.

    Returns how many rows of `order` are done. If `learn`, a row is added to its class before its step; without
    `step` no step follows. `carry` holds t.
    """
    d = w.shape[0]
    buffer = np.empty(d)
    product = np.empty(d)
    for position in range(order.shape[0]):
        i = order[position]
        c = side[i]
        x = whole_row(X, i, buffer)
        if learn:
            n = classes.counts[c] + 1.0
            pull = (n - 1.0) / n
            root = np.sqrt((n - 1.0) / n)
            square = 0.0
            mean = classes.means[c]
            row = buffers[c, filled[c]]
            for j in range(d):
                v = x[j] - mean[j]
                square += v * v
                mean[j] += v / n
                row[j] = root * v
            classes.counts[c] = n
            classes.traces[c] += pull * square
            filled[c] += 1
        if step and classes.counts[0] > 0.0 and classes.counts[1] > 0.0:
            other = 1 - c
            n = classes.counts[other]
            carry[Carry.STEPS] += 1.0
            for j in range(d):
                product[j] = spread[other] / n * w[j]
            for j in range(scatters.shape[1]):
                product[j] += row_dot(scatters[other], j, w) / n
            for r in range(filled[other]):
                add_row(buffers[other], r, row_dot(buffers[other], r, w) / n, product)
            _opauc_step(classes, c, x, product, w, carry[Carry.STEPS], rule)
        if filled[c] == buffers.shape[1]:
            return position + 1
    return order.shape[0]
