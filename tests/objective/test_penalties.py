"""The prox and the certificate's penalty part, against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize_scalar

from vrspam.penalties.elastic_net import ElasticNet

vectors = arrays(np.float64, 4, elements=st.floats(-10, 10, allow_subnormal=False))
numbers = st.floats(1e-3, 10)
penalties = st.builds(ElasticNet, numbers, st.floats(0, 5))


@given(v=vectors, u=vectors, step=numbers, penalty=penalties)
def test_three_point_inequality(v, u, step, penalty):
    """The prox minimises a (1 + step·l2)-strongly convex function: any other u is worse by that much."""
    w = penalty.prox(v, step)

    def value(x):
        return 0.5 * np.sum((x - v) ** 2) + step * penalty.value(x)

    assert value(w) + 0.5 * (1 + step * penalty.l2) * np.sum((u - w) ** 2) <= value(u) + 1e-9 * (1 + value(u))


@given(v=vectors, step=numbers, penalty=penalties)
def test_moreau_decomposition(v, step, penalty):
    """v = prox_{tΩ}(v) + t prox_{Ω*/t}(v/t), the conjugate's prox found by scalar minimisation."""
    w = penalty.prox(v, step)
    for j in range(v.size):

        def dual(z, j=j):
            excess = max(abs(z) - penalty.l1, 0.0)
            return 0.5 * (z - v[j] / step) ** 2 + excess**2 / (2 * penalty.l2) / step

        bound = abs(v[j]) / step + penalty.l1 + 1
        z = minimize_scalar(dual, bounds=(-bound, bound), method="bounded", options={"xatol": 1e-10}).x
        assert w[j] + step * z == pytest.approx(v[j], abs=1e-4 * (1 + abs(v[j])) * (1 + step))


@given(w=vectors, grad=vectors, penalty=penalties)
def test_gap_is_the_fenchel_young_gap(w, grad, penalty):
    """Ω(w) + Ω*(-grad) + w·grad, the conjugate by maximising over a fine grid in each coordinate."""
    conjugate = 0.0
    for g in grad:
        best = max(abs(g) - penalty.l1, 0.0) / penalty.l2
        xs = np.concatenate([np.linspace(-best, best, 2001), [0.0]])
        conjugate += np.max(-g * xs - 0.5 * penalty.l2 * xs**2 - penalty.l1 * np.abs(xs))
    expected = penalty.value(w) + conjugate + w @ grad
    assert penalty.gap(w, grad) == pytest.approx(expected, rel=1e-6, abs=1e-6 * (1 + penalty.value(w)))
    assert penalty.gap(w, grad) >= 0.0


def test_gap_at_the_optimum_is_not_below_zero_by_rounding():
    """Where w = -soft(grad, l1)/l2 each term is 0 up to rounding."""
    rng = np.random.default_rng(0)
    for l1 in rng.uniform(0.1, 3.0, 200):
        grad = rng.standard_normal(5) * 10.0
        w = -np.sign(grad) * np.maximum(np.abs(grad) - l1, 0.0) / 0.5
        assert 0.0 <= ElasticNet(0.5, l1).gap(w, grad) < 1e-12


def test_both_signs_shrink_and_the_step_counts():
    penalty = ElasticNet(l2=0.5, l1=1.0)
    assert penalty.prox(np.array([3.0, -3.0, 0.4, -0.4]), 0.5) == pytest.approx([2.0, -2.0, 0.0, 0.0])


def test_gap_is_nan_without_strong_convexity():
    assert np.isnan(ElasticNet(0.0, 1.0).gap(np.ones(2), np.ones(2)))
