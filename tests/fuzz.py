"""Random small problems through every estimator and route, against exact rational arithmetic.

Each certificate must be an upper bound, F(w) - F* ≤ gap + 1e-14 F(0), and each `objective_` right to a relative error
of 1e-6 (or 1e-14 F(0)). From moments alone, without the rows, no objective can be known as well as that where they have
lost digits (by subtraction, by products in float32) or where a large w cancels in nearly collinear columns; there its
error must be at most 2 √(gap F(0)).

"mild" problems have columns with offsets of up to 1e5 times their spread and l2 from 1e-8 units on;
"wild" ones offsets of up to 1e9, l2 from 1e-14 units on, scales from 1e-8 to 1e8, collinear and constant columns, more
columns than rows, and as little as one positive row.

    python tests/fuzz.py --cases 20000        # of each kind; `make fuzz` runs 100 in each round
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from exact_oracle import ExactProblem
from scipy import sparse

from vrspam import (
    AUCClassifier,
    AUCClassifierCV,
    ClassMoments,
    OPAUCClassifier,
    SlidingMoments,
    SOLAMClassifier,
    SPAMClassifier,
    VRSPAMClassifier,
    coef_path,
)
from vrspam._utils.validation import Rows
from vrspam.model_selection.cross_validate import cross_validate
from vrspam.model_selection.folds import Split
from vrspam.model_selection.grid_search import GridSearch
from vrspam.model_selection.sources import RowsInMemory
from vrspam.moments import FinishedMoments, LastProduct
from vrspam.objective import SquaredPairLoss
from vrspam.solvers import exact
from vrspam.solvers.path import solve_grid

ALLOWED = Fraction(1, 10**14)  # of F(0)
REASONS = ("gap", "no gap", "objective", "not finite", "refused")
ACCURACY = Fraction(1, 10**6)  # of an objective


@dataclass(frozen=True)
class Case:
    """Rows, weights and penalties of one problem; `rng` draws what a route needs beside them."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None
    l2: float
    l1: float
    rng: np.random.Generator
    wild: bool

    def model(self) -> AUCClassifier:
        return AUCClassifier(self.l2, self.l1)


class Claim(NamedTuple):
    """What a route says about some coefficients; `rows` are those it was given, `objective` may be unknown."""

    w: np.ndarray
    gap: float
    objective: float | None
    rows: tuple
    l2: float
    l1: float


def make_case(seed: int, wild: bool) -> Case:
    """The problem of a seed."""
    rng = np.random.default_rng([seed, int(wild)])
    n, d = int(rng.integers(6, 40)), int(rng.integers(1, 7))
    if wild and rng.random() < 0.15:
        n = int(rng.integers(4, 6))
    X = rng.standard_normal((n, d))
    if rng.random() < 0.15:
        X = np.exp(2.0 * X)
    if rng.random() < 0.1:
        X = np.sort(X, axis=0)
    if rng.random() < 0.1:
        X[rng.integers(n)] *= 1e4
    if rng.random() < 0.2:
        X = np.round(X)
    positives = 1 if wild and rng.random() < 0.2 else int(rng.integers(1, n))
    y = np.zeros(n, dtype=int)
    y[rng.permutation(n)[:positives]] = 1
    if rng.random() < 0.7:
        X[y == 1] += rng.standard_normal(d)
    for _ in range(int(rng.integers(0, 3))):
        if d > 1 and rng.random() < (0.5 if wild else 0.15):  # collinear, or nearly
            a, b = rng.permutation(d)[:2]
            X[:, a] = X[:, b] + 10.0 ** rng.uniform(-9, 0) * (rng.random() < 0.7) * rng.standard_normal(n)
    if rng.random() < (0.15 if wild else 0.05):
        X[:, rng.integers(d)] = rng.standard_normal()
    X *= 10.0 ** (rng.uniform(-8, 8, d) if wild and rng.random() < 0.5 else rng.uniform(-2, 2))
    if rng.random() < 0.6:
        X += X.std(axis=0) * 10.0 ** rng.uniform(0, 9 if wild else 5) * rng.choice([-1.0, 1.0], d)
    weights = None
    if rng.random() < 0.3:
        weights = rng.uniform(0.1, 3.0, n) * (10.0 ** rng.uniform(-3, 3, n) if rng.random() < 0.3 else 1.0)
    problem = ExactProblem(X, y, weights)
    l2 = problem.unit() * 10.0 ** rng.uniform(-14 if wild else -8, 1)
    l1 = 0.0
    if rng.random() < 0.4:
        l1 = float(problem.k * max(map(abs, problem.delta))) * 10.0 ** rng.uniform(-4, 0.1)
    return Case(X, y, weights, l2, l1, rng, wild)


def _of(model, case: Case, rows: tuple | None = None, w=None) -> Claim:
    w = model.coef_[0] if w is None else w
    rows = (case.X, case.y, case.weights) if rows is None else rows
    gap = math.inf if model.gap_ is None else model.gap_
    return Claim(w, gap, model.objective_, rows, case.l2, case.l1)


def by_grid(case: Case) -> Iterator[Claim]:
    """`solve_grid` and `coef_path`, from moments."""
    moments = ClassMoments.from_data(case.X, case.y, case.weights)
    l2s = case.l2 * np.array([1.0, 10.0, 100.0, 1000.0])[: int(case.rng.integers(1, 5))]
    l1s = np.unique([0.0, case.l1])
    grid = solve_grid(SquaredPairLoss.from_moments(moments), l2s, l1s, tol=1e-8, max_iter=300)
    scale = moments.p * moments.q
    coefs = coef_path(moments, l2s, l1s, max_iter=300)
    for i, l2 in enumerate(l2s):
        for j, l1 in enumerate(l1s):
            rows = (case.X, case.y, case.weights)
            yield Claim(grid.coefs[i, j], grid.gaps[i, j], None, rows, float(l2), float(l1))
            if grid.converged[i, j]:
                yield Claim(coefs[i, j], 1e-8 * scale, None, rows, float(l2), float(l1))


def by_fit(case: Case) -> Iterator[Claim]:
    """Dense rows."""
    yield _of(case.model().fit(case.X, case.y, case.weights), case)


def by_sparse_fit(case: Case) -> Iterator[Claim]:
    """CSR rows, some entries 0, of either type."""
    X = case.X * (case.rng.random(case.X.shape) < 0.7)
    X = _float32(X) if case.rng.random() < 0.3 else X
    yield _of(case.model().fit(sparse.csr_array(X), case.y, case.weights), case, (X, case.y, case.weights))


def _float32(X: np.ndarray) -> np.ndarray:
    return X.astype(np.float32)


def by_float32_fit(case: Case) -> Iterator[Claim]:
    """float32 rows, multiplied in float64."""
    X = _float32(case.X)
    yield _of(case.model().fit(X, case.y, case.weights), case, (X, case.y, case.weights))


def by_coarse_fit(case: Case) -> Iterator[Claim]:
    """float32 rows, multiplied in float32 first, as wide ones are."""
    X = _float32(case.X)
    with mock.patch.object(exact, "COARSE_FROM", 0):
        yield _of(case.model().fit(X, case.y, case.weights), case, (X, case.y, case.weights))


def by_coarse_moments(case: Case) -> Iterator[Claim]:
    """Moments of float32 rows that were multiplied in float32."""
    X = _float32(case.X)
    moments = ClassMoments().add_checked(X, case.y, case.weights, precise=False)
    yield _of(case.model().fit_moments(moments), case, (X, case.y, case.weights))


def by_last_product(case: Case) -> Iterator[Claim]:
    """Moments of the rows, and a triangular product that makes features of their last columns."""
    first = int(case.rng.integers(case.X.shape[1]))
    size = case.X.shape[1] - first
    matrix = np.triu(case.rng.standard_normal((size, size)) * 10.0 ** case.rng.uniform(-3.0, 3.0, (size, size)))
    last = LastProduct(first, matrix)
    finished = FinishedMoments(ClassMoments.from_data(case.X, case.y, case.weights), last)
    fit = exact.FitSettings(case.l2, case.l1, 1e-8, 300).fit_sums(finished).solution
    if not np.isfinite(fit.w).all():
        raise ValueError("The solution is not finite")
    yield Claim(fit.w, fit.bound, fit.value, (last.of(case.X), case.y, case.weights), case.l2, case.l1)


def by_products(case: Case) -> Iterator[Claim]:
    """Products with the rows alone, as for very many columns."""
    dense = case.X if case.rng.random() < 0.5 else case.X * (case.rng.random(case.X.shape) < 0.7)
    X = case.X if dense is case.X else sparse.csr_array(dense)
    settings = exact.FitSettings(case.l2, case.l1, 1e-8, 300)
    fit = settings.fit_rows(Rows(X, case.y, case.weights), np.array([0, 1]), "products").solution
    if not np.isfinite(fit.w).all():  # as the estimators say it
        raise ValueError("The solution is not finite")
    yield Claim(fit.w, fit.bound, fit.value, (dense, case.y, case.weights), case.l2, case.l1)


def _blocks(case: Case) -> list[tuple]:
    cuts = np.sort(case.rng.integers(0, case.y.size, 3)).tolist()
    parts = [slice(a, b) for a, b in zip([0, *cuts], [*cuts, case.y.size], strict=True) if b > a]
    weights = np.ones(case.y.size) if case.weights is None else case.weights
    return [(case.X[part], case.y[part], weights[part]) for part in parts]


def by_partial_fit(case: Case) -> Iterator[Claim]:
    """Rows added in parts."""
    model = case.model()
    for X, y, weights in _blocks(case):
        model.partial_fit(X, y, classes=[0, 1], sample_weight=weights)
    yield _of(model, case)


def by_stream(case: Case) -> Iterator[Claim]:
    """Rows in blocks, float32 or float64."""
    blocks = _blocks(case)
    if case.rng.random() < 0.3:
        blocks = [(_float32(X), y, weights) for X, y, weights in blocks]
    X = np.concatenate([X for X, _, _ in blocks])
    yield _of(case.model().fit_stream(blocks), case, (X, case.y, case.weights))


def by_subtraction(case: Case) -> Iterator[Claim]:
    """Rows added together with others, often far larger, that are taken out again."""
    others = np.resize(case.X, (7, case.X.shape[1])) * 10.0 ** case.rng.uniform(-1, 9)
    burst = ClassMoments.from_data(others, np.arange(7) % 2)
    moments = ClassMoments.from_data(case.X, case.y, case.weights) + burst - burst
    yield _of(case.model().fit_moments(moments), case)


def by_window(case: Case) -> Iterator[Claim]:
    """A window from which larger rows have left."""
    others = np.resize(case.X, (9, case.X.shape[1])) * 10.0 ** case.rng.uniform(-1, 9)
    window = SlidingMoments(case.y.size, classes=[0, 1]).update(others, np.arange(9) % 2)
    for X, y, weights in _blocks(case):
        window.update(X, y, weights)
    yield _of(case.model().fit_moments(window.moments), case)


def by_folds(case: Case) -> Iterator[Claim]:
    """The training parts of a cross-validation (`gap_path_`), and its fit on all rows."""
    if min(np.bincount(case.y)) < 4:
        return
    order = case.rng.permutation(case.y.size)
    fold = np.empty(case.y.size, dtype=int)
    for label in (0, 1):
        members = order[case.y[order] == label]
        fold[members] = np.arange(members.size) % 2
    splits = [Split(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in (0, 1)]
    X = _float32(case.X) if case.rng.random() < 0.3 else case.X
    source = RowsInMemory(Rows(X, case.y, case.weights), splits, np.array([0, 1]))
    scores, coefs, _ = cross_validate(source, GridSearch([case.l2], [case.l1], 1e-8, 300, 1), keep_coefs=True)
    assert coefs is not None
    for k, (train, _) in enumerate(splits):
        rows = (X[train], case.y[train], None if case.weights is None else case.weights[train])
        yield Claim(coefs[k, 0, 0], scores.gaps[0, 0, k], None, rows, case.l2, case.l1)
    model = AUCClassifierCV([case.l2], [case.l1], cv=splits).fit(X, case.y, case.weights)
    yield _of(model, case, (X, case.y, case.weights))


STOCHASTIC = [VRSPAMClassifier, VRSPAMClassifier, SPAMClassifier, SOLAMClassifier, OPAUCClassifier]


def by_stochastic_methods(case: Case) -> Iterator[Claim]:
    """A few epochs of the stochastic methods: far from the optimum, and certified all the same."""
    X = _float32(case.X) if case.rng.random() < 0.3 else case.X
    X = sparse.csr_array(X) if case.rng.random() < 0.3 else X
    kind: Any = STOCHASTIC[int(case.rng.integers(len(STOCHASTIC)))]
    options: dict = {} if kind is SOLAMClassifier else {"l1": case.l1} if kind is not OPAUCClassifier else {}
    weights = case.weights if kind is VRSPAMClassifier else None  # the others take none
    model = kind(l2=case.l2, max_iter=int(case.rng.integers(1, 20)), random_state=0, **options)
    try:
        model.fit(X, case.y, **({} if weights is None else {"sample_weight": weights}))
    except ValueError as refusal:  # a step that no float can express
        if "rescale" not in str(refusal).lower() and "step" not in str(refusal):
            raise
        return
    dense = X.toarray() if isinstance(X, sparse.csr_array) else X
    claim = _of(model, case, (dense, case.y, weights))
    yield claim if options else replace_penalty(claim, model.l2_)


def replace_penalty(claim: Claim, l2: float) -> Claim:
    return claim._replace(l2=l2, l1=0.0)


ROUTES: dict[str, Callable[[Case], Iterator[Claim]]] = {
    "grid": by_grid,
    "fit": by_fit,
    "fit CSR": by_sparse_fit,
    "fit float32": by_float32_fit,
    "fit float32, coarse products": by_coarse_fit,
    "fit_moments, coarse products": by_coarse_moments,
    "last product": by_last_product,
    "products": by_products,
    "partial_fit": by_partial_fit,
    "fit_stream": by_stream,
    "subtraction": by_subtraction,
    "window": by_window,
    "folds": by_folds,
    "stochastic methods": by_stochastic_methods,
}


FROM_MOMENTS = ("partial_fit", "fit_stream", "subtraction", "window", "fit_moments, coarse products", "last product")


def run_cells(seed: int) -> list[str]:
    """What is wrong with some cells of text; these alone need pandas, polars and pyarrow."""
    from fuzz_cells import run_case

    return run_case(seed)


#: Routes without a certificate: what is wrong with the case of a seed.
OTHERS: dict[str, Callable[[int], list[str]]] = {"cells": run_cells}


def judge(claim: Claim, from_moments: bool = False) -> list[str]:
    """What is wrong with a claim: nothing, "gap", "objective"."""
    if not np.isfinite(claim.w).all():
        return ["not finite"]
    problem = ExactProblem(*claim.rows)
    value = problem.value(claim.w, claim.l2, claim.l1)
    least = problem.value(problem.minimiser(claim.l2, claim.l1, claim.w), claim.l2, claim.l1)
    wrong = []
    if math.isnan(claim.gap):
        wrong.append("no gap")
    elif not math.isinf(claim.gap) and value - least > Fraction(claim.gap) + ALLOWED * problem.scale:
        wrong.append("gap")
    if from_moments and not claim.gap < problem.scale:  # nothing is known
        return wrong
    if claim.objective is not None and not math.isfinite(claim.objective):
        wrong.append("objective")
    elif claim.objective is not None:
        error = abs(Fraction(claim.objective) - value)
        allowed = ACCURACY * value + ALLOWED * problem.scale
        if from_moments:
            allowed += Fraction(2.0 * math.sqrt(claim.gap * float(problem.scale)))
        if error > allowed:
            wrong.append("objective")
    return wrong


def run_case(seed: int, wild: bool, counts: Counter, routes: list[str] | None = None) -> list[str]:
    """Send one problem through some routes (by default one); the violations, in words."""
    case = make_case(seed, wild)
    names = [list(ROUTES)[int(case.rng.integers(len(ROUTES)))]] if routes is None else routes
    found = []
    for name in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                claims = list(ROUTES[name](replace(case)))
            except ValueError as refusal:
                if "The solution is not finite" not in str(refusal):
                    raise
                counts[name, "refused"] += 1
                continue
        for claim in claims:
            counts[name] += 1
            for wrong in judge(claim, name in FROM_MOMENTS):
                counts[name, wrong] += 1
                found.append(f"{'wild' if wild else 'mild'} {seed}, {name}: {wrong}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20_000, help="problems of each kind")
    parser.add_argument("--first", type=int, default=1_000, help="the first seed")
    parser.add_argument("--route", choices=[*ROUTES, *OTHERS], help="only this route")
    options = parser.parse_args()
    counts: dict[str, Counter] = {"mild": Counter(), "wild": Counter()}
    routes = None if options.route is None else [options.route]
    bad, start = 0, time.perf_counter()
    for done, seed in enumerate(range(options.first, options.first + options.cases), 1):
        for kind, counted in counts.items():
            for line in run_case(seed, kind == "wild", counted, routes) if options.route not in OTHERS else ():
                print(line, flush=True)
                bad += 1
        for name, other in OTHERS.items():
            for line in other(seed) if options.route in (None, name) else ():
                print(f"{name}, seed {seed}: {line}", flush=True)
                bad += 1
        if done % 1000 == 0 or done == options.cases:
            print(f"{done:,} problems of each kind, {bad} violations, {time.perf_counter() - start:.0f} s", flush=True)
    for kind, counted in counts.items():
        print(f"{kind}: {sum(counted[name] for name in ROUTES):,} certificates")
        for name in ROUTES:
            wrong = {reason: counted[name, reason] for reason in REASONS if counted[name, reason]}
            print(f"  {name}: {counted[name]:,} certificates, {wrong or 'no violations'}")
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main()
