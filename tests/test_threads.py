"""Threads of BLAS: limits apply only inside their context, and change the speed but not the result."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from vrspam import AUCClassifierCV
from vrspam._utils.blas import (
    FEW,
    NARROW,
    SMALL,
    blas_thread_count,
    blas_threads,
    blas_threads_for,
    blas_threads_for_matrix,
)
from vrspam.model_selection.sources import SIDE_BY_SIDE_BYTES, FoldProblem, over_folds


def counts() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_a_limit_holds_for_all_libraries_and_ends():
    before = counts()
    with blas_threads(1):
        assert set(counts()) == {1}
        assert blas_thread_count() == 1
    assert counts() == before
    assert blas_thread_count() == max(before)


def test_contexts_of_two_threads_may_overlap():
    """The first context to enter leaves first; when both have left, the original limit applies again."""
    with threadpool_limits(3, user_api="blas"):
        first, second = blas_threads(1), blas_threads(2)
        first.__enter__()
        assert set(counts()) == {1}
        second.__enter__()
        assert set(counts()) == {1}
        first.__exit__(None, None, None)
        assert set(counts()) == {2}
        second.__exit__(None, None, None)
        assert set(counts()) == {3}


def test_a_limit_ends_with_an_error():
    before = counts()
    with pytest.raises(RuntimeError), blas_threads(1):
        raise RuntimeError
    assert counts() == before


def test_inner_limits_never_raise_outer_ones():
    with threadpool_limits(3, user_api="blas"), blas_threads(1), blas_threads(2):
        assert set(counts()) == {1}


@pytest.mark.parametrize(("columns", "limited"), [(NARROW, True), (NARROW + 1, False)])
def test_narrow_products_have_one_thread(columns, limited):
    with threadpool_limits(2, user_api="blas"), blas_threads_for(columns):
        assert set(counts()) == ({1} if limited else {2})


@pytest.mark.parametrize(("size", "expected"), [(NARROW, 1), (NARROW + 1, FEW), (SMALL, FEW), (SMALL + 1, FEW + 2)])
def test_small_matrices_have_few_threads(size, expected):
    with threadpool_limits(FEW + 2, user_api="blas"), blas_threads_for_matrix(size):
        assert set(counts()) == {expected}
    with threadpool_limits(1, user_api="blas"), blas_threads_for_matrix(size):
        assert set(counts()) == {1}  # never more than there were


def test_folds_side_by_side_change_no_result():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5))
    y = X[:, 0] + np.abs(X[:, 1]) + rng.standard_normal(300) > 1
    models = []
    for threads, jobs in ((3, None), (1, None), (3, 1), (1, 2)):
        with threadpool_limits(threads, user_api="blas"):
            models.append(AUCClassifierCV(features="additive", n_jobs=jobs).fit(X, y))
    for model in models[1:]:
        assert np.array_equal(model.auc_path_, models[0].auc_path_)
        assert np.allclose(model.coef_, models[0].coef_, rtol=1e-10, atol=0)


def test_as_many_folds_at_a_time_as_asked_for():
    """Two folds wait for each other, so they must run at the same time; the BLAS threads are divided between them."""
    meeting = threading.Barrier(2)

    def fold(number):
        meeting.wait(timeout=30)
        return number, blas_thread_count()

    problem = FoldProblem(small=False, many_products=False, bytes_each=1)
    with threadpool_limits(FEW, user_api="blas"):
        found = over_folds(fold, range(2), problem, 2)
    assert [number for number, _ in found] == [0, 1]
    assert all(count <= max(1, (os.cpu_count() or 1) // 2) for _, count in found)


def test_folds_that_need_much_memory_run_one_after_the_other():
    running, most = [], []

    def fold(number):
        running.append(number)
        most.append(len(running))
        threading.Event().wait(0.02)
        running.remove(number)

    problem = FoldProblem(small=True, many_products=False, bytes_each=SIDE_BY_SIDE_BYTES)
    with threadpool_limits(FEW, user_api="blas"):
        over_folds(fold, range(4), problem, None)
    assert max(most) == 1
