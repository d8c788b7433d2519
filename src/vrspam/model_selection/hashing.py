"""Folds and samples by the content of each row: alike in memory, in a stream and on a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from vrspam._utils import array_api


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
