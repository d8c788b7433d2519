"""Model files with a right checksum and one wrong field each: a model that works, or one sentence."""

from __future__ import annotations

import base64
import copy
import json
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import pytest

from vrspam.cli import main
from vrspam.features import KernelFeatures, TreeFeatures
from vrspam.model.file import checksum
from vrspam.tool import ModelFileError, load_model, save_model
from vrspam.tool.training import train

ROWS = Path(__file__).parents[1] / "fixtures" / "version_0_1" / "rows.csv"
DELETED = object()
GARBAGE = [DELETED, None, "x", -1, 10**400, 1e308, True, [], {}, [[1.0], ["x", {}]], {"a": {"b": [None]}}]
FEW: list[Any] = [DELETED, None, "x", -1, {"a": {"b": [None]}}]  # for the many fields of maps
PARTS = {  # what the other files of the list do not have
    "additive": ("parts", "shapes"),
    "kernel": ("parts", "shared"),
    "trees": ("parts", "shared"),
    "isotonic": ("calibration",),
}
MAPS = {
    "linear": "linear",
    "isotonic": "linear",
    "additive": "additive",
    "kernel": KernelFeatures(n_landmarks=6, max_additive=6),
    "trees": TreeFeatures(n_trees=3, max_depth=2, n_landmarks=6),
}


def places(value, path=()):
    """The way to every field: all keys of dicts, and the first entry of each list."""
    entries = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for key, part in entries:
        yield (*path, key)
        yield from places(part, (*path, key))


def part_of(place):
    """The field of the model, or what stands beside the fields, that a place is in."""
    return place[1] if place[0] == "fields" and len(place) > 1 else place[0]


def forge(whole, path, value):
    forged = copy.deepcopy(whole)
    *way, last = path
    part = forged["model"]
    for key in way:
        part = part[key]
    if value is DELETED:
        del part[last]
    else:
        part[last] = value
    forged["checksum"] = checksum(forged["model"])
    return json.dumps(forged)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forged")
    for name, kind in MAPS.items():
        model = train(
            ROWS,
            "sick",
            features=kind,
            n_splits=3,
            include=["patient"],
            calibration="isotonic" if name == "isotonic" else "sigmoid",
        )
        save_model(model, folder / f"{name}.json")
    return folder


def use(path, place, capsys):
    """What is wrong when commands show the forged field; an answer or one sentence is fine."""
    commands = [["explain", path, "--html", path.with_name("page.html")]]
    part = part_of(place)
    if part != "facts":
        commands += [["explain", path, "--json"]]
    if part in ("parts", "shared"):
        commands = [["evaluate", path, ROWS]]
    elif part not in ("facts", "shapes"):
        commands += [["evaluate", path, ROWS]]
    for command in commands:
        code = main([str(word) for word in command])
        shown = capsys.readouterr().err
        if "unexpected" in shown or (code != 0 and shown.count("vrspam: ") != 1):
            return f"{command[0]}: {shown}"
    return None


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")  # 1e308 is a number
@pytest.mark.parametrize("name", MAPS)
def test_any_wrong_field_is_one_sentence_or_harmless(folder, name, capsys):
    whole = json.loads((folder / f"{name}.json").read_text("utf-8"))
    path, refused, wrong = folder / "forged.json", 0, []
    parts = PARTS.get(name)
    for place in places(whole["model"]):
        garbage = GARBAGE if parts is None else FEW if part_of(place) in parts else []
        for value in garbage:
            path.write_text(forge(whole, place, value))
            problem: Any = None
            try:
                load_model(path)
            except ModelFileError as error:
                refused += 1
                problem = str(error) if "\n" in str(error) or len(str(error)) > 500 else None
            except Exception as error:
                problem = repr(error)
            else:
                problem = use(path, place, capsys)
            if problem:
                wrong.append((place, str(value)[:30], problem))
    assert refused > 5
    assert wrong == []


def packed(raw, shape, kind="<f8", way="zlib"):
    data = zlib.compress(raw, 9)
    return {"type": kind, "shape": shape, "packed": way, "data": base64.b64encode(data).decode()}


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (packed(bytes(1 << 26), [4]), "another size"),  # unpacks to far more than it says
        (packed(bytes(1 << 26), [4], way="lzma"), "unknown way"),
        (packed(bytes(8), [1 << 39]), "far larger than the file"),
        (packed(bytes(8), [1 << 13, 1 << 13, 1 << 13]), "far larger than the file"),
        ({**packed(bytes(8), [1]), "values": packed(bytes(8), [1 << 35])}, "far larger than the file"),
        ({**packed(bytes(8), [8], "|u1"), "values": {**packed(bytes(8), [1]), "values": {}}}, "damaged"),
        ({**packed(b"\5" * 8, [8], "|u1"), "values": packed(bytes(8), [1])}, "damaged"),
        (packed(bytes(8), [2]), "another size"),
        (packed(bytes(8), [-1]), "type or shape"),
        (packed(bytes(8), [1], "|O8"), "type or shape"),
        ({**packed(bytes(8), [1]), "data": "no Base64!"}, "damaged"),
        ({**packed(bytes(8), [1]), "data": "AAAA"}, "damaged"),
        ({**packed(bytes(8), [1]), "data": 5}, "no data"),
    ],
)
def test_arrays_that_lie_about_their_size_are_refused_before_they_are_unpacked(folder, array, words):
    whole = json.loads((folder / "kernel.json").read_text("utf-8"))
    (folder / "bomb.json").write_text(forge(whole, ("arrays", 0), array))
    tracemalloc.start()
    with pytest.raises(ModelFileError, match=words):
        load_model(folder / "bomb.json")
    assert tracemalloc.get_traced_memory()[1] < 1 << 24
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("key", "value"),
    [("name", "x"), ("importance", -1), ("importance", 1e308), ("missing", None), ("grid", ["a", "b"]), (None, [])],
)
def test_curves_that_are_read_can_be_drawn(folder, key, value, capsys):
    whole = json.loads((folder / "additive.json").read_text("utf-8"))
    place: tuple[Any, ...] = ("fields", "shapes", "columns")
    if key is not None:
        place = (*place, 0, key)
    (folder / "curves.json").write_text(forge(whole, place, value))
    main(["explain", str(folder / "curves.json"), "--picture", str(folder / "curves.png")])
    assert "unexpected" not in capsys.readouterr().err


def test_an_identifier_that_is_there_twice_is_refused(folder):
    """`predict` would copy it twice."""
    forged = folder / "twice.json"
    save_model(train(ROWS, "sick", features="linear", n_splits=3), forged)
    whole = json.loads(forged.read_text("utf-8"))
    place = ("fields", "schema", "identifiers")
    assert whole["model"]["fields"]["schema"]["identifiers"] == ["patient"]
    forged.write_text(forge(whole, place, ["patient", "patient"]), "utf-8")
    with pytest.raises(ModelFileError, match="identifiers must be a list of different texts"):
        load_model(forged)
