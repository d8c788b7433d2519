"""Rows that are not independent: columns whose values name patients, incidents or days, and rows that are copies.

A column names groups of rows if rows of one value agree in other columns too, far beyond chance: for each other column
D = (a - c) / (1 - c), where a is the share of pairs of rows of one group that agree in it, and c that of all pairs. The
mean of D over columns is 1 for copies, 0 for independent rows. Rows that agree in all columns but one are near copies.

A quick model, straight lines or curves on at most 5,000 rows, shows whether groups matter: by its AUC with folds that
split the groups and with folds that keep them, and by the correlation of its errors within groups. If errors are
correlated, a model that learns the groups, and so the errors of other rows, has a higher AUC in folds that split them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from vrspam import AUCClassifierCV
from vrspam._utils.blas import blas_threads
from vrspam.features import AdditiveFeatures, LinearFeatures
from vrspam.metrics import delong_test, roc_auc
from vrspam.model_selection.calibration import calibrate
from vrspam.model_selection.folds import group_folds
from vrspam.model_selection.pairs import whole_units
from vrspam.report.words import describe_candidate
from vrspam.tables.columns import ID_NAME
from vrspam.tables.frames import numeric_flags, rows_of
from vrspam.tool.plan import COPIES

QUICK_ROWS = 5_000
QUICK_COLUMNS = 200
SHARED = 0.25  # mean of D from which a column names groups


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
    folds that keep them, `z` their difference in standard errors. `bound` is the correlation of the errors of two rows
    of one group, `bound_z` in standard errors.
    """

    name: str
    share: float
    codes: np.ndarray
    apart: float
    together: float
    z: float = 0.0
    bound: float = 0.0
    bound_z: float = 0.0

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
        return self.changes_headline or (self.bound > least and self.bound_z > 3.0)


def name_groups(
    columns: Mapping[str, np.ndarray], names: Mapping[str, np.ndarray] = {}, seed: int = 0
) -> list[tuple[str, float, np.ndarray]]:
    """Columns whose values name groups of rows: name, mean of D over the other columns, and the group of each row.

    `columns` are codes, -1 for missing; `names` are codes of columns that are not used as features. The columns that
    rows of a group share must not all follow from one of them, as a region from its town, unless the column of groups
    is called an "id". Of columns with nearly the largest mean of D, the one with the most groups comes first. Up to two
    others that are called an "id" follow, such as cards that pay in many stores: there two shared columns are enough.

    >>> rng = np.random.default_rng(0)
    >>> patient = np.repeat(np.arange(50), 4)
    >>> table = {"patient": patient, "visit": rng.integers(0, 9, 200)}
    >>> table |= {name: rng.integers(0, 2, 50)[patient] for name in ("sex", "old")}
    >>> [name for name, _, _ in name_groups(table)]
    ['patient']
    >>> name_groups({name: rng.permutation(codes) for name, codes in table.items()})
    []
    """
    least_groups, most_each = 20, 100  # groups, and rows of a group in the mean: an age or a state names no group
    found: list[tuple[str, float, np.ndarray]] = []
    rng = np.random.default_rng(seed)
    values = {name: int(codes.max(initial=-1)) + 1 for name, codes in {**columns, **names}.items()}
    chances = {name: float(np.sum((np.bincount(c + 1) / c.size) ** 2)) for name, c in columns.items()}
    for name, codes in {**columns, **names}.items():
        present = codes >= 0
        if values[name] < least_groups or not present.sum() / most_each <= values[name] <= 0.95 * present.sum():
            continue
        shares = _shares(codes, {other: column for other, column in columns.items() if other != name}, chances, rng)
        shared = {other: columns[other] for other, share in shares.items() if share > 0.9}
        mean, called_id = float(np.mean([*shares.values()] or 0.0)), ID_NAME.search(name.lower())
        if len(shares) > 1 and (mean > SHARED or called_id):
            coarse = [other for other in shared if 2 * values[other] <= values[name]]
            nested = [
                x for c in coarse for x, d in _shares(columns[c], shared, chances, rng).items() if x != c and d > 0.9
            ]
            if len(shared) - len({*nested}) > 1 or (shared and called_id and mean > SHARED):
                found.append((name, mean, np.where(present, codes, np.cumsum(~present) + values[name] - 1)))
    best = max((mean for _, mean, _ in found), default=0.0)
    first = max((one for one in found if one[1] > best - 0.05), key=lambda one: int(one[2].max()), default=None)
    others = [one for one in found if one is not first and ID_NAME.search(one[0].lower())]
    return [] if first is None else [first, *sorted(others, key=lambda one: -one[1])[:2]]


def _shares(
    codes: np.ndarray, columns: Mapping[str, np.ndarray], chances: Mapping[str, float], rng: np.random.Generator
) -> dict[str, float]:
    """D of each column that is not nearly constant, for pairs of rows of the same code; any two agree by `chances`."""
    first, second = _pairs(codes, rng)
    found = {}
    for name, column in columns.items():
        chance = chances[name]
        if chance <= 0.95 and first.size:
            found[name] = (float(np.mean(column[first] == column[second])) - chance) / (1.0 - chance)
    return found


def _pairs(codes: np.ndarray, rng: np.random.Generator, most: int = 100_000) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of rows of the same code, drawn at random, at most `most` of them."""
    drawn = rng.permutation(codes.size)
    keys = (codes[drawn] + 1) * drawn.size + np.arange(drawn.size)  # random order inside a group, not the file's
    order = drawn[np.sort(keys) % drawn.size]
    ordered = codes[order]
    places = np.flatnonzero((ordered[1:] == ordered[:-1]) & (ordered[1:] >= 0))
    places = places if places.size <= most else np.sort(rng.choice(places, most, replace=False))
    return order[places], order[places + 1]


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


def judge_groups(name: str, codes: np.ndarray, X: Any, positive: np.ndarray, seed: int) -> Repeats:
    """Judge by the quick model whether groups of rows matter."""
    sizes = np.bincount(codes)
    share = float(sizes[sizes > 1].sum() / codes.size)
    unknown = Repeats(name, share, codes, np.nan, np.nan)
    rows = draw_groups(codes, QUICK_ROWS, seed)
    some, y = rows_of(X, rows) if rows.size < codes.size else X, positive[rows]
    smaller = int(min(y.sum(), (~y).sum()))
    if smaller < 20:
        return unknown
    left = [column for column in some.column_names if column != name and not column.startswith(f"{name} (")]
    if not left:
        return unknown
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        try:
            folds = group_folds(y, codes[rows], 5, seed)
        except ValueError:  # there are too few groups
            return unknown
    together, scores = quick_scores(some.select(left), y, folds, seed)
    judged, (first, second) = unknown._replace(together=together), _pairs(codes[rows], np.random.default_rng(seed))
    if first.size >= 20:
        errors = y - calibrate(scores, y, "sigmoid")(scores)
        products = errors[first] * errors[second]
        squares = np.sum(errors[first] ** 2 + errors[second] ** 2) / 2.0
        bound = float(products.sum() / squares), float(products.sum() / np.sqrt(np.sum(products**2)))
        judged = judged._replace(bound=bound[0], bound_z=bound[1])
    if name == COPIES and share < 0.05 and not judged.matters:  # too few to change the AUC
        return judged
    apart, others = quick_scores(some, y, 5, seed)
    if judged.matters:
        known = scores_of_known_groups(y, others, codes[rows], judged.bound, seed)
        apart, others = max((apart, others), (roc_auc(y, known), known), key=lambda one: one[0])
    return judged._replace(apart=apart, z=delong_test(y, others, scores).z)


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


def quick_scores(X: Any, positive: np.ndarray, folds: Any, seed: int) -> tuple[float, np.ndarray]:
    """The mean AUC of the folds of a quick model, and the score of each row by a model that has not seen it.

    The model has straight lines or curves, whichever the folds find better; rows that no fold holds out score 0.
    """
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
