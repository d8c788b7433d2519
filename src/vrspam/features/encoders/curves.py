"""`Curves`: several piecewise linear functions of one numeric column."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np

from vrspam import kernels
from vrspam._utils.kept import kept_for
from vrspam._utils.stored import NEVER, WholeNumbers
from vrspam.features.encoders.distribution import LARGEST

HALF_OF_FLOAT32 = float(np.finfo(np.float32).max) / 2.0
BINS = 4096  # in which the nodes of a column are looked up


class Nodes(NamedTuple):
    """Increasing nodes in one precision, as `vrspam.kernels.write_curves` looks them up."""

    nodes: np.ndarray
    steps: np.ndarray  # the distances between them
    bins: np.ndarray  # the nodes that each bin may hold
    per_bin: Any


def prepare_nodes(nodes: np.ndarray, dtype: np.dtype) -> Nodes:
    """Nodes in the precision of the numbers that are looked up."""
    kind = dtype.type
    # beyond half its range float32 is not used
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        rounded = nodes.astype(kind)
        steps = np.diff(rounded) if rounded.size > 1 else np.ones(1, kind)
        steps[~(steps > 0.0)] = 1.0  # two nodes may be one in float32
        last = steps.size - 1
        per_bin = kind(BINS / (rounded[last].astype(np.float64) - rounded[0]))
    if last == 0 or not (np.isfinite(per_bin) and per_bin > 0.0):
        return Nodes(rounded, steps, np.array([[0, last]], dtype=np.int32), kind(0.0))
    # A little beyond the ends of each bin, because numbers are rounded.
    ends = float(rounded[0]) + (np.arange(BINS)[:, np.newaxis] + [-2e-3, 1.002]) / float(per_bin)
    places = np.searchsorted(rounded[: last + 1].astype(np.float64), ends, side="right") - 1
    bins = np.clip(places, 0, last).astype(np.int32)
    # All bins get the length of the longest: a search with a constant number of steps suits the branch prediction of
    # the processor.
    longest = int((bins[:, 1] - bins[:, 0]).max())
    bins[:, 0] = np.minimum(bins[:, 0], last - longest)
    bins[:, 1] = bins[:, 0] + longest
    return Nodes(rounded, steps, bins, per_bin)


def lines_of(table: np.ndarray, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """The functions at the nodes, and their steps from node to node; a single node is repeated."""
    lines = np.ascontiguousarray(np.vstack([table, table]) if len(table) == 1 else table)
    return lines.astype(dtype, copy=False), np.diff(lines, axis=0).astype(dtype, copy=False)


@dataclass(frozen=True, eq=False)
class Curves:
    """Several piecewise linear functions of one numeric column, and an indicator of missing values."""

    nodes: np.ndarray  # (k,): increasing values of the column
    table: np.ndarray  # (k, q): the q functions at the nodes
    labels: tuple[str, ...]  # what each function is called
    # whether values were missing in fit: then one more feature is the indicator of missing values. All functions
    # are 0, which is their mean, at a missing value
    missing: bool
    # whether the functions continue as straight lines outside the nodes; otherwise they are constant there
    extend: bool = False
    # whether these lines stop: more than one range beyond the nodes, the functions are constant
    limited: bool = False
    # (k,): for trees that take the numbers as names, the code of each node; a value that is no node counts as missing
    names_as: WholeNumbers | None = None
    # v = rising @ coef are coefficients of rising functions, so that v ≥ 0 means a curve that rises
    rising: Annotated[np.ndarray | None, NEVER] = field(default=None, repr=False)

    def check(self) -> None:
        """Refuse nodes that do not increase, functions of another number, and codes that are none."""
        if self.nodes.ndim != 1 or self.nodes.size == 0 or self.table.shape != (self.nodes.size, len(self.labels)):
            raise ValueError(f"curves of shape {self.table.shape} do not fit nodes of shape {self.nodes.shape}")
        if not (np.diff(self.nodes) > 0.0).all():
            raise ValueError("curves need finite numbers at increasing nodes")
        if len(set(self.labels)) < len(self.labels):
            raise ValueError("labels must be different texts")
        names = self.names_as
        if names is not None and (names.shape != self.nodes.shape or names.min() < 0):
            raise ValueError("numbers that are names need a code each")

    @property
    def width(self) -> int:
        """Number of features."""
        return self.table.shape[1] + self.missing

    @property
    def limits(self) -> tuple[float, float] | None:
        """The range outside of which the functions are constant, if they go on as lines that end; None otherwise."""
        if not (self.extend and self.limited and self.nodes.size > 1):
            return None
        low, high = float(self.nodes[0]), float(self.nodes[-1])
        width = min(high - low, LARGEST)
        return max(low - width, -LARGEST), min(high + width, LARGEST)

    def names(self, column: str) -> list[str]:
        """Name of each feature."""
        names = [f"{column}_{label}" if label else column for label in self.labels]
        if self.missing:
            names.append(f"{column}_missing")
        return names

    def write(self, values: np.ndarray, out: np.ndarray) -> None:
        """Fill `out` (rows × width) with the features of `values`."""
        n_functions = self.table.shape[1]
        limits = self.limits
        if limits is not None:
            values = np.clip(values, *limits)
        # Where other columns are double this one is too; differences of very large numbers may overflow in float32.
        if out.dtype == np.float64 or max(-self.nodes[0], self.nodes[-1]) > HALF_OF_FLOAT32:
            values = values.astype(np.float64, copy=False)
        nodes = kept_for(self.nodes, values.dtype, partial(prepare_nodes, self.nodes, values.dtype))
        table, steps = kept_for(self.table, out.dtype, partial(lines_of, self.table, out.dtype))
        functions = out[:, :n_functions]
        kernels.write_curves(np.ascontiguousarray(values), *nodes, table, steps, self.extend, functions)
        if self.missing:
            out[:, n_functions] = np.isnan(values)
