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
from checks import best_of_all_pieces, check_loss, check_penalty, check_solver, pieces_of
from helpers import LOSSES, PENALTIES, SOLVERS, make_data
from scipy import sparse

from vrspam.objective import ElasticNet, Objective
from vrspam.solvers import solve
from vrspam.solvers.path import solve_grid

CONTAINERS = {"dense": np.asarray, "csr": sparse.csr_array}


@functools.cache
def problem():
    """Four columns of similar spread with some zeros: every pair of the toy loss fits into memory."""
    X, y = make_data(40, 4, seed=3, correlated=False)
    X /= X.std(axis=0)
    X[np.random.default_rng(0).random(X.shape) < 0.2] = 0.0
    return X, y


@functools.cache
def oracle(hinge, name):
    X, y = problem()
    penalty = PENALTIES[name]
    return best_of_all_pieces(X, y, hinge, pieces_of(name, penalty), getattr(penalty, "l1", 0.0), penalty.value)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("name", LOSSES)
def test_losses(name, container):
    X, y = problem()
    check_loss(LOSSES[name](CONTAINERS[container](X), y))


@pytest.mark.parametrize("name", PENALTIES)
def test_penalties(name):
    check_penalty(PENALTIES[name])


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_solvers(solver, loss, penalty, container):
    X, y = problem()
    hinge = "hinge" in loss
    taken = check_solver(
        SOLVERS[solver](), LOSSES[loss](CONTAINERS[container](X), y), PENALTIES[penalty], oracle(hinge, penalty)
    )
    pieces = PENALTIES[penalty].quadratic_piece(np.zeros(4)) is not None
    must = {"ProximalGradient"} | ({"TruncatedNewton"} if pieces else set())
    must |= {"GramDescent"} if loss == "squared, moments" else {"ColumnDescent"} if loss == "squared, rows" else set()
    assert taken or solver not in must


def test_the_oracle_needs_every_kind_of_piece():
    """The problem distinguishes the penalties: both give zeros, and MCP has coefficients on its flat part."""
    net, mcp = oracle(False, "elastic net")[1], oracle(False, "MCP")[1]
    assert np.any(net == 0)
    assert np.any(mcp == 0)
    assert np.any(np.abs(mcp) > PENALTIES["MCP"].gamma * PENALTIES["MCP"].l1)
    assert np.any((mcp != 0) & (np.abs(mcp) < PENALTIES["MCP"].gamma * PENALTIES["MCP"].l1))
    hinge = oracle(True, "ridge")[1]
    X, y = problem()
    assert np.any(
        1 - (X[y == 1] @ hinge)[:, None] + (X[y == 0] @ hinge) < 0
    )  # pairs that the squared loss would punish


@pytest.mark.parametrize("loss", LOSSES)
def test_a_grid_takes_any_loss_and_any_penalty(loss):
    """Each point of the grid is the solution of its own problem, and 0 from the stated l1 on."""
    X, y = problem()
    made = LOSSES[loss](X, y)
    largest = float(np.abs(made.value_and_grad(np.zeros(4))[1]).max())
    l1s = np.array([0.0, 0.2, 0.6, 1.0]) * largest
    for factory in (ElasticNet, lambda l2, l1: toy_penalty.MCP(l1, 4.0) if l1 > 0.0 else ElasticNet(l2)):
        grid = solve_grid(made, np.array([0.03, 0.3]), l1s, tol=1e-14, max_iter=5000, penalty=factory)
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
gram_descent(gram, np.ones(1), w, np.zeros(1), Shrink(0.0), 0.0, 1)
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
        gram_descent(np.ones((1, 1)), np.ones(1), np.ones(1), np.zeros(1), ElasticNet(1.0, 0.0), 0.0, 1)
        print(sum(gram_descent.stats.cache_hits.values()))
        """
    )
    # What is kept can be read where the penalty's module is not at hand.
    assert [run(plain, cwd=tmp_path.parent) for _ in range(2)] == [["0"], ["1"]]
