"""Use what an extra is for, in an environment that has this extra alone: `make test-extras`.

`python tests/extra_alone.py EXTRA` prints one line, or fails. It is no test of the suite, whose environment has nearly
all extras.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import vrspam
from vrspam import AUCClassifier, AUCClassifierCV

rng = np.random.default_rng(0)
X = rng.standard_normal((400, 4))
y = (X[:, 0] + rng.standard_normal(400) > 1.0).astype(int)


def command(*arguments: str) -> tuple[int, str]:
    program = Path(sys.executable).with_name("vrspam")
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    return done.returncode, (done.stdout + done.stderr).strip()


def nothing(folder: Path) -> None:
    AUCClassifier().fit(X, y)
    AUCClassifierCV(features="auto").fit(X, y).predict_proba(X)
    for module in ("pyarrow", "matplotlib", "typer", "dask", "pyspark", "onnx", "river", "openpyxl", "pandas"):
        assert find_spec(module) is None, f"{module} is installed, so this environment shows nothing"


def cli(folder: Path) -> None:
    assert "a9a" in command("datasets")[1]
    (folder / "rows.csv").write_text("a,sick\n1,0\n")
    code, words = command("train", str(folder / "rows.csv"), "--target", "sick")  # tables need the extra `data` as well
    assert (code, words.count("\n")) == (1, 0), words
    assert '".[data]"' in words, words


def report(folder: Path) -> None:
    from vrspam.report.blocks import Table
    from vrspam.report.page import Page

    page = Page("Scores")
    page.add("Result", Table(["model"], [["a"]]))
    assert "<h2>Result</h2>" in page.write(folder / "page.html").read_text("utf-8")


def data(folder: Path) -> None:
    from vrspam.tool import load_model, predict, save_model, train

    path = folder / "rows.csv"
    path.write_text("a,b,sick\n" + "".join(f"{a:.3f},{b:.3f},{s}\n" for (a, b), s in zip(X[:, :2], y, strict=True)))
    save_model(train(path, "sick", features="linear"), folder / "m.json")
    assert predict(load_model(folder / "m.json"), path, folder / "scores.csv") == 400


def plots(folder: Path) -> None:
    import matplotlib.pyplot as plt

    from vrspam.plotting import plot_roc

    plot_roc(y, AUCClassifier().fit(X, y).decision_function(X))
    plt.savefig(folder / "roc.png")


def excel(folder: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    for row in [["a", "b", "sick"], *([*map(float, x[:2]), int(s)] for x, s in zip(X, y, strict=True))]:
        book.active.append(row)
    book.save(folder / "rows.xlsx")
    from vrspam.tool import train

    words = ""
    try:
        train(folder / "rows.xlsx", "sick", features="linear")  # tables need the extra `data` as well
    except (ImportError, ValueError) as error:
        words = str(error)
    assert '".[data]"' in words, words


def dask(folder: Path) -> None:
    import dask.array as da

    from vrspam.distributed import DaskAUCClassifierCV

    DaskAUCClassifierCV(cv=3).fit(da.from_array(X, chunks=(100, 4)), da.from_array(y, chunks=100))


def onnx(folder: Path) -> None:
    import onnxruntime

    from vrspam.export import to_onnx

    graph = to_onnx(AUCClassifierCV(cv=3).fit(X, y))
    onnxruntime.InferenceSession(graph.SerializeToString())


def spark(folder: Path) -> None:
    import pandas as pd
    from pyspark.sql import SparkSession

    from vrspam.distributed import SparkAUCClassifierCV

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else workers take the python of PATH
    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    frame = session.createDataFrame(pd.DataFrame(X, columns=list("abcd")).assign(y=y))
    model = SparkAUCClassifierCV(cv=3).fit(frame, "y")
    assert model.score(model.transform(frame).select(*"abcdy"), "y") > 0.7
    session.stop()


def river(folder: Path) -> None:
    from vrspam.online import RiverAUC

    model = RiverAUC()
    for x, label in zip(X, y, strict=True):
        model.learn_one(dict(zip("abcd", x, strict=True)), bool(label))
    assert 0 <= model.predict_proba_one({"a": 1.0})[True] <= 1


USES: dict[str, Callable[[Path], None]] = {
    "none": nothing, "cli": cli, "data": data, "plots": plots, "excel": excel, "dask": dask, "onnx": onnx,
    "river": river, "spark": spark,
}  # fmt: skip

if __name__ == "__main__":
    name = sys.argv[1]
    with tempfile.TemporaryDirectory() as made:
        USES[name](Path(made))
    print(f"extra {name}: works alone (vrspam {vrspam.__version__})")
