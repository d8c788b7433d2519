"""How often 95 % intervals of an AUC contain the true one: `python -m benchmarks.interval_coverage`.

Scores are drawn from distributions whose AUC is known. The table "choice" takes a minute on one core, the others
(`python -m benchmarks.interval_coverage other many confirmation`) ten; docs/intervals.md says what they were used for.
`--bootstrap` adds the two bootstrap intervals for up to 50 positives.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri, owens_t

from vrspam.metrics import AUCInterval, roc_auc_ci

AUCS = (0.6, 0.8, 0.9, 0.97, 0.99)
POSITIVES = (5, 10, 20, 50, 200)
Z = float(ndtri(0.975))
DRAWS = 999  # of each bootstrap
OFFERED = ("logit", "newcombe")
Bounds = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Setting:
    """Sizes of the classes and the distribution of their scores; `true_auc` follows from them.

    "normal": the scores of the positives have the standard deviation `spread`, those of the negatives 1. "ratings":
    the same in five classes. "exponential": the scores of the positives have the larger mean; "mirrored": minus such
    scores, so that those of the negatives vary more. "two kinds": a positive lies above all negatives or below all.
    """

    auc: float
    positives: int
    negatives: int
    spread: float = 1.0
    shape: Literal["normal", "ratings", "exponential", "mirrored", "two kinds"] = "normal"

    @property
    def name(self) -> str:
        return self.shape if self.spread == 1.0 else f"{self.shape}, spread {self.spread:g}"

    @property
    def shift(self) -> float:
        return float(ndtri(self.auc)) * float(np.hypot(1.0, self.spread))

    @property
    def cuts(self) -> np.ndarray:
        return np.linspace(-1.2, 1.2 + self.shift, 4)

    @property
    def true_auc(self) -> float:
        if self.shape != "ratings":
            return self.auc
        up, down = (np.diff(ndtr(self.cuts - mean), prepend=0.0, append=1.0) for mean in (self.shift, 0.0))
        return float(up @ (np.cumsum(down) - down / 2))

    def scores(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        larger = self.auc / (
            1.0 - self.auc
        )  # of two exponential variables, the one with this mean exceeds that of mean 1
        if self.shape == "exponential":
            return larger * rng.standard_exponential(self.positives), rng.standard_exponential(self.negatives)
        if self.shape == "two kinds":
            return np.where(rng.random(self.positives) < self.auc, 2.0, -2.0), rng.random(self.negatives)
        if self.shape == "mirrored":
            return -rng.standard_exponential(self.positives), -larger * rng.standard_exponential(self.negatives)
        up = self.shift + self.spread * rng.standard_normal(self.positives)
        down = rng.standard_normal(self.negatives)
        return (np.digitize(up, self.cuts), np.digitize(down, self.cuts)) if self.shape == "ratings" else (up, down)


@dataclass(frozen=True)
class Samples:
    """Of many samples of one size the AUC, DeLong's standard error and the intervals that the library offers."""

    auc: np.ndarray
    error: np.ndarray
    offered: dict[str, Bounds]
    positives: int
    negatives: int

    @property
    def smaller(self) -> int:
        return min(self.positives, self.negatives)


def drawn(setting: Setting, repeats: int, seed: int) -> Samples:
    rng = np.random.default_rng(seed)
    y = np.repeat([True, False], [setting.positives, setting.negatives])
    found: dict[str, list[AUCInterval]] = {name: [] for name in OFFERED}
    for _ in range(repeats):
        scores = np.concatenate(setting.scores(rng))
        for name, intervals in found.items():
            intervals.append(roc_auc_ci(y, scores, method=name))  # type: ignore[arg-type]
    auc, error = np.array([(interval.auc, interval.standard_error) for interval in found["logit"]]).T
    offered = {n: tuple(np.array([(i.low, i.high) for i in intervals]).T) for n, intervals in found.items()}
    return Samples(auc, error, offered, setting.positives, setting.negatives)


def where_error(s: Samples, low: np.ndarray, high: np.ndarray) -> Bounds:
    """These bounds where DeLong's error is positive, else those from disjoint pairs, as in `roc_auc_ci`."""
    shrink = 0.025 ** (1.0 / s.smaller)
    return np.where(s.error > 0, low, s.auc * shrink), np.where(s.error > 0, high, 1.0 - (1.0 - s.auc) * shrink)


def on_logit_scale(auc: np.ndarray, error: np.ndarray) -> Bounds:
    half = Z * error / (auc * (1.0 - auc))
    return expit(logit(auc) - half), expit(logit(auc) + half)


def exponential_variance(t: np.ndarray, m: int, n: int) -> np.ndarray:
    """Newcombe's: Hanley's & McNeil's for exponential scores, the two classes playing the same part."""
    return t * (1 - t) * (1 + ((m + n) / 2 - 1) * ((1 - t) / (2 - t) + t / (1 + t))) / (m * n)


def normal_variance(t: np.ndarray, m: int, n: int) -> np.ndarray:
    """The true variance if both classes have normal scores with one standard deviation."""
    both = t - 2.0 * owens_t(ndtri(t), 1.0 / np.sqrt(3.0))  # one row of a class on the right side of two of the other
    return (t * (1 - t) + (m + n - 2) * (both - t**2)) / (m * n)


def solved(s: Samples, variance: Callable[[np.ndarray], np.ndarray]) -> Bounds:
    """All t that a two-sided score test does not reject: |auc - t| ≤ z √variance(t), by bisection."""

    def edge(inside: np.ndarray, outside: float) -> np.ndarray:
        near, far = inside.copy(), np.full_like(inside, outside)
        for _ in range(60):
            middle = (near + far) / 2
            accepted = (s.auc - middle) ** 2 <= Z**2 * variance(middle)
            near, far = np.where(accepted, middle, near), np.where(accepted, far, middle)
        return near

    return edge(s.auc, 0.0), edge(s.auc, 1.0)


def newcombe(s: Samples) -> Bounds:
    return solved(s, lambda t: exponential_variance(t, s.positives, s.negatives))


def normal_score(s: Samples) -> Bounds:
    return solved(s, lambda t: normal_variance(t, s.positives, s.negatives))


def newcombe_scaled(s: Samples) -> Bounds:
    """Newcombe's with the variance multiplied by DeLong's over it, drawn to 1 as by 20 further rows of a class."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = s.error**2 / exponential_variance(s.auc, s.positives, s.negatives)
    ratio = np.where(s.error > 0, ratio, 1.0)
    ratio = (s.smaller * ratio + 20.0) / (s.smaller + 20.0)
    return solved(s, lambda t: ratio * exponential_variance(t, s.positives, s.negatives))


def logit_floored(s: Samples) -> Bounds:
    """The logit interval with a variance of at least Newcombe's at the estimate."""
    floor = exponential_variance(s.auc, s.positives, s.negatives)
    with np.errstate(divide="ignore", invalid="ignore"):
        return where_error(s, *on_logit_scale(s.auc, np.sqrt(np.maximum(s.error**2, floor))))


def logit_shrunken(s: Samples) -> Bounds:
    """The same around an AUC that half a row more on either side has drawn towards 1/2."""
    auc = (s.smaller * s.auc + 0.5) / (s.smaller + 1)
    floor = exponential_variance(auc, s.positives, s.negatives)
    return on_logit_scale(auc, np.sqrt(np.maximum(s.error**2, floor)))


def wilson(s: Samples) -> Bounds:
    """Wilson's interval of a share in as many independent pairs as give DeLong's error."""
    with np.errstate(divide="ignore", invalid="ignore"):
        pairs = np.where(s.error > 0, s.auc * (1 - s.auc) / s.error**2, s.smaller)
    return solved(s, lambda t: t * (1 - t) / pairs)


METHODS: dict[str, Callable[[Samples], Bounds]] = {
    "DeLong, plain": lambda s: where_error(s, s.auc - Z * s.error, s.auc + Z * s.error),
    "DeLong, logit": lambda s: s.offered["logit"],
    "Newcombe 5, raised": lambda s: s.offered["newcombe"],
    "Newcombe 5": newcombe,
    "Newcombe 5, scaled": newcombe_scaled,
    "normal score": normal_score,
    "logit, floored": logit_floored,
    "logit, shrunken": logit_shrunken,
    "Wilson": wilson,
}


def bootstrapped(setting: Setting, repeats: int, seed: int) -> dict[str, Bounds]:
    """BCa and studentised (on the logit scale) intervals, rows drawn within each class.

    All samples of a setting share the draws: each interval is the one of an ordinary bootstrap with a fixed seed.
    Where the bootstrap says nothing (complete separation) the interval is that from disjoint pairs.
    """
    m, n = setting.positives, setting.negatives
    rng, draws = np.random.default_rng(seed), np.random.default_rng(0)
    up_share = (draws.multinomial(m, np.full(m, 1 / m), DRAWS).T / m).astype(np.float32)
    down_share = (draws.multinomial(n, np.full(n, 1 / n), DRAWS).T / n).astype(np.float32)
    bounds: dict[str, list[Any]] = {"BCa": [], "studentised": []}
    for _ in range(repeats):
        up, down = setting.scores(rng)
        table = (up[:, None] > down) + np.float32(0.5) * (up[:, None] == down)
        auc = float(table.mean(dtype=np.float64))
        if auc in (0.0, 1.0):
            shrink = 0.025 ** (1.0 / min(m, n))
            for found in bounds.values():
                found.append((auc * shrink, 1.0 - (1.0 - auc) * shrink))
            continue
        placed_up, placed_down = table @ down_share, table.T @ up_share
        drawn_auc = (up_share * placed_up).sum(0)
        bounds["BCa"].append(_bca(auc, table, drawn_auc))
        spread_up = np.maximum((up_share * placed_up**2).sum(0) - drawn_auc**2, 0.0) / (m - 1)
        spread_down = np.maximum((down_share * placed_down**2).sum(0) - drawn_auc**2, 0.0) / (n - 1)
        bounds["studentised"].append(_studentised(auc, table, drawn_auc, np.sqrt(spread_up + spread_down)))
    return {name: tuple(np.array(found).T) for name, found in bounds.items()}


def _bca(auc: float, table: np.ndarray, drawn_auc: np.ndarray) -> tuple[float, float]:
    up, down = (table.mean(1) - auc) / table.shape[0], (table.mean(0) - auc) / table.shape[1]
    skew = (np.sum(up**3) + np.sum(down**3)) / (6 * (np.sum(up**2) + np.sum(down**2)) ** 1.5)
    below = np.mean(drawn_auc < auc - 1e-6) + np.mean(np.abs(drawn_auc - auc) <= 1e-6) / 2
    shift = ndtri(np.clip(below, 1 / DRAWS, 1 - 1 / DRAWS))
    at = [ndtr(shift + (shift + z) / (1 - skew * (shift + z))) for z in (-Z, Z)]
    return tuple(np.quantile(drawn_auc, at))


def _studentised(auc: float, table: np.ndarray, drawn_auc: np.ndarray, errors: np.ndarray) -> tuple[float, float]:
    m, n = table.shape
    error = np.sqrt(table.mean(1).var(ddof=1) / m + table.mean(0).var(ddof=1) / n) / (auc * (1 - auc))
    usable = (errors > 1e-6) & (drawn_auc > 1e-6) & (drawn_auc < 1 - 1e-6)
    drawn_auc, errors = drawn_auc[usable], errors[usable]
    t = (logit(drawn_auc) - logit(auc)) / (errors / (drawn_auc * (1 - drawn_auc)))
    low, high = np.quantile(t, [0.975, 0.025])
    return expit(logit(auc) - error * low), expit(logit(auc) - error * high)


def tables() -> dict[str, list[Setting]]:
    """The settings of each table, in the order in which they were looked at."""
    few = [(m, n) for m in POSITIVES for n in sorted({10 * m, 1000})]
    equal = [Setting(auc, m, m) for auc in AUCS for m in POSITIVES]
    spread = [Setting(auc, m, 10 * m, spread) for spread in (2.0, 0.5) for auc in AUCS for m in POSITIVES]
    sizes = (100, 200, 300, 500, 1000)
    many = [Setting(auc, m, 10 * m, spread) for spread in (1.0, 2.0) for auc in (0.6, 0.97, 0.99) for m in sizes]
    shapes: tuple[Literal["ratings", "exponential", "mirrored"], ...] = ("ratings", "exponential", "mirrored")
    sizes = (5, 10, 20, 50, 200)
    new = [Setting(auc, m, 10 * m, 1.0, shape) for shape in shapes for auc in AUCS for m in sizes]
    return {
        "choice": [Setting(auc, m, n) for auc in AUCS for m, n in few],
        "other": equal + spread,
        "many": many,
        "two kinds": [Setting(auc, m, 1000, 1.0, "two kinds") for auc in AUCS for m in (8, 20, 50, 200)],
        "confirmation": new + [Setting(auc, 10 * n, n, 2.0) for auc in AUCS for n in sizes],
    }


def report(title: str, settings: list[Setting], repeats: int, with_bootstrap: bool) -> None:
    names = [*METHODS, *(["BCa", "studentised"] if with_bootstrap else [])]
    print(f"\n## {title}\n\nCoverage in % (mean width); {repeats:,} samples each: standard error", end=" ")
    print(f"{100 * np.sqrt(0.95 * 0.05 / repeats):.1f} at 95 %, {100 * np.sqrt(0.8 * 0.2 / repeats):.1f} at 80 %.\n")
    print("| AUC | positives | negatives | scores | " + " | ".join(names) + " |\n" + "|---" * (4 + len(names)) + "|")
    coverage: dict[str, list[float]] = {name: [] for name in names}
    for number, setting in enumerate(settings):
        samples, true = drawn(setting, repeats, seed=number), setting.true_auc
        bounds = {name: method(samples) for name, method in METHODS.items()}
        if with_bootstrap and setting.positives <= 50:
            bounds |= bootstrapped(setting, repeats, seed=number)
        cells = []
        for name, (low, high) in bounds.items():
            coverage[name].append(100 * float(np.mean((low <= true) & (true <= high))))
            width = float(np.mean(np.minimum(high, 1) - np.maximum(low, 0)))
            cells.append(f"{coverage[name][-1]:.1f} ({width:.3f})")
        cells += [""] * (len(names) - len(cells))
        head = f"{true:.3g} | {setting.positives:,} | {setting.negatives:,} | {setting.name}"
        print(f"| {head} | {' | '.join(cells)} |", flush=True)
    print("\n| method | least | most | settings below 92 | above 99 |\n|---|---|---|---|---|")
    for name in names:
        values = np.array(coverage[name])
        counts = f"{np.sum(values < 92)} of {values.size} | {np.sum(values > 99)} of {values.size}"
        print(f"| {name} | {values.min():.1f} | {values.max():.1f} | {counts} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=["choice"], help=f"some of {', '.join(tables())}")
    parser.add_argument("--repeats", type=int, default=4000, help="samples for each setting")
    parser.add_argument("--bootstrap", action="store_true", help="also the two bootstrap intervals")
    asked = parser.parse_args()
    if unknown := set(asked.tables) - set(tables()):
        parser.error(f"no table named {', '.join(sorted(unknown))}; there are {', '.join(tables())}")
    for title in asked.tables:
        report(title, tables()[title], asked.repeats, asked.bootstrap)


if __name__ == "__main__":
    main()
