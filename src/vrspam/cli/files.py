"""What the commands on files share: their options, and messages that speak of options instead of Python."""

from __future__ import annotations

import csv
import glob
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from vrspam.cli.common import err, warn

Data = Annotated[
    str,
    typer.Argument(
        help="CSV, Parquet, Feather, LIBSVM or .npy; text may be packed (.gz, .bz2, .xz). "
        "A directory or a quoted pattern is one table.",
        show_default=False,
    ),
]
ModelFile = Annotated[Path, typer.Argument(help="What `vrspam train` has written.", show_default=False)]
Target = Annotated[str | None, typer.Option(help="The label column (none for LIBSVM).", show_default=False)]
Positive = Annotated[
    str | None,
    typer.Option(
        help="The label to rank above the others; the larger of two by default. Of several labels, all others "
        "stand against it.",
        show_default=False,
    ),
]
SkipErrors = Annotated[
    bool, typer.Option("--skip-errors", help="Leave out broken lines and rows without a label, and say how many.")
]
Drop = Annotated[
    str | None, typer.Option(help="Columns to leave out, separated by commas; in quotes a name that holds a comma.")
]
Include = Annotated[str | None, typer.Option(help="Columns to take in although they look like identifiers.")]
Categorical = Annotated[str | None, typer.Option(help="Columns of numbers to take as categories.")]
MaxCategories = Annotated[int, typer.Option(min=2, help="A text column with more different values is left out.")]
Confidence = Annotated[float, typer.Option(help="Coverage of the intervals, between 0 and 1.")]
HtmlOut = Annotated[
    Path | None, typer.Option("--html", help="Write one self-contained page, with pictures.", show_default=False)
]
Picture = Annotated[
    Path | None, typer.Option("--picture", help="Write a picture (.png, .svg or .pdf).", show_default=False)
]

# What the library says to a Python program -> what it means on the command line.
_IN_OPTIONS = [
    (re.compile(r"pass on_error='skip'"), "give --skip-errors"),
    (re.compile(r"(drop|categorical)=\[('[^']*'|\"[^\"]*\")\]"), r"--\1 \2"),
    (re.compile(r"available\(\) lists"), "vrspam datasets lists"),
    (re.compile(r"\bmax_categories\b"), "--max-categories"),
    (re.compile(r"use fewer folds, or another seed of HashFolds"), "use fewer --folds, or another --seed"),
]


def columns(drop: str | None, include: str | None, categorical: str | None) -> dict[str, tuple[str, ...]]:
    """The options that name columns."""
    given = {"drop": drop, "include": include, "categorical": categorical}
    return {name: column_names(value) or () for name, value in given.items()}


def column_names(value: str | None) -> tuple[str, ...] | None:
    """Names as in a line of a CSV file.

    >>> column_names('age, "cholesterol, mg/dl"')
    ('age', 'cholesterol, mg/dl')
    """
    if value is None:
        return None
    found = tuple(name for name in next(csv.reader([value], skipinitialspace=True), []) if name)
    if not found:
        raise typer.BadParameter("give at least one column")
    return found


def check_share(name: str, value: float) -> None:
    """Refuse a share that is not between 0 and 1."""
    if not 0.0 < value < 1.0:
        raise typer.BadParameter(f"{value:g} is not between 0 and 1", param_hint=name)


def check_target(data: str, target: str | None) -> None:
    """Ask for the label column of a table that has one."""
    from vrspam.data.source import Source

    if target is None and (source := Source.open(data)).format != "libsvm":
        raise typer.BadParameter(f"which column of {source.paths[0]} holds the labels? Name it", param_hint="--target")


def check_picture(path: Path | None) -> None:
    """Refuse a picture of unknown kind before any work is done."""
    if path is not None and path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise typer.BadParameter(f"{path} must end in .png, .svg or .pdf", param_hint="--picture")


def check_output(option: str, path: Path | None, *inputs: str | Path) -> None:
    """Refuse a file that could not be written, or that would replace what is read, before any work is done."""
    if path is None:
        return
    reason = None
    if not path.parent.is_dir():
        reason = f"{path.parent} is no directory: make it first"
    elif path.is_dir():
        reason = f"{path} is a directory: give the name of a file"
    elif not os.access(path.parent, os.W_OK):
        reason = f"{path.parent} may not be written to: choose another directory"
    elif any(_is_among(path, str(data)) for data in inputs):
        reason = f"{path} would be replaced, and it is read: give another name"
    if reason:
        raise typer.BadParameter(reason, param_hint=option)


def _is_among(path: Path, data: str) -> bool:
    """Whether a file is one of those that a file name, a directory or a pattern stands for."""
    if not path.exists():
        return False
    given = Path(data)
    found = given.iterdir() if given.is_dir() else [given] if given.exists() else map(Path, glob.glob(data))
    return any(file.exists() and file.samefile(path) for file in found)


def on_terminal() -> bool:
    """Whether a progress bar can move."""
    return err.is_terminal


@contextmanager
def plain_words() -> Iterator[None]:
    """Errors and warnings in terms of the command line, each one sentence."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        shown: set[str] = set()  # a file that is read twice has the same broken lines twice

        def show(message: Any, *_: Any, **__: Any) -> None:
            if (text := in_options(str(message))) not in shown:
                shown.add(text)
                warn(f"warning: {text}")

        warnings.showwarning = show
        try:
            yield
        except ValueError as error:
            raise ValueError(in_options(str(error))) from error


def in_options(message: str) -> str:
    """A message of the library in terms of options.

    >>> in_options("column 'day' is no number; leave it out with drop=['day']")
    "column 'day' is no number; leave it out with --drop 'day'"
    """
    for pattern, words in _IN_OPTIONS:
        message = pattern.sub(words, message)
    return message
