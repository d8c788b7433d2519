"""The concordance index against its definition over all pairs, scikit-survival, and rows left out one by one."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from vrspam.metrics import concordance_index, concordance_index_ci, concordance_test, roc_auc, roc_auc_ci
from vrspam.metrics.concordance import ComparablePairs, kaplan_meier


def comparable(y, event, strata):
    """Which pairs (i, j) count, with i above: the definition, pair by pair."""
    n = len(y)
    found = np.zeros((n, n), dtype=bool)
    for i in range(n):
        for j in range(n):
            if strata[i] != strata[j]:
                continue
            if event is None:
                found[i, j] = y[i] > y[j]
            else:
                found[i, j] = event[i] and (y[i] < y[j] or (y[i] == y[j] and not event[j]))
    return found


def over_pairs(y, score, event, strata, weight, upper=None, strata_weight="pairs"):
    """The index as a sum over all pairs; NaN without any."""
    upper = np.ones(len(y)) if upper is None else upper
    pairs = comparable(y, event, strata) * np.outer(weight * upper, weight)
    if strata_weight == "strata":
        for name in np.unique(strata):
            inside = strata == name
            total = pairs[np.ix_(inside, inside)].sum()
            pairs[np.ix_(inside, inside)] /= total if total else 1.0
    order = (score[:, None] > score) + 0.5 * (score[:, None] == score)
    return (pairs * order).sum() / pairs.sum() if pairs.sum() else np.nan


def counted_twice(y, score, event, strata, weight):
    """What all pairs add to the squared error by themselves, each once: leaving out rows counts it with either row."""
    pairs = comparable(y, event, strata) * np.outer(weight, weight)
    order = (score[:, None] > score) + 0.5 * (score[:, None] == score)
    c = (pairs * order).sum() / pairs.sum()
    return ((pairs * (order - c)) ** 2).sum() / pairs.sum() ** 2


def problem(seed):
    """Few values, so that scores and times have ties; strata of any size, weights of which some are 0."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 50))
    y = rng.integers(0, rng.integers(2, 30), n).astype(float)
    event = None if seed % 4 == 0 else rng.random(n) < rng.uniform(0.2, 0.9)
    strata = rng.integers(0, rng.integers(1, 8), n)
    weight = np.ones(n) if seed % 3 == 0 else rng.choice([0.0, 0.5, 1.0, 2.7], n)
    return y, rng.integers(0, rng.integers(2, 40), n).astype(float), event, strata, weight


@pytest.mark.parametrize("strata_weight", ["pairs", "strata"])
def test_equals_the_sum_over_all_pairs(strata_weight):
    checked = 0
    for seed in range(250):
        y, score, event, strata, weight = problem(seed)
        expected = over_pairs(y, score, event, strata, weight, strata_weight=strata_weight)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            found = concordance_index(
                y, score, event=event, strata=strata, sample_weight=weight, strata_weight=strata_weight
            )
        assert found == pytest.approx(expected, abs=1e-12, nan_ok=True), seed
        checked += not np.isnan(expected)
    assert checked > 200


@pytest.mark.parametrize("by", ["rows", "groups", "strata"])
def test_jackknife_is_that_of_leaving_out(by):
    """The error is that of the index computed anew without each row, less what counts twice, or group or stratum."""
    for seed in range(3, 60, 4):
        y, score, event, strata, weight = problem(seed)
        rng = np.random.default_rng(seed)
        if by == "strata":  # many enough to be the units
            strata = np.arange(y.size) // 2
            y, score = np.tile([2.0, 1.0], y.size)[: y.size], score
            event = None
        groups = rng.integers(0, 6, y.size)
        units = {"rows": np.arange(y.size), "groups": groups, "strata": strata}[by]
        units = np.where(weight > 0.0, units, -1)
        if by == "strata" and np.unique(units).size < 30:
            continue
        given = {"event": event, "strata": strata, "sample_weight": weight}
        whole = over_pairs(y, score, event, strata, weight)
        without = []
        for unit in np.setdiff1d(units, [-1]):
            rest = np.where(units == unit, 0.0, weight)
            without.append(over_pairs(y, score, event, strata, rest))
        if np.isnan([whole, *without]).any():
            continue
        K = len(without)
        squared = (K - 1) * np.var(without)
        twice = counted_twice(y, score, event, strata, weight) if by == "rows" and np.ptp(strata) else 0.0
        error = np.sqrt(max(squared - twice, 0.5 * squared))
        found = concordance_index_ci(y, score, **given, groups=groups if by == "groups" else None)
        assert found.auc == pytest.approx(whole, abs=1e-12)
        assert found.standard_error == pytest.approx(error, rel=1e-9, abs=1e-12), seed


def test_labels_give_the_auc_and_delongs_error():
    rng = np.random.default_rng(0)
    y, score = rng.random(600) < 0.3, rng.standard_normal(600).round(1)
    score = score + y
    weight = rng.uniform(0.5, 2.0, 600)
    assert concordance_index(y.astype(int), score) == roc_auc(y, score)
    assert concordance_index(y.astype(int), score, sample_weight=weight) == pytest.approx(
        roc_auc(y, score, sample_weight=weight), abs=1e-14
    )
    ours, delong = concordance_index_ci(y.astype(int), score), roc_auc_ci(y, score)
    assert ours.standard_error == pytest.approx(delong.standard_error, rel=0.01)


def survival(n=300, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    time = np.ceil(10 * rng.standard_exponential(n) * np.exp(-x))
    stop = np.ceil(12 * rng.standard_exponential(n)) + 0.5 * (rng.random(n) < 0.5)
    return np.minimum(time, stop), time <= stop, (x + 0.3 * rng.standard_normal(n)).round(1)


def test_scikit_survival():
    """Ties of scores and of times, Harrell's and Uno's index: the numbers of scikit-survival."""
    metrics = pytest.importorskip("sksurv.metrics")
    from sksurv.nonparametric import kaplan_meier_estimator
    from sksurv.util import Surv

    for seed in range(20):
        time, event, score = survival(seed=seed)
        y = Surv.from_arrays(event, time)
        expected = metrics.concordance_index_censored(event, time, score)[0]
        assert concordance_index(time, score, event=event) == pytest.approx(expected, abs=1e-13)
        assert concordance_index(y, score) == pytest.approx(expected, abs=1e-13)
        expected = metrics.concordance_index_ipcw(y, y, score, tau=20.0)[0]
        found = concordance_index(time, score, event=event, weights="uno", tau=20.0)
        assert found == pytest.approx(expected, abs=1e-13)
        for censoring in (False, True):
            times, free = kaplan_meier_estimator(event, time, reverse=censoring)
            own = kaplan_meier(time, event, censoring=censoring)
            np.testing.assert_array_equal(own[0], times)
            np.testing.assert_allclose(own[1], free, atol=1e-13)


def test_numbers_of_scikit_survival_0_28():
    """The same without the package: what it printed for these rows."""
    time, event, score = survival(n=40, seed=5)
    assert concordance_index(time, score, event=event) == pytest.approx(0.8125, abs=1e-12)
    uno = concordance_index(time, score, event=event, weights="uno", tau=20.0)
    assert uno == pytest.approx(0.8201086008407952, abs=1e-12)


def test_uno_error_counts_the_estimated_weights():
    """The jackknife of Uno's index, weights estimated anew without each row."""
    time, event, score = survival(n=150, seed=3)
    given: dict[str, Any] = {"event": event, "weights": "uno", "tau": 20.0}
    without = []
    for row in range(time.size):
        rest = np.delete(np.arange(time.size), row)
        without.append(concordance_index(time[rest], score[rest], **{**given, "event": event[rest]}))
    expected = np.sqrt((time.size - 1) * np.var(without))
    found = concordance_index_ci(time, score, **given)
    assert found.standard_error == pytest.approx(expected, rel=0.03)


def test_error_inside_few_small_strata_is_that_of_repeated_draws():
    """In small strata a pair varies much by itself: counted twice, the error would be a third too large."""
    rng, drawn, told = np.random.default_rng(4), [], []
    strata = np.arange(40) // 4
    for _ in range(600):
        x = rng.standard_normal(40)
        found = concordance_index_ci(x + rng.standard_normal(40), x, strata=strata)
        drawn.append(found.auc)
        told.append(found.standard_error**2)
    assert np.sqrt(np.mean(told)) == pytest.approx(np.std(drawn), rel=0.1)


def test_paired_test():
    """Two scores of the same rows: the error of the difference is that of leaving out rows; a score equals itself."""
    time, event, score = survival(n=80)
    other = score + np.random.default_rng(8).standard_normal(score.size)
    found = concordance_test(time, score, other, event=event)
    rows = np.arange(time.size)
    without = [
        concordance_index(time[rest], score[rest], event=event[rest])
        - concordance_index(time[rest], other[rest], event=event[rest])
        for rest in (rows != row for row in rows)
    ]
    assert found.standard_error == pytest.approx(np.sqrt((rows.size - 1) * np.var(without)), rel=1e-9)
    assert found.difference == pytest.approx(found.auc_a - found.auc_b, abs=1e-15)
    same = concordance_test(time, score, score, event=event)
    assert (same.difference, same.p_value) == (0.0, 1.0)


def test_a_perfect_score_is_not_certain():
    time = np.arange(1.0, 21.0)
    found = concordance_index_ci(time, -time, event=np.ones(20, dtype=bool))
    assert found.auc == found.high == 1.0
    assert 0.5 < found.low < 0.95


def test_a_million_rows_need_no_array_of_pairs():
    rng = np.random.default_rng(0)
    time, event, score = rng.random(200_000), rng.random(200_000) < 0.5, rng.random(200_000)
    assert concordance_index(time, score, event=event) == pytest.approx(0.5, abs=0.01)
    pairs = ComparablePairs.of(time, event, np.arange(200_000) // 2)
    assert pairs.concordance(-time) == 1.0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"event": [True, False]}, "one value for each of 3 rows"),
        ({"event": [0, 1, 2]}, "True or 1"),
        ({"strata": ["a", None, "b"]}, "strata is missing in 1 rows"),
        ({"weights": "harrell"}, 'must be "uno" or None'),
        ({"tau": 3.0}, "tau applies only"),
        ({"weights": "uno"}, "needs event"),
        ({"event": [True, True, False], "weights": "uno", "y": [1.0, 2.0, 2.0]}, "give tau"),
        ({"strata_weight": "rows"}, 'must be "pairs" or "strata"'),
        ({"y": ["a", "b", "c"]}, "real numbers"),
        ({"y": np.zeros(3, dtype=[("a", bool), ("b", bool)])}, "two fields"),
    ],
)
def test_bad_input_gets_a_sentence(given, words):
    with pytest.raises(ValueError, match=words):
        concordance_index(**{"y": [1.0, 2.0, 3.0], "score": [1, 2, 3], **given})


def test_no_comparable_pair():
    with pytest.warns(UndefinedMetricWarning, match="No two rows are comparable"):
        assert np.isnan(concordance_index([1.0, 2.0], [1, 2], event=[False, False]))
    with pytest.raises(ValueError, match="No two rows are comparable"):
        concordance_index_ci([1.0, 2.0], [1, 2], event=[False, False])


def test_the_interval_of_a_difference_is_as_wide_as_that_of_resampled_rows():
    rng = np.random.default_rng(0)
    time, event = rng.exponential(size=300), rng.random(300) < 0.7
    first, second = (spread * rng.normal(size=300) - time for spread in (0.5, 1.5))

    def difference(rows):
        of_rows = time[rows], event[rows]
        left, right = (concordance_index(of_rows[0], scores[rows], event=of_rows[1]) for scores in (first, second))
        return left - right

    drawn = [difference(rng.integers(300, size=300)) for _ in range(300)]
    test = concordance_test(time, first, second, event=event)
    assert test.difference == pytest.approx(difference(np.arange(300)), abs=1e-12)
    assert (test.high - test.low) / 2.0 == pytest.approx(1.96 * np.std(drawn), rel=0.2)
