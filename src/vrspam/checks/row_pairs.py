"""Pairs of rows of one group, and of neighbouring groups, drawn at random."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

Pairs = tuple[np.ndarray, np.ndarray]  # the places of the first and of the second row
MOST_PAIRS = 20_000
MOST_OF_A_GROUP = 50  # rows of one group in pairs, so that none speaks for all others


def pairs_of(codes: np.ndarray, rng: np.random.Generator, most: int = MOST_PAIRS) -> Pairs:
    """Pairs of rows of the same code, drawn at random, at most `most` of them, and few of each group."""
    grouped = _in_groups(codes, rng)
    next_place = grouped.place[1:]
    firsts = np.flatnonzero((next_place > 0) & (next_place < MOST_OF_A_GROUP))
    firsts = _at_most(firsts, most, rng)
    return grouped.rows[firsts], grouped.rows[firsts + 1]


def next_to(codes: np.ndarray, rng: np.random.Generator, most: int = MOST_PAIRS) -> Pairs:
    """Pairs of a row and a random row that has the next larger code, at most `most` of them, and few of each group.

    >>> first, second = next_to(np.array([0, 2, 2, 5]), np.random.default_rng(0))
    >>> sorted(first.tolist()), sorted(second.tolist())[1:]
    ([0, 1, 2], [3, 3])
    """
    grouped = _in_groups(codes, rng)
    has_next_group = grouped.group + 1 < grouped.starts.size
    firsts = np.flatnonzero((grouped.place < MOST_OF_A_GROUP) & has_next_group)
    firsts = _at_most(firsts, most, rng)
    following = grouped.group[firsts] + 1
    drawn = grouped.starts[following] + rng.integers(0, grouped.sizes[following])
    return grouped.rows[firsts], grouped.rows[drawn]


def _at_most(places: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """All places, or as many as `most` of them that are drawn at random, in their order."""
    if places.size <= most:
        return places
    return np.sort(rng.choice(places, most, replace=False))


class GroupedRows(NamedTuple):
    """Rows group by group, in random order inside a group.

    Of each row there are its place in its group and the number of the group; of each group, where it starts and its
    size.
    """

    rows: np.ndarray
    place: np.ndarray
    group: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray


def _in_groups(codes: np.ndarray, rng: np.random.Generator) -> GroupedRows:
    """The rows that have a code, group by group in the order of the codes."""
    drawn = rng.permutation(codes.size)
    drawn = drawn[codes[drawn] >= 0]
    if not drawn.size:
        none = np.empty(0, dtype=np.intp)
        return GroupedRows(drawn, none, none, none, none)

    keys = codes[drawn] * codes.size + np.arange(drawn.size)  # one sort by code, ties in the order that was drawn
    rows = drawn[np.sort(keys) % codes.size]
    sorted_codes = codes[rows]
    is_start = np.append(True, sorted_codes[1:] != sorted_codes[:-1])
    starts = np.flatnonzero(is_start)
    sizes = np.diff(np.append(starts, rows.size))
    place = np.arange(rows.size) - np.repeat(starts, sizes)
    group = np.repeat(np.arange(starts.size), sizes)
    return GroupedRows(rows, place, group, starts, sizes)


def correlation_of_pairs(errors: np.ndarray, pairs: Pairs) -> tuple[float, float]:
    """The correlation of errors, whose mean is 0, in pairs of rows, and the same in standard errors.

    >>> correlation_of_pairs(np.array([1.0, 1.0, -1.0, -1.0]), (np.array([0, 2]), np.array([1, 3])))
    (1.0, 1.41421356237...)
    """
    first, second = pairs
    products = errors[first] * errors[second]
    squares = float(np.sum(errors[first] ** 2 + errors[second] ** 2)) / 2.0
    size = float(np.sqrt(np.sum(products**2)))
    if squares == 0.0 or size == 0.0:
        return 0.0, 0.0
    return float(products.sum()) / squares, float(products.sum()) / size
