"""Help pages do without Markdown, tracebacks and the modules of the commands, and leave all as they are for others."""

from __future__ import annotations

import ast
import gc
import inspect
import subprocess
import sys
from typing import Any

import pytest
import typer

from vrspam.cli import main
from vrspam.cli.app import COMMANDS, app

PROGRAM = """
import sys
from vrspam.cli import main
main(["--help"])
assert "rich.markdown" not in sys.modules and "rich.traceback" not in sys.modules
import typer.rich_utils
found = typer.rich_utils.Markdown("*a*")
from rich.markdown import Markdown
from rich.traceback import Traceback
assert type(found) is Markdown
try:
    1 / 0
except ZeroDivisionError as error:
    made = typer.rich_utils.Traceback.from_exception(type(error), error, error.__traceback__)
assert type(made) is Traceback
"""


def test_help_loads_neither_markdown_nor_tracebacks_but_typer_still_has_both():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "vrspam demo" in done.stdout


def python(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def group() -> Any:
    return typer.main.get_command(app)


def test_list_of_commands_imports_none_of_them():
    found = python(
        "import sys; from vrspam.cli import main; main(['--help'])\n"
        "print([name for name in sys.modules if name.startswith('vrspam.cli.')])"
    )
    modules = ast.literal_eval(found.splitlines()[-1])
    assert not [name for name in modules if name.startswith("vrspam.cli.commands")]


def test_help_of_one_command_imports_no_other():
    found = python(
        "import sys; from vrspam.cli import main; main(['theory', '--help'])\n"
        "print([name for name in sys.modules if name.startswith('vrspam.cli.')])"
    )
    assert "--epsilon" in found
    modules = {name.rpartition(".")[2] for name in ast.literal_eval(found.splitlines()[-1])}
    assert modules & {*COMMANDS} == {"theory"}


def test_lines_of_the_list_are_those_of_the_commands():
    commands = group()
    before = list(commands.commands)
    for name in COMMANDS:
        commands.resolve_command(None, [name])
    assert list(commands.commands) == before == list(COMMANDS)
    for name, command in commands.commands.items():
        said = inspect.cleandoc(inspect.unwrap(command.callback).__doc__).split("\n\n")[0]
        assert COMMANDS[name] == " ".join(said.split())


@pytest.mark.parametrize("width", [60, 80, 200])
def test_page_is_the_same_with_all_commands_loaded(width, capsys, monkeypatch):
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", width)
    pages = []
    for loaded in ((), tuple(COMMANDS)):
        commands = group()
        for name in loaded:
            commands.resolve_command(None, [name])
        with pytest.raises(SystemExit):
            commands(["--help"], prog_name="vrspam")
        pages.append(capsys.readouterr().out)
    assert pages[0] == pages[1]
    assert all(name in pages[0] for name in COMMANDS)


def test_shells_complete_names_and_options():
    commands = group()
    context = commands.make_context("vrspam", [], resilient_parsing=True)
    (found,) = commands.shell_complete(context, "tr")
    assert found.value == "train"
    assert COMMANDS["train"].startswith(found.help.removesuffix("..."))
    _, command, _ = commands.resolve_command(context, ["train", "--cal"])
    inner = command.make_context("train", [], parent=context, resilient_parsing=True)
    assert [item.value for item in command.shell_complete(inner, "--cal")] == ["--calibration"]


def test_a_mistyped_command_is_told_the_right_one(capsys):
    assert main(["trian"]) == 2
    assert "Did you mean 'train'" in capsys.readouterr().err


def test_only_a_process_that_ends_freezes_its_objects():
    assert gc.get_freeze_count() == 0
    assert main(["--version"]) == 0
    assert gc.get_freeze_count() == 0
    program = (
        "import gc, sys; sys.argv = ['vrspam', '--version']\n"
        "from vrspam.cli import main; main(); print(gc.get_freeze_count())"
    )
    assert int(python(program).splitlines()[-1]) > 1000
