"""Which loss the parameters `loss` and `max_fpr` of the estimators ask for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from vrspam._utils.choices import LossName
from vrspam._utils.messages import Parameter, WordedError
from vrspam.moments import ClassMoments
from vrspam.objective.losses import SmoothLoss
from vrspam.objective.partial_hinge import PartialHingeLoss
from vrspam.objective.squared_hinge import SquaredHingeLoss

LOSSES: tuple[LossName, ...] = get_args(LossName)
PARTIAL_TOL = 1e-6


@dataclass(frozen=True)
class LossChoice:
    """A loss by its name, on all negatives or on the share `max_fpr` of them with the highest scores."""

    name: LossName = "squared"
    max_fpr: float | None = None

    def check(self) -> None:
        """Refuse a part of the curve for a loss that does not have one."""
        if self.max_fpr is not None and not self.needs_rows:
            raise WordedError(
                "{part} does not go with {squared}: that loss does not rise with the score of a negative, so that the "
                "highest are not those that cost most. Use {hinge}.",
                squared=Parameter("loss", self.name),
                part=Parameter("max_fpr", self.max_fpr),
                hinge=Parameter("loss", "squared_hinge"),
            )

    @property
    def needs_rows(self) -> bool:
        """Whether sums over the rows are not enough."""
        return self.name != "squared"

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
        whole = SquaredHingeLoss(X, is_positive, weights, moments)
        if not self.is_partial:
            return whole
        assert self.max_fpr is not None
        negatives = whole.pair_rows.negative.size
        if self.max_fpr * negatives < 1.0 - 1e-12:
            raise WordedError(
                "{part} of the {negatives} negative rows is less than one: use a larger share, or more rows.",
                part=Parameter("max_fpr", self.max_fpr),
                negatives=negatives,
            )
        return PartialHingeLoss(whole, self.max_fpr)


SQUARED = LossChoice()
