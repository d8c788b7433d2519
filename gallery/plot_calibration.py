"""
Probabilities from scores
=========================

A score ranks rows; it is not a probability. One learns to get calibrated probabilities from held-out rows, to check
them, and to choose between a sigmoid and an isotonic curve, neither of which changes the scores.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss

from vrspam import AUCClassifierCV
from vrspam.metrics import roc_auc
from vrspam.plotting import plot_reliability

# %%
# Made-up rows whose true probabilities are known. In the first case they follow a logistic curve of the score; in the
# second they level off at 60 %, which no sigmoid can say.


def rows(n: int, seed: int, levels_off: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    score = X @ [1.5, 1.0, -0.5, 0.0]
    p = 0.6 / (1 + np.exp(1.0 - 4 * score)) if levels_off else 1 / (1 + np.exp(3.0 - score))
    return X, (rng.random(n) < p).astype(int)


models = {
    "sigmoid": AUCClassifierCV(calibration="sigmoid"),
    "isotonic": AUCClassifierCV(calibration="isotonic"),
    "logistic regression": LogisticRegression(),
}
figure, axes = plt.subplots(2, 3, figsize=(11, 7), layout="constrained")
for levels_off, line in zip((False, True), axes, strict=True):
    title = "levels off" if levels_off else "logistic"
    X, y = rows(4000, 0, levels_off)
    X_new, y_new = rows(20_000, 1, levels_off)
    print(f"truth: {title}; {y.mean():.0%} positive")
    for ax, (name, model) in zip(line, models.items(), strict=True):
        probability = model.fit(X, y).predict_proba(X_new)[:, 1]
        print(f"  {name:20} log loss {log_loss(y_new, probability):.4f}", end="")
        print(f"  Brier {brier_score_loss(y_new, probability):.4f}  AUC {roc_auc(y_new, probability):.4f}")
        plot_reliability(y_new, probability, ax=ax)
        ax.set_title(f"{name}, truth: {title}", fontsize="medium")
plt.show()

# %%
# Where the truth is logistic, the sigmoid is as good as logistic regression, which was made for it, and the isotonic
# curve has the largest log loss: a step of it that says 0 or 1 is wrong now and then. Where the truth levels off,
# only the isotonic curve can follow. (Rows on one step tie, which costs a little AUC; the scores do not tie.)
#
# Labels and thresholds
# ---------------------
# ``predict`` takes the likelier class. If a miss costs c times as much as a false alarm, call a row positive from the
# probability 1 / (1 + c) on.

careful = models["isotonic"].predict_proba(X_new)[:, 1] >= 1 / (1 + 9)
print(f"likelier class: {models['isotonic'].predict(X_new).mean():.1%} called positive; c = 9: {careful.mean():.1%}")
