"""Parts of a score by groups of features: by column if the map keeps columns apart, by feature otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from vrspam.features import FeatureMap
from vrspam.features.base import Places
from vrspam.moments import PairSums

INTERACTIONS = "interactions"


def distinct(names: Iterable[Any]) -> list[str]:
    """Names of parts, made unique: a name that occurred before gets a number.

    >>> distinct(["age", "age", 3])
    ['age', 'age (2)', '3']
    """
    taken: dict[str, None] = {}
    for name in map(str, names):
        number = 2
        free = name
        while free in taken:
            free = f"{name} ({number})"
            number += 1
        taken[free] = None
    return list(taken)


def column_groups(features: Any, names: Sequence[str], n_features: int) -> dict[str, Places]:
    """Where the features of each part of the score are: by column where the map keeps columns apart."""
    if features is None:
        return {name: slice(j, j + 1) for j, name in enumerate(distinct(names))}
    if isinstance(features, FeatureMap):
        return _groups_of_map(features, names)
    try:
        parts = distinct(features.get_feature_names_out())
    except Exception:  # a transformer, or a step of a pipeline, that names nothing
        parts = [f"feature{j}" for j in range(n_features)]
    return {name: slice(j, j + 1) for j, name in enumerate(parts)}


def _groups_of_map(features: FeatureMap, names: Sequence[str]) -> dict[str, Places]:
    """The features of each column, and those of several columns."""
    places, together = features.feature_places()
    groups: dict[str, Places] = {}
    if places:
        groups.update(zip(distinct(names), places, strict=True))
    if together is not None:
        name = distinct([*groups, INTERACTIONS])[-1]
        groups[name] = together
    return groups


def importances(groups: Mapping[str, Places], coef: np.ndarray, moments: PairSums) -> dict[str, float]:
    """Standard deviation of each part of the score over the rows, both classes weighing the same."""
    within = moments.within
    delta = moments.delta
    spread = {}
    for name, where in groups.items():
        w = coef[where]
        variance = w @ within[where][:, where] @ w / 2.0 + float(w @ delta[where]) ** 2 / 4.0
        spread[name] = float(np.sqrt(max(variance, 0.0)))
    return spread
