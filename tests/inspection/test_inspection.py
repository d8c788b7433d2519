"""Curves, interactions and importances, against closed forms, explicit least squares and scores that are known."""

from __future__ import annotations

import datetime
import warnings
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers import make_data
from scipy import sparse
from scipy.special import expit
from scipy.stats import t as student
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from vrspam import AUCClassifierCV
from vrspam._utils.warnings import CategoriesGrouped
from vrspam.features import AdditiveFeatures, KernelFeatures, LinearFeatures
from vrspam.features.encoders import Curves
from vrspam.inspection import column_pairs, read_score
from vrspam.inspection.bins import bin_categories, bin_numbers, mean_at_numbers
from vrspam.inspection.interactions import Cells, support
from vrspam.inspection.projection import Projection
from vrspam.inspection.reading import ROWS_PER_FUNCTION
from vrspam.inspection.rows import draw_rows
from vrspam.tables.frames import rows_of

FOLDS = 5


def reading_of(score, X, positive, weights=None):
    """Read a known function of the rows, the same in every fold."""
    known = FunctionTransformer(lambda rows: score(np.asarray(rows))[:, np.newaxis]).fit(X)
    left_out = [np.arange(len(X)) % FOLDS == fold for fold in range(FOLDS)]
    names = [f"x{j}" for j in range(X.shape[1])]
    found = read_score(known, np.ones((1, 1 + FOLDS)), None, left_out, X, positive, weights, names, seed=0)
    assert not isinstance(found, str), found
    return found


def gaussians(n, correlation=0.0, d=4, seed=0):
    """Standard normal columns, the first two correlated; labels that say nothing about them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[:, 1] = correlation * X[:, 0] + np.sqrt(1.0 - correlation**2) * X[:, 1]
    return X, rng.random(n) < 0.5


def table(n=500, seed=0):
    """Numbers with gaps, few numbers, and categories with gaps; a score with interactions."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 9, n),
            "visits": rng.poisson(2, n).astype(float),
            "town": rng.choice(["Graz", "Linz", "Wien"], n),
        }
    )
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n) < 0.1, "town"] = None
    good = (frame["age"].fillna(60) - 50) / 9 * np.where(frame["town"] == "Wien", 1, -1) + frame["visits"]
    return frame, (good + rng.standard_normal(n) > 3).to_numpy()


@pytest.fixture(scope="module")
def kernel_model():
    frame, y = table()
    weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    features = KernelFeatures(n_landmarks=60, random_state=0)
    model = AUCClassifierCV([1e-3], features=features, cv=3, calibration=None)
    return model.fit(frame, y, sample_weight=weights), frame, y, weights


def parts_of(model, X):
    return np.stack([s.parts(X, j) for j, s in enumerate(model.shape_functions_.values())], axis=1)


def test_the_curves_are_the_weighted_least_squares_projection_of_the_whole_score(kernel_model):
    model, frame, y, weights = kernel_model
    v = np.where(y, weights / weights[y].sum(), weights / weights[~y].sum()) / 2
    used = weights > 0
    basis = AdditiveFeatures(max_features=int(1 / (v @ v)) // ROWS_PER_FUNCTION).fit(frame, sample_weight=weights)
    design = np.column_stack([np.ones(len(y)), basis.transform(frame)])
    scores, root = model.decision_function(frame), np.sqrt(v)
    solution = np.linalg.lstsq(root[:, np.newaxis] * design, root * scores, rcond=1e-10)[0]
    parts = parts_of(model, frame)
    np.testing.assert_allclose(parts.sum(axis=1)[used], (design @ solution)[used], atol=1e-6)
    rest = scores - parts.sum(axis=1)
    assert np.std(rest) > 0.1  # there are interactions,
    assert np.abs(design.T @ (v * rest)).max() < 1e-7  # and no function of one column is left in them


def test_parts_importances_and_differences_are_those_of_the_rows(kernel_model):
    model, frame, y, weights = kernel_model
    v = np.where(y, weights / weights[y].sum(), weights / weights[~y].sum()) / 2
    parts = dict(zip(model.shape_functions_, parts_of(model, frame).T, strict=True))
    parts["interactions"] = model.decision_function(frame) - sum(parts.values())
    assert list(model.importances_) == list(parts)
    for name, part in parts.items():
        assert v @ part == pytest.approx(0.0, abs=1e-7)
        assert model.importances_[name] == pytest.approx(np.sqrt(v @ part**2), rel=1e-5)
    for name, shape in model.shape_functions_.items():
        assert shape.difference == pytest.approx(2 * v[y] @ parts[name][y] - 2 * v[~y] @ parts[name][~y], abs=1e-6)
    for row in (0, 7, 11):
        explained = model.explain_one(frame.iloc[row])
        assert explained == pytest.approx({name: part[row] for name, part in parts.items()}, abs=1e-9)
    total = v @ model.decision_function(frame) ** 2
    assert model.interactions_share_ == pytest.approx(model.importances_["interactions"] ** 2 / total, rel=1e-5)


def test_the_mean_score_of_the_rows_stands_beside_each_curve(kernel_model):
    model, frame, y, weights = kernel_model
    v = np.where(y, weights / weights[y].sum(), weights / weights[~y].sum()) / 2
    scores = model.decision_function(frame)
    for name in ("visits", "town"):
        shape = model.shape_functions_[name]
        for value, mean in zip(shape.grid, shape.mean_score, strict=True):
            here = (frame[name] == value).to_numpy() & (v > 0)
            assert mean == pytest.approx(np.average(scores[here], weights=v[here]))
    gone = frame["age"].isna().to_numpy()
    assert model.shape_functions_["age"].missing_mean_score == pytest.approx(np.average(scores[gone], weights=v[gone]))
    assert model.shape_functions_["visits"].missing_mean_score is None


@pytest.mark.parametrize("correlation", [0.0, 0.7])
def test_curves_are_the_known_projection_within_their_band(correlation):
    """Of s = sin(x0) + x0 x1 + 2 x0 x2, columns normal and x2 independent, the best sum of curves is known.

    E[(x0 x1) H2(x0)] = 2r and Cov(H2(x0), H2(x1)) = 2r² for correlation r, so x0 x1 has the curves a (x² - 1) of x0 and
    of x1, a = r / (1 + r²); x0 x2 has none.
    """
    a = correlation / (1.0 + correlation**2)
    inside, errors = [], []
    for seed in range(3):
        X, positive = gaussians(4000, correlation, seed=seed)

        found = reading_of(lambda X: np.sin(X[:, 0]) + X[:, 0] * X[:, 1] + 2 * X[:, 0] * X[:, 2], X, positive)
        for j, shape in enumerate(found.columns):
            x = shape.grid
            known = [np.sin(x) + a * (x**2 - 1), a * (x**2 - 1), 0.0 * x, 0.0 * x][j]
            middle = np.abs(x) < 2
            wrong = (shape.contribution - known)[middle]
            errors.append(wrong)
            inside.append((np.abs(wrong) <= (shape.high - shape.contribution)[middle]).mean())
    assert np.sqrt(np.mean(np.concatenate(errors) ** 2)) < 0.25  # sd of the interactions: above 2
    assert np.mean(inside) > 0.85


def test_bands_are_those_of_projections_without_the_rows_of_each_fold():
    """Folds leave out a fifth of the rows, in the fit and in the least squares."""

    def score(X):
        return X[:, 0] * X[:, 1] + np.abs(X[:, 1])

    X, positive = gaussians(2000, 0.4)
    found = reading_of(score, X, positive)
    rows = draw_rows(X, positive, None, 0)
    basis = AdditiveFeatures(max_features=int(rows.effective) // ROWS_PER_FUNCTION)
    for j, one in enumerate(basis.fit(X).encoders_):  # straight lines are among the functions of a column
        assert isinstance(one, Curves)
        basis.encoders_[j] = replace(one, table=np.column_stack([one.nodes, one.table]), labels=("line", *one.labels))
    F, v, each = basis.transform(X), rows.weights, []
    for fold in range(FOLDS):
        inside = np.arange(2000) % FOLDS != fold
        root = np.sqrt(v[inside])[:, np.newaxis]
        design = np.column_stack([np.ones(inside.sum()), F[inside]])
        solution = np.linalg.lstsq(root * design, root[:, 0] * score(X)[inside], rcond=1e-10)[0]
        own = basis.column_slices_[1]
        each.append((F[:, own] - v @ F[:, own]) @ solution[1:][own])
    half = student.ppf(0.975, FOLDS - 1) * np.sqrt(FOLDS - 1) * np.std(each, axis=0)  # (1 - v)/v = 4 for fifths
    shape = found.columns[1]
    middle = np.abs(X[:, 1]) < 2.5
    ours = np.interp(X[:, 1], shape.grid, shape.high - shape.contribution)
    assert np.median(ours[middle] / half[middle]) == pytest.approx(1.0, abs=0.05)


def test_the_interactions_have_no_mean_given_any_single_column_on_new_rows():
    def score(X):
        return np.sin(X[:, 0]) + X[:, 0] * X[:, 1] + X[:, 1] * (X[:, 2] > 0)

    X, positive = gaussians(8000, 0.5)
    found = reading_of(score, X, positive)
    new = gaussians(20_000, 0.5, seed=1)[0]
    parts = found.parts(new, score(new) - score(X).mean())
    rest = parts.pop("interactions")
    for j in range(4):
        for rows in np.array_split(np.argsort(new[:, j]), 10):
            # error of a mean of these rows, and that of a curve that rests on 18 functions of 8,000 rows
            error = rest.std() * np.sqrt(1 / rows.size + 4 * 18 / 8000)
            assert abs(rest[rows].mean()) < 3.5 * error


def test_the_pairs_that_are_named_are_the_true_ones():
    """Column 4 only moves together with column 1, and columns 5 to 19 do nothing."""

    def score(X):
        return X[:, 0] + X[:, 0] * X[:, 1] + 0.7 * np.sign(X[:, 2]) * np.sign(X[:, 3])

    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 20))
    X[:, 4] = 0.9 * X[:, 1] + np.sqrt(1 - 0.81) * X[:, 4]
    found = reading_of(score, X, rng.random(4000) < expit(0.5 * score(X) - 0.85))
    assert [pair.names for pair in found.pairs][:2] == [("x0", "x1"), ("x2", "x3")]
    assert {name for pair in found.pairs for name in pair.names} <= {"x0", "x1", "x2", "x3", "x4"}
    variance = np.var(score(X))
    assert 0.75 < found.pairs[0].share * variance < 1.05  # x0 x1 has variance 1; ten bins see most of it
    assert 0.37 < found.pairs[1].share * variance < 0.52  # of 0.49; 160 functions of 3,400 rows take a part
    assert sum(pair.share for pair in found.pairs) < found.share == pytest.approx(1.49 / variance, rel=0.1)
    signs = found.pairs[1].values
    assert (signs[:3, :3] > 0.2).all()
    assert (signs[-3:, -3:] > 0.2).all()
    assert (signs[:3, -3:] < -0.2).all()


def test_named_pairs_and_importances_of_a_fitted_kernel():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 4))
    y = X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.5 * rng.standard_normal(1500) > 0
    model = AUCClassifierCV(features=KernelFeatures(n_landmarks=150), random_state=0, cv=3).fit(X, y)
    assert list(model.interactions_) == [("x0", "x1")]
    assert [pair.names for pair in model.pair_effects_] == [("x0", "x1")]
    assert 0.3 < model.interactions_["x0", "x1"] < model.interactions_share_ < 0.9
    importances = model.feature_importances_
    assert importances.shape == (4,)
    assert importances.sum() == pytest.approx(1.0)
    assert importances[:2].min() > 1.2 * importances[2] > 2.0 * importances[3]
    assert max(model.importances_["x0"], model.importances_["x1"]) < model.importances_["x2"]  # curves alone


def test_without_interactions_none_are_named():
    X, positive = gaussians(2000)
    found = reading_of(lambda X: np.sin(X[:, 0]) + np.abs(X[:, 1]), X, positive)
    assert found.interactions is not None
    assert found.share < 5e-3  # splines do not follow the kink exactly
    additive = AUCClassifierCV(features="additive", cv=3).fit(X, X[:, 0] > 0)
    assert (additive.interactions_, additive.interactions_share_, additive.pair_effects_) == ({}, 0.0, ())


def test_a_score_whose_additive_features_say_the_opposite():
    """Three columns that move together, as hour, departure and arrival of a flight: the evening scores high.

    The coefficients are set such that the additive features of a kernel map say the opposite and its other features
    undo it twice over.
    """
    rng = np.random.default_rng(0)
    departure = rng.uniform(5, 23, 2000)
    X = np.stack([np.floor(departure), departure, departure + rng.normal(2.5, 0.8, 2000), rng.random(2000)], axis=1)
    late = rng.random(2000) < 0.1 + 0.02 * (departure - 5)
    features = KernelFeatures(n_landmarks=100, random_state=0).fit(X)
    F = features.transform(X)
    assert features.additive_ is not None
    own = slice(0, features.additive_.n_features_out_)
    evening = (departure - departure.mean()) / departure.std()

    def fitted(columns, target):
        return np.linalg.lstsq(F[:, columns], target, rcond=1e-8)[0]

    coef = np.zeros(F.shape[1])
    coef[own] = fitted(own, -evening)
    coef[own.stop :] = fitted(slice(own.stop, None), 2 * evening)
    scores = F @ coef
    assert np.corrcoef(F[:, own] @ coef[own], scores)[0, 1] < -0.9  # what the additive features alone say
    assert np.corrcoef(evening, scores)[0, 1] > 0.99
    left_out = [np.arange(2000) % 5 == fold for fold in range(5)]
    coefs, names = np.tile(coef, (6, 1)).T, ["hour", "departure", "arrival", "distance"]
    found = read_score(features, coefs, None, left_out, X, late, None, names, seed=0)
    assert not isinstance(found, str)
    curves = [shape.parts(X, j) for j, shape in enumerate(found.columns)]
    together = np.sum(curves[:3], axis=0)
    assert np.corrcoef(together, scores)[0, 1] > 0.99
    assert together[departure < 10].mean() < -0.5
    assert together[departure > 18].mean() > 0.5
    assert all(np.corrcoef(curve, scores)[0, 1] > 0.5 for curve in curves[:3])  # none of them says the opposite
    assert set(found.columns[1].together) == {"hour", "arrival"}
    assert found.columns[3].together == ()
    for shape in found.columns[:3]:
        assert shape.mean_score is not None
        assert shape.mean_score[-1] > 1 > -1 > shape.mean_score[0]


def test_an_effect_of_equal_columns_is_split_evenly():
    X, positive = gaussians(4000)
    X = np.column_stack([X, X[:, 0], X[:, 0]])
    found = reading_of(lambda X: np.sin(2 * X[:, 0]) + X[:, 1], X, positive).columns
    whole = reading_of(lambda X: np.sin(2 * X[:, 0]) + X[:, 1], X[:, :4], positive).columns
    for j in (0, 4, 5):
        np.testing.assert_allclose(3 * found[j].contribution, whole[0].contribution, atol=2e-3)
    assert set(found[0].together) == {"x4", "x5"}


def test_columns_that_nearly_agree_share_an_effect_and_keep_a_difference():
    """Correlation .999: large curves that cancel are not made up, and are not lost where the score is made of them."""
    X, positive = gaussians(4000, 0.999)

    def shared(X):
        return X[:, 0] + 0.5 * X[:, 2] * X[:, 3]

    one, other, *_ = reading_of(shared, X, positive).columns
    assert (one.importance, other.importance) == pytest.approx((0.5, 0.5), abs=0.05)
    difference = reading_of(lambda X: 10 * (X[:, 0] - X[:, 1]), X, positive)
    slopes = [np.polyfit(shape.grid, shape.contribution, 1)[0] for shape in difference.columns[:2]]
    assert slopes == pytest.approx([10, -10], rel=0.01)
    assert difference.share < 0.002


def test_fewer_rows_than_functions_give_the_solution_of_least_total_variance(monkeypatch):
    """Inner products of rows take the place of those of functions; the oracle is the pseudo-inverse."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6))
    rows = draw_rows(X, np.arange(40) % 2 == 0, None, 0)
    basis = AdditiveFeatures(max_features=90).fit(X)
    scores = rng.standard_normal(40)
    monkeypatch.setattr("vrspam.inspection.projection.NEARLY_TIED", 0.0)  # no direction is left out
    projection = Projection(basis, rows, scores)
    assert projection._gram is None
    white = projection.solve((rows.weights * scores)[:, np.newaxis])[0][:, 0]
    F = basis.transform(X)
    F = (F - F.mean(axis=0)) / np.sqrt(40)
    blocks = []
    for where in basis.column_slices_:
        u, sizes, _ = np.linalg.svd(F[:, where], full_matrices=False)
        blocks.append(u[:, sizes > 1e-4 * sizes[0]])  # orthonormal functions of the column
    expected = np.linalg.pinv(np.hstack(blocks), rcond=1e-3) @ ((scores - scores.mean()) / np.sqrt(40))
    assert np.linalg.norm(white) == pytest.approx(np.linalg.norm(expected), rel=1e-6)
    stops = np.cumsum([block.shape[1] for block in blocks])[:-1]
    for where, part in zip(projection.white_slices, np.split(expected, stops), strict=True):
        assert np.linalg.norm(white[where]) == pytest.approx(np.linalg.norm(part), rel=1e-5)


def test_blocks_of_the_design_give_the_same(monkeypatch):
    X, positive = gaussians(1200, 0.3)

    def score(X):
        return X[:, 0] * X[:, 1] + X[:, 2] ** 2

    whole = reading_of(score, X, positive)
    monkeypatch.setattr("vrspam.tables.frames.BLOCK_ENTRIES", 1)
    again = reading_of(score, X, positive)
    for one, two in zip(whole.columns, again.columns, strict=True):
        np.testing.assert_allclose(one.contribution, two.contribution, atol=1e-9)
        np.testing.assert_allclose(one.low, two.low, atol=1e-9)
    np.testing.assert_allclose(whole.effects, again.effects, atol=1e-9)


def test_straight_lines_and_sums_of_curves_are_read_as_they_are():
    X, y = make_data(400, 3)
    X[0, 0] = 12.0  # far beyond three deviations, where additive features are clipped
    plain = AUCClassifierCV([1e-2], cv=3).fit(X, y)
    lines = AUCClassifierCV([1e-2], features=StandardScaler(), cv=3).fit(X, y)
    slopes = {"plain": plain.coef_[0], "scaled": lines.coef_[0] / X.std(axis=0)}
    centre = (X[y == y.min()].mean(axis=0) + X[y == y.max()].mean(axis=0)) / 2
    for model, slope in zip((plain, lines), slopes.values(), strict=True):
        assert list(model.shape_functions_) == ["x0", "x1", "x2"]
        for j, shape in enumerate(model.shape_functions_.values()):
            assert shape.grid[[0, -1]] == pytest.approx([X[:, j].min(), X[:, j].max()])
            np.testing.assert_allclose(shape.contribution, slope[j] * (shape.grid - centre[j]), atol=1e-6)
            assert (shape.low <= shape.contribution).all()
    assert lines.importances_["interactions"] < 1e-6
    assert list(plain.importances_) == ["x0", "x1", "x2"]
    new = X[:1] + 20.0  # a line goes on outside the values seen
    assert plain.shape_functions_["x1"].parts(new, 1)[0] == pytest.approx(plain.explain_one(new)["x1"])
    curved = AUCClassifierCV([1e-2], features="additive", cv=3).fit(X, y)
    centred = curved.decision_function(X) - curved.baseline_
    np.testing.assert_allclose(parts_of(curved, X).sum(axis=1), centred, atol=1e-9)


def test_a_score_of_single_columns_by_another_package_is_read_without_interactions():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 3))
    y = np.abs(X[:, 0]) + 0.3 * rng.standard_normal(800) > 1
    spread = make_pipeline(StandardScaler(), FunctionTransformer(lambda Z: np.hstack([Z, np.tanh(Z), np.abs(Z)])))
    model = AUCClassifierCV([1e-3], features=spread, cv=3).fit(X, y)
    assert list(model.explain_one(X[0])) == ["x0", "x1", "x2", "interactions", "baseline"]
    assert model.interactions_share_ < 0.02
    assert model.interactions_ == {}
    curve = model.shape_functions_["x0"]
    at = np.interp([-1.5, 0.0, 1.5], curve.grid, curve.contribution)
    assert at[0] > at[1] + 0.3 < at[2] + 0.6


@pytest.mark.parametrize("container", ["pandas", "polars", "arrow", "array", "sparse"])
def test_every_container_gives_the_same_reading(container):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    y = X[:, 0] * X[:, 1] > 0
    names = list("abc")
    given = {
        "pandas": lambda: pd.DataFrame(X, columns=names, index=np.arange(300)[::-1]),
        "polars": lambda: pl.DataFrame(X, schema=names),
        "arrow": lambda: pa.table(dict(zip(names, X.T, strict=True))),
        "array": lambda: X,
        "sparse": lambda: sparse.csr_array(X),
    }[container]()
    make = AUCClassifierCV([1e-3], features=KernelFeatures(n_landmarks=40, random_state=0), cv=3, random_state=0)
    expected = make.fit(X, y)
    shares, effects = list(expected.interactions_.values()), expected.feature_importances_
    model = make.fit(given, y)
    assert list(model.interactions_.values()) == pytest.approx(shares)
    np.testing.assert_allclose(model.feature_importances_, effects, rtol=1e-6)


def test_mixed_rows_take_each_column_from_its_own_rows():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["x", None, "z"]}, index=[5, 5, 7])
    rows = np.array([[2, 0], [0, 1]])
    for given in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame, preserve_index=False)):
        mixed = rows_of(given, rows)
        columns = mixed if isinstance(mixed, pd.DataFrame) else mixed.to_pandas()
        assert columns["a"].tolist() == [3.0, 1.0]
        assert [None if pd.isna(value) else value for value in columns["b"]] == ["x", None]
    dense = np.array([[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]])
    assert rows_of(dense, rows).tolist() == rows_of(sparse.csr_array(dense), rows).tolist() == [[3, 4], [1, 5]]


@pytest.mark.parametrize(("positives", "taken"), [(300, (700, 300)), (2000, (500, 500)), (4900, (900, 100))])
def test_rows_are_drawn_from_both_classes(positives, taken):
    positive = np.arange(5000) < positives
    X = np.arange(5000.0)[:, np.newaxis]
    rows = draw_rows(X, positive, None, 0, most=1000)
    assert ((~rows.positive).sum(), rows.positive.sum()) == taken if positives < 4900 else taken[::-1]
    np.testing.assert_array_equal(rows.X[:, 0], rows.places)
    assert rows.weights[rows.positive].sum() == pytest.approx(0.5) == rows.weights[~rows.positive].sum()
    weights = np.where(np.arange(5000) % 2 == 0, 0.0, 2.0)
    assert (draw_rows(X, positive, weights, 0, most=1000).places % 2 == 1).all()


def test_bins_hold_every_row_once():
    rng = np.random.default_rng(0)
    values = np.round(rng.standard_normal(1000), 1)
    values[::10] = np.nan
    bins = bin_numbers(values, 6)
    assert bins.edges is not None
    assert bins.labels[-1] == "missing"
    assert len(bins.labels) == bins.edges.size
    for code in range(len(bins.labels) - 1):
        inside = values[bins.codes == code]
        assert (inside <= bins.edges[code + 1]).all()
        assert ((inside > bins.edges[code]) | (code == 0)).all()
    assert np.isnan(values[bins.codes == len(bins.labels) - 1]).all()
    few = bin_numbers(np.array([3.0, 1.0, 3.0]), 6)
    assert (few.labels, few.codes.tolist()) == (("1", "3"), [1, 0, 1])
    near = np.array([10117.0, 10119.0, 10121.0])
    assert bin_numbers(near, 4).labels == ("10117", "10119", "10121")
    assert bin_numbers(near, 2).labels == ("10117 to 10119", "10119 to 10121")
    named = bin_categories(np.array([0, 0, 1, 2, 3, -1, 4]), ("a", "b", "c", "d"), missing=True, most=2)
    assert (named.labels, named.codes.tolist()) == (("a", "others", "missing"), [0, 0, 1, 1, 1, 1, 2])


def test_rare_categories_are_read_as_the_category_that_they_are():
    """The reading of a grouped column is that of the column with its rare categories grouped by hand."""
    rng = np.random.default_rng(0)
    town, age = np.minimum(rng.geometric(0.15, 600), 30), rng.standard_normal(600)
    rare = np.isin(town, [key for key, _ in Counter(town.tolist()).most_common()[4:]])
    y = age * (1.0 + rare) + rare + rng.standard_normal(600) > 0.5
    own = pd.DataFrame({"age": age, "town": [f"t{number:02d}" for number in town]})
    hand = own.assign(town=own["town"].where(~rare, "z"))  # in the order of names the last, as the group is
    features = KernelFeatures(n_landmarks=40, max_categories=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CategoriesGrouped)
        found, expected = (AUCClassifierCV([0.1], features=features, random_state=0).fit(X, y) for X in (own, hand))
    np.testing.assert_allclose(found.decision_function(own), expected.decision_function(hand), atol=1e-9)
    assert found.explain_one(own[rare][:1]) == pytest.approx(expected.explain_one(hand[rare][:1]), abs=1e-9)
    new = own[:1].assign(town="a town that fit has not seen")
    assert found.explain_one(new)["town"] == pytest.approx(expected.explain_one(hand[rare][:1])["town"], abs=1e-9)
    shape, of_hand = found.shape_functions_["town"], expected.shape_functions_["town"]
    assert shape.grid.tolist() == [*of_hand.grid[:-1], "(rare)"]
    np.testing.assert_allclose(shape.mean_score, of_hand.mean_score, atol=1e-9)
    np.testing.assert_allclose(found.feature_importances_, expected.feature_importances_, atol=1e-9)


def test_means_near_a_value():
    rng = np.random.default_rng(0)
    values, weights = rng.random(20_000), rng.random(20_000)
    at = np.linspace(0.1, 0.9, 9)
    means, absent = mean_at_numbers(values, 3 * values, weights, at)
    np.testing.assert_allclose(means, 3 * at, atol=0.01)
    assert absent is None
    means, absent = mean_at_numbers(
        np.array([1.0, np.nan, 2.0, 2.0]), np.arange(4.0), np.array([1, 1, 1, 3.0]), at[:2] + 1
    )
    assert means[0] == pytest.approx(0.1 * (2 + 9) / 4)
    assert absent == 1.0
    assert np.isnan(mean_at_numbers(np.full(3, np.nan), np.ones(3), np.ones(3), at)[0]).all()


def test_both_classes_weigh_the_same():
    rows = draw_rows(np.zeros((3, 1)), np.array([True, False, False]), np.array([5.0, 1.0, 3.0]), 0)
    assert rows.weights.tolist() == [0.5, 0.125, 0.375]


def test_columns_are_selected_by_their_importances():
    """`SelectFromModel` would read `coef_`, which belongs to features of the map."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 5))
    y = X[:, 1] * X[:, 3] + 0.3 * rng.standard_normal(600) > 0
    model = AUCClassifierCV([1e-3], features=KernelFeatures(n_landmarks=100, random_state=0), cv=3)
    chosen = SelectFromModel(model, importance_getter="feature_importances_").fit(X, y)
    assert chosen.get_support().tolist() == [False, True, False, True, False]
    with pytest.raises(IndexError, match="boolean index did not match"):
        SelectFromModel(model).fit(X, y).transform(X)
    for features in ("linear", "additive", LinearFeatures()):
        lined = AUCClassifierCV([1e-2], features=features, cv=3).fit(X, y)
        sizes = np.array(list(lined.importances_.values()))
        np.testing.assert_allclose(lined.feature_importances_, sizes / sizes.sum())


@pytest.mark.parametrize("name", ["shape_functions_", "interactions_", "importances_", "feature_importances_"])
def test_nothing_is_read_before_fit(name):
    with pytest.raises(NotFittedError):
        getattr(AUCClassifierCV(), name)


def test_a_model_without_effects_has_no_importances():
    with pytest.warns(UserWarning, match="the classes have the same mean"):
        model = AUCClassifierCV(features="kernel").fit(np.ones((40, 2)), np.arange(40) % 2)
    assert model.feature_importances_.tolist() == [0.0, 0.0]
    assert model.interactions_ == {}
    assert all((shape.contribution == 0.0).all() for shape in model.shape_functions_.values())


@pytest.mark.parametrize("given", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_wide_tables_have_no_curves_and_say_so(given, monkeypatch):
    X, y = make_data(60, 5)
    for module in ("estimators.search", "inspection.reading"):
        monkeypatch.setattr(f"vrspam.{module}.MOST_COLUMNS", 4)
    model = AUCClassifierCV([0.1], cv=3).fit(given(X), y)
    for name in ("shape_functions_", "interactions_", "pair_effects_", "interactions_share_"):
        with pytest.raises(AttributeError, match=rf"no {name}: X has 5 columns.*at most 4.*coef_"):
            getattr(model, name)
    np.testing.assert_allclose(model.feature_importances_.sum(), 1.0)


def test_why_there_are_no_curves(monkeypatch):
    X, y = make_data(60, 5)
    with monkeypatch.context() as patched:
        patched.setattr("vrspam.inspection.reading.MAX_FEATURES", 4)
        model = AUCClassifierCV([0.1], features=StandardScaler(), cv=3).fit(X, y)
        with pytest.raises(AttributeError, match="X has 5 columns, and curves are made for at most 4"):
            model.shape_functions_  # noqa: B018
    dates = pd.DataFrame({"day": [datetime.date(2024, 1, 1 + i % 28) for i in range(60)], "a": X[:, 0]})
    ordinal = FunctionTransformer(lambda frame: np.stack([[d.toordinal() for d in frame["day"]], frame["a"]], axis=1))
    model = AUCClassifierCV([0.1], features=ordinal, cv=3).fit(dates, y)
    with pytest.raises(AttributeError, match=r"no shape_functions_: the columns have no curves .*dates"):
        model.shape_functions_  # noqa: B018
    with pytest.raises(AttributeError, match="no feature_importances_"):
        model.feature_importances_  # noqa: B018
    parts = model.explain_one(dates.iloc[[0]])
    names = ["feature0", "feature1"]
    assert list(model.importances_) == names
    assert list(parts) == (names if model.baseline_ == 0.0 else [*names, "baseline"])
    assert sum(parts.values()) == pytest.approx(model.decision_function(dates.iloc[[0]])[0])


def test_copies_of_columns_that_were_rounded_do_not_cancel():
    """Minutes and charges: each pair agrees but for rounding, and the score has interactions besides."""
    rng = np.random.default_rng(0)
    minutes = rng.gamma(9.0, 20.0, (3000, 4))
    X = np.hstack([minutes, np.round(0.17 * minutes, 2)])
    scaled = (minutes - minutes.mean(axis=0)) / minutes.std(axis=0)
    late = scaled[:, 0] + 0.8 * scaled[:, 1] * scaled[:, 2] + rng.standard_normal(3000) > 1.5
    model = AUCClassifierCV(features="kernel 1", random_state=0).fit(X, late)
    spread = model.decision_function(X).std()
    assert model.interactions_share_ > 0.1
    assert max(model.importances_.values()) < spread
    for j in range(4):
        one, other = model.shape_functions_[f"x{j}"], model.shape_functions_[f"x{j + 4}"]
        assert f"x{j + 4}" in one.together
        assert one.importance == pytest.approx(other.importance, rel=0.05, abs=0.02 * spread)


def test_pairs_too_weak_to_matter_are_not_named(monkeypatch):
    """The truth is additive; what a kernel adds to it by its own shape is no finding."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 3))
    y = X[:, 0] + X[:, 1] + 3.0 * rng.standard_normal(3000) > 2.0
    found = []
    monkeypatch.setattr(column_pairs, "LEAST_SUPPORT", -np.inf)
    for least in (0.0, column_pairs.LEAST_SHARE):
        monkeypatch.setattr(column_pairs, "LEAST_SHARE", least)
        found.append(AUCClassifierCV([1e-2], features="kernel 1", random_state=0).fit(X, y).interactions_)
    assert len(found[0]) == 3
    assert found[1] == {}


def support_of(interaction, seed, odds):
    """By how much unseen rows support a function of two columns; `odds` are the log-odds of the labels."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((600, 2))
    rows = draw_rows(X, rng.random(600) < expit(odds(*X.T)), None, 0)
    unseen = np.arange(600)[:, np.newaxis] % FOLDS == np.arange(FOLDS)
    rest = np.repeat(interaction(*X.T)[:, np.newaxis], FOLDS, axis=1)
    additive = np.repeat(X.sum(axis=1, keepdims=True), FOLDS, axis=1)
    cells = Cells(bin_numbers(X[:, 0], 4), bin_numbers(X[:, 1], 4), rows.weights)
    return support(cells, rows, additive, rest, unseen)


@pytest.mark.parametrize("scale", [0.0, 1.0, 2.5])
def test_rows_without_an_interaction_support_none(scale):
    """The log-odds are additive; a score that saturates is no sum of curves, but tells nothing more."""
    for interaction in (lambda a, b: a * b, lambda a, b: np.tanh((1.0 + scale) * (a + b))):
        found = [support_of(interaction, seed, lambda a, b: scale * (a + b)) for seed in range(150)]
        assert abs(np.mean(found)) < 0.35  # its error is .09
        assert 0.8 < np.std(found) < 1.25
        assert np.mean(np.array(found) > column_pairs.LEAST_SUPPORT) <= 0.02


def test_rows_with_an_interaction_support_it_and_not_its_opposite():
    found = [support_of(lambda a, b: a * b, seed, lambda a, b: a + b + a * b) for seed in range(10)]
    opposite = [support_of(lambda a, b: -a * b, seed, lambda a, b: a + b + a * b) for seed in range(10)]
    assert np.mean(found) > 4.0
    np.testing.assert_allclose(opposite, np.negative(found))


@pytest.mark.parametrize("features", ["kernel 0.3", "trees 4"])
def test_pairs_of_an_additive_truth_are_seldom_named(features, monkeypatch):
    """Six columns that correlate by .7: before held-out rows were asked, most of these models named a pair."""
    named = {}
    for least in (column_pairs.LEAST_SUPPORT, -np.inf):
        monkeypatch.setattr(column_pairs, "LEAST_SUPPORT", least)
        named[least] = 0
        for seed in range(15):
            X, y = correlated_columns(seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # ends of the grid
                named[least] += bool(AUCClassifierCV(features=features, random_state=seed).fit(X, y).interactions_)
    assert named[-np.inf] >= 6
    assert named[3.0] <= 2


def correlated_columns(seed):
    rng = np.random.default_rng(seed)
    X = np.sqrt(0.7) * rng.standard_normal((300, 1)) + np.sqrt(0.3) * rng.standard_normal((300, 6))
    return X, rng.random(300) < expit(1.2 * X[:, 0] + np.abs(X[:, 1]) - 0.8 * X[:, 2] - 1.0)


def test_bands_hold_on_the_scale_of_the_score():
    """Slopes and bands over the spread of the score, against their mean over all sets."""
    found = []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((200, 4))
        y = rng.random(200) < expit(X[:, 0] + 0.5 * X[:, 1] - 0.5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # ends of the grid
            model = AUCClassifierCV(features="standardized", random_state=0).fit(X, y)
        for shape in model.shape_functions_.values():
            ends = np.array([np.interp(1.0, shape.grid, part) for part in (shape.contribution, shape.low, shape.high)])
            found.append(ends / model.decision_function(X).std())
    value, low, high = np.moveaxis(np.reshape(found, (120, 4, 3)), -1, 0)
    truth = value.mean(axis=0)
    assert 0.92 <= np.mean((low <= truth) & (truth <= high)) <= 0.98
