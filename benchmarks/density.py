"""How densely each room is written: a symptom to look at, not a limit to meet.

For every 1,000 lines of code (docstrings, comments and blank lines aside): conditionals inside of expressions
(`x if c else y`), comprehensions, and assignments of several values at once (`a, b = x, y`). scikit-learn's
`linear_model`, which is read easily, stands beside.

    python -m benchmarks.density
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import sklearn.linear_model

import vrspam

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
NOT_CODE = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def count(text: str) -> Counter[str]:
    """Lines of code and the three symptoms in the text of a module.

    >>> sorted(count("a, b = 1, 2  # both\\n\\nc = [a if a else b for _ in ()]\\n").items())
    [('comprehensions', 1), ('conditionals', 1), ('lines', 2), ('packed', 1)]
    """
    tree = ast.parse(text)
    found = Counter(lines=len(_code_lines(text) - _docstring_lines(tree)))
    for node in ast.walk(tree):
        if isinstance(node, ast.IfExp):
            found["conditionals"] += 1
        elif isinstance(node, COMPREHENSIONS):
            found["comprehensions"] += 1
        elif isinstance(node, ast.Assign) and _is_packed(node):
            found["packed"] += 1
    return found


def _code_lines(text: str) -> set[int]:
    """The numbers of lines on which there is code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NOT_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return lines


def _docstring_lines(tree: ast.AST) -> set[int]:
    """The numbers of lines of texts that stand alone."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        is_text = (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        )
        if is_text:
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))  # type: ignore[attr-defined]
    return lines


def _is_packed(node: ast.Assign) -> bool:
    """Whether several values get several names at once."""
    return isinstance(node.value, ast.Tuple) and any(isinstance(target, ast.Tuple) for target in node.targets)


def room(files: Iterable[Path]) -> str:
    """The symptoms of some files for every 1,000 lines of code, as cells of a table."""
    total: Counter[str] = Counter()
    for file in files:
        if "tests" not in file.parts:
            total += count(file.read_text("utf-8"))
    per_thousand = [
        f"{1000 * total[name] / total['lines']:.0f}" for name in ("conditionals", "comprehensions", "packed")
    ]
    return " | ".join([f"{total['lines']:,}", *per_thousand])


def main() -> None:
    """Print the table."""
    print("| room | lines of code | conditionals in expressions | comprehensions | packed assignments |")
    print("|---|---|---|---|---|")
    root = Path(vrspam.__file__).parent
    for folder in sorted(path for path in root.iterdir() if path.is_dir() and any(path.rglob("*.py"))):
        print(f"| {folder.name} | {room(folder.rglob('*.py'))} |")
    print(f"| vrspam | {room(root.rglob('*.py'))} |")
    peer = Path(sklearn.linear_model.__file__).parent
    print(f"| scikit-learn linear_model | {room(peer.glob('*.py'))} |")


if __name__ == "__main__":
    main()
