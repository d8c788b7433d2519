"""An export that is right is written: reading it back refuses no name of a column and no precision."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from laws_support import examples

from vrspam.tool import export_model, train

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

awkward = st.sampled_from(["column 1", "1", "score", "label", "column score", "column column score", "column ", "age"])


def trained(columns: dict[str, object], features: str):
    sick = np.random.default_rng(0).random(120) < 0.3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return train(pd.DataFrame({**columns, "sick": sick}), "sick", features=features, fingerprint=False)


@settings(max_examples=examples(6), deadline=None)
@given(names=st.lists(awkward, min_size=1, max_size=3, unique=True))
@example(names=["column 1"])
@example(names=["score", "column score"])
@example(names=["column score", "score"])
def test_columns_may_have_any_name(names, tmp_path_factory):
    rng = np.random.default_rng(1)
    model = trained({name: rng.normal(size=120) for name in names}, "additive")
    place = tmp_path_factory.mktemp("export") / "model.onnx"
    export_model(model, onnx=place)
    assert place.stat().st_size


@pytest.mark.parametrize("seed", range(examples(3)))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_texts_alone_may_be_scored_in_any_precision(seed, dtype, tmp_path):
    ward = np.random.default_rng(seed).choice(["a", "b", "c", "d"], size=120)
    export_model(trained({"ward": ward}, "forest"), onnx=tmp_path / "model.onnx", dtype=dtype)
