"""Every kind of text goes the whole way: frames of each library, files, new rows, model files, skops and clusters."""

from __future__ import annotations

import dataclasses
import datetime
import doctest
import pickle
import re
import warnings
from pathlib import Path

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers import learned_schema

from vrspam import AUCClassifierCV, trusted
from vrspam._utils.warnings import TextRead
from vrspam.data import Schema
from vrspam.export import to_python
from vrspam.tables import kinds
from vrspam.tables.decide import ColumnRules
from vrspam.tables.kinds import KINDS
from vrspam.tables.kinds.dates import Dates, part_text
from vrspam.tables.kinds.numbers import Numbers
from vrspam.tables.kinds.times import Times
from vrspam.tables.learner import TableLearner, complete, learn_schema
from vrspam.tool import load_model, predict, save_model, train

PAGE = Path(__file__).resolve().parents[2] / "docs" / "add_a_kind_of_text.md"
RNG = np.random.default_rng(0)
Y = np.arange(120) % 2
DAYS = pd.Timestamp("2021-03-01") + pd.to_timedelta(RNG.integers(0, 500, 120) + 200 * Y, unit="D")
#: Texts of each kind, and the numbers they mean; of dates, those of the first part.
EXAMPLES = {
    Numbers: ([f"{v:,.2f} EUR" for v in 1000.0 + np.arange(120) * 97.25], 1000.0 + np.arange(120) * 97.25),
    Dates: (DAYS.strftime("%d.%m.%Y").tolist(), 1970.0 + (DAYS - pd.Timestamp(0)).days.to_numpy() / 365.2425),
    Times: ([f"{k % 24:02d}:{k % 60:02d}" for k in range(120)], np.array([k % 24 + (k % 60) / 60 for k in range(120)])),
}
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}


def example(kind):
    cells, numbers = EXAMPLES[kind]
    return {"when": [None, "unknown", *cells[2:]], "age": ((np.arange(120) * 7) % 31 + 5.0 * Y).tolist()}, numbers


def test_every_kind_has_an_example():
    assert set(EXAMPLES) == set(KINDS)


@pytest.mark.parametrize(
    ("words", "numbers", "different", "is_read"),
    [(60, 60, 30, True), (61, 59, 30, False), (20, 80, 2, True), (20, 80, 1, False)],
)
def test_words_for_missing_are_no_more_than_half_of_the_cells(words, numbers, different, is_read):
    """As docs/tables.md says; empty cells do not count."""
    cells = ["?"] * words + [f"{1 + place % different},5" for place in range(numbers)]
    schema = learned_schema(pd.DataFrame({"dose": [*cells, *[""] * 30]}))
    assert ("dose" in schema.readings, "dose" in schema.categorical) == (is_read, not is_read)


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_in_parts_gives_the_schema_of_the_whole_and_its_numbers(kind, library):
    table, numbers = example(kind)
    frame = FRAMES[library](table)
    schema = learned_schema(frame)
    assert isinstance(schema.readings["when"], kind)
    blocks = [frame.slice(0, 50), frame.slice(50)] if library == "arrow" else [frame[:50], frame[50:]]
    with pytest.warns(TextRead, match="'when' holds text that was read as"):
        learned = learn_schema(block for block in blocks)
    assert learned.fill == pytest.approx(schema.fill, rel=1e-14)
    assert dataclasses.replace(learned, fill=schema.fill).to_dict() == schema.to_dict()
    parts = []
    for block in blocks:
        learner = TableLearner()
        learner.add(block)
        parts.append(pickle.loads(pickle.dumps(learner)))
    read, strays = schema.read(frame)
    merged = complete(parts[0].merge(parts[1]).finish(), [read])
    assert merged.to_dict() == schema.to_dict()
    made = schema.readings["when"].made("when")[0]
    np.testing.assert_allclose(np.asarray(read[made], dtype=float)[2:], numbers[2:], rtol=1e-12)
    assert strays["when"] == {"unknown": 1}
    assert Schema.from_dict(schema.to_dict()).readings == schema.readings
    assert schema.compare(frame).sentences() == []
    wrong = schema.compare(FRAMES[library]({**table, "age": [1000.0 + k for k in range(120)]}))
    assert [re.findall("far outside|100.0 %", said) for said in wrong.sentences()] == [["far outside", "100.0 %"]]


@pytest.mark.parametrize("library", FRAMES)
def test_dates_and_durations_as_such_add_up_too(library):
    spans = pd.to_timedelta(RNG.integers(1, 9000, 120), unit="s").to_pytimedelta()
    frame = FRAMES[library]({"day": DAYS.to_pydatetime().tolist(), "span": list(spans), "age": np.arange(120.0) % 7})
    schema = learned_schema(frame)
    assert {name: kind.words for name, kind in schema.readings.items()} == {"day": "dates", "span": "times"}
    learner = TableLearner()
    for start in (0, 40, 80):
        learner.add(frame[start : start + 40])
    read = schema.read(frame)[0]
    assert complete(learner.finish(), [read]).to_dict() == schema.to_dict()
    hours = np.array([span.total_seconds() / 3600 for span in spans])
    assert schema.ranges["span"] == pytest.approx((hours.min(), hours.max()))
    assert dict(zip(schema.numeric, schema.fill or (), strict=True))["span"] == pytest.approx(hours.mean())


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_column_without_values_in_the_first_block_is_read_as_the_later_ones_say(kind, library):
    table, _ = example(kind)
    gone = {**table, "when": [np.nan if library == "pandas" else None] * 120}
    blocks = [FRAMES[library](gone), FRAMES[library](table)]
    with pytest.warns(TextRead, match="'when' holds text that was read as"):
        learned = learn_schema(blocks)
    whole = learned_schema(blocks[1])
    assert learned.readings == whole.readings
    assert learned.ranges == whole.ranges
    assert learned.fill == pytest.approx(whole.fill, rel=1e-14)
    read, strays = learned.read(blocks[0])
    assert strays == {}
    assert np.isnan(np.asarray(read[learned.readings["when"].made("when")[0]], dtype=float)).all()
    for order in (blocks, blocks[::-1]):  # and merged
        parts = [TableLearner(), TableLearner()]
        for part, block in zip(parts, order, strict=True):
            part.add(block)
        assert parts[0].merge(parts[1]).finish().readings == whole.readings


def test_a_date_column_is_spoken_of_once_and_a_number_is_no_date_by_its_name():
    frame = pd.DataFrame({"when": DAYS, "tenure (year)": np.arange(120.0) % 30 + 1, "age": np.arange(120.0) % 7})
    schema = learned_schema(frame)
    assert len(schema.made()) == 3
    assert schema.compare(frame.assign(when=pd.NaT)).sentences() == [
        "column 'when' has no value in any row, and had values in training"
    ]
    assert schema.compare(frame.assign(**{"tenure (year)": 340.0})).sentences() == [
        "column 'tenure (year)' is far outside the range of training, 1 to 30, in 100.0 % of the rows: check its unit"
    ]
    (late,) = schema.compare(frame.assign(when=DAYS + pd.Timedelta(days=9000))).sentences()
    first, last = DAYS.min().date(), DAYS.max().date()
    words = (
        f"column 'when (year)' is far outside the range of training, {first} to {last}, in 100.0 % of the rows: a new"
    )
    assert late.startswith(words)


def test_a_frame_of_which_nothing_is_left_is_told_why():
    with pytest.raises(ValueError, match="No feature is left: identifiers and columns that are left out do not count"):
        learn_schema(pd.DataFrame({"when": DAYS}), ColumnRules(dates="drop"))
    with pytest.raises(ValueError, match="Every column looks like an identifier: give at least one"):
        learn_schema(pd.DataFrame({"name": [f"n{k}" for k in range(60)]}), ColumnRules(dates="drop"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_goes_through_files_models_and_skops(kind, tmp_path):
    table, _ = example(kind)
    frame = pd.DataFrame(table)
    with pytest.warns(TextRead, match=f"text that was read as {kind.words}"):
        model = AUCClassifierCV(features="additive", cv=2, random_state=0).fit(frame, Y)
    io = pytest.importorskip("skops.io")
    stored = io.dumps(model)
    assert set(io.get_untrusted_types(data=stored)) <= set(trusted.SKOPS_TYPES)
    again = io.loads(stored, trusted=trusted.SKOPS_TYPES)
    np.testing.assert_array_equal(again.decision_function(frame), model.decision_function(frame))
    frame.assign(sick=Y).to_csv(tmp_path / "rows.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        save_model(train(tmp_path / "rows.csv", "sick", features="additive", n_splits=2), tmp_path / "m.json")
        found = load_model(tmp_path / "m.json")
        assert predict(found, tmp_path / "rows.csv", tmp_path / "scores.csv") == 120
    assert isinstance(found.schema.readings["when"], kind)
    scores = pd.read_csv(tmp_path / "scores.csv")["score"]
    assert np.isfinite(scores).all()
    assert np.ptp(scores[2:]) > 0.0
    assert re.search("when", to_python(found))


def test_the_page_is_followed_literally(monkeypatch, tmp_path):
    """The class of the page, added to the list as it says, is read from a file, stored and used on new rows."""
    monkeypatch.setattr(kinds, "KINDS", kinds.KINDS)
    names: dict[str, object] = {}
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if "as it was" not in line]
    found = doctest.DocTestParser().get_doctest("\n".join(lines), names, "page", None, 0)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    runner = doctest.DocTestRunner(optionflags=flags)
    runner.run(found, clear_globs=False)
    assert runner.summarize(verbose=False).failed == 0
    heights = [f"{5 + k % 2} ft {k % 11} in" for k in range(120)]
    table = pd.DataFrame({"height": heights, "age": np.arange(120.0) % 17, "sick": Y})
    table.to_csv(tmp_path / "rows.csv", index=False)
    model = train(tmp_path / "rows.csv", "sick", features="linear", n_splits=2)
    assert any("read as heights, in inches ('5 ft 0 in', '6 ft 1 in')" in note for note in model.training["warnings"])
    save_model(model, tmp_path / "m.json")
    assert load_model(tmp_path / "m.json").schema.readings["height"] == found.globs["Heights"]()


def test_numbers_of_a_part_are_written_as_people_write_them():
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    assert [part_text("month", number) for number in range(1, 13)] == months
    weekdays = [part_text("weekday", number) for number in range(1, 8)]
    assert weekdays == [f"{pd.Timestamp('2024-01-01') + pd.Timedelta(days=day):%a}" for day in range(7)]  # a Monday
    assert part_text("hour", 10.0) == "10 h"
    assert Numbers().show("", 1234.5) == "1234.5"


def test_more_than_half_of_the_texts_say_what_they_look_like():
    assert kinds.looks_like(["1.5", "2.5", "3.5", "x"]) == "numbers"
    assert kinds.looks_like(["1.5", "2.5", "x", "y"]) is None


def test_no_file_but_the_named_ones_is_needed_for_a_kind():
    """`Times` is known by its own file and the list alone, and by what reads columns whose type is times."""
    source = Path(kinds.__file__).resolve().parents[2]
    naming = {path.relative_to(source).as_posix() for path in source.rglob("*.py") if "kinds.times" in path.read_text()}
    assert naming == {"tables/kinds/__init__.py", "tables/kinds/dates.py", "data/first_look.py"}


@pytest.mark.parametrize("kind", [Numbers(), Dates(), Times()])
def test_a_column_without_cells_has_no_number_and_nothing_that_cannot_be_read(kind):
    column = nw.from_native(pl.Series("empty", [None, None], pl.String), series_only=True)
    values, unreadable = kind.values(column)
    assert np.isnan(values).all()
    assert unreadable.tolist() == [False, False]


@pytest.mark.parametrize(
    ("kind", "cells"),
    [
        (Numbers(), ["(5.5)", "3", "-2", None, "(x)"]),
        (Dates("dmy"), ["21.12.2020", "30.02.2020", "Dec 3 2020", None, "1:30"]),
        (Times(), ["8:30 pm", "13:00 pm", "26:15", None, "0:30 am"]),
    ],
)
def test_a_column_is_read_as_each_of_its_cells(kind, cells):
    values, unreadable = kind.values(nw.from_native(pl.Series("cells", cells), series_only=True))
    expected = [np.nan if cell is None else kind.number(cell) for cell in cells]
    assert all(isinstance(number, float) for number in expected)
    np.testing.assert_array_equal(values, expected)
    assert unreadable.tolist() == [cell is not None and np.isnan(kind.number(cell)) for cell in cells]


def test_objects_have_the_kind_of_their_type():
    for cells, kind in (
        ([datetime.time(8, 30), None], Times()),
        ([datetime.date(2020, 2, 1), None], Dates()),
        (["8:30", None], None),
        ([8.5, None], None),
    ):
        column = nw.from_native(pd.Series(cells, dtype=object), series_only=True)
        assert kinds.typed_kind(column) == kind


FORMS_OF_DATES = {
    "dmy": ["%d.%m.%Y", "%d/%m/%y", "%d.%m.%Y %H:%M:%S"],
    "mdy": ["%m/%d/%Y", "%m/%d/%Y %I:%M %p"],
    "ymd": ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S.%f", "%d %b %Y", "%b %d, %Y", "%B %d %Y %H:%M"],
}


@pytest.mark.parametrize(
    ("order", "form"), [(order, form) for order, forms in FORMS_OF_DATES.items() for form in forms]
)
def test_a_date_is_the_moment_that_was_written(order, form):
    first = datetime.datetime(1999, 1, 31, 23, 59, 58, 123456)
    for days in range(0, 800, 37):
        moment = datetime.datetime.strptime((first + datetime.timedelta(days, 3723)).strftime(form), form)
        text = moment.strftime(form)
        since = moment - datetime.datetime(1970, 1, 1)
        assert Dates(order).number(text) == since // datetime.timedelta(microseconds=1)
        column = nw.from_native(pl.Series([text, None]), series_only=True)
        parts, unreadable = Dates(order).read(column)
        expected = [
            1970.0 + since.total_seconds() / 86_400.0 / 365.2425,
            moment.month,
            moment.isoweekday(),
            moment.hour,
        ]
        np.testing.assert_allclose([part[0] for part in parts], expected, rtol=1e-12)
        assert np.isnan([part[1] for part in parts]).all()
        assert not unreadable.any()


@pytest.mark.parametrize("text", ["123.4.2020", "1.2.123", "30.2.2020", "1.13.2020", "Foo 3 2020", "3 Dec 02020"])
def test_what_is_no_date(text):
    assert np.isnan(Dates("dmy").number(text))


def test_a_fraction_of_a_second_beyond_microseconds_is_cut_off():
    assert Dates().number("1970-01-01 00:00:00.123456789") == 123_456


def test_formats_that_are_not_known_are_refused():
    assert Numbers().check()
    assert not Numbers(decimal=";").check()
    assert not Numbers(unit="parsec").check()


def test_what_counts_as_missing_is_shown_from_the_most_frequent_on():
    assert kinds.missing.count_missing({"a": 1, "?": 5}) == "6 values that are not ('?', 'a') count as missing"
