"""Limits of coefficients from the parameters `monotonic_cst`, `positive` and `bounds` of an estimator."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils.messages import Parameter, WordedError
from vrspam._utils.parameters import Instance
from vrspam.objective import Limits
from vrspam.penalties.family import PENALTIES

LIMITS: dict = {
    "monotonic_cst": ["array-like", Instance(dict), None],
    "positive": ["boolean"],
    "bounds": ["array-like", Instance(dict), None],
}


class Asked(NamedTuple):
    """The parameters that `limits_of` reads, for functions without an estimator."""

    monotonic_cst: Any = None
    positive: bool = False
    bounds: Any = None
    penalty: str = "elasticnet"


def by_column(name: str, given: Any, names: Sequence[Any] | None, n: int, default: Any) -> list[Any]:
    """A list of one value for each of n columns; `given` holds them in the order of the columns or by their names."""
    if isinstance(given, Mapping):
        if names is None:
            words = "{given} names columns, but the columns have no names: give a list of {n} values, or a frame."
            raise WordedError(words, given=Parameter(name), n=n)
        if unknown := [column for column in given if column not in set(names)]:
            words = "{given} names {column!r}, which is not among the columns: {names}."
            known = ", ".join(map(str, names[:20])) + (", ..." if len(names) > 20 else "")
            raise WordedError(words, given=Parameter(name), column=unknown[0], names=known)
        return [given.get(column, default) for column in names]
    values = list(given)
    if len(values) != n:
        words = "{given} has {count} values for {n} columns: give one for each column, or a dict by column name."
        raise WordedError(words, given=Parameter(name), count=len(values), n=n)
    return values


def directions_of(estimator: Any, names: Sequence[Any] | None, n: int) -> np.ndarray | None:
    """-1, 0 or 1 for each column: whether the score must fall or rise with it; None where nothing is asked for."""
    found = np.zeros(n)
    if estimator.monotonic_cst is not None:
        values = by_column("monotonic_cst", estimator.monotonic_cst, names, n, 0)
        if not all(np.isscalar(value) and value in (-1, 0, 1) for value in values):
            words = "{given} must hold -1 (the score falls), 0 (free) or 1 (it rises) for each column."
            raise WordedError(words, given=Parameter("monotonic_cst"))
        found = np.array(values, dtype=np.float64)
    if estimator.positive:
        if (found < 0.0).any():
            words = "{positive} and a -1 in {cst} contradict each other: leave one out."
            raise WordedError(words, positive=Parameter("positive", True), cst=Parameter("monotonic_cst"))
        found[:] = 1.0
    return found if found.any() else None


def directions_as_read(signs: np.ndarray, reading: Any) -> np.ndarray:
    """The directions of the columns that a `Schema` makes from the columns of a frame; `signs` are theirs."""
    found: dict[Any, float] = {}
    for column, sign in zip(reading.source, signs.tolist(), strict=True):
        made = reading.readings[column].made(column) if column in reading.readings else [str(column)]
        if sign and (len(made) > 1 or column in reading.identifiers):
            why = "looks like an identifier and is not used" if len(made) == 1 else f"becomes {', '.join(made)}"
            words = "{given} is given for {column!r}, which {why}: leave it out of {given}, or convert it to numbers."
            raise WordedError(words, given=Parameter("monotonic_cst"), column=column, why=why)
        found |= dict.fromkeys(made, sign)
    return np.array([found[str(name)] for name in reading.names])


def names_of(estimator: Any) -> Sequence[Any] | None:
    """The names of the columns, or None if they have none; for a Spark frame, the names of its features."""
    names = getattr(estimator, "feature_names_in_", getattr(estimator, "feature_names_", None))
    return None if names is None else list(names)


def limits_of(estimator: Any, n: int) -> Limits | None:
    """The limits of the coefficients of n columns that are features themselves; None if there are none."""
    signs = directions_of(estimator, names_of(estimator), n)
    if signs is None and estimator.bounds is None:
        return None
    signs = np.zeros(n) if signs is None else signs
    lower, upper = np.where(signs > 0.0, 0.0, -np.inf), np.where(signs < 0.0, 0.0, np.inf)
    if estimator.bounds is not None:
        given = estimator.bounds
        if not isinstance(given, Mapping) and len(given) == 2 and all(end is None or np.isscalar(end) for end in given):
            given = [given] * n  # one pair for all
        for j, pair in enumerate(by_column("bounds", given, names_of(estimator), n, (None, None))):
            ends = (None, None) if pair is None else pair
            try:
                low, high = (
                    end if one is None else float(one) for one, end in zip(ends, (-np.inf, np.inf), strict=True)
                )
            except (TypeError, ValueError):
                low, high = 1.0, -1.0
            if not low <= 0.0 <= high:
                words = "{given} must hold pairs (lower, upper) with 0 between them, None for no bound; got {pair!r}."
                raise WordedError(words, given=Parameter("bounds"), pair=pair)
            lower[j], upper[j] = max(lower[j], low), min(upper[j], high)
        if not PENALTIES[estimator.penalty].is_convex and not Limits(lower, upper).are_signs:
            raise WordedError(
                "{penalty} cannot be combined with these bounds: use {cst} or {positive} for signs, or {net}.",
                penalty=Parameter("penalty", estimator.penalty),
                cst=Parameter("monotonic_cst"),
                positive=Parameter("positive", True),
                net=Parameter("penalty", "elasticnet"),
            )
    return Limits(lower, upper)
