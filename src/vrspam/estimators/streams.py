"""Streams as `Blocks`: chunks are checked in their order, and strata that go on in the next chunk are put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import numpy as np
from scipy import sparse
from sklearn.base import clone

from vrspam._utils import array_api
from vrspam._utils.progress import Progress
from vrspam._utils.validation import Rows, error_in_block
from vrspam.estimators.base import PairwiseEstimator
from vrspam.objective.blocks import Block

T = TypeVar("T")


def check_block(
    estimator: PairwiseEstimator,
    number: int,
    X: Any,
    y: Any,
    weights: Any = None,
    strata: Any = None,
    **options: Any,
) -> Block | None:
    """A block, its rows checked as `estimator` checks rows; None if no row has weight. An error names the block."""
    if y is None:
        raise ValueError(f"Block {number} has no labels: name the label column when the file is opened.")
    if np.shape(y)[:1] == (0,) or (weights is not None and not np.any(array_api.on_host(weights))):
        return None  # rows of weight zero count for nothing
    try:
        rows = estimator._validate_rows(X, y, weights, **options)
    except ValueError as error:
        raise error_in_block(number, error) from error
    return Block(number, rows, None if strata is None else np.asarray(strata))


class StreamBlocks:
    """A stream as `Blocks`: chunks are checked as `estimator` checks rows, and `reduce` is a loop over them.

    It can be read as often as the stream itself. A block with strata has all rows of each of them.
    """

    for_maps = False

    def __init__(
        self, estimator: PairwiseEstimator, chunks: Iterable, progress: bool = False, takes_strata: bool = False
    ):
        if not isinstance(chunks, Iterable):
            raise ValueError(f"chunks must be an iterable of (X, y) blocks, got {type(chunks).__name__}.")
        self.chunks = chunks
        self.progress = progress
        self.takes_strata = takes_strata
        self.read_once = iter(chunks) is chunks
        self.n_features: int | None = None
        self.sparse = False  # whether any block is sparse
        self._validator = clone(estimator)
        self._said: set[Any] = set()  # columns that a warning has named

    @property
    def feature_names(self) -> np.ndarray | None:
        """The names of the columns, if the blocks are frames."""
        return getattr(self._validator, "feature_names_in_", None)

    def reduce(self, task: Callable[..., T], add: Callable[[T, T], T], *shared: Any) -> T:
        """The total of all blocks, to which they are added one after the other."""
        total: T | None = None
        for block in self:
            total = task(total, block, *shared)
        assert total is not None
        return total

    def __iter__(self) -> Iterator[Block]:
        """The blocks that have rows; an error if none has."""
        return whole_strata(self._checked_blocks())

    def _checked_blocks(self) -> Iterator[Block]:
        n_rows = 0
        with Progress("fitting", getattr(self.chunks, "n_rows", None), "rows", self.progress) as bar:
            for number, chunk in enumerate(self.chunks):
                block = self._checked(number, chunk)
                if block is None:
                    continue
                self.n_features = block.rows.X.shape[1]
                self.sparse = self.sparse or sparse.issparse(block.rows.X)
                yield block
                n_rows += block.rows.X.shape[0]
                bar.update(n_rows)
        if self.n_features is None:
            raise ValueError("There are no rows: chunks yielded no block with rows.")

    def _checked(self, number: int, chunk: Any) -> Block | None:
        """A chunk as a block; None if it has no rows."""
        if not isinstance(chunk, tuple | list) or len(chunk) not in (2, 3, 4):
            raise ValueError(
                f"Block {number} must be a tuple (X, y), (X, y, sample_weight) or (X, y, sample_weight, strata)."
            )
        if len(chunk) == 4 and not self.takes_strata:
            raise ValueError(
                f"Block {number} has strata, which only AUCClassifier.fit_stream takes from a stream: "
                f"{type(self._validator).__name__}.fit takes them with all rows in memory."
            )
        strata = None if len(chunk) < 4 else np.asarray(chunk[3])
        if strata is not None and strata.shape != np.shape(chunk[1])[:1]:
            raise ValueError(f"Block {number}: strata has shape {strata.shape}; it needs one entry for each row.")
        X, y, weights = (*chunk[:3], None)[:3]
        is_first = self.n_features is None
        return check_block(self._validator, number, X, y, weights, strata, reset=is_first, said=self._said)


def whole_strata(blocks: Iterable[Block]) -> Iterator[Block]:
    """The same rows, cut so that a block with strata has all rows of each: its last stratum goes on to the next one."""
    last: Block | None = None  # rows of a stratum that may go on
    has_strata: bool | None = None
    for block in blocks:
        if has_strata is None:
            has_strata = block.strata is not None
        if has_strata != (block.strata is not None):
            raise ValueError(f"Block {block.number}: give either all blocks their strata, or none.")
        if block.strata is None:
            yield block
            continue
        if last is not None:
            block = joined(last, block)
        assert block.strata is not None
        goes_on = block.strata == block.strata[-1]
        last = part_of(block, goes_on)
        if not goes_on.all():
            yield part_of(block, ~goes_on)
    if last is not None:
        yield last


def joined(first: Block, second: Block) -> Block:
    """The rows of two blocks with strata, under the number of the second."""
    X = first.rows.X, second.rows.X
    if sparse.issparse(X[0]) or sparse.issparse(X[1]):
        rows = sparse.vstack([sparse.csr_array(X[0]), sparse.csr_array(X[1])], format="csr")
    else:
        rows = np.concatenate(X)
    weights = None
    if first.rows.weights is not None or second.rows.weights is not None:
        weights = np.concatenate([weights_of(first.rows), weights_of(second.rows)])
    y = np.concatenate([first.rows.y, second.rows.y])
    strata = np.concatenate([first.strata, second.strata])
    return Block(second.number, Rows(rows, y, weights), strata)


def weights_of(rows: Rows) -> np.ndarray:
    """The weights of rows; without any, each row counts once."""
    return np.ones(rows.y.shape) if rows.weights is None else rows.weights


def part_of(block: Block, chosen: np.ndarray) -> Block:
    """Some rows of a block with strata."""
    assert block.strata is not None
    X, y, weights = block.rows
    rows = Rows(X[chosen], y[chosen], None if weights is None else weights[chosen])
    return block._replace(rows=rows, strata=block.strata[chosen])
