"""From a file to the facts of its report: a model, rows that it has not seen, groups of them, and single ones."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from vrspam._utils.messages import Parameter, WordedError
from vrspam.data import DataError
from vrspam.data.readers.arrow_reader import as_table
from vrspam.model_selection.calibration import calibrate
from vrspam.model_selection.held_out import HeldOut
from vrspam.tool.evaluation import Evaluation, evaluate_scores
from vrspam.tool.explanation import ExpectedAUC, expected_auc
from vrspam.tool.fitting import Plan
from vrspam.tool.model import Model
from vrspam.tool.single_rows import SingleRow, single_rows
from vrspam.tool.subgroups import Subgroup, subgroups
from vrspam.tool.table import OpenedTable
from vrspam.tool.training import Trained, fit_file

PLAN = [field.name for field in fields(Plan)]  # parameters of `train` that say how, not what, is trained


@dataclass(frozen=True, eq=False)
class Report:
    """What a page says about a model and its table.

    Attributes
    ----------
    model : Model
    evaluation : Evaluation
        Of the rows below, each scored by a model that has not seen it.
    expected : ExpectedAUC
        The AUC to expect of new rows: corrected for the choice of the model, or that of the rows kept from training.
    folds : int or None
        Of the cross-validation whose held-out rows these are; None for rows kept from training.
    groups : tuple of Subgroup
    rows : tuple of SingleRow
    left_out : tuple of str
        Columns of the file that are no features.
    cost_ratio : float or None
        How many false alarms are as bad as one missed positive, before the reader changes it.
    apart : str
        How groups and times keep the rows apart, to stand behind what they are judged by.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import make_report
    >>> path = f"{tempfile.mkdtemp()}/cells.csv"
    >>> load_breast_cancer(as_frame=True).frame.to_csv(path, index=False)
    >>> report = make_report(path, "target", features="linear", rows=0)
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


def make_report(
    path: Any,
    target: str | None = None,
    positive: str | None = None,
    *,
    plan: Plan | None = None,
    holdout: float | None = None,
    by: Sequence[str] = (),
    rows: int = 10,
    cost_ratio: float | None = None,
    **opening: Any,
) -> Report:
    """Train a model on a file and find out how good it is, by rows that it has not seen.

    Parameters
    ----------
    path, target, positive
        As in `vrspam.tool.train`.
    plan : Plan, optional
        How the model is trained, as the command line hands it on; parameters of `train` take the place of its own.
    holdout : float in (0, 1), optional
        Keep this share of the rows from the training, and judge by them; without it every row is scored by
        cross-validation.
    by : sequence of str
        Columns whose levels are looked at one by one.
    rows : int, default=10
        How many single rows to explain beside the highest, the lowest and the most wrong; 0 explains none at all.
    cost_ratio : float, optional
        How many false alarms are as bad as one missed positive.
    **opening
        Further parameters of `train`, such as `features`, `random_state`, `drop` or `groups`.

    Returns
    -------
    Report
        For `report_page`, which makes one HTML page of it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from vrspam.tool import make_report
    >>> rng = np.random.default_rng(0)
    >>> age, sick = rng.normal(60, 10, 300), rng.random(300) < 0.3
    >>> lines = [f"{a:.0f},{'yes' if s else 'no'}" for a, s in zip(age + 10 * sick, sick)]
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "patients.csv"
    >>> _ = path.write_text("\\n".join(["age,sick", *lines]))
    >>> report = make_report(path, "sick", features="linear", by=["age"], rows=2)
    >>> report.evaluation.n, report.folds, len(report.groups)
    (300, 5, 4)
    """
    check_holdout(holdout, bool(opening.get("streaming")))
    asked = {name: opening.pop(name) for name in PLAN if name in opening}
    if "random_state" in opening:
        asked["seed"] = opening.pop("random_state")
    plan = replace(plan or Plan(), **asked)
    trained = fit_file(path, target, positive, plan, holdout=holdout, by=by, **opening)
    return report_of(trained, by=by, rows=rows, cost_ratio=cost_ratio)


def check_holdout(holdout: float | None, streaming: bool = False) -> None:
    """Refuse what is not a share, and a share of rows that are not in memory."""
    if holdout is None:
        return
    if not 0.0 < holdout < 1.0:
        raise WordedError("{given} is not between 0 and 1", given=Parameter("holdout", holdout))
    if streaming:
        raise WordedError(
            "{streaming} holds no rows in memory that {holdout} could keep: leave one of them out",
            streaming=Parameter("streaming", True),
            holdout=Parameter("holdout"),
        )


def report_of(trained: Trained, *, by: Sequence[str] = (), rows: int = 10, cost_ratio: float | None = None) -> Report:
    """The report of a model that was trained by `fit_file`."""
    model, opened = trained.model, trained.opened
    opened.check_columns(by)
    part, probabilities, weights = _unseen_rows(trained)
    evaluation = evaluate_scores(
        model,
        part.positive,
        part.scores,
        cost_ratio=cost_ratio,
        max_fpr=model.training.get("max_fpr") if weights is None else None,  # there is no interval with weights
        weights=weights,
        probabilities=probabilities,
    )
    expected = expected_auc(model) if trained.kept is None else None
    if expected is None:
        auc = evaluation.auc
        remark = "of rows that were kept from the training" if trained.kept is not None else "of the held-out rows"
        expected = ExpectedAUC(auc.auc, auc.low, auc.high, f"{remark}; interval: {auc.source}")
    places = part.places
    groups: tuple[Subgroup, ...] = ()
    shown: tuple[SingleRow, ...] = ()
    if places is not None:
        identifiers = opened.identifiers if rows else ()
        beside = read_columns(opened, [*by, *identifiers])
        if by:
            levels = {name: _values(beside[name], places) for name in by}
            groups = subgroups(levels, part.positive, part.scores, evaluation.probabilities, weights)
        if rows:
            names = [_values(beside[name], places) for name in identifiers]
            shown = single_rows(model, opened, part, evaluation.probabilities, rows, names)
    return Report(
        model=model,
        evaluation=evaluation,
        expected=expected,
        folds=None if trained.kept is not None else int(np.unique(part.fold).size),
        groups=groups,
        rows=shown,
        left_out=_left_out(opened),
        cost_ratio=cost_ratio,
        apart=_apart(trained),
    )


def _apart(trained: Trained) -> str:
    """How groups and times keep the rows apart, in words."""
    if trained.opened.groups is not None:
        return ", groups in one part each"
    if trained.opened.time is None:
        return ""
    return ", the latest ones" if trained.kept is not None else ", each fold later than the rows it was trained on"


def _unseen_rows(trained: Trained) -> tuple[HeldOut, np.ndarray | None, np.ndarray | None]:
    """Rows with scores of models that have not seen them, their probabilities, and their weights if they have some."""
    model, opened = trained.model, trained.opened
    if trained.kept is None:
        held_out, weights = trained.held_out, trained.weights
        if weights is None and np.ptp(held_out.weights) > 0.0:  # a sample of a stream, say
            weights = held_out.weights
        method = None if model.calibration is None else model.calibration.method
        return held_out, None if method is None else cross_calibrated(held_out, method), weights
    some = opened.take(trained.kept)
    X, positive = some.load_rows() if model.features is not None else some.load()
    scores = model.score(X)
    part = HeldOut(positive, scores, np.zeros(positive.size, dtype=int), np.ones(positive.size), trained.kept)
    return part, None, some.relative_weights


def cross_calibrated(held_out: HeldOut, method: str) -> np.ndarray:
    """Probabilities of held-out rows, each by a calibration that was fitted on the rows of the other folds.

    >>> rng = np.random.default_rng(0)
    >>> positive = rng.random(600) < 0.5
    >>> held_out = HeldOut(positive, rng.standard_normal(600) + positive, np.arange(600) % 3, np.ones(600))
    >>> bool(abs(cross_calibrated(held_out, "sigmoid").mean() - positive.mean()) < 0.02)
    True
    """
    found = np.empty(held_out.scores.size)
    for number in np.unique(held_out.fold):
        inside = held_out.fold == number
        others = ~inside if 0 < held_out.positive[~inside].sum() < (~inside).sum() else np.ones_like(inside)
        fitted = calibrate(held_out.scores[others], held_out.positive[others], method, held_out.weights[others])
        found[inside] = fitted(held_out.scores[inside])
    return found


def read_columns(opened: OpenedTable, names: Sequence[str]) -> dict[str, Any]:
    """Columns of all labelled rows as they are in the file, whether they are features or not."""
    import pyarrow as pa

    frame, positive = opened.load_rows()
    found = {name: frame.column(name) for name in names if name in frame.column_names} | dict(opened.kept)
    if missing := [name for name in dict.fromkeys(names) if name not in found]:  # dates, or integers beyond 2⁵³
        with warnings.catch_warnings():  # what there was to say was said when the file was first read
            warnings.simplefilter("ignore", UserWarning)
            whole = pa.concat_tables([as_table(kept) for _, _, kept in opened.chunks.keeping(missing)])
        if whole.num_rows != positive.size:
            raise DataError(f"{opened.chunks.source.paths[0]} has changed while it was read: run the command again")
        found |= {name: whole.column(name) for name in missing}
    return found


def _values(column: Any, places: np.ndarray) -> np.ndarray:
    """Values of some rows: numbers with NaN for missing ones, or texts with None."""
    import pyarrow as pa

    some = column.take(pa.array(places))
    if pa.types.is_integer(some.type) or pa.types.is_floating(some.type):
        return np.array([np.nan if value is None else value for value in some.to_pylist()], dtype=np.float64)
    return np.array([None if value is None else str(value) for value in some.to_pylist()], dtype=object)


def _left_out(opened: OpenedTable) -> tuple[str, ...]:
    """Columns of a table that are no features, and not the labels."""
    used = {*opened.schema.columns, *opened.schema.readings, opened.schema.target}
    return tuple(name for name in opened.names if name not in used)
