"""Ensembles of trees as one operator, which also finds the place of a number among sorted nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from onnx import TensorProto, numpy_helper

from vrspam.export.onnx_graphs.graph import ML, Graph

LARGEST = float(np.finfo(np.float64).max)


class Written(NamedTuple):
    """Which nodes of whole trees are written, and as what: inner nodes first, then leaves."""

    is_reached: np.ndarray  # (trees, nodes and leaves): rows come to it
    is_leaf: np.ndarray  # (trees, nodes and leaves): it is written as a leaf
    leaf: np.ndarray  # (nodes and leaves,): the leaf to which it leads, where all rows go to the left


class Ensemble(NamedTuple):
    """Whole binary trees, level by level."""

    columns: np.ndarray  # (trees, nodes): what each node compares
    thresholds: np.ndarray  # (trees, nodes): with what
    absent_left: np.ndarray  # (trees, nodes): whether a missing value goes to the left
    weights: np.ndarray  # (trees, leaves, m): what each leaf adds to the outputs `targets`
    targets: np.ndarray  # (trees, m)
    is_split: np.ndarray  # (trees, nodes): a node that is not sends all rows to the left, and is written as a leaf

    def written(self) -> Written:
        """What is written of the trees: nothing below a node that does not split."""
        n_trees, n_inner = self.columns.shape
        n_nodes = n_inner + self.weights.shape[1]

        is_reached = np.ones((n_trees, n_nodes), dtype=bool)
        for node in range(n_inner):
            goes_on = is_reached[:, node] & self.is_split[:, node]
            is_reached[:, 2 * node + 1] = goes_on
            is_reached[:, 2 * node + 2] = goes_on

        is_leaf = np.ones((n_trees, n_nodes), dtype=bool)
        is_leaf[:, :n_inner] = ~self.is_split

        leaf = np.arange(n_nodes) - n_inner
        for node in reversed(range(n_inner)):
            leaf[node] = leaf[2 * node + 1]
        return Written(is_reached, is_leaf, leaf)


def run_trees(graph: Graph, X: str, mode: str, ensembles: Sequence[Ensemble]) -> str:
    """The outputs of all trees, added up: shape (rows, outputs), in float32."""
    blocks = []
    first_tree = 0
    for ensemble in ensembles:
        blocks.append(_attributes(ensemble, mode, first_tree))
        first_tree += len(ensemble.columns)

    attributes: dict[str, Any] = {}
    for name in blocks[0]:
        values = np.concatenate([block[name] for block in blocks])
        if name == "nodes_modes":
            attributes[name] = values.tolist()
        elif name.endswith("_as_tensor"):
            attributes[name] = numpy_helper.from_array(values.astype(np.float64))
        else:
            attributes[name] = values.astype(int).tolist()

    last_target = max(int(ensemble.targets.max()) for ensemble in ensembles)
    return graph.add(
        "TreeEnsembleRegressor",
        X,
        domain=ML,
        n_targets=1 + last_target,
        aggregate_function="SUM",
        post_transform="NONE",
        **attributes,
    )


def _attributes(ensemble: Ensemble, mode: str, first_tree: int) -> dict[str, np.ndarray]:
    """The attributes of the operator for trees that are numbered from `first_tree`."""
    n_trees, n_inner = ensemble.columns.shape
    n_leaves, n_outputs = ensemble.weights.shape[1:]
    is_reached, is_leaf, leaf = ensemble.written()

    number = np.cumsum(is_reached, axis=1) - 1  # without gaps: onnxruntime takes no number above the count of nodes
    node = np.arange(n_inner + n_leaves)
    left = number[:, np.minimum(2 * node + 1, node[-1])]
    right = number[:, np.minimum(2 * node + 2, node[-1])]
    tree = first_tree + np.arange(n_trees)
    tree_of_node = np.broadcast_to(tree[:, np.newaxis], is_reached.shape)
    compares_nothing = np.zeros((n_trees, n_leaves), dtype=np.int64)
    nodes = {
        "nodes_treeids": tree_of_node,
        "nodes_nodeids": number,
        "nodes_featureids": np.hstack([ensemble.columns, compares_nothing]),
        "nodes_truenodeids": np.where(is_leaf, 0, left),
        "nodes_falsenodeids": np.where(is_leaf, 0, right),
        "nodes_missing_value_tracks_true": np.hstack([ensemble.absent_left, compares_nothing]),
        "nodes_values_as_tensor": np.hstack([ensemble.thresholds, compares_nothing]),
        "nodes_modes": np.where(is_leaf, "LEAF", mode),
    }
    attributes = {name: values[is_reached] for name, values in nodes.items()}

    leaf_trees, leaf_nodes = np.nonzero(is_reached & is_leaf)
    attributes["target_treeids"] = np.repeat(tree[leaf_trees], n_outputs)
    attributes["target_nodeids"] = np.repeat(number[leaf_trees, leaf_nodes], n_outputs)
    attributes["target_ids"] = ensemble.targets[leaf_trees].ravel()
    attributes["target_weights_as_tensor"] = ensemble.weights[leaf_trees, leaf[leaf_nodes]].ravel()
    return attributes


def find_places(graph: Graph, X: str, nodes: Sequence[np.ndarray], starts: Sequence[int], below: bool) -> str:
    """How many nodes are at most x, or with `below` less than x, for each column of X; `starts` are added.

    They are numbers below 2²⁴, which floats hold exactly.
    """
    ensembles = []
    for column, (sorted_nodes, start) in enumerate(zip(nodes, starts, strict=True)):
        ensembles.append(_search_tree(column, sorted_nodes, start))

    mode = "BRANCH_LEQ" if below else "BRANCH_LT"
    places = run_trees(graph, X, mode, ensembles)
    return graph.cast(places, TensorProto.INT64)


def _search_tree(column: int, sorted_nodes: np.ndarray, start: int) -> Ensemble:
    """One tree that finds the place of a number among sorted nodes by bisection."""
    depth = max(1, sorted_nodes.size.bit_length())
    n_inner = 2**depth - 1
    padded = np.full(n_inner, LARGEST)
    padded[: sorted_nodes.size] = sorted_nodes

    order = []  # of the sorted nodes, level by level: first the middle one, then those of both halves
    for level in range(depth):
        width = 2 ** (depth - level)
        order += [place * width + width // 2 - 1 for place in range(2**level)]

    places = start + np.minimum(np.arange(n_inner + 1), sorted_nodes.size)
    return Ensemble(
        columns=np.full((1, n_inner), column),
        thresholds=padded[order][np.newaxis],
        absent_left=np.ones((1, n_inner), dtype=bool),
        weights=places[np.newaxis, :, np.newaxis],
        targets=np.full((1, 1), column),
        is_split=np.ones((1, n_inner), dtype=bool),
    )
