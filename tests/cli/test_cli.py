"""The commands: what they print, their exit codes, and that a killed experiment resumes and gives the same results."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from experiment_rows import fill
from tool_data import write_libsvm

from vrspam import __version__
from vrspam._utils.progress import StatusLine
from vrspam.cli import main
from vrspam.cli.experiments import RunDisplay
from vrspam.paper.protocol import Run
from vrspam.paper.run import Outcome, read_all

COMMANDS = ["demo", "reproduce", "report", "datasets"]
SMALL = ["reproduce", "--sets", "breast-cancer", "--runs", "4", "--scaling", "standardised", "--jobs", "2"]
SMALL += ["--algorithms", "SPAM-L2,VRSPAM-NET,SOLAM,exact-L2"]
RUNS = 4 + 1 + 4 * 4  # choices, one tuned step size, four algorithms


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"vrspam {__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(command, capsys):
    assert main([command, "--help"]) == 0
    assert f"Example:  vrspam {command}" in capsys.readouterr().out


def test_help_names_every_command(capsys):
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(command in out for command in COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense"], "No such command"),
        (["reproduce", "--sets", "germn"], "did you mean 'german'"),
        (["reproduce", "--sets", ","], "at least one name"),
        (["reproduce", "--runs", "0"], "--runs"),
        (["reproduce", "--cv", "both"], "--cv"),
        (["reproduce", "--algorithms", "SPAM"], "no algorithm is called 'SPAM'"),
        (["report"], "Missing argument"),
        (["demo", "--nonsense"], "No such option"),
    ],
)
def test_misuse_is_one_sentence_and_exit_code_2(arguments, words, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert words.lower() in captured.err.lower()
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_failure_is_one_sentence_and_exit_code_1(tmp_path, capsys):
    assert main(["publish", str(tmp_path)]) == 1
    captured = capsys.readouterr()
    assert "holds no results" in captured.err
    assert captured.err.count("\n") == 1
    with pytest.raises(ValueError, match="holds no results"):
        main(["publish", str(tmp_path), "--debug"])


def test_a_directory_without_results_is_read_as_a_table(tmp_path, capsys):
    (tmp_path / "data").mkdir()
    write_libsvm(tmp_path / "data" / "a.libsvm")
    write_libsvm(tmp_path / "data" / "b.libsvm", seed=1)
    page = tmp_path / "page.html"
    assert main(["report", str(tmp_path / "data"), "--features", "linear", "--html", str(page)]) == 0
    assert "600 rows by 5-fold cross-validation" in capsys.readouterr().out
    (tmp_path / "empty").mkdir()
    assert main(["report", str(tmp_path / "empty")]) == 1
    assert "no file is found at" in capsys.readouterr().err


def test_too_little_memory_is_one_sentence(tmp_path, capsys, monkeypatch):
    def full(*_, **__):
        raise MemoryError("Unable to allocate 75. GiB for an array")

    monkeypatch.setattr("vrspam.tool.scored_rows.score_rows", full)
    monkeypatch.setattr("vrspam.tool.load_model", lambda _: None)
    arguments = ["evaluate", str(tmp_path / "model.json"), str(tmp_path / "rows.csv")]
    (tmp_path / "model.json").touch()
    (tmp_path / "rows.csv").touch()
    assert main(arguments) == 1
    words = "vrspam: the memory is not enough (Unable to allocate 75. GiB for an array): free some, leave out columns"
    assert capsys.readouterr().err == f"{words}, or train with --streaming\n"
    with pytest.raises(MemoryError):
        main([*arguments, "--debug"])


def test_other_protocol_in_the_same_directory_is_refused(tmp_path, capsys):
    fill(tmp_path)
    before = sorted(path.name for path in tmp_path.rglob("*"))
    assert main(["reproduce", "--sets", "digits", "--scaling", "unit-rows", "--out", str(tmp_path)]) == 1
    assert "another protocol" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


def test_set_that_cannot_be_had_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("VRSPAM_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    assert main(["reproduce", "--sets", "acoustic", "--out", str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err
    assert "acoustic" in error
    assert "VRSPAM_DATA" in error
    assert not (tmp_path / "out").exists()


def test_set_with_a_garbage_file_is_named_once_before_any_run(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("VRSPAM_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "mammography").write_bytes(b"\x00\xff garbage\n" * 100)
    command = ["reproduce", "--sets", "mammography,breast-cancer", "--runs", "1", "--out", str(tmp_path / "out")]
    assert main(command) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    path = tmp_path / "mammography"
    advice = "delete it and load again, or put the right file in its place"
    assert captured.err == f"vrspam: {path} is cut off, or not LIBSVM text; {advice}\n"
    assert not (tmp_path / "out").exists()
    assert main(["datasets"]) == 0
    assert capsys.readouterr().err == ""


def test_datasets_for_scripts(capsys):
    assert main(["datasets", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["name"] for row in rows if row["paper"]} >= {"german", "mnist"}
    assert main(["datasets"]) == 0
    assert "breast-cancer" in capsys.readouterr().out


def test_report_from_rows_alone(tmp_path, capsys):
    fill(tmp_path)
    assert main(["report", str(tmp_path), "--json"]) == 0
    written = json.loads(capsys.readouterr().out)
    assert Path(written["report"][0]).read_text().startswith("<!doctype html>")
    assert all(Path(path).exists() for paths in written.values() for path in paths)


def test_display_of_runs_redraws_one_line_and_keeps_failures(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes any stream for a terminal
    runs = [Run("german", "SOLAM", split, split) for split in range(3)]
    with StatusLine("", transient=True) as line:
        display = RunDisplay(line)
        display.start(runs, 2)
        for run, message in zip(runs, ["", "out of [memory]", ""], strict=True):
            display.step(Outcome(run, message, auc=None if message else 0.75))
    shown = capsys.readouterr().err
    assert "2 of 5 runs are there already\n" in shown
    assert "4/5  german SOLAM score 1 FAILED: out of [memory]" in shown.replace("\x1b[2K", "")
    assert "german SOLAM score 0 AUC 0.7500" in shown
    assert shown.count("\r") >= 2
    assert shown.count("\n") <= 3  # the two messages stay; the line itself is removed at the end


def start(directory: Path) -> subprocess.Popen:
    command = [sys.executable, "-m", "vrspam.cli", *SMALL, "--out", str(directory)]
    # Tests that a script runs in the background inherit that SIGINT is ignored; a terminal's processes do not.
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=heed)


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(path.read_text().rsplit(")", 1)[1].split()[1]) == pid:
                found.append(int(path.parent.name))
        except (OSError, ValueError, IndexError):  # it has ended meanwhile
            continue
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


HANGS = 300.0  # seconds: far more than a busy machine needs to compile


def wait_until(condition, seconds: float = HANGS) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def without_clock(directory: Path) -> list[dict]:
    rows, _, unreadable = read_all(directory / "rows")
    assert unreadable == []
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes through /proc")
def test_killed_and_damaged_experiment_goes_on_as_if_undisturbed(tmp_path):
    undisturbed, disturbed = tmp_path / "undisturbed", tmp_path / "disturbed"
    assert main([*SMALL[:-4], "--jobs", "1", *SMALL[-2:], "--out", str(undisturbed)]) == 0
    process = start(disturbed)
    wait_until(lambda: len(list(disturbed.glob("rows/*.parquet"))) >= 6)
    workers = children(process.pid)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    wait_until(lambda: not any(map(alive, workers)))  # nobody goes on writing
    kept = sorted(disturbed.glob("rows/*.parquet"))
    assert 6 <= len(kept) < RUNS
    assert not (disturbed / "report.html").exists()

    victim = kept[2]
    content = victim.read_bytes()
    victim.write_bytes(content[: len(content) // 2])
    untouched = {path: path.stat().st_mtime_ns for path in kept if path != victim}
    process = start(disturbed)
    messages = process.communicate()[1]
    assert process.returncode == 0
    assert f"{len(kept) - 1} of {RUNS} runs are there already" in messages
    assert {path: path.stat().st_mtime_ns for path in untouched} == untouched

    rows = without_clock(disturbed)
    assert rows == without_clock(undisturbed)
    runs = [(row["set"], row["task"], row["algorithm"], row["split"]) for row in rows if row["kind"] != "grid"]
    assert len({key for key in runs if key[1] == "score"}) == 16
    assert sum(key[1] == "score" for key in runs) == 16
    assert (disturbed / "table.md").read_text() == (undisturbed / "table.md").read_text()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes through /proc")
def test_interrupt_stops_at_once_and_keeps_what_is_done(tmp_path):
    process = start(tmp_path)
    wait_until(lambda: len(list(tmp_path.glob("rows/*.parquet"))) >= 3)
    workers = children(process.pid)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does on Ctrl-C: to the workers too
    messages = process.communicate(timeout=HANGS)[1]
    assert process.returncode == 130
    assert messages.endswith("vrspam: stopped; the same command goes on from here\n")
    assert "Traceback" not in messages
    wait_until(lambda: not any(map(alive, workers)))
    assert 3 <= len(list(tmp_path.glob("rows/*.parquet"))) < RUNS
    assert read_all(tmp_path / "rows")[2] == []
