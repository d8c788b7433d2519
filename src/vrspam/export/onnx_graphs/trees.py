"""Trees in a graph: what their leaves add to the score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from vrspam.export.onnx_graphs.ensembles import LARGEST, Ensemble, find_places, run_trees
from vrspam.export.onnx_graphs.graph import ML
from vrspam.export.onnx_graphs.rows import Rows
from vrspam.features.encoders import Curves, Encoder, Indicators
from vrspam.features.parts import TreePart, split_sides
from vrspam.features.scoring import Leaves, leaf_sums

MOST_SIDES = 4  # ways to split categories, for each tree, up to which each has a column of its own
MOST_SUMMANDS = 6


class _NumberColumns(NamedTuple):
    """The columns of numbers by their kind: those that are names, and those that have an order."""

    names: dict[int, Curves]
    ordered: dict[int, Curves]


def round_splits(part: TreePart) -> TreePart:
    """Trees for rows rounded to float32: where they split is rounded too, so that a value there keeps its side."""
    return part._replace(encoders=[_round_nodes(encoder) for encoder in part.encoders])


def _round_nodes(encoder: Encoder) -> Encoder:
    if not isinstance(encoder, Curves) or encoder.names_as is not None:
        return encoder
    with np.errstate(over="ignore"):
        nodes = encoder.nodes.astype(np.float32).astype(np.float64)
    return replace(encoder, nodes=nodes)


def tree_score(rows: Rows, part: TreePart) -> str:
    """What the leaves of trees add to the score."""
    sums = leaf_sums(part, Leaves(part.encoders, part.trees))
    sides = _category_sides(part)
    n_sides = sum(len(sides_of_column) for sides_of_column in sides.values())
    if n_sides > MOST_SIDES * len(sums):
        return _score_by_level(rows, part, sums)
    return _score_of_ensemble(rows, part, sums, sides)


def _category_sides(part: TreePart) -> dict[int, np.ndarray]:
    """The ways to split each column of categories: ways × codes, True to the right."""
    sides: dict[int, np.ndarray] = {}
    for column, encoder in enumerate(part.encoders):
        here = part.trees.columns == column
        if isinstance(encoder, Indicators) and here.any():
            sides_of_nodes = split_sides(part.trees.multipliers[here], part.trees.thresholds[here], encoder.width)
            sides[column] = np.unique(sides_of_nodes, axis=0)
    return sides


def _number_columns(part: TreePart) -> _NumberColumns:
    names: dict[int, Curves] = {}
    ordered: dict[int, Curves] = {}
    for column, encoder in enumerate(part.encoders):
        if isinstance(encoder, Curves):
            if encoder.names_as is None:
                ordered[column] = encoder
            else:
                names[column] = encoder
    return _NumberColumns(names, ordered)


def _codes_of_names(rows: Rows, column: int, encoder: Curves) -> str:
    """The codes of numbers that are names; -1 for others, which are not whole or not among them, and for NaN."""
    assert encoder.names_as is not None
    graph = rows.graph
    x = rows.numbers([column])

    is_exact = graph.add("LessOrEqual", graph.add("Abs", x), graph.constant([2.0**53]))
    is_whole = graph.add("And", graph.add("Equal", x, graph.add("Floor", x)), is_exact)
    number = graph.cast(graph.add("Where", is_whole, x, graph.constant([0.0])), TensorProto.INT64)
    code = graph.add(
        "LabelEncoder",
        number,
        domain=ML,
        keys_int64s=encoder.nodes.astype(np.int64).tolist(),
        values_int64s=encoder.names_as.tolist(),
        default_int64=-1,
    )
    return graph.add("Where", is_whole, code, graph.constant([-1], np.int64))


# Trees of few ways to split categories: one operator, over columns of numbers.


def _score_of_ensemble(rows: Rows, part: TreePart, sums: np.ndarray, sides: Mapping[int, np.ndarray]) -> str:
    """The score by the trees as they are: each way to split categories is a column of its own, the side of a row."""
    from vrspam.kernels import NO_SPLIT  # compiled code is loaded only when it is needed

    graph = rows.graph
    columns = part.trees.columns.astype(np.int64)
    limits = part.trees.thresholds.astype(np.int64)
    multipliers = part.trees.multipliers.astype(np.int64)
    names, ordered = _number_columns(part)

    features = np.zeros_like(columns)
    thresholds = np.full(columns.shape, 0.5)
    blocks: list[str] = []
    width = 0  # of the blocks
    if ordered:
        blocks.append(rows.numbers(list(ordered)))
    for column, encoder in ordered.items():
        here = columns == column
        features[here] = width
        # a row goes to the left if at most `limit` nodes are less than its value, so that node `limit` is not
        padded = np.concatenate([[-LARGEST], encoder.nodes, [LARGEST]])
        thresholds[here] = padded[np.clip(limits[here], -1, encoder.nodes.size) + 1]
        width += 1

    for column, encoder in names.items():
        here = columns == column
        features[here] = width
        thresholds[here] = np.minimum(limits[here], encoder.nodes.size) + 0.5
        code = graph.cast(_codes_of_names(rows, column, encoder), TensorProto.DOUBLE)
        is_absent = graph.add("Less", code, graph.constant([0.0]))
        blocks.append(graph.add("Where", is_absent, graph.constant([np.nan]), code))
        width += 1

    for column, sides_of_column in sides.items():
        indicators = part.encoders[column]
        assert isinstance(indicators, Indicators)
        here = columns == column
        sides_of_nodes = split_sides(multipliers[here], limits[here], indicators.width)
        features[here] = width + _row_numbers(sides_of_column, sides_of_nodes)
        absent = np.full(len(sides_of_column), np.nan)
        sides_of_codes = np.vstack([sides_of_column.T.astype(np.float64), absent])
        blocks.append(rows.lines(column, indicators, sides_of_codes))
        width += len(sides_of_column)

    weights = exact_summands(sums)
    ensemble = Ensemble(
        columns=features,
        thresholds=thresholds,
        absent_left=part.trees.absent_left,
        weights=weights,
        targets=np.tile(np.arange(weights.shape[2]), (len(columns), 1)),
        is_split=limits < NO_SPLIT,
    )
    outputs = run_trees(graph, graph.side_by_side(blocks), "BRANCH_LEQ", [ensemble])
    return graph.sum_columns(graph.cast(outputs, TensorProto.DOUBLE))


def _row_numbers(distinct: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The number of each row among distinct rows, which are sorted and hold all of them."""
    _, numbers = np.unique(np.vstack([distinct, rows]), axis=0, return_inverse=True)
    return numbers.ravel()[len(distinct) :]


def exact_summands(values: np.ndarray) -> np.ndarray:
    """Numbers (trees × leaves) as sums of numbers whose sums over trees are exact in float32: a last axis for them.

    The first are multiples of a power of two, so large that their sums have at most 24 bits; the next are the same of
    what is left.

    >>> parts = exact_summands(np.array([[0.1, -0.3], [0.7, 0.2]]))
    >>> float(np.abs(parts.sum(axis=-1) - [[0.1, -0.3], [0.7, 0.2]]).max()) < 1e-16
    True
    """
    left = values
    summands: list[np.ndarray] = []
    largest_sum = np.abs(values).max(axis=1).sum()
    for _ in range(MOST_SUMMANDS):
        bound = np.abs(left).max(axis=1).sum()
        if summands and bound <= 1e-17 * largest_sum:
            break
        unit = 2.0 ** (np.frexp(bound)[1] - 23)
        summand = np.round(left / unit) * unit
        summands.append(summand)
        left = left - summand
    return np.stack(summands, axis=-1)


# Trees that split categories in many ways: level by level, by standard operators.


def _score_by_level(rows: Rows, part: TreePart, sums: np.ndarray) -> str:
    """The score by the leaf of each row in each tree, found level by level for all trees at once."""
    graph = rows.graph
    leaves = _leaves_by_level(rows, part)
    n_trees, n_leaves = sums.shape
    starts = graph.constant([np.arange(n_trees) * n_leaves], np.int64)
    sums_in_a_row = graph.constant(sums.ravel())
    return graph.sum_columns(graph.add("Gather", sums_in_a_row, graph.add("Add", leaves, starts)))


def _leaves_by_level(rows: Rows, part: TreePart) -> str:
    """The leaf of each row in each tree: rows × trees."""
    from vrspam.kernels import CATEGORY_PRIME  # compiled code is loaded only when it is needed

    graph = rows.graph
    n_trees, n_nodes = part.trees.columns.shape
    depth = (n_nodes + 1).bit_length() - 1
    prime = graph.constant([CATEGORY_PRIME], np.int64)
    codes = _codes(rows, part)
    columns = graph.constant(part.trees.columns.astype(np.int64).ravel())
    thresholds = graph.constant(part.trees.thresholds.astype(np.int64).ravel())
    multipliers = graph.constant(part.trees.multipliers.astype(np.int64).ravel())
    absent_left = graph.constant(part.trees.absent_left.ravel())
    one = graph.constant([1], np.int64)
    two = graph.constant([2], np.int64)
    zero = graph.constant([0], np.int64)

    def step(places: str, code: str) -> str:
        """1 to the left, 2 to the right; `places` are those of the nodes in the arrays of all trees."""
        multiplier = graph.add("Gather", multipliers, places)
        shuffled = graph.add("Mod", graph.add("Mul", graph.add("Add", code, one), multiplier), prime)
        value = graph.add("Where", graph.add("Equal", multiplier, zero), code, shuffled)
        is_above = graph.add("Greater", value, graph.add("Gather", thresholds, places))

        is_absent = graph.add("Less", code, zero)
        absent_right = graph.add("And", is_absent, graph.add("Not", graph.add("Gather", absent_left, places)))
        known_right = graph.add("And", graph.add("Not", is_absent), is_above)
        is_right = graph.add("Or", absent_right, known_right)
        return graph.add("Add", graph.cast(is_right, TensorProto.INT64), one)

    roots = graph.constant([np.arange(n_trees) * n_nodes], np.int64)
    columns_of_roots = graph.constant(part.trees.columns[:, 0], np.int64)
    node = step(roots, graph.add("Gather", codes, columns_of_roots, axis=1))  # counted from the root of its tree
    for _ in range(depth - 1):
        places = graph.add("Add", node, roots)
        code = graph.add("GatherElements", codes, graph.add("Gather", columns, places), axis=1)
        down = step(places, code)
        node = graph.add("Add", graph.add("Mul", node, two), down)
    return graph.add("Sub", node, graph.constant([n_nodes], np.int64))


def _codes(rows: Rows, part: TreePart) -> str:
    """The place of each value among the quantiles of its column, or the number of its category; -1 for none."""
    graph = rows.graph
    names, ordered = _number_columns(part)
    blocks: list[str] = []
    order: list[int] = []  # the columns of the blocks
    for column, encoder in names.items():
        blocks.append(_codes_of_names(rows, column, encoder))
        order.append(column)

    none = graph.constant([-1], np.int64)
    if ordered:
        X = rows.numbers(list(ordered))
        nodes = [encoder.nodes for encoder in ordered.values()]
        places = find_places(graph, X, nodes, [0] * len(nodes), below=True)
        blocks.append(graph.add("Where", graph.add("IsNaN", X), none, places))
        order += ordered

    for column, indicators in enumerate(part.encoders):
        if isinstance(indicators, Indicators):
            numbers = np.array([*range(indicators.width), -1])
            blocks.append(rows.lines(column, indicators, numbers[:, np.newaxis]))
            order.append(column)
    return graph.columns(graph.side_by_side(blocks), np.argsort(order).tolist(), len(order))
