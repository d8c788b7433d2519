"""Exported ONNX graphs, run by onnxruntime, give the labels, scores and probabilities of the models themselves."""

from __future__ import annotations

import warnings
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest
from exported import columns_of_file, onnx_feeds, scores_of_file
from helpers import ESTIMATORS
from hypothesis import given, settings
from hypothesis import strategies as st
from messy_files import MESSY
from sklearn.preprocessing import StandardScaler
from tool_data import patients, write, write_libsvm

from vrspam import AUCClassifier, AUCClassifierCV
from vrspam.features import AdditiveFeatures, LinearFeatures, StackedFeatures, TreeFeatures
from vrspam.features.encoders import places_of
from vrspam.features.parts import CurvePart, Parts
from vrspam.model.model import Model
from vrspam.model_selection.calibration import Isotonic
from vrspam.tables.schema import Schema
from vrspam.tool import load_model, save_model, score_file, train

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")

from vrspam.export import NotExportable, to_onnx  # noqa: E402

SINGLE, DOUBLE = 1e-5, 1e-12  # of the spread of the scores
MAPS = (
    *("standardized", "additive", "kernel 1", "kernel alone 0.3", "trees 4", "forest", "boosted"),
    ["additive", "kernel 3", "trees 2"],
)
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
            same &= (places_of(part.encoders_, X)[0] == places_of(part.encoders_, X.astype(np.float32))[0]).all(axis=1)
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
        return AUCClassifierCV(features=features, cv=2, selection=selection, random_state=0, **parameters).fit(X, y)


@pytest.fixture(scope="module", params=MAPS, ids=str)
def of_numbers(request):
    X, y = numbers()
    return fitted(X, np.where(y, "yes", "no"), request.param), numbers(300, seed=1)[0]


def test_scores_of_every_map_in_double(of_numbers):
    model, X = of_numbers
    check(model, X, "float64")


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


@pytest.mark.parametrize("features", ["standardized", "additive", "kernel 1"])
def test_large_numbers_of_small_spread_keep_their_digits(features):
    X, y = numbers(missing=0.0)
    X = X[:, [0, 2]] + [1_000.0, 1e8]
    model = fitted(X, y, features)
    check(model, X, "float64")


@pytest.mark.parametrize("classes", [(-1, 1), ("b", "a"), (False, True), (0.0, 1.0)], ids=str)
def test_labels_have_the_type_of_the_classes(classes):
    X, y = numbers(100, missing=0.0)
    model = AUCClassifier().fit(X, np.where(y, classes[1], classes[0]))
    session = session_of(model)
    label, _, probability = session.run(None, feeds_of(session, X))
    assert np.isnan(probability).all()
    assert (label == model.predict(X)).all()
    kinds = {str: "O", bool: "b", int: "i", float: "i"}
    assert label.dtype.kind == kinds[type(classes[0])]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_isotonic_probabilities(dtype):
    X, y = numbers()
    check(fitted(X, y, "additive", calibration="isotonic"), numbers(seed=2)[0], dtype)


def test_an_isotonic_calibration_that_never_reaches_a_half():
    X, y = numbers(300, missing=0.0)
    y = np.random.default_rng(0).random(300) < 0.1
    model = fitted(X, y, calibration="isotonic")
    assert isinstance(model.calibration_, Isotonic)
    model.calibration_ = Isotonic(model.calibration_.scores, model.calibration_.probabilities / 3.0)
    model.intercept_, model.baseline_ = model.intercept_ - model.baseline_, 0.0
    session = session_of(model)
    assert (session.run(["label"], feeds_of(session, X))[0] == model.predict(X)).all()
    assert not model.predict(X).any()


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6, unique=True),
    st.lists(st.floats(-1e7, 1e7), max_size=5),
    st.floats(-2.0, 2.0),
    st.floats(-2.0, 2.0),
)
@settings(max_examples=40, deadline=None)
def test_any_curve(nodes, others, left, right):
    nodes = np.sort(nodes)
    values = np.cos(np.arange(nodes.size))
    curve = CurvePart(nodes, values, left, right, missing=9.0)
    scorer = Model(Schema(numeric=("x",), labels=(0, 1)), 1, Parts((curve,)), 1.0)
    x = np.array([*nodes, *others, nodes.mean(), np.nan])
    expected = 1.0 + np.interp(x, nodes, values)
    expected += left * np.minimum(x - nodes[0], 0.0) + right * np.maximum(x - nodes[-1], 0.0)
    expected[-1] = 10.0
    session = session_of(scorer)
    found = session.run(["score"], {"x": x[:, np.newaxis]})[0]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_several_classes_are_refused():
    X, y = numbers(100, missing=0.0)
    model = AUCClassifier().fit(X, y)
    model.coef_ = np.vstack([model.coef_, model.coef_])
    with pytest.raises(NotExportable, match="has 2 scores for each row"):
        to_onnx(model)


def test_a_transformer_of_another_package_is_refused_with_the_reason():
    X, y = numbers(100, missing=0.0)
    with pytest.raises(NotExportable, match=r"StandardScaler, which is not a map of vrspam\.features: put it into a"):
        to_onnx(fitted(X, y, StandardScaler()))
    with pytest.raises(NotExportable, match="StandardScaler is not an estimator of this package"):
        to_onnx(StandardScaler())
    with pytest.raises(ValueError, match="dtype is 'half', but must be 'float32' or 'float64'"):
        to_onnx(AUCClassifier().fit(X, y), dtype="half")


# Tables: categories, missing values, dates, text that is numbers.


def table(n: int = 250, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    age = rng.normal(50.0, 12.0, n)
    town = rng.choice(["Graz", "Linz", "Köln"], n).astype(object)
    when = pd.Timestamp("1969-11-20 06:30:00") + pd.to_timedelta(rng.integers(0, 900 * 86_400, n), unit="s")
    income = np.round(np.exp(rng.normal(8.0, 1.0, n)), 2)
    y = 0.05 * age + (town == "Graz") + np.log(income) / 3.0 + 0.1 * when.month + rng.standard_normal(n) > 7.0
    many = np.array([f"street {i}" for i in range(60)])[rng.integers(0, 60, n)]
    frame = pd.DataFrame(
        {
            "patient": np.arange(n) + 1_000,
            "age": np.where(rng.random(n) < 0.1, np.nan, age),
            "score": rng.standard_normal(n),  # is called like an output
            "town": pd.Series(town).where(rng.random(n) > 0.1),
            "street": many,
            "when": when.where(rng.random(n) > 0.05),
            "income": [f"${value:,.2f}" for value in income],
            "smokes": rng.choice(np.array([True, False, None], dtype=object), n),
            "old": age > 60.0,
        }
    )
    return frame, y


def new_rows(n: int = 200) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows with what training did not have, as they are and with text that is numbers as numbers."""
    frame, _ = table(n, seed=1)
    frame.loc[3, "town"], frame.loc[4, "street"], frame.loc[5, "age"] = "Wien", "street 99", 1e6
    frame["when"] = frame["when"].where(frame.index != 6, pd.Timestamp("1890-02-28 23:59:59.999999"))
    frame.loc[7, "old"] = False
    plain = frame.copy()
    plain["income"] = plain["income"].str.replace("[$,]", "", regex=True).astype(float)
    return frame, plain


@pytest.fixture(scope="module", params=[*MAPS[:-1], ["additive", "kernel 1", "trees 2"]], ids=str)
def of_a_table(request):
    frame, y = table()
    return fitted(frame, np.where(y, "sick", "well"), request.param)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scores_of_tables(of_a_table, dtype):
    frame, plain = new_rows()
    session = session_of(of_a_table, dtype)
    names = [one.name for one in session.get_inputs()]
    assert names == ["age", "column score", "town", "street", "when", "income", "smokes", "old"]
    compared = None
    if dtype == "float32" and "TreeFeatures" in str(of_a_table.features_):
        read = of_a_table._table_schema.read(frame)[0]
        single = read.astype({name: np.float32 for name in ("age", "score", "income")})
        maps = getattr(of_a_table.features_, "maps_", [of_a_table.features_])
        compared = np.ones(len(frame), dtype=bool)
        for part in maps:
            if isinstance(part, TreeFeatures):
                compared &= (places_of(part.encoders_, read)[0] == places_of(part.encoders_, single)[0]).all(axis=1)
        assert compared.mean() > 0.99
    check(of_a_table, frame, dtype, compared, feeds_of(session, plain))


def test_what_inputs_take_is_said_in_the_graph(of_a_table):
    graph = to_onnx(of_a_table).graph
    notes = {one.name: one.doc_string for one in graph.input}
    assert "microseconds since 1970-01-01" in notes["when"]
    assert "'' is a missing value" in notes["town"]
    assert "text such as '$1,234.5': give the number, 1234.5" in notes["income"]
    assert "Columns that training left out: patient." in to_onnx(of_a_table).doc_string


@pytest.mark.parametrize("features", ["additive", "kernel 1", "trees 4"])
def test_an_empty_text_is_a_missing_value(features):
    frame, y = table(200)
    frame = frame[["age", "town"]].assign(town=frame["town"].where(frame.index % 3 != 0, ""))
    model = fitted(frame, y, features)
    check(model, frame, "float64", feeds=feeds_of(session_of(model), frame))


@pytest.mark.parametrize("n_trees", [3, 200])
def test_trees_of_few_and_of_many_ways_to_split_categories(n_trees):
    frame, y = table()
    frame = frame[["age", "town", "street"]]
    model = fitted(frame, y, TreeFeatures(n_trees=n_trees, max_depth=5 if n_trees == 3 else 2, max_categories=20))
    ways = {node.op_type for node in to_onnx(model).graph.node}
    assert ("GatherElements" in ways) == (n_trees == 3)
    check(model, new_rows()[0][["age", "town", "street"]], "float64")


def test_a_table_of_categories_alone():
    frame, y = table()
    for features in ("standardized", "kernel 1", TreeFeatures(n_trees=50, max_depth=2)):
        check(fitted(frame[["town", "street"]], y, features), frame[["town", "street"]], "float32")


def test_frames_without_a_map_have_an_input_for_each_column():
    X, y = numbers(200, missing=0.0)
    frame = pd.DataFrame(X, columns=["a", "b", "label", "", "ü b"])
    model = AUCClassifier().fit(frame, y)
    session = session_of(model)
    assert [one.name for one in session.get_inputs()] == ["a", "b", "column label", "column ", "ü b"]
    check(model, frame, "float64")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numbers_go_in_and_come_out_in_the_type_asked_for(dtype):
    frame, y = table()
    session = session_of(fitted(frame, y, "additive"), dtype)
    numbers_in = {one.type for one in session.get_inputs()} - {"tensor(string)", "tensor(int64)"}
    numbers_out = {one.type for one in session.get_outputs() if one.name != "label"}
    assert numbers_in == numbers_out == {"tensor(float)" if dtype == "float32" else "tensor(double)"}


@pytest.mark.parametrize("features", MAPS[:4], ids=str)
def test_float32_scores_are_those_of_the_rounded_numbers(features):
    """Also of numbers that lose digits which matter: all that is computed between the edges is in double."""
    X, y = numbers(missing=0.0)
    X = X[:, [0, 2]] + [1_000.0, 1e8]
    model = fitted(X, y, features)
    rounded = X.astype(np.float32)
    score = session_of(model, "float32").run(["score"], {"X": rounded})[0]
    expected = model.decision_function(rounded.astype(np.float64))
    np.testing.assert_allclose(score, expected, rtol=1e-6, atol=1e-6 * expected.std())


@given(
    st.lists(
        st.one_of(
            st.none(),
            st.integers(-(10**9), 10**9).map(lambda s: datetime(1970, 1, 1) + timedelta(seconds=s)),
            st.datetimes(datetime(1600, 1, 1), datetime(2500, 1, 1)),
        ),
        min_size=1,
        max_size=20,
    )
)
@settings(max_examples=25, deadline=None)
def test_parts_of_any_date(dates):
    from onnx import TensorProto, helper

    from vrspam.export.onnx_graphs.dates import date_parts
    from vrspam.export.onnx_graphs.graph import Graph

    graph = Graph(["moments"])
    parts = date_parts(graph, "moments", ["month", "weekday", "hour", "year"])
    whole = graph.add("Concat", *parts, axis=1)
    proto = helper.make_graph(
        graph.nodes,
        "dates",
        [helper.make_tensor_value_info("moments", TensorProto.INT64, [None, 1])],
        [helper.make_tensor_value_info(whole, TensorProto.DOUBLE, [None, 4])],
        graph.used_constants(),
    )
    model = helper.make_model(proto, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    moments = np.array(dates, dtype="datetime64[us]").astype(np.int64)
    (found,) = session.run(None, {"moments": moments[:, np.newaxis]})
    for day, row in zip(dates, found, strict=True):
        if day is None:
            assert np.isnan(row).all()
        else:
            assert row[:3].tolist() == [day.month, day.isoweekday(), day.hour]
            assert row[3] == pytest.approx(1970.0 + (day - datetime(1970, 1, 1)) / timedelta(days=365.2425), abs=1e-9)


# Models of files.


def trained(path: Any, target: str | None = "sick", positive: str | None = "yes", **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = train(path, target, positive, n_splits=2, fingerprint=False, **options)
        save_model(model, path.parent / "model.json")
    return load_model(path.parent / "model.json")


def check_file(model: Any, path: Any, dtype: str = "float64", **reading: Any) -> None:
    """The exported model gives the scores and probabilities that the model itself has for a file."""
    expected = scores_of_file(model, path, **reading)
    session = session_of(model, dtype)
    label, score, probability = session.run(None, onnx_feeds(session, columns_of_file(model, path, **reading)))
    allowed = (SINGLE if dtype == "float32" else DOUBLE) * expected.std()
    np.testing.assert_allclose(score, expected, rtol=0.0, atol=allowed)
    if model.calibration is not None:
        np.testing.assert_allclose(probability, model.calibration(expected), atol=1e-5)
    assert set(label) <= set(model.schema.labels)


@pytest.mark.parametrize("case", MESSY, ids=[case.name for case in MESSY])
def test_messy_files(case, tmp_path):
    path = case.write(tmp_path)
    reading = {name: value for name, value in case.options.items() if name == "encoding"}
    model = trained(path, features="linear", calibration="none", **case.options)
    check_file(model, path, "float32" if MESSY.index(case) % 2 else "float64", **reading)


@pytest.mark.parametrize("features", ["standardized", "additive", "kernel 1", "auto"])
def test_models_of_files(features, tmp_path):
    path = write(patients(150), tmp_path / "patients.csv")
    model = trained(path, features=features)
    check_file(model, path)
    if features in ("standardized", "additive"):
        check_file(model, path, "float32")


def test_a_model_of_a_libsvm_file_takes_a_matrix(tmp_path):
    from sklearn.datasets import load_svmlight_file

    path = write_libsvm(tmp_path / "rows.libsvm")
    model = trained(path, None, None, features="additive", calibration="isotonic")
    X = load_svmlight_file(str(path), n_features=8)[0].toarray()
    session = session_of(model)
    label, score, _ = session.run(None, {"X": X})
    np.testing.assert_allclose(score, score_file(model, path)[1], rtol=0.0, atol=1e-12)
    assert set(label) <= {-1, 1}


def test_more_than_two_labels_are_one_and_the_others(tmp_path):
    frame = patients(200)
    frame.loc[::3, "sick"] = "maybe"
    path = write(frame, tmp_path / "patients.csv")
    model = trained(path, features="linear")
    session = session_of(model)
    label = session.run(["label"], onnx_feeds(session, columns_of_file(model, path)))[0]
    assert set(label) <= {"yes", "not yes"}


def test_lines_that_end():
    """In a stack straight lines end far outside the range of training: the graph has two more nodes there."""
    X, y = numbers(150)
    X = X[:, [0, 2]]
    model = fitted(X, y, StackedFeatures([LinearFeatures(), AdditiveFeatures()]))
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    check(model, low + np.linspace(-3.0, 4.0, 71)[:, np.newaxis] * (high - low), "float64")
