"""Moments whose last product is done with matrices instead of rows: equal to those of the rows, and certified."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
from exact_oracle import ExactProblem
from sklearn.metrics import roc_auc_score

from vrspam import AUCClassifierCV, ClassMoments
from vrspam._utils.blas import TwoSteps
from vrspam.features import KernelFeatures, kernel
from vrspam.features.encoders import encode
from vrspam.features.mapped import MappedArray
from vrspam.features.scoring import exponents
from vrspam.model_selection import sources
from vrspam.moments import FinishedMoments, LastProduct
from vrspam.objective import ElasticNet, Objective, SquaredPairLoss
from vrspam.solvers.base import certify


def triangular(m, seed=0, condition=10.0):
    rng = np.random.default_rng(seed)
    return np.triu(rng.standard_normal((m, m)) / m, 1) + np.diag(np.geomspace(1.0, condition, m))


def rows_to_finish(n=60, d=5, first=2, seed=0, condition=1e3):
    """Rows x, the features z that a map makes of them, labels, and the last product; columns of x nearly agree."""
    rng = np.random.default_rng(seed)
    last = LastProduct(first, triangular(d - first, seed, condition))
    x = rng.standard_normal((n, d)) / condition + 3.0 * rng.standard_normal((n, 1))
    y = (x[:, 0] + condition * (x[:, -1] - x[:, -2]) + rng.standard_normal(n) > 0.0).astype(int)
    z = np.hstack([x[:, :first], x[:, first:] @ last.matrix])
    return x, z, y, last


@pytest.mark.parametrize("m", [40, 300, 513])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_with_a_triangular_matrix_in_two_steps(m, dtype):
    W, rows = triangular(m), np.random.default_rng(1).standard_normal((70, m))
    tolerance = 1e-9 if dtype == np.float64 else 1e-6  # of what is written; the steps themselves are double
    out = np.empty((70, m), dtype=dtype)
    TwoSteps(W, m // 3).multiply(rows, out)
    np.testing.assert_allclose(out, rows @ W, rtol=tolerance, atol=tolerance * np.abs(rows @ W).max())


def test_after_the_first_step_the_last_product_is_all_that_is_left():
    W, rows = triangular(90), np.random.default_rng(1).standard_normal((7, 90))
    steps = TwoSteps(W, 30)
    steps.begin(rows, begun := np.empty((7, 90)))
    np.testing.assert_allclose(begun[:, :30], rows @ W[:, :30])
    np.testing.assert_allclose(LastProduct(30, steps.last).of(begun), rows @ W, atol=1e-9)


def test_settled_moments_can_be_changed():
    x, z, y, last = rows_to_finish()
    finished = FinishedMoments(ClassMoments.from_data(x[:40], y[:40]), last)
    others = ClassMoments.from_data(z[40:], y[40:])
    assert finished.settled.copy().update(z[40:], y[40:]) == ClassMoments.from_data(z, y)
    assert finished.settled + others == ClassMoments.from_data(z, y)
    assert ClassMoments.from_data(z, y) - others == finished.settled


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("d", [5, 300])
def test_finished_moments_are_those_of_the_features(d, weighted):
    x, z, y, last = rows_to_finish(900, d, d // 3, condition=10.0)
    weights = np.random.default_rng(3).uniform(0.5, 2.0, 900) if weighted else None
    plain = ClassMoments.from_data(z, y, weights)
    finished = FinishedMoments(ClassMoments.from_data(x, y, weights), last)
    for name in ("p", "q", "means", "delta", "within", "within_diagonal", "rows", "weights", "variances"):
        np.testing.assert_allclose(getattr(finished, name), getattr(plain, name), rtol=1e-8, atol=1e-8, err_msg=name)
    np.testing.assert_allclose(finished.within, finished.within.T, rtol=1e-13, atol=1e-12)
    assert finished.settled == plain
    assert finished.settled + plain == plain + plain
    assert pickle.loads(pickle.dumps(finished)).settled == plain


def product_errors(moments):
    errors = SquaredPairLoss.from_moments(moments).errors
    assert errors is not None
    return errors.products


def difference(exact, found):
    return np.array([float(abs(Fraction(float(f)) - e)) for e, f in zip(exact, found, strict=True)])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("condition", [1.0, 1e3, 1e6])
def test_rounding_stays_within_its_bounds(seed, condition):
    """Against exact fractions of the features as they are computed; a bound by columns alone would be far larger."""
    x, z, y, last = rows_to_finish(seed=seed, condition=condition)
    exact, moments = ExactProblem(z, y), FinishedMoments(ClassMoments.from_data(x, y), last)
    errors, products = moments.pair_errors(), product_errors(moments)
    assert (difference(exact.delta, moments.delta) <= errors.delta).all()
    for statistics in (moments, moments.settled):
        root = np.sqrt(statistics.pair_errors().within)
        for i, line in enumerate(exact.within):
            assert (difference(line, statistics.within[i]) <= root[i] * root).all()
    rng = np.random.default_rng(seed)
    coefs = [rng.standard_normal(5), np.append([0.0, 0.0], np.linalg.solve(last.matrix, rng.standard_normal(3)))]
    for w in coefs:
        at = [Fraction(float(x)) for x in w]
        product = [sum(a * b for a, b in zip(line, at, strict=True)) for line in exact.within]
        square = sum(a * b for a, b in zip(product, at, strict=True))
        found = moments.within @ w
        assert (difference(product, found) <= products.of_product(w)).all()
        assert abs(float(Fraction(float(w @ found)) - square)) <= products.of_square(w, float(w @ found))


def exactly(left, right):
    """A product of matrices of floats, as fractions."""
    as_fractions = np.vectorize(lambda x: Fraction(float(x)), otypes=[object])
    return as_fractions(left) @ as_fractions(right)


@pytest.mark.parametrize("m", [3, 8])
def test_the_rounding_of_the_last_product_itself(m):
    """Of features and of matrices, each against exact fractions; both bounds are within a factor of 1,000 of it."""
    rng = np.random.default_rng(m)
    last = LastProduct(2, triangular(m, condition=1e3))
    x = np.exp(3.0 * rng.standard_normal((40, m + 2)))
    T = np.eye(m + 2)
    T[2:, 2:] = last.matrix
    found, exact = last.of(x), exactly(x, T)
    errors = np.array([difference(a, b) for a, b in zip(exact, found, strict=True)])
    bounds = last.of_features(np.abs(x))
    assert (errors <= bounds).all()
    assert errors.max() > 1e-3 * bounds[errors > 0.0].min()
    S = x.T @ x
    exact, found = exactly(exactly(T.T, S), T), last.of_matrix(S)
    level = last.of_sizes(np.sqrt(S.diagonal()))
    errors = np.array([difference(a, b) for a, b in zip(exact, found, strict=True)])
    bounds = 3.0 * last.of_matrices * np.outer(level, level)
    assert (errors <= bounds).all()
    assert (errors[2:, 2:] > 0.0).any()


@pytest.mark.parametrize("seed", range(4))
def test_errors_of_the_unfinished_moments_are_carried_over(seed):
    """The worst errors that the unfinished moments allow, |E_ij| = √(e_i e_j), are covered after the last product."""
    x, _, y, last = rows_to_finish(seed=seed)
    unfinished = ClassMoments.from_data(x, y)
    for statistics in unfinished._stats:
        statistics.errors.scatter *= 1e6  # so that no other error can make up for one that is forgotten
    finished = FinishedMoments(unfinished, last)
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], 5)
    root = signs * np.sqrt(unfinished.pair_errors().within)
    E = np.outer(root, root)
    T = np.eye(5)
    T[2:, 2:] = last.matrix
    products, w = product_errors(finished), rng.standard_normal(5)
    assert (np.abs(T.T @ E @ T @ w) <= products.of_product(w)).all()
    assert abs(w @ T.T @ E @ T @ w) <= products.of_square(w, 1.0)
    for moments in (finished, finished.settled):
        by_columns = np.sqrt(moments.pair_errors().within)
        assert (np.abs(T.T @ E @ T) <= np.outer(by_columns, by_columns)).all()
    worst = np.sign(T @ w) * np.abs(root)  # the bound is reached, up to the other terms
    reached = np.abs(np.outer(np.abs(T).T @ np.abs(root), worst) @ (T @ w))
    assert (products.of_product(w) <= 100.0 * reached).any()


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("l2", [1e-8, 1e-3, 1.0])
def test_the_certificate_holds_in_exact_arithmetic(condition, l2):
    x, z, y, last = rows_to_finish(condition=condition)
    exact = ExactProblem(z, y)
    finished = FinishedMoments(ClassMoments.from_data(x, y), last)
    objective = Objective(SquaredPairLoss.from_moments(finished), ElasticNet(l2))
    H = objective.loss.k * (objective.loss.matrix + np.outer(objective.loss.delta, objective.loss.delta))
    w = np.linalg.solve(H + l2 * np.eye(5), objective.loss.k * objective.loss.delta)
    solution = certify(objective, w, 1, 1e-8)
    best = exact.value(exact.minimiser(l2, 0.0, w), l2, 0.0)
    excess = float(exact.value(w, l2, 0.0) - best)
    assert 0.0 <= excess <= solution.bound


@pytest.fixture
def _early(monkeypatch):
    monkeypatch.setattr(kernel, "FIRST_LANDMARKS", 20)
    monkeypatch.setattr(kernel, "ROWS_PER_LANDMARK", 2)


def table(n=900, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, (X[:, 0] * X[:, 1] + 0.5 * rng.standard_normal(n) > 0.4).astype(int)


MAP = KernelFeatures(bandwidth=0.5, n_landmarks=100, random_state=0)


@pytest.mark.usefixtures("_early")
@pytest.mark.parametrize("additive", [False, True])
def test_features_are_those_of_an_unfinished_map_times_the_last_product(additive):
    X, _ = table()
    features = KernelFeatures(bandwidth=0.5, n_landmarks=100, additive=additive, random_state=0).fit(X)
    found = features._unfinished(900)
    assert found is not None
    unfinished, last = found
    np.testing.assert_allclose(last.of(unfinished.features_of(X)), features.transform(X), atol=1e-12)
    left, right = exponents(encode(features.encoders_, X), features.landmarks_, features.gamma_)
    split = features.n_features_out_ - 100
    np.testing.assert_allclose(np.exp(left @ right) @ features.whitening_, features.transform(X)[:, split:], atol=1e-10)
    assert features._unfinished(150) is None  # too few rows
    wide = KernelFeatures(bandwidth=30.0, n_landmarks=100, random_state=0).fit(X)
    assert wide.whitening_.shape[1] < 100
    assert wide._unfinished(900) is None  # directions were cut


@pytest.mark.usefixtures("_early")
def test_parts_that_cancel_cost_less_than_bounds_by_columns_say():
    """What the structure of the bound is for: at the optimum of a kernel the columns cancel."""
    X, y = table(3000)
    features = KernelFeatures(bandwidth=0.4, n_landmarks=300, additive=False, random_state=0).fit(X)
    found = features._unfinished(3000)
    assert found is not None
    unfinished, last = found
    moments = FinishedMoments(ClassMoments.from_data(unfinished.features_of(X), y), last)
    loss = SquaredPairLoss.from_moments(moments)
    H = loss.matrix + np.outer(loss.delta, loss.delta)
    w = np.linalg.solve(H + 1e-7 * np.trace(H) * np.eye(300), loss.delta)
    by_columns = np.sqrt(moments.pair_errors().within)
    bound = np.linalg.norm(product_errors(moments).of_product(w))
    assert bound < 0.5 * np.linalg.norm(by_columns) * (by_columns @ np.abs(w))


@pytest.mark.usefixtures("_early")
@pytest.mark.parametrize("case", ["plain", "weights", "gathered again", "categories"])
def test_a_fit_by_unfinished_moments_is_the_same(case, monkeypatch):
    X, y = table()
    weights = np.random.default_rng(1).uniform(0.2, 2.0, 900) if case == "weights" else None
    if case == "gathered again":
        monkeypatch.setattr(sources.RowsInMemory, "mapped_bytes", 0)
        monkeypatch.setattr(sources.RowsInMemory, "table_share", 0)
    if case == "categories":  # many of them, which are not written out
        pd = pytest.importorskip("pandas")
        codes = np.random.default_rng(2).integers(0, 60, 900)
        X = pd.DataFrame(X).set_axis(list("abcdef"), axis=1).assign(town=[f"t{code}" for code in codes])
        y = (y + (codes < 10) > 0).astype(int)
    used = []
    plain = MappedArray.unfinished

    def watch(self):
        used.append(plain(self))
        return used[-1]

    monkeypatch.setattr("vrspam.model_selection.maps_in_memory.FEW_BYTES", 0)  # features of so few rows would be held
    monkeypatch.setattr(MappedArray, "unfinished", watch)
    model = AUCClassifierCV(features=MAP, random_state=0).fit(X, y, weights)
    assert any(found is not None for found in used)
    monkeypatch.setattr(MappedArray, "unfinished", lambda self: None)
    other = AUCClassifierCV(features=MAP, random_state=0).fit(X, y, weights)
    np.testing.assert_allclose(model.auc_path_, other.auc_path_, atol=1e-4)
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), rtol=1e-6, atol=1e-8)
    assert model.l2_ == pytest.approx(other.l2_, rel=1e-9)
    assert model.objective_ == pytest.approx(other.objective_, rel=1e-9)
    assert model.converged_path_.all()
    assert type(model.moments_) is ClassMoments
    assert model.moments_ == other.moments_


@pytest.mark.usefixtures("_early")
def test_the_certificate_of_a_fit_holds_for_the_features_of_its_map(monkeypatch):
    """F of `transform(X)`, pair by pair, is nowhere smaller than objective_ - gap_."""
    monkeypatch.setattr("vrspam.model_selection.maps_in_memory.FEW_BYTES", 0)
    X, y = table(400)
    model = AUCClassifierCV(features=MAP, random_state=0).fit(X, y)
    Z = model.features_.transform(X)
    p = y.mean()

    def value(w):
        s = Z @ w
        pairs = (1.0 - (s[y == 1][:, np.newaxis] - s[y == 0])) ** 2
        return p * (1.0 - p) * pairs.mean() + model.l2_ / 2.0 * (w @ w)

    assert value(model.coef_[0]) == pytest.approx(model.objective_, rel=1e-9)
    moments = ClassMoments.from_data(Z, y)
    k = 2.0 * p * (1.0 - p)
    H = k * (moments.within + np.outer(moments.delta, moments.delta)) + model.l2_ * np.eye(Z.shape[1])
    best = np.linalg.solve(H, k * moments.delta)
    assert value(model.coef_[0]) - value(best) <= model.gap_ + 1e-13
    assert model.gap_ <= 1e-8 * p * (1.0 - p)
    assert roc_auc_score(y, model.decision_function(X)) > 0.7
