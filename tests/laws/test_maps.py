"""Every feature map, `auto` included, on every table: what is stored is finite and of a sane size; weights count rows.

A table may be noise, constant, repeated, of one text, or of a dozen rows. Weights of 1 are no weights, a row of weight
0 is no row and, where nothing is drawn by rows, a row of weight 2 is two rows.
"""

import json
import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws_support import examples

from vrspam import AUCClassifier, AUCClassifierCV, ConcordanceRankerCV, VRSPAMClassifier
from vrspam.features.names import named_maps
from vrspam.tool import load_model, save_model, train

MAPS = ("standardized", "additive", "kernel 1", "kernel alone 0.3", "trees 4", "forest", "boosted", "auto")
ALONE = MAPS[:-1]
DRAWS_NOTHING = ("standardized", "additive")
KINDS = ("noise", "constant", "nearly constant", "yes or no", "text", "repeated", "mostly missing", "huge", "tiny")

pytestmark = pytest.mark.filterwarnings("ignore")


def column_of(kind: str, n: int, rng: np.random.Generator, first: np.ndarray) -> Any:
    """A column of a table."""
    noise = rng.standard_normal(n)
    match kind:
        case "constant":
            return np.full(n, 7.3)
        case "nearly constant":
            return np.where(noise > 0, 0.3, 0.1 + 0.2)  # apart by one rounding
        case "yes or no":
            return (noise > 0).astype(float)
        case "text":
            return np.array(list("abc"))[rng.integers(3, size=n)]
        case "repeated":
            return first.copy()
        case "mostly missing":
            return np.where(rng.random(n) < 0.9, np.nan, noise)
        case "huge":
            return noise * 1e200
        case "tiny":
            return noise * 1e-200
    return noise


def labels_of(n: int, few: int, rng: np.random.Generator) -> np.ndarray:
    """Labels without a signal, at least 5 of each class."""
    positives = int(np.clip(few, 5, n - 5))
    return rng.permutation(np.arange(n) < positives)


class Recipe(NamedTuple):
    """A table without a signal, by a few numbers."""

    n: int
    kinds: list[str]
    positives: int
    seed: int

    def table(self) -> tuple[pd.DataFrame, np.ndarray]:
        rng = np.random.default_rng(self.seed)
        first = rng.standard_normal(self.n)
        columns = {f"{i} {kind}": column_of(kind, self.n, rng, first) for i, kind in enumerate(self.kinds)}
        return pd.DataFrame(columns), labels_of(self.n, self.positives, rng)


recipes = st.builds(
    Recipe,
    st.sampled_from([10, 12, 16, 20, 60, 150]),
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=4),
    st.sampled_from([5, 15, 70]),
    st.integers(0, 2**32 - 1),
)


def check_finite(model: Any, X: Any) -> None:
    """Scores, probabilities and all that the fit stores are numbers, and of a sane size."""
    scores = model.decision_function(X)
    likely = model.predict_proba(X)
    assert np.isfinite(scores).all()
    assert np.isfinite(likely).all()
    assert np.isfinite(model.coef_).all()
    json.dumps(model.selection_, allow_nan=False)
    for name in ("objective_", "gap_", "l2_", "best_score_", "baseline_"):
        value = getattr(model, name)
        assert value is None or np.isfinite(value), name
    if model.gap_ is not None:
        assert model.gap_ >= 0.0

    held_out = model.out_of_fold_.scores
    deviation = held_out.std()
    assert deviation < 20.0
    if deviation <= 1e-12 * np.abs(held_out).max():  # all are tied: the score is the logarithm of the odds
        assert np.abs(model.intercept_[0]) < 20.0
    else:
        assert np.abs(scores.mean()) <= 60.0 * deviation + 10.0 * held_out.std() + np.abs(held_out).max()


@pytest.mark.parametrize("features", MAPS)
@settings(max_examples=examples(4))
@given(recipe=recipes)
def test_every_map_fits_every_table_to_finite_numbers(features, recipe):
    table, y = recipe.table()
    model = AUCClassifierCV(features=features, random_state=0).fit(table, y)
    check_finite(model, table)
    if features in ("boosted", "forest") and model.gap_ is None:  # trees that rank no better than chance say little
        assert model.out_of_fold_.scores.std() < 0.01


@pytest.mark.parametrize("features", ["boosted", "forest", "auto"])
@settings(max_examples=examples(2))
@given(seed=st.integers(0, 2**32 - 1), shape=st.sampled_from(["noise", "one column", "weak"]))
def test_tables_without_signal_are_trained_and_written(tmp_path_factory, features, seed, shape):
    """What `train` meets without a signal: noise, a column of yes and no, weak columns beside a constant one."""
    rng = np.random.default_rng(seed)
    if shape == "noise":
        table, y = pd.DataFrame(rng.standard_normal((300, 15))), labels_of(300, 36, rng)
    elif shape == "one column":
        table, y = pd.DataFrame({0: np.array(["yes", "no"])[rng.integers(2, size=60)]}), labels_of(60, 20, rng)
    else:
        table = pd.DataFrame(rng.standard_normal((600, 5)))
        table[4] = 1.0
        y = 0.05 * table[0].to_numpy() + rng.standard_normal(600) > 1.0
    folder = tmp_path_factory.mktemp("train")
    table.columns = [f"c{name}" for name in table.columns]
    table.assign(y=y.astype(int)).to_csv(folder / "rows.csv", index=False)
    model = train(folder / "rows.csv", target="y", features=features)
    json.dumps(model.training, allow_nan=False)
    save_model(model, folder / "model.json")
    load_model(folder / "model.json")


@pytest.mark.parametrize("features", ["boosted", "forest"])
@pytest.mark.parametrize("n", [12, 14, 20])
@pytest.mark.parametrize("kind", ["text", "yes or no", "noise"])
def test_trees_without_a_split_are_a_model(tmp_path, features, n, kind):
    rng = np.random.default_rng(n)
    table = pd.DataFrame({"a": column_of(kind, n, rng, rng.standard_normal(n))}).assign(y=np.arange(n) % 2)
    table.to_csv(tmp_path / "rows.csv", index=False)
    model = train(tmp_path / "rows.csv", target="y", features=features)
    save_model(model, tmp_path / "model.json")
    load_model(tmp_path / "model.json")


@pytest.mark.parametrize("features", ALONE)
@settings(max_examples=examples(4))
@given(recipe=recipes, centre=st.sampled_from([0.3, -1.7, 1234.567, 1e-9, 1e9 + 0.1]))
def test_no_feature_is_made_of_rounding(features, recipe, centre):
    """A column that varies by a rounding or two is a constant column."""
    table, y = recipe.table()
    steps = np.random.default_rng(0).integers(-1, 2, len(table))
    moved = np.where(steps > 0, np.nextafter(centre, np.inf), np.where(steps < 0, np.nextafter(centre, 0.0), centre))
    fits = []
    for column in (np.full(len(table), moved[0]), moved):
        (new,) = named_maps(features, seed=0).values()
        whole = table.assign(rounded=column)
        fits.append((new.fit(whole, y), whole))
    (known, first), (found, second) = fits
    np.testing.assert_array_equal(found.transform(second), known.transform(first))


@pytest.mark.parametrize("features", ALONE)
@settings(max_examples=examples(4))
@given(recipe=recipes)
def test_every_feature_that_varies_varies_by_more_than_rounding(features, recipe):
    table, y = recipe.table()
    (new,) = named_maps(features, seed=0).values()
    made = new.fit(table, y).transform(table)
    assert np.isfinite(made).all()
    largest = np.abs(made).max(axis=0)
    spread = np.ptp(made, axis=0)
    assert ((spread <= 1e-15 * largest) | (spread > 1e-9 * largest)).all()


# Weights.


class Weighted(NamedTuple):
    """Rows with some signal, with weights some of which are 0, and three folds."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    splits: list[tuple[np.ndarray, np.ndarray]]


def weighted(n: int, seed: int) -> Weighted:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    X[:, 1] = rng.integers(0, 3, n)
    X[rng.random(n) < 0.1, 2] = np.nan
    y = X[:, 0] + rng.standard_normal(n) > 0.5
    y[:2] = [True, False]
    weights = rng.choice([0.0, 1.0, 1.0, 2.5], n)
    weights[:2] = 0.0
    fold = np.empty(n, dtype=np.intp)
    for side in (True, False):
        weights[np.flatnonzero(y == side)[2:8]] = 1.0
        for counted in (True, False):
            rows = (y == side) & ((weights > 0) == counted)
            fold[rows] = rng.permutation(np.arange(rows.sum()) % 3)
    return Weighted(X, y, weights, [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)])


seeds = st.integers(0, 2**32 - 1)
sizes = st.sampled_from([60, 120])


def fitted(features: str, X: np.ndarray, y: np.ndarray, weights: Any, cv: Any) -> AUCClassifierCV:
    return AUCClassifierCV(features=features, random_state=0, cv=cv).fit(X, y, sample_weight=weights)


def check_equal(one: AUCClassifierCV, other: AUCClassifierCV, X: np.ndarray) -> None:
    """The same model, chosen in the same way, that promises the same."""
    scores = one.decision_function(X)
    np.testing.assert_allclose(other.decision_function(X), scores, rtol=1e-6, atol=1e-6 * max(scores.std(), 1e-9))
    np.testing.assert_allclose(other.predict_proba(X), one.predict_proba(X), atol=1e-6)
    assert other.best_score_ == pytest.approx(one.best_score_, abs=1e-9)
    assert other.corrected_score_ == pytest.approx(one.corrected_score_, abs=1e-9, nan_ok=True)
    assert other.selection_["features"] == one.selection_["features"]
    np.testing.assert_allclose(other.selection_["auc"], one.selection_["auc"], atol=1e-9)


@pytest.mark.parametrize("features", MAPS)
@settings(max_examples=examples(2))
@given(n=sizes, seed=seeds, folds=st.booleans())
def test_weights_of_one_are_no_weights(features, n, seed, folds):
    X, y, _, splits = weighted(n, seed)
    cv = splits if folds else 3
    check_equal(fitted(features, X, y, None, cv), fitted(features, X, y, np.ones(y.size), cv), X)


@pytest.mark.parametrize("features", MAPS)
@settings(max_examples=examples(2))
@given(n=sizes, seed=seeds, folds=st.booleans())
def test_a_row_of_weight_0_is_no_row(features, n, seed, folds):
    X, y, weights, splits = weighted(n, seed)
    counted = np.flatnonzero(weights > 0)
    place = np.full(y.size, -1)
    place[counted] = np.arange(counted.size)
    inside = [tuple(place[part][place[part] >= 0] for part in split) for split in splits]
    with_them = fitted(features, X, y, weights, splits if folds else 3)
    without = fitted(features, X[counted], y[counted], weights[counted], inside if folds else 3)
    check_equal(with_them, without, X)
    np.testing.assert_array_equal(with_them.out_of_fold_.places, counted[without.out_of_fold_.places])


@pytest.mark.parametrize("features", DRAWS_NOTHING)
@settings(max_examples=examples(3))
@given(n=sizes, seed=seeds)
def test_a_row_of_weight_2_is_two_rows(features, n, seed):
    X, y, _, splits = weighted(n, seed)
    weights = np.random.default_rng(0).choice([1.0, 2.0], y.size)
    again = np.repeat(np.arange(y.size), weights.astype(int))
    fold = np.empty(y.size, dtype=np.intp)
    for number, (_, part) in enumerate(splits):
        fold[part] = number
    repeated = [(np.flatnonzero(fold[again] != k), np.flatnonzero(fold[again] == k)) for k in range(3)]
    one, two = fitted(features, X, y, weights, splits), fitted(features, X[again], y[again], None, repeated)
    scores = one.decision_function(X)
    np.testing.assert_allclose(two.decision_function(X), scores, rtol=1e-5, atol=1e-5 * scores.std())
    assert two.best_score_ == pytest.approx(one.best_score_, abs=1e-9)


@pytest.mark.parametrize("features", ALONE)
@settings(max_examples=examples(3))
@given(n=sizes, seed=seeds)
def test_a_map_alone_counts_rows_by_their_weights(features, n, seed):
    X, y, weights, _ = weighted(n, seed)
    (new,) = named_maps(features, seed=0).values()
    (other,) = named_maps(features, seed=0).values()
    counted = weights > 0
    made = new.fit(X, y, sample_weight=weights).transform(X)
    np.testing.assert_allclose(other.fit(X[counted], y[counted], sample_weight=weights[counted]).transform(X), made)
    made = new.fit(X, y, sample_weight=np.ones(y.size)).transform(X)
    np.testing.assert_allclose(other.fit(X, y).transform(X), made, atol=1e-9)


@pytest.mark.parametrize(
    "estimator",
    [AUCClassifier(), AUCClassifier(l1=0.01), AUCClassifier(loss="squared_hinge"), VRSPAMClassifier(random_state=0)],
)
@settings(max_examples=examples(3))
@given(n=sizes, seed=seeds)
def test_estimators_count_rows_by_their_weights(estimator, n, seed):
    X, y, weights, _ = weighted(n, seed)
    X, counted = np.nan_to_num(X), weights > 0
    scores = estimator.fit(X, y, sample_weight=weights).decision_function(X)
    without = estimator.fit(X[counted], y[counted], sample_weight=weights[counted]).decision_function(X)
    np.testing.assert_allclose(without, scores, rtol=1e-6, atol=1e-7)
    scores = estimator.fit(X, y).decision_function(X)
    np.testing.assert_allclose(estimator.fit(X, y, sample_weight=np.ones(y.size)).decision_function(X), scores, 1e-6)


@pytest.mark.parametrize("features", ["standardized", "boosted", "trees 4"])
@settings(max_examples=examples(3))
@given(n=sizes, seed=seeds, strata=st.booleans())
def test_a_ranker_counts_rows_by_their_weights(features, n, seed, strata):
    X, y, weights, _ = weighted(n, seed)
    rng = np.random.default_rng(0)
    months, died = rng.exponential(np.exp(-X[:, 0])), rng.random(y.size) < 0.7
    site = rng.integers(12, size=y.size)
    counted = weights > 0
    both = []
    for rows in (np.arange(y.size), np.flatnonzero(counted)):
        more = {"strata": site[rows]} if strata else {}
        model = ConcordanceRankerCV(features=features, random_state=0, cv=3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X[rows], months[rows], event=died[rows], sample_weight=weights[rows], **more)
        both.append(model)
    scores = both[0].predict(X)
    np.testing.assert_allclose(both[1].predict(X), scores, rtol=1e-6, atol=1e-6 * max(scores.std(), 1e-9))
    assert both[1].corrected_score_ == pytest.approx(both[0].corrected_score_, abs=1e-9)


# Order of rows.


@pytest.mark.parametrize("features", DRAWS_NOTHING)
@settings(max_examples=examples(3))
@given(n=sizes, seed=seeds)
def test_the_order_of_rows_changes_nothing_where_nothing_is_drawn(features, n, seed):
    X, y, weights, splits = weighted(n, seed)
    order = np.random.default_rng(1).permutation(y.size)
    place = np.argsort(order)
    moved = [(place[train], place[validation]) for train, validation in splits]
    one, two = fitted(features, X, y, weights, splits), fitted(features, X[order], y[order], weights[order], moved)
    scores = one.decision_function(X)
    np.testing.assert_allclose(two.decision_function(X), scores, rtol=1e-6, atol=1e-6 * scores.std())
