"""What a model looks at: its features on their original scale, and what each adds to telling the classes apart."""

from __future__ import annotations

from dataclasses import dataclass

from vrspam.tool.model import Model


@dataclass(frozen=True)
class Effect:
    """One feature of a model.

    `coefficient` is the change of the score for one unit of the column, `effect` that for one standard deviation;
    both are None for a curve, which has no one slope. `contribution` is what the feature adds to the difference
    between the mean scores of the two classes; `share` is its part of that difference. Shares add up to 1; a
    feature that others make up for can have a negative one.
    """

    feature: str
    column: str
    coefficient: float | None
    effect: float | None
    contribution: float
    share: float


def explain(model: Model) -> list[Effect]:
    """All features of a model, the largest contribution first.

    With a feature map the parts are the curves of the columns, and "interactions" for what they do not say.

    Parameters
    ----------
    model : Model

    Returns
    -------
    list of Effect
    """
    names = model.schema.feature_names
    columns = dict(zip(names, feature_columns(model), strict=True))
    groups = {name: slice(j, j + 1) for j, name in enumerate(names)}
    if model.features is not None:
        from vrspam.estimators.shapes import column_groups

        groups = column_groups(model.features.features, names, model.coef.size)
    total = model.contributions.sum()
    found = []
    for name, where in groups.items():
        part = float(model.contributions[where].sum())
        linear = model.features is None
        found.append(
            Effect(
                feature=name,
                column=columns.get(name, name),
                coefficient=float(model.coef[where][0]) if linear else None,
                effect=float(model.standardised[where][0]) if linear else None,
                contribution=part,
                share=part / total if total else 0.0,
            )
        )
    return sorted(found, key=lambda effect: (-abs(effect.contribution), -abs(effect.effect or 0.0)))


def strongest(model: Model, count: int) -> list[tuple[str, float]]:
    """The features that move the score most for one standard deviation, or add most where they are curves."""
    sizes = [(e.feature, e.contribution if e.effect is None else e.effect) for e in explain(model)]
    return [item for item in sorted(sizes, key=lambda item: -abs(item[1]))[:count] if item[1]]


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
