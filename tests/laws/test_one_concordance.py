"""One number, however pairs are described: ranks of two values, two classes, times with events, and pair by pair.

Drawn problems are small, so that all pairs are written out in exact rationals: ties, infinite scores, censored times,
strata, weights of which some are 0, and Uno's weights, by which a row counts otherwise above others than below them.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from laws_support import examples

from vrspam.metrics import concordance_index, roc_auc
from vrspam.metrics.concordance import ComparablePairs
from vrspam.pairs import TWO_CLASSES, Ranked

SCORES = st.sampled_from([-np.inf, -1.0, 0.0, 1.0, 2.5, np.inf])


@st.composite
def problems(draw, most_levels=4):
    """Ranks, scores, events, strata and weights of a few rows."""
    n = draw(st.integers(3, 14))
    rank = draw(st.lists(st.integers(0, draw(st.integers(1, most_levels))), min_size=n, max_size=n))
    scores = draw(st.lists(SCORES, min_size=n, max_size=n))
    events = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    strata = draw(st.lists(st.integers(0, draw(st.integers(0, 3))), min_size=n, max_size=n))
    weights = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    return tuple(map(np.array, (rank, scores, events, strata, weights)))


def in_order(upper: float, lower: float) -> Fraction:
    if upper == lower:
        return Fraction(1, 2)
    return Fraction(int(upper > lower))


def pair_by_pair(rank, scores, events, strata, above, below) -> float | None:
    """The share of pairs in order; a pair weighs `above` of its upper row times `below` of its lower row."""
    won = total = Fraction(0)
    for i in range(rank.size):
        for j in range(rank.size):
            counts = events[i] and (rank[i] > rank[j] or (rank[i] == rank[j] and not events[j]))
            if counts and strata[i] == strata[j]:
                mass = Fraction(above[i]) * Fraction(below[j])
                total += mass
                won += mass * in_order(scores[i], scores[j])
    return float(won / total) if total else None


def of_ranks(rank, scores, events, strata, weights) -> float:
    """The concordance by which models are selected."""
    pairs = Ranked(rank.astype(float), events, strata)
    columns = pairs.columns(np.arange(rank.size), None, scores[:, np.newaxis], weights.astype(float))
    return float(columns[0])


@settings(max_examples=examples(150), deadline=None)
@given(problems())
def test_ranks_are_those_of_times(problem):
    rank, scores, events, strata, weights = problem
    expected = pair_by_pair(rank, scores, events, strata, weights.tolist(), weights.tolist())
    assume(expected is not None)
    assert of_ranks(*problem) == pytest.approx(expected, abs=1e-14)
    found = concordance_index(-rank, scores, event=events, strata=strata, sample_weight=weights)
    assert found == pytest.approx(expected, abs=1e-14)


@settings(max_examples=examples(100), deadline=None)
@given(problems(most_levels=1))
def test_two_ranks_are_two_classes(problem):
    rank, scores, _, _, weights = problem
    everyone, together = np.ones(rank.size, dtype=bool), np.zeros(rank.size, dtype=int)
    expected = pair_by_pair(rank, scores, everyone, together, weights.tolist(), weights.tolist())
    assume(expected is not None)
    two_classes = TWO_CLASSES.columns(None, rank == 1, scores[:, np.newaxis], weights.astype(float))[0]
    for found in (
        two_classes,
        roc_auc(rank, scores, sample_weight=weights),
        concordance_index(rank, scores, sample_weight=weights),
        of_ranks(rank, scores, everyone, together, weights),
    ):
        assert found == pytest.approx(expected, abs=1e-14)


@settings(max_examples=examples(100), deadline=None)
@given(problems(), st.lists(st.integers(0, 3), min_size=14, max_size=14))
def test_upper_and_lower_rows_have_masses_of_their_own(problem, masses):
    rank, scores, events, strata, weights = problem
    above = np.where(events, np.array(masses[: rank.size]), 0)
    expected = pair_by_pair(rank, scores, events, strata, above.tolist(), weights.tolist())
    assume(expected is not None)
    pairs = replace(ComparablePairs.of(-rank, events, strata), above=above.astype(float), below=weights.astype(float))
    assert pairs.concordance(scores) == pytest.approx(expected, abs=1e-14)
    won_above, won_below = pairs.wins_of_rows(scores)
    of_pairs = float(above @ won_above)
    assert of_pairs == pytest.approx(float(weights @ won_below), abs=1e-12)


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_whole_scores_beyond_the_digits_of_floats_are_no_ties(kind):
    scores = np.array([2**60, 2**60 + 1, 2**60 + 2], dtype=kind)
    assert concordance_index([1, 2, 3], scores) == 1.0
