"""Dask estimators against the local ones, on Dask's own scheduler and on a cluster whose worker is killed."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from helpers import make_data, scaled_penalty
from scipy import sparse
from sklearn.metrics import roc_auc_score

from vrspam import AUCClassifier, AUCClassifierCV, ClassMoments, HashFolds
from vrspam._utils.warnings import ScoredAcrossStrata

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")
import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
import pandas as pd  # noqa: E402
from dask.distributed import Client, LocalCluster  # noqa: E402

from vrspam.distributed import DaskAUCClassifier, DaskAUCClassifierCV  # noqa: E402
from vrspam.distributed.dask import sum_of_totals  # noqa: E402


@pytest.fixture
def data():
    return make_data(300, 5, seed=1)


def containers(X):
    """The same rows as Dask collections of every kind."""
    whole = da.from_array(X, chunks=(70, 2))
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abcde")), npartitions=4)
    unknown = frame.to_dask_array()
    csr = da.from_array(X, chunks=(70, 5)).map_blocks(sparse.csr_array)
    return {"array": whole, "frame": frame, "unknown": unknown, "csr": csr}


def labels_for(X, y):
    if isinstance(X, da.Array) and not np.isnan(X.chunks[0]).any():
        return da.from_array(y, chunks=110)
    return dd.from_pandas(pd.Series(y), npartitions=4)


@pytest.mark.parametrize("kind", ["array", "frame", "unknown", "csr"])
@pytest.mark.parametrize("penalty", ["ridge", "net"])
def test_same_answer_as_the_local_estimator(kind, penalty, data):
    X, y = data
    names = np.where(y == 1, "yes", "no") if kind != "csr" else y
    penalty = scaled_penalty(ClassMoments.from_data(X, y), penalty)
    local = AUCClassifier(*penalty, tol=1e-13).fit(X, names)
    lazy = containers(X)[kind]
    target = labels_for(lazy, names)
    model = DaskAUCClassifier(*penalty, tol=1e-13).fit(lazy, target)
    np.testing.assert_allclose(model.coef_, local.coef_, rtol=1e-8, atol=1e-12)
    assert model.moments_ == local.moments_
    np.testing.assert_allclose(model.decision_function(lazy).compute(), local.decision_function(X), atol=1e-12)
    np.testing.assert_array_equal(model.predict(lazy).compute(), local.predict(X))
    if kind != "frame":  # a model of a frame wants its column names
        np.testing.assert_array_equal(model.predict(X), local.predict(X))
    assert model.score(lazy, target) == pytest.approx(local.score(X, names), abs=1e-12)


def test_weights_and_labels_in_memory(data):
    X, y = data
    weights = np.random.default_rng(2).uniform(0, 2, 300)
    lazy = da.from_array(X, chunks=(90, 5))
    local = AUCClassifier().fit(X, y, sample_weight=weights)
    for target, c in ((y, weights), (da.from_array(y, chunks=50), da.from_array(weights, chunks=90))):
        model = DaskAUCClassifier().fit(lazy, target, sample_weight=c)
        np.testing.assert_allclose(model.coef_, local.coef_, rtol=1e-10)


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_score_refuses_labels_that_fit_has_not_seen(kind, data):
    X, y = data
    lazy = containers(X)[kind]
    model = DaskAUCClassifier().fit(lazy, labels_for(lazy, np.where(y == 1, "yes", "no")))
    other = np.where(y == 1, "yes", "no").astype(object)
    other[7] = "maybe"
    with pytest.raises(ValueError, match=r"labels \['maybe'\] that were not seen in fit"):
        model.score(lazy, labels_for(lazy, other))
    with pytest.raises(ValueError, match="not seen in fit"):  # 0 and 1 are no "no" and "yes"
        model.score(lazy, y)


@pytest.mark.parametrize("penalty", ["ridge", "net"])
def test_wide_data_by_one_pass_for_each_product(penalty, data, monkeypatch):
    X, y = data
    l2, l1 = scaled_penalty(ClassMoments.from_data(X, y), penalty)
    local = AUCClassifier(l2, l1, tol=1e-14).fit(X, y)
    monkeypatch.setattr("vrspam.estimators.blocks.MOMENTS_MAX_FEATURES_DENSE", 4)
    with dask.config.set(scheduler="synchronous"):
        model = DaskAUCClassifier(l2, l1, tol=1e-9).fit(containers(X)["csr"], y)
    assert model.solver_ == "products"
    assert np.linalg.norm(model.coef_ - local.coef_) <= np.sqrt(2 * model.gap_ / l2) + 1e-8
    assert model.gap_ <= 1e-9 * 0.25


@pytest.mark.filterwarnings("ignore:The best l")
def test_a_block_without_weight_counts_for_nothing(data, monkeypatch):
    """In the moments, in each product, in the folds and in the scores."""
    X, y = data
    weights = np.random.default_rng(3).uniform(0.1, 2.0, 300)
    weights[90:180] = 0.0
    kept = weights > 0
    lazy = da.from_array(X, chunks=(90, 5))
    model = DaskAUCClassifier(0.1).fit(lazy, y, sample_weight=weights)
    expected = roc_auc_score(y, model.decision_function(X), sample_weight=weights)
    assert model.score(lazy, y, sample_weight=weights) == pytest.approx(expected, abs=1e-12)
    local = AUCClassifier(0.1).fit(X[kept], y[kept], sample_weight=weights[kept])
    np.testing.assert_allclose(model.coef_, local.coef_, rtol=1e-10)
    searched = DaskAUCClassifierCV([0.1, 1.0], cv=3).fit(lazy, y, sample_weight=weights)
    folds = AUCClassifierCV([0.1, 1.0], cv=HashFolds(3)).fit(X[kept], y[kept], sample_weight=weights[kept])
    np.testing.assert_allclose(searched.auc_path_, folds.auc_path_, atol=1e-12)
    monkeypatch.setattr("vrspam.estimators.blocks.MOMENTS_MAX_FEATURES_DENSE", 4)
    with dask.config.set(scheduler="synchronous"):
        wide = DaskAUCClassifier(0.1, tol=1e-12).fit(lazy, y, sample_weight=weights)
    assert wide.solver_ == "products"
    np.testing.assert_allclose(wide.coef_, local.coef_, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:The best l")
def test_the_correction_is_left_out_and_says_why(data):
    X, y = data
    model = DaskAUCClassifierCV([0.1, 1.0], cv=3).fit(da.from_array(X, chunks=(90, 5)), y)
    for name in ("corrected_score_", "corrected_interval_"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=f"has no {name}: the correction .* on the client.*fit_stream"):
            getattr(model, name)


def test_labels_of_empty_blocks_have_the_type_of_the_others(data):
    X, y = data
    lazy = da.from_array(X, chunks=(90, 5))
    model = DaskAUCClassifier().fit(lazy, y)
    found = model.predict(da.concatenate([lazy[:100], lazy[:0], lazy[100:]])).compute()
    np.testing.assert_array_equal(found, model.predict(X))
    assert found.dtype == y.dtype


@pytest.mark.filterwarnings("ignore:The best l")
def test_names_of_columns_are_those_of_the_last_fit(data):
    X, y = data
    lazy = containers(X)
    for model in (DaskAUCClassifier(), DaskAUCClassifierCV([1e-2, 1e-1], cv=3)):
        model.fit(lazy["frame"], labels_for(lazy["frame"], y))
        assert model.feature_names_in_.tolist() == list("abcde")
        assert not hasattr(model.fit(lazy["array"], y), "feature_names_in_")


@pytest.mark.filterwarnings("ignore:The best l")
def test_no_more_validation_rows_than_asked_for_come_to_the_client(data):
    X, y = data
    model = DaskAUCClassifierCV([1e-2, 1e-1], cv=3).fit(da.from_array(X, chunks=(90, 5)), y, validation_rows=40)
    assert np.bincount(model.held_out_.positive).tolist() == [40, 40]


@pytest.mark.filterwarnings("ignore:The best l")
@pytest.mark.parametrize("kind", ["array", "frame", "unknown", "csr"])
def test_cross_validation_as_in_memory(kind, data):
    X, y = data
    weights = np.random.default_rng(2).integers(0, 3, 300).astype(float)
    folds, l1s = HashFolds(3, random_state=1), [0.0, 1e-3, 1e-2]
    local = AUCClassifierCV(l1s=l1s, cv=folds, tol=1e-13).fit(X, y, sample_weight=weights)
    lazy = containers(X)[kind]
    model = DaskAUCClassifierCV(l1s=l1s, cv=folds, tol=1e-13)
    model.fit(lazy, labels_for(lazy, y), sample_weight=labels_for(lazy, weights))
    assert (model.l2_, model.l1_) == pytest.approx((local.l2_, local.l1_), rel=1e-12)
    np.testing.assert_allclose(model.coef_, local.coef_, rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(model.auc_path_, local.auc_path_, atol=1e-6)
    np.testing.assert_allclose(model.decision_function(lazy).compute(), local.decision_function(X), atol=1e-9)


def test_empty_partitions_are_passed_over(data):
    X, y = data
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=y, keep=np.arange(300) < 200)
    lazy = dd.from_pandas(frame, npartitions=6)
    lazy = lazy[lazy["keep"]]
    model = DaskAUCClassifier().fit(lazy[list("abcde")], lazy["y"])
    np.testing.assert_allclose(model.coef_, AUCClassifier().fit(X[:200], y[:200]).coef_, rtol=1e-9)
    assert model.predict(lazy[list("abcde")]).compute().dtype == y.dtype
    nothing = lazy[lazy["a"] > 1e9]
    for estimator in (DaskAUCClassifier(), DaskAUCClassifierCV()):
        with pytest.raises(ValueError, match="every block of X is empty"):
            estimator.fit(nothing[list("abcde")], nothing["y"])


def test_refusals(data):
    X, y = data
    lazy = da.from_array(X, chunks=(100, 5))
    with pytest.raises(ValueError, match="Dask array or data frame"):
        DaskAUCClassifier().fit(X, y)
    with pytest.raises(ValueError, match="y has"):
        DaskAUCClassifier().fit(lazy, y[:-1])
    with pytest.raises(ValueError, match="y has 299 rows"):
        DaskAUCClassifier().fit(lazy, da.from_array(y[:-1], chunks=100))
    with pytest.raises(ValueError, match="sizes of X are unknown"):
        DaskAUCClassifier().fit(containers(X)["unknown"], y)
    with pytest.raises(ValueError, match="repartition"):
        DaskAUCClassifier().fit(containers(X)["unknown"], da.from_array(y, chunks=150))
    broken = X.copy()
    broken[150, 2] = np.inf
    with pytest.raises(ValueError, match="Block 1: Input X contains infinity"):
        DaskAUCClassifier().fit(da.from_array(broken, chunks=(100, 5)), y)
    unknown = containers(X)["unknown"]
    with pytest.raises(ValueError, match=r"Block \d: Found input variables with inconsistent"):
        DaskAUCClassifier().fit(unknown, da.from_array(y, chunks=((80, 70, 80, 70),)))
    with pytest.raises(ValueError, match="two classes"):
        DaskAUCClassifier().fit(lazy, np.zeros(300))


def test_a_tree_of_sums_changes_none_of_its_parts(data):
    """Dask may use the result of a task again, after a worker is lost."""
    X, y = data
    parts = [ClassMoments.from_data(X[a : a + 100], y[a : a + 100]) for a in (0, 100, 200)]
    before = [part.copy() for part in parts]
    total = sum_of_totals(ClassMoments.put_in, [None, *parts, None])
    assert total == ClassMoments.from_data(X, y)
    assert parts == before
    assert sum_of_totals(ClassMoments.put_in, [None, None]) is None
    assert sum_of_totals(ClassMoments.put_in, [None, parts[2]]) is parts[2]


def test_strata_of_many_columns_are_refused_before_matrices_are_made(monkeypatch, data):
    X, y = data
    monkeypatch.setattr("vrspam.estimators.blocks.MOST_FEATURES_WITH_MATRICES", 4)
    with pytest.raises(ValueError, match=r"by blocks that has strata needs two 5×5 matrices .*: use fit with all rows"):
        DaskAUCClassifier().fit(da.from_array(X, chunks=(100, 5)), y, strata=np.arange(300) // 10)


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        yield client


def generated_block(number, rows, marker):
    """Return the rows of a block; at block 5 the worker once writes its process id and waits to be killed."""
    if marker is not None and number == 5:
        try:
            with open(marker, "x") as file:
                file.write(str(os.getpid()))
            time.sleep(60)
        except FileExistsError:
            pass
    few = np.random.default_rng(number).standard_normal((100, 51))
    return np.tile(few, (rows // 100, 1))


def generated(blocks, rows, marker=None):
    make = dask.delayed(generated_block, pure=False)
    parts = [da.from_delayed(make(i, rows, marker), (rows, 51), float) for i in range(blocks)]
    table = da.concatenate(parts)
    return table[:, :50], (table[:, 50] > 0.5).astype(int)


def test_a_killed_worker_changes_nothing(cluster, tmp_path):
    marker = tmp_path / "victim"
    X, y = generated(12, 200, str(marker))
    fitted = []
    fit = threading.Thread(target=lambda: fitted.append(DaskAUCClassifier().fit(X, y)), daemon=True)
    fit.start()
    deadline = time.monotonic() + 60
    while not (marker.exists() and marker.read_text()) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(int(marker.read_text()), signal.SIGKILL)
    fit.join(timeout=90)
    assert not fit.is_alive(), "the fit hangs"
    rows = np.concatenate([generated_block(i, 200, None) for i in range(12)])
    local = AUCClassifier().fit(rows[:, :50], (rows[:, 50] > 0.5).astype(int))
    np.testing.assert_allclose(fitted[0].coef_, local.coef_, rtol=1e-8)


def peak_megabytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux's /proc")
def test_a_worker_holds_little_more_than_its_blocks(cluster):
    cluster.wait_for_workers(2, timeout=60)
    DaskAUCClassifier().fit(*generated(4, 100))
    before = cluster.run(peak_megabytes)
    DaskAUCClassifier().fit(*generated(40, 20_000))  # 8 MB a block, 320 MB in all
    after = cluster.run(peak_megabytes)
    assert max(after[worker] - before[worker] for worker in before) < 100


def test_the_score_is_that_of_rows_in_memory_and_warns_without_the_strata_of_the_fit():
    X, y = make_data(120, 3)
    weights, strata = np.linspace(0.5, 2.0, 120), np.repeat(np.arange(12), 10)
    blocks = [da.from_array(part, chunks=(30, *part.shape[1:])) for part in (X, y, weights, strata)]
    model = DaskAUCClassifier().fit(blocks[0], blocks[1], strata=blocks[3])
    with pytest.warns(ScoredAcrossStrata):
        found = model.score(*blocks[:3])
    assert found == pytest.approx(roc_auc_score(y, model.decision_function(X), sample_weight=weights), abs=1e-12)
    scores, positive = model.decision_function(X), y == model.classes_[1]
    pairs = (strata[:, None] == strata) & positive[:, None] & ~positive
    order = (scores[:, None] > scores) + 0.5 * (scores[:, None] == scores)
    counted = pairs * np.outer(weights, weights)
    assert model.score(*blocks) == pytest.approx((counted * order).sum() / counted.sum(), abs=1e-12)


@pytest.mark.parametrize("model", [DaskAUCClassifier, DaskAUCClassifierCV])
def test_directions_name_columns_of_a_frame(data, model):
    X, y = data
    frame, names = pd.DataFrame(X, columns=list("abcde")), list("abcde")
    free = model().fit(dd.from_pandas(frame, npartitions=3), dd.from_pandas(pd.Series(y), npartitions=3)).coef_[0]
    told = {name: -int(np.sign(value)) for name, value in zip(names, free, strict=True) if name in "bd"}
    for order in (names, names[::-1]):  # the names of an earlier fit are forgotten
        lazy = dd.from_pandas(frame[order], npartitions=3)
        found = model(monotonic_cst=told).fit(lazy, dd.from_pandas(pd.Series(y), npartitions=3))
        assert {name for name, value in zip(order, found.coef_[0], strict=True) if value == 0.0} == {"b", "d"}
