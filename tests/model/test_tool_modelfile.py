"""Model files: loading gives the same bits back, or one clear error; damaged files and tables give nothing else."""

from __future__ import annotations

import errno
import json
import os
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tool_data import make_model, patients, write

from vrspam._utils.findings import Fix, Note
from vrspam.cli import main
from vrspam.data import Schema
from vrspam.model.facts import MeasuredAUC
from vrspam.model.file import checksum
from vrspam.model_selection.calibration import Isotonic, Sigmoid
from vrspam.tool import ModelFileError, export_model, load_model, save_model
from vrspam.tool.training import train

finite = st.floats(allow_nan=False, allow_infinity=False)
positive = st.floats(min_value=0, exclude_min=True, allow_infinity=False)


def bits(model):
    """All that a model is, with its numbers as bytes."""
    facts = model.facts
    of_columns = facts.of_columns
    arrays_ = [np.array([model.intercept]), of_columns.means, of_columns.deviations]
    if model.is_linear:
        arrays_.append(model.coef)
    return (
        [array.tobytes() for array in arrays_],
        model.schema,
        model.positive,
        type(model.positive),
        None if model.calibration is None else (model.calibration.method, vars(model.calibration).__repr__()),
        model.identifiers,
        model.training,
        None if model.shapes is None else model.shapes.to_dict(),
    )


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    coef=arrays(np.float64, st.integers(1, 5), elements=finite),
    intercept=finite,
    slope=finite,
    label=st.one_of(st.text(max_size=5), st.integers(-(2**60), 2**60), st.booleans(), finite),
)
@example(coef=np.array([0.0]), intercept=0.0, slope=0.0, label=-1e300)
@example(coef=np.array([-0.0, 5e-324, 1.7976931348623157e308]), intercept=-0.0, slope=-0.0, label="\x00é😀")
def test_round_trip_is_exact_to_the_bit(tmp_path, coef, intercept, slope, label):
    model = make_model(coef, intercept, means=np.vstack([coef, -coef]), calibration=Sigmoid(slope, 0.5))
    kind = {bool: "bool", int: "int64", float: "double", str: "string"}[type(label)]
    schema = Schema(model.schema.numeric, {}, (0.5,) * coef.size, "y", kind, (label, label))
    model = replace(model, schema=schema, positive=label)
    save_model(model, tmp_path / "m.json")
    again = load_model(tmp_path / "m.json")
    assert bits(again) == bits(model)


def test_isotonic_calibration_and_categories_come_back(tmp_path):
    schema = Schema((), {"town": ("Köln", "Łódź")}, (), "sick", "int64", (0, 1))
    calibration = Isotonic(np.array([-1.0, 0.1, 0.3]), np.array([0.0, 0.2, 1.0]))
    model = make_model(schema=schema, positive=1, calibration=calibration)
    save_model(model, tmp_path / "m.json")
    assert bits(load_model(tmp_path / "m.json")) == bits(model)
    text = (tmp_path / "m.json").read_text("utf-8")
    assert "Łódź" in text  # readable
    assert json.loads(text)["version"] == 6


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "m.json"
    save_model(make_model(), path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        save_model(make_model(intercept=2.0), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.json"]


def test_what_could_not_be_read_again_is_not_written(tmp_path):
    path = tmp_path / "m.json"
    save_model(make_model(), path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"facts\.cv_auc\.auc is not a finite number"):
        save_model(make_model(facts={"cv_auc": MeasuredAUC(float("nan"), None, None)}), path)
    assert path.read_bytes() == before


def refused(path, words):
    with pytest.raises(ModelFileError, match=words) as caught:
        load_model(path)
    assert "\n" not in str(caught.value)


def test_what_is_no_model_is_refused(tmp_path):
    path = tmp_path / "m.json"
    refused(path, "cannot be read")
    refused(tmp_path, "cannot be read")
    for content in (b"", b"{}", b"age,sick\n1,yes\n", b"[1, 2]", b'{"format": "another"}', b"\x00\xff" * 500):
        path.write_bytes(content)
        refused(path, "not a vrspam model file")
    path.write_bytes(b'{"a": "vrspam-model"}')
    refused(path, "not a vrspam model file")
    path.write_bytes(b'{"format": "vrspam-model", "model": ' + b"[" * 100_000)
    refused(path, "cut off or damaged")


class Bomb:
    def __reduce__(self):
        return os.abort, ()


def test_a_pickle_is_never_loaded(tmp_path):
    (tmp_path / "m.json").write_bytes(pickle.dumps({"vrspam-model": Bomb()}))
    refused(tmp_path / "m.json", "not a vrspam model file")
    (tmp_path / "m.json").write_bytes(b'"vrspam-model"' + pickle.dumps(Bomb()))
    refused(tmp_path / "m.json", "cut off or damaged")


def test_cut_off_at_any_place(tmp_path):
    path = tmp_path / "m.json"
    save_model(make_model(), path)
    whole = path.read_bytes()
    for end in range(0, len(whole.rstrip()), 7):
        path.write_bytes(whole[:end])
        refused(path, "not a vrspam model file|cut off or damaged")


def changed(path, where, value):
    """Write a file with another value of a field, such as "facts.rows", and a correct checksum."""
    whole = json.loads(path.read_text("utf-8"))
    *way, last = where.split(".")
    part = whole["model"]["fields"]
    for key in way:
        part = part[key]
    part[last] = value
    whole["checksum"] = checksum(whole["model"])
    path.write_text(json.dumps(whole))


@pytest.mark.parametrize(
    ("where", "value", "words"),
    [
        ("parts.lines.coef", [1.0], r"parts.lines does not fit: coefficients of shape \(1,\)"),
        ("parts.lines.coef", ["a", "b"], "parts.lines.coef holds something else than finite numbers"),
        ("parts.lines.coef", [[1.0], [1.0, 2.0]], "parts.lines.coef is not an array of finite numbers"),
        ("parts.lines.coef", [float("inf"), 0.0], "damaged"),
        ("intercept", "1e999", "intercept is not a finite number"),
        ("intercept", 10**400, "intercept is not a finite number"),
        ("intercept", None, "intercept is not a finite number"),
        ("facts.of_columns.deviations", [0.0, 1.0], "facts.of_columns does not fit: deviations must be positive"),
        ("facts.of_columns.means", [[0, 0]], "class means of shape"),
        ("facts.rows", -1, "facts does not fit: a number of rows"),
        ("facts.rows", 1.5, r"facts.rows is not a whole number \(1.5\)"),
        ("facts.data", "a.csv", r"facts.data is not a list of texts \('a.csv'\)"),
        ("facts.cv_auc.low", "x", "facts.cv_auc.low is not a finite number"),
        ("facts.certificate.measure", "x", "facts.certificate.measure is not one of 'gap', 'stationarity'"),
        ("facts.unheard", 1, "facts.unheard is not known"),
        ("facts", {}, "facts.data is missing"),
        ("facts", [], "facts is not an object with data, rows"),
        ("roles", {"name": "age"}, "the role 'name' of a column is not known"),
        ("roles", {"groups": 5}, "roles.groups is not a text"),
        ("positive", "maybe", "none of the labels"),
        ("positive", ["yes"], "positive is not a label"),
        ("calibration", {"kind": "Magic"}, "'Magic'"),
        ("calibration", {"kind": "Isotonic", "scores": [1, 0], "probabilities": [0, 1]}, "must not decrease"),
        ("calibration", {"kind": "Isotonic", "scores": [0, 1], "probabilities": [0, 2]}, "between 0 and 1"),
        ("calibration", {"kind": "Isotonic", "scores": [0, 1]}, "calibration.probabilities is missing"),
        ("calibration", 5, "calibration is of the kind 5, which is not known"),
        ("schema", {}, "schema.numeric is missing"),
        ("schema", [], "schema is not an object with numeric"),
        ("schema.fill", [1.0], "1 fill values for 2"),
        ("schema.fill", ["1e999", 0.1], r"schema.fill\[0\] is not a finite number"),
        ("schema.target_type", "date", "'date'"),
        ("schema.labels", [["no"], "yes"], r"schema.labels\[0\] is not a label"),
        ("schema.labels", [True, "yes"], "is not of type string"),
        ("schema.identifiers", None, "schema.identifiers is not a list of texts"),
        ("parts", {"map": "os.system"}, "parts.effects is missing"),
        ("parts.effects", [None], "straight lines of 2 columns do not fit 1 columns"),
        ("parts.effects", [{"kind": "os"}], r"parts.effects\[0\] is of the kind 'os', which is not known"),
        ("positive", "yes; or no", r"'yes; or no' is none of the labels \('no', 'yes'\)\): train"),
    ],
)
def test_contradictions_are_named(tmp_path, where, value, words):
    path = tmp_path / "m.json"
    save_model(make_model(), path)
    load_model(path)
    changed(path, where, value)
    refused(path, words)


def test_a_width_beyond_the_score_is_refused_before_names_are_made(tmp_path):
    path = tmp_path / "m.json"
    save_model(make_model(), path)
    for field, value in (("width", 10**15), ("numeric", []), ("fill", None)):
        changed(path, f"schema.{field}", value)
    refused(path, "the score takes")


@pytest.mark.parametrize(
    "note",
    [
        {"template": "{a.__class__}", "fields": {"a": 1}},
        {"parts": [5]},
        {"parts": [{"option": "drop", "value": None}]},
        {"parts": [{"option": 5, "value": None, "does": ""}]},
        {"parts": [{"option": "drop", "value": {"a": 1}, "does": ""}]},
        {"parts": [{"option": "drop", "value": [["a"]], "does": ""}]},
        {"code": "leak", "severity": "grave", "sentence": "", "fixes": [], "numbers": {}, "columns": []},
        {"code": "leak", "severity": "severe", "sentence": 5, "fixes": [], "numbers": {}, "columns": []},
        {"code": "leak", "severity": "severe", "sentence": "", "fixes": [], "numbers": {"a": "b"}, "columns": []},
        {"code": "leak", "severity": "severe", "sentence": "", "fixes": [], "numbers": {}, "columns": [5]},
        {"code": "leak", "severity": "severe", "sentence": ""},
    ],
)
def test_notes_that_are_not_plain_are_refused(tmp_path, note):
    path = tmp_path / "m.json"
    save_model(make_model(), path)
    changed(path, "facts.warnings", [note])
    refused(path, r"facts.warnings\[0\] does not fit")


def test_notes_come_back(tmp_path):
    path = tmp_path / "m.json"
    note = Note("'größe': {5000} rows, use ", Fix("drop", ["größe"]))
    save_model(make_model(facts={"warnings": (note, "{ is not a field", "naïve")}), path)
    found = load_model(path).training["warnings"]
    assert found == [note, "{ is not a field", "naïve"]
    assert found[0].parts == note.parts


def test_newer_and_edited_files_are_refused(tmp_path):
    path = tmp_path / "m.json"
    save_model(make_model(), path)
    whole = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**whole, "version": 7}))
    refused(path, "newer version of vrspam")
    for version in (0, None, "1", True):
        path.write_text(json.dumps({**whole, "version": version}))
        if version is not True:
            refused(path, "changed or damaged")
    whole["model"]["fields"]["parts"]["lines"]["coef"][0] = 0.2
    path.write_text(json.dumps(whole))
    refused(path, "changed or damaged")


# -- damage at random ---------------------------------------------------------------------------------------------

damage = st.lists(
    st.tuples(st.integers(0, 10**6), st.sampled_from(["flip", "cut", "insert", "drop"]), st.binary(max_size=6)),
    min_size=1,
    max_size=4,
)


def damaged(data: bytes, hits) -> bytes:
    for place, kind, extra in hits:
        at = place % (len(data) + 1)
        if kind == "flip":
            data = data[:at] + extra + data[at + len(extra) :]
        elif kind == "cut":
            data = data[:at]
        elif kind == "insert":
            data = data[:at] + extra + data[at:]
        else:
            data = data[:at] + data[at + place % 50 :]
    return data


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    frame = patients(rows=120)
    table = write(frame, folder / "patients.csv")
    save_model(train(table, "sick", features="additive"), folder / "m.json")
    return folder


@settings(max_examples=150, deadline=None)
@given(hits=damage)
def test_damaged_model_files_are_refused_or_unharmed(files, hits):
    whole = (files / "m.json").read_bytes()
    path = files / "damaged.json"
    path.write_bytes(damaged(whole, hits))
    try:
        found = load_model(path)
    except ModelFileError:
        refused(path, "damaged.json")
    else:
        assert bits(found) == bits(load_model(files / "m.json"))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(hits=damage, skip=st.booleans())
@example(hits=[(3, "insert", b'"')], skip=False)
@example(hits=[(700, "insert", b"\x00\xff")], skip=False)
@example(hits=[(700, "insert", b"\r\r\n")], skip=True)
@example(hits=[(0, "cut", b"")], skip=False)
@example(hits=[(60, "cut", b"")], skip=True)
@example(hits=[(8, "insert", b"\r")], skip=False)
@example(hits=[(3495, "insert", b"\x1c")], skip=False)
def test_damaged_tables_end_in_a_result_or_a_sentence(files, capsys, hits, skip):
    path = files / "damaged.csv"
    path.write_bytes(damaged((files / "patients.csv").read_bytes(), hits))
    options = ["--skip-errors"] if skip else []
    code = main(["evaluate", str(files / "m.json"), str(path), "--json", *options])
    captured = capsys.readouterr()
    assert code in (0, 1)
    assert "Traceback" not in captured.err
    assert "unexpected" not in captured.err
    if code == 0:
        assert 0.0 <= json.loads(captured.out)["auc"] <= 1.0
    else:
        lines = [line for line in captured.err.splitlines() if not line.startswith("warning: ")]
        assert len(lines) == 1
        assert lines[0].startswith("vrspam: ")


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(hits=damage)
@example(hits=[(2000, "insert", b"x")])
def test_training_on_damaged_tables_ends_in_a_model_or_a_sentence(files, capsys, hits):
    path, out = files / "damaged.csv", files / "trained.json"
    out.unlink(missing_ok=True)
    path.write_bytes(damaged((files / "patients.csv").read_bytes(), hits))
    code = main(["train", str(path), "--target", "sick", "--model", str(out)])
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    assert "unexpected" not in captured.err
    assert code == (0 if out.exists() else 1)
    if code == 0:
        load_model(out)


def test_a_full_disk_leaves_no_export(files, tmp_path, monkeypatch):
    """Neither the files that were written before it was full, nor parts of them."""
    model, written = load_model(files / "m.json"), []
    write = Path.write_bytes

    def fill_up(path, content):
        written.append(path)
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, content)

    monkeypatch.setattr(Path, "write_bytes", fill_up)
    (tmp_path / "old.py").write_text("old")
    with pytest.raises(OSError, match="No space left"):
        export_model(model, python=tmp_path / "old.py", sql=tmp_path / "new.sql")
    assert [path.name for path in tmp_path.iterdir()] == ["old.py"]
    assert (tmp_path / "old.py").read_text() == "old"


def test_two_forms_need_two_files(tmp_path):
    with pytest.raises(ValueError, match=r"m\.txt is named for two forms: give each a file of its own"):
        export_model(make_model(), python=tmp_path / "m.txt", sql=str(tmp_path / "m.txt"))
    assert list(tmp_path.iterdir()) == []
