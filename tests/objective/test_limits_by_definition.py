"""Bounds and concave penalties against their definitions, by search and by differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from vrspam.objective import MCP, SCAD, Bounded, ElasticNet, Limits, PenaltyFamily, Shaped
from vrspam.pairs import LossChoice

INF = np.inf


def test_outside_of_any_bound_is_infinite():
    penalty = Bounded(ElasticNet(2.0, 0.5), np.array([-1.0, 0.0]), np.array([1.0, INF]))
    assert penalty.value(np.array([1.0, 3.0])) == 0.5 * 2.0 * 10.0 + 0.5 * 4.0
    for outside in ([1.1, 3.0], [-1.1, 3.0], [0.5, -0.1]):
        assert penalty.value(np.array(outside)) == INF


@pytest.mark.parametrize("l2", [0.3, 1.0])
@pytest.mark.parametrize("l1", [0.0, 0.4])
def test_the_gap_is_what_tangent_and_penalty_could_still_fall(l1, l2):
    rng = np.random.default_rng(0)
    lower, upper = np.array([-INF, 0.0, -0.5, -1.0]), np.array([INF, INF, 0.5, 0.0])
    penalty = Bounded(ElasticNet(l2, l1), lower, upper)
    for _ in range(30):
        w = np.clip(rng.standard_normal(4) * rng.choice([0.0, 0.3, 2.0], 4), lower, upper)
        grad = rng.standard_normal(4) * rng.choice([0.1, 3.0])
        expected = 0.0
        for j in range(4):

            def falls(u, slope=grad[j]):
                return slope * u + l2 / 2 * u * u + l1 * abs(u)

            ends = np.maximum(lower[j], -50.0), np.minimum(upper[j], 50.0)
            pieces = [(a, b) for a, b in ((ends[0], min(0.0, ends[1])), (max(0.0, ends[0]), ends[1])) if b > a]
            found = [minimize_scalar(falls, bounds=piece, options={"xatol": 1e-12}).fun for piece in pieces]
            expected += falls(w[j]) - min(0.0, *found, *(falls(end) for end in ends))
        assert penalty.gap(w, grad) == pytest.approx(expected, abs=1e-8)
    assert np.isnan(Bounded(ElasticNet(0.0, l1), lower, upper).gap(np.zeros(4), grad))


def test_bounds_leave_the_curvature_that_a_gap_divides_by():
    curvature, ends = np.array([1.0, 5.0]), (np.zeros(2), np.full(2, INF))
    assert Bounded(ElasticNet(2.0), *ends).gap_curvature(curvature) == ElasticNet(2.0).gap_curvature(curvature) == 2.0
    assert Bounded(ElasticNet(0.0, 1.0), *ends).gap_curvature(curvature) == 3.0
    mcp = MCP(0.1, 0.2, 3.0, np.ones(2))
    assert Bounded(mcp, *ends).gap_curvature(curvature) == mcp.gap_curvature(curvature)


@pytest.mark.parametrize("kind", [MCP, SCAD])
@pytest.mark.parametrize("gamma", [2.5, 4.0])
def test_a_concave_penalty_makes_room_for_the_steepest_part_of_its_prox(kind, gamma):
    penalty = kind(0.0, 0.5, gamma, np.ones(1))
    at = np.linspace(-4.0, 4.0, 4001)
    moved = np.array([float(penalty.prox(np.array([v]), 1.0)[0]) for v in at])
    steepest = np.max(np.diff(moved) / np.diff(at))
    assert steepest > 1.1
    assert penalty.gap_curvature(np.array([6.0])) == pytest.approx(6.0 / steepest**2, rel=1e-6)


def test_only_directions_that_the_bounds_allow_leave_0():
    grad = np.array([-1.0, -2.0, 3.0, 0.5])
    upper = np.array([INF, 0.0, INF, INF])
    penalty = Bounded(ElasticNet(1.0, 1.0), np.array([0.0, -INF, 0.0, -1.0]), upper)
    assert penalty.zero_from(grad) == 1.0  # up along the first, down along the last


def test_curves_have_a_gap_only_with_l2():
    curves = Limits(np.zeros(2), np.full(2, INF), []).blocks()
    w, grad = np.zeros(2), np.array([-1.0, 2.0])
    assert Shaped(0.5, curves).gap(w, grad) == pytest.approx(1.0)  # half the square of the slope upwards, by l2
    assert np.isnan(Shaped(0.0, curves).gap(w, grad))
    assert Shaped(0.0, curves).gap(w, grad, 2.0) == pytest.approx(0.25)
    ends = Shaped(0.5, curves).piece_ends(w)
    assert [end.tolist() for end in ends] == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("kind", [MCP, SCAD])
def test_a_piece_of_a_concave_penalty_has_its_slopes(kind):
    penalty = kind(0.2, 0.5, 4.0, np.array([1.0, 2.0, 0.5]))
    step = 1e-5
    for w in (np.array([0.3, -0.1, 0.4]), np.array([1.1, -0.7, 2.5]), np.array([5.0, -4.0, 9.0])):
        curvature, slope = penalty.quadratic_piece(w)
        for j in range(3):
            move = np.eye(3)[j] * step
            numeric = (penalty.value(w + move) - penalty.value(w - move)) / (2 * step)
            assert curvature[j] * w[j] + slope[j] == pytest.approx(numeric, abs=1e-8)


def test_concave_penalties_want_every_l1_above_0():
    for l1s in ([0.0, 0.1], [0.1, 0.0]):
        with pytest.raises(ValueError, match="l1"):
            PenaltyFamily("mcp").check(l1s)
    PenaltyFamily("mcp").check([0.1, 0.2])


def test_all_negatives_are_no_part_of_them():
    assert [LossChoice("squared_hinge", share).is_partial for share in (None, 1.0, 0.999, 0.1)] == [
        False,
        False,
        True,
        True,
    ]
