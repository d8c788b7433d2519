"""Three ways to fit rows of a file: feature maps of its columns; encoded and standardised rows; the same in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone

from vrspam import AUCClassifier, AUCClassifierCV, ClassMoments, HashFolds
from vrspam._utils.blas import blas_threads
from vrspam._utils.messages import Parameter, WordedError
from vrspam.features import LinearFeatures
from vrspam.features.frames import rows_of
from vrspam.model_selection.held_out import HeldOut
from vrspam.tool import data_checks
from vrspam.tool.crossfit import check_size, cross_fit, stratified_folds
from vrspam.tool.scaling import Scaling, spread
from vrspam.tool.table import OpenedTable, stack

SMALL_ROWS = 5_000  # of so few, matrices are too small to be shared out over cores: that only waits on a busy machine
L1_SHARES = (0.0, 0.003, 0.01, 0.03, 0.1, 0.3)  # of the least l1 that makes every coefficient 0
SUSPECT_ROWS = 20_000  # rows of a stream in which leaking features are looked for


@dataclass(frozen=True)
class Plan:
    """How to fit."""

    l1: str | Sequence[float]
    features: Any
    n_splits: int
    seed: int
    say: Callable[[str], None]


class Fit(NamedTuple):
    """What was fitted, on which scale (None for a map), scores of rows by models that had not seen them, and notes."""

    estimator: AUCClassifierCV
    counts: tuple[int, int]
    held_out: HeldOut
    notes: list[str]
    moments: ClassMoments | None = None
    scaling: Scaling | None = None


def fit_maps(opened: OpenedTable, plan: Plan) -> Fit:
    """Feature maps of the columns as they are; all rows are in memory."""
    rows, positive = opened.load_rows()
    folds = stratified_folds(positive, plan.n_splits, plan.seed)
    constant = data_checks.constant_columns(rows, opened.schema)
    if len(constant) == len(opened.schema.columns):
        raise ValueError("every feature is constant: there is nothing to learn from")
    notes = [*_notes(opened, rows, positive), *data_checks.constant_features(constant)]
    plan.say(f"choosing the curves and the penalty by {folds.get_n_splits()} folds")
    l1s = plan.l1
    if l1s == "auto":
        lines = LinearFeatures(random_state=plan.seed).fit(rows).features_of(rows)
        l1s = l1_grid(l1s, ClassMoments(classes=[False, True], scatter=False).update(lines, positive))
    search = AUCClassifierCV(l1s=l1s, features=plan.features, cv=folds, random_state=plan.seed)
    with blas_threads(1 if positive.size <= SMALL_ROWS else None):
        fitted = search.fit(rows, positive)
        plan.say("scoring each fold by a model of the others")
        chosen: Any = AUCClassifier(fitted.l2_, fitted.l1_)
        if fitted.features_ is not None:  # the map learns from the other folds alone
            chosen = AUCClassifierCV([fitted.l2_], [fitted.l1_], features=clone(fitted.features_), cv=2)
        held_out = cross_fit(chosen, rows, positive, folds)
    return Fit(fitted, _counts(positive), held_out, notes)


def fit_linear(opened: OpenedTable, plan: Plan) -> Fit:
    """Encoded and standardised rows; all of them are in memory."""
    rows, positive = opened.load_rows()
    folds = stratified_folds(positive, plan.n_splits, plan.seed)
    notes = _notes(opened, rows, positive)
    X = opened.encode(rows)
    moments = ClassMoments(X.shape[1], classes=[False, True], scatter=False).update(X, positive)
    scaling = _scaling(moments, sparse.issparse(X))
    X = scaling(X)
    plan.say(f"choosing the penalty by {folds.get_n_splits()} folds")
    search = AUCClassifierCV(l1s=l1_grid(plan.l1, moments, scaling), cv=folds, random_state=plan.seed)
    with blas_threads(1 if positive.size <= SMALL_ROWS else None):
        fitted = search.fit(X, positive)
        plan.say("scoring each fold by a model of the others")
        held_out = cross_fit(AUCClassifier(fitted.l2_, fitted.l1_), X, positive, folds)
    notes += _constant_notes(opened, moments)
    return Fit(fitted, _counts(positive), held_out, notes, moments, scaling)


def fit_blocks(opened: OpenedTable, plan: Plan) -> Fit:
    """Encoded and standardised rows, block by block, for files larger than memory."""
    if plan.features != "linear":
        raise WordedError(
            "{streaming} takes the columns as they are: leave {features} out",
            streaming=Parameter("streaming", True),
            features=Parameter("features"),
        )
    plan.say("first reading of the blocks: spread of the features")
    moments, sample, missing = gather(opened, plan.seed)
    check_size(moments.rows)
    notes = data_checks.missing_values(missing, int(moments.rows.sum()))
    notes += data_checks.leaking_features(sample.X, sample.y, opened.schema)
    scaling = _scaling(moments, opened.chunks.sparse)
    plan.say(f"second and third reading: moments and scores of {plan.n_splits} folds")
    search = AUCClassifierCV(l1s=l1_grid(plan.l1, moments, scaling), cv=HashFolds(plan.n_splits, plan.seed))
    fitted = search.fit_stream(StandardisedBlocks(opened, scaling))
    notes += _constant_notes(opened, moments)
    others, positives = moments.rows.tolist()
    return Fit(fitted, (int(others), int(positives)), fitted.held_out_, notes, moments, scaling)


def l1_grid(l1: str | Sequence[float], moments: ClassMoments, scaling: Scaling | None = None) -> Sequence[float]:
    """Candidates for l1; "auto" spreads them below the value 2pq·max|δ| from which all coefficients are 0."""
    if l1 != "auto":
        return tuple(float(value) for value in l1)
    delta = moments.delta if scaling is None else moments.delta / scaling.deviations
    largest = 2.0 * moments.p * moments.q * float(np.abs(delta).max())
    return tuple(share * largest for share in L1_SHARES)


def _notes(opened: OpenedTable, rows: Any, positive: np.ndarray) -> list[str]:
    missing = data_checks.count_missing(rows, opened.schema)
    notes = data_checks.missing_values(missing, positive.size)
    return notes + data_checks.leaking_features(rows, positive, opened.schema)


def _constant_notes(opened: OpenedTable, moments: ClassMoments) -> list[str]:
    names = opened.schema.feature_names
    return data_checks.constant_features([names[j] for j in np.flatnonzero(spread(moments)[1] == 0.0)])


def _counts(positive: np.ndarray) -> tuple[int, int]:
    return int((~positive).sum()), int(positive.sum())


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

    def __iter__(self) -> Iterator[tuple[Any, np.ndarray]]:
        for X, y in self.opened:
            yield self.scaling(X), y


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
    for rows, y in opened.blocks():
        for name, count in data_checks.count_missing(rows, schema).items():
            missing[name] = missing.get(name, 0) + count
        moments.update(opened.encode(rows), y)
        sample.add(rows, y)
    return moments, sample, missing
