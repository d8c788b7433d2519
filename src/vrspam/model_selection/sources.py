"""Where cross-validation gets its folds from: rows in memory, or blocks of rows that are read twice.

Rows in memory, blocks of a stream and a cluster share one cross-validation, through the methods of `FoldSource`.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.utils.parallel import Parallel, delayed  # these hand scikit-learn's settings on to the threads

from vrspam._utils import array_api
from vrspam._utils.blas import FEW, SMALL, blas_thread_count, blas_threads
from vrspam._utils.validation import Rows
from vrspam.features import FeatureMap
from vrspam.features.mapped import MappedArray, hold_features
from vrspam.model_selection.folds import Split
from vrspam.model_selection.held_out import BLOCK_BYTES, HeldOut, score_rows
from vrspam.moments import AddableSums, FinishedMoments, PairSums
from vrspam.objective import SmoothLoss, SquaredPairLoss
from vrspam.pairs import SQUARED, LossChoice
from vrspam.solvers import SolverName, choose_solver
from vrspam.tables.frames import BLOCK_ENTRIES

T = TypeVar("T")


class FoldProblem(NamedTuple):
    """The work on one fold, which decides how folds share the threads.

    Folds that are solved from `small` matrices gain more from one thread each, in parallel, than from many threads per
    fold. Elastic nets have `many_products`, all of them small. Unless the caller sets n_jobs, folds run `in_turn` on a
    device, and if the rows go through a transformer of another package, which may not be thread-safe.
    """

    small: bool
    many_products: bool
    bytes_each: int  # memory that one fold needs
    in_turn: bool = False


def how_many_at_once(count: int, problem: FoldProblem, n_jobs: int | None) -> int:
    """How many of `count` folds, or maps, are worked on at the same time."""
    jobs = min(effective_n_jobs(n_jobs), count)
    if problem.small and n_jobs is None and jobs == 1 and not problem.in_turn:
        most_bytes = 5 << 26  # that folds solved at the same time may need, if the caller does not set n_jobs
        jobs = min(blas_thread_count(), count, max(1, most_bytes // problem.bytes_each))
    return jobs


def over_folds(function: Callable[[Any], T], folds: Sequence[Any], problem: FoldProblem, n_jobs: int | None) -> list[T]:
    """Call `function` with each of `folds` (their numbers, or their rows), some at the same time, in threads."""
    jobs = how_many_at_once(len(folds), problem, n_jobs)
    threads = None if jobs == 1 else max(1, effective_n_jobs(-1) // jobs)
    # Small matrix products, and the many products of elastic nets, are slower when several threads share them.
    if problem.small or problem.many_products:
        threads = min(FEW, blas_thread_count()) if problem.in_turn and jobs == 1 else 1
    with blas_threads(threads):
        return Parallel(n_jobs=jobs, prefer="threads")(map(delayed(function), folds))


KEPT_BYTES = 1 << 30  # moments of all folds are kept up to this size


def rows_for_solver(rows: Rows) -> tuple[Rows, SolverName]:
    """Choose the solver; if it works by products, features of a map are computed once and kept."""
    X = rows.X
    solver = choose_solver(X.shape[0], X.shape[1], sparse.issparse(X))
    if solver == "products" and isinstance(X, MappedArray):
        rows = rows._replace(X=X[:])
    return rows, solver


class FoldSource(Protocol):
    """Data cut into folds; `like` is an array on a device, if matrices are to be decomposed there."""

    n_folds: int
    like: Any

    @property
    def total(self) -> PairSums:
        """The moments of all rows."""

    def problem(self, many_products: bool) -> FoldProblem:
        """The size of the work on one fold."""

    def training(self, fold: int) -> tuple[SmoothLoss, np.ndarray]:
        """The loss on the training part of a fold, and the point half-way between its class means."""

    def points_at_once(self, fold: int) -> int | None:
        """How many points one call of `held_out` scores; None for all points of all folds, if a call reads all data."""

    def held_out(self, coefs: Mapping[int, np.ndarray]) -> HeldOut:
        """The rows that one fold holds out, or all folds in turn, with scores (rows, points) by `coefs` of the fold."""


class RowsInMemory:
    """Folds of rows in memory or on a device: dense, sparse, or features that a map computes when they are read.

    Where a split leaves out just its validation rows, the moments of its training part are total minus validation.
    Where no row is in two validation parts, their moments and those of the other rows add up to the total.
    """

    mapped_bytes = 1 << 27  # moments of all folds in feature space are kept up to this size,
    table_share = 1  # or up to this multiple of the size of the table
    copied_bytes = 1 << 26  # rows of a training part that are read many times are copied up to this size
    _finished: Callable[[Any], PairSums]  # applies the last product of the features, if there is one

    def __init__(
        self,
        rows: Rows,
        splits: list[Split],
        classes: np.ndarray,
        n_jobs: int | None = None,
        loss: LossChoice = SQUARED,
    ):
        rows, self.solver = rows_for_solver(rows)
        X: Any = rows.X
        self.rows, self.splits, self.classes, self.loss = rows, splits, classes, loss
        self.n_folds, self.like = len(splits), X
        self.is_positive = array_api.is_label(rows.y, classes[1], X)
        self.mapped = isinstance(X, MappedArray)
        self.on_device = array_api.device_namespace(X) is not None
        if self.solver == "products" and self.on_device:
            raise ValueError(
                f"On a device the grid cannot be solved for as many as {X.shape[1]:,} features: use AUCClassifier "
                "at a few l2, or give NumPy arrays."
            )
        # With very many rows, the last product of the features may be applied to the moments, not to the rows.
        gathered = rows
        self._finished = lambda moments: moments
        needs_features = not loss.pairs.by_class  # sums over pairs need the features themselves
        if (
            self.mapped
            and self.solver == "moments"
            and not needs_features
            and (unfinished := X.unfinished()) is not None
        ):
            gathered = rows._replace(X=unfinished[0])
            self._finished = lambda moments: FinishedMoments(moments, unfinished[1])
        # Maps numbers of rows (None: all rows) to their moments, without the last product of their features.
        self._gather = partial(loss.gather, gathered, classes, scatter=self.solver == "moments")
        n, d = X.shape
        self._block_bytes = min(8 * BLOCK_ENTRIES if self.mapped else BLOCK_BYTES, 8 * n * d)
        # Whether a transformer of another package makes the rows, or a device holds them.
        self._in_turn = self.on_device or (self.mapped and not isinstance(X.features, FeatureMap))
        self._validation: list[AddableSums] = []
        # Folds of whole strata add up; pairs of rows in different folds do not.
        self._adds = loss.pairs.adds_up
        self._total = self._gather_total(n_jobs)
        self.total = self._finished(self._total)
        self._held_rows = hold_features(X) if loss.needs_rows else X

    def problem(self, many_products: bool) -> FoldProblem:
        """The size of the work on one fold."""
        X: Any = self.rows.X
        n, d = X.shape
        if self.solver == "products" and sparse.issparse(X):  # only vectors, on which several threads are slower
            return FoldProblem(True, many_products=False, bytes_each=64 * 8 * d)
        if self.solver == "products":
            return FoldProblem(n <= SMALL, many_products=False, bytes_each=2 * BLOCK_BYTES + 6 * 8 * n * n)
        block_bytes, width = self._block_bytes, d
        if self.loss.needs_rows:
            block_bytes += min(self.copied_bytes, 8 * n * d)
        needed = 2 * block_bytes + 10 * 8 * d * d
        if self.mapped and X.exclusive:
            # Most of the indicators are eliminated (`vrspam.solvers.gram`), which needs few square matrices.
            width = X.written_width
            needed -= 0 if many_products or width > d / 2 else 6 * 8 * d * d
        # One core makes the features of a fold.
        return FoldProblem(width <= (1_300 if self.mapped else SMALL), many_products, needed, self._in_turn)

    def _gather_total(self, n_jobs: int | None) -> AddableSums:
        """The moments of all rows: the sum over validation parts and the rest, if no row is held out twice."""
        n, d = self.rows.X.shape
        parts = [split.validation for split in self.splits]
        uses = np.bincount(np.concatenate(parts), minlength=n)
        kept_bytes = KEPT_BYTES
        if self.mapped:
            kept_bytes = max(self.mapped_bytes, self.table_share * 8 * n * self.rows.X.X.shape[1])
            if self.rows.X.exclusive:  # features that would take more as a dense matrix
                kept_bytes *= 2
        if not self._adds or self.solver == "products" or np.any(uses > 1) or self.n_folds * 16 * d * d > kept_bytes:
            return self._gather(None)
        unused = np.flatnonzero(uses == 0)
        if unused.size:
            parts.append(unused)
        # Large parts of features are cut in two, whatever the number of threads: two then share five parts evenly.
        cut = [np.array_split(part, 2 if self.mapped and part.size >= 2_000 else 1) for part in parts]
        pieces = [(part, number) for part, several in enumerate(cut) for number in range(len(several))]
        found: list[dict[int, AddableSums]] = [{} for _ in parts]
        lock = Lock()

        def gather(piece: tuple[int, int]) -> None:
            part, number = piece
            moments = self._gather(cut[part][number])
            with lock:
                found[part][number] = moments
                if len(found[part]) == len(cut[part]) > 1:
                    found[part] = {0: found[part][0] + found[part][1]}

        if self.mapped:  # one core makes the features of a part, so small parts run in parallel
            needed = 2 * self._block_bytes + 6 * 8 * d * d
            over_folds(gather, pieces, FoldProblem(d <= 2_500, False, needed, self._in_turn), n_jobs)
        else:  # products of rows use all cores anyway
            list(map(gather, pieces))
        of_parts = [moments[0] for moments in found]
        self._validation = of_parts[: self.n_folds]
        return sum(of_parts[1:], of_parts[0])

    def training_moments(self, fold: int) -> PairSums:
        """The moments of a training part."""
        train, validation = self.splits[fold]
        uses = np.bincount(np.concatenate([train, validation]), minlength=self.rows.X.shape[0])
        if self._adds and train.size >= validation.size and np.all(uses == 1):
            training = self._total - (self._validation[fold] if self._validation else self._gather(validation))
            if not training.has_cancelled:
                return self._finished(training)
        return self._finished(self._gather(train))

    def training(self, fold: int) -> tuple[SmoothLoss, np.ndarray]:
        """The loss on the training part: from its moments, by products with the rows, or on the rows."""
        if self.loss.needs_rows:
            return self._loss_on_rows(fold)
        if self.solver == "moments":
            return self._loss_of_moments(fold)
        return self._loss_by_products(fold)

    def _loss_of_moments(self, fold: int) -> tuple[SmoothLoss, np.ndarray]:
        moments = self.training_moments(fold)
        exclusive = ()
        if self.loss.pairs.by_class:  # features that are indicators of many categories
            exclusive = getattr(self.rows.X, "exclusive", ())
        return SquaredPairLoss.from_moments(moments, exclusive), moments.means.mean(axis=0)

    def _loss_by_products(self, fold: int) -> tuple[SmoothLoss, np.ndarray]:
        train = self.splits[fold].train
        moments = self._sums_without_matrices(train)
        rows = self.rows._replace(X=self._held_rows)
        return self.loss.by_products(rows, self.classes, moments, train), moments.means.mean(axis=0)

    def _loss_on_rows(self, fold: int) -> tuple[SmoothLoss, np.ndarray]:
        train = self.splits[fold].train
        weights = self.rows.weights
        held = self._held_rows
        moments = self.training_moments(fold) if self.solver == "moments" else self._sums_without_matrices(train)
        is_small = isinstance(held, np.ndarray) and train.size * held[:1].nbytes <= self.copied_bytes
        if self.loss.pairs.by_class and is_small:
            of_train = None if weights is None else weights[train]
            loss = self.loss.from_rows(held[train], self.is_positive[train], of_train, moments)
        else:
            loss = self.loss.from_rows(held, self.is_positive, weights, moments, train)
        return loss, moments.means.mean(axis=0)

    def _sums_without_matrices(self, train: np.ndarray) -> PairSums:
        """Means and variances are enough."""
        if not self.loss.pairs.by_class:
            return self._gather(train)
        return self.loss.gather(self.rows, self.classes, train, scatter=False)

    def points_at_once(self, fold: int) -> int:
        """As many points as have scores of a few megabytes, or of one block on a device."""
        size = max(self.splits[fold].validation.shape[0], 1)
        if self.on_device:
            return max(1, array_api.BLOCK_BYTES // (8 * size))
        return max(1, BLOCK_BYTES // (self.rows.X.dtype.itemsize * size))

    def held_out(self, coefs: Mapping[int, np.ndarray]) -> HeldOut:
        """The validation part of a fold."""
        ((fold, of_fold),) = coefs.items()
        (X, _, weights), index = self.rows, self.splits[fold].validation
        xp = array_api.device_namespace(X) or np
        index = index if xp is np else array_api.beside(index, X)
        weights = None if weights is None else xp.take(weights, index)
        return HeldOut(xp.take(self.is_positive, index), score_rows(X, index, of_fold), fold, weights, index)
