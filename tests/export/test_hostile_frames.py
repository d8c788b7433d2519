"""Exports of hostile frames against the model itself, and model files with wrong fields: a part of `make fuzz`."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("onnxruntime")
pytest.importorskip("duckdb")

import fuzz_exports as fuzz

from vrspam.export import to_onnx


@pytest.mark.parametrize("seed", range(12))
def test_every_form_gives_the_scores_of_the_model(seed):
    assert fuzz.run_exports(seed) == []


@pytest.mark.parametrize("kind", fuzz.KINDS)
@pytest.mark.parametrize("name", ["additive", "trees"])
def test_every_kind_of_column(kind, name):
    """Each beside a column that says something about the labels."""
    rng = np.random.default_rng(3)
    frame = fuzz.hostile_frame(rng, 300, [kind, "double"] if kind != "double" else [kind])
    model = fuzz.fitted(frame[:200], fuzz.hostile_labels(frame, rng)[:200], name)
    assert fuzz.compare(model, frame, f"{name} of {kind}") == []


@pytest.mark.parametrize("seed", range(25))
def test_model_files_with_wrong_fields(seed):
    assert fuzz.run_files(seed) == []


def test_the_fuzz_can_fail():
    rng = np.random.default_rng(0)
    frame = fuzz.hostile_frame(rng, 200, ["double", "text"])
    model = fuzz.fitted(frame, fuzz.hostile_labels(frame, rng), "additive")
    exported = model.as_scorer()
    model.as_scorer = lambda: exported  # type: ignore[method-assign]
    model.intercept_ = model.intercept_ + 1e-9
    assert len(fuzz.compare(model, frame, "moved")) == 4  # float32 cannot tell


def seconds(n: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Times in seconds within a day, which float32 rounds to two minutes, and amounts of a million and some cents."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"time": 1_600_000_000 + rng.integers(0, 86_400, n), "amount": 1e6 + np.round(rng.exponential(2.0, n), 2)}
    )
    return frame.assign(age=rng.normal(50.0, 10.0, n)), rng.random(n) < 0.5


@pytest.mark.parametrize("name", ["trees", "kernel and trees"])
def test_thresholds_of_trees_decide_the_precision_of_an_input(name):
    frame, y = seconds(600)
    model = fuzz.fitted(frame, y, name)
    kinds = {one.name: one.type.tensor_type.elem_type for one in to_onnx(model).graph.input}
    assert (kinds["time"], kinds["amount"]) == (11, 11)  # double
    assert kinds["age"] == 1  # float
    new, _ = seconds(2000, seed=1)
    expected = model.decision_function(new)
    assert np.abs(fuzz.in_onnx(model, new, "float32") - expected).max() <= 2e-5 * expected.std()


@pytest.mark.parametrize("name", ["standardized", "additive"])
def test_nan_that_is_not_null_and_infinity_are_missing_in_sql_and_python(name):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"dose": np.where(rng.random(300) < 0.2, np.nan, rng.normal(size=300))})
    model = fuzz.fitted(frame, (frame["dose"].fillna(2.0) > 0.3).to_numpy(), name)
    odd = pd.DataFrame({"dose": [np.nan, np.inf, -np.inf]})
    missing = model.decision_function(odd[:1])[0]
    for score in (fuzz.in_duckdb, fuzz.in_sqlite, fuzz.as_python):
        np.testing.assert_allclose(score(model, odd), missing, atol=1e-12)


@pytest.mark.parametrize("name", ["linear", "standardized", "additive", "kernel", "trees"])
def test_frames_of_float32_are_scored_in_double(name):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(50.0, 10.0, (300, 3)).astype(np.float32), columns=list("abc"))
    model = fuzz.fitted(frame, frame["a"].to_numpy() > 50.0, name)
    found = model.decision_function(frame)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, model.decision_function(frame.astype(np.float64)), rtol=0, atol=1e-12)
    assert fuzz.compare(model, frame, name) == []
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(frame), found)


@pytest.mark.parametrize("name", ["standardized", "additive"])
def test_numbers_that_a_database_keeps_as_text(name):
    """As `.import` of SQLite makes them: text is above every number there, so that curves ended at their last value."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"dose": rng.normal(40.0, 30.0, 200), "age": rng.integers(20, 80, 200).astype(float)})
    model = fuzz.fitted(frame, (np.sin(frame["dose"] / 20.0) + frame["age"] / 40.0 > 1.5).to_numpy(), name)
    expected = model.decision_function(frame)
    texts = frame.map(repr)  # of the same floats
    for score in (fuzz.in_duckdb, fuzz.in_sqlite):
        np.testing.assert_allclose(score(model, texts), expected, rtol=0.0, atol=1e-12 * expected.std())
