"""The choice of a point of a grid, or of blend weights, by scores of held-out rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vrspam._utils.names import SelectionRule
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
    refuse_scores(scores, axes, rule)
    n_folds = scores.shape[-1]
    mean = scores.mean(axis=-1)
    error = np.full(mean.shape, np.nan)
    if n_folds > 1:
        error = scores.std(axis=-1, ddof=1) / np.sqrt(n_folds)

    points = Points.of([(scores, axes)])
    best = place_of(choose(points.of_draw(), points, "best"), mean.shape)
    index = best if rule == "best" else place_of(choose(points.of_draw(), points, rule), mean.shape)
    values = {name: float(numbers[place]) for (name, numbers), place in zip(axes.items(), index, strict=True)}
    return Choice(index, values, mean, error, edges_at(best, axes, mean, error, measure))


def refuse_scores(scores: np.ndarray, axes: Mapping[str, np.ndarray], rule: str) -> None:
    """Refuse scores that do not fit the grid, or from which the rule cannot choose."""
    if rule == "one-standard-error" and scores.ndim and scores.shape[-1] < 2:
        raise ValueError("The rule 'one-standard-error' needs at least two folds.")
    if rule not in ("best", "one-standard-error"):
        raise ValueError(f"rule must be 'best' or 'one-standard-error', got {rule!r}.")
    sizes = [values.size for values in axes.values()]
    if not axes or scores.shape[:-1] != tuple(sizes) or scores.size == 0:
        raise ValueError(f"scores of shape {scores.shape} do not fit a grid of {sizes} points.")
    if np.isnan(scores).any():
        raise ValueError("Scores contain NaN: every fold needs a score at every point of the grid.")


def place_of(weights: np.ndarray, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Where the only point with weight lies in a grid, one number for each axis."""
    return tuple(int(place) for place in np.unravel_index(int(weights[:, 0].argmax()), shape))


def edges_at(
    best: tuple[int, ...], axes: Mapping[str, np.ndarray], mean: np.ndarray, error: np.ndarray, measure: str
) -> tuple[GridEdge, ...]:
    """The ends of axes at which the best point lies, ahead of its neighbour by more than one standard error."""
    edges = []
    for axis, (name, numbers) in enumerate(axes.items()):
        order = np.argsort(numbers, kind="stable")
        place = int(np.flatnonzero(order == best[axis])[0])
        at_zero = place == 0 and numbers[order[0]] <= 0.0
        if numbers.size < 2 or place not in (0, numbers.size - 1) or at_zero:
            continue
        neighbour = list(best)
        neighbour[axis] = int(order[1 if place == 0 else -2])
        lead = float(mean[best] - mean[tuple(neighbour)])
        limit = float(error[best])
        if lead > limit:
            end = "smallest" if place == 0 else "largest"
            edges.append(GridEdge(name, float(numbers[best[axis]]), end, lead, limit, measure))
    return tuple(edges)


class Points(NamedTuple):
    """The points of the grids of all candidates in one list, with what was measured at each of them."""

    measured: np.ndarray  # of shape (points, folds), on all held-out rows
    candidate: np.ndarray  # the number of the candidate of each point
    order: np.ndarray  # points from simple to complex: by candidate, from the largest l1, then from the largest l2

    @classmethod
    def of(cls, candidates: Sequence[tuple[np.ndarray, Mapping[str, np.ndarray]]]) -> Points:
        """From the measures of each candidate, of shape (*grid, folds), and the axes of its grid."""
        measured: list[np.ndarray] = []
        order: list[np.ndarray] = []
        first = 0
        for scores, axes in candidates:
            places = np.meshgrid(*axes.values(), indexing="ij")
            order.append(first + np.lexsort([place.ravel() for place in places])[::-1])
            measured.append(scores.reshape(-1, scores.shape[-1]))
            first += measured[-1].shape[0]
        sizes = [part.shape[0] for part in measured]
        return cls(np.concatenate(measured), np.repeat(np.arange(len(sizes)), sizes), np.concatenate(order))

    def of_draw(self) -> np.ndarray:
        """The measures as those of one draw, (points, folds, 1)."""
        return self.measured[:, :, np.newaxis]

    def best_of_candidates(self, mean: np.ndarray) -> np.ndarray:
        """The best point of each candidate, the simplest of equally good ones; `mean` is (points, draws)."""
        stops = np.cumsum(np.bincount(self.candidate))
        best = []
        for order in np.split(self.order, stops[:-1]):
            best.append(order[first_within(mean[order], mean[order].max(axis=0) - TIE)])
        return np.stack(best)


def choose(measured: np.ndarray, points: Points, rule: SelectionRule) -> np.ndarray:
    """Weights of the points, (points, draws), adding up to 1, from measures (points, folds, draws); higher is better.

    The choice on the rows as they are is the case of one draw; its correction repeats it on drawn rows.

    "best": 1 for the best point of the best candidate, the first of equally good candidates. "one-standard-error": 1
    for the first point, from simple to complex, within one standard error of that one. "blend": `blend_weights` for
    the best points of all candidates.
    """
    n_points, n_folds, n_draws = measured.shape
    draws = np.arange(n_draws)
    mean = measured.mean(axis=1)
    best = points.best_of_candidates(mean)
    weights = np.zeros((n_points, n_draws))
    if rule == "blend":
        weights[best, draws] = blend_weights(np.moveaxis(measured[best, :, draws], -1, 1))
        return weights

    of_candidates = mean[best, draws]
    chosen = best[first_within(of_candidates, of_candidates.max(axis=0) - TIE), draws]
    if rule == "one-standard-error":
        of_folds = measured[chosen, :, draws]
        error = of_folds.std(axis=1, ddof=1) / np.sqrt(n_folds)
        least = mean[chosen, draws] - np.maximum(error, TIE)
        chosen = points.order[first_within(mean[points.order], least)]
    weights[chosen, draws] = 1.0
    return weights


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
