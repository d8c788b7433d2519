"""Cross-validation of rows that lie on a device: folds, moments, scores and held-out rows stay there.

Where `cv` is a number, the folds are those of `vrspam.model_selection.folds.make_splits`, and rows are named by numbers
on the device. Of what grows with the rows, only the shuffled numbers of the folds are made on the host.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from vrspam._utils import array_api
from vrspam._utils.array_api import beside, device_namespace, on_host
from vrspam._utils.validation import Rows
from vrspam.model_selection.folds import refuse_part_without
from vrspam.model_selection.held_out import HeldOut, HeldOutBlock
from vrspam.model_selection.kept_scores import FoldRows, KeptRows, most_rows, rooms_of_classes
from vrspam.model_selection.sources import KEPT_BYTES, FoldProblem, TrainingPart
from vrspam.model_selection.stability import stable_share_of
from vrspam.moments import ClassMoments
from vrspam.objective import SquaredPairLoss
from vrspam.solvers import SolverName, choose_solver

BITS = 1 << 17  # random numbers drawn at once: they stay in the processor's cache


def fold_sizes(sizes: tuple[int, int], n_folds: int) -> np.ndarray:
    """Rows of two classes that each of stratified folds holds out, an array (classes, folds).

    Rows in the order of their classes go to the folds in turn, as in scikit-learn's `StratifiedKFold`.
    """
    starts = np.arange(n_folds)
    of_first, of_all = (np.maximum(0, -(-(size - starts) // n_folds)) for size in (sizes[0], sum(sizes)))
    return np.stack([of_first, of_all - of_first])


def shuffled_folds(counts: np.ndarray, seed: Any) -> list[np.ndarray]:
    """The fold of each row of two classes, the first being that of the first row, as `StratifiedKFold` shuffles them.

    Parameters
    ----------
    counts : ndarray of shape (2, folds)
        See `fold_sizes`; at most 127 folds.
    seed : int or RandomState
    """
    found = [np.repeat(np.arange(of_class.size, dtype=np.int8), of_class) for of_class in counts]
    rng = check_random_state(seed)
    if not isinstance(seed, Integral):  # whose state must go on as if nothing had been drawn in advance
        for values in found:
            rng.shuffle(values)
        return found
    from vrspam.kernels import shuffle_by_bits

    draw = partial(rng.randint, 0, 2**32, size=BITS, dtype=np.uint32)
    bits, used = np.empty(0, dtype=np.uint32), 0
    with ThreadPoolExecutor(1) as pool:  # draws the next numbers while these are used
        drawn = pool.submit(draw)
        for values in found:
            left = values.size - 1
            while left > 0:
                if used == bits.size:
                    bits, used = drawn.result(), 0
                    drawn = pool.submit(draw)
                left, used = shuffle_by_bits(values, left, bits, used)
    return found


@dataclass(frozen=True, eq=False)
class DeviceFolds:
    """Folds that share out all rows.

    Attributes
    ----------
    rows : Rows
        On a device, weights included.
    positive : array of bool, on the device
    fold : array of int, on the device
        The fold that holds each row out.
    sizes : ndarray of shape (folds, 2)
        Negative and positive rows that each fold holds out.
    """

    rows: Rows
    positive: Any
    fold: Any
    sizes: np.ndarray

    @classmethod
    def of(cls, cv: Any, rows: Rows, classes: np.ndarray, random_state: Any = None) -> DeviceFolds | None:
        """Stratified folds of shuffled rows, where `cv` is their number; None where they must be made on the host."""
        X = rows.X
        xp, n = device_namespace(X), X.shape[0]
        if not isinstance(cv, Integral) or not 1 < int(cv) < 128 or n >= 2**32:
            return None
        if choose_solver(n, X.shape[1], is_sparse=False) != "moments":
            return None
        positive = array_api.is_label(rows.y, classes[1], X)
        above = int(xp.sum(xp.astype(positive, xp.int64)))
        if min(above, n - above) < int(cv):
            return None
        first = bool(positive[0])
        sizes = (above, n - above) if first else (n - above, above)
        counts = fold_sizes(sizes, int(cv))
        drawn = shuffled_folds(counts, 0 if random_state is None else random_state)
        of_positive, of_negative = drawn if first else drawn[::-1]
        fold = xp.where(positive, _dealt(of_positive, positive), _dealt(of_negative, ~positive))
        found = cls(rows, positive, fold, (counts[::-1] if first else counts).T)
        found._refuse_parts_without_weight(classes)
        return found

    def _refuse_parts_without_weight(self, classes: np.ndarray) -> None:
        counted = self.counted
        for label, of_class in zip(classes.tolist(), counted.T, strict=True):
            for number, held_out in enumerate(of_class.tolist()):
                for part, size in (("training", int(of_class.sum()) - held_out), ("validation", held_out)):
                    if size == 0:
                        refuse_part_without(number, part, label, self.rows.weights is not None)

    @property
    def n_folds(self) -> int:
        return len(self.sizes)

    @cached_property
    def order(self) -> Any:
        """The numbers of all rows, fold by fold, in each the negative ones first."""
        xp = device_namespace(self.rows.X)
        group = 2 * xp.astype(self.fold, xp.uint8) + xp.astype(self.positive, xp.uint8)  # at most 2·126 + 1
        return xp.argsort(group, stable=True)

    @cached_property
    def _edges(self) -> np.ndarray:
        return np.append(0, np.cumsum(self.sizes))

    @cached_property
    def counted(self) -> np.ndarray:
        """As `sizes`, but of rows with positive weight alone."""
        weights = self.rows.weights
        if weights is None:
            return self.sizes
        xp = device_namespace(weights)
        before = xp.cumulative_sum(xp.astype(xp.take(weights, self.order) > 0, xp.int64), include_initial=True)
        return np.diff(on_host(xp.take(before, beside(self._edges, weights)))).reshape(self.sizes.shape)

    def held_out(self, fold: int) -> Any:
        """The numbers of the rows that a fold holds out, the negative ones first."""
        return self.order[int(self._edges[2 * fold]) : int(self._edges[2 * fold + 2])]

    def of_class(self, side: int, folds: list[int]) -> Any:
        """The numbers of the negative (0) or positive (1) rows with positive weight that some folds hold out."""
        xp, weights = device_namespace(self.rows.X), self.rows.weights
        ends = [(int(self._edges[2 * fold + side]), int(self._edges[2 * fold + side + 1])) for fold in folds]
        index = xp.concat([self.order[start:stop] for start, stop in ends])
        return index if weights is None else index[xp.take(weights, index) > 0]

    def moments(self, parts: list[list[int]], classes: np.ndarray) -> list[ClassMoments]:
        """The moments of parts of the rows: each part are those that some folds hold out."""
        rows = [(self.of_class(0, folds), self.of_class(1, folds)) for folds in parts]
        return ClassMoments.of_device_rows(self.rows.X, rows, self.rows.weights, classes)

    def keep(self, n_points: int, seed: int) -> KeptRows:
        """Draw the rows whose scores are kept: those of `rows_to_keep`, without the numbers of all rows."""
        xp, weights, counted = device_namespace(self.rows.X), self.rows.weights, self.counted
        rng, every = np.random.default_rng(seed), list(range(self.n_folds))
        totals = counted.sum(axis=0)
        drawn = []
        for side, (size, room) in enumerate(zip(totals, rooms_of_classes(totals, most_rows(n_points)), strict=True)):
            # In the order of the rows, as on the host, and not fold by fold.
            index = xp.sort(self.of_class(side, every))
            chosen = np.arange(size) if size == room else rng.choice(int(size), room, replace=False, shuffle=False)
            drawn.append(on_host(xp.take(index, beside(chosen, index))))
        some = np.sort(np.concatenate(drawn))
        there = beside(some, self.order)
        fold, positive = on_host(xp.take(self.fold, there)), on_host(xp.take(self.positive, there))
        places = on_host(xp.take(xp.argsort(self.order), there)) - self._edges[2 * fold.astype(np.intp)]
        given = np.ones(some.size)
        if weights is not None:
            given = on_host(xp.take(weights, there) / xp.max(weights)).astype(np.float64)
        parts = [np.flatnonzero(fold == number) for number in every]
        folds = [
            FoldRows(places[part], positive[part], given[part], part, counted[number])
            for number, part in enumerate(parts)
        ]
        sizes = self.sizes.sum(axis=1)
        ratio = float(np.mean(sizes / (sizes.sum() - sizes)))
        return KeptRows(folds, some.size, (int(totals[0]), int(totals[1])), ratio)

    def stable_share(self, keep: KeptRows, coefs: np.ndarray) -> float:
        """See `vrspam.model_selection.stability.stable_share`."""
        sizes = self.sizes.sum(axis=1)
        common = sizes.sum() - (sizes[:, np.newaxis] + sizes) * (1.0 - np.eye(self.n_folds)) - np.diag(sizes)
        roots = np.sqrt(np.diagonal(common))
        xp = device_namespace(self.rows.X)
        scores = [
            on_host(self._score(coefs, xp.take(self.held_out(number), beside(fold.places, self.order)))).T
            for number, fold in enumerate(keep.folds)
        ]
        return stable_share_of(scores, common / np.outer(roots, roots), keep)

    def _score(self, coefs: np.ndarray, index: Any = None) -> Any:
        return array_api.score_lines(self.rows.X, coefs, index)

    def held_out_scores(self, coefs: np.ndarray, intercepts: np.ndarray) -> DeviceHeldOut:
        """Each row scored by the model of its fold; `coefs` has shape (folds, features)."""
        xp = device_namespace(self.rows.X)
        lines = self._score(coefs)
        scores = lines[0, :] + float(intercepts[0])
        for number in range(1, self.n_folds):
            scores = xp.where(self.fold == number, lines[number, :] + float(intercepts[number]), scores)
        return DeviceHeldOut(self.positive, scores, self.fold, self.rows.weights)


def _dealt(values: np.ndarray, member: Any) -> Any:
    """values[i] for the i-th row that is a member (anything for the others), beside `member`."""
    xp = device_namespace(member)
    place = xp.cumulative_sum(xp.astype(member, xp.int64)) - 1
    return xp.take(beside(values, member), xp.where(place < 0, xp.zeros_like(place), place))


@dataclass(frozen=True, eq=False)
class DeviceHeldOut:
    """A `HeldOut` of all rows, in their order, on a device."""

    positive: Any
    scores: Any
    fold: Any
    weights: Any

    def on_host(self) -> HeldOut:
        """The same in the memory of the host."""
        scores = np.asarray(on_host(self.scores), dtype=np.float64)
        weights = np.ones(scores.size) if self.weights is None else np.asarray(on_host(self.weights), dtype=np.float64)
        fold = on_host(self.fold).astype(np.intp)
        return HeldOut(np.asarray(on_host(self.positive)), scores, fold, weights, np.arange(scores.size))


class RowsOnDevice:
    """Folds of rows on a device, as a `FoldSource`."""

    scores_all_folds_at_once = False
    solver: SolverName = "moments"

    def __init__(self, folds: DeviceFolds, classes: np.ndarray):
        self.folds, self.classes, self.n_folds = folds, classes, folds.n_folds
        self.like = folds.rows.X
        d, every = self.like.shape[1], list(range(self.n_folds))
        self._validation: list[ClassMoments] = []
        if self.n_folds * 16 * d * d <= KEPT_BYTES:
            self._validation = folds.moments([[fold] for fold in every], classes)
            self.total = sum(self._validation[1:], self._validation[0])
        else:
            (self.total,) = folds.moments([every], classes)

    def problem(self, many_products: bool) -> FoldProblem:
        """The size of the work on one fold."""
        return FoldProblem.from_matrices(self.like.shape[1], many_products, array_api.BLOCK_BYTES, in_turn=True)

    def training(self, fold: int) -> TrainingPart:
        """The loss on the training part: its moments are those of all rows minus those it holds out."""
        (held_out,) = self._validation[fold : fold + 1] or self.folds.moments([[fold]], self.classes)
        moments = self.total - held_out
        if moments.has_cancelled:
            (moments,) = self.folds.moments([[k for k in range(self.n_folds) if k != fold]], self.classes)
        return TrainingPart(SquaredPairLoss.from_moments(moments), moments.means.mean(axis=0))

    def held_out(self, coefs: Mapping[int, np.ndarray]) -> Iterator[HeldOutBlock]:
        """Scores of the rows that each fold holds out, some points of the grid at a time; zeros are left out."""
        X, _, weights = self.folds.rows
        xp = device_namespace(X)
        for fold, of_fold in coefs.items():
            index = self.folds.held_out(fold)
            positive, given = xp.take(self.folds.positive, index), None if weights is None else xp.take(weights, index)
            used = np.flatnonzero(of_fold.any(axis=1))
            used = used if used.size else np.zeros(1, dtype=np.intp)
            step = max(1, array_api.BLOCK_BYTES // (8 * index.shape[0]))
            for first in range(0, used.size, step):
                points = used[first : first + step]
                lines = array_api.score_lines(X, of_fold[points], index)
                yield HeldOutBlock(fold, points, positive, given, xp.matrix_transpose(lines))
