"""The parts of a score as a graph of ONNX operators: dates, curves, tables, kernels, trees. All sums are in double."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

from vrspam.features.encoders import Curves, Encoder, Indicators
from vrspam.features.parts import CategoryPart, CurvePart, Effect, KernelPart, TreePart, split_sides
from vrspam.features.scoring import Leaves, exponents, leaf_sums
from vrspam.tables.kinds.dates import MONTH, WEEKDAY, YEAR

OPSET, ML_OPSET, IR_VERSION = 17, 3, 8  # what onnxruntime has had since 1.12
ML = "ai.onnx.ml"
LARGEST = float(np.finfo(np.float64).max)


class Graph:
    """Nodes and constants, equal ones only once; names that are `taken`, of inputs and outputs, are not used again."""

    def __init__(self, taken: Iterable[str] = ()):
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self._names: set[str] = set(taken)
        self._made: dict[Any, str] = {}

    def _name(self, hint: str) -> str:
        number = len(self._names)
        while (name := f"{hint}_{number}") in self._names:
            number += 1
        self._names.add(name)
        return name

    def constant(self, values: Any, dtype: Any = None) -> str:
        """A constant tensor; texts are strings."""
        array = np.asarray(values, dtype=dtype)
        if array.dtype.kind in "OU":
            key: Any = ("text", array.shape, tuple(array.ravel().tolist()))
        else:
            key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._made:
            name = self._name("constant")
            if array.dtype.kind in "OU":
                texts: Any = [str(value).encode() for value in array.ravel().tolist()]
                tensor = helper.make_tensor(name, TensorProto.STRING, array.shape, texts)
            else:
                tensor = numpy_helper.from_array(np.ascontiguousarray(array), name)
            self.constants.append(tensor)
            self._made[key] = name
        return self._made[key]

    def add(self, op: str, *inputs: str, domain: str = "", output: str | None = None, **attributes: Any) -> str:
        """The output of an operator; `output` gives it a name."""
        node = helper.make_node(op, list(inputs), [""], domain=domain, **attributes)
        key = node.SerializeToString(deterministic=True)
        if output is None and key in self._made:
            return self._made[key]
        name = self._name(op) if output is None else output
        node.output[0] = name
        self.nodes.append(node)
        if output is None:
            self._made[key] = name
        return name

    def used_constants(self) -> list[TensorProto]:
        """The constants that some operator needs."""
        used = {name for node in self.nodes for name in node.input}
        return [one for one in self.constants if one.name in used]

    def cast(self, value: str, dtype: int) -> str:
        """A value in another type (a number of `TensorProto`)."""
        return self.add("Cast", value, to=dtype)

    def finite_numbers(self, value: str) -> str:
        """Numbers in double precision; an infinite one is a missing value, as in plain Python and SQL."""
        numbers = self.cast(value, TensorProto.DOUBLE)
        return self.add("Where", self.add("IsInf", numbers), self.constant([np.nan]), numbers)

    def zeros(self, value: str) -> str:
        """A 0 for each row of an input, in double precision."""
        zero = numpy_helper.from_array(np.zeros(1))
        return self.add("ConstantOfShape", self.add("Shape", value, start=0, end=1), value=zero)

    def sum_columns(self, value: str) -> str:
        """The sum of each row."""
        return self.add("ReduceSum", value, self.constant([1], np.int64), keepdims=0)

    def side_by_side(self, blocks: Sequence[str]) -> str:
        """Several matrices as one."""
        return self.add("Concat", *blocks, axis=1) if len(blocks) > 1 else blocks[0]

    def columns(self, matrix: str, numbers: Iterable[int], width: int) -> str:
        """Some columns of a matrix that has `width`."""
        chosen = list(numbers)
        if chosen == list(range(width)):
            return matrix
        return self.add("Gather", matrix, self.constant(chosen, np.int64), axis=1)


class Ensemble(NamedTuple):
    """Whole binary trees, level by level."""

    columns: np.ndarray  # (trees, nodes): what each node compares
    thresholds: np.ndarray  # (trees, nodes): with what
    absent_left: np.ndarray  # (trees, nodes): whether a missing value goes to the left
    weights: np.ndarray  # (trees, leaves, m): what each leaf adds to the outputs `targets`
    targets: np.ndarray  # (trees, m)
    is_split: np.ndarray  # (trees, nodes): a node that is not sends all rows to the left, and is written as a leaf

    def written(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which nodes and leaves rows come to, which of them are written as leaves, and the leaf that each leads to."""
        inner, n_leaves = self.columns.shape[1], self.weights.shape[1]
        reached = np.ones((len(self.columns), inner + n_leaves), dtype=bool)
        ends = np.arange(inner + n_leaves) - inner
        for node in range(inner):
            reached[:, 2 * node + 1 : 2 * node + 3] = (reached[:, node] & self.is_split[:, node])[:, np.newaxis]
        for node in range(inner - 1, -1, -1):
            ends[node] = ends[2 * node + 1]
        is_leaf = np.ones_like(reached)
        is_leaf[:, :inner] = ~self.is_split
        return reached, is_leaf, ends


def run_trees(graph: Graph, X: str, mode: str, ensembles: Sequence[Ensemble]) -> str:
    """The outputs of all trees, added up: shape (rows, outputs), in float32."""
    written: dict[str, list[np.ndarray]] = {}
    modes: list[str] = []
    first = 0
    for ensemble in ensembles:
        trees, inner, (_, n_leaves, m) = len(ensemble.columns), ensemble.columns.shape[1], ensemble.weights.shape
        node, tree = np.arange(inner + n_leaves), first + np.arange(trees)
        reached, is_leaf, ends = ensemble.written()
        number = np.cumsum(reached, axis=1) - 1  # without gaps: onnxruntime takes no number above the count of nodes
        left, right = (number[:, np.minimum(2 * node + side, node[-1])] for side in (1, 2))
        at_leaf = np.zeros((trees, n_leaves), dtype=np.int64)
        every = np.broadcast_to(tree[:, np.newaxis], reached.shape)
        for kept, values in (
            ("nodes_treeids", every),
            ("nodes_nodeids", number),
            ("nodes_featureids", np.hstack([ensemble.columns, at_leaf])),
            ("nodes_truenodeids", np.where(is_leaf, 0, left)),
            ("nodes_falsenodeids", np.where(is_leaf, 0, right)),
            ("nodes_missing_value_tracks_true", np.hstack([ensemble.absent_left, at_leaf])),
            ("nodes_values_as_tensor", np.hstack([ensemble.thresholds, at_leaf])),
        ):
            written.setdefault(kept, []).append(values[reached])
        modes += np.where(is_leaf, "LEAF", mode)[reached].tolist()
        some = np.argwhere(reached & is_leaf)
        for kept, values in (
            ("target_treeids", np.repeat(first + some[:, 0], m)),
            ("target_nodeids", np.repeat(number[some[:, 0], some[:, 1]], m)),
            ("target_ids", ensemble.targets[some[:, 0]]),
            ("target_weights_as_tensor", ensemble.weights[some[:, 0], ends[some[:, 1]]]),
        ):
            written.setdefault(kept, []).append(values.ravel())
        first += trees
    attributes: dict[str, Any] = {}
    for name, parts in written.items():
        whole = np.concatenate(parts)
        if name.endswith("_as_tensor"):
            attributes[name] = numpy_helper.from_array(whole.astype(np.float64))
        else:
            attributes[name] = whole.astype(int).tolist()
    return graph.add(
        "TreeEnsembleRegressor",
        X,
        domain=ML,
        n_targets=1 + max(int(ensemble.targets.max()) for ensemble in ensembles),
        aggregate_function="SUM",
        post_transform="NONE",
        nodes_modes=modes,
        **attributes,
    )


def find_places(graph: Graph, X: str, nodes: Sequence[np.ndarray], starts: Sequence[int], below: bool) -> str:
    """How many nodes are at most x, or with `below` less than x, for each column of X; `starts` are added.

    They are numbers below 2²⁴, which floats hold exactly.
    """
    ensembles = []
    for number, (sorted_nodes, start) in enumerate(zip(nodes, starts, strict=True)):
        depth = max(1, sorted_nodes.size.bit_length())
        inner = 2**depth - 1
        padded = np.full(inner, LARGEST)
        padded[: sorted_nodes.size] = sorted_nodes
        order = [(2 * p + 1) * 2 ** (depth - level - 1) - 1 for level in range(depth) for p in range(2**level)]
        places = start + np.minimum(np.arange(inner + 1), sorted_nodes.size)
        ensembles.append(
            Ensemble(
                columns=np.full((1, inner), number),
                thresholds=padded[order][np.newaxis],
                absent_left=np.ones((1, inner), dtype=bool),
                weights=places[np.newaxis, :, np.newaxis],
                targets=np.full((1, 1), number),
                is_split=np.ones((1, inner), dtype=bool),
            )
        )
    found = run_trees(graph, X, "BRANCH_LEQ" if below else "BRANCH_LT", ensembles)
    return graph.cast(found, TensorProto.INT64)


@dataclass(frozen=True)
class Rows:
    """The columns of the rows to be scored, as values of a graph."""

    graph: Graph
    matrix: str  # all columns of numbers, in double
    places: Mapping[int, int]  # which of its columns holds the column of this number
    texts: Mapping[int, str]  # the columns of categories, each as a value of shape (rows, 1)
    missing: Mapping[int, str]  # the text that stands for a missing value in each of them

    def numbers(self, columns: Sequence[int]) -> str:
        """Some columns of numbers, side by side."""
        return self.graph.columns(self.matrix, [self.places[j] for j in columns], len(self.places))

    def codes(self, column: int, categories: Sequence[str]) -> str:
        """The place of each category in this list; behind it are a missing value, and then any other category."""
        names = [*categories, self.missing[column]]
        return self.graph.add(
            "LabelEncoder",
            self.texts[column],
            domain=ML,
            keys_strings=names,
            values_int64s=list(range(len(names))),
            default_int64=len(names),
        )

    def lines(self, column: int, encoder: Indicators, table: np.ndarray) -> str:
        """For each row the line of a table that has one for each category of the column, and a last one for none."""
        names = [name for name in encoder.codes if name is not None]
        order = [*range(len(names)), encoder.codes.get(None, -1), encoder.other]
        chosen = self.graph.add("Gather", self.graph.constant(table[order]), self.codes(column, names))
        return self.graph.add("Squeeze", chosen, self.graph.constant([1], np.int64))


def missing_text(parts: Iterable[Effect | Encoder | None]) -> str:
    """The text that stands for a missing value in a column: "", unless one of these parts has that category.

    >>> missing_text([CategoryPart({"Graz": 1.0})]), missing_text([CategoryPart({"": 2.0, "Graz": 1.0})])
    ('', '(missing)')
    """
    known: set[str] = set()
    for part in parts:
        known |= {*part.values} if isinstance(part, CategoryPart) else set()
        known |= {*part.categories} if isinstance(part, Indicators) else set()
    text = ""
    while text in known:
        text = f"({text or 'missing'})"
    return text


# Dates.


def date_parts(graph: Graph, moments: str, parts: Sequence[str]) -> list[str]:
    """Parts of dates, which are microseconds since 1970 as int64, in double; NaN for a missing one."""

    def whole(number: int) -> str:
        return graph.constant([number], np.int64)

    def op(name: str, value: str, number: int) -> str:
        return graph.add(name, value, whole(number))

    gone = graph.add("Equal", moments, whole(int(np.iinfo(np.int64).min)))
    some = graph.add("Where", gone, whole(0), moments)
    day = 86_400_000_000  # in microseconds
    of_day = op("Mod", some, day)  # never negative: the division below is exact
    days = op("Div", graph.add("Sub", some, of_day), day)
    found = []
    for part in parts:
        if part == YEAR:
            share = graph.add("Div", graph.cast(some, TensorProto.DOUBLE), graph.constant([86_400e6 * 365.2425]))
            value = graph.add("Add", graph.constant([1970.0]), share)
        else:
            if part == MONTH:
                counted = _month(graph, days, op)
            elif part == WEEKDAY:
                counted = op("Add", op("Mod", op("Add", days, 3), 7), 1)
            else:
                counted = op("Div", of_day, 3_600_000_000)
            value = graph.cast(counted, TensorProto.DOUBLE)
        found.append(graph.add("Where", gone, graph.constant([np.nan]), value))
    return found


def _month(graph: Graph, days: str, op: Any) -> str:
    """The month of a day, 1 to 12, by the calendar of 400 years that begins in March, so that leap days come last."""
    of_era = op("Mod", op("Add", days, 719_468), 146_097)
    leaps = graph.add(
        "Sub", op("Div", of_era, 36_524), graph.add("Add", op("Div", of_era, 1_460), op("Div", of_era, 146_096))
    )
    year = op("Div", graph.add("Add", of_era, leaps), 365)
    before = graph.add("Sub", graph.add("Add", op("Mul", year, 365), op("Div", year, 4)), op("Div", year, 100))
    of_year = graph.add("Sub", of_era, before)
    march = op("Div", op("Add", op("Mul", of_year, 5), 2), 153)
    return op("Add", op("Mod", op("Add", march, 2), 12), 1)


# Curves and tables.


def curve_matrix(graph: Graph, X: str, curves: Sequence[CurvePart]) -> str:
    """Each column of X through its curve, in double."""
    if all(curve.is_line for curve in curves):
        lines = np.array([[curve.nodes[0], curve.values[0], curve.left] for curve in curves], np.float64)
        base, value, slope = (graph.constant(part[np.newaxis]) for part in lines.T)
    else:
        segments = [curve.segments for curve in curves]
        starts = np.cumsum([0, *(part[0].size for part in segments[:-1])])
        places = find_places(graph, X, [curve.nodes for curve in curves], starts.tolist(), below=False)
        base, value, slope = (
            graph.add("Gather", graph.constant(np.concatenate([part[i] for part in segments])), places)
            for i in range(3)
        )
    found = graph.add("Add", value, graph.add("Mul", slope, graph.add("Sub", X, base)))
    missing = np.array([[curve.missing for curve in curves]])
    if np.isnan(missing).all():  # a row without a value has no score, and NaN stays NaN
        return found
    return graph.add("Where", graph.add("IsNaN", X), graph.constant(missing), found)


def sum_curves(rows: Rows, curves: Mapping[int, CurvePart]) -> list[str]:
    """What columns of numbers add to the score, each by its curve."""
    graph, found = rows.graph, []
    for straight in (True, False):
        chosen = {j: curve for j, curve in curves.items() if curve.is_line == straight}
        if not chosen:
            continue
        X, of = rows.numbers(list(chosen)), list(chosen.values())
        if straight and all(not c.nodes[0] and not c.values[0] and np.isnan(c.missing) for c in of):
            slopes = graph.constant([[curve.left] for curve in of])
            found.append(graph.add("Squeeze", graph.add("MatMul", X, slopes), graph.constant([1], np.int64)))
        else:
            found.append(graph.sum_columns(curve_matrix(graph, X, of)))
    return found


def sum_tables(rows: Rows, tables: Mapping[int, CategoryPart]) -> list[str]:
    """What columns of categories add to the score, each by its table."""
    graph, found = rows.graph, []
    for column, table in tables.items():
        values = graph.constant([*table.values.values(), table.missing, table.other], np.float64)
        found.append(graph.add("Gather", values, rows.codes(column, list(table.values))))
    return [graph.sum_columns(graph.side_by_side(found))] if found else []


# Kernels.


def kernel_score(rows: Rows, part: KernelPart) -> str:
    """What the bumps of a kernel add to the score."""
    graph = rows.graph
    found = graph.add("MatMul", kernel_matrix(rows, part), graph.constant(part.coef[:, np.newaxis]))
    return graph.add("Squeeze", found, graph.constant([1], np.int64))


def kernel_matrix(rows: Rows, part: KernelPart) -> str:
    """exp(-gamma ‖u - z‖²) for the encoded rows and all landmarks z."""
    graph = rows.graph
    blocks: list[str] = []
    order: list[int] = []  # of the encoded columns in `blocks`
    start = 0
    ranks: list[tuple[int, int, CurvePart]] = []  # column, place of its rank, curve
    gaps: list[tuple[int, int]] = []
    for column, encoder in enumerate(part.encoders):
        if isinstance(encoder, Curves):
            ranks.append((column, start, CurvePart.of(encoder, np.ones(1))))
            if encoder.missing:
                gaps.append((column, start + 1))
        else:
            blocks.append(one_hot(rows, column, encoder))
            order += range(start, start + encoder.width)
        start += encoder.width
    for straight in (True, False):
        chosen = [one for one in ranks if one[2].is_line == straight]
        if chosen:
            blocks.append(curve_matrix(graph, rows.numbers([one[0] for one in chosen]), [one[2] for one in chosen]))
            order += [place for _, place, _ in chosen]
    if gaps:
        absent = graph.add("IsNaN", rows.numbers([column for column, _ in gaps]))
        blocks.append(graph.cast(absent, TensorProto.DOUBLE))
        order += [place for _, place in gaps]
    # -γ‖u - z‖² as one product, as in `exponents`
    u = graph.side_by_side(blocks)
    squares = graph.add("ReduceSum", graph.add("Mul", u, u), graph.constant([1], np.int64), keepdims=1)
    ones = graph.add("Add", graph.add("Mul", squares, graph.constant([0.0])), graph.constant([1.0]))
    left = graph.add("Concat", u, squares, ones, axis=1)
    right = exponents(part.landmarks[:0], part.landmarks[:, order], part.gamma)[1]
    return graph.add("Exp", graph.add("MatMul", left, graph.constant(right)))


def one_hot(rows: Rows, column: int, encoder: Indicators) -> str:
    """The indicators of the categories of a column, each times its scale."""
    alone = np.diag(encoder.scale or (1.0,) * encoder.width)
    return rows.lines(column, encoder, np.vstack([alone, np.zeros(encoder.width)]))


def tree_score(rows: Rows, part: TreePart) -> str:
    """What the leaves of trees add to the score."""
    graph = rows.graph
    sums_of_leaves = leaf_sums(part, Leaves(part.encoders, part.trees))
    n_trees, n_leaves = sums_of_leaves.shape
    groups: dict[int, np.ndarray] = {}  # of each column of categories the ways to split it: (ways, codes)
    for column, encoder in enumerate(part.encoders):
        here = part.trees.columns == column
        if isinstance(encoder, Indicators) and here.any():
            sides = split_sides(part.trees.multipliers[here], part.trees.thresholds[here], encoder.width)
            groups[column] = np.unique(sides, axis=0)  # True to the right
    most_groups = 4  # ways to split categories, for each tree, up to which each has a column of its own
    if sum(len(sides) for sides in groups.values()) > most_groups * n_trees:
        leaves = _leaves_by_level(rows, part)
        starts = graph.constant([np.arange(n_trees) * n_leaves], np.int64)
        sums = graph.constant(sums_of_leaves.ravel())
        return graph.sum_columns(graph.add("Gather", sums, graph.add("Add", leaves, starts)))
    X, ensemble = _whole_trees(rows, part, sums_of_leaves, groups)
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


def _whole_trees(
    rows: Rows, part: TreePart, sums: np.ndarray, groups: Mapping[int, np.ndarray]
) -> tuple[str, Ensemble]:
    """The trees as they are: over columns of numbers and, for each way to split a category, a column of its side."""
    from vrspam.kernels import NO_SPLIT  # compiled code is loaded only when it is needed

    graph, blocks, width = rows.graph, [], 0
    columns = part.trees.columns.astype(np.int64)
    limits = part.trees.thresholds.astype(np.int64)
    factors = part.trees.multipliers.astype(np.int64)
    features, thresholds = np.zeros_like(columns), np.full(columns.shape, 0.5)
    named, numeric = _numeric(part)
    if numeric:
        blocks.append(rows.numbers(list(numeric)))
        width = len(numeric)
    for column, encoder in named.items():
        here = columns == column
        features[here], thresholds[here] = width, np.minimum(limits[here], encoder.nodes.size) + 0.5
        code = graph.cast(_names(rows, column, encoder), TensorProto.DOUBLE)
        below = graph.add("Less", code, graph.constant([0.0]))
        blocks.append(graph.add("Where", below, graph.constant([np.nan]), code))
        width += 1
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
        blocks.append(rows.lines(column, known, of_codes))
        width += len(sides)
    weights = exact_summands(sums)
    targets = np.tile(np.arange(weights.shape[2]), (len(columns), 1))
    is_split = limits < NO_SPLIT
    return graph.side_by_side(blocks), Ensemble(
        features, thresholds, part.trees.absent_left, weights, targets, is_split
    )


def _leaves_by_level(rows: Rows, part: TreePart) -> str:
    """The leaves of rows in trees that split categories too: from level to level, for all trees at once."""
    from vrspam.kernels import CATEGORY_PRIME  # compiled code is loaded only when it is needed

    graph = rows.graph
    n_trees, n_nodes = part.trees.columns.shape
    prime = graph.constant([CATEGORY_PRIME], np.int64)
    codes = _codes(rows, part)
    tables = {
        name: graph.constant(getattr(part.trees, name).astype(np.int64).ravel())
        for name in ("columns", "thresholds", "multipliers")
    }
    sides = graph.constant(part.trees.absent_left.ravel())
    starts = np.arange(n_trees, dtype=np.int64)[np.newaxis] * n_nodes
    node = ""  # of each row in each tree, counted from the root of the tree
    one, two, zero = (graph.constant([number], np.int64) for number in (1, 2, 0))
    for level in range((n_nodes + 1).bit_length() - 1):
        if level == 0:
            flat = graph.constant(starts)
            code = graph.add("Gather", codes, graph.constant(part.trees.columns[:, 0], np.int64), axis=1)
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
    named, numeric = _numeric(part)
    blocks, order = [_names(rows, column, encoder) for column, encoder in named.items()], list(named)
    minus = graph.constant([-1], np.int64)
    if numeric:
        X = rows.numbers(list(numeric))
        places = find_places(graph, X, [one.nodes for one in numeric.values()], [0] * len(numeric), below=True)
        blocks.append(graph.add("Where", graph.add("IsNaN", X), minus, places))
        order += list(numeric)
    for column, encoder in enumerate(part.encoders):
        if isinstance(encoder, Indicators):
            blocks.append(rows.lines(column, encoder, np.array([*range(encoder.width), -1])[:, np.newaxis]))
            order.append(column)
    return graph.columns(graph.side_by_side(blocks), np.argsort(order).tolist(), len(order))


def _numeric(part: TreePart) -> tuple[dict[int, Curves], dict[int, Curves]]:
    """The columns of numbers that are names, and those of other numbers."""
    found = {j: encoder for j, encoder in enumerate(part.encoders) if isinstance(encoder, Curves)}
    named = {j: encoder for j, encoder in found.items() if encoder.names_as is not None}
    return named, {j: encoder for j, encoder in found.items() if j not in named}


def _names(rows: Rows, column: int, encoder: Curves) -> str:
    """The codes of numbers that are names; -1 for others, which are not whole or not among them, and for NaN."""
    assert encoder.names_as is not None
    graph, x = rows.graph, rows.numbers([column])
    inside = graph.add("LessOrEqual", graph.add("Abs", x), graph.constant([2.0**53]))
    whole = graph.add("And", graph.add("Equal", x, graph.add("Floor", x)), inside)
    keys, codes = encoder.nodes.astype(np.int64).tolist(), encoder.names_as.tolist()
    number = graph.cast(graph.add("Where", whole, x, graph.constant([0.0])), TensorProto.INT64)
    found = graph.add(
        "LabelEncoder", number, domain=ML, keys_int64s=keys, values_int64s=codes, default_int64=-1
    )  # fmt: skip
    return graph.add("Where", whole, found, graph.constant([-1], np.int64))
