"""Every odd file is read right or refused in one sentence without a traceback, which names what is wrong with it."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from laws_support import examples
from openpyxl.chart import BarChart

from vrspam._utils.findings import VrspamError
from vrspam.data import DataError, read_chunks
from vrspam.data.readers import excel
from vrspam.tool import evaluate, train

quick = settings(
    max_examples=examples(10),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    print_blob=True,
)
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"age": RNG.normal(size=60).round(2), "word": ["a", "b", "c"] * 20, "sick": [0, 1] * 30})
ENDS = ["", ".csv", ".xlsx", ".parquet", ".arrow", ".libsvm", ".npy", ".csv.gz", ".dat"]
HEADS = [b"", b"PK\x03\x04", b"PAR1", b"ARROW1", b"\x1f\x8b", b"\x93NUMPY", b"a,b\r1,2\r", b"1,2 1:3\n"]


@pytest.fixture
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("odd")


def refusal(path, target: str | None = "sick", **options) -> str:
    """The sentence with which training refuses a file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(VrspamError) as error:
            train(path, target, features="linear", **options)
    said = str(error.value)
    assert "Traceback" not in said
    assert "\n" not in said.strip()
    return said


def book(path: Path, frame: pd.DataFrame = FRAME) -> Path:
    """A workbook under any name."""
    frame.to_excel(path.parent / "made.xlsx", index=False)
    return (path.parent / "made.xlsx").rename(path)


def test_a_workbook_without_its_suffix_is_read(folder):
    path = book(folder / "book")
    assert sum(len(X) for X, _ in read_chunks(path, "sick")) == 60


def test_a_workbook_from_the_standard_input_is_read(folder):
    code = "from vrspam.data import read_chunks; print(sum(len(X) for X, _ in read_chunks('-', 'sick')))"
    with open(book(folder / "book.xlsx"), "rb") as stream:
        done = subprocess.run([sys.executable, "-c", code], stdin=stream, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["60"], done.stderr


def archive(path: Path, *names: str) -> Path:
    with zipfile.ZipFile(path, "w") as whole:
        for name in names:
            whole.writestr(name, "x")
    return path


def test_sheets_and_archives_are_named_as_what_they_are(folder):
    said = refusal(book(folder / "header.xlsx", FRAME.head(0)))
    assert said.endswith("has a header but no rows; get it again, or leave it out")
    openpyxl.Workbook().save(folder / "empty.xlsx")
    assert "is empty" in refusal(folder / "empty.xlsx")
    charts = openpyxl.Workbook()
    charts.create_chartsheet()
    charts.remove(charts.worksheets[0])
    charts.save(folder / "charts.xlsx")
    assert "only charts" in refusal(folder / "charts.xlsx")
    charts.chartsheets[0].add_chart(BarChart())
    charts.save(folder / "charts.xlsx")
    assert "only charts" in refusal(folder / "charts.xlsx")
    assert "is a zip archive" in refusal(archive(folder / "zipped", "t.csv"))
    assert "is an OpenDocument file" in refusal(archive(folder / "sheet.xlsx", "mimetype", "content.xml"))
    whole = book(folder / "whole.xlsx").read_bytes()
    (folder / "cut.xlsx").write_bytes(whole[: len(whole) // 2])
    assert "cut off" in refusal(folder / "cut.xlsx")


def test_a_missing_package_is_named(folder, monkeypatch):
    path = book(folder / "t.xlsx")
    monkeypatch.setattr(excel, "find_spec", lambda name: None)
    assert refusal(path).endswith('reading Excel needs one more package: pip install "vrspam[excel]"')


@pytest.mark.parametrize("rows", [1, 300])
def test_impossible_dates_of_a_workbook_are_one_warning(folder, rows):
    sheet = openpyxl.Workbook()
    sheet.active.append(["when", "x", "sick"])
    for row in range(400):
        sheet.active.append([1e9 if row < rows else 40_000 + row, row % 7 + 0.5, row % 2])
        sheet.active.cell(row + 2, 1).number_format = "yyyy-mm-dd"
    sheet.save(folder / "dates.xlsx")
    with warnings.catch_warnings(record=True) as remarks:
        warnings.simplefilter("always")
        excel.ExcelReader().columns(str(folder / "dates.xlsx"))
    texts = [str(remark.message) for remark in remarks]
    assert len(texts) == 1
    assert f"{rows} cell" in texts[0]
    assert "missing" in texts[0]


@quick
@given(cut=st.integers(0, 400), packing=st.sampled_from(["zst", "lz4", "gz", "plain"]))
def test_packed_files(folder, cut, packing):
    text = FRAME.to_csv(index=False).encode()
    heads = {"zst": (b"\x28\xb5\x2f\xfd", "Zstandard"), "lz4": (b"\x04\x22\x4d\x18", "LZ4")}
    path = folder / f"t.csv{'' if packing == 'plain' else '.' + packing}"
    if packing in heads:
        path.write_bytes(heads[packing][0] + text[:cut])
        assert f"is compressed by {heads[packing][1]}" in refusal(path)
    elif packing == "gz":
        path.write_bytes(gzip.compress(text)[: 20 + cut // 4])
        assert "cut off or damaged" in refusal(path)
    else:
        path.write_bytes(text.replace(b"\n", b"\r"))
        assert sum(len(X) for X, _ in read_chunks(path, "sick")) == 60


def test_libsvm(folder):
    (folder / "several.libsvm").write_text("".join(f"1,2 1:{x}\n" for x in range(20)))
    assert "the label '1,2' is not a number: rows with several labels" in refusal(folder / "several.libsvm", None)
    (folder / "two.libsvm").write_text("".join(f"{1 + k % 2} 1:{k % 5}.5\n" for k in range(60)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = train(folder / "two.libsvm", features="linear")
    assert (model.schema.labels, model.positive) == ((1.0, 2.0), 2.0)
    (folder / "queries.libsvm").write_text("".join(f"{k % 2} qid:{k // 6} 1:{k % 5}.5\n" for k in range(60)))
    with pytest.warns(UserWarning, match="qid: are not used"):
        list(read_chunks(folder / "queries.libsvm"))


def test_what_is_no_file(folder):
    mixed = folder / "mixed"
    mixed.mkdir()
    FRAME.to_csv(mixed / "a.csv", index=False)
    FRAME.to_parquet(mixed / "b.parquet", index=False)
    said = refusal(mixed)
    assert "a.csv is CSV" in said
    assert "b.parquet is Parquet" in said
    assert "*.csv" in said
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "pipe")
        assert "is a pipe" in refusal(folder / "pipe")
        assert "is a device" in refusal("/dev/null")
    assert "no file is found" in refusal(folder / "nothing.csv")


def test_numbers_that_overflow_are_named_by_their_column(folder):
    FRAME.assign(**{"dose, mg": FRAME["age"] * 1e200}).to_csv(folder / "t.csv", index=False)
    for features in ("linear", "additive"):
        with pytest.raises(DataError, match=r"column 'dose, mg' holds numbers up to .*, whose squares overflow"):
            train(folder / "t.csv", "sick", features=features)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow", ".npy"])
def test_infinite_numbers_of_both_signs_are_refused_and_nothing_else_is_said(folder, suffix):
    frame = FRAME.drop(columns="word").assign(dose=[np.inf, -np.inf] + [1.0, 2.0] * 29)
    path, target = folder / f"t{suffix}", "sick"
    if suffix == ".csv":
        frame.to_csv(path, index=False)
    elif suffix == ".parquet":
        frame.to_parquet(path)
    elif suffix == ".arrow":
        frame.to_feather(path)
    else:
        np.save(path, frame.to_numpy(dtype=float)[:, [0, 2, 1]])
        target = "2"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataError, match=r"column '(dose|1)' is infinite; correct it"):
            train(path, target, features="linear")


@pytest.mark.parametrize("event", [None, "none"])
def test_infinite_labels_of_both_signs_are_refused_and_nothing_else_is_said(folder, event):
    FRAME.assign(sick=[np.inf, -np.inf, *FRAME["age"][2:]]).to_parquet(folder / "t.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataError, match="the label is not a finite number"):
            train(folder / "t.parquet", "sick", event=event, features="linear")


def test_an_unknown_option_is_named(folder):
    FRAME.to_csv(folder / "t.csv", index=False)
    with pytest.raises(TypeError, match=r"there is no option 'feature' \(did you mean 'features'"):
        train(folder / "t.csv", "sick", **dict[str, Any](feature="linear"))


def test_a_new_label_of_a_class_of_several(folder):
    """All labels but the positive one are one class, those that training did not have as well."""
    kinds = np.array(["Theft", "Fraud", "Arson"])[np.arange(90) % 3]
    frame = pd.DataFrame({"x": RNG.normal(size=90) + (kinds == "Theft"), "kind": kinds})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = train(frame, "kind", positive="Theft", features="linear")
        want = evaluate(model, frame)
    new = frame.assign(kind=frame["kind"].replace("Arson", "Robbery"))
    with pytest.warns(UserWarning, match=r"30 rows have labels that training did not have \('Robbery'\)"):
        found = evaluate(model, new)
    assert found.auc == want.auc


@quick
@given(content=st.binary(max_size=300), end=st.sampled_from(ENDS), head=st.sampled_from(HEADS))
def test_random_bytes_end_in_a_sentence(folder, content, end, head):
    path = folder / f"odd{end}"
    path.write_bytes(head + content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for target in (None, "b"):
            try:
                train(path, target, features="linear")
            except VrspamError as error:
                message = str(error).strip()
            else:
                message = ""
            assert "\n" not in message
