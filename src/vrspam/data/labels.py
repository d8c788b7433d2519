"""Labels: their spellings, and which of them is the positive one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from vrspam._utils.messages import Parameter
from vrspam._utils.names import INDEPENDENT
from vrspam.tables.errors import DataError
from vrspam.tables.schema import Label

_SHOWN = 10


def one_spelling(counts: Mapping[Label, int]) -> dict[Label, Label]:
    """Map each label to its most frequent spelling; spellings of a label differ only by case.

    >>> one_spelling({"no": 7, "Yes": 1, "yes": 3})
    {'no': 'no', 'yes': 'yes', 'Yes': 'yes'}
    """
    most_frequent: dict[Label, Label] = {}
    by_frequency = sorted(counts, key=lambda label: -counts[label])
    return {label: most_frequent.setdefault(_without_case(label), label) for label in by_frequency}


def _without_case(label: Label) -> Label:
    return label.casefold() if isinstance(label, str) else label


def choose_positive(
    labels: Iterable[Label], wanted: str | None, event: str | None = None
) -> tuple[tuple[Label, ...], Label]:
    """The labels, and the one to rank above the others; a column of events may say 1 in every row, but not 0.

    >>> choose_positive((0, 1), None), choose_positive((-1.0, 1.0), "-1")
    (((0, 1), 1), ((-1.0, 1.0), -1.0))
    >>> choose_positive(("ill", "well"), "ill"), choose_positive([1], None, "died")
    ((('ill', 'well'), 'ill'), ((0, 1), 1))
    """
    known = tuple(sorted(set(labels)))
    if wanted is not None:
        wanted = str(wanted)
    if event is not None and len(known) == 1:
        return _labels_of_events(known[0], wanted, event)
    if len(known) < 2:
        raise DataError(
            f"the label column holds only {_listed(known) or 'missing values'}: rows of two classes are needed"
        )
    if wanted is not None:
        return known, _label_called(known, wanted.strip() or wanted)
    if len(known) > 2:
        _ask_for_positive(known)
    return known, known[-1]


def _labels_of_events(only: Label, wanted: str | None, event: str) -> tuple[tuple[Label, ...], Label]:
    """The labels of a column that says the same in every row, if that is the event."""
    usual = "true" if isinstance(only, bool) else "1"
    if only == 1 or str(only).casefold() == (wanted or usual).casefold():
        known = (only,) if isinstance(only, str) else (type(only)(0), only)
        return known, only
    if isinstance(only, str) and wanted is None:
        words = "column {event!r} says {label} in every row: if that is the event, say so with {positive}"
        raise DataError(words, event=event, label=only, positive=Parameter("positive", only))
    words = "column {event!r} says {label} in every row: with all rows censored no two of them can be compared"
    raise DataError(words, event=event, label=only)


def _ask_for_positive(known: Sequence[Label]) -> None:
    """Raise an error that asks which of several labels is the positive one."""
    words = "the label column holds {count} different values: {shown}. Add {positive}, or another of them; all "
    words += "other labels then count as negative"
    if not isinstance(known[-1], str):
        words += ". If larger values are to rank higher, `train`, `report` and `evaluate` take {order} instead"
    raise DataError(
        words,
        count=len(known),
        shown=_listed(known),
        positive=Parameter("positive", str(known[-1])),
        order=Parameter("event", INDEPENDENT),
    )


def _label_called(known: Sequence[Label], wanted: str) -> Label:
    """The label that is written so, or is this number, or differs in case alone."""
    for label in known:
        if str(label) == wanted:
            return label
    for label in known:
        with suppress(ValueError):
            if not isinstance(label, str) and float(label) == float(wanted):
                return label
    for label in known:
        if str(label).casefold() == wanted.casefold():
            return label
    raise DataError(f"no row has the label {wanted!r}; there are {_listed(known)}")


def _listed(labels: Sequence[Label]) -> str:
    """The first labels, each in one line."""
    listed = ", ".join(" ".join(str(label).split()) for label in labels[:_SHOWN])
    return listed + ", ..." if len(labels) > _SHOWN else listed
