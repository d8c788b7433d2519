"""The kernel of random trees against its definition, and maps of landmarks that hold no row."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from helpers import pairwise_auc
from sklearn.base import clone
from stored import as_lists

from vrspam import AUCClassifierCV, kernels
from vrspam.features import KernelFeatures, TreeFeatures, encoders
from vrspam.features.encoders import Curves
from vrspam.features.names import named_maps
from vrspam.features.parts import Parts
from vrspam.model.plain import from_plain, to_plain
from vrspam.tool import load_model

PRIME = 65_521


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    age = rng.normal(50, 10, 150)
    age[::7] = np.nan
    city = rng.choice(["Rome", "Oslo", "Bonn", "Bern", "Linz"], 150).astype(object)
    city[::11] = None  # missing
    return pd.DataFrame({"age": age, "city": city, "dose": rng.integers(0, 4, 150), "height": rng.normal(170, 9, 150)})


def leaf_by_hand(features, row, tree):
    """Walk one row, a dict, down one tree: the definition of the attributes, one node at a time."""
    parts = {name: part[tree] for name, part in features.trees_._asdict().items()}
    node, n_nodes = 0, parts["columns"].size
    while node < n_nodes:
        j = parts["columns"][node]
        value, encoder = row[features.feature_names_in_[j]], features.encoders_[j]
        gone = value is None or value != value  # NaN
        multiplier = int(parts["multipliers"][node])
        if hasattr(encoder, "categories"):
            names = [*encoder.categories, *([None] if encoder.missing else [])]
            code = names.index(None if gone else value) if (None if gone else value) in names else -1
            place = (code + 1) * (multiplier or 1) % PRIME if multiplier else code
        else:
            assert multiplier == 0
            code = place = -1 if gone else int(np.sum(encoder.nodes < value))
        left = bool(parts["absent_left"][node]) if code < 0 else place <= parts["thresholds"][node]
        node = 2 * node + (1 if left else 2)
    return node


def test_the_kernel_is_the_share_of_common_leaves(frame):
    """With every row a landmark, inner products of features are that share, counted row by row and tree by tree."""
    some = frame[:60]
    features = TreeFeatures(n_trees=30, max_depth=3, n_landmarks=60, random_state=0).fit(some)
    leaves = np.array([[leaf_by_hand(features, row, t) for t in range(30)] for row in some.to_dict("records")])
    shares = (leaves[:, None, :] == leaves[None, :, :]).mean(axis=2)
    F = features.transform(some)
    np.testing.assert_allclose(F @ F.T, shares, atol=1e-5)
    assert 0.02 < shares.mean() < 0.9  # the trees do split
    assert len(np.unique(leaves[:, 0])) > 3


def test_new_rows_meet_the_landmarks_in_their_leaves(frame):
    """φ(x) · φ(z) for a new row x and landmarks z is their kernel, also for what fit has not seen."""
    features = TreeFeatures(n_trees=25, max_depth=4, n_landmarks=100, random_state=1).fit(frame[:100])
    new = pd.DataFrame({"age": [np.nan, 20.0, 1e9], "city": ["Paris", None, "Oslo"], "dose": 9})
    new["height"] = [150.0, 170.0, -5.0]
    rows = [*new.to_dict("records"), *frame[:100].to_dict("records")]
    leaves = np.array([[leaf_by_hand(features, row, t) for t in range(25)] for row in rows])
    expected = (leaves[:3, None, :] == leaves[None, 3:, :]).mean(axis=2)
    np.testing.assert_allclose(features.transform(new) @ features.transform(frame[:100]).T, expected, atol=1e-5)


@pytest.mark.parametrize("change", [np.exp, lambda x: x**3, lambda x: 5.0 * x - 3.0])
def test_only_the_order_of_values_counts(change):
    rng = np.random.default_rng(0)
    X, new = rng.standard_normal((600, 3)), rng.standard_normal((50, 3))
    features = TreeFeatures(n_trees=20, n_landmarks=50, random_state=0)
    as_it_is = features.fit(X).transform(new)
    np.testing.assert_array_equal(features.fit(change(X)).transform(change(new)), as_it_is)


def test_the_names_of_categories_do_not_count_but_which_rows_share_one():
    """Categories are split into groups, not at a place of their alphabet: a rare letter and its neighbour can part."""
    rng = np.random.default_rng(0)
    town = rng.choice(list("abcdefgh"), 400)
    features = TreeFeatures(n_trees=400, max_depth=1, n_landmarks=100, random_state=0)
    features.fit(pd.DataFrame({"town": town}))
    F = features.transform(pd.DataFrame({"town": list("abcdefgh")}))
    shares = F @ F.T
    apart = shares[~np.eye(8, dtype=bool)]
    np.testing.assert_allclose(np.diag(shares), 1.0, atol=1e-6)
    # a random order and a random cut: all pairs part about equally often (neighbours of an alphabet would not)
    assert apart.min() > 0.35
    assert apart.max() < 0.85
    assert np.abs(shares[np.arange(7), np.arange(1, 8)].mean() - apart.mean()) < 0.08


def test_thresholds_come_from_the_rows_that_weigh():
    """Rows below 0 weigh next to nothing, so that hardly a split lies there."""
    column = np.random.default_rng(0).standard_normal((2_000, 1))
    weights = np.where(column[:, 0] < 0.0, 1e-6, 1.0)
    features = TreeFeatures(n_trees=50, max_depth=3, n_landmarks=20, random_state=0).fit(column, sample_weight=weights)
    encoder = features.encoders_[0]
    assert isinstance(encoder, Curves)
    nodes, cuts = encoder.nodes, features.trees_.thresholds
    used = nodes[cuts[cuts < nodes.size]]
    assert used.size > 200
    assert (used < 0.0).mean() < 0.01


def test_equal_rows_have_equal_features_and_blocks_do_not_matter(frame, monkeypatch):
    features = TreeFeatures(n_trees=30, n_landmarks=40, random_state=0).fit(frame)
    twice = pd.concat([frame, frame[:1], frame[:1]], ignore_index=True)
    F = features.transform(twice)
    np.testing.assert_array_equal(F[-1], F[0])
    monkeypatch.setattr("vrspam.features.trees.CACHED_COUNTS", 1)
    np.testing.assert_allclose(features.transform(twice), F, atol=1e-12)


def test_rows_without_any_difference_are_one_leaf():
    features = TreeFeatures(n_trees=5, random_state=0).fit(np.ones((30, 2)))
    assert features.n_features_out_ == 1
    np.testing.assert_allclose(np.abs(features.transform([[1.0, 1.0], [7.0, np.nan]])), 1.0, atol=1e-12)


def test_missing_values_alone_can_be_split_off():
    column = np.array([1.0] * 20 + [np.nan] * 20)[:, np.newaxis]
    features = TreeFeatures(n_trees=10, max_depth=2, random_state=0).fit(column)
    F = features.transform(column)
    np.testing.assert_allclose(F[0] @ F[-1], 0.0, atol=1e-12)


def test_sharp_interactions_are_found():
    rng = np.random.default_rng(0)
    X = rng.random((1_500, 4))
    y = ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)) ^ (rng.random(1_500) < 0.05)
    shallow, deep = (TreeFeatures(n_trees=60, max_depth=depth, n_landmarks=150) for depth in (2, 5))
    model = AUCClassifierCV(features={"shallow": shallow, "deep": deep}, cv=3, random_state=0).fit(X[:1_000], y[:1_000])
    assert model.selection_["chosen"] == [False, True]
    assert pairwise_auc(y[1_000:], model.decision_function(X[1_000:])) > 0.85
    assert max(model.importances_, key=model.importances_.get) == "interactions"
    parts = model.explain_one(X[0])
    assert sum(parts.values()) == pytest.approx(model.decision_function(X[:1])[0])
    assert list(model.shape_functions_) == ["x0", "x1", "x2", "x3"]
    assert next(iter(model.interactions_)) == ("x0", "x1")


def test_the_list_of_candidates():
    one_of_each = ["standardized", "additive", "kernel 1", "kernel alone 1", "trees 4", "forest", "boosted"]
    assert list(named_maps("auto", 0)) == one_of_each
    assert list(named_maps("kernel", 0)) == ["kernel 3", "kernel 1", "kernel 0.3"]
    assert list(named_maps("trees", 0)) == ["trees 2", "trees 4", "trees 7"]
    maps = named_maps(["kernel alone 0.3", "trees 7"], 5)
    assert (maps["kernel alone 0.3"].additive, maps["kernel alone 0.3"].bandwidth) == (False, 0.3)
    assert (maps["trees 7"].max_depth, maps["trees 7"].random_state) == (7, 5)
    with pytest.raises(ValueError, match="features is 'kernel 5', but must be one of"):
        named_maps("kernel 5", 0)


def test_a_kernel_alone_among_the_candidates():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(400) > 0.5
    model = AUCClassifierCV(features="kernel alone 1", random_state=0).fit(X, y)
    assert model.features_.additive_ is None
    assert list(model.importances_)[-1] == "interactions"
    assert model.best_score_ > 0.9


@pytest.mark.parametrize("map_class", [KernelFeatures, TreeFeatures])
def test_landmarks_by_columns_hold_no_row(map_class, frame):
    """Each column of the landmarks has the values of drawn rows, but no landmark is a row."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4)) @ rng.standard_normal((4, 4))
    rows = map_class(n_landmarks=100, random_state=0).fit(X)
    none = map_class(n_landmarks=100, landmarks="columns", random_state=0).fit(X)
    assert (rows.n_rows_held_, none.n_rows_held_) == (100, 0)

    def encode(of):
        if map_class is TreeFeatures:
            return kernels.tree_leaves(encoders.places_of(of.encoders_, X)[0], *of.trees_)
        return encoders.encode(of.encoders_, X)

    seen = {tuple(row) for row in encode(rows)}
    assert all(tuple(row) in seen for row in rows.landmarks_)
    assert not {tuple(row) for row in encode(none)} & {tuple(row) for row in none.landmarks_}
    if map_class is KernelFeatures:
        for j in range(4):
            assert set(none.landmarks_[:, j]) <= set(encode(none)[:, j])
        assert abs(np.corrcoef(none.landmarks_.T)[np.triu_indices(4, 1)]).max() < 0.35  # 100 independent draws
    mixed = map_class(n_landmarks=40, landmarks="columns", random_state=0).fit(frame)
    assert mixed.n_rows_held_ == 0


def test_columns_of_a_landmark_keep_a_missing_value_and_its_indicator_together(frame):
    features = KernelFeatures(n_landmarks=100, landmarks="columns", additive=False, random_state=0).fit(frame)
    where = features.column_slices_[0]
    rank, missing = features.landmarks_[:, where].T
    assert set(missing) == {0.0, 1.0}
    assert (rank[missing == 1.0] == 0.0).all()
    onehot = features.landmarks_[:, features.column_slices_[1]]
    np.testing.assert_allclose(onehot.sum(axis=1), 0.5**0.5)


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("columns", 9, "a column of the trees is not among the 4"),
        ("columns", -1, "a column of the trees is not among the 4"),
        ("multipliers", PRIME, "a multiplier of the trees"),
        ("thresholds", 2**40, "too large"),
        ("thresholds", 0.5, "whole numbers"),
        ("landmarks", 10_000, "a landmark of trees is not among the values of its column"),
        ("landmarks", -2, "a landmark of trees is not among the values of its column"),
    ],
)
def test_stored_trees_that_lead_nowhere_are_refused(part, value, message, frame):
    """Compiled code looks numbers up without checking them, so that files are checked when they are read."""
    features = TreeFeatures(n_trees=3, n_landmarks=10, random_state=0).fit(frame)
    parts = features.parts(np.ones(features.n_features_out_))
    plain = as_lists(to_plain(parts))
    stored = plain["fields"]["trees"][0]
    (stored if part == "landmarks" else stored["trees"])[part][1][2] = value
    with pytest.raises(ValueError, match=message):
        from_plain(Parts, plain)


@pytest.mark.parametrize("cut", ["columns", "absent_left"])
def test_stored_trees_of_different_sizes_are_refused(cut, frame):
    features = TreeFeatures(n_trees=3, n_landmarks=10, random_state=0).fit(frame)
    plain = as_lists(to_plain(features.parts(np.ones(features.n_features_out_))))
    trees = plain["fields"]["trees"][0]["trees"]
    trees[cut] = [nodes[:-1] for nodes in trees[cut]]
    with pytest.raises(ValueError, match=r"not whole|different sizes"):
        from_plain(Parts, plain)


@pytest.mark.parametrize("map_class", [KernelFeatures, TreeFeatures])
@pytest.mark.parametrize(("rows", "landmarks"), [(100, 20), (150, 20), (800, 40), (3_000, 60)])
def test_automatic_landmarks_grow_with_the_root_of_the_rows(map_class, rows, landmarks, monkeypatch):
    """20 up to 200 rows, then 20 √(rows / 200), and 60 at most; also where only some of the rows may be drawn."""
    for name, value in {"AUTO_LANDMARKS": 20, "AUTO_ROWS": 200, "MOST_AUTO_LANDMARKS": 60}.items():
        monkeypatch.setattr(f"vrspam.features.kernel.{name}", value)
    X = np.random.default_rng(0).standard_normal((rows, 2))
    assert len(map_class(n_landmarks="auto", max_rows=400, random_state=0).fit(X).landmarks_) == landmarks


def train_lines(tmp_path, capsys, *options):
    """What `vrspam train` prints for a table of 120 rows."""
    from vrspam.cli import main

    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.standard_normal(120), "b": rng.standard_normal(120)})
    table["sick"] = np.where(table["a"] * table["b"] > 0.2, "yes", "no")
    table.to_csv(tmp_path / "rows.csv", index=False)
    model = tmp_path / "model.json"
    command = ["train", tmp_path / "rows.csv", "--target", "sick", "--folds", "3", "--model", model, *options]
    assert main([str(word) for word in command]) == 0
    return capsys.readouterr().out, json.loads(model.read_text("utf-8"))["model"]


@pytest.mark.parametrize("kind", ["kernel", "trees"])
def test_the_tool_says_that_a_file_holds_rows(kind, tmp_path, capsys):
    shown, stored = train_lines(tmp_path, capsys, "--features", kind)
    assert "this file contains data of 120 of your rows; share it with care, or use --private" in shown
    assert stored["fields"]["facts"]["rows_held"] == 120
    assert share_of_rows(tmp_path) == 1.0


def share_of_rows(folder):
    """Share of the landmarks of a model that are rows of the table, as the model sees them."""
    model = load_model(folder / "model.json")
    rows = pd.read_csv(next(folder.glob("*.csv")))[list(model.schema.columns)]
    found, held = [], model.parts
    for part in held.kernels:
        known = encoders.encode(part.encoders, rows)
        found += [np.abs(known - landmark).max(axis=1).min() < 1e-9 for landmark in part.landmarks]
    for forest in held.trees:
        assert forest.landmarks is not None
        known = encoders.places_of(forest.encoders, rows)[0]
        found += [(known == landmark).all(axis=1).any() for landmark in forest.landmarks]
    assert found
    return np.mean(found)


@pytest.mark.parametrize("kind", ["kernel", "trees"])
def test_a_private_model_holds_none(kind, tmp_path, capsys):
    shown, stored = train_lines(tmp_path, capsys, "--features", kind, "--private")
    assert "rows of the table" not in shown
    assert stored["fields"]["facts"]["rows_held"] == 0
    assert share_of_rows(tmp_path) < 0.2
    assert stored["fields"]["facts"]["selection"][0]["features"] == {"kernel": "kernel 3", "trees": "trees 2"}[kind]


def test_straight_lines_hold_no_rows_in_any_case(tmp_path, capsys):
    shown, stored = train_lines(tmp_path, capsys, "--features", "linear")
    assert "rows of the table" not in shown
    assert stored["fields"]["facts"]["rows_held"] == 0


@pytest.mark.parametrize("levels", [3, 61, 62, 63, 100])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("columns", [1, 3])
def test_scores_are_sums_over_leaves(levels, missing, columns):
    """Few columns of coefficients: leaves are added up; up to 62 categories, and more, go another way down a tree."""
    rng = np.random.default_rng(levels)
    size = 1_300
    city = pd.Series([f"city {c}" for c in np.arange(size) % levels])
    age = rng.normal(50, 10, size)
    if missing:
        city[np.arange(size) % 11 == 0], age[::7] = None, np.nan
    train = pd.DataFrame({"city": city, "age": age, "height": rng.normal(170, 9, size)})
    features = TreeFeatures(n_trees=40, max_depth=5, n_landmarks=30, random_state=0).fit(train)
    assert features.trees_.multipliers.any()
    new = train.assign(city=city.where(np.arange(size) % 13 > 0, "elsewhere"))
    coefs = rng.standard_normal((features.n_features_out_, columns))
    expected = features.transform(new) @ coefs
    np.testing.assert_allclose(features.products(new, coefs), expected, rtol=0, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("depth", [1, 2, 5, 7])
def test_rows_that_go_down_together_end_where_each_one_does(depth):
    """By a walk in plain Python: numbers, categories, absent values, nodes and whole levels that are not split."""
    rng = np.random.default_rng(depth)
    n_trees, n_nodes, widths = 9, 2**depth - 1, np.array([0, 0, 5, 62])
    columns = rng.integers(0, 4, (n_trees, n_nodes)).astype(np.int32)
    is_category = widths[columns] > 0
    multipliers = np.where(is_category, rng.integers(1, kernels.CATEGORY_PRIME, columns.shape), 0).astype(np.int32)
    thresholds = rng.integers(0, np.where(is_category, kernels.CATEGORY_PRIME, 12)).astype(np.int32)
    absent_left = rng.random(columns.shape) < 0.5
    whole = rng.random(columns.shape) < 0.3
    whole[0], whole[1, 2 ** (depth // 2) - 1 :] = True, True
    columns[whole], multipliers[whole], thresholds[whole], absent_left[whole] = 0, 0, kernels.NO_SPLIT, True
    codes = np.stack([rng.integers(-1, top, 600) for top in (13, 13, 5, 62)], axis=1).astype(np.int32)
    expected = np.zeros((600, n_trees), dtype=int)
    for (i, t), _ in np.ndenumerate(expected):
        node = 0
        while node < n_nodes:
            code, factor = int(codes[i, columns[t, node]]), int(multipliers[t, node])
            value = (code + 1) * factor % kernels.CATEGORY_PRIME if factor else code
            left = absent_left[t, node] if code < 0 else value <= thresholds[t, node]
            node = 2 * node + (1 if left else 2)
        expected[i, t] = node - n_nodes
    masks = kernels.splits_as_masks(columns, thresholds, multipliers, absent_left, widths)
    assert masks[2][0] == 0
    by_columns = np.ascontiguousarray(codes.T)
    np.testing.assert_array_equal(kernels.tree_leaves_by_level(by_columns, columns, *masks), expected)
    np.testing.assert_array_equal(kernels.tree_leaves(codes, columns, thresholds, multipliers, absent_left), expected)
    for n_scores in (1, 3):
        sums, found = rng.standard_normal((n_trees, n_nodes + 1, n_scores)), np.zeros((600, n_scores))
        kernels.add_leaf_sums(sums, kernels.tree_leaves_by_level(by_columns, columns, *masks), found)
        np.testing.assert_allclose(found, sums[np.arange(n_trees), expected].sum(axis=1), atol=1e-12)


@pytest.mark.parametrize("landmarks", ["rows", "columns"])
def test_kernels_that_share_landmarks_are_those_that_were_fitted_alone(landmarks, frame):
    shared: dict = {}
    for options in ({"additive": True}, {"additive": False}, {"bandwidth": 0.3}, {"additive": False, "bandwidth": 0.3}):
        features = KernelFeatures(n_landmarks=60, landmarks=landmarks, random_state=0, **options)
        alone = clone(features).fit(frame)
        features.learn(frame, shared=shared)
        assert features.gamma_ == alone.gamma_
        np.testing.assert_array_equal(features.landmarks_, alone.landmarks_)
        np.testing.assert_array_equal(features.transform(frame), alone.transform(frame))
