"""Leaving out: the jackknife of a concordance index is the index of the rows that remain, for every kind of weights.

Drawn problems are small, so that all pairs are written out, in exact rationals: ties, infinite scores, censored times,
strata of any size (of which some lose all their pairs), weights of which some are 0, rows and groups that are left out.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from laws_support import examples

from vrspam.metrics import concordance_index, concordance_index_ci
from vrspam.metrics.concordance import ComparablePairs


@st.composite
def problems(draw):
    """Times or an order, scores, events, strata, weights and groups of a few rows."""
    n = draw(st.integers(4, 14))
    levels = draw(st.integers(2, 5))
    scores = draw(st.lists(st.sampled_from([-np.inf, 0.0, 1.0, 2.5, np.inf]), min_size=n, max_size=n))
    y = draw(st.lists(st.integers(0, levels), min_size=n, max_size=n))
    events = draw(st.none() | st.lists(st.booleans(), min_size=n, max_size=n))
    strata = draw(st.lists(st.integers(0, draw(st.integers(0, 4))), min_size=n, max_size=n))
    weights = draw(st.none() | st.lists(st.integers(0, 3), min_size=n, max_size=n))
    groups = draw(st.none() | st.lists(st.integers(0, 5), min_size=n, max_size=n))
    return y, scores, events, strata, weights, groups


def in_order(first: float, second: float) -> Fraction:
    return Fraction(1) if first > second else Fraction(1, 2) if first == second else Fraction(0)


def exact_index(problem, strata_weight, left_out=()):
    """The index of the rows that are not left out, pair by pair; None where no pair is comparable."""
    y, scores, events, strata, weights, _ = problem
    rows = [row for row in range(len(y)) if row not in left_out]
    wins: dict[int, Fraction] = {}
    mass: dict[int, Fraction] = {}
    for i in rows:
        for j in rows:
            counts = y[i] > y[j]
            if events is not None:
                counts = events[i] and (y[i] < y[j] or (y[i] == y[j] and not events[j]))
            weight = Fraction(1) if weights is None else Fraction(weights[i] * weights[j])
            if counts and weight and strata[i] == strata[j]:
                wins[strata[i]] = wins.get(strata[i], Fraction(0)) + weight * in_order(scores[i], scores[j])
                mass[strata[i]] = mass.get(strata[i], Fraction(0)) + weight
    if not mass:
        return None
    if strata_weight == "strata":
        return sum(wins[name] / mass[name] for name in mass) / len(mass)
    return sum(wins.values()) / sum(mass.values())


@given(problems(), st.sampled_from(["pairs", "strata"]))
@settings(max_examples=examples(300))
def test_every_unit_is_left_out_exactly(problem, strata_weight):
    y, scores, events, strata, weights, groups = problem
    whole = exact_index(problem, strata_weight)
    assume(whole is not None)
    pairs = ComparablePairs.of(y, events, strata, weights, strata_weight)
    units = None if groups is None else np.unique(groups, return_inverse=True)[1]
    value, lost = pairs.jackknife(np.array(scores), units)
    assert value == pytest.approx(float(whole), abs=1e-12)
    numbers = np.arange(len(y)) if units is None else units
    counts = np.ones(len(y)) if weights is None else np.array(weights)
    names = [name for name in np.unique(numbers) if counts[numbers == name].any()]
    for name, loss in zip(names, lost, strict=True):
        rest = exact_index(problem, strata_weight, set(np.flatnonzero(numbers == name)))
        assert loss == pytest.approx(np.nan if rest is None else float(whole - rest), abs=1e-12, nan_ok=True)


@given(problems(), st.sampled_from(["pairs", "strata"]))
@settings(max_examples=examples(200))
def test_the_error_is_that_of_the_indices_without_each_unit(problem, strata_weight):
    """By groups all of it; by rows less what single pairs add, which leaving out either row counts twice."""
    y, scores, events, strata, weights, groups = problem
    n = len(y)
    assume(exact_index(problem, strata_weight) is not None)
    counts = np.ones(n) if weights is None else np.array(weights)
    units = np.arange(n) if groups is None else np.array(groups)
    names = [name for name in np.unique(units) if counts[units == name].any()]
    without = [exact_index(problem, strata_weight, set(np.flatnonzero(units == name))) for name in names]
    assume(len(names) > 1 and None not in without)
    squared = (len(names) - 1) * np.var([float(one) for one in without])
    if groups is None and len(set(strata)) > 1:
        squared = max(squared - _of_single_pairs(problem, strata_weight), 0.5 * squared)
    found = concordance_index_ci(
        y, scores, event=events, strata=strata, sample_weight=weights, strata_weight=strata_weight, groups=groups
    )
    assert found.standard_error == pytest.approx(np.sqrt(squared), rel=1e-6, abs=1e-9)
    assert 0.0 <= found.low <= found.auc <= found.high <= 1.0


def _of_single_pairs(problem, strata_weight):
    """Σ w² (h - c)² over the pairs, w their shares of all pairs, c the index they are compared with."""
    y, scores, events, strata, weights, _ = problem
    total, n_strata = 0.0, 0
    mass_of_all = 0.0
    centre = float(exact_index(problem, "pairs"))
    for name in sorted(set(strata)):
        others = {row for row in range(len(y)) if strata[row] != name}
        own = exact_index(problem, "pairs", others)
        if own is None:
            continue
        n_strata += 1
        middle = float(own) if strata_weight == "strata" else centre
        mass, squares = 0.0, 0.0
        rows = [row for row in range(len(y)) if strata[row] == name]
        for i in rows:
            for j in rows:
                counts = y[i] > y[j]
                if events is not None:
                    counts = events[i] and (y[i] < y[j] or (y[i] == y[j] and not events[j]))
                weight = 1.0 if weights is None else float(weights[i] * weights[j])
                if counts and weight:
                    mass += weight
                    squares += (weight * (float(in_order(scores[i], scores[j])) - middle)) ** 2
        total += squares / mass**2 if strata_weight == "strata" else squares
        mass_of_all += mass
    return total / n_strata**2 if strata_weight == "strata" else total / mass_of_all**2


def test_four_scores_of_infinity_are_ties():
    assert concordance_index([0, 0, 1, 1], [np.inf] * 4) == 0.5
