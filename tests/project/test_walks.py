"""How much of the package one call passes through, and what docs/architecture.md says of it.

A bound that is exceeded is a question: does the walk need the new module, or is it a second form of something?
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import walks

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "architecture.md").read_text("utf-8")
BOUNDS = {  # functions, modules
    "AUCClassifier.fit": (95, 18),
    "AUCClassifierCV('auto').fit(frame)": (380, 50),
    "VRSPAMClassifier.fit": (105, 20),
    "vrspam report": (610, 75),
    "vrspam predict": (145, 25),
}
ELSEWHERE = {"solvers/products.py"}  # the walk of tables with fewer rows than features


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walks")
    return {name: walks.passed(call) for name, call in walks.walks(folder).items()}, folder


@pytest.mark.parametrize("name", BOUNDS)
def test_a_walk_is_bounded(name, recorded):
    functions, modules = walks.count(recorded[0][name])
    assert (functions <= BOUNDS[name][0], modules <= BOUNDS[name][1]) == (True, True), (functions, modules)


def test_every_command_opens_its_table_once(recorded):
    assert set(walks.file_openings(recorded[1]).values()) == {1}


def test_modules_and_functions_stay_short():
    lengths = {path: path.read_text("utf-8").count("\n") for path in walks.modules() if path.name != "kernels.py"}
    assert max(lengths.values()) <= 700
    bodies = {name: size for path in lengths for name, size in walks.functions(path).items()}
    assert {name: size for name, size in bodies.items() if size > 60} == {}
    assert walks.depth_of_inheritance()[0] <= 3


def listed(section: str) -> set[str]:
    """The modules that the page lists line by line for a walk."""
    text = re.split(rf"^## `{section}`$", PAGE, flags=re.MULTILINE)[1].split("\n## ")[0]
    return set(re.findall(r"^ {4,}([\w/]+\.py) ", text, flags=re.MULTILINE))


@pytest.mark.parametrize("section", ["fit", "train", "export", "reproduce"])
def test_the_page_names_modules_that_are_there(section):
    known = {path.relative_to(walks.SOURCE).as_posix() for path in walks.modules()}
    names = {name for name in listed(section) if "/" in name}
    assert len(names) >= 5
    assert names <= known, names - known


def test_the_page_lists_what_fit_passes_through(recorded):
    modules = {path for path, _ in recorded[0]["AUCClassifierCV('auto').fit(frame)"]}
    assert listed("fit") - ELSEWHERE <= modules


def test_a_function_is_counted_once():
    from vrspam._utils.texts import shorten

    assert walks.passed(lambda: [shorten("a", 5) for _ in range(3)]) >= {("_utils/texts.py", "shorten")}
    assert walks.count({("a.py", "f"), ("a.py", "g"), ("b.py", "f")}) == (3, 2)
