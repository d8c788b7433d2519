"""`to_onnx`: a fitted model as one graph of standard ONNX operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

import vrspam
from vrspam.export.onnx_graphs import operators
from vrspam.features.encoders import Curves
from vrspam.features.parts import Curve, KernelPart, Table, exponents
from vrspam.model.scorer import DATE, NUMBER, TEXT, NotExportable, Scorer, check_utf8, scorer_of
from vrspam.model_selection.calibration import Isotonic, Sigmoid


def try_single(scorer: Scorer) -> tuple[list[bool], list[bool]]:
    """For each input of numbers whether it may be rounded to float32, for each kernel whether its sums may be in it.

    Numbers that are large beside their spread (years, account numbers) lose their last digits in float32, and so do
    sums of large coefficients that nearly cancel.
    """
    # parts of the spread of the scores that rounding of inputs, and of sums, may change them by
    input_limit, sum_limit = 4e-6, 2e-6
    n = min(1_000, max(20, 2_000_000 // len(scorer.columns)))  # fewer rows of very wide tables
    values = _made_values(scorer, n, np.random.default_rng(0))
    kernels = [_at_landmarks(part, n) for part in scorer.kernels]
    scores = sum((of_part for of_part, _, _ in kernels), np.zeros(n))
    for j, effect in enumerate(scorer.effects):
        if isinstance(effect, Curve):
            scores = scores + effect(values[j])
    spread = float(np.std(scores))
    errors = _rounding_errors(scorer, values, [slopes for _, slopes, _ in kernels])
    single = np.array([one.kind == NUMBER for one in scorer.inputs])
    for number in np.argsort(-np.abs(errors).max(axis=1)):  # until they add up to no more than is allowed in any row
        if np.abs(errors[single].sum(axis=0)).max() <= input_limit * spread:
            break
        single[number] = False
    return single.tolist(), [rounding <= sum_limit * spread for _, _, rounding in kernels]


def round_nodes(scorer: Scorer, inputs: Sequence[bool]) -> Scorer:
    """The scorer for inputs of which some are rounded to float32: where it bends or splits is rounded as well."""
    chosen = [inputs[column.source] for column in scorer.columns]

    def rounded(functions: Sequence[Any]) -> tuple[Any, ...]:
        found = []
        for one, single in zip(functions, chosen, strict=True):
            if single and (isinstance(one, Curves) or (isinstance(one, Curve) and not one.is_line)):
                one = replace(one, nodes=_rounded(one.nodes), lookups={})
            found.append(one)
        return tuple(found)

    kernels = tuple(replace(part, encoders=rounded(part.encoders)) for part in scorer.kernels)
    trees = tuple(replace(part, encoders=rounded(part.encoders)) for part in scorer.trees)
    return replace(scorer, effects=rounded(scorer.effects), kernels=kernels, trees=trees)


def _rounded(numbers: np.ndarray) -> np.ndarray:
    """The same numbers as float32 holds them."""
    with np.errstate(over="ignore"):
        return numbers.astype(np.float32).astype(np.float64)


def _rounding_errors(scorer: Scorer, values: dict[int, np.ndarray], slopes: list[np.ndarray]) -> np.ndarray:
    """What rounding of each input of numbers, and of the nodes of its curves, adds to the scores: inputs × rows.

    `slopes` are those of the kernels in their encoded columns. Errors are infinite where rows of more than a
    ten-thousandth fall to the other side of a tree's threshold.
    """
    rng = np.random.default_rng(1)
    found = np.zeros((len(scorer.inputs), next(iter(values.values())).size if values else 1))
    rounded = round_nodes(scorer, [one.kind == NUMBER for one in scorer.inputs])
    places = [np.cumsum([0, *(encoder.width for encoder in part.encoders)]) for part in scorer.kernels]
    for j, column in enumerate(scorer.columns):
        if scorer.inputs[column.source].kind != NUMBER:
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            x, near = values[j], _rounded(values[j])
            effect, other = scorer.effects[j], rounded.effects[j]
            if isinstance(effect, Curve) and isinstance(other, Curve):
                found[column.source] += other(near) - effect(x)
            for part, whole, of_part, starts in zip(rounded.kernels, scorer.kernels, slopes, places, strict=True):
                encoder, exact = part.encoders[j], whole.encoders[j]
                if isinstance(encoder, Curves) and isinstance(exact, Curves):
                    moved = Curve.of(encoder, np.ones(1))(near) - Curve.of(exact, np.ones(1))(x)
                    found[column.source] += of_part[:, starts[j]] * moved
            for forest in scorer.trees:
                nodes = getattr(forest.encoders[j], "nodes", np.empty(0))
                if getattr(forest.encoders[j], "names_as", None) is not None:
                    found[column.source] += 0.0 if np.array_equal(nodes, _rounded(nodes)) else np.inf
                    continue
                limits = np.unique(forest.trees["thresholds"][forest.trees["columns"] == j])
                splits = nodes[limits[(limits >= 0) & (limits < nodes.size)]]
                if splits.size and nodes.size > 1:
                    many = values_between(nodes, max(1_000, min(20_000, 4_000_000 // len(scorer.columns))), rng)
                    moved = np.searchsorted(splits, many) != np.searchsorted(_rounded(splits), _rounded(many))
                    found[column.source] += np.inf if moved.mean() > 1e-4 else 0.0
    return np.nan_to_num(found, nan=np.inf, posinf=np.inf, neginf=np.inf)


def _made_values(scorer: Scorer, n: int, rng: np.random.Generator) -> dict[int, np.ndarray]:
    """Values of each column of numbers as training may have had them: spread evenly over its quantiles."""
    found = {}
    together = [*(part.encoders for part in scorer.kernels), *(part.encoders for part in scorer.trees)]
    for j, numeric in enumerate(scorer.is_numeric):
        if not numeric:
            continue
        functions = [scorer.effects[j], *(own[j] for own in together)]
        nodes = [one.nodes for one in functions if isinstance(one, Curve | Curves)]
        known = nodes[0] if nodes else np.zeros(1)
        known = np.unique(np.concatenate(nodes)) if len(nodes) > 1 else known
        if known.size > 1:
            found[j] = values_between(known, n, rng)
        elif scorer.typical is not None:
            mean, deviation = scorer.typical[:, j].tolist()
            found[j] = rng.normal(mean, deviation, n)
        else:
            found[j] = np.full(n, known[0])
    return found


def values_between(nodes: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """n numbers between nodes, with as many digits behind the point as the nodes have.

    >>> values = values_between(np.array([0.5, 2.0, 7.5]), 100, np.random.default_rng(0))
    >>> bool((values * 2.0 == np.round(values * 2.0)).all()), bool((values * 10.0 == np.round(values * 10.0)).all())
    (False, True)
    """
    place, share = rng.integers(nodes.size - 1, size=n), rng.random(n)
    found = (1.0 - share) * nodes[place] + share * nodes[place + 1]
    cut_off = 2 if nodes.size > 4 else 0  # a curve may bend at two numbers that are no values
    most_digits = 9  # behind the point
    for digits in range(most_digits + 1):
        with np.errstate(over="ignore", invalid="ignore"):
            if np.count_nonzero(nodes == np.round(nodes, digits)) >= nodes.size - cut_off:
                return np.round(found, digits)
    return found


def _at_landmarks(part: KernelPart, n: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Scores of a kernel on rows that are its landmarks, their slopes in each encoded column, rounding of its sums."""
    u = part.landmarks[np.arange(n) % len(part.landmarks)]
    left, right = exponents(u, part.landmarks, part.gamma)
    weights = np.exp(left @ right) * part.coef
    scores = weights.sum(axis=1)
    slopes = 2.0 * part.gamma * (weights @ part.landmarks - scores[:, np.newaxis] * u)
    single = np.exp(left.astype(np.float32) @ right.astype(np.float32)) @ part.coef.astype(np.float32)
    return scores, slopes, float(np.abs(single - scores).max())


TYPES = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE}
LABEL, SCORE, PROBABILITY = OUTPUTS = ("label", "score", "probability")
MATRIX = "X"
_BATCH = "rows"


def to_onnx(estimator: Any, *, dtype: str = "float32") -> onnx.ModelProto:
    """Return a fitted estimator as an ONNX model: from columns as they are to label, score and probability.

    Everything between is in the graph: readings of dates, categories, missing values, curves, kernels, trees, blends
    and calibration, by standard operators alone (`ai.onnx` and `ai.onnx.ml`).

    Parameters
    ----------
    estimator : fitted estimator of this package, or `vrspam.tool.Model`
    dtype : {"float32", "float64"}, default="float32"
        Of numbers that go in and come out. Scores equal those of `decision_function` to 1e-5 of their spread in
        float32 (but a row within rounding of a tree's threshold may fall to either side, and the score itself is
        rounded) and to 1e-12 in float64. Inside, sums are in float64. Columns that lose what matters when they are
        rounded to float32 (years with fractions, say, or times in seconds that trees split) are float64 inputs in both.

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
    >>> session = onnxruntime.InferenceSession(to_onnx(model, dtype="float64").SerializeToString())
    >>> label, score, probability = session.run(None, {"X": X[:5]})
    >>> bool(np.abs(score - model.decision_function(X[:5])).max() < 1e-12)
    True
    """
    if dtype not in TYPES:
        raise ValueError(f"dtype is {dtype!r}, but must be 'float32' or 'float64'.")
    scorer = scorer_of(estimator)
    check_utf8(scorer.texts, "ONNX")
    return graph_of(scorer, dtype)


def graph_of(scorer: Scorer, dtype: str, inputs: bool | None = None) -> onnx.ModelProto:
    """The ONNX model of a scorer; `inputs` says whether all numbers that go in are float32, where that is settled."""
    single, kernels = [False] * len(scorer.inputs), [False] * len(scorer.kernels)
    if dtype == "float32":
        single, kernels = try_single(scorer)
    if scorer.matrix:  # which has one type
        single = [all(single) if inputs is None else inputs] * len(scorer.inputs)
    scorer = round_nodes(scorer, single)
    graph, taken, rows = _take_inputs(scorer, single)
    curves = {j: effect for j, effect in enumerate(scorer.effects) if isinstance(effect, Curve)}
    tables = {j: effect for j, effect in enumerate(scorer.effects) if isinstance(effect, Table)}
    parts = [*operators.sum_curves(rows, curves), *operators.sum_tables(rows, tables)]
    for part, in_single in zip(scorer.kernels, kernels, strict=True):
        parts.append(operators.kernel_score(rows, part, TensorProto.FLOAT if in_single else TensorProto.DOUBLE))
    parts += [operators.tree_score(rows, forest) for forest in scorer.trees]
    if not parts:  # no column adds anything: all rows have the same score
        parts.append(graph.zeros(taken[0].name))
    score = graph.add("Sum", *parts, graph.constant([scorer.constant]))
    graph.add("Cast", score, to=TYPES[dtype], output=SCORE)
    if not scorer.ranks:
        probability = _probability(graph, scorer, score)
        _label(graph, scorer, score, probability)
        graph.add("Cast", probability, to=TYPES[dtype], output=PROBABILITY)
    lower = "" if scorer.ranks else f", lower {scorer.classes[0]!r}"
    words = f"Scores rank rows: higher is {scorer.higher}{lower}."
    if scorer.left_out:
        words += f" Columns that training left out: {', '.join(scorer.left_out)}."
    said = f"Probability of {scorer.classes[1]!r}."
    said = "NaN: the model has no calibration." if scorer.calibration is None else said
    second = scorer.ranks or "more likely the second class"
    outputs = [helper.make_tensor_value_info(SCORE, TYPES[dtype], [_BATCH], f"Higher is {second}.")]
    if not scorer.ranks:
        words_of_label = "The likelier class."
        if (chosen := scorer.chosen) is not None:
            words_of_label = f"{scorer.classes[1]!r} where the score is at least {chosen.threshold:g} ({chosen.words})."
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


def _take_inputs(
    scorer: Scorer, single: Sequence[bool]
) -> tuple[operators.Graph, list[onnx.ValueInfoProto], operators.Rows]:
    """A graph, its inputs, of which some are in single precision, and the columns that are made of them.

    An input has the name of its column, unless the graph needs it or cannot have it.
    """
    known, names = {*OUTPUTS, ""}, list[str]()
    for one in () if scorer.matrix else scorer.inputs:
        name = one.name
        while name in known:
            name = f"column {name}"
        known.add(name)
        names.append(name)
    graph = operators.Graph([*names, MATRIX, *OUTPUTS])
    kinds = [TYPES["float32" if one else "float64"] for one in single]
    if scorer.matrix:
        width = len(scorer.inputs)
        note = f"{width} columns of numbers, in the order of training. {_gap_note(scorer, 0)}"
        taken = helper.make_tensor_value_info(MATRIX, kinds[0], [_BATCH, width], note)
        places = {j: j for j in range(width)}
        return graph, [taken], operators.Rows(graph, graph.finite_numbers(MATRIX), places, {}, {})
    found, blocks = [], list[str]()
    places, texts, missing = {}, {}, {}
    for number, (name, one, columns) in enumerate(zip(names, scorer.inputs, scorer.columns_of_inputs, strict=True)):
        kind, first = kinds[number], columns[0]
        if one.kind == TEXT:
            together = [part.encoders[first] for part in scorer.kernels]
            together += [part.encoders[first] for part in scorer.trees]
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


def _gap_note(scorer: Scorer, number: int) -> str:
    """What a missing value in an input of numbers means."""
    effects = [scorer.effects[column] for column in scorer.columns_of_inputs[number]]
    refused = any(isinstance(effect, Curve) and bool(np.isnan(effect.missing)) for effect in effects)
    return "NaN has no score." if refused else "NaN is a missing value."


# Outputs.


def _probability(graph: operators.Graph, scorer: Scorer, score: str) -> str:
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
        return graph.add("Squeeze", operators.curve_matrix(graph, graph.add("Unsqueeze", raw, axis), [curve]), axis)
    raise NotExportable(f"The calibration {type(calibration).__name__} cannot be exported: use sigmoid or isotonic.")


def _label(graph: operators.Graph, scorer: Scorer, score: str, probability: str) -> None:
    value, limit = (probability, 0.5) if scorer.threshold is None else (score, scorer.threshold)
    positive = graph.add("Greater", value, graph.constant([limit]))
    if scorer.chosen is not None:
        positive = graph.add("GreaterOrEqual", score, graph.constant([scorer.chosen.threshold]))
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
