"""The trees of a feature map as ONNX operators."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from onnx import TensorProto

from vrspam.export.onnx_graphs.ensembles import LARGEST, Ensemble, find_places, run_trees
from vrspam.export.onnx_graphs.operators import Rows
from vrspam.features.encoders import Curves, Indicators
from vrspam.features.parts import TreePart
from vrspam.features.trees import split_sides


def tree_score(rows: Rows, part: TreePart) -> str:
    """What the leaves of trees add to the score."""
    graph = rows.graph
    n_trees, n_leaves = part.sums.shape
    groups = _category_groups(part)
    most_groups = 4  # ways to split categories, for each tree, up to which each has a column of its own
    if sum(len(sides) for sides in groups.values()) > most_groups * n_trees:
        leaves = _leaves_by_level(rows, part)
        starts = graph.constant([np.arange(n_trees) * n_leaves], np.int64)
        sums = graph.constant(part.sums.ravel())
        return graph.sum_columns(graph.add("Gather", sums, graph.add("Add", leaves, starts)))
    X, ensemble = _whole_trees(rows, part, groups)
    return graph.sum_columns(graph.cast(run_trees(graph, X, "BRANCH_LEQ", [ensemble]), TensorProto.DOUBLE))


def exact_summands(values: np.ndarray) -> np.ndarray:
    """Numbers (trees × leaves) as sums of numbers whose sums over trees are exact in float32: a last axis for them.

    The first are multiples of a power of two, so large that their sums have at most 24 bits; the next are the same of
    what is left.

    >>> parts = exact_summands(np.array([[0.1, -0.3], [0.7, 0.2]]))
    >>> float(np.abs(parts.sum(axis=-1) - [[0.1, -0.3], [0.7, 0.2]]).max()) < 1e-16
    True
    """
    left = values
    parts: list[np.ndarray] = []
    most = np.abs(values).max(axis=1).sum()
    most_summands = 6
    for _ in range(most_summands):
        bound = np.abs(left).max(axis=1).sum()
        if parts and bound <= 1e-17 * most:
            break
        unit = 2.0 ** (np.frexp(bound)[1] - 23)
        parts.append(np.round(left / unit) * unit)
        left = left - parts[-1]
    return np.stack(parts, axis=-1)


def _category_groups(part: TreePart) -> dict[int, np.ndarray]:
    """For each column of categories the different ways in which nodes split it: (ways, codes), True to the right."""
    found = {}
    for column, encoder in enumerate(part.encoders):
        if isinstance(encoder, Indicators):
            here = part.trees["columns"] == column
            found[column] = split_sides(part.trees["multipliers"][here], part.trees["thresholds"][here], encoder.width)
    return {column: np.unique(sides, axis=0) for column, sides in found.items() if len(sides)}


def _whole_trees(rows: Rows, part: TreePart, groups: Mapping[int, np.ndarray]) -> tuple[str, Ensemble]:
    """The trees as they are: over columns of numbers and, for each way to split a category, a column of its side."""
    graph, blocks, width = rows.graph, [], 0
    columns, limits, factors = (part.trees[name].astype(np.int64) for name in ("columns", "thresholds", "multipliers"))
    features, thresholds = np.zeros_like(columns), np.full(columns.shape, 0.5)
    numeric = {j: encoder for j, encoder in enumerate(part.encoders) if isinstance(encoder, Curves)}
    if numeric:
        blocks.append(rows.numbers(list(numeric)))
        width = len(numeric)
    for place, (column, encoder) in enumerate(numeric.items()):
        here = columns == column
        features[here] = place
        # a row goes to the left if at most `limit` nodes are less than its value, so that node `limit` is not
        padded = np.concatenate([[-LARGEST], encoder.nodes, [LARGEST]])
        thresholds[here] = padded[np.clip(limits[here], -1, encoder.nodes.size) + 1]
    for column, sides in groups.items():
        known, here = part.encoders[column], columns == column
        assert isinstance(known, Indicators)
        own = split_sides(factors[here], limits[here], known.width)
        _, numbers = np.unique(np.vstack([sides, own]), axis=0, return_inverse=True)
        features[here] = width + numbers.ravel()[len(sides) :]
        of_codes = np.vstack([sides.T.astype(np.float64), np.full(len(sides), np.nan)])  # the last for none: -1
        names = [name for name in known.codes if name is not None]
        order = [*range(len(names)), known.codes.get(None, -1), known.other]
        chosen = graph.add("Gather", graph.constant(of_codes[order]), rows.codes(column, names))
        blocks.append(graph.add("Squeeze", chosen, graph.constant([1], np.int64)))
        width += len(sides)
    weights = exact_summands(part.sums)
    targets = np.tile(np.arange(weights.shape[2]), (len(columns), 1))
    return graph.side_by_side(blocks), Ensemble(features, thresholds, part.trees["absent_left"], weights, targets)


def _leaves_by_level(rows: Rows, part: TreePart) -> str:
    """The leaves of rows in trees that split categories too: from level to level, for all trees at once."""
    from vrspam.kernels import CATEGORY_PRIME  # compiled code is loaded only when it is needed

    graph = rows.graph
    n_trees, n_nodes = part.trees["columns"].shape
    prime = graph.constant([CATEGORY_PRIME], np.int64)
    codes = _codes(rows, part)
    tables = {
        name: graph.constant(part.trees[name].astype(np.int64).ravel())
        for name in ("columns", "thresholds", "multipliers")
    }
    sides = graph.constant(part.trees["absent_left"].ravel())
    starts = np.arange(n_trees, dtype=np.int64)[np.newaxis] * n_nodes
    node = ""  # of each row in each tree, counted from the root of the tree
    one, two, zero = (graph.constant([number], np.int64) for number in (1, 2, 0))
    for level in range((n_nodes + 1).bit_length() - 1):
        if level == 0:
            flat = graph.constant(starts)
            code = graph.add("Gather", codes, graph.constant(part.trees["columns"][:, 0], np.int64), axis=1)
        else:
            flat = graph.add("Add", node, graph.constant(starts))
            code = graph.add("GatherElements", codes, graph.add("Gather", tables["columns"], flat), axis=1)
        factor = graph.add("Gather", tables["multipliers"], flat)
        place = graph.add("Mod", graph.add("Mul", graph.add("Add", code, one), factor), prime)
        value = graph.add("Where", graph.add("Equal", factor, zero), code, place)
        above = graph.add("Greater", value, graph.add("Gather", tables["thresholds"], flat))
        absent = graph.add("Less", code, zero)
        absent_right = graph.add("And", absent, graph.add("Not", graph.add("Gather", sides, flat)))
        right = graph.add("Or", absent_right, graph.add("And", graph.add("Not", absent), above))
        step = graph.add("Add", graph.cast(right, TensorProto.INT64), one)
        node = step if level == 0 else graph.add("Add", graph.add("Mul", node, two), step)
    return graph.add("Sub", node, graph.constant([n_nodes], np.int64))


def _codes(rows: Rows, part: TreePart) -> str:
    """The place of each value among the quantiles of its column, or the number of its category; -1 for none."""
    graph = rows.graph
    blocks, order = [], []
    numeric = {j: encoder for j, encoder in enumerate(part.encoders) if isinstance(encoder, Curves)}
    minus = graph.constant([-1], np.int64)
    if numeric:
        X = rows.numbers(list(numeric))
        places = find_places(graph, X, [one.nodes for one in numeric.values()], [0] * len(numeric), below=True)
        blocks.append(graph.add("Where", graph.add("IsNaN", X), minus, places))
        order += list(numeric)
    for column, encoder in enumerate(part.encoders):
        if isinstance(encoder, Indicators):
            names = [name for name in encoder.codes if name is not None]
            numbers = [*range(len(names)), encoder.codes.get(None, -1), encoder.other]
            blocks.append(graph.add("Gather", graph.constant(numbers, np.int64), rows.codes(column, names)))
            order.append(column)
    return graph.columns(graph.side_by_side(blocks), np.argsort(order).tolist(), len(order))
