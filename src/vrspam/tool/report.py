"""From a file to the facts of its report: a model, its evaluation on rows that it has not seen, and single rows.

`rows` tells what more rows would bring: the learning curve of a table, and the rows that an interval or a test needs.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from vrspam._utils.messages import Parameter, WordedError
from vrspam._utils.validation import Rows
from vrspam.data import DataError
from vrspam.data.readers.base import as_table
from vrspam.features.mapped import MappedArray, hold_features, named_maps
from vrspam.metrics import rows_for_difference, rows_for_width
from vrspam.metrics.concordance import ComparablePairs
from vrspam.metrics.intervals import placements
from vrspam.model.drawing import explain_rows, value_text
from vrspam.model_selection.calibration import calibrate
from vrspam.model_selection.folds import group_folds
from vrspam.model_selection.held_out import HeldOut
from vrspam.model_selection.learning_curve import LearningCurve, learning_curve
from vrspam.report.sections import report_page  # noqa: F401 (a public name of `vrspam.tool`)
from vrspam.report.words import ExpectedAUC, describe_source, doubts_of_column, expected_auc
from vrspam.tables.frames import rows_of
from vrspam.tool.doctor import in_order, open_table
from vrspam.tool.evaluation import Evaluation, compare_scores, evaluate_columns
from vrspam.tool.model import Model
from vrspam.tool.plan import ROWS, ReportPlan, TrainPlan, check_option, error_about, must, share, takes
from vrspam.tool.repeats import draw_groups
from vrspam.tool.scores import Comparison, ScoreColumn, ScoredTable, check_classes, with_all_scores
from vrspam.tool.subgroups import Subgroup
from vrspam.tool.table import OpenedTable, ordered_numbers, ranked_target
from vrspam.tool.training import Trained, fit_file

KINDS = ("highest scores", "lowest scores", "most wrong", "spread over the ranking")


@dataclass(frozen=True)
class SingleRow:
    """One row, its score, and what each column adds to it.

    `kind` says why it is shown, `number` is its place among the labelled rows, from 1, and `names` are values of
    columns that only name rows. `score` and `probability` are by a model that has not seen the row. `above` is the
    share of the other class that scores lower, ties by half; with times or strata, the share of the row's pairs that
    are ranked right. `time` is the time of the event, or of censoring. `own_score`, by the model itself, is the sum of
    `parts`: (column, value, part), the largest first.
    """

    kind: str
    number: int
    names: tuple[str, ...]
    positive: bool
    score: float
    probability: float | None
    above: float
    own_score: float
    parts: tuple[tuple[str, str, float], ...]
    time: float | None = None


@dataclass(frozen=True, eq=False)
class Report:
    """The facts that a page shows about a model and its table.

    Attributes
    ----------
    model : Model
    evaluation : Evaluation
        Measures on held-out rows, each scored by a model that has not seen it.
    expected : ExpectedAUC
        The AUC to expect of new rows: corrected for the choice of the model, or that of rows kept out of the training.
    folds : int or None
        Number of folds of the cross-validation that scored the rows; None for rows kept out of the training.
    groups : tuple of Subgroup
    rows : tuple of SingleRow
    left_out : tuple of str
        Columns of the file that are not used as features.
    cost_ratio : float or None
        How many false alarms are as bad as one missed positive, before the reader changes it.
    curve : LearningCurve or None
        How the AUC grows with the rows. None with times, an order, strata, time-ordered folds or a stream, and for too
        few rows or groups, or more than 1,000 features.
    apart : str
        How groups or times separate the rows; the page appends it to the words on how the rows are scored.
    beside : Comparison or None
        Comparison of this model with the out-of-fold scores of others on the same held-out rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import make_report
    >>> report = make_report(load_breast_cancer(as_frame=True).frame, "target", features="linear", rows=0)
    >>> report.folds, report.evaluation.n, 0.9 < report.expected.auc < 1.0
    (5, 569, True)
    """

    model: Model
    evaluation: Evaluation
    expected: ExpectedAUC
    folds: int | None
    groups: tuple[Subgroup, ...] = ()
    rows: tuple[SingleRow, ...] = ()
    left_out: tuple[str, ...] = ()
    cost_ratio: float | None = None
    apart: str = ""
    beside: Comparison | None = None
    curve: LearningCurve | None = None


@takes(ReportPlan)
def make_report(
    path: Any, target: str | None = None, positive: str | None = None, *, plan: TrainPlan | None = None, **options: Any
) -> Report:
    """Train a model on a table and find out how good it is, by rows that it has not seen.

    Parameters
    ----------
    path : path, directory, pattern or list of paths; or frame
        As in `vrspam.tool.train`.
    plan : TrainPlan, optional
        Options in one object; options that are given by keyword replace those of the plan.
    {options}

    Returns
    -------
    Report
        For `report_page`, which makes one HTML page of it.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from vrspam.tool import make_report
    >>> sick = np.random.default_rng(0).random(300) < 0.3
    >>> patients = pd.DataFrame({"age": np.arange(300) % 60 + 20 * sick, "sick": np.where(sick, "yes", "no")})
    >>> report = make_report(patients, "sick", features="linear", by=["age"], rows=2)
    >>> report.evaluation.n, report.folds, len(report.groups)
    (300, 5, 4)
    """
    asked = ReportPlan.of(target, positive, plan, options)
    trained = fit_file(path, asked)
    (model, opened), (part, probabilities, weights) = trained[:2], _unseen_rows(trained)
    identifiers, beside = opened.schema.identifiers if asked.rows else (), {"weights": weights}
    read: dict[str, np.ndarray] = {}
    if (places := part.places) is not None:
        whole = {"groups": opened.groups, "times": opened.times, "within": opened.within}
        beside |= {name: values[places] for name, values in whole.items() if values is not None}
        if names := [*asked.by, *identifiers]:
            read = read_columns(opened, names, places)
    levels = {name: read[name] for name in asked.by if name in read}
    unseen = ScoredTable({"": model}, part.positive, {"": part.scores}, (), beside, levels)
    max_fpr = model.training.get("max_fpr") if weights is None else None  # there is no interval with weights
    evaluation = evaluate_columns(unseen, probabilities, cost_ratio=asked.cost_ratio, max_fpr=max_fpr)[0][""]
    expected = expected_auc(model) if trained.kept is None else None
    if expected is None:
        auc = evaluation.auc
        remark = "of rows that were kept from the training" if trained.kept is not None else "of the held-out rows"
        expected = ExpectedAUC(auc.auc, auc.low, auc.high, f"{remark}; interval: {describe_source(evaluation)}")
    apart = ""
    if opened.within is not None:
        apart = f", rows of one {model.training['within']} together"
    elif opened.groups is not None:
        apart = ", groups in one part each"
    elif opened.time is not None:
        apart = ", the latest ones" if trained.kept is not None else ", each fold later than the rows it was trained on"
    shown: tuple[SingleRow, ...] = ()
    if places is not None and asked.rows:
        shown = single_rows(model, opened, part, evaluation, asked.rows, [read[name] for name in identifiers])
    curve = None
    if not (model.ranks or opened.time is not None or trained.held_out.places is None):
        with suppress(ValueError):  # too few rows or groups, or too many features
            curve = curve_of(opened, lines=False, seed=asked.random_state)
    used = {*opened.schema.columns, *opened.schema.readings, opened.schema.target}
    return Report(
        model=model,
        evaluation=evaluation,
        expected=expected,
        folds=None if trained.kept is not None else int(np.unique(part.fold).size),
        groups=evaluation.subgroups,
        rows=shown,
        left_out=tuple(name for name in opened.names if name not in used),
        cost_ratio=asked.cost_ratio,
        apart=apart,
        beside=put_beside(trained, part, evaluation, asked.beside) if asked.beside else None,
        curve=curve,
    )


def put_beside(trained: Trained, part: HeldOut, evaluation: Evaluation, names: Sequence[str]) -> Comparison:
    """Compare the model with scores of others on its held-out rows; its AUC is corrected for the choice of model."""
    model, facts, path = trained.model, trained.model.training, trained.opened.chunks.source.paths[0]
    scores = {"this model": part.scores}
    for name in names:
        scores[name] = ordered_numbers(trained.opened.kept, name, path, "beside")[part.places]
    kept, notes = with_all_scores(scores)
    rows = {name: getattr(evaluation, name) for name in ("positive", "weights", "groups", "times", "within")}
    rows = {name: None if values is None else values[kept] for name, values in rows.items()}
    both = {name: values[kept] for name, values in scores.items()}
    optimism = 0.0
    if trained.kept is None and None not in (facts.get("cv_auc"), facts.get("corrected_auc")):
        optimism = float(facts["cv_auc"] - facts["corrected_auc"])
    if not model.ranks:
        check_classes(rows["positive"], path)
    folds = None if trained.kept is not None or model.ranks else part.fold[kept]
    if folds is not None and not all(np.unique(rows["positive"][folds == fold]).size == 2 for fold in np.unique(folds)):
        folds = None  # a fold lost a class with the rows that have no score
    optimism = 0.0 if np.isnan(optimism) else optimism
    found = compare_scores(rows.pop("positive"), both, **rows, folds=folds, optimism=optimism)
    for name, interval in zip(found.names[1:], found.intervals[1:], strict=True):
        if interval.high < 0.5:
            column = ScoreColumn(name, model.schema, model.positive, training=trained.opened.plan.pairs)
            notes = (*notes, *doubts_of_column(column, interval))
    return replace(found, notes=notes)


def curve_of(opened: OpenedTable, lines: bool, seed: int) -> LearningCurve:
    """The learning curve of an open table; if it has very many rows, from some of them, drawn at random.

    The rows are split into 20 parts, or 10, with about as many rows of each class; a group is in one part as a whole.
    """
    X, positive = opened.load_rows()
    n, groups, weights = positive.size, opened.groups, opened.relative_weights
    some = draw_groups(np.arange(n) if groups is None else groups, 100_000, seed)
    features = next(iter(named_maps("standardized" if lines else "additive", seed).values()))
    features.set_params(max_categories=min(opened.plan.max_categories, 100))
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # that rare categories are taken together
        features.learn(X, weights)
    if features.n_features_out_ > 1_000:
        words = "{count:,} features are too many for a learning curve, 1,000 are the limit: leave columns out by "
        words += "{drop}"
        raise WordedError(words, count=features.n_features_out_, drop=Parameter("drop"))
    weights, groups = (None if values is None else values[some] for values in (weights, groups))
    given = Rows(hold_features(MappedArray(rows_of(X, some), features)), positive[some], weights)
    smaller = int(min(given.y.sum(), (~given.y).sum()))
    if smaller < 30:
        raise ValueError(f"a learning curve needs at least 30 rows of each class, and one has {smaller}")
    count, part = 20 if smaller >= 100 else 10, np.empty(some.size, dtype=np.intp)
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # that there are fewer parts
        if groups is None:
            folds = list(StratifiedKFold(count, shuffle=True, random_state=seed).split(part, given.y))
        else:
            folds = group_folds(given.y, groups, count, seed)
    if len(folds) < 10:
        raise ValueError(f"a learning curve needs 10 parts of whole groups with both classes, not {len(folds)}")
    for number, (_, held_out) in enumerate(folds):
        part[held_out] = number
    return replace(learning_curve(given, part, groups=groups, seed=seed), total=n)


def _unseen_rows(trained: Trained) -> tuple[HeldOut, np.ndarray | None, np.ndarray | None]:
    """Rows with scores of models that have not seen them, their probabilities, and their weights if they have some.

    Probabilities of the held-out rows of a fold are by a calibration that was fitted on the rows of the other folds.
    """
    model, opened, held_out = trained.model, trained.opened, trained.held_out
    if trained.kept is not None:
        some = opened.take(trained.kept)
        X, positive = some.load_rows()
        scores = model.score(X)
        part = HeldOut(positive, scores, np.zeros(positive.size, dtype=int), np.ones(positive.size), trained.kept)
        return part, None, some.relative_weights
    weighted = opened.plan.weights is not None or np.ptp(held_out.weights) > 0.0  # a sample of a stream, say
    weights = held_out.weights if weighted else None
    if model.calibration is None:
        return held_out, None, weights
    found, method = np.empty(held_out.scores.size), model.calibration.method
    for number in np.unique(held_out.fold):
        inside = held_out.fold == number
        others = ~inside if 0 < held_out.positive[~inside].sum() < (~inside).sum() else np.ones_like(inside)
        fitted = calibrate(held_out.scores[others], held_out.positive[others], method, held_out.weights[others])
        found[inside] = fitted(held_out.scores[inside])
    return held_out, found, weights


def read_columns(opened: OpenedTable, names: Sequence[str], places: np.ndarray) -> dict[str, np.ndarray]:
    """Values of columns, features or not, in some labelled rows: numbers, missing ones as NaN, or texts and None.

    Columns that only name rows are read as text.
    """
    import pyarrow as pa

    frame, positive = opened.load_rows()
    found = {name: frame.column(name) for name in names if name in frame.column_names} | dict(opened.kept)
    if missing := [name for name in dict.fromkeys(names) if name not in found]:  # dates, or integers beyond 2⁵³
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # the first reading has warned
            whole = pa.concat_tables([as_table(kept) for _, _, kept in opened.chunks.keeping(missing)])
        if whole.num_rows != positive.size:
            raise DataError(f"{opened.chunks.source.paths[0]} has changed while it was read: run the command again")
        found |= {name: whole.column(name) for name in missing}
    values: dict[str, np.ndarray] = {}
    for name in names:
        some = found[name].take(pa.array(places))
        plain = [value if value == value else None for value in some.to_pylist()]
        is_number = pa.types.is_integer(some.type) or pa.types.is_floating(some.type)
        if is_number and name not in opened.schema.identifiers:
            values[name] = np.array(plain, dtype=float)
        else:
            values[name] = np.array([None if value is None else str(value) for value in plain], dtype=object)
    return values


def single_rows(
    model: Model, opened: OpenedTable, held_out: HeldOut, evaluation: Evaluation, more: int, names: Sequence[np.ndarray]
) -> tuple[SingleRow, ...]:
    """Explain the highest, the lowest and the most wrong rows, and `more` rows spread over the ranking.

    There are none if the model cannot say what each column adds, or has more than 5,000 columns.
    """
    assert held_out.places is not None
    no_curves = model.features is not None and model.shapes is None
    if no_curves or len(model.schema.columns) > 5_000:
        return ()
    positive, probabilities, times = evaluation.positive, evaluation.probabilities, evaluation.times
    if not model.ranks:
        right = placements(positive, held_out.scores[np.newaxis], np.ones(positive.size))[0]
    else:  # the share of the pairs of each row that are ranked right, ties by half; NaN where it has none
        of_rows = ComparablePairs.of(*ranked_target(positive, times), evaluation.within)
        won, pairs = (np.add(*part) for part in (of_rows.wins_of_rows(held_out.scores), of_rows.pairs_of_rows()))
        right = np.divide(won, pairs, out=np.full(positive.size, np.nan), where=pairs > 0.0)
    order, wrong = np.argsort(held_out.scores, kind="stable"), np.argsort(right, kind="stable")
    spread = np.unique(np.linspace(0, order.size - 1, more + 2).round().astype(int)[1:-1])[::-1]
    chosen: list[tuple[str, int]] = []  # why, and which
    for kind, some in zip(KINDS, (order[::-1][:4], order[:4], wrong[:4], order[spread]), strict=True):
        chosen += [(kind, int(place)) for place in some]
    places = held_out.places[[place for _, place in chosen]]
    rows, _ = opened.load_rows()
    explained = explain_rows(model, rows_of(rows, places), None, (), places + 1, np.arange(places.size))
    above = right if model.ranks else np.where(positive, right, 1.0 - right)
    return tuple(
        SingleRow(
            kind,
            row.row,
            tuple("missing" if values[place] is None else values[place] for values in names),
            bool(positive[place]),
            float(held_out.scores[place]),
            None if probabilities is None else float(probabilities[place]),
            float(above[place]),
            float(row.score or 0.0),
            tuple((part.column, value_text(model, part), part.adds) for part in row.parts),
            None if times is None else float(times[place]),
        )
        for (kind, place), row in zip(chosen, explained, strict=True)
    )


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
        values: dict[str, Any] = {"n": self.curve.total, "positives": self.positives}
        several = {"auc": self.curve.at(self.curve.total)}
        for k in (2, 4):
            several |= {f"auc_at_{k}x": self.curve.at(k * self.curve.total), f"gain_at_{k}x": self.curve.gain(k)}
        for name, (value, low, high) in several.items():
            values |= {name: value, f"{name}_low": low, f"{name}_high": high}
        values |= {"confidence": 0.9, "sizes": self.curve.rows.tolist(), "aucs": self.curve.auc.tolist()}
        return values | {f"rows_for_{name}": count for name, count in self.needed.items()}


@takes(TrainPlan, ROWS)
def rows(
    path: Any,
    target: str | None = None,
    positive: str | None = None,
    *,
    width: float | None = None,
    difference: float | None = None,
    power: float = 0.8,
    plan: TrainPlan | None = None,
    **options: Any,
) -> MoreRows:
    """Tell what more rows would bring: the AUC of parts of the table, extrapolated to four times its rows.

    The model has smooth curves, or straight lines: such models of parts of the rows follow from sums over the parts.

    Parameters
    ----------
    path : path, directory, pattern or list of paths; or frame
        As in `vrspam.tool.train`.
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
    asked = (TrainPlan if plan is None else type(plan)).of(target, positive, plan, options)
    check_wishes(asked, width=width, difference=difference, power=power)
    asked.say("reading")
    opened, found = open_table(path, asked)
    asked.say("fitting models of parts of the rows")
    lines, (_, y) = asked.features == "linear", opened.load_rows()
    curve = curve_of(opened, lines, asked.random_state)
    now, needed, known = curve.at(curve.total).value, {}, (curve.total, curve.error)
    if width is not None:
        needed["width"] = rows_for_width(now, width, known=known)
    if difference is not None:
        check_option("difference", difference, must(lambda more: now + more < 1.0, "is more than the AUC can rise"))
        needed["difference"] = rows_for_difference(now, difference, power=power, known=known)
    notes = tuple(in_order([*found.findings, *opened.notes], (*asked.ignore, "drift")))  # its remedy is for `train`
    return MoreRows(curve, int(y.sum()), lines, needed, notes)


def check_wishes(plan: TrainPlan, **given: float | None) -> None:
    """Refuse options that allow no learning curve, before a table is read."""
    for name, value in given.items():
        check_option(name, value, share)
    if plan.features not in (None, "linear", "additive"):
        raise error_about("{features} has no learning curve: give additive or linear", features=plan.features)
    if other := next((name for name in ("event", "within", "time") if getattr(plan, name) is not None), None):
        words = "a learning curve cannot be drawn with {option}: leave it out"
        raise WordedError(words, option=Parameter(other))
