"""Whether `corrected_auc_of` holds for the models of others: `python -m benchmarks.any_model` (an hour on one core).

Each set has 300 rows, 90 of them positive, and 10 columns: noise, or a known signal of lines and a curve. A grid of
logistic regressions, of boosted trees of scikit-learn and of CatBoost, if it is installed, is searched on it by five
folds. The truth is the AUC of the models of the folds with the parameters chosen, on 20,000 fresh rows; on noise it is
.5. `--records FILE` keeps the sets, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from benchmarks.corrected_scores import Setting
from vrspam.metrics import corrected_auc_of, roc_auc

DATA = {"noise": Setting(300, 10, 90), "signal": Setting(300, 10, 90, kind="curves", strength=1.9)}


def catboost() -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(iterations=40, verbose=0, thread_count=1, allow_writing_files=False, random_seed=0)


MODELS: dict[str, tuple[Callable[[], Any], dict[str, list[Any]]]] = {
    "LogisticRegression": (LogisticRegression, {"C": [0.001, 0.01, 0.1, 1.0, 10.0]}),
    "HistGradientBoosting": (
        lambda: HistGradientBoostingClassifier(max_iter=40, random_state=0),
        {"learning_rate": [0.03, 0.1], "max_leaf_nodes": [4, 15]},
    ),
    "CatBoost": (catboost, {"learning_rate": [0.03, 0.1], "depth": [2, 4]}),
}


def judge(model: str, data: str, number: int) -> list[float]:
    """The best mean AUC of the search, the corrected AUC and its interval, and the truth."""
    setting, (make, grid) = DATA[data], MODELS[model]
    X, y = setting.draw(np.random.default_rng([number, sum(map(ord, data))]))
    folds = StratifiedKFold(5, shuffle=True, random_state=number)
    search = GridSearchCV(make(), grid, scoring="roc_auc", cv=folds, refit=False).fit(X, y)
    found = corrected_auc_of(search, X, y)
    truth = 0.5
    if data != "noise":
        fresh, label = setting.draw_fresh(np.random.default_rng([number, 7]))
        chosen = search.cv_results_["params"][search.best_index_]
        aucs = []
        for train, _ in folds.split(X, y):
            fitted = clone(search.estimator).set_params(**chosen).fit(X[train], y[train])
            aucs.append(roc_auc(label, fitted.predict_proba(fresh)[:, 1]))
        truth = float(np.mean(aucs))
    return [float(search.cv_results_["mean_test_score"].max()), found.auc, found.low, found.high, truth]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", help=f"some of {', '.join(MODELS)}")
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--records", type=Path, help="a file of sets that are done, which is added to")
    given = parser.parse_args()
    models = given.models or [name for name in MODELS if name != "CatBoost" or find_spec("catboost") is not None]
    done: dict[tuple[str, str, int], list[float]] = {}
    if given.records is not None and given.records.exists():
        for line in given.records.read_text("utf-8").splitlines():
            model, data, number, *values = json.loads(line)
            done[model, data, number] = values
    for number in range(given.sets):
        for model in models:
            for data in DATA:
                if (model, data, number) in done:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    done[model, data, number] = judge(model, data, number)
                if given.records is not None:
                    with given.records.open("a", encoding="utf-8") as file:
                        print(json.dumps([model, data, number, *done[model, data, number]]), file=file)
    print("| model | data | sets | AUC | best shown - AUC | corrected - AUC | covers, % | width |")
    print("|---|---|---|---|---|---|---|---|")
    for model in models:
        for data in DATA:
            rows = np.array(
                [v for (m, d, number), v in done.items() if (m, d) == (model, data) and number < given.sets]
            )
            shown, auc, low, high, truth = rows.T
            covers = 100 * np.mean((low <= truth) & (truth <= high))
            errors = (
                f"{np.mean(v - truth):+.4f} ± {np.std(v - truth) / np.sqrt(truth.size):.4f}" for v in (shown, auc)
            )
            cells = [model, data, f"{truth.size}", f"{truth.mean():.3f}", *errors, f"{covers:.1f}"]
            print(f"| {' | '.join(cells)} | {np.mean(high - low):.3f} |", flush=True)


if __name__ == "__main__":
    main()
