"""The choice of a point of a grid, or of blend weights, by scores of held-out rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vrspam._utils.messages import SelectionRule
from vrspam._utils.warnings import GridEdge, warn

TIE = 1e-12  # mean scores that differ by less are equal but for rounding


@dataclass(frozen=True)
class Choice:
    """The chosen point of a grid.

    Attributes
    ----------
    index : tuple of int
        One entry per axis of the grid.
    values : dict of str to float
        The grid's numbers there.
    mean, standard_error : ndarray of the shape of the grid
        Errors are NaN when there is only one fold.
    edges : tuple of GridEdge
        The axes at whose end the best point lies, clearly ahead of its neighbour.
    advice : tuple of str
        `edges` in words: how to extend the grid.

    Examples
    --------
    >>> from vrspam.selection import select
    >>> choice = select([[0.70, 0.72], [0.80, 0.82], [0.79, 0.81]], {"l2": [0.1, 1.0, 10.0]})
    >>> choice.index, choice.values, choice.mean.round(2).tolist()
    ((1,), {'l2': 1.0}, [0.71, 0.81, 0.8])
    """

    index: tuple[int, ...]
    values: dict[str, float]
    mean: np.ndarray
    standard_error: np.ndarray
    edges: tuple[GridEdge, ...]

    @property
    def advice(self) -> tuple[str, ...]:
        """How to extend the grid, one sentence for each of its edges."""
        return tuple(map(str, self.edges))

    def warn(self) -> None:
        """Give the advice, if there is any, as warnings."""
        for edge in self.edges:
            warn(edge)


def select(
    scores: ArrayLike, grid: Mapping[str, ArrayLike], rule: SelectionRule = "best", *, measure: str = ""
) -> Choice:
    """The point of a grid with the best mean score over folds, or the simplest one within a standard error of it.

    The standard error of a mean over K folds is their standard deviation (K - 1) over √K. Of points that are
    equally good the simplest is taken: the largest value along the last axis of the grid, then along the one
    before it. If the best point lies at the end of an axis and beats its neighbour there by more than one
    standard error, the grid may be too short: then `advice` tells how to extend it. (Not at the value 0, beyond
    which there is nothing, nor on a plateau.)

    Parameters
    ----------
    scores : array of the shape of the grid, with an axis of folds at the end
        Higher is better.
    grid : mapping of names to arrays of numbers
        The axes of `scores` in order; a larger number must mean a simpler model. For an elastic net
        ``{"l2": l2s, "l1": l1s}``, so that the sparsest comes first.
    rule : {"best", "one-standard-error"}
    measure : str, optional
        The name of the scores, for the advice.

    Returns
    -------
    Choice

    References
    ----------
    L. Breiman et al. Classification and Regression Trees, 1984, section 3.4.3 (the one-standard-error rule).

    Examples
    --------
    >>> from vrspam.selection import select
    >>> scores = [[0.80, 0.84], [0.89, 0.93], [0.88, 0.92], [0.70, 0.74]]
    >>> select(scores, {"l2": [0.01, 0.1, 1.0, 10.0]}).values
    {'l2': 0.1}
    >>> select(scores, {"l2": [0.01, 0.1, 1.0, 10.0]}, "one-standard-error").values
    {'l2': 1.0}
    >>> select(scores[:2], {"l2": [0.01, 0.1]}).advice
    ('The best l2 is 0.1, the largest of the grid, ... add larger values of l2.',)
    """
    scores = np.asarray(scores, dtype=np.float64)
    axes = {name: np.asarray(numbers, dtype=np.float64) for name, numbers in grid.items()}
    if rule == "one-standard-error" and scores.ndim and scores.shape[-1] < 2:
        raise ValueError("The rule 'one-standard-error' needs at least two folds.")
    sizes = [values.size for values in axes.values()]
    if rule not in ("best", "one-standard-error"):
        raise ValueError(f"rule must be 'best' or 'one-standard-error', got {rule!r}.")
    if not axes or scores.shape[:-1] != tuple(sizes) or scores.size == 0:
        raise ValueError(f"scores of shape {scores.shape} do not fit a grid of {sizes} points.")
    if np.isnan(scores).any():
        raise ValueError("Scores contain NaN: every fold needs a score at every point of the grid.")
    folds = scores.shape[-1]
    mean = scores.mean(axis=-1)
    error = scores.std(axis=-1, ddof=1) / np.sqrt(folds) if folds > 1 else np.full(mean.shape, np.nan)
    points, one_draw = Grid.of([(scores, axes)]), scores.reshape(-1, folds, 1)
    best, chosen = (
        tuple(np.array(np.unravel_index(points.chosen(which, one_draw)[0], mean.shape)).tolist())
        for which in ("best", rule)
    )
    edges = []
    for axis, (name, numbers) in enumerate(axes.items()):
        order = np.argsort(numbers, kind="stable")
        place = int(np.flatnonzero(order == best[axis])[0])
        if numbers.size < 2 or place not in (0, numbers.size - 1) or (place == 0 and numbers[order[0]] <= 0.0):
            continue
        neighbour = list(best)
        neighbour[axis] = int(order[1 if place == 0 else -2])
        lead, limit = float(mean[best] - mean[tuple(neighbour)]), float(error[best])
        if lead > limit:
            end = "smallest" if place == 0 else "largest"
            edges.append(GridEdge(name, float(numbers[best[axis]]), end, lead, limit, measure))
    values = {name: float(numbers[place]) for (name, numbers), place in zip(axes.items(), chosen, strict=True)}
    return Choice(chosen, values, mean, error, tuple(edges))


class Grid(NamedTuple):
    """The points of all candidates in one list: the choice among them, on the rows as they are or as they are drawn.

    Scores are of shape (points, folds, draws), higher being better.
    """

    auc: np.ndarray  # of shape (points, folds), on all held-out rows
    order: np.ndarray  # points from simple to complex: by candidate, from the largest l1, then from the largest l2
    sizes: tuple[int, ...]  # points of each candidate

    @classmethod
    def of(cls, candidates: Sequence[tuple[np.ndarray, Mapping[str, np.ndarray]]]) -> Grid:
        """From the AUC of each candidate, of shape (*grid, folds), and the axes of its grid."""
        parts, order, first = [], [], 0
        for auc, axes in candidates:
            places = np.meshgrid(*axes.values(), indexing="ij")
            order.append(first + np.lexsort([place.ravel() for place in places])[::-1])
            parts.append(auc.reshape(-1, auc.shape[-1]))
            first += parts[-1].shape[0]
        return cls(np.concatenate(parts), np.concatenate(order), tuple(part.shape[0] for part in parts))

    def best_points(self, scores: np.ndarray) -> np.ndarray:
        """The best point of each candidate, the simplest of equally good ones: an array (candidates, draws)."""
        mean, stops, found = scores.mean(axis=1), np.cumsum(self.sizes), []
        for start, stop in zip(stops - self.sizes, stops, strict=True):
            order = self.order[start:stop]
            found.append(order[first_within(mean[order], mean[order].max(axis=0) - TIE)])
        return np.stack(found)

    def chosen(self, rule: SelectionRule, scores: np.ndarray) -> np.ndarray:
        """The point that "best" or "one-standard-error" takes of all candidates, for each draw.

        Of candidates that are equally good the first leads. With "one-standard-error" the first point, from simple to
        complex, is taken that is within one standard error of the leader.
        """
        mean, draws = scores.mean(axis=1), np.arange(scores.shape[2])
        points = self.best_points(scores)
        of_candidates = mean[points, draws]
        leader = points[first_within(of_candidates, of_candidates.max(axis=0) - TIE), draws]
        if rule == "best":
            return leader
        folds = scores[leader, :, draws]
        error = folds.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
        least = mean[leader, draws] - np.maximum(error, TIE)
        return self.order[first_within(mean[self.order], least)]

    def take(self, rule: SelectionRule, spread: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Weights of the points, (points, draws): of a blend, or 1 for the point that the rule takes.

        `spread` is that of the scores of rows at each point, by which a blend divides them.
        """
        draws = np.arange(scores.shape[2])
        found = np.zeros((scores.shape[0], draws.size))
        if rule == "blend":
            points = self.best_points(scores)
            found[points, draws] = blend_weights(np.moveaxis(scores[points, :, draws], -1, 1)) / spread[points]
        else:
            found[self.chosen(rule, scores), draws] = 1.0
        return found


def first_within(values: np.ndarray, least: np.ndarray) -> np.ndarray:
    """The first value of each column that is at least `least`."""
    return (values >= least).argmax(axis=0)


def blend_weights(scores: np.ndarray) -> np.ndarray:
    """Weights of candidates, which add up to 1, from their scores on the folds, of shape (candidates, folds, ...).

    A candidate whose mean score is Δ behind the best gets exp(-Δ / (s/2)) times the weight of the best, whose scores
    over the folds have the standard deviation s. If s is 0, only candidates as good as the best get any weight.
    Further axes are independent of each other.

    >>> blend_weights(np.array([[0.80, 0.84], [0.79, 0.85], [0.70, 0.74]])).tolist()
    [0.5, 0.5, 0.0]
    """
    mean = scores.mean(axis=1)
    best = mean.argmax(axis=0)[np.newaxis]
    behind = np.take_along_axis(mean, best, axis=0) - mean
    scale = np.zeros(behind.shape[1:])
    if scores.shape[1] > 1:
        of_best = np.take_along_axis(scores, np.expand_dims(best, 1), axis=0)[0]
        scale = 0.5 * of_best.std(axis=0, ddof=1)  # so far behind the best, a weight falls to 1/e
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = np.exp(-behind / scale)
    weights = np.where(behind <= TIE, 1.0, np.where(scale > TIE, weights, 0.0))
    weights = np.where(weights < 0.02, 0.0, weights)  # relative to the largest: such a member only costs time
    return weights / weights.sum(axis=0)
