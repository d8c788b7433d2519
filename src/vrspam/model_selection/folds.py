"""Folds: by the content of each row (alike in memory, in a stream and on a cluster), by a splitter, or on a device."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import check_random_state

from vrspam import kernels
from vrspam._utils import array_api
from vrspam._utils.array_api import beside, device_namespace, on_host
from vrspam._utils.validation import Rows, row_numbers
from vrspam.metrics import correction
from vrspam.metrics.folds import torn_groups
from vrspam.model_selection.group_splits import ImpossibleFolds, group_folds
from vrspam.model_selection.held_out import HeldOut, scores_of
from vrspam.moments import ClassMoments, RankedPairs
from vrspam.solvers import choose_solver


def row_hashes(X, seed: int = 0) -> np.ndarray:
    """A 64-bit number for each row of X that depends on its values alone (float32 or float64, dense or sparse)."""
    d = X.shape[1]
    # Multilinear hashing: the sum of bit patterns times random odd numbers, modulo 2^64. A zero adds nothing,
    # so that sparse rows need only their entries.
    factors = np.random.default_rng(seed).integers(0, 2**64, d, dtype=np.uint64) | np.uint64(1)
    hashes, step = np.empty(X.shape[0], dtype=np.uint64), max(1, (1 << 15) // max(d, 1))  # that fit the cache
    if is_sparse := sparse.issparse(X):
        X, step = sparse.csr_array(X), max(1, X.shape[0])
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    for start in range(0, X.shape[0], step):
        values = X.data if is_sparse else X[start : start + step]
        bits = np.add(values, 0.0, dtype=np.float64, order="C").view(np.uint64)  # -0.0 becomes 0.0
        bits ^= bits >> np.uint64(32)  # the bits of integers are all at the top
        if is_sparse:
            hashes[:] = sparse.csr_array((bits, X.indices, X.indptr), shape=X.shape) @ factors
        else:
            hashes[start : start + step] = np.einsum("ij,j->i", bits, factors)
    # The high bits of the sum are random, the low ones are not: mix them (the finaliser of SplitMix64).
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        hashes = (hashes ^ (hashes >> np.uint64(shift))) * np.uint64(factor)
    return hashes ^ (hashes >> np.uint64(31))


class HashFolds:
    """Cross-validation folds by a hash of each row's values.

    Which fold a row is in depends on nothing but its features. So a stream, a cluster and a table in memory are split
    alike, and rows that occur several times are never on both sides of a split. Data with few different rows need
    another splitter.

    Parameters
    ----------
    n_splits : int, default=5
        The number of folds.
    random_state : int, default=0
        Another number gives other folds.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam import HashFolds
    >>> X = np.random.default_rng(0).standard_normal((1000, 3))
    >>> folds = HashFolds(4)
    >>> np.bincount(folds.fold_of(X))
    array([252, 242, 242, 264])
    >>> np.array_equal(folds.fold_of(X[::-1]), folds.fold_of(X)[::-1])
    True
    """

    n_splits: int
    random_state: int

    def __init__(self, n_splits: int = 5, random_state: int = 0):
        if n_splits < 2:
            raise ValueError(f"n_splits must be at least 2, got {n_splits}.")
        if isinstance(random_state, bool) or not isinstance(random_state, Integral):
            raise ValueError(
                "random_state of HashFolds must be an integer, so that a row is in the same fold wherever it is seen; "
                f"got {random_state!r}."
            )
        self.n_splits = n_splits
        self.random_state = random_state

    def __repr__(self) -> str:
        return f"HashFolds(n_splits={self.n_splits}, random_state={self.random_state})"

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if "seed" in state:  # stored by version 0.1
            state["random_state"] = state.pop("seed")
        self.__dict__.update(state)

    def hashes(self, X) -> np.ndarray:
        """The hash of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Numbers.

        Returns
        -------
        ndarray of uint64 of shape (n_samples,)
        """
        if not sparse.issparse(X):
            X = array_api.on_host(X)
            if X.dtype.kind not in "biuf":
                raise ValueError(
                    "HashFolds takes arrays of numbers: encode other columns first, or use another splitter."
                )
        return row_hashes(X, self.random_state)

    def fold_of_hashes(self, hashes: np.ndarray) -> np.ndarray:
        """The fold of each row, given its hash.

        Parameters
        ----------
        hashes : ndarray of uint64 of shape (n_samples,)
            From `hashes`.

        Returns
        -------
        ndarray of shape (n_samples,)
            0 to n_splits - 1.
        """
        return (hashes % np.uint64(self.n_splits)).astype(np.intp)

    def fold_of(self, X) -> np.ndarray:
        """The fold of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Numbers; float32 and float64 rows of the same values are in the same fold.

        Returns
        -------
        ndarray of shape (n_samples,)
            0 to n_splits - 1.
        """
        return self.fold_of_hashes(self.hashes(X))

    def get_n_splits(self, X=None, y=None, groups=None) -> int:
        """The number of folds, as scikit-learn's splitters give it.

        Parameters
        ----------
        X, y, groups
            Ignored.

        Returns
        -------
        int
        """
        return self.n_splits

    def split(self, X, y=None, groups=None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The rows of each fold, as scikit-learn's splitters give them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y, groups
            Ignored.

        Yields
        ------
        tuple of ndarray
            Numbers of the rows to train on, and of those to validate on.
        """
        fold = self.fold_of(X)
        for number in range(self.n_splits):
            yield np.flatnonzero(fold != number), np.flatnonzero(fold == number)


class HashSample:
    """The rows with the smallest hashes, at most `most`: a random sample that depends on neither order nor blocks.

    Each of `columns` has one entry per row, or is None. The first has the hashes; the second breaks ties between them.
    """

    def __init__(self, most: int, *columns: Any):
        self.most, self.seen = most, columns[0].size if columns else 0
        self._parts: list[tuple] = [columns] if columns else []
        self._trim(most)

    def add(self, other: HashSample) -> HashSample:
        """Add a sample of other rows."""
        self.seen += other.seen
        self._parts.extend(other._parts)
        self._trim(2 * self.most)
        return self

    @property
    def columns(self) -> list[Any]:
        """The columns of the sample, in the order of the hashes; empty if there are no rows."""
        self._trim(0)
        return list(self._parts[0]) if self._parts else []

    def _trim(self, limit: int) -> None:
        if sum(part[0].size for part in self._parts) > limit:
            together = zip(*self._parts, strict=True)
            joined: list[Any] = [None if column[0] is None else np.concatenate(column) for column in together]
            kept = np.lexsort([joined[1], joined[0]])[: self.most]
            self._parts = [tuple(None if column is None else column[kept] for column in joined)]


def hash_folds(cv: Any, random_state: Any) -> HashFolds:
    """The folds of a stream; `cv` is their number, None for 5, or a `HashFolds`."""
    cv = 5 if cv is None else cv
    if isinstance(cv, HashFolds):
        return cv
    if isinstance(cv, bool) or not isinstance(cv, int | np.integer):
        raise ValueError(
            "Rows that come in blocks are split by their hash: cv must be a number of folds or a HashFolds, "
            f"got {cv!r}."
        )
    if random_state is not None and not isinstance(random_state, int | np.integer):
        raise ValueError("Rows that come in blocks are split by their hash: random_state must be None or an integer.")
    return HashFolds(int(cv), 0 if random_state is None else int(random_state))


class Split(NamedTuple):
    """Row numbers to train on and to validate on."""

    train: np.ndarray
    validation: np.ndarray


class FoldedRows(NamedTuple):
    """Rows, in memory or on a device, and the parts of them that each fold trains on and holds out."""

    rows: Rows
    splits: list[Split]
    classes: np.ndarray
    positive: np.ndarray  # which rows are positive, on the host
    groups: Any = None  # the group of each row, if rows belong together
    pairs: RankedPairs | None = None  # the pairs that count, if not all pairs of two classes

    @property
    def n_folds(self) -> int:
        return len(self.splits)

    def sample(self, n_points: int, seed: int) -> correction.Sample:
        """Draw the rows whose scores are kept."""
        parts, trained = [split.validation for split in self.splits], [split.train.size for split in self.splits]
        weights = None if self.rows.weights is None else on_host(self.rows.weights)
        sample = correction.draw_sample(parts, trained, self.positive, weights, self.groups, n_points, seed)
        sample.pairs, stratum = self.pairs, None if self.pairs is None else self.pairs.stratum
        if stratum is not None and self.groups is not None:
            units = correction.group_numbers(self.groups, stratum.size)
            sample.by_strata = torn_groups(stratum, units) == 0
        return sample

    def overlap(self) -> np.ndarray:
        """The number of training rows that each two folds have in common."""
        used = np.zeros((len(self.splits), self.rows.X.shape[0]), dtype=np.float32)
        for line, split in zip(used, self.splits, strict=True):
            line[split.train] = 1.0
        return (used @ used.T).astype(np.float64)

    def out_of_fold(self, coefs: np.ndarray, intercepts: np.ndarray, known: np.ndarray | None = None) -> HeldOut:
        """Score each held-out row by the model of its fold, in the order of the rows.

        `coefs` have the shape (folds, features). `known` are the scores, fold by fold and without intercepts, where
        they are known already. A row that several folds hold out occurs once per fold, with its weight divided.
        """
        (X, _, weights), parts = self.rows, [split.validation for split in self.splits]
        if known is None:
            pairs = zip(parts, coefs, strict=True)
            known = np.concatenate([scores_of(X, part, coef[np.newaxis])[:, 0] for part, coef in pairs])
        index, fold = np.concatenate(parts), np.repeat(np.arange(len(parts)), list(map(len, parts)))
        order = np.argsort(index, kind="stable")
        index, fold, scores = index[order], fold[order], known[order]
        times = np.bincount(index, minlength=X.shape[0])[index]
        given = np.ones(index.size) if weights is None else on_host(weights)[index]
        return HeldOut(self.positive[index], scores + intercepts[fold], fold, given / times, index)


def classes_for_splitters(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The labels if scikit-learn takes them for classes; for 0.25 and 0.5, bytes or objects, whether a row is positive.

    >>> classes_for_splitters(np.array([0.25, 0.5]), np.array([0.25, 0.5])).tolist()
    [0, 1]
    """
    taken = y.dtype.kind not in "fOS"
    if y.dtype.kind == "f":
        taken = np.array_equal(y, np.floor(y))
    elif y.dtype == object:
        taken = all(isinstance(label, str) for label in y)
    return y if taken else (y == classes[1]).astype(np.int8)


def refuse_rows_in_both_parts(number: int, train: np.ndarray, validation: np.ndarray, n_rows: int) -> None:
    """Raise an error if a fold is validated on rows that it was trained on."""
    held_out = np.zeros(n_rows, dtype=bool)
    held_out[validation] = True
    both = np.unique(train[held_out[train]]).size
    if both:
        raise ValueError(
            f"Fold {number} is validated on {both:,} of the rows that it is trained on, and a model is too good on "
            "rows that it has seen: leave these rows out of one of its two parts."
        )


def make_splits(
    cv, rows: Rows, classes: np.ndarray, groups=None, random_state=None, ranked: bool = False
) -> list[Split]:
    """All splits of a scikit-learn splitter, an iterable or a number of folds; each part must hold both classes.

    A number of folds means stratified folds of shuffled rows; with `groups` whole groups are held out. None means 5.
    The seed is 0 if `random_state` is None. Rows that are `ranked` are of two classes only in name.
    """
    cv = 5 if cv is None else cv
    y, weights = array_api.on_host(rows.y), None if rows.weights is None else array_api.on_host(rows.weights)
    if isinstance(cv, Integral) and int(cv) > 1:
        seed = 0 if random_state is None else random_state
        counts = np.ones(y.size, dtype=bool) if weights is None else weights > 0
        if groups is not None:
            cv = group_folds(y == classes[1], groups, int(cv), seed, counts)
        else:
            cv = StratifiedKFold(int(cv), shuffle=True, random_state=seed)
    is_list = not (isinstance(cv, Integral) or hasattr(cv, "split"))
    target = classes_for_splitters(y, classes)
    splits: list[Split] = []
    for number, pair in enumerate(
        cv if is_list else check_cv(cv, target, classifier=True).split(rows.X, target, groups)
    ):
        try:
            train, validation = pair
        except (TypeError, ValueError):
            raise ValueError(
                f"Fold {number}: cv must give pairs (training rows, validation rows), and this is not a pair."
            ) from None
        parts = []
        for part, index in (("training", train), ("validation", validation)):
            found = row_numbers(index, y.size)
            if found is None:
                raise ValueError(
                    f"Fold {number}: its {part} part must be a list of row numbers below {y.size}, or a mask of "
                    f"{y.size} rows."
                )
            parts.append(found)
        splits.append(Split(*parts))
    if not splits:
        raise ValueError(
            "cv gives no split at all: give a number of folds, a splitter, or a list of splits (a generator is empty "
            "once it was read)."
        )
    members = [(y == label) if weights is None else (y == label) & (weights > 0) for label in classes.tolist()]
    sizes = np.array([[[np.count_nonzero(member[part]) for part in split] for split in splits] for member in members])
    if not sizes.all():
        raise empty_part(sizes, classes, weights is not None, ranked)
    for number, split in enumerate(splits):
        refuse_rows_in_both_parts(number, *split, y.size)
    return splits


def of_counted_rows(splits: list[Split], counted: np.ndarray, n_rows: int) -> list[Split]:
    """The same splits, of the counted rows alone, by their numbers among these."""
    place = np.full(n_rows, -1)
    place[counted] = np.arange(counted.size)
    found = []
    for split in splits:
        train, validation = place[split.train], place[split.validation]
        found.append(Split(train[train >= 0], validation[validation >= 0]))
    return found


def forward_folds(time: np.ndarray, positive: np.ndarray, n_splits: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Folds that train on earlier rows and validate on the next part; rows of the same time are in the same part.

    The parts hold about the same number of rows of the rarer class.

    >>> folds = forward_folds(np.array([3.0, 1.0, 2.0, 4.0, 5.0, 6.0]), np.array([0, 0, 1, 1, 0, 1]) == 1, 2)
    >>> [(train.tolist(), test.tolist()) for train, test in folds]
    [([1, 2], [0, 3]), ([0, 1, 2, 3], [4, 5])]
    """
    rarer = positive if positive.sum() <= (~positive).sum() else ~positive
    ordered = np.sort(time[rarer])
    cuts = [ordered[ordered.size * k // (n_splits + 1) - 1] for k in range(1, n_splits + 1)]
    part = np.searchsorted(np.unique(cuts), time, side="left")
    return [(np.flatnonzero(part < k), np.flatnonzero(part == k)) for k in range(1, int(part.max()) + 1)]


def empty_part(sizes: np.ndarray, classes: np.ndarray, weighted: bool, ranked: bool = False) -> ImpossibleFolds:
    """The error that a part of a fold has no row of a class; `sizes` has the shape (classes, folds, parts)."""
    side, number, part = np.argwhere(sizes == 0)[0].tolist()
    which = f"Fold {number}: its {('training', 'validation')[part]} part"
    if ranked:
        return ImpossibleFolds(
            f"{which} holds only rows that rank {('above', 'below')[side]} most others: give a number of folds, or "
            "shuffle the rows."
        )
    return ImpossibleFolds(
        f"{which} has no row of class {classes.tolist()[side]!r}"
        f"{' with positive weight' if weighted else ''}: use fewer folds, or a splitter that spreads the classes "
        "over the folds (sklearn.model_selection.StratifiedKFold)."
    )


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
    found = [np.repeat(np.arange(of_class.size, dtype=np.int8), of_class) for of_class in counts]
    rng = check_random_state(seed)
    if not isinstance(seed, Integral):  # a generator, whose state must not change by draws in advance
        for values in found:
            rng.shuffle(values)
        return found
    draw = partial(rng.randint, 0, 2**32, size=at_once, dtype=np.uint32)
    bits, used = np.empty(0, dtype=np.uint32), 0
    with ThreadPoolExecutor(1) as pool:  # draws the next numbers while these are used
        drawn = pool.submit(draw)
        for values in found:
            left = values.size - 1
            while left > 0:
                if used == bits.size:
                    bits, used = drawn.result(), 0
                    drawn = pool.submit(draw)
                left, used = kernels.shuffle_by_bits(values, left, bits, used)
    return found


@dataclass(frozen=True, eq=False)
class DeviceFolds:
    """Folds that partition all rows on a device; only the shuffled fold numbers are made on the host."""

    rows: Rows
    classes: np.ndarray
    positive: Any
    fold: Any  # the fold that holds each row out
    sizes: np.ndarray  # negative and positive rows that each fold holds out, (folds, 2)

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
        found = cls(rows, classes, positive, fold, (counts[::-1] if first else counts).T)
        held_out = found.counted.T
        parts = np.stack([held_out.sum(axis=1, keepdims=True) - held_out, held_out], axis=2)
        if not parts.all():
            raise empty_part(parts, classes, rows.weights is not None)
        return found

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
        given = np.ones(rows.size)
        if weights is not None:
            given = on_host(xp.take(weights, there) / xp.max(weights)).astype(np.float64)
        places = on_host(xp.take(xp.argsort(self.order), there)) - self._edges[2 * fold]
        positive = on_host(xp.take(self.positive, there))
        sizes = self.sizes.sum(axis=1)
        return correction.Sample(
            rows[by_fold],
            positive[by_fold],
            fold[by_fold],
            given[by_fold],
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
