"""What a model looks at: its features on their original scale, and how much each separates the classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vrspam.tool.model import Model


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
        Its part of that difference. Shares add up to 1; one is negative if the feature makes the difference smaller.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import explain, train
    >>> path = f"{tempfile.mkdtemp()}/cells.csv"
    >>> load_breast_cancer(as_frame=True).frame.to_csv(path, index=False)
    >>> first = explain(train(path, "target", features="linear"))[0]
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
    """All features of a model, the largest contribution first.

    With a feature map these are the curves of the columns, and "interactions" for what no curve can show.
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
    >>> import tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import explain, train
    >>> path = f"{tempfile.mkdtemp()}/cells.csv"
    >>> load_breast_cancer(as_frame=True).frame.to_csv(path, index=False)
    >>> effects = explain(train(path, "target", features="linear"))
    >>> effects[0].feature, effects[0].coefficient < 0, round(sum(effect.share for effect in effects), 6)
    ('worst radius', True, 1.0)
    """
    contributions = model.contributions
    total = float(contributions.sum()) or float("inf")  # without a difference of the means all shares are 0
    if model.features is None:
        names, schema = model.schema.feature_names, model.schema
        columns = [*schema.numeric, *(name for name, values in schema.categorical.items() for _ in values)] or names
        parts = zip(model.coef.tolist(), model.standardised.tolist(), contributions.tolist(), strict=True)
        found = [
            Effect(name, column, coefficient, effect, abs(effect), part, part / total)
            for name, column, (coefficient, effect, part) in zip(names, columns, parts, strict=True)
        ]
    else:
        spread = _importances(model)
        found = [
            Effect(name, name, None, None, spread.get(name), part, part / total)
            for name, part in model.column_contributions().items()
        ]
    return sorted(found, key=lambda effect: (-abs(effect.contribution), -(effect.importance or 0.0)))


def _importances(model: Model) -> dict[str, float]:
    if model.shapes is None:
        return {}
    spread = {shape.name: shape.importance for shape in model.shapes.columns}
    if model.shapes.interactions is not None:
        spread[model.shapes.rest_name] = model.shapes.interactions
    return spread


def find_strongest(model: Model, count: int) -> list[tuple[str, float]]:
    """The features that move the score most: by one standard deviation, or by the spread of what a curve adds."""
    sizes = []
    for e in explain(model):
        spread = e.contribution if e.importance is None else e.importance
        sizes.append((e.feature, spread if e.effect is None else e.effect))
    return [item for item in sorted(sizes, key=lambda item: -abs(item[1]))[:count] if item[1]]


def sum_by_column(effects: list[Effect]) -> list[tuple[str, float]]:
    """(column, share) with the categories of a column added up, the largest first."""
    shares: dict[str, float] = {}
    for effect in effects:
        shares[effect.column] = shares.get(effect.column, 0.0) + effect.share
    return sorted(shares.items(), key=lambda item: -abs(item[1]))
