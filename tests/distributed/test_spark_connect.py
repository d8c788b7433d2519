"""The Spark estimators in a session of Spark Connect against the local ones."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from on_spark_connect import table

from vrspam import AUCClassifier, AUCClassifierCV, HashFolds

for package in ("pyspark", "grpc", "grpc_status", "google.protobuf"):
    pytest.importorskip(package, reason=f"{package} is not installed: make test-spark installs it beside pyspark")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("there is no Java runtime, which Spark needs", allow_module_level=True)


@pytest.fixture(scope="module")
def found():
    program = Path(__file__).parents[1] / "on_spark_connect.py"
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def test_it_is_a_session_of_spark_connect(found):
    assert found["session"].startswith("pyspark.sql.connect")


def test_fits_and_scores_are_those_in_memory(found):
    rows = table()
    X, y = rows[["a", "b", "c"]].to_numpy(), rows["y"].to_numpy()
    np.testing.assert_allclose(found["coef"], AUCClassifier().fit(X, y).coef_, rtol=1e-9)
    local = AUCClassifierCV(cv=HashFolds(3)).fit(X, y)
    np.testing.assert_allclose(found["auc path"], local.auc_path_, atol=1e-12)
    np.testing.assert_allclose(found["search coef"], local.coef_, rtol=1e-9)
    assert found["score"] == pytest.approx(local.score(X, y), abs=1e-12)
    ordered = rows.sort_values("a")[["a", "b", "c"]].to_numpy()
    # where the probability is ½ depends on the draws of the correction, which a cluster leaves out
    np.testing.assert_allclose(found["probability"], local.predict_proba(ordered)[:, 1], atol=0.01)


def test_text_and_gaps_are_read_and_rows_are_refused(found):
    rows = table()
    assert found["names"] == ["a", "b", "c", "gaps", "town=north", "town=south"]
    towns = [(rows["town"] == town).astype(float) for town in ("north", "south")]
    features = pd.DataFrame({**rows[["a", "b", "c"]], "gaps": rows["gaps"].fillna(rows["gaps"].mean())})
    local = AUCClassifier().fit(np.column_stack([features, *towns]), rows["y"])
    np.testing.assert_allclose(found["messy coef"], local.coef_, rtol=1e-7)
    assert "two classes" in found["refusal"]
