"""The inputs of a graph: the columns as they come from outside, read as the parts of a score take them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from onnx import TensorProto, ValueInfoProto, helper

from vrspam.export.onnx_graphs.dates import NO_DATE, date_parts
from vrspam.export.onnx_graphs.graph import Graph
from vrspam.export.onnx_graphs.outputs import BATCH, OUTPUTS
from vrspam.export.onnx_graphs.rows import Rows, missing_text
from vrspam.features.parts import CurvePart
from vrspam.model.inputs import DATE, TEXT
from vrspam.model.model import Model

MATRIX = "X"


class Inputs(NamedTuple):
    """The inputs of a graph, and the rows that are read from them."""

    infos: list[ValueInfoProto]
    rows: Rows


def read_inputs(model: Model, number_type: int) -> Inputs:
    """A graph that begins with the inputs of a model, where numbers have this type (a number of `TensorProto`)."""
    if model.is_matrix:
        return _read_matrix(model, number_type)
    return _read_columns(model, number_type)


def _read_matrix(model: Model, number_type: int) -> Inputs:
    graph = Graph([MATRIX, *OUTPUTS])
    width = len(model.inputs)
    note = f"{width} columns of numbers, in the order of training. {_missing_note(model, 0)}"
    info = helper.make_tensor_value_info(MATRIX, number_type, [BATCH, width], note)
    places = {column: column for column in range(width)}
    return Inputs([info], Rows(graph, graph.finite_numbers(MATRIX), places, {}, {}))


def _read_columns(model: Model, number_type: int) -> Inputs:
    names = _input_names(model)
    graph = Graph([*names, MATRIX, *OUTPUTS])
    infos: list[ValueInfoProto] = []
    blocks: list[str] = []  # columns of numbers
    places: dict[int, int] = {}
    texts: dict[int, str] = {}
    missing: dict[int, str] = {}
    for number, (name, source) in enumerate(zip(names, model.inputs, strict=True)):
        columns = model.columns_of_inputs[number]
        if source.kind == TEXT:
            column = columns[0]
            texts[column] = name
            missing[column] = _missing_text(model, column)
            note = f"Categories as text; {missing[column]!r} is a missing value."
            infos.append(_column_info(name, TensorProto.STRING, note))
            continue

        for column in columns:
            places[column] = len(places)
        if source.kind == DATE:
            note = (
                "Dates and times of day, as on the wall clock: microseconds since 1970-01-01 "
                f"(numpy.datetime64[us] as int64); {NO_DATE} (NaT) is a missing value."
            )
            infos.append(_column_info(name, TensorProto.INT64, note))
            blocks += date_parts(graph, name, [str(model.columns[column].part) for column in columns])
        else:
            note = _missing_note(model, number)
            if source.note:
                note = f"{source.note} {note}"
            infos.append(_column_info(name, number_type, note))
            blocks.append(graph.finite_numbers(name))

    matrix = ""
    if blocks:
        matrix = graph.side_by_side(blocks)
    return Inputs(infos, Rows(graph, matrix, places, texts, missing))


def _input_names(model: Model) -> list[str]:
    """The name of each column, unless the graph needs it or cannot have it."""
    names: list[str] = []
    taken = {*OUTPUTS, ""}
    for source in model.inputs:
        name = source.name
        while name in taken:
            name = f"column {name}"
        taken.add(name)
        names.append(name)
    return names


def _column_info(name: str, dtype: int, note: str) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, [BATCH, 1], note)


def _missing_text(model: Model, column: int) -> str:
    """The text that stands for a missing value in a column of categories."""
    encoders = [part.encoders[column] for part in model.parts.kernels]
    encoders += [part.encoders[column] for part in model.parts.trees]
    return missing_text([model.effects[column], *encoders])


def _missing_note(model: Model, number: int) -> str:
    """What a missing value in an input of numbers means."""
    for column in model.columns_of_inputs[number]:
        effect = model.effects[column]
        if isinstance(effect, CurvePart) and np.isnan(effect.missing):
            return "NaN has no score."
    return "NaN is a missing value."
