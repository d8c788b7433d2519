"""Any file at all: random bytes, random dialects, cut files. Never a traceback, never a hang, never half an output."""

from __future__ import annotations

import csv
import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vrspam.tool import ModelFileError, load_model, predict, save_model, score_file, train

FAST: dict[str, Any] = {"features": "linear", "n_splits": 2, "calibration": "none"}
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
ENDS = ["csv", "tsv", "txt", "parquet", "feather", "npy", "libsvm", "xlsx", "csv.gz", "json", "dat"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a model and the files of its rows."""
    folder = tmp_path_factory.mktemp("any")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.normal(50, 9, 60).round(1), "town": rng.choice(["Graz", "Köln"], 60)})
    table["day"] = pd.date_range("2020-01-01", periods=60).strftime("%d.%m.%Y")
    table["sick"] = np.where(rng.random(60) < 0.4, "yes", "no")
    table.to_csv(folder / "good.csv", index=False)
    table.to_csv(folder / "good.csv.gz", index=False)
    table.to_parquet(folder / "good.parquet")
    table.to_feather(folder / "good.feather")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        save_model(train(folder / "good.csv", "sick", **FAST), folder / "m.json")
    return folder


def use(path: Path, folder: Path) -> None:
    """Train on a file, evaluate on it and score it: each works, or is refused in one sentence and leaves nothing."""
    out = folder / "scores.csv"
    out.unlink(missing_ok=True)
    model = load_model(folder / "m.json")
    for attempt in (
        lambda: train(path, "sick", **FAST),
        lambda: train(path, "sick", skip_errors=True, **FAST),
        lambda: score_file(model, path),
        lambda: predict(model, path, out),
    ):
        before = sorted(entry.name for entry in folder.iterdir())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                attempt()
            except (ValueError, ModelFileError) as error:
                said = str(error)
                assert said
                assert "\n" not in said
                assert sorted(entry.name for entry in folder.iterdir()) == before  # no half-written output
    if out.exists():
        assert "score" in pd.read_csv(out).columns


@QUICK
@given(st.binary(max_size=300), st.sampled_from(ENDS))
def test_random_bytes(folder, data, end):
    path = folder / f"random.{end}"
    path.write_bytes(data)
    use(path, folder)


CELLS = st.one_of(
    st.sampled_from(
        ["", "1", "-2.5", "1,5", "$3", "yes", "no", "?", "1.1.2020", "12/31/2020", "a b", "NaN", "inf", "1e400"]
    ),
    st.text(alphabet="ab1 ,;\"\n\r\t'é\0", max_size=6),
)


@QUICK
@given(
    st.lists(st.lists(CELLS, min_size=0, max_size=4), min_size=1, max_size=40),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["utf-8", "utf-8-sig", "latin-1", "utf-16"]),
    st.booleans(),
)
def test_random_dialects(folder, rows, delimiter, line_end, encoding, quoted):
    text = io.StringIO()
    writer = csv.writer(
        text,
        delimiter=delimiter,
        lineterminator=line_end,
        quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_NONE,
        quotechar='"' if quoted else None,
        escapechar=None if quoted else "\\",
    )
    writer.writerow(["age", "town", "day", "sick"])
    for number, row in enumerate(rows):
        writer.writerow([*row, "yes" if number % 2 else "no"])
    path = folder / "dialect.csv"
    path.write_bytes(text.getvalue().encode(encoding, "replace"))
    use(path, folder)


@QUICK
@given(
    st.sampled_from(["csv", "csv.gz", "parquet", "feather"]), st.floats(0, 1), st.binary(max_size=8), st.floats(0, 1)
)
def test_cut_and_damaged_files(folder, end, cut, patch, where):
    data = (folder / f"good.{end}").read_bytes()
    data = data[: int(cut * len(data)) + 1] if cut < 0.9 else data
    place = int(where * len(data))
    path = folder / f"cut.{end}"
    path.write_bytes(data[:place] + patch + data[place + len(patch) :])
    use(path, folder)
