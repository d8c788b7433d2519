"""Folds of ranked rows, and what folds of pairs must keep: whole strata, and a pair in each part."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from vrspam.comparable import rising_order
from vrspam.model_selection.folds import Split
from vrspam.model_selection.group_splits import ImpossibleFolds
from vrspam.pairs import Ranked


def ranked_folds(pairs: Ranked, n_splits: int, seed: Any) -> list[Split]:
    """Folds of shuffled rows, alike in events and in ranks: rows in order are dealt out to all folds in turn."""
    rng = check_random_state(seed)
    n = pairs.rank.size
    order = rising_order(pairs.rank, rng.random_sample(n))
    order = order[np.argsort(pairs.event[order], kind="stable")]
    dealt = rng.random_sample((-(-n // n_splits), n_splits)).argsort(axis=1).ravel()[:n]
    fold = np.empty(n, dtype=np.intp)
    fold[order] = dealt
    return [Split(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_splits)]


def refuse_torn_pairs(pairs: Ranked, splits: Sequence[Split], weights: np.ndarray | None) -> None:
    """Raise an error if a fold splits a stratum, or if one of its two parts has no pair that counts."""
    inside = pairs.pairs_of_strata(weights)
    for number, split in enumerate(splits):
        if pairs.stratum is not None:
            torn = np.intersect1d(pairs.stratum[split.train], pairs.stratum[split.validation])
            if torn.size:
                raise ValueError(
                    f"Fold {number} splits strata, as folds in the order of time do: give a number of folds, or a "
                    "splitter that keeps groups whole (sklearn.model_selection.GroupKFold)."
                )
        for part, index in (("training", split.train), ("validation", split.validation)):
            if not pairs.has_pair(index if weights is None else index[weights[index] > 0.0], inside):
                raise ImpossibleFolds(f"Fold {number}: its {part} part has no two rows to compare: use fewer folds.")
