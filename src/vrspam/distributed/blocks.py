"""Dask arrays and data frames as blocks of rows, a function applied to each, and the results added up in a tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dask
import numpy as np
from dask import array as da
from dask.base import is_dask_collection

FAN_IN = 4  # results added by one task: what a worker holds beside its block


@dataclass(frozen=True)
class DaskBlocks:
    """Blocks of rows that lie on a cluster or in files; each part is a Dask task.

    Attributes
    ----------
    parts : list of (X, y, weights)
        Delayed blocks, `weights` delayed or None.
    n_features : int
    feature_names : ndarray of str or None
        The columns, for data frames.
    """

    parts: list[tuple[Any, Any, Any]]
    n_features: int
    feature_names: np.ndarray | None

    @classmethod
    def of(cls, X, y=None, sample_weight=None) -> DaskBlocks:
        """Cut X and what goes with it into the blocks of X."""
        if not is_dask_collection(X) or getattr(X, "ndim", None) != 2:
            raise ValueError(
                f"X must be a Dask array or data frame of two dimensions, got {type(X).__name__}; "
                "for data in memory use vrspam.AUCClassifier."
            )
        names = None
        if isinstance(X, da.Array):
            if np.isnan(X.shape[1]):
                raise ValueError("The number of columns of X is unknown: call X.compute_chunk_sizes() first.")
            if X.numblocks[1] != 1:
                X = X.rechunk({1: -1})
        elif all(isinstance(name, str) for name in X.columns):
            names = np.asarray(X.columns, dtype=object)
        blocks = _rows(X)
        columns = [
            [None] * len(blocks) if part is None else _alongside(part, X, len(blocks), name)
            for part, name in ((y, "y"), (sample_weight, "sample_weight"))
        ]
        parts = list(zip(blocks, *columns, strict=True))
        return cls(parts, int(X.shape[1]), names)

    def reduce(self, task: Callable, add: Callable, *shared) -> Any:
        """add(...add(task(number, X, y, weights, *shared)...)) over all blocks: one pass, one result.

        `add` takes a list of results. What is shared travels once to each worker.
        """
        sent = [dask.delayed(value, pure=False) for value in shared]
        run, join = dask.delayed(task, pure=False), dask.delayed(add, pure=False)
        level = [run(number, *part, *sent) for number, part in enumerate(self.parts)]
        while len(level) > 1:
            level = [join(level[start : start + FAN_IN]) for start in range(0, len(level), FAN_IN)]
        return level[0].compute()


def _rows(collection) -> list:
    """The blocks of a collection, top to bottom."""
    blocks = collection.to_delayed()
    return list(np.asarray(blocks, dtype=object).ravel())


def _alongside(part, X, n_blocks: int, name: str) -> list:
    """Blocks of labels or weights that go with the blocks of X."""
    if not is_dask_collection(part):
        sizes = X.chunks[0] if isinstance(X, da.Array) else (np.nan,)
        if np.isnan(sizes).any():
            raise ValueError(
                f"{name} is in memory but the block sizes of X are unknown: call X.compute_chunk_sizes() first, or "
                f"give {name} as a Dask array or series with the blocks of X."
            )
        part = np.asarray(part)
        if part.shape[:1] != (sum(sizes),):
            raise ValueError(f"{name} has {part.shape[:1]} rows, X has {sum(sizes)}.")
        part = da.from_array(part, chunks=(sizes, *part.shape[1:]))
    elif isinstance(part, da.Array) and isinstance(X, da.Array) and part.chunks[0] != X.chunks[0]:
        known = not np.isnan([*part.chunks[0], *X.chunks[0]]).any()
        if known and sum(part.chunks[0]) != sum(X.chunks[0]):
            raise ValueError(f"{name} has {sum(part.chunks[0])} rows, X has {sum(X.chunks[0])}.")
        if known:
            part = part.rechunk({0: X.chunks[0]})
    blocks = _rows(part)
    if len(blocks) != n_blocks:
        raise ValueError(f"{name} has {len(blocks)} blocks, X has {n_blocks}: repartition one like the other.")
    return blocks
