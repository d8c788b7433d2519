"""Choosing by another measure: each fold and point by itself, fitted and measured by other means."""

import warnings
from typing import Any

import numpy as np
import pytest
from helpers import make_data
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn import config_context
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from vrspam import AUCClassifier, AUCClassifierCV, HashFolds
from vrspam._utils.warnings import GridEdge
from vrspam.features import AdditiveFeatures, LinearFeatures

pytestmark = pytest.mark.filterwarnings("ignore:(The best|All coefficients)")
L2S, L1S, TOL = [1e-3, 1.0, 1e-2], [0.0, 0.02, 50.0], 1e-14


def share_called_right(positive, scores, sample_weight):
    """A measure that depends on the scores themselves, with their intercept."""
    return np.average((scores > 0) == positive, weights=sample_weight)


MEASURES: dict[str, tuple[dict[str, Any], Any]] = {
    "partial": ({"max_fpr": 0.2}, lambda y, s, w: roc_auc_score(y, s, sample_weight=w, max_fpr=0.2)),
    "precision": ({"scoring": "average_precision"}, lambda y, s, w: average_precision_score(y, s, sample_weight=w)),
    "own": ({"scoring": share_called_right}, share_called_right),
    "auc": ({"scoring": "roc_auc"}, lambda y, s, w: roc_auc_score(y, s, sample_weight=w)),
}


def naive_path(X, y, splits, measure, weights):
    path = np.empty((len(L2S), len(L1S), len(splits)))
    for f, (train, test) in enumerate(splits):
        for i, l2 in enumerate(L2S):
            for j, l1 in enumerate(L1S):
                model = AUCClassifier(l2=l2, l1=l1, tol=TOL)
                model.fit(X[train], y[train], None if weights is None else weights[train])
                scores = model.decision_function(X[test])
                path[i, j, f] = measure(y[test] == 1, scores, None if weights is None else weights[test])
    return path


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("kind", ["plain", "weighted", "sparse", "float32"])
def test_score_path_is_the_measure_of_every_fold_and_point(name, kind):
    parameters, measure = MEASURES[name]
    X, y = make_data(240, 4, seed=2, share=0.3)
    weights = np.random.default_rng(0).integers(0, 4, 240).astype(float) if kind == "weighted" else None
    if kind == "float32":
        X = np.round(X, 1).astype(np.float32)
    container = sparse.csr_array if kind == "sparse" else np.asarray
    folds = StratifiedKFold(3)
    model = AUCClassifierCV(L2S, L1S, cv=folds, tol=TOL, **parameters)
    model.fit(container(X), y, sample_weight=weights)
    expected = naive_path(X.astype(np.float64), y, list(folds.split(X, y)), measure, weights)
    atol = 1e-9 if kind != "float32" else 0.02  # rows of rounded numbers are near ties
    assert_allclose(model.score_path_, expected, atol=atol, rtol=0)
    mean = model.score_path_.mean(axis=2)
    chosen = L2S.index(model.l2_), L1S.index(model.l1_)
    assert mean[chosen] >= mean.max() - 1e-12
    assert model.best_score_ == mean[chosen]
    auc = AUCClassifierCV(L2S, L1S, cv=folds, tol=TOL).fit(container(X), y, sample_weight=weights)
    assert_allclose(model.auc_path_, auc.auc_path_, atol=1e-12)
    assert_allclose(auc.score_path_, auc.auc_path_, atol=0)
    # 50 is an l1 at which all coefficients are 0: every row is tied
    assert_allclose(model.score_path_[:, 2], expected[:, 2], atol=1e-12)
    assert model.score(X, y) == pytest.approx(roc_auc_score(y, model.decision_function(X)))


def test_a_fold_without_any_coefficient_is_measured_too():
    X, y = make_data(100, 3, seed=1, share=0.3)
    model = AUCClassifierCV([1.0], [50.0], scoring="average_precision", cv=StratifiedKFold(4)).fit(X, y)
    shares = [np.mean(y[test] == 1) for _, test in StratifiedKFold(4).split(X, y)]
    assert_allclose(model.score_path_[0, 0], shares, atol=1e-12)


def test_the_measure_chooses():
    """Two columns: one ranks all rows fairly well, the other only finds a third of the positives, but those surely."""
    rng = np.random.default_rng(0)
    y = (np.arange(3000) % 10 == 0).astype(int)
    fair = rng.standard_normal(3000) + 1.2 * y
    sure = rng.standard_normal(3000) * 0.3 + 8.0 * (y & (rng.random(3000) < 0.33))
    maps = {"fair": LinearOf([0]), "sure": LinearOf([1])}
    X = np.column_stack([fair, sure])
    chosen = {
        max_fpr: AUCClassifierCV([1e-2], features=maps, max_fpr=max_fpr, cv=3).fit(X, y) for max_fpr in (None, 0.01)
    }
    assert chosen[None].selection_["chosen"] == [True, False]
    assert chosen[0.01].selection_["chosen"] == [False, True]
    table = chosen[0.01].selection_
    names = ["features", "n_features", "l2", "l1", "auc", "score", "standard_error", "chosen", "weight", "gap"]
    names.append("rows")
    assert list(table) == names
    assert table["auc"] == pytest.approx(chosen[None].selection_["auc"])
    assert "score" not in chosen[None].selection_
    path = chosen[0.01].score_path_[0, 0]
    assert table["score"][1] == chosen[0.01].best_score_ == pytest.approx(path.mean())
    assert table["standard_error"][1] == pytest.approx(path.std(ddof=1) / np.sqrt(3))
    assert (chosen[None].measure_, chosen[0.01].measure_) == ("AUC", "partial AUC up to 1 % false positives")


class LinearOf:
    """Some columns as they are."""

    def __init__(self, columns):
        self.columns = columns

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.asarray(X)[:, self.columns]

    def get_params(self, deep=True):
        return {"columns": self.columns}

    def set_params(self, **parameters):
        return self


def test_feature_maps_are_chosen_by_the_measure():
    X, y = make_data(300, 3, seed=5, share=0.2)
    maps = {"lines": LinearFeatures(), "curves": AdditiveFeatures()}
    model = AUCClassifierCV(features=maps, scoring="average_precision", cv=3, selection="best").fit(X, y)
    assert model.selection_["score"][model.selection_["chosen"].index(True)] == max(model.selection_["score"])


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_stream_gives_the_scores_of_rows_in_memory(name, weighted):
    X, y = make_data(600, 4, seed=4, share=0.25)
    weights = np.random.default_rng(0).integers(0, 3, 600).astype(float) if weighted else None
    parameters = MEASURES[name][0]
    whole = AUCClassifierCV(l1s=(0.0, 1e-2, 50.0), cv=HashFolds(3), tol=1e-13, **parameters)
    whole.fit(X, y, sample_weight=weights)
    parts = (X, y) if weights is None else (X, y, weights)
    blocks = [tuple(part[a : a + 77] for part in parts) for a in range(0, 600, 77)]
    streamed = AUCClassifierCV(l1s=(0.0, 1e-2, 50.0), cv=3, tol=1e-13, **parameters).fit_stream(blocks)
    assert_allclose(streamed.score_path_, whole.score_path_, atol=1e-6)
    assert (streamed.l2_, streamed.l1_) == pytest.approx((whole.l2_, whole.l1_))
    assert streamed.best_score_ == pytest.approx(whole.best_score_, abs=1e-6)


def test_average_precision_of_a_sample_stands_for_all_rows():
    """Of a long stream a sample of each class is scored; its weights bring the shares of the classes back."""
    rng = np.random.default_rng(3)
    y = (np.arange(20_000) % 20 == 0).astype(int)
    X = rng.standard_normal((20_000, 2)) + 1.5 * y[:, None]
    blocks = [(X[a : a + 5000], y[a : a + 5000]) for a in range(0, 20_000, 5000)]
    fitted = [
        AUCClassifierCV([1e-2], scoring="average_precision", cv=2).fit_stream(blocks, validation_rows=rows)
        for rows in (3000, 50_000)
    ]
    assert fitted[0].best_score_ == pytest.approx(fitted[1].best_score_, abs=0.05)
    # without the weights one row in four would be positive
    positive, scores = fitted[0].held_out_.positive, fitted[0].held_out_.scores
    assert average_precision_score(positive, scores) > fitted[1].best_score_ + 0.1


def test_dask_gives_the_same_scores():
    da = pytest.importorskip("dask.array")
    from vrspam.distributed import DaskAUCClassifierCV

    X, y = make_data(400, 3, seed=6, share=0.3)
    whole = AUCClassifierCV(cv=HashFolds(3), max_fpr=0.2).fit(X, y)
    model = DaskAUCClassifierCV(cv=3, max_fpr=0.2).fit(da.from_array(X, chunks=(100, 3)), da.from_array(y, chunks=100))
    assert_allclose(model.score_path_, whole.score_path_, atol=1e-6)
    assert model.l2_ == pytest.approx(whole.l2_)


@pytest.mark.parametrize("name", MEASURES)
def test_scores_of_a_device_are_measured_on_the_host(name, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    xp = pytest.importorskip("array_api_strict")
    X, y = make_data(200, 3, seed=7, share=0.3)
    weights = np.random.default_rng(0).integers(0, 3, 200).astype(float)
    parameters = MEASURES[name][0]
    host = AUCClassifierCV(l1s=(0.0, 50.0), cv=3, **parameters).fit(X, y, sample_weight=weights)
    with config_context(array_api_dispatch=True):
        model = AUCClassifierCV(l1s=(0.0, 50.0), cv=3, **parameters)
        model.fit(xp.asarray(X), xp.asarray(y), sample_weight=xp.asarray(weights))
    assert_allclose(model.score_path_, host.score_path_, atol=1e-6)


def refuse(positive, scores, sample_weight):
    raise RuntimeError("no such thing")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"scoring": "partial_roc_auc"}, "scoring='partial_roc_auc' needs max_fpr"),
        ({"max_fpr": 0.0}, r"max_fpr.*in the range \(0.0, 1.0\]"),
        ({"max_fpr": 1.5}, r"max_fpr.*in the range \(0.0, 1.0\]"),
        ({"scoring": "f1"}, "scoring.*average_precision"),
        ({"max_fpr": 0.03}, "max_fpr=0.03 of the 2. negative rows that a fold holds out is less than one"),
        ({"scoring": refuse}, "The scoring function refuse failed on held-out rows: no such thing"),
        ({"scoring": lambda *given: np.nan}, "must return one finite number, got nan"),
        ({"scoring": lambda *given: "good"}, "must return one finite number, got 'good'"),
        ({"scoring": lambda *given: np.ones(2)}, "must return one finite number, got array"),
    ],
)
def test_bad_input_is_named(parameters, message):
    X, y = make_data(100, 3, seed=0, share=0.3)
    model = AUCClassifierCV(cv=3, **parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    if "negative rows" not in message:  # a stream has other folds
        with pytest.raises(ValueError, match=message):
            model.fit_stream([(X, y)])
    assert not hasattr(model, "coef_")


def test_max_fpr_without_effect_is_said():
    X, y = make_data(100, 3, seed=0, share=0.3)
    with pytest.warns(UserWarning, match="max_fpr=0.5 has no effect, because scoring chooses by average precision"):
        AUCClassifierCV(cv=3, max_fpr=0.5, scoring="average_precision").fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "The best")
        AUCClassifierCV(cv=3, max_fpr=0.5).fit(X, y)
        whole = AUCClassifierCV(cv=3, max_fpr=1.0).fit(X, y)
    assert_allclose(whole.score_path_, whole.auc_path_, atol=1e-12)


@pytest.mark.filterwarnings("default")
def test_the_edge_of_the_grid_names_the_measure():
    edge = GridEdge("l2", 0.1, "largest", 0.09, 0.02, "average precision")
    assert "beats its neighbour by 0.09 in average precision, more than one standard error" in str(edge)
    X, y = make_data(300, 30, seed=0, share=0.3)
    shuffled = np.random.default_rng(0).permutation(X) + y[:, None]
    with pytest.warns(GridEdge, match="in partial AUC up to 30 % false positives"):
        AUCClassifierCV([1e-1, 1e3], [0.5, 0.0], max_fpr=0.3, cv=3).fit(shuffled, y)


def test_the_plot_names_the_measure():
    pytest.importorskip("matplotlib")
    from vrspam.plotting import plot_cv

    X, y = make_data(100, 3, seed=0, share=0.3)
    model = AUCClassifierCV(cv=3, scoring="average_precision").fit(X, y)
    ax = plot_cv(model.score_path_, model.l2s_, model.l1s_, measure=model.measure_)
    assert ax.get_ylabel() == "average precision on validation folds"
