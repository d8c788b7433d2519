"""Columns that give the answer away: one that tells it alone, and several that hide each other.

Where several columns tell the label, none of them stands out, and leaving one out changes little. So columns are left
out one after the other, each time the one without which a quick model is worst, until its AUC falls.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils.messages import Finding, Parameter
from vrspam._utils.texts import auc_text
from vrspam._utils.warnings import FewerFolds, in_short
from vrspam.features import AdditiveFeatures
from vrspam.features.names import named_maps
from vrspam.metrics import roc_auc_columns
from vrspam.model_selection.group_splits import group_folds
from vrspam.tables.frames import rows_of
from vrspam.tool.repeats import draw_groups, quick_scores

TOO_GOOD = 0.99  # an AUC that hardly any table of real rows has
FALLEN = 0.95  # below, the AUC is nothing to wonder about, unless a column alone is suspect; below HIGH it is not
HIGH = 0.9
SUSPECT = 0.85  # the AUC of one column alone from which it is looked at with the others
FEW_ROWS = 2_000  # of the quick models
MOST_LEFT_OUT = 12
MOST_TRIED = 10
CHANGED = 0.01  # a smaller fall of the AUC says nothing


class Removal(NamedTuple):
    """A column that was left out, its AUC alone, and the AUC of a quick model without it and those before."""

    column: str
    alone: float
    without: float


def alone(codes: np.ndarray, positive: np.ndarray, fold: np.ndarray, ordered: bool) -> float:
    """The AUC of a column by each value's share of positives in other folds or, if `ordered` and larger, by its values.

    >>> rng = np.random.default_rng(0)
    >>> sick = rng.random(1000) < 0.3
    >>> fold, noise = rng.integers(0, 5, (2, 1000))
    >>> float(alone(np.where(sick, 7, 3), sick, fold, False)), 0.4 < alone(noise, sick, fold, False) < 0.6
    (1.0, True)
    """
    bins = codes + 1
    if ordered and codes.max(initial=0) >= 64:
        edges = np.unique(np.quantile(codes[codes >= 0], np.linspace(0.0, 1.0, 33)[1:-1]))
        bins = np.where(codes < 0, 0, 1 + np.searchsorted(edges, codes, side="left"))
    width = int(bins.max(initial=0)) + 1
    cells = 5 * bins + fold
    count, hits = (np.bincount(cells, weights, 5 * width).reshape(width, 5) for weights in (None, positive))
    base = positive.mean()
    share = (hits.sum(1, keepdims=True) - hits + base) / (count.sum(1, keepdims=True) - count + 1.0)
    scores = [share.ravel()[cells]]
    if ordered and (codes >= 0).any():
        scores.append(np.where(codes < 0, codes[codes >= 0].mean(), codes))
    found, *straight = roc_auc_columns(positive, np.column_stack(scores)).tolist()
    return max(found, *(max(auc, 1.0 - auc) for auc in straight)) if straight else found


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
    columns = [name for name in aucs if name not in named]
    some = rows_of(_without(X, named), rows)
    if not columns or not some.column_names:
        return None
    folds: Any = 5
    if groups is not None:
        with warnings.catch_warnings(action="ignore", category=FewerFolds):
            folds = group_folds(y, groups[rows], 5, seed)
    maps: dict[str, Any] = {"additive": AdditiveFeatures(max_categories=20)}
    first = quick_scores(some, y, folds, seed, maps)[0]
    if promised is not None and not named and first < min(promised, TOO_GOOD) - 0.01:
        maps = {"boosted": named_maps("boosted", None)["boosted"]}  # what curves do not see
        first = quick_scores(some, y, folds, seed, maps)[0]
    if first < TOO_GOOD and (promised is None or named):
        return None
    removed = leave_out(some, y, folds, {name: aucs[name] for name in columns}, first, seed, maps)
    return describe_company(first if promised is None or named else promised, removed, named)


def leave_out(
    X: Any, positive: np.ndarray, folds: Any, aucs: Mapping[str, float], auc: float, seed: int, maps: dict[str, Any]
) -> list[Removal]:
    """Leave out one column after the other, the one without which a quick model is worst, until its AUC has fallen.

    Of the columns that are left, the two with the highest AUC alone are tried, and others where the AUC stays as it
    is without them: a pair of dates may tell by their difference alone.
    """
    removed: list[Removal] = []
    left = sorted(aucs, key=lambda name: -aucs[name])
    while len(removed) < MOST_LEFT_OUT and len(left) > 1:
        if auc < FALLEN and (auc < HIGH or aucs[left[0]] < SUSPECT):
            break
        tried = [_removal(X, positive, folds, name, aucs, removed, seed, maps) for name in left[:2]]
        best = min(tried, key=lambda one: (one.without, -one.alone))
        if best.without > auc - CHANGED:
            more = [_removal(X, positive, folds, name, aucs, removed, seed, maps) for name in left[2:MOST_TRIED]]
            best = min([best, *more], key=lambda one: one.without + CHANGED * (one is not best))
        removed.append(best)
        left.remove(best.column)
        auc = best.without
    return removed


def _removal(
    X: Any,
    positive: np.ndarray,
    folds: Any,
    name: str,
    aucs: Mapping[str, float],
    removed: Sequence[Removal],
    seed: int,
    maps: dict[str, Any],
) -> Removal:
    """What is left without a column and those that were left out before; 0.5 if no column is left."""
    others = _without(X, {name, *(one.column for one in removed)})
    if not others.column_names:
        return Removal(name, aucs[name], 0.5)
    return Removal(name, aucs[name], quick_scores(others, positive, folds, seed, maps)[0])


def _without(X: Any, names: Collection[str]) -> Any:
    """The columns of a table without some, and without what was made of these, such as the year of a date."""
    return X.select([c for c in X.column_names if not any(c == name or c.startswith(f"{name} (") for name in names)])


def describe_company(auc: float, removed: Sequence[Removal], named: Collection[str] = ()) -> Finding:
    """The finding that an AUC is too good to be true, with the columns to look at first and what is left without them.

    >>> print(describe_company(0.997, [Removal("is_recid", 0.972, 0.991), Removal("days", 0.9, 0.71)]))
    too good to be true: the AUC is 0.997. Look at 'is_recid' first (0.97 alone), then at 'days' (0.90): without them
    it falls to 0.71. If they are not known before the outcome, leave them out with drop=['is_recid', 'days']
    >>> print(describe_company(0.997, [Removal("area", 0.98, 0.996)]))
    too good to be true: the AUC is 0.997. Look at 'area' first (0.98 alone): without it the AUC is still 0.996,
    so many columns tell the answer. Are they known before the outcome?
    """
    fields: dict[str, Any] = {"auc": auc_text(auc), "named": in_short(sorted(named))}
    words = "too good to be true: " + ("even without {named} " if named else "") + "the AUC is {auc}"
    if not named:
        del fields["named"]
    if not removed:
        return Finding("leak", "severe", words + ". Look for columns that are filled in after the outcome", **fields)
    shown = removed[:5]
    words += ". Look at {first} first ({alone} alone)"
    fields |= {"first": repr(shown[0].column), "alone": auc_text(shown[0].alone, 2)}
    if others := [f"{one.column!r} ({auc_text(one.alone, 2)})" for one in shown[1:]]:
        more = f" and {len(removed) - len(shown)} more" if len(removed) > len(shown) else ""
        words += ", then at {others}"
        fields["others"] = ", ".join(others) + more
    them = "it" if len(removed) == 1 else "them"
    last = removed[-1].without
    fields["rest"] = auc_text(last, 2)
    if last >= FALLEN:
        words += f": without {them} the AUC is still {{rest}}, so many columns tell the answer. "
        words += "Are they known before the outcome?"
        return Finding("leak", "severe", words, **fields)

    fallen = "the AUC falls to" if len(removed) == 1 else "it falls to"
    subject = "it is" if len(removed) == 1 else "they are"
    words += (
        f": without {them} {fallen} {{rest}}. If {subject} not known before the outcome, leave {them} out with {{drop}}"
    )
    names = [one.column for one in removed]
    return Finding("leak", "severe", words, **fields, drop=Parameter("drop", names))


def _without_columns(promised: float | None) -> Finding | None:
    return None if promised is None else describe_company(promised, [])
