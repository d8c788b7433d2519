"""Twice as many columns, rows, levels or wrong cells take about twice the work, counted in calls and operations."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from vrspam.data import read_chunks
from vrspam.data.readers import csv, csv_head, csv_repair, libsvm
from vrspam.tool import predict, train

TWICE = 2.3


def calls(function: Callable[[], Any]) -> int:
    """The calls that a function makes, in all threads."""
    counts = [0]

    def count(*_: Any) -> None:
        counts[0] += 1

    before = sys.getprofile()
    threading.setprofile(count)
    sys.setprofile(count)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function()
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    return counts[0]


def table(rows: int, columns: int, levels: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(rows, columns)).round(3), columns=[f"c{k}" for k in range(columns)])
    frame["word"] = [f"w{k % levels}" for k in range(rows)]
    return frame.assign(y=np.arange(rows) % 2)


class Name(str):
    """A text that counts how often it is compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Name.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__

    def strip(self, chars: str | None = None) -> Name:
        return Name(str.strip(self, chars))


def test_names_in_the_header(tmp_path, monkeypatch):
    """Names are compared with few others, whatever their number."""
    reader = csv_head.csv.reader

    class NameReader:
        """A reader of CSV whose fields are names that count."""

        def __init__(self, *args: Any, **options: Any) -> None:
            self._reader = reader(*args, **options)

        @property
        def line_num(self) -> int:
            return self._reader.line_num

        def __iter__(self) -> NameReader:
            return self

        def __next__(self) -> list[Name]:
            return [*map(Name, next(self._reader))]

    monkeypatch.setattr(csv_head.csv, "reader", NameReader)
    counts = []
    for columns in (200, 400):
        table(3, columns).to_csv(tmp_path / "t.csv", index=False)
        Name.compared = 0
        csv.CSVReader().columns(str(tmp_path / "t.csv"))
        counts.append(Name.compared + columns)
    assert counts[1] <= TWICE * counts[0]


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_columns_of_a_prediction(tmp_path, end):
    counts = []
    for columns in (400, 800):
        path = tmp_path / f"t{columns}.{end}"
        frame = table(700, columns)
        getattr(frame, f"to_{end}")(path, index=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = train(frame.iloc[:60], "y", features="linear")
        predict(model, path, tmp_path / "scores.csv")
        counts.append(calls(partial(predict, model, path, tmp_path / "scores.csv")))
    assert counts[1] <= TWICE * counts[0]


@pytest.mark.parametrize("kind", ["rows", "levels"])
def test_rows_and_levels(tmp_path, kind):
    counts = []
    for size in (400, 800):
        frame = table(size, 3) if kind == "rows" else table(1600, 3, levels=size)
        frame.to_csv(tmp_path / "t.csv", index=False)

        def both() -> None:
            model = train(tmp_path / "t.csv", "y", features="linear", categorical=["word"])
            predict(model, tmp_path / "t.csv", tmp_path / "scores.csv")

        both()
        counts.append(calls(both))
    assert counts[1] <= TWICE * counts[0]


@pytest.mark.parametrize("end", ["csv", "libsvm"])
def test_wrong_rows_are_located_in_one_pass(tmp_path, monkeypatch, end):
    """The text of a block is not gone through again for each of its wrong rows."""
    passes: list[Any] = []
    if end == "csv":
        lines_of_rows = csv_repair.lines_of_rows

        def counted(*args: Any) -> list[int]:
            passes.append(args)
            return lines_of_rows(*args)

        monkeypatch.setattr(csv_repair, "lines_of_rows", counted)
        text = "x,z,y\n" + "inf,1,0\n" * 300 + "1,2,1\n" * 20
    else:

        class Text(bytes):
            def split(self, *args: Any) -> list[bytes]:
                passes.append(args)
                return bytes.split(self, *args)

        text_blocks = libsvm.text_blocks
        monkeypatch.setattr(
            libsvm,
            "text_blocks",
            lambda *args: (block._replace(text=Text(block.text)) for block in text_blocks(*args)),
        )
        text = "1 1:inf\n" * 300 + "0 1:2\n" * 20
    (tmp_path / f"t.{end}").write_text(text)
    with pytest.warns(UserWarning, match="left out 300 broken parts"):
        list(read_chunks(tmp_path / f"t.{end}", "y" if end == "csv" else None, on_error="skip"))
    assert len(passes) <= 4
