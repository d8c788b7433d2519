"""What rows, classes and measures are called, in the words of the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vrspam._utils.texts import isolated, shorten
from vrspam.model.outcome import Outcome

if TYPE_CHECKING:
    from vrspam.tables.schema import Label


def class_names(outcome: Outcome) -> dict[str, str]:
    """Return what rows of both classes are called, in the words of the table.

    Rows are called "sick = yes" and "sick = no"; with more than two labels, negatives are called "another sick".

    >>> class_names(Outcome("sick", "yes", ("no", "yes")))
    {'positive': 'sick = yes', 'negative': 'sick = no'}
    >>> class_names(Outcome("price", 1, order="price"))["pair"]
    'rows that differ in price'
    """
    is_named = outcome.target is not None and not str(outcome.target).isdigit()
    target = _short(str(outcome.target)) if is_named else "label"
    inside = "" if outcome.within is None else f" of the same {_short(outcome.within)}"
    if outcome.order is not None:
        return {
            "positive": f"a larger {target}",
            "negative": f"a smaller {target}",
            "pair": f"rows{inside} that differ in {target}",
            "upper": f"the one with the larger {target}",
        }
    equals = f"{target} = " if is_named else "label "
    positive, negative = f"{equals}{_label_text(outcome.positive)}", f"another {target}"
    if len(outcome.others) == 1:
        negative = f"{equals}{_label_text(outcome.others[0])}"
    names = {"positive": positive, "negative": negative}
    if outcome.times is not None:
        names["pair"] = f"rows{inside} of which one is known to have had {positive} first"
    elif inside:
        names["pair"] = f"a row with {positive} and a row with {negative}{inside}"
    return names


def _short(name: str) -> str:
    """The name of a column, short enough for a sentence."""
    return isolated(shorten(str(name), 40))


def _label_text(label: Label) -> str:
    """A label as a sentence shows it; LIBSVM files hold numbers such as 1.0, which are shown as 1."""
    is_whole = isinstance(label, float) and label.is_integer()
    return _short(str(int(label) if is_whole else label))


def name_measure(outcome: Outcome) -> str:
    """Return the name of the measure of a ranking."""
    inside = "" if outcome.within is None else f" inside {outcome.within}"
    if outcome.times is None and outcome.order is None:
        return f"AUC{inside}"
    return f"concordance index{inside}"


def measure_title(outcome: Outcome) -> str:
    """The name of the measure of a ranking at the start of a line."""
    measure = name_measure(outcome)
    return f"{measure[0].upper()}{measure[1:]}"


def describe_ranks(outcome: Outcome) -> str:
    """Return what a score that only ranks must not be taken for."""
    what = "a probability"
    if outcome.order is not None:
        what = f"a {outcome.target}"
    elif outcome.times is not None:
        what = "a time"
    alone = "" if outcome.within is None else f"Scores of rows that differ in {outcome.within} are not compared. "
    return f"{alone}The score ranks rows; it is not {what}, and it has no threshold."


def describe_direction(outcome: Outcome) -> str:
    if outcome.ranks:
        return f"A higher score means {outcome.higher}."
    return f"A higher score means that {equals_positive(outcome)} is more likely."


def equals_positive(outcome: Outcome) -> str:
    """The positive label, with the name of its column if it has one: "sick = yes"."""
    return f"{outcome.target} = {outcome.positive}" if outcome.target else f"{outcome.positive}"


def listed(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
