"""
The online methods of the paper
===============================

Events arrive in small parcels, and 2 % of them are positive. One learns to score events before their labels are
known, to take one step for each, and to forget them; and how close SPAM, SOLAM and OPAUC come to the exact optimum,
which is known only afterwards.
"""

import matplotlib.pyplot as plt
import numpy as np

from vrspam import AUCClassifier, OPAUCClassifier, SOLAMClassifier, SPAMClassifier
from vrspam.metrics import roc_auc_ci

EVENTS, PARCEL, WARM_UP = 6000, 20, 1000

# %%
# Ten measurements, of which some are shifted in the rare class.

rng = np.random.default_rng(0)
shift = rng.standard_normal(10) * (rng.random(10) < 0.6)
y = (rng.random(EVENTS) < 0.02).astype(int)
X = rng.standard_normal((EVENTS, 10)) + np.outer(y, shift)

# %%
# A model takes no step until it has seen both classes; ``classes`` tells it the labels. The first parcels are not
# scored.

models = {
    "SPAM": SPAMClassifier(),
    "SPAM, averaged": SPAMClassifier(average=True),
    "SOLAM": SOLAMClassifier(),
    "OPAUC": OPAUCClassifier(),
    "OPAUC, sketch of rank 3": OPAUCClassifier(sketch=3),
}
scores: dict[str, list[np.ndarray]] = {name: [] for name in models}
for start in range(0, EVENTS, PARCEL):
    rows = slice(start, start + PARCEL)
    for name, model in models.items():
        if start >= WARM_UP:
            scores[name].append(model.decision_function(X[rows]))
        model.partial_fit(X[rows], y[rows], classes=[0, 1])

# %%
# The AUC of scores that were given before the label was known is honest, without a test set. That of the exact
# optimum is not: it has seen all labels. With so few positives the intervals are wide, and overlap.

with_hindsight = AUCClassifier().fit(X, y).decision_function(X[WARM_UP:])
found = {name: roc_auc_ci(y[WARM_UP:], np.concatenate(values)) for name, values in scores.items()}
found["exact, with hindsight"] = roc_auc_ci(y[WARM_UP:], with_hindsight)

print(f"{EVENTS} events, {y.sum()} positive")
for name, auc in found.items():
    print(f"  {name:24} {auc.auc:.3f} [{auc.low:.3f}, {auc.high:.3f}]")

_, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
places = np.arange(len(found))[::-1]
middle = np.array([auc.auc for auc in found.values()])
reach = np.array([[auc.auc - auc.low, auc.high - auc.auc] for auc in found.values()]).T
ax.errorbar(middle, places, xerr=reach, fmt="o", capsize=3)
ax.set_yticks(places, found)
ax.set_xlabel("AUC, with its 95 % interval")
plt.show()
