"""
A cluster with Dask
===================

One learns to fit a Dask array, or data frame, where it lies. Each worker sends the means and covariances of its
blocks, which are small and add up, so the model is that of one machine; the penalties are chosen by cross-validation
as well.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

from vrspam import AUCClassifier
from vrspam.distributed import DaskAUCClassifier, DaskAUCClassifierCV
from vrspam.plotting import plot_roc

# %%
# Made-up rows in blocks. Here Dask's own threads do the work; with ``dask.distributed.Client(...)`` the same lines
# run on a cluster, and a block that is lost with its worker is computed again.

rng = np.random.default_rng(0)
X = rng.standard_normal((40_000, 20))
y = (X @ rng.standard_normal(20) / 2 + rng.logistic(size=len(X)) > 4.0).astype(int)

# %%
# Any blocks, the same model
# --------------------------
# The difference to the fit on one machine is rounding, however the rows are cut (none at all is drawn at 1e-17).

local = AUCClassifier().fit(X, y)
blocks = [1, 4, 16, 64]
differences = []
for count in blocks:
    rows, labels = da.from_array(X, chunks=(len(X) // count, 20)), da.from_array(y, chunks=len(X) // count)
    model = DaskAUCClassifier().fit(rows, labels)
    differences.append(np.abs(model.coef_ - local.coef_).max() / np.abs(local.coef_).max())
print("blocks:", *blocks, "  largest relative difference:", *(f"{value:.0e}" for value in differences))

# %%
# Cross-validation on the cluster
# -------------------------------
# Two passes over the blocks for all penalties and folds. Scores are lazy: they are computed where the blocks are.

tuned = DaskAUCClassifierCV().fit(rows, labels)
print(f"cross-validated AUC {tuned.best_score_:.3f} at l2 = {tuned.l2_:.2g}, certificate {tuned.gap_:.0e}")
scores = tuned.decision_function(rows)
print(scores)

_, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
left.loglog(blocks, np.maximum(differences, 1e-17), "o-")
left.set(xlabel="blocks", ylabel="difference from the fit on one machine", ylim=(1e-17, 1), xticks=blocks)
left.set_xticklabels(blocks)
left.minorticks_off()
plot_roc(y, scores.compute(), ax=right)
right.set_title("rows that were trained on")
plt.show()
