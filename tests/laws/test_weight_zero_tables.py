"""A row of weight 0 is no row of a training table: the model is that of the table without it, column by column.

For numbers, text, dates and gaps, in memory and read block by block: what is learned of the columns (whether they are
used, means, ranges, categories) and the scores do not depend on such rows, and the model file can be read again.
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws_support import examples

from vrspam.data import DataError
from vrspam.tool import Model, load_model, save_model, train

ROWS = 80
VALUES: dict[str, Any] = {
    "number": lambda rng: float(rng.integers(5)),
    "text": lambda rng: f"P{rng.integers(4)}",
    "number in text": lambda rng: f"{rng.integers(9)} mg",
    "date": lambda rng: pd.Timestamp("2020-01-01") + pd.Timedelta(days=int(rng.integers(900))),
}


def drawn_table(seed: int, shares: dict[str, float]) -> pd.DataFrame:
    """Columns with this share of known values among rows that count; each row of weight 0 has a value of its own."""
    rng = np.random.default_rng(seed)
    age = rng.normal(size=ROWS)
    weight = np.where(rng.random(ROWS) < 0.15, 0.0, 1.0)
    weight[:2] = 0.0, 1.0
    sick = age + rng.normal(size=ROWS) > 0.3
    columns: dict[str, Any] = {}
    for kind, share in shares.items():
        known = (rng.random(ROWS) < share) | (weight == 0.0)
        columns[kind] = [VALUES[kind](rng) if one else None for one in known]
    return pd.DataFrame({"age": age, **columns, "sick": np.where(sick, "yes", "no"), "weight": weight})


def trained(table: Any, features: str, streaming: bool) -> Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return train(table, "sick", weights="weight", features=features, streaming=streaming, fingerprint=False)


some_columns = st.dictionaries(st.sampled_from(sorted(VALUES)), st.sampled_from([0.0, 0.5, 1.0]), min_size=1)


@pytest.mark.parametrize(
    ("features", "streaming"), [("linear", False), ("linear", True), ("additive", False), ("forest", False)]
)
@settings(max_examples=examples(4), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), shares=some_columns)
def test_a_row_of_weight_0_is_no_row_of_a_table(features, streaming, seed, shares):
    table = drawn_table(seed, shares)
    counted = table[table["weight"] > 0.0].reset_index(drop=True)
    with tempfile.TemporaryDirectory() as folder:
        whole, part = table, counted
        if streaming:  # tables in files alone are read again
            whole, part = Path(folder, "whole.parquet"), Path(folder, "part.parquet")
            table.to_parquet(whole)
            counted.to_parquet(part)
        one, other = trained(whole, features, streaming), trained(part, features, streaming)
        assert one.schema.to_dict() == other.schema.to_dict()
        place = Path(folder, "model.json")
        save_model(one, place)
        assert load_model(place).schema == one.schema


def test_a_column_known_in_rows_of_weight_0_alone_is_left_out_with_a_note(tmp_path):
    table = drawn_table(0, {"text": 0.0})
    model = trained(table, "additive", False)
    assert model.schema.columns == ("age",)
    assert any("'text' has no values; left out" in note for note in model.training["warnings"])
    save_model(model, tmp_path / "model.json")


@pytest.mark.parametrize("streaming", [False, True])
def test_a_table_without_a_row_that_counts_is_refused_by_its_weights(streaming):
    with pytest.raises(DataError, match="column 'weight' gives every row the weight 0"):
        trained(drawn_table(0, {"text": 0.5}).assign(weight=0.0), "linear", streaming)
