"""From scores to probabilities: functions that a model file can hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import expit


class Calibration(Protocol):
    """A non-decreasing function from scores to probabilities that a model file can hold."""

    @property
    def method(self) -> str: ...

    def __call__(self, scores: np.ndarray, /) -> np.ndarray: ...

    def to_dict(self) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Sigmoid:
    """Platt's calibration: 1 / (1 + exp(-(slope·score + offset)))."""

    slope: float
    offset: float
    method = "sigmoid"

    def __post_init__(self) -> None:
        if not (np.isfinite(self.slope) and np.isfinite(self.offset)):
            raise ValueError("slope and offset of the calibration must be finite numbers")

    def __call__(self, scores: np.ndarray, /) -> np.ndarray:
        return expit(self.slope * scores + self.offset)

    def to_dict(self) -> dict[str, Any]:
        return {"method": self.method, "slope": self.slope, "offset": self.offset}


@dataclass(frozen=True, eq=False)
class Isotonic:
    """Isotonic calibration: straight lines between (score, probability) nodes, constant outside them."""

    scores: np.ndarray
    probabilities: np.ndarray
    method = "isotonic"

    def __post_init__(self) -> None:
        nodes = self.scores.ndim == self.probabilities.ndim == 1 and self.scores.size == self.probabilities.size > 0
        if not nodes or not (np.isfinite(self.scores).all() and np.isfinite(self.probabilities).all()):
            raise ValueError("the calibration needs as many probabilities as scores, all of them finite")
        if (np.diff(self.scores) < 0).any() or (np.diff(self.probabilities) < 0).any():
            raise ValueError("scores and probabilities of the calibration must not decrease")
        if self.probabilities[0] < 0 or self.probabilities[-1] > 1:
            raise ValueError("probabilities of the calibration must lie between 0 and 1")

    def __call__(self, scores: np.ndarray, /) -> np.ndarray:
        return np.interp(scores, self.scores, self.probabilities)

    def to_dict(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "scores": self.scores.tolist(),
            "probabilities": self.probabilities.tolist(),
        }


def calibration_from_dict(plain: Mapping[str, Any]) -> Calibration:
    """Return the calibration that `to_dict` wrote, or say what is wrong with it."""
    values = dict(plain)
    method = values.pop("method", None)
    if method == "sigmoid" and set(values) == {"slope", "offset"}:
        return Sigmoid(float(values["slope"]), float(values["offset"]))
    if method == "isotonic" and set(values) == {"scores", "probabilities"}:
        return Isotonic(*(np.array(values[name], dtype=np.float64) for name in ("scores", "probabilities")))
    raise ValueError(f"calibration method {method!r} with keys {sorted(values)} is not known")
