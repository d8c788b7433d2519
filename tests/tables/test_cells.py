"""One odd cell: what a kind of text accepts becomes a number, anything else is one missing value, in every engine.

A cell is read by `KindOfText.number`; the columns of every library, and files, must agree with it.
"""

from __future__ import annotations

import time
import warnings
import zoneinfo

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fuzz_cells import CELLS, KINDS, LIBRARIES, disagreements, series
from helpers import learned_schema
from hypothesis import given, settings
from hypothesis import strategies as st
from laws_support import examples
from tool_data import open_planned

from vrspam import AUCClassifierCV
from vrspam._utils.texts import show_texts
from vrspam._utils.warnings import UnseenValues
from vrspam.cli import main
from vrspam.data import read_chunks
from vrspam.data.readers.csv_repair import without_spaces
from vrspam.tables.kinds import find_kind, looks_like, typed_kind
from vrspam.tables.kinds.dates import Dates
from vrspam.tables.kinds.numbers import Numbers
from vrspam.tables.kinds.times import Times
from vrspam.tool import check, predict, train
from vrspam.tool.plan import TrainPlan

RNG = np.random.default_rng(0)
Y = np.arange(400) % 2
AMOUNTS = RNG.lognormal(3.0, 1.0, 400).round(2) + 5.0 * Y
ODD = ["--5", "-$-5", "--,5", "(-5)", "1e999", "9" * 400, "+-5", "1.2.3", "5\x00", "$", "e5", "", "\u22125\u2212"]
STYLES = {"plain": "{:.2f}", "money": "${:,.2f}", "percent": "{:.2f} %"}


@settings(max_examples=examples(50), deadline=None)  # `make fuzz` reads thousands
@given(st.lists(st.one_of(st.text(max_size=20), CELLS), max_size=8))
def test_columns_of_every_library_are_read_as_their_cells(cells):
    assert disagreements(cells) == []


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("library", LIBRARIES)
def test_an_odd_cell_of_a_frame_is_one_missing_value(library, style, odd):
    cells = [STYLES[style].format(value) for value in AMOUNTS]
    frames = {"odd": [*cells[:7], odd, *cells[8:]], "none": [*cells[:7], None, *cells[8:]]}
    read = {}
    for name, column in frames.items():
        table = LIBRARIES[library]({"amount": column, "age": Y + 0.5})
        rows, strays = learned_schema(table).read(table)
        read[name] = np.asarray(rows["amount"], dtype=float)
        assert strays == ({"amount": {odd: 1}} if name == "odd" else {})
    np.testing.assert_array_equal(read["odd"], read["none"])
    np.testing.assert_allclose(np.delete(read["odd"], 7), np.delete(AMOUNTS, 7), rtol=1e-12)


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("place", [3, 390])
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("odd", ["--5", "-$-5", "--,5", "+-5", "1.2.3", "$"])
def test_an_odd_cell_of_a_file_is_one_missing_value(tmp_path, odd, style, place, streaming):
    cells = [STYLES[style].format(value) for value in AMOUNTS]
    cells[place] = odd
    table = pd.DataFrame({"amount": cells, "age": RNG.normal(size=400), "sick": Y})
    table.to_csv(tmp_path / "rows.csv", index=False)
    pq.write_table(pa.Table.from_pandas(table), tmp_path / "rows.parquet")
    for name in ("rows.csv", "rows.parquet"):
        opened = open_planned(tmp_path / name, TrainPlan("sick", streaming=streaming))
        table = opened.as_table() if streaming else opened
        rows, positive = table.rows, table.positive
        assert positive.size == 400
        amounts = np.asarray(rows.column("amount"), dtype=float)
        assert np.flatnonzero(np.isnan(amounts)).tolist() == [place]
        np.testing.assert_allclose(np.delete(amounts, place), np.delete(AMOUNTS, place), rtol=1e-12)


SINGLE = {"1 000": 1000.0, "1\u00a0000": 1000.0, "€-5": -5.0, "-€5": -5.0, "007": 7.0, "5\x1f": np.nan, "\t5 ": 5.0}


@pytest.mark.parametrize("odd", SINGLE)
def test_a_single_cell_in_another_form_is_the_same_number_in_every_reader(tmp_path, odd):
    cells = [f"{value:.2f}" for value in AMOUNTS]
    cells[7] = odd
    table = pd.DataFrame({"amount": cells, "age": RNG.normal(size=400), "sick": Y})
    table.to_csv(tmp_path / "rows.csv", index=False)
    table.to_parquet(tmp_path / "rows.parquet")
    table.astype({"amount": "category"}).to_parquet(tmp_path / "dictionary.parquet")
    table.astype({"amount": "category"}).to_feather(tmp_path / "dictionary.feather")
    files = [tmp_path / f"{name}" for name in ("rows.csv", "rows.parquet", "dictionary.parquet", "dictionary.feather")]
    for rows in (*files, table, pl.from_pandas(table), pa.Table.from_pandas(table)):
        read = open_planned(rows, TrainPlan("sick")).rows
        amounts = np.asarray(read.column("amount"), dtype=float)
        np.testing.assert_allclose(amounts, [*AMOUNTS[:7], SINGLE[odd], *AMOUNTS[8:]], rtol=1e-12)


def test_repeated_text_of_a_file_that_is_numbers_is_scored(tmp_path):
    """Parquet and Feather keep repeated text as a dictionary: training read it as numbers, and scoring refused it."""
    cells = [f"{value:.2f}" for value in AMOUNTS]
    table = pd.DataFrame({"amount": [*cells[:7], "?", *cells[8:]], "age": RNG.normal(size=400), "sick": Y})
    table.to_parquet(tmp_path / "text.parquet")
    table.astype({"amount": "category"}).to_parquet(tmp_path / "dictionary.parquet")
    found = {}
    for name in ("text", "dictionary"):
        model = train(tmp_path / f"{name}.parquet", "sick", features="additive", n_splits=2)
        assert predict(model, tmp_path / f"{name}.parquet", tmp_path / "scores.csv") == 400
        found[name] = pd.read_csv(tmp_path / "scores.csv")["score"]
    assert found["text"].notna().all()
    np.testing.assert_allclose(found["dictionary"], found["text"], rtol=1e-12)


def test_repeated_text_that_cannot_be_read_is_told_as_any_other(tmp_path):
    table = pd.DataFrame({"amount": [f"${v:,.2f}" for v in AMOUNTS], "age": RNG.normal(size=400), "sick": Y})
    model = train(table, "sick", features="linear", n_splits=2)
    table["amount"] = ["abc" if k % 3 == 0 else amount for k, amount in enumerate(table["amount"])]
    for kind in ("str", "category"):
        table.astype({"amount": kind}).to_parquet(tmp_path / "new.parquet")
        with pytest.warns(UnseenValues, match=r"'amount' holds text where .* in 33\.5 % of the rows \('abc'\)"):
            assert predict(model, tmp_path / "new.parquet", tmp_path / "scores.csv") == 400
        table.assign(amount="abc").astype({"amount": kind}).to_parquet(tmp_path / "none.parquet")
        with pytest.raises(ValueError, match=r"'amount' holds text where .* in 100\.0 % of the rows \('abc'\)"):
            predict(model, tmp_path / "none.parquet", tmp_path / "scores.csv")


@pytest.mark.parametrize("kind", ["string_view", "dictionary of string_view"])
@pytest.mark.parametrize("end", ["parquet", "arrow"])
def test_views_of_text_that_is_numbers_are_read(tmp_path, kind, end):
    texts = pa.array([f"${v:,.2f}" for v in AMOUNTS])
    if kind.startswith("dictionary"):
        coded = texts.dictionary_encode()
        amounts = pa.DictionaryArray.from_arrays(coded.indices, coded.dictionary.cast(pa.string_view()))
    else:
        amounts = texts.cast(pa.string_view())
    table, path = pa.table({"amount": amounts, "sick": Y}), tmp_path / f"rows.{end}"
    try:
        if end == "parquet":
            pq.write_table(table, path)
        else:
            with pa.ipc.new_file(path, table.schema) as file:
                file.write_table(table)
    except pa.ArrowNotImplementedError as error:
        pytest.skip(str(error))
    with pytest.warns(UserWarning, match="'amount' holds text that was read as numbers"):
        read = np.concatenate([X for X, _ in read_chunks(path, "sick")])
    np.testing.assert_allclose(read[:, 0], AMOUNTS, rtol=1e-12)
    read = open_planned(path, TrainPlan("sick")).rows
    np.testing.assert_allclose(np.asarray(read.column("amount"), dtype=float), AMOUNTS, rtol=1e-12)


def test_a_broken_row_names_the_parameter_of_the_function_that_was_called(tmp_path):
    (tmp_path / "rows.csv").write_text("age,sick\n" + "1,0\n2,1\n" * 40 + "inf,1\n", "utf-8")
    with pytest.raises(ValueError, match="or give skip_errors=True to leave it out"):
        train(tmp_path / "rows.csv", "sick", features="linear")
    with pytest.raises(ValueError, match="or give on_error='skip' to leave it out"):
        list(read_chunks(tmp_path / "rows.csv", "sick"))


def test_fit_and_new_rows_with_an_odd_cell():
    frame = pd.DataFrame({"amount": [f"${value:,.2f}" for value in AMOUNTS], "age": RNG.normal(size=400)})
    odd = frame.copy()
    odd.loc[7, "amount"] = "-$-5"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = AUCClassifierCV(features="additive", cv=2).fit(odd, Y)
        scores = model.decision_function(frame)
        np.testing.assert_array_equal(np.delete(model.decision_function(odd), 7), np.delete(scores, 7))


def test_a_command_skips_nothing_for_an_odd_cell(tmp_path, capsys):
    values = RNG.normal(size=120_000) + np.arange(120_000) % 2
    lines = [f"{value:.4f},{row % 2}\n" for row, value in enumerate(values)]
    lines[80_000] = "--5,0\n"
    (tmp_path / "rows.csv").write_text("value,sick\n" + "".join(lines), "utf-8")
    args = [str(tmp_path / "rows.csv"), "--model", str(tmp_path / "m.json")]
    fast = ["--target", "sick", "--features", "linear", "--skip-errors", "--folds", "2"]
    assert main(["train", *args, *fast]) == 0
    capsys.readouterr()
    model, rows, scores = (str(tmp_path / name) for name in ("m.json", "rows.csv", "scores.csv"))
    assert main(["predict", model, rows, "--out", scores]) == 0
    assert len(pd.read_csv(scores)) == 120_000


@pytest.mark.parametrize("library", LIBRARIES)
def test_long_zip_codes_are_names(library, tmp_path):
    codes = [f"{10_000 + 37 * (k % 50)}" for k in range(400)]
    codes[9], codes[90] = "12345-6789", "54321-1234"
    schema = learned_schema(LIBRARIES[library]({"zip": codes, "age": Y + 0.5}))
    assert "54321-1234" in schema.categorical["zip"]
    pd.DataFrame({"zip": codes, "age": RNG.normal(size=400), "sick": Y}).to_csv(tmp_path / "rows.csv", index=False)
    assert "12345-6789" in open_planned(tmp_path / "rows.csv", TrainPlan("sick")).schema.categorical["zip"]
    amounts = [f"{value:.2f}" for value in AMOUNTS]  # among other numbers it is a mistake
    schema = learned_schema(LIBRARIES[library]({"amount": [*amounts[:-1], "12345-6789"], "age": Y + 0.5}))
    assert schema.numeric == ("amount", "age")


def test_codes_with_zeros_in_front_are_names_without_a_word():
    frame = pd.DataFrame({"zip": [f"{2_101 + 37 * (k % 50):05d}" for k in range(400)], "age": RNG.normal(size=400)})
    found = {one.code for one in check(frame.assign(sick=Y), "sick", ignore=["few-rows"])}
    assert "unread-text" not in found
    found = {one.code for one in check(frame.assign(sick=Y, zip=frame["zip"].str.replace("0", "<")), "sick")}
    assert "unread-text" in found


def test_a_long_cell_is_not_shown_whole():
    days = [f"2020-{1 + k % 12:02d}-{1 + k % 28:02d}" for k in range(400)]
    days[7] = "2020-01-01 10:30" + " ," * 20_000 + "x"
    (found,) = [one for one in check(pd.DataFrame({"day": days, "sick": Y, "age": AMOUNTS}), "sick") if "10:30" in one]
    assert "2020-01-01 10:30" in found
    assert len(found) < 400
    assert show_texts(["Yes ", "a" * 100]) == f"'Yes ', '{'a' * 30}…{'a' * 29}'"


def test_dates_of_every_time_zone_are_read_in_a_frame_of_pandas():
    days = pd.Series(pd.date_range("2021-06-01 10:30", periods=3, freq="40h"))
    local = days.to_numpy().astype("datetime64[us]")
    for zone in sorted(zoneinfo.available_timezones()):
        column = nw.from_native(days.dt.tz_localize(zone), series_only=True)
        assert typed_kind(column) == Dates(), zone
        np.testing.assert_array_equal(Dates().moments(column)[0], local, err_msg=zone)
    frame = pd.DataFrame({"day": days.dt.tz_localize("America/New_York"), "age": [1.0, 2.0, 4.0]})
    assert learned_schema(frame).readings["day"].words == "dates"


LONG = {
    "blanks behind a time": lambda n: "2020-01-01 10:30" + " " * n + "x",
    "blanks before a time": lambda n: "2020-01-01 " + " " * n + "x",
    "blanks in a date": lambda n: "21" + " " * n + "Dec" + " " * n + "x",
    "blanks behind a month": lambda n: "December" + " " * n + "21," + " " * n + "x",
    "a day of the week": lambda n: "Mon" + "a" * n + " " * n + "x",
    "digits": lambda n: "1" * n + "x",
    "digits on both sides": lambda n: "1" * n + "." + "1" * n + "x",
    "thousands": lambda n: "1" + ",111" * n + "x",
    "signs": lambda n: "-" * n + "5",
    "powers": lambda n: "1e" + "5" * n + "x",
    "seconds": lambda n: "10:30:15." + "1" * n + "x",
    "seconds and blanks": lambda n: "10:30:15" + " " * n + "pm",
    "parentheses": lambda n: "(" * n + "5" + ")" * n,
    "words": lambda n: "a" * n,
}


@pytest.mark.parametrize("what", LONG)
def test_time_to_read_a_cell_is_linear_in_its_length(what):
    kinds = [Dates(order) for order in ("ymd", "dmy", "mdy")] + [Times(), *KINDS]

    def seconds(n):
        text = LONG[what](n)
        started = time.process_time()
        find_kind({text: 1, text + "y": 1})
        looks_like([text, text + "y"])
        for kind in kinds:
            kind.number(text)
            if kind.nearly is not None:
                kind.nearly.fullmatch(text)
        if isinstance(kinds[-1], Numbers):
            kinds[-1].values(series("pandas", [text]))
        return time.process_time() - started

    short = min(seconds(20_000) for _ in range(3))
    assert min(seconds(40_000) for _ in range(3)) < 3.0 * short + 0.05


def test_time_to_leave_out_spaces_is_linear_in_their_number():
    def seconds(n):
        text = (b"1," + b" " * n + b"2\n") * 20
        started = time.process_time()
        assert without_spaces(text, ",") == b"1,2\n" * 20
        return time.process_time() - started

    short = min(seconds(50_000) for _ in range(3))
    assert min(seconds(100_000) for _ in range(3)) < 3.0 * short + 0.05


def test_a_file_with_a_long_cell_is_read_in_no_time(tmp_path):
    days = [f"2021-{1 + k % 12:02d}-{1 + k % 28:02d} 10:30" for k in range(400)]
    days[5] += " " * 150_000 + "x"
    pl.DataFrame({"day": days, "age": RNG.normal(size=400), "sick": Y}).write_csv(tmp_path / "rows.csv")
    started = time.process_time()
    opened = open_planned(tmp_path / "rows.csv", TrainPlan("sick"))
    assert time.process_time() - started < 20.0
    assert isinstance(opened.schema.readings["day"], Dates)
