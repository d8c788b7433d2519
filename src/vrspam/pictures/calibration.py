"""Observed frequencies against predicted probabilities of groups of rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vrspam.metrics.calibration import wilson


class CalibrationPlan(NamedTuple):
    """Groups of rows: their mean probability, the share of positives, its 95 % interval; `top` ends both axes."""

    predicted: np.ndarray
    observed: np.ndarray
    low: np.ndarray
    high: np.ndarray
    top: float


def plan_calibration(rows: np.ndarray, predicted: np.ndarray, observed: np.ndarray) -> CalibrationPlan:
    """Plan the picture of groups of so many rows; intervals are Wilson's."""
    low, high = wilson(observed, rows)
    top = float(min(1.0, 1.08 * max(predicted.max(), high.max())))
    return CalibrationPlan(predicted, observed, low, high, top)
