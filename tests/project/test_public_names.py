"""docs/public_names.md lists every public name, and nothing else; every name can be imported."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest
from public_rooms import FOR_EXTENSIONS, ROOMS, has_docstring, public_names, public_thing

from vrspam._utils.extras import MissingExtra
from vrspam._utils.findings import Finding

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "public_names.md").read_text("utf-8")


def tables(page: str) -> dict[str, dict[str, str]]:
    """For each room the names in its table, with "stable" or "experimental"."""
    parts = re.split(r"^## `([\w.]+)`.*$", page, flags=re.MULTILINE)
    rows = re.compile(r"^\| `(\w+)` \| .+ \| (\w+) \|$", re.MULTILINE)
    return {room: dict(rows.findall(text)) for room, text in zip(parts[1::2], parts[2::2], strict=True)}


def test_tables_are_read_as_written():
    page = "# Names\n\n## `a.b`: things\n\n| name | what | |\n|---|---|---|\n| `c` | a `thing` | stable |\n"
    assert tables(page) == {"a.b": {"c": "stable"}}


def test_the_page_has_every_room_once_and_no_other():
    assert list(tables(PAGE)) == ROOMS


@pytest.mark.parametrize("room", ROOMS)
def test_the_page_and_the_package_have_the_same_names(room):
    try:
        names = importlib.import_module(room).__all__
    except MissingExtra as missing:
        pytest.skip(str(missing))
    listed = tables(PAGE)[room]
    assert sorted(listed) == sorted(names)
    assert set(listed.values()) <= {"stable", "experimental"}
    if room in FOR_EXTENSIONS:
        assert set(listed.values()) == {"experimental"}


@pytest.mark.parametrize("name", public_names())
def test_a_public_name_can_be_imported(name):
    assert public_thing(name) is not None


OTHER_CONVENTIONS = ("vrspam.theory.", "vrspam.online.")  # formulas; river
NOT_SCIKIT_LEARN = {"seed": "random_state", "rng": "random_state", "jobs": "n_jobs", "sample_weights": "sample_weight"}


@pytest.mark.parametrize("name", [name for name in public_names() if not name.startswith(OTHER_CONVENTIONS)])
def test_parameters_follow_the_conventions(name):
    thing, (room, _, last) = public_thing(name), name.rpartition(".")
    record = hasattr(thing, "__dataclass_fields__") or hasattr(thing, "_fields") or thing is Finding
    if tables(PAGE)[room][last] != "stable" or not has_docstring(thing) or record:
        return
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return
    parameters = inspect.signature(thing).parameters.values()
    by_position = [one.name for one in parameters if one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    assert len(by_position) <= 3, by_position
    assert not {one.name for one in parameters} & set(NOT_SCIKIT_LEARN)


def test_the_tool_has_a_function_for_each_command():
    from vrspam import tool

    commands = ["train", "evaluate", "compare", "predict", "explain", "load_model", "save_model"]
    assert set(commands) <= set(tool.__all__)
    assert all(callable(getattr(tool, command)) for command in commands)
