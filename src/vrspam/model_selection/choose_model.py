"""From candidates to one model: the choice, its fit, held-out scores, and the AUC corrected for the choice."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils.progress import StepProgress
from vrspam._utils.warnings import warn
from vrspam.features.learning import SharedColumns
from vrspam.features.mapped import MappedArray, hold_features
from vrspam.metrics import CorrectedAUC
from vrspam.metrics.correction import MANY_GROUPS, Sample, group_numbers, stable_share
from vrspam.metrics.groups import Clusters
from vrspam.model_selection.candidates import (
    FEW_BYTES,
    Candidate,
    Comparison,
    Fitted,
    MapsInMemory,
    compare,
    learn_maps,
)
from vrspam.model_selection.correction import Nested
from vrspam.model_selection.cross_validate import FoldModels, cross_validate
from vrspam.model_selection.device_folds import DeviceFolds
from vrspam.model_selection.device_source import RowsOnDevice
from vrspam.model_selection.folds import FoldedRows, Split
from vrspam.model_selection.held_out import HeldOut, sample_of, scores_of, stable_share_of_moments
from vrspam.model_selection.labelled import cross_validate_labelled
from vrspam.model_selection.race import race
from vrspam.model_selection.search import GridSearch
from vrspam.model_selection.sources import FoldSource, RowsInMemory


class Selected(NamedTuple):
    """What was compared, what was chosen and fitted, its held-out rows, and the corrected AUC where it is known."""

    comparison: Comparison
    fit: Fitted
    held_out: HeldOut
    corrected: CorrectedAUC | None


def choose_point(
    folds: FoldedRows | DeviceFolds, search: GridSearch, keep_coefs: bool = True, progress: StepProgress | None = None
) -> Selected:
    """Choose the penalties for the columns as they are, of rows in memory or on a device, and fit these on all rows."""
    if progress is not None:
        progress.start(folds.n_folds)
    watch = (lambda what: None) if progress is None else progress.tell
    sample = folds.sample(search.n_points, search.seed)
    source, sampled = _source(folds, search), replace(search, sample=sample)
    # The smallest l2 of the default grid take most of the iterations and are rarely chosen: try few iterations first.
    default = isinstance(search.l2s, str) and not isinstance(search.l1s, str) and not any(search.l1s)
    hurries = default and not search.loss.needs_rows and search.max_iter > 100
    few = replace(sampled, max_iter=100) if hurries else sampled
    scores = cross_validate(source, few, keep_coefs=keep_coefs, watch=watch)
    best = int(scores.score.mean(axis=-1)[:, 0].argmax())
    if hurries and not scores.converged[max(best - 1, 0) : best + 2].all():  # the best l2, or a neighbour
        scores = cross_validate(source, sampled, keep_coefs=keep_coefs)
    solver, total = source.solver, source.total
    del source  # frees the moments of the folds
    columns = Candidate.of("linear", None, total.means.shape[1], int(total.rows.sum()), scores, search.rule)
    columns.fit = search.solver(columns.choice).from_rows(folds.rows, folds.classes, solver, total)
    return _selected(Comparison([columns], columns, np.ones(1)), folds, search, sample)


def choose_point_of_blocks(source: FoldSource, search: GridSearch, correct: bool = True) -> Selected:
    """Choose the penalties on folds of blocks, and fit them on the moments of all rows."""
    scores, total = cross_validate(source, search, keep_coefs=True), source.total
    columns = Candidate.of("linear", None, total.means.shape[1], int(total.rows.sum()), scores, search.rule)
    columns.fit = search.solver(columns.choice).from_moments(total)
    found = Comparison([columns], columns, np.ones(1))
    fit, every = found.fitted(), scores.held_out
    assert every is not None
    assert fit.models is not None
    point = int(np.ravel_multi_index(columns.choice.index, columns.choice.mean.shape))
    held_out = every.at(point, fit.models.intercepts)
    if not correct:
        return Selected(found, fit, held_out, None)
    scores.keep(sample := sample_of(every, search.n_points, search.seed))
    stable = stable_share_of_moments(source.total, sample, fit.models.coefs)
    if (dense := columns.densest) is not None:
        stable = min(stable, stable_share_of_moments(source.total, sample, dense))
    return Selected(found, fit, held_out, found.corrected(sample, search, held_out, stable=stable))


def choose_map(
    maps: dict[str, Any],
    folds: FoldedRows,
    search: GridSearch,
    alone: bool,
    progress: StepProgress | None,
    shared: SharedColumns,
) -> Selected:
    """Compare the maps on rows in memory, after a race if there are many rows, and fit the choice on all rows."""
    watch = (lambda what: None) if progress is None else progress.tell
    sample = folds.sample(len(maps) * search.n_points, search.seed)
    if progress is not None:
        progress.start(len(maps))
    finalists, others = race(maps, folds, search, watch, alone)
    if progress is not None:
        progress.start(len(finalists))
    learn_maps(list(finalists.values()), folds.rows, search.n_jobs, shared)
    grouped: dict[Any, Any] = {}  # one warning for each column, not for each map
    for features in finalists.values():
        for one in getattr(features, "grouped_categories_", ()):
            grouped.setdefault(one.column, one)
    for warning in grouped.values():
        warn(warning)
    evaluator = MapsInMemory(folds, replace(search, sample=sample))
    found = compare(finalists, evaluator, search.rule, watch)
    lead, error = max(one.measured for one in found.candidates)
    (mean, own), missed = max(((one.measured, one.name) for one in others.values()), default=((0.0, 0.0), ""))
    # Trees cut a column into bins of equally many rows, so on many rows each bin joins more of the different values:
    # one of the others may have been clearly better on its part than the finalists are on all rows.
    if mean - lead > max(0.002, 3.0 * float(np.hypot(error, own))):
        others = {name: candidate for name, candidate in others.items() if name != missed}
        finalists = {name: features for name, features in maps.items() if name in finalists or name == missed}
        learn_maps([maps[missed]], folds.rows, search.n_jobs, shared)
        found = compare(finalists, evaluator, search.rule, watch)
    named = [one for features in finalists.values() for one in getattr(features, "numbers_as_names_", ())]
    for said in {one.column: one for one in named}.values():
        warn(said)
    return _selected(replace(found, order=tuple(maps), others=others), folds, search, sample)


def _source(folds: FoldedRows | DeviceFolds, search: GridSearch) -> RowsInMemory | RowsOnDevice:
    """The columns as they are, as a source of folds."""
    if isinstance(folds, DeviceFolds):
        return RowsOnDevice(folds)
    return RowsInMemory(*folds[:3], search.n_jobs, search.loss)


def _selected(found: Comparison, folds: FoldedRows | DeviceFolds, search: GridSearch, sample: Sample) -> Selected:
    """Score all held-out rows by the chosen model, and correct its AUC for the choice."""
    fit, rows, unmapped = found.fitted(), folds.rows, folds
    models, point = fit.models, found.chosen.choice.values
    if models is None:  # the coefficients of all points would take too much memory: solve the folds again
        alone = replace(search, l2s=[point["l2"]], l1s=[point["l1"]])
        again = cross_validate(_source(folds, search), alone, keep_coefs=True)
        assert again.coefs is not None
        found.chosen.models = FoldModels(again.coefs[:, 0, 0], again.intercepts[0, 0])
        models = found.chosen.aligned_models
        assert models is not None
    if isinstance(folds, FoldedRows) and fit.features is not None:
        rows = rows._replace(X=MappedArray(rows.X, fit.features))
        folds = folds._replace(rows=rows)
    known = () if fit.held_out is None else (fit.held_out,)
    held_out = folds.out_of_fold(*models, *known)
    by_all = scores_of(rows.X, sample.rows, models.coefs) if fit.by_all is None else fit.by_all
    stable = stable_share(by_all, folds.overlap(), sample)
    if len(found.members) == 1 and (dense := found.chosen.densest) is not None:
        stable = min(stable, stable_share(scores_of(rows.X, sample.rows, dense), folds.overlap(), sample))
    nested = clusters = None
    if isinstance(unmapped, FoldedRows) and unmapped.groups is not None and unmapped.pairs.by_class:
        numbers = group_numbers(unmapped.groups, folds.rows.y.size)
        # pairs of rows in different folds count too: a fold of few groups has hardly any pairs of two groups
        clusters = Clusters.of(held_out.positive, held_out.scores, held_out.weights, numbers[held_out.places])
        nested = nested_scores(found, unmapped, search) if clusters.n_groups < MANY_GROUPS else None
    corrected = found.corrected(sample, search, held_out, stable=stable, nested=nested, clusters=clusters)
    return Selected(found, fit, held_out, corrected)


def nested_scores(found: Comparison, folds: FoldedRows, search: GridSearch) -> Nested | None:
    """Solve all candidates again without each pair of folds; None if the folds do not allow it.

    There must be at least three folds, each trained on all rows that it does not hold out, and each row held out once.
    """
    n, fold = folds.rows.X.shape[0], np.full(folds.rows.X.shape[0], -1)
    for number, split in enumerate(folds.splits):
        fold[split.validation] = number
    whole = sum(split.validation.size for split in folds.splits) == n and fold.min() >= 0
    if len(folds.splits) < 3 or not whole or any(sum(map(len, split)) != n for split in folds.splits):
        return None
    pairs = list(combinations(range(len(folds.splits)), 2))
    splits = [Split(np.flatnonzero(~held), np.flatnonzero(held)) for held in (np.isin(fold, pair) for pair in pairs)]
    if any(np.unique(folds.positive[split.train]).size < 2 for split in splits):
        return None
    paired = folds._replace(splits=splits)
    sample = paired.sample(sum(candidate.choice.mean.size for candidate in found.candidates), search.seed)
    kept, intercepts = [], []
    for candidate in found.candidates:
        rows, axes = folds.rows, candidate.scores.grid
        again = replace(search, l2s=axes["l2"], l1s=axes["l1"], sample=sample)
        if getattr(candidate.features, "supervised", False):
            scores = cross_validate_labelled(copy(candidate.features), paired, again).scores
        else:
            if candidate.features is not None:
                rows = rows._replace(X=hold_features(MappedArray(rows.X, candidate.features), FEW_BYTES))
            source = RowsInMemory(rows, paired.splits, folds.classes, search.n_jobs, search.loss)
            scores = cross_validate(source, again.on(candidate.features))
        assert scores.kept is not None
        kept.append(scores.kept)
        intercepts.append(scores.intercepts.reshape(-1, len(pairs)))
    return Nested(pairs, fold, sample, np.concatenate(kept, axis=1), np.concatenate(intercepts), search.scoring)
