"""A stream row by row with river: a key appears half-way, the rule changes, and a model with a half-life follows.

Each row is scored before it is learned from. Run: python examples/river_stream.py (needs the extra `river`)
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from river import linear_model, metrics, preprocessing

from vrspam.online import RiverAUC

ROWS, CHANGE = 6_000, 4_000


def stream(seed: int = 0) -> Iterator[tuple[dict[str, float], bool]]:
    """Yield rows with about 15 % positives; `pressure` is measured from row 2,000 on, and decides from row 4,000 on."""
    rng = random.Random(seed)
    for number in range(ROWS):
        x = {name: rng.gauss(0.0, 1.0) for name in ("heat", "flow", "noise")}
        hidden = rng.gauss(0.0, 1.0)
        if number >= 2_000:
            x["pressure"] = hidden
        score = x["heat"] + x["flow"] if number < CHANGE else x["heat"] + 1.5 * hidden
        yield x, score + rng.gauss(0.0, 0.5) > 1.6


def main() -> None:
    models: dict[str, Any] = {
        "half-life of 500 rows": RiverAUC(half_life=500),
        "all rows": RiverAUC(),
        "logistic regression": preprocessing.StandardScaler() | linear_model.LogisticRegression(),
    }
    rolling = {name: metrics.RollingROCAUC(1_000) for name in models}
    print("AUC of the last 1,000 rows\n\nrow     " + "".join(f"{name:>24}" for name in models))
    for number, (x, y) in enumerate(stream(), start=1):
        for name, model in models.items():
            rolling[name].update(y, model.predict_proba_one(x))
            model.learn_one(x, y)
        if number % 1_000 == 0:
            print(f"{number:6}  " + "".join(f"{measure.get():24.3f}" for measure in rolling.values()))
    exact = models["half-life of 500 rows"]
    print("\ncoefficients now: " + ", ".join(f"{name} {value:.2f}" for name, value in exact.weights.items()))
    print(f"certificate of the last solution: {exact.gap:.1e}")


if __name__ == "__main__":
    main()
