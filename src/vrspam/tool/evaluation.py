"""Evaluate a model, or scores that any model has made, on labelled rows that it has not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, overload

import numpy as np

from vrspam._utils.findings import Fix
from vrspam._utils.warnings import UnseenValues, warn
from vrspam.data import DataError
from vrspam.measures.compare import Comparison
from vrspam.measures.compare import compare as compare_columns
from vrspam.measures.measure import Evaluation, measure
from vrspam.measures.rows import ScoredRows
from vrspam.measures.subgroups import judge_levels
from vrspam.model.model import Model
from vrspam.model.outcome import Outcome
from vrspam.report.words.auc import doubts_of_column
from vrspam.report.words.names import describe_ranks
from vrspam.tool.plan import check_measures
from vrspam.tool.scored_rows import ScoredTable, probabilities_of, score_rows
from vrspam.tool.scores import ScoreColumn, read_scores


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
        self.comparison = comparison
        self.columns = columns


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
    table = score_rows(model, path, skip_errors=skip_errors, progress=progress, **reading)
    if table.notes:
        warn(UnseenValues(table.notes))
    rows = table.columns[""]
    return rows.positive, rows.scores


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
        table, outcome = read_scores(model, target, scores, positive=positive, by=by, **reading)
        for note in table.notes:
            warn(note)
        several = evaluate_columns(table, outcome, **measures)
        return several[scores] if isinstance(scores, str) else several

    if target is not None or positive is not None or event is not None:
        raise TypeError("evaluate() knows target, events and positive label from the model: leave them out.")
    if scores is None:
        if folds is not None:
            raise TypeError("folds belong to out-of-fold scores: leave them out for a model and new rows.")
        if times is not None or within is not None or probabilities is not None or notes:
            raise TypeError("evaluate() finds times, strata, probabilities and notes of a file itself: leave them out.")
        table = score_rows(model, data, weights=weights, groups=groups, by=by, **reading)
        if table.notes:
            warn(UnseenValues(table.notes))
        return evaluate_rows(model, table.columns[""], notes=table.notes, levels=table.levels, **measures)

    if reading:
        raise TypeError(f"evaluate() reads no file where scores are given: leave {', '.join(reading)} out.")
    is_positive, scores = np.asarray(data), np.asarray(scores)
    if is_positive.dtype != bool:
        raise TypeError("with scores, data must be booleans: which rows are positive.")
    if probabilities is None:
        probabilities = probabilities_of(model, scores)
    rows = ScoredRows(is_positive, scores, probabilities, weights, groups, times, within, folds)
    _check_pairs_are_given(model, rows)
    return evaluate_rows(model, rows, notes=notes, levels=by or {}, **measures)


def evaluate_rows(
    model: Model,
    rows: ScoredRows,
    *,
    notes: Sequence[str] = (),
    levels: Mapping[str, Any] = MappingProxyType({}),
    **measures: Any,
) -> Evaluation:
    """Measure rows that a model has scored, and the levels of columns; `measures` are those of `measure`."""
    check_asked(model.outcome, rows, **measures)
    evaluation = measure(rows, stored=model.threshold, **measures)
    return _completed(evaluation, levels, [*notes, *_note_on_folds(evaluation, levels)])


def evaluate_columns(table: ScoredTable, outcome: Outcome, **measures: Any) -> Evaluations:
    """Measure columns of scores, and compare them in pairs; `measures` are those of `measure`."""
    first = next(iter(table.columns.values()))
    check_asked(outcome, first, **measures)
    comparison = compare_columns(table.columns, confidence=measures.get("confidence", 0.95))
    evaluations, described = {}, {}
    for (name, rows), auc in zip(table.columns.items(), comparison.intervals, strict=True):
        evaluation = measure(rows, auc=auc, **measures)
        notes = [
            *table.notes,
            *_note_on_folds(evaluation, table.levels),
            *doubts_of_column(name, outcome, auc),
            *_note_on_decisions(name, evaluation),
        ]
        evaluations[name] = _completed(evaluation, table.levels, notes)
        described[name] = ScoreColumn(name, outcome, is_probability=rows.probabilities is not None)
    return Evaluations(evaluations, comparison, described)


def _completed(evaluation: Evaluation, levels: Mapping[str, Any], notes: Sequence[str]) -> Evaluation:
    """The evaluation with the levels of columns judged one by one, and with what was noticed before it."""
    subgroups = judge_levels(evaluation, levels) if levels else ()
    return replace(evaluation, notes=(*notes, *evaluation.notes), subgroups=subgroups)


def _note_on_folds(evaluation: Evaluation, levels: Mapping[str, Any]) -> list[str]:
    """A note on the intervals that do not allow for the training rows that models of different folds share."""
    if evaluation.folds is None or (evaluation.max_fpr is None and not levels):
        return []
    return ["intervals of partial AUCs and of levels are for rows of a test set: for out-of-fold scores too narrow"]


def check_asked(outcome: Outcome, rows: ScoredRows, **measures: Any) -> None:
    """Refuse measures that these rows do not have."""
    max_fpr = measures.get("max_fpr")
    if max_fpr is not None:  # with weights that the model remembers, too
        check_measures(rows.weights, max_fpr=max_fpr)
    if outcome.ranks:
        check_ranks(outcome, max_fpr=max_fpr, cost_ratio=measures.get("cost_ratio"))
        if rows.folds is not None:
            raise DataError(Fix("folds"), " is for scores of two classes: of times, an order or strata leave it out")


def check_ranks(outcome: Outcome, **measures: float | None) -> None:
    """Refuse what needs a threshold, if the scores only rank rows."""
    asked = [Fix(name, value) for name, value in measures.items() if value is not None]
    if outcome.ranks and asked:
        first, *others = asked
        named = [part for fix in others for part in (" and ", fix)]
        raise DataError(f"{describe_ranks(outcome)} Leave ", first, *named, " out.")


def _check_pairs_are_given(model: Model, rows: ScoredRows) -> None:
    """Refuse scores of a model that ranks pairs without the times, or the strata, of their rows."""
    outcome, lacking = model.outcome, []
    if (outcome.times is not None or outcome.order is not None) and rows.times is None:
        lacking.append("times")
    if outcome.within is not None and rows.within is None:
        lacking.append("within")
    if lacking:
        words = f"the {' and '.join(lacking)} of the rows of this model, beside their scores."
        raise TypeError(f"evaluate() needs {words}")


def _note_on_decisions(name: str, evaluation: Evaluation) -> list[str]:
    """A note on a column that holds decisions in the place of scores."""
    if evaluation.curve is None or (count := evaluation.curve.thresholds.size - 1) > 2:
        return []
    many = "one value" if count == 1 else "two different values"
    return [f"column {name!r} holds only {many}, like decisions: give the scores behind them"]
