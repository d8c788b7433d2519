"""Small faults put into the mathematics one at a time: how many of them do the tests find?

    python tests/mutants.py measure                 # which test reaches which line, and how long it takes
    python tests/mutants.py run --workers 2         # resumable: what has a verdict is not tried again
    python tests/mutants.py report                  # writes docs/results/mutants.md

A mutant is one change of one expression: another comparison, sign, constant or function, a condition turned round, a
result or a call left out. Words of messages, docstrings and types are left alone. The sample is drawn by a seed, from
each module its share. A mutant is judged by the tests that reach its line, quickest first, until one fails; it survives
if none does. Reasons why a survivor changes nothing that can be seen stand in `mutants.toml`.

Each mutant runs in a process of its own, forked from one that has imported the libraries; an import hook hands it the
changed module, and the tree stays as it is.

Tests that cannot be collected, because a package is not installed, judge nothing; the mathematics needs NumPy, SciPy,
scikit-learn, Numba, joblib, narwhals, pytest, Hypothesis, typer and rich alone. `--only` chooses mutants by their names
(`--only tables/`), and `--leave` leaves some out. `--seconds` ends a run: the next one goes on where it was. All
that is kept lies in the folder `.mutants`, which may go to another machine, there and back.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import signal
import sys
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
KEPT = ROOT / ".mutants"
PAGE = ROOT / "docs" / "results" / "mutants.md"
REASONS = Path(__file__).with_suffix(".toml")
TARGETS = (
    "comparable.py",
    "objective/*.py",
    "penalties/*.py",
    "pairs/*.py",
    "moments/*.py",
    "metrics/*.py",
    "model_selection/correction.py",
    "model_selection/selection.py",
    "tables/kinds/*.py",
)
FOLDERS = ("objective", "moments", "metrics", "model_selection", "solvers", "estimators", "tables", "laws")
#: Files that no mutant needs: checks of scikit-learn, journeys and forged files, which take long and ask for much else.
LEFT_OUT = ("test_estimator_checks.py", "test_journeys.py", "test_faults.py", "test_replaced_files.py")
SLOWEST = 8.0  # seconds of a test that is asked
MOST = 25.0  # seconds of tests for one mutant
LIBRARIES = (
    "scipy.stats",
    "scipy.sparse.linalg",
    "scipy.optimize",
    "sklearn.linear_model",
    "sklearn.metrics",
    "sklearn.model_selection",
    "sklearn.ensemble",
    "numba",
    "hypothesis",
    "pandas",
    "polars",
    "pyarrow.parquet",
)

COMPARISONS: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
ARITHMETIC: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
TWINS = (
    "min max",
    "any all",
    "minimum maximum",
    "argmin argmax",
    "zeros ones",
    "floor ceil",
    "left right",
    "cumsum cumprod",
    "less less_equal",
    "mean sum",
    "nanmin nanmax",
    "zeros_like ones_like",
)
FUNCTIONS = {a: b for pair in TWINS for a, b in (pair.split(), pair.split()[::-1])}


@dataclass(frozen=True)
class Mutant:
    """A change of the text of a module, between two places in its bytes."""

    module: str  # objective/losses.py
    function: str
    line: int
    start: int
    end: int
    before: str
    after: str
    repeat: int = 0

    @property
    def key(self) -> str:
        """What names the mutant although lines move."""
        again = f" ({self.repeat + 1})" if self.repeat else ""
        return f"{self.module} {self.function}: {self.before} → {self.after}{again}"

    @property
    def at_import(self) -> bool:
        """Whether it is outside of all functions: names of classes are capitalised."""
        return self.function == "module" or self.function.rpartition(".")[2][0].isupper()

    def text(self) -> bytes:
        old = (SOURCE / "vrspam" / self.module).read_bytes()
        return old[: self.start] + self.after.encode() + old[self.end :]


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """The changes of one expression, each as a node in its place."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        other = COMPARISONS[type(node.ops[0])]()
        yield ast.Compare(node.left, [other], node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        yield ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node.operand
    elif isinstance(node, ast.IfExp) and not isinstance(node.test, ast.Compare | ast.BoolOp | ast.UnaryOp):
        yield ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield ast.Constant(not node.value)
        elif isinstance(node.value, int):
            yield ast.Constant(node.value + 1)
        elif isinstance(node.value, float):
            yield ast.Constant(2.0 * node.value if node.value else 1.0)
    elif isinstance(node, ast.Name) and node.id in ("min", "max", "any", "all"):
        yield ast.Name(FUNCTIONS[node.id])
    elif isinstance(node, ast.Attribute) and node.attr in FUNCTIONS:
        yield ast.Attribute(node.value, FUNCTIONS[node.attr])


class Collector(ast.NodeVisitor):
    """Collects the mutants of a module; messages, docstrings, types and decorators are passed by."""

    def __init__(self, module: str):
        self.module = module
        self.data = (SOURCE / "vrspam" / module).read_bytes()
        starts = [0]
        for line in self.data.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self.starts = starts
        self.path: list[str] = []
        self.mutants: list[Mutant] = []
        self.seen: Counter[tuple[str, str, str]] = Counter()
        self.visit(ast.parse(self.data))

    def add(self, node: Any, after: str) -> None:
        start, end = (
            self.starts[node.lineno - 1] + node.col_offset,
            self.starts[node.end_lineno - 1] + node.end_col_offset,
        )
        before, function = " ".join(self.data[start:end].decode().split()), ".".join(self.path) or "module"
        repeat = self.seen[function, before, after]
        self.seen[function, before, after] += 1
        self.mutants.append(Mutant(self.module, function, node.lineno, start, end, before, after, repeat))

    def _enter(self, node: Any) -> None:
        if any(getattr(d, "id", getattr(d, "attr", "")) in ("overload", "abstractmethod") for d in node.decorator_list):
            return
        self.path.append(node.name)
        if isinstance(node, ast.FunctionDef):
            for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
                self.visit(default)
        for statement in node.body:
            self.visit(statement)
        self.path.pop()

    visit_FunctionDef = visit_ClassDef = _enter

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):  # a docstring
            return
        if isinstance(node.value, ast.Call):
            self.add(node, "pass")
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Words of errors are left alone."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Words of messages are left alone."""

    def visit_Call(self, node: ast.Call) -> None:
        if getattr(node.func, "attr", getattr(node.func, "id", "")) in ("warn", "cast", "TypeVar"):
            return
        self.visit_other(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        if any(isinstance(target, ast.Name) and target.id.startswith("__") for target in node.targets):
            return
        self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if type(node.op) in ARITHMETIC:
            changed = copy.copy(node)
            changed.op = ARITHMETIC[type(node.op)]()
            self.add(node, ast.unparse(changed))
        self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        if not isinstance(node.test, ast.Compare | ast.BoolOp | ast.UnaryOp):
            self.add(node.test, f"not ({ast.unparse(node.test)})")
        for part in (node.test, *node.body, *node.orelse):
            self.visit(part)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and not isinstance(node.value, ast.Constant):
            self.add(node, "return None")
        self.generic_visit(node)

    def visit_other(self, node: ast.AST) -> None:
        for changed in changes(node):
            self.add(node, f"({ast.unparse(changed)})")
        ast.NodeVisitor.generic_visit(self, node)

    def generic_visit(self, node: ast.AST) -> None:
        self.visit_other(node)


def modules() -> list[str]:
    package = SOURCE / "vrspam"
    return sorted(path.relative_to(package).as_posix() for pattern in TARGETS for path in package.glob(pattern))


def all_mutants() -> dict[str, list[Mutant]]:
    return {module: Collector(module).mutants for module in modules()}


def draw(size: int, seed: int) -> list[Mutant]:
    """The sample: from each module its share. Where code changes, the other mutants of a sample stay in it."""

    def order(mutant: Mutant) -> str:
        return sha256(f"{seed} {mutant.key}".encode()).hexdigest()

    found = all_mutants()
    total = sum(map(len, found.values()))
    sample = []
    for mutants in found.values():
        wanted = max(min(5, len(mutants)), round(size * len(mutants) / total))
        sample += sorted(mutants, key=order)[:wanted]
    return sorted(sample, key=order)  # a run that is cut short is a sample too


class Changed(importlib.abc.MetaPathFinder):
    """Hands out one module with its text changed."""

    def __init__(self, mutant: Mutant):
        self.path = SOURCE / "vrspam" / mutant.module
        self.text = mutant.text()
        self.module = "vrspam." + mutant.module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname != self.module:
            return None
        text, place = self.text, str(self.path)

        class Loader(importlib.machinery.SourceFileLoader):
            def get_code(self, fullname: str) -> Any:
                return compile(text, place, "exec", dont_inherit=True)

        return importlib.util.spec_from_file_location(fullname, place, loader=Loader(fullname, place))


class Chosen:
    """A plugin of pytest: only these tests, in this order; how long each took, and whether it passed."""

    def __init__(self, names: Iterable[str] | None = None):
        self.order = None if names is None else {name: place for place, name in enumerate(names)}
        self.seconds: dict[str, float] = defaultdict(float)
        self.failed: set[str] = set()

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        order = self.order
        if order is not None:
            items[:] = sorted((item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid])

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] += report.duration
        if not report.passed:
            self.failed.add(report.nodeid)


def pytest_run(files: Iterable[str], plugins: list[Any], *options: str) -> int:
    """Run tests inside this process, in silence."""
    sys.path.insert(0, str(SOURCE))
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    fixed = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov", "--rootdir", str(ROOT), *options]
    return int(pytest.main([*fixed, *(str(ROOT / file) for file in sorted(set(files)))], plugins=plugins))


Job = tuple[str, Callable[[], int], float]


def run_forked(jobs: Iterable[Job], workers: int, done: Callable[[str, int | None, float], None], until: float) -> None:
    """Run each job in a process of its own; tell its exit status, None where its time ran out."""
    waiting = iter(jobs)
    running: dict[int, tuple[str, float, float]] = {}  # process -> name, end, start
    sys.stdout.flush()
    more = True
    while more or running:
        while more and len(running) < workers:
            job = next(waiting, None) if time.time() < until else None
            if job is None:
                more = False
                break
            name, call, limit = job
            process = os.fork()
            if process == 0:
                os.setpgid(0, 0)
                status = 99
                with contextlib.suppress(BaseException):
                    status = call()
                os._exit(status)
            running[process] = name, time.time() + limit, time.time()
        time.sleep(0.02)
        for process, (name, end, start) in list(running.items()):
            gone, status = os.waitpid(process, os.WNOHANG)
            late = time.time() > end
            if not gone and late:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process, signal.SIGKILL)
                os.waitpid(process, 0)
            if gone or late:
                del running[process]
                done(name, os.waitstatus_to_exitcode(status) if gone else None, time.time() - start)


def import_libraries() -> None:
    """Import once what each process would import, with one thread each."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    for library in LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(library)


def test_files() -> list[str]:
    """The files of tests that judge mutants, the longest first."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / "tests" / folder).glob("test_*.py"))]
    paths.sort(key=lambda path: -path.stat().st_size)
    return [path.relative_to(ROOT).as_posix() for path in paths if path.name not in LEFT_OUT]


def map_path(file: str) -> Path:
    return KEPT / "map" / (file.replace("/", "-") + ".json")


class Reach:
    """Which tests reach which lines of the modules: by sys.monitoring, or before Python 3.12 by sys.settrace."""

    def __init__(self) -> None:
        package = SOURCE / "vrspam"
        self.modules = {str(package / module): module for module in modules()}
        self.tests: dict[tuple[str, int], set[str]] = defaultdict(set)
        self.test = ""

    def watch(self) -> None:
        if sys.version_info < (3, 12):
            sys.settrace(self._enter)
        else:
            tool, events = sys.monitoring.COVERAGE_ID, sys.monitoring.events
            sys.monitoring.use_tool_id(tool, "mutants")
            sys.monitoring.register_callback(tool, events.LINE, self._line)
            sys.monitoring.set_events(tool, events.LINE)

    def start(self, test: str) -> None:
        """From here on lines are reached by this test."""
        self.test = test
        if sys.version_info >= (3, 12):
            sys.monitoring.restart_events()

    def _add(self, path: str, line: int) -> None:
        module = self.modules.get(path)
        if module and self.test:
            self.tests[module, line].add(self.test)

    def _line(self, code: Any, line: int) -> Any:
        self._add(code.co_filename, line)
        if sys.version_info >= (3, 12):
            return sys.monitoring.DISABLE  # until the next test

    def _enter(self, frame: Any, event: str, argument: Any) -> Any:
        return self._step if frame.f_code.co_filename in self.modules else None

    def _step(self, frame: Any, event: str, argument: Any) -> Any:
        if event == "line":
            self._add(frame.f_code.co_filename, frame.f_lineno)
        return self._step


def measure_file(file: str) -> int:
    """Write which tests of a file reach which lines, and their seconds; those that fail are not asked."""
    reach = Reach()

    class Contexts(Chosen):
        def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
            reach.start(nodeid)

    plugin = Contexts()
    reach.watch()
    pytest_run([file], [plugin])
    names = sorted(set(plugin.seconds) - plugin.failed)
    places = {name: place for place, name in enumerate(names)}
    lines: dict[str, dict[int, list[int]]] = defaultdict(dict)
    for (module, line), tests in sorted(reach.tests.items()):
        reached = sorted(places[name] for name in tests if name in places)
        if reached:
            lines[module][line] = reached
    measured = {"seconds": {name: round(plugin.seconds[name], 3) for name in names}, "lines": lines}
    map_path(file).parent.mkdir(parents=True, exist_ok=True)
    map_path(file).write_text(json.dumps(measured))
    return 0


def measure(workers: int, again: bool, limit: float) -> None:
    """Run each file twice: what is compiled for the first time takes far longer, and is then in Numba's cache."""
    import_libraries()
    files = [file for file in test_files() if again or not map_path(file).exists()]
    for title, call in (("compiled", lambda file: pytest_run([file], [])), ("measured", measure_file)):

        def done(name: str, status: int | None, seconds: float, title: str = title) -> None:
            print(f"{title} {name}: {seconds:.0f} s{'' if status == 0 else f', status {status}'}", flush=True)

        jobs: list[Job] = [(file, partial(call, file), limit) for file in files]
        run_forked(jobs, workers, done, float("inf"))
    KEPT.mkdir(exist_ok=True)
    (KEPT / "machine").write_text(os.uname().nodename)


class Tests:
    """Which tests reach a line, and their seconds here."""

    def __init__(self, usable: dict[str, float] | None = None):
        self.seconds: dict[str, float] = {}
        self.reach: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
        for file in test_files():
            if not map_path(file).exists():
                continue
            found = json.loads(map_path(file).read_text())
            names = list(found["seconds"])
            for name, seconds in found["seconds"].items():
                if usable is None or name in usable:
                    self.seconds[name] = seconds if usable is None else usable[name]
            for module, lines in found["lines"].items():
                for line, places in lines.items():
                    self.reach[module][int(line)] += [names[p] for p in places if names[p] in self.seconds]

    def of(self, mutant: Mutant) -> list[str]:
        """The tests for a mutant, quickest first."""
        lines = self.reach[mutant.module]
        last = mutant.line + mutant.before.count("\n")
        names = {name for line in range(mutant.line, last + 1) for name in lines.get(line, ())}
        if not names:  # a line that runs at the import alone, or the first line of a longer expression
            near = [] if mutant.at_import else [line for line in lines if abs(line - mutant.line) <= 3]
            names = {name for line in near or lines for name in lines[line]}
        chosen, total = [], 0.0
        for name in sorted(names, key=lambda name: self.seconds[name]):
            total += self.seconds[name]
            if self.seconds[name] <= SLOWEST and total <= MOST:
                chosen.append(name)
        return chosen


def usable_tests(workers: int) -> dict[str, float]:
    """The tests that pass on this machine, and their seconds; this also fills Numba's cache."""
    if (KEPT / "machine").exists() and (KEPT / "machine").read_text() == os.uname().nodename:
        return Tests().seconds
    path = KEPT / f"usable-{os.uname().nodename}.json"
    if path.exists():
        return json.loads(path.read_text())
    folder = KEPT / "usable"
    folder.mkdir(parents=True, exist_ok=True)
    tests = Tests()
    files: dict[str, list[str]] = defaultdict(list)
    for name, seconds in tests.seconds.items():
        if seconds <= SLOWEST:
            files[name.split("::")[0]].append(name)

    def check(file: str) -> int:
        plugin = Chosen(files[file])
        pytest_run([file], [plugin])
        found = {name: seconds for name, seconds in plugin.seconds.items() if name not in plugin.failed}
        (folder / (file.replace("/", "-") + ".json")).write_text(json.dumps(found))
        return 0

    def done(name: str, status: int | None, seconds: float) -> None:
        print(f"unchanged, {name}: {seconds:.0f} s{'' if status == 0 else f', status {status}'}", flush=True)

    longest = sorted(files, key=lambda file: -sum(tests.seconds[name] for name in files[file]))
    run_forked([(file, partial(check, file), 150.0) for file in longest], workers, done, float("inf"))
    found: dict[str, float] = {}
    for part in folder.glob("*.json"):
        found |= json.loads(part.read_text())
    path.write_text(json.dumps(found))
    return found


def try_mutant(mutant: Mutant, names: list[str]) -> int:
    """0 where all tests pass, 5 where there are none."""
    if not names:
        return 5
    sys.meta_path.insert(0, Changed(mutant))
    return pytest_run({name.split("::")[0] for name in names}, [Chosen(names)], "-x")


def verdicts() -> dict[str, dict[str, Any]]:
    path = KEPT / "verdicts.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return {found["key"]: found for found in map(json.loads, lines)}


def run(options: argparse.Namespace) -> None:
    until = time.time() + options.seconds
    import_libraries()
    sample = draw(options.sample, options.seed)
    judged = verdicts()
    if options.survivors:
        sample = [mutant for mutants in all_mutants().values() for mutant in mutants]
        explained = reasons()
        survived = {key for key, record in judged.items() if record["verdict"] in ("survived", "untested")}
        sample = [mutant for mutant in sample if mutant.key in survived and mutant.key not in explained]
    else:
        sample = [mutant for mutant in sample if mutant.key not in judged]
    sample = [mutant for mutant in sample if options.only in mutant.key]
    if options.leave:
        sample = [mutant for mutant in sample if options.leave not in mutant.key]
    tests = Tests(usable_tests(options.workers))
    counts: Counter[str] = Counter()
    KEPT.mkdir(exist_ok=True)
    by_key = {mutant.key: mutant for mutant in sample}

    def jobs() -> Iterator[Job]:
        for mutant in sample:
            names = tests.of(mutant)
            seconds = sum(tests.seconds[name] for name in names)
            yield mutant.key, partial(try_mutant, mutant, names), 3.0 * seconds + 20.0

    with (KEPT / "verdicts.jsonl").open("a") as file:

        def done(key: str, status: int | None, seconds: float) -> None:
            verdict = {0: "survived", None: "late", 5: "untested"}.get(status, "killed")
            counts[verdict] += 1
            line = {"key": key, "line": by_key[key].line, "verdict": verdict, "seconds": round(seconds, 1)}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            file.flush()
            if options.verbose or sum(counts.values()) % 50 == 0:
                print(
                    f"{verdict}: {key}" if options.verbose else f"{sum(counts.values())} tried: {dict(counts)}",
                    flush=True,
                )

        run_forked(jobs(), options.workers, done, until)
    print(f"{len(sample)} mutants to try, {dict(counts)}")


def reasons() -> dict[str, str]:
    return tomllib.loads(REASONS.read_text("utf-8"))["no_change"] if REASONS.exists() else {}


def report(options: argparse.Namespace) -> None:
    """Write the table of the docs, of all mutants that were tried and are still there."""
    known, given = verdicts(), reasons()
    tried = [mutant for mutants in all_mutants().values() for mutant in mutants if mutant.key in known]
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    survivors: list[tuple[str, str]] = []
    for mutant in tried:
        verdict = known[mutant.key]["verdict"]
        if verdict in ("survived", "untested"):
            verdict = "no change" if mutant.key in given else "survived"
            survivors.append((mutant.key, given.get(mutant.key, "")))
        counts[mutant.module]["killed" if verdict == "late" else verdict] += 1
    total = sum(counts.values(), Counter())
    judged = total["killed"] + total["survived"]
    share = 100.0 * total["killed"] / max(judged, 1)
    lines = [
        "# Mutants",
        "",
        "Small faults, put into the mathematics one at a time, as tests/mutants.py says: `make mutants` tries them",
        "(a sample drawn by a seed). Those that change nothing that can be seen have a reason.",
        "",
        f"**{total['killed']} of {judged} that change behaviour are found: {share:.1f} %.**",
        "",
        "| module | tried | found | not found | no change |",
        "|---|---|---|---|---|",
    ]
    for module, found in sorted(counts.items()):
        numbers = (sum(found.values()), found["killed"], found["survived"], found["no change"])
        lines.append(f"| {module} | " + " | ".join(map(str, numbers)) + " |")
    for title, with_reason in (("Not found", False), ("No change that can be seen", True)):
        chosen = sorted((key, reason) for key, reason in survivors if bool(reason) == with_reason)
        if chosen:
            lines += ["", f"## {title}", ""]
            lines += [f"- `{key.replace('`', '')}`{': ' + reason if reason else ''}" for key, reason in chosen]
    PAGE.write_text("\n".join(lines) + "\n", "utf-8")
    print(f"{sum(total.values())} tried, {judged} change behaviour, {total['killed']} found: {share:.1f} %")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=["measure", "run", "report", "list"])
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--sample", type=int, default=620)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start no mutant after so many seconds")
    parser.add_argument("--limit", type=float, default=1200.0, help="seconds for one file of tests, while measuring")
    parser.add_argument("--only", default="", help="mutants whose name has this in it")
    parser.add_argument("--leave", default="", help="no mutants whose name has this in it")
    parser.add_argument("--survivors", action="store_true", help="try those again that survived without a reason")
    parser.add_argument("--again", action="store_true", help="measure every file again")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    os.chdir(ROOT)
    if options.step == "measure":
        measure(options.workers, options.again, options.limit)
    elif options.step == "run":
        run(options)
    elif options.step == "report":
        report(options)
    else:
        for mutant in draw(options.sample, options.seed):
            print(f"{mutant.line}: {mutant.key}")


if __name__ == "__main__":
    main()
