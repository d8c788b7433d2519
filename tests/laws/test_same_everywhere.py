"""Two processes train the same model: whatever the seed of Python's hashes, and on one core or on two."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import as_typed, strict_json
from drawn_plans import Journey, journeys
from hypothesis import note
from laws_support import batches, draw_batch

NEAR = 1e-9  # of the spread of the scores, and of each number that is printed


def run(folder: Path, hashes: int, *arguments: str) -> subprocess.CompletedProcess:
    """A command in a process of its own."""
    command = [sys.executable, "-m", "vrspam.cli", *arguments]
    variables = {**os.environ, "PYTHONHASHSEED": str(hashes)}
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, encoding="utf-8", errors="replace")


def same(first: Any, second: Any, where: str = "") -> None:
    """Two documents of the same words and nearly the same numbers."""
    if isinstance(first, dict):
        assert [*first] == [*second], f"{where}: {first} and {second}"
        for name in first:
            same(first[name], second[name], f"{where}/{name}")
    elif isinstance(first, list):
        assert len(first) == len(second), f"{where}: {first} and {second}"
        for place, (one, other) in enumerate(zip(first, second, strict=True)):
            same(one, other, f"{where}/{place}")
    elif isinstance(first, float):
        assert math.isclose(first, second, rel_tol=NEAR, abs_tol=NEAR), f"{where}: {first} and {second}"
    else:
        assert first == second, f"{where}: {first!r} and {second!r}"


def check_journey(journey: Journey) -> None:
    table, plan = journey.table, journey.plan
    note(table.as_text())
    printed, scores = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = table.write(folder / "table").name
        for hashes, jobs in ((1, "1"), (2, "2")):
            command = ("train", path, *plan.options, "--jobs", jobs, "--model", "model.json", "--json")
            note(f"PYTHONHASHSEED={hashes} {as_typed(command)}")
            trained = run(folder, hashes, *command)
            assert "Traceback" not in trained.stderr, trained.stderr[-2_000:]
            if trained.returncode == 0:
                printed.append(strict_json(trained.stdout))
                predicted = run(folder, hashes, "predict", "model.json", path, "--out", "scores.parquet")
                assert predicted.returncode == 0, predicted.stderr
                scores.append(pd.read_parquet(folder / "scores.parquet")["score"].to_numpy())
            else:
                printed.append(trained.stderr.strip().rpartition("\n")[2])
    same(printed[0], printed[1])
    if scores:
        spread = float(np.nanstd(scores[0])) or 1.0
        np.testing.assert_allclose(scores[1], scores[0], rtol=0.0, atol=NEAR * spread)


@pytest.mark.parametrize("batch", batches(1))
def test_two_processes_train_the_same_model(batch):
    draw_batch(batch, journeys(most_columns=12), check_journey, most=2)
