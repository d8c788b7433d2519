"""What maps learn of the columns of a table without labels: summaries, which maps of the same rows share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from vrspam._utils.findings import Fix, VrspamError
from vrspam.features.encoders.distribution import LARGEST, N_NODES, Distribution, distribution
from vrspam.features.encoders.indicators import Indicators
from vrspam.tables import frames
from vrspam.tables.kinds import NEARLY_ALL


class NearlyAllDiffer(VrspamError):
    """A column of categories differs in nearly every row."""


class Numbers(NamedTuple):
    """A column of numbers in fit."""

    distribution: Distribution
    missing: bool  # whether values were missing


ColumnSummary = Numbers | Indicators


class SeenColumns(NamedTuple):
    """Summaries of all columns in fit, and what maps made of them, which equal maps share."""

    columns: list[ColumnSummary]
    # of maps by their settings: encoders, and landmarks with their whitening
    shared: dict[tuple, Any]


# Summaries of the columns for maps that learn from the same rows and weights, by the settings that they depend on.
SharedColumns = dict[tuple, SeenColumns]


def summarise_columns(
    X: Any, weights: np.ndarray | None, sample: np.ndarray | None, max_categories: int, signs: np.ndarray
) -> SeenColumns:
    """Summaries of all columns of X; categories of a column with a sign have an order, in which the score rises.

    Numbers come from the rows `sample` where these have many different values, else from all rows.
    """
    columns: Any = sparse.csc_array(X) if sparse.issparse(X) else frames.columns_of(X)
    summaries: list[ColumnSummary] = []
    for j, numeric in enumerate(frames.numeric_flags(X)):
        if numeric:
            summaries.append(see_numbers(columns, j, weights, sample))
        else:
            levels = ordered_levels(columns, j) if signs[j] else ()
            summaries.append(see_categories(columns, j, weights, max_categories, levels))
    return SeenColumns(summaries, {})


def ordered_levels(columns: Any, j: int) -> tuple[str, ...]:
    """The levels of a column of ordered categories; one without an order is refused."""
    levels = frames.levels(columns, j)
    if not levels:
        name = frames.named_column(columns, j)[0]
        raise VrspamError(
            Fix("monotonic_cst"),
            f" is given for {name!r}, whose categories have no order: make it an ordered type, as "
            "pandas.Categorical(values, categories, ordered=True), or use 0 for it.",
        )
    return levels


def see_numbers(X: Any, j: int, weights: np.ndarray | None, sample: np.ndarray | None) -> Numbers:
    """The distribution of column j over all rows or, if the `sample` has many different values, over its rows."""
    values = frames.numbers(X, j)
    present = ~np.isnan(values)
    missing = not present.all()
    if float(np.fmax.reduce(np.abs(values))) > LARGEST:
        raise ValueError(
            f"Column {frames.named_column(X, j)[0]!r} holds numbers beyond {LARGEST:.0e}: remove or replace them."
        )
    if sample is not None:
        rows = sample[present[sample]]
        if has_many_values(values[rows]):
            return Numbers(distribution(values[rows], None if weights is None else weights[rows]), missing)
    if missing:
        values = values[present]
        weights = None if weights is None else weights[present]
    return Numbers(distribution(values, weights), missing)


def has_many_values(values: np.ndarray) -> bool:
    """Whether there are more different values than nodes; the first of them mostly tell."""
    return np.unique(values[: 8 * N_NODES]).size > N_NODES or np.unique(values).size > N_NODES


def see_categories(X: Any, j: int, weights: np.ndarray | None, most: int, levels: tuple[str, ...] = ()) -> Indicators:
    """The categories of a column, with scales that give the indicator of each variance 1.

    If there are more than `most`, the most frequent are kept, and the others count as one; then a column that differs
    in nearly every row is refused. All `levels` of an ordered category are kept, in order, also those that no row has.
    """
    known = frames.categories(X, j)
    named = sorted(category for category in known if category is not None)
    indicators = Indicators(levels or tuple(named), None in known)
    codes = frames.category_codes(X, j, indicators.codes)
    counts = np.bincount(codes, weights, indicators.width)
    n_categories = len(indicators.categories)
    if n_categories > most and not levels:
        n_rows = np.count_nonzero(codes < n_categories)
        if n_categories > NEARLY_ALL * n_rows:
            name = frames.named_column(X, j)[0]
            raise NearlyAllDiffer(
                f"Column {name!r} has more than {most} different values that are not numbers: drop it if it is a name, "
                "convert it if it holds numbers as text, group its rare values, or raise ",
                Fix("max_categories"),
                ".",
            )
        indicators, counts = group_rare_categories(indicators, counts, most)
    share = counts / counts.sum()
    variance = share * (1.0 - share)
    scale = 1.0 / np.sqrt(np.where(variance > 0.0, variance, 1.0))
    return replace(indicators, scale=tuple(scale.tolist()))


def group_rare_categories(indicators: Indicators, counts: np.ndarray, most: int) -> tuple[Indicators, np.ndarray]:
    """The most frequent categories, and one for all others: `most` together; and how many rows each has."""
    n_categories = len(indicators.categories)
    by_count = np.argsort(-counts[:n_categories], kind="stable")
    kept = np.sort(by_count[: most - 1])
    rare = by_count[most - 1 :]
    names = tuple(indicators.categories[number] for number in kept)
    group = "(rare)"  # a name that no category has
    while group in names:
        group = f"({group})"
    counts = np.concatenate([counts[kept], [counts[rare].sum()], counts[n_categories:]])
    return Indicators((*names, group), indicators.missing, grouped=rare.size), counts
