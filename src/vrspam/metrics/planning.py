"""How many rows an interval of a given width, or a test of a difference, needs."""

from __future__ import annotations

from bisect import bisect_left

from scipy.special import ndtri

from vrspam.metrics import roc
from vrspam.metrics.intervals import exponential_variance, logit_interval

_COUNTS = range(1 << 50)  # of rows, in which to search for the least that is enough


def rows_for_width(
    auc: float, width: float, *, share: float = 0.5, confidence: float = 0.95, known: tuple[int, float] | None = None
) -> int:
    """The number of rows needed for an interval of the AUC of at most this width.

    The variance is Newcombe's (:func:`exponential_variance`), the interval the "logit" one of
    :func:`roc_auc_ci`.

    Parameters
    ----------
    auc : float in (0, 1)
        The AUC that is expected.
    width : float in (0, 1)
        From the lower to the upper end.
    share : float in (0, 1)
        The share of positives among the rows.
    confidence : float in (0, 1)
        Nominal coverage of the interval.
    known : tuple of int and float, optional
        Rows, and the standard error that they gave: it replaces the formula, and falls with the root of the rows.

    Returns
    -------
    int
        Rows of both classes together.

    Examples
    --------
    >>> from vrspam.metrics import rows_for_width
    >>> rows_for_width(0.8, 0.05), rows_for_width(0.8, 0.05, share=0.1)
    (1204, 3342)
    """
    roc.quantile(confidence)
    _check_shares(auc=auc, width=width, share=share)

    def enough(n: int) -> bool:
        interval = logit_interval(auc, _variance(auc, n, share, known) ** 0.5, 1, confidence)
        return interval.high - interval.low <= width

    return bisect_left(_COUNTS, True, lo=4, key=enough)


def rows_for_difference(
    auc: float,
    difference: float,
    *,
    power: float = 0.8,
    share: float = 0.5,
    correlation: float = 0.5,
    confidence: float = 0.95,
    known: tuple[int, float] | None = None,
) -> int:
    """The number of rows needed for DeLong's test to detect that another AUC is larger, on the same rows.

    The variance of the difference is v(a) + v(b) - 2 · correlation · √(v(a) v(b)).

    Parameters
    ----------
    auc, difference : float
        The smaller AUC, and how much larger the other is.
    power : float in (0, 1)
        The probability that the test detects the difference.
    share, confidence, known
        As in :func:`rows_for_width`; the level of the test is 1 - confidence.
    correlation : float in [-1, 1)
        Of the two AUCs: near 1 for models that are nearly alike, 0 for models on different rows (that many for each).

    Returns
    -------
    int

    Examples
    --------
    >>> from vrspam.metrics import rows_for_difference
    >>> rows_for_difference(0.8, 0.02), rows_for_difference(0.8, 0.02, correlation=0.8)
    (3671, 1474)
    """
    z = roc.quantile(confidence) + float(ndtri(power))
    _check_shares(auc=auc, difference=difference, share=share, power=power, larger_auc=auc + difference)
    if not -1.0 <= correlation < 1.0:
        raise ValueError(f"correlation is {correlation}, but must be at least -1 and less than 1.")

    def enough(n: int) -> bool:
        a = _variance(auc, n, share, known)
        b = _variance(auc + difference, n, share, known)
        return difference >= z * (a + b - 2.0 * correlation * (a * b) ** 0.5) ** 0.5

    return bisect_left(_COUNTS, True, lo=4, key=enough)


def _variance(auc: float, n: int, share: float, known: tuple[int, float] | None) -> float:
    if known is not None:
        return known[1] ** 2 * known[0] / n
    return exponential_variance(auc, share * n, (1.0 - share) * n)


def _check_shares(**given: float) -> None:
    for name, value in given.items():
        if not 0.0 < value < 1.0:
            raise ValueError(f"{name.replace('_', ' ')} is {value}, but must be between 0 and 1.")
