"""Whether `corrected_score_` and its interval hold for rows of few groups: `python -m benchmarks.grouped_scores`.

Groups have 5 to 50 rows. Columns and log-odds have a part that all rows of a group share: with standard deviations of
0.5 and 0.5 (mild) or 1 and 1.5 (strong), where those of single rows are 1. With "noise" columns and labels have nothing
to do with each other; with "lines" the log-odds are linear in four of eight columns. Judged on rows of 4,000 new
groups; noise has the AUC .5 there, whatever is fitted. 300 sets of each setting take hours; `--sets 30` gives a first
look.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from typing import NamedTuple

import joblib
import numpy as np
from scipy.special import expit

from vrspam import AUCClassifierCV
from vrspam.metrics import roc_auc

EFFECTS = {"mild": (0.5, 0.5), "strong": (1.0, 1.5)}


class Setting(NamedTuple):
    groups: int
    effect: str
    signal: float
    features: str

    def draw(self, rng: np.random.Generator, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Columns, labels and groups; `sizes` are the rows of each group."""
        of_columns, of_labels = EFFECTS[self.effect]
        group = np.repeat(np.arange(sizes.size), sizes)
        X = rng.standard_normal((group.size, 8)) + of_columns * rng.standard_normal((sizes.size, 8))[group]
        odds = of_labels * rng.standard_normal(sizes.size)[group] - 0.5 + self.signal * X[:, :4].sum(axis=1) / 2.0
        return X, rng.random(group.size) < expit(odds), group

    def judge(self, number: int) -> tuple[float, float, float, float, float]:
        """The truth, `best_score_`, `corrected_score_` and the ends of its interval, for one set."""
        rng = np.random.default_rng([number, self.groups, sum(map(ord, self.effect)), int(10 * self.signal)])
        X, y, group = self.draw(rng, rng.integers(5, 51, self.groups))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fewer folds than five, ends of the grid
            model = AUCClassifierCV(features=self.features, random_state=number, n_jobs=1).fit(X, y, groups=group)
        truth = 0.5
        if self.signal:
            fresh, label, _ = self.draw(np.random.default_rng([number, 7]), np.full(4_000, 5))
            truth = roc_auc(label, model.decision_function(fresh))
        return truth, model.best_score_, model.corrected_score_, *model.corrected_interval_


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=300)
    parser.add_argument("--features", default="linear,additive,auto")
    parser.add_argument("--groups", default="6,8,12,20,40,80")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    columns = ["groups, effects, data, features", "sets", "AUC", "`best_score_` - AUC", "`corrected_score_` - AUC"]
    print("|", " | ".join([*columns, "covers, %", "width"]), "|")
    print("|---|---|---|---|---|---|---|")
    numbers = [int(groups) for groups in options.groups.split(",")]
    for groups, effect, signal, features in itertools.product(
        numbers, EFFECTS, (0.0, 1.0), options.features.split(",")
    ):
        setting = Setting(groups, effect, signal, features)
        found = joblib.Parallel(options.jobs)(joblib.delayed(setting.judge)(number) for number in range(options.sets))
        truth, best, score, low, high = np.array(found).T
        known = np.isfinite(low)  # three folds could not be made of the others
        error, covered = (score - truth)[known], ((low <= truth) & (truth <= high))[known]
        noise, share = error.std(ddof=1) / np.sqrt(error.size), covered.mean()
        share_noise = np.sqrt(max(share * (1.0 - share), 0.01) / error.size)
        print(
            f"| {groups}, {effect}, {'lines' if signal else 'noise'}, {features} | {error.size} | {truth.mean():.3f} | "
            f"{np.mean(best - truth):+.3f} | {error.mean():+.3f} ± {noise:.3f} | "
            f"{100 * share:.1f} ± {100 * share_noise:.1f} | {np.mean((high - low)[known]):.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
