"""All laws with new random draws, round after round, until the minutes are over: `make fuzz`.

Each round is a seed. It runs the laws of this folder, each with a few times the examples of `make test`, and random
problems against exact arithmetic (tests/fuzz.py). The first round with a finding is the last: the command that repeats
it is printed, and so is the smallest case that Hypothesis has found.

    python tests/laws/fuzz_laws.py --minutes 20
"""

from __future__ import annotations

import argparse
import os
import random
import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
FACTOR = 3  # examples of a law in a round, as a multiple of those in `make test`
CASES = 100  # problems of each kind against exact arithmetic
SHRINKING = 600  # seconds that a finding may take beyond the limit, to become a small case


def commands(seed: int, jobs: int) -> list[list[str]]:
    """The commands of one round."""
    laws = ["-m", "pytest", "tests/laws", "-q", "-n", str(jobs), "--maxfail=3", f"--hypothesis-seed={seed}"]
    exact = ["tests/fuzz.py", "--cases", str(CASES), "--first", str(seed * CASES)]
    return [[sys.executable, *laws], [sys.executable, *exact]]


def settings_of(seed: int) -> dict[str, str]:
    """The variables that a round needs."""
    return {
        "HYPOTHESIS_PROFILE": "explore",
        "VRSPAM_LAWS": str(FACTOR),
        "VRSPAM_SEED": str(seed),
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
    }


def run(command: list[str], variables: dict[str, str], seconds: float) -> int | None:
    """The exit code of a command; None if time was over before it found anything."""
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **variables})
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.terminate()
        process.wait()
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument(
        "--seed", type=int, default=random.SystemRandom().randrange(1, 10**6), help="of the first round"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at the same time")
    options = parser.parse_args()
    end = time.monotonic() + 60.0 * options.minutes
    rounds = 0
    while time.monotonic() < end:
        seed = options.seed + rounds
        for command in commands(seed, options.jobs):
            variables = settings_of(seed)
            typed = " ".join([*(f"{name}={value}" for name, value in variables.items()), shlex.join(command)])
            print(f"round {rounds + 1}: {typed}", flush=True)
            code = run(command, variables, end - time.monotonic() + SHRINKING)
            if code:
                raise SystemExit(f"a finding of round {rounds + 1}; repeat it with\n    {typed}")
            if code is None:
                raise SystemExit(f"round {rounds + 1} did not end in time: a law is slow, or a finding does not shrink")
        rounds += 1
    print(f"{rounds} rounds, no finding; the first seed was {options.seed}")


if __name__ == "__main__":
    main()
