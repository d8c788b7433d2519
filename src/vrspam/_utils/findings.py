"""Texts that may name options: findings about a table, warnings and errors.

A text is neutral: what the reader can set is in a `Fix`. Python writes it as a keyword (`drop=['day']`), the command
line as an option (`--drop day`), each in one place, so that no sentence is ever taken apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self

#: Where the option stands in what a `Fix` does.
OPTION = "\N{OBJECT REPLACEMENT CHARACTER}"
#: How grave a finding is, the gravest first: the results mislead; the results may mislead; good to know.
SEVERITIES = ("severe", "warning", "note")

Severity = Literal["severe", "warning", "note"]


class Fix(NamedTuple):
    """An option that mends something: its name, the value to give it, and what it does.

    Without a value the reader chooses one. `does` is how the text goes on, with `OPTION` where the option stands;
    without it the option stands alone.

    >>> fix = Fix("groups", "patient", f"; {OPTION} keeps them together")
    >>> str(fix), fix.clause()
    ("groups='patient'", "; groups='patient' keeps them together")
    """

    option: str
    value: Any = None
    does: str = OPTION

    def __str__(self) -> str:
        return f"{self.option}=" if self.value is None else f"{self.option}={self.value!r}"

    def clause(self, show: Callable[[Fix], str] = str) -> str:
        """What it does, with the option as `show` writes it."""
        return self.does.replace(OPTION, show(self), 1)


class Note(str):
    """A text as Python writes it, which keeps its parts: sentences, and options that the reader may set.

    >>> note = Note("column 'day' is empty: leave it out with ", Fix("drop", ["day"]))
    >>> print(note)
    column 'day' is empty: leave it out with drop=['day']
    >>> note.text(show=lambda fix: f"--{fix.option} {' '.join(fix.value)}")
    "column 'day' is empty: leave it out with --drop day"
    """

    parts: tuple[str | Fix, ...]

    def __new__(cls, *parts: str | Fix) -> Self:
        new = super().__new__(cls, _joined(parts))
        new.parts = parts
        return new

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.parts

    def text(self, show: Callable[[Fix], str] = str) -> str:
        """The text with its options as `show` writes them."""
        return _joined(self.parts, show)

    def to_plain(self) -> dict[str, Any]:
        """The parts as JSON can hold them."""
        return {"parts": [part._asdict() if isinstance(part, Fix) else part for part in self.parts]}


def parts_of(text: str) -> tuple[str | Fix, ...]:
    """The parts of a note; a plain text is one part."""
    return text.parts if isinstance(text, Note) else (text,)


def _joined(parts: Iterable[str | Fix], show: Callable[[Fix], str] = str) -> str:
    return "".join(part.clause(show) if isinstance(part, Fix) else part for part in parts)


class Finding(Note):
    """A sentence about a table, its rows or a fit, with a code by which it can be muted; docs/doctor.md explains each.

    It is a text, the sentence and then what can be done, as Python writes it.

    Parameters
    ----------
    code : str
    severity : {"severe", "warning", "note"}
    sentence : str
        What was found; it names no option.
    fixes : sequence of Fix
        What can be done, the remedy first.
    numbers : mapping of str to float
        The numbers of the sentence, for scripts.
    columns : sequence of str
        The columns that it is about.

    Examples
    --------
    >>> from vrspam.tool import Finding
    >>> finding = Finding("order", "note", "the order of the rows goes with the label")
    >>> finding.code, finding.fix, str(finding)
    ('order', None, 'the order of the rows goes with the label')
    """

    code: str
    severity: Severity
    sentence: str
    fixes: tuple[Fix, ...]
    numbers: Mapping[str, float]
    columns: tuple[str, ...]

    def __new__(
        cls,
        code: str,
        severity: Severity,
        sentence: str,
        fixes: Sequence[Fix] = (),
        numbers: Mapping[str, float] = {},
        columns: Sequence[str] = (),
    ) -> Self:
        new = super().__new__(cls, sentence, *fixes)
        new.code = code
        new.severity = severity
        new.sentence = sentence
        new.fixes = tuple(fixes)
        new.numbers = dict(numbers)
        new.columns = tuple(columns)
        return new

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.code, self.severity, self.sentence, self.fixes, self.numbers, self.columns

    @property
    def fix(self) -> Fix | None:
        """The remedy: the first fix whose value is known, or None."""
        return next((fix for fix in self.fixes if fix.value is not None), None)

    def to_plain(self) -> dict[str, Any]:
        """The fields as JSON can hold them."""
        return {
            "code": self.code,
            "severity": self.severity,
            "sentence": self.sentence,
            "fixes": [fix._asdict() for fix in self.fixes],
            "numbers": dict(self.numbers),
            "columns": [str(column) for column in self.columns],
        }


def note_from_plain(plain: Any) -> str:
    """The note or finding that `to_plain` made plain; a text is a note without options.

    Anybody can have written it, so each value is looked at.
    """
    if isinstance(plain, str):
        return plain
    if "code" not in plain:
        return Note(*(part if isinstance(part, str) else _fix_from_plain(part) for part in plain["parts"]))
    severity, numbers, columns = plain["severity"], plain["numbers"], plain["columns"]
    if severity not in SEVERITIES:
        raise ValueError(f"a finding is {severity!r}")
    if not all(isinstance(number, int | float) for number in numbers.values()):
        raise TypeError("a number of a finding is none")
    texts = [_as_text(plain[name]) for name in ("code", "sentence")]
    fixes = [_fix_from_plain(fix) for fix in plain["fixes"]]
    return Finding(texts[0], severity, texts[1], fixes, numbers, [_as_text(column) for column in columns])


def _fix_from_plain(plain: Mapping[str, Any]) -> Fix:
    value = plain["value"]
    values = value if isinstance(value, list) else [value]
    if not all(each is None or isinstance(each, str | bool | int | float) for each in values):
        raise TypeError("the value of an option is none")
    return Fix(_as_text(plain["option"]), value, _as_text(plain["does"]))


def _as_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


class VrspamError(ValueError):
    """Something is refused: what is wrong and what to do, in sentences and options as those of a `Note`."""

    def __init__(self, *parts: str | Fix):
        self.note = Note(*parts)
        super().__init__(str(self.note))

    def __reduce__(self) -> Any:
        return type(self), self.note.parts


def text_of(thing: Any, show: Callable[[Fix], str] = str) -> str:
    """The text of an error, a warning or a note, with options as `show` writes them."""
    note = getattr(thing, "note", thing)
    return note.text(show) if isinstance(note, Note) else str(thing)
