"""
The part of the curve that matters: screening
=============================================

Of a long list only the top is ever looked at, so only the left part of the ROC curve counts. One learns to measure
that part (the partial AUC), to train on it with ``max_fpr``, and to check whether that pays. Often it does not.
"""

import matplotlib.pyplot as plt
import numpy as np

from vrspam import AUCClassifierCV
from vrspam.metrics import partial_auc_ci, partial_auc_test, roc_auc
from vrspam.plotting import plot_roc

MAX_FPR = 0.1  # at most 10 % of the healthy may be called in

# %%
# Two made-up screenings. In the first, 15 % of the healthy have a harmless condition that raises the strongest marker
# as much as the disease does. They are the top of the list, where that marker is useless, although it ranks nearly
# all other pairs. In the second there is no such condition, and the marker is weaker.


def patients(rows: int, seed: int, harmless: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    sick = rng.random(rows) < 0.15
    X = rng.standard_normal((rows, 10))
    X[sick, 1:5] += 1.0
    X[sick | (rng.random(rows) < harmless), 0] += 4.0 if harmless else 2.0
    return X, sick


models = {
    "squared loss": AUCClassifierCV(),
    "squared hinge": AUCClassifierCV(loss="squared_hinge"),
    "hinge on the part": AUCClassifierCV(loss="squared_hinge", max_fpr=MAX_FPR),
}
_, axes = plt.subplots(2, 2, figsize=(10, 9), layout="constrained")
for (whole, part_of_it), harmless in zip(axes, (0.15, 0.0), strict=True):
    title = "with a harmless condition" if harmless else "without one"
    X, sick = patients(1500, 0, harmless)
    X_new, sick_new = patients(20_000, 1, harmless)
    scores = {name: model.fit(X, sick).decision_function(X_new) for name, model in models.items()}
    print(title)
    for name, values in scores.items():
        part = partial_auc_ci(sick_new, values, max_fpr=MAX_FPR)
        print(f"  {name:18} partial AUC {part.auc:.3f} [{part.low:.3f}, {part.high:.3f}]", end="")
        print(f"   AUC of the whole curve {roc_auc(sick_new, values):.3f}")
    for other in ("squared loss", "squared hinge"):
        test = partial_auc_test(sick_new, scores["hinge on the part"], scores[other], max_fpr=MAX_FPR)
        print(f"  on the part - {other}: {test.difference:+.4f} [{test.low:+.4f}, {test.high:+.4f}]")
    plot_roc(sick_new, scores, max_fpr=MAX_FPR, ax=whole)
    plot_roc(sick_new, scores, ax=part_of_it).legend().remove()
    part_of_it.set(xlim=(0, MAX_FPR), ylim=(0.4, 1), aspect="auto", title="the part that counts")
    whole.set_title(title)
plt.show()

# %%
# With the harmless condition the top of the list is ranked a little better by the model that was trained on it. Most of
# that gain is the hinge's, which ignores pairs that are ranked right by far. Without the condition there is nothing to
# gain. Nor did it pay on average on real tables (docs/losses.md): compare on held-out rows before you use it.
