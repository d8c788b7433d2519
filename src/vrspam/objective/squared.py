"""The squared pair loss

    f(w) = p q · mean over pairs (i in +, j in -) of (1 - w·(x_i - x_j))²,

which is quadratic. The pair mean equals (1 - w·δ)² + wᵀΣw, where δ = μ₊ - μ₋ is the difference of the class means and
Σ = Σ₊ + Σ₋ the sum of the class covariances (divided by n±), so with k = 2pq

    f(w) = pq ((1 - w·δ)² + wᵀΣw),     ∇f(w) = k (Σw - (1 - w·δ) δ),     ∇²f = k (Σ + δδᵀ).

Both terms of f are ≥ 0, so neither f nor ∇f suffers from cancellation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from vrspam.moments import FinishedMoments, PairSums
from vrspam.objective.losses import Operator
from vrspam.objective.products import WithinProducts, are_far
from vrspam.objective.rounding import FinishedErrors, LossErrors, MatrixErrors


class Exclusive(NamedTuple):
    """Columns of which at most one is not 0 in each row, and their means in both classes, of shape (2, columns)."""

    where: slice
    means: np.ndarray


@dataclass(eq=False)
class SquaredPairLoss:
    """The squared pair loss of one data set.

    Parameters
    ----------
    p : float
        Share of the positive class.
    delta : ndarray of shape (d,)
        μ₊ - μ₋.
    within : ndarray of shape (d, d), WithinProducts or other operator
        Σ₊ + Σ₋, or a way to multiply by it.
    diagonal : ndarray of shape (d,)
        Diagonal of Σ₊ + Σ₋.
    q : float, optional
        Share of the negative class, for shares that 1 - p would lose to rounding.
    rounding : float
        Relative error of a product in Σ, if it was not gathered in float64.
    matrix : ndarray of shape (d, d), optional
        `within` once more, if it is a matrix.
    rows : WithinProducts, optional
        The training rows, if they lie in memory: for solvers that read columns.
    errors : LossErrors, optional
        Bounds on the rounding errors of all of these; the certificate makes room for them.
    tilt : ndarray of shape (d,), optional
        A linear term tilt·w that is added to the loss (see `vrspam.solvers.exact`).
    matrix_on_device : array of shape (d, d), optional
        `matrix` once more, on the device where the rows lie.
    exclusive : Exclusive, optional
        The indicators of one categorical column, if they are known: `vrspam.solvers.gram` eliminates them.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam import ClassMoments
    >>> from vrspam.objective import SquaredPairLoss
    >>> X = np.array([[0.0], [1.0], [2.0], [5.0]])
    >>> loss = SquaredPairLoss.from_moments(ClassMoments.from_data(X, [-1, -1, 1, 1]))
    >>> round(loss.value_and_grad(np.array([0.2]))[0], 6)  # 1/4 · mean of .6², .8², 0², .2²
    0.065
    """

    p: float
    delta: np.ndarray
    within: Operator
    diagonal: np.ndarray
    q: float | None = None
    rounding: float = 0.0
    matrix: np.ndarray | None = None
    rows: WithinProducts | None = None
    errors: LossErrors | None = None
    tilt: np.ndarray | None = None
    matrix_on_device: Any = None
    exclusive: Exclusive | None = None

    is_quadratic = True

    def __post_init__(self) -> None:
        self.scale = self.p * (1.0 - self.p if self.q is None else self.q)  # f(0) = pq
        self.k = 2.0 * self.scale
        self.n_features = self.delta.size
        self._curvature = self.k * (self.diagonal + self.delta**2)

    @classmethod
    def from_operator(
        cls,
        within: Operator,
        moments: PairSums,
        *,
        rows: WithinProducts | None = None,
        errors: LossErrors | None = None,
    ) -> SquaredPairLoss:
        """The loss with any way to multiply by Σ; `moments` needs no scatter matrices."""
        classes = moments.pair_statistics()
        if errors is None:
            errors = LossErrors.from_rows(moments, from_scores=hasattr(within, "product_and_square"))
        return cls(classes.p, classes.delta, within, classes.within_diagonal, classes.q, rows=rows, errors=errors)

    @classmethod
    def from_moments(cls, moments: PairSums, exclusive: Sequence[slice] = ()) -> SquaredPairLoss:
        """The loss from sufficient statistics alone; the widest of the given slices is kept as `exclusive`."""
        matrix = moments.within
        classes = moments.pair_statistics()
        errors = moments.pair_errors()
        products: Any
        if isinstance(moments, FinishedMoments):
            products = FinishedErrors.of(moments)
        else:
            products = MatrixErrors(np.sqrt(errors.within), np.sqrt(classes.within_diagonal + errors.within))
        widest = max(exclusive, key=lambda columns: columns.stop - columns.start, default=None)
        return cls(
            classes.p,
            classes.delta,
            matrix,
            classes.within_diagonal,
            classes.q,
            rounding=moments.rounding,
            matrix=matrix,
            errors=LossErrors(errors.share, errors.delta, products),
            matrix_on_device=moments.within_on_device,
            exclusive=None if widest is None else Exclusive(widest, (classes.means + moments.offsets)[:, widest]),
        )

    @classmethod
    def from_rows(cls, X, is_positive: np.ndarray, sample_weight, moments: PairSums) -> SquaredPairLoss:
        """The loss with Σ as products with X; `moments` needs no scatter matrices.

        Dense rows that are far from the origin are centred block by block, see `from_centred_rows`.
        """
        if not sparse.issparse(X) and are_far(moments):
            return cls.from_centred_rows(X, is_positive, sample_weight, moments)
        rows = WithinProducts(X, is_positive, sample_weight, moments.means)
        return cls.from_operator(rows, moments, rows=rows)

    @classmethod
    def from_centred_rows(cls, X, is_positive: np.ndarray, sample_weight, moments: PairSums) -> SquaredPairLoss:
        """`from_rows`, as accurate as float64 allows: a common centre is subtracted from the rows block by block.

        Sparse rows are centred only in columns that are more than half full: in the others the mean is small against
        the spread, and they stay sparse.
        """
        centre = moments.means.mean(axis=0)
        if sparse.issparse(X):
            centre = np.where(np.bincount(X.indices, minlength=X.shape[1]) > X.shape[0] / 2, centre, 0.0)
            if not centre.any():
                return cls.from_rows(X, is_positive, sample_weight, moments)
        offsets = (moments.means - centre) + moments.offsets
        rows = WithinProducts(X, is_positive, sample_weight, moments.means, centre=centre, offsets=offsets)
        errors = LossErrors.from_rows(moments, centre, from_scores=True)
        return cls.from_operator(rows, moments, rows=rows, errors=errors)

    def curvature(self) -> np.ndarray:
        """Diagonal of k (Σ + δδᵀ)."""
        return self._curvature

    def value_and_grad(self, w: np.ndarray, product: np.ndarray | None = None) -> tuple[float, np.ndarray]:
        """f(w) and ∇f(w) from one multiplication by Σ, whose result may be given; at 0 the data need not be read."""
        square = None
        if product is None and not w.any():
            product = np.zeros_like(w)
        elif product is None and hasattr(self.within, "product_and_square"):
            product, square = self.within.product_and_square(w)
        elif product is None:
            product = self.within @ w
        margin = 1.0 - float(w @ self.delta)
        square = float(w @ product) if square is None else square
        value = self.scale * (margin * margin + max(square, 0.0))
        grad = self.k * (product - margin * self.delta)
        if self.tilt is None:
            return value, grad
        return value + float(self.tilt @ w), grad + self.tilt

    def gradient_error(self, w: np.ndarray, grad: np.ndarray) -> float:
        """How far (in norm) rounding may have moved ∇f(w), computed as `grad`, from that of the rows as they are."""
        if self.errors is None:
            return 0.0
        return float(np.linalg.norm(self.errors.of_gradient(w, grad, self.k, self.delta)))

    def tilted(self, tilt: np.ndarray) -> SquaredPairLoss:
        """The loss plus tilt·w; `errors` bounds the rounding of another loss, so it is left out."""
        return replace(self, tilt=tilt, errors=None)

    def restricted_to(self, columns: np.ndarray, matrix: np.ndarray) -> SquaredPairLoss:
        """The loss of some of the columns, whose Σ is `matrix`."""
        return replace(
            self,
            delta=self.delta[columns],
            within=matrix,
            diagonal=self.diagonal[columns],
            matrix=matrix,
            tilt=None if self.tilt is None else self.tilt[columns],
            rows=None,
            errors=None,
            matrix_on_device=None,
            exclusive=None,
        )

    def hessian_product(self, w: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The function v -> k (Σ + δδᵀ) v, which does not depend on w."""
        return lambda v: self.k * (self.within @ v + float(self.delta @ v) * self.delta)
