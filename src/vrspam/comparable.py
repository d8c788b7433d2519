"""Rows in order, of which certain pairs count: the one description that moments, measures and losses share.

A pair (i, j) counts, and row i should be above, if both rows are of one stratum, row i has its event, and it ranks
higher: its `rank` is larger or, if both ranks are equal, row j does not have its event. The pair weighs u_i v_j: the
mass of row i as the upper row of pairs, times that of row j as the lower row. Rows are sorted from the lowest to the
highest; rows that are equal in stratum, rank and event form a group, in which there are no pairs.

No array of pairs is made: everything is sums over groups, and wins by scores cost O(n log n).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vrspam import kernels

LONG_STRATUM = 64  # groups of a stratum beyond which running sums go stratum by stratum


class Comparable(NamedTuple):
    """The rows that are in some pair, from the lowest to the highest in each stratum, and the sums of their masses."""

    rows: np.ndarray  # their numbers; a row may be there several times
    weight: np.ndarray  # v, the mass of each row as the lower row of pairs
    upper: np.ndarray  # u, its mass as the upper row; 0 without an event
    group: np.ndarray  # the number of the group of each row
    stratum: np.ndarray  # the number of the stratum of each group; groups of a stratum lie side by side
    event: np.ndarray  # 1 if the rows have their event, else 0; from here to `factor` one entry for each group
    mass: np.ndarray  # Σ v
    below: np.ndarray  # Σ v of the groups below it in its stratum
    above: np.ndarray  # Σ u of the groups above it
    factor: np.ndarray  # of each pair of the stratum: 1, or 1 over the mass of all its pairs
    pairs: float  # the mass of all pairs, without the factor

    @property
    def touched(self) -> np.ndarray:
        """`factor` times the mass of the pairs of a row, divided by its own, where u = v for rows with an event."""
        return self.factor * (self.event * self.below + self.above)

    @property
    def shares(self) -> np.ndarray:
        """The mass of the pairs of each row; all add up to 1."""
        mass = self.weight * self.touched[self.group]
        return mass / mass.sum()

    @property
    def pairs_of_groups(self) -> np.ndarray:
        """The mass of the pairs in which each group is the upper one, without the factor."""
        return np.bincount(self.group, self.upper, self.stratum.size) * self.below

    def by_row(self, values: np.ndarray, n_rows: int) -> np.ndarray:
        """Such values of the sorted rows by the numbers of the rows; those of a row that is there twice add up."""
        return np.bincount(self.rows, values, n_rows)

    def sums_below_and_above(self, mass: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums of `mass` over the groups below each one in its stratum, and over those above it that have events."""
        return _sums_below(mass, self.stratum), _sums_above(mass * self.event, self.stratum)

    def wins(self, lines: np.ndarray, *, both: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """For each line of scores of `rows`: the mass that each row rightly is above, and rightly is below.

        A tie counts one half. Unless `both` are wanted, the second is empty.
        """
        lines = np.ascontiguousarray(lines, dtype=np.float64)
        above = np.zeros(lines.shape)
        below = np.zeros(lines.shape if both else (0, 0))
        orders = np.empty((0, 0), dtype=np.intp)
        if self.stratum.size and self.stratum[-1] == 0:  # one stratum: quicker than in compiled code
            orders = np.argsort(lines, axis=1)
        kernels.pair_wins(lines, orders, self.weight, self.upper, self.group, self.stratum, above, below)
        return above, below


def rising_order(rank: np.ndarray, event: np.ndarray, stratum: np.ndarray | None = None) -> np.ndarray:
    """The numbers of the rows from the lowest to the highest, stratum by stratum."""
    if stratum is not None:
        return np.lexsort((event, rank, stratum))
    order = np.argsort(rank)
    if (rank[order[1:]] > rank[order[:-1]]).all():
        return order
    return np.lexsort((event, rank))


def comparable(
    rows: np.ndarray,
    rank: np.ndarray,
    event: np.ndarray,
    stratum: np.ndarray | None = None,
    *,
    weight: np.ndarray | None = None,
    upper: np.ndarray | None = None,
    same_strata: bool = False,
) -> Comparable:
    """Group rows, whose numbers are in rising order (`rising_order`), and leave out those that are in no pair.

    `weight` has the mass of each row, 1 by default; `upper` its mass as the upper row of pairs, where that is another.
    With `same_strata` each stratum counts the same, whatever the mass of its pairs.
    """
    weight_of_rows = np.ones(rows.size) if weight is None else weight[rows].astype(np.float64)
    upper_of_rows = weight_of_rows * event[rows] if upper is None else upper[rows].astype(np.float64)
    keys = [event[rows], rank[rows]]
    if stratum is not None:
        keys.append(stratum[rows])
    groups = _groups(rows, keys, weight_of_rows, upper_of_rows)
    in_pairs = (groups.event * groups.below + groups.above > 0.0)[groups.group]
    if not in_pairs.all():
        keys = [key[in_pairs] for key in keys]
        groups = _groups(rows[in_pairs], keys, weight_of_rows[in_pairs], upper_of_rows[in_pairs])
    if same_strata and groups.stratum.size:
        inside = np.bincount(groups.stratum, groups.pairs_of_groups)
        groups = groups._replace(factor=(1.0 / np.where(inside > 0.0, inside, 1.0))[groups.stratum])
    return groups


def _groups(rows: np.ndarray, keys: list[np.ndarray], weight: np.ndarray, upper: np.ndarray) -> Comparable:
    """Rows in order as groups; their keys are the event, the rank and, if there are several, the stratum."""
    begins = np.zeros(rows.size, dtype=bool)
    for key in keys:
        begins[1:] |= key[1:] != key[:-1]
    begins[:1] = True
    starts = np.flatnonzero(begins)
    group = np.cumsum(begins) - 1
    stratum = np.zeros(starts.size, dtype=np.intp)
    if len(keys) > 2 and starts.size:
        strata = keys[2][starts]
        stratum[1:] = np.cumsum(strata[1:] != strata[:-1])
    mass = np.bincount(group, weight, starts.size)
    upper_mass = np.bincount(group, upper, starts.size)
    below = _sums_below(mass, stratum)
    return Comparable(
        rows=rows,
        weight=weight,
        upper=upper,
        group=group,
        stratum=stratum,
        event=keys[0][starts].astype(np.float64),
        mass=mass,
        below=below,
        above=_sums_above(upper_mass, stratum),
        factor=np.ones(starts.size),
        pairs=float((upper_mass * below).sum()),
    )


def _sums_below(mass: np.ndarray, stratum: np.ndarray) -> np.ndarray:
    """For each group the sum over the groups below it in its stratum."""
    return _running(mass, _starts(stratum))


def _sums_above(mass: np.ndarray, stratum: np.ndarray) -> np.ndarray:
    """For each group the sum over the groups above it in its stratum."""
    return _running(mass[::-1], _starts(stratum[::-1]))[::-1]


def _starts(parts: np.ndarray) -> np.ndarray:
    """Where the parts begin, whose numbers lie side by side."""
    begins = np.ones(parts.size, dtype=bool)
    begins[1:] = parts[1:] != parts[:-1]
    return np.flatnonzero(begins)


def _running(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """For each value the sum of the values before it in its part; parts begin at `starts`."""
    sums = np.zeros_like(values)
    sizes = np.diff(starts, append=len(values))
    if starts.size == 1 or sizes.max(initial=0) > LONG_STRATUM:
        for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
            if size > 1:
                np.cumsum(values[start : start + size - 1], out=sums[start + 1 : start + size])
        return sums
    # Many short parts: one step of all of them at once.
    is_long = sizes > 1
    place = starts[is_long] + 1
    end = (starts + sizes)[is_long]
    while place.size:
        sums[place] = sums[place - 1] + values[place - 1]
        place += 1
        place, end = place[place < end], end[place < end]
    return sums
