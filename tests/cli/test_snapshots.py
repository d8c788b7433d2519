"""The words of thirty commands, as people see them."""

from __future__ import annotations

import json

import pytest
from snapshots import COMMANDS, RECORDED, run_all


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    return run_all(tmp_path_factory.mktemp("tables"))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_says_what_was_recorded(command, printed):
    assert printed[command] == json.loads(RECORDED.read_text("utf-8"))[command]
