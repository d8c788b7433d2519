"""An option is declared once: keyword, option, help and check are the same in Python and on the command line."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from dataclasses import fields
from typing import Any, get_type_hints

import pytest
import typer

from vrspam._utils.findings import VrspamError
from vrspam.cli import main
from vrspam.cli.app import app
from vrspam.objective import LOSSES
from vrspam.penalties.family import PENALTIES
from vrspam.tool import TrainPlan, make_report, rows, train
from vrspam.tool.options import PANELS
from vrspam.tool.plan import (
    OPTIONS,
    CheckOptions,
    ReportOptions,
    ReportPlan,
    RowsOptions,
    TrainOptions,
    options_of,
)


def command(name: str) -> Any:
    group: Any = typer.main.get_command(app)
    return group.resolve_command(None, [name])[1]


def test_the_plan_is_light():
    heavy = ("numpy", "pyarrow", "typer", "rich", "numba", "vrspam.tool.training")
    program = f"import sys, vrspam.tool.plan; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(("function", "plan"), [(train, TrainPlan), (make_report, ReportPlan)])
def test_signatures_and_docstrings_name_every_option(function, plan):
    parameters = inspect.signature(function).parameters
    assert set(parameters) == {"path", "plan", *(one.name for one in fields(plan))}
    assert [name for name, one in parameters.items() if one.kind is not one.KEYWORD_ONLY] == [
        *("path", "target", "positive"),
    ]
    for one in fields(plan):
        assert parameters[one.name].default == one.default
        assert f"\n    {one.name} : " in function.__doc__
    assert "{" not in re.sub(r'\{("[\w-]+"(, )?)+\}', "", function.__doc__.split("Examples")[0])


@pytest.mark.parametrize(("keywords", "plan"), [(TrainOptions, TrainPlan), (ReportOptions, ReportPlan)])
def test_keywords_that_editors_complete_are_the_fields_of_the_plan(keywords, plan):
    types = {one.name: one.type for one in fields(plan) if one.name not in ("target", "positive")}
    assert get_type_hints(keywords) == types
    for fewer in (CheckOptions, RowsOptions):
        assert get_type_hints(fewer).items() <= types.items()


def test_sentences_about_options_name_none_as_it_is_typed():
    """They serve Python, the command line and the docs."""
    for option in OPTIONS.values():
        for sentence in (option.help, option.details):
            assert not re.search(r"--|\{", sentence)


@pytest.mark.parametrize("name", ["train", "report"])
def test_options_of_the_commands_are_those_of_the_plan(name):
    params = {param.name: param for param in command(name).params}
    for option in options_of(name):
        assert OPTIONS[option].flag in params[option].opts
        assert params[option].rich_help_panel == OPTIONS[option].panel in PANELS
    others = set(params) - set(options_of(name))
    assert others <= {"data", "model", "html", "markdown", "as_json", "help", "context"}


def test_choices_are_those_of_the_estimators():
    assert inspect.get_annotations(TrainPlan)["loss"].__args__ == tuple(LOSSES)
    assert inspect.get_annotations(TrainPlan)["penalty"].__args__ == tuple(PENALTIES)


REFUSED: list[tuple[dict[str, Any], list[str], str]] = [
    ({"n_splits": 1}, ["--folds", "1"], "{} must be at least 2"),
    ({"max_categories": 1}, ["--max-categories", "1"], "{} must be at least 2"),
    ({"random_state": -1}, ["--seed", "-1"], "{} must be at least 0"),
    ({"n_jobs": 0}, ["--jobs", "0"], "{} must be at least 1, or -1 for one on each core"),
    ({"max_fpr": 1.5}, ["--max-fpr", "1.5"], "{} must be above 0 and at most 1"),
    ({"loss": "hinge"}, ["--loss", "hinge"], "{} is not known; give squared or squared_hinge"),
    ({"penalty": "lasso"}, ["--penalty", "lasso"], "{} is not known; give elasticnet, mcp or scad"),
    ({"dates": "keep"}, ["--dates", "keep"], "{} is not known; give features or drop"),
    ({"calibration": "beta"}, ["--calibration", "beta"], "{} is not known; give sigmoid, isotonic or none"),
    (
        {"features": "magic"},
        ["--features", "magic"],
        "{} is not known; give linear, additive, kernel, trees, forest, boosted or auto",
    ),
    ({"l1": "some"}, ["--l1", "some"], "{} is neither 'auto' nor numbers"),
    (
        {"ordered": {"size": ("small",)}},
        ["--ordered", "size=small"],
        "{} must name a column and its categories from low to high, as in size=small,medium,large",
    ),
    (
        {"ordered": {"size": ("a", "a")}},
        ["--ordered", "size=a,a"],
        "{} must name a column and its categories from low to high, as in size=small,medium,large",
    ),
    ({"delimiter": ";;"}, ["--delimiter", ";;"], "{} is neither one ASCII character nor tab"),
    ({"holdout": 1.5}, ["--holdout", "1.5"], "{} must be between 0 and 1"),
    ({"rows": -1}, ["--rows", "-1"], "{} must be at least 0"),
    ({"cost_ratio": 0.0}, ["--cost-ratio", "0.0"], "{} must be a positive number"),
]


@pytest.mark.parametrize(("keywords", "typed", "sentence"), REFUSED, ids=[next(iter(one[0])) for one in REFUSED])
def test_the_same_sentence_in_python_and_on_the_command_line(capsys, keywords, typed, sentence):
    ((name, value),) = keywords.items()
    functions = (train, make_report) if name in TrainPlan.__dataclass_fields__ else (make_report,)
    for function in functions:
        with pytest.raises(VrspamError) as refused:
            function("none.csv", "sick", **keywords)
        assert str(refused.value) == sentence.format(f"{name}={value!r}")
    for word in ("train", "report"):
        if name not in options_of(word):
            continue
        html = ["--html", "page.html"] if word == "train" else []
        assert main([word, "none.csv", "--target", "sick", *html, *typed]) == 2
        shown = sentence.format(re.sub("[;]{2}", "';;'", " ".join(typed)))
        assert capsys.readouterr().err == f"vrspam: {shown}  (see vrspam {word} --help)\n"


def test_a_text_is_not_taken_for_names():
    with pytest.raises(VrspamError, match="drop='age' must be names of columns, not one text"):
        train("none.csv", "sick", drop="age")


def test_one_number_is_not_taken_for_a_sequence():
    with pytest.raises(VrspamError, match=r"l1=0\.1 must be 'auto' or a sequence of numbers"):
        train("none.csv", "sick", **dict[str, Any](l1=0.1))


def test_rows_says_which_models_it_has(capsys):
    assert main(["rows", "--help"]) == 0
    page = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "additive: smooth curves; linear: straight lines. By default additive." in page
    assert "boosted" not in page
    assert "--event" not in page  # a learning curve is one of two classes
    documented = rows.__doc__ or ""
    assert 'features : {"additive", "linear"}, optional\n        additive: smooth curves; linear' in documented
    assert "event" not in inspect.signature(rows).parameters
    with pytest.raises(VrspamError, match="a learning curve cannot be drawn with event=: leave it out"):
        rows("none.csv", "months", **dict[str, Any](event="died"))


def test_options_by_name_take_the_place_of_those_of_a_plan():
    plan = TrainPlan("sick", features="linear", n_splits=3)
    found = ReportPlan.of("ill", None, plan, {"n_splits": 4, "rows": 2})
    assert (found.target, found.features, found.n_splits, found.rows) == ("ill", "linear", 4, 2)
    with pytest.raises(TypeError, match="colour"):
        train("none.csv", "sick", **dict[str, Any](colour="red"))


@pytest.mark.parametrize(("width", "least"), [(60, 17), (80, 30), (120, 65)])
@pytest.mark.parametrize("name", ["report", "train", "evaluate", "compare", "predict", "explain", "export", "theory"])
def test_texts_of_the_help_have_room(capsys, monkeypatch, name, width, least):
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", width)
    assert main([name, "--help"]) == 0
    page = capsys.readouterr().out
    assert "…" not in page or width < 80
    assert max(map(len, page.splitlines())) <= width
    panels = [panel.splitlines() for panel in re.findall(r"╭─ (.*?)╰", page, re.S)]
    assert len(panels) >= 2
    for title, *lines in panels:
        goes_on = [line.strip("│") for line in lines if line[1:].lstrip("│ *")[:2] != "--" and line.strip("│ ")]
        texts = [line for line in goes_on if not line[:8].strip()]
        if texts:
            assert min(len(line) - len(line.lstrip()) for line in texts) <= width - least, title


def test_every_option_has_a_sentence():
    assert all(one.help.endswith(".") for one in OPTIONS.values())
