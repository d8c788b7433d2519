"""Compiled code on disk: processes that compile at the same time never run each other's code."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numba import typeof
from numba.core.caching import IndexDataCacheFile
from other_toys import PlainNet

from vrspam import kernels
from vrspam.kernels import compiling
from vrspam.objective import MCP, Bounded, ElasticNet

FOLDER = Path(kernels.__file__).parent


def save_while_another_saves(kind, folder):
    """Two processes that found no index store code for other types, one between two steps of the other's."""
    first, second = (kind(str(folder), "kernels.f-1.py311", ("stamp", 1)) for _ in range(2))
    save_data = first._save_data
    second._load_index = dict

    def be_late(name, data):
        second.save("float32", "code for float32")
        save_data(name, data)

    first._save_data = be_late
    first.save("float64", "code for float64")
    reader = kind(str(folder), "kernels.f-1.py311", ("stamp", 1))
    return reader.load("float32"), reader.load("float64")


def read_before_the_code_is_written(kind, folder):
    """Code of an earlier source lies there; a second process reads when the first has written the index alone."""
    kind(str(folder), "kernels.f-1.py311", ("stamp", 1)).save("float32", "old code for float32")
    writer, reader = (kind(str(folder), "kernels.f-1.py311", ("stamp", 2)) for _ in range(2))
    save_data, seen = writer._save_data, []

    def read_first(name, data):
        seen.append(reader.load("float64"))
        save_data(name, data)

    writer._save_data = read_first
    writer.save("float64", "code for float64")
    return [*seen, reader.load("float64")]


def test_code_of_other_types_is_never_taken(tmp_path):
    for folder in ("ours", "ours too"):
        (tmp_path / folder).mkdir()
    assert save_while_another_saves(compiling._CacheFile, tmp_path / "ours") in [
        ("code for float32", "code for float64"),
        ("code for float32", None),  # one is lost from the index: compiled once more
        (None, "code for float64"),
    ]
    assert read_before_the_code_is_written(compiling._CacheFile, tmp_path / "ours too") == [None, "code for float64"]


@pytest.mark.parametrize("race", [save_while_another_saves, read_before_the_code_is_written])
def test_what_numba_does_itself(race, tmp_path):
    # If this fails, Numba has mended it: `_CacheFile` can go.
    wrong = {save_while_another_saves: "code for float64", read_before_the_code_is_written: "old code for float32"}
    assert race(IndexDataCacheFile, tmp_path)[0] == wrong[race]


def test_a_penalty_inside_of_bounds_is_that_of_its_own_file():
    """Code for a penalty defined elsewhere is not kept on disk, and one without a compiled prox is refused."""
    ends = np.full(2, -1.0), np.full(2, 1.0)
    assert compiling._is_foreign(typeof(PlainNet(0.1, 0.2)))
    assert compiling._is_foreign(typeof(Bounded(PlainNet(0.1, 0.2), *ends)))
    for penalty in (ElasticNet(0.1, 0.2), MCP(0.0, 0.1, 3.0, np.ones(2))):
        assert not compiling._is_foreign(typeof(penalty))
        assert not compiling._is_foreign(typeof(Bounded(penalty, *ends)))
    assert not compiling._is_foreign(typeof(np.ones(2)))

    class Unregistered(ElasticNet):
        pass

    assert kernels.has_prox(Bounded(PlainNet(0.1, 0.2), *ends))
    assert not kernels.has_prox(Bounded(Unregistered(0.1, 0.2), *ends))


def test_every_kernel_uses_it():
    files = [import_module(f"vrspam.kernels.{path.stem}") for path in FOLDER.glob("[!_]*.py")]
    loops = [loop for file in files for loop in vars(file).values()]
    cached = [loop for loop in loops if isinstance(getattr(loop, "_cache", None), compiling._Cache)]
    assert len(cached) > 20
    assert all(type(loop._cache._cache_file) is compiling._CacheFile for loop in cached)


PROGRAM = """
import numpy as np
from vrspam.kernels.linear import _prox_violation
from vrspam.objective import ElasticNet

moved = _prox_violation(ElasticNet(1.0, 0.0), np.zeros(1), -np.ones(1), np.ones(1))  # half the square of the prox of 1
print((2.0 * moved) ** 0.5, sum(_prox_violation.stats.cache_hits.values()))
"""


def test_a_loop_follows_an_edit_in_another_file_of_the_folder(tmp_path):
    """A loop of `linear` inlines the prox of `prox`: Numba alone would go on running the old one."""
    package = tmp_path / "vrspam"
    shutil.copytree(FOLDER.parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run():
        command = [sys.executable, "-c", PROGRAM]
        shown = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
        return shown.stdout.split()

    assert [run(), run()] == [["0.5", "0"], ["0.5", "1"]]
    prox = package / "kernels" / "prox.py"
    before = prox.read_text("utf-8")
    prox.write_text(before.replace("(1.0 + step * penalty.l2)", "(3.0 + step * penalty.l2)"), "utf-8")
    assert prox.read_text("utf-8") != before
    assert [run(), run()] == [["0.25", "0"], ["0.25", "1"]]


def test_an_index_that_names_a_class_that_is_gone_is_written_anew(tmp_path, monkeypatch):
    module = ModuleType("penalty_that_goes")
    exec("class Kind: pass", module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    cache = compiling._CacheFile(str(tmp_path), "kernels.f-1.py311", "stamp")
    cache.save(("float64", module.Kind), "its code")
    monkeypatch.delitem(sys.modules, module.__name__)
    assert cache.load(("float64",)) is None
    cache.save(("float64",), "code without it")
    assert cache.load(("float64",)) == "code without it"
