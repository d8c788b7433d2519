"""What a model looks at: its features on their original scale, and how much each separates the classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

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


def describe_model(model: Model) -> str:
    """What kind of function the score is, and of how many features."""
    kind = model.training.get("map", "linear" if model.features is None else "feature map")
    words = {
        "linear": "straight lines",
        "standardized": "straight lines",
        "additive": "smooth curves",
        "kernel": "smooth curves and interactions",
        "tree": "interactions of random trees",
        "stacked": f"a blend of {sum(row['chosen'] for row in model.training.get('selection', ()))} models",
    }
    if kind == "kernel" and model.features is not None and not model.features.has_effects:
        words["kernel"] = "interactions alone"
    # A file holds the features of a kernel added up; what was fitted is among the facts.
    features = model.training.get("features", model.coef.size)
    used = model.training.get("nonzero", int((model.coef != 0.0).sum()))
    shown = f"{features:,} feature{'s' if features != 1 else ''}"
    if used < features:
        shown += f", {used:,} of them used"
    if kind == "stacked":
        return f"{words[kind]}, {shown}"
    return f"{words[kind]} ({kind}), {shown}" if kind in words else f"{kind}, {shown}"


_KINDS = {
    "standardized": "straight lines",
    "additive": "smooth curves",
    "kernel alone": "interactions alone (kernel of width {})",
    "kernel": "smooth curves and interactions (kernel of width {})",
    "trees": "interactions of random trees (depth {})",
}


def describe_candidate(name: str) -> str:
    """What a model that was compared is, from its name in `selection`; other names stay.

    >>> describe_candidate("additive"), describe_candidate("kernel alone 0.3")
    ('smooth curves', 'interactions alone (kernel of width 0.3)')
    """
    kind, _, size = name.rpartition(" ")
    if name in _KINDS:
        return _KINDS[name]
    return _KINDS[kind].format(size) if kind in _KINDS else name


def describe_part(row: Mapping[str, Any], rows: int) -> str:
    """What a candidate of the selection became: nothing, the model, or a part of it; `rows` are those of the table.

    >>> describe_part({"chosen": True, "weight": 0.25, "rows": 90_000}, 90_000)
    '25% of the blend'
    >>> describe_part({"chosen": False, "weight": 0.0, "rows": 4_000}, 90_000)
    'left out after 4,000 rows'
    """
    compared = row.get("rows", rows)
    if not row["chosen"]:
        return f"left out after {compared:,} rows" if compared < rows else ""
    weight = row.get("weight", 1.0)
    return "chosen" if weight == 1.0 else f"{weight:.0%} of the blend"


def describe_auc(auc: float) -> str:
    """What an AUC means, in one sentence.

    >>> describe_auc(0.7253)
    'of 100 pairs of a positive and a negative row, 73 are ranked right (50 by guessing)'
    """
    right = f"{100.0 * auc:.0f}"
    if right == "100" and auc < 1.0:
        right = "more than 99"
    return f"of 100 pairs of a positive and a negative row, {right} are ranked right (50 by guessing)"


class ExpectedAUC(NamedTuple):
    """What the training says about the AUC on new rows: with its 95 % interval, and what was done about the choice."""

    auc: float
    low: float
    high: float
    remark: str


NOT_CORRECTED = "not corrected for the choice of the model"
OWN_PENALTIES = "each model of the blend has its own, chosen by the folds"


def expected_auc(model: Model) -> ExpectedAUC | None:
    """The cross-validated AUC, corrected for the choice where the model knows it; None if it says nothing of it."""
    facts = model.training

    def known(name: str) -> bool:
        return all(facts.get(f"{name}{end}") is not None for end in ("", "_low", "_high"))

    if not known("cv_auc"):
        return None
    name, remark = "cv_auc", NOT_CORRECTED
    if known("corrected_auc"):
        name, remark = "corrected_auc", f"corrected for the choice of the model, {facts['cv_auc']:.4f} before"
    return ExpectedAUC(facts[name], facts[f"{name}_low"], facts[f"{name}_high"], remark)


def doubt_of(low: float, high: float, confidence: float = 0.95) -> list[str]:
    """What to say of an AUC that may be guessing: one sentence, or none.

    >>> doubt_of(0.47, 0.64)
    ['the 95 % interval of the AUC, 0.470 to 0.640, holds 0.5: these rows do not show that the model beats guessing']
    >>> doubt_of(0.6, 0.7)
    []
    """
    if not low <= 0.5:
        return []
    interval = f"the {100 * confidence:g} % interval of the AUC, {low:.3f} to {high:.3f},"
    where = "holds 0.5: these rows do not show that the model beats guessing"
    if high < 0.5:
        where = "lies below 0.5: the model ranks these rows worse than guessing; look whether the labels are swapped"
    return [f"{interval} {where}"]


def describe_accuracy(facts: Mapping[str, Any]) -> str | None:
    """How close to the optimum a model is, from the facts about its training; None if they do not say."""
    if "relative_gap" in facts:
        return (
            f"the objective is proven to be at most {facts['relative_gap']:.0e} above its minimum, as a share of its "
            "value for a model that does nothing"
        )
    if "relative_stationarity" in facts:
        return (
            f"none (the penalty is not convex); stationary to {facts['relative_stationarity']:.0e}: no small change of "
            "the coefficients makes the model better"
        )
    return None


def describe_size(model: Model) -> str:
    """What the numbers of `find_strongest` are."""
    if model.features is None:
        return "change of the score for one standard deviation"
    if model.shapes is None:
        return "part of the difference between the mean scores of the classes"
    return "standard deviation of what each column adds to the score"


def describe_curves(model: Model) -> str:
    """What the picture of a model shows, in one sentence."""
    if model.features is None or model.shapes is None:
        return f"The features with the largest effects: {describe_size(model)}."
    shapes = model.shapes
    what = "What each column adds to the score, the most important first, with a 95 % band from the folds"
    if shapes.interactions is None:
        return f"{what}; together they are the score.{_dashes(model)}"
    if not shapes.whole:
        return (
            f"{what}. An earlier version wrote this model: its curves leave out what the kernel adds in single "
            "columns, which may undo them. Train it again for curves of the whole score."
        )
    if len(shapes.columns) < 2:
        return f"{what}.{_dashes(model)}"
    return (
        f"{what}; the curves are the best reading of the score as a sum of curves, and interactions make up the other "
        f"{100 * shapes.share:.0f} % of its variance.{_dashes(model)}"
    )


def _dashes(model: Model) -> str:
    assert model.shapes is not None
    if all(shape.mean_score is None for shape in model.shapes.columns):
        return ""
    return " Dashed: the mean score of the rows with that value, which differ in other columns too."


def describe_together(model: Model) -> list[str]:
    """A remark for each group of columns whose curves can hardly be told apart."""
    if model.shapes is None:
        return []
    near = {shape.name: set(shape.together) for shape in model.shapes.columns if shape.together}
    remarks, done = [], set()
    for first in near:
        if first in done:
            continue
        group, waiting = [], [first]
        while waiting:
            name = waiting.pop(0)
            if name not in done:
                done.add(name)
                group.append(name)
                waiting += [other for other in near if other in near[name] or name in near[other]]
        listed = f"{', '.join(group[:-1])} and {group[-1]}"
        remarks.append(
            f"{listed} move together: how their effect is split between their curves is a convention, so read the sum "
            "of the curves, not each alone."
        )
    return remarks


def describe_pairs(model: Model) -> list[tuple[str, float]]:
    """The strongest pairs of columns that interact, with their parts of the variance of the score."""
    return [] if model.shapes is None else [(" × ".join(pair.names), pair.share) for pair in model.shapes.pairs]


def sum_by_column(effects: list[Effect]) -> list[tuple[str, float]]:
    """(column, share) with the categories of a column added up, the largest first."""
    shares: dict[str, float] = {}
    for effect in effects:
        shares[effect.column] = shares.get(effect.column, 0.0) + effect.share
    return sorted(shares.items(), key=lambda item: -abs(item[1]))
