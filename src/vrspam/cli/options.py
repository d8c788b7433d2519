"""Options that commands share, with their types and checks; parameters as options in messages; and printing."""

from __future__ import annotations

import csv
import glob
import io
import json
import os
import re
import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from vrspam._utils.messages import Parameter, WordedError, worded

INTERRUPTED = 130  # exit code after Ctrl-C, by custom
WIDE = 200  # columns, where the output is not a terminal and so has no width

out = Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)
err = Console(highlight=False, stderr=True, width=None if sys.stderr.isatty() else WIDE)


# What a terminal obeys instead of showing it: control characters, ends of lines, changes of direction, surrogates.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def as_shown(text: str) -> str:
    """A text with control characters escaped, so that names from a file cannot steer the terminal.

    >>> print(as_shown("\\x1b[31mage"))
    \\x1b[31mage
    """
    return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)


def say(text: str) -> None:
    """Print a line of the result, unbroken."""
    out.print(as_shown(text), markup=False, soft_wrap=True)


def warn(text: str) -> None:
    """Print a line on the standard error stream: broken between words on a terminal, unbroken elsewhere."""
    err.print(as_shown(text), markup=False, soft_wrap=not err.is_terminal)


def print_json(value: Any) -> None:
    """Print one JSON document on the standard output."""
    lines = json.dumps(value, indent=2, ensure_ascii=False).split("\n")
    typer.echo("\n".join(_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", line) for line in lines))


def in_options(message: Any) -> str:
    """The text of an error, a warning or a note, with options where it names parameters."""
    return worded(message, as_option)


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print each different warning once, as one line that names options."""
    shown: set[str] = set()  # a file that is read twice has the same broken lines twice

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if (text := in_options(message)) not in shown:
            shown.add(text)
            warn(f"warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = show
        yield


@contextmanager
def misuse_of(option: str) -> Iterator[None]:
    """Report an error of the library as a wrong use of an option."""
    try:
        yield
    except WordedError as error:
        raise typer.BadParameter(in_options(error), param_hint=option) from error


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document for scripts instead of text.")]
Data = Annotated[
    str,
    typer.Argument(
        help="CSV, Parquet, Feather, Excel, LIBSVM or .npy; text may be compressed (.gz, .bz2, .xz). "
        "All files of a directory, or of a pattern in quotes, are read as one table; - is the standard input.",
        show_default=False,
    ),
]
ModelFile = Annotated[Path, typer.Argument(help="A model that `vrspam train` has written.", show_default=False)]
Target = Annotated[
    str | None, typer.Option(help="The column that holds the labels (not for LIBSVM).", show_default=False)
]
Positive = Annotated[
    str | None,
    typer.Option(
        help="The label to rank above the others; by default the larger of two. All other labels count as negative.",
        show_default=False,
    ),
]
SkipErrors = Annotated[bool, typer.Option("--skip-errors", help="Leave out broken lines, and say how many.")]


def parse_column_names(value: str) -> tuple[str, ...]:
    """Names as in a line of a CSV file.

    >>> parse_column_names('age, "cholesterol, mg/dl"')
    ('age', 'cholesterol, mg/dl')
    """
    found = tuple(name for name in next(csv.reader([value], skipinitialspace=True), []) if name)
    if not found:
        raise typer.BadParameter("give at least one column")
    return found


def parse_delimiter(value: str) -> str:
    """The character between two fields.

    >>> parse_delimiter("tab"), parse_delimiter(";")
    ('\\t', ';')
    """
    found = {"tab": "\t", "\\t": "\t"}.get(value, value)
    if len(found.encode()) != 1:
        raise typer.BadParameter(f"{value!r} is neither one ASCII character nor tab")
    return found


def _columns_option(help: str) -> Any:
    return typer.Option(help=help, parser=parse_column_names, metavar="<names>")


Drop = Annotated[Any, _columns_option('Columns to leave out: names separated by commas, like age,"height, cm".')]
Include = Annotated[Any, _columns_option("Columns to keep although they look like identifiers.")]
Categorical = Annotated[Any, _columns_option("Columns of numbers to treat as categories.")]
MaxCategories = Annotated[
    int, typer.Option(min=2, help="Of a text column with more values the most frequent stay, and the others are one.")
]
MaxFpr = Annotated[
    float | None,
    typer.Option(
        "--max-fpr",
        help="The part of the ROC curve that matters: up to this false-positive rate, above 0 and at most 1.",
        show_default=False,
    ),
]
Confidence = Annotated[float, typer.Option(help="Coverage of the intervals, between 0 and 1.")]
HtmlOut = Annotated[
    Path | None,
    typer.Option("--html", help="Write one self-contained HTML page, with pictures.", show_default=False),
]
Picture = Annotated[
    Path | None, typer.Option("--picture", help="Write a picture (.png, .svg or .pdf).", show_default=False)
]


def parse_format(value: str) -> str:
    """The name of a format that can be read."""
    from vrspam.data.readers import READERS  # here, because the help of a command must not wait for it

    if value not in READERS:
        raise typer.BadParameter(f"{value!r} is none of {', '.join(READERS)}")
    return value


FileFormat = Annotated[
    Any,
    typer.Option(
        "--format",
        help="The format of the file, such as csv or parquet; by default found by its name, else by its first bytes.",
        parser=parse_format,
        metavar="<name>",
        show_default=False,
    ),
]
Delimiter = Annotated[
    Any,
    typer.Option(
        help="What separates the fields of CSV: one character, or tab; by default found in the header line.",
        parser=parse_delimiter,
        metavar="<character>",
        show_default=False,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        help="The encoding of CSV: utf-8, windows-1252, latin-1, utf-16 or another; by default told from the bytes.",
        show_default=False,
    ),
]
Weights = Annotated[str | None, typer.Option(help="A column of weights: how much each row counts.", show_default=False)]
CostRatio = Annotated[
    float | None,
    typer.Option(
        "--cost-ratio",
        "--cost",
        help="How many false alarms are as bad as one missed positive: finds the threshold of least cost.",
        show_default=False,
    ),
]
ZeroBased = Annotated[
    bool | None,
    typer.Option(
        "--zero-based/--one-based",
        help="Whether the indices of LIBSVM start at 0 or 1; by default 1, or as in the training file of the model.",
        show_default=False,
    ),
]


# Parameters of the library that are options; those whose options have another name; values that have another form.
_OPTIONS = {
    name: f"--{name.replace('_', '-')}"
    for name in (
        *("target", "positive", "drop", "include", "categorical", "max_categories", "format", "delimiter"),
        *("features", "streaming", "calibration", "seed", "loss", "l1", "penalty", "l2", "theta", "epsilon", "raw"),
        *("confidence", "recall", "cost_ratio", "skip_errors", "zero_based", "max_fpr", "private"),
        *("dates", "weights", "groups", "time", "selection", "encoding", "holdout", "by", "rows"),
    )
} | {"n_splits": "--folds", "ids": "--id", "n_jobs": "--jobs", "random_state": "--seed"}
_VALUES = {
    Parameter("zero_based", False): "--one-based",
    Parameter("on_error", "skip"): "--skip-errors",
    Parameter("delimiter", "\t"): "--delimiter tab",
}


def as_option(parameter: Parameter) -> str:
    """A parameter as it is typed into a shell; one that is not an option stays as Python writes it.

    >>> as_option(Parameter("drop", ["day"])), as_option(Parameter("target")), as_option(Parameter("streaming", True))
    ('--drop day', '--target', '--streaming')
    >>> as_option(Parameter("include", ["cholesterol, mg/dl"]))
    '--include \\'"cholesterol, mg/dl"\\''
    """
    name, value = parameter
    several = isinstance(value, list | tuple)
    if not several and parameter in _VALUES:
        return _VALUES[parameter]
    if name not in _OPTIONS:
        return str(parameter)
    if value is None or value is True:
        return _OPTIONS[name]
    if value is False:
        return f"no {_OPTIONS[name]}"
    return f"{_OPTIONS[name]} {shlex.quote(csv_line(value) if several else str(value))}"


def csv_line(names: Sequence[str]) -> str:
    """Names as options that name columns are read; `parse_column_names` is the inverse.

    >>> csv_line(["age", "cholesterol, mg/dl"])
    'age,"cholesterol, mg/dl"'
    """
    outer_blanks = any(name != name.strip() for name in names)
    line = io.StringIO()
    csv.writer(line, quoting=csv.QUOTE_ALL if outer_blanks else csv.QUOTE_MINIMAL).writerow(names)
    return line.getvalue().removesuffix("\r\n")


def command_line(context: typer.Context) -> str:
    """The command with all options that were given, as it is typed into a shell."""
    words = [str(context.command_path)]
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        value = context.params.get(str(parameter.name))
        if value is None or source is None or source.name != "COMMANDLINE":
            continue
        if parameter.param_type_name == "argument":
            words.append(str(value))
        elif isinstance(value, bool):
            words.append((parameter.opts if value else parameter.secondary_opts or parameter.opts)[0])
        else:
            words += [parameter.opts[0], csv_line(value) if isinstance(value, tuple | list) else str(value)]
    return " ".join(word if number == 0 else shlex.quote(word) for number, word in enumerate(words))


def check_share(option: str, value: float) -> None:
    """Refuse a number that is not between 0 and 1."""
    if not 0.0 < value < 1.0:
        raise typer.BadParameter(f"{value:g} is not between 0 and 1", param_hint=option)


def check_max_fpr(value: float | None) -> None:
    """Refuse what is not a share of the negatives."""
    if value is not None and not 0.0 < value <= 1.0:
        raise typer.BadParameter(f"{value:g} is not above 0 and at most 1", param_hint="--max-fpr")


def check_positive(option: str, value: float | None) -> None:
    """Refuse a number that is not positive and finite."""
    if value is not None and not 0.0 < value < float("inf"):
        raise typer.BadParameter(f"{value:g} is not a positive number", param_hint=option)


def ask_for_target(data: str, reading: dict[str, Any]) -> None:
    """Ask for the label column of a table that has one."""
    from vrspam.data.readers import Source
    from vrspam.tool.table import check_target

    source = Source.open(data, **reading)
    with misuse_of("--target"):
        check_target(source, None)


def check_picture(path: Path | None) -> None:
    """Refuse a picture of an unknown format before any work is done."""
    if path is not None and path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise typer.BadParameter(f"{path} must end in .png, .svg or .pdf", param_hint="--picture")


def check_output(option: str, path: Path | None, *inputs: str | Path) -> None:
    """Refuse a file that could not be written, or that would replace an input, before any work is done."""
    if path is None:
        return
    reason = None
    folder = Path(os.path.realpath(path)).parent if path.is_symlink() else path.parent
    if not folder.is_dir():
        reason = f"{folder} is not a directory: make it first"
    elif path.is_dir():
        reason = f"{path} is a directory: give the name of a file"
    elif not os.access(folder, os.W_OK):
        reason = f"{folder} may not be written to: choose another directory"
    elif path.exists() and any(_is_among(path, str(data)) for data in inputs):
        reason = f"{path} is an input of this command and would be replaced: give another name"
    if reason:
        raise typer.BadParameter(reason, param_hint=option)


def _is_among(path: Path, data: str) -> bool:
    """Whether a file is one of those that a file name, a directory or a pattern stands for."""
    given = Path(data)
    found = given.iterdir() if given.is_dir() else [given] if given.exists() else map(Path, glob.glob(data))
    return any(file.exists() and file.samefile(path) for file in found)
