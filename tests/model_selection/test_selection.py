"""The selection rule on small grids whose answer is known by hand."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from vrspam.selection import select

L2S = np.array([0.01, 0.1, 1.0, 10.0])


def around(means, spread=0.02):
    """Two folds with these means and a standard error of `spread`."""
    means = np.asarray(means, dtype=float)
    return np.stack([means - spread, means + spread], axis=-1)


def test_best_is_the_largest_mean_and_errors_are_of_the_mean():
    scores = np.random.default_rng(0).uniform(0.5, 1.0, (4, 3, 5))
    choice = select(scores, {"l2": L2S, "l1": [0.0, 0.1, 1.0]})
    i, j = choice.index
    assert scores[i, j].mean() == scores.mean(axis=2).max()
    assert choice.values == {"l2": L2S[i], "l1": [0.0, 0.1, 1.0][j]}
    by_hand = np.sqrt(((scores - scores.mean(axis=2, keepdims=True)) ** 2).sum(axis=2) / 4 / 5)
    assert_allclose(choice.standard_error, by_hand)


def test_ties_go_to_the_simplest_whatever_the_order():
    scores = around([[0.9, 0.9], [0.9, 0.9], [0.8, 0.9 - 1e-15], [0.7, 0.7]])
    assert select(scores, {"l2": L2S, "l1": [0.0, 0.5]}).values == {"l2": 1.0, "l1": 0.5}
    turned = select(scores[::-1, ::-1], {"l2": L2S[::-1], "l1": [0.5, 0.0]})
    assert turned.values == {"l2": 1.0, "l1": 0.5}
    assert turned.index == (1, 0)


def test_one_standard_error_takes_the_sparsest_then_the_most_l2():
    means = [[0.90, 0.885, 0.87], [0.895, 0.885, 0.87], [0.89, 0.875, 0.86], [0.80, 0.70, 0.60]]
    scores = around(means)  # within 0.02 of 0.90
    assert select(scores, {"l2": L2S, "l1": [0.0, 0.1, 1.0]}).values == {"l2": 0.01, "l1": 0.0}
    chosen = select(scores, {"l2": L2S, "l1": [0.0, 0.1, 1.0]}, "one-standard-error")
    assert chosen.values == {"l2": 0.1, "l1": 0.1}
    assert_allclose(chosen.mean[chosen.index], 0.885)


def test_exactly_one_standard_error_is_within_it():
    scores = [[0.0, 2.0], [0.0, 0.0]]  # mean 1 with standard error √2/√2 = 1, and mean 0
    chosen = select(scores, {"l2": [0.1, 1.0]}, "one-standard-error")
    assert chosen.values == {"l2": 1.0}
    assert chosen.advice == ()  # the smallest l2 does not lead by more than that


def test_rounding_is_no_difference_where_folds_agree_exactly():
    scores = [[0.9, 0.9], [0.9 - 1e-15, 0.9 - 1e-15], [0.8, 0.8]]
    assert select(scores, {"l2": [0.1, 1.0, 10.0]}, "one-standard-error").values == {"l2": 1.0}


def test_advice_only_where_the_edge_wins_by_more_than_an_error():
    def advice(means, values=L2S, spread=0.02):
        return select(around(means, spread), {"l2": values}).advice

    (low,) = advice([0.95, 0.92, 0.9, 0.8])
    assert "smallest" in low
    assert "add smaller values of l2" in low
    (high,) = advice([0.8, 0.9, 0.92, 0.95])
    assert "largest" in high
    assert "add larger values of l2" in high
    assert advice([0.95, 0.94, 0.9, 0.8]) == ()  # a plateau
    assert advice([0.8, 0.95, 0.9, 0.8]) == ()  # inside
    assert advice([0.95, 0.9, 0.9, 0.8], [0.0, 0.1, 1.0, 10.0]) == ()  # there is nothing below 0
    assert advice([0.95], [1.0]) == ()  # no grid
    assert advice([0.8, 0.9, 0.92, 0.95], [10.0, 1.0, 0.1, 0.01]) != ()  # in any order
    assert advice([0.95, 0.8, 0.9], [0.1, 0.01, 1.0]) == ()  # the first of the list, inside the range
    assert select([[0.95], [0.8]], {"l2": [1.0, 2.0]}).advice == ()  # one fold has no error


def test_advice_becomes_a_warning():
    with pytest.warns(UserWarning, match="add larger values of l1"):
        select(around([[0.8, 0.9]]), {"l2": [1.0], "l1": [0.1, 0.2]}).warn()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        select(around([[0.9, 0.9]]), {"l2": [1.0], "l1": [0.1, 0.2]}).warn()


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="rule must be"):
        select(around([0.9]), {"l2": [1.0]}, "two")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="rule must be 'best' or 'one-standard-error', got 'blend'"):
        select(around([0.9]), {"l2": [1.0]}, "blend")
    with pytest.raises(ValueError, match="do not fit a grid"):
        select(around([0.9, 0.8]), {"l2": [1.0]})
    with pytest.raises(ValueError, match="NaN"):
        select([[np.nan, 0.9]], {"l2": [1.0]})
    with pytest.raises(ValueError, match="two folds"):
        select([[0.9]], {"l2": [1.0]}, "one-standard-error")
