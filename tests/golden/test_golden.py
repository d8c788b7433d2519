"""Twenty tables through train, evaluate, predict, explain, report and export: the numbers that were recorded, to 1e-10.

Golden values are the output of an earlier state of this package. They do not show that a number is right (the other
tests do), but that a move of code has not changed it.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
from golden_runs import command_options, flat, public_surface, read_json, run_table, split_words
from golden_tables import TABLES

NUMBERS, WORDS = read_json("numbers.json"), read_json("words.json")
# Certificates and objectives near 0 are sums of rounding errors; they are bounded, not compared.
ROUNDING = ("gap", "relative_gap", "stationarity", "relative_stationarity")


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> dict[str, Any]:
    return {}


def values_of(found: dict[str, Any], table: Any, folder: Any) -> dict[str, Any]:
    """What the commands give, run once for each table."""
    if table.name not in found:
        found[table.name] = {command: split_words(said) for command, said in run_table(table, folder).items()}
    return found[table.name]


def differs(new: Any, old: Any, size: float, most: float = 1e-10) -> bool:
    if new is None or old is None or isinstance(old, bool):
        return new is not old
    return not math.isclose(new, old, rel_tol=most, abs_tol=most * size)


@pytest.mark.parametrize("table", TABLES, ids=[table.name for table in TABLES])
def test_numbers_are_those_that_were_recorded(table, found, tmp_path):
    recorded = NUMBERS[table.name]
    for command, (numbers, _) in values_of(found, table, tmp_path).items():
        assert sorted(numbers) == sorted(recorded[command]), command
        for place, old in recorded[command].items():
            last = place.rpartition(".")[2]
            if last in ROUNDING:
                assert numbers[place] <= max(10.0 * old, 1e-12), (command, place)
                continue
            # scores and their curves have the unit of the table's scores
            size = recorded["predict"]["score.spread"]
            most = table.explained if command == "explain" else 1e-10
            assert not differs(numbers[place], old, size, most), (command, place, numbers[place], old)


@pytest.mark.parametrize("table", TABLES, ids=[table.name for table in TABLES])
def test_words_are_those_that_were_recorded(table, found, tmp_path):
    for command, (_, words) in values_of(found, table, tmp_path).items():
        assert words == WORDS[table.name][command], command


def test_public_names_keep_their_parameters():
    found = public_surface()
    for name, recorded in read_json("names.json").items():
        assert name in found, name
        for parameter, default in (recorded or {}).items():
            assert (found[name] or {}).get(parameter) == default, (name, parameter)


def test_commands_keep_their_options():
    assert command_options() == read_json("options.json")


def test_a_changed_number_is_seen():
    assert differs(1.0 + 2e-10, 1.0, 0.0)
    assert not differs(1.0 + 1e-11, 1.0, 0.0)
    assert differs(None, 1.0, 1.0)
    assert flat({"grid": [1.0, 2.0, 3.0, 4.0, 5.0]}) != flat({"grid": [1.0, 2.0, 3.0, 5.0, 4.0]})
