"""Whether `corrected_score_` and its interval hold: `python -m benchmarks.corrected_scores` (an hour on one core).

Each set of rows is drawn, fitted with the default folds, and judged on 20,000 fresh rows, half of them positive (AUC
does not depend on the share): its standard error is below .004 for one set, a tenth of what the score itself varies,
and below .0003 for the mean of 300 sets. Rows of noise need none: whatever is fitted, its AUC on new rows is .5. Every
set has its own seed, and is stored with the scores of its held-out rows, so that a run that was stopped goes on where
it was, and the correction can be changed and judged again without fitting anything. `--tried` judges other corrections
as well. The constants of the correction were chosen on the sets 0 to 63: `--first 64` judges them on the others.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from scipy import stats
from scipy.special import expit, logit

from vrspam import AUCClassifierCV
from vrspam.features.mapped import MappedArray
from vrspam.metrics import CorrectedAUC, logit_interval, newcombe_interval, roc_auc_columns
from vrspam.metrics.correction import Sample, TwoClassMeasure, draw_sample, measure_folds, standard_error
from vrspam.model_selection.candidates import Candidate
from vrspam.model_selection.compare import Comparison
from vrspam.model_selection.correction import correct
from vrspam.model_selection.selection import Points, SelectionRule, choose

FRESH = 20_000
REFERENCE = 8  # a point that nobody chose: l2 in the middle of the grid, for the columns themselves


@dataclass(frozen=True)
class Setting:
    """Sizes, features and the kind of signal.

    The log-odds of a row are strength · g plus a constant: for "lines" g is the sum of four columns over 2, for
    "curves" that sum over √8 plus (x² - 1)/2 of a fifth column. Columns are standard normal.
    """

    rows: int
    columns: int
    positives: int
    features: str = "auto"
    kind: str = "noise"
    strength: float = 0.0
    folds: int = 5

    def signal(self, X: np.ndarray) -> np.ndarray:
        lines = X[:, 0] + X[:, 1] + X[:, 2] + X[:, 3]
        return lines / 2.0 if self.kind == "lines" else lines / np.sqrt(8.0) + (X[:, 4] ** 2 - 1.0) / 2.0

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """The rows to fit."""
        if self.kind == "noise":
            y = np.zeros(self.rows, dtype=bool)
            y[rng.permutation(self.rows)[: self.positives]] = True
            return rng.standard_normal((self.rows, self.columns)), y
        return self.draw_of_each_class(rng, [self.rows - self.positives, self.positives])

    def draw_of_each_class(self, rng: np.random.Generator, sizes: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """So many negative and positive rows to fit."""
        X, y = self._of_each_class(rng, sizes, 4 * self.rows, np.float64)
        order = rng.permutation(sum(sizes))
        return X[order], y[order]

    def draw_fresh(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Rows to judge a model on."""
        return self._of_each_class(rng, [FRESH - FRESH // 2, FRESH // 2], 100_000, np.float32)

    def _of_each_class(self, rng, needed: list[int], at_once: int, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
        constant = logit(self.positives / self.rows)
        parts: list[list[np.ndarray]] = [[], []]
        while any(sum(map(len, part)) < size for part, size in zip(parts, needed, strict=True)):
            X = rng.standard_normal((at_once, self.columns), dtype=dtype)
            y = rng.random(at_once) < expit(constant + self.strength * self.signal(X))
            for side, part in enumerate(parts):
                part.append(X[y == side])
        rows = [np.concatenate(part)[:size] for part, size in zip(parts, needed, strict=True)]
        return np.concatenate(rows), np.repeat([False, True], needed)


SETTINGS = {
    "n1": Setting(200, 10, 60),
    "n2": Setting(300, 20, 30),
    "n3": Setting(120, 15, 30),
    "n4": Setting(200, 10, 60, "linear"),
    "n5": Setting(200, 10, 60, "linear", folds=3),
    "n6": Setting(200, 10, 60, "linear", folds=10),
    "s1": Setting(200, 10, 20, kind="lines", strength=1.1),
    "s2": Setting(300, 20, 60, kind="lines", strength=1.4),
    "s3": Setting(1000, 10, 200, kind="curves", strength=1.9),
    "s4": Setting(200, 10, 20, kind="lines", strength=5.0),
}


def fit_one(name: str, number: int, path: Path) -> None:
    """Fit one set, judge it, and store what the correction starts from."""
    setting = SETTINGS[name]
    X, y = setting.draw(np.random.default_rng([number, sum(map(ord, name))]))
    seen: list[Any] = []
    references: list[np.ndarray] = []  # of each map, the fold models at a point that nobody chose
    make = Candidate.of

    def listen(found: Comparison, rows: Sample, search: Any, held_out: Any, stable: float, **_: Any) -> Any:
        seen.extend((found, rows, stable))
        return CorrectedAUC(0.5, 0.0, 1.0)

    def keep(*given: Any, **known: Any) -> Candidate:
        found = make(*given, **known)
        coefs = found.coefs
        assert coefs is not None
        references.append(coefs[:, min(REFERENCE, coefs.shape[1] - 1), 0].copy())  # a map that learns has one point
        return found

    with warnings.catch_warnings(), patch.object(Comparison, "corrected", listen), patch.object(Candidate, "of", keep):
        warnings.simplefilter("ignore")
        model = AUCClassifierCV(features=setting.features, cv=setting.folds, random_state=number).fit(X, y)
    found, rows, stable = seen
    truth: dict[str, Any] = dict.fromkeys(("fold_truth", "truth", "ref", "best_truth"), 0.5)
    if setting.kind != "noise":
        truth = true_aucs(found, references[0], setting, number)
    kept: dict[str, Any] = {}
    scores = np.concatenate([each.scores.kept for each in found.candidates], axis=1).astype(np.float32)
    for k, where in enumerate(rows.parts):
        kept |= {f"y{k}": rows.positive[where], f"s{k}": scores[where].T}
    part, points = path.with_suffix(".part.npz"), [each.choice.mean.size for each in found.candidates]
    np.savez(part, best=model.best_score_, stable=stable, K=len(rows.sizes), points=points, **truth, **kept)
    part.rename(path)


def true_aucs(found: Comparison, other: np.ndarray, setting: Setting, number: int) -> dict[str, float]:
    """AUCs on fresh rows: of the fold models and of the model, of the best map's fold models, and of `other` ones."""
    fresh, label = setting.draw_fresh(np.random.default_rng([number, 7]))
    fresh = fresh.astype(np.float32)
    scale, columns = found.weights / [candidate.spread for candidate in found.candidates], []
    for candidate, factor in zip(found.candidates, scale, strict=True):
        parts = [np.zeros((0, candidate.n_features))]
        models = candidate.models
        assert models is not None
        if factor > 0.0:
            assert candidate.fit is not None
            parts = [models.coefs, candidate.fit.solution.w[np.newaxis]]
        if candidate is found.candidates[0]:
            parts.append(other)
        if sum(map(len, parts)):
            columns.append((candidate, factor, MappedArray(fresh, candidate.features) @ np.vstack(parts).T))
    folds = len(found.chosen.scores.auc[0, 0])
    blend = sum(factor * scores[:, : folds + 1] for _, factor, scores in columns if factor > 0.0)
    best = next(scores[:, :folds] for candidate, _, scores in columns if candidate.name == found.chosen.name)
    reference = columns[0][2][:, -folds:]
    aucs = roc_auc_columns(label, np.hstack([blend, best, reference]).astype(np.float32))
    return {
        "fold_truth": aucs[:folds].mean(),
        "truth": aucs[folds],
        "best_truth": aucs[folds + 1 : 2 * folds + 1].mean(),
        "ref": aucs[-folds:].mean(),
    }


class Record(NamedTuple):
    """One set: its held-out scores, as `correct` takes them, and the truth."""

    rows: Sample
    scores: np.ndarray
    grid: Points
    best: float
    fold_truth: float
    truth: float
    unbiased_error: float  # an error whose expectation is 0, and which goes with those of the others
    best_truth: float
    stable: float

    @property
    def rule(self) -> SelectionRule:
        return "blend" if self.grid.candidate[-1] > 0 else "best"

    @classmethod
    def read(cls, path: Path, noise: bool) -> Record:
        with np.load(path) as stored:
            folds = range(int(stored["K"]))
            labels, scores = ([stored[f"{kind}{k}"] for k in folds] for kind in "ys")
            points = stored["points"].tolist()  # of each map
            facts = {key: float(stored[key]) for key in ("best", "fold_truth", "truth", "ref", "best_truth", "stable")}
        sizes = np.array([label.size for label in labels])
        parts = [end - size + np.arange(size) for end, size in zip(np.cumsum(sizes), sizes, strict=True)]
        rows = draw_sample(parts, sizes.sum() - sizes, np.concatenate(labels), None, None, sum(points), 0)
        auc = np.stack([roc_auc_columns(label, part.T) for label, part in zip(labels, scores, strict=True)], axis=1)
        maps = [
            (part[:, np.newaxis], {"l2": np.arange(float(len(part))), "l1": np.zeros(1)})
            for part in np.split(auc, np.cumsum(points)[:-1])
        ]
        error = auc.mean() - 0.5 if noise else auc[REFERENCE].mean() - facts["ref"]
        return cls(
            rows,
            np.concatenate(scores, axis=1).T,
            Points.of(maps),
            facts["best"],
            facts["fold_truth"],
            facts["truth"],
            float(error),
            facts["best_truth"],
            facts["stable"],
        )


def mean_and_error(errors: np.ndarray, unbiased: np.ndarray) -> str:
    """The mean error with its Monte-Carlo error, after regression on errors whose expectation is 0."""
    slope = np.cov(errors, unbiased)[0, 1] / unbiased.var(ddof=1)
    rest = errors - slope * unbiased
    return f"{rest.mean():+.4f} ± {rest.std(ddof=2) / np.sqrt(errors.size):.4f}"


def coverage(low: np.ndarray, high: np.ndarray, truth: np.ndarray) -> str:
    """The share of intervals that hold the truth, with its Monte-Carlo error (not 0 where all do: Agresti & Coull)."""
    covered = (low <= truth) & (truth <= high)
    share = (covered.sum() + 2.0) / (truth.size + 4.0)
    return f"{100 * covered.mean():.1f} ± {100 * np.sqrt(share * (1.0 - share) / (truth.size + 4.0)):.1f}"


def delong_before(record: Record) -> tuple[float, float]:
    """The interval without any correction: DeLong's error of the chosen point, within folds, on the logit scale."""
    grid = record.grid
    chosen = int(choose(grid.of_draw(), grid, "best").argmax())
    lines = record.scores[:, [chosen]].T
    (moves,) = measure_folds(record.rows, TwoClassMeasure(record.rows), lines)[1]
    auc = float(np.clip(record.best, 1e-9, 1.0 - 1e-9))
    half = 1.959964 * standard_error(record.rows, moves) / (auc * (1.0 - auc))
    return float(expit(logit(auc) - half)), float(expit(logit(auc) + half))


def corrections_tried(record: Record, draws: int = 100) -> dict[str, float]:
    """The corrected AUC of the best map, where nothing is blended, by other methods.

    "rows": as `correct` does it, with another share of the rows left out, and another factor of what they deviate.
    """
    rng, auc = np.random.default_rng(0), record.grid.measured
    mean, folds = auc.mean(axis=1), auc.shape[1]
    best, each = int(mean.argmax()), range(folds)
    others = [int(np.delete(auc, k, axis=1).mean(axis=1).argmax()) for k in each]
    found = {
        "none": mean[best],
        "Tibshirani & Tibshirani: the best of each fold": mean[best] - np.mean(auc.max(axis=0) - auc[best]),
        "the best of the other folds, scored on each fold": np.mean([auc[others[k], k] for k in each]),
    }
    drawn, left_out, pairs = (np.zeros((mean.size, draws)) for _ in range(3))
    for part in record.rows.parts:
        scores, positive = record.scores[part].T, record.rows.positive[part]
        up, down = scores[:, positive, np.newaxis], scores[:, np.newaxis, ~positive]
        wins = (up > down) + 0.5 * (up == down)
        counts = [rng.multinomial(size, np.full(size, 1 / size), size=draws) for size in wins.shape[1:]]
        for total, (i, j) in ((drawn, counts), (left_out, [count == 0 for count in counts])):
            total += np.einsum("pij,bi,bj->pb", wins, i.astype(float), j.astype(float), optimize=True) / (
                wins[0].size * folds if total is drawn else 1.0
            )
        pairs += (counts[0] == 0).sum(axis=1) * (counts[1] == 0).sum(axis=1)
    taken, draw = drawn.argmax(axis=0), np.arange(draws)
    found["BBC-CV: bootstrap, scored out of bag"] = np.mean(left_out[taken, draw] / pairs[taken, draw])
    found["bootstrap, drawn - all rows"] = mean[best] - np.mean(drawn[taken, draw] - mean[taken])
    moves = measure_folds(record.rows, TwoClassMeasure(record.rows), record.scores.T)[1] / folds
    for share in (0.1, 0.25, 0.5):
        odds = share / (1.0 - share)
        changes = moves @ np.where(rng.random((moves.shape[1], draws)) < share, -1.0, odds)
        taken = (mean[:, np.newaxis] + changes).argmax(axis=0)
        for factor in (1.0, 1.25, 1.5):
            deviations = factor / odds * (changes[taken, draw] - changes[best])
            found[f"rows, {share:g} left out, factor {factor:g}"] = np.mean(mean[taken] - deviations)
    return {name: float(value) for name, value in found.items()}


def intervals_tried(record: Record, score: float) -> dict[str, tuple[float, float]]:
    """Other intervals around the corrected AUC."""
    chosen, rows = int(record.grid.measured.mean(axis=1).argmax()), record.rows
    (moves,) = measure_folds(rows, TwoClassMeasure(rows), record.scores[:, [chosen]].T)[1]
    error, few = standard_error(rows, moves), min(rows.totals)
    inside = float(np.clip(score, 1e-6, 1.0 - 1e-6))
    student = float(stats.t.ppf(0.975, few - len(rows.sizes)) / stats.norm.ppf(0.975))
    found = {
        "DeLong": logit_interval(inside, error, few),
        "Newcombe": newcombe_interval(score, error, rows.totals),
        "DeLong, widened for shared training rows": logit_interval(inside, rows.widening() * error, few),
        "Newcombe, widened for shared training rows": newcombe_interval(
            score, error, rows.totals, widened=rows.widening()
        ),
        "the same with Student's t": newcombe_interval(score, error, rows.totals, widened=student * rows.widening()),
    }
    return {name: (each.low, each.high) for name, each in found.items()}


def print_tried(records: dict[str, list[Record]]) -> None:
    heads = [describe(SETTINGS[name]) for name in records]
    print(f"| correction: mean error (its standard deviation) | {' | '.join(heads)} |\n|---{'|---' * len(heads)}|")
    scores = {name: list(map(corrections_tried, found)) for name, found in records.items()}
    for method in scores[next(iter(records))][0]:
        cells = []
        for name, found in records.items():
            errors = np.array([each[method] for each in scores[name]]) - [record.best_truth for record in found]
            unbiased = np.array([record.unbiased_error for record in found])
            cells.append(f"{mean_and_error(errors, unbiased).split()[0]} ({errors.std(ddof=1):.3f})")
        print(f"| {method} | {' | '.join(cells)} |", flush=True)
    print(f"\n| interval: covers, % | {' | '.join(heads)} |\n|---{'|---' * len(heads)}|")
    bounds = {
        name: [intervals_tried(each, correct(each.rows, each.scores, each.grid, "best", 0).auc) for each in found]
        for name, found in records.items()
    }
    for method in bounds[next(iter(records))][0]:
        cells = []
        for name, found in records.items():
            low, high = np.array([each[method] for each in bounds[name]]).T
            cells.append(coverage(low, high, np.array([record.truth for record in found])))
        print(f"| {method} | {' | '.join(cells)} |", flush=True)


def describe(setting: Setting) -> str:
    shown = "default" if setting.features == "auto" else setting.features
    data = f"{setting.kind} {setting.strength:g}" if setting.strength else setting.kind
    folds = "" if setting.folds == 5 else f", {setting.folds} folds"
    return f"{setting.rows:,}, {setting.columns}, {setting.positives}, {shown}, {data}{folds}"


def print_table(records: dict[str, list[Record]]) -> None:
    print(
        "| rows, columns, positives, features, data | sets | AUC | `best_score_` - AUC | `corrected_score_` - AUC |",
        end="",
    )
    print(" covers, before | `corrected_interval_` covers | its width |")
    print("|---|---|---|---|---|---|---|---|")
    for name, found in records.items():
        corrected = [correct(each.rows, each.scores, each.grid, each.rule, 0, stable=each.stable) for each in found]
        score, low, high = np.array([(each.auc, each.low, each.high) for each in corrected]).T
        best, folds, truth, unbiased = np.array([each[3:7] for each in found]).T
        before = np.array(list(map(delong_before, found))).T
        cells = [
            describe(SETTINGS[name]),
            f"{len(found)}",
            f"{truth.mean():.3f}",
            mean_and_error(best - folds, unbiased),
            mean_and_error(score - folds, unbiased),
            coverage(before[0], before[1], truth),
            coverage(low, high, truth),
            f"{np.mean(high - low):.3f}",
        ]
        print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("settings", nargs="*", default=list(SETTINGS), help=f"some of {', '.join(SETTINGS)}")
    parser.add_argument("--sets", type=int, default=300)
    parser.add_argument("--first", type=int, default=0, help="leave out the sets before this one")
    parser.add_argument("--records", type=Path, default=Path(tempfile.gettempdir()) / "vrspam-corrected-scores")
    parser.add_argument("--stored", action="store_true", help="judge the sets that are stored, and fit no more")
    parser.add_argument("--tried", action="store_true", help="judge other corrections and intervals as well")
    given = parser.parse_args()
    given.records.mkdir(parents=True, exist_ok=True)
    records: dict[str, list[Record]] = {name: [] for name in given.settings}
    for number in range(given.first, given.sets):
        for name in given.settings:
            path = given.records / f"{name}_{number}.npz"
            if not path.exists() and not given.stored:
                fit_one(name, number, path)
            if path.exists():
                records[name].append(Record.read(path, SETTINGS[name].kind == "noise"))
    print_table(records)
    if given.tried:
        print()
        print_tried(records)


if __name__ == "__main__":
    main()
