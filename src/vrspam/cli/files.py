"""Files that commands write: what could not be written is refused before any work is done."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from vrspam._utils.atomic import check_replaceable
from vrspam._utils.extras import require

if TYPE_CHECKING:
    from vrspam.report.page import Page


def write_page(page: Page, html: Path | None, markdown: Path | None = None) -> None:
    """Write a page to the files that were asked for."""
    if html is not None:
        page.write(html)
    if markdown is not None:
        page.write_markdown(markdown)


def check_output(option: str, path: Path | None, *inputs: str | Path | None) -> None:
    """Refuse a file that could not be written, or that would replace an input, before any work is done."""
    if path is None:
        return
    reason = None
    folder = Path(os.path.realpath(path)).parent if path.is_symlink() else path.parent
    if option == "--picture" and path.suffix.lower() not in (".png", ".svg", ".pdf"):
        reason = f"{path} must end in .png, .svg or .pdf"
    elif not folder.is_dir():
        reason = f"{folder} is not a directory: make it first"
    elif path.is_dir():
        reason = f"{path} is a directory: give the name of a file"
    elif not os.access(folder, os.W_OK):
        reason = f"{folder} may not be written to: choose another directory"
    elif path.exists():
        try:
            check_replaceable(path)
        except OSError as error:
            reason = f"{path} cannot be replaced. {error.strerror}"
        for given in (Path(data) for data in inputs if data is not None):  # a file, a directory or a pattern
            files = given.iterdir() if given.is_dir() else [given, *map(Path, glob.glob(str(given)))]
            if any(file.exists() and file.samefile(path) for file in files):
                reason = f"{path} is an input of this command and would be replaced: give another name"
    if reason:
        raise typer.BadParameter(reason, param_hint=option)
    if option == "--picture":
        require("plots", "matplotlib")
