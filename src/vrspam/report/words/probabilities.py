"""Probabilities: whether they are right, and what it is worth to act on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vrspam._utils.texts import signed

if TYPE_CHECKING:
    from vrspam.metrics import Calibration, Estimate

IDEALS = {"slope": "1 is right, less is too extreme", "intercept": "0 is right, more is too low", "ratio": "1 is right"}


class CalibrationNumber(NamedTuple):
    """A measure of calibration: its name, its value with the interval, and what would be right."""

    name: str
    value: str
    ideal: str


def calibration_numbers(calibration: Calibration | None) -> list[CalibrationNumber]:
    """The measures of calibration that are known; none without probabilities."""
    if calibration is None:
        return []
    numbers = []
    for name, estimate in calibration._asdict().items():
        if np.isnan(estimate.value):
            continue
        value, low, high = (signed(number, sign=False) for number in estimate)
        title = "expected ÷ observed" if name == "ratio" else f"calibration {name}"
        numbers.append(CalibrationNumber(title, f"{value} ({low} to {high})", IDEALS[name]))
    return numbers


def describe_calibration(calibration: Calibration | None) -> list[str]:
    """What is wrong with probabilities, beyond chance: a paragraph, or none without probabilities."""
    if calibration is None:
        return []
    ratio, slope = calibration.ratio, calibration.slope
    sentences = []
    if ratio.low > 1.0 or ratio.high < 1.0:
        direction = "high" if ratio.low > 1.0 else "low"
        counts = f"{100 * ratio.value:.0f} positives were expected for 100 observed"
        sentences.append(f"Probabilities are too {direction} on average: {counts}.")
    if slope.high < 1.0:
        sentences.append("Probabilities are too extreme: the truth is nearer to the average than they say.")
    elif slope.low > 1.0:
        sentences.append("Probabilities are too timid: the truth is further from the average than they say.")
    if not sentences:
        sentences.append("Probabilities agree with what was observed, as far as these rows tell.")
    return [" ".join(sentences)]


def describe_benefit(at: float, over_all: Estimate, over_none: Estimate, confidence: float) -> str:
    """What it is worth to act on rows of at least this probability, compared with acting on all rows and on none."""
    verdict = "these rows do not tell whether the model is of use"
    if min(over_all.low, over_none.low) > 0.0:
        verdict = "the model is of use"
    elif over_all.high < 0.0:
        verdict = "it is better to act on everyone"
    elif over_none.high < 0.0:
        verdict = "it is better to act on no one"
    gains = f"{_alerts_gained(over_all, 'everyone')} and {_alerts_gained(over_none, 'no one')}"
    price = f"{at / (1.0 - at):.2g}"
    alerts = "1 true alert" if price == "1" else f"{price} true alerts"
    return (
        f"If you act on rows with a probability of at least {100 * at:g} %, {verdict}: per 100 rows {gains}. "
        f"{100 * confidence:g} % intervals; one false alarm cancels {alerts}."
    )


def _alerts_gained(benefit: Estimate, others: str) -> str:
    """The true alerts that are gained per 100 rows over another way to act."""
    value, low, high = (100.0 * number for number in benefit)
    digits = 1 if max(abs(low), abs(high)) >= 1.0 else 3
    more = "more" if value >= 0.0 else "fewer"
    interval = f"{low:.{digits}f} to {high:.{digits}f}"
    return f"{abs(value):.{digits}f} {more} true alerts than acting on {others} ({interval})"
