"""Cross-validate a grid of penalties, for the columns as they are or for several feature maps.

Each solution is certified, and scored on the rows that its fold holds out; the map and the point are chosen together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from vrspam import metrics
from vrspam._utils.validation import Rows
from vrspam._utils.warnings import warn
from vrspam.features import FeatureMap
from vrspam.features.mapped import MappedArray, TooManyFeatures
from vrspam.model_selection.corrected import Corrected, Grid, OtherMeasure, correct
from vrspam.model_selection.folds import Split
from vrspam.model_selection.held_out import HeldOut, HeldOutBlock, held_out_at
from vrspam.model_selection.kept_scores import KeptRows
from vrspam.model_selection.scoring import ROC_AUC, Scoring
from vrspam.model_selection.selection import TIE, Choice, SelectionRule, select, simplest
from vrspam.model_selection.sources import FoldSource, RowsInMemory, over_folds
from vrspam.moments import ClassMoments
from vrspam.objective import ELASTIC_NET, SQUARED, LossChoice, PenaltyFamily
from vrspam.solvers.path import AUTO_L1S, AUTO_L2S, auto_l1s, auto_l2s, check_grid_axis, solve_grid


class FoldModels(NamedTuple):
    """Linear scorers, one trained on each fold: coefs of shape (folds, features), intercepts of shape (folds,)."""

    coefs: np.ndarray
    intercepts: np.ndarray


@dataclass(frozen=True)
class Candidate:
    """A fitted map (None for the columns as they are), the scores of its grid, and the chosen point of it."""

    name: str
    features: Any
    n_features: int
    scores: GridScores
    choice: Choice


@dataclass(frozen=True)
class MapChoice:
    """All candidates, the chosen one, and the chosen point of its grid."""

    candidates: list[Candidate]
    chosen: Candidate
    point: Choice

    def table(self) -> dict[str, list]:
        """Candidates with their CV score ± standard error, one list for each column of the table.

        The score has a column of its own where it is not the AUC; the standard error is that of the score.
        """
        rows = []
        for candidate in self.candidates:
            taken = candidate is self.chosen
            point = self.point if taken else candidate.choice
            score, error = float(point.mean[point.index]), float(point.standard_error[point.index])
            auc = score if candidate.scores.by_auc else float(candidate.scores.auc[point.index].mean())
            rows.append((candidate.name, candidate.n_features, *point.values.values(), auc, score, error, taken))
        names = ("features", "n_features", "l2", "l1", "auc", "score", "standard_error", "chosen")
        table = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        if self.chosen.scores.by_auc:
            del table["score"]
        return table

    @property
    def fold_models(self) -> FoldModels:
        """The models of the folds at the chosen point."""
        coefs = self.chosen.scores.coefs
        assert coefs is not None
        i, j = self.point.index
        return FoldModels(coefs[:, i, j], self.chosen.scores.intercepts[i, j])

    def corrected(self, rows: KeptRows, rule: SelectionRule, seed: int) -> Corrected:
        """The AUC of the chosen point, corrected for the choice among all points of all candidates."""
        found = [candidate.scores for candidate in self.candidates]
        grid = Grid.of([(scores.auc, scores.grid) for scores in found])
        kept = list(map(np.concatenate, zip(*[scores.kept for scores in found], strict=True)))
        other = None
        if not found[0].by_auc:
            measured, intercepts = (
                np.concatenate([part.reshape(-1, part.shape[-1]) for part in parts])
                for parts in zip(*[(scores.score, scores.intercepts) for scores in found], strict=True)
            )
            other = OtherMeasure(found[0].scoring, measured, intercepts)
        return correct(rows, kept, grid, rule, seed, other)


def only_columns(scores: GridScores, n_features: int, rule: SelectionRule) -> MapChoice:
    """The choice of the penalties alone, for the columns as they are."""
    columns = Candidate("linear", None, n_features, scores, scores.select(rule))
    return MapChoice([columns], columns, columns.choice)


def choose_map(
    maps: dict[str, Any], rows: Rows, splits: list[Split], classes: np.ndarray, search: GridSearch, rule: SelectionRule
) -> MapChoice:
    """Fit each map, without labels, and cross-validate its grid.

    Maps that give too many features are skipped; if all of them do, that is an error. The rule "one-standard-error"
    takes the first map, in the given order, that has a point within one standard error of the best point of all maps,
    and the simplest such point of it.
    """
    candidates: list[Candidate] = []
    too_many: TooManyFeatures | None = None
    said: set[str] = set()  # columns whose rare categories are grouped
    leader: Candidate | None = None  # the map with the best point so far
    for name, features in maps.items():
        if isinstance(features, FeatureMap):
            features.learn(rows.X, rows.weights)
            for grouped in features.grouped_categories_:
                if grouped.column not in said:  # once, not for each map
                    said.add(grouped.column)
                    warn(grouped)
        else:
            _fit_transformer(features, rows.X)
        try:
            X: Any = MappedArray(rows.X, features)
        except TooManyFeatures as refusal:
            too_many = refusal
            continue
        mapped = Rows(X, rows.y, rows.weights)
        source = RowsInMemory(mapped, splits, classes, search.n_jobs, search.loss)
        scores = cross_validate(source, search, keep_coefs=True)
        del source  # and with it features that it may hold
        new = Candidate(name, features, X.shape[1], scores, scores.select(rule))
        candidates.append(new)
        # The two square matrices of every map would need too much memory: only those of the best map are kept.
        if leader is None or new.choice.mean.max() > leader.choice.mean.max():
            leader, passed = new, leader
        else:
            passed = new
        if passed is not None:
            passed.scores.total = None
    if leader is None:
        assert too_many is not None
        raise too_many
    if rule == "best":
        return MapChoice(candidates, leader, leader.choice)
    best = np.unravel_index(np.argmax(leader.choice.mean), leader.choice.mean.shape)
    least = leader.choice.mean[best] - max(leader.choice.standard_error[best], TIE)
    chosen = next(candidate for candidate in candidates if (candidate.choice.mean >= least).any())
    index = simplest(chosen.choice.mean >= least, chosen.scores.grid)
    values = {name: float(axis[i]) for (name, axis), i in zip(chosen.scores.grid.items(), index, strict=True)}
    return MapChoice(candidates, chosen, replace(chosen.choice, index=index, values=values))


def _fit_transformer(transformer: Any, X: Any) -> None:
    """Fit a transformer of another package, without labels."""
    try:
        transformer.fit(X)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{type(transformer).__name__} could not be fitted as a feature map, which is given X alone and no labels: "
            f"{error}"
        ) from error


@dataclass(frozen=True)
class GridSearch:
    """The grid, and how it is solved; the parameters are those of `AUCClassifierCV`.

    `keep` names held-out rows whose scores at all points are returned.
    """

    l2s: Any
    l1s: Any
    tol: float
    max_iter: int
    n_jobs: int | None
    penalty: PenaltyFamily = ELASTIC_NET
    scoring: Scoring = ROC_AUC
    loss: LossChoice = SQUARED
    keep: KeptRows | None = None

    @property
    def n_points(self) -> int:
        """Points of the grid."""
        l2s = AUTO_L2S if isinstance(self.l2s, str) else check_grid_axis("l2s", self.l2s).size
        return l2s * (AUTO_L1S if isinstance(self.l1s, str) else check_grid_axis("l1s", self.l1s).size)


@dataclass
class GridScores:
    """What cross-validation of one grid gave.

    Attributes
    ----------
    grid : dict of ndarray
        The values of "l2" and of "l1".
    auc, gaps, converged, intercepts : ndarray of shape (l2s, l1s, folds)
    coefs : ndarray of shape (folds, l2s, l1s, features) or None
        Kept where the caller asks for them.
    total : ClassMoments or None
        Moments of all rows; dropped when another feature map is better.
    held_out : list of HeldOutBlock or None
        Scores of the held-out rows at all points, where they are read for all folds at once.
    kept : list of ndarray of shape (points, rows)
        Scores of some held-out rows of each fold at all points; empty unless the caller asks for them.
    scoring : Scoring
        The measure that chooses a point.
    other : ndarray of shape (l2s, l1s, folds) or None
        That measure, where it is not the AUC.
    """

    grid: dict[str, np.ndarray]
    auc: np.ndarray
    gaps: np.ndarray
    converged: np.ndarray
    intercepts: np.ndarray
    coefs: np.ndarray | None = None
    total: ClassMoments | None = None
    held_out: list[HeldOutBlock] | None = None
    scoring: Scoring = ROC_AUC
    other: np.ndarray | None = None
    kept: list[np.ndarray] = field(default_factory=list)

    @property
    def by_auc(self) -> bool:
        """Whether the AUC chooses."""
        return self.other is None

    @property
    def score(self) -> np.ndarray:
        """The measure that chooses."""
        return self.auc if self.other is None else self.other

    def select(self, rule: SelectionRule) -> Choice:
        """The point that the measure chooses."""
        return select(self.score, self.grid, rule, measure="" if self.by_auc else self.scoring.name)

    def held_out_at(self, choice: Choice) -> HeldOut:
        """The held-out rows at the chosen point, where their scores were kept."""
        assert self.held_out is not None
        point = int(np.ravel_multi_index(choice.index, self.auc.shape[:2]))
        return held_out_at(self.held_out, point, self.intercepts[choice.index])


def cross_validate(source: FoldSource, search: GridSearch, *, keep_coefs: bool = False) -> GridScores:
    """Solve the whole grid on the training part of each fold, and measure the ranking of the rows that it holds out.

    The AUC is always taken; the measure of `search.scoring` beside it, where that is another one.

    Parameters
    ----------
    source : FoldSource
        Rows in memory, blocks of a stream, or blocks on a cluster.
    search : GridSearch
    keep_coefs : bool, default=False
        Whether the coefficients of all folds are returned.

    Returns
    -------
    GridScores
    """
    l1s = auto_l1s(source.total) if isinstance(search.l1s, str) else check_grid_axis("l1s", search.l1s)
    l2s = auto_l2s(source.total) if isinstance(search.l2s, str) else check_grid_axis("l2s", search.l2s)
    shape = (l2s.size, l1s.size, source.n_folds)
    scores = GridScores(
        {"l2": l2s, "l1": l1s},
        auc=np.full(shape, 0.5),  # without coefficients all scores are tied
        gaps=np.empty(shape),
        converged=np.empty(shape, dtype=bool),
        intercepts=np.empty(shape),
        total=source.total,
        scoring=search.scoring,
        other=None if search.scoring is ROC_AUC else np.full(shape, np.nan),
    )
    if search.keep is not None:  # without coefficients all scores are 0
        scores.kept = [np.zeros((l2s.size * l1s.size, fold.places.size)) for fold in search.keep.folds]

    def take_scores(blocks: Iterable[HeldOutBlock]) -> None:
        last: dict[int, HeldOutBlock] = {}
        for block in blocks:
            i, j = np.unravel_index(block.points, shape[:2])
            scores.auc[i, j, block.fold] = metrics.roc_auc_columns(block.positive, block.scores, block.weights)
            if not scores.by_auc:
                intercepts = scores.intercepts[i, j, block.fold]
                scores.score[i, j, block.fold] = search.scoring.of_block(block, intercepts)
                last[block.fold] = block
            if search.keep is not None:
                scores.kept[block.fold][block.points] = search.keep.folds[block.fold].scores(block)
        for fold, block in last.items():  # all rows are tied at the points that were left out
            missing = np.isnan(scores.score[..., fold])
            if missing.any():
                scores.score[missing, fold] = search.scoring.of_ties(block)

    def solve_fold(fold: int) -> np.ndarray:
        loss, centre = source.training(fold)
        grid = solve_grid(
            loss,
            l2s,
            l1s,
            tol=search.loss.tolerance(search.tol),
            max_iter=search.max_iter,
            penalty=search.penalty(loss),
            like=source.like,
        )
        del loss  # its matrices are not needed while rows are scored
        scores.gaps[..., fold], scores.converged[..., fold] = grid.gaps, grid.converged
        scores.intercepts[..., fold] = -(grid.coefs @ centre)
        coefs = grid.coefs.reshape(l2s.size * l1s.size, -1)
        if not source.scores_all_folds_at_once:
            take_scores(source.held_out({fold: coefs}))
        return coefs if keep_coefs or source.scores_all_folds_at_once else np.empty(0)

    problem = source.problem(many_products=bool(l1s.any()))
    coefs = over_folds(solve_fold, range(source.n_folds), problem, search.n_jobs)
    if source.scores_all_folds_at_once:
        scores.held_out = list(source.held_out(dict(enumerate(coefs))))
        take_scores(scores.held_out)
    if keep_coefs:
        scores.coefs = np.stack(coefs).reshape(source.n_folds, *shape[:2], -1)
    return scores
