"""Columns that tell the label alone, by their values or by their gaps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from vrspam.checks.coded import CodedColumns
from vrspam.metrics import roc_auc_columns

SEVERE_LEAK = 0.99  # AUCs from which a column certainly tells too much: by its values,
SEVERE_GAPS = 0.95  # and by whether it is filled in


class DrawnRows(NamedTuple):
    """The rows on which columns are looked at one by one: their places, labels and a fold of five for each."""

    places: np.ndarray
    positive: np.ndarray
    fold: np.ndarray

    @classmethod
    def of(cls, positive: np.ndarray, seed: int, most: int = 50_000) -> DrawnRows:
        """All rows, or `most` of them that are drawn at random."""
        rng = np.random.default_rng(seed)
        places = np.arange(positive.size)
        if positive.size > most:
            places = np.sort(rng.choice(positive.size, most, replace=False))
        return cls(places, positive[places], rng.integers(0, 5, places.size))


class TellingColumns(NamedTuple):
    """The AUCs of columns that nearly tell the label by themselves, and of those whose gaps do."""

    leaks: Mapping[str, float]
    gaps: Mapping[str, float]

    @classmethod
    def of(cls, columns: CodedColumns, aucs: Mapping[str, float], rows: DrawnRows) -> TellingColumns:
        """Find them among columns with these AUCs.

        An AUC of 0.95 is no surprise where other columns tell the label nearly as well, as in measurements of one
        thing.
        """
        leaks: dict[str, float] = {}
        gaps: dict[str, float] = {}
        best_other = 0.5
        for name, auc in aucs.items():
            missing = columns.codes[name][rows.places] < 0
            auc_of_gaps = 0.5 + abs(missing[rows.positive].mean() - missing[~rows.positive].mean()) / 2.0
            if auc_of_gaps >= 0.8 and auc_of_gaps >= auc - 0.05:
                gaps[name] = auc_of_gaps
            elif auc >= 0.95:
                leaks[name] = auc
            else:
                best_other = max(best_other, auc)
        if leaks and max(leaks.values()) < 0.99 and 1.0 - best_other < 3.0 * (1.0 - min(leaks.values())):
            leaks = {}
        return cls(leaks, gaps)

    @property
    def names(self) -> list[str]:
        """The columns that are better left out."""
        return [*to_leave_out(self.leaks, SEVERE_LEAK), *to_leave_out(self.gaps, SEVERE_GAPS)]


def to_leave_out(aucs: Mapping[str, float], severe: float) -> list[str]:
    """The columns whose AUC is severe, as it is shown, or all if none is; the best comes first."""
    best_first = sorted(aucs, key=lambda name: -aucs[name])
    return [name for name in best_first if shown_auc(aucs[name]) >= severe] or best_first


def shown_auc(auc: float) -> float:
    """An AUC as sentences show it.

    >>> shown_auc(0.98996)
    0.99
    """
    return float(f"{auc:.3f}")


def auc_alone(codes: np.ndarray, positive: np.ndarray, fold: np.ndarray, ordered: bool) -> float:
    """The AUC of a column by each value's share of positives in other folds or, if `ordered` and larger, by its values.

    >>> rng = np.random.default_rng(0)
    >>> sick = rng.random(1000) < 0.3
    >>> fold, noise = rng.integers(0, 5, (2, 1000))
    >>> float(auc_alone(np.where(sick, 7, 3), sick, fold, False)), 0.4 < auc_alone(noise, sick, fold, False) < 0.6
    (1.0, True)
    """
    bins = codes + 1
    if ordered and codes.max(initial=0) >= 64:
        edges = np.unique(np.quantile(codes[codes >= 0], np.linspace(0.0, 1.0, 33)[1:-1]))
        bins = np.where(codes < 0, 0, 1 + np.searchsorted(edges, codes, side="left"))
    by_share = _share_in_other_folds(bins, positive, fold)
    if not ordered or not (codes >= 0).any():
        return float(roc_auc_columns(positive, by_share[:, None])[0])

    by_value = np.where(codes < 0, codes[codes >= 0].mean(), codes)
    auc_by_share, auc_by_value = roc_auc_columns(positive, np.column_stack([by_share, by_value])).tolist()
    return max(auc_by_share, auc_by_value, 1.0 - auc_by_value)


def _share_in_other_folds(bins: np.ndarray, positive: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """The share of positives among the rows of the same bin in other folds, drawn a little to that of all rows."""
    n_bins = int(bins.max(initial=0)) + 1
    cells = 5 * bins + fold
    rows = np.bincount(cells, minlength=5 * n_bins).reshape(n_bins, 5)
    positives = np.bincount(cells, positive, 5 * n_bins).reshape(n_bins, 5)
    other_rows = rows.sum(axis=1, keepdims=True) - rows
    other_positives = positives.sum(axis=1, keepdims=True) - positives
    share = (other_positives + positive.mean()) / (other_rows + 1.0)
    return share.ravel()[cells]
