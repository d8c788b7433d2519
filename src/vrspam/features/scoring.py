"""Scores of rows by the parts of a score, and what is computed once of these parts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from vrspam import kernels
from vrspam.features.encoders.curves import Curves
from vrspam.features.encoders.reading import Encoder, encode, places_of, same_encoders
from vrspam.features.parts import CategoryPart, CurvePart, Effect, KernelPart, LinePart, Parts, TreePart, Trees
from vrspam.objective import multiply
from vrspam.tables import frames

CACHED_ENTRIES = 1 << 16  # of a block of a kernel matrix that stays in the processor's cache
LEVEL_ROWS = 576  # rows that go down a tree together
MOST_POWER = 256  # of a kernel, up to which a narrower one is computed as its power
SINGLE = np.dtype(np.float32)


class PreparedParts:
    """The parts of a score, or of `n_scores`, with all that is computed once for rows to come."""

    def __init__(self, parts: Parts, n_scores: int = 1):
        self.parts = parts
        self.n_scores = n_scores
        self.lines = None if parts.lines is None else PreparedLines(parts.lines)
        self.effects = {
            j: prepare_effect(effect, n_scores) for j, effect in enumerate(parts.effects) if effect is not None
        }
        self.kernels = [PreparedKernels(group) for group in group_kernels(parts.kernels)]
        self.trees = [PreparedTrees(part) for part in parts.trees]
        # numbers for each row that are held at once
        self.width = max([parts.n_columns, n_scores, *(part.width for part in self._of_several)])
        self.is_lines_alone = not (self.effects or self.kernels or self.trees)

    @property
    def _of_several(self) -> list[PreparedKernels | PreparedTrees]:
        """The parts of several columns."""
        return [*self.kernels, *self.trees]

    def scores(self, X: Any, *, single: bool = False) -> np.ndarray:
        """The scores of the rows of X, which are checked: an array of rows × scores.

        They are float32 if X is an array of float32 or, with `single`, a frame all of whose numbers are. Other frames
        are scored in double, as exported models score them.
        """
        if frames.is_frame(X):
            X, dtype = self._hold_frame(X, single)
        else:
            dtype = np.dtype(np.float32 if X.dtype == SINGLE else np.float64)
        if self.is_lines_alone and not frames.is_frame(X):
            dtype = np.dtype(np.float64)
        out = np.zeros((X.shape[0], self.n_scores), dtype=dtype)
        if self.lines is not None and not frames.is_frame(X):
            self.lines.add_to(out, X)
            if self.is_lines_alone:
                return out
        for rows in frames.blocks(X.shape[0], self.width):
            self._add_block(out[rows], frames.rows_of(X, rows))
        return out

    def columns_apart(self, X: Any) -> np.ndarray:
        """What each column adds on its own to the scores of the rows of X: rows × columns, in double."""
        apart = np.zeros((X.shape[0], self.parts.n_columns))
        columns = X.toarray() if sparse.issparse(X) else frames.columns_of(X)
        if self.lines is not None:
            for j in self.lines.used.tolist():
                self.lines.add_column_to(apart[:, j : j + 1], columns, j)
        for j, effect in self.effects.items():
            effect.add_to(apart[:, j : j + 1], columns, j)
        return apart

    def _add_block(self, out: np.ndarray, rows: Any) -> None:
        for kernel in self.kernels:
            kernel.add_to(out, rows)
        for trees in self.trees:
            trees.add_to(out, rows)
        if not self.effects and (self.lines is None or not frames.is_frame(rows)):
            return
        columns = rows.toarray() if sparse.issparse(rows) else frames.columns_of(rows)
        if self.lines is not None and frames.is_frame(rows):
            for j in self.lines.used.tolist():
                self.lines.add_column_to(out, columns, j)
        for j, effect in self.effects.items():
            effect.add_to(out, columns, j)

    def _hold_frame(self, X: Any, single: bool) -> tuple[Any, np.dtype]:
        """A frame whose columns are read once and, unless `single`, widened to double; and the type of its scores."""
        first = frames.columns_of(frames.rows_of(X, slice(0, 1)))
        types = {frames.numbers(first, j).dtype for j, is_number in enumerate(self.numeric) if is_number}
        is_widened = not single and SINGLE in types
        readers = len(self.kernels) + len(self.trees) + bool(self.effects)
        if (is_widened or readers > 1) and not isinstance(X, frames.HeldColumns):
            X = frames.HeldColumns.of(X, self.numeric)
        if is_widened:
            columns = [_widened(column) for column in X.columns]
            return frames.HeldColumns(X.names, columns, X.shape), np.dtype(np.float64)
        return X, np.dtype(np.float32 if types == {SINGLE} else np.float64)

    @cached_property
    def numeric(self) -> list[bool | None]:
        """Whether each column holds numbers or categories; None if the score does not use it."""
        numeric: list[bool | None] = [None] * self.parts.n_columns
        for part in self._of_several:
            numeric = [isinstance(encoder, Curves) for encoder in part.encoders]
        for j in () if self.lines is None else self.lines.used.tolist():
            numeric[j] = True
        for j, effect in self.effects.items():
            numeric[j] = not isinstance(effect, PreparedCategories)
        return numeric


def _widened(column: Any) -> Any:
    return column.astype(np.float64) if isinstance(column, np.ndarray) else column


class PreparedLines:
    """Straight lines of columns of numbers."""

    def __init__(self, part: LinePart):
        self.part = part
        self.used = np.flatnonzero((part.coef != 0.0) | (part.missing != 0.0))  # NaN is not 0
        self.refuses = np.isnan(part.missing)  # (columns,): whether a row with a missing value has no score
        self.fills = np.where(self.refuses, 0.0, part.missing)

    def add_to(self, out: np.ndarray, X: Any) -> None:
        """Add the lines of all columns of an array or of sparse rows to `out` (rows × 1)."""
        if self.refuses.all():  # a missing value makes the score NaN
            out[:, 0] += multiply(X, self.part.coef)
            return
        if sparse.issparse(X):
            known, absent = X.copy(), X.copy()
            absent.data = np.isnan(X.data).astype(X.dtype)
            known.data = np.where(np.isnan(X.data), 0.0, X.data).astype(X.dtype)
        else:
            absent = np.isnan(X).astype(X.dtype)
            known = np.where(np.isnan(X), 0.0, X).astype(X.dtype)
        out[:, 0] += multiply(known, self.part.coef) + multiply(absent, self.fills)
        out[absent @ self.refuses > 0.0, 0] = np.nan

    def add_column_to(self, out: np.ndarray, X: Any, j: int) -> None:
        """Add the line of column j of X to `out` (rows × 1)."""
        x = frames.numbers(X, j)
        heights = self.part.coef[j] * x
        heights[np.isnan(x)] = self.part.missing[j]
        out += heights[:, np.newaxis].astype(out.dtype, copy=False)


def prepare_effect(effect: Effect, n_scores: int) -> PreparedCurve | PreparedLine | PreparedCategories:
    """A function of one column, ready to be added to scores."""
    if isinstance(effect, CategoryPart):
        return PreparedCategories(effect, n_scores)
    if effect.values.shape == (1,) and effect.left == effect.right:
        return PreparedLine(effect)
    return PreparedCurve(effect)


def column_scores(effect: Effect, X: Any, j: int) -> np.ndarray:
    """A function of column j for each row of X, in double."""
    scores = np.zeros((X.shape[0], 1))
    prepare_effect(effect, 1).add_to(scores, X, j)
    return scores[:, 0]


class PreparedLine:
    """A straight line through one node."""

    def __init__(self, part: CurvePart):
        self.part = part

    def add_to(self, out: np.ndarray, X: Any, j: int) -> None:
        """Add the line of column j of X to `out` (rows × 1)."""
        x = frames.numbers(X, j)
        heights = self.part.values[0] + self.part.left * (x - self.part.nodes[0])
        heights[np.isnan(x)] = self.part.missing
        out += heights[:, np.newaxis].astype(out.dtype, copy=False)


class PreparedCurve:
    """A curve as an encoder for compiled code, and what this encoder leaves out outside the nodes."""

    def __init__(self, part: CurvePart):
        nodes, values = part.nodes, part.values
        goes_on = False  # whether the first and last segments go on as lines outside the nodes
        has_slopes = bool(np.any(part.left) or np.any(part.right))
        if has_slopes and nodes.size > 1:
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                first = (values[1] - values[0]) / (nodes[1] - nodes[0])
                last = (values[-1] - values[-2]) / (nodes[-1] - nodes[-2])
            goes_on = _are_close(first, part.left) and _are_close(last, part.right)
        self.part = part
        self.encoder = Curves(nodes, values.reshape(nodes.size, -1), (), False, extend=goes_on)
        self.bends_outside = has_slopes and not goes_on
        self.replaces_missing = self.bends_outside or not (type(part.missing) is float and part.missing == 0.0)

    def add_to(self, out: np.ndarray, X: Any, j: int) -> None:
        """Add the function of column j of X to `out` (rows × scores)."""
        part = self.part
        x = frames.numbers(X, j)
        heights = np.empty(out.shape, out.dtype)
        self.encoder.write(x, heights)
        if self.bends_outside:
            below = np.minimum(x - part.nodes[0], 0.0)[:, np.newaxis] * np.atleast_1d(part.left)
            above = np.maximum(x - part.nodes[-1], 0.0)[:, np.newaxis] * np.atleast_1d(part.right)
            heights += (below + above).astype(out.dtype)
        if self.replaces_missing:
            heights[np.isnan(x)] = part.missing
        out += heights


def _are_close(a: Any, b: Any) -> bool:
    return np.allclose(a, b, rtol=1e-12, atol=0.0)


class PreparedCategories:
    """The numbers of categories, by their codes."""

    def __init__(self, part: CategoryPart, n_scores: int):
        self.codes: dict[str | None, int] = {name: code for code, name in enumerate(part.values)}
        self.codes[None] = len(part.values)
        self.other = len(part.values) + 1
        self.heights = np.empty((len(part.values) + 2, n_scores))
        for code, height in enumerate((*part.values.values(), part.missing, part.other)):
            self.heights[code] = height

    def add_to(self, out: np.ndarray, X: Any, j: int) -> None:
        """Add the numbers of column j of X to `out` (rows × scores)."""
        heights = self.heights.astype(out.dtype, copy=False)
        out += heights[frames.category_codes(X, j, self.codes, self.other)]


# Kernels.


def group_kernels(parts: Sequence[KernelPart]) -> list[list[KernelPart]]:
    """Kernels grouped by landmarks: in a group, distances are computed once, narrow kernels as powers of wide ones."""
    groups: list[list[KernelPart]] = []
    for part in parts:
        for group in groups:
            if _same_landmarks(part, group[0]):
                group.append(part)
                break
        else:
            groups.append([part])
    return groups


def _same_landmarks(first: KernelPart, second: KernelPart) -> bool:
    same = first.landmarks is second.landmarks or np.array_equal(first.landmarks, second.landmarks)
    return same and same_encoders(first.encoders, second.encoders)


def exponents(u: np.ndarray, landmarks: np.ndarray, gamma: float) -> tuple[np.ndarray, np.ndarray]:
    """Two matrices whose product is -γ‖u - z‖² for encoded rows u and the landmarks z."""
    # (u, ‖u‖², 1) · γ (2z, -1, -‖z‖²)
    squares_of_rows = np.einsum("ij,ij->i", u, u)[:, np.newaxis]
    squares_of_landmarks = np.einsum("ij,ij->i", landmarks, landmarks)[:, np.newaxis]
    left = np.hstack([u, squares_of_rows, np.ones_like(squares_of_rows)])
    right = gamma * np.hstack([2.0 * landmarks, -np.ones_like(squares_of_landmarks), -squares_of_landmarks])
    return left, right.T.astype(left.dtype)


class PreparedKernels:
    """Kernels of the same landmarks: exponentials are computed as few times as possible."""

    def __init__(self, parts: Sequence[KernelPart]):
        weights: dict[float, Any] = {}
        for part in parts:
            weights[part.gamma] = weights.get(part.gamma, 0.0) + part.coef.reshape(len(part.coef), -1)
        self.encoders = parts[0].encoders
        self.landmarks = parts[0].landmarks
        self.width = sum(encoder.width for encoder in self.encoders)
        self.widest = min(weights)
        self.alone = weights[self.widest] if len(weights) == 1 else None
        powers, lines = [], []
        self.others: list[tuple[float, np.ndarray]] = []  # ratios of gammas, and weights, of kernels that are no powers
        for gamma, of_landmarks in weights.items():
            ratio = gamma / self.widest if self.widest > 0.0 else 1.0
            if is_power(ratio):
                powers.append(round(ratio))
                lines.append(of_landmarks.T)
            else:
                self.others.append((ratio, of_landmarks))
        self.powers = np.array(powers, dtype=np.int64)
        self.lines = np.array(lines)  # one line of weights for each power and column of scores

    def add_to(self, out: np.ndarray, X: Any) -> None:
        """Add the scores of the rows of X to `out` (rows × scores)."""
        left, right = exponents(encode(self.encoders, X), self.landmarks, self.widest)
        dtype = left.dtype
        alone = None if self.alone is None else self.alone.astype(dtype, copy=False)
        lines = self.lines.astype(dtype, copy=False)
        others = [(ratio, weights.astype(dtype, copy=False)) for ratio, weights in self.others]
        for rows in frames.blocks(len(left), right.shape[1], CACHED_ENTRIES):
            power = left[rows] @ right
            for ratio, weights in others:
                out[rows] += np.exp(dtype.type(ratio) * power) @ weights
            kernel = np.exp(power, out=power)
            if alone is not None:
                out[rows] += kernel @ alone
            else:
                kernels.add_powers(kernel, self.powers, lines, out[rows])


def is_power(ratio: float) -> bool:
    """Whether a kernel is computed as a power of a wider one; the relative error grows with the power.

    >>> is_power(1.0), is_power(9.0), is_power(2.5), is_power(300.0)
    (True, True, False, False)
    """
    if not ratio < MOST_POWER + 1.0:
        return False
    return abs(ratio - round(ratio)) <= 1e-12 * round(ratio)


# Trees.


class Leaves:
    """Finds the leaf of each row in each of some trees."""

    def __init__(self, encoders: Sequence[Encoder], trees: Trees):
        self.trees = trees
        self.masks = masks_of(encoders, trees)

    def of(self, codes: np.ndarray) -> np.ndarray:
        """The leaf of each row in each tree: rows × trees; `codes` are the rows as trees take them (`places_of`)."""
        if self.masks is None:
            return kernels.tree_leaves(codes, *self.trees)
        return kernels.tree_leaves_by_level(np.ascontiguousarray(codes.T), self.trees.columns, *self.masks)


def masks_of(encoders: Sequence[Encoder], trees: Trees) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Thresholds and masks of all nodes, and depths, of trees whose columns have few categories; else None."""
    most_categories = 62  # the sides of more would not fit into 64 bits beside absent values
    widths = np.array([0 if isinstance(encoder, Curves) else encoder.width for encoder in encoders])
    if widths[trees.columns[trees.multipliers != 0]].max(initial=0) > most_categories:
        return None
    return kernels.splits_as_masks(*trees, widths)


def leaf_sums(part: TreePart, leaves: Leaves) -> np.ndarray:
    """What each leaf adds: trees × leaves, and an axis for several scores."""
    if part.landmarks is None:
        return part.coef
    n_trees, n_nodes = part.trees.columns.shape
    coef = np.ascontiguousarray(part.coef.reshape(len(part.coef), -1) / n_trees, dtype=np.float64)
    sums = kernels.leaf_sums(leaves.of(part.landmarks), coef, n_nodes + 1)
    return sums.reshape(n_trees, n_nodes + 1, *part.coef.shape[1:])


class PreparedTrees:
    """Trees, and what each of their leaves adds."""

    def __init__(self, part: TreePart):
        self.encoders = part.encoders
        self.width = sum(encoder.width for encoder in part.encoders)
        self.leaves = Leaves(part.encoders, part.trees)
        sums = leaf_sums(part, self.leaves)
        self.sums = sums.reshape(*sums.shape[:2], -1)

    def add_to(self, out: np.ndarray, X: Any) -> None:
        """Add the scores of the rows of X to `out` (rows × scores)."""
        codes = places_of(self.encoders, X)[0]
        scores = np.zeros(out.shape)
        for rows in frames.blocks(len(codes), 1, LEVEL_ROWS):
            kernels.add_leaf_sums(self.sums, self.leaves.of(codes[rows]), scores[rows])
        out += scores.astype(out.dtype, copy=False)
