"""Rows that are copies of others, and whose they are."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from vrspam.checks.named_groups import NamedGroups, agreement_of_labels, can_name_groups, numbered_with_gaps
from vrspam.checks.near_copies import find_near_copies
from vrspam.checks.row_pairs import next_to, pairs_of
from vrspam.pairs import whole_units


def find_copies(columns: Mapping[str, np.ndarray], seed: int = 0, numeric: Collection[str] = ()) -> np.ndarray | None:
    """Groups of rows that agree in all columns, or in all but one; None if less than 1 % of the rows do.

    Then rows are copies that nearly agree in all columns of many different numbers, of those that are `numeric`.

    Where few values of few columns make rows alike, chains of rows that differ in one column each would join most of
    the table: there only equal rows are one group.

    >>> rng = np.random.default_rng(0)
    >>> numbers = rng.integers(0, 1000, (3, 60))
    >>> table = {name: np.append(column, column[:6]) for name, column in zip("abc", numbers)}
    >>> copies = find_copies(table)
    >>> int((copies[:6] == copies[60:]).sum()), np.unique(copies).size
    (6, 60)
    """
    rng = np.random.default_rng(seed)
    hashes = [_random_numbers(codes, rng) for codes in columns.values()]
    row_hash = np.add.reduce(hashes)
    groups = np.unique(row_hash, return_inverse=True)[1]
    if 5 <= len(hashes) <= 100 and row_hash.size <= 100_000:
        chains = groups
        for column_hash in hashes:
            chains = whole_units(chains, row_hash - column_hash)
        longest = np.bincount(chains).max()
        if longest <= max(20, 0.02 * groups.size):
            groups = chains
    return groups if share_in_groups(groups) >= 0.01 else find_near_copies(columns, numeric)


def share_in_groups(groups: np.ndarray) -> float:
    """The share of the rows that are in groups of several."""
    sizes = np.bincount(groups)
    return float(sizes[sizes > 1].sum() / groups.size)


def owners_of_copies(
    copies: np.ndarray,
    columns: Mapping[str, np.ndarray],
    positive: np.ndarray,
    texts: Collection[str] = (),
    seed: int = 0,
) -> list[NamedGroups]:
    """The column that says whose the copies are: labels of its other rows go together too; at most one.

    What a household buys at the same prices is equal because of the household, and so is much of what else it buys.
    Rows of the next value of the column must not have labels that go together as well.

    >>> rng = np.random.default_rng(0)
    >>> house, price = rng.integers(0, 40, (2, 800))
    >>> buys = (rng.random(40) < 0.5)[house]
    >>> copies = np.unique(100 * house + price, return_inverse=True)[1]
    >>> [one.name for one in owners_of_copies(copies, {"house": house, "price": price}, buys)]
    ['house']
    """
    rng = np.random.default_rng(seed)
    owners = []
    for name, codes in columns.items():
        if name in texts or not can_name_groups(codes):
            continue
        first, second = pairs_of(codes, rng)
        differ = copies[first] != copies[second]
        if differ.sum() < max(20.0, 0.1 * differ.size):
            continue
        label, label_z = agreement_of_labels(positive, (first[differ], second[differ]), next_to(codes, rng))
        if label > 0.08 and label_z > 2.5:
            owners.append(NamedGroups(name, numbered_with_gaps(codes), 0.0, 0.0, label, label_z))
    return sorted(owners, key=lambda groups: -groups.label_z)[:1]


def order_by_values(columns: Mapping[str, np.ndarray], positive: np.ndarray, seed: int = 0) -> np.ndarray:
    """The places of the rows in a random order that their values give, whatever their order in the file.

    >>> codes, positive = np.array([3, 1, 2, 0]), np.array([True, False, True, False])
    >>> order, again = order_by_values({"": codes}, positive), order_by_values({"": codes[::-1]}, positive[::-1])
    >>> bool((codes[order] == codes[::-1][again]).all())
    True
    """
    rng = np.random.default_rng(seed)
    total = positive * rng.integers(0, 2**63, dtype=np.uint64)
    for codes in columns.values():
        total += _random_numbers(codes, rng)
    return np.argsort(total, kind="stable")


def _random_numbers(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random number for each code, the same for equal ones; sums of them over columns are hashes, modulo 2⁶⁴."""
    numbers = rng.integers(0, 2**63, int(codes.max(initial=-1)) + 2, dtype=np.uint64)
    return numbers[codes + 1]
