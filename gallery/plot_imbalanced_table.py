"""
An imbalanced table, from file to report
========================================

One learns how a table with a rare class becomes a model, an honest AUC with its interval, a threshold that fits the
costs, and a page to mail. The accuracy of such a table says nothing: who always says "stays" is nearly always right.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from vrspam.metrics import roc_auc_ci
from vrspam.plotting import plot_roc, plot_scores
from vrspam.tool import make_report, report_page, score_file

# %%
# The table
# ---------
# Made-up customers: text, gaps, a number that only counts above a limit, and few who leave.


def customers(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "months": rng.integers(1, 60, rows).astype(float),
            "calls": rng.poisson(2.0, rows),
            "plan": rng.choice(["basic", "family", "pro"], rows),
            "bill": rng.lognormal(3.0, 0.5, rows).round(2),
        }
    )
    odds = -3.4 + 0.9 * np.maximum(table["calls"] - 2, 0) - table["months"] / 30 + 1.2 * (table["plan"] == "basic")
    table["leaves"] = np.where(rng.random(rows) < 1 / (1 + np.exp(-odds)), "yes", "no")
    table.loc[rng.random(rows) < 0.1, "months"] = np.nan
    return table


folder = Path(tempfile.mkdtemp())
customers(4000, 0).to_csv(folder / "customers.csv", index=False)
customers(4000, 1).to_csv(folder / "next-year.csv", index=False)

# %%
# Train
# -----
# Every row is scored by a model that has not seen it, and the AUC is corrected for the choice of the penalty. To lose a
# customer is as bad as 10 letters in vain: the threshold follows. (Without ``features`` more kinds of models compete.)

report = make_report(folder / "customers.csv", "leaves", features="additive", cost_ratio=10)
expected, held_out, best = report.expected, report.evaluation, report.evaluation.thresholds["cost"]
print(f"{held_out.positives} of {held_out.n} customers leave")
print(f"AUC to expect of new customers: {expected.auc:.3f} [{expected.low:.3f}, {expected.high:.3f}]")
print(f"a letter to {best.share:.0%} of them would reach {best.sensitivity:.0%} of those who leave")

# %%
# Does it hold?
# -------------
# Customers of the next year, whom no model has seen.

leaves, scores = score_file(report.model, folder / "next-year.csv")
found, called = roc_auc_ci(leaves, scores), scores >= best.threshold
print(f"AUC of the next year: {found.auc:.3f} [{found.low:.3f}, {found.high:.3f}]")
print(f"a letter to {called.mean():.0%} of them reaches {called[leaves].mean():.0%} of those who leave")

_, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
plot_roc(leaves, {"next year": scores}, ax=left)
plot_scores(leaves, scores, threshold=best.threshold, names=("stay", "leave"), ax=right)
plt.show()

# %%
# A page to mail
# --------------
# One HTML file, with a slider; the command is ``vrspam report customers.csv --target leaves``.
path = report_page(report, data_name="customers.csv").write(folder / "report.html")
print(f"{path.name}: {path.stat().st_size / 1024:.0f} KB")
