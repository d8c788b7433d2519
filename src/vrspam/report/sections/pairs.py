"""Scores that only rank rows: which pairs count, times until an event, the values of an order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vrspam._utils.texts import percent, rounded
from vrspam.metrics.concordance import kaplan_meier
from vrspam.model.outcome import Outcome
from vrspam.report.blocks import Cell, Grid, Paragraph, Row, Table
from vrspam.report.page import Section
from vrspam.report.pictures.several import survival_curves
from vrspam.report.sections.shown import ShownScores
from vrspam.report.words.names import class_names, describe_direction, describe_ranks

if TYPE_CHECKING:
    from vrspam.measures.measure import Evaluation

NOT_SEEN = "Each row is scored by a model that has not seen it."
THIRDS = ("lowest third", "middle third", "highest third")


def strata(shown: ShownScores) -> Section | None:
    """What it means that only rows of the same stratum are compared; none without strata."""
    within = shown.outcome.within
    if within is None:
        return None
    where = "all numbers" if shown.elsewhere else "training and in all numbers"
    text = (
        f"Only rows of the same {within} are compared, in {where} of this page. Rows that have no other row to be "
        f"compared with inside their {within} change no number."
    )
    return Section(f"What inside {within} means", [Paragraph(text), _meaning(shown.outcome)])


def times_or_order(shown: ShownScores, evaluation: Evaluation) -> Section | None:
    """How long rows of low and of high scores stay free of their event, or how large their target is."""
    if evaluation.times is None:
        return None
    if shown.outcome.order is not None:
        return _order(shown, shown.outcome.order, -evaluation.times, evaluation.scores)
    return _free_of_event(shown, evaluation, evaluation.times)


def _meaning(outcome: Outcome) -> Paragraph:
    """What a higher score means, and what it must not be taken for."""
    return Paragraph(f"{describe_direction(outcome)} {describe_ranks(outcome)}")


class _Third(NamedTuple):
    """A third of the rows by score: the times of its events, and the share that is free of the event after each."""

    name: str
    rows: int
    events: int
    times: np.ndarray
    free: np.ndarray


def _free_of_event(shown: ShownScores, evaluation: Evaluation, times: np.ndarray) -> Section:
    """Kaplan-Meier curves of the thirds of the rows by score."""
    heading = "How long rows stay free of the event"
    thirds = _thirds(evaluation, times)
    if len(thirds) < len(THIRDS):
        return Section(heading, [_meaning(shown.outcome)])
    event, time = class_names(shown.outcome)["positive"], str(shown.outcome.times)
    curves = {f"{third.name} of the scores": (third.times, third.free) for third in thirds}
    picture = survival_curves(curves, (time, f"share without {event}"))
    last = min(float(third.times[-1]) for third in thirds)
    rows: list[Row] = []
    for third in thirds:
        share = float(third.free[np.searchsorted(third.times, last, side="right") - 1])
        counts = Cell(f"{third.rows:,}", third.rows), Cell(f"{third.events:,}", third.events)
        rows.append([third.name, *counts, Cell(percent(share), share)])
    caption = (
        f"Thirds of the rows by their score; the last column is the share without it up to {time} = {rounded(last, 4)}"
    )
    numbers = Table(["scores", "rows", event, "without it"], rows, caption)
    remark = "Censored rows count as long as they were observed."
    if not shown.elsewhere:
        remark = f"{NOT_SEEN} {remark}"
    return Section(heading, [_meaning(shown.outcome), Grid([picture, numbers], "large"), Paragraph(remark, soft=True)])


def _thirds(evaluation: Evaluation, times: np.ndarray) -> list[_Third]:
    """The thirds of the rows that hold some: fewer than three where most scores are equal."""
    number_of_third = np.searchsorted(np.quantile(evaluation.scores, (1 / 3, 2 / 3)), evaluation.scores, side="left")
    thirds = []
    for number, name in enumerate(THIRDS):
        inside = number_of_third == number
        if not inside.any():
            continue
        events = evaluation.positive[inside]
        weights = None if evaluation.weights is None else evaluation.weights[inside]
        at, free = kaplan_meier(times[inside], events, weights)
        thirds.append(_Third(name, int(inside.sum()), int(events.sum()), at, free))
    return thirds


def _order(shown: ShownScores, target: str, values: np.ndarray, scores: np.ndarray) -> Section:
    """The quartiles of the target in each tenth of the rows by score."""
    n_parts = min(10, scores.size)
    part = np.argsort(np.argsort(scores, kind="stable")) * n_parts // scores.size
    rows: list[Row] = []
    for number in range(n_parts):
        inside = values[part == number]
        quartiles = [Cell(rounded(value, 4), float(value)) for value in np.quantile(inside, (0.25, 0.5, 0.75))]
        rows.append([f"{number + 1}", Cell(f"{inside.size:,}", inside.size), *quartiles])
    caption = f"Tenths of the rows by their score, the lowest first: the quartiles of {target} in each"
    numbers = Table(["tenth", "rows", "25 %", "50 %", "75 %"], rows, caption)
    remark = Paragraph("" if shown.elsewhere else NOT_SEEN, soft=True)
    heading = f"{target[:1].upper()}{target[1:]} and the score"
    return Section(heading, [_meaning(shown.outcome), numbers, remark])
