"""How good a model is on labelled rows that it has not seen: thresholds, calibration; and which of two is better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vrspam._utils.messages import Message, Parameter
from vrspam._utils.warnings import UnseenValues, warn
from vrspam.data import DataError
from vrspam.data.readers.base import as_table, no_column
from vrspam.metrics import (
    AUCInterval,
    DeLongTest,
    concordance_test,
    delong_test,
    partial_auc_ci,
    partial_auc_test,
)
from vrspam.metrics.thresholds import (
    Bin,
    ChosenThreshold,
    Curve,
    Threshold,
    calibration_error,
    reliability,
)
from vrspam.report.words import describe_ranks
from vrspam.tool.model import Model
from vrspam.tool.plan import COPIES, INDEPENDENT, check_measures
from vrspam.tool.subgroups import ranking_ci
from vrspam.tool.table import beside_values, stack

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
        At each specificity.
    lift : dict of float to float
        Of the top share of the rows.
    thresholds : dict of str to Threshold
        "youden", "recall" and, with a cost ratio, "cost", and "model", the one that the model stores: each with
        `threshold`, `sensitivity`, `specificity`, `precision` and `share`.
    bins : tuple of Bin
        Groups of rows of similar probability: `rows`, `predicted`, `observed`.
    brier : float or None
        Brier score, where there are probabilities.
    max_fpr, partial_auc : float and AUCInterval, or None
    notes : tuple of str
        What was noticed about the rows.
    times, within : array of n or None
        Of a model of times (a positive row has its event then), and of pairs inside strata. `auc` is then the
        concordance index, or the AUC inside strata, and what needs a threshold or a probability is not there.
    promised : ChosenThreshold or None
        The threshold of the model with what its held-out rows promised; ``thresholds["model"]`` is what was found.

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
    times: np.ndarray | None = None
    within: np.ndarray | None = None

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
                    values[f"{name}_{key}"] = getattr(interval, key)
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
        return values


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
        `format`, `delimiter` and `zero_based` of `vrspam.data.read_chunks`.

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
    return found.positive, found.scores


class ScoredRows(NamedTuple):
    """Labels and scores of rows, and what these hold that training did not have."""

    positive: np.ndarray
    scores: np.ndarray
    notes: tuple[str, ...] = ()
    weights: np.ndarray | None = None
    groups: np.ndarray | None = None
    times: np.ndarray | None = None
    within: np.ndarray | None = None


def columns_beside(
    model: Model, path: str, names: Any, given: Mapping[str, str | None]
) -> tuple[dict[str, str], list[str]]:
    """The columns of weights and groups of a table with these columns, and what it lacks.

    They are those that are named, INDEPENDENT standing for none, or else those of training.
    """
    found, missed = dict[str, str](), list[str]()
    for option, name in given.items():
        known = model.training.get(option)
        if option in ("times", "within") and known is not None and known not in names:
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


def score_rows(
    model: Model,
    path: Any,
    *,
    weights: str | None = None,
    groups: str | None = None,
    skip_errors: bool = False,
    progress: bool = False,
    **reading: Any,
) -> ScoredRows:
    """Do what `score_file` does, but return the notes instead of warning.

    `weights` and `groups` are columns of them: by default those of training, INDEPENDENT for none.
    """
    given = {"weights": weights, "groups": groups, "times": None, "within": None}
    beside, missed = dict[str, str](), list[str]()

    def choose(names: Mapping[str, Any]) -> list[str]:
        found, lacking = columns_beside(model, source.paths[0], names, given)
        beside.update(found)
        missed.extend(lacking)
        return list(dict.fromkeys(beside.values()))

    chunks = model.open(path, labels=True, keep=choose, skip_errors=skip_errors, progress=progress, **reading)
    source = chunks.source
    for option, column in given.items():
        if column not in (None, INDEPENDENT, COPIES):
            source.check_named(option)
    known, seen, shown = model.fingerprint, set[str](), list[Any]()
    by_copies = (model.training.get("groups") if groups is None else groups) == COPIES

    def look(rows: Any) -> None:
        seen.update(() if known is None else known.find(rows))
        shown.extend([rows] if by_copies else [])

    chunks.watch = look if known is not None or by_copies else None
    blocks = list(model.score_chunks(chunks))
    if not blocks:
        raise chunks.nothing_left()
    positive = np.concatenate([block.positive for block in blocks if block.positive is not None])
    scores = np.concatenate([block.scores for block in blocks])
    values: dict[str, Any] = {}
    if beside:
        kept = stack([as_table(block.kept) for block in blocks])
        values = beside_values(kept, beside, source.paths[0], least_groups=2)
    if by_copies:
        values["groups"] = _copies(shown, positive, scores, chunks.schema)
    for wanted, name in ((positive, "positive"), (~positive, "negative")):
        if wanted.sum() < 2 and not model.ranks:
            raise DataError(f"an evaluation needs at least two {name} rows, and {source.paths[0]} has {wanted.sum()}")
    notes = [
        *missed,
        *([] if known is None else known.sentences(seen)),
        *([] if chunks.unseen is None else chunks.unseen.sentences()),
    ]
    return ScoredRows(positive, scores, tuple(notes), **values)


def _copies(shown: list[Any], positive: np.ndarray, scores: np.ndarray, schema: Any) -> np.ndarray:
    """Groups of rows that are equal, or nearly, as training finds them; of equal scores where rows were skipped."""
    from vrspam.tool.doctor import Examined
    from vrspam.tool.repeats import find_copies

    if sum(rows.shape[0] for rows in shown) != scores.size:
        return np.unique(scores, return_inverse=True)[1]
    found = find_copies(Examined.of(stack(shown), positive, schema, {}).codes)
    return np.arange(scores.size) if found is None else found[2]


def evaluate(
    model: Model,
    data: Any,
    scores: np.ndarray | None = None,
    *,
    confidence: float = 0.95,
    cost_ratio: float | None = None,
    recall: float = 0.9,
    max_fpr: float | None = None,
    weights: Any = None,
    groups: Any = None,
    probabilities: np.ndarray | None = None,
    notes: tuple[str, ...] = (),
    times: np.ndarray | None = None,
    within: np.ndarray | None = None,
    **reading: Any,
) -> Evaluation:
    """Evaluate a model on labelled rows: ranking, thresholds, probabilities.

    Use rows that the model was not trained on. A warning names values that training has not seen, and rows that it has.

    Parameters
    ----------
    model : Model
        From `train` or `load_model`.
    data : path, directory, pattern or list of paths; frame; or boolean array of n
        Labelled rows as `train` takes them, with the columns and the target of the training table. With `scores`:
        which rows are positive.
    scores : array of n numbers, optional
        Scores of rows, from `score_file` for example, where no table is to be read.
    confidence : float in (0, 1), default=0.95
        Of the intervals.
    cost_ratio : float, optional
        How many false alarms are as bad as one missed positive; adds the threshold of least cost.
    recall : float in (0, 1], default=0.9
        Adds the highest threshold that finds this share of the positives.
    max_fpr : float in (0, 1], optional
        Adds the partial AUC up to this false-positive rate, standardised, with its interval.
    weights : str, or array of n numbers, optional
        How much each row counts: a column of the table, by default that of training, "none" for rows that count alike.
        With `scores` the numbers. Not with `max_fpr`.
    groups : str, or array of n labels, optional
        Which rows belong together, such as those of one patient: a column of the table, by default that of training,
        "none" for independent rows, "duplicates" for rows that are equal or nearly. Intervals allow for it. With
        `scores` the labels.
    probabilities : array of n numbers, optional
        With `scores`: those of the rows, where the calibration of the model has seen their labels.
    notes : tuple of str
        With `scores`: notes about the rows, for pages and commands.
    times, within : array of n, optional
        With `scores` of a model of times, or inside strata: the times of the rows, and their strata. A table has them.
    **reading
        Without `scores`: `skip_errors` and `progress` of `score_file`, and `format`, `delimiter`, `encoding` and
        `zero_based` of `vrspam.data.read_chunks`.

    Returns
    -------
    Evaluation
        `auc` has the AUC with its interval, `thresholds`, `lift`, `bins` and `brier` the rest; `flat()` gives all
        numbers as one dict.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import evaluate, train
    >>> cells = load_breast_cancer(as_frame=True).frame
    >>> found = evaluate(train(cells[::2], "target", features="linear"), cells[1::2])
    >>> print(f"AUC {found.auc.auc:.2f}, 95 % interval {found.auc.low:.2f} to {found.auc.high:.2f}, {found.n} rows")
    AUC 0.99, 95 % interval 0.9... to 1.00, 284 rows
    """
    check_measures(weights, confidence=confidence, recall=recall, cost_ratio=cost_ratio, max_fpr=max_fpr)
    if scores is None:
        if probabilities is not None or notes:
            raise TypeError("evaluate() makes probabilities and notes of a file itself: give them with scores alone.")
        found = score_rows(model, data, weights=weights, groups=groups, **reading)
        data, scores, notes, weights, groups, times, within = found
        check_measures(weights, max_fpr=max_fpr)
        if notes:
            warn(UnseenValues(notes))
    elif reading:
        raise TypeError(f"evaluate() reads no file where scores are given: leave {', '.join(reading)} out.")
    positive, scores = np.asarray(data), np.asarray(scores)
    if positive.dtype != bool:
        raise TypeError("with scores, data must be booleans: which rows are positive.")
    pairs: dict[str, Any] = {"times": times, "within": within}
    beside: dict[str, Any] = {"weights": weights, "groups": groups, **pairs}
    if model.ranks:
        if max_fpr is not None or cost_ratio is not None:
            raise DataError(f"{describe_ranks(model)} Leave max_fpr and costs out.")
        return _evaluate_ranks(model, positive, scores, confidence, notes, beside)
    if probabilities is None and model.calibration is not None:
        probabilities = model.calibration(scores)
    order = np.argsort(scores)  # of which all numbers are made
    curve = Curve.of(positive, scores, weights, order)
    promised = model.threshold
    thresholds = {} if promised is None else {"model": curve.at_score(promised.threshold)}
    thresholds |= {
        "youden": curve.at(np.argmax(curve.hits / curve.positives - curve.alarms / curve.negatives)),
        "recall": curve.at(np.argmax(curve.hits >= recall * curve.positives * (1 - 1e-12))),
    }
    if cost_ratio is not None:
        thresholds["cost"] = curve.at(np.argmin(curve.alarms + cost_ratio * (curve.positives - curve.hits)))
    brier = partial = None
    bins = () if probabilities is None else reliability(positive, probabilities, weights=weights)
    if probabilities is not None:
        brier = float(np.average((probabilities - positive) ** 2, weights=weights))
    if max_fpr is not None:
        partial = partial_auc_ci(positive, scores, max_fpr=max_fpr, confidence=confidence)
        if groups is not None:
            notes = (*notes, "the interval of the partial AUC is for independent rows: with groups it is too narrow")
    return Evaluation(
        positive=positive,
        scores=scores,
        probabilities=probabilities,
        auc=ranking_ci(positive, scores, **beside, confidence=confidence),
        average_precision=curve.average_precision,
        sensitivity={specificity: curve.sensitivity_at(specificity) for specificity in (0.80, 0.90, 0.95, 0.99)},
        lift={share: curve.lift(share) for share in (0.01, 0.05, 0.10, 0.20)},
        thresholds=thresholds,
        bins=bins,
        brier=brier,
        max_fpr=max_fpr,
        partial_auc=partial,
        notes=notes,
        **beside,
        promised=promised,
    )


def _evaluate_ranks(
    model: Model, positive: np.ndarray, scores: np.ndarray, confidence: float, notes: tuple[str, ...], beside: Any
) -> Evaluation:
    """The evaluation of a model whose scores only rank rows."""
    if lacking := [name for name in ("times", "within") if name in model.training and beside[name] is None]:
        raise TypeError(f"evaluate() needs the {' and '.join(lacking)} of the rows of this model, beside their scores.")
    auc = ranking_ci(positive, scores, **beside, confidence=confidence)
    nothing: dict[str, Any] = {"probabilities": None, "average_precision": np.nan, "bins": (), "brier": None}
    nothing |= {"sensitivity": {}, "lift": {}, "thresholds": {}}
    return Evaluation(positive=positive, scores=scores, auc=auc, notes=notes, **nothing, **beside)


class Comparison(NamedTuple):
    """A paired test of two models, and the rows that it rests on.

    Attributes
    ----------
    test : DeLongTest
        First model minus second.
    positive : boolean array of n
    scores : pair of arrays of n

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.metrics import delong_test
    >>> from vrspam.tool import Comparison
    >>> positive, a, b = np.arange(8) > 3, np.arange(8.0), np.array([5.0, 2, 3, 6, 4, 1, 7, 8])
    >>> test, _, _ = comparison = Comparison(delong_test(positive, a, b), positive, (a, b))  # as from `compare`
    >>> test.auc_a, test.auc_b, comparison.partial_test(0.5).auc_a
    (1.0, 0.625, 1.0)
    """

    test: DeLongTest
    positive: np.ndarray
    scores: tuple[np.ndarray, np.ndarray]

    def partial_test(self, max_fpr: float) -> DeLongTest:
        """The paired test of the partial AUCs up to a false-positive rate, standardised."""
        return partial_auc_test(self.positive, *self.scores, max_fpr=max_fpr, confidence=self.test.confidence)


def compare(
    model_a: Model,
    model_b: Model,
    path: Any,
    *,
    confidence: float = 0.95,
    weights: str | None = None,
    groups: str | None = None,
    skip_errors: bool = False,
    **reading: Any,
) -> Comparison:
    """Test whether one model ranks the same rows better than another, by DeLong's paired test.

    A warning names values that training has not seen.

    Parameters
    ----------
    model_a, model_b : Model
        Trained for the same target; they may use different columns of the file.
    path : path, directory, pattern or list of paths; or frame
        Labelled rows, as in `score_file`.
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
        `test`, `positive` and `scores`, which can be unpacked; `partial_test(max_fpr)` compares the partial AUCs.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from vrspam.tool import compare, train
    >>> cells = load_breast_cancer(as_frame=True).frame
    >>> old, new = cells[::2], cells[1::2]
    >>> models = [train(old[[f"mean {name}", "target"]], "target", features="linear") for name in ("radius", "texture")]
    >>> test = compare(*models, new).test
    >>> print(f"radius alone {test.auc_a:.2f}, texture alone {test.auc_b:.2f}, different: {test.p_value < 0.05}")
    radius alone 0.9..., texture alone 0.7..., different: True
    """
    given: dict[str, Any] = {"weights": weights, "groups": groups}
    for option in ("event", "times", "within"):
        if model_a.training.get(option) != model_b.training.get(option):
            words = "the models compare different pairs of rows ({option} differs): compare models of the same pairs"
            raise DataError(words, option=option)
    for option, column in given.items():
        known = [model.training[option] for model in (model_a, model_b) if model.training.get(option)]
        if column is None and len(set(known)) > 1:
            words = "the models were trained with different {what} ({known}): name one, such as {option}"
            raise DataError(words, what=option, option=Parameter(option, known[0]), known=" and ".join(known))
    found = [score_rows(model, path, **given, skip_errors=skip_errors, **reading) for model in (model_a, model_b)]
    beside: dict[str, Any] = {
        name: next((values for rows in found if (values := getattr(rows, option)) is not None), None)
        for name, option in (("sample_weight", "weights"), ("groups", "groups"))
    }
    (labels_a, a), (labels_b, b) = ((rows.positive, rows.scores) for rows in found)
    if not np.array_equal(labels_a, labels_b):
        raise DataError(
            "the two models do not agree on which rows are positive: they were trained for different labels"
            + (", or skipped different rows" if skip_errors else "")
        )
    if notes := tuple(dict.fromkeys(note for rows in found for note in rows.notes)):
        warn(UnseenValues(notes))
    times, within = found[0].times, found[0].within
    if model_a.ranks:
        y, event = (labels_a.astype(np.int8), None) if times is None else (times, labels_a)
        test = concordance_test(y, a, b, event=event, strata=within, confidence=confidence, **beside)
    else:
        test = delong_test(labels_a, a, b, confidence=confidence, **beside)
    return Comparison(test, labels_a, (a, b))


def comparison_picture(positive: np.ndarray, scores: Mapping[str, np.ndarray], max_fpr: float | None = None) -> Figure:
    """Both ROC curves, and both curves of precision and recall."""
    from vrspam.plotting import plot_precision_recall, plot_roc
    from vrspam.plotting.style import new_figure

    figure, axes = new_figure(1, 2, (10.4, 4.9))
    plot_roc(positive, scores, max_fpr=max_fpr, ax=axes[0, 0])
    plot_precision_recall(positive, scores, ax=axes[0, 1])
    return figure
