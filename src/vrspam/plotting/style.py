"""The style of all plots: light axes, colours that the colour-blind can tell apart, and files that do not vary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vrspam._utils.atomic import replacing

STYLE: Any = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "figure.constrained_layout.hspace": 0.06,  # titles of a second row keep clear of the first
    "savefig.dpi": 200,
    "svg.hashsalt": "vrspam",
}
# Okabe and Ito's colours
BLUE, ORANGE, GREEN, PINK, BLACK, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9"
COLOURS = (BLUE, ORANGE, GREEN, PINK, BLACK, SKY)
DASHES = ("-", "--", "-.", ":")
GREY = "#777777"


def new_figure(rows: int, columns: int, size: tuple[float, float]) -> tuple[Figure, np.ndarray]:
    """Return a figure of `size` inches with a grid of axes, in the style of this package."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        return figure, figure.subplots(rows, columns, squeeze=False)


def axes_or_new(ax: Axes | None) -> Axes:
    """Return `ax`, or if it is None the axes of a new figure, which a notebook shows."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    with mpl.rc_context(STYLE):
        return plt.subplots(figsize=(5.0, 4.0), layout="constrained")[1]


def add_legend(ax: Axes, **options: Any) -> None:
    """Add a legend whose names are plain text: a dollar sign does not begin a formula."""
    for text in ax.legend(**options).get_texts():
        text.set_parse_math(False)


def shortened(text: str, most: int = 10) -> str:
    """Return the text, cut to so many letters.

    >>> shortened("Klagenfurt am Wörthersee")
    'Klagenfur…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a figure as PNG, SVG or PDF, by the suffix of `path`; the same figure gives the same bytes."""
    kind = path.suffix.lower()
    if kind not in (".png", ".svg", ".pdf"):
        raise ValueError(f"{path} must end in .png, .svg or .pdf to be a picture")
    metadata: Any = {".png": {"Software": None}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[kind]
    with mpl.rc_context(STYLE), replacing(path) as temporary:
        figure.savefig(temporary, format=kind[1:], metadata=metadata)
    return path
