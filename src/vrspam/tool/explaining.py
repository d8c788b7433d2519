"""What a model looks at: its features on their original scale, and what each adds to telling the classes apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vrspam.tool.model import Model


@dataclass(frozen=True)
class Effect:
    """One feature of a model.

    `coefficient` is the change of the score for one unit of the column, `effect` that for one standard deviation.
    `contribution` is what the feature adds to the difference between the mean scores of the two classes; `share`
    is its part of that difference. Shares add up to 1; a feature that others make up for can have a negative one.
    """

    feature: str
    column: str
    coefficient: float
    deviation: float
    effect: float
    contribution: float
    share: float


def explain(model: Model) -> list[Effect]:
    """All features of a model, the largest contribution first.

    Parameters
    ----------
    model : Model

    Returns
    -------
    list of Effect
    """
    effects = model.standardised
    parts = model.contributions
    total = parts.sum()
    shares = parts / total if total else np.zeros_like(parts)
    names, columns = model.schema.feature_names, feature_columns(model)
    order = np.lexsort((-np.abs(effects), -np.abs(parts)))
    return [
        Effect(
            feature=names[j],
            column=columns[j],
            coefficient=float(model.coef[j]),
            deviation=float(model.deviations[j]),
            effect=float(effects[j]),
            contribution=float(parts[j]),
            share=float(shares[j]),
        )
        for j in order
    ]


def by_column(effects: list[Effect]) -> list[tuple[str, float]]:
    """(column, share) with the categories of a column added up, the largest first."""
    shares: dict[str, float] = {}
    for effect in effects:
        shares[effect.column] = shares.get(effect.column, 0.0) + effect.share
    return sorted(shares.items(), key=lambda item: -abs(item[1]))


def feature_columns(model: Model) -> list[str]:
    """The column that each feature comes from."""
    schema = model.schema
    if not schema.categorical:
        return list(schema.feature_names)
    return [*schema.numeric, *(name for name, values in schema.categorical.items() for _ in values)]
