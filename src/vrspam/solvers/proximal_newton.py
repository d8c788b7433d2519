"""Newton's method for the squared hinge over pairs with l1 > 0.

Steps of two kinds. A proximal one minimises g·d + dᵀMd/2 + Ω(w + d), where M is the Hessian of some of the rows, by
coordinate descent on the columns that are in use or should be: it finds which coefficients are 0. As soon as these no
longer change, F is smooth on the others, and Newton steps by conjugate gradient, preconditioned by M, solve for them.
"""

import time
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import linalg

from vrspam.objective import UNIT, Objective, Shaped
from vrspam.objective.hinge import Point, SortedHinge
from vrspam.objective.partial_hinge import PartialHingeLoss, SmoothedPartialLoss
from vrspam.solvers import newton
from vrspam.solvers.base import Solution, State, known_gap
from vrspam.solvers.gram import NO_CURVES, GramDescent, refuse_uncompiled, shaped_minimum
from vrspam.solvers.smooth import TruncatedNewton


class QuadraticModel:
    """A quadratic function wᵀMw/2 - b·w, for `GramDescent`; tolerances are relative to `scale`."""

    def __init__(self, matrix: np.ndarray, linear: np.ndarray, scale: float):
        self.matrix = matrix
        self.linear = linear
        self.scale = scale

    def value_and_grad(self, w: np.ndarray, product: np.ndarray | None = None) -> tuple[float, np.ndarray]:
        product = self.matrix @ w if product is None else product
        return 0.5 * float(w @ product) - float(self.linear @ w), product - self.linear

    def curvature(self) -> np.ndarray:
        return np.diagonal(self.matrix)


class PairProximalNewton(newton.SortedScores):
    """Proximal Newton steps that find the zeros, and Newton steps on the other coefficients."""

    most_columns = 2_000  # in use: beyond, no matrix of them is formed

    def refuses(self, objective: Objective) -> str | None:
        if not isinstance(objective.loss, SortedHinge):
            return newton.NOT_SORTED
        if objective.penalty.quadratic_piece(np.zeros(objective.loss.n_features)) is None:
            return "it needs a penalty that is quadratic as long as no coordinate changes its sign"
        return refuse_uncompiled(objective)

    def solve(self, objective: Objective, *, tol: float, max_iter: int, w0: np.ndarray | None = None) -> Solution:
        self._wide = False
        self._columns: np.ndarray | None = None
        solution = super().solve(objective, tol=tol, max_iter=max_iter, w0=w0)
        if self._wide:  # too many columns in use for a matrix
            most = max_iter - solution.n_iter
            further = TruncatedNewton().solve(objective, tol=tol, max_iter=most, w0=solution.w)
            point = objective.loss.at(objective.loss.scores(further.w))
            solution = newton.joined(solution, further)
            solution = newton.with_rounding(objective, solution, np.abs(solution.w), point, tol)
        return solution

    def init(self, objective: Objective) -> State:
        self._settled = False
        return super().init(objective)

    def epoch(self, objective: Objective, state: State) -> None:
        columns = self._choose_columns(objective, state)
        if self._wide:
            state.ended = True
            return
        settled = self._settled and np.isin(columns, np.flatnonzero(state.w), assume_unique=True).all()
        if not (settled and self._newton_step(objective, state)):
            self._proximal_step(objective, state, columns)
        self.arrive(objective, state)

    def _choose_columns(self, objective: Objective, state: State) -> np.ndarray:
        """The columns in use, and those that a step along them alone would bring into use.

        If there is no room for all of these, those with the largest steps are taken.
        """
        curvature = objective.loss.curvature()
        step = 1.0 / np.where(curvature > 0.0, curvature, np.inf)
        moved = objective.penalty.prox(state.w - step * state.grad, np.where(step > 0.0, step, 1.0))
        wanted = np.where((state.w == 0.0) & (curvature > 0.0), np.abs(moved) * np.sqrt(curvature), 0.0)
        used = np.flatnonzero(state.w)
        room = self.most_columns - used.size
        self._wide = room <= 0
        new = np.flatnonzero(wanted)
        if new.size > room:
            new = new[np.argsort(-wanted[new], kind="stable")[: max(room, 0)]]
        return np.sort(np.concatenate([used, new]))

    def _proximal_step(self, objective: Objective, state: State, columns: np.ndarray) -> None:
        loss, penalty = objective.loss, objective.penalty
        if columns.size == 0:
            return
        self._columns = columns
        self._matrix = self._hessian_of_some_rows(loss, columns)
        w = state.w[columns]
        left = objective.certificate(state.w, state.grad)[1]
        model: Any = QuadraticModel(self._matrix, self._matrix @ w - state.grad[columns], max(left, 1e-300))
        inner = Objective(model, penalty.restricted_to(columns))
        goal = GramDescent().solve(inner, tol=1e-2, max_iter=300, w0=w).w  # to 1 % of what is left of the certificate

        direction = np.zeros_like(state.w)
        direction[columns] = goal - w
        image = loss.quick_scores(direction)
        state.passes += 1.0
        signs = np.sign(state.w)
        ends = penalty.piece_ends(state.w)
        taken = self.search(objective, state, direction, image)
        if taken == 1.0:
            state.w[columns] = goal  # w + (goal - w) may not be 0 where goal is
        if taken == 0.0 and not penalty.is_convex:  # the model lies below F, and leads to another valley
            taken = self._majorised_step(objective, state, columns)
        same = np.array_equal(np.sign(state.w), signs) and np.array_equal(penalty.piece_ends(state.w), ends)
        self._settled = taken > 0.0 and same

    def _hessian_of_some_rows(self, loss: SortedHinge, columns: np.ndarray) -> np.ndarray:
        """The Hessian of some of the rows that are in a pair that counts, positive along each of these columns."""
        part = self.point.pairs.active_part(max(newton.ROWS_PER_FEATURE * columns.size, newton.LEAST_ROWS))
        matrix = loss.hessian_matrix(part, columns)
        diagonal = np.einsum("ii->i", matrix)
        bound = loss.curvature()[columns]
        # Without this, f would seem to have no curvature along a column without entries in these rows.
        np.maximum(diagonal, self.point.pairs.share() * bound, out=diagonal)
        diagonal += 1e-10 * float(np.mean(bound))
        return matrix

    def _majorised_step(self, objective: Objective, state: State, columns: np.ndarray) -> float:
        """A step that minimises g·d + c/2 Σ h_j d_j² + Ω(w + d), c raised until this lies above F and F falls.

        h bounds the curvature along each column, so that c = number of columns is always enough.
        """
        loss = objective.loss
        bound = loss.curvature()[columns]
        penalty = objective.penalty.restricted_to(columns)
        w = state.w[columns]
        factor = 1.0
        while factor <= 2.0 * columns.size:
            step = 1.0 / np.maximum(factor * bound, np.finfo(float).tiny)
            goal = penalty.prox(w - step * state.grad[columns], step)
            direction = np.zeros_like(state.w)
            direction[columns] = goal - w
            taken = self.search(objective, state, direction, loss.quick_scores(direction))
            state.passes += 1.0
            if taken > 0.0:
                if taken == 1.0:
                    state.w[columns] = goal
                return taken
            factor *= 2.0
        return 0.0

    def _newton_step(self, objective: Objective, state: State) -> bool:
        """A Newton step on the columns in use, up to the first change of a sign; False if none was possible."""
        assert self._columns is not None
        low, high = objective.penalty.piece_ends(state.w)
        used = np.flatnonzero(low < high)
        low = low[used]
        high = high[used]
        w = state.w[used]
        piece = objective.penalty.restricted_to(used).quadratic_piece(w)
        if piece is None or used.size == 0:
            return False
        curvature, slope = piece
        inside = np.searchsorted(self._columns, used)
        matrix = self._matrix[np.ix_(inside, inside)]
        matrix[np.diag_indices_from(matrix)] += curvature
        try:
            factor = linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            return False
        gradient = state.grad[used] + curvature * w + slope
        step, image, steps = newton.newton_direction(
            objective.loss,
            self.point.pairs,
            gradient,
            curvature,
            lambda r: linalg.cho_solve(factor, r, check_finite=False),
            self.goal_of(objective, float(gradient @ gradient)),
            used,
        )
        state.passes += 2.0 * steps + 1.0
        if not step.any():  # a penalty that is not convex bends F down here
            return False
        crossing = (w + step < low) | (w + step > high)
        ends = np.where(step < 0.0, low, high)
        fractions = np.where(crossing, (ends - w) / np.where(crossing, step, 1.0), 1.0)
        most = float(np.min(fractions, initial=1.0))
        direction = np.zeros_like(state.w)
        direction[used] = step
        taken = self.search(objective, state, direction, image, most) if most > 1e-8 else 0.0
        if taken == most < 1.0:
            state.w[used[fractions <= most]] = ends[fractions <= most]
        self._settled = taken == 1.0
        return taken > 0.0


# The squared hinge on the highest-scored negatives: an augmented Lagrangian around smooth problems.
#
# Each round minimises a smoothed loss (`SmoothedPartialLoss`) by Newton's method, and moves the weights of the
# negatives at the edge on to those that it found. The error shrinks with μ and with every round, so a handful of rounds
# do.


class MatrixNewton:
    """Newton's method for a smoothed loss with l2 alone, by its whole Hessian: tied rows make F stiff as μ falls.

    With curves that must rise or fall, a step goes to the minimum of the quadratic model inside their limits.
    """

    def refuses(self, objective: Objective) -> str | None:
        if not isinstance(objective.loss, SortedHinge):
            return newton.NOT_SORTED
        return None if isinstance(objective.penalty, Shaped) else NO_CURVES

    def solve(self, objective: Objective, *, tol: float, max_iter: int, w0: np.ndarray | None = None) -> Solution:
        loss = objective.loss
        target = tol * objective.scale
        shaped = isinstance(objective.penalty, Shaped)
        enough = 0.1 * target if shaped else target
        most_in_vain = 8 if shaped else np.inf  # steps in a row that do not halve what is left
        w = np.zeros(loss.n_features) if w0 is None else w0
        scores = loss.scores(w)
        point = loss.at(scores)
        steps = 0
        passes = 1.0
        least = np.inf
        in_vain = 0
        while True:
            grad = loss.gradient_of(point.slope)
            gap, left = objective.exact_certificate(w, grad)
            passes += 1.0
            if left < 0.5 * least:
                least = left
                in_vain = 0
            else:
                in_vain += 1
            if left <= enough or steps == max_iter or in_vain == most_in_vain:
                break
            direction = self._direction(objective, w, grad, point)
            image = loss.scores(direction)
            fraction, lower = self._lower_point(objective, (w, direction), (scores, image), grad, point)
            if lower is None:  # nothing but rounding is left
                break
            w = w + fraction * direction
            scores = scores + fraction * image
            point = lower
            steps += 1
            passes += 2.0

        history = {"passes": np.array([passes])}
        value = point.value + objective.penalty.value(w)
        solution = Solution(w, value, known_gap(gap), steps, bool(left <= target), history, left=float(left))
        if isinstance(loss, SmoothedPartialLoss):  # certified by the loss that it smooths
            return solution
        return newton.with_rounding(objective, solution, np.abs(w), point, tol)

    def _direction(self, objective: Objective, w: np.ndarray, grad: np.ndarray, point: Point) -> np.ndarray:
        """The way to the minimum of the quadratic model at w."""
        penalty = objective.penalty
        hessian = objective.loss.hessian_matrix(point.pairs)
        if isinstance(penalty, Shaped):
            return shaped_minimum(hessian, hessian @ w - grad, penalty, w) - w
        factor = newton.cholesky_of(hessian, max(penalty.ridge, 1e-14 * float(np.trace(hessian))))
        return -linalg.cho_solve(factor, grad + penalty.strong_convexity * w, check_finite=False)

    def _lower_point(
        self,
        objective: Objective,
        line: tuple[np.ndarray, np.ndarray],
        line_of_scores: tuple[np.ndarray, np.ndarray],
        grad: np.ndarray,
        point: Point,
    ) -> tuple[float, Point | None]:
        """How much of a step to take so that F falls, 1, ½, ¼, ..., and the point there, None if rounding allows none.

        A line is given by its start and its direction.
        """
        loss, penalty = objective.loss, objective.penalty
        w, direction = line
        scores, image = line_of_scores
        slope = float((grad + penalty.strong_convexity * w) @ direction)
        value = point.value + penalty.value(w)
        fraction = 1.0
        halvings = 40
        for _ in range(halvings):
            new = loss.at(scores + fraction * image)
            new_value = new.value + penalty.value(w + fraction * direction)
            if new_value <= value + 1e-4 * fraction * slope + 4.0 * UNIT * value:
                return fraction, new
            fraction /= 2.0
        return 0.0, None


class EdgeWeights:
    """Rounds of smooth problems until the certificate of the partial loss is reached.

    The certificate holds for any weights t of the negatives: with f_t the sum over pairs with these, f_t ≤ f, so

        F(w) - min F ≤ (f(w) - f_t(w)) + (Fenchel-Young gap of f_t + Ω at w).

    This bound is small for the t that the last round found.
    """

    _last: tuple[Any, np.ndarray, float] | None = None  # of the last problem: its loss, t, and the last μ

    def refuses(self, objective: Objective) -> str | None:
        if not isinstance(objective.loss, PartialHingeLoss):
            return "it needs the squared hinge on part of the negatives"
        on_all_negatives = replace(objective, loss=objective.loss.whole)
        if isinstance(objective.penalty, Shaped):
            return MatrixNewton().refuses(on_all_negatives)
        return PairProximalNewton().refuses(on_all_negatives)

    def solve(self, objective: Objective, *, tol: float, max_iter: int, w0: np.ndarray | None = None) -> Solution:
        loss: PartialHingeLoss = objective.loss
        inner = self._solver_of_smooth_problems(objective)
        first_mu = 1.0  # in units of what a pair costs at w = 0
        before = np.full(loss.whole.pair_rows.b.size, loss.max_fpr)
        mu = first_mu
        shrink = 4.0  # of μ, from round to round
        if w0 is not None and self._last is not None and self._last[0] is loss:  # a neighbour on a grid
            _, before, last_mu = self._last
            mu = min(first_mu, last_mu * shrink**2)
        target = tol * objective.scale
        w = w0
        rows = []
        best = None
        least = np.inf
        steps = 0
        passes = 0.0
        begun = time.perf_counter()
        rounds = 40
        first_tol = 1e-3  # of the first smooth problem
        inner_share = 0.1  # of the tolerance that a smooth problem may use up
        inner_steps = 50  # most steps of a smooth problem: more of them would follow rounding
        for number in range(rounds):
            smooth = SmoothedPartialLoss(loss, before, mu)
            accuracy = first_tol
            if best is not None:
                accuracy = max(inner_share * tol, inner_share * 0.01 * least / loss.scale)
            most = min(max_iter - steps, inner_steps)
            of_round = inner.solve(replace(objective, loss=smooth), tol=accuracy, max_iter=most, w0=w)
            w = of_round.w
            steps += of_round.n_iter
            passes += float(of_round.history["passes"][-1]) + 3.0
            before = smooth.shares(smooth.scores(w))
            value, gap, left = certificate(objective, w, before)
            rows.append((number + 1, passes, time.perf_counter() - begun, value, gap))
            gained = loss.scale - value
            result = w
            if gained <= gap:  # F(w) < F(0) is not certified: return w = 0, where all scores tie exactly
                result = np.zeros_like(w)
                value = loss.scale
                gap += max(gained, 0.0)
                left = gap
            if best is None or left < least:
                done = bool(left <= target)
                best = Solution(result, value, known_gap(gap), steps, done, stationarity=left, left=left)
                least = left
                self._last = loss, before, mu
            if best.converged or steps >= max_iter:
                break
            mu /= shrink
        assert best is not None
        names = ("epoch", "passes", "seconds", "objective", "gap")
        history = {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
        stationarity = None if objective.penalty.has_gap else best.stationarity
        return replace(best, n_iter=steps, history=history, stationarity=stationarity)

    def _solver_of_smooth_problems(self, objective: Objective) -> Any:
        """By the whole Hessian where it is cheap, or curves must rise or fall; else as the loss on all negatives."""
        has_ridge = objective.penalty.ridge is not None
        n, d = objective.loss.whole.products.shape
        matrix_work = 4e9  # rows · columns², up to which a step by the whole Hessian takes a fraction of a second
        if isinstance(objective.penalty, Shaped) or (has_ridge and n * d * d <= matrix_work):
            return MatrixNewton()
        return newton.PairNewton() if has_ridge else PairProximalNewton()


def certificate(objective: Objective, w: np.ndarray, shares: np.ndarray) -> tuple[float, float, float]:
    """F(w), the certificate with these weights of the negatives, and what decides when to stop, with rounding."""
    loss: PartialHingeLoss = objective.loss
    on_all_negatives = loss.whole
    scores = on_all_negatives.scores(w)
    top = loss.at_shares(scores, loss.top_shares(scores))
    below = loss.at_shares(scores, shares)
    gap, left = objective.certificate(w, on_all_negatives.gradient_of(below.slope))
    error = on_all_negatives.rounding_of(np.abs(w), below) / loss.max_fpr
    slack = float(np.linalg.norm(error)) / np.sqrt(2.0 * objective.penalty.gap_curvature(loss.curvature()))
    # Both values are sums of terms that are not negative, so each is right to a few n·eps of itself.
    rounding = 8.0 * (scores.size + 4) * UNIT * top.value
    edge = max(top.value - below.value, 0.0) + rounding
    gap = (np.sqrt(gap) + slack) ** 2 + edge
    left = (np.sqrt(left) + slack) ** 2 + edge
    return top.value + objective.penalty.value(w), float(gap), float(left)
