"""`ConcordanceRanker`, and strata in `AUCClassifier`: against brute force over pairs, and what a score points to."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn import config_context
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.model_selection import GroupKFold, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from vrspam import AUCClassifier, AUCClassifierCV, ConcordanceRanker, ConcordanceRankerCV, coef_path
from vrspam._utils.validation import Rows
from vrspam._utils.warnings import ScoredAcrossStrata, StrataWithoutPairs
from vrspam.metrics import concordance_index
from vrspam.model_selection.folds import FoldedRows, Split
from vrspam.moments import PairMoments, RankedPairs
from vrspam.objective import ElasticNet, Objective, SquaredHingeLoss, SquaredPairLoss
from vrspam.pairs import Ranked, whole_units
from vrspam.pairs.ranked import concordance_of


def pair_weights(time, event, strata, weights):
    """The weight of each ordered pair (i, j), by the definition: 0 where it does not count."""
    earlier = (time[:, None] < time) | ((time[:, None] == time) & ~event)
    counts = event[:, None] & earlier & (strata[:, None] == strata)
    return np.outer(weights, weights) * counts


def brute_force(X, w, l2, a, weights, same_strata=None):
    """F, its gradient and the exact minimiser, over all pairs one by one."""
    kappa = a.sum() / weights.sum() ** 2
    if same_strata is not None:
        a = a.copy()
        for stratum in np.unique(same_strata):
            inside = np.ix_(same_strata == stratum, same_strata == stratum)
            a[inside] /= a[inside].sum() or 1.0
    upper, lower = np.nonzero(a)
    share, D = a[upper, lower] / a.sum(), X[upper] - X[lower]
    margin = 1.0 - D @ w
    value = kappa * share @ margin**2 + l2 / 2 * w @ w
    gradient = -2.0 * kappa * D.T @ (share * margin) + l2 * w
    best = np.linalg.solve(2.0 * kappa * (D.T * share) @ D + l2 * np.eye(w.size), 2.0 * kappa * D.T @ share)
    return value, gradient, best


def random_problem(rng):
    n, d = int(rng.integers(3, 40)), int(rng.integers(1, 5))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.integers(-2, 3, d) + rng.choice([0.0, 100.0])
    time = rng.integers(0, rng.choice([2, 5, 1000]), n).astype(float)
    event = rng.random(n) < rng.choice([0.4, 0.8, 1.0])
    strata = rng.integers(0, rng.integers(1, n + 1), n)  # many of one row
    weights = np.where(rng.random(n) < 0.1, 0.0, rng.exponential(size=n)) if rng.random() < 0.5 else np.ones(n)
    return X, time, event, strata, weights


@pytest.mark.filterwarnings("ignore::vrspam._utils.warnings.StrataWithoutPairs")
def test_objective_gradient_and_certificate_are_those_of_brute_force():
    rng, done = np.random.default_rng(0), 0
    for number in range(1_000):
        X, time, event, strata, weights = random_problem(rng)
        same = bool(number % 3 == 0)
        a = pair_weights(time, event, strata, weights)
        if not a.any():
            continue
        done += 1
        pairs = RankedPairs(-time, event, strata, same)
        moments = PairMoments.of_pairs(pairs, X, weights)
        l2 = 1e-2 * moments.p * float(np.sum(moments.within_diagonal + moments.delta**2))
        objective = Objective(SquaredPairLoss.from_moments(moments), ElasticNet(l2, 0.0))
        w = rng.standard_normal(X.shape[1]) / (X.std(axis=0) + 1e-3)
        value, gradient, best = brute_force(X, w, l2, a, weights, strata if same else None)
        found, smooth = objective.value_and_grad(w)
        assert found == pytest.approx(value, rel=1e-10)
        np.testing.assert_allclose(smooth + l2 * w, gradient, rtol=1e-10, atol=1e-10 * np.abs(gradient).max())
        least = brute_force(X, best, l2, a, weights, strata if same else None)[0]
        assert objective.gap(w) >= value - least - 1e-12 * value
        gap = objective.gap(best)
        assert 0.0 <= gap <= 1e-12 * objective.scale + 1e-10 * value
    assert done > 800


def test_fitted_model_is_the_optimum_of_brute_force():
    rng = np.random.default_rng(1)
    X, time = rng.standard_normal((120, 4)), rng.integers(0, 30, 120).astype(float)
    event, strata, weights = rng.random(120) < 0.6, rng.integers(0, 6, 120), rng.exponential(size=120)
    for same in ("pairs", "strata"):
        model = ConcordanceRanker(l2=0.01, strata_weight=same)
        model.fit(X, time, event=event, strata=strata, sample_weight=weights)
        a = pair_weights(time, event, strata, weights)
        value, _, best = brute_force(X, model.coef_[0], 0.01, a, weights, strata if same == "strata" else None)
        np.testing.assert_allclose(model.coef_[0], best, rtol=1e-9)
        assert model.objective_ == pytest.approx(value, rel=1e-10)
        assert model.pairs_ == pytest.approx(a.sum(), rel=1e-12)
        assert 0.0 <= model.gap_ <= 1e-8 * a.sum() / weights.sum() ** 2


def test_chunks_make_no_difference(monkeypatch):
    rng = np.random.default_rng(2)
    X, time = rng.standard_normal((500, 3)) + 50.0, rng.integers(0, 8, 500).astype(float)
    event, strata = rng.random(500) < 0.7, rng.integers(0, 3, 500)
    whole = PairMoments.of_pairs(RankedPairs(-time, event, strata), X)
    monkeypatch.setattr("vrspam.moments.pairs.CHUNK_BYTES", 1)
    monkeypatch.setattr("vrspam.comparable.LONG_STRATUM", 7)
    pieces = PairMoments.of_pairs(RankedPairs(-time, event, strata), X)
    np.testing.assert_allclose(pieces.within, whole.within, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(pieces.delta, whole.delta, rtol=1e-11)


def test_sums_of_whole_strata_add_and_subtract():
    rng = np.random.default_rng(3)
    X, y, strata = rng.standard_normal((300, 3)), rng.integers(0, 2, 300).astype(float), rng.integers(0, 40, 300)
    pairs, part = RankedPairs(y, y == y, strata), strata < 25
    a, b = (PairMoments.of_pairs(pairs, X, None, np.flatnonzero(rows)) for rows in (part, ~part))
    total = PairMoments.of_pairs(pairs, X)
    np.testing.assert_allclose((a + b).within, total.within, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose((total - b).within, a.within, rtol=1e-12, atol=1e-13)
    assert (total - b).p == pytest.approx(a.p, rel=1e-12)


def test_a_column_that_hardly_varies_inside_strata_keeps_its_digits():
    rng = np.random.default_rng(4)
    strata = np.repeat(np.arange(200), 5)
    level = 1e8 * rng.standard_normal(200)[strata]  # between strata, 1e8 times as much as inside
    inside = rng.standard_normal(1_000)
    X, y = (level + inside)[:, np.newaxis], rng.integers(0, 2, 1_000).astype(float)
    X -= level[:, np.newaxis]
    exact = X.copy()  # what is left of the column inside strata, as the floats hold it
    X += level[:, np.newaxis]
    pairs = RankedPairs(y, y == y, strata)
    found, expected = PairMoments.of_pairs(pairs, X), PairMoments.of_pairs(pairs, exact)
    np.testing.assert_allclose(found.within, expected.within, rtol=1e-6)  # rounding of X itself alone


def test_two_values_are_the_auc():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((200, 4))
    y = rng.choice([2.0, 7.0], 200)
    for more in ({}, {"l1": 0.01}, {"penalty": "scad", "l1": 0.02}, {"loss": "squared_hinge"}):
        ranker, classifier = ConcordanceRanker(**more).fit(X, y), AUCClassifier(**more).fit(X, y)
        np.testing.assert_array_equal(ranker.coef_, classifier.coef_)
        assert ranker.objective_ == classifier.objective_
        assert ranker.gap_ == classifier.gap_ or classifier.gap_ is None
        assert ranker.score(X, y) == pytest.approx(classifier.score(X, y), abs=1e-12)
    few = y[:60]  # the sums over pairs themselves are those of two classes
    moments = PairMoments.of_pairs(RankedPairs(few, few == few), X[:60])
    plain = AUCClassifier().fit(X[:60], few).moments_
    np.testing.assert_allclose(moments.within, plain.within, rtol=1e-12, atol=1e-14)
    assert moments.p == pytest.approx(plain.p * plain.q, rel=1e-12)


def test_one_stratum_gives_the_numbers_without_strata():
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((150, 3)), rng.integers(0, 2, 150)
    plain = AUCClassifier().fit(X, y)
    for same in ("pairs", "strata"):
        one = AUCClassifier(strata_weight=same).fit(X, y, strata=["only"] * 150)
        np.testing.assert_allclose(one.coef_, plain.coef_, rtol=1e-12)
        assert one.score(X, y, strata=np.zeros(150)) == pytest.approx(plain.score(X, y), abs=1e-12)


def test_which_way_a_score_points():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((400, 2))
    y = X[:, 0] + 0.1 * rng.standard_normal(400)
    event = rng.random(400) < 0.7
    assert ConcordanceRanker().fit(X, y).coef_[0, 0] > 0.0  # larger y ranks higher
    risk = ConcordanceRanker().fit(X, y, event=event)
    assert risk.coef_[0, 0] < 0.0  # with events the earlier one ranks higher
    both = np.array(list(zip(event, y, strict=True)), dtype=[("died", bool), ("months", float)])
    np.testing.assert_array_equal(ConcordanceRanker().fit(X, both).coef_, risk.coef_)
    assert risk.higher_ == "event"
    assert risk.score(X, both) == risk.score(X, y, event=event) > 0.9
    with pytest.raises(ValueError, match="ranks earlier events higher"):
        risk.score(X, y)
    with pytest.raises(ValueError, match="leave event out"):
        ConcordanceRanker().fit(X, y).score(X, y, event=event)


def test_wide_sparse_rows_go_by_products():
    from scipy import sparse

    rng = np.random.default_rng(8)
    X = sparse.random_array((300, 2_500), density=0.01, rng=rng, format="csr")
    time, event, strata = rng.exponential(size=300), rng.random(300) < 0.6, rng.integers(0, 5, 300)
    model = ConcordanceRanker(l2=1e-3).fit(X, time, event=event, strata=strata)
    assert model.solver_ == "products"
    a = pair_weights(time, event, strata, np.ones(300))
    value, _, best = brute_force(X.toarray(), model.coef_[0], 1e-3, a, np.ones(300))
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    least = brute_force(X.toarray(), best, 1e-3, a, np.ones(300))[0]
    assert value - least <= model.gap_ + 1e-15 <= 1e-8 * a.sum() / 300**2 + 1e-15


def test_strata_of_one_class_are_left_out_and_said():
    rng = np.random.default_rng(9)
    X, y, strata = rng.standard_normal((40, 2)), np.tile([0, 1], 20), np.repeat(np.arange(10), 4)
    y[:4] = 1
    with pytest.warns(StrataWithoutPairs, match="1 of 10 strata have no pair to rank, and their 4 rows are left out"):
        model = AUCClassifier(l2=0.01).fit(X, y, strata=strata)
    without = AUCClassifier(l2=0.01 * 40**2 / 36**2).fit(X[4:], y[4:], strata=strata[4:])  # κ has all rows below it
    np.testing.assert_allclose(model.coef_, without.coef_, rtol=1e-10)
    assert model.pairs_ == 9 * 4
    with pytest.raises(ValueError, match=r"a pair needs two rows of one stratum that differ in y\.$"):
        AUCClassifier().fit(X, y, strata=np.arange(40))


def hinge_by_pairs(X, w, a):
    """The squared hinge over the pairs of weight a, its gradient and its Hessian, in long double."""
    upper, lower = np.nonzero(a)
    X = np.asarray(X, dtype=np.longdouble)
    share, D = a[upper, lower] / a.sum(), X[upper] - X[lower]
    margin = np.maximum(1.0 - D @ w, 0.0)
    active = D[margin > 0.0] * np.sqrt(share[margin > 0.0])[:, None]
    return share @ margin**2, -2.0 * D.T @ (share * margin), 2.0 * active.T @ active


def weighed_by_strata(a, strata):
    """Pairs of which each stratum has the same weight."""
    a = a.copy()
    for stratum in np.unique(strata):
        inside = np.ix_(strata == stratum, strata == stratum)
        a[inside] /= a[inside].sum() or 1.0
    return a


@pytest.mark.parametrize("block_rows", [2, 1_000])
def test_squared_hinge_is_that_of_brute_force_over_pairs(block_rows, monkeypatch):
    rng, done = np.random.default_rng(30), 0
    for number in range(300):
        X, time, event, strata, weights = random_problem(rng)
        X = X / X.std(axis=0).clip(1e-3)
        monkeypatch.setattr("vrspam.objective.hinge.BLOCK_ENTRIES", block_rows * X.shape[1])
        same = bool(number % 3 == 0)
        a = pair_weights(time, event, strata, weights)
        if not a.any():
            continue
        done += 1
        kappa = a.sum() / weights.sum() ** 2
        pairs = RankedPairs(-time, event, strata, same)
        moments = PairMoments.of_pairs(pairs, X, weights, scatter=False)
        loss = SquaredHingeLoss.of_pairs(X, pairs.groups(weights), moments)
        w, v = rng.choice([0.0, 0.3, 3.0]) * rng.standard_normal((2, X.shape[1]))
        value, gradient, hessian = hinge_by_pairs(X, w, weighed_by_strata(a, strata) if same else a)
        unit = kappa * float(np.trace(hinge_by_pairs(X, 0.0 * w, a)[2])) * (1.0 + np.abs(w).sum()) + 1e-300
        found = loss.value_and_grad(w)
        assert loss.scale == pytest.approx(kappa, rel=1e-12)
        assert found[0] == pytest.approx(float(kappa * value), rel=1e-10)
        np.testing.assert_allclose(found[1], (kappa * gradient).astype(float), rtol=1e-10, atol=1e-11 * unit)
        np.testing.assert_allclose(loss.hessian_product(w)(v), (kappa * hessian @ v).astype(float), atol=1e-11 * unit)
        point = loss.at(loss.scores(w))
        error = np.abs(found[1] - kappa * gradient)
        assert np.all(error <= loss.rounding_of(np.abs(w), point))
        for part in (point.pairs, point.pairs.active_part(10_000)):
            np.testing.assert_allclose(loss.hessian_matrix(part), (kappa * hessian).astype(float), atol=1e-11 * unit)
            margin = 1.0 - (X @ w)[:, None] + X @ w
            assert part.share() == pytest.approx((a * (margin > 1e-9)).sum() / a.sum(), abs=1e-9) or same
    assert done > 200


@pytest.mark.filterwarnings("ignore::vrspam._utils.warnings.StrataWithoutPairs")
@pytest.mark.parametrize("kind", ["strata", "survival"])
@pytest.mark.parametrize("more", [{}, {"l1": 3e-3}, {"strata_weight": "strata"}])
def test_squared_hinge_is_solved_to_its_certificate(kind, more):
    rng = np.random.default_rng(31)
    X, strata = rng.standard_normal((400, 4)), rng.integers(0, 60 if kind == "strata" else 5, 400)
    time, event = rng.exponential(np.exp(-2.0 * X[:, 0])), rng.random(400) < 0.6
    y = time < np.median(time)
    if kind == "strata":
        model = AUCClassifier(l2=1e-3, loss="squared_hinge", **more).fit(X, y, strata=strata)
        a = pair_weights(-y.astype(float), np.ones(400, dtype=bool), strata, np.ones(400))
    else:
        model = ConcordanceRanker(l2=1e-3, loss="squared_hinge", **more).fit(X, time, event=event, strata=strata)
        a = pair_weights(time, event, strata, np.ones(400))
    kappa, l1 = a.sum() / 400**2, more.get("l1", 0.0)
    a = weighed_by_strata(a, strata) if more.get("strata_weight") == "strata" else a

    def cost(both):  # the positive and the negative part of w: smooth inside the bounds
        w = both[:4] - both[4:]
        value, gradient, _ = hinge_by_pairs(X, w, a)
        smooth = (kappa * gradient + 1e-3 * w).astype(float)
        total = float(kappa * value + 1e-3 / 2 * w @ w) + l1 * both.sum()
        return total, np.concatenate([smooth, -smooth]) + l1

    best = minimize(cost, np.full(8, 0.1), jac=True, bounds=[(0.0, None)] * 8, options={"ftol": 1e-14, "gtol": 1e-9})
    w = model.coef_[0]
    value = cost(np.concatenate([np.maximum(w, 0.0), np.maximum(-w, 0.0)]))[0]
    assert model.objective_ == pytest.approx(value, rel=1e-12)
    assert value - best.fun <= model.gap_ + 1e-15 * value  # the rounding of the two values
    assert model.gap_ <= 1e-8 * kappa
    np.testing.assert_allclose(w, best.x[:4] - best.x[4:], atol=2e-4)
    assert model.solver_ == "newton"


def test_squared_hinge_of_one_stratum_is_that_of_two_classes():
    rng = np.random.default_rng(32)
    X, y, weights = rng.standard_normal((120, 3)), rng.integers(0, 2, 120).astype(float), rng.exponential(size=120)
    pairs = RankedPairs(y, y == y)
    moments = PairMoments.of_pairs(pairs, X, weights)
    whole = SquaredHingeLoss.of_pairs(X, pairs.groups(weights), moments)
    plain = SquaredHingeLoss(X, y == 1, weights, AUCClassifier().fit(X, y, sample_weight=weights).moments_)
    for w in rng.standard_normal((5, 3)):
        (a, b), (c, d) = whole.value_and_grad(w), plain.value_and_grad(w)
        assert a == pytest.approx(c, rel=1e-12)
        np.testing.assert_allclose(b, d, rtol=1e-12, atol=1e-13)
    for y_of in (y, y.astype(int)):
        one = AUCClassifier(loss="squared_hinge").fit(X, y_of, strata=np.zeros(120))
        np.testing.assert_allclose(one.coef_, AUCClassifier(loss="squared_hinge").fit(X, y_of).coef_, rtol=1e-12)


def test_squared_hinge_of_folds_is_that_of_their_rows():
    rng = np.random.default_rng(33)
    X, strata = rng.standard_normal((300, 3)), np.repeat(np.arange(60), 5)
    y = X[:, 0] + rng.standard_normal(300) > 0.0
    splits = list(GroupKFold(3).split(X, y, strata))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StrataWithoutPairs)
        model = AUCClassifierCV([1e-4, 1e-2], loss="squared_hinge", cv=splits).fit(X, y, strata=strata)
        for fold, (train, test) in enumerate(splits):
            alone = AUCClassifier(1e-2, loss="squared_hinge").fit(X[train], y[train], strata=strata[train])
            assert model.auc_path_[1, 0, fold] == pytest.approx(alone.score(X[test], y[test], strata=strata[test]))
    time, event = np.exp(-X[:, 0]) * rng.exponential(size=300), rng.random(300) < 0.7
    ranker = ConcordanceRankerCV([1e-4, 1e-2], loss="squared_hinge", cv=splits).fit(X, time, event=event)
    train, test = splits[0]
    alone = ConcordanceRanker(1e-4, loss="squared_hinge").fit(X[train], time[train], event=event[train])
    assert ranker.auc_path_[0, 0, 0] == pytest.approx(alone.score(X[test], time[test], event=event[test]))


@pytest.mark.parametrize("many", [False, True])
def test_few_strata_or_rows_stand_for_all(many):
    rng = np.random.default_rng(34)
    X, strata = rng.standard_normal((6_000, 3)), np.arange(6_000) // (10 if many else 3_000)
    y = X[:, 0] + rng.standard_normal(6_000)
    pairs = RankedPairs(y > 0.0 if many else y, y == y, strata)
    loss = SquaredHingeLoss.of_pairs(X, pairs.groups(), PairMoments.of_pairs(pairs, X))
    point = loss.at(loss.scores(np.array([0.3, 0.0, 0.1])))
    few = point.pairs.active_part(len(point.pairs.up) // 4)
    assert len(few.up) < 0.3 * len(point.pairs.up)
    ratio = np.linalg.eigvals(np.linalg.solve(loss.hessian_matrix(point.pairs), loss.hessian_matrix(few))).real
    assert 0.7 < ratio.min() <= ratio.max() < 1.4


def test_a_part_of_the_curve_is_refused_inside_strata():
    rng = np.random.default_rng(10)
    X, y = rng.standard_normal((20, 2)), np.tile([0, 1], 10)
    with pytest.raises(ValueError, match=r"max_fpr=0\.1 is not available for pairs inside strata"):
        AUCClassifier(loss="squared_hinge", max_fpr=0.1).fit(X, y, strata=np.arange(20) // 4)


def test_score_counts_pairs_inside_strata_alone():
    rng = np.random.default_rng(11)
    X, y, strata = rng.standard_normal((90, 2)), rng.integers(0, 2, 90), rng.integers(0, 15, 90)
    model = AUCClassifier().fit(X, y, strata=strata)
    scores = model.decision_function(X)
    won = pairs = 0.0
    for i in np.flatnonzero(y == 1):
        for j in np.flatnonzero((y == 0) & (strata == strata[i])):
            won, pairs = won + (scores[i] > scores[j]) + 0.5 * (scores[i] == scores[j]), pairs + 1
    assert model.score(X, y, strata=strata) == pytest.approx(won / pairs, rel=1e-12)
    with pytest.warns(ScoredAcrossStrata, match="score counts all pairs"):
        model.score(X, y)


def test_cross_val_score_routes_strata_to_fit_and_score():
    rng = np.random.default_rng(12)
    X, strata = rng.standard_normal((240, 3)), np.repeat(np.arange(60), 4)
    y = (X[:, 0] + 5.0 * rng.standard_normal(60)[strata] + rng.standard_normal(240) > 0).astype(int)
    y[::4], y[1::4] = 0, 1
    with config_context(enable_metadata_routing=True):
        model = make_pipeline(
            StandardScaler(), AUCClassifier().set_fit_request(strata=True).set_score_request(strata=True)
        )
        scores = cross_val_score(model, X, y, cv=GroupKFold(3), params={"strata": strata, "groups": strata})
    for (train, test), score in zip(GroupKFold(3).split(X, y, strata), scores, strict=True):
        alone = AUCClassifier().fit(StandardScaler().fit_transform(X[train]), y[train], strata=strata[train])
        scaled = StandardScaler().fit(X[train]).transform(X[test])
        assert score == pytest.approx(alone.score(scaled, y[test], strata=strata[test]), abs=1e-12)


def test_a_path_of_penalties_comes_from_the_sums():
    rng = np.random.default_rng(13)
    X, time, event = rng.standard_normal((200, 3)), rng.exponential(size=200), rng.random(200) < 0.5
    model = ConcordanceRanker(l2=0.01, l1=0.001).fit(X, time, event=event)
    path = coef_path(model.moments_, l2s=[0.01, 0.1], l1s=[0.0, 0.001])
    np.testing.assert_allclose(path[0, 1], model.coef_[0], atol=1e-5)
    with pytest.raises(ValueError, match="no rows can be added"):
        model.moments_.update(X, np.arange(200) % 2)


@pytest.mark.parametrize(
    ("y", "event", "words"),
    [
        (["a", "b"] * 20, None, "text has no order"),
        (np.ones(40), None, "No two rows can be compared"),
        (np.arange(40.0), np.zeros(40, bool), "all rows censored"),
        (np.full(40, np.nan), None, "contains NaN"),
        (np.arange(40.0), np.full(40, 2), "event must be"),
        (np.arange(40.0), np.ones(39, bool), "event has shape"),
    ],
)
def test_targets_that_say_no_order_are_refused(y, event, words):
    X = np.random.default_rng(14).standard_normal((40, 2))
    with pytest.raises(ValueError, match=words):
        ConcordanceRanker().fit(X, y, event=event)


def test_harrells_c_is_that_of_scikit_survival():
    sksurv = pytest.importorskip("sksurv.metrics")
    rng = np.random.default_rng(15)
    X, time = rng.standard_normal((200, 3)).round(1), rng.integers(1, 40, 200).astype(float)
    event = rng.random(200) < 0.5
    model = ConcordanceRanker().fit(X, time, event=event)
    expected = sksurv.concordance_index_censored(event, time, model.predict(X))[0]
    assert model.score(X, time, event=event) == pytest.approx(expected, abs=1e-12)


def survival(n=300, seed=16, d=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    time, end = rng.exponential(np.exp(-X[:, 0])), rng.exponential(1.5, n)
    return X, np.minimum(time, end), time <= end


def test_counted_pairs_are_those_of_brute_force():
    rng = np.random.default_rng(17)
    for _ in range(50):
        _, time, event, strata, weights = random_problem(rng)
        lines = rng.integers(0, 6, (2, time.size)).astype(float)
        a = pair_weights(time, event, strata, weights)
        if not a.any():
            continue
        groups = RankedPairs(-time, event, strata).groups(weights)
        found, moves = concordance_of(groups, lines[:, groups.rows])
        for line, value, moved in zip(lines, found, moves, strict=True):
            won = (line[:, None] > line) + 0.5 * (line[:, None] == line)
            assert value == pytest.approx((a * won).sum() / a.sum(), abs=1e-12)
            each = ((a * (won - value)).sum(axis=1) + (a * (won - value)).sum(axis=0)) / a.sum()
            np.testing.assert_allclose(moved, each[groups.rows], atol=1e-12)


def test_each_fold_is_solved_and_measured_as_by_itself():
    X, time, event = survival()
    model = ConcordanceRankerCV(l2s=[1e-3, 1e-1], l1s=[0.0, 0.01], cv=3).fit(X, time, event=event)
    held_out = model.out_of_fold_
    for fold in range(3):
        inside = held_out.fold != fold
        train, test = held_out.places[inside], held_out.places[~inside]
        for i, l2 in enumerate([1e-3, 1e-1]):
            for j, l1 in enumerate([0.0, 0.01]):
                alone = ConcordanceRanker(l2=l2, l1=l1).fit(X[train], time[train], event=event[train])
                expected = alone.score(X[test], time[test], event=event[test])
                assert model.auc_path_[i, j, fold] == pytest.approx(expected, abs=2e-4)
    assert model.measure_ == "concordance"
    assert model.best_score_ == model.auc_path_.mean(axis=2).max()
    whole = ConcordanceRanker(l2=model.l2_, l1=model.l1_).fit(X, time, event=event)
    np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-6)


@pytest.mark.filterwarnings("ignore::vrspam._utils.warnings.StrataWithoutPairs")
def test_folds_of_whole_strata_are_solved_and_measured_inside_them():
    rng = np.random.default_rng(18)
    X, strata = rng.standard_normal((400, 3)), np.repeat(np.arange(100), 4)
    y = (X[:, 0] + 3.0 * rng.standard_normal(100)[strata] + rng.standard_normal(400) > 0).astype(int)
    groups = np.arange(400) // 8  # two strata each
    model = AUCClassifierCV(l2s=[1e-3, 1e-1], cv=4, calibration=None).fit(X, y, strata=strata, groups=groups)
    held_out = model.out_of_fold_
    for fold in range(4):
        train, test = held_out.places[held_out.fold != fold], held_out.places[held_out.fold == fold]
        assert not set(groups[train]) & set(groups[test])
        for i, l2 in enumerate([1e-3, 1e-1]):
            alone = AUCClassifier(l2=l2).fit(X[train], y[train], strata=strata[train])
            expected = alone.score(X[test], y[test], strata=strata[test])
            assert model.auc_path_[i, 0, fold] == pytest.approx(expected, abs=1e-9)
    assert model.measure_ == "AUC inside strata"
    low, high = model.corrected_interval_
    assert low < model.corrected_score_ < high
    inside = concordance_index(y, model.out_of_fold_.scores, strata=strata)
    assert abs(model.corrected_score_ - inside) < 0.05  # all pairs would have a far lower AUC
    assert abs(model.corrected_score_ - concordance_index(y, model.out_of_fold_.scores)) > 0.08


def test_two_values_and_one_stratum_choose_as_the_classifier_does():
    rng = np.random.default_rng(19)
    X = rng.standard_normal((150, 3))
    y = (X[:, 0] + rng.standard_normal(150) > 0).astype(float)
    plain = AUCClassifierCV(cv=3).fit(X, y)
    for other in (AUCClassifierCV(cv=3).fit(X, y, strata=np.zeros(150)), ConcordanceRankerCV(cv=3).fit(X, y)):
        np.testing.assert_allclose(other.coef_, plain.coef_, rtol=1e-12)
        assert other.corrected_score_ == pytest.approx(plain.corrected_score_, abs=1e-12)
        assert other.gap_ == plain.gap_


def test_maps_of_a_ranker_rank_what_lines_cannot():
    X, _, _ = survival(500, 20)
    time = np.random.default_rng(21).exponential(np.exp(-(X[:, 0] ** 2)))
    event = np.random.default_rng(22).random(500) < 0.7
    straight = ConcordanceRankerCV(features="standardized").fit(X, time, event=event)
    curved = ConcordanceRankerCV(features=["standardized", "additive"]).fit(X, time, event=event)
    assert curved.best_score_ > straight.best_score_ + 0.1
    assert set(curved.selection_["features"]) == {"standardized", "additive"}
    assert curved.feature_importances_[0] > 0.6
    assert not hasattr(curved, "predict_proba")
    assert not hasattr(curved, "classes_")


@pytest.mark.parametrize("features", ["forest", "boosted", ["additive", "boosted"]])
def test_trees_of_a_ranker_rank_what_no_sum_of_curves_can(features):
    X, _, _ = survival(2400, 23)
    rng = np.random.default_rng(24)
    risk = 2.0 * ((X[:, 0] > 0.0) ^ (X[:, 1] > 0.0))
    time, event = rng.exponential(np.exp(-risk)), rng.random(2400) < 0.7
    curves = ConcordanceRankerCV(features="additive").fit(X[:400], time[:400], event=event[:400])
    trees = ConcordanceRankerCV(features=features, random_state=0).fit(X[:400], time[:400], event=event[:400])
    best = concordance_index(time[400:], risk[400:], event=event[400:])
    found = trees.score(X[400:], time[400:], event=event[400:])
    assert curves.score(X[400:], time[400:], event=event[400:]) < 0.6 < best - 0.05 < found
    assert abs(trees.corrected_score_ - found) < 0.06
    order = ConcordanceRankerCV(features=features, random_state=0).fit(X[:400], -time[:400])
    assert order.score(X[400:], -time[400:]) > 0.65


def test_trees_of_a_fold_do_not_see_the_target_of_the_rows_that_it_holds_out():
    X, time, event = survival(300, 25)
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))
    held = folds[1][1]
    other_time, other_event = time.copy(), event.copy()
    other_time[held], other_event[held] = time[held][::-1], ~event[held]
    for name in ("forest", "boosted"):
        first, second = (
            ConcordanceRankerCV(features=name, cv=folds, random_state=0).fit(X, given[0], event=given[1])
            for given in ((time, event), (other_time, other_event))
        )
        alike = [
            np.array_equal(first.features_.scores_by(number, X), second.features_.scores_by(number, X))
            for number in range(len(first.features_.groves_))
        ]
        assert sum(alike) == 4  # four sets leave out the fold, and a half of another one


@pytest.mark.parametrize("stratified", [False, True])
def test_the_label_of_a_row_is_its_share_of_pairs_won(stratified):
    rng = np.random.default_rng(26)
    time, event, weights = rng.integers(1, 9, 60), rng.random(60) < 0.5, rng.random(60)
    strata = rng.integers(0, 12, 60) if stratified else None
    rows = np.sort(rng.permutation(60)[:45])
    above = np.zeros((60, 60), dtype=bool)
    for i in rows:
        for j in rows:
            first = time[i] < time[j] or (time[i] == time[j] and not event[j])
            above[i, j] = event[i] and first and (strata is None or strata[i] == strata[j])
    won, lost = above @ weights, above.T @ weights
    share, mass = RankedPairs(-time, event, strata).places(weights, rows)
    used = won + lost > 0.0
    np.testing.assert_array_equal(np.isnan(share), ~used)
    np.testing.assert_allclose(share[used], won[used] / (won + lost)[used], rtol=1e-12)
    np.testing.assert_allclose(mass[used], (won + lost)[used], rtol=1e-12)


@pytest.mark.filterwarnings("ignore::vrspam._utils.warnings.GridEdge")
def test_corrected_score_and_interval_hold_on_new_rows():
    inside, errors = 0, []
    for seed in range(40):
        X, time, event = survival(150, 100 + seed, 6)
        model = ConcordanceRankerCV(cv=3, l2s=[1e-3, 1e-1, 10.0]).fit(X, time, event=event)
        new, later, happened = survival(4_000, 1_000 + seed, 6)
        truth = model.score(new, later, event=happened)
        low, high = model.corrected_interval_
        inside += low <= truth <= high
        errors.append(model.corrected_score_ - truth)
    assert inside >= 35  # 95 % of 40 is 38; fewer than 35 have a chance of 0.3 %
    assert abs(np.mean(errors)) < 0.02


def test_splits_that_tear_strata_apart_are_refused():
    rng = np.random.default_rng(23)
    X, y, strata = rng.standard_normal((60, 2)), np.tile([0, 1], 30), np.repeat(np.arange(15), 4)
    forward = [(np.arange(30), np.arange(30, 45)), (np.arange(45), np.arange(45, 60))]
    with pytest.raises(ValueError, match="Fold 0 splits strata, as folds in the order of time do"):
        AUCClassifierCV(cv=forward).fit(X, y, strata=strata)
    with pytest.raises(ValueError, match="scoring='average_precision' looks at all rows"):
        AUCClassifierCV(scoring="average_precision").fit(X, y, strata=strata)
    for more in ({"max_fpr": 0.1}, {"max_fpr": 0.1, "scoring": "partial_roc_auc"}):
        with pytest.raises(ValueError, match=r"looks at all rows, but .* use scoring='auto' without max_fpr"):
            AUCClassifierCV(**more).fit(X, y, strata=strata)


def test_units_join_strata_and_groups():
    strata, groups = np.array([0, 0, 1, 1, 2, 3]), np.array(["a", "b", "b", "c", "d", "d"])
    found = whole_units(strata, groups)
    assert len(set(found[:4].tolist())) == 1
    assert found[4] == found[5] != found[0]


@pytest.mark.filterwarnings("ignore::vrspam._utils.warnings.StrataWithoutPairs")
@pytest.mark.parametrize("same", ["pairs", "strata"])
def test_a_stream_of_sorted_strata_gives_the_fit_of_all_rows(same):
    rng = np.random.default_rng(24)
    X, strata = rng.standard_normal((500, 3)) + 10.0, np.sort(rng.integers(0, 60, 500))
    y, weights = rng.integers(0, 2, 500), rng.exponential(size=500)
    blocks = [(X[a : a + 37], y[a : a + 37], weights[a : a + 37], strata[a : a + 37]) for a in range(0, 500, 37)]
    whole = AUCClassifier(strata_weight=same).fit(X, y, weights, strata=strata)
    streamed = AUCClassifier(strata_weight=same).fit_stream(iter(blocks))
    np.testing.assert_allclose(streamed.coef_, whole.coef_, rtol=1e-10)
    assert streamed.pairs_ == pytest.approx(whole.pairs_, rel=1e-12)
    assert streamed.objective_ == pytest.approx(whole.objective_, rel=1e-10)
    torn = [blocks[0], blocks[5], blocks[0]]
    with pytest.raises(ValueError, match="lie apart: sort the rows by their strata"):
        AUCClassifier().fit_stream(torn)
    with pytest.raises(ValueError, match="has strata, which only"):
        AUCClassifierCV().fit_stream(blocks)
    with pytest.raises(AttributeError, match="all rows at once: use fit"):
        ConcordanceRanker().fit_stream(blocks)


@pytest.mark.parametrize("weighted", [0, 1])
def test_a_stratum_may_lie_in_blocks_with_and_without_weights(weighted):
    """Rows of a block without weights count once."""
    rng = np.random.default_rng(27)
    X, y, strata, weights = rng.standard_normal((60, 3)), np.tile([0, 1], 30), np.repeat(np.arange(4), 15), np.ones(60)
    halves = slice(0, 20), slice(20, 60)  # the second stratum is rows 15 to 29
    weights[halves[weighted]] = rng.exponential(size=weights[halves[weighted]].size)
    blocks = [
        (X[rows], y[rows], weights[rows] if number == weighted else None, strata[rows])
        for number, rows in enumerate(halves)
    ]
    streamed = AUCClassifier().fit_stream(iter(blocks))
    np.testing.assert_allclose(streamed.coef_, AUCClassifier().fit(X, y, weights, strata=strata).coef_, rtol=1e-10)


@pytest.mark.filterwarnings("ignore::vrspam._utils.warnings.StrataWithoutPairs")
def test_dask_adds_the_pairs_of_its_blocks():
    da = pytest.importorskip("dask.array")
    from vrspam.distributed import DaskAUCClassifier, DaskAUCClassifierCV

    rng = np.random.default_rng(25)
    X, y, strata = rng.standard_normal((300, 3)), rng.integers(0, 2, 300), np.repeat(np.arange(60), 5)
    parts = da.from_array(X, chunks=(50, 3)), da.from_array(y, chunks=50)
    model, whole = DaskAUCClassifier().fit(*parts, strata=strata), AUCClassifier().fit(X, y, strata=strata)
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-10)
    assert model.score(*parts, strata=strata) == pytest.approx(whole.score(X, y, strata=strata), abs=1e-12)
    with pytest.raises(ValueError, match="lie apart"):
        DaskAUCClassifier().fit(*parts, strata=np.arange(300) // 7)
    with pytest.raises(ValueError, match="DaskAUCClassifierCV takes no strata"):
        DaskAUCClassifierCV().fit(*parts, strata=strata)
    with pytest.raises(ValueError, match="needs the rows themselves"):
        DaskAUCClassifier(loss="squared_hinge").fit(*parts, strata=strata)


def test_rounding_of_the_sums_stays_within_its_bound():
    """The gradient by rational numbers, pair by pair, lies within the bound that the certificate makes room for."""
    rng = np.random.default_rng(26)
    for number in range(25):
        _, time, event, strata, weights = random_problem(rng)
        n = min(time.size, 14)
        time, event, strata, weights = time[:n], event[:n], strata[:n] % 3, weights[:n]
        X = rng.standard_normal((n, 2)) * [1.0, 1e-3] + rng.choice([0.0, 1e5, 1e8], 2) * (1 + strata[:, np.newaxis])
        a = pair_weights(time, event, strata, np.ones(n))
        if not (a * np.outer(weights, weights)).any():
            continue
        moments = PairMoments.of_pairs(RankedPairs(-time, event, strata), X, weights)
        loss, w = SquaredPairLoss.from_moments(moments), rng.standard_normal(2) * [1.0, 1e3]
        grad = loss.value_and_grad(w)[1]
        exact, c, rows = [Fraction(0)] * 2, list(map(Fraction, weights)), [list(map(Fraction, row)) for row in X]
        along = list(map(Fraction, w))
        for i, j in zip(*np.nonzero(a), strict=True):
            D = [p - q for p, q in zip(rows[i], rows[j], strict=True)]
            margin = 1 - sum(p * q for p, q in zip(D, along, strict=True))
            exact = [e - 2 * c[i] * c[j] * margin * p for e, p in zip(exact, D, strict=True)]
        off = [float(Fraction(g) - e / sum(c) ** 2) for g, e in zip(grad, exact, strict=True)]
        assert np.linalg.norm(off) <= loss.gradient_error(w, grad), number
        assert loss.gradient_error(w, grad) <= 1e-6 * np.linalg.norm(grad) + 1e-9


@pytest.mark.filterwarnings("ignore::vrspam._utils.warnings.GridEdge")
@pytest.mark.parametrize("stratified", [False, True])
def test_groups_of_single_rows_leave_the_interval_alone(stratified):
    """Only where units are whole strata does a pair lie inside a unit: rows that are their own groups are no units."""
    X, time, event = survival(180, 3, 4)
    strata = np.arange(180) % 9 if stratified else None
    splits = list(GroupKFold(3).split(X, time, np.arange(180) % 9))
    models = [
        ConcordanceRankerCV([0.01, 1.0], cv=splits).fit(X, time, event=event, strata=strata, groups=groups)
        for groups in (None, np.arange(180))
    ]
    assert models[0].corrected_interval_ == pytest.approx(models[1].corrected_interval_, abs=1e-12)


def test_a_pair_of_a_whole_stratum_counts_once_in_its_unit():
    """Nine sites of strata of three rows: a unit's part of the error is that of drawing its strata."""
    rng = np.random.default_rng(29)
    strata, y = np.arange(162) // 3, np.tile([0, 1, 1], 54)
    X = rng.standard_normal((162, 3)) + y[:, None]
    splits = list(GroupKFold(3).split(X, y, strata // 6))
    rows, classes = Rows(X, y, None), np.array([0, 1])
    pairs = Ranked(y == 1.0, y == y, strata)
    for units, whole in ((strata // 6, True), (strata, True), (np.arange(162) // 2, False), (np.arange(162), False)):
        folds = FoldedRows(rows, [Split(*split) for split in splits], classes, y == 1, units, pairs)
        assert folds.sample(1, 0).whole_strata is whole


def test_a_stream_of_strata_may_mix_sparse_and_dense_blocks():
    rng = np.random.default_rng(30)
    X, y, strata = rng.standard_normal((90, 3)), np.tile([0, 1], 45), np.arange(90) // 9
    whole = AUCClassifier().fit(X, y, strata=strata).coef_
    for kinds in ((sparse.csr_array, np.asarray), (np.asarray, sparse.csr_matrix)):
        blocks = [
            (kinds[number % 2](X[a : a + 20]), y[a : a + 20], None, strata[a : a + 20])
            for number, a in enumerate(range(0, 90, 20))
        ]
        np.testing.assert_allclose(AUCClassifier().fit_stream(blocks).coef_, whole, rtol=1e-10)


def test_a_wide_stream_of_strata_is_refused_before_its_matrices_are_made():
    X = sparse.random_array((12, 20_001), density=1e-3, format="csr", rng=np.random.default_rng(31))
    with pytest.raises(ValueError, match=r"has strata needs two 20001×20001 matrices \(6 GB\): use fit with all rows"):
        AUCClassifier().fit_stream([(X, np.tile([0, 1], 6), None, np.arange(12) // 4)])


def test_a_score_without_any_event_is_undefined():
    X, time, event = survival(60, 5, 2)
    model = ConcordanceRanker().fit(X, time, event=event)
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(model.score(X, time, event=np.zeros(60, dtype=bool)))


def test_a_ranker_says_what_it_lacks():
    X, time, event = survival(60, 6, 2)
    with pytest.raises(AttributeError) as refused:
        ConcordanceRankerCV().fit(X, time, event=event).predict_proba(X)
    assert str(refused.value.__cause__) == "A ranker has no probabilities: its scores have no unit."
    order = np.argsort(time)
    with pytest.raises(ValueError, match="Fold 0: its validation part holds only rows that rank above most others"):
        ConcordanceRankerCV(cv=KFold(5)).fit(X[order], time[order], event=np.ones(60, dtype=bool))


@pytest.mark.filterwarnings("ignore::vrspam._utils.warnings.GridEdge")
def test_no_folds_named_are_five():
    X, time, event = survival(90, 7, 2)
    y = time > np.median(time)
    for model, fitted in (
        (ConcordanceRankerCV, {"y": time, "event": event}),
        (AUCClassifierCV, {"y": y}),
        (AUCClassifierCV, {"y": y, "groups": np.arange(90) // 3}),
    ):
        found, named = model(cv=None).fit(X, **fitted), model(cv=5).fit(X, **fitted)
        np.testing.assert_array_equal(found.auc_path_, named.auc_path_)
    streamed, named = AUCClassifierCV(cv=None).fit_stream([(X, y)]), AUCClassifierCV(cv=5).fit_stream([(X, y)])
    np.testing.assert_array_equal(streamed.auc_path_, named.auc_path_)
