"""Every penalty, inside every bounds: 0 is the solution from `zero_from` on and not before, and certificates hold.

Penalties come from the package and from outside it; bounds allow 0, and may be 0 or infinite.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws_support import examples
from other_toys import Huber

from vrspam.kernels import register_prox
from vrspam.objective import MCP, SCAD, ElasticNet, Objective, Separable, SquaredPairLoss, soft_threshold
from vrspam.penalties.limits import Limits
from vrspam.solvers import solve
from vrspam.solvers.path import solve_grid


class WeightedNumbers(NamedTuple):
    l2: float
    l1: float
    weights: np.ndarray


class WeightedNet(WeightedNumbers, Separable):
    """A convex penalty from outside: l2/2 ‖w‖² + l1 Σ_j weights_j |w_j|."""

    is_convex = True

    @property
    def strong_convexity(self) -> float:  # type: ignore[override]
        return self.l2

    def value(self, w: np.ndarray) -> float:
        return float(0.5 * self.l2 * (w @ w) + self.l1 * self.weights @ np.abs(w))

    def prox(self, v: np.ndarray, step: Any) -> np.ndarray:
        return soft_threshold(v, step * self.l1 * self.weights) / (1.0 + step * self.l2)

    def gap(self, w: np.ndarray, grad: np.ndarray) -> float:
        best = -soft_threshold(grad, self.l1 * self.weights) / self.l2
        return self.value(w) + float(w @ grad) - self.value(best) - float(best @ grad)

    def gap_curvature(self, curvature: np.ndarray) -> float:
        return self.l2

    def zero_from(self, grad: np.ndarray) -> float:
        return float(np.max(np.abs(grad) / self.weights, initial=0.0))

    def restricted_to(self, columns: np.ndarray) -> "WeightedNet":
        return self._replace(weights=self.weights[columns])


@register_prox(WeightedNet)
def weighted_net_prox(penalty, v, step, j):
    size = max(abs(v) - step * penalty.l1 * penalty.weights[j], 0.0) / (1.0 + step * penalty.l2)
    return size if v > 0.0 else -size


D = 4
KINDS = ("net", "weighted", "huber", "mcp", "scad")


class Problem(NamedTuple):
    """A squared pair loss of four columns, a penalty by its strength, and bounds."""

    loss: SquaredPairLoss
    kind: str
    weights: np.ndarray
    limits: Limits

    def penalty(self, l2: float, l1: float) -> Any:
        if self.kind == "net":
            return self.limits(ElasticNet(l2, l1))
        if self.kind == "huber":
            return self.limits(Huber(l2, l1))
        if self.kind == "weighted":
            return self.limits(WeightedNet(l2, l1, self.weights))
        kind, gamma = (MCP, 3.0) if self.kind == "mcp" else (SCAD, 3.7)
        return self.limits(kind(l2, l1, gamma, self.loss.curvature()))

    @property
    def slopes(self) -> np.ndarray:
        return self.loss.value_and_grad(np.zeros(D))[1]

    def inside(self, w: np.ndarray) -> np.ndarray:
        return np.clip(w, self.limits.lower, self.limits.upper)


def problem(kind: str, bounds: list[tuple[float, float]], seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    half = rng.standard_normal((12, D))
    within = half.T @ half / 12.0 + 0.05 * np.eye(D)
    loss = SquaredPairLoss(0.5, rng.standard_normal(D), within, np.ones(D), matrix=within)
    if kind in ("mcp", "scad"):  # a penalty that is not convex takes only signs
        bounds = [(low if low == 0.0 else -np.inf, high if high == 0.0 else np.inf) for low, high in bounds]
    lower, upper = np.array(bounds).T
    return Problem(loss, kind, rng.uniform(0.1, 2.0, D), Limits(lower, upper))


ends = st.sampled_from([0.0, 0.05, 1.0, np.inf])
problems = st.builds(
    problem,
    st.sampled_from(KINDS),
    st.lists(st.tuples(ends.map(lambda end: -end), ends), min_size=D, max_size=D),
    st.integers(0, 2**32 - 1),
)


def slope_along(penalty: Any, j: int, sign: float) -> float:
    """The slope of the penalty at 0 along a coordinate."""
    short = 1e-9
    w = np.zeros(D)
    w[j] = sign * short
    return penalty.value(w) / short


@settings(max_examples=examples(60))
@given(drawn=problems)
def test_zero_is_the_solution_exactly_from_zero_from_on(drawn):
    from_here = drawn.penalty(0.1, 1.0).zero_from(drawn.slopes)
    allowed = [(j, 1.0) for j in range(D) if drawn.limits.upper[j] > 0] + [
        (j, -1.0) for j in range(D) if drawn.limits.lower[j] < 0
    ]
    if np.isinf(from_here):  # without a kink no strength makes the coefficients 0
        assert drawn.kind == "huber"
        return
    for share in (0.99, 1.01):
        if from_here == 0.0:
            continue
        penalty = drawn.penalty(0.1, share * from_here)
        slopes = [drawn.slopes[j] * sign + slope_along(penalty, j, sign) for j, sign in allowed]
        assert (min(slopes) >= 0.0) == (share > 1.0)
    if from_here == 0.0:  # no allowed direction falls
        assert all(drawn.slopes[j] * sign >= 0.0 for j, sign in allowed)


@settings(max_examples=examples(20))
@given(drawn=problems)
def test_the_path_becomes_0_where_zero_from_says(drawn):
    from_here = drawn.penalty(0.1, 1.0).zero_from(drawn.slopes)
    if from_here <= 1e-6 or np.isinf(from_here):
        return
    l1s = from_here * np.array([0.95, 1.05])
    grid = solve_grid(drawn.loss, np.array([0.1]), l1s, tol=1e-10, max_iter=5_000, penalty=drawn.penalty)
    assert grid.coefs[0, 0].any()
    assert not grid.coefs[0, 1].any()
    alone = [solve(Objective(drawn.loss, drawn.penalty(0.1, float(l1))), tol=1e-12, max_iter=5_000).w for l1 in l1s]
    np.testing.assert_allclose(alone, grid.coefs[0], atol=1e-4)


@settings(max_examples=examples(60))
@given(drawn=problems, seed=st.integers(0, 2**32 - 1), strength=st.sampled_from([0.0, 0.02, 0.3]))
def test_a_certificate_bounds_the_distance_and_vanishes_at_the_optimum(drawn, seed, strength):
    if drawn.kind in ("mcp", "scad"):
        assert np.isnan(drawn.penalty(0.1, 0.3).gap(np.zeros(D), drawn.slopes))
        return
    rng = np.random.default_rng(seed)
    objective = Objective(drawn.loss, drawn.penalty(0.1, strength))

    w = drawn.inside(rng.standard_normal(D))
    gap = objective.gap(w)
    tried = drawn.inside(w + rng.standard_normal((500, D)) * rng.choice([1e-3, 0.1, 1.0, 10.0], (500, 1)))
    assert gap >= objective.value(w) - min(map(objective.value, tried)) - 1e-12

    best = w
    product = drawn.loss.hessian_product(w)
    step = 1.0 / np.linalg.eigvalsh([product(one) for one in np.eye(D)])[-1]
    for _ in range(2_000):  # proximal gradient descent, which needs no certificate
        best = objective.penalty.prox(best - step * objective.gradient(best), step)
    assert objective.gap(best) == pytest.approx(0.0, abs=1e-9)
    assert gap >= objective.value(w) - objective.value(best) - 1e-12
