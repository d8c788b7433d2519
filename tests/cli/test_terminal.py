"""What the commands print: within the width of the terminal, unbroken in pipes, and never by colour alone."""

from __future__ import annotations

import html
import io
import os
import re
import subprocess
import sys

import pytest
from rich.cells import cell_len
from rich.console import Console
from tool_data import patients, write

from vrspam.cli import main, output

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# the large number of a page has two digits, and its interval three; the terminal has four of each
IN_FULL = re.compile(r"(above |below )?0\.\d{4}, 95 % interval ")
LONG = "a column with a rather long name, 心拍数 and <b>tags</b>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("terminal")
    frame = patients(300).rename(columns={"age": LONG})
    write(frame, folder / "patients.csv")
    write(patients(200, seed=1).rename(columns={"age": LONG}), folder / "new.csv")
    train = ["train", str(folder / "patients.csv"), "--target", "sick", "--folds", "3", "--features"]
    for kind in ("linear", "additive"):
        assert main([*train, kind, "--model", str(folder / f"{kind}.json")]) == 0
    return folder


def patients_with_scores():
    """Patients with two columns of scores."""
    frame = patients(200, seed=1)
    return frame.assign(**{"cholesterol mg/dl": frame["cholesterol, mg/dl"].fillna(0.0)})


def commands(folder):
    linear, additive, new = (str(folder / name) for name in ("linear.json", "additive.json", "new.csv"))
    patients = str(folder / "patients.csv")
    return {
        "train": ["train", patients, "--target", "sick", "--features", "linear", "--folds", "3", "--model", linear],
        "evaluate": ["evaluate", additive, new, "--cost-ratio", "5"],
        "compare": ["compare", linear, additive, new],
        "explain": ["explain", linear],
        "explain a row": ["explain", additive, new, "--row", "3"],
    }


def shown_at(width, arguments, monkeypatch):
    """What a command prints on a terminal of this width, without colours."""
    text = io.StringIO()
    terminal = Console(file=text, force_terminal=True, width=width, highlight=False, color_system="standard")
    monkeypatch.setattr(output, "out", terminal)
    assert main(arguments) == 0
    return ESCAPE.sub("", text.getvalue())


@pytest.mark.parametrize("command", ["train", "evaluate", "compare", "explain", "explain a row"])
def test_lines_fit_the_terminal_and_no_number_is_broken(folder, monkeypatch, capsys, command):
    arguments = commands(folder)[command]
    assert main(arguments) == 0
    piped = capsys.readouterr().out
    numbers = set(re.findall(r"[-+]?\d+\.\d{4}", piped))
    assert numbers
    for width in (40, 60, 80, 120):
        found = shown_at(width, arguments, monkeypatch)
        paths = [line for line in found.split("\n") if str(folder) in line or "/" in line]  # are not broken
        longest = max(cell_len(line) for line in found.split("\n") if line not in paths)
        assert longest <= width
        assert {number for number in numbers if number not in found} == set()
        if command not in ("evaluate", "compare"):  # whose tables have no columns of the file
            assert all(word in found for word in LONG.split())
        assert "…" not in found


def test_a_pipe_gets_plain_unbroken_lines(folder, capsys):
    for arguments in commands(folder).values():
        assert main(arguments) == 0
        out = capsys.readouterr().out
        assert "\x1b" not in out
        assert all(line == line.rstrip() for line in out.split("\n"))
    assert main(["evaluate", str(folder / "additive.json"), str(folder / "new.csv")]) == 0
    out = capsys.readouterr().out
    assert "Of 100 pairs of a row with sick = yes and a row with sick = no, " in out


def test_words_that_need_explaining_are_not_there(folder, capsys):
    assert main(commands(folder)["train"]) == 0
    out = capsys.readouterr().out
    for riddle in ("F(0)", "maps tried", "in use", "relative gap", "kernel 0.3"):
        assert riddle not in out
    assert re.search(r"\nfit +complete\n", out)


def text_of(page):
    """What a page shows, without its markup."""
    text = re.sub(r"<(style|script).*?</\1>", "", page.read_text("utf-8"), flags=re.S)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", text)).split())


@pytest.mark.parametrize("command", ["evaluate", "compare", "columns", "report", "rows", "explain"])
def test_all_that_is_printed_stands_on_the_page(folder, tmp_path, capsys, command):
    linear, additive, new = (str(folder / name) for name in ("linear.json", "additive.json", "new.csv"))
    patients, page = str(folder / "patients.csv"), tmp_path / "page.html"
    arguments = {
        "evaluate": ["evaluate", additive, new, "--cost-ratio", "5", "--by", "town"],
        "compare": ["compare", linear, additive, "column:größe", new, "--max-fpr", "0.3"],
        "columns": ["evaluate", new, "--target", "sick", "--scores", "größe,cholesterol mg/dl", "--by", "town"],
        "report": ["report", patients, "--target", "sick", "--features", "linear", "--folds", "3", "--by", "town"],
        "rows": ["rows", patients, "--target", "sick", "--width", "0.1"],
        "explain": ["explain", linear],
    }[command]
    if command == "columns":
        frame = patients_with_scores()
        write(frame, tmp_path / "scored.csv")
        arguments[1] = str(tmp_path / "scored.csv")
    assert main([*arguments, "--html", str(page)]) == 0
    shown = text_of(page)
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) > 8
    pieces = [piece for line in printed for piece in re.split(r"  +", line.strip()) if piece]
    left_out = {"page", str(page)}
    missing = [piece for piece in pieces if piece not in left_out and " ".join(piece.split()) not in shown]
    assert [piece for piece in missing if not IN_FULL.match(piece)] == []


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_real_terminal_with_no_color(folder):
    import pty

    ours, theirs = pty.openpty()
    env = {**os.environ, "COLUMNS": "50", "TERM": "xterm-256color", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "vrspam.cli", *commands(folder)["explain a row"]]
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.PIPE, env=env) as running:
        os.close(theirs)
        found = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            found += part
    os.close(ours)
    text = found.decode("utf-8")
    assert running.returncode == 0
    assert "row 3 of new.csv" in text
    assert not re.search(r"\x1b\[[0-9;]*(3[0-7]|9[0-7]|38|48)[;m]", text)
    assert max(cell_len(line) for line in ESCAPE.sub("", text).replace("\r", "").split("\n")) <= 50


def test_worries_stand_above_the_numbers_of_an_evaluation(folder, monkeypatch):
    text = io.StringIO()
    for stream in ("out", "err"):
        monkeypatch.setattr(output, stream, Console(file=text, width=200, highlight=False))
    assert main(["evaluate", str(folder / "additive.json"), str(folder / "patients.csv")]) == 0
    found = text.getvalue()
    assert found.index("these measures are too good") < found.index("Of 100 pairs")
