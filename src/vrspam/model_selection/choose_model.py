"""From candidates to one model: the choice, its fit, held-out scores, and the AUC corrected for the choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from vrspam.model_selection.candidates import Candidate, point_number
from vrspam.model_selection.compare import Comparison, compare
from vrspam.model_selection.correction import Nested
from vrspam.model_selection.cross_validate import CrossValidated, FoldModels, GridScores, cross_validate
from vrspam.model_selection.device_folds import DeviceFolds
from vrspam.model_selection.device_source import RowsOnDevice
from vrspam.model_selection.folds import FoldedRows, Split
from vrspam.model_selection.grid_search import GridSearch
from vrspam.model_selection.held_out import HeldOut, sample_of, scores_of, stable_share_of_moments
from vrspam.model_selection.labelled import score_trees
from vrspam.model_selection.maps_in_memory import FEW_BYTES, MapsInMemory, learn_maps
from vrspam.model_selection.race import race
from vrspam.model_selection.refit import Fitted
from vrspam.model_selection.sources import FoldSource, RowsInMemory
from vrspam.moments import PairSums


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
    source = source_of(folds, search)
    # The smallest l2 of the default grid take most of the iterations and are rarely chosen: try few iterations first.
    default = isinstance(search.l2s, str) and not isinstance(search.l1s, str) and not any(search.l1s)
    hurries = default and not search.loss.needs_rows and search.max_iter > 100
    first = replace(search, max_iter=100) if hurries else search
    found = cross_validate(source, first, sample=sample, keep_coefs=keep_coefs, watch=watch)
    if hurries and not has_converged_at_the_best(found.scores):
        found = cross_validate(source, search, sample=sample, keep_coefs=keep_coefs)

    solver, total = source.solver, source.total
    del source  # frees the moments of the folds
    columns = candidate_of_columns(found, total, search, sample)
    fit = search.settings_at(columns.choice).fit_rows(folds.rows, folds.classes, solver, total)
    columns = replace(columns, fit=fit)
    return select_and_correct(Comparison([columns], columns, np.ones(1)), folds, search, sample)


def has_converged_at_the_best(scores: GridScores) -> bool:
    """Whether all folds reached the tolerance at the best l2 and at its neighbours."""
    best = int(scores.score.mean(axis=-1)[:, 0].argmax())
    return bool(scores.converged[max(best - 1, 0) : best + 2].all())


def candidate_of_columns(
    found: CrossValidated, total: PairSums, search: GridSearch, sample: Sample | None = None
) -> Candidate:
    """The columns as they are as the only candidate."""
    return Candidate.of(
        "linear", None, found, search.rule, sample, n_features=total.means.shape[1], n_rows=int(total.rows.sum())
    )


def choose_point_of_blocks(source: FoldSource, search: GridSearch, correct: bool = True) -> Selected:
    """Choose the penalties on folds of blocks, and fit them on the moments of all rows."""
    found = cross_validate(source, search, keep_coefs=True)
    total = source.total
    columns = candidate_of_columns(found, total, search)
    columns = replace(columns, fit=search.settings_at(columns.choice).fit_sums(total))
    comparison = Comparison([columns], columns, np.ones(1))
    fit = comparison.fitted()
    assert found.held_out is not None
    assert fit.models is not None
    held_out = found.held_out.at(point_number(columns.choice), fit.models.intercepts)
    if not correct:
        return Selected(comparison, fit, held_out, None)

    sample = sample_of(found.held_out, search.n_points, search.seed)
    stable = stable_share_of_moments(total, sample, fit.models.coefs)
    if columns.densest is not None:
        stable = min(stable, stable_share_of_moments(total, sample, columns.densest))
    sampled = replace(columns, scores=found.sampled(sample).scores)
    comparison = Comparison([sampled], sampled, np.ones(1))
    return Selected(comparison, fit, held_out, comparison.corrected(sample, search, held_out, stable=stable))


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
    warn_for_each_column(finalists, "grouped_categories_", last=False)

    evaluator = MapsInMemory(folds, search, sample)
    comparison = compare(finalists, evaluator, search.rule, watch)
    missed = clearly_ahead(others, comparison.candidates)
    if missed is not None:
        others = {name: candidate for name, candidate in others.items() if name != missed}
        finalists = {name: features for name, features in maps.items() if name in finalists or name == missed}
        learn_maps([maps[missed]], folds.rows, search.n_jobs, shared)
        comparison = compare(finalists, evaluator, search.rule, watch)
    warn_for_each_column(finalists, "numbers_as_names_", last=True)
    return select_and_correct(replace(comparison, order=tuple(maps), others=others), folds, search, sample)


def warn_for_each_column(maps: dict[str, Any], attribute: str, last: bool) -> None:
    """Give the warnings that maps have gathered, one for each column, that of the first or the last map."""
    warnings: dict[Any, Any] = {}
    for features in maps.values():
        for warning in getattr(features, attribute, ()):
            if last:
                warnings[warning.column] = warning
            else:
                warnings.setdefault(warning.column, warning)
    for warning in warnings.values():
        warn(warning)


def clearly_ahead(others: Mapping[str, Candidate], finalists: Sequence[Candidate]) -> str | None:
    """The best map of those that lost the race, if it was clearly better on its part than any finalist on all rows.

    Trees cut a column into bins of equally many rows, so on many rows each bin joins more of the different values.
    """
    if not others:
        return None
    lead, error = max(candidate.measured for candidate in finalists)
    (mean, error_on_part), name = max((candidate.measured, candidate.name) for candidate in others.values())
    if mean - lead > max(0.002, 3.0 * float(np.hypot(error, error_on_part))):
        return name
    return None


def source_of(folds: FoldedRows | DeviceFolds, search: GridSearch) -> RowsInMemory | RowsOnDevice:
    """The columns as they are, as a source of folds."""
    if isinstance(folds, DeviceFolds):
        return RowsOnDevice(folds)
    return RowsInMemory(folds.rows, folds.splits, folds.classes, search.n_jobs, search.loss)


def select_and_correct(
    comparison: Comparison, folds: FoldedRows | DeviceFolds, search: GridSearch, sample: Sample
) -> Selected:
    """Score all held-out rows by the chosen model, and correct its AUC for the choice."""
    fit = comparison.fitted()
    models = fit.models
    if models is None:  # the coefficients of all points would take too much memory: solve the folds again
        models = models_of_chosen(comparison.chosen, folds, search)
    mapped = folds
    if isinstance(folds, FoldedRows) and fit.features is not None:
        mapped = folds._replace(rows=folds.rows._replace(X=MappedArray(folds.rows.X, fit.features)))
    held_out = out_of_fold(mapped, models, fit.held_out)

    by_all = fit.by_all
    if by_all is None:
        by_all = scores_of(mapped.rows.X, sample.rows, models.coefs)
    overlap = folds.overlap()
    stable = stable_share(by_all, overlap, sample)
    densest = comparison.chosen.densest
    if len(comparison.members) == 1 and densest is not None:
        stable = min(stable, stable_share(scores_of(mapped.rows.X, sample.rows, densest), overlap, sample))

    nested = clusters = None
    if isinstance(folds, FoldedRows) and folds.groups is not None and folds.pairs.by_class:
        numbers = group_numbers(folds.groups, folds.rows.y.size)
        # Pairs of rows in different folds count too: a fold of few groups has hardly any pairs of two groups.
        clusters = Clusters.of(held_out.positive, held_out.scores, held_out.weights, numbers[held_out.places])
        if clusters.n_groups < MANY_GROUPS:
            nested = nested_scores(comparison, folds, search)
    corrected = comparison.corrected(sample, search, held_out, stable=stable, nested=nested, clusters=clusters)
    return Selected(comparison, fit, held_out, corrected)


def models_of_chosen(chosen: Candidate, folds: FoldedRows | DeviceFolds, search: GridSearch) -> FoldModels:
    """The models of all folds at the chosen point of the columns as they are, solved again."""
    point = chosen.choice.values
    at_the_point = replace(search, l2s=[point["l2"]], l1s=[point["l1"]])
    again = cross_validate(source_of(folds, search), at_the_point, keep_coefs=True)
    models = replace(chosen, models=again.models_at((0, 0))).aligned_models
    assert models is not None
    return models


def out_of_fold(folds: FoldedRows | DeviceFolds, models: FoldModels, known: np.ndarray | None) -> HeldOut:
    """Each held-out row scored by the model of its fold; `known` are these scores, fold by fold, if they are."""
    if isinstance(folds, DeviceFolds) or known is None:
        return folds.out_of_fold(models.coefs, models.intercepts)
    return folds.out_of_fold(models.coefs, models.intercepts, known)


def nested_scores(comparison: Comparison, folds: FoldedRows, search: GridSearch) -> Nested | None:
    """Solve all candidates again without each pair of folds; None if the folds do not allow it.

    There must be at least three folds, each trained on all rows that it does not hold out, and each row held out once.
    """
    fold = fold_of_rows(folds)
    if fold is None or len(folds.splits) < 3:
        return None
    pairs = list(combinations(range(len(folds.splits)), 2))
    splits = []
    for pair in pairs:
        held = np.isin(fold, pair)
        splits.append(Split(np.flatnonzero(~held), np.flatnonzero(held)))
    if any(np.unique(folds.positive[split.train]).size < 2 for split in splits):
        return None

    paired = folds._replace(splits=splits)
    sample = paired.sample(sum(candidate.choice.mean.size for candidate in comparison.candidates), search.seed)
    kept, intercepts = [], []
    for candidate in comparison.candidates:
        scores = scores_without_pairs(candidate, paired, search, sample)
        assert scores.kept is not None
        kept.append(scores.kept)
        intercepts.append(scores.intercepts.reshape(-1, len(pairs)))
    return Nested(pairs, fold, sample, np.concatenate(kept, axis=1), np.concatenate(intercepts), search.scoring)


def fold_of_rows(folds: FoldedRows) -> np.ndarray | None:
    """The fold that holds out each row; None if folds do not cut the rows into parts, each trained on all others."""
    n_rows = folds.rows.X.shape[0]
    fold = np.full(n_rows, -1)
    for number, split in enumerate(folds.splits):
        fold[split.validation] = number
    once = sum(split.validation.size for split in folds.splits) == n_rows and fold.min() >= 0
    if not once or any(split.train.size + split.validation.size != n_rows for split in folds.splits):
        return None
    return fold


def scores_without_pairs(candidate: Candidate, folds: FoldedRows, search: GridSearch, sample: Sample) -> GridScores:
    """The scores of a candidate's grid on other folds."""
    axes = candidate.scores.grid
    again = replace(search, l2s=axes["l2"], l1s=axes["l1"])
    if getattr(candidate.features, "supervised", False):
        return score_trees(copy(candidate.features), folds, again, sample).scores
    rows = folds.rows
    if candidate.features is not None:
        rows = rows._replace(X=hold_features(MappedArray(rows.X, candidate.features), FEW_BYTES))
    source = RowsInMemory(rows, folds.splits, folds.classes, search.n_jobs, search.loss)
    return cross_validate(source, again.on(candidate.features), sample=sample).scores
