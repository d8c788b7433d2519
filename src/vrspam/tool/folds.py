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
from vrspam.data.stream import Stream
from vrspam.data.table import Table
from vrspam.measures.rows import two_sides
from vrspam.model_selection.folds import forward_folds, with_both_classes
from vrspam.model_selection.group_splits import ImpossibleFolds, group_folds
from vrspam.tool.plan import ReportPlan, TrainPlan

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


def make_folds(table: Table, plan: TrainPlan) -> Any:
    """Stratified, grouped or time-ordered folds; fewer than asked for where a class has few rows."""
    counted = counted_rows(table.weights)
    if counted is not None:
        return _folds_of_counted_rows(table, plan, counted)

    sides = two_sides(table.positive, table.times)
    n_folds = min(plan.n_splits, _check_sides(table, plan, sides) // 2)
    if table.whole is not None:
        return check_cv(group_folds(sides, table.whole, n_folds, plan.random_state))
    if table.time is not None:
        return check_cv(folds_of_time(table, plan, sides, n_folds))
    return StratifiedKFold(n_folds, shuffle=True, random_state=plan.random_state)


def _check_sides(table: Table, plan: TrainPlan, sides: np.ndarray) -> int:
    """`check_size` of two sides of the rows, as `two_sides` gives them."""
    on_side = int(sides.sum())
    on_other_side = sides.size - on_side
    rare = _rare(table, plan, on_side <= on_other_side, bool(table.positive.all()))
    return check_size([on_side, on_other_side], plan, rare)


def _folds_of_counted_rows(table: Table, plan: TrainPlan, counted: np.ndarray) -> Any:
    """`make_folds` of the rows of positive weight, by their numbers among all rows: any other row is no row."""
    beside = {role: values[counted] for role, values in table.beside.items()}
    kinds = table.positive[counted]
    counted_table = replace(table, positive=kinds, beside=beside)
    folds = make_folds(counted_table, plan)
    if counted_table.times is not None:  # events and censored rows, early and late
        kinds = 2 * kinds + (counted_table.times < np.median(counted_table.times))
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # that one of the kinds has few rows
        return check_cv([(counted[train], counted[test]) for train, test in folds.split(kinds, kinds)])


@contextmanager
def folds_in_options(table: Table | Stream, plan: TrainPlan) -> Iterator[None]:
    """Say of folds that are impossible what the options and the columns of a plan have to do with it."""
    try:
        yield
    except ImpossibleFolds as error:
        if isinstance(table, Stream):
            raise impossible_folds_of_stream(plan) from error
        raise impossible_folds(table, plan) from error


def impossible_folds_of_stream(plan: TrainPlan) -> VrspamError:
    """The error that a fold of a stream has no row of one class."""
    return VrspamError(
        Fix("streaming", True),
        " puts rows into the folds by chance, and one of them has no row of one class: give fewer folds than ",
        Fix("n_splits", plan.n_splits),
        ", collect more rows of the rarer class, or leave ",
        Fix("streaming", True),
        " out",
    )


def impossible_folds(table: Table, plan: TrainPlan) -> VrspamError:
    """The error that folds are impossible: what they need, how little of it there is, and what to change."""
    plan = replace(plan, groups=None if table.groups is None else table.name_of_groups)
    rarer = _rarer_rows(table)
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
    parts += [" ", *_rare(table, plan, rarer.are_positive, rarer.all_are_positive)]
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


def _rarer_rows(table: Table) -> _Rarer:
    positive = two_sides(table.positive, table.times, table.weights)
    counted = np.ones(positive.size, dtype=bool)
    if table.weights is not None:
        counted = table.weights > 0.0

    positives = positive & counted
    negatives = ~positive & counted
    positives_are_rarer = bool(positives.sum() <= negatives.sum())
    rarer = positives if positives_are_rarer else negatives
    rows = int(rarer.sum())
    units = rows if table.whole is None else np.unique(table.whole[rarer]).size
    return _Rarer(rows, units, positives_are_rarer, bool(table.positive[counted].all()))


def _rare(table: Table, plan: TrainPlan, positive: bool, all_positive: bool) -> list[str | Fix]:
    """What the rarer rows have in common, which are the positive ones or not."""
    target = Fix("target", plan.target)
    if plan.event is not None and all_positive:
        return ["in one half of the order by ", target]
    if plan.event is not None:
        return ["with an event (" if positive else "without an event (", Fix("event", plan.event), ")"]
    if plan.target is None:
        return ["with the rarer label"]
    label = str(table.label)
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


def folds_of_time(
    table: Table, plan: TrainPlan, positive: np.ndarray, n_splits: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Folds that look forward; refuse a column of times that gives fewer than two of them."""
    assert table.time is not None
    all_splits = forward_folds(table.time, positive, n_splits)
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
        Fix("time", plan.time),
        f": folds train on earlier rows and test on later ones, and both need rows that are {table.label} and rows "
        "that are not. Almost all rows of one kind come first here: leave it out",
    )


def fewer_folds(table: Table, plan: TrainPlan, noticed: FewerFolds) -> Note:
    """The sentence that folds of whole groups are fewer than were asked for: which groups, and which label is rare."""
    positive = two_sides(table.positive, table.times)
    units = np.arange(positive.size) if table.whole is None else table.whole
    units_of_positives = np.unique(units[positive]).size
    units_of_others = np.unique(units[~positive]).size
    label = f"{plan.target or 'the label'} = {table.label}"
    if table.times is not None:
        rare = "with different outcomes"
    elif units_of_positives <= units_of_others:
        rare = f"with {label}"
    else:
        rare = f"without {label}"

    name = plan.within if table.groups is None else table.name_of_groups
    kept = "Copies of rows" if name == COPIES else f"Rows with the same {name!r}"
    sentence = (
        f"{kept} are kept together, and too few groups have rows {rare} for {noticed.asked} folds. "
        f"Using {noticed.folds}"
    )
    if table.groups is None:
        return Note(sentence)
    return Note(sentence, "; ", Fix("groups", INDEPENDENT), " takes rows as independent")


def can_keep_together(table: Table, plan: TrainPlan, codes: np.ndarray) -> bool:
    """Whether folds, and the rows that are kept apart, can keep groups of rows together and have both classes."""
    grouped = table.with_groups(codes)
    try:
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            if isinstance(plan, ReportPlan) and plan.holdout is not None:
                grouped = grouped.take(split_off(grouped, plan, plan.holdout)[0])
            make_folds(grouped, plan)
    except ValueError:
        return False
    return True


def split_off(table: Table, plan: TrainPlan, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Places of rows to train on, and to keep: about this share of each class, whole groups, or the latest rows."""
    positive = two_sides(table.positive, table.times)
    if table.time is not None:
        kept = _latest_rows(table.time, positive, share)
    elif table.whole is not None:
        kept = _whole_units_to_keep(table, plan, table.whole, share)
    else:
        kept = _share_of_each_side(positive, share, plan.random_state)
    others = np.setdiff1d(np.arange(positive.size), kept)

    counted = np.ones(positive.size, dtype=bool) if table.weights is None else table.weights > 0.0
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


def _whole_units_to_keep(table: Table, plan: TrainPlan, whole: np.ndarray, share: float) -> np.ndarray:
    """Places of about a share of the rows: parts of at most ten, each of whole units with both classes."""
    sides = two_sides(table.positive, table.times)
    parts = min(10, _check_sides(table, plan, sides))
    with warnings.catch_warnings(action="ignore", category=FewerFolds):
        tests = [test for _, test in group_folds(sides, whole, parts, plan.random_state)]
    n_kept = min(max(1, round(share * len(tests))), len(tests) - 1)
    return np.sort(np.concatenate(tests[:n_kept]))
