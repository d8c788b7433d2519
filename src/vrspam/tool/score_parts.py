"""The score of a fitted map as the fields of a `Model`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from vrspam.features import FeatureMap
from vrspam.features.encoders import Indicators
from vrspam.features.parts import ColumnBlock


def undo_linear_map(
    features: Any,
    categories: Iterable[tuple[str, ...]],
    coef: np.ndarray,
    intercept: float,
    means: np.ndarray,
    deviations: np.ndarray,
) -> dict[str, Any] | None:
    """Fields of a `Model` without a map, if the map only standardises and encodes these `categories`; None otherwise.

    They are those of each column of text, in the order of the coefficients: a map may have levels in another order, or
    one indicator for all rare categories.
    """
    if len(features.members) > 1 or not features.keeps_columns_apart:
        return None
    if [one.categories for one in features.encoders_ if isinstance(one, Indicators)] != list(categories):
        return None
    lines: list[tuple[float, float, float]] = []  # feature = slope · column + origin, or column = constant
    for encoder in features.encoders_:
        if encoder.missing or (isinstance(encoder, Indicators) and encoder.scale):
            return None
        if isinstance(encoder, Indicators):
            lines += [(1.0, 0.0, 0.0)] * encoder.width
        elif encoder.table.shape[1] != 1 or encoder.nodes.size > 1 + encoder.extend:
            return None
        elif encoder.nodes.size == 1:
            lines.append((0.0, 0.0, float(encoder.nodes[0])))
        else:
            slope = float(np.ptp(encoder.table) / np.ptp(encoder.nodes))
            lines.append((slope, float(encoder.table[0, 0] - slope * encoder.nodes[0]), 0.0))
    slopes, origins, constants = np.array(lines).T
    safe = np.where(slopes == 0.0, 1.0, slopes)
    return {
        "coef": coef * slopes,
        "intercept": intercept + float(coef @ origins),
        "means": np.where(slopes == 0.0, constants, (means - origins) / safe),
        "deviations": deviations / safe,
    }


def parts_of_map(features: FeatureMap, coef: np.ndarray, means: np.ndarray) -> dict[str, Any]:
    """Fields of a `Model` from a feature map, the coefficients of its features and their class means."""
    parts = features.parts(coef)
    alone = np.zeros((len(means), features.n_features_in_))
    together = np.zeros((len(means), 1))
    for block, j, where in features.block_places():
        of_features = means[:, where] @ coef[where]
        if isinstance(block, ColumnBlock):
            alone[:, j] += of_features
        else:
            together[:, 0] += of_features
    of_parts = np.zeros((len(means), 0))  # no part at all: trees without a split
    if parts.has_effects:
        of_parts = alone
    if not parts.keeps_columns_apart:
        of_parts = np.hstack([of_parts, together])
    ones = np.ones(of_parts.shape[1])
    return {"features": parts, "coef": ones, "means": of_parts, "deviations": ones}
