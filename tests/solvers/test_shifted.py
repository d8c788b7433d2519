"""All l2 of a grid from the products of one run of conjugate gradient."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import hessian_and_delta, loss_of
from scipy import sparse

from vrspam import AUCClassifierCV, ClassMoments
from vrspam.model_selection import choose_model as room
from vrspam.objective import ElasticNet, Objective, SquaredPairLoss
from vrspam.solvers.path import solve_grid
from vrspam.solvers.products import ConjugateGradient, ShiftedConjugateGradient

L2S = np.logspace(-3, 2, 7)


def words(n=50, d=90, seed=0):
    """Counts of words, and labels."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.3, (n, d)) * rng.gamma(1.0, 1.0, d)
    y = (X[:, :9].sum(axis=1) + rng.normal(size=n) > np.median(X[:, :9].sum(axis=1))).astype(int)
    return X, y


class CountedProducts:
    """Products by Σ, counted."""

    def __init__(self, within):
        self.within, self.count = within, 0

    def __matmul__(self, w):
        self.count += 1
        return self.within @ w

    def __getattr__(self, name):
        return getattr(self.within, name)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(80, 90), (30, 90)])
def test_every_point_solves_the_normal_equations(shape, weighted):
    X, y = words(*shape)
    weights = np.random.default_rng(1).integers(1, 4, len(y)) * 1.0 if weighted else np.ones(len(y))
    loss = loss_of(sparse.csr_array(X), y, weights)
    H, delta = hessian_and_delta(X, y, weights)
    solver = ShiftedConjugateGradient(L2S)
    for l2 in L2S[::-1]:
        found = solver.solve(Objective(loss, ElasticNet(float(l2))), tol=1e-12, max_iter=1000)
        assert found.converged
        np.testing.assert_allclose(found.w, np.linalg.solve(H + l2 / loss.k * np.eye(90), delta), atol=1e-5)


def test_all_points_together_take_the_products_of_the_hardest():
    X, y = words()
    loss = loss_of(sparse.csr_array(X), y)
    counted = CountedProducts(loss.within)
    object.__setattr__(loss, "within", counted)
    alone = ShiftedConjugateGradient(L2S[:2])  # a second l2, without which it refuses
    alone.solve(Objective(loss, ElasticNet(float(L2S[0]))), tol=1e-10, max_iter=1000)
    hardest, counted.count = counted.count, 0
    grid = solve_grid(loss, L2S, np.zeros(1), tol=1e-10, max_iter=1000)
    assert grid.converged.all()
    together = counted.count
    assert together <= hardest + 2 * L2S.size  # and each certificate
    one_by_one = [ConjugateGradient().solve(Objective(loss, ElasticNet(v)), tol=1e-10, max_iter=1000) for v in L2S]
    assert together < 0.5 * sum(solution.n_iter for solution in one_by_one)


def test_what_it_refuses():
    X, y = words()
    loss = loss_of(sparse.csr_array(X), y)
    for l2s, new, penalty, sentence in (
        (L2S, loss, ElasticNet(0.1), "not l2"),
        (L2S, loss, ElasticNet(float(L2S[0]), 0.1), "not l2"),
        (np.array([0.0, 1.0, 2.0]), loss, ElasticNet(0.0), "not l2"),
        (np.array([1.0]), loss, ElasticNet(1.0), "one l2 alone"),
        (L2S, loss_of(sparse.csr_array(X[:, :40]), y), ElasticNet(float(L2S[0])), "at least as many rows"),
        (L2S, SquaredPairLoss.from_moments(ClassMoments.from_data(X, y)), ElasticNet(float(L2S[0])), "a matrix"),
    ):
        assert sentence in str(ShiftedConjugateGradient(l2s).refuses(Objective(new, penalty)))
    assert ShiftedConjugateGradient(L2S).refuses(Objective(loss, ElasticNet(float(L2S[0])))) is None


def test_what_is_too_hard_stays_with_a_certificate_that_holds():
    X, y = words()
    loss = loss_of(sparse.csr_array(X), y)
    grid = solve_grid(loss, L2S, np.zeros(1), tol=1e-10, max_iter=2)
    reached = L2S[grid.converged[:, 0]]
    assert 0 < reached.size < L2S.size
    assert reached.min() > L2S[~grid.converged[:, 0]].max()  # the larger ones are reached
    H, delta = hessian_and_delta(X, y, np.ones(len(y)))
    for l2, w, gap in zip(L2S, grid.coefs[:, 0], grid.gaps[:, 0], strict=True):
        best = np.linalg.solve(H + l2 / loss.k * np.eye(90), delta)
        of_optimum = Objective(loss, ElasticNet(l2))
        assert of_optimum.value(w) - of_optimum.value(best) <= gap * (1 + 1e-9)


def test_a_point_that_stopped_too_early_goes_on(monkeypatch):
    X, y = words()
    monkeypatch.setattr("vrspam.solvers.products.MARGIN", 1e6)
    grid = solve_grid(loss_of(sparse.csr_array(X), y), L2S, np.zeros(1), tol=1e-10, max_iter=1000)
    assert grid.converged.all()


def test_cross_validation_of_a_wide_sparse_table_chooses_the_same(monkeypatch):
    X, y = words(100, 120)
    monkeypatch.setattr("vrspam.model_selection.sources.choose_solver", lambda *_: "products")
    table = sparse.csr_array(X)
    l2s = AUCClassifierCV(cv=3).fit(table, y).l2s_  # by name: these are solved to the end
    together = AUCClassifierCV(cv=3, l2s=l2s, tol=1e-11, random_state=0).fit(table, y)
    monkeypatch.setattr(ShiftedConjugateGradient, "refuses", lambda *_: "not now")
    one_by_one = AUCClassifierCV(cv=3, l2s=l2s, tol=1e-11, random_state=0).fit(table, y)
    assert together.l2_ == one_by_one.l2_
    np.testing.assert_allclose(together.auc_path_, one_by_one.auc_path_, atol=1e-12)


@pytest.mark.parametrize(("missed", "asked"), [(None, [100]), (-2, [100]), (-1, [100, 1000]), (0, [100, 1000])])
def test_the_default_grid_is_solved_to_the_end_only_where_the_best_point_needs_it(monkeypatch, missed, asked):
    """The smallest l2 take most products; those far from the best one may stop early, and nothing else changes."""
    (X, y), seen, plain = words(100, 120), [], room.cross_validate
    table = sparse.csr_array(X)
    monkeypatch.setattr("vrspam.model_selection.sources.choose_solver", lambda *_: "products")
    whole = AUCClassifierCV(cv=3, l2s=AUCClassifierCV(cv=3).fit(table, y).l2s_, random_state=0).fit(table, y)
    best = int(whole.auc_path_.mean(axis=-1).argmax())
    assert 2 < best < whole.l2s_.size - 1

    def watched(source, search, **more):
        seen.append(search.max_iter)
        found = plain(source, search, **more)
        if missed is not None:  # as if so many iterations were too few for this point
            found.scores.converged[best + missed, :, 0] &= search.max_iter > 100
        return found

    monkeypatch.setattr(room, "cross_validate", watched)
    model = AUCClassifierCV(cv=3, random_state=0).fit(table, y)
    assert seen == asked
    assert (model.l2_, model.best_score_) == (whole.l2_, whole.best_score_)
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    assert model.gap_ <= 1e-8 * 0.25
    seen.clear()
    AUCClassifierCV(cv=3, l2s=whole.l2s_, random_state=0).fit(table, y)
    assert seen == [1000]  # a grid that somebody names is solved to the end
