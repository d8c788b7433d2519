"""A check: one thing that fools people in a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, ClassVar

from vrspam._utils.findings import Finding, Severity

if TYPE_CHECKING:
    from vrspam.checks.seen import Seen


class Need(Enum):
    """What a table must have for a check; a check whose need it lacks is left out."""

    ALL_ROWS = auto()  # no sample of a stream
    FEW_NAMED_COLUMNS = auto()  # a table of at most 1,000 columns with names
    TWENTY_OF_EACH = auto()  # rows of each class, for an AUC that says something


class Check(ABC):
    """One thing that fools people; the docstring of a check is its section of docs/doctor.md.

    Attributes
    ----------
    code : str
        The name of its findings, by which users mute them.
    needs : frozenset of Need
        What a table must have to be looked at.
    subject : str
        What could not be looked at, where looking fails unexpectedly.
    """

    code: ClassVar[str]
    needs: ClassVar[frozenset[Need]] = frozenset()
    subject: ClassVar[str] = "columns one by one"

    @abstractmethod
    def look(self, seen: Seen) -> Iterator[Finding]:
        """Look at a table before a model is fitted."""

    def look_after(self, fitted: Any) -> Iterator[Finding]:
        """Look at a model that was fitted to the table (`vrspam.checks.diagnose.Fitted`)."""
        return iter(())

    def several(self, columns: list[str], severity: Severity) -> Finding | None:
        """One finding about several columns that each have their own; None puts one sentence after the other."""
        return None


def not_checked(what: str) -> Finding:
    """The finding that something could not be looked at."""
    return Finding("not-checked", "note", f"not looked at: {what}")


def failed(what: str, error: Exception) -> Finding:
    """The finding that a look failed: a doctor ends no command."""
    reason = f"{type(error).__name__}: {error}"
    return not_checked(f"{what}, which failed unexpectedly ({reason}). The model does not depend on it")
