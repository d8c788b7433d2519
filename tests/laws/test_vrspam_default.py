"""The default of `VRSPAMClassifier` converges or warns, on every shape, in at most twice the passes of another way.

Other ways are the variants by name, and momentum without extrapolation.
"""

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws_support import examples
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from vrspam import VRSPAMClassifier
from vrspam.estimators import vrspam as room

SHAPES = [(60, 500), (60, 200), (40, 30), (200, 500), (200, 50), (300, 30), (500, 20), (1000, 60)]


def table(shape: tuple[int, int], kind: str, seed: int) -> tuple[Any, np.ndarray]:
    """Rows with some signal: plain, sparse, correlated, or of columns of different scales."""
    n, d = shape
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = X[:, 0] + rng.standard_normal(n) > 0.8
    y[:4] = [True, True, False, False]
    if kind in ("sparse", "csr"):
        X *= rng.random((n, d)) < 0.1
    if kind == "correlated":
        X += 3.0 * rng.standard_normal((n, 1))
    if kind == "scaled":
        X *= np.exp(rng.standard_normal(d))
    return sparse.csr_array(X) if kind == "csr" else X, y


def fit(X: Any, y: np.ndarray, **settings: Any) -> tuple[bool, float, bool]:
    """Whether the fit reached its tolerance, the passes it took, and whether it warned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = VRSPAMClassifier(random_state=0, **settings).fit(X, y)
    warned = any(issubclass(one.category, ConvergenceWarning) for one in caught)
    assert model.gap_ is not None
    return model.gap_ <= model.tol * y.mean() * (1.0 - y.mean()), float(model.history_["passes"][-1]), warned


def fit_by_momentum_alone(monkeypatch: pytest.MonkeyPatch, X: Any, y: np.ndarray, **settings: Any):
    with monkeypatch.context() as patched:
        patched.setattr(room, "extrapolates", lambda *asked: False)
        patched.setattr(room, "variant_that_runs", lambda variant, *more: variant)
        return fit(X, y, **settings)


@settings(max_examples=examples(12))
@given(
    shape=st.sampled_from(SHAPES),
    kind=st.sampled_from(["plain", "sparse", "csr", "correlated", "scaled"]),
    l1=st.sampled_from([0.0, 0.0, 0.01]),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_default_converges_or_warns_and_no_other_way_is_twice_as_fast(shape, kind, l1, seed):
    X, y = table(shape, kind, seed)
    converged, passes, warned = fit(X, y, l1=l1)
    assert converged != warned

    ways = [fit(X, y, l1=l1, variant="centred")]
    if l1 == 0.0:
        with pytest.MonkeyPatch.context() as patched:
            ways.append(fit_by_momentum_alone(patched, X, y, l1=l1))
    done = [others for reached, others, _ in ways if reached]
    if done:
        assert converged
        assert passes <= 2.0 * min(done)


@pytest.mark.parametrize("shape", [(60, 500), (100, 1000), (60, 200)])
@settings(max_examples=examples(3))
@given(kind=st.sampled_from(["plain", "sparse", "correlated", "scaled"]), seed=st.integers(0, 2**32 - 1))
def test_the_default_converges_where_columns_are_many(shape, kind, seed):
    X, y = table(shape, kind, seed)
    converged, _, warned = fit(X, y)
    assert converged
    assert not warned
