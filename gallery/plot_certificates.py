"""
Certificates: how far from the optimum?
=======================================

Every fit says how far its objective can be above the minimum (``gap_``), without knowing the minimum. One learns how
tight that bound is, what it says about the coefficients, and what it does not say: a certified optimum can rank
badly.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from vrspam import AUCClassifier, VRSPAMClassifier

warnings.simplefilter("ignore", ConvergenceWarning)  # the runs below are stopped early on purpose

X, digits = load_digits(return_X_y=True)
X, y = StandardScaler().fit_transform(X), digits == 8  # one digit against the rest

# %%
# Gap and true distance
# ---------------------
# The exact solver gives the minimum to 1e-16, so the true distance of a run that stops early is known.

exact = AUCClassifier(l2=0.01, tol=1e-15).fit(X, y)
print(f"exact: objective {exact.objective_:.12f}, at most {exact.gap_:.0e} above the minimum")

_, ax = plt.subplots(layout="constrained")
for variant, colour in (("paper", "tab:blue"), ("accelerated", "tab:orange")):
    model = VRSPAMClassifier(l2=0.01, variant=variant, max_iter=30, tol=1e-12, random_state=0).fit(X, y)
    history = model.history_
    true = np.maximum(history["objective"] - exact.objective_, 1e-16)
    ax.semilogy(history["epoch"], history["gap"], "o-", color=colour, label=f"{variant}: certificate")
    ax.semilogy(history["epoch"], true, "x:", color=colour, label=f"{variant}: true distance")
    seen = true > 1e-13  # what is smaller is rounding
    ratio = history["gap"][seen] / true[seen]
    print(f"{variant}: the certificate is {ratio.min():.1f} to {ratio.max():.0f} times the true distance")
    reach = np.sqrt(2 * model.gap_ / model.l2_)
    apart = np.linalg.norm(model.coef_ - exact.coef_)
    print(f"  coefficients are {apart:.1e} from the optimum, and by the certificate at most {reach:.1e}")
ax.set(xlabel="epoch", ylabel="objective above its minimum", title="one fit, watched")
ax.legend(fontsize="small")

# %%
# What a certificate does not say
# -------------------------------
# It is about the objective that was asked for. With too strong a penalty, or on columns of very different scale, the
# optimum of that objective ranks badly, and is certified all the same.

l2s = np.logspace(-6, 3, 10)
rng = np.random.default_rng(0)
train = rng.permutation(len(y)) < len(y) // 2
_, ax = plt.subplots(layout="constrained")
raw = X * 10.0 ** rng.uniform(-3, 3, X.shape[1])  # the same columns in other units
for name, rows, style in (("standardised", X, "o-"), ("in other units", raw, "s--")):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the fit warns of such columns
        fits = [AUCClassifier(l2=l2).fit(rows[train], y[train]) for l2 in l2s]
    ax.semilogx(l2s, [fit.score(rows[~train], y[~train]) for fit in fits], style, label=name)
    print(f"{name}: no certificate is above {max(fit.gap_ for fit in fits):.0e}")
ax.set(xlabel="l2", ylabel="AUC on test rows", title="certified optima of ten objectives")
ax.legend()
plt.show()
