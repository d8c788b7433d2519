"""
GPUs: the same code on other arrays
===================================

One learns to fit and score arrays that are not NumPy's, where they lie: PyTorch tensors on a GPU if there is one, on
the processor otherwise, or the strict arrays of the array API standard. Nothing but the line that makes the arrays
changes.
"""

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # scikit-learn asks for it; best set before SciPy is imported

import matplotlib.pyplot as plt
import numpy as np
import sklearn

from vrspam import AUCClassifier, AUCClassifierCV
from vrspam.plotting import plot_coefficients, plot_cv

# %%
# Which library?
# --------------

try:
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    print(f"PyTorch {torch.__version__} on {torch.cuda.get_device_name() if device == 'cuda' else 'the processor'}")

    def place(values):
        return torch.asarray(values, device=device)

except ImportError:
    import array_api_strict

    print("PyTorch is not installed: array_api_strict stands in, NumPy behind the bare array API standard")
    place = array_api_strict.asarray

# %%
# Fit where the rows are
# ----------------------
# Coefficients and scores stay on the device; the grid of penalties and the AUCs of the folds are plain NumPy.

rng = np.random.default_rng(0)
X = rng.standard_normal((20_000, 12))
y = (X @ np.linspace(1.0, -0.5, 12) + rng.logistic(size=len(X)) > 4.0).astype(int)
with sklearn.config_context(array_api_dispatch=True):
    model = AUCClassifier().fit(place(X), place(y))
    scores = model.decision_function(place(X))
    tuned = AUCClassifierCV(cv=5).fit(place(X), place(y))
print(
    f"coef_ is a {type(model.coef_).__module__}.{type(model.coef_).__name__}, scores have shape {tuple(scores.shape)}"
)

# %%
# The same answer
# ---------------
# Sums are made in float64 on the device, so that the model is NumPy's but for rounding. A GPU is
# worth it for large tables: it makes the sums, and the small system of equations is solved on the host.

plain = AUCClassifier().fit(X, y)
coef = np.asarray(model.coef_.cpu() if hasattr(model.coef_, "cpu") else model.coef_)
print(f"largest difference from NumPy's coefficients: {np.abs(coef - plain.coef_).max():.0e}")
print(f"certificates: {float(model.gap_):.0e} and {plain.gap_:.0e}; cross-validated AUC {tuned.best_score_:.3f}")

_, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
plot_coefficients(model, ax=left)
plot_cv(tuned, ax=right)
plt.show()
