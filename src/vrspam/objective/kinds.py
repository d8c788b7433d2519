"""The losses that users choose by name."""

from __future__ import annotations

from typing import Any

from vrspam._utils.names import LossName
from vrspam.objective.hinge import SquaredHingeLoss

LOSSES: dict[LossName, Any] = {"squared": None, "squared_hinge": SquaredHingeLoss}  # from rows; None: from moments
