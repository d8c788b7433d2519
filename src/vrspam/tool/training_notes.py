"""What a training says about the model and its penalty, as notes for the model file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vrspam._utils.messages import Message, Parameter
from vrspam._utils.texts import rounded
from vrspam._utils.warnings import AllCoefficientsZero, GridEdge, GridNotCertified, NotConverged, NothingAtTheTop


def note_of(noticed: Warning | str) -> str:
    """A note for the model file; advice of the estimators becomes advice about `train`.

    >>> note_of(GridNotCertified(2, 60))
    '2 of 60 candidates for the penalty did not reach the tolerance; the certificate says ...'
    >>> note_of(GridEdge("l1", 0.5, "largest", lead=0.25, error=0.125))
    'The best l1 is 0.5, the largest that was tried, and beats its neighbour by 0.25, ...: try larger numbers with l1='
    """
    missed_it = "did not reach the tolerance"
    certificate = f"{missed_it}; the certificate says how far from the optimum the model can be"
    at_the_edge = (
        "The best {parameter} is {value:g}, the {end} that was tried, and beats its neighbour by {lead:.2g}{unit}, "
        "more than one standard error ({error:.2g}): "
    )
    match noticed:
        case str():
            return noticed
        case GridNotCertified(missed=missed, total=total, convex=convex):
            return f"{missed} of {total} candidates for the penalty {certificate if convex else missed_it}"
        case NotConverged(measure=measure):
            return f"the model {certificate if measure == 'gap_' else missed_it}"
        case GridEdge(parameter=parameter, beyond=beyond):
            fields = {**vars(noticed), "unit": noticed.unit, "beyond": beyond}
            if parameter == "l1":
                return Message(at_the_edge + "try {beyond} numbers with {option}", **fields, option=Parameter("l1"))
            advice = "a {beyond} value might rank better, but `train` does not try one"
            return Message(at_the_edge + advice, **fields)
        case AllCoefficientsZero(l1=l1) if l1 > 0.0:
            words = "All coefficients are 0 at the chosen l1 = {l1:g}: every l1 that was tried is too large, or no "
            words += "feature ranks the validation rows better than chance; try smaller numbers with {option}"
            return Message(words, l1=l1, option=Parameter("l1"))
        case NothingAtTheTop(max_fpr=max_fpr):
            words = "With {part} all coefficients are 0: no score of these columns puts the positives clearly above "
            words += "the negatives at the top; use a larger share, more columns, or {squared}, which trains on the "
            words += "whole curve and chooses by the part"
            return Message(words, part=Parameter("max_fpr", max_fpr), squared=Parameter("loss", "squared"))
    return getattr(noticed, "message", str(noticed))


def notes_on_directions(
    directions: Mapping[str, int], orders: Mapping[str, Sequence[str]], shapes: Mapping[str, Any]
) -> list[Message]:
    """Directions that columns were told although the curves of the free model clearly go the other way somewhere."""
    notes = []
    for name, sign in directions.items():
        if not sign or name not in shapes:
            continue
        shape, half = shapes[name], (shapes[name].high - shapes[name].low) / 2.0
        places = list(range(shape.grid.size))
        if not shape.numeric:
            known = shape.grid.tolist()
            places = [known.index(level) for level in orders.get(name, ()) if level in known]
        found = steepest(sign * shape.contribution[places], half[places])
        if found is not None:
            size, start, stop = found
            low, high = (shape.grid[places[at]] for at in (start, stop))
            told, other = ("rise", "fall") if sign > 0 else ("fall", "rise")
            words = "{column!r} must {told}; without it the score would {other} by {size:.2g} between {low} and "
            words += "{high}, more than chance explains: check the direction, or leave it out of {option}"
            ends = {"low": rounded(low), "high": rounded(high)} if shape.numeric else {"low": low, "high": high}
            fields = {"column": name, "told": told, "other": other, "size": size, "option": Parameter("monotone")}
            notes.append(Message(words, **fields, **ends))
    return notes


def steepest(values: np.ndarray, half: np.ndarray) -> tuple[float, int, int] | None:
    """The largest fall of a curve, and where it begins and ends; None where the bands at both ends explain it.

    >>> steepest(np.array([0.0, 2.0, 1.0, 3.0]), np.full(4, 0.1))
    (1.0, 1, 2)
    """
    if values.size < 2 or not np.isfinite(half).all():
        return None
    falls = np.maximum.accumulate(values) - values
    stop = int(falls.argmax())
    start = int(values[: stop + 1].argmax())
    explained = float(np.hypot(half[start], half[stop]))
    return (float(falls[stop]), start, stop) if falls[stop] > explained else None


def note_straight(most_columns: int) -> Message:
    """The note that a table of more than `most_columns` columns got straight lines alone."""
    words = "Only a simple model was fitted, because {reason}; probably clearly worse."
    return Message(words, reason=f"curves are made of at most {most_columns:,} columns")


def note_few_maps(n_features: int) -> Message:
    """The note that on a table of so many features not all models were compared."""
    words = "Straight lines and trees were compared, because there are {count:,} features. {all} compares all, slowly."
    return Message(words, count=n_features, all=Parameter("features", "auto"))
