"""A corpus of messy files: each gives the model of its clean twin, or one given sentence."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from messy_files import MESSY, Messy, base, clean, text_of

from vrspam.data import DataError
from vrspam.tool import load_model, save_model, score_file, train

TRAINED: dict[str, Any] = {"features": "linear", "n_splits": 2, "calibration": "none", "fingerprint": False}
TWINS: dict[str, tuple[dict[str, float], np.ndarray]] = {}


def trained(path: Path, **options):
    """The coefficients by feature, the scores of the file itself by the model from its file, and what was said."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = train(path, "sick", "yes", **TRAINED, **options)
        save_model(model, path.parent / "model.json")
        reading = {name: value for name, value in options.items() if name in ("encoding", "skip_errors")}
        _, scores = score_file(load_model(path.parent / "model.json"), path, **reading)
    coefs = dict(zip(model.schema.feature_names, model.coef.tolist(), strict=True))
    return coefs, scores, list(map(str, model.training["warnings"]))


def twin_of(case: Messy, folder: Path) -> tuple[dict[str, float], np.ndarray]:
    text = text_of(case.twin())
    if text not in TWINS:
        (folder / "twin").mkdir()
        path = folder / "twin" / "clean.csv"
        path.write_text(text, "utf-8")
        TWINS[text] = trained(path)[:2]
    return TWINS[text]


def test_the_corpus_is_large():
    assert len(MESSY) >= 60
    assert len({case.name for case in MESSY}) == len(MESSY)


@pytest.mark.parametrize("case", MESSY, ids=[case.name for case in MESSY])
def test_a_messy_file_gives_the_model_of_its_clean_twin(case, tmp_path):
    coefs, scores, said = trained(case.write(tmp_path), **case.options)
    expected, twin_scores = twin_of(case, tmp_path)
    assert list(coefs) == list(expected)
    np.testing.assert_allclose(list(coefs.values()), list(expected.values()), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(scores, twin_scores, rtol=1e-9, atol=1e-9)
    for words in case.says:
        assert any(words in note for note in said), (words, said)
    if not case.says:  # nothing is left out or taken as missing in silence, and nothing is said without need
        assert not [note for note in said if "left out" in note and "without a name" not in note]


@pytest.mark.parametrize("streaming", [False, True])
def test_curves_and_streams_read_the_same_way(tmp_path, streaming):
    table = base()
    table["income"] = [f"${value:,.2f}" for value in table["income"]]
    table["visit"] = table["visit"].dt.strftime("%d.%m.%Y")
    models = []
    for name, frame in (("messy", table), ("clean", clean("year", "month", "weekday"))):
        path = tmp_path / f"{name}.csv"
        path.write_text(text_of(frame), "utf-8")
        options: dict[str, Any] = {"streaming": True} if streaming else {"features": "additive"}
        models.append(train(path, "sick", n_splits=2, fingerprint=False, **options))
        save_model(models[-1], tmp_path / f"{name}.json")
    messy, twin = models
    assert messy.schema.columns == twin.schema.columns
    if streaming:
        np.testing.assert_allclose(messy.coef, twin.coef, rtol=1e-9, atol=1e-9)
    scores = [score_file(load_model(tmp_path / f"{n}.json"), tmp_path / f"{n}.csv")[1] for n in ("messy", "clean")]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-9, atol=1e-9)
    if not streaming:
        assert messy.shapes is not None
        assert twin.shapes is not None
        shapes = {shape.name: shape for shape in messy.shapes.columns}
        for shape in twin.shapes.columns:
            np.testing.assert_allclose(shapes[shape.name].contribution, shape.contribution, rtol=1e-9, atol=1e-9)


SENTENCES = {
    "survey.dta": (
        b"<stata_dta>",
        "is a Stata file, which is not read: write it as Parquet first, with pandas.read_stata",
    ),
    "survey.sav": (b"$FL2@(#)", "is an SPSS file, which is not read: .* pandas.read_spss"),
    "rows.json": (b'[{"age": 1}]', "is a JSON file, which is not read: .* pandas.read_json"),
    "lines.jsonl": (b'{"age": 1}\n', "is a JSON file"),
    "shop.db": (b"SQLite format 3\0", "is a database file, which is not read: write the table as CSV first"),
    "unnamed": (b"SQLite format 3\0", "is a database file"),
    "old.xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "is cut off, damaged, or not a spreadsheet"),
    "study.sas7bdat": (b"\0\0", "is a SAS file"),
    "frame.rds": (b"\x1f\x8b", "is an R file.*write.csv|cut off or damaged"),
    "page.html": (b"<html>", "is an HTML page"),
    "empty.csv": (b"", "is empty"),
    "head.csv": (b"age,sick\n", "has a header but no rows"),
    "twice.csv": (b"age,age,sick\n1,2,yes\n", "names the column 'age' twice"),
    "no.csv": (b"age,ill\n1,yes\n2,no\n", "has no column 'sick'"),
    "one.csv": (b"age,sick\n" + b"1,yes\n" * 20, "holds only yes"),
    "none.csv": (b"age,sick\n" + b"1,\n" * 20, "no row of .* has a label|holds only missing"),
    "three.csv": (
        b"age,sick\n" + b"1,yes\n2,no\n3,maybe\n" * 9,
        "3 different values: maybe, no, yes. Add pos",
    ),
    "ids.csv": (
        b"id,sick\n" + b"".join(b"%d,%s\n" % (k, b"yn"[k % 2 : k % 2 + 1]) for k in range(90)),
        "no feature column",
    ),
    "late.csv": (
        b"age,sick\n" + b"1,y\n2,n\n" * 40_000 + b"old,y\nyoung,n\n" * 60_000,
        r"'age' begins with numbers, and 120,000 of its 200,000 values are text \('old', 'young'\)",
    ),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_what_cannot_be_used_is_one_sentence(name, tmp_path):
    data, words = SENTENCES[name]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError, match=words) as refused:
        train(tmp_path / name, "sick", **TRAINED)
    assert "\n" not in str(refused.value)


def test_days_and_months_that_no_value_tells_apart_are_said(tmp_path):
    table = clean()
    table["visit"] = [f"{1 + k % 12}/{1 + (k // 12) % 12}/2020" for k in range(len(table))]
    (tmp_path / "t.csv").write_text(text_of(table), "utf-8")
    notes = trained(tmp_path / "t.csv")[2]
    assert any("the month first, as no value shows whether day or month comes first" in note for note in notes)


def test_a_positive_label_of_most_rows_is_asked_about(tmp_path):
    table = clean()
    table["sick"] = np.where(np.arange(len(table)) % 10 == 0, "bad", "good")
    (tmp_path / "t.csv").write_text(text_of(table), "utf-8")
    note = next(str(n) for n in train(tmp_path / "t.csv", "sick", **TRAINED).training["warnings"] if "look for" in n)
    assert note == "I look for 'good' (90 % of the rows). Looking for 'bad'? Add positive='bad'."
    said = train(tmp_path / "t.csv", "sick", "bad", **TRAINED).training["warnings"]
    assert not any("look for" in note for note in said)


def test_excel_gives_the_model_of_its_clean_twin(tmp_path):
    pytest.importorskip("openpyxl")
    table = base()
    table.to_excel(tmp_path / "t.xlsx", index=False)
    case = Messy("Excel", lambda folder: folder, lambda: clean("year", "month", "weekday", "hour"))
    expected, scores = twin_of(case, tmp_path)
    coefs, found, _ = trained(tmp_path / "t.xlsx")
    assert list(coefs) == list(expected)
    np.testing.assert_allclose(list(coefs.values()), list(expected.values()), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found, scores, rtol=1e-9, atol=1e-9)
    mixed = table.assign(age=[f"{v} years" if k == 5 else v for k, v in enumerate(table["age"])])
    with pd.ExcelWriter(tmp_path / "two.xlsx") as book:
        mixed.to_excel(book, sheet_name="patients", index=False)
        table.to_excel(book, sheet_name="more", index=False)
    notes = trained(tmp_path / "two.xlsx")[2]
    assert any("1 value that is not ('" in note and "counts as missing" in note for note in notes)
    assert any("only the first of 2 sheets, 'patients', is read" in note for note in notes)
    (tmp_path / "cut.xlsx").write_bytes((tmp_path / "t.xlsx").read_bytes()[:500])
    with pytest.raises(DataError, match="cut off, damaged, or not an Excel workbook"):
        train(tmp_path / "cut.xlsx", "sick")
