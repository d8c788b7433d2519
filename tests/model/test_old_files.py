"""Files written before the first release: moments load as they were, models are refused in a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from vrspam import AUCClassifier, ClassMoments
from vrspam.tool import ModelFileError, load_model

OLD = Path(__file__).resolve().parents[1] / "fixtures" / "version_0_1"
EXPECTED = json.loads((OLD / "expected.json").read_text("utf-8"))


def close(found, expected):
    np.testing.assert_allclose(np.array(found, dtype=float), np.array(expected, dtype=float), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("version", [1, 4])
def test_a_model_file_from_before_the_first_release_is_refused_in_a_sentence(version, tmp_path):
    path = tmp_path / "old.json"
    path.write_text(json.dumps({"format": "vrspam-model", "version": version, "model": {}}))
    with pytest.raises(ModelFileError, match="was written before the first release of vrspam: train the model again"):
        load_model(path)


@pytest.mark.parametrize("name", ["moments", "moments_half_life"])
def test_moments_solve_as_before(name):
    moments, expected = ClassMoments.load(OLD / f"{name}.npz"), EXPECTED[name]
    close(moments.delta, expected["delta"])
    assert moments.p == pytest.approx(expected["p"], abs=1e-12)
    close(AUCClassifier(0.1).fit_moments(moments).coef_[0], expected["coef"])
    assert (moments.half_life is None) == (name == "moments")
