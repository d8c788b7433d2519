"""`Objective`: a loss and a penalty, with the certificate of a point; the unit of l2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from vrspam.moments import PairSums
from vrspam.objective.losses import SmoothLoss
from vrspam.objective.rounding import UNIT
from vrspam.objective.squared import SquaredPairLoss
from vrspam.penalties.base import Penalty
from vrspam.penalties.elastic_net import ElasticNet

AUTO_L2_SHARE = 1e-3  # `l2="auto"` is this share of `l2_unit`

Loss = TypeVar("Loss", bound=SmoothLoss)
Omega = TypeVar("Omega", bound=Penalty)


@dataclass(frozen=True)
class Objective(Generic[Loss, Omega]):
    """F = f + Ω for one data set.

    Parameters
    ----------
    loss : SmoothLoss
    penalty : Penalty

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam import ClassMoments
    >>> from vrspam.objective import Objective
    >>> X = np.array([[0.0], [1.0], [2.0], [5.0]])
    >>> F = Objective.from_moments(ClassMoments.from_data(X, [-1, -1, 1, 1]), l2=0.5)
    >>> round(F.value(np.array([0.2])), 6)  # 1/4 · mean of .6², .8², 0², .2², plus 0.5/2 · .2²
    0.075
    """

    loss: Loss
    penalty: Omega

    @staticmethod
    def from_moments(moments: PairSums, l2: float, l1: float = 0.0) -> Objective[SquaredPairLoss, ElasticNet]:
        """The squared pair loss from sufficient statistics, with an elastic net."""
        return Objective(SquaredPairLoss.from_moments(moments), ElasticNet(l2, l1))

    @staticmethod
    def from_rows(
        X, is_positive, sample_weight, moments: PairSums, l2: float, l1: float = 0.0
    ) -> Objective[SquaredPairLoss, ElasticNet]:
        """The squared pair loss by products with X, with an elastic net; `moments` needs no scatter matrices."""
        return Objective(SquaredPairLoss.from_rows(X, is_positive, sample_weight, moments), ElasticNet(l2, l1))

    @property
    def scale(self) -> float:
        """F(0)."""
        return self.loss.scale

    def value_and_grad(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """F(w), and ∇f(w) of the smooth part alone."""
        value, grad = self.loss.value_and_grad(w)
        return value + self.penalty.value(w), grad

    def value(self, w: np.ndarray) -> float:
        """F(w)."""
        return self.value_and_grad(w)[0]

    def gradient(self, w: np.ndarray) -> np.ndarray:
        """∇f(w), without the penalty."""
        return self.loss.value_and_grad(w)[1]

    def certificate(self, w: np.ndarray, grad: np.ndarray) -> tuple[float, float]:
        """The gap at w given ∇f(w), and the number that decides when to stop: the gap or, if it is NaN, the violation.

        Both include a bound on rounding (`vrspam.objective.rounding`), if the loss bounds that of its gradient.
        """
        gap, left = self.exact_certificate(w, grad)
        slack = self.slack(w, grad)
        if slack == 0.0:
            return gap, left
        at_kinks = 16.0 * UNIT * self.penalty.value(w)  # rounding at the kinks of the penalty
        gap = (np.sqrt(gap) + slack) ** 2 * (1.0 + 1e-12) + at_kinks
        left = (np.sqrt(left) + slack) ** 2 * (1.0 + 1e-12) + at_kinks
        return gap, left

    def exact_certificate(self, w: np.ndarray, grad: np.ndarray) -> tuple[float, float]:
        """The `certificate` without room for rounding errors of `grad`: what a solver can still improve."""
        gap = self.penalty.gap(w, grad)
        return gap, self.penalty.violation(w, grad, self.loss.curvature()) if np.isnan(gap) else gap

    def slack(self, w: np.ndarray, grad: np.ndarray) -> float:
        """The most that rounding adds to the square root of the certificate: ‖error of the gradient‖ / √(2 l2)."""
        of_gradient = getattr(self.loss, "gradient_error", None)
        error = 0.0 if of_gradient is None else of_gradient(w, grad)
        if error == 0.0:
            return 0.0
        error += 8.0 * UNIT * float(np.linalg.norm(grad))
        return float(error / np.sqrt(2.0 * self.penalty.gap_curvature(self.loss.curvature())))

    def gap(self, w: np.ndarray) -> float:
        """Certificate: an upper bound on F(w) - F*; NaN where there is none."""
        return self.certificate(w, self.gradient(w))[0]


def l2_unit(moments: PairSums) -> float:
    """The unit of l2: 2pq · mean of the diagonal of H = Σ + δδᵀ, which follows class imbalance and the scale of X.

    If all columns are constant, the unit is 2pq.

    Parameters
    ----------
    moments : ClassMoments

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam import ClassMoments
    >>> from vrspam.objective import l2_unit
    >>> l2_unit(ClassMoments.from_data(np.array([[0.0], [2.0]]), [0, 1]))  # 2 · ½ · ½ · 2²
    2.0
    """
    classes = moments.pair_statistics()
    mean_diagonal = float(np.mean(classes.within_diagonal + classes.delta**2))
    return 2.0 * classes.p * classes.q * (mean_diagonal if mean_diagonal > 0.0 else 1.0)
