"""The learning curve: models of parts from sums of moments, and its extrapolation, against refits and known truths."""

import numpy as np
import pytest
from scipy.stats import norm

from vrspam import AUCClassifier
from vrspam._utils.validation import Rows
from vrspam.measures.fold_interval import fold_auc_ci
from vrspam.metrics import roc_auc
from vrspam.model_selection.learning_curve import LearningCurve, learning_curve
from vrspam.moments import ClassMoments
from vrspam.objective import l2_unit


def table(n=600, d=8, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    X = rng.normal(size=(n, d)) + 0.3 * y[:, np.newaxis]
    part = np.empty(n, dtype=int)
    for side in (y, ~y):
        part[side] = rng.permutation(np.arange(side.sum()) % 10)
    return X, y, part


def without_optimism(by_fold, widened):
    """The mean AUC at the best penalty, less its lead, in each fold, over the penalty that the other folds choose."""
    best, found = by_fold.mean(axis=0).argmax(), []
    for fold in range(5):
        other = np.delete(by_fold, fold, axis=0).mean(axis=0).argmax()
        found.append(by_fold[fold, best] - widened * (by_fold[fold, best] - by_fold[fold, other]))
    return np.mean(found)


def stable(scores, y, fold, weight):
    """How much more two models agree, on rows that one has not seen, than the three quarters of rows they share."""
    weight, found = np.ones(y.size) if weight is None else weight, []
    for one in range(5):
        rows = fold == one
        mass, centred = np.zeros(y.size), scores.copy()
        for side in (rows & y, rows & ~y):
            mass[side] = weight[side] / weight[side].sum()
            centred[:, side] -= (scores[:, side] @ mass[side])[:, np.newaxis]
        for other in range(5):
            if other != one:
                a, b = centred[one, rows], centred[other, rows]
                own = mass[rows]
                found.append((own @ (a * b) / np.sqrt((own @ a**2) * (own @ b**2)) - 0.75) / 0.25)
    return float(np.clip(np.mean(found), 0.0, 1.0))


@pytest.mark.parametrize("weighted", [False, True])
def test_models_of_parts_are_those_of_refits_on_the_same_rows(weighted):
    X, y, part = table()
    weight = np.random.default_rng(5).uniform(0.5, 2.0, y.size) if weighted else None
    found = learning_curve(Rows(X, y, weight), part, most=8)
    np.testing.assert_allclose(found.rows, [60, 120, 240, 480])
    l2s = l2_unit(ClassMoments(8, classes=[False, True]).update(X, y, weight)) * np.logspace(-6, 2, 9)

    def auc(train, test, l2):
        own, other = (None, None) if weight is None else (weight[train], weight[test])
        fitted = AUCClassifier(l2=l2).fit(X[train], y[train], sample_weight=own)
        return roc_auc(y[test], fitted.decision_function(X[test]), sample_weight=other)

    largest, single = [], []  # of every fold all others; of every fold each other part alone
    for fold in range(5):
        test = part % 5 == fold
        largest.append([auc(~test, test, l2) for l2 in l2s])
        for number in range(10):
            if number % 5 != fold:
                single.append([auc(part == number, test, l2) for l2 in l2s])
    best = int(np.mean(largest, axis=0).argmax())
    scores = np.empty((5, y.size))  # of all rows by the models of the largest size
    for fold in range(5):
        train = part % 5 != fold
        given = None if weight is None else weight[train]
        scores[fold] = AUCClassifier(l2=l2s[best]).fit(X[train], y[train], sample_weight=given).decision_function(X)
    widened = np.sqrt(1.0 + (1.0 - stable(scores, y, part % 5, weight)) * 1.25)
    assert 1.0 < widened < 1.5
    assert found.auc[-1] == pytest.approx(without_optimism(np.array(largest), widened), abs=1e-6)
    by_fold = np.array(single).reshape(5, 8, -1).mean(axis=1)
    assert found.auc[0] == pytest.approx(without_optimism(by_fold, widened), abs=1e-6)
    assert (np.diff(found.auc) > -0.005).all()  # the correction for the choice is noisy where the curve is flat
    if weight is None:  # the standard error is that of the mean over folds, by DeLong, times what shared rows add
        own = np.array([scores[fold, row] for row, fold in enumerate(part % 5)])
        assert found.error == pytest.approx(widened * fold_auc_ci(y, own, part % 5).standard_error, rel=0.03)


def test_groups_widen_the_error():
    X, y, part = table()
    same = learning_curve(Rows(np.repeat(X, 4, axis=0), np.repeat(y, 4), None), np.repeat(part, 4))
    grouped = learning_curve(
        Rows(np.repeat(X, 4, axis=0), np.repeat(y, 4), None), np.repeat(part, 4), groups=np.repeat(np.arange(600), 4)
    )
    assert grouped.error == pytest.approx(2.0 * same.error, rel=0.02)
    np.testing.assert_allclose(grouped.auc, same.auc)


@pytest.mark.parametrize("power", [0.5, 0.8, 1.1])
def test_a_power_of_the_rows_is_continued(power):
    rows = 1000.0 * 2.0 ** np.arange(5)
    curve = LearningCurve(rows, 0.85 - 0.1 * (rows / 1000.0) ** -power, np.full(5, 1e-5), 0.004, 20_000)
    truth = 0.85 - 0.1 * 80.0**-power
    assert abs(curve.at(80_000).value - truth) < 0.004
    assert curve.at(80_000).low < truth < curve.at(80_000).high
    assert curve.gain(4).value == pytest.approx(curve.at(80_000).value - curve.at(20_000).value)
    assert 0.0 <= curve.gain(4).low < curve.gain(4).value < curve.gain(4).high


def test_a_flat_curve_stays_flat_and_its_band_is_that_of_the_held_out_rows():
    rows = 1000.0 * 2.0 ** np.arange(5)
    curve = LearningCurve(rows, np.full(5, 0.8), np.full(5, 1e-6), 0.01, 20_000)
    found = curve.at(80_000)
    assert found.value == pytest.approx(0.8, abs=1e-4)
    assert found.high - found.low == pytest.approx(2 * 1.645 * 0.01, rel=0.02)
    falling = LearningCurve(rows, np.linspace(0.81, 0.8, 5), np.full(5, 1e-3), 0.01, 20_000)
    assert falling.gain(4).value == pytest.approx(0.0, abs=1e-9)  # more rows make no model worse


def test_the_band_covers_the_auc_of_four_times_the_rows():
    rng, inside, off = np.random.default_rng(3), 0, []
    direction = 0.35 * rng.normal(size=10)
    for number in range(24):
        y = rng.random(400) < 0.4
        X = rng.normal(size=(400, 10)) + y[:, np.newaxis] * direction
        part = np.empty(400, dtype=int)
        for side in (y, ~y):
            part[side] = rng.permutation(np.arange(side.sum()) % 20)
        found = learning_curve(Rows(X, y, None), part, seed=number).at(1600)
        true = []
        for _ in range(3):  # normal classes: the AUC of w is Φ(w·δ / (√2 |w|))
            more = rng.random(1600) < 0.4
            w = AUCClassifier(l2=1e-3).fit(rng.normal(size=(1600, 10)) + more[:, np.newaxis] * direction, more).coef_[0]
            true.append(norm.cdf(w @ direction / np.sqrt(2.0) / np.linalg.norm(w)))
        inside += found.low <= np.mean(true) <= found.high
        off.append(found.value - np.mean(true))
    assert 18 <= inside <= 24
    assert abs(np.mean(off)) < 2.5 * np.std(off) / np.sqrt(24) + 0.003
