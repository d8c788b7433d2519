"""
A stream row by row with river
==============================

Rows come one at a time, as dictionaries; a key appears half-way, and later the rule changes. One learns to use the
exact model as a classifier of river, and how a half-life compares with one that remembers all and with logistic
regression.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import matplotlib.pyplot as plt
from river import linear_model, metrics, preprocessing

from vrspam.online import RiverAUC

ROWS, CHANGE = 5_000, 3_000

# %%
# About 15 % of the rows are positive. ``pressure`` is measured from row 1,500 on, and decides from row 3,000 on.


def stream(seed: int = 0) -> Iterator[tuple[dict[str, float], bool]]:
    rng = random.Random(seed)
    for number in range(ROWS):
        x = {name: rng.gauss(0.0, 1.0) for name in ("heat", "flow", "noise")}
        hidden = rng.gauss(0.0, 1.0)
        if number >= 1_500:
            x["pressure"] = hidden
        score = x["heat"] + x["flow"] if number < CHANGE else x["heat"] + 1.5 * hidden
        yield x, score + rng.gauss(0.0, 0.5) > 1.6


# %%
# Each row is scored before it is learned from, so the AUC of the last 1,000 scores is honest.

models: dict[str, Any] = {
    "half-life of 300 rows": RiverAUC(half_life=300),
    "all rows": RiverAUC(),
    "logistic regression": preprocessing.StandardScaler() | linear_model.LogisticRegression(),
}
rolling = {name: metrics.RollingROCAUC(1_000) for name in models}
seen: list[int] = []
aucs: dict[str, list[float]] = {name: [] for name in models}
for number, (x, y) in enumerate(stream(), start=1):
    for name, model in models.items():
        rolling[name].update(y, model.predict_proba_one(x))
        model.learn_one(x, y)
    if number >= 1_000 and number % 100 == 0:
        seen.append(number)
        for name, measure in rolling.items():
            aucs[name].append(measure.get())

exact = models["half-life of 300 rows"]
print("coefficients now: " + ", ".join(f"{name} {value:.2f}" for name, value in exact.weights.items()))
print(f"certificate of the last solution: {exact.gap:.0e}")

_, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
for (name, values), style in zip(aucs.items(), ("-", "--", "-."), strict=True):
    print(f"{name:22} after the change, at its worst {min(values):.3f}; at the end {values[-1]:.3f}")
    ax.plot(seen, values, style, label=name)
ax.axvline(CHANGE, color="grey", linestyle=":", label="the rule changes")
ax.set(xlabel="row", ylabel="AUC of the last 1,000 rows")
ax.legend(loc="lower left")
plt.show()
