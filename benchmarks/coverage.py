"""How often every interval holds the truth and every test rejects it: `python -m benchmarks.coverage --workers 16`.

Each function of `vrspam.metrics` that gives a 95 % interval, or a test, meets rows whose truth is known: independent
rows, few positives, weights, groups with rows of both classes, groups of one label of which few are positive, and
strata. The table goes to docs/results/coverage.md, or `--out`; `--records FILE` keeps the sets, so that a run that was
stopped goes on where it was. Out-of-fold scores are in `benchmarks.out_of_fold`.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.special import expit, ndtr, ndtri
from scipy.stats import norm

from benchmarks.common import made_by, where_and_when
from vrspam import AUCClassifierCV, metrics
from vrspam._utils.validation import Rows
from vrspam.features.mapped import MappedArray
from vrspam.features.names import named_maps
from vrspam.metrics.calibration import effective_share, wilson
from vrspam.model_selection.learning_curve import learning_curve

AUC = 0.8
ALIKE = 0.7  # share of the variance of scores that rows of a group have in common
OUT = Path(__file__).parent.parent / "docs" / "results" / "coverage.md"


class Situation(NamedTuple):
    """Rows, or groups, of each class; `size` is that of a group, and `labels` says what a label belongs to."""

    positives: int
    negatives: int
    size: int = 1
    labels: str = "row"
    weighted: bool = False

    @property
    def grouped(self) -> bool:
        return self.size > 1


SITUATIONS = {
    "independent rows (60 + 240)": Situation(60, 240),
    "few positives (5 + 100)": Situation(5, 100),
    "weights (60 + 240)": Situation(60, 240, weighted=True),
    "groups of both classes (60 groups of 5)": Situation(18, 42, 5),
    "groups of one label (3 + 40 groups of 5)": Situation(3, 40, 5, "group"),
    "groups of one label (5 + 100 groups of 5)": Situation(5, 100, 5, "group"),
}


class Sample(NamedTuple):
    y: np.ndarray
    a: np.ndarray
    b: np.ndarray
    groups: np.ndarray | None
    weights: np.ndarray | None

    @property
    def beside(self) -> dict[str, Any]:
        return {"groups": self.groups, "sample_weight": self.weights}


def draw(rng: np.random.Generator, situation: Situation) -> Sample:
    """Labels, and two scores that are equally good, partly for the same reasons."""
    n_groups = situation.positives + situation.negatives
    group = np.repeat(np.arange(n_groups), situation.size)
    y = group < situation.positives
    if situation.grouped and situation.labels == "row":
        y = rng.permutation(y)
    shift = np.sqrt(2.0) * ndtri(AUC)

    def noise() -> np.ndarray:
        own = rng.standard_normal(group.size)
        if not situation.grouped:
            return own
        return np.sqrt(ALIKE) * rng.standard_normal(n_groups)[group] + np.sqrt(1.0 - ALIKE) * own

    common, first, second = noise(), noise(), noise()
    a, b = ((common + one) / np.sqrt(2.0) + shift * y for one in (first, second))
    weights = rng.exponential(size=y.size) if situation.weighted else None
    return Sample(y, a, b, group if situation.grouped else None, weights)


def draw_chances(rng: np.random.Generator, situation: Situation) -> tuple[np.ndarray, np.ndarray, Sample]:
    """Labels and probabilities that are right, where rows of a group may all be wrong together."""
    n_groups = situation.positives + situation.negatives
    group = np.repeat(np.arange(n_groups), situation.size)
    together = situation.grouped and situation.labels == "group"
    z = rng.standard_normal(n_groups)[group] if together else rng.standard_normal(group.size)
    chance = expit(z + base(situation.positives / n_groups))
    luck = rng.standard_normal(group.size)
    if situation.grouped:
        alike = 1.0 if together else ALIKE
        luck = np.sqrt(alike) * rng.standard_normal(n_groups)[group] + np.sqrt(1.0 - alike) * luck
    y = ndtr(luck) < chance
    weights = rng.exponential(size=y.size) if situation.weighted else None
    return y, chance, Sample(y, chance, chance, group if situation.grouped else None, weights)


Z = norm.ppf((np.arange(20_000) + 0.5) / 20_000)


@cache
def base(share: float) -> float:
    """The log-odds at which so many rows are positive."""
    from scipy.optimize import brentq

    return float(brentq(lambda at: expit(Z + at).mean() - share, -12.0, 12.0))


def holds(interval: Any, truth: float) -> bool:
    return bool(interval.low <= truth <= interval.high)


def partial_truth(max_fpr: float) -> float:
    false = np.linspace(0.0, max_fpr, 20_001)
    area = np.trapezoid(norm.sf(norm.isf(false) - np.sqrt(2.0) * ndtri(AUC)), false)
    return float(0.5 * (1.0 + (area - max_fpr**2 / 2) / (max_fpr - max_fpr**2 / 2)))


def of_scores(rng: np.random.Generator, situation: Situation) -> dict[str, bool]:
    """Intervals and tests of AUCs, partial AUCs, concordance indices, and a rate at a threshold."""
    one, two = draw(rng, situation), draw(rng, situation)
    y, number = one.y, one.y.astype(int)
    found = {
        "roc_auc_ci covers": holds(metrics.roc_auc_ci(y, one.a, **one.beside), AUC),
        "concordance_index_ci covers": holds(metrics.concordance_index_ci(number, one.a, **one.beside), AUC),
        "delong_test rejects": metrics.delong_test(y, one.a, one.b, **one.beside).p_value < 0.05,
        "compare_aucs rejects": metrics.compare_aucs(y, {"a": one.a, "b": one.b}, **one.beside)[0].adjusted_p < 0.05,
        "concordance_test rejects": metrics.concordance_test(number, one.a, one.b, **one.beside).p_value < 0.05,
    }
    both: dict[str, Any] = {"groups": (one.groups, two.groups), "sample_weight": (one.weights, two.weights)}
    unpaired = metrics.unpaired_auc_test((y, one.a), (two.y, two.a), **both)
    found |= {"unpaired_auc_test rejects": unpaired.p_value < 0.05, "its interval covers": holds(unpaired, 0.0)}
    part = metrics.partial_auc_ci(y, one.a, max_fpr=0.2, **one.beside)
    found["partial_auc_ci (up to .2) covers"] = holds(part, partial_truth(0.2))
    test = metrics.partial_auc_test(y, one.a, one.b, max_fpr=0.2, **one.beside)
    found["partial_auc_test (up to .2) rejects"] = test.p_value < 0.05
    up = one.a[y] >= 1.0  # a threshold that was fixed before
    mass = np.ones(up.size) if one.weights is None else one.weights[y]
    rows = mass.sum() * effective_share(up, mass, None if one.groups is None else one.groups[y])
    low, high = wilson(np.array(mass @ up / mass.sum()), np.array(rows))
    truth = ndtr(np.sqrt(2.0) * ndtri(AUC) - 1.0)
    found["sensitivity at a threshold covers"] = bool(low <= truth <= high)
    return found


def of_chances(rng: np.random.Generator, situation: Situation) -> dict[str, bool]:
    """Intervals of calibration and of net benefit."""
    y, chance, sample = draw_chances(rng, situation)
    if min(y.sum(), (~y).sum()) < 2 * situation.size:
        return {}
    calibration = metrics.calibration_measures(y, chance, **sample.beside)
    truths = {"slope": 1.0, "intercept": 0.0, "ratio": 1.0}
    found = {f"calibration {name} covers": holds(getattr(calibration, name), one) for name, one in truths.items()}
    share = situation.positives / (situation.positives + situation.negatives)
    every = expit(Z + base(share))
    truth = np.mean((every >= share) * (every - share / (1.0 - share) * (1.0 - every)))
    benefit = metrics.net_benefit(y, chance, [share], **sample.beside)
    found["net_benefit covers"] = bool(benefit.low[0] <= truth <= benefit.high[0])
    return found


def of_strata(rng: np.random.Generator, n_strata: int, size: int, weight: str) -> dict[str, bool]:
    """The index inside strata whose level says nothing, sizes from 2 to twice the mean."""
    sizes = rng.integers(2, 2 * size - 1, n_strata)
    strata = np.repeat(np.arange(n_strata), sizes)
    y = (rng.random(strata.size) < 0.4).astype(int)
    level = rng.standard_normal(n_strata)[strata]
    a, b = (level + rng.standard_normal(y.size) + np.sqrt(2.0) * ndtri(AUC) * y for _ in range(2))
    given: dict[str, Any] = {"strata": strata, "strata_weight": weight}
    return {
        "concordance_index_ci covers": holds(metrics.concordance_index_ci(y, a, **given), AUC),
        "concordance_test rejects": metrics.concordance_test(y, a, b, **given).p_value < 0.05,
    }


def draw_table(rng: np.random.Generator, n: int, signal: float) -> tuple[np.ndarray, np.ndarray]:
    y = np.arange(n) < round(0.3 * n)
    X = rng.standard_normal((n, 10))
    X[:, :3] += signal * y[:, np.newaxis]
    return X, y


@cache
def auc_of_rows(features: str, n: int, signal: float) -> float:
    """The AUC to expect of a model of n rows."""
    if signal == 0.0:
        return 0.5
    found = []
    for number in range(10):
        rng = np.random.default_rng([number, 99])
        model = AUCClassifierCV(features=features, random_state=0).fit(*draw_table(rng, n, signal))
        X, y = draw_table(rng, 40_000, signal)
        found.append(metrics.roc_auc(y, model.decision_function(X)))
    return float(np.mean(found))


def of_rows(
    rng: np.random.Generator, n: int, features: str, signal: float, truths: tuple[float, float]
) -> dict[str, bool]:
    """The band of 90 % of the learning curve, at the rows at hand and at four times as many."""
    X, y = draw_table(rng, n, signal)
    part = np.empty(n, dtype=np.intp)
    for side in (y, ~y):
        part[side] = rng.permutation(np.arange(side.sum()) % 20)
    known = next(iter(named_maps(features, 0).values()))
    known.learn(X, None)
    curve = learning_curve(Rows(MappedArray(X, known), y, None), part)
    now, later = curve.at(n), curve.at(4 * n)
    return {"band of 90 %, now": holds(now, truths[0]), "band of 90 %, 4 times the rows": holds(later, truths[1])}


def of_choice(rng: np.random.Generator, situation: Situation | None) -> dict[str, bool]:
    """The interval of a cross-validated AUC, on noise."""
    n = 200 if situation is None else (situation.positives + situation.negatives) * situation.size
    X, y, groups = rng.standard_normal((n, 5)), np.arange(n) < 60, None
    if situation is not None:
        groups = np.repeat(np.arange(n // situation.size), situation.size)
        y = groups < situation.positives
        X = np.sqrt(ALIKE) * rng.standard_normal((groups.max() + 1, 5))[groups] + np.sqrt(1.0 - ALIKE) * X
    model = AUCClassifierCV(features="standardized", cv=min(5, 5 if situation is None else situation.positives))
    model.fit(X, y, groups=groups)
    low, high = model.corrected_interval_
    return {"corrected_interval_ covers": bool(low <= 0.5 <= high)} if np.isfinite(low) else {}


Case = tuple[str, str, Callable[[np.random.Generator], dict[str, bool]]]


def cases() -> list[Case]:
    """The name of each situation, and what is drawn in it."""
    found: list[Case] = []
    for name, situation in SITUATIONS.items():
        found.append((name, "scores", partial(of_scores, situation=situation)))
        found.append((name, "chances", partial(of_chances, situation=situation)))
    for weight in ("pairs", "strata"):
        for n_strata, size in ((40, 8), (4, 60)):
            name = f'{n_strata} strata of {size}, strata_weight="{weight}"'
            found.append((name, "strata", partial(of_strata, n_strata=n_strata, size=size, weight=weight)))
    for n in (300, 1000):
        for features in ("standardized", "additive"):
            for signal, words in ((0.0, "noise"), (0.15, "weak signal"), (0.5, "signal")):
                name = f"{n} rows, {features}, {words}"
                found.append((name, "rows", partial(_band, n=n, features=features, signal=signal)))
    found.append(("noise, independent rows (60 + 140)", "choice", partial(of_choice, situation=None)))
    one_label = SITUATIONS["groups of one label (5 + 100 groups of 5)"]
    found.append(
        ("noise, groups of one label (5 + 100 groups of 5)", "choice", partial(of_choice, situation=one_label))
    )
    return found


def _band(rng: np.random.Generator, n: int, features: str, signal: float) -> dict[str, bool]:
    return of_rows(rng, n, features, signal, (auc_of_rows(features, n, signal), auc_of_rows(features, 4 * n, signal)))


def judge(place: int, numbers: range) -> list[tuple[int, dict[str, bool]]]:
    """Some sets of one case."""
    warnings.simplefilter("ignore")
    draw_case = cases()[place][2]
    return [(number, draw_case(np.random.default_rng([place, number]))) for number in numbers]


def table(done: dict[tuple[str, str], dict[int, dict[str, bool]]], sets: int) -> str:
    """A line for each situation and number: the share in %, and its standard error."""
    lines = ["| situation | what | % | sets |", "|---|---|---|---|"]
    for (name, _), found in done.items():
        counted = [one for number, one in found.items() if number < sets]
        for what in dict.fromkeys(key for one in counted for key in one):
            values = np.array([one[what] for one in counted if what in one], dtype=float)
            share = float(values.mean())
            error = np.sqrt(max(share * (1.0 - share), 1.0 / values.size) / values.size)
            lines.append(f"| {name} | {what} | {100 * share:.1f} ± {100 * error:.1f} | {values.size} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", help="some of scores, chances, strata, rows, choice")
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--records", type=Path, help="a file of sets that are done, which is added to")
    parser.add_argument("--out", type=Path, default=OUT, help="where the table goes")
    parser.add_argument("--commit", default="", help="what this copy of the tree is of, where git cannot tell")
    given = parser.parse_args()
    done: dict[tuple[str, str], dict[int, dict[str, bool]]] = {}
    if given.records is not None and given.records.exists():
        for line in given.records.read_text("utf-8").splitlines():
            name, kind, number, values = json.loads(line)
            done.setdefault((name, kind), {})[number] = values
    tasks = []
    for place, (name, kind, _) in enumerate(cases()):
        if given.kinds and kind not in given.kinds:
            continue
        known = done.setdefault((name, kind), {})
        step = 25
        for first in range(0, given.sets, step):
            if any(number not in known for number in range(first, min(first + step, given.sets))):
                tasks.append((place, range(first, min(first + step, given.sets))))
    from benchmarks.coverage import judge as judge_elsewhere  # by its name: other processes cannot read this script

    run = Parallel(n_jobs=given.workers, return_as="generator")(delayed(judge_elsewhere)(*task) for task in tasks)
    for (place, _), found in zip(tasks, run, strict=True):
        name, kind, _ = cases()[place]
        done[name, kind].update(found)
        if given.records is not None:
            with given.records.open("a", encoding="utf-8") as file:
                file.writelines(f"{json.dumps([name, kind, number, values])}\n" for number, values in found)
    words = (
        "Nominally intervals cover 95 % (bands 90 %), and tests reject 5 % of equals; ± is the standard error of the"
    )
    words = f"{made_by('coverage', given.commit)} {where_and_when()}. {words} simulation.\n"
    text = f"# Coverage of intervals, size of tests\n\n{words}\n{table(done, given.sets)}\n"
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(text, encoding="utf-8")
    print(text, file=sys.stdout)


if __name__ == "__main__":
    main()
