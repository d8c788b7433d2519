"""Limits of coefficients: signs, boxes, and curves that must rise or fall. Outside the limits a penalty is infinite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vrspam.penalties.base import Penalty
from vrspam.penalties.bounded import Bounded
from vrspam.penalties.shaped import Rising, Shaped


@dataclass(frozen=True, eq=False)
class Limits:
    """lower ≤ w ≤ upper, where lower ≤ 0 ≤ upper, and curves that must rise.

    Parameters
    ----------
    lower, upper : ndarray of shape (d,)
    curves : sequence of Rising

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.objective import ElasticNet, Limits
    >>> rises = Limits(np.array([0.0, -np.inf]), np.full(2, np.inf))
    >>> rises(ElasticNet(l2=1.0)).prox(np.array([-1.0, -1.0]), 1.0).tolist()
    [0.0, -0.5]
    """

    lower: np.ndarray
    upper: np.ndarray
    curves: Sequence[Rising] = ()

    def __call__(self, penalty: Any) -> Penalty:
        """The penalty with these limits, or the penalty itself if there are none."""
        if self.curves:
            if penalty.ridge is None or not self.are_signs:  # |w| has no meaning in the rotated basis of a curve
                raise ValueError(
                    "Curves that must rise or fall cannot be combined with l1 or bounds: leave l1 and bounds out."
                )
            return Shaped(penalty.ridge, self.blocks())
        if np.isneginf(self.lower).all() and np.isposinf(self.upper).all():
            return penalty
        return Bounded(penalty, self.lower, self.upper)

    @property
    def are_signs(self) -> bool:
        """Whether each end is 0 or infinite."""
        return bool(all((np.isinf(ends) | (ends == 0.0)).all() for ends in (self.lower, self.upper)))

    def blocks(self) -> list[Rising]:
        """The curves, and each sign of a single coefficient as a curve of a single function."""
        blocks = list(self.curves)
        for ends, sign in ((self.lower, 1.0), (self.upper, -1.0)):
            for j in np.flatnonzero(ends == 0.0).tolist():
                blocks.append(Rising(slice(j, j + 1), np.array([[sign]]), np.ones(1, dtype=bool)))
        return blocks
