"""Every command opens its table once: a file that is large, or that comes through a pipe, is read a single time."""

from __future__ import annotations

import builtins
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tool_data import patients

from vrspam.cli import main

OPENERS = [(builtins, "open"), (io, "open"), (pa, "memory_map"), (pa, "OSFile"), (pa, "input_stream")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("opened")
    patients(200).to_csv(folder / "table.csv", index=False)
    assert (
        main(
            [
                "train",
                str(folder / "table.csv"),
                "--target",
                "sick",
                "--features",
                "linear",
                "--model",
                str(folder / "m.json"),
            ]
        )
        == 0
    )
    return folder


def count_openings(path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Watch everything that opens files; the function that is returned says how often it was this one."""
    opened: list[Any] = []

    def watched(original: Any) -> Any:
        def open_file(file: Any, *arguments: Any, **options: Any) -> Any:
            opened.append(file)
            return original(file, *arguments, **options)

        return open_file

    for module, name in OPENERS:
        monkeypatch.setattr(module, name, watched(getattr(module, name)))
    return lambda: sum(str(file) == str(path) for file in opened)


@pytest.mark.parametrize(
    "command",
    [
        "train {table} --target sick --features linear --model {folder}/again.json",
        "predict {folder}/m.json {table} --out {folder}/scores.csv",
        "evaluate {folder}/m.json {table}",
        "report {table} --target sick --features linear --html {folder}/page.html",
        "report {table} --target sick --features linear --html {folder}/page.html --by town",
    ],
    ids=lambda command: f"{command.split()[0]}{' --by' * ('--by' in command)}",
)
def test_a_command_opens_its_table_once(command, folder, monkeypatch, capsys):
    table = folder / "table.csv"
    openings = count_openings(table, monkeypatch)
    assert main(command.format(table=table, folder=folder).split()) == 0
    assert openings() == 1
    capsys.readouterr()
