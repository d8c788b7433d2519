"""Folds of rows that lie on a device: only the shuffled numbers of the folds are made on the host."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from vrspam import kernels
from vrspam._utils import array_api
from vrspam._utils.array_api import beside, device_namespace, on_host
from vrspam._utils.validation import Rows
from vrspam.metrics import correction
from vrspam.model_selection.folds import empty_part
from vrspam.model_selection.held_out import HeldOut
from vrspam.moments import ClassMoments
from vrspam.pairs import TWO_CLASSES
from vrspam.solvers import choose_solver


def fold_sizes(sizes: tuple[int, int], n_folds: int) -> np.ndarray:
    """How many rows of each of two classes each stratified fold holds out, an array (classes, folds).

    Rows in the order of their classes go to the folds in turn, as in scikit-learn's `StratifiedKFold`.
    """
    starts = np.arange(n_folds)
    of_first, of_all = (np.maximum(0, -(-(size - starts) // n_folds)) for size in (sizes[0], sum(sizes)))
    return np.stack([of_first, of_all - of_first])


def shuffled_folds(counts: np.ndarray, seed: Any, at_once: int = 1 << 17) -> list[np.ndarray]:
    """The fold of each row of each class, shuffled as by `StratifiedKFold`; the class of row 0 comes first.

    `counts` are the `fold_sizes` of at most 127 folds; `at_once` random numbers stay in the processor's cache.
    """
    fold_numbers = [np.repeat(np.arange(of_class.size, dtype=np.int8), of_class) for of_class in counts]
    rng = check_random_state(seed)
    if not isinstance(seed, Integral):  # a generator, whose state must not change by draws in advance
        for values in fold_numbers:
            rng.shuffle(values)
        return fold_numbers
    draw = partial(rng.randint, 0, 2**32, size=at_once, dtype=np.uint32)
    bits, used = np.empty(0, dtype=np.uint32), 0
    with ThreadPoolExecutor(1) as pool:  # draws the next numbers while these are used
        drawn = pool.submit(draw)
        for values in fold_numbers:
            left = values.size - 1
            while left > 0:
                if used == bits.size:
                    bits, used = drawn.result(), 0
                    drawn = pool.submit(draw)
                left, used = kernels.shuffle_by_bits(values, left, bits, used)
    return fold_numbers


@dataclass(frozen=True, eq=False)
class DeviceFolds:
    """Folds that partition all rows on a device; only the shuffled fold numbers are made on the host."""

    rows: Rows
    classes: np.ndarray
    positive: Any
    fold: Any  # the fold that holds each row out
    sizes: np.ndarray  # negative and positive rows that each fold holds out, (folds, 2)
    pairs = TWO_CLASSES

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
        counts = fold_sizes((above, n - above) if first else (n - above, above), int(cv))
        drawn = shuffled_folds(counts, 0 if random_state is None else random_state)
        of_positive, of_negative = drawn if first else drawn[::-1]
        fold = xp.where(positive, _dealt(of_positive, positive), _dealt(of_negative, ~positive))
        folds = cls(rows, classes, positive, fold, (counts[::-1] if first else counts).T)
        held_out = folds.counted.T
        parts = np.stack([held_out.sum(axis=1, keepdims=True) - held_out, held_out], axis=2)
        if not parts.all():
            raise empty_part(parts, classes, rows.weights is not None)
        return folds

    @property
    def n_folds(self) -> int:
        return len(self.sizes)

    @cached_property
    def order(self) -> Any:
        """The numbers of all rows, fold by fold; within each fold the negative rows come first."""
        xp = device_namespace(self.rows.X)
        group = 2 * xp.astype(self.fold, xp.uint8) + xp.astype(self.positive, xp.uint8)  # at most 2·126 + 1
        return xp.argsort(group, stable=True)

    @cached_property
    def _edges(self) -> np.ndarray:
        return np.append(0, np.cumsum(self.sizes))

    @cached_property
    def counted(self) -> np.ndarray:
        """`sizes`, counting only rows with positive weight."""
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

    def moments(self, parts: list[list[int]]) -> list[ClassMoments]:
        """The moments of parts of the rows; each part is the rows that some folds hold out."""
        rows = [(self.of_class(0, folds), self.of_class(1, folds)) for folds in parts]
        return ClassMoments.of_device_rows(self.rows.X, rows, self.rows.weights, self.classes)

    def sample(self, n_points: int, seed: int) -> correction.Sample:
        """Draw the rows whose scores are kept: the rows of `draw_sample`, without a list of all rows on the host."""
        xp, weights, counted = device_namespace(self.rows.X), self.rows.weights, self.counted
        totals, every = counted.sum(axis=0).tolist(), list(range(self.n_folds))
        most = min(correction.MOST_ROWS, max(400, correction.MOST_VALUES // n_points))
        # In the order of the rows, as on the host, and not fold by fold.
        sides = [xp.sort(self.of_class(side, every)) for side in (0, 1)]
        drawn = correction.some_of_each_class(sides, most, np.random.default_rng(seed))
        rows = np.sort(np.concatenate([on_host(index) for index in drawn]))
        there = beside(rows, self.order)
        fold = on_host(xp.take(self.fold, there)).astype(np.intp)
        by_fold = np.argsort(fold, kind="stable")
        weights_given = np.ones(rows.size)
        if weights is not None:
            weights_given = on_host(xp.take(weights, there) / xp.max(weights)).astype(np.float64)
        places = on_host(xp.take(xp.argsort(self.order), there)) - self._edges[2 * fold]
        positive = on_host(xp.take(self.positive, there))
        sizes = self.sizes.sum(axis=1)
        return correction.Sample(
            rows[by_fold],
            positive[by_fold],
            fold[by_fold],
            weights_given[by_fold],
            places[by_fold],
            by_fold,
            counted,
            (totals[0], totals[1]),
            float(np.mean(sizes / (sizes.sum() - sizes))),
        )

    def overlap(self) -> np.ndarray:
        """The number of training rows that each two folds have in common."""
        sizes = self.sizes.sum(axis=1)
        return sizes.sum() - (sizes[:, np.newaxis] + sizes) * (1.0 - np.eye(self.n_folds)) - np.diag(sizes)

    def out_of_fold(self, coefs: np.ndarray, intercepts: np.ndarray) -> HeldOut:
        """All rows, on the device, each scored by the model of its fold; `coefs` has shape (folds, features)."""
        xp = device_namespace(self.rows.X)
        lines = array_api.score_lines(self.rows.X, coefs)
        scores = lines[0, :] + float(intercepts[0])
        for number in range(1, self.n_folds):
            scores = xp.where(self.fold == number, lines[number, :] + float(intercepts[number]), scores)
        return HeldOut(self.positive, scores, self.fold, self.rows.weights)


def _dealt(values: np.ndarray, member: Any) -> Any:
    """values[i] for the i-th row that is a member (anything for the others), on the device of `member`."""
    xp = device_namespace(member)
    place = xp.cumulative_sum(xp.astype(member, xp.int64)) - 1
    return xp.take(beside(values, member), xp.where(place < 0, xp.zeros_like(place), place))
