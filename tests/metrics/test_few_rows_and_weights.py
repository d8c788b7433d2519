"""What measures do at their edges: rows of weight 0, single rows of a class, groups, other measures' conventions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import stdtrit
from scipy.stats import beta
from sklearn.exceptions import UndefinedMetricWarning

from vrspam.metrics import (
    concordance_index,
    concordance_index_ci,
    concordance_test,
    newcombe_interval,
    partial_auc_ci,
    promised_threshold,
    roc,
    roc_auc_ci,
)
from vrspam.metrics.calibration import Bin, calibration_error
from vrspam.metrics.comparison import compare_placed
from vrspam.metrics.correction import Sample
from vrspam.metrics.folds import stable_by_strength
from vrspam.metrics.groups import AlikeRows, independent_rows, intraclass_correlation
from vrspam.metrics.intervals import roc_measures
from vrspam.metrics.promises import stored_threshold

# Out-of-fold scores.


def folded(n: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, scores and folds, each of which has both classes."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    return y, rng.standard_normal(n) + y, np.arange(n) // 2 % 4


def test_a_fold_whose_rows_of_one_class_have_no_weight_is_refused():
    y, score, fold = folded()
    weight = np.where((fold == 2) & (y == 1), 0.0, 1.0)
    with pytest.raises(ValueError, match="fold 2 holds rows of one class alone"):
        roc_auc_ci(y, score, folds=fold, sample_weight=weight)


def test_rows_of_weight_0_are_no_rows_of_a_fold():
    y, score, fold = folded()
    weight = np.where(np.arange(y.size) % 7 == 0, 0.0, 1.5)
    kept = weight > 0.0
    found = roc_auc_ci(y, score, folds=fold, sample_weight=weight)
    expected = roc_auc_ci(y[kept], score[kept], folds=fold[kept], sample_weight=weight[kept])
    assert found.auc == pytest.approx(expected.auc, abs=1e-12)
    assert found.standard_error == pytest.approx(expected.standard_error, rel=0.05)


@pytest.mark.parametrize("distance", [0.5, 2.0, 5.0])
def test_the_stable_share_of_a_score_of_one_parameter_for_three_rows(distance):
    """z² = x²/(x + d) and x/(x + d) is stable, where x is `distance` and d a third of the rows."""
    d = 10.0
    z = np.sqrt(distance**2 / (distance + d))
    assert stable_by_strength(0.5 + 0.01 * z, 0.01, 3.0 * d) == pytest.approx(distance / (distance + d), rel=1e-10)


def test_the_rows_of_a_sample_stand_for_all_that_their_fold_holds_out():
    fold = np.array([0, 0, 0, 1, 1])
    sample = Sample(
        rows=np.arange(5),
        positive=np.array([True, False, False, True, False]),
        fold=fold,
        weights=np.array([1.0, 0.5, 1.0, 1.0, 1.0]),
        places=np.array([0, 1, 2, 0, 1]),
        unit=np.arange(5),
        sizes=np.array([[10, 7], [4, 3]]),
        totals=(14, 10),
        held_out_per_trained=1.0,
    )
    assert sample.standing_for.tolist() == [7.0, 0.5 * 5.0, 5.0, 3.0, 4.0]


# Groups.


def test_a_single_row_counts_as_two():
    many = AlikeRows(variance=1.0, alone=0.1, together=0.0, between=0.1, beyond=0.0)
    single = AlikeRows(variance=1.0, alone=1.0, together=0.0, between=1.0, beyond=0.0)
    assert independent_rows(many, single, 1.1) == (pytest.approx(10.0), 2.0)
    assert independent_rows(single, many, 1.1) == (2.0, pytest.approx(10.0))


def test_the_correlation_of_a_class_is_what_its_groups_have_beyond_its_rows():
    rows = AlikeRows(variance=1.0, alone=0.1, together=0.2, between=0.2, beyond=0.1)
    assert intraclass_correlation((rows, rows)) == pytest.approx(0.5)
    other = AlikeRows(variance=1.0, alone=0.2, together=0.1, between=0.2, beyond=0.1)  # weighs 2.5, and 20 the other
    assert intraclass_correlation((rows, other)) == pytest.approx((0.5 * 20.0 + 1.0 * 2.5) / 22.5)


def test_copies_of_rows_in_groups_of_their_own_tell_no_more():
    y = np.repeat([0, 1], [9, 7])
    score = np.random.default_rng(1).standard_normal(16) + y
    once = roc_auc_ci(y, score)
    copied = roc_auc_ci(np.repeat(y, 3), np.repeat(score, 3), groups=np.repeat(np.arange(16), 3))
    weighed = roc_auc_ci(
        np.repeat(y, 3), np.repeat(score, 3), groups=np.repeat(np.arange(16), 3), sample_weight=np.full(48, 2.0)
    )
    placed = roc_measures(
        np.repeat(y, 3), [np.repeat(score, 3)], sample_weight=None, groups=np.repeat(np.arange(16), 3)
    )
    assert placed.of(0).rows == (pytest.approx(9.0), pytest.approx(7.0))
    for found in (copied, weighed):
        assert (found.auc, found.method) == (pytest.approx(once.auc), once.method)
        assert once.low - 0.1 < found.low < once.low + 0.01
        assert once.high - 0.01 < found.high


# Ranked rows.


def ranked(n: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, scores of risk, and groups of three rows."""
    rng = np.random.default_rng(2)
    time = rng.exponential(size=n)
    return time, -time + rng.standard_normal(n), np.arange(n) // 3


def test_events_may_be_zeros_and_ones():
    time, risk, _ = ranked()
    died = np.arange(time.size) % 3 > 0
    assert concordance_index(time, risk, event=died.astype(int)) == concordance_index(time, risk, event=died)


def test_a_score_against_its_opposite_has_the_error_of_the_score_twice():
    time, risk, groups = ranked()
    alone = concordance_index_ci(time, risk, groups=groups)
    test = concordance_test(time, risk, -risk, groups=groups)
    assert test.difference == pytest.approx(2.0 * alone.auc - 1.0)
    assert test.standard_error == pytest.approx(2.0 * alone.standard_error)
    reach = 2.0 * alone.standard_error * stdtrit(alone.freedom, 0.975)
    assert test.high - test.difference == pytest.approx(reach)


def test_few_rows_in_groups_have_the_interval_of_few_rows():
    time, risk, groups = ranked(30)
    assert concordance_index_ci(time, risk, groups=groups).method == "newcombe"


def test_a_group_in_every_pair_leaves_everything_possible():
    found = concordance_index_ci([1, 0, 0, 0], [0.9, 0.2, 0.4, 0.1], groups=[0, 1, 2, 3])
    assert (found.low, found.high, found.method) == (0.0, 1.0, "plain")


# Comparisons and intervals.


def test_an_optimism_is_subtracted_from_the_auc_and_from_the_difference():
    y, score, _ = folded()
    other = score + np.random.default_rng(3).standard_normal(y.size)
    placed = roc_measures(y, [score, other], ["a", "b"], sample_weight=None, groups=None)
    plain, less = (compare_placed(placed, ["a", "b"], 0.95, optimism)[0] for optimism in (None, {"b": 0.04}))
    assert plain.test.difference == pytest.approx(plain.test.auc_a - plain.test.auc_b)
    assert less.test.auc_b == pytest.approx(plain.test.auc_b - 0.04)
    assert less.test.difference == pytest.approx(less.test.auc_a - less.test.auc_b)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 1.5])
def test_a_confidence_is_between_0_and_1(confidence):
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        newcombe_interval(0.8, 0.02, rows=(300, 100), confidence=confidence)
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        roc.quantile(confidence)


def test_few_positives_decide_the_interval_of_a_part_of_the_curve():
    rng = np.random.default_rng(4)
    y = np.repeat([0, 1], [20_000, 12])
    assert partial_auc_ci(y, rng.standard_normal(y.size) + y, max_fpr=0.5).method == "score"


def test_a_class_without_rows_is_named():
    y = np.array([0, 1, 0, 1])
    scores = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [3.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    with pytest.warns(UndefinedMetricWarning, match=r"no rows of the classes \[2\]"):
        roc.one_vs_rest_auc(y, scores, labels=[0, 1, 2])


# Thresholds.


def test_the_error_of_a_calibration_is_a_mean_over_rows():
    bins = (Bin(10, 0.2, 0.3), Bin(30, 0.5, 0.5), Bin(60, 0.9, 0.7))
    assert calibration_error(bins) == pytest.approx((10 * 0.1 + 30 * 0.0 + 60 * 0.2) / 100)


def test_a_share_of_alerts_that_calls_no_row_is_no_promise():
    positive, scores = np.arange(60) % 3 == 0, np.arange(60.0)
    threshold, note = stored_threshold(positive, scores, "alerts", 0.05)
    assert promised_threshold(positive, scores, alerts=0.05).threshold > scores.max()
    assert "no row would be called" in str(note)
    assert threshold.confidence is None


def shown_precision(positive: np.ndarray, share: float, confidence: float) -> tuple[int | None, float]:
    """The most rows from the top that show a precision, each count having its part of the risk; the highest shown.

    The counts are powers of √2; those are left out that could not show it even if all their rows were positive.
    """
    risk = 1.0 - confidence
    counts = sorted({int(2.0 ** (k / 2)) for k in range(60) if 2.0 ** (k / 2) < positive.size})
    while counts and share ** counts[0] > risk / len(counts):
        counts = [count for count in counts if share**count <= risk / len(counts)]
    lows = {}
    for count in counts:
        hits = int(positive[:count].sum())
        lows[count] = float(beta.ppf(risk / len(counts), hits, count - hits + 1)) if hits else 0.0
    return max((count for count, low in lows.items() if low >= share), default=None), max(lows.values(), default=0.0)


@pytest.mark.parametrize("share", [0.03, 0.2, 0.5, 0.8])
@pytest.mark.parametrize("seed", range(6))
def test_a_promised_precision_is_shown_by_its_definition(share, seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(40, 400))
    chance = np.sort(rng.beta(0.7, 0.7, n))[::-1] if seed % 2 else np.full(n, share / 2)
    positive = rng.random(n) < chance
    positive[:2] = True, False
    scores = -np.arange(n, dtype=float)  # row by row from the top, without ties
    count, highest = shown_precision(positive, share, 0.95)
    if count is None:
        with pytest.raises(ValueError, match=f"highest shown precision is {highest:.2g}"):
            promised_threshold(positive, scores, precision=share)
    else:
        found = promised_threshold(positive, scores, precision=share)
        assert np.count_nonzero(scores >= found.threshold) == count
