"""The squared hinge on the part of the ROC curve that matters: all positives against the highest-scored negatives.

With c_j the weights of the negatives, which add up to 1, α = `max_fpr` and g_j = Σ_i a_i max(0, 1 - s_i + s_j)²,

    f(w) = pq · max over t of Σ_j c_j t_j g_j / α,     0 ≤ t_j ≤ 1,  Σ_j c_j t_j = α.

g_j rises with the score s_j, so the maximum takes the highest-scored negatives of total weight α, the last of them in
part. A maximum of convex functions is convex. It has kinks where negatives tie at the edge, and its minimum lies on a
kink: there the gradient is small only with the right t of the tied rows. An augmented Lagrangian finds this t
(`vrspam.solvers.proximal_newton`): `SmoothedPartialLoss` subtracts μ/(2α) Σ_j c_j (t_j - before_j)², so that the
maximum is unique and the loss smooth, and `before` moves on to the t that was found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from vrspam.objective.hinge import Point, SortedHinge, SquaredHingeLoss
from vrspam.objective.rounding import UNIT
from vrspam.objective.sorted_pairs import PairRows, SortedPairs

TIED_ENTRIES = 1 << 22  # of the tied rows whose change of t enters the Hessian as a matrix
BLOCK_ENTRIES = 1 << 18  # of the rows held at once while their changes are added up
ROOT_STEPS = 100  # at most, in search of a threshold


class PartialHingeLoss:
    """The squared hinge over the pairs of all positives with the highest-scored negatives of total weight `max_fpr`.

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
        self.whole = whole
        self.max_fpr = float(max_fpr)
        self.scale = whole.scale
        self.n_features = whole.n_features

    def curvature(self) -> np.ndarray:
        """That of the whole loss divided by α: a negative counts up to 1/α times as much."""
        return self.whole.curvature() / self.max_fpr

    def top_shares(self, scores: np.ndarray) -> np.ndarray:
        """The maximising t, in the order of the negative rows; rows that tie at the edge get equal shares."""
        rows = self.whole.pair_rows
        negatives = scores[rows.negative]
        order = np.argsort(negatives)
        ranked = negatives[order]
        weight_from = np.append(np.cumsum(rows.b[order][::-1])[::-1], 0.0)  # of each row and those above
        above_or_tied = weight_from[np.searchsorted(ranked, negatives, side="left")]
        above = weight_from[np.searchsorted(ranked, negatives, side="right")]
        tied = np.maximum(above_or_tied - above, np.finfo(float).tiny)  # 0 where rounding loses it in the sums
        return np.clip((self.max_fpr - above) / tied, 0.0, 1.0)

    def at_shares(self, scores: np.ndarray, shares: np.ndarray) -> Point:
        """The sum over pairs with these t: a function of w that is nowhere above f, and equals it at the maximiser."""
        rows = self.whole.pair_rows
        counted = rows._replace(b=rows.b * shares / self.max_fpr)
        return self.whole.at_pairs(SortedPairs.at(scores, counted))

    def value_and_grad(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """f(w) and a subgradient."""
        scores = self.whole.scores(w)
        point = self.at_shares(scores, self.top_shares(scores))
        return point.value, self.whole.gradient_of(point.slope)

    def hessian_product(self, w: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The function v -> the Hessian of the sum over pairs at the maximising t, times v: f is not smooth."""
        scores = self.whole.scores(w)
        return self.whole.hessian_at(self.at_shares(scores, self.top_shares(scores)).pairs)


class SmoothedPartialLoss(SortedHinge):
    """`PartialHingeLoss` with the maximum over t held near `before` by μ/(2α) Σ c_j (t_j - before_j)²: smooth."""

    def __init__(self, partial: PartialHingeLoss, before: np.ndarray, mu: float):
        on_all_negatives = partial.whole
        super().__init__(
            products=on_all_negatives.products,
            centre=on_all_negatives.centre,
            pair_rows=on_all_negatives.pair_rows,
            scale=on_all_negatives.scale,
            curvature=partial.curvature(),
            root_mean_squares=on_all_negatives.root_mean_squares,
        )
        self.max_fpr = partial.max_fpr
        self.before = before
        self.mu = mu

    def shares(self, scores: np.ndarray) -> np.ndarray:
        """The maximising t: before + (g - θ)/μ, cut off at 0 and 1, with θ such that Σ c_j t_j = α."""
        rows = self.pair_rows
        order = np.argsort(scores[rows.positive])
        upper = scores[rows.positive][order] - 1.0
        a = rows.a[order]
        lower = scores[rows.negative]
        below = np.searchsorted(upper, lower, side="left")
        mass, first, second = (np.append(0.0, np.cumsum(a * upper**power))[below] for power in range(3))
        # The rounding of g changes only t, and the certificate holds for any t.
        costs = np.maximum(lower * (lower * mass - 2.0 * first) + second, 0.0)
        aim = self.before + costs / self.mu
        aim -= _threshold(aim, self.pair_rows.b, self.max_fpr)
        over, weight = _excess(aim, self.pair_rows.b, self.max_fpr)
        # θ/μ may be large, and its rounding moves all t at once: this takes one more step, with small numbers.
        return np.clip(aim - over / weight if weight > 0.0 else aim, 0.0, 1.0)

    def at(self, scores: np.ndarray) -> Point:
        """The smoothed loss at given scores."""
        t = self.shares(scores)
        point = self.at_pairs(EdgePairs.at_shares(scores, self.pair_rows, t, self.mu, self.max_fpr))
        held = self.mu / (2.0 * self.max_fpr) * float(self.pair_rows.b @ (t - self.before) ** 2)
        return point._replace(value=point.value - self.scale * held)

    def hessian_matrix(self, pairs: SortedPairs, columns: np.ndarray | None = None) -> np.ndarray:
        """∇²f as a matrix, of the rows in `pairs`: what the pairs add, and what the change of t adds."""
        out = super().hessian_matrix(pairs, columns)
        edge = pairs if pairs.edge is None else pairs.edge
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
        chosen = np.arange(edge.tied.size)
        most = max(1_000, TIED_ENTRIES // max(centre.size, 1))
        if chosen.size > most:
            chosen = np.arange(most) * chosen.size // most
        weights = edge.tied_weights[chosen] * (edge.tied_weights.sum() / edge.tied_weights[chosen].sum())
        below = edge.below[chosen]
        level = edge.lower[edge.tied[chosen]]
        tied_rows = self.products.take(edge.down[edge.tied[chosen]], columns) - centre
        out = edge.first[chosen][:, np.newaxis] * tied_rows

        mass = np.zeros(centre.size)  # Σ a x of the positives so far
        first = np.zeros(centre.size)  # and their Σ a upper x
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
            mass = sums[-1]
            first = moments[-1]
        return 2.0 * out, weights


@dataclass(frozen=True, eq=False, kw_only=True)
class EdgePairs(SortedPairs):
    """Sorted pairs at the maximising t, whose change with the scores adds to the Hessian.

    With K_j u = 2 Σ_i a_i max(0, 1 - s_i + s_j) (u_j - u_i), the change of g_j along u, the tied rows (0 < t_j < 1) add
    Σ c_j (K_j u - m)(K_j v - m) / (α μ), where m is their weighted mean. In the order of the scores they are at the
    places `tied`, with the c_j `tied_weights`, and `stiffness` is 1 / (α μ).
    """

    tied: np.ndarray
    tied_weights: np.ndarray
    stiffness: float

    @staticmethod
    def at_shares(scores: np.ndarray, rows: PairRows, shares: np.ndarray, mu: float, max_fpr: float) -> EdgePairs:
        """The pairs of these rows, by their scores, where `shares` are the t of the negatives."""
        pairs = SortedPairs.at(scores, rows)
        by_row = np.zeros(rows.n_rows)
        by_row[rows.negative] = shares
        t = by_row[pairs.down]
        tied = np.flatnonzero((t > 0.0) & (t < 1.0))
        return EdgePairs(
            up=pairs.up,
            upper=pairs.upper,
            a=pairs.a,
            down=pairs.down,
            lower=pairs.lower,
            b=pairs.b * t / max_fpr,
            edges=pairs.edges,
            n_rows=pairs.n_rows,
            unit=pairs.unit,
            tied=tied,
            tied_weights=pairs.b[tied],
            stiffness=1.0 / (max_fpr * mu),
        )

    @cached_property
    def below(self) -> np.ndarray:
        """How many positives are in a pair that counts with each tied row."""
        return np.searchsorted(self.upper, self.lower[self.tied], side="left")

    @cached_property
    def first(self) -> np.ndarray:
        """Σ a_i max(0, 1 - s_i + s_j) of each tied row."""
        return self._sums_below(self.a)

    def _sums_below(self, a: np.ndarray) -> np.ndarray:
        """Σ a_i (lower_j - upper_i) over the positives below each tied row."""
        mass = np.append(0.0, np.cumsum(a))[self.below]
        first = np.append(0.0, np.cumsum(a * self.upper))[self.below]
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
            mass = self._sums_of_tied(change)
            moment = self._sums_of_tied(change * self.lower[self.tied])
            out[self.up] -= self.a * (moment - self.upper * mass)
        return out

    def _sums_of_tied(self, values: np.ndarray) -> np.ndarray:
        """For each positive the sum of such values over the tied rows above it."""
        by_place = np.bincount(self.below, values, self.upper.size + 1)
        return np.cumsum(by_place[::-1])[::-1][1:]

    def active_part(self, most: int) -> SortedPairs:
        """The rows in pairs that count, thinned to about `most` of them; `edge` keeps the tied rows."""
        return replace(super().active_part(most), edge=self)


def _excess(aim: np.ndarray, weights: np.ndarray, total: float) -> tuple[float, float]:
    """Σ weights · clip(aim, 0, 1) - total, and the weight of the rows that are not clipped."""
    cut = np.clip(aim, 0.0, 1.0)
    return float(weights @ cut) - total, float(weights[cut == aim].sum())


def _threshold(aim: np.ndarray, weights: np.ndarray, total: float) -> float:
    """The θ with Σ weights · clip(aim - θ, 0, 1) = total, by Newton steps between two bounds."""
    low = float(aim.min()) - 1.0
    high = float(aim.max())
    theta = 0.5 * (low + high)
    for _ in range(ROOT_STEPS):
        over, slope = _excess(aim - theta, weights, total)
        if abs(over) <= UNIT * total:
            break
        if over > 0.0:
            low = theta
        else:
            high = theta
        step = theta + over / slope if slope > 0.0 else np.inf
        moved = step if low < step < high else 0.5 * (low + high)
        if moved == theta:
            break
        theta = float(moved)
    return theta
