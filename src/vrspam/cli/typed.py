"""What one types to set an option: the only place that knows how a `Fix` reads on the command line."""

import csv
import io
import shlex
from collections.abc import Sequence
from typing import Any

from vrspam._utils.findings import Fix

# Options of the other commands, and values that have another form on the command line.
OTHER_OPTIONS = {
    **{name: f"--{name}" for name in ("l2", "theta", "epsilon", "raw", "confidence")},
    **{name: f"--{name}" for name in ("top", "width", "power", "scores")},
    "ids": "--id",
    "allow_missing": "--allow-missing",
    "drop_errors": "--drop-errors",
    "l1s": "--l1",
    "difference": "--difference",
    "monotonic_cst": "--monotone",
}
SPECIAL_VALUES = {
    ("zero_based", False): "--one-based",
    ("on_error", "skip"): "--skip-errors",
    ("delimiter", "\t"): "--delimiter tab",
}


def typed(fix: Fix) -> str:
    """An option as it is typed into a shell; one that the command line does not have stays as Python writes it.

    >>> typed(Fix("drop", ["day"])), typed(Fix("target")), typed(Fix("streaming", True))
    ('--drop day', '--target', '--streaming')
    >>> typed(Fix("include", ["cholesterol, mg/dl"]))
    '--include \\'"cholesterol, mg/dl"\\''
    """
    from vrspam.tool.plan import OPTIONS

    name, value = fix.option, fix.value
    if not isinstance(value, list | tuple | dict) and (name, value) in SPECIAL_VALUES:
        return SPECIAL_VALUES[name, value]
    if name in OPTIONS and OPTIONS[name].panel is not None:
        flag = OPTIONS[name].flag
    elif name in OTHER_OPTIONS:
        flag = OTHER_OPTIONS[name]
    else:
        return str(fix)
    if value is None or value is True:
        return flag
    if value is False:
        return f"no {flag}"
    if isinstance(value, dict) and OPTIONS[name].kind.several:  # columns, each with its categories
        texts = [f"{column}={names_as_text(names)}" for column, names in value.items()]
    elif isinstance(value, list | tuple):
        texts = [names_as_text(value)]
    else:
        texts = [str(value)]
    return " ".join(f"{flag} {shlex.quote(text)}" for text in texts)


def names_as_text(names: Sequence[Any]) -> str:
    """Names as `vrspam.tool.typed_values.read_names` reads them."""
    outer_blanks = any(str(name) != str(name).strip() for name in names)
    line = io.StringIO()
    csv.writer(line, quoting=csv.QUOTE_ALL if outer_blanks else csv.QUOTE_MINIMAL).writerow(names)
    return line.getvalue().removesuffix("\r\n")
