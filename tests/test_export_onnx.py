"""Exported ONNX graphs, run by onnxruntime, give the labels, scores and probabilities of the models themselves."""

from __future__ import annotations

import warnings
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers import ESTIMATORS
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler

from vrspam import AUCClassifier, AUCClassifierCV
from vrspam.features import StackedFeatures, TreeFeatures

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")

from vrspam.export import NotExportable, scorer_of, to_onnx  # noqa: E402

SINGLE, DOUBLE = 1e-5, 1e-12  # of the spread of the scores
MAPS = ("standardized", "additive", "kernel 1", "kernel alone 0.3", "trees 4", ["additive", "kernel 3", "trees 2"])
NAT = np.iinfo(np.int64).min


def session_of(model: Any, dtype: str = "float64", **session: Any) -> Any:
    graph = to_onnx(model, dtype=dtype)
    assert {node.domain for node in graph.graph.node} <= {"", "ai.onnx.ml"}
    assert [one.name for one in graph.graph.output] == ["label", "score", "probability"]
    return ort.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"], **session)


def feeds_of(session: Any, X: Any) -> dict[str, np.ndarray]:
    """The inputs of a session from a frame or an array, as the documentation says."""
    kinds = {"tensor(float)": np.float32, "tensor(double)": np.float64}
    if isinstance(X, np.ndarray):
        (one,) = session.get_inputs()
        return {one.name: X.astype(kinds[one.type])}
    found = {}
    for one in session.get_inputs():
        assert one.shape[1] == 1
        column = X[one.name.removeprefix("column ")]
        if one.type == "tensor(string)":
            values = np.array(["" if pd.isna(value) else str(value) for value in column], dtype=object)
        elif one.type == "tensor(int64)":
            values = column.to_numpy().astype("datetime64[us]").astype(np.int64)
        else:
            values = column.to_numpy(dtype=np.float64, na_value=np.nan).astype(kinds[one.type])
        found[one.name] = values[:, np.newaxis]
    return found


def beyond_rounding(model: Any, X: Any) -> np.ndarray:
    """Rows of an array that no tree's threshold separates from their own values in float32."""
    maps = [model.features_] if not isinstance(model.features_, StackedFeatures) else model.features_.maps_
    same = np.ones(len(X), dtype=bool)
    for part in maps:
        if isinstance(part, TreeFeatures):
            same &= (part._codes(X)[0] == part._codes(X.astype(np.float32))[0]).all(axis=1)
    return same


def check(model: Any, X: Any, dtype: str, compared: np.ndarray | None = None, feeds: Any = None) -> None:
    session = session_of(model, dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of values that training did not have
        expected, labels = model.decision_function(X), model.predict(X)
        calibrated = getattr(model, "calibration_", None) is not None
        probabilities = model.predict_proba(X)[:, 1] if calibrated else np.full(len(X), np.nan)
    label, score, probability = session.run(None, feeds_of(session, X) if feeds is None else feeds)
    kind = np.float32 if dtype == "float32" else np.float64
    assert score.dtype == probability.dtype == kind
    assert score.shape == label.shape == probability.shape == expected.shape
    rows = slice(None) if compared is None else compared
    allowed = SINGLE if dtype == "float32" else DOUBLE
    scale = float(np.std(expected)) or 1.0
    assert np.abs(score - expected)[rows].max() <= allowed * scale
    np.testing.assert_allclose(probability[rows], probabilities[rows], atol=allowed * 10)
    clear = np.abs(expected) > allowed * scale
    clear[rows if compared is None else ~compared] &= compared is None
    assert (label[clear] == labels[clear]).all()


def numbers(n: int = 400, seed: int = 0, missing: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    X[:, 1] = np.exp(2.0 * X[:, 1])
    X[:, 2] = np.round(2.0 * X[:, 2])
    X[:, 4] = 0.1
    y = X[:, 0] * np.log(X[:, 1]) + 0.5 * X[:, 2] + rng.standard_normal(n) > 0.5
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


def fitted(X: Any, y: Any, features: Any = "linear", **parameters: Any) -> AUCClassifierCV:
    selection = "blend" if isinstance(features, list) else "best"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return AUCClassifierCV(
            features=features, cv=2, selection=selection, random_state=0, **parameters
        ).fit(X, y)


@pytest.fixture(scope="module", params=MAPS, ids=str)
def of_numbers(request):
    X, y = numbers()
    return fitted(X, np.where(y, "yes", "no"), request.param), numbers(300, seed=1)[0]


def test_scores_of_every_map_in_double(of_numbers):
    check(*of_numbers, "float64")


def test_scores_of_every_map_in_single(of_numbers):
    model, X = of_numbers
    same = beyond_rounding(model, X)
    assert same.mean() > 0.99
    check(model, X, "float32", same)


def test_any_number_of_rows(of_numbers):
    model, X = of_numbers
    session = session_of(model)
    whole = session.run(["score"], feeds_of(session, X))[0]
    for rows in (1, 7):
        few = session.run(["score"], feeds_of(session, X[:rows]))[0]
        np.testing.assert_allclose(few, whole[:rows], rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
def test_every_estimator(estimator, dtype):
    X, y = numbers(200, missing=0.0)
    X[:, 1] = np.log(X[:, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = estimator.fit(X, y.astype(int))
    check(model, X, dtype)


@pytest.mark.parametrize("features", ["linear", "standardized", "additive", "kernel 1"])
def test_large_numbers_of_small_spread_keep_their_digits(features):
    X, y = numbers(missing=0.0)
    X = X[:, [0, 2]] + [1_000.0, 1e8]
    model = fitted(X, y, features)
    check(model, X, "float32")
    if features != "linear":  # whose own scores are sums that cancel
        check(model, X, "float64")


@pytest.mark.parametrize("classes", [(-1, 1), ("b", "a"), (False, True), (0.0, 1.0), (0.5, 2.5)], ids=str)
def test_labels_have_the_type_of_the_classes(classes):
    X, y = numbers(100, missing=0.0)
    model = AUCClassifier().fit(X, np.where(y, classes[1], classes[0]))
    session = session_of(model)
    label, score, probability = session.run(None, feeds_of(session, X))
    assert np.isnan(probability).all()
    assert (label == model.predict(X)).all()
    kinds = {str: "O", bool: "b", int: "i", float: "f" if classes[0] == 0.5 else "i"}
    assert label.dtype.kind == kinds[type(classes[0])]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_isotonic_probabilities(dtype):
    X, y = numbers()
    check(fitted(X, y, "additive", calibration="isotonic"), numbers(seed=2)[0], dtype)


def test_an_isotonic_calibration_that_never_reaches_a_half():
    X, y = numbers(300, missing=0.0)
    y = np.random.default_rng(0).random(300) < 0.1
    model = fitted(X, y, calibration="isotonic")
    model.calibration_ = type(model.calibration_)(model.calibration_.scores, model.calibration_.probabilities / 3.0)
    model.intercept_, model.baseline_ = model.intercept_ - model.baseline_, 0.0
    session = session_of(model)
    assert (session.run(["label"], feeds_of(session, X))[0] == model.predict(X)).all()
    assert not model.predict(X).any()


def test_a_transformer_of_another_package_is_refused_with_the_reason():
    X, y = numbers(100, missing=0.0)
    with pytest.raises(NotExportable, match="StandardScaler, which is not a map of vrspam.features: put it into a"):
        to_onnx(fitted(X, y, StandardScaler()))
    with pytest.raises(NotExportable, match="StandardScaler is not an estimator of this package"):
        to_onnx(StandardScaler())
    with pytest.raises(ValueError, match="dtype is 'half', but must be 'float32' or 'float64'"):
        to_onnx(AUCClassifier().fit(X, y), dtype="half")
