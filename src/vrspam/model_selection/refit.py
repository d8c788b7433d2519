"""The model that was chosen, fitted on all rows: one candidate, or a blend of several, as one scorer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from vrspam.features import StackedFeatures
from vrspam.model_selection.candidates import Candidate
from vrspam.model_selection.cross_validate import FoldModels
from vrspam.moments import ClassMoments, PairSums
from vrspam.solvers import ExactFit, SolverName
from vrspam.solvers.base import Solution


class Fitted(NamedTuple):
    """What was chosen, fitted on all rows: one scorer, linear in the features of one map."""

    features: Any  # a fitted map, or None for the columns as they are
    solution: Solution  # for a blend `gap` is the largest of the members, whose F(0) is the same, and `value` is NaN
    moments: PairSums  # of the features; those of a blend have no scatter matrices
    l2: float  # of the best candidate
    solver: SolverName  # of the best candidate
    models: FoldModels | None  # this and the next three: as in `Candidate`
    held_out: np.ndarray | None = None
    by_all: np.ndarray | None = None
    lift: float = 0.0


def fitted_alone(candidate: Candidate) -> Fitted:
    """One candidate as the model."""
    assert candidate.fit is not None
    solution, moments, l2, solver = candidate.fit
    return Fitted(
        candidate.features,
        solution,
        moments,
        l2,
        solver,
        candidate.aligned_models,
        candidate.held_out,
        candidate.by_all,
        candidate.lift,
    )


def fitted_blend(members: Sequence[tuple[Candidate, float]], best: Candidate) -> Fitted:
    """The sum of the scores of several candidates, each multiplied by its factor, as one scorer on all features."""
    assert best.fit is not None
    candidates = [candidate for candidate, _ in members]
    factors = np.array([factor for _, factor in members])
    fits = [candidate.fit for candidate in candidates if candidate.fit is not None]
    return Fitted(
        StackedFeatures.of_fitted([candidate.features for candidate in candidates]),
        blend_solutions([fit.solution for fit in fits], factors),
        ClassMoments.side_by_side([fit.moments for fit in fits]),
        best.fit.l2,
        best.fit.solver,
        blend_models([candidate.aligned_models for candidate in candidates], factors),
        blend_scores([candidate.held_out for candidate in candidates], factors),
        blend_scores([candidate.by_all for candidate in candidates], factors),
        lift=float(np.dot(factors, [candidate.lift for candidate in candidates])),
    )


def blend_solutions(solutions: Sequence[Solution], factors: np.ndarray) -> Solution:
    """The coefficients of all members side by side; as certificate the largest of theirs."""
    stationarities = [solution.stationarity for solution in solutions if solution.stationarity is not None]
    return Solution(
        w=np.concatenate([factor * solution.w for factor, solution in zip(factors, solutions, strict=True)]),
        value=float("nan"),
        gap=largest_gap(solutions),
        n_iter=max(solution.n_iter for solution in solutions),
        converged=all(solution.converged for solution in solutions),
        stationarity=max(stationarities, default=None),
    )


def largest_gap(solutions: Sequence[Solution]) -> float | None:
    """The largest certificate of several solutions; None if one of them has none."""
    gaps = [solution.gap for solution in solutions]
    known = [gap for gap in gaps if gap is not None]
    return max(known) if len(known) == len(gaps) else None


def blend_models(models: Sequence[FoldModels | None], factors: np.ndarray) -> FoldModels:
    """The models of the folds, on the features of all members."""
    known = [model for model in models if model is not None]
    coefs = [factor * model.coefs for factor, model in zip(factors, known, strict=True)]
    intercepts = np.stack([model.intercepts for model in known])
    return FoldModels(np.concatenate(coefs, axis=1), factors @ intercepts)


def blend_scores(scores: Sequence[np.ndarray | None], factors: np.ndarray) -> np.ndarray | None:
    """The scores of the blend from those of its members; None if one of them has none."""
    known = [part for part in scores if part is not None]
    if len(known) < len(scores):
        return None
    return np.tensordot(factors, np.stack(known), axes=1)


def without_matrices(fit: ExactFit) -> ExactFit:
    """A fit whose moments have no square matrices, which take much memory."""
    if not fit.moments.has_scatter:
        return fit
    return fit._replace(moments=ClassMoments.side_by_side([fit.moments]))
