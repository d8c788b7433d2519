"""
Matched sets: compare rows of one set only
==========================================

In a matched case-control study cases and controls of a set have the same age and clinic. What a set shares then says
nothing, by design, and pairs of different sets must not count. One learns to fit, judge and test inside sets with
``strata``, and what happens without.
"""

import matplotlib.pyplot as plt
import numpy as np

from vrspam import AUCClassifierCV
from vrspam.metrics import concordance_index, concordance_index_ci, concordance_test, roc_auc
from vrspam.plotting import plot_coefficients

# %%
# A made-up study
# ---------------
# 300 matched sets of four rows of the same age and clinic. Where the disease is common a set has three cases and one
# control, where it is rare one case and three controls. The background of a set moves markers 1 and 2 of all of its
# rows; only marker 0, and a little marker 1, differ between a case and a control of the same set.


def study(seed: int, sets: int = 300) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    matched = np.repeat(np.arange(sets), 4)
    background = rng.standard_normal(sets)
    cases = np.where(background > 0.0, 3, 1)
    case = np.tile(np.arange(4), sets) < cases[matched]
    X = rng.standard_normal((case.size, 4))
    X[:, 0] += 0.7 * case
    X[:, 1] += 0.3 * case
    X[:, 1:3] += 2.0 * background[matched][:, np.newaxis]
    return X, case, matched


X, case, matched = study(0)
inside = AUCClassifierCV(random_state=0).fit(X, case, strata=matched)
ignoring = AUCClassifierCV(random_state=0).fit(X, case, groups=matched)

# %%
# Judge inside sets too
# ---------------------
# The AUC of all pairs also counts a case of one set and a control of another. It rewards a score that knows the
# background, which tells nothing about the rows of one set. The AUC inside sets counts a case and a control of the same
# set alone. Its interval leaves out whole sets.

X_new, case_new, matched_new = study(1)
for name, model in (("with strata", inside), ("without", ignoring)):
    scores = model.decision_function(X_new)
    found = concordance_index_ci(case_new.astype(int), scores, strata=matched_new)
    print(f"{name:12} inside sets {found.auc:.3f} [{found.low:.3f}, {found.high:.3f}]", end="")
    print(f"   all pairs {roc_auc(case_new, scores):.3f}")

# %%
# A paired test on the same sets says whether the difference is more than chance.

a, b = (model.decision_function(X_new) for model in (inside, ignoring))
test = concordance_test(case_new.astype(int), a, b, strata=matched_new)
print(f"difference {test.difference:.3f}, 95 % interval {test.low:.3f} to {test.high:.3f}, p = {test.p_value:.1g}")

# %%
# All pairs give markers 1 and 2 weight for the background that they show. Pairs inside sets do not.

_, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharex=True)
for ax, (title, model) in zip(axes, (("pairs inside sets", inside), ("all pairs", ignoring)), strict=True):
    plot_coefficients(model, ax=ax)
    ax.set_title(title)

# %%
# A set whose rows are all cases, or all controls, has no pair, and changes nothing. On the command line this is
# ``vrspam train study.csv --target case --within set``.

share = concordance_index(case_new.astype(int), a, strata=matched_new, strata_weight="strata")
print(f"each set weighing the same: {share:.3f}")
