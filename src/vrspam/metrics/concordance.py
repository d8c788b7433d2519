"""The concordance index: the share of comparable pairs that a score puts in order; censored times, strata, intervals.

A pair of rows (i, j) is comparable, and i should score higher, if both are of one stratum and y_i > y_j; with `event`,
if row i has its event and y_i < y_j, or y_i = y_j and row j is censored. For labels 0 and 1 this is the AUC.

Nothing of the size of the pairs is made: `vrspam.comparable` orders the rows and counts wins in O(n log n).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import UndefinedMetricWarning

from vrspam._utils.validation import numbers_of
from vrspam._utils.warnings import warn
from vrspam.comparable import Comparable, comparable, rising_order
from vrspam.metrics.groups import AlikeRows, ClassGroups, freedom_of, independent_rows
from vrspam.metrics.intervals import (
    ENOUGH_FOR_DELONG,
    AUCInterval,
    DeLongTest,
    Measured,
    logit_interval,
    newcombe_interval,
    paired_test,
)
from vrspam.metrics.roc import checked_scores, checked_weights, ordered_numbers, unit_weights

StrataWeight = Literal["pairs", "strata"]


def canonical_target(y: ArrayLike, event: ArrayLike | None = None) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Times and events: a row ranks above another if its event comes first.

    Without events, larger numbers rank higher: then times are -y, and all rows have their event. A structured array
    has its events in the field of booleans and its times in the other, as in scikit-survival.

    >>> canonical_target([3.0, 1.0])[0].tolist()
    [-3.0, -1.0]
    """
    values = np.asarray(y)
    if values.dtype.names is not None:
        kinds = {values.dtype[name].kind: name for name in values.dtype.names}
        if len(values.dtype.names) != 2 or "b" not in kinds or len(kinds) != 2:
            raise ValueError("A structured y needs two fields: booleans that say who has an event, and times.")
        if event is not None:
            raise ValueError("A structured y holds its events: leave event out.")
        event = values[kinds.pop("b")]
        values = values[next(iter(kinds.values()))]
    if values.ndim != 1:
        raise ValueError(f"y must be one-dimensional, got shape {values.shape}.")
    times = ordered_numbers(values, "y").astype(np.float64)
    if event is None:
        return -times, np.ones(times.size, dtype=bool)
    happened = np.asarray(event)
    if happened.shape != times.shape:
        raise ValueError(f"event has shape {happened.shape}; it needs one value for each of {times.size} rows.")
    if happened.dtype != bool:
        numbers = ordered_numbers(happened, "event")
        if not np.isin(numbers, (0, 1)).all():
            raise ValueError("event must be True or 1 for rows with an event, and False or 0 for censored ones.")
        happened = numbers == 1
    return times, happened


@dataclass(frozen=True, eq=False)
class ComparablePairs:
    """The pairs of rows that count; the weight of a pair is `above` of its first row times `below` of its second."""

    time: NDArray[np.float64]
    event: NDArray[np.bool_]
    strata: NDArray[np.intp]
    above: NDArray[np.float64]  # 0 for rows without an event
    below: NDArray[np.float64]
    uno: bool = False  # whether Uno's weights are in `above`
    mean_of_strata: bool = False  # whether each stratum counts the same: `above` makes the mass of its pairs 1

    @classmethod
    def of(
        cls,
        y: ArrayLike,
        event: ArrayLike | None = None,
        strata: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        strata_weight: StrataWeight = "pairs",
        weights: Literal["uno"] | None = None,
        tau: float | None = None,
    ) -> ComparablePairs:
        """The pairs that count, and how much, as in :func:`concordance_index`."""
        if weights not in (None, "uno"):
            raise ValueError(f'weights must be "uno" or None, got {weights!r}; weights of rows are sample_weight.')
        if tau is not None and weights is None:
            raise ValueError('tau applies only to weights="uno".')
        time, happened = canonical_target(y, event)
        numbers = np.zeros(time.size, dtype=np.intp)
        if strata is not None:
            numbers = numbers_of(strata, time.size, "strata", "stratum")
        weight = np.ones(time.size)
        below = weight
        if sample_weight is not None:
            weight = checked_weights(sample_weight, time.size)
            below = unit_weights(weight)
        above = np.where(happened, below, 0.0)
        if weights == "uno":
            above = below * uno_factors(time, happened, weight, tau)
        pairs = cls(time, happened, numbers, above, below, uno=weights == "uno")
        if strata_weight == "pairs":
            return pairs
        if strata_weight != "strata":
            raise ValueError(f'strata_weight must be "pairs" or "strata", got {strata_weight!r}.')
        inside = np.bincount(numbers, above * pairs.pairs_of_rows()[0])
        factor = np.divide(1.0, inside, out=np.zeros(inside.size), where=inside > 0.0)
        return replace(pairs, above=above * factor[numbers], mean_of_strata=True)

    @cached_property
    def ordered(self) -> Comparable:
        """The rows in order; earlier events are higher."""
        rank = -self.time
        rows = rising_order(rank, self.event, self.strata)
        return comparable(rows, rank, self.event, self.strata, weight=self.below, upper=self.above)

    def _by_row(self, above: NDArray, below: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Values of the rows in order by the numbers of all rows: 0 above none, and for rows in no pair."""
        ordered = self.ordered
        of_rows = np.zeros((2, self.time.size))
        of_rows[0, ordered.rows] = np.where(ordered.upper > 0.0, above, 0.0)
        of_rows[1, ordered.rows] = below
        return of_rows[0], of_rows[1]

    def pairs_of_rows(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """For each row the mass of the rows that it should rank above, and of the rows that it should rank below."""
        ordered = self.ordered
        return self._by_row(ordered.below[ordered.group], ordered.above[ordered.group])

    def wins_of_rows(self, score: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """As `pairs_of_rows`, but only for pairs that the score puts in order; a tie counts one half."""
        if score.dtype != np.float64:  # may have more digits: its ranks do not
            score = np.unique(score, return_inverse=True)[1]
        above, below = self.ordered.wins(score[self.ordered.rows][np.newaxis])
        return self._by_row(above[0], below[0])

    def concordance(self, score: NDArray) -> float:
        """The share of pairs in order; NaN where no pair is comparable."""
        return self.shares(score).value

    def shares(self, score: NDArray) -> PairShares:
        """The concordance, and what each row adds to it."""
        pairs_above, pairs_below = self.pairs_of_rows()
        wins_above, wins_below = self.wins_of_rows(score)
        mass = np.bincount(self.strata, self.above * pairs_above)  # of the pairs of each stratum
        total = float(mass.sum())
        if not total > 0.0:
            nothing = np.full(score.size, np.nan)
            return PairShares(float("nan"), nothing, nothing, nothing, nothing, total)
        value = float(self.above @ wins_above) / total
        centre = np.full(mass.size, value)
        if self.mean_of_strata:
            wins = np.bincount(self.strata, self.above * wins_above)
            np.divide(wins, mass, out=centre, where=mass > 0.0)
        expected = centre[self.strata]
        return PairShares(
            value=min(max(value, 0.0), 1.0),
            centre=centre,
            above=self.above * (wins_above - expected * pairs_above) / total,
            below=self.below * (wins_below - expected * pairs_below) / total,
            share=(self.above * pairs_above + self.below * pairs_below) / total,
            total=total,
        )

    def jackknife(
        self, score: NDArray, units: NDArray[np.intp] | None, parts: PairShares | None = None
    ) -> tuple[float, NDArray[np.float64]]:
        """The concordance, and its loss without each unit: without each row, or without all rows of one number.

        A pair inside one unit is removed once, not twice. NaN for a unit that all pairs need. `parts` are those of
        `shares`, if they are known.
        """
        parts = self.shares(score) if parts is None else parts
        moves = parts.above + parts.below
        share = parts.share
        if self.uno:
            moves = moves + self._moves_of_weights(parts.above)
        counts = self.below > 0.0
        if units is None:
            units = np.arange(score.size)
        else:
            inside = replace(self, strata=crossed(self.strata, units))  # pairs of rows of one unit
            pairs = inside.pairs_of_rows()[0]
            wins = inside.wins_of_rows(score)[0]
            moves = moves - self.above * (wins - parts.centre[self.strata] * pairs) / parts.total
            share = share - self.above * pairs / parts.total
        kept = np.bincount(units, counts) > 0.0
        if self.mean_of_strata:
            return parts.value, self._without_units(parts, moves, share, units)[kept]
        gone = np.bincount(units, moves)
        left = 1.0 - np.bincount(units, share)
        return parts.value, divided(gone, left)[kept]

    def _without_units(self, parts: PairShares, moves: NDArray, share: NDArray, units: NDArray) -> NDArray:
        """The loss of a mean of strata without each unit; a stratum that loses all of its pairs leaves the mean.

        With n strata of the indices c, the rows of a unit in a stratum move that stratum's index alone.
        """
        cell = crossed(units, self.strata)
        first = np.unique(cell, return_index=True)[1]
        unit = units[first]
        stratum = self.strata[first]
        n = parts.total
        gone = n * np.bincount(cell, moves)
        left = 1.0 - n * np.bincount(cell, share)
        emptied = left < LEAST_SHARE
        moved = np.where(emptied, parts.centre[stratum], divided(gone, left))
        remaining = n - np.bincount(unit, emptied)
        # the mean without the unit is (n · value - Σ moved) / remaining
        lost = np.bincount(unit, moved) - parts.value * (n - remaining)
        return np.where(remaining > 0.5, lost / np.maximum(remaining, 0.5), np.nan)

    def counted_twice(self, score: NDArray) -> float:
        """The excess in the squared error of the jackknife by rows, which removes each pair with either of its rows.

        Σ w_ij² (h_ij - c)² / (Σ w_ij)² over the pairs, where h is 1 for a pair in order, ½ for a tie, and 0 else; in a
        mean of strata c is the index of the pair's stratum.
        """
        squared = replace(self, above=self.above**2, below=self.below**2)
        strict = np.empty(score.size)
        strict[np.lexsort((~self.event, self.time, score))] = np.arange(score.size)  # a tie counts as lost
        halves = squared.above * squared.wins_of_rows(score)[0]
        wins = squared.above * squared.wins_of_rows(strict)[0]
        ties = 2.0 * (halves - wins)
        losses = squared.above * squared.pairs_of_rows()[0] - wins - ties
        parts = self.shares(score)
        centre = parts.centre[self.strata]
        of_rows = wins * (1.0 - centre) ** 2 + ties * (0.5 - centre) ** 2 + losses * centre**2
        return float(of_rows.sum()) / parts.total**2

    def _moves_of_weights(self, above: NDArray[np.float64]) -> NDArray[np.float64]:
        """The influence of each row through Uno's weights: it changes 1/G(t)² by the share 2 ∫ dM/Y, up to t.

        It changes log G(t) by -∫ dM/Y, where M is its own censoring minus the censoring expected while at risk.
        """
        times, at = np.unique(self.time, return_inverse=True)
        censored = np.bincount(at, self.below * ~self.event)
        events = np.bincount(at, self.below * self.event)
        risk = np.cumsum(np.bincount(at, self.below)[::-1])[::-1] - events
        share = np.divide(1.0, risk, out=np.zeros(times.size), where=risk > 0.0)
        later = np.cumsum(np.bincount(at, above)[::-1])[::-1]  # moves of the events from each time on
        hazard = later * share * censored * share
        expected = np.cumsum(hazard)
        of_event = -(expected - hazard)  # censoring at the time of an event comes after it
        of_censored = later * share - expected
        return 2.0 * self.below * np.where(self.event, of_event[at], of_censored[at])


def uno_factors(time: NDArray, event: NDArray[np.bool_], weight: NDArray, tau: float | None) -> NDArray[np.float64]:
    """1/G(t)² of the events that count, those before `tau`; G is the share of rows not yet censored. 0 for the others.

    >>> uno_factors(np.array([1.0, 2.0, 3.0]), np.array([True, False, True]), np.ones(3), None).tolist()
    [1.0, 0.0, 4.0]
    """
    if event.all():
        raise ValueError('weights="uno" needs event: no row is censored.')
    times, free = kaplan_meier(time, event, weight, censoring=True)
    counts = event if tau is None else event & (time < tau)
    uncensored = np.where(counts, free[np.searchsorted(times, time)], 1.0)
    if (uncensored <= 0.0).any():
        raise ValueError("An event comes when all other rows are censored: Uno's weights are infinite, give tau.")
    return np.where(counts, 1.0 / uncensored**2, 0.0)


LEAST_SHARE = 1e-9  # of the pairs: less than this is rounding, and no pair is left


def divided(gone: NDArray, left: NDArray) -> NDArray:
    """What is gone over the share of pairs that are left; NaN where none is."""
    return np.divide(gone, left, out=np.full(gone.shape, np.nan), where=left >= LEAST_SHARE)


class PairShares(NamedTuple):
    """A concordance index, and what each row adds to it."""

    value: float
    centre: NDArray  # for each stratum the index that its pairs are compared with: its own in a mean of strata
    above: NDArray  # influence of each row as the upper row of pairs
    below: NDArray  # the same as the lower row
    share: NDArray  # of all pairs, that a row is part of
    total: float  # mass of all pairs; in a mean of strata their number


def concordance_index(
    y: ArrayLike,
    score: ArrayLike,
    *,
    event: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    strata_weight: StrataWeight = "pairs",
    weights: Literal["uno"] | None = None,
    tau: float | None = None,
) -> float:
    """Harrell's c: the share of comparable pairs that a score puts in order, ties counted one half; in O(n log n).

    **Which way the score points.** Without `event`, a larger y should have a higher score (labels 0 and 1: the AUC).
    With `event`, or a structured y, the earlier event should have the higher score: the score is a risk, as in
    scikit-survival. lifelines' index has the opposite sign: give it minus the score.

    Parameters
    ----------
    y : array of n numbers, or structured array
        What is ordered: grades, amounts, or times. A structured array of two fields, booleans and times, holds `event`.
    score : array of n numbers
        Infinite scores are ranked; NaN is an error.
    event : array of n booleans or 0 and 1, optional
        Which rows have their event at time y; the others are censored: their event comes later, or never. A pair
        counts if the earlier of the two times is an event; at equal times, if just one of them is.
    strata : array of n labels, optional
        Queries, matched sets, sites: pairs count only inside a stratum.
    sample_weight : array of n numbers, optional
        Each pair counts with the product of its two weights.
    strata_weight : {"pairs", "strata"}, default="pairs"
        "pairs": each pair counts the same. "strata": each stratum that has pairs counts the same.
    weights : {"uno"}, optional
        "uno": a pair whose earlier event is at t counts 1/G(t)², G the share not yet censored (Kaplan-Meier). The
        result then does not depend on how rows were censored, which matters if many were, as long as censoring has
        nothing to do with the columns behind the score, nor with the time that would have been seen.
    tau : float, optional
        With Uno's weights: only events before this time count. Give it where few rows are observed for long.

    Returns
    -------
    float
        Equal, up to rounding, to `sksurv.metrics.concordance_index_censored`, or to `concordance_index_ipcw` with these
        rows as training rows; but only equal scores are ties. NaN, with a warning, if no pair is comparable.

    References
    ----------
    Harrell, Califf, Pryor, Lee & Rosati (1982), JAMA 247, 2543-2546. Uno, Cai, Pencina, D'Agostino & Wei (2011),
    Statistics in Medicine 30, 1105-1117.

    Examples
    --------
    >>> from vrspam.metrics import concordance_index
    >>> months, died = [2, 5, 7, 9], [True, False, True, False]
    >>> concordance_index(months, [0.9, 0.4, 0.6, 0.1], event=died)
    1.0
    >>> concordance_index([1, 2, 3], [0.1, 0.9, 0.5])
    0.666...
    """
    pairs = ComparablePairs.of(y, event, strata, sample_weight, strata_weight, weights, tau)
    value = pairs.concordance(checked_scores(score, pairs.time.size, "score"))
    if np.isnan(value):
        warn("No two rows are comparable: the concordance index is not defined.", UndefinedMetricWarning)
    return value


def concordance_index_ci(
    y: ArrayLike,
    score: ArrayLike,
    *,
    event: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    strata_weight: StrataWeight = "pairs",
    weights: Literal["uno"] | None = None,
    tau: float | None = None,
    groups: ArrayLike | None = None,
    confidence: float = 0.95,
) -> AUCInterval:
    """The concordance index with a confidence interval, in O(n log n).

    The standard error is that of the jackknife: the index is computed without each row in turn, exactly, from sums that
    one pass gives; with strata, the variation of single pairs, counted with both rows, is subtracted once. The interval
    is symmetric on the scale log(c/(1-c)), with Student's t for the number of events.
    With at least 20 strata (an effective number if sizes differ) whole strata are left out instead of rows, since rows
    of one query are not independent of each other. With Uno's weights the error of G is included. docs/pairs.md has the
    coverage in simulations with 30, 100 and 500 events.

    Parameters
    ----------
    y, score, event, strata, sample_weight, strata_weight, weights, tau
        As in :func:`concordance_index`.
    groups : array of n labels, optional
        Which rows are not independent of each other, such as those of one patient: they are left out together. Degrees
        of freedom count the groups of the rows that should rank higher, and of those that should rank lower, as in
        :func:`roc_auc_ci`; the interval is Newcombe's there if fewer than 500 independent rows would tell as much.
    confidence : float in (0, 1)
        Nominal coverage.

    Returns
    -------
    AUCInterval
        `auc` is the index.

    Notes
    -----
    If the score orders all pairs alike, the jackknife sees no spread: the interval then rests on as many disjoint pairs
    as there are events, as in :func:`roc_auc_ci`.

    Examples
    --------
    >>> from vrspam.metrics import concordance_index_ci
    >>> months, died = [2, 5, 7, 9, 11, 12, 15, 20], [True, False, True, True, False, True, True, False]
    >>> found = concordance_index_ci(months, [0.9, 0.4, 0.3, 0.6, 0.1, 0.5, 0.2, 0.3], event=died)
    >>> print(f"{found.auc:.2f}, 95 % interval {found.low:.2f} to {found.high:.2f}")
    0.82, 95 % interval 0.14 to 0.99
    """
    pairs = ComparablePairs.of(y, event, strata, sample_weight, strata_weight, weights, tau)
    checked = checked_scores(score, pairs.time.size, "score")
    measured = _measured(pairs, [checked], groups)
    freedom = max(measured.freedom, 1.0)
    if measured.error == np.inf:
        return AUCInterval(measured.value, 0.0, 1.0, measured.error, confidence, "plain", freedom)
    if measured.grouped and measured.error > 0.0 and min(measured.rows) < ENOUGH_FOR_DELONG:
        return newcombe_interval(measured.value, measured.error, measured.rows, confidence, freedom=freedom)
    return logit_interval(measured.value, measured.error, max(1, int(measured.freedom) + 1), confidence, freedom)


def concordance_test(
    y: ArrayLike,
    score_a: ArrayLike,
    score_b: ArrayLike,
    *,
    event: ArrayLike | None = None,
    strata: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    strata_weight: StrataWeight = "pairs",
    weights: Literal["uno"] | None = None,
    tau: float | None = None,
    groups: ArrayLike | None = None,
    confidence: float = 0.95,
) -> DeLongTest:
    """Paired test that two scores of the same rows have the same concordance index, in O(n log n).

    Parameters
    ----------
    y, event, strata, sample_weight, strata_weight, weights, tau, groups, confidence
        As in :func:`concordance_index_ci`.
    score_a, score_b : array of n numbers

    Returns
    -------
    DeLongTest
        Index of a minus that of b, with its interval and p-value.

    Examples
    --------
    >>> from vrspam.metrics import concordance_test
    >>> months, died = [2, 5, 7, 9, 11, 12, 15, 20], [True, False, True, True, False, True, True, False]
    >>> test = concordance_test(months, [9, 4, 3, 6, 1, 5, 2, 3], [8, 4, 1, 2, 3, 2, 5, 6], event=died)
    >>> print(f"{test.auc_a:.2f} - {test.auc_b:.2f} = {test.difference:.2f}, p = {test.p_value:.2f}")
    0.82 - 0.39 = 0.42, p = 0.20
    """
    pairs = ComparablePairs.of(y, event, strata, sample_weight, strata_weight, weights, tau)
    return paired_concordance(pairs, (score_a, score_b), groups, confidence)


def paired_concordance(
    pairs: ComparablePairs, scores: Sequence[ArrayLike], groups: Any, confidence: float, less: float = 0.0
) -> DeLongTest:
    """The paired test of `concordance_test`; `less` is subtracted from the index of the first."""
    first = checked_scores(scores[0], pairs.time.size, "score_a")
    second = checked_scores(scores[1], pairs.time.size, "score_b")
    difference = _measured(pairs, [first, second], groups)
    return paired_test(
        pairs.concordance(first) - less,
        pairs.concordance(second),
        difference.value - less,
        difference.error,
        confidence,
        max(difference.freedom, 1.0),
    )


def effective(masses: NDArray) -> float:
    """The effective number of masses: (Σ m)² / Σ m²."""
    return float(masses.sum() ** 2 / np.sum(masses**2))


MANY_STRATA = 20  # from here on whole strata are left out, instead of rows


def _measured(pairs: ComparablePairs, scores: Sequence[NDArray], groups: ArrayLike | None) -> Measured:
    """The index of one score, or that of the first minus that of the second; `rows` are lower and upper ones."""
    pairs_above, pairs_below = pairs.pairs_of_rows()
    upper_mass = pairs.above * pairs_above
    lower_mass = pairs.below * pairs_below
    if not upper_mass.sum() > 0.0:
        raise ValueError("No two rows are comparable: the concordance index is not defined.")
    rows = effective(lower_mass), effective(upper_mass)

    # what is left out, and how many independent ones there are beside it
    units = None
    freedom = min(rows) - 1.0
    n_strata = effective(np.bincount(pairs.strata, upper_mass))
    if groups is not None:
        units = numbers_of(groups, pairs.time.size, "groups", "group")
    elif n_strata >= MANY_STRATA:
        units = pairs.strata
        freedom = n_strata - 1.0

    parts = [pairs.shares(score) for score in scores]
    value, lost = pairs.jackknife(scores[0], units, parts[0])
    upper, lower = parts[0].above, parts[0].below
    if len(scores) > 1:
        other, lost_of_other = pairs.jackknife(scores[1], units, parts[1])
        value = value - other
        lost = lost - lost_of_other
        upper, lower = upper - parts[1].above, lower - parts[1].below
    if groups is not None and units is not None:
        freedom, rows = _of_groups(units, (lower, upper), (lower_mass, upper_mass))
        if freedom == np.inf:  # all groups are alike
            freedom = min(effective(np.bincount(units, mass)) for mass in (upper_mass, lower_mass)) - 1.0

    if lost.size < 2:
        raise ValueError("An interval needs at least two rows, or two groups, that can be left out.")
    variance = (lost.size - 1) * float(np.var(lost))
    if units is None and len(scores) == 1 and pairs.strata.any():  # much in small strata
        variance = max(variance - pairs.counted_twice(scores[0]), 0.5 * variance)
    error = float(np.sqrt(variance))
    if np.isnan(error):  # one row, or group, is part of every pair: nothing shows how much another would change
        error = np.inf
    if error <= 1e-12:  # rounding
        error = 0.0
    return Measured(value, error, rows, freedom, grouped=groups is not None)


def _of_groups(
    units: NDArray, moves: tuple[NDArray, NDArray], masses: tuple[NDArray, NDArray]
) -> tuple[float, tuple[float, float]]:
    """Degrees of freedom by the groups of lower and of upper rows, and the independent rows, as of an AUC by class."""
    n_groups = int(units.max()) + 1
    total = np.zeros(n_groups)
    classes = list[ClassGroups]()
    rows = list[AlikeRows]()
    for of_rows, mass in zip(moves, masses, strict=True):
        of_class = ClassGroups.of(mass, units, n_groups, centred=True)
        sums = np.sqrt(of_class.scale) * np.bincount(units, of_rows, n_groups)
        total += sums
        classes.append(of_class)
        rows.append(AlikeRows.of(mass, of_rows, sums, of_class))
    freedom = freedom_of(rows, classes)
    return freedom, independent_rows(rows[0], rows[1], float(total @ total))


def crossed(first: NDArray[np.intp], second: NDArray[np.intp]) -> NDArray[np.intp]:
    """One number for each pair of numbers."""
    return np.unique(first * (int(second.max(initial=0)) + 1) + second, return_inverse=True)[1]


def kaplan_meier(
    time: NDArray, event: NDArray[np.bool_], weight: NDArray | None = None, *, censoring: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The times of a sample, sorted, and the share that is free of the event after each (Kaplan & Meier).

    With `censoring` the share not yet censored; rows with an event at the same time are then no longer at risk.

    >>> kaplan_meier(np.array([1.0, 2.0, 3.0]), np.array([True, False, True]))[1].round(3).tolist()
    [0.667, 0.667, 0.0]
    """
    weight = np.ones(time.size) if weight is None else weight
    times, at = np.unique(time, return_inverse=True)
    happened = np.bincount(at, weight * event, times.size)
    leaving = np.bincount(at, weight, times.size)
    risk = np.cumsum(leaving[::-1])[::-1]
    if censoring:
        risk = risk - happened
        happened = leaving - happened
    ratio = np.divide(happened, risk, out=np.zeros(times.size), where=happened > 0.0)
    return times, np.asarray(np.cumprod(1.0 - np.minimum(ratio, 1.0)), dtype=np.float64)
