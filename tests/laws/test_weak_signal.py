"""Probabilities promise no more than new rows show: on noise and weak signal they are not worse than the base rate.

For every kind of features the log loss on new rows is hardly more than that of the base rate, where the choice among
points and maps, and luck, had made held-out rows look better than that. On noise a few draws of rows cost ten times as
much as most, so that their mean says little: it is compared with that of the same scores, calibrated as if held-out
rows were new ones.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws_support import examples, simulation_seed
from scipy.special import expit

from vrspam import AUCClassifierCV
from vrspam.model_selection.calibration import calibrate, scores_to_expect, signal_kept

KINDS: dict[str, Any] = {"linear": "linear", "additive": "additive", "boosted": "boosted", "auto": "auto"}


def draw(rng: np.random.Generator, rows: int, strength: float) -> tuple[np.ndarray, np.ndarray]:
    X = rng.standard_normal((rows, 10))
    return X, rng.random(rows) < expit(strength * X[:, :4].sum(axis=1) / 2.0 - 2.2)


class Losses(NamedTuple):
    """The log loss on new rows, minus that of the share of positives in training: one number for each draw of rows."""

    own: np.ndarray  # of the model's probabilities
    taken_at_their_word: np.ndarray  # of those that keep the whole distance between the classes in held-out scores


def log_loss(p: Any, label: np.ndarray) -> float:
    return float(-np.mean(np.where(label, np.log(p), np.log1p(-p))))


def losses(kind: str, strength: float, sets: int, monkeypatch: pytest.MonkeyPatch) -> Losses:
    calibrated: list[Any] = []

    def watched(scores, positive, weights, kept, lift):
        calibrated.append(calibrate(scores_to_expect(scores, positive, weights, 1.0, lift), positive, "sigmoid"))
        return scores_to_expect(scores, positive, weights, kept, lift)

    monkeypatch.setattr("vrspam.estimators.search.scores_to_expect", watched)
    found = []
    for number in range(sets):
        rng = np.random.default_rng([simulation_seed(), number])
        X, y = draw(rng, 300, strength)
        new, label = draw(rng, 10_000, strength)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = AUCClassifierCV(features=KINDS[kind], random_state=number).fit(X, y)
        naive = calibrated[-1](model.decision_function(new) - model.baseline_)
        base = log_loss(y.mean(), label)
        found.append((log_loss(model.predict_proba(new)[:, 1], label) - base, log_loss(naive, label) - base))
    return Losses(*np.array(found).T)


@pytest.mark.parametrize(("kind", "sets"), [("linear", 60), ("additive", 40), ("boosted", 8), ("auto", 6)])
def test_probabilities_of_noise_are_hardly_worse_than_the_base_rate(kind, sets, monkeypatch):
    found = losses(kind, 0.0, examples(sets), monkeypatch)
    assert np.median(found.own) < 0.0015
    assert found.own.mean() < 0.9 * found.taken_at_their_word.mean()  # .6 of it for single maps; all of it without


@pytest.mark.parametrize("kind", ["additive", "boosted"])
def test_probabilities_of_a_signal_are_better_than_the_base_rate(kind, monkeypatch):
    assert losses(kind, 1.5, examples(6), monkeypatch).own.mean() < -0.01


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.0, 1.0), st.floats(-0.5, 0.5), st.booleans())
def test_the_distance_of_the_classes_is_what_was_asked_for(seed, kept, lift, weighted):
    rng = np.random.default_rng(seed)
    positive = rng.random(50) < 0.4
    positive[:2] = True, False
    scores, weights = rng.standard_normal(50) + positive, rng.random(50) + 0.1 if weighted else np.ones(50)
    moved = scores_to_expect(scores, positive, weights, kept, lift)

    def apart(values):
        means = [np.average(values[positive == side], weights=weights[positive == side]) for side in (False, True)]
        return means[1] - means[0]

    assert apart(moved) == pytest.approx(kept * apart(scores) + lift, abs=1e-9)
    assert np.average(moved, weights=weights) == pytest.approx(np.average(scores, weights=weights), abs=1e-9)
    for side in (False, True):  # nothing else moves
        assert np.ptp((moved - scores)[positive == side]) < 1e-9


def test_the_slope_follows_the_distance():
    """Normal classes of equal spread have the slope distance ÷ variance: half the distance, half the slope."""
    rng = np.random.default_rng(0)
    positive = rng.random(200_000) < 0.3
    scores = rng.standard_normal(200_000) + positive
    halved = scores_to_expect(scores, positive, np.ones(200_000), 0.5, 0.0)
    slopes = [vars(calibrate(one, positive, "sigmoid"))["slope"] for one in (scores, halved)]
    assert slopes == [pytest.approx(1.0, rel=0.02), pytest.approx(0.5, rel=0.03)]


def test_a_clear_signal_is_kept_and_a_choice_is_taken_back():
    positive = np.arange(2000) % 4 == 0
    weights = np.ones(2000)
    assert signal_kept(0.9, 0.0, positive, weights) > 0.98
    assert signal_kept(0.9999, 0.0001, positive, weights) > 0.98
    assert signal_kept(0.75, 0.05, positive, weights) == pytest.approx(0.25 / 0.30, rel=0.02)
    assert signal_kept(0.5, 0.04, positive, weights) == 0.05
    few = [signal_kept(0.6, 0.0, positive[:n], weights[:n]) for n in (100, 400, 2000)]
    assert few == sorted(few)
    twice = np.repeat(positive, 2)
    assert signal_kept(0.6, 0.0, twice, np.ones(4000)) == pytest.approx(signal_kept(0.6, 0.0, positive, 2 * weights))
