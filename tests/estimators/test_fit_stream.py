"""Fitting from blocks: the coefficients of an in-memory fit, bounded memory, clear refusals."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from helpers import make_data, scaled_penalty
from scipy import sparse
from sklearn.base import clone

from vrspam import AUCClassifier, AUCClassifierCV, ClassMoments, HashFolds
from vrspam._utils.warnings import RawColumns
from vrspam.data import read_chunks
from vrspam.objective import Objective
from vrspam.objective.blocks import SummedWithin
from vrspam.solvers import solve
from vrspam.solvers.base import run
from vrspam.solvers.smooth import ProximalGradient


def cut(X, y, size, weights=None):
    parts = (X, y) if weights is None else (X, y, weights)
    return [tuple(part[a : a + size] for part in parts) for a in range(0, len(y), size)]


@pytest.mark.parametrize("size", [1, 37, 1000])
@pytest.mark.parametrize("penalty", ["ridge", "net"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_same_coefficients_as_in_memory(size, penalty, weighted, container):
    X, y = make_data(160, 6)
    weights = np.random.default_rng(1).integers(0, 3, 160).astype(float) if weighted else None
    l2, l1 = scaled_penalty(ClassMoments.from_data(X, y), penalty)
    whole = AUCClassifier(l2, l1, tol=1e-14).fit(X, y, sample_weight=weights)
    blocks = cut(container(X), y, size, weights)
    for chunks in (blocks, iter(blocks)):
        streamed = AUCClassifier(l2, l1, tol=1e-14).fit_stream(chunks)
        np.testing.assert_allclose(streamed.coef_, whole.coef_, rtol=1e-8, atol=1e-12)
        assert streamed.intercept_ == pytest.approx(whole.intercept_)
        assert streamed.n_features_in_ == 6
        assert streamed.solver_ == "moments"
        np.testing.assert_allclose(streamed.decision_function(X), whole.decision_function(X), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("penalty", ["ridge", "net", "sparse_net"])
def test_wide_streams_are_read_once_for_each_product(penalty, monkeypatch):
    X, y = make_data(200, 40, share=0.4, correlated=False)
    l2, l1 = scaled_penalty(ClassMoments.from_data(X, y), penalty)
    whole = AUCClassifier(l2, l1, tol=1e-12).fit(X, y)
    monkeypatch.setattr("vrspam.estimators.blocks.MOMENTS_MAX_FEATURES_DENSE", 30)
    labels = np.where(y == 1, "yes", "no")
    streamed = AUCClassifier(l2, l1, tol=1e-12).fit_stream(cut(sparse.csr_array(X), labels, 60))
    assert streamed.solver_ == "products"
    assert not hasattr(streamed, "moments_")
    pq = 0.4 * 0.6
    assert streamed.gap_ <= 1e-12 * pq
    distance = np.linalg.norm(streamed.coef_ - whole.coef_)
    assert distance <= np.sqrt(2 * streamed.gap_ / l2) + np.sqrt(2 * whole.gap_ / l2)
    once = AUCClassifier(l2, l1, tol=1e-12).fit_stream(iter(cut(X, y, 60)))  # it cannot be read again
    assert once.solver_ == "moments"


@pytest.mark.parametrize("penalty", ["weak_ridge", "net", "sparse_net"])
def test_proximal_gradient_reaches_the_optimum_of_coordinate_descent(penalty):
    X, y = make_data(300, 25, seed=2)
    moments = ClassMoments.from_data(X / X.std(axis=0), y)
    objective = Objective.from_moments(moments, *scaled_penalty(moments, penalty))
    solution = run(ProximalGradient(), objective, tol=1e-10, max_iter=20_000)
    exact = solve(objective, tol=1e-13, max_iter=10_000)
    assert solution.converged
    assert -1e-12 <= solution.value - exact.value <= solution.bound + 1e-12
    assert np.linalg.norm(solution.w - exact.w) <= 2 * np.sqrt(2 * solution.bound / objective.penalty.l2)


def test_files_give_the_in_memory_model(tmp_path):
    X, y = make_data(300, 4)
    np.savetxt(tmp_path / "d.csv", np.column_stack([X, y]), delimiter=",", header="a,b,c,d,y", comments="", fmt="%.17g")
    model = AUCClassifier().fit_stream(read_chunks(tmp_path / "d.csv", target="y", chunk_rows=50))
    np.testing.assert_allclose(model.coef_, AUCClassifier().fit(X, y).coef_, rtol=1e-8)


def test_refusals_name_the_block_and_leave_the_model_alone(monkeypatch):
    X, y = make_data(90, 3)
    model = AUCClassifier().fit(X, y)
    before = model.coef_.copy()
    bad = X[30:60].copy()
    bad[3, 1] = np.nan
    third = np.where(np.arange(30) == 5, 7, y[:30])
    for second, message in (
        ((bad, y[30:60]), "Block 1: Input X contains NaN"),
        ((X[30:60, :2], y[30:60]), "Block 1: X has 2 features"),
        ((X[30:60], third), r"Block 1: Only two classes are possible, got labels \[0, 1, 7\]"),
        ((X[30:60],), "Block 1 must be a tuple"),
        ((X[30:60], None), "Block 1 has no labels"),
        ((X[30:60], y[:10]), "Block 1: Found input variables with inconsistent"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit_stream([(X[:30], y[:30]), second])
        np.testing.assert_array_equal(model.coef_, before)
        assert model.n_features_in_ == 3
    for nothing in ([], [(X[:0], y[:0])]):
        with pytest.raises(ValueError, match="no rows"):
            AUCClassifier().fit_stream(nothing)
    with pytest.raises(ValueError, match="only 0"):
        AUCClassifier().fit_stream([(X[y == 0], y[y == 0])])
    with pytest.raises(ValueError, match="iterable"):
        AUCClassifier().fit_stream(5)
    monkeypatch.setattr("vrspam.estimators.blocks.MOST_FEATURES_WITH_MATRICES", 2)
    with pytest.raises(ValueError, match="gone through again"):
        model.fit_stream(iter([(X, y)]))


def test_empty_blocks_are_passed_over_and_progress_is_shown(capsys):
    X, y = make_data(100, 3)
    blocks = [(X[:0], y[:0]), *cut(X, y, 30)]
    model = AUCClassifier().fit_stream(blocks, progress=True)
    np.testing.assert_allclose(model.coef_, AUCClassifier().fit(X, y).coef_, rtol=1e-10)
    assert "rows/s" in capsys.readouterr().err
    AUCClassifier().fit_stream(blocks)
    assert capsys.readouterr().err == ""


def test_peak_memory_does_not_grow_with_the_rows():
    program = """
import resource, sys
import numpy as np
from vrspam import AUCClassifier

def blocks(count):
    for number in range(count):
        rng = np.random.default_rng(number)
        yield rng.standard_normal((20_000, 20)), rng.integers(0, 2, 20_000)

AUCClassifier().fit_stream(blocks(int(sys.argv[1])))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
    peaks = []
    for count in ("5", "35"):  # 16 MB and 112 MB of rows
        done = subprocess.run([sys.executable, "-c", program, count], capture_output=True, text=True, check=True)
        peaks.append(float(done.stdout))
    assert peaks[1] < peaks[0] + 16.0


def test_columns_in_another_order_are_refused():
    X, y = make_data(60, 2)
    frame = pd.DataFrame(X, columns=["age", "weight"])
    blocks = [(frame[:30], y[:30]), (frame.loc[30:, ["weight", "age"]], y[30:])]
    with pytest.raises(ValueError, match=r"Block 1: (.|\n)*same order"):
        AUCClassifier().fit_stream(blocks)


def test_a_refused_stream_leaves_the_columns_of_the_model_alone():
    X, y = make_data(60, 3)
    model = AUCClassifier().fit(X, y)
    scores = model.decision_function(X)
    with pytest.raises(ValueError, match="Block 1"):
        model.fit_stream([(X[:30, :2], y[:30]), (np.full((30, 2), np.nan), y[30:])])
    assert model.n_features_in_ == 3
    np.testing.assert_array_equal(model.decision_function(X), scores)


@pytest.mark.parametrize("estimator", [AUCClassifier(l2=0.1), AUCClassifierCV([0.1], cv=HashFolds(3))])
def test_a_stream_of_frames_keeps_the_names_of_its_columns(estimator):
    X, y = make_data(300, 2)
    frame = pd.DataFrame(X * [1.0, 1e4], columns=["age", "weight"])
    blocks = [(frame[:100], y[:100]), (frame[100:], y[100:])]
    with pytest.warns(RawColumns, match="deviation of 'weight' is about .* times that of 'age'"):
        model = clone(estimator).fit_stream(blocks)
    assert model.feature_names_in_.tolist() == ["age", "weight"]
    with pytest.raises(ValueError, match="same order"):
        model.decision_function(frame[["weight", "age"]])
    with pytest.warns(RawColumns):
        model.fit_stream([(X * [1.0, 1e4], y)])
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("estimator", [AUCClassifier(l2=0.1), AUCClassifierCV([0.1], cv=HashFolds(3))])
def test_limits_of_a_stream_follow_its_own_names(estimator):
    X, y = make_data(300, 2)
    model = clone(estimator).set_params(monotonic_cst={"a": -1})
    model.fit(pd.DataFrame(X[:, ::-1], columns=["b", "a"]), y)
    frame = pd.DataFrame(X, columns=["a", "b"])
    whole = clone(model).fit(frame, y).coef_
    np.testing.assert_allclose(
        model.fit_stream([(frame[:100], y[:100]), (frame[100:], y[100:])]).coef_, whole, rtol=1e-7
    )
    np.testing.assert_allclose(clone(model).fit_stream([(frame, y)]).coef_, whole, rtol=1e-7)


@pytest.mark.parametrize("estimator", [AUCClassifier(), AUCClassifierCV(cv=2)])
def test_a_refused_block_keeps_its_number_behind_empty_ones(estimator):
    X, y = make_data(90, 3)
    third, nothing = np.where(np.arange(30) == 5, 7, y[:30]), (X[:0], y[:0])
    blocks = [nothing, (X[:30], y[:30]), (X[:5], y[:5], np.zeros(5)), (X[30:60], third)]
    with pytest.raises(ValueError, match="Block 3: Only two classes are possible"):
        estimator.fit_stream(blocks)


class Read:
    """A stream that counts how often it is read."""

    def __init__(self, blocks):
        self.blocks = blocks
        self.times = 0

    def __iter__(self):
        self.times += 1  # when the first block is asked for
        yield from self.blocks


def test_a_stream_is_read_once_for_moments_and_twice_for_folds():
    X, y = make_data(300, 4)
    for estimator, times in ((AUCClassifier(0.1, 0.01), 1), (AUCClassifierCV([0.1, 1.0], [0.0, 0.01], cv=3), 2)):
        chunks = Read(cut(X, y, 40))
        estimator.fit_stream(chunks)
        assert chunks.times == times


@pytest.mark.parametrize("l1", [0.0, 1e-3])
def test_a_wide_stream_is_read_once_more_for_each_product(l1, monkeypatch):
    X, y = make_data(200, 40, share=0.4, correlated=False)
    monkeypatch.setattr("vrspam.estimators.blocks.MOMENTS_MAX_FEATURES_DENSE", 30)
    products = []
    multiply = SummedWithin.product_and_square

    def counted(within, w):
        products.append(w)
        return multiply(within, w)

    monkeypatch.setattr(SummedWithin, "product_and_square", counted)
    chunks = Read(cut(X, y, 60))
    model = AUCClassifier(0.1, l1).fit_stream(chunks)
    assert model.solver_ == "products"
    assert chunks.times == 1 + len(products)
