"""The stochastic gradients of f: how rows are drawn and weighted, and the variance of the update direction.

| name | for a positive row x | for a negative row x | plus |
|---|---|---|---|
| paper | 2q (w·(x-μ₋) - 1) x | 2p (w·(x-μ₊) + 1) x | |
| centred | 2q (w·(x-μ₊)) (x-μ₊) | 2p (w·(x-μ₋)) (x-μ₋) | k (w·δ - 1) δ, exact |
| pair | k (w·(x-x') - 1)(x-x') with x positive, x' negative | | |

Each gradient is affine in w with mean ∇f(w), so the direction of proximal SVRG, v = g_i(w) - g_i(w̃) + ∇f(w̃), depends
on w only through u = w - w̃: v = A_i u + ∇f(w̃). A draw i of probability π_i has the weight c_i / (Σc · π_i), where c are
the sample weights.
The variance of SPAM's direction, for comparison, is `vrspam.theory.gradient_variance`.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy import sparse

from vrspam import kernels
from vrspam.moments import ClassMoments
from vrspam.objective.products import RowProducts
from vrspam.solvers.online import kernel_rows


class TrainingRows:
    """Rows, classes and weights for the kernels; `rows @ w` is Σw, which `vrspam.objective.SquaredPairLoss` needs.

    X is used as it is, C-ordered or CSR, float32 or float64, also when it is a file mapped into memory. `moments` are
    those of the same rows and weights, without scatter matrices. `side` is 1 for positive rows and 0 for negative ones;
    `mass` and `share` are the weight of each row over that of all rows, and of its class; `n` rows have a positive
    weight.
    """

    def __init__(self, X, is_positive: np.ndarray, sample_weight: np.ndarray | None, moments: ClassMoments):
        weight = np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        self.X = X
        self.is_sparse = sparse.issparse(X)
        self.kernel = kernel_rows(X)
        self.side = np.asarray(is_positive).astype(np.int64)
        self.mass = weight / weight.sum()
        self.share = weight / np.bincount(self.side, weights=weight, minlength=2)[self.side]
        self.n = int(np.count_nonzero(weight))
        classes = moments.pair_statistics()
        self.p = classes.p
        self.q = classes.q
        self.means = classes.means
        self.delta = classes.delta
        self.k = 2.0 * self.p * self.q
        self.moments = moments

    def __matmul__(self, w: np.ndarray, /) -> np.ndarray:
        return self.product_and_square(w)[0]

    def product_and_square(self, w: np.ndarray) -> tuple[np.ndarray, float]:
        """Σw, and wᵀΣw as the sum of the squares of the scores."""
        out = np.zeros(w.size)
        left = np.zeros(3)
        kernels.within_product(self.kernel, self.side, self.share, self.means @ w, w, out, left)
        return out - left[:2] @ self.means, float(left[2])  # the sums are 0, except for rounding if the means are large

    def hessian_product(self, u: np.ndarray) -> np.ndarray:
        """Return k (Σ + δδᵀ) u, the change of ∇f along u."""
        return self.k * (self @ u + float(self.delta @ u) * self.delta)

    @cached_property
    def distances(self) -> np.ndarray:
        """‖x‖², ‖x - μ₋‖² and ‖x - μ₊‖² of each row, computed in one pass."""
        out = np.empty((self.side.size, 3))
        kernels.all_row_distances(self.kernel, self.means, self.is_sparse * (self.means**2).sum(axis=1), out)
        return out

    @property
    def own_distances(self) -> np.ndarray:
        """‖x - μ‖² to the mean of the row's own class."""
        return np.where(self.side == 1, self.distances[:, 2], self.distances[:, 1])


def _sampler(probability: np.ndarray) -> Callable[[np.random.Generator, int], np.ndarray]:
    """A function that draws so many row numbers with given probabilities."""
    rows = np.flatnonzero(probability)
    cumulated = np.cumsum(probability[rows])
    cumulated /= cumulated[-1]

    def draw(rng: np.random.Generator, size: int) -> np.ndarray:
        return rows[np.minimum(np.searchsorted(cumulated, rng.random(size), side="right"), rows.size - 1)]

    return draw


class RowGradient:
    """The paper's gradient with rows drawn uniformly, or the centred gradient with rows drawn by norm.

    `scale` is 2q or 2p times the weight of a draw. `lipschitz` is the effective Lipschitz constant of a weighted draw:
    for the centred gradient the largest one, plus that of the exact part; for the paper's gradient, where a few rows
    may be outliers, mean square / mean.
    """

    rows_per_step = 1

    def __init__(self, rows: TrainingRows, centred: bool):
        self.rows = rows
        self.centred = centred
        factor = 2.0 * np.where(rows.side == 1, rows.q, rows.p)
        if centred:
            constants = factor * rows.own_distances
            balanced = rows.share / 2.0
            by_norm = rows.mass * constants
            total = by_norm.sum()
            by_norm = by_norm / total if total > 0.0 else balanced
            ignoring = 0.1  # this share of the draws ignores the norms: half of it is positive rows, half negative
            self.probability = (1.0 - ignoring) * by_norm + ignoring * balanced
        else:
            to_other_mean = np.where(rows.side == 1, rows.distances[:, 1], rows.distances[:, 2])
            constants = factor * np.sqrt(rows.distances[:, 0]) * np.sqrt(to_other_mean)
            self.probability = (rows.mass > 0.0) / rows.n
        weight = np.divide(rows.mass, self.probability, out=np.zeros(rows.mass.size), where=self.probability > 0.0)
        self.scale = weight * factor
        self.draws = kernels.Draws(rows.side, self.scale, rows.k, centred)
        constants *= weight
        if centred:
            self._sampler = _sampler(self.probability)
            self.lipschitz = float(constants.max()) + rows.k * float(rows.delta @ rows.delta)
        else:
            largest = max(float(constants.max()), np.finfo(float).tiny)
            relative = constants / largest  # so that squares do not overflow or underflow
            self.lipschitz = (
                largest * float(self.probability @ relative**2) / max(float(self.probability @ relative), 1e-300)
            )

    def draw(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Draw row numbers for `size` steps."""
        if self.centred:
            return self._sampler(rng, size)
        if self.rows.n == self.probability.size:
            return rng.integers(self.rows.n, size=size)
        return rng.choice(np.flatnonzero(self.probability), size)

    def variance(self, u: np.ndarray) -> float:
        """Return Σ_i π_i ‖v_i - ∇f(w)‖² at w = anchor + u: the exact variance of the update direction."""
        rows = self.rows
        mean_scores = rows.means @ u
        centre = rows.side if self.centred else 1 - rows.side
        slope = self.scale * (RowProducts(rows.X).scores(u) - mean_scores[centre])
        squares = rows.own_distances if self.centred else rows.distances[:, 0]
        mean = rows.k * (rows @ u) if self.centred else rows.hessian_product(u)
        return max(0.0, float(self.probability @ (slope**2 * squares)) - float(mean @ mean))


class PairGradient:
    """The pair gradient: one positive and one negative row, each drawn half uniformly and half by norm.

    `probability` adds up to 1 in each class. `lipschitz` estimates the largest Lipschitz constant of a weighted pair,
    as if rows of different classes were orthogonal after their class means are subtracted.
    """

    rows_per_step = 2

    def __init__(self, rows: TrainingRows):
        self.rows = rows
        distances = rows.own_distances
        spread = np.bincount(rows.side, weights=rows.share * distances, minlength=2)
        relative = np.divide(distances, spread[rows.side], out=np.ones(rows.side.size), where=spread[rows.side] > 0.0)
        pair_uniform_share = 0.5
        self.weight = 1.0 / (pair_uniform_share + (1.0 - pair_uniform_share) * relative)
        self.probability = rows.share / self.weight
        largest = [float(self.weight[rows.share * (rows.side == c) > 0.0].max()) for c in (0, 1)]
        spreads = [float((self.weight * distances)[rows.share * (rows.side == c) > 0.0].max()) for c in (0, 1)]
        shift = float(rows.delta @ rows.delta)
        self.lipschitz = rows.k * (largest[1] * spreads[0] + largest[0] * spreads[1] + largest[0] * largest[1] * shift)
        self._samplers = [_sampler(np.where(rows.side == c, self.probability, 0.0)) for c in (0, 1)]

    def draw(self, rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw positive rows and negative rows; return them and k times the weight of each pair."""
        positives = self._samplers[1](rng, size)
        negatives = self._samplers[0](rng, size)
        return positives, negatives, self.rows.k * self.weight[positives] * self.weight[negatives]

    def variance(self, u: np.ndarray) -> float:
        """Return the variance of the update direction over all pairs, computed from sums over rows.

        E‖A u‖² = k² Σ_ij a_i b_j (s_i - s_j)² ‖x_i - x_j‖², where a and b are share · weight. Expanding both squares
        gives products of a sum over positive rows (i) and a sum over negative rows (j).
        """
        rows = self.rows
        scores = RowProducts(rows.X).scores(u)
        squares = rows.distances[:, 0]
        a = rows.share * self.weight
        # Row r and column c of each hold a sum over class c: of a·s^r, of a·s^r ‖x‖², and of a·s^r x.
        plain = np.empty((3, 2))
        squared = np.empty((3, 2))
        vectors = np.empty((3, 2, u.size))
        for c in (0, 1):
            for power in range(3):
                weights = np.where(rows.side == c, a * scores**power, 0.0)
                plain[power, c] = weights.sum()
                squared[power, c] = weights @ squares
                vectors[power, c] = rows.X.T @ weights
        second_moment = 0.0
        for power, binomial in enumerate((1.0, -2.0, 1.0)):
            i = 2 - power
            j = power
            second_moment += binomial * (
                squared[i, 1] * plain[j, 0] + plain[i, 1] * squared[j, 0] - 2.0 * vectors[i, 1] @ vectors[j, 0]
            )
        mean = rows.hessian_product(u)
        return max(0.0, rows.k**2 * second_moment - float(mean @ mean))
