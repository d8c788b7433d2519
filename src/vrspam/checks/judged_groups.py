"""Whether groups of rows matter, as a quick model shows.

They do by its AUC with folds that split the groups and with folds that keep them, and by the correlation of its errors
within groups. If errors are correlated, a model that learns the groups, and so the errors of other rows, has a higher
AUC in folds that split them.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils.findings import Severity
from vrspam._utils.names import COPIES
from vrspam._utils.texts import auc_text
from vrspam.checks.copies import share_in_groups
from vrspam.checks.quick_model import QUICK_ROWS, QuickScores, draw_groups, quick_scores
from vrspam.checks.row_pairs import correlation_of_pairs, pairs_of
from vrspam.metrics import delong_test, roc_auc
from vrspam.model_selection.calibration import calibrate
from vrspam.model_selection.folds import group_folds
from vrspam.tables.frames import rows_of


class JudgedGroups(NamedTuple):
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
    def severity(self) -> Severity:
        """How grave it is that rows of the groups are alike, if that matters."""
        if not self.possible or not self.is_judged_by_model or self.changes_headline:
            return "severe"
        return "warning"

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers of the finding about the groups."""
        numbers = {"share": self.share}
        if self.is_judged_by_model:
            numbers |= {"apart": self.apart, "together": self.together}
        return numbers

    def what_it_changes(self, together: str, new_rows: str) -> str:
        """How the sentence about groups that matter goes on; `together` is what folds keep, `new_rows` what comes."""
        if self.is_judged_by_model:
            text = (
                f": a quick model has the AUC {auc_text(self.apart, 2)} if rows are taken as independent, "
                f"{auc_text(self.together, 2)} if folds keep {together} together"
            )
        else:
            text = ", and so are their labels"

        if not self.possible:
            text += (
                ". But too few of them have another label than the others, so that folds cannot keep them together: "
                f"the AUC to expect is too high for {new_rows}"
            )
        elif self.changes_headline:
            text += f"; expect the second for {new_rows}"
        elif self.is_judged_by_model:
            text += "; intervals would be too narrow"
        return text

    @property
    def is_judged_by_model(self) -> bool:
        """Whether there are enough rows for the quick model."""
        return not np.isnan(self.apart)

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


def judge_groups(name: str, codes: np.ndarray, table: QuickTable) -> JudgedGroups:
    """Judge by the quick model whether groups of rows matter; by their labels, where there are too few rows for it."""
    by_labels = JudgedGroups(name, share_in_groups(codes), codes, np.nan, np.nan)
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
    by_labels: JudgedGroups, codes: np.ndarray, X: Any, others: list[str], positive: np.ndarray, table: QuickTable
) -> JudgedGroups:
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
