"""The learning curve of exact models, from moments of parts of the rows.

Moments add up: rows are cut into parts of about the same size, and every fifth part is in one fold. A model of some
parts needs only the sum of their moments, so models of many sets of rows, at all penalties, cost two readings of the
rows. The largest size is all rows of the other folds; the sizes halve from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from vrspam._utils.validation import Rows
from vrspam.metrics.correction import Sample, draw_sample, stable_share
from vrspam.metrics.estimates import Estimate
from vrspam.metrics.groups import Clusters, influence, placements
from vrspam.metrics.roc import quantile, roc_auc_columns
from vrspam.model_selection.held_out import scores_of
from vrspam.objective import SquaredPairLoss, l2_unit
from vrspam.pairs import SQUARED
from vrspam.solvers.path import solve_grid


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """The AUC of held-out rows by the number of rows that a model was trained on.

    Attributes
    ----------
    rows : array of k
        Rows that models were trained on, from few to many.
    auc, noise : array of k
        Mean AUC of these models, and its standard error from the draw of the training rows.
    error : float
        Standard error from the draw of the held-out rows, which all sizes share.
    total : int
        Rows of the table.
    unstable : float
        The share of the variance of scores that other training rows would change.
    """

    rows: np.ndarray
    auc: np.ndarray
    noise: np.ndarray
    error: float
    total: int
    unstable: float = 0.0

    def at(self, rows: float, confidence: float = 0.9) -> Estimate:
        """The AUC to expect of a model of so many rows, with its band, which is symmetric on the logit scale."""
        middle, spread = self._trend(rows)
        inside = min(max(middle, 1e-6), 1.0 - 1e-6)
        half = quantile(confidence) * np.hypot(spread, self.error) / (inside * (1.0 - inside))
        return Estimate(middle, float(expit(logit(inside) - half)), float(expit(logit(inside) + half)))

    def gain(self, times: float, confidence: float = 0.9) -> Estimate:
        """The gain in AUC from `times` as many rows, with its band; both AUCs are for the same held-out rows."""
        (now, _), (then, spread) = self._trend(self.total), self._trend(times * self.total)
        half = quantile(confidence) * spread
        return Estimate(then - now, max(then - now - half, 0.0), then - now + half)

    def _trend(self, rows: float) -> tuple[float, float]:
        """AUC(n) = a - b·n^-c at n rows, and its standard error.

        For each c, weighted least squares give a and b ≥ 0; c has the prior 0.8 ± 0.3, and the curves of all c are
        averaged by how well they fit. No curve is exactly a power of n: the AUC of a size is taken to be off by 0.4 of
        its drop, a gain beyond the largest size by 0.7 of itself. These were chosen on tables that no figure uses.

        A score that is mostly noise has not begun to level off, which no power of n says: what it has above 1/2 grows
        with √n. The unstable share of such a gain is taken to be off by half of itself.
        """
        drop = np.maximum.accumulate((self.auc.max() - self.auc)[::-1])[::-1]
        weight = 1.0 / (self.noise**2 + (0.4 * drop) ** 2 + 1e-8)
        curves = []
        for c in np.linspace(0.1, 1.6, 31):
            design = np.column_stack([np.ones(self.rows.size), -((self.rows / self.rows[-1]) ** -c)])
            inverse = np.linalg.inv((design * weight[:, np.newaxis]).T @ design)
            point = np.array([1.0, -((rows / self.rows[-1]) ** -c)])
            coef, variance = inverse @ (design.T @ (weight * self.auc)), float(point @ inverse @ point)
            if coef[1] < 0.0:  # more rows do not make a model worse
                coef, variance = np.array([weight @ self.auc / weight.sum(), 0.0]), 1.0 / weight.sum()
            misfit = float(weight @ (self.auc - design @ coef) ** 2) + ((c - 0.8) / 0.3) ** 2
            curves.append((misfit - np.log(np.linalg.det(inverse)), float(point @ coef), variance))
        misfits, values, variances = np.array(curves).T
        share = np.exp(-0.5 * (misfits - misfits.min()))
        share /= share.sum()
        middle = float(share @ values)
        ahead = 0.7 * max(middle - float(self.auc[-1]), 0.0)
        by_root = max(float(self.auc[-1]) - 0.5, 0.0) * max(float(np.sqrt(rows / self.rows[-1])) - 1.0, 0.0)
        not_level = 0.5 * self.unstable * by_root
        return middle, float(np.sqrt(share @ (variances + (values - middle) ** 2) + ahead**2 + not_level**2))


def learning_curve(
    rows: Rows, part: np.ndarray, *, groups: np.ndarray | None = None, n_folds: int = 5, most: int = 4, seed: int = 0
) -> LearningCurve:
    """The learning curve of the exact model of features, from moments of parts of the rows.

    `rows` has features (an array, or `MappedArray`) and whether rows are positive; `part` is the number of each row's
    part, from 0 on, the same for all rows of a group. Each fold has at most `most` models of a size, which share no
    part; each size has its own best penalty. The rows of one of the `groups` vary together.
    """
    classes, n_parts = np.array([False, True]), int(part.max()) + 1
    moments = [SQUARED.gather(rows, classes, np.flatnonzero(part == number)) for number in range(n_parts)]
    l2s = l2_unit(sum(moments[1:], moments[0])) * np.logspace(-6, 2, 9)
    exclusive, fold = getattr(rows.X, "exclusive", ()), np.arange(n_parts) % n_folds
    pools = [np.random.default_rng([seed, f]).permutation(np.flatnonzero(fold != f)) for f in range(n_folds)]
    largest = min(pool.size for pool in pools)
    sizes = [largest >> k for k in range(largest.bit_length())][::-1]
    aucs: list[list[np.ndarray]] = [[] for _ in sizes]  # for each size and each model: AUCs at all penalties
    held_out = []  # rows of each fold, and their scores by the models of the largest size
    largest_coefs = []  # of these models, at all penalties
    counts = np.bincount(part)
    used = np.zeros((n_folds, n_parts))  # rows of each part that they are trained on
    for f, pool in enumerate(pools):
        test, coefs, owner = np.flatnonzero(fold[part] == f), [], []
        for number, size in enumerate(sizes):
            for start in range(min(most, largest // size)):
                parts = [moments[k] for k in pool[start * size : (start + 1) * size]]
                loss = SquaredPairLoss.from_moments(sum(parts[1:], parts[0]), exclusive)
                solved = solve_grid(loss, l2s, np.zeros(1), tol=1e-6, max_iter=1000)
                coefs.append(solved.coefs[:, 0])
                owner.append(number)
        scored = scores_of(rows.X, test, np.concatenate(coefs))
        weights = None if rows.weights is None else rows.weights[test]
        measured = roc_auc_columns(rows.y[test], scored, weights).reshape(len(owner), -1)
        for number, of_path in zip(owner, measured, strict=True):
            aucs[number].append(of_path)
        held_out.append((test, scored[:, -l2s.size :]))
        largest_coefs.append(coefs[-1])
        used[f, pool[:largest]] = np.sqrt(counts[pool[:largest]])
    overlap = used @ used.T
    by_fold = [np.mean(np.reshape(of_path, (n_folds, -1, l2s.size)), axis=1) for of_path in aucs]
    best = int(np.argmax(by_fold[-1].mean(axis=0)))
    sample, stable = _stability(rows, groups, held_out, [coefs[best] for coefs in largest_coefs], overlap)
    widened = sample.widening(stable)
    of_folds = np.array([_without_optimism(of_path, widened) for of_path in by_fold])
    # standard error of the difference from the largest size; half of the one before for the largest size itself
    noise = np.std(of_folds - of_folds[-1], axis=1, ddof=1) / np.sqrt(n_folds)
    noise[-1] = noise[-2] / 2.0 if len(sizes) > 1 else 0.0
    noise = np.maximum.accumulate(noise[::-1])[::-1]
    mass = np.ones(part.size) if rows.weights is None else rows.weights
    moves = np.zeros(part.size)
    for test, scored in held_out:
        placed = placements(rows.y[test], scored[np.newaxis, :, best], mass[test])[0]
        moves[test] = influence(rows.y[test], placed, mass[test]) / n_folds
    units = np.arange(part.size) if groups is None else groups
    error = widened * Clusters.of_moves(moves, mass, units, rows.y.astype(bool)).error
    trained = np.array(sizes) * (part.size / n_parts)
    return LearningCurve(trained, of_folds.mean(axis=1), noise, error, part.size, 1.0 - stable)


def _without_optimism(by_fold: np.ndarray, widened: float) -> np.ndarray:
    """The AUC of each fold at the best penalty, without the optimism of its choice; `by_fold` is (folds, penalties).

    The penalty is chosen again without each fold, and the lead of the choice of all folds over that one is taken off.
    The other folds know something of this one, because all share training rows: so the lead counts as often as errors
    are `widened` for that reason.
    """
    best, found = int(np.argmax(by_fold.mean(axis=0))), by_fold.copy()
    for fold in range(by_fold.shape[0]):
        others = np.delete(by_fold, fold, axis=0).mean(axis=0)
        found[fold] -= widened * (by_fold[fold, best] - by_fold[fold, int(np.argmax(others))])
    return found[:, best]


def _stability(
    rows: Rows,
    groups: np.ndarray | None,
    held_out: Sequence[tuple[np.ndarray, np.ndarray]],
    coefs: Sequence[np.ndarray],
    overlap: np.ndarray,
) -> tuple[Sample, float]:
    """The held-out rows, and the share of their scores' variance that other training rows would give, too.

    `coefs` are those of the models of the folds, which have `overlap` training rows in common.
    """
    n, positive = rows.y.size, np.asarray(rows.y, dtype=bool)
    parts = [test for test, _ in held_out]
    sample = draw_sample(parts, [n - test.size for test in parts], positive, rows.weights, groups, 1, seed=0)
    by_all = scores_of(rows.X, sample.rows, np.stack(coefs))
    return sample, stable_share(by_all, overlap, sample)
