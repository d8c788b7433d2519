"""Does a column of numbers only name the rows?"""

from __future__ import annotations

import re

import numpy as np

ID_NAME = re.compile(r"(^|[^a-z])(id|ids|key|uuid|guid|nr|no|number|code)$|(?<=[a-z])I[dD]$")
ENOUGH_ROWS = 20  # with fewer rows even true values may differ in all of them
_ENOUGH_IN_NO_ORDER = 100
_QUICK_LOOK = 1000


def is_identifier(values: np.ndarray, name: str = "") -> bool:
    """Whether a column names its rows: its numbers are whole, all different, and do not look like measurements.

    They only rise, only fall or lie close together; or they are in no order, but the column has a name such as "id",
    "number" or "code", or they are spread evenly over their range like random numbers, unlike amounts. With fewer
    than 20 rows (100 for numbers in no order) the answer is always no.

    >>> rng = np.random.default_rng(0)
    >>> is_identifier(np.arange(100.0)), is_identifier(rng.permutation(100.0 + np.arange(50)))
    (True, True)
    >>> is_identifier(rng.choice(90_000_000, 900, replace=False) * 1.0), is_identifier(rng.random(50))
    (True, False)
    >>> is_identifier(np.unique(rng.lognormal(10.0, 1.0, 500).round())[::-1][rng.permutation(400)])  # salaries, say
    False
    """
    values = np.asarray(values)
    if values.dtype.kind not in "iuf" or values.size < ENOUGH_ROWS:
        return False
    if not _whole_and_different(values[:_QUICK_LOOK]) or not _whole_and_different(values):  # most columns end here
        return False

    values = values.astype(np.float64)
    steps = np.diff(values)
    in_order = (steps > 0).all() or (steps < 0).all()
    close_together = np.ptp(values) < 2 * values.size
    if in_order or close_together:
        return True
    if values.size < _ENOUGH_IN_NO_ORDER:
        return False
    return has_name_of_identifier(name) or _evenly_spread(values)


def has_name_of_identifier(name: str) -> bool:
    """Whether a column is called "id", "number", "code" or the like.

    >>> [has_name_of_identifier(name) for name in ("patient_id", "orderID", "Nr", "paid")]
    [True, True, True, False]
    """
    return ID_NAME.search(name) is not None or ID_NAME.search(name.lower()) is not None


def _whole_and_different(values: np.ndarray) -> bool:
    values = values.astype(np.float64)
    if not np.isfinite(values).all() or (values != np.floor(values)).any():
        return False
    return bool((np.diff(np.sort(values)) != 0.0).all())


def _evenly_spread(values: np.ndarray) -> bool:
    """Whether numbers look like draws from a uniform distribution.

    Their Kolmogorov-Smirnov distance is compared with 1.36 / √n, which uniform numbers exceed in 5 % of cases.
    """
    ordered = np.sort(values)
    shares = (ordered - ordered[0]) / (ordered[-1] - ordered[0])
    even_shares = np.arange(values.size) / (values.size - 1.0)
    return bool(np.abs(shares - even_shares).max() < 1.36 / np.sqrt(values.size))
