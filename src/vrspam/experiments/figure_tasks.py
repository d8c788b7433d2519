"""The runs behind the figures.

An algorithm is a black box: its state after e epochs is what `fit` with max_iter=e and the same seed returns.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.utils.extmath import row_norms

from vrspam import AUCClassifier, theory
from vrspam.experiments.plan import Run
from vrspam.experiments.protocol import Algorithm, Protocol
from vrspam.experiments.splits import prepare
from vrspam.experiments.store import Row
from vrspam.experiments.tasks import build, chosen_penalty, evaluate, fit, tuned_value

TIMINGS = 3  # fits whose fastest is shown, where they take less than SHORT seconds
SHORT = 2.0


def convergence(run: Run, protocol: Protocol, needed: list[Row]) -> list[Row]:
    """Test AUC and objective after a growing number of epochs; the clock is that of the longest fit."""
    split = prepare(run, protocol)
    algorithm = protocol.algorithm(run.algorithm)
    l2, l1 = chosen_penalty(algorithm, needed)
    counts = protocol.convergence.epochs

    def trained(epochs: int):
        return fit(_stopped(algorithm, l2, l1, run.seed, epochs, tuned_value(needed)), split)[0]

    seconds = trained(max(counts)).history_["seconds"]
    for _ in range(TIMINGS - 1 if seconds[-1] < SHORT else 0):
        seconds = np.minimum(seconds, trained(max(counts)).history_["seconds"])
    rows = []
    for epochs in counts:
        row = evaluate(trained(epochs), float(seconds[min(epochs, len(seconds) - 1)]), split, l2, l1)
        rows.append({"kind": "convergence"} | split.facts() | row)
    return rows


def variance(run: Run, protocol: Protocol, needed: list[Row]) -> list[Row]:
    """Variance of the direction of an update over the draw of the row, at the end of each epoch.

    For SPAM it is that of the stochastic gradient; for VRSPAM that of G(w) - G(w̃) + ∇f(w̃), w̃ the anchor of the
    epoch, beside the smaller of the paper's two bounds, from ‖w - w*‖² and ‖w̃ - w*‖²: with the paper's constant
    128 M⁴, and with that of the rows.
    """
    split = prepare(run, protocol)
    algorithm = protocol.algorithm(run.algorithm)
    l2, l1 = chosen_penalty(algorithm, needed)
    positive = split.y == 1
    reduced = algorithm.estimator == "VRSPAMClassifier"
    rows: list[Row] = []
    for epochs in range(1, protocol.variance.epochs + 1):
        model, _ = fit(_stopped(algorithm, l2, l1, run.seed, epochs, None, record_variance=True), split)
        if reduced:
            value = float(model.history_["variance"][-1])
        else:
            value = theory.gradient_variance(split.X, positive, model.coef_[0])
        distance = float(np.sum((model.coef_ - split.optimum(l2, l1).coef_) ** 2))
        passes = float(model.history_["passes"][-1])
        rows.append({"kind": "variance", "epoch": epochs, "passes": passes, "variance": value, "distance": distance})
    if reduced:
        M = float(np.sqrt(row_norms(split.X, squared=True).max()))
        constants = {"bound": theory.noise_printed(M), "bound_rows": theory.noise_rows(split.X, positive)}
        for anchor, row in pairwise(rows):  # the last point of an epoch is the next anchor
            for name, noise in constants.items():
                row[name] = min(theory.variance_bounds(noise, row["distance"], anchor["distance"]))
        rows = rows[1:]
    return [row | {"l2": l2, "l1": l1} for row in rows]


def theorem(run: Run, protocol: Protocol, needed: list[Row]) -> list[Row]:
    """‖w̃_s - w*‖² over seeds, with the theoretical step, and the bound α^(s-1) times its mean after one epoch."""
    figure = protocol.theorem
    split = prepare(run, protocol)
    X = split.X / float(np.sqrt(row_norms(split.X, squared=True).max()))  # M = 1
    noise = theory.noise_printed(1.0)
    step = figure.theta * theory.step_bound(figure.l2, noise)
    m = theory.inner_steps(figure.l2, figure.theta, noise)
    alpha = theory.contraction(figure.l2, step, m, noise)
    optimum = AUCClassifier(l2=figure.l2, tol=1e-15).fit(X, split.y).coef_
    algorithm = protocol.algorithm(run.algorithm)
    rows: list[Row] = []
    for epochs in range(1, figure.epochs + 1):
        for repeat in range(figure.seeds):
            model = _stopped(algorithm, figure.l2, 0.0, run.seed + repeat, epochs, None)
            model.set_params(step_size=step, inner_steps=m).fit(X, split.y)
            distance = float(np.sum((model.coef_ - optimum) ** 2))
            rows.append({"kind": "theorem", "epoch": epochs, "repeat": repeat, "l2": figure.l2, "distance": distance})
    start = np.mean([row["distance"] for row in rows if row["epoch"] == 1])
    return [row | {"bound": float(start * alpha ** (row["epoch"] - 1))} for row in rows]


def _stopped(algorithm: Algorithm, l2: float, l1: float, seed: int, epochs: int, tuned: str | None, **more: Any):
    """The algorithm made to do exactly that many epochs."""
    model = build(algorithm, l2, l1, seed, tuned, max_iter=epochs, **more)
    return model if model.get_params().get("tol") is None else model.set_params(tol=0.0)
