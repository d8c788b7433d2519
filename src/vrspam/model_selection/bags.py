"""Which rows each set of trees learns from, and whose mean scores the rows of a fold, and new rows.

A mean of models spreads less than each of them, and models of many rows less than those of few: a threshold that was
chosen on scores of single models calls another share of the rows that a mean has scored. So both are means here, of
trees of about as many rows. The rows are cut into five parts (the folds, or several folds together), and each set of
trees leaves out two of them. A row is held out by the sets that leave out its own part, four out of ten; the model is
the mean of all ten. What still differs, a mean of four or of ten, is made up for by a factor (`Bags.stretch`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from vrspam.metrics.correction import group_numbers
from vrspam.model_selection.folds import FoldedRows

PARTS = 5  # of the rows, at most
CUTS = {2: 4, 3: 2}  # into how many parts each of two or three folds is cut
PARTS_INSIDE = 3  # of the training rows of a fold, where folds are no parts of the rows
CELLS = 24  # of all rows, of which sets for the model take some
LEAST_OTHERS = 3  # parts that a set may leave out beside its own: fewer would leave too few rows to learn from


class Bags(NamedTuple):
    """The rows of each set of trees, and what the sets count in the scores of held-out rows and of new rows.

    Attributes
    ----------
    rows : list of arrays
        The training rows of each set of trees.
    of_fold : array (folds, sets)
        What each set counts in the score of a row that the fold holds out; each line adds up to 1.
    of_model : array of sets
        What each set counts in the score of a new row; adds up to 1.
    """

    rows: list[np.ndarray]
    of_fold: np.ndarray
    of_model: np.ndarray

    def members(self, fold: int) -> np.ndarray:
        """The numbers of the sets that score the rows of a fold."""
        return np.flatnonzero(self.of_fold[fold])

    def stretch(
        self, members: Sequence[np.ndarray], positive: Sequence[np.ndarray], n_rows: int, further: float
    ) -> float:
        """The factor by which scores of the model must be multiplied to spread as held-out ones do.

        `members` are, for each fold, the scores of its rows by each of its sets (rows × sets), and `positive` the
        classes of these rows. Their correlation ρ inside the classes gives the variance of a mean of them; the distance
        of the classes is no noise, and a mean does not shrink it. Two sets of the model may have fewer training rows in
        common, and no held-out row tells how these correlate: ρ falls by `further` times as much for each row less as
        it has fallen from 1 (0: not at all; 1: as for scores that are sums over their training rows).
        """
        if self.of_fold.shape[1] == 1 or min(scores.shape[1] for scores in members) < 2:
            return 1.0
        variance, covariance, inside = 0.0, 0.0, 0.0
        for scores, label in zip(members, positive, strict=True):
            centred = scores.astype(np.float64)
            for side in (label, ~label):
                if side.any():
                    centred[side] -= centred[side].mean(axis=0)
            products = centred.T @ centred
            own, size = float(np.trace(products)), len(products)
            variance += own / size
            covariance += (float(products.sum()) - own) / (size * (size - 1))
            inside += float(products.sum()) / size**2
        if not variance > 0.0:
            return 1.0
        common = self._overlap(n_rows)
        pairs = [pair for fold in range(len(self.of_fold)) for pair in combinations(self.members(fold), 2)]
        near = float(np.mean([common[pair] for pair in pairs]))
        rho = float(np.clip(covariance / variance, 0.0, 1.0))
        correlation = np.clip(rho - further * (1.0 - rho) * (near - common) / (1.0 - near), 0.0, 1.0)
        np.fill_diagonal(correlation, 1.0)
        judged = np.mean([weights @ correlation @ weights for weights in self.of_fold])
        handed_out = self.of_model @ correlation @ self.of_model
        means = np.concatenate([scores.mean(axis=1) for scores in members])
        total = float(means.var()) * means.size
        between = max(0.0, total - inside)
        return float(np.sqrt((inside + between) / (inside * handed_out / judged + between)))

    def _overlap(self, n_rows: int) -> np.ndarray:
        """The share of training rows that each two sets have in common."""
        used = np.zeros((len(self.rows), n_rows), dtype=np.float32)
        for line, rows in zip(used, self.rows, strict=True):
            line[rows] = 1.0
        sizes = np.array([rows.size for rows in self.rows])
        return (used @ used.T).astype(np.float64) / np.sqrt(np.outer(sizes, sizes))


def bags_of(folds: FoldedRows) -> Bags:
    """Sets of rows for trees that learn from labels, which never score a row that they have seen as held out.

    Where folds do not leave out each row equally often, as those in time, or where sets would lack a class, each fold
    has sets of its own, and the model has sets of as many rows.
    """
    bags = _means_over_parts(folds)
    if bags is not None and all(_has_both_classes(folds, rows) for rows in bags.rows):
        return bags
    return _means_inside_folds(folds)


def _means_over_parts(folds: FoldedRows) -> Bags | None:
    """Each set leaves out the parts of a fold and one more; None if folds are no such parts, or too few."""
    parts = _parts_of(folds)
    if parts is None:
        return None
    many = int(parts.max()) + 1
    held = [frozenset(np.unique(parts[split.validation]).tolist()) for split in folds.splits]
    if any(many - len(own) < LEAST_OTHERS for own in held):
        return None
    left_out = [[own | {other} for other in range(many) if other not in own] for own in held]
    sets = list(dict.fromkeys(one for members in left_out for one in members))
    of_fold = np.zeros((len(held), len(sets)))
    for line, members in zip(of_fold, left_out, strict=True):
        line[[sets.index(one) for one in members]] = 1.0 / len(members)
    rows = [np.flatnonzero(~np.isin(parts, list(one))) for one in sets]
    return Bags(rows, of_fold, np.full(len(sets), 1.0 / len(sets)))


def _parts_of(folds: FoldedRows) -> np.ndarray | None:
    """The part of each row, where rows of a part are always held out together; None if folds leave out unequally.

    Many folds are joined, and two or three are cut.
    """
    splits, n = folds.splits, folds.rows.y.size
    times = np.bincount(np.concatenate([split.validation for split in splits]), minlength=n)
    if times.min() != times.max() or any(split.train.size + split.validation.size != n for split in splits):
        return None
    parts = np.zeros(n, dtype=np.intp)
    for split in splits:
        held = np.zeros(n, dtype=np.intp)
        held[split.validation] = 1
        parts = np.unique(2 * parts + held, return_inverse=True)[1]
    many = int(parts.max()) + 1
    if many > PARTS:
        return parts * PARTS // many
    if many in CUTS and len(splits) == many:
        cut = CUTS[many]
        finer = cut * parts
        for number in range(many):
            rows = np.flatnonzero(parts == number)
            order, unit = _order_of_units(folds, rows)
            if order.size < cut:
                return None
            place = np.empty(order.size, dtype=np.intp)
            place[order] = np.arange(order.size) % cut
            finer[rows] += place[unit]
        return finer
    return parts


def _means_inside_folds(folds: FoldedRows) -> Bags:
    """Sets of each fold, and of all rows for the model, with as many rows; one set each where some lack a class."""
    n, many = folds.rows.y.size, len(folds.splits)
    rows = [one for split in folds.splits for one in _without_one_part(folds, split.train)]
    counts = np.kron(np.eye(many), np.full(PARTS_INSIDE, 1.0 / PARTS_INSIDE))
    of_model = _sets_of_all(folds, [rows[PARTS_INSIDE * fold].size / n for fold in range(many)])
    if not all(_has_both_classes(folds, one) for one in (*rows, *of_model)):
        rows, counts = [split.train for split in folds.splits], np.eye(many)
        of_model = [np.arange(n)]
    zeros = np.zeros((many, len(of_model)))
    last = np.concatenate([np.zeros(len(rows)), np.full(len(of_model), 1.0 / len(of_model))])
    return Bags([*rows, *of_model], np.hstack([counts, zeros]), last)


def _without_one_part(folds: FoldedRows, rows: np.ndarray) -> list[np.ndarray]:
    """Some rows without each of a few parts."""
    order, unit = _order_of_units(folds, rows)
    part = np.empty(order.size, dtype=np.intp)
    part[order] = np.arange(order.size) % PARTS_INSIDE
    return [rows[part[unit] != number] for number in range(PARTS_INSIDE)]


def _sets_of_all(folds: FoldedRows, shares: Sequence[float]) -> list[np.ndarray]:
    """Sets of all rows with these shares of them, in turn until every row is in two sets or more."""
    order, unit = _order_of_units(folds, np.arange(folds.rows.y.size))
    cell = np.empty(order.size, dtype=np.intp)
    cell[order] = np.arange(order.size) % CELLS
    groups_of_parts: list[np.ndarray] = []
    start = 0
    while start < 2 * CELLS:
        for share in shares:
            count = min(CELLS, max(1, round(share * CELLS)))
            taken = (start + np.arange(count)) % CELLS
            groups_of_parts.append(np.flatnonzero(np.isin(cell[unit], taken)))
            start += count
    return groups_of_parts


def _order_of_units(folds: FoldedRows, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows, or whole groups or strata, in random order but those with most positives first; and the unit of each row.

    Parts that are dealt in this order in turn have about as many positives each.
    """
    units = folds.groups
    if units is None:
        units = folds.pairs.units
    unit = np.arange(rows.size) if units is None else group_numbers(np.asarray(units)[rows], rows.size)
    positives = np.bincount(unit, folds.positive[rows] if folds.pairs.has_labels else None)
    drawn = np.random.default_rng(0).permutation(positives.size)
    return drawn[np.argsort(-positives[drawn], kind="stable")], unit


def _has_both_classes(folds: FoldedRows, rows: np.ndarray) -> bool:
    weights = folds.rows.weights
    counted = rows if weights is None else rows[weights[rows] > 0.0]
    return bool(np.unique(folds.positive[counted]).size == 2)
