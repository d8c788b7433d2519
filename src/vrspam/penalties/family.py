"""Penalties by their names: the table that estimators choose from, and what a name makes of l2 and l1.

A penalty of the package is a line of `PENALTIES`; one that is defined elsewhere is added by `register_penalty`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from vrspam.penalties.base import Penalty, Separable
from vrspam.penalties.concave import MCP, SCAD
from vrspam.penalties.elastic_net import ElasticNet
from vrspam.penalties.limits import Limits

Strengths = Callable[[float, float], Penalty]  # from l2 and l1 to the penalty
Kind = TypeVar("Kind", bound=type[Separable])

PENALTIES: dict[str, type[Separable]] = {"elasticnet": ElasticNet, "mcp": MCP, "scad": SCAD}
_OF_THE_PACKAGE = frozenset(PENALTIES)


def register_penalty(name: str) -> Callable[[Kind], Kind]:
    """Decorate a class of penalties, so that estimators take it as ``penalty=name``.

    Parameters
    ----------
    name : str
        Not a name of the package's own penalties. A name that was registered before gets the new class.

    Returns
    -------
    callable
        Takes and returns the class, which inherits from `Separable`. For each l2 and l1 the estimator calls it with
        these two, or what its `of_loss` returns.

    Examples
    --------
    >>> from vrspam import AUCClassifier
    >>> from vrspam.objective import ElasticNet, register_penalty
    >>> @register_penalty("half l1")
    ... class HalfL1(ElasticNet):
    ...     def __new__(cls, l2, l1=0.0):
    ...         return super().__new__(cls, l2, l1 / 2)
    >>> AUCClassifier(l2=0.1, l1=0.1, penalty="half l1").fit([[0.0], [1.0], [2.0]], [0, 1, 1]).coef_.round(2)
    array([[0.51]])
    """

    def register(kind: Kind) -> Kind:
        if name in _OF_THE_PACKAGE:
            raise ValueError(f"{name!r} is a penalty of vrspam: choose another name.")
        if not issubclass(kind, Separable):
            raise TypeError(f"{kind.__name__} must inherit from vrspam.objective.Separable.")
        PENALTIES[name] = kind
        return kind

    return register


def registered(name: str) -> type[Separable] | None:
    """The class that was registered under this name, or None if the name is one of the package or unknown."""
    return None if name in _OF_THE_PACKAGE else PENALTIES.get(name)


def _listed(names: list[str]) -> str:
    """Names as a sentence has them: 'a', 'b' or 'c'."""
    *others, last = map(repr, names)
    return f"{', '.join(others)} or {last}" if others else last


@dataclass(frozen=True)
class PenaltyFamily:
    """All penalties of one name; called with a loss, it returns the function from l2 and l1 to the penalty.

    Attributes
    ----------
    name : {"elasticnet", "mcp", "scad"}, or a registered name, default="elasticnet"
    gamma : float or None
        Only for "mcp" (default 3.0) and "scad" (default 3.7), or another penalty that has a `usual_gamma`.
    limits : Limits or None
        Limits of the coefficients.

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

    name: str = "elasticnet"
    gamma: float | None = None
    limits: Limits | None = None

    @property
    def kind(self) -> type[Separable]:
        """The class of its penalties."""
        return PENALTIES[self.name]

    def __call__(self, loss: Any) -> Strengths:
        free = self.kind.of_loss(loss, self.gamma)
        limits = self.limits
        return free if limits is None else lambda l2, l1: limits(free(l2, l1))

    def check(self, l1s: Any) -> None:
        """Refuse an unknown name, a gamma that is too small or not used, and l1 = 0 for a penalty that needs it."""
        if self.name not in PENALTIES:
            raise ValueError(f"penalty must be {_listed(list(PENALTIES))}, got {self.name!r}.")
        self._check_gamma()
        if self.kind.needs_l1 and not np.all(np.asarray(l1s, dtype=np.float64) > 0.0):
            raise ValueError(
                f"penalty={self.name!r} needs l1 > 0, which is its strength: give a positive l1 (in a grid "
                "l1s='auto'), or use penalty='elasticnet'."
            )

    def _check_gamma(self) -> None:
        if self.gamma is None:
            return
        if self.kind.usual_gamma is None:
            takers = [name for name, kind in PENALTIES.items() if kind.usual_gamma is not None]
            raise ValueError(f"gamma={self.gamma:g} applies only to penalty={_listed(takers)}: leave it out.")
        if not self.kind.least_gamma < self.gamma < np.inf:
            raise ValueError(
                f"penalty={self.name!r} needs a finite gamma > {self.kind.least_gamma:g}, got {self.gamma:g}: with a "
                f"smaller one the problem is not convex along each coordinate (the usual value is "
                f"{self.kind.usual_gamma:g})."
            )


ELASTIC_NET = PenaltyFamily()
