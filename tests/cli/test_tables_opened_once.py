"""Every command opens its table once: a file that is large, or that comes through a pipe, is read a single time."""

from __future__ import annotations

import builtins
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from panels import panel
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


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    """Visits of patients, whom the doctor finds, with days, long numbers of visits, and scores of another model."""
    folder = tmp_path_factory.mktemp("visits")
    rng = np.random.default_rng(0)
    table = panel(rng, units=60, visits=6).table.rename(columns={"visit": "number"})
    table["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, len(table)), "D")
    table["visit_id"] = 2**53 + 1 + 7 * rng.permutation(len(table))
    table["other"] = (table["outcome"] == "sick") + rng.standard_normal(len(table))
    table.to_csv(folder / "table.csv", index=False)
    asked = ["--target", "outcome", "--features", "linear", "--drop", "visit_id,other", "--model"]
    assert main(["train", str(folder / "table.csv"), *asked, str(folder / "m.json")]) == 0
    return folder


@pytest.mark.parametrize(
    "command",
    [
        "check {table} --target outcome --drop visit_id",
        "rows {table} --target outcome --drop visit_id",
        "train {table} --target outcome --features linear --drop visit_id --model {folder}/again.json",
        "report {table} --target outcome --features linear --drop visit_id --by day",
        "report {table} --target outcome --features linear --drop visit_id --by patient,sex --groups none",
        "report {table} --target outcome --features linear --drop visit_id --by patient",
        "report {table} --target outcome --features linear --drop visit_id --beside other",
        "report {table} --target outcome --features linear --drop visit_id --holdout 0.3",
        "evaluate {folder}/m.json {table} --by day,patient",
        "evaluate {table} --target outcome --scores other --by day,patient",
    ],
    ids=lambda command: " ".join(word for word in command.split() if "{" not in word),
)
def test_dates_groups_and_scores_take_no_second_reading(command, visits, monkeypatch, capsys):
    table = visits / "table.csv"
    monkeypatch.chdir(visits)  # where pages are written
    openings = count_openings(table, monkeypatch)
    severe = command.startswith("check")  # finding them is severe
    assert main(command.format(table=table, folder=visits).split()) == severe, capsys.readouterr().err
    assert openings() == 1
    if "--features" in command and "--groups" not in command:
        assert "patient" in capsys.readouterr().err  # the doctor has found the groups


def test_long_numbers_of_rows_are_read_as_they_are(visits, monkeypatch, tmp_path, capsys):
    """Numbers beyond 2**53 that name rows are read once more, as they are: their digits are on the page."""
    table, page = visits / "table.csv", tmp_path / "page.html"
    openings = count_openings(table, monkeypatch)
    command = ["report", str(table), "--target", "outcome", "--features", "linear", "--html", str(page)]
    assert main(command) == 0, capsys.readouterr().err
    assert openings() == 2
    shown = pd.read_csv(table, dtype=str)["visit_id"]
    assert sum(number in page.read_text("utf-8") for number in shown) >= 10
