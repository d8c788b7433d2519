"""Compiled code on disk: processes that compile at the same time never run each other's code."""

from __future__ import annotations

import numpy as np
import pytest
from numba import typeof
from numba.core.caching import IndexDataCacheFile
from other_toys import PlainNet

from vrspam import kernels
from vrspam.objective import MCP, Bounded, ElasticNet


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
    assert save_while_another_saves(kernels._CacheFile, tmp_path / "ours") in [
        ("code for float32", "code for float64"),
        ("code for float32", None),  # one is lost from the index: compiled once more
        (None, "code for float64"),
    ]
    assert read_before_the_code_is_written(kernels._CacheFile, tmp_path / "ours too") == [None, "code for float64"]


@pytest.mark.parametrize("race", [save_while_another_saves, read_before_the_code_is_written])
def test_what_numba_does_itself(race, tmp_path):
    # If this fails, Numba has mended it: `_CacheFile` can go.
    wrong = {save_while_another_saves: "code for float64", read_before_the_code_is_written: "old code for float32"}
    assert race(IndexDataCacheFile, tmp_path)[0] == wrong[race]


def test_a_penalty_inside_of_bounds_is_that_of_its_own_file():
    """Code for a penalty defined elsewhere is not kept on disk, and one without a compiled prox is refused."""
    ends = np.full(2, -1.0), np.full(2, 1.0)
    assert kernels._is_foreign(typeof(PlainNet(0.1, 0.2)))
    assert kernels._is_foreign(typeof(Bounded(PlainNet(0.1, 0.2), *ends)))
    for penalty in (ElasticNet(0.1, 0.2), MCP(0.0, 0.1, 3.0, np.ones(2))):
        assert not kernels._is_foreign(typeof(penalty))
        assert not kernels._is_foreign(typeof(Bounded(penalty, *ends)))
    assert not kernels._is_foreign(typeof(np.ones(2)))

    class Unregistered(ElasticNet):
        pass

    assert kernels.has_prox(Bounded(PlainNet(0.1, 0.2), *ends))
    assert not kernels.has_prox(Bounded(Unregistered(0.1, 0.2), *ends))


def test_every_kernel_uses_it():
    cached = [k for k in vars(kernels).values() if isinstance(getattr(k, "_cache", None), kernels._Cache)]
    assert len(cached) > 20
    assert all(type(kernel._cache._cache_file) is kernels._CacheFile for kernel in cached)
