"""Feature maps on a cluster: each is learnt from a sample of the rows, and needs one pass for moments, one for scores.

A map needs quantiles and landmarks, which a sample gives; the sample is that of the rows with the smallest hashes. On
many rows the maps are first compared on the sample, and only those that may still win are taken to all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from vrspam._utils.validation import Rows
from vrspam.distributed import _tasks
from vrspam.distributed._folds import NO_ROWS, Blocks, ClusterFolds
from vrspam.estimators.base import AUCClassifierBase
from vrspam.features import FeatureMap
from vrspam.features.mapped import MappedArray
from vrspam.model_selection.cross_validate import GridSearch, cross_validate
from vrspam.model_selection.folds import HashFolds, Split
from vrspam.model_selection.held_out import HeldOut, held_out_at
from vrspam.model_selection.kept_scores import KeptRows, keep_of_blocks
from vrspam.model_selection.map_choice import Candidate, FittedChoice, MapChoice, choose_evaluated
from vrspam.model_selection.race import race
from vrspam.model_selection.selection import Choice, SelectionRule
from vrspam.moments import ClassMoments
from vrspam.solvers import ExactFit

SAMPLE_ROWS = 50_000
# From the chosen point and the moments of all rows to the fit.
PointFitter = Callable[[Choice, ClassMoments], ExactFit]


def sample_rows(blocks: Blocks, estimator: AUCClassifierBase, folds: HashFolds) -> Rows:
    """At most `SAMPLE_ROWS` rows, in the order of their hashes."""
    sample = blocks.reduce(_tasks.block_sample, _tasks.RowSample.joined, estimator, folds, SAMPLE_ROWS)
    if sample.rows is None:
        raise ValueError(NO_ROWS)
    return sample.rows


class MapsOnBlocks:
    """Evaluates feature maps on blocks of rows on a cluster.

    Parameters
    ----------
    blocks : Blocks
    estimator : AUCClassifierBase
        It validates the blocks.
    folds : HashFolds
    most : int
        At most this many held-out rows of each class send their scores to the client.
    search : GridSearch
    rule : {"best", "one-standard-error", "blend"}
    fit : PointFitter
    seed : int
    """

    def __init__(
        self,
        blocks: Blocks,
        estimator: AUCClassifierBase,
        folds: HashFolds,
        most: int,
        search: GridSearch,
        rule: SelectionRule,
        fit: PointFitter,
        seed: int,
    ):
        self.blocks, self.estimator, self.folds, self.most = blocks, estimator, folds, most
        self.search, self.rule, self.fit, self.seed = search, rule, fit, seed
        self.sample = sample_rows(blocks, estimator, folds)
        self._keep: KeptRows | None = None

    def choose(self, maps: dict[str, FeatureMap]) -> MapChoice:
        """Compare the maps, by a race on the sample where that is large, and fit what was chosen on all rows."""
        others: dict[str, Candidate] = {}
        finalists: dict[str, Any] = dict(maps)
        labels = np.unique(self.sample.y)
        if self.rule != "one-standard-error" and labels.size == 2:
            splits = [Split(*split) for split in self.folds.split(self.sample.X)]
            alone = getattr(self.estimator, "selection", "auto") != "blend"  # who asks for a blend gets one
            finalists, others = race(
                maps, self.sample, splits, labels, self.search, self.seed, lambda what: None, alone
            )
        found = choose_evaluated(finalists, self._evaluate, self._fit_again, self.rule)
        return replace(found, order=tuple(maps), others=others)

    def held_out(self, chosen: FittedChoice) -> HeldOut:
        """The held-out rows, or a sample of each class, with the scores of what was chosen."""
        models, positive = chosen.fold_models, chosen.moments.classes[1]
        assert models is not None
        known = (self.estimator, self.folds, models.coefs[:, np.newaxis], positive, self.most, chosen.features)
        found = self.blocks.reduce(_tasks.block_scores, _tasks.add_scores, *known)
        return held_out_at(list(found.blocks(self.folds.n_splits)), 0, models.intercepts)

    def _evaluate(self, name: str, features: FeatureMap) -> tuple[Candidate, Callable[[], ExactFit]]:
        features.learn(self.sample.X, self.sample.weights)
        MappedArray(self.sample.X, features)  # refuses too many features
        source = self._source(features)
        scores = cross_validate(source, self.search, keep_coefs=True)
        assert scores.held_out is not None
        if self._keep is None:
            self._keep, scores.kept = keep_of_blocks(scores.held_out, self.search.n_points, self.seed)
        else:  # the same rows, in the same order
            scores.kept = [fold.scores(block) for fold, block in zip(self._keep.folds, scores.held_out, strict=True)]
        choice, total = scores.select(self.rule), source.total
        spread = scores.spread_at(choice, self._keep)
        new = Candidate(name, features, total.means.shape[1], int(total.rows.sum()), scores, choice, spread=spread)
        scores.held_out = None  # all points of all maps would take too much memory
        return new, lambda: self.fit(choice, total)

    def _fit_again(self, member: Candidate) -> ExactFit:
        return self.fit(member.choice, self._source(member.features).total)

    def _source(self, features: FeatureMap) -> ClusterFolds:
        return ClusterFolds(self.blocks, self.estimator, self.folds, self.most, features)
