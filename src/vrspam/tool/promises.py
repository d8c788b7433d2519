"""What new rows tell about the promise of a stored threshold: whether they are rows like those of training.

A promised precision, or share of alerts, holds for rows with the share of positives of training. New rows without
labels show the share of rows that is called; labelled ones show the share of positives as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from vrspam.metrics.calibration import effective_share
from vrspam.metrics.thresholds import ChosenThreshold

CHANCE = 0.001  # a difference that chance makes less often is a change ...
LEAST_CHANGE = 0.1  # ... if it is also more than this part of the share before


def share_of_calls_note(
    threshold: ChosenThreshold | None,
    training: Mapping[str, Any],
    called: float,
    rows: float,
) -> str | None:
    """A warning if a threshold calls another share of new rows than of the held-out rows of training; or None.

    `rows` is the number of rows, and `called` how many of them are called. Rows of a model that was trained with groups
    may belong together: four of them count as one.
    """
    rows_before = training.get("rows")
    if threshold is None or not rows_before or not rows > 0.0:
        return None
    independent = 0.25 if "groups" in training else 1.0  # rows that one row counts for
    if not differs(threshold.share, independent * float(rows_before), called / rows, independent * rows):
        return None
    return (
        f"the threshold of the model calls {100 * called / rows:.3g} % of these rows, and called "
        f"{100 * threshold.share:.3g} % of held-out rows in training: these rows are not like those, or are rows that "
        f"the model was trained on. {_meaning(threshold)}"
    )


def prevalence_note(
    threshold: ChosenThreshold | None,
    training: Mapping[str, Any],
    positive: NDArray,
    weights: NDArray | None,
    groups: NDArray | None,
) -> str | None:
    """A warning if another share of new rows is positive than in training, where the promise depends on it; or None."""
    if threshold is None or threshold.rule not in ("precision", "alerts"):
        return None
    before = threshold.prevalence
    rows_before = training.get("rows")
    if before is None or not rows_before:
        return None
    now, rows = independent_share(positive, weights, groups)
    if not differs(before, float(rows_before), now, rows):
        return None
    shares = f"{100 * now:.3g} % of these rows are positive, and {100 * before:.3g} % in training"
    return f"{shares}. {_meaning(threshold)}"


def independent_share(marked: NDArray, weights: NDArray | None, groups: NDArray | None) -> tuple[float, float]:
    """The share of rows that are marked, and the number of independent rows that it rests on."""
    mass = np.ones(marked.size) if weights is None else weights
    total = float(mass.sum())
    if not total > 0.0:
        return 0.0, 0.0
    return float(mass @ marked) / total, effective_share(marked.astype(np.float64), mass, groups) * total


def differs(before: float, rows_before: float, now: float, rows_now: float) -> bool:
    """Whether two shares differ by more than chance explains, and by enough to matter."""
    if abs(now - before) <= LEAST_CHANGE * before:
        return False
    both = (before * rows_before + now * rows_now) / (rows_before + rows_now)
    error = np.sqrt(both * (1.0 - both) * (1.0 / rows_before + 1.0 / rows_now))
    return bool(error > 0.0 and 2.0 * ndtr(-abs(now - before) / error) < CHANCE)


def _meaning(threshold: ChosenThreshold) -> str:
    """What a change means for the promise."""
    if threshold.confidence is None:
        return "Its precision and its share of calls in training say little about them."
    if threshold.rule == "recall":
        return "Its promise is about rows like those of training."
    what = {"precision": "its precision", "alerts": "its share of calls"}[threshold.rule]
    return f"What it promises, {what}, holds only for rows with the share of positives of training."
