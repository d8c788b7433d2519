"""How one column is encoded: its distribution, piecewise linear functions of a number, or indicators of categories.

`see_numbers` and `see_categories` summarise a column in fit; maps make the encoders from these summaries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from vrspam import kernels
from vrspam._utils.messages import Parameter, WordedError
from vrspam.tables import frames
from vrspam.tables.kinds import NEARLY_ALL

N_NODES = 256
LARGEST = float(np.finfo(np.float64).max) / 2.0  # differences of larger numbers may be infinite


class NearlyAllDiffer(WordedError):
    """A column of categories differs in nearly every row."""


class Distribution(NamedTuple):
    """Summary of a numeric column."""

    values: np.ndarray  # (k,): increasing: all values that occur, or about `N_NODES` quantiles where there are more
    ranks: np.ndarray  # (k,): (rows below + half the rows that are equal) / rows, strictly between 0 and 1
    shares: np.ndarray  # (k,): share of the rows that each value stands for
    mean: float  # of all rows
    deviation: float  # of all rows; 0 means that the column is constant


def distribution(column: np.ndarray, weights: np.ndarray | None = None) -> Distribution:
    """Summarise the numbers of a column (no NaN), with positive weights of its rows if they are given.

    >>> seen = distribution(np.array([3.0, 1.0, 3.0, 7.0]))
    >>> seen.values.tolist(), seen.ranks.tolist(), seen.shares.tolist()
    ([1.0, 3.0, 7.0], [0.125, 0.5, 0.875], [0.25, 0.5, 0.25])
    """
    if column.size == 0:
        return Distribution(np.zeros(1), np.full(1, 0.5), np.ones(1), 0.0, 0.0)
    if weights is None:
        ordered, mass = np.sort(column).astype(np.float64), np.full(column.size, 1.0 / column.size)
    else:
        order = np.argsort(column)
        ordered, mass = column[order].astype(np.float64), weights[order] / weights.sum()
    # A power of two keeps squares of very large and very small numbers within range and changes no digit.
    if spread_is_rounding(ordered, column.dtype):
        return Distribution(ordered[-1:], np.full(1, 0.5), np.ones(1), float(ordered[-1]), 0.0)  # none is above it
    exponent = int(np.frexp(max(abs(ordered[0]), abs(ordered[-1])))[1])
    exponent = exponent if abs(exponent) >= 400 else 0  # squares of numbers below 2^400 are far from overflow
    scaled = np.ldexp(ordered, -exponent) if exponent else ordered
    mean = mass @ scaled
    deviation = float(np.ldexp(np.sqrt(mass @ (scaled - mean) ** 2), exponent))
    first = np.flatnonzero(np.concatenate([[True], np.diff(ordered) > 0.0]))
    values, shares = ordered[first], np.add.reduceat(mass, first)
    upto = np.cumsum(shares)
    ranks = np.clip(upto - shares / 2.0, 0.0, 1.0)  # rounding may go beyond 0 and 1
    if values.size > N_NODES:
        some = np.searchsorted(upto, np.linspace(0.0, upto[-1], N_NODES) * (1.0 - 1e-9))
        some = np.unique(np.concatenate([some, [values.size - 1]]))
        between = np.diff(upto[some]) - shares[some[1:]]
        values, ranks, shares = values[some], ranks[some], shares[some]
        # half of the rows between two values goes to each
        shares[:-1] += between / 2.0
        shares[1:] += between / 2.0
    return Distribution(values, ranks, shares, float(np.ldexp(mean, exponent)), deviation if values.size > 1 else 0.0)


def spread_is_rounding(ordered: np.ndarray, dtype: np.dtype) -> bool:
    """Whether sorted numbers differ by a few roundings at most, so that they are one number; whole numbers differ.

    >>> spread_is_rounding(np.array([0.1 + 0.2, 0.3])[::-1], np.dtype(float))
    True
    """
    few_roundings = 4.0
    low, high = float(ordered[0]), float(ordered[-1])
    if dtype.kind != "f" or high - low > few_roundings * float(np.finfo(dtype).eps) * max(abs(low), abs(high)):
        return False
    return low < high and not np.array_equal(ordered, np.floor(ordered))


HALF_OF_FLOAT32 = float(np.finfo(np.float32).max) / 2.0
BINS = 4096  # in which the nodes of a column are looked up


class Nodes(NamedTuple):
    """Increasing nodes in one precision, as `vrspam.kernels.write_curves` looks them up."""

    nodes: np.ndarray
    steps: np.ndarray  # the distances between them
    bins: np.ndarray  # the nodes that each bin may hold
    per_bin: Any


@dataclass(frozen=True)
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
    names_as: np.ndarray | None = None
    # not stored: v = rising @ coef are coefficients of rising functions, so that v ≥ 0 means a curve that rises
    rising: np.ndarray | None = field(default=None, compare=False, repr=False)
    # not stored: `lookups` has the nodes in each precision used, shared by curves of the same nodes; `made` has what
    # else was computed from the fields
    lookups: dict[Any, Nodes] = field(default_factory=dict, compare=False, repr=False)
    made: dict[Any, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """What is stored: the fields, not what is computed from them."""
        return {**self.__dict__, "lookups": {}, "made": {}}

    @property
    def width(self) -> int:
        """Number of features."""
        return self.table.shape[1] + self.missing

    @cached_property
    def limits(self) -> tuple[float, float] | None:
        """The range outside of which the functions are constant, if they go on as lines that end; None otherwise."""
        if not (self.extend and self.limited and self.nodes.size > 1):
            return None
        low, high = float(self.nodes[0]), float(self.nodes[-1])
        width = min(high - low, LARGEST)
        return max(low - width, -LARGEST), min(high + width, LARGEST)

    def names(self, column: str) -> list[str]:
        """Name of each feature."""
        shown = [f"{column}_{label}" if label else column for label in self.labels]
        return [*shown, f"{column}_missing"] if self.missing else shown

    def write(self, values: np.ndarray, out: np.ndarray) -> None:
        """Fill `out` (rows × width) with the features of `values`."""
        q = self.table.shape[1]
        values = values if self.limits is None else np.clip(values, *self.limits)
        # Where other columns are double this one is too; differences of very large numbers may overflow in float32.
        if out.dtype == np.float64 or max(-self.nodes[0], self.nodes[-1]) > HALF_OF_FLOAT32:
            values = values.astype(np.float64, copy=False)
        if values.dtype not in self.lookups:
            dtype = values.dtype.type
            # beyond half its range float32 is not used
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                nodes = self.nodes.astype(dtype)
                steps = np.diff(nodes) if nodes.size > 1 else np.ones(1, dtype)
                steps[~(steps > 0.0)] = 1.0  # two nodes may be one in float32
                last = steps.size - 1
                per_bin = dtype(BINS / (nodes[last].astype(np.float64) - nodes[0]))
            bins = np.array([[0, last]], dtype=np.int32)
            if last == 0 or not (np.isfinite(per_bin) and per_bin > 0.0):
                per_bin = dtype(0.0)
            else:
                # A little beyond the ends of each bin, because numbers are rounded.
                ends = float(nodes[0]) + (np.arange(BINS)[:, np.newaxis] + [-2e-3, 1.002]) / float(per_bin)
                places = np.searchsorted(nodes[: last + 1].astype(np.float64), ends, side="right") - 1
                bins = np.clip(places, 0, last).astype(np.int32)
                # All bins get the length of the longest: a search with a constant number of steps suits the branch
                # prediction of the processor.
                longest = int((bins[:, 1] - bins[:, 0]).max())
                bins[:, 0] = np.minimum(bins[:, 0], last - longest)
                bins[:, 1] = bins[:, 0] + longest
            self.lookups[values.dtype] = Nodes(nodes, steps, bins, per_bin)
        if ("table", out.dtype) not in self.made:  # with its steps from node to node; a single node is repeated
            lines = np.vstack([self.table, self.table[-1:]]) if self.nodes.size == 1 else self.table
            lines = np.ascontiguousarray(lines)
            both = lines, np.diff(lines, axis=0)
            self.made["table", out.dtype] = tuple(part.astype(out.dtype, copy=False) for part in both)
        found, (table, rises) = self.lookups[values.dtype], self.made["table", out.dtype]
        kernels.write_curves(np.ascontiguousarray(values), *found, table, rises, self.extend, out[:, :q])
        if self.missing:
            out[:, q] = np.isnan(values)

    def to_dict(self) -> dict[str, Any]:
        """Return plain arrays and values."""
        plain = {"kind": "curves", "nodes": self.nodes, "table": self.table, "labels": list(self.labels)}
        named = {} if self.names_as is None else {"names_as": self.names_as}
        return {**plain, "missing": self.missing, "extend": self.extend, "limited": self.limited, **named}


@dataclass(frozen=True)
class Indicators:
    """One feature for each category, 0 or its scale; an unseen category is all zeros or, if `grouped`, a rare one."""

    # if there were too many, the last one stands for all categories that are rare or were not seen before
    categories: tuple[str, ...]
    missing: bool  # whether values were missing in fit: they are a category of their own, the last
    scale: tuple[float, ...] = ()  # the value of each feature in rows of its category; empty for 1
    grouped: int = 0  # how many rare categories the last one stands for; 0 where it is a category like the others

    def __getstate__(self) -> dict[str, Any]:
        """What is stored: the fields, not the computed `codes`, whose key None skops would refuse."""
        return {name: value for name, value in self.__dict__.items() if name != "codes"}

    @property
    def width(self) -> int:
        """Number of features."""
        return len(self.categories) + self.missing

    def names(self, column: str) -> list[str]:
        """Name of each feature."""
        shown = [f"{column}={value}" for value in self.categories]
        return [*shown, f"{column}_missing"] if self.missing else shown

    @property
    def other(self) -> int:
        """The number of the feature of any other category: that of the rare ones, or -1 for none."""
        return len(self.categories) - 1 if self.grouped else -1

    @cached_property
    def codes(self) -> dict[str | None, int]:
        """The number of the feature of each category."""
        own = self.categories[:-1] if self.grouped else self.categories
        found: dict[str | None, int] = {value: i for i, value in enumerate(own)}
        if self.missing:
            found[None] = len(self.categories)
        return found

    def write(self, codes: np.ndarray, out: np.ndarray) -> None:
        """Fill `out` (rows × width) with the indicators of rows with these codes; -1 is none of the categories."""
        out[:] = 0.0
        known = np.flatnonzero(codes >= 0)
        out[known, codes[known]] = np.take(self.scale, codes[known]) if self.scale else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        plain = {"kind": "indicators", "categories": list(self.categories), "missing": self.missing}
        return {**plain, "scale": list(self.scale), "grouped": self.grouped}


Encoder = Curves | Indicators


def same_encoders(one: Sequence[Encoder], other: Sequence[Encoder]) -> bool:
    """Whether columns are encoded alike."""
    if len(one) != len(other):
        return False
    for a, b in zip(one, other, strict=True):
        if isinstance(a, Curves) and isinstance(b, Curves):
            alike = a is b or (
                (a.missing, a.extend, a.limited) == (b.missing, b.extend, b.limited)
                and np.array_equal(a.nodes, b.nodes)
                and np.array_equal(a.table, b.table)
                and np.array_equal([] if a.names_as is None else a.names_as, [] if b.names_as is None else b.names_as)
            )
        else:
            alike = type(a) is type(b) and a == b
        if not alike:
            return False
    return True


def encoder_from_dict(plain: Mapping[str, Any]) -> Encoder:
    """Return the encoder that `to_dict` wrote; raise an error if it is invalid."""
    for name in ("missing", "extend", "limited"):
        if not isinstance(plain.get(name, False), bool | np.bool_):
            raise ValueError(f"{name} must be true or false")
    names = plain["categories" if plain["kind"] == "indicators" else "labels"]
    if isinstance(names, str) or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ValueError("categories and labels must be different texts")
    if plain["kind"] == "indicators":
        scale = tuple(float(value) for value in plain.get("scale", ()))
        grouped = plain.get("grouped", 0)
        if not isinstance(grouped, int | np.integer) or not grouped >= 0 or (grouped and not names):
            raise ValueError("the number of rare categories does not fit")
        found = Indicators(tuple(plain["categories"]), bool(plain["missing"]), scale, int(grouped))
        if len(found.scale) not in (0, found.width):
            raise ValueError(f"{len(found.scale)} scales do not fit {found.width} categories")
        if not np.isfinite(found.scale).all():
            raise ValueError("the scale of a category is not finite")
        return found
    nodes, table = np.asarray(plain["nodes"], dtype=np.float64), np.asarray(plain["table"], dtype=np.float64)
    if nodes.ndim != 1 or nodes.size == 0 or table.shape != (nodes.size, len(plain["labels"])):
        raise ValueError(f"curves of shape {table.shape} do not fit nodes of shape {nodes.shape}")
    if not (np.isfinite(nodes).all() and np.isfinite(table).all() and (np.diff(nodes) > 0.0).all()):
        raise ValueError("curves need finite numbers at increasing nodes")
    flags = bool(plain["missing"]), bool(plain["extend"]), bool(plain.get("limited", False))
    named = None if plain.get("names_as") is None else np.asarray(plain["names_as"])
    if named is not None and (named.shape != nodes.shape or named.dtype.kind not in "iu" or named.min() < 0):
        raise ValueError("numbers that are names need a code each")
    return Curves(nodes, table, tuple(plain["labels"]), *flags, None if named is None else named.astype(np.int32))


# Summary of a column in fit: its distribution and whether values are missing, or its categories.
ColumnSummary = tuple[Distribution, bool] | Indicators


class SeenColumns(NamedTuple):
    """Summaries of all columns in fit, and the encoders that maps made from them, which equal maps share."""

    columns: list[ColumnSummary]
    encoders: dict[tuple, list[Any]]  # and landmarks with their whitening


# Summaries of the columns for maps that learn from the same rows and weights, by the settings that they depend on.
SharedColumns = dict[tuple, SeenColumns]


def see_numbers(X, j: int, weights: np.ndarray | None, some: np.ndarray | None) -> ColumnSummary:
    """The distribution of column j over all rows or, if `some` rows already have many different values, over those."""
    values = frames.numbers(X, j)
    present = ~np.isnan(values)
    missing = not present.all()
    if float(np.fmax.reduce(np.abs(values))) > LARGEST:
        raise ValueError(
            f"Column {frames.named_column(X, j)[0]!r} holds numbers beyond {LARGEST:.0e}: remove or replace them."
        )
    if some is not None:
        chosen = some[present[some]]
        drawn = values[chosen]  # the first of them mostly tell whether many differ
        if np.unique(drawn[: 8 * N_NODES]).size > N_NODES or np.unique(drawn).size > N_NODES:
            return distribution(values[chosen], None if weights is None else weights[chosen]), missing
    if missing:
        values, weights = values[present], None if weights is None else weights[present]
    return distribution(values, weights), missing


def see_categories(X, j: int, weights: np.ndarray | None, most: int, levels: tuple[str, ...] = ()) -> Indicators:
    """The categories of a column, with scales that give the indicator of each variance 1.

    If there are more than `most`, the most frequent are kept, and the others count as one; then a column that differs
    in nearly every row is refused. All `levels` of an ordered category are kept, in order, also those that no row has.
    """
    found = frames.categories(X, j)
    present = sorted(value for value in found if value is not None)
    seen = Indicators(levels or tuple(present), None in found)
    codes = frames.category_codes(X, j, seen.codes)
    counts = np.bincount(codes, weights, seen.width)
    different = len(seen.categories)
    if different > most and not levels:
        if different > NEARLY_ALL * np.count_nonzero(codes < different):
            raise NearlyAllDiffer(
                "Column {column!r} has more than {most} different values that are not numbers: drop it if it is a "
                "name, convert it if it holds numbers as text, group its rare values, or raise {limit}.",
                column=frames.named_column(X, j)[0],
                most=most,
                limit=Parameter("max_categories"),
            )
        by_count = np.argsort(-counts[:different], kind="stable")
        kept, rare = np.sort(by_count[: most - 1]), by_count[most - 1 :]
        names = tuple(seen.categories[i] for i in kept)
        counts = np.concatenate([counts[kept], [counts[rare].sum()], counts[different:]])
        group = "(rare)"  # a name that no category has
        while group in names:
            group = f"({group})"
        seen = Indicators((*names, group), seen.missing, grouped=rare.size)
    share = counts / counts.sum()
    variance = share * (1.0 - share)
    return replace(seen, scale=tuple((1.0 / np.sqrt(np.where(variance > 0.0, variance, 1.0))).tolist()))
