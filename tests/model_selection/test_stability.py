"""The share of the scores that is the same for all training rows: against models whose share is known."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, RepeatedKFold, TimeSeriesSplit

from vrspam import AUCClassifierCV
from vrspam._utils.validation import Rows
from vrspam.metrics.correction import stable_share
from vrspam.model_selection.folds import FoldedRows, Split
from vrspam.model_selection.held_out import scores_of

N, D = 300, 1_000


def share_of_models(X, y, splits, coefs):
    folds = FoldedRows(Rows(X, y, None), splits, np.array([False, True]), y)
    sample = folds.sample(1, seed=0)
    return stable_share(scores_of(X, sample.rows, coefs), folds.overlap(), sample)


def share_of(splitter, signal, seed=0):
    """Of models w = μ + the mean of z_i over training rows, z_i standard normal and ‖μ‖² = signal · D / rows."""
    rng = np.random.default_rng(seed)
    X, z = rng.standard_normal((N, D)), rng.standard_normal((N, D))
    mu = rng.standard_normal(D)
    splits = [Split(*split) for split in splitter.split(X)]
    trained = [split.train.size for split in splits]
    mu *= np.sqrt(signal * D / np.mean(trained)) / np.linalg.norm(mu)
    coefs = np.stack([mu + z[split.train].mean(axis=0) for split in splits])
    y = np.arange(N) % 3 == 0
    X[y] += 5.0 * mu  # what separates the classes is no part of it
    return share_of_models(X, y, splits, coefs)


@pytest.mark.parametrize("signal", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("splitter", [KFold(5), KFold(10), RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)])
def test_share_of_models_that_are_means_of_their_rows(splitter, signal):
    """var s : var e = signal : 1, because the mean over m rows has the variance 1/m in each of D directions."""
    shares = [share_of(splitter, signal, seed) for seed in range(6)]
    assert np.mean(shares) == pytest.approx(signal / (signal + 1.0), abs=0.1)


def test_noise_that_folds_share_as_they_look_forward():
    assert np.mean([share_of(TimeSeriesSplit(5), 0.0, seed) for seed in range(6)]) < 0.1


def test_equal_models_and_models_that_say_nothing():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((60, 4)), np.arange(60) % 2 == 0
    splits = [Split(*split) for split in KFold(3).split(X)]
    assert share_of_models(X, y, splits, np.tile(rng.standard_normal(4), (3, 1))) == pytest.approx(1.0)
    assert share_of_models(X, y, splits, np.zeros((3, 4))) == 0.0


def test_interval_narrows_from_noise_to_a_model_that_is_certain():
    """√(1 + K/(K-1)) of DeLong's error for noise, DeLong's error itself for a model that no row can change."""
    rng = np.random.default_rng(2)
    y = rng.random(4_000) < 0.3
    certain = np.column_stack([rng.standard_normal(4_000) + y, np.zeros(4_000)])
    model = AUCClassifierCV(l2s=[0.1]).fit(certain, y)
    half = (model.corrected_interval_[1] - model.corrected_interval_[0]) / 2.0
    a = model.corrected_score_
    q1, q2 = a / (2.0 - a), 2.0 * a * a / (1.0 + a)  # Hanley & McNeil's error of an AUC
    m, n = y.sum(), (~y).sum()
    error = np.sqrt((a * (1 - a) + (m - 1) * (q1 - a * a) + (n - 1) * (q2 - a * a)) / (m * n))
    assert half == pytest.approx(1.96 * error, rel=0.1)
    noise = AUCClassifierCV(l2s=[0.1]).fit(rng.standard_normal((1_000, 40)), rng.permutation(np.arange(1_000) < 500))
    half = (noise.corrected_interval_[1] - noise.corrected_interval_[0]) / 2.0
    assert half == pytest.approx(1.5 * 1.96 * np.sqrt(1 / 6 / 1_000 * 2 / 1), rel=0.12)


@pytest.mark.filterwarnings("ignore:The best l1 is")
@pytest.mark.parametrize("penalty", ["elasticnet", "mcp"])
def test_columns_that_l1_chose_by_luck_do_not_narrow_the_interval(penalty):
    """One of 40 columns is the luckiest by far, and every fold chooses it: equal scores say nothing of other rows."""
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((1_000, 40)), rng.permutation(np.arange(1_000) < 500)
    X[y, 0] += 0.2
    X[y, 1:] -= X[y, 1:].mean(axis=0) - X[~y, 1:].mean(axis=0)  # the luckiest by far
    most = 0.5 * abs(X[y, 0].mean() - X[~y, 0].mean())
    chosen = {"penalty": penalty, "selection": "one-standard-error"}
    model = AUCClassifierCV(l2s=[0.1], l1s=[1e-6, 0.7 * most], **chosen).fit(X, y)
    assert np.flatnonzero(model.coef_).tolist() == [0]
    ridge = AUCClassifierCV(l2s=[0.1]).fit(X, y)
    own, other = (np.diff(one.corrected_interval_)[0] for one in (model, ridge))
    assert own == pytest.approx(other, rel=0.1)
