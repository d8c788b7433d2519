"""How often 95 % intervals of a partial AUC contain the true one: `python -m benchmarks.partial_coverage`.

Scores are drawn from distributions whose ROC curve is known. All tables (`python -m benchmarks.partial_coverage choice
other confirmation many size`) take about five minutes on one core; docs/intervals.md has them.
"size" is how often the paired test rejects two scores that are equally good.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import quad, trapezoid
from scipy.special import ndtr, ndtri

from benchmarks.interval_coverage import AUCS, Setting, Z, on_logit_scale
from vrspam.metrics import partial_auc_ci, partial_auc_test

METHODS = ("plain", "logit", "score")


@dataclass(frozen=True)
class PartialSetting(Setting):
    """A setting with the part of the curve that counts; `true_partial` is its area ÷ max_fpr."""

    max_fpr: float = 0.1

    @property
    def true_partial(self) -> float:
        """From the curve of the distributions: closed forms, a polygon for ratings, quadrature for normal scores."""
        u, odds = self.max_fpr, self.auc / (1.0 - self.auc)
        if self.shape == "exponential":  # R(t) = t^(1/odds)
            return u ** (1.0 / odds) / (1.0 / odds + 1.0)
        if self.shape == "mirrored":  # R(t) = 1 - (1-t)^odds
            return 1.0 - (1.0 - (1.0 - u) ** (odds + 1.0)) / (odds + 1.0) / u
        if self.shape == "ratings":
            rates = [np.append(0.0, 1.0 - ndtr(np.append(self.cuts[::-1], -np.inf) - mean)) for mean in (self.shift, 0)]
            t = np.union1d(rates[1][rates[1] < u], [u])
            return float(trapezoid(np.interp(t, rates[1], rates[0]), t)) / u
        value, _ = quad(lambda t: ndtr((self.shift + ndtri(t)) / self.spread), 0.0, u, epsabs=1e-12, limit=200)
        return value / u


def tables() -> dict[str, list[PartialSetting]]:
    """The settings of each table: "choice" and "other" chose the method, "confirmation" came after that."""
    sizes = [(5, 50, 0.2), (10, 100, 0.1), (20, 100, 0.1), (20, 200, 0.05), (20, 1000, 0.05), (20, 1000, 0.2)]
    sizes += [(50, 500, 0.1), (50, 1000, 0.01), (200, 2000, 0.05), (200, 1000, 0.01)]
    some, fewer = (0.6, 0.9, 0.99), [(5, 50, 0.2), (20, 100, 0.1), (20, 1000, 0.2), (50, 1000, 0.01), (200, 1000, 0.01)]
    shapes: Any = ("exponential", "mirrored", "ratings")
    return {
        "choice": [PartialSetting(auc, m, n, max_fpr=u) for m, n, u in sizes for auc in AUCS],
        "other": [PartialSetting(auc, m, n, s, max_fpr=u) for s in (2.0, 0.5) for m, n, u in fewer for auc in some],
        "confirmation": [
            PartialSetting(auc, m, n, shape=shape, max_fpr=u) for shape in shapes for m, n, u in fewer for auc in some
        ],
        "many": [
            PartialSetting(auc, m, n, s, max_fpr=u)
            for s in (1.0, 2.0, 0.5)
            for m, n, u in ((500, 5_000, 0.1),)
            for auc in some
        ],
    }


def report(title: str, settings: list[PartialSetting], repeats: int) -> None:
    print(f"\n## {title}\n\nCoverage in % (mean width) of area ÷ max_fpr; {repeats:,} samples each.\n")
    print("| max_fpr | positives | negatives | AUC | scores | true | bias | se | " + " | ".join(METHODS) + " |")
    print("|---" * (8 + len(METHODS)) + "|")
    coverage: dict[str, list[float]] = {name: [] for name in METHODS}
    for number, setting in enumerate(settings):
        rng, true = np.random.default_rng(number), setting.true_partial
        y = np.repeat([True, False], [setting.positives, setting.negatives])
        found = []
        for _ in range(repeats):
            scores = np.concatenate(setting.scores(rng))
            i = partial_auc_ci(y, scores, max_fpr=setting.max_fpr, standardized=False, method="score")
            found.append((i.auc, i.standard_error, i.low, i.high))
        value, error, low, high = np.array(found).T
        bounds = {"score": (low, high)}
        with np.errstate(divide="ignore", invalid="ignore"):  # as in the library, "score" where the others say nothing
            others = {"plain": (value - Z * error, value + Z * error), "logit": on_logit_scale(value, error)}
        usable = (error > 0) & (value > 0) & (value < 1)
        for name, (new_low, new_high) in others.items():
            bounds[name] = np.where(usable, new_low, low), np.where(usable, new_high, high)
        cells = []
        for name in METHODS:
            low, high = (np.clip(bound, 0.0, 1.0) for bound in bounds[name])
            coverage[name].append(100 * float(np.mean((low <= true) & (true <= high))))
            cells.append(f"{coverage[name][-1]:.1f} ({np.mean(high - low):.3f})")
        spread = max(float(value.std()), 1e-300)  # bias and mean standard error in units of the true standard error
        head = f"{setting.max_fpr:g} | {setting.positives:,} | {setting.negatives:,} | {setting.auc:g} | {setting.name}"
        middle = f"{true:.3f} | {(value.mean() - true) / spread:+.2f} | {error.mean() / spread:.2f}"
        print(f"| {head} | {middle} | {' | '.join(cells)} |", flush=True)
    print("\n| method | least | most | settings below 92 | above 99 |\n|---|---|---|---|---|")
    for name in METHODS:
        values = np.array(coverage[name])
        counts = f"{np.sum(values < 92)} of {values.size} | {np.sum(values > 99)} of {values.size}"
        print(f"| {name} | {values.min():.1f} | {values.max():.1f} | {counts} |")


def rejections(setting: PartialSetting, noise: float, repeats: int, seed: int) -> float:
    """How often the paired test rejects, at 5 %, two scores with the same distribution: common part plus own noise."""
    rng = np.random.default_rng(seed)
    y = np.repeat([True, False], [setting.positives, setting.negatives])
    total, rejected = float(np.hypot(1.0, noise)), 0
    for _ in range(repeats):
        common = rng.standard_normal(y.size) + setting.shift * total * y
        a, b = (common + noise * rng.standard_normal(y.size) for _ in range(2))
        rejected += partial_auc_test(y, a, b, max_fpr=setting.max_fpr).p_value < 0.05
    return 100 * rejected / repeats


def size_rows(repeats: int) -> Iterator[str]:
    yield "\n## size\n\nRejections in % of the paired test at 5 %, of two equally good scores."
    yield "\n| max_fpr | positives | negatives | noise | " + " | ".join(f"AUC {auc:g}" for auc in AUCS) + " |"
    yield "|---" * (4 + len(AUCS)) + "|"
    for number, (m, n, u) in enumerate(
        ((20, 100, 0.1), (20, 1000, 0.05), (50, 500, 0.1), (50, 1000, 0.01), (200, 2000, 0.05), (500, 5000, 0.1))
    ):
        for noise in (0.3, 1.0):
            cells = [rejections(PartialSetting(auc, m, n, max_fpr=u), noise, repeats, number) for auc in AUCS]
            yield f"| {u:g} | {m:,} | {n:,} | {noise:g} | " + " | ".join(f"{cell:.1f}" for cell in cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [*tables(), "size"]
    parser.add_argument("tables", nargs="*", default=["choice"], help=f"some of {', '.join(names)}")
    parser.add_argument("--repeats", type=int, default=1000, help="samples for each setting")
    asked = parser.parse_args()
    if unknown := set(asked.tables) - set(names):
        parser.error(f"no table named {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    for title in asked.tables:
        if title == "size":
            for line in size_rows(asked.repeats):
                print(line, flush=True)
        else:
            report(title, tables()[title], asked.repeats)


if __name__ == "__main__":
    main()
