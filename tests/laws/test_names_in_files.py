"""Any text can name a column, category or label: pictures are XML, pages parse, exports score or are refused.

For texts of any characters: control characters, halves of surrogate pairs, quotation marks, line ends, markup.
"""

from __future__ import annotations

import csv
import json
import re
import sqlite3
import warnings
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from laws_support import examples
from tool_data import make_facts

from vrspam.data import Schema
from vrspam.export import NotExportable, to_python, to_sql
from vrspam.features.parts import CategoryPart, CurvePart, Parts
from vrspam.model_selection.calibration import Sigmoid
from vrspam.plotting.style import save_figure
from vrspam.report.pages.model import explanation_page
from vrspam.tool import Model, ModelFileError, load_model, predict, save_model
from vrspam.tool.explanation import features_picture

HOSTILE = st.text(
    st.sampled_from("ab<>&\"'\\/-$\x00\x01\x08\x0b\x1b\x1f\x7f\x85\x9b\n\r\t\u2028\u202e\ud800\udce4\ufffe\uffff😀"),
    max_size=5,
)
TEXTS = st.one_of(HOSTILE, st.text(max_size=8)).filter(lambda text: text.strip() != "")
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def model_of(column, category, label):
    """A model of a number and a category, with these names."""
    schema = Schema(
        numeric=("a number",),
        categorical={column: (category, "another")},
        fill=(0.5,),
        target="the label",
        target_type="string",
        labels=("none", label),
        ranges={"a number": (0.0, 2.0)},
    )
    parts = Parts(
        (
            CurvePart(np.array([0.0, 1.0, 2.0]), np.array([-1.0, 0.5, 1.0])),
            CategoryPart({category: 0.5, "another": -0.25}),
        )
    )
    facts = make_facts(np.array([[0.0, 0.1], [0.4, 0.2]]), np.ones(2))
    return Model(schema, label, parts, 0.125, calibration=Sigmoid(1.0, 0.0), facts=facts)


class Strict(HTMLParser):
    """Collects the data that the script of a page needs."""

    def __init__(self):
        super().__init__()
        self.data, self.inside = "", False

    def handle_starttag(self, tag, attrs):
        self.inside = tag == "script" and ("type", "application/json") in attrs

    def handle_data(self, data):
        self.data += data if self.inside else ""


def exported(make):
    try:
        return make()
    except NotExportable as error:
        check_sentence(error)


def check_sentence(error):
    assert "\n" not in str(error)


@settings(max_examples=examples(12), suppress_health_check=list(HealthCheck))
@given(column=TEXTS, category=TEXTS, label=TEXTS)
@example(column="a\x01b", category="\x1b[31m", label="yes\x00")
@example(column="\ud800", category="x\udce4", label="\uffff")
@example(column="]]>--", category='"', label="line\nbreak")
def test_names_of_any_characters(tmp_path_factory, column, category, label):
    if column in ("a number", "the label") or category == "another" or label == "none":
        return
    folder, model = tmp_path_factory.mktemp("names"), model_of(column, category, label)
    if re.search("[\ud800-\udfff]", column + category + label):
        with pytest.raises(ModelFileError, match="half of a surrogate pair"):
            save_model(model, folder / "m.json")
    else:
        save_model(model, folder / "m.json")
        model = load_model(folder / "m.json")
        assert model.schema.columns == ("a number", column)
        assert model.positive == label
    rows = [{"a number": 0.5, column: category}, {"a number": 1.5, column: "another"}]
    expected = [0.125 - 0.25 + 0.5, 0.125 + 0.75 - 0.25]
    text = exported(lambda: to_python(model))
    assert text is not None
    namespace: dict = {}
    exec(compile(text.encode("utf-8"), "exported", "exec"), namespace)
    np.testing.assert_allclose([namespace["score"](row) for row in rows], expected, rtol=1e-12)
    assert namespace["label"](rows[1]) == label
    check_sql(model, column, rows, expected)
    check_onnx(model, column, rows, expected)
    check_pictures(model, folder)


def check_sql(model, column, rows, expected):
    expression = exported(lambda: to_sql(model))
    if expression is None:
        return
    expression.encode("utf-8")
    with sqlite3.connect(":memory:") as database:
        names = '"a number", "' + column.replace('"', '""') + '"'
        database.execute(f"CREATE TABLE rows ({names})")
        database.executemany("INSERT INTO rows VALUES (?, ?)", [tuple(row.values()) for row in rows])
        found = [score for (score,) in database.execute(f"SELECT ({expression}) FROM rows")]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def check_onnx(model, column, rows, expected):
    onnxruntime = pytest.importorskip("onnxruntime")
    from vrspam.export import to_onnx

    graph = exported(lambda: to_onnx(model, dtype="float64"))
    if graph is None:
        return
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    taken = [one.name for one in session.get_inputs()]
    values = np.array([[row["a number"]] for row in rows]), np.array([[row[column]] for row in rows], dtype=object)
    found = dict(
        zip(
            [one.name for one in session.get_outputs()],
            session.run(None, dict(zip(taken, values, strict=True))),
            strict=True,
        )
    )
    if all("\0" not in str(one[0]) for one in values[1]):  # strings of onnxruntime end at a NUL
        np.testing.assert_allclose(found["score"], expected, rtol=1e-12)


def check_pictures(model, folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters that the font lacks
        save_figure(features_picture(model), folder / "picture.svg")
    ET.parse(folder / "picture.svg")
    page = explanation_page(model, model_name="m\x01\udcff").write(folder / "page.html").read_text("utf-8")
    assert not FORBIDDEN.search(page)
    parser = Strict()
    parser.feed(page)
    json.loads(parser.data or "null")
    for drawing in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ET.fromstring(re.sub(r" data-numbers(?==|\b)", "", drawing))


@settings(max_examples=examples(20), suppress_health_check=list(HealthCheck))
@given(column=TEXTS, category=TEXTS)
@example(column="=1+1", category="a\rb")
def test_predictions_hold_any_copied_text(tmp_path_factory, column, category):
    """What `predict` writes is read back complete by a public reader."""
    pa = pytest.importorskip("pyarrow")
    try:
        column.encode(), category.encode()
    except UnicodeEncodeError:
        return
    if column in ("a number", "the label") or category == "another":
        return
    folder = tmp_path_factory.mktemp("predicted")
    table = pa.table({"a number": [0.5, 1.5, None], column: [category, "another", None]})
    predict(model_of(column, category, "yes"), table, folder / "scores.csv", ids=[column])
    with open(folder / "scores.csv", encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file))
    assert len(lines) == 4
    assert {len(line) for line in lines} == {len(lines[0])}
    assert [line[0] for line in lines] == [column, category, "another", ""]
