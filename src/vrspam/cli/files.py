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


PICTURES = (".png", ".svg", ".pdf")


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
    if option == "--picture" and path.suffix.lower() not in PICTURES:
        reason = f"{path} must end in .png, .svg or .pdf"
    else:
        reason = _why_not_writable(path)
    if path.is_file() and any(_reads(data, path) for data in inputs if data is not None):
        reason = f"{path} is an input of this command and would be replaced: give another name"
    if reason is not None:
        raise typer.BadParameter(reason, param_hint=option)
    if option == "--picture":
        require("plots", "matplotlib")


def _why_not_writable(path: Path) -> str | None:
    """Why a file cannot be written; None if it can."""
    folder = Path(os.path.realpath(path)).parent if path.is_symlink() else path.parent
    if not folder.is_dir():
        return f"{folder} is not a directory: make it first"
    if path.is_dir():
        return f"{path} is a directory: give the name of a file"
    if not os.access(folder, os.W_OK):
        return f"{folder} may not be written to: choose another directory"
    if path.exists():
        try:
            check_replaceable(path)
        except OSError as error:
            return f"{path} cannot be replaced. {error.strerror}"
    return None


def _reads(data: str | Path, path: Path) -> bool:
    """Whether a file is one of those that `data` names: a file, those of a directory, or those of a pattern."""
    named = Path(data)
    files = named.iterdir() if named.is_dir() else [named, *map(Path, glob.glob(str(named)))]
    return any(file.exists() and file.samefile(path) for file in files)
