"""Help pages do without Markdown and tracebacks, and leave both as they are for others."""

from __future__ import annotations

import subprocess
import sys

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
