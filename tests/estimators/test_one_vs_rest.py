"""Several classes: against one fit for each class, against moments of each pair, and against Hand & Till by pairs."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning, UndefinedMetricWarning
from sklearn.metrics import roc_auc_score
from sklearn.multiclass import OneVsRestClassifier

from vrspam import AUCClassifier, ClassMoments, OneVsRestAUC, metrics
from vrspam.estimators import one_vs_rest
from vrspam.moments import one_vs_rest_moments


def several_classes(n=400, d=6, classes=4, seed=0):
    """Correlated Gaussian classes of different sizes; the labels are text that is not in the order of the rows."""
    rng = np.random.default_rng(seed)
    code = np.sort(rng.choice(classes, n, p=np.arange(1, classes + 1) / sum(range(classes + 1))))
    rng.shuffle(code)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + 3.0
    X += rng.standard_normal((classes, d))[code]
    return X, np.array(["red", "blue", "green", "black", "white"])[code]


def by_hand(X, y, weights=None, **parameters):
    """One AUCClassifier for each class, on labels that are true for it."""
    return [AUCClassifier(**parameters).fit(X, y == label, sample_weight=weights) for label in np.unique(y)]


def assert_same_fits(model, fits):
    for k, fit in enumerate(fits):
        assert model.l2_[k] == pytest.approx(fit.l2_, rel=1e-10)
        # F is l2-strongly convex, so two points within their gaps of its minimum are this close
        apart = np.sqrt(2 * model.gap_[k] / fit.l2_) + np.sqrt(2 * fit.gap_ / fit.l2_)
        assert np.linalg.norm(model.coef_[k] - fit.coef_[0]) <= apart + 1e-12
        assert model.objective_[k] == pytest.approx(fit.objective_, rel=1e-6)
        assert model.intercept_[k] == pytest.approx(fit.intercept_[0], abs=20 * apart + 1e-9)


@pytest.mark.parametrize("l1", [0.0, 0.02])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, lambda X: X.astype(np.float32)])
def test_each_class_is_the_fit_of_that_class_against_the_rest(l1, weighted, container):
    X, y = several_classes()
    X = container(np.where(np.abs(X) < 1.0, 0.0, X))
    weights = np.random.default_rng(1).uniform(0.0, 2.0, len(y)) if weighted else None
    model = OneVsRestAUC(l1=l1).fit(X, y, sample_weight=weights)
    assert model.coef_.shape == (4, 6)
    assert model.solver_ == "moments"
    assert_same_fits(model, by_hand(X, y, weights, l1=l1))
    assert model.classes_.tolist() == ["black", "blue", "green", "red"]
    if not weighted:
        wrapped = OneVsRestClassifier(AUCClassifier(l1=l1)).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), wrapped.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_moments_of_each_class_and_of_the_rest(classes):
    """The one pass gives the moments that two passes for each class give."""
    X, y = several_classes(classes=classes)
    labels = np.unique(y)
    codes = np.searchsorted(labels, y)
    weights = np.random.default_rng(2).uniform(0.1, 2.0, len(y))
    found = list(one_vs_rest_moments(X, codes, weights, classes))
    assert len(found) == classes
    for k, moments in enumerate(found):
        assert moments == ClassMoments.from_data(X, codes == k, weights)


def test_wide_rows_and_large_matrices_are_solved_class_by_class(monkeypatch):
    X, y = several_classes()
    expected = OneVsRestAUC(tol=1e-12).fit(X, y)
    monkeypatch.setattr(one_vs_rest, "MOST_BYTES", 4 * 6 * 6 * 8 - 1)
    alone = OneVsRestAUC(tol=1e-12).fit(X, y)
    np.testing.assert_allclose(alone.coef_, expected.coef_, rtol=1e-9)
    monkeypatch.setattr(one_vs_rest, "choose_solver", lambda *size: "products")
    for rows in (X, sparse.csr_array(X)):
        by_products = OneVsRestAUC(tol=1e-12).fit(rows, y)
        assert by_products.solver_ == "products"
        assert_same_fits(by_products, by_hand(X, y))


def test_two_labels_are_one_problem():
    X, y = several_classes(classes=2)
    model, binary = OneVsRestAUC().fit(X, y), AUCClassifier().fit(X, y)
    np.testing.assert_allclose(model.coef_, binary.coef_, rtol=1e-10)
    assert model.decision_function(X).shape == (len(y),)
    np.testing.assert_array_equal(model.predict(X), binary.predict(X))
    assert model.score(X, y) == pytest.approx(binary.score(X, y), abs=1e-12)


def test_the_largest_score_is_predicted():
    X, y = several_classes()
    model = OneVsRestAUC().fit(X, y)
    scores = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])


def test_a_score_is_zero_half_way_between_a_class_and_the_rest():
    X, y = several_classes()
    model = OneVsRestAUC().fit(X, y)
    for k, label in enumerate(model.classes_):
        half_way = (X[y == label].mean(axis=0) + X[y != label].mean(axis=0)) / 2
        assert model.decision_function(half_way[None])[0, k] == pytest.approx(0.0, abs=1e-9)


def test_a_class_without_weight_is_no_class():
    X, y = several_classes()
    weights = np.where(y == "green", 0.0, 1.0)
    model = OneVsRestAUC().fit(X, y, sample_weight=weights)
    assert model.classes_.tolist() == ["black", "blue", "red"]
    np.testing.assert_allclose(model.coef_, OneVsRestAUC().fit(X[y != "green"], y[y != "green"]).coef_, rtol=1e-10)
    with pytest.raises(ValueError, match="not seen in fit"):
        model.score(X, y)


def test_frames_keep_their_names_and_probabilities_come_from_calibration():
    pd = pytest.importorskip("pandas")
    X, y = several_classes()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = OneVsRestAUC().fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcdef")
    np.testing.assert_allclose(model.coef_, OneVsRestAUC().fit(X, y).coef_)
    assert not hasattr(model, "predict_proba")
    probabilities = CalibratedClassifierCV(OneVsRestAUC(), ensemble=False).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def test_fits_that_stop_early_are_said_once():
    X, y = several_classes()
    with pytest.warns(ConvergenceWarning, match=r"OneVsRestAUC stopped after 1 iterations.* of 4 classes") as seen:
        OneVsRestAUC(l1=1e-3, max_iter=1, tol=1e-14).fit(X, y)
    assert len([one for one in seen if issubclass(one.category, ConvergenceWarning)]) == 1


def test_columns_of_very_different_scale_are_said():
    X, y = several_classes()
    with pytest.warns(UserWarning, match="standard"):
        OneVsRestAUC().fit(X * np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1e4]), y)


def test_one_label_is_refused_and_binary_estimators_name_this_one():
    X, y = several_classes()
    with pytest.raises(ValueError, match="AUC needs two classes"):
        OneVsRestAUC().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match=r"For several classes use vrspam\.OneVsRestAUC"):
        AUCClassifier().fit(X, y)


def pairwise_hand_till(y, scores, weights):
    """Hand & Till (2001), equation 7, from its definition over all pairs of rows."""
    labels, total = np.unique(y), 0.0
    for i in range(len(labels)):
        for j in range(len(labels)):
            if i == j:
                continue
            of_i, of_j = y == labels[i], y == labels[j]
            gap = scores[of_i, i][:, None] - scores[of_j, i]
            c = np.outer(weights[of_i], weights[of_j])
            total += float((c * ((gap > 0) + 0.5 * (gap == 0))).sum() / c.sum())
    return total / (len(labels) * (len(labels) - 1))


def test_measures_of_several_classes():
    X, y = several_classes(150)
    rng = np.random.default_rng(3)
    weights = rng.uniform(0.1, 2.0, len(y))
    shares = np.round(rng.dirichlet(np.ones(4), len(y)), 1)  # with ties
    shares[:, 0] += 1.0 - shares.sum(axis=1)
    np.testing.assert_allclose(
        metrics.hand_till_auc(y, shares), roc_auc_score(y, shares, multi_class="ovo", average="macro"), rtol=1e-12
    )
    np.testing.assert_allclose(
        metrics.hand_till_auc(y, shares, sample_weight=weights), pairwise_hand_till(y, shares, weights)
    )
    for c in (None, weights):
        np.testing.assert_allclose(
            metrics.one_vs_rest_auc(y, shares, sample_weight=c),
            roc_auc_score(y, shares, multi_class="ovr", average="macro", sample_weight=c),
            rtol=1e-12,
        )
    model = OneVsRestAUC().fit(X, y)
    scores = model.decision_function(X)
    by_class = [roc_auc_score(y == label, scores[:, k]) for k, label in enumerate(model.classes_)]
    assert model.score(X, y) == pytest.approx(np.mean(by_class), abs=1e-12)
    two = y != "green"
    few = np.where(y[two] == "red", "red", "no")
    expected = roc_auc_score(few == "red", scores[two, 3])
    for measure in (metrics.hand_till_auc, metrics.one_vs_rest_auc):
        assert measure(few, scores[two, 3]) == pytest.approx(expected, abs=1e-12)


def test_classes_without_rows_are_left_out_of_the_mean_and_named():
    X, y = several_classes()
    model = OneVsRestAUC().fit(X, y)
    some = y != "green"
    with pytest.warns(UndefinedMetricWarning, match=r"no rows of the classes \['green'\]"):
        found = model.score(X[some], y[some])
    scores = model.decision_function(X[some])
    expected = np.mean(
        [roc_auc_score(y[some] == label, scores[:, k]) for k, label in ((0, "black"), (1, "blue"), (3, "red"))]
    )
    assert found == pytest.approx(expected, abs=1e-12)
    with pytest.warns(UndefinedMetricWarning, match="Only one class"):
        assert np.isnan(model.score(X[y == "red"], y[y == "red"]))


def test_measures_refuse_what_does_not_fit():
    scores = np.zeros((6, 3))
    with pytest.raises(ValueError, match=r"3 columns .* 2 labels: give labels="):
        metrics.hand_till_auc([0, 1, 0, 1, 0, 1], scores)
    with pytest.raises(ValueError, match=r"labels \[7\]"):
        metrics.one_vs_rest_auc([0, 1, 2, 7, 0, 1], scores, labels=[0, 1, 2])
    with pytest.raises(ValueError, match="one row for each of 5"):
        metrics.hand_till_auc([0, 1, 2, 0, 1], scores)
