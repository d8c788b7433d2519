"""Exact solvers: known solutions, other libraries, each other, and the certificate."""

import numpy as np
import pytest
from helpers import STRENGTHS, make_data, pairwise_objective, scaled_penalty
from scipy import sparse
from sklearn.linear_model import ElasticNet, RidgeClassifier

from vrspam import AUCClassifier, ClassMoments, kernels
from vrspam.objective import LOSSES, Objective, SquaredPairLoss
from vrspam.objective import ElasticNet as Penalty
from vrspam.solvers import choose_solver, solve
from vrspam.solvers.base import State, proximal_point, run
from vrspam.solvers.gram import GramDescent, RidgePath, ridge_coefs
from vrspam.solvers.products import ColumnDescent, ConjugateGradient
from vrspam.solvers.smooth import ProximalGradient, TruncatedNewton

TOL = 1e-12


def objectives(X, y, l2, l1, weights=None):
    """The same problem as a matrix, as products with a dense X, and as products with a sparse X."""
    moments = ClassMoments.from_data(X, y, weights)
    positive = y == np.max(y)
    return {
        "gram": Objective.from_moments(moments, l2, l1),
        "products": Objective.from_rows(X, positive, weights, moments, l2, l1),
        "sparse": Objective.from_rows(sparse.csr_array(X), positive, weights, moments, l2, l1),
    }


ROUTES = ["gram", "products", "sparse"]


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("name", STRENGTHS)
@pytest.mark.parametrize("weighted", [False, True])
def test_same_minimiser_as_scikit_learns_elastic_net(route, name, weighted):
    """F is a weighted least-squares problem: rows (x_i - μ_class) with target 0, and δ with target 1.

    F - const = k/2 (Σ_i a_i ((x_i-μ)·w)² + (1 - δ·w)²) + Ω, a_i = weight over class weight; scikit-learn's
    ElasticNet minimises 1/(2N) ‖r‖² + alpha l1_ratio ‖w‖₁ + alpha (1 - l1_ratio)/2 ‖w‖².
    """
    X, y = make_data(150, 5, seed=1)
    weights = np.random.default_rng(0).uniform(0.2, 2.0, len(y)) if weighted else None
    moments = ClassMoments.from_data(X, y, weights)
    l2, l1 = scaled_penalty(moments, name)
    c = np.ones(len(y)) if weights is None else weights
    share = c / np.array([c[y == 0].sum(), c[y == 1].sum()])[y]
    means = np.array([np.average(X[y == label], axis=0, weights=c[y == label]) for label in (0, 1)])
    p = c[y == 1].sum() / c.sum()
    k = 2 * p * (1 - p)
    rows = np.vstack([np.sqrt(k * share)[:, None] * (X - means[y]), np.sqrt(k) * (means[1] - means[0])[None]])
    target = np.zeros(len(rows))
    target[-1] = np.sqrt(k)
    N = len(rows)
    oracle = ElasticNet(
        alpha=(l1 + l2) / N, l1_ratio=l1 / (l1 + l2), fit_intercept=False, tol=1e-14, max_iter=1_000_000
    ).fit(rows, target)
    objective = objectives(X, y, l2, l1, weights)[route]
    solution = solve(objective, tol=TOL, max_iter=100_000)
    assert solution.converged
    # ‖w - w*‖ ≤ √(2 gap / l2); scikit-learn's own gap is of the same order
    allowed = 2 * np.sqrt(2 * TOL * objective.scale / l2) + 1e-7 * np.linalg.norm(oracle.coef_)
    assert np.linalg.norm(solution.w - oracle.coef_) <= allowed
    if l1 > 0:
        np.testing.assert_array_equal(solution.w == 0, np.abs(oracle.coef_) < 1e-10)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.65])
def test_direction_and_length_of_balanced_ridge(share):
    X, y = make_data(400, 6, share=share, seed=2)
    p = y.mean()
    l2 = 0.05 * p * (1 - p)
    ours = AUCClassifier(l2=l2).fit(X, y)
    ridge = RidgeClassifier(class_weight="balanced", alpha=len(y) * l2 / (4 * p * (1 - p)), tol=1e-12).fit(X, y)
    moments = ours.moments_
    k = 2 * p * (1 - p)
    s = moments.delta @ np.linalg.solve(moments.within + l2 / k * np.eye(6), moments.delta)
    np.testing.assert_allclose(ours.coef_ * (1 + s) / (1 + s / 2), np.atleast_2d(ridge.coef_), rtol=1e-7)


@pytest.mark.parametrize("route", ROUTES)
def test_data_built_from_a_chosen_solution(route):
    """δ is chosen so that a given w solves (Σ + δδᵀ + l2/k) w = δ: δ = (1 - t)⁻¹ A w with A = Σ + l2/k I, t = δ·w."""
    rng = np.random.default_rng(4)
    w = np.array([1.0, -2.0, 0.5, 0.0])
    base = rng.standard_normal((200, 4)) @ rng.standard_normal((4, 4))
    y = np.repeat([0, 1], 100)
    base -= np.array([base[:100].mean(0), base[100:].mean(0)])[y]
    l2, k = 0.1, 0.5
    within = sum(base[y == c].T @ base[y == c] / 100 for c in (0, 1))
    A = within + l2 / k * np.eye(4)
    # t solves t = w·Aw / (1 - t), with a root below 1 when w is short enough
    w *= 0.4 / np.sqrt(w @ A @ w)
    t = (1 - np.sqrt(1 - 4 * (w @ A @ w))) / 2
    X = base + np.outer(y, A @ w / (1 - t))
    objective = objectives(X, y, l2, 0.0)[route]
    np.testing.assert_allclose(solve(objective, tol=1e-20, max_iter=1000).w, w, atol=1e-9)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("name", STRENGTHS)
def test_certificate_is_true_and_reached(route, name):
    X, y = make_data(200, 12, seed=5)
    moments = ClassMoments.from_data(X, y)
    l2, l1 = scaled_penalty(moments, name)
    objective = objectives(X, y, l2, l1)[route]
    best = solve(Objective.from_moments(moments, l2, l1), tol=1e-15, max_iter=10_000)
    for tol in (1e-2, 1e-5, 1e-9):
        solution = solve(objective, tol=tol, max_iter=10_000)
        assert solution.converged
        assert solution.gap <= tol * objective.scale
        assert -1e-12 <= solution.value - best.value <= solution.bound + 1e-14
        assert solution.gap == pytest.approx(objective.gap(solution.w), rel=1e-4, abs=1e-25)


class Counting:
    """Products by Σ, counted; each reads the rows twice: for Xw, and for Xᵀr."""

    def __init__(self, within):
        self.within, self.count = within, 0

    def __matmul__(self, w):
        self.count += 1
        return self.within @ w


@pytest.mark.parametrize("solver", [ConjugateGradient, ProximalGradient, TruncatedNewton])
def test_passes_are_how_often_the_rows_are_read(solver):
    X, y = make_data(120, 6, seed=8)
    moments = ClassMoments.from_data(X, y)
    within = Counting(moments.within)
    objective = Objective(SquaredPairLoss.from_operator(within, moments), Penalty(1e-3))
    solution = solver().solve(objective, tol=1e-8, max_iter=500)
    assert solution.converged
    assert solution.history["passes"][-1] == 1.0 + 2.0 * within.count  # one for the class means


def test_a_linear_term_goes_with_its_columns():
    X, y = make_data(80, 4, seed=9)
    moments, columns = ClassMoments.from_data(X, y), np.array([0, 2])
    whole = SquaredPairLoss.from_moments(moments).tilted(np.array([1.0, -2.0, 3.0, 5.0]))
    part, w = whole.restricted_to(columns, moments.within[np.ix_(columns, columns)]), np.array([0.3, 0.0, -0.7, 0.0])
    (value, grad), (of_part, grad_of_part) = whole.value_and_grad(w), part.value_and_grad(w[columns])
    assert of_part == pytest.approx(value, rel=1e-14)
    np.testing.assert_allclose(grad_of_part, grad[columns], rtol=1e-13)
    rows = SquaredPairLoss.from_rows(X, y == 1, None, moments)
    assert ColumnDescent().refuses(Objective(rows, Penalty(0.1, 0.1))) is None
    words = ColumnDescent().refuses(Objective(rows.tilted(np.ones(4)), Penalty(0.1, 0.1)))
    assert words == "it cannot take a linear term"


@pytest.mark.parametrize("route", ROUTES)
def test_large_l1_gives_exactly_zero(route):
    X, y = make_data()
    moments = ClassMoments.from_data(X, y)
    largest = 2 * moments.p * (1 - moments.p) * np.abs(moments.delta).max()
    objective = objectives(X, y, 0.01, largest * 1.0001)[route]
    assert not np.any(solve(objective, tol=TOL, max_iter=100).w)
    objective = objectives(X, y, 0.01, largest * 0.99)[route]
    assert np.any(solve(objective, tol=TOL, max_iter=1000).w)


def test_path_equals_single_solves():
    X, y = make_data(100, 8)
    moments = ClassMoments.from_data(X, y)
    objective = Objective.from_moments(moments, 1.0)
    l2s = 10.0 ** np.arange(-6, 4)
    path, coefs = RidgePath(l2s), ridge_coefs(objective.loss, l2s)
    for l2, coef in zip(l2s.tolist(), coefs, strict=True):
        point = Objective(objective.loss, Penalty(l2))
        solution = path.solve(point, tol=1e-10)
        single = solve(point, tol=1e-14, max_iter=1)
        np.testing.assert_allclose(solution.w, single.w, rtol=1e-7)
        np.testing.assert_allclose(coef, single.w, rtol=1e-7)
        assert solution.converged
        assert solution.value == pytest.approx(point.value(solution.w), rel=1e-13)


@pytest.mark.parametrize("route", ROUTES)
def test_without_l2_the_least_norm_solution(route):
    X, y = make_data(60, 4)
    X = np.hstack([X, 3.0 * X[:, :1], 0.2 * X[:, 1:2], np.ones((60, 1))])  # collinear and constant columns
    positive, negative = X[y == 1], X[y == 0]
    pairs = (positive[:, None] - negative[None]).reshape(-1, X.shape[1])
    expected = np.linalg.pinv(pairs) @ np.ones(len(pairs))
    objective = objectives(X, y, 0.0, 0.0)[route]
    solution = solve(objective, tol=1e-10, max_iter=1000)
    np.testing.assert_allclose(solution.w, expected, atol=1e-6 * np.abs(expected).max())
    assert solution.gap is None
    # Asking for more than the arithmetic can give must not wander off into the null space.
    idle = solve(objective, tol=1e-30, max_iter=1000)
    np.testing.assert_allclose(idle.w, expected, atol=1e-6 * np.abs(expected).max())


def test_ill_conditioned_paths_are_certified_by_cholesky_and_refinement():
    """Eigenvectors alone certify one in ten of these problems, Cholesky without refinement two in three."""
    l2, certified = 1e-12, 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        spectrum, Q = np.logspace(0, -17, 20), np.linalg.qr(rng.standard_normal((20, 20)))[0]
        within, delta = (Q * spectrum) @ Q.T, Q @ (rng.standard_normal(20) * np.sqrt(spectrum))
        matrix = (within + within.T) / 2.0
        loss = SquaredPairLoss(0.3, delta, matrix, np.diagonal(within).copy(), matrix=matrix)
        objective = Objective(loss, Penalty(l2))
        solution = RidgePath(np.array([l2])).solve(objective, tol=1e-12)
        gap = np.linalg.norm(objective.gradient(solution.w) + l2 * solution.w) ** 2 / (2.0 * l2)
        assert solution.converged == (gap <= 1e-12 * 0.21)
        certified += solution.converged
    assert certified >= 64


def test_the_proximal_point_of_one_coordinate_is_the_minimiser():
    """f is a parabola whose curvature is the trace: one step of 1/trace ends at the soft-thresholded vertex."""
    delta, variance, pq = 0.7, 2.0, 0.21
    for l1, start in ((0.0, -3.0), (0.05, 2.0), (0.2, 2.0), (1.0, 2.0)):
        loss = SquaredPairLoss(0.3, np.array([delta]), np.array([[variance]]), np.array([variance]))
        objective = Objective(loss, Penalty(0.0, l1))
        w = np.array([start])
        curvature = 2 * pq * (variance + delta**2)
        expected = max(2 * pq * delta - l1, 0.0) / curvature
        assert proximal_point(objective, w, objective.gradient(w)) == pytest.approx([expected], abs=1e-14)


@pytest.mark.parametrize("route", ROUTES)
def test_without_l2_but_with_l1(route):
    X, y = make_data(60, 4)
    moments = ClassMoments.from_data(X, y)
    l1 = 0.3 * moments.p * np.abs(moments.delta).max()
    objective = objectives(X, y, 0.0, l1)[route]
    solution = solve(objective, tol=1e-10, max_iter=100_000)
    grad = objective.gradient(solution.w)
    assert np.all(np.abs(grad) <= l1 * (1 + 1e-4))
    used = solution.w != 0
    np.testing.assert_allclose(grad[used], -l1 * np.sign(solution.w[used]), rtol=1e-3)


def test_ill_conditioned_elastic_net_is_certified():
    """Nearly collinear columns and tiny penalties: coordinate descent alone would crawl for ever."""
    rng = np.random.default_rng(0)
    base = rng.standard_normal((500, 20))
    X = np.hstack([base, base + 1e-4 * rng.standard_normal((500, 20))])
    y = (base @ rng.standard_normal(20) + rng.standard_normal(500) > 1).astype(int)
    moments = ClassMoments.from_data(X, y)
    objective = Objective.from_moments(moments, 1e-9, 1e-7)
    solution = GramDescent().solve(objective, tol=1e-8, max_iter=1000)
    assert solution.converged
    zeros = solution.w == 0
    grad = objective.gradient(solution.w)
    np.testing.assert_allclose(grad[~zeros] + 1e-9 * solution.w[~zeros], -1e-7 * np.sign(solution.w[~zeros]), atol=1e-9)
    assert np.all(np.abs(grad[zeros]) <= 1.01e-7)


@pytest.mark.parametrize("l2", [1e-300, 1e-40, 1e-20])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_an_l2_below_rounding_is_like_none(l2):
    """A tiny l2 must not blow up the result: it stays near the least-norm solution, whatever the certificate says."""
    X, y = make_data(80, 4)
    X = np.hstack([X, X[:, :1], np.ones((80, 1)), X @ np.ones((4, 1))])
    moments = ClassMoments.from_data(X, y)
    least = solve(Objective.from_moments(moments, 0.0), tol=1e-8, max_iter=1)
    solution = solve(Objective.from_moments(moments, l2), tol=1e-8, max_iter=1)
    np.testing.assert_allclose(solution.w, least.w, rtol=1e-3, atol=1e-3)


def test_warm_start_gives_the_same_answer_sooner():
    X, y = make_data(200, 30, seed=7)
    moments = ClassMoments.from_data(X, y)
    l2, l1 = scaled_penalty(moments, "net")
    for objective in objectives(X, y, l2, l1).values():
        cold = solve(objective, tol=1e-10, max_iter=10_000)
        warm = solve(objective, tol=1e-10, max_iter=10_000, w0=cold.w)
        np.testing.assert_array_equal(warm.w == 0, cold.w == 0)
        assert warm.n_iter <= 1


def test_rule_for_choosing_a_solver():
    assert choose_solver(10, 1_000, False) == choose_solver(10, 1_000, True) == "moments"
    assert choose_solver(10_000, 5_000, False) == "moments"
    assert choose_solver(3_000, 5_000, False) == "products"
    assert choose_solver(10**7, 5_001, False) == "products"
    assert choose_solver(100, 2_000, True) == "moments"
    assert choose_solver(10**7, 2_001, True) == "products"


@pytest.mark.parametrize("l1_share", [0.0, 0.2])
def test_a_million_sparse_features(l1_share):
    """A d×d matrix would need 8 TB; X has 100 nonzeros per row and is never made dense."""
    rng = np.random.default_rng(0)
    n, d, per_row = 2_000, 1_000_000, 100
    indices = rng.integers(0, d, n * per_row)
    indices[::per_row] = rng.integers(0, 50, n)  # a few common columns carry the signal
    X = sparse.csr_array((rng.standard_normal(n * per_row), indices, np.arange(0, n * per_row + 1, per_row)), (n, d))
    y = (X[:, :50].sum(axis=1) + 0.3 * rng.standard_normal(n) > 0.5).astype(int)
    moments = ClassMoments.from_data(X, y, scatter=False)
    l1 = l1_share * 2 * moments.p * (1 - moments.p) * np.abs(moments.delta).max()
    model = AUCClassifier(l1=l1, l2=1e-3, tol=1e-6).fit(X, y)
    assert model.solver_ == "products"
    assert model.gap_ <= 1e-6 * moments.p * (1 - moments.p)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("l2", [1e-3, 1.0])
def test_the_closed_form_is_right_before_any_refinement(l2):
    """On well-conditioned data one Cholesky solve is already certified: nothing is left for refinement to repair."""
    X, y = make_data(400, 6, seed=3)
    solution = solve(Objective.from_moments(ClassMoments.from_data(X, y), l2, 0.0), tol=1e-13, max_iter=100)
    assert solution.converged
    assert solution.n_iter == 1


class Provisional:
    """A solver that only offers a final point; its value and gradient do not belong to any point."""

    def __init__(self, offered):
        self.offered = offered

    def refuses(self, objective):
        return None

    def init(self, objective):
        return State(np.ones(3), np.full(3, 1e9), 1e9)

    def epoch(self, objective, state):
        state.candidate, state.fresh, state.grad = self.offered, False, np.full(3, 1e9)


@pytest.mark.parametrize("max_iter", [1, 4])
def test_what_is_handed_back_is_evaluated_also_when_time_is_up(max_iter):
    X, y = make_data(60, 3)
    objective = Objective.from_moments(ClassMoments.from_data(X, y), 0.1, 0.02)
    offered = np.array([0.0, 0.1, 0.0])
    solution = run(Provisional(offered), objective, tol=1e-8, max_iter=max_iter)
    assert not solution.converged
    assert solution.n_iter == max_iter
    np.testing.assert_array_equal(solution.w, offered)
    assert solution.value == pytest.approx(float(pairwise_objective(X, y, offered, 0.1, 0.02)), rel=1e-12)
    assert solution.history["objective"][-1] == solution.value
    assert 0.0 < solution.history["gap"][-1] == solution.bound < 1e3


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_a_sweep_over_columns_minimises_one_coordinate_after_the_other(container):
    X, y = make_data(80, 5, seed=6)
    X[np.random.default_rng(0).random(X.shape) < 0.4] = 0.0
    moments = ClassMoments.from_data(X, y)
    objective = Objective.from_rows(container(X), y == 1, None, moments, 0.05, 0.02)
    solver, start = ColumnDescent(), np.array([0.3, 0.0, -0.2, 0.1, 0.0])
    solver.init(objective)
    w, scores = start.copy(), np.zeros(80)
    kernels.weighted_row_sum(solver._columns, np.arange(5), w, scores)
    running = np.array([*(solver._means @ w), moments.delta @ w])
    diagonal = objective.loss.curvature()
    kernels.column_sweep(
        solver._columns, solver._means, moments.delta, objective.loss.k, diagonal, w, scores, running,
        objective.penalty, False,
    )  # fmt: skip
    expected = start.copy()
    for j in range(5):
        pull = diagonal[j] * expected[j] - objective.gradient(expected)[j]
        expected[j] = np.sign(pull) * max(abs(pull) - 0.02, 0.0) / (diagonal[j] + 0.05)
    np.testing.assert_allclose(w, expected, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(running, [*(solver._means @ w), moments.delta @ w], rtol=1e-10)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_of_the_table_can_be_named(name):
    X, y = make_data(80, 3)
    model = AUCClassifier(loss=name).fit(X, y)
    assert model.gap_ <= 1e-8
    assert f'"{name}"' in (AUCClassifier.__doc__ or "")
    with pytest.raises(ValueError, match=f"'loss' parameter of AUCClassifier must be .*'{name}'"):
        AUCClassifier(loss="other").fit(X, y)
