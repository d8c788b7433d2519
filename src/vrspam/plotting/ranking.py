"""Plots of how well scores rank: curves, histograms, lift, reliability, decision curves."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from sklearn.metrics import precision_recall_curve, roc_curve

from vrspam._utils.texts import wrap_distinct
from vrspam.metrics import net_benefit, roc_auc, roc_auc_ci
from vrspam.metrics.calibration import effective_share, reliability
from vrspam.metrics.partial import check_max_fpr
from vrspam.metrics.roc import checked_scores, positive_rows
from vrspam.pictures.calibration import plan_calibration
from vrspam.pictures.scores import score_edges
from vrspam.plotting import style
from vrspam.tables.frames import columns_of, is_frame

Scores = Any  # an array, an estimator, a dict of names to these, or a frame


def plot_roc(
    y_true: Any, y_score: Scores = None, *, X: Any = None, max_fpr: float | None = None, ax: Axes | None = None
) -> Axes:
    """Draw ROC curves, each with its AUC and 95 % interval in the legend.

    Parameters
    ----------
    y_true : array of n labels, or fitted AUCClassifierCV
        Two values, the positive one sorting last, or booleans. An estimator alone is drawn on the held-out rows of its
        folds (`out_of_fold_`), with the weights of its fit.
    y_score : array of n numbers, fitted estimator, dict of names to these, or frame with a column for each model
        An estimator scores the rows of `X`.
    X : rows to score, optional
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
    positive, several, beside = _labelled(y_true, y_score, X)
    weights = beside["sample_weight"]
    if max_fpr is not None:
        check_max_fpr(max_fpr)
    ax = style.axes_or_new(ax)
    if max_fpr is not None and max_fpr < 1.0:
        ax.axvspan(max_fpr, 1.0, color=style.GREY, alpha=0.15, linewidth=0.0, zorder=0, label="not in the partial AUC")
    ax.plot([0, 1], [0, 1], color=style.GREY, linewidth=1.0, linestyle=(0, (4, 2)), zorder=1)
    shown = _model_names(several)
    for number, (name, values) in enumerate(zip(shown, several.values(), strict=True)):
        false, true, _ = roc_curve(positive, values, sample_weight=weights)
        kept = _thin(false.size)
        label = f"{name}AUC {roc_auc(positive, values, sample_weight=weights):.3f}"
        if min(np.bincount(positive if weights is None else positive[weights > 0.0], minlength=2)) > 1:
            interval = roc_auc_ci(positive, values, **beside)
            label += f" [{interval.low:.3f}, {interval.high:.3f}]"
        ax.plot(false[kept], true[kept], label=label, **style.line_look(number))
    style.fit_labels(
        ax, "share of negatives called positive (1 - specificity)", "share of positives found (sensitivity)"
    )
    _unit_square(ax)
    style.add_legend(ax, loc="lower right")
    return ax


def plot_precision_recall(y_true: Any, y_score: Scores = None, *, X: Any = None, ax: Axes | None = None) -> Axes:
    """Draw precision against recall; the dashed line is the precision of random scores.

    Parameters
    ----------
    y_true, y_score, X
        As in `plot_roc`.
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
    positive, several, beside = _labelled(y_true, y_score, X)
    ax = style.axes_or_new(ax)
    weights = beside["sample_weight"]
    ax.axhline(np.average(positive, weights=weights), color=style.GREY, linewidth=1.0, linestyle=(0, (4, 2)), zorder=1)
    for number, (name, values) in enumerate(several.items()):
        precision, recall, _ = precision_recall_curve(positive, values, sample_weight=weights, drop_intermediate=True)
        kept = _thin(recall.size - 1)  # the last point, recall 0, is a convention that no threshold reaches
        ax.plot(recall[kept], precision[kept], drawstyle="steps-post", label=name or None, **style.line_look(number))
    style.fit_labels(ax, "share of positives found (recall)", "share of called rows that are positive (precision)")
    _unit_square(ax)
    if any(several):
        style.add_legend(ax, loc="best")
    return ax


def plot_scores(
    y_true: Any,
    y_score: Any = None,
    *,
    X: Any = None,
    threshold: float | None = None,
    names: tuple[str, str] = ("others", "positives"),
    ax: Axes | None = None,
) -> Axes:
    """Draw histograms of the scores of both classes, each as a share of its class.

    Parameters
    ----------
    y_true, y_score, X
        As in `plot_roc`, of one model.
    threshold : float, optional
        Drawn as a line.
    names : pair of str
        What the two classes are called.
    ax : matplotlib Axes, optional
        By default a new figure.

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
    positive, values, beside = _one(y_true, y_score, X)
    ax = style.axes_or_new(ax)
    weights = np.ones(positive.size) if beside["sample_weight"] is None else beside["sample_weight"]
    edges = score_edges(positive, values).tolist()
    shown = np.clip(values, edges[0], edges[-1])
    highest = 0.0
    blue, orange = style.colours()[:2]
    for inside, name, colour, hatch in ((~positive, names[0], blue, ""), (positive, names[1], orange, "///")):
        share = weights[inside] / weights[inside].sum()
        heights, _, _ = ax.hist(
            shown[inside], edges, weights=share, histtype="stepfilled", color=colour, alpha=0.35, hatch=hatch
        )
        ax.hist(shown[inside], edges, weights=share, histtype="step", color=colour, label=name)
        highest = max(highest, float(np.max(heights)))
    if threshold is not None:
        ax.axvline(threshold, color=style.GREY, linestyle=(0, (4, 2)), linewidth=1.2, label="threshold")
    ax.set_xlabel("score")
    ax.set_ylabel("share of the class")
    _leave_room_for_legend(ax, highest)
    style.add_legend(ax, loc="upper left")
    return ax


def _leave_room_for_legend(ax: Axes, highest: float) -> None:
    """Let the axis reach so far that a legend in the corner is above the highest bar."""
    lines = sum(1 + text.count("\n") for text in style.legend_texts(ax.get_legend_handles_labels()[1]))
    share_of_legend = (1.6 * lines + 1.4) * style.font_points("legend.fontsize") / style.axes_points(ax)[1]
    ax.set_ylim(0.0, 1.03 * highest / (1.0 - min(share_of_legend, 0.8)) or 1.0)


def plot_lift(y_true: Any, y_score: Any = None, *, X: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the lift: how many times more positives the top rows hold than rows drawn at random.

    Parameters
    ----------
    y_true, y_score, X
        As in `plot_roc`, of one model.
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
    positive, values, beside = _one(y_true, y_score, X)
    weights = beside["sample_weight"]
    false, true, _ = roc_curve(positive, values, sample_weight=weights, drop_intermediate=False)
    share = false + np.average(positive, weights=weights) * (true - false)
    ax = style.axes_or_new(ax)
    kept = _thin(share.size)[1:]
    ax.plot(share[kept], true[kept] / share[kept], color=style.colours()[0])
    ax.axhline(1.0, color=style.GREY, linewidth=1.0, linestyle=(0, (4, 2)))
    ax.set_xlim(0, 1)
    ax.set_ylim(bottom=0)
    style.fit_labels(ax, "share of rows, highest scores first", "lift over chance")
    return ax


def plot_reliability(
    predicted: Any, observed: Any = None, rows: Sequence[int] | None = None, *, X: Any = None, ax: Axes | None = None
) -> Axes:
    """Draw the observed frequency against the predicted probability of groups of rows, with 95 % intervals (Wilson).

    Parameters
    ----------
    predicted, observed : sequence of numbers
        Mean probability and share of positives in each group. Without `rows`, the two are labels and probabilities, or
        labels and a fitted estimator that predicts the probabilities of `X`; rows are then put into ten groups of about
        equal size by their probability (into fewer groups of at least 15 rows, if there are fewer than 150). A fitted
        AUCClassifierCV alone is drawn on the held-out rows that it was calibrated on.
    rows : sequence of int
        Size of each group.
    X : rows to predict, optional
    ax : matplotlib Axes, optional
        By default a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from vrspam.plotting import plot_reliability
    >>> ax = plot_reliability([0.1, 0.5, 0.9], [0.12, 0.44, 0.93], [100, 100, 100])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('predicted probability', 'observed frequency')
    """
    if rows is None:
        positive, values, beside = _one(predicted, observed, X, chances=True)
        weights, places = beside["sample_weight"], beside["groups"]
        rows, predicted, observed = zip(*reliability(positive, values, weights=weights), strict=True)
        if weights is not None or places is not None:  # count as so many independent rows
            weights = np.ones(positive.size) if weights is None else weights
            each = effective_share(positive, weights, places) * weights.mean()
            rows = [each * count for count in rows]
    probability, frequency, n = (np.asarray(values, dtype=float) for values in (predicted, observed, rows))
    plan = plan_calibration(n, probability, frequency)
    ax = style.axes_or_new(ax)
    ax.plot([0, plan.top], [0, plan.top], color=style.GREY, linewidth=1.0, linestyle=(0, (4, 2)), zorder=1)
    colour = style.colours()[0]
    ax.vlines(plan.predicted, plan.low, plan.high, color=colour, linewidth=1.2)
    # without clipping, dots on the edge are whole too
    ax.plot(plan.predicted, plan.observed, color=colour, marker="o", linestyle="", clip_on=False)
    ax.set_xlim(0, plan.top)
    ax.set_ylim(0, plan.top)
    ax.set_xlabel("predicted probability")
    ax.set_ylabel("observed frequency")
    return ax


def plot_decision_curve(
    y_true: Any, probability: Any = None, *, X: Any = None, ax: Axes | None = None, **beside: Any
) -> Axes:
    """Draw decision curves: the net benefit of acting on rows from a probability on, with its band.

    A model is of use where it is above acting on all rows and on none.

    Parameters
    ----------
    y_true, X
        As in `plot_roc`.
    probability : array of n numbers in [0, 1], fitted estimator, or dict of names to these
    **beside
        `confidence`, `groups` and `sample_weight` of `vrspam.metrics.net_benefit`.
    ax : matplotlib Axes, optional
        By default a new figure.

    Returns
    -------
    Axes

    Examples
    --------
    >>> from vrspam.plotting import plot_decision_curve
    >>> ax = plot_decision_curve([0, 0, 0, 1, 1], [0.1, 0.2, 0.6, 0.5, 0.9])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['act on all rows', 'act on none', 'model']
    """
    positive, several, known = _labelled(y_true, probability, X, chances=True)
    benefits = {name: net_benefit(positive, values, **{**known, **beside}) for name, values in several.items()}
    first = next(iter(benefits.values()))
    ax = style.axes_or_new(ax)
    ax.plot(
        first.thresholds,
        first.treat_all,
        color=style.GREY,
        linewidth=1.0,
        linestyle=(0, (4, 2)),
        label="act on all rows",
    )
    ax.axhline(0.0, color=style.GREY, linewidth=1.0, label="act on none")
    for number, (name, curve) in enumerate(zip(_model_names(several), benefits.values(), strict=True)):
        look = style.line_look(number)
        ax.fill_between(curve.thresholds, curve.low, curve.high, color=look["color"], alpha=0.2, linewidth=0.0)
        ax.plot(curve.thresholds, curve.model, label=name.rstrip(": \n") or "model", **look)
    highest = max(float(curve.high.max()) for curve in benefits.values())
    ax.set_xlim(0, 1)
    ax.set_ylim(-0.25 * highest, 1.05 * highest or 1.0)
    style.fit_labels(ax, "act on rows from this probability on", "net benefit (hits a row)")
    style.add_legend(ax, loc="best")
    return ax


def _one(y_true: Any, scores: Any, X: Any, chances: bool = False) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """As `_labelled`, for one model."""
    positive, several, beside = _labelled(y_true, scores, X, chances)
    if len(several) > 1:
        raise ValueError(f"this plot shows one model, and {len(several)} were given: call it for each.")
    return positive, next(iter(several.values())), beside


def _model_names(several: Mapping[str, Any]) -> list[str]:
    """Names of models, wrapped to fit a legend; line breaks that they have stay."""
    long = [name for name in several if len(name) > 24 and "\n" not in name]
    wrapped = dict(zip(long, wrap_distinct(long, 24, 3), strict=True))
    labels = []
    for name in several:
        if name in wrapped:
            labels.append(f"{wrapped[name]}\n")
        else:
            labels.append(f"{name}: " if name else "")
    return labels


def _thin(size: int) -> np.ndarray:
    """Return the indices of the points of a curve that are drawn."""
    most = 2000  # more would not be visible, and make large files
    return np.unique(np.linspace(0, size - 1, min(size, most)).astype(np.intp))


def _unit_square(ax: Axes) -> None:
    ax.set_xlim(-0.01, 1.01)
    ax.set_ylim(-0.01, 1.01)
    ax.set_aspect("equal")


def _labelled(
    y_true: Any, given: Scores, X: Any, chances: bool = False
) -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, Any]]:
    """Which rows are positive, and the scores or probabilities of each model; a single model has the name "".

    Also the weights of the rows, and which belong together: those that several folds of an estimator hold out.
    """
    if given is None:
        return _held_out_of(y_true, chances)
    if hasattr(y_true, "decision_function"):
        raise ValueError("the labels come first, then the estimator, then its rows: plot(y, estimator, X=X).")
    positive = positive_rows(y_true, at_least=1)
    if is_frame(given):
        columns = columns_of(given)
        given = dict(zip(columns.names, columns.columns, strict=True))
    models = given if isinstance(given, Mapping) else {"": given}
    several = {}
    for name, model_or_scores in models.items():
        values = _made_by(model_or_scores, X, chances)
        what = "probability" if chances else "y_score"
        if name != "":
            what = repr(str(name))
        several[str(name)] = checked_scores(values, positive.size, what, chances).astype(np.float64)
    if not several:
        raise ValueError("there are no scores: give those of at least one model.")
    return positive, several, {"sample_weight": None, "groups": None}


def _held_out_of(model: Any, chances: bool) -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, Any]]:
    """The held-out rows of a fitted estimator, as those of `_labelled`."""
    if not hasattr(model, "out_of_fold_"):
        ways = "labels and scores, labels and a fitted estimator with X, or a fitted AUCClassifierCV"
        raise ValueError(f"give {ways}.")
    if hasattr(model, "pairs_"):
        raise ValueError("this model ranks pairs of rows, so it has no curves of all rows: give labels and scores.")
    held_out = model.out_of_fold_
    scores = held_out.scores
    if chances:
        if getattr(model, "calibration_", None) is None:
            raise ValueError("this estimator has no probabilities: fit it with calibration='sigmoid'.")
        scores = model.calibration_(scores)
    weights, places = held_out.weights, held_out.places
    beside = {
        "sample_weight": None if np.ptp(weights) == 0.0 else weights,
        "groups": None if np.unique(places).size == places.size else places,
    }
    return np.asarray(held_out.positive), {"": np.asarray(scores, dtype=float)}, beside


def _made_by(model: Any, X: Any, chances: bool) -> Any:
    """Scores of rows by an estimator, or probabilities where there are no scores; arrays stay as they are."""
    method = "predict_proba" if chances or not hasattr(model, "decision_function") else "decision_function"
    if not hasattr(model, method):
        return model
    if X is None:
        raise ValueError("an estimator needs rows to score: give X as well.")
    values = np.asarray(getattr(model, method)(X))
    return values[:, 1] if method == "predict_proba" else values
