"""Sufficient statistics of the objective: size, mean and scatter of each class, gathered block by block.

The scatter of a class is S = Σ_i c_i (x_i - μ)(x_i - μ)ᵀ (weights c). Moments of disjoint sets of rows add up
exactly (Chan, Golub & LeVeque 1983) and can be taken apart again:

    n = n_a + n_b,   D = μ_b - μ_a,   μ = μ_a + (n_b/n) D,   S = S_a + S_b + (n_a n_b/n) D Dᵀ.

Rows are centred before they are multiplied, so a large common offset costs no digits; a sum of raw squares
would lose them all.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg.blas import dsyr, dsyrk, ssyrk

BLOCK_BYTES = 1 << 25  # rows are gathered in dense blocks of about this size
SPARSE_PRODUCT_DENSITY = 0.05  # below it a product of sparse blocks beats a dense one
FILE_FORMAT = "vrspam.ClassMoments"
FILE_VERSION = 1


@dataclass
class _ClassStatistics:
    """Size, mean and scatter of one class; `scatter` is (d, d), or only its diagonal, of shape (d,)."""

    rows: int
    weight: float
    mean: np.ndarray
    scatter: np.ndarray

    @classmethod
    def empty(cls, n_features: int, full: bool) -> _ClassStatistics:
        shape = (n_features, n_features) if full else (n_features,)
        return cls(0, 0.0, np.zeros(n_features), np.zeros(shape, order="F"))

    def copy(self) -> _ClassStatistics:
        return _ClassStatistics(self.rows, self.weight, self.mean.copy(), self.scatter.copy(order="F"))

    def _rank_one(self, scale: float, v: np.ndarray) -> None:
        """scatter += scale · v vᵀ (both triangles)."""
        if self.scatter.ndim == 1:
            self.scatter += scale * v * v
        else:
            self.scatter += np.outer(scale * v, v).T

    def merge(self, other: _ClassStatistics) -> None:
        """Take in the statistics of other rows."""
        if other.weight == 0.0:
            return
        total = self.weight + other.weight
        shift = other.mean - self.mean
        self.scatter += other.scatter
        self._rank_one(self.weight * (other.weight / total), shift)
        self.mean += (other.weight / total) * shift
        self.rows += other.rows
        self.weight = total

    def remove(self, other: _ClassStatistics) -> None:
        """Take rows out again that were merged before."""
        if other.weight == 0.0:
            return
        rest = self.weight - other.weight
        if self.rows == other.rows or rest <= 0.0:
            self.rows, self.weight = 0, 0.0
            self.mean[:] = 0.0
            self.scatter[:] = 0.0
            return
        mean = self.mean + (other.weight / rest) * (self.mean - other.mean)
        self.scatter -= other.scatter
        self._rank_one(-rest * (other.weight / self.weight), other.mean - mean)
        # What is left of a variance that was taken out whole is rounding, and may be negative.
        diagonal = self.scatter if self.scatter.ndim == 1 else np.einsum("ii->i", self.scatter)
        np.maximum(diagonal, 0.0, out=diagonal)
        self.mean, self.rows, self.weight = mean, self.rows - other.rows, rest

    def add_rows(self, rows, weights: np.ndarray | None) -> None:
        """Take in one block of rows of this class (lower triangle of the scatter only, see `mirror`)."""
        m = rows.shape[0]
        if m == 0:
            return
        total = float(m if weights is None else weights.sum())
        share = np.full(m, 1.0 / total) if weights is None else weights / total
        centre, centred = _centre(rows, share)
        root = None if weights is None else np.sqrt(weights).astype(rows.dtype, copy=False)
        if root is not None:
            centred = _scale_rows(centred, root)
        # `centre` is the mean only up to rounding in the precision of the block: correct for what is left.
        left = np.ones(m, dtype=rows.dtype) if root is None else root
        residual = np.asarray(left @ centred, dtype=np.float64).ravel() / total
        mean = centre + residual
        shift = mean - self.mean
        pull = self.weight * (total / (self.weight + total))
        if self.scatter.ndim == 1:
            self.scatter += _column_squares(centred) - total * residual**2 + pull * shift**2
        else:
            self._add_gram(centred)
            self._subtract_lower(total, residual)
            self._subtract_lower(-pull, shift)
        self.mean += (total / (self.weight + total)) * shift
        self.weight += total
        self.rows += m

    def _add_gram(self, centred) -> None:
        """Lower triangle of scatter += centredᵀ centred; float32 blocks multiply in float32."""
        if sparse.issparse(centred):
            self.scatter += (centred.T @ centred).toarray()
        elif centred.dtype == np.float32:
            # Far from 1, a power of two brings the squares into float32's range and changes no digit.
            peak = max(float(centred.max()), -float(centred.min()))
            exponent = int(np.frexp(peak)[1])
            exponent = exponent if abs(exponent) > 40 else 0
            if exponent:
                centred = np.ldexp(centred, -exponent)
            gram = ssyrk(1.0, centred.T, lower=1)
            self.scatter += gram if exponent == 0 else np.ldexp(gram.astype(np.float64), 2 * exponent)
        else:
            self.scatter = dsyrk(1.0, centred.T, beta=1.0, c=self.scatter, lower=1, overwrite_c=1)

    def _subtract_lower(self, scale: float, v: np.ndarray) -> None:
        self.scatter = dsyr(-scale, v, lower=1, a=self.scatter, overwrite_a=1)

    def mirror(self) -> None:
        """Copy the lower triangle to the upper one after the last block."""
        if self.scatter.ndim == 2:
            for start in range(0, self.scatter.shape[0], 256):
                stop = start + 256
                block = self.scatter[start:stop, start:stop]
                block[...] = np.tril(block) + np.tril(block, -1).T
                self.scatter[start:stop, stop:] = self.scatter[stop:, start:stop].T


def _centre(rows, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(centre, rows - centre) for a block; the result is dense unless a sparse product will be cheaper.

    A sparse block is centred only in columns that are more than half full: in the others the mean is small
    against the root mean square, and subtracting it afterwards loses at most one bit.
    """
    share = share.astype(rows.dtype, copy=False)
    centre = np.asarray(share @ rows, dtype=rows.dtype).ravel()
    if sparse.issparse(rows):
        full = np.bincount(rows.indices, minlength=rows.shape[1]) > rows.shape[0] / 2
        centre = np.where(full, centre, 0).astype(rows.dtype)
        if full.any():
            rows = rows - sparse.csr_array(np.ones((rows.shape[0], 1), rows.dtype)) @ sparse.csr_array(
                centre[np.newaxis]
            )
    else:
        rows -= centre  # `rows` is a gathered copy
    return centre.astype(np.float64), rows


def _scale_rows(rows, factor: np.ndarray):
    if sparse.issparse(rows):
        return (sparse.diags_array(factor) @ rows).tocsr()
    rows *= factor[:, np.newaxis]
    return rows


def _column_squares(rows) -> np.ndarray:
    if sparse.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=0, dtype=np.float64)).ravel()
    return np.einsum("ij,ij->j", rows, rows, dtype=np.float64)


def _blocks(X, full: bool) -> Iterator[tuple[slice, Any]]:
    """Slices of rows small enough to be copied, each as an array or a CSR array."""
    n, d = X.shape
    sparse_blocks = False
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        sparse_blocks = not full or X.nnz < SPARSE_PRODUCT_DENSITY * n * max(d, 1)
    step = max(64, BLOCK_BYTES // (X.dtype.itemsize * max(d, 1)))
    if sparse_blocks:
        step = max(step, int(n * BLOCK_BYTES / (12 * (X.nnz + 1))))
    for start in range(0, n, step):
        block = X[start : start + step]
        yield (
            slice(start, start + step),
            block.toarray() if sparse.issparse(X) and not sparse_blocks else block,
        )


class ClassMoments:
    """Size, mean and scatter of each of two classes; they add over rows, and subtract again.

    Parameters
    ----------
    n_features : int, optional
        Number of features; taken from the first block when left out.
    classes : array-like of two labels, optional
        The labels (negative, positive) in sorted order; otherwise found as rows come in.
    scatter : bool, default=True
        Keep the d×d scatter of each class. With False only its diagonal is kept.

    Attributes
    ----------
    classes : ndarray
        The labels seen or given, sorted: the larger one is the positive class.
    n_features : int or None

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam import ClassMoments
    >>> X, y = np.arange(12.0).reshape(6, 2), np.array([0, 1, 0, 1, 1, 0])
    >>> a, b = ClassMoments.from_data(X[:4], y[:4]), ClassMoments.from_data(X[4:], y[4:])
    >>> a + b == ClassMoments.from_data(X, y)
    True
    >>> (a + b).delta
    array([0.66666667, 0.66666667])
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, n_features: int | None = None, *, classes=None, scatter: bool = True):
        self.n_features = n_features
        self.has_scatter = bool(scatter)
        self.classes = np.empty(0)
        self._stats: list[_ClassStatistics] = []
        self._given: np.ndarray | None = None
        if classes is not None:
            labels = np.unique(np.asarray(classes))
            if labels.size != 2:
                raise ValueError(f"classes must hold exactly two different labels, got {labels.tolist()}.")
            self._given = labels
        if n_features is not None:
            self._start()

    def _start(self) -> None:
        if self._given is not None and self.classes.size == 0:
            assert self.n_features is not None
            self.classes = self._given
            self._stats = [_ClassStatistics.empty(self.n_features, self.has_scatter) for _ in self.classes]

    @classmethod
    def from_data(cls, X, y, sample_weight=None, classes=None, scatter: bool = True) -> ClassMoments:
        """Moments of the rows of X (dense or sparse, float32 or float64) with labels y."""
        return cls(classes=classes, scatter=scatter).update(X, y, sample_weight)

    def update(self, X, y, sample_weight=None) -> ClassMoments:
        """Take in more rows, in place; bad input changes nothing."""
        return self.add_checked(*_check_rows(X, y, sample_weight))

    def add_checked(self, X, y: np.ndarray, weights: np.ndarray | None = None) -> ClassMoments:
        """`update` for data that an estimator has validated already: no second look for NaN."""
        if self.n_features is not None and X.shape[1] != self.n_features:
            raise ValueError(f"X has {X.shape[1]} features, but these moments have {self.n_features}.")
        labels = np.unique(y if weights is None else y[weights > 0])
        known = self.classes if self.classes.size or self._given is None else self._given
        classes = _union(known, labels)
        fresh = [_ClassStatistics.empty(X.shape[1], self.has_scatter) for _ in labels]
        # Rows of weight zero count for nothing, not even as rows.
        members = [(y == label) if weights is None else (y == label) & (weights > 0) for label in labels]
        for where, block in _blocks(X, self.has_scatter):
            for statistics, member in zip(fresh, members, strict=True):
                index = np.flatnonzero(member[where])
                rows = block[index] if sparse.issparse(block) else np.take(block, index, axis=0)
                statistics.add_rows(rows, None if weights is None else weights[where][index])
        for statistics in fresh:
            statistics.mirror()
            if not (np.isfinite(statistics.scatter).all() and np.isfinite(statistics.mean).all()):
                raise ValueError("The squares of the features overflow: rescale X so that its values stay below 1e150.")
        self.n_features = X.shape[1]
        self._start()
        self._widen(classes)
        for label, statistics in zip(labels, fresh, strict=True):
            slot = int(np.searchsorted(self.classes, label))
            if self._stats[slot].rows == 0:
                self._stats[slot] = statistics
            else:
                self._stats[slot].merge(statistics)
        return self

    def _widen(self, classes: np.ndarray) -> None:
        """Make room for labels not seen before."""
        assert self.n_features is not None
        old = {label: s for label, s in zip(self.classes.tolist(), self._stats, strict=True)}
        self._stats = [
            old[label] if label in old else _ClassStatistics.empty(self.n_features, self.has_scatter)
            for label in classes.tolist()
        ]
        self.classes = classes

    def copy(self) -> ClassMoments:
        """An independent copy."""
        new = ClassMoments(self.n_features, scatter=self.has_scatter)
        new._given, new.classes = self._given, self.classes
        new._stats = [s.copy() for s in self._stats]
        return new

    def _check_alike(self, other: ClassMoments) -> np.ndarray:
        if None not in (self.n_features, other.n_features) and self.n_features != other.n_features:
            raise ValueError(f"Moments of {self.n_features} and of {other.n_features} features cannot be combined.")
        if self.has_scatter != other.has_scatter:
            raise ValueError("Moments with and without scatter matrices cannot be combined.")
        return _union(self.classes, other.classes)

    def __add__(self, other: ClassMoments) -> ClassMoments:
        if not isinstance(other, ClassMoments):
            return NotImplemented
        classes = self._check_alike(other)
        if self.n_features is None:
            return other.copy()
        new = self.copy()
        new._widen(classes)
        for label, statistics in zip(other.classes, other._stats, strict=True):
            new._stats[int(np.searchsorted(classes, label))].merge(statistics)
        return new

    def __sub__(self, other: ClassMoments) -> ClassMoments:
        if not isinstance(other, ClassMoments):
            return NotImplemented
        classes = self._check_alike(other)
        new = self.copy()
        if other.n_features is None:
            return new
        if self.n_features is None:
            raise ValueError("Nothing can be subtracted from empty moments.")
        new._widen(classes)
        for label, statistics in zip(other.classes, other._stats, strict=True):
            mine = new._stats[int(np.searchsorted(classes, label))]
            if statistics.rows > mine.rows or statistics.weight > mine.weight * (1 + 1e-9):
                raise ValueError(
                    f"Subtracting would leave a negative count for class {label!r}: "
                    f"{mine.rows} rows (weight {mine.weight:g}) minus {statistics.rows} "
                    f"(weight {statistics.weight:g}); the right side must be part of the left."
                )
            mine.remove(statistics)
        return new

    def __eq__(self, other: object) -> bool:
        """Equal up to rounding, whatever the order in which rows were merged."""
        if not isinstance(other, ClassMoments):
            return NotImplemented
        if self.n_features != other.n_features or self.has_scatter != other.has_scatter:
            return False
        if not np.array_equal(self.classes, other.classes):
            return False
        return all(_same(a, b) for a, b in zip(self._stats, other._stats, strict=True))

    def __repr__(self) -> str:
        sizes = ", ".join(f"{c!r}: {s.rows}" for c, s in zip(self.classes.tolist(), self._stats, strict=True))
        return f"ClassMoments(n_features={self.n_features}, rows={{{sizes}}}, scatter={self.has_scatter})"

    # What the objective reads. Index 0 is the negative class, 1 the positive.

    @property
    def complete(self) -> bool:
        """Whether both classes have been seen."""
        return len(self._stats) == 2 and all(s.weight > 0 for s in self._stats)

    def _both(self) -> tuple[_ClassStatistics, _ClassStatistics]:
        if not self.complete:
            seen = [c for c, s in zip(self.classes.tolist(), self._stats, strict=True) if s.weight > 0]
            raise ValueError(
                f"AUC needs rows of two classes, but {'only ' + repr(seen[0]) if seen else 'none'} "
                "was seen with positive weight."
            )
        return self._stats[0], self._stats[1]

    @property
    def rows(self) -> np.ndarray:
        """Number of rows of each class (rows of weight 0 are not counted)."""
        return np.array([s.rows for s in self._stats])

    @property
    def weights(self) -> np.ndarray:
        """Total weight of each class."""
        return np.array([s.weight for s in self._stats])

    @property
    def means(self) -> np.ndarray:
        """Class means, shape (2, d)."""
        return np.stack([s.mean for s in self._both()])

    @property
    def p(self) -> float:
        """Weighted share of the positive class."""
        negative, positive = self._both()
        return positive.weight / (negative.weight + positive.weight)

    @property
    def delta(self) -> np.ndarray:
        """Mean of the positive class minus mean of the negative."""
        negative, positive = self._both()
        return positive.mean - negative.mean

    @property
    def within(self) -> np.ndarray:
        """Σ₊ + Σ₋, the sum of the class covariances, shape (d, d)."""
        if not self.has_scatter:
            raise ValueError("These moments were gathered with scatter=False: they hold no d×d matrix.")
        negative, positive = self._both()
        return negative.scatter / negative.weight + positive.scatter / positive.weight

    @property
    def within_diagonal(self) -> np.ndarray:
        """The diagonal of `within`."""
        variances = [(np.diagonal(s.scatter) if s.scatter.ndim == 2 else s.scatter) / s.weight for s in self._both()]
        return np.maximum(variances[0] + variances[1], 0.0)

    def save(self, path: str | os.PathLike) -> None:
        """Write to a NumPy archive (no pickle); an existing file is replaced only by a whole one."""
        labels = self.classes
        if labels.dtype == object:
            if not all(isinstance(label, str) for label in labels.tolist()):
                raise ValueError("Only numbers, booleans and strings can be saved as class labels.")
            labels = labels.astype(str)
        if self.n_features is None or not self._stats:
            raise ValueError("Empty moments cannot be saved: add rows first.")
        target = Path(path)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez(
                    file,
                    format=FILE_FORMAT,
                    version=FILE_VERSION,
                    classes=labels,
                    rows=self.rows,
                    weights=self.weights,
                    means=np.stack([s.mean for s in self._stats]),
                    scatters=np.stack([s.scatter for s in self._stats]),
                )
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise

    @classmethod
    def load(cls, path: str | os.PathLike) -> ClassMoments:
        """Read what `save` wrote; anything else is refused."""
        try:
            with np.load(path, allow_pickle=False) as archive:
                content = {name: archive[name] for name in archive.files}
            if str(content["format"]) != FILE_FORMAT:
                raise KeyError("format")
            version = int(content["version"])
            classes, means, scatters = content["classes"], content["means"], content["scatters"]
            rows, weights = content["rows"], content["weights"]
            count, d = means.shape
            whole = (
                1 <= count <= 2
                and classes.shape == rows.shape == weights.shape == (count,)
                and scatters.shape in ((count, d), (count, d, d))
                and all(np.isfinite(a).all() for a in (means, scatters, weights))
                and (rows >= 0).all()
                and (weights >= 0).all()
            )
        except FileNotFoundError:
            raise
        except (
            OSError,
            ValueError,
            KeyError,
            TypeError,
            EOFError,
            AttributeError,
            zipfile.BadZipFile,
            zlib.error,
        ):
            whole, version = False, FILE_VERSION
        if version > FILE_VERSION:
            raise ValueError(f"{path} was written by a newer version of vrspam: update the package to read it.")
        if not whole:
            raise ValueError(f"{path} is not a file of class moments, or it is damaged: save the moments again.")
        new = cls(d, scatter=scatters.ndim == 3)
        new.classes = classes
        new._stats = [
            _ClassStatistics(int(r), float(c), m.astype(np.float64), np.asfortranarray(s, dtype=np.float64))
            for r, c, m, s in zip(rows, weights, means, scatters, strict=True)
        ]
        return new


def _same(a: _ClassStatistics, b: _ClassStatistics) -> bool:
    """Equal to rounding, on the scale of each column's spread and mean."""
    if a.rows != b.rows or not np.isclose(a.weight, b.weight, rtol=1e-9):
        return False
    diagonals = [np.diagonal(s.scatter) if s.scatter.ndim == 2 else s.scatter for s in (a, b)]
    offset = 1e-9 * np.maximum(np.abs(a.mean), np.abs(b.mean))
    spread = np.sqrt(np.maximum(diagonals[0], diagonals[1]).clip(min=0.0)) + np.sqrt(max(a.weight, 1.0)) * offset
    if np.any(np.abs(a.mean - b.mean) > 1e-8 * spread / np.sqrt(max(a.weight, 1e-300)) + offset):
        return False
    scale = np.outer(spread, spread) if a.scatter.ndim == 2 else spread**2
    return bool(np.all(np.abs(a.scatter - b.scatter) <= 1e-7 * scale))


def _union(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.size == 0 or b.size == 0:
        return b if a.size == 0 else a
    if (a.dtype.kind in "OUS") != (b.dtype.kind in "OUS"):
        raise ValueError(f"Labels {a.tolist()} and {b.tolist()} are of different types.")
    union = np.union1d(a, b)
    if union.size > 2:
        raise ValueError(
            f"Only two classes are possible, got labels {union.tolist()}: these moments know {a.tolist()}, "
            f"the new ones {b.tolist()}."
        )
    return union


def _check_rows(X, y, sample_weight):
    """X as float array or CSR/CSC, y as a vector, weights as float64 or None."""
    X = X if sparse.issparse(X) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}.")
    if X.dtype.kind == "c":
        raise ValueError("Complex data is not supported: X must be real.")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    y = np.asarray(y)
    if y.ndim != 1 or y.shape[0] != X.shape[0]:
        raise ValueError(f"y must be one label for each of the {X.shape[0]} rows, got shape {y.shape}.")
    if np.unique(y).size > 2:
        raise ValueError(f"Only two classes are possible, got labels {np.unique(y).tolist()[:5]}.")
    if (
        not np.isfinite((X.data if sparse.issparse(X) else X).sum(dtype=np.float64))
        and not np.isfinite(X.data if sparse.issparse(X) else X).all()
    ):
        raise ValueError("X contains NaN or infinity: impute or drop those rows first.")
    if sample_weight is None:
        return X, y, None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != y.shape:
        raise ValueError(f"sample_weight must have one entry per row, got shape {weights.shape} for {y.shape[0]} rows.")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight must be finite and not negative.")
    return X, y, weights
