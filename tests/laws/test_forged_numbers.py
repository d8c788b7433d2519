"""A model file with any forged number is refused in one sentence, or each row has a finite score or a reason.

For every number of model files of every kind of features, and of a LIBSVM file.
"""

from __future__ import annotations

import copy
import csv
import json
import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws_support import examples
from stored import as_lists
from tool_data import write_libsvm

from vrspam.features import BoostedFeatures, KernelFeatures, StackedFeatures, TreeFeatures
from vrspam.model.file import checksum
from vrspam.model.model import Model
from vrspam.model.plain import from_plain, to_plain
from vrspam.tool import ModelFileError, load_model, predict, save_model, train

FEATURES: dict[str, Any] = {
    "linear": "linear",
    "additive": "additive",
    "kernel": KernelFeatures(n_landmarks=6),
    "two kernels": "kernels",
    "trees": TreeFeatures(n_trees=3, max_depth=2, n_landmarks=6),
    "boosted": BoostedFeatures(n_trees=6),
}
NUMBERS: tuple[Any, ...] = (0.0, -1.0, 1e308, -1e308, 5e-324, 2.0**53, 1e17, 10**400, True, None, "x", [], "1e309")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """For each kind of features the content of its file, unpacked, and rows to score."""
    folder, rng = tmp_path_factory.mktemp("forged"), np.random.default_rng(0)
    sick = rng.random(60) < 0.4
    table = pd.DataFrame({"age": rng.normal(50, 9, 60).round(1), "dose": rng.random(60).round(2)})
    table["town"] = rng.choice(["Graz", "Linz"], 60)
    table["age"] += 9 * sick
    table.loc[::7, "dose"] = np.nan
    table["sick"] = sick
    table.to_csv(folder / "rows.csv", index=False)
    write_libsvm(folder / "rows.libsvm", 60, 3)
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, features in FEATURES.items():
            if name == "two kernels":
                features = StackedFeatures([KernelFeatures(bandwidth=width, n_landmarks=6) for width in (0.3, 3.0)])
            save_model(train(table, "sick", features=features, n_splits=2), folder / "m.json")
            found[name] = json.loads((folder / "m.json").read_text("utf-8")), folder / "rows.csv"
        save_model(train(folder / "rows.libsvm", features="linear", n_splits=2), folder / "m.json")
        found["libsvm"] = json.loads((folder / "m.json").read_text("utf-8")), folder / "rows.libsvm"
    return found


def places(value, path=()):
    """The way to every number, and to None."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from places(part, (*path, key))
    elif isinstance(value, list):
        for number in {0, len(value) // 2, len(value) - 1} & set(range(len(value))):
            yield from places(value[number], (*path, number))
    elif value is None or isinstance(value, int | float):
        yield path


def forge(whole, place, number):
    forged = copy.deepcopy(whole)
    content = as_lists(forged["model"])
    part = content
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = number
    forged["model"] = content
    forged["checksum"] = checksum(content)
    return json.dumps(forged)


def check_forged(whole, rows, folder, place, number):
    (folder / "m.json").write_text(forge(whole, place, number), "utf-8")
    try:
        model = load_model(folder / "m.json")
    except ModelFileError as error:
        return one_sentence(error)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", UserWarning)
        try:
            predict(model, rows, folder / "scores.csv")
        except ValueError as error:
            return one_sentence(error)
    with open(folder / "scores.csv", encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            scored = line["score"] != "" and math.isfinite(float(line["score"]))
            assert scored or line["reason"], (place, number, line)
            assert not (line["score"] == "" and (line.get("decision") or line.get("probability")))


def one_sentence(error):
    assert "\n" not in str(error)


@settings(max_examples=examples(60))
@given(data=st.data())
def test_a_forged_number_never_gives_a_score_that_is_none(files, tmp_path_factory, data):
    whole, rows = files[data.draw(st.sampled_from([*files]))]
    place = data.draw(st.sampled_from([*places(as_lists(whole["model"]))]))
    check_forged(whole, rows, tmp_path_factory.mktemp("one"), place, data.draw(st.sampled_from(NUMBERS)))


@pytest.mark.parametrize("number", NUMBERS)
def test_forged_fill_values_and_widths_of_kernels(files, tmp_path, number):
    for name, place in (("linear", ("fields", "schema", "fill")), ("linear", ("fields", "schema", "fill", 0))):
        whole, rows = files[name]
        check_forged(whole, rows, tmp_path, place, number)
    for name, part in (("kernel", 0), ("two kernels", 0), ("two kernels", 1)):
        whole, rows = files[name]
        check_forged(whole, rows, tmp_path, ("fields", "parts", "kernels", part, "gamma"), number)


def test_the_forger_changes_nothing_else(files):
    """A file forged with its own number is the file."""
    for whole, _ in files.values():
        content = as_lists(whole["model"])
        again = json.loads(forge(whole, ("fields", "intercept"), content["fields"]["intercept"]))["model"]
        assert to_plain(from_plain(Model, again)) == whole["model"]
