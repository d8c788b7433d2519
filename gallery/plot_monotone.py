"""
Credit: a score that must fall with income
==========================================

One learns to tell a model which way the score may go with a column, to see what that costs, and where the free model
went the other way. A bank that says "earn more, and you are a worse risk" has to explain it; this model cannot say it.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from vrspam import AUCClassifierCV
from vrspam.plotting import plot_shapes

# %%
# Loans, some of which were not paid back. Risk falls with income, rises with the share of it that is owed, and goes up
# and down with age. The size of the loan is an ordered category.

rng = np.random.default_rng(0)
n = 1500
income, owed, age = rng.gamma(3.0, 12.0, n).round(1), rng.beta(2.0, 4.0, n).round(3), rng.integers(20, 75, n)
size = pd.Categorical(rng.choice(["small", "medium", "large"], n), ["small", "medium", "large"], ordered=True)
risk = -0.03 * income + 3.0 * owed + np.sin(age / 7.0) + 0.2 * size.codes + rng.logistic(size=n)
loans = pd.DataFrame({"income": income, "owed": owed, "age": age.astype(float), "size": size})
bad = risk > 1.2

# %%
# The same curves, free and told.

told = {"income": -1, "owed": 1, "size": 1}
free = AUCClassifierCV(features="additive", random_state=0).fit(loans, bad)
obeys = AUCClassifierCV(features="additive", monotonic_cst=told, random_state=0).fit(loans, bad)
print(f"expected AUC: {free.corrected_score_:.3f} free, {obeys.corrected_score_:.3f} with directions")
print(f"certificate: at most {obeys.gap_:.0e} above the least objective inside the directions")

# %%
# Curves that were told a direction say so. Beyond the range of training the score still obeys.

plot_shapes(obeys, n_cols=2, figure=plt.figure(figsize=(8, 6), layout="constrained"))
plt.show()

rich = loans.iloc[np.zeros(200, dtype=int)].assign(income=np.linspace(0.0, 240.0, 200))
print("largest rise with income:", max(0.0, np.diff(obeys.decision_function(rich)).max()))
