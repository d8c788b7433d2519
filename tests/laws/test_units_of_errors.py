"""A bound of a rounding error must have the units of what it bounds: for rows and weights times powers of two, any way
to gather sums, and it never shrinks by weights, by forgetting or by taking rows out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from vrspam import ClassMoments, SlidingMoments
from vrspam.moments import FinishedMoments, LastProduct, PairMoments
from vrspam.moments._rounding import UNIT, UNKNOWN, level_of, relative
from vrspam.moments.pairs import RankedPairs
from vrspam.moments.sliding import _bound_repair
from vrspam.objective import SquaredPairLoss, l2_unit
from vrspam.objective.rounding import LossErrors, MatrixErrors, RowErrors

rng = np.random.default_rng(0)
D = 4
X = rng.standard_normal((80, 4)) + np.array([0.0, 5.0, -100.0, 1.0])
X[rng.random(X.shape) < 0.4] = 0.0
Y = np.arange(80) % 3 == 0
WEIGHTS = rng.uniform(0.5, 2.0, 80)


def dense(X, c):
    return ClassMoments.from_data(X, Y, c)


def of_sparse(X, c):
    return ClassMoments.from_data(sparse.csr_array(X), Y, c)


def merged(X, c):
    return ClassMoments.from_data(X[:30], Y[:30], c[:30]) + ClassMoments.from_data(X[30:], Y[30:], c[30:])


def taken_out(X, c):
    return dense(X, c) - ClassMoments.from_data(X[:30], Y[:30], c[:30])


def forgetting(X, c):
    moments = ClassMoments(D, half_life=20.0)
    for part in (slice(0, 40), slice(40, 80)):
        moments.update(X[part], Y[part], c[part])
    return moments


def window(X, c, container=np.asarray):
    moments = SlidingMoments(50, classes=[False, True])
    for part in (slice(0, 30), slice(30, 60), slice(60, 80)):
        scale = 1e6 if part.start == 0 else 1.0  # rows that leave take digits with them: columns are computed afresh
        moments.update(container(X[part] * scale), Y[part], c[part])
    return moments.moments


def sparse_window(X, c):
    return window(X, c, sparse.csr_array)


def finished(X, c):
    matrix = np.array([[1.0, 0.5, 2.0], [0.0, 2.0, 1.0], [0.0, 0.0, 0.25]])
    return FinishedMoments(dense(X, c), LastProduct(1, matrix))


def of_pairs(X, c):
    return PairMoments.of_pairs(RankedPairs(Y.astype(float), Y | True, None, False), X, c)


WAYS = [dense, of_sparse, merged, taken_out, forgetting, window, sparse_window, finished, of_pairs]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_rows_in_other_units(way):
    errors, again = way(X, WEIGHTS).pair_errors(), way(X * 2.0**20, WEIGHTS).pair_errors()
    assert again.share == errors.share
    np.testing.assert_allclose(again.delta, errors.delta * 2.0**20, rtol=1e-9)
    np.testing.assert_allclose(again.means, errors.means * 2.0**20, rtol=1e-9)
    np.testing.assert_allclose(again.within, errors.within * 4.0**20, rtol=1e-9)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_weights_in_other_units(way):
    errors, again = way(X, WEIGHTS).pair_errors(), way(X, WEIGHTS * 2.0**20).pair_errors()
    assert again.share == pytest.approx(errors.share, rel=1e-9)
    np.testing.assert_allclose(again.delta, errors.delta, rtol=1e-9)
    np.testing.assert_allclose(again.within, errors.within, rtol=1e-9)


@pytest.mark.parametrize("way", [dense, of_sparse, of_pairs], ids=lambda way: way.__name__)
def test_weights_lose_digits_and_win_none(way):
    plain = ClassMoments.from_data(sparse.csr_array(X) if way is of_sparse else X, Y) if way is not of_pairs else None
    plain = of_pairs(X, None) if plain is None else plain
    with_weights = way(X, np.ones(80)).pair_errors()
    assert (with_weights.within >= plain.pair_errors().within).all()
    assert (with_weights.within > 0.0).all()


def test_forgetting_wins_no_digits():
    moments = dense(X, WEIGHTS)
    for statistics in moments._stats:
        before = statistics.errors.scatter / statistics.weight
        statistics.fade(0.3)
        assert (statistics.errors.scatter / statistics.weight > before).all()


def test_a_single_row_that_is_left_has_an_exact_scatter():
    two = ClassMoments.from_data([[1.0, 2.0], [3.0, 5.0], [0.0, 1.0]], [0, 0, 1])
    rest = two - ClassMoments.from_data([[3.0, 5.0]], [0], classes=[0, 1])
    statistics = rest._stats[0]
    assert statistics.rows == 1
    assert not statistics.scatter.any()
    assert not statistics.errors.scatter.any()


def test_the_unit_and_what_is_exact():
    assert np.finfo(float).eps / 2 == UNIT
    one, low = np.array([3.0]), np.array([1e-17])
    zero = np.zeros(1)
    assert level_of(one, zero, one, zero) == 0.0
    for a, a_low, b, b_low in ((one, zero, one, low), (one, low, one, zero), (one, zero, 2 * one, zero)):
        assert level_of(a, a_low, b, b_low) == np.maximum(a, b)


def test_bounds_of_products_are_homogeneous_in_w():
    moments = dense(X, WEIGHTS)
    w = np.array([0.3, -2.0, 0.1, 7.0])
    errors = moments.pair_errors()
    matrix = MatrixErrors(np.sqrt(errors.within), np.sqrt(moments.within_diagonal))
    rows = [LossErrors.from_rows(moments, from_scores=from_scores).products for from_scores in (False, True)]
    for bounds in (matrix, *rows):
        assert isinstance(bounds, MatrixErrors | RowErrors)
        square = float(w @ moments.within @ w)
        np.testing.assert_allclose(bounds.of_product(8.0 * w), 8.0 * bounds.of_product(w))
        assert bounds.of_square(8.0 * w, 64.0 * square) == pytest.approx(64.0 * bounds.of_square(w, square))
        assert bounds.of_square(w, square) > 0.0


def test_a_loss_of_any_operator_knows_its_rounding():
    moments = ClassMoments.from_data(X, Y, WEIGHTS)
    loss = SquaredPairLoss.from_operator(moments.within, moments)
    w = np.ones(4)
    assert loss.gradient_error(w, loss.value_and_grad(w)[1]) > 0.0


def test_pairs_count_their_weights():
    for strata in (None, np.zeros(80, dtype=int)):
        pairs = RankedPairs(Y.astype(float), np.ones(80, dtype=bool), strata, False)
        assert pairs.pairs_of_strata().tolist() == [Y.sum() * (~Y).sum()]
    few = RankedPairs(np.array([0.0, 1.0, 2.0]), np.ones(3, dtype=bool), np.zeros(3, dtype=int), False)
    assert few.error_of_weights(3, np.ones(3)) > 0.0 == few.error_of_weights(3, None)
    equal = RankedPairs(np.array([0.0, 1.0, 2.0]), np.ones(3, dtype=bool), np.zeros(3, dtype=int), True)
    assert equal.error_of_weights(3, np.ones(3)) > few.error_of_weights(3, np.ones(3))


def test_squares_that_underflow_are_refused_beside_a_column_of_zeros():
    small = np.column_stack([np.zeros(4), [1e-200, 2e-200, 3e-200, 4e-200]])
    with pytest.raises(ValueError, match="underflow"):
        ClassMoments.from_data(small, [0, 1, 0, 1])


def test_a_short_half_life_is_kept_in_a_file(tmp_path):
    moments = ClassMoments(4, half_life=0.5).update(X, Y)
    moments.save(tmp_path / "m.npz")
    assert ClassMoments.load(tmp_path / "m.npz") == moments


@pytest.mark.parametrize("way", [w for w in WAYS if w is not finished], ids=lambda way: way.__name__)
def test_a_further_column_of_zeros_changes_no_bound(way, monkeypatch):
    errors = way(X, WEIGHTS).pair_errors()
    monkeypatch.setattr(f"{__name__}.D", 5)
    again = way(np.column_stack([X, np.zeros(80)]), WEIGHTS).pair_errors()
    np.testing.assert_allclose(again.within[:4], errors.within, rtol=1e-12)
    np.testing.assert_allclose(again.delta[:4], errors.delta, rtol=1e-12)


def test_errors_of_the_classes_of_finished_moments_have_their_units():
    for first, other in zip(finished(X, WEIGHTS).sides(), finished(X * 2.0**20, WEIGHTS).sides(), strict=True):
        np.testing.assert_allclose(other.errors.scatter, first.errors.scatter * 4.0**20, rtol=1e-9)
        np.testing.assert_allclose(other.errors.mean, first.errors.mean * 2.0**20, rtol=1e-9)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_the_bound_of_columns_that_are_computed_afresh_has_their_units(is_sparse):
    found = []
    for unit in (1.0, 2.0**20):
        statistics = dense(X * unit, WEIGHTS)._stats[0]
        statistics.errors.scatter = statistics.errors.scatter * 1e-3
        columns = np.array([False, True, False, True])
        rest, squares = 1e-9 * unit * np.ones(2), statistics.diagonal[columns]
        _bound_repair(statistics, columns, squares, rest, is_sparse)
        found.append(statistics.errors.scatter / unit**2)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)


def test_sparse_columns_that_are_computed_afresh_count_their_means():
    bounds = []
    for is_sparse in (False, True):
        statistics = dense(X, WEIGHTS)._stats[0]
        statistics.errors.scatter = np.zeros(4)
        _bound_repair(statistics, np.zeros(4, dtype=bool), np.zeros(0), np.zeros(0), is_sparse)
        bounds.append(statistics.errors.scatter)
    far = np.array([False, True, True, True])  # columns whose means are not small
    assert (bounds[1][far] > 1.5 * bounds[0][far]).all()


def test_the_error_of_a_value_has_the_units_of_the_value():
    moments = dense(X, WEIGHTS)
    errors, delta = LossErrors.from_rows(moments, from_scores=True), moments.pair_statistics().delta
    for w in (np.zeros(4), np.array([0.3, -0.2, 0.01, 0.7])):
        value = 0.2 * (1 - w @ delta) ** 2 + 0.2 * float(w @ moments.within @ w)
        bound = errors.of_value(w, value, 0.2, delta)
        assert 0.0 < bound < 1e-9
        assert errors.of_value(w, 8.0 * value, 1.6, delta) == pytest.approx(8.0 * bound)
    # at 0 no product is made, and the rows have no part in the error
    plain = LossErrors(errors.share, errors.delta, MatrixErrors(np.zeros(4), np.zeros(4)))
    assert errors.of_value(np.zeros(4), 0.2, 0.2, delta) == plain.of_value(np.zeros(4), 0.2, 0.2, delta)


@pytest.mark.parametrize("name", ["classes", "rows", "weights", "roundings"])
def test_a_file_of_moments_whose_arrays_do_not_fit_is_refused(name, tmp_path):
    dense(X, WEIGHTS).save(tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz") as file:
        arrays = dict(file)
    arrays[name] = np.append(arrays[name], arrays[name][:1])
    np.savez(tmp_path / "wrong.npz", **arrays)
    with pytest.raises(ValueError, match=r"wrong\.npz"):
        ClassMoments.load(tmp_path / "wrong.npz")


@pytest.mark.parametrize("way", [dense, of_sparse, merged, forgetting, of_pairs], ids=lambda way: way.__name__)
def test_bounds_are_of_use(way):
    """Of rows that are not far from 0, sums are known to eleven digits."""
    near = X / np.array([1.0, 5.0, 100.0, 1.0])
    moments = way(near, WEIGHTS)
    errors = moments.pair_errors()
    assert (errors.within < 1e-11 * np.sqrt(moments.within_diagonal * moments.within_diagonal.max())).all()
    assert (errors.delta < 1e-11).all()


def test_a_file_of_moments_with_rows_below_0_is_refused(tmp_path):
    dense(X, WEIGHTS).save(tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz") as file:
        arrays = dict(file)
    arrays["rows"], arrays["weights"] = np.array([-3, 50]), np.array([0.0, 50.0])
    np.savez(tmp_path / "wrong.npz", **arrays)
    with pytest.raises(ValueError, match=r"wrong\.npz"):
        ClassMoments.load(tmp_path / "wrong.npz")


def test_the_error_of_the_margin_is_that_of_delta_times_the_distance_from_1():
    only_delta = LossErrors(0.0, np.full(2, 1e-10), MatrixErrors(np.zeros(2), np.zeros(2)))
    delta = np.array([1.0, 0.0])
    for first in (-3.0, 0.0, 1.0, 2.0, 5.0):
        bound = only_delta.of_gradient(np.array([first, 0.0]), np.zeros(2), 1.0, delta)
        assert (bound >= 1e-10 * abs(1.0 - first)).all()


def test_a_relative_error_is_unknown_from_half_of_the_size_on():
    assert relative(0.0, 3.0) == 0.0
    assert relative(1.0, 4.0) == 0.5
    assert relative(1.0, 2.0) == UNKNOWN


def test_the_unit_of_l2_is_the_mean_curvature():
    for unit in (1.0, 1e-3, 1e3):
        moments = ClassMoments.from_data(X * unit, Y)
        pairs = (X[Y][:, None] - X[~Y][None]).reshape(-1, 4) * unit
        assert l2_unit(moments) == pytest.approx(2 * Y.mean() * (1 - Y.mean()) * np.mean(pairs**2))
    assert l2_unit(ClassMoments.from_data(np.ones((80, 2)), Y)) == pytest.approx(2 * Y.mean() * (1 - Y.mean()))


def test_a_file_of_one_column_is_read(tmp_path):
    moments = ClassMoments.from_data(X[:, :1], Y)
    moments.save(tmp_path / "m.npz")
    assert ClassMoments.load(tmp_path / "m.npz") == moments
