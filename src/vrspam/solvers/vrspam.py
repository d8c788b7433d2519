"""VRSPAM (Dan & Sahoo 2021): proximal SVRG for F, as printed in the paper and in faster variants.

An epoch reads all rows once for ∇f at the anchor w̃ and then takes m steps

    w ← prox_η(w - η v),   v = g_i(w) - g_i(w̃) + ∇f(w̃),   prox_η: soft-threshold by η l1, divide by 1 + η l2.

| variant | gradient g_i (see `vrspam.solvers.row_gradients`) | steps | next anchor |
|---|---|---|---|
| paper | paper's, rows drawn uniformly | as above (Algorithm 1) | last iterate |
| centred | centred, rows drawn by norm | as above | last iterate |
| accelerated | centred, rows drawn by norm | Katyusha (Allen-Zhu 2017) | weighted average |
| pair | pairs of a positive and a negative row | as above | last iterate |

On a CSR matrix a step costs O(nonzeros of its rows), except for "paper" with l1 > 0.

With `extrapolates`, an epoch starts from the best affine combination of the last anchors, found without reading
the data (`best_combination`). With l1 > 0 the epochs are shorter then, because each one adds an anchor.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from vrspam import kernels
from vrspam.objective import ELASTIC_NET, ElasticNet, Objective, Penalty, PenaltyFamily, SquaredPairLoss
from vrspam.solvers.base import State, proximal_point, run
from vrspam.solvers.online import SPAM, known_sums, step_rule
from vrspam.solvers.row_gradients import PairGradient, RowGradient, TrainingRows

# The best point among the affine combinations of the last anchors of an epoch method: it costs no pass over the data.
#
# f is quadratic, so ∇f of an affine combination of points is the same combination of their gradients, and f follows
# from them: with the columns of S the differences of earlier anchors from w, and Y those of their gradients,
#
#     f(w + S c) = f(w) + ∇f(w)·S c + ½ cᵀ(SᵀY) c,   ∇f(w + S c) = ∇f(w) + Y c.
#
# What is left is to minimise a convex function of a dozen numbers c. Anchors of stochastic epochs lie around the path
# to the optimum; the best combination goes further along directions of little curvature and averages their noise out.


class Point(NamedTuple):
    """A point with ∇f and F there."""

    w: np.ndarray
    grad: np.ndarray
    value: float


def best_combination(anchors: Sequence[Point], penalty: ElasticNet, point: Point, scale: float) -> Point | None:
    """The combination of `point` and the anchors with the least F; None where the gain is no more than rounding.

    `scale` is F(0). |w_j| is first smoothed to √(w_j² + ε²), with ε ever smaller, for Newton's method.
    """
    w, grad, value = point
    size = float(np.max(np.abs(w), initial=0.0))
    moves = np.array([anchor.w - w for anchor in anchors]).reshape(-1, w.size)
    lengths = np.linalg.norm(moves, axis=1)
    moved = lengths > 0.0
    if size == 0.0 or not moved.any():
        return None
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        S = (moves[moved] / lengths[moved, np.newaxis]).T
        Y = (np.array([anchor.grad - grad for anchor in anchors])[moved] / lengths[moved, np.newaxis]).T
        _, singular, basis = np.linalg.svd(S, full_matrices=False)
        kept = singular > 1e-8 * singular[0]  # other directions are ignored
        orthonormal = basis[kept].T / singular[kept]
        S, Y = S @ orthonormal, Y @ orthonormal
        c = _minimised(penalty, w, grad, S, S.T @ Y, size)
        if c is None:
            return None
        step = S @ c
        gain = -(float(grad @ step) + 0.5 * float(step @ (Y @ c)) + penalty.value(w + step) - penalty.value(w))
        if not gain > 1e-10 * scale:  # a smaller gain may be rounding; not so for NaN
            return None
    return Point(w + step, grad + Y @ c, value - gain)


def _minimised(
    penalty: ElasticNet, w: np.ndarray, grad: np.ndarray, S: np.ndarray, curvature: np.ndarray, size: float
) -> np.ndarray | None:
    """The c with the least F(w + S c), by Newton's method with steps that are halved until F falls."""
    l2, l1 = penalty
    curvature = 0.5 * (curvature + curvature.T)
    if not np.isfinite(curvature).all():
        return None
    slope = S.T @ grad
    c = np.zeros(S.shape[1])

    def smoothed(c: np.ndarray, u: np.ndarray, epsilon: float) -> float:
        return float(slope @ c + 0.5 * c @ curvature @ c + 0.5 * l2 * u @ u + l1 * np.sqrt(u * u + epsilon**2).sum())

    most_steps = 25  # of Newton's method, for each epsilon
    for epsilon in size * np.array([1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8]):  # smoothing |w_j| less and less
        for _ in range(most_steps):
            u = w + S @ c
            root = np.sqrt(u * u + epsilon**2)
            value = smoothed(c, u, epsilon)
            gradient = slope + curvature @ c + S.T @ (l2 * u + l1 * u / root)
            second = curvature + S.T @ ((l2 + l1 * (epsilon / root) ** 2 / root)[:, np.newaxis] * S)
            second.flat[:: c.size + 1] += 1e-13 * second.trace()  # the least that rounding leaves positive
            try:
                step = -np.linalg.solve(second, gradient)
            except np.linalg.LinAlgError:
                return None
            fall = -float(gradient @ step)
            if not fall > 1e-12 * abs(value):
                break
            length = 1.0
            while length > 1e-6:
                moved = c + length * step
                if smoothed(moved, w + S @ moved, epsilon) <= value - 0.1 * length * fall:
                    break
                length *= 0.5
            if length <= 1e-6:
                break
            c = c + length * step
    return c


Variant = Literal["paper", "centred", "accelerated", "pair"]

# The automatic step is this factor / (Lipschitz constant of a draw); the factors were measured on a dozen data sets.
AUTO_STEP: dict[str, float] = {"paper": 0.5, "centred": 0.5, "accelerated": 3.0, "pair": 1.0, "extrapolated": 0.7}


def variant_that_runs(variant: Variant, penalty: Penalty, is_sparse: bool, n: int, d: int) -> Variant:
    """The variant for this penalty and matrix: momentum needs l1 = 0 and many rows, and CSR rows with l1 > 0 pairs."""
    if variant == "paper":
        return variant
    if penalty.ridge is not None:
        few_rows = n < 2 * d  # momentum, tuned by the largest row, oscillates there, and may diverge
        return "centred" if few_rows else variant
    return "pair" if is_sparse and isinstance(penalty, ElasticNet) else "centred"


def extrapolates(asked: Variant, runs: Variant, penalty: Penalty) -> bool:
    """Whether epochs of "accelerated", or what runs in its place, start from the best combination of anchors.

    Over 40 tables of 40 to 10,000 rows the epochs read the data a third as often as with momentum alone, and
    converge where momentum does not.
    """
    return asked == "accelerated" and runs != "pair" and isinstance(penalty, ElasticNet)


def objective_on_rows(rows: TrainingRows, l2: float, l1: float, penalty: PenaltyFamily = ELASTIC_NET) -> Objective:
    """Return F of the rows; each evaluation reads every row once."""
    loss = SquaredPairLoss.from_operator(rows, rows.moments)
    return Objective(loss, penalty(loss)(l2, l1))


@dataclass(eq=False)
class VRSPAM:
    """Epochs of VRSPAM for the driver `vrspam.solvers.base.run`, on the rows of the objective (`objective_on_rows`).

    `step_size` is η; for "accelerated" it replaces 1 / (Lipschitz constant). With "auto" an epoch that fails, because F
    rises, is repeated with half the step; "theory" and numbers are used as they are. `inner_steps` is m, by default so
    many that each row is read once on average. `record_variance` adds the column "variance" to the history. With
    `extrapolates`, for the elastic net, epochs start from the best combination of the last anchors.
    """

    rows: TrainingRows
    variant: Variant
    _: KW_ONLY
    step_size: float | str = "auto"
    inner_steps: int | None = None
    rng: np.random.Generator
    record_variance: bool = False
    extrapolates: bool = False

    def refuses(self, objective: Objective) -> str | None:
        """Return the reason why this variant cannot minimise the objective, or None if it can."""
        if not objective.loss.is_quadratic:
            return "it needs the squared pair loss"
        penalty = objective.penalty
        if penalty.is_convex and not penalty.strong_convexity > 0.0:
            return "it needs l2 > 0 (the paper assumes β ≠ 0): give a positive l2, or use AUCClassifier"
        if not penalty.is_convex and self.step_size == "theory":
            return 'the step size "theory" is proven for convex penalties alone: use step_size="auto" or a number'
        if not isinstance(penalty, ElasticNet) and self.rows.is_sparse:
            return (
                "on a sparse X each step would update every coefficient with this penalty: use AUCClassifier, or a "
                "dense X"
            )
        if self.variant in ("paper", "pair") and not isinstance(objective.penalty, ElasticNet):
            return f'the variant "{self.variant}" takes neither penalty="mcp" or "scad" nor limits of the coefficients'
        if self.extrapolates and not isinstance(objective.penalty, ElasticNet):
            return "extrapolation is written for the elastic net"
        return None

    def init(self, objective: Objective) -> State:
        rows = self.rows
        pairs = self.variant == "pair"
        self.gradient: Any = PairGradient(rows) if pairs else RowGradient(rows, self.variant != "paper")
        reads = 1.0  # how often an epoch reads each row on average
        if self.extrapolates and objective.penalty.ridge is None:
            reads = 0.5  # its kinks move the anchors off the path: more of them, of less work
        self.steps = self.inner_steps or max(1, int(reads * rows.n) // self.gradient.rows_per_step)
        self.step = self._first_step(objective)
        # Two passes so far: one for the class means, one for the norms. The gradient at 0 needs none.
        state = State(
            np.zeros_like(rows.delta), -rows.k * rows.delta, objective.scale, passes=2.0, evaluation_passes=1.0
        )
        if self.variant == "paper":
            self._start_from_spam(objective, state)
        self._anchor: np.ndarray | None = None
        self._best = (state.w, state.grad, state.value)
        self._anchors: list[Point] = []  # the last ones, where epochs start from their combinations
        self._report(state, 0, float("nan"))
        return state

    def _first_step(self, objective: Objective) -> float:
        if self.step_size == "theory":
            largest_norm = float(np.sqrt(self.rows.distances[self.rows.mass > 0.0, 0].max()))
            square = largest_norm * largest_norm
            noise = 128.0 * square * square  # `vrspam.theory.noise_printed`
            if not 0.0 < noise < np.inf:
                raise ValueError(
                    f"The paper's step l2/(128 M⁴) is not a usable number for M = max‖x‖ = {largest_norm:.3g}: "
                    'rescale X, or use step_size="auto".'
                )
            return objective.penalty.strong_convexity / noise
        if self.step_size == "auto":
            # If all rows of a class are equal the Lipschitz constant may be 0; then the penalty limits the step.
            least = max(1e-6 * objective.penalty.strong_convexity, float(np.finfo(float).tiny))
            factor = AUTO_STEP["extrapolated" if self.extrapolates else self.variant]
            return factor / max(self.gradient.lipschitz, least)
        return float(self.step_size)

    def _start_from_spam(self, objective: Objective, state: State) -> None:
        """Start at the end of one pass of SPAM, as in the paper, or at 0 in the rare case that F is not less there."""
        rows = self.rows
        penalty = objective.penalty
        assert isinstance(penalty, ElasticNet)  # `refuses` has checked it
        method = SPAM(state.w.size)
        method.classes = known_sums(rows.moments, relative=True)
        rule = step_rule("auto", penalty.l2)
        order = pass_order(self.rng, rows.mass, rows.n)
        method.advance(rows.kernel, order, rows.side, rule, penalty.l1, learn=False)
        state.passes += 2.0
        w = method.coef
        if np.isfinite(w).all():
            value, grad = objective.value_and_grad(w)
            if value < state.value:
                state.w, state.grad, state.value = w, grad, value

    def epoch(self, objective: Objective, state: State) -> None:
        if self.extrapolates:
            self._extrapolate(objective, state)
        inner = {"accelerated": self._accelerated, "pair": self._pairs}.get(self.variant, self._plain)
        retries = 0
        most_retries = 60
        while True:
            with np.errstate(over="ignore", invalid="ignore"):  # `_is_good` detects a step that is too long
                w, u = inner(objective, state)
                variance = self.gradient.variance(u) if self.record_variance else float("nan")
                value, grad = objective.value_and_grad(w)
            state.passes += 1.0 + self.steps * self.gradient.rows_per_step / self.rows.n
            if self._is_good(objective, state, value):
                state.fresh = True
                break
            if self.step_size != "auto":
                raise self.diverged(objective)
            retries += 1
            self.step *= 0.5
            self._anchor = None  # momentum starts again from zero
            if self.variant == "accelerated":
                state.w, state.grad, state.value = self._best
            if retries == most_retries:
                w, grad, value = state.w, state.grad, state.value
                break
        state.w, state.grad, state.value = w, grad, value
        self._anchor = w
        if value < self._best[2]:
            self._best = (w, grad, value)
        if objective.penalty.ridge is None:
            state.candidate = proximal_point(objective, w, grad)
        self._report(state, retries, variance)

    def _extrapolate(self, objective: Objective, state: State) -> None:
        """Move to the best combination of the last anchors, if that gains more than rounding."""
        point = Point(state.w, state.grad, state.value)
        best = best_combination(self._anchors, objective.penalty, point, objective.scale)
        self._anchors = [*self._anchors[-11:], point]
        if best is not None:
            state.w, state.grad, state.value = best
            state.fresh = False  # until the epoch ends

    def _is_good(self, objective: Objective, state: State, value: float) -> bool:
        start = objective.scale
        blown_up = 10.0
        if self.step_size != "auto":
            return value <= blown_up * start
        if self.variant == "accelerated":  # F may rise for a while even in a good run
            return value <= max(start, blown_up * self._best[2])
        rounding = 1e-13  # F may rise by this share of F(0) in a plain epoch that has converged
        return value <= state.value + rounding * start

    def _report(self, state: State, retries: int, variance: float) -> None:
        state.extra = {"step_size": self.step, "retries": float(retries)}
        if self.record_variance:
            state.extra["variance"] = variance

    def diverged(self, objective: Objective) -> ValueError:
        """Return the error for a given step size that is too large; it names a step size that worked in a trial."""
        trial = replace(self, step_size="auto", rng=np.random.default_rng(0), record_variance=False)
        run(trial, objective, tol=0.0, max_iter=5)
        safe = 10.0 ** np.floor(np.log10(trial.step))
        safe *= np.floor(trial.step / safe)
        return ValueError(
            f"The steps diverge with step_size={self.step:g} (F rises above F(0)): give a smaller step_size, "
            f'such as {safe:.0e}, or use step_size="auto".'
        )

    # The inner steps. Each method returns the next anchor and u = (the point of the next gradient) - w̃.

    def _plain(self, objective: Objective, state: State) -> tuple[np.ndarray, np.ndarray]:
        gradient = self.gradient
        rows = self.rows
        l2 = objective.penalty.ridge
        if rows.is_sparse and l2 is not None:
            zero = np.zeros_like(state.w)
            _, moved, _ = self._sparse_ridge(objective, state, zero, zero, 1.0, 0.0, self.step)
            return state.w + moved, moved
        order = gradient.draw(self.rng, self.steps)
        w = state.w.copy()
        if l2 is not None and not gradient.centred:
            shrink = 1.0 / (1.0 + self.step * l2)
            moved = np.zeros_like(w)
            constant = shrink * self.step * (state.grad + l2 * w)
            kernels.ridge_epoch(rows.kernel, order, gradient.draws, rows.means, constant, moved, self.step, shrink)
            return w + moved, moved
        kernels.svrg_epoch(
            rows.kernel, order, gradient.draws, rows.means, state.w, state.grad, w, self.step, objective.penalty
        )
        return w, w - state.w

    def _accelerated(self, objective: Objective, state: State) -> tuple[np.ndarray, np.ndarray]:
        l2 = objective.penalty.strong_convexity
        gradient = self.gradient
        rows = self.rows
        anchor = state.w
        if self._anchor is not anchor:  # the first epoch, or the point was changed from outside
            self._y = anchor.copy()
            self._z = anchor.copy()
        tau1 = float(np.clip(np.sqrt(self.steps * l2 * self.step / 3.0), 1e-6, 0.5))
        tau2 = 0.5
        tau3 = 1.0 - tau1 - tau2
        step = self.step / (3.0 * tau1)
        if rows.is_sparse and objective.penalty.ridge is not None:
            Z = self._z - anchor
            Y = self._y - anchor
            Z, Y, average = self._sparse_ridge(objective, state, Z, Y, tau1, tau3, step)
            self._z = anchor + Z
            self._y = anchor + Y
            return anchor + average, tau1 * Z + tau3 * Y
        order = gradient.draw(self.rng, self.steps)
        average = np.empty_like(anchor)
        kernels.katyusha_epoch(
            rows.kernel, order, gradient.draws, rows.means, anchor, state.grad,
            self._y, self._z, average, tau1, tau2, step, l2, objective.penalty,
        )  # fmt: skip
        return average, tau1 * (self._z - anchor) + tau3 * (self._y - anchor)

    def _sparse_ridge(
        self, objective: Objective, state: State, Z: np.ndarray, Y: np.ndarray, tau1: float, tau3: float, step: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        l2 = objective.penalty.strong_convexity
        rows = self.rows
        order = self.gradient.draw(self.rng, self.steps)
        fixed = np.stack([*rows.means, state.grad + l2 * state.w])
        work = whole_lines(state.w.size, 8)
        slots = kernels.Ridge
        work[:, slots.Z] = Z
        work[:, slots.Y] = Y
        work[:, slots.LOWER : slots.GRAD + 1] = fixed.T
        scores = np.concatenate([rows.means @ Z, rows.means @ Y])
        kernels.sparse_ridge_epoch(
            rows.kernel, order, self.gradient.draws, fixed @ rows.means.T, work, scores,
            tau1, tau3, step, l2,
        )  # fmt: skip
        return work[:, slots.Z].copy(), work[:, slots.Y].copy(), work[:, slots.AVERAGE].copy()

    def _pairs(self, objective: Objective, state: State) -> tuple[np.ndarray, np.ndarray]:
        positives, negatives, scale = self.gradient.draw(self.rng, self.steps)
        work = whole_lines(state.w.size, 4)
        slots = kernels.Net
        work[:, slots.W] = state.w
        work[:, slots.ANCHOR] = state.w
        work[:, slots.ANCHOR_GRAD] = state.grad
        kernels.sparse_net_epoch(self.rows.kernel, positives, negatives, scale, work, self.step, objective.penalty)
        w = work[:, slots.W].copy()
        return w, w - state.w


def whole_lines(rows: int, columns: int) -> np.ndarray:
    """Zeros whose rows do not straddle lines of the cache (64 bytes) more than they must: each one costs a miss."""
    held = np.zeros(rows * columns + 8)
    start = -held.ctypes.data % 64 // held.itemsize
    return held[start : start + rows * columns].reshape(rows, columns)


def pass_order(rng: np.random.Generator, mass: np.ndarray, size: int) -> np.ndarray:
    """Return the rows of one pass: a permutation if all weights are equal, else random draws by weight."""
    if np.ptp(mass) == 0.0:
        return rng.permutation(mass.size)
    return rng.choice(mass.size, size, p=mass)
