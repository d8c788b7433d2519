"""From the coefficients of a fit to a score on the scale of the columns, with the means and deviations of its terms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from vrspam.features import FeatureMap
from vrspam.features.encoders import Curves, Indicators
from vrspam.features.parts import CategoryPart, ColumnBlock, Effect, LinePart, Parts
from vrspam.tables.schema import Schema


class StraightLines(NamedTuple):
    """Coefficients of encoded columns, with the class means and standard deviations of these features."""

    coef: np.ndarray
    intercept: float
    means: np.ndarray  # (2, features)
    deviations: np.ndarray


def undo_linear_map(
    features: Any,
    categories: Iterable[tuple[str, ...]],
    coef: np.ndarray,
    intercept: float,
    means: np.ndarray,
    deviations: np.ndarray,
) -> StraightLines | None:
    """The coefficients of encoded columns, if the map only standardises and encodes these `categories`; None otherwise.

    `categories` are those of each column of text, in the order of the coefficients: a map may have levels in another
    order, or one indicator for all rare categories.
    """
    if len(features.members) > 1 or not features.keeps_columns_apart:
        return None
    encoded = [encoder.categories for encoder in features.encoders_ if isinstance(encoder, Indicators)]
    if encoded != list(categories):
        return None

    lines: list[_Line] = []
    for encoder in features.encoders_:
        if isinstance(encoder, Indicators):
            if encoder.missing or encoder.scale:
                return None
            lines += [_Line(1.0, 0.0, 0.0)] * encoder.width
            continue
        line = _line_of(encoder)
        if line is None:
            return None
        lines.append(line)

    slopes, origins, constants = np.array(lines).T
    divisors = np.where(slopes == 0.0, 1.0, slopes)
    return StraightLines(
        coef=coef * slopes,
        intercept=intercept + float(coef @ origins),
        means=np.where(slopes == 0.0, constants, (means - origins) / divisors),
        deviations=deviations / divisors,
    )


class _Line(NamedTuple):
    """feature = slope · column + origin; or, with slope 0, column = constant."""

    slope: float
    origin: float
    constant: float


def _line_of(encoder: Curves) -> _Line | None:
    """The line that an encoder of numbers is; None if it is more than one."""
    if encoder.missing or encoder.table.shape[1] != 1 or encoder.nodes.size > 1 + encoder.extend:
        return None
    if encoder.nodes.size == 1:
        return _Line(0.0, 0.0, float(encoder.nodes[0]))
    slope = float(np.ptp(encoder.table) / np.ptp(encoder.nodes))
    return _Line(slope, float(encoder.table[0, 0] - slope * encoder.nodes[0]), 0.0)


def parts_of_lines(schema: Schema, coef: np.ndarray) -> Parts:
    """The parts of a linear score: a line for each column of numbers, a table for each column of categories."""
    n_numeric = len(schema.columns) - len(schema.categorical)
    of_numbers = coef[:n_numeric]
    of_missing = np.full(n_numeric, np.nan)
    of_missing_text = np.nan
    if schema.fill is not None:
        of_missing = of_numbers * np.array(schema.fill)  # one value for all columns of a LIBSVM file
        of_missing_text = 0.0
    if not schema.categorical:
        return Parts((), lines=LinePart(of_numbers, of_missing))

    n_columns = len(schema.columns)
    lines = LinePart(np.zeros(n_columns), np.zeros(n_columns))
    lines.coef[:n_numeric] = of_numbers
    lines.missing[:n_numeric] = of_missing
    effects: list[Effect | None] = [None] * n_numeric
    heights = iter(coef[n_numeric:].tolist())
    for categories in schema.categorical.values():
        effects.append(CategoryPart(dict(zip(categories, heights, strict=False)), of_missing_text))
    return Parts(tuple(effects), lines=lines)


def means_of_parts(features: FeatureMap, coef: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Class means of what each column adds on its own and, last, of what columns add together, where there is any.

    `coef` and `means` are those of the features of a map.
    """
    parts = features.parts(coef)
    alone = np.zeros((len(means), features.n_features_in_))
    together = np.zeros((len(means), 1))
    for block, j, where in features.block_places():
        of_features = means[:, where] @ coef[where]
        if isinstance(block, ColumnBlock):
            alone[:, j] += of_features
        else:
            together[:, 0] += of_features

    terms = [np.zeros((len(means), 0))]  # no part at all: trees without a split
    if parts.has_effects:
        terms.append(alone)
    if not parts.keeps_columns_apart:
        terms.append(together)
    return np.hstack(terms)
