"""The words of thirty commands, as people see them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from snapshots import COMMANDS, RECORDED, run_all

LONG_NUMBER = re.compile(r"-?\d+\.\d{7,}(?:e[-+]?\d+)?|-?\d+(?:\.\d+)?e-\d+")
SAME: dict[str, Any] = {"rel": 1e-8, "abs": 1e-10}  # processors round the last digits of sums differently


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    return run_all(tmp_path_factory.mktemp("tables"))


def words_and_numbers(shown: dict) -> tuple[dict, list[float]]:
    """What a command showed, and apart from it the numbers whose last digits nobody reads (those of `--json`)."""
    words = {}
    numbers: list[float] = []
    for stream, lines in shown.items():
        if stream == "code":
            words[stream] = lines
            continue
        words[stream] = [LONG_NUMBER.sub("<number>", line) for line in lines]
        numbers += [float(number) for line in lines for number in LONG_NUMBER.findall(line)]
    return words, numbers


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_says_what_was_recorded(command, printed):
    words, numbers = words_and_numbers(printed[command])
    words_recorded, numbers_recorded = words_and_numbers(json.loads(RECORDED.read_text("utf-8"))[command])
    assert words == words_recorded
    assert numbers == pytest.approx(numbers_recorded, **SAME)
