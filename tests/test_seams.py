"""All losses, penalties and solvers pass every check, and so do a toy loss and penalty from outside the package."""

from __future__ import annotations

import functools
import inspect
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import toy_loss
import toy_penalty
from checks import best_of_all_pieces, check_loss, check_penalty, check_solver
from helpers import LOSSES, PENALTIES, SOLVERS, make_data
from scipy import sparse

from vrspam.objective import ElasticNet, Objective
from vrspam.solvers import solve
from vrspam.solvers.gram import GramDescent
from vrspam.solvers.path import solve_grid
from vrspam.solvers.smooth import ProximalGradient, TruncatedNewton

CONTAINERS = {"dense": np.asarray, "csr": sparse.csr_array}


@functools.cache
def problem():
    """Four columns of similar spread with some zeros: every pair of the toy loss fits into memory."""
    X, y = make_data(40, 4, seed=3, correlated=False)
    X /= X.std(axis=0)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = 0.0
    return X, y


@functools.cache
def oracle(loss, name):
    """The minimum and the minimiser: by all pieces, or for a loss without an oracle by long proximal gradient."""
    X, y = problem()
    penalty, pieces = PENALTIES[name]
    kind = LOSSES[loss].oracle
    if kind is not None:
        return best_of_all_pieces(X, y, kind == "squared hinge", pieces, penalty.value)
    solution = ProximalGradient().solve(Objective(LOSSES[loss].make(X, y), penalty), tol=1e-18, max_iter=50_000)
    assert solution.converged
    return solution.value, solution.w


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("name", LOSSES)
def test_losses(name, container):
    X, y = problem()
    check_loss(LOSSES[name].make(CONTAINERS[container](X), y))


@pytest.mark.parametrize("name", PENALTIES)
def test_penalties(name):
    check_penalty(PENALTIES[name].penalty, 4)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers(solver, loss, penalty, container):
    X, y = problem()
    made, case = LOSSES[loss].make(CONTAINERS[container](X), y), PENALTIES[penalty]
    taken = check_solver(SOLVERS[solver](), made, case.penalty, oracle(loss, penalty))
    must = {"ProximalGradient"}
    must |= {"TruncatedNewton"} if case.penalty.quadratic_piece(np.zeros(4)) is not None else set()
    must |= {"GramDescent"} if made.matrix is not None else {"ColumnDescent"} if made.rows is not None else set()
    assert taken or solver not in must


def test_the_oracle_needs_every_kind_of_piece():
    """The problem distinguishes the penalties: both give zeros, and MCP has coefficients on its flat part."""
    net, mcp = oracle("squared, rows", "elastic net")[1], oracle("squared, rows", "MCP")[1]
    assert np.any(net == 0)
    assert np.any(mcp == 0)
    assert np.any(np.abs(mcp) > 0.14)
    assert np.any((mcp != 0) & (np.abs(mcp) < 0.14))
    hinge = oracle("squared hinge", "ridge")[1]
    X, y = problem()
    assert np.any(
        1 - (X[y == 1] @ hinge)[:, None] + (X[y == 0] @ hinge) < 0
    )  # pairs that the squared loss would punish


@pytest.mark.parametrize("loss", LOSSES)
def test_a_grid_takes_any_loss_and_any_penalty(loss):
    """Each point of the grid is the solution of its own problem, and 0 from the stated l1 on."""
    X, y = problem()
    made = LOSSES[loss].make(X, y)
    largest = float(np.abs(made.value_and_grad(np.zeros(4))[1]).max())
    l1s = np.array([0.0, 0.2, 0.6, 1.0]) * largest
    for factory in (ElasticNet, lambda l2, l1: toy_penalty.MCP(l1, 30.0) if l1 > 0.0 else ElasticNet(l2)):
        grid = solve_grid(made, np.array([0.03, 0.3]), l1s, tol=LOSSES[loss].finest, max_iter=5000, penalty=factory)
        assert grid.converged.all()
        assert not grid.coefs[:, 3].any()
        for i, j in ((0, 1), (1, 2)):
            alone = solve(Objective(made, factory([0.03, 0.3][i], l1s[j])), tol=1e-14, max_iter=5000)
            np.testing.assert_allclose(grid.coefs[i, j], alone.w, atol=1e-6)


@pytest.mark.parametrize("toy", [toy_loss, toy_penalty])
def test_the_toys_are_short(toy):
    assert len(inspect.getsource(toy).splitlines()) < 40


PENALTY_FILE = """
from typing import NamedTuple
import numpy as np
from vrspam.kernels import gram_descent, register_prox
from vrspam.objective import Separable

class Numbers(NamedTuple):
    l1: float

class Shrink(Numbers, Separable):
    def prox(self, v, step):
        return v * FACTOR

@register_prox(Shrink)
def prox(penalty, v, step, j):
    return v * FACTOR

w, gram = np.ones(1), np.ones((1, 1))
gram_descent(gram, np.ones(1), w, np.zeros(1), Shrink(0.0), 1.0, 0.0, 1)
print(w[0], sum(gram_descent.stats.cache_hits.values()))
"""


def test_compiled_code_follows_an_edit_of_a_penalty_defined_elsewhere(tmp_path):
    """Numba's own disk cache would go on running the old prox: it watches only the file of the kernel."""
    path = tmp_path / "shrink.py"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run(program, **more):
        command = [sys.executable, "-c", program]
        shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, **more)
        return shown.stdout.split()

    for factor in ("0.5", "0.3"):
        path.write_text(textwrap.dedent(PENALTY_FILE).replace("FACTOR", factor))
        assert run("import shrink", cwd=tmp_path) == [factor, "0"]
    plain = textwrap.dedent(PENALTY_FILE).split("class Numbers")[0] + textwrap.dedent(
        """
        from vrspam.objective import ElasticNet
        gram_descent(np.ones((1, 1)), np.ones(1), np.ones(1), np.zeros(1), ElasticNet(1.0, 0.0), 1.0, 0.0, 1)
        print(sum(gram_descent.stats.cache_hits.values()))
        """
    )
    # What is kept can be read where the penalty's module is not at hand.
    assert [run(plain, cwd=tmp_path.parent) for _ in range(2)] == [["0"], ["1"]]


class NotANumber(toy_loss.SquaredHingeByPairs):
    """A loss that overflows away from 0."""

    def value_and_grad(self, w):
        value, grad = super().value_and_grad(w)
        return (value, grad) if not w.any() else (np.nan, np.full_like(grad, np.nan))


@pytest.mark.parametrize("solver", [ProximalGradient, TruncatedNewton])
def test_a_loss_that_is_not_finite_is_an_error(solver):
    X, y = problem()
    with pytest.raises(ValueError, match="not finite"):
        solver().solve(Objective(NotANumber(X, y), ElasticNet(0.1)), tol=1e-8, max_iter=10)


def test_a_penalty_without_a_compiled_prox_is_refused_by_compiled_loops_and_solved():
    class Net(ElasticNet):
        pass

    X, y = problem()
    objective = Objective(LOSSES["squared, moments"].make(X, y), Net(0.01, 0.05))
    assert "register_prox" in str(GramDescent().refuses(objective))
    np.testing.assert_allclose(
        solve(objective, tol=1e-15, max_iter=1000).w, oracle("squared, moments", "elastic net")[1], atol=1e-6
    )
