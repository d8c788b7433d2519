"""How tests and intervals of out-of-fold scores hold: `python -m benchmarks.out_of_fold --workers 16`.

Logistic regressions are trained out of fold, by five folds, on noise or on a signal; two of them, on columns of their
own, are equally good. The truth of an interval is the AUC of the models of the folds on 20,000 fresh rows, that of the
test is that neither is better. The page goes to docs/results/out_of_fold.md, or `--out`; `--records FILE` keeps the
sets, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from benchmarks.common import ROOT, made_by, where_and_when
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


def judge(setting: Setting, number: int) -> list[list[float]]:
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
        width = interval.high - interval.low
        found.append([float(value) for value in (covered, test.p_value < 0.05, different, width, truths[0])])
    return found


def row(setting: Setting, judged: list[list[list[float]]]) -> str:
    """The line of a setting."""
    with_folds, as_test_set = np.mean(judged, axis=0).tolist()
    covered, rejected, different, width, auc = with_folds
    shares = [f"{100 * share:.1f}" for share in (covered, rejected, different)]
    plain = [f"{100 * share:.1f}" for share in as_test_set[:3]]
    cells = [f"{setting.rows}", f"{setting.strength:g}", f"{auc:.3f}", *shares, f"{width:.3f}", *plain]
    return f"| {' | '.join(cells)} |"


WORDS = """
Two logistic regressions on ten columns each, equally good, by five folds. In %: the interval of an AUC covers, the test
of two equals rejects at 5 %, and the interval of the difference covers; with `folds=`, and in the last three columns as
for rows of a test set. The standard error of a share is 1.1 at 95 % and 400 sets.

| rows | signal | AUC | covers | rejects | covers, difference | width | covers | rejects | covers, d. |
|---|---|---|---|---|---|---|---|---|---|"""


def page(done: dict[int, dict[int, list[list[float]]]], sets: int, commit: str) -> str:
    """The page of results."""
    made = f"{made_by('out_of_fold', commit)} {where_and_when()}. {sets} sets of each row."
    lines = [row(setting, [done[place][number] for number in range(sets)]) for place, setting in enumerate(SETTINGS)]
    return "\n".join(["# Out-of-fold scores", "", made, WORDS, *lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=400)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--records", type=Path, help="a file of sets that are done, which is added to")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "out_of_fold.md")
    parser.add_argument("--commit", default="", help="what this copy of the tree is of, where git cannot tell")
    given = parser.parse_args()
    from benchmarks.out_of_fold import judge as judge_elsewhere  # by its name: other processes cannot read this script

    done: dict[int, dict[int, list[list[float]]]] = {place: {} for place in range(len(SETTINGS))}
    if given.records is not None and given.records.exists():
        for line in given.records.read_text("utf-8").splitlines():
            place, number, judged = json.loads(line)
            done[place][number] = judged
    tasks = [(place, number) for number in range(given.sets) for place in done if number not in done[place]]
    run = Parallel(n_jobs=given.workers, return_as="generator")(
        delayed(judge_elsewhere)(SETTINGS[place], number) for place, number in tasks
    )
    for (place, number), judged in zip(tasks, run, strict=True):
        done[place][number] = judged
        if given.records is not None:
            with given.records.open("a", encoding="utf-8") as file:
                print(json.dumps([place, number, judged]), file=file)
    text = page(done, given.sets, given.commit)
    given.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
