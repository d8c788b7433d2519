"""What the reader decides about columns, and how it says so: a class for each sentence.

The doctor shows decisions as its findings; estimators, `vrspam.data.read_chunks` and Spark warn of them, each with its
own remedies. docs/doctor.md has a section for each code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from vrspam._utils.messages import Finding, Parameter
from vrspam.tables.kinds.missing import count_missing, means_missing


@dataclass(frozen=True)
class Decision:
    """What was decided about a column.

    Attributes
    ----------
    code : str
        The code of its finding.
    several : str
        The sentence that stands for the findings of several `columns`.
    severity : str
    column : object
        The name of the column; names of a frame need not be text.
    """

    code: ClassVar[str]
    several: ClassVar[str] = ""
    column: Any

    @property
    def severity(self) -> str:
        return "note"

    @property
    def template(self) -> str:
        """The sentence behind the name of the column; `drop`, `include`, `categorical`, ... in it are its remedies."""
        raise NotImplementedError

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the template, beside its remedies."""
        return {}

    def finding(self, remedies: Mapping[str, Any] | None = None) -> Finding:
        """The decision as a finding; `remedies` stand in place of the options of training of these names."""
        subject = "column {column!r} " if self.column else "the column without a name "
        fields = {"column": self.column, **self.fields}
        for option, remedy in (remedies or {}).items():
            if f"{{{option}}}" in self.template:
                fields[option] = remedy
        return Finding(self.code, self.severity, subject + self.template, **fields)


@dataclass(frozen=True)
class LooksLikeIdentifier(Decision):
    """A column only names the rows."""

    code = "identifiers"
    several = "columns {columns} look like identifiers and were left out; {include} would keep one"
    reason: str  # "numbers the rows"

    @property
    def template(self) -> str:
        template = "{reason}: it looks like an identifier and was left out"
        if self.column:  # without a name it cannot be asked for
            template += "; use {include} to keep it"
        return template

    @property
    def fields(self) -> dict[str, Any]:
        return {"reason": self.reason}


@dataclass(frozen=True)
class LeftOut(Decision):
    """A column cannot be used, or is not wanted."""

    code = "left-out"
    several = "columns {columns} have no values that can be used; left out"
    reason: str  # "has no values"
    template = "{reason}; left out"

    @property
    def fields(self) -> dict[str, Any]:
        return {"reason": self.reason}


@dataclass(frozen=True)
class HoldsCodes(Decision):
    """Among numbers there are codes, such as ZIP codes."""

    code = "codes"
    several = "columns {columns} hold codes that look like numbers: take them as categories with {categorical}"
    severity = "warning"
    template = "holds codes that look like numbers: take it as categories with {categorical}"


@dataclass(frozen=True)
class TextAmongNumbers(Decision):
    """Among numbers there is text, which counts as missing; `strays` has the texts and their counts."""

    code = "unread-text"
    several = "columns {columns} hold numbers; text among them counts as missing"
    template = "holds numbers; {missing}"
    strays: Mapping[str, int]

    @property
    def severity(self) -> str:
        return "note" if all(map(means_missing, self.strays)) else "warning"

    @property
    def fields(self) -> dict[str, Any]:
        return {"missing": count_missing(self.strays)}


@dataclass(frozen=True)
class LooksLike(Decision):
    """Text that looks like numbers or dates cannot be read, and is taken as categories."""

    code = "unread-text"
    several = TextAmongNumbers.several
    severity = "warning"
    template = (
        "holds text that looks like {what}, taken as {different} categories: write plain numbers, with nothing where "
        "one is missing, leave it out ({drop}) or confirm it ({categorical})"
    )
    what: str  # "numbers"
    different: int  # number of different texts

    @property
    def fields(self) -> dict[str, Any]:
        return {"what": self.what, "different": self.different}


@dataclass(frozen=True)
class DigitsLost(Decision):
    """Integers are too large for floats."""

    code = "large-integers"
    several = "columns {columns} hold integers beyond 2**53, which lose digits: leave them out with {drop}"
    severity = "warning"
    template = (
        "holds integers beyond 2**53, which lose digits as 64-bit floats: leave it out ({drop}) if it names the rows, "
        "or take its numbers as categories ({categorical})"
    )


@dataclass(frozen=True)
class ManyCategories(Decision):
    """Only the most frequent categories are kept."""

    code = "many-categories"
    several = (
        "columns {columns} have very many categories, of which the rare ones count as one, as do new ones; use {drop} "
        "if they are names"
    )
    severity = "warning"
    template = (
        "has more than {most:,} categories: the {kept:,} most frequent are kept, and the other {rare:,} count as one, "
        "as do new ones; use {drop} if it is a name, or raise {max_categories} to keep more"
    )
    most: int
    kept: int
    rare: int

    @property
    def fields(self) -> dict[str, Any]:
        return {"most": self.most, "kept": self.kept, "rare": self.rare}


@dataclass(frozen=True)
class PartsBecomeFeatures(Decision):
    """Dates become numbers: their year, month, weekday and hour."""

    code = "dates"
    several = "columns {columns} hold dates: their year, month, weekday and hour are features; {dates} leaves dates out"
    what: str  # "dates", or how text was read
    parts: tuple[str, ...]

    @property
    def template(self) -> str:
        if len(self.parts) == 1:
            return f"holds {{what}}: its {self.parts[0]} is a feature; {{dates}} leaves dates out"
        *others, last = self.parts
        return f"holds {{what}}: its {', '.join(others)} and {last} are features; {{dates}} leaves dates out"

    @property
    def fields(self) -> dict[str, Any]:
        return {"what": self.what, "dates": Parameter("dates", "drop")}


@dataclass(frozen=True)
class TextReadAsNumbers(Decision):
    """Text is read as numbers."""

    code = "text-numbers"
    several = "columns {columns} hold text that was read as numbers; {categorical} would take one as categories"
    template = "holds {what}: leave it out ({drop}), or take it as categories ({categorical})"
    what: str  # how the text was read

    @property
    def fields(self) -> dict[str, Any]:
        return {"what": self.what}


@dataclass(frozen=True)
class TypeReadAsNumbers(Decision):
    """A column of another type, such as times of day, is read as numbers."""

    code = "text-numbers"
    several = TextReadAsNumbers.several
    template = "holds {what}, which are read as {meaning}; {drop} leaves it out"
    what: str  # "times"
    meaning: str  # "hours"

    @property
    def fields(self) -> dict[str, Any]:
        return {"what": self.what, "meaning": self.meaning}


#: The sentence of each code for several columns, where findings of one code are merged.
SEVERAL = {decision.code: decision.several for decision in Decision.__subclasses__()}
