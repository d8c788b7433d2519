"""A race: on many rows all maps are first compared on a part of them, and only those that may still win go on.

On the part the maps have few landmarks, so that each takes a fraction of a second. What a part of a few thousand rows
cannot tell apart, a blend would hardly tell apart either; and the winners are cross-validated on all rows afterwards.
On very many rows one of the winners goes on alone, since a second would take as much time, and a blend of two gains
least there: of kernels that differ in their width the narrowest, of others the one that is ahead on a larger part.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from vrspam._utils import array_api
from vrspam._utils.blas import SMALL
from vrspam._utils.validation import Rows
from vrspam.features import FeatureMap
from vrspam.features.frames import rows_of
from vrspam.features.mapped import TooManyFeatures
from vrspam.model_selection.cross_validate import GridSearch
from vrspam.model_selection.folds import Split
from vrspam.model_selection.kept_scores import some_of_each_class
from vrspam.model_selection.map_choice import FEW_BYTES, Candidate, Watch, evaluate_map, learn_maps, weights_of
from vrspam.model_selection.scoring import ROC_AUC
from vrspam.model_selection.sources import FoldProblem, how_many_at_once, over_folds

FROM_ROWS = 15_000  # and more: below, the race would take as long as what it saves
PART_ROWS = 4_000
PART_LANDMARKS = 150
PART_FOLDS = 3
FINALISTS = 2
STILL = 0.3  # of the weight of the best in a blend of the part: maps above it go on
AGAIN_FROM_ROWS = 50_000  # and more: the finalists race again
AGAIN_ROWS = 10_000
AGAIN_LANDMARKS = 300
AGAIN_FOLDS = 5
NARROWER = (
    0.2  # of the weight in a blend there: a narrower kernel with so much of it goes on in the place of a wider one
)


class Race(NamedTuple):
    """The maps that go on, and the others as candidates with their scores on the part."""

    finalists: dict[str, Any]
    others: dict[str, Candidate]


def race(
    maps: dict[str, Any],
    rows: Rows,
    splits: list[Split],
    classes: np.ndarray,
    search: GridSearch,
    seed: int,
    watch: Watch,
    alone: bool = True,
) -> Race:
    """Compare the maps on a part of the rows, where there are many rows and more maps than may go on.

    The folds are the first three of those of all rows, as far as they lie in the part. There is no race by a measure
    that depends on the share of positives, which the part has more of. Without `alone` two maps may go on also of very
    many rows.
    """
    by_ranks = search.scoring is ROC_AUC
    if len(maps) <= FINALISTS or rows.y.size < FROM_ROWS or search.loss.needs_rows or not by_ranks:
        return Race(maps, {})
    rng = np.random.default_rng(seed)
    heat = Heat(PART_ROWS, PART_LANDMARKS, PART_FOLDS)
    candidates = heat.run(maps, rows, splits, classes, search, rng, watch)
    if not candidates:
        return Race(maps, {})
    weights = weights_of(candidates, "blend")
    order = np.argsort(-weights, kind="stable")[:FINALISTS]
    kept = {candidates[number].name for number in order if weights[number] >= STILL * weights.max()}
    very_many = rows.y.size >= AGAIN_FROM_ROWS
    if very_many and alone:  # on all rows kernels have more landmarks, from which the narrowest of a kind gains most
        kept = {name for name in kept if not any(_is_narrower(maps[other], maps[name]) for other in kept)}
    others = {candidate.name: candidate for candidate in candidates if candidate.name not in kept}
    if very_many and len(kept) > 1:
        finalists = {name: maps[name] for name in maps if name in kept}
        again = Heat(AGAIN_ROWS, AGAIN_LANDMARKS, AGAIN_FOLDS)
        candidates = again.run(finalists, rows, splits, classes, search, rng, lambda what: None)
        if len(candidates) == len(kept):
            weights = weights_of(candidates, "blend")
            enough = weights == weights.max() if alone else weights > 0.0
            others |= {one.name: one for one, goes_on in zip(candidates, enough, strict=True) if not goes_on}
    # A map that gave too many features even here would do so on all rows: `choose_map` says it.
    return Race({name: new for name, new in maps.items() if name not in others}, others)


def _is_narrower(a: Any, b: Any) -> bool:
    """Whether two kernels differ in their bandwidths alone, and the first one has the smaller one."""
    return isinstance(a, FeatureMap) and isinstance(b, FeatureMap) and a.is_finer(b)


class Heat(NamedTuple):
    """A comparison of maps on a part of the rows: how many rows, landmarks and folds it has at most."""

    rows: int
    landmarks: int
    folds: int

    def run(
        self,
        maps: dict[str, Any],
        rows: Rows,
        splits: list[Split],
        classes: np.ndarray,
        search: GridSearch,
        rng: np.random.Generator,
        watch: Watch,
    ) -> list[Candidate]:
        """Cross-validate each map on the part; empty where the part cannot tell anything."""
        positive = array_api.on_host(rows.y) == classes[1]
        index = _part(positive, rows.weights, rng, self.rows)
        some = Rows(rows_of(rows.X, index), rows.y[index], None if rows.weights is None else rows.weights[index])
        inside = _restricted(splits[: self.folds], index, rows.y.size)
        if any(np.unique(some.y[part]).size < 2 for split in inside for part in split):
            return []  # folds of a kind that the part does not show
        try:
            small = {name: self._small(features) for name, features in maps.items()}
            learn_maps(list(small.values()), some, search.n_jobs, {})
            found = self._evaluate(small, some, inside, classes, search, watch)
        except ValueError:
            # What the part is too small for: a part of the ROC curve without a negative, categories that nearly all
            # differ there. Where all rows are no better, `choose_map` says so.
            return []
        return [found[name] for name in maps if name in found]

    def _evaluate(
        self,
        maps: dict[str, Any],
        rows: Rows,
        splits: list[Split],
        classes: np.ndarray,
        search: GridSearch,
        watch: Watch,
    ) -> dict[str, Candidate]:
        """Cross-validate fitted maps: small ones side by side, others in turn, with their folds side by side.

        Maps with too many features are left out.
        """
        found: dict[str, Candidate] = {}
        untold, done, lock = deque(maps), set(), Lock()

        def evaluate(name: str, search: GridSearch) -> None:
            with suppress(TooManyFeatures):
                new, _ = evaluate_map(name, maps[name], rows, splits, classes, search, "best")
                new.scores.total = new.scores.coefs = None  # those of all maps would take too much memory
                found[name] = new
            with lock:  # which ends first differs from run to run: they are told in their own order
                done.add(name)
                while untold and untold[0] in done:
                    told = untold.popleft()
                    if told in found:
                        watch(found[told].described)

        ours = [name for name, features in maps.items() if isinstance(features, FeatureMap)]
        small = [name for name in ours if maps[name].n_features_out_ <= SMALL]
        widest = max((maps[name].n_features_out_ for name in small), default=1)
        needed = FEW_BYTES + (16 * len(splits) + 80) * widest**2  # features that are held, moments, and one fold
        problem = FoldProblem(True, False, needed)
        if how_many_at_once(len(small), problem, search.n_jobs) == 1:
            small = []
        else:
            over_folds(partial(evaluate, search=replace(search, n_jobs=1)), small, problem, search.n_jobs)
        for name in maps:
            if name not in small:
                evaluate(name, search)
        return found

    def _small(self, features: Any) -> Any:
        """The map, not fitted, with few landmarks."""
        small = clone(features)
        landmarks = small.get_params().get("n_landmarks")
        if isinstance(landmarks, int | str):
            small.set_params(
                n_landmarks=self.landmarks if isinstance(landmarks, str) else min(landmarks, self.landmarks)
            )
        return small


def _part(positive: np.ndarray, weights: Any, rng: np.random.Generator, most: int | None = None) -> np.ndarray:
    """The numbers of the rows in the part, in order: half of them of each class, or all of a class that has fewer."""
    counts = np.ones(positive.size, dtype=bool) if weights is None else weights > 0.0
    return np.flatnonzero(some_of_each_class(counts, positive, most or PART_ROWS, rng))


def _restricted(splits: list[Split], index: np.ndarray, n: int) -> list[Split]:
    """The splits, with rows numbered by their places in the part."""
    place = np.full(n, -1)
    place[index] = np.arange(index.size)
    found = []
    for split in splits:
        train, validation = (place[part] for part in split)
        found.append(Split(train[train >= 0], validation[validation >= 0]))
    return found
