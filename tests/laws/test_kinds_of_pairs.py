"""What every kind of pairs gives a loss and a measure: sums, products and the loss on the rows say the same.

Ranked rows of two ranks, in one stratum, are two classes. What any other kind of pairs gives is compared with itself:
moments with products, rows that occur twice with weights of 2, pairs among some rows with the pairs of these rows.
"""

from __future__ import annotations

import numpy as np
import pytest

from vrspam._utils.validation import Rows
from vrspam.objective import SmoothLoss, SquaredPairLoss
from vrspam.pairs import TWO_CLASSES, LossChoice, Ranked

CLASSES = np.array([False, True])


def problem(seed=0, n=60, weighted=True):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) + np.array([0.0, 5.0, 0.0])
    y = rng.random(n) < 0.4
    weights = rng.integers(1, 4, n).astype(float) if weighted else None
    return Rows(X, y, weights)


def kinds(rows):
    n = rows.y.size
    rng = np.random.default_rng(1)
    strata = np.arange(n) % 7
    everyone = np.ones(n, dtype=bool)
    return {
        "two classes": TWO_CLASSES,
        "two ranks": Ranked(rows.y.astype(float), everyone),
        "classes in strata": Ranked(rows.y.astype(float), everyone, strata),
        "strata of equal weight": Ranked(rows.y.astype(float), everyone, strata, same_strata=True),
        "censored times": Ranked(rng.integers(0, 9, n).astype(float), rng.random(n) < 0.5),
    }


KINDS = list(kinds(problem()))


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
@pytest.mark.parametrize("weighted", [False, True])
def test_two_ranks_are_two_classes(loss, weighted):
    rows = problem(weighted=weighted)
    both = [LossChoice(loss, pairs=kinds(rows)[name]) for name in ("two classes", "two ranks")]
    w = np.array([0.3, -0.1, 0.2])
    found = []
    for choice in both:
        sums = choice.gather(rows, CLASSES)
        made: SmoothLoss = SquaredPairLoss.from_moments(sums)
        if choice.needs_rows:
            made = choice.from_rows(rows.X, rows.y, rows.weights, sums)
        value, gradient = made.value_and_grad(w)
        found.append(np.array([value, *gradient, sums.p * sums.q, *sums.delta, *sums.within.ravel()]))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("some", [False, True])
def test_moments_and_products_are_one_loss(name, some):
    rows = problem()
    index = np.arange(5, 50) if some else None
    choice = LossChoice(pairs=kinds(rows)[name])
    dense = SquaredPairLoss.from_moments(choice.gather(rows, CLASSES, index))
    products = choice.by_products(rows, CLASSES, choice.gather(rows, CLASSES, index, scatter=False), index)
    w = np.array([0.3, -0.1, 0.2])
    found, expected = (np.append(grad, value) for value, grad in (products.value_and_grad(w), dense.value_and_grad(w)))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", KINDS)
def test_a_row_that_is_there_twice_weighs_twice(name):
    rows = problem(weighted=False)
    pairs = kinds(rows)[name]
    rng = np.random.default_rng(3)
    index = rng.integers(0, rows.y.size, 80)
    weights = np.bincount(index, minlength=rows.y.size).astype(float)
    repeated = pairs.moments(rows, CLASSES, index)
    weighed = pairs.moments(rows._replace(weights=weights), CLASSES)
    for field in ("p", "delta", "within", "means"):
        np.testing.assert_allclose(getattr(repeated, field), getattr(weighed, field), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", KINDS)
def test_the_pairs_among_some_rows_are_the_pairs_of_these_rows(name):
    rows = problem()
    pairs = kinds(rows)[name]
    index = np.arange(3, 45)
    assert rows.weights is not None
    part = Rows(rows.X[index], rows.y[index], rows.weights[index])
    inside, alone = pairs.moments(rows, CLASSES, index), pairs.take(index).moments(part, CLASSES)
    np.testing.assert_allclose(inside.within, alone.within, rtol=1e-11, atol=1e-12)
    scores = rows.X[:, :2]
    np.testing.assert_allclose(
        pairs.columns(index, rows.y[index], scores[index], rows.weights[index]),
        pairs.take(index).columns(np.arange(index.size), part.y, scores[index], part.weights),
        rtol=1e-13,
    )


@pytest.mark.parametrize("name", KINDS)
def test_a_part_without_a_pair_is_seen(name):
    rows = problem()
    pairs = kinds(rows)[name]
    everyone, nobody = np.arange(rows.y.size), np.zeros(0, dtype=int)
    assert pairs.have_pairs([(everyone, everyone)], rows.weights)
    if not pairs.by_class:
        assert not pairs.have_pairs([(everyone, nobody)], rows.weights)


@pytest.mark.parametrize("name", KINDS)
def test_targets_of_trees_are_shares_of_pairs_that_a_row_repeated_has_as_often(name):
    rows = problem(weighted=False)
    pairs, n = kinds(rows)[name], rows.y.size
    index = np.random.default_rng(4).integers(0, n, 80)
    weights = np.bincount(index, minlength=n).astype(float)
    share, mass = pairs.tree_targets(rows.y, weights, np.arange(n))
    of_copies, mass_of_copies = pairs.take(index).tree_targets(rows.y[index], np.ones(80), np.arange(80))
    np.testing.assert_allclose(share[index], of_copies, atol=1e-12)
    np.testing.assert_allclose(mass, np.bincount(index, mass_of_copies, n), atol=1e-9)


def test_two_classes_have_labels_and_their_sums_add_up_over_any_rows():
    rows = problem()
    assert TWO_CLASSES.has_labels
    assert TWO_CLASSES.adds_up
    part, other = (TWO_CLASSES.moments(rows, CLASSES, index) for index in (np.arange(25), np.arange(25, 60)))
    assert part + other == TWO_CLASSES.moments(rows, CLASSES)
    strata = kinds(rows)["classes in strata"]
    share, mass = strata.tree_targets(rows.y, rows.weights, np.arange(60))
    assert strata.has_labels
    np.testing.assert_array_equal(share, rows.y)
    np.testing.assert_array_equal(mass, rows.weights)
