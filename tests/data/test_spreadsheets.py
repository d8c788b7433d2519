"""Old Excel workbooks and OpenDocument tables are read as the same table in a workbook of today.

The two files of tests/fixtures/spreadsheets were written by xlwt and odfpy from `patients()`.
"""

from __future__ import annotations

import datetime as dt
import io
import shutil
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from vrspam.data import DataError, read_chunks
from vrspam.data.formats import guess_format
from vrspam.data.readers import spreadsheet

pytest.importorskip("pyarrow", reason="needs the extra vrspam[data]")
pytest.importorskip("openpyxl", reason="needs the extra vrspam[excel]")
pytest.importorskip("python_calamine", reason="needs the extra vrspam[excel]")

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "spreadsheets"
SHEETS = [FOLDER / "patients.xls", FOLDER / "patients.ods"]
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # dates are read as numbers; the .xls has two sheets


def patients() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": [20 + k % 40 for k in range(60)],
            "dose": [1.5 + 0.25 * (k % 7) for k in range(60)],
            "sex": [("f", "m")[k % 2] if k % 11 else None for k in range(60)],
            "day": [dt.date(2020, 1, 1) + dt.timedelta(days=13 * k) for k in range(60)],
            "seen": [bool(k % 3) for k in range(60)],
            "sick": [("no", "yes")[k % 5 < 2] for k in range(60)],
        }
    )


def rows_of(path: Path):
    chunks = read_chunks(path, "sick", missing="mean")
    X, y = zip(*chunks, strict=True)
    return chunks.feature_names_, np.concatenate(X), np.concatenate(y)


@pytest.mark.parametrize("path", SHEETS, ids=lambda path: path.suffix)
def test_the_same_table_as_in_a_workbook_of_today(path, tmp_path):
    patients().to_excel(tmp_path / "t.xlsx", index=False)
    names, X, y = rows_of(path)
    expected_names, expected_X, expected_y = rows_of(tmp_path / "t.xlsx")
    assert names == expected_names
    np.testing.assert_array_equal(X, expected_X)
    np.testing.assert_array_equal(y, expected_y)


@pytest.mark.parametrize("path", SHEETS, ids=lambda path: path.suffix)
def test_without_its_suffix_a_file_is_known_by_its_first_bytes(path, tmp_path):
    shutil.copy(path, tmp_path / "table")
    assert guess_format(str(tmp_path / "table")) == "spreadsheet"
    np.testing.assert_array_equal(rows_of(tmp_path / "table")[1], rows_of(path)[1])


def test_only_the_first_sheet_is_read():
    with pytest.warns(UserWarning, match="only the first of 2 sheets, 'patients', is read"):
        spreadsheet.read_spreadsheet.__wrapped__(str(SHEETS[0]), 0, 0)


@pytest.mark.parametrize("path", SHEETS, ids=lambda path: path.suffix)
def test_a_file_that_is_cut_off_is_named(path, tmp_path):
    whole = path.read_bytes()
    (tmp_path / path.name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="is cut off, damaged, or not a spreadsheet; save it again"):
        read_chunks(tmp_path / path.name, "sick")


def test_without_calamine_the_command_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(spreadsheet, "find_spec", lambda name: None)
    shutil.copy(SHEETS[0], tmp_path / "t.xls")
    with pytest.raises(DataError, match=r'one more package: pip install "vrspam\[excel\]"'):
        read_chunks(tmp_path / "t.xls", "sick")


def ods(path: Path, rows: str) -> Path:
    """The second fixture with other rows."""
    with zipfile.ZipFile(SHEETS[1]) as known, zipfile.ZipFile(path, "w") as written:
        for name in known.namelist():
            content = known.read(name)
            if name == "content.xml":
                head, _, rest = content.partition(b"<table:table-row")
                tail = rest[rest.index(b"</table:table>") :]
                content = head + rows.encode() + tail
            written.writestr(name, content)
    return path


def row(*cells: str, times: int = 1, columns: int = 1) -> str:
    inside = "".join(
        f'<table:table-cell office:value-type="string" table:number-columns-repeated="{columns}">'
        f"<text:p>{cell}</text:p></table:table-cell>"
        for cell in cells
    )
    return f'<table:table-row table:number-rows-repeated="{times}">{inside}</table:table-row>'


@pytest.mark.parametrize(("times", "columns"), [(10**9, 1), (10_000, 10_000), (1, 10**9)])
def test_a_small_file_of_very_many_cells_is_refused_before_it_fills_the_memory(times, columns, tmp_path):
    path = ods(tmp_path / "many.ods", row("a", "sick") + row("1", "yes", times=times, columns=columns))
    with pytest.raises(DataError, match="has more than 33,554,432 cells; save it as CSV"):
        read_chunks(path, "sick")


def test_empty_rows_to_the_end_of_a_sheet_do_not_count(tmp_path):
    table = row("a", "sick") + "".join(row(str(k % 9), ("no", "yes")[k % 2]) for k in range(30))
    empty = '<table:table-row table:number-rows-repeated="1048000"><table:table-cell/></table:table-row>'
    path = ods(tmp_path / "t.ods", table + empty)
    assert rows_of(path)[1][:, 0].tolist() == [k % 9 for k in range(30)]


def test_a_file_from_the_standard_input(monkeypatch):
    from vrspam.data.standard_input import standard_input

    class Input:
        buffer = io.BytesIO(SHEETS[1].read_bytes())

    monkeypatch.setattr(sys, "stdin", Input)
    standard_input.cache_clear()
    assert sum(len(X) for X, _ in read_chunks("-", "sick", missing="mean")) == 60
    standard_input.cache_clear()
