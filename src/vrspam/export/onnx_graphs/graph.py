"""A graph of ONNX operators, built one by one: equal constants and equal operators are there once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

OPSET, ML_OPSET, IR_VERSION = 17, 3, 8  # what onnxruntime has had since 1.12
ML = "ai.onnx.ml"


class Graph:
    """Nodes and constants; each value has a name that nothing else in the graph has.

    Parameters
    ----------
    taken : names that must not be used, those of inputs and outputs
    """

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

    def taken_from_outside(self) -> set[str]:
        """The names of values that nothing in the graph makes."""
        made = {one.name for one in self.constants} | {node.output[0] for node in self.nodes}
        return {name for node in self.nodes for name in node.input} - made

    def cast(self, value: str, dtype: int) -> str:
        """A value in another type (a number of `TensorProto`)."""
        return self.add("Cast", value, to=dtype)

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


LARGEST = float(np.finfo(np.float64).max)


class Ensemble(NamedTuple):
    """Whole binary trees, level by level."""

    columns: np.ndarray  # (trees, nodes): what each node compares
    thresholds: np.ndarray  # (trees, nodes): with what
    absent_left: np.ndarray  # (trees, nodes): whether a missing value goes to the left
    weights: np.ndarray  # (trees, leaves, m): what each leaf adds to the outputs `targets`
    targets: np.ndarray  # (trees, m)


def run_trees(graph: Graph, X: str, mode: str, ensembles: Sequence[Ensemble]) -> str:
    """The outputs of all trees, added up: shape (rows, outputs), in float32."""
    nodes: dict[str, list[np.ndarray]] = {}
    leaves: dict[str, list[np.ndarray]] = {}
    modes: list[str] = []
    first = 0
    for ensemble in ensembles:
        trees, inner, (_, n_leaves, m) = len(ensemble.columns), ensemble.columns.shape[1], ensemble.weights.shape
        node, tree = np.arange(inner + n_leaves), first + np.arange(trees)
        is_leaf = node >= inner
        at_leaf = np.zeros((trees, n_leaves), dtype=np.int64)
        per_leaf = (trees, n_leaves, m)
        for kept, values in (
            ("nodes_treeids", np.repeat(tree, node.size)),
            ("nodes_nodeids", np.tile(node, trees)),
            ("nodes_featureids", np.hstack([ensemble.columns, at_leaf])),
            ("nodes_truenodeids", np.tile(np.where(is_leaf, 0, 2 * node + 1), trees)),
            ("nodes_falsenodeids", np.tile(np.where(is_leaf, 0, 2 * node + 2), trees)),
            ("nodes_missing_value_tracks_true", np.hstack([ensemble.absent_left, at_leaf])),
            ("nodes_values_as_tensor", np.hstack([ensemble.thresholds, at_leaf])),
        ):
            nodes.setdefault(kept, []).append(values.ravel())
        modes += ([mode] * inner + ["LEAF"] * n_leaves) * trees
        for kept, values in (
            ("target_treeids", np.broadcast_to(tree[:, np.newaxis, np.newaxis], per_leaf)),
            ("target_nodeids", np.broadcast_to(node[np.newaxis, inner:, np.newaxis], per_leaf)),
            ("target_ids", np.broadcast_to(ensemble.targets[:, np.newaxis], per_leaf)),
            ("target_weights_as_tensor", ensemble.weights),
        ):
            leaves.setdefault(kept, []).append(values.ravel())
        first += trees
    attributes: dict[str, Any] = {}
    for name, parts in {**nodes, **leaves}.items():
        whole = np.concatenate(parts)
        is_tensor = name.endswith("_as_tensor")
        attributes[name] = (
            numpy_helper.from_array(whole.astype(np.float64)) if is_tensor else whole.astype(int).tolist()
        )
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
            )
        )
    found = run_trees(graph, X, "BRANCH_LEQ" if below else "BRANCH_LT", ensembles)
    return graph.cast(found, TensorProto.INT64)
