"""Whether `corrected_score_` and its interval hold for rows of few groups: `python -m benchmarks.grouped_scores`.

Groups have 5 to 50 rows. Columns and log-odds have a part that all rows of a group share: with standard deviations of
0.5 and 0.5 (mild) or 1 and 1.5 (strong), where those of single rows are 1. With "noise" columns and labels have nothing
to do with each other; with "lines" the log-odds are linear in four of eight columns. Judged on rows of 4,000 new
groups; noise has the AUC .5 there, whatever is fitted. A set takes .1 to .3 s (linear, additive) or .4 to 1.5 s (auto).
Each is written to `--records` when it is done: the command goes on where it stopped; `--stored` shows what there is.
"""

from __future__ import annotations

import argparse
import itertools
import json
import tempfile
import warnings
from pathlib import Path
from typing import NamedTuple

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
            fresh, label, _ = self.draw(np.random.default_rng([number, 7]), np.full(80_000, 5))
            truth = roc_auc(label, model.decision_function(fresh))
        return truth, model.best_score_, model.corrected_score_, *model.corrected_interval_

    def line(self, found: list[tuple[float, float, float, float, float]]) -> str:
        """A row of the table, for the results of `judge`."""
        truth, best, score, low, high = np.array(found).T
        known = np.isfinite(low)  # three folds could be made of the groups
        error, covered = score - truth, ((low <= truth) & (truth <= high))[known]
        noise, share = error.std(ddof=1) / np.sqrt(error.size), (covered.sum() + 2.0) / (covered.size + 4.0)
        share_noise = np.sqrt(share * (1.0 - share) / (covered.size + 4.0))  # Agresti & Coull
        name = f"{self.groups}, {self.effect}, {'lines' if self.signal else 'noise'}, {self.features}"
        sets = f"{error.size}" if known.all() else f"{error.size} ({covered.size})"
        return (
            f"| {name} | {sets} | {truth.mean():.3f} | {np.mean(best - truth):+.3f} | {error.mean():+.3f} ± "
            f"{noise:.3f} | {100 * covered.mean():.1f} ± {100 * share_noise:.1f} | {np.mean((high - low)[known]):.3f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=300)
    parser.add_argument("--features", default="linear,additive,auto")
    parser.add_argument("--groups", default="6,8,12,20,40,80")
    parser.add_argument("--records", type=Path, default=Path(tempfile.gettempdir()) / "vrspam-grouped-scores.jsonl")
    parser.add_argument("--stored", action="store_true", help="show the sets that are stored, and fit no more")
    given = parser.parse_args()
    numbers = [int(groups) for groups in given.groups.split(",")]
    axes = itertools.product(numbers, EFFECTS, (0.0, 1.0), given.features.split(","))
    settings = {setting: dict[int, tuple[float, float, float, float, float]]() for setting in map(Setting._make, axes)}
    with open(given.records, "a+") as records:
        records.seek(0)
        for setting, number, result in map(json.loads, records):
            settings.get(Setting(*setting), {})[number] = result
        for number, (setting, found) in itertools.product(range(given.sets), settings.items()):
            if number not in found and not given.stored:
                found[number] = setting.judge(number)
                print(json.dumps([setting, number, found[number]]), file=records, flush=True)
    columns = [
        "groups, effects, data, features",
        "sets (with an interval)",
        "AUC",
        "`best_score_` - AUC",
        "`corrected_score_` - AUC",
    ]
    print("|", " | ".join([*columns, "covers, %", "width"]), "|\n|---|---|---|---|---|---|---|")
    for setting, found in settings.items():
        if len(found) > 1:
            print(setting.line([result for number, result in found.items() if number < given.sets]))


if __name__ == "__main__":
    main()
