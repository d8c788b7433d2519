"""A fitted object comes back from pickle, joblib (mapped files too) and skops with the same bits, and goes on learning.

For every public estimator, its kinds of features and pairs, moments, and what learns block by block.
"""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest

import vrspam
from vrspam import (
    AUCClassifier,
    AUCClassifierCV,
    ClassMoments,
    ConcordanceRanker,
    ConcordanceRankerCV,
    OneVsRestAUC,
    OPAUCClassifier,
    SlidingMoments,
    SOLAMClassifier,
    SPAMClassifier,
    VRSPAMClassifier,
)
from vrspam.trusted import SKOPS_TYPES

N = 80
rng = np.random.default_rng(0)
X = rng.standard_normal((N, 3))
y = (X[:, 0] + rng.standard_normal(N) > 0).astype(int)
STRATA = rng.integers(0, 3, N)
TIMES, EVENT = rng.exponential(np.exp(-X[:, 0])), rng.random(N) < 0.7
FRAME = pd.DataFrame(X, columns=list("abc")).assign(town=rng.choice(["Graz", "Linz"], N))

QUICK: dict[str, Any] = {"cv": 2, "l2s": [0.1]}
FITS: dict[str, Any] = {
    "moments": lambda: AUCClassifier().fit(X, y),
    "hinge": lambda: AUCClassifier(loss="squared_hinge").fit(X, y),
    "mcp": lambda: AUCClassifier(penalty="mcp", l1=0.01).fit(X, y),
    "limits": lambda: AUCClassifier(positive=True).fit(X, y),
    "strata": lambda: AUCClassifier().fit(X, y, strata=STRATA),
    "block": lambda: AUCClassifier().partial_fit(X, y, classes=[0, 1]),
    "one class": lambda: AUCClassifier().partial_fit(X[y > 0], y[y > 0]),
    "variance reduced": lambda: VRSPAMClassifier().fit(X, y),
    "one against the rest": lambda: OneVsRestAUC().fit(X, STRATA),
    "CV": lambda: AUCClassifierCV(**QUICK).fit(X, y),
    "CV, strata": lambda: AUCClassifierCV(**QUICK).fit(X, y, strata=STRATA),
    "CV, isotonic": lambda: AUCClassifierCV(calibration="isotonic", threshold={"recall": 0.9}, **QUICK).fit(X, y),
    "CV, stream": lambda: AUCClassifierCV(**QUICK).fit_stream([(X, y)]),
    "ranker": lambda: ConcordanceRanker().fit(X, TIMES, event=EVENT),
    "ranker, strata": lambda: ConcordanceRanker().fit(X, TIMES, event=EVENT, strata=STRATA),
    "ranker CV": lambda: ConcordanceRankerCV(**QUICK).fit(X, TIMES, event=EVENT),
    "ranker, kernel": lambda: ConcordanceRankerCV(features="kernel 1", **QUICK).fit(FRAME, TIMES, event=EVENT),
    "SPAM": lambda: SPAMClassifier(max_iter=3).fit(X, y),
    "SPAM, averaged": lambda: SPAMClassifier(l2=0.01, average=True).partial_fit(X, y),
    "SOLAM": lambda: SOLAMClassifier(max_iter=3).fit(X, y),
    "SOLAM, block": lambda: SOLAMClassifier(l2=0.01).partial_fit(X, y),
    "OPAUC": lambda: OPAUCClassifier(max_iter=2).fit(X, y),
    "OPAUC, block": lambda: OPAUCClassifier(l2=0.01).partial_fit(X, y),
    "OPAUC, sketch": lambda: OPAUCClassifier(l2=0.01, sketch=2).partial_fit(X, y),
    "ClassMoments": lambda: ClassMoments().update(X, y),
    "ClassMoments, fading": lambda: ClassMoments(half_life=50).update(X, y),
    "SlidingMoments": lambda: SlidingMoments(50).update(X, y),
}
for _name in ("standardized", "additive", "kernel alone 1", "trees 2", "forest", "boosted"):
    FITS[f"CV, {_name}"] = lambda name=_name: AUCClassifierCV(features=name, **QUICK).fit(FRAME, y)


def scores(fitted, rows):
    """What a fitted object says of rows, or of what it holds."""
    if hasattr(fitted, "decision_function"):
        return fitted.decision_function(rows)
    if hasattr(fitted, "predict"):
        return fitted.predict(rows)
    moments = getattr(fitted, "moments", fitted)
    return np.concatenate([moments.means.ravel(), moments.scatters.ravel()])


def go_on(fitted):
    """The object after a few more rows, or None if it learns all at once."""
    learn = getattr(fitted, "partial_fit", None) or getattr(fitted, "update", None)
    if learn is None or getattr(fitted, "loss", "squared") != "squared" or type(fitted).__name__ == "PairMoments":
        return None
    if type(getattr(fitted, "moments_", None)).__name__ == "PairMoments":
        with pytest.raises(ValueError, match="fit all rows at once"):
            learn(X, y)
        return None
    return scores(learn(X, y), X)


def stored_and_loaded(fitted, folder):
    """The object from each way of storing it."""
    skops = pytest.importorskip("skops.io")
    yield "pickle", pickle.loads(pickle.dumps(fitted))
    joblib.dump(fitted, folder / "fitted.joblib")
    for mode in ("r", "r+", "c", None):
        yield f"joblib, {mode}", joblib.load(folder / "fitted.joblib", mmap_mode=mode)
    stored = skops.dumps(fitted)
    assert set(skops.get_untrusted_types(data=stored)) <= set(SKOPS_TYPES)
    yield "skops", skops.loads(stored, trusted=SKOPS_TYPES)


@pytest.mark.parametrize("name", FITS)
def test_what_was_stored_scores_and_learns_as_before(name, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = FITS[name]()
        rows = FRAME if getattr(fitted, "n_features_in_", 3) == 4 else X
        known = None if name == "one class" else scores(fitted, rows)
        loaded = dict(stored_and_loaded(fitted, tmp_path))
        bytes_before = (tmp_path / "fitted.joblib").read_bytes()
        after = go_on(pickle.loads(pickle.dumps(fitted)))
        for way, again in loaded.items():
            if known is not None:
                np.testing.assert_array_equal(scores(again, rows), known, err_msg=way)
            found = go_on(again)
            if after is not None:
                np.testing.assert_array_equal(found, after, err_msg=way)
    assert (tmp_path / "fitted.joblib").read_bytes() == bytes_before  # a mapped file is not written to


def test_every_public_class_is_among_the_fits():
    public = {getattr(vrspam, name) for name in vrspam.__all__ if isinstance(getattr(vrspam, name), type)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = {type(make()) for name, make in FITS.items() if "boosted" not in name and "forest" not in name}
    assert public - fitted == {vrspam.HashFolds}


def test_a_river_model_goes_on_from_a_mapped_file(tmp_path):
    online = pytest.importorskip("vrspam.online")
    pytest.importorskip("river")
    for method in ("moments", "spam", "solam", "opauc"):
        model = online.RiverAUC(method)
        for row, label in zip(X, y, strict=True):
            model.learn_one(dict(zip("abc", row, strict=True)), bool(label))
        model.predict_proba_one({"a": 0.0, "b": 0.0, "c": 0.0})
        joblib.dump(model, tmp_path / "river.joblib")
        again = joblib.load(tmp_path / "river.joblib", mmap_mode="r")
        for one in (model, again):
            for row, label in zip(X[:40], y[:40], strict=True):
                one.learn_one(dict(zip("abc", row, strict=True)), bool(label))
        point = {"a": 0.5, "b": 0.0, "c": -1.0}
        assert again.predict_proba_one(point) == model.predict_proba_one(point)
