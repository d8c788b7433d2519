"""Whether models keep on new rows what is stored with them: `make promises`.

Every kind of features is fitted to many drawn sets of rows, and judged on 20,000 fresh rows of the same source:

- thresholds by every rule: the share of promises that fresh rows keep (95 % and more are wanted), counted strictly;
- what is stored beside what is found: AUC, the share of rows called, sensitivity;
- the calibration slope of the probabilities, and their log loss beside that of the base rate.

Each fit is kept in a file of records, and a run that was stopped goes on where it was. The page
docs/results/promises.md is written at the end.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.special import expit, logit

from benchmarks.common import ROOT, made_by, where_and_when
from benchmarks.corrected_scores import FRESH, Setting
from vrspam import AUCClassifierCV
from vrspam._utils.findings import VrspamError
from vrspam.metrics import calibration_measures, promised_threshold, roc_auc_columns
from vrspam.metrics.promises import stored_threshold
from vrspam.metrics.thresholds import Curve

FEATURES = ("linear", "additive", "kernel 1", "trees 4", "forest", "boosted", "auto")


@dataclass(frozen=True)
class GroupedSetting(Setting):
    """Rows in groups of `of_group`: columns, and so the signal, are alike inside a group."""

    of_group: int = 4

    def draw_groups(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows, labels, and the group of each row; the number of positives is not fixed."""
        groups = np.arange(self.rows) // self.of_group
        means = rng.standard_normal((groups[-1] + 1, self.columns))
        X = np.sqrt(0.7) * means[groups] + np.sqrt(0.3) * rng.standard_normal((self.rows, self.columns))
        chance = expit(logit(self.prevalence) + self.strength * self.signal(X))
        return X, rng.random(self.rows) < chance, groups

    @property
    def prevalence(self) -> float:
        return self.positives / self.rows


DATA: dict[str, Setting] = {
    "lines": Setting(600, 8, 200, kind="lines", strength=1.5),
    "curves": Setting(600, 8, 200, kind="curves", strength=1.9),
    "many columns": Setting(400, 30, 120, kind="lines", strength=1.4),
    "few positives": Setting(500, 10, 50, kind="curves", strength=1.5),
    "weak": Setting(400, 10, 40, kind="lines", strength=0.6),
    "groups": GroupedSetting(600, 8, 200, kind="lines", strength=1.5),
}
# Of both sides of the median, where a score that spreads less or more than it should misses in opposite ways.
RULES = {
    "recall 0.9": ("recall", 0.9),
    "recall 0.5": ("recall", 0.5),
    "specificity 0.9": ("specificity", 0.9),
    "precision 0.6": ("precision", 0.6),
    "alerts 0.2": ("alerts", 0.2),
    "alerts 0.8": ("alerts", 0.8),
    "cost ratio 3": ("cost_ratio", 3.0),
}


@dataclass(frozen=True)
class FreshRows:
    """Scores of fresh rows, which weigh as much as their class has in the source."""

    scores: np.ndarray
    label: np.ndarray
    mass: np.ndarray

    @classmethod
    def of(cls, scores: np.ndarray, label: np.ndarray, prevalence: float) -> FreshRows:
        mass = np.where(label, prevalence / label.mean(), (1.0 - prevalence) / (1.0 - label.mean()))
        return cls(scores, label, mass / mass.sum())

    def measures(self, threshold: float) -> dict[str, float]:
        """What follows from a threshold."""
        called = self.scores >= threshold
        share = float(self.mass @ called)
        hits = float(self.mass @ (called & self.label))
        return {
            "recall": float(np.mean(called[self.label])),
            "specificity": float(np.mean(~called[~self.label])),
            "precision": hits / share if share > 0.0 else 1.0,
            "alerts": share,
        }


def judge(data: str, features: str, number: int) -> dict[str, Any]:
    """Fit one set, and judge it on fresh rows."""
    setting, groups = DATA[data], None
    rng, fresh_rng = np.random.default_rng([number, 11]), np.random.default_rng([number, 12])
    if isinstance(setting, GroupedSetting):
        X, y, groups = setting.draw_groups(rng)
        fresh, label, _ = replace(setting, rows=FRESH, positives=FRESH // 3).draw_groups(fresh_rng)
        prevalence = float(label.mean())
    else:
        positives = int(rng.binomial(setting.rows, setting.positives / setting.rows))
        X, y = setting.draw_of_each_class(rng, [setting.rows - positives, positives])
        fresh, label = setting.draw_fresh(fresh_rng)
        prevalence = setting.positives / setting.rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AUCClassifierCV(features=features, random_state=number).fit(X, y, groups=groups)
        new = FreshRows.of(model.decision_function(fresh.astype(X.dtype)), label, prevalence)
    held_out = model.out_of_fold_
    stored_scores = held_out.scores + model.baseline_
    auc = float(roc_auc_columns(label, new.scores[:, np.newaxis])[0])
    found: dict[str, Any] = {"data": data, "features": features, "set": number}
    found |= {"auc_stored": model.corrected_score_, "auc": auc, "rules": {}}
    probability = np.clip(model.predict_proba(fresh.astype(X.dtype))[:, 1], 1e-9, 1.0 - 1e-9)
    slope = calibration_measures(label, probability, sample_weight=new.mass * label.size).slope.value
    losses = np.where(label, -np.log(probability), -np.log1p(-probability))
    base = -float(prevalence * np.log(prevalence) + (1.0 - prevalence) * np.log1p(-prevalence))
    found |= {"slope": slope, "loss": float(new.mass @ losses) - base}
    for name, (rule, asked) in RULES.items():
        stored = threshold_of(held_out.positive, stored_scores, rule, asked, groups is not None, model.widening_)
        if stored is not None:
            found["rules"][name] = {**stored, "new": new.measures(stored["threshold"])}
    return found


def threshold_of(
    positive: np.ndarray, scores: np.ndarray, rule: str, asked: float, grouped: bool, widened: float
) -> dict | None:
    """The threshold that is stored, its measures on held-out rows, and whether it is promised; None without one."""
    try:
        if rule == "specificity":
            promised = promised_threshold(positive, scores, specificity=asked, widened=widened)
            chosen, kept = Curve.of(positive, scores).at_score(promised.threshold), not grouped
        else:
            chosen, note = stored_threshold(positive, scores, rule, asked, None, grouped, widened)
            kept = note is None and rule != "cost_ratio"
    except VrspamError:
        return None
    stored: dict[str, float | None] = {"recall": chosen.sensitivity, "specificity": chosen.specificity}
    stored |= {"precision": chosen.precision, "alerts": chosen.share}
    return {"threshold": chosen.threshold, "stored": stored, "promised": kept}


def is_kept(rule: str, asked: float, new: dict[str, float]) -> bool:
    """Whether fresh rows keep a promise; a miss by however little is a miss."""
    return new[rule] <= asked if rule == "alerts" else new[rule] >= asked


class Records:
    """The fits so far, in a file with one line for each."""

    def __init__(self, path: Path):
        self.path = path
        self.found: dict[tuple[str, str, int], dict[str, Any]] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                one = json.loads(line)
                self.found[one["data"], one["features"], one["set"]] = one

    def add(self, one: dict[str, Any]) -> None:
        self.found[one["data"], one["features"], one["set"]] = one
        with self.path.open("a") as file:
            print(json.dumps(one), file=file)


def mean_and_error(values: Iterable[float]) -> tuple[float, float]:
    """The mean, and its standard error; NaN and infinite values are left out."""
    array = np.array(list(values), dtype=np.float64)
    array = array[np.isfinite(array)]
    if array.size < 2:
        return float("nan"), float("nan")
    return float(array.mean()), float(array.std(ddof=1) / np.sqrt(array.size))


def lines_of_promises(found: dict[tuple[str, str], list[dict[str, Any]]]) -> list[str]:
    """How often promises are kept, by kind of features and rule over all data, then for each kind of data."""
    lines = ["| features | " + " | ".join(RULES) + " |", "|---" * (len(RULES) + 1) + "|"]
    names = list(dict.fromkeys(features for _, features in found))
    for features in names:
        lines.append(f"| {features} | {' | '.join(cell_of_rule(found, features, rule) for rule in RULES)} |")
    lines += ["", "For each kind of data: kept, % (of so many promised); mean truth.", ""]
    lines += ["| data | features | " + " | ".join(RULES) + " |", "|---" * (len(RULES) + 2) + "|"]
    for (data, features), fits in found.items():
        cells = [cell_of_rule({(data, features): fits}, features, rule, with_truth=True) for rule in RULES]
        lines.append(f"| {data} | {features} | {' | '.join(cells)} |")
    return lines


def cell_of_rule(found: dict, features: str, name: str, with_truth: bool = False) -> str:
    rule, asked = RULES[name]
    kept, truths = [], []
    for (_, kind), fits in found.items():
        for fit in fits if kind == features else ():
            one = fit["rules"].get(name)
            if one is not None and one["promised"]:
                kept.append(is_kept(rule, asked, one["new"]))
                truths.append(one["new"][rule])
    if not kept:
        return "–"
    truth = f"; {np.mean(truths):.3f}" if with_truth else ""
    return f"{100 * np.mean(kept):.1f} ({len(kept)}){truth}"


def lines_of_measures(found: dict[tuple[str, str], list[dict[str, Any]]]) -> list[str]:
    """What is stored beside what fresh rows show: the mean difference with two standard errors."""

    def difference(fits: list[dict[str, Any]], value: Callable[[dict[str, Any]], float]) -> str:
        mean, error = mean_and_error(value(fit) for fit in fits)
        return f"{mean:+.4f} ± {2 * error:.4f}"

    def of_rule(fits: list[dict[str, Any]], name: str, measure: str) -> str:
        have = [fit for fit in fits if name in fit["rules"]]
        rules = [fit["rules"][name] for fit in have]
        mean, error = mean_and_error(one["new"][measure] - one["stored"][measure] for one in rules)
        stored, _ = mean_and_error(one["stored"][measure] for one in rules)
        return f"{stored:.3f} {mean:+.4f} ± {2 * error:.4f}"

    head = [
        "data",
        "features",
        "sets",
        "AUC stored",
        "new - stored",
        "share called (alerts 0.2)",
        "share called (alerts 0.8)",
    ]
    head += ["sensitivity (alerts 0.2)", "sensitivity (recall 0.9)", "slope: median", "log loss - base rate"]
    head += ["worse than base rate, %"]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for (data, features), fits in found.items():
        stored, _ = mean_and_error(fit["auc_stored"] for fit in fits)
        slopes = np.array([fit["slope"] for fit in fits], dtype=np.float64)
        loss, error = mean_and_error(fit["loss"] for fit in fits)
        worse = np.mean([fit["loss"] > 0.0 for fit in fits])
        cells = [
            data,
            features,
            str(len(fits)),
            f"{stored:.4f}",
            difference(fits, lambda fit: fit["auc"] - fit["auc_stored"]),
        ]
        cells += [of_rule(fits, "alerts 0.2", "alerts"), of_rule(fits, "alerts 0.8", "alerts")]
        cells += [of_rule(fits, "alerts 0.2", "recall"), of_rule(fits, "recall 0.9", "recall")]
        cells += [f"{np.nanmedian(slopes):.3f}", f"{loss:+.4f} ± {2 * error:.4f}", f"{100 * worse:.0f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def lines_of_misses(found: dict[tuple[str, str], list[dict[str, Any]]]) -> list[str]:
    """What is certainly not as promised or stored: two standard errors and more below 93 %, or from new rows."""
    lines = []
    for (data, features), fits in found.items():
        for name, (rule, asked) in RULES.items():
            rules = [fit["rules"][name] for fit in fits if name in fit["rules"]]
            kept = [is_kept(rule, asked, one["new"]) for one in rules if one["promised"]]
            if kept and np.mean(kept) + 2.0 * np.sqrt(0.93 * 0.07 / len(kept)) < 0.93:
                lines.append(f"- {data}, {features}, {name}: {100 * np.mean(kept):.1f} % of {len(kept)} are kept")
        for name, measure in (("alerts 0.2", "alerts"), ("alerts 0.8", "alerts"), ("alerts 0.2", "recall")):
            rules = [fit["rules"][name] for fit in fits if name in fit["rules"]]
            mean, error = mean_and_error(one["new"][measure] - one["stored"][measure] for one in rules)
            if abs(mean) > 2.0 * error:
                words = "share called" if measure == "alerts" else "sensitivity"
                lines.append(f"- {data}, {features}, {name}: {words}, new - stored {mean:+.4f} ± {2 * error:.4f}")
    return lines or ["Nothing."]


def page(found: dict[tuple[str, str], list[dict[str, Any]]], commit: str) -> str:
    """The page of results."""
    lines = ["---", "orphan: true", "---", "", "# Whether new rows keep what a model promises", ""]
    counts = [len(fits) for fits in found.values()]
    many = f"{min(counts)} sets" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)} sets"
    lines += [f"{made_by('promises', commit)} {where_and_when()}. {many} of each kind.", ""]
    lines += ["## Thresholds: promises kept, % (of so many promised), over all data", "", *lines_of_promises(found), ""]
    lines += [
        "A promise is kept if 20,000 fresh rows keep it, by however little; 95 % is what is promised. Rows in groups,"
    ]
    lines += ["and a cost ratio, promise nothing. A precision is promised where the rows can show it.", ""]
    lines += ["## What is stored, and what new rows show", ""]
    lines += ["New minus stored, with two standard errors over the sets. AUC: the corrected one of the model.", ""]
    lines += [*lines_of_measures(found), "", "## What is certainly missed", ""]
    lines += ["Two standard errors and more below 93 % of promises kept, or away from what new rows show:", ""]
    return "\n".join([*lines, *lines_of_misses(found), ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=300)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--features", nargs="*", default=list(FEATURES), choices=FEATURES)
    parser.add_argument("--data", nargs="*", default=list(DATA), choices=list(DATA))
    parser.add_argument("--records", type=Path, default=ROOT / ".promises.jsonl")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "promises.md")
    parser.add_argument("--seconds", type=float, default=np.inf, help="stop then, and write the page of what there is")
    parser.add_argument("--commit", default="", help="what this copy of the tree is of, where git cannot tell")
    given = parser.parse_args()
    started = time.monotonic()
    records = Records(given.records)
    wanted = [(data, kind, n) for data in given.data for kind in given.features for n in range(given.sets)]
    missing = [task for task in wanted if task not in records.found]
    missing.sort(key=lambda task: task[2])  # all kinds advance together
    from benchmarks.promises import judge as judge_elsewhere  # by its name: other processes cannot read this script

    run = Parallel(n_jobs=given.workers, return_as="generator")(delayed(judge_elsewhere)(*task) for task in missing)
    for done, one in enumerate(run, start=1):
        records.add(one)
        if done % 500 == 0:
            print(f"{done:,} of {len(missing):,} fits", file=sys.stderr, flush=True)
        if time.monotonic() - started > given.seconds:
            break
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for data, kind in product(DATA, FEATURES):
        known = [one for (of_data, of_kind, _), one in records.found.items() if (of_data, of_kind) == (data, kind)]
        if known:
            found[data, kind] = sorted(known, key=lambda one: one["set"])
    text = page(found, given.commit)
    given.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
