"""The parts of a score that its features show: by column where the map keeps columns apart, by feature otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from vrspam.features import FeatureMap
from vrspam.features.base import Places
from vrspam.moments import ClassMoments

INTERACTIONS = "interactions"
FINER_THAN_THE_CURVE = "finer than the curve"  # what is left where nothing can interact: a model of one column


def keeps_columns_apart(features: Any) -> bool:
    """Whether each feature is a function of one column, so that a score is a sum of curves; None: the columns."""
    return features is None or (isinstance(features, FeatureMap) and features.keeps_columns_apart)


def distinct(names: Iterable[Any]) -> list[str]:
    """Names of parts, each only once: those that were there before get a number.

    >>> distinct(["age", "age", 3])
    ['age', 'age (2)', '3']
    """
    found: dict[str, None] = {}
    for name in map(str, names):
        number, free = 2, name
        while free in found:
            number, free = number + 1, f"{name} ({number})"
        found[free] = None
    return list(found)


def rest_name(columns: Sequence[str]) -> str:
    """What the part of a score is called that is no sum of curves of these columns.

    >>> rest_name(["age", "dose"]), rest_name(["age", "interactions"]), rest_name(["age"])
    ('interactions', 'interactions (2)', 'finer than the curve')
    """
    return distinct([*columns, INTERACTIONS if len(columns) > 1 else FINER_THAN_THE_CURVE])[-1]


def column_groups(features: Any, names: Sequence[str], n_features: int) -> dict[str, Places]:
    """Where the features of each part of the score are: by column where the map keeps columns apart."""
    if features is None:
        return {name: slice(j, j + 1) for j, name in enumerate(distinct(names))}
    if isinstance(features, FeatureMap):
        places, together = features.feature_places()
        groups: dict[str, Places] = dict(zip(distinct(names) if places else (), places, strict=True))
        return groups if together is None else {**groups, distinct([*groups, INTERACTIONS])[-1]: together}
    try:
        parts = distinct(features.get_feature_names_out())
    except Exception:  # a transformer, or a step of a pipeline, that names nothing
        parts = [f"feature{j}" for j in range(n_features)]
    return {name: slice(j, j + 1) for j, name in enumerate(parts)}


def importances(groups: Mapping[str, Places], coef: np.ndarray, moments: ClassMoments) -> dict[str, float]:
    """Standard deviation of each part of the score over the rows, both classes weighing the same."""
    within, delta = moments.within, moments.delta
    spread = {}
    for name, where in groups.items():
        w = coef[where]
        variance = w @ within[where][:, where] @ w / 2.0 + float(w @ delta[where]) ** 2 / 4.0
        spread[name] = float(np.sqrt(max(variance, 0.0)))
    return spread


def parts_of_score(
    groups: Mapping[str, Places], row: np.ndarray, coef: np.ndarray, centre: np.ndarray
) -> dict[str, float]:
    """What each group of features adds to the score w·(φ - centre) of one row; the parts add up to the score."""
    return {name: float(coef[where] @ (row[where] - centre[where])) for name, where in groups.items()}
