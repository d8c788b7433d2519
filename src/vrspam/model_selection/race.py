"""Many maps on many rows race on a part of the rows, and only those that may still win go on to all rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from vrspam._utils.blas import SMALL
from vrspam._utils.validation import Rows
from vrspam.features import FeatureMap
from vrspam.features.learning import NearlyAllDiffer
from vrspam.metrics.correction import group_numbers, some_of_each_class
from vrspam.model_selection.candidates import Candidate
from vrspam.model_selection.compare import CANNOT_BE_FITTED, Watch, weights_of
from vrspam.model_selection.folds import FoldedRows, Split
from vrspam.model_selection.grid_search import GridSearch
from vrspam.model_selection.maps_in_memory import FEW_BYTES, MapsInMemory, NotLearnt, learn_maps
from vrspam.model_selection.scoring import ROC_AUC
from vrspam.model_selection.sources import FoldProblem, how_many_at_once, over_folds
from vrspam.tables.frames import rows_of


class Race(NamedTuple):
    """The maps that go on, and the others as candidates with their scores on a part of the rows."""

    finalists: dict[str, Any]
    others: dict[str, Candidate]


def race(maps: dict[str, Any], folds: FoldedRows, search: GridSearch, watch: Watch, alone: bool = True) -> Race:
    """Compare the maps on a part of the rows, if there are many rows and more maps than may go on.

    With `alone`, one winner goes on if there are very many rows, where blends gain least: the narrowest of kernels that
    differ in width, else the map that is ahead on a larger part. The best map that gains more than others from more
    rows and the best of the others both go on unless one is clearly ahead. Only the AUC can be raced, because the share
    of positives is larger in the part, and no race finds the simplest map, which "one-standard-error" asks for.
    """
    n, other_question = folds.rows.y.size, search.scoring is not ROC_AUC or search.rule == "one-standard-error"
    if len(maps) <= RULES.finalists or n < RULES.from_rows or search.loss.needs_rows or other_question:
        return Race(maps, {})
    rng = np.random.default_rng(search.seed)
    candidates = RULES.heat.run(maps, folds, search, rng, watch)
    if not candidates:
        return Race(maps, {})
    weights = weights_of(candidates, "blend")
    order = np.argsort(-weights, kind="stable")[: RULES.finalists]
    stays = {candidates[number].name for number in order if weights[number] >= RULES.still * weights.max()}
    lead, both = _lead(candidates)
    stays = both if -RULES.behind <= lead <= RULES.ahead else stays  # a part cannot tell them apart
    very_many = n >= RULES.again_from_rows
    if very_many and alone:  # on all rows kernels have more landmarks, from which the narrowest of a kind gains most
        ours: dict[str, Any] = {name: maps[name] for name in stays if isinstance(maps[name], FeatureMap)}
        stays -= {name for name in ours if any(other.is_finer(ours[name]) for other in ours.values())}
    others = {candidate.name: candidate for candidate in candidates if candidate.name not in stays}
    if very_many and len(stays) > 1:
        finalists = {name: maps[name] for name in maps if name in stays}
        candidates = RULES.again.run(finalists, folds, search, rng, lambda what: None)
        if len(candidates) == len(stays):
            weights = weights_of(candidates, "blend")
            gains = [RULES.gain * getattr(one.features, "gains_by_rows", False) for one in candidates]
            leads = np.array([one.choice.mean.max() for one in candidates]) + gains
            enough = np.arange(leads.size) == leads.argmax() if alone else weights > 0.0
            others |= {one.name: one for one, goes_on in zip(candidates, enough, strict=True) if not goes_on}
    # A map with too many features even here has too many on all rows: `compare` raises the error.
    return Race({name: new for name, new in maps.items() if name not in others}, others)


def _lead(candidates: Sequence[Candidate]) -> tuple[float, set[str]]:
    """The lead of the best map that gains more from more rows over the best of the others, and both names."""
    best: dict[bool, tuple[float, str]] = {}
    for candidate in candidates:
        gains, mean = getattr(candidate.features, "gains_by_rows", False), float(candidate.choice.mean.max())
        best[gains] = max(best.get(gains, (0.0, "")), (mean, candidate.name))
    lead = best[True][0] - best[False][0] if len(best) == 2 else -np.inf
    return lead, {name for _, name in best.values()}


def lacks_a_class(part: FoldedRows) -> bool:
    """Whether a part of some fold has rows of one class only."""
    return any(np.unique(part.rows.y[index]).size < 2 for split in part.splits for index in split)


class Heat(NamedTuple):
    """A comparison of maps on a part of the rows: how many rows, landmarks and folds it has at most."""

    rows: int
    landmarks: int
    folds: int

    def run(
        self, maps: dict[str, Any], folds: FoldedRows, search: GridSearch, rng: np.random.Generator, watch: Watch
    ) -> list[Candidate]:
        """Cross-validate each map on the part; empty if the part is too small."""
        part = self._part(folds, rng)
        if lacks_a_class(part) or not part.pairs.have_pairs(part.splits, part.rows.weights):
            return []
        small = {name: self._smaller(features) for name, features in maps.items()}
        try:
            learn_maps(list(small.values()), part.rows, search.n_jobs, {})
        except (NearlyAllDiffer, NotLearnt):
            # Perhaps the part is too small. If all rows have the same problem, `choose_map` raises the error.
            return []
        loss = search.loss.on_pairs(part.pairs)
        evaluated = self._evaluate(small, part, replace(search, rule="best", loss=loss), watch)
        return [evaluated[name] for name in maps if name in evaluated]

    def _smaller(self, features: Any) -> Any:
        """An unfitted copy of a map, with no more landmarks than the part may have."""
        copy = clone(features)
        landmarks = copy.get_params().get("n_landmarks")
        if isinstance(landmarks, str):
            copy.set_params(n_landmarks=self.landmarks)
        elif isinstance(landmarks, int):
            copy.set_params(n_landmarks=min(landmarks, self.landmarks))
        return copy

    def _part(self, folds: FoldedRows, rng: np.random.Generator) -> FoldedRows:
        """Some rows (half of them of each class, or all rows of a class that has fewer) and their folds."""
        X, y, weights = folds.rows
        counts = np.ones(y.size, dtype=bool) if weights is None else weights > 0.0
        strata = folds.pairs.units
        if strata is None:
            sides = [np.flatnonzero(counts & (folds.positive == side)) for side in (False, True)]
            index = np.sort(np.concatenate(some_of_each_class(sides, self.rows, rng)))
        else:  # whole strata, up to that many rows
            order, sizes = rng.permutation(int(strata.max()) + 1), np.bincount(strata)
            drawn = order[: max(2, int(np.searchsorted(np.cumsum(sizes[order]), self.rows, "right")))]
            index = np.flatnonzero(np.isin(strata, drawn))
        place = np.full(y.size, -1)
        place[index] = np.arange(index.size)
        splits = [Split(*(place[part][place[part] >= 0] for part in split)) for split in folds.splits[: self.folds]]
        rows = Rows(rows_of(X, index), y[index], None if weights is None else weights[index])
        pairs = folds.pairs.take(index)
        groups = None if folds.groups is None else group_numbers(folds.groups, y.size)[index]
        return FoldedRows(rows, splits, folds.classes, folds.positive[index], groups, pairs)

    def _evaluate(
        self, maps: dict[str, Any], folds: FoldedRows, search: GridSearch, watch: Watch
    ) -> dict[str, Candidate]:
        """Cross-validate fitted maps, small ones side by side; those with too many features are left out."""
        evaluated: dict[str, Candidate] = {}
        in_order, done, lock = deque(maps), set(), Lock()

        def evaluate(name: str, search: GridSearch) -> None:
            candidate = None
            with suppress(*CANNOT_BE_FITTED):  # `compare` meets them again, and names them
                candidate, _ = MapsInMemory(folds, search).evaluate(name, maps[name])
            with lock:  # maps end in any order, but are reported in their own order
                if candidate is not None:  # the coefficients of all maps would take too much memory
                    evaluated[name] = replace(candidate, coefs=None)
                done.add(name)
                while in_order and in_order[0] in done:
                    ended = in_order.popleft()
                    if ended in evaluated:
                        watch(evaluated[ended])

        small = self._side_by_side(maps, len(folds.splits), search.n_jobs)
        if small:
            problem = work_on_maps(maps, small, len(folds.splits))
            over_folds(partial(evaluate, search=replace(search, n_jobs=1)), small, problem, search.n_jobs)
        for name in maps:
            if name not in small:
                evaluate(name, search)
        return evaluated

    def _side_by_side(self, maps: dict[str, Any], n_folds: int, n_jobs: int | None) -> list[str]:
        """The names of small maps, if several of them are evaluated at the same time."""
        ours = [name for name, features in maps.items() if isinstance(features, FeatureMap)]
        small = [name for name in ours if maps[name].n_features_out_ <= SMALL]
        if how_many_at_once(len(small), work_on_maps(maps, small, n_folds), n_jobs) == 1:
            return []
        return small


def work_on_maps(maps: dict[str, Any], names: Sequence[str], n_folds: int) -> FoldProblem:
    """The size of the work on one of these maps: features that are held, moments, and one fold."""
    widest = max((maps[name].n_features_out_ for name in names), default=1)
    return FoldProblem(True, False, FEW_BYTES + (16 * n_folds + 80) * widest**2)


class RaceRules(NamedTuple):
    """When and how maps race; on very many rows the finalists race again."""

    from_rows: int = 15_000  # below, the race would take as long as what it saves
    heat: Heat = Heat(4_000, 150, 3)
    finalists: int = 2
    still: float = 0.3  # maps go on whose weight in a blend on the part is at least this share of the best's
    # The best map that gains more than others from more rows and the best of the others both go on if the AUC of the
    # first, on the part (where landmarks are few), is at most so much behind, or ahead.
    behind: float = 0.02
    ahead: float = 0.03
    gain: float = 0.005  # added to the AUC of such a map, for its gain from all rows, if one map goes on alone
    again_from_rows: int = 50_000
    again: Heat = Heat(10_000, 500, 3)


RULES = RaceRules()
