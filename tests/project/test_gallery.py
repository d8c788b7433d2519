"""Every example of the gallery runs, in a few lines and without a warning, draws, and shows what its text says."""

from __future__ import annotations

import ast
import os
import re
import runpy
import sys
import warnings
from pathlib import Path
from unittest import mock

import matplotlib.pyplot as plt
import numpy as np
import pytest

GALLERY = Path(__file__).parents[2] / "gallery"
EXAMPLES = sorted(GALLERY.glob("*.py"))
NEEDS = {
    "plot_dask": ["dask.array"],
    "plot_export": ["onnx", "onnxruntime", "pandas"],
    "plot_river": ["river"],
    "plot_imbalanced_table": ["pandas", "pyarrow"],
    "plot_large_file": ["pyarrow"],
}


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run an example as a program, in an empty folder; return its variables, its figures and what it printed."""
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("Agg")

    def run_example(name):
        for package in NEEDS.get(name, []):
            pytest.importorskip(package)
        with mock.patch.dict(os.environ, MPLBACKEND="Agg"), warnings.catch_warnings(), plt.rc_context():
            warnings.simplefilter("error", UserWarning)
            warnings.simplefilter("error", RuntimeWarning)
            warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")  # plt.show() has no screen here
            for old_name in (DeprecationWarning, FutureWarning):  # what the example itself calls
                warnings.filterwarnings("error", category=old_name, module="__main__")
            variables = runpy.run_path(str(GALLERY / f"{name}.py"), run_name="__main__")
        return variables, [plt.figure(number) for number in plt.get_fignums()], capsys.readouterr().out

    yield run_example
    plt.close("all")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_says_what_one_learns(path):
    text = path.read_text("utf-8")
    assert path.name.startswith("plot_"), "sphinx-gallery runs no others"
    title, line, _, *words = (ast.get_docstring(ast.parse(text)) or "").splitlines()
    assert title
    assert line == "=" * len(title)
    assert words
    assert "# %%" in text


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_figure_is_finished_in_the_cell_that_makes_it(path):
    """The site takes the figures of each cell; what a later cell drew would be missing there."""
    earlier: set[str] = set()
    for cell in re.split("^# %%.*\n", path.read_text("utf-8"), flags=re.MULTILINE):
        tree = ast.parse(cell)
        assigned = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
        figures = [node for node in assigned if re.match(r"plt\.(subplots|figure)\(", ast.unparse(node.value))]
        made = {name for node in figures for target in node.targets for name in names_in(target)} - {"_"}
        assert not (earlier - made) & names_in(tree)
        earlier |= made


def names_in(tree: ast.AST) -> set[str]:
    """The variables of some code."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


@pytest.mark.parametrize("name", [path.stem for path in EXAMPLES])
def test_an_example_runs_and_draws(name, run):
    variables, figures, printed = run(name)
    assert figures
    assert printed
    for figure in figures:
        figure.canvas.draw()
        wide, high = figure.get_size_inches()
        box = figure.get_tightbbox()
        assert min(box.x0, box.y0) > -0.05, "nothing is cut off"
        assert box.x1 < wide + 0.05
        assert box.y1 < high + 0.05
        for ax in figure.axes:
            alike = [ax, *ax.get_shared_x_axes().get_siblings(ax)]
            assert ax.get_label() == "<colorbar>" or any(one.get_xlabel() or one.get_title() for one in alike)
    if name in CLAIMS:
        CLAIMS[name](variables, printed)


class NoTorch:
    """Finds modules like one who has not installed PyTorch."""

    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ImportError("torch is not installed")


def test_arrays_of_the_standard_stand_in_for_torch(run, monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(sys, "meta_path", [NoTorch(), *sys.meta_path])
    variables, _, printed = run("plot_array_api")
    assert "array_api_strict stands in" in printed
    assert type(variables["model"].coef_).__module__.startswith("array_api_strict")
    arrays_agree(variables, printed)


# -- what the texts say -------------------------------------------------------------------------------------------


def numbers(pattern: str, printed: str) -> list[float]:
    return [float(value) for value in re.findall(pattern + r"([-+]?[\d.]+(?:e[-+]\d+)?)", printed)]


def drift_is_forgotten(variables, printed):
    aucs = variables["aucs"]
    for name in ("half-life", "window"):
        assert abs(aucs[name][-10:].mean() - aucs[name][29:39].mean()) < 0.02
        assert aucs[name][39] < 0.75  # the first batch after the change
    assert aucs["plain"][-10:].mean() < aucs["window"][-10:].mean() - 0.1


def exports_agree(variables, printed):
    differences = numbers("differs by at most ", printed)
    assert len(differences) == 3
    assert max(differences) < 1e-12


def blocks_agree(variables, printed):
    assert max(numbers("coefficients differ by ", printed)) < 1e-10
    assert max(variables["peaks"]) < 2 * min(variables["peaks"])


def cluster_agrees(variables, printed):
    assert max(variables["differences"]) < 1e-10


def arrays_agree(variables, printed):
    assert numbers("largest difference from NumPy's coefficients: ", printed)[0] < 1e-10


def only_the_decoy_pays(variables, printed):
    with_it, without = numbers("on the part - squared hinge: ", printed)
    assert with_it > 0.001
    assert abs(without) < 0.002
    assert numbers("on the part - squared loss: ", printed)[0] > with_it


def kernel_wins_on_digits_alone(variables, printed):
    tests = list(variables["tests"].values())
    assert tests[3].p_value < 1e-3
    assert tests[3].low > 0
    assert min(test.p_value for test in tests[:3]) > 0.01


def the_pair_is_found(variables, printed):
    assert set(next(iter(variables["model"].interactions_))) == {"age", "shaking"}


def bound_holds(variables, printed):
    assert "ABOVE" not in printed
    assert printed.count("below the bound") == 2


def certificates_bound(variables, printed):
    assert min(numbers("the certificate is ", printed)) >= 1.0
    apart, reach = numbers("coefficients are ", printed), numbers("by the certificate at most ", printed)
    assert np.all(np.array(apart) <= reach)
    assert max(numbers("no certificate is above ", printed)) < 1e-12


def mcp_finds_fewer(variables, printed):
    l1, mcp = numbers("of 25, and ", printed)
    assert mcp < l1 / 2
    assert min(numbers("found ", printed)) == 25


def nothing_is_lost(variables, printed):
    assert "files of the first attempt unchanged: True" in printed
    assert printed.index("report written: False") < printed.index("report written: True")
    assert len(variables["before"]) < len(variables["last"]) == 16


def isotonic_follows(variables, printed):
    sigmoid, isotonic = numbers("sigmoid +log loss ", printed), numbers("isotonic +log loss ", printed)
    assert isotonic[0] > sigmoid[0]
    assert isotonic[1] < sigmoid[1] - 0.02


def half_life_recovers(variables, printed):
    ends = numbers("at the end ", printed)
    assert ends[0] > ends[1] + 0.05


def own_loss_is_certified(variables, printed):
    assert max(numbers("gap ", printed)) < 1e-9


def the_report_holds(variables, printed):
    expected, found = variables["expected"], variables["found"]
    assert expected.low < found.auc < expected.high


def words_are_found(variables, printed):
    assert numbers("of the 12 words that matter, ", printed) == [12]


def noise_goes_to_zero(variables, printed):
    variance = variables["watched"]["variance"][1:]
    assert variance[-1] < 1e-5 * variance[0]


CLAIMS = {
    "plot_array_api": arrays_agree,
    "plot_calibration": isotonic_follows,
    "plot_certificates": certificates_bound,
    "plot_compare_models": kernel_wins_on_digits_alone,
    "plot_curves_and_interactions": the_pair_is_found,
    "plot_dask": cluster_agrees,
    "plot_drift": drift_is_forgotten,
    "plot_export": exports_agree,
    "plot_imbalanced_table": the_report_holds,
    "plot_killed_experiment": nothing_is_lost,
    "plot_large_file": blocks_agree,
    "plot_mcp": mcp_finds_fewer,
    "plot_own_loss": own_loss_is_certified,
    "plot_paper_figures": noise_goes_to_zero,
    "plot_river": half_life_recovers,
    "plot_screening": only_the_decoy_pays,
    "plot_text": words_are_found,
    "plot_theorem_1": bound_holds,
}
