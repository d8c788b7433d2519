"""Parameters of the library as options of the command line, in errors, warnings, notes and pages."""

from __future__ import annotations

import html
import json
import re
import shlex
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from tool_data import patients, with_facts, write

from vrspam._utils.findings import Fix, Note, VrspamError, note_from_plain, text_of
from vrspam._utils.warnings import AllCoefficientsZero, CategoriesGrouped, GridEdge
from vrspam.cli import errors, main, options
from vrspam.cli.app import app
from vrspam.cli.options import read_options
from vrspam.cli.output import warnings_as_lines
from vrspam.cli.typed import OTHER_OPTIONS, SPECIAL_VALUES
from vrspam.cli.typed import typed as as_typed
from vrspam.data import readers
from vrspam.tool import load_model, save_model
from vrspam.tool.notes import note_of
from vrspam.tool.plan import OPTIONS
from vrspam.tool.training import train
from vrspam.tool.typed_values import read_names


def test_names_from_a_file_do_not_steer_the_terminal(tmp_path, capsys):
    """Colours, a new line, a C1 control and a change of direction in names and values are shown escaped."""
    red, town = "\x1b[31mage", "to\x9bwn\u202e\r"
    frame = patients(rows=200).rename(columns={"age": red, "town": town, "größe": "a\nb"})
    frame.loc[frame[town] == "Graz", town] = "\x1b]0;title\x07"
    data, model = write(frame, tmp_path / "patients.csv"), tmp_path / "m.json"
    arguments = [
        ["train", str(data), "--target", "sick", "--model", str(model), "--features", "linear"],
        ["explain", str(model)],
        ["explain", str(model), "--json"],
        ["train", str(data), "--target", "absent"],
        ["predict", str(model), str(data), "--out", str(tmp_path / "scores.csv"), "--id", red + "?"],
    ]
    for command, code in zip(arguments, (0, 0, 0, 1, 1), strict=True):
        assert main(command) == code
        captured = capsys.readouterr()
        for text in (captured.out, captured.err):
            assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
        assert "[31mage" in captured.out + captured.err
        if "--json" in command:
            found = json.loads(captured.out)
            assert {red, town, "a\nb"} <= set(found["columns"])
        elif code == 0:
            assert "\\x1b[31mage" in captured.out
            assert "a\\nb" in captured.out


@pytest.mark.parametrize(
    ("parameter", "typed"),
    [
        (Fix("target"), "--target"),
        (Fix("max_categories", 2000), "--max-categories 2000"),
        (Fix("l1", 0.5), "--l1 0.5"),
        (Fix("positive", "very ill"), "--positive 'very ill'"),
        (Fix("positive", "it's"), """--positive 'it'"'"'s'"""),
        (Fix("drop", ["day"]), "--drop day"),
        (Fix("drop", ["day", "night"]), "--drop day,night"),
        (Fix("drop", ("paid, EUR",)), """--drop '"paid, EUR"'"""),
        (Fix("drop", ['height "cm"']), '--drop \'"height ""cm"""\''),
        (Fix("include", [" day"]), """--include '" day"'"""),
        (Fix("ids", ["first name"]), "--id 'first name'"),
        (Fix("ordered", {"size": ("small", "a, b")}), """--ordered 'size=small,"a, b"'"""),
        (Fix("ordered", {"a": ("b", "c"), "d": ("e",)}), "--ordered a=b,c --ordered d=e"),
        (Fix("n_splits", 3), "--folds 3"),
        (Fix("streaming", True), "--streaming"),
        (Fix("streaming", False), "no --streaming"),
        (Fix("zero_based"), "--zero-based"),
        (Fix("zero_based", True), "--zero-based"),
        (Fix("zero_based", False), "--one-based"),
        (Fix("on_error", "skip"), "--skip-errors"),
        (Fix("delimiter", "\t"), "--delimiter tab"),
        (Fix("delimiter", ";"), "--delimiter ';'"),
        (Fix("chunk_rows", 10), "chunk_rows=10"),  # not an option
        (Fix("on_error", "stop"), "on_error='stop'"),
    ],
)
def test_a_parameter_is_written_as_it_is_typed(parameter, typed):
    assert as_typed(parameter) == typed


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1), min_size=1))
def test_names_of_columns_come_back_from_the_shell(names):
    option, line = shlex.split(as_typed(Fix("drop", names)))
    assert option == "--drop"
    assert read_names(line) == tuple(names)


def test_every_option_of_the_table_is_one_of_the_commands():
    commands: Any = typer.main.get_command(app)
    for name in [*commands.commands]:
        commands.resolve_command(None, [name])
    there = {
        option
        for command in commands.commands.values()
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    written = {typed.split()[0] for typed in (*OTHER_OPTIONS.values(), *SPECIAL_VALUES.values())}
    declared_ones = {one.flag for one in OPTIONS.values() if one.panel is not None}
    assert written | declared_ones <= there


def test_errors_and_warnings_name_options(capsys, monkeypatch, tmp_path):
    def refuse(*args, **given):
        raise VrspamError("column 'a{b}' is odd; use ", Fix("drop", ["a{b}"]))

    monkeypatch.setattr("vrspam.tool.load_model", refuse)
    assert main(["predict", "m.json", "x.csv", "--out", str(tmp_path / "s.csv")]) == 1
    assert capsys.readouterr().err == "vrspam: column 'a{b}' is odd; use --drop 'a{b}'\n"
    with warnings_as_lines():
        warnings.warn(CategoriesGrouped("town", 9, 4), stacklevel=1)
        warnings.warn(CategoriesGrouped("town", 9, 4), stacklevel=1)  # from another line
        warnings.warn("l1= stays as it is in plain text", stacklevel=1)
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("warning: Column 'town' has 13 categories")
    assert first.endswith("or raise --max-categories to keep more.")
    assert second == "warning: l1= stays as it is in plain text"


def test_notes_of_a_model_file_name_options(tmp_path, capsys):
    path = write(patients(rows=100), tmp_path / "p.csv")
    model = train(path, "sick", features="linear", n_splits=2)
    about = Note("'day' knows the answer: ", Fix("drop", ["day, hour"]))
    noted = (note_of(about), "a plain text with drop=['x']")
    model = with_facts(model, warnings=noted)
    save_model(model, tmp_path / "m.json")
    loaded = load_model(tmp_path / "m.json")
    assert loaded.training["warnings"] == ["'day' knows the answer: drop=['day, hour']", "a plain text with drop=['x']"]
    assert text_of(loaded.training["warnings"][0], as_typed) == """'day' knows the answer: --drop '"day, hour"'"""
    assert main(["explain", str(tmp_path / "m.json"), "--html", str(tmp_path / "m.html")]) == 0
    page = html.unescape(re.sub("</?code>", "", (tmp_path / "m.html").read_text("utf-8")))
    assert """'day' knows the answer: --drop '"day, hour"'""" in page
    assert "a plain text with drop=['x']" in page
    again = tmp_path / "again.json"
    save_model(loaded, again)
    assert again.read_bytes() == (tmp_path / "m.json").read_bytes()


@pytest.mark.parametrize(
    ("noticed", "options"),
    [
        (Note("use ", Fix("l2", 0.5), ", not ", Fix("l1")), "use --l2 0.5, not --l1"),
        (CategoriesGrouped("town", 9, 4), "or raise --max-categories to keep more."),
        (GridEdge("l1", 0.5, "largest", lead=0.25, error=0.125), "try larger numbers with --l1"),
        (AllCoefficientsZero(0.5), "better than chance; try smaller numbers with --l1"),
        (AllCoefficientsZero(0.0), "the same mean in every feature (or no feature varies)."),
        (UserWarning("l1= in plain text"), "l1= in plain text"),
    ],
)
def test_a_note_goes_through_json(noticed, options):
    note = note_of(noticed)
    assert note_of(note) is note
    plain = json.loads(json.dumps(note.to_plain() if isinstance(note, Note) else note))
    back = note_from_plain(plain)
    assert back == note
    assert text_of(back, as_typed) == text_of(note, as_typed)
    assert text_of(back, as_typed).endswith(options)
    if "--" in options:
        assert "--" not in note


def test_every_format_that_can_be_read_is_an_option(monkeypatch):
    given = [{"format": name} for name in readers.READERS]
    assert [options.read_options(one) for one in given] == given
    with pytest.raises(errors.Misuse, match="--format mine is not known; give csv, "):
        options.read_options({"format": "mine"})
    monkeypatch.setitem(readers.READERS, "mine", readers.CSVReader)
    assert options.read_options({"format": "mine"}) == {"format": "mine"}


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["train", "x.csv", "--out", "m.json"], "'train' calls it --model"),
        (["train", "x.csv", "--label", "sick"], "'train' calls it --target"),
        (["predict", "m.json", "x.csv", "-o", "s.csv"], "'predict' calls it --out"),
        (["explain", "m.json", "--out", "s.html"], "'explain' calls it --html or --picture"),
        (["train", "x.csv", "--targte", "sick"], "--target"),
    ],
)
def test_an_option_of_another_name_is_told_its_own(capsys, arguments, meant):
    assert main(arguments) == 2
    words = capsys.readouterr().err
    assert words.count("\n") == 1
    assert re.search(rf"No such option:? '?{arguments[-2]}", words)  # versions of click word it differently
    assert meant in words


def test_identifiers_named_like_the_result_are_copied_under_another_name(tmp_path, capsys):
    """A column 'score' that training left out must not stand beside the score under the same name."""
    frame = patients(rows=200).rename(columns={"patient": "score"})
    data, model, out = write(frame, tmp_path / "patients.csv"), str(tmp_path / "m.json"), tmp_path / "s.csv"
    assert main(["train", str(data), "--target", "sick", "--model", model, "--features", "linear"]) == 0
    capsys.readouterr()
    assert main(["predict", model, str(data), "--out", str(out)]) == 0
    assert "'score' of" in (said := capsys.readouterr().err)
    assert "is copied as 'score (of the file)'" in said
    found = pd.read_csv(out)
    assert list(found) == ["score (of the file)", "score", "probability", "decision", "extrapolated"]
    assert found["score (of the file)"].tolist() == frame["score"].tolist()


REPEATED = [option for option in OPTIONS.values() if option.panel is not None and option.kind.repeats]


@pytest.mark.parametrize("option", REPEATED, ids=[option.name for option in REPEATED])
@given(st.data())
def test_an_option_of_names_may_be_given_again(option, data):
    texts = {
        "drop": ["a", "b,c", '"d, e"'],
        "ignore": ["leak", "drift,repeated-rows", "constant"],
        "monotone": ["a=1", "b=-1,c=0", "d=1"],
        "ordered": ["a=x,y", "b=u,v", "c=p,q"],
    }
    typed = data.draw(st.permutations(texts.get(option.name, texts["drop"])))
    cut = data.draw(st.integers(0, len(typed)))
    if option.kind.several:  # an entry an option: no commas between entries
        at_once = [option.kind.read(text) for text in typed]
        expected = {name: names for entry in at_once for name, names in entry.items()}
    else:
        expected = option.kind.read(",".join(typed))
        typed = [",".join(part) for part in (typed[:cut], typed[cut:]) if part]
    assert read_options({option.name: typed})[option.name] == expected


@pytest.mark.parametrize("texts", [["a=1", "a=-1"], ["a=1,b=1", "b=0"]])
def test_two_directions_of_one_column_are_refused(texts):
    with pytest.raises(errors.Misuse, match="is given twice, and not alike"):
        read_options({"monotone": texts})


def test_the_first_of_two_directions_is_obeyed_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    columns = rng.standard_normal((200, 2)).round(3)
    sick = columns.sum(axis=1) + rng.standard_normal(200) > 0.0
    lines = [f"{a},{b},{'yes' if positive else 'no'}" for (a, b), positive in zip(columns, sick, strict=True)]
    Path("table.csv").write_text("\n".join(["a,b,sick", *lines]), "utf-8")
    directions = ["--monotone", "a=-1", "--monotone", "b=1"]
    assert main(["train", "table.csv", "--target", "sick", "--features", "linear", "--folds", "3", *directions]) == 0
    assert load_model("model.json").training["monotone"] == {"a": -1, "b": 1}
