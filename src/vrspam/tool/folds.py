"""How the rows of a table are divided: folds, and rows that are kept apart for the test; whole groups, or forward."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold, check_cv

from vrspam._utils.messages import Message, Parameter, WordedError
from vrspam._utils.validation import counted_rows
from vrspam._utils.warnings import FewerFolds
from vrspam.measures.rows import two_sides
from vrspam.model_selection.folds import forward_folds
from vrspam.model_selection.group_splits import ImpossibleFolds, group_folds
from vrspam.tool.plan import COPIES, INDEPENDENT, TrainPlan
from vrspam.tool.table import OpenedTable

LEAST = 4  # rows of each class: two folds of two


def check_size(counts: Any, plan: TrainPlan, rare: str = "") -> int:
    """Return the number of rows of the smaller class; refuse too few. `rare` says what these rows have in common."""
    smaller = int(min(counts))
    if smaller >= LEAST:
        return smaller
    rows = "row" if smaller == 1 else "rows"
    rows += " of positive {weights}" if plan.weights is not None else ""
    if rare and plan.event is not None:
        are = "is" if smaller == 1 else "are"
        words = f"there {are} only {{smaller}} {rows} {rare}: collect more, at least {{least}} of them are needed"
    else:
        words = "{target}: " if plan.target is not None else ""  # LIBSVM has no column to name
        words += f"one of the two classes has only {{smaller}} {rows}: collect more, at least {{least}} of each are "
        words += "needed"
    raise WordedError(words, **_parameters(words, plan), smaller=smaller, least=LEAST)


def _parameters(words: str, plan: TrainPlan) -> dict[str, Parameter]:
    """The parameters of a plan that a template names, with the values that they have."""
    return {name: Parameter(name, getattr(plan, name)) for name in _NAMED if f"{{{name}}}" in words}


_NAMED = ("target", "event", "weights", "groups", "within", "time", "n_splits", "streaming", "random_state")


def make_folds(opened: OpenedTable, positive: np.ndarray, n_splits: int, seed: int) -> Any:
    """Stratified, grouped or time-ordered folds; fewer than asked for where a class has few rows."""
    counted = counted_rows(opened.weights)
    if counted is not None:
        return _folds_of_counted_rows(opened, counted, positive, n_splits, seed)
    sides = two_sides(positive, opened.times)
    smaller = _check_sides(opened, positive, sides)
    positive = sides
    asked = min(n_splits, smaller // 2)
    if (whole := opened.whole) is not None:
        return check_cv(group_folds(positive, whole, asked, seed))
    if opened.time is not None:
        return check_cv(folds_of_time(opened, positive, asked))
    return StratifiedKFold(asked, shuffle=True, random_state=seed)


def _check_sides(opened: OpenedTable, positive: np.ndarray, sides: np.ndarray) -> int:
    """`check_size` of two sides of the rows, as `two_sides` gives them."""
    counts = [sides.sum(), (~sides).sum()]
    return check_size(counts, opened.plan, _rare(opened.plan, counts[0] <= counts[1], bool(positive.all())))


def _folds_of_counted_rows(
    opened: OpenedTable, counted: np.ndarray, positive: np.ndarray, n_splits: int, seed: int
) -> Any:
    """`make_folds` of the rows of positive weight, by their numbers among all rows: any other row is no row."""
    beside = {name: getattr(opened, name) for name in ("weights", "groups", "time", "times", "within")}
    some: dict[str, Any] = {name: None if values is None else values[counted] for name, values in beside.items()}
    positive, times = positive[counted], some["times"]
    folds = make_folds(replace(opened, **some), positive, n_splits, seed)
    kinds = positive if times is None else 2 * positive + (times < np.median(times))  # events early and late
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # that one of the kinds has few rows
        return check_cv([(counted[train], counted[test]) for train, test in folds.split(kinds, kinds)])


@contextmanager
def folds_in_options(opened: OpenedTable, plan: TrainPlan) -> Iterator[None]:
    """Say of folds that are impossible what the options and the columns of a plan have to do with it."""
    try:
        yield
    except ImpossibleFolds as error:
        raise impossible_folds(opened, plan) from error


def impossible_folds(opened: OpenedTable, plan: TrainPlan) -> WordedError:
    """The error that folds are impossible: what they need, how little of it there is, and what to change."""
    if plan.streaming:
        words = "{streaming} puts rows into the folds by chance, and one of them has no row of one class: give fewer "
        words += "folds than {n_splits}, collect more rows of the rarer class, or leave {streaming} out"
        return WordedError(words, **_parameters(words, plan))
    plan = replace(plan, groups=None if opened.groups is None else opened.plan.groups or COPIES)
    labels = opened.load_rows()[1]
    positive = two_sides(labels, opened.times, opened.weights)
    counted = np.ones(positive.size, dtype=bool) if opened.weights is None else opened.weights > 0.0
    sides = positive & counted, ~positive & counted
    rarer = int(sides[1].sum() < sides[0].sum())
    few = int(sides[rarer].sum())
    units = few if opened.whole is None else np.unique(opened.whole[sides[rarer]]).size
    asked = min(plan.n_splits, few // 2, units)

    words = "{n_splits} cannot be made: each fold needs rows that rank differently, to train on and to test on"
    kept = [f"{{{name}}}" for name in ("groups", "within") if getattr(plan, name) is not None]
    words += f", and {' and '.join(kept)} {'keeps' if len(kept) == 1 else 'keep'} rows together" if kept else ""
    words += ", and {time} puts all later rows behind" if plan.time is not None else ""
    words += ". There are only {few} rows"
    words += " of positive {weights}" if plan.weights is not None else ""
    words += f" {_rare(plan, rarer == 0, bool(labels[counted].all()))}"
    words += f", in {units} group{'s' if units != 1 else ''}" if kept else ""
    words += f": {_remedy(plan, asked)}"
    label = {"label": str(opened.positive)} if "{label}" in words else {}
    none = {"none": Parameter("groups", INDEPENDENT)} if "{none}" in words else {}
    return WordedError(words, **_parameters(words, plan), **none, **label, few=few)


def _rare(plan: TrainPlan, positive: bool, all_positive: bool) -> str:
    """What the rarer rows have in common, which are the positive ones or not."""
    if plan.event is not None and all_positive:
        return "in one half of the order by {target}"
    if plan.event is not None:
        return "with an event ({event})" if positive else "without an event ({event})"
    if plan.target is None:
        return "with the rarer label"
    return "that are {label} ({target})" if positive else "that are not {label} ({target})"


def _remedy(plan: TrainPlan, asked: int) -> str:
    """What to change where so many folds are impossible."""
    together = plan.groups is not None or plan.within is not None
    ways = ["collect more of them" + (" from other groups" if together else "")]
    ways += [f"give fewer than {asked} folds"] if asked > 2 else []
    ways += ["leave {time} out"] if plan.time is not None else []
    ways += ["take rows as independent with {none}"] if plan.groups is not None else []
    return ", or ".join([", ".join(ways[:-1]), ways[-1]]) if len(ways) > 1 else ways[0]


def folds_of_time(opened: OpenedTable, positive: np.ndarray, n_splits: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Folds that look forward; refuse a column of times that gives fewer than two of them."""
    assert opened.time is not None
    cut = forward_folds(opened.time, positive, n_splits)
    splits = with_both_classes(cut, positive)
    if len(splits) >= 2:
        return splits
    if len(cut) < 2:  # one fold shows neither standard errors nor bands
        words = "{time} has too few different times to make two folds that look forward: give a column of finer "
        raise WordedError(f"{words}times, or leave it out", time=Parameter("time"))
    words = "{time}: folds train on earlier rows and test on later ones, and both need rows that are {label} and rows "
    words += "that are not. Almost all rows of one kind come first here: leave it out"
    raise WordedError(words, time=Parameter("time", opened.plan.time), label=str(opened.positive))


def with_both_classes(
    splits: list[tuple[np.ndarray, np.ndarray]], positive: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The folds whose training and validation parts both hold rows of both classes."""
    return [split for split in splits if all(0 < positive[part].sum() < part.size for part in split)]


def fewer_folds(opened: OpenedTable, noticed: FewerFolds) -> Message:
    """The sentence that folds of whole groups are fewer than were asked for: which groups, and which label is rare."""
    positive = two_sides(opened.load_rows()[1], opened.times)
    units = np.arange(positive.size) if opened.whole is None else opened.whole
    with_label = [np.unique(units[side]).size for side in (positive, ~positive)]
    plan = opened.plan
    name = (plan.groups or COPIES) if opened.groups is not None else plan.within
    kept = "Copies of rows" if name == COPIES else "Rows with the same {name!r}"
    if opened.times is not None:
        rare = "with different outcomes"
    elif with_label[0] <= with_label[1]:
        rare = "with {target} = {label}"
    else:
        rare = "without {target} = {label}"
    words = f"{kept} are kept together, and too few groups have rows {rare} for {{asked}} folds. Using {{folds}}"
    words += "; {none} takes rows as independent" if opened.groups is not None else ""
    given = {"name": name, "target": plan.target or "the label", "label": str(opened.positive)}
    fields: dict[str, Any] = {key: value for key, value in given.items() if f"{{{key}" in words}
    fields |= {"asked": noticed.asked, "folds": noticed.folds}
    fields |= {"none": Parameter("groups", INDEPENDENT)} if opened.groups is not None else {}
    return Message(words, **fields)


def can_keep_together(opened: OpenedTable, codes: np.ndarray, holdout: float | None, n_splits: int, seed: int) -> bool:
    """Whether folds, and the rows that are kept apart, can keep groups of rows together and have both classes."""
    grouped = replace(opened, groups=codes)
    try:
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            if holdout is not None:
                grouped = grouped.take(split_off(grouped, holdout, seed)[0])
            make_folds(grouped, grouped.load_rows()[1], n_splits, seed)
    except ValueError:
        return False
    return True


def split_off(opened: OpenedTable, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Places of rows to train on, and to keep: about this share of each class, whole groups, or the latest rows."""
    positive = two_sides(opened.load_rows()[1], opened.times)
    if opened.time is not None:
        rarer = positive if positive.sum() <= (~positive).sum() else ~positive
        ordered = np.sort(opened.time[rarer])
        border = ordered[min(round((1.0 - share) * ordered.size), ordered.size - 1)]
        kept = np.flatnonzero(opened.time >= border)
    elif (whole := opened.whole) is not None:
        kept = _whole_units_to_keep(opened, whole, share, seed)
    else:
        rng = np.random.default_rng(seed)
        sides = [rng.permutation(np.flatnonzero(side)) for side in (positive, ~positive)]
        kept = np.sort(np.concatenate([side[: round(share * side.size)] for side in sides]))
    others = np.setdiff1d(np.arange(positive.size), kept)
    counted = np.ones(positive.size, dtype=bool) if opened.weights is None else opened.weights > 0.0
    for part, where in ((kept, "kept for the test"), (others, "left to train on")):
        part = part[counted[part]]
        smaller = int(min(positive[part].sum(), (~positive[part]).sum()))
        if smaller < LEAST:
            words = "with {holdout}, one class has only {smaller} rows {where}, and {least} are needed: give another "
            words += "share, or leave it out to use cross-validation"
            raise WordedError(words, holdout=Parameter("holdout", share), smaller=smaller, where=where, least=LEAST)
    return others, kept


def _whole_units_to_keep(opened: OpenedTable, whole: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Places of about a share of the rows: parts of at most ten, each of whole units with both classes."""
    positive = opened.load_rows()[1]
    sides = two_sides(positive, opened.times)
    parts = min(10, _check_sides(opened, positive, sides))
    with warnings.catch_warnings(action="ignore", category=FewerFolds):
        tests = [test for _, test in group_folds(sides, whole, parts, seed)]
    return np.sort(np.concatenate(tests[: min(max(1, round(share * len(tests))), len(tests) - 1)]))
