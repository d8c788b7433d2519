"""Spark: our whole cross-validated grid beside one fit of pyspark.ml's LogisticRegression, on the same frame.

Run `python -m benchmarks.spark` where the extra `spark` and a Java runtime are installed (`make bench-spark`).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.functions import vector_to_array
from pyspark.sql import SparkSession

from vrspam import metrics
from vrspam.distributed import SparkAUCClassifier, SparkAUCClassifierCV

warnings.simplefilter("ignore", FutureWarning)  # of pyspark, about pandas 3


def session(cores: int) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    made = (
        SparkSession.builder.master(f"local[{cores}]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "3g")
        .config("spark.sql.shuffle.partitions", str(2 * cores))
        .getOrCreate()
    )
    made.sparkContext.setLogLevel("OFF")
    return made


def rows_of(spark: SparkSession, rows: int, columns: int, partitions: int, correlated: bool, seed: int):
    """Return a cached frame of Gaussian columns with 10 % positives; the rule is linear, with noise, for all seeds."""
    names = [f"x{j}" for j in range(columns)]
    of_all = np.random.default_rng(0)
    rule = of_all.standard_normal(columns) / np.sqrt(columns)
    rank = max(1, columns // 10)
    mix = of_all.standard_normal((rank, columns)) / np.sqrt(rank)

    def make(batches):
        for batch in batches:
            for number in batch.column(0).to_pylist():
                rng = np.random.default_rng([seed, number])
                X = rng.standard_normal((rows // partitions, columns))
                if correlated:  # as benchmarks.common.correlated
                    X = rng.standard_normal((len(X), rank)) @ mix + 0.5 * X
                y = X @ rule + rng.standard_normal(len(X)) > 1.81
                table = pd.DataFrame(X, columns=names).assign(y=y.astype(np.int64))
                yield from pa.Table.from_pandas(table, preserve_index=False).to_batches(max_chunksize=10_000)

    kinds = ", ".join(f"{name} double" for name in names) + ", y long"
    frame = spark.range(0, partitions, 1, partitions).mapInArrow(make, kinds).cache()
    frame.count()
    return frame, names


def timed(function):
    start = time.perf_counter()
    return function(), time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    spark = session(given.cores)
    print(f"{given.rows:,} rows × {given.columns} columns, local[{given.cores}], median of {given.repeats} in turns\n")
    print("| columns | what | seconds | AUC on other rows |\n|---|---|---|---|")
    for correlated in (False, True):
        compare(spark, given, correlated)
    spark.stop()


def compare(spark: SparkSession, given: argparse.Namespace, correlated: bool) -> None:
    train, names = rows_of(spark, given.rows, given.columns, 4 * given.cores, correlated, seed=1)
    test, _ = rows_of(spark, given.rows // 10, given.columns, given.cores, correlated, seed=2)
    assembler = VectorAssembler(inputCols=names, outputCol="features")
    vectors = assembler.transform(train).select("features", "y").cache()
    vectors.count()
    fits = {
        "LogisticRegression, vectors cached": lambda: LogisticRegression(labelCol="y").fit(vectors),
        "LogisticRegression": lambda: LogisticRegression(labelCol="y").fit(assembler.transform(train)),
        "SparkAUCClassifier": lambda: SparkAUCClassifier().fit(train, "y"),
        "SparkAUCClassifierCV": lambda: SparkAUCClassifierCV().fit(train, "y"),
    }
    for fit in fits.values():  # workers are started, code is compiled
        fit()
    seconds: dict[str, list[float]] = {name: [] for name in fits}
    models = {}
    for _ in range(given.repeats):
        for name, fit in fits.items():
            models[name], took = timed(fit)
            seconds[name].append(took)
    iterations = models["LogisticRegression"].summary.totalIterations
    scored = models["LogisticRegression"].transform(assembler.transform(test))
    scored = scored.select("y", vector_to_array("probability")[1].alias("p")).toPandas()
    aucs = {"LogisticRegression": metrics.roc_auc(scored["y"].to_numpy(), scored["p"].to_numpy())}
    aucs["LogisticRegression, vectors cached"] = aucs["LogisticRegression"]  # the same fit
    aucs |= {name: model.score(test, "y") for name, model in models.items() if name not in aucs}
    words = {
        "LogisticRegression, vectors cached": "one fit of vectors that were assembled and cached before",
        "LogisticRegression": f"one fit, {iterations} iterations",
        "SparkAUCClassifier": "one fit",
        "SparkAUCClassifierCV": "17 penalties × 5 folds, and the fit",
    }
    kind = "correlated" if correlated else "independent"
    for name in fits:
        print(f"| {kind} | {name}: {words[name]} | {np.median(seconds[name]):.2f} | {aucs[name]:.4f} |", flush=True)
    ratio = np.median(seconds["SparkAUCClassifierCV"]) / np.median(seconds["LogisticRegression"])
    print(f"| {kind} | whole grid ÷ one logistic fit (goal: below 1) | {ratio:.2f} | |", flush=True)
    for frame in (train, test, vectors):
        frame.unpersist()


if __name__ == "__main__":
    main()
