"""docs/add_a_map.md, followed to the letter: the changes that the page names are all that a map needs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import vrspam

PACKAGE = Path(vrspam.__file__).parent
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "add_a_map.md").read_text("utf-8")

PROGRAM = """
import importlib.abc, importlib.util, sys
from pathlib import Path

folder = Path(sys.argv[1])

class Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if self._file(name).exists():
            return importlib.util.spec_from_loader(name, self)

    def _file(self, name):
        return folder / (name.replace(".", "/") + ".py")

    def exec_module(self, module):
        exec(compile(self._file(module.__name__).read_text("utf-8"), module.__name__, "exec"), vars(module))

sys.meta_path.insert(0, Changed())

import numpy as np, pandas as pd
from vrspam import AUCClassifierCV
from vrspam.export import to_python, to_sql
from vrspam.tool import load_model, save_model, train
from vrspam.trusted import SKOPS_TYPES

rng = np.random.default_rng(0)
frame = pd.DataFrame({"age": rng.normal(50, 12, 300), "town": rng.choice(["Graz", "Linz"], 300)})
y = np.abs(frame["age"] - 50) + 8 * (frame["town"] == "Graz") + rng.normal(0, 4, 300) > 14

model = AUCClassifierCV([0.01, 1.0], features=["standardized", "hinges"], cv=3, random_state=0).fit(frame, y)
assert model.selection_["features"] == ["standardized", "hinges"], model.selection_
alone = AUCClassifierCV([0.01], features="hinges", cv=3, random_state=0).fit(frame, y)
assert alone.features_.kind == "hinge", alone.features_.kind
scores = alone.decision_function(frame)
assert abs(sum(alone.explain_one(frame[:1]).values()) - scores[0]) < 1e-9
exported = {}
exec(to_python(alone), exported)
assert abs(exported["score"](frame.iloc[0].to_dict()) - scores[0]) < 1e-9
assert "CASE" in to_sql(alone)
trained = train(frame.assign(sick=y), "sick", features="hinges", n_splits=3)
save_model(trained, folder / "model.json")
rows = frame[list(trained.schema.columns)]
assert np.array_equal(load_model(folder / "model.json").score(rows), trained.score(rows))
assert "vrspam.features.hinges.HingeFeatures" in SKOPS_TYPES
"""


def code_of_the_class() -> str:
    """The file `hinges.py` that the page builds."""
    lines = [line[4:] for line in PAGE.splitlines() if line.startswith((">>> ", "... "))]
    return "\n".join(lines[: lines.index("from vrspam import AUCClassifierCV")]) + "\n"


def indented_lines() -> list[str]:
    """The lines that the page adds to `features/names.py`."""
    return [line.strip() for line in PAGE.splitlines() if re.match(r"    \S", line)]


def test_the_page_is_all_that_a_map_needs(tmp_path):
    files = re.findall(r"^\| `(features/\w+\.py)` \|", PAGE, re.MULTILINE)
    assert files == ["features/hinges.py", "features/names.py"]
    added_import, added_line = indented_lines()
    names = (PACKAGE / "features" / "names.py").read_text("utf-8")
    first_import = "from vrspam.features.kernel import KernelFeatures\n"
    last_candidate = '    "boosted": BoostedFeatures(),\n'
    assert names.count(first_import) == names.count(last_candidate) == 1
    names = names.replace(first_import, f"{added_import}\n{first_import}")
    names = names.replace(last_candidate, f"    {added_line}\n{last_candidate}")
    room = tmp_path / "vrspam" / "features"
    room.mkdir(parents=True)
    (room / "hinges.py").write_text(code_of_the_class(), "utf-8")
    (room / "names.py").write_text(names, "utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-3000:]
