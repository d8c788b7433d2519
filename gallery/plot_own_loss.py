"""
Bring your own loss
===================

A loss is any object with a value, a gradient, products with its Hessian and a bound on its curvature; no base class
is needed. One learns to write one, here a logistic loss on pairs, and gets the solvers, the penalties and the
certificate.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from vrspam import AUCClassifier
from vrspam.metrics import roc_auc
from vrspam.objective import ElasticNet, Objective
from vrspam.solvers import solve

# %%
# The loss
# --------
# f(w) = pq · mean over pairs of log₂(1 + exp(-w·(x₊ - x₋))). Every pair is written out, so this is for small tables.


class LogisticByPairs:
    is_quadratic = False  # so the solvers for quadratics refuse it
    matrix = None  # no d×d matrix ...
    rows = None  # ... and no rows for solvers that read columns

    def __init__(self, X, y):
        self.pairs = (X[y == 1][:, None] - X[y == 0][None]).reshape(-1, X.shape[1])
        self.scale = float(np.mean(y == 1) * np.mean(y == 0))  # f(0): tolerances are relative to it
        self.weight = self.scale / len(self.pairs) / np.log(2.0)
        self.n_features = X.shape[1]

    def value_and_grad(self, w):
        margin = self.pairs @ w
        value = self.weight * np.logaddexp(0.0, -margin).sum()
        return float(value), -self.weight * (self.pairs.T @ expit(-margin))

    def hessian_product(self, w):
        slope = expit(self.pairs @ w)
        return lambda v: self.weight * (self.pairs.T @ (slope * (1.0 - slope) * (self.pairs @ v)))

    def curvature(self):
        return 0.25 * self.weight * np.sum(self.pairs**2, axis=0)


# %%
# Solve it
# --------
# With l1 = 0 and l1 > 0. The certificate only needs that f lies above its tangents, so it holds for this loss as well.

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)[:, :10]
train = np.arange(len(y)) % 3 == 0
loss = LogisticByPairs(X[train], y[train])
l1s = np.concatenate([[0.0], np.logspace(-3, -1, 9)])
coefs, aucs = [], []
for l1 in l1s:
    solution = solve(Objective(loss, ElasticNet(1e-3, l1)), tol=1e-9, max_iter=500)
    coefs.append(solution.w)
    aucs.append(roc_auc(y[~train], X[~train] @ solution.w))
    print(f"l1 = {l1:.4f}: {np.count_nonzero(solution.w):2} columns, test AUC {aucs[-1]:.4f}, gap {solution.gap:.0e}")
squared, hinge = (AUCClassifier(loss=name).fit(X[train], y[train]) for name in ("squared", "squared_hinge"))
for name, model in (("squared", squared), ("squared hinge", hinge)):
    print(f"built-in {name} loss: test AUC {model.score(X[~train], y[~train]):.4f}")

_, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(np.maximum(l1s, 5e-4), np.array(coefs), "o-", markersize=3)
ax.set(xscale="log", xlabel="l1 (0 is drawn at 0.0005)", ylabel="coefficients of ten columns")
plt.show()
