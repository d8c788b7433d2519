"""Parts of a score: straight lines in any container, and what files give back of them."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from stored import read_again

from vrspam.features.parts import CategoryPart, CurvePart, LinePart, Parts, lines_alone
from vrspam.features.scoring import PreparedParts
from vrspam.model.plain import from_plain, to_plain


@pytest.fixture
def lines():
    """Lines of three columns: a missing value of the first has no score, the others are filled."""
    return LinePart(np.array([2.0, -1.0, 0.5]), np.array([np.nan, 3.0, 0.25]))


ROWS = np.array([[1.0, 2.0, 4.0], [0.0, np.nan, 2.0], [np.nan, 1.0, 1.0], [3.0, 0.0, np.nan]])
EXPECTED = np.array([2.0, 4.0, np.nan, 6.25])


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, lambda X: pd.DataFrame(X, columns=list("abc"))])
def test_lines_are_the_same_in_every_container(lines, make):
    scores = PreparedParts(Parts((), lines=lines)).scores(make(ROWS))[:, 0]
    np.testing.assert_array_equal(scores, EXPECTED)


def test_lines_add_to_functions_of_other_columns(lines):
    frame = pd.DataFrame({"a": [1.0, 2.0], "town": ["Graz", None], "c": [0.0, 1.0]})
    lines = LinePart(np.array([2.0, 0.0, 0.0]), np.array([np.nan, 0.0, 0.0]))
    curve = CurvePart(np.array([0.0, 1.0]), np.array([0.0, 5.0]))
    parts = Parts((None, CategoryPart({"Graz": 10.0}, missing=20.0), curve), lines=lines)
    prepared = PreparedParts(parts)
    np.testing.assert_array_equal(prepared.scores(frame)[:, 0], [12.0, 29.0])
    np.testing.assert_array_equal(prepared.columns_apart(frame), [[2.0, 10.0, 0.0], [4.0, 20.0, 5.0]])
    again = read_again(parts)
    np.testing.assert_array_equal(PreparedParts(again).scores(frame), prepared.scores(frame))
    assert [type(effect) for effect in parts.of_columns()] == [CurvePart, CategoryPart, CurvePart]


def test_a_million_sparse_columns_are_never_written_out():
    rng = np.random.default_rng(0)
    d = 1_000_000
    X = sparse.random_array((200, d), density=1e-5, format="csr", rng=rng)
    coef = rng.standard_normal(d)
    scores = PreparedParts(lines_alone(coef)).scores(X)[:, 0]
    np.testing.assert_array_equal(scores, X @ coef)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"coef": [1.0, 2.0]}, r"coefficients of shape \(2,\) with missing values of \(3,\)"),
        ({"coef": [1.0, 2.0, np.inf]}, "not finite"),
        ({"missing": [0.0, 0.0, np.inf]}, "lines.missing holds numbers that are not finite"),
    ],
)
def test_stored_lines_are_checked(lines, change, words):
    plain = to_plain(Parts((None, None, None), lines=lines))
    plain["fields"]["lines"].update(change)
    with pytest.raises(ValueError, match=words):
        from_plain(Parts, plain)
