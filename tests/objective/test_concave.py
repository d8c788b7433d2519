"""MCP and SCAD: the penalties, what the estimators find with them, and that it does not depend on how data comes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from checks import best_of_all_pieces, compiled_prox
from helpers import make_data, mcp_pieces, pairwise_objective, scad_pieces
from scipy import sparse
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from sklearn.exceptions import ConvergenceWarning
from toy_penalty import MCP as TextbookMCP

from vrspam import AUCClassifier, AUCClassifierCV, ClassMoments, HashFolds, VRSPAMClassifier, coef_path
from vrspam._utils.validation import Rows
from vrspam.objective import MCP, SCAD, ElasticNet, Objective, PenaltyFamily, SquaredPairLoss
from vrspam.solvers import solve
from vrspam.solvers.exact import FitSettings
from vrspam.solvers.smooth import ProximalGradient

KINDS = {"mcp": MCP, "scad": SCAD}
# tol=1e-16 asks for more than rounding allows
below_rounding = pytest.mark.filterwarnings("ignore::vrspam._utils.warnings.NotConverged")
PIECES = {"mcp": mcp_pieces, "scad": scad_pieces}
GAMMA = {"mcp": 3.0, "scad": 3.7}


def slope(name, t, l1, gamma):
    """P'(t) for t > 0, as in Zhang (2010) and in Fan & Li (2001)."""
    if name == "mcp":
        return max(l1 - t / gamma, 0.0)
    return l1 if t <= l1 else max(gamma * l1 - t, 0.0) / (gamma - 1)


def concave_terms(name, w, l1, gamma, h):
    """P(h|w|)/h of each number, from the three cases in which textbooks write P; l1|w| where h = 0."""
    t = h * np.abs(w)
    if name == "mcp":
        P = np.where(t <= gamma * l1, l1 * t - t**2 / (2 * gamma), gamma * l1**2 / 2)
    else:
        middle = (2 * gamma * l1 * t - t**2 - l1**2) / (2 * (gamma - 1))
        P = np.where(t <= l1, l1 * t, np.where(t <= gamma * l1, middle, l1**2 * (gamma + 1) / 2))
    return np.where(h > 0, P / np.where(h > 0, h, 1.0), l1 * np.abs(w))


def pair_curvature(X, y, weights=None):
    """2pq · mean over pairs of the squared differences of each column, straight from its definition."""
    c = np.ones(len(y)) if weights is None else weights
    pair_weights = np.outer(c[y == 1], c[y == 0])
    squares = (X[y == 1][:, None] - X[y == 0][None]) ** 2
    p = c[y == 1].sum() / c.sum()
    return 2 * p * (1 - p) * np.einsum("ij,ijk->k", pair_weights, squares) / pair_weights.sum()


def strength(X, y, share, weights=None):
    """A share of the least l1 that gives w = 0: 2pq times the largest difference of the class means."""
    moments = ClassMoments.from_data(X, y, weights)
    return share * 2 * moments.p * moments.q * np.abs(moments.delta).max()


@pytest.mark.parametrize("name", KINDS)
def test_the_value_is_the_textbook_penalty_of_h_w_over_h(name):
    rng = np.random.default_rng(0)
    for _ in range(20):
        l2, l1, gamma, h = rng.uniform(0, 1), rng.uniform(0.1, 1), rng.uniform(2.1, 5), rng.uniform(0.1, 3, 3)
        w = rng.uniform(-1, 1, 3) * 1.5 * gamma * l1 / h
        ends = h * np.abs(w)
        areas = [quad(lambda t: slope(name, t, l1, gamma), 0.0, end, epsabs=1e-12, limit=200)[0] for end in ends]  # noqa: B023
        penalty = KINDS[name](l2, l1, gamma, h)
        assert penalty.value(w) == pytest.approx(l2 / 2 * w @ w + np.sum(areas / h), rel=1e-8)
        assert penalty.value(w) == pytest.approx(
            l2 / 2 * w @ w + np.sum(concave_terms(name, w, l1, gamma, h)), rel=1e-12
        )


@pytest.mark.parametrize("name", KINDS)
def test_the_prox_is_the_global_minimiser_also_where_its_problem_is_not_convex(name):
    rng = np.random.default_rng(1)
    convex = []
    for _ in range(500):
        l2, l1, gamma = rng.choice([0.0, 0.5]), rng.uniform(0.1, 1), rng.uniform(2.1, 5)
        h, step, v = rng.choice([0.0, 0.2, 1.0, 4.0]), rng.uniform(0.1, 4), rng.uniform(-6, 6)
        penalty = KINDS[name](l2, l1, gamma, np.array([h]))
        found = penalty.prox(np.array([v]), step)
        assert compiled_prox(penalty, v, step, 0) == pytest.approx(found[0], rel=1e-12, abs=1e-15)
        tried = np.append(np.linspace(min(v, 0), max(v, 0), 4001), found)
        costs = 0.5 * (tried - v) ** 2 + step * (l2 / 2 * tried**2 + concave_terms(name, tried, l1, gamma, h))
        assert costs[-1] <= costs.min() + 1e-12
        convex.append(1 + step * l2 > step * h / (gamma if name == "mcp" else gamma - 1))
    assert 50 < sum(convex) < 450  # both kinds were tried


@pytest.mark.parametrize("l2", [0.0, 0.02])
@pytest.mark.parametrize("name", KINDS)
@below_rounding
def test_finds_the_best_of_all_pieces(name, l2):
    """Four columns of very different scale and 20 % positives; h and the pieces come from the pairs."""
    X, y = make_data(60, 4, share=0.2, seed=3, correlated=False)
    X *= [1.0, 0.3, 3.0, 10.0]
    h, l1 = pair_curvature(X, y), strength(X, y, 0.1)
    pieces = [PIECES[name](l2, l1, GAMMA[name], h[j]) for j in range(4)]
    best, w = best_of_all_pieces(
        X, y, False, pieces, lambda w: l2 / 2 * w @ w + concave_terms(name, w, l1, GAMMA[name], h).sum()
    )
    assert 0 < np.count_nonzero(w) < 4
    model = AUCClassifier(l2=l2, l1=l1, penalty=name, tol=1e-16).fit(X, y)
    np.testing.assert_allclose(model.coef_[0], w, atol=1e-9)
    assert model.objective_ == pytest.approx(best, abs=1e-12)
    assert model.gap_ is None
    wider = AUCClassifier(l2=l2, l1=l1, penalty=name, gamma=1e9, tol=1e-16).fit(X, y)  # as gamma grows: l1 |w|
    net = AUCClassifier(l2=l2, l1=l1, tol=1e-16).fit(X, y)
    np.testing.assert_allclose(wider.coef_, net.coef_, atol=1e-6)
    assert np.abs(model.coef_ - net.coef_).max() > 1e-3


@pytest.mark.parametrize("name", KINDS)
def test_stationarity_is_half_the_curvature_times_the_squared_moves_along_each_column(name):
    """Each v_j is found by minimising F, summed over all pairs, along column j."""
    X, y = make_data(50, 3, seed=2)
    l1, l2, gamma, h = strength(X, y, 0.3), 0.01, GAMMA[name], pair_curvature(X, y)
    with pytest.warns(ConvergenceWarning, match="AUCClassifier stopped after .* with stationarity_ = .*, above tol"):
        model = AUCClassifier(l2, l1, penalty=name, max_iter=1, tol=1e-14).fit(X, y)
    w = model.coef_[0]
    expected = 0.0
    for j in range(3):

        def along(x, j=j):
            moved = np.where(np.arange(3) == j, x, w)
            return float(pairwise_objective(X, y, moved, l2)) + concave_terms(name, moved, l1, gamma, h).sum()

        reach = 3 * np.abs(w).max()
        grid = np.linspace(-reach, reach, 41)
        around = grid[np.argmin([along(x) for x in grid])]
        v = minimize_scalar(
            along, bounds=(around - reach / 20, around + reach / 20), method="bounded", options={"xatol": 1e-12}
        ).x
        expected += 0.5 * h[j] * (w[j] - v) ** 2
    assert model.stationarity_ == pytest.approx(expected, rel=1e-4)
    solved = AUCClassifier(l2, l1, penalty=name).fit(X, y)
    assert solved.stationarity_ <= 1e-8 * y.mean() * (1 - y.mean())
    assert not hasattr(model.set_params(penalty="elasticnet", max_iter=1000).fit(X, y), "stationarity_")


@below_rounding
def test_with_unit_curvature_it_is_the_textbook_form():
    X, y = make_data(200, 5, seed=4, correlated=False)
    X /= np.sqrt(pair_curvature(X, y))
    loss = SquaredPairLoss.from_moments(ClassMoments.from_data(X, y))
    l1 = strength(X, y, 0.2)
    textbook = solve(Objective(loss, TextbookMCP(l1, 3.0)), tol=1e-16, max_iter=1000)
    np.testing.assert_allclose(
        AUCClassifier(0.0, l1, penalty="mcp", tol=1e-16).fit(X, y).coef_[0], textbook.w, atol=1e-9
    )


def equivalent_least_squares(loss, l2):
    """Design A and target b such that f(w) + l2/2 ‖w‖² = ‖A w - b‖²/(2 rows) + a constant."""
    H = loss.k * (loss.matrix + np.outer(loss.delta, loss.delta)) + l2 * np.eye(loss.n_features)
    factor = np.linalg.cholesky(H)
    root = np.sqrt(loss.n_features)
    return np.asfortranarray(root * factor.T), root * np.linalg.solve(factor, loss.k * loss.delta)


@pytest.mark.parametrize("name", KINDS)
@below_rounding
def test_against_skglm_on_the_equivalent_least_squares_problem(name):
    """With u_j = h_j w_j, Ω is Σ P(u_j)/h_j; skglm has such weights for MCP, and for SCAD h = 1 makes them 1."""
    pytest.importorskip("skglm", reason="skglm comes with the dependency group `dev`")
    from skglm import datafits, penalties
    from skglm.solvers import AndersonCD

    X, y = make_data(300, 12, share=0.1, seed=5)
    if name == "scad":
        X /= np.sqrt(pair_curvature(X, y))
    loss = SquaredPairLoss.from_moments(ClassMoments.from_data(X, y))
    h, l2 = loss.curvature(), 0.005
    A, b = equivalent_least_squares(loss, l2)
    for share in (0.5, 0.1, 0.02):
        l1 = strength(X, y, share)
        penalty = penalties.WeightedMCPenalty(l1, 3.0, 1.0 / h) if name == "mcp" else penalties.SCAD(l1, 3.7)
        ours = AUCClassifier(l2, l1, penalty=name, tol=1e-16).fit(X, y)
        # From our solution skglm does not move, and from 0 it ends where our measure sees a stationary point.
        design = np.asfortranarray(A / h)
        solver = AndersonCD(tol=1e-12, max_iter=200, fit_intercept=False)
        start = ours.coef_[0] * h
        stay = solver.solve(design, b, datafits.Quadratic(), penalty, start.copy(), design @ start)[0] / h
        np.testing.assert_allclose(stay, ours.coef_[0], atol=1e-7)
        other = solver.solve(design, b, datafits.Quadratic(), penalty)[0] / h
        point = KINDS[name](l2, l1, GAMMA[name], h)
        assert point.violation(other, loss.value_and_grad(other)[1], h) <= 1e-12 * loss.scale
        value = np.sum((design @ start - b) ** 2) / (2 * len(b)) + penalty.value(start)
        rest = loss.scale - b @ b / (2 * len(b))
        assert value + rest == pytest.approx(ours.objective_, abs=1e-12)


def hard_for_l1(n, seed):
    """Two normal classes whose best score is x_0 + x_1; x_2 is so close to it that l1 takes it first."""
    rng = np.random.default_rng(seed)
    covariance, truth = np.eye(10), np.zeros(10)
    covariance[[0, 1, 2, 2], [2, 2, 0, 1]] = 0.65
    truth[:2] = 1.0
    y = (rng.random(n) < 0.3).astype(int)
    return rng.multivariate_normal(np.zeros(10), covariance, n) + np.outer(y, covariance @ truth), y


@pytest.mark.parametrize("name", KINDS)
def test_recovers_a_support_that_l1_cannot_and_does_not_shrink(name):
    recovered = {"elasticnet": 0, name: 0}
    for seed in range(10):
        X, y = hard_for_l1(2000, seed)
        moments = ClassMoments.from_data(X, y)
        for penalty in recovered:
            coefs = coef_path(moments, [0.0], "auto", penalty=penalty, tol=1e-12)[0]
            right = np.flatnonzero(np.all((coefs != 0) == (np.arange(10) < 2), axis=1))
            recovered[penalty] += right.size > 0
            if penalty == name and right.size:
                alone = AUCClassifier(l2=0.0).fit(X[:, :2], y)  # as if the support had been known
                np.testing.assert_allclose(coefs[right[-1], :2], alone.coef_[0], rtol=1e-4)
    assert recovered[name] == 10
    assert recovered["elasticnet"] <= 2


@pytest.mark.parametrize("name", KINDS)
@below_rounding
def test_gamma_means_the_same_at_any_scale_and_any_imbalance(name):
    X, y = make_data(200, 6, seed=6)
    l1, l2 = strength(X, y, 0.2), 0.01
    model = AUCClassifier(l2, l1, penalty=name, tol=1e-16).fit(X, y)
    assert 0 < np.count_nonzero(model.coef_) < 6
    scaled = AUCClassifier(1e4 * l2, 1e2 * l1, penalty=name, tol=1e-16).fit(1e2 * X, y)
    np.testing.assert_allclose(1e2 * scaled.coef_, model.coef_, atol=1e-9)
    # Rarer positives: f, l1 and l2 all shrink as pq does, and so does h.
    weights = np.where(y == 1, 1e-3, 1.0)
    p = [y.mean(), (weights * y).sum() / weights.sum()]
    share = p[1] * (1 - p[1]) / (p[0] * (1 - p[0]))
    rare = AUCClassifier(share * l2, share * l1, penalty=name, tol=1e-16).fit(X, y, weights)
    np.testing.assert_allclose(rare.coef_, model.coef_, atol=1e-9)


@pytest.mark.parametrize("name", KINDS)
def test_it_does_not_matter_how_the_data_comes(name):
    X, y = make_data(300, 8, seed=7)
    X[np.random.default_rng(0).random(X.shape) < 0.3] = 0.0
    weights = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    l1 = strength(X, y, 0.15, weights)
    model = AUCClassifier(0.01, l1, penalty=name, tol=1e-15)
    w = model.fit(X, y, weights).coef_
    assert 0 < np.count_nonzero(w) < 8
    blocks = [(X[a : a + 50], y[a : a + 50], weights[a : a + 50]) for a in range(0, 300, 50)]
    repeated = np.repeat(np.arange(300), weights.astype(int))
    moments = ClassMoments.from_data(X, y, weights)
    for block in blocks:
        model.partial_fit(*block[:2], sample_weight=block[2])
    others = {
        "partial_fit": model.coef_,
        "repeated rows": model.fit(X[repeated], y[repeated]).coef_,
        "csr": model.fit(sparse.csr_array(X), y, weights).coef_,
        "stream": model.fit_stream(blocks).coef_,
        "moments": model.fit_moments(moments).coef_,
    }
    settings = FitSettings(0.01, l1, 1e-15, 5000, PenaltyFamily(name))
    for container in (np.asarray, sparse.csr_array):
        fit = settings.fit_rows(Rows(container(X), y, weights), np.unique(y), "products")
        others[f"columns, {container.__name__}"] = fit.solution.w[None]
    fit = settings.fit_within(moments.within, moments)  # products alone, as for wide streams and clusters
    others["products"] = fit.solution.w[None]
    for where, coef in others.items():
        np.testing.assert_allclose(coef, w, atol=1e-7, err_msg=where)
    history = fit.solution.history
    assert np.isnan(history["gap"]).all()
    assert history["stationarity"][-1] == fit.solution.stationarity
    assert fit.solution.converged
    assert np.all(np.diff(history["objective"]) <= 1e-15)
    assert history["passes"][0] > 1.0  # those of the elastic net that it started from


@pytest.mark.parametrize("name", KINDS)
def test_proximal_gradient_never_raises_a_non_convex_objective(name):
    X, y = make_data(80, 20, seed=8)
    loss = SquaredPairLoss.from_moments(ClassMoments.from_data(X, y))
    objective = Objective(loss, PenaltyFamily(name)(loss)(0.0, strength(X, y, 0.05)))
    solution = ProximalGradient().solve(objective, tol=1e-12, max_iter=20_000)
    assert solution.converged
    assert np.all(np.diff(solution.history["objective"]) <= 1e-15)


@pytest.mark.parametrize("name", KINDS)
def test_constant_columns_float32_and_real_units(name):
    X, y = make_data(150, 5, seed=9)
    X[:, 2] = 3.0
    l1 = strength(X, y, 0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AUCClassifier(0.0, l1, penalty=name).fit(X, y)
        coarse = AUCClassifier(0.0, l1, penalty=name).fit(X.astype(np.float32), y)
        assert model.coef_[0, 2] == 0.0
        np.testing.assert_allclose(coarse.coef_, model.coef_, atol=1e-3)
        for unit in (1e-150, 1e149):  # numbers above 1e150 are refused
            other = AUCClassifier(0.0, unit * l1, penalty=name).fit(unit * X, y)
            np.testing.assert_allclose(unit * other.coef_, model.coef_, atol=1e-3)
        assert not AUCClassifier(0.0, l1, penalty=name).fit(np.ones_like(X), y).coef_.any()


@pytest.mark.parametrize("name", KINDS)
def test_the_grid_solves_each_point_as_a_fit_does(name):
    """Points start from their own l1 solution, so the grid around them does not matter; h is each fold's own."""
    X, y = make_data(200, 7, seed=10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AUCClassifierCV(l2s=[1e-3, 1e-2], l1s="auto", penalty=name, cv=HashFolds(3), tol=1e-12).fit(X, y)
    top = strength(X, y, 1.0)
    np.testing.assert_allclose(model.l1s_, np.geomspace(top, 1e-3 * top, 30), rtol=1e-12)
    assert np.isnan(model.gap_path_).all()
    assert model.gap_ is None
    assert model.converged_path_.all()
    alone = AUCClassifier(model.l2_, model.l1_, penalty=name, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-9)
    assert model.stationarity_ <= 1e-12 * 0.25
    for fold, (train, held_out) in enumerate(HashFolds(3).split(X, y)):
        for j in (3, 12, 25):
            alone = AUCClassifier(1e-3, model.l1s_[j], penalty=name, tol=1e-12).fit(X[train], y[train])
            assert alone.score(X[held_out], y[held_out]) == pytest.approx(model.auc_path_[0, j, fold], abs=1e-12)
    streamed = AUCClassifierCV([1e-3, 1e-2], "auto", penalty=name, cv=3, tol=1e-12).fit_stream(
        [(X[:90], y[:90]), (X[90:], y[90:])]
    )
    np.testing.assert_allclose(streamed.coef_, model.coef_, atol=1e-7)
    coefs = coef_path(model.moments_, model.l2s_, "auto", penalty=name, tol=1e-12)
    chosen = np.flatnonzero(model.l2s_ == model.l2_)[0], np.flatnonzero(model.l1s_ == model.l1_)[0]
    np.testing.assert_allclose(coefs[chosen], model.coef_[0], atol=1e-7)


def test_automatic_l1_for_the_elastic_net_and_for_maps():
    X, y = make_data(120, 4, seed=11)
    net = AUCClassifierCV(l1s="auto", l2s=[0.01], cv=3).fit(X, y)
    np.testing.assert_allclose(net.l1s_, np.geomspace(1.0, 1e-3, 30) * strength(X, y, 1.0), rtol=1e-12)
    mapped = AUCClassifierCV(l1s="auto", l2s=[0.01], penalty="mcp", cv=3, features="additive").fit(X, y)
    assert mapped.l1s_.size == 30
    assert 0 < np.count_nonzero(mapped.coef_) < mapped.coef_.size
    same = np.tile([[0.0], [1.0]], (10, 3))  # the classes have the same means
    with pytest.warns(UserWarning, match="All coefficients are 0"):
        nothing = AUCClassifierCV(l1s="auto", l2s=[0.01], penalty="mcp", cv=2).fit(same, np.repeat([0, 1], 10))
    assert np.all(nothing.l1s_ > 0)


@pytest.mark.parametrize("name", KINDS)
def test_dask(name):
    da = pytest.importorskip("dask.array")
    from vrspam.distributed import DaskAUCClassifier, DaskAUCClassifierCV

    X, y = make_data(200, 5, seed=12)
    l1 = strength(X, y, 0.2)
    blocks = da.from_array(X, chunks=(60, 5)), da.from_array(y, chunks=60)
    model = DaskAUCClassifier(0.01, l1, penalty=name, gamma=4.0).fit(*blocks)
    here = AUCClassifier(0.01, l1, penalty=name, gamma=4.0).fit(X, y)
    np.testing.assert_allclose(model.coef_, here.coef_, atol=1e-9)
    assert model.stationarity_ == pytest.approx(here.stationarity_, rel=1e-3, abs=1e-14)
    grid = DaskAUCClassifierCV([0.01], "auto", penalty=name, cv=3).fit(*blocks)
    again = AUCClassifierCV([0.01], "auto", penalty=name, cv=HashFolds(3)).fit(X, y)
    np.testing.assert_allclose(grid.coef_, again.coef_, atol=1e-7)


@pytest.mark.parametrize("l2", [0.0, 0.01])
@pytest.mark.parametrize("name", KINDS)
def test_proximal_svrg(name, l2):
    """On data with one local minimum it ends where coordinate descent ends, by steps on single rows."""
    X, y = make_data(300, 6, seed=13, correlated=False)
    l1 = strength(X, y, 0.2)
    exact = AUCClassifier(l2, l1, penalty=name, tol=1e-14).fit(X, y)
    assert 0 < np.count_nonzero(exact.coef_) < 6
    model = VRSPAMClassifier(l2, l1, penalty=name, tol=1e-12, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=1e-5)
    assert np.array_equal(model.coef_ == 0, exact.coef_ == 0)
    assert model.variant_ == "centred"
    assert model.gap_ is None
    assert model.history_["stationarity"][-1] == model.stationarity_ <= 1e-12 * 0.25
    assert np.isnan(model.history_["gap"]).all()
    with pytest.warns(ConvergenceWarning, match="VRSPAMClassifier stopped after 1 iterations with stationarity_ ="):
        VRSPAMClassifier(l2, l1, penalty=name, tol=1e-12, max_iter=1, random_state=0).fit(X, y)


def test_what_proximal_svrg_refuses(capsys):
    X, y = make_data(60, 3)
    with pytest.raises(ValueError, match=r"on a sparse X each step would update .* use AUCClassifier, or a dense X"):
        VRSPAMClassifier(l1=0.01, penalty="mcp").fit(sparse.csr_array(X), y)
    with pytest.raises(ValueError, match='variant "paper" takes neither penalty="mcp" or "scad" nor limits'):
        VRSPAMClassifier(l1=0.01, penalty="mcp", variant="paper").fit(X, y)
    with pytest.raises(ValueError, match="nor limits of the coefficients"):
        VRSPAMClassifier(variant="paper", positive=True).fit(X, y)
    with pytest.raises(ValueError, match='"theory" is proven for convex penalties alone'):
        VRSPAMClassifier(l1=0.01, penalty="scad", step_size="theory").fit(X, y)
    assert not VRSPAMClassifier(0.0, 0.01, penalty="mcp").fit(np.ones_like(X), y).coef_.any()
    VRSPAMClassifier(l1=0.01, penalty="mcp", verbose=1, random_state=0).fit(X, y)
    assert "stationarity" in capsys.readouterr().err


BAD = [
    ({"penalty": "lasso", "l1": 0.1}, "'penalty' parameter of .* must be a str among"),
    ({"penalty": "mcp"}, r"penalty='mcp' needs l1 > 0, which is its strength: give a positive l1 .*'elasticnet'\."),
    (
        {"penalty": "mcp", "l1": 0.1, "gamma": 1.0},
        r"'mcp' needs a finite gamma > 1, got 1: .* \(the usual value is 3\)",
    ),
    (
        {"penalty": "scad", "l1": 0.1, "gamma": 2.0},
        r"'scad' needs a finite gamma > 2, got 2: .* value is 3\.7\)",
    ),
    ({"penalty": "mcp", "l1": 0.1, "gamma": -1.0}, "'gamma' parameter of .* must be"),
    ({"gamma": 3.0, "l1": 0.1}, r"gamma=3 applies only to penalty='mcp' or 'scad': leave it out\."),
]


@pytest.mark.parametrize(("parameters", "message"), BAD)
def test_bad_parameters(parameters, message):
    X, y = make_data(40, 2)
    moments = ClassMoments.from_data(X, y)
    for kind in (AUCClassifier, VRSPAMClassifier):
        with pytest.raises(ValueError, match=message):
            kind(**parameters).fit(X, y)
    model = AUCClassifier(**parameters)
    for fit in (
        lambda: model.partial_fit(X, y),
        lambda: model.fit_moments(moments),
        lambda: model.fit_stream([(X, y)]),
    ):
        with pytest.raises(ValueError, match=message):
            fit()
    assert not hasattr(model, "moments_")
    grid = {name: value for name, value in parameters.items() if name != "l1"}
    l1s = (parameters.get("l1", 0.0),)
    with pytest.raises(ValueError, match=message):
        AUCClassifierCV(l1s=l1s, **grid).fit(X, y)
    with pytest.raises(ValueError, match=message):
        AUCClassifierCV(l1s=l1s, **grid).fit_stream([(X, y)])
    with pytest.raises(
        ValueError, match=message if "parameter of" not in message else "penalty must be|needs a finite"
    ):
        coef_path(moments, l1s=l1s, **grid)


def test_the_elastic_net_is_the_default_family():
    loss = SquaredPairLoss.from_moments(ClassMoments.from_data(*make_data(40, 2)))
    assert PenaltyFamily()(loss) is ElasticNet
