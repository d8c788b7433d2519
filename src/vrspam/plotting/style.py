"""The style of all plots: the user's where it was changed, else light axes and colours for the colour-blind too.

Other plots stay as they are: the settings apply only while axes are made.
"""

import warnings
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from vrspam._utils.atomic import replacing
from vrspam._utils.plain import readable
from vrspam._utils.texts import wrap_distinct

_STYLE: dict[str, Any] = {
    "font.size": 10.0,
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
BLUE = "#0072B2"
ORANGE = "#D55E00"
GREEN = "#009E73"
PINK = "#CC79A7"
BLACK = "#000000"
SKY = "#56B4E9"
_COLOURS = (BLUE, ORANGE, GREEN, PINK, BLACK, SKY)
DASHES = ("-", "--", "-.", ":")
GREY = "#777777"  # can be read on white and on black


def own_style() -> Any:
    """The settings of this package, without those that the user has changed (a style sheet, say).

    >>> with mpl.rc_context({"font.size": 14}):
    ...     "font.size" in own_style(), "axes.axisbelow" in own_style()
    (False, True)
    """
    now: Any = mpl.rcParams
    usual: Any = mpl.rcParamsDefault
    settings = {name: value for name, value in _STYLE.items() if now[name] == usual[name]}
    if "grid.color" not in settings and "axes.grid" in settings:
        settings["grid.alpha"] = 0.3  # style sheets without a grid may have strong lines for it
    return settings


def letter_size() -> float:
    """How much larger letters are than the 10 points for which this package's figures are sized."""
    with mpl.rc_context(own_style()):
        return max(font_points("xtick.labelsize"), font_points("axes.labelsize"), 8.0) / 10.0


def ink() -> str:
    """The colour of texts and lines that have no other."""
    return to_hex(mpl.rcParams["text.color"])


def mixed(share: float) -> str:
    """A colour between that of the axes and that of the ink.

    >>> mixed(0.0), mixed(0.2)
    ('#ffffff', '#cccccc')
    """
    text = np.array(to_rgb(mpl.rcParams["text.color"]))
    face = mpl.rcParams["axes.facecolor"]
    if str(face).lower() == "none":  # transparent axes count as white, or as black where texts are light
        ground = np.full(3, float(text.mean() < 0.5))
    else:
        ground = np.array(to_rgb(face))
    red, green, blue = (1.0 - share) * ground + share * text
    return to_hex((red, green, blue))


def colours() -> tuple[str, ...]:
    """The colours of lines: the user's, or if these are matplotlib's own, ones that the colour-blind can tell apart."""
    users = _cycle(mpl.rcParams)
    if users == _cycle(mpl.rcParamsDefault) or len(set(users)) < 2:
        return tuple(ink() if colour == BLACK else colour for colour in _COLOURS)
    return tuple(users[i % len(users)] for i in range(max(len(_COLOURS), len(users))))


def _cycle(settings: Any) -> list[str]:
    """The colours of lines that settings of matplotlib name."""
    return [entry["color"] for entry in settings["axes.prop_cycle"] if "color" in entry]


def line_look(number: int) -> dict[str, Any]:
    """The colour and the dashes of a line among several."""
    palette = colours()
    return {"color": palette[number % len(palette)], "linestyle": DASHES[number % len(DASHES)]}


def new_figure(
    rows: int, columns: int, size: tuple[float, float], figure: Figure | None = None
) -> tuple[Figure, np.ndarray]:
    """Return a figure of `size` inches with a grid of axes, in the user's style or that of this package.

    A `figure` that is given must be empty, and takes that size.
    """
    if figure is not None and figure.axes:
        raise ValueError("figure must be empty, and this one has axes: pass a new one, such as plt.figure().")
    with mpl.rc_context(own_style()):
        if figure is None:
            figure = Figure()
        figure.set_size_inches(*size)
        figure.set_layout_engine("constrained")
        return figure, figure.subplots(rows, columns, squeeze=False)


def panels(
    items: Sequence[Any],
    most: int,
    n_cols: int,
    size: tuple[float, float],
    figure: Figure | None,
    margin: float = 0.0,
) -> tuple[Figure, list[Axes], list[Any]]:
    """A figure, a panel of `size` for each of the first `most` items, and these items; `margin` is at the right."""
    if most < 1 or n_cols < 1:
        raise ValueError(f"most and n_cols must be at least 1, got {most} and {n_cols}.")
    shown = list(items[:most])
    n_cols = min(n_cols, len(shown))
    n_rows = ceil(len(shown) / n_cols)
    larger = letter_size()
    inches = (larger * (size[0] * n_cols + margin), larger * size[1] * n_rows)
    figure, axes = new_figure(n_rows, n_cols, inches, figure)
    for ax in axes.ravel()[len(shown) :]:
        ax.remove()
    return figure, list(axes.ravel()[: len(shown)]), shown


def axes_or_new(ax: Axes | None, size: tuple[float, float] = (5.0, 4.0)) -> Axes:
    """Return `ax`, or if it is None the axes of a new figure, which a notebook shows."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    with mpl.rc_context(own_style()):
        return plt.subplots(figsize=size, layout="constrained")[1]


def add_legend(ax: Axes, **options: Any) -> None:
    """Add a legend of plain text (a dollar sign does not begin a formula); long names take several lines."""
    handles, labels = ax.get_legend_handles_labels()
    shown = legend_texts(labels)
    if "fontsize" not in options:
        lines, usual = sum(1 + label.count("\n") for label in shown), font_points("legend.fontsize")
        # at most half of the height of the axes, or small letters
        options["fontsize"] = max(min(usual, 0.5 * axes_points(ax)[1] / (1.5 * lines)), 0.6 * usual)
    for text in ax.legend(handles, shown, **options).get_texts():
        text.set_parse_math(False)


def legend_texts(labels: list[str]) -> list[str]:
    """Labels, wrapped to fit a legend; different ones stay different, and line breaks that they have stay."""
    labels = [readable(label) for label in labels]
    long = [label for label in labels if "\n" not in label and len(label) > 34]
    short = dict(zip(long, wrap_distinct(long, 26, 3), strict=True))
    return [short.get(label, label) for label in labels]


def font_points(setting: str) -> float:
    """The size in points that a setting such as "xtick.labelsize" stands for."""
    settings: Any = mpl.rcParams
    return float(FontProperties(size=settings[setting]).get_size_in_points())


def axes_points(ax: Axes) -> tuple[float, float]:
    """Width and height of axes in points, before the layout is settled."""
    dpi = ax.figure.dpi
    return 72.0 * float(ax.bbox.width) / dpi, 72.0 * float(ax.bbox.height) / dpi


def fit_labels(ax: Axes, below: str, beside: str) -> None:
    """Name both axes, in two lines or more where the axes are shorter than the name."""
    for name, text, room in zip(("xlabel", "ylabel"), (below, beside), axes_points(ax), strict=True):
        wide = text_width(text, font_points("axes.labelsize"))
        ax.set(**{name: text if wide <= 1.25 * room else fill(text, max(int(len(text) * 1.1 * room / wide), 12))})


def text_width(text: str, points: float) -> float:
    """The width of a text in points (1/72 inch), the widest of its lines."""
    font = FontProperties(size=points)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # drawing, too, warns of letters that the font does not have
        return max(float(text_to_path.get_text_width_height_descent(line, font, False)[0]) for line in text.split("\n"))


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a figure as PNG, SVG or PDF, by the suffix of `path`; the same figure gives the same bytes."""
    kind = path.suffix.lower()
    if kind not in (".png", ".svg", ".pdf"):
        raise ValueError(f"{path} must end in .png, .svg or .pdf to be a picture")
    metadata: Any = {".png": {"Software": None}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[kind]
    with mpl.rc_context(own_style()), replacing(path) as temporary:
        figure.savefig(temporary, format=kind[1:], metadata=metadata)
        if kind == ".svg":  # with a control character, of a name, it would be no XML
            temporary.write_text(readable(temporary.read_text("utf-8")), encoding="utf-8", newline="")
    return path
