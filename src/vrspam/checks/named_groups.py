"""Columns whose values name groups of rows, such as patients, incidents or days.

A column names groups of rows if rows of one value are alike in other columns, far beyond chance, and beyond rows of
the next value: years of age have an order, and rows of 50 are like those of 51; numbers of patients have none that
matters. The label is looked at in the same way. Names of columns only decide between columns that are alike in all of
this.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np

from vrspam.checks.likeness import Likeness, mean_share, share_beyond
from vrspam.checks.row_pairs import Pairs, correlation_of_pairs, next_to, pairs_of
from vrspam.metrics import correction
from vrspam.tables.identifiers import ID_NAME

LEAST_GROUPS = 20
MOST_ROWS_EACH = 100  # in the mean: an age or a state names no group
FEW_PAIRS = 2_000
ALIKE = 0.25  # mean over the other columns from which a column names groups
SHARED = 0.4  # from which rows of a group share a column
OF_LABEL = 0.4  # agreement of labels from which a column names groups, whatever the other columns say
MOST_CROSSED = 16  # columns that are crossed, those of the most values


class NamedGroups(NamedTuple):
    """A column that names groups: how alike rows of one group are, in the mean of the other columns and in the label.

    `codes` are the numbers of the groups; a row without a value is a group of its own. `equal` is how often rows of a
    group have equal values, beyond chance, in the mean of the other columns: 1 for copies. `label_z` is the agreement
    of the labels in standard errors.
    """

    name: str
    codes: np.ndarray
    alike: float
    equal: float
    label: float
    label_z: float

    @property
    def n_groups(self) -> int:
        """The number of groups, those of single rows too."""
        return int(self.codes.max()) + 1


def name_groups(
    columns: Mapping[str, np.ndarray],
    names: Mapping[str, np.ndarray] = {},
    seed: int = 0,
    positive: np.ndarray | None = None,
    texts: Collection[str] = (),
    copies: np.ndarray | None = None,
    leaks: Collection[str] = (),
) -> list[NamedGroups]:
    """Columns whose values name groups of rows, the most likely one first, and at most two others.

    `columns` are codes, -1 for missing; `names` are codes of columns that are not used as features; `texts` names
    those whose codes have no order. The columns that rows of a group share must not all follow from one of them, as a
    region from its town. Rows of a group must be alike in the mean of all columns, or their labels must go together;
    and that must not be so only because some rows are `copies` of others. Of columns that are `leaks`, which tell the
    label by their order, rows of one value must have labels that go together more than those of the next value.

    >>> rng = np.random.default_rng(0)
    >>> patient = np.repeat(np.arange(50), 4)
    >>> table = {"patient": patient, "visit": rng.integers(0, 9, 200)}
    >>> table |= {name: rng.standard_normal(50)[patient].argsort().argsort() for name in ("height", "weight")}
    >>> [found.name for found in name_groups(table)]
    ['patient']
    >>> name_groups({name: rng.permutation(codes) for name, codes in table.items()})
    []
    """
    rng = np.random.default_rng(seed)
    likeness = Likeness.of(columns, texts)
    candidates = []
    for name, codes in {**columns, **names}.items():
        if not can_name_groups(codes):
            continue
        groups = _judge_column(name, codes, name in texts, likeness, positive, copies, rng)
        if groups is None:
            continue
        if name in leaks and groups.label <= 0.1:  # its order tells the label, not its values
            continue
        candidates.append(groups)
    return _most_likely(candidates)


def can_name_groups(codes: np.ndarray) -> bool:
    """Whether a column has enough values to name groups, and not nearly as many as rows."""
    n_values = int(codes.max(initial=-1)) + 1
    n_present = int((codes >= 0).sum())
    return n_values >= LEAST_GROUPS and n_present / MOST_ROWS_EACH <= n_values <= 0.95 * n_present


def _judge_column(
    name: str,
    codes: np.ndarray,
    is_text: bool,
    likeness: Likeness,
    positive: np.ndarray | None,
    copies: np.ndarray | None,
    rng: np.random.Generator,
) -> NamedGroups | None:
    """The groups that a column names, or None if rows of one value are no more alike than others."""
    pairs = pairs_of(codes, rng)
    neighbours = None if is_text else next_to(codes, rng)
    groups = _judge_pairs(name, codes, pairs, neighbours, likeness, positive, rng)
    if groups is None or copies is None:
        return groups

    differ = copies[pairs[0]] != copies[pairs[1]]
    if differ.sum() < max(10.0, 0.1 * differ.size):
        return groups
    pairs_without_copies = pairs[0][differ], pairs[1][differ]
    if _judge_pairs(name, codes, pairs_without_copies, neighbours, likeness, positive, rng) is None:
        return None
    return groups


def _judge_pairs(
    name: str,
    codes: np.ndarray,
    pairs: Pairs,
    neighbours: Pairs | None,
    likeness: Likeness,
    positive: np.ndarray | None,
    rng: np.random.Generator,
) -> NamedGroups | None:
    """The groups that a column names, by pairs of rows of one group, and pairs of rows of neighbouring groups."""
    if pairs[0].size < 10:
        return None
    shares = likeness.beyond(pairs, neighbours, name)
    alike = mean_share(shares)

    agreement, z = 0.0, 0.0
    if positive is not None:
        agreement, z = agreement_of_labels(positive, pairs, neighbours)

    by_label = agreement > OF_LABEL and z > 5.0
    if neighbours is None:  # no order tells a number of a patient from a kind of thing: the name decides
        by_label = by_label and has_name_of_identifier(name)
    by_rows = alike > ALIKE or (agreement > 0.1 and z > 5.0)
    if not by_label and not (by_rows and _several_facts(shares, pairs, codes, likeness, rng)):
        return None

    equal = float(np.mean([*likeness.agreement(pairs, name).values()] or 0.0))
    return NamedGroups(name, numbered_with_gaps(codes), alike, equal, agreement, z)


def has_name_of_identifier(name: str) -> bool:
    """Whether a column is called like one that names rows or groups of them, such as "patient_id"."""
    return bool(ID_NAME.search(name.lower()))


def numbered_with_gaps(codes: np.ndarray) -> np.ndarray:
    """The numbers of groups by codes; each row without a code is a group of its own."""
    missing = codes < 0
    own_number = np.cumsum(missing) + int(codes.max())
    return correction.group_numbers(np.where(missing, own_number, codes), codes.size)


def agreement_of_labels(positive: np.ndarray, pairs: Pairs, neighbours: Pairs | None) -> tuple[float, float]:
    """How much more the labels of pairs are correlated than those of pairs of neighbours; in standard errors too."""
    errors = positive - positive.mean()
    agreement = correlation_of_pairs(errors, pairs)[0]
    variance = 1.0 / pairs[0].size
    if neighbours is not None and neighbours[0].size >= 10:
        agreement -= max(correlation_of_pairs(errors, neighbours)[0], 0.0)
        variance += 1.0 / neighbours[0].size
    return agreement, agreement / float(np.sqrt(variance))


def _several_facts(
    shares: Mapping[str, float], pairs: Pairs, codes: np.ndarray, likeness: Likeness, rng: np.random.Generator
) -> bool:
    """Whether rows of a group share several facts, or one and differ in another more than chance, as visits do."""
    shared = {name: share for name, share in shares.items() if share > SHARED}
    if not shared:
        return False
    return likeness.always_differ(pairs, set(shares) - set(shared)) or _several_roots(shared, codes, likeness, rng)


def _several_roots(
    shared: Mapping[str, float], codes: np.ndarray, likeness: Likeness, rng: np.random.Generator
) -> bool:
    """Whether the columns that rows of a group share do not all follow from one of them, as a country from its region.

    A column follows from a coarser one, of half as many values as there are groups or fewer, if rows that are equal in
    that are alike in it too, nearly as much as rows of one group.
    """
    n_groups = int(codes.max()) + 1
    finest_first = sorted(shared, key=lambda name: -likeness.values[name])
    explained = set[str]()
    for root in finest_first[:10]:
        unexplained = [name for name in finest_first if name != root and name not in explained]
        if root in explained or not unexplained:
            continue
        if 2 * likeness.values[root] > n_groups:  # as fine as the groups: a fact of its own
            return True
        in_root = likeness.of_pairs(pairs_of(likeness.codes[root], rng), only=unexplained)
        follows = {name for name in unexplained if in_root[name] > 0.9 * shared[name]}
        if len(follows) < len(unexplained):
            return True
        explained |= follows
    return False


def _most_likely(candidates: list[NamedGroups]) -> list[NamedGroups]:
    """The column whose rows are most alike, and at most two that group the rows in other ways.

    Of columns whose rows are nearly as much alike, the one with the most groups comes first, and of those a name.
    """
    if not candidates:
        return []
    best_likeness = max(groups.alike for groups in candidates)
    near_best = [groups for groups in candidates if groups.alike > best_likeness - 0.05]
    first = max(near_best, key=lambda groups: (groups.n_groups, has_name_of_identifier(groups.name)))
    chosen = [first]
    for groups in sorted(candidates, key=lambda groups: -max(groups.alike, groups.label)):
        if len(chosen) == 3:
            break
        if not any(_same_groups(groups.codes, other.codes) for other in chosen):
            chosen.append(groups)
    return chosen


def _same_groups(codes: np.ndarray, others: np.ndarray) -> bool:
    """Whether most pairs of rows in one group of one are in one group of the other, both ways."""
    return min(_share_together(codes, others), _share_together(others, codes)) > 0.8


def _share_together(codes: np.ndarray, others: np.ndarray) -> float:
    """The share of the pairs of rows in one group of `codes` that are in one group of `others` too."""
    first, second = pairs_of(codes, np.random.default_rng(0))
    return float(np.mean(others[first] == others[second]))


def name_crossed_groups(
    columns: Mapping[str, np.ndarray], names: Mapping[str, np.ndarray] = {}, seed: int = 0
) -> list[NamedGroups]:
    """Two columns that name groups of rows together, such as numbers of patients inside hospitals; at most one pair.

    Rows of a group must be alike far beyond rows that have the value of one of the columns alone, and beyond rows of
    the next value of the other.

    >>> rng = np.random.default_rng(0)
    >>> patient = np.repeat(np.arange(120), 4)
    >>> table = {"hospital": patient % 6, "number": patient // 6}
    >>> table |= {name: rng.standard_normal(120)[patient].argsort().argsort() for name in ("height", "weight", "age")}
    >>> [found.name for found in name_crossed_groups(table)]
    ['hospital,number']
    """
    rng = np.random.default_rng(seed)
    likeness = Likeness.of(columns, ())
    parts = {}
    for name, codes in {**columns, **names}.items():
        n_values = int(codes.max(initial=-1)) + 1
        if 2 <= n_values <= 0.3 * codes.size and (codes >= 0).all():
            parts[name] = codes
    place_in_table = {name: place for place, name in enumerate(parts)}
    crossed = sorted(parts, key=lambda name: -int(parts[name].max()))[:MOST_CROSSED]
    alone = {name: likeness.of_pairs(pairs_of(parts[name], rng, FEW_PAIRS)) for name in crossed}

    best: NamedGroups | None = None
    for pair in combinations(crossed, 2):
        first, second = sorted(pair, key=place_in_table.__getitem__)
        groups = _judge_crossed((first, second), parts, likeness, alone, rng)
        if groups is not None and (best is None or groups.alike > best.alike):
            best = groups
    return [] if best is None else [best]


def _judge_crossed(
    names: tuple[str, str],
    parts: Mapping[str, np.ndarray],
    likeness: Likeness,
    alone: Mapping[str, Mapping[str, float]],
    rng: np.random.Generator,
) -> NamedGroups | None:
    """The groups that two columns name together, or None; `alone` is how alike rows of one value of one are."""
    first, second = (parts[name].astype(np.int64) for name in names)
    codes = crossed_codes(first, second)
    n_groups = int(codes.max()) + 1
    if not max(LEAST_GROUPS, codes.size / MOST_ROWS_EACH) <= n_groups <= 0.95 * codes.size:
        return None
    pairs = pairs_of(codes, rng, FEW_PAIRS)
    if pairs[0].size < 10:
        return None
    others = [name for name in likeness.codes if name not in names]
    shares = likeness.of_pairs(pairs, only=others)
    if len(shares) < 3 or mean_share(shares) < 2 * ALIKE:
        return None

    yardsticks = [alone[name] for name in names]
    for sorted_codes in (codes, crossed_codes(second, first)):
        yardsticks.append(likeness.of_pairs(next_to(sorted_codes, rng, FEW_PAIRS), only=others))
    beyond = {}
    for name, share in shares.items():
        beyond[name] = share_beyond(share, max(yardstick[name] for yardstick in yardsticks))
    alike = mean_share(beyond)
    if alike < 2 * ALIKE or sum(share > SHARED for share in beyond.values()) < 3:
        return None

    equal = float(np.mean([*likeness.agreement(pairs).values()]))
    groups = correction.group_numbers(codes, codes.size)
    return NamedGroups(",".join(names), groups, alike, equal, 0.0, 0.0)


def crossed_codes(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """A code for each pair of values of two columns, in the order of the first."""
    return np.unique(first * (int(second.max()) + 1) + second, return_inverse=True)[1]
