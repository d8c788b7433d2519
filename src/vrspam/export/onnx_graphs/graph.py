"""`Graph`: nodes and constants of an ONNX graph, each written once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

OPSET, ML_OPSET, IR_VERSION = 17, 3, 8  # what onnxruntime has had since 1.12
ML = "ai.onnx.ml"


class Graph:
    """Nodes and constants, equal ones only once; names that are `taken`, of inputs and outputs, are not used again."""

    def __init__(self, taken: Iterable[str] = ()):
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self._names: set[str] = set(taken)
        self._made: dict[Any, str] = {}  # the name of each constant and of the output of each node

    def _new_name(self, hint: str) -> str:
        number = len(self._names)
        while f"{hint}_{number}" in self._names:
            number += 1
        name = f"{hint}_{number}"
        self._names.add(name)
        return name

    def constant(self, values: Any, dtype: Any = None) -> str:
        """A constant tensor; texts are strings."""
        array = np.asarray(values, dtype=dtype)
        if array.dtype.kind in "OU":
            return self._constant_texts(array)

        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._made:
            name = self._new_name("constant")
            self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
            self._made[key] = name
        return self._made[key]

    def _constant_texts(self, array: np.ndarray) -> str:
        values = array.ravel().tolist()
        key = ("text", array.shape, tuple(values))
        if key not in self._made:
            name = self._new_name("constant")
            texts: Any = [str(value).encode() for value in values]
            self.constants.append(helper.make_tensor(name, TensorProto.STRING, array.shape, texts))
            self._made[key] = name
        return self._made[key]

    def add(self, op: str, *inputs: str, domain: str = "", output: str | None = None, **attributes: Any) -> str:
        """The output of an operator; `output` gives it a name."""
        node = helper.make_node(op, list(inputs), [""], domain=domain, **attributes)
        if output is not None:
            node.output[0] = output
            self.nodes.append(node)
            return output

        key = node.SerializeToString(deterministic=True)
        if key not in self._made:
            node.output[0] = self._new_name(op)
            self.nodes.append(node)
            self._made[key] = node.output[0]
        return self._made[key]

    def used_constants(self) -> list[TensorProto]:
        """The constants that some operator needs."""
        used = {name for node in self.nodes for name in node.input}
        return [constant for constant in self.constants if constant.name in used]

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

    def sum_columns(self, matrix: str) -> str:
        """The sum of each row."""
        return self.add("ReduceSum", matrix, self.constant([1], np.int64), keepdims=0)

    def as_column(self, vector: str) -> str:
        """A vector as a matrix of one column."""
        return self.add("Unsqueeze", vector, self.constant([1], np.int64))

    def as_vector(self, column: str) -> str:
        """A matrix of one column as a vector."""
        return self.add("Squeeze", column, self.constant([1], np.int64))

    def side_by_side(self, blocks: Sequence[str]) -> str:
        """Several matrices as one."""
        if len(blocks) == 1:
            return blocks[0]
        return self.add("Concat", *blocks, axis=1)

    def columns(self, matrix: str, numbers: Iterable[int], width: int) -> str:
        """Some columns of a matrix that has `width`."""
        chosen = list(numbers)
        if chosen == list(range(width)):
            return matrix
        return self.add("Gather", matrix, self.constant(chosen, np.int64), axis=1)
