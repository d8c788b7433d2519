"""The partial AUC against scikit-learn, the polygon itself, derivatives in the weights, and simulation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

from vrspam.metrics import (
    average_precision_columns,
    partial_auc,
    partial_auc_columns,
    roc_auc,
)


def polygon_area(y, score, max_fpr, weight=None):
    """The area under the ROC polygon up to max_fpr: trapezoids between its corners, the last one cut by hand."""
    fpr, tpr, _ = roc_curve(y, score, sample_weight=weight, drop_intermediate=False)
    area = 0.0
    for x0, x1, y0, y1 in zip(fpr, fpr[1:], tpr, tpr[1:], strict=False):
        if x0 >= max_fpr:
            break
        end = min(x1, max_fpr)
        height = y0 if x1 == x0 else y0 + (y1 - y0) * (end - x0) / (x1 - x0)
        area += (end - x0) * (y0 + height) / 2
    return area


def sample(rng, n=80, ties=True, prevalence=0.3, weighted=False):
    y = rng.random(n) < prevalence
    y[:2], y[2:4] = True, False
    score = rng.standard_normal(n) + y
    weight = None
    if weighted:
        weight = rng.choice([0.0, 0.3, 1.0, 7.0], n)
        weight[[0, 2]] = 1.0
    return y, np.round(2 * score) / 2 if ties else score, weight


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("prevalence", [0.05, 0.5, 0.9])
def test_partial_auc_equals_scikit_learn_and_the_polygon(ties, weighted, prevalence):
    rng = np.random.default_rng(0)
    for max_fpr in (1e-6, 0.01, 0.1, 0.25, 0.5, 0.9, 0.999, 1.0, *rng.random(6)):
        y, score, weight = sample(rng, ties=ties, prevalence=prevalence, weighted=weighted)
        expected = roc_auc_score(y, score, sample_weight=weight, max_fpr=max_fpr)
        assert partial_auc(y, score, max_fpr=max_fpr, sample_weight=weight) == pytest.approx(expected, abs=1e-12)
        area = partial_auc(y, score, max_fpr=max_fpr, standardized=False, sample_weight=weight) * max_fpr
        assert area == pytest.approx(polygon_area(y, score, max_fpr, weight), abs=1e-12)


scores_and_labels = st.lists(st.tuples(st.integers(-4, 4), st.booleans(), st.integers(0, 3)), min_size=2).filter(
    lambda rows: {y for _, y, weight in rows if weight} == {False, True}
)


@given(scores_and_labels, st.floats(0.001, 1.0))
@settings(max_examples=200, deadline=None)
def test_partial_auc_properties(rows, max_fpr):
    score, y, weight = (np.array(column) for column in zip(*rows, strict=True))
    found = partial_auc(y, score, max_fpr=max_fpr, sample_weight=weight)
    assert found == pytest.approx(roc_auc_score(y, score, sample_weight=weight, max_fpr=max_fpr), abs=1e-12)
    share = partial_auc(y, score, max_fpr=max_fpr, standardized=False, sample_weight=weight)
    assert share * max_fpr == pytest.approx(polygon_area(y, score, max_fpr, weight), abs=1e-12)
    assert partial_auc(np.repeat(y, weight), np.repeat(score, weight), max_fpr=max_fpr) == pytest.approx(
        found, abs=1e-12
    )
    assert partial_auc(y, np.exp(score / 3.0), max_fpr=max_fpr, sample_weight=weight) == pytest.approx(found, abs=1e-12)
    auc = roc_auc(y, score, weight)
    assert partial_auc(y, score, max_fpr=1.0, sample_weight=weight) == pytest.approx(auc, abs=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.uint8, bool])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("weighted", [False, True])
def test_columns_are_the_one_column_case(dtype, order, weighted):
    rng = np.random.default_rng(1)
    y = rng.random(150) < 0.3
    scores = np.asarray(rng.integers(0, 40, (150, 7)), dtype=dtype, order=order)
    weight = rng.choice([0.0, 0.5, 2.0], 150) if weighted else None
    expected = [roc_auc_score(y, scores[:, j], sample_weight=weight, max_fpr=0.2) for j in range(7)]
    np.testing.assert_allclose(partial_auc_columns(y, scores, weight, max_fpr=0.2), expected, atol=1e-12)
    expected = [average_precision_score(y, scores[:, j], sample_weight=weight) for j in range(7)]
    np.testing.assert_allclose(average_precision_columns(y, scores, weight), expected, atol=1e-12)


@given(scores_and_labels)
@settings(max_examples=150, deadline=None)
def test_average_precision_equals_scikit_learn(rows):
    score, y, weight = (np.array(column) for column in zip(*rows, strict=True))
    expected = average_precision_score(y, score, sample_weight=weight)
    assert average_precision_columns(y, score[:, None], weight)[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("unit", [2.0**-1000, 2.0**1000])
@pytest.mark.filterwarnings("error")
def test_the_unit_of_weights_does_not_matter(unit):
    rng = np.random.default_rng(0)
    y, score, weight = rng.random(40) < 0.4, rng.integers(0, 9, 40), rng.uniform(0.1, 9.0, 40)
    expected = roc_auc_score(y, score, sample_weight=weight, max_fpr=0.3)
    assert partial_auc(y, score, max_fpr=0.3, sample_weight=unit * weight) == pytest.approx(expected, abs=1e-12)
    one_class = np.where(y, unit, 1.0) * weight
    assert partial_auc(y, score, max_fpr=0.3, sample_weight=one_class) == pytest.approx(expected, abs=1e-12)
    expected = average_precision_score(y, score, sample_weight=weight)
    assert average_precision_columns(y, score[:, None], unit * weight)[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("y", [[1, 1, 1], [0, 0, 0]])
def test_one_class_is_nan_with_a_warning(y):
    with pytest.warns(UndefinedMetricWarning, match="one class"):
        assert np.isnan(partial_auc(y, [1, 2, 3], max_fpr=0.1))
    with pytest.warns(UndefinedMetricWarning, match="one class"):
        assert np.isnan(average_precision_columns(np.array(y, dtype=bool), [[1], [2], [3]])).all()
