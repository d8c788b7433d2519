"""Fits of rows in blocks: a stream and clusters share one function for each estimator; only their `Blocks` differ.

Functions that take a block are tasks: they run where its rows are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from vrspam._utils import array_api, validation
from vrspam._utils.validation import Rows, error_in_block
from vrspam._utils.warnings import StrataWithoutPairs, warn
from vrspam.estimators.exact_fits import keep_exact_fit, settings_of
from vrspam.estimators.search import Searched, keep_search_of_blocks, make_search, maps_that_obey
from vrspam.features import FeatureMap
from vrspam.features.names import named_maps
from vrspam.model_selection.block_source import BlockFolds
from vrspam.model_selection.choose_model import Selected, choose_point_of_blocks
from vrspam.model_selection.hashing import HashFolds
from vrspam.model_selection.maps_on_blocks import MapsOnBlocks
from vrspam.moments import ClassMoments, PairMoments, PairSums, RankedPairs
from vrspam.objective.blocks import Block, Blocks, SummedWithin, add_to_moments
from vrspam.solvers import MOMENTS_MAX_FEATURES_DENSE, ExactFit

MOST_FEATURES_WITH_MATRICES = 20_000  # of two d×d matrices, where there is no way without them


# One optimum, for given penalties.


def fit_blocks(estimator: Any, blocks: Blocks) -> ExactFit:
    """Find the optimum for the rows of all blocks, or for the pairs inside their strata, and keep it.

    Up to 5,000 features the blocks are read once; with more, once for each product with Σ.
    """
    equal_strata = estimator.strata_weight == "strata"
    sums = blocks.reduce(add_to_sums, add_sums, MOMENTS_MAX_FEATURES_DENSE, blocks.read_once, equal_strata)
    moments: PairSums = sums.checked() if isinstance(sums, PairsOfStrata) else sums
    n_features = moments.means.shape[1]
    estimator._store_columns(n_features, blocks.feature_names)  # limits may use the names

    settings = settings_of(estimator, n_features)
    if moments.has_scatter:
        fit = settings.fit_sums(moments)
    else:
        fit = settings.fit_within(SummedWithin(blocks, moments), moments)
    keep_exact_fit(estimator, fit)
    return fit


def add_to_sums(total: Any, block: Block, widest: int, read_once: bool, equal_strata: bool) -> Any:
    """Add a block to the sums over the pairs of two classes, or of its strata; with matrices up to `widest` features.

    Sums of strata, and of rows that cannot be read again, always have matrices.
    """
    n_features = block.rows.X.shape[1]
    if n_features > MOST_FEATURES_WITH_MATRICES:
        if block.strata is not None:
            raise too_wide("A fit by blocks that has strata", n_features, "use fit with all rows in memory")
        if read_once:
            way = "give chunks that can be gone through again (a list, vrspam.data.read_chunks)"
            raise too_wide("A stream that can be read only once", n_features, way)
    if block.strata is not None:
        return PairsOfStrata.with_block(total, block, equal_strata)
    if total is None:
        total = ClassMoments(scatter=read_once or n_features <= widest)
    return add_to_moments(total, block)


def too_wide(what: str, n_features: int, way: str) -> ValueError:
    """The error that matrices would be too large."""
    gigabytes = 16 * n_features**2 / 1e9
    return ValueError(f"{what} needs two {n_features}×{n_features} matrices ({gigabytes:.0f} GB): {way}.")


def add_sums(total: Any, part: Any) -> Any:
    """The sum of two totals of `add_to_sums`; `total` may change."""
    if isinstance(total, ClassMoments):
        return total.put_in(part)
    return total + part


class PairsOfStrata(NamedTuple):
    """Sums over pairs inside whole strata, the strata's names, and the numbers of strata, and rows, without pairs."""

    moments: PairMoments
    names: frozenset
    without: int
    rows: int

    @staticmethod
    def with_block(total: PairsOfStrata | None, block: Block, equal_strata: bool) -> PairsOfStrata:
        """The sum with a block that holds all rows of its strata; an error names the block."""
        assert block.strata is not None
        try:
            part = PairsOfStrata.of(block.rows, block.strata, equal_strata)
            return part if total is None else total + part
        except ValueError as error:
            raise error_in_block(block.number, error) from error

    @classmethod
    def of(cls, rows: Rows, strata: np.ndarray, equal_strata: bool) -> PairsOfStrata:
        """The sums of all rows of these strata."""
        numbers = validation.numbers_of(strata, rows.X.shape[0], "strata", "stratum")
        labels, rank = np.unique(array_api.on_host(rows.y), return_inverse=True)
        pairs = RankedPairs(rank.astype(np.float64), np.ones(rank.size, dtype=bool), numbers, equal_strata)
        without = np.flatnonzero(pairs.pairs_of_strata(rows.weights) == 0.0)
        moments = PairMoments.of_pairs(pairs, rows.X, rows.weights, classes=labels)
        rows_without = int(np.isin(numbers, without).sum())
        return cls(moments, frozenset(strata.tolist()), without.size, rows_without)

    def __add__(self, other: PairsOfStrata) -> PairsOfStrata:  # type: ignore[override]
        """The sum; an error if a stratum is in both."""
        in_both = self.names & other.names
        if in_both:
            raise ValueError(f"Rows of the stratum {next(iter(in_both))!r} lie apart: sort the rows by their strata.")
        return PairsOfStrata(
            self.moments + other.moments,
            self.names | other.names,
            self.without + other.without,
            self.rows + other.rows,
        )

    def checked(self) -> PairMoments:
        """The sums; an error if there is no pair, a warning if strata have none."""
        if not self.moments.complete:
            raise ValueError("No two rows can be compared: no stratum has rows of both classes.")
        if self.without:
            warn(StrataWithoutPairs(self.without, len(self.names), self.rows))
        return self.moments


# A search among penalties, and among feature maps.


def search_blocks(
    estimator: Any, blocks: Blocks, folds: HashFolds, validation_rows: int, *, correct: bool = True
) -> None:
    """Choose the penalties, and the feature map, by cross-validation on all blocks, fit all rows with them, keep it.

    At most `validation_rows` held-out rows of each class are scored. With `correct` the AUC is corrected for the
    choice, which repeats it some hundred times on these rows.
    """
    if blocks.for_maps:
        searched = search_maps_on_blocks(estimator, blocks, folds, validation_rows)
    else:
        source = BlockFolds(blocks, folds, validation_rows)
        estimator._store_columns(source.total.means.shape[1], blocks.feature_names)
        selected = choose_point_of_blocks(source, make_search(estimator, {}), correct)
        why = "the rows came in blocks and were not kept; fit reads curves from rows in memory"
        searched = Searched(selected, why)
    keep_search_of_blocks(estimator, searched)


def search_maps_on_blocks(estimator: Any, blocks: Blocks, folds: HashFolds, validation_rows: int) -> Searched:
    """Choose among feature maps."""
    random_state = 0 if estimator.random_state is None else estimator.random_state
    seed = check_random_state(random_state).randint(2**31)
    maps = named_maps(estimator.features, seed)
    if estimator.features == "auto":  # trees that learn from labels need all rows in one place
        maps = {name: features for name, features in maps.items() if not features.supervised}
    refuse_foreign_maps(maps)
    assert blocks.n_features is not None
    estimator._store_columns(blocks.n_features, blocks.feature_names)
    maps = maps_that_obey(estimator, maps, None)

    search = replace(make_search(estimator, maps), seed=seed)
    on_blocks = MapsOnBlocks(blocks, folds, validation_rows, search)
    comparison = on_blocks.choose(maps, alone=estimator.selection != "blend")  # "blend" always blends
    fit = comparison.fitted()
    selected = Selected(comparison, fit, on_blocks.held_out(fit), None)
    why = "the rows stayed on the cluster; fit of AUCClassifierCV reads curves from rows in memory"
    return Searched(selected, why)


def refuse_foreign_maps(maps: dict[str, Any]) -> None:
    """Refuse maps that need all rows in one place, or are of another package."""
    for name, features in maps.items():
        if getattr(features, "supervised", False):
            raise ValueError(f"{name} learns from the labels of all rows in one place: on a cluster use other maps.")
        if not isinstance(features, FeatureMap):
            raise ValueError(f"{name} cannot be a feature map on a cluster: use names, or maps of vrspam.features.")
