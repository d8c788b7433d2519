"""What more rows would bring: the learning curve of a table, and the rows that an interval or a test needs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Literal, Unpack

import numpy as np
from sklearn.model_selection import StratifiedKFold

from vrspam._utils.findings import Fix, VrspamError
from vrspam._utils.validation import Rows
from vrspam.checks.diagnose import merged
from vrspam.checks.quick_model import draw_groups
from vrspam.data.table import Table
from vrspam.features.mapped import MappedArray, hold_features
from vrspam.features.names import named_maps
from vrspam.metrics import rows_for_difference, rows_for_width
from vrspam.model_selection.folds import group_folds
from vrspam.model_selection.learning_curve import LearningCurve, learning_curve
from vrspam.tables.frames import rows_of
from vrspam.tool.checking import open_checked
from vrspam.tool.options import must, share
from vrspam.tool.plan import RowsOptions, TrainPlan, check_option
from vrspam.tool.signatures import takes

MOST_ROWS = 100_000
MOST_FEATURES = 1_000
LEAST_ROWS = 30  # of each class
LEAST_PARTS = 10


@dataclass(frozen=True, eq=False)
class MoreRows:
    """What more rows of a table would bring.

    Attributes
    ----------
    curve : LearningCurve
        `rows` and `auc`; `at(rows)` and `gain(times)` extrapolate it, with a band.
    positives : int
        Number of positive rows of the table.
    lines : bool
        Whether `curve` is for a model of straight lines instead of smooth curves.
    needed : dict of str to int
        Numbers of rows that are needed, by "width" and "difference", where they were asked for.
    notes : tuple of str
        What was noticed about the table.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import rows
    >>> rows(load_breast_cancer(as_frame=True).frame, "target", features="linear").flat()["positives"]
    357
    """

    curve: LearningCurve
    positives: int
    lines: bool
    needed: dict[str, int]
    notes: tuple[str, ...] = ()

    def flat(self) -> dict[str, Any]:
        """All numbers under flat keys, for scripts."""
        curve = self.curve
        bands = {"auc": curve.at(curve.total)}
        for times in (2, 4):
            bands[f"auc_at_{times}x"] = curve.at(times * curve.total)
            bands[f"gain_at_{times}x"] = curve.gain(times)
        values: dict[str, Any] = {"n": curve.total, "positives": self.positives}
        for name, (value, low, high) in bands.items():
            values |= {name: value, f"{name}_low": low, f"{name}_high": high}
        values |= {"confidence": 0.9, "sizes": curve.rows.tolist(), "aucs": curve.auc.tolist()}
        for name, count in self.needed.items():
            values[f"rows_for_{name}"] = count
        return values


@takes(RowsOptions)
def rows(
    path: Any,
    target: str | None = None,
    positive: str | None = None,
    *,
    features: Literal["additive", "linear"] | None = None,
    width: float | None = None,
    difference: float | None = None,
    power: float = 0.8,
    plan: TrainPlan | None = None,
    **options: Unpack[RowsOptions],
) -> MoreRows:
    """Tell what more rows would bring: the AUC of parts of the table, extrapolated to four times its rows.

    The model has smooth curves, or straight lines: such models of parts of the rows follow from sums over the parts.

    Parameters
    ----------
    path : path, directory, pattern or list of paths; or frame
        As in `vrspam.tool.train`.
    features : {"additive", "linear"}, optional
        additive: smooth curves; linear: straight lines. By default additive.
    width : float in (0, 1), optional
        Tell also how many rows are needed for a 95 % interval of the AUC that is this wide.
    difference : float in (0, 1), optional
        Tell also how many rows are needed to show that a model is better whose AUC is larger by this.
    power : float in (0, 1), default=0.8
        Probability that these rows show the difference, if the AUCs of both models have a correlation of 0.5.
    plan : TrainPlan, optional
        Options in one object; options that are given by keyword replace those of the plan.
    {options}

    Returns
    -------
    MoreRows

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import rows
    >>> found = rows(load_breast_cancer(as_frame=True).frame, "target")
    >>> found.curve.total, found.curve.at(4 * 569).value > found.curve.at(569).value
    (569, True)
    """
    keywords: dict[str, Any] = {**options}
    if features is not None:
        keywords["features"] = features
    rows_plan = (TrainPlan if plan is None else type(plan)).of(target, positive, plan, keywords)
    check_wishes(rows_plan, width=width, difference=difference, power=power)
    rows_plan.say("reading")
    table, diagnosis = open_checked(path, rows_plan)
    rows_plan.say("fitting models of parts of the rows")
    lines = rows_plan.features == "linear"
    curve = curve_of(table, rows_plan, lines)
    auc = curve.at(curve.total).value
    known = (curve.total, curve.error)
    needed = {}
    if width is not None:
        needed["width"] = rows_for_width(auc, width, known=known)
    if difference is not None:
        check_option("difference", difference, must(lambda more: auc + more < 1.0, "is more than the AUC can rise"))
        needed["difference"] = rows_for_difference(auc, difference, power=power, known=known)
    muted = (*rows_plan.ignore, "drift")  # its remedy is for `train`
    notes = tuple(merged(diagnosis.findings, muted))
    return MoreRows(curve, int(table.positive.sum()), lines, needed, notes)


def check_wishes(plan: TrainPlan, **wishes: float | None) -> None:
    """Refuse options that allow no learning curve, before a table is read."""
    for name, value in wishes.items():
        check_option(name, value, share)
    if plan.features not in (None, "linear", "additive"):
        raise VrspamError(Fix("features", plan.features), " has no learning curve: give additive or linear")
    for option in ("event", "within", "time"):
        if getattr(plan, option) is not None:
            raise VrspamError("a learning curve cannot be drawn with ", Fix(option), ": leave it out")


# ---- the curve


def curve_of(table: Table, plan: TrainPlan, lines: bool) -> LearningCurve:
    """The learning curve of an open table; if it has very many rows, from some of them, drawn at random.

    The rows are split into 20 parts, or 10, with about as many rows of each class; a group is in one part as a whole.
    """
    positive, seed = table.positive, plan.random_state
    features = _learned_features(table, plan, lines)
    units = np.arange(positive.size) if table.groups is None else table.groups
    drawn = draw_groups(units, MOST_ROWS, seed)
    groups, weights = table.groups, table.relative_weights
    if groups is not None:
        groups = groups[drawn]
    if weights is not None:
        weights = weights[drawn]
    rows = Rows(hold_features(MappedArray(rows_of(table.rows, drawn), features)), positive[drawn], weights)
    parts = _parts_of_rows(rows.y, groups, seed)
    return replace(learning_curve(rows, parts, groups=groups, seed=seed), total=positive.size)


def _learned_features(table: Table, plan: TrainPlan, lines: bool) -> Any:
    """Straight lines or smooth curves of the columns, learned from all rows."""
    features = next(iter(named_maps("standardized" if lines else "additive", plan.random_state).values()))
    features.set_params(max_categories=min(plan.max_categories, 100))
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # that rare categories are taken together
        features.learn(table.rows, table.relative_weights)
    if features.n_features_out_ > MOST_FEATURES:
        count = f"{features.n_features_out_:,} features"
        limit = f"{MOST_FEATURES:,} are the limit"
        raise VrspamError(f"{count} are too many for a learning curve, {limit}: leave columns out by ", Fix("drop"))
    return features


def _parts_of_rows(y: np.ndarray, groups: np.ndarray | None, seed: int) -> np.ndarray:
    """The part of each row: 20 of them, or 10 of few rows."""
    smaller_class = int(min(y.sum(), (~y).sum()))
    if smaller_class < LEAST_ROWS:
        raise ValueError(f"a learning curve needs at least 30 rows of each class, and one has {smaller_class}")
    count = 20 if smaller_class >= 100 else LEAST_PARTS
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # that there are fewer parts
        if groups is None:
            folds = list(StratifiedKFold(count, shuffle=True, random_state=seed).split(y, y))
        else:
            folds = group_folds(y, groups, count, seed)
    if len(folds) < LEAST_PARTS:
        raise ValueError(f"a learning curve needs 10 parts of whole groups with both classes, not {len(folds)}")
    part = np.empty(y.size, dtype=np.intp)
    for number, (_, held_out) in enumerate(folds):
        part[held_out] = number
    return part
