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


def test_an_entry_may_be_a_single_line_and_methods_are_written_with_their_class():
    @share_texts(TEXTS + "\nd : float | A single line.\n")
    class Something:
        """Something."""

        def fit(self, d):
            """Fit it.

            Parameters
            ----------
            {d, b}
            """

        @classmethod
        def of(cls, d):
            """Make it.

            Parameters
            ----------
            {d}
            """

        def plain(self):
            pass

        def _hidden(self):
            """Hidden.

            {d}
            """

    entry = "d : float\n    A single line."
    assert inspect.getdoc(Something) == "Something."
    assert inspect.getdoc(Something.fit) == f"Fit it.\n\nParameters\n----------\n{entry}\nb, c : int\n    Numbers."
    assert inspect.getdoc(Something.of) == f"Make it.\n\nParameters\n----------\n{entry}"
    assert Something.plain.__doc__ is None
    assert inspect.getdoc(Something._hidden) == "Hidden.\n\n{d}"


def test_an_unknown_entry_is_an_error():
    with pytest.raises(KeyError, match="e"):

        @share_texts(TEXTS)
        class Something:
            """Something.

            Parameters
            ----------
            {e}
            """
