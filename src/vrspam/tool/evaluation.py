"""How good a model is on labelled rows that it has not seen: curves, thresholds, calibration, comparison."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import average_precision_score, brier_score_loss, roc_curve

from vrspam._utils.messages import Parameter, WordedError
from vrspam._utils.warnings import UnseenValues, warn
from vrspam.data import DataError
from vrspam.metrics import (
    AUCInterval,
    DeLongTest,
    delong_test,
    partial_auc_ci,
    roc_auc_ci,
    sensitivity_at_specificity,
)
from vrspam.metrics.reliability import group_by_probability
from vrspam.tool.beside import beside_values
from vrspam.tool.fingerprint import SeenRows
from vrspam.tool.model import Model

BINS = 10


@dataclass(frozen=True)
class Threshold:
    """What follows if rows are called positive when their score is at least `threshold`."""

    threshold: float
    sensitivity: float
    specificity: float
    precision: float | None  # None where no row is called positive
    share: float


@dataclass(frozen=True)
class Bin:
    """Rows of similar probability: their mean predicted probability, and the observed frequency of positives."""

    rows: int
    predicted: float
    observed: float


@dataclass(frozen=True, eq=False)
class Curve:
    """Hits (positives found) and false alarms for every threshold, starting at one that no row reaches."""

    thresholds: np.ndarray
    hits: np.ndarray
    alarms: np.ndarray

    @classmethod
    def of(cls, positive: np.ndarray, scores: np.ndarray, weights: np.ndarray | None = None) -> Curve:
        false, true, thresholds = roc_curve(positive, scores, drop_intermediate=False, sample_weight=weights)
        thresholds[0] = np.nextafter(scores.max(), np.inf)
        if weights is not None:
            return cls(thresholds, true * weights[positive].sum(), false * weights[~positive].sum())
        return cls(thresholds, np.rint(true * positive.sum()), np.rint(false * (~positive).sum()))

    @property
    def positives(self) -> float:
        return float(self.hits[-1])

    @property
    def negatives(self) -> float:
        return float(self.alarms[-1])

    def at(self, place: Any) -> Threshold:
        hits, alarms = float(self.hits[place]), float(self.alarms[place])
        return Threshold(
            threshold=float(self.thresholds[place]),
            sensitivity=hits / self.positives,
            specificity=1.0 - alarms / self.negatives,
            precision=hits / (hits + alarms) if hits + alarms else None,
            share=(hits + alarms) / (self.positives + self.negatives),
        )


def lift(positive: np.ndarray, scores: np.ndarray, share: float, weights: np.ndarray | None = None) -> float:
    """Positives among the top `share` of rows, relative to as many rows drawn at random; ties share their places.

    With weights, rows are counted by them.

    >>> lift(np.array([True, False, False, True]), np.array([4.0, 3.0, 2.0, 1.0]), 0.25)
    2.0
    """
    mass = np.ones(scores.size) if weights is None else weights
    count = share * mass.sum()
    order = np.argsort(-scores, kind="stable")
    ranked, mass = scores[order], mass[order]
    border = ranked[min(int(np.searchsorted(np.cumsum(mass), count * (1.0 - 1e-12))), scores.size - 1)]
    above, tied, hits = ranked > border, ranked == border, positive[order] * mass
    part = (count - mass[above].sum()) / mass[tied].sum()
    found = hits[above].sum() + part * hits[tied].sum()
    return float(found / count / (hits.sum() / mass.sum()))


def reliability(
    positive: np.ndarray, probabilities: np.ndarray, bins: int = BINS, weights: np.ndarray | None = None
) -> tuple[Bin, ...]:
    """Rows in order of their probability, cut into groups of about equal size; equal probabilities stay together.

    >>> reliability(np.array([False, True]), np.array([0.2, 0.6]), bins=2)
    (Bin(rows=1, predicted=0.2, observed=0.0), Bin(rows=1, predicted=0.6, observed=1.0))
    """
    return tuple(Bin(*group) for group in group_by_probability(positive, probabilities, bins, weights))


def calibration_error(bins: tuple[Bin, ...]) -> float:
    """Mean distance between predicted probability and observed frequency, over rows."""
    return sum(b.rows * abs(b.predicted - b.observed) for b in bins) / sum(b.rows for b in bins)


SPECIFICITIES = (0.80, 0.90, 0.95, 0.99)
TOP_SHARES = (0.01, 0.05, 0.10, 0.20)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Scores, labels and the numbers that follow from them."""

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

    @property
    def n(self) -> int:
        return self.positive.size

    @property
    def positives(self) -> int:
        return int(self.positive.sum())

    def flat(self) -> dict[str, Any]:
        """All numbers under flat keys, for scripts."""
        values: dict[str, Any] = {
            "auc": self.auc.auc,
            "auc_low": self.auc.low,
            "auc_high": self.auc.high,
            "auc_method": self.auc.method,
            "auc_standard_error": self.auc.standard_error,
            "confidence": self.auc.confidence,
            "n": self.n,
            "positives": self.positives,
            "average_precision": self.average_precision,
        }
        if self.partial_auc is not None:
            part = self.partial_auc
            values |= {"max_fpr": self.max_fpr, "partial_auc": part.auc}
            values |= {
                f"partial_auc_{name}": getattr(part, name) for name in ("low", "high", "method", "standard_error")
            }
        values |= {f"sensitivity_at_specificity_{_percent(s)}": v for s, v in self.sensitivity.items()}
        values |= {f"lift_top_{_percent(share)}": v for share, v in self.lift.items()}
        for name, found in self.thresholds.items():
            values |= {f"{name}_{key}": value for key, value in vars(found).items()}
        if self.brier is not None:
            values |= {"brier": self.brier, "calibration_error": calibration_error(self.bins)}
        return values


def score_file(
    model: Model, path: Any, *, skip_errors: bool = False, progress: bool = False, **reading: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Labels and scores of the rows of a labelled file, in its order.

    Parameters
    ----------
    model : Model
        From `vrspam.tool.load_model`.
    path : path
        Of any kind that `vrspam.tool.training.train` reads, with the columns and the target of the training file.
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


def score_rows(
    model: Model,
    path: Any,
    *,
    weights: str | None = None,
    skip_errors: bool = False,
    progress: bool = False,
    **reading: Any,
) -> ScoredRows:
    """Do what `score_file` does, and say what there is to say in the result; `weights` is a column of them."""
    source = model.open_source(path, **reading)
    if weights is not None and not source.reader.tabular:
        raise DataError(
            "a {format} file has no named columns; leave {option} out",
            format=source.reader.title,
            option=Parameter("weights"),
        )
    keep = () if weights is None else (weights,)
    chunks = model.open(source, labels=True, keep=keep, skip_errors=skip_errors, progress=progress)
    known = None if model.fingerprint is None else SeenRows(model.fingerprint)
    chunks.watch = None if known is None else known.add
    blocks = list(model.score_chunks(chunks))
    if not blocks:
        raise chunks.nothing_left()
    positive = np.concatenate([block.positive for block in blocks if block.positive is not None])
    scores = np.concatenate([block.scores for block in blocks])
    counts = None
    if weights is not None:
        column = {"weights": weights}
        counts = np.concatenate([beside_values(block.kept, column, source.paths[0])["weights"] for block in blocks])
    for wanted, name in ((positive, "positive"), (~positive, "negative")):
        if wanted.sum() < 2:
            raise DataError(f"an evaluation needs at least two {name} rows, and {path} has {wanted.sum()}")
    notes = [
        *([] if known is None else known.sentences()),
        *([] if chunks.unseen is None else chunks.unseen.sentences()),
    ]
    return ScoredRows(positive, scores, tuple(notes), counts)


def evaluate(
    model: Model,
    positive: np.ndarray,
    scores: np.ndarray,
    *,
    confidence: float = 0.95,
    cost_ratio: float | None = None,
    recall: float = 0.9,
    max_fpr: float | None = None,
    notes: tuple[str, ...] = (),
    weights: np.ndarray | None = None,
    probabilities: np.ndarray | None = None,
) -> Evaluation:
    """Evaluate scores: ranking, thresholds, probabilities.

    Parameters
    ----------
    model : Model
        Its calibration turns scores into probabilities.
    positive : boolean array of n
    scores : array of n
    confidence : float in (0, 1)
    cost_ratio : float, optional
        How many false alarms are as bad as one missed positive; adds the threshold of least cost.
    recall : float in (0, 1]
        Adds the highest threshold that finds this share of the positives.
    max_fpr : float in (0, 1], optional
        Adds the partial AUC up to this false-positive rate, standardised, with its interval.
    notes : tuple of str
        What there is to say about the rows, for pages and commands.
    weights : array of n numbers, optional
        How much each row counts in all numbers; not with `max_fpr`.
    probabilities : array of n numbers, optional
        Those of the rows, where the calibration of the model has seen their labels.

    Returns
    -------
    Evaluation
    """
    if not 0.0 < recall <= 1.0:
        raise WordedError("{recall} must be above 0 and at most 1", recall=Parameter("recall", recall))
    if cost_ratio is not None and not 0.0 < cost_ratio < np.inf:
        raise WordedError("{ratio} must be a positive number", ratio=Parameter("cost_ratio", cost_ratio))
    if probabilities is None and model.calibration is not None:
        probabilities = model.calibration(scores)
    if weights is not None and max_fpr is not None:
        raise WordedError(
            "{max_fpr} has an interval for rows that count alike, not with {weights}: leave one of them out",
            max_fpr=Parameter("max_fpr"),
            weights=Parameter("weights"),
        )
    curve = Curve.of(positive, scores, weights)
    thresholds = {
        "youden": curve.at(np.argmax(curve.hits / curve.positives - curve.alarms / curve.negatives)),
        "recall": curve.at(np.argmax(curve.hits >= recall * curve.positives * (1 - 1e-12))),
    }
    if cost_ratio is not None:
        thresholds["cost"] = curve.at(np.argmin(curve.alarms + cost_ratio * (curve.positives - curve.hits)))
    return Evaluation(
        positive=positive,
        scores=scores,
        probabilities=probabilities,
        auc=roc_auc_ci(positive, scores, confidence=confidence, sample_weight=weights),
        average_precision=float(average_precision_score(positive, scores, sample_weight=weights)),
        sensitivity={s: sensitivity_at_specificity(positive, scores, s, weights) for s in SPECIFICITIES},
        lift={share: lift(positive, scores, share, weights) for share in TOP_SHARES},
        thresholds=thresholds,
        bins=() if probabilities is None else reliability(positive, probabilities, weights=weights),
        brier=None
        if probabilities is None
        else float(brier_score_loss(positive, probabilities, sample_weight=weights)),
        max_fpr=max_fpr,
        partial_auc=None
        if max_fpr is None
        else partial_auc_ci(positive, scores, max_fpr=max_fpr, confidence=confidence),
        notes=notes,
        weights=weights,
    )


def compare(
    models: tuple[Model, Model], path: Any, *, confidence: float = 0.95, skip_errors: bool = False, **reading: Any
) -> tuple[DeLongTest, np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """DeLong's paired test of two models on the same rows.

    Parameters
    ----------
    models : pair of Model
        Trained for the same target; they may use different columns of the file.
    path : path
        A labelled file, see `score_file`.
    confidence : float in (0, 1)
        Of the interval of the difference between the AUCs.
    skip_errors : bool, default=False
        Leave out rows that cannot be read, instead of refusing the file.
    **reading
        As in `score_file`.

    Returns
    -------
    test : DeLongTest
        First model minus second.
    positive : boolean array of n
    scores : pair of arrays of n
    """
    found = [score_rows(model, path, skip_errors=skip_errors, **reading) for model in models]
    (labels_a, a), (labels_b, b) = ((rows.positive, rows.scores) for rows in found)
    if not np.array_equal(labels_a, labels_b):
        raise DataError(
            "the two models do not agree on which rows are positive: they were trained for different labels"
            + (", or skipped different rows" if skip_errors else "")
        )
    if notes := tuple(dict.fromkeys(note for rows in found for note in rows.notes)):
        warn(UnseenValues(notes))
    return delong_test(labels_a, a, b, confidence=confidence), labels_a, (a, b)


def verdict(test: DeLongTest, a: str, b: str, measure: str = "AUC") -> str:
    """The result of a comparison in one sentence."""
    if np.isnan(test.p_value):
        return f"{a} and {b} differ by the same amount in every row: no test is possible."
    if test.p_value >= 1.0 - test.confidence:
        return f"No difference was found: {measure} {test.auc_a:.4f} and {test.auc_b:.4f}, p = {test.p_value:.3g}."
    better, worse = (a, b) if test.difference > 0 else (b, a)
    return f"{better} ranks better than {worse}: by {abs(test.difference):.4f} in {measure}, p = {test.p_value:.3g}."


def _percent(share: float) -> str:
    return f"{100 * share:g}"


def describe_thresholds(
    evaluation: Evaluation, cost_ratio: float | None, recall: float
) -> Iterator[tuple[str, Threshold]]:
    """The thresholds with their meaning in words."""
    words = {
        "youden": "highest sensitivity + specificity (Youden)",
        "cost": f"least cost, one miss worth {cost_ratio:g} false alarms" if cost_ratio else "",
        "recall": f"finds {100 * recall:g} % of the positives",
    }
    for name, found in evaluation.thresholds.items():
        yield words[name], found
