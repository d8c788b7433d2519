"""The parts of a score, as arrays: straight lines, functions of single columns, kernels and trees of several.

Coefficients of the features of a map make its parts (`FeatureMap.parts`). Files store them (`vrspam.features.storage`),
exporters write them, and rows are scored by them (`vrspam.features.scoring`). The numbers of several scores have one
more axis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from vrspam import kernels
from vrspam.features.encoders.curves import Curves
from vrspam.features.encoders.indicators import Indicators
from vrspam.features.encoders.reading import Encoder, same_encoders

MOST_DEPTH = 12  # of trees


class LinePart(NamedTuple):
    """Σ coef · x over columns of numbers as they are: two arrays, also for a million sparse columns."""

    coef: np.ndarray  # (columns,); 0 for columns that have another part, or none
    missing: np.ndarray  # (columns,): what a missing value adds; NaN where a row with one has no score


class CurvePart(NamedTuple):
    """A piecewise linear function of a number."""

    nodes: np.ndarray  # (k,): increasing
    values: np.ndarray  # (k,): the function at the nodes
    left: Any = 0.0  # its slope before the first node
    right: Any = 0.0  # its slope after the last node
    missing: Any = 0.0  # its value where the number is missing; NaN where such a row has no score

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

    values: Mapping[str, Any]
    missing: Any = 0.0
    other: Any = 0.0

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

    encoders: Sequence[Encoder]
    landmarks: np.ndarray
    gamma: float
    coef: np.ndarray  # of the landmarks; one column for each score, or for each feature of a map


class Trees(NamedTuple):
    """Whole binary trees, level by level: each array is trees × nodes."""

    columns: np.ndarray  # the column that a node splits
    thresholds: np.ndarray  # the number of the quantile, or the place of the category, up to which rows go to the left
    multipliers: np.ndarray  # order the categories; 0 for numbers, and for categories in their own order
    absent_left: np.ndarray  # whether missing numbers and unknown categories go to the left


class TreePart(NamedTuple):
    """The mean over trees of the sum of `coef` over the landmarks that are in the leaf of a row.

    Trees that learnt from labels have no landmarks: `coef` are then the values of their leaves, which are added up.
    """

    encoders: Sequence[Encoder]
    trees: Trees
    # (m,): what a landmark adds to rows that share its leaf in all trees; or (trees, leaves): what each leaf adds
    coef: np.ndarray
    landmarks: np.ndarray | None = None  # (m, columns): the landmarks as trees take them; None: no landmarks


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


class Parts(NamedTuple):
    """A score, or several, as a sum of parts."""

    effects: tuple[Effect | None, ...]  # what each column adds on its own, beside its straight line; empty for lines
    kernels: tuple[KernelPart, ...] = ()  # what columns add together
    trees: tuple[TreePart, ...] = ()  # what columns add together
    lines: LinePart | None = None  # straight lines of columns as they are

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
