"""All penalties of one name: a function of l2 and l1 for each loss, as a grid needs it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from vrspam._utils.messages import PenaltyName
from vrspam.penalties.base import Penalty
from vrspam.penalties.concave import MCP, SCAD, Concave
from vrspam.penalties.elastic_net import ElasticNet

Strengths = Callable[[float, float], Penalty]  # from l2 and l1 to the penalty
CONCAVE: dict[str, tuple[type[Concave], float]] = {"mcp": (MCP, 3.0), "scad": (SCAD, 3.7)}  # with the usual gamma


@dataclass(frozen=True)
class PenaltyFamily:
    """All penalties of one name; called with a loss, it returns the function from l2 and l1 to the penalty.

    Attributes
    ----------
    name : {"elasticnet", "mcp", "scad"}, default="elasticnet"
    gamma : float or None
        Only for "mcp" (default 3.0) and "scad" (default 3.7).
    limits : callable or None
        Returns the `Limits` of the coefficients of so many features, or None if there are none.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.objective import PenaltyFamily
    >>> class Loss:
    ...     def curvature(self):
    ...         return np.array([0.5, 2.0])
    >>> PenaltyFamily("mcp")(Loss())(0.0, 0.1)
    MCP(l2=0.0, l1=0.1, gamma=3.0, h=array([0.5, 2. ]))
    """

    name: PenaltyName = "elasticnet"
    gamma: float | None = None
    limits: Callable[[int], Any] | None = None

    def __call__(self, loss: Any) -> Strengths:
        free: Strengths = ElasticNet
        if self.name != "elasticnet":
            kind, usual = CONCAVE[self.name]
            gamma, h = float(usual if self.gamma is None else self.gamma), np.array(loss.curvature(), dtype=np.float64)
            free = partial(kind, gamma=gamma, h=h)
        limits = None if self.limits is None else self.limits(loss.n_features)
        return free if limits is None else lambda l2, l1: limits(free(l2, l1))

    @property
    def is_convex(self) -> bool:
        """Whether its penalties are convex."""
        return self.name == "elasticnet"

    def check(self, l1s: Any) -> None:
        """Refuse an unknown name, a gamma that is too small or not used, and l1 = 0 for "mcp" and "scad"."""
        if self.name not in ("elasticnet", *CONCAVE):
            raise ValueError(f"penalty must be 'elasticnet', 'mcp' or 'scad', got {self.name!r}.")
        if self.name == "elasticnet":
            if self.gamma is not None:
                raise ValueError(f"gamma={self.gamma:g} applies only to penalty='mcp' or 'scad': leave it out.")
            return
        kind, usual = CONCAVE[self.name]
        if self.gamma is not None and not 1.0 + kind.onset < self.gamma < np.inf:
            raise ValueError(
                f"penalty={self.name!r} needs a finite gamma > {1.0 + kind.onset:g}, got {self.gamma:g}: with a "
                f"smaller one the problem is not convex along each coordinate (the usual value is {usual:g})."
            )
        if not np.all(np.asarray(l1s, dtype=np.float64) > 0.0):
            raise ValueError(
                f"penalty={self.name!r} needs l1 > 0, which is its strength: give a positive l1 (in a grid "
                "l1s='auto'), or use penalty='elasticnet'."
            )


ELASTIC_NET = PenaltyFamily()
