"""Run all benchmarks, or only those that are named: `python -m benchmarks foundation grid`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import vrspam
from benchmarks.common import where_and_when


def main() -> None:
    available = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))
    wanted = sys.argv[1:] or available
    unknown = set(wanted) - set(available)
    if unknown:
        sys.exit(f"No benchmark named {', '.join(sorted(unknown))}; there are {', '.join(available)}.")
    print(f"# vrspam {vrspam.__version__}: benchmarks (ratios within this run)")
    print(f"\n{where_and_when()}")
    for name in wanted:
        importlib.import_module(f"benchmarks.bench_{name}").main()


main()
