"""`to_onnx`: a fitted model as one graph of standard ONNX operators."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

import vrspam
from vrspam.export.onnx_graphs import operators
from vrspam.features.encoders import Curves, Encoder
from vrspam.features.parts import CategoryPart, CurvePart, TreePart
from vrspam.model.inputs import DATE, TEXT, NotExportable, check_utf8
from vrspam.model.model import Model, model_of
from vrspam.model_selection.calibration import Isotonic, Sigmoid

TYPES = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE}
LABEL, SCORE, PROBABILITY = OUTPUTS = ("label", "score", "probability")
MATRIX = "X"
_BATCH = "rows"


def to_onnx(estimator: Any, *, dtype: str = "float64") -> onnx.ModelProto:
    """Return a fitted estimator as an ONNX model: from columns as they are to label, score and probability.

    Everything between is in the graph: readings of dates, categories, missing values, curves, kernels, trees, blends
    and calibration, by standard operators alone (`ai.onnx` and `ai.onnx.ml`).

    Parameters
    ----------
    estimator : fitted estimator of this package, or `vrspam.tool.Model`
    dtype : {"float64", "float32"}, default="float64"
        Type of the numbers that go in and come out; all that is computed between them is in float64. In float64, scores
        equal those of `decision_function` to 1e-12 of their spread. In float32 they are the scores of the rounded
        numbers: columns that lose what matters when they are rounded (years with fractions, times in seconds) need
        float64.

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
    scorer = model_of(estimator)
    check_utf8(scorer.texts, "ONNX")
    return graph_of(scorer, dtype)


def round_splits(part: TreePart) -> TreePart:
    """Trees for rows rounded to float32: where they split is rounded too, so that a value there keeps its side."""

    def rounded(encoder: Encoder) -> Encoder:
        if not isinstance(encoder, Curves) or encoder.names_as is not None:
            return encoder
        with np.errstate(over="ignore"):
            nodes = encoder.nodes.astype(np.float32).astype(np.float64)
        return replace(encoder, nodes=nodes)

    return part._replace(encoders=[rounded(encoder) for encoder in part.encoders])


def graph_of(scorer: Model, dtype: str) -> onnx.ModelProto:
    """The ONNX model of a scorer: numbers go in and come out in `dtype`, and are double between."""
    if dtype == "float32":
        rounded = tuple(round_splits(part) for part in scorer.parts.trees)
        scorer = replace(scorer, parts=scorer.parts._replace(trees=rounded))
    graph, taken, rows = _take_inputs(scorer, TYPES[dtype])
    curves = {j: effect for j, effect in enumerate(scorer.effects) if isinstance(effect, CurvePart)}
    tables = {j: effect for j, effect in enumerate(scorer.effects) if isinstance(effect, CategoryPart)}
    parts = [*operators.sum_curves(rows, curves), *operators.sum_tables(rows, tables)]
    parts += [operators.kernel_score(rows, part) for part in scorer.parts.kernels]
    parts += [operators.tree_score(rows, forest) for forest in scorer.parts.trees]
    if not parts:  # no column adds anything: all rows have the same score
        parts.append(graph.zeros(taken[0].name))
    score = graph.add("Sum", *parts, graph.constant([scorer.constant]))
    graph.add("Cast", score, to=TYPES[dtype], output=SCORE)
    if not scorer.label.ranks:
        probability = _probability(graph, scorer, score)
        _label(graph, scorer, score, probability)
        graph.add("Cast", probability, to=TYPES[dtype], output=PROBABILITY)
    lower = "" if scorer.label.ranks else f", lower {scorer.label.classes[0]!r}"
    words = f"Scores rank rows: higher is {scorer.label.higher}{lower}."
    if scorer.left_out:
        words += f" Columns that training left out: {', '.join(scorer.left_out)}."
    said = f"Probability of {scorer.label.classes[1]!r}."
    said = "NaN: the model has no calibration." if scorer.calibration is None else said
    second = scorer.label.ranks or "more likely the second class"
    outputs = [helper.make_tensor_value_info(SCORE, TYPES[dtype], [_BATCH], f"Higher is {second}.")]
    if not scorer.label.ranks:
        words_of_label = "The likelier class."
        if (chosen := scorer.threshold) is not None:
            words_of_label = (
                f"{scorer.label.classes[1]!r} where the score is at least {chosen.threshold:g} ({chosen.words})."
            )
        label = helper.make_tensor_value_info(LABEL, label_type(scorer), [_BATCH], words_of_label)
        outputs = [label, *outputs, helper.make_tensor_value_info(PROBABILITY, TYPES[dtype], [_BATCH], said)]
    model = helper.make_model(
        helper.make_graph(graph.nodes, "vrspam", taken, outputs, graph.used_constants()),
        opset_imports=[helper.make_opsetid("", operators.OPSET), helper.make_opsetid(operators.ML, operators.ML_OPSET)],
        ir_version=operators.IR_VERSION,
        producer_name="vrspam",
        producer_version=vrspam.__version__,
        doc_string=words,
    )
    onnx.checker.check_model(model)
    return model


def _take_inputs(scorer: Model, number_type: int) -> tuple[operators.Graph, list[onnx.ValueInfoProto], operators.Rows]:
    """A graph, its inputs, where numbers have this type, and the columns that are made of them.

    An input has the name of its column, unless the graph needs it or cannot have it.
    """
    known, names = {*OUTPUTS, ""}, list[str]()
    for one in () if scorer.is_matrix else scorer.inputs:
        name = one.name
        while name in known:
            name = f"column {name}"
        known.add(name)
        names.append(name)
    graph = operators.Graph([*names, MATRIX, *OUTPUTS])
    if scorer.is_matrix:
        width = len(scorer.inputs)
        note = f"{width} columns of numbers, in the order of training. {_gap_note(scorer, 0)}"
        taken = helper.make_tensor_value_info(MATRIX, number_type, [_BATCH, width], note)
        places = {j: j for j in range(width)}
        return graph, [taken], operators.Rows(graph, graph.finite_numbers(MATRIX), places, {}, {})
    found, blocks = [], list[str]()
    places, texts, missing = {}, {}, {}
    for number, (name, one, columns) in enumerate(zip(names, scorer.inputs, scorer.columns_of_inputs, strict=True)):
        kind, first = number_type, columns[0]
        if one.kind == TEXT:
            together = [part.encoders[first] for part in scorer.parts.kernels]
            together += [part.encoders[first] for part in scorer.parts.trees]
            texts[first], missing[first] = name, operators.missing_text([scorer.effects[first], *together])
            kind, note = TensorProto.STRING, f"Categories as text; {missing[first]!r} is a missing value."
        else:
            places.update({column: len(blocks) + i for i, column in enumerate(columns)})
            if one.kind == DATE:
                kind = TensorProto.INT64
                note = (
                    "Dates and times of day, as on the wall clock: microseconds since 1970-01-01 "
                    f"(numpy.datetime64[us] as int64); {np.iinfo(np.int64).min} (NaT) is a missing value."
                )
                blocks += operators.date_parts(graph, name, [str(scorer.columns[column].part) for column in columns])
            else:
                note = " ".join(part for part in (one.note, _gap_note(scorer, number)) if part)
                blocks.append(graph.finite_numbers(name))
        found.append(helper.make_tensor_value_info(name, kind, [_BATCH, 1], note))
    rows = operators.Rows(graph, graph.side_by_side(blocks) if blocks else "", places, texts, missing)
    return graph, found, rows


def _gap_note(scorer: Model, number: int) -> str:
    """What a missing value in an input of numbers means."""
    effects = [scorer.effects[column] for column in scorer.columns_of_inputs[number]]
    refused = any(isinstance(effect, CurvePart) and bool(np.isnan(effect.missing)) for effect in effects)
    return "NaN has no score." if refused else "NaN is a missing value."


# Outputs.


def _probability(graph: operators.Graph, scorer: Model, score: str) -> str:
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
        curve = CurvePart(calibration.scores, calibration.probabilities, missing=float("nan"))
        axis = graph.constant([1], np.int64)
        return graph.add("Squeeze", operators.curve_matrix(graph, graph.add("Unsqueeze", raw, axis), [curve]), axis)
    raise NotExportable(f"The calibration {type(calibration).__name__} cannot be exported: use sigmoid or isotonic.")


def _label(graph: operators.Graph, scorer: Model, score: str, probability: str) -> None:
    value, limit = (probability, 0.5) if scorer.limit is None else (score, scorer.limit)
    positive = graph.add("Greater", value, graph.constant([limit]))
    if scorer.threshold is not None:
        positive = graph.add("GreaterOrEqual", score, graph.constant([scorer.threshold.threshold]))
    kind = label_type(scorer)
    if kind == TensorProto.BOOL:
        same = positive if scorer.label.classes[1] else graph.add("Not", positive)
        graph.add("Cast", same, to=kind, output=LABEL)
        return
    dtype: Any = np.float64 if kind == TensorProto.DOUBLE else np.int64
    dtype = object if kind == TensorProto.STRING else dtype
    negative_label, positive_label = (graph.constant(np.array([label], dtype=dtype)) for label in scorer.label.classes)
    graph.add("Where", positive, positive_label, negative_label, output=LABEL)


def label_type(scorer: Model) -> int:
    """The type of the labels, a number of `TensorProto`."""
    classes = scorer.label.classes
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
