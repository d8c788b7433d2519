"""AUCClassifierCV and coef_path against the naive computation: one fit for each fold and each grid point."""

import warnings
from typing import Any

import numpy as np
import pytest
from helpers import make_data
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
)

from vrspam import AUCClassifier, AUCClassifierCV, ClassMoments, coef_path, metrics
from vrspam._utils.validation import Rows
from vrspam.model_selection import sources
from vrspam.model_selection.folds import Split
from vrspam.model_selection.sources import RowsInMemory
from vrspam.objective import Objective, SquaredPairLoss
from vrspam.solvers.path import solve_grid

pytestmark = pytest.mark.filterwarnings("ignore:(The best|All coefficients|AUCClassifierCV stopped)")
L2S = np.array([1e-1, 1e-3, 10.0, 1e-2, 1.0])  # in no order: positions must be kept
L1S = np.array([0.0, 0.02, 50.0, 0.1])


TOL = 1e-14  # two pairs of rows with nearly tied scores must not be ranked in different ways


def naive_path(X, y, splits, l2s, l1s, weights=None):
    """Fit and score every fold and grid point by itself."""
    path = np.empty((len(l2s), len(l1s), len(splits)))
    for f, (train, test) in enumerate(splits):
        for i, l2 in enumerate(l2s):
            for j, l1 in enumerate(l1s):
                model = AUCClassifier(l2=l2, l1=l1, tol=TOL)
                model.fit(X[train], y[train], None if weights is None else weights[train])
                scores = np.asarray(X[test] @ model.coef_[0]).ravel()
                path[i, j, f] = roc_auc_score(y[test], scores, sample_weight=None if weights is None else weights[test])
    return path


def check(X, y, cv, *, weights=None, groups=None, l2s=L2S, l1s=L1S, atol=1e-6):
    model = AUCClassifierCV(l2s, l1s, cv=cv, tol=TOL).fit(X, y, sample_weight=weights, groups=groups)
    splits = cv if isinstance(cv, list) else list(cv.split(X, y, groups))
    expected = naive_path(X, y, splits, l2s, l1s, weights)
    assert model.auc_path_.shape == (len(l2s), len(l1s), len(splits))
    assert_allclose(model.auc_path_, expected, atol=atol, rtol=0)
    assert model.converged_path_.all()
    assert model.gap_path_.max() <= TOL / 4
    mean = expected.mean(axis=2)
    assert_allclose(model.best_score_, mean.max(), atol=atol)
    final = AUCClassifier(l2=model.l2_, l1=model.l1_, tol=TOL).fit(X, y, weights)
    assert_allclose(model.coef_, final.coef_, rtol=1e-6, atol=1e-9)
    return model


def test_dense_equals_the_naive_computation():
    X, y = make_data(240, 7)
    model = check(X, y, StratifiedKFold(5))
    assert model.solver_ == "moments"
    assert not model.auc_path_[:, 2].any() or np.all(model.auc_path_[:, 2] == 0.5)  # l1 = 50: nothing is left


def test_labels_of_any_type_and_an_integer_cv():
    X, y = make_data(150, 4)
    names = np.where(y == 1, "yes", "no")
    numbers = AUCClassifierCV(L2S, L1S, cv=3, tol=TOL).fit(X, y)
    words = AUCClassifierCV(L2S, L1S, cv=3, tol=TOL).fit(X, names)
    assert_allclose(numbers.auc_path_, words.auc_path_)
    assert words.classes_.tolist() == ["no", "yes"]
    assert_allclose(
        numbers.auc_path_,
        naive_path(X, y, list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y)), L2S, L1S),
        atol=1e-6,
    )


def test_csr_equals_the_naive_computation():
    X, y = make_data(200, 8)
    X[np.abs(X) < 1.0] = 0.0
    check(sparse.csr_array(X), y, StratifiedKFold(4))


def test_weighted_equals_the_naive_computation():
    X, y = make_data(200, 6)
    weights = np.random.default_rng(1).integers(0, 4, 200) * 0.7
    check(X, y, StratifiedKFold(4), weights=weights)


def test_whole_weights_are_repeated_rows():
    X, y = make_data(120, 5)
    times = np.random.default_rng(2).integers(0, 4, 120)
    fold = np.arange(120) % 3
    repeated = np.repeat(np.arange(120), times)
    weighted = AUCClassifierCV(L2S, L1S, cv=PredefinedSplit(fold), tol=TOL).fit(X, y, sample_weight=times)
    copied = AUCClassifierCV(L2S, L1S, cv=PredefinedSplit(fold[repeated]), tol=TOL).fit(X[repeated], y[repeated])
    assert_allclose(weighted.auc_path_, copied.auc_path_, atol=1e-9)


@pytest.mark.parametrize(
    "cv",
    [
        [
            (np.arange(30, 180), np.arange(30)),
            (np.r_[:30, 45:180], np.arange(30, 45)),
            (np.arange(45), np.arange(45, 180)),
        ],
        RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
        ShuffleSplit(3, test_size=0.3, train_size=0.5, random_state=0),
        KFold(4, shuffle=True, random_state=0),
    ],
    ids=["uneven", "repeated", "incomplete", "unstratified"],
)
def test_any_splitter_equals_the_naive_computation(cv):
    X, y = make_data(180, 5)
    check(X, y, cv, l2s=L2S[:3])


def test_splits_may_be_masks_and_draw_rows_twice():
    X, y = make_data(90, 4)
    drawn = np.random.default_rng(0).integers(0, 60, 60)
    cv = [(drawn, np.arange(60, 90))]
    model = check(X, y, cv, l2s=L2S[:3])
    mask = np.arange(90) >= 60
    again = AUCClassifierCV(L2S[:3], L1S, cv=[(drawn, mask)], tol=TOL).fit(X, y)
    assert_allclose(again.auc_path_, model.auc_path_)


def test_groups_stay_together():
    X, y = make_data(200, 5)
    groups = np.random.default_rng(3).integers(0, 12, 200)
    check(X, y, GroupKFold(4), groups=groups, l2s=L2S[:3])


def test_a_fold_with_one_positive():
    X, y = make_data(120, 4)
    X, y = X[np.argsort(-y, kind="stable")], np.sort(y)[::-1]
    one = np.r_[0, 100:110]
    rest = np.setdiff1d(np.arange(120), one)
    check(X, y, [(rest, one), (one, rest)], l2s=L2S[:3])


@pytest.mark.parametrize(("part", "label"), [("training", 1), ("validation", 0)])
def test_a_part_without_a_class_is_named(part, label):
    X, y = make_data(60, 3)
    only, both = np.flatnonzero(y != label), np.arange(60)
    good = (both[::2], both[1::2])
    bad = (only, both) if part == "training" else (both, only)
    with pytest.raises(ValueError, match=rf"Fold 1: its {part} part has no row of class {label}:"):
        AUCClassifierCV(cv=[good, bad]).fit(X, y)
    weights = np.where(y == label, 0.0, 1.0)
    weights[np.flatnonzero(y == label)[0]] = 1.0
    with pytest.raises(ValueError, match=r"Fold \d: its .* part has no row of class .* with positive weight"):
        AUCClassifierCV(cv=2).fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("bad", [[500], [-500], [0.5, 1.0], ["a"], [[0], [1]], 7, None])
def test_rows_that_do_not_exist_are_named(bad):
    X, y = make_data(60, 3)
    good = (np.arange(0, 60, 2), np.arange(1, 60, 2))
    for broken in ((good[0], bad), (bad, good[1])):
        with pytest.raises(ValueError, match=r"Fold 1: .* row numbers"):
            AUCClassifierCV(cv=[good, broken]).fit(X, y)
    not_pairs: tuple[Any, ...] = (3, (good[0],), (*good, good[0]))
    for broken in not_pairs:
        with pytest.raises(ValueError, match=r"Fold 1: .* pair"):
            AUCClassifierCV(cv=[good, broken]).fit(X, y)


def test_products_equal_moments(monkeypatch):
    """The route for many columns, forced on data where both are possible."""
    X, y = make_data(200, 8)
    weights = np.random.default_rng(1).uniform(0, 2, 200)
    drawn = np.random.default_rng(2).integers(0, 150, 150)  # some rows twice
    cv = [*StratifiedKFold(3).split(X, y), (drawn, np.arange(150, 200))]
    expected = AUCClassifierCV(L2S, L1S, cv=cv, tol=TOL).fit(X, y, sample_weight=weights)
    monkeypatch.setattr(sources, "choose_solver", lambda *args, **kwargs: "products")
    for data in (X, sparse.csr_array(X)):
        model = AUCClassifierCV(L2S, L1S, cv=cv, tol=TOL).fit(data, y, sample_weight=weights)
        assert model.solver_ == "products"
        assert not hasattr(model, "moments_")
        assert_allclose(model.auc_path_, expected.auc_path_, atol=1e-6)
        assert_allclose(model.coef_, expected.coef_, rtol=1e-4, atol=1e-6)
        assert model.converged_path_.all()


def test_no_moments_of_an_earlier_fit_are_left(monkeypatch):
    X, y = make_data(100, 3)
    model = AUCClassifierCV([1e-2, 1e-1], cv=3).fit(X, y)
    assert hasattr(model, "moments_")
    monkeypatch.setattr(sources, "choose_solver", lambda *args, **kwargs: "products")
    assert not hasattr(model.fit(X, y), "moments_")


def test_wide_sparse_data_by_products():
    rng = np.random.default_rng(0)
    X = sparse.random_array((120, 2500), density=0.02, rng=rng, format="csr")
    y = (X[:, :10].sum(axis=1) + 0.2 * rng.random(120) > 0.3).astype(int)
    model = check(X, y, StratifiedKFold(3), l2s=[1e-2, 1e-1], l1s=[0.0, 1e-3])
    assert model.solver_ == "products"


def test_float32_is_close_to_float64():
    X, y = make_data(400, 6)
    double = AUCClassifierCV(L2S, L1S, cv=4).fit(X.astype(np.float32).astype(np.float64), y)
    single = AUCClassifierCV(L2S, L1S, cv=4).fit(X.astype(np.float32), y)
    assert_allclose(single.auc_path_, double.auc_path_, atol=2e-3)
    assert_allclose(single.coef_, double.coef_, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("columns", [1, 3, 17])
def test_equal_rows_have_equal_scores(columns, dtype):
    """A product may sum the last few rows in another order; this must not break ties between equal rows."""
    rng = np.random.default_rng(0)
    patterns, coefs = rng.standard_normal((20, 33)).astype(dtype), rng.standard_normal((columns, 33))
    for n in (37, 334, 1003):
        which = rng.integers(0, 20, n)
        positive = rng.random(n) < 0.2 + 0.5 * (which % 3 == 0)
        rows = Rows(patterns[which], positive.astype(int), None)
        source = RowsInMemory(rows, [Split(np.arange(n), np.arange(n))], np.array([0, 1]))
        block = source.held_out({0: coefs})
        aucs = metrics.roc_auc_columns(block.positive, block.scores, block.weights)
        for w, auc in zip(coefs, aucs, strict=True):
            expected = roc_auc_score(positive, (patterns.astype(float) @ w)[which])
            assert auc == pytest.approx(expected, abs=1e-12)


def test_float32_scores_of_coefficients_out_of_its_range():
    X, y = make_data(100, 4)
    X = X.astype(np.float32)
    l2s = [1e20, 1e45, 1e200]  # coefficients of 1e-20, 1e-45 and 1e-200 times those of the class means
    model = check(X, y, StratifiedKFold(3), l2s=l2s, l1s=[0.0])
    assert_allclose(model.auc_path_[1:], model.auc_path_[[0, 0]], atol=1e-6)


def test_blocks_and_lazy_folds_change_nothing(monkeypatch):
    X, y = make_data(300, 6)
    expected = AUCClassifierCV(L2S, L1S, cv=3, tol=TOL).fit(X, y)
    monkeypatch.setattr(sources, "BLOCK_BYTES", 1)
    monkeypatch.setattr(sources, "KEPT_BYTES", 0)
    model = AUCClassifierCV(L2S, L1S, cv=3, tol=TOL, n_jobs=2).fit(X, y)
    assert_allclose(model.auc_path_, expected.auc_path_, atol=1e-9)
    assert_allclose(model.coef_, expected.coef_, atol=1e-9)


def test_a_fold_that_holds_all_the_spread_costs_no_digits():
    """If a column varies by 1e9 in one fold only, total minus that fold leaves only rounding errors."""
    X, y = make_data(150, 4)
    X[:50, 0] *= 1e9
    parts = np.split(np.arange(150), 3)
    splits = [Split(np.setdiff1d(np.arange(150), part), part) for part in parts]
    source = RowsInMemory(Rows(X, y, None), splits, np.array([0, 1]))
    assert source.total == ClassMoments.from_data(X, y)
    for number, (train, _) in enumerate(splits):
        variances = [X[train][y[train] == label].var(axis=0) for label in (0, 1)]
        assert_allclose(source.training_moments(number).within_diagonal, variances[0] + variances[1], rtol=1e-9)


def test_random_state_shuffles_the_folds_of_an_integer():
    X, y = make_data(150, 4)
    shuffled = AUCClassifierCV(L2S, cv=3, random_state=7).fit(X, y)
    given = AUCClassifierCV(L2S, cv=StratifiedKFold(3, shuffle=True, random_state=7)).fit(X, y)
    assert_allclose(shuffled.auc_path_, given.auc_path_)
    assert np.any(shuffled.auc_path_ != AUCClassifierCV(L2S, cv=3).fit(X, y).auc_path_)


def test_auto_grid_spans_eight_decades_of_the_unit():
    X, y = make_data(150, 4)
    model = AUCClassifierCV(cv=3).fit(X, y)
    p = y.mean()
    delta = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    unit = 2 * p * (1 - p) * np.mean(X[y == 1].var(axis=0) + X[y == 0].var(axis=0) + delta**2)
    assert_allclose(model.l2s_[[0, -1]], [1e-6 * unit, 1e2 * unit])
    assert model.l2s_.size == 17


def test_one_standard_error_prefers_the_simpler_model():
    X, y = make_data(300, 10, share=0.2)
    l1s = np.array([0.0, 1e-3, 1e-2, 3e-2])
    best = AUCClassifierCV(l1s=l1s, cv=5).fit(X, y)
    simple = AUCClassifierCV(l1s=l1s, cv=5, selection="one-standard-error").fit(X, y)
    assert (simple.l1_, simple.l2_) > (best.l1_, best.l2_)
    assert np.count_nonzero(simple.coef_) <= np.count_nonzero(best.coef_)
    mean = best.auc_path_.mean(axis=2)
    error = best.auc_path_.std(axis=2, ddof=1)[np.unravel_index(mean.argmax(), mean.shape)] / np.sqrt(5)
    assert mean.max() - error <= simple.best_score_ <= best.best_score_


@pytest.mark.parametrize("kind", ["duplicated", "wide", "unscaled"])
@pytest.mark.parametrize("how", ["moments", "products"])
def test_ill_conditioned_points_are_certified_or_flagged(kind, how, monkeypatch):
    X, y = make_data(90, 8)
    if kind == "duplicated":
        X = np.hstack([X, X, X[:, :2]])
    elif kind == "wide":
        X = np.hstack([X, np.random.default_rng(0).standard_normal((90, 120))])
    else:
        X = X * 10.0 ** np.arange(-4, 4)
    monkeypatch.setattr(sources, "choose_solver", lambda *args, **kwargs: how)
    l2s, l1s = [1e-5, 1e-2, 1.0], [0.0, 1e-5, 1e-2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AUCClassifierCV(l2s, l1s, cv=3).fit(X, y)
    assert np.isfinite(model.auc_path_).all()
    splits = list(StratifiedKFold(3).split(X, y))
    for f, (train, _) in enumerate(splits):
        target = 1e-8 * y[train].mean() * (1 - y[train].mean())
        assert np.array_equal(model.converged_path_[..., f], model.gap_path_[..., f] <= target)
    if how == "moments":
        assert model.converged_path_.all()
    # The certificate is of the solution that was scored: its F cannot be lower than the bound allows.
    moments = ClassMoments.from_data(X[splits[0][0]], y[splits[0][0]])
    for l2 in l2s:
        for l1 in l1s:
            objective = Objective.from_moments(moments, l2, l1)
            reference = AUCClassifier(l2=l2, l1=l1, tol=1e-10, max_iter=20_000).fit_moments(moments)
            found = coef_path(moments, [l2], [l1])[0, 0]
            assert objective.value(found) <= reference.objective_ + 1e-8 * objective.scale


def test_not_converged_warns_and_is_flagged():
    X, y = make_data(200, 30)
    X[:, 15:] = X[:, :15] + 1e-3 * X[:, 15:]
    with pytest.warns(ConvergenceWarning, match=r"\d+ of 12 solutions of the grid were not certified"):
        model = AUCClassifierCV([1e-5, 1e-3], [1e-6, 1e-5], cv=3, tol=1e-13, max_iter=1).fit(X, y)
    assert not model.converged_path_.all()


@pytest.mark.filterwarnings("ignore:Columns have very different scales")
def test_best_point_at_the_edge_warns_which_way_to_extend():
    """With a strong shift along one noisy direction, a smaller l2 is always better, even beyond the end of the grid."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 2
    X = rng.standard_normal((400, 2)) * [100.0, 0.1]
    X[:, 1] += 0.3 * y
    with pytest.warns(UserWarning, match=r"The best l2 is 0.1, the smallest .* add smaller values of l2"):
        AUCClassifierCV([1.0, 0.1, 10.0], cv=4).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "Columns have very different scales")  # on purpose
        AUCClassifierCV([1e-6, 1e-5, 1e-4], cv=4).fit(X, y)  # a plateau
        AUCClassifierCV([10.0], cv=4).fit(X, y)  # no grid


def test_a_model_without_coefficients_says_so():
    X, y = make_data(60, 3)
    with pytest.warns(UserWarning, match="no feature ranks the validation rows better than chance"):
        model = AUCClassifierCV([1.0, 10.0], [50.0, 60.0], cv=3).fit(X, y)
    assert not model.coef_.any()
    assert model.best_score_ == 0.5


@pytest.mark.parametrize("bad", [{"l2s": []}, {"l2s": [-1.0]}, {"l1s": [np.nan]}, {"l1s": [[0.1]]}, {"l2s": ["x"]}])
def test_bad_grids_are_refused(bad):
    X, y = make_data(60, 3)
    with pytest.raises(ValueError, match=next(iter(bad))):
        AUCClassifierCV(**bad).fit(X, y)
    with pytest.raises(ValueError, match=next(iter(bad))):
        coef_path(ClassMoments.from_data(X, y), **{"l2s": [1.0], **bad})


def test_coef_path_is_class_balanced_ridge():
    """An independent oracle for l1 = 0: the same direction as scikit-learn's balanced ridge regression."""
    X, y = make_data(300, 6)
    moments = ClassMoments.from_data(X, y)
    p = moments.p
    l2s = [1e-6, 1e-4, 1e-2, 1.0, 100.0]
    for l2, w in zip(l2s, coef_path(moments, l2s)[:, 0], strict=True):
        ridge = RidgeClassifier(class_weight="balanced", alpha=300 * l2 / (4 * p * (1 - p)), solver="cholesky")
        other = ridge.fit(X, y).coef_.ravel()
        assert_allclose(w / np.linalg.norm(w), other / np.linalg.norm(other), atol=1e-8)


def test_coef_path_meets_the_optimality_conditions():
    X, y = make_data(300, 12)
    moments = ClassMoments.from_data(X, y)
    l1s, l2s = np.array([0.3, 0.003, 0.03]), np.array([1e-2, 1.0])
    coefs = coef_path(moments, l2s, l1s, tol=1e-14)
    k, delta = 2 * moments.p * (1 - moments.p), moments.delta
    H = moments.within + np.outer(delta, delta)
    for i, l2 in enumerate(l2s):
        for j, l1 in enumerate(l1s):
            w = coefs[i, j]
            slope = k * (H @ w - delta) + l2 * w
            assert_allclose(slope[w != 0], -l1 * np.sign(w[w != 0]), atol=1e-6)
            assert np.all(np.abs(slope[w == 0]) <= l1 * (1 + 1e-6))
    assert 0 < np.count_nonzero(coefs[0, 0]) < np.count_nonzero(coefs[0, 1])


def test_the_first_coefficient_appears_below_the_largest_slope_at_zero():
    """At w = 0 the gradient is -k δ: an l1 above its largest entry gives w = 0, a smaller l1 does not."""
    X, y = make_data(200, 5)
    moments = ClassMoments.from_data(X, y)
    largest = 2 * moments.p * (1 - moments.p) * np.abs(moments.delta).max()
    coefs = coef_path(moments, [1e-3, 1.0], [largest, 0.99 * largest, 0.6 * largest])
    assert not coefs[:, 0].any()
    assert (np.count_nonzero(coefs[:, 1], axis=1) == 1).all()
    assert coefs[:, 2].any(axis=1).all()


def test_without_l2_no_gap_is_known_also_where_nothing_is_solved():
    X, y = make_data(100, 3)
    model = AUCClassifierCV([0.0, 1.0], [0.0, 1e3], cv=3).fit(X, y)
    assert np.isnan(model.gap_path_[0]).all()
    assert (model.gap_path_[1] <= 1e-8 * 0.25).all()


def test_coef_path_says_how_many_points_are_not_certified():
    X, y = make_data(100, 6)
    with pytest.warns(ConvergenceWarning, match="2 of 2 solutions"):
        coef_path(ClassMoments.from_data(X, y), [1e-3, 1e-2], [1e-3], tol=0.0, max_iter=1)


def test_products_without_any_penalty_give_the_least_norm_solution_after_others():
    """On a grid a solve starts from its neighbour; after one with l1 > 0 a part in the null space would stay."""
    X, y = make_data(40, 5)
    X = np.hstack([X, 3.0 * X[:, :2]])
    moments = ClassMoments.from_data(X, y)
    start = SquaredPairLoss.from_rows(X, y == 1, None, moments)
    grid = solve_grid(start, np.array([0.0]), np.array([0.0, 0.02]), tol=1e-12, max_iter=1000)
    assert np.count_nonzero(grid.coefs[0, 1]) < 7  # sparse, and so not in the span of the rows
    pairs = (X[y == 1][:, None] - X[y == 0][None]).reshape(-1, 7)
    assert_allclose(grid.coefs[0, 0], np.linalg.pinv(pairs) @ np.ones(len(pairs)), atol=1e-6)


def test_coef_path_without_any_penalty_is_the_least_norm_solution():
    X, y = make_data(40, 5)
    X = np.hstack([X, X[:, :2]])
    moments = ClassMoments.from_data(X, y)
    H = moments.within + np.outer(moments.delta, moments.delta)
    assert_allclose(coef_path(moments, [0.0])[0, 0], np.linalg.pinv(H) @ moments.delta, atol=1e-8)


def test_coef_path_needs_moments():
    X, y = make_data(40, 3)
    with pytest.raises(ValueError, match="takes a ClassMoments"):
        coef_path(X, [1.0])
    with pytest.raises(ValueError, match="scatter=False"):
        coef_path(ClassMoments.from_data(X, y, scatter=False), [1.0])
    for bad in ({"tol": -1.0}, {"tol": np.nan}, {"max_iter": 0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            coef_path(ClassMoments.from_data(X, y), [1.0], **bad)


@pytest.mark.parametrize("how", ["moments", "products"])
@pytest.mark.parametrize("l1s", [[0.0], [0.0, 1e-3]])
def test_float32_rows_are_certified_on_the_whole_grid(how, l1s, monkeypatch, recwarn):
    """The smallest penalties of the automatic grid are below what products in float32 can resolve."""
    monkeypatch.setattr(sources, "choose_solver", lambda *args, **kwargs: how)
    X, y = make_data(300, 8)
    X = X.astype(np.float32)
    model = AUCClassifierCV(l1s=l1s, cv=3).fit(X, y)
    exact = AUCClassifierCV(l1s=l1s, cv=3, l2s=model.l2s_).fit(X.astype(np.float64), y)
    assert model.converged_path_.all()
    assert not [w for w in recwarn if issubclass(w.category, ConvergenceWarning)]
    assert np.allclose(model.coef_, exact.coef_, rtol=1e-3, atol=1e-6)
