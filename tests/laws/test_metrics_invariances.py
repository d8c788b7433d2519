"""Every public measure: the same rows give the same number, however scores, weights and rows are written.

Types and containers of scores; maps that keep their order, also to infinity; weights times powers of two; the order of
the rows; a row written twice for a weight of two; and the value itself against all pairs in exact rationals.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from laws_support import examples

from vrspam import metrics


class Measure(NamedTuple):
    """A public function as numbers from labels, scores, weights, groups and folds.

    The keywords say which laws it takes part in: whether scores are probabilities, whether it takes weights and groups.
    """

    numbers: Callable[..., Any]
    weights: bool = True
    groups: bool = False
    chances: bool = False
    ranks: bool = True  # whether the order of the scores alone matters


def of_interval(found):
    return [found.auc, found.low, found.high, found.standard_error]


def of_test(found):
    return [found.auc_a, found.auc_b, found.difference, found.standard_error, found.p_value, found.low, found.high]


def with_weights(weights, groups=None):
    given = {} if weights is None else {"sample_weight": weights}
    return given if groups is None else {**given, "groups": groups}


def other_score(y):
    """A second score, for paired tests, that stays what it is."""
    return np.arange(len(y)) % 3


def folds_of(y):
    """Two folds, both with rows of both classes."""
    y = np.asarray(y)
    folds = np.zeros(y.size, dtype=int)
    for side in (y == 0, y == 1):
        folds[side] = np.arange(side.sum()) % 2
    return folds


MEASURES = {
    "roc_auc": Measure(lambda y, s, w, g: metrics.roc_auc(y, s, **with_weights(w))),
    "roc_auc_columns": Measure(
        lambda y, s, w, g: metrics.roc_auc_columns(np.asarray(y) == 1, np.asarray(s)[:, None], w)
    ),
    "roc_auc_ci": Measure(lambda y, s, w, g: of_interval(metrics.roc_auc_ci(y, s, **with_weights(w, g))), groups=True),
    "roc_auc_ci, logit": Measure(
        lambda y, s, w, g: of_interval(metrics.roc_auc_ci(y, s, method="logit", **with_weights(w, g))), groups=True
    ),
    "delong_test": Measure(
        lambda y, s, w, g: of_test(metrics.delong_test(y, s, other_score(y), **with_weights(w, g))), groups=True
    ),
    "unpaired_auc_test": Measure(
        lambda y, s, w, g: of_test(
            metrics.unpaired_auc_test((y, s), (y, other_score(y)), sample_weight=(w, None), groups=(g, None))
        ),
        groups=True,
    ),
    "compare_aucs": Measure(
        lambda y, s, w, g: of_test(
            metrics.compare_aucs(y, {"a": s, "b": other_score(y)}, **with_weights(w, g))[0].test
        ),
        groups=True,
    ),
    "compare_aucs, part": Measure(
        lambda y, s, w, g: of_test(
            metrics.compare_aucs(y, {"a": s, "b": other_score(y)}, max_fpr=0.6, **with_weights(w, g))[0].test
        ),
        groups=True,
    ),
    "partial_auc": Measure(lambda y, s, w, g: metrics.partial_auc(y, s, max_fpr=0.6, **with_weights(w))),
    "partial_auc_columns": Measure(
        lambda y, s, w, g: metrics.partial_auc_columns(
            np.asarray(y) == 1, np.asarray(s)[:, None], max_fpr=0.6, **with_weights(w)
        )
    ),
    "partial_auc_ci": Measure(
        lambda y, s, w, g: of_interval(metrics.partial_auc_ci(y, s, max_fpr=0.6, **with_weights(w, g))), groups=True
    ),
    "partial_auc_test": Measure(
        lambda y, s, w, g: of_test(metrics.partial_auc_test(y, s, other_score(y), max_fpr=0.6, **with_weights(w, g))),
        groups=True,
    ),
    "concordance_index": Measure(lambda y, s, w, g: metrics.concordance_index(y, s, **with_weights(w))),
    "concordance_index_ci": Measure(
        lambda y, s, w, g: of_interval(metrics.concordance_index_ci(y, s, **with_weights(w, g))), groups=True
    ),
    "concordance_test": Measure(
        lambda y, s, w, g: of_test(metrics.concordance_test(y, s, other_score(y), **with_weights(w, g))), groups=True
    ),
    "sensitivity_at_specificity": Measure(
        lambda y, s, w, g: metrics.sensitivity_at_specificity(y, s, [0.3, 0.7], **with_weights(w))
    ),
    "average_precision_columns": Measure(
        lambda y, s, w, g: metrics.average_precision_columns(np.asarray(y) == 1, np.asarray(s)[:, None], w)
    ),
    "one_vs_rest_auc": Measure(lambda y, s, w, g: metrics.one_vs_rest_auc(y, s, **with_weights(w))),
    "hand_till_auc": Measure(lambda y, s, w, g: metrics.hand_till_auc(y, s, **with_weights(w))),
    "promised_threshold": Measure(
        lambda y, s, w, g: [
            (found := metrics.promised_threshold(y, s, recall=0.3, confidence=0.6)).threshold,
            found.found,
        ],
        weights=False,
        ranks=False,
    ),
    "corrected_auc": Measure(
        lambda y, s, w, g: list(
            vars(metrics.corrected_auc(y, np.column_stack([np.asarray(s), other_score(y)]), folds=folds_of(y))).values()
        ),
        weights=False,
    ),
    "net_benefit": Measure(
        lambda y, s, w, g: np.concatenate(metrics.net_benefit(y, s, [0.2, 0.6], **with_weights(w, g))),
        groups=True,
        chances=True,
        ranks=False,
    ),
    "calibration_measures": Measure(
        lambda y, s, w, g: np.concatenate(metrics.calibration_measures(y, s, **with_weights(w, g))),
        groups=True,
        chances=True,
        ranks=False,
    ),
}
NOT_OF_SCORES = {  # records, constants, and formulas of an AUC that is known
    *("ENOUGH_FOR_DELONG", "AUCInterval", "Calibration", "ComparedPair", "CorrectedAUC", "DeLongTest", "Estimate"),
    *("IntervalMethod", "NetBenefit", "PromisedThreshold", "exponential_variance", "logit_interval"),
    *("newcombe_interval", "rows_for_difference", "rows_for_width", "corrected_auc_of"),
}


def test_every_public_function_of_scores_is_held_by_these_laws():
    held = {name.split(",")[0] for name in MEASURES}
    assert held | NOT_OF_SCORES == set(metrics.__all__)


def numbers(measure: Measure, y, score, weight=None, groups=None) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.ravel(np.asarray(measure.numbers(y, score, weight, groups), dtype=float))


def assert_same(found, expected, name, tol=1e-9):
    np.testing.assert_allclose(found, expected, rtol=tol, atol=tol, equal_nan=True, err_msg=name)


def in_pandas(values: list[Any], dtype: str | None = None) -> Any:
    """The values as a series of pandas."""
    return pytest.importorskip("pandas").Series(values, dtype=dtype)


def in_polars(values: list[Any], dtype: str | None = None) -> Any:
    """The values as a series of polars."""
    pl = pytest.importorskip("polars")
    return pl.Series(values, dtype=dtype and getattr(pl, dtype))


CONTAINERS: dict[str, Callable[[list[int]], Any]] = {
    "bool": lambda s: np.array(s) > 0,
    "list of bool": lambda s: [bool(one) for one in s],
    "list of int": list,
    "list of float": lambda s: [float(one) for one in s],
    **{kind: partial(np.array, dtype=kind) for kind in ("uint8", "uint16", "uint32", "uint64")},
    **{kind: partial(np.array, dtype=kind) for kind in ("int8", "int32", "int64")},
    **{kind: partial(np.array, dtype=kind) for kind in ("float16", "float32", "longdouble")},
    "object of int": lambda s: np.array(s, dtype=object),
    "object of bool": lambda s: np.array([bool(one) for one in s], dtype=object),
    "pandas": in_pandas,
    "pandas UInt8": partial(in_pandas, dtype="UInt8"),
    "pandas boolean": lambda s: in_pandas([bool(one) for one in s], dtype="boolean"),
    "polars": in_polars,
    "polars UInt8": partial(in_polars, dtype="UInt8"),
    "polars Boolean": lambda s: in_polars([bool(one) for one in s]),
    "read-only, strided": lambda s: np.repeat(np.array(s, dtype=np.uint8), 2)[::2],
}


def labels(size: int = 14):
    """Labels 0 and 1 with at least three of each."""
    return st.lists(st.integers(0, 1), min_size=8, max_size=size).filter(lambda y: 3 <= sum(y) <= len(y) - 3)


@pytest.mark.parametrize("name", MEASURES)
@given(st.data())
@settings(max_examples=examples(12))
def test_the_type_of_scores_does_not_matter(name, data):
    """Zeros and ones can be written in every type; 0 and 200 in all but booleans and int8."""
    y = data.draw(labels())
    score = data.draw(st.lists(st.integers(0, 1), min_size=len(y), max_size=len(y)))
    plain = numbers(MEASURES[name], y, np.array(score, dtype=float))
    for kind, write in CONTAINERS.items():
        assert_same(numbers(MEASURES[name], y, write(score)), plain, f"{name}: {kind}", tol=1e-12)
    if not MEASURES[name].chances:
        larger = [1 + 199 * one for one in score]
        plain = numbers(MEASURES[name], y, np.array(larger, dtype=float))
        for kind in ("uint8", "uint16", "uint64", "float16", "object of int", "pandas UInt8", "polars UInt8"):
            found = numbers(MEASURES[name], y, CONTAINERS[kind](larger))
            assert_same(found, plain, f"{name}: {kind}", tol=1e-12)


@pytest.mark.parametrize("name", [name for name, measure in MEASURES.items() if measure.ranks])
@given(st.data())
@settings(max_examples=examples(15))
def test_maps_that_keep_the_order_of_scores_change_nothing(name, data):
    y = data.draw(labels())
    ranks = np.array(data.draw(st.lists(st.integers(0, 5), min_size=len(y), max_size=len(y))))
    ends = [-np.inf, -1.7e308, -3.5, -5e-324, 0.0, 5e-324, 0.1, np.nextafter(0.1, 1), 1e16, 1e16 + 2, 1.7e308, np.inf]
    levels = np.sort(data.draw(st.lists(st.sampled_from(ends), min_size=6, max_size=6, unique=True)))
    plain = numbers(MEASURES[name], y, ranks.astype(float))
    assert_same(numbers(MEASURES[name], y, levels[ranks]), plain, name)
    if name == "corrected_auc":  # its matrix has one type for all columns
        return
    large = np.array([0, 1, 2**53, 2**53 + 1, 2**63 - 1, 2**63], dtype=np.uint64)[ranks]
    assert_same(numbers(MEASURES[name], y, large), plain, name)
    assert_same(numbers(MEASURES[name], y, large.astype(object)), plain, name)


@pytest.mark.parametrize("name", [name for name, measure in MEASURES.items() if measure.weights])
@given(st.data())
@settings(max_examples=examples(15))
def test_the_unit_of_weights_does_not_matter(name, data):
    measure, y = MEASURES[name], data.draw(labels())
    score = np.array(data.draw(st.lists(st.integers(0, 5), min_size=len(y), max_size=len(y)))) / 5.0
    weight = np.array(data.draw(st.lists(st.sampled_from([0.0, 0.3, 1.0, 2.0, 7.5]), min_size=len(y), max_size=len(y))))
    y = np.array(y)
    assume(min((weight[y == side] > 0).sum() for side in (0, 1)) >= 2)
    groups = None
    if measure.groups and data.draw(st.booleans()):
        groups = np.arange(len(y)) // 2
    plain = numbers(measure, y, score, weight, groups)
    for power in (520, 1000, -520, 3):
        assert_same(numbers(measure, y, score, np.ldexp(weight, power), groups), plain, f"{name}: 2^{power}", tol=1e-12)


@pytest.mark.parametrize(
    "name", [name for name in MEASURES if name not in ("corrected_auc", "delong_test", "unpaired_auc_test")]
)
@given(st.data())
@settings(max_examples=examples(10))
def test_the_order_of_rows_does_not_matter(name, data):
    measure, y = MEASURES[name], np.array(data.draw(labels()))
    score = np.array(data.draw(st.lists(st.integers(0, 5), min_size=len(y), max_size=len(y)))) / 5.0
    weight = np.array(data.draw(st.lists(st.sampled_from([0.3, 1.0, 2.0]), min_size=len(y), max_size=len(y))))
    groups = np.arange(len(y)) // 2 if measure.groups else None
    order = np.array(data.draw(st.permutations(range(len(y)))))
    weights = weight if measure.weights else None
    both = np.arange(len(y)) % 3  # the second score moves with its rows
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "other_score", lambda y: both)
        plain = numbers(measure, y, score, weights, groups)
        patch.setitem(globals(), "other_score", lambda y: both[order])
        moved = numbers(
            measure,
            y[order],
            score[order],
            None if weights is None else weights[order],
            None if groups is None else groups[order],
        )
    assert_same(moved, plain, name)


VALUES = {  # the first number of a measure does not depend on how often a row was seen, only on how much it counts
    name: measure
    for name, measure in MEASURES.items()
    if measure.weights
    and name not in ("calibration_measures", "unpaired_auc_test", "delong_test", "concordance_test")
    and not name.startswith("compare_aucs")
    and name != "partial_auc_test"
}


@pytest.mark.parametrize("name", VALUES)
@given(st.data())
@settings(max_examples=examples(10))
def test_a_row_written_twice_is_a_row_of_weight_two(name, data):
    measure, y = MEASURES[name], np.array(data.draw(labels()))
    score = np.array(data.draw(st.lists(st.integers(0, 5), min_size=len(y), max_size=len(y)))) / 5.0
    times = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(y), max_size=len(y))))
    copies = numbers(measure, np.repeat(y, times), np.repeat(score, times))
    weighted = numbers(measure, y, score, times)
    one = slice(None) if len(copies) <= 2 else slice(0, 1)
    assert_same(weighted[one], copies[one], name)


def written_out(y, score, weight) -> list[float]:
    """AUC, partial AUC up to .6 and average precision from all pairs and thresholds, in rationals."""
    up = [(Fraction(s), Fraction(w)) for label, s, w in zip(y, score, weight, strict=True) if label and w]
    down = [(Fraction(s), Fraction(w)) for label, s, w in zip(y, score, weight, strict=True) if not label and w]
    half = Fraction(1, 2)
    total_up, total_down = sum((w for _, w in up), Fraction(0)), sum((w for _, w in down), Fraction(0))
    wins = sum(a * b * (1 if s > t else half if s == t else 0) for s, a in up for t, b in down)
    area: Any = Fraction(0)
    room, precision = Fraction(3, 5), Fraction(0)
    for s, a in up:
        above = sum((b for t, b in down if t > s), Fraction(0)) / total_down
        tied = sum((b for t, b in down if t == s), Fraction(0)) / total_down
        left = max(room - above, Fraction(0))
        rising = min(left, tied)
        area += a * (left - rising + (rising * rising / tied / 2 if tied else 0))
        hits, alarms = sum(b for t, b in up if t >= s), sum(b for t, b in down if t >= s)
        precision += a * hits / (hits + alarms)
    return [float(one) for one in (wins / total_up / total_down, area / total_up / room, precision / total_up)]


@given(st.data())
@settings(max_examples=examples(150))
def test_values_are_those_of_all_pairs(data):
    y = np.array(data.draw(labels()))
    score = np.array(data.draw(st.lists(st.integers(0, 5), min_size=len(y), max_size=len(y))), dtype=np.uint8)
    weight = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(y), max_size=len(y))))
    assume(min((weight[y == side] > 0).sum() for side in (0, 1)) >= 2)
    auc, part, precision = written_out(y.tolist(), score.tolist(), weight.tolist())
    given: dict[str, Any] = {"sample_weight": weight}
    assert metrics.roc_auc(y, score, **given) == pytest.approx(auc, abs=1e-12)
    assert metrics.roc_auc_ci(y, score, **given).auc == pytest.approx(auc, abs=1e-12)
    assert metrics.concordance_index(y, score, **given) == pytest.approx(auc, abs=1e-12)
    assert metrics.one_vs_rest_auc(y, score, **given) == pytest.approx(auc, abs=1e-12)
    assert metrics.hand_till_auc(y, score, **given) == pytest.approx(auc, abs=1e-12)
    found = metrics.partial_auc(y, score, max_fpr=0.6, standardized=False, **given)
    assert found == pytest.approx(part, abs=1e-12)
    found = metrics.partial_auc_ci(y, score, max_fpr=0.6, standardized=False, **given).auc
    assert found == pytest.approx(part, abs=1e-12)
    found = metrics.average_precision_columns(y == 1, score[:, None], weight)[0]
    assert found == pytest.approx(precision, abs=1e-12)


@pytest.mark.parametrize("rule", ["recall", "specificity", "precision", "alerts"])
@given(st.data())
@settings(max_examples=examples(15))
def test_a_threshold_between_infinities_is_not_promised(rule, data):
    n = data.draw(st.integers(60, 90))
    score = np.arange(n, dtype=float)
    score[data.draw(st.integers(0, n - 1))] = data.draw(st.sampled_from([np.inf, -np.inf]))
    with pytest.raises(ValueError, match="infinite in 1 rows"):
        metrics.promised_threshold(np.arange(n) % 2, score, **{rule: 0.5})


@given(st.sampled_from([0.0, 1.0, 0.5, 1e-300, 1 - 2**-53]), st.just(0.0) | st.floats(1e-9, 2.0), st.integers(1, 1000))
@settings(max_examples=examples(100))
def test_an_interval_holds_its_auc_and_stays_between_0_and_1(auc, error, pairs):
    for found in (
        metrics.logit_interval(auc, error, pairs),
        metrics.newcombe_interval(auc, error, (pairs + 1, pairs + 3)),
    ):
        assert 0.0 <= found.low <= auc <= found.high <= 1.0
        assert found.low < found.high
