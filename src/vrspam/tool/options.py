"""What an option of a plan is: its help, the kind of its values and what they must be.

Help pages are made from options, so this module imports nothing that takes time.
"""

from collections.abc import Callable, Iterable
from dataclasses import Field, field
from textwrap import wrap
from typing import Any, Literal, NamedTuple, get_args, get_origin

from vrspam.tool.typed_values import read_delimiter, read_directions, read_names, read_numbers, read_order

PANELS = DATA, MODEL, FOLDS, THRESHOLD, PAGE, FILE = ("Data", "Model", "Folds", "Threshold", "Page", "File format")

#: What is wrong with a value ("must be at least 2"), or None.
Check = Callable[[Any], str | None]


# ---- what values must be


def must(holds: Callable[[Any], bool], words: str) -> Check:
    """Make a check that returns `words` for a value that is not None and for which `holds` is false."""
    return lambda value: None if value is None or holds(value) else words


def at_least(least: int) -> Check:
    """Make a check that a number is at least this."""
    return must(lambda value: value >= least, f"must be at least {least}")


def one_of(names: Iterable[str]) -> Check:
    """Make a check that a value is one of these."""
    known = tuple(names)
    return lambda value: None if value in known else f"is not known; give {as_choice(known)}"


def as_choice(names: Iterable[str]) -> str:
    """Names as a choice in a sentence.

    >>> as_choice(["a", "b", "c"])
    'a, b or c'
    """
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


anything = must(lambda value: True, "")
share = must(lambda value: 0.0 < value < 1.0, "must be between 0 and 1")
share_or_all = must(lambda value: 0.0 < value <= 1.0, "must be above 0 and at most 1")
one_or_more = at_least(1)
positive_number = must(lambda value: 0.0 < value < float("inf"), "must be a positive number")
finite_number = must(lambda value: abs(value) < float("inf"), "must be finite")
names_of_columns = must(lambda value: not isinstance(value, str), "must be names of columns, not one text")
one_character = must(lambda value: len(value.encode()) == 1, "is neither one ASCII character nor tab")
directions = must(
    lambda value: isinstance(value, dict) and all(sign in (-1, 0, 1) for sign in value.values()),
    "must name columns with -1 (the score falls), 0 or 1 (it rises), as in income=-1,age=1",
)
orders = must(
    lambda value: isinstance(value, dict) and all(len(set(names)) == len(names) > 1 for names in value.values()),
    "must name a column and its categories from low to high, as in size=small,medium,large",
)


def penalties(value: Any) -> str | None:
    """Check the candidates for a penalty."""
    if isinstance(value, str):
        return None if value == "auto" else "is neither 'auto' nor numbers"
    if not isinstance(value, Iterable):
        return "must be 'auto' or a sequence of numbers"
    return None if all(0.0 <= number < float("inf") for number in value) else "must not be negative or infinite"


def codes_of_findings(value: Any) -> str | None:
    """Check codes of findings."""
    if isinstance(value, str):
        return "must be codes, not one text"
    if not value:
        return None
    from vrspam.checks.diagnose import all_codes  # here, because it imports all that checks need

    codes = all_codes()
    return None if all(code in codes for code in value) else f"is not known; give some of {', '.join(codes)}"


def known_features(value: Any) -> str | None:
    """Check the name of feature maps, or a map."""
    usual = ("linear", "additive", "kernel", "trees", "forest", "boosted", "auto")
    if value is None or (isinstance(value, str) and value in usual):
        return None
    if isinstance(value, str):
        from vrspam.features.names import NAMES, SINGLE_NAMES  # single maps, such as "kernel 1"

        return None if value in NAMES + SINGLE_NAMES else f"is not known; give {as_choice(usual)}"
    from vrspam.features import FeatureMap

    is_map = isinstance(value, FeatureMap)
    return None if is_map else "cannot be held by a model file: give a name, or a map of vrspam.features"


def known_format(value: str | None) -> str | None:
    """Check the name of a file format."""
    if value is None:
        return None
    from vrspam.data.readers import READERS

    return one_of(READERS)(value)


# ---- kinds of values


class Kind(NamedTuple):
    """A kind of values: what they are called, how they are typed and what they must be.

    `name` is what docstrings call them, by default the type of the field; `metavar` stands for one in help pages.
    `read` makes a value of typed text, and `how` is a sentence about it. With `repeats` the option may be given
    again, and its values are joined. With `several` the value is a dict, whose entries are typed one an option.
    """

    name: str = ""
    metavar: str | None = None
    check: Check = anything
    read: Callable[[str], Any] = str
    how: str = ""
    repeats: bool = False
    several: bool = False


PLAIN = Kind()  # what its type says: a number, a flag, a text or a choice
COLUMN = Kind(metavar="<column>")
COLUMNS = Kind("sequence of str", "<names>", names_of_columns, read_names, "Commas separate them.", repeats=True)
LABEL = Kind(metavar="<label>")
SHARE = Kind("float in (0, 1)", check=share)
SHARE_OR_ALL = Kind("float in (0, 1]", check=share_or_all)
RATIO = Kind(metavar="<ratio>", check=positive_number)
PENALTIES = Kind('"auto" or sequence of numbers', "<numbers>", penalties, read_numbers, "Commas separate numbers.")
CODES = Kind("sequence of str", "<codes>", codes_of_findings, read_names, "Commas separate them.", repeats=True)
CHARACTER = Kind(metavar="<char>", check=one_character, read=read_delimiter)
FORMAT = Kind(check=known_format)
FEATURES = Kind(
    '{"linear", "additive", "kernel", "trees", "forest", "boosted", "auto"} or a map of `vrspam.features`',
    check=known_features,
)
DIRECTIONS = Kind(
    "dict of column to -1, 0 or 1",
    "<directions>",
    directions,
    read_directions,
    "As in income=-1,age=1.",
    repeats=True,
)
ORDERS = Kind(
    "dict of column to sequence of str",
    "<column=names>",
    orders,
    read_order,
    "As in size=small,medium,large.",
    repeats=True,
    several=True,
)


# ---- options


class Option(NamedTuple):
    """A field of a plan, as functions and commands show it.

    `panel` is its place in help pages; None means that only Python has it. `help` is a sentence or more that name no
    option; docstrings add `details`. `flags` are typed in place of the name. `only` names the single command that has
    the option.
    """

    name: str
    type: Any
    default: Any
    panel: str | None
    help: str
    kind: Kind
    check: Check
    flags: tuple[str, ...]
    details: str
    only: str | None

    @property
    def flag(self) -> str:
        """The option as it is typed."""
        return self.flags[0].partition("/")[0]

    def docstring(self) -> list[str]:
        """The lines of a docstring about the option."""
        has_default = self.default is not None and self.default != () and not callable(self.default)
        extent = f"default={_quoted(self.default)}" if has_default else "optional"
        lines = [f"{self.name} : {self._type_in_words()}, {extent}"]
        for line in wrap(f"{self.help} {self.details}", 112):
            lines.append(f"    {line}")
        return lines

    def _type_in_words(self) -> str:
        if get_origin(self.type) is Literal:
            return f"{{{', '.join(map(_quoted, get_args(self.type)))}}}"
        if self.kind.name:
            return self.kind.name
        first = (get_args(self.type) or (self.type,))[0]  # str of `str | None`
        return getattr(first, "__name__", "callable")


def with_options(docstring: str | None, options: Iterable[Option]) -> str:
    """A docstring with these options in the place of {options}."""
    lines = [line for each in options for line in each.docstring()]
    return (docstring or "").replace("{options}", "\n    ".join(lines))


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def option(
    default: Any,
    panel: str | None,
    help: str,
    kind: Kind = PLAIN,
    *,
    check: Check | None = None,
    flags: tuple[str, ...] = (),
    details: str = "",
    only: str | None = None,
) -> Any:
    """Declare a field of a plan, with its default and what `Option` says of it."""
    given = {"panel": panel, "help": help, "kind": kind, "check": check or kind.check}
    return field(default=default, metadata={**given, "flags": flags, "details": details, "only": only})


def option_of_field(field_of_plan: "Field[Any]") -> Option:
    """The option that a field declares; a `Literal` is a check, and the name is a flag."""
    name, kind = field_of_plan.name, field_of_plan.type
    declared = dict(field_of_plan.metadata)
    if get_origin(kind) is Literal:
        declared["check"] = one_of(get_args(kind))
    declared["flags"] = declared["flags"] or (f"--{name.replace('_', '-')}",)
    return Option(name=name, type=kind, default=field_of_plan.default, **declared)
