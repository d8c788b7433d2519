"""Scorers on feature maps: against fits on materialised features, known additive truths, and their own parts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from helpers import make_data
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectKBest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, RepeatedStratifiedKFold, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from vrspam import AUCClassifier, AUCClassifierCV, HashFolds
from vrspam.features import (
    AdditiveFeatures,
    BoostedFeatures,
    KernelFeatures,
    LinearFeatures,
    StackedFeatures,
    TreeFeatures,
)
from vrspam.features.names import GROUPS
from vrspam.plotting import plot_shapes
from vrspam.tables.frames import WHOLE_ROWS

SMALL_KERNEL = KernelFeatures(n_landmarks=30, random_state=0)
FEATURES = {
    "additive": "additive",
    "kernel": SMALL_KERNEL,
    "list": ["standardized", AdditiveFeatures(n_knots=5), SMALL_KERNEL],
    "foreign": make_pipeline(StandardScaler(), PolynomialFeatures(2)),
}


@parametrize_with_checks([AUCClassifierCV(features="additive", cv=3)])
def test_sklearn_checks(estimator, check):
    check(estimator)


def curved_data(n=3000, seed=0, noise=0.5):
    """The score is a sine of one column plus a smooth step of another; labels come from a noisy threshold."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 3))
    truth = np.stack([np.sin(2 * X[:, 0]), np.tanh(3 * X[:, 1]), np.zeros(n)], axis=1)
    return X, (truth.sum(axis=1) + noise * rng.standard_normal(n) > 0.8).astype(int), truth


@pytest.mark.parametrize("features", FEATURES.values(), ids=FEATURES)
def test_scores_equal_a_fit_on_materialised_features(features):
    X, y = make_data(300, 5)
    model = AUCClassifierCV(features=features, selection="best", random_state=0).fit(X, y)
    F = model.features_.transform(X)
    explicit = AUCClassifier(l2=model.l2_, tol=1e-12).fit(F, y)
    scale = np.abs(explicit.decision_function(F)).max()
    centred = model.decision_function(X) - model.baseline_
    assert np.abs(centred - explicit.decision_function(F)).max() < 1e-8 * scale
    assert model.n_features_in_ == 5
    assert model.coef_.shape == (1, F.shape[1])
    assert model.score(X, y) == pytest.approx(roc_auc_score(y, model.decision_function(X)))


@pytest.mark.parametrize(
    "cv",
    [StratifiedKFold(3), RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0), GroupKFold(4)],
    ids=["partition", "repeated", "groups"],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_grid_equals_that_of_materialised_features(cv, weighted):
    X, y = make_data(200, 4)
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 3, 200).astype(float) if weighted else None
    drawn = rng.integers(0, 8, 200)
    model = AUCClassifierCV(features="additive", cv=cv, l1s=[0.0, 1e-3], random_state=0)
    groups = drawn if isinstance(cv, GroupKFold) else None
    model.fit(X, y, sample_weight=weights, groups=groups)
    plain = AUCClassifierCV(cv=cv, l2s=model.l2s_, l1s=[0.0, 1e-3])
    plain.fit(model.features_.transform(X), y, sample_weight=weights, groups=groups)
    assert np.allclose(model.auc_path_, plain.auc_path_, atol=1e-6)
    assert (model.l2_, model.l1_) == (plain.l2_, plain.l1_)
    assert np.allclose(model.coef_, plain.coef_, atol=1e-6 * np.abs(plain.coef_).max())


class Watched(TransformerMixin, BaseEstimator):
    """Records the largest number of rows that it transforms in one call."""

    def fit(self, X, y=None):
        assert y is None
        self.most_ = 0
        return self

    def transform(self, X):
        self.most_ = max(self.most_, X.shape[0])
        return np.hstack([X, X**2])


def test_features_of_all_rows_are_never_held(monkeypatch):
    X, y = make_data(2000, 4)
    whole = AUCClassifierCV(features=Watched()).fit(X, y)
    for module in ("moments._gather", "model_selection.sources"):
        monkeypatch.setattr(f"vrspam.{module}.BLOCK_BYTES", 100 * 8 * 8)
    monkeypatch.setattr("vrspam.tables.frames.BLOCK_ENTRIES", 100 * 8)
    for limit in ("mapped_bytes", "table_share"):  # folds gathered again instead of kept
        monkeypatch.setattr(f"vrspam.model_selection.sources.RowsInMemory.{limit}", 0)
    model = AUCClassifierCV(features=Watched()).fit(X, y)
    scores = model.decision_function(X)
    assert 1 < model.features_.most_ <= WHOLE_ROWS
    assert np.allclose(scores, whole.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("features", ["linear", *FEATURES.values()], ids=["columns", *FEATURES])
def test_parts_add_up_to_the_score(features):
    X, y = make_data(200, 4)
    model = AUCClassifierCV(features=features, random_state=0).fit(X, y)
    for row in X[:5]:
        parts = model.explain_one(row)
        assert sum(parts.values()) == pytest.approx(model.decision_function([row])[0], abs=1e-9)
    baseline = {"baseline"} if model.baseline_ else set()  # 0 where ½ is far beyond all scores
    assert {*model.importances_, *baseline} == set(model.explain_one(X[0]))


def test_importance_is_the_spread_of_the_part():
    X, y, _ = curved_data(800)
    model = AUCClassifierCV(features="additive").fit(X, y)
    parts = pd.DataFrame([model.explain_one(row) for row in X])
    for name, importance in model.importances_.items():
        both = [parts[name][y == label] for label in (0, 1)]
        variance = np.mean([p.var(ddof=0) for p in both]) + np.var([p.mean() for p in both])
        assert importance == pytest.approx(np.sqrt(variance), rel=1e-6)
    assert min(model.importances_, key=model.importances_.get) == "x2"
    assert {name: s.importance for name, s in model.shape_functions_.items()} == model.importances_


def test_shape_functions_recover_a_known_additive_model():
    """P(y = 1 | x) is a sum of curves, so the best additive score is that sum up to one factor."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, (5000, 3))
    y = rng.random(5000) < 0.5 + 0.24 * np.sin(2 * X[:, 0]) + 0.24 * np.tanh(3 * X[:, 1])
    shapes = AUCClassifierCV(features="additive", random_state=0).fit(X, y).shape_functions_
    assert list(shapes) == ["x0", "x1", "x2"]
    grids = [shape.grid for shape in shapes.values()]
    truth = np.concatenate([np.sin(2 * grids[0]), np.tanh(3 * grids[1]), np.zeros(grids[2].size)])
    found = np.concatenate([shape.contribution - shape.contribution.mean() for shape in shapes.values()])
    half = np.concatenate([(shape.high - shape.low) / 2 for shape in shapes.values()])
    factor = (found @ truth) / (truth @ truth)
    assert np.corrcoef(found, truth)[0, 1] > 0.99
    assert np.mean(np.abs(found - factor * truth) <= half) > 0.85
    assert half.mean() < 0.2 * factor


def test_shapes_agree_with_the_parts_of_rows():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.integers(0, 6, 300).astype(float), "city": rng.choice(["a", "b", "c"], 300)})
    frame.loc[::9, "size"] = np.nan
    frame.loc[::13, "city"] = None
    y = (frame["size"].fillna(5) + 2 * (frame["city"] == "b") + rng.standard_normal(300)) > 4
    model = AUCClassifierCV(features="additive").fit(frame, y)
    shapes = model.shape_functions_
    assert shapes["size"].numeric
    assert not shapes["city"].numeric
    for row in (0, 1, 13, 20):
        parts = model.explain_one(frame.iloc[[row]])
        for name, shape in shapes.items():
            value = frame[name].iloc[row]
            if pd.isna(value):
                expected = shape.missing[0]
            else:
                expected = shape.contribution[np.flatnonzero(shape.grid == value)[0]]
            assert parts[name] == pytest.approx(expected, abs=1e-12)
    assert all((s.low <= s.contribution).all() and (s.contribution <= s.high).all() for s in shapes.values())


FIVE = ["standardized", "additive", "kernel"]


@pytest.mark.parametrize(("features", "selection", "most"), [(FIVE, "best", 0.002), ("auto", "blend", 0.006)])
def test_a_linear_truth_is_not_made_worse(features, selection, most):
    """Mean test AUC over splits beside the linear scorer's; a blend cannot know that the truth is a line."""
    losses = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((2400, 6))
        y = X @ [1.0, -1.0, 0.5, 0.5, 0.0, 0.0] + rng.standard_normal(2400) > 0
        linear = AUCClassifierCV(random_state=0).fit(X[:400], y[:400])
        found = AUCClassifierCV(features=features, selection=selection, random_state=0).fit(X[:400], y[:400])
        losses.append(linear.score(X[400:], y[400:]) - found.score(X[400:], y[400:]))
    assert np.mean(losses) < most


def test_auto_finds_curves_and_interactions():
    X, y, _ = curved_data(800)
    model = AUCClassifierCV(features="auto", selection="best", random_state=0).fit(X, y)
    table = pd.DataFrame(model.selection_)
    assert table["features"].tolist() == list(GROUPS["auto"])
    assert table["auc"][1] > table["auc"][0] + 0.05
    chosen = table[table["chosen"]]
    assert chosen["auc"].tolist() == [model.best_score_] == [table["auc"].max()]
    assert chosen["n_features"].tolist() == [model.coef_.shape[1]]
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 4))
    y = X[:, 0] * X[:, 1] > 0
    model = AUCClassifierCV(features="auto", selection="best", random_state=0).fit(X, y)
    assert isinstance(model.features_, KernelFeatures | TreeFeatures | BoostedFeatures)
    assert model.best_score_ > 0.9


def test_one_standard_error_prefers_the_simpler_map():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 4))
    y = X @ [1.0, 1.0, 0.0, 0.0] + rng.standard_normal(400) > 0
    maps = [AdditiveFeatures(), LinearFeatures()]
    for features in (maps, maps[::-1]):
        model = AUCClassifierCV(features=features, selection="one-standard-error", random_state=0).fit(X, y)
        best = AUCClassifierCV(features=features, random_state=0).fit(X, y)
        means = [s for s, c in zip(best.selection_["auc"], best.selection_["chosen"], strict=True) if c]
        error = best.selection_["standard_error"][best.selection_["chosen"].index(True)]
        assert model.selection_["chosen"] == [True, False]
        assert model.best_score_ >= means[0] - error - 1e-12
        F = model.features_.transform(X)
        assert np.allclose(model.moments_.means, [F[~y].mean(axis=0), F[y].mean(axis=0)])


def test_random_state_decides_the_landmarks():
    X, y = make_data(300, 4)
    make = AUCClassifierCV(features="kernel", random_state=3)
    one, two = (clone(make).fit(X, y).decision_function(X) for _ in range(2))
    assert np.array_equal(one, two)


@pytest.mark.parametrize("features", ["additive", "auto"])
def test_containers_and_dtypes_agree(features):
    X, y = make_data(240, 4)
    X *= np.random.default_rng(0).random(X.shape) < 0.6
    model = AUCClassifierCV(features=features, random_state=0, cv=3)
    dense = clone(model).fit(X, y).decision_function(X)
    assert np.allclose(clone(model).fit(sparse.csr_array(X), y).decision_function(sparse.csr_array(X)), dense)
    frame = pl.DataFrame(X, schema=list("abcd"))
    assert np.allclose(clone(model).fit(frame, y).decision_function(frame), dense)
    narrow = clone(model).fit(X.astype(np.float32), y)
    assert narrow.features_.transform(X.astype(np.float32)).dtype == np.float32
    assert narrow.best_score_ == pytest.approx(clone(model).fit(X, y).best_score_, abs=5e-3)


def test_foreign_transformers_with_sparse_output():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (300, 3)).astype(float)
    y = (X[:, 0] == 2) | (X[:, 1] == 1)
    model = AUCClassifierCV(features=OneHotEncoder()).fit(X, y)
    assert model.best_score_ > 0.99
    parts = model.explain_one(X[0])
    assert list(parts) == ["x0", "x1", "x2", "interactions", "baseline"]
    assert abs(parts["interactions"]) < 1e-9  # indicators of single columns are a sum of curves


def test_a_dict_names_the_maps():
    X, y = make_data(200, 4)
    maps = {"lines": LinearFeatures(), "curves": AdditiveFeatures()}
    named = AUCClassifierCV(features=maps, cv=3).fit(X, y)
    listed = AUCClassifierCV(features=list(maps.values()), cv=3).fit(X, y)
    assert named.selection_["features"] == ["lines", "curves"]
    assert named.selection_["auc"] == listed.selection_["auc"]


def test_bad_input_is_refused():
    X, y = make_data(60, 3)
    with pytest.raises(ValueError, match="features"):
        AUCClassifierCV(features="curved").fit(X, y)
    with pytest.raises(ValueError, match=r"must hold transformers or names out of \('standardized', 'additive', "):
        AUCClassifierCV(features=[3]).fit(X, y)
    with pytest.raises(ValueError, match="empty list"):
        AUCClassifierCV(features=[]).fit(X, y)
    with pytest.raises(ValueError, match="empty dict"):
        AUCClassifierCV(features={}).fit(X, y)
    with pytest.raises(ValueError, match=r"features\['lines'\] is 'additive', but must be a transformer: names go"):
        AUCClassifierCV(features={"lines": "additive"}).fit(X, y)
    stack = StackedFeatures([AdditiveFeatures(), BoostedFeatures()])
    with pytest.raises(ValueError, match="BoostedFeatures learns from labels and cannot be part of a stack here: give"):
        AUCClassifierCV(features=stack).fit(X, y)
    with pytest.raises(
        ValueError, match=r"The standardized map gives 5001 features.*at most 5000.*use features='linear'"
    ):
        AUCClassifierCV(features=LinearFeatures()).fit(np.random.default_rng(0).random((20, 5001)), np.arange(20) % 2)
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        AUCClassifierCV().fit(X, y)
    with pytest.raises(ValueError, match="not finite: impute"):
        AUCClassifierCV(features=StandardScaler()).fit(X, y)
    with pytest.raises(ValueError, match="takes one row"):
        AUCClassifierCV(features="additive").fit(X, y).explain_one(X[:2])


def test_auto_on_very_wide_tables_is_linear():
    X, y = make_data(60, 5)
    wide = sparse.hstack([sparse.csr_array(X), sparse.csr_array((60, 5000))]).tocsr()
    model = AUCClassifierCV(features="auto", l2s=[0.1]).fit(wide, y)
    assert model.features_ is None
    assert model.selection_["features"] == ["linear"]


def test_plot_of_shapes_shows_what_they_are():
    pytest.importorskip("matplotlib")
    from vrspam.plotting import plot_shapes

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(50, 9, 200), "city": rng.choice(["a", "b"], 200), "flat": np.ones(200)})
    frame.loc[::9, "age"] = np.nan
    y = frame["age"].fillna(50) + 9 * (frame["city"] == "b") + rng.normal(0, 3, 200) > 55
    model = AUCClassifierCV(features="additive").fit(frame, y)
    shapes = model.shape_functions_
    axes = plot_shapes(model).axes
    by_size = sorted(shapes, key=lambda name: -shapes[name].importance)
    assert by_size[2] == "flat"
    assert [ax.get_title() for ax in axes] == by_size[:2]  # it adds nothing
    age = next(ax for ax in axes if ax.get_title() == "age")
    x, drawn = map(np.asarray, age.get_lines()[1].get_data())
    assert np.array_equal(np.interp(x, shapes["age"].grid, shapes["age"].contribution), drawn)
    assert [text.get_text() for text in age.texts] == ["missing"]
    city = next(ax for ax in axes if ax.get_title() == "city")
    assert sorted(label.get_text() for label in city.get_xticklabels()) == ["a", "b"]
    assert len(plot_shapes(shapes, most=2).axes) == 2
    with pytest.raises(ValueError, match="takes a fitted"):
        plot_shapes({})


def test_a_column_may_be_called_interactions():
    """The part of the kernel gets another name, and the parts still add up."""
    X, y = make_data(120, 2)
    frame = pd.DataFrame(X, columns=["interactions", "baseline"])
    model = AUCClassifierCV(features=KernelFeatures(n_landmarks=20, random_state=0)).fit(frame, y)
    parts = model.explain_one(frame.iloc[[0]])
    assert list(model.importances_) == ["interactions", "baseline", "interactions (2)"]
    assert list(parts) == [*model.importances_, "baseline (2)"]
    assert np.isclose(sum(parts.values()), model.decision_function(frame.iloc[[0]])[0])


@pytest.mark.parametrize("features", ["additive", "kernel"])
def test_rows_sorted_by_label(features, monkeypatch):
    """A block may hold rows of only one class."""
    X, y = make_data(900, 3)
    monkeypatch.setattr("vrspam.moments._gather.BLOCK_BYTES", 1)  # the least block: 64 rows
    shuffled = AUCClassifierCV([1e-2], features=features, random_state=0, cv=StratifiedKFold(3))
    order = np.argsort(y, kind="stable")
    model = shuffled.fit(X[order], y[order])
    assert model.score(X, y) > 0.7


def test_maps_that_are_too_wide_are_passed_over(monkeypatch):
    X, y = make_data(200, 4)
    monkeypatch.setattr("vrspam.features.mapped.MAX_FEATURES", 80)
    maps = ["standardized", "additive", "kernel"]
    model = AUCClassifierCV(features=maps, selection="best", cv=3, random_state=0).fit(X, y)
    assert model.selection_["features"] == ["standardized", "additive"]
    assert type(model.features_).__name__.removesuffix("Features").lower() in ("linear", "additive")
    blended = AUCClassifierCV(features=maps, cv=3, random_state=0).fit(X, y)
    assert blended.selection_["features"] == ["standardized", "additive"]
    with pytest.raises(ValueError, match="at most 80 are possible"):
        AUCClassifierCV(features="kernel", cv=3).fit(X, y)


def test_a_transformer_that_gives_frames():
    X, y = make_data(200, 4)
    framed = AUCClassifierCV([1e-2], features=StandardScaler().set_output(transform="pandas")).fit(X, y)
    plain = AUCClassifierCV([1e-2], features=StandardScaler()).fit(X, y)
    assert np.allclose(framed.coef_, plain.coef_, rtol=1e-10)


def test_a_pipeline_that_names_no_features():
    X, y = make_data(200, 3)
    pipeline = make_pipeline(FunctionTransformer(np.arctan), StandardScaler())
    model = AUCClassifierCV([1e-2], features=pipeline).fit(X, y)
    parts = model.explain_one(X[0])
    assert list(parts) == ["x0", "x1", "x2", "interactions", "baseline"] == [*model.importances_, "baseline"]
    assert np.isclose(sum(parts.values()), model.decision_function(X[:1])[0])


def test_random_state_reaches_given_transformers():
    X, y = make_data(300, 3)
    own = KernelFeatures(n_landmarks=20)

    def landmarks(seed, features):
        return AUCClassifierCV([1e-2], features=features, random_state=seed).fit(X, y).features_.landmarks_

    assert np.array_equal(landmarks(0, own), landmarks(0, own))
    assert not np.array_equal(landmarks(0, own), landmarks(1, own))
    fixed = KernelFeatures(n_landmarks=20, random_state=5)
    assert np.array_equal(landmarks(0, fixed), landmarks(1, fixed))
    assert own.random_state is None


def test_ties_are_ties_for_maps():
    """There are eight different rows: the AUC follows from their counts, and rounding of scores must not change it."""
    rng = np.random.default_rng(0)
    X = (rng.random((1003, 3)) < 0.5).astype(float)
    y = rng.random(1003) < 0.2 + 0.4 * X[:, 0] * X[:, 1]
    model = AUCClassifierCV([1e-2], features="additive", cv=StratifiedKFold(3)).fit(X, y)
    for number, (train, validation) in enumerate(StratifiedKFold(3).split(X, y)):
        F = model.features_.transform(X)
        alone = AUCClassifier(1e-2).fit(F[train], y[train])
        scores = np.round(alone.decision_function(F[validation]), 9)
        assert model.auc_path_[0, 0, number] == pytest.approx(roc_auc_score(y[validation], scores), abs=1e-12)


def test_bands_of_other_splitters():
    X, y = make_data(400, 2)
    half = ShuffleSplit(10, train_size=0.5, test_size=0.1, random_state=0)
    model = AUCClassifierCV([1e-2], features="additive", cv=half).fit(X, y)
    assert all((shape.low < shape.high).any() for shape in model.shape_functions_.values())
    one = AUCClassifierCV([1e-2], features="additive", cv=ShuffleSplit(1, random_state=0)).fit(X, y)
    shape = one.shape_functions_["x0"]
    assert np.isfinite(shape.contribution).all()
    assert np.isnan(shape.low).all()
    plot_shapes(one)  # without bands


def test_curves_beside_a_kernel_and_interactions_add_up():
    X, y = make_data(300, 2)
    model = AUCClassifierCV([1e-2], features=KernelFeatures(n_landmarks=30, random_state=0)).fit(X, y)
    shapes, parts = model.shape_functions_, model.explain_one(X[7])
    for j, name in enumerate(("x0", "x1")):
        at = np.interp(X[7, j], shapes[name].grid, shapes[name].contribution)
        assert at == pytest.approx(parts[name], abs=1e-9)
        assert (shapes[name].low <= shapes[name].contribution).all()
    alone = AUCClassifierCV([1e-2], features=KernelFeatures(additive=False, random_state=0)).fit(X, y)
    assert list(alone.shape_functions_) == ["x0", "x1"]


def test_explain_a_row_of_a_frame():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(50, 9, 200), "town": rng.choice(["Rome", "Oslo"], 200)})
    y = frame["age"] + 5 * (frame["town"] == "Oslo") + rng.normal(0, 5, 200) > 55
    model = AUCClassifierCV(features="additive").fit(frame, y)
    assert model.explain_one(frame.iloc[3]) == model.explain_one(frame.iloc[[3]])


def test_one_standard_error_prefers_the_smoother_kernel():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    y = X[:, 0] * X[:, 1] + rng.standard_normal(300) > 0
    model = AUCClassifierCV(features="kernel", selection="one-standard-error", random_state=0).fit(X, y)
    table = pd.DataFrame(model.selection_)
    best = table.loc[table["auc"].idxmax()]
    enough = table[table["auc"] >= best["auc"] - best["standard_error"]]["features"].tolist()
    assert {"kernel 3", "kernel 1"} <= set(enough)
    assert table.loc[table["chosen"], "features"].item() == "kernel 3"


def test_the_chosen_point_of_a_map_is_certified_in_float32(recwarn):
    """Features of float32 rows are multiplied in float64."""
    X, y = make_data(300, 3)
    model = AUCClassifierCV([1e-7], features="additive").fit(X.astype(np.float32), y)
    assert model.moments_.rounding == 0.0
    assert model.gap_ <= 1e-8 * model.moments_.p * model.moments_.q
    assert not [w for w in recwarn if issubclass(w.category, ConvergenceWarning)]
    coarse = AUCClassifierCV([1.0], features="additive").fit(X.astype(np.float32), y)
    assert coarse.moments_.rounding == 0.0


@pytest.mark.parametrize(
    ("transformer", "message"),
    [
        (SelectKBest(k=1), "SelectKBest could not be fitted as a feature map, which is given X alone and no labels"),
        (FunctionTransformer(lambda X: X[:, 0]), "a feature map gives a row of features for each row"),
        (FunctionTransformer(lambda X: X[::2]), "FunctionTransformer turned [0-9]+ rows into an array of shape"),
    ],
)
def test_transformers_that_are_no_feature_maps(transformer, message):
    X, y = make_data(120, 3)
    with pytest.raises(ValueError, match=message):
        AUCClassifierCV([1e-2], features=transformer).fit(X, y)


@pytest.mark.parametrize("features", ["linear", "additive"])
def test_missing_labels_are_named(features):
    X, y = make_data(60, 3)
    words = np.where(y == y.max(), "yes", "no").astype(object)
    for gap in (None, np.nan, float("nan"), pd.NA):
        words[5] = gap
        with pytest.raises(ValueError, match="y contains NaN or None: leave out the rows"):
            AUCClassifierCV(features=features).fit(X, words)
    words[5] = 7
    with pytest.raises(ValueError, match="y mixes text with other labels"):
        AUCClassifierCV(features=features).fit(X, words)


def test_advice_on_features_that_do_not_vary():
    """There is no smaller l1 than 0 to try."""
    y = np.arange(40) % 2
    with pytest.warns(UserWarning, match="the classes have the same mean in every feature"):
        AUCClassifierCV(features="auto").fit(np.ones((40, 2)), y)


def test_hash_folds_take_numbers():
    frame = pd.DataFrame({"town": ["Rome", "Oslo"] * 20, "age": np.arange(40.0)})
    with pytest.raises(ValueError, match="HashFolds takes arrays of numbers"):
        AUCClassifierCV(features="additive", cv=HashFolds(3)).fit(frame, np.arange(40) % 2)


def test_names_with_dollar_signs_are_drawn_as_they_are(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"paid $ of $": rng.random(60), "kind": rng.choice(["$ $^", "x$y$"], 60)})
    model = AUCClassifierCV([1e-2], features="additive").fit(frame, frame["paid $ of $"] + rng.random(60) > 1)
    figure = plot_shapes(model)
    figure.savefig(tmp_path / "curves.png")
    texts = [ax.title for ax in figure.axes] + [t for ax in figure.axes for t in ax.get_xticklabels()]
    named = [text for text in texts if text.get_text() in ("paid $ of $", "$ $^", "x$y$")]
    assert len(named) == 3
    assert not any(text.get_parse_math() for text in named)
