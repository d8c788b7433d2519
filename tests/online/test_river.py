"""`RiverAUC` against the estimators on the same rows as a matrix, and under river's own checks."""

import copy
import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from helpers import make_data

from vrspam import AUCClassifier, OPAUCClassifier, SOLAMClassifier, SPAMClassifier

river = pytest.importorskip("river")
from river import checks, compose, evaluate, linear_model, metrics, preprocessing  # noqa: E402

from vrspam import online  # noqa: E402
from vrspam.online import RiverAUC  # noqa: E402

NAMES = list("abcdef")


@pytest.fixture
def data():
    X, y = make_data(160, 6, seed=3)
    return X, y.astype(bool)


def rows_of(X, names=NAMES):
    return [dict(zip(names, row.tolist(), strict=True)) for row in X]


def learned(model, X, y):
    for x, label in zip(rows_of(X), y.tolist(), strict=True):
        model.learn_one(x, label)
    return model


def coefficients(model):
    found = model.weights
    return np.array([found[name] for name in NAMES])


@pytest.mark.parametrize(
    "model", [RiverAUC(l1=0.01, half_life=400.0), RiverAUC("spam"), RiverAUC("solam"), RiverAUC("opauc", sketch=3)]
)
def test_river_checks(model):
    """All of them: there are no expected failures."""
    assert model._unit_test_skips() == set()
    checks.check_estimator(model)


@pytest.mark.parametrize("half_life", [None, 40.0])
@pytest.mark.parametrize("l1", [0.0, 0.01])
def test_the_coefficients_are_those_of_the_exact_fit(data, half_life, l1):
    X, y = data
    weights = None if half_life is None else 2.0 ** (-np.arange(len(y) - 1.0, -1.0, -1.0) / half_life)
    expected = AUCClassifier(l1=l1, tol=1e-12).fit(X, y, sample_weight=weights)
    model = learned(RiverAUC(l1=l1, half_life=half_life, tol=1e-12), X, y)
    np.testing.assert_allclose(coefficients(model), expected.coef_[0], rtol=1e-6, atol=1e-9)
    assert 0.0 <= model.gap <= 1e-12
    frame = pd.DataFrame(X, columns=NAMES)
    batches = RiverAUC(l1=l1, half_life=half_life, tol=1e-12)
    for start, stop in ((0, 90), (90, 91), (91, 160)):
        batches.learn_many(frame[start:stop], pd.Series(y[start:stop]))
    np.testing.assert_allclose(coefficients(batches), coefficients(model), rtol=1e-6, atol=1e-9)


def emerging(X):
    """Columns e and f are 0 before row 70, and their keys missing; column a is missing after row 100."""
    X = X.copy()
    X[:70, 4:] = 0.0
    X[100:, 0] = 0.0
    rows = rows_of(X)
    for number, row in enumerate(rows):
        for name in ("e", "f") if number < 70 else ("a",) if number >= 100 else ():
            del row[name]
    return X, rows


@pytest.mark.parametrize("name", ["moments", "forgetting", "spam", "solam", "opauc", "sketch"])
def test_missing_keys_are_zeros_and_new_keys_were_zero_before(data, name, monkeypatch):
    """The same as all columns from the beginning; a given l2 and step do not depend on their number."""
    monkeypatch.setattr(online, "BUFFERED_ROWS", 16)
    X, rows = emerging(data[0])
    y = data[1]
    kind = "moments" if name == "forgetting" else "opauc" if name == "sketch" else name
    steps: dict[str, Any] = {} if kind == "moments" else {"step_size": 0.02}
    options: dict[str, dict[str, Any]] = {"forgetting": {"half_life": 40.0}, "sketch": {"sketch": 3}}
    more = options.get(name, {})
    gone, whole = RiverAUC(kind, l2=0.1, **steps, **more), RiverAUC(kind, l2=0.1, **steps, **more)
    for row, full, label in zip(rows, rows_of(X), y.tolist(), strict=True):
        gone.learn_one(row, label)
        whole.learn_one(full, label)
    np.testing.assert_allclose(coefficients(gone), coefficients(whole), rtol=1e-9, atol=1e-12)
    for row, full in zip(rows[:90:9], rows_of(X)[:90:9], strict=True):
        assert gone.predict_proba_one(row)[True] == pytest.approx(whole.predict_proba_one(full)[True], rel=1e-9)
    assert gone.predict_proba_one(rows[0] | {"never seen": 7.0}) == gone.predict_proba_one(rows[0])


@pytest.mark.parametrize(
    ("model", "estimator"),
    [
        (RiverAUC("spam", l1=0.01), SPAMClassifier(l1=0.01)),
        (RiverAUC("spam", l2=0.1, step_size=0.01), SPAMClassifier(l2=0.1, step_size=0.01)),
        (RiverAUC("solam"), SOLAMClassifier()),
        (RiverAUC("opauc"), OPAUCClassifier()),
        (RiverAUC("opauc", sketch=3), OPAUCClassifier(sketch=3)),
    ],
)
def test_stochastic_methods_take_the_steps_of_their_estimators(data, model, estimator):
    X, y = data
    model = learned(model.clone(), X, y)
    np.testing.assert_allclose(coefficients(model), estimator.partial_fit(X, y).coef_[0], rtol=1e-12)
    assert model.gap is None


def test_probabilities_are_those_of_normal_scores_with_one_variance(data):
    X, y = data
    model = learned(RiverAUC(), X, y)
    scores = X @ coefficients(model)
    low, high = scores[~y].mean(), scores[y].mean()
    squares = ((scores[y] - high) ** 2).sum() + ((scores[~y] - low) ** 2).sum()
    variance = squares / y.size + (high - low) ** 2 / y.size
    odds = y.sum() / (~y).sum() * np.exp((high - low) / variance * (scores - (low + high) / 2))
    found = np.array([model.predict_proba_one(x)[True] for x in rows_of(X)])
    np.testing.assert_allclose(found, odds / (1 + odds), rtol=1e-8)
    many = model.predict_proba_many(pd.DataFrame(X, columns=NAMES, index=range(5, 165)))
    assert many.columns.tolist() == [False, True]
    assert many.index[0] == 5
    np.testing.assert_allclose(many[True], found, rtol=1e-12)
    labels = model.predict_many(pl.DataFrame(X, schema=NAMES))
    assert labels.to_list() == (found > 0.5).tolist() == [model.predict_one(x) for x in rows_of(X)]


@pytest.mark.parametrize("method", ["spam", "solam", "opauc"])
def test_probabilities_of_steps_rank_as_the_scores_do(data, method):
    X, y = data
    model = learned(RiverAUC(method), X, y)
    found = np.array([model.predict_proba_one(x)[True] for x in rows_of(X)])
    order = np.argsort(X @ coefficients(model))
    assert (np.diff(found[order]) >= 0.0).all()
    assert 0.05 < found.mean() < 0.6  # about the share of positives, 0.3


def test_before_both_classes_have_come(data):
    X, _ = data
    model, x = RiverAUC(), rows_of(X)[0]
    assert model.predict_proba_one(x) == {False: 0.5, True: 0.5}
    assert model.weights == {}
    for _ in range(3):
        model.learn_one(x, False)
    assert model.predict_proba_one(x) == {False: 0.8, True: 0.2}
    model.learn_one({}, True)
    assert model.predict_proba_one(x)[True] < model.predict_proba_one({})[True]


def test_rows_without_keys_come_first():
    for method in ("moments", "spam", "solam", "opauc"):
        model = RiverAUC(method)
        model.learn_one({}, True)
        model.learn_one({}, False)
        assert model.predict_proba_one({})[True] == pytest.approx(0.5)
        model.learn_one({"a": 2.0}, True)
        assert set(model.weights) == {"a"}


def counted(monkeypatch):
    calls = []
    real = online.solve

    def counting(*arguments, **parameters):
        calls.append(1)
        return real(*arguments, **parameters)

    monkeypatch.setattr(online, "solve", counting)
    return calls


def test_learning_never_solves_and_predictions_solve_when_enough_is_new(data, monkeypatch):
    X, y = data
    calls = counted(monkeypatch)
    model = learned(RiverAUC(refresh=0.1), X, y)
    assert not calls
    x = rows_of(X)[0]
    for _ in range(3):
        model.predict_proba_one(x)
    assert len(calls) == 1
    before = model.weights
    for _ in range(17):  # 17 of 177 rows are less than 10 %
        model.learn_one(x, True)
    assert model.weights == before
    model.learn_one(x, True)
    assert model.weights != before
    assert len(calls) == 2
    each = RiverAUC(refresh=0.0)
    for x, label in zip(rows_of(X)[:30], y.tolist(), strict=False):
        each.predict_proba_one(x)
        each.learn_one(x, label)
    assert len(calls) > 20


def test_a_forgotten_class_leaves_the_last_solution(data):
    X, y = data
    model = learned(RiverAUC(half_life=1.0, refresh=0.0), X, y)
    before = model.weights
    for x in rows_of(X)[:5] * 120:
        model.learn_one(x, False)
    assert model.weights.keys() == before.keys()
    assert 0.0 <= model.predict_proba_one(x)[True] <= 1.0


def test_in_a_pipeline_of_river(data):
    """It ranks the next row better than river's logistic regression, and `clone` begins again."""
    X, y = data
    stream = list(zip(rows_of(X), y.tolist(), strict=True)) * 3
    model = preprocessing.StandardScaler() | RiverAUC()
    found = evaluate.progressive_val_score(stream, model, metrics.RollingROCAUC(len(stream))).get()
    peer = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    assert found > evaluate.progressive_val_score(stream, peer, metrics.RollingROCAUC(len(stream))).get()
    assert isinstance(model, compose.Pipeline)
    assert model.clone()["RiverAUC"].weights == {}


def test_refusals(data):
    X, y = data
    x = rows_of(X)[0]
    model = RiverAUC()
    for value, words in (("red", "is 'red', not a number"), (None, "not a number"), (math.nan, "NaN or infinite")):
        fresh = copy.deepcopy(model)
        with pytest.raises(ValueError, match=words):
            fresh.learn_one(x | {"b": value}, True)
        assert fresh.weights == {}
        assert fresh._columns == {}
    with pytest.raises(ValueError, match="labels True and False"):
        model.learn_one(x, "yes")
    frame = pd.DataFrame(X, columns=NAMES)
    with pytest.raises(ValueError, match="Column 'c' holds NaN"):
        model.learn_many(frame.assign(c=np.nan), pd.Series(y))
    with pytest.raises(ValueError, match="not numeric"):
        model.learn_many(frame.assign(c="x"), pd.Series(y))
    for wrong, words in (
        ({"method": "sgd"}, "method must be one of"),
        ({"method": "spam", "half_life": 5.0}, "half_life has no effect"),
        ({"method": "opauc", "l1": 0.1}, "l1 has no effect"),
        ({"step_size": 0.1}, "step_size has no effect"),
        ({"sketch": 3}, "sketch has no effect"),
        ({"l2": -1.0}, "l2 must be"),
        ({"method": "spam", "step_size": 0.0}, "step_size must be"),
        ({"refresh": -1.0}, "refresh must be"),
        ({"half_life": 0.0}, "half_life must be a positive"),
        ({"method": "spam", "refresh": 0.1}, "refresh has no effect"),
        ({"method": "solam", "tol": 1e-4}, "tol has no effect"),
        ({"method": "opauc", "sketch": 0}, "sketch must be a positive integer or None, got 0"),
        ({"method": "opauc", "sketch": -1}, "sketch must be a positive integer"),
        ({"method": "opauc", "sketch": 2.5}, "sketch must be a positive integer"),
        ({"l1": "auto"}, "l1 must be a non-negative number, got 'auto'"),
    ):
        with pytest.raises(ValueError, match=words):
            RiverAUC(**wrong)
