"""Three ways to fit a file by cross-validation: feature maps, standardised rows in memory, and rows in blocks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from vrspam import AUCClassifierCV, ClassMoments, HashFolds
from vrspam._utils.blas import blas_threads
from vrspam._utils.messages import Parameter, WordedText
from vrspam.features import FeatureMap, LinearFeatures
from vrspam.features.mapped import is_plain, named_maps
from vrspam.metrics import AUCInterval, logit_interval, partial_auc_ci, roc_auc_ci
from vrspam.model_selection.held_out import HeldOut
from vrspam.moments.spread import spread
from vrspam.objective.choice import LossName
from vrspam.objective.penalties import PenaltyName
from vrspam.solvers import choose_solver
from vrspam.tables.frames import rows_of
from vrspam.tool import data_checks
from vrspam.tool.explanation import describe_candidate
from vrspam.tool.folds import check_size, make_folds
from vrspam.tool.model import Scaling
from vrspam.tool.table import OpenedTable, stack

FOLDS = 5


class TableClassifier(AUCClassifierCV):
    """The estimator for columns that the tool has read already: what is text is a category."""

    @staticmethod
    def _in_words(what: str) -> str:
        name, colon, score = what.partition(":")
        return f"{describe_candidate(name)}{colon}{score}"

    def _learn_columns(self, X: Any, maps: Mapping[str, Any]) -> None:
        return None


def fold_auc_ci(
    positive: np.ndarray,
    scores: np.ndarray,
    fold: np.ndarray,
    confidence: float = 0.95,
    max_fpr: float | None = None,
    weights: np.ndarray | None = None,
) -> AUCInterval:
    """Mean AUC, or partial AUC, of the folds with an interval from DeLong's standard error of each.

    Rows are compared within their fold only, because other folds were scored by other models. The held-out rows of
    different folds are independent, so squared errors add:  se = √(Σ se_k²)/K; the interval is symmetric on the
    logit scale, as in `vrspam.metrics.roc_auc_ci`. The models share training rows, which this does not see: the
    interval says how well these folds were ranked, and is a little short for a model trained on other rows.

    Parameters
    ----------
    positive : boolean array of n
    scores : array of n
        Each from a model that has not seen the row.
    fold : array of n integers
        Folds with fewer than two rows of a class are left out.
    confidence : float in (0, 1)
    max_fpr : float in (0, 1], optional
        Of the partial AUC up to this false-positive rate. If the folds give no standard error, the bounds are the
        means of their bounds.
    weights : array of n numbers, optional
        Weights of the rows, as in `vrspam.metrics.roc_auc_ci`; not with `max_fpr`.

    Returns
    -------
    AUCInterval

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> positive = rng.random(1000) < 0.3
    >>> interval = fold_auc_ci(positive, rng.standard_normal(1000) + positive, rng.integers(0, 5, 1000))
    >>> print(f"{interval.auc:.2f} [{interval.low:.2f}, {interval.high:.2f}]")
    0.77 [0.74, 0.80]
    """
    parts, smaller = [], 0
    for number in np.unique(fold):
        rows = fold == number
        if weights is not None:
            rows &= weights > 0.0
        count = int(min(positive[rows].sum(), (~positive[rows]).sum()))
        if count >= 2:
            smaller += count
            if max_fpr is None:
                own = None if weights is None else weights[rows]
                parts.append(roc_auc_ci(positive[rows], scores[rows], confidence=confidence, sample_weight=own))
            else:
                parts.append(partial_auc_ci(positive[rows], scores[rows], max_fpr=max_fpr, confidence=confidence))
    if not parts:
        raise ValueError("no fold has two rows of each class: take fewer folds or more rows")
    auc = float(np.mean([part.auc for part in parts]))
    error = float(np.sqrt(np.sum([part.standard_error**2 for part in parts]))) / len(parts)
    if max_fpr is not None and error == 0.0:
        low, high = (float(np.mean([getattr(part, side) for part in parts])) for side in ("low", "high"))
        return AUCInterval(auc, low, high, error, confidence, "score")
    return logit_interval(auc, error, smaller, confidence)  # of complete separation: all folds together


SMALL_ROWS = 5_000  # with fewer rows one core is enough: on a busy machine, threads would only wait for each other
L1_SHARES = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3)  # of the least l1 that makes every coefficient 0
SUSPECT_ROWS = 20_000  # rows of a stream in which leaking features are looked for


@dataclass(frozen=True)
class Plan:
    """What the user asked for: candidates for l1, features, folds, seed, whom to tell each stage, and how to rank.

    The other parameters are those of `vrspam.tool.train`.
    """

    l1: str | Sequence[float] = (0.0,)
    features: Any = None
    n_splits: int = FOLDS
    seed: int = 0
    say: Callable[[str], None] = lambda stage: None
    max_fpr: float | None = None
    loss: LossName = "squared"
    penalty: PenaltyName = "elasticnet"
    private: bool = False
    calibration: str | None = "sigmoid"
    selection: str = "auto"
    n_jobs: int | None = None


class Fit(NamedTuple):
    """A fitted estimator, and what came with it.

    `counts` are the rows of each class, negative ones first. `held_out` are scores of rows by models that were trained
    on the other folds, which the calibration was fitted on, and `weights` theirs, where rows have some. `moments` and
    `scaling` are those of encoded rows; None where a map took the columns as they are. `sample` are some training rows
    as they are.
    """

    estimator: AUCClassifierCV
    counts: Sequence[int]
    held_out: HeldOut
    notes: list[str]
    moments: ClassMoments | None = None
    scaling: Scaling | None = None
    weights: np.ndarray | None = None
    sample: Any = None


def fit_maps(opened: OpenedTable, plan: Plan) -> Fit:
    """Feature maps of the columns as they are; all rows are in memory."""
    rows, positive = opened.load_rows()
    folds = make_folds(opened, positive, plan.n_splits, plan.seed)
    constant = data_checks.find_constant_columns(rows, opened.schema)
    if len(constant) == len(opened.schema.columns):
        raise ValueError("every feature is constant: there is nothing to learn from")
    notes = data_checks.note_missing_values(data_checks.count_missing(rows, opened.schema), positive.size)
    notes += data_checks.note_leaking_features(rows, positive, opened.schema)
    if constant:
        notes.append(data_checks.note_constant_features(constant))
    plan.say(f"choosing the curves and the penalty by {folds.get_n_splits()} folds")
    l1s = plan.l1
    if l1s == "auto":
        straight_lines = LinearFeatures(max_categories=opened.max_categories, random_state=plan.seed)
        straight_lines.learn(rows)
        lines = straight_lines.features_of(rows)
        moments = ClassMoments(classes=[False, True], scatter=False).update(lines, positive)
        l1s = l1_grid(l1s, moments, penalty=plan.penalty)
    features = plan.features
    if isinstance(features, str) and not is_plain(features, rows):
        maps = named_maps(features, None)
        features = {name: new.set_params(max_categories=opened.max_categories) for name, new in maps.items()}
    elif isinstance(features, FeatureMap):
        features = {" ".join(repr(features).split()): features}
    if plan.private and isinstance(features, dict):
        features = {name: new.holding_no_rows() for name, new in features.items()}
    search = TableClassifier(
        l1s=l1s,
        loss=plan.loss,
        penalty=plan.penalty,
        max_fpr=plan.max_fpr,
        features=features,
        cv=folds,
        calibration=plan.calibration,
        selection=plan.selection,
        n_jobs=plan.n_jobs,
        random_state=plan.seed,
        verbose=int(sys.stderr.isatty()),
    )
    with blas_threads(1 if positive.size <= SMALL_ROWS else None):
        fitted = search.fit(rows, positive, opened.relative_weights, opened.groups)
    held_out = fitted.out_of_fold_
    weights = None if opened.weights is None else held_out.weights
    return Fit(fitted, np.bincount(positive, minlength=2).tolist(), held_out, notes, weights=weights, sample=rows)


def fit_linear(opened: OpenedTable, plan: Plan) -> Fit:
    """Encoded and standardised rows; all of them are in memory."""
    rows, positive = opened.load_rows()
    folds = make_folds(opened, positive, plan.n_splits, plan.seed)
    notes = data_checks.note_missing_values(data_checks.count_missing(rows, opened.schema), positive.size)
    notes += data_checks.note_leaking_features(rows, positive, opened.schema)
    X = opened.encode(rows)
    moments = ClassMoments(X.shape[1], classes=[False, True], scatter=False).update(X, positive, opened.weights)
    scaling = _scaling(moments, sparse.issparse(X))
    X = scaling(X)
    wide = choose_solver(X.shape[0], X.shape[1], sparse.issparse(X)) == "products"
    stage = f"choosing the penalty by {folds.get_n_splits()} folds"
    if wide and plan.n_jobs is None:
        words = f"{stage} of {X.shape[1]:,} features, which may take minutes; {{jobs}} computes two folds at a time"
        stage = WordedText(words, jobs=Parameter("n_jobs", 2))
    plan.say(stage)
    l1s = l1_grid(plan.l1, moments, scaling, plan.penalty)
    search = AUCClassifierCV(
        l1s=l1s,
        loss=plan.loss,
        penalty=plan.penalty,
        max_fpr=plan.max_fpr,
        cv=folds,
        calibration=plan.calibration,
        selection=plan.selection,
        n_jobs=plan.n_jobs,
        random_state=plan.seed,
        verbose=int(sys.stderr.isatty()),
    )
    with blas_threads(1 if positive.size <= SMALL_ROWS else None):
        fitted = search.fit(X, positive, opened.relative_weights, opened.groups)
    notes += _constant_notes(opened, moments)
    held_out = fitted.out_of_fold_
    weights = None if opened.weights is None else held_out.weights
    counts = np.bincount(positive, minlength=2).tolist()
    return Fit(fitted, counts, held_out, notes, moments, scaling, weights, rows)


def fit_blocks(opened: OpenedTable, plan: Plan) -> Fit:
    """Encoded and standardised rows, block by block, for files larger than memory."""
    plan.say("first reading of the blocks: spread of the features")
    moments, sample, missing = gather(opened, plan.seed)
    check_size(moments.rows)
    notes = data_checks.note_missing_values(missing, int(moments.rows.sum()))
    notes += data_checks.note_leaking_features(sample.X, sample.y, opened.schema)
    scaling = _scaling(moments, opened.chunks.sparse)
    plan.say(f"second and third reading: moments and scores of {plan.n_splits} folds")
    l1s, folds = l1_grid(plan.l1, moments, scaling, plan.penalty), HashFolds(plan.n_splits, plan.seed)
    search = AUCClassifierCV(
        l1s=l1s,
        penalty=plan.penalty,
        cv=folds,
        max_fpr=plan.max_fpr,
        calibration=plan.calibration,
        selection=plan.selection,
        n_jobs=plan.n_jobs,
    )
    fitted = search.fit_stream(StandardisedBlocks(opened, scaling))
    notes += _constant_notes(opened, moments)
    held_out = fitted.held_out_
    weights = None if opened.weights_column is None else held_out.weights
    return Fit(fitted, list(map(int, moments.rows)), held_out, notes, moments, scaling, weights, sample.X)


def l1_grid(
    l1: str | Sequence[float],
    moments: ClassMoments,
    scaling: Scaling | None = None,
    penalty: PenaltyName = "elasticnet",
) -> Sequence[float]:
    """Candidates for l1; "auto" spreads them below the value 2pq·max|δ| from which all coefficients are 0.

    Only the elastic net allows 0 itself.
    """
    if l1 != "auto":
        return tuple(float(value) for value in l1)
    delta = moments.delta if scaling is None else moments.delta / scaling.deviations
    largest = 2.0 * moments.p * moments.q * float(np.abs(delta).max())
    return tuple(share * largest for share in L1_SHARES if share > 0.0 or penalty == "elasticnet")


def _constant_notes(opened: OpenedTable, moments: ClassMoments) -> list[str]:
    names = opened.schema.feature_names
    constant = [names[j] for j in np.flatnonzero(spread(moments)[1] == 0.0)]
    return [data_checks.note_constant_features(constant)] if constant else []


def _scaling(moments: ClassMoments, is_sparse: bool) -> Scaling:
    if not spread(moments)[1].any():
        raise ValueError("every feature is constant: there is nothing to learn from")
    return Scaling.of(moments, is_sparse)


@dataclass(frozen=True)
class StandardisedBlocks:
    """The blocks of a file, encoded and standardised; go through it as often as needed."""

    opened: OpenedTable
    scaling: Scaling

    @property
    def n_rows(self) -> int | None:
        return self.opened.n_rows

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for X, *more in self.opened:
            yield self.scaling(X), *more


class RowSample:
    """A random sample of at most `size` rows of a stream: those with the smallest random keys."""

    def __init__(self, size: int, rng: np.random.Generator):
        self.size, self.rng = size, rng
        self.keys, self.y = np.empty(0), np.empty(0, dtype=bool)
        self.X: Any = None

    def add(self, X: Any, y: np.ndarray) -> None:
        keys = np.concatenate([self.keys, self.rng.random(y.size)])
        labels = np.concatenate([self.y, y])
        both = X if self.X is None else stack([self.X, X])
        if keys.size > self.size:
            kept = np.sort(np.argpartition(keys, self.size)[: self.size])
            keys, labels, both = keys[kept], labels[kept], rows_of(both, kept)
        self.keys, self.y, self.X = keys, labels, both


def gather(opened: OpenedTable, seed: int) -> tuple[ClassMoments, RowSample, dict[str, int]]:
    """The spread of each feature, a sample of rows to look at, and the missing values of each column, in one pass."""
    schema = opened.schema
    moments = ClassMoments(schema.n_features, classes=[False, True], scatter=False)
    sample = RowSample(SUSPECT_ROWS, np.random.default_rng(seed))
    missing: dict[str, int] = {}
    for rows, y, weights in opened.blocks():
        for name, count in data_checks.count_missing(rows, schema).items():
            missing[name] = missing.get(name, 0) + count
        moments.update(opened.encode(rows), y, weights)
        sample.add(rows, y)
    return moments, sample, missing
