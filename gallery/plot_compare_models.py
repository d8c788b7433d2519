"""
Comparing two models
====================

One learns to tell a real difference of two AUCs from luck. Both models score the same test rows, so their errors are
alike, and DeLong's paired test uses that: it finds differences that two separate intervals hide.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from vrspam import AUCClassifier, AUCClassifierCV
from vrspam.metrics import delong_test
from vrspam.plotting import plot_roc

# %%
# Three models on two sets that come with scikit-learn. A linear scorer that maximises the AUC, logistic regression, and
# curves with interactions.

images, digits = load_digits(return_X_y=True)
sets = {"breast cancer": load_breast_cancer(return_X_y=True), "digit 8 against the rest": (images, digits == 8)}
models = {
    "AUC, linear": make_pipeline(StandardScaler(), AUCClassifier()),
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "AUC, kernel": AUCClassifierCV(features="kernel 1", random_state=0),
}
pairs = [("AUC, linear", "logistic regression"), ("AUC, kernel", "logistic regression")]

tests = {}
_, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
for ax, (title, (X, y)) in zip(axes, sets.items(), strict=True):
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    scores = {name: model.fit(X_train, y_train).decision_function(X_test) for name, model in models.items()}
    for a, b in pairs:
        tests[f"{title}:\n{a} - {b}"] = delong_test(y_test, scores[a], scores[b])
    plot_roc(y_test, scores, ax=ax)
    ax.set_title(f"{title}, {len(y_test)} test rows")

# %%
# The differences
# ---------------
# An interval that contains 0 means that these rows cannot tell the two models apart, not that they are equally good. On
# the digits the kernel is better beyond doubt, although the intervals of the two AUCs above overlap. On the tumours
# nothing is clear: with four tests, a p just below 0.05 is no surprise.

for name, test in tests.items():
    print(f"{name.replace(chr(10), ' ')}: {test.difference:+.4f} [{test.low:+.4f}, {test.high:+.4f}], ", end="")
    print(f"p = {test.p_value:.2g}")

_, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
places = np.arange(len(tests))[::-1]
middle = np.array([test.difference for test in tests.values()])
reach = np.array([[test.difference - test.low, test.high - test.difference] for test in tests.values()]).T
ax.errorbar(middle, places, xerr=reach, fmt="o", capsize=3)
ax.axvline(0.0, color="grey", linestyle="--")
ax.set_yticks(places, tests)
ax.set_xlabel("difference of the AUCs, with its 95 % interval (DeLong)")
plt.show()
