"""Models of a stream of rows: the exact optimum from moments, or one stochastic step a row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from vrspam._utils.arrays import padded
from vrspam._utils.warnings import NotConverged, warn
from vrspam.moments import ClassMoments
from vrspam.objective import AUTO_L2_SHARE, Objective, l2_unit
from vrspam.solvers import solve
from vrspam.solvers.online import OnlineMethod, diverged, largest_square, step_rule
from vrspam.solvers.opauc import OPAUC
from vrspam.solvers.solam import SOLAM
from vrspam.solvers.spam import SPAM

BUFFERED_ROWS = 256  # rows that are gathered before they are added to the moments: one product is quicker than many
SCORES_HALF_LIFE = 1000.0  # rows; probabilities of SPAM, SOLAM and OPAUC follow scores of about so many rows


class Scorer(NamedTuple):
    """Coefficients, and what the scores of both classes look like: their means, common variance, and weights."""

    coef: np.ndarray
    low: float
    high: float
    variance: float
    weights: tuple[float, float]  # of the negative and of the positive class

    def log_odds(self, rows: np.ndarray) -> np.ndarray:
        """Log-odds of the positive class if its scores and those of the negatives are normal, with one variance.

        They never fall with the score: a gap between the classes of less than 0.1 % of the spread counts as that. The
        square of the gap, divided by the number of rows, is added to the variance, because two rows have none.
        """
        scores = rows[:, : self.coef.size] @ self.coef[: rows.shape[1]]
        negative, positive = self.weights
        gap = max(self.high - self.low, 1e-3 * np.sqrt(self.variance))
        variance = self.variance + gap**2 / (negative + positive)
        slope = gap / variance if variance > 0.0 else 0.0
        return np.log(positive / negative) + slope * (scores - (self.low + self.high) / 2.0)


class ExactStream:
    """Moments of both classes, and the optimum for them, which is found when a prediction asks for it."""

    def __init__(self, l2: float | None, l1: float, half_life: float | None, refresh: float, tol: float):
        self.l2, self.l1, self.refresh, self.tol = l2, float(l1), refresh, tol
        self.moments = ClassMoments(classes=[False, True], half_life=half_life)
        self.waiting: list[tuple[np.ndarray, bool]] = []
        self.new_rows = 0  # since the last solution
        self.solved: Scorer | None = None
        self.gap = float("nan")

    def learn(self, rows: np.ndarray, side: np.ndarray) -> None:
        """Add rows; few at a time wait until there are enough for one product."""
        self.new_rows += side.size
        if side.size < BUFFERED_ROWS:
            self.waiting += zip(rows.copy(), side.tolist(), strict=True)
        else:
            self._add_waiting()
            self._add(rows, side)
        if len(self.waiting) >= BUFFERED_ROWS:
            self._add_waiting()

    def scorer(self) -> Scorer | None:
        """The last solution; a new one, where there are enough new rows."""
        if self.new_rows == 0:
            return self.solved
        weight = float(self.moments.weights.sum()) + len(self.waiting)
        if self.solved is None or self.new_rows >= self.refresh * weight:
            self._add_waiting()
            if self.moments.complete:  # a class may have been forgotten: the last solution stays
                self.solved = self._solve()
                self.new_rows = 0
        return self.solved

    def _add_waiting(self) -> None:
        if not self.waiting:
            return
        rows, side = zip(*self.waiting, strict=True)
        self.waiting = []
        block = np.zeros((len(rows), max(row.size for row in rows)))
        for number, row in enumerate(rows):
            block[number, : row.size] = row
        self._add(block, np.array(side))

    def _add(self, rows: np.ndarray, side: np.ndarray) -> None:
        known = self.moments.n_features
        if known is not None and rows.shape[1] > known:
            self.moments.add_features(rows.shape[1] - known)
        elif known is not None and rows.shape[1] < known:
            rows = padded(rows, known, (1,))
        self.moments.add_checked(rows, side)

    def _solve(self) -> Scorer:
        moments, weights = self.moments, (float(self.moments.weights[0]), float(self.moments.weights[1]))
        if not moments.n_features:  # no row has had a key yet
            return Scorer(np.zeros(0), 0.0, 0.0, 0.0, weights)
        l2 = AUTO_L2_SHARE * l2_unit(moments) if self.l2 is None else self.l2
        objective = Objective.from_moments(moments, l2, self.l1)
        start = None if self.solved is None else padded(self.solved.coef, moments.means.shape[1])
        solution = solve(objective, tol=self.tol, max_iter=1000, w0=start)
        if not np.isfinite(solution.w).all():
            raise ValueError("The solution is not finite: standardise the features, or give a larger l2.")
        if not solution.converged:
            warn(NotConverged("RiverAUC", solution.n_iter, solution.gap, measure="gap"))
        self.gap = solution.gap
        w = solution.w
        low, high = moments.means @ w
        variance = sum(float(w @ scatter @ w) for scatter in moments.scatters) / sum(weights)
        return Scorer(w, float(low), float(high), max(variance, 0.0), weights)


class StepStream:
    """A stochastic method, one step a row, and the scores that rows had before their step."""

    gap = float("nan")

    def __init__(self, name: str, l2: float | None, l1: float, step_size: float | str, sketch: int | None):
        self.l2, self.step_size = l2, step_size
        self.more: tuple[float, ...] = (float(l1),) if name == "spam" else ()
        self.method: OnlineMethod = {"spam": SPAM, "solam": SOLAM}[name](0) if name != "opauc" else OPAUC(0, sketch)
        self.sums = np.zeros((2, 3))  # weight, mean, and sum of squares about it, of the scores of each class

    def learn(self, rows: np.ndarray, side: np.ndarray) -> None:
        """Take one step for each row."""
        method: Any = self.method
        if rows.shape[1] > method.w.size:
            method.add_features(rows.shape[1] - method.w.size)
        rows = np.ascontiguousarray(padded(rows, method.w.size, (1,)))
        rule, sides = step_rule(self.step_size, self.l2), side.astype(np.int64)
        for number in range(side.size):
            self._note_score(float(rows[number] @ method.coef), int(sides[number]))
            method.advance(rows, np.array([number]), sides, rule, *self.more, learn=True)
        if not np.isfinite(method.coef).all():
            raise diverged(self.step_size, 0.1 / max(largest_square(rows), 1.0))

    def _note_score(self, score: float, side: int) -> None:
        if self.method.n_steps == 0:
            return
        self.sums[:, [0, 2]] *= 2.0 ** (-1.0 / SCORES_HALF_LIFE)
        weight, mean, _ = self.sums[side]
        self.sums[side, 0] = weight + 1.0
        self.sums[side, 1] = mean + (score - mean) / (weight + 1.0)
        self.sums[side, 2] += weight / (weight + 1.0) * (score - mean) ** 2

    def scorer(self) -> Scorer:
        """The coefficients after the steps so far."""
        method = self.method
        coef, (negative, positive) = method.coef, method.counts
        seen, means, squares = self.sums.T
        # until scores of both classes are known, the class means stand for them
        low, high = np.where(seen.min() > 0.0, means, method.means @ coef)
        variance = squares.sum() / max(seen.sum(), 1.0)
        return Scorer(coef, float(low), float(high), float(variance), (float(negative), float(positive)))
