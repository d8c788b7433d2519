"""How often a training run opens and types its file, and what it reads of it."""

from __future__ import annotations

import gzip
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tool_data import open_planned, patients, write

from vrspam._utils.findings import text_of
from vrspam.cli import main
from vrspam.data import DataError
from vrspam.data.formats import guess_format
from vrspam.data.readers import READERS, csv_head
from vrspam.features import AdditiveFeatures
from vrspam.features.encoders import Curves, Indicators
from vrspam.features.parts import CategoryPart, CurvePart
from vrspam.tool import evaluate, evaluation, load_model, predict, save_model, train
from vrspam.tool.plan import TrainPlan

OPENED: list[str] = []
sys.addaudithook(lambda event, details: OPENED.append(str(details[0])) if event == "open" else None)


@pytest.fixture
def table(tmp_path):
    return write(patients(200), tmp_path / "patients.csv")


@pytest.fixture
def typings(monkeypatch):
    """The files whose columns were typed, one entry each time."""
    found = []
    read_names = csv_head.read_names

    def watched(path, *details):
        found.append(path)
        return read_names(path, *details)

    monkeypatch.setattr(csv_head, "read_names", watched)
    return found


def openings(path):
    return sum(name == str(path) for name in OPENED)


@pytest.mark.parametrize("options", [{"features": "additive"}, {"features": "linear"}, {"l1": [0.0, 0.01]}])
def test_training_opens_and_types_its_file_once(table, typings, options):
    before = openings(table)
    train(table, "sick", n_splits=2, **options)
    assert openings(table) == before + 1
    assert typings == [str(table)]


@pytest.mark.parametrize("name", ["patients.csv", "patients.csv.gz"])
@pytest.mark.parametrize(
    "command",
    [
        ["report"],
        ["report", "--by", "town,ward"],
        ["report", "--holdout", "0.3"],
        ["report", "--drop", "ward", "--by", "ward"],
        ["train", "--model", "new.json", "--html", "page.html"],
        ["evaluate"],
        ["predict", "--out", "scores.csv"],
        ["explain", "--row", "3"],
    ],
    ids=" ".join,
)
def test_every_command_opens_its_table_once(tmp_path, monkeypatch, capsys, typings, name, command):
    path = write(patients(200), tmp_path / "patients.csv")
    if name.endswith(".gz"):
        (tmp_path / name).write_bytes(gzip.compress(path.read_bytes()))
        path = tmp_path / name
    monkeypatch.chdir(tmp_path)
    verb, *options = command
    if verb in ("report", "train"):
        called = [verb, str(path), "--target", "sick", "--features", "linear", "--folds", "2", *options]
    else:
        save_model(train(path, "sick", n_splits=2, features="linear"), tmp_path / "m.json")
        called = [verb, "m.json", str(path), *options]
    before = openings(path)
    typings.clear()
    assert main(called) == 0, capsys.readouterr().err
    assert openings(path) - before == 1
    assert len(typings) <= 1


def test_a_stream_is_typed_once_and_read_several_times(table, typings):
    before = openings(table)
    train(table, "sick", n_splits=2, streaming=True)
    assert openings(table) == before + 4  # columns; spread; moments of the folds; their scores
    assert typings == [str(table)]


def test_prediction_types_its_file_once(table, typings, tmp_path):
    model = train(table, "sick", n_splits=2, features="additive")
    typings.clear()
    assert predict(model, table, tmp_path / "scores.csv") == 200
    assert typings == [str(table)]


def test_a_file_that_changed_is_typed_again(table, typings):
    source = READERS["csv"]()
    assert "age" in source.columns(str(table))
    write(patients(50).rename(columns={"age": "years"}), table)
    assert "years" in source.columns(str(table))
    assert len(typings) == 2


def test_formats_are_told_by_one_list(tmp_path):
    for name, reader in READERS.items():
        assert reader.name == name
        for suffix in reader.suffixes:
            assert guess_format(str(tmp_path / f"any{suffix}")) == name
        if reader.magic:
            (tmp_path / "unnamed").write_bytes(reader.magic + bytes(50))
            assert guess_format(str(tmp_path / "unnamed")) == name


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_maps_get_the_columns_as_they_are(tmp_path, end):
    """One map on the frame, no encoding before it: its encoders are those of a pandas frame of the same columns."""
    frame = patients(300).drop(columns=["patient", "ward"])
    frame.loc[::9, "town"] = None
    path = write(frame, tmp_path / f"p.{end}")
    model = train(path, "sick", n_splits=2, features="additive")
    assert model.training["map"] == "additive"
    expected = AdditiveFeatures(random_state=0).fit(frame.drop(columns="sick"))
    assert list(expected.feature_names_in_) == list(model.schema.columns)
    assert not model.is_linear
    for found, wanted in zip(model.parts.effects, expected.encoders_, strict=True):
        if isinstance(found, CurvePart) and isinstance(wanted, Curves):
            np.testing.assert_array_equal(found.nodes, wanted.nodes)
        else:
            assert isinstance(found, CategoryPart)
            assert isinstance(wanted, Indicators)
            assert tuple(found.values) == wanted.categories
    table = open_planned(path, TrainPlan("sick"))
    rows, positive = table.rows, table.positive
    assert isinstance(rows, pa.Table)
    assert positive.sum() == (frame["sick"] == "yes").sum()
    assert [str(kind) for kind in rows.schema.types] == ["double", "double", "double", "string"]


def test_rows_that_cannot_be_used_are_named_where_they_are(tmp_path):
    path = tmp_path / "rows.csv"
    lines = [f"{k % 7}.5,{'yes' if k % 3 else 'no'}" for k in range(60)]
    lines[10], lines[20] = "inf,yes", "1.5,"
    path.write_text("\n".join(["age,sick", *lines]) + "\n")
    with pytest.raises(DataError, match=r"rows\.csv, block 1, line 12: column 'age' is infinite"):
        train(path, "sick", features="additive")
    with pytest.warns(UserWarning, match="left out 1 broken"):
        opened = open_planned(path, TrainPlan("sick", skip_errors=True))
    assert (opened.positive.size, opened.origin.unlabelled) == (58, 1)


@pytest.mark.filterwarnings("ignore::vrspam._utils.warnings.UnseenValues")  # tested elsewhere
def test_a_linear_map_with_categories_becomes_a_plain_model_that_scores_the_same(tmp_path):
    from vrspam import AUCClassifierCV
    from vrspam.features import LinearFeatures

    frame = patients(300).drop(columns=["patient", "cholesterol, mg/dl"])
    path = write(frame, tmp_path / "p.csv")
    model = train(path, "sick", n_splits=3, features=LinearFeatures())
    assert model.is_linear
    save_model(model, tmp_path / "m.json")
    found = load_model(tmp_path / "m.json")
    columns = list(model.schema.columns)
    oracle = AUCClassifierCV([model.training["l2"]], features=LinearFeatures(), cv=3, calibration=None)
    oracle.fit(frame[columns], frame["sick"])
    positive, scores = evaluation.score_file(found, path)
    np.testing.assert_allclose(scores, oracle.decision_function(frame[columns]), atol=1e-9)
    means = pd.get_dummies(frame[columns], prefix_sep="=", dtype=float).groupby(positive).mean()
    np.testing.assert_allclose(found.of_columns.means, means, rtol=1e-9)
    assert evaluate(found, positive, scores).n == 300


def test_warnings_keep_their_parameters_in_the_file(table, tmp_path):
    save_model(train(table, "sick", n_splits=2, features="linear"), tmp_path / "m.json")
    (note,) = [note for note in load_model(tmp_path / "m.json").training["warnings"] if "patient" in note]
    assert note.endswith("use include=['patient'] to keep it")
    assert text_of(note, lambda fix: f"--{fix.option}").endswith("use --include to keep it")
