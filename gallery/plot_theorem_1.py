"""
Theorem 1 in a run
==================

The paper proves that every epoch of VRSPAM shrinks the squared distance to the optimum by a factor α < 1 on average.
One learns to compute the proven step and α for one's own data, and how far on the safe side they are: the measured
distance stays below the bound, and a step that no theorem covers is much quicker.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from vrspam import AUCClassifier, VRSPAMClassifier, theory

warnings.simplefilter("ignore", ConvergenceWarning)  # the runs below are stopped early on purpose
EPOCHS, SEEDS, L2, THETA = 6, 5, 0.02, 0.9

# %%
# The constants of the data
# -------------------------
# Rows are scaled so that none is longer than M = 1. The step is θ times the largest proven one. The constant behind it
# is, as printed, 128 M⁴; computed from the rows themselves it is far smaller, and the proven step larger.

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
X /= np.linalg.norm(X, axis=1).max()
best = AUCClassifier(l2=L2, tol=1e-15).fit(X, y).coef_


def distances(step: float | str, inner_steps: int | None) -> np.ndarray:
    """Return the squared distance to the optimum after 1 to EPOCHS epochs, one row for each seed."""
    settings = {"l2": L2, "variant": "paper", "step_size": step, "inner_steps": inner_steps, "tol": 0.0}
    found = np.empty((SEEDS, EPOCHS))
    for seed, epochs in np.ndindex(found.shape):
        model = VRSPAMClassifier(**settings, max_iter=epochs + 1, random_state=seed)
        found[seed, epochs] = np.sum((model.fit(X, y).coef_ - best) ** 2)
    return found


# %%
# Bound and run
# -------------
# The bound starts from the mean after the first epoch, and falls by α from there. Both constants promise about the
# same α; what differs is the price of an epoch, so the axis counts readings of a row.

_, ax = plt.subplots(figsize=(7, 4.6), layout="constrained")
s = np.arange(1, EPOCHS + 1)
constants = {"printed": theory.noise_printed(M=1.0), "of the rows": theory.noise_rows(X, y == 1)}
for (name, noise), colour in zip(constants.items(), ("tab:blue", "tab:orange"), strict=True):
    step, m = THETA * theory.step_bound(L2, noise), theory.inner_steps(L2, THETA, noise)
    alpha = theory.contraction(L2, step, m, noise)
    measured = distances(step, m)
    mean = measured.mean(axis=0)
    bound = mean[0] * alpha ** (s - 1)
    rate = (mean[-1] / mean[0]) ** (1 / (EPOCHS - 1))
    price = s * theory.gradient_evaluations(len(X), m) / len(X)
    print(f"constant {name}: step {step:.1e}, {m} steps an epoch, α = {alpha:.3f}, measured {rate:.3f}; ", end="")
    print("below the bound" if np.all(mean <= bound * (1 + 1e-12)) else "ABOVE the bound")
    ax.plot(price, bound, ":", color=colour, label=f"bound, constant {name}")
    ax.fill_between(price, measured.min(axis=0), measured.max(axis=0), color=colour, alpha=0.2, linewidth=0)
    ax.plot(price, mean, "o-", color=colour, label=f"run, constant {name}")

free = distances("auto", None).mean(axis=0)
price = s * theory.gradient_evaluations(len(X), len(X)) / len(X)
ax.plot(price, free, "s--", color="tab:green", label="run, step_size='auto'")
ax.set(xscale="log", yscale="log", xlabel="gradients of rows / number of rows")
ax.set_ylabel("squared distance to the optimum")
ax.legend()
print(f"step_size='auto': {(free[-1] / free[0]) ** (1 / (EPOCHS - 1)):.3f} an epoch, without a theorem")
plt.show()
