"""Folds that are given as splits: row numbers, masks and signed numbers are the same folds, for every map.

A fold that is validated on rows that it was trained on is refused in one sentence.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws_support import examples
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from vrspam import AUCClassifierCV
from vrspam.metrics import corrected_auc_of

MAPS = ("linear", "standardized", "kernel 1", "trees 4", "forest", "boosted", "auto")
WAYS = ("numbers", "signed", "mask", "list of booleans", "mask of objects")

pytestmark = pytest.mark.filterwarnings("ignore")


def rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 3))
    return X, X[:, 0] + rng.standard_normal(60) > 0.0


def spelled(index: np.ndarray, n: int, way: str):
    """The same rows in another spelling."""
    mask = np.isin(np.arange(n), index)
    return {
        "numbers": index,
        "signed": index - n,
        "mask": mask,
        "list of booleans": mask.tolist(),
        "mask of objects": mask.astype(object),
    }[way]


def halves(y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Two folds with both classes."""
    fold = np.empty(y.size, dtype=np.intp)
    for side in (False, True):
        fold[y == side] = np.arange((y == side).sum()) % 2
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(2)]


@pytest.mark.parametrize("way", WAYS[1:])
@settings(max_examples=examples(3))
@given(seed=st.integers(0, 99), features=st.sampled_from(MAPS[:3]))
def test_masks_and_numbers_are_the_same_folds(way, seed, features):
    X, y = rows(seed)
    splits = halves(y)
    other = [tuple(spelled(part, y.size, way) for part in split) for split in splits]
    one, two = (AUCClassifierCV(features=features, cv=cv, random_state=0).fit(X, y) for cv in (splits, other))
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))

    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, scoring="roc_auc", cv=splits).fit(X, y)
    assert corrected_auc_of(search, X, y, cv=other) == corrected_auc_of(search, X, y, cv=splits)


@pytest.mark.parametrize("features", MAPS)
@settings(max_examples=examples(3))
@given(seed=st.integers(0, 99), trained=st.floats(0.3, 1.0), held_out=st.floats(0.3, 1.0))
def test_a_fold_is_never_validated_on_rows_it_was_trained_on(features, seed, trained, held_out):
    """All rows, or some, may be in both parts: the scores of the fold would be those of rows seen in training."""
    X, y = rows(seed)
    rng = np.random.default_rng(seed)
    train, validation = (np.sort(rng.permutation(60)[: int(60 * share)]) for share in (trained, held_out))
    train[0] = validation[0]  # one row at least
    both = np.unique(train[np.isin(train, validation)]).size
    with pytest.raises(ValueError, match=rf"Fold 1 is validated on {both} of the rows"):
        AUCClassifierCV(features=features, cv=[halves(y)[0], (train, validation)]).fit(X, y)
