"""The parts of a score that its features show: by column where the map keeps columns apart, by feature otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from vrspam.features import AdditiveFeatures, FeatureMap, LinearFeatures, StackedFeatures
from vrspam.features.landmarks import LandmarkFeatures
from vrspam.inspection.side_by_side import stacked_encoders
from vrspam.moments import ClassMoments

INTERACTIONS = "interactions"
FINER_THAN_THE_CURVE = "finer than the curve"  # what is left where nothing can interact: a model of one column


def keeps_columns_apart(features: Any) -> bool:
    """Whether each feature is a function of one column, so that a score is a sum of curves; None: the columns."""
    if isinstance(features, StackedFeatures):
        return all(map(keeps_columns_apart, features.maps_)) and stacked_encoders(features) is not None
    return features is None or isinstance(features, LinearFeatures | AdditiveFeatures)


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


Places = slice | np.ndarray  # of the features of a part of the score


def column_groups(features: Any, names: Sequence[str], n_features: int) -> dict[str, Places]:
    """Where the features of each part of the score are: by column where the map keeps columns apart."""
    if features is None:
        return {name: slice(j, j + 1) for j, name in enumerate(distinct(names))}
    if isinstance(features, LandmarkFeatures):
        groups: dict[str, Places] = {}
        if features.additive_ is not None:
            groups = column_groups(features.additive_, names, n_features)
        start = max((where.stop for where in groups.values() if isinstance(where, slice)), default=0)
        return {**groups, distinct([*groups, INTERACTIONS])[-1]: slice(start, n_features)}
    if isinstance(features, StackedFeatures) and keeps_columns_apart(features):
        places = [
            np.concatenate(
                [
                    np.arange(one.start, one.stop) + start.start
                    for one, start in zip(own, features.map_slices_, strict=True)
                ]
            )
            for own in zip(*(part.column_slices_ for part in features.maps_), strict=True)
        ]
        return dict(zip(distinct(names), places, strict=True))
    if keeps_columns_apart(features):
        return dict(zip(distinct(names), features.column_slices_, strict=True))
    if isinstance(features, FeatureMap):
        return {INTERACTIONS: slice(0, n_features)}
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
