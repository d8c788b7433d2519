"""The AUC corrected for the choice: against pairs, draws made by hand, data whose AUC is known, and invariances."""

import warnings

import numpy as np
import pytest
from helpers import pairwise_auc
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import (
    GroupKFold,
    PredefinedSplit,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)

from vrspam import AUCClassifierCV, HashFolds
from vrspam._utils.warnings import NoCorrection
from vrspam.metrics import correction, logit_interval, newcombe_interval, roc_auc_ci, roc_auc_columns
from vrspam.metrics.correction import TwoClassMeasure, corrected_choice, draw_sample, measure_folds, placements
from vrspam.model_selection.compare import Comparison
from vrspam.model_selection.correction import correct
from vrspam.model_selection.selection import Points, choose

WEIGHTS = np.array([0.5, 1.0, 2.0, 3.0])
MANY = 10**9  # training rows beside which those held out do not count


def make_data(n, d, share=0.3, seed=0):
    """Rows whose classes overlap: the best AUC is about .8."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) < round(share * n)).astype(int)
    return rng.standard_normal((n, d)) + 1.2 / np.sqrt(d) * y[:, np.newaxis], y


def in_folds(n, folds):
    return [np.arange(k, n, folds) for k in range(folds)]


def problem(n=60, points=5, folds=3, seed=0, trained=None, weights=None, groups=None, shift=0.5):
    """Scores that are given, not fitted: the sample, its scores, the grid."""
    rng = np.random.default_rng(seed)
    positive = np.arange(n) // folds % 3 == 0  # a third of each fold
    values = rng.standard_normal((points, n)) + shift * positive
    parts = in_folds(n, folds)
    rows = draw_sample(parts, [trained or n - part.size for part in parts], positive, weights, groups, points, seed)
    scores = values[:, rows.rows].T
    aucs = [
        roc_auc_columns(positive[part], values[:, part].T, None if weights is None else weights[part]) for part in parts
    ]
    axes = {"l2": np.arange(float(points)), "l1": np.zeros(1)}
    return rows, scores, Points.of([(np.stack(aucs, axis=1)[:, np.newaxis], axes)])


def listen(monkeypatch):
    """A list to which each fit adds its choice, and the rows whose scores it kept."""
    seen, plain = [], Comparison.corrected

    def corrected_too(found, rows, *rest, **more):
        seen.append((found, rows))
        return plain(found, rows, *rest, **more)

    monkeypatch.setattr(Comparison, "corrected", corrected_too)
    return seen


def pair(a, b):
    return 1.0 if a > b else 0.5 if a == b else 0.0


@pytest.mark.parametrize("weighted", [False, True])
def test_placements_are_counts_of_pairs(weighted):
    rng = np.random.default_rng(0)
    scores, positive = rng.integers(0, 6, (3, 25)).astype(float), rng.permutation(np.arange(25) < 9)
    weights = rng.choice(WEIGHTS, 25) if weighted else np.ones(25)
    found = placements(positive, scores, weights)
    for line, values in zip(found, scores, strict=True):
        for i in range(25):
            others = [j for j in range(25) if positive[j] != positive[i]]
            sign = 1.0 if positive[i] else -1.0
            wins = [weights[j] * pair(sign * values[i], sign * values[j]) for j in others]
            assert line[i] == pytest.approx(sum(wins) / weights[others].sum(), abs=1e-14)


def test_influences_give_delongs_error():
    rows, scores, _ = problem(n=200, folds=1, shift=1.0, trained=MANY)
    for moves, line in zip(measure_folds(rows, TwoClassMeasure(rows), scores.T)[1], scores.T, strict=True):
        expected = roc_auc_ci(rows.positive, line).standard_error
        assert np.linalg.norm(moves) == pytest.approx(expected, rel=1e-12)
        assert correction.standard_error(rows, moves) == pytest.approx(expected, rel=1e-12)


def test_influences_say_how_the_auc_moves():
    """While one class keeps its total weight, the AUC is a linear function of the weights in it."""
    rows, scores, _ = problem(n=80, folds=1, trained=MANY)
    weights = np.ones(80)
    up = np.flatnonzero(rows.positive)
    weights[up[:5]], weights[up[5:10]] = 2.0, 0.0
    moved = measure_folds(rows, TwoClassMeasure(rows), scores.T)[1] @ (weights - 1.0) / np.sqrt(up.size / (up.size - 1))
    for line, move in zip(scores.T, moved, strict=True):
        exact = pairwise_auc(rows.positive, line, weights) - pairwise_auc(rows.positive, line)
        assert move == pytest.approx(exact, abs=1e-14)


@pytest.mark.parametrize("selection", ["best", "one-standard-error"])
@pytest.mark.parametrize("grouped", [False, True])
def test_draws_by_hand(selection, grouped):
    """The same draws in plain loops over pairs: choose on the rows drawn, compare on the rows left out."""
    groups = np.arange(36) // 2 if grouped else None
    rows, scores, grid = problem(n=36, points=4, folds=3, seed=4, groups=groups)
    change = np.random.default_rng(7).random((rows.n_units, 400)) < 0.25

    def auc_after(positive, line, weights):
        """First-order AUC: every row moves it by the surplus of its own pairs, over the rows of its class."""
        up, down = np.flatnonzero(positive), np.flatnonzero(~positive)
        table = np.array([[pair(line[i], line[j]) for j in down] for i in up])
        total = table.mean()
        for k, i in enumerate(up):
            total += (weights[i] - 1.0) * (table[k].mean() - table.mean()) / np.sqrt(up.size * (up.size - 1))
        for k, j in enumerate(down):
            total += (weights[j] - 1.0) * (table[:, k].mean() - table.mean()) / np.sqrt(down.size * (down.size - 1))
        return total

    def at(point, weights):
        return [auc_after(rows.positive[part], scores[part, point], weights[part]) for part in rows.parts]

    def choose(weights):
        aucs = np.array([at(point, weights) for point in range(4)])
        best = int(aucs.mean(axis=1).argmax())
        if selection == "best":
            return best
        least = aucs[best].mean() - aucs[best].std(ddof=1) / np.sqrt(3)
        return max(np.flatnonzero(aucs.mean(axis=1) >= least))  # the largest l2

    everything = choose(np.ones(36))
    lead, of_taken = 0.0, []
    for draw in range(400):
        left_out = change[rows.unit, draw]
        taken = choose(np.where(left_out, 0.0, 4 / 3))
        # a quarter of the rows, four times their weight; the surplus over 1 counts 3/2-fold with three folds
        weights = 1.0 + 1.5 * (np.where(left_out, 4.0, 0.0) - 1.0)
        lead += np.mean(at(everything, weights)) - np.mean(at(taken, weights))
        of_taken.append(grid.measured[taken].mean())
    expected = grid.measured[everything].mean() - lead / 400
    found = correct(rows, scores, grid, selection, 7)
    assert found.auc == pytest.approx(expected, abs=1e-12)
    assert lead != 0.0
    error = correction.standard_error(rows, measure_folds(rows, TwoClassMeasure(rows), scores[:, [everything]].T)[1][0])
    widened = np.sqrt(1 + 3 / 2 + 3 * np.var(of_taken) / error**2)  # sets of rows vary three times as much as the draws
    interval = newcombe_interval(found.auc, error, rows.totals, widened=widened)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), abs=1e-12)


def test_one_point_leaves_nothing_to_correct():
    X, y = make_data(1400, 4, share=0.5, seed=2)
    folds = StratifiedKFold(4)
    model = AUCClassifierCV([0.1], cv=folds).fit(X, y)
    assert model.corrected_score_ == pytest.approx(model.best_score_, abs=1e-15)
    models = [AUCClassifierCV([0.1]).fit(X[train], y[train]) for train, _ in folds.split(X, y)]
    errors: list[float] = []
    correlations: list[float] = []
    for number, (_, held_out) in enumerate(folds.split(X, y)):
        scores = np.array([fitted.decision_function(X[held_out]) for fitted in models])
        errors.append(roc_auc_ci(y[held_out], scores[number]).standard_error)
        for side in (0, 1):
            scores[:, y[held_out] == side] -= scores[:, y[held_out] == side].mean(axis=1, keepdims=True)
        correlations.extend(np.delete(np.corrcoef(scores)[number], number))
    delong = np.linalg.norm(errors) / 4
    stable = (np.mean(correlations) - 2 / 3) / (1 - 2 / 3)  # two of four folds have two thirds of their rows in common
    assert 0.5 < stable < 1.0
    expected = logit_interval(model.best_score_, delong * np.sqrt(1 + (1 - stable) * 4 / 3), 700)
    assert model.corrected_interval_ == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_an_interval_of_few_rows_is_newcombes():
    rows, scores, grid = problem(n=90, points=1, shift=1.0)
    found = correct(rows, scores, grid, "best", 0)
    errors = [roc_auc_ci(rows.positive[part], scores[part, 0], method="logit").standard_error for part in rows.parts]
    expected = newcombe_interval(
        grid.measured.mean(), float(np.linalg.norm(errors)) / 3, (60, 30), widened=np.sqrt(1 + 3 / 2)
    )
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert newcombe_interval(0.8, 0.05, (60, 30)).low == roc_auc_ci_low(0.8, 0.05)


def roc_auc_ci_low(auc, error):
    """The lower end from its equation, by bisection: auc - A = z √v(A), v raised to the error."""

    def variance(a):
        return a * (1 - a) * (1 + 44 * ((1 - a) / (2 - a) + a / (1 + a))) / 1800

    low, high = 0.0, auc
    for _ in range(200):
        middle = (low + high) / 2
        reached = (auc - middle) ** 2 <= 1.959963984540054**2 * variance(middle) * max(1, error**2 / variance(auc))
        low, high = (low, middle) if reached else (middle, high)
    return pytest.approx(low, abs=1e-12)


def test_scores_that_nobody_fitted_are_corrected_without_bias():
    """Thirty scores that know nothing: the best looks far better than .5, and the corrected one is .5 on average."""
    found, before = [], []
    for seed in range(300):
        rows, scores, grid = problem(n=90, points=30, folds=5, seed=seed, trained=MANY, shift=0.0)
        found.append(correct(rows, scores, grid, "best", seed).auc)
        before.append(grid.measured.mean(axis=1).max())
    assert np.mean(before) > 0.6
    assert abs(np.mean(found) - 0.5) < 4 * np.std(found) / np.sqrt(300)


def test_noise_is_seen_as_noise():
    """Fits of labels that do not depend on the columns: mean .5 within its Monte-Carlo error, and in the intervals."""
    found, covered = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((120, 6)), rng.permutation(np.arange(120) < 36)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = AUCClassifierCV(random_state=seed).fit(X, y)
        assert model.corrected_score_ <= model.best_score_ + 1e-12
        found.append(model.corrected_score_)
        covered.append(model.corrected_interval_[0] <= 0.5 <= model.corrected_interval_[1])
    assert abs(np.mean(found) - 0.5) < 3.5 * np.std(found) / np.sqrt(60)
    assert np.sum(covered) >= 51  # fewer have probability .01 if they cover 92 %


@pytest.mark.parametrize("selection", ["best", "one-standard-error"])
def test_without_draws_the_choice_is_that_of_the_fit(monkeypatch, selection):
    seen = listen(monkeypatch)
    for seed in range(6):
        X, y = make_data(90, 3, seed=seed)
        grid = {"l2s": [1.0, 1e-3, 10.0], "l1s": [0.1, 0.0, 0.01]}
        for features in ("linear", ["standardized", "additive"]):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                AUCClassifierCV(**grid, features=features, selection=selection, random_state=seed).fit(X, y)
            found, _ = seen.pop()
            points = Points.of([(each.scores.auc, each.scores.grid) for each in found.candidates])
            chosen = choose(points.of_draw(), points, selection).argmax()
            which, point = divmod(int(chosen), 9)
            assert found.candidates[which].name == found.chosen.name
            assert np.unravel_index(point, (3, 3)) == found.chosen.choice.index


def test_ranks_alone_matter():
    rows, scores, grid = problem()
    same = correct(rows, np.exp(3.0 * scores), grid, "best", 0)
    assert same == correct(rows, scores, grid, "best", 0)
    assert correct(rows, scores, grid, "best", 1) != same  # another seed, other draws


def test_weights_count_as_rows():
    """Rows of weight 3 are groups of three equal rows; a weight that all share changes nothing."""
    n, rng = 240, np.random.default_rng(3)
    weights = rng.choice([1.0, 3.0], n)
    rows, scores, grid = problem(n, weights=weights)
    found = correct(rows, scores, grid, "best", 0)
    rows_2, scores_2, grid_2 = problem(n, weights=2.0 * weights)
    twice = correct(rows_2, scores_2, grid_2, "best", 0)
    assert (twice.auc, twice.low) == pytest.approx((found.auc, found.low), abs=1e-12)
    alike, plain = ([*problem(n, weights=given)] for given in (np.full(n, 2.0), None))
    assert correct(alike[0], alike[1], alike[2], "best", 0) == correct(plain[0], plain[1], plain[2], "best", 0)
    positive, values = np.empty(n, dtype=bool), np.empty((5, n))
    positive[rows.rows], values[:, rows.rows] = rows.positive, scores.T
    original = np.repeat(np.arange(n), weights.astype(int))
    parts = [np.flatnonzero(original % 3 == k) for k in range(3)]
    trained = [original.size - part.size for part in parts]
    repeated = draw_sample(parts, trained, positive[original], None, original, 5, 0)
    again = correct(repeated, values[:, original[repeated.rows]].T, grid, "best", 0)
    assert again.auc == pytest.approx(found.auc, abs=2e-3)
    assert again.high - again.low == pytest.approx(found.high - found.low, rel=0.03)


def test_rows_of_a_group_vary_together():
    rng = np.random.default_rng(0)
    X, y = make_data(150, 4, seed=5)
    four, groups = np.repeat(np.arange(150), 4), np.repeat(np.arange(150), 4)
    X4, y4 = X[four] + 1e-9 * rng.standard_normal((600, 4)), y[four]
    folds = GroupKFold(5)
    known = AUCClassifierCV(cv=folds).fit(X4, y4, groups=groups)
    unknown = AUCClassifierCV(cv=list(folds.split(X4, y4, groups))).fit(X4, y4)
    assert known.best_score_ == unknown.best_score_
    width, narrow = (high - low for low, high in (known.corrected_interval_, unknown.corrected_interval_))
    assert width == pytest.approx(2.0 * narrow, rel=0.1)
    assert known.corrected_score_ != unknown.corrected_score_


def test_folds_that_look_forward_use_the_rows_they_score(monkeypatch):
    seen = listen(monkeypatch)
    X, y = make_data(240, 4, seed=1)
    model = AUCClassifierCV(cv=TimeSeriesSplit(5)).fit(X, y)
    ((_, rows),) = seen
    assert sum(rows.totals) == 200
    assert rows.widening() == pytest.approx(np.sqrt(1 + 5 * np.mean([1 / k for k in range(1, 6)])))
    assert model.corrected_interval_[0] < model.corrected_score_ <= model.best_score_
    one = AUCClassifierCV(cv=PredefinedSplit(np.repeat([-1, 0], [160, 80]))).fit(X, y)  # a single validation part
    assert one.corrected_interval_[0] < one.corrected_score_ <= one.best_score_


def test_folds_held_out_twice_tell_nothing_new():
    X, y = make_data(150, 4, seed=1)
    splits = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    once, twice = AUCClassifierCV(cv=splits).fit(X, y), AUCClassifierCV(cv=splits * 2).fit(X, y)
    assert twice.corrected_score_ == pytest.approx(once.corrected_score_, abs=1e-12)
    assert twice.corrected_interval_ == pytest.approx(once.corrected_interval_, abs=1e-12)
    many = AUCClassifierCV(cv=RepeatedStratifiedKFold(n_splits=5, n_repeats=4, random_state=0)).fit(X, y)
    width, first = (high - low for low, high in (many.corrected_interval_, once.corrected_interval_))
    assert 0.7 < width / first < 1.1


def test_folds_with_one_positive_row_cannot_be_corrected():
    X, y = make_data(60, 3, seed=0)
    y[:] = 0
    y[:3] = 1
    with pytest.warns(NoCorrection, match="no fold holds out two rows of each class"):
        model = AUCClassifierCV(cv=3).fit(X, y)
    assert np.isnan([model.corrected_score_, *model.corrected_interval_]).all()
    assert 0.0 <= model.best_score_ <= 1.0
    y[3:6] = 1
    splits = [(np.arange(60) % 3 != k, np.arange(60) % 3 == k) for k in range(3)]
    y[[3, 4, 5]], y[[6, 9]] = 0, 1  # three positive rows in the first fold, one in each of the others
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AUCClassifierCV([0.1, 1.0], cv=splits).fit(X, y)
    assert model.corrected_interval_[0] <= model.corrected_score_ <= model.corrected_interval_[1]


def test_perfect_ranking_is_not_certainty():
    y = np.repeat([0, 1], 40)
    model = AUCClassifierCV(random_state=0).fit(y[:, np.newaxis] + np.linspace(0, 0.1, 80)[:, np.newaxis], y)
    assert model.corrected_score_ == 1.0
    low, high = model.corrected_interval_
    assert 0.8 < low < 0.97
    assert high == 1.0


def test_a_sample_of_rows_gives_the_error_of_all(monkeypatch):
    X, y = make_data(9000, 4, share=0.1, seed=1)
    seen = listen(monkeypatch)
    some = AUCClassifierCV().fit(X, y)
    monkeypatch.setattr(correction, "MOST_ROWS", 50_000)
    whole = AUCClassifierCV().fit(X, y)
    assert [int(rows.positive.sum()) for _, rows in seen] == [900, 900]
    assert [rows.positive.size for _, rows in seen] == [2000, 9000]
    assert some.corrected_score_ == pytest.approx(whole.corrected_score_, abs=1e-3)
    assert some.corrected_interval_ == pytest.approx(whole.corrected_interval_, abs=3e-3)
    monkeypatch.setattr(correction, "MOST_ROWS", 2000)
    monkeypatch.setattr(correction, "MOST_VALUES", 17 * 1000)
    assert AUCClassifierCV().fit(X, y).corrected_interval_ == pytest.approx(whole.corrected_interval_, abs=6e-3)
    assert seen[-1][1].positive.size == 1000


@pytest.mark.parametrize("balanced", [True, False])
def test_whole_groups_are_kept(balanced):
    positive = np.arange(6000) % (2 if balanced else 30) == 0
    groups = np.arange(6000) // 10
    rows = draw_sample(in_folds(6000, 4), [4500] * 4, positive, None, groups, 17, 0)
    kept = rows.rows
    for number, part in enumerate(in_folds(6000, 4)):
        np.testing.assert_array_equal(part[rows.places[rows.parts[number]]], kept[rows.parts[number]])
    assert 1900 <= kept.size <= 2000
    assert np.all(np.bincount(groups[kept])[np.unique(groups[kept])] == 10)
    assert rows.n_units == kept.size // 10


def test_groups_may_be_named_by_anything():
    X, y = make_data(100, 3, seed=0)
    numbers = np.arange(100) // 2
    named = np.array([(0,) if k == 0 else f"person {k}" if k % 2 else k for k in numbers.tolist()], dtype=object)
    splits = list(StratifiedKFold(3).split(X, y))
    models = [AUCClassifierCV(cv=splits).fit(X, y, groups=groups) for groups in (numbers, named, list(numbers))]
    assert len({model.corrected_interval_ for model in models}) == 1
    with pytest.raises(ValueError, match=r"groups has shape \(99,\); it needs one label for each of 100 rows"):
        AUCClassifierCV(cv=splits).fit(X, y, groups=numbers[:99])
    for missing in ([None, None, *named[2:]], [np.nan, np.nan, *numbers[2:]]):
        with pytest.raises(ValueError, match="groups is missing in 2 rows; leave them out, or give each a group"):
            AUCClassifierCV(cv=splits).fit(X, y, groups=missing)


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_the_size_of_weights_does_not_matter(size):
    rows, scores, grid = problem(weights=np.full(60, size))
    plain, expected_scores, _ = problem()
    assert correct(rows, scores, grid, "best", 0) == correct(plain, expected_scores, grid, "best", 0)


def test_draws_come_from_random_state_alone():
    X, y = make_data(100, 3, seed=0)
    first, second = (AUCClassifierCV().fit(X, y) for _ in range(2))
    assert (first.corrected_score_, first.corrected_interval_) == (second.corrected_score_, second.corrected_interval_)
    for state in (3, np.random.RandomState(3)):
        model = AUCClassifierCV(features="additive", random_state=state)
        again = clone(model)
        assert model.fit(X, y).corrected_score_ == again.fit(X, y).corrected_score_
    with pytest.raises((AttributeError, NotFittedError)):
        AUCClassifierCV().corrected_score_  # noqa: B018


@pytest.mark.parametrize("weighted", [False, True])
def test_a_stream_is_corrected_like_rows_in_memory(weighted):
    X, y = make_data(600, 4, seed=6)
    weights = np.random.default_rng(0).choice(WEIGHTS, 600) if weighted else np.ones(600)
    blocks = [(X[a : a + 100], y[a : a + 100], weights[a : a + 100]) for a in range(0, 600, 100)]
    streamed = AUCClassifierCV().fit_stream(blocks)
    whole = AUCClassifierCV(cv=HashFolds(5)).fit(X, y, sample_weight=weights)
    assert streamed.best_score_ == pytest.approx(whole.best_score_, abs=1e-9)
    assert streamed.corrected_score_ == pytest.approx(whole.corrected_score_, abs=3e-3)  # other draws
    assert streamed.corrected_interval_ == pytest.approx(whole.corrected_interval_, abs=5e-3)


def test_a_blend_is_scored_as_the_mixture_of_its_points():
    rows, scores, grid = problem(n=90, points=4, shift=1.0)
    mixture, aucs, errors = np.array([0.5, 0.0, 0.3, 0.2]), [], []
    for part in rows.parts:
        blended, positive = scores[part] @ mixture, rows.positive[part]
        aucs.append(pairwise_auc(positive, blended))
        errors.append(roc_auc_ci(positive, blended).standard_error)

    def always_the_same(measured):
        return np.tile(mixture[:, np.newaxis], measured.shape[2])

    def towards_the_best(measured):
        shares = np.exp(40.0 * measured.mean(axis=1))
        return shares / shares.sum(axis=0)

    same = corrected_choice(rows, scores, grid.measured, always_the_same, mixed=True)
    assert same.auc == pytest.approx(np.mean(aucs), abs=1e-14)
    assert same.optimism == pytest.approx(0.0, abs=1e-15)
    # nothing varies from draw to draw: the interval is that of the mean of the folds
    expected = newcombe_interval(same.auc, float(np.linalg.norm(errors)) / 3, rows.totals, widened=rows.widening())
    assert (same.low, same.high) == pytest.approx((expected.low, expected.high), abs=1e-10)
    assert 0.0 < corrected_choice(rows, scores, grid.measured, towards_the_best, mixed=True).optimism < 0.2


@pytest.mark.parametrize("names", [[3, -1, 3, 7, -1, 0], [True, False, False, True], np.array([255, 0, 255], np.uint8)])
def test_groups_named_by_integers_have_the_numbers_of_any_names(names):
    """In order of appearance; draws of groups go by these numbers."""
    names = np.asarray(names)
    seen = list(dict.fromkeys(names.tolist()))
    found = correction.group_numbers(names, names.size)
    assert found.tolist() == [seen.index(name) for name in names.tolist()]
    assert correction.group_numbers(names.astype(object), names.size).tolist() == found.tolist()
    assert correction.group_numbers(np.empty(0, dtype=names.dtype), 0).size == 0
