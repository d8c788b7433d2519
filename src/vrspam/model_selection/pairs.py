"""How held-out rows are measured where only certain pairs of them count: inside strata, or of censored times."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from vrspam import metrics
from vrspam._utils import array_api
from vrspam.comparable import Comparable, rising_order
from vrspam.metrics.correction import Sample, group_numbers
from vrspam.model_selection.folds import Split
from vrspam.model_selection.group_splits import ImpossibleFolds
from vrspam.moments import RankedPairs


def concordance_of(groups: Comparable, lines: np.ndarray, moved: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """The concordance of each line of scores, and the influence of each row, (lines, rows in some pair).

    The scores are those of ``groups.rows``. Without any pair both are NaN. The influences are empty unless `moved`.
    """
    above, below = groups.wins(lines, both=moved)
    each = groups.factor[groups.group] * groups.weight
    pairs = (groups.event * groups.below)[groups.group]
    with np.errstate(invalid="ignore", divide="ignore"):
        total = np.float64(each @ pairs)
        found = np.clip(above @ each / total, 0.0, 1.0)
        if not moved:
            return found, below
        won, possible = above + below, pairs + groups.above[groups.group]
        return found, each * (won - found[:, np.newaxis] * possible) / total


def measure_columns(
    pairs: RankedPairs | None, places: np.ndarray | None, positive: Any, scores: Any, weights: Any
) -> np.ndarray:
    """The AUC of each column of scores, or the concordance of the pairs that count among the rows at `places`."""
    if pairs is None:
        return metrics.roc_auc_columns(positive, scores, weights)
    assert places is not None
    groups = pairs.take(places).groups(None if weights is None else np.asarray(weights, dtype=np.float64))
    return concordance_of(groups, array_api.on_host(scores)[groups.rows].T, moved=False)[0]


def of_pairs(sample: Sample, part: slice, lines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The concordance of some rows by each line of scores, and the influences of the rows; ½ and 0 without a pair.

    A row that stands for g rows varies by √g times its own influence, not by g times. Where units are whole strata,
    both rows of a pair belong to one unit, which would count the pair twice: influences are halved.
    """
    groups = sample.pairs.take(sample.rows[part]).groups(sample.standing_for[part])
    found, moves = np.full(lines.shape[0], 0.5), np.zeros(lines.shape)
    if groups.pairs > 0.0:
        each = sample.weights[part] / sample.standing_for[part]
        found, of_rows = concordance_of(groups, lines[:, groups.rows])
        moves[:, groups.rows] = of_rows * np.sqrt(each[groups.rows]) * (0.5 if sample.by_strata else 1.0)
    return found, moves


def whole_units(strata: np.ndarray, groups: Any) -> np.ndarray:
    """The unit of each row, as a number: rows that are connected by common strata or groups form one unit."""
    if groups is None:
        return strata
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    numbers = group_numbers(groups, strata.size)
    size = int(strata.max()) + 1
    shape = (size + int(numbers.max()) + 1,) * 2
    joined = coo_array((np.ones(strata.size, dtype=np.int8), (strata, size + numbers)), shape=shape)
    return np.unique(connected_components(joined, directed=False)[1][strata], return_inverse=True)[1]


def ranked_folds(pairs: RankedPairs, n_splits: int, seed: Any) -> list[Split]:
    """Folds of shuffled rows, alike in events and in ranks: rows in order are dealt out to all folds in turn."""
    rng, n = check_random_state(seed), pairs.rank.size
    order = rising_order(pairs.rank, rng.random_sample(n))
    order = order[np.argsort(pairs.event[order], kind="stable")]
    dealt = rng.random_sample((-(-n // n_splits), n_splits)).argsort(axis=1).ravel()[:n]
    fold = np.empty(n, dtype=np.intp)
    fold[order] = dealt
    return [Split(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_splits)]


def have_pairs(pairs: RankedPairs, splits: Sequence[Split], weights: np.ndarray | None) -> bool:
    """Whether each part of each fold has a pair that counts."""
    inside = pairs.pairs_of_strata(weights)
    for index in [part for split in splits for part in split]:
        if not pairs.has_pair(index if weights is None else index[weights[index] > 0.0], inside):
            return False
    return True


def refuse_torn_pairs(pairs: RankedPairs, splits: Sequence[Split], weights: np.ndarray | None) -> None:
    """Raise an error if a fold splits a stratum, or if one of its two parts has no pair that counts."""
    inside = pairs.pairs_of_strata(weights)
    for number, split in enumerate(splits):
        if pairs.stratum is not None:
            both = np.intersect1d(pairs.stratum[split.train], pairs.stratum[split.validation])
            if both.size:
                raise ValueError(
                    f"Fold {number} splits strata, as folds in the order of time do: give a number of folds, or a "
                    "splitter that keeps groups whole (sklearn.model_selection.GroupKFold)."
                )
        for part, index in (("training", split.train), ("validation", split.validation)):
            if not pairs.has_pair(index if weights is None else index[weights[index] > 0.0], inside):
                raise ImpossibleFolds(f"Fold {number}: its {part} part has no two rows to compare: use fewer folds.")
