"""scikit-learn's conventions: tags, array API, metadata routing, links to documentation, skops."""

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from helpers import ESTIMATORS, make_data
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.fixes import parse_version

import vrspam
from vrspam import AUCClassifier, AUCClassifierCV, HashFolds, OneVsRestAUC, VRSPAMClassifier, features
from vrspam._utils import parameters
from vrspam.features import AdditiveFeatures
from vrspam.trusted import SKOPS_TYPES


@pytest.mark.parametrize(
    ("estimator", "on_devices", "sparse", "missing"),
    [
        (AUCClassifier(), True, True, False),
        (AUCClassifier(loss="squared_hinge"), False, True, False),
        (AUCClassifierCV(), True, True, False),
        (AUCClassifierCV(loss="squared_hinge"), False, True, False),
        (AUCClassifierCV(features="additive"), False, True, True),
        (OneVsRestAUC(), False, True, False),
        (VRSPAMClassifier(), False, True, False),
        (VRSPAMClassifier(penalty="mcp", l1=0.1), False, False, False),
        (AdditiveFeatures(), False, True, True),
    ],
)
def test_tags(estimator, on_devices, sparse, missing):
    tags = get_tags(estimator)
    assert tags.array_api_support == on_devices
    assert tags.input_tags.sparse == sparse
    assert tags.input_tags.allow_nan == missing
    if tags.classifier_tags is not None:
        assert tags.classifier_tags.multi_class == isinstance(estimator, OneVsRestAUC)
        assert tags.target_tags.required


# A model fitted on a device also scores arrays of another library or device: its coefficients are small, and are moved.
MOVES_COEFFICIENTS = "check_array_api_same_namespace"
# The grid, and scores and gaps at its points, are small results that stay on the host as NumPy's.
HOST_RESULTS = "'l2s_' attribute is in wrong namespace"


@pytest.mark.skipif(parse_version(sklearn.__version__) < parse_version("1.9"), reason="the checks are those of 1.9")
def test_array_api_checks_of_estimators_that_have_the_tag():
    pytest.importorskip("array_api_strict")
    program = Path(__file__).parents[1] / "array_api_checks.py"
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, env=os.environ | {"PYTHONPATH": paths}
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split(" | ") for line in done.stdout.splitlines()]
    passed = [line for line in lines if line[-1] == "passed"]
    assert sum("array_api_strict" in line[2] for line in passed if line[0].startswith("AUCClassifier(")) >= 4
    for estimator, check, _, outcome in lines:
        if outcome.startswith("failed"):
            expected = check == MOVES_COEFFICIENTS or (
                estimator.startswith("AUCClassifierCV") and HOST_RESULTS in outcome
            )
            assert expected, (estimator, check, outcome)


@pytest.fixture
def routed():
    with config_context(enable_metadata_routing=True):
        yield


def grouped_data():
    """Rows in groups of five that are nearly the same, and weights."""
    X, y = make_data(30, 4, seed=2)
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 5)
    X = np.repeat(X, 5, axis=0) + 0.01 * rng.standard_normal((150, 4))
    return X, np.repeat(y, 5), groups, rng.uniform(0.5, 2.0, 150)


@pytest.mark.usefixtures("routed")
def test_groups_and_weights_are_routed_through_a_pipeline():
    X, y, groups, weights = grouped_data()
    inner = AUCClassifierCV([0.01, 1.0], cv=GroupKFold(3)).set_fit_request(groups=True, sample_weight=True)
    model = make_pipeline(StandardScaler().set_fit_request(sample_weight=True), inner)
    model.fit(X, y, groups=groups, sample_weight=weights)
    scaled = StandardScaler().fit_transform(X, sample_weight=weights)
    alone = clone(inner).fit(scaled, y, sample_weight=weights, groups=groups)
    np.testing.assert_allclose(model[-1].auc_path_, alone.auc_path_)
    np.testing.assert_allclose(model[-1].coef_, alone.coef_)
    with pytest.raises(ValueError, match="groups"):
        clone(inner).set_fit_request(groups=False).fit(scaled, y)


@pytest.mark.usefixtures("routed")
def test_groups_reach_both_splitters_of_a_nested_search():
    X, y, groups, weights = grouped_data()
    inner = AUCClassifierCV([0.01, 1.0], cv=GroupKFold(3))
    inner.set_fit_request(groups=True, sample_weight=True).set_score_request(sample_weight=True)
    outer = GridSearchCV(inner, {"tol": [1e-8]}, cv=GroupKFold(2)).fit(X, y, groups=groups, sample_weight=weights)
    train, test = next(GroupKFold(2).split(X, y, groups))
    by_hand = clone(inner).fit(X[train], y[train], sample_weight=weights[train], groups=groups[train])
    expected = by_hand.score(X[test], y[test], sample_weight=weights[test])
    assert outer.cv_results_["split0_test_score"][0] == pytest.approx(expected, abs=1e-12)
    assert outer.best_estimator_.auc_path_.shape[-1] == 3


@pytest.mark.usefixtures("routed")
def test_what_is_not_requested_is_an_error_not_silence():
    X, y, _, weights = grouped_data()
    with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="sample_weight"):
        GridSearchCV(OneVsRestAUC(), {"l1": [0.0]}, cv=KFold(2)).fit(X, y, sample_weight=weights)
    wanted = OneVsRestAUC().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    GridSearchCV(wanted, {"l1": [0.0]}, cv=KFold(2)).fit(X, y, sample_weight=weights)


def test_links_to_documentation_come_with_a_base_address(monkeypatch):
    models: list[Any] = [AUCClassifierCV(), AdditiveFeatures()]
    for model in models:
        assert model._get_doc_link() == ""
        assert "sk-estimator-doc-link" in model._repr_html_()  # the representation itself is there
    monkeypatch.setattr(parameters, "BASE", "https://docs.example/vrspam/")
    links = [model._get_doc_link() for model in models]
    assert links == [
        "https://docs.example/vrspam/vrspam.AUCClassifierCV.html",
        "https://docs.example/vrspam/vrspam.features.AdditiveFeatures.html",
    ]
    for model, link in zip(models, links, strict=True):
        assert link in model._repr_html_()

    class Own(AUCClassifier):
        """A class of a user has no page here."""

    assert Own()._get_doc_link() == ""


def test_public_names_can_be_imported():
    kinds = {type(estimator) for estimator in ESTIMATORS} | {features.KernelFeatures, features.StackedFeatures}
    for kind in kinds:
        room, _, name = parameters.public_name(kind).rpartition(".")
        assert getattr(importlib.import_module(room), name) is kind


def frame_of(X):
    """All kinds of columns: numbers, text that means numbers, dates and times as such, categories, names, gaps."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    frame.loc[::7, "x0"] = np.nan
    frame["town"] = pd.Categorical(np.where(X[:, 0] > 0, "here", "there"))
    frame["price"] = [f"${value:.2f}" for value in rng.uniform(1, 9, len(X))]
    frame["day"] = pd.date_range("2020-01-01", periods=len(X)).strftime("%Y-%m-%d")
    frame["start"] = [f"{k % 24:02d}:{k % 60:02d}" for k in range(len(X))]
    frame["moment"] = pd.date_range("2020-01-01", periods=len(X), freq="7h")
    frame["span"] = pd.to_timedelta(rng.integers(1, 9000, len(X)), unit="s")
    frame["patient"] = [f"p{k}" for k in range(len(X))]
    return frame


STACK = features.StackedFeatures([features.LinearFeatures(), features.TreeFeatures(n_trees=20)])
MAPS = [STACK if name == "StackedFeatures" else kind() for name, kind in features.MAPS.items()]
FITS = [
    *ESTIMATORS,
    AUCClassifierCV(cv=HashFolds(3)),
    AUCClassifierCV(features="auto", cv=3),
    *(AUCClassifierCV([0.1], features=one, cv=2, random_state=0) for one in MAPS),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", FITS, ids=str)
def test_skops_loads_every_estimator_with_the_documented_types(estimator):
    io = pytest.importorskip("skops.io")
    X, y = make_data(120, 4, seed=1)
    data = frame_of(X) if getattr(estimator, "features", "linear") != "linear" else X
    model = clone(estimator).fit(data, y)
    stored = io.dumps(model)
    assert set(io.get_untrusted_types(data=stored)) <= set(SKOPS_TYPES)
    again = io.loads(stored, trusted=SKOPS_TYPES)
    np.testing.assert_array_equal(again.decision_function(data), model.decision_function(data))
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(again.predict_proba(data), model.predict_proba(data))
    if hasattr(model, "shape_functions_"):
        assert again.shape_functions_.keys() == model.shape_functions_.keys()
        assert again.explain_one(data[:1]) == model.explain_one(data[:1])
    if hasattr(model, "partial_fit") and getattr(model, "loss", "squared") == "squared":
        np.testing.assert_array_equal(again.partial_fit(X, y).coef_, model.partial_fit(X, y).coef_)


def test_the_documented_types_exist():
    for name in SKOPS_TYPES:
        room, _, kind = name.rpartition(".")
        assert isinstance(getattr(importlib.import_module(room), kind), type)
    for name in vrspam.__all__:
        kind = getattr(vrspam, name)
        if isinstance(kind, type) and hasattr(kind, "fit"):
            assert f"{kind.__module__}.{kind.__name__}" in SKOPS_TYPES
