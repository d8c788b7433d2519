"""Spark estimators against the local ones, on a local cluster whose Python worker and executor are killed."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from helpers import learned_schema, make_data, scaled_penalty
from sklearn.metrics import roc_auc_score

from vrspam import AUCClassifier, AUCClassifierCV, ClassMoments, HashFolds

pytest.importorskip("pyspark", reason='pyspark is not installed: run pip install ".[spark]" in a clone of vrspam')
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("there is no Java runtime, which Spark needs", allow_module_level=True)
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.classic.dataframe import DataFrame

from vrspam.distributed import SparkAUCClassifier, SparkAUCClassifierCV
from vrspam.distributed import _spark_blocks as module
from vrspam.features import AdditiveFeatures, KernelFeatures

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")  # of pyspark
NAMES = list("abcde")


@pytest.fixture(scope="module")
def spark():
    paths = os.pathsep.join(path for path in sys.path if path)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.executor.memory", "512m")
        .config("spark.executorEnv.PYTHONPATH", paths)
        .config("spark.executorEnv.OPENBLAS_NUM_THREADS", "1")
        .config("spark.sql.shuffle.partitions", "3")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def data():
    return make_data(300, 5, seed=1)


def frame_of(spark, X, y, partitions=5, **more):
    table = pd.DataFrame(X, columns=NAMES).assign(y=y, **more)
    return spark.createDataFrame(table).repartition(partitions)


@pytest.mark.parametrize("penalty", ["ridge", "net"])
def test_same_answer_as_in_memory(spark, data, penalty):
    X, y = data
    labels = np.where(y == 1, "yes", "no") if penalty == "net" else y
    weights = np.random.default_rng(2).uniform(0.0, 2.0, 300)
    weights[:40] = 0.0
    l2, l1 = scaled_penalty(ClassMoments.from_data(X, y, weights), penalty)
    local = AUCClassifier(l2, l1, tol=1e-14).fit(X, labels, sample_weight=weights)
    frame = frame_of(spark, X, labels, w=weights)
    model = SparkAUCClassifier(l2, l1, tol=1e-14).fit(frame, "y", "w")
    scale = np.abs(local.coef_).max()
    np.testing.assert_allclose(model.coef_, local.coef_, atol=1e-12 * scale if l1 == 0.0 else 1e-7 * scale)
    assert model.moments_ == local.moments_
    assert model.classes_.tolist() == local.classes_.tolist()
    assert model.feature_names_.tolist() == NAMES
    assert model.score(frame, "y", "w") == pytest.approx(local.score(X, labels, weights), abs=1e-12)
    table = pd.DataFrame(X, columns=NAMES)
    np.testing.assert_allclose(model.decision_function(table), local.decision_function(X), atol=1e-6)
    np.testing.assert_array_equal(model.predict(pl.from_pandas(table)), local.predict(X))
    np.testing.assert_array_equal(model.predict(X), local.predict(X))


def test_cross_validation_is_that_of_hash_folds_in_memory(spark, data):
    X, y = data
    local = AUCClassifierCV(cv=HashFolds(3)).fit(X, y)
    frame = frame_of(spark, X, y)
    model = SparkAUCClassifierCV(cv=3).fit(frame, "y")
    np.testing.assert_allclose(model.auc_path_, local.auc_path_, atol=1e-12)
    assert model.l2_ == pytest.approx(local.l2_, rel=1e-12)
    np.testing.assert_allclose(model.coef_, local.coef_, atol=1e-12 * np.abs(local.coef_).max())
    table = pd.DataFrame(X, columns=NAMES)
    np.testing.assert_allclose(
        model.predict_proba(table)[:, 1], model.calibration_(model.decision_function(table) - model.baseline_)
    )
    with pytest.raises(AttributeError, match="SparkAUCClassifierCV has no corrected_score_"):
        _ = model.corrected_score_
    found = model.transform(frame).toPandas().sort_values(NAMES)
    ordered = found[NAMES].to_numpy()
    np.testing.assert_allclose(found["score"], model.decision_function(ordered), atol=1e-12)
    np.testing.assert_allclose(found["probability"], model.predict_proba(ordered)[:, 1], atol=1e-12)
    np.testing.assert_array_equal(found["prediction"], model.predict(ordered))


@pytest.mark.parametrize("threshold", [{"recall": 0.9}, {"alerts": 0.2}, 0.25], ids=str)
def test_a_threshold_decides_as_in_memory(spark, data, threshold):
    X, y = data
    local = AUCClassifierCV(cv=HashFolds(3), threshold=threshold).fit(X, y)
    frame = frame_of(spark, X, np.where(y == 1, "yes", "no"))
    model = SparkAUCClassifierCV(cv=3, threshold=threshold).fit(frame, "y")
    assert model.threshold_.threshold == pytest.approx(local.threshold_.threshold, abs=1e-9)
    found = model.transform(frame).toPandas()
    called = found["score"] >= model.threshold_.threshold
    assert 0 < called.sum() < 300
    np.testing.assert_array_equal(found["prediction"], np.where(called, "yes", "no"))
    np.testing.assert_array_equal(model.predict(found[NAMES]), found["prediction"])
    without = model.transform(frame, probability=None).toPandas()
    assert (without["prediction"] == "yes").sum() == called.sum()


def test_the_workers_add_the_totals_of_many_partitions(spark, data):
    """40 partitions are more than one task adds: they are added in groups."""
    X, y = data
    frame = frame_of(spark, X, y, 40)
    np.testing.assert_allclose(SparkAUCClassifier().fit(frame, "y").coef_, AUCClassifier().fit(X, y).coef_, rtol=1e-9)
    model, local = SparkAUCClassifierCV(cv=3).fit(frame, "y"), AUCClassifierCV(cv=HashFolds(3)).fit(X, y)
    np.testing.assert_allclose(model.auc_path_, local.auc_path_, atol=1e-12)
    np.testing.assert_allclose(model.coef_, local.coef_, atol=1e-12 * np.abs(local.coef_).max())


def test_rows_are_kept_for_the_second_pass_and_the_cache_is_given_back(spark, data, monkeypatch):
    """Each partition is read once; what was kept is released, after an error too."""
    X, y = data
    reads = spark.sparkContext.accumulator(0)

    def counted(batches):
        for batch in batches:
            reads.add(batch.num_rows)
            yield batch

    kept = []
    persist = DataFrame.persist

    def watched(frame, level):
        kept.append(frame)
        return persist(frame, level)

    monkeypatch.setattr(DataFrame, "persist", watched)
    plain = frame_of(spark, X, y)
    frame = plain.mapInArrow(counted, plain.schema)
    SparkAUCClassifierCV(cv=3).fit(frame, "y")
    assert reads.value == 300
    with pytest.raises(ValueError, match="two classes"):
        SparkAUCClassifier().fit(frame.where("y = 1"), "y")
    assert kept
    assert not any(part.is_cached for part in kept)


def messy(X):
    """Numbers of several types with gaps, text with gaps, a flag, and a name of the row."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(X[:, :3], columns=["a", "b.c", "d"])
    table.loc[::5, "a"] = np.nan
    table["count"] = rng.integers(0, 5, len(X)).astype("int32")
    table["flag"] = X[:, 3] > 0
    table["town"] = np.where(X[:, 4] > 1, "north", np.where(X[:, 4] < -1, "south", "east")).astype(object)
    table.loc[::7, "town"] = None
    table["name"] = [f"row {i}" for i in range(len(X))]
    return table


def by_hand(table, fill=None):
    """The features that the estimator should make."""
    numbers = table[["a", "b.c", "d", "count", "flag"]].astype(float)
    numbers["a"] = numbers["a"].fillna(numbers["a"].mean() if fill is None else fill)
    towns = [(table["town"] == town).astype(float) for town in ("east", "north", "south")]
    return np.column_stack([numbers, *towns])


def test_text_and_missing_values(spark, data):
    X, y = data
    table = messy(X)
    frame = spark.createDataFrame(table.assign(y=y)).repartition(4)
    with pytest.warns(UserWarning, match="Left out as identifiers .*: 'name'"):
        model = SparkAUCClassifier().fit(frame, "y")
    features = by_hand(table)
    local = AUCClassifier().fit(features, y)
    assert model.feature_names_.tolist() == [
        "a", "b.c", "d", "count", "flag", "town=east", "town=north", "town=south"
    ]  # fmt: skip
    np.testing.assert_allclose(model.coef_, local.coef_, atol=1e-8 * np.abs(local.coef_).max())
    np.testing.assert_allclose(model.decision_function(table), local.decision_function(features), atol=1e-8)
    new = table.head(3).assign(town="west")  # a new category counts as none
    np.testing.assert_allclose(
        model.decision_function(new), local.decision_function(by_hand(new, features[0, 0])), atol=1e-8
    )
    by_udf = frame.select("name", model.udf()(F.struct(*[module.quoted(c) for c in model.schema_.columns])).alias("s"))
    found = by_udf.toPandas().set_index("name").loc[table["name"], "s"]
    np.testing.assert_allclose(found, local.decision_function(features), atol=1e-8)
    searched = SparkAUCClassifierCV([0.01, 1.0], cv=3).fit(frame.drop("name"), "y")
    same = by_hand(table, searched.schema_.fill[0])
    folds = AUCClassifierCV([0.01, 1.0], cv=HashFolds(3)).fit(same, y)
    np.testing.assert_allclose(searched.auc_path_, folds.auc_path_, atol=1e-12)


def test_text_and_dates_are_read_as_in_a_frame(spark, data):
    X, y = data
    days = pd.Timestamp("2021-01-01") + pd.to_timedelta(np.arange(300) * 37, unit="h")
    table = pd.DataFrame({"a": X[:, 0], "price": [f"${1000 + 100 * value:,.2f}" for value in X[:, 1]], "day": days})
    table.loc[::9, "price"] = "unknown"
    frame = spark.createDataFrame(table.assign(y=y)).repartition(4)
    with pytest.warns(UserWarning, match=r"'price' holds text that was read as numbers .*frame\.drop\('price'\)"):
        model = SparkAUCClassifier().fit(frame, "y")
    schema = learned_schema(table)
    assert model.schema_.readings == schema.readings
    read = schema.read(table)[0]
    local = AUCClassifier().fit(read.fillna(read.mean()), y)
    assert model.feature_names_.tolist() == list(read)
    np.testing.assert_allclose(model.coef_, local.coef_, atol=1e-8 * np.abs(local.coef_).max())
    scores = local.decision_function(read.fillna(read.mean()))
    np.testing.assert_allclose(model.decision_function(table), scores, atol=1e-7)
    found = model.transform(frame).toPandas().set_index("day").loc[days, "score"]
    np.testing.assert_allclose(found, scores, atol=1e-7)


def test_many_categories_keep_the_most_frequent(spark, data, monkeypatch):
    X, y = data
    monkeypatch.setattr(module, "MAX_CATEGORIES", 2)
    frame = spark.createDataFrame(messy(X).drop(columns="name").assign(y=y))
    with pytest.warns(UserWarning, match="'town' has more than 2 categories"):
        schema = module.learn_schema(frame.drop("y"))
    counts = messy(X)["town"].value_counts()
    assert schema.categorical == {"town": (counts.index[0],)}  # all others count as one


def test_what_is_read_or_left_out_is_said(spark, data, monkeypatch):
    table = messy(data[0]).drop(columns="name").assign(dose=[f"<{k % 6}" for k in range(300)])
    table["day"] = pd.date_range("2020-01-01", periods=300, freq="37h")
    frame = spark.createDataFrame(table)
    with pytest.warns(UserWarning, match="column '") as said:
        module.learn_schema(frame)
    words = {str(one.message).split("'")[1]: str(one.message) for one in said if "column '" in str(one.message)}
    assert set(words) == {"dose", "day"}
    assert "taken as 6 categories" in words["dose"]
    assert words["dose"].endswith("leave it out (frame.drop('dose')) or confirm it (a letter before its values)")
    assert words["day"].endswith("weekday and hour are features; frame.drop('day') leaves dates out")
    monkeypatch.setattr("vrspam.tables.columns.MOST_COUNTED", 2)
    with pytest.warns(UserWarning, match="column 'town' has more than 2 categories; left out"):
        assert module.learn_schema(frame.drop("dose", "day")).categorical == {}


def test_wide_data_by_one_pass_for_each_product(spark, data, monkeypatch):
    X, y = data
    local = AUCClassifier(0.5, tol=1e-14).fit(X, y)
    monkeypatch.setattr("vrspam.estimators.blocks.MOMENTS_MAX_FEATURES_DENSE", 4)
    monkeypatch.setattr("vrspam.distributed.spark.MOMENTS_MAX_FEATURES_DENSE", 4)
    model = SparkAUCClassifier(0.5, tol=1e-9).fit(frame_of(spark, X, y, 2).cache(), "y")
    assert model.solver_ == "products"
    assert np.linalg.norm(model.coef_ - local.coef_) <= np.sqrt(2 * model.gap_ / 0.5) + 1e-8


def test_empty_partitions_count_for_nothing(spark, data):
    X, y = data
    frame = frame_of(spark, X, y, 8).where("a > 0")
    kept = X[:, 0] > 0
    local = AUCClassifier().fit(X[kept], y[kept])
    np.testing.assert_allclose(SparkAUCClassifier().fit(frame, "y").coef_, local.coef_, rtol=1e-9)
    for estimator in (SparkAUCClassifier(), SparkAUCClassifierCV()):
        with pytest.raises(ValueError, match="There are no rows"):
            estimator.fit(frame.where("a > 1e9"), "y")


def test_refusals(spark, data):
    X, y = data
    frame = frame_of(spark, X, y)
    with pytest.raises(ValueError, match="must be a Spark data frame, got ndarray"):
        SparkAUCClassifier().fit(X, y)
    with pytest.raises(ValueError, match="y must be the name of a column"):
        SparkAUCClassifier().fit(frame, y)
    for kind in (SparkAUCClassifier, SparkAUCClassifierCV):
        with pytest.raises(ValueError, match=f"{kind.__name__} takes no strata"):
            kind().fit(frame, "y", strata="x")
    with pytest.raises(ValueError, match="sample_weight must be the name"):
        SparkAUCClassifier().fit(frame, "y", "none")
    with pytest.raises(ValueError, match="'t' of type array<double> is neither number, text nor date"):
        SparkAUCClassifier().fit(frame.withColumn("t", F.array("a", "b")), "y")
    with pytest.raises(ValueError, match="'a' has no value at all"):
        SparkAUCClassifier().fit(frame.withColumn("a", F.lit(None).cast("double")), "y")
    with pytest.raises(ValueError, match=r"Block \d: Input X contains infinity"):
        SparkAUCClassifier().fit(frame.withColumn("a", F.when(F.col("a") > 2, float("inf")).otherwise(F.col("a"))), "y")
    with pytest.raises(ValueError, match="A row has no label"):
        SparkAUCClassifier().fit(frame.withColumn("y", F.when(F.col("a") > 0, F.col("y"))), "y")
    with pytest.raises(ValueError, match="two classes"):
        SparkAUCClassifier().fit(frame.where("y = 1"), "y")
    with pytest.raises(ValueError, match="Only two classes are possible"):  # of two partitions, each with one label
        SparkAUCClassifier().fit(
            frame.where("y = 0").union(frame.withColumn("y", F.lit(7)).where("a > 0")).union(frame), "y"
        )
    with pytest.raises(ValueError, match="needs the rows themselves"):
        SparkAUCClassifier(loss="squared_hinge").fit(frame, "y")
    model = SparkAUCClassifier().fit(frame, "y")
    with pytest.raises(ValueError, match="use transform"):
        model.decision_function(frame)
    with pytest.raises(ValueError, match="has a column 'score' already"):
        model.transform(frame.withColumn("score", F.lit(1)))
    with pytest.raises(ValueError, match="no column 'b'"):
        model.transform(frame.drop("b"))
    with pytest.raises(ValueError, match="not seen in fit"):
        model.score(frame.withColumn("y", F.lit("maybe")), "y")


def test_columns_of_very_different_scale_are_said(spark, data):
    X, y = data
    with pytest.warns(UserWarning, match="'e'"):
        SparkAUCClassifier().fit(frame_of(spark, X * [1, 1, 1, 1, 1e5], y), "y")


def generated(spark, marker=None, what="worker"):
    """Rows of 6 partitions; in partition 3 a process writes the id of the one to kill, once, and waits."""

    def rows(batches):
        for batch in batches:
            for number in batch.column(0).to_pylist():
                if marker is not None and number == 3:
                    wait_to_be_killed(marker, what)
                yield pa.RecordBatch.from_pandas(block(number), preserve_index=False)

    kinds = ", ".join(f"{name} double" for name in NAMES) + ", y long"
    return spark.range(0, 6, 1, 6).mapInArrow(rows, kinds)


def wait_to_be_killed(marker, what):
    victim = os.getpid()
    if what == "executor":  # the parent of the daemon that forks the Python workers
        victim = int(Path(f"/proc/{os.getppid()}/stat").read_text().rsplit(")", 1)[1].split()[1])
    try:
        with open(marker, "x") as file:
            file.write(f"{victim}\n")
        time.sleep(60)
    except FileExistsError:
        pass


def block(number):
    rng = np.random.default_rng(number)
    table = pd.DataFrame(rng.standard_normal((200, 5)), columns=NAMES)
    return table.assign(y=(table["a"] + rng.standard_normal(200) > 0.5).astype(int))


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs Linux's /proc")
@pytest.mark.parametrize("what", ["worker", "executor"])
def test_a_killed_process_changes_nothing(spark, tmp_path, what):
    marker = tmp_path / "victim"
    tmp_path.chmod(0o777)
    frame, fitted = generated(spark, str(marker), what), []
    fit = threading.Thread(target=lambda: fitted.append(SparkAUCClassifierCV(cv=3).fit(frame, "y")), daemon=True)
    fit.start()
    deadline = time.monotonic() + 300  # a busy machine takes its time
    while not (marker.exists() and marker.read_text().endswith("\n")) and time.monotonic() < deadline:
        time.sleep(0.05)
    victim = int(marker.read_text())
    command = Path(f"/proc/{victim}/cmdline").read_text()
    assert ("CoarseGrainedExecutorBackend" in command) == (what == "executor"), command
    os.kill(victim, signal.SIGKILL)
    fit.join(timeout=300)
    assert not fit.is_alive(), "the fit hangs"
    rows = pd.concat([block(number) for number in range(6)])
    local = AUCClassifierCV(cv=HashFolds(3)).fit(rows[NAMES].to_numpy(), rows["y"].to_numpy())
    np.testing.assert_allclose(fitted[0].auc_path_, local.auc_path_, atol=1e-12)
    np.testing.assert_allclose(fitted[0].coef_, local.coef_, atol=1e-12 * np.abs(local.coef_).max())


def test_auc_of_a_frame(spark, data):
    X, y = data
    frame = frame_of(spark, X, y)
    model: Any = SparkAUCClassifier().fit(frame, "y")
    found = model.transform(frame, score="s", prediction=None).select("s", "y").toPandas()
    assert model.score(frame, "y") == pytest.approx(roc_auc_score(found["y"], found["s"]), abs=1e-12)


@pytest.mark.parametrize("selection", ["blend", "best"])
def test_feature_maps_give_the_model_of_all_rows(spark, selection):
    """Rows in the order of their hashes, which is that of the sample: landmarks are drawn by their places."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    y = (X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + 0.5 * rng.standard_normal(300) > 1.0).astype(int)
    X[rng.random(300) < 0.1, 3] = np.nan
    order = np.argsort(HashFolds(3).hashes(X))
    X, y = X[order], y[order]
    maps = [AdditiveFeatures(random_state=0), KernelFeatures(n_landmarks=30, random_state=0)]
    given: dict[str, Any] = {"features": maps, "cv": HashFolds(3), "selection": selection}
    whole = AUCClassifierCV(**given).fit(X, y)
    shuffled = np.random.default_rng(2).permutation(300)
    table = pd.DataFrame(X[shuffled], columns=list("abcd")).assign(y=y[shuffled])
    frame = spark.createDataFrame(table).repartition(4)
    model = SparkAUCClassifierCV(**given).fit(frame, "y")
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(model.selection_["weight"], whole.selection_["weight"], atol=1e-9)
    # where the probability is ½ depends on the draws of the correction, which a cluster leaves out
    assert model.baseline_ == pytest.approx(whole.baseline_, abs=0.01)
    moved = model.baseline_ - whole.baseline_
    scores = whole.decision_function(X[shuffled]) + moved
    np.testing.assert_allclose(model.decision_function(table), scores, rtol=1e-6, atol=1e-9)
    scored = model.transform(frame).toPandas()
    again = whole.decision_function(scored[list("abcd")].to_numpy()) + moved
    np.testing.assert_allclose(scored["score"], again, rtol=1e-6, atol=1e-9)
    assert model.score(frame, "y") == pytest.approx(roc_auc_score(y, whole.decision_function(X)), abs=1e-12)


def test_spark_alone_needs_no_dask():
    program = """
import sys; sys.modules["dask"] = None
from vrspam.distributed import SparkAUCClassifier
try: from vrspam.distributed import DaskAUCClassifier
except ImportError as error: print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == 'dask is missing: run pip install ".[dask]" in a clone of vrspam', done.stderr


@pytest.mark.parametrize("features", ["linear", "additive"])
def test_directions_name_columns_of_the_frame_and_hold(spark, features):
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"a": rng.normal(size=400), "b": rng.normal(size=400), "c": rng.choice(["x", "z"], 400)})
    table["y"] = (np.abs(table["a"]) + 0.5 * table["b"] + rng.normal(size=400) > 0.8).astype(int)
    given: dict[str, Any] = {"features": features, "cv": HashFolds(3), "random_state": 0}
    frame = spark.createDataFrame(table).repartition(3)
    model = SparkAUCClassifierCV(**given, monotonic_cst={"a": -1, "b": 1}).fit(frame, "y")
    line = np.linspace(-6.0, 6.0, 200)
    for column, sign in (("a", -1), ("b", 1)):
        moved = table.drop(columns="y").iloc[[0] * 200].assign(**{column: line})
        assert (sign * np.diff(model.decision_function(moved))).min() >= -1e-12
    with pytest.raises(ValueError, match="names 'c', which is not among the columns: a, b, c=x, c=z"):
        SparkAUCClassifierCV(**given, monotonic_cst={"c": 1}).fit(frame, "y")
