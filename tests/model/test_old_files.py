"""Files written before the first release: moments and folds load as they were, models are refused in a sentence."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from vrspam import AUCClassifier, ClassMoments, HashFolds
from vrspam.tool import ModelFileError, load_model
from vrspam.trusted import SKOPS_TYPES

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


@pytest.mark.parametrize("form", ["pkl", "skops"])
def test_folds_whose_random_state_was_called_seed(form):
    stored = (OLD / f"hash_folds.{form}").read_bytes()  # of HashFolds(4, seed=7)
    if form == "pkl":
        folds = pickle.loads(stored)
    else:
        folds = pytest.importorskip("skops.io").loads(stored, trusted=SKOPS_TYPES)
    assert repr(folds) == "HashFolds(n_splits=4, random_state=7)"
    X = np.arange(30.0).reshape(10, 3)
    assert folds.fold_of(X).tolist() == [1, 3, 3, 0, 0, 3, 1, 2, 2, 0]  # as version 0.1 had it
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(folds)).fold_of(X), HashFolds(4, 7).fold_of(X))
