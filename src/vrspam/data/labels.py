"""Labels: their spellings, and which of them is the positive one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from vrspam._utils.findings import Fix
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


def coded_labels(column: Any) -> tuple[list[Label], np.ndarray]:
    """The label of each code of an arrow column, and the code of each row, negative without a label."""
    coded = column.combine_chunks().dictionary_encode()
    codes = coded.indices.fill_null(-1).to_numpy()
    texts = [value.strip() if isinstance(value, str) else value for value in coded.dictionary.to_pylist()]
    empty = [code for code, value in enumerate(texts) if value == "" or value != value]
    if empty:
        codes = np.where(np.isin(codes, empty), -1, codes)
    counts = np.bincount(codes[codes >= 0], minlength=len(texts)).tolist()
    spelling = one_spelling({text: count for text, count in zip(texts, counts, strict=True) if count})
    if not spelling:
        return [], codes
    any_label = next(iter(spelling))  # of codes that no row has
    return [spelling.get(text, any_label) for text in texts], codes


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
        what = f"column {event!r} says {only} in every row: if that is the event, say so with "
        raise DataError(what, Fix("positive", only))
    raise DataError(f"column {event!r} says {only} in every row: with all rows censored no two of them can be compared")


def _ask_for_positive(known: Sequence[Label]) -> None:
    """Raise an error that asks which of several labels is the positive one."""
    parts: list[str | Fix] = [
        f"the label column holds {len(known)} different values: {_listed(known)}. Add ",
        Fix("positive", str(known[-1])),
        ", or another of them; all other labels then count as negative",
    ]
    if not isinstance(known[-1], str):
        parts.append(". If larger values are to rank higher, `train`, `report` and `evaluate` take ")
        parts += [Fix("event", INDEPENDENT), " instead"]
    raise DataError(*parts)


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
