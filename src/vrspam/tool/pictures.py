"""Models and comparisons as pictures for `--picture`."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from vrspam.plotting import plot_coefficients, plot_precision_recall, plot_roc, plot_shapes
from vrspam.plotting.style import new_figure
from vrspam.tool.explanation import describe_size, find_strongest
from vrspam.tool.model import Model

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

MOST_FEATURES = 20
LEGEND_LINE = 20  # letters of a name in one line of a legend, before its AUC


def features_picture(model: Model) -> Picture:
    """The curves of the most important columns; for a model without curves, the features of the largest effect."""
    if model.shapes is not None:
        shapes = {shape.name: shape for shape in model.shapes.columns}
        return plot_shapes({name: shape for name, shape in shapes.items() if shape.importance > 0.0} or shapes)
    found = find_strongest(model, MOST_FEATURES)
    figure, axes = new_figure(1, 1, (8.0, 1.1 + 0.27 * max(len(found), 2)))
    names, sizes = [name for name, _ in found], [size for _, size in found]
    plot_coefficients(names, sizes, label=describe_size(model), ax=axes[0, 0])
    return figure


def comparison_picture(positive: np.ndarray, scores: Mapping[str, np.ndarray], max_fpr: float | None = None) -> Picture:
    """Both ROC curves, and both curves of precision and recall."""
    figure, axes = new_figure(1, 2, (10.4, 4.9))
    shown = {_wrapped(name): values for name, values in scores.items()}
    plot_roc(positive, shown, max_fpr=max_fpr, ax=axes[0, 0])
    plot_precision_recall(positive, shown, ax=axes[0, 1])
    return figure


def _wrapped(name: str) -> str:
    """A name in lines that a legend has room for; the middle of a very long one is left out."""
    half = 3 * LEGEND_LINE // 2
    if len(name) > 2 * half:
        name = f"{name[: half - 1]}…{name[-half:]}"
    return "\n".join(wrap(name, LEGEND_LINE, break_on_hyphens=False))
