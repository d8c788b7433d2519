"""
A model for other programs: ONNX, Python, SQL
=============================================

One learns to write one model in three forms that need no vrspam: an ONNX graph, one file of plain Python, and one SQL
expression. All three give the scores of the model, text and missing values included.
"""

import runpy
import sqlite3
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
import pandas as pd

from vrspam import AUCClassifierCV
from vrspam.export import to_onnx, to_python, to_sql
from vrspam.plotting import plot_shapes

# %%
# Made-up patients, and a sum of curves.

rng = np.random.default_rng(0)
table = pd.DataFrame(
    {
        "age": rng.normal(55, 12, 1500).round(),
        "cholesterol": np.where(rng.random(1500) < 0.08, np.nan, rng.normal(200, 35, 1500).round()),
        "smoker": rng.choice(["yes", "no"], 1500, p=[0.25, 0.75]),
    }
)
odds = 0.06 * (table["age"] - 55) + 0.015 * (table["cholesterol"].fillna(200) - 200) + 1.1 * (table["smoker"] == "yes")
sick = odds + rng.logistic(size=len(table)) > 2.4
model = AUCClassifierCV(features="additive").fit(table, sick)
plot_shapes(model, figure=plt.figure())
plt.show()

# %%
# Three forms
# -----------

graph = onnxruntime.InferenceSession(to_onnx(model, dtype="float64").SerializeToString())
inputs = {
    "age": table[["age"]].to_numpy(float),
    "cholesterol": table[["cholesterol"]].to_numpy(float),
    "smoker": table[["smoker"]].to_numpy(object),
}
scorer = Path(tempfile.mkdtemp()) / "scorer.py"
scorer.write_text(to_python(model), encoding="utf-8")
score = runpy.run_path(str(scorer))["score"]
with sqlite3.connect(":memory:") as database:
    table.to_sql("patients", database, index=False)
    in_sql = database.execute(f"SELECT ({to_sql(model)}) FROM patients").fetchall()
scores = {
    "onnxruntime": graph.run(["score"], inputs)[0],
    "plain Python": np.array([score(row) for row in table.to_dict("records")]),
    "SQLite": np.ravel(in_sql),
}

# %%
# Equal scores
# ------------
# What differs is rounding. (The graph is in double precision here; by default it takes and gives single precision.)

ours = model.decision_function(table)
_, axes = plt.subplots(1, 3, figsize=(10, 3.4), sharey=True, layout="constrained")
for ax, (name, values) in zip(axes, scores.items(), strict=True):
    print(f"{name:13} differs by at most {np.abs(values - ours).max() / ours.std():.0e} of the spread of the scores")
    ax.plot(ours, values, ".", markersize=3)
    ax.set(title=name, xlabel="score of the model")
axes[0].set_ylabel("score of the exported form")
print("\n".join(to_python(model).splitlines()[:6]))
plt.show()
