"""F, its gradient and its certificate against the definition over all pairs."""

import numpy as np
import pytest
from helpers import make_data, pairwise_objective
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import check_grad, minimize

from vrspam import ClassMoments
from vrspam.objective import ElasticNet, Objective, SquaredPairLoss, l2_unit, multiply


def both_forms(X, y, l2, l1, weights=None):
    moments = ClassMoments.from_data(X, y, weights)
    means = ClassMoments.from_data(X, y, weights, scatter=False)
    return {
        "moments": Objective.from_moments(moments, l2, l1),
        "products": Objective.from_rows(X, y == np.max(y), weights, means, l2, l1),
        "sparse products": Objective.from_rows(sparse.csr_array(X), y == np.max(y), weights, means, l2, l1),
    }


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), l2=st.floats(0, 2), l1=st.floats(0, 2), weighted=st.booleans())
def test_value_is_the_pairwise_definition(seed, l2, l1, weighted):
    X, y = make_data(25, 4, seed=seed)
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.1, 2, 25) if weighted else None
    w = rng.standard_normal(4)
    expected = float(pairwise_objective(X, y, w, l2, l1, weights))
    for objective in both_forms(X, y, l2, l1, weights).values():
        assert objective.value(w) == pytest.approx(expected, rel=1e-10)
        assert objective.value(np.zeros(4)) == pytest.approx(objective.scale)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000))
def test_gradient_is_the_derivative(seed):
    X, y = make_data(25, 4, seed=seed)
    w = np.random.default_rng(seed).standard_normal(4)
    for objective in both_forms(X, y, 0.0, 0.0).values():
        error = check_grad(lambda v, f=objective: f.loss.value_and_grad(v)[0], objective.gradient, w)
        assert error <= 1e-5 * (1 + np.linalg.norm(objective.gradient(w)))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 1000), l1=st.sampled_from([0.0, 0.02, 0.2]))
def test_gap_bounds_the_distance_to_the_optimum(seed, l1):
    """The optimum by SciPy on the split w = u - v, u, v ≥ 0: an independent solver."""
    X, y = make_data(30, 3, seed=seed)
    objective = both_forms(X, y, 0.1, l1)["moments"]

    def split(z):
        w = z[:3] - z[3:]
        grad = objective.gradient(w) + 0.1 * w
        return objective.loss.value_and_grad(w)[0] + 0.05 * w @ w + l1 * z.sum(), np.concatenate(
            [grad + l1, -grad + l1]
        )

    options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 5000}
    best = minimize(split, np.zeros(6), jac=True, bounds=[(0, None)] * 6, options=options).fun
    rng = np.random.default_rng(seed)
    for scale in (0.0, 0.1, 1.0, 10.0):
        w = scale * rng.standard_normal(3)
        assert objective.gap(w) >= objective.value(w) - best - 1e-9


def test_value_and_gradient_are_consistent_and_gap_without_l1_is_the_gradient_norm():
    X, y = make_data()
    objective = both_forms(X, y, 0.3, 0.0)["moments"]
    w = np.random.default_rng(0).standard_normal(X.shape[1])
    value, grad = objective.value_and_grad(w)
    gap = objective.gap(w)
    assert objective.certificate(w, grad) == (gap, gap)
    assert value == objective.value(w)
    np.testing.assert_array_equal(grad, objective.gradient(w))
    assert gap == pytest.approx(np.sum((grad + 0.3 * w) ** 2) / 0.6)


def test_unit_of_l2_follows_scale_and_ignores_offset():
    X, y = make_data()
    unit = l2_unit(ClassMoments.from_data(X, y))
    p = y.mean()
    pairs = (X[y == 1][:, None] - X[y == 0][None]).reshape(-1, X.shape[1])
    assert unit == pytest.approx(2 * p * (1 - p) * np.mean(pairs**2))  # mean diagonal of H, by all pairs
    assert l2_unit(ClassMoments.from_data(3 * X + 7, y)) == pytest.approx(9 * unit)
    assert l2_unit(ClassMoments.from_data(np.ones_like(X), y)) == pytest.approx(2 * p * (1 - p))


@pytest.mark.parametrize("heavy", [0, 1])
@pytest.mark.parametrize("ratio", [1e3, 1e17, 1e100])
def test_one_class_may_outweigh_the_other(heavy, ratio):
    """If positive rows have nearly all the weight, q = 1 - p rounds to 0; F(0) = pq must not."""
    X, y = make_data(40, 3)
    weights = np.where(y == heavy, ratio, 1.0)
    small = np.sum(y != heavy) / (ratio * np.sum(y == heavy))
    even = ClassMoments.from_data(X, y)
    unit = np.mean(even.within_diagonal + even.delta**2)
    for objective in both_forms(X, y, 0.1 * small, 0.0, weights).values():
        assert objective.scale == pytest.approx(small / (1 + small) ** 2, rel=1e-12, abs=0.0)
        assert Objective(objective.loss, ElasticNet(0.1)).scale == objective.scale
    assert l2_unit(ClassMoments.from_data(X, y, weights)) == pytest.approx(
        2 * small / (1 + small) ** 2 * unit, rel=1e-9, abs=0.0
    )


@pytest.mark.parametrize("scale", [1e30, 1e-30, 1e-37])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_products_with_float32_keep_within_its_range(scale, container):
    """A tiny X has a huge w: no intermediate result may leave the range of float32."""
    X, y = make_data(60, 4)
    w = np.random.default_rng(0).standard_normal(4)
    X32 = (X * scale).astype(np.float32)
    moments = ClassMoments.from_data(X32.astype(np.float64), y)
    products = Objective.from_rows(container(X32), y == 1, None, moments, 0.0).loss.within @ (w / scale**2)
    expected = moments.within @ (w / scale**2)
    np.testing.assert_allclose(products, expected, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("size", [1e60, 1.0, 1e-60])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_scores_of_float32_rows_by_coefficients_out_of_its_range(size, container):
    X, _ = make_data(30, 4)
    X, w = X.astype(np.float32), size * np.random.default_rng(1).standard_normal(4)
    expected = X.astype(np.float64) @ w
    np.testing.assert_allclose(multiply(container(X), w), expected, rtol=0.0, atol=1e-5 * np.abs(expected).max())


def test_rounding_of_the_covariance_makes_no_value_negative():
    """A Σ whose least eigenvalue has been rounded to -1e-17, at the w that fits δ exactly."""
    objective = Objective(SquaredPairLoss(0.5, np.ones(1), np.array([[-1e-17]]), np.zeros(1)), ElasticNet(0.0))
    assert objective.value(np.ones(1)) == 0.0


def test_the_gradient_of_a_tilted_loss_is_that_of_its_value():
    X, y = make_data(60, 3)
    loss = SquaredPairLoss.from_moments(ClassMoments.from_data(X, y)).tilted(np.array([0.3, -2.0, 1.0]))
    w = np.array([0.2, 0.1, -0.4])
    step = 1e-6
    slopes = [(loss.value_and_grad(w + e)[0] - loss.value_and_grad(w - e)[0]) / (2.0 * step) for e in step * np.eye(3)]
    np.testing.assert_allclose(loss.value_and_grad(w)[1], slopes, rtol=1e-6)
