"""How several feature maps are best put together: `python -m benchmarks.blends [case ...]` (about an hour on one core).

Each of the 42 real tables (`benchmarks.tables`) and 16 samples of the data sets with few positives is split 70/30, by
another seed than in `benchmarks.quality`. All thirteen maps are cross-validated on the training part; the scores of
held-out and of test rows at the best l2 are stored (--records), so that a run that was stopped goes on where it was,
and another rule takes a second. Every rule that was tried is printed. Rules see held-out scores alone. With
--positives N the training part has N positives and as many negatives as are usual in the case, at most 1,200 rows, and
up to 6,000 of the other rows are the test; cases that have fewer than 2 N + 20 positives are left out.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls
from scipy.stats import rankdata
from sklearn.model_selection import train_test_split

import benchmarks.common  # noqa: F401  (sets VRSPAM_DATA)
from benchmarks.tables import TABLES, load_table
from vrspam import AUCClassifierCV
from vrspam.data import load
from vrspam.features.names import CANDIDATES
from vrspam.metrics import roc_auc

SPLIT_SEED = 10
SAMPLES: dict[str, tuple[str, int, dict[str, Any]]] = {
    **{f"usps {digit}": ("usps", 2000, {"positive": digit}) for digit in (3, 6, 9)},
    **{f"satimage {label}": ("satimage", 2500, {"positive": label}) for label in (2, 5, 4)},
    **{f"digits {digit}": ("digits", 1797, {"positive": digit}) for digit in (1, 8)},
    "ijcnn1": ("ijcnn1", 2000, {}),
    "mammography": ("mammography", 3000, {}),
    "a9a": ("a9a", 2500, {}),
    "campaign-ad": ("campaign-ad", 3000, {}),
    "celeba-ad": ("celeba-ad", 4000, {}),
    "splice": ("splice", 1200, {}),
    "german": ("german", 1000, {}),
    "diabetes": ("diabetes", 768, {}),
}
FIVE = ("standardized", "additive", "kernel 3", "kernel 1", "kernel 0.3")
EIGHT = (*FIVE, "kernel alone 3", "kernel alone 1", "kernel alone 0.3")
LEARNT = ("forest", "boosted")  # from labels
ELEVEN = tuple(name for name in CANDIDATES if name not in LEARNT)
FEWER = {  # sets of fewer maps, each of which would take less time; named before any of them was judged
    "without kernels alone": (*FIVE, "trees 2", "trees 4", "trees 7", *LEARNT),
    "without random trees": (*EIGHT, *LEARNT),
    "without both": (*FIVE, *LEARNT),
    "one of each kind": ("standardized", "additive", "kernel 1", "kernel alone 1", "trees 4", *LEARNT),
    "three kernels, one of the other kinds": (*FIVE, "kernel alone 1", "trees 4", *LEARNT),
    "two kernels and one kind of trees": ("standardized", "additive", "kernel 3", "kernel 0.3", "trees 4", *LEARNT),
}
LEAST = 0.01  # weights below this share of the largest are 0


def load_case(name: str) -> tuple[Any, np.ndarray]:
    if name in TABLES:
        return load_table(name)
    source, rows, options = SAMPLES[name]
    X, y = load(source, sparse=False, **options)
    if len(y) > rows:
        X, _, y, _ = train_test_split(X, y, train_size=rows, stratify=y, random_state=3)
    return X, (y == y.max()).astype(int)


def thin(y: np.ndarray, positives: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Training rows with this number of positives, and test rows; None where there are too few."""
    rng = np.random.default_rng(positives)
    up, down = (rng.permutation(np.flatnonzero(y == label)) for label in (1, 0))
    others = max(min(1200, round(positives * y.size / up.size)) - positives, positives)
    if up.size < 2 * positives + 20 or down.size < others + 200:
        return None
    train = rng.permutation(np.concatenate([up[:positives], down[:others]]))
    return train, rng.permutation(np.concatenate([up[positives:], down[others:]]))[:6000]


def score_case(name: str, path: Path, positives: int | None) -> None:
    """Cross-validate each map, and store held-out and test scores at the best l2."""
    X, y = load_case(name)
    if positives is None:
        parts = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=SPLIT_SEED)
    else:
        y = y if 2 * y.sum() <= y.size else 1 - y
        parts = thin(y, positives)
        if parts is None:
            return
    train, test = parts
    take = X.iloc.__getitem__ if hasattr(X, "iloc") else X.__getitem__
    stored: dict[str, Any] = {"labels": y[train], "test_labels": y[test], "names": []}
    for candidate in CANDIDATES:
        model = AUCClassifierCV(features=[candidate], random_state=0, calibration=None).fit(take(train), y[train])
        held_out = model.out_of_fold_
        stored["names"].append(candidate)
        stored["fold"] = held_out.fold
        stored[f"auc {candidate}"] = model.auc_path_[:, 0]
        stored[f"best {candidate}"] = int(np.flatnonzero(model.l2s_ == model.l2_)[0])
        stored[f"held out {candidate}"] = held_out.scores
        stored[f"test {candidate}"] = model.decision_function(take(test))
    part = path.with_suffix(".part.npz")
    np.savez(part, **stored)
    part.rename(path)


class Case:
    """Held-out and test scores of all maps, each at its best l2 and divided by the spread of its held-out scores."""

    def __init__(self, path: Path):
        with np.load(path) as stored:
            self.labels, self.test_labels, self.fold = (stored[key] for key in ("labels", "test_labels", "fold"))
            self.names = stored["names"].tolist()
            best = {name: int(stored[f"best {name}"]) for name in self.names}
            self.auc = {name: stored[f"auc {name}"][best[name]] for name in self.names}
            spread = {name: max(stored[f"held out {name}"].std(), 1e-12) for name in self.names}
            self.held_out = {name: stored[f"held out {name}"] / spread[name] for name in self.names}
            self.test = {name: stored[f"test {name}"] / spread[name] for name in self.names}

    def fold_aucs(self, names: Sequence[str]) -> tuple[list[str], np.ndarray]:
        """The maps that could be fitted, and their AUCs on the folds."""
        known = [name for name in names if name in self.names]
        return known, np.array([self.auc[name] for name in known])

    def test_auc(self, names: Sequence[str], weights: np.ndarray) -> float:
        mixed = sum(weight * self.test[name] for name, weight in zip(names, weights, strict=True) if weight > 0.0)
        return float(roc_auc(self.test_labels, np.asarray(mixed)))


Rule = Callable[[Case, Sequence[str]], np.ndarray]


def best(case: Case, names: Sequence[str]) -> np.ndarray:
    _, auc = case.fold_aucs(names)
    return (np.arange(len(auc)) == auc.mean(axis=1).argmax()).astype(float)


def softmax(share: float, spread: str = "best") -> Rule:
    """exp(-Δ / (share · deviation)), with the deviation over folds of the best AUC, of all, or of differences to it."""

    def rule(case: Case, names: Sequence[str]) -> np.ndarray:
        _, auc = case.fold_aucs(names)
        mean = auc.mean(axis=1)
        first = int(mean.argmax())
        deviation: Any = auc[first].std(ddof=1)
        if spread == "mean":
            deviation = auc.std(axis=1, ddof=1).mean()
        elif spread == "pairs":
            deviation = (auc - auc[first]).std(axis=1, ddof=1)
        elif spread == "fixed":
            deviation = 1.0
        weights = np.exp((mean - mean[first]) / np.maximum(share * deviation, 1e-9))
        return np.where(weights < LEAST, 0.0, weights)

    return rule


def simple_first(errors: float) -> Rule:
    """exp(-Δ / (s/2)), where straight lines get some standard errors of the AUC as a start."""

    def rule(case: Case, names: Sequence[str]) -> np.ndarray:
        known, auc = case.fold_aucs(names)
        mean, rarer = auc.mean(axis=1), min(case.labels.sum(), (1 - case.labels).sum())
        start = errors * np.sqrt(np.maximum(mean * (1.0 - mean), 0.01) / rarer)
        mean = mean + np.where(np.array(known) == "standardized", start, 0.0)
        first = int(mean.argmax())
        weights = np.exp((mean - mean[first]) / max(0.5 * auc[first].std(ddof=1), 1e-9))
        return np.where(weights < LEAST, 0.0, weights)

    return rule


def equal(case: Case, names: Sequence[str]) -> np.ndarray:
    return np.ones(len(case.fold_aucs(names)[0]))


def least_pair_loss(ridge: float) -> Rule:
    """Weights that are not negative and minimise the squared pair loss of held-out scores within folds."""

    def rule(case: Case, names: Sequence[str]) -> np.ndarray:
        known, _ = case.fold_aucs(names)
        scores = np.stack([case.held_out[name] for name in known], axis=1)
        delta, second = np.zeros(len(known)), np.zeros((len(known), len(known)))
        for number in np.unique(case.fold):
            inside = case.fold == number
            up, down = (scores[inside & (case.labels == label)] for label in (1, 0))
            apart = up.mean(axis=0) - down.mean(axis=0)
            delta += apart
            second += np.atleast_2d(np.cov(up.T, ddof=0)) + np.atleast_2d(np.cov(down.T, ddof=0))
            second += np.outer(apart, apart)
        second += ridge * np.trace(second) / len(known) * np.eye(len(known))
        factor = np.linalg.cholesky(second)
        weights, _ = nnls(factor.T, np.linalg.solve(factor, delta))
        return weights if weights.any() else np.ones(len(known))

    return rule


def greedy(steps: int) -> Rule:
    """Caruana's ensemble selection: again and again the map whose score added to the sum gives the best AUC."""

    def rule(case: Case, names: Sequence[str]) -> np.ndarray:
        known, auc = case.fold_aucs(names)
        scores = np.stack([case.held_out[name] for name in known])
        folds = [case.fold == number for number in np.unique(case.fold)]
        weights = (np.arange(len(known)) == auc.mean(axis=1).argmax()).astype(float)
        for _ in range(steps):
            total = weights @ scores
            found = [np.mean([roc_auc(case.labels[f], (total + one)[f]) for f in folds]) for one in scores]
            weights[int(np.argmax(found))] += 1.0
        return weights

    return rule


RULES: dict[str, tuple[Rule, Sequence[str]]] = {
    "best of five maps": (best, FIVE),
    "best of eleven": (best, ELEVEN),
    "s/2, five maps": (softmax(0.5), FIVE),
    "s/2, with kernels alone": (softmax(0.5), EIGHT),
    "s/2, eleven maps": (softmax(0.5), ELEVEN),
    **{f"{share:g} s, eleven maps": (softmax(share), ELEVEN) for share in (0.25, 1.0, 2.0)},
    **{f"{share:g} mean s": (softmax(share, "mean"), ELEVEN) for share in (0.25, 0.5, 1.0)},
    **{f"{share:g} s of the difference": (softmax(share, "pairs"), ELEVEN) for share in (0.25, 0.5, 1.0)},
    **{f"{share:g}, the same for all": (softmax(share, "fixed"), ELEVEN) for share in (0.01, 0.02, 0.03)},
    "equal weights": (equal, ELEVEN),
    "least pair loss, ridge 0.1": (least_pair_loss(0.1), ELEVEN),
    "least pair loss, ridge 1": (least_pair_loss(1.0), ELEVEN),
    "greedy, 15 steps": (greedy(15), ELEVEN),
    **{f"s/2, eleven maps and {name}": (softmax(0.5), (*ELEVEN, name)) for name in LEARNT},
    "s/2, thirteen maps": (softmax(0.5), (*ELEVEN, *LEARNT)),
    **{f"s/2, {name}": (softmax(0.5), maps) for name, maps in FEWER.items()},
    "best of thirteen": (best, (*ELEVEN, *LEARNT)),
    "1 s, thirteen maps": (softmax(1.0), (*ELEVEN, *LEARNT)),
    "equal weights, thirteen maps": (equal, (*ELEVEN, *LEARNT)),
    **{f"lines start {k:g} errors ahead": (simple_first(k), (*ELEVEN, *LEARNT)) for k in (0.1, 0.2, 0.3, 0.5, 1.0)},
    "s/2, lines, curves and the widest kernel": (softmax(0.5), FIVE[:3]),
    "straight lines alone": (best, ("standardized",)),
    "curves alone": (best, ("additive",)),
    **{f"{name} alone": (best, (name,)) for name in LEARNT},
}


def print_rules(cases: list[Case]) -> None:
    found = np.array(
        [[case.test_auc(case.fold_aucs(maps)[0], rule(case, maps)) for rule, maps in RULES.values()] for case in cases]
    )
    ranks = rankdata(-found.round(5), axis=1).mean(axis=0)
    print(f"| {len(cases)} cases: rule | mean test AUC | mean rank | better / worse than the first | worst |")
    print("|---|---|---|---|---|")
    for name, auc, rank in zip(RULES, found.T, ranks, strict=True):
        lead = auc - found[:, 0]
        counts = f"{np.sum(lead > 5e-4)} / {np.sum(lead < -5e-4)}"
        print(f"| {name} | {auc.mean():.4f} | {rank:.2f} | {counts} | {lead.min():+.3f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=[*TABLES, *SAMPLES])
    parser.add_argument("--positives", type=int)
    parser.add_argument("--records", type=Path, default=Path(tempfile.gettempdir()) / "vrspam-blends")
    given = parser.parse_args()
    given.records.mkdir(parents=True, exist_ok=True)
    cases = []
    for name in given.cases:
        path = given.records / f"{name.replace(' ', '-')}{f'_{given.positives}' if given.positives else ''}.npz"
        if not path.exists():
            score_case(name, path, given.positives)
        if path.exists():
            cases.append(Case(path))
    print_rules(cases)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # grids that end early, and tables with a constant column
        main()
