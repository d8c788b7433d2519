"""A Spark data frame with text and missing values: penalties by cross-validation, then scores as a column.

Run: python examples/spark_frame.py (needs the extra `spark`, and a Java runtime)
"""

from __future__ import annotations

import os
import sys

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession

from vrspam.distributed import SparkAUCClassifierCV


def customers(rows: int = 20_000, seed: int = 0) -> pd.DataFrame:
    """Return made-up customers; about 20 % leave."""
    rng = np.random.default_rng(seed)
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
    return table


def main() -> None:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    frame = spark.createDataFrame(customers()).repartition(4)
    model = SparkAUCClassifierCV().fit(frame, "leaves")
    print(f"cross-validated AUC {model.best_score_:.3f}, certificate {model.gap_:.1e}")
    for name, coefficient in zip(model.feature_names_, model.coef_[0], strict=True):
        print(f"{name:12} {coefficient:8.4f}")
    scored = model.transform(frame)
    scored.select("months", "calls", "plan", "score", "probability").orderBy("score", ascending=False).show(5)
    spark.stop()


if __name__ == "__main__":
    main()
