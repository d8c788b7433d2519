"""How large the package is, and how much of it one call passes through: `python tests/walks.py`.

A walk is a public call, run twice: the second time every function of the package that is called is counted once, with
the module it stands in. Compiled code is not seen, and importing is over by then.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import io
import sys
import tempfile
import threading
import tokenize
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

SOURCE = Path(__file__).resolve().parent.parent / "src" / "vrspam"
COMMENTS = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def docstrings(tree: ast.AST) -> set[int]:
    """The lines of all docstrings."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                lines.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return lines


def code_lines(text: str) -> set[int]:
    """The lines that are neither docstring, comment nor blank."""
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (*COMMENTS, tokenize.ENDMARKER):
            found.update(range(token.start[0], token.end[0] + 1))
    return found - docstrings(ast.parse(text))


def functions(path: Path) -> dict[str, int]:
    """The code lines of the body of every function of a module, signature and inner docstrings aside."""
    text = path.read_text("utf-8")
    code, tree = code_lines(text), ast.parse(text)
    return {
        f"{path.relative_to(SOURCE)}:{node.name}": len(
            code & set(range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1))
        )
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def constants(path: Path) -> list[str]:
    """The upper-case names that a module assigns to; those of its own (_NAME) aside."""
    found = []
    for node in ast.parse(path.read_text("utf-8")).body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        names = [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
        found += [name for name in names if name.isupper() and not name.startswith("_")]
    return found


def depth_of_inheritance() -> tuple[int, str]:
    """The longest chain of classes of this package, each a base of the next, and where it ends."""
    bases: dict[str, list[str]] = {}
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                names = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
                bases[node.name] = [n.attr if isinstance(n, ast.Attribute) else getattr(n, "id", "") for n in names]

    def depth(name: str) -> int:
        return 1 + max([depth(base) for base in bases[name] if base in bases and base != name], default=0)

    return max((depth(name), name) for name in bases)


def passed(call: Callable[[], Any]) -> set[tuple[str, str]]:
    """The functions of the package, by module and name, that a call passes through, the second time it is made."""
    call()
    seen: set[Any] = set()
    inside = str(SOURCE)

    def watch(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            seen.add(frame.f_code)

    threading.setprofile(watch)
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    own = {(c.co_filename, c.co_qualname) for c in seen if c.co_filename.startswith(inside)}
    named = {
        (path, name) for path, name in own if name.rpartition(".")[2][:1] != "<"
    }  # neither lambdas nor inner loops
    return {(Path(path).relative_to(SOURCE).as_posix(), name) for path, name in named}


def count(walk: set[tuple[str, str]]) -> tuple[int, int]:
    """Functions and modules."""
    return len(walk), len({path for path, _ in walk})


def openings(call: Callable[[], Any], path: Path) -> int:
    """How often a call opens a file."""
    import pyarrow as pa

    opened_files: Counter[str] = Counter()
    originals = {(builtins, "open"): builtins.open, (io, "open"): io.open, (pa, "memory_map"): pa.memory_map}
    originals |= {(pa, "OSFile"): pa.OSFile, (pa, "input_stream"): pa.input_stream}

    def counting(original: Any) -> Any:
        def opened(file: Any, *arguments: Any, **options: Any) -> Any:
            if str(file) == str(path):
                opened_files[str(file)] += 1
            return original(file, *arguments, **options)

        return opened

    for (module, name), original in originals.items():
        setattr(module, name, counting(original))
    try:
        call()
    finally:
        for (module, name), original in originals.items():
            setattr(module, name, original)
    return opened_files[str(path)]


def table(rows: int = 300, seed: int = 0) -> pd.DataFrame:
    """Numbers, gaps, a category and a date."""
    rng = np.random.default_rng(seed)
    sick = rng.random(rows) < 0.3
    return pd.DataFrame(
        {
            "age": np.round(rng.normal(55, 12, rows) + 8 * sick, 1),
            "weight": np.where(rng.random(rows) < 0.1, np.nan, np.round(rng.normal(75, 10, rows), 1)),
            "town": rng.choice(["Graz", "Linz", "Wien"], rows),
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 500, rows), unit="D"),
            "sick": np.where(sick, "yes", "no"),
        }
    )


def command(*arguments: Any) -> Callable[[], Any]:
    from vrspam.cli import main

    def run() -> None:
        silent = io.StringIO()
        with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
            if main([*map(str, arguments)]) != 0:
                raise RuntimeError(silent.getvalue())

    return run


def walks(folder: Path) -> dict[str, Callable[[], Any]]:
    """The walks that are counted, by name."""
    import vrspam

    frame = table()
    X, y = frame.drop(columns="sick"), frame["sick"]
    numbers = X[["age", "weight"]].fillna(70.0).to_numpy()
    data, model = folder / "table.csv", folder / "model.json"
    frame.to_csv(data, index=False)
    command("train", data, "--target", "sick", "--model", model)()
    return {
        "AUCClassifier.fit": lambda: vrspam.AUCClassifier().fit(numbers, y),
        "AUCClassifierCV('auto').fit(frame)": lambda: vrspam.AUCClassifierCV(features="auto").fit(X, y),
        "VRSPAMClassifier.fit": lambda: vrspam.VRSPAMClassifier(random_state=0).fit(numbers, y),
        "vrspam report": command("report", data, "--target", "sick", "--html", folder / "page.html"),
        "vrspam predict": command("predict", model, data, "--out", folder / "scores.csv"),
    }


def file_openings(folder: Path) -> dict[str, int]:
    """How often each command opens its table."""
    data, model = folder / "table.csv", folder / "model.json"
    report = ["report", data, "--target", "sick", "--html", folder / "page.html"]
    calls = {
        "train": ["train", data, "--target", "sick", "--model", model],
        "predict": ["predict", model, data, "--out", folder / "scores.csv"],
        "evaluate": ["evaluate", model, data],
        "report": report,
        "report --by": [*report, "--by", "town"],
    }
    return {name: openings(command(*arguments), data) for name, arguments in calls.items()}


def main() -> None:
    texts = {path: path.read_text("utf-8") for path in modules()}
    lines = {path: text.count("\n") for path, text in texts.items()}
    bodies = {name: size for path in modules() for name, size in functions(path).items()}
    print(f"modules                        {len(texts)}")
    print(f"lines                          {sum(lines.values()):,}")
    print(f"code lines                     {sum(len(code_lines(text)) for text in texts.values()):,}")
    print(f"upper-case constants           {sum(len(constants(path)) for path in modules())}")
    print("depth of inheritance           {} ({})".format(*depth_of_inheritance()))
    long = {path.name: count for path, count in lines.items() if count > 700 and path.name != "kernels.py"}
    print(f"modules over 700 lines         {long or 'none'}")
    print(f"functions over 60 code lines   {({name: size for name, size in bodies.items() if size > 60}) or 'none'}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for walk, call in walks(folder).items():
            print("{:36s} {} functions in {} modules".format(walk, *count(passed(call))))
        for verb, times in file_openings(folder).items():
            print(f"vrspam {verb:29s} opens its file {times} time{'s' if times != 1 else ''}")


if __name__ == "__main__":
    main()
