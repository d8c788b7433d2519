"""All losses, penalties and solvers pass every check, and so do a toy loss and penalty from outside the package."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import toy_loss
import toy_map
import toy_penalty
from checks import best_of_all_pieces, check_loss, check_penalty, check_solver
from helpers import LOSSES, PENALTIES, SOLVERS, make_data
from scipy import sparse

import vrspam.features
from vrspam import AUCClassifierCV
from vrspam.export import to_python
from vrspam.features import LinearFeatures, StackedFeatures
from vrspam.features.base import kind_of_map
from vrspam.objective import Bounded, ElasticNet, Objective
from vrspam.solvers import solve
from vrspam.solvers.gram import GramDescent
from vrspam.solvers.path import solve_grid
from vrspam.solvers.smooth import ProximalGradient, TruncatedNewton
from vrspam.tool import load_model, save_model, train

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


PENALTY_FILE = """
from typing import NamedTuple
import numpy as np
from vrspam.kernels import register_prox
from vrspam.kernels.linear import _prox_violation
from vrspam.objective import Separable

class Numbers(NamedTuple):
    l1: float

class Shrink(Numbers, Separable):
    def prox(self, v, step):
        return v * FACTOR

@register_prox(Shrink)
def prox(penalty, v, step, j):
    return v * FACTOR

moved = _prox_violation(Shrink(0.0), np.zeros(1), -np.ones(1), np.ones(1))  # half the square of the prox of 1
print((2.0 * moved) ** 0.5, sum(_prox_violation.stats.cache_hits.values()))
"""


def test_compiled_code_follows_an_edit_of_a_penalty_defined_elsewhere(tmp_path):
    """Numba's own disk cache would go on running the old prox: it watches only the file of the kernel.

    The smallest loop with a penalty stands for all of them: they share the cache, and it compiles quickest.
    """
    path = tmp_path / "shrink.py"
    package = str(Path(vrspam.features.__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": package, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run(program, **more):
        command = [sys.executable, "-c", program]
        shown = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, **more)
        return shown.stdout.split()

    for factor in ("0.5", "0.25"):
        path.write_text(textwrap.dedent(PENALTY_FILE).replace("FACTOR", factor))
        assert run("import shrink", cwd=tmp_path) == [factor, "0"]
    plain = textwrap.dedent(PENALTY_FILE).split("class Numbers")[0] + textwrap.dedent(
        """
        from vrspam.objective import ElasticNet
        _prox_violation(ElasticNet(1.0, 0.0), np.zeros(1), -np.ones(1), np.ones(1))
        print(sum(_prox_violation.stats.cache_hits.values()))
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
    bounded = Objective(objective.loss, Bounded(objective.penalty, np.full(4, -np.inf), np.full(4, np.inf)))
    assert "register_prox" in str(GramDescent().refuses(bounded))
    np.testing.assert_allclose(
        solve(objective, tol=1e-15, max_iter=1000).w, oracle("squared, moments", "elastic net")[1], atol=1e-6
    )


# A feature map from outside the package, as docs/add_a_map.md builds it.


DOCS = Path(__file__).resolve().parents[2] / "docs"


def people(n=300, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(50, 12, n).round(), "dose": rng.uniform(0, 9, n)})
    frame["town"] = rng.choice(["Graz", "Linz", "Wien"], n)
    frame.loc[rng.random(n) < 0.1, "dose"] = np.nan
    frame["sick"] = np.abs(frame["age"] - 50) + 8 * (frame["town"] == "Graz") + rng.normal(0, 4, n) > 14
    return frame


def test_the_page_builds_the_toy_map():
    """The code of the page is that of the toy; tests/project/test_add_a_map.py follows the page."""
    page = (DOCS / "add_a_map.md").read_text("utf-8")
    code = [line[4:] for line in page.splitlines() if line.startswith((">>> ", "... "))]
    built: dict[str, Any] = {}
    exec("\n".join(code[: code.index("from vrspam import AUCClassifierCV")]), built)
    X = np.random.default_rng(0).standard_normal((60, 2))
    expected = toy_map.HingeFeatures(n_hinges=3).fit(X).transform(X)
    np.testing.assert_array_equal(built["HingeFeatures"](n_hinges=3).fit(X).transform(X), expected)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("alone", [True, False], ids=["alone", "in a blend"])
def test_a_map_from_outside_is_compared_explained_exported_and_stored(alone, tmp_path, monkeypatch):
    monkeypatch.setitem(vrspam.features.MAPS, "HingeFeatures", toy_map.HingeFeatures)
    frame = people()
    X, y = frame.drop(columns="sick"), frame["sick"]
    maps = {"hinges": toy_map.HingeFeatures()} | ({} if alone else {"trees": vrspam.features.TreeFeatures(n_trees=30)})
    model = AUCClassifierCV([0.01], features=maps, cv=3, selection="best" if alone else "blend", random_state=0)
    scores = model.fit(X, y).decision_function(X)
    by_features = model.features_.transform(X) @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(scores, by_features, atol=1e-9)
    assert sum(model.explain_one(X.iloc[:1]).values()) == pytest.approx(scores[0])
    assert set(model.shape_functions_) == set(X)
    assert kind_of_map(toy_map.HingeFeatures()) == "hinge"
    if alone:
        namespace: dict[str, Any] = {}
        exec(to_python(model), namespace)
        rows = X.to_dict("records")
        np.testing.assert_allclose([namespace["score"](row) for row in rows], scores, atol=1e-9)
    frame.to_csv(tmp_path / "people.csv", index=False)
    trained = train(tmp_path / "people.csv", "sick", features=toy_map.HingeFeatures(), n_splits=3)
    save_model(trained, tmp_path / "m.json")
    again, rows = load_model(tmp_path / "m.json"), X[list(trained.schema.columns)]
    assert trained.training["map"] == "hinge"
    np.testing.assert_array_equal(again.score(rows), trained.score(rows))
    np.testing.assert_allclose(sum(again.parts_of_rows(rows).values()), again.score(rows), atol=1e-9)
    stacked = StackedFeatures([toy_map.HingeFeatures(), LinearFeatures()]).fit(X)
    coef = np.random.default_rng(0).standard_normal(stacked.n_features_out_)
    np.testing.assert_allclose(stacked.products(X, coef), stacked.transform(X) @ coef, atol=1e-9)
