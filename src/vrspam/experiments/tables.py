"""Compare the paper's table with ours, cell by cell, from stored rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from vrspam.experiments.protocol import GRID, paper_cells
from vrspam.experiments.store import Row

AGREEMENT = 0.001  # VRSPAM's test AUC should be this close to that of the optimum


@dataclass(frozen=True)
class Summary:
    """Mean, standard deviation (over runs, divided by runs - 1) and number of runs.

    >>> Summary.of([0.75, 1.0])
    Summary(mean=0.875, std=0.17..., runs=2)
    """

    mean: float
    std: float
    runs: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Summary | None:
        array = np.array(list(values), dtype=float)
        if not array.size:
            return None
        return cls(float(array.mean()), float(array.std(ddof=1)) if array.size > 1 else 0.0, array.size)

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return self.std / math.sqrt(self.runs)

    def __str__(self) -> str:
        return f"{format_auc(self.mean)} ± {format_auc(self.std)}" if self.runs > 1 else format_auc(self.mean)


@dataclass(frozen=True)
class CellResult:
    """One cell: a set and an algorithm.

    Attributes
    ----------
    ours, optimum : Summary or None
        Test AUC of the algorithm, and of the exact minimiser with the same penalties on the same splits.
    ceiling : Summary or None
        The best test AUC over all penalties of the grid, chosen by looking at the test part.
    paper : Summary or None
        The paper's cell.
    mark, reason : str
        "above" if the paper's cell lies above the ceiling, "below" if it lies below the optimum; and the reason.
    worst : float
        The largest difference between the AUCs of the algorithm and of the optimum in any run.
    """

    set: str
    algorithm: str
    ours: Summary | None
    optimum: Summary | None
    ceiling: Summary | None
    paper: Summary | None
    mark: str
    reason: str
    worst: float
    passes: float | None
    seconds: float | None


def summarise(rows: Sequence[Row]) -> list[CellResult]:
    """Return all cells for which there are rows, and the paper's cells of the same sets."""
    results = [row for row in rows if row["kind"] == "result" and row["task"] == "score"]
    sets = list(dict.fromkeys(row["set"] for row in rows))
    algorithms = list(dict.fromkeys(row["algorithm"] for row in results))
    by_cell: dict[tuple[str, str], list[Row]] = {}
    for row in results:
        by_cell.setdefault((row["set"], row["algorithm"]), []).append(row)
    cells = []
    for name in sets:
        ceilings = _ceilings(rows, name)
        for algorithm in algorithms:
            cells.append(_cell(name, algorithm, by_cell.get((name, algorithm), []), ceilings))
    return cells


def paper_only(sets: Iterable[str], algorithms: Iterable[str]) -> list[CellResult]:
    """Return the paper's cells of sets that were not run."""
    return [_cell(name, algorithm, [], {}) for name in sets for algorithm in algorithms]


def disagreements(rows: Sequence[Row], prefix: str = "VRSPAM") -> list[Row]:
    """Return the runs in which an algorithm's test AUC is further than `AGREEMENT` from that of the optimum."""
    return [
        row
        for row in rows
        if row["kind"] == "result" and row["algorithm"].startswith(prefix) and _difference(row) > AGREEMENT
    ]


def failures(rows: Sequence[Row]) -> list[Row]:
    """Return the runs that failed."""
    return [row for row in rows if row["kind"] == "failed"]


def format_auc(value: float) -> str:
    """Write an AUC with four decimals, without the leading zero.

    >>> format_auc(0.92345), format_auc(1.0)
    ('.9234', '1.0000')
    """
    text = f"{value:.4f}"
    return text[1:] if text.startswith("0.") else text


def _cell(name: str, algorithm: str, rows: list[Row], ceilings: dict[str, Summary | None]) -> CellResult:
    paper = Summary(*paper_cells()[name, algorithm], 20) if (name, algorithm) in paper_cells() else None
    optimum = Summary.of(row["auc_exact"] for row in rows)
    ceiling = ceilings.get("net" if algorithm.endswith("NET") else "l2")
    mark, reason = _judge(paper, optimum, ceiling)
    return CellResult(
        set=name,
        algorithm=algorithm,
        ours=Summary.of(row["auc"] for row in rows),
        optimum=optimum,
        ceiling=ceiling,
        paper=paper,
        mark=mark,
        reason=reason,
        worst=max(map(_difference, rows), default=0.0),
        passes=_median(row["passes"] for row in rows),
        seconds=_median(row["seconds"] for row in rows),
    )


def _judge(paper: Summary | None, optimum: Summary | None, ceiling: Summary | None) -> tuple[str, str]:
    """Return the mark and its reason if the objective cannot give the paper's cell, up to two standard errors."""
    if paper is None or optimum is None or ceiling is None or min(optimum.runs, ceiling.runs) < 2:
        return "", ""  # one run has no standard error
    if paper.mean > ceiling.mean + max(2 * math.hypot(paper.error, ceiling.error), AGREEMENT):
        best = format_auc(ceiling.mean)
        return "above", f"no penalty of the grid reaches it: {best} is the best even if chosen on the test part"
    if paper.mean < optimum.mean - max(2 * math.hypot(paper.error, optimum.error), AGREEMENT):
        return "below", f"the minimiser of the same objective reaches {format_auc(optimum.mean)}"
    return "", ""


def _ceilings(rows: Sequence[Row], name: str) -> dict[str, Summary | None]:
    best: dict[str, dict[int, float]] = {"l2": {}, "net": {}}
    for row in rows:
        if row["kind"] == "grid" and row["set"] == name and row["algorithm"] == GRID:
            splits = best["net" if row["l1"] else "l2"]
            splits[row["split"]] = max(splits.get(row["split"], 0.0), row["auc"])
    return {penalty: Summary.of(splits.values()) for penalty, splits in best.items()}


def _difference(row: Row) -> float:
    return abs(row["auc"] - row["auc_exact"])


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None
