"""How tests and intervals of out-of-fold scores hold: `python -m benchmarks.out_of_fold --workers 16`.

Logistic regressions are trained out of fold, by five folds, on noise or on a signal; two of them, on columns of their
own, are equally good. The truth of an interval is the AUC of the models of the folds on 20,000 fresh rows, that of the
test is that neither is better. `--folds none` takes the scores for those of a test set.
"""

from __future__ import annotations

import argparse
import warnings
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from vrspam.metrics import delong_test, roc_auc, roc_auc_ci

COLUMNS = 10  # of each of the two models


class Setting(NamedTuple):
    """Rows, how strong the signal is (the distance between the classes in each of two columns), and the positives."""

    rows: int
    strength: float
    share: float = 0.3
    penalty: float = 1.0

    def draw(self, rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
        y = np.arange(rows) < round(self.share * rows)
        X = rng.standard_normal((rows, 2 * COLUMNS))
        X[:, [0, 1, COLUMNS, COLUMNS + 1]] += self.strength * y[:, np.newaxis]
        return X, y


SETTINGS = [Setting(rows, strength) for rows in (300, 1000) for strength in (0.0, 0.2, 0.5, 1.0)]


def judge(setting: Setting, number: int) -> list[list[bool]]:
    """For scores taken as out-of-fold ones, and as those of a test set: covered, rejected, and the interval's width."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng([number, setting.rows, round(10 * setting.strength)])
    X, y = setting.draw(rng, setting.rows)
    fresh, label = setting.draw(rng, 20_000)
    folds, scores = np.empty(y.size, dtype=int), np.empty((2, y.size))
    truths = np.zeros(2)
    for fold, (train, test) in enumerate(StratifiedKFold(5, shuffle=True, random_state=number).split(X, y)):
        folds[test] = fold
        for model in (0, 1):
            columns = slice(model * COLUMNS, (model + 1) * COLUMNS)
            fitted = LogisticRegression(C=setting.penalty).fit(X[train, columns], y[train])
            scores[model, test] = fitted.decision_function(X[test, columns])
            if setting.strength > 0.0:
                truths[model] += roc_auc(label, fitted.decision_function(fresh[:, columns])) / 5
            else:
                truths[model] += 0.1
    found = []
    for given in (folds, None):
        interval = roc_auc_ci(y, scores[0], folds=given)
        test = delong_test(y, *scores, folds=given)
        different = test.low <= truths[0] - truths[1] <= test.high
        covered = interval.low <= truths[0] <= interval.high
        found.append([covered, test.p_value < 0.05, different, interval.high - interval.low, truths[0]])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=400)
    parser.add_argument("--workers", type=int, default=1)
    from benchmarks.out_of_fold import judge as judge_elsewhere  # by its name: other processes cannot read this script

    given = parser.parse_args()
    print(f"{given.sets} sets of each row. In %: the interval of an AUC covers, the test of two equals rejects at 5 %,")
    print("and the interval of the difference covers; with `folds=`, and as rows of a test set.\n")
    print("| rows | signal | AUC | covers | rejects | covers, difference | width | covers | rejects | covers, d. |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for setting in SETTINGS:
        run = Parallel(n_jobs=given.workers)(delayed(judge_elsewhere)(setting, number) for number in range(given.sets))
        values = np.array(run, dtype=float).mean(axis=0)
        (covered, rejected, different, width, auc), (alone, too_often, apart, _, _) = values.tolist()
        shares = [f"{100 * share:.1f}" for share in (covered, rejected, different)]
        plain = [f"{100 * share:.1f}" for share in (alone, too_often, apart)]
        cells = [f"{setting.rows}", f"{setting.strength:g}", f"{auc:.3f}", *shares, f"{width:.3f}", *plain]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
