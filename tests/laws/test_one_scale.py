"""Scores that are handed out have the scale of those that were judged, for every kind of features.

The held-out scores of a model give its thresholds, its probabilities and every stored measure. So scores of new rows of
the same source must have the mean and the spread of the held-out ones, and promises must be kept.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from laws_support import examples, simulation_seed
from scipy.special import expit
from sklearn.model_selection import StratifiedKFold, TimeSeriesSplit

from vrspam import AUCClassifierCV
from vrspam._utils.validation import Rows
from vrspam.metrics.promises import stored_threshold
from vrspam.model_selection.bags import bags_of
from vrspam.model_selection.folds import FoldedRows, make_splits

KINDS: dict[str, Any] = {
    "linear": "linear",
    "additive": "additive",
    "kernel": "kernel 1",
    "trees": "trees 4",
    "forest": "forest",
    "boosted": "boosted",
    "blend": ["forest", "boosted"],
    "auto": "auto",
}
ROWS, COLUMNS, FRESH = 400, 30, 4_000


def draw(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    X = rng.standard_normal((rows, COLUMNS))
    return X, rng.random(rows) < expit(0.7 * X[:, :4].sum(axis=1) - 1.0)


def fitted(kind: str, number: int, **more: Any) -> tuple[AUCClassifierCV, np.ndarray, np.ndarray]:
    """A model of one set of rows, with the scores and the labels of new rows."""
    rng = np.random.default_rng([simulation_seed(), number])
    X, y = draw(rng, ROWS)
    fresh, label = draw(rng, FRESH)
    given: dict[str, Any] = {}
    if more.pop("weighted", False):
        given["sample_weight"] = rng.integers(1, 4, ROWS).astype(float)
    if more.pop("grouped", False):
        given["groups"] = np.arange(ROWS) // 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AUCClassifierCV(features=KINDS[kind], random_state=number, **more).fit(X, y, **given)
    return model, model.decision_function(fresh), label


def assert_one_scale(kind: str, sets: int, **more: Any) -> None:
    ratios = []
    for number in range(sets):
        model, scores, _ = fitted(kind, number, **more)
        held_out = model.out_of_fold_
        ratios.append(scores.std() / held_out.scores.std())
    error = np.std(ratios, ddof=1) / np.sqrt(sets)
    # simulation error, and what models of all rows differ from those of a part of them
    assert abs(np.mean(ratios) - 1.0) < 0.03 + 2.5 * error, ratios


@pytest.mark.parametrize("kind", KINDS)
def test_new_rows_spread_as_held_out_rows(kind):
    assert_one_scale(kind, examples(3 if kind == "auto" else 6))


@pytest.mark.parametrize("how", ["weighted", "grouped", "ten folds", "four folds", "three folds", "time"])
def test_new_rows_spread_as_held_out_rows_however_rows_are_cut(how):
    folds = {"ten folds": 10, "four folds": 4, "three folds": 3, "time": TimeSeriesSplit(3)}
    more = {"cv": folds[how]} if how in folds else {how: True}
    assert_one_scale("boosted", examples(4), **more)


@pytest.mark.parametrize("kind", ["linear", "trees", "boosted"])
def test_new_rows_of_few_positives_have_the_mean_of_held_out_rows(kind):
    """Zero is not half-way between the classes of training rows, which are further apart in each fold than in all."""
    moves = []
    sets = examples(8)
    for number in range(sets):
        rng = np.random.default_rng([simulation_seed(), number])
        X, new = rng.standard_normal((500, 10)), rng.standard_normal((FRESH, 10))
        y = rng.random(500) < expit(0.6 * X[:, :4].sum(axis=1) - 2.8)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = AUCClassifierCV(features=KINDS[kind], random_state=number).fit(X, y)
        held_out = model.out_of_fold_.scores + model.baseline_
        moves.append((model.decision_function(new).mean() - held_out.mean()) / held_out.std())
    assert abs(np.mean(moves)) < 0.02 + 2.5 * np.std(moves, ddof=1) / np.sqrt(sets), moves


@pytest.mark.parametrize("kind", ["boosted", "forest"])
def test_promises_are_kept_on_both_sides_of_the_middle(kind):
    kept = {("alerts", 0.8): 0, ("alerts", 0.2): 0, ("recall", 0.5): 0}
    sets = examples(16)
    for number in range(sets):
        model, scores, label = fitted(kind, number)
        held_out = model.out_of_fold_
        for rule, asked in kept:
            chosen, note = stored_threshold(held_out.positive, held_out.scores + model.baseline_, rule, asked)
            assert note is None
            called = scores >= chosen.threshold
            kept[rule, asked] += called.mean() <= asked if rule == "alerts" else called[label].mean() >= asked
    assert min(kept.values()) >= 0.95 * sets - 3.5 * np.sqrt(0.05 * 0.95 * sets), kept


@pytest.mark.parametrize("folds", [2, 3, 4, 5, 7, 10, "time", "leave out"])
@pytest.mark.parametrize("grouped", [False, True])
def test_no_row_is_judged_by_trees_that_saw_it(folds, grouped):
    """Sets of rows that score a fold are disjoint from it, for every kind of folds; counts add up to 1."""
    rng = np.random.default_rng(1)
    y = rng.random(60) < 0.4
    X, groups = np.zeros((60, 1)), np.arange(60) // 2 if grouped else None
    if folds == "leave out":
        splits = [pair for seed in (0, 1) for pair in StratifiedKFold(3, shuffle=True, random_state=seed).split(X, y)]
    else:
        splits = list(TimeSeriesSplit(3).split(X)) if folds == "time" else folds
    found = make_splits(splits, Rows(X, y.astype(int), None), np.array([0, 1]), groups)
    bags = bags_of(FoldedRows(Rows(X, y, None), found, np.array([False, True]), y, groups))
    np.testing.assert_allclose(bags.of_fold.sum(axis=1), 1.0)
    assert bags.of_model.sum() == pytest.approx(1.0)
    for split, line in zip(found, bags.of_fold, strict=True):
        for number in np.flatnonzero(line):
            assert np.intersect1d(bags.rows[number], split.validation).size == 0
            assert np.unique(y[bags.rows[number]]).size == 2
            if grouped and not isinstance(splits, list):  # lists of splits are taken as they are
                assert np.intersect1d(groups[bags.rows[number]], groups[split.validation]).size == 0
    handed_out = np.flatnonzero(bags.of_model)
    covered = np.bincount(np.concatenate([bags.rows[number] for number in handed_out]), minlength=60)
    assert covered.min() > 0  # every row takes part in the model
    judged = [bags.rows[number].size for line in bags.of_fold for number in np.flatnonzero(line)]
    assert np.mean([bags.rows[number].size for number in handed_out]) == pytest.approx(np.mean(judged), rel=0.1)
