"""Blocks of rows of a stream: validated, counted, and gone through once for moments or once for each product."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from sklearn.base import clone

from vrspam._utils import array_api
from vrspam._utils.progress import Progress
from vrspam._utils.validation import Rows
from vrspam.estimators._base import AUCClassifierBase
from vrspam.model_selection.sources import add_block
from vrspam.moments import ClassMoments
from vrspam.objective import WithinProducts

# Up to this many features two d×d matrices are kept and the data is read once; beyond, once for each product.
MOMENTS_MAX_FEATURES = 5_000


def validated_rows(estimator: AUCClassifierBase, number: int, X, y, weights=None, *, reset: bool = True) -> Rows | None:
    """One block by the estimator's rules, None if there is nothing in it; a refusal names the block."""
    if y is None:
        raise ValueError(f"Block {number} has no labels: name the label column when the file is opened.")
    if np.shape(y)[:1] == (0,) or (weights is not None and not np.any(array_api.on_host(weights))):
        return None  # rows of weight zero count for nothing
    try:
        return estimator._validate_rows(X, y, weights, reset=reset)
    except ValueError as error:
        raise ValueError(f"Block {number}: {error}") from error


class RowBlocks:
    """The blocks of a stream as validated rows; iterate as often as the stream itself can be.

    Parameters
    ----------
    estimator : AUCClassifierBase
        Its rules of validation apply. It is left as it is.
    chunks : iterable of (X, y) or (X, y, sample_weight)
    progress : bool
        Show rows per second, and the time left where `chunks` knows its number of rows (`n_rows`).
    """

    def __init__(self, estimator: AUCClassifierBase, chunks: Iterable, progress: bool = False):
        if not isinstance(chunks, Iterable):
            raise ValueError(f"chunks must be an iterable of (X, y) blocks, got {type(chunks).__name__}.")
        self.chunks, self.progress = chunks, progress
        self._validator = clone(estimator)
        self.n_features: int | None = None

    @property
    def one_shot(self) -> bool:
        """Whether the stream is gone once it has been read."""
        return iter(self.chunks) is self.chunks

    def __iter__(self) -> Iterator[Rows]:
        done = 0
        with Progress("fitting", getattr(self.chunks, "n_rows", None), "rows", self.progress) as bar:
            for number, chunk in enumerate(self.chunks):
                rows = self._validated(number, chunk)
                if rows is not None:
                    yield rows
                    done += rows.X.shape[0]
                    bar.update(done)
        if self.n_features is None:
            raise ValueError("There are no rows: chunks yielded no block with rows.")

    def _validated(self, number: int, chunk) -> Rows | None:
        if not isinstance(chunk, tuple | list) or len(chunk) not in (2, 3):
            raise ValueError(f"Block {number} must be a tuple (X, y) or (X, y, sample_weight).")
        rows = validated_rows(self._validator, number, *chunk, reset=self.n_features is None)
        if rows is not None:
            self.n_features = rows.X.shape[1]
        return rows

    def moments(self, most_once: int) -> ClassMoments:
        """Moments of all rows, in one pass: with scatter matrices up to 5,000 features, else with variances.

        A stream that is gone once it has been read needs the matrices, up to `most_once` features.
        """
        once = self.one_shot
        moments: ClassMoments | None = None
        for number, rows in enumerate(self):
            if moments is None:
                d = rows.X.shape[1]
                if once and d > most_once:
                    raise ValueError(
                        f"A stream that can be read only once needs two {d}×{d} matrices ({16 * d * d / 1e9:.0f} GB): "
                        "give chunks that can be gone through again (a list, vrspam.data.read_chunks)."
                    )
                moments = ClassMoments(d, scatter=once or d <= MOMENTS_MAX_FEATURES)
            add_block(moments, rows, number)
        assert moments is not None
        return moments


class BlockProducts:
    """Σ as a sum over the blocks of a stream: each multiplication reads the stream once."""

    def __init__(self, blocks: RowBlocks, moments: ClassMoments):
        self.blocks, self.moments = blocks, moments

    def __matmul__(self, w: np.ndarray, /) -> np.ndarray:
        classes, means, sizes = self.moments.classes, self.moments.means, self.moments.weights
        total = np.zeros_like(w)
        for X, y, weights in self.blocks:
            total += WithinProducts(X, y == classes[1], weights, means, sizes) @ w
        return total
