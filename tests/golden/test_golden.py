"""Twenty tables through train, evaluate, predict, explain, report and export: the numbers that were recorded, to 1e-10.

Golden values are the output of an earlier state of this package. They do not show that a number is right (the other
tests do), but that a move of code has not changed it.
"""

from __future__ import annotations

from typing import Any

import pytest
from golden_runs import command_options, differs, flat, moved, public_surface, read_json, renew, run_table, split_words
from golden_tables import TABLES

NUMBERS, WORDS = read_json("numbers.json"), read_json("words.json")


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> dict[str, Any]:
    return {}


def values_of(found: dict[str, Any], table: Any, folder: Any) -> dict[str, Any]:
    """What the commands give, run once for each table."""
    if table.name not in found:
        found[table.name] = {command: split_words(said) for command, said in run_table(table, folder).items()}
    return found[table.name]


@pytest.mark.parametrize("table", TABLES, ids=[table.name for table in TABLES])
def test_numbers_are_those_that_were_recorded(table, found, tmp_path):
    recorded = NUMBERS[table.name]
    spread = recorded["predict"]["score.spread"]
    for command, (numbers, _) in values_of(found, table, tmp_path).items():
        assert recorded[command].keys() - numbers.keys() == set(), command  # new places are no fault
        for place, old in recorded[command].items():
            new = numbers[place]
            assert not moved(table, command, place, new, old, spread), (command, place, new, old)


@pytest.mark.parametrize("table", TABLES, ids=[table.name for table in TABLES])
def test_words_are_those_that_were_recorded(table, found, tmp_path):
    for command, (_, words) in values_of(found, table, tmp_path).items():
        recorded = WORDS[table.name][command]
        assert {place: words.get(place) for place in recorded} == recorded, command


def test_public_names_keep_their_parameters():
    found = public_surface()
    for name, recorded in read_json("names.json").items():
        assert name in found, name
        for parameter, default in (recorded or {}).items():
            assert (found[name] or {}).get(parameter) == default, (name, parameter)


def test_commands_keep_their_options():
    found, recorded = command_options(), read_json("options.json")
    assert recorded.keys() - found.keys() == set()
    assert {option: found[option] for option in recorded} == recorded


def test_a_changed_number_is_seen():
    assert differs(1.0 + 2e-10, 1.0, 0.0)
    assert not differs(1.0 + 1e-11, 1.0, 0.0)
    assert differs(None, 1.0, 1.0)
    assert flat({"grid": [1.0, 2.0, 3.0, 4.0, 5.0]}) != flat({"grid": [1.0, 2.0, 3.0, 5.0, 4.0]})


def test_a_renewal_writes_only_what_moved():
    recorded = {"train": {"same": 2.0, "near": 1.0, "moved": 1.0, "gone": 5.0, "gap": 1e-9, "none": None}}
    recorded["predict"] = {"score.spread": 3.0, "score.0": 1e-15}
    numbers = {"train": {"same": 2.0, "near": 1.0 + 1e-11, "moved": 1.001, "gap": 8e-9, "none": 1.0, "new": 7}}
    numbers["predict"] = {"score.spread": 3.0, "score.0": -1e-12}
    renewed = renew(TABLES[0], numbers, recorded)
    assert renewed["train"] == {"same": 2.0, "near": 1.0, "moved": 1.001, "gap": 1e-9, "none": 1.0, "new": 7}
    assert renewed["predict"] == recorded["predict"]
    assert renew(TABLES[0], numbers, {}) == numbers  # a table that is new
