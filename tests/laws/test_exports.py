"""Every form of a model gives the model's scores of every row: kinds of features × forms × hostile rows.

Forms are the stored model, ONNX in double and in single precision, plain Python, and SQL in SQLite and in DuckDB. (A
page carries no scorer: its script counts scored rows.) Hostile rows have missing cells, unseen categories, infinities,
numbers at both ends of double precision, dates at both ends of the calendar, empty texts, and cells of other types.
What a form refuses is declared in `REFUSED`: an entry that no longer holds fails.
"""

from __future__ import annotations

import pickle
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("onnxruntime")
pytest.importorskip("duckdb")

import onnxruntime
from exported import FORMS, columns_of_frame, in_onnx
from hypothesis import strategies as st
from laws_support import batches, draw_batch, examples
from onnx import TensorProto, helper

from vrspam import AUCClassifierCV
from vrspam.export import NotExportable, to_onnx
from vrspam.export.onnx_graphs.ensembles import Ensemble, run_trees
from vrspam.export.onnx_graphs.graph import IR_VERSION, ML, ML_OPSET, OPSET, Graph
from vrspam.features import KernelFeatures, TreeFeatures
from vrspam.features.parts import Parts
from vrspam.model.model import Model
from vrspam.tables.schema import Schema
from vrspam.tool import load_model, save_model, train
from vrspam.tool.score_blocks import open_rows, score_blocks

NEAR = 1e-12  # of the spread of the scores and of the score itself
ROUNDED = 8.0 * np.finfo(np.float64).eps  # of what a kernel adds up: large coefficients may cancel in its sum

MAPS: dict[str, Any] = {
    "linear": "linear",  # of numbers near 0 alone: the rounding of raw columns far from it shows
    "standardized": "standardized",
    "additive": "additive",
    "blend": ["standardized", "additive"],
    "kernel": KernelFeatures(n_landmarks=20, max_additive=20, random_state=0),
    "trees": TreeFeatures(n_trees=30, max_depth=3, n_landmarks=20, random_state=0),
    "forest": "forest",
    "boosted": "boosted",
    "kernel and trees": [
        KernelFeatures(n_landmarks=20, additive=False, random_state=0),
        TreeFeatures(n_trees=30, max_depth=3, n_landmarks=20, random_state=0),
    ],
}
TOGETHER = ("kernel", "trees", "forest", "boosted", "kernel and trees")
ONE_BY_ONE = "depend on several columns at once"
#: What each form refuses, by the kind of features: a part of the sentence.
REFUSED = {(name, form): ONE_BY_ONE for name in TOGETHER for form in ("python", "sqlite", "duckdb")}

# Frames that a model is fitted on.


def gaps(values: Any, rng: np.random.Generator) -> pd.Series:
    """The same with some missing values."""
    return pd.Series(values).where(rng.random(len(values)) > 0.1)


KINDS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "double": lambda rng, n: gaps(rng.normal(5.0, 2.0, n), rng),
    "single": lambda rng, n: gaps(rng.normal(5.0, 2.0, n).astype(np.float32), rng).astype(np.float32),
    "unix time": lambda rng, n: 1_600_000_000 + rng.integers(0, 40_000, n),
    "cents": lambda rng, n: 1e6 + np.round(rng.exponential(3.0, n), 2),
    "large": lambda rng, n: gaps(rng.normal(0.0, 1e12, n), rng),
    "small": lambda rng, n: rng.normal(1.0, 0.1, n) * 1e-12,
    "whole": lambda rng, n: rng.integers(0, 5, n),
    "far whole": lambda rng, n: 2**40 + rng.integers(0, 9, n),
    "constant": lambda rng, n: np.full(n, 0.1),
    "boolean": lambda rng, n: rng.random(n) < 0.3,
    "boolean with gaps": lambda rng, n: gaps(rng.random(n) < 0.3, rng).astype("boolean"),
    "boolean objects": lambda rng, n: gaps((rng.random(n) < 0.3).astype(object), rng).astype(object),
    "text": lambda rng, n: gaps(rng.choice(["O'Brien", 'Łódź "old"', "--", "a\\b", "new\nline", " x "], n), rng),
    "digits": lambda rng, n: gaps(rng.choice(["01", "1", "7x", "1.0", "١"], n), rng),
    "date": lambda rng, n: gaps(
        pd.Timestamp("1969-03-01 05:30") + pd.to_timedelta(rng.integers(0, 90_000_000, n), unit="s"), rng
    ),
    "date with zone": lambda rng, n: gaps(
        pd.Timestamp("2019-10-20 05:30", tz="Europe/Vienna") + pd.to_timedelta(rng.integers(0, 900, n), unit="h"), rng
    ),
}
NEAR_ZERO = ["single", "whole", "boolean"]
MARKS = ["", " ", '"', "'", " -- ", "; DROP TABLE rows", " ü"]


def hostile_frame(rng: np.random.Generator, n: int, kinds: Sequence[str]) -> pd.DataFrame:
    """A table of some kinds of columns, whose names are odd."""
    return pd.DataFrame({f"{kind}{MARKS[int(rng.integers(7))]}": KINDS[kind](rng, n) for kind in kinds})


def hostile_labels(frame: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    """Labels that depend on the columns."""
    total = rng.normal(0.0, 0.5, len(frame))
    for name in frame.columns:
        column = pd.Series(pd.factorize(frame[name], sort=False)[0], dtype=float).rank().to_numpy()
        total += np.sin(column / len(frame) * rng.uniform(2.0, 9.0))
    return total > np.median(total)


# Rows that training has not seen. Each way changes every third row of the columns that can have such a cell.


def change(frame: pd.DataFrame, fits: Callable[[pd.Series], bool], values: Sequence[Any]) -> pd.DataFrame:
    """The frame with these values in every third row of the columns that fit."""
    changed = frame.copy()
    for name in (name for name in frame.columns if fits(frame[name])):
        cells = frame[name].copy()
        for place, row in enumerate(range(0, len(frame), 3)):
            cells.iloc[row] = values[place % len(values)]
        changed[name] = cells
    return changed


def is_double(column: pd.Series) -> bool:
    return column.dtype == np.float64


def is_text(column: pd.Series) -> bool:
    return pd.api.types.is_string_dtype(column) and not is_boolean(column)


def is_boolean(column: pd.Series) -> bool:
    return {type(value) for value in column if not pd.isna(value)} <= {bool, np.bool_}


def is_plain_date(column: pd.Series) -> bool:
    return pd.api.types.is_datetime64_dtype(column)


def in_microseconds(frame: pd.DataFrame) -> pd.DataFrame:
    """Dates as far as the calendar goes."""
    return frame.astype({name: "datetime64[us]" for name in frame.columns if is_plain_date(frame[name])})


def has_gaps(column: pd.Series) -> bool:
    return is_double(column) or is_text(column) or is_plain_date(column)


def as_other_types(frame: pd.DataFrame) -> pd.DataFrame:
    """Whole numbers as doubles, and booleans as 0 and 1."""
    whole = {name: np.float64 for name in frame.columns if frame[name].dtype.kind in "iu"}
    return frame.astype(whole | {name: np.int64 for name in frame.columns if frame[name].dtype == bool})


HOSTILE: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "as training": lambda frame: frame,
    "missing": lambda frame: change(frame, has_gaps, [None]),
    "unseen": lambda frame: change(frame, is_text, ["never seen", "'", "O'Brien ", "01 ", "nan", "1e5"]),
    "empty text": lambda frame: change(frame, is_text, [""]),
    "infinite": lambda frame: change(frame, is_double, [np.inf, -np.inf]),
    "huge": lambda frame: change(frame, is_double, [1e200, -1e200]),
    "tiny": lambda frame: change(frame, is_double, [5e-324, -5e-324, -0.0]),
    "far dates": lambda frame: change(
        in_microseconds(frame),
        is_plain_date,
        [pd.Timestamp("0001-01-01"), pd.Timestamp("9999-12-31 23:59:59.999999"), pd.Timestamp("1582-10-10")],
    ),
    "other types": as_other_types,
}


def as_the_model_reads(frame: pd.DataFrame) -> pd.DataFrame:
    """What exports call missing and the model refuses: infinite numbers."""
    return change_all(frame, lambda cell: isinstance(cell, float) and np.isinf(cell))


def change_all(frame: pd.DataFrame, gone: Callable[[Any], bool]) -> pd.DataFrame:
    doubles = [name for name in frame.columns if is_double(frame[name])]
    return frame.assign(**{name: frame[name].mask(frame[name].map(gone)) for name in doubles})


# Models.


@dataclass(frozen=True)
class Case:
    """A frame to fit, drawn from its kinds of columns and a seed, and rows to score."""

    kinds: tuple[str, ...]
    seed: int
    ways: tuple[str, ...]


@st.composite
def cases(draw: st.DrawFn, known: Sequence[str]) -> Case:
    kinds = draw(st.lists(st.sampled_from(known), min_size=1, max_size=6, unique=True))
    ways = draw(st.lists(st.sampled_from(list(HOSTILE)), min_size=1, max_size=4, unique=True))
    return Case(tuple(kinds), draw(st.integers(0, 999)), tuple(ways))


def fitted(frame: pd.DataFrame, y: np.ndarray, name: str) -> AUCClassifierCV:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        selection = "blend" if isinstance(MAPS[name], list) else "best"
        model = AUCClassifierCV([1e-3, 1e-1], features=MAPS[name], cv=2, selection=selection, random_state=0)
        return model.fit(frame, y)


class OfAFile:
    """A model of the tool, with the method of an estimator that scores frames."""

    def __init__(self, model: Any):
        self.model = model
        self.to_model = lambda: model

    def decision_function(self, frame: pd.DataFrame) -> np.ndarray:
        rows = open_rows(self.model, frame, labels=False, on_error="skip", allow_missing=list(frame.columns))
        return np.concatenate([block.scores for block in score_blocks(self.model, rows.read())])


def stored(frame: pd.DataFrame, y: np.ndarray, name: str) -> OfAFile:
    """A model that was written to a file, and read again; it must score as the one that was written."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        model = train(frame.assign(sick=y), "sick", features=MAPS[name], n_splits=2, groups="none")
        save_model(model, Path(folder) / "model.json")
        again = load_model(Path(folder) / "model.json")
        before, after = OfAFile(model).decision_function(frame), OfAFile(again).decision_function(frame)
    np.testing.assert_array_equal(after, before, err_msg="the model file scores otherwise")
    return OfAFile(again)


def scores_of(model: Any, frame: pd.DataFrame) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(model.decision_function(as_the_model_reads(frame)), dtype=np.float64)


def compare(model: Any, frame: pd.DataFrame, name: str, spread: float) -> list[str]:
    """How each form differs from the model itself and from what is declared, in words."""
    expected, found = scores_of(model, frame), []
    parts = model.to_model().parts
    near = NEAR * (spread + np.abs(expected)) + ROUNDED * sum(np.abs(kernel.coef).sum() for kernel in parts.kernels)
    for form, score in FORMS.items():
        refused = REFUSED.get((name, form))
        try:
            error = np.abs(score(model, frame) - expected)
        except NotExportable as refusal:
            if refused is None or refused not in str(refusal):
                found.append(f"{form} refuses: {refusal}")
            continue
        except Exception as problem:  # whatever an engine raises is a finding
            found.append(f"{form}: {type(problem).__name__} {str(problem)[:300]}")
            continue
        if refused is not None and (parts.kernels or parts.trees):
            found.append(f"{form} works, and REFUSED says that it does not")
        share = float(np.mean(~(error <= near)))
        if share > 0.0:
            found.append(f"{form}: {100 * share:.1f} % of the rows are off, by up to {np.nanmax(error) / spread:.1e}")
    return found


def check_case(case: Case, name: str, fit: Callable[..., Any]) -> None:
    rng = np.random.default_rng(case.seed)
    frame = hostile_frame(rng, 240, case.kinds)
    if name == "linear":
        frame = frame.fillna(0)
    y = hostile_labels(frame, rng)
    try:
        model = fit(frame[:160], y[:160], name)
    except ValueError as refusal:  # of columns alone that tell nothing
        if not any(said in str(refusal) for said in ("looks like an identifier", "nothing to learn from")):
            raise
        return
    spread = float(scores_of(model, frame).std()) or 1.0
    for way in case.ways:
        rows = HOSTILE[way](frame)
        differences = compare(model, rows, name, spread)
        table = rows.head(4).to_csv(index=False)
        assert not differences, "\n".join([f"{name}, rows {way}:", *differences, table])


OF_FILES = [name for name, features in MAPS.items() if not isinstance(features, list)]


@pytest.mark.parametrize(("name", "fit"), [*((name, fitted) for name in MAPS), *((name, stored) for name in OF_FILES)])
def test_every_form_gives_the_scores_of_the_model(name, fit):
    known = NEAR_ZERO if name == "linear" else list(KINDS)
    for batch in batches(1):
        draw_batch(batch, cases(known), lambda case: check_case(case, name, fit), most=examples(3))


@pytest.mark.parametrize("way", HOSTILE)
@pytest.mark.parametrize("name", ["additive", "trees"])
def test_every_kind_of_column(way, name):
    """All kinds side by side."""
    check_case(Case(tuple(KINDS), 3, (way,)), name, fitted)


def test_a_kernel_whose_large_coefficients_cancel():
    check_case(Case(("boolean with gaps", "small", "whole"), 23, ("as training",)), "kernel", stored)


def in_single(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with its numbers as single precision has them."""
    numbers = [
        name for name in frame.columns if isinstance(frame[name].dtype, np.dtype) and frame[name].dtype.kind in "iuf"
    ]
    with np.errstate(over="ignore"):
        return frame.astype(dict.fromkeys(numbers, np.float32)).astype(dict.fromkeys(numbers, np.float64))


def check_single(case: Case, name: str) -> None:
    rng = np.random.default_rng(case.seed)
    frame = hostile_frame(rng, 240, case.kinds)
    model = fitted(frame[:160], hostile_labels(frame, rng)[:160], name)
    graph = to_onnx(model, dtype="float32").SerializeToString()
    for way in case.ways:
        rows = HOSTILE[way](frame)
        expected = scores_of(model, in_single(rows))
        near = 2.0**-22 * np.abs(expected) + 1e-9 * (float(expected.std()) or 1.0)
        error = np.abs(in_onnx(graph, columns_of_frame(rows)) - expected)
        assert (error <= near).all(), f"{name}, rows {way}: off by up to {np.nanmax(error):.1e}"


@pytest.mark.parametrize("name", ["standardized", "additive", "blend", "kernel"])
def test_a_graph_of_single_precision_scores_the_rounded_numbers(name):
    for batch in batches(1):
        draw_batch(batch, cases(list(KINDS)), lambda case: check_single(case, name), most=examples(3))


@pytest.mark.parametrize(("name", "form"), REFUSED)
def test_what_is_refused_is_refused(name, form):
    rng = np.random.default_rng(0)
    frame = hostile_frame(rng, 200, ["double", "whole"])
    model = fitted(frame, hostile_labels(frame, rng), name)
    with pytest.raises(NotExportable, match=REFUSED[name, form]):
        FORMS[form](model, frame)


def test_the_matrix_can_fail():
    rng = np.random.default_rng(0)
    frame = hostile_frame(rng, 200, ["double", "text"])
    model = fitted(frame, hostile_labels(frame, rng), "additive")
    exported = model.to_model()
    model.to_model = lambda: exported  # type: ignore[method-assign]
    model.intercept_ = model.intercept_ + 1e-9
    assert len(compare(model, frame, "additive", 1.0)) == len(FORMS)


def seconds(n: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Times in seconds within a day, which float32 rounds to two minutes, and amounts of a million and some cents."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"time": 1_600_000_000 + rng.integers(0, 86_400, n), "amount": 1e6 + np.round(rng.exponential(2.0, n), 2)}
    )
    return frame.assign(age=rng.normal(50.0, 10.0, n)), rng.random(n) < 0.5


@pytest.mark.parametrize("name", ["trees", "kernel and trees"])
def test_numbers_that_single_precision_rounds_go_in_as_they_are(name):
    frame, y = seconds(600)
    model = fitted(frame, y, name)
    kinds = {one.name: one.type.tensor_type.elem_type for one in to_onnx(model).graph.input}
    assert kinds == dict.fromkeys(frame, 11)  # double, unless single precision is asked for
    new, _ = seconds(2000, seed=1)
    expected = model.decision_function(new)
    assert np.abs(FORMS["onnx"](model, new) - expected).max() <= 1e-9 * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("name", ["linear", "standardized", "additive", "kernel", "trees"])
def test_frames_of_float32_are_scored_in_double(name):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(50.0, 10.0, (300, 3)).astype(np.float32), columns=list("abc"))
    model = fitted(frame, frame["a"].to_numpy() > 50.0, name)
    found = model.decision_function(frame)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, model.decision_function(frame.astype(np.float64)), rtol=0, atol=1e-12)
    assert compare(model, frame, name, float(found.std())) == []
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(frame), found)


@pytest.mark.parametrize("name", ["standardized", "additive"])
def test_numbers_that_a_database_keeps_as_text(name):
    """As `.import` of SQLite makes them: text is above every number there, so that curves ended at their last value."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"dose": rng.normal(40.0, 30.0, 200), "age": rng.integers(20, 80, 200).astype(float)})
    model = fitted(frame, (np.sin(frame["dose"] / 20.0) + frame["age"] / 40.0 > 1.5).to_numpy(), name)
    expected = model.decision_function(frame)
    texts = frame.map(repr)  # of the same floats
    for form in ("sqlite", "duckdb"):
        np.testing.assert_allclose(FORMS[form](model, texts), expected, rtol=0.0, atol=1e-12 * expected.std())


@pytest.mark.parametrize("seed", range(4))
def test_trees_of_few_nodes_and_many_levels(seed):
    """Their nodes are numbered without gaps: onnxruntime takes no number above the count of all nodes."""
    rng = np.random.default_rng(seed)
    depth, n_trees = 7, 2
    n_nodes = 2**depth - 1
    columns = np.zeros((n_trees, n_nodes), dtype=np.int64)
    is_split = np.zeros((n_trees, n_nodes), dtype=bool)
    node = 0
    for _ in range(depth):  # one path from the root to the last level
        is_split[0, node] = True
        node = 2 * node + int(rng.integers(1, 3))
    thresholds = np.round(rng.normal(size=(n_trees, n_nodes)), 2)
    sums = rng.normal(size=(n_trees, n_nodes + 1))
    ensemble = Ensemble(
        columns,
        thresholds,
        np.zeros((n_trees, n_nodes), dtype=bool),
        sums[..., np.newaxis],
        np.zeros((n_trees, 1), dtype=np.int64),
        is_split,
    )
    graph = Graph(["X"])
    graph.add("Identity", run_trees(graph, "X", "BRANCH_LEQ", [ensemble]), output="score")
    taken = [helper.make_tensor_value_info("X", TensorProto.DOUBLE, ["rows", 1])]
    given = [helper.make_tensor_value_info("score", TensorProto.FLOAT, ["rows", 1])]
    made = helper.make_graph(graph.nodes, "trees", taken, given, graph.used_constants())
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)]
    model = helper.make_model(made, opset_imports=opsets, ir_version=IR_VERSION)
    X = rng.normal(size=(50, 1))
    found = onnxruntime.InferenceSession(model.SerializeToString()).run(["score"], {"X": X})[0]
    np.testing.assert_allclose(np.ravel(found), [walked(row[0], thresholds, is_split, sums) for row in X], atol=1e-5)


def walked(value: float, thresholds: np.ndarray, is_split: np.ndarray, sums: np.ndarray) -> float:
    """What trees add to the score of a row, node by node."""
    total, n_nodes = 0.0, thresholds.shape[1]
    for limits, split, leaves in zip(thresholds, is_split, sums, strict=True):
        node = 0
        while node < n_nodes:
            node = 2 * node + (2 if split[node] and value > limits[node] else 1)
        total += float(leaves[node - n_nodes])
    return total


def test_a_model_to_which_no_column_adds_anything_scores_every_row():
    """As trees without a split are: a constant, for each row of a file."""
    scorer = Model(Schema(numeric=("age",), labels=(0, 1)), 1, Parts((None,)), 0.5)
    frame = pd.DataFrame({"age": [1.0, np.nan, -3.0, np.inf]})
    for score in FORMS.values():
        np.testing.assert_array_equal(score(scorer, frame), [0.5] * 4)
