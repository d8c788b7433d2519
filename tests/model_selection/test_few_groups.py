"""Rows of groups: folds keep them whole, and few of them get a nested choice."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold

from vrspam import AUCClassifier, AUCClassifierCV
from vrspam._utils.warnings import FewerFolds, FewGroups
from vrspam.metrics import correction
from vrspam.metrics.correction import MANY_GROUPS
from vrspam.model_selection.folds import group_folds


def grouped_noise(
    n_groups: int, rows: int, seed: int, of_columns: float = 1.0, of_labels: float = 1.5, columns: int = 6
):
    """Columns and labels that have nothing to do with each other; both differ from group to group."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), rows)
    X = rng.standard_normal((groups.size, columns)) + of_columns * rng.standard_normal((n_groups, columns))[groups]
    odds = of_labels * rng.standard_normal(n_groups)[groups] - 0.3
    return X, (rng.random(groups.size) < 1.0 / (1.0 + np.exp(-odds))).astype(int), groups


def test_a_number_of_folds_keeps_groups_whole():
    X, y, groups = grouped_noise(20, 10, seed=0)
    names = np.array([f"patient {number}" for number in groups])
    model = AUCClassifierCV(cv=4).fit(X, y, groups=names)
    fold = model.out_of_fold_.fold
    assert np.unique(fold).size == 4
    assert all(np.unique(fold[groups == group]).size == 1 for group in range(20))
    without = AUCClassifierCV(cv=4).fit(X, y).out_of_fold_.fold
    assert np.unique(without[groups == 0]).size > 1


def test_folds_of_groups_hold_both_classes():
    """Three groups hold all positives: more than three folds cannot have one each."""
    groups = np.repeat(np.arange(9), 6)
    positive = (groups < 3) & (np.arange(54) % 2 == 0)
    with pytest.warns(FewerFolds, match="3 folds instead of 5"):
        splits = group_folds(positive, groups, 5, 0)
    assert len(splits) == 3
    assert all(0 < positive[part].sum() < part.size for split in splits for part in split)
    with pytest.raises(ValueError, match="cannot be split into two parts that both have rows of both classes"):
        group_folds(groups == 0, groups, 5, 0)


@pytest.mark.parametrize("selection", ["best", "one-standard-error"])
def test_the_choice_of_few_groups_is_nested(selection):
    """The corrected AUC is that of a nested cross-validation, written out as loops over fits of single models."""
    X, y, groups = grouped_noise(9, 16, seed=3)
    l2s = np.array([0.003, 0.1, 3.0])
    splits = list(GroupKFold(4).split(X, y, groups))
    model = AUCClassifierCV(l2s, cv=splits, selection=selection).fit(X, y, groups=groups)
    nested = []
    for k, (train, test) in enumerate(splits):
        inner = np.empty((l2s.size, 3))
        for column, j in enumerate(other for other in range(4) if other != k):
            held_out = splits[j][1]
            rest = np.setdiff1d(train, held_out)
            for line, l2 in enumerate(l2s):
                fit = AUCClassifier(l2=l2).fit(X[rest], y[rest])
                inner[line, column] = roc_auc_score(y[held_out], fit.decision_function(X[held_out]))
        mean, best = inner.mean(axis=1), inner.mean(axis=1).argmax()
        slack = inner[best].std(ddof=1) / np.sqrt(3) if selection == "one-standard-error" else 1e-9
        taken = np.flatnonzero(mean >= mean[best] - slack).max()  # the largest l2 that is as good
        fit = AUCClassifier(l2=l2s[taken]).fit(X[train], y[train])
        nested.append(roc_auc_score(y[test], fit.decision_function(X[test])))
    assert model.corrected_score_ == pytest.approx(np.mean(nested), abs=1e-9)


def test_too_few_groups_get_a_sentence_in_place_of_an_interval():
    X, y, groups = grouped_noise(5, 40, seed=1, of_labels=0.5)
    with pytest.warns(FewGroups, match="The rows are of 5 groups, too few"):
        model = AUCClassifierCV(cv=5).fit(X, y, groups=groups)
    assert 0.0 < model.corrected_score_ < 1.0
    assert np.isnan(model.corrected_interval_).all()


@pytest.mark.parametrize(("n_groups", "features"), [(6, "additive"), (12, "additive"), (12, "linear"), (20, "linear")])
def test_noise_of_few_groups_stays_noise(n_groups, features):
    """With labels and columns that differ from group to group the AUC on new groups is .5, and the interval knows."""
    scores, covered = [], 0
    for seed in range(40):
        X, y, groups = grouped_noise(n_groups, 25, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # fewer folds, ends of the grid
            model = AUCClassifierCV(features=features, random_state=seed).fit(X, y, groups=groups)
        low, high = model.corrected_interval_
        scores.append(model.corrected_score_)
        covered += low <= 0.5 <= high
    error = np.std(scores) / np.sqrt(len(scores))
    assert abs(np.mean(scores) - 0.5) < 0.02 + 2.0 * error
    assert covered >= 35  # of 40; 95 % would be 38


def test_many_groups_are_drawn():
    """From MANY_GROUPS on nothing is solved again; the error is that of whole groups all the same."""
    X, y, groups = grouped_noise(MANY_GROUPS, 6, seed=2)
    model = AUCClassifierCV().fit(X, y, groups=groups)
    alone = AUCClassifierCV(cv=list(group_folds(y == 1, groups, 5, 0))).fit(X, y)
    assert model.best_score_ == alone.best_score_
    wide, narrow = (high - low for low, high in (model.corrected_interval_, alone.corrected_interval_))
    assert wide > 1.2 * narrow


@pytest.mark.filterwarnings("ignore::vrspam._utils.warnings.GridEdge")
def test_a_measure_that_a_sample_leaves_undefined_corrects_nothing(monkeypatch):
    """Five folds of 200 negatives have a partial AUC; a sample of 20 negatives of each has none to choose by."""
    monkeypatch.setattr(correction, "MOST_ROWS", 200)
    rng, groups = np.random.default_rng(0), np.repeat(np.arange(20), 100)
    y = np.tile([0, 1], 1000)
    X = rng.standard_normal((2000, 2)) + y[:, np.newaxis]
    model = AUCClassifierCV([0.01, 1.0], max_fpr=0.02).fit(X, y, groups=groups)
    chosen = model.auc_path_.reshape(2, -1)[model.l2s_.tolist().index(model.l2_)]
    assert model.corrected_score_ == pytest.approx(chosen.mean(), abs=1e-12)
