"""What a page says of the scores that it shows, made by a model or elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vrspam.model.outcome import Outcome

if TYPE_CHECKING:
    from vrspam.model.model import Model


class ShownScores(NamedTuple):
    """What scores rank, and what a score means.

    Attributes
    ----------
    outcome : Outcome
    probability_of : callable or None
        The probability of a score; None: it has none.
    zero_is_halfway : bool
        Whether a score of 0 lies between the mean scores of the classes.
    elsewhere : bool
        Whether the scores were made by any model, not by ours.
    """

    outcome: Outcome
    probability_of: Callable[[Any], Any] | None = None
    zero_is_halfway: bool = False
    elsewhere: bool = False

    @classmethod
    def of_model(cls, model: Model) -> ShownScores:
        """Those of a model of `vrspam.tool`."""
        return cls(model.outcome, model.calibration, zero_is_halfway=True)

    @classmethod
    def of_column(cls, outcome: Outcome, is_probability: bool) -> ShownScores:
        """Those of a column; a score that is a probability stays within 0 and 1."""
        return cls(outcome, _within_0_and_1 if is_probability else None, elsewhere=True)


def _within_0_and_1(scores: Any) -> Any:
    return np.clip(scores, 0.0, 1.0)
