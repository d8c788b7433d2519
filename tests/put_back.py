"""Put defects back into the source, one at a time, and see which of them the laws find: `python tests/put_back.py`.

Each file of tests/defects is a patch that undoes one mend; its first line names the law that is about it. The source is
copied to a folder of its own, the patch is applied there, and the law runs with as many examples as in `make test`. A
defect that it does not find is tried once more with ten times the examples. The table goes to
docs/results/defects.md. A patch that no longer applies, because the code has moved, is named.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
DEFECTS = ROOT / "tests" / "defects"
LONGEST = 300  # seconds of a law


class Verdict(NamedTuple):
    """What a law says of a source with a defect."""

    defect: str
    law: str
    found: str
    seconds: float


def law_of(patch: Path) -> str:
    """The law that a patch names in its first line."""
    found = re.match(r"# law: (\S+)", patch.read_text("utf-8"))
    if found is None:
        sys.exit(f"{patch.name} does not begin with '# law: ' and the name of a test.")
    return found.group(1)


def copy_of_the_source(folder: Path) -> Path:
    """A copy of what tests need, with its compiled loops."""
    copy = folder / "copy"
    for name in ("src", "tests", "benchmarks", "docs", "examples", "gallery", ".github"):
        if (ROOT / name).exists():
            shutil.copytree(ROOT / name, copy / name, copy_function=shutil.copy2)
    for name in ("pyproject.toml", "conftest.py", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile"):
        shutil.copy2(ROOT / name, copy / name)
    return copy


def run_law(copy: Path, law: str, factor: int) -> str:
    """What pytest says of a law: "passed", "failed", "late" or "error"."""
    known = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(copy / "src")}
    environment = {**os.environ, **known, "VRSPAM_LAWS": str(factor)}
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-x", "-p", "no:cacheprovider", law]
    try:
        ended = subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=LONGEST, check=False)
    except subprocess.TimeoutExpired:
        return "late"
    return {0: "passed", 1: "failed"}.get(ended.returncode, "error")


def put_back(patch: Path, folder: Path) -> Verdict:
    """Apply a patch to a copy of the source, and run its law."""
    started, law = time.monotonic(), law_of(patch)
    copy = copy_of_the_source(folder)
    applied = subprocess.run(["git", "apply", str(patch)], cwd=copy, capture_output=True, check=False)
    found = "does not apply"
    if applied.returncode == 0:
        found = {"failed": "yes", "late": "late", "error": "error"}.get(run_law(copy, law, 1), "no")
        if found == "no" and run_law(copy, law, 10) == "failed":
            found = "with ten times the examples"
    shutil.rmtree(copy)
    return Verdict(patch.stem, law, found, time.monotonic() - started)


def page(verdicts: list[Verdict]) -> str:
    """The table as Markdown."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    applied = [one for one in verdicts if one.found != "does not apply"]
    at_once = sum(one.found == "yes" for one in applied)
    later = sum(one.found.startswith("with") for one in applied)
    lines = [
        "# Defects put back",
        "",
        f"Command: `python tests/put_back.py`, at {commit.stdout.strip() or 'an unknown commit'}.",
        "",
        f"{len(applied)} defects were put back into the source one at a time. **{at_once} are found by the law that is",
        f"about them with the examples of `make test`**, {later} more with ten times as many.",
        "",
        "| defect | law | found |",
        "|---|---|---|",
    ]
    lines += [f"| {one.defect} | {one.law.removeprefix('tests/')} | {one.found} |" for one in verdicts]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("defects", nargs="*", help="names of files in tests/defects, without .patch; all by default")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "defects.md")
    given = parser.parse_args()
    patches = [DEFECTS / f"{name}.patch" for name in given.defects] or sorted(DEFECTS.glob("*.patch"))
    verdicts = []
    for patch in patches:
        with tempfile.TemporaryDirectory() as folder:
            verdicts.append(put_back(patch, Path(folder)))
        print(f"{verdicts[-1].defect}: {verdicts[-1].found} ({verdicts[-1].seconds:.0f} s)", flush=True)
    if not given.defects:
        given.out.write_text(page(verdicts), encoding="utf-8")


if __name__ == "__main__":
    main()
