"""Columns that 64-bit floats cannot hold: complex numbers are refused, integers that lose digits are warned about."""

from __future__ import annotations

import warnings
from decimal import Decimal
from typing import cast

import array_api_strict
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from pyarrow import csv, feather, parquet
from scipy import sparse

from vrspam import AUCClassifier, AUCClassifierCV, ClassMoments, OPAUCClassifier, VRSPAMClassifier
from vrspam._utils.validation import check_columns
from vrspam._utils.warnings import IntegersRounded
from vrspam.data import read_chunks
from vrspam.features import AdditiveFeatures
from vrspam.tool import train

N = 60
RNG = np.random.default_rng(0)
Y = np.arange(N) % 2
NUMBERS = RNG.standard_normal(N) + Y
BEYOND = 2**53 + 1 + 2 * RNG.permutation(N)  # odd: no float is any of them
COMPLEX = NUMBERS + 1j


def frame_of_objects(values):
    return pd.DataFrame({"a": NUMBERS, "b": pd.Series(list(values), dtype=object)})


FITS = {
    "exact": lambda X: AUCClassifier().fit(X, Y),
    "grid": lambda X: AUCClassifierCV(cv=2).fit(X, Y),
    "maps": lambda X: AUCClassifierCV(features="auto", cv=2, random_state=0).fit(X, Y),
    "map": lambda X: AdditiveFeatures().fit(X),
    "epochs": lambda X: VRSPAMClassifier(l2=1.0, max_iter=1, random_state=0).fit(X, Y),
    "online": lambda X: OPAUCClassifier().partial_fit(X, Y, classes=[0, 1]),
    "moments": lambda X: ClassMoments.from_data(X, Y),
    "stream": lambda X: AUCClassifier().fit_stream([(X, Y), (X, Y)]),
}


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": NUMBERS, "b": COMPLEX}),
        pd.DataFrame({"a": NUMBERS, "b": COMPLEX.astype(np.complex64)}),
        frame_of_objects(COMPLEX),
        frame_of_objects([None, "text", *COMPLEX[2:]]),
        pl.DataFrame({"a": NUMBERS, "b": pl.Series(list(COMPLEX), dtype=pl.Object)}),
    ],
    ids=["pandas", "complex64", "objects", "mixed", "polars"],
)
def test_complex_columns_are_refused_by_name(X, fit):
    with pytest.raises(ValueError, match=r"Complex data not supported: column 'b' holds complex numbers; give .*\.$"):
        FITS[fit](X)


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, list], ids=["dense", "csr", "list"])
def test_complex_arrays_are_refused(container, fit):
    X = container(np.column_stack([NUMBERS, COMPLEX]))
    with pytest.raises(ValueError, match=r"Complex data not supported: .*two columns|.*columns of their own\.$"):
        FITS[fit](X)


def test_complex_rows_are_refused_when_they_are_scored():
    good, bad = pd.DataFrame({"a": NUMBERS, "b": NUMBERS}), pd.DataFrame({"a": NUMBERS, "b": COMPLEX})
    for model in (AUCClassifier().fit(good, Y), AUCClassifierCV(features="additive", cv=2).fit(good, Y)):
        with pytest.raises(ValueError, match="column 'b' holds complex"):
            model.decision_function(bad)
    with pytest.raises(ValueError, match="column 'b' holds complex"):
        AdditiveFeatures().fit(good).transform(bad)


def rounding_warnings(action):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    return [w.message for w in caught if isinstance(w.message, IntegersRounded)]


FRAMES = {
    "pandas": pd.DataFrame({"a": NUMBERS, "id": BEYOND}),
    "unsigned": pd.DataFrame({"a": NUMBERS, "id": BEYOND.astype(np.uint64) + np.uint64(2**63)}),
    "negative": pd.DataFrame({"a": NUMBERS, "id": -BEYOND}),
    "nullable": pd.DataFrame({"a": NUMBERS, "id": pd.array([None, *BEYOND[1:]], dtype="Int64")}),
    "objects": pd.DataFrame({"a": NUMBERS, "id": pd.Series([int(v) * 10**9 + 1 for v in BEYOND], dtype=object)}),
    "decimals": pd.DataFrame({"a": NUMBERS, "id": pd.Series([Decimal(int(v)) for v in BEYOND], dtype=object)}),
    "polars": pl.DataFrame({"a": NUMBERS, "id": BEYOND}),
    "arrow": pa.table({"a": NUMBERS, "id": BEYOND}),
}


@pytest.mark.parametrize("fit", ["grid", "maps", "map"])
@pytest.mark.parametrize("kind", FRAMES)
def test_integers_that_lose_digits_are_named_once(kind, fit):
    if kind == "nullable" and fit == "grid":
        pytest.skip("missing values are for feature maps")
    found = rounding_warnings(lambda: FITS[fit](FRAMES[kind]))
    assert [warning.columns for warning in found] == [("id",)]
    assert "Column 'id' holds integers beyond 2**53" in str(found[0])


@pytest.mark.parametrize("fit", FITS)
def test_arrays_of_integers_are_looked_at(fit):
    X = np.column_stack([BEYOND, np.arange(N), BEYOND // 2])
    assert [w.columns for w in rounding_warnings(lambda: FITS[fit](X))] == [(0,)]
    assert [w.columns for w in rounding_warnings(lambda: FITS[fit](sparse.csr_array(X)))] == [(0,)]


def rounded_columns(X):
    """The columns that are warned about."""
    said = set[object]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IntegersRounded)
        check_columns(X, said)
    return list(said)


def test_columns_of_any_container(monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # scikit-learn asks for it
    X = np.column_stack([np.arange(N), BEYOND])
    assert rounded_columns(X.tolist()) == rounded_columns(sparse.coo_array(X)) == [1]
    with sklearn.config_context(array_api_dispatch=True):
        assert rounded_columns(array_api_strict.asarray(X)) == [1]
        with pytest.raises(ValueError, match="Complex data not supported"):
            AUCClassifier().fit(array_api_strict.asarray(X + 1j), array_api_strict.asarray(Y))


def test_what_floats_hold_exactly_is_not_warned_about():
    exact = np.column_stack([np.full(N, 2**53), np.full(N, -(2**53)), 2**60 + 1024 * np.arange(N)])
    assert rounded_columns(exact) == rounded_columns(exact.astype(object)) == []
    assert rounded_columns(exact.astype(np.float64)) == rounded_columns(np.full((2, 2), 1e300)) == []
    assert rounded_columns(pd.DataFrame({"a": exact[:, 2], "t": ["x"] * N})) == []
    assert rounded_columns([[1, 2], [3]]) == rounded_columns("text") == []


def test_many_columns_are_counted():
    text = str(IntegersRounded(tuple("abcdefgh")))
    assert text.startswith("Columns 'a', 'b', 'c', 'd', 'e' and 3 more hold integers")


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_the_tool_notes_them(name, tmp_path):
    write = {"t.csv": csv.write_csv, "t.parquet": parquet.write_table}[name]
    write(
        pa.table({"a": NUMBERS, "code": BEYOND // 7 * 7, "small": RNG.integers(9, size=N), "sick": Y}), tmp_path / name
    )
    notes = [str(note) for note in train(tmp_path / name, target="sick").training["warnings"]]
    assert sum("column 'code' holds integers beyond 2**53" in note for note in notes) == 1
    assert not any("'small'" in note and "2**53" in note for note in notes)


@pytest.mark.parametrize("sparse_blocks", [False, True])
@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.feather", "t.npy"])
def test_files_read_in_chunks_name_them_once(name, sparse_blocks, tmp_path):
    table = {"a": NUMBERS, "id": BEYOND, "small": RNG.integers(9, size=N), "large": NUMBERS * 1e20, "sick": Y}
    path, target, named = tmp_path / name, cast("str | int", "sick"), ("id",)
    if name == "t.npy":
        np.save(path, np.column_stack([table["small"], table["id"], table["sick"]]))
        target, named = 2, ("1",)
    else:
        write = {".csv": csv.write_csv, ".parquet": parquet.write_table, ".feather": feather.write_feather}
        write[path.suffix](pa.table(table), path)
    chunks = read_chunks(path, target=target, chunk_rows=7, sparse=sparse_blocks)
    found = rounding_warnings(lambda: (list(chunks), list(chunks)))
    assert [warning.columns for warning in found] == [named]
    fitted = rounding_warnings(lambda: AUCClassifier().fit_stream(read_chunks(path, target=target)))
    assert [warning.columns for warning in fitted] == [named]
    left_out = {"drop": ["id"]} if target == "sick" else {"columns": [0]}
    assert rounding_warnings(lambda: list(read_chunks(path, target=target, **left_out))) == []


def test_decimals_and_files_of_several_types(tmp_path):
    wide = pa.array([Decimal(int(v)) for v in BEYOND], pa.decimal128(30, 2))
    parquet.write_table(pa.table({"a": NUMBERS, "id": NUMBERS, "price": wide, "sick": Y}), tmp_path / "1.parquet")
    parquet.write_table(pa.table({"a": NUMBERS, "id": BEYOND, "price": NUMBERS, "sick": Y}), tmp_path / "2.parquet")
    found = rounding_warnings(lambda: list(read_chunks(tmp_path, target="sick")))
    assert [warning.columns for warning in found] == [("price", "id")]
