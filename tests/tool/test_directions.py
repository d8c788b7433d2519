"""--monotone and --ordered: what is asked for holds in the file, and what it costs is told."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from vrspam.cli import main
from vrspam.tool import load_model, score_file, train, training
from vrspam.tool.plan import TrainPlan
from vrspam.tool.typed_values import read_directions, read_order


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    n = 500
    income, age = np.round(rng.gamma(2.0, 20.0, n), 1), rng.integers(18, 80, n)
    size = rng.choice(["small", "medium", "large"], n)
    score = 0.03 * (35 - income) + 1.5 * np.sin(age / 8) + 0.8 * (size == "medium") + rng.logistic(size=n)
    frame = pd.DataFrame({"income": income, "age": age, "size": size, "late": np.where(score > 0.5, "yes", "no")})
    frame.to_csv(tmp_path / "loans.csv", index=False)
    return tmp_path / "loans.csv"


def test_train_tells_what_directions_cost(table, capsys):
    model = table.with_name("loans.json")
    options = ["--target", "late", "--features", "additive", "--monotone", "income=-1,age=1,size=1"]
    options += ["--ordered", "size=small,medium,large", "--model", str(model), "--json"]
    assert main(["train", str(table), *options]) in (0, None)
    facts = json.loads(capsys.readouterr().out)
    assert facts["monotone"] == {"income": -1, "age": 1, "size": 1}
    assert facts["unconstrained_auc"] > facts["corrected_auc"]  # age goes up and down
    assert any("'age' must rise; without this direction the score would fall by" in note for note in facts["warnings"])
    assert not any("'income' must fall" in note for note in facts["warnings"])
    found = load_model(model)
    ages = pd.DataFrame({"income": 30.0, "age": np.arange(0.0, 120.0), "size": "large"})
    assert np.diff(found.score(ages)).min() >= -1e-9
    sizes = pd.DataFrame({"income": 30.0, "age": 40.0, "size": ["small", "medium", "large"]})
    assert np.diff(found.score(sizes)).min() >= -1e-9
    assert found.shapes is not None
    assert {shape.name: shape.direction for shape in found.shapes.columns} == {"income": -1, "age": 1, "size": 1}


def test_the_report_tells_what_directions_cost_and_the_notes_come_last(table, capsys):
    asked = ["report", str(table), "--target", "late", "--features", "linear", "--monotone", "income=1", "--rows", "0"]
    asked += ["--html", str(table.with_name("r.html")), "--positive", "yes"]
    assert main([*asked, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    free = facts["unconstrained_auc"]
    assert free == pytest.approx(train(table, "late", "yes", features="linear").training["corrected_auc"], abs=0.01)
    assert free > facts["expected_auc"] + 0.02
    pd.read_csv(table).assign(always=1).to_csv(table, index=False)  # a constant column is a note
    assert main(asked) == 0
    out, err = capsys.readouterr()
    assert f"without directions {free:.3f} (income rises by request)" in " ".join(out.split())
    told = [line.split(":")[0] for line in err.splitlines() if ": " in line]
    assert {"warning", "note"} <= {*told}  # income falls
    assert told == sorted(told, key=["severe", "warning", "note"].index)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_frame_may_have_an_ordered_type(table, kind):
    polars = pytest.importorskip("polars")
    frame, order = pd.read_csv(table), ["small", "medium", "large"]
    typed = frame.assign(size=pd.Categorical(frame["size"], order, ordered=True))
    if kind == "polars":
        typed = polars.from_pandas(frame).with_columns(polars.col("size").cast(polars.Enum(order)))
    given: dict[str, Any] = {"features": "additive", "monotone": {"size": 1}}
    found, told = train(typed, "late", **given), train(table, "late", **given, ordered={"size": order})
    rows = frame.drop(columns="late")
    np.testing.assert_allclose(found.score(rows), told.score(rows), atol=1e-12)


@pytest.mark.parametrize("typed", [False, True])
def test_levels_keep_their_coefficients(table, monkeypatch, typed):
    """The coefficients of a map are in the order of the levels; the categories of a file are sorted."""
    fits, order = [], ["small", "medium", "large"]
    make = training.make_model

    def kept(fit, *others, **options):
        fits.append(fit.estimator)
        return make(fit, *others, **options)

    monkeypatch.setattr(training, "make_model", kept)
    rng = np.random.default_rng(1)
    frame = pd.read_csv(table)
    frame["late"] = np.where(frame["size"].map(order.index) + rng.logistic(size=len(frame)) > 1.0, "yes", "no")
    frame.to_csv(table, index=False)
    given: dict[str, Any] = {"features": "linear", "monotone": {"size": 1}, "positive": "yes"}
    if typed:
        model = train(frame.assign(size=pd.Categorical(frame["size"], order, ordered=True)), "late", **given)
    else:
        model = train(table, "late", ordered={"size": order}, **given)
    rows = frame[["income", "age", "size"]]
    expected = fits[0].decision_function(rows) - fits[0].baseline_
    np.testing.assert_allclose(model.score(rows), expected, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_allclose(score_file(model, table)[1], expected, atol=1e-12 * np.abs(expected).max())
    sizes = pd.DataFrame({"income": 30.0, "age": 40.0, "size": order})
    assert np.diff(model.score(sizes)).min() > 0.1


def test_straight_lines_have_signs(table):
    model = train(table, "late", features="linear", monotone={"age": -1})
    free = train(table, "late", features="linear")
    told, other = (dict(zip(one.schema.feature_names, one.coef, strict=True))["age"] for one in (model, free))
    assert told <= 0.0 < other or told == pytest.approx(other, rel=1e-6)


def test_streams_obey_and_tell_what_it_costs(table, capsys):
    model = table.with_name("loans.json")
    options = ["--target", "late", "--streaming", "--monotone", "income=1,age=1", "--model", str(model), "--json"]
    assert main(["train", str(table), *options]) in (0, None)
    facts = json.loads(capsys.readouterr().out)
    assert facts["unconstrained_auc"] > facts["corrected_auc"] + 0.02  # income falls
    told = [note for note in facts["warnings"] if "must rise; without this direction the score would fall by" in note]
    assert ["'income'" in note for note in told] == [True]
    found = load_model(model)
    coefs = dict(zip(found.schema.feature_names, found.coef, strict=True))
    assert coefs["income"] == 0.0 < coefs["age"]
    assert main(["explain", str(model)]) in (0, None)
    assert "income (rises by request)" in capsys.readouterr().out


def test_directions_of_categories_are_not_lost_in_encoded_rows(table, monkeypatch):
    for options in ({"streaming": True}, {"features": "auto"}):
        with pytest.raises(ValueError, match="'size', which holds categories"):
            train(table, "late", monotone={"size": 1, "age": 1}, **options)
        monkeypatch.setattr("vrspam.tool.recipes.MAX_FEATURES", 2)  # a table too wide for maps
    model = train(table, "late", monotone={"age": -1, "income": -1})
    coefs = dict(zip(model.schema.feature_names, model.coef, strict=True))
    assert coefs["age"] == 0.0 > coefs["income"]
    assert model.training["unconstrained_auc"] > 0.5


@pytest.mark.parametrize("options", [{"features": "linear"}, {"streaming": True}, {}])
def test_columns_of_numbers_alone_are_named_by_their_places(tmp_path, options):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = X[:, 0] + X[:, 1] + rng.logistic(size=200) > 0.0
    lines = (f"{int(y[i])} " + " ".join(f"{j + 1}:{value:.4f}" for j, value in enumerate(X[i])) for i in range(200))
    (tmp_path / "rows.svm").write_text("\n".join(lines))
    model = train(tmp_path / "rows.svm", monotone={"1": -1}, **options)
    low, high = np.zeros((2, 1, 3))
    high[0, 0] = 2.0
    scores = [model.score(sparse.csr_array(one)) for one in (low, high)]
    assert scores[1] <= scores[0] + 1e-12


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"monotone": {"height": 1}}, "not among the columns"),
        ({"ordered": {"age": ("1", "2")}}, "holds numbers"),
        ({"ordered": {"size": ("small", "large")}, "monotone": {"size": 1}}, "no place in the order"),
        ({"monotone": {"size": 1}}, "have no order"),
        ({"monotone": {"age": 1}, "features": "kernel"}, "cannot keep a score"),
    ],
)
def test_misuse_is_told(table, options, words):
    with pytest.raises(ValueError, match=words):
        train(table, "late", **{"features": "additive", **options})


def test_what_is_typed():
    assert read_directions("a=1, b = -1") == {"a": 1, "b": -1}
    assert read_order('size="a, b",c') == {"size": ("a, b", "c")}
    for wrong in ({"monotone": "a"}, {"monotone": {"a": 2}}, {"ordered": "size"}, {"ordered": {"size": ("a",)}}):
        with pytest.raises(ValueError, match="must name"):
            TrainPlan("y", **wrong)
