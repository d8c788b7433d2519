"""More losses and penalties from outside the package: what the seams must also carry."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from vrspam import ClassMoments
from vrspam.kernels import register_prox
from vrspam.objective import ElasticNet, Separable, soft_threshold


class LogisticByPairs:
    """f(w) = pq/log 2 · mean over pairs of log(1 + exp(-w·(x_i - x_j))): not even piecewise quadratic."""

    is_quadratic = False
    matrix = None
    rows = None

    def __init__(self, X, y):
        X = X if isinstance(X, np.ndarray) else X.toarray()
        self.pairs = (X[y == 1][:, None] - X[y == 0][None]).reshape(-1, X.shape[1])
        self.scale, self.n_features = y.mean() * (1 - y.mean()), X.shape[1]
        self.weight = self.scale / np.log(2.0) / len(self.pairs)

    def value_and_grad(self, w):
        margin = self.pairs @ w
        return self.weight * np.logaddexp(0.0, -margin).sum(), -self.weight * self.pairs.T @ expit(-margin)

    def hessian_product(self, w):
        bend = expit(self.pairs @ w) * expit(-(self.pairs @ w))
        return lambda v: self.weight * self.pairs.T @ (bend * (self.pairs @ v))

    def curvature(self):
        return 0.25 * self.weight * np.sum(self.pairs**2, axis=0)


class QuadraticFromOutside:
    """The squared pair loss with the members of `QuadraticLoss` and no other."""

    is_quadratic = True
    rows = None

    def __init__(self, k, delta, matrix):
        self.k, self.delta, self.matrix, self.within = k, delta, matrix, matrix
        self.scale, self.n_features = k / 2.0, delta.size

    @classmethod
    def of(cls, X, y):
        moments = ClassMoments.from_data(X, y)
        return cls(2.0 * moments.p * moments.q, moments.delta, moments.within)

    def value_and_grad(self, w, product=None):
        product = self.matrix @ w if product is None else product
        margin = 1.0 - w @ self.delta
        return self.scale * (margin**2 + w @ product), self.k * (product - margin * self.delta)

    def hessian_product(self, w):
        return lambda v: self.k * (self.matrix @ v + (self.delta @ v) * self.delta)

    def curvature(self):
        return self.k * (np.diagonal(self.matrix) + self.delta**2)

    def restricted_to(self, columns, matrix):
        return QuadraticFromOutside(self.k, self.delta[columns], matrix)


class NetNumbers(NamedTuple):
    l2: float
    l1: float


class PlainNet(NetNumbers, Separable):
    """The elastic net again, with its certificate but without its quadratic pieces."""

    def value(self, w):
        return ElasticNet(*self).value(w)

    def prox(self, v, step):
        return ElasticNet(*self).prox(v, step)

    def gap(self, w, grad):
        return ElasticNet(*self).gap(w, grad)

    def gap_curvature(self, curvature):
        return self.l2


class LassoNumbers(NamedTuple):
    l1: float
    weights: np.ndarray


class WeightedLasso(LassoNumbers, Separable):
    """l1 Σ_j weights_j |w_j|: its numbers differ from column to column."""

    def value(self, w):
        return float(self.l1 * self.weights @ np.abs(w))

    def prox(self, v, step):
        return soft_threshold(v, step * self.l1 * self.weights)

    def zero_from(self, grad):
        return float(np.max(np.abs(grad) / self.weights))

    def restricted_to(self, columns):
        return self._replace(weights=self.weights[columns])


@register_prox(PlainNet)
def plain_net_prox(penalty, v, step, j):
    size = max(abs(v) - step * penalty.l1, 0.0) / (1.0 + step * penalty.l2)
    return size if v > 0.0 else -size


@register_prox(WeightedLasso)
def weighted_lasso_prox(penalty, v, step, j):
    size = max(abs(v) - step * penalty.l1 * penalty.weights[j], 0.0)
    return size if v > 0.0 else -size


BEND = 0.1  # where the smooth l1 of `Huber` goes over into a straight line


class Huber(NetNumbers, Separable):
    """l2/2 ‖w‖² + l1 Σ_j h(w_j), h(w) = w²/(2 BEND) up to |w| = BEND and |w| - BEND/2 beyond: smooth and convex."""

    is_convex = True
    has_gap = True

    @property
    def strong_convexity(self):  # type: ignore[override]
        return self.l2

    def value(self, w):
        size = np.abs(w)
        smooth = np.where(size <= BEND, size**2 / (2.0 * BEND), size - BEND / 2.0)
        return float(0.5 * self.l2 * (w @ w) + self.l1 * smooth.sum())

    def prox(self, v, step):
        ridge = 1.0 + step * self.l2
        inside = v / (ridge + step * self.l1 / BEND)
        return np.where(np.abs(inside) <= BEND, inside, soft_threshold(v, step * self.l1) / ridge)

    def gap(self, w, grad):
        """Value of tangent + Ω at w minus that at its minimiser u: the Bregman distance of w from u."""
        if self.l2 == 0.0:
            return float("nan")
        u = -grad / (self.l2 + self.l1 / BEND)
        u = np.where(np.abs(u) <= BEND, u, -soft_threshold(grad, self.l1) / self.l2)
        flat = np.clip(u, -BEND, BEND)  # BEND times the slope of h at u
        of_h = (np.clip(w, -BEND, BEND) - flat) ** 2 / (2.0 * BEND)
        of_h += np.maximum(np.abs(w) - BEND, 0.0) * (1.0 - np.sign(w) * flat / BEND)
        return float(0.5 * self.l2 * np.sum((w - u) ** 2) + self.l1 * of_h.sum())

    def gap_curvature(self, curvature):
        return self.l2 or float(np.mean(curvature))

    def zero_from(self, grad):
        """It has no kink at 0."""
        return float("inf") if np.any(grad) else 0.0


@register_prox(Huber)
def huber_prox(penalty, v, step, j):
    ridge = 1.0 + step * penalty.l2
    inside = v / (ridge + step * penalty.l1 / BEND)
    if abs(inside) <= BEND:
        return inside
    size = max(abs(v) - step * penalty.l1, 0.0) / ridge
    return size if v > 0.0 else -size
