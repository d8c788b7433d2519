"""How often the 95 % bands of curves contain the mean curve: `python -m benchmarks.bands` (ten minutes on one core).

Rows are drawn, fitted, and their curves read at six values of three columns: one of strong, one of weak and one of no
effect. The truth at a value is the mean of the curve over all sets, so the bias of the penalty is left out. The scale
of a score means nothing to a ranking, and another l2 gives another one; so curves and bands are divided by the
standard deviation of the score over the rows. The last column has them as they are.
"""

from __future__ import annotations

import argparse
import warnings
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from vrspam import AUCClassifierCV

VALUES = np.array([-1.5, -1.0, -0.5, 0.5, 1.0, 1.5])
READ = (0, 1, 4)  # columns


class Setting(NamedTuple):
    features: str
    kind: str
    rows: int

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Five normal columns, and labels."""
        X = rng.standard_normal((self.rows, 5))
        odds = {
            "noise": 0.0 * X[:, 0],
            "lines": X[:, 0] + 0.5 * X[:, 1],
            "curves": 1.5 * np.abs(X[:, 0]) - 1.2 + 0.5 * X[:, 1],
        }[self.kind]
        return X, rng.random(self.rows) < expit(odds - 0.5)

    def curves(self, number: int) -> np.ndarray:
        """Curve, lower and upper end of its band, at all values, and the spread of the score, for one set."""
        X, y = self.draw(np.random.default_rng([number, self.rows]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ends of the grid
            model = AUCClassifierCV(features=self.features, random_state=number, n_jobs=1).fit(X, y)
        shapes = [list(model.shape_functions_.values())[column] for column in READ]
        parts = [[shape.contribution, shape.low, shape.high] for shape in shapes]
        found = [np.interp(VALUES, shapes[j].grid, parts[j][k]) for k in range(3) for j in range(len(READ))]
        spread = float(np.std(model.decision_function(X)))
        return np.concatenate([*found, [spread if spread > 0.0 else 1.0]])


SETTINGS = [
    *(Setting(features, kind, 200) for features in ("standardized", "additive") for kind in ("noise", "lines")),
    Setting("additive", "curves", 300),
    Setting("standardized", "lines", 1_000),
    Setting("kernel 1", "curves", 300),
    Setting("auto", "noise", 200),
    Setting("auto", "curves", 300),
]


def covered(found: np.ndarray) -> np.ndarray:
    """The share of sets whose band contains the mean curve, for each column; `found` has a line for each set."""
    value, low, high = np.split(found, 3, axis=1)
    truth = value.mean(axis=0)
    return ((low <= truth) & (truth <= high)).reshape(len(found), len(READ), -1).mean(axis=(0, 2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--features", default="standardized,additive,kernel 1,auto")
    given = parser.parse_args()
    columns = ["features, data, rows", "sets", "covers, %", "strong, weak, no effect", "with the scale, %"]
    print("|", " | ".join(columns), "|\n|---|---|---|---|---|", flush=True)
    for setting in SETTINGS:
        if setting.features in given.features.split(","):
            found = np.stack([setting.curves(number) for number in range(given.sets)])
            parts, spread = found[:, :-1], found[:, -1:]
            relative, absolute = 100.0 * covered(parts / spread), 100.0 * covered(parts)
            each = ", ".join(f"{value:.1f}" for value in relative)
            name = f"{setting.features}, {setting.kind}, {setting.rows:,}"
            print(f"| {name} | {given.sets} | {relative.mean():.1f} | {each} | {absolute.mean():.1f} |", flush=True)


if __name__ == "__main__":
    main()
