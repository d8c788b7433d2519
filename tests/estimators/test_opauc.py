"""OPAUC: its direction, its running covariances and its sketch, against the objective and the exact solver."""

import numpy as np
import pytest
from helpers import make_data
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from vrspam import AUCClassifier, ClassMoments, OPAUCClassifier
from vrspam.objective import Objective
from vrspam.solvers.online import BUFFERED_ROWS, OPAUC, kernel_rows, step_rule


def stream(X, y, sketch=None, step=True, rule=None):
    method = OPAUC(X.shape[1], sketch)
    rule = rule or step_rule("auto", 0.1)
    method.advance(kernel_rows(X), np.arange(len(y)), y.astype(np.int64), rule, learn=True, step=step)
    return method


def covariance(method, c):
    d = method.w.size
    rows = method.buffers[c, : method.filled[c]]
    base = method.scatters[c] if method.sketch is None else method.spread[c] * np.eye(d)
    return (base + rows.T @ rows) / method.counts[c]


@pytest.mark.parametrize("sketch", [None, 5])
@pytest.mark.parametrize("share", [0.5, 0.15])
def test_direction_averages_to_the_gradient(sketch, share):
    """The mean move is a step on F / (2pq): with the full matrices, and with a sketch of full rank."""
    X, y = make_data(60, 5, share=share)
    moments, l2, step = ClassMoments.from_data(X, y), 0.3, 1e-3
    F = Objective.from_moments(moments, l2)
    w = np.random.default_rng(0).standard_normal(5)
    moves = []
    for i in range(60):
        if sketch is None:
            method = OPAUC(5)
            method.know(moments)
        else:
            method = stream(X, y, sketch, step=False)
        method.w[:] = w
        method.advance(kernel_rows(X), np.array([i]), y.astype(np.int64), step_rule(step, l2), learn=False)
        moves.append((w - method.w) / step)
    np.testing.assert_allclose(np.mean(moves, axis=0), (F.gradient(w) + l2 * w) / F.loss.k, atol=1e-8)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n", [20, 5 * BUFFERED_ROWS + 3])
def test_running_statistics_are_those_of_the_rows(container, n):
    X, y = make_data(n, 4)
    X += 1e3  # a common offset must not cost digits
    method = stream(container(X), y)
    for c in (0, 1):
        np.testing.assert_allclose(method.means[c], X[y == c].mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(covariance(method, c), np.cov(X[y == c].T, bias=True), rtol=1e-9, atol=1e-9)
        assert method.classes.traces[c] / method.counts[c] == pytest.approx(X[y == c].var(axis=0).sum(), rel=1e-10)


def test_a_stream_equals_the_printed_update():
    """The update of Gao et al. with plain NumPy and the covariances of the rows so far, by np.cov."""
    X, y = make_data(90, 4)
    w, steps = np.zeros(4), 0
    for t in range(90):
        x, seen = X[t], (X[: t + 1], y[: t + 1])
        other = seen[0][seen[1] != y[t]]
        if len(other) == 0 or len(other) == t + 1:
            continue
        steps += 1
        p = seen[1].mean()
        r = x - other.mean(axis=0)
        pull = (np.outer(r, r) + np.cov(other.T, bias=True)) @ w
        w = w - 0.02 / np.sqrt(steps) * (0.1 / (2 * p * (1 - p)) * w - (1 if y[t] else -1) * r + pull)
    method = stream(X, y, rule=step_rule(0.02, 0.1))
    assert method.n_steps == steps
    np.testing.assert_allclose(method.coef, w, rtol=1e-9)


@pytest.mark.parametrize("sketch", [None, 6])
def test_a_long_run_reaches_the_exact_coefficients(sketch):
    X, y = make_data(300, 6)
    X = StandardScaler().fit_transform(X)
    exact = AUCClassifier(l2=0.1, tol=1e-14).fit(X, y)
    model = OPAUCClassifier(l2=0.1, sketch=sketch, max_iter=800, random_state=0).fit(X, y)
    assert np.linalg.norm(model.coef_ - exact.coef_) <= 0.01 * np.linalg.norm(exact.coef_)
    assert exact.objective_ <= model.objective_ <= exact.objective_ + model.gap_


def test_sketch_approaches_the_full_matrices():
    rng = np.random.default_rng(0)
    X, y = make_data(500, 20, seed=4)
    X = X @ np.diag(0.7 ** np.arange(20)) @ np.linalg.qr(rng.standard_normal((20, 20)))[0]
    full = stream(X, y)
    covariance_errors, coef_errors = [], []
    for rank in (1, 3, 8, 20):
        sketched = stream(X, y, rank)
        error = [np.linalg.norm(covariance(sketched, c) - covariance(full, c), 2) for c in (0, 1)]
        for c in (0, 1):
            # Liberty's bound, trace of what is left over the rank; half of it is put back.
            left = np.linalg.eigvalsh(covariance(full, c))[: 20 - rank // 2].sum()
            assert error[c] <= left / (rank + 1 - rank // 2) + 1e-12
            assert np.linalg.eigvalsh(covariance(sketched, c)).min() >= -1e-12
        covariance_errors.append(max(error))
        coef_errors.append(np.linalg.norm(sketched.coef - full.coef))
    assert covariance_errors == sorted(covariance_errors, reverse=True)
    assert coef_errors[2] < coef_errors[0]
    np.testing.assert_allclose(sketched.coef, full.coef, rtol=1e-7, atol=1e-10)


def test_sketch_memory_is_rank_times_features():
    X = sparse.random_array((40, 100_000), density=1e-4, format="csr", rng=np.random.default_rng(0))
    y = np.arange(40) % 2
    model = OPAUCClassifier(sketch=3).partial_fit(X, y)
    method = model._stream.method
    held = sum(a.nbytes for a in (*method.classes, method.scatters, method.buffers, method.w))
    assert held <= 8 * 100_000 * (2 * 2 * 3 + 2 + 1) + 100
    assert np.isfinite(model.coef_).all()


def test_too_wide_for_matrices():
    X = sparse.csr_array((np.ones(2), ([0, 1], [5, 7])), shape=(2, 100_000))
    for begin in ("fit", "partial_fit"):
        model = OPAUCClassifier()
        with pytest.raises(ValueError, match=r"OPAUC keeps two d × d matrices: 160 GB for d = 100,000; give sketch=."):
            getattr(model, begin)(X, [0, 1])
        assert not hasattr(model, "_stream")


def test_certificate_of_a_stream_is_that_of_all_rows_so_far():
    X, y = make_data(200, 5)
    model = OPAUCClassifier()
    for start in range(0, 200, 30):
        model.partial_fit(X[start : start + 30], y[start : start + 30])
    F = Objective.from_moments(ClassMoments.from_data(X, y), model.l2_)
    assert model.objective_ == pytest.approx(F.value(model.coef_[0]), rel=1e-10)
    assert model.gap_ == pytest.approx(F.gap(model.coef_[0]), rel=1e-8)
    sketched = OPAUCClassifier(sketch=2).partial_fit(X, y)
    assert sketched.gap_ is None
    assert sketched.objective_ is None


def test_the_sketch_cannot_change_in_a_stream():
    X, y = make_data(50, 5)
    model = OPAUCClassifier(sketch=2).partial_fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="begun with sketch=2"):
        model.set_params(sketch=3).partial_fit(X, y)
    np.testing.assert_array_equal(model.coef_, before)


def test_a_sketch_is_robust_frequent_directions():
    """By definition the first σ² that is cut off is subtracted from all, and half of it is added back."""
    X, y = make_data(400, 8, seed=2)
    rank = 3
    method = stream(X, y, rank, step=False)
    for c in (0, 1):
        kept, spread, mean = np.zeros((0, 8)), 0.0, np.zeros(8)
        for n, x in enumerate(X[y == c], start=1):
            kept = np.vstack([kept, np.sqrt((n - 1) / n) * (x - mean)])
            mean = mean + (x - mean) / n
            if len(kept) == 2 * rank:
                _, values, directions = np.linalg.svd(kept, full_matrices=False)
                cut = values[rank] ** 2
                kept = np.sqrt(values[:rank] ** 2 - cut)[:, None] * directions[:rank]
                spread += cut / 2
        expected = (kept.T @ kept + spread * np.eye(8)) / np.sum(y == c)
        np.testing.assert_allclose(covariance(method, c), expected, rtol=1e-8, atol=1e-10)
        assert spread > 0.0


@pytest.mark.parametrize("sketch", [None, 3])
def test_exchanging_the_classes_changes_no_covariance(sketch):
    X, y = make_data(200, 8, share=0.2, seed=3)
    method, v = stream(X, y, sketch, step=False), np.random.default_rng(0).standard_normal(8)
    before = [covariance(method, c) for c in (0, 1)]
    total, counts = method @ v, method.counts.copy()
    method.swap_classes()
    np.testing.assert_array_equal(method.counts, counts[::-1])
    for c in (0, 1):
        np.testing.assert_array_equal(covariance(method, c), before[1 - c])
    np.testing.assert_allclose(method @ v, total, rtol=1e-12)


def test_the_unit_of_l2_where_no_column_varies():
    y = np.array([0, 1, 1, 0, 1])
    assert stream(np.ones((5, 2)), y, step=False).l2_unit == pytest.approx(2 * 0.6 * 0.4)
