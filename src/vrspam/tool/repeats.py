"""Rows that are not independent: columns whose values name patients, incidents or days, and rows that are copies.

A column names groups of rows if rows of one value are alike in other columns, far beyond chance, and beyond rows of
the next value: years of age have an order, and rows of 50 are like those of 51; numbers of patients have none that
matters. How alike rows are in a column is told by pairs of rows, as a correlation: 1 if they are equal, 0 if they are
like any two rows. For numbers it is the intraclass correlation of ranks, for categories the agreement beyond chance,
(a - c) / (1 - c), where a is the share of the pairs that agree and c that of all pairs. The label is looked at in the
same way. Names of columns only decide between columns that are alike in all of this.

A quick model, straight lines or curves on at most 5,000 rows, shows whether groups matter: by its AUC with folds that
split the groups and with folds that keep them, and by the correlation of its errors within groups. If errors are
correlated, a model that learns the groups, and so the errors of other rows, has a higher AUC in folds that split them.

All random draws are made from rows in an order that their values give, so that the order of the file changes nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from vrspam import AUCClassifierCV
from vrspam._utils.blas import blas_threads
from vrspam.estimators.search import fit_read_columns
from vrspam.features import AdditiveFeatures, LinearFeatures
from vrspam.metrics import correction, delong_test, roc_auc
from vrspam.model_selection.calibration import calibrate
from vrspam.model_selection.folds import group_folds
from vrspam.model_selection.pairs import whole_units
from vrspam.report.words.training import describe_candidate
from vrspam.tables.frames import numeric_flags, rows_of
from vrspam.tables.identifiers import ID_NAME
from vrspam.tool.plan import COPIES

QUICK_ROWS = 5_000
QUICK_COLUMNS = 200


def describe_step(step: str) -> str:
    """The step of a search, such as "additive: AUC 0.83 ± 0.01", with the model in plain words."""
    name, colon, score = step.partition(":")
    return f"{describe_candidate(name)}{colon}{score}"


class Repeats(NamedTuple):
    """Groups of rows, by a column or of copies: the share of rows in groups of several, and AUCs of the quick model.

    `apart` is the AUC with folds that split groups (if the groups matter, of a model that knows them), `together` with
    folds that keep them, `z` their difference in standard errors; NaN where there are too few rows for the model.
    `bound` is the correlation of the errors of two rows of one group (of their labels, where there is no model),
    `bound_z` in standard errors. `possible` says whether folds can keep the groups together.
    """

    name: str
    share: float
    codes: np.ndarray
    apart: float
    together: float
    z: float = 0.0
    bound: float = 0.0
    bound_z: float = 0.0
    possible: bool = True

    @property
    def code(self) -> str:
        """The code of the finding about the groups."""
        return "duplicates" if self.name == COPIES else "repeated-rows"

    @property
    def changes_headline(self) -> bool:
        """Whether new groups are ranked clearly worse than held-out rows of known ones."""
        return self.apart - self.together >= 0.02 and self.z > 2.0

    @property
    def matters(self) -> bool:
        """Whether folds have to keep the groups together: flexible models learn what rows of one group share.

        Errors of rows that are equal by chance are correlated too, a little; those of copies are equal.
        """
        least_bound = 0.5 if self.name == COPIES else 0.1
        least_z = 2.0 if np.isnan(self.apart) else 3.0  # few rows show little
        return self.changes_headline or (self.bound > least_bound and self.bound_z > least_z)


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


LEAST_GROUPS = 20
MOST_ROWS_EACH = 100  # in the mean: an age or a state names no group
MOST_PAIRS = 20_000
FEW_PAIRS = 2_000
MOST_OF_A_GROUP = 50  # rows of one group in pairs, so that none speaks for all others
ALIKE = 0.25  # mean over the other columns from which a column names groups
SHARED = 0.4  # from which rows of a group share a column
OF_LABEL = 0.4  # agreement of labels from which a column names groups, whatever the other columns say


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


def mean_share(shares: Mapping[str, float]) -> float:
    """How alike rows are in the mean of the columns; in a column where they differ more than by chance, not at all."""
    if not shares:
        return 0.0
    return float(np.mean([max(share, 0.0) for share in shares.values()]))


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


MOST_CROSSED = 16  # columns that are crossed, those of the most values


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


@dataclass(frozen=True)
class Likeness:
    """How alike pairs of rows are in columns: codes, the share of all pairs that agree, ranks and their variance."""

    codes: Mapping[str, np.ndarray]
    values: Mapping[str, int]
    chances: Mapping[str, float]
    ranks: Mapping[str, np.ndarray]

    @classmethod
    def of(cls, columns: Mapping[str, np.ndarray], texts: Collection[str]) -> Likeness:
        """Prepare columns of codes, without those that are nearly constant."""
        chances: dict[str, float] = {}
        ranks: dict[str, np.ndarray] = {}
        for name, codes in columns.items():
            chance = float(np.sum((np.bincount(codes + 1) / codes.size) ** 2))
            if chance > 0.95:
                continue
            chances[name] = chance
            if name not in texts:
                ranks[name] = standard_ranks(codes)
        kept = {name: columns[name] for name in chances}
        values = {name: int(codes.max()) + 1 for name, codes in kept.items()}
        return cls(kept, values, chances, ranks)

    def agreement(self, pairs: Pairs, without: str | None = None) -> dict[str, float]:
        """(a - c) / (1 - c) of each column but one: a is the share of the pairs that agree, c that of all pairs."""
        return {name: self._agreement_in(name, pairs) for name in self.codes if name != without}

    def _agreement_in(self, name: str, pairs: Pairs) -> float:
        chance = self.chances[name]
        return (self._share_that_agrees(name, pairs) - chance) / (1.0 - chance)

    def _share_that_agrees(self, name: str, pairs: Pairs) -> float:
        first, second = pairs
        codes = self.codes[name]
        return float(np.mean(codes[first] == codes[second]))

    def _correlation_in(self, name: str, pairs: Pairs) -> float:
        """The correlation of ranks in pairs; minus infinity without ranks, or where few pairs have both values."""
        if name not in self.ranks:
            return -np.inf
        first, second = pairs
        ranks = self.ranks[name]
        squares = (ranks[first] - ranks[second]) ** 2
        squares = squares[~np.isnan(squares)]
        if squares.size < 10:
            return -np.inf
        return 1.0 - float(squares.mean()) / 2.0

    def of_pairs(
        self, pairs: Pairs, without: str | None = None, only: Collection[str] | None = None
    ) -> dict[str, float]:
        """The agreement of each column; of numbers the correlation of ranks, if that is larger."""
        shares = {}
        for name in self.codes:
            if name == without or (only is not None and name not in only):
                continue
            shares[name] = max(self._agreement_in(name, pairs), self._correlation_in(name, pairs))
        return shares

    def always_differ(self, pairs: Pairs, names: Collection[str]) -> bool:
        """Whether pairs agree in one of these columns far less often than by chance, as in the number of a visit."""
        n_pairs = pairs[0].size
        for name in names:
            chance = self.chances[name]
            agree = self._share_that_agrees(name, pairs)
            errors_from_chance = (chance - agree) * np.sqrt(n_pairs / (chance * (1.0 - chance)))
            if agree < 0.5 * chance and errors_from_chance > 4.0:
                return True
        return False

    def beyond(self, pairs: Pairs, yardstick: Pairs | None, without: str | None = None) -> dict[str, float]:
        """How much more alike pairs are than the pairs of the yardstick, as a share of what these leave."""
        shares = self.of_pairs(pairs, without)
        if yardstick is None or yardstick[0].size < 10:
            return shares
        of_yardstick = self.of_pairs(yardstick, without)
        return {name: share_beyond(share, of_yardstick[name]) for name, share in shares.items()}


def share_beyond(share: float, yardstick: float) -> float:
    """How far a share lies above a yardstick, as a share of what is left up to 1; a yardstick below 0 counts as 0."""
    least = max(yardstick, 0.0)
    if least >= 1.0:
        return 0.0
    return (share - least) / (1.0 - least)


Pairs = tuple[np.ndarray, np.ndarray]  # the places of the first and of the second row


def standard_ranks(codes: np.ndarray) -> np.ndarray:
    """The rank of each row by its code, ties in the middle, with the mean 0 and the variance 1; NaN if it is missing.

    >>> standard_ranks(np.array([0, 5, -1]))
    array([-1.,  1., nan])
    """
    present = codes >= 0
    counts = np.bincount(codes[present])
    middle_ranks = np.cumsum(counts) - (counts - 1) / 2.0
    ranks = np.full(codes.size, np.nan)
    ranks[present] = middle_ranks[codes[present]]
    deviation = float(np.nanstd(ranks))
    centred = ranks - np.nanmean(ranks)
    return centred / deviation if deviation > 0.0 else centred


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


def find_copies(columns: Mapping[str, np.ndarray], seed: int = 0) -> np.ndarray | None:
    """Groups of rows that agree in all columns, or in all but one; None if less than 1 % of the rows do.

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
    return groups if share_in_groups(groups) >= 0.01 else None


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


class QuickTable:
    """The rows that groups are judged on: a table, the places of its rows in the order of their values, and labels.

    What the quick model shows for all rows as independent ones is computed once, for all groups that are judged.
    """

    def __init__(self, X: Any, order: np.ndarray, positive: np.ndarray, seed: int):
        self.X = X
        self.order = order
        self.positive = positive
        self.seed = seed
        self._independent: QuickScores | None = None

    def rows(self, places: np.ndarray) -> Any:
        """Some of the rows, by their places in the order of values."""
        return rows_of(self.X, self.order[places])

    def independent(self, X: Any, positive: np.ndarray) -> QuickScores:
        """Scores of the quick model with rows as independent ones; kept if these are all rows."""
        if positive.size < self.positive.size:
            return quick_scores(X, positive, 5, self.seed)
        if self._independent is None:
            self._independent = quick_scores(X, positive, 5, self.seed)
        return self._independent


def judge_groups(name: str, codes: np.ndarray, table: QuickTable) -> Repeats:
    """Judge by the quick model whether groups of rows matter; by their labels, where there are too few rows for it."""
    by_labels = Repeats(name, share_in_groups(codes), codes, np.nan, np.nan)
    pairs = pairs_of(codes, np.random.default_rng(table.seed))
    if pairs[0].size >= 10:
        bound, bound_z = correlation_of_pairs(table.positive - table.positive.mean(), pairs)
        by_labels = by_labels._replace(bound=bound, bound_z=bound_z)

    places = draw_groups(codes, QUICK_ROWS, table.seed)
    y = table.positive[places]
    if min(y.sum(), (~y).sum()) < 20:
        return by_labels
    X = table.rows(places)
    others = [column for column in X.column_names if column != name and not column.startswith(f"{name} (")]
    if not others:
        return by_labels
    try:
        return _judge_by_model(by_labels, codes[places], X, others, y, table)
    except ValueError:  # a class is in too few groups for folds
        return by_labels


def _judge_by_model(
    by_labels: Repeats, codes: np.ndarray, X: Any, others: list[str], positive: np.ndarray, table: QuickTable
) -> Repeats:
    """Complete what labels tell of groups by the quick model; `others` are the columns beside that of the groups."""
    seed = table.seed
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        folds = group_folds(positive, codes, 5, seed)
    together = quick_scores(X.select(others), positive, folds, seed)
    judged = by_labels._replace(together=together.auc, bound=0.0, bound_z=0.0)
    pairs = pairs_of(codes, np.random.default_rng(seed))
    if pairs[0].size >= 10:
        errors = positive - calibrate(together.scores, positive, "sigmoid")(together.scores)
        bound, bound_z = correlation_of_pairs(errors, pairs)
        judged = judged._replace(bound=bound, bound_z=bound_z)
    if judged.name == COPIES and judged.share < 0.05 and not judged.matters:  # too few to change the AUC
        return judged

    apart = table.independent(X, positive)
    if judged.matters:
        informed = scores_of_known_groups(positive, apart.scores, codes, judged.bound, seed)
        informed_auc = roc_auc(positive, informed)
        if informed_auc > apart.auc:
            apart = QuickScores(informed_auc, informed)
    return judged._replace(apart=apart.auc, z=delong_test(positive, apart.scores, together.scores).z)


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


def scores_of_known_groups(
    positive: np.ndarray, scores: np.ndarray, groups: np.ndarray, bound: float, seed: int
) -> np.ndarray:
    """Probabilities corrected by errors of the row's group, those of rows outside the row's own random fifth.

    The best linear prediction of a row's error from n others that all have the correlation `bound` is their sum times
    bound / (1 + (n - 1) bound): what a model that is flexible enough to learn the groups finds in independent folds.

    >>> y, groups = np.tile([False, True], 50), np.tile([0, 1], 50)
    >>> known = scores_of_known_groups(y, np.zeros(100), groups, 0.9, seed=0)
    >>> bool(known[y].min() > known[~y].max())
    True
    """
    probabilities = calibrate(scores, positive, "sigmoid")(scores)
    fifth = np.random.default_rng(seed).integers(0, 5, positive.size)
    errors = np.zeros((int(groups.max()) + 1, 5))
    counts = np.zeros_like(errors)
    np.add.at(errors, (groups, fifth), positive - probabilities)
    np.add.at(counts, (groups, fifth), 1.0)
    errors_of_others = errors.sum(axis=1)[groups] - errors[groups, fifth]
    n_others = counts.sum(axis=1)[groups] - counts[groups, fifth]
    return probabilities + bound * errors_of_others / (1.0 + np.maximum(n_others - 1.0, 0.0) * bound)


class QuickScores(NamedTuple):
    """The mean AUC of the folds of a quick model, and the score of each row by a model that has not seen it."""

    auc: float
    scores: np.ndarray


def quick_scores(
    X: Any, positive: np.ndarray, folds: Any, seed: int, maps: dict[str, Any] | None = None
) -> QuickScores:
    """Fit a quick model in folds.

    The model has straight lines or curves, whichever the folds find better, unless other maps are given; rows that no
    fold holds out score 0.
    """
    if maps is None:
        n_texts = sum(not numeric for numeric in numeric_flags(X))
        most = max(5, min(50, 2_000 // max(n_texts, 1)))
        maps = {"linear": LinearFeatures(max_categories=most), "additive": AdditiveFeatures(max_categories=most)}
    search = AUCClassifierCV(features=maps, cv=folds, selection="best", calibration=None, n_jobs=1, random_state=seed)
    with warnings.catch_warnings(action="ignore"), blas_threads(1 if positive.size <= 5_000 else None):
        fitted = fit_read_columns(search, X, positive)

    scores = np.zeros(positive.size)
    scores[fitted.out_of_fold_.places] = fitted.out_of_fold_.scores
    return QuickScores(float(fitted.best_score_), scores)


def draw_groups(codes: np.ndarray, most: int, seed: int) -> np.ndarray:
    """Places of at most `most` rows: all rows of groups drawn at random, or of the table if it has no more."""
    if codes.size <= most:
        return np.arange(codes.size)
    order = np.random.default_rng(seed).permutation(int(codes.max()) + 1)
    sizes = np.bincount(codes)[order]
    return np.flatnonzero(np.isin(codes, order[np.cumsum(sizes) <= most]))
