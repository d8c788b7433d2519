"""Limits of coefficients from the parameters `monotonic_cst`, `positive` and `bounds` of an estimator.

Estimators know the names of columns; what they hand on to solvers are numbers (`vrspam.objective.Limits`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils.findings import Fix, VrspamError
from vrspam._utils.names import USUAL_PENALTY
from vrspam._utils.parameters import Instance
from vrspam._utils.texts import first_names
from vrspam.objective import Limits
from vrspam.penalties.family import PENALTIES

LIMITS: dict = {
    "monotonic_cst": ["array-like", Instance(dict), None],
    "positive": ["boolean"],
    "bounds": ["array-like", Instance(dict), None],
}


class Constraints(NamedTuple):
    """The parameters that `limits_of` reads, for functions without an estimator."""

    monotonic_cst: Any = None
    positive: bool = False
    bounds: Any = None
    penalty: str = "elasticnet"


def by_column(name: str, given: Any, names: Sequence[Any] | None, n: int, default: Any) -> list[Any]:
    """A list of one value for each of n columns; `given` holds them in the order of the columns or by their names."""
    if isinstance(given, Mapping):
        if names is None:
            raise VrspamError(
                Fix(name), f" names columns, but the columns have no names: give a list of {n} values, or a frame."
            )
        known_names = set(names)
        unknown = [column for column in given if column not in known_names]
        if unknown:
            known = first_names(names)
            raise VrspamError(Fix(name), f" names {unknown[0]!r}, which is not among the columns: {known}.")
        return [given.get(column, default) for column in names]
    values = list(given)
    if len(values) != n:
        words = f" has {len(values)} values for {n} columns: give one for each column, or a dict by column name."
        raise VrspamError(Fix(name), words)
    return values


def directions_of(estimator: Any, names: Sequence[Any] | None, n: int) -> np.ndarray | None:
    """-1, 0 or 1 for each column: whether the score must fall or rise with it; None where nothing is asked for."""
    directions = np.zeros(n)
    if estimator.monotonic_cst is not None:
        values = by_column("monotonic_cst", estimator.monotonic_cst, names, n, 0)
        if not all(np.isscalar(value) and value in (-1, 0, 1) for value in values):
            words = " must hold -1 (the score falls), 0 (free) or 1 (it rises) for each column."
            raise VrspamError(Fix("monotonic_cst"), words)
        directions = np.array(values, dtype=np.float64)
    if estimator.positive:
        if (directions < 0.0).any():
            raise VrspamError(
                Fix("positive", True), " and a -1 in ", Fix("monotonic_cst"), " contradict each other: leave one out."
            )
        directions[:] = 1.0
    return directions if directions.any() else None


def directions_as_read(signs: np.ndarray, reading: Any) -> np.ndarray:
    """The directions of the columns that a `Schema` makes from the columns of a frame; `signs` are theirs."""
    directions: dict[Any, float] = {}
    for column, sign in zip(reading.source, signs.tolist(), strict=True):
        made = reading.readings[column].made(column) if column in reading.readings else [str(column)]
        if sign and (len(made) > 1 or column in reading.identifiers):
            why = "looks like an identifier and is not used" if len(made) == 1 else f"becomes {', '.join(made)}"
            cst = Fix("monotonic_cst")
            raise VrspamError(
                cst, f" is given for {column!r}, which {why}: leave it out of ", cst, ", or convert it to numbers."
            )
        directions.update(dict.fromkeys(made, sign))
    return np.array([directions[str(name)] for name in reading.names])


def names_of(estimator: Any) -> Sequence[Any] | None:
    """The names of the columns, or None if they have none; for a Spark frame, the names of its features."""
    names = getattr(estimator, "feature_names_in_", getattr(estimator, "feature_names_", None))
    return None if names is None else list(names)


def limits_of(estimator: Any, n: int) -> Limits | None:
    """The limits of the coefficients of n columns that are features themselves; None if there are none."""
    signs = directions_of(estimator, names_of(estimator), n)
    if signs is None and estimator.bounds is None:
        return None
    if signs is None:
        signs = np.zeros(n)
    lower = np.where(signs > 0.0, 0.0, -np.inf)
    upper = np.where(signs < 0.0, 0.0, np.inf)
    if estimator.bounds is None:
        return Limits(lower, upper)
    ends = np.array([parse_bound(pair) for pair in bounds_of_columns(estimator, n)])
    limits = Limits(np.maximum(lower, ends[:, 0]), np.minimum(upper, ends[:, 1]))
    if not PENALTIES[estimator.penalty].is_convex and not limits.are_signs:
        raise VrspamError(
            Fix("penalty", estimator.penalty),
            " cannot be combined with these bounds: use ",
            Fix("monotonic_cst"),
            " or ",
            Fix("positive", True),
            " for signs, or ",
            Fix("penalty", USUAL_PENALTY),
            ".",
        )
    return limits


def bounds_of_columns(estimator: Any, n: int) -> list[Any]:
    """The pair that `bounds` holds for each of n columns."""
    bounds = estimator.bounds
    if not isinstance(bounds, Mapping) and len(bounds) == 2 and all(end is None or np.isscalar(end) for end in bounds):
        return [bounds] * n  # one pair for all
    return by_column("bounds", bounds, names_of(estimator), n, None)


def parse_bound(pair: Any) -> tuple[float, float]:
    """The ends of a bound as numbers; an error if it is not a pair with 0 between its ends."""
    if pair is None:
        return -np.inf, np.inf
    try:
        low, high = pair
        low = -np.inf if low is None else float(low)
        high = np.inf if high is None else float(high)
    except (TypeError, ValueError):
        raise not_a_bound(pair) from None
    if not low <= 0.0 <= high:
        raise not_a_bound(pair)
    return low, high


def not_a_bound(pair: Any) -> VrspamError:
    """The error that a pair of `bounds` is none."""
    words = f" must hold pairs (lower, upper) with 0 between them, None for no bound; got {pair!r}."
    return VrspamError(Fix("bounds"), words)
