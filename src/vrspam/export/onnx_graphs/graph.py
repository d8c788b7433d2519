"""A graph of ONNX operators, built one by one: equal constants and equal operators are there once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

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

    def total(self, values: Iterable[str]) -> str:
        """The sum of several values."""
        first, *rest = values
        for value in rest:
            first = self.add("Add", first, value)
        return first

    def side_by_side(self, blocks: Sequence[str]) -> str:
        """Several matrices as one."""
        return self.add("Concat", *blocks, axis=1) if len(blocks) > 1 else blocks[0]

    def columns(self, matrix: str, numbers: Iterable[int], width: int) -> str:
        """Some columns of a matrix that has `width`."""
        chosen = list(numbers)
        if chosen == list(range(width)):
            return matrix
        return self.add("Gather", matrix, self.constant(chosen, np.int64), axis=1)
