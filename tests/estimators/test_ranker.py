"""`ConcordanceRanker`, and strata in `AUCClassifier`: against brute force over pairs, and what a score points to."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from vrspam import AUCClassifier, ConcordanceRanker, coef_path
from vrspam._utils.warnings import ScoredAcrossStrata, StrataWithoutPairs
from vrspam.moments import PairMoments, RankedPairs
from vrspam.objective import ElasticNet, Objective, SquaredPairLoss


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
    monkeypatch.setattr("vrspam.moments.pairs.SMALL_STRATUM", 7)
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
        assert ranker.gap_ == classifier.gap_ or np.isnan(classifier.gap_)
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
    with pytest.raises(ValueError, match="No two rows can be compared"):
        AUCClassifier().fit(X, y, strata=np.arange(40))


@pytest.mark.parametrize("loss", [{"loss": "squared_hinge"}, {"loss": "squared_hinge", "max_fpr": 0.1}])
def test_losses_of_sorted_scores_are_refused_inside_strata(loss):
    rng = np.random.default_rng(10)
    with pytest.raises(ValueError, match="has no pairs inside strata"):
        AUCClassifier(**loss).fit(rng.standard_normal((20, 2)), np.tile([0, 1], 10), strata=np.arange(20) // 4)


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
        (["a", "b"] * 20, None, "text is no order"),
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
