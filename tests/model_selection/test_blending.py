"""Blends of feature maps: weights, spreads, one scorer on stacked features, the correction with the blend inside."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from helpers import make_data
from sklearn.base import clone
from sklearn.preprocessing import PolynomialFeatures
from stored import read_again

from vrspam import AUCClassifierCV, ClassMoments
from vrspam.features import (
    AdditiveFeatures,
    KernelFeatures,
    LinearFeatures,
    StackedFeatures,
    TreeFeatures,
)
from vrspam.features.scoring import PreparedParts
from vrspam.metrics import roc_auc
from vrspam.metrics.correction import TwoClassMeasure, corrected_choice, draw_sample, measure_folds
from vrspam.model_selection.correction import correct
from vrspam.model_selection.selection import Points, blend_weights, choose
from vrspam.tool.score_parts import means_of_parts

MAPS = ["additive", "kernel alone 1", "trees 2"]


def curved_data(n=240, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return X, (X[:, 0] ** 2 + X[:, 1] + rng.standard_normal(n) > 1.2).astype(int)


def test_weights_fall_with_the_lead_of_the_best():
    scores = np.array([[0.70, 0.90, 0.80], [0.78, 0.79, 0.80], [0.5, 0.5, 0.5]])
    deviation = np.std([0.70, 0.90, 0.80], ddof=1)
    expected = np.array([1.0, np.exp(-(0.80 - 0.79) / (0.5 * deviation)), 0.0])
    np.testing.assert_allclose(blend_weights(scores), expected / expected.sum(), rtol=1e-12)
    assert np.exp(-0.3 / (0.5 * deviation)) < 0.02


def test_a_clear_winner_gets_all_the_weight():
    np.testing.assert_array_equal(blend_weights(np.array([[0.90, 0.91], [0.80, 0.81], [0.7, 0.7]])), [1.0, 0.0, 0.0])


def test_perfect_scores_share_the_weight():
    np.testing.assert_array_equal(blend_weights(np.array([[1.0, 1.0], [0.9, 1.0], [1.0, 1.0]])), [0.5, 0.0, 0.5])
    np.testing.assert_array_equal(blend_weights(np.array([[0.8], [0.8 + 1e-14], [0.7]])), [0.5, 0.5, 0.0])


def test_weights_of_many_draws_are_those_of_each():
    scores = 0.8 + 0.05 * np.random.default_rng(0).standard_normal((4, 5, 30))
    found = blend_weights(scores)
    for draw in range(30):
        np.testing.assert_allclose(found[:, draw], blend_weights(scores[:, :, draw]), atol=1e-15)


def test_spreads_are_deviations_within_folds():
    rng = np.random.default_rng(1)
    positive, weights = rng.random(40) < 0.4, rng.integers(1, 4, 40).astype(float)
    parts = [np.arange(0, 25), np.arange(25, 40)]
    rows = draw_sample(parts, [15, 25], positive, weights, None, 2, 0)
    scores = [rng.standard_normal((3, part.size)) for part in parts]
    scores[0][2] = scores[1][2] = 7.0  # all equal: not divided
    scores[1][:2] += 100.0  # another fold may lie elsewhere
    found = rows.spreads(np.concatenate(scores, axis=1).T)
    for point in range(2):
        squares, total = 0.0, 0.0
        for part, some in zip(parts, scores, strict=True):
            values = np.repeat(some[point], weights[part].astype(int))
            squares, total = squares + values.var() * values.size, total + values.size
        assert found[point] == pytest.approx(np.sqrt(squares / total), rel=1e-12)
    assert found[2] == 1.0


def fit_alone(X, y, name, l2, weights=None):
    return AUCClassifierCV([l2], features=[name], random_state=0).fit(X, y, weights)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_blend_is_the_weighted_sum_of_its_members(weighted):
    X, y = curved_data()
    weights = np.random.default_rng(2).uniform(0.5, 2.0, y.size) if weighted else None
    model = AUCClassifierCV(features=MAPS, random_state=0).fit(X, y, weights)
    table = model.selection_
    assert sum(table["weight"]) == pytest.approx(1.0)
    members = [i for i, weight in enumerate(table["weight"]) if weight > 0.0]
    assert len(members) > 1
    assert isinstance(model.features_, StackedFeatures)
    assert table["chosen"] == [weight > 0.0 for weight in table["weight"]]
    fresh = np.random.default_rng(3).standard_normal((50, 3))
    total, folds = np.zeros(50), np.zeros(y.size)
    for i in members:
        alone = fit_alone(X, y, table["features"][i], table["l2"][i], weights)
        held_out = alone.out_of_fold_
        squares = sum(
            np.average((part - np.average(part, weights=w)) ** 2, weights=w) * w.sum()
            for part, w in (
                (held_out.scores[held_out.fold == k], held_out.weights[held_out.fold == k]) for k in range(5)
            )
        )
        factor = table["weight"][i] / np.sqrt(squares / held_out.weights.sum())
        total += factor * (alone.decision_function(fresh) - alone.baseline_)
        folds += factor * held_out.scores
    np.testing.assert_allclose(model.decision_function(fresh) - model.baseline_, total, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.out_of_fold_.scores, folds, rtol=1e-7, atol=1e-9)


def test_what_a_blend_says_of_itself():
    X, y = curved_data()
    model = AUCClassifierCV(features=MAPS, random_state=0).fit(X, y)
    table = model.selection_
    best = int(np.argmax(table["auc"]))
    assert (model.l2_, model.best_score_) == (table["l2"][best], table["auc"][best])
    assert model.auc_path_.mean(axis=2).max() == pytest.approx(model.best_score_)
    assert model.objective_ is None
    assert model.gap_ == max(gap for gap, weight in zip(table["gap"], table["weight"], strict=True) if weight > 0.0)
    assert 0.0 < model.gap_ <= 1e-8 * np.mean(y) * np.mean(1 - y)
    assert model.coef_.shape == (1, model.features_.n_features_out_)
    parts = model.explain_one(X[4])
    assert sum(parts.values()) == pytest.approx(model.decision_function(X[4:5])[0])
    assert list(model.shape_functions_) == ["x0", "x1", "x2"]
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.feature_importances_.argmin() == 2
    assert not model.moments_.has_scatter
    np.testing.assert_allclose(
        model.moments_.means, [model.features_.transform(X[y == label]).mean(axis=0) for label in (0, 1)], atol=1e-12
    )


def test_one_map_that_is_clearly_ahead_stands_alone():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 2))
    y = (X[:, 0] * X[:, 1] > 0.0).astype(int)
    model = AUCClassifierCV(features=["additive", "kernel alone 1"], random_state=0).fit(X, y)
    assert model.selection_["weight"] == [0.0, 1.0]
    assert isinstance(model.features_, KernelFeatures)
    assert np.isfinite(model.objective_)
    assert model.moments_.has_scatter


def test_the_order_of_the_maps_does_not_matter():
    X, y = curved_data()
    fresh = np.random.default_rng(3).standard_normal((20, 3))
    maps = {"curves": AdditiveFeatures(), "kernel": KernelFeatures(additive=False, random_state=5)}
    maps["trees"] = TreeFeatures(max_depth=2, random_state=5)
    found = []
    for given in (maps, dict(reversed(maps.items()))):
        found.append(AUCClassifierCV(features=given, random_state=0).fit(X, y).decision_function(fresh))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9, atol=1e-9)


def test_maps_of_other_packages_are_chosen_not_blended():
    X, y = curved_data()
    maps = [LinearFeatures(), PolynomialFeatures(2, include_bias=False)]
    model = AUCClassifierCV(features=maps, random_state=0).fit(X, y)
    assert sorted(model.selection_["weight"]) == [0.0, 1.0]
    with pytest.raises(ValueError, match="A blend is stored as one map of this package, which cannot hold Polynomial"):
        AUCClassifierCV(features=maps, selection="blend", random_state=0).fit(X, y)


def test_blends_of_a_partial_measure_and_of_sparse_penalties():
    X, y = curved_data()
    partial = AUCClassifierCV(features=MAPS, max_fpr=0.3, random_state=0).fit(X, y)
    folds = []
    for name in MAPS:
        alone = AUCClassifierCV(features=[name], max_fpr=0.3, random_state=0).fit(X, y)
        folds.append(alone.score_path_[alone.l2s_ == alone.l2_, 0][0])
    np.testing.assert_allclose(partial.selection_["weight"], blend_weights(np.stack(folds)))
    concave = AUCClassifierCV([1e-3], "auto", penalty="mcp", features=MAPS[:2], random_state=0).fit(X, y)
    assert concave.gap_ is None
    assert concave.stationarity_ <= 1e-8


def problem(seed=0, n=60, points=6, folds=3):
    rng = np.random.default_rng(seed)
    positive = np.arange(n) % 4 == 0
    parts = [np.arange(k, n, folds) for k in range(folds)]
    rows = draw_sample(parts, [n - part.size for part in parts], positive, None, None, points, 0)
    drawn = [rng.standard_normal((points, part.size)) + 0.7 * positive[part] for part in parts]
    scores = np.concatenate(drawn, axis=1).T
    return rows, scores, grid_of(rows, scores)


def grid_of(rows, scores):
    """Two candidates of three points each, with their AUCs counted pair by pair."""
    auc = np.empty((6, 3))
    for k, part in enumerate(rows.parts):
        some, positive = scores[part].T, rows.positive[part]
        up, down = some[:, positive, np.newaxis], some[:, np.newaxis, ~positive]
        auc[:, k] = ((up > down) + 0.5 * (up == down)).mean(axis=(1, 2))
    axes = {"l2": np.arange(3.0), "l1": np.zeros(1)}
    return Points.of([(part.reshape(3, 1, 3), axes) for part in np.split(auc, 2)])


def test_the_blend_is_made_again_in_each_draw():
    """The weights of the points by a loop over candidates and draws."""
    rows, scores, grid = problem()
    moves, spread, seen = measure_folds(rows, TwoClassMeasure(rows), scores.T)[1], rows.spreads(scores), []

    def take(measured):
        seen.append((measured, choose(measured, grid, "blend") / spread[:, np.newaxis]))
        return seen[-1][1]

    corrected_choice(rows, scores, grid.measured, take, seed=5, mixed=True)
    auc, found = seen[-1]
    left_out = np.random.default_rng(5).random((rows.n_units, auc.shape[2])) < 0.25
    weights = np.where(left_out, 0.0, 4 / 3)[rows.unit]
    for k, part in enumerate(rows.parts):
        np.testing.assert_allclose(
            auc[:, k], grid.measured[:, [k]] + moves[:, part] @ (weights[part] - 1.0), rtol=1e-12
        )
    for draw in range(auc.shape[2]):
        best = [3 * c + int(auc[3 * c : 3 * c + 3, :, draw].mean(axis=1).argmax()) for c in range(2)]
        weights = blend_weights(auc[best, :, draw])
        expected = np.zeros(6)
        expected[best] = weights / spread[best]
        np.testing.assert_allclose(found[:, draw], expected)


def test_the_corrected_auc_of_a_blend_starts_from_the_blend():
    """With scores of no two candidates apart there is nothing to be optimistic about."""
    rows, scores, _ = problem()
    same = np.repeat(scores[:, :1], 6, axis=1)
    grid = grid_of(rows, same)
    blended = correct(rows, same, grid, "blend", 0)
    chosen = correct(rows, same, grid, "best", 0)
    assert blended.auc == pytest.approx(grid.measured[0].mean(), abs=1e-12)
    assert (blended.low, blended.high) == pytest.approx((chosen.low, chosen.high), abs=1e-12)
    assert correct(rows, same, grid, "blend", 0, before=0.9).auc == pytest.approx(0.9, abs=1e-12)


def test_blends_of_noise_are_corrected():
    differences = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows, scores, _ = problem(seed)
        scores = rng.standard_normal(scores.shape)
        grid = grid_of(rows, scores)
        auc = grid.measured
        weights = choose(auc[:, :, np.newaxis], grid, "blend")[:, 0] / rows.spreads(scores)
        mixture = scores @ weights
        before = float(np.mean([roc_auc(rows.positive[part], mixture[part]) for part in rows.parts]))
        differences.append((before - 0.5, correct(rows, scores, grid, "blend", 0).auc - 0.5))
    before, after = np.mean(differences, axis=0)
    error = np.std(differences, axis=0)[1] / np.sqrt(40)
    assert before > 0.04
    assert abs(after) < before / 2 + 2 * error


class TestStackedFeatures:
    maps = (LinearFeatures(), KernelFeatures(additive=False, n_landmarks=20), TreeFeatures(n_landmarks=20))

    def fitted(self, X):
        return StackedFeatures([clone(new).set_params(random_state=0) for new in self.maps]).fit(X)

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_features_are_those_of_the_maps(self, dtype):
        X = make_data(80, 4)[0].astype(dtype)
        found = self.fitted(X)
        parts = [clone(new).set_params(random_state=0).fit(X) for new in self.maps]
        expected = np.hstack([part.transform(X) for part in parts])
        assert found.transform(X).dtype == found.dtype_of(X) == dtype
        np.testing.assert_array_equal(found.transform(X), expected)
        assert found.n_features_out_ == expected.shape[1] == len(found.get_feature_names_out())
        coefs = np.random.default_rng(0).standard_normal((expected.shape[1], 2))
        np.testing.assert_allclose(
            found.products(X, coefs), expected @ coefs, atol=1e-4 if dtype == np.float32 else 1e-12
        )
        assert found.n_rows_held_ == 40
        assert self.fitted(X).holding_no_rows().fit(X).n_rows_held_ == 0

    @pytest.mark.parametrize("additive", [False, True])
    def test_the_parts_of_a_score_give_the_same_scores(self, additive):
        X, y = make_data(90, 3)
        maps = [
            LinearFeatures(),
            KernelFeatures(n_landmarks=20, additive=additive, random_state=0),
            TreeFeatures(random_state=0),
        ]
        found = StackedFeatures(maps).fit(X)
        features = found.transform(X)
        coef = np.random.default_rng(0).standard_normal((features.shape[1],))
        means = np.stack([features[y == label].mean(axis=0) for label in (0, 1)])
        parts, of_classes = found.parts(coef), means_of_parts(found, coef, means)
        assert of_classes.shape == (2, X.shape[1] + 1)
        np.testing.assert_allclose(PreparedParts(parts).scores(X)[:, 0], features @ coef, atol=1e-10)
        np.testing.assert_allclose(of_classes.sum(axis=1), means @ coef, atol=1e-10)
        alone = np.stack([PreparedParts(parts).columns_apart(X[y == label]).mean(axis=0) for label in (0, 1)])
        np.testing.assert_allclose(of_classes[:, :-1], alone, atol=1e-10)
        np.testing.assert_array_equal(PreparedParts(read_again(parts)).scores(X), PreparedParts(parts).scores(X))

    def test_other_things_than_maps_are_refused(self):
        for maps in ([], [PolynomialFeatures()], [StackedFeatures([LinearFeatures()])]):
            with pytest.raises(ValueError, match="maps must be a list of maps out of LinearFeatures"):
                StackedFeatures(maps).fit(np.eye(3))

    def test_a_stacked_map_may_be_a_candidate(self):
        X, y = curved_data()
        both = StackedFeatures([LinearFeatures(), AdditiveFeatures()])
        model = AUCClassifierCV(features=both, random_state=0).fit(X, y)
        assert model.coef_.shape[1] == model.features_.n_features_out_


def test_moments_side_by_side_are_those_of_stacked_columns():
    X, y = make_data(50, 5)
    parts = [ClassMoments.from_data(X[:, :2], y), ClassMoments.from_data(X[:, 2:], y)]
    both, whole = ClassMoments.side_by_side(parts), ClassMoments.from_data(X, y, scatter=False)
    np.testing.assert_allclose(both.means, whole.means)
    np.testing.assert_allclose(both.variances, whole.variances)
    np.testing.assert_array_equal(both.weights, whole.weights)
    assert not both.has_scatter


def test_frames_with_categories_and_missing_values_are_blended():
    pd = pytest.importorskip("pandas")
    X, y = curved_data()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["kind"] = np.where(X[:, 2] > 0, "x", "y")
    frame.loc[::7, "a"] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AUCClassifierCV(features=["additive", "kernel 1", "trees 4"], random_state=0).fit(frame, y)
    assert model.decision_function(frame).shape == (240,)
    assert list(model.shape_functions_) == ["a", "b", "c", "kind"]


def test_the_corrected_score_of_a_clear_winner_rests_on_all_rows(monkeypatch):
    """With one point a map, and a map that wins every draw, there is nothing to correct, however few rows are kept."""
    monkeypatch.setattr("vrspam.metrics.correction.MOST_ROWS", 300)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 2))
    y = np.abs(X[:, 0]) + 0.5 * rng.standard_normal(1500) > 1.2
    model = AUCClassifierCV([0.1], features=["standardized", "additive"], selection="blend", random_state=0).fit(X, y)
    assert model.selection_["weight"] == [0.0, 1.0]
    assert model.corrected_score_ == pytest.approx(model.best_score_, abs=1e-9)


def test_maps_that_are_stacked_themselves_stand_in_a_blend_with_their_parts():
    X, y = curved_data()
    stacked = StackedFeatures([LinearFeatures(), KernelFeatures(n_landmarks=15)])
    search = AUCClassifierCV([0.1], features=[AdditiveFeatures(), stacked], cv=3, random_state=0)
    model = search.fit(X, y)
    assert all(weight > 0.0 for weight in model.selection_["weight"])
    assert [type(part).__name__ for part in model.features_.maps_] == [
        "AdditiveFeatures",
        "LinearFeatures",
        "KernelFeatures",
    ]
    np.testing.assert_array_equal(clone(search).fit(X, y).coef_, model.coef_)  # landmarks are drawn by random_state
