"""Convergence of fits: the certificate, or the objective, against passes or seconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from vrspam.plotting.style import DASHES, add_legend, axes_or_new, colours

SMALLEST = 1e-16  # smaller differences are rounding errors and are drawn here
NAMES = {
    "passes": "passes over the data",
    "seconds": "seconds",
    "epoch": "epochs",
    "gap": "certificate: at most this far above\nthe optimum",
    "stationarity": "stationarity, in units of F",
    "objective": "objective F",
}


def plot_convergence(histories: Any, *, x: str = "passes", y: str = "gap", ax: Axes | None = None) -> Axes:
    """Draw the certificate, or the objective, of one or several fits against passes or seconds.

    Parameters
    ----------
    histories : fitted estimator, its `history_`, or a mapping from names to these
        Of an iterative estimator: arrays `epoch`, `passes`, `seconds`, `objective` and `gap` of equal length.
    x : {"passes", "seconds", "epoch"}, default="passes"
    y : {"gap", "stationarity", "objective"}, default="gap"
        The gap, and the stationarity of fits without one, are drawn on a logarithmic scale.
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
    given = histories if isinstance(histories, Mapping) and y not in histories else {"": histories}
    several = {str(name): getattr(one, "history_", one) for name, one in given.items()}
    if not several or not all(isinstance(one, Mapping) and x in one and y in one for one in several.values()):
        raise ValueError(f"each history needs {x!r} and {y!r}: pass history_ of a fitted estimator, or a dict of them")
    ax, palette = axes_or_new(ax), colours()
    for number, (name, history) in enumerate(several.items()):
        values = np.asarray(history[y], dtype=float)
        ax.plot(
            np.asarray(history[x], dtype=float),
            values if y == "objective" else np.maximum(values, SMALLEST),
            color=palette[number % len(palette)],
            linestyle=DASHES[number % len(DASHES)],
            marker="o",
            label=name,
        )
    ax.set_xlabel(NAMES.get(x, x))
    ax.set_ylabel(NAMES.get(y, y))
    if y != "objective":
        ax.set_yscale("log")
        ax.set_ylabel(f"{NAMES.get(y, y)} (log scale)")
    if all(float(value).is_integer() for history in several.values() for value in history[x]):
        ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    if len(several) > 1 or next(iter(several)):
        add_legend(ax)
    return ax
