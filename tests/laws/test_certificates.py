"""Any two routes to one problem must have |F₁ - F₂| ≤ max(gap₁, gap₂): any rows, pairs, loss, penalty and container.

F is computed by all pairs in long double from the coefficients that a route returns, carried back to the rows of the
problem; a route with a certificate is at most that far above the minimum, so two differ by no more than the larger one.
Beside it stand the 1e-14 F(0) that certificates leave out (docs/theory.md, section 3), or what a rotation of the rows
rounds. MCP and SCAD have no certificate: there the stated stationarity is compared with its definition.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pytest
from helpers import loss_of
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st
from laws_support import examples
from pair_problems import Problem, problems
from scipy import sparse

from vrspam import (
    AUCClassifier,
    AUCClassifierCV,
    ClassMoments,
    ConcordanceRanker,
    ConcordanceRankerCV,
    VRSPAMClassifier,
)
from vrspam.estimators import exact_fits
from vrspam.objective import ElasticNet, Objective
from vrspam.solvers.products import DualRidge

ALLOWED = 1e-14  # of F(0): docs/theory.md


class Claim(NamedTuple):
    """Coefficients in the columns of the problem, and what a route says of them."""

    w: np.ndarray
    gap: float | None
    objective: float | None
    stationarity: float | None = None
    room: float = 0.0  # of F(0): what the route itself rounds before it solves


def model(problem: Problem, draw: Any) -> Any:
    tol = draw(st.sampled_from([1e-3, 1e-6, 1e-8, 1e-12]), label="tol")
    kind = AUCClassifier if problem.kind == "classes" else ConcordanceRanker
    gamma = None if problem.penalty == "elasticnet" else problem.gamma
    return kind(
        problem.l2,
        problem.l1,
        loss=problem.loss,
        penalty=problem.penalty,
        gamma=gamma,
        positive=problem.positive,
        strata_weight=problem.strata_weight,
        tol=tol,
    )


def fit(problem: Problem, draw: Any, X: Any = None, estimator: Any = None) -> Any:
    """Fit an estimator to a problem; X is another container of the same rows."""
    estimator = model(problem, draw) if estimator is None else estimator
    given_rows: dict[str, Any] = {"sample_weight": problem.weights, "strata": problem.strata}
    if problem.kind == "times":
        given_rows["event"] = problem.event
    return estimator.fit(problem.X if X is None else X, problem.y, **given_rows)


def claim(fitted: Any, w: np.ndarray | None = None, room: float = 0.0) -> Claim:
    w = fitted.coef_[0] if w is None else w
    return Claim(w, fitted.gap_, fitted.objective_, getattr(fitted, "stationarity_", None), room)


def of_rows(problem: Problem, draw: Any) -> Claim:
    return claim(fit(problem, draw))


def of_sparse_rows(problem: Problem, draw: Any) -> Claim:
    return claim(fit(problem, draw, sparse.csr_array(problem.X)))


def of_float32(problem: Problem, draw: Any) -> Claim:
    return claim(fit(problem, draw, problem.X.astype(np.float32)))


def of_permuted_rows(problem: Problem, draw: Any) -> Claim:
    order = np.random.default_rng(draw(st.integers(0, 99), label="order")).permutation(problem.y.size)
    return claim(fit(problem.of_rows(order, problem.weights), draw))


def of_permuted_columns(problem: Problem, draw: Any) -> Claim:
    d = problem.X.shape[1]
    order = np.random.default_rng(draw(st.integers(0, 99), label="order")).permutation(d)
    fitted = fit(replace(problem, X=problem.X[:, order]), draw)
    w = np.empty(d)
    w[order] = fitted.coef_[0]
    return claim(fitted, w)


def of_scaled_columns(problem: Problem, draw: Any) -> Claim:
    """A power of two changes no digit."""
    unit = 2.0 ** draw(st.integers(-40, 40), label="unit")
    scaled = replace(problem, X=problem.X * unit, l2=problem.l2 * unit**2, l1=problem.l1 * unit)
    fitted = fit(scaled, draw)
    return claim(fitted, fitted.coef_[0] * unit)


def of_rotated_columns(problem: Problem, draw: Any) -> Claim:
    """The lengths of coefficients stay; rows are rounded once more, each entry to 1e-15 of its row."""
    d = problem.X.shape[1]
    rng = np.random.default_rng(draw(st.integers(0, 99), label="rotation"))
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    fitted = fit(replace(problem, X=problem.X @ rotation), draw)
    w = rotation @ fitted.coef_[0]
    rounded = 1e-15 * d * np.abs(problem.X).max() * np.linalg.norm(w)  # of a margin
    return claim(fitted, w, room=8.0 * rounded * (1.0 + rounded))


def of_repeated_rows(problem: Problem, draw: Any) -> Claim:
    """Whole weights are repeated rows."""
    return claim(fit(problem.of_rows(np.repeat(np.arange(problem.y.size), problem.masses.astype(int)), None), draw))


def of_heavier_rows(problem: Problem, draw: Any) -> Claim:
    unit = 2.0 ** draw(st.integers(-30, 30), label="weight")
    return claim(fit(replace(problem, weights=problem.masses * unit), draw))


def by_products(problem: Problem, draw: Any) -> Claim:
    """Products with the rows alone, as for very many columns."""
    as_sparse = draw(st.booleans(), label="sparse")
    with mock.patch.object(exact_fits, "choose_solver", return_value="products"):
        fitted = fit(problem, draw, sparse.csr_array(problem.X) if as_sparse else None)
    assert fitted.solver_ != "moments"
    return claim(fitted)


def by_rows_times_rows(problem: Problem, draw: Any) -> Claim:
    objective = Objective(loss_of(problem.X, problem.y, problem.masses), ElasticNet(problem.l2))
    solver = DualRidge(many=draw(st.booleans(), label="many"))
    solution = solver.solve(objective, tol=draw(st.sampled_from([1e-4, 1e-9]), label="tol"), max_iter=100)
    return Claim(solution.w, solution.gap, solution.value)


def _blocks(problem: Problem, draw: Any) -> list[tuple]:
    cuts = sorted(draw(st.lists(st.integers(1, problem.y.size - 1), max_size=3, unique=True), label="cuts"))
    parts = [slice(a, b) for a, b in zip([0, *cuts], [*cuts, problem.y.size], strict=True)]
    return [(problem.X[part], problem.y[part], problem.masses[part], part) for part in parts]


def by_stream(problem: Problem, draw: Any) -> Claim:
    blocks: list[tuple] = [block[:3] for block in _blocks(problem, draw)]
    if problem.strata is not None:
        blocks = [(*block[:3], problem.strata[block[3]]) for block in _blocks(problem, draw)]
    return claim(model(problem, draw).fit_stream(blocks))


def by_partial_fit(problem: Problem, draw: Any) -> Claim:
    fitted = model(problem, draw)
    for X, y, weights, _ in _blocks(problem, draw):
        fitted.partial_fit(X, y, classes=[0, 1], sample_weight=weights)
    return claim(fitted)


def by_moments(problem: Problem, draw: Any) -> Claim:
    parts = [ClassMoments.from_data(X, y, c, classes=[0, 1]) for X, y, c, _ in _blocks(problem, draw)]
    return claim(model(problem, draw).fit_moments(sum(parts[1:], parts[0])))


def by_dask(problem: Problem, draw: Any) -> Claim:
    da, dask = pytest.importorskip("dask.array"), pytest.importorskip("dask")
    from vrspam.distributed import DaskAUCClassifier

    chunk = draw(st.integers(2, problem.y.size), label="chunk")
    lazy = da.from_array(problem.X, chunks=(chunk, problem.X.shape[1]))
    with dask.config.set(scheduler="synchronous"):
        fitted = DaskAUCClassifier(problem.l2, problem.l1).fit(lazy, problem.y, sample_weight=problem.weights)
    return claim(fitted)


def by_search(problem: Problem, draw: Any) -> Claim:
    """A grid of one point, refitted on all rows: written twice, for two folds, which changes no mean over pairs."""
    kind = AUCClassifierCV if problem.kind == "classes" else ConcordanceRankerCV
    gamma = None if problem.penalty == "elasticnet" else problem.gamma
    n = problem.y.size
    once, again = np.arange(n), np.arange(n, 2 * n)
    options = {"loss": problem.loss, "penalty": problem.penalty, "gamma": gamma, "positive": problem.positive}
    folds = [(once, again), (again, once)]
    search = kind([problem.l2], [problem.l1], cv=folds, strata_weight=problem.strata_weight, **options)
    return claim(fit(problem.of_rows(np.tile(once, 2), problem.weights), draw, estimator=search))


def by_epochs(problem: Problem, draw: Any) -> Claim:
    """A few epochs of the stochastic method: far from the optimum, and certified all the same."""
    fitted = VRSPAMClassifier(problem.l2, problem.l1, max_iter=draw(st.integers(1, 30)), random_state=0)
    return claim(fitted.fit(problem.X, problem.y, sample_weight=problem.weights))


def by_ranker(problem: Problem, draw: Any) -> Claim:
    """Two classes are numbers of two values."""
    return of_rows(replace(problem, kind="numbers"), draw)


def always(problem: Problem) -> bool:
    return True


def has_sums(problem: Problem) -> bool:
    """Two classes, whose sums are enough."""
    return problem.kind == "classes" and problem.loss == "squared"


def has_class_sums(problem: Problem) -> bool:
    return has_sums(problem) and problem.strata is None


def is_plain(problem: Problem) -> bool:
    """Two classes and an elastic net, without bounds."""
    return has_class_sums(problem) and problem.penalty == "elasticnet" and not problem.positive


def is_wide_ridge(problem: Problem) -> bool:
    n, d = problem.X.shape
    return is_plain(problem) and not problem.l1 and d > n


ROUTES: dict[Callable[[Problem, Any], Claim], Callable[[Problem], bool]] = {
    of_rows: always,
    of_sparse_rows: always,
    of_float32: always,
    of_permuted_rows: always,
    of_permuted_columns: always,
    of_scaled_columns: always,
    of_rotated_columns: lambda problem: not problem.l1 and not problem.positive,
    of_repeated_rows: lambda problem: problem.weights is not None,
    of_heavier_rows: always,
    by_products: always,
    by_rows_times_rows: is_wide_ridge,
    by_stream: has_sums,
    by_partial_fit: has_class_sums,
    by_moments: has_class_sums,
    by_dask: is_plain,
    by_search: lambda problem: problem.strata is None,  # folds keep strata whole, and few rows have few
    by_epochs: is_plain,
    by_ranker: lambda problem: problem.kind == "classes",
}


def routes_of(problem: Problem) -> Any:
    return st.sampled_from([route for route, takes in ROUTES.items() if takes(problem)])


def go(route: Callable[[Problem, Any], Claim], problem: Problem, draw: Any) -> Claim:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = route(problem, draw)
    assert np.isfinite(found.w).all()
    note(f"{route.__name__}: w = {found.w}, gap = {found.gap}")
    return found


@settings(max_examples=examples(150))
@given(problem=st.one_of(problems(), problems("squared_hinge")), data=st.data())
def test_two_routes_differ_by_no_more_than_the_larger_certificate(problem, data):
    routes = [data.draw(routes_of(problem)) for _ in range(2)]
    first, second = (go(route, problem, data.draw) for route in routes)
    start = float(problem.loss_at(np.zeros(problem.X.shape[1])))
    values = [float(problem.value(found.w)) for found in (first, second)]
    gaps = [found.gap for found in (first, second) if found.gap is not None]
    assert len(gaps) == 2
    assert min(gaps) >= 0.0  # and no NaN
    if by_epochs not in routes:
        assert max(gaps) <= 1.01e-3 * start  # the loosest tolerance that is asked for: a bound of use
    room = (ALLOWED + first.room + second.room) * start
    assert abs(float(problem.value(first.w) - problem.value(second.w))) <= max(gaps) + room
    for found, value, gap in zip((first, second), values, gaps, strict=True):
        if found.objective is not None:
            error = 1e-6 * value + 2.0 * np.sqrt(gap * start) + (ALLOWED + found.room) * start
            assert abs(found.objective - value) <= error


def with_a_column(kind: str, seed: int, column: Callable[[np.ndarray], np.ndarray]) -> Problem:
    """Some rows whose first column is made of a label of two values."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 40)), int(rng.integers(2, 7))
    label = (rng.permutation(n) < rng.integers(3, n - 3)).astype(float)
    X = np.round(rng.standard_normal((n, d)), 1)
    X[:, 0] = column(label)
    event = rng.random(n) < 0.7 if kind == "times" else None
    y = np.round(rng.exponential(size=n), 1) if kind == "times" else label
    strata = np.arange(n) % 2 if rng.random() < 0.5 else None
    rough = Problem(kind, X, y, event, strata, rng.integers(1, 4, n).astype(float))
    l2 = float(rough.curvatures().mean()) * 10.0 ** rng.uniform(-6.0, -3.0)
    l1 = float(np.abs(rough.slopes_at_zero()).max()) * 10.0 ** rng.uniform(-3.0, 0.0) * rng.integers(2)
    return replace(rough, l2=l2, l1=float(l1))


ODD_COLUMNS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "far from zero, the same in all rows": lambda label: np.full(label.size, 3e8),
    "that differs by the same in all pairs": lambda label: 0.3 * label,
}


@pytest.mark.parametrize("products", [False, True])
@pytest.mark.parametrize("kind", ["classes", "numbers", "times"])
@pytest.mark.parametrize("column", ODD_COLUMNS)
def test_a_certificate_is_of_use_with_a_column(column, kind, products):
    for seed in range(10):
        problem = with_a_column(kind, seed, ODD_COLUMNS[column])
        kind_of = AUCClassifier if kind == "classes" else ConcordanceRanker
        for X in (problem.X, sparse.csr_array(problem.X)):
            estimator = kind_of(problem.l2, problem.l1, tol=1e-3)
            with mock.patch.object(exact_fits, "choose_solver", return_value="products" if products else "moments"):
                fitted = fit(problem, None, X, estimator=estimator)
            start = float(problem.loss_at(np.zeros(problem.X.shape[1])))
            assert fitted.gap_ <= 1.01e-3 * start
            w = fitted.coef_[0]
            assert abs(float(problem.value(w)) - fitted.objective_) <= 1e-6 * start + fitted.gap_


@settings(max_examples=examples(60))
@given(problem=problems(penalties=("mcp", "scad")), data=st.data())
def test_the_stationarity_of_a_concave_penalty_is_what_it_is_defined_as(problem, data):
    assume(not problem.positive)
    found = go(data.draw(routes_of(problem)), problem, data.draw)
    start = float(problem.loss_at(np.zeros(problem.X.shape[1])))
    assert found.gap is None
    assert found.stationarity is not None
    assert found.stationarity == pytest.approx(problem.stationarity(found.w), rel=1e-3, abs=1e-10 * start)
