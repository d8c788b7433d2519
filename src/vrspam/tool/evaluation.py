"""Evaluate a model on labelled rows that it has not seen (ranking, thresholds, calibration), and compare models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np

from vrspam._utils.messages import Message, Parameter
from vrspam._utils.warnings import UnseenValues, warn
from vrspam.data import DataError
from vrspam.data.readers.block import as_table
from vrspam.data.readers.problems import no_column
from vrspam.metrics import AUCInterval, Calibration, DeLongTest, calibration_measures, partial_auc_ci, roc_auc_ci
from vrspam.metrics.comparison import compare_pairs, compare_placed
from vrspam.metrics.concordance import ComparablePairs, paired_concordance
from vrspam.metrics.intervals import Placed, interval_of, roc_measures
from vrspam.metrics.roc import Ranked
from vrspam.metrics.thresholds import BINS, Bin, ChosenThreshold, Curve, Threshold, calibration_error, reliability
from vrspam.report.words import describe_ranks, doubts_of_column
from vrspam.tool.model import Model
from vrspam.tool.plan import COPIES, INDEPENDENT, check_measures
from vrspam.tool.promises import independent_share, prevalence_note, share_of_calls_note
from vrspam.tool.scores import Comparison, ScoreColumn, ScoredTable, check_classes, read_scores, with_all_scores
from vrspam.tool.subgroups import Subgroup, ranking_ci, subgroups
from vrspam.tool.table import (
    GROUPS_TOO,
    beside_values,
    ordered_numbers,
    plain_values,
    ranked_target,
    split_groups,
    stack,
)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Scores, labels and the numbers that follow from them.

    Attributes
    ----------
    positive : boolean array of n
    scores : array of n
    probabilities, weights, groups : array of n or None
    auc : AUCInterval
        The AUC with its interval.
    average_precision : float
    sensitivity : dict of float to float
        The sensitivity at each specificity.
    lift : dict of float to float
        The lift of each top share of the rows.
    thresholds : dict of str to Threshold
        "youden", "recall", "cost" (with a cost ratio) and "model" (if the model stores a threshold): each with
        `threshold`, `sensitivity`, `specificity`, `precision` and `share`.
    bins : tuple of Bin
        Groups of rows of similar probability: `rows`, `predicted`, `observed`.
    brier : float or None
        Brier score, where there are probabilities.
    calibration : Calibration or None
        Slope, intercept and expected ÷ observed with their intervals, where there are probabilities.
    max_fpr, partial_auc : float and AUCInterval, or None
    notes : tuple of str
        What was noticed about the rows.
    times, within : array of n or None
        `times` are those of events or censoring (a positive row has its event), or the negated numbers of an order
        (all rows are positive); `within` are strata. With either, `auc` is the concordance index, or the AUC inside
        strata, and measures that need a threshold or a probability are missing.
    promised : ChosenThreshold or None
        The threshold of the model with its measures on held-out rows; ``thresholds["model"]`` has those of these rows.
    subgroups : tuple of Subgroup
        The levels of the columns that were asked for with `by`.
    curve : Curve or None
        True and false positives at every threshold.
    folds : array of n or None
        The folds of out-of-fold scores: `auc` is then the mean of those of the folds, and its interval allows for the
        training rows that models of different folds share.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import evaluate, train
    >>> cells = load_breast_cancer(as_frame=True).frame
    >>> found = evaluate(train(cells[::2], "target", features="linear"), cells[1::2])
    >>> sorted(found.thresholds), found.positives, found.flat()["positives"]
    (['recall', 'youden'], 174, 174)
    """

    positive: np.ndarray
    scores: np.ndarray
    probabilities: np.ndarray | None
    auc: AUCInterval
    average_precision: float
    sensitivity: dict[float, float]
    lift: dict[float, float]
    thresholds: dict[str, Threshold]
    bins: tuple[Bin, ...]
    brier: float | None
    max_fpr: float | None = None
    partial_auc: AUCInterval | None = None
    notes: tuple[str, ...] = ()
    weights: np.ndarray | None = None
    groups: np.ndarray | None = None
    promised: ChosenThreshold | None = None
    calibration: Calibration | None = None
    times: np.ndarray | None = None
    within: np.ndarray | None = None
    subgroups: tuple[Subgroup, ...] = ()
    curve: Curve | None = None
    folds: np.ndarray | None = None

    @property
    def n(self) -> int:
        return self.positive.size

    @property
    def positives(self) -> int:
        return int(self.positive.sum())

    def flat(self) -> dict[str, Any]:
        """All numbers under flat keys, for scripts."""
        values: dict[str, Any] = {}
        first = "auc" if self.times is None else "concordance_index"
        for name, interval in ((first, self.auc), ("partial_auc", self.partial_auc)):
            if interval is not None:
                values[name] = interval.auc
                for key in ("low", "high", "method", "standard_error"):
                    value = getattr(interval, key)
                    values[f"{name}_{key}"] = None if value == np.inf else value
        values |= {} if self.folds is None else {"folds": int(np.unique(self.folds).size)}
        values |= {"confidence": self.auc.confidence, "n": self.n, "positives": self.positives}
        values |= {} if self.max_fpr is None else {"max_fpr": self.max_fpr}
        values |= {} if np.isnan(self.average_precision) else {"average_precision": self.average_precision}
        values |= {f"sensitivity_at_specificity_{100 * s:g}": v for s, v in self.sensitivity.items()}
        values |= {f"lift_top_{100 * share:g}": v for share, v in self.lift.items()}
        if self.promised is not None:
            values |= {f"promised_{key}": value for key, value in vars(self.promised).items()}
        for name, found in self.thresholds.items():
            values |= {f"{name}_{key}": value for key, value in vars(found).items()}
        if self.brier is not None:
            values |= {"brier": self.brier, "calibration_error": calibration_error(self.bins)}
        for name, estimate in {} if self.calibration is None else self.calibration._asdict().items():
            name = "expected_by_observed" if name == "ratio" else f"calibration_{name}"
            for key, value in zip((name, f"{name}_low", f"{name}_high"), estimate, strict=True):
                values[key] = value if np.isfinite(value) else None
        return values | ({"groups": [group.flat() for group in self.subgroups]} if self.subgroups else {})


class Evaluations(dict[str, Evaluation]):
    """Evaluations of several columns of scores on the same rows, by the names of the columns.

    Parameters
    ----------
    found : dict of str to Evaluation
    comparison : Comparison
        The columns in pairs: `comparison.pairs`, with p-values adjusted for their number.
    columns : dict of str to ScoreColumn
        Which label each column ranks first, and whether its scores are probabilities.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from vrspam.tool import evaluate
    >>> rng, sick = np.random.default_rng(0), np.arange(400) % 2
    >>> table = pd.DataFrame({"old": rng.normal(size=400) + sick, "new": rng.normal(size=400) + 2 * sick, "sick": sick})
    >>> found = evaluate(table, target="sick", scores=["old", "new"])
    >>> [f"{name} {one.auc.auc:.2f}" for name, one in found.items()], found.comparison.pairs[0].adjusted_p < 0.01
    (['old 0.7...', 'new 0.9...'], True)
    """

    def __init__(self, found: Mapping[str, Evaluation], comparison: Comparison, columns: Mapping[str, ScoreColumn]):
        super().__init__(found)
        self.comparison, self.columns = comparison, columns


def score_file(
    model: Model, path: Any, *, skip_errors: bool = False, progress: bool = False, **reading: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Labels and scores of the rows of a labelled table, in its order.

    Parameters
    ----------
    model : Model
        From `vrspam.tool.load_model`.
    path : path, directory, pattern or list of paths; or frame
        As in `vrspam.tool.train`, with the columns and the target of the training table.
    skip_errors : bool, default=False
        Leave out rows that cannot be read, instead of refusing the file.
    progress : bool, default=False
        Show rows per second on the standard error stream.
    **reading
        `format`, `delimiter`, `encoding` and `zero_based` of `vrspam.data.read_chunks`. `allow_missing` names columns
        that may be unreadable in more than half of the rows, and then count as missing.

    Returns
    -------
    positive : boolean array of n
    scores : array of n

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import score_file, train
    >>> cells = load_breast_cancer(as_frame=True).frame
    >>> positive, scores = score_file(train(cells[::2], "target", features="linear"), cells[1::2])
    >>> print(f"{positive.sum()} of {positive.size} rows are positive, {(scores > 0).sum()} have a score above 0")
    174 of 284 rows are positive, 1... have a score above 0
    """
    found = score_rows(model, path, skip_errors=skip_errors, progress=progress, **reading)
    if found.notes:
        warn(UnseenValues(found.notes))
    return found.positive, found.scores[""]


def columns_beside(
    model: Model, path: str, names: Any, given: Mapping[str, str | None]
) -> tuple[dict[str, str], list[str]]:
    """Return the column of each option, such as weights and groups, and notes on columns that the table lacks.

    An option has the column in `given` (INDEPENDENT stands for none), or else the column of training.
    """
    found, missed = dict[str, str](), list[str]()
    for option, name in given.items():
        known = model.training.get(option)
        if option == "groups" and (pair := _two_columns(known if name is None else name, names)):
            found.update(pair)
            continue
        if option in ("times", "order", "within") and known is not None and known not in names:
            raise DataError(no_column(path, str(known), names))
        if name is None and known in names:
            found[option] = str(known)
        elif name is None and known is not None and known != COPIES:
            effect = "rows count alike" if option == "weights" else "rows count as independent, which narrows intervals"
            words = "{path} has no column {known!r}, which training had as {option}: {effect}. Name one, or add {none}"
            fields = {"path": path, "known": known, "effect": effect, "none": Parameter(option, INDEPENDENT)}
            missed.append(Message(words, option=option, **fields))
        elif name not in (None, INDEPENDENT) and (name != COPIES or option != "groups"):
            if name not in names:
                raise DataError(no_column(path, str(name), names))
            found[option] = str(name)
    return found, missed


def _two_columns(name: Any, names: Any) -> dict[str, str]:
    """The two columns that name groups together, by their options; nothing if one column does."""
    found = {"groups": str(name)}
    split_groups(found, names)
    return found if GROUPS_TOO in found else {}


def score_rows(
    model: Model,
    path: Any,
    *,
    weights: str | None = None,
    groups: str | None = None,
    by: Sequence[str] = (),
    columns: Sequence[str] = (),
    skip_errors: bool = False,
    progress: bool = False,
    **reading: Any,
) -> ScoredTable:
    """Do what `score_file` does, but return the notes instead of warning; the model and its scores have the name "".

    `weights` and `groups` name columns: by default those of training, INDEPENDENT stands for none. `columns` names
    scores of other models.
    """
    given = {"weights": weights, "groups": groups, "times": None, "order": None, "within": None}
    beside, missed = dict[str, str](), list[str]()

    def choose(names: Mapping[str, Any]) -> list[str]:
        found, lacking = columns_beside(model, source.paths[0], names, given)
        beside.update(found)
        missed.extend(lacking)
        if lacks := [name for name in (*by, *columns) if name not in names]:
            raise DataError(no_column(source.paths[0], lacks[0], names))
        return list(dict.fromkeys([*beside.values(), *by, *columns]))

    chunks = model.open(path, labels=True, keep=choose, skip_errors=skip_errors, progress=progress, **reading)
    source = chunks.source
    for option, column in {**given, "by": by or None}.items():
        if column not in (None, INDEPENDENT, COPIES):
            source.check_named(option)
    if columns:
        source.check_named()
    known, seen, shown = model.fingerprint, set[str](), list[Any]()
    grouped = model.training.get("groups") if groups is None else groups
    by_copies, alone = grouped == COPIES, grouped is None and not model.ranks

    def look(rows: Any) -> None:
        seen.update(() if known is None else known.find(rows))
        few = alone and sum(part.shape[0] for part in shown) < 20_000
        shown.extend([rows] if by_copies or few else [])

    chunks.watch = look if known is not None or by_copies or alone else None
    blocks = list(model.score_chunks(chunks))
    if not blocks:
        raise chunks.nothing_left()
    positive = np.concatenate([block.positive for block in blocks if block.positive is not None])
    scores = np.concatenate([block.scores for block in blocks])
    kept: Any = stack([as_table(block.kept) for block in blocks]) if beside or by or columns else None
    values = beside_values(kept, beside, source.paths[0], least_groups=2)
    others = {name: ordered_numbers(kept, name, "the table", "scores") for name in columns}
    if by_copies:
        values["groups"] = _copies(shown, positive, scores, chunks.schema)
    if not model.ranks:
        check_classes(positive, source.paths[0])
    if alone:
        copies, weight = _copies(shown, positive, scores, chunks.schema), values.get("weights")
        own, wider = (
            roc_auc_ci(positive, scores, groups=one, sample_weight=weight).standard_error for one in (None, copies)
        )
        if wider > (1.2 + 2.0 / np.sqrt(np.unique(copies).size)) * own > 0.0:  # beyond chance
            words = "rows are copies of others, or nearly: intervals should be {times:.1f} times as wide. Add {option}"
            missed.append(Message(words, times=wider / own, option=Parameter("groups", COPIES)))
    trained_on = [] if known is None else known.sentences(seen)
    missed += trained_on
    if model.threshold is not None and not trained_on:
        missed += notes_on_promise(model, positive, scores, values)
    missed += [] if chunks.unseen is None else chunks.unseen.sentences()
    levels = {name: plain_values(kept, name) for name in by}
    return ScoredTable({"": model}, positive, {"": scores, **others}, tuple(missed), values, levels)


def notes_on_promise(
    model: Model, positive: np.ndarray, scores: np.ndarray, beside: Mapping[str, Any]
) -> list[Message]:
    """A warning if labelled rows are not like those for which the threshold of the model was chosen."""
    weights, groups = beside.get("weights"), beside.get("groups")
    found = prevalence_note(model.threshold, model.training, positive, weights, groups)
    if found is None and model.threshold is not None:
        share, rows = independent_share(scores >= model.threshold.threshold, weights, groups)
        found = share_of_calls_note(model.threshold, model.training, share * rows, rows)
    return [] if found is None else [found]


def _copies(shown: list[Any], positive: np.ndarray, scores: np.ndarray, schema: Any) -> np.ndarray:
    """Groups of equal or nearly equal rows, found as in training; groups of equal scores if some rows were not kept."""
    from vrspam.tool.doctor import Examined
    from vrspam.tool.repeats import find_copies

    if sum(rows.shape[0] for rows in shown) != scores.size:
        return np.unique(scores, return_inverse=True)[1]
    found = find_copies(Examined.of(stack(shown), positive, schema, {}).codes)
    return np.arange(scores.size) if found is None else found


@overload
def evaluate(model: Model, data: Any, scores: np.ndarray | None = None, **more: Any) -> Evaluation: ...
@overload
def evaluate(model: Any, data: None = None, *, scores: str, **more: Any) -> Evaluation: ...
@overload
def evaluate(model: Any, data: None = None, *, scores: Sequence[str], **more: Any) -> Evaluations: ...
def evaluate(
    model: Any,
    data: Any = None,
    scores: Any = None,
    *,
    target: str | None = None,
    positive: str | None = None,
    event: str | None = None,
    by: Any = (),
    confidence: float = 0.95,
    cost_ratio: float | None = None,
    recall: float = 0.9,
    max_fpr: float | None = None,
    weights: Any = None,
    groups: Any = None,
    folds: Any = None,
    probabilities: np.ndarray | None = None,
    notes: tuple[str, ...] = (),
    times: np.ndarray | None = None,
    within: Any = None,
    **reading: Any,
) -> Evaluation | Evaluations:
    """Evaluate a model, or scores that any model has made, on labelled rows: ranking, thresholds, probabilities.

    Use rows that the model was not trained on. Warnings name values that training did not have, and say if the model
    was trained on these rows.
    ``evaluate(table, target="sick", scores=["a", "b"])`` takes columns of scores in the place of a model. Scores that
    all lie between 0 and 1 are taken as probabilities; rows that lack one of the scores are left out of all columns.

    Parameters
    ----------
    model : Model; or a table
        From `train` or `load_model`; or, if `scores` names columns, the table that holds them.
    data : path, directory, pattern or list of paths; frame; or boolean array of n
        Labelled rows as `train` takes them, with the columns and the target of the training table. With `scores`:
        which rows are positive.
    scores : array of n numbers, optional; or str or sequence of str
        Scores of rows, from `score_file` for example, if no table is to be read. For a table, its columns of scores.
    target, positive : str, optional
        For a table of scores: the column of labels, and the label to rank above all others, by default the larger.
    event : str, optional
        For a table of scores: the column that says which rows had their event; `target` then holds times. "none":
        `target` holds an order.
    by : sequence of str; or dict of str to array of n
        Columns whose levels are evaluated one by one (`subgroups`); with an array of scores, the columns' values.
    confidence : float in (0, 1), default=0.95
        Coverage of the intervals.
    cost_ratio : float, optional
        How many false alarms are as bad as one missed positive; adds the threshold of least cost.
    recall : float in (0, 1], default=0.9
        Adds the highest threshold that finds this share of the positives.
    max_fpr : float in (0, 1], optional
        Adds the partial AUC up to this false-positive rate, standardised, with its interval.
    weights : str, or array of n numbers, optional
        How much each row counts: a column of the table, by default that of training, "none" for rows that count alike.
        With an array of scores, the weights themselves. Cannot be combined with `max_fpr`.
    groups : str, or array of n labels, optional
        Which rows belong together, such as those of one patient: a column of the table, by default that of training,
        "none" for independent rows, "duplicates" for rows that are equal or nearly. Intervals allow for groups. With
        an array of scores, the labels of the groups themselves.
    folds : str, or array of n labels, optional
        For out-of-fold scores: the column that says which fold held each row out; with an array of scores, the folds
        themselves. The AUC is then the mean of those of the folds, and its interval and the tests of several columns
        allow for the training rows that models of different folds share, as in `vrspam.metrics.roc_auc_ci`.
    probabilities : array of n numbers, optional
        With an array of scores: probabilities to use instead of the model's, if its calibration has seen these labels.
    notes : tuple of str
        With `scores`: notes about the rows, for pages and commands.
    times, within : array of n, optional
        With an array of scores: the times of the rows (for an order, its negated numbers), and their strata; a table
        has both as columns. With columns of scores, `within` names the column of strata.
    **reading
        For a table: `skip_errors` and `progress` of `score_file`, and `format`, `delimiter`, `encoding` and
        `zero_based` of `vrspam.data.read_chunks`; for a model also `allow_missing` of `score_file`.

    Returns
    -------
    Evaluation
        `auc` has the AUC with its interval, `thresholds`, `lift`, `bins` and `brier` the rest; `flat()` gives all
        numbers as one dict. For several columns, `Evaluations`: one for each, and the columns compared in pairs.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import evaluate, train
    >>> cells = load_breast_cancer(as_frame=True).frame
    >>> found = evaluate(train(cells[::2], "target", features="linear"), cells[1::2])
    >>> print(f"AUC {found.auc.auc:.2f}, 95 % interval {found.auc.low:.2f} to {found.auc.high:.2f}, {found.n} rows")
    AUC 0.99, 95 % interval 0.9... to 1.00, 284 rows
    """
    measures: Any = {"confidence": confidence, "recall": recall, "cost_ratio": cost_ratio, "max_fpr": max_fpr}
    check_measures(weights, **measures)
    if not isinstance(model, Model):
        if data is not None or not isinstance(scores, str | list | tuple):
            raise TypeError("evaluate() takes a model and rows, or one table and the names of its columns of scores.")
        if times is not None or probabilities is not None or notes:
            raise TypeError("evaluate() reads times, and makes probabilities and notes, itself: leave them out.")
        reading |= {"weights": weights, "groups": groups, "folds": folds, "event": event, "within": within}
        rows = read_scores(model, target, scores, positive=positive, by=by, **reading)
        for note in rows.notes:
            warn(note)
        found, compared = evaluate_columns(rows, **measures)
        return found[scores] if isinstance(scores, str) else Evaluations(found, compared, rows.columns)
    if target is not None or positive is not None or event is not None:
        raise TypeError("evaluate() knows target, events and positive label from the model: leave them out.")
    if scores is None:
        if folds is not None:
            raise TypeError("folds belong to out-of-fold scores: leave them out for a model and new rows.")
        if times is not None or within is not None or probabilities is not None or notes:
            raise TypeError("evaluate() finds times, strata, probabilities and notes of a file itself: leave them out.")
        rows = score_rows(model, data, weights=weights, groups=groups, by=by, **reading)
        if rows.notes:
            warn(UnseenValues(rows.notes))
    elif reading:
        raise TypeError(f"evaluate() reads no file where scores are given: leave {', '.join(reading)} out.")
    else:
        beside = {"weights": weights, "groups": groups, "folds": folds, "times": times, "within": within}
        rows = ScoredTable({"": model}, np.asarray(data), {"": np.asarray(scores)}, notes, beside, by)
        if rows.positive.dtype != bool:
            raise TypeError("with scores, data must be booleans: which rows are positive.")
    return evaluate_columns(rows, probabilities, **measures)[0][""]


def evaluate_columns(
    rows: ScoredTable,
    probabilities: np.ndarray | None = None,
    *,
    confidence: float = 0.95,
    recall: float = 0.9,
    cost_ratio: float | None = None,
    max_fpr: float | None = None,
) -> tuple[dict[str, Evaluation], Comparison]:
    """Evaluate a model, or columns of scores, each sorted once, and compare them in pairs; options as in `evaluate`."""
    beside: dict[str, Any] = {"weights": None, "groups": None, "times": None, "within": None, **rows.beside}
    folds = beside.pop("folds", None)
    if max_fpr is not None:  # with weights that the model remembers, too
        check_measures(beside["weights"], max_fpr=max_fpr)
    first = next(iter(rows.columns.values()))
    if first.ranks:
        check_ranks(first, max_fpr=max_fpr, cost_ratio=cost_ratio)
        if folds is not None:
            raise DataError(
                "{folds} is for scores of two classes: of times, an order or strata leave it out",
                folds=Parameter("folds"),
            )
        needed = {"times": "times", "order": "times", "within": "within"}
        lacking = [name for key, name in needed.items() if key in first.training and beside[name] is None]
        if lacking:
            words = f"the {' and '.join(lacking)} of the rows of this model, beside their scores."
            raise TypeError(f"evaluate() needs {words}")
    ranked = [Ranked.of(rows.positive, one, beside["weights"]) for one in rows.scores.values() if not first.ranks]
    compared = compare_scores(rows.positive, rows.scores, ranked, folds=folds, confidence=confidence, **beside)
    found = {}
    for place, ((name, column), auc) in enumerate(zip(rows.columns.items(), compared.intervals, strict=True)):
        scores, notes = rows.scores[name], [*rows.notes]
        if first.ranks:
            nothing: Any = {"average_precision": np.nan, "sensitivity": {}, "lift": {}, "thresholds": {}, "bins": ()}
            one = Evaluation(rows.positive, scores, None, auc, **nothing, brier=None, **beside)
        else:
            given = column, rows.positive, scores, ranked[place], auc, beside, probabilities
            one = _evaluate(*given, recall=recall, cost_ratio=cost_ratio, max_fpr=max_fpr, confidence=confidence)
            one = replace(one, folds=folds)
            if folds is not None and (max_fpr is not None or rows.by):
                notes.append(OF_TEST_SET)
        if isinstance(column, ScoreColumn):
            notes += doubts_of_column(column, auc)
            if one.curve is not None and (count := one.curve.thresholds.size - 1) <= 2:
                many = "one value" if count == 1 else "two different values"
                notes.append(f"column {name!r} holds only {many}, like decisions: give the scores behind them")
        own = rows.positive, scores, one.probabilities, one.weights, one.groups
        levels = subgroups(rows.by, *own, times=one.times, within=one.within) if rows.by else ()
        found[name] = replace(one, notes=(*notes, *one.notes), subgroups=levels)
    return found, compared


OF_TEST_SET = "intervals of partial AUCs and of levels are for rows of a test set: for out-of-fold scores too narrow"


def check_ranks(model: Model | ScoreColumn, **given: float | None) -> None:
    """Refuse what needs a threshold, if the scores only rank rows."""
    named = {name: Parameter(name, value) for name, value in given.items() if value is not None}
    if model.ranks and named:
        words = f"{{ranks}} Leave {' and '.join(f'{{{name}}}' for name in named)} out."
        raise DataError(words, ranks=describe_ranks(model), **named)


def _evaluate(
    model: Model | ScoreColumn,
    positive: np.ndarray,
    scores: np.ndarray,
    ranked: Ranked,
    auc: AUCInterval,
    beside: Mapping[str, Any],
    probabilities: np.ndarray | None,
    *,
    recall: float,
    cost_ratio: float | None,
    max_fpr: float | None,
    confidence: float,
) -> Evaluation:
    """Evaluate a model or a column, given its scores, the sorted scores and the AUC."""
    weights, groups = beside["weights"], beside["groups"]
    if probabilities is None and model.calibration is not None:
        probabilities = model.calibration(scores)
    curve = Curve.of(positive, scores, weights, ranked)
    promised = model.threshold
    thresholds = {} if promised is None else {"model": curve.at_score(promised.threshold)}
    thresholds["youden"] = curve.at(np.argmax(curve.hits / curve.positives - curve.alarms / curve.negatives))
    thresholds["recall"] = curve.at(np.argmax(curve.hits >= recall * curve.positives * (1 - 1e-12)))
    if cost_ratio is not None:
        thresholds["cost"] = curve.at(np.argmin(curve.alarms + cost_ratio * (curve.positives - curve.hits)))
    specificities, shares = np.array([0.80, 0.90, 0.95, 0.99]), np.array([0.01, 0.05, 0.10, 0.20])
    # the largest sensitivity where the specificity is at least this, as in `sensitivity_at_specificity`
    reached = curve.alarms.searchsorted((1.0 - specificities + 1e-12) * curve.negatives, side="right") - 1
    # positives among the top share of rows, relative to as many drawn at random; ties share their places
    at_top = np.interp(shares * (curve.positives + curve.negatives), curve.called, curve.hits)
    bins, brier, part, calibrated, notes = tuple[Bin, ...](), None, None, None, tuple[str, ...]()
    if probabilities is not None:
        same = isinstance(model, ScoreColumn) and ranked.order.size == scores.size  # scores that are the probabilities
        bins = reliability(positive, probabilities, BINS, weights, order=ranked.order if same else None)
        brier = float(np.average((probabilities - positive) ** 2, weights=weights))
        rows: dict[str, Any] = {"confidence": confidence, "groups": groups, "sample_weight": weights}
        calibrated = calibration_measures(positive, probabilities, **rows)
    if max_fpr is not None:
        part = partial_auc_ci(positive, scores, max_fpr=max_fpr, confidence=confidence)
        if groups is not None:
            notes = ("the interval of the partial AUC is for independent rows: with groups it is too narrow",)
    return Evaluation(
        positive=positive,
        scores=scores,
        probabilities=probabilities,
        auc=auc,
        average_precision=curve.average_precision,
        sensitivity=dict(zip(specificities.tolist(), (curve.hits[reached] / curve.positives).tolist(), strict=True)),
        lift=dict(zip(shares.tolist(), (at_top / shares / curve.positives).tolist(), strict=True)),
        thresholds=thresholds,
        bins=bins,
        brier=brier,
        max_fpr=max_fpr,
        partial_auc=part,
        notes=notes,
        **beside,
        promised=promised,
        curve=curve,
        calibration=calibrated,
    )


def compare(
    *models: Any,
    path: Any = None,
    target: str | None = None,
    positive: str | None = None,
    names: Sequence[str] = (),
    confidence: float = 0.95,
    weights: str | None = None,
    groups: str | None = None,
    skip_errors: bool = False,
    **reading: Any,
) -> Comparison:
    """Test by DeLong's paired test which of several models, or columns of scores, ranks the same rows better.

    A warning names values that training has not seen. Rows that lack one of the scores are left out for all.

    Parameters
    ----------
    *models : Model, or str
        Two or more, trained for the same target; they may use different columns of the file. A text such as
        ``"column:catboost"`` is a column of scores of the file. Without `path`, the last argument is the file.
    path : path, directory, pattern or list of paths; or frame
        Labelled rows, as in `score_file`.
    target, positive : str, optional
        If only columns are compared: the column of labels, and the label to rank above all others.
    names : sequence of str, optional
        What to call the models and columns.
    confidence : float in (0, 1), default=0.95
        Of the interval of the difference between the AUCs.
    weights, groups : str, optional
        Columns, as in `evaluate`: by default those of training.
    skip_errors : bool, default=False
        Leave out rows that cannot be read, instead of refusing the file.
    **reading
        As in `score_file`.

    Returns
    -------
    Comparison
        Can be unpacked into `test`, `positive` and `scores`; `pairs` has all tests, with adjusted p-values, and
        `partial_test(max_fpr)` compares the partial AUCs.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import compare, train
    >>> cells = load_breast_cancer(as_frame=True).frame
    >>> model = train(cells[::2][["mean texture", "target"]], "target", features="linear")
    >>> new = cells[1::2].assign(radius=-cells["mean radius"])
    >>> test = compare(model, "column:radius", new).test
    >>> print(f"texture alone {test.auc_a:.2f}, radius alone {test.auc_b:.2f}, different: {test.p_value < 0.05}")
    texture alone 0.7..., radius alone 0.9..., different: True
    """
    given = list(models)
    path = given.pop() if path is None and given else path
    if len(given) < 2:
        raise DataError("compare needs at least two models or columns of scores, and then the table")
    columns = [one.removeprefix("column:") for one in given if isinstance(one, str)]
    fitted = [one for one in given if not isinstance(one, str)]
    beside: dict[str, Any] = {"weights": weights, "groups": groups, "skip_errors": skip_errors, **reading}
    if fitted:
        table = _score_all(fitted, columns, path, target, positive, beside)
    else:
        table = read_scores(path, target, columns, positive=positive, **beside)
    if table.notes:
        warn(UnseenValues(table.notes) if fitted else "; ".join(table.notes))
    own, called = iter(range(len(fitted))), list(names)
    keys = [one.removeprefix("column:") if isinstance(one, str) else next(own) for one in given]
    called = called or [key if isinstance(key, str) else f"model {key + 1}" for key in keys]
    for place, name in enumerate(called):
        called[place] = f"{name} (again)" if name in called[:place] else name
    named = {name: table.scores[key] for name, key in zip(called, keys, strict=True)}
    return compare_scores(table.positive, named, confidence=confidence, **table.beside)


def compare_scores(
    positive: np.ndarray,
    scores: Mapping[str, np.ndarray],
    ranked: Sequence[Ranked] = (),
    *,
    weights: np.ndarray | None = None,
    groups: np.ndarray | None = None,
    times: np.ndarray | None = None,
    within: np.ndarray | None = None,
    folds: np.ndarray | None = None,
    confidence: float = 0.95,
    optimism: float = 0.0,
) -> Comparison:
    """Compare scores of the same rows in pairs; `ranked` are sorted scores, `optimism` is taken from the first AUC.

    `folds` are those of out-of-fold scores; times and strata have no use for them.
    """
    names, less = list(scores), {next(iter(scores)): optimism}
    beside: dict[str, Any] = {"sample_weight": weights, "groups": groups}
    if times is None and within is None:
        placed = _placed(positive, scores, ranked, folds, beside)
        measured = [placed.of(place) for place in range(len(names))]
        pairs = compare_placed(placed, names, confidence, less, measured) if len(names) > 1 else ()
        intervals = tuple(interval_of(one, confidence) for one in measured)
    else:
        comparable = ComparablePairs.of(*ranked_target(positive, times), within, weights)

        def test(a: str, b: str) -> DeLongTest:
            return paired_concordance(comparable, (scores[a], scores[b]), groups, confidence, less.get(a, 0.0))

        pairs = compare_pairs(names, test)
        same: dict[str, Any] = {"weights": weights, "groups": groups, "times": times, "within": within}
        intervals = tuple(ranking_ci(positive, own, **same, confidence=confidence) for own in scores.values())
    if optimism:
        own = intervals[0]
        auc, low, high = np.clip(np.array([own.auc, own.low, own.high]) - optimism, 0.0, 1.0).tolist()
        intervals = (replace(own, auc=auc, low=low, high=high), *intervals[1:])
    found = positive, tuple(scores.values()), tuple(names), pairs, intervals, optimism
    ranks = times is not None or within is not None
    return Comparison(pairs[0].test if pairs else None, *found, beside=beside, ranks=ranks)


def _placed(
    positive: np.ndarray,
    scores: Mapping[str, np.ndarray],
    ranked: Sequence[Ranked],
    folds: np.ndarray | None,
    beside: Mapping[str, Any],
) -> Placed:
    """The placements of all scores; what is wrong with folds is an error about the table."""
    if folds is None:
        return roc_measures(positive, list(scores.values()), list(scores), ranked=ranked, **beside)
    try:
        return roc_measures(positive, list(scores.values()), list(scores), folds=folds, **beside)
    except ValueError as error:
        raise DataError(str(error)) from error


def _score_all(
    models: Sequence[Model], columns: Sequence[str], path: Any, target: str | None, positive: str | None, given: Any
) -> ScoredTable:
    """Scores of models by number and of columns by name, on rows that have all of them."""
    first = models[0]
    for option, own in (("target", first.schema.target), ("positive", first.positive)):
        asked = target if option == "target" else positive
        if asked is not None and str(asked) != str(own):
            words = "the model was trained for {own}: leave {option} out, or compare columns alone"
            raise DataError(words, own=Parameter(option, own), option=Parameter(option, asked))
    for option in ("event", "times", "order", "within"):
        if len({model.training.get(option) for model in models}) > 1:
            words = "the models compare different pairs of rows ({option} differs): compare models of the same pairs"
            raise DataError(words, option=option)
    for option in ("weights", "groups"):
        known = list(dict.fromkeys(model.training[option] for model in models if model.training.get(option)))
        if given[option] is None and len(known) > 1:
            words = "the models were trained with different {what} ({known}): name one, such as {option}"
            raise DataError(words, what=option, option=Parameter(option, known[0]), known=" and ".join(known))
    found = [score_rows(model, path, columns=() if place else columns, **given) for place, model in enumerate(models)]
    if not all(np.array_equal(found[0].positive, rows.positive) for rows in found):
        raise DataError(
            "the models do not agree on which rows are positive: they were trained for different labels"
            + (", or skipped different rows" if given["skip_errors"] else "")
        )
    scored: dict[Any, np.ndarray] = {place: rows.scores[""] for place, rows in enumerate(found)}
    scored |= {name: found[0].scores[name] for name in columns}
    kept, lacking = with_all_scores(scored)
    beside = dict[str, Any]()
    for rows in reversed(found):  # the first model that knows a column decides
        beside |= rows.beside
    notes = tuple(dict.fromkeys([*lacking, *(note for rows in found for note in rows.notes)]))
    if lacking:
        scored, beside = ({key: values[kept] for key, values in part.items()} for part in (scored, beside))
    return ScoredTable({}, found[0].positive[kept] if lacking else found[0].positive, scored, notes, beside, {})
