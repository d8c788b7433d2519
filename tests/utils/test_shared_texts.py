"""Entries that docstrings share are written where a line of names in braces stands."""

from __future__ import annotations

import inspect

import pytest

from vrspam._utils.docstrings import share_texts

TEXTS = """
a : {"x", "y"}
    First line,
    second line.
b, c : int
    Numbers.
"""


def test_entries_stand_where_they_are_asked_for():
    @share_texts(TEXTS)
    def function(a, b, c, d):
        """Do something.

        Parameters
        ----------
        {b, a}
        d : {1, 2}
            Not {a}.
        """

    expected = """
    Do something.

    Parameters
    ----------
    b, c : int
        Numbers.
    a : {"x", "y"}
        First line,
        second line.
    d : {1, 2}
        Not {a}.
    """
    assert inspect.getdoc(function) == inspect.cleandoc(expected)


def test_an_unknown_entry_is_an_error():
    with pytest.raises(KeyError, match="e"):

        @share_texts(TEXTS)
        class Something:
            """Something.

            Parameters
            ----------
            {e}
            """
