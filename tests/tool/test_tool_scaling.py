"""Standardisation of encoded rows, computed from their moments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from vrspam import ClassMoments
from vrspam.checks.coded import CodedColumns
from vrspam.checks.leak import Leak
from vrspam.checks.seen import Seen
from vrspam.data import Schema
from vrspam.data.table import Origin, Table
from vrspam.features import AdditiveFeatures, LinearFeatures
from vrspam.model_selection.hashing import HashFolds
from vrspam.moments.class_moments import spread
from vrspam.tool.plan import TrainPlan
from vrspam.tool.scaling import Scaling
from vrspam.tool.score_parts import undo_linear_map


def test_spread_is_that_of_all_rows_and_a_constant_column_has_none():
    """The rounding error of a mean must not count as spread: coefficients are divided by the spread."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        n, constant = int(rng.integers(20, 200)), float(rng.uniform(0.1, 1e3))
        X = np.column_stack([rng.normal(5.0, 2.0, n), np.full(n, constant)])
        y, weights = rng.integers(0, 2, n), rng.uniform(0.1, 2.0, n)
        moments = ClassMoments()
        for start in range(0, n, 7):
            moments.update(X[start : start + 7], y[start : start + 7], weights[start : start + 7])
        mean, deviation = spread(moments)
        np.testing.assert_allclose(mean, np.average(X, axis=0, weights=weights), rtol=1e-12)
        assert np.isclose(deviation[0] ** 2, np.cov(X[:, 0], aweights=weights, ddof=0), rtol=1e-10)
        assert deviation[1] == 0.0
        assert Scaling.of(moments, is_sparse=False).deviations[1] == 1.0


def test_the_order_of_a_sum_moves_no_row_to_another_fold():
    """Folds of a stream go by the bits of standardised rows, and processors add up rows in different orders."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(5.0, 2.0, (500, 6)), np.arange(500) % 2
    scalings, sums = [], []
    for order in (np.arange(500), np.arange(500)[::-1], rng.permutation(500)):
        moments = ClassMoments()
        for rows in np.array_split(order, 7):
            moments.update(X[rows], y[rows])
        sums.append(np.stack(spread(moments)))
        scalings.append(Scaling.of(moments, is_sparse=False)(X))
    assert not np.array_equal(sums[0], sums[1])  # what is rounded differs in its last bits
    assert all(np.array_equal(HashFolds(5).fold_of(scaled), HashFolds(5).fold_of(scalings[0])) for scaled in scalings)
    np.testing.assert_allclose(scalings[0], StandardScaler().fit_transform(X), atol=1e-11)


def test_a_scorer_of_standard_scores_is_one_of_the_columns():
    rng = np.random.default_rng(1)
    X = rng.normal([5.0, -300.0, 0.0], [2.0, 40.0, 1e-3], (50, 3))
    features, coef = LinearFeatures().fit(X), np.array([1.0, -2.0, 0.5])
    undone = undo_linear_map(features, [], coef, 0.7, features.transform(X[:2]), np.ones(3))
    assert undone is not None
    slopes, intercept = undone.coef, undone.intercept
    np.testing.assert_allclose(slopes, coef / X.std(axis=0), rtol=1e-9)
    np.testing.assert_allclose(X @ slopes + intercept, StandardScaler().fit_transform(X) @ coef + 0.7, atol=1e-9)
    np.testing.assert_allclose(undone.deviations, X.std(axis=0), rtol=1e-9)


def test_categories_and_constants_of_a_plain_linear_map():
    frame = pd.DataFrame({"a": [1.0, 3.0, 5.0], "b": [2.0] * 3, "town": ["x", "y", "x"]})
    features = LinearFeatures().fit(frame)
    encoded = np.array([[1.0, 2.0, 1, 0], [3.0, 2.0, 0, 1], [5.0, 2.0, 1, 0]])
    for j, coef in enumerate(np.eye(4)):
        undone = undo_linear_map(features, [("x", "y")], coef, 0.0, features.transform(frame), np.ones(4))
        assert undone is not None
        column = encoded @ undone.coef + undone.intercept
        np.testing.assert_allclose(column, features.transform(frame)[:, j], atol=1e-12)
        np.testing.assert_allclose(undone.means, encoded, atol=1e-12)
    given = np.ones(4), 0.0, features.transform(frame), np.ones(4)
    assert undo_linear_map(features, [("y", "x")], *given) is None  # the coefficients would get the wrong names
    assert undo_linear_map(features, [("x",)], *given) is None


def test_a_map_with_indicators_of_gaps_is_not_linear():
    X = np.arange(12.0).reshape(6, 2)
    parts: Any = ([], np.ones(2), 0.0, np.zeros((2, 2)), np.ones(2))
    assert undo_linear_map(LinearFeatures().fit(X), *parts) is not None
    assert undo_linear_map(AdditiveFeatures().fit(X), *parts) is None
    X[2, 1] = np.nan
    assert undo_linear_map(LinearFeatures().fit(X), *parts) is None


def test_gaps_are_counted_and_filled_by_column():
    X = np.array([[np.nan, 0.0, 1.0], [np.nan, np.nan, 0.0], [3.0, 0.0, 0.0]])
    schema = Schema(("a", "b", "c"), {"town": ("x", "y")}, fill=(7.0, 8.0, 9.0))
    table = pa.table({"a": [None, float("nan"), 3.0], "b": [0.0, None, 0.0], "c": X[:, 2], "town": ["x", None, "y"]})
    for rows, known in ((X, Schema(("a", "b", "c"))), (table, schema)):
        codes = CodedColumns.of(rows, np.array([True, False, True]), known, {}).codes
        missing = {name: int((column < 0).sum()) for name, column in codes.items()}
        assert missing == {"a": 2, "b": 1, "c": 0, **({"town": 1} if rows is table else {})}
    expected = [[7.0, 0.0, 1.0, 1.0, 0.0], [7.0, 8.0, 0.0, 0.0, 0.0], [3.0, 0.0, 0.0, 0.0, 1.0]]
    np.testing.assert_array_equal(schema.encode(table), expected)
    np.testing.assert_array_equal(schema.encode(table, sparse=True).toarray(), expected)
    plain = Schema(("a", "b", "c"), fill=schema.fill)
    np.testing.assert_array_equal(plain.encode(X), np.array(expected)[:, :3])
    assert np.isnan(X).sum() == 3


@pytest.mark.parametrize("kind", ["table", "array", "sparse"])
@pytest.mark.parametrize("width", [6, 1200])  # of more than 1,000 columns, those furthest apart are looked at
def test_a_column_that_knows_the_answer_is_named(kind, width):
    rng = np.random.default_rng(0)
    X, positive = rng.random((200, width)), np.arange(200) % 3 == 0
    X[:, 4] = np.where(positive, -1.0, 1.0) + rng.random(200) / 2
    names = tuple(f"c{j}" for j in range(width))
    schema = Schema(names, fill=(0.5,) * width)
    rows = X.copy()
    if kind == "sparse":
        rows, schema = sparse.csr_array(X), Schema(fill=(0.0,), width=width)
    else:
        rows[::7, 2] = np.nan
    if kind == "table":
        rows = pa.table({name: pa.array(rows[:, j], from_pandas=True) for j, name in enumerate(names)})
    leaks = []
    for labels in (positive, np.roll(positive, 1)):
        table = Table(rows, schema, labels, origin=Origin(has_names=kind == "table"))
        leaks.append(list(Leak().look(Seen(table, TrainPlan("y", groups="none")))))
    assert [one.columns for one in leaks[0]] == [(schema.columns[4],)]
    assert "(AUC 1.000)" in leaks[0][0]
    assert leaks[0][0].severity == "severe"
    assert leaks[1] == []
