"""Plots of convergence, and the paper's figures, drawn from panels: set -> algorithm -> rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from vrspam.plotting.style import (
    BLACK,
    BLUE,
    DASHES,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    SKY,
    add_legend,
    axes_or_new,
    colours,
    ink,
    new_figure,
    save_figure,
)

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


Panels = Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]

# Each has its own marker and dash, so that they differ when printed in grey.
LOOKS: dict[str, dict[str, Any]] = {
    "VRSPAM-L2": {"color": BLUE, "marker": "o", "linestyle": "-"},
    "accelerated-L2": {"color": ORANGE, "marker": "s", "linestyle": "-"},
    "SPAM-L2": {"color": GREEN, "marker": "^", "linestyle": "--"},
    "SOLAM": {"color": PINK, "marker": "D", "linestyle": "-."},
    "OPAUC": {"color": BLACK, "marker": "v", "linestyle": ":"},
}
OTHER_LOOK: dict[str, Any] = {"color": SKY, "marker": "x", "linestyle": "-"}
BOUNDS = {
    "bound": ("bound, 128 M⁴", ":"),
    "bound_rows": ("bound, rows", (0, (4, 2))),
}
PANEL = 3.4  # inches
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def plot_panels(panels: Panels, against: str) -> Figure:
    """Draw the test AUC, and the objective above its minimum, against "passes" or "seconds"; one column per set."""
    figure, axes = _axes(2, len(panels))
    for column, (name, algorithms) in enumerate(panels.items()):
        above, below = axes[:, column]
        for algorithm, rows in algorithms.items():
            x = _column(rows, against)
            above.plot(x, _column(rows, "auc"), label=algorithm, **_look(algorithm))
            below.plot(x, np.maximum(_column(rows, "excess"), SMALLEST), **_look(algorithm))
        optimum = next(iter(algorithms.values()))[0]["auc_exact"]
        above.axhline(optimum, color=GREY, linewidth=1.0, linestyle=(0, (4, 2)), zorder=1, label="optimum")
        above.set_title(name)
        _frame_auc(above, algorithms, optimum)
        for panel in (above, below):
            _log_x(panel)
        _log_y(below)
        below.set_xlabel(f"{against} (log scale)")
    axes[0, 0].set_ylabel("test AUC")
    axes[1, 0].set_ylabel("objective above its\nminimum (log scale)")
    _legend(figure, axes)
    return figure


def plot_variance(panels: Panels) -> Figure:
    """Draw the variance of the update against passes, with the bound on VRSPAM's variance."""
    figure, axes = _axes(1, len(panels))
    for panel, (name, algorithms) in zip(axes[0], panels.items(), strict=True):
        for algorithm, rows in algorithms.items():
            passes = _column(rows, "passes")
            panel.plot(passes, np.maximum(_column(rows, "variance"), SMALLEST), label=algorithm, **_look(algorithm))
            for column, (label, style) in BOUNDS.items():
                if rows[0][column] is not None:
                    panel.plot(passes, _column(rows, column), label=label, color=GREY, linewidth=1.2, linestyle=style)
        panel.set_title(name)
        panel.set_xlabel("passes")
        panel.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
        _log_y(panel)
    axes[0, 0].set_ylabel("variance of the update\n(log scale)")
    _legend(figure, axes)
    return figure


def plot_theorem(panels: Panels) -> Figure:
    """Draw the squared distance to the optimum after each epoch, over seeds, with the proven bound."""
    figure, axes = _axes(1, len(panels), width=5.6)
    for panel, (name, algorithms) in zip(axes[0], panels.items(), strict=True):
        for algorithm, rows in algorithms.items():
            epochs = np.unique(_column(rows, "epoch"))
            by_epoch = [[row["distance"] for row in rows if row["epoch"] == epoch] for epoch in epochs]
            low, high = [min(values) for values in by_epoch], [max(values) for values in by_epoch]
            colour = _look(algorithm)["color"]
            panel.fill_between(epochs, low, high, color=colour, alpha=0.2, linewidth=0, label="range over seeds")
            panel.plot(epochs, [np.mean(values) for values in by_epoch], label="mean", **_look(algorithm))
            bound = [next(row["bound"] for row in rows if row["epoch"] == epoch) for epoch in epochs]
            panel.plot(epochs, bound, color=ink(), linestyle=":", label="proven bound")
        panel.set_title(name)
        panel.set_xlabel("epoch $s$")
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        _log_y(panel)
    axes[0, 0].set_ylabel("squared distance to the\noptimum (log scale)")
    _legend(figure, axes)
    return figure


def save(figure: Figure, stem: Path) -> tuple[Path, Path]:
    """Write `stem`.png and `stem`.svg, with everything in the same places.

    Room for texts is looked for once: matplotlib would do it, and draw everything for it, before each file.
    """
    layout = figure.get_layout_engine()
    if layout is not None:
        layout.execute(figure)
    figure.set_layout_engine(None)
    return save_figure(figure, stem.with_suffix(".png")), save_figure(figure, stem.with_suffix(".svg"))


def _axes(rows: int, columns: int, width: float = PANEL) -> tuple[Figure, np.ndarray]:
    return new_figure(rows, columns, (width * columns + 0.6, 2.6 * rows + 0.9))


def _legend(figure: Figure, axes: np.ndarray) -> None:
    found: dict[str, Any] = {}  # of all panels, each mark once
    for panel in axes.ravel():
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    labels, handles = list(found), list(found.values())
    room = int(figure.get_figwidth() * 12.5 / (max(map(len, labels)) + 7))  # labels in a line
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), max(room, 1)), frameon=False)


def _frame_auc(axes: Axes, algorithms: Mapping[str, Sequence[Mapping[str, Any]]], optimum: float) -> None:
    """Limit the axis to the upper values: a bad start may lie below the frame."""
    values = np.concatenate([_column(rows, "auc") for rows in algorithms.values()] + [[optimum]])
    top = values.max()
    floor = max(values.min(), top - 0.15)
    margin = 0.06 * max(top - floor, 1e-3)
    axes.set_ylim(floor - margin, top + margin)


def _log_x(axes: Axes) -> None:
    """Use few, plain tick labels: 1, 2, 5, 10 ... on an axis of up to a decade and a half, else powers of ten."""
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 40 * low else (1,)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _log_y(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(numticks=7))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: power_of_ten(value)))


def power_of_ten(value: float) -> str:
    """A power of ten as plain text: matplotlib's own, a formula, takes longer to set than all else of a figure.

    >>> power_of_ten(1e-12), power_of_ten(100.0), power_of_ten(2000.0)
    ('10⁻¹²', '10²', '2×10³')
    """
    digits, _, exponent = f"{value:.0e}".partition("e")
    power = f"10{str(int(exponent)).translate(RAISED)}"
    return power if digits == "1" else f"{digits}×{power}"


def _look(algorithm: str) -> dict[str, Any]:
    look = LOOKS.get(algorithm, OTHER_LOOK)
    return {**look, "color": ink()} if look["color"] == BLACK else look


def _column(rows: Sequence[Mapping[str, Any]], name: str) -> np.ndarray:
    return np.array([row[name] for row in rows], dtype=float)
