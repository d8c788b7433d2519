"""
Reading curves and interactions
===============================

One learns to read a model that is not a straight line: what each column adds to the score, which pairs of columns
interact, and how the score of a single row comes about. The data are made up, so that the truth is known.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from vrspam import AUCClassifierCV
from vrspam.plotting import plot_contributions, plot_interactions, plot_shapes

# %%
# A machine fails when it is cold or hot (a U), with more load (a line), and when it is old and shakes (both, not one
# alone). The colour does not matter.

rng = np.random.default_rng(0)
rows = 4000
table = pd.DataFrame(
    {
        "temperature": rng.normal(60, 15, rows),
        "load": rng.uniform(0, 1, rows),
        "age": rng.uniform(0, 10, rows),
        "shaking": rng.uniform(0, 1, rows),
        "colour": rng.choice(["red", "green", "blue"], rows),
    }
)
old_and_shaking = (table["age"] > 6) & (table["shaking"] > 0.6)
risk = ((table["temperature"] - 60) / 15) ** 2 + 2 * table["load"] + 4 * old_and_shaking
fails = risk + rng.logistic(size=rows) > 5.5

model = AUCClassifierCV(features="kernel 1", random_state=0).fit(table, fails)
low, high = model.corrected_interval_
print(f"{fails.mean():.0%} fail; cross-validated AUC {model.corrected_score_:.3f} [{low:.3f}, {high:.3f}]")

# %%
# Curves
# ------
# All panels have one scale, so a flat curve is a column that hardly matters. The dashed line is the mean score of the
# rows with that value.

plot_shapes(model, figure=plt.figure())
plt.show()

# %%
# Interactions
# ------------
# The curves of age and shaking already give each its own part. What is left is the rest: a machine that is old and
# shakes fails more often than its two curves say, one that is old or shakes fails less often. Pairs that do not stand
# out from noise are not drawn.

for pair, share in model.interactions_.items():
    print(f"{' and '.join(pair)}: {share:.1%} of the variance of the score")
plot_interactions(model, figure=plt.figure())
plt.show()

# %%
# One row
# -------
# The parts of the curves and of the interactions add up to the score of the row.

riskiest = table.iloc[[model.decision_function(table).argmax()]]
plot_contributions(model, riskiest)
plt.show()
