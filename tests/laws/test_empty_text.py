"""An empty text is a missing value: in every estimator, export, file and frame, whatever training had."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from exported import FORMS
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from laws_support import examples

from vrspam import AUCClassifierCV
from vrspam.tool import predict, train

quick = settings(
    max_examples=examples(5),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    print_blob=True,
)
GAPS = st.sampled_from([[], [""], [None], ["", None]])
MAPS = st.sampled_from(["linear", "standardized", "additive", "trees"])


@pytest.fixture
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("empty")


def table(seed: int, gaps: list) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(90) % 2
    words = np.array(["a", "b", "c", *gaps], dtype=object)
    word = words[(rng.integers(0, words.size, y.size) + (rng.random(y.size) < 0.4) * y) % words.size]
    return pd.DataFrame({"x": rng.normal(y, 2.0), "word": word}), y


def rows() -> tuple[pd.DataFrame, pd.DataFrame]:
    """New rows: with empty texts, and the same with missing values."""
    empty = pd.DataFrame({"x": np.linspace(-2.0, 2.0, 8), "word": ["", "a", "", "b", "c", "", "new", "a"]})
    return empty, empty.assign(word=[word or None for word in empty["word"]])


@quick
@given(seed=st.integers(0, 2**32 - 1), gaps=GAPS, features=MAPS)
def test_in_estimators_and_exports(seed, gaps, features):
    frame, y = table(seed, gaps)
    known = None if features == "linear" else features
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AUCClassifierCV([1e-2], features=known or "standardized", cv=2, random_state=0).fit(frame, y)
        empty, missing = rows()
        want = model.decision_function(missing)
        np.testing.assert_array_equal(model.decision_function(empty), want)
        np.testing.assert_array_equal(model.decision_function(pl.from_pandas(empty)), want)
        for place in range(len(empty)):
            one = empty.iloc[[place]]
            np.testing.assert_allclose(model.decision_function(one), want[[place]], rtol=0, atol=1e-12)
        for form, score in FORMS.items():
            if features == "trees" and "onnx" not in form:
                continue
            np.testing.assert_allclose(score(model, empty), want, rtol=1e-9, atol=1e-9, err_msg=form)
            np.testing.assert_allclose(score(model, missing), want, rtol=1e-9, atol=1e-9, err_msg=form)


@quick
@given(seed=st.integers(0, 2**32 - 1), gaps=GAPS)
def test_in_files_and_frames(folder, seed, gaps):
    frame, y = table(seed, gaps)
    frame["y"] = y
    nothing = frame.assign(word=[word or None for word in frame["word"]])
    empty, missing = rows()

    def scores(model, data) -> np.ndarray:
        predict(model, data, folder / "scores.csv")
        return pd.read_csv(folder / "scores.csv")["score"].to_numpy()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame.to_csv(folder / "t.csv", index=False)
        frame.to_parquet(folder / "t.parquet", index=False)
        empty.to_csv(folder / "n.csv", index=False)
        empty.to_parquet(folder / "n.parquet", index=False)
        empty.to_excel(folder / "n.xlsx", index=False)
        want = scores(train(nothing, "y", features="linear"), missing)
        for training in (frame, folder / "t.csv", folder / "t.parquet"):
            model = train(training, "y", features="linear")
            for new in (empty, folder / "n.csv", folder / "n.parquet", folder / "n.xlsx"):
                np.testing.assert_allclose(scores(model, new), want, rtol=0, atol=1e-7)
