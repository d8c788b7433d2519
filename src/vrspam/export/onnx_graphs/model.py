"""`to_onnx`: a fitted model as one graph of standard ONNX operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

import vrspam
from vrspam.export.onnx_graphs.graph import IR_VERSION, ML, ML_OPSET, OPSET, Graph
from vrspam.export.onnx_graphs.operators import (
    Rows,
    curve_matrix,
    date_parts,
    kernel_score,
    missing_text,
    sum_curves,
    sum_tables,
)
from vrspam.export.onnx_graphs.precision import Precision, round_nodes, try_single
from vrspam.export.onnx_graphs.tree_scores import tree_score
from vrspam.features.encoders import Indicators
from vrspam.features.parts import Curve, Table
from vrspam.model.scorer import DATE, TEXT, Input, NotExportable, Scorer, scorer_of
from vrspam.model_selection.calibration import Isotonic, Sigmoid

TYPES = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE}
LABEL, SCORE, PROBABILITY = OUTPUTS = ("label", "score", "probability")
MATRIX = "X"
BATCH = "rows"
DATE_NOTE = (
    "Dates and times of day, as on the wall clock: microseconds since 1970-01-01 (numpy.datetime64[us] as int64); "
    f"{np.iinfo(np.int64).min} (NaT) is a missing value."
)


def to_onnx(estimator: Any, *, dtype: str = "float32") -> onnx.ModelProto:
    """Return a fitted estimator as an ONNX model: from columns as they are to label, score and probability.

    Everything between is in the graph: readings of dates, categories, missing values, curves, kernels, trees, blends
    and calibration, by standard operators alone (`ai.onnx` and `ai.onnx.ml`).

    Parameters
    ----------
    estimator : fitted estimator of this package, or `vrspam.tool.Model`
    dtype : {"float32", "float64"}, default="float32"
        Of numbers that go in and come out. Scores equal those of `decision_function` to 1e-5 of their spread in
        float32 (but a row within rounding of a tree's threshold may fall to either side) and to 1e-12 in float64.
        Inside, sums are in float64. Columns that lose what matters when they are rounded to float32 (years with
        fractions, say) are float64 inputs in both.

    Returns
    -------
    onnx.ModelProto
        Inputs: for an estimator that was fitted on a frame one for each column, with its name and shape (rows, 1);
        else one matrix, "X". Numbers are floats and NaN is a missing value; text is strings and "" is a missing
        value; dates are int64, microseconds since 1970, and -2⁶³ (NaT) is a missing value. The `doc_string` of each
        input says what it takes. A column that is called like an output has "column " before its name.
        Outputs, one number or text for each row: "label", "score" (`decision_function`) and "probability" (of
        `classes_[1]`; NaN where the estimator has no calibration).

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
    >>> session = onnxruntime.InferenceSession(to_onnx(model, dtype="float64").SerializeToString())
    >>> label, score, probability = session.run(None, {"X": X[:5]})
    >>> bool(np.abs(score - model.decision_function(X[:5])).max() < 1e-12)
    True
    """
    if dtype not in TYPES:
        raise ValueError(f"dtype is {dtype!r}, but must be 'float32' or 'float64'.")
    return graph_of(scorer_of(estimator), dtype)


def graph_of(scorer: Scorer, dtype: str, inputs: bool | None = None) -> onnx.ModelProto:
    """The ONNX model of a scorer; `inputs` says whether all numbers that go in are float32, where that is settled."""
    single = dtype == "float32"
    double = Precision((False,) * len(scorer.inputs), (False,) * len(scorer.kernels))
    precision = try_single(scorer) if single else double
    if scorer.matrix:  # which has one type
        all_single = all(precision.inputs) if inputs is None else inputs
        precision = precision._replace(inputs=(all_single,) * len(scorer.inputs))
    scorer = round_nodes(scorer, precision.inputs)
    names = _input_names(scorer)
    graph = Graph([*names, MATRIX, *OUTPUTS])
    taken = _inputs(scorer, names, precision)
    rows = _rows(graph, scorer, names)
    score = _score(rows, scorer, precision)
    probability = _probability(graph, scorer, score)
    _label(graph, scorer, score, probability)
    for value, name in ((score, SCORE), (probability, PROBABILITY)):
        graph.add("Cast", value, to=TYPES[dtype], output=name)
    outputs = [
        helper.make_tensor_value_info(LABEL, label_type(scorer), [BATCH], "The likelier class."),
        helper.make_tensor_value_info(SCORE, TYPES[dtype], [BATCH], "Higher is more likely the second class."),
        helper.make_tensor_value_info(PROBABILITY, TYPES[dtype], [BATCH], _probability_note(scorer)),
    ]
    model = helper.make_model(
        helper.make_graph(graph.nodes, "vrspam", taken, outputs, graph.used_constants()),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)],
        ir_version=IR_VERSION,
        producer_name="vrspam",
        producer_version=vrspam.__version__,
        doc_string=_words(scorer),
    )
    onnx.checker.check_model(model)
    return model


# Inputs.


def _input_names(scorer: Scorer) -> list[str]:
    """A name for each input: that of its column, unless the graph needs it or cannot have it."""
    if scorer.matrix:
        return [MATRIX]
    taken: set[str] = {*OUTPUTS, ""}
    names = []
    for one in scorer.inputs:
        name = one.name
        while name in taken:
            name = f"column {name}"
        taken.add(name)
        names.append(name)
    return names


def _inputs(scorer: Scorer, names: list[str], precision: Precision) -> list[onnx.ValueInfoProto]:
    if scorer.matrix:
        kind = TYPES["float32" if all(precision.inputs) else "float64"]
        note = f"{len(scorer.inputs)} columns of numbers, in the order of training. {_gap_note(scorer, 0)}"
        return [helper.make_tensor_value_info(MATRIX, kind, [BATCH, len(scorer.inputs)], note)]
    found = []
    for number, (name, one) in enumerate(zip(names, scorer.inputs, strict=True)):
        kind = {TEXT: TensorProto.STRING, DATE: TensorProto.INT64}.get(
            one.kind, TYPES["float32" if precision.inputs[number] else "float64"]
        )
        found.append(helper.make_tensor_value_info(name, kind, [BATCH, 1], _note(scorer, number, one)))
    return found


def _note(scorer: Scorer, number: int, one: Input) -> str:
    """What an input takes."""
    if one.kind == DATE:
        return DATE_NOTE
    if one.kind == TEXT:
        (column,) = scorer.columns_of_inputs[number]
        return f"Categories as text; {_missing_text(scorer, column)!r} is a missing value."
    return " ".join(part for part in (one.note, _gap_note(scorer, number)) if part)


def _gap_note(scorer: Scorer, number: int) -> str:
    refused = False
    for column in scorer.columns_of_inputs[number]:
        effect = scorer.effects[column]
        refused |= isinstance(effect, Curve) and bool(np.isnan(effect.missing))
    return "NaN has no score." if refused else "NaN is a missing value."


def _missing_text(scorer: Scorer, column: int) -> str:
    """The text for a missing value in a column."""
    effect = scorer.effects[column]
    known = set(effect.values) if isinstance(effect, Table) else set()
    for encoders in [part.encoders for part in scorer.kernels] + [part.encoders for part in scorer.trees]:
        encoder = encoders[column]
        known |= set(encoder.categories) if isinstance(encoder, Indicators) else set()
    return missing_text(known)


def _rows(graph: Graph, scorer: Scorer, names: list[str]) -> Rows:
    """The columns of the model, from the inputs."""
    if scorer.matrix:
        places = {j: j for j in range(len(scorer.inputs))}
        return Rows(graph, graph.cast(MATRIX, TensorProto.DOUBLE), places, {}, {})
    blocks: list[str] = []
    places, texts, missing = {}, {}, {}
    for number, one in enumerate(scorer.inputs):
        columns = scorer.columns_of_inputs[number]
        if one.kind == TEXT:
            texts[columns[0]], missing[columns[0]] = names[number], _missing_text(scorer, columns[0])
            continue
        places.update({column: len(blocks) + i for i, column in enumerate(columns)})
        if one.kind == DATE:
            blocks += date_parts(graph, names[number], [str(scorer.columns[column].part) for column in columns])
        else:
            blocks.append(graph.cast(names[number], TensorProto.DOUBLE))
    return Rows(graph, graph.side_by_side(blocks) if blocks else "", places, texts, missing)


# Outputs.


def _score(rows: Rows, scorer: Scorer, precision: Precision) -> str:
    graph = rows.graph
    curves = {j: effect for j, effect in enumerate(scorer.effects) if isinstance(effect, Curve)}
    tables = {j: effect for j, effect in enumerate(scorer.effects) if isinstance(effect, Table)}
    parts = [*sum_curves(rows, curves), *sum_tables(rows, tables)]
    for part, single in zip(scorer.kernels, precision.kernels, strict=True):
        parts.append(kernel_score(rows, part, TensorProto.FLOAT if single else TensorProto.DOUBLE))
    parts += [tree_score(rows, part) for part in scorer.trees]
    return graph.add("Add", graph.total(parts), graph.constant([scorer.constant]))


def _probability(graph: Graph, scorer: Scorer, score: str) -> str:
    calibration = scorer.calibration
    raw = graph.add("Sub", score, graph.constant([scorer.baseline])) if scorer.baseline else score
    if calibration is None:
        return graph.add("Add", graph.add("Mul", raw, graph.constant([0.0])), graph.constant([np.nan]))
    if isinstance(calibration, Sigmoid):
        line = graph.add("Mul", raw, graph.constant([-calibration.slope]))
        power = graph.add("Exp", graph.add("Sub", line, graph.constant([calibration.offset])))
        one = graph.constant([1.0])
        return graph.add("Div", one, graph.add("Add", one, power))
    if isinstance(calibration, Isotonic):
        curve = Curve(calibration.scores, calibration.probabilities, missing=float("nan"))
        axis = graph.constant([1], np.int64)
        return graph.add("Squeeze", curve_matrix(graph, graph.add("Unsqueeze", raw, axis), [curve]), axis)
    raise NotExportable(f"The calibration {type(calibration).__name__} cannot be exported: use sigmoid or isotonic.")


def _label(graph: Graph, scorer: Scorer, score: str, probability: str) -> None:
    value, limit = (probability, 0.5) if scorer.threshold is None else (score, scorer.threshold)
    positive = graph.add("Greater", value, graph.constant([limit]))
    kind = label_type(scorer)
    if kind == TensorProto.BOOL:
        same = positive if scorer.classes[1] else graph.add("Not", positive)
        graph.add("Cast", same, to=kind, output=LABEL)
        return
    dtype: Any = np.float64 if kind == TensorProto.DOUBLE else np.int64
    dtype = object if kind == TensorProto.STRING else dtype
    negative_label, positive_label = (graph.constant(np.array([label], dtype=dtype)) for label in scorer.classes)
    graph.add("Where", positive, positive_label, negative_label, output=LABEL)


def label_type(scorer: Scorer) -> int:
    """The type of the labels, a number of `TensorProto`."""
    classes = scorer.classes
    if all(isinstance(label, bool) for label in classes):
        return TensorProto.BOOL
    if all(isinstance(label, int | float) for label in classes):
        whole = all(float(label).is_integer() and abs(label) < 2**63 for label in classes)
        return TensorProto.INT64 if whole else TensorProto.DOUBLE
    if all(isinstance(label, str) for label in classes):
        return TensorProto.STRING
    raise NotExportable(
        f"The classes {classes[0]!r} and {classes[1]!r} are neither numbers nor texts: train with those."
    )


def _probability_note(scorer: Scorer) -> str:
    if scorer.calibration is None:
        return "NaN: the model has no calibration."
    return f"Probability of {scorer.classes[1]!r}."


def _words(scorer: Scorer) -> str:
    said = f"Scores rank rows: higher is more likely {scorer.classes[1]!r}, lower {scorer.classes[0]!r}."
    if scorer.left_out:
        said += f" Columns that training left out: {', '.join(scorer.left_out)}."
    return said
