"""The layout of the package: what the import contracts in pyproject.toml cannot say."""

from __future__ import annotations

import pytest

grimp = pytest.importorskip("grimp")


def outside_importers(graph) -> list[tuple[str, str]]:
    """Find imports of a private module (`_x`) from outside its folder."""
    found = []
    for module in sorted(graph.modules):
        room, _, name = module.rpartition(".")
        if name.startswith("_") and not name.startswith("__"):
            inside = (room, f"{room}.")
            found += [
                (importer, module)
                for importer in sorted(graph.find_modules_that_directly_import(module))
                if not (importer == inside[0] or importer.startswith(inside[1]))
            ]
    return found


def test_private_modules_are_imported_only_in_their_own_folder():
    assert outside_importers(grimp.build_graph("vrspam", cache_dir=None)) == []


def test_an_import_of_a_private_module_from_outside_is_found():
    graph = grimp.ImportGraph()
    for module in ("house", "house.a", "house.a._private", "house.a.public", "house.b"):
        graph.add_module(module)
    graph.add_import(importer="house.a.public", imported="house.a._private")
    assert outside_importers(graph) == []
    graph.add_import(importer="house.b", imported="house.a._private")
    assert outside_importers(graph) == [("house.b", "house.a._private")]
