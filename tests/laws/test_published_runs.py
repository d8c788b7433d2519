"""Each planned run without a result of its own is named when results are published.

For run files that are cut off, empty, missing, changed, or those of another set.
"""

from __future__ import annotations

import shutil
import warnings

import numpy as np
import pytest
from experiment_rows import fill
from laws_support import examples

from vrspam.cli import main
from vrspam.paper.publish import publish


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    fill(folder)
    return folder


@pytest.fixture(autouse=True)
def _without_figures(monkeypatch):
    """Figures take long, and say nothing about runs."""
    monkeypatch.setattr("vrspam.paper.publish.draw_all", lambda *_: [])


def said_by(folder):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        publish(folder)
    return [
        str(one.message) for one in caught if "runs have results" in str(one.message) or ".parquet" in str(one.message)
    ]


def harm(path, others, kind, rng):
    content = path.read_bytes()
    if kind == "cut off":
        path.write_bytes(content[: int(rng.integers(1, len(content)))])
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "missing":
        path.unlink()
    elif kind == "changed":
        path.write_bytes(content[:-30] + bytes(30))
    else:
        shutil.copy(others[int(rng.integers(len(others)))], path)


def test_whole_results_are_published_without_a_word(results):
    assert said_by(results) == []


@pytest.mark.parametrize("kind", ["cut off", "empty", "missing", "changed", "of another run"])
def test_a_run_that_is_lost_is_named(results, tmp_path, kind, capsys):
    rng = np.random.default_rng(len(kind))
    for number in range(examples(2)):
        folder = tmp_path / str(number)
        shutil.copytree(results, folder)
        runs = sorted(folder.glob("rows/*.score.*.parquet"))
        place = int(rng.integers(len(runs)))
        lost = runs.pop(place)
        harm(lost, runs, kind, rng)
        name, _, algorithm, split, _ = lost.name.split(".", 4)
        said = said_by(folder)
        assert any(
            f"{name}, {algorithm}: " in text and text.count(str(int(split.removeprefix("split")))) for text in said
        )
        assert (kind == "missing") != any(lost.name in text for text in said)
        page = (folder / "report.html").read_text("utf-8")
        assert "What failed or is missing" in page
    assert main(["publish", str(folder)]) == 0
    assert f"{name}, {algorithm}" in capsys.readouterr().err
