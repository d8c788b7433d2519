"""Moments that forget, against statistics computed directly from weighted rows and from the rows of the window."""

import pickle

import numpy as np
import pytest
from helpers import make_data
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import vrspam.moments.sliding
from vrspam import AUCClassifier, ClassMoments, SlidingMoments


def assert_statistics(moments, X, y, weights, tolerance=1e-11):
    """Sizes, means and covariances by NumPy's own functions; tolerances relative to each column's spread."""
    X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    assert moments.p == pytest.approx(weights[y == 1].sum() / weights.sum(), rel=1e-12)
    within = np.zeros((X.shape[1], X.shape[1]))
    for side, label in enumerate((0, 1)):
        rows, c = X[y == label], weights[y == label]
        mean = np.average(rows, axis=0, weights=c)
        spread = np.sqrt(np.average((rows - mean) ** 2, axis=0, weights=c)) + 1e-12
        assert np.all(np.abs(moments.means[side] - mean) <= tolerance * (spread + np.abs(mean)))
        within = within + np.cov(rows.T, aweights=c, ddof=0)
    scale = np.sqrt(np.outer(np.diagonal(within), np.diagonal(within))) + 1e-20
    assert np.all(np.abs(moments.within - within) <= tolerance * scale)


def cuts_of(data, n):
    inner = data.draw(st.lists(st.integers(1, n - 1), max_size=6, unique=True).map(sorted))
    return list(zip([0, *inner], [*inner, n], strict=True))


@settings(max_examples=30, deadline=None)
@given(data=st.data(), seed=st.integers(0, 1000), half_life=st.sampled_from([3.0, 25.5, 1000.0]))
def test_decay_is_a_weight_of_each_row_however_blocks_are_cut(data, seed, half_life):
    X, y = make_data(90, 4, share=0.4, seed=seed)
    given_weights = np.random.default_rng(seed).uniform(0.5, 2.0, 90) if data.draw(st.booleans()) else None
    moments = ClassMoments(half_life=half_life)
    for a, b in cuts_of(data, 90):
        moments.update(X[a:b], y[a:b], None if given_weights is None else given_weights[a:b])
    weights = 0.5 ** ((89 - np.arange(90)) / half_life) * (1.0 if given_weights is None else given_weights)
    np.testing.assert_allclose(moments.weights, [weights[y == 0].sum(), weights[y == 1].sum()], rtol=1e-12)
    assert_statistics(moments, X, y, weights, 1e-10)


def test_rows_of_weight_zero_pass_time_too():
    X, y = make_data(20, 2, seed=3)
    moments = ClassMoments(half_life=5).update(X[:10], y[:10]).update(X[10:], y[10:], np.zeros(10))
    np.testing.assert_allclose(moments.weights.sum(), (0.5 ** (np.arange(10, 20) / 5)).sum())


def test_a_class_unseen_for_hundreds_of_half_lives_is_forgotten():
    X, y = make_data(50, 2, seed=4)
    moments = ClassMoments(half_life=1).update(X, y)
    for _ in range(16):
        moments.update(X[y == 0], y[y == 0])
    assert not moments.complete
    with pytest.raises(ValueError, match="only 0"):
        AUCClassifier().fit_moments(moments)
    moments.update(X, y)  # and it may come back
    assert_statistics(moments, X, y, 0.5 ** np.arange(49.0, -1.0, -1.0), 1e-9)


@pytest.mark.parametrize("unseen", [400, 600, 1050])
def test_what_is_forgotten_does_not_depend_on_the_blocks(unseen):
    """A row is forgotten after about 500 half-lives, whether the newer rows come in one block or in many."""
    X = np.random.default_rng(5).standard_normal((unseen + 1, 2))
    y = np.append(0, np.ones(unseen, dtype=int))
    whole, pieces = ClassMoments(half_life=1).update(X, y), ClassMoments(half_life=1)
    for start in range(0, unseen + 1, 97):
        pieces.update(X[start : start + 97], y[start : start + 97])
    assert whole == pieces
    assert whole.complete == (unseen < 498)  # 2^-498 is 1e-150


def test_a_burst_that_has_faded_does_not_hide_a_difference():
    X, y = make_data(300, 2, seed=6)
    changed = X.copy()
    changed[250:] *= 1.001
    X[:20] *= 1e6
    changed[:20] *= 1e6
    one, other = (ClassMoments(half_life=2).update(Z[:20], y[:20]) for Z in (X, changed))
    assert one == other
    assert one.update(X[20:], y[20:]) != other.update(changed[20:], y[20:])


def test_decaying_moments_are_saved_copied_and_not_added(tmp_path):
    X, y = make_data(60, 3)
    moments = ClassMoments(half_life=10).update(X[:40], y[:40])
    moments.save(tmp_path / "moments.npz")
    loaded, copied = ClassMoments.load(tmp_path / "moments.npz"), moments.copy()
    for other in (loaded, copied):
        assert other.half_life == 10
        assert other.update(X[40:], y[40:]) == ClassMoments(half_life=10).update(X, y)
    assert moments != ClassMoments.from_data(X[:40], y[:40])
    for combine in (lambda: moments + copied, lambda: moments - copied, lambda: moments + ClassMoments.from_data(X, y)):
        with pytest.raises(ValueError, match="order of rows"):
            combine()
    for bad in (0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="half_life"):
            ClassMoments(half_life=bad)


@settings(max_examples=40, deadline=None)
@given(
    data=st.data(), seed=st.integers(0, 1000), window=st.integers(8, 120), container=st.sampled_from(["dense", "csr"])
)
def test_window_holds_the_last_rows_and_no_others(data, seed, window, container):
    X, y = make_data(100, 3, share=0.5, seed=seed)
    weights = np.random.default_rng(seed).uniform(0.5, 2.0, 100) if data.draw(st.booleans()) else None
    rows = sparse.csr_array(X) if container == "csr" else X
    sliding = SlidingMoments(window, classes=[0, 1])
    for a, b in cuts_of(data, 100):
        sliding.update(rows[a:b], y[a:b], None if weights is None else weights[a:b])
        start = max(0, b - window)
        kept = np.ones(b - start) if weights is None else weights[start:b]
        if set(y[start:b]) == {0, 1}:
            assert_statistics(sliding.moments, X[start:b], y[start:b], kept, 1e-9)
    assert sliding.moments.rows.sum() == min(100, window)


@pytest.mark.parametrize("step", [1, 7, 60])
@pytest.mark.parametrize("columns", [[1], [0, 1, 2, 3]])
@pytest.mark.parametrize("container", ["dense", "csr"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_burst_of_huge_values_leaves_no_trace(step, columns, container, weighted):
    X, y = make_data(400, 4, share=0.4, seed=5)
    X[150:170, columns] = 1e8 * np.random.default_rng(6).standard_normal((20, len(columns)))
    rows = sparse.csr_array(X) if container == "csr" else X
    weights = np.random.default_rng(7).uniform(0.5, 2.0, 400) if weighted else np.ones(400)
    sliding = SlidingMoments(200)
    for a in range(0, 400, step):
        b = min(a + step, 400)
        sliding.update(rows[a:b], y[a:b], weights[a:b] if weighted else None)
        if b - 170 >= 200:  # the burst has just left
            break
    seen = slice(b - 200, b)
    assert_statistics(sliding.moments, X[seen], y[seen], weights[seen], 1e-10)
    expected = AUCClassifier().fit(X[seen], y[seen], weights[seen]).coef_
    np.testing.assert_allclose(AUCClassifier().fit_moments(sliding.moments).coef_, expected, rtol=1e-8)


def test_without_repair_the_burst_would_show(monkeypatch):
    """Shows that the test above can fail: plain subtraction keeps the rounding errors of 1e16."""
    monkeypatch.setattr(vrspam.moments.sliding, "TRACE", np.inf)
    with pytest.raises(AssertionError):
        test_a_burst_of_huge_values_leaves_no_trace(7, [1], "dense", False)


def test_rare_and_constant_columns_cost_no_full_recomputation(monkeypatch):
    rng = np.random.default_rng(7)
    X = np.column_stack([rng.standard_normal(600), np.full(600, 0.1), np.arange(600) % 90 == 0])
    y = rng.integers(0, 2, 600)
    sliding = SlidingMoments(100).update(X[:100], y[:100])
    calls = []
    monkeypatch.setattr(SlidingMoments, "_recompute", lambda self: calls.append(1))
    for a in range(100, 190, 5):
        sliding.update(X[a : a + 5], y[a : a + 5])
    assert not calls
    assert_statistics(sliding.moments, X[90:190], y[90:190], np.ones(100), 1e-9)


def test_rounding_does_not_pile_up_over_a_long_stream():
    """Each step rounds a mean of 1e7 by 1e-9; two thousand of them would add up to more than 1e-8."""
    X, y = 1e7 + np.random.default_rng(0).standard_normal((2011, 3)), np.arange(2011) % 2
    sliding = SlidingMoments(8)
    for a in range(2011):
        sliding.update(X[a : a + 1], y[a : a + 1])
    seen, labels = X[-8:] - 1e7, y[-8:]
    expected = np.cov(seen[labels == 0].T, ddof=0) + np.cov(seen[labels == 1].T, ddof=0)
    np.testing.assert_allclose(sliding.moments.within, expected, rtol=0.0, atol=1e-8)


def test_columns_are_repaired_once(monkeypatch):
    X, y = make_data(300, 3, share=0.5, seed=10)
    X[:20] *= 1e8
    sliding, repaired = SlidingMoments(100), []
    members = vrspam.moments.sliding._members

    def recorded(*args):
        repaired.append(args[1])
        return members(*args)

    monkeypatch.setattr(vrspam.moments.sliding, "_members", recorded)
    sliding.update(X[:100], y[:100])
    for a in range(100, 180, 10):
        sliding.update(X[a : a + 10], y[a : a + 10])
    assert len(repaired) == 6  # each class once, from the three blocks held when the burst left


@pytest.mark.parametrize("classes", [None, [0, 1]])
def test_a_class_that_has_left_the_window_is_still_known(classes):
    X, y = make_data(60, 2, seed=11)
    sliding = SlidingMoments(20, classes=classes).update(X, y)
    only = np.ones(20, dtype=int)
    sliding.update(X[:20], only)  # the whole window is replaced, and computed anew
    assert sliding.moments.classes.tolist() == [0, 1]
    assert sliding.moments.rows.tolist() == [0, 20]
    with pytest.raises(ValueError, match="Only two classes"):
        sliding.update(X[:3], [2, 2, 2])


def test_diagonal_only_window_and_bad_input():
    X, y = make_data(300, 4, share=0.5, seed=8)
    X[50:60] *= 1e8
    sliding = SlidingMoments(100, scatter=False)
    for a in range(0, 300, 30):
        sliding.update(X[a : a + 30], y[a : a + 30])
    whole = ClassMoments.from_data(X[-100:], y[-100:], scatter=False)
    np.testing.assert_allclose(sliding.moments.variances, whole.variances, rtol=1e-10)
    before = sliding.moments.copy()
    bad = X[:5].copy()
    bad[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        sliding.update(bad, y[:5])
    assert sliding.update(X[:0], y[:0]).moments == before
    with pytest.raises(ValueError, match="window_rows"):
        SlidingMoments(0)


def test_the_kept_rows_are_the_window_s_own():
    X, y = make_data(60, 2, seed=9)
    buffer = X[:30].copy()
    sliding = SlidingMoments(40).update(buffer, y[:30])
    buffer[:] = 0.0
    sliding.update(X[30:], y[30:])
    assert_statistics(sliding.moments, X[20:], y[20:], np.ones(40))


@pytest.mark.parametrize("is_sparse", [False, True])
def test_what_is_done_to_a_copy_leaves_the_original_as_it_was(is_sparse):
    """Statistics of copies share what nobody writes into; every way to change moments is tried on a copy."""
    X, y = make_data(60, 3, share=0.5, seed=12)
    rows = sparse.csr_array(X) if is_sparse else X
    whole, first = ClassMoments.from_data(rows, y), ClassMoments.from_data(rows[:57], y[:57])
    of_one_row = ClassMoments.from_data(rows[:1], y[:1], classes=[0, 1])
    most = np.flatnonzero(y == y[0])[1:]  # all rows of that class but one
    changes = {
        "update": lambda copy: copy.update(rows[:5], y[:5]),
        "rows taken out": lambda copy: copy.take_out(first),
        "one row left": lambda copy: copy.take_out(ClassMoments.from_data(rows[most], y[most], classes=[0, 1])),
        "more features": lambda copy: copy.add_features(2),
        "first rows of a class": lambda copy: copy.update(rows, y),
    }
    for name, change in changes.items():
        original = of_one_row if name == "first rows of a class" else whole
        before, copy = pickle.dumps(original), original.copy()
        change(copy)
        assert pickle.dumps(original) == before, name
        assert pickle.dumps(copy) != before, name


@pytest.mark.parametrize("scatter", [True, False])
def test_a_copy_of_a_window_stays_when_columns_are_repaired(scatter):
    X, y = make_data(300, 4, share=0.5, seed=10)
    X[:20] *= 1e8
    sliding, kept = SlidingMoments(100, scatter=scatter).update(X[:100], y[:100]), []
    for a in range(100, 180, 10):
        copy = sliding.moments.copy()
        kept.append((copy, pickle.dumps(copy)))
        sliding.update(X[a : a + 10], y[a : a + 10])  # the burst leaves, and its columns are computed afresh
    assert all(pickle.dumps(copy) == before for copy, before in kept)
