"""The objective F = f + Ω that every estimator minimises, and its certificate.

By default f is the squared pair loss of the paper and Ω the elastic net:

    F(w) = p q · mean over pairs (i in +, j in -) of (1 - w·(x_i - x_j))²  +  l2/2 ‖w‖²  +  l1 ‖w‖₁.

`vrspam.objective.losses` holds the interface of losses for solvers, `vrspam.penalties` does the same for
penalties; an `Objective` combines a loss and a penalty.
"""

# ruff: noqa: F401 (names that are not in `__all__` are for the other modules of this package)

from vrspam.objective.hinge import SquaredHingeLoss
from vrspam.objective.kinds import LOSSES
from vrspam.objective.losses import Operator, QuadraticLoss, SmoothLoss
from vrspam.objective.objective import AUTO_L2_SHARE, Objective, l2_unit
from vrspam.objective.partial_hinge import PartialHingeLoss
from vrspam.objective.products import DeviceProducts, WithinProducts, multiply
from vrspam.objective.rounding import UNIT
from vrspam.objective.squared import SquaredPairLoss
from vrspam.penalties.base import Penalty, Separable, soft_threshold
from vrspam.penalties.bounded import Bounded
from vrspam.penalties.concave import MCP, SCAD
from vrspam.penalties.elastic_net import ElasticNet
from vrspam.penalties.family import ELASTIC_NET, PenaltyFamily, Strengths, register_penalty
from vrspam.penalties.limits import Limits
from vrspam.penalties.shaped import Shaped

__all__ = [  # what losses, penalties and solvers defined outside of vrspam need
    "MCP",
    "SCAD",
    "Bounded",
    "ElasticNet",
    "Limits",
    "Objective",
    "Penalty",
    "PenaltyFamily",
    "QuadraticLoss",
    "Separable",
    "SmoothLoss",
    "SquaredHingeLoss",
    "SquaredPairLoss",
    "l2_unit",
    "register_penalty",
    "soft_threshold",
]
