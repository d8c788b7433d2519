"""The paper's figures from rows: which rows a figure needs, its caption, and its files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from vrspam.experiments.protocol import Protocol
from vrspam.experiments.store import Row
from vrspam.plotting import paper


@dataclass(frozen=True)
class Drawn:
    """A figure on disk; `paths` ends with the SVG."""

    name: str
    paths: tuple[Path, ...]
    caption: str
    alt: str


def draw_all(rows: Sequence[Row], protocol: Protocol, folder: Path) -> list[Drawn]:
    """Draw every figure for which there are rows, as PNG and SVG, into `folder`."""
    found = (draw(rows, protocol, folder) for draw in (_passes, _seconds, _variance, _theorem))
    return [figure for figure in found if figure is not None]


def _passes(rows: Sequence[Row], protocol: Protocol, folder: Path) -> Drawn | None:
    caption = (
        "Test AUC (above; dashed: the optimum) and distance of the objective from its minimum (below, logarithmic) "
        "against passes over the training rows: set-up, anchor gradients and inner steps / n are counted, and for "
        "SPAM, SOLAM and OPAUC two an epoch, the steps and the evaluation of the objective."
    )
    panels = _convergence_panels(rows, protocol)
    return _save("convergence-passes", folder, caption, panels, lambda: paper.plot_panels(panels, "passes"))


def _seconds(rows: Sequence[Row], protocol: Protocol, folder: Path) -> Drawn | None:
    caption = "The same against seconds of the solver, the same evaluations included, on one core."
    panels = _convergence_panels(rows, protocol)
    return _save("convergence-seconds", folder, caption, panels, lambda: paper.plot_panels(panels, "seconds"))


def _variance(rows: Sequence[Row], protocol: Protocol, folder: Path) -> Drawn | None:
    caption = (
        "Variance of the direction of an update, over the draw of the row (logarithmic), against passes, counted as "
        "above: SPAM's stays, VRSPAM's goes to zero. Grey: the paper's bound on the latter, by the distances to the "
        "optimum, with its constant 128 M⁴ and with that of the rows themselves."
    )
    panels = _panels(rows, "variance", protocol.variance.sets)
    return _save("variance", folder, caption, panels, lambda: paper.plot_variance(panels))


def _theorem(rows: Sequence[Row], protocol: Protocol, folder: Path) -> Drawn | None:
    theorem = protocol.theorem
    caption = (
        f"Theorem 1: squared distance to the optimum after each epoch, mean and range over {theorem.seeds} seeds, and "
        f"the proven bound, a factor α an epoch from the first on (rows scaled to norm at most 1, l2 = {theorem.l2:g}, "
        f"step {theorem.theta:g} of the largest proven)."
    )
    panels = _panels(rows, "theorem", theorem.sets)
    return _save("theorem", folder, caption, panels, lambda: paper.plot_theorem(panels))


Panels = dict[str, dict[str, list[Row]]]


def _convergence_panels(rows: Sequence[Row], protocol: Protocol) -> Panels:
    return _panels(rows, "convergence", protocol.convergence.sets)


def _panels(rows: Sequence[Row], task: str, sets: Sequence[str]) -> Panels:
    """set -> algorithm -> rows, in the order of the protocol."""
    panels: Panels = {}
    for row in rows:
        if row["task"] == task and row["kind"] == task:
            panels.setdefault(row["set"], {}).setdefault(row["algorithm"], []).append(row)
    order = [*sets, *sorted(panels)]
    looks = [*paper.LOOKS, *sorted({row["algorithm"] for row in rows})]
    return {
        name: {algorithm: panels[name][algorithm] for algorithm in sorted(panels[name], key=looks.index)}
        for name in sorted(panels, key=order.index)
    }


def _save(name: str, folder: Path, caption: str, panels: Panels, draw: Callable) -> Drawn | None:
    if not panels:
        return None
    paths = paper.save(draw(), folder / name)
    return Drawn(name, paths, caption, f"{caption} Data sets: {', '.join(panels)}.")
