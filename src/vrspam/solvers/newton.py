"""Newton's method for the squared hinge over pairs, with l2 alone.

A step starts from d = -M⁻¹∇F, where M is the Hessian of some thousand rows, drawn evenly from those that are in a
pair that counts: nearly as good as the Hessian of all rows at a fraction of its price, and equal to it where few pairs
count. The step taken is the best one, by the Hessian of all rows, in the plane of d and the step before; that Hessian
is applied only to the scores of these two, which costs no product with X. So a step takes one product with X, one with
Xᵀ and one sort, and as long as the active pairs stay the same the steps are those of the conjugate gradient method with
preconditioner M.

For wide data no matrix is formed. A step solves (∇²f + l2) d = -∇F roughly by conjugate gradient, and the
preconditioner is between the diagonal and a multiple of the identity: few pairs are active, so in most directions the
only curvature is l2, and the diagonal would hide that.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import linalg

from vrspam.objective import Objective
from vrspam.objective.hinge import Point, SortedHinge
from vrspam.objective.sorted_pairs import SortedPairs
from vrspam.solvers.base import EpochSolver, Solution, State, run
from vrspam.solvers.gram import NOT_RIDGE
from vrspam.solvers.smooth import conjugate_gradient

NOT_SORTED = "it needs the squared hinge over pairs, by sorted scores"
ROWS_PER_FEATURE = 8  # in the preconditioner
LEAST_ROWS = 2_000
QUICK_ROWS = 20.0  # times n/d: the Hessian of so many rows costs little more than a product with X


class Preconditioner:
    """The Hessian of some of the rows plus l2, factorised, for one loss and many l2."""

    slow = 12  # after more steps than these it was too coarse, and the next one takes more rows

    def __init__(self, loss: SortedHinge):
        n, d = loss.products.shape
        self.loss = loss
        matrix_max_features = 5_000
        self.by_matrix = d <= min(matrix_max_features, max(n, 1_000))
        self.few = max(ROWS_PER_FEATURE * d, LEAST_ROWS)
        # Many rows of few columns: more of them cost no more than a product with X.
        self.most = max(self.few, min(n // 4, int(QUICK_ROWS * n / max(d, 1))))
        self._hessian: np.ndarray | None = None
        self._factor: Any = None
        self._l2 = -1.0
        self._share = 0.0  # of the weight of the pairs that count, when it was built
        self._thinned = False

    def pays(self, pairs: SortedPairs, steps: int, steps_left: float) -> bool:
        """Whether a new preconditioner costs less than it is likely to save, after `steps` steps with the old one."""
        if self._hessian is None:
            return True
        about = 0.4  # relative change of the weight of the pairs that count up to which a preconditioner stays good
        if self._thinned and steps <= self.slow and abs(pairs.share() - self._share) <= about * self._share:
            return False
        n, d = self.loss.products.shape
        rows = min(self.most, sum(map(len, pairs.active())))
        dense_speed = 10.0  # a product of matrices does so many times the work of one with a vector in the same time
        return rows * d / (dense_speed * n) < 2.0 * (steps_left - 2.0)

    def build(self, pairs: SortedPairs, steps: int) -> None:
        """Take the Hessian at the given scores, of more rows if the last one was not good enough."""
        self._factor = None
        if steps > self.slow:
            self.most *= 2
        part = pairs.active_part(self.most)
        matrix = self.loss.hessian_matrix(part)
        self._share = pairs.share()
        self._thinned = part.up.size + part.down.size < sum(map(len, pairs.active()))
        if self._thinned:
            # Without this, f would seem to have no curvature along a column that is zero in all chosen rows.
            diagonal = np.einsum("ii->i", matrix)
            np.maximum(diagonal, self._share * self.loss.curvature(), out=diagonal)
        self._hessian = matrix

    def solve(self, r: np.ndarray, l2: float) -> np.ndarray:
        """Solve (Hessian + l2 I) x = r."""
        if self._factor is None or self._l2 != l2:
            assert self._hessian is not None
            mean = float(np.trace(self._hessian)) / max(self._hessian.shape[0], 1)
            self._factor = cholesky_of(self._hessian, max(l2, 1e-12 * mean))
            self._l2 = l2
        return linalg.cho_solve(self._factor, r, check_finite=False)


def cholesky_of(hessian: np.ndarray, shift: float) -> Any:
    """The factor of hessian + shift I, for `cho_solve`; with a larger shift, if rounding allows no factor."""
    shift = max(shift, float(np.finfo(float).tiny))
    while True:
        matrix = np.array(hessian, order="F")
        matrix[np.diag_indices_from(matrix)] += shift
        try:
            return linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            shift *= 100.0


class SortedScores(EpochSolver):
    """Base of the solvers that keep the scores of w sorted, with their search along a step."""

    preconditioner: Any = None
    _w: np.ndarray | None = None  # the w that `scores`, `point`, `moved` and `grad` (of the smooth part) belong to
    tol = 0.0
    line_steps = 30

    def solve(self: Any, objective: Objective, *, tol: float, max_iter: int, w0: np.ndarray | None = None) -> Solution:
        if self.preconditioner is None or self.preconditioner.loss is not objective.loss:
            self.preconditioner = Preconditioner(objective.loss)
            self._w = None
        self.w0 = self._solution_of_some_rows(objective, max_iter) if w0 is None else w0
        self.tol = tol
        without_rounding = run(self, objective, tol=tol, max_iter=max_iter)
        solution = with_rounding(objective, without_rounding, self.moved, self.point, tol)
        if solution.converged or solution.gap is None or solution.n_iter >= max_iter:
            return solution

        # The room for rounding has lifted the gap above the tolerance again: go on to a smaller gap.
        slack = solution.gap - solution.history["gap"][-1]
        room = tol - 2.0 * slack / objective.scale
        if not 0.0 < room < tol:
            return solution
        self.w0 = solution.w
        self.tol = 0.5 * room
        further = run(self, objective, tol=self.tol, max_iter=max_iter - solution.n_iter)
        self.tol = tol
        return with_rounding(objective, joined(solution, further), self.moved, self.point, tol)

    def _solution_of_some_rows(self, objective: Objective, max_iter: int) -> np.ndarray | None:
        """The rough solution for some of many rows, which is near and costs a fraction; None where it does not pay."""
        few = self.preconditioner.few
        rows = objective.loss.pair_rows
        is_large = rows.edges is None and rows.positive.size + rows.negative.size >= 3 * few
        if not (self.preconditioner.by_matrix and is_large):
            return None
        thinned = replace(objective, loss=objective.loss.thinned(few))
        return type(self)().solve(thinned, tol=1e-4, max_iter=max_iter).w

    def init(self, objective: Objective) -> State:
        loss = objective.loss
        w = np.zeros(loss.n_features) if self.w0 is None else np.array(self.w0, dtype=np.float64)
        passes = 1.0
        if self._w is None or not np.array_equal(w, self._w):  # else it is where the last solution ended
            self.scores = loss.scores(w)
            self.moved = np.abs(w)
            self.point = loss.at(self.scores)
            self.grad = loss.gradient_of(self.point.slope)
            self._w = w
            passes += 2.0 if w.any() else 1.0
        return State(w, self.grad, self.point.value + objective.penalty.value(w), passes=passes)

    def goal_of(self, objective: Objective, size: float, accuracy: float = 0.1) -> float:
        """The square of the residual at which a linear system counts as solved; `size` is the square at the start."""
        divisor = 2.0 * objective.penalty.gap_curvature(objective.loss.curvature())
        return max(accuracy**2 * size, 0.1 * self.tol * objective.scale * divisor)

    def search(
        self,
        objective: Objective,
        state: State,
        direction: np.ndarray,
        image: np.ndarray,
        most: float = 1.0,
        slope: float | None = None,
    ) -> float:
        """Move along the direction, at most `most` of it, to a point where F is lower; each trial is one sort.

        `image` are the scores of the direction, `slope` is the slope of f along it, by default that of `state.grad`.
        Returns the fraction of the direction that was taken, 0 if rounding allows none.
        """
        loss, penalty = objective.loss, objective.penalty
        slope = float(state.grad @ direction) if slope is None else slope
        slope += (penalty.value(state.w + most * direction) - penalty.value(state.w)) / most
        fraction = most
        # What a step gains may be lost in the rounding of F, long before the gradient is small enough.
        value_rounding = 2.0**-48  # relative
        rounding = value_rounding * abs(state.value)
        for _ in range(self.line_steps):
            w = state.w + fraction * direction
            scores = self.scores + fraction * image
            point = loss.at(scores)
            value = point.value + penalty.value(w)
            if value <= state.value + 0.1 * fraction * min(slope, 0.0) + rounding:
                state.w, state.value = w, value
                self.scores = scores
                self.point = point
                self.moved = self.moved + fraction * np.abs(direction)
                return fraction
            # F is convex along the direction, and f has about constant curvature: go to the minimum of a parabola.
            rise = (value - state.value) / fraction - slope
            fraction *= min(max(-slope / (2.0 * rise), 0.05), 0.7) if rise > 0.0 else 0.5
        return 0.0

    def arrive(self, objective: Objective, state: State) -> None:
        """The gradient at the point that the search has reached."""
        loss = objective.loss
        if not loss.products.exact:  # steps were taken in float32, so their scores are coarse
            self.scores = loss.scores(state.w)
            self.moved = np.abs(state.w)
            self.point = loss.at(self.scores)
            state.value = self.point.value + objective.penalty.value(state.w)
            state.passes += 1.0
        self.grad = state.grad = loss.gradient_of(self.point.slope)
        self._w = state.w
        state.passes += 1.0


class PairNewton(SortedScores):
    """Preconditioned steps on sorted scores; see the head of this file."""

    def refuses(self, objective: Objective) -> str | None:
        if not isinstance(objective.loss, SortedHinge):
            return NOT_SORTED
        return NOT_RIDGE if objective.penalty.ridge is None else None

    def init(self, objective: Objective) -> State:
        self._last: tuple[np.ndarray, np.ndarray] | None = None  # the step before, and its scores
        self._before = np.inf
        self._steps = 0
        self._share = 0.0
        return super().init(objective)

    def epoch(self, objective: Objective, state: State) -> None:
        loss = objective.loss
        l2 = objective.penalty.ridge
        assert l2 is not None
        gradient = state.grad + l2 * state.w
        if not self.preconditioner.by_matrix:
            self._wide_step(objective, state, gradient, l2)
            return
        if self.preconditioner.pays(self.point.pairs, self._steps, self._steps_left(objective, gradient)):
            self.preconditioner.build(self.point.pairs, self._steps)
            self._steps = 0
        self._steps += 1
        direction = self.preconditioner.solve(-gradient, l2)
        image = loss.quick_scores(direction)
        state.passes += 1.0
        direction, image = self._best_step(loss, l2, gradient, (direction, image))
        before = state.w
        self._last = None
        taken = self.search(objective, state, direction, image)
        if taken > 0.0:
            taken += self._go_on(objective, state, float(gradient @ direction), direction, image)
        if taken > 0.0:
            self._last = (state.w - before, taken * image)
        self.arrive(objective, state)

    def _go_on(
        self, objective: Objective, state: State, slope: float, direction: np.ndarray, image: np.ndarray
    ) -> float:
        """Move on along the direction while F is steep along it, as where few pairs count; returns how far."""
        l2 = objective.penalty.ridge
        assert l2 is not None
        bend = l2 * float(direction @ direction)
        moved = 0.0
        flat = 0.2  # share of the slope at the start that may be left at the end of a step
        for _ in range(self.line_steps):
            there = float(self.point.slope @ image) + l2 * float(state.w @ direction)
            if abs(there) <= flat * abs(slope):
                break
            along = objective.loss.scale * float(image @ self.point.pairs.product(image)) + bend
            if not along > 0.0:
                break
            sign = float(np.copysign(1.0, -there))
            slope_of_loss = sign * float(self.point.slope @ image)
            further = self.search(
                objective, state, sign * direction, sign * image, most=abs(there) / along, slope=slope_of_loss
            )
            moved += sign * further
            if further == 0.0:
                break
        return moved

    def _wide_step(self, objective: Objective, state: State, gradient: np.ndarray, l2: float) -> None:
        """A rough Newton step without a matrix."""
        loss = objective.loss
        pairs = self.point.pairs
        share_before = self._share
        self._share = pairs.share()
        bends = self._share * loss.curvature()
        mean = max(float(np.mean(bends)), float(np.finfo(float).tiny))
        diagonal_power = 0.1  # 1 would be the diagonal, 0 the identity
        between = mean * (bends / mean) ** diagonal_power + l2
        between = np.where(between > 0.0, between, mean)
        settled = abs(self._share - share_before) <= 0.01 * share_before
        rough = 0.5  # accuracy of the linear system on wide data, where the pairs that count change from step to step
        less_rough = 0.3  # once those pairs hardly change
        goal = self.goal_of(objective, float(gradient @ gradient), less_rough if settled else rough)
        direction, image, steps = newton_direction(loss, pairs, gradient, l2, lambda r: r / between, goal)
        state.passes += 2.0 * steps + 1.0
        if self.search(objective, state, direction, image) > 0.0:
            self._go_on(objective, state, float(gradient @ direction), direction, image)
        self.arrive(objective, state)

    def _steps_left(self, objective: Objective, gradient: np.ndarray) -> float:
        """How many more steps it takes if each gains as much as the last one did."""
        divisor = 2.0 * objective.penalty.gap_curvature(objective.loss.curvature())
        size = float(gradient @ gradient)
        target = divisor * self.tol * objective.scale
        before = self._before
        self._before = size
        many = 50.0  # steps, where nothing better is known
        if not 0.0 < target < size < before:
            return many
        if before == np.inf:  # the first step
            return 0.0
        return min(many, np.log(size / target) / np.log(before / size))

    def _best_step(
        self, loss: SortedHinge, l2: float, gradient: np.ndarray, new: tuple[np.ndarray, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """The minimum of the quadratic model of F in the plane of the new direction and the step before."""
        direction, image = new
        bend = loss.scale * self.point.pairs.product(image)
        a = float(image @ bend) + l2 * float(direction @ direction)
        slope = float(gradient @ direction)
        if not a > 0.0:
            return new
        alone = -slope / a
        if self._last is None:
            return alone * direction, alone * image
        last, last_image = self._last
        b = float(last_image @ bend) + l2 * float(direction @ last)
        c = loss.scale * float(last_image @ self.point.pairs.product(last_image)) + l2 * float(last @ last)
        other = float(gradient @ last)
        determinant = a * c - b * b
        parallel = 1e-10  # two directions closer than this, by the square of the sine, are one
        if not determinant > parallel * a * c:
            return alone * direction, alone * image
        first = (b * other - c * slope) / determinant
        second = (b * slope - a * other) / determinant
        return first * direction + second * last, first * image + second * last_image


def newton_direction(
    loss: SortedHinge,
    pairs: SortedPairs,
    gradient: np.ndarray,
    curvature: Any,
    conditioned_by: Callable[[np.ndarray], np.ndarray],
    goal: float,
    columns: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Solve (∇²f + curvature) d = -gradient until |residual|² ≤ goal; returns d, its scores and number of steps."""
    hessian = loss.hessian_at(pairs)
    full = np.zeros(loss.n_features)
    chosen = slice(None) if columns is None else columns

    def product(v: np.ndarray) -> np.ndarray:
        full[chosen] = v
        return hessian(full)[chosen] + curvature * v

    direction, steps = conjugate_gradient(product, -gradient, conditioned_by, lambda r, _: float(r @ r) <= goal, 500)
    full[chosen] = direction
    return direction, loss.quick_scores(full), steps


def with_rounding(objective: Objective, solution: Solution, moved: np.ndarray, point: Point, tol: float) -> Solution:
    """The solution, its certificate with room for the rounding of the gradient (docs/theory.md, section 3)."""
    if solution.gap is None:
        return solution
    error = float(np.linalg.norm(objective.loss.rounding_of(moved, point)))
    slack = error / np.sqrt(2.0 * objective.penalty.strong_convexity)
    gap = float((np.sqrt(solution.gap) + slack) ** 2)
    return replace(solution, gap=gap, converged=bool(gap <= tol * objective.scale), left=gap)


def joined(first: Solution, second: Solution) -> Solution:
    """Two runs, one after the other, as one."""
    history = {name: values.copy() for name, values in second.history.items()}
    for name in ("epoch", "passes", "seconds"):
        history[name] += first.history[name][-1] - (history[name][0] if name == "passes" else 0)
    history = {name: np.concatenate([first.history[name], values[1:]]) for name, values in history.items()}
    return replace(second, n_iter=first.n_iter + second.n_iter, history=history)
