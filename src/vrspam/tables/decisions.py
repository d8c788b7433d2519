"""What the reader decides about columns, and how it says so: a class for each sentence.

The doctor shows decisions as its findings; estimators, `vrspam.data.read_chunks` and Spark warn of them, each with its
own remedies. docs/doctor.md has a section for each code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from vrspam._utils.findings import OPTION, Finding, Fix, Severity
from vrspam._utils.texts import show_texts
from vrspam.tables.kinds.missing import count_missing, means_missing


class Several(NamedTuple):
    """What is said of several columns, and the option that mends it (None: none does) with what it does."""

    says: str
    option: str | None = None
    does: str = ""


@dataclass(frozen=True)
class Decision:
    """What was decided about a column.

    Attributes
    ----------
    code, severity : str
        Of its finding.
    several : Several
        What stands for the findings of several columns.
    column : object
        The name of the column; names of a frame need not be text.
    """

    code: ClassVar[str]
    several: ClassVar[Several]
    column: Any

    @property
    def severity(self) -> Severity:
        return "note"

    @property
    def sentence(self) -> str:
        """What is said of the column, behind its name; it names no option."""
        raise NotImplementedError

    @property
    def fixes(self) -> Sequence[Fix]:
        """What can be done, the remedy first."""
        return ()

    def finding(self) -> Finding:
        """The decision as a finding."""
        subject = f"column {self.column!r}" if self.column else "the column without a name"
        columns = [self.column] if self.column else []
        return Finding(self.code, self.severity, f"{subject} {self.sentence}", self.fixes, columns=columns)


@dataclass(frozen=True)
class LooksLikeIdentifier(Decision):
    """A column only names the rows."""

    code = "identifiers"
    several = Several("look like identifiers and were left out", "include", f"; {OPTION} would keep one")
    reason: str  # "numbers the rows"

    @property
    def sentence(self) -> str:
        return f"{self.reason}: it looks like an identifier and was left out"

    @property
    def fixes(self) -> Sequence[Fix]:
        if not self.column:  # without a name it cannot be asked for
            return ()
        return (Fix("include", [self.column], f"; use {OPTION} to keep it"),)


@dataclass(frozen=True)
class LeftOut(Decision):
    """A column cannot be used, or is not wanted."""

    code = "left-out"
    several = Several("have no values that can be used; left out")
    reason: str  # "has no values"

    @property
    def sentence(self) -> str:
        return f"{self.reason}; left out"


@dataclass(frozen=True)
class HoldsCodes(Decision):
    """Among numbers there are codes, such as ZIP codes."""

    code = "codes"
    severity = "warning"
    several = Several("hold codes that look like numbers", "categorical", f": take them as categories with {OPTION}")
    sentence = "holds codes that look like numbers"

    @property
    def fixes(self) -> Sequence[Fix]:
        return (Fix("categorical", [self.column], f": take it as categories with {OPTION}"),)


@dataclass(frozen=True)
class TextAmongNumbers(Decision):
    """Among numbers there is text, which counts as missing; `strays` has the texts and their counts."""

    code = "unread-text"
    several = Several("hold numbers; text among them counts as missing")
    strays: Mapping[str, int]

    @property
    def severity(self) -> Severity:
        return "note" if all(map(means_missing, self.strays)) else "warning"

    @property
    def sentence(self) -> str:
        return f"holds numbers; {count_missing(self.strays)}"


@dataclass(frozen=True)
class LooksLike(Decision):
    """Text that looks like numbers or dates cannot be read, and is taken as categories."""

    code = "unread-text"
    severity = "warning"
    several = TextAmongNumbers.several
    what: str  # "numbers"
    different: int  # number of different texts

    @property
    def sentence(self) -> str:
        return f"holds text that looks like {self.what}, taken as {self.different} categories"

    @property
    def fixes(self) -> Sequence[Fix]:
        advice = f": write plain numbers, with nothing where one is missing, leave it out ({OPTION})"
        return Fix("drop", [self.column], advice), Fix("categorical", [self.column], f" or confirm it ({OPTION})")


@dataclass(frozen=True)
class OneText(Decision):
    """One text alone that looks like a number or a date is a category, and so are words for missing beside it.

    A number in its place would be a constant, and lose what the gaps say: a flag may be `1` or `-`.
    """

    code = "unread-text"
    several = Several("hold one number or date alone, taken as a category")
    what: str  # "numbers"
    text: str
    words: Sequence[str] = ()  # for missing

    @property
    def sentence(self) -> str:
        beside = f" beside {show_texts(self.words)}" if self.words else ""
        return f"holds one text that looks like {self.what}, {self.text!r}{beside}, taken as categories"


@dataclass(frozen=True)
class DigitsLost(Decision):
    """Integers are too large for floats."""

    code = "large-integers"
    severity = "warning"
    several = Several("hold integers beyond 2**53, which lose digits", "drop", f": leave them out with {OPTION}")
    sentence = "holds integers beyond 2**53, which lose digits as 64-bit floats"

    @property
    def fixes(self) -> Sequence[Fix]:
        return (
            Fix("drop", [self.column], f": leave it out ({OPTION}) if it names the rows"),
            Fix("categorical", [self.column], f", or take its numbers as categories ({OPTION})"),
        )


@dataclass(frozen=True)
class ManyCategories(Decision):
    """Only the most frequent categories are kept."""

    code = "many-categories"
    severity = "warning"
    several = Several(
        "have very many categories, of which the rare ones count as one, as do new ones",
        "drop",
        f"; use {OPTION} if they are names",
    )
    most: int
    kept: int
    rare: int

    @property
    def sentence(self) -> str:
        return (
            f"has more than {self.most:,} categories: the {self.kept:,} most frequent are kept, and the other "
            f"{self.rare:,} count as one, as do new ones"
        )

    @property
    def fixes(self) -> Sequence[Fix]:
        return (
            Fix("drop", [self.column], f"; use {OPTION} if it is a name"),
            Fix("max_categories", None, f", or raise {OPTION} to keep more"),
        )


@dataclass(frozen=True)
class PartsBecomeFeatures(Decision):
    """Dates become numbers: their year, month, weekday and hour."""

    code = "dates"
    several = Several(
        "hold dates: their year, month, weekday and hour are features", "dates", f"; {OPTION} leaves dates out"
    )
    what: str  # "dates", or how text was read
    parts: tuple[str, ...]

    @property
    def sentence(self) -> str:
        *others, last = self.parts
        if not others:
            return f"holds {self.what}: its {last} is a feature"
        return f"holds {self.what}: its {', '.join(others)} and {last} are features"

    @property
    def fixes(self) -> Sequence[Fix]:
        return (Fix("dates", "drop", f"; {OPTION} leaves dates out"),)


@dataclass(frozen=True)
class TextReadAsNumbers(Decision):
    """Text is read as numbers."""

    code = "text-numbers"
    several = Several("hold text that was read as numbers", "categorical", f"; {OPTION} would take one as categories")
    what: str  # how the text was read

    @property
    def sentence(self) -> str:
        return f"holds {self.what}"

    @property
    def fixes(self) -> Sequence[Fix]:
        return (
            Fix("drop", [self.column], f": leave it out ({OPTION})"),
            Fix("categorical", [self.column], f", or take it as categories ({OPTION})"),
        )


@dataclass(frozen=True)
class TypeReadAsNumbers(Decision):
    """A column of another type, such as times of day, is read as numbers."""

    code = "text-numbers"
    several = TextReadAsNumbers.several
    what: str  # "times"
    meaning: str  # "hours"

    @property
    def sentence(self) -> str:
        return f"holds {self.what}, which are read as {self.meaning}"

    @property
    def fixes(self) -> Sequence[Fix]:
        return (Fix("drop", [self.column], f"; {OPTION} leaves it out"),)


#: What is said of several columns for each code, where findings of one code are merged.
SEVERAL = {decision.code: decision.several for decision in Decision.__subclasses__()}
