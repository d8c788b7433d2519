"""Rows that stay in their place, weights, groups, times, fingerprints, the standard input: tables in the commands."""

from __future__ import annotations

import errno
import inspect
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.csv
import pytest
from messy_files import base, clean, text_of
from sklearn.metrics import roc_auc_score
from tool_data import open_planned

from vrspam import AUCClassifier, AUCClassifierCV
from vrspam._utils.atomic import replacing
from vrspam._utils.names import SELECTION_RULES
from vrspam._utils.warnings import UnseenValues
from vrspam.cli import main
from vrspam.cli.commands.train import train as train_command
from vrspam.data import DataError
from vrspam.data.source import find_paths
from vrspam.data.standard_input import standard_input
from vrspam.metrics import roc_auc_ci
from vrspam.model_selection.folds import forward_folds
from vrspam.tool import evaluate, load_model, predict, save_model, train
from vrspam.tool.folds import make_folds
from vrspam.tool.plan import ReportPlan, TrainPlan

LINEAR = ["--features", "linear", "--folds", "2"]
FAST: dict[str, Any] = {"features": "linear", "n_splits": 2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    table = clean("year", "month").assign(code=[f"r{k:03d}x" for k in range(200)])
    (folder / "clean.csv").write_text(text_of(table), "utf-8")
    model = train(folder / "clean.csv", "sick", "yes", **FAST)
    save_model(model, folder / "m.json")
    return folder


def table_of(folder):
    return (folder / "clean.csv").read_text("utf-8").splitlines()


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_a_row_that_cannot_be_scored_stays_in_its_place(folder, tmp_path, end):
    model, lines = load_model(folder / "m.json"), table_of(folder)
    predict(model, folder / "clean.csv", tmp_path / f"all.{end}")
    read = pd.read_csv if end == "csv" else pd.read_parquet
    whole = read(tmp_path / f"all.{end}")
    assert list(whole) == ["code", "score", "probability", "decision", "extrapolated"]
    lines[10] += ",one,more"
    lines[50] = "inf" + lines[50][lines[50].index(",") :]
    lines[200] = "12"
    (tmp_path / "broken.csv").write_text("\n".join(lines), "utf-8")
    with pytest.warns(UserWarning, match="3 rows cannot be scored: the score is empty there, and the column 'reason'"):
        assert predict(model, tmp_path / "broken.csv", tmp_path / f"s.{end}") == 200
    found = read(tmp_path / f"s.{end}")
    assert list(found) == ["code", "score", "probability", "decision", "extrapolated", "reason"]
    bad = [9, 49, 199]
    assert found["score"].isna().to_numpy().nonzero()[0].tolist() == bad
    assert found["reason"].notna().to_numpy().nonzero()[0].tolist() == bad
    good = np.setdiff1d(np.arange(200), bad)
    np.testing.assert_array_equal(found["score"][good], whole["score"][good])
    assert (found["code"][good] == whole["code"][good]).all()
    assert found["code"][49] == "r049x"  # what is known of the row is copied
    assert found["code"].isna()[[9, 199]].all()
    assert found["reason"][9].startswith("line 11: ")
    assert found["reason"][49] == "line 51: column 'age' is infinite"
    with pytest.warns(UserWarning, match="left out 3 broken"):
        assert predict(model, tmp_path / "broken.csv", tmp_path / f"d.{end}", drop_errors=True) == 197
    assert list(read(tmp_path / f"d.{end}")) == ["code", "score", "probability", "decision", "extrapolated"]


def test_broken_rows_keep_their_places_across_blocks(folder, tmp_path):
    model, lines = load_model(folder / "m.json"), table_of(folder)
    predict(model, folder / "clean.csv", tmp_path / "all.csv")
    for k in range(5, 200, 7):
        lines[k] += ",more"
    (tmp_path / "broken.csv").write_text("\n".join(lines), "utf-8")
    with pytest.warns(UserWarning, match="rows cannot be scored"):
        predict(model, tmp_path / "broken.csv", tmp_path / "s.csv", chunk_bytes=700)
    whole, found = pd.read_csv(tmp_path / "all.csv"), pd.read_csv(tmp_path / "s.csv")
    bad = np.arange(4, 199, 7)
    assert found["score"].isna().to_numpy().nonzero()[0].tolist() == bad.tolist()
    good = np.setdiff1d(np.arange(200), bad)
    np.testing.assert_allclose(found["score"][good], whole["score"][good], rtol=1e-12)
    assert found["reason"][bad[3]].startswith(f"line {bad[3] + 2}: ")


@pytest.mark.parametrize("chunk_bytes", [300, 1 << 20])
def test_broken_rows_of_libsvm_and_npy_keep_their_places(tmp_path, chunk_bytes):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3)).round(3)
    y = (X[:, 0] + rng.standard_normal(60) > 0).astype(int)
    lines = [f"{label} " + " ".join(f"{j}:{v}" for j, v in enumerate(row, 1)) for label, row in zip(y, X, strict=True)]
    (tmp_path / "a.libsvm").write_text("\n".join(lines) + "\n")
    np.save(tmp_path / "a.npy", np.column_stack([y, X]))
    bad = {0: "line 1: '2:x' is not an index:value pair", 17: "line 18: the value of index 3 is infinite"}
    bad |= {18: "line 19: index 1 after 2: indices must grow along a line", 59: "line 60: the label 'sick' is not"}
    lines[0], lines[17], lines[18] = "1 2:x", "0 3:inf", "0 2:1 1:1"
    lines[59] = "sick 1:2"
    (tmp_path / "b.libsvm").write_text("\n".join(lines))
    rows = np.column_stack([y, X])
    rows[[3, 40], 2] = np.inf, -np.inf
    np.save(tmp_path / "b.npy", rows)
    places = {"libsvm": bad, "npy": {3: "row 4: column '2' is infinite", 40: "row 41: column '2' is infinite"}}
    for end, expected in places.items():
        model = train(tmp_path / f"a.{end}", None if end == "libsvm" else "0", **FAST)
        predict(model, tmp_path / f"a.{end}", tmp_path / "all.csv")
        with pytest.warns(UserWarning, match=f"{len(expected)} rows cannot be scored"):
            assert predict(model, tmp_path / f"b.{end}", tmp_path / "s.csv", chunk_bytes=chunk_bytes) == 60
        whole, found = pd.read_csv(tmp_path / "all.csv"), pd.read_csv(tmp_path / "s.csv")
        assert found["score"].isna().to_numpy().nonzero()[0].tolist() == list(expected)
        for place, why in expected.items():
            assert found["reason"][place].startswith(why)
        good = np.setdiff1d(np.arange(60), list(expected))
        np.testing.assert_allclose(found["score"][good], whole["score"][good], rtol=1e-12)
        with pytest.warns(UserWarning, match=f"left out {len(expected)} broken"):
            assert predict(model, tmp_path / f"b.{end}", tmp_path / "d.csv", drop_errors=True) == 60 - len(expected)


def test_a_file_of_numbers_says_what_training_did_not_have(tmp_path):
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.arange(60) % 2, rng.uniform(0, 1, (60, 3))])
    np.save(tmp_path / "a.npy", rows)
    model = train(tmp_path / "a.npy", "0", **FAST)
    rows[:6, 2] *= 1e3
    rows[:, 3] = np.nan
    np.save(tmp_path / "b.npy", rows)
    with pytest.warns(UnseenValues, match="Compared with training") as said:
        predict(model, tmp_path / "b.npy", tmp_path / "s.csv")
    (words,) = [str(warning.message) for warning in said]
    assert "column '2' is far outside the range of training, " in words
    assert "in 10.0 % of the rows: check its unit, and do not rely on these scores (the column 'extrap" in words
    assert "column '3' has no value in any row, and had values in training" in words
    np.save(tmp_path / "c.npy", rows[:, :3])
    with pytest.raises(DataError, match=r"shape \(60, 3\), and columns 0 to 3 are needed$"):
        predict(model, tmp_path / "c.npy", tmp_path / "s.csv")


def test_the_command_says_what_new_rows_hold(folder, tmp_path, capsys):
    table = pd.read_csv(folder / "clean.csv").drop(columns="sick")
    table["town"] = table["town"].str.upper()
    table.to_csv(tmp_path / "new.csv", index=False)
    command = ["predict", str(folder / "m.json"), str(tmp_path / "new.csv"), "--out", str(tmp_path / "s.csv")]
    assert main(command) == 0
    words = "column 'town' holds categories that training did not have in 100.0 % of the rows"
    assert f"warning: {words}" in capsys.readouterr().err
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rows"], found["unscored"]) == (200, 0)
    assert found["unseen"][0].startswith(words)
    table.assign(sick=pd.read_csv(folder / "clean.csv")["sick"]).to_csv(tmp_path / "new.csv", index=False)
    page = tmp_path / "e.html"
    assert main(["evaluate", str(folder / "m.json"), str(tmp_path / "new.csv"), "--html", str(page), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"][0].startswith(words)
    text = re.sub("</?span[^>]*>", "", page.read_text("utf-8"))
    assert text.index("Noticed in these rows") < text.index("categories that training did not have in 100.0 %")
    table.drop(columns="town").to_csv(tmp_path / "new.csv", index=False)
    assert main(command) == 1
    said = capsys.readouterr().err
    assert "there is no column 'town'" in said
    assert "skip-errors" not in said


def test_the_training_file_is_told(folder, tmp_path, capsys):
    model = str(folder / "m.json")
    assert main(["evaluate", model, str(folder / "clean.csv"), "--json"]) == 0
    assert any(
        "100 % of the rows that the model was trained on" in n for n in json.loads(capsys.readouterr().out)["warnings"]
    )
    exact = pyarrow.csv.read_csv(folder / "clean.csv").to_pandas()  # pandas 2 is off by the last bit
    shuffled = exact.sample(frac=0.7, random_state=0)[::-1]
    shuffled.to_parquet(tmp_path / "part.parquet")
    assert main(["evaluate", model, str(tmp_path / "part.parquet"), "--json"]) == 0
    assert any("trained on are in this file" in n for n in json.loads(capsys.readouterr().out)["warnings"])
    other = pd.read_csv(folder / "clean.csv")
    other["age"] += 0.05
    other.to_csv(tmp_path / "other.csv", index=False)
    assert main(["evaluate", model, str(tmp_path / "other.csv"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == []
    kept = json.loads((folder / "m.json").read_text())["model"]["fields"]["fingerprint"]
    assert len(kept["rows"]) == 200
    large = base()[["age", "sick"]].loc[np.arange(1500) % 200].reset_index(drop=True)
    large["age"] = np.random.default_rng(0).normal(50, 10, 1500)
    large.to_csv(tmp_path / "large.csv", index=False)
    fingerprint = train(tmp_path / "large.csv", "sick", **FAST).fingerprint
    assert fingerprint is not None
    assert len(fingerprint.rows) == 1000
    for option in ("--no-fingerprint", "--private"):
        args = ["train", str(folder / "clean.csv"), "--target", "sick", "--model", str(tmp_path / "n.json"), *LINEAR]
        assert main([*args, option]) == 0
        assert json.loads((tmp_path / "n.json").read_text())["model"]["fields"]["fingerprint"] is None


def test_the_standard_input_is_read(folder, tmp_path, monkeypatch, capsys):
    class Input:
        buffer = io.BytesIO((folder / "clean.csv").read_bytes())

    monkeypatch.setattr(sys, "stdin", Input)
    standard_input.cache_clear()
    args = ["train", "-", "--target", "sick", "--positive", "yes", "--model", str(tmp_path / "m.json"), *LINEAR]
    assert main([*args, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["data"] == ["standard input"]
    np.testing.assert_array_equal(load_model(tmp_path / "m.json").coef, load_model(folder / "m.json").coef)
    model, page = str(folder / "m.json"), tmp_path / "page.html"
    labelled = [["evaluate", model, "-"], ["compare", model, model, "-"], ["rows", "-", "--target", "sick"]]
    for command in labelled:  # pages name it too
        assert main([*command, "--html", str(page)]) == 0
        assert "on standard input</title>" in page.read_text("utf-8") or "rows" in command
        assert "standard input" in page.read_text("utf-8")
    standard_input.cache_clear()


def test_some_rows_of_a_table_keep_their_other_columns():
    table = clean("year", "month").assign(code=[f"r{k:03d}x" for k in range(200)])
    opened = open_planned(table, ReportPlan("sick", by=["code"]))
    places = np.array([150, 3, 77])
    assert opened.take(places).raw["code"].to_pylist() == table["code"].iloc[places].tolist()


def test_the_standard_input_leaves_room_on_the_disk(tmp_path, monkeypatch):
    class Input:
        buffer = io.BytesIO(b"age,sick\n1,0\n2,1\n")

    monkeypatch.setattr(sys, "stdin", Input)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1 << 20))
    standard_input.cache_clear()
    with pytest.raises(DataError, match="the standard input fills the disk: 0 MiB came, and less than 1 GiB is free"):
        find_paths("-")


#: Another thread gets the signal, so that no read of the main one is interrupted, as if it came just before the read.
ELSEWHERE = """
import signal, threading, time
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
"""


@pytest.mark.parametrize("before", ["", ELSEWHERE], ids=["during a read", "before a read"])
def test_the_copy_of_the_standard_input_is_removed_at_sigterm(tmp_path, before):
    program = before + "from vrspam.cli import main; main(['train', '-', '--target', 'sick'])"
    where = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, env=where) as command:
        assert command.stdin is not None
        command.stdin.write(b"age,sick\n" + b"1,0\n2,1\n" * 4_000_000)  # more than a pipe and a block of it hold
        command.stdin.flush()
        for _ in range(600):
            if [*tmp_path.glob("vrspam-*/*")]:
                break
            time.sleep(0.1)
        assert [*tmp_path.glob("vrspam-*/*")]
        command.send_signal(signal.SIGTERM)
        assert command.wait(60) == 128 + signal.SIGTERM
    assert [*tmp_path.glob("vrspam-*")] == []


WRITE = """
import signal, time
# under `nohup` it is ignored, and programs hand that on
signal.signal(getattr(signal, "SIGHUP", signal.SIGTERM), signal.SIG_DFL)
from vrspam._utils.atomic import replacing
from vrspam.cli import main
main(["--version"])
with replacing("scores.csv") as path:
    path.write_text("half")
    time.sleep(60)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Windows has no SIGHUP")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_file_that_is_being_written_is_removed_at_the_end_of_a_program(tmp_path, name):
    with subprocess.Popen([sys.executable, "-c", WRITE], cwd=tmp_path) as command:
        for _ in range(600):
            if any(path.stat().st_size for path in tmp_path.iterdir()):
                break
            time.sleep(0.1)
        command.send_signal(getattr(signal, name))
        assert command.wait(60) == 128 + getattr(signal, name)
    assert [*tmp_path.iterdir()] == []


def test_a_full_disk_names_the_file(tmp_path):
    with pytest.raises(OSError, match=r"No space left on device: .*scores\.csv"), replacing(tmp_path / "scores.csv"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert [*tmp_path.iterdir()] == []


# --- weights, groups, times ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    """Repeated visits of patients, with weights and dates."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"patient": rng.integers(0, 60, 300), "age": rng.normal(50, 10, 300).round(2)})
    table["risk"] = (rng.standard_normal(300)).round(3)
    table["day"] = (pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 300, 300), unit="D")).strftime(
        "%d.%m.%Y"
    )
    table["weight"] = rng.integers(1, 5, 300)
    table["sick"] = np.where(rng.random(300) < 1 / (1 + np.exp(-table["risk"])), "yes", "no")
    path = tmp_path_factory.mktemp("visits") / "visits.csv"
    table.to_csv(path, index=False)
    return path, table


@pytest.mark.parametrize("streaming", [False, True])
def test_weights_count_in_the_fit_and_equal_ones_do_not(visits, tmp_path, streaming):
    path, table = visits
    options: dict[str, Any] = {"features": "linear", "n_splits": 3, "streaming": streaming, "drop": ["patient", "day"]}
    model = train(path, "sick", weights="weight", **options)
    assert model.schema.columns == ("age", "risk")
    # The oracle: the exact solution on standardised columns with these weights, at the penalty that was chosen.
    X, w = table[["age", "risk"]].to_numpy(), table["weight"].to_numpy(float)
    centre = np.average(X, axis=0, weights=w)
    deviation = np.sqrt(np.average((X - centre) ** 2, axis=0, weights=w))
    exact = AUCClassifier(model.training["l2"]).fit((X - centre) / deviation, table["sick"], sample_weight=w)
    np.testing.assert_allclose(model.coef, exact.coef_[0] / deviation, rtol=1e-6)
    if streaming:  # folds follow from the last digits of standardised rows, which weights change
        return
    table.assign(weight=2.5).to_csv(tmp_path / "equal.csv", index=False)
    table.drop(columns="weight").to_csv(tmp_path / "none.csv", index=False)
    equal = train(tmp_path / "equal.csv", "sick", weights="weight", **options)
    none = train(tmp_path / "none.csv", "sick", **options)
    np.testing.assert_allclose(equal.coef, none.coef, rtol=1e-9)
    for fact in ("cv_auc", "cv_auc_low", "cv_auc_high", "l2"):
        assert equal.training[fact] == pytest.approx(none.training[fact], rel=1e-6)
    scores = np.linspace(-1, 1, 5)
    assert equal.calibration is not None
    assert none.calibration is not None
    np.testing.assert_allclose(equal.calibration(scores), none.calibration(scores), rtol=1e-6)


def test_weighted_auc_and_its_error():
    rng = np.random.default_rng(0)
    positive = rng.random(300) < 0.4
    scores, weights = (rng.standard_normal(300) + positive).round(1), rng.random(300) + 0.1
    found = roc_auc_ci(positive, scores, sample_weight=weights)
    assert found.auc == pytest.approx(roc_auc_score(positive, scores, sample_weight=weights), rel=1e-12)
    each = np.array(  # delete-one jackknife
        [
            roc_auc_score(np.delete(positive, k), np.delete(scores, k), sample_weight=np.delete(weights, k))
            for k in range(300)
        ]
    )
    jackknife = np.sqrt(299 / 300 * np.sum((each - each.mean()) ** 2))
    assert found.standard_error == pytest.approx(jackknife, rel=0.03)
    plain, equal = roc_auc_ci(positive, scores), roc_auc_ci(positive, scores, sample_weight=np.full(300, 0.3))
    for name in ("auc", "low", "high", "standard_error"):
        assert getattr(equal, name) == pytest.approx(getattr(plain, name), rel=1e-9)


def test_evaluate_counts_rows_by_their_weights(visits, tmp_path, capsys):
    path, table = visits
    save_model(train(path, "sick", "yes", drop=["patient", "day"], weights="weight", **FAST), tmp_path / "m.json")
    repeated = table.loc[table.index.repeat(table["weight"])]
    repeated.to_csv(tmp_path / "repeated.csv", index=False)
    found = []
    for data, more in ((path, []), (tmp_path / "repeated.csv", ["--weights", "none"])):
        assert main(["evaluate", str(tmp_path / "m.json"), str(data), "--json", *more]) == 0
        found.append(json.loads(capsys.readouterr().out))
    weighted, counted = found
    for name in counted:
        ends = name.endswith(("_low", "_high"))  # of intervals: a weight is not a number of independent rows
        if ends or name.startswith(("auc_", "calibration_error", "n", "positives", "warnings", "confidence")):
            continue
        assert weighted[name] == pytest.approx(counted[name], rel=1e-9), name
    assert main(["evaluate", str(tmp_path / "m.json"), str(path), "--weights", "weight", "--max-fpr", "0.1"]) == 2


def test_groups_stay_together(visits):
    path, table = visits
    opened = open_planned(path, TrainPlan("sick", groups="patient"))
    assert "patient" not in opened.schema.columns
    splits = list(make_folds(opened, TrainPlan("sick", groups="patient")).split(None))
    assert len(splits) == 5
    patients = table["patient"].to_numpy()
    for inside, outside in splits:
        assert not set(patients[inside]) & set(patients[outside])
    model = train(path, "sick", groups="patient", features="additive", n_splits=3)
    assert model.training["corrected_auc"] is not None
    assert model.calibration is not None


def test_folds_look_forward(visits):
    path, table = visits
    opened = open_planned(path, TrainPlan("sick", time="day", drop=["patient"]))
    assert opened.schema.columns == ("age", "risk", "weight")
    days = pd.to_datetime(table["day"], format="%d.%m.%Y").to_numpy()
    assert opened.time is not None
    splits = forward_folds(opened.time, opened.positive, 4)
    assert len(splits) == 4
    for inside, outside in splits:
        assert days[inside].max() < days[outside].min()
    assert sorted(np.concatenate([splits[0][0], *(outside for _, outside in splits)])) == list(range(300))
    model = train(path, "sick", time="day", n_splits=4, features="linear")
    assert model.training["folds"] == 4
    assert model.training["corrected_auc"] is not None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--groups", "patient", "--streaming"],
            "cannot be combined: a stream draws its folds from the rows alone",
        ),
        (["--time", "day", "--streaming"], "--streaming and --time cannot be combined"),
        (["--time", "day", "--groups", "patient"], "--time and --groups cannot be combined"),
        (["--weights", "weight", "--max-fpr", "0.1"], "--max-fpr and --weights cannot be combined"),
        (["--weights", "day"], "holds text that is not numbers"),
        (["--weights", "sick"], "holds the labels: name another with --weights"),
        (["--groups", "nobody"], "has no column 'nobody'"),
        (["--groups", "patient", "--drop", "patient"], "is left out by --drop and named by --groups"),
        (["--selection", "worst"], "--selection worst is not known; give auto, best, one-standard-error or blend"),
        (["--encoding", "klingon"], "--encoding klingon is not known"),
    ],
)
def test_what_does_not_go_together_is_one_sentence(visits, tmp_path, capsys, options, words):
    args = ["train", str(visits[0]), "--target", "sick", "--model", str(tmp_path / "m.json"), "--folds", "2"]
    assert main([*args, *options]) in (1, 2)
    said = capsys.readouterr().err
    assert words in said
    assert "Traceback" not in said


@pytest.mark.parametrize("rule", SELECTION_RULES)
def test_the_choice_and_the_processes_can_be_given(visits, tmp_path, rule):
    args = ["train", str(visits[0]), "--target", "sick", "--model", str(tmp_path / "m.json"), *LINEAR]
    assert main([*args, "--selection", rule, "--jobs", "2"]) == 0


@pytest.mark.parametrize("periods", [1, 2])
def test_times_that_make_fewer_than_two_folds_are_refused(visits, tmp_path, capsys, periods):
    _, table = visits
    table = table.assign(period=np.arange(len(table)) * periods // len(table)).drop(columns=["patient", "day"])
    table.to_csv(tmp_path / "periods.csv", index=False)
    out = tmp_path / "m.json"
    given = ["--target", "sick", "--time", "period", "--features", "additive", "--model", str(out)]
    assert main(["train", str(tmp_path / "periods.csv"), *given]) == 1
    assert "--time has too few different times to make two folds that look forward" in capsys.readouterr().err
    assert not out.exists()


def test_the_relative_gap_counts_rows_by_their_weights(visits):
    path, table = visits
    facts = train(path, "sick", "yes", drop=["patient", "day"], weights="weight", **FAST).training
    share = np.average(table["sick"] == "yes", weights=table["weight"])
    assert facts["gap"] > 0.0
    assert facts["gap"] / facts["relative_gap"] == pytest.approx(share * (1.0 - share), rel=1e-9)


def test_what_is_chosen_by_default_is_the_same_everywhere():
    defaults = [inspect.signature(function).parameters["selection"].default for function in (train, train_command)]
    assert defaults == [AUCClassifierCV().selection] * 2


def test_a_table_too_wide_for_any_map_gets_straight_lines_and_a_note(tmp_path, monkeypatch):
    monkeypatch.setattr("vrspam.tool.recipes.MAX_FEATURES", 3)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((80, 4)), columns=list("abcd"))
    frame["sick"] = frame.a + 0.5 * rng.standard_normal(80) > 0
    frame.to_csv(tmp_path / "wide.csv", index=False)
    found = train(tmp_path / "wide.csv", target="sick", features="auto")
    lines = train(tmp_path / "wide.csv", target="sick", features="linear")
    assert np.array_equal(found.coef, lines.coef)
    notes = [str(note) for note in found.training["warnings"]]
    simple = "Only a simple model was fitted, because curves are made of at most 3 columns; probably clearly worse."
    assert notes.count(simple) == 1


def test_one_column_of_many_values_costs_no_curves(tmp_path):
    """Such a table once got straight lines alone; which plate is sick is learnt by its share, shrunken."""
    rng = np.random.default_rng(0)
    plates = rng.integers(0, 1_200, 6_000)
    x = rng.standard_normal(6_000)
    risk = rng.standard_normal(1_200)[plates] + np.abs(x)
    frame = pd.DataFrame({"plate": [f"P{k}" for k in plates], "x": x, "sick": risk + rng.standard_normal(6_000) > 1})
    frame.to_csv(tmp_path / "plates.csv", index=False)
    found = train(tmp_path / "plates.csv", target="sick", max_categories=1_500)
    notes = [str(note) for note in found.training["warnings"]]
    (note,) = [
        note for note in notes if note.startswith("Straight lines and trees were compared, because there are 1,")
    ]
    assert note.endswith(" features. features='auto' compares all, slowly.")
    lines = train(tmp_path / "plates.csv", target="sick", max_categories=1_500, features="linear")
    assert found.training["corrected_auc"] > lines.training["corrected_auc"] + 0.02


def test_dates_of_the_future_are_told_as_dates(tmp_path):
    rng = np.random.default_rng(0)
    days = pd.to_datetime("2024-01-01") + pd.to_timedelta(np.arange(300), unit="D")
    frame = pd.DataFrame({"x": rng.normal(size=300), "day": days, "sick": rng.choice(["no", "yes"], 300)})
    model = train(frame, "sick", features="linear")
    later = frame.assign(day=frame["day"] + pd.DateOffset(years=9))
    with pytest.warns(UserWarning, match=r"'day \(year\)' .* 2024-01-01 to 2024-10-26, .*: a new model may be due"):
        evaluate(model, later)
