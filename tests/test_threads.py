"""Threads of BLAS: limits hold inside their context only, and change speed but no result."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from vrspam import AUCClassifierCV
from vrspam.threads import (
    FEW,
    NARROW,
    SMALL,
    blas_thread_count,
    blas_threads,
    blas_threads_for,
    blas_threads_for_matrix,
)


def counts() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_a_limit_holds_for_all_libraries_and_ends():
    before = counts()
    with blas_threads(1):
        assert set(counts()) == {1}
        assert blas_thread_count() == 1
    assert counts() == before
    assert blas_thread_count() == max(before)


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
