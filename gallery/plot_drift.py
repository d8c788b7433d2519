"""
Drift in a stream: forgetting old rows
======================================

The rule that makes the labels changes in the middle of a stream. One learns how a model that forgets (a half-life, or
a sliding window) recovers, while one that weighs all past rows alike does not; and what forgetting costs before the
change.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np

from vrspam import AUCClassifier, ClassMoments, SlidingMoments
from vrspam.metrics import roc_auc

BATCH, BATCHES, CHANGE = 500, 60, 40  # the rule changes before batch 40

# %%
# Three learners keep the sizes, means and covariances of the two classes (the window keeps its rows too). Each batch is
# scored by what was learned before it, and then learned from; so every AUC is that of rows that were new.


def batch(rng: np.random.Generator, rule: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    X = rng.standard_normal((BATCH, rule.size))
    y = (X @ rule + rng.standard_normal(BATCH) > 2.0).astype(int)  # about 15 % positives
    return X, y


def run(seed: int = 0) -> dict[str, np.ndarray]:
    """Return the AUC of each model on each batch, measured before the model learns from that batch."""
    rng = np.random.default_rng(seed)
    rules = rng.standard_normal((2, 20))
    rules *= 2.0 / np.linalg.norm(rules, axis=1, keepdims=True)  # both rules are equally hard to learn
    learners: dict[str, ClassMoments | SlidingMoments] = {
        "plain": ClassMoments(classes=[0, 1]),
        "half-life": ClassMoments(classes=[0, 1], half_life=4 * BATCH),
        "window": SlidingMoments(8 * BATCH, classes=[0, 1]),
    }
    aucs: dict[str, list[float]] = {name: [] for name in learners}
    for number in range(BATCHES):
        X, y = batch(rng, rules[int(number >= CHANGE)])
        for name, learner in learners.items():
            if number > 0:
                moments = learner.moments if isinstance(learner, SlidingMoments) else learner
                model = AUCClassifier().fit_moments(moments)
                aucs[name].append(roc_auc(y == 1, model.decision_function(X)))
            learner.update(X, y)
    return {name: np.array(values) for name, values in aucs.items()}


aucs = run()
_, ax = plt.subplots(figsize=(8, 4), layout="constrained")
for (name, values), style in zip(aucs.items(), ("-", "--", "-."), strict=True):
    ax.plot(np.arange(1, BATCHES), values, style, label=name)
ax.axvline(CHANGE, color="grey", linestyle=":", label="the rule changes")
ax.set(xlabel=f"batch of {BATCH} rows", ylabel="AUC, before learning from the batch")
ax.legend(loc="lower left")
plt.show()

# %%
# Before the change the three rank alike: here forgetting costs next to nothing. Right after it all three are near
# chance.

print("batches    " + "".join(f"{name:>11}" for name in aucs))
for first, last in ((1, 10), (30, 40), (40, 41), (41, 45), (45, 50), (50, 60)):
    means = "".join(f"{values[first - 1 : last - 1].mean():11.3f}" for values in aucs.values())
    print(f"{first:3d} to {last - 1:3d} {means}")
