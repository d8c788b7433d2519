"""From a file to the facts of its report: a model, rows that it has not seen, groups of them, and single ones.

Two tests for each level of a column, and one correction for all of them together:

- ranking: the AUC of the level against that of all other rows, z = (A - B) / √(v(A) + v(B)); v is DeLong's variance, or
  that of exponential scores with the AUC of all rows, where that is larger (for few rows DeLong's is too small);
- probabilities: positives seen against positives predicted, z = (Σ y - Σ p) / √(Σ p (1 - p)).

A difference is marked if its p-value, multiplied by Holm's method over all tests of the page, is below 5 %.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtr
from sklearn.model_selection import StratifiedKFold

from vrspam._utils.messages import Parameter, WordedError
from vrspam._utils.texts import number_labels, rounded
from vrspam._utils.validation import Rows
from vrspam.data import DataError
from vrspam.data.readers.base import as_table
from vrspam.features.mapped import MappedArray, hold_features, named_maps
from vrspam.inspection.interactions import ColumnBins, bin_categories, bin_numbers
from vrspam.metrics import AUCInterval, exponential_variance
from vrspam.metrics.comparison import holm
from vrspam.metrics.concordance import ComparablePairs
from vrspam.model_selection.calibration import calibrate
from vrspam.model_selection.cross_validate import LearningCurve, learning_curve
from vrspam.model_selection.folds import group_folds
from vrspam.model_selection.held_out import HeldOut
from vrspam.report.sections import report_page  # noqa: F401 (a public name of `vrspam.tool`)
from vrspam.report.words import ExpectedAUC, describe_source, expected_auc
from vrspam.tables.frames import rows_of
from vrspam.tool.evaluation import Evaluation, evaluate, ranking_ci
from vrspam.tool.explanation import Part, value_of, value_text
from vrspam.tool.model import Model
from vrspam.tool.plan import ReportPlan, TrainPlan, takes
from vrspam.tool.repeats import draw_groups
from vrspam.tool.table import OpenedTable, two_sides
from vrspam.tool.training import Trained, fit_file

LEVEL = 0.05  # of the tests of groups, all together
KINDS = ("highest scores", "lowest scores", "most wrong", "spread over the ranking")


@dataclass(frozen=True)
class Subgroup:
    """One level of a column.

    `auc` is None with fewer than two rows of a class. `predicted` is the mean probability, None without any, `observed`
    the share of positives. `auc_p` and `calibration_p` are corrected p-values, None where there are too few rows to
    test; `worse` says whether the AUC is below that of the other rows.
    """

    column: str
    name: str
    rows: int
    positives: int
    auc: AUCInterval | None
    predicted: float | None
    observed: float
    auc_p: float | None = None
    calibration_p: float | None = None
    worse: bool = False

    @property
    def ranked_differently(self) -> bool:
        return self.auc_p is not None and self.auc_p < LEVEL

    @property
    def predicted_wrongly(self) -> bool:
        return self.calibration_p is not None and self.calibration_p < LEVEL


@dataclass(frozen=True)
class SingleRow:
    """One row, its score, and what each column adds to it.

    `kind` says why it is shown, `number` is its place among the labelled rows, from 1, and `names` are values of
    columns that only name rows. `score` and `probability` are of a model that has not seen the row; `above` is the
    share of the other class that scores lower, ties by half, or with times or strata that of its pairs that are ranked
    right. `time` is that of the event, or of censoring. `own_score`, of the model itself, is the sum of `parts`:
    (column, value, part), the largest first.
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
        Columns of the file that are not used as features.
    cost_ratio : float or None
        How many false alarms are as bad as one missed positive, before the reader changes it.
    curve : LearningCurve or None
        How the AUC grows with the rows; None for other pairs than those of two classes, and where rows are too few.
    apart : str
        How groups and times keep the rows apart, to follow what the rows are scored by.

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
        Options in one object; those that are given by name take the place of its own.
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
    trained = fit_file(path, asked, holdout=asked.holdout, by=asked.by)
    return report_of(trained, by=asked.by, rows=asked.rows, cost_ratio=asked.cost_ratio)


def report_of(trained: Trained, *, by: Sequence[str] = (), rows: int = 10, cost_ratio: float | None = None) -> Report:
    """The report of a model that was trained by `fit_file`."""
    model, opened = trained.model, trained.opened
    part, probabilities, weights = _unseen_rows(trained)
    together = None if opened.groups is None or part.places is None else opened.groups[part.places]
    beside = {"times": opened.times, "within": opened.within}
    pairs: dict[str, Any] = {name: values[part.places] for name, values in beside.items() if values is not None}
    evaluation = evaluate(
        model,
        part.positive,
        part.scores,
        cost_ratio=cost_ratio,
        max_fpr=model.training.get("max_fpr") if weights is None else None,  # there is no interval with weights
        weights=weights,
        groups=together,
        probabilities=probabilities,
        **pairs,
    )
    expected = expected_auc(model) if trained.kept is None else None
    if expected is None:
        auc = evaluation.auc
        remark = "of rows that were kept from the training" if trained.kept is not None else "of the held-out rows"
        expected = ExpectedAUC(auc.auc, auc.low, auc.high, f"{remark}; interval: {describe_source(evaluation)}")
    apart = ""
    if opened.whole is not None:
        apart = (
            ", groups in one part each"
            if opened.within is None
            else f", rows of one {model.training['within']} together"
        )
    elif opened.time is not None:
        apart = ", the latest ones" if trained.kept is not None else ", each fold later than the rows it was trained on"
    places = part.places
    groups: tuple[Subgroup, ...] = ()
    shown: tuple[SingleRow, ...] = ()
    if places is not None:
        identifiers = opened.schema.identifiers if rows else ()
        read = read_columns(opened, [*by, *identifiers], places)
        if by:
            levels = {name: read[name] for name in by}
            rows_of_levels = part.positive, part.scores, evaluation.probabilities, weights, together
            groups = subgroups(levels, *rows_of_levels, **pairs)
        if rows:
            names = [read[name] for name in identifiers]
            shown = single_rows(model, opened, part, evaluation, rows, names)
    curve = None
    if not (model.ranks or opened.time is not None or trained.held_out.places is None):
        with suppress(ValueError):  # too few rows or groups, or too many features
            curve = curve_of(opened, lines=False, seed=0)
    used = {*opened.schema.columns, *opened.schema.readings, opened.schema.target}
    return Report(
        model=model,
        evaluation=evaluation,
        expected=expected,
        folds=None if trained.kept is not None else int(np.unique(part.fold).size),
        groups=groups,
        rows=shown,
        left_out=tuple(name for name in opened.names if name not in used),
        cost_ratio=cost_ratio,
        apart=apart,
        curve=curve,
    )


def curve_of(opened: OpenedTable, lines: bool, seed: int) -> LearningCurve:
    """The learning curve of an open table; of very many rows that of some of them, drawn at random."""
    X, positive = opened.load_rows()
    n, groups, weights = positive.size, opened.groups, opened.relative_weights
    some = draw_groups(np.arange(n) if groups is None else groups, 100_000, seed)
    features = next(iter(named_maps("standardized" if lines else "additive", seed).values()))
    features.set_params(max_categories=min(opened.max_categories, 100))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that rare categories are taken together
        features.learn(X, weights)
    if features.n_features_out_ > 1_000:
        words = (
            "a learning curve of {count:,} features would take long, 1,000 are the most: leave columns out by {drop}"
        )
        raise WordedError(words, count=features.n_features_out_, drop=Parameter("drop"))
    weights, groups = (None if values is None else values[some] for values in (weights, groups))
    given = Rows(hold_features(MappedArray(rows_of(X, some), features)), positive[some], weights)
    part = parts_of(positive[some], groups, seed)
    return replace(learning_curve(given, part, groups=groups, seed=seed), total=n)


def parts_of(positive: np.ndarray, groups: np.ndarray | None, seed: int) -> np.ndarray:
    """The part of each row: 20 parts with about as many rows of each class, or 10; whole groups are in one part."""
    smaller = int(min(positive.sum(), (~positive).sum()))
    if smaller < 30:
        raise ValueError(f"a learning curve needs at least 30 rows of each class, and one has {smaller}")
    count, part = 20 if smaller >= 100 else 10, np.empty(positive.size, dtype=np.intp)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that there are fewer parts
        folds = list(StratifiedKFold(count, shuffle=True, random_state=seed).split(part, positive))
        folds = folds if groups is None else group_folds(positive, groups, count, seed)
    if len(folds) < 10:
        raise ValueError(f"a learning curve needs 10 parts of whole groups with both classes, not {len(folds)}")
    for number, (_, held_out) in enumerate(folds):
        part[held_out] = number
    return part


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
    """Probabilities of held-out rows, each by a calibration that was fitted on the rows of the other folds."""
    found = np.empty(held_out.scores.size)
    for number in np.unique(held_out.fold):
        inside = held_out.fold == number
        others = ~inside if 0 < held_out.positive[~inside].sum() < (~inside).sum() else np.ones_like(inside)
        fitted = calibrate(held_out.scores[others], held_out.positive[others], method, held_out.weights[others])
        found[inside] = fitted(held_out.scores[inside])
    return found


def read_columns(opened: OpenedTable, names: Sequence[str], places: np.ndarray) -> dict[str, np.ndarray]:
    """Values of columns, features or not, in some labelled rows: numbers, missing ones as NaN, or texts and None."""
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
    values: dict[str, np.ndarray] = {}
    for name in names:
        some = found[name].take(pa.array(places))
        if pa.types.is_integer(some.type) or pa.types.is_floating(some.type):
            values[name] = np.array([np.nan if value is None else value for value in some.to_pylist()], dtype=float)
        else:
            values[name] = np.array([None if value is None else str(value) for value in some.to_pylist()], dtype=object)
    return values


def levels_of(values: Sequence[Any] | np.ndarray) -> ColumnBins:
    """A column in levels: each value of text or of few numbers, else quarters of the rows; a missing value is one.

    Levels of numbers and of dates are named by the lowest and the highest value in them, so that no two overlap.

    >>> levels_of(np.array(["f", "m", None, "f"], dtype=object)).labels
    ('f', 'm', 'missing')
    >>> levels_of(np.arange(40.0)).labels
    ('0 to 10', '11 to 20', '21 to 30', '31 to 39')
    """
    array = np.asarray(values)
    if array.dtype.kind in "fiub":
        return _quarters(array.astype(np.float64), number_labels)
    gone = np.array([value is None for value in array.tolist()])
    names, present = np.unique(array[~gone].astype(str), return_inverse=True)
    if names.size > 12 and all(re.fullmatch(r"\d{4}-\d\d-\d\d( 00:00:00)?", name) for name in names):
        days = np.where(gone, np.nan, array.astype("datetime64[D]").astype(float))
        return _quarters(days, lambda ends: ends.astype("datetime64[D]").astype(str).tolist())
    codes = np.full(array.size, names.size, dtype=np.intp)
    codes[~gone] = present
    return bin_categories(codes, tuple(names.tolist()), bool(gone.any()), 12)  # rarer ones are taken together


def _quarters(numbers: np.ndarray, texts: Callable[[np.ndarray], list[str]]) -> ColumnBins:
    """Numbers in quarters of the rows, or each by itself if there are few; `texts` writes them."""
    few = np.unique(numbers[~np.isnan(numbers)]).size <= 8
    bins = bin_numbers(numbers, 8 if few else 4)
    if few:
        return bins
    levels = [numbers[bins.codes == code] for code in np.unique(bins.codes[~np.isnan(numbers)])]
    ends = texts(np.array([end for level in levels for end in (level.min(), level.max())]))
    named = [low if low == high else f"{low} to {high}" for low, high in zip(ends[::2], ends[1::2], strict=True)]
    return bins._replace(labels=(*named, *bins.labels[len(named) :]))


def subgroups(
    columns: Mapping[str, Sequence[Any] | np.ndarray],
    positive: np.ndarray,
    scores: np.ndarray,
    probabilities: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    groups: np.ndarray | None = None,
    **pairs: Any,
) -> tuple[Subgroup, ...]:
    """All levels of some columns, with what the tests say; scores are by models that have not seen the row.

    `groups` are rows that belong together, as in `vrspam.metrics.roc_auc_ci`; `pairs` are `times` and `within`.
    """
    beside, sides = {"weights": weights, "groups": groups, **pairs}, two_sides(positive, pairs.get("times"))
    whole = ranking_ci(positive, scores, weights=weights, **pairs).auc
    found, auc_ps, calibration_ps = [], [], []
    for column, values in columns.items():
        bins = levels_of(values)
        for code, name in enumerate(bins.labels):
            inside = bins.codes == code
            if not inside.any():
                continue
            labels, own = positive[inside], None if weights is None else weights[inside]
            auc, auc_p, worse, predicted, calibration_p = None, np.nan, False, None, np.nan
            enough = min(_smaller(sides[inside]), _smaller(sides[~inside])) >= 10
            if _smaller(sides[inside] if own is None else sides[inside][own > 0.0]) >= 2:
                auc = _level_auc(inside, positive, scores, beside)
                if enough and auc is not None:
                    auc_p, worse = _ranking_p(inside, positive, scores, beside, whole)
            mass = own if own is not None and own.any() else None
            if probabilities is not None:
                predicted = float(np.average(probabilities[inside], weights=mass))
                p, each = probabilities[inside], np.ones(labels.size) if own is None else own
                variance = float(each**2 @ (p * (1.0 - p)))
                if groups is not None:  # rows of a group may all be wrong together
                    sums = np.bincount(np.unique(groups[inside], return_inverse=True)[1], each * (labels - p))
                    variance = max(variance, float(sums @ sums))
                if enough and variance > 0.0:
                    calibration_p = float(2.0 * ndtr(-abs(each @ (labels - p)) / np.sqrt(variance)))
            observed = float(np.average(labels, weights=mass))
            count = int(inside.sum()), int(labels.sum())
            found.append(Subgroup(column, name, *count, auc, predicted, observed, worse=worse))
            auc_ps.append(auc_p)
            calibration_ps.append(calibration_p)
    corrected = [None if np.isnan(p) else float(p) for p in holm(np.array([*auc_ps, *calibration_ps]))]
    tested = zip(found, corrected[: len(found)], corrected[len(found) :], strict=True)
    return tuple(replace(group, auc_p=ranked, calibration_p=predicted) for group, ranked, predicted in tested)


def _smaller(positive: np.ndarray) -> int:
    return int(min(positive.sum(), (~positive).sum()))


def _level_auc(
    part: np.ndarray, positive: np.ndarray, scores: np.ndarray, beside: Mapping[str, np.ndarray | None]
) -> AUCInterval | None:
    """The AUC of some rows, with the interval that their groups leave; None where no two of them are compared."""
    own: dict[str, Any] = {name: values[part] for name, values in beside.items() if values is not None}
    if "groups" in own and np.unique(own["groups"]).size < 2:  # one group alone has the interval of its rows
        del own["groups"]
    try:
        return ranking_ci(positive[part], scores[part], **own)
    except ValueError:
        if own.keys().isdisjoint(("times", "within")):
            raise
        return None


def _ranking_p(
    inside: np.ndarray,
    positive: np.ndarray,
    scores: np.ndarray,
    beside: Mapping[str, np.ndarray | None],
    whole: float,
) -> tuple[float, bool]:
    """Two-sided p-value of the difference between the AUC of a level and that of all other rows."""
    difference, variance = 0.0, 0.0
    for part, sign in ((inside, 1.0), (~inside, -1.0)):
        if (found := _level_auc(part, positive, scores, beside)) is None:
            return np.nan, False
        up = int(two_sides(positive, beside.get("times"))[part].sum())
        difference += sign * found.auc
        variance += max(found.standard_error**2, exponential_variance(whole, up, int(part.sum()) - up))
    if variance == 0.0:
        return np.nan, False
    return float(2.0 * ndtr(-abs(difference) / np.sqrt(variance))), difference < 0.0


def share_above(positive: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """For each row the share of the other class that scores lower, ties by half.

    >>> share_above(np.array([True, False, False]), np.array([2.0, 1.0, 3.0])).tolist()
    [0.5, 0.0, 1.0]
    """
    found = np.empty(scores.size)
    for side in (positive, ~positive):
        others = np.sort(scores[~side])
        below, upto = (np.searchsorted(others, scores[side], side=end) for end in ("left", "right"))
        found[side] = (below + upto) / (2.0 * others.size)
    return found


def share_right(evaluation: Evaluation) -> np.ndarray | None:
    """For each row the share of its pairs that are ranked right (NaN: it has none); None for pairs of two classes."""
    if evaluation.times is None and evaluation.within is None:
        return None
    y, event = evaluation.times, evaluation.positive
    target = (event.astype(np.int8), None) if y is None else (y, event)
    found = ComparablePairs.of(target[0], target[1], evaluation.within)
    right, pairs = (np.add(*part) for part in (found.wins_of_rows(evaluation.scores), found.pairs_of_rows()))
    return np.divide(right, pairs, out=np.full(event.size, np.nan), where=pairs > 0.0)


def choose_rows(
    positive: np.ndarray, scores: np.ndarray, more: int, right: np.ndarray | None = None
) -> list[tuple[str, int]]:
    """(why, which) of the rows to show: highest, lowest, most wrong, and `more` that are spread over the ranking."""
    order = np.argsort(scores, kind="stable")
    if right is None:
        above = share_above(positive, scores)
        right = -np.where(positive, 1.0 - above, above)
    wrong = np.argsort(right, kind="stable")
    each = min(4, scores.size)
    spread = order[np.unique(np.linspace(0, scores.size - 1, more + 2).round().astype(int)[1:-1])[::-1]] if more else []
    parts = (order[::-1][:each], order[:each], wrong[:each], spread)
    return [(kind, int(place)) for kind, places in zip(KINDS, parts, strict=True) for place in places]


def single_rows(
    model: Model,
    opened: OpenedTable,
    held_out: HeldOut,
    evaluation: Evaluation,
    more: int,
    names: Sequence[np.ndarray] = (),
) -> tuple[SingleRow, ...]:
    """Explain the highest, the lowest, the most wrong and some `more` rows, if the model can say what columns add."""
    assert held_out.places is not None
    no_curves = model.features is not None and (model.shapes is None or not model.shapes.whole)
    if no_curves or len(model.schema.columns) > 5_000:
        return ()
    right, probabilities, times = share_right(evaluation), evaluation.probabilities, evaluation.times
    chosen = choose_rows(held_out.positive, held_out.scores, more, right)
    places = held_out.places[[place for _, place in chosen]]
    rows, _ = opened.load_rows()
    some = rows_of(rows, places)
    X = opened.encode(some) if model.features is None else some
    scores, columns = model.score(X), model.parts_of_rows(X)
    above = right if right is not None else share_above(held_out.positive, held_out.scores)
    found = []
    for number, (kind, place) in enumerate(chosen):
        parts = []
        for name, values in columns.items():
            part = Part(name, value_of(model, name, some, number), float(values[number]))
            parts.append((name, value_text(model, part), part.adds))
        parts.sort(key=lambda part: -abs(part[2]))
        found.append(
            SingleRow(
                kind,
                int(places[number]) + 1,
                tuple(_name(values[place]) for values in names),
                bool(held_out.positive[place]),
                float(held_out.scores[place]),
                None if probabilities is None else float(probabilities[place]),
                float(above[place]),
                float(scores[number]),
                tuple(parts),
                None if times is None else float(times[place]),
            )
        )
    return tuple(found)


def _name(value: float | str | None) -> str:
    if value is None or value != value:
        return "missing"
    if isinstance(value, str):
        return value
    return str(int(value)) if float(value).is_integer() else rounded(value, 4)
