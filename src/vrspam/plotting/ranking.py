"""Plots of how well scores rank: curves, histograms, reliability, coefficients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike
from sklearn.metrics import precision_recall_curve, roc_curve

from vrspam._utils.array_api import on_host
from vrspam.inspection import distinct
from vrspam.metrics import roc_auc, roc_auc_ci
from vrspam.metrics.partial import check_max_fpr
from vrspam.plotting.style import BLUE, COLOURS, DASHES, GREY, ORANGE, add_legend, axes_or_new

MOST_POINTS = 2000  # points of a drawn curve: more would not be visible, and make large files
SEVERAL = "several models: pass a dict from names to scores"


def plot_roc(
    y_true: ArrayLike,
    scores: ArrayLike | Mapping[str, ArrayLike],
    *,
    max_fpr: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw ROC curves, each with its AUC and 95 % interval in the legend.

    Parameters
    ----------
    y_true : array of n labels
        Two values, the positive one sorting last, or booleans.
    scores : array of n numbers, or dict of names to such arrays
    max_fpr : float in (0, 1], optional
        The part of the curve that matters, up to this false-positive rate: the rest is shaded.
    ax : matplotlib Axes, optional
        By default a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from vrspam.plotting import plot_roc
    >>> y, scores = [0, 0, 0, 0, 1, 1, 1, 1], [1, 2, 3, 5, 4, 6, 7, 8]
    >>> ax = plot_roc(y, {"first": scores, "second": scores[::-1]})
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['first: AUC 0.938 [0.513, 0.995]', 'second: AUC 0.062 [0.005, 0.487]']
    """
    positive, several = _labels(y_true), _several(scores)
    if max_fpr is not None:
        check_max_fpr(max_fpr)
    ax = axes_or_new(ax)
    if max_fpr is not None and max_fpr < 1.0:
        ax.axvspan(max_fpr, 1.0, color=GREY, alpha=0.15, linewidth=0.0, zorder=0, label="not in the partial AUC")
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=1.0, linestyle=(0, (4, 2)), zorder=1)
    for number, (name, values) in enumerate(several.items()):
        false, true, _ = roc_curve(positive, values)
        kept = _thin(false.size)
        look = _look(number)
        ax.plot(false[kept], true[kept], label=_auc_text(name, positive, values), **look)
    ax.set_xlabel("share of negatives called positive (1 - specificity)")
    ax.set_ylabel("share of positives found (sensitivity)")
    _unit_square(ax)
    add_legend(ax, loc="lower right")
    return ax


def plot_precision_recall(
    y_true: ArrayLike, scores: ArrayLike | Mapping[str, ArrayLike], *, ax: Axes | None = None
) -> Axes:
    """Draw precision against recall; the dashed line is the precision of random scores.

    Parameters
    ----------
    y_true : array of n labels
        Two values, the positive one sorting last, or booleans.
    scores : array of n numbers, or dict of names to such arrays
    ax : matplotlib Axes, optional
        By default a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from vrspam.plotting import plot_precision_recall
    >>> ax = plot_precision_recall([0, 0, 1, 1], {"first": [1, 3, 2, 4], "second": [1, 2, 3, 4]})
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['first', 'second']
    """
    positive, several = _labels(y_true), _several(scores)
    ax = axes_or_new(ax)
    ax.axhline(positive.mean(), color=GREY, linewidth=1.0, linestyle=(0, (4, 2)), zorder=1)
    for number, (name, values) in enumerate(several.items()):
        precision, recall, _ = precision_recall_curve(positive, values, drop_intermediate=True)
        kept = _thin(recall.size - 1)  # the last point, recall 0, is a convention that no threshold reaches
        look = _look(number)
        ax.plot(recall[kept], precision[kept], drawstyle="steps-post", label=name or None, **look)
    ax.set_xlabel("share of positives found (recall)")
    ax.set_ylabel("share of called rows that are positive (precision)")
    _unit_square(ax)
    if any(several):
        add_legend(ax, loc="best")
    return ax


def plot_scores(
    y_true: ArrayLike,
    scores: ArrayLike,
    *,
    threshold: float | None = None,
    names: tuple[str, str] = ("others", "positives"),
    ax: Axes | None = None,
) -> Axes:
    """Draw histograms of the scores of both classes, each as a share of its class.

    Parameters
    ----------
    y_true : array of n labels
    scores : array of n numbers
    threshold : float, optional
        Drawn as a line.
    names : pair of str
        What the two classes are called.
    ax : matplotlib Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> from vrspam.plotting import plot_scores
    >>> ax = plot_scores([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.5, 0.9], threshold=0.4)
    >>> ax.get_ylabel()
    'share of the class'
    """
    positive, values = _labels(y_true), np.asarray(scores, dtype=float)
    ax = axes_or_new(ax)
    low, high = np.quantile(values, [0.001, 0.999])  # a few outliers must not squeeze the other rows together
    edges = np.linspace(low, high if high > low else low + 1.0, 41).tolist()
    shown = np.clip(values, edges[0], edges[-1])
    for rows, name, colour, hatch in zip((~positive, positive), names, (BLUE, ORANGE), ("", "///"), strict=True):
        share = np.full(rows.sum(), 1.0 / max(rows.sum(), 1))
        ax.hist(shown[rows], edges, weights=share, histtype="stepfilled", color=colour, alpha=0.35, hatch=hatch)
        ax.hist(shown[rows], edges, weights=share, histtype="step", color=colour, label=name)
    if threshold is not None:
        ax.axvline(threshold, color=GREY, linestyle=(0, (4, 2)), linewidth=1.2, label="threshold")
    ax.set_xlabel("score")
    ax.set_ylabel("share of the class")
    add_legend(ax)
    return ax


def plot_lift(y_true: ArrayLike, scores: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Draw the lift: how many times more positives the top rows hold than rows drawn at random.

    Parameters
    ----------
    y_true : array of n labels
        Two values, the positive one sorting last, or booleans.
    scores : array of n numbers
    ax : matplotlib Axes, optional
        By default a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from vrspam.plotting import plot_lift
    >>> ax = plot_lift([0, 0, 0, 1], [1, 2, 3, 4])  # the top quarter of the rows is all positive
    >>> ax.lines[0].get_ydata().tolist()
    [4.0, 2.0, 1.33..., 1.0]
    """
    positive, values = _labels(y_true), np.asarray(scores, dtype=float)
    false, true, _ = roc_curve(positive, values, drop_intermediate=False)
    share = (true * positive.sum() + false * (~positive).sum()) / positive.size
    ax = axes_or_new(ax)
    kept = _thin(share.size)[1:]
    ax.plot(share[kept], true[kept] / share[kept], color=BLUE)
    ax.axhline(1.0, color=GREY, linewidth=1.0, linestyle=(0, (4, 2)))
    ax.set_xlim(0, 1)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("share of rows, highest scores first")
    ax.set_ylabel("lift over chance")
    return ax


def plot_reliability(
    predicted: Sequence[float], observed: Sequence[float], rows: Sequence[int], *, ax: Axes | None = None
) -> Axes:
    """Draw the observed frequency against the predicted probability of groups of rows, with 95 % intervals (Wilson).

    Parameters
    ----------
    predicted, observed : sequence of numbers
        Mean probability and share of positives in each group.
    rows : sequence of int
        Size of each group.
    ax : matplotlib Axes, optional

    Returns
    -------
    Axes
    """
    probability, frequency, n = (np.asarray(values, dtype=float) for values in (predicted, observed, rows))
    z = 1.96
    middle = (frequency + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(frequency * (1 - frequency) / n + z**2 / (4 * n**2))
    ax = axes_or_new(ax)
    top = min(1.0, 1.08 * max(probability.max(), (middle + half).max()))
    ax.plot([0, top], [0, top], color=GREY, linewidth=1.0, linestyle=(0, (4, 2)), zorder=1)
    ax.vlines(probability, np.maximum(middle - half, 0.0), middle + half, color=BLUE, linewidth=1.2)
    ax.plot(probability, frequency, color=BLUE, marker="o", linestyle="", clip_on=False)  # whole dots on the edge too
    ax.set_xlim(0, top)
    ax.set_ylim(0, top)
    ax.set_xlabel("predicted probability")
    ax.set_ylabel("observed frequency")
    return ax


def plot_coefficients(
    names: Any,
    values: Sequence[float] | None = None,
    *,
    label: str | None = None,
    most: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Draw one bar for each name, the first on top; positive and negative bars differ in colour.

    Parameters
    ----------
    names : fitted estimator of this package, or sequence of str
        Of an estimator on columns as they are: what one standard deviation of each column adds to the score (the
        coefficients themselves where the fit kept no moments), the largest first. Of one on a feature map: the spread
        of what each column adds (`importances_`). Longer names are cut off after 40 characters.
    values : sequence of numbers
        One for each name, in the same order: coefficients, or importances; not with an estimator.
    label : str, optional
        What the values mean; written below the axis. An estimator has its own.
    most : int, default=20
        Draw at most this many bars of an estimator.
    ax : matplotlib Axes, optional
        By default a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from vrspam.plotting import plot_coefficients
    >>> ax = plot_coefficients(["age", "dose"], [0.4, -0.1], label="added to the score by one standard deviation")
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['age', 'dose']
    """
    if hasattr(names, "coef_"):
        names, values, own = _bars_of(names, most)
        label = own if label is None else label
    if values is None or label is None:
        raise ValueError("plot_coefficients takes a fitted estimator, or names, values and a label.")
    sizes = np.asarray(values, dtype=float)
    ax = axes_or_new(ax)
    places = np.arange(sizes.size)[::-1]
    ax.barh(places, sizes, color=np.where(sizes > 0, ORANGE, BLUE), height=0.7)
    ax.axvline(0.0, color=GREY, linewidth=1.0)
    ax.set_yticks(places, [name if len(name) <= 40 else name[:37] + "..." for name in names], parse_math=False)
    ax.grid(axis="y", visible=False)
    ax.set_xlabel(label)
    return ax


def _bars_of(model: Any, most: int) -> tuple[list[str], list[float], str]:
    """Names and sizes of the longest bars of a fitted estimator, and what they are."""
    if most < 1:
        raise ValueError(f"most must be at least 1, got {most}.")
    if getattr(model, "features_", None) is not None:
        sizes, label = model.importances_, "standard deviation of what each adds to the score"
    else:
        coef, label = on_host(model.coef_)[0], "coefficient"
        if hasattr(model, "moments_"):
            share = model.moments_.weights / model.moments_.weights.sum()
            means, variances = model.moments_.means, model.moments_.variances
            coef = coef * np.sqrt(share @ variances + share @ (means - share @ means) ** 2)
            label = "added to the score by one standard deviation"
        given = getattr(model, "feature_names_in_", [f"x{j}" for j in range(coef.size)])
        sizes = dict(zip(distinct(given), coef.tolist(), strict=True))
    shown = sorted(sizes, key=lambda name: -abs(sizes[name]))[:most]
    return shown, [sizes[name] for name in shown], label


def _look(number: int) -> dict[str, Any]:
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": DASHES[number % len(DASHES)]}


def _labels(y_true: ArrayLike) -> np.ndarray:
    y = np.asarray(y_true)
    classes = np.unique(y)
    if classes.size != 2:
        raise ValueError(f"y_true has {classes.size} different labels; a curve needs two classes.")
    return y if y.dtype == bool else y == classes[1]


def _several(scores: ArrayLike | Mapping[str, ArrayLike]) -> dict[str, np.ndarray]:
    named = scores if isinstance(scores, Mapping) else {"": scores}
    several = {name: np.asarray(values, dtype=float) for name, values in named.items()}
    if not several or any(values.ndim != 1 for values in several.values()):
        raise ValueError(f"scores must be one number for each row, or {SEVERAL}.")
    return several


def _auc_text(name: str, positive: np.ndarray, scores: np.ndarray) -> str:
    head = f"{name}: " if name else ""
    if min(positive.sum(), (~positive).sum()) < 2:
        return f"{head}AUC {roc_auc(positive, scores):.3f}"
    interval = roc_auc_ci(positive, scores)
    return f"{head}AUC {interval.auc:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def _thin(size: int) -> np.ndarray:
    """Return the indices of the points of a curve that are drawn."""
    return np.unique(np.linspace(0, size - 1, min(size, MOST_POINTS)).astype(np.intp))


def _unit_square(ax: Axes) -> None:
    ax.set_xlim(-0.01, 1.01)
    ax.set_ylim(-0.01, 1.01)
    ax.set_aspect("equal")
