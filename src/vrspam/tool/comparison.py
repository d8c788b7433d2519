"""Which of several scores of the same rows rank them better: paired tests, with p-values adjusted for their number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from vrspam.metrics import AUCInterval, ComparedPair, DeLongTest, compare_aucs
from vrspam.metrics.comparison import compare_pairs, compare_placed
from vrspam.metrics.concordance import ComparablePairs, paired_concordance
from vrspam.metrics.intervals import interval_of, roc_measures
from vrspam.metrics.roc import Ranked
from vrspam.tool.subgroups import ranking_ci

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
        What the choice of the first flatters: it was taken from its AUC.
    notes : tuple of str
    beside : dict
        `groups` and `sample_weight` of the rows, None where there are none.

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

    test: Any  # DeLongTest; None of one score alone
    positive: np.ndarray
    scores: tuple[np.ndarray, ...]
    names: tuple[str, ...] = ("first", "second")
    pairs: tuple[ComparedPair, ...] = ()
    intervals: tuple[AUCInterval, ...] = ()
    optimism: float = 0.0
    notes: tuple[str, ...] = ()
    beside: Mapping[str, Any] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.test, self.positive, self.scores))

    def flat(self) -> dict[str, Any]:
        """The AUC of each with its interval, and the tests, for scripts; what cannot be tested is None."""
        found = zip(self.names, self.intervals, strict=True)
        each = {name: {"auc": one.auc, "low": one.low, "high": one.high} for name, one in found}
        return {"scores": each, "optimism": self.optimism, "n": self.positive.size, "pairs": flat_pairs(self.pairs)}

    def partial_pairs(self, max_fpr: float) -> tuple[ComparedPair, ...]:
        """The paired tests of the partial AUCs up to a false-positive rate, standardised."""
        both = dict(zip(self.names, self.scores, strict=True))
        confidence = 0.95 if self.test is None else self.test.confidence
        return compare_aucs(self.positive, both, max_fpr=max_fpr, confidence=confidence, **self.beside)

    def partial_test(self, max_fpr: float) -> DeLongTest:
        """The first of these tests."""
        return self.partial_pairs(max_fpr)[0].test


def flat_pairs(pairs: Sequence[ComparedPair]) -> list[dict[str, Any]]:
    """Tests of pairs as JSON can hold them."""
    found = [{"a": a, "b": b, **asdict(test), "adjusted_p": p} for a, b, test, p in pairs]
    return [{name: None if value != value else value for name, value in one.items()} for one in found]


def compare_scores(
    positive: np.ndarray,
    scores: Mapping[str, np.ndarray],
    ranked: Sequence[Ranked] = (),
    *,
    weights: np.ndarray | None = None,
    groups: np.ndarray | None = None,
    times: np.ndarray | None = None,
    within: np.ndarray | None = None,
    confidence: float = 0.95,
    optimism: float = 0.0,
) -> Comparison:
    """Compare scores of the same rows in pairs; `ranked` are they sorted, `optimism` flatters the first of them."""
    names, less = list(scores), {next(iter(scores)): optimism}
    beside: dict[str, Any] = {"sample_weight": weights, "groups": groups}
    if times is None and within is None:
        placed = roc_measures(positive, list(scores.values()), names, ranked=ranked, **beside)
        measured = [placed.of(place) for place in range(len(names))]
        pairs = compare_placed(placed, names, confidence, less, measured)
        intervals = tuple(interval_of(one, confidence) for one in measured)
    else:
        y, event = (positive.astype(np.int8), None) if times is None else (times, positive)
        comparable = ComparablePairs.of(y, event, within, weights)

        def test(a: str, b: str) -> DeLongTest:
            return paired_concordance(comparable, (scores[a], scores[b]), groups, confidence, less.get(a, 0.0))

        pairs = compare_pairs(names, test)
        shared: dict[str, Any] = {"weights": weights, "groups": groups, "times": times, "within": within}
        intervals = tuple(ranking_ci(positive, own, **shared, confidence=confidence) for own in scores.values())
    if optimism:
        own = intervals[0]
        auc, low, high = np.clip(np.array([own.auc, own.low, own.high]) - optimism, 0.0, 1.0).tolist()
        intervals = (replace(own, auc=auc, low=low, high=high), *intervals[1:])
    found = positive, tuple(scores.values()), tuple(names), pairs, intervals, optimism
    return Comparison(pairs[0].test if pairs else None, *found, beside=beside)


def comparison_picture(positive: np.ndarray, scores: Mapping[str, np.ndarray], max_fpr: float | None = None) -> Figure:
    """Both ROC curves, and both curves of precision and recall."""
    from vrspam.plotting import plot_precision_recall, plot_roc
    from vrspam.plotting.style import new_figure

    figure, axes = new_figure(1, 2, (10.4, 4.9))
    plot_roc(positive, scores, max_fpr=max_fpr, ax=axes[0, 0])
    plot_precision_recall(positive, scores, ax=axes[0, 1])
    return figure
