"""Signs, boxes and curves that rise: against Lawson and Hanson's solver of other programs, and definitions.

All of these problems are least squares with coefficients that are not negative, which SciPy solves: with D the
differences of all pairs, the squared hinge Σ max(0, 1 - Dw)² is the least of ‖1 - Dw + s‖² over s ≥ 0.
"""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import lsq_linear, nnls

from vrspam import AUCClassifier, ClassMoments, ConcordanceRanker, VRSPAMClassifier, coef_path
from vrspam.objective import Bounded, ElasticNet, Limits, Objective, Separable, SquaredHingeLoss, SquaredPairLoss
from vrspam.penalties.shaped import Rising, Shaped, nonnegative_minimum
from vrspam.solvers import solve


def problem(seed, d=4, n=14):
    """Rows, labels and limits: signs of some columns, and one curve of three features that must rise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d))
    y = (np.arange(n) < rng.integers(3, n - 3)).astype(int)
    return rng, X, y


def pair_program(X, y, l2, hinge):
    """Matrix and target of the least squares problem; its first unknowns are w, the others s ≥ 0."""
    D = (X[y == 1][:, None] - X[y == 0][None]).reshape(-1, X.shape[1])
    weight = np.sqrt(y.mean() * (1 - y.mean()) / len(D))
    slack = -weight * np.eye(len(D)) if hinge else np.zeros((len(D), 0))
    below = np.hstack([np.sqrt(l2 / 2) * np.eye(X.shape[1]), np.zeros((X.shape[1], slack.shape[1]))])
    matrix = np.vstack([np.hstack([weight * D, slack]), below])
    return matrix, np.concatenate([np.full(len(D), weight), np.zeros(X.shape[1])])


def loss_of(X, y, hinge):
    moments = ClassMoments.from_data(X, y)
    return SquaredHingeLoss(X, y == 1, None, moments) if hinge else SquaredPairLoss.from_moments(moments)


def check(objective, best, value, tol=1e-18):
    """The solution is the oracle's, and its certificate holds at it and at a coarse one."""
    found = solve(objective, tol=tol, max_iter=5_000)
    np.testing.assert_allclose(found.w, best, atol=1e-8, rtol=1e-8)
    assert found.value - value <= found.bound + 1e-14
    assert found.bound <= 1e-10
    return found


@pytest.mark.parametrize("hinge", [False, True])
@pytest.mark.parametrize("l1", [0.0, 0.03])
def test_signs_against_lawson_and_hanson(hinge, l1):
    """All coefficients have a sign, so that l1 is a linear term: completing the square makes it least squares."""
    bound = 0
    for seed in range(40):
        rng, X, y = problem(seed)
        signs, l2 = rng.choice([-1.0, 1.0], 4), float(10 ** rng.uniform(-4, 0))
        matrix, target = pair_program(X * signs, y, l2, hinge)
        # ‖Mz - t‖² + l1·z is ‖Mz - u‖² and a constant, with Mᵀu = Mᵀt - l1/2
        q, r = np.linalg.qr(matrix)
        more = np.linalg.solve(r.T, np.where(np.arange(matrix.shape[1]) < 4, l1 / 2, 0.0))
        oracle = nnls(matrix, target - q @ more, maxiter=10_000)[0][:4] * signs
        limits = Limits(np.where(signs > 0, 0.0, -np.inf), np.where(signs < 0, 0.0, np.inf))
        objective = Objective(loss_of(X, y, hinge), limits(ElasticNet(l2, l1)))
        check(objective, oracle, objective.value(oracle))
        bound += int((oracle == 0).sum())
    assert bound > 20  # many limits were reached


@pytest.mark.parametrize("hinge", [False, True])
def test_boxes_against_bounded_least_squares(hinge):
    for seed in range(25):
        rng, X, y = problem(seed)
        l2, high = float(10 ** rng.uniform(-3, 0)), float(rng.uniform(0.02, 0.3))
        matrix, target = pair_program(X, y, l2, hinge)
        n_slack = matrix.shape[1] - 4
        ends = (
            np.append(np.full(4, -high / 2), np.zeros(n_slack)),
            np.append(np.full(4, high), np.full(n_slack, np.inf)),
        )
        oracle = np.clip(lsq_linear(matrix, target, ends, method="bvls", tol=1e-15).x[:4], -high / 2, high)
        objective = Objective(loss_of(X, y, hinge), Bounded(ElasticNet(l2), np.full(4, -high / 2), np.full(4, high)))
        found = check(objective, oracle, objective.value(oracle))
        assert found.w.min() >= -high / 2
        assert found.w.max() <= high


def test_bounds_around_another_convex_penalty_have_no_certificate():
    """l2/2 w² + l1 (√(1 + w²) - 1) is smooth at 0, where F with the slope ½ still falls: no gap of 0 may be claimed."""

    class Numbers(NamedTuple):
        l2: float
        l1: float

    class Smooth(Numbers, Separable):
        is_convex = True
        strong_convexity = 0.1

        def value(self, w):
            return float(np.sum(self.l2 / 2 * w**2 + self.l1 * (np.sqrt(1 + w**2) - 1)))

    inside = Bounded(Smooth(0.1, 1.0), np.full(1, -1.0), np.full(1, 1.0))
    w, grad = np.zeros(1), np.full(1, 0.5)
    assert inside.value(w - 0.4) - 0.4 * grad[0] < inside.value(w) - 0.1
    assert np.isnan(inside.gap(w, grad))


def test_a_column_without_bounds_may_be_none():
    _, X, y = problem(0, d=2)
    pairs = AUCClassifier(bounds=[(0.0, 0.01), (None, None)]).fit(X, y)
    np.testing.assert_array_equal(AUCClassifier(bounds=[(0.0, 0.01), None]).fit(X, y).coef_, pairs.coef_)
    assert 0.0 <= pairs.coef_[0, 0] <= 0.01
    with pytest.raises(ValueError, match=r"bounds= must hold pairs \(lower, upper\) with 0 between them.*got 3"):
        AUCClassifier(bounds=[3, (0.0, 1.0)]).fit(X, y)


def rising_curve(rng, q=3):
    rows = rng.standard_normal((q, q)) + 2 * np.eye(q)
    return Rising(slice(1, 1 + q), rows, np.arange(q) >= rng.integers(0, 2))


@pytest.mark.parametrize("hinge", [False, True])
def test_curves_against_lawson_and_hanson(hinge):
    """In v = rows @ w the limit is a sign; what has none is split into two parts that are not negative."""
    bound = 0
    for seed in range(40):
        rng, X, y = problem(seed, d=5, n=20)
        l2, curve = float(10 ** rng.uniform(-4, 0)), rising_curve(rng)
        limits = Limits(np.full(5, -np.inf), np.append(np.full(4, np.inf), 0.0), [curve])
        matrix, target = pair_program(X, y, l2, hinge)
        back = np.eye(matrix.shape[1])
        back[1:4, 1:4] = np.linalg.inv(curve.rows)
        back[4, 4] = -1.0
        free = np.append(True, ~curve.bound)
        columns = matrix @ back
        oracle = nnls(np.hstack([columns, -columns[:, :4][:, free]]), target, maxiter=10_000)[0]
        v = oracle[: matrix.shape[1]].copy()
        v[:4][free] -= oracle[matrix.shape[1] :]
        w = (back @ v)[:5]
        objective = Objective(loss_of(X, y, hinge), limits(ElasticNet(l2)))
        found = check(objective, w, objective.value(w))
        assert (curve.rows @ found.w[1:4])[curve.bound].min() >= -1e-12
        assert found.w[4] <= 0.0
        bound += int((v[1:4][curve.bound] == 0).sum())
    assert bound > 20  # many limits were reached


def test_gap_of_curves_bounds_every_point_inside():
    """F(w) - F(u) ≤ gap(w) for all w and u inside, and at the nearest point to -grad/l2 the gap is 0."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        curve = rising_curve(rng)
        limits = Limits(np.full(5, -np.inf), np.append(np.full(4, np.inf), 0.0), [curve])
        penalty = Shaped(0.5, limits.blocks())
        back = np.linalg.inv(curve.rows)

        def inside(back=back, curve=curve):
            w = rng.standard_normal(5)
            w[1:4] = back @ np.where(curve.bound, np.abs(w[1:4]), w[1:4])
            w[4] = -abs(w[4])
            return w

        w, grad = inside(), rng.standard_normal(5)
        gap = penalty.gap(w, grad)
        assert all(
            gap >= penalty.value(w) - penalty.value(u) + grad @ (w - u) - 1e-12 for u in (inside() for _ in range(100))
        )
        best = penalty.prox(-1e12 * grad, 1e12)  # argmin grad·u + l2/2 ‖u‖²
        assert penalty.gap(best, grad) <= 1e-9
        exact = penalty.value(w) + grad @ w - penalty.value(best) - grad @ best
        assert gap == pytest.approx(exact, rel=1e-6, abs=1e-9)


def test_pivoting_ends_and_is_the_minimum():
    """Against Lawson and Hanson, from any start."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        d = int(rng.integers(1, 12))
        root = rng.standard_normal((d + 2, d)) * 10.0 ** rng.uniform(-2, 2, d)
        b = rng.standard_normal(d + 2)
        v, slope = nonnegative_minimum(root.T @ root, root.T @ b, np.ones(d, dtype=bool), rng.random(d) < 0.5)
        oracle = nnls(root, b)[0]
        scale = np.linalg.norm(root, axis=0)
        np.testing.assert_allclose(v * scale, oracle * scale, atol=1e-8)
        assert (slope >= -1e-9 * scale).all()
        assert v.min() >= 0.0


def test_estimators_share_the_limits():
    """AUCClassifier, coef_path and the stochastic method find the same coefficients; names and arrays say the same."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    y = (X @ [1.0, -1.0, 0.5, 0.0] + rng.standard_normal(300) > 0).astype(int)
    exact = AUCClassifier(l2=0.05, l1=0.01, monotonic_cst=[1, 1, -1, 0]).fit(X, y)
    assert exact.coef_[0, 0] > 0.0
    assert exact.coef_[0, 1] == 0.0
    assert exact.coef_[0, 2] == 0.0
    named = AUCClassifier(l2=0.05, l1=0.01, monotonic_cst={"a": 1, "b": 1, "c": -1})
    np.testing.assert_array_equal(named.fit(pd.DataFrame(X, columns=list("abcd")), y).coef_, exact.coef_)
    ranker = ConcordanceRanker(l2=0.05, l1=0.01, monotonic_cst=[1, 1, -1, 0]).fit(X, y)
    np.testing.assert_allclose(ranker.coef_, exact.coef_, atol=1e-6)
    path = coef_path(ClassMoments.from_data(X, y), [0.05], [0.01], monotonic_cst=[1, 1, -1, 0])
    np.testing.assert_allclose(path[0, 0], exact.coef_[0], atol=1e-6)
    slow = VRSPAMClassifier(l2=0.05, l1=0.01, monotonic_cst=[1, 1, -1, 0], tol=1e-13, max_iter=500, random_state=0)
    np.testing.assert_allclose(slow.fit(X, y).coef_, exact.coef_, atol=1e-5)
    assert (slow.coef_[0, 1:3] == 0.0).all()


def test_positive_is_nonnegative_ridge_in_direction():
    """Without l1 the direction is that of class-balanced ridge regression, with the same signs: by NNLS."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 6))
    X -= X.mean(axis=0)
    y = (X[:, 0] - X[:, 1] + rng.standard_normal(200) > 0).astype(int)
    model = AUCClassifier(l2=0.1, positive=True, tol=1e-15).fit(X, y)
    matrix, target = pair_program(X, y, 0.1, hinge=False)
    np.testing.assert_allclose(model.coef_[0], nnls(matrix, target)[0], atol=1e-8)
    assert model.gap_ < 1e-9


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"monotonic_cst": [1, 0]}, "2 values for 3 columns"),
        ({"monotonic_cst": [1, 0, 2]}, "must hold -1"),
        ({"monotonic_cst": {"a": 1}}, "have no names"),
        ({"monotonic_cst": [1, 0, -1], "positive": True}, "contradict"),
        ({"bounds": (1.0, 2.0)}, "with 0 between"),
        ({"bounds": [(0, 1)]}, "1 values for 3 columns"),
        ({"bounds": (-1.0, 1.0), "penalty": "mcp", "l1": 0.1}, "cannot be combined with these bounds"),
    ],
)
def test_misuse_is_told_in_a_sentence(options, words):
    X, y = np.random.default_rng(0).standard_normal((20, 3)), np.arange(20) % 2
    with pytest.raises(ValueError, match=words):
        AUCClassifier(**options).fit(X, y)
