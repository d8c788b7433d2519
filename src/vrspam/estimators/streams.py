"""Rows that come block by block, validated as an estimator does: sums over a stream, and over its strata."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone

from vrspam._utils import array_api, validation
from vrspam._utils.progress import Progress
from vrspam._utils.validation import Rows, error_in_block
from vrspam._utils.warnings import StrataWithoutPairs, warn
from vrspam.estimators.base import PairwiseEstimator
from vrspam.model_selection.block_source import add_block
from vrspam.moments import ClassMoments, PairMoments, PairSums, RankedPairs
from vrspam.objective import WithinProducts
from vrspam.solvers import MOMENTS_MAX_FEATURES_DENSE


def validated_rows(estimator: PairwiseEstimator, number: int, X, y, weights=None, **options: Any) -> Rows | None:
    """One block, validated as the estimator does; None if it has no rows with weight. An error names the block."""
    if y is None:
        raise ValueError(f"Block {number} has no labels: name the label column when the file is opened.")
    if np.shape(y)[:1] == (0,) or (weights is not None and not np.any(array_api.on_host(weights))):
        return None  # rows of weight zero count for nothing
    try:
        return estimator._validate_rows(X, y, weights, **options)
    except ValueError as error:
        raise error_in_block(number, error) from error


class RowBlocks:
    """The blocks of a stream as rows, validated as `estimator` does; they can be iterated as often as the stream."""

    def __init__(
        self, estimator: PairwiseEstimator, chunks: Iterable, progress: bool = False, takes_strata: bool = False
    ):
        if not isinstance(chunks, Iterable):
            raise ValueError(f"chunks must be an iterable of (X, y) blocks, got {type(chunks).__name__}.")
        self.chunks, self.progress, self.takes_strata = chunks, progress, takes_strata
        self.one_shot = iter(chunks) is chunks  # whether the stream can be read only once
        self._validator = clone(estimator)
        self.n_features: int | None = None
        self.sparse = False  # whether any block is sparse
        self.number = 0  # of the block that was read last, and its strata
        self.strata: np.ndarray | None = None
        self._said: set[Any] = set()  # columns that a warning has named

    def __iter__(self) -> Iterator[Rows]:
        done = 0
        with Progress("fitting", getattr(self.chunks, "n_rows", None), "rows", self.progress) as bar:
            for number, chunk in enumerate(self.chunks):
                self.number = number
                if not isinstance(chunk, tuple | list) or len(chunk) not in (2, 3, 4):
                    raise ValueError(
                        f"Block {number} must be a tuple (X, y), (X, y, sample_weight) or (X, y, sample_weight, "
                        "strata)."
                    )
                if len(chunk) == 4 and not self.takes_strata:
                    raise ValueError(
                        f"Block {number} has strata, which only AUCClassifier.fit_stream takes from a stream: "
                        f"{type(self._validator).__name__}.fit takes them with all rows in memory."
                    )
                self.strata = None if len(chunk) < 4 else np.asarray(chunk[3])
                if self.strata is not None and self.strata.shape != np.shape(chunk[1])[:1]:
                    raise ValueError(
                        f"Block {number}: strata has shape {self.strata.shape}; it needs one entry for each row."
                    )
                new = self.n_features is None
                rows = validated_rows(self._validator, number, *chunk[:3], reset=new, said=self._said)
                if rows is not None:
                    self.n_features, self.sparse = rows.X.shape[1], self.sparse or sparse.issparse(rows.X)
                    yield rows
                    done += rows.X.shape[0]
                    bar.update(done)
        if self.n_features is None:
            raise ValueError("There are no rows: chunks yielded no block with rows.")

    @property
    def feature_names(self) -> np.ndarray | None:
        """The names of the columns, if the blocks are frames."""
        return getattr(self._validator, "feature_names_in_", None)

    def moments(self, most_once: int) -> PairSums:
        """Moments of all rows, in one pass, with scatter matrices up to 5,000 features.

        Those of strata, and of a stream that can be read only once, always have matrices, of at most `most_once`
        features.
        """
        moments: ClassMoments | None = None
        inside, held = PairsOfStrata(None, frozenset(), 0, 0), None
        same = getattr(self._validator, "strata_weight", "pairs") == "strata"
        for rows in self:
            if (held if self.strata is None else moments) is not None:
                raise ValueError(f"Block {self.number}: give either all blocks their strata, or none.")
            d = rows.X.shape[1]
            if d > most_once and (self.one_shot or self.strata is not None):
                what, way = "has strata", "use fit with all rows in memory"
                if self.strata is None:
                    what = "can be read only once"
                    way = "give chunks that can be gone through again (a list, vrspam.data.read_chunks)"
                raise ValueError(f"A stream that {what} needs two {d}×{d} matrices ({16 * d * d / 1e9:.0f} GB): {way}.")
            if self.strata is not None:
                done, held = whole_strata(held, rows, self.strata)
                inside = inside.with_block(self.number, *done, same)
                continue
            if moments is None:
                moments = ClassMoments(d, scatter=self.one_shot or d <= MOMENTS_MAX_FEATURES_DENSE)
            add_block(moments, rows, self.number)
        if held is not None:
            return inside.with_block(self.number, *held, same).checked()
        assert moments is not None
        return moments


def whole_strata(
    held: tuple[Rows, np.ndarray] | None, rows: Rows, strata: np.ndarray
) -> tuple[tuple[Rows, np.ndarray], tuple[Rows, np.ndarray]]:
    """Split `held` and new rows: those of strata that have ended, and those of the last stratum, which may go on."""
    if held is not None:
        (X, y, weights), names = held
        both, mixed = (X, rows.X), sparse.issparse(X) or sparse.issparse(rows.X)
        joined = sparse.vstack(list(map(sparse.csr_array, both)), format="csr") if mixed else np.concatenate(both)
        if weights is not None or rows.weights is not None:  # rows without a weight count once
            each = zip((weights, rows.weights), (y, rows.y), strict=True)
            weights = np.concatenate([np.ones(np.shape(of)) if given is None else given for given, of in each])
        rows, strata = Rows(joined, np.concatenate([y, rows.y]), weights), np.concatenate([names, strata])
    ended = strata != strata[-1]
    done, last = (
        (Rows(rows.X[some], rows.y[some], None if rows.weights is None else rows.weights[some]), strata[some])
        for some in (ended, ~ended)
    )
    return done, last


class PairsOfStrata(NamedTuple):
    """Sums over pairs inside whole strata, the strata's names, and the numbers of strata, and rows, without pairs."""

    moments: PairMoments | None
    names: frozenset
    without: int
    rows: int

    @classmethod
    def of(cls, rows: Rows, strata: Any, same: bool) -> PairsOfStrata:
        """The sums of a block that holds all rows of its strata."""
        numbers = validation.numbers_of(strata, rows.X.shape[0], "strata", "stratum")
        labels, rank = np.unique(array_api.on_host(rows.y), return_inverse=True)
        pairs = RankedPairs(rank.astype(np.float64), np.ones(rank.size, dtype=bool), numbers, same)
        without = np.flatnonzero(pairs.pairs_of_strata(rows.weights) == 0.0)
        moments = PairMoments.of_pairs(pairs, rows.X, rows.weights, classes=labels)
        lost = int(np.isin(numbers, without).sum())
        return cls(moments, frozenset(np.asarray(strata).tolist()), without.size, lost)

    def with_block(self, number: int, rows: Rows, strata: np.ndarray, same: bool) -> PairsOfStrata:
        """The sum with a block of whole strata; an error names the block."""
        try:
            return self + self.of(rows, strata, same) if strata.size else self
        except ValueError as error:
            raise error_in_block(number, error) from error

    def __add__(self, other: PairsOfStrata) -> PairsOfStrata:  # type: ignore[override]
        """The sum; an error if a stratum is in both."""
        if both := self.names & other.names:
            raise ValueError(f"Rows of the stratum {next(iter(both))!r} lie apart: sort the rows by their strata.")
        if self.moments is None or other.moments is None:
            return other if self.moments is None else self
        counts = self.without + other.without, self.rows + other.rows
        return PairsOfStrata(self.moments + other.moments, self.names | other.names, *counts)

    def checked(self) -> PairMoments:
        """The sums; an error if there is no pair, a warning if strata have none."""
        if self.moments is None or not self.moments.complete:
            raise ValueError("No two rows can be compared: no stratum has rows of both classes.")
        if self.without:
            warn(StrataWithoutPairs(self.without, len(self.names), self.rows))
        return self.moments


class BlockProducts:
    """Σ as a sum over the blocks of a stream: each multiplication reads the stream once."""

    def __init__(self, blocks: RowBlocks, moments: PairSums):
        self.blocks, self.moments = blocks, moments

    def __matmul__(self, w: np.ndarray, /) -> np.ndarray:
        return self.product_and_square(w)[0]

    def product_and_square(self, w: np.ndarray) -> tuple[np.ndarray, float]:
        """Σw, and wᵀΣw as the sum of the squares of the scores."""
        classes, means, sizes = self.moments.classes, self.moments.means, self.moments.weights
        total, squares = np.zeros_like(w), 0.0
        for X, y, weights in self.blocks:
            product, square = WithinProducts(X, y == classes[1], weights, means, sizes).product_and_square(w)
            total += product
            squares += square
        return total, squares
