"""The progress of iterative estimators: certificate or objective after each epoch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from vrspam.plotting.style import COLOURS, DASHES, add_legend, axes_or_new

SMALLEST = 1e-16  # smaller differences are rounding errors and are drawn here
NAMES = {
    "passes": "passes over the data",
    "seconds": "seconds",
    "epoch": "epochs",
    "gap": "certificate: at most this far above the optimum",
    "objective": "objective F",
}


def plot_convergence(
    histories: Mapping[str, Any], *, x: str = "passes", y: str = "gap", ax: Axes | None = None
) -> Axes:
    """Draw the certificate, or the objective, of one or several fits against passes or seconds.

    Parameters
    ----------
    histories : a `history_`, or a mapping from names to them
        As iterative estimators keep it: equal-length arrays under `epoch`, `passes`, `seconds`, `objective`, `gap`.
    x : {"passes", "seconds", "epoch"}, default="passes"
    y : {"gap", "objective"}, default="gap"
        The gap is drawn on a logarithmic scale.
    ax : matplotlib Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from vrspam.plotting import plot_convergence
    >>> history = {"passes": [1, 3, 5], "gap": [1e-1, 1e-3, 1e-6]}
    >>> ax = plot_convergence({"one": history, "two": {"passes": [1, 2], "gap": [0.1, 0.05]}})
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['one', 'two']
    """
    several = {"": histories} if y in histories else dict(histories)
    if not several or any(x not in history or y not in history for history in several.values()):
        raise ValueError(f"each history needs {x!r} and {y!r}: pass history_ of a fitted estimator, or a dict of them")
    ax = axes_or_new(ax)
    for number, (name, history) in enumerate(several.items()):
        values = np.asarray(history[y], dtype=float)
        ax.plot(
            np.asarray(history[x], dtype=float),
            np.maximum(values, SMALLEST) if y == "gap" else values,
            color=COLOURS[number % len(COLOURS)],
            linestyle=DASHES[number % len(DASHES)],
            marker="o",
            label=name,
        )
    if y == "gap":
        ax.set_yscale("log")
    ax.set_xlabel(NAMES.get(x, x))
    ax.set_ylabel(NAMES.get(y, y))
    if len(several) > 1 or next(iter(several)):
        add_legend(ax)
    return ax
