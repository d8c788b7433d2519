"""Feature maps on rows in blocks: learnt from a sample, cross-validated one by one, and fitted on all rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from vrspam._utils.validation import Rows
from vrspam.features import FeatureMap
from vrspam.features.mapped import MappedArray
from vrspam.metrics.correction import Sample
from vrspam.model_selection.block_source import BlockFolds, held_out_scores
from vrspam.model_selection.candidates import Candidate
from vrspam.model_selection.compare import Comparison, compare
from vrspam.model_selection.cross_validate import cross_validate
from vrspam.model_selection.folds import FoldedRows, Split
from vrspam.model_selection.grid_search import GridSearch
from vrspam.model_selection.hashing import HashFolds, HashSample
from vrspam.model_selection.held_out import HeldOut, sample_of
from vrspam.model_selection.race import Race, race
from vrspam.model_selection.refit import Fitted
from vrspam.objective.blocks import Block, Blocks
from vrspam.solvers import ExactFit

SAMPLE_ROWS = 50_000


class MapsOnBlocks:
    """Evaluates feature maps on rows in blocks: each map takes one reading for moments, and one for scores.

    Maps learn quantiles and landmarks from a sample: the rows with the smallest hashes. With many rows, the maps are
    first compared on this sample, and only those that may still win are evaluated on all rows.
    """

    def __init__(self, blocks: Blocks, folds: HashFolds, most: int, search: GridSearch):
        self.blocks = blocks
        self.folds = folds
        self.most = most
        self.search = search
        _, y, X, weights = blocks.reduce(add_to_sample, HashSample.add, folds, SAMPLE_ROWS).columns
        self.rows = Rows(X, y, weights)
        self._sample: Sample | None = None

    def choose(self, maps: dict[str, Any], alone: bool) -> Comparison:
        """Compare the maps, first by a race on the sample if it is large, and fit the chosen ones on all rows."""
        finalists, others = Race(maps, {})
        labels = np.unique(self.rows.y)
        if labels.size == 2:
            splits = [Split(*split) for split in self.folds.split(self.rows.X)]
            folded = FoldedRows(self.rows, splits, labels, self.rows.y == labels[1])
            finalists, others = race(maps, folded, self.search, lambda what: None, alone)
        return replace(compare(finalists, self, self.search.rule), order=tuple(maps), others=others)

    def held_out(self, fit: Fitted) -> HeldOut:
        """The held-out rows, or a sample of each class, with their scores by the chosen model."""
        assert fit.models is not None
        coefs, intercepts = fit.models
        one_point = coefs[:, np.newaxis]
        positive = fit.moments.classes[1]
        scored = held_out_scores(self.blocks, self.folds, self.most, positive, one_point, fit.features)
        return scored.at(0, intercepts)

    def evaluate(self, name: str, features: FeatureMap) -> tuple[Candidate, BlockFolds]:
        """The candidate for a map, and the source of its folds."""
        features.learn(self.rows.X, self.rows.weights)
        MappedArray(self.rows.X, features)  # refuses too many features
        source = self._source(features)
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

    def fit(self, candidate: Candidate, source: BlockFolds | None = None) -> ExactFit:
        """The chosen point of a candidate, fitted on all rows."""
        source = self._source(candidate.features) if source is None else source
        settings = self.search.on(candidate.features).settings_at(candidate.choice)
        return settings.fit_sums(source.total)

    def _source(self, features: FeatureMap) -> BlockFolds:
        return BlockFolds(self.blocks, self.folds, self.most, features)


def add_to_sample(total: HashSample | None, block: Block, folds: HashFolds, most: int) -> HashSample:
    """Add the rows of a block to the sample, as hashes, labels, dense rows and weights, in place."""
    X, y, weights = block.rows
    hashes = folds.hashes(X)
    kept = np.lexsort([y, hashes])[:most]  # equal rows may have different labels
    dense = X[kept].toarray() if sparse.issparse(X) else X[kept]
    part = HashSample(most, hashes[kept], y[kept], dense, None if weights is None else weights[kept])
    return part if total is None else total.add(part)
