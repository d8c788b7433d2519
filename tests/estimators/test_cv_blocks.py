"""Cross-validation over blocks: the choice and the coefficients of the in-memory estimator with the same folds."""

import warnings
from functools import reduce

import numpy as np
import pytest
from helpers import make_data, pairwise_auc
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vrspam import AUCClassifier, AUCClassifierCV, HashFolds, metrics
from vrspam._utils.findings import Fix, VrspamError, text_of
from vrspam._utils.validation import Rows, error_in_block
from vrspam.model_selection.block_source import add_scores, held_out_of, score_block
from vrspam.model_selection.hashing import row_hashes
from vrspam.moments import ClassMoments
from vrspam.objective.blocks import Block


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The best l", UserWarning)
        yield


def cut(X, y, size, weights=None):
    parts = (X, y) if weights is None else (X, y, weights)
    return [tuple(part[a : a + size] for part in parts) for a in range(0, len(y), size)]


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("l1s", [(0.0,), (0.0, 1e-3, 1e-2)])
def test_same_choice_as_in_memory(container, weighted, l1s):
    X, y = make_data(600, 5, seed=4)
    X[np.random.default_rng(1).random(X.shape) < 0.3] = 0.0
    weights = np.random.default_rng(0).integers(0, 3, 600).astype(float) if weighted else None
    folds = HashFolds(4, random_state=7)
    whole = AUCClassifierCV(l1s=l1s, cv=folds, tol=1e-13).fit(X, y, sample_weight=weights)
    blocks = cut(container(X), y, 83, weights)
    for cv in ({"cv": folds}, {"cv": 4, "random_state": 7}):
        streamed = AUCClassifierCV(l1s=l1s, **cv, tol=1e-13).fit_stream(blocks)
        assert (streamed.l2_, streamed.l1_) == pytest.approx((whole.l2_, whole.l1_), rel=1e-12)
        np.testing.assert_allclose(streamed.coef_, whole.coef_, rtol=1e-8, atol=1e-11)
        np.testing.assert_allclose(streamed.auc_path_, whole.auc_path_, atol=1e-6)
        assert streamed.selection_["n_features"] == whole.selection_["n_features"]
        assert streamed.moments_ == whole.moments_
        assert streamed.n_features_in_ == 5
        np.testing.assert_allclose(streamed.decision_function(X), whole.decision_function(X), atol=1e-8)


def test_folds_follow_the_content_alone():
    X = make_data(500, 4, seed=1)[0].astype(np.float32)
    X[::3, 1] = 0.0
    fold = HashFolds(5).fold_of(X)
    order = np.random.default_rng(0).permutation(500)
    np.testing.assert_array_equal(HashFolds(5).fold_of(X[order]), fold[order])
    np.testing.assert_array_equal(HashFolds(5).fold_of(X.astype(np.float64)), fold)
    np.testing.assert_array_equal(HashFolds(5).fold_of(np.asfortranarray(X)), fold)
    np.testing.assert_array_equal(HashFolds(5).fold_of(sparse.csr_array(X)), fold)
    negative_zero = X.copy()
    negative_zero[::3, 1] = -0.0
    np.testing.assert_array_equal(HashFolds(5).fold_of(negative_zero), fold)
    assert (HashFolds(5, random_state=1).fold_of(X) != fold).mean() > 0.5
    train, validation = next(iter(HashFolds(5).split(X)))
    np.testing.assert_array_equal(np.sort(np.concatenate([train, validation])), np.arange(500))
    with pytest.raises(ValueError, match="n_splits"):
        HashFolds(1)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), kind=st.sampled_from(["normal", "small integers", "pairs of ones", "signs"]))
def test_hashes_spread_rows_evenly(seed, kind):
    rng = np.random.default_rng(seed)
    X = {
        "normal": lambda: rng.standard_normal((4000, 3)),
        "small integers": lambda: rng.integers(0, 50, (4000, 4)).astype(float),
        "pairs of ones": lambda: (
            np.eye(4000, 400)[rng.permutation(4000) % 400] + np.eye(4000, 400)[rng.permutation(4000) % 400]
        ),
        "signs": lambda: np.sign(rng.standard_normal((4000, 30))),
    }[kind]()
    distinct = np.unique(X, axis=0)
    hashes = row_hashes(distinct, seed)
    assert np.unique(hashes).size == len(distinct)
    expected = len(distinct) / 5
    counts = np.bincount((hashes % np.uint64(5)).astype(int), minlength=5)
    assert np.all(np.abs(counts - expected) < 6 * np.sqrt(expected))


def test_long_streams_take_a_sample_of_each_class():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((6000, 3))
    y = (X[:, 0] + rng.standard_normal(6000) > 2.0).astype(int)  # about 8 % positives
    folds, coefs = HashFolds(3), rng.standard_normal((3, 4, 3))
    most = 700
    edges = ((0, 100), (100, 2500), (2500, 6000))
    blocks = [Block(number, Rows(X[a:b], y[a:b], None)) for number, (a, b) in enumerate(edges)]
    total = reduce(add_scores, [score_block(block, 1, coefs, folds, most) for block in blocks])
    found = [held_out_of(total).of_fold(number) for number in range(3)]
    aucs = np.stack([metrics.roc_auc_columns(b.positive, b.scores, b.weights) for b in found], axis=1)
    assert [sample.seen for sample in total] == [int((y == 0).sum()), int((y == 1).sum())]
    assert max(sample.seen for sample in total) > most
    # The rows that must have been kept, by sorting all hashes.
    hashes, fold = row_hashes(X), folds.fold_of(X)
    kept = np.concatenate([np.flatnonzero(y == c)[np.argsort(hashes[y == c])[:most]] for c in (0, 1)])
    for number in range(3):
        rows = kept[fold[kept] == number]
        for point in range(4):
            expected = pairwise_auc(y[rows], X[rows] @ coefs[number, point])
            assert aucs[point, number] == pytest.approx(expected, abs=1e-12)
    blocks = cut(X, y, 500)
    sampled = AUCClassifierCV(cv=3).fit_stream(blocks, validation_rows=400)
    whole = AUCClassifierCV(cv=HashFolds(3)).fit(X, y)
    np.testing.assert_allclose(sampled.auc_path_, whole.auc_path_, atol=0.06)  # about four standard errors
    np.testing.assert_allclose(sampled.gap_path_, whole.gap_path_, atol=1e-8)


def test_refusals_leave_the_model_alone():
    X, y = make_data(200, 3)
    model = AUCClassifierCV().fit(X, y)
    before = model.coef_.copy()
    blocks = cut(X, y, 60)
    bad = X[:60].copy()
    bad[0, 0] = np.nan
    for chunks, message in (
        (iter(blocks), "twice"),
        ([*blocks, (bad, y[:60])], "Block 4: Input X contains NaN"),
        (
            [(X[y == 0], y[y == 0])],
            "Fold 0 has rows of one class only, and needs both classes: use fewer folds",
        ),
        ([], "no rows"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit_stream(chunks)
        np.testing.assert_array_equal(model.coef_, before)
    for settings_, message in (
        ({"cv": [(np.arange(100), np.arange(100, 200))]}, "split by their hash"),
        ({"features": "additive"}, "has no feature maps"),
        ({"random_state": np.random.RandomState(0)}, "None or an integer"),
        ({"cv": 180}, r"Fold \d+ has (no rows|rows of one class only)"),
    ):
        with pytest.raises(ValueError, match=message):
            AUCClassifierCV(**settings_).fit_stream(blocks)
    with pytest.raises(ValueError, match="validation_rows"):
        model.fit_stream(blocks, validation_rows=0)


def test_an_error_in_a_block_keeps_its_fields():
    error = error_in_block(3, VrspamError("no column 'age': give ", Fix("target")))
    assert str(error) == "Block 3: no column 'age': give target="
    assert text_of(error, lambda fix: f"--{fix.option}") == "Block 3: no column 'age': give --target"


@pytest.mark.parametrize("where", ["_validate_rows", "moments"])
def test_an_error_of_the_reader_of_a_block_keeps_its_fields(where, monkeypatch):
    def refuse(*_, **__):
        raise VrspamError("give ", Fix("target"))

    X, y = make_data(60, 3)
    owner = AUCClassifierCV if where == "_validate_rows" else ClassMoments
    monkeypatch.setattr(owner, "_validate_rows" if where == "_validate_rows" else "add_checked", refuse)
    with pytest.raises(VrspamError, match="Block 0: give target=") as refused:
        AUCClassifierCV().fit_stream([(X, y)])
    assert text_of(refused.value, lambda fix: f"--{fix.option}") == "Block 0: give --target"


def test_too_many_features_for_blocks_say_what_any_reader_can_do():
    X, y = np.random.default_rng(0).random((20, 5001)), np.arange(20) % 2
    with pytest.raises(ValueError, match="leave some out, or hold all rows in memory"):
        AUCClassifierCV(cv=2).fit_stream([(X, y)])


@pytest.mark.parametrize("most", [10_000, 40])
def test_held_out_scores_are_those_of_models_of_the_other_folds(most):
    X, y = make_data(500, 4, seed=2)
    folds = HashFolds(3)
    streamed = AUCClassifierCV(cv=folds).fit_stream(cut(X, y, 70), validation_rows=most)
    found, fold = streamed.held_out_, folds.fold_of(X)
    # the models of all folds give all rows the mean score that the model of all rows gives them
    mean_score = (streamed.decision_function(X) - streamed.baseline_).mean()
    expected = np.empty(500)
    for number in range(3):
        other = AUCClassifier(streamed.l2_).fit(X[fold != number], y[fold != number])
        scores = other.decision_function(X)
        expected[fold == number] = (scores - scores.mean() + mean_score)[fold == number]
    rows = [int(np.argmin(np.abs(expected - score))) for score in found.scores]
    np.testing.assert_allclose(found.scores, expected[rows], atol=1e-9)
    np.testing.assert_array_equal(found.positive, y[rows] == 1)
    np.testing.assert_array_equal(found.fold, fold[rows])
    assert len(set(rows)) == len(rows) == min(most, (y == 0).sum()) + min(most, (y == 1).sum())
    for label in (0, 1):  # each sampled row stands for as many as its class has for one of them
        assert found.weights[found.positive == label].sum() == pytest.approx((y == label).sum())


def test_held_out_rows_keep_their_weights_and_those_without_are_left_out():
    X, y = make_data(400, 3, seed=4)
    weights = np.random.default_rng(0).choice([0.0, 0.5, 2.0], 400)
    found = AUCClassifierCV([1e-2], cv=3).fit_stream(cut(X, y, 90, weights)).held_out_
    for label in (0, 1):
        kept = weights[(y == label) & (weights > 0)]
        np.testing.assert_array_equal(np.sort(found.weights[found.positive == label]), np.sort(kept))


def test_held_out_rows_are_those_of_the_last_fit():
    X, y = make_data(200, 3)
    model = AUCClassifierCV([1e-2, 1e-1], cv=3)
    assert model.fit_stream(cut(X, y, 60)).held_out_.positive.size == 200
    assert not hasattr(model.fit(X, y), "held_out_")


def test_float32_blocks_are_certified_on_the_whole_grid():
    """The smallest penalties of the automatic grid are below what products in float32 can resolve."""
    X, y = make_data(300, 8)
    X = X.astype(np.float32)
    model = AUCClassifierCV(cv=3).fit_stream(cut(X, y, 70))
    exact = AUCClassifierCV(model.l2s_, cv=3).fit_stream(cut(X.astype(np.float64), y, 70))
    assert model.converged_path_.all()
    np.testing.assert_allclose(model.coef_, exact.coef_, rtol=1e-3, atol=1e-6)


def test_entries_in_several_parts_are_in_the_fold_of_their_sum():
    split = sparse.csr_array(([1.0, 2.0, 5.0, 3.0], [0, 0, 1, 1], [0, 3, 4]), shape=(2, 2))
    assert not split.has_canonical_format
    np.testing.assert_array_equal(row_hashes(split), row_hashes(np.array([[3.0, 5.0], [0.0, 3.0]])))
    assert split.nnz == 4  # and the matrix is left as it was
