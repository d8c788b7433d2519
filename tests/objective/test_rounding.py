"""Certificates hold in floating point: bounds on rounding, against exact rational arithmetic."""

from __future__ import annotations

import warnings
from collections import Counter
from fractions import Fraction
from unittest import mock

import fuzz
import numpy as np
import pytest
from exact_oracle import ExactProblem, as_integers, power
from exact_oracle import solve as solve_exactly
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from vrspam import AUCClassifier, ClassMoments, SlidingMoments, VRSPAMClassifier, coef_path
from vrspam._utils.validation import Rows
from vrspam.objective import ElasticNet, Objective, PenaltyFamily, SquaredPairLoss, products
from vrspam.pairs import LossChoice, Ranked
from vrspam.solvers import exact, solve
from vrspam.solvers.base import certify
from vrspam.solvers.exact import refine
from vrspam.solvers.gram import GramDescent
from vrspam.solvers.row_gradients import TrainingRows
from vrspam.solvers.smooth import ProximalGradient


def excess_and_gap(model, X, y, weights=None, l1=0.0):
    """F(coef_) - F* by the oracle, and gap_, both in units of F(0)."""
    problem = ExactProblem(X, y, weights)
    best = problem.value(problem.minimiser(model.l2_, l1, model.coef_[0]), model.l2_, l1)
    excess = problem.value(model.coef_[0], model.l2_, l1) - best
    return float(excess / problem.scale), model.gap_ / float(problem.scale)


def float32_rows(kind, n, d=6):
    """Columns on which sums in float32 go wrong, and labels."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, d))
    if kind == "sorted":
        X = np.sort(X, axis=0)
    elif kind == "lognormal":
        X = np.exp(3.0 * X)
    elif kind == "one outlier per class":
        X[0], X[1] = 1e4, -1e4
    else:
        X[:: n // 64] = 1e4
    score = X[:, 0] / X[:, 0].std() + rng.standard_normal(n)
    return X.astype(np.float32), (score > np.quantile(score, 0.7)).astype(int)


@pytest.mark.parametrize("kind", ["sorted", "lognormal", "one outlier per class", "strided outliers"])
@pytest.mark.parametrize("coarse_from", [0, 256])
def test_the_gap_of_float32_rows_is_an_upper_bound(kind, coarse_from):
    """Multiplied in float32 and certified by the rows, or multiplied in float64 from the start."""
    X, y = float32_rows(kind, 40_000 if kind == "lognormal" else 20_000)
    with mock.patch.object(exact, "COARSE_FROM", coarse_from):
        model = AUCClassifier().fit(X, y)
    excess, gap = excess_and_gap(model, X, y)
    assert excess <= gap <= 1e-8


def test_float32_moments_say_how_coarse_they_are():
    """Without the rows nothing makes up for products in float32: the gap has room for them, and `fit_moments` warns."""
    X, y = float32_rows("sorted", 20_000)
    moments = ClassMoments().add_checked(X, y, precise=False)
    with pytest.warns(ConvergenceWarning, match="rows in float64"):
        model = AUCClassifier().fit_moments(moments)
    excess, gap = excess_and_gap(model, X, y)
    assert excess <= gap < 1.0
    assert AUCClassifier().fit_moments(ClassMoments.from_data(X, y)).gap_ <= 1e-8 * moments.p * moments.q


def rows_and_burst():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 4)), rng.integers(0, 2, 300)
    burst, labels = 1e8 * rng.standard_normal((40, 4)), np.arange(40) % 2
    clean = ClassMoments.from_data(X, y)
    return X, y, clean, ClassMoments.from_data(burst, labels)


def test_a_burst_that_was_taken_out_shows_in_the_gap_and_in_a_warning():
    X, y, clean, burst = rows_and_burst()
    left = clean + burst - burst
    assert left.has_cancelled
    assert left != clean
    with pytest.warns(ConvergenceWarning, match="Subtracting has cost these moments most of their digits"):
        model = AUCClassifier().fit_moments(left)
    excess, gap = excess_and_gap(model, X, y)
    assert excess > 1e-6  # it did harm
    assert excess <= gap
    with pytest.warns(ConvergenceWarning, match="Subtracting has cost these moments most of their digits"):
        coef_path(left)


def test_a_harmless_subtraction_costs_nothing(recwarn):
    X, y, clean, _ = rows_and_burst()
    other = ClassMoments.from_data(3.0 + X[:100], y[:100])
    left = clean + other - other
    assert left == clean
    model = AUCClassifier().fit_moments(left)
    excess, gap = excess_and_gap(model, X, y)
    assert excess <= gap <= 1e-8
    assert not recwarn.list


@pytest.mark.parametrize("shift", [0.0, 9e7])
def test_a_tiny_l2_and_a_large_shift(shift):
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((60, 5)) + shift, np.arange(60) % 4 == 0
    X[y, 0] += 1.0
    l2 = 1e-14 * ExactProblem(X, y).unit()
    for model in (AUCClassifier(l2).fit(X, y), AUCClassifier(l2).fit_moments(ClassMoments.from_data(X, y))):
        excess, gap = excess_and_gap(model, X, y)
        assert excess <= gap <= 1e-8
        problem = ExactProblem(X, y)
        assert model.objective_ == pytest.approx(float(problem.value(model.coef_[0], l2, 0.0)), rel=1e-9)


def exact_statistics(X, weights):
    """Weight, mean and scatter of rows, as fractions."""
    c, unit = as_integers(weights)
    total = int(c.sum())
    columns = [as_integers(column) for column in np.asarray(X, dtype=np.float64).T]
    sums = [int(c @ digits) for digits, _ in columns]
    scale = [power(exponent) for _, exponent in columns]
    mean = [Fraction(s, total) * u for s, u in zip(sums, scale, strict=True)]
    scatter = [
        [
            (Fraction(int((c * a) @ b)) - Fraction(sums[i] * sums[j], total)) * scale[i] * scale[j] * power(unit)
            for j, (b, _) in enumerate(columns)
        ]
        for i, (a, _) in enumerate(columns)
    ]
    return Fraction(total) * power(unit), mean, scatter


def assert_bounds_hold(statistics, X, weights):
    """The errors of the statistics are within their bounds."""
    weight, mean, scatter = exact_statistics(X, np.ones(len(X)) if weights is None else weights)
    errors, d = statistics.errors, statistics.mean.size
    assert abs(Fraction(statistics.weight) - weight) <= Fraction(errors.weight)
    for j in range(d):
        held = Fraction(statistics.mean[j]) + Fraction(statistics.low[j])
        assert abs(held - mean[j]) <= Fraction(errors.mean[j])
    full = statistics.scatter.ndim == 2
    for i in range(d):
        for j in range(d) if full else [i]:
            held = Fraction(statistics.scatter[i, j] if full else statistics.scatter[i])
            assert (held - scatter[i][j]) ** 2 <= Fraction(errors.scatter[i]) * Fraction(errors.scatter[j])


def wild_rows(rng, n, d):
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-5, 5, d) * 10.0 ** rng.uniform(-2, 4)
    X += X.std(axis=0) * rng.choice([0.0, 1.0, 1e3, 1e8], d)
    return X


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("weighted", [False, True])
def test_bounds_of_statistics_hold_through_sums_and_differences(seed, weighted):
    rng = np.random.default_rng(seed)
    parts, d = [], 3
    for size in rng.integers(2, 25, 4):
        X = wild_rows(rng, size, d)
        if seed % 3 == 0:
            X = X.astype(np.float32)
        given = rng.uniform(0.1, 9.0, size) if weighted else None
        thin = sparse.csr_array(X * (rng.random(X.shape) < 0.8)) if seed % 4 == 1 else X
        gathered = ClassMoments(scatter=seed % 5 != 0).add_checked(
            thin, np.zeros(size, dtype=int), given, precise=seed % 2 == 0
        )
        dense = thin.toarray() if sparse.issparse(thin) else thin
        parts.append((dense.astype(np.float64), given, gathered))
        assert_bounds_hold(gathered._stats[0], dense, given)
    total = parts[0][2] + parts[1][2] + parts[2][2] + parts[3][2]
    for kept in ([0, 1, 2, 3], [0, 1, 3], [0, 1]):
        left = total
        for number in set(range(4)) - set(kept):
            left = left - parts[number][2]
        rows = np.concatenate([parts[number][0] for number in kept])
        weights = np.concatenate([parts[number][1] for number in kept]) if weighted else None
        assert_bounds_hold(left._stats[0], rows, weights)


@pytest.mark.parametrize("chunk", [4, 1024])
def test_bounds_hold_for_many_chunks_and_blocks(chunk, monkeypatch):
    import vrspam.moments._sums as module

    monkeypatch.setattr(module, "CHUNK_ROWS", chunk)
    monkeypatch.setattr(module, "COARSE_CHUNK_ROWS", chunk)
    rng = np.random.default_rng(0)
    X = np.sort(wild_rows(rng, 500, 2), axis=0)
    for rows in (X, X.astype(np.float32)):
        moments = ClassMoments().add_checked(rows, np.zeros(500, dtype=int), precise=False)
        assert_bounds_hold(moments._stats[0], rows, None)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("precise", [False, True])
def test_bounds_hold_for_rows_that_several_threads_gather(weighted, precise, monkeypatch):
    import vrspam.moments._gather as module

    monkeypatch.setattr(module, "THREAD_PRODUCTS", 1)
    monkeypatch.setattr(module, "blas_thread_count", lambda: 3)
    monkeypatch.setattr(module, "CHUNK_ROWS", 32)
    monkeypatch.setattr(module, "WINDOW_ROWS", 100)
    rng = np.random.default_rng(3)
    X, y = wild_rows(rng, 700, 3), rng.integers(0, 2, 700)
    weights = rng.uniform(0.1, 9.0, 700) if weighted else None
    some = np.flatnonzero(rng.random(700) < 0.7)
    for rows in (X, X.astype(np.float32)):
        for index in (None, some):
            moments = ClassMoments().add_checked(rows, y, weights, index=index, precise=precise)
            for label in (0, 1):
                chosen = np.flatnonzero(y == label) if index is None else some[y[some] == label]
                assert moments._stats[label].rows == chosen.size
                given = None if weights is None else weights[chosen]
                assert_bounds_hold(moments._stats[label], rows[chosen].astype(np.float64), given)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_bounds_hold_in_a_window_that_was_repaired(make):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((90, 3)) + np.array([0.0, 1e3, 0.0])
    X[:10, 1:] *= 1e9
    window = SlidingMoments(30)
    for start in range(0, 90, 6):
        window.update(make(X[start : start + 6]), np.zeros(6, dtype=int))
        seen = X[max(0, start - 24) : start + 6]
        assert_bounds_hold(window.moments._stats[0], seen, None)


@pytest.mark.parametrize("seed", range(6))
def test_bounds_of_gradients_and_values_hold(seed):
    rng = np.random.default_rng(seed)
    X, y = wild_rows(rng, 30, 4), np.arange(30) % 3 == 0
    weights = rng.uniform(0.5, 2.0, 30) if seed % 2 else None
    problem, moments = ExactProblem(X, y, weights), ClassMoments.from_data(X, y, weights)
    rows = TrainingRows(X, y, weights, moments)
    losses = {
        "moments": SquaredPairLoss.from_moments(moments),
        "rows": SquaredPairLoss.from_rows(X, y, weights, moments),
        "centred rows": SquaredPairLoss.from_centred_rows(X, y, weights, moments),
        "CSR rows": SquaredPairLoss.from_rows(sparse.csr_array(X), y, weights, moments),
        "centred CSR rows": SquaredPairLoss.from_centred_rows(sparse.csr_array(X), y, weights, moments),
        "training rows": SquaredPairLoss.from_operator(rows, moments),
    }
    w = rng.standard_normal(4) / X.std(axis=0)
    true = problem.gradient([Fraction(x) for x in w])
    for name, loss in losses.items():
        value, grad = loss.value_and_grad(w)
        error = float(sum((Fraction(a) - b) ** 2 for a, b in zip(grad, true, strict=True))) ** 0.5
        assert error <= loss.gradient_error(w, grad), name
        assert loss.errors is not None
        error = loss.errors.of_value(w, value, loss.scale, loss.delta)
        assert abs(Fraction(value) - problem.value(w, 0.0, 0.0)) <= Fraction(error), name


def test_a_wrong_gradient_moves_the_root_of_the_gap_by_no_more_than_the_slack():
    rng = np.random.default_rng(0)
    for _ in range(500):
        penalty = ElasticNet(10.0 ** rng.uniform(-3, 1), rng.choice([0.0, 0.5]))
        w = rng.standard_normal(4) * (rng.random(4) < 0.6)
        grad, error = rng.standard_normal(4), 10.0 ** rng.uniform(-3, 1) * rng.standard_normal(4)
        slack = np.linalg.norm(error) / np.sqrt(2.0 * penalty.l2)
        assert np.sqrt(penalty.gap(w, grad + error)) <= (np.sqrt(penalty.gap(w, grad)) + slack) * (1.0 + 1e-9)


@pytest.mark.parametrize("l1", [0.0, 0.02])
def test_coarse_moments_lead_to_the_optimum_of_the_rows(l1):
    """A matrix with errors of 1e-3 in every entry: refinement by products with the rows makes up for them."""
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((400, 6)), rng.integers(0, 2, 400)
    X[y == 1, :2] += 0.5
    moments = ClassMoments.from_data(X, y)
    coarse, penalty = SquaredPairLoss.from_moments(moments), ElasticNet(1e-2, l1)
    noise = 1e-3 * rng.standard_normal((6, 6))
    assert coarse.matrix is not None
    coarse.matrix[:] += noise + noise.T
    objective = Objective(SquaredPairLoss.from_centred_rows(X, y == 1, None, moments), penalty)
    start = certify(objective, np.zeros(6), 1, 1e-12)
    solution = refine(objective, coarse, start, tol=1e-12, max_iter=1000)
    assert solution.converged
    best = ExactProblem(X, y).minimiser(1e-2, l1, solution.w)
    np.testing.assert_allclose(solution.w, [float(x) for x in best], atol=1e-5)


@pytest.mark.parametrize("l2", [0.0, 1e-2])
def test_refinement_goes_on_without_a_certificate(l2):
    """For l2 = 0, and for penalties that are not convex, the gap is NaN: then the violation decides."""
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((400, 6)), rng.integers(0, 2, 400)
    X[y == 1, :2] += 0.5
    moments = ClassMoments.from_data(X, y)
    coarse = SquaredPairLoss.from_moments(moments)
    penalty = PenaltyFamily("mcp")(coarse)(l2, 0.02) if l2 else ElasticNet(0.0, 0.02)
    noise = 1e-3 * rng.standard_normal((6, 6))
    assert coarse.matrix is not None
    coarse.matrix[:] += noise + noise.T
    objective = Objective(SquaredPairLoss.from_centred_rows(X, y == 1, None, moments), penalty)
    best = ProximalGradient().solve(objective, tol=1e-18, max_iter=5000).w
    rough = GramDescent().solve(Objective(coarse, penalty), tol=1e-14, max_iter=1000).w
    assert np.abs(rough - best).max() > 1e-4
    found = refine(objective, coarse, certify(objective, rough, 1, 1e-12), tol=1e-12, max_iter=1000).w
    np.testing.assert_allclose(found, best, atol=1e-7)


class ExactPairs:
    """f(w) = Σ over pairs (1 - w·(x_i - x_j))² / n², in fractions: pairs of a larger and a smaller y in a stratum."""

    def __init__(self, X, y, strata):
        rows = [list(map(Fraction, row)) for row in np.asarray(X, dtype=np.float64).tolist()]
        pairs = np.argwhere((y[:, None] > y) & (strata[:, None] == strata)).tolist()
        D = [[a - b for a, b in zip(rows[i], rows[j], strict=True)] for i, j in pairs]
        share, size = Fraction(2, len(rows) ** 2), range(len(rows[0]))
        self.matrix = [[share * sum(d[i] * d[j] for d in D) for j in size] for i in size]
        self.linear = [share * sum(d[i] for d in D) for i in size]

    def gradient(self, w):
        products = (sum(a * b for a, b in zip(row, w, strict=True)) for row in self.matrix)
        return [product - linear for product, linear in zip(products, self.linear, strict=True)]

    def excess(self, w, l2):
        """F(w) - min F with l2/2 ‖w‖²: a quadratic function of the distance to the minimiser."""
        size = range(len(w))
        matrix = [[self.matrix[i][j] + (Fraction(l2) if i == j else 0) for j in size] for i in size]
        best = solve_exactly(matrix, self.linear)
        off = [Fraction(a) - b for a, b in zip(w, best, strict=True)]
        return (
            sum(a * sum(m * b for m, b in zip(row, off, strict=True)) for row, a in zip(matrix, off, strict=True)) / 2
        )


@pytest.mark.parametrize("kind", ["dense", "sparse", "float32", "repeated"])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e7])
def test_products_make_room_for_the_offsets_of_strata(kind, offset):
    rng = np.random.default_rng(8)
    strata, y = rng.integers(0, 3, 50), rng.integers(0, 4, 50).astype(np.float64)
    X = rng.standard_normal((50, 3)) * [1.0, 1e-2, 10.0] + offset * rng.standard_normal((3, 3))[strata]
    X[:, 0] += y
    index = None
    if kind == "float32":
        X = X.astype(np.float32)
    if kind == "repeated":
        index = rng.integers(0, 50, 60)
    used = slice(None) if index is None else index
    exact = ExactPairs(X[used], y[used], strata[used])
    rows = Rows(sparse.csr_array(X) if kind == "sparse" else X, y, None)
    choice = LossChoice(pairs=Ranked(y, np.ones(50, dtype=bool), strata))
    moments = choice.gather(rows, np.array([False, True]), index, scatter=False)
    loss = choice.by_products(rows, np.array([False, True]), moments, index)
    for w in (rng.standard_normal((20, 3)) / [1.0, 1e-2, 10.0]) * 10.0 ** rng.uniform(-2, 1, (20, 1)):
        grad = loss.value_and_grad(w)[1]
        off = [float(Fraction(g) - e) for g, e in zip(grad, exact.gradient(list(map(Fraction, w))), strict=True)]
        error = loss.gradient_error(w, grad)
        assert np.linalg.norm(off) <= error
        assert error <= 1e-9 * (1.0 + offset) * (1.0 + np.linalg.norm(grad))  # linear in the offset, not its square
    l2 = 1e-3 * float(np.mean(loss.curvature()))
    solution = solve(Objective(loss, ElasticNet(l2)), tol=1e-9, max_iter=300)
    assert float(exact.excess(solution.w.tolist(), l2)) <= solution.bound


def test_solvers_stop_where_only_rounding_is_left():
    """No step can improve a certificate that is all rounding: far fewer than `max_iter` products are made."""
    rng = np.random.default_rng(5)
    X, y = sparse.csr_array(1e9 + rng.standard_normal((40, 3))), np.arange(40) % 2
    moments = ClassMoments.from_data(X, y, scatter=False)
    objective = Objective(SquaredPairLoss.from_rows(X, y == 1, None, moments), ElasticNet(1e-9))
    solution = solve(objective, tol=1e-8, max_iter=1000)
    assert not solution.converged
    assert solution.n_iter < 100


def test_files_keep_the_bounds(tmp_path):
    rng = np.random.default_rng(6)
    X, y = wild_rows(rng, 200, 3), np.arange(200) % 2
    for dtype in (np.float64, np.float32):
        moments = ClassMoments().add_checked(X.astype(dtype), y, precise=False)
        moments.save(tmp_path / "new.npz")
        again = ClassMoments.load(tmp_path / "new.npz")
        for before, after in zip(moments._stats, again._stats, strict=True):
            np.testing.assert_array_equal(before.errors.scatter, after.errors.scatter)
            np.testing.assert_array_equal(before.errors.mean, after.errors.mean)
            np.testing.assert_array_equal(before.low, after.low)


@pytest.mark.parametrize(
    "forged",
    [
        {"scatter_errors": -np.ones((2, 3))},
        {"mean_errors": np.full((2, 3), np.nan)},
        {"weight_errors": np.full(2, np.inf)},
        {"weight_errors": np.zeros(3)},
        {"lows": np.ones((2, 3))},
        {"lows": np.zeros((2, 4))},
        {"lows": None},
    ],
)
def test_forged_bounds_are_refused(forged, tmp_path):
    rng = np.random.default_rng(7)
    ClassMoments.from_data(rng.standard_normal((50, 3)), np.arange(50) % 2).save(tmp_path / "moments.npz")
    with np.load(tmp_path / "moments.npz") as archive:
        content = {name: archive[name] for name in archive.files}
    content.update(forged)
    np.savez(tmp_path / "moments.npz", **{name: value for name, value in content.items() if value is not None})
    with pytest.raises(ValueError, match="not a file of class moments, or it is damaged"):
        ClassMoments.load(tmp_path / "moments.npz")


@pytest.mark.parametrize("wild", [False, True])
def test_fuzz(wild):
    """A few of the problems of `make fuzz`: each certificate is an upper bound, each objective right."""
    found: list[str] = []
    counts: Counter = Counter()
    for seed in range(200):
        found += fuzz.run_case(seed, wild, counts)
    assert set(counts) >= set(fuzz.ROUTES)
    assert not found


@pytest.mark.parametrize("block_bytes", [1 << 22, 64])
def test_sparse_rows_far_from_the_origin_are_certified(block_bytes):
    """Two full columns far from 0 that are nearly the same, beside sparse ones; in blocks of one or two rows too."""
    rng = np.random.default_rng(7)
    X, y = rng.standard_normal((60, 4)), np.arange(60) % 3 == 0
    X[:, 1:3] *= rng.random((60, 2)) < 0.2
    X[:, 3] = X[:, 0] + 1e-4 * (rng.standard_normal(60) + y)
    X[:, [0, 3]] += [1e6, -3e5]
    with mock.patch.object(products, "BLOCK_BYTES", block_bytes):
        model = AUCClassifier(1e-10).fit(sparse.csr_array(X), y)
    excess, gap = excess_and_gap(model, X, y)
    assert excess <= gap <= 1e-8
    value = ExactProblem(X, y).value(model.coef_[0], 1e-10, 0.0)
    assert model.objective_ == pytest.approx(float(value), rel=1e-9)


def test_the_objective_of_sparse_rows_whose_scores_cancel():
    """A problem that `make fuzz` found: means near 1e15, and F(w) of 1e-8."""
    assert fuzz.run_case(215641, True, Counter()) == []


def test_the_objective_of_sparse_products_far_from_the_origin():
    """A problem that `make fuzz` found: F(w) is 1e-9 of F(0) and offsets are 1e8 spreads; it was off by 1e-4 F(w)."""
    assert fuzz.run_case(7001015, True, Counter()) == []


def test_the_objective_of_a_stochastic_method_whose_scores_cancel():
    """A problem that `make fuzz` found: a constant column at 1e8 whose coefficient is 1e7, by rounding alone."""
    assert fuzz.run_case(3994, True, Counter()) == []


def test_coefficients_without_a_finite_square_are_refused():
    """A solver ran away to 1e306 along a matrix that a subtraction had made indefinite; objective and gap were NaN."""
    assert fuzz.run_case(7002369, False, Counter()) == []


def test_a_measurement_on_centred_rows_replaces_a_coarse_one():
    """The last entry of the history too, so that it stays the history of what is stored."""
    rng = np.random.default_rng(1)
    X, y = np.array([0.0, 1e13]) + rng.standard_normal((50, 2)), np.arange(50) % 4 == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = VRSPAMClassifier(l2=1e-3, max_iter=2, random_state=0).fit(X, y)
    value = float(ExactProblem(X, y).value(model.coef_[0], 1e-3, 0.0))
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    assert model.history_["objective"][-1] == model.objective_
    assert model.history_["gap"][-1] == model.gap_


def test_the_fuzz_can_fail():
    """Certificates without room for rounding break in it, so it would have found them."""
    found: list[str] = []
    counts: Counter = Counter()
    with mock.patch.object(SquaredPairLoss, "gradient_error", return_value=0.0), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(12):
            found += fuzz.run_case(seed, True, counts, ["subtraction", "fit_moments, coarse products"])
    assert found


def taken_out(X, y, others, labels):
    return ClassMoments.from_data(np.vstack([X, others]), np.append(y, labels)) - ClassMoments.from_data(others, labels)


def window_after(X, y, others, labels):
    return SlidingMoments(len(y)).update(others, labels).update(X, y).moments


def merged_and_taken_out(X, y, others, labels):
    first, second = ClassMoments.from_data(X, y), ClassMoments.from_data(others, labels)
    return (first + second) - second


@pytest.mark.parametrize("make", [taken_out, window_after, merged_and_taken_out])
@pytest.mark.parametrize("size", [1e60, 1e80, 1e100, 1e140])
def test_certificates_hold_at_any_size_after_rows_were_taken_out(size, make):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        y = np.arange(12) % 2
        X = size * 1e-10 * (rng.standard_normal((12, 2)) + y[:, np.newaxis])
        l2 = ExactProblem(X, y).unit() * 10.0 ** rng.uniform(-3, 0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", (ConvergenceWarning, UserWarning))
            model = AUCClassifier(l2=l2).fit_moments(make(X, y, size * rng.standard_normal((12, 2)), y))
        excess, gap = excess_and_gap(model, X, y)
        assert excess <= gap + 1e-14


@pytest.mark.parametrize("large", [1e152, 1e154, 1e200, np.finfo(float).max])
def test_numbers_whose_errors_could_not_be_bounded_are_refused(large):
    X = np.array([[1.0, 0.0], [2.0, 5.0], [0.0, 1.0], [3.0, 2.0]])
    with pytest.raises(ValueError, match=r"squares of the features overflow \(column 1\): rescale"):
        ClassMoments.from_data(np.where(X == 5.0, large, X), [0, 1, 0, 1])
    assert ClassMoments.from_data(np.where(X == 5.0, 1e149, X), [0, 1, 0, 1]).complete
