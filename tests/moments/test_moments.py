"""ClassMoments against two-pass statistics and the pairwise definition in long double."""

import contextlib
import os
import tracemalloc

import numpy as np
import pytest
from helpers import CONTAINERS, DTYPES, make_data, pairwise_objective
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import vrspam.moments._file
import vrspam.moments._gather
from vrspam import AUCClassifier, ClassMoments, kernels
from vrspam.moments import PairMoments, RankedPairs
from vrspam.moments._rounding import UNKNOWN, Errors
from vrspam.objective import Objective, l2_unit


def direct(X, y, weights=None):
    """Share, means and summed covariances by NumPy's own two-pass functions, in long double where it matters."""
    X = np.asarray(X, dtype=np.longdouble)
    c = np.ones(len(y)) if weights is None else np.asarray(weights)
    means, within = [], 0.0
    for label in np.unique(y):
        rows, w = X[y == label], c[y == label].astype(np.longdouble)
        mean = (w[:, None] * rows).sum(0) / w.sum()
        within = within + (w[:, None] * (rows - mean)).T @ (rows - mean) / w.sum()
        means.append(mean)
    return c[y == np.max(y)].sum() / c.sum(), np.array(means, dtype=float), np.array(within, dtype=float)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("block_bytes", [1 << 25, 1 << 10])
def test_equal_to_two_pass_statistics(dtype, container, weighted, block_bytes, monkeypatch):
    monkeypatch.setattr(vrspam.moments._gather, "BLOCK_BYTES", block_bytes)
    X, y = make_data(300, 5)
    X[np.random.default_rng(1).random(X.shape) < 0.5] = 0.0
    X = X.astype(dtype)
    weights = np.random.default_rng(2).integers(0, 4, len(y)).astype(float) if weighted else None
    moments = ClassMoments.from_data(CONTAINERS[container](X), y, weights)
    p, means, within = direct(X, y, weights)
    rtol = 1e-12 if dtype == np.float64 else 1e-5
    assert moments.p == pytest.approx(p, rel=1e-14)
    np.testing.assert_allclose(moments.means, means, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(moments.within, within, rtol=rtol, atol=rtol * within.max())
    np.testing.assert_allclose(moments.within_diagonal, np.diagonal(within), rtol=rtol)
    kept = np.ones(len(y), bool) if weights is None else weights > 0
    assert moments.rows.tolist() == [np.sum(kept & (y == 0)), np.sum(kept & (y == 1))]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", ["C", "fortran", "every second row", "backwards", "csr"])
def test_no_copy_of_the_data_is_made(dtype, layout, monkeypatch):
    monkeypatch.setattr(vrspam.moments._gather, "BLOCK_BYTES", 1 << 16)
    X = np.random.default_rng(0).standard_normal((20_000, 20)).astype(dtype)
    y = np.arange(20_000) % 3 == 0
    views = {
        "C": lambda: X,
        "fortran": lambda: np.asfortranarray(X),
        "every second row": lambda: np.repeat(X, 2, axis=0)[::2],
        "backwards": lambda: X[::-1],
        "csr": lambda: sparse.csr_array(X),
    }
    data = views[layout]()
    tracemalloc.start()
    moments = ClassMoments.from_data(data, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < X.nbytes / 2
    assert moments.rows.sum() == 20_000


@pytest.mark.parametrize("density", [0.01, 0.3])
@pytest.mark.parametrize("scatter", [True, False])
def test_sparse_products_and_dense_blocks_agree(density, scatter):
    rng = np.random.default_rng(0)
    X = sparse.random_array((400, 60), density=density, rng=rng, format="csr")
    X = sparse.hstack([X, rng.standard_normal((400, 1)) + 1e5]).tocsr()  # one full column with a large offset
    y = rng.integers(0, 2, 400)
    ours = ClassMoments.from_data(X, y, scatter=scatter)
    _, means, within = direct(X.toarray(), y)
    np.testing.assert_allclose(ours.means, means, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours.within_diagonal, np.diagonal(within), rtol=1e-9)
    if scatter:
        np.testing.assert_allclose(ours.within, within, atol=1e-9 * within.max())
    else:
        with pytest.raises(ValueError, match="scatter=False"):
            _ = ours.within


@settings(max_examples=40, deadline=None)
@given(data=st.data(), seed=st.integers(0, 10_000))
def test_any_order_of_merging_and_taking_out(data, seed):
    X, y = make_data(40, 3, seed=seed)
    weights = np.random.default_rng(seed).uniform(0.1, 3.0, 40)
    parts = data.draw(st.lists(st.integers(0, 39), min_size=1, max_size=4, unique=True).map(sorted))
    pieces = [
        ClassMoments.from_data(X[a:b], y[a:b], weights[a:b], classes=[0, 1])
        for a, b in zip([0, *parts], [*parts, 40], strict=True)
        if b > a
    ]
    whole = ClassMoments.from_data(X, y, weights)
    order = data.draw(st.permutations(pieces))
    total = order[0]
    for piece in order[1:]:
        total = total + piece
    assert total == whole
    rest = whole
    for piece in order[1:]:
        rest = rest - piece
    assert rest == order[0]


def test_update_in_place_equals_one_go_and_equality_is_not_blind():
    X, y = make_data(50, 4)
    moments = ClassMoments()
    for start in range(0, 50, 7):
        moments.update(X[start : start + 7], y[start : start + 7])
    assert moments == ClassMoments.from_data(X, y)
    changed = X.copy()
    changed[3, 2] += 1e-3
    assert moments != ClassMoments.from_data(changed, y)
    assert moments != ClassMoments.from_data(X[:-1], y[:-1])
    assert moments != ClassMoments.from_data(X, y, scatter=False)
    assert moments != ClassMoments(half_life=1e15).update(X, y)  # the same so far, not after more rows
    assert moments != "moments"


def test_a_copy_knows_the_classes_it_was_given():
    X, y = make_data(20, 2)
    copied = ClassMoments(classes=["a", "b"]).copy()
    with pytest.raises(ValueError, match="different types"):
        copied.update(X, y)
    assert copied.update(X[:3], ["b"] * 3).classes.tolist() == ["a", "b"]


def test_one_row_that_is_left_has_no_spread_at_all():
    X, y = make_data(40, 3, seed=2)
    X += [1e3, -7.7, 0.3]
    first = np.flatnonzero(y == 1)[0]
    others = np.arange(40) != first
    left = ClassMoments.from_data(X, y) - ClassMoments.from_data(X[others & (y == 1)], y[others & (y == 1)])
    assert left.rows.tolist() == [np.sum(y == 0), 1]
    np.testing.assert_array_equal(left.scatters[1], np.zeros((3, 3)))
    np.testing.assert_allclose(left.means[1], X[first], rtol=1e-12)
    assert left.cancellation == 1.0  # class 0 was never touched, and 0 is exact


@pytest.mark.parametrize("scatter", [True, False])
def test_a_column_that_is_left_constant_has_no_negative_variance(scatter):
    rng = np.random.default_rng(0)
    for _ in range(20):
        X, y = rng.standard_normal((60, 4)) + 10.0 * rng.standard_normal(4), np.arange(60) % 2
        X[30:] = X[30]
        gone = ClassMoments.from_data(X[:30], y[:30], scatter=scatter)
        left = ClassMoments.from_data(X, y, scatter=scatter) - gone
        assert (left.within_diagonal >= 0.0).all()
        if scatter:
            assert (np.diagonal(left.within) >= 0.0).all()


@pytest.mark.parametrize("offset", [0.0, 1e6, -1e6])
def test_offset_costs_no_digits(offset):
    """Adding 1e6 to every feature changes the solution by less than 1e-6 of its length."""
    X, y = make_data(200, 5, seed=3)
    plain = AUCClassifier(l2=0.01).fit(X, y)
    moved = AUCClassifier(l2=0.01).fit(X + offset, y)
    assert np.linalg.norm(moved.coef_ - plain.coef_) <= 1e-6 * np.linalg.norm(plain.coef_)
    value = Objective.from_moments(moved.moments_, 0.01).value(moved.coef_[0])
    assert value == pytest.approx(float(pairwise_objective(X + offset, y, moved.coef_[0], 0.01)), rel=1e-8)


@pytest.mark.parametrize("labels", [(0, 1), ("no", "yes"), (-1.0, 1.0), (False, True)])
def test_save_and_load(tmp_path, labels):
    X, y = make_data(30, 3)
    moments = ClassMoments.from_data(X, np.array(labels)[y])
    path = tmp_path / "moments.npz"
    moments.save(path)
    again = ClassMoments.load(path)
    assert again == moments
    np.testing.assert_array_equal(again.within, moments.within)
    assert again.classes.tolist() == list(labels)
    assert [p.name for p in tmp_path.iterdir()] == ["moments.npz"]


def test_a_file_remembers_the_digits_that_subtraction_cost(tmp_path):
    X, y = make_data(60, 3)
    wide = X[:30] * 1e4
    left = ClassMoments.from_data(np.vstack([wide, X[30:]]), y) - ClassMoments.from_data(wide, y[:30])
    assert left.cancellation > 1e6  # squares were 1e8 times as large
    left.save(tmp_path / "moments.npz")
    assert ClassMoments.load(tmp_path / "moments.npz").cancellation == left.cancellation


def test_whatever_was_added_and_taken_out_can_be_saved_and_read_again(tmp_path):
    """Columns are uncorrelated up to rounding: the two triangles of the matrix differ by more than their values."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        X = np.array(np.meshgrid(*[[-0.1, 0.1]] * 5)).reshape(5, -1).T.repeat(3, axis=0) + 1e3 / 3.0
        X, y = rng.permutation(X), rng.integers(0, 2, 96)
        moments = ClassMoments()
        for start in range(0, 96, 7):
            moments.update(X[start : start + 7], y[start : start + 7])
        for saved in (moments, moments - ClassMoments.from_data(X[:50], y[:50])):
            saved.save(tmp_path / "moments.npz")
            assert ClassMoments.load(tmp_path / "moments.npz") == saved


def test_weights_of_many_decades_can_be_saved_after_a_subtraction(tmp_path):
    """What is left of a class may be so light that rounding alone makes its scatter a little asymmetric."""
    for seed in range(150):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((30, 3)) * 10.0 ** rng.uniform(-3, 3, 3), np.arange(30) % 2
        weights, count = np.sort(10.0 ** rng.uniform(-25, 0, 30))[::-1], int(rng.integers(5, 28))
        first = ClassMoments.from_data(X[:count], y[:count], weights[:count])
        left = ClassMoments.from_data(X, y, weights) - first
        left.save(tmp_path / "moments.npz")
        again = ClassMoments.load(tmp_path / "moments.npz")
        assert again.rows.tolist() == left.rows.tolist()


@pytest.mark.parametrize("weights", [(1e-300, 1e300), (1e160, 1e-160), (1e-100, 1e300)])
def test_classes_whose_weights_are_too_far_apart_are_refused(weights):
    X, y = make_data(30, 2, seed=3)
    moments = ClassMoments.from_data(X, y, np.where(y == 1, *weights))
    for fit in (lambda: AUCClassifier().fit_moments(moments), lambda: moments.delta, lambda: l2_unit(moments)):
        with pytest.raises(ValueError, match=r"weights of the classes, .* are too far apart: rescale sample_weight"):
            fit()


def test_moments_remember_that_rows_came_in_float32(tmp_path):
    """Where they multiplied in float32; elsewhere only the rows were rounded, and products are those of float64."""
    X, y = make_data(60, 3)
    assert ClassMoments.from_data(X.astype(np.float32), y).rounding == 0.0
    single = ClassMoments().add_checked(X[:30].astype(np.float32), y[:30], precise=False)
    double = ClassMoments.from_data(X[30:], y[30:])
    assert double.rounding == 0.0
    assert single.rounding == (single + double).rounding == (double + single).rounding == 2.0**-23
    assert (single + double - single).rounding == single.rounding
    assert (single - single + double).rounding == 0.0  # no such row is left
    one_class = ClassMoments().add_checked(X[y == 0].astype(np.float32), y[y == 0], precise=False)
    one_class.update(X[y == 1], y[y == 1])
    assert one_class.rounding == single.rounding
    single.save(tmp_path / "moments.npz")
    assert ClassMoments.load(tmp_path / "moments.npz").rounding == single.rounding
    thin = sparse.csr_array(sparse.random_array((50, 90), density=0.01, dtype=np.float32))
    assert ClassMoments().add_checked(thin, y[:50], precise=False).rounding == 0.0


def test_damaged_and_foreign_files_are_refused(tmp_path):
    X, y = make_data(30, 3)
    path = tmp_path / "moments.npz"
    ClassMoments.from_data(X, y).save(path)
    whole = path.read_bytes()
    foreign = tmp_path / "foreign.npz"
    np.savez(foreign, a=np.arange(3))
    for content in (whole[: len(whole) // 2], b"", b"not an archive", foreign.read_bytes(), whole[:-30]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="not a file of class moments"):
            ClassMoments.load(path)
    np.savez(foreign, a=np.array([object()], dtype=object))
    with pytest.raises(ValueError, match="not a file of class moments"):
        ClassMoments.load(foreign)
    with pytest.raises(FileNotFoundError):
        ClassMoments.load(tmp_path / "absent.npz")


@pytest.mark.parametrize("kind", ["local header", "directory"])
def test_no_damaged_byte_of_a_header_gets_through(tmp_path, kind):
    """A damaged file gives a ValueError or exactly the same moments, whatever zipfile and NumPy raise."""
    X, y = make_data(30, 3)
    moments, path = ClassMoments.from_data(X, y), tmp_path / "moments.npz"
    moments.save(path)
    whole = path.read_bytes()
    start = 0 if kind == "local header" else whole.index(b"PK\x01\x02")
    for place in range(start, start + 160):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF if place % 2 else 1
        path.write_bytes(bytes(damaged))
        with contextlib.suppress(ValueError):
            assert ClassMoments.load(path) == moments


@pytest.mark.parametrize(
    "forged",
    [
        {"classes": np.array([1, 1])},
        {"classes": np.array([1, 0])},
        {"classes": np.array([0.0, np.nan])},
        {"classes": np.array([0, 1]) * 1j},
        {"means": np.ones((2, 3)) * 1j},
        {"peaks": np.full((2, 3), np.nan)},
        {"rows": np.array([1.5, 2.5])},
        {"rows": np.array([0, 21])},
        {"weights": np.array([0.0, 9.0])},
        {"scatters": -np.stack([np.eye(3)] * 2)},
        {"version": 0},
        {"weights": np.array([1e308, 1e308])},
        {"rows": np.array([2**63 - 1, 2**63 - 1])},
        {"roundings": np.array([0.0, np.inf])},
        {"roundings": np.array([0.0, np.nan])},
        {"roundings": np.array([0.0, 0.5])},
        {"scatters": np.zeros((2, 4, 4))},
        {"half_life": np.ones(2)},
        {"half_life": np.nan},
    ],
    ids=lambda forged: next(iter(forged)),
)
def test_contents_that_cannot_be_moments_are_refused(tmp_path, forged):
    X, y = make_data(30, 3)
    path = tmp_path / "moments.npz"
    ClassMoments.from_data(X, y).save(path)
    with np.load(path) as archive:
        content = {**archive, **forged}
    np.savez(path, **content)
    with pytest.raises(ValueError, match="not a file of class moments"):
        ClassMoments.load(path)


@pytest.mark.parametrize("name", ["extra", "scatters", "classes", "format", "version"])
def test_sizes_are_checked_before_anything_is_read(tmp_path, name):
    """Zeros pack a thousandfold: an archive of 0.3 MB must not take 320 MB; other members are ignored."""
    X, y = make_data(30, 3)
    path, moments = tmp_path / "moments.npz", ClassMoments.from_data(X, y)
    moments.save(path)
    with np.load(path) as archive:
        content = {**archive, name: np.zeros((2, 20_000_000))}
    np.savez_compressed(path, **content)
    del content
    tracemalloc.start()
    try:
        if name == "extra":
            assert ClassMoments.load(path) == moments
        else:
            with pytest.raises(ValueError, match="not a file of class moments"):
                ClassMoments.load(path)
        assert tracemalloc.get_traced_memory()[1] < 5e6
    finally:
        tracemalloc.stop()


def test_shapes_that_fit_do_not_excuse_a_huge_archive(tmp_path):
    path, d = tmp_path / "moments.npz", 4000
    ClassMoments.from_data(np.eye(2), [0, 1]).save(path)
    with np.load(path) as archive:
        content = {**archive, "means": np.zeros((2, d)), "peaks": np.zeros((2, d)), "scatters": np.zeros((2, d, d))}
    np.savez_compressed(path, **content)
    del content
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="not a file of class moments"):
            ClassMoments.load(path)
        assert tracemalloc.get_traced_memory()[1] < 5e6
    finally:
        tracemalloc.stop()


def test_extreme_moments_can_be_read_again(tmp_path):
    """Float32, columns of very different scale, more columns than rows, huge weights: all of it can be read again."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 60)) * 10.0 ** rng.uniform(-140, 140, 60), np.arange(40) % 2
    X[:, :5] = 1e-160 * rng.standard_normal((40, 5))  # squares have no digits
    single = (rng.standard_normal((40, 60)) + 1e3).astype(np.float32)
    small = rng.standard_normal((40, 3))
    for rows, weight in (
        (X, None),
        (single, None),
        (np.repeat(single[:, :1], 60, axis=1), None),
        (small, [1e200] * 40),
    ):
        moments = ClassMoments.from_data(rows, y, weight)
        moments.save(tmp_path / "moments.npz")
        assert ClassMoments.load(tmp_path / "moments.npz") == moments


def test_labels_that_a_file_cannot_hold(tmp_path):
    X, y = make_data(30, 3)
    for labels in (np.array([0, 1], dtype=object), np.array(["2020", "2021"], dtype="M8[Y]")):
        with pytest.raises(ValueError, match="can be saved as class labels"):
            ClassMoments.from_data(X, labels[y]).save(tmp_path / "moments.npz")
    assert list(tmp_path.iterdir()) == []


def test_a_saved_file_is_as_readable_as_any_other(tmp_path):
    X, y = make_data(30, 3)
    before = os.umask(0o027)
    try:
        ClassMoments.from_data(X, y).save(tmp_path / "moments.npz")
        assert (tmp_path / "moments.npz").stat().st_mode & 0o777 == 0o640
        (tmp_path / "plain").touch()  # what is written afterwards is no more open than before
        assert (tmp_path / "plain").stat().st_mode & 0o777 == 0o640
    finally:
        os.umask(before)


def test_a_newer_file_says_so(tmp_path, monkeypatch):
    X, y = make_data(30, 3)
    monkeypatch.setattr(vrspam.moments._file, "FILE_VERSION", 99)
    ClassMoments.from_data(X, y).save(tmp_path / "m.npz")
    monkeypatch.undo()
    with pytest.raises(ValueError, match="newer version"):
        ClassMoments.load(tmp_path / "m.npz")


def test_mixing_what_does_not_belong_together():
    X, y = make_data(30, 3)
    a = ClassMoments.from_data(X, y)
    with pytest.raises(ValueError, match="3 and of 2 features"):
        a + ClassMoments.from_data(X[:, :2], y)
    with pytest.raises(ValueError, match="Only two classes"):
        a + ClassMoments.from_data(X, y + 1)
    with pytest.raises(ValueError, match="different types"):
        a + ClassMoments.from_data(X, np.array(["a", "b"])[y])
    with pytest.raises(ValueError, match="negative count"):
        ClassMoments.from_data(X[:10], y[:10], classes=[0, 1]) - a
    with pytest.raises(ValueError, match="scatter"):
        a + ClassMoments.from_data(X, y, scatter=False)
    with pytest.raises(ValueError, match="exactly two"):
        ClassMoments(classes=[1, 2, 3])
    with pytest.raises(ValueError, match="two classes"):
        _ = ClassMoments.from_data(X[y == 0], y[y == 0]).p
    with pytest.raises(ValueError, match="Only two classes"):
        ClassMoments(classes=[5, 6]) + a
    with pytest.raises(ValueError, match="Only two classes"):
        a + ClassMoments(classes=[5, 6])
    heavy, light = ClassMoments.from_data(X, y, np.full(30, 5.0)), ClassMoments.from_data(X[:10], y[:10])
    for part, reason in ((heavy, "more weight"), (ClassMoments.from_data(X, y, np.full(30, 0.1)), "more rows")):
        whole = a if reason == "more weight" else light
        with pytest.raises(ValueError, match="negative count"):
            whole - part
    before = a.copy()
    more = ClassMoments.from_data(np.vstack([X, X[y == 1]]), np.append(y, y[y == 1]))
    with pytest.raises(ValueError, match="negative count for class 1: 9 rows"):
        a.take_out(more)  # class 0 alone would be possible
    assert a == before
    for bad, match in [((X[:, :2], y), "features"), ((X, y[:-1]), "one label"), ((X, y * 2), "Only two classes")]:
        with pytest.raises(ValueError, match=match):
            a.update(*bad)
    assert a == before


@pytest.mark.parametrize("scatter", [True, False])
def test_moments_put_in_are_the_sum_and_keep_the_others(scatter):
    X, y = make_data(60, 3)
    y[:20] = 0  # the first part has one class
    parts = [ClassMoments.from_data(X[a : a + 20], y[a : a + 20], scatter=scatter) for a in (0, 20, 40)]
    before = [part.copy() for part in parts]
    total = ClassMoments(scatter=scatter)
    for part in parts:
        assert total.put_in(part) is total
    assert total == ClassMoments.from_data(X, y, scatter=scatter) == parts[0] + parts[1] + parts[2]
    assert total.put_in(ClassMoments(scatter=scatter)) == ClassMoments.from_data(X, y, scatter=scatter)
    total.update(X, y)  # writes to none of the parts
    assert parts == before

    whole = total.copy()
    with pytest.raises(ValueError, match="features"):
        total.put_in(ClassMoments.from_data(X[:, :2], y, scatter=scatter))
    with pytest.raises(ValueError, match="Only two classes"):
        total.put_in(ClassMoments.from_data(X, np.where(y == 1, 7, 8), scatter=scatter))
    assert total == whole
    declared = ClassMoments(classes=[0, 1], scatter=scatter).put_in(parts[0])
    with pytest.raises(ValueError, match="Only two classes"):
        declared.update(X, np.full(60, 7))


@pytest.mark.parametrize(
    ("damage", "match"),
    [(np.nan, "NaN or infinity"), (np.inf, "NaN or infinity"), (1e200, "overflow")],
)
def test_values_that_cannot_be_used(damage, match):
    X, y = make_data(30, 3)
    X[4, 1] = damage
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(ValueError, match=match):
        ClassMoments.from_data(X, y)


@pytest.mark.parametrize(
    ("X", "y", "match"),
    [
        ([[1.0], [2.0]], [0.0, np.nan], "y contains NaN"),
        ([[1.0], [2.0]], [None, "a"], "labels of different types"),
        ([[1.0], [2.0]], [1j, 0], "labels must be"),
        ([[1.0], [2.0]], np.array(["a", 3], dtype=object), "labels of different types"),
        ([["a"], ["b"]], [0, 1], "not numeric"),
        (np.array([["2020"], ["2021"]], dtype="M8[Y]"), [0, 1], "not numeric"),
        (np.empty((2, 0)), [0, 1], "no features"),
    ],
)
def test_rows_that_cannot_be_used(X, y, match):
    with pytest.raises(ValueError, match=match):
        ClassMoments.from_data(X, y)


def test_a_frame_with_gaps_cannot_be_used():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": pd.array([1.0, pd.NA], dtype="Float64"), "b": [True, False]})
    with pytest.raises(ValueError, match="not numeric"):
        ClassMoments.from_data(frame, [0, 1])


@pytest.mark.parametrize("kind", ["coo", "lil", "dok", "dia", "bsr"])
def test_other_sparse_containers(kind):
    X, y = make_data(30, 3)
    assert ClassMoments.from_data(getattr(sparse, f"{kind}_array")(X), y) == ClassMoments.from_data(X, y)


def test_weights_that_cannot_be_used():
    X, y = make_data(30, 3)
    for weights, match in [
        (np.ones(30) * 1j, "finite"),
        (-np.ones(30), "negative"),
        (np.ones(29), "one entry per row"),
        (np.full(30, np.nan), "finite"),
    ]:
        with pytest.raises(ValueError, match=match):
            ClassMoments.from_data(X, y, weights)


@pytest.mark.parametrize("scale", [1e30, 1e-30])
@pytest.mark.parametrize("container", ["dense", "csr_array"])
@pytest.mark.parametrize("density", [1.0, 0.04])
def test_float32_range_is_not_a_limit(scale, container, density):
    X, y = make_data(100, 3, seed=5)
    X[np.random.default_rng(0).random(X.shape) > density] = 0.0
    _, _, within = direct(X, y)
    data = CONTAINERS[container]((X * scale).astype(np.float32))
    np.testing.assert_allclose(ClassMoments.from_data(data, y).within / scale**2, within, atol=1e-4 * within.max())
    variances = ClassMoments.from_data(data, y, scatter=False).within_diagonal
    np.testing.assert_allclose(variances / scale**2, np.diagonal(within), rtol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("unit", [1e-300, 1e-80, 1e-45, 1e40, 1e300])
def test_the_unit_of_the_weights_does_not_matter(dtype, unit):
    X, y = make_data(60, 3, seed=5)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 60)
    moments = ClassMoments.from_data(X.astype(dtype), y, weights * unit)
    p, means, within = direct(X, y, weights)
    rtol = 1e-12 if dtype == np.float64 else 1e-5
    assert moments.p == pytest.approx(p)
    np.testing.assert_allclose(moments.means, means, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(moments.within, within, atol=rtol * within.max())


@pytest.mark.parametrize(
    ("scale", "weight", "match"),
    [
        (1.0, 1e308, "adds up to infinity"),
        (1.0, 8e306, "adds up to infinity"),  # each class fits, both together do not
        (1e100, 1e200, "overflow"),
        (1e-170, 1.0, "underflow"),
        (1e-100, 1e-200, "underflow"),
    ],
)
@pytest.mark.parametrize("scatter", [True, False])
@pytest.mark.filterwarnings("error")
def test_numbers_beyond_the_floating_point_range(scale, weight, match, scatter):
    X, y = make_data(30, 3)
    with pytest.raises(ValueError, match=match):
        ClassMoments.from_data(X * scale, y, np.full(30, weight), scatter=scatter)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("where", ["weight", "mean", "scatter"])
def test_a_bound_that_is_not_a_number_becomes_one_that_says_nothing_is_known(where, bad):
    """Whichever of the bounds it is, and wherever in it: a certificate is then wide, and never NaN."""
    bounds = Errors(1.0, np.ones(3), np.ones(3))
    setattr(bounds, where, bad if where == "weight" else np.array([1.0, bad, 1.0]))
    capped = vars(bounds.capped())
    assert all(np.isfinite(bound).all() for bound in capped.values())
    assert np.max(capped[where]) >= UNKNOWN
    assert all(np.all(bound == 1.0) for name, bound in capped.items() if name != where)


@pytest.mark.parametrize("weighted", [False, True])
def test_variances_of_sparse_columns_far_from_zero(weighted):
    """Large numbers with and without zeros, a constant, an empty column, duplicate entries: the same as NumPy."""
    rng = np.random.default_rng(0)
    X = np.zeros((200, 5))
    X[:, 0] = 1e6 + rng.standard_normal(200)
    X[:190, 1] = 1e3 + rng.standard_normal(190)
    X[:, 2] = 7.0
    X[::9, 3] = rng.standard_normal(23)
    y = rng.permutation(200) < 60
    weights = rng.uniform(0.1, 3.0, 200) if weighted else None
    whole = sparse.csr_array(X)  # and each entry as two parts of it
    parts = np.repeat(whole.data, 2) * np.tile([0.25, 0.75], whole.nnz)
    doubled = sparse.csr_array((parts, np.repeat(whole.indices, 2), 2 * whole.indptr), shape=X.shape)
    assert not doubled.has_canonical_format
    for stored in (whole, doubled):
        moments = ClassMoments(5, scatter=False).update(stored, y, weights)
        for side, member in enumerate((~y, y)):
            c = np.ones(200) if weights is None else weights
            mean = np.average(X[member], axis=0, weights=c[member])
            variance = np.average((X[member] - mean) ** 2, axis=0, weights=c[member])
            np.testing.assert_allclose(moments.means[side], mean, rtol=1e-13, atol=1e-15)
            np.testing.assert_allclose(moments.variances[side], variance, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("scatter", [True, False])
def test_new_columns_were_zero_in_all_rows_so_far(scatter):
    X, y = make_data(60, 5)
    X[:40, 3:] = 0.0
    grown = ClassMoments(scatter=scatter).update(X[:40, :3], y[:40]).add_features(2).update(X[40:], y[40:])
    assert grown == ClassMoments.from_data(X, y, scatter=scatter)
    assert ClassMoments().add_features(2) == ClassMoments()


def test_the_centre_of_a_stratum_is_read_inside_the_rows():
    """NumPy raises IndexError where compiled code would read on past the end: `centre` has room for one number more."""
    X, places = np.random.default_rng(0).standard_normal((200, 3)), np.random.default_rng(1).permutation(200)
    centre_of = getattr(kernels.stratum_centre, "py_func", kernels.stratum_centre)
    for last, rows in ((64, places[:1]), (200, places[::4])):
        centre = np.full(4, 7.0)
        centre_of(X, places, 0, 0, last, centre)
        np.testing.assert_allclose(centre, [*X[rows].mean(axis=0), 0.0], rtol=1e-12)


def pairs_with_differences(differences):
    """Strata of two rows each, of which the lower one is 0."""
    n = len(differences)
    X, y = np.concatenate([np.zeros((n, 2)), differences]), np.repeat([0.0, 1.0], n)
    return PairMoments.of_pairs(RankedPairs(y, y == 1.0, np.tile(np.arange(n), 2)), X)


def test_sums_over_pairs_are_not_mixed_with_moments_of_two_classes():
    X, y = make_data(40, 2)
    classes, pairs = ClassMoments.from_data(X, y), AUCClassifier().fit(X, y, strata=np.arange(40) % 4).moments_
    for mix in (
        lambda: classes + pairs,
        lambda: pairs + classes,
        lambda: classes - pairs,
        lambda: pairs - classes,
    ):
        with pytest.raises(ValueError, match="two classes and sums over pairs of rows cannot be combined"):
            mix()
    with pytest.raises(TypeError):
        pairs + 1
    with pytest.raises(ValueError, match="no scatter of either class: read `within` instead"):
        _ = pairs.scatters
    assert classes != pairs
    assert pairs != classes


def test_sums_over_pairs_are_equal_where_the_whole_matrices_are():
    together = pairs_with_differences([[1.0, 1.0], [-1.0, -1.0]])
    apart = pairs_with_differences([[1.0, -1.0], [-1.0, 1.0]])  # the same means and variances
    assert together == pairs_with_differences([[-1.0, -1.0], [1.0, 1.0]])
    assert together != apart
    assert together + apart == apart + together
    assert together + apart - apart == together
