"""The choice that is made is the choice that the correction makes of undisturbed rows, ties included, by every rule.

Both are those of the text: of equally good points the simplest, of equally good candidates the first.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws_support import examples

from vrspam.model_selection import compare as room
from vrspam.model_selection.candidates import Candidate
from vrspam.model_selection.cross_validate import CrossValidated, GridScores
from vrspam.model_selection.scoring import ROC_AUC
from vrspam.model_selection.selection import Points, choose, select

ROUNDING = 1e-12  # means that differ by less are equal


@st.composite
def compared(draw: Any) -> list[tuple[np.ndarray, dict[str, np.ndarray]]]:
    """Scores of some candidates on grids with many ties: exact ones, and ones that rounding has moved."""
    n_folds = draw(st.integers(2, 4))
    found = []
    for _ in range(draw(st.integers(1, 3))):
        shape = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
        levels = st.integers(0, 3).map(lambda level: 0.5 + level / 16)
        moves = st.sampled_from([0.0, 0.0, 1e-13, -1e-13])
        cell = st.tuples(levels, moves).map(sum)
        count = shape[0] * shape[1] * n_folds
        scores = np.array(draw(st.lists(cell, min_size=count, max_size=count))).reshape(*shape, n_folds)
        axes = {name: 10.0 ** np.arange(size) for name, size in zip(("l2", "l1"), shape, strict=True)}
        if draw(st.booleans()):
            axes["l2"] = axes["l2"][::-1]
        found.append((scores, axes))
    return found


def in_words(drawn: list[tuple[np.ndarray, dict[str, np.ndarray]]], rule: Any) -> tuple[int, float, float]:
    """Candidate, l2 and l1 by the sentences of the documentation, one point after the other."""
    points = []
    for number, (scores, axes) in enumerate(drawn):
        for i, l2 in enumerate(axes["l2"]):
            for j, l1 in enumerate(axes["l1"]):
                points.append((number, -l1, -l2, scores[i, j]))
    points.sort(key=lambda point: point[:3])  # from simple to complex

    bests = []
    for number in range(len(drawn)):
        own = [point for point in points if point[0] == number]
        highest = max(point[3].mean() for point in own)
        bests.append(next(point for point in own if point[3].mean() >= highest - ROUNDING))
    highest = max(point[3].mean() for point in bests)
    leader = next(point for point in bests if point[3].mean() >= highest - ROUNDING)

    if rule == "best":
        chosen = leader
    else:
        error = leader[3].std(ddof=1) / np.sqrt(leader[3].size)
        least = leader[3].mean() - max(error, ROUNDING)
        chosen = next(point for point in points if point[3].mean() >= least)
    return chosen[0], -chosen[2], -chosen[1]


def candidates_of(drawn: list[tuple[np.ndarray, dict[str, np.ndarray]]], rule: Any) -> list[Candidate]:
    """Candidates with these scores, as cross-validation would give them."""
    found = []
    for number, (scores, axes) in enumerate(drawn):
        empty = np.zeros(scores.shape)
        of_grid = GridScores(axes, scores, scores, empty, empty > -1, empty, scoring=ROC_AUC)
        found.append(
            Candidate.of(str(number), SimpleNamespace(), CrossValidated(of_grid), rule, None, n_features=1, n_rows=100)
        )
    return found


def compared_by(drawn: list[tuple[np.ndarray, dict[str, np.ndarray]]], rule: Any) -> room.Comparison:
    """The comparison of candidates with these scores, of which none is fitted."""
    every = {candidate.name: candidate for candidate in candidates_of(drawn, rule)}
    moments = SimpleNamespace(has_scatter=False)
    evaluator = SimpleNamespace(
        evaluate=lambda name, features: (every[name], None), fit=lambda *given: SimpleNamespace(moments=moments)
    )
    return room.compare(dict.fromkeys(every), evaluator, rule)


@pytest.mark.parametrize("rule", ["best", "one-standard-error"])
@settings(max_examples=examples(150))
@given(drawn=compared())
def test_the_choice_and_its_correction_take_the_point_of_the_text(rule, drawn):
    number, l2, l1 = in_words(drawn, rule)

    chosen = compared_by(drawn, rule).chosen
    assert (int(chosen.name), chosen.choice.values) == (number, {"l2": l2, "l1": l1})

    points = Points.of(drawn)
    weights = choose(points.of_draw(), points, rule)[:, 0]
    values = [(n, a, b) for n, (_, axes) in enumerate(drawn) for a in axes["l2"] for b in axes["l1"]]
    assert weights.sum() == 1.0
    assert values[int(weights.argmax())] == (number, l2, l1)

    if len(drawn) == 1:
        assert select(drawn[0][0], drawn[0][1], rule).values == {"l2": l2, "l1": l1}


@settings(max_examples=examples(150))
@given(drawn=compared())
def test_a_blend_and_its_correction_have_the_same_members(drawn):
    every = candidates_of(drawn, "blend")
    weights = room.weights_of(every, "blend")

    points = Points.of(drawn)
    of_points = choose(points.of_draw(), points, "blend")[:, 0]
    for number, (candidate, weight) in enumerate(zip(every, weights, strict=True)):
        own = of_points[points.candidate == number].reshape(candidate.choice.mean.shape)
        assert own[candidate.choice.index] == pytest.approx(weight, abs=1e-12)
        assert np.count_nonzero(own) <= 1
