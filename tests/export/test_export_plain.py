"""Exported Python files and SQL expressions give the scores of the models themselves, in SQLite and in DuckDB."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from exported import columns_of_file, columns_of_frame, in_duckdb, in_sqlite, rows_of, scores_of_file
from hypothesis import given, settings
from hypothesis import strategies as st
from messy_files import MESSY
from tool_data import patients, write

from vrspam import AUCClassifier, AUCClassifierCV
from vrspam.cli import main
from vrspam.export import NotExportable, to_python, to_sql
from vrspam.features.parts import CategoryPart, CurvePart, Parts
from vrspam.model.model import Model
from vrspam.tables.schema import Schema
from vrspam.tool import load_model, save_model, train

NEAR = 1e-12  # of the spread of the scores
MAPS = ("standardized", "additive", ["standardized", "additive"])


def module_of(text: str) -> dict[str, Any]:
    """The names of an exported file, which imports nothing but math."""
    imported = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in imported] == ["import math"]
    found: dict[str, Any] = {}
    exec(compile(text, "scorer.py", "exec"), found)
    return found


ENGINES = {"sqlite": in_sqlite, "duckdb": in_duckdb}


def table(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Awkward names and texts, gaps, a date."""
    rng = np.random.default_rng(seed)
    age = rng.normal(50.0, 12.0, n)
    town = rng.choice(["O'Brien", 'Łódź "old"', "a\\b", "--", "new\nline"], n).astype(object)
    when = np.datetime64("1969-06-01T05:30", "us") + rng.integers(0, 700 * 86_400, n).astype("timedelta64[s]")
    y = (
        0.1 * age + 2.0 * (town == "--") + (when.astype("datetime64[M]").astype(int) % 12) / 6.0 + rng.normal(0, 1, n)
        > 6.0
    )
    frame = pd.DataFrame(
        {
            'age "exact"': np.where(rng.random(n) < 0.1, np.nan, age),
            "größe; DROP TABLE rows --": np.round(rng.normal(170.0, 9.0, n)),
            "town": pd.Series(town).where(rng.random(n) > 0.1),
            "when": np.where(rng.random(n) < 0.1, np.datetime64("NaT"), when),
            "twice\nnamed": rng.random(n) < 0.5,
        }
    )
    return frame, y


def fitted(X: Any, y: Any, features: Any, **parameters: Any) -> AUCClassifierCV:
    selection = "blend" if isinstance(features, list) else "best"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return AUCClassifierCV(features=features, cv=2, selection=selection, **parameters).fit(X, y)


@pytest.fixture(scope="module", params=MAPS, ids=str)
def of_a_table(request):
    frame, y = table()
    model = fitted(frame, np.where(y, "sick", "well"), request.param)
    new, _ = table(150, seed=1)
    new.loc[3, "town"], new.loc[4, 'age "exact"'], new.loc[5, 'age "exact"'] = "Wien", 1e6, -40.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model, new, model.decision_function(new), model.predict_proba(new)[:, 1], model.predict(new)


def test_a_python_file_scores_rows(of_a_table):
    model, new, scores, probabilities, labels = of_a_table
    found = module_of(to_python(model))
    rows = rows_of(columns_of_frame(new))
    np.testing.assert_allclose([found["score"](row) for row in rows], scores, rtol=0.0, atol=NEAR * scores.std())
    np.testing.assert_allclose([found["probability"](row) for row in rows], probabilities, atol=NEAR)
    assert [found["label"](row) for row in rows] == labels.tolist()
    for row, score in zip(rows, scores, strict=True):
        assert found["CONSTANT"] + sum(found["parts"](row).values()) == pytest.approx(score, rel=1e-12)
    with pytest.raises(KeyError, match="town"):
        found["score"]({name: value for name, value in rows[0].items() if name != "town"})


@pytest.mark.parametrize("engine", ENGINES)
def test_an_sql_expression_scores_rows(of_a_table, engine):
    model, new, scores, _, _ = of_a_table
    found = ENGINES[engine](to_sql(model), columns_of_frame(new))
    np.testing.assert_allclose(found, scores, rtol=0.0, atol=NEAR * scores.std())


def test_python_files_and_expressions_are_column_by_column(of_a_table):
    model = of_a_table[0]
    for text in (to_python(model), to_sql(model)):
        for name in ('age "exact"', "größe; DROP TABLE rows --", "town", "when (month)", "twice\nnamed"):
            assert repr(name) in text
        assert "Monday" in text
        assert max(map(len, text.splitlines())) < 250


@pytest.mark.parametrize("engine", ENGINES)
def test_linear_scorers_without_a_map(engine):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(5.0, 2.0, (200, 120)), columns=[f"x{j}" for j in range(120)])
    model = AUCClassifier().fit(X, X["x0"] + rng.standard_normal(200) > 5.0)
    scores = model.decision_function(X)
    found = module_of(to_python(model))
    mine = [found["score"](row) for row in X.to_dict("records")]
    np.testing.assert_allclose(mine, scores, rtol=0.0, atol=NEAR * scores.std())
    assert np.isnan(found["score"]({**dict.fromkeys(X, 1.0), "x3": None}))
    assert "probability" not in found
    X.loc[0, "x5"] = np.nan
    found_scores = ENGINES[engine](to_sql(model), columns_of_frame(X))
    assert np.isnan(found_scores[0])
    np.testing.assert_allclose(found_scores[1:], scores[1:], rtol=0.0, atol=NEAR * scores.std())


def test_isotonic_probabilities():
    frame, y = table()
    model = fitted(frame[['age "exact"', "town"]], y, "additive", calibration="isotonic")
    found = module_of(to_python(model))
    rows = frame[['age "exact"', "town"]].to_dict("records")
    expected = model.predict_proba(frame[['age "exact"', "town"]])[:, 1]
    np.testing.assert_allclose([found["probability"](row) for row in rows], expected, atol=1e-11)
    assert "the Python export has them" in to_sql(model)


@pytest.mark.parametrize("features", ["kernel 1", "trees 2", ["additive", "kernel 1"]], ids=str)
@pytest.mark.parametrize("export", [to_python, to_sql])
def test_parts_of_several_columns_are_refused_with_the_reason(features, export):
    frame, y = table(100)
    model = fitted(frame[['age "exact"', "town"]], y, features)
    with pytest.raises(
        NotExportable, match=r"depend on several columns at once \((a kernel|trees)\).*features='additive'"
    ):
        export(model)


@pytest.mark.parametrize("case", MESSY[::4], ids=[case.name for case in MESSY[::4]])
def test_messy_files(case, tmp_path):
    path = case.write(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = train(path, "sick", "yes", features="linear", n_splits=2, fingerprint=False, **case.options)
        save_model(model, tmp_path / "model.json")
        model = load_model(tmp_path / "model.json")
    reading = {name: value for name, value in case.options.items() if name == "encoding"}
    expected = scores_of_file(model, path, **reading)
    columns = columns_of_file(model, path, **reading)
    found = module_of(to_python(model))
    mine = [found["score"](row) for row in rows_of(columns)]
    np.testing.assert_allclose(mine, expected, rtol=0.0, atol=NEAR * expected.std())
    for engine in ENGINES.values():
        scores = engine(to_sql(model), columns)
        np.testing.assert_allclose(scores, expected, rtol=0.0, atol=NEAR * expected.std())


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=8)


@given(
    names,
    st.lists(st.one_of(names, st.just("")), unique=True, max_size=4),
    st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=5, unique=True),
)
@settings(max_examples=25, deadline=None)
def test_any_name_text_and_curve(name, texts, nodes):
    nodes = np.sort(nodes)
    curve = CurvePart(nodes, np.arange(nodes.size) ** 2.0, left=0.5, right=-1.0, missing=7.0)
    heights = CategoryPart({text: 1.0 + i for i, text in enumerate(texts)}, missing=-1.0, other=0.25)
    other = f"{name}'"
    schema = Schema((name,), {other: tuple(texts)}, labels=(f"not {name}", name))
    scorer = Model(schema, name, Parts((curve, heights)), 1.5)
    values: list[float | None] = [
        *nodes.tolist(),
        float(nodes[0]) - 2.0,
        float(nodes[-1]) + 2.0,
        float(nodes.mean()),
        None,
    ]
    rows = [{name: value, other: text} for value in values for text in (*texts, "", None, "other than all")]
    # np.interp and the dict are the oracle
    expected = []
    for row in rows:
        x, text = row[name], row[other]
        gone = text is None or (text == "" and "" not in texts)
        total = 1.5 + (heights.missing if gone else heights.values.get(str(text), heights.other))
        if x is None:
            total += 7.0
        else:
            outside = 0.5 * min(x - nodes[0], 0.0) - 1.0 * max(x - nodes[-1], 0.0)
            total += float(np.interp(x, nodes, curve.values)) + outside
        expected.append(total)
    found = module_of(to_python(scorer))
    np.testing.assert_allclose([found["score"](row) for row in rows], expected, rtol=1e-9, atol=1e-9)
    assert {found["label"](row) for row in rows} <= {f"not {name}", name}
    frame = pd.DataFrame(rows).astype({name: float, other: object})
    np.testing.assert_allclose(in_sqlite(to_sql(scorer), columns_of_frame(frame)), expected, rtol=1e-9, atol=1e-9)


def test_a_nul_character_is_refused_in_sql():
    line = CurvePart(np.zeros(1), np.zeros(1), 1.0, 1.0)
    scorer = Model(Schema(("a\0b",), labels=(0, 1)), 1, Parts((line,)))
    with pytest.raises(NotExportable, match="holds a NUL character"):
        to_sql(scorer)


# The command.


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    path = write(patients(200), folder / "patients.csv")
    for features in ("additive", "kernel 1"):
        model = train(path, "sick", "yes", features=features, n_splits=2)
        save_model(model, folder / f"{features}.json")
    return folder


def test_the_command_writes_all_forms(model_file, tmp_path, capsys):
    onnx, python, sql = (tmp_path / name for name in ("m.onnx", "m.py", "m.sql"))
    ort = pytest.importorskip("onnxruntime")
    forms = ["--onnx", str(onnx), "--python", str(python), "--sql", str(sql)]
    assert main(["export", str(model_file / "additive.json"), *forms]) == 0
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == [str(onnx), str(python), str(sql)]
    model = load_model(model_file / "additive.json")
    assert python.read_text("utf-8") == to_python(model)
    assert sql.read_text("utf-8") == to_sql(model)
    names = [one.name for one in ort.InferenceSession(str(onnx)).get_inputs()]
    assert names == [*model.schema.columns]
    assert main(["export", str(model_file / "additive.json"), "--sql", str(sql), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["sql"] == str(sql)
    assert said["onnx"] is None
    assert {one["name"]: one["kind"] for one in said["inputs"]}["town"] == "text"


def test_the_command_refuses_in_one_sentence_and_writes_nothing(model_file, tmp_path, capsys):
    model, python = str(model_file / "kernel 1.json"), tmp_path / "m.py"
    assert main(["export", model, "--onnx", str(tmp_path / "m.onnx"), "--python", str(python)]) == 1
    assert "export ONNX instead, or train with --features additive" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    assert main(["export", model]) == 2
    assert "give at least one of --onnx, --python and --sql" in capsys.readouterr().err
    assert main(["export", model, "--onnx", str(python), "--sql", str(python)]) == 2
    assert "is given twice" in capsys.readouterr().err
    assert main(["export", model, "--onnx", model]) == 2
    assert "would be replaced" in capsys.readouterr().err


def test_python_and_sql_need_no_onnx(model_file, tmp_path):
    arguments = ["export", str(model_file / "additive.json"), "--sql", str(tmp_path / "m.sql")]
    program = f"import sys; sys.modules['onnx'] = None; from vrspam.cli import main; sys.exit(main({arguments!r}))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True).returncode == 0
    assert (tmp_path / "m.sql").read_text("utf-8").startswith("-- The score of a row")
