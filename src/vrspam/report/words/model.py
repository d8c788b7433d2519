"""What a model looks at, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vrspam.report.words.names import listed

if TYPE_CHECKING:
    from vrspam.model.model import Model

SPREAD = "Spread: how much the column moves scores (standard deviation of what it adds)."
ONE_DEVIATION = "One deviation: what the score gains when the feature rises by one standard deviation."
SHARE = "Share: how much of the distance between the average scores of the two classes comes from it."
SHARE_OF_PAIRS = "Share: how much of the mean distance of the scores in a pair comes from it."
CELLS = (
    "Orange cells raise the score and blue ones lower it, by up to {:.2f}, on top of the curves of both columns; grey: "
    "fewer than three rows. Bins of numbers hold about equally many rows."
)


def describe_size(model: Model) -> str:
    """Return what the numbers of `find_strongest` measure."""
    if model.is_linear:
        return "change of the score for one standard deviation"
    if model.shapes is None:
        return "part of the difference between the mean scores of the classes"
    return "how much each moves scores (standard deviation)"


def describe_curves(model: Model) -> str:
    """What the picture of a model shows, in a few sentences."""
    if model.is_linear or model.shapes is None:
        return f"The features with the largest effects: {describe_size(model)}."
    shapes = model.shapes
    what = (
        "What each column adds to the score, the most important first, with a 95 % band of its shape, from the folds."
    )
    if shapes.interactions is None:
        what = f"{what} Together they are the score."
    return what


def describe_together(model: Model) -> list[str]:
    """A remark for each group of columns whose curves can hardly be told apart."""
    if model.shapes is None:
        return []
    near = {shape.name: set(shape.together) for shape in model.shapes.columns if shape.together}
    remarks, done = [], set[str]()
    for first in near:
        if first not in done:
            group = _all_near(first, near)
            done.update(group)
            remarks.append(f"{listed(group)} say nearly the same: judge them together.")
    return remarks


def _all_near(first: str, near: dict[str, set[str]]) -> list[str]:
    """A column, the columns near it, the columns near these, and so on."""
    group, waiting = list[str](), [first]
    while waiting:
        name = waiting.pop(0)
        if name not in group:
            group.append(name)
            waiting += [other for other in near if other in near[name] or name in near[other]]
    return group


def describe_pairs(model: Model) -> list[tuple[str, float]]:
    """The strongest pairs of columns that interact, with their parts of the variance of the score."""
    if model.shapes is None:
        return []
    return [(" × ".join(pair.names), pair.share) for pair in model.shapes.pairs]
