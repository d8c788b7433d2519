"""Every format goes the whole way: blocks, a damaged file, a model and new rows; and the page that adds one is true."""

from __future__ import annotations

import doctest
import inspect
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

from vrspam.data import DataError, read_chunks, readers
from vrspam.tool import load_model, predict, save_model, train

pytest.importorskip("pyarrow", reason="needs the extra vrspam[data]")

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "add_a_format.md").read_text("utf-8")
RNG = np.random.default_rng(0)
AGE = RNG.integers(20, 80, 120).astype(float)
DOSE = RNG.normal(size=120).round(3)
SICK = (AGE / 30 + RNG.normal(size=120) > 1.7).astype(int)
FRAME = pd.DataFrame({"age": AGE, "dose": DOSE, "sick": SICK})


def spreadsheet(path: Path) -> None:
    """The only writer of such files here is the one that wrote the fixtures."""
    path.write_bytes((ROOT / "tests" / "fixtures" / "spreadsheets" / "patients.ods").read_bytes())


#: How a file of each format is written, and its suffix.
FORMATS = {
    "csv": (".csv", lambda path: FRAME.to_csv(path, index=False)),
    "libsvm": (".svm", lambda path: dump_svmlight_file(FRAME[["age", "dose"]], SICK, str(path), zero_based=False)),
    "parquet": (".parquet", FRAME.to_parquet),
    "feather": (".feather", FRAME.to_feather),
    "npy": (".npy", lambda path: np.save(path, FRAME.to_numpy(float))),
    "excel": (".xlsx", lambda path: FRAME.to_excel(path, index=False)),
    "spreadsheet": (".ods", spreadsheet),
}
LABELS_IN_ROWS = ("libsvm",)


def test_every_format_has_an_example():
    assert set(FORMATS) == set(readers.READERS)


def target_of(name: str) -> str | None:
    if name in LABELS_IN_ROWS:
        return None
    return "2" if name == "npy" else "sick"


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_format_goes_through_blocks_models_and_new_rows(name, tmp_path):
    suffix, write = FORMATS[name]
    path = tmp_path / f"rows{suffix}"
    write(path)
    X, y = zip(*read_chunks(path, target_of(name), missing=0.0), strict=True)
    rows = sum(len(part) for part in y)
    if name != "spreadsheet":
        dense = np.concatenate([part.toarray() if hasattr(part, "toarray") else part for part in X])
        np.testing.assert_allclose(dense, FRAME[["age", "dose"]])
    assert sum(part.shape[0] for part in X) == rows
    save_model(train(path, target_of(name), features="linear", n_splits=2), tmp_path / "m.json")
    assert predict(load_model(tmp_path / "m.json"), path, tmp_path / "scores.csv") == rows


@pytest.mark.parametrize("name", sorted(set(FORMATS) - {"csv", "libsvm"}))
def test_a_file_that_is_cut_off_is_one_sentence(name, tmp_path):
    suffix, write = FORMATS[name]
    write(tmp_path / f"whole{suffix}")
    whole = (tmp_path / f"whole{suffix}").read_bytes()
    (tmp_path / f"cut{suffix}").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=f"cut{suffix}.* again$"):
        read_chunks(tmp_path / f"cut{suffix}", target_of(name))


def test_the_page_is_followed_literally(monkeypatch, tmp_path):
    """The reader of the page, added to the list as it says, is trained on and predicts."""
    monkeypatch.setattr(readers, "READERS", readers.READERS)
    lines = [line for line in PAGE.splitlines() if "as it was" not in line]
    names: dict[str, object] = {}
    found = doctest.DocTestParser().get_doctest("\n".join(lines), names, "page", None, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    try:
        runner.run(found, clear_globs=False)
        assert runner.summarize(verbose=False).failed == 0
        path = tmp_path / "rows.pairs"
        written = [f"age={row.age} dose={row.dose} sick={row.sick:.0f}" for row in FRAME.itertuples()]
        path.write_text("\n".join(written))
        save_model(train(path, "sick", features="linear", n_splits=2), tmp_path / "m.json")
        assert predict(load_model(tmp_path / "m.json"), path, tmp_path / "scores.csv") == len(FRAME)
        path.write_text("age dose sick")
        with pytest.raises(DataError, match="is truncated, or not a file of name=value pairs"):
            read_chunks(path, "sick")
    finally:
        readers.READERS.pop("pairs", None)


def test_no_file_but_the_named_ones_knows_the_formats():
    """A format is known by its own file and the list alone: no other file of src names a reader of the list."""
    source = ROOT / "src" / "vrspam"
    for name, kind in readers.READERS.items():
        home = Path(inspect.getfile(kind))
        naming = [path for path in source.rglob("*.py") if kind.__name__ in path.read_text("utf-8")]
        allowed = {home, source / "data" / "readers" / "__init__.py"}
        if name == "csv":
            allowed.add(source / "data" / "formats.py")  # what text is that looks like nothing else
        assert set(naming) <= allowed, name
