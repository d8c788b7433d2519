"""What a careful statistician would ask about these data before trusting a model of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from vrspam.data import Schema
from vrspam.metrics import roc_auc_columns
from vrspam.moments import ClassMoments

LEAKAGE_AUC = 0.999
FEW = 50  # of a class: below, intervals are wide and choices of the penalty shaky
CANDIDATES = 1000  # most features whose AUC is computed one by one
ROWS_PER_CATEGORY = 50  # with fewer, categories fit the labels by chance
SHOWN = 5  # names in one warning


def few_rows(moments: ClassMoments) -> list[str]:
    """Warnings about the size of the classes."""
    return [
        f"only {count} rows are {name}: intervals are wide and the choice of the penalty is shaky"
        for name, count in zip(("not positive", "positive"), moments.rows.tolist(), strict=True)
        if count < FEW
    ]


def constant_features(schema: Schema, deviation: np.ndarray) -> list[str]:
    """Warnings about features without spread."""
    constant = np.flatnonzero(deviation == 0.0)
    if not constant.size:
        return []
    names = _shown([schema.feature_names[j] for j in constant])
    return [f"constant and so without effect: {names}"]


def missing_values(gaps: np.ndarray, moments: ClassMoments, schema: Schema) -> list[str]:
    """A warning about columns with gaps, the worst first.

    `gaps` counts those of the numeric columns; a row without a category is in none of its column's features.
    """
    rows = int(moments.rows.sum())
    missing = dict(zip(schema.numeric, gaps.tolist(), strict=True))
    start, counts = len(schema.numeric), moments.rows @ moments.means
    for name, values in schema.categorical.items():
        missing[name] = rows - round(counts[start : start + len(values)].sum())
        start += len(values)
    worst = sorted((name for name in missing if missing[name] > 0), key=lambda name: -missing[name])
    if not worst:
        return []
    shown = ", ".join(f"{name!r} in {_percent(missing[name] / rows)} of the rows" for name in worst[:SHOWN])
    more = f", and in {len(worst) - SHOWN} more columns" if len(worst) > SHOWN else ""
    return [f"values are missing: {shown}{more}"]


def leaking_features(X: Any, positive: np.ndarray, moments: ClassMoments, schema: Schema) -> list[str]:
    """Warnings about features that separate the classes all but alone: do they know the answer?"""
    suspects = []
    for j, auc in _single_aucs(X, positive, moments):
        if max(auc, 1.0 - auc) > LEAKAGE_AUC:
            suspects.append((schema.feature_names[j], max(auc, 1.0 - auc)))
    start = len(schema.numeric)
    for name, values in schema.categorical.items():
        columns = slice(start, start + len(values))
        start += len(values)
        if 2 < len(values) <= positive.size / ROWS_PER_CATEGORY:
            auc = _category_auc(X[:, columns], positive)
            if auc > LEAKAGE_AUC:
                suspects.append((name, auc))
    return [
        f"{name!r} alone separates the classes (AUC {auc:.4f}): is it known before the outcome? "
        f"If not, leave it out with drop="
        for name, auc in suspects[:SHOWN]
    ]


def _single_aucs(X: Any, positive: np.ndarray, moments: ClassMoments) -> list[tuple[int, float]]:
    """(feature, its AUC); of a wide table those whose class means are furthest apart."""
    distance = np.abs(moments.delta) / np.sqrt(moments.within_diagonal + np.finfo(float).tiny)
    chosen = np.sort(np.argsort(-distance, kind="stable")[:CANDIDATES])
    columns = sparse.csc_array(X) if sparse.issparse(X) else X
    found: list[tuple[int, float]] = []
    for start in range(0, chosen.size, 50):
        part = chosen[start : start + 50]
        block = columns[:, part]
        aucs = roc_auc_columns(positive, block.toarray() if sparse.issparse(block) else block)
        found += zip(part.tolist(), aucs.tolist(), strict=True)
    return found


def _category_auc(indicators: Any, positive: np.ndarray) -> float:
    """AUC of ranking rows by the share of positives of their category."""
    count = np.asarray(indicators.sum(axis=0)).ravel()
    share = np.asarray(indicators.T @ positive.astype(float)).ravel() / np.maximum(count, 1.0)
    return float(roc_auc_columns(positive, np.asarray(indicators @ share).reshape(-1, 1))[0])


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 0.0005 else "less than 0.1 %"


def _shown(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(map(repr, names[:SHOWN])) + more
