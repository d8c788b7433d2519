"""Folds: by the content of each row (the same in memory, in a stream and on a cluster), or by a splitter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import Any, NamedTuple, NoReturn

import numpy as np
from scipy import sparse
from sklearn.model_selection import StratifiedKFold, check_cv

from vrspam._utils import array_api
from vrspam._utils.validation import Rows

BLOCK_VALUES = 1 << 15  # values hashed at once: they stay in the processor's cache


def row_hashes(X, seed: int = 0) -> np.ndarray:
    """A 64-bit number for each row of X that depends on its values alone (float32 or float64, dense or sparse)."""
    d = X.shape[1]
    # Multilinear hashing: the sum of bit patterns times random odd numbers, modulo 2^64. A zero adds nothing,
    # so that sparse rows need only their entries.
    factors = np.random.default_rng(seed).integers(0, 2**64, d, dtype=np.uint64) | np.uint64(1)
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        bits = _bits(X.data)
        hashes = sparse.csr_array((bits, X.indices, X.indptr), shape=X.shape) @ factors
    else:
        hashes = np.empty(X.shape[0], dtype=np.uint64)
        step = max(1, BLOCK_VALUES // max(d, 1))
        for start in range(0, X.shape[0], step):
            hashes[start : start + step] = np.einsum("ij,j->i", _bits(X[start : start + step]), factors)
    # The high bits of the sum are random, the low ones are not: mix them (the finaliser of SplitMix64).
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        hashes = (hashes ^ (hashes >> np.uint64(shift))) * np.uint64(factor)
    return hashes ^ (hashes >> np.uint64(31))


def _bits(values: np.ndarray) -> np.ndarray:
    """The bit patterns of numbers; those of integers are all at the top, so the upper half is mixed into the lower."""
    bits = np.add(values, 0.0, dtype=np.float64, order="C").view(np.uint64)  # -0.0 becomes 0.0
    bits ^= bits >> np.uint64(32)
    return bits


class HashFolds:
    """Cross-validation folds by a hash of each row's values.

    Which fold a row is in depends on nothing but its features: not on its place, on the blocks it comes in, or
    on other rows. So a stream, a cluster and a table in memory are split alike, and rows that occur several
    times are never on both sides of a split. Data with few different rows need another splitter.

    Parameters
    ----------
    n_splits : int, default=5
        The number of folds.
    random_state : int, default=0
        Another number gives other folds. It is a number and nothing else, because a row must be in the same fold
        wherever it is seen.

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


def hash_folds(cv: Any, random_state: Any) -> HashFolds:
    """The folds of a stream; `cv` is their number or a `HashFolds`."""
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


def make_splits(cv, rows: Rows, classes: np.ndarray, groups=None, random_state=None) -> list[Split]:
    """All splits of a scikit-learn splitter, an iterable or a number of folds; each part must hold both classes.

    A number of folds means stratified folds of shuffled rows: a table may be sorted. The seed is 0 if `random_state`
    is None.
    """
    if isinstance(cv, Integral) and int(cv) > 1:
        cv = StratifiedKFold(int(cv), shuffle=True, random_state=0 if random_state is None else random_state)
    y, weights = array_api.on_host(rows.y), None if rows.weights is None else array_api.on_host(rows.weights)
    is_list = not (cv is None or isinstance(cv, Integral) or hasattr(cv, "split"))
    pairs = cv if is_list else check_cv(cv, y, classifier=True).split(rows.X, y, groups)
    splits = _checked_splits(pairs, y.size)
    if not splits:
        raise ValueError(
            "cv gives no split at all: give a number of folds, a splitter, or a list of splits (a generator is empty "
            "once it was read)."
        )
    counts = weights is None or weights > 0
    for label in classes.tolist():
        member = (y == label) & counts
        for number, split in enumerate(splits):
            for part, index in zip(("training", "validation"), split, strict=True):
                if not member[index].any():
                    refuse_part_without(number, part, label, weights is not None)
    return splits


def refuse_part_without(number: int, part: str, label: object, weighted: bool) -> NoReturn:
    """Raise an error because a part of a fold has no row of a class."""
    raise ValueError(
        f"Fold {number}: its {part} part has no row of class {label!r}{' with positive weight' if weighted else ''}: "
        "use fewer folds, or a splitter that spreads the classes over the folds "
        "(sklearn.model_selection.StratifiedKFold)."
    )


def _checked_splits(pairs: Iterable, n: int) -> list[Split]:
    """The row numbers of each pair, which may be given as masks."""
    splits = []
    for number, pair in enumerate(pairs):
        try:
            train, validation = pair
        except (TypeError, ValueError):
            raise ValueError(
                f"Fold {number}: cv must give pairs (training rows, validation rows), and this is not a pair."
            ) from None
        parts = []
        for part, index in (("training", train), ("validation", validation)):
            index = np.asarray(index)
            try:
                rows = np.arange(n)[index if index.size else index.astype(np.intp)]
            except (IndexError, TypeError, ValueError):
                rows = np.empty((0, 0))
            if rows.ndim != 1:
                raise ValueError(
                    f"Fold {number}: its {part} part must be a list of row numbers below {n}, or a mask of {n} rows."
                )
            parts.append(rows)
        splits.append(Split(*parts))
    return splits
