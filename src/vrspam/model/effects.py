"""What each feature of a model, or the curve of each column, does to its score over all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vrspam.inspection import INTERACTIONS, distinct

if TYPE_CHECKING:
    from vrspam.model.model import Model


@dataclass(frozen=True)
class Effect:
    """One feature of a model, or one column where the model has curves.

    Attributes
    ----------
    feature, column : str
    coefficient, effect : float or None
        The change of the score for one unit of the column, and for one standard deviation; None for a curve, whose
        slope varies.
    importance : float or None
        The standard deviation of what it adds to the score.
    contribution : float
        What it adds to the difference between the mean scores of the two classes.
    share : float
        Its share of that difference. Shares add up to 1; a share is negative if the feature reduces the difference.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import explain, train
    >>> first = explain(train(load_breast_cancer(as_frame=True).frame, "target", features="linear"))[0]
    >>> first.feature, first.effect < 0 < first.share
    ('worst radius', True)
    """

    feature: str
    column: str
    coefficient: float | None
    effect: float | None
    importance: float | None
    contribution: float
    share: float


def explain(model: Model) -> list[Effect]:
    """Return the effects of all features of a model, the largest contribution first.

    With a feature map these are the curves of the columns, and "interactions" for what no sum of curves can show.
    `importance` is None if the model file was written by a version that did not store curves.

    Parameters
    ----------
    model : Model

    Returns
    -------
    list of Effect
        With `feature`, `column`, `coefficient`, `effect`, `importance`, `contribution` and `share`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import explain, train
    >>> effects = explain(train(load_breast_cancer(as_frame=True).frame, "target", features="linear"))
    >>> effects[0].feature, effects[0].coefficient < 0, round(sum(effect.share for effect in effects), 6)
    ('worst radius', True, 1.0)
    """
    contributions = model.contributions
    total = float(contributions.sum()) or float("inf")  # without a difference of the means all shares are 0
    if model.is_linear:
        effects = _effects_of_features(model, contributions, total)
    else:
        effects = _effects_of_columns(model, contributions, total)
    return sorted(effects, key=lambda effect: (-abs(effect.contribution), -(effect.importance or 0.0)))


def _effects_of_features(model: Model, contributions: np.ndarray, total: float) -> list[Effect]:
    """The effects of features that are used as they are."""
    names = model.schema.feature_names
    columns = list(model.schema.numeric)
    for column, categories in model.schema.categorical.items():
        columns.extend([column] * len(categories))

    effects = []
    numbers = zip(model.coef.tolist(), model.standardised.tolist(), contributions.tolist(), strict=True)
    for name, column, (coefficient, effect, part) in zip(names, columns or names, numbers, strict=True):
        effects.append(Effect(name, column, coefficient, effect, abs(effect), part, part / total))
    return effects


def _effects_of_columns(model: Model, contributions: np.ndarray, total: float) -> list[Effect]:
    """The effects of columns, by their curves, and of interactions."""
    spread = {} if model.shapes is None else model.shapes.importances()
    effects = []
    for name, part in _contributions_of_columns(model, contributions).items():
        effects.append(Effect(name, name, None, None, spread.get(name), part, part / total))
    return effects


def _contributions_of_columns(model: Model, contributions: np.ndarray) -> dict[str, float]:
    """What each column, and interactions, add to the difference between the mean scores of the two classes."""
    if model.shapes is not None and not model.parts.keeps_columns_apart:
        by_name = {shape.name: shape.difference for shape in model.shapes.columns}
        by_name[model.shapes.rest_name] = float(contributions.sum()) - sum(by_name.values())
        return by_name

    names: list[str] = []
    if model.parts.has_effects:
        names.extend(model.schema.columns)
    if not model.parts.keeps_columns_apart:
        names.append(INTERACTIONS)
    return dict(zip(distinct(names), contributions.tolist(), strict=True))


class FeatureSize(NamedTuple):
    """How much a feature moves the score: its effect for one standard deviation, or the spread of what it adds."""

    feature: str
    size: float


def find_strongest(model: Model, count: int) -> list[FeatureSize]:
    """The features with the largest effects: of one standard deviation, or the spread of what a curve adds."""
    sizes = []
    for effect in explain(model):
        if effect.effect is not None:
            size = effect.effect
        elif effect.importance is not None:
            size = effect.importance
        else:
            size = effect.contribution
        sizes.append(FeatureSize(effect.feature, size))

    sizes.sort(key=lambda feature: -abs(feature.size))
    return [feature for feature in sizes[:count] if feature.size]


def sum_by_column(effects: list[Effect]) -> list[tuple[str, float]]:
    """(column, share) with the categories of a column added up, the largest first."""
    shares: dict[str, float] = {}
    for effect in effects:
        shares[effect.column] = shares.get(effect.column, 0.0) + effect.share
    return sorted(shares.items(), key=lambda item: -abs(item[1]))
