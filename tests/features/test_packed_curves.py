"""Many columns at once have the features of one column after the other."""

import numpy as np
import pytest

from vrspam.features import AdditiveFeatures, KernelFeatures, LinearFeatures, TreeFeatures, encoders
from vrspam.features.encoders import Curves, pack


def columns(rng, rows=300):
    """Numbers of many values, of few, of one, with missing ones, far apart, and very small."""
    X = rng.standard_normal((rows, 7))
    X[:, 1] = rng.integers(0, 3, rows)
    X[:, 2] = 4.0
    X[rng.random(rows) < 0.2, 3] = np.nan
    X[:, 4] = 1e200 * X[:, 4] ** 3
    X[:, 5] *= 1e-300
    X[:, 6] = np.where(rng.random(rows) < 0.5, 1.0, np.nan)
    return X


@pytest.mark.parametrize(
    "features",
    [
        LinearFeatures(),
        AdditiveFeatures(random_state=0),
        KernelFeatures(n_landmarks=20, random_state=0),
        TreeFeatures(n_trees=5, n_landmarks=20, random_state=0),
    ],
    ids=lambda features: type(features).__name__,
)
def test_features_do_not_depend_on_how_many_columns_are_written_at_once(features, monkeypatch):
    rng = np.random.default_rng(0)
    features.fit(columns(rng))
    new = np.vstack([columns(rng, 150), 3.0 * columns(rng, 150), features_at_nodes(features)])
    monkeypatch.setattr(pack, "MOST_ROWS", 2_000)
    assert pack.can_pack(features.encoders_, new)
    at_once = features.transform(new)
    monkeypatch.setattr(pack, "MOST_ROWS", 0)
    assert not pack.can_pack(features.encoders_, new)
    assert np.array_equal(at_once, features.transform(new))


def features_at_nodes(features):
    """Rows whose values are nodes of their columns, where one line ends and the next begins."""
    nodes = [encoder.nodes for encoder in features.encoders_]
    return np.stack([np.resize(of_column, 600) for of_column in nodes], axis=1)


def test_places_are_those_of_searchsorted():
    rng = np.random.default_rng(1)
    features = AdditiveFeatures(random_state=0).fit(columns(rng))
    for X in (columns(rng, pack.MOST_ROWS), columns(rng, pack.MOST_ROWS + 1)):  # at once, and column by column
        found = encoders.places_of(features.encoders_, X)[0]
        for j, encoder in enumerate(features.encoders_):
            assert isinstance(encoder, Curves)
            expected = np.where(np.isnan(X[:, j]), -1, np.searchsorted(encoder.nodes, X[:, j]))
            assert np.array_equal(found[:, j], expected)
