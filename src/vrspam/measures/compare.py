"""Paired tests of the AUCs of several scores of the same rows, each AUC with its interval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from vrspam.data import DataError
from vrspam.measures.auc_interval import auc_interval
from vrspam.measures.rows import ScoredRows, ranked_target
from vrspam.metrics import AUCInterval, ComparedPair, DeLongTest, compare_aucs
from vrspam.metrics.comparison import compare_pairs, compare_placed
from vrspam.metrics.concordance import ComparablePairs, paired_concordance
from vrspam.metrics.intervals import Placed, interval_of, roc_measures


@dataclass(frozen=True, eq=False)
class Comparison:
    """Paired tests of two or more models, or columns of scores, and the rows that they rest on.

    It can be unpacked into `test`, `positive` and `scores`.

    Attributes
    ----------
    test : DeLongTest
        First model minus second.
    positive : boolean array of n
    scores : tuple of arrays of n
    names : tuple of str
    pairs : tuple of ComparedPair
        All pairs, with p-values adjusted for their number by Holm's method.
    intervals : tuple of AUCInterval
        The AUC of each, with its interval.
    optimism : float
        How much too high the AUC of the first was because it was chosen; its AUC is without this.
    notes : tuple of str
    beside : dict
        `groups` and `sample_weight` of the rows, None where there are none.
    ranks : bool
        Whether pairs of times, of an order or inside strata were compared: there is no ROC curve then.

    Examples
    --------
    >>> import numpy as np
    >>> from vrspam.metrics import delong_test
    >>> from vrspam.tool import Comparison
    >>> positive, a, b = np.arange(8) > 3, np.arange(8.0), np.array([5.0, 2, 3, 6, 4, 1, 7, 8])
    >>> test, _, _ = comparison = Comparison(delong_test(positive, a, b), positive, (a, b))  # as from `compare`
    >>> test.auc_a, test.auc_b, comparison.partial_test(0.5).auc_a
    (1.0, 0.625, 1.0)
    """

    test: Any  # DeLongTest; None if there is only one score
    positive: np.ndarray
    scores: tuple[np.ndarray, ...]
    names: tuple[str, ...] = ("first", "second")
    pairs: tuple[ComparedPair, ...] = ()
    intervals: tuple[AUCInterval, ...] = ()
    optimism: float = 0.0
    notes: tuple[str, ...] = ()
    beside: Mapping[str, Any] = field(default_factory=dict)
    ranks: bool = False

    def __iter__(self) -> Iterator[Any]:
        return iter((self.test, self.positive, self.scores))

    def flat(self) -> dict[str, Any]:
        """The AUC of each with its interval, and the tests, for scripts; what cannot be tested is None."""
        aucs = {}
        for name, interval in zip(self.names, self.intervals, strict=True):
            aucs[name] = {"auc": interval.auc, "low": interval.low, "high": interval.high}
        return {"scores": aucs, "optimism": self.optimism, "n": self.positive.size, "pairs": flat_pairs(self.pairs)}

    def partial_pairs(self, max_fpr: float) -> tuple[ComparedPair, ...]:
        """The paired tests of the partial AUCs up to a false-positive rate, standardised."""
        if self.ranks:
            raise DataError("scores of times, of an order or inside strata have no ROC curve, and so no partial AUC")
        both = dict(zip(self.names, self.scores, strict=True))
        confidence = 0.95 if self.test is None else self.test.confidence
        return compare_aucs(self.positive, both, max_fpr=max_fpr, confidence=confidence, **self.beside)

    def partial_test(self, max_fpr: float) -> DeLongTest:
        """The test of the first pair, as in `partial_pairs`."""
        return self.partial_pairs(max_fpr)[0].test


def flat_pairs(pairs: Sequence[ComparedPair]) -> list[dict[str, Any]]:
    """Tests of pairs as JSON can hold them."""
    flat = []
    for a, b, test, adjusted_p in pairs:
        values = {"a": a, "b": b, **asdict(test), "adjusted_p": adjusted_p}
        flat.append({name: None if value != value else value for name, value in values.items()})
    return flat


def compare(columns: Mapping[str, ScoredRows], *, confidence: float = 0.95, optimism: float = 0.0) -> Comparison:
    """Compare scores of the same rows in pairs; `optimism` is taken from the AUC of the first.

    Folds of out-of-fold scores are those of the first; times and strata have no use for them.

    >>> positive, a, b = np.arange(8) > 3, np.arange(8.0), np.array([5.0, 2, 3, 6, 4, 1, 7, 8])
    >>> found = compare({"a": ScoredRows(positive, a), "b": ScoredRows(positive, b)})
    >>> [interval.auc for interval in found.intervals]
    [1.0, 0.625]
    """
    first = next(iter(columns.values()))
    tested = _compare_classes if first.has_classes else _compare_pairs_of_rows
    intervals, pairs = tested(columns, confidence, optimism)
    if optimism:
        intervals = (_lowered(intervals[0], optimism), *intervals[1:])
    return Comparison(
        test=pairs[0].test if pairs else None,
        positive=first.positive,
        scores=tuple(rows.scores for rows in columns.values()),
        names=tuple(columns),
        pairs=pairs,
        intervals=intervals,
        optimism=optimism,
        beside={"sample_weight": first.weights, "groups": first.groups},
        ranks=not first.has_classes,
    )


def _compare_classes(
    columns: Mapping[str, ScoredRows], confidence: float, optimism: float
) -> tuple[tuple[AUCInterval, ...], tuple[ComparedPair, ...]]:
    """AUCs with their intervals, and DeLong's paired tests."""
    names, placed = list(columns), _placements(columns)
    measured = [placed.of(place) for place in range(len(names))]
    pairs: tuple[ComparedPair, ...] = ()
    if len(names) > 1:
        pairs = compare_placed(placed, names, confidence, {names[0]: optimism}, measured)
    return tuple(interval_of(one, confidence) for one in measured), pairs


def _compare_pairs_of_rows(
    columns: Mapping[str, ScoredRows], confidence: float, optimism: float
) -> tuple[tuple[AUCInterval, ...], tuple[ComparedPair, ...]]:
    """Concordance indices, or AUCs inside strata, with their intervals, and paired tests by the jackknife."""
    names = list(columns)
    first = columns[names[0]]
    comparable = ComparablePairs.of(*ranked_target(first.positive, first.times), first.within, first.weights)

    def test(a: str, b: str) -> DeLongTest:
        scores = columns[a].scores, columns[b].scores
        return paired_concordance(comparable, scores, first.groups, confidence, optimism if a == names[0] else 0.0)

    return tuple(auc_interval(rows, confidence) for rows in columns.values()), compare_pairs(names, test)


def _placements(columns: Mapping[str, ScoredRows]) -> Placed:
    """The placements of the rows of all scores; what is wrong with folds is an error about the table."""
    first = next(iter(columns.values()))
    scores = [rows.scores for rows in columns.values()]
    beside: dict[str, Any] = {"sample_weight": first.weights, "groups": first.groups}
    if first.folds is None:
        ranked = [rows.sorted_scores for rows in columns.values()]
        return roc_measures(first.positive, scores, list(columns), ranked=ranked, **beside)
    try:
        return roc_measures(first.positive, scores, list(columns), folds=first.folds, **beside)
    except ValueError as error:
        raise DataError(str(error)) from error


def _lowered(interval: AUCInterval, optimism: float) -> AUCInterval:
    """An AUC and its interval without what it was too high, because it was chosen."""
    auc, low, high = np.clip(np.array([interval.auc, interval.low, interval.high]) - optimism, 0.0, 1.0).tolist()
    return replace(interval, auc=auc, low=low, high=high)
