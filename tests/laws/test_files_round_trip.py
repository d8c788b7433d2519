"""A model file gives the model back: save, load, same scores to the last bit; valid JSON without NaN.

For tables of 1 to 80 columns of any kinds, every kind of features, and options of `train`.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from laws_support import examples
from tool_data import flat_curve, make_model

from vrspam import export
from vrspam.export import NotExportable
from vrspam.features.parts import CategoryPart, Parts
from vrspam.inspection import Shape
from vrspam.metrics.thresholds import ChosenThreshold
from vrspam.model import file as model_file
from vrspam.model.facts import CandidateFacts, Certificate
from vrspam.model.plain import from_plain, to_plain
from vrspam.tool import ModelFileError, export_model, load_model, save_model, train
from vrspam.tool.score_blocks import open_rows

KINDS = ("number", "whole", "gaps", "constant", "category", "flag", "date", "decimal comma")
FEATURES = ("linear", "standardized", "additive", "kernel alone 1", "trees 2", "forest", "boosted", "auto")
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"calibration": "isotonic"},
    {"calibration": "none"},
    {"recall": 0.9},
    {"alerts": 0.1},
    {"precision": 0.6},
    {"cost_ratio": 5.0},
    {"private": True},
)


def column(kind, rng, sick):
    rows = sick.size
    values = np.round(rng.normal(50, 12, rows) + 6 * sick * rng.random(), 1)
    if kind == "number":
        return values
    if kind == "whole":
        return rng.integers(0, 9, rows)
    if kind == "gaps":
        return np.where(rng.random(rows) < 0.2, np.nan, values)
    if kind == "constant":
        return np.full(rows, 7)
    if kind == "category":
        return rng.choice(["Graz", "Łódź", 'the "old"\none', "", "NaN?"], rows)
    if kind == "flag":
        return rng.random(rows) < 0.4
    if kind == "date":
        return (pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 500, rows), unit="D")).strftime("%Y-%m-%d")
    return [f"{value:.1f}".replace(".", ",") for value in values]


def make_table(seed, kinds, rows):
    rng = np.random.default_rng(seed)
    sick = rng.random(rows) < 0.35
    sick[:8] = True, False, True, False, True, False, True, False
    table = {f"{kind} {number}": column(kind, rng, sick) for number, kind in enumerate(kinds)}
    return pd.DataFrame({**table, "sick": np.where(sick, "yes", "no")})


def no_constant(name):
    raise AssertionError(f"{name} is no JSON")


def check_round_trip(model, rows, folder):
    save_model(model, folder / "m.json")
    text = (folder / "m.json").read_text("utf-8")
    json.loads(text, parse_constant=no_constant)
    again = load_model(folder / "m.json")
    for some in (rows, rows[::-1], rows[:1]):
        np.testing.assert_array_equal(again.score(some), model.score(some))
    assert again.training == model.training
    assert again.threshold == model.threshold
    assert (again.shapes is None) == (model.shapes is None)
    if model.parts.keeps_columns_apart:
        export_model(model, python=folder / "m.py", sql=folder / "m.sql")  # which read back what they write
    save_model(again, folder / "again.json")
    assert (folder / "again.json").read_text("utf-8") == text


def rows_for(model, table):
    """The rows as the model's score takes them: text and dates read as numbers, columns in the order of the schema."""
    [block] = open_rows(model, table, labels=False).blocks()
    rows = block.rows
    return rows.to_pandas()


@settings(max_examples=examples(6), suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 2**16),
    kinds=st.one_of(st.lists(st.sampled_from(KINDS), min_size=1, max_size=5), st.integers(6, 80)),
    rows=st.integers(40, 90),
    features=st.sampled_from(FEATURES),
    options=st.sampled_from(OPTIONS),
)
@example(seed=0, kinds=33, rows=40, features="forest", options={})
@example(seed=1, kinds=["number", "category"], rows=60, features="boosted", options={})
@example(seed=3, kinds=["number"] * 3, rows=60, features="auto", options={})
def test_a_model_comes_back_from_its_file(tmp_path_factory, seed, kinds, rows, features, options):
    if isinstance(kinds, int):
        kinds = np.random.default_rng(seed).choice(KINDS, kinds).tolist()
    table = make_table(seed, kinds, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = train(table, "sick", features=features, n_splits=2, **options)
        except ValueError:  # laws of the training say when it may refuse a table
            assume(False)
        check_round_trip(model, rows_for(model, table), tmp_path_factory.mktemp("round"))


numbers = st.none() | st.floats(allow_nan=False, allow_infinity=False)
uniform = st.sampled_from([None, 0.5, 1.0]).flatmap(lambda one: st.lists(st.just(one), min_size=28, max_size=40))
lists = st.lists(numbers, max_size=40) | uniform | st.lists(st.none() | st.just(1.5), min_size=28, max_size=40)


@settings(max_examples=examples(60))
@given(heights=lists, names=st.lists(st.text(max_size=3), unique=True, max_size=40))
@example(heights=[None] * 33, names=[])
def test_numbers_and_texts_come_back(heights, names):
    """Packing is for arrays, in which None is NaN, and many texts; few of them stay where they are."""
    part = CategoryPart(dict.fromkeys(names, 0.5))
    (again, twin) = from_plain(Parts, json.loads(json.dumps(to_plain(Parts((part, part))), allow_nan=False))).effects
    assert again == twin == part
    if heights:
        scores = np.array(heights, dtype=float)
        shape = flat_curve(scores.size, mean_score=scores, together=tuple(names))
        found = from_plain(Shape, json.loads(json.dumps(to_plain(shape), allow_nan=False)))
        assert found.mean_score.tobytes() == scores.tobytes()
        assert found.together == tuple(names)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["training", "threshold", "selection"])
def test_a_number_that_is_not_finite_is_refused_and_the_old_file_stays(tmp_path, number, where):
    chosen = ChosenThreshold(number, 1.0, 1.0, 1.0, 1.0, rule="threshold", asked=0.0)
    candidate = CandidateFacts(
        features="linear",
        n_features=2,
        l2=1.0,
        l1=0.0,
        auc=number,
        standard_error=0.1,
        chosen=True,
        weight=1.0,
        rows=400,
    )
    path = tmp_path / "m.json"
    save_model(make_model(), path)
    before = path.read_bytes()
    wrong = {
        "training": lambda: make_model(facts={"certificate": Certificate("gap", number, None)}),
        "threshold": lambda: replace(make_model(), threshold=chosen),
        "selection": lambda: make_model(facts={"selection": (candidate,)}),
    }
    with pytest.raises(ModelFileError, match="is not a finite number"):
        save_model(wrong[where](), path)
    assert path.read_bytes() == before


def test_a_file_that_would_score_otherwise_is_not_written(tmp_path, monkeypatch):
    """What is written is read back before it takes its name."""
    table = make_table(0, ["number"] * 3, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = train(table, "sick", features="additive", n_splits=2)
    path = tmp_path / "m.json"
    save_model(model, path)
    before = path.read_bytes()
    broken = replace(model, parts=Parts(model.parts.effects[::-1]))

    for wrong in (lambda kind, plain: broken, lambda kind, plain: 1 / 0):
        with monkeypatch.context() as patched:
            patched.setattr(model_file, "from_plain", wrong)
            with pytest.raises(ModelFileError, match="was not written"):
                save_model(model, path)
        assert path.read_bytes() == before
        assert [*tmp_path.iterdir()] == [path]
    assert to_plain(load_model(path)) == to_plain(model)


@pytest.mark.parametrize("form", ["python", "sql", "onnx"])
def test_an_export_that_scores_otherwise_is_not_written(tmp_path, monkeypatch, form):
    if form == "onnx":
        pytest.importorskip("onnxruntime")
    table = make_table(0, ["number", "gaps", "category", "date", "decimal comma"], 60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = train(table, "sick", features="additive", n_splits=2)
    path = tmp_path / "exported"
    export_model(model, **{form: path}, dtype="float64")
    before = path.read_bytes()
    other = replace(model, intercept=model.intercept + 0.01)
    written = {"python": "to_python", "sql": "to_sql", "onnx": "to_onnx"}[form]
    write = getattr(export, written)
    monkeypatch.setattr(export, written, lambda _, **options: write(other, **options))
    with pytest.raises(NotExportable, match="was not written"):
        export_model(model, **{form: path}, dtype="float64")
    assert path.read_bytes() == before
    assert [*tmp_path.iterdir()] == [path]
