"""A model file with wrong fields and a right checksum gives a model that scores rows, or is refused in a sentence."""

from __future__ import annotations

import copy
import json
import random
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from hypothesis import given, note, settings
from hypothesis import strategies as st
from laws_support import examples
from test_exports import MAPS, hostile_frame, hostile_labels

from vrspam.export import to_onnx
from vrspam.model.file import checksum
from vrspam.tool import ModelFileError, evaluate, explain, load_model, predict, save_model, train
from vrspam.tool.score_blocks import open_rows, score_blocks

GARBAGE: tuple = (
    *(None, "x", "", -1, 0, 10**400, 1e308, True, [], {}),
    *([[1.0], ["x", {}]], {"a": {"b": [None]}}),
)


@cache
def stored(name: str) -> tuple[dict[str, Any], Path]:
    """The content of a model file, and a table that it scores."""
    rng, folder = np.random.default_rng(0), Path(tempfile.mkdtemp())
    frame = hostile_frame(rng, 160, ["double", "whole", "text", "date", "boolean"])
    frame = frame.assign(identifier=[f"p{i:04d}" for i in range(len(frame))], sick=hostile_labels(frame, rng))
    frame.to_csv(folder / "rows.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = train(folder / "rows.csv", "sick", features=MAPS.get(name, name), n_splits=2)
        save_model(model, folder / f"{name}.json")
    return json.loads((folder / f"{name}.json").read_text("utf-8")), folder / "rows.csv"


def spoil(part: Any, draw: random.Random) -> str:
    """Change one field somewhere: garbage, a deletion, a copy of another field, a repeated entry; say where."""
    way = ""
    while True:
        keys = list(part) if isinstance(part, dict) else list(range(len(part)))
        key = draw.choice(keys)
        way += f"/{key}"
        inner = part[key]
        if isinstance(inner, dict | list) and inner and draw.random() < 0.8:
            part = inner
            continue
        change = draw.choice(["garbage", "deleted", "another", "twice"])
        if change == "garbage":
            part[key] = copy.deepcopy(draw.choice(GARBAGE))
        elif change == "deleted":
            del part[key]
        elif change == "another":
            part[key] = copy.deepcopy(part[draw.choice(keys)])
        elif isinstance(part, list):
            part.append(copy.deepcopy(inner))
        elif isinstance(inner, list) and inner:
            inner.append(copy.deepcopy(inner[0]))
        return f"{way} ({change})"


def use(path: Path, rows: Path) -> None:
    """Do with a model file all that can be done with one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = load_model(path)
        stream = open_rows(model, rows, labels=False, on_error="skip")
        scores = np.concatenate([block.scores for block in score_blocks(model, stream.read())])
        predict(model, rows, rows.with_name("scores.csv"))
        evaluate(model, rows)
        explain(model)
        to_onnx(model)
    assert scores.ndim == 1, f"scores of shape {scores.shape}"


@settings(max_examples=examples(25))
@given(st.sampled_from(["linear", "additive", "kernel", "trees"]), st.integers(1, 3), st.randoms(use_true_random=False))
def test_a_forged_file_scores_rows_or_is_refused(name, count, draw):
    whole, rows = stored(name)
    forged = copy.deepcopy(whole)
    for _ in range(count):
        note(f"{name}: {spoil(forged['model'], draw)}")
    forged["checksum"] = checksum(forged["model"])
    path = rows.with_name("forged.json")
    path.write_text(json.dumps(forged), "utf-8")
    try:
        use(path, rows)
    except ModelFileError:
        return
    except (ValueError, OSError) as problem:  # a sentence about rows that do not fit
        sentence = str(problem)
    else:
        return
    assert sentence.strip()
    assert "\n" not in sentence
