"""The squared hinge on the part of the ROC curve that matters: all positives against the highest-scored negatives.

With c_j the weights of the negatives, which add up to 1, α = `max_fpr` and g_j = Σ_i a_i max(0, 1 - s_i + s_j)²,

    f(w) = pq · max over t of Σ_j c_j t_j g_j / α,     0 ≤ t_j ≤ 1,  Σ_j c_j t_j = α.

g_j rises with the score s_j, so the maximum takes the highest-scored negatives of total weight α, the last of them in
part. A maximum of convex functions is convex. It has kinks where negatives tie at the edge, and its minimum lies on
one: there the gradient is small only with the right t among the tied rows. An augmented Lagrangian finds them
(`vrspam.solvers.partial`): `SmoothedPartialLoss` takes off μ/(2α) Σ_j c_j (t_j - before_j)², so that the maximum is
unique and the loss smooth, and `before` moves on to the t that was found.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from vrspam.objective.sorted_pairs import MARGIN, PairRows, SortedPairs
from vrspam.objective.squared_hinge import BLOCK_ENTRIES, EPS, Point, SquaredHingeLoss

ROOT_STEPS = 100
TIED_ENTRIES = 1 << 22  # of the tied rows whose change of t enters the Hessian as a matrix


class PartialHingeLoss:
    """The squared hinge over the pairs of all positives with the highest-scored negatives of total weight `max_fpr`.

    Parameters
    ----------
    whole : SquaredHingeLoss
        The loss over all pairs.
    max_fpr : float
        In (0, 1]: the share of the negatives, by weight, that counts.

    Examples
    --------
    >>> from vrspam import ClassMoments
    >>> X, y = np.array([[0.0], [1.0], [2.0], [5.0]]), np.array([0, 0, 1, 1])
    >>> whole = SquaredHingeLoss(X, y == 1, None, ClassMoments.from_data(X, y))
    >>> round(PartialHingeLoss(whole, 0.5).value_and_grad(np.array([0.3]))[0], 6)  # 1/4 · mean of .7², 0
    0.06125
    """

    is_quadratic = False
    matrix = None
    rows = None

    def __init__(self, whole: SquaredHingeLoss, max_fpr: float):
        self.whole, self.max_fpr = whole, float(max_fpr)
        self.scale, self.n_features = whole.scale, whole.n_features

    def curvature(self) -> np.ndarray:
        """That of the whole loss over α: a negative counts up to 1/α times as much."""
        return self.whole.curvature() / self.max_fpr

    def top_shares(self, scores: np.ndarray) -> np.ndarray:
        """The maximising t, in the order of the negative rows; rows that tie at the edge share alike."""
        rows = self.whole.pair_rows
        own = scores[rows.negative]
        order = np.argsort(own)
        ranked = own[order]
        above = np.append(np.cumsum(rows.b[order][::-1])[::-1], 0.0)  # the weight from each one on
        first, last = (above[np.searchsorted(ranked, own, side=side)] for side in ("left", "right"))
        return np.clip((self.max_fpr - last) / (first - last), 0.0, 1.0)

    def at_shares(self, scores: np.ndarray, shares: np.ndarray) -> Point:
        """The sum over pairs with these t: a function of w that is nowhere above f, and equals it at the maximiser."""
        return _point(self.whole, SortedPairs(scores, _weighted(self.whole.pair_rows, shares, self.max_fpr)))

    def value_and_grad(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """f(w) and a subgradient."""
        scores = self.whole.scores(w)
        point = self.at_shares(scores, self.top_shares(scores))
        return point.value, self.whole.gradient_of(point.slope)

    def hessian_product(self, w: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The function v -> the Hessian of the sum over pairs at the maximising t, times v: f is not smooth."""
        scores = self.whole.scores(w)
        pairs = self.at_shares(scores, self.top_shares(scores)).pairs
        return lambda v: self.whole.hessian_back(pairs, self.whole.quick_scores(v))

    def smoothed(self, before: np.ndarray, mu: float) -> SmoothedPartialLoss:
        """The loss with the maximum held near `before`."""
        return SmoothedPartialLoss(self.whole, self.max_fpr, before, mu)


class SmoothedPartialLoss(SquaredHingeLoss):
    """`PartialHingeLoss` with the maximum over t held near `before` by μ/(2α) Σ c_j (t_j - before_j)²: smooth, convex.

    Everything that does not depend on t is that of the whole loss.
    """

    def __init__(self, whole: SquaredHingeLoss, max_fpr: float, before: np.ndarray, mu: float):
        self.__dict__.update(whole.__dict__)
        self._curvature = whole.curvature() / max_fpr
        self.max_fpr, self.before, self.mu = max_fpr, before, mu

    def shares(self, scores: np.ndarray) -> np.ndarray:
        """The maximising t: before + (g - θ)/μ, cut off at 0 and 1, with θ such that their weight is α."""
        aim = self.before + self._costs(scores) / self.mu
        aim -= _threshold(aim, self.pair_rows.b, self.max_fpr)
        over, weight = _excess(aim, self.pair_rows.b, self.max_fpr)
        # θ/μ may be large, and its rounding moves all t at once: one more step, now that nothing large is left.
        return np.clip(aim - over / weight if weight > 0.0 else aim, 0.0, 1.0)

    def _costs(self, scores: np.ndarray) -> np.ndarray:
        """g of each negative; its rounding moves t, which any certificate may use, and nothing else."""
        rows = self.pair_rows
        order = np.argsort(scores[rows.positive])
        upper, a = scores[rows.positive][order] - MARGIN, rows.a[order]
        lower = scores[rows.negative]
        below = np.searchsorted(upper, lower, side="left")
        mass, first, second = (np.append(0.0, np.cumsum(a * upper**power))[below] for power in range(3))
        return np.maximum(lower * (lower * mass - 2.0 * first) + second, 0.0)

    def at(self, scores: np.ndarray) -> Point:
        """The smoothed loss at given scores."""
        t = self.shares(scores)
        point = _point(self, EdgePairs(scores, self.pair_rows, t, self.mu, self.max_fpr))
        held = self.mu / (2.0 * self.max_fpr) * float(self.pair_rows.b @ (t - self.before) ** 2)
        return point._replace(value=point.value - self.scale * held)

    def value_and_grad(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The smoothed loss and its gradient."""
        point = self.at(self.scores(w))
        return point.value, self.gradient_of(point.slope)

    def hessian_product(self, w: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The function v -> ∇²f(w) v, in the precision of X."""
        pairs = self.at(self.scores(w)).pairs
        return lambda v: self.hessian_back(pairs, self.quick_scores(v))

    def hessian_matrix(self, pairs: SortedPairs, columns: np.ndarray | None = None) -> np.ndarray:
        """∇²f as a matrix, of the rows in `pairs`: what the pairs add, and what the change of t adds."""
        out = super().hessian_matrix(pairs, columns)
        edge = pairs.edge if isinstance(pairs, PartOfEdgePairs) else pairs
        assert isinstance(edge, EdgePairs)
        if edge.tied.size > 1:
            changes, weights = self._changes(edge, columns)
            changes -= weights @ changes / weights.sum()
            changes *= np.sqrt(self.scale * edge.stiffness * weights)[:, np.newaxis]
            out += changes.T @ changes
        return out

    def _changes(self, edge: EdgePairs, columns: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """∇g_j = 2 Σ_i a_i max(0, lower_j - upper_i) (x_j - x_i) of the tied rows, or of some, and their weights."""
        centre = self.centre if columns is None else self.centre[columns]
        some = np.arange(edge.tied.size)
        most = max(1_000, TIED_ENTRIES // max(centre.size, 1))
        if some.size > most:
            some = np.arange(most) * some.size // most
        weights = edge.tied_weights[some] * (edge.tied_weights.sum() / edge.tied_weights[some].sum())
        below, level = edge.below[some], edge.lower[edge.tied[some]]
        out = edge.first[some][:, np.newaxis] * (self.products.take(edge.down[edge.tied[some]], columns) - centre)
        mass, first = np.zeros(centre.size), np.zeros(centre.size)  # Σ a x and Σ a upper x of the positives so far
        step = max(1, BLOCK_ENTRIES // max(centre.size, 1))
        for start in range(0, int(below.max(initial=0)), step):
            stop = min(start + step, edge.up.size)
            block = self.products.take(edge.up[start:stop], columns) - centre
            block *= edge.a[start:stop, np.newaxis]
            sums = np.vstack([mass, mass + np.cumsum(block, axis=0)])
            block *= edge.upper[start:stop, np.newaxis]
            moments = np.vstack([first, first + np.cumsum(block, axis=0)])
            here = np.flatnonzero((below > start) & (below <= stop))
            place = below[here] - start
            out[here] -= level[here, np.newaxis] * sums[place] - moments[place]
            mass, first = sums[-1], moments[-1]
        return 2.0 * out, weights


class EdgePairs(SortedPairs):
    """Sorted pairs at the maximising t, whose change with the scores adds to the Hessian.

    With K_j u = 2 Σ_i a_i max(0, 1 - s_i + s_j) (u_j - u_i), the change of g_j along u, the tied rows, 0 < t_j < 1, add
    Σ c_j (K_j u - m)(K_j v - m) / (α μ), where m is their weighted mean.

    Attributes
    ----------
    tied : ndarray of int
        Places of the tied rows in the order of the scores; `tied_weights` are their c_j.
    below : ndarray of int
        How many positives are in a pair that counts with each of them; `first` is Σ a_i max(0, 1 - s_i + s_j).
    stiffness : float
        1 / (α μ).
    """

    def __init__(self, scores: np.ndarray, rows: PairRows, shares: np.ndarray, mu: float, max_fpr: float):
        super().__init__(scores, rows)
        by_row = np.zeros(rows.n_rows)
        by_row[rows.negative] = shares
        t, c = by_row[self.down], self.b
        self.tied = np.flatnonzero((t > 0.0) & (t < 1.0))
        self.tied_weights, self.stiffness = c[self.tied], 1.0 / (max_fpr * mu)
        self.b = c * t / max_fpr
        self.below = np.searchsorted(self.upper, self.lower[self.tied], side="left")
        self.first = self._sums_below(self.a)

    def _sums_below(self, a: np.ndarray) -> np.ndarray:
        """Σ a_i (lower_j - upper_i) over the positives below each tied row."""
        mass, first = (np.append(0.0, np.cumsum(part))[self.below] for part in (a, a * self.upper))
        return self.lower[self.tied] * mass - first

    def product(self, u: np.ndarray) -> np.ndarray:
        """The Hessian times u, one number for each row."""
        out = super().product(u)
        if self.tied.size > 1:
            change = 2.0 * (self.first * u[self.down[self.tied]] - self._sums_below(self.a * u[self.up]))
            change -= self.tied_weights @ change / self.tied_weights.sum()
            change *= 2.0 * self.stiffness * self.tied_weights
            out[self.down[self.tied]] += self.first * change
            # positive i gets -a_i times the sum of change_j (lower_j - upper_i) over the tied rows above it
            size = self.upper.size + 1
            sums = (np.bincount(self.below, part, size) for part in (change, change * self.lower[self.tied]))
            mass, moment = (np.cumsum(part[::-1])[::-1][1:] for part in sums)
            out[self.up] -= self.a * (moment - self.upper * mass)
        return out

    def active_part(self, most: int) -> PartOfEdgePairs:
        """The rows in pairs that count, thinned to about `most` of them; it remembers the tied rows."""
        part = PartOfEdgePairs.__new__(PartOfEdgePairs)
        part.__dict__.update(super().active_part(most).__dict__)
        part.edge = self
        return part


class PartOfEdgePairs(SortedPairs):
    """Some rows of `EdgePairs`, and the whole."""

    edge: EdgePairs


def _weighted(rows: PairRows, shares: np.ndarray, max_fpr: float) -> PairRows:
    return rows._replace(b=rows.b * shares / max_fpr)


def _point(loss: SquaredHingeLoss, pairs: SortedPairs) -> Point:
    value, slope = pairs.value_and_slope()
    slope *= loss.scale
    return Point(loss.scale * value, pairs, slope)


def _excess(aim: np.ndarray, weights: np.ndarray, total: float) -> tuple[float, float]:
    """Σ weights · clip(aim, 0, 1) - total, and the weight of the rows that change it."""
    cut = np.clip(aim, 0.0, 1.0)
    return float(weights @ cut) - total, float(weights[cut == aim].sum())


def _threshold(aim: np.ndarray, weights: np.ndarray, total: float) -> float:
    """The θ with Σ weights · clip(aim - θ, 0, 1) = total, by Newton steps between two bounds."""
    low, high = float(aim.min()) - 1.0, float(aim.max())
    theta = 0.5 * (low + high)
    for _ in range(ROOT_STEPS):
        over, slope = _excess(aim - theta, weights, total)
        if abs(over) <= EPS * total:
            break
        low, high = (theta, high) if over > 0.0 else (low, theta)
        step: Any = theta + over / slope if slope > 0.0 else np.inf
        new = step if low < step < high else 0.5 * (low + high)
        if new == theta:
            break
        theta = float(new)
    return theta
