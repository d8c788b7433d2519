"""How the rows of a table are divided: folds, and rows that are kept apart for the test; whole groups, or forward."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import StratifiedKFold, check_cv

from vrspam._utils.findings import Fix, Note, VrspamError
from vrspam._utils.names import COPIES, INDEPENDENT
from vrspam._utils.validation import counted_rows
from vrspam._utils.warnings import FewerFolds
from vrspam.measures.rows import two_sides
from vrspam.model_selection.folds import forward_folds, with_both_classes
from vrspam.model_selection.group_splits import ImpossibleFolds, group_folds
from vrspam.tool.plan import TrainPlan
from vrspam.tool.table import OpenedTable

LEAST = 4  # rows of each class: two folds of two


def check_size(counts: Any, plan: TrainPlan, rare: Sequence[str | Fix] = ()) -> int:
    """Return the number of rows of the smaller class; refuse too few. `rare` says what these rows have in common."""
    smaller = int(min(counts))
    if smaller >= LEAST:
        return smaller
    rows = "row" if smaller == 1 else "rows"
    weighted = () if plan.weights is None else (" of positive ", Fix("weights", plan.weights))
    if rare and plan.event is not None:
        are = "is" if smaller == 1 else "are"
        advice = f": collect more, at least {LEAST} of them are needed"
        raise VrspamError(f"there {are} only {smaller} {rows}", *weighted, " ", *rare, advice)

    target = () if plan.target is None else (Fix("target", plan.target), ": ")  # LIBSVM has no column to name
    advice = f": collect more, at least {LEAST} of each are needed"
    raise VrspamError(*target, f"one of the two classes has only {smaller} {rows}", *weighted, advice)


def make_folds(opened: OpenedTable, positive: np.ndarray, n_splits: int, seed: int) -> Any:
    """Stratified, grouped or time-ordered folds; fewer than asked for where a class has few rows."""
    counted = counted_rows(opened.weights)
    if counted is not None:
        return _folds_of_counted_rows(opened, counted, positive, n_splits, seed)

    sides = two_sides(positive, opened.times)
    n_folds = min(n_splits, _check_sides(opened, positive, sides) // 2)
    if opened.whole is not None:
        return check_cv(group_folds(sides, opened.whole, n_folds, seed))
    if opened.time is not None:
        return check_cv(folds_of_time(opened, sides, n_folds))
    return StratifiedKFold(n_folds, shuffle=True, random_state=seed)


def _check_sides(opened: OpenedTable, positive: np.ndarray, sides: np.ndarray) -> int:
    """`check_size` of two sides of the rows, as `two_sides` gives them."""
    on_side = int(sides.sum())
    on_other_side = sides.size - on_side
    rare = _rare(opened, on_side <= on_other_side, bool(positive.all()))
    return check_size([on_side, on_other_side], opened.plan, rare)


def _folds_of_counted_rows(
    opened: OpenedTable, counted: np.ndarray, positive: np.ndarray, n_splits: int, seed: int
) -> Any:
    """`make_folds` of the rows of positive weight, by their numbers among all rows: any other row is no row."""
    beside = {role: values[counted] for role, values in opened.beside.items()}
    counted_table = replace(opened, beside=beside)
    kinds = positive[counted]
    folds = make_folds(counted_table, kinds, n_splits, seed)
    if counted_table.times is not None:  # events and censored rows, early and late
        kinds = 2 * kinds + (counted_table.times < np.median(counted_table.times))
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # that one of the kinds has few rows
        return check_cv([(counted[train], counted[test]) for train, test in folds.split(kinds, kinds)])


@contextmanager
def folds_in_options(opened: OpenedTable, plan: TrainPlan) -> Iterator[None]:
    """Say of folds that are impossible what the options and the columns of a plan have to do with it."""
    try:
        yield
    except ImpossibleFolds as error:
        raise impossible_folds(opened, plan) from error


def impossible_folds(opened: OpenedTable, plan: TrainPlan) -> VrspamError:
    """The error that folds are impossible: what they need, how little of it there is, and what to change."""
    if plan.streaming:
        return VrspamError(
            Fix("streaming", True),
            " puts rows into the folds by chance, and one of them has no row of one class: give fewer folds than ",
            Fix("n_splits", plan.n_splits),
            ", collect more rows of the rarer class, or leave ",
            Fix("streaming", True),
            " out",
        )
    plan = replace(plan, groups=None if opened.groups is None else opened.plan.groups or COPIES)
    rarer = _rarer_rows(opened)
    together = [Fix(option, getattr(plan, option)) for option in ("groups", "within") if getattr(plan, option)]

    parts: list[str | Fix] = [
        Fix("n_splits", plan.n_splits),
        " cannot be made: each fold needs rows that rank differently, to train on and to test on",
    ]
    if len(together) == 1:
        parts += [", and ", together[0], " keeps rows together"]
    elif together:
        parts += [", and ", together[0], " and ", together[1], " keep rows together"]
    if plan.time is not None:
        parts += [", and ", Fix("time", plan.time), " puts all later rows behind"]
    parts.append(f". There are only {rarer.rows} rows")
    if plan.weights is not None:
        parts += [" of positive ", Fix("weights", plan.weights)]
    parts += [" ", *_rare(opened, rarer.are_positive, rarer.all_are_positive)]
    if together:
        parts.append(f", in {rarer.units} group{'' if rarer.units == 1 else 's'}")
    parts += [": ", *_remedy(plan, min(plan.n_splits, rarer.rows // 2, rarer.units))]
    return VrspamError(*parts)


class _Rarer(NamedTuple):
    """The rarer kind of rows, among those of positive weight: how many there are, and in how many groups."""

    rows: int
    units: int
    are_positive: bool
    all_are_positive: bool  # whether rows of both kinds are labelled alike


def _rarer_rows(opened: OpenedTable) -> _Rarer:
    labels = opened.load_rows()[1]
    positive = two_sides(labels, opened.times, opened.weights)
    counted = np.ones(positive.size, dtype=bool)
    if opened.weights is not None:
        counted = opened.weights > 0.0

    positives = positive & counted
    negatives = ~positive & counted
    positives_are_rarer = bool(positives.sum() <= negatives.sum())
    rarer = positives if positives_are_rarer else negatives
    rows = int(rarer.sum())
    units = rows if opened.whole is None else np.unique(opened.whole[rarer]).size
    return _Rarer(rows, units, positives_are_rarer, bool(labels[counted].all()))


def _rare(opened: OpenedTable, positive: bool, all_positive: bool) -> list[str | Fix]:
    """What the rarer rows have in common, which are the positive ones or not."""
    plan = opened.plan
    target = Fix("target", plan.target)
    if plan.event is not None and all_positive:
        return ["in one half of the order by ", target]
    if plan.event is not None:
        return ["with an event (" if positive else "without an event (", Fix("event", plan.event), ")"]
    if plan.target is None:
        return ["with the rarer label"]
    label = str(opened.positive)
    return [f"that are {label} (" if positive else f"that are not {label} (", target, ")"]


def _remedy(plan: TrainPlan, most_folds: int) -> list[str | Fix]:
    """What to change where so many folds are impossible."""
    together = plan.groups is not None or plan.within is not None
    ways: list[list[str | Fix]] = [["collect more of them from other groups" if together else "collect more of them"]]
    if most_folds > 2:
        ways.append([f"give fewer than {most_folds} folds"])
    if plan.time is not None:
        ways.append(["leave ", Fix("time", plan.time), " out"])
    if plan.groups is not None:
        ways.append(["take rows as independent with ", Fix("groups", INDEPENDENT)])

    parts = list(ways[0])
    for way in ways[1:-1]:
        parts += [", ", *way]
    if len(ways) > 1:
        parts += [", or ", *ways[-1]]
    return parts


def folds_of_time(opened: OpenedTable, positive: np.ndarray, n_splits: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Folds that look forward; refuse a column of times that gives fewer than two of them."""
    assert opened.time is not None
    all_splits = forward_folds(opened.time, positive, n_splits)
    splits = with_both_classes(all_splits, positive)
    if len(splits) >= 2:
        return splits
    if len(all_splits) < 2:  # one fold shows neither standard errors nor bands
        raise VrspamError(
            Fix("time"),
            " has too few different times to make two folds that look forward: give a column of finer times, or leave "
            "it out",
        )
    raise VrspamError(
        Fix("time", opened.plan.time),
        f": folds train on earlier rows and test on later ones, and both need rows that are {opened.positive} and rows "
        "that are not. Almost all rows of one kind come first here: leave it out",
    )


def fewer_folds(opened: OpenedTable, noticed: FewerFolds) -> Note:
    """The sentence that folds of whole groups are fewer than were asked for: which groups, and which label is rare."""
    plan = opened.plan
    positive = two_sides(opened.load_rows()[1], opened.times)
    units = np.arange(positive.size) if opened.whole is None else opened.whole
    units_of_positives = np.unique(units[positive]).size
    units_of_others = np.unique(units[~positive]).size
    label = f"{plan.target or 'the label'} = {opened.positive}"
    if opened.times is not None:
        rare = "with different outcomes"
    elif units_of_positives <= units_of_others:
        rare = f"with {label}"
    else:
        rare = f"without {label}"

    name = plan.within if opened.groups is None else plan.groups or COPIES
    kept = "Copies of rows" if name == COPIES else f"Rows with the same {name!r}"
    sentence = (
        f"{kept} are kept together, and too few groups have rows {rare} for {noticed.asked} folds. "
        f"Using {noticed.folds}"
    )
    if opened.groups is None:
        return Note(sentence)
    return Note(sentence, "; ", Fix("groups", INDEPENDENT), " takes rows as independent")


def can_keep_together(opened: OpenedTable, codes: np.ndarray, holdout: float | None, n_splits: int, seed: int) -> bool:
    """Whether folds, and the rows that are kept apart, can keep groups of rows together and have both classes."""
    grouped = opened.with_groups(codes)
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
        kept = _latest_rows(opened.time, positive, share)
    elif opened.whole is not None:
        kept = _whole_units_to_keep(opened, opened.whole, share, seed)
    else:
        kept = _share_of_each_side(positive, share, seed)
    others = np.setdiff1d(np.arange(positive.size), kept)

    counted = np.ones(positive.size, dtype=bool) if opened.weights is None else opened.weights > 0.0
    for places, where in ((kept, "kept for the test"), (others, "left to train on")):
        labels = positive[places[counted[places]]]
        smaller = int(min(labels.sum(), (~labels).sum()))
        if smaller < LEAST:
            raise VrspamError(
                "with ",
                Fix("holdout", share),
                f", one class has only {smaller} rows {where}, and {LEAST} are needed: give another share, or leave it "
                "out to use cross-validation",
            )
    return others, kept


def _latest_rows(time: np.ndarray, positive: np.ndarray, share: float) -> np.ndarray:
    """Places of the latest rows: as many as hold about this share of the rarer class."""
    rarer = positive if positive.sum() <= (~positive).sum() else ~positive
    times = np.sort(time[rarer])
    border = times[min(round((1.0 - share) * times.size), times.size - 1)]
    return np.flatnonzero(time >= border)


def _share_of_each_side(positive: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Places of random rows, about this share of the positive ones and of the others."""
    rng = np.random.default_rng(seed)
    kept = []
    for side in (positive, ~positive):
        places = rng.permutation(np.flatnonzero(side))
        kept.append(places[: round(share * places.size)])
    return np.sort(np.concatenate(kept))


def _whole_units_to_keep(opened: OpenedTable, whole: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Places of about a share of the rows: parts of at most ten, each of whole units with both classes."""
    positive = opened.load_rows()[1]
    sides = two_sides(positive, opened.times)
    parts = min(10, _check_sides(opened, positive, sides))
    with warnings.catch_warnings(action="ignore", category=FewerFolds):
        tests = [test for _, test in group_folds(sides, whole, parts, seed)]
    n_kept = min(max(1, round(share * len(tests))), len(tests) - 1)
    return np.sort(np.concatenate(tests[:n_kept]))
