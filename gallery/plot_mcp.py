"""
MCP against l1: which columns matter?
=====================================

To get rid of useless columns, l1 must shrink the useful ones too. One learns what MCP does instead: it stops
shrinking a coefficient once it is large, and so finds shorter lists. Its price is that the objective has several
local minima, and no certificate; and the ranking hardly gains.
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from vrspam import AUCClassifier, AUCClassifierCV, ClassMoments, coef_path

# %%
# Made-up data with a known truth: 5 of 50 columns matter, and columns are correlated with their neighbours.

truth = np.zeros(50)
truth[[0, 10, 20, 30, 40]] = [1, -1, 1, -1, 1]
closeness = 0.7 ** np.abs(np.subtract.outer(range(50), range(50)))


def two_classes(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = (rng.random(rows) < 0.2).astype(int)
    return rng.multivariate_normal(np.zeros(50), closeness, rows) + np.outer(y, closeness @ truth), y


# %%
# Five tables of 1,000 rows, the strength chosen by cross-validation. "Shrunk to" compares the five coefficients with
# a fit that was told which columns matter.

X_new, y_new = two_classes(20_000, 100)
penalties: list[Any] = ["elasticnet", "mcp"]
chosen = {}
for penalty in penalties:
    right = wrong = size = auc = 0.0
    for seed in range(5):
        X, y = two_classes(1000, seed)
        model = AUCClassifierCV(l2s=[0.0], l1s="auto", penalty=penalty).fit(X, y)
        w, told = model.coef_[0], AUCClassifier(l2=0.0).fit(X[:, truth != 0], y).coef_[0]
        right, wrong = right + np.count_nonzero(w[truth != 0]), wrong + np.count_nonzero(w[truth == 0])
        size, auc = size + np.abs(w[truth != 0]).sum() / np.abs(told).sum() / 5, auc + model.score(X_new, y_new) / 5
    chosen[penalty] = model.l1_
    print(f"{penalty:10} found {right:.0f} of 25, and {wrong:.0f} that do not matter; ", end="")
    print(f"shrunk to {size:.2f}; AUC of new rows {auc:.4f}")

# %%
# The paths
# ---------
# Coefficients along the strength, for the last table. From right to left the true columns (thick) grow. Under MCP
# they have their full size long before the first useless column (thin) comes in; under l1 they have not. The dotted
# line is the strength that cross-validation chose. Where MCP is weak its path jumps: from one local minimum to
# another.

moments = ClassMoments.from_data(X, y)
l1s = np.logspace(-3, -0.6, 60)
_, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
for ax, penalty in zip(axes, penalties, strict=True):
    coefs = coef_path(moments, [1e-8], l1s, penalty=penalty)[0]
    for j, column in enumerate(coefs.T):
        ax.semilogx(l1s, column, color="tab:blue" if truth[j] else "grey", linewidth=2 if truth[j] else 0.6)
    ax.axvline(chosen[penalty], color="black", linestyle=":")
    ax.set(title=penalty, xlabel="l1, the strength of the penalty")
axes[0].set_ylabel("coefficient")
plt.show()
