"""A penalty defined outside the package: the minimax concave penalty (Zhang 2010), as in the textbook."""

from typing import NamedTuple

import numpy as np

from vrspam.kernels import register_prox
from vrspam.objective import Separable


class Numbers(NamedTuple):
    l1: float
    gamma: float


class MCP(Numbers, Separable):
    """Ω(w) = Σ_j l1 |w_j| - w_j²/(2 gamma) up to |w_j| = gamma·l1, and constant beyond."""

    def value(self, w):
        size = np.minimum(np.abs(w), self.gamma * self.l1)
        return float(np.sum(self.l1 * size - size**2 / (2.0 * self.gamma)))

    def prox(self, v, step):
        soft = np.sign(v) * np.maximum(np.abs(v) - step * self.l1, 0.0)
        return np.where(np.abs(v) <= self.gamma * self.l1, soft / (1.0 - step / self.gamma), v)


@register_prox(MCP)
def mcp_prox(penalty, v, step, j):
    if abs(v) > penalty.gamma * penalty.l1:
        return v
    size = max(abs(v) - step * penalty.l1, 0.0) / (1.0 - step / penalty.gamma)
    return size if v > 0.0 else -size
