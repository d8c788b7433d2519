"""Bounds on the rounding errors of ∇f and f, for which the certificate makes room.

The certificate of F = f + Ω with l2 > 0 is a function of g = ∇f(w) that is convex, never negative, and whose gradient
is 1/l2-Lipschitz. If g is wrong by e, the root of the certificate therefore grows by at most ‖e‖ / √(2 l2):

    √gap(g + e) ≤ √gap(g) + ‖e‖ / √(2 l2).

For the squared pair loss ∇f(w) = k (Σw - (1 - w·δ) δ), so e follows from bounds on the errors of k, δ, Σ
(`vrspam.moments`) and of the operations that compute Σw, which this module adds up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vrspam.moments import UNIT, FinishedMoments, LastProduct, PairSums, gamma


@dataclass(frozen=True)
class MatrixErrors:
    """Σ as a matrix with |error of Σ_ij| ≤ root_i root_j, and |Σ_ij| ≤ spread_i spread_j.

    Here and in the next two classes, `of_product` bounds the error of each entry of Σw, `of_square` that of wᵀΣw.
    """

    root: np.ndarray
    spread: np.ndarray

    def of_product(self, w: np.ndarray) -> np.ndarray:
        size = np.abs(w)
        share = 2.0 * gamma(w.size)
        return self.root * float(self.root @ size) + share * self.spread * float(self.spread @ size)

    def of_square(self, w: np.ndarray, square: float) -> float:
        return float(np.abs(w) @ self.of_product(w)) + gamma(w.size) * float(self.spread @ np.abs(w)) ** 2


@dataclass(frozen=True)
class FinishedErrors:
    """Σ = TᵀST as a matrix, with the error of S known (`vrspam.moments.FinishedMoments`).

    |TᵀETw| ≤ |T|ᵀ root (root · |Tw|), where |error of S_ij| ≤ root_i root_j: a bound by the columns of Σ would have
    |T| |w| in the place of |Tw|, which is far larger where parts cancel. Products with T are rounded as well, and so
    are the features that a map computes, for which F is defined.
    """

    last: LastProduct
    root: np.ndarray  # of the error of S
    roots: np.ndarray  # |T|ᵀ root
    levels: np.ndarray  # |T|ᵀ times the spread of each column of S
    spread: np.ndarray  # of each column of Σ
    features: np.ndarray  # the error of each feature, in the mean square of both classes

    @classmethod
    def of(cls, moments: FinishedMoments) -> FinishedErrors:
        unfinished, last = moments.unfinished, moments.last
        within = unfinished.pair_errors().within
        roots = last.of_sizes(np.sqrt(within))
        levels = last.of_sizes(np.sqrt(unfinished.within_diagonal + within))
        spread = np.sqrt(moments.within_diagonal + roots**2 + 3.0 * last.of_matrices * levels**2)
        return cls(last, np.sqrt(within), roots, levels, spread, moments.of_features)

    def _of_matrix(self, size: np.ndarray) -> np.ndarray:
        """The error from rounding in products with T and Σ and in the features; `size` is |w|."""
        by_level = float(self.levels @ size)
        by_spread = float(self.spread @ size)
        by_features = float(self.features @ size)
        of_products = self.last.of_matrices * (by_level + 2.0 * by_spread) * self.levels
        of_products += (2.0 * gamma(size.size) * by_spread + by_features) * self.spread
        return of_products + (by_spread + by_features) * self.features

    def _of_root(self, w: np.ndarray) -> float:
        """root · |Tw|, with the rounding of Tw."""
        return float(self.root @ np.abs(self.last.times(w))) + gamma(w.size) * float(self.roots @ np.abs(w))

    def of_product(self, w: np.ndarray) -> np.ndarray:
        return self._of_root(w) * self.roots + self._of_matrix(np.abs(w))

    def of_square(self, w: np.ndarray, square: float) -> float:
        size = np.abs(w)
        return (
            self._of_root(w) ** 2 + float(size @ self._of_matrix(size)) + gamma(w.size) * float(self.spread @ size) ** 2
        )


@dataclass(frozen=True)
class RowErrors:
    """Σ as products with rows: scores s = Xw, minus those of the class means, and back.

    With σ the spread of each column within a class and μ its mean (minus what is subtracted from the rows beforehand),
    scores are wrong by γ_d (2|μ| + |x - μ|)·|w|. The product with Xᵀ multiplies their error by σ at most
    (Cauchy-Schwarz), and the sum over the rows adds γ_n (σ + 2|μ|) times the spread of the scores, at most σ·|w|.
    With `from_scores`, wᵀΣw is the sum of the squared scores, not w·(Σw): the sum is more accurate for a large w whose
    parts cancel in the scores.
    """

    spreads: np.ndarray  # σ for each class, as the next two of shape (2, d)
    levels: np.ndarray  # |μ|
    of_means: np.ndarray  # the error of μ
    rows: int
    share: float  # relative error of the weights of the rows
    from_scores: bool

    def _of_scores(self, w: np.ndarray) -> np.ndarray:
        """The root mean square error of the scores of each class."""
        size = np.abs(w)
        return gamma(w.size + 8) * (2.0 * (self.levels @ size) + self.spreads @ size)

    def of_product(self, w: np.ndarray) -> np.ndarray:
        size = np.abs(w)
        back = gamma(self.rows + 8) + self.share
        lost = self._of_scores(w)
        moved = self.of_means @ size
        scores = self.spreads @ size + lost
        # For each class: spread (lost + back scores) + level (2 back scores + 4u (moved + lost)) + of_mean moved.
        total = (lost + back * scores) @ self.spreads + moved @ self.of_means
        total += (2.0 * back * scores + 4.0 * UNIT * (moved + lost)) @ self.levels
        return 1.01 * total

    def of_square(self, w: np.ndarray, square: float) -> float:
        if not self.from_scores:
            return (
                float(np.abs(w) @ self.of_product(w)) + gamma(w.size) * float(self.spreads.sum(axis=0) @ np.abs(w)) ** 2
            )
        lost = float(np.linalg.norm(self._of_scores(w)))
        moved = float(np.linalg.norm(self.of_means @ np.abs(w)))
        share = gamma(self.rows + 8) + self.share
        return 1.01 * (2.0 * np.sqrt(square) * lost + 2.0 * lost**2 + moved**2 + 4.0 * share * square)


@dataclass(frozen=True)
class LossErrors:
    """Bounds on the errors of a squared pair loss."""

    share: float  # relative error of k = 2pq
    delta: np.ndarray
    products: MatrixErrors | FinishedErrors | RowErrors  # of Σw

    @classmethod
    def from_rows(cls, moments: PairSums, centre: np.ndarray | None = None, from_scores: bool = False) -> LossErrors:
        """For products with Σ by way of the rows of these moments, minus `centre`; see `RowErrors`."""
        errors = moments.pair_errors()
        classes = moments.pair_statistics()
        levels = np.abs(classes.means if centre is None else classes.means - centre)
        spreads = np.sqrt(moments.variances + errors.within + errors.means**2)
        rows = RowErrors(spreads, levels, errors.means, int(moments.rows.sum()), errors.share, from_scores)
        return cls(errors.share, errors.delta, rows)

    def of_margin(self, w: np.ndarray, delta: np.ndarray) -> float:
        """The error of 1 - w·δ."""
        size = np.abs(w)
        return float(self.delta @ size) + gamma(w.size + 2) * (1.0 + float(np.abs(delta) @ size))

    def of_gradient(self, w: np.ndarray, grad: np.ndarray, k: float, delta: np.ndarray) -> np.ndarray:
        """The error of each entry of ∇f(w)."""
        margin = abs(1.0 - float(w @ delta))
        of_margin = self.of_margin(w, delta)
        by_delta = self.delta * (margin + of_margin) + np.abs(delta) * (of_margin + 4.0 * UNIT * margin)
        return 1.01 * k * (self.products.of_product(w) + by_delta) + (self.share + 8.0 * UNIT) * np.abs(grad)

    def of_value(self, w: np.ndarray, value: float, scale: float, delta: np.ndarray) -> float:
        """The error of f(w)."""
        margin = abs(1.0 - float(w @ delta))
        of_margin = self.of_margin(w, delta)
        square = max(value / scale - margin**2, 0.0) if scale > 0.0 else 0.0
        by_parts = (2.0 * margin + of_margin) * of_margin + self.products.of_square(w, square)
        return 1.01 * scale * by_parts + (self.share + 8.0 * UNIT) * value
