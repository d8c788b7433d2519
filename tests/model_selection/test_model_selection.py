"""Folds from different sources through the one driver, and the choice among feature maps by given scores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers import make_data
from scipy import sparse

from vrspam import AUCClassifier, AUCClassifierCV, ClassMoments, HashFolds
from vrspam._utils.validation import Rows
from vrspam.estimators.streams import StreamBlocks
from vrspam.features import AdditiveFeatures, LinearFeatures
from vrspam.features.mapped import MappedArray
from vrspam.model_selection.block_source import BlockFolds
from vrspam.model_selection.compare import compare
from vrspam.model_selection.cross_validate import CrossValidated, GridScores, cross_validate
from vrspam.model_selection.folds import FoldedRows, Split
from vrspam.model_selection.grid_search import GridSearch
from vrspam.model_selection.held_out import HeldOut, in_range
from vrspam.model_selection.maps_in_memory import MapsInMemory, learn_maps
from vrspam.model_selection.sources import FoldProblem, RowsInMemory
from vrspam.objective import SquaredPairLoss
from vrspam.solvers import ExactFit
from vrspam.solvers.base import Solution

FOLDS = HashFolds(3, random_state=5)
SEARCH = GridSearch([1e-2, 1.0, 1e-1], [0.0, 1e-2, 1e3], 1e-13, 1000, None)  # the last l1 makes all coefficients 0


def hashed_splits(X) -> list[Split]:
    return [Split(*pair) for pair in FOLDS.split(X)]


def in_memory(X, y, weights=None) -> RowsInMemory:
    return RowsInMemory(
        Rows(X, y, weights), hashed_splits(np.asarray(X.todense() if sparse.issparse(X) else X)), CLASSES
    )


def in_blocks(X, y, weights=None, most=10_000) -> BlockFolds:
    starts = range(0, y.size, 70)
    parts = [(X[a : a + 70], y[a : a + 70], None if weights is None else weights[a : a + 70]) for a in starts]
    return BlockFolds(StreamBlocks(AUCClassifierCV(), parts), FOLDS, most)


CLASSES = np.array([0, 1])
SOURCES: dict[str, Any] = {
    "dense": in_memory,
    "csr": lambda X, y, weights: in_memory(sparse.csr_array(X), y, weights),
    "float32": lambda X, y, weights: in_memory(X.astype(np.float32), y, weights),
    "blocks": in_blocks,
    "csr blocks": lambda X, y, weights: in_blocks(sparse.csr_array(X), y, weights),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", SOURCES)
def test_a_block_holds_the_held_out_rows_of_one_fold_with_their_scores(kind, weighted):
    """Every metric of the held-out rows can be computed from these blocks."""
    X, y = make_data(300, 4, seed=3)
    X = X.astype(np.float32).astype(np.float64)
    weights = np.random.default_rng(0).choice([0.5, 1.0, 2.0], 300) if weighted else None
    coefs = np.random.default_rng(1).standard_normal((3, 5, 4)) * 10.0 ** np.array([0, 30, -30, 3, -60])[:, None]
    source, fold = SOURCES[kind](X, y, weights), FOLDS.fold_of(X)
    scaled, exponents = zip(*map(in_range, coefs), strict=True)
    for number in range(3):
        if source.points_at_once(number) is None:
            block = source.held_out(dict(enumerate(scaled))).of_fold(number)
        else:
            block = source.held_out({number: scaled[number]})
        rows = np.flatnonzero(fold == number)
        expected = X[rows] @ coefs[number].T
        order, given = np.argsort(expected[:, 0]), np.argsort(block.scores[:, 0])
        rtol = 1e-4 if kind == "float32" else 1e-9
        scale = np.abs(expected).max(axis=0)
        values = np.ldexp(block.scores.astype(np.float64), exponents[number])
        np.testing.assert_allclose(values[given] / scale, expected[order] / scale, atol=rtol)
        np.testing.assert_array_equal(block.positive[given], y[rows][order] == 1)
        if weights is None:
            assert block.weights is None
        else:
            np.testing.assert_array_equal(block.weights[given], weights[rows][order])


def listen(monkeypatch, source):
    """A list of how many points the source is asked for at a time."""
    asked: list[int] = []
    plain = source.held_out

    def held_out(coefs):
        asked.extend(len(of_fold) for of_fold in coefs.values())
        return plain(coefs)

    monkeypatch.setattr(source, "held_out", held_out)
    return asked


def test_points_without_coefficients_are_not_scored_in_memory(monkeypatch):
    source = in_memory(*make_data(300, 4, seed=3))
    asked = listen(monkeypatch, source)
    found = cross_validate(source, SEARCH)
    assert asked == [6, 6, 6]  # of nine points the last l1 makes three zero
    np.testing.assert_array_equal(found.scores.auc[:, 2], 0.5)


@pytest.mark.parametrize("kind", [name for name in SOURCES if name != "float32"])
def test_the_driver_gives_the_same_from_every_source(kind):
    X, y = make_data(300, 4, seed=3)
    weights = np.random.default_rng(0).integers(0, 3, 300).astype(float)
    source_in_memory, source = in_memory(X, y, weights), SOURCES[kind](X, y, weights)
    expected = cross_validate(source_in_memory, SEARCH).scores
    found, coefs, _ = cross_validate(source, SEARCH, keep_coefs=True)
    np.testing.assert_allclose(found.auc, expected.auc, atol=1e-9)
    np.testing.assert_array_equal(found.auc[:, 2], 0.5)
    np.testing.assert_allclose(found.intercepts, expected.intercepts, atol=1e-7)
    assert found.converged.all()
    assert found.gaps.shape == (3, 3, 3)
    assert source.total == source_in_memory.total
    fold = FOLDS.fold_of(X)
    for number in range(3):  # coefficients and intercepts are those of a model of the other folds
        other = (fold != number) & (weights > 0)
        model = AUCClassifier(0.1, 0.01, tol=1e-13).fit(X[other], y[other], sample_weight=weights[other])
        assert coefs is not None
        np.testing.assert_allclose(coefs[number, 2, 1], model.coef_[0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found.intercepts[2, 1, number], model.intercept_[0], atol=1e-6)


class WholeFolds:
    """A source of folds defined outside the package, as a cluster engine would define it."""

    n_folds, like = 3, None

    def __init__(self, X, y):
        self.X, self.y, self.fold = X, y, FOLDS.fold_of(X)
        self.total = ClassMoments.from_data(X, y)

    def problem(self, many_products):
        return FoldProblem(small=True, many_products=many_products, bytes_each=1)

    def training(self, fold):
        moments = ClassMoments.from_data(self.X[self.fold != fold], self.y[self.fold != fold])
        return SquaredPairLoss.from_moments(moments), moments.means.mean(axis=0)

    def points_at_once(self, fold):
        return 4

    def held_out(self, coefs):
        ((fold, of_fold),) = coefs.items()
        rows = self.fold == fold
        return HeldOut(self.y[rows] == 1, self.X[rows] @ of_fold.T, fold, None)


def test_a_source_from_outside_the_package():
    X, y = make_data(200, 3, seed=1)
    found = cross_validate(WholeFolds(X, y), SEARCH).scores
    expected = cross_validate(in_memory(X, y), SEARCH).scores
    np.testing.assert_allclose(found.auc, expected.auc, atol=1e-9)
    np.testing.assert_allclose(found.intercepts, expected.intercepts, atol=1e-8)


def test_features_of_a_map_are_scored_like_rows():
    X, y = make_data(200, 3, seed=1)
    features = AdditiveFeatures(random_state=0).fit(X)
    mapped = RowsInMemory(Rows(MappedArray(X, features), y, None), hashed_splits(X), CLASSES)
    coefs = np.random.default_rng(0).standard_normal((6, features.n_features_out_))
    held_out = mapped.held_out({2: coefs})
    rows = hashed_splits(X)[2].validation
    np.testing.assert_allclose(held_out.scores, features.transform(X[rows]) @ coefs.T, atol=1e-9)


def test_blocks_of_scores_stay_small(monkeypatch):
    """Only a few points of the grid are scored at a time: memory never holds the scores of all rows at all points."""
    X, y = make_data(300, 4)
    monkeypatch.setattr("vrspam.model_selection.sources.BLOCK_BYTES", 2 * 8 * 120)
    source = in_memory(X, y)
    asked = listen(monkeypatch, source)
    few = cross_validate(source, SEARCH)
    assert max(asked) <= 2
    assert sum(asked) == 18
    monkeypatch.undo()
    np.testing.assert_allclose(few.scores.auc, cross_validate(in_memory(X, y), SEARCH).scores.auc, rtol=1e-14)


def test_sampled_rows_stand_for_the_rows_of_their_class():
    X, y = make_data(300, 4)
    held_out = in_blocks(X, y, most=50).held_out(dict(enumerate(np.ones((3, 2, 4)))))
    for label in (False, True):
        kept = held_out.weights[held_out.positive == label]
        assert kept.size == 50
        assert kept.sum() == pytest.approx((y == label).sum())


@pytest.mark.filterwarnings("ignore:The best l")
def test_a_fit_leaves_nothing_of_an_earlier_one():
    """Storing a fit is one step: it removes attributes of an earlier fit, and replaces all others."""
    X, y = make_data(200, 3)
    blocks = [(X[a : a + 50], y[a : a + 50]) for a in range(0, 200, 50)]
    model = AUCClassifierCV([1e-2, 1e-1], cv=3).fit_stream(blocks)
    assert not hasattr(model.fit(X, y), "held_out_")
    mapped = AUCClassifierCV([1e-2, 1e-1], cv=3, features="additive").fit(X, y)
    assert mapped.shape_functions_
    mapped.set_params(features="linear").fit(X, y)
    assert mapped.features_ is None
    assert mapped.coef_.shape == (1, 3)
    slopes = [np.ptp(shape.contribution) / np.ptp(shape.grid) for shape in mapped.shape_functions_.values()]
    np.testing.assert_allclose(slopes, np.abs(mapped.coef_[0]))
    mapped.fit_stream(blocks)
    with pytest.raises(AttributeError, match="no shape_functions_: the rows came in blocks"):
        mapped.shape_functions_  # noqa: B018


def test_the_table_shows_the_point_that_is_taken(monkeypatch):
    """The chosen point may differ from the map's own simplest one if the best map has a larger standard error."""
    X, y = make_data(60, 2)
    given = {
        2: [[[0.90, 0.90]], [[0.85, 0.85]]],  # linear: 2 features, no spread over the folds
        36: [[[0.84, 1.00]], [[0.70, 0.70]]],  # curves: mean 0.92 with standard error 0.08
    }

    def given_scores(source, search, **_):
        auc = np.array(given[source.rows.X.shape[1]])
        nothing = np.zeros(auc.shape)
        grid = {"l2": np.array([0.1, 1.0]), "l1": np.array([0.0])}
        return CrossValidated(GridScores(grid, auc, auc, nothing, nothing == 0, nothing))

    monkeypatch.setattr("vrspam.model_selection.maps_in_memory.cross_validate", given_scores)
    maps = {"linear": LinearFeatures(), "additive": AdditiveFeatures()}
    splits = [Split(np.arange(30), np.arange(30, 60)), Split(np.arange(30, 60), np.arange(30))]
    folds = FoldedRows(Rows(X, y, None), splits, np.unique(y), y == y.max())
    search = GridSearch("auto", (0.0,), 1e-8, 1000, None)
    learn_maps(list(maps.values()), folds.rows, None, {})

    class FitNothing(MapsInMemory):
        def fit(self, candidate, source=None):
            solution = Solution(np.zeros(candidate.n_features), 0.0, 0.0, 0, True)
            return ExactFit(solution, ClassMoments.from_data(X, y), 1.0, "moments")

    rule: Any = "one-standard-error"
    found = compare(maps, FitNothing(folds, replace(search, rule=rule)), rule)
    assert (found.chosen.name, found.chosen.choice.values["l2"]) == ("linear", 1.0)  # 0.85 is within 0.08 of 0.92
    assert found.candidates[0].choice.values["l2"] == 0.1
    table = found.table()
    assert table["features"] == ["linear", "additive"]
    assert table["n_features"] == [2, 36]
    assert table["l2"] == [1.0, 0.1]
    np.testing.assert_allclose(table["auc"], [0.85, 0.92])
    np.testing.assert_allclose(table["standard_error"], [0.0, 0.08])
    assert table["chosen"] == [True, False]
    found = compare(maps, FitNothing(folds, search), "best")
    assert (found.chosen.name, found.chosen.choice.values["l2"]) == ("additive", 0.1)
