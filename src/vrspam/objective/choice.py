"""The losses that users name, and which one the parameters `loss` and `max_fpr` of the estimators ask for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils.messages import Parameter, WordedError
from vrspam.moments import ClassMoments
from vrspam.objective.losses import SmoothLoss
from vrspam.objective.partial_hinge import PartialHingeLoss
from vrspam.objective.squared_hinge import SquaredHingeLoss

PARTIAL_TOL = 1e-6


class NamedLoss(NamedTuple):
    """How a loss is made, if sums over the rows are not enough for it.

    Attributes
    ----------
    of_rows : callable (X, is_positive, weights, moments) -> SmoothLoss, or None
        None is the squared pair loss, which needs means and scatters of the classes alone.
    of_top : callable (loss, max_fpr) -> SmoothLoss, or None
        The same on the share `max_fpr` of the negatives with the highest scores; None if that makes no sense.
    """

    of_rows: Callable[..., Any] | None = None
    of_top: Callable[[Any, float], SmoothLoss] | None = None


# To add one: a line here, and its name in the docstring of `AUCClassifier`.
LOSSES: dict[str, NamedLoss] = {
    "squared": NamedLoss(),
    "squared_hinge": NamedLoss(SquaredHingeLoss, PartialHingeLoss),
}


@dataclass(frozen=True)
class LossChoice:
    """A loss by its name, on all negatives or on the share `max_fpr` of them with the highest scores."""

    name: str = "squared"
    max_fpr: float | None = None

    def check(self) -> None:
        """Refuse a part of the curve for a loss that does not have one."""
        if self.max_fpr is not None and self._made.of_top is None:
            raise WordedError(
                "{part} does not go with {squared}: that loss does not rise with the score of a negative, so that the "
                "highest are not those that cost most. Use {hinge}.",
                squared=Parameter("loss", self.name),
                part=Parameter("max_fpr", self.max_fpr),
                hinge=Parameter("loss", next(name for name, loss in LOSSES.items() if loss.of_top is not None)),
            )

    def where_it_applies(self) -> LossChoice:
        """The same loss, on all negatives if it has no part: `max_fpr` then concerns the choice of a model alone."""
        return LossChoice(self.name) if self._made.of_top is None else self

    @property
    def _made(self) -> NamedLoss:
        return LOSSES.get(self.name, NamedLoss())  # a name that is not known is refused where parameters are checked

    @property
    def needs_rows(self) -> bool:
        """Whether sums over the rows are not enough."""
        return self._made.of_rows is not None

    @property
    def is_partial(self) -> bool:
        """Whether only some of the negatives count."""
        return self.max_fpr is not None and self.max_fpr < 1.0

    def tolerance(self, tol: float) -> float:
        """The tolerance that is asked for; the kinks of a partial loss allow no smaller one than 1e-6."""
        return max(tol, PARTIAL_TOL) if self.is_partial else tol

    def from_rows(
        self, X: Any, is_positive: np.ndarray, weights: np.ndarray | None, moments: ClassMoments
    ) -> SmoothLoss:
        """The loss of rows in memory, if it is one that needs them."""
        of_rows, of_top = self._made
        assert of_rows is not None
        whole = of_rows(X, is_positive, weights, moments)
        if not self.is_partial:
            return whole
        assert self.max_fpr is not None
        assert of_top is not None
        negatives = int(np.count_nonzero(~is_positive if weights is None else ~is_positive & (weights > 0.0)))
        if self.max_fpr * negatives < 1.0 - 1e-12:
            raise WordedError(
                "{part} of the {negatives} negative rows is less than one: use a larger share, or more rows.",
                part=Parameter("max_fpr", self.max_fpr),
                negatives=negatives,
            )
        return of_top(whole, self.max_fpr)


SQUARED = LossChoice()
