"""Where folds are impossible a command says so in one sentence about its own options, whatever the table holds."""

from __future__ import annotations

import contextlib
import io
import shlex
from typing import Any

import numpy as np
import pandas as pd
import pytest
from laws_support import examples

from vrspam.cli import main

#: What a user of a command can neither give nor do.
OF_PYTHON = ("sklearn", "splitter", "shuffle", "generator", "cv ", "cv=", "unexpected")


def few_of_one_kind(rng: np.random.Generator) -> tuple[pd.DataFrame, list[str]]:
    """A table with few positive rows or few events, and options about its rows that often cannot be met."""
    n = int(rng.integers(16, 160))
    sick = np.arange(n) < rng.choice([2, 3, 4, 5, 6, 9, n // 3])
    if rng.random() < 0.2:
        sick = ~sick
    mixed = rng.permutation(n)
    order = mixed if rng.random() < 0.7 else np.arange(n)  # or all positive rows come first
    size = int(rng.choice([1, 2, 5, 12]))
    by_place = np.arange(n) // size
    table = pd.DataFrame(
        {
            "age": rng.standard_normal(n),
            "dose": rng.standard_normal(n) + sick,
            "died": sick.astype(int),
            "months": rng.permutation(n) if rng.random() < 0.8 else rng.integers(1, 4, n),
            "patient": by_place if rng.random() < 0.5 else mixed // size,
            "site": by_place % 4 if rng.random() < 0.5 else mixed % 5,
            "weight": np.where(rng.random(n) < rng.choice([0.0, 0.4, 0.8]), 0.0, rng.integers(1, 3, n)),
            "day": order // int(rng.choice([1, 1, 10])),
        }
    )
    options = ["--target", "months", "--event", "died"] if rng.random() < 0.4 else ["--target", "died"]
    options += ["--weights", "weight"] if rng.random() < 0.5 else []
    together = [[], ["--groups", "patient"], ["--groups", "patient", "--within", "site"], ["--within", "site"]]
    together += [["--time", "day"], ["--groups", "patient"], ["--streaming"]]
    options += together[int(rng.integers(0, len(together)))]
    if "--streaming" in options and "--event" in options:
        options.remove("--streaming")
    return table.sample(frac=1.0, random_state=int(rng.integers(0, 1000))), options


def printed(*typed: Any) -> tuple[int, str]:
    """The exit code of a command, and all that it prints."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
        code = main(list(map(str, typed)))
    return code, shown.getvalue()


def refusal(text: str) -> str:
    """The sentence by which a command refuses a table; empty if it does not."""
    last = text.strip().rpartition("\n")[2]
    return last.removeprefix("vrspam: ") if last.startswith("vrspam: ") else ""


@pytest.mark.parametrize("seed", range(examples(60)))
def test_a_refusal_is_one_sentence_that_names_an_option(seed, tmp_path):
    rng = np.random.default_rng(seed)
    table, options = few_of_one_kind(rng)
    path = tmp_path / "table.csv"
    table.to_csv(path, index=False)
    command: list[Any] = ["train", path, *options, "--features", "linear", "--model", tmp_path / "model.json"]
    command += ["--folds", int(rng.integers(2, 11))] if rng.random() < 0.4 else []
    if rng.random() < 0.2:
        command = ["check", path, *(option for option in options if option != "--streaming")]
    typed = shlex.join(map(str, command))

    code, text = printed(*command)
    of_python = [word for word in OF_PYTHON if word in text]
    assert not of_python, f"{typed} speaks of {of_python}:\n{text}"
    if said := refusal(text):
        assert "--" in said, f"{typed} names no option: {said}"
        assert "Fold " not in said, f"{typed} speaks of a fold by its number: {said}"
        assert not (tmp_path / "model.json").exists()
    else:
        assert code == 0 or command[0] == "check", text


@pytest.mark.parametrize("seed", range(examples(8)))
def test_rows_of_weight_0_make_no_fold_impossible(seed, tmp_path):
    rng = np.random.default_rng(seed)
    n, counted = 120, int(rng.integers(6, 12))
    sick = np.arange(n) < 40
    table = pd.DataFrame(
        {"age": rng.standard_normal(n), "dose": rng.standard_normal(n) + sick, "died": sick.astype(int)}
    )
    table["weight"] = np.where(sick & (np.arange(n) >= counted), 0, 1)
    table["patient"] = rng.permutation(n) // 2
    table["months"] = rng.permutation(n)
    table.to_csv(tmp_path / "table.csv", index=False)
    table[table["weight"] > 0].to_csv(tmp_path / "counted.csv", index=False)
    options = [
        ["--target", "died"],
        ["--target", "died", "--groups", "patient"],
        ["--target", "months", "--event", "died"],
    ]
    command = [*options[seed % 3], "--features", "linear", "--model", tmp_path / "model.json"]
    code, text = printed("train", tmp_path / "counted.csv", *command)
    if not refusal(text):
        assert code == 0
        code, text = printed("train", tmp_path / "table.csv", *command, "--weights", "weight")
        assert (code, refusal(text)) == (0, "")
