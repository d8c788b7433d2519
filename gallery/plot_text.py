"""
Text: sparse words
==================

One learns to rank texts by a wide and sparse matrix of words (TF-IDF), which is never made dense, and to read the
words that decide. With more columns than rows the fit needs no matrix of all pairs of words, and still has its
certificate.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split

from vrspam import AUCClassifierCV
from vrspam.metrics import delong_test
from vrspam.plotting import plot_coefficients, plot_roc

# %%
# A made-up postbox. Every message draws its words from a common vocabulary with Zipf's frequencies; complaints, 6 % of
# the messages, use 12 of them six times as often. So the truth is known: 12 words matter, and thousands do not.

rng = np.random.default_rng(0)
TELLING = ["refund", "broken", "late", "angry", "lawyer", "never", "again", "worst", "rude", "waiting", "bill", "sorry"]
vocabulary = np.array([f"word{j}" for j in range(6000)] + TELLING)
frequency = np.concatenate([1.0 / np.arange(10, 6010), np.full(len(TELLING), 4e-3)])
of_complaints = frequency * np.where(np.arange(frequency.size) >= 6000, 6.0, 1.0)


def message(complaint: bool) -> str:
    weights = of_complaints if complaint else frequency
    return " ".join(rng.choice(vocabulary, size=rng.integers(20, 60), p=weights / weights.sum()))


complaint = rng.random(3000) < 0.06
texts = [message(flag) for flag in complaint]
print(texts[int(np.flatnonzero(complaint)[0])][:200], "...")

# %%
# Fit
# ---
# Logistic regression stands beside it, its penalty chosen by the AUC of folds as well. It ranks as well here; what the
# exact solver adds is the certificate.

train_texts, test_texts, y_train, y_test = train_test_split(texts, complaint, stratify=complaint, random_state=0)
words = TfidfVectorizer()
X_train, X_test = words.fit_transform(train_texts), words.transform(test_texts)
model = AUCClassifierCV().fit(X_train, y_train)
search = GridSearchCV(LogisticRegression(max_iter=1000), {"C": [0.1, 1.0, 10.0, 100.0]}, scoring="roc_auc")
logistic = search.fit(X_train, y_train)
scores = {"AUCClassifierCV": model.decision_function(X_test), "logistic regression": logistic.decision_function(X_test)}
test = delong_test(y_test, *scores.values())
print(f"{X_train.shape[0]} rows, {X_train.shape[1]} words, {X_train.nnz / np.prod(X_train.shape):.2%} not zero")
print(f"certificate {model.gap_:.0e} by {model.solver_!r}")
print(f"difference of the AUCs {test.difference:+.3f} [{test.low:+.3f}, {test.high:+.3f}]")

# %%
# The words that decide
# ---------------------

coef = model.coef_[0]
top = np.argsort(-np.abs(coef))[:20]
names = words.get_feature_names_out()[top]
print(f"of the 12 words that matter, {np.isin(names, TELLING).sum()} are among the 20 largest coefficients")
_, (left, right) = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
plot_coefficients(names, coef[top], label="coefficient", ax=left)
plot_roc(y_test, scores, ax=right)
plt.show()
