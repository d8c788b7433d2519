"""Pairs of ranked rows: inside strata, or of a numeric target with censored rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vrspam._utils.array_api import on_host
from vrspam._utils.validation import Rows
from vrspam.comparable import Comparable
from vrspam.metrics.correction import RankMeasure, Sample, group_numbers
from vrspam.moments import PairMoments, PairSums, RankedPairs
from vrspam.objective.losses import SmoothLoss
from vrspam.objective.products import PairProducts
from vrspam.objective.squared import SquaredPairLoss
from vrspam.pairs.base import LossOfRows


@dataclass(frozen=True, eq=False)
class Ranked(RankedPairs):
    """The pairs of ranked rows that count (`RankedPairs`), with what losses and measures ask of them."""

    by_class = False

    @property
    def has_labels(self) -> bool:
        """Whether there are two ranks: classes inside strata."""
        return bool(np.unique(self.rank).size == 2)

    @property
    def adds_up(self) -> bool:
        """Whether there are strata: pairs of rows of two parts of a split are in neither."""
        return self.stratum is not None

    @property
    def units(self) -> np.ndarray | None:
        """The number of the stratum of each row; None for one stratum."""
        return self.stratum

    @property
    def measure_name(self) -> str:
        """What `columns` measures, in words."""
        return "concordance" if self.stratum is None else "AUC inside strata"

    def renumbered(self) -> Ranked:
        """The same pairs, with strata numbered without gaps."""
        if self.stratum is None:
            return self
        return replace(self, stratum=np.unique(self.stratum, return_inverse=True)[1])

    def moments(
        self,
        rows: Rows,
        classes: np.ndarray,
        index: np.ndarray | None = None,
        *,
        scatter: bool = True,
        precise: bool = True,
    ) -> PairMoments:
        """Sums over the pairs; rows are always multiplied in float64."""
        return PairMoments.of_pairs(self, rows.X, rows.weights, index, classes=classes, scatter=scatter)

    def squared_loss(
        self, rows: Rows, classes: np.ndarray, sums: PairSums, index: np.ndarray | None = None
    ) -> SquaredPairLoss:
        """The squared loss by products with the rows, whose scores are summed in order."""
        assert isinstance(sums, PairMoments)
        within = PairProducts(rows.X, self.groups(rows.weights, index), sums)
        return SquaredPairLoss.from_operator(within, sums, errors=within.errors)

    def loss_on_rows(
        self,
        make: LossOfRows,
        X: Any,
        is_upper: np.ndarray,
        weights: np.ndarray | None,
        sums: PairSums,
        index: np.ndarray | None = None,
    ) -> SmoothLoss:
        """A loss that sorts scores, on the rows in order."""
        return make.of_pairs(X, self.groups(weights, index), sums)

    def tree_targets(
        self, is_upper: np.ndarray, weights: np.ndarray | None, index: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """The share of its pairs in which a row is the upper one, with their weight; labels as they are."""
        if self.has_labels:
            return is_upper, weights
        share, mass = self.places(weights, index)
        return share, np.nan_to_num(mass if weights is None else mass * weights)

    def columns(self, places: np.ndarray | None, is_upper: Any, scores: Any, weights: Any) -> np.ndarray:
        """The concordance of each column of scores of the rows of these numbers."""
        assert places is not None
        groups = self.take(places).groups(None if weights is None else np.asarray(weights, dtype=np.float64))
        return concordance_of(groups, on_host(scores)[groups.rows].T, moved=False)[0]

    def measure(self, sample: Sample) -> RankMeasure:
        """Concordance and influences of the rows of a sample."""
        return RankedMeasure(self, sample)

    def have_pairs(self, splits: Sequence[Sequence[np.ndarray]], weights: np.ndarray | None) -> bool:
        """Whether each part of each split has a pair that counts."""
        inside = self.pairs_of_strata(weights)
        for split in splits:
            for part in split:
                counted = part if weights is None else part[weights[part] > 0.0]
                if not self.has_pair(counted, inside):
                    return False
        return True


class RankedMeasure:
    """The concordance of the rows of a sample by lines of scores, and the influences of the rows.

    A row that stands for g rows varies by √g times its own influence, not by g times. Where rows are drawn by whole
    strata, both rows of a pair belong to one unit, which would count the pair twice: influences are halved.
    """

    def __init__(self, pairs: RankedPairs, sample: Sample):
        self.pairs = pairs
        self.sample = sample

    def __call__(self, fold: int, lines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """½ and 0 without a pair."""
        part = self.sample.parts[fold]
        standing_for = self.sample.standing_for[part]
        groups = self.pairs.take(self.sample.rows[part]).groups(standing_for)
        if not groups.pairs > 0.0:
            return np.full(len(lines), 0.5), np.zeros(lines.shape)
        values, of_rows = concordance_of(groups, lines[:, groups.rows])
        each = np.sqrt(self.sample.weights[part] / standing_for)[groups.rows]
        moves = np.zeros(lines.shape)
        moves[:, groups.rows] = of_rows * each * (0.5 if self.sample.whole_strata else 1.0)
        return values, moves


def concordance_of(groups: Comparable, lines: np.ndarray, moved: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """The concordance of each line of scores, and the influence of each row, (lines, rows in some pair).

    The scores are those of ``groups.rows``. Without any pair both are NaN. The influences are empty unless `moved`.
    """
    above, below = groups.wins(lines, both=moved)
    mass = groups.factor[groups.group] * groups.weight
    pairs = (groups.event * groups.below)[groups.group]
    with np.errstate(invalid="ignore", divide="ignore"):
        total = np.float64(mass @ pairs)
        values = np.clip(above @ mass / total, 0.0, 1.0)
        if not moved:
            return values, below
        won = above + below
        possible = pairs + groups.above[groups.group]
        return values, mass * (won - values[:, np.newaxis] * possible) / total


def whole_units(strata: np.ndarray, groups: Any) -> np.ndarray:
    """The unit of each row, as a number: rows that are connected by common strata or groups form one unit."""
    if groups is None:
        return strata
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    numbers = group_numbers(groups, strata.size)
    first_group = int(strata.max()) + 1
    n_nodes = first_group + int(numbers.max()) + 1
    edges = (np.ones(strata.size, dtype=np.int8), (strata, first_group + numbers))
    joined = coo_array(edges, shape=(n_nodes, n_nodes))
    component = connected_components(joined, directed=False)[1]
    return np.unique(component[strata], return_inverse=True)[1]
