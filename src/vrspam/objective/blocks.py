"""Rows that come in blocks, from a stream or on a cluster: what a fit asks of them, and Σ as a sum over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from vrspam._utils.blas import blas_threads
from vrspam._utils.validation import Rows, error_in_block
from vrspam.moments import ClassMoments, PairSums
from vrspam.objective.products import WithinProducts

T = TypeVar("T")


class Block(NamedTuple):
    """Rows that were checked, the number of their block, by which errors name it, and their strata if they have any."""

    number: int
    rows: Rows
    strata: np.ndarray | None = None


class Blocks(Protocol):
    """Rows in blocks: of a stream, or on a cluster. They are read by `reduce` alone, and checked where they lie."""

    @property
    def n_features(self) -> int | None:
        """The number of columns; of a stream it is known after the first reading."""

    @property
    def feature_names(self) -> np.ndarray | None:
        """The names of the columns, known like their number; None where columns have no names."""

    @property
    def read_once(self) -> bool:
        """Whether the blocks can be read only once."""

    @property
    def for_maps(self) -> bool:
        """Whether the rows are for feature maps: their columns may have gaps."""

    def reduce(self, task: Callable[..., T], add: Callable[[T, T], T], *shared: Any) -> T:
        """The total of all blocks that have rows, in one reading; an error if none has.

        task(total, block, *shared) adds a block to the total of those before it, which is None for the first one;
        add(total, part) adds two totals. Both return the sum, and may change `total`. Shared values are sent once to
        each worker.
        """


def add_to_moments(moments: ClassMoments, block: Block, index: np.ndarray | None = None) -> ClassMoments:
    """Add a block, or its rows numbered by `index`, in place; an error names the block."""
    try:
        with blas_threads(columns=block.rows.X.shape[1]):
            return moments.add_checked(*block.rows, index=index)
    except ValueError as error:
        raise error_in_block(block.number, error) from error


class SummedWithin:
    """Σ as the sum of what each block adds to it: each product with a vector reads all blocks once."""

    def __init__(self, blocks: Blocks, moments: PairSums):
        self.blocks = blocks
        self.positive = moments.classes[1]
        self.means = moments.means
        self.weights = moments.weights

    def __matmul__(self, w: np.ndarray, /) -> np.ndarray:
        return self.product_and_square(w)[0]

    def product_and_square(self, w: np.ndarray) -> tuple[np.ndarray, float]:
        """Σw, and wᵀΣw as the sum of the squares of the scores."""
        return self.blocks.reduce(add_product_of_block, add_products, self.positive, self.means, self.weights, w)


Product = tuple[np.ndarray, float]  # Σw and wᵀΣw, or what some blocks add to them


def add_product_of_block(
    total: Product | None, block: Block, positive: Any, means: np.ndarray, sizes: np.ndarray, w: np.ndarray
) -> Product:
    """Add what a block adds to Σw and wᵀΣw; label, means and weights are those of the classes of all rows."""
    X, y, weights = block.rows
    part = WithinProducts(X, y == positive, weights, means, sizes).product_and_square(w)
    return part if total is None else add_products(total, part)


def add_products(total: Product, part: Product) -> Product:
    """The sums of both vectors and both numbers."""
    return total[0] + part[0], total[1] + part[1]
