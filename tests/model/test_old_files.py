"""Files written before the first release are refused in a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vrspam import ClassMoments
from vrspam.tool import ModelFileError, load_model

OLD = Path(__file__).resolve().parents[1] / "fixtures" / "version_0_1"


@pytest.mark.parametrize("version", [1, 4, 5])
def test_a_model_file_from_before_the_first_release_is_refused_in_a_sentence(version, tmp_path):
    path = tmp_path / "old.json"
    path.write_text(json.dumps({"format": "vrspam-model", "version": version, "model": {}}))
    with pytest.raises(ModelFileError, match="was written before the first release of vrspam: train the model again"):
        load_model(path)


@pytest.mark.parametrize("name", ["moments", "moments_half_life"])
def test_moments_from_before_the_first_release_are_refused_in_a_sentence(name):
    with pytest.raises(ValueError, match=f"{name}.npz is not a file of class moments, or it is damaged: save the"):
        ClassMoments.load(OLD / f"{name}.npz")
