"""Charts in a workbook change nothing: the first sheet with a table is read, wherever charts stand, drawn or empty."""

from __future__ import annotations

import warnings
from itertools import permutations

import pytest

from vrspam.data import DataError, read_chunks

openpyxl = pytest.importorskip("openpyxl")
ROWS = [("age", "town", "sick"), *((20 + place, "abc"[place % 3], place % 2) for place in range(12))]


def make_workbook(path, sheets):
    from openpyxl.chart import BarChart, Reference

    book = openpyxl.Workbook()
    table = book.active
    for row in ROWS:
        table.append(row)
    for place, sheet in enumerate(sheets):
        if sheet == "table":
            book.move_sheet(table, place - book.index(table))
            continue
        chart = book.create_chartsheet(f"sheet {place}", place)
        if sheet == "chart":
            drawn = BarChart()
            drawn.add_data(Reference(table, 1, 1, 1, 9))
            chart.add_chart(drawn)
    if "table" not in sheets:
        book.remove(table)
    book.save(path)


@pytest.mark.parametrize("sheets", sorted(set(permutations(["table", "chart", "empty"])) | {("empty", "table")}))
def test_charts_are_no_tables(tmp_path, sheets):
    make_workbook(tmp_path / "t.xlsx", sheets)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # there is one table, so nothing to say about others
        [(X, y)] = read_chunks(tmp_path / "t.xlsx", target="sick")
    assert y.tolist() == [row[2] for row in ROWS[1:]]
    assert X[:, 0].tolist() == [row[0] for row in ROWS[1:]]


@pytest.mark.parametrize("sheets", [("empty",), ("chart", "empty")])
def test_a_workbook_of_charts_alone_is_refused(tmp_path, sheets):
    make_workbook(tmp_path / "t.xlsx", sheets)
    with pytest.raises(DataError, match="only charts"):
        read_chunks(tmp_path / "t.xlsx", target="sick")
