"""The paper's figures, drawn from stored rows: convergence, variance of the update direction, Theorem 1."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from vrspam._utils.texts import power_text
from vrspam.paper.protocol import Protocol, Row
from vrspam.plotting.grid import SMALLEST
from vrspam.plotting.style import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, SKY, ink, new_figure, save_figure

Panels = Mapping[str, Mapping[str, Sequence[Row]]]  # set -> algorithm -> rows
DrawnFigure = tuple[tuple[Path, Path], str, str]  # PNG and SVG, the caption, a description

# Each has its own marker and dash, so that they differ when printed in grey.
_LOOKS: dict[str, dict[str, Any]] = {
    "VRSPAM-L2": {"color": BLUE, "marker": "o", "linestyle": "-"},
    "accelerated-L2": {"color": ORANGE, "marker": "s", "linestyle": "-"},
    "SPAM-L2": {"color": GREEN, "marker": "^", "linestyle": "--"},
    "SOLAM": {"color": PINK, "marker": "D", "linestyle": "-."},
    "OPAUC": {"color": BLACK, "marker": "v", "linestyle": ":"},
}


def draw_all(rows: Sequence[Row], protocol: Protocol, folder: Path) -> list[DrawnFigure]:
    """Draw every figure for which there are rows, into `folder`: PNG and SVG, the caption, and a description."""
    passes = (
        "Test AUC (top; dashed: the optimum) and distance of the objective from its minimum (bottom, logarithmic) "
        "against passes over the training rows: set-up, anchor gradients and inner steps / n are counted, and for "
        "SPAM, SOLAM and OPAUC two per epoch, the steps and the evaluation of the objective."
    )
    seconds = "The same against seconds of the solver on one core, with the same evaluations included."
    variance = (
        "Variance of the update direction over the random choice of the row (logarithmic), against passes, counted as "
        "above: SPAM's variance stays, VRSPAM's goes to zero. Grey: the paper's bound on VRSPAM's variance, computed "
        "from the distances to the optimum, with the paper's constant 128 M⁴ and with that of the rows themselves."
    )
    theorem = (
        "Theorem 1: squared distance to the optimum after each epoch, mean and range over {0.seeds} seeds, and "
        "the proven bound, a factor α per epoch after the first (rows scaled to norm at most 1, l2 = {0.l2:g}, "
        "step {0.theta:g} times the largest proven one)."
    )
    convergence = _panels(rows, "convergence", protocol.convergence.sets)
    figures: list[tuple[str, str, Panels, Callable[[Panels], Figure]]] = [
        ("convergence-passes", passes, convergence, lambda panels: plot_panels(panels, "passes")),
        ("convergence-seconds", seconds, convergence, lambda panels: plot_panels(panels, "seconds")),
        ("variance", variance, _panels(rows, "variance", protocol.variance.sets), plot_variance),
        ("theorem", theorem.format(protocol.theorem), _panels(rows, "theorem", protocol.theorem.sets), plot_theorem),
    ]
    return [
        (save(draw(panels), folder / name), caption, f"{caption} Data sets: {', '.join(panels)}.")
        for name, caption, panels, draw in figures
        if panels
    ]


def _panels(rows: Sequence[Row], task: str, sets: Sequence[str]) -> Panels:
    """Return set -> algorithm -> rows, in the order of the protocol."""
    panels: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        if row["task"] == task and row["kind"] == task:
            panels.setdefault(row["set"], {}).setdefault(row["algorithm"], []).append(row)
    order = [*sets, *sorted(panels)]
    looks = [*_LOOKS, *sorted({row["algorithm"] for row in rows})]
    return {
        name: {algorithm: panels[name][algorithm] for algorithm in sorted(panels[name], key=looks.index)}
        for name in sorted(panels, key=order.index)
    }


def plot_panels(panels: Panels, against: str) -> Figure:
    """Draw the test AUC, and the objective above its minimum, against "passes" or "seconds"; one column per set."""
    figure, axes = new_figure(2, len(panels), (3.4 * len(panels) + 0.6, 6.1))
    for column, (name, algorithms) in enumerate(panels.items()):
        above, below = axes[:, column]
        for algorithm, rows in algorithms.items():
            x = _column(rows, against)
            above.plot(x, _column(rows, "auc"), label=algorithm, **_look(algorithm))
            below.plot(x, np.maximum(_column(rows, "excess"), SMALLEST), **_look(algorithm))
        optimum = next(iter(algorithms.values()))[0]["auc_exact"]
        above.axhline(optimum, color=GREY, linewidth=1.0, linestyle=(0, (4, 2)), zorder=1, label="optimum")
        above.set_title(name)
        values = np.concatenate([_column(rows, "auc") for rows in algorithms.values()] + [[optimum]])
        top, floor = values.max(), max(values.min(), values.max() - 0.15)  # a bad start may lie below the frame
        margin = 0.06 * max(top - floor, 1e-3)
        above.set_ylim(floor - margin, top + margin)
        for panel in (above, below):  # few, plain tick labels: 1, 2, 5, 10 ..., or powers of ten on longer axes
            panel.set_xscale("log")
            low, high = panel.get_xlim()
            panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 40 * low else (1,)))
            panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            panel.xaxis.set_minor_formatter(NullFormatter())
        _log_y(below)
        below.set_xlabel(f"{against} (log scale)")
    axes[0, 0].set_ylabel("test AUC")
    axes[1, 0].set_ylabel("objective above its\nminimum (log scale)")
    _legend(figure, axes)
    return figure


def plot_variance(panels: Panels) -> Figure:
    """Draw the variance of the update against passes, with the bound on VRSPAM's variance."""
    bounds: dict[str, tuple[str, Any]] = {"bound": ("bound, 128 M⁴", ":"), "bound_rows": ("bound, rows", (0, (4, 2)))}
    figure, axes = new_figure(1, len(panels), (3.4 * len(panels) + 0.6, 3.5))
    for panel, (name, algorithms) in zip(axes[0], panels.items(), strict=True):
        for algorithm, rows in algorithms.items():
            passes = _column(rows, "passes")
            panel.plot(passes, np.maximum(_column(rows, "variance"), SMALLEST), label=algorithm, **_look(algorithm))
            for column, (label, style) in bounds.items():
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
    figure, axes = new_figure(1, len(panels), (5.6 * len(panels) + 0.6, 3.5))
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

    The layout is computed once: matplotlib would compute it, and draw everything for it, before each file.
    """
    layout = figure.get_layout_engine()
    if layout is not None:
        layout.execute(figure)
    figure.set_layout_engine(None)
    return save_figure(figure, stem.with_suffix(".png")), save_figure(figure, stem.with_suffix(".svg"))


def _legend(figure: Figure, axes: np.ndarray) -> None:
    found: dict[str, Any] = {}  # handles by label, from all panels
    for panel in axes.ravel():
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    labels, handles = list(found), list(found.values())
    room = int(figure.get_figwidth() * 12.5 / (max(map(len, labels)) + 7))  # labels in a line
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), max(room, 1)), frameon=False)


def _log_y(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(numticks=7))
    # matplotlib's own powers are formulas, which take longer to typeset than all the rest of a figure
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: power_text(value, ".0e")))


def _look(algorithm: str) -> dict[str, Any]:
    look = _LOOKS.get(algorithm, {"color": SKY, "marker": "x", "linestyle": "-"})
    return {**look, "color": ink()} if look["color"] == BLACK else look


def _column(rows: Sequence[Row], name: str) -> np.ndarray:
    return np.array([row[name] for row in rows], dtype=float)
