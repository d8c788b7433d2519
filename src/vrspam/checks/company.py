"""Columns that give the answer away together, and hide each other.

Where several columns tell the label, none of them stands out, and leaving one out changes little. So columns are left
out one after the other, each time the one without which a quick model is worst, until its AUC falls.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils.findings import OPTION, Finding, Fix
from vrspam._utils.texts import auc_text
from vrspam._utils.warnings import FewerFolds, in_short
from vrspam.checks.quick_model import draw_groups, quick_scores
from vrspam.features import AdditiveFeatures
from vrspam.features.names import named_maps
from vrspam.model_selection.group_splits import group_folds
from vrspam.tables.frames import rows_of

TOO_GOOD = 0.99  # an AUC that hardly any table of real rows has
FALLEN = 0.95  # below, the AUC is nothing to wonder about, unless a column alone is suspect; below HIGH it is not
HIGH = 0.9
SUSPECT = 0.85  # the AUC of one column alone from which it is looked at with the others
FEW_ROWS = 2_000  # of the quick models
MOST_LEFT_OUT = 12
MOST_TRIED = 10
MOST_IN_VAIN = 3  # times that columns beyond the two best are tried, and none of them does better
CHANGED = 0.01  # a smaller fall of the AUC says nothing


class Removal(NamedTuple):
    """A column that was left out, its AUC alone, and the AUC of a quick model without it and those before."""

    column: str
    alone: float
    without: float


def look_at_company(
    X: Any,
    positive: np.ndarray,
    aucs: Mapping[str, float],
    named: Collection[str],
    groups: np.ndarray | None,
    seed: int,
    promised: float | None = None,
) -> Finding | None:
    """The finding that columns together tell the label nearly without error, and which to look at first.

    `aucs` are those of single columns, `named` the columns that another finding has named; they are left out first.
    `promised` is the AUC that a model promises; without it a quick model tells whether there is something to find.
    """
    if X is None or not hasattr(X, "column_names"):
        return _without_columns(promised)
    rows = draw_groups(np.arange(positive.size) if groups is None else groups, FEW_ROWS, seed)
    y = positive[rows]
    if min(y.sum(), (~y).sum()) < 20:
        return _without_columns(promised)
    unnamed = {name: auc for name, auc in aucs.items() if name not in named}
    others = rows_of(_without(X, named), rows)
    if not unnamed or not others.column_names:
        return None

    folds: Any = 5
    if groups is not None:
        with warnings.catch_warnings(action="ignore", category=FewerFolds):
            folds = group_folds(y, groups[rows], 5, seed)
    curves = {"additive": AdditiveFeatures(max_categories=20)}
    quick = QuickModel(others, y, folds, seed, curves)
    auc = quick.auc()
    if promised is None or named:
        if auc < TOO_GOOD:
            return None
        return describe_company(auc, leave_out(quick, unnamed, auc), named)

    if auc < min(promised, TOO_GOOD) - 0.01:  # curves do not see what tells the answer
        trees = {"boosted": named_maps("boosted", None)["boosted"]}
        quick = QuickModel(others, y, folds, seed, trees)
        auc = quick.auc()
    return describe_company(promised, leave_out(quick, unnamed, auc), named)


class QuickModel(NamedTuple):
    """A quick model that is fitted again and again, without some of the columns."""

    X: Any
    positive: np.ndarray
    folds: Any
    seed: int
    maps: dict[str, Any]

    def auc(self, without: Collection[str] = ()) -> float:
        """The AUC in folds of a model without these columns; 0.5 if no column is left."""
        X = _without(self.X, without)
        if not X.column_names:
            return 0.5
        return quick_scores(X, self.positive, self.folds, self.seed, self.maps).auc


def leave_out(quick: QuickModel, aucs: Mapping[str, float], auc: float) -> list[Removal]:
    """Leave out one column after the other, the one without which a quick model is worst, until its AUC has fallen.

    Of the columns that are left, the two with the highest AUC alone are tried, and others where the AUC stays as it
    is without them: a pair of dates may tell by their difference alone. Where this was in vain several times, it is
    given up: then many columns tell the answer.
    """
    removed: list[Removal] = []
    in_vain = 0
    left = sorted(aucs, key=lambda name: -aucs[name])
    while len(removed) < MOST_LEFT_OUT and len(left) > 1:
        if auc < FALLEN and (auc < HIGH or aucs[left[0]] < SUSPECT):
            break
        before = [removal.column for removal in removed]
        tried = [Removal(name, aucs[name], quick.auc([*before, name])) for name in left[:2]]
        best = min(tried, key=lambda removal: (removal.without, -removal.alone))
        if best.without > auc - CHANGED and in_vain < MOST_IN_VAIN:
            others = [Removal(name, aucs[name], quick.auc([*before, name])) for name in left[2:MOST_TRIED]]
            best_other = min(others, key=lambda removal: removal.without, default=best)
            if best_other.without + CHANGED < best.without:
                best = best_other
                in_vain = 0
            else:
                in_vain += 1
        removed.append(best)
        left.remove(best.column)
        auc = best.without
    return removed


def _without(X: Any, names: Collection[str]) -> Any:
    """The columns of a table without some, and without what was made of these, such as the year of a date."""
    return X.select([column for column in X.column_names if not is_made_of(column, names)])


def is_made_of(feature: str, columns: Collection[str]) -> bool:
    """Whether a feature is one of the columns, or was made of one of them, as the year of a date."""
    return any(feature == column or feature.startswith(f"{column} (") for column in columns)


def describe_company(auc: float, removed: Sequence[Removal], named: Collection[str] = ()) -> Finding:
    """The finding that an AUC is too good to be true, with the columns to look at first and what is left without them.

    >>> print(describe_company(0.997, [Removal("is_recid", 0.972, 0.991), Removal("days", 0.9, 0.71)]))
    too good to be true: the AUC is 0.997. Look at 'is_recid' first (0.97 alone), then at 'days' (0.90): without them
    it falls to 0.71. If they are not known before the outcome, leave them out with drop=['is_recid', 'days']
    >>> print(describe_company(0.997, [Removal("area", 0.98, 0.996)]))
    too good to be true: the AUC is 0.997. Look at 'area' first (0.98 alone): without it the AUC is still 0.996,
    so many columns tell the answer. Are they known before the outcome?
    """
    even_without = f"even without {in_short(sorted(named))} " if named else ""
    sentence = f"too good to be true: {even_without}the AUC is {auc_text(auc)}"
    if not removed:
        sentence += ". Look for columns that are filled in after the outcome"
        return Finding("leak", "severe", sentence, numbers={"auc": auc})

    first, *others = removed[:5]
    sentence += f". Look at {first.column!r} first ({auc_text(first.alone, 2)} alone)"
    if others:
        listed = ", ".join(f"{removal.column!r} ({auc_text(removal.alone, 2)})" for removal in others)
        not_shown = len(removed) - 1 - len(others)
        sentence += f", then at {listed}" + (f" and {not_shown} more" if not_shown > 0 else "")

    them = "it" if len(removed) == 1 else "them"
    columns = [removal.column for removal in removed]
    auc_left = removed[-1].without
    numbers = {"auc": auc, "auc_left": auc_left}
    if auc_left >= FALLEN:
        sentence += f": without {them} the AUC is still {auc_text(auc_left, 2)}, so many columns tell the answer. "
        sentence += "Are they known before the outcome?"
        return Finding("leak", "severe", sentence, numbers=numbers, columns=columns)

    what_falls = "the AUC" if len(removed) == 1 else "it"
    they_are = "it is" if len(removed) == 1 else "they are"
    sentence += f": without {them} {what_falls} falls to {auc_text(auc_left, 2)}"
    fix = Fix("drop", columns, f". If {they_are} not known before the outcome, leave {them} out with {OPTION}")
    return Finding("leak", "severe", sentence, [fix], numbers, columns)


def _without_columns(promised: float | None) -> Finding | None:
    return None if promised is None else describe_company(promised, [])
