"""Entries that docstrings share are written where a line of names in braces stands; headings that are left out too."""

from __future__ import annotations

import inspect
from typing import NamedTuple, Self

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


def test_headings_and_imports_that_are_left_out_are_written():
    documented = share_texts(TEXTS + "d : float | A single line.\n", room="vrspam.room")

    @documented
    def first(x: int, *more: float) -> float:
        """Add something.

        The formula is

            x + more.

        x : int
            A number.
        *more
            Others.

        Notes
        -----
        None.

        >>> import math
        >>> math.floor(first(1, 2.5))
        3
        """
        return x + sum(more)

    @documented
    def second(a: str, d: float) -> None:
        """Say something.

        >>> second("x", first(1))
        """

    wanted = """
    Add something.

    The formula is

        x + more.

    Parameters
    ----------
    x : int
        A number.
    *more
        Others.

    Returns
    -------
    float

    Notes
    -----
    None.

    Examples
    --------
    >>> import math
    >>> from vrspam.room import first
    >>> math.floor(first(1, 2.5))
    3
    """
    assert inspect.getdoc(first) == inspect.cleandoc(wanted)
    wanted = """
    Say something.

    Parameters
    ----------
    a : {"x", "y"}
        First line,
        second line.
    d : float
        A single line.

    Examples
    --------
    >>> from vrspam.room import first, second
    >>> second("x", first(1))
    """
    assert inspect.getdoc(second) == inspect.cleandoc(wanted)


def test_the_methods_of_a_class_are_finished_with_it():
    @share_texts(TEXTS, room="vrspam.room")
    class Something:
        """Something, which is complete.

        Examples
        --------
        >>> 1 + 1
        2

        >>> 2 + 2
        4
        """

        def fit(self, a) -> Self:
            """Fit it."""
            return self

        @classmethod
        def of(cls, e: int) -> Something:
            """Make it.

            e : int
            """
            return cls()

        def plain(self, unknown) -> int:
            """Stay as it is."""
            return 1

    assert inspect.getdoc(Something) == (
        "Something, which is complete.\n\nExamples\n--------\n>>> 1 + 1\n2\n\n>>> 2 + 2\n4"
    )
    entry = 'a : {"x", "y"}\n    First line,\n    second line.'
    assert inspect.getdoc(Something.fit) == f"Fit it.\n\nParameters\n----------\n{entry}\n\nReturns\n-------\nself"
    assert inspect.getdoc(Something.of) == "Make it.\n\nParameters\n----------\ne : int\n\nReturns\n-------\nSomething"
    assert inspect.getdoc(Something.plain) == "Stay as it is."


def test_the_attributes_of_a_record_have_their_heading():
    @share_texts(room="vrspam.room")
    class Record(NamedTuple):
        """Two numbers.

        a, b : int
            Numbers.

        >>> Record(1, 2)
        Record(a=1, b=2)
        """

        a: int
        b: int

    wanted = """
    Two numbers.

    Attributes
    ----------
    a, b : int
        Numbers.

    Examples
    --------
    >>> from vrspam.room import Record
    >>> Record(1, 2)
    Record(a=1, b=2)
    """
    assert inspect.getdoc(Record) == inspect.cleandoc(wanted)


def test_an_unknown_entry_is_an_error():
    with pytest.raises(KeyError, match="e"):

        @share_texts(TEXTS)
        class Something:
            """Something.

            Parameters
            ----------
            {e}
            """
