"""The parts of a score, as arrays: straight lines, functions of single columns, kernels and trees of several.

Coefficients of the features of a map make its parts (`FeatureMap.parts`). Files hold them by their fields, exporters
write them, and rows are scored by them (`vrspam.features.scoring`). The numbers of several scores have one more axis.

Compiled code looks numbers up in trees without checking them: what a file held is checked first (`check`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

import numpy as np

from vrspam import kernels
from vrspam._utils.stored import ONCE, Flags, Height, NumbersWithGaps, WholeNumbers
from vrspam.features.encoders.curves import Curves
from vrspam.features.encoders.indicators import Indicators
from vrspam.features.encoders.reading import Encoder, same_encoders

MOST_DEPTH = 12  # of trees

#: How each column is encoded; parts of a score may have the same encoders.
SharedEncoders = Annotated[Sequence[Encoder], ONCE]


class LinePart(NamedTuple):
    """Σ coef · x over columns of numbers as they are: two arrays, also for a million sparse columns."""

    coef: np.ndarray  # (columns,); 0 for columns that have another part, or none
    missing: NumbersWithGaps  # (columns,): what a missing value adds; NaN where a row with one has no score

    def check(self) -> None:
        """Refuse arrays of different sizes, as a file may hold them."""
        if self.coef.ndim != 1 or self.missing.shape != self.coef.shape:
            raise ValueError(f"coefficients of shape {self.coef.shape} with missing values of {self.missing.shape}")


class CurvePart(NamedTuple):
    """A piecewise linear function of a number."""

    nodes: np.ndarray  # (k,): increasing
    values: np.ndarray  # (k,): the function at the nodes
    left: Height = 0.0  # its slope before the first node
    right: Height = 0.0  # its slope after the last node
    missing: Height = 0.0  # its value where the number is missing; NaN where such a row has no score

    def check(self) -> None:
        """Refuse nodes that do not increase, and values of another number."""
        increasing = self.nodes.ndim == 1 and self.nodes.size > 0 and bool((np.diff(self.nodes) > 0.0).all())
        if not increasing or self.values.shape != self.nodes.shape:
            raise ValueError("a curve needs a number at each of its increasing nodes")

    @classmethod
    def of(cls, encoder: Curves, coef: np.ndarray) -> CurvePart:
        """The functions of an encoder times `coef`, added up; an indicator of missing values comes last."""
        n_functions = encoder.table.shape[1]
        nodes = encoder.nodes
        values = encoder.table @ coef[:n_functions]
        missing = coef[n_functions] if encoder.missing and len(coef) > n_functions else 0.0
        if not encoder.extend or nodes.size == 1:
            return cls(nodes, values, 0.0, 0.0, missing)
        left = (values[1] - values[0]) / (nodes[1] - nodes[0])
        right = (values[-1] - values[-2]) / (nodes[-1] - nodes[-2])
        if encoder.limits is None:
            return cls(nodes, values, left, right, missing)
        low, high = encoder.limits
        below = values[0] + left * (low - nodes[0])
        above = values[-1] + right * (high - nodes[-1])
        kept = np.array([low < nodes[0], *[True] * nodes.size, high > nodes[-1]])
        nodes = np.concatenate([[low], nodes, [high]])[kept]
        return cls(nodes, np.stack([below, *values, above])[kept], 0.0, 0.0, missing)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The function at all x, `missing` where x is NaN."""
        bases, values, slopes = self.segments
        places = np.searchsorted(self.nodes, x, side="right")
        distances = (x - bases[places]).reshape(-1, *(1,) * (values.ndim - 1))
        heights = values[places] + slopes[places] * distances
        heights[np.isnan(x)] = self.missing
        return heights

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
        left = np.broadcast_to(self.left, self.values[:1].shape)
        right = np.broadcast_to(self.right, self.values[:1].shape)
        return self.nodes[first], self.values[first], np.concatenate([left, slopes, right])

    @property
    def is_line(self) -> bool:
        """Whether the function is one straight line: value + slope · (x - node) for the first node."""
        if self.left != self.right:
            return False
        return self.nodes.size == 1 or (self.nodes.size == 2 and self.segments[2][1] == self.left)


class CategoryPart(NamedTuple):
    """A number for each category, for a missing value, and for any other category."""

    values: Mapping[str, Height]
    missing: Height = 0.0
    other: Height = 0.0

    @classmethod
    def of(cls, encoder: Indicators, coef: np.ndarray) -> CategoryPart:
        """The indicators of an encoder times `coef`."""
        scaled = coef
        if encoder.scale:
            scaled = coef * encoder.scales.reshape(-1, *(1,) * (coef.ndim - 1))
        heights = scaled.tolist() if scaled.ndim == 1 else list(scaled)
        values = {name: heights[code] for name, code in encoder.codes.items() if name is not None}
        missing = heights[-1] if encoder.missing else 0.0
        other = heights[encoder.other] if encoder.grouped else 0.0
        return cls(values, missing, other)


Effect = CurvePart | CategoryPart


def added(first: Effect | None, second: Effect) -> Effect:
    """The sum of two functions of one column; None adds nothing."""
    if first is None:
        return second
    if isinstance(first, CurvePart):
        assert isinstance(second, CurvePart)
        return added_curves(first, second)
    assert isinstance(second, CategoryPart)
    return added_categories(first, second)


def added_curves(first: CurvePart, second: CurvePart) -> CurvePart:
    """The sum of two functions of a number."""
    left = first.left + second.left
    right = first.right + second.right
    missing = first.missing + second.missing
    if first.nodes is second.nodes or np.array_equal(first.nodes, second.nodes):
        return CurvePart(first.nodes, first.values + second.values, left, right, missing)
    nodes = np.union1d(first.nodes, second.nodes)
    return CurvePart(nodes, first(nodes) + second(nodes), left, right, missing)


def added_categories(first: CategoryPart, second: CategoryPart) -> CategoryPart:
    """The sum of two functions of a category."""
    names = dict.fromkeys([*first.values, *second.values])
    values = {name: first.values.get(name, first.other) + second.values.get(name, second.other) for name in names}
    return CategoryPart(values, first.missing + second.missing, first.other + second.other)


class KernelPart(NamedTuple):
    """coef · exp(-gamma ‖u - landmarks‖²), where u are the columns as `encoders` encode them."""

    encoders: SharedEncoders
    landmarks: np.ndarray
    gamma: float
    coef: np.ndarray  # of the landmarks; one column for each score, or for each feature of a map

    def check(self) -> None:
        """Refuse landmarks that the encoders do not make, and coefficients of others."""
        width = sum(encoder.width for encoder in self.encoders)
        if self.landmarks.ndim != 2 or self.landmarks.shape[1] != width or not self.coef.size:
            raise ValueError(f"landmarks of shape {self.landmarks.shape} do not fit {width} columns")
        if self.coef.shape != (len(self.landmarks),):
            raise ValueError(f"coefficients of shape {self.coef.shape} do not fit {len(self.landmarks)} landmarks")
        if any(isinstance(encoder, Curves) and encoder.table.shape[1] != 1 for encoder in self.encoders):
            raise ValueError("a kernel needs one function of each column")
        if not self.gamma > 0.0:
            raise ValueError("gamma must be positive")


class Trees(NamedTuple):
    """Whole binary trees, level by level: each array is trees × nodes."""

    columns: WholeNumbers  # the column that a node splits
    # the number of the quantile, or the place of the category, up to which rows go to the left
    thresholds: WholeNumbers
    multipliers: WholeNumbers  # order the categories; 0 for numbers, and for categories in their own order
    absent_left: Flags  # whether missing numbers and unknown categories go to the left

    def check(self) -> None:
        """Refuse trees that are not whole: compiled code looks nodes up without checking."""
        shape = self.columns.shape
        if len(shape) != 2 or self.columns.size == 0:
            raise ValueError("trees need a matrix of nodes, a line for each tree")
        if any(array.shape != shape for array in self):
            raise ValueError("the parts of the trees have different sizes")
        depth = (shape[1] + 1).bit_length() - 1
        if shape[1] + 1 != 2**depth or not 1 <= depth <= MOST_DEPTH:
            raise ValueError(f"trees of {shape[1]} nodes are not whole")


class TreePart(NamedTuple):
    """The mean over trees of the sum of `coef` over the landmarks that are in the leaf of a row.

    Trees that learnt from labels have no landmarks: `coef` are then the values of their leaves, which are added up.
    """

    encoders: SharedEncoders
    trees: Trees
    # (m,): what a landmark adds to rows that share its leaf in all trees; or (trees, leaves): what each leaf adds
    coef: np.ndarray
    landmarks: WholeNumbers | None = None  # (m, columns): the landmarks as trees take them; None: no landmarks

    def check(self) -> None:
        """Refuse numbers out of range: with these, compiled code would read outside of its arrays."""
        _check_range("column", self.trees.columns, len(self.encoders))
        _check_range("multiplier", self.trees.multipliers, kernels.CATEGORY_PRIME)
        n_trees, n_nodes = self.trees.columns.shape
        if self.landmarks is None:
            if self.coef.shape != (n_trees, n_nodes + 1):
                raise ValueError(f"values of shape {self.coef.shape} do not fit the leaves of the trees")
            return
        shape = self.landmarks.shape
        if len(shape) != 2 or shape[1] != len(self.encoders) or not self.landmarks.size:
            raise ValueError(f"landmarks of shape {shape} do not fit the trees")
        if self.coef.shape != (shape[0],):
            raise ValueError(f"coefficients of shape {self.coef.shape} do not fit {shape[0]} landmarks")
        most = []
        for encoder in self.encoders:
            most.append(encoder.nodes.size if isinstance(encoder, Curves) else encoder.width - 1)
        if self.landmarks.min() < -1 or (self.landmarks > most).any():
            raise ValueError("a landmark of trees is not among the values of its column")


def _check_range(name: str, numbers: np.ndarray, stop: int) -> None:
    if numbers.min() < 0 or numbers.max() >= stop:
        raise ValueError(f"a {name} of the trees is not among the {stop} there are")


def joined(parts: Sequence[TreePart]) -> list[TreePart]:
    """Merge label-trained trees of equal encoders, drop those whose leaves are all 0, and keep all other parts."""
    groups: list[list[TreePart]] = []
    for part in parts:
        if part.landmarks is None and not part.coef.any():
            continue
        for group in groups:
            if _can_join(group[0], part):
                group.append(part)
                break
        else:
            groups.append([part])
    return [group[0] if len(group) == 1 else _join(group) for group in groups]


def _can_join(first: TreePart, second: TreePart) -> bool:
    if first.landmarks is not None or second.landmarks is not None:
        return False
    return first.coef.shape[1:] == second.coef.shape[1:] and same_encoders(first.encoders, second.encoders)


def _join(parts: Sequence[TreePart]) -> TreePart:
    trees = Trees(*(np.concatenate(arrays) for arrays in zip(*(part.trees for part in parts), strict=True)))
    return TreePart(parts[0].encoders, trees, np.concatenate([part.coef for part in parts]))


class KindsOfColumns(NamedTuple):
    """Which columns some part of a score takes for numbers, and which for categories."""

    numbers: np.ndarray
    categories: np.ndarray


class Parts(NamedTuple):
    """A score, or several, as a sum of parts."""

    effects: tuple[Effect | None, ...]  # what each column adds on its own, beside its straight line; empty for lines
    kernels: tuple[KernelPart, ...] = ()  # what columns add together
    trees: tuple[TreePart, ...] = ()  # what columns add together
    lines: LinePart | None = None  # straight lines of columns as they are

    def check(self) -> None:
        """Refuse parts that take different columns, or a column for numbers and for categories."""
        if self.lines is not None and self.effects and len(self.effects) != self.n_columns:
            raise ValueError(f"straight lines of {self.n_columns} columns do not fit {len(self.effects)} columns")
        if any(len(encoders) != self.n_columns for encoders in self.encoders):
            raise ValueError(f"the score has {self.n_columns} columns, but one of its parts has another number")
        kinds = self.kinds_of_columns()
        both = np.flatnonzero(kinds.numbers & kinds.categories)
        if both.size:
            raise ValueError(f"column {both[0]} holds numbers in one part of the score, and categories in another")

    @property
    def n_columns(self) -> int:
        """Number of columns that the score takes."""
        return len(self.effects) if self.lines is None else len(self.lines.coef)

    @property
    def encoders(self) -> list[Sequence[Encoder]]:
        """How each kernel, and each part of trees, encodes the columns."""
        return [*(part.encoders for part in self.kernels), *(part.encoders for part in self.trees)]

    @property
    def keeps_columns_apart(self) -> bool:
        """Whether the score is a sum of functions of single columns."""
        return not (self.kernels or self.trees)

    @property
    def has_effects(self) -> bool:
        """Whether columns add something on their own."""
        return self.lines is not None or any(effect is not None for effect in self.effects)

    def kinds_of_columns(self) -> KindsOfColumns:
        """What the parts take each column for."""
        numbers = np.zeros(self.n_columns, dtype=bool)
        categories = np.zeros(self.n_columns, dtype=bool)
        if self.lines is not None:
            numbers |= self.lines.coef != 0.0
        for encoders in self.encoders:
            are_curves = np.array([isinstance(encoder, Curves) for encoder in encoders], dtype=bool)
            numbers |= are_curves
            categories |= ~are_curves
        if self.effects:
            numbers |= [isinstance(effect, CurvePart) for effect in self.effects]
            categories |= [isinstance(effect, CategoryPart) for effect in self.effects]
        return KindsOfColumns(numbers, categories)

    def of_columns(self) -> tuple[Effect | None, ...]:
        """What each column adds on its own, where a straight line is a curve too, as exporters write it."""
        if self.lines is None:
            return self.effects
        zero = np.zeros(1)
        effects = list(self.effects) or [None] * self.n_columns
        for j, (slope, missing) in enumerate(zip(self.lines.coef.tolist(), self.lines.missing.tolist(), strict=True)):
            if effects[j] is None:
                effects[j] = CurvePart(zero, zero, slope, slope, missing)
        return tuple(effects)


def lines_alone(coef: np.ndarray, missing: np.ndarray | None = None) -> Parts:
    """The parts of coef · x; without what missing values add, a row that has one has no score."""
    if missing is None:
        missing = np.full(coef.shape, np.nan)
    return Parts((), lines=LinePart(coef, missing))


# Blocks: the features of a map, which coefficients make parts of a score.


class ColumnBlock(NamedTuple):
    """Features that are functions of single columns, times `scale`."""

    encoders: Sequence[Encoder]
    scale: float = 1.0


Block = ColumnBlock | KernelPart | TreePart


def split_sides(multipliers: np.ndarray, thresholds: np.ndarray, width: int) -> np.ndarray:
    """Whether each node sends each code of a column of `width` categories to the right: nodes × codes."""
    codes = np.arange(width)
    factors = multipliers.astype(np.int64)[:, np.newaxis]
    places = np.where(factors == 0, codes, (codes + 1) * factors % kernels.CATEGORY_PRIME)
    return places > thresholds[:, np.newaxis]
