"""Directions that columns are told hold everywhere; boosted trees against scikit-learn's."""

import warnings

import numpy as np
import pandas as pd
import pytest
from exported import FORMS
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.multiclass import OneVsRestClassifier

from vrspam import AUCClassifier, AUCClassifierCV, OneVsRestAUC
from vrspam._utils.warnings import MapsLeftOut
from vrspam.export import NotExportable
from vrspam.features import AdditiveFeatures, BoostedFeatures
from vrspam.pictures.columns import plan_column


def credit(n=600, seed=0):
    """Income with gaps, age that goes up and down, and an ordered size of which one level is never seen."""
    rng = np.random.default_rng(seed)
    income, age = np.round(rng.gamma(2.0, 20.0, n), 1), rng.integers(18, 80, n)
    size = rng.choice(["small", "medium", "huge"], n)
    score = 0.02 * (35 - income) + 0.8 * np.sin(age / 8) + 0.6 * (size == "medium") + rng.logistic(size=n)
    income[rng.random(n) < 0.05] = np.nan
    order = pd.Categorical(size, ["small", "medium", "large", "huge"], ordered=True)
    return pd.DataFrame({"income": income, "age": age.astype(float), "size": order}), score > 0.5


pytestmark = pytest.mark.filterwarnings("ignore:Compared with training")
TOLD = {"income": -1, "age": 1, "size": 1}


def pairs(seed=1, n=400):
    """Rows beside each other that differ in one column, also far outside the range; the direction of each."""
    rng = np.random.default_rng(seed)
    levels = ["small", "medium", "large", "huge"]
    low = pd.DataFrame({"income": rng.normal(50, 200, n), "age": rng.normal(50, 60, n), "size": rng.choice(levels, n)})
    high, sign = low.copy(), np.empty(n)
    for i, name in enumerate(rng.choice(list(TOLD), n)):
        sign[i] = TOLD[name]
        if name == "size":
            first, second = sorted(rng.choice(4, 2))
            low.loc[i, name], high.loc[i, name] = levels[first], levels[second]
        else:
            high.loc[i, name] += float(rng.exponential(30.0))
    for frame in (low, high):
        frame["size"] = pd.Categorical(frame["size"], levels, ordered=True)
    return low, high, sign


@pytest.fixture(scope="module")
def model():
    X, y = credit()
    maps = ["standardized", "additive", "boosted"]
    return AUCClassifierCV(features=maps, monotonic_cst=TOLD, calibration="isotonic", random_state=0).fit(X, y)


@pytest.mark.parametrize("method", ["decision_function", "predict_proba"])
def test_a_blend_obeys_in_scores_and_probabilities(model, method):
    low, high, sign = pairs()
    assert len(model.features_.members) > 1
    first, second = (np.asarray(getattr(model, method)(frame)) for frame in (low, high))
    first, second = (part if part.ndim == 1 else part[:, 1] for part in (first, second))
    assert (sign * (second - first)).min() >= -1e-9
    assert (sign * (second - first)).max() > 0.1


@pytest.fixture(scope="module")
def curves():
    X, y = credit()
    return AUCClassifierCV(features="additive", monotonic_cst=TOLD, random_state=0).fit(X, y)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("of", ["curves", "model"])
def test_exports_obey(of, form, request):
    """ONNX, plain Python and SQL in two databases; the last three for sums of curves."""
    low, high, sign = pairs(n=120)
    fitted = request.getfixturevalue(of)
    if of == "model" and "onnx" not in form:
        with pytest.raises(NotExportable):
            FORMS[form](fitted, low)
        return
    first, second = (FORMS[form](fitted, frame) for frame in (low, high))
    room = 1e-9
    np.testing.assert_allclose(second, fitted.decision_function(high), atol=room)
    assert (sign * (second - first)).min() >= -room
    assert (sign * (second - first)).max() > 0.1


def test_curves_are_marked_and_go_their_way(model):
    shapes = model.shape_functions_
    assert {name: shape.direction for name, shape in shapes.items()} == TOLD
    for name in ("income", "age"):
        assert (TOLD[name] * np.diff(shapes[name].contribution)).min() >= -1e-12
    assert shapes["income"].missing is not None  # a level of its own
    drawn = plan_column(shapes["size"], (0.0, 1.0))
    assert drawn.ticks.labels == ["small", "medium", "huge"]  # an order that rises is drawn rising
    assert "rises by request" in drawn.remarks


def test_straight_lines_of_columns_as_they_are_are_marked_too():
    X, y = credit()
    numbers = X[["income", "age"]].fillna(0.0)
    shapes = AUCClassifierCV([1.0], monotonic_cst={"income": -1}).fit(numbers, y).shape_functions_
    assert {name: shape.direction for name, shape in shapes.items()} == {"income": -1, "age": 0}


def test_a_curve_that_was_told_is_as_large_as_it_is_drawn():
    """Where other columns bend the projection of a score the curve is moved, and its size with it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 100))
    y = X[:, 0] - X[:, 1] + rng.logistic(size=120) > 0.0
    told = AUCClassifierCV(features="boosted", monotonic_cst=[-1] + [0] * 99, random_state=0).fit(X, y)
    shape = told.shape_functions_["x0"]
    drawn = np.interp(X[:, 0], shape.grid, shape.contribution)
    shares = np.where(y, 0.5 / y.sum(), 0.5 / (~y).sum())
    assert shape.importance == pytest.approx(np.sqrt(shares @ (drawn - shares @ drawn) ** 2), abs=1e-9)
    assert shape.difference == pytest.approx(drawn[y].mean() - drawn[~y].mean(), abs=1e-9)


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
def test_where_the_limit_does_not_bind_the_curve_is_the_free_one(loss):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2))
    y = X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.logistic(size=400) > 0.5
    l2 = [3.0]
    free, told = (
        AUCClassifierCV(l2, features="additive", loss=loss, monotonic_cst=cst, tol=1e-12).fit(X, y)
        for cst in (None, [1, 0])
    )
    np.testing.assert_allclose(told.decision_function(X), free.decision_function(X), atol=1e-5)
    assert told.objective_ == pytest.approx(free.objective_, rel=1e-9)
    bent = AUCClassifierCV(l2, features="additive", loss=loss, monotonic_cst=[0, 1]).fit(X, y)
    assert bent.objective_ > free.objective_ + 1e-4
    assert bent.gap_ <= 1e-8


def test_rising_functions_span_the_free_curves_at_the_same_price():
    """Without limits the coefficients of either basis give the same scores."""
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.standard_normal(500), np.round(rng.standard_normal(500)), np.exp(rng.standard_normal(500))]
    )
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + rng.logistic(size=500) > 0.5
    free, told = (AdditiveFeatures(monotonic_cst=cst).fit_transform(X) for cst in (None, [1, -1, 1]))
    both = [AUCClassifier(l2=1e-3, tol=1e-13).fit(part, y).decision_function(part) for part in (free, told)]
    np.testing.assert_allclose(both[0], both[1], atol=1e-6)


@pytest.mark.parametrize("cst", [[1, 0, 0], [-1, 1, 0], [0, 0, 1]])
def test_boosted_trees_are_those_of_scikit_learn(cst):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 40, (1500, 3)).astype(float)
    y = np.sin(X[:, 0] / 6) - 0.05 * X[:, 1] + 0.03 * X[:, 2] + rng.logistic(size=1500) > -0.5
    ours = BoostedFeatures(n_trees=30, learning_rate=0.1, max_leaves=31, max_depth=10, min_rows=20, monotonic_cst=cst)
    other = HistGradientBoostingClassifier(
        max_iter=30, learning_rate=0.1, max_leaf_nodes=31, max_depth=10, min_samples_leaf=20, monotonic_cst=cst,
        early_stopping=False,
    )  # fmt: skip
    scores, theirs = ours.fit(X, y).transform(X)[:, 0], other.fit(X, y).decision_function(X)
    np.testing.assert_allclose(scores - scores.mean(), theirs - theirs.mean(), atol=1e-6)
    free = BoostedFeatures(n_trees=30, learning_rate=0.1, max_leaves=31, max_depth=10, min_rows=20).fit(X, y)
    assert np.abs(free.transform(X)[:, 0] - scores).max() > 0.05  # the directions matter


def test_several_classes_obey():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    y = np.digitize(X[:, 0] + 0.5 * rng.standard_normal(300), [-0.5, 0.5])
    own = OneVsRestAUC(monotonic_cst=[1, 0]).fit(X, y)
    assert own.coef_[:, 0].min() >= 0.0
    wrapped = OneVsRestClassifier(AUCClassifier(monotonic_cst=[1, 0])).fit(X, y)
    np.testing.assert_allclose([one.coef_[0] for one in wrapped.estimators_], own.coef_, atol=1e-8)


def test_what_cannot_obey_is_left_out_or_refused():
    X, y = credit(300)
    with pytest.warns(MapsLeftOut, match="kernel, trees, forest"):
        model = AUCClassifierCV(features="auto", monotonic_cst={"age": 1}, random_state=0).fit(X, y)
    assert model.selection_["features"] == ["standardized", "additive", "boosted"]
    with pytest.raises(ValueError, match=r"^kernel cannot keep a score rising"):
        AUCClassifierCV(features="kernel", monotonic_cst={"age": 1}).fit(X, y)
    with pytest.raises(ValueError, match="have no order"):
        AUCClassifierCV(features="additive", monotonic_cst={"size": 1}).fit(X.assign(size=X["size"].astype(str)), y)
    with pytest.raises(ValueError, match="allow only l2"):
        AUCClassifierCV(l1s="auto", features="additive", monotonic_cst={"age": 1}).fit(X, y)
    with pytest.raises(ValueError, match="limits of the coefficients of columns"):
        AUCClassifierCV(features="additive", bounds=(0, 1)).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AUCClassifierCV(features="additive", monotonic_cst={"age": 0}).fit(X, y)
