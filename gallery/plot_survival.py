"""
Survival times beside scikit-survival
=====================================

Rows with an event, and rows that were only observed for a while, can be compared if the event came first. One learns to
rank by risk with ``ConcordanceRankerCV``, to judge it with intervals, also under heavy censoring, and how it stands
beside Cox's model of scikit-survival, if that is installed.
"""

import matplotlib.pyplot as plt
import numpy as np

from vrspam import ConcordanceRankerCV
from vrspam.metrics import concordance_index_ci, concordance_test

# %%
# A made-up trial
# ---------------
# The risk rises with the first column, and on both sides of 0 with the second; the third is noise. Six rows of ten are
# censored.


def trial(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, 3))
    months = 20 * rng.exponential(np.exp(-0.7 * X[:, 0] - 0.8 * np.abs(X[:, 1])))
    observed = rng.exponential(9.0, rows)
    return X, np.minimum(months, observed), months <= observed


(X, months, died), (X_new, months_new, died_new) = trial(600, 0), trial(2000, 1)

# %%
# Which way the score points
# --------------------------
# With ``event`` the score is a risk: of two rows, the one with the earlier event should score higher. scikit-survival
# has the same sign, lifelines the opposite one.

scores = {}
for name, features in {"straight lines": "linear", "curves": "additive"}.items():
    scores[name] = ConcordanceRankerCV(features=features).fit(X, months, event=died).predict(X_new)
try:
    from sksurv.linear_model import CoxPHSurvivalAnalysis
    from sksurv.util import Surv

    scores["Cox's model"] = CoxPHSurvivalAnalysis().fit(X, Surv.from_arrays(died, months)).predict(X_new)
except ImportError:
    print("scikit-survival is not installed: only our own models")

for name, values in scores.items():
    found = concordance_index_ci(months_new, values, event=died_new)
    uno = concordance_index_ci(months_new, values, event=died_new, weights="uno", tau=20.0).auc
    print(f"{name:14} c {found.auc:.3f} [{found.low:.3f}, {found.high:.3f}]   Uno's {uno:.3f}")

# %%
# The second column matters on both sides of 0, which no straight line can say; a paired test on the same rows agrees.

test = concordance_test(months_new, scores["curves"], scores["straight lines"], event=died_new)
print(f"curves - lines: {test.difference:.3f}, 95 % interval {test.low:.3f} to {test.high:.3f}")

# %%
# Thirds of the score
# -------------------
# Kaplan-Meier curves of new rows: the page of ``vrspam report trial.csv --target months --event died`` draws the same.


def still_alive(times: np.ndarray, events: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(times)  # 1 - 1 / (rows at risk) at each event; all times differ
    left = np.cumprod(1.0 - events[order] / np.arange(times.size, 0, -1))
    return np.append(0.0, times[order]), np.append(1.0, left)


third = np.searchsorted(np.quantile(scores["curves"], [1 / 3, 2 / 3]), scores["curves"])
_, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for number, name in enumerate(("lowest third", "middle third", "highest third")):
    some = third == number
    ax.step(*still_alive(months_new[some], died_new[some]), where="post", label=f"{name} of the scores")
ax.set(xlabel="months", ylabel="share still alive", ylim=(0, 1), xlim=(0, 25))
ax.legend()
