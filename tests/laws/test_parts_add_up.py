"""What columns add to a row is its score, whatever is ranked: labels, labels inside strata, times, grades."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws_support import examples

from vrspam.tool import explain_file, train

RANKED: dict[str, dict[str, Any]] = {
    "labels": {"target": "sick"},
    "labels inside strata": {"target": "sick", "within": "site"},
    "times": {"target": "months", "event": "died"},
    "grades": {"target": "months", "event": "none"},
}


def patients(seed: int, weighted: bool) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.standard_normal(80)
    frame = pd.DataFrame({"age": age, "ward": rng.choice(["a", "b", "c"], 80), "site": rng.integers(0, 4, 80)})
    frame["months"] = np.round(np.exp(rng.standard_normal(80) - age), 2)
    frame["died"] = (rng.random(80) < 0.5).astype(int)
    frame["sick"] = age + rng.standard_normal(80) > 0.5
    return frame.assign(weight=rng.uniform(0.5, 2.0, 80)) if weighted else frame


@pytest.mark.parametrize("features", ["linear", "standardized", "additive", "kernel 1"])
@pytest.mark.parametrize("ranked", RANKED)
@settings(max_examples=examples(3))
@given(st.integers(0, 10**6), st.booleans())
def test_parts_add_up_to_the_score(ranked, features, seed, weighted):
    columns = [*RANKED[ranked].values(), *(["weight"] if weighted else [])]
    frame = patients(seed, weighted)[["age", "ward", *(name for name in columns if name != "none")]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options: dict[str, Any] = {"features": features, "groups": "none", "weights": "weight" if weighted else None}
        model = train(frame, **RANKED[ranked], **options)
        rows = explain_file(model, frame, [1, 2, 3]).rows
    for row in rows:
        assert row.score == pytest.approx(sum(part.adds for part in row.parts), abs=1e-9)
