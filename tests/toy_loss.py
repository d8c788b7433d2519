"""A loss defined outside the package: the squared hinge on pairs, with every pair written out."""

import numpy as np


class SquaredHingeByPairs:
    """f(w) = pq · mean over pairs (i in +, j in -) of max(0, 1 - w·(x_i - x_j))²."""

    is_quadratic = False
    matrix = None
    rows = None

    def __init__(self, X, y):
        up, down = np.flatnonzero(y == np.max(y)), np.flatnonzero(y != np.max(y))
        self.pairs = X[np.repeat(up, down.size)] - X[np.tile(down, up.size)]  # dense or CSR
        self.scale = up.size * down.size / y.size**2
        self.weight = self.scale / self.pairs.shape[0]
        self.n_features = X.shape[1]

    def value_and_grad(self, w):
        margin = np.maximum(1.0 - self.pairs @ w, 0.0)
        return self.weight * float(margin @ margin), -2.0 * self.weight * (self.pairs.T @ margin)

    def hessian_product(self, w):
        active = self.pairs[np.flatnonzero(1.0 - self.pairs @ w > 0.0)]
        return lambda v: 2.0 * self.weight * (active.T @ (active @ v))

    def curvature(self):
        squares = self.pairs**2 if isinstance(self.pairs, np.ndarray) else self.pairs.multiply(self.pairs)
        return 2.0 * self.weight * np.asarray(squares.sum(axis=0)).ravel()
