"""What the commands on files share: their options, and checks of what they name."""

from __future__ import annotations

import csv
import glob
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from vrspam.cli.common import err, warn
from vrspam.cli.wording import in_options

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


class Format(StrEnum):
    csv = "csv"
    libsvm = "libsvm"
    parquet = "parquet"
    feather = "feather"
    npy = "npy"


FileFormat = Annotated[
    Format | None,
    typer.Option("--format", help="What the file is, where its name or its first bytes mislead.", show_default=False),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        help="Stands between the fields of CSV: one character, or tab; by default found in the line of names.",
        show_default=False,
    ),
]
ZeroBased = Annotated[
    bool | None,
    typer.Option(
        "--zero-based/--one-based",
        help="Where the indices of LIBSVM start; by default at 1, or as in the file the model was trained on.",
        show_default=False,
    ),
]


def reading(format: Format | None, delimiter: str | None, zero_based: bool | None) -> dict[str, Any]:
    """The options that say how a file is read, those that were given."""
    if delimiter is not None:
        delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter, delimiter)
        if len(delimiter.encode()) != 1:
            raise typer.BadParameter(f"{delimiter!r} is neither one ASCII character nor tab", param_hint="--delimiter")
    given = {"format": format and format.value, "delimiter": delimiter, "zero_based": zero_based}
    return {name: value for name, value in given.items() if value is not None}


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


def check_target(data: str, target: str | None, reading: dict[str, Any]) -> None:
    """Ask for the label column of a table that has one."""
    from vrspam.data.readers import Source

    if target is None and (source := Source.open(data, **reading)).format != "libsvm":
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
