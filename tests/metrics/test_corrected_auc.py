"""The corrected AUC of any models: against the correction of this package, noise whose truth is known, and searches."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    RandomizedSearchCV,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
)

from vrspam.metrics import corrected_auc, corrected_auc_of, roc_auc


def stratified(y, rng, k=5):
    fold = np.empty(y.size, dtype=int)
    for side in (y, ~y):
        fold[side] = rng.permutation(side.sum()) % k
    return fold


def mean_auc(y, score, fold):
    return np.mean([roc_auc(y[fold == k], score[fold == k]) for k in np.unique(fold)])


@pytest.mark.parametrize("models", [1, 3, 40])
def test_models_that_know_nothing_are_expected_to_know_nothing(models):
    """Scores that are noise have the AUC 0.5, however many are tried; the best of 40 shows 0.57."""
    found, covers, shown = [], 0, []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        y = rng.permutation(300) < 100
        result = corrected_auc(y, rng.normal(size=(300, models)), folds=stratified(y, rng))
        found.append(result.auc)
        shown.append(result.auc + result.optimism)
        covers += result.low <= 0.5 <= result.high
    error = np.std(found) / np.sqrt(60)
    assert abs(np.mean(found) - 0.5) < 0.01 + 2.0 * error
    assert covers >= 55
    assert models < 40 or np.mean(shown) > 0.56
    if models == 1:
        assert np.ptp(np.array(shown) - found) == 0.0  # one model is no choice


def test_the_best_is_that_of_the_folds_and_the_first_of_equals():
    rng = np.random.default_rng(0)
    y, fold = np.arange(200) % 2 == 0, np.arange(200) // 40
    scores = rng.normal(size=(200, 4)) + np.outer(y, [0.0, 1.0, 0.9, 1.0])
    scores[:, 3] = scores[:, 1]
    found = corrected_auc(y, scores, folds=fold)
    best = max(mean_auc(y, column, fold) for column in scores.T)
    assert found.auc + found.optimism == pytest.approx(best, abs=1e-12)
    assert found.low < found.auc < found.high
    same = corrected_auc(np.where(y, "yes", "no"), scores.tolist(), folds=np.array(list("abcde"))[fold])
    assert (same.auc, same.low) == (found.auc, found.low)
    alone = corrected_auc(y, scores[:, 1], folds=fold)
    assert alone.optimism == 0.0
    assert alone.auc == pytest.approx(mean_auc(y, scores[:, 1], fold), abs=1e-12)


def test_weights_and_groups():
    rng = np.random.default_rng(1)
    patient = np.repeat(np.arange(100), 4)
    y, fold = rng.random(100)[patient] < 0.4, patient % 5
    scores = rng.normal(size=(400, 3)) + rng.normal(size=(100, 3))[patient] + np.outer(y, [1.0, 0.9, 0.8])
    plain, equal = (corrected_auc(y, scores, folds=fold, sample_weight=w) for w in (None, np.full(400, 3.0)))
    assert equal.auc == pytest.approx(plain.auc, abs=1e-12)
    assert equal.low == pytest.approx(plain.low, abs=1e-12)
    grouped = corrected_auc(y, scores, folds=fold, groups=patient)
    assert grouped.high - grouped.low > 1.2 * (plain.high - plain.low)  # four rows of a patient are not four patients
    half = corrected_auc(y, scores, folds=fold, sample_weight=np.arange(400) % 2)
    other = corrected_auc(y[1::2], scores[1::2], folds=fold[1::2])
    assert half.auc + half.optimism == pytest.approx(other.auc + other.optimism, abs=1e-12)
    with pytest.raises(ValueError, match="100 groups have rows in several folds"):
        corrected_auc(y, scores, folds=np.arange(400) % 2, groups=patient)
    with pytest.raises(ValueError, match="100 groups have rows in several folds"):
        corrected_auc(y, scores, folds=np.arange(400) % 4, groups=patient)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"folds": np.zeros(40)}, "single value"),
        ({"folds": np.arange(40) % 2}, "fold 0 holds rows of one class alone"),
        ({"folds": np.zeros(3)}, r"folds has shape \(3,\)"),
        ({"scores": np.zeros((39, 2))}, "one row for each of 40 labels"),
        ({"scores": np.full((40, 2), np.nan)}, "NaN"),
        ({"groups": np.zeros(3)}, "groups has shape"),
    ],
)
def test_what_cannot_be_corrected_is_said(change, words):
    given = {"scores": np.zeros((40, 2)), "folds": np.arange(40) // 20, **change}
    with pytest.raises(ValueError, match=words):
        corrected_auc(np.arange(40) % 2, given.pop("scores"), **given)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(240, 4))
    return X, np.where(X[:, 0] + rng.normal(size=240) > 0.5, "sick", "well")[:]


def test_a_search_is_scored_as_it_was_searched(rows):
    """The best of the search, before the correction, is its own best score."""
    X, y = rows
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    search = GridSearchCV(LogisticRegression(), {"C": [1e-4, 0.1, 10.0]}, scoring="roc_auc", cv=folds).fit(X, y)
    found = corrected_auc_of(search, X, y)
    assert found.auc + found.optimism == pytest.approx(search.best_score_, abs=1e-12)
    # by hand: the same matrix of out-of-fold scores; only the interval knows more
    candidates = [LogisticRegression(C=c) for c in (1e-4, 0.1, 10.0)]
    matrix = [cross_val_predict(one, X, y, cv=folds, method="decision_function") for one in candidates]
    fold = np.empty(240, dtype=int)
    for number, (_, held_out) in enumerate(folds.split(X, y)):
        fold[held_out] = number
    by_hand = corrected_auc(y, np.transpose(matrix), folds=fold)
    assert found.auc == pytest.approx(by_hand.auc, abs=1e-12)
    assert by_hand.low < found.low < found.auc < found.high < by_hand.high
    of_list = corrected_auc_of(candidates, X, y, cv=folds, n_jobs=2)
    assert (of_list.auc, of_list.low) == pytest.approx((found.auc, found.low), abs=1e-12)


def test_frames_forests_random_searches_weights_and_progress(rows, capsys):
    pd = pytest.importorskip("pandas")
    X, y = rows
    frame, groups = pd.DataFrame(X, columns=list("abcd")), np.arange(240) // 4
    forest = RandomForestClassifier(10, random_state=0)
    search = RandomizedSearchCV(forest, {"max_depth": [1, 3, 5]}, n_iter=2, random_state=0, scoring="roc_auc", cv=3)
    search.fit(frame, y)
    found = corrected_auc_of(search, frame, y, progress=True)
    assert found.auc + found.optimism == pytest.approx(search.best_score_, abs=1e-12)
    assert "6 of 6: model 2 of 2" in capsys.readouterr().err
    with pytest.warns(UserWarning, match="chose by 'accuracy'; here the model with the best AUC"):
        corrected_auc_of(search.set_params(scoring="accuracy"), frame, y)
    kept = corrected_auc_of([forest], frame, y, cv=GroupKFold(5), groups=groups, sample_weight=np.arange(240) % 3)
    assert kept.low < kept.auc < kept.high
    assert kept.optimism == 0.0


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
def test_what_is_no_search_is_said(rows):
    X, y = rows
    with pytest.raises(ValueError, match="LogisticRegression is not a fitted search"):
        corrected_auc_of(LogisticRegression(), X, y)
    with pytest.raises(ValueError, match="at least one estimator"):
        corrected_auc_of([], X, y)
    with pytest.raises(ValueError, match=r"\d+ groups have rows in several folds: make folds of whole groups"):
        corrected_auc_of([LogisticRegression()], X, y, groups=np.arange(240) // 4)
    with pytest.raises(ValueError, match="hold each row out exactly once"):
        corrected_auc_of([LogisticRegression()], X, y, cv=ShuffleSplit(3, random_state=0))
