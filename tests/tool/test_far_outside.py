"""Far outside what training had: scores stay bounded, rows are marked, columns that cannot be read are refused."""

from __future__ import annotations

import json
import sqlite3

import numpy as np
import pandas as pd
import pytest

from vrspam import AUCClassifierCV
from vrspam.cli.run import run
from vrspam.export import to_python, to_sql
from vrspam.features import AdditiveFeatures, LinearFeatures, StackedFeatures
from vrspam.features.scoring import PreparedParts
from vrspam.tool import evaluate, explain_file, export_model, load_model, predict, save_model, score_file, train

pytestmark = pytest.mark.filterwarnings("ignore:Compared with training")


def patients(rows: int = 400, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age, dose = rng.uniform(18, 119, rows), rng.standard_normal(rows)
    sick = age / 40 + dose * (age > 60) + rng.standard_normal(rows) > 2
    return pd.DataFrame({"age": age, "dose": dose, "ward": "A", "sick": np.where(sick, "yes", "no")})


@pytest.fixture(scope="module")
def blend():
    return train(patients(), "sick")


def straight_lines(model) -> float:
    """The weight of straight lines in a blend."""
    return sum(row["weight"] for row in model.training["selection"] if row["features"] == "standardized")


@pytest.mark.parametrize("age", [99999.0, -99999.0, 1e300])
def test_a_blend_stays_bounded(blend, age):
    assert straight_lines(blend) > 0.001
    inside = score_file(blend, patients())[1]
    far = patients().assign(age=age)
    scores = score_file(blend, far)[1]
    spread = np.ptp(inside)
    assert scores.min() > inside.min() - spread
    assert scores.max() < inside.max() + spread
    further = score_file(blend, patients().assign(age=2.0 * age))[1]
    np.testing.assert_allclose(scores, further, rtol=1e-12)  # constant there


def test_lines_of_a_blend_go_on_for_the_width_of_training_and_end():
    X = np.random.default_rng(0).uniform(0.0, 10.0, (200, 2))
    X[:2] = [[0.0, 0.0], [10.0, 10.0]]
    stacked, line = StackedFeatures([LinearFeatures(), AdditiveFeatures()]).fit(X), LinearFeatures().fit(X)
    new = np.array([[5.0, 5.0], [20.0, 0.0], [21.0, 0.0], [-10.0, 0.0], [-1e9, 0.0], [np.nan, 0.0]])
    found, straight = stacked.transform(new)[:, 0], line.transform(new)[:, 0]
    expected = [*straight[:2], straight[1], straight[3], straight[3], 0.0]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    coef = np.random.default_rng(1).standard_normal(stacked.n_features_out_)
    scores = PreparedParts(stacked.parts(coef)).scores(new)[:, 0]
    np.testing.assert_allclose(scores, stacked.transform(new) @ coef, rtol=1e-12)
    np.testing.assert_allclose(scores, stacked.products(new, coef), rtol=1e-12)


def test_exports_end_their_lines_in_the_same_place(tmp_path):
    table = patients()[["age", "dose"]]
    maps = {"lines": LinearFeatures(), "curves": AdditiveFeatures()}
    model = AUCClassifierCV(features=maps, selection="blend").fit(table, patients()["sick"])
    assert len(model.features_.members) == 2
    far = pd.DataFrame({"age": [50.0, 215.0, 99999.0, -400.0], "dose": [0.0, 40.0, 0.1, -1e9]})
    expected = model.decision_function(far)
    assert np.ptp(expected) < 3.0 * np.ptp(model.decision_function(table))
    namespace: dict = {}
    exec(to_python(model), namespace)
    rows = far.to_dict("records")
    np.testing.assert_allclose([namespace["score"](row) for row in rows], expected, atol=1e-10)
    with sqlite3.connect(":memory:") as database:
        far.to_sql("rows", database, index=False)
        found = [score for (score,) in database.execute(f"SELECT ({to_sql(model)}) FROM rows")]
    np.testing.assert_allclose(found, expected, atol=1e-10)
    np.testing.assert_allclose(model.to_model().score(far.to_numpy()), expected, atol=1e-12)
    for row, score in zip(rows, expected, strict=True):
        parts = model.explain_one(pd.DataFrame([row]))
        assert sum(parts.values()) == pytest.approx(score, abs=1e-10)


def test_an_exported_graph_is_bounded_too(blend, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    export_model(blend, onnx=tmp_path / "model.onnx", dtype="float64")
    far = patients()[:50].assign(age=99999.0)
    session = runtime.InferenceSession(str(tmp_path / "model.onnx"))
    given = {one.name: far[one.name].to_numpy().reshape(-1, 1) for one in session.get_inputs()}
    given = {name: values.astype(object if values.dtype == object else np.float64) for name, values in given.items()}
    found = dict(zip([one.name for one in session.get_outputs()], session.run(None, given), strict=True))
    np.testing.assert_allclose(found["score"].ravel(), score_file(blend, far)[1], atol=1e-9)


def test_predict_marks_rows_and_says_which_columns(blend, tmp_path, capsys):
    new = patients(60, seed=1)
    new.loc[[3, 7], "age"] = 99999.0
    new.loc[7, "dose"] = -500.0
    new.to_csv(tmp_path / "new.csv", index=False)
    save_model(blend, tmp_path / "model.json")
    command = ["predict", f"{tmp_path}/model.json", f"{tmp_path}/new.csv", "--out", f"{tmp_path}/scores.csv"]
    assert run(command) == 0
    said = capsys.readouterr().err
    assert "column 'age' is far outside the range of training" in said
    assert said.count("do not rely on these scores (the column 'extrapolated' marks them)") == 2
    assert said.count("warning: ") == 2  # one for each column, and none for the rows again
    scores = pd.read_csv(tmp_path / "scores.csv")
    assert scores.columns.tolist() == ["score", "probability", "decision", "extrapolated"]
    assert np.flatnonzero(scores["extrapolated"]).tolist() == [3, 7]
    assert run([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["extrapolated"] == 2


def test_marks_of_a_linear_model_and_of_broken_rows_stay_in_their_places(tmp_path):
    model, new = train(patients(), "sick", features="linear"), patients(20, seed=1)
    new.loc[[2, 9], "age"] = [np.inf, 5000.0]
    with pytest.warns(UserWarning, match="marks them"):
        predict(model, new, tmp_path / "scores.parquet")
    scores = pd.read_parquet(tmp_path / "scores.parquet")
    assert scores["score"].isna().tolist() == [row == 2 for row in range(20)]
    assert np.flatnonzero(scores["extrapolated"].eq(True)).tolist() == [9]


def test_a_column_that_cannot_be_read_is_an_error_unless_it_is_allowed(blend, tmp_path, capsys):
    new = patients(60, seed=1)
    new["age"] = [f"{age:.0f} years and a bit" if row % 5 else f"{age:.0f}" for row, age in enumerate(new["age"])]
    new.to_csv(tmp_path / "new.csv", index=False)
    save_model(blend, tmp_path / "model.json")
    files = [f"{tmp_path}/model.json", f"{tmp_path}/new.csv"]
    for command in (["predict", *files, "--out", f"{tmp_path}/scores.csv"], ["evaluate", *files]):
        assert run(command) == 1
        said = capsys.readouterr().err
        assert "column 'age' holds text where training had other values, in 80.0 % of the rows" in said
        assert "let it count as missing with --allow-missing age" in said
        assert not (tmp_path / "scores.csv").exists()
        assert run([*command, "--allow-missing", "age"]) == 0
        capsys.readouterr()
        (tmp_path / "scores.csv").unlink(missing_ok=True)
    with pytest.raises(ValueError, match="let it count as missing with allow_missing=\\['age'\\]"):
        evaluate(blend, new)
    assert evaluate(blend, new, allow_missing=["age"]).n == 60
    few = new[:4]  # of a few rows nothing is odd
    assert predict(blend, few, tmp_path / "few.csv") == 4


def test_a_constant_column_adds_nothing_whatever_new_rows_hold(blend):
    shapes = {shape.name: shape for shape in blend.shapes.columns}
    assert shapes["ward"].importance == 0.0
    new = patients(3).assign(ward=["A", "B", None])
    for row in explain_file(blend, new, [1, 2, 3]).rows:
        adds = {part.column: part.adds for part in row.parts}
        assert adds["ward"] == 0.0
        assert max(map(abs, adds.values())) < 10.0
        assert sum(adds.values()) == pytest.approx(row.score, abs=1e-9)


def test_a_stored_blend_is_bounded_as_well(blend, tmp_path):
    save_model(blend, tmp_path / "model.json")
    far = patients()[:20].assign(age=99999.0)
    np.testing.assert_array_equal(score_file(load_model(tmp_path / "model.json"), far)[1], score_file(blend, far)[1])


def test_an_explained_row_says_which_values_training_did_not_have(tmp_path, capsys):
    """A score that rests on a value far outside is not to be read as any other; nor is it ever certain."""
    two_wards = patients().assign(ward=["A", "B"] * 200)
    save_model(train(two_wards, "sick", features="linear"), tmp_path / "m.json")
    rows = two_wards.head(2).assign(age=[99999.0, 60.0], ward=["C", "A"])
    rows.to_csv(tmp_path / "new.csv", index=False)
    low, high = two_wards["age"].min(), two_wards["age"].max()
    assert run(["explain", f"{tmp_path}/m.json", f"{tmp_path}/new.csv", "--row", "1"]) == 0
    far = capsys.readouterr().out
    assert f"99999 (training: {low:.7g} to {high:.7g})" in far
    assert "C (new or rare)" in far
    assert "more than 99.9" in far
    assert run(["explain", f"{tmp_path}/m.json", f"{tmp_path}/new.csv", "--row", "2"]) == 0
    near = capsys.readouterr().out
    assert "(training" not in near
    assert "(new" not in near
