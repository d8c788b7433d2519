"""--monotone and --ordered: what is asked for holds in the file, and what it costs is told."""

import json

import numpy as np
import pandas as pd
import pytest

from vrspam.cli import main
from vrspam.tool import load_model, train
from vrspam.tool.plan import TrainPlan, read_directions, read_order


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
    assert any("'age' must rise; without it the score would fall by" in note for note in facts["warnings"])
    assert not any("'income' must fall" in note for note in facts["warnings"])
    found = load_model(model)
    ages = pd.DataFrame({"income": 30.0, "age": np.arange(0.0, 120.0), "size": "large"})
    assert np.diff(found.score(ages)).min() >= -1e-9
    sizes = pd.DataFrame({"income": 30.0, "age": 40.0, "size": ["small", "medium", "large"]})
    assert np.diff(found.score(sizes)).min() >= -1e-9
    assert found.shapes is not None
    assert {shape.name: shape.direction for shape in found.shapes.columns} == {"income": -1, "age": 1, "size": 1}


def test_straight_lines_have_signs(table):
    model = train(table, "late", features="linear", monotone={"age": -1})
    free = train(table, "late", features="linear")
    told, other = (dict(zip(one.schema.feature_names, one.coef, strict=True))["age"] for one in (model, free))
    assert told <= 0.0 < other or told == pytest.approx(other, rel=1e-6)


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
