"""What the estimators of every cluster engine share: folds of blocks of rows, feature maps on them, and the fits.

No engine is imported here. An engine provides its `Blocks`, and estimators that make them from its collections.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from vrspam._utils.validation import Rows
from vrspam.estimators.base import PairwiseEstimator
from vrspam.estimators.cv import AUCClassifierCV
from vrspam.estimators.exact import AUCClassifier, keep_exact_fit, solver_of
from vrspam.estimators.search import Searched, keep_search_of_blocks, make_search, maps_that_obey
from vrspam.estimators.streams import PairsOfStrata, validated_rows
from vrspam.features import FeatureMap
from vrspam.features.mapped import MappedArray
from vrspam.features.names import is_plain, named_maps
from vrspam.metrics.correction import Sample
from vrspam.model_selection.block_source import (
    ClassSamples,
    FoldMoments,
    add_block,
    add_scores,
    add_to_folds,
    held_out_of,
    score_block,
)
from vrspam.model_selection.candidates import Candidate
from vrspam.model_selection.choose_model import Selected
from vrspam.model_selection.compare import Comparison, compare
from vrspam.model_selection.cross_validate import cross_validate
from vrspam.model_selection.folds import FoldedRows, Split
from vrspam.model_selection.hashing import HashFolds, HashSample
from vrspam.model_selection.held_out import HeldOut, sample_of
from vrspam.model_selection.race import Race, race
from vrspam.model_selection.refit import Fitted
from vrspam.model_selection.search import GridSearch
from vrspam.moments import ClassMoments
from vrspam.objective import WithinProducts
from vrspam.solvers import MOMENTS_MAX_FEATURES_DENSE, ExactFit
from vrspam.tables import frames

SAMPLE_ROWS = 50_000
NO_ROWS = "There are no rows: every block of X is empty."


class Blocks(Protocol):
    """Blocks of rows on a cluster; `feature_names` is None where columns have no names."""

    @property
    def n_features(self) -> int: ...

    @property
    def feature_names(self) -> np.ndarray | None: ...

    def reduce(self, task: Callable, add: Callable, *shared: Any) -> Any:
        """add(...add(task(number, X, y, weights, *shared)...)) over all blocks: one pass, one result.

        `add` takes a list of results. The shared values are sent once to each worker.
        """


def fit_blocks(estimator: AUCClassifier, blocks: Blocks, strata: bool = False) -> None:
    """Find the optimum for the rows of all blocks; with `strata`, for the pairs inside strata."""
    full = strata or blocks.n_features <= MOMENTS_MAX_FEATURES_DENSE
    if strata:
        moments = blocks.reduce(block_pairs, add, clone(estimator)).checked()
    else:
        moments = blocks.reduce(block_moments, add, clone(estimator), full)
    if moments.n_features is None:
        raise ValueError(NO_ROWS)
    estimator._store_columns(moments.n_features, blocks.feature_names)
    solver = solver_of(estimator, moments.n_features)
    if full:
        fit = solver.from_moments(moments)
    else:
        fit = solver.from_operator(ClusterProducts(blocks, moments, clone(estimator)), moments)
    keep_exact_fit(estimator, fit)


def refuse_strata(strata: object, name: str) -> None:
    """Refuse strata if a stratum may be split between blocks, or folds are drawn row by row."""
    if strata is not None:
        raise ValueError(
            f"{name} takes no strata, because it would split them: use DaskAUCClassifier, AUCClassifier.fit_stream "
            "with sorted rows, or AUCClassifierCV with all rows in memory."
        )


def block_pairs(number: int, X, y, weights, strata, estimator: AUCClassifier) -> PairsOfStrata:
    """The pairs inside the strata of one block."""
    rows = validated_rows(estimator, number, X, y, weights)
    if rows is None:
        return PairsOfStrata(None, frozenset(), 0, 0)
    return PairsOfStrata.of(rows, np.asarray(strata), estimator.strata_weight == "strata")


class ClusterProducts:
    """Σ as a sum over blocks on the cluster: each multiplication is one distributed pass."""

    def __init__(self, blocks: Blocks, moments: ClassMoments, estimator: PairwiseEstimator):
        self.blocks, self.moments, self.estimator = blocks, moments, estimator

    def __matmul__(self, w: np.ndarray, /) -> np.ndarray:
        known = (self.moments.classes[1], self.moments.means, self.moments.weights)
        return self.blocks.reduce(block_product, add, self.estimator, known, w)


def fit_blocks_by_folds(estimator: AUCClassifierCV, blocks: Blocks, folds: HashFolds, validation_rows: int) -> None:
    """Choose the penalties, and the feature map, by cross-validation on all blocks, then fit all rows with them."""
    cluster = Cluster(blocks, clone(estimator), folds, validation_rows)
    if is_plain(estimator.features, np.empty((0, blocks.n_features))):
        estimator._fit_source(ClusterFolds(cluster), blocks.feature_names, correct=False)
        return
    random_state = 0 if estimator.random_state is None else estimator.random_state
    seed = check_random_state(random_state).randint(2**31)
    maps = named_maps(estimator.features, seed)
    if estimator.features == "auto":  # trees that learn from labels need all rows in one place
        maps = {name: features for name, features in maps.items() if not features.supervised}
    for name, features in maps.items():
        if getattr(features, "supervised", False):
            raise ValueError(f"{name} learns from the labels of all rows in one place: on a cluster use other maps.")
        if not isinstance(features, FeatureMap):
            raise ValueError(f"{name} cannot be a feature map on a cluster: use names, or maps of vrspam.features.")
    estimator._store_columns(blocks.n_features, blocks.feature_names)
    maps = maps_that_obey(estimator, maps, None)
    search = replace(make_search(estimator, maps), seed=seed)
    on_blocks = MapsOnBlocks(cluster, search)
    found = on_blocks.choose(maps, alone=estimator.selection != "blend")  # "blend" always blends
    fit = found.fitted()
    selected = Selected(found, fit, on_blocks.held_out(fit), None)
    why = "the rows stayed on the cluster; fit of AUCClassifierCV reads curves from rows in memory"
    keep_search_of_blocks(estimator, Searched(selected, why))


def not_corrected(name: str, collector: str) -> Any:
    """An attribute that a cluster does not have; `collector` is the engine's name of the process that adds results."""

    def refuse(estimator: AUCClassifierCV) -> float:
        raise AttributeError(
            f"{type(estimator).__name__} has no {name}: the correction repeats the choice some hundred times, all of "
            f"it on the {collector}. AUCClassifierCV.fit_stream on the same rows gives it."
        )

    return property(refuse, doc="Not available on a cluster: an AttributeError says why.")


class Cluster(NamedTuple):
    """Blocks, the estimator that validates them, their folds, and the most rows of a class that send their scores."""

    blocks: Any
    estimator: PairwiseEstimator
    folds: HashFolds
    most: int

    def held_out(self, positive: Any, features: FeatureMap | None, coefs: np.ndarray) -> HeldOut:
        """Return scores of all rows, or of a sample of each class, by the coefficients fitted without their fold."""
        shared = self._replace(blocks=None)  # these are sent to the workers, where the rows are
        return held_out_of(self.blocks.reduce(block_scores, add_scores, shared, positive, features, coefs))


class ClusterFolds(FoldMoments):
    """The moments of each fold, found in one pass over the blocks: of the rows, or of their features by a map."""

    def __init__(self, cluster: Cluster, features: FeatureMap | None = None):
        self.cluster, self.features = cluster, features
        known = (cluster.estimator, cluster.folds, features)
        moments = cluster.blocks.reduce(block_fold_moments, add_fold_moments, *known)
        if all(fold.n_features is None for fold in moments):
            raise ValueError(NO_ROWS)
        super().__init__(moments)

    def held_out(self, coefs: Mapping[int, np.ndarray]) -> HeldOut:
        """Return the scores of all rows, or of a sample of each class, from one distributed pass."""
        stacked = np.stack([coefs[fold] for fold in range(self.n_folds)])
        return self.cluster.held_out(self.total.classes[1], self.features, stacked)


class MapsOnBlocks:
    """Evaluates feature maps on a cluster: each map takes one pass over the blocks for moments, and one for scores.

    Maps learn quantiles and landmarks from a sample: the rows with the smallest hashes. With many rows, the maps are
    first compared on this sample, and only those that may still win are evaluated on all rows.
    """

    def __init__(self, cluster: Cluster, search: GridSearch):
        self.cluster, self.search = cluster, search
        known = (cluster.estimator, cluster.folds, SAMPLE_ROWS)
        found = cluster.blocks.reduce(block_sample, add_samples, *known).columns
        if not found:
            raise ValueError(NO_ROWS)
        _, y, X, weights = found
        self.rows = Rows(X, y, weights)
        self._sample: Sample | None = None

    def choose(self, maps: dict[str, Any], alone: bool) -> Comparison:
        """Compare the maps, first by a race on the sample if it is large, and fit the chosen ones on all rows."""
        finalists, others = Race(maps, {})
        labels = np.unique(self.rows.y)
        if labels.size == 2:
            splits = [Split(*split) for split in self.cluster.folds.split(self.rows.X)]
            folded = FoldedRows(self.rows, splits, labels, self.rows.y == labels[1])
            finalists, others = race(maps, folded, self.search, lambda what: None, alone)
        return replace(compare(finalists, self, self.search.rule), order=tuple(maps), others=others)

    def held_out(self, fit: Fitted) -> HeldOut:
        """Return the held-out rows, or a sample of each class, with their scores by the chosen model."""
        assert fit.models is not None
        coefs, intercepts = fit.models
        found = self.cluster.held_out(fit.moments.classes[1], fit.features, coefs[:, np.newaxis])
        return found.at(0, intercepts)

    def evaluate(self, name: str, features: FeatureMap) -> tuple[Candidate, ClusterFolds]:
        """Return the candidate for a map, and the source of its folds."""
        features.learn(self.rows.X, self.rows.weights)
        MappedArray(self.rows.X, features)  # refuses too many features
        source = ClusterFolds(self.cluster, features)
        found = cross_validate(source, self.search.on(features), keep_coefs=True)
        assert found.held_out is not None
        if self._sample is None:  # all maps use the same rows, in the same order
            self._sample = sample_of(found.held_out, self.search.n_points, self.search.seed)
        candidate = Candidate.of(
            name,
            features,
            found.sampled(self._sample),  # all points of all maps would take too much memory
            self.search.rule,
            self._sample,
            n_features=source.total.means.shape[1],
            n_rows=int(source.total.rows.sum()),
        )
        return candidate, source

    def fit(self, candidate: Candidate, source: ClusterFolds | None = None) -> ExactFit:
        """Return the chosen point of a candidate, fitted on all rows."""
        source = ClusterFolds(self.cluster, candidate.features) if source is None else source
        return self.search.on(candidate.features).solver(candidate.choice).from_moments(source.total)


# Tasks: what is computed for one block of rows, and how results are added up. A task takes the number of its block,
# X, y, the weights, and values that all blocks share.


def add(parts: list):
    """Return the sum of a few results."""
    return functools.reduce(operator.add, parts)


def add_fold_moments(parts: list[list[ClassMoments]]) -> list[ClassMoments]:
    """Return the sum of the moments of each fold."""
    return [add(list(fold)) for fold in zip(*parts, strict=True)]


def add_samples(parts: list[HashSample]) -> HashSample:
    """Join several samples; the given ones are not changed."""
    return functools.reduce(HashSample.add, parts, HashSample(parts[0].most))


def block_moments(number: int, X, y, weights, estimator: PairwiseEstimator, full: bool) -> ClassMoments:
    """Return the moments of a block."""
    rows = validated_rows(estimator, number, X, y, weights)
    moments = ClassMoments(scatter=full)
    if rows is not None:
        add_block(moments, rows, number)
    return moments


def block_product(number: int, X, y, weights, estimator: PairwiseEstimator, known: tuple, w: np.ndarray) -> np.ndarray:
    """Return what a block adds to Σw; `known` holds the positive label, and the means and weights of the classes."""
    rows = validated_rows(estimator, number, X, y, weights)
    if rows is None:
        return np.zeros_like(w)
    positive, means, sizes = known
    return WithinProducts(rows.X, rows.y == positive, rows.weights, means, sizes) @ w


def block_fold_moments(
    number: int, X, y, weights, estimator: PairwiseEstimator, folds: HashFolds, features: FeatureMap | None = None
) -> list[ClassMoments]:
    """Return the moments of a block's rows, or of their features under a map, in each fold."""
    rows = table_rows(estimator, number, X, y, weights, features is not None)
    moments = [ClassMoments() for _ in range(folds.n_splits)]
    if rows is not None:
        add_to_folds(moments, rows, number, folds, features)
    return moments


def block_scores(number: int, X, y, weights, cluster: Cluster, positive_label, features, coefs) -> ClassSamples:
    """Score the rows of a block, each with the coefficients that were fitted without its fold."""
    rows = table_rows(cluster.estimator, number, X, y, weights, features is not None)
    if rows is None:
        return HashSample(cluster.most), HashSample(cluster.most)
    return score_block(rows, positive_label, coefs, cluster.folds, cluster.most, features)


def table_rows(estimator: PairwiseEstimator, number: int, X, y, weights, for_map: bool) -> Rows | None:
    """A block, validated; for a feature map numbers may be missing."""
    if for_map and frames.is_frame(X):
        frames.check_frame(X)
        X = np.column_stack([frames.numbers(X, column) for column in range(X.shape[1])])
    return validated_rows(estimator, number, X, y, weights, table=for_map)


def block_sample(number: int, X, y, weights, estimator: PairwiseEstimator, folds: HashFolds, most: int) -> HashSample:
    """Return the rows of a block that may be in the sample, as hashes, labels, dense rows and weights."""
    rows = table_rows(estimator, number, X, y, weights, True)
    if rows is None:
        return HashSample(most)
    hashes = folds.hashes(rows.X)
    kept = np.lexsort([rows.y, hashes])[:most]  # equal rows may have different labels
    X = rows.X[kept].toarray() if sparse.issparse(rows.X) else rows.X[kept]
    return HashSample(most, hashes[kept], rows.y[kept], X, None if rows.weights is None else rows.weights[kept])
