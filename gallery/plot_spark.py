"""
A Spark data frame
==================

One learns to fit a Spark data frame with text and missing values where it lies, with penalties chosen by
cross-validation, and to add scores and probabilities to it as columns. Where pyspark or a Java runtime (17 or newer)
is missing, the example says so and fits the same rows in memory.
"""

import os
import shutil
import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from vrspam import AUCClassifierCV
from vrspam.plotting import plot_coefficients, plot_reliability

# %%
# Made-up customers, of whom about 20 % leave.

rng = np.random.default_rng(0)
rows = 20_000
table = pd.DataFrame(
    {
        "months": rng.integers(1, 60, rows).astype(float),
        "calls": rng.poisson(2.0, rows),
        "plan": rng.choice(["basic", "family", "pro"], rows),
    }
)
risk = table["calls"] - table["months"] / 20 + (table["plan"] == "basic")
table["leaves"] = risk + rng.logistic(size=rows) > 3.0
table.loc[rng.random(rows) < 0.1, "months"] = np.nan

# %%
# Each partition sends its rows to Python by Arrow and adds up the moments of their classes; the driver solves. Missing
# numbers become the mean of the column, text becomes one column for each category.

try:
    from pyspark.sql import SparkSession

    has_spark = bool(shutil.which("java") or os.environ.get("JAVA_HOME"))
except ImportError:
    has_spark = False

if has_spark:
    from vrspam.distributed import SparkAUCClassifierCV

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    frame = spark.createDataFrame(table).repartition(4)
    model = SparkAUCClassifierCV().fit(frame, "leaves")
    print(f"cross-validated AUC {model.best_score_:.3f}, certificate {model.gap_:.0e}")
    scored = model.transform(frame).select("leaves", "score", "probability").toPandas()
    spark.stop()
    weights = dict(zip(model.feature_names_, model.coef_[0], strict=True))
else:
    print("pyspark or a Java runtime is missing (pip install 'vrspam[spark]'): the same rows in memory instead")
    X = table.drop(columns="leaves")
    local = AUCClassifierCV(features="standardized").fit(X, table["leaves"])
    print(f"cross-validated AUC {local.best_score_:.3f}, certificate {local.gap_:.0e}")
    scored = table[["leaves"]].assign(score=local.decision_function(X), probability=local.predict_proba(X)[:, 1])
    weights = local.importances_

# %%
# The highest scores, what weighs in them, and whether the probabilities hold.

print(scored.sort_values("score", ascending=False).head(3).to_string(index=False))
_, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
meaning = "coefficient, for one unit of the column" if has_spark else "standard deviation of what the column adds"
plot_coefficients(weights, label=meaning, ax=left)
plot_reliability(scored["leaves"], scored["probability"], ax=right)
plt.show()
