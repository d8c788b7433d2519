"""`vrspam train --penalty`: the model is that of the estimator, and what is said about it is true."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from vrspam import AUCClassifier
from vrspam._utils.findings import VrspamError
from vrspam._utils.warnings import GridNotCertified, NotConverged
from vrspam.cli import main
from vrspam.tool import load_model, save_model, train
from vrspam.tool.notes import note_of


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Ten numeric columns of which two matter; the file, the columns and the labels."""
    rng = np.random.default_rng(0)
    X, sick = rng.standard_normal((300, 10)), rng.random(300) < 0.3
    X[sick, :2] += 1.0
    path = tmp_path_factory.mktemp("penalties") / "table.csv"
    lines = [",".join([f"c{j}" for j in range(10)] + ["sick"])]
    lines += [
        ",".join([*map(repr, row), "yes" if label else "no"]) for row, label in zip(X.tolist(), sick, strict=True)
    ]
    path.write_text("\n".join(lines))
    return path, X, sick


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("penalty", ["mcp", "scad"])
def test_the_model_is_that_of_the_estimator(table, penalty, streaming, tmp_path):
    path, X, y = table
    model = train(path, "sick", l1=[0.02, 0.05], penalty=penalty, streaming=streaming, n_splits=3)
    facts = model.training
    scaler = StandardScaler().fit(X)
    alone = AUCClassifier(facts["l2"], facts["l1"], penalty=penalty).fit(scaler.transform(X), y)
    np.testing.assert_allclose(model.coef, alone.coef_[0] / scaler.scale_, atol=1e-6)
    assert facts["penalty"] == penalty
    assert facts["relative_stationarity"] == pytest.approx(facts["stationarity"] / (y.mean() * (1 - y.mean())))
    assert facts["relative_stationarity"] <= 1e-8
    assert not facts.keys() & {"gap", "relative_gap"}
    save_model(model, tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert again.training["penalty"] == penalty
    assert again.training["stationarity"] == facts["stationarity"]


def test_automatic_l1_leaves_out_what_does_not_matter_and_maps_take_it_too(table):
    model = train(table[0], "sick", l1="auto", penalty="mcp", n_splits=3)
    assert model.training["l1"] > 0
    assert set(np.flatnonzero(model.coef)) >= {0, 1}
    curves = train(table[0], "sick", l1="auto", penalty="mcp", features="additive", n_splits=3)
    assert curves.training["nonzero"] < curves.of_columns.deviations.size
    assert "gap" in train(table[0], "sick", l1=[0.02], n_splits=3).training


def test_the_command(table, tmp_path, capsys):
    model, page = str(tmp_path / "model.json"), tmp_path / "page.html"
    arguments = ["train", str(table[0]), "--target", "sick", "--penalty", "mcp", "--model", model]
    assert main([*arguments, "--l1", "auto"]) == 0
    shown = capsys.readouterr().out
    assert " mcp, l2 = " in shown
    assert re.search(r"\nfit +no small change improves it\n", shown)
    assert main(["evaluate", model, str(table[0]), "--html", str(page)]) == 0
    assert "There is no certificate, because the penalty is not convex" in page.read_text()
    capsys.readouterr()
    assert main([*arguments, "--l1", "auto", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["penalty"] == "mcp"
    assert main(arguments) == 2
    said = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert "--penalty mcp needs positive numbers for l1, its strength: give --l1 auto, or numbers above 0" in said


def test_what_is_refused(table):
    with pytest.raises(VrspamError, match="penalty='lasso' is not known; give elasticnet, mcp or scad"):
        train(table[0], "sick", **dict[str, Any](penalty="lasso"))
    with pytest.raises(VrspamError, match="penalty='scad' needs positive numbers for l1, its strength: give l1='auto'"):
        train(table[0], "sick", penalty="scad", l1=[0.0, 0.1])


def test_notes_do_not_speak_of_a_certificate_where_there_is_none():
    for noticed in (
        GridNotCertified(2, 60, has_gap=False),
        NotConverged("AUCClassifierCV", 5, 0.1, "", "stationarity_"),
    ):
        assert "did not reach the tolerance" in note_of(noticed)
        assert "certificate" not in note_of(noticed)
    assert "2 of 60 solutions of the grid are not stationary to tol" in str(GridNotCertified(2, 60, has_gap=False))
