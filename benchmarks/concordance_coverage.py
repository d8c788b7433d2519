"""How often 95 % intervals of a concordance index hold the true one: `python -m benchmarks.concordance_coverage`.

Survival times are exponential with the risk exp(strength · x), the score is x, and censoring is exponential too; "few
values" rounds x to whole numbers, "strata" compares rows inside sets of ten that share a risk of their own. The true
index is that of 400,000 rows. Each line is printed as soon as it is known; all take about ten minutes on one core.
`--events 30 --repeats 100` is a quick look.
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import numpy as np

from vrspam.metrics import concordance_index, concordance_index_ci


class Setting(NamedTuple):
    """How rows are drawn, and what is measured."""

    strength: float
    censoring: float  # its mean time beside a mean of 1 of an event; infinite: none
    kind: str = "normal"
    measure: str = "Harrell"

    def draw(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, dict[str, Any]]:
        x, strata, risk = rng.standard_normal(n), None, np.zeros(n)
        if self.kind == "few values":
            x = np.round(x)
        if self.kind == "strata":
            strata = np.arange(n) // 10
            risk = rng.standard_normal(n // 10 + 1)[strata]
        time = rng.standard_exponential(n) * np.exp(-self.strength * x - risk)
        stop = rng.standard_exponential(n) * self.censoring if np.isfinite(self.censoring) else np.full(n, np.inf)
        return x, {"y": np.minimum(time, stop), "event": time <= stop, "strata": strata}


SETTINGS = (
    *(Setting(strength, censoring) for strength in (0.3, 1.0, 2.5) for censoring in (np.inf, 1.0, 0.15)),
    *(Setting(1.0, censoring, "few values") for censoring in (1.0, 0.15)),
    *(Setting(1.0, censoring, "strata") for censoring in (np.inf, 0.5)),
    *(Setting(strength, 1.0, measure="Uno") for strength in (0.3, 1.0, 2.5)),
)


def covered(setting: Setting, events: int, repeats: int, seed: int) -> tuple[float, float, int, float]:
    """The share of intervals that hold the true index; that index, the rows of a set, and the mean width."""
    options: dict[str, Any] = {"weights": "uno", "tau": 1.0} if setting.measure == "Uno" else {}
    x, rows = setting.draw(np.random.default_rng(999), 400_000)
    true, share = concordance_index(rows.pop("y"), x, **rows, **options), float(np.mean(rows["event"]))
    n, rng = round(events / share), np.random.default_rng(seed)
    hits, widths = 0, 0.0
    for _ in range(repeats):
        x, rows = setting.draw(rng, n)
        found = concordance_index_ci(rows.pop("y"), x, **rows, **options)
        hits += found.low <= true <= found.high
        widths += (found.high - found.low) / repeats
    return hits / repeats, true, n, widths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, nargs="+", default=[30, 100, 500], help="events of a set, on average")
    parser.add_argument("--repeats", type=int, default=1000, help="sets for each line")
    parser.add_argument("--settings", type=int, default=len(SETTINGS), help="only the first settings")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print("| events | rows | index | censored | score | true | coverage | width |\n|---|---|---|---|---|---|---|---|")
    for events in given.events:
        for setting in SETTINGS[: given.settings]:
            share, true, n, width = covered(setting, events, given.repeats, given.seed)
            line = f"| {events} | {n} | {setting.measure} | {1 - events / n:.0%} | {setting.kind} |"
            print(f"{line} {true:.3f} | {100 * share:.1f} % | {width:.3f} |", flush=True)


if __name__ == "__main__":
    main()
