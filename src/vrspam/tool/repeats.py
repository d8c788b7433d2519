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
from typing import Any, NamedTuple

import numpy as np

from vrspam import AUCClassifierCV
from vrspam._utils.blas import blas_threads
from vrspam.features import AdditiveFeatures, LinearFeatures
from vrspam.metrics import correction, delong_test, roc_auc
from vrspam.model_selection.calibration import calibrate
from vrspam.model_selection.folds import group_folds
from vrspam.model_selection.pairs import whole_units
from vrspam.report.words.training import describe_candidate
from vrspam.tables.columns import ID_NAME
from vrspam.tables.frames import numeric_flags, rows_of
from vrspam.tool.plan import COPIES

QUICK_ROWS = 5_000
QUICK_COLUMNS = 200


class TableClassifier(AUCClassifierCV):
    """The estimator for columns that the tool has read already: columns of text are categories."""

    _reads_columns = False

    @staticmethod
    def _in_words(what: str) -> str:
        name, colon, score = what.partition(":")
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
        least = 0.5 if self.name == COPIES else 0.1
        clearly = 2.0 if np.isnan(self.apart) else 3.0  # few rows show little
        return self.changes_headline or (self.bound > least and self.bound_z > clearly)


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
    found = []
    for name, codes in {**columns, **names}.items():
        present = int((codes >= 0).sum())
        values = int(codes.max(initial=-1)) + 1
        if values < LEAST_GROUPS or not present / MOST_ROWS_EACH <= values <= 0.95 * present:
            continue
        groups = _judge_column(name, codes, name in texts, likeness, positive, copies, rng)
        if groups is not None and (name not in leaks or groups.label > 0.1):
            found.append(groups)
    return _most_likely(found)


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
    beside = None if is_text else next_to(codes, rng)
    found = _judge_pairs(name, codes, pairs, beside, likeness, positive, rng)
    if found is None or copies is None:
        return found
    differ = copies[pairs[0]] != copies[pairs[1]]
    if differ.sum() >= max(10.0, 0.1 * differ.size):
        others = pairs[0][differ], pairs[1][differ]
        if _judge_pairs(name, codes, others, beside, likeness, positive, rng) is None:
            return None
    return found


def _judge_pairs(
    name: str,
    codes: np.ndarray,
    pairs: Pairs,
    beside: Pairs | None,
    likeness: Likeness,
    positive: np.ndarray | None,
    rng: np.random.Generator,
) -> NamedGroups | None:
    """The groups that a column names, by pairs of rows of one group, and pairs of rows of neighbouring groups."""
    if pairs[0].size < 10:
        return None
    shares = likeness.beyond(pairs, beside, name)
    alike = float(np.mean([max(share, 0.0) for share in shares.values()] or 0.0))

    agreement, z = (0.0, 0.0) if positive is None else agreement_of_labels(positive, pairs, beside)
    by_label = agreement > OF_LABEL and z > 5.0
    if beside is None:  # no order tells a number of a patient from a kind of thing: the name decides
        by_label = by_label and bool(ID_NAME.search(name.lower()))
    by_rows = alike > ALIKE or (agreement > 0.1 and z > 5.0)
    if not by_label and not (by_rows and _several_facts(shares, pairs, codes, likeness, rng)):
        return None
    present = codes >= 0
    alone = np.cumsum(~present) + int(codes.max())
    groups = correction.group_numbers(np.where(present, codes, alone), codes.size)
    equal = float(np.mean([*likeness.agreement(pairs, name).values()] or 0.0))
    return NamedGroups(name, groups, alike, equal, agreement, z)


def agreement_of_labels(positive: np.ndarray, pairs: Pairs, beside: Pairs | None) -> tuple[float, float]:
    """How much more the labels of pairs are correlated than those of the pairs `beside`; in standard errors."""
    errors = positive - positive.mean()
    agreement, variance = correlation_of_pairs(errors, pairs)[0], 1.0 / pairs[0].size
    if beside is not None and beside[0].size >= 10:
        agreement -= max(correlation_of_pairs(errors, beside)[0], 0.0)
        variance += 1.0 / beside[0].size
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
    values = int(codes.max()) + 1
    ordered = sorted(shared, key=lambda name: -likeness.values[name])
    if not ordered:
        return False
    explained = set[str]()
    for root in ordered[:10]:
        left = [name for name in ordered if name != root and name not in explained]
        if root in explained or not left:
            continue
        if 2 * likeness.values[root] > values:  # as fine as the groups: a fact of its own
            return True
        same = likeness.of_pairs(pairs_of(likeness.codes[root], rng), only=left)
        follows = {name for name in left if same[name] > 0.9 * shared[name]}
        if len(follows) < len(left):
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
        if 2 <= int(codes.max(initial=-1)) + 1 <= 0.3 * codes.size and (codes >= 0).all():
            parts[name] = codes
    order = {name: place for place, name in enumerate(parts)}
    chosen = sorted(parts, key=lambda name: -int(parts[name].max()))[:MOST_CROSSED]
    alone = {name: likeness.of_pairs(pairs_of(parts[name], rng, FEW_PAIRS)) for name in chosen}
    best: list[NamedGroups] = []
    for place, first in enumerate(chosen):
        for second in chosen[place + 1 :]:
            names_of_pair = (first, second) if order[first] < order[second] else (second, first)
            found = _judge_crossed(names_of_pair, parts, likeness, alone, rng)
            if found is not None and (not best or found.alike > best[0].alike):
                best = [found]
    return best


def _judge_crossed(
    names: tuple[str, str],
    parts: Mapping[str, np.ndarray],
    likeness: Likeness,
    alone: Mapping[str, Mapping[str, float]],
    rng: np.random.Generator,
) -> NamedGroups | None:
    """The groups that two columns name together, or None; `alone` is how alike rows of one value of one are."""
    both = [parts[name].astype(np.int64) for name in names]
    codes = np.unique(both[0] * (int(both[1].max()) + 1) + both[1], return_inverse=True)[1]
    values = int(codes.max()) + 1
    if not max(LEAST_GROUPS, codes.size / MOST_ROWS_EACH) <= values <= 0.95 * codes.size:
        return None
    pairs = pairs_of(codes, rng, FEW_PAIRS)
    if pairs[0].size < 10:
        return None
    others = [name for name in likeness.codes if name not in names]
    shares = likeness.of_pairs(pairs, only=others)
    if len(shares) < 3 or np.mean([max(share, 0.0) for share in shares.values()]) < 2 * ALIKE:
        return None
    turned = np.unique(both[1] * (int(both[0].max()) + 1) + both[0], return_inverse=True)[1]
    beside = [alone[name] for name in names]
    beside += [likeness.of_pairs(next_to(one, rng, FEW_PAIRS), only=others) for one in (codes, turned)]
    beyond = {}
    for name, share in shares.items():
        other = max(0.0, *(found[name] for found in beside))
        beyond[name] = (share - other) / (1.0 - other) if other < 1.0 else 0.0
    alike = float(np.mean([max(share, 0.0) for share in beyond.values()]))
    if alike < 2 * ALIKE or sum(share > SHARED for share in beyond.values()) < 3:
        return None
    equal = float(np.mean([*likeness.agreement(pairs).values()]))
    groups = correction.group_numbers(codes, codes.size)
    return NamedGroups(",".join(names), groups, alike, equal, 0.0, 0.0)


def _most_likely(found: list[NamedGroups]) -> list[NamedGroups]:
    """The column whose rows are most alike, and at most two that group the rows in other ways.

    Of columns whose rows are nearly as much alike, the one with the most groups comes first, and of those a name.
    """
    if not found:
        return []
    best = max(one.alike for one in found)
    near = [one for one in found if one.alike > best - 0.05]
    first = max(near, key=lambda one: (one.n_groups, bool(ID_NAME.search(one.name.lower()))))
    chosen = [first]
    for one in sorted(found, key=lambda one: -max(one.alike, one.label)):
        if len(chosen) < 3 and not any(_same_groups(one.codes, other.codes) for other in chosen):
            chosen.append(one)
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
        chances, ranks = dict[str, float](), dict[str, np.ndarray]()
        for name, codes in columns.items():
            chance = float(np.sum((np.bincount(codes + 1) / codes.size) ** 2))
            if chance > 0.95:
                continue
            chances[name] = chance
            if name not in texts:
                ranks[name] = standard_ranks(codes)
        kept = {name: columns[name] for name in chances}
        return cls(kept, {name: int(codes.max()) + 1 for name, codes in kept.items()}, chances, ranks)

    def agreement(self, pairs: Pairs, without: str | None = None) -> dict[str, float]:
        """(a - c) / (1 - c) of each column but one: a is the share of the pairs that agree, c that of all pairs."""
        first, second = pairs
        found = {}
        for name, codes in self.codes.items():
            if name != without:
                agree = float(np.mean(codes[first] == codes[second]))
                found[name] = (agree - self.chances[name]) / (1.0 - self.chances[name])
        return found

    def of_pairs(
        self, pairs: Pairs, without: str | None = None, only: Collection[str] | None = None
    ) -> dict[str, float]:
        """The agreement of each column; of numbers the correlation of ranks, if that is larger."""
        first, second = pairs
        found = {}
        for name, codes in self.codes.items():
            if name == without or (only is not None and name not in only):
                continue
            agree = float(np.mean(codes[first] == codes[second]))
            found[name] = (agree - self.chances[name]) / (1.0 - self.chances[name])
            if name in self.ranks:
                ranks = self.ranks[name]
                squares = (ranks[first] - ranks[second]) ** 2
                squares = squares[~np.isnan(squares)]
                if squares.size >= 10:
                    found[name] = max(found[name], 1.0 - float(squares.mean()) / 2.0)
        return found

    def always_differ(self, pairs: Pairs, names: Collection[str]) -> bool:
        """Whether pairs agree in one of these columns far less often than by chance, as in the number of a visit."""
        first, second = pairs
        for name in names:
            codes, chance = self.codes[name], self.chances[name]
            agree = float(np.mean(codes[first] == codes[second]))
            if agree < 0.5 * chance and (chance - agree) * np.sqrt(first.size / (chance * (1.0 - chance))) > 4.0:
                return True
        return False

    def beyond(self, pairs: Pairs, beside: Pairs | None, without: str | None = None) -> dict[str, float]:
        """How much more alike pairs are than the pairs `beside`, as a share of what these leave."""
        found = self.of_pairs(pairs, without)
        if beside is None or beside[0].size < 10:
            return found
        others = self.of_pairs(beside, without)
        for name, share in found.items():
            other = max(others[name], 0.0)
            found[name] = (share - other) / (1.0 - other) if other < 1.0 else 0.0
        return found


Pairs = tuple[np.ndarray, np.ndarray]  # the places of the first and of the second row


def standard_ranks(codes: np.ndarray) -> np.ndarray:
    """The rank of each row by its code, ties in the middle, with the mean 0 and the variance 1; NaN if it is missing.

    >>> standard_ranks(np.array([0, 5, -1]))
    array([-1.,  1., nan])
    """
    counts = np.bincount(codes[codes >= 0])
    ranks = np.full(codes.size, np.nan)
    ranks[codes >= 0] = (np.cumsum(counts) - (counts - 1) / 2.0)[codes[codes >= 0]]
    deviation = float(np.nanstd(ranks))
    return (ranks - np.nanmean(ranks)) / (deviation if deviation > 0.0 else 1.0)


def pairs_of(codes: np.ndarray, rng: np.random.Generator, most: int = MOST_PAIRS) -> Pairs:
    """Pairs of rows of the same code, drawn at random, at most `most` of them, and few of each group."""
    order, place, _ = _in_groups(codes, rng)
    places = np.flatnonzero((place[1:] > 0) & (place[1:] < MOST_OF_A_GROUP))
    places = places if places.size <= most else np.sort(rng.choice(places, most, replace=False))
    return order[places], order[places + 1]


def next_to(codes: np.ndarray, rng: np.random.Generator, most: int = MOST_PAIRS) -> Pairs:
    """Pairs of a row and a random row that has the next larger code, at most `most` of them, and few of each group.

    >>> first, second = next_to(np.array([0, 2, 2, 5]), np.random.default_rng(0))
    >>> sorted(first.tolist()), sorted(second.tolist())[1:]
    ([0, 1, 2], [3, 3])
    """
    order, place, group = _in_groups(codes, rng)
    starts = np.flatnonzero(place == 0)
    sizes = np.diff(np.append(starts, order.size))
    places = np.flatnonzero((place < MOST_OF_A_GROUP) & (group + 1 < starts.size))
    places = places if places.size <= most else np.sort(rng.choice(places, most, replace=False))
    following = group[places] + 1
    return order[places], order[starts[following] + rng.integers(0, sizes[following])]


def _in_groups(codes: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows that have a code, group by group in random order; the place of each in its group, and its group's number."""
    drawn = rng.permutation(codes.size)
    drawn = drawn[codes[drawn] >= 0]
    keys = codes[drawn] * codes.size + np.arange(drawn.size)  # random order inside a group, not the file's
    order = drawn[np.sort(keys) % codes.size] if drawn.size else drawn
    ordered = codes[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if order.size else np.empty(0, dtype=np.intp)
    sizes = np.diff(np.append(starts, order.size))
    return order, np.arange(order.size) - np.repeat(starts, sizes), np.repeat(np.arange(starts.size), sizes)


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
        total += rng.integers(0, 2**63, int(codes.max(initial=-1)) + 2, dtype=np.uint64)[codes + 1]
    return np.argsort(total, kind="stable")


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
    hashes = [rng.integers(0, 2**63, int(codes.max()) + 2, dtype=np.uint64)[codes + 1] for codes in columns.values()]
    whole = np.add.reduce(hashes)  # modulo 2⁶⁴
    groups = exact = np.unique(whole, return_inverse=True)[1]
    if 5 <= len(hashes) <= 100 and whole.size <= 100_000:
        for part in hashes:
            groups = whole_units(groups, whole - part)
        sizes = np.bincount(groups)
        if sizes.max() > max(20, 0.02 * groups.size):
            groups = exact
    sizes = np.bincount(groups)
    share = float(sizes[sizes > 1].sum() / groups.size)
    return groups if share >= 0.01 else None


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
    found = []
    for name, codes in columns.items():
        values, present = int(codes.max(initial=-1)) + 1, int((codes >= 0).sum())
        if values < LEAST_GROUPS or not present / MOST_ROWS_EACH <= values <= 0.95 * present or name in texts:
            continue
        first, second = pairs_of(codes, rng)
        differ = copies[first] != copies[second]
        if differ.sum() < max(20.0, 0.1 * differ.size):
            continue
        label, label_z = agreement_of_labels(positive, (first[differ], second[differ]), next_to(codes, rng))
        if label > 0.08 and label_z > 2.5:
            groups = np.where(codes >= 0, codes, np.cumsum(codes < 0) + values - 1)
            found.append(NamedGroups(name, correction.group_numbers(groups, codes.size), 0.0, 0.0, label, label_z))
    return sorted(found, key=lambda one: -one.label_z)[:1]


def judge_groups(
    name: str,
    codes: np.ndarray,
    X: Any,
    order: np.ndarray,
    positive: np.ndarray,
    seed: int,
    independent: dict[int, tuple[float, np.ndarray]] | None = None,
) -> Repeats:
    """Judge by the quick model whether groups of rows matter; by their labels, where there are too few rows for it.

    `codes` and `positive` are of the rows X in this order. `independent` keeps what the quick model shows for all rows
    as independent ones, for other groups of the same rows.
    """
    sizes = np.bincount(codes)
    share = float(sizes[sizes > 1].sum() / codes.size)
    by_labels = Repeats(name, share, codes, np.nan, np.nan)
    pairs = pairs_of(codes, np.random.default_rng(seed))
    if pairs[0].size >= 10:
        bound, bound_z = correlation_of_pairs(positive - positive.mean(), pairs)
        by_labels = by_labels._replace(bound=bound, bound_z=bound_z)
    rows = draw_groups(codes, QUICK_ROWS, seed)
    some, y = rows_of(X, order[rows]), positive[rows]
    if min(y.sum(), (~y).sum()) < 20:
        return by_labels
    left = [column for column in some.column_names if column != name and not column.startswith(f"{name} (")]
    if not left:
        return by_labels
    try:
        known = independent if independent is not None and rows.size == codes.size else {}
        return _judge_by_model(by_labels, codes[rows], some, left, y, seed, known)
    except ValueError:  # a class is in too few groups for folds
        return by_labels


def _judge_by_model(
    known: Repeats,
    codes: np.ndarray,
    X: Any,
    without: list[str],
    positive: np.ndarray,
    seed: int,
    independent: dict[int, tuple[float, np.ndarray]],
) -> Repeats:
    """Complete what is known of groups by the quick model; `without` are the columns beside that of the groups."""
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        folds = group_folds(positive, codes, 5, seed)
    together, scores = quick_scores(X.select(without), positive, folds, seed)
    judged, pairs = (
        known._replace(together=together, bound=0.0, bound_z=0.0),
        pairs_of(codes, np.random.default_rng(seed)),
    )
    if pairs[0].size >= 10:
        errors = positive - calibrate(scores, positive, "sigmoid")(scores)
        bound, bound_z = correlation_of_pairs(errors, pairs)
        judged = judged._replace(bound=bound, bound_z=bound_z)
    if known.name == COPIES and known.share < 0.05 and not judged.matters:  # too few to change the AUC
        return judged
    if not independent:
        independent[0] = quick_scores(X, positive, 5, seed)
    apart, others = independent[0]
    if judged.matters:
        informed = scores_of_known_groups(positive, others, codes, judged.bound, seed)
        apart, others = max((apart, others), (roc_auc(positive, informed), informed), key=lambda one: one[0])
    return judged._replace(apart=apart, z=delong_test(positive, others, scores).z)


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
    chances = calibrate(scores, positive, "sigmoid")(scores)
    fifth = np.random.default_rng(seed).integers(0, 5, positive.size)
    errors, counts = np.zeros((2, int(groups.max()) + 1, 5))
    np.add.at(errors, (groups, fifth), positive - chances)
    np.add.at(counts, (groups, fifth), 1.0)
    total, n = (own.sum(axis=1)[groups] - own[groups, fifth] for own in (errors, counts))
    return chances + bound * total / (1.0 + np.maximum(n - 1.0, 0.0) * bound)


def quick_scores(
    X: Any, positive: np.ndarray, folds: Any, seed: int, maps: dict[str, Any] | None = None
) -> tuple[float, np.ndarray]:
    """The mean AUC of the folds of a quick model, and the score of each row by a model that has not seen it.

    The model has straight lines or curves, whichever the folds find better, unless other maps are given; rows that no
    fold holds out score 0.
    """
    if maps is None:
        texts = sum(not numeric for numeric in numeric_flags(X))
        most = max(5, min(50, 2_000 // max(texts, 1)))
        maps = {"linear": LinearFeatures(max_categories=most), "additive": AdditiveFeatures(max_categories=most)}
    search = TableClassifier(features=maps, cv=folds, selection="best", calibration=None, n_jobs=1, random_state=seed)
    with warnings.catch_warnings(action="ignore"), blas_threads(1 if positive.size <= 5_000 else None):
        fitted = search.fit(X, positive)
    held_out, scores = fitted.out_of_fold_, np.zeros(positive.size)
    scores[held_out.places] = held_out.scores
    return float(fitted.best_score_), scores


def draw_groups(codes: np.ndarray, most: int, seed: int) -> np.ndarray:
    """Places of at most `most` rows: all rows of groups drawn at random, or of the table if it has no more."""
    if codes.size <= most:
        return np.arange(codes.size)
    order = np.random.default_rng(seed).permutation(int(codes.max()) + 1)
    sizes = np.bincount(codes)[order]
    return np.flatnonzero(np.isin(codes, order[np.cumsum(sizes) <= most]))
