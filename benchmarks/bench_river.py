"""`RiverAUC` beside river's logistic regression: rolling AUC and time a row on a stream that drifts."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from river import linear_model, metrics, optim, preprocessing

from vrspam.online import RiverAUC

ROWS, COLUMNS, WINDOW = 12_000, 20, 1_000
CHANGE = 8_000  # the rule is another one from here on; before, it turns slowly
TIMES = (2_000, 8_000, 8_500, 9_000, 10_000, 12_000)


def drifting(seed: int = 0) -> tuple[list[dict[str, float]], list[bool]]:
    """Return rows with about 15 % positives, whose rule turns slowly and then changes at once."""
    rng = np.random.default_rng(seed)
    first, second, third = np.linalg.qr(rng.standard_normal((COLUMNS, 3)))[0].T
    X = rng.standard_normal((ROWS, COLUMNS)) * rng.uniform(0.5, 2.0, COLUMNS)
    angle = np.minimum(np.arange(ROWS) / CHANGE, 1.0)[:, np.newaxis] * np.pi / 2
    rules = np.cos(angle) * first + np.sin(angle) * second
    rules[CHANGE:] = third
    scores = np.einsum("ij,ij->i", X, rules)
    y = 2.0 * scores + rng.standard_normal(ROWS) > 2.7
    names = [f"x{j}" for j in range(COLUMNS)]
    return [dict(zip(names, row.tolist(), strict=True)) for row in X], y.tolist()


def models() -> dict[str, Any]:
    learners = {
        "RiverAUC(half_life=500)": RiverAUC(half_life=500.0),
        "RiverAUC(half_life=100)": RiverAUC(half_life=100.0),
        "RiverAUC()": RiverAUC(),
        'RiverAUC("spam")': RiverAUC("spam"),
        'RiverAUC("solam")': RiverAUC("solam"),
        'RiverAUC("opauc")': RiverAUC("opauc"),
        "LogisticRegression()": linear_model.LogisticRegression(),
        "LogisticRegression(SGD(0.1))": linear_model.LogisticRegression(optimizer=optim.SGD(0.1)),
    }
    return {name: preprocessing.StandardScaler() | learner for name, learner in learners.items()}


def run(model: Any, rows: list[dict[str, float]], labels: list[bool]) -> tuple[list[float], float]:
    """Return the rolling AUC at each of `TIMES`, and the microseconds a row to predict it and to learn from it."""
    measure, found, seconds = metrics.RollingROCAUC(WINDOW), [], 0.0
    for number, (x, y) in enumerate(zip(rows, labels, strict=True), start=1):
        start = time.perf_counter()
        predicted = model.predict_proba_one(x)
        model.learn_one(x, y)
        seconds += time.perf_counter() - start
        measure.update(y, predicted)
        if number in TIMES:
            found.append(measure.get())
    return found, 1e6 * seconds / len(rows)


def main() -> None:
    rows, labels = drifting()
    for model in models().values():  # compiles what is compiled
        run(model, rows[:50], labels[:50])
    print(
        f"\n## river: AUC of the last {WINDOW:,} rows, each scored before it was learned; the rule turns slowly, and "
        f"changes at {CHANGE:,}\n"
    )
    print("| model | " + " | ".join(f"{t:,}" for t in TIMES) + " | µs a row |\n|" + "---|" * (len(TIMES) + 2))
    for name, model in models().items():
        aucs, micro = run(model, rows, labels)
        print(f"| `{name}` | " + " | ".join(f"{auc:.3f}" for auc in aucs) + f" | {micro:.0f} |", flush=True)
