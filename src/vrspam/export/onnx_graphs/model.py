"""`to_onnx`: a fitted model as one graph of standard ONNX operators."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import onnx
from onnx import TensorProto, helper

import vrspam
from vrspam.export.onnx_graphs.curves import sum_curves, sum_tables
from vrspam.export.onnx_graphs.graph import IR_VERSION, ML, ML_OPSET, OPSET
from vrspam.export.onnx_graphs.inputs import read_inputs
from vrspam.export.onnx_graphs.kernels import kernel_score
from vrspam.export.onnx_graphs.outputs import write_outputs
from vrspam.export.onnx_graphs.rows import Rows
from vrspam.export.onnx_graphs.trees import round_splits, tree_score
from vrspam.features.parts import CategoryPart, CurvePart
from vrspam.model.inputs import check_utf8
from vrspam.model.model import Model, model_of

TYPES = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE}


def to_onnx(estimator: Any, *, dtype: str = "float64") -> onnx.ModelProto:
    """Return a fitted estimator as an ONNX model: from columns as they are to label, score and probability.

    Everything between is in the graph: readings of dates, categories, missing values, curves, kernels, trees, blends
    and calibration, by standard operators alone (`ai.onnx` and `ai.onnx.ml`).

    Parameters
    ----------
    estimator : fitted estimator of this package, or `vrspam.tool.Model`
    dtype : {"float64", "float32"}, default="float64"
        Type of the numbers that go in and come out; all that is computed between them is in float64. In float64, scores
        equal those of `decision_function` to 1e-12 of their spread, and those of kernels whose large coefficients
        cancel to what both round. In float32 they are the scores of the rounded numbers: columns that lose what
        matters when they are rounded (years with fractions, times in seconds) need float64.

    Returns
    -------
    onnx.ModelProto
        Inputs: for an estimator that was fitted on a frame one for each column, with its name and shape (rows, 1);
        else one matrix, "X". Numbers are floats, and NaN and infinity are missing values; text is strings and "" is a
        missing value; dates are int64, microseconds since 1970, and -2⁶³ (NaT) is a missing value. The `doc_string` of
        each input says what it takes. A column that is called like an output has "column " before its name.
        Outputs, one number or text for each row: "label", "score" (`decision_function`) and "probability" (of
        `classes_[1]`; NaN where the estimator has no calibration). A model of times, or of pairs inside strata, has
        "score" alone.

    Raises
    ------
    NotExportable
        With the reason, where a part of the model has no such form (features of another package's transformer).

    Examples
    --------
    >>> import numpy as np, onnxruntime
    >>> from vrspam import AUCClassifierCV
    >>> from vrspam.export import to_onnx
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 2))
    >>> model = AUCClassifierCV(features="additive").fit(X, np.abs(X[:, 0]) > 1)
    >>> session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    >>> label, score, probability = session.run(None, {"X": X[:5]})
    >>> bool(np.abs(score - model.decision_function(X[:5])).max() < 1e-12)
    True
    """
    if dtype not in TYPES:
        raise ValueError(f"dtype is {dtype!r}, but must be 'float32' or 'float64'.")
    model = model_of(estimator)
    check_utf8(model.texts, "ONNX")
    if dtype == "float32":
        model = _round_trees(model)
    return _write_model(model, TYPES[dtype])


def _round_trees(model: Model) -> Model:
    """A model whose trees split numbers that were rounded to float32 as they were split before."""
    trees = tuple(round_splits(part) for part in model.parts.trees)
    return replace(model, parts=model.parts._replace(trees=trees))


def _write_model(model: Model, number_type: int) -> onnx.ModelProto:
    """The ONNX model: numbers go in and come out in this type, and are double between."""
    inputs, rows = read_inputs(model, number_type)
    graph = rows.graph
    parts = _sum_parts(rows, model)
    if not parts:  # no column adds anything: all rows have the same score
        parts.append(graph.zeros(inputs[0].name))
    score = graph.add("Sum", *parts, graph.constant([model.intercept]))
    outputs = write_outputs(graph, model, score, number_type)

    proto = helper.make_model(
        helper.make_graph(graph.nodes, "vrspam", inputs, outputs, graph.used_constants()),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)],
        ir_version=IR_VERSION,
        producer_name="vrspam",
        producer_version=vrspam.__version__,
        doc_string=_describe(model),
    )
    onnx.checker.check_model(proto)
    return proto


def _sum_parts(rows: Rows, model: Model) -> list[str]:
    """What the parts of a model add to the score, as vectors; those of columns of one kind are summed."""
    curves: dict[int, CurvePart] = {}
    tables: dict[int, CategoryPart] = {}
    for column, effect in enumerate(model.effects):
        if isinstance(effect, CurvePart):
            curves[column] = effect
        elif isinstance(effect, CategoryPart):
            tables[column] = effect

    sums = sum_curves(rows, curves) + sum_tables(rows, tables)
    for kernel in model.parts.kernels:
        sums.append(kernel_score(rows, kernel))
    for trees in model.parts.trees:
        sums.append(tree_score(rows, trees))
    return sums


def _describe(model: Model) -> str:
    """What scores mean, for the reader of the file."""
    description = f"Scores rank rows: higher is {model.outcome.higher}"
    if not model.ranks:
        description += f", lower {model.classes[0]!r}"
    description += "."
    if model.identifiers:
        description += f" Columns that training left out: {', '.join(model.identifiers)}."
    return description
