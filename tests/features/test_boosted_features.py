"""Trees that learn from labels: against scikit-learn's trees, by brute force, and honest on rows that are held out."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from helpers import pairwise_auc
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, StratifiedKFold, TimeSeriesSplit
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks
from stored import as_lists, read_again

from vrspam import AUCClassifierCV, kernels
from vrspam._utils.warnings import NumbersAreNames
from vrspam.features import AdditiveFeatures, BoostedFeatures, ForestFeatures, StackedFeatures
from vrspam.features.names import named_maps
from vrspam.features.number_names import numbers_as_names, recurring_numbers
from vrspam.features.parts import Parts
from vrspam.features.scoring import PreparedParts
from vrspam.features.shares import SHRINKAGE, order_categories
from vrspam.model.plain import from_plain, to_plain
from vrspam.tool import evaluate, load_model, save_model, train
from vrspam.trusted import SKOPS_TYPES

MAPS = [BoostedFeatures(n_trees=10, random_state=0), ForestFeatures(n_trees=10, random_state=0)]
IDS = ["boosted", "forest"]


def drawn_rows(estimator):
    """Parts of the rows, and the rows of trees, are drawn at random: repeated rows and weights give different ones."""
    kinds = ("dense", "sparse")
    return {f"check_sample_weight_equivalence_on_{kind}_data": "rows are drawn, and counted" for kind in kinds}


@parametrize_with_checks(MAPS, expected_failed_checks=drawn_rows)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((1500, 5)), 1)  # fewer than 255 different values
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0] * X[:, 1]) + np.isnan(X[:, 2]) + rng.standard_normal(1500) > 0.3
    return X, y


@pytest.fixture(scope="module")
def table(rows):
    X, y = rows
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["town"] = pd.Series(rng.choice(["Rome", "Oslo", "Bonn"], 1500)).where(rng.random(1500) > 0.1)
    frame["plate"] = [f"P{number}" for number in rng.integers(0, 300, 1500)]
    return frame, y


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("leaves", "depth", "least"), [(31, 10, 20), (8, 3, 5), (64, 6, 40)])
def test_boosted_trees_are_those_of_scikit_learn(rows, leaves, depth, least, weighted):
    """Its gradients are float32, so scores agree to that; splits at values that a node does not have are ties."""
    X, y = rows
    weights = np.random.default_rng(2).uniform(0.5, 2.0, y.size) if weighted else None
    ours = BoostedFeatures(n_trees=30, learning_rate=0.1, max_leaves=leaves, max_depth=depth, min_rows=least)
    theirs = HistGradientBoostingClassifier(
        max_iter=30, max_leaf_nodes=leaves, max_depth=depth, min_samples_leaf=least, early_stopping=False
    )
    found = ours.fit(X, y, weights).transform(X)[:, 0]
    expected = theirs.fit(X, y, weights).decision_function(X)
    np.testing.assert_allclose(found - found.mean(), expected - expected.mean(), atol=2e-6)


@pytest.mark.parametrize(("depth", "least"), [(3, 1), (6, 4)])
def test_trees_on_their_own_are_those_of_scikit_learn(depth, least):
    rng = np.random.default_rng(3)
    codes = rng.permuted(np.tile(np.arange(200), (4, 2)), axis=1).astype(np.int16)
    target, weights = (rng.random(400) < 0.4).astype(float), rng.uniform(0.5, 2.0, 400)
    starts = np.arange(5) * 201
    tried = np.tile(np.arange(4), (1, 2**depth - 1, 1))  # all columns at each node: nothing is drawn
    some = rng.integers(0, 400, (1, 400))
    *trees, values = kernels.grow_labelled_trees(
        codes,
        starts,
        some,
        target,
        weights,
        tried,
        2**depth,
        depth,
        least,
        0.0,
        0.0,
        np.full(400, 0.5),
        1,
        np.zeros(0, dtype=np.int64),
    )
    columns, thresholds, sides = trees
    leaves = kernels.tree_leaves(codes.T.astype(np.int32), columns, thresholds, np.zeros_like(columns), sides)
    tree = DecisionTreeRegressor(max_depth=depth, min_samples_leaf=least)
    tree.fit(codes.T[some[0]], target[some[0]], weights[some[0]])
    expected = tree.predict(codes.T[some[0]])  # for values that the drawn rows do not have, its thresholds are others
    np.testing.assert_allclose(values[0, leaves[some[0], 0]] + 0.5, expected, atol=1e-12)


def test_histograms_by_subtraction_give_the_same_trees(rows):
    X, y = rows
    codes = np.stack([np.searchsorted(np.unique(x), x) for x in np.nan_to_num(X).T])
    starts = np.concatenate([[0], np.cumsum(codes.max(axis=1) + 2)])
    tried = np.tile(np.arange(5), (20, 1, 1))
    both = [
        kernels.grow_labelled_trees(
            codes.astype(np.int16), starts, np.arange(y.size)[None], y.astype(float), np.ones(y.size), tried, 16, 6, 20,
            0.0, 0.1, np.zeros(y.size), slots, np.zeros(0, dtype=np.int64),
        )
        for slots in (1, 17)
    ]  # fmt: skip
    np.testing.assert_allclose(both[0][3], both[1][3], atol=1e-9)
    assert all(np.array_equal(a, b) for a, b in zip(both[0][:3], both[1][:3], strict=True))


def test_a_tenth_of_many_rows_tells_how_many_trees_are_enough():
    """25 trees at a time, until these lower the loss of the tenth by less than 1 %; all rows get as many."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((13_000, 3)).round(1)
    y = rng.random(13_000) < 1.0 / (1.0 + np.exp(1.0 - 2.0 * np.sin(2.0 * X[:, 0]) - X[:, 1]))
    own = BoostedFeatures(max_leaves=4, learning_rate=0.03, random_state=0).fit(X, y)
    grown = own.groves_[0].coef.shape[0]
    assert 100 < grown < 200
    same = BoostedFeatures(n_trees=grown, max_leaves=4, learning_rate=0.03, random_state=0).fit(X, y)
    np.testing.assert_array_equal(same.transform(X), own.transform(X))
    tenth, losses = np.random.RandomState(0).permutation(13_000) < 1_300, {}
    for n_trees in range(75, grown + 1, 25):
        other = BoostedFeatures(n_trees=n_trees, max_leaves=4, learning_rate=0.03, random_state=0)
        other.learn(X)
        other.learn_labels(X, y, (~tenth).astype(float))
        share = y.mean()  # trees of both start at the share of all rows, nearly
        raw = other.scores_by(0, X[tenth]) + np.log(share / (1.0 - share))
        losses[n_trees] = log_loss(y[tenth], expit(raw))
    falls = [losses[n] / losses[n - 25] for n in range(100, grown + 1, 25)]
    assert falls[-1] > 0.99
    assert max(falls[:-1], default=0.0) <= 0.99


def test_no_row_enters_its_own_statistic():
    """Shares of positive rows of other parts, row by row, and the order of the shares of all rows."""
    rng = np.random.default_rng(4)
    codes, parts = rng.integers(-1, 6, 300).astype(np.int16), rng.integers(0, 5, 300)
    target, weights = (rng.random(300) < 0.3).astype(float), rng.uniform(0.5, 2.0, 300)
    order, places, middle = order_categories(codes, target, weights, 6, parts)
    mean = weights @ target / weights.sum()

    def share(rows):
        return (weights[rows] @ target[rows] + SHRINKAGE * mean) / (weights[rows].sum() + SHRINKAGE)

    of_all = np.array([share(codes == code) for code in range(6)])
    assert order.tolist() == np.argsort(of_all).tolist()
    between = (np.sort(of_all)[1:] + np.sort(of_all)[:-1]) / 2
    for i in range(300):
        expected = np.sum(between < share((codes == codes[i]) & (parts != parts[i]))) if codes[i] >= 0 else -1
        assert places[i] == expected
    assert middle == np.sum(between < mean)


def cards(n: int, n_cards: int, seed: int, effect: float = 2.0) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Rows of cards, whose numbers say nothing but the name; which are positive, and the best score there is."""
    rng = np.random.default_rng(seed)
    number, x = rng.integers(0, n_cards, n), rng.standard_normal(n)
    name = 100_000_000 + 37 * rng.permutation(n_cards)[number]  # beyond 2^24: float32 does not tell them apart
    best = effect * rng.standard_normal(n_cards)[number] + x
    frame = pd.DataFrame({"card": name, "x": x, "amount": rng.integers(0, 3_000, n)})
    return frame, rng.random(n) < 1.0 / (1.0 + np.exp(1.0 - best)), best


def test_codes_of_names_are_shares_of_other_parts():
    rng = np.random.default_rng(9)
    values, places, parts = np.arange(40.0), rng.integers(-1, 40, 4000), rng.integers(0, 5, 4000)
    weights, chance = rng.uniform(0.5, 2.0, 4000), np.append(rng.permutation(np.linspace(0.05, 0.95, 40)), 0.5)
    target = (rng.random(4000) < chance[places]).astype(float)
    bins = np.where(places < 0, -1, places // 20)
    named = numbers_as_names(values.size, places, bins, 2, target, weights, parts)
    assert named is not None
    of_values, of_rows, of_mean = named
    mean = weights @ target / weights.sum()

    def share(rows):
        return (weights[rows] @ target[rows] + SHRINKAGE * mean) / (weights[rows].sum() + SHRINKAGE)

    shares = np.array([share(places == place) for place in range(40)])
    others = np.array([share((places == places[i]) & (parts != parts[i])) for i in range(4000)])
    known = places >= 0
    all_shares = np.concatenate([shares, others[known], [mean]])
    all_codes = np.concatenate([of_values, of_rows[known], [of_mean]])
    order = np.lexsort([all_codes, np.round(all_shares, 12)])
    assert (np.diff(all_codes[order]) >= 0).all()  # one scale for values, rows and the mean
    assert (of_rows[~known] == -1).all()
    assert np.unique(of_rows).size > 100
    assert numbers_as_names(values.size, places, places, 40, target, weights, parts) is None  # near ones tell as much


def test_numbers_that_may_be_names():
    rng = np.random.default_rng(10)
    whole = rng.integers(0, 2_000, 6_000).astype(float)
    columns = {
        "names": np.where(rng.random(6_000) < 0.1, np.nan, whole),
        "few": whole % 200,
        "all different": np.arange(6_000.0),
        "fractions": whole / 3.0,
        "one fraction": np.append(whole[:-1], 0.5),
        "huge": whole + 2.0**53,
        "text": [f"T{number}" for number in whole % 50],
    }
    X = pd.DataFrame(columns)
    features = BoostedFeatures(random_state=0)
    features.learn(X)
    found = recurring_numbers(X, features.encoders_)
    assert list(found) == [0]
    values, places = found[0]
    np.testing.assert_array_equal(np.append(values, np.nan)[places], columns["names"])


@pytest.mark.parametrize("name", IDS)
def test_numbers_of_cards_are_names(name):
    """They rank new rows of known cards nearly as well as the truth does; a sum of curves, and a tree, cannot."""
    X, y, best = cards(12_000, 1_500, 11)
    with pytest.warns(NumbersAreNames, match=r"'card' holds 1,\d+ different numbers that are names"):
        model = AUCClassifierCV(features=name, random_state=0).fit(X[:9_000], y[:9_000])
    scores = model.decision_function(X[9_000:])
    truth, found = (pairwise_auc(y[9_000:], one) for one in (best[9_000:], scores))
    assert truth - found < 0.06
    assert -0.01 < found - model.corrected_score_ < 0.05  # the folds know fewer rows of each card
    without = AUCClassifierCV(features=name, random_state=0).fit(X[:9_000].drop(columns="card"), y[:9_000])
    assert without.best_score_ < found - 0.1
    new = X[9_000:].assign(card=lambda frame: frame["card"] + 1)  # no card is known: x alone tells
    unknown = pairwise_auc(y[9_000:], model.decision_function(new))
    assert abs(unknown - pairwise_auc(y[9_000:], X["x"][9_000:].to_numpy())) < 0.03


@pytest.mark.parametrize("kind", [BoostedFeatures, ForestFeatures])
def test_codes_of_rows_fit_the_width_of_their_column(kind, monkeypatch):
    """Compiled code counts rows by their codes: one beyond the width would be counted in the next column.

    Rows of a number that is frequent and has the highest share get shares of other parts, of which some are higher.
    """
    rng, grow, seen = np.random.default_rng(3), kind._grow_trees, []
    store, shares = rng.integers(0, 500, 20_000), rng.choice([0.2, 0.7], 500)
    store[:800], shares[250] = 250, 0.9
    X = pd.DataFrame({"store": store, "x": rng.standard_normal(20_000)})

    def checked(self, codes, starts, *more):
        seen.append((codes.max(axis=1), np.diff(starts) - 1))  # what is last in each column counts missing values
        assert (seen[-1][0] < seen[-1][1]).all()
        return grow(self, codes, starts, *more)

    monkeypatch.setattr(kind, "_grow_trees", checked)
    with pytest.warns(NumbersAreNames) as said:
        StackedFeatures([kind(n_trees=3, random_state=0)] * 2).fit(X, rng.random(20_000) < shares[store])
    assert len(seen) == 2
    assert [str(one.message).split(" different")[0] for one in said] == ["Column 'store' holds 500"]  # once for both


def test_groups_of_cards_hold_nothing_back_for_new_ones():
    """With the cards as groups their shares come from other cards, and say nothing: no name is learnt."""
    X, y, _ = cards(6_000, 800, 12)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NumbersAreNames)
        model = AUCClassifierCV(features="boosted", cv=GroupKFold(4), random_state=0).fit(X, y, groups=X["card"])
    assert model.features_.numbers_as_names_ == []


def test_numbers_that_must_rise_are_no_names():
    X, y, _ = cards(6_000, 800, 16)
    features = BoostedFeatures(n_trees=10, monotonic_cst=[1, 0, 0], random_state=0).fit(X, y)
    assert features.numbers_as_names_ == []
    same = pd.DataFrame({"card": np.sort(X["card"].unique()), "x": 0.0, "amount": 0})
    assert (np.diff(features.transform(same)[:, 0]) >= 0.0).all()


@pytest.mark.parametrize("kind", ["noise", "line"])
def test_numbers_that_count_are_no_names(kind):
    rng = np.random.default_rng(13)
    X, y, _ = cards(6_000, 800, 13)
    y = rng.permutation(y) if kind == "noise" else rng.random(6_000) < X["amount"] / 3_000
    features = BoostedFeatures(n_trees=5, random_state=0).fit(X, y)
    assert features.numbers_as_names_ == []


def test_stored_names_score_alike(tmp_path):
    X, y, _ = cards(6_000, 800, 14)
    X.loc[:300, "card"] = np.nan
    with pytest.warns(NumbersAreNames):
        fitted = BoostedFeatures(n_trees=10, random_state=0).fit(X, y)
    new = pd.concat([X, X[:4].assign(card=[100_000_000.5, -1.0, np.nan, 1e300])])
    assert len(set(fitted.transform(new.assign(x=0.0, amount=0))[-4:, 0])) == 1  # all unknown or missing
    parts = fitted.parts(np.ones(1))
    np.testing.assert_array_equal(PreparedParts(read_again(parts)).scores(new), PreparedParts(parts).scores(new))
    plain = as_lists(to_plain(parts))
    plain["shared"][0][0]["names_as"][0] = -3
    with pytest.raises(ValueError, match="need a code each"):
        from_plain(Parts, plain)
    X.assign(sick=y).to_csv(tmp_path / "rows.csv", index=False)
    model = train(tmp_path / "rows.csv", "sick", features="boosted")
    save_model(model, tmp_path / "model.json")
    again = evaluate(load_model(tmp_path / "model.json"), tmp_path / "rows.csv").auc.auc
    assert again == evaluate(model, tmp_path / "rows.csv").auc.auc


@pytest.mark.parametrize("text", [False, True], ids=["whole trees", "by level"])
def test_onnx_scores_names_alike(text):
    ort, export = pytest.importorskip("onnxruntime"), pytest.importorskip("vrspam.export")
    X, y, _ = cards(6_000, 800, 15)
    if text:  # many ways to split categories
        X["town"] = [f"T{number}" for number in np.random.default_rng(0).integers(0, 300, len(X))]
    with pytest.warns(NumbersAreNames):
        model = AUCClassifierCV(features="boosted", random_state=0).fit(X, y)
    new = pd.concat([X[:500], X[:5].assign(card=[100_000_000.5, -1.0, np.nan, 1e300, -1e300])])
    session = ort.InferenceSession(export.to_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"])
    kinds = {"tensor(double)": np.float64, "tensor(float)": np.float32, "tensor(string)": object}
    inputs = {one.name: new[[one.name]].to_numpy(dtype=kinds[one.type]) for one in session.get_inputs()}
    assert next(one.type for one in session.get_inputs() if one.name == "card") == "tensor(double)"
    with np.errstate(all="ignore"):
        found = session.run(["score"], inputs)[0].ravel()
    np.testing.assert_allclose(found, model.decision_function(new), atol=1e-6 * np.std(found))


@pytest.mark.parametrize("features", MAPS, ids=IDS)
def test_stored_maps_score_alike(features, table):
    X, y = table
    fitted = features.fit(X, y)
    new = pd.concat([X, pd.DataFrame({"town": ["Bern"], "plate": ["none"]})])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(new), fitted.transform(new))
    parts = fitted.parts(np.ones(1))
    np.testing.assert_array_equal(PreparedParts(read_again(parts)).scores(new), PreparedParts(parts).scores(new))
    assert fitted.n_rows_held_ == 0


def test_a_category_of_mean_share_stands_for_unknown_ones():
    """In a column without gaps a new category goes where one with the share of all rows would."""
    rng = np.random.default_rng(5)
    town = np.repeat(["low", "middle", "high"], 300)
    y = rng.random(900) < np.repeat([0.1, 0.5, 0.9], 300)
    features = BoostedFeatures(random_state=0).fit(pd.DataFrame({"town": town}), y)
    low, middle, high, new = features.transform(pd.DataFrame({"town": ["low", "middle", "high", "new"]}))[:, 0]
    assert low < middle < high
    assert new == middle


def test_labels_are_needed(table):
    X, y = table
    for features in (*MAPS, StackedFeatures([AdditiveFeatures(), MAPS[0]])):
        with pytest.raises(ValueError, match="requires y to be passed"):
            features.fit(X)
    stack = StackedFeatures([AdditiveFeatures(), MAPS[0]]).fit(X, y)
    np.testing.assert_array_equal(stack.transform(X)[:, -1], MAPS[0].fit(X, y).transform(X)[:, 0])
    with pytest.raises(ValueError, match="one class"):
        MAPS[0].fit(X, np.zeros(len(X)))
    three = MAPS[0].fit(X, np.where(y, "sick", np.arange(len(X)) % 2)).transform(X)  # the last of them is positive
    np.testing.assert_array_equal(three, MAPS[0].fit(X, y).transform(X))


def test_names():
    assert list(named_maps("boosted", 0)) == ["boosted"]
    assert list(named_maps("auto", 0))[-2:] == ["forest", "boosted"]


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("kind", ["folds", "groups", "times"])
def test_held_out_rows_are_scored_by_trees_that_did_not_see_them(name, kind, table):
    """Trees of each fold, grown again here on its training rows alone, give the held-out scores."""
    X, y = table
    X, y = X[:600], y[:600]
    groups = np.arange(600) // 5 if kind == "groups" else None
    splitter = {"folds": StratifiedKFold(3), "groups": GroupKFold(3), "times": TimeSeriesSplit(3)}[kind]
    cv = list(splitter.split(X, y, groups))
    model = AUCClassifierCV(features=name, cv=cv, random_state=0).fit(X, y, groups=groups)
    held_out = model.out_of_fold_
    changed = y.copy()
    for fold in range(3):
        own = held_out.places[held_out.fold == fold]
        changed[own] = ~y[own]  # other labels of these rows
        again = AUCClassifierCV(features=name, cv=cv, random_state=0).fit(X, changed, groups=groups)
        scores = again.out_of_fold_.scores[again.out_of_fold_.fold == fold]
        expected = held_out.scores[held_out.fold == fold]
        # another factor, of other labels, but never another order
        np.testing.assert_array_equal(np.argsort(scores, kind="stable"), np.argsort(expected, kind="stable"))
        changed[own] = y[own]
    used = model.coef_[0] != 0
    assert used.any()
    assert used.all() == (kind != "times")  # sets that score held-out rows are not those of the model in time


@pytest.mark.parametrize("name", IDS)
def test_permuted_labels_are_not_ranked(name):
    """Categories that nearly name the row would leak its label, were it part of its own statistic."""
    rng, found = np.random.default_rng(6), []
    for _ in range(12):
        frame = pd.DataFrame({"plate": [f"P{k}" for k in rng.integers(0, 150, 300)], "x": rng.standard_normal(300)})
        y = rng.permutation(np.arange(300) < 90)
        model = AUCClassifierCV(features=name, random_state=0).fit(frame, y)
        found.append(model.best_score_)
    assert abs(np.mean(found) - 0.5) < 3 * np.std(found) / np.sqrt(12) + 0.01


def test_parity_of_five_bits():
    """No sum of curves and no smooth kernel tells it; trees do."""
    rng = np.random.default_rng(7)
    X = rng.integers(0, 2, (9_000, 8)).astype(float)
    y = X[:, :5].sum(axis=1) % 2 == 1
    model = AUCClassifierCV(features="boosted", random_state=0).fit(X[:6_000], y[:6_000])
    assert model.best_score_ > 0.99
    assert pairwise_auc(y[6_000:], model.decision_function(X[6_000:])) > 0.99


def test_the_model_is_the_mean_of_all_sets(table):
    X, y = table
    model = AUCClassifierCV(features="boosted", cv=4, random_state=0).fit(X, y)
    features = model.features_.transform(model._table_schema.read(X)[0])
    assert features.shape == (1500, 6)  # each set leaves out two of four folds
    scores = model.decision_function(X)
    factor = model.coef_[0].sum()
    np.testing.assert_allclose(scores - scores.mean(), factor * (features.mean(axis=1) - features.mean()), atol=1e-12)
    assert 0.0 <= model.gap_ < 1e-8  # of the factor, on held-out scores
    held_out = model.out_of_fold_
    mid = [held_out.scores[held_out.positive == side].mean() for side in (False, True)]
    assert abs(sum(mid)) < 1e-12  # 0 is half-way between the means of the classes


def test_parts_are_small_and_stored_exactly(table):
    X, y = table
    model = AUCClassifierCV(features=["additive", "forest", "boosted"], random_state=0).fit(X, y)
    parts = model.features_.parts(model.coef_[0])
    again = read_again(parts)
    read = model._table_schema.read(X)[0]
    np.testing.assert_array_equal(PreparedParts(again).scores(read), PreparedParts(parts).scores(read))
    numbers = AUCClassifierCV(features="boosted", random_state=0).fit(X[list("abcde")], y)
    assert len(numbers.features_.parts(numbers.coef_[0]).trees) == 1  # of all folds, whose columns are encoded alike


@pytest.mark.parametrize("name", IDS)
def test_skops_holds_them(name, table):
    skops = pytest.importorskip("skops.io")
    X, y = table
    model = AUCClassifierCV(features=name, random_state=0).fit(X, y)
    again = skops.loads(skops.dumps(model), trusted=SKOPS_TYPES)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_a_model_of_ten_thousand_rows_can_be_mailed(tmp_path):
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(rng.standard_normal((10_000, 12)), columns=list("abcdefghijkl")).round(3)
    frame["town"] = rng.choice([f"T{number}" for number in range(40)], 10_000)
    frame["sick"] = frame["a"] * frame["b"] + (frame["town"] < "T3") + rng.standard_normal(10_000) > 1.0
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for name in IDS:
        save_model(train(tmp_path / "rows.csv", "sick", features=name), tmp_path / "model.json")
        assert (tmp_path / "model.json").stat().st_size < 2_000_000
        again = load_model(tmp_path / "model.json")
        assert evaluate(again, tmp_path / "rows.csv").auc.auc > 0.75
