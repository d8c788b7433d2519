"""
A file larger than memory
=========================

One learns to fit files block by block, with penalties chosen by cross-validation. The result is the exact one and not
an approximation: the blocks, their size and their order do not change it. A pass needs the same memory for any number
of files.
"""

import tempfile
import tracemalloc
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from vrspam import AUCClassifier, AUCClassifierCV, HashFolds
from vrspam.data import read_chunks
from vrspam.plotting import plot_cv

# %%
# Made-up files, one for each month; a real folder may hold hundreds of gigabytes.

folder, rng = Path(tempfile.mkdtemp()), np.random.default_rng(0)
rule = rng.standard_normal(30) / 3
for month in range(1, 9):
    X = rng.standard_normal((10_000, 30))
    columns = {f"x{j}": X[:, j] for j in range(30)}
    columns["sold"] = (X @ rule + rng.logistic(size=len(X)) > 3.0).astype(int)
    pq.write_table(pa.table(columns), folder / f"month{month}.parquet")
files = sorted(folder.iterdir())

# %%
# One pass
# --------
# Blocks of 256 KB; only the means and covariances of the two classes are kept. (The memory is that of NumPy's arrays.)

sizes = np.array([1, 2, 4, 8])
peaks = []
for count in sizes:
    chunks = read_chunks(files[:count], target="sold", chunk_bytes=1 << 18)
    tracemalloc.start()
    AUCClassifier().fit_stream(chunks)
    peaks.append(tracemalloc.get_traced_memory()[1] / 1e6)
    tracemalloc.stop()
print("files:", *sizes, "  most memory at a time, MB:", *np.round(peaks, 1))

# %%
# Cross-validation
# ----------------
# Two passes: one gathers the moments of five folds, from which the whole grid is solved, and one scores each row by the
# model that was trained without its fold. With so many rows the penalty hardly matters here, as the right picture says.
# The same rows in memory, or in another order, give the same model.

model = AUCClassifierCV().fit_stream(read_chunks(folder, target="sold"))
low, high = model.corrected_interval_
print(f"cross-validated AUC {model.corrected_score_:.3f} [{low:.3f}, {high:.3f}], certificate {model.gap_:.0e}")

blocks = list(read_chunks(folder, target="sold"))
X, y = np.concatenate([X for X, _ in blocks]), np.concatenate([y for _, y in blocks])
whole = AUCClassifierCV(cv=HashFolds(5)).fit(X, y)
backwards = AUCClassifier(l2=model.l2_).fit_stream(reversed(blocks))
for name, other in (("in memory", whole), ("blocks in reverse", backwards)):
    difference = np.abs(other.coef_ - model.coef_).max() / np.abs(model.coef_).max()
    print(f"{name}: coefficients differ by {difference:.0e}")

_, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.plot(sizes, sizes * X.nbytes / len(files) / 1e6, "o--", label="all rows in memory")
left.plot(sizes, peaks, "o-", label="fit_stream")
left.set(xlabel="files", ylabel="memory, MB", ylim=(0, None))
left.legend()
plot_cv(model, ax=right)
plt.show()
