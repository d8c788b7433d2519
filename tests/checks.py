"""Checks that every loss, penalty and solver must pass, and an oracle that computes the minimiser of small problems.

The checks are functions of an object, so that a loss, penalty or solver of your own can be checked too.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit
from scipy.optimize import minimize_scalar

from vrspam import kernels
from vrspam.objective import Objective
from vrspam.solvers import solve


class Piece(NamedTuple):
    """One coordinate's penalty on a range of w: curvature/2 w² + slope w + a constant; `least` ≤ sign·w ≤ `most`."""

    sign: float
    curvature: float
    slope: float
    least: float
    most: float


def signed_pieces(curvature, slope, least=0.0, most=np.inf):
    """The two pieces, for w > 0 and w < 0, of a penalty that is the same for both signs."""
    return [Piece(sign, curvature, sign * slope, least, most) for sign in (1.0, -1.0)]


def best_of_all_pieces(X, y, hinge, pieces, value):
    """Return the minimiser of F over few columns: solve every choice of pieces and return the best consistent solution.

    Given the pieces, and for the hinge the active pairs, F is quadratic, and a linear system gives its stationary
    point. The active pairs are computed again from the solution until they do not change. `pieces` has a list for
    each column, without w = 0; a coordinate may be 0 where F does not fall on any of its pieces there.
    """
    X = np.asarray(X, dtype=np.longdouble)
    pairs = (X[y == 1][:, None] - X[y == 0][None]).reshape(-1, X.shape[1])
    weight = y.mean() * (1 - y.mean()) / len(pairs)
    zero = Piece(0.0, 0.0, 0.0, 0.0, 0.0)
    at_zero = [[piece for piece in column if piece.least == 0.0] for column in pieces]  # one sign, or both
    found = []
    for choice in product(*([zero, *column] for column in pieces)):
        used = np.flatnonzero([piece.sign != 0.0 for piece in choice])
        curvature = np.diag([choice[j].curvature for j in used])
        slope = np.array([choice[j].slope for j in used])
        active, w = np.ones(len(pairs), dtype=bool), np.zeros(X.shape[1], dtype=np.longdouble)
        for _ in range(30):
            part = pairs[active][:, used]
            matrix, right = 2 * weight * part.T @ part + curvature, 2 * weight * part.sum(axis=0) - slope
            w[used] = np.linalg.solve(matrix.astype(float), right.astype(float)) if used.size else 0.0
            if used.size:  # refined once: the solve was in double precision
                w[used] += np.linalg.solve(matrix.astype(float), (right - matrix @ w[used]).astype(float))
            now = 1 - pairs @ w > 0 if hinge else active
            if np.array_equal(now, active):
                break
            active = now
        else:
            continue
        sizes = [piece.sign * w[j] for j, piece in enumerate(choice) if piece.sign]
        if not all(piece.least <= s <= piece.most for s, piece in zip(sizes, (choice[j] for j in used), strict=True)):
            continue
        grad = -2 * weight * pairs[active].T @ (1 - pairs[active] @ w)
        rest = np.setdiff1d(np.arange(X.shape[1]), used)
        room = (p.sign * p.slope * (1 + 1e-12) + p.sign * grad[j] >= 0 for j in rest for p in at_zero[j])
        if all(room):
            margin = np.maximum(1 - pairs @ w, 0) if hinge else 1 - pairs @ w
            found.append((float(weight * margin @ margin) + value(w.astype(float)), w.astype(float)))
    assert found, "no choice of pieces is consistent"
    return min(found, key=lambda pair: pair[0])


def check_loss(loss, seed=0):
    """f, ∇f, ∇²f and the bound on the curvature belong together, and f is convex."""
    rng = np.random.default_rng(seed)
    d = loss.n_features
    assert loss.value_and_grad(np.zeros(d))[0] == pytest.approx(loss.scale)
    for _ in range(5):
        w, v = rng.standard_normal(d), rng.standard_normal(d)
        value, grad = loss.value_and_grad(w)
        assert grad.shape == (d,)
        h = 1e-6
        ahead, behind = (loss.value_and_grad(w + sign * h * v) for sign in (1, -1))
        assert (ahead[0] - behind[0]) / (2 * h) == pytest.approx(grad @ v, rel=1e-5, abs=1e-7)
        product_with = loss.hessian_product(w)
        image = product_with(v)
        np.testing.assert_allclose((ahead[1] - behind[1]) / (2 * h), image, rtol=1e-4, atol=1e-5)
        assert v @ image >= -1e-12
        u = rng.standard_normal(d)
        assert u @ image == pytest.approx(v @ product_with(u), rel=1e-9, abs=1e-12)
        assert loss.value_and_grad(w + v)[0] >= value + grad @ v - 1e-12
        diagonal = [product_with(e)[j] for j, e in enumerate(np.eye(d))]
        assert np.all(loss.curvature() >= np.array(diagonal) * (1 - 1e-12))


@njit
def compiled_prox(penalty, v, step, j):
    return kernels.prox1(penalty, v, step, j)


def check_penalty(penalty, d, steps=(0.05, 0.3, 0.9), seed=0):
    """The prox minimises what it says, compiled and not; the other answers agree with the value and the prox."""
    rng = np.random.default_rng(seed)
    assert penalty.value(np.zeros(d)) == 0.0
    alone = [penalty.restricted_to(np.array([j])) for j in range(d)]
    for step in steps:
        for v in (*rng.uniform(-4, 4, (6, d)), np.zeros(d)):
            w = penalty.prox(v, step)
            np.testing.assert_array_equal(penalty.prox(v, np.full(d, step)), w)
            for j, x in enumerate(v):

                def cost(z, x=x, step=step, j=j):
                    return 0.5 * (z - x) ** 2 + step * min(alone[j].value(np.array([z])), 1e9)  # finite, to search

                inside = minimize_scalar(cost, bounds=sorted([0.0, x]), method="bounded", options={"xatol": 1e-12})
                assert cost(w[j]) <= min(inside.fun, cost(0.0), cost(x)) + 1e-12
                assert compiled_prox(penalty, x, step, j) == pytest.approx(w[j], abs=1e-15)
    w, grad, curvature = rng.standard_normal(d), rng.standard_normal(d), rng.uniform(1.3, 4.0, d)
    w[2] = 0.0
    w = penalty.prox(w, 1e-12)  # inside its limits
    left = penalty.violation(w, grad, curvature)
    assert np.isfinite(left)
    assert left > 0.0
    target = w - grad / curvature
    still = penalty.prox(target, 1.0 / curvature)  # minimises Σ curvature/2 (w - target)² + Ω
    assert penalty.violation(still, curvature * (still - target), curvature) <= 1e-20
    gap = penalty.gap(w, grad)
    assert np.isnan(gap) or gap >= penalty.value(w) + w @ grad - min(
        penalty.value(u) + u @ grad for u in rng.standard_normal((200, d))
    )
    has_kink = penalty.ridge is None and penalty.l1 > 0.0 and np.isfinite(penalty.zero_from(grad))
    if has_kink:  # at the stated strength the prox of the gradient step from 0 is 0, and below it is not
        small = grad * 0.999 * penalty.l1 / penalty.zero_from(grad)
        assert not penalty.prox(-small, 1.0).any()
        assert penalty.prox(-small * 1.01, 1.0).any()
    piece = penalty.quadratic_piece(w)
    if piece is not None:
        near = w * (1 + 1e-3 * rng.standard_normal(d))
        values = [0.5 * np.sum(piece[0] * u**2) + piece[1] @ u for u in (w, near)]
        assert penalty.value(near) - penalty.value(w) == pytest.approx(values[1] - values[0], rel=1e-9)
    assert sum(alone[j].value(w[[j]]) for j in range(d)) == pytest.approx(penalty.value(w))


def check_solver(solver, loss, penalty, oracle):
    """A solver refuses in words, or finds the minimiser, and its certificate holds."""
    best, w = oracle
    objective = Objective(loss, penalty)
    refusal = solver.refuses(objective)
    if refusal is not None:
        assert len(refusal.split()) > 3
        with pytest.raises(ValueError, match="No solver accepts this objective"):
            solve(objective, tol=1e-8, max_iter=10, solvers=[solver])
        return False
    solution = solver.solve(objective, tol=1e-17, max_iter=2_000)
    np.testing.assert_allclose(solution.w, w, atol=1e-8, rtol=0.0)
    assert solution.value == pytest.approx(best, abs=1e-12)
    assert (solution.gap is None) == np.isnan(penalty.gap(w, np.zeros_like(w)))
    coarse = solver.solve(objective, tol=1e-3, max_iter=20_000)
    assert coarse.converged
    assert not coarse.bound < coarse.value - best - 1e-15
    return True
