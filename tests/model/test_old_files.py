"""Files written by version 0.1 load, and score as they did."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from vrspam import AUCClassifier, ClassMoments
from vrspam.tool import evaluation, explain, load_model, predict, save_model

OLD = Path(__file__).resolve().parents[1] / "fixtures" / "version_0_1"
EXPECTED = json.loads((OLD / "expected.json").read_text("utf-8"))
MODELS = ["linear", "l1", "isotonic", "additive", "kernel"]


def close(found, expected):
    np.testing.assert_allclose(np.array(found, dtype=float), np.array(expected, dtype=float), rtol=1e-12, atol=1e-12)


@pytest.mark.filterwarnings("ignore::vrspam._utils.warnings.UnseenValues")  # tested elsewhere
@pytest.mark.parametrize("again", [False, True], ids=["as written", "saved again"])
@pytest.mark.parametrize("name", MODELS)
def test_model_files_score_and_explain_as_before(name, again, tmp_path):
    model, expected = load_model(OLD / f"{name}.json"), EXPECTED[name]
    if again:
        save_model(model, tmp_path / "m.json")
        model = load_model(tmp_path / "m.json")
    labels, scores = evaluation.score_file(model, OLD / "rows.csv")
    assert labels.sum() == (OLD / "rows.csv").read_text("utf-8").count(",yes")
    close(scores, expected["scores"])
    assert (model.calibration is None) == (expected["probabilities"] is None)
    if model.calibration is not None:
        close(model.calibration(scores), expected["probabilities"])
    effects = [list(vars(effect).values()) for effect in explain(model)]
    assert [effect[:2] for effect in effects] == [effect[:2] for effect in expected["effects"]]
    close([effect[2:] for effect in effects], [effect[2:] for effect in expected["effects"]])
    assert predict(model, OLD / "rows.csv", tmp_path / "scores.csv") == len(scores)


@pytest.mark.parametrize("name", ["moments", "moments_half_life"])
def test_moments_solve_as_before(name):
    moments, expected = ClassMoments.load(OLD / f"{name}.npz"), EXPECTED[name]
    close(moments.delta, expected["delta"])
    assert moments.p == pytest.approx(expected["p"], abs=1e-12)
    close(AUCClassifier(0.1).fit_moments(moments).coef_[0], expected["coef"])
    assert (moments.half_life is None) == (name == "moments")
