"""The squared hinge over pairs, relative to the squared loss and to logistic regression."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV

from benchmarks.common import Table, correlated, interleaved, peak_extra_megabytes
from vrspam import AUCClassifier, AUCClassifierCV
from vrspam.data import load

L2S = 10.0 ** np.arange(-5, 6)
D = 780
TEXTS = ("reuters-tick", "news20")


def logistic(n: int, l2: float, solver: str = "lbfgs") -> LogisticRegression:
    """Return logistic regression with the same l2 in units of a mean over rows."""
    return LogisticRegression(C=1.0 / (n * l2), tol=1e-6, solver=solver, max_iter=5000)


def dense(table: Table) -> None:
    for share in (0.04, 0.3):
        X, y = correlated(60_000, D, share=share)
        auto = AUCClassifier().fit(X, y).l2_
        AUCClassifier(loss="squared_hinge").fit(*correlated(200, 5))  # compile before the clock starts
        for factor in (1, 100):
            l2 = factor * auto
            hinge = AUCClassifier(l2=l2, loss="squared_hinge")
            seconds = interleaved(
                {
                    "hinge": partial(hinge.fit, X, y),
                    "squared": partial(AUCClassifier(l2=l2).fit, X, y),
                    "lbfgs": partial(logistic(len(y), l2).fit, X, y),
                },
                repeats=3,
            )
            if factor == 1:  # one run is enough to see which of the two solvers is faster
                newton = partial(logistic(len(y), l2, "newton-cholesky").fit, X, y)
                seconds |= interleaved({"newton-cholesky": newton}, repeats=1, warm_up=0)
            what = f"60,000 × {D}, {share:.0%} positive, l2 = {factor} × auto: hinge ÷ "
            table.at_most(
                what + "squared fit", seconds["hinge"] / seconds["squared"], 2.5, f"({seconds['hinge']:.2f} s)"
            )
            peer = min((name for name in seconds if name not in ("hinge", "squared")), key=seconds.__getitem__)
            note = f"({peer} {seconds[peer]:.2f} s)"
            table.at_most(what + "LogisticRegression", seconds["hinge"] / seconds[peer], 1.0, note)
            relative = hinge.gap_ / (y.mean() * (1.0 - y.mean()))
            table.at_most(what.removesuffix("hinge ÷ ") + "gap ÷ F(0)", relative, 1e-8)


def memory(table: Table) -> None:
    megabytes = {}
    for loss in ("squared", "squared_hinge"):
        megabytes[loss] = peak_extra_megabytes(
            "from benchmarks.bench_hinge import *\n"
            f"AUCClassifier(loss={loss!r}).fit(*correlated(300, {D})); X, y = correlated(60_000, {D})",
            f"AUCClassifier(loss={loss!r}).fit(X, y)",
        )
    goal = megabytes["squared"] + 4 * 60_000 * 8 / 2**20
    table.at_most("extra peak memory of the hinge, MB", megabytes["squared_hinge"], round(goal, 1))


def grid(table: Table) -> None:
    X, y = correlated(40_000, 100, share=0.05)
    search = AUCClassifierCV(L2S, loss="squared_hinge")
    peer = LogisticRegressionCV(Cs=11, cv=5, scoring="roc_auc", use_legacy_attributes=False, l1_ratios=(0,))
    seconds = interleaved({"hinge": partial(search.fit, X, y), "logistic": partial(peer.fit, X, y)}, repeats=3)
    note = f"({seconds['hinge']:.2f} s / {seconds['logistic']:.2f} s)"
    what = "40,000 × 100, 5 folds × 11 l2: hinge ÷ LogisticRegressionCV(Cs=11, cv=5)"
    table.at_most(what, seconds["hinge"] / seconds["logistic"], 0.5, note)
    points = search.converged_path_
    table.row("grid points certified", f"{points.sum()} of {points.size}", "all", bool(points.all()))


def text(table: Table) -> None:
    for name in TEXTS:
        X, y = load(name)
        auto = AUCClassifier(loss="squared_hinge").fit(X, y).l2_
        for factor in (1, 100):
            hinge = AUCClassifier(l2=factor * auto, loss="squared_hinge")
            seconds = interleaved(
                {"hinge": partial(hinge.fit, X, y), "logistic": partial(logistic(y.size, factor * auto).fit, X, y)},
                repeats=3,
            )
            note = f"({seconds['hinge']:.2f} s / {seconds['logistic']:.2f} s)"
            what = f"{name}, l2 = {factor} × auto: hinge ÷ LogisticRegression"
            table.at_most(what, seconds["hinge"] / seconds["logistic"], 1.0, note)


def part_of_the_curve(table: Table) -> None:
    """Training on the highest-scored negatives alone, relative to all of them: one fit, and a grid."""
    X, y = correlated(10_000, 100, share=0.1)
    for max_fpr, goal in ((0.1, 25.0), (0.01, 25.0)):
        top = AUCClassifier(loss="squared_hinge", max_fpr=max_fpr)
        plain = AUCClassifier(loss="squared_hinge")
        seconds = interleaved({"top": partial(top.fit, X, y), "plain": partial(plain.fit, X, y)}, repeats=3)
        note = f"({seconds['top']:.2f} s / {seconds['plain']:.2f} s)"
        what = f"10,000 × 100, max_fpr={max_fpr:g}: "
        table.at_most(what + "fit ÷ plain hinge fit", seconds["top"] / seconds["plain"], goal, note)
        table.at_most(what + "gap ÷ F(0)", top.gap_ / (y.mean() * (1.0 - y.mean())), 1e-6)
    top, plain = (AUCClassifierCV(L2S, loss="squared_hinge", max_fpr=max_fpr) for max_fpr in (0.1, None))
    seconds = interleaved({"top": partial(top.fit, X, y), "plain": partial(plain.fit, X, y)}, repeats=1, warm_up=0)
    note = f"({seconds['top']:.2f} s / {seconds['plain']:.2f} s)"
    what = "10,000 × 100, max_fpr=0.1, 5 folds × 11 l2: grid ÷ plain hinge grid"
    table.at_most(what, seconds["top"] / seconds["plain"], 15.0, note)
    points = top.converged_path_
    table.row("grid points certified", f"{points.sum()} of {points.size}", "all", bool(points.all()))


def main() -> None:
    table = Table("The squared hinge over pairs")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        dense(table)
        memory(table)
        grid(table)
        text(table)
        part_of_the_curve(table)
