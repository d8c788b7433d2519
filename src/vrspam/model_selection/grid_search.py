"""What a search is asked for: the grid, how it is solved, and how a point is chosen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from vrspam.model_selection.scoring import ROC_AUC, Scoring
from vrspam.model_selection.selection import Choice, SelectionRule
from vrspam.objective import ELASTIC_NET, PenaltyFamily
from vrspam.pairs import SQUARED, LossChoice
from vrspam.solvers.exact import FitSettings
from vrspam.solvers.path import AUTO_L1S, AUTO_L2S, check_grid_axis


@dataclass(frozen=True)
class GridSearch:
    """The grid, how it is solved, and how a point is chosen; the parameters are those of `AUCClassifierCV`."""

    l2s: Any
    l1s: Any
    tol: float
    max_iter: int
    n_jobs: int | None
    penalty: PenaltyFamily = ELASTIC_NET
    scoring: Scoring = ROC_AUC
    loss: LossChoice = SQUARED
    rule: SelectionRule = "best"
    seed: int = 0  # of the correction for the choice

    @property
    def n_points(self) -> int:
        """Points of the grid."""
        l2s = AUTO_L2S if isinstance(self.l2s, str) else check_grid_axis("l2s", self.l2s).size
        return l2s * (AUTO_L1S if isinstance(self.l1s, str) else check_grid_axis("l1s", self.l1s).size)

    def on(self, features: Any) -> GridSearch:
        """The search for a fitted map, with the limits of its coefficients if it has any."""
        if getattr(features, "monotonic_cst", None) is None:
            return self
        return replace(self, penalty=replace(self.penalty, limits=features.limits(features.n_features_out_)))

    def settings_at(self, point: Choice) -> FitSettings:
        """What a fit of all rows at a point of the grid is asked for."""
        l2, l1 = point.values["l2"], point.values["l1"]
        return FitSettings(l2, l1, self.tol, self.max_iter, self.penalty, self.loss)
