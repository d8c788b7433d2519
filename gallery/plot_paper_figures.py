"""
The paper's figures, small
==========================

VRSPAM and the methods that the paper compares it with, on two sets that come with scikit-learn. One learns to watch
several methods on the way to the same optimum, by passes over the data, and why variance reduction helps: the noise
of its steps goes to zero. ``vrspam reproduce`` makes the full figures, on the paper's sets.
"""

import warnings
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from vrspam import AUCClassifier, AUCClassifierCV, OPAUCClassifier, SOLAMClassifier, SPAMClassifier, VRSPAMClassifier
from vrspam.data import load
from vrspam.theory import gradient_variance

warnings.simplefilter("ignore", ConvergenceWarning)  # the runs below are stopped early on purpose
METHODS: dict[str, Any] = {
    "VRSPAM": (VRSPAMClassifier, {"variant": "paper", "tol": 0.0}, "o-"),
    "accelerated": (VRSPAMClassifier, {"tol": 0.0}, "s-"),
    "SPAM": (SPAMClassifier, {}, "^--"),
    "SOLAM": (SOLAMClassifier, {}, "D-."),
    "OPAUC": (OPAUCClassifier, {}, "v:"),
}
EPOCHS = [1, 2, 4, 8, 16, 32]

# %%
# All methods minimise the same objective, with the penalty that cross-validation chose. The state after e epochs is
# that of a fit with ``max_iter=e`` and the same seed. Top: the AUC of few test rows moves by single pairs, so that a
# point nearer to the minimum need not rank them better. Middle: the way to the minimum. Bottom: the noise of a step.

_, axes = plt.subplots(3, 2, figsize=(9, 9), sharex="col", layout="constrained")
for (above, middle, below), name in zip(axes.T, ("breast-cancer", "digits"), strict=True):
    X, y = load(name)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, stratify=y, random_state=1)
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    l2 = AUCClassifierCV().fit(X, y).l2_
    exact = AUCClassifier(l2=l2, tol=1e-14).fit(X, y)
    print(f"{name}: l2 = {l2:.2g}, test AUC of the optimum {exact.score(X_test, y_test):.4f}")
    above.axhline(exact.score(X_test, y_test), color="grey", linestyle="--", linewidth=1)
    for method, (estimator, settings, style) in METHODS.items():
        fits = [estimator(l2=l2, max_iter=e, random_state=1, **settings).fit(X, y) for e in EPOCHS]
        passes = [fit.history_["passes"][-1] for fit in fits]
        excess = [max(fit.objective_ - exact.objective_, 1e-16) for fit in fits]
        aucs = [fit.score(X_test, y_test) for fit in fits]
        print(f"  {method:12} after {passes[-1]:.0f} passes: {excess[-1]:.0e} above the minimum, AUC {aucs[-1]:.4f}")
        above.semilogx(passes, aucs, style, label=method)
        middle.loglog(passes, excess, style)
        if method == "VRSPAM":
            watched = fits[-1].set_params(record_variance=True).fit(X, y).history_
            below.loglog(watched["passes"][1:], np.maximum(watched["variance"][1:], 1e-16), style)
        if method == "SPAM":
            below.loglog(passes, [gradient_variance(X, y == 1, fit.coef_[0]) for fit in fits], style, color="C2")
    above.set_title(name)
    below.set_xticks([3, 10, 30, 70], labels=["3", "10", "30", "70"])
    below.minorticks_off()
    below.set_xlabel("passes over the data")
axes[0, 0].set_ylabel("test AUC (dashed: the optimum)")
axes[1, 0].set_ylabel("objective above its minimum")
axes[2, 0].set_ylabel("variance of a step")
axes[0, 1].legend(fontsize="small")
plt.show()
