"""No command ends in the middle: closed streams, broken pipes, full disks, poor encodings, and any name of a file.

For every command that reads a table or a model, and every way of closing or narrowing its standard streams.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from laws_support import examples

from vrspam.cli import main
from vrspam.cli.app import COMMANDS as LISTED
from vrspam.tool import load_model

posix = pytest.mark.skipif(os.name != "posix", reason="file descriptors of POSIX")
COMMANDS = {
    "train": "train {data} --target sick --features linear --folds 2 --model {out}.json",
    "report": "report {data} --target sick --features linear --folds 2 --html {out}.html",
    "check": "check {data} --target sick",
    "evaluate": "evaluate {model} {data}",
    "evaluate, JSON": "evaluate {model} {data} --json",
    "compare": "compare {model} column:age {data}",
    "predict": "predict {model} {data} --out {out}.csv",
    "explain": "explain {model}",
    "explain, JSON": "explain {model} --json",
    "explain a row": "explain {model} {data} --row 2",
    "export": "export {model} --python {out}.py --sql {out}.sql",
    "theory": "theory {data} --target sick",
    "rows": "rows {data} --target sick --features linear",
    "help": "--help",
    "version": "--version",
    "misuse": "train {data} --no-such-option",
}
WAYS = ("no stdin", "no stdout", "no stderr", "no streams", "broken stdout", "broken stderr", "full", "cp1252", "ascii")


def make_table(path):
    rng = np.random.default_rng(0)
    sick = rng.random(120) < 0.35
    table = pd.DataFrame(
        {"age": rng.normal(50, 9, 120).round(1) + 8 * sick, "größe ± 心拍数": rng.random(120).round(3)}
    )
    table["town"] = rng.choice(["Łódź", "Köln"], 120)
    table["sick"] = np.where(sick, "так", "nein")
    table.to_csv(path, index=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams")
    make_table(folder / "rows.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        train = COMMANDS["train"].format(data=folder / "rows.csv", out=folder / "model")
        assert main([*train.split(), "--positive", "так"]) == 0
    return folder


def run_so(command, way):
    """Run a command with its streams closed, broken or narrow; return its exit code and what it printed."""
    close = {"no stdin": [0], "no stdout": [1], "no stderr": [2], "no streams": [0, 1, 2]}.get(way, [])
    encoding = way if way in ("cp1252", "ascii") else "utf-8"
    program = "import os, sys\n" + "".join(f"os.close({number})\n" for number in close)
    program += f"os.execv(sys.executable, [sys.executable, '-m', 'vrspam.cli', *{command!r}])"
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    reading, writing = os.pipe()
    os.close(reading)  # so that nobody reads what is written
    if way in ("broken stdout", "broken stderr"):
        streams[way.removeprefix("broken ")] = writing
    full = open("/dev/full", "wb") if way == "full" else None  # noqa: SIM115
    if full is not None:
        streams["stdout"] = full
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    try:
        done = subprocess.run([sys.executable, "-c", program], env=environment, timeout=300, check=False, **streams)
    finally:
        os.close(writing)
        if full is not None:
            full.close()
    return done.returncode, done.stdout or b"", done.stderr or b""


@posix
@pytest.mark.parametrize("way", WAYS)
def test_streams_end_no_command(folder, tmp_path, way):
    if way == "full" and not Path("/dev/full").exists():
        pytest.skip("no device that is always full")
    rng = np.random.default_rng(sum(map(ord, way)))
    names = ["explain" if way in ("cp1252", "ascii") else "train"]  # which shows names; which must lose no work
    names += rng.choice([*COMMANDS], examples(1) - 1).tolist()
    for number, name in enumerate(names):
        places = {"data": folder / "rows.csv", "model": folder / "model.json", "out": tmp_path / f"out{number}"}
        command = [word.format(**places) for word in COMMANDS[name].split()]
        if name in ("train", "report", "theory", "rows", "check"):
            command += ["--positive", "так"]
        code, out, err = run_so(command, way)
        assert b"Traceback" not in err, (name, err)
        assert b"Exception ignored" not in err, (name, err)
        assert b"unexpected" not in err, (name, err)
        allowed = {2} if name == "misuse" else {0, 1} if name == "check" or way in ("full", "broken stdout") else {0}
        assert code in allowed, (name, code, err)
        if way in ("cp1252", "ascii") and "JSON" in name:
            json.loads(out.decode(way))
        if name == "train":
            load_model(tmp_path / f"out{number}.json")
        if name == "predict":
            assert len((tmp_path / f"out{number}.csv").read_text("utf-8").splitlines()) == 121


@posix
def test_a_closed_standard_input_is_said_so(tmp_path):
    code, _, err = run_so(["check", "-", "--target", "sick"], "no stdin")
    assert code == 2
    assert b"the standard input is closed" in err


@posix
@pytest.mark.parametrize("kind", [".csv", ".csv.gz", ".parquet", ".feather", ".xlsx"])
def test_file_names_need_not_be_utf8(folder, tmp_path, kind, capsys, monkeypatch):
    """All commands read and write files whose names are no text."""
    monkeypatch.chdir(tmp_path)
    odd = b"K\xf6ln \x01".decode("utf-8", "surrogateescape")
    table = pd.read_csv(folder / "rows.csv")
    writers = {".parquet": table.to_parquet, ".feather": table.to_feather}
    writers[".xlsx"] = lambda path: table.to_excel(path, index=False)
    writers.get(kind, lambda path: table.to_csv(path, index=False))(Path(f"plain{kind}"))
    data = Path(f"{odd}{kind}")
    Path(f"plain{kind}").rename(data)
    for name in ("train", "report", "check", "evaluate", "predict", "explain", "explain a row", "export", "compare"):
        places = {"data": data, "model": f"{odd} out.json", "out": f"{odd} out"}
        command = [word.format(**places) for word in COMMANDS[name].split()]
        command += ["--positive", "так"] if name in ("train", "report", "check") else []
        command += ["--html", f"{odd} {name}.html"] if name in ("evaluate", "explain", "compare") else []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = main(command)
        said = capsys.readouterr()
        assert code in ((0, 1) if name == "check" else (0,)), (name, said.err)
        assert "unexpected" not in said.err
    for path in Path().iterdir():
        if path.suffix in (".html", ".json", ".py", ".sql"):
            path.read_text("utf-8")
    assert main(["explain", f"{odd} out.json", "--row", "2"]) == 0  # the file of the training is found again
    capsys.readouterr()
    for out in (f"{odd}.parquet.csv.gz", f"{odd} scores.parquet"):
        assert main(["predict", f"{odd} out.json", str(data), "--out", out]) == 0


def test_every_command_that_reads_a_table_or_model_is_tried():
    assert {*LISTED} - {command.split()[0] for command in COMMANDS.values()} == {
        "demo",
        "reproduce",
        "publish",
        "datasets",
    }


WAIT = """
import signal, sys, time
signal.signal(signal.SIGHUP, signal.SIG_IGN if sys.argv[1] == "ignored" else signal.SIG_DFL)
from vrspam._utils.atomic import replacing
from vrspam.cli import main
main(["--version"])
with replacing("scores.csv") as path:
    path.write_text("half")
    print("ready", flush=True)
    sys.stdin.readline()
"""


@posix
@pytest.mark.parametrize("before", ["ignored", "usual"])
def test_a_hangup_ends_a_command_unless_its_caller_ignores_it(tmp_path, before):
    """A command under `nohup` goes on and completes its file; any other removes what it was writing."""
    command = [sys.executable, "-c", WAIT, before]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=tmp_path, **pipes) as running:  # type: ignore[call-overload]
        while running.stdout.readline().strip() != b"ready":
            assert running.poll() is None
        running.send_signal(signal.SIGHUP)
        if before == "usual":
            assert running.wait() == 128 + signal.SIGHUP
            assert [*tmp_path.iterdir()] == []
        else:
            running.stdin.write(b"go on\n")
            running.stdin.flush()
            assert running.wait() == 0
            assert [path.name for path in tmp_path.iterdir()] == ["scores.csv"]
