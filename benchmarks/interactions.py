"""How often pairs of columns are named that do not interact, and that do: `python -m benchmarks.interactions`.

Six columns correlate by .7. With "additive" the log-odds are a sum of curves of three of them, and every pair that is
named is wrong; with "a pair" the product of two columns is added, which interact. About five minutes on one core.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import product

import numpy as np
from scipy.special import expit

from vrspam import AUCClassifierCV

PAIR = ("x0", "x1")


def draw(rng: np.random.Generator, rows: int, strength: float) -> tuple[np.ndarray, np.ndarray]:
    X = np.sqrt(0.7) * rng.standard_normal((rows, 1)) + np.sqrt(0.3) * rng.standard_normal((rows, 6))
    odds = 1.2 * X[:, 0] + np.abs(X[:, 1]) - 0.8 * X[:, 2] - 1.0 + strength * X[:, 0] * X[:, 1]
    return X, rng.random(rows) < expit(odds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=48)
    parser.add_argument("--features", default="kernel,trees,auto")
    parser.add_argument("--rows", default="300,1500")
    given = parser.parse_args()
    print("| features, rows | sets | additive: models that name a pair | a pair: named | another one named |")
    print("|---|---|---|---|---|", flush=True)
    for features, rows in product(given.features.split(","), map(int, given.rows.split(","))):
        wrong = right = other = 0
        for number, strength in product(range(given.sets), (0.0, 1.0)):
            X, y = draw(np.random.default_rng([number, rows]), rows, strength)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # ends of the grid
                model = AUCClassifierCV(features=features, random_state=number, n_jobs=1).fit(X, y)
            named = set(model.interactions_)
            if strength:
                right, other = right + (PAIR in named), other + bool(named - {PAIR})
            else:
                wrong += bool(named)
        print(f"| {features}, {rows:,} | {given.sets} | {wrong} | {right} | {other} |", flush=True)


if __name__ == "__main__":
    main()
