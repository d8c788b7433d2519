"""The parts of a score: curves and tables of single columns, kernels and trees of several. Rows are scored here.

The features of a map come in blocks (`FeatureMap.blocks`): functions of single columns, a kernel, trees. Coefficients
make each block a part of a score (`FeatureMap.parts`), and `Parts` scores rows by these parts, for estimators, model
files and clusters alike. Curves, tables and coefficients of several scores have one more axis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from operator import is_
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from vrspam import kernels
from vrspam.features.encoders import Curves, Encoder, Indicators, same_encoders
from vrspam.tables import frames

MOST_ROWS = 160  # in blocks of at most so many rows, compiled code over all columns is faster than column by column
CACHED_ENTRIES = 1 << 16
CACHED_COUNTS = 1 << 18
MOST_DEPTH = 12
TREE_ARRAYS = ("columns", "thresholds", "multipliers", "absent_left")
_FLOAT64 = np.dtype(np.float64)


def can_pack(encoders: Sequence[Encoder], X: Any) -> bool:
    """Whether X is a float64 array of few rows, and all its columns are encoded as numbers."""
    # from 200 columns on, preparing each column alone takes longer than computing its rows
    most = MOST_ROWS if len(encoders) < 200 else 2_000
    if not isinstance(X, np.ndarray) or X.dtype != _FLOAT64 or X.shape[0] > most:
        return False
    return all(isinstance(one, Curves) and one.limits is None and one.names_as is None for one in encoders)


class PackedCurves(NamedTuple):
    """The curves of all columns, as `vrspam.kernels.write_many_curves` takes them."""

    nodes: np.ndarray  # of all columns, one after the other
    starts: np.ndarray  # (columns + 1,): where those of each column begin
    bins: np.ndarray  # (columns, bins + 1): how many nodes are in lower bins
    per_bin: np.ndarray  # (columns,): number of bins per unit of the column
    table: np.ndarray  # the functions at the nodes, by lines
    slopes: np.ndarray  # their differences from node to node, by lines
    lines: np.ndarray  # (columns + 1, 2): where those of each column begin in `table` and in `slopes`
    # (columns + 1, 2): where the features of each column begin, and how many functions they are; an indicator
    # of missing values may follow
    places: np.ndarray
    extend: np.ndarray

    @classmethod
    def of(cls, encoders: Sequence[Any]) -> PackedCurves:
        """Return the curves of all columns in one set of arrays, which is cached for the same encoders."""
        known = encoders[0].made.get("packed")
        if known is not None and len(known[0]) == len(encoders) and all(map(is_, known[0], encoders)):
            return known[1]
        nodes = np.concatenate([encoder.nodes for encoder in encoders])
        starts = _starts([encoder.nodes.size for encoder in encoders])
        bins, per_bin = kernels.pack_bins(nodes, starts)
        tables = [encoder.table for encoder in encoders]
        # A single node has slope 0.
        slopes = [np.diff(table, axis=0) if len(table) > 1 else np.zeros_like(table) for table in tables]
        sizes = [(table.size, slope.size) for table, slope in zip(tables, slopes, strict=True)]
        widths = [table.shape[1] for table in tables]
        begins = _starts([encoder.width for encoder in encoders])
        new = cls(
            nodes,
            starts,
            bins,
            per_bin,
            np.concatenate([table.ravel() for table in tables]),
            np.concatenate([slope.ravel() for slope in slopes]),
            np.stack([_starts([size for size, _ in sizes]), _starts([size for _, size in sizes])], axis=1),
            np.stack([begins, [*widths, 0]], axis=1),
            np.array([encoder.extend for encoder in encoders]),
        )
        encoders[0].made["packed"] = tuple(encoders), new
        return new


def _starts(sizes: Sequence[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


# How encoders read a block of checked rows.


def read_columns(encoders: Sequence[Encoder], X: Any) -> tuple[list[np.ndarray], np.dtype]:
    """The columns of X, numbers or codes of categories, and the type of their features."""
    X = X.toarray() if sparse.issparse(X) else frames.columns_of(X)
    columns, floats = [], set()
    for j, encoder in enumerate(encoders):
        if isinstance(encoder, Curves):
            columns.append(frames.numbers(X, j))
            floats.add(columns[-1].dtype)
        else:
            columns.append(frames.category_codes(X, j, encoder.codes, encoder.other))
    return columns, np.dtype(np.float32 if floats == {np.dtype(np.float32)} else np.float64)


def encode(encoders: Sequence[Encoder], X: Any, out: np.ndarray | None = None) -> np.ndarray:
    """The features of all columns, side by side, written to `out` if it is given."""
    packed = can_pack(encoders, X)
    columns, dtype = ([], _FLOAT64) if packed else read_columns(encoders, X)
    if out is None:
        out = np.empty((X.shape[0], sum(encoder.width for encoder in encoders)), dtype=dtype)
    if packed:
        kernels.write_many_curves(X, *PackedCurves.of(encoders), out)
        return out
    start = 0
    for encoder, values in zip(encoders, columns, strict=True):
        encoder.write(values, out[:, start : start + encoder.width])
        start += encoder.width
    return out


def places_of(encoders: Sequence[Encoder], X: Any) -> tuple[np.ndarray, np.dtype]:
    """How many nodes of its column are below each value, or the code of its category; -1 if absent or unknown."""
    if can_pack(encoders, X):
        packed = PackedCurves.of(encoders)
        return kernels.places_of_many(X, packed.nodes, packed.starts, packed.bins, packed.per_bin), X.dtype
    columns, dtype = read_columns(encoders, X)
    codes = np.empty((X.shape[0], len(encoders)), dtype=np.int32)
    for j, (encoder, values) in enumerate(zip(encoders, columns, strict=True)):
        if not isinstance(encoder, Curves):
            codes[:, j] = values
            continue
        nodes = encoder.nodes.astype(values.dtype, copy=False)
        found, known = np.searchsorted(nodes, values), ~np.isnan(values)
        if encoder.names_as is not None:  # the code of the node that equals the value
            found = np.minimum(found, nodes.size - 1)
            known, found = nodes[found] == values, encoder.names_as[found]
        codes[:, j] = np.where(known, found, -1)
    return codes, dtype


def exponents(u: np.ndarray, landmarks: np.ndarray, gamma: float) -> tuple[np.ndarray, np.ndarray]:
    """Two matrices whose product is -γ‖u - z‖² for encoded rows u and the landmarks z."""
    # (u, ‖u‖², 1) · γ (2z, -1, -‖z‖²)
    of_rows, of_landmarks = (np.einsum("ij,ij->i", A, A)[:, np.newaxis] for A in (u, landmarks))
    left = np.hstack([u, of_rows, np.ones_like(of_rows)])
    right = gamma * np.hstack([2.0 * landmarks, -np.ones_like(of_landmarks), -of_landmarks])
    return left, right.T.astype(left.dtype)


# Functions of one column.


class Stored:
    """Base class that stores and sends to clusters only the fields, not what is computed from them."""

    def __getstate__(self) -> dict[str, Any]:
        names = [one.name for one in fields(self)]  # type: ignore[arg-type]
        return {name: {} if name == "lookups" else getattr(self, name) for name in names}


@dataclass(frozen=True, eq=False)
class Curve(Stored):
    """A piecewise linear function of a number."""

    nodes: np.ndarray  # (k,): increasing
    values: np.ndarray  # (k,): the function at the nodes
    left: Any = 0.0  # its slope before the first node
    right: Any = 0.0  # its slope after the last node
    missing: Any = 0.0  # its value where the number is missing; NaN where such a row has no score
    lookups: dict[Any, Any] = field(default_factory=dict, repr=False)  # as in `Curves`, shared for equal nodes

    @classmethod
    def of(cls, encoder: Curves, coef: np.ndarray) -> Curve:
        """The functions of an encoder times `coef`, added up; an indicator of missing values comes last."""
        q = encoder.table.shape[1]
        values, left, right = encoder.table @ coef[:q], 0.0, 0.0
        if encoder.extend and encoder.nodes.size > 1:
            left = (values[1] - values[0]) / (encoder.nodes[1] - encoder.nodes[0])
            right = (values[-1] - values[-2]) / (encoder.nodes[-1] - encoder.nodes[-2])
        missing = coef[q] if encoder.missing and len(coef) > q else 0.0
        if encoder.limits is not None:
            nodes, ends = encoder.nodes, np.array(encoder.limits)
            below, above = values[0] + left * (ends[0] - nodes[0]), values[-1] + right * (ends[1] - nodes[-1])
            kept = np.array([ends[0] < nodes[0], *[True] * nodes.size, ends[1] > nodes[-1]])
            nodes = np.concatenate([ends[:1], nodes, ends[1:]])[kept]
            return cls(nodes, np.stack([below, *values, above])[kept], 0.0, 0.0, missing)
        return cls(encoder.nodes, values, left, right, missing, encoder.lookups)

    def __call__(self, x: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
        """The function at all x, `missing` where x is NaN."""
        encoder, bends_outside = self._compiled
        found = np.empty((x.size, encoder.table.shape[1]), dtype)
        encoder.write(x, found)
        if bends_outside:
            below, above = np.minimum(x - self.nodes[0], 0.0), np.maximum(x - self.nodes[-1], 0.0)
            more = below[:, np.newaxis] * np.atleast_1d(self.left) + above[:, np.newaxis] * np.atleast_1d(self.right)
            found += more.astype(dtype)
        if bends_outside or not (type(self.missing) is float and self.missing == 0.0):
            found[np.isnan(x)] = self.missing
        return found.reshape(x.size, *self.values.shape[1:])

    @cached_property
    def _compiled(self) -> tuple[Curves, bool]:
        """The function as an encoder for compiled code, and whether this encoder lacks the slopes outside the nodes."""
        nodes, values, goes_on = self.nodes, self.values, False
        sloped = bool(np.any(self.left) or np.any(self.right))
        if sloped and nodes.size > 1:
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                first = (values[1] - values[0]) / (nodes[1] - nodes[0])
                last = (values[-1] - values[-2]) / (nodes[-1] - nodes[-2])
            goes_on = all(np.allclose(*ends, rtol=1e-12, atol=0.0) for ends in ((first, self.left), (last, self.right)))
        table = values.reshape(nodes.size, -1)
        return Curves(nodes, table, (), False, goes_on, lookups=self.lookups), sloped and not goes_on

    @property
    def segments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Bases, values and slopes of the lines value + slope · (x - base), by the number of nodes not above x."""
        first = np.maximum(np.arange(self.nodes.size + 1) - 1, 0)
        rises = np.diff(self.values, axis=0)
        steps = np.diff(self.nodes).reshape(-1, *(1,) * (rises.ndim - 1))
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            slopes = np.where(steps > 0.0, rises / steps, 0.0)
        # between two nodes that are nearly the same number a slope may be beyond all floats
        slopes = np.clip(slopes, np.finfo(np.float64).min, np.finfo(np.float64).max)
        left, right = (np.broadcast_to(slope, self.values[:1].shape) for slope in (self.left, self.right))
        return self.nodes[first], self.values[first], np.concatenate([left, slopes, right])

    @property
    def is_line(self) -> bool:
        """Whether the function is one straight line: value + slope · (x - node) for the first node."""
        return self.left == self.right and (
            self.nodes.size == 1 or (self.nodes.size == 2 and self.segments[2][1] == self.left)
        )

    def __add__(self, other: Curve) -> Curve:
        ends = self.left + other.left, self.right + other.right, self.missing + other.missing
        if self.nodes is other.nodes or np.array_equal(self.nodes, other.nodes):
            return Curve(self.nodes, self.values + other.values, *ends, self.lookups)
        nodes = np.union1d(self.nodes, other.nodes)
        return Curve(nodes, self(nodes) + other(nodes), *ends)

    def add_to(self, out: np.ndarray, X: Any, index: int) -> None:
        """Add the function of column `index` of X to `out` (rows × scores)."""
        x = frames.numbers(X, index)
        if self.values.shape == (1,) and self.left == self.right:  # a straight line
            found = self.values[0] + self.left * (x - self.nodes[0])
            found[np.isnan(x)] = self.missing
            out += found[:, np.newaxis].astype(out.dtype, copy=False)
        else:
            out += self(x, out.dtype).reshape(out.shape)


@dataclass(frozen=True, eq=False)
class Table(Stored):
    """A number for each category, for a missing value, and for any other category."""

    values: Mapping[str, Any]
    missing: Any = 0.0
    other: Any = 0.0

    @classmethod
    def of(cls, encoder: Indicators, coef: np.ndarray) -> Table:
        """The indicators of an encoder times `coef`."""
        scale = np.array(encoder.scale).reshape(-1, *(1,) * (coef.ndim - 1))
        scaled = coef * scale if encoder.scale else coef
        lines = scaled.tolist() if scaled.ndim == 1 else list(scaled)
        values = {name: lines[code] for name, code in encoder.codes.items() if name is not None}
        return cls(values, lines[-1] if encoder.missing else 0.0, lines[encoder.other] if encoder.grouped else 0.0)

    def __add__(self, other: Table) -> Table:
        names = dict.fromkeys([*self.values, *other.values])
        both = {name: self.values.get(name, self.other) + other.values.get(name, other.other) for name in names}
        return Table(both, self.missing + other.missing, self.other + other.other)

    @cached_property
    def _codes(self) -> dict[str | None, int]:
        codes: dict[str | None, int] = {name: number for number, name in enumerate(self.values)}
        return {**codes, None: len(codes)}

    def add_to(self, out: np.ndarray, X: Any, index: int) -> None:
        """Add the numbers of column `index` of X to `out` (rows × scores)."""
        lines = np.empty((len(self.values) + 2, out.shape[1]), dtype=out.dtype)
        for place, line in enumerate((*self.values.values(), self.missing, self.other)):
            lines[place] = line
        out += lines[frames.category_codes(X, index, self._codes, len(self.values) + 1)]


Effect = Curve | Table


# Functions of several columns.


@dataclass(frozen=True, eq=False)
class KernelPart(Stored):
    """coef · exp(-gamma ‖u - landmarks‖²), where u are the columns as `encoders` encode them."""

    encoders: Sequence[Encoder]
    landmarks: np.ndarray
    gamma: float
    coef: np.ndarray  # of the landmarks; one column for each score, or for each feature of a map


def add_kernels(parts: Sequence[KernelPart], X: Any, out: np.ndarray) -> None:
    """Add the scores of kernels of the same landmarks: distances are computed once, exponentials as few as possible."""
    weights: dict[float, Any] = {}
    for part in parts:
        weights[part.gamma] = weights.get(part.gamma, 0.0) + part.coef.reshape(len(part.coef), -1)
    widest = min(weights)
    left, right = exponents(encode(parts[0].encoders, X), parts[0].landmarks, widest)
    ratios = {gamma: gamma / widest if widest > 0.0 else 1.0 for gamma in weights}
    # kernels that are powers of the widest one; the relative error grows with the power
    whole = {gamma: round(ratio) for gamma, ratio in ratios.items() if ratio < 257.0}
    whole = {gamma: power for gamma, power in whole.items() if abs(ratios[gamma] - power) <= 1e-12 * power}
    powers = np.array(list(whole.values()), dtype=np.int64)
    # one line of weights for each power and column of scores
    lines = np.array([weights[gamma].T for gamma in whole], dtype=left.dtype)
    others = [(ratios[gamma], of.astype(left.dtype)) for gamma, of in weights.items() if gamma not in whole]
    alone = weights[widest].astype(left.dtype) if len(weights) == 1 else None
    for rows in frames.blocks(len(left), right.shape[1], CACHED_ENTRIES):
        power = left[rows] @ right
        for ratio, of in others:
            out[rows] += np.exp(left.dtype.type(ratio) * power) @ of
        kernel = np.exp(power, out=power)
        if alone is not None:
            out[rows] += kernel @ alone
        else:
            kernels.add_powers(kernel, powers, lines, out[rows])


@dataclass(frozen=True, eq=False)
class TreePart(Stored):
    """The mean over trees of the sum of `coef` over the landmarks that are in the leaf of a row.

    Trees that learnt from labels have no landmarks: `coef` are then the values of their leaves, which are added up.
    """

    encoders: Sequence[Encoder]
    trees: Mapping[str, np.ndarray]  # as in `TreeFeatures`, in the order of `TREE_ARRAYS`
    # (m, trees): the leaf of each landmark in each tree; None if it follows from `codes`
    leaves: np.ndarray | None
    # (m,): what a landmark adds to rows that share its leaf in all trees; or (trees, leaves): what each leaf adds
    coef: np.ndarray
    codes: np.ndarray | None = None  # (m, columns): the landmarks as trees take them

    @cached_property
    def sums(self) -> np.ndarray:
        """What each leaf adds: trees × leaves."""
        leaves = self.leaves
        if leaves is None:
            if self.codes is None:
                return self.coef
            leaves = self.leaves_of(self.codes)
        n_trees, n_nodes = self.trees["columns"].shape
        coef = np.ascontiguousarray(self.coef.reshape(len(self.coef), -1) / n_trees, dtype=np.float64)
        return kernels.leaf_sums(leaves, coef, n_nodes + 1).reshape(n_trees, n_nodes + 1, *self.coef.shape[1:])

    @cached_property
    def _masks(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Thresholds and masks of all nodes, and depths, of trees whose columns have few categories."""
        widths = np.array([0 if isinstance(encoder, Curves) else encoder.width for encoder in self.encoders])
        columns, thresholds, multipliers, absent_left = self.trees.values()
        most = widths[columns[multipliers != 0]].max(initial=0)
        if most > 62:  # sides would not fit into 64 bits beside absent values
            return None
        return kernels.splits_as_masks(columns, thresholds, multipliers, absent_left, widths)

    def leaves_of(self, codes: np.ndarray) -> np.ndarray:
        """The leaf of each row in each tree: rows × trees."""
        if self._masks is None:
            return kernels.tree_leaves(codes, *self.trees.values())
        return kernels.tree_leaves_by_level(np.ascontiguousarray(codes.T), self.trees["columns"], *self._masks)

    def add_to(self, out: np.ndarray, X: Any) -> None:
        """Add the scores of the rows of X to `out` (rows × scores)."""
        level_rows = 576  # rows that go down a tree together
        codes, sums = places_of(self.encoders, X)[0], self.sums.reshape(*self.sums.shape[:2], -1)
        found = np.zeros(out.shape)
        for rows in frames.blocks(len(codes), 1, level_rows):
            kernels.add_leaf_sums(sums, self.leaves_of(codes[rows]), found[rows])
        out += found.astype(out.dtype, copy=False)


# A whole score.


class ColumnBlock(NamedTuple):
    """Features that are functions of single columns, times `scale`."""

    encoders: Sequence[Encoder]
    scale: float = 1.0


Block = ColumnBlock | KernelPart | TreePart


def joined(parts: Sequence[TreePart]) -> list[TreePart]:
    """Merge label-trained trees of equal encoders, drop those whose leaves are all 0, and keep all other parts."""
    groups: list[list[TreePart]] = []
    for part in parts:
        labelled = part.leaves is None and part.codes is None
        if labelled and not part.coef.any():
            continue
        for group in groups:
            known = group[0]
            alike = part.coef.shape[1:] == known.coef.shape[1:] and same_encoders(part.encoders, known.encoders)
            if alike and labelled and known.leaves is None and known.codes is None:
                group.append(part)
                break
        else:
            groups.append([part])
    found = []
    for first, *rest in groups:
        if rest:
            trees = {name: np.concatenate([part.trees[name] for part in (first, *rest)]) for name in TREE_ARRAYS}
            first = TreePart(first.encoders, trees, None, np.concatenate([part.coef for part in (first, *rest)]))
        found.append(first)
    return found


@dataclass(frozen=True, eq=False)
class Parts(Stored):
    """A score, or several, as a sum of functions of columns."""

    effects: tuple[Effect | None, ...]  # what each column adds on its own
    kernels: tuple[KernelPart, ...] = ()  # what columns add together
    trees: tuple[TreePart, ...] = ()  # what columns add together

    @property
    def keeps_columns_apart(self) -> bool:
        """Whether the score is a sum of functions of single columns."""
        return not (self.kernels or self.trees)

    @property
    def has_effects(self) -> bool:
        """Whether columns add something on their own."""
        return any(effect is not None for effect in self.effects)

    @cached_property
    def _kernel_groups(self) -> list[list[KernelPart]]:
        """The kernels grouped by landmarks: in a group, narrow kernels are powers of wide ones."""
        groups: list[list[KernelPart]] = []
        for part in self.kernels:
            for group in groups:
                known = group[0]
                same = part.landmarks is known.landmarks or np.array_equal(part.landmarks, known.landmarks)
                if same and same_encoders(part.encoders, known.encoders):
                    group.append(part)
                    break
            else:
                groups.append([part])
        return groups

    def scores(self, X: Any, n_scores: int = 1, single: bool = False) -> np.ndarray:
        """The scores of the rows of X, which are checked: an array of rows × scores.

        They are float32 if X is an array of float32 or, with `single`, a frame all of whose numbers are. Other frames
        are scored in double, as exported models score them.
        """
        own = [(index, effect) for index, effect in enumerate(self.effects) if effect is not None]
        together = [part.encoders for part in self.kernels] + [part.encoders for part in self.trees]
        types = set() if frames.is_frame(X) else {X.dtype}
        if frames.is_frame(X):
            # what each column holds: numbers, categories, or None if the score does not use it
            asked = zip(self.effects, together[0] if together else self.effects, strict=True)
            kinds = [encoder if effect is None else effect for effect, encoder in asked]
            numeric = [None if one is None else isinstance(one, Curve | Curves) for one in kinds]
            first = frames.columns_of(frames.rows_of(X, slice(0, 1)))
            types = {frames.numbers(first, j).dtype for j, known in enumerate(numeric) if known}
            widened = not single and np.dtype(np.float32) in types
            read_again = bool(own) + len(self._kernel_groups) + len(self.trees) > 1
            if (widened or read_again) and not isinstance(X, frames.HeldColumns):
                X = frames.HeldColumns.of(X, numeric)
            if widened:
                columns = [one.astype(np.float64) if isinstance(one, np.ndarray) else one for one in X.columns]
                X, types = frames.HeldColumns(X.names, columns, X.shape), {_FLOAT64}
        widths = [sum(encoder.width for encoder in own) for own in together]
        out = np.zeros((X.shape[0], n_scores), dtype=np.float32 if types == {np.dtype(np.float32)} else np.float64)
        for rows in frames.blocks(X.shape[0], max(len(self.effects), n_scores, *widths)):
            some = frames.rows_of(X, rows)
            for group in self._kernel_groups:
                add_kernels(group, some, out[rows])
            for part in self.trees:
                part.add_to(out[rows], some)
            columns = some.toarray() if sparse.issparse(some) else frames.columns_of(some)
            for index, effect in own:
                effect.add_to(out[rows], columns, index)
        return out

    def columns_apart(self, X: Any) -> np.ndarray:
        """What each column adds on its own to the scores of the rows of X: rows × columns, in double."""
        found = np.zeros((X.shape[0], len(self.effects)))
        columns = X.toarray() if sparse.issparse(X) else frames.columns_of(X)
        for index, effect in enumerate(self.effects):
            if effect is not None:
                effect.add_to(found[:, index : index + 1], columns, index)
        return found


# Reading and checking stored parts.


def kernel_from_dict(plain: Mapping[str, Any], encoders: Sequence[Encoder], n_axes: int = 1) -> KernelPart:
    """The kernel whose fields a file holds; its coefficients have one axis, or two where they make features."""
    landmarks, coef, gamma = floats(plain["landmarks"]), floats(plain["coef"]), floats(plain["gamma"], True)
    width = sum(encoder.width for encoder in encoders)
    if landmarks.ndim != 2 or landmarks.shape[1] != width or not coef.size:
        raise ValueError(f"landmarks of shape {landmarks.shape} do not fit {width} columns")
    if coef.ndim != n_axes or len(coef) != len(landmarks):
        raise ValueError(f"coefficients of shape {coef.shape} do not fit {len(landmarks)} landmarks")
    if any(isinstance(encoder, Curves) and encoder.table.shape[1] != 1 for encoder in encoders):
        raise ValueError("a kernel needs one function of each column")
    if not gamma > 0.0:
        raise ValueError("gamma must be positive")
    return KernelPart(encoders, landmarks, gamma, coef)


def trees_from_dict(plain: Mapping[str, Any], encoders: Sequence[Encoder], n_axes: int = 1) -> TreePart:
    """The trees whose fields a file holds, as compiled code takes them."""
    name = "codes" if "codes" in plain else "leaves"
    labelled, trees = name not in plain, {}
    for one in TREE_ARRAYS if labelled else (*TREE_ARRAYS, name):
        values = np.asarray(plain[one] if one == name else plain["trees"][one])
        if values.ndim != 2 or values.size == 0 or values.dtype.kind not in "iub":
            raise ValueError(f"{one} of trees must be a matrix of whole numbers")
        if values.dtype.kind != "b" and np.abs(values).max() > 2**31 - 1:
            raise ValueError(f"{one} of trees are too large")
        trees[one] = values.astype(np.int32)
    n_trees, nodes = trees["columns"].shape
    landmarks = np.zeros((1, n_trees), dtype=np.int32) if labelled else trees.pop(name)
    depth = (nodes + 1).bit_length() - 1
    if nodes + 1 != 2**depth or not 1 <= depth <= MOST_DEPTH:
        raise ValueError(f"trees of {nodes} nodes are not whole")
    if {part.shape for part in trees.values()} != {(n_trees, nodes)}:
        raise ValueError("the parts of the trees have different sizes")
    trees["absent_left"] = trees["absent_left"].astype(bool)
    coef = floats(plain["coef"])
    if labelled and (coef.shape != (n_trees, nodes + 1, *coef.shape[2:]) or coef.ndim != n_axes + 1):
        raise ValueError(f"values of shape {coef.shape} do not fit the leaves of the trees")
    if landmarks.shape[1] != (n_trees if name == "leaves" else len(encoders)):
        raise ValueError(f"landmarks of shape {landmarks.shape} do not fit the trees")
    if not labelled and (coef.ndim != n_axes or len(coef) != len(landmarks)):
        raise ValueError(f"coefficients of shape {coef.shape} do not fit {len(landmarks)} landmarks")
    # with numbers out of range, compiled code would read outside of its arrays
    stops = {"column": len(encoders), "multiplier": kernels.CATEGORY_PRIME, "leaf": nodes + 1}
    leaves = landmarks if name == "leaves" else np.zeros((1, 1), dtype=np.int32)
    for (what, stop), numbers in zip(stops.items(), (trees["columns"], trees["multipliers"], leaves), strict=True):
        if numbers.min() < 0 or numbers.max() >= stop:
            raise ValueError(f"a {what} of the trees is not among the {stop} there are")
    if name == "leaves":
        return TreePart(encoders, trees, None if labelled else leaves.astype(np.int16), coef)
    most = [one.nodes.size if isinstance(one, Curves) else one.width - 1 for one in encoders]
    if landmarks.min() < -1 or (landmarks > most).any():
        raise ValueError("a landmark of trees is not among the values of its column")
    return TreePart(encoders, trees, None, coef, landmarks)


def split_sides(multipliers: np.ndarray, thresholds: np.ndarray, width: int) -> np.ndarray:
    """Whether each node sends each code of a column of `width` categories to the right: nodes × codes."""
    codes, factors = np.arange(width), multipliers.astype(np.int64)[:, np.newaxis]
    return np.where(factors == 0, codes, (codes + 1) * factors % kernels.CATEGORY_PRIME) > thresholds[:, np.newaxis]


def floats(values: Any, single: bool = False) -> Any:
    """An array of finite numbers, or a `single` number, from values in a file."""
    array, where = np.array(values), "a part of the score" if single else "an array"
    if array.dtype.kind not in "fiu" or (single and array.ndim):
        raise TypeError(f"{where} holds something else than numbers")
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{where} holds numbers that are not finite")
    return float(array) if single else array
