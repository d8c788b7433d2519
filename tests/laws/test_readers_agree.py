"""The same table has the same columns, kinds, labels and scores in every format; what was text stays text."""

from __future__ import annotations

import re
import warnings
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from laws_support import examples

from vrspam.data import DataError, infer_schema, read_chunks
from vrspam.tool import predict, train

quick = settings(
    max_examples=examples(4),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    print_blob=True,
)
SOONER, LATER = [0.4, 0.1, 0.1, 0.4], [0.1, 0.4, 0.4, 0.1]

# columns of text, as their values for a row: (random number generator, label)
TEXTS = {
    "code": lambda rng, y: str(rng.choice(["01", "1", "007", "7"], p=SOONER if y else LATER)),
    "hash": lambda rng, y: hex(int(rng.choice([3, 65, 2**31, 2**53 + 1], p=SOONER if y else LATER))),
    "word": lambda rng, y: str(rng.choice(["red", "green", "Zürich"])),
    "amount": lambda rng, y: f"${1000 * rng.random() + 900 * y:,.2f}",
    "when": lambda rng, y: str(np.datetime64("2021-03-01") + int(rng.integers(0, 700)) + 200 * y),
    "clock": lambda rng, y: f"{rng.integers(0, 24):02d}:{rng.integers(0, 60):02d}",
    "gaps": lambda rng, y: str(rng.choice(["", "a", "b"])),
}
NUMBERS = {
    "share": lambda rng, y: float(np.round(rng.normal(y, 2.0), 3)),
    "count": lambda rng, y: int(rng.integers(0, 3000)) + 500 * y,
    "flag": lambda rng, y: bool(rng.random() < 0.3 + 0.3 * y),
}
LABELS = [("no", "yes"), ("0", "1"), ("00", "01"), (0, 1), (False, True)]


@pytest.fixture
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("formats")


def write_all(frame: pd.DataFrame, folder) -> dict[str, object]:
    """The frame in every format, by the name of the format."""
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_csv(folder / "t.csv.gz", index=False)
    frame.to_csv(folder / "t.tsv", index=False, sep="\t")
    frame.to_csv(folder / "semicolons.csv", index=False, sep=";")
    frame.to_csv(folder / "commas.csv", index=False, sep=";", decimal=",")
    frame.to_csv(folder / "latin.csv", index=False, encoding="latin-1")
    frame.to_csv(folder / "utf16.csv", index=False, encoding="utf-16")
    frame.to_csv(folder / "carriage.csv", index=False, lineterminator="\r")
    frame.to_parquet(folder / "t.parquet", index=False)
    feather.write_feather(arrow, folder / "t.arrow")
    frame.to_excel(folder / "t.xlsx", index=False)
    files: dict[str, object] = {path.name: path for path in folder.iterdir() if path.name[0] != "."}
    return files | {"pandas": frame, "polars": pl.from_arrow(arrow), "arrow table": arrow}


def score(model, table, folder) -> np.ndarray:
    predict(model, table, folder / ".scores.csv")
    return pd.read_csv(folder / ".scores.csv")["score"].to_numpy()


@quick
@given(
    seed=st.integers(0, 2**32 - 1),
    labels=st.sampled_from(LABELS),
    names=st.lists(st.sampled_from([*TEXTS, *NUMBERS]), min_size=2, max_size=6, unique=True),
)
def test_the_same_table_gives_the_same_model_in_every_format(folder, seed, labels, names):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(90) % 3 == 0).astype(int)
    makers = {**TEXTS, **NUMBERS}
    frame = pd.DataFrame({name: [makers[name](rng, k) for k in y] for name in names})
    frame["y"] = [labels[k] for k in y]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        files = write_all(frame, folder)
        models = {name: train(table, "y", features="linear") for name, table in files.items()}
        first = models["t.parquet"]
        want = score(first, folder / "t.parquet", folder)
        for name, model in models.items():
            assert set(model.schema.numeric) == set(first.schema.numeric), name
            assert model.schema.categorical == first.schema.categorical, name
            assert model.identifiers == first.identifiers, name
            assert str(model.positive) == str(first.positive), name
            np.testing.assert_allclose(score(model, files[name], folder), want, rtol=0, atol=1e-7, err_msg=name)
        for name, table in files.items():
            if name != "commas.csv":
                np.testing.assert_allclose(score(first, table, folder), want, rtol=0, atol=1e-9, err_msg=name)


def test_hexadecimal_names_are_text_in_csv_too(folder):
    """pyarrow alone takes them for whole numbers, and `train` refused the file."""
    y = np.arange(60) % 2
    frame = pd.DataFrame({"card": np.where(y > 0, "0xe2ac0ea0", "0X1F"), "x": np.arange(60) % 7, "y": y})
    frame.to_csv(folder / "t.csv", index=False)
    for table in (folder / "t.csv", frame):
        assert infer_schema(table, "y").categorical == {"card": ("0X1F", "0xe2ac0ea0")}


def test_a_code_after_many_numbers_makes_its_column_text(folder):
    """All rows decide, as they do in Parquet, and not only those that are read first."""
    rng = np.random.default_rng(0)
    n = 60_000
    texts = rng.choice(["1", "2", "30"], n)
    texts[-3:] = "01", "2", "01"
    frame = pd.DataFrame({"code": texts, "x": rng.normal(size=n).round(3), "y": rng.integers(0, 2, n)})
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_csv(folder / "quoted.csv", index=False, quoting=1)
    frame.to_parquet(folder / "t.parquet", index=False)
    for name in ("t.csv", "quoted.csv", "t.parquet"):
        schema = infer_schema(folder / name, "y", missing="mean")
        assert schema.categorical == {"code": ("01", "1", "2", "30")}, name
        assert schema.numeric == ("x",), name
    with pytest.raises(DataError, match="'01' in later rows is a code"):
        list(read_chunks(folder / "t.csv", "y"))


@pytest.mark.parametrize("weight", ["1,0", "$1.00", "1'000", "2", "words"])
def test_weights_that_are_all_alike_are_numbers_however_they_are_written(folder, weight):
    """Equal weights give the model without weights; text that is no number is named as such."""
    rng = np.random.default_rng(0)
    age = [f"{value:.3f}".replace(".", ",") for value in rng.normal(size=60)]
    frame = pd.DataFrame({"age": age, "weight": weight, "sick": ["no", "yes"] * 30})
    frame.to_csv(folder / "t.csv", sep=";", index=False)
    if weight == "words":
        with pytest.raises(DataError, match="column 'weight' holds text that is not numbers"):
            train(folder / "t.csv", "sick", weights="weight", features="linear")
        return
    alike = train(folder / "t.csv", "sick", weights="weight", features="linear")
    none = train(folder / "t.csv", "sick", drop=["weight"], features="linear")
    np.testing.assert_allclose(score(alike, folder / "t.csv", folder), score(none, folder / "t.csv", folder), rtol=1e-9)


@quick
@given(rows=st.integers(2, 60), said=st.sampled_from(["A1", "A1:A1", "A1:B3", "A1:C2", "B2:C9", "A1:XFD1048576"]))
def test_a_sheet_is_read_whole_whatever_it_says_about_its_size(folder, rows, said):
    frame = pd.DataFrame({"a": np.arange(rows) * 1.5, "b": [f"w{k % 3}" for k in range(rows)], "c": np.arange(rows)})
    frame.to_excel(folder / "right.xlsx", index=False)
    with zipfile.ZipFile(folder / "right.xlsx") as old, zipfile.ZipFile(folder / "wrong.xlsx", "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "xl/worksheets/sheet1.xml":
                content, found = re.subn(rb'<dimension ref="[^"]*"', f'<dimension ref="{said}"'.encode(), content)
                assert found == 1
            new.writestr(name, content)
    blocks = [list(read_chunks(folder / name, missing="mean")) for name in ("right.xlsx", "wrong.xlsx")]
    assert sum(len(X) for X, _ in blocks[0]) == rows
    for (left, _), (right, _) in zip(blocks[0], blocks[1], strict=True):
        np.testing.assert_array_equal(left, right)
