"""The pages that say how to add something are followed literally, in a copy of the repository, and it works.

A block after a paragraph that begins with the name of a file is that file, or a change of it: `-` and `+` stand before
lines that go and that come, `@@` between places. If a page forgot a file, what it adds would not work.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^`(\w+/[\w/.]+)` (?:[^\n]+\n)+\n```(python|diff)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def changed(text: str, diff: str) -> str:
    """The text with the changes of a block."""
    for place in re.split(r"^@@\n", diff, flags=re.MULTILINE):
        lines = place.splitlines(keepends=True)
        before = "".join(line[1:] or "\n" for line in lines if not line.startswith("+"))
        after = "".join(line[1:] or "\n" for line in lines if not line.startswith("-"))
        assert text.count(before) == 1, f"not found, or not once:\n{before}"
        text = text.replace(before, after)
    return text


def follow(page: str, copy: Path) -> list[str]:
    """Write and change the files that a page names, in a copy of the package and its tests; return their names."""
    leave_out = shutil.ignore_patterns("__pycache__", "golden", "defects", "data")
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "tests", copy / "tests", ignore=leave_out)
    steps = BLOCK.findall((ROOT / "docs" / page).read_text("utf-8"))
    for name, kind, block in steps:
        file = copy / name
        assert file.exists() == (kind == "diff")
        file.write_text(changed(file.read_text("utf-8"), block) if kind == "diff" else block, "utf-8")
    return [name for name, _, _ in steps]


def run(copy: Path, program: str) -> None:
    """Run a program with the copy in place of the package."""
    path = os.pathsep.join(map(str, (copy / "src", copy / "tests")))
    environment = {**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(copy / "cache")}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], env=environment, cwd=copy, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


PENALTY = """
from typing import get_args
import numpy as np
from checks import best_of_all_pieces, check_penalty
from helpers import LOSSES, PENALTIES, make_data
from vrspam import AUCClassifier, AUCClassifierCV
from vrspam._utils.names import PenaltyName
from vrspam.objective import Objective
from vrspam.penalties import family
from vrspam.solvers.gram import GramDescent
from vrspam.tool import TrainPlan

case = PENALTIES["rounded net"]
check_penalty(case.penalty, 4)
X, y = make_data(40, 4, seed=3, correlated=False)
X /= X.std(axis=0)
value, w = best_of_all_pieces(X, y, False, case.pieces, case.penalty.value)
objective = Objective(LOSSES["squared, moments"].make(X, y), case.penalty)
assert GramDescent().refuses(objective) is None
np.testing.assert_allclose(GramDescent().solve(objective, tol=1e-16, max_iter=5000).w, w, atol=1e-8)
for model in (AUCClassifier(0.01, 0.05, penalty="huber"), AUCClassifierCV([0.01], l1s=[0.05], penalty="huber", cv=2)):
    np.testing.assert_allclose(model.set_params(tol=1e-14, max_iter=5000).fit(X, y).coef_[0], w, atol=1e-5)
assert get_args(PenaltyName) == tuple(family.PENALTIES)
assert TrainPlan(target="y", penalty="huber", l1=[0.0]).penalty == "huber"
"""


LOSS = """
from typing import get_args
import numpy as np
from checks import check_loss
from helpers import LOSSES, make_data
from scipy import sparse
from vrspam import AUCClassifier, AUCClassifierCV
from vrspam import objective
from vrspam._utils.names import LossName
from vrspam.objective import ElasticNet, Objective
from vrspam.solvers.smooth import ProximalGradient
from vrspam.tool import TrainPlan

X, y = make_data(40, 4, seed=3, correlated=False)
X /= X.std(axis=0)
made = LOSSES["logistic pairs"].make(sparse.csr_array(X), y)
check_loss(made)
best = ProximalGradient().solve(Objective(made, ElasticNet(0.01, 0.02)), tol=1e-16, max_iter=50_000)
model = AUCClassifier(0.01, 0.02, loss="logistic", tol=1e-12).fit(X, y)
np.testing.assert_allclose(model.coef_[0], best.w, atol=1e-6)
halved = AUCClassifier(0.01, 0.02, loss="logistic", tol=1e-12).fit(np.vstack([X, X]), np.tile(y, 2), np.tile([0.5], 80))
np.testing.assert_allclose(halved.coef_[0], best.w, atol=1e-6)
grid = AUCClassifierCV([0.01], l1s=[0.02], loss="logistic", cv=2, tol=1e-12).fit(X, y)
np.testing.assert_allclose(grid.coef_[0], best.w, atol=1e-6)
assert get_args(LossName) == tuple(objective.LOSSES)
assert TrainPlan(target="y", loss="logistic").loss == "logistic"
"""

SOLVER = """
from checks import best_of_all_pieces, check_solver
from helpers import LOSSES, PENALTIES, SOLVERS, make_data

X, y = make_data(40, 4, seed=3, correlated=False)
X /= X.std(axis=0)
loss = LOSSES["squared, moments"].make(X, y)
for name in ("ridge", "elastic net", "signs"):
    penalty, pieces = PENALTIES[name]
    best = best_of_all_pieces(X, y, False, pieces, penalty.value)
    assert check_solver(SOLVERS["PlainProximalGradient"](), loss, penalty, best)
"""

MEASURE = """
import numpy as np
from helpers import make_data
from vrspam import AUCClassifierCV
from vrspam.metrics.top import precision_at_top_columns

positive = np.arange(20) % 3 == 0
scores = np.column_stack([np.arange(20.0), -np.arange(20.0), np.zeros(20)])
found = precision_at_top_columns(positive, scores)
np.testing.assert_allclose(found, [positive[-2:].mean(), positive[:2].mean(), positive.mean()])
twice = precision_at_top_columns(positive, scores, np.where(positive, 0.0, 1.0))
np.testing.assert_allclose(twice, 0.0)
X, y = make_data(80, 4, seed=3, correlated=False)
model = AUCClassifierCV(scoring="precision_at_top", cv=2).fit(X, y)
assert model.measure_ == "precision among the top tenth"
by_function = AUCClassifierCV(
    scoring=lambda positive, scores, weights: precision_at_top_columns(positive, scores[:, None], weights)[0], cv=2
).fit(X, y)
assert (model.l2_, model.best_score_) == (by_function.l2_, by_function.best_score_)
"""

COMMAND = """
import inspect, io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from tool_data import patients, write
from vrspam.cli import main
from vrspam.cli.app import COMMANDS
from vrspam.tool import check
from vrspam.tool.tally import tally
from pathlib import Path

def said(*arguments):
    output, complaints = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(complaints):
        code = main(list(arguments))
    return code, output.getvalue(), complaints.getvalue()

frame = patients(rows=200)
frame["told"] = (frame["sick"] == frame["sick"].iloc[0]) + 0.0
data = str(write(frame, Path("patients.csv")))
severities = [finding.severity for finding in check(frame, "sick")]
counted = {severity: severities.count(severity) for severity in ("severe", "warning", "note")}
assert counted["severe"] == 1
assert tally(frame, "sick") == counted
assert tally(frame, "sick", drop=["told"])["severe"] == 0
assert list(inspect.signature(tally).parameters)[:3] == ["path", "target", "positive"]
assert "drop : sequence of str, optional" in tally.__doc__
code, shown, _ = said("--help")
assert code == 0 and COMMANDS["tally"] in " ".join(shown.replace("│", " ").split())
code, shown, _ = said("tally", "--help")
assert code == 0 and "--groups" in shown
code, shown, _ = said("tally", data, "--target", "sick", "--json")
assert (code, json.loads(shown)) == (0, counted)
code, shown, _ = said("tally", data, "--target", "sick", "--drop", "told")
assert code == 0 and shown.split()[:2] == ["severe", "0"]
code, _, sentence = said("tally", data, "--target", "sick", "--max-categories", "1")
assert (code, sentence) == (2, "vrspam: --max-categories 1 must be at least 2  (see vrspam tally --help)\\n")
"""


@pytest.mark.parametrize(
    ("page", "program", "n_files"),
    [
        ("add_a_loss.md", LOSS, 4),
        ("add_a_penalty.md", PENALTY, 5),
        ("add_a_solver.md", SOLVER, 2),
        ("add_a_measure.md", MEASURE, 2),
        ("add_a_command.md", COMMAND, 3),
    ],
)
def test_a_page_names_all_files(page, program, n_files, tmp_path):
    assert len(follow(page, tmp_path)) == n_files
    run(tmp_path, program)
