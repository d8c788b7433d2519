"""What fit keeps of the columns of a table: their distributions or categories, and the encoders made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from vrspam._utils.messages import Parameter, WordedError
from vrspam.features import frames
from vrspam.features.encoders import LARGEST, N_NODES, Distribution, Encoder, Indicators, distribution

NEARLY_ALL = 0.9  # share of different values that makes a text an identifier

# What fit keeps of a column: its distribution and whether values are missing, or its categories.
ColumnSummary = tuple[Distribution, bool] | Indicators


class SeenColumns(NamedTuple):
    """What fit keeps of all columns, and the encoders that maps have made of it: those of equal maps are the same."""

    columns: list[ColumnSummary]
    encoders: dict[tuple, list[Encoder]]


# What maps that learn from the same rows, with the same weights, have seen of the columns: by the settings it rests on.
SharedColumns = dict[tuple, SeenColumns]


def _see_numbers(X, j: int, weights: np.ndarray | None, some: np.ndarray | None) -> ColumnSummary:
    """The distribution of column j over all rows or, where even `some` rows have many different values, over those."""
    values = frames.numbers(X, j)
    present = ~np.isnan(values)
    missing = not present.all()
    if float(np.fmax.reduce(np.abs(values))) > LARGEST:
        raise ValueError(f"Column {frames.name_of(X, j)!r} holds numbers beyond {LARGEST:.0e}: remove or replace them.")
    if some is not None:
        chosen = some[present[some]]
        if _has_many(values[chosen]):
            return distribution(values[chosen], None if weights is None else weights[chosen]), missing
    if missing:
        values, weights = values[present], None if weights is None else weights[present]
    return distribution(values, weights), missing


def _has_many(values: np.ndarray) -> bool:
    """Whether more values differ than a distribution keeps; the first of them mostly tell."""
    return np.unique(values[: 8 * N_NODES]).size > N_NODES or np.unique(values).size > N_NODES


def _see_categories(X, j: int, weights: np.ndarray | None, most: int) -> Indicators:
    """The categories of a column; scaled by it, the indicator of each has variance 1.

    Of more than `most` the most frequent are kept, and the others counted as one; a column that differs in nearly every
    row is refused.
    """
    found = frames.categories(X, j)
    seen = Indicators(tuple(sorted(value for value in found if value is not None)), None in found)
    codes = frames.category_codes(X, j, seen.codes)
    counts = np.bincount(codes, weights, seen.width)
    different = len(seen.categories)
    if different > most:
        if different > NEARLY_ALL * np.count_nonzero(codes < different):
            raise WordedError(
                "Column {column!r} has more than {most} different values that are not numbers: drop it if it is a "
                "name, convert it if it holds numbers as text, group its rare values, or raise {limit}.",
                column=frames.name_of(X, j),
                most=most,
                limit=Parameter("max_categories"),
            )
        by_count = np.argsort(-counts[:different], kind="stable")
        kept, rare = np.sort(by_count[: most - 1]), by_count[most - 1 :]
        names = tuple(seen.categories[i] for i in kept)
        counts = np.concatenate([counts[kept], [counts[rare].sum()], counts[different:]])
        seen = Indicators((*names, _rare_name(names)), seen.missing, grouped=rare.size)
    share = counts / counts.sum()
    variance = share * (1.0 - share)
    return replace(seen, scale=tuple((1.0 / np.sqrt(np.where(variance > 0.0, variance, 1.0))).tolist()))


def _rare_name(names: Sequence[str]) -> str:
    """What the group of rare categories is called: a name that no category has."""
    name = "(rare)"
    while name in names:
        name = f"({name})"
    return name


def see_columns(
    X: Any, weights: np.ndarray | None, some: np.ndarray | None, max_categories: int
) -> list[ColumnSummary]:
    """What is kept of each column of X, with weights of its rows; of a column of many values, from `some` rows."""
    columns = sparse.csc_array(X) if sparse.issparse(X) else frames.columns_of(X)
    seen: list[ColumnSummary] = []
    for j, numeric in enumerate(frames.numeric_flags(X)):
        if numeric:
            seen.append(_see_numbers(columns, j, weights, some))
        else:
            seen.append(_see_categories(columns, j, weights, max_categories))
    return seen
