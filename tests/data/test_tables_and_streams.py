"""Tables and streams of the same file hold the same rows, each with its number in the file."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from vrspam.data.open import open_columns, open_stream, open_table, open_with
from vrspam.data.request import TableRequest

BROKEN = (4, 17)  # rows with a field too many
UNLABELLED = (9, 30)


@pytest.fixture
def path(tmp_path):
    """Forty rows whose first column is their number."""
    lines = ["row,town,sick"]
    for row in range(1, 41):
        label = "" if row in UNLABELLED else ("no", "yes")[row % 3 == 0]
        lines.append(f"{row},{'abcde'[row % 5]},{label}" + ",more" * (row in BROKEN))
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "t.csv"


def request(**more) -> TableRequest:
    return TableRequest("sick", skip_errors=True, include=["row"], **more)


def silent(function, *arguments, **named):
    """What a function returns; its warnings of what was left out are no matter here."""
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        return function(*arguments, **named)


def numbers(rows) -> list[int]:
    return rows.column("row").to_numpy().astype(int).tolist()


GOOD = [row for row in range(1, 41) if row not in BROKEN + UNLABELLED]


def test_a_table_and_a_stream_hold_the_same_rows(path):
    table = silent(open_table, path, request(), chunk_bytes=60)
    stream = silent(open_stream, path, request())
    of_stream = silent(stream.as_table)
    for held in (table, of_stream):
        assert numbers(held.rows) == held.places.tolist() == GOOD
        assert held.positive.tolist() == [row % 3 == 0 for row in GOOD]
    assert table.rows.equals(of_stream.rows)
    assert table.schema == stream.schema
    assert table.origin.unlabelled == stream.origin.unlabelled == len(UNLABELLED)
    np.testing.assert_array_equal(table.features(), of_stream.features())


def test_some_rows_keep_all_that_stands_beside_them(path):
    table = silent(open_table, path, request(roles={"groups": "town"}, raw={"by": ["row"]}))
    places = np.array([20, 3, 11])
    some = table.take(places)
    assert numbers(some.rows) == some.places.tolist() == [GOOD[place] for place in places]
    assert some.groups.tolist() == table.groups[places].tolist()
    assert some.positive.tolist() == table.positive[places].tolist()


@pytest.mark.parametrize("chunk_bytes", [40, 1 << 20])
@pytest.mark.parametrize("labels", [False, True])
def test_every_row_of_a_block_has_its_number(path, labels, chunk_bytes):
    schema = silent(open_table, path, request()).schema
    known = schema if labels else schema.without_target()
    stream = open_with(path, known, label="yes", keep=["row"], on_error="keep", chunk_bytes=chunk_bytes)
    blocks = silent(lambda: list(stream.blocks()))
    for block in blocks:
        if block.rows is not None:
            assert numbers(block.rows) == block.places.tolist()
        assert [int(text) for text in block.raw["row"].to_pylist()] == block.places.tolist()
    broken = [row.number for block in blocks for row in block.broken]
    unscored = sorted({*BROKEN, *UNLABELLED}) if labels else list(BROKEN)
    assert broken == unscored
    read = [place for block in blocks for place in block.places.tolist()]
    assert sorted(read + broken) == list(range(1, 41))


def test_columns_without_features(path):
    table = silent(open_columns, path, request(raw={"scores": ["row"], "by": ["town"]}))
    assert table.rows is None
    assert table.places.tolist() == GOOD
    assert table.raw["row"].to_pylist() == GOOD
    assert table.positive.tolist() == [row % 3 == 0 for row in GOOD]


def test_a_stream_is_read_as_often_as_needed(path):
    stream = silent(open_stream, path, request())
    first, second = (silent(lambda: [block.places.tolist() for block in stream.blocks()]) for _ in range(2))
    assert first == second
    reading = stream.read()
    silent(list, reading)
    assert reading.problems.count == len(BROKEN)
