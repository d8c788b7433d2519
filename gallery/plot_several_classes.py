"""
Several classes
===============

One learns to rank each of ten classes above the rest from one pass over the rows, to measure that (the AUC of each
class, Hand & Till's M), and to get probabilities that add up to 1. For the most likely label alone other models are
better.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import ConfusionMatrixDisplay, accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from vrspam import OneVsRestAUC
from vrspam.metrics import hand_till_auc

# %%
# One scorer for each digit. The means and covariances of "all others" are sums of those of the classes, so ten scorers
# cost little more than one. Logistic regression stands beside it.

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
models = {
    "OneVsRestAUC": make_pipeline(StandardScaler(), OneVsRestAUC()),
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
}
aucs = {}
for name, model in models.items():
    scores = model.fit(X_train, y_train).decision_function(X_test)
    aucs[name] = np.array([roc_auc_score(y_test == digit, scores[:, digit]) for digit in range(10)])
    print(f"{name:20} mean AUC {aucs[name].mean():.4f}  Hand & Till's M {hand_till_auc(y_test, scores):.4f}", end="")
    print(f"  accuracy {accuracy_score(y_test, model.predict(X_test)):.3f}")
print(f"largest certificate of the ten: {models['OneVsRestAUC'][-1].gap_.max():.0e}")

# %%
# Probabilities
# -------------
# Each scorer is calibrated on rows that it was not fitted on.

calibrated = CalibratedClassifierCV(OneVsRestAUC(), ensemble=False)
model = make_pipeline(StandardScaler(), calibrated).fit(X_train, y_train)
for name, found in {"OneVsRestAUC, calibrated": model, **models}.items():
    if hasattr(found, "predict_proba"):
        print(f"{name:26} log loss {log_loss(y_test, found.predict_proba(X_test)):.3f}", end="")
        print(f"  accuracy {accuracy_score(y_test, found.predict(X_test)):.3f}")

_, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
for (name, values), shift in zip(aucs.items(), (-0.2, 0.2), strict=True):
    left.bar(np.arange(10) + shift, 1.0 - values, width=0.4, label=name)
left.set(xlabel="digit", ylabel="1 - AUC against the rest (lower is better)", xticks=range(10))
left.legend()
ConfusionMatrixDisplay.from_predictions(y_test, model.predict(X_test), ax=right, colorbar=False, cmap="Blues")
right.set_title("OneVsRestAUC, calibrated: likeliest digit")
plt.show()
