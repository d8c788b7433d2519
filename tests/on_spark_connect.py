"""A session of Spark Connect on this machine, and what the Spark estimators find there, as JSON: run by a test.

A process has either classic sessions or those of Spark Connect, so this one is no part of the tests.
"""

import json
import os
import sys
import warnings

import numpy as np
import pandas as pd


def table() -> pd.DataFrame:
    """Numbers with gaps and text; half of the rows are positive."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.standard_normal((300, 3)), columns=list("abc"))
    rows["y"] = (rows["a"] + rng.standard_normal(300) > 0.0).astype(int)
    rows["town"] = rng.choice(["north", "south"], 300)
    rows["gaps"] = rows["c"].where(rng.random(300) > 0.2)
    return rows


def main() -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable  # before the server starts
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    warnings.simplefilter("ignore")
    from pyspark.sql import SparkSession

    from vrspam.distributed import SparkAUCClassifier, SparkAUCClassifierCV

    spark = (
        SparkSession.builder.remote("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "3")
        .getOrCreate()
    )
    frame = spark.createDataFrame(table())
    numbers = frame.select("a", "b", "c", "y").repartition(20)  # more than one task adds
    model = SparkAUCClassifier().fit(numbers, "y")
    search = SparkAUCClassifierCV(cv=3).fit(numbers, "y")
    messy = SparkAUCClassifier().fit(frame.repartition(4), "y")
    refusal = ""
    try:
        SparkAUCClassifier().fit(frame.where("y = 1"), "y")
    except ValueError as error:
        refusal = str(error)
    found = {
        "session": type(spark).__module__,
        "coef": model.coef_.tolist(),
        "search coef": search.coef_.tolist(),
        "auc path": search.auc_path_.tolist(),
        "score": search.score(numbers, "y"),
        "probability": search.transform(numbers).toPandas().sort_values("a")["probability"].tolist(),
        "names": messy.feature_names_.tolist(),
        "messy coef": messy.coef_.tolist(),
        "refusal": refusal,
    }
    print(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main()
