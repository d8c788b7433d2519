"""Bounds on rounding errors cover what theory says may happen, and are small where numbers are harmless.

Data do not reach the worst case: a bound that is too small would be seen by nobody. Here each is held against the
number of roundings, the inequality, or the exact arithmetic that it stands for.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sklearn import config_context

from vrspam import ClassMoments, SlidingMoments
from vrspam.moments import FinishedMoments, LastProduct, PairMoments, RankedPairs, pairs
from vrspam.moments._rounding import gamma, of_rank_one
from vrspam.moments._sums import CHUNK_ROWS, dense_sums
from vrspam.objective.rounding import FinishedErrors, LossErrors


def rows_of_classes(n: int = 80, d: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.standard_normal((n, d)) * np.geomspace(0.01, 10.0, d) + y[:, np.newaxis], y


# Numbers of roundings.


@pytest.mark.parametrize("full", [True, False])
def test_as_many_roundings_as_a_sum_of_chunks_has(full):
    rows = np.random.default_rng(0).standard_normal((2 * CHUNK_ROWS + 10, 64))
    _, _, operations = dense_sums(rows.copy(), np.zeros(64), None, full)
    assert operations >= CHUNK_ROWS + 3  # a product of the rows of a chunk, and three chunks


@pytest.mark.parametrize("full", [True, False])
def test_as_many_roundings_as_a_sum_on_a_device_has(full, monkeypatch):
    xp = pytest.importorskip("array_api_strict")
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    from vrspam.moments import _device

    gather = _device._sums_and_products if full else _device._sums_and_squares
    X = np.random.default_rng(0).standard_normal((50, 3))
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 50)
    index = xp.asarray(np.arange(50))
    with config_context(array_api_dispatch=True):
        sums, products, operations = gather(xp.asarray(X), index, xp.asarray(weights), None)
    np.testing.assert_allclose(np.asarray(sums), weights @ X)
    expected = (X.T * weights) @ X
    np.testing.assert_allclose(np.asarray(products), expected if full else expected.diagonal())
    assert operations >= 51  # 50 rows in one block


def test_as_many_roundings_as_a_product_in_pieces_has():
    for width in (3, 128, 300):
        last = LastProduct(2, np.eye(width))
        pieces = -(-width // last.piece)
        assert last.of_matrices >= gamma(last.piece + pieces)


# Inequalities.


@pytest.mark.parametrize("ratio", [1e-12, 1e-6, 1e-2, 1.0, 1e3])
def test_the_error_of_a_product_of_a_vector_with_itself(ratio):
    """|v_i e_j + e_i v_j + e_i e_j| ≤ √(a_i a_j), for all errors |e| of the sizes given."""
    rng = np.random.default_rng(0)
    v = rng.standard_normal(6) * np.geomspace(1e-3, 1e3, 6)
    of_v = ratio * np.abs(v) * rng.uniform(0.5, 1.0, 6)
    a = of_rank_one(3.0, 0.0, v, of_v, v**2)
    error = np.sign(v) * of_v  # the worst
    lost = 3.0 * np.abs(np.outer(v + error, v + error) - np.outer(v, v))
    assert (lost <= 1.000001 * np.sqrt(np.outer(a, a))).all()
    assert (a <= 3.0 * (6.0 * ratio + 6.0 * ratio**2 + 1e-14) * v**2 * 10.0).all()  # of use


def test_the_error_of_a_margin_in_exact_arithmetic():
    rng = np.random.default_rng(1)
    errors = LossErrors(0.0, np.zeros(40), None)  # type: ignore[arg-type]
    for _ in range(50):
        delta = rng.standard_normal(40) * 10.0 ** rng.integers(-8, 8, 40)
        w = rng.standard_normal(40) * 10.0 ** rng.integers(-8, 8, 40)
        exact = 1 - sum(
            (Fraction(a) * Fraction(b) for a, b in zip(w.tolist(), delta.tolist(), strict=True)), Fraction()
        )
        assert abs(Fraction(1.0 - float(w @ delta)) - exact) <= Fraction(errors.of_margin(w, delta))


def test_the_square_in_a_value_is_what_the_margin_leaves():
    squares = []

    class Products:
        def of_square(self, w, square):
            squares.append(square)
            return 0.0

    w, delta = np.array([2.0, 0.0]), np.array([-1.0, 5.0])  # the margin is 3
    errors = LossErrors(0.0, np.zeros(2), Products())  # type: ignore[arg-type]
    errors.of_value(w, 0.5 * (3.0**2 + 4.0), 0.5, delta)
    assert squares == [pytest.approx(4.0)]


# Moments whose last product is left for later.


def finished(seed: int = 0) -> tuple[FinishedMoments, np.ndarray, np.ndarray]:
    X, y = rows_of_classes(seed=seed)
    rng = np.random.default_rng(seed + 1)
    matrix = np.triu(rng.standard_normal((3, 3))) + np.diag([3.0, 2.0, 1.0])
    return FinishedMoments(ClassMoments.from_data(X, y), LastProduct(2, matrix)), X, y


def test_features_are_wrong_in_both_classes():
    moments, X, y = finished()
    by_class = [moments.last.of_features(np.sqrt((X[y == side] ** 2).mean(axis=0))) for side in (0, 1)]
    assert (moments.of_features >= (1.0 - 1e-9) * (by_class[0] + by_class[1])).all()


def test_the_scatter_of_features_is_wrong_by_its_products_at_least_and_by_little():
    moments, _, _ = finished()
    for before, after in zip(moments.unfinished.sides(), moments.settled.sides(), strict=True):
        spread = moments.last.of_sizes(np.sqrt(before.diagonal))
        assert (after.errors.scatter >= moments.last.of_matrices * spread**2).all()
        assert (after.errors.scatter <= 1e-9 * spread**2).all()
    within = moments.pair_errors().within
    assert (within <= 1e-9 * moments.within_diagonal.max()).all()
    w = np.ones(5)
    product = FinishedErrors.of(moments).of_product(w)
    spread = np.sqrt(moments.within_diagonal)
    assert (product >= (moments.of_features @ w) * spread).all()
    assert (product <= 1e-9 * (spread @ w) * spread.max()).all()


# Pairs.


def ordered_pairs(n: int = 60, strata: int = 2) -> tuple[RankedPairs, np.ndarray]:
    """Pairs inside strata; the rows of the last stratum are far from zero."""
    rng = np.random.default_rng(3)
    stratum = np.sort(np.arange(n) % strata)
    X = rng.standard_normal((n, 3)) + 1e4 * (stratum == strata - 1)[:, np.newaxis]
    return RankedPairs(rng.permutation(n).astype(float), np.ones(n, dtype=bool), stratum), X


def test_several_threads_know_the_errors_of_all_strata(monkeypatch):
    ranked, X = ordered_pairs()
    alone = PairMoments.of_pairs(ranked, X).differences
    monkeypatch.setattr(pairs, "THREAD_PRODUCTS", 0)
    monkeypatch.setattr(pairs, "blas_thread_count", lambda: 2)
    shared = PairMoments.of_pairs(ranked, X).differences
    np.testing.assert_allclose(shared.mean, alone.mean, rtol=1e-9)
    np.testing.assert_allclose(shared.errors.mean, alone.errors.mean, rtol=0.1)


def test_the_peak_of_differences_is_their_scatter():
    ranked, X = ordered_pairs(strata=1)
    differences = PairMoments.of_pairs(ranked, X * 0.3 + 2.0 * ranked.rank[:, np.newaxis]).differences
    np.testing.assert_allclose(differences.peak, differences.diagonal, rtol=1e-9)


def test_rows_of_one_rank_make_no_pair():
    ranked = RankedPairs(np.ones(9), np.ones(9, dtype=bool))
    assert not PairMoments.of_pairs(ranked, np.arange(18.0).reshape(9, 2)).complete


def test_a_row_in_the_middle_is_not_above_the_others():
    ranked = RankedPairs(np.array([2.0, 0.0, 1.0]), np.ones(3, dtype=bool))
    assert ranked.upper.tolist() == [True, False, False]


# Rows that fade, and windows.


def test_what_fades_does_not_cancel():
    X, y = rows_of_classes()
    moments = ClassMoments.from_data(X, y)
    before = moments.cancellation
    for statistics in moments.sides():
        statistics.fade(1e-3)
    assert moments.cancellation == pytest.approx(before, rel=1e-12)


def test_a_window_of_one_row():
    X, y = rows_of_classes(6)
    window = SlidingMoments(1)
    window.update(X, y)
    assert window.moments.rows.tolist() == [1]


def test_a_window_of_blocks_with_and_without_weights():
    X, y = rows_of_classes(60)
    weights = np.random.default_rng(5).uniform(0.5, 2.0, 60)
    window = SlidingMoments(20)
    of_rows = np.ones(60)
    for start in range(0, 60, 4):
        part = slice(start, start + 4)
        weighed = start // 4 % 2 == 0
        window.update(X[part], y[part], weights[part] if weighed else None)
        if weighed:
            of_rows[part] = weights[part]
    assert window.moments == ClassMoments.from_data(X[-20:], y[-20:], of_rows[-20:])


def test_an_archive_that_was_compressed_by_hand_is_read(tmp_path):
    moments = ClassMoments.from_data(np.zeros((4, 300)) + np.arange(4.0)[:, np.newaxis] // 2, [0, 1, 0, 1])
    moments.save(tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz") as archive:
        np.savez_compressed(tmp_path / "small.npz", **archive)
    assert (tmp_path / "small.npz").stat().st_size < (tmp_path / "m.npz").stat().st_size / 100
    assert ClassMoments.load(tmp_path / "small.npz") == moments


def test_a_file_with_a_negative_error_is_refused(tmp_path):
    X, y = rows_of_classes()
    ClassMoments.from_data(X, y).save(tmp_path / "m.npz")
    for name in ("weight_errors", "mean_errors", "scatter_errors"):
        with np.load(tmp_path / "m.npz") as archive:
            content = dict(archive)
        content[name] = np.array(content[name])
        content[name].flat[-1] = -1.0
        np.savez(tmp_path / "forged.npz", **content)
        with pytest.raises(ValueError, match="moments"):
            ClassMoments.load(tmp_path / "forged.npz")
