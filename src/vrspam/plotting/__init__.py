"""Plots of scores, curves and paths: functions that draw numbers on matplotlib axes. Needs the extra `plots`."""

from vrspam._utils.extras import require

require("plots", "matplotlib")  # its message says what to install; a failed import below would not

# ruff: noqa: E402
from vrspam.plotting.bars import plot_coefficients, plot_contributions
from vrspam.plotting.grid import plot_convergence, plot_cv, plot_path
from vrspam.plotting.interactions import plot_interactions
from vrspam.plotting.ranking import (
    plot_decision_curve,
    plot_lift,
    plot_precision_recall,
    plot_reliability,
    plot_roc,
    plot_scores,
)
from vrspam.plotting.shapes import plot_shapes

__all__ = [
    "plot_coefficients",
    "plot_contributions",
    "plot_convergence",
    "plot_cv",
    "plot_decision_curve",
    "plot_interactions",
    "plot_lift",
    "plot_path",
    "plot_precision_recall",
    "plot_reliability",
    "plot_roc",
    "plot_scores",
    "plot_shapes",
]
