"""All compiled code, in one file, because Numba's disk cache notices an edit only in the file of the kernel itself.

A matrix is an array or a `CSR` tuple; `entries`, `value_at` and `column_at` are for both, so each loop is written once.
A penalty is a named tuple of numbers; `prox1` is overloaded for each kind, and a penalty that is defined elsewhere is
added with `register_prox`. The caller draws random numbers and passes them as arrays of indices. For access by columns
the caller passes a CSC matrix, which is the CSR form of the transpose.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from enum import IntEnum
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numba import njit, types
from numba.extending import intrinsic, overload, register_jitable

from vrspam.objective.limits import Bounded
from vrspam.objective.penalties import MCP, SCAD, ElasticNet

# Parts of Numba that are not public: without them each process compiles anew, and no cache line is prefetched.
FunctionCache: Any = object
IndexDataCacheFile: Any = object
ir: Any = None
with suppress(ImportError):
    from llvmlite import ir  # type: ignore[import-untyped,no-redef]
with suppress(ImportError):
    from numba.core.caching import FunctionCache, IndexDataCacheFile

# The compiler may reorder sums to vectorise them (a strict dot product is five times slower). It may not assume that
# NaN and infinity do not occur: they are how divergence is detected.
FASTMATH = {"reassoc", "contract", "nsz", "arcp"}
TINY = 2.2250738585072014e-308  # the smallest normal number: a smaller curvature counts as 0

F = TypeVar("F", bound=Callable)
_PROX: dict[type, tuple[Any, str]] = {}  # kind of penalty -> its compiled prox, and the file that defines it


def _kind(argument: Any) -> Any:
    """Return the class of an argument from its Numba type if the argument is a named tuple, else None."""
    return getattr(argument, "instance_class", None) if isinstance(argument, types.BaseNamedTuple) else None


def _is_foreign(argument: Any) -> bool:
    """Whether an argument is, or holds, a penalty whose prox is defined in another file."""
    kind = _kind(argument)
    if kind in _PROX and _PROX[kind][1] != __file__:
        return True
    return kind is not None and any(map(_is_foreign, argument.types))


class _CacheFile(IndexDataCacheFile):
    """Numba's files of compiled code, named by a hash of their key: Numba's own numbers collide between processes."""

    def save(self, key, data):
        with suppress(AttributeError):  # if Numba lacks these names, nothing is stored
            held = repr((self._version, self._source_stamp, key))
            name = f"{self._index_name.removesuffix('.nbi')}.{sha256(held.encode()).hexdigest()[:16]}.nbc"
            self._save_data(name, data)
            self._save_index({**self._load_index(), key: name})


class _Cache(FunctionCache):
    """Numba's disk cache, without code for penalties defined elsewhere: the cache notices edits of this file alone."""

    def __init__(self, function):
        super().__init__(function)
        self._cache_file = _CacheFile(
            self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp()
        )  # fmt: skip

    def load_overload(self, sig, target_context):
        return None if any(map(_is_foreign, sig)) else super().load_overload(sig, target_context)

    def save_overload(self, sig, data):
        if not any(map(_is_foreign, sig)):
            super().save_overload(sig, data)


def compiled(function: F) -> F:
    """Compile for any types of arguments, without Python's global lock, and store the result on disk."""
    dispatcher: Any = njit(nogil=True, fastmath=FASTMATH)(function)
    with suppress(AttributeError, TypeError):  # if Numba lacks its own cache
        dispatcher._cache = _Cache(function)
    return dispatcher


def prox1(penalty, v, step, j):
    """Return the w that minimises (w - v)²/2 + step·Ω_j(w), where Ω_j is the penalty of coordinate j."""
    raise TypeError("only compiled code calls this")


@overload(prox1)
def _overload_prox1(penalty, v, step, j):
    if _kind(penalty) not in _PROX:
        return None
    prox = _PROX[_kind(penalty)][0]
    return lambda penalty, v, step, j: prox(penalty, v, step, j)


def register_prox(kind: type) -> Callable[[F], F]:
    """Decorate the function (penalty, v, step, j) that `prox1` calls for one kind of penalty, a named tuple."""

    def register(function: F) -> F:
        # Without Python's check for a division by zero, so that loops over coordinates vectorise.
        prox = njit(nogil=True, fastmath=FASTMATH, error_model="numpy")(function)
        _PROX[kind] = prox, function.__code__.co_filename
        return function

    return register


def has_prox(penalty: Any) -> bool:
    """Whether `prox1` takes this penalty."""
    return type(penalty) in _PROX and all(has_prox(part) for part in penalty if isinstance(part, tuple))


@register_prox(ElasticNet)
def _elastic_net_prox(penalty, v, step, j):
    # Soft-thresholding without a branch, so that loops over coordinates vectorise.
    threshold = step * penalty.l1
    return (max(v - threshold, 0.0) + min(v + threshold, 0.0)) / (1.0 + step * penalty.l2)


@njit(nogil=True, fastmath=FASTMATH, error_model="numpy")
def _concave_prox(penalty, v, step, j, onset):
    # As `vrspam.objective.penalties.Concave.prox`, which explains the pieces.
    l1, gamma, h = penalty.l1, penalty.gamma, penalty.h[j]
    size, threshold, ridge, bend = abs(v), step * l1, 1.0 + step * penalty.l2, gamma - onset
    over = max(size - threshold, 0.0)
    if ridge * bend > step * h:
        if h * over <= onset * l1 * ridge:
            size = over / ridge
        elif h * size >= gamma * l1 * ridge:
            size /= ridge
        else:
            size = (size - threshold * (gamma / bend)) / (ridge - step * h / bend)
    elif (size - over) * h * (size + over) <= ridge * threshold * l1 * (2.0 * onset + bend):
        size = over / ridge
    else:
        size /= ridge
    return size if v > 0.0 else -size


@register_prox(MCP)
def _mcp_prox(penalty, v, step, j):
    return _concave_prox(penalty, v, step, j, 0.0)


@register_prox(SCAD)
def _scad_prox(penalty, v, step, j):
    return _concave_prox(penalty, v, step, j, 1.0)


@register_prox(Bounded)
def _bounded_prox(penalty, v, step, j):
    return min(max(prox1(penalty.penalty, v, step, j), penalty.lower[j]), penalty.upper[j])


class CSR(NamedTuple):
    """Compressed rows: the entries of row i are at indptr[i]:indptr[i+1]."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray


def _either(of_array: Callable, of_csr: Callable) -> Any:
    """A function of a matrix, for compiled code: the first for an array, the second for a `CSR`."""

    def function(X, *more):
        raise TypeError("only compiled code calls this")

    def chosen(X, *more):
        return of_array if isinstance(X, types.Array) else of_csr

    overload(function, inline="always", strict=False)(chosen)
    return function


# The places of the entries of a row, and the value and the column of the entry at a place.
entries = _either(lambda X, i: range(X.shape[1]), lambda X, i: range(X.indptr[i], X.indptr[i + 1]))
value_at = _either(lambda X, i, place: X[i, place], lambda X, i, place: X.data[place])
column_at = _either(lambda X, place: place, lambda X, place: X.indices[place])


@compiled
def row_dot(X, i, w):
    """x_i · w."""
    total = 0.0
    for place in entries(X, i):
        total += value_at(X, i, place) * w[column_at(X, place)]
    return total


@compiled
def row_square(X, i):
    """‖x_i‖²."""
    total = 0.0
    for place in entries(X, i):
        x = np.float64(value_at(X, i, place))
        total += x * x
    return total


@compiled
def add_row(X, i, scale, out):
    """out += scale · x_i."""
    for place in entries(X, i):
        out[column_at(X, place)] += scale * value_at(X, i, place)


def violation(penalty, w, grad, curvature, divisor):
    """The number that decides when to stop: the elastic net's certificate; `divisor` is the penalty's `gap_curvature`.

    For other penalties it is what a step along each coordinate gains (`Separable.violation`). It is 0 at a solution.
    """
    raise TypeError("only compiled code calls this")


@compiled
def _elastic_net_violation(penalty, w, grad, divisor):
    l1, l2 = penalty.l1, penalty.l2
    total, root = 0.0, np.sqrt(2.0 * divisor)
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
    if _kind(penalty) is ElasticNet:
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


@register_jitable
def part_of(edges, part, scores, weights, rows):
    """Scores, weights and numbers of the rows of a part; loops over slices from 0 on are a third faster."""
    inside = slice(edges[part], edges[part + 1])
    return scores[inside], weights[inside], rows[inside]


@compiled
def pair_hinge_sums(upper, a, lower, b, up, down, up_edges, down_edges, slope):
    """Return Σ_ij a_i b_j max(0, lower_j - upper_i)², and add half its derivatives along the scores to `slope`.

    `upper` are the positives' scores minus the margin and `lower` the negatives' scores, both sorted in each part, of
    which the edges are given; pairs are those of one part. `up` and `down` are the numbers of their rows in `slope`.
    One sweep goes down and adds the negatives that lie above a positive, one goes up and adds the positives that lie
    below a negative. Sums are kept relative to the place that the sweep has reached; a move of that place only adds
    terms that are not negative, so no digits cancel.
    """
    total = 0.0
    for part in range(up_edges.size - 1):
        over, c, p = part_of(up_edges, part, upper, a, up)
        under, d, q = part_of(down_edges, part, lower, b, down)
        if over.size == 0 or under.size == 0:
            continue
        mass, first, second = 0.0, 0.0, 0.0  # Σ b, Σ b (lower - place), Σ b (lower - place)²
        j = under.size - 1
        place = under[j]
        for i in range(over.size - 1, -1, -1):
            while j >= 0 and under[j] > over[i]:
                move = place - under[j]
                second += move * (2.0 * first + move * mass)
                first += move * mass
                place = under[j]
                mass += d[j]
                j -= 1
            if mass > 0.0:
                move = place - over[i]
                second += move * (2.0 * first + move * mass)
                first += move * mass
                place = over[i]
            slope[p[i]] -= c[i] * first
            total += c[i] * second
        mass, first = 0.0, 0.0
        i, place = 0, over[0]
        for j in range(under.size):
            while i < over.size and over[i] < under[j]:
                first += (over[i] - place) * mass
                place = over[i]
                mass += c[i]
                i += 1
            if mass > 0.0:
                first += (under[j] - place) * mass
                place = under[j]
            slope[q[j]] += d[j] * first
    return total


@compiled
def pair_hinge_product(upper, a, lower, b, up, down, up_edges, down_edges, u, out):
    """Add half the Hessian of `pair_hinge_sums` times u, one number for each row, to `out`.

    Each pair with lower_j > upper_i adds a_i b_j (u_i - u_j) to row i and takes it from row j.
    """
    for part in range(up_edges.size - 1):
        over, c, p = part_of(up_edges, part, upper, a, up)
        under, d, q = part_of(down_edges, part, lower, b, down)
        mass, above = 0.0, 0.0  # Σ b and Σ b u of the negatives above
        j = under.size - 1
        for i in range(over.size - 1, -1, -1):
            while j >= 0 and under[j] > over[i]:
                mass += d[j]
                above += d[j] * u[q[j]]
                j -= 1
            out[p[i]] += c[i] * (mass * u[p[i]] - above)
        mass, below = 0.0, 0.0  # Σ a and Σ a u of the positives below
        i = 0
        for j in range(under.size):
            while i < over.size and over[i] < under[j]:
                mass += c[i]
                below += c[i] * u[p[i]]
                i += 1
            out[q[j]] += d[j] * (mass * u[q[j]] - below)


@compiled
def pair_hinge_reach(upper, a, lower, up_edges, down_edges, first, below):
    """Write the place of the first negative above each positive, and the weight of the positives below a negative."""
    for part in range(up_edges.size - 1):
        i, mass = up_edges[part], 0.0
        for j in range(down_edges[part], down_edges[part + 1]):
            while i < up_edges[part + 1] and upper[i] < lower[j]:
                first[i] = j
                mass += a[i]
                i += 1
            below[j] = mass
        first[i : up_edges[part + 1]] = down_edges[part + 1]


@compiled
def weighted_row_sum(X, rows, factor, out):
    """out += Σ factor_i x_i over the given rows i."""
    for i in rows:
        add_row(X, i, factor[i], out)


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


# --- Streams: running class statistics, SPAM -------------------------------------------------------------------

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
    scale, weight = carry[Carry.SCALE], carry[Spam.OF_V]
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
        dot_other, own_other = dot0 if c == 1 else dot1, classes.totals[Totals.OWN + 1 - c]
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


# --- Streams: SOLAM ----------------------------------------------------------------------------------------------


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


# --- Streams: OPAUC ----------------------------------------------------------------------------------------------


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
    buffer, product = np.empty(d), np.empty(d)
    for position in range(order.shape[0]):
        i = order[position]
        c = side[i]
        x = whole_row(X, i, buffer)
        if learn:
            n = classes.counts[c] + 1.0
            pull, root, square = (n - 1.0) / n, np.sqrt((n - 1.0) / n), 0.0
            mean, row = classes.means[c], buffers[c, filled[c]]
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


# Columns of `work` in the lazy epochs: those of `sparse_ridge_epoch`, and those of `sparse_net_epoch`.
Ridge = IntEnum("Ridge", "Z Y AVERAGE TIME LOWER UPPER GRAD", start=0)
Net = IntEnum("Net", "W ANCHOR ANCHOR_GRAD TIME", start=0)
AHEAD = 3  # steps before its own that a row is fetched
IDLE_BLOCK = 1024


# --- VRSPAM ------------------------------------------------------------------------------------------------------


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
_squared_from = _either(lambda X, x, mean: (x - mean) * (x - mean), lambda X, x, mean: x * (x - 2.0 * mean))


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


@compiled
def _written_out(X, i, buffer):
    buffer[:] = 0.0
    add_row(X, i, 1.0, buffer)
    return buffer


# Row i as an array of length d: a view of a dense X, or `buffer`, filled with the row of a CSR.
whole_row = _either(lambda X, i, buffer: X[i], lambda X, i, buffer: _written_out(X, i, buffer))


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
        following_row, other_mean = X[following], means[1 - draws.side[following]]
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
    shrink, last = 1.0 / (1.0 + step * l2), order.shape[0] - 1
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


@compiled
def idle_table(step, count):
    """Return what t idle steps do to the (z, y, average) of a coordinate, for t = 0 ... count, one row for each.

    In an idle step the coordinate is zero in the drawn row: z ← ρz, y ← τ₁z + τ₃y, average ← ρ·average + y. That, and
    any number of such steps, is a linear map with five coefficients,

        z' = T₀ z,   y' = T₁ z + T₂ y,   average' = T₀ average + T₃ z + T₄ y;

    `step` has those of the map of which the table holds the powers.
    """
    table = np.zeros((count + 1, 5))
    table[0, 0], table[0, 2] = 1.0, 1.0
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


def _prefetch_code(context, builder, signature, arguments):
    place, size = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [place, size, size, size])
    function = builder.module.declare_intrinsic("llvm.prefetch", (place,), kind)
    # To be written, to be kept in all caches, and data, not code.
    builder.call(function, [builder.inttoptr(arguments[0], place), size(1), size(3), size(1)])
    return arguments[0]


def _prefetch_typed(typing_context, address):
    """Ask for the cache line at an address, without waiting for it."""
    return types.intp(types.intp), _prefetch_code


def _no_prefetch(address):
    return address


_prefetch: Any = register_jitable(_no_prefetch) if ir is None else intrinsic(_prefetch_typed)


@compiled
def _fetch_row(X, i, work):
    """Ask for the lines of `work` that the lazy kernels will need for row i, so that they arrive before its step."""
    start, stride = np.intp(work.ctypes.data), np.intp(work.strides[0])
    for position in range(X.indptr[i], X.indptr[i + 1]):
        _prefetch(start + X.indices[position] * stride)


@compiled
def _fetch_dense_row(X, i):
    """Ask for the lines of row i of an array."""
    start = X.ctypes.data + i * X.strides[0]
    for line in range(0, X.strides[0], 64):
        _prefetch(start + line)


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
        _fetch_row(X, order[t], work)
    for t in range(steps):
        i = order[t]
        if t + AHEAD < steps:
            _fetch_row(X, order[t + AHEAD], work)
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
    table, pull = rule.table, rule.step * (grad + rule.l1)
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
            _fetch_row(X, positives[t + AHEAD], work)
            _fetch_row(X, negatives[t + AHEAD], work)
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


# Piecewise linear functions of a column (`vrspam.features.encoders`).


@compiled
def write_curves(values, nodes, steps, bins, per_bin, table, slopes, extend, out):
    """Fill `out` (rows × q) with q functions that are linear between the nodes; those of a missing value are 0.

    `steps` are the distances of the nodes, and `slopes` the differences of the lines of `table`. Bins of equal width,
    `per_bin` of them in a unit, cover the nodes but the last; the last node at or below a value is one of those from
    `bins[b, 0]` to `bins[b, 1]`. Outside the nodes the functions go on as straight lines with `extend`, and else are
    constant.
    """
    last = steps.size - 1
    for i in range(values.size):
        value = values[i]
        if np.isnan(value):
            out[i] = 0.0
            continue
        place = 0
        if value >= nodes[last]:
            place = last
        elif value > nodes[0]:
            b = min(int((value - nodes[0]) * per_bin), bins.shape[0] - 1)
            place, left = int(bins[b, 0]), bins[b, 1] - bins[b, 0] + 1
            while left > 1:
                half = left // 2
                place = place + half if nodes[place + half] <= value else place
                left -= half
        share = float((value - nodes[place]) / steps[place])
        if not extend:
            share = min(max(share, 0.0), 1.0)
        factor = table.dtype.type(share)
        for q in range(out.shape[1]):
            out[i, q] = table[place, q] + factor * slopes[place, q]


# The same for many columns of few rows (`vrspam.features.parts`), whose nodes lie one after the other. Bins of equal
# width cover the nodes of a column: a number in a lower bin is smaller, because rounding does not change the order.

PACKED_BINS = 256


@compiled
def _bin_of(value, first, per_bin):
    return min(int((value - first) * per_bin), PACKED_BINS - 1)


@compiled
def pack_bins(nodes, starts):
    """How many nodes of each column are in lower bins (columns × bins + 1), and how many bins there are in a unit."""
    columns = starts.size - 1
    bins, per_bin = np.zeros((columns, PACKED_BINS + 1), dtype=np.int16), np.zeros(columns)
    for j in range(columns):
        first = nodes[starts[j]]
        width = nodes[starts[j + 1] - 1] - first
        if width > 1e-290 and width < 1e290:
            per_bin[j] = PACKED_BINS / width
        for position in range(starts[j], starts[j + 1]):
            bins[j, _bin_of(nodes[position], first, per_bin[j]) + 1] += 1
        for b in range(PACKED_BINS):
            bins[j, b + 1] += bins[j, b]
    return bins, per_bin


@compiled
def _nodes_below(value, nodes, begin, end, bins, per_bin, or_equal):
    """How many of the nodes from `begin` to `end` are below a value, or equal to it."""
    if not value > nodes[begin]:
        return 1 if or_equal and value == nodes[begin] else 0
    if value > nodes[end - 1]:
        return end - begin
    b = _bin_of(value, nodes[begin], per_bin)
    low, high = int(bins[b]), int(bins[b + 1])
    while low < high:
        middle = (low + high) // 2
        node = nodes[begin + middle]
        if node < value or (or_equal and node == value):
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def write_many_curves(X, nodes, starts, bins, per_bin, table, slopes, lines, places, extend, out):
    """Fill `out` with what `write_curves` gives for each column of X, and with indicators of missing values."""
    for j in range(X.shape[1]):
        begin, end, first, q = starts[j], starts[j + 1], places[j, 0], places[j, 1]
        missing = places[j + 1, 0] > first + q
        for i in range(X.shape[0]):
            value = X[i, j]
            if missing:
                out[i, first + q] = 1.0 if np.isnan(value) else 0.0
            if np.isnan(value):
                for k in range(q):
                    out[i, first + k] = 0.0
                continue
            below = _nodes_below(value, nodes, begin, end, bins[j], per_bin[j], True)
            place = max(min(below, end - begin - 1) - 1, 0)
            step = nodes[begin + place + 1] - nodes[begin + place] if end - begin > 1 else 1.0
            share = (value - nodes[begin + place]) / step
            if not extend[j]:
                share = min(max(share, 0.0), 1.0)
            at, along = lines[j, 0] + place * q, lines[j, 1] + place * q
            for k in range(q):
                out[i, first + k] = table[at + k] + share * slopes[along + k]


@compiled
def places_of_many(X, nodes, starts, bins, per_bin):
    """How many of the nodes of its column are below each value of X; -1 for missing values."""
    out = np.empty(X.shape, dtype=np.int32)
    for j in range(X.shape[1]):
        begin, end = starts[j], starts[j + 1]
        for i in range(X.shape[0]):
            value = X[i, j]
            missing = np.isnan(value)
            out[i, j] = -1 if missing else _nodes_below(value, nodes, begin, end, bins[j], per_bin[j], False)
    return out


@compiled
def add_powers(values, powers, weights, out):
    """Add the sums over j and k of values[i, j] ** powers[k] · weights[k, c, j] to out[i, c]; powers are 1 or more."""
    n, m = values.shape
    square, product = np.empty_like(values[0]), np.empty_like(values[0])
    for i in range(n):
        for k in range(powers.size):
            left, begun = powers[k], False
            for j in range(m):
                square[j] = values[i, j]
            while left > 0:
                if left & 1:
                    for j in range(m):
                        product[j] = product[j] * square[j] if begun else square[j]
                    begun = True
                left >>= 1
                if left > 0:
                    for j in range(m):
                        square[j] = square[j] * square[j]
            for c in range(out.shape[1]):
                total = out[i, c]
                for j in range(m):
                    total += product[j] * weights[k, c, j]
                out[i, c] = total


# Random trees without labels (`vrspam.features.trees`). A tree is complete: node i has the children 2i + 1 and 2i + 2,
# and a node that is not split sends all rows to the left. `codes` are whole numbers, the places of values among the
# quantiles of their column or the numbers of categories; -1 is a missing value or an unknown category.

CATEGORY_PRIME = 65_521  # (code + 1) · multiplier modulo this puts categories into an order of their own at each node
NO_SPLIT = 2**31 - 1


@compiled
def _split_value(code, multiplier):
    """The number that a node compares with its threshold: the code, or the place of a category in the node's order."""
    return code if multiplier == 0 else (np.int64(code) + 1) * multiplier % CATEGORY_PRIME


@compiled
def _value_below(codes, rows, j, multiplier, highest, share):
    """The value in column j of a random one of the rows below the highest value; `share` is the random number."""
    below = 0
    for row in rows:
        below += codes[row, j] >= 0 and _split_value(codes[row, j], multiplier) < highest
    wanted = int(share * below)
    for row in rows:
        if codes[row, j] >= 0 and _split_value(codes[row, j], multiplier) < highest:
            if wanted == 0:
                return _split_value(codes[row, j], multiplier)
            wanted -= 1
    return highest


@compiled
def grow_trees(codes, is_category, rows, order, uniform, factors):
    """Grow trees on drawn rows: a random column that varies in the node, split at the value of one of its rows.

    `rows` (trees × rows) are the drawn rows, `order` (trees × columns) the order in which each tree looks for a column
    that varies, `uniform` (trees × nodes × 3) and `factors` (trees × nodes) the random numbers. Returns the columns,
    thresholds, multipliers and sides of absent values of all nodes.
    """
    n_trees, n_nodes = factors.shape
    n_columns = codes.shape[1]
    columns = np.zeros((n_trees, n_nodes), dtype=np.int32)
    thresholds = np.full((n_trees, n_nodes), NO_SPLIT, dtype=np.int32)
    multipliers = np.zeros((n_trees, n_nodes), dtype=np.int32)
    absent_left = np.ones((n_trees, n_nodes), dtype=np.bool_)
    begin = np.empty(2 * n_nodes + 1, dtype=np.int64)
    end = np.empty(2 * n_nodes + 1, dtype=np.int64)
    for t in range(n_trees):
        inside = rows[t].copy()
        begin[0], end[0] = 0, inside.size
        for node in range(n_nodes):
            first, last = begin[node], end[node]
            middle = last
            start = int(uniform[t, node, 0] * n_columns)
            for step in range(n_columns if last - first > 1 else 0):
                j = order[t, (start + step) % n_columns]
                multiplier = factors[t, node] if is_category[j] else 0
                lowest, highest, absent = NO_SPLIT, -1, 0
                for place in range(first, last):
                    code = codes[inside[place], j]
                    if code < 0:
                        absent += 1
                        continue
                    value = _split_value(code, multiplier)
                    lowest, highest = min(lowest, value), max(highest, value)
                if highest < 0 or (lowest == highest and absent == 0):
                    continue  # all rows are alike in this column
                threshold, left = highest, False  # missing values alone go to the right
                if lowest < highest:
                    threshold = _value_below(codes, inside[first:last], j, multiplier, highest, uniform[t, node, 1])
                    n_left = 0
                    for place in range(first, last):
                        code = codes[inside[place], j]
                        n_left += code >= 0 and _split_value(code, multiplier) <= threshold
                    left = uniform[t, node, 2] < 0.5 if absent > 0 else 2 * n_left >= last - first
                columns[t, node], thresholds[t, node], multipliers[t, node] = j, threshold, multiplier
                absent_left[t, node] = left
                middle = first
                for place in range(first, last):
                    row = inside[place]
                    code = codes[row, j]
                    if left if code < 0 else _split_value(code, multiplier) <= threshold:
                        inside[place], inside[middle] = inside[middle], row
                        middle += 1
                break
            begin[2 * node + 1], end[2 * node + 1] = first, middle
            begin[2 * node + 2], end[2 * node + 2] = middle, last
    return columns, thresholds, multipliers, absent_left


@compiled
def tree_leaves(codes, columns, thresholds, multipliers, absent_left):
    """The leaf of each row in each tree, from 0 on; shape (rows, trees), tree by tree in memory."""
    (n_trees, n_nodes), n = columns.shape, codes.shape[0]
    leaves = np.empty((n_trees, n), dtype=np.int16)
    for t in range(n_trees):
        for i in range(n):
            node = 0
            while node < n_nodes:
                code = codes[i, columns[t, node]]
                value = _split_value(code, multipliers[t, node])
                left = absent_left[t, node] if code < 0 else value <= thresholds[t, node]
                node = 2 * node + (1 if left else 2)
            leaves[t, i] = node - n_nodes
    return leaves.T


@compiled
def leaf_sums(landmark_leaves, coefs, n_leaves):
    """The sum of the coefficients (landmarks × m) of the landmarks in each leaf of each tree: trees × leaves × m."""
    sums = np.zeros((landmark_leaves.shape[1], n_leaves, coefs.shape[1]))
    for z in range(landmark_leaves.shape[0]):
        for t in range(landmark_leaves.shape[1]):
            for m in range(coefs.shape[1]):
                sums[t, landmark_leaves[z, t], m] += coefs[z, m]
    return sums


@compiled
def add_leaf_sums(sums, leaves, out):
    """Add to `out` (rows × m) the sum over all trees of what `leaf_sums` has for the leaf of each row."""
    for t in range(sums.shape[0]):
        of_tree = sums[t]
        for i in range(out.shape[0]):
            for m in range(out.shape[1]):
                out[i, m] += of_tree[leaves[i, t], m]


@compiled
def splits_as_masks(columns, thresholds, multipliers, absent_left, widths):
    """Thresholds and 64-bit masks by which rows reach the same leaves without a branch, and the depths of trees.

    Bit 0 of a mask is set where absent values go right, and bit c + 1 where the category of code c does. Categories
    have no threshold then, and bit 63 is never set. `widths` are the numbers of categories of each column. Below the
    depth of a tree no node is split.
    """
    limits, masks = thresholds.copy(), np.zeros(columns.shape, dtype=np.uint64)
    depths, one = np.zeros(columns.shape[0], dtype=np.int64), np.uint64(1)
    for t in range(columns.shape[0]):
        for node in range(columns.shape[1]):
            if not absent_left[t, node]:
                masks[t, node] |= one
            if multipliers[t, node] != 0:
                limits[t, node] = NO_SPLIT
                for code in range(widths[columns[t, node]]):
                    if _split_value(code, multipliers[t, node]) > thresholds[t, node]:
                        masks[t, node] |= one << np.uint64(code + 1)
            if limits[t, node] != NO_SPLIT or masks[t, node] != 0:
                while (1 << depths[t]) <= node + 1:
                    depths[t] += 1
    return limits, masks, depths


@compiled
def _goes_right(code, limit, mask):
    """1 where a node of this limit and mask sends a code to the right, else 0."""
    bit = np.uint64(min(code + np.int32(1), np.int32(63)))
    return np.uint32(code > limit) | np.uint32((mask >> bit) & np.uint64(1))


@compiled
def _go_down(codes, column, limit, mask, depth, place, bits):
    """Write the place of each row among the nodes at this depth of one tree; `codes` are by columns, of few rows."""
    count, flat, one = codes.shape[1], codes.ravel(), np.uint32(1)
    place[:] = 0
    for level in range(depth):
        first = np.uint32((1 << level) - 1)
        if level >= 4:
            for i in range(count):
                node = place[i] + first  # without a sign: an index that is not negative
                code = flat[np.uint32(column[node]) * np.uint32(count) + np.uint32(i)]
                place[i] = np.uint32(2) * place[i] + _goes_right(code, limit[node], mask[node])
            continue
        bits[:] = 0  # few nodes: each is asked for all rows, in loops that vectorise, and its answers are one bit
        for node in range(1 << level):
            line, most, sides = codes[column[first + node]], limit[first + node], mask[first + node]
            for i in range(count if most != NO_SPLIT or sides != 0 else 0):
                bits[i] |= _goes_right(line[i], most, sides) << np.uint32(node)
        for i in range(count):
            place[i] = np.uint32(2) * place[i] + ((bits[i] >> place[i]) & one)


@compiled
def tree_leaves_by_level(codes, columns, limits, masks, depths):
    """What `tree_leaves` returns; `codes` are by columns, of few rows, which go down a tree together."""
    (n_trees, n_nodes), count = columns.shape, codes.shape[1]
    leaves, deepest = np.empty((n_trees, count), dtype=np.int16), int(np.log2(n_nodes + 1))
    place, bits = np.empty(count, dtype=np.uint32), np.empty(count, dtype=np.uint32)
    for t in range(n_trees):
        _go_down(codes, columns[t], limits[t], masks[t], depths[t], place, bits)
        for i in range(count):  # what is not split sends all rows to the left
            leaves[t, i] = place[i] << np.uint32(deepest - depths[t])
    return leaves.T


@compiled
def shuffle_by_bits(values, left, bits, used):
    """Go on shuffling `values` in place with random 32-bit numbers, exactly as `numpy.random.RandomState.shuffle`.

    `left` is the place to be drawn for, at first the last one, and `used` how many of the numbers are spent. Returns
    both, when nothing is left to be drawn for or all numbers are spent.
    """
    chosen = np.empty(bits.size - used, dtype=np.uint32)
    start, count, mask = left, 0, np.uint32(0xFFFFFFFF)
    while left > 0 and used < bits.size:
        while (mask >> np.uint32(1)) >= left:
            mask = np.uint32(mask >> np.uint32(1))
        other = bits[used] & mask
        # A number that is too large is overwritten by the next: without a branch, which no processor could predict.
        chosen[count] = other
        step = int(other <= left)
        count += step
        left -= step
        used += 1
    for i in range(count):
        other = chosen[i]
        kept = values[start - i]
        values[start - i] = values[other]
        values[other] = kept
    return left, used


@compiled
def count_shared_leaves(leaves, others):
    """In how many trees each row shares its leaf with each of the others, whose leaves have shape (trees, others)."""
    counts = np.zeros((leaves.shape[0], others.shape[1]), dtype=np.int16)
    for i in range(leaves.shape[0]):
        row = counts[i]
        for t in range(leaves.shape[1]):
            leaf = leaves[i, t]
            other = others[t]
            for j in range(other.size):
                row[j] += other[j] == leaf
    return counts


# Trees that learn from labels (`vrspam.features.boosted`), in the same form as random ones. Each node has a
# histogram of each column: sums of gradients and curvatures and numbers of rows, by their `codes` (columns × rows).
# Place 0 of a histogram is that of absent values, place c + 1 that of code c.


@compiled
def _fill_histogram(codes, starts, tried, rows, g, h, sums):
    """Write the histograms of some rows, for the columns that are tried."""
    for k in range(0, tried.size, 2):  # two at a time, so that no sum is read right after it was written
        a, b = tried[k], tried[min(k + 1, tried.size - 1)]
        first, other, line, beside = starts[a] + 1, starts[b] + 1, codes[a], codes[b]
        sums[starts[a] : starts[a + 1]] = 0.0
        sums[starts[b] : starts[b + 1]] = 0.0
        for place in range(rows.size):
            row = np.uint64(rows[place])  # unsigned: no place is counted from the end
            here, there = np.uint64(first + line[row]), np.uint64(other + beside[row])
            sums[here, 0] += g[place]
            sums[here, 1] += h[place]
            sums[here, 2] += 1.0
            if a != b:
                sums[there, 0] += g[place]
                sums[there, 1] += h[place]
                sums[there, 2] += 1.0


@compiled
def _best_split(sums, starts, tried, totals, least, ridge, signs, ends, split):
    """The largest gain; its column, threshold and side of absent values go to `split`. It is 0 if none is allowed.

    Each side keeps `least` rows. Where the node has no absent values, they go with the larger side. With `signs`
    values lie between `ends`, and the value of the side of larger numbers is not smaller (1), or not larger (-1).
    """
    gain, column, threshold, absent_left = 0.0, 0, NO_SPLIT, True
    g, h, n = totals
    bounded, (low, high) = signs.size > 0, ends
    without = -g * min(max(-g / (h + ridge), low), high) if bounded else g * g / (h + ridge)
    bar = without * (1.0 - 1e-12)
    for j in tried:
        first, last = starts[j] + 1, starts[j + 1]
        absent = sums[first - 1]
        for side in range(2 if absent[2] > 0.0 else 1):
            left_g, left_h, left_n = (0.0, 0.0, 0.0) if side == 0 else (absent[0], absent[1], absent[2])
            # with absent values on the right, all others may be on the left
            for place in range(first, last if side == 0 and absent[2] > 0.0 else last - 1):
                left_g += sums[place, 0]
                left_h += sums[place, 1]
                left_n += sums[place, 2]
                if not bounded:  # most splits gain less than the best so far; this test needs no division
                    a, b = left_h + ridge, h - left_h + ridge
                    if left_g * left_g * b + (g - left_g) * (g - left_g) * a < bar * (a * b):
                        continue
                if left_n < least:
                    continue
                if n - left_n < least:
                    break
                right_h = h - left_h
                if left_h < 1e-3 or right_h < 1e-3:
                    continue
                if bounded:
                    left = min(max(-left_g / (left_h + ridge), low), high)
                    right = min(max((left_g - g) / (right_h + ridge), low), high)
                    if (right - left) * signs[j] < 0.0:
                        continue
                    new = -left_g * left - (g - left_g) * right - without
                else:
                    new = left_g**2 / (left_h + ridge) + (g - left_g) ** 2 / (right_h + ridge) - without
                if new > gain:
                    gain, column, threshold, bar = new, j, place - first, (new + without) * (1.0 - 1e-12)
                    absent_left = side == 1 if absent[2] > 0.0 else 2.0 * left_n > n
    split[0], split[1], split[2] = column, threshold, absent_left
    return gain


@compiled
def _fill_gradients(rows, raw, target, weights, rate, inside, g, h, totals):
    """Write the rows of a tree, their gradients and curvatures, and the sums of both and the number of rows."""
    totals[0], totals[1], totals[2] = 0.0, 0.0, rows.size
    for place in range(rows.size):
        row = rows[place]
        inside[place] = row
        if rate > 0.0:
            p = 1.0 / (1.0 + np.exp(-raw[row]))
            g[place], h[place] = weights[row] * (p - target[row]), weights[row] * p * (1.0 - p)
        else:
            g[place], h[place] = weights[row] * (raw[row] - target[row]), weights[row]
        totals[0] += g[place]
        totals[1] += h[place]


@compiled
def _part_rows(line, threshold, absent_left, inside, g, h, spare, spare_g, spare_h):
    """Move the rows of a node that go to the left before the others; return their sums and their number."""
    count, kept = np.uint64(0), np.uint64(0)
    left_g, left_h = 0.0, 0.0
    for place in range(inside.size):
        row, x, y = inside[place], g[place], h[place]
        code = line[row]
        left = (code <= threshold) & (absent_left | (code >= 0))
        left_g += x if left else 0.0
        left_h += y if left else 0.0
        # Each row is written to both sides, and counts on one: without a branch, which no processor could predict.
        inside[count], g[count], h[count] = row, x, y
        spare[kept], spare_g[kept], spare_h[kept] = row, x, y
        count += np.uint64(left)
        kept += np.uint64(not left)
    inside[count:], g[count:], h[count:] = spare[:kept], spare_g[:kept], spare_h[:kept]
    return left_g, left_h, float(count)


@compiled
def _subtract_histogram(starts, tried, other, sums):
    """Take the histograms of one child, for the columns that are tried, from those of its parent."""
    for j in tried:
        for place in range(starts[j], starts[j + 1]):
            for part in range(3):
                sums[place, part] -= other[place, part]


@compiled
def _most_gaining(gains, active, count):
    """The place among the active nodes of the one whose split gains most."""
    best = 0
    for k in range(1, count):
        if gains[active[k]] > gains[active[best]]:
            best = k
    return best


@compiled
def _set_ends(ends, totals, node, sign, ridge):
    """Write the bounds of the values of a node's children: with a sign each stays on its side of the middle of both."""
    left, right = 2 * node + 1, 2 * node + 2
    (low, high), middle = ends[node], 0.0
    for child in (left, right):
        ends[child, 0], ends[child, 1] = low, high
        middle += 0.5 * min(max(-totals[child, 0] / (totals[child, 1] + ridge), low), high)
    if sign != 0:
        below, above = (left, right) if sign > 0 else (right, left)
        ends[below, 1] = ends[above, 0] = middle


@compiled
def _write_leaves(active, totals, begin, end, inside, ridge, rate, raw, values, ends):
    """Write the values of the leaves of a tree and, where it is boosted, add them to the scores of their rows."""
    for leaf in active:
        value = -totals[leaf, 0] / (totals[leaf, 1] + ridge) if totals[leaf, 1] + ridge > 0.0 else 0.0
        value = min(max(value, ends[leaf, 0]), ends[leaf, 1])
        if rate > 0.0:
            value *= rate
            for place in range(begin[leaf], end[leaf]):
                raw[inside[place]] += value
        while leaf < values.size - 1:  # a node that is not split sends all rows to the left
            leaf = 2 * leaf + 1
        values[leaf - values.size + 1] = value


@compiled
def grow_labelled_trees(
    codes, starts, rows, target, weights, tried, leaves, depth, least, ridge, rate, raw, slots, signs
):
    """Grow trees on labels: the leaf that gains most is split next, up to `leaves` leaves and `depth` splits deep.

    With a positive `rate` the trees are boosted by the logistic loss, from the scores `raw` of the rows, which grow
    with them, and leaves hold steps of it; else each is grown on its own, and leaves hold the mean of `target` (0 or 1)
    minus `raw`. `rows` (1 or trees × m) are the rows of each tree, which may occur more than once. `tried` (trees × 1
    or nodes × m) are the columns that a tree, or each node, may split. Histograms of `slots` nodes are held at once: if
    these are more than `leaves`, that of the larger child is its parent's minus the smaller child's. With `signs` (else
    empty) the score rises with a column (1), or falls (-1): below a split of it, values stay on their side of the mean
    of the two children's values.
    Returns the columns, thresholds and sides of absent values of all nodes, and the values of all leaves.
    """
    (n_trees, per_tree), n_nodes, m = tried.shape[:2], 2**depth - 1, rows.shape[1]
    columns = np.zeros((n_trees, n_nodes), dtype=np.int32)
    thresholds = np.full((n_trees, n_nodes), NO_SPLIT, dtype=np.int32)
    sides = np.ones((n_trees, n_nodes), dtype=np.bool_)
    values = np.zeros((n_trees, n_nodes + 1))
    subtracts = slots >= leaves + 1 and per_tree == 1
    sums = np.zeros((slots, starts[-1], 3))
    gains, totals = np.empty(2 * n_nodes + 1), np.empty((2 * n_nodes + 1, 3))
    split = np.empty((2 * n_nodes + 1, 3), dtype=np.int64)
    begin, end, slot = np.zeros((3, 2 * n_nodes + 1), dtype=np.int64)
    ends = np.empty((2 * n_nodes + 1, 2))
    ends[:, 0], ends[:, 1] = -1e300, 1e300
    inside, spare = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    g, h, spare_g, spare_h = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    active = np.empty(leaves + 1, dtype=np.int64)
    for t in range(n_trees):
        _fill_gradients(rows[t % rows.shape[0]], raw, target, weights, rate, inside, g, h, totals[0])
        begin[0], end[0], free = 0, m, 1
        _fill_histogram(codes, starts, tried[t, 0], inside, g, h, sums[0])
        gains[0] = _best_split(sums[0], starts, tried[t, 0], totals[0], least, ridge, signs, ends[0], split[0])
        active[0], count = 0, 1
        while count < leaves:
            best = _most_gaining(gains, active, count)
            node = active[best]
            if gains[node] <= 0.0:
                break
            (j, threshold, to_left), first, last = split[node], begin[node], end[node]
            columns[t, node], thresholds[t, node], sides[t, node] = j, threshold, to_left == 1
            own, left, right = slice(first, last), 2 * node + 1, 2 * node + 2
            totals[left, 0], totals[left, 1], totals[left, 2] = _part_rows(
                codes[j], threshold, to_left == 1, inside[own], g[own], h[own], spare, spare_g, spare_h
            )
            totals[right] = totals[node] - totals[left]
            if signs.size > 0:
                _set_ends(ends, totals, node, signs[j], ridge)
            middle = first + int(totals[left, 2])
            begin[left], end[left], begin[right], end[right] = first, middle, middle, last
            active[best], active[count] = left, right
            count += 1
            gains[left] = gains[right] = 0.0
            if right >= n_nodes or count == leaves:  # as deep, or as many, as may be
                continue
            smaller, larger = (left, right) if 2 * (middle - first) <= last - first else (right, left)
            if subtracts:
                slot[smaller], slot[larger] = free, slot[node]
                free += 1
            for child in (smaller, larger):
                here, some, own = sums[slot[child]], tried[t, child % per_tree], slice(begin[child], end[child])
                too_few = end[child] - begin[child] < 2 * least
                if subtracts and child == larger:
                    _subtract_histogram(starts, some, sums[slot[smaller]], here)
                elif subtracts or not too_few:
                    _fill_histogram(codes, starts, some, inside[own], g[own], h[own], here)
                if not too_few:
                    gains[child] = _best_split(
                        here, starts, some, totals[child], least, ridge, signs, ends[child], split[child]
                    )
        _write_leaves(active[:count], totals, begin, end, inside, ridge, rate, raw, values[t], ends)
    return columns, thresholds, sides, values


@compiled
def pair_wins(lines, orders, weight, upper, group, stratum, above, below):
    """For each row the mass of the rows that it is rightly above, and rightly `below` if not empty, by lines of scores.

    Rows are those of `vrspam.comparable.Comparable`, from the lowest to the highest of each stratum; a tie counts one
    half. A row has the mass `weight` as the lower row of pairs, and `upper` as the upper row; without the latter it is
    above none.

    Trees of sums over ranks of scores are filled from both ends: n log n steps. Of one stratum, `orders` may have the
    rows of each line by score; otherwise it has no rows.
    """
    n = group.size
    tree, tied, ranks = np.zeros(n + 1), np.zeros(n + 1), np.empty(n, np.intp)
    for line in range(lines.shape[0]):
        start = 0
        while start < n:
            stop = start
            while stop < n and stratum[group[stop]] == stratum[group[start]]:
                stop += 1
            order = orders[line] if orders.shape[0] > 0 else np.argsort(lines[line, start:stop])
            last = 0
            for place in range(stop - start):
                i = start + order[place]
                if place == 0 or lines[line, i] != lines[line, start + order[place - 1]]:
                    last += 1
                ranks[i] = last
            for upwards in (True, False):
                if not upwards and below.size == 0:
                    continue
                tree[: last + 1] = 0.0
                tied[: last + 1] = 0.0
                total = 0.0
                i = start if upwards else stop - 1
                step = 1 if upwards else -1
                while start <= i < stop:
                    j = i
                    while start <= j < stop and group[j] == group[i]:
                        won, place = 0.5 * tied[ranks[j]], ranks[j] - 1
                        while place > 0:
                            won += tree[place]
                            place -= place & -place
                        if upwards:
                            above[line, j] = won if upper[j] > 0.0 else 0.0
                        else:
                            below[line, j] = total - won
                        j += step
                    while i != j:
                        mass = weight[i] if upwards else upper[i]
                        total += mass
                        place = ranks[i]
                        tied[place] += mass
                        while place <= last:
                            tree[place] += mass
                            place += place & -place
                        i += step
            start = stop


@compiled
def stratum_centre(X, places, offset, first, last, centre):
    """Write the first row, or of more than 64 rows the mean of about 64, to `centre`."""
    step = 1 if last - first <= 64 else -(-(last - first) // 64)
    count = 1 if step == 1 else -(-(last - first) // step)
    centre[:] = 0.0
    for k in range(count):
        row = X[places[first + k * step] - offset]
        for j in range(X.shape[1]):  # `centre` may have room for more
            centre[j] += row[j] / count


@compiled
def _row_of_its_own(X, i, factors, centre, lower, pilot, level, sums, middle, out, count):
    """What `pair_rows` does with a group of one row; short loops vectorise."""
    c, share, half, each, root = factors
    for j in range(X.shape[1]):
        x = X[i, j] - centre[j]
        v = x - share * lower[j] - pilot[j]
        lower[j] += c * x
        middle[j] += half * c * X[i, j]
        sums[j] += each * v
        out[count, j] = root * v
    for j in range(X.shape[1]):
        level[j] = max(level[j], abs(X[i, j] - centre[j]))


@compiled
def pair_rows(X, places, offset, first, last, group, weight, bounds, groups, pilot, state, level, sums, middle, out):
    """Write rows whose products add up to those of all pairs to `out`, see `vrspam.moments.pairs`; return their number.

    `groups` has for each group its stratum, the row after its last, e N + b, e w N, b w N/(N + w) and N; `bounds` are
    the first rows of the strata. `state` is carried from chunk to chunk: the centre of the stratum, the sum of the rows
    below, and that of the rows of a group so far, followed by its weight.
    """
    d = X.shape[1]
    centre, lower, part = state[0], state[1], state[2]
    run = np.empty(d)
    count = 0
    i = first
    while i < last:
        g = group[i]
        stratum, end = int(groups[0, g]), int(groups[1, g])
        if i == bounds[stratum]:
            stratum_centre(X, places, offset, i, min(bounds[stratum + 1], last), centre)
            lower[:] = 0.0
        if i == 0 or group[i - 1] != g:
            part[:] = 0.0
        stop = min(end, last)
        each, below, half = groups[3, g], max(groups[5, g], TINY), 0.5 * groups[2, g]
        root = np.sqrt(each + groups[4, g])
        if stop == i + 1 and stop == end and part[d] == 0.0:  # a row of its own
            if i + 6 < last:  # rows lie anywhere: ask for one of the next
                _fetch_dense_row(X, places[i + 6] - offset)
            factors = weight[i], 1.0 / below, half, each, root
            _row_of_its_own(X, places[i] - offset, factors, centre, lower, pilot, level, sums, middle, out, count)
            count += root > 0.0
            i = stop
            continue
        mass = 0.0
        run[:] = 0.0
        for r in range(i, stop):
            row, c = X[places[r] - offset], weight[r]
            mass += c
            for j in range(d):
                x = row[j] - centre[j]
                level[j] = max(level[j], abs(x))
                run[j] += c * x
        if stop - i > 1:
            for r in range(i, stop):
                row, own = X[places[r] - offset], np.sqrt(groups[2, g] * weight[r])
                for j in range(d):
                    out[count, j] = own * ((row[j] - centre[j]) - run[j] / mass)
                count += 1
        before = part[d]
        if before > 0.0:
            own = np.sqrt(groups[2, g] * before * mass / (before + mass))
            for j in range(d):
                out[count, j] = own * (run[j] / mass - part[j] / before)
            count += 1
        for j in range(d):
            middle[j] += half * (run[j] + mass * centre[j])
            part[j] += run[j]
        part[d] = before + mass
        if stop == end:
            if root > 0.0:
                for j in range(d):
                    v = part[j] / part[d] - lower[j] / below - pilot[j]
                    sums[j] += each * v
                    out[count, j] = root * v
                count += 1
            for j in range(d):
                lower[j] += part[j]
        i = stop
    return count
