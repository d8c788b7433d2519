"""
Matched sets: compare rows of one set only
==========================================

In a matched case-control study each case comes with controls of the same age and clinic. Age and clinic then say
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
# 300 sets of one case and three controls. The background of a set (age, clinic) moves two of the markers for all of its
# rows. Only marker 0, and a little marker 1, differ between a case and its controls.


def study(seed: int, sets: int = 300) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    matched = np.repeat(np.arange(sets), 4)
    case = np.tile([True, False, False, False], sets)
    X = rng.standard_normal((case.size, 4))
    X[:, 0] += 0.7 * case
    X[:, 1] += 0.3 * case
    X[:, 1:3] += 2.0 * rng.standard_normal(sets)[matched][:, np.newaxis]  # the background of the set
    return X, case, matched


X, case, matched = study(0)
inside = AUCClassifierCV(random_state=0).fit(X, case, strata=matched)
ignoring = AUCClassifierCV(random_state=0).fit(X, case, groups=matched)

# %%
# Judge inside sets too
# ---------------------
# The AUC of all pairs also counts a case of one set and a control of another, which the background separates or
# confuses at random. The AUC inside sets is the share of controls that score below the case of their own set. Its
# interval leaves out whole sets.

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
# Marker 1 is of use inside sets: the background that hides it is the same for a case and its controls. Marker 2 shows
# the background alone; the model of the pairs inside sets subtracts it from marker 1.

_, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharex=True)
for ax, (title, model) in zip(axes, (("pairs inside sets", inside), ("all pairs", ignoring)), strict=True):
    plot_coefficients(model, ax=ax)
    ax.set_title(title)

# %%
# A set whose rows are all cases, or all controls, has no pair, and changes nothing. On the command line this is
# ``vrspam train study.csv --target case --within set``.

share = concordance_index(case_new.astype(int), a, strata=matched_new, strata_weight="strata")
print(f"each set weighing the same: {share:.3f}")
