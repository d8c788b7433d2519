"""Write stored results as a table beside the paper's (Markdown, CSV), figures (PNG, SVG) and one HTML report."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vrspam._utils.atomic import write_text
from vrspam._utils.warnings import warn
from vrspam.paper.figures import DrawnFigure, draw_all
from vrspam.paper.protocol import GRID, Protocol, Row, make_plan, paper_cells, paper_protocol
from vrspam.paper.run import ROWS, read_all
from vrspam.report import blocks
from vrspam.report.blocks import Cell, Shown, Table
from vrspam.report.markdown import as_markdown
from vrspam.report.page import Page

_AGREEMENT = 0.001  # VRSPAM's test AUC should be this close to that of the optimum
MARKS = {"above": "▲", "below": "▼"}


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
    """One cell: an algorithm on a set, beside the exact minimiser with the same penalties and splits (`optimum`).

    `ceiling` is the best test AUC over all penalties of the grid, chosen by looking at the test part; `paper` the
    paper's own cell. `mark` is "above" if the paper's cell is above the ceiling, "below" if it is below the optimum;
    `reason` says why. `worst` is the largest difference between the AUCs of the algorithm and of the optimum in any
    run.
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
    """Return a cell, with the paper's if there is one, for each set with rows and each algorithm with results."""
    by_cell: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row["kind"] == "result" and row["task"] == "score":
            by_cell.setdefault((row["set"], row["algorithm"]), []).append(row)
    ceilings = _ceilings(rows)
    sets = dict.fromkeys(row["set"] for row in rows)
    algorithms = dict.fromkeys(algorithm for _, algorithm in by_cell)
    cells = []
    for name, algorithm in product(sets, algorithms):
        ceiling = ceilings.get((name, algorithm.endswith("NET")))
        cells.append(_cell(name, algorithm, by_cell.get((name, algorithm), []), ceiling))
    return cells


def _ceilings(rows: Sequence[Row]) -> dict[tuple[str, bool], Summary | None]:
    """The best test AUC over all penalties of the grid, by the set and whether there is an l1."""
    best: dict[tuple[str, bool], dict[int, float]] = {}  # of each split
    for row in rows:
        if row["kind"] == "grid" and row["algorithm"] == GRID:
            splits = best.setdefault((row["set"], bool(row["l1"])), {})
            splits[row["split"]] = max(splits.get(row["split"], 0.0), row["auc"])
    return {key: Summary.of(splits.values()) for key, splits in best.items()}


def disagreements(rows: Sequence[Row], prefix: str = "VRSPAM") -> list[Row]:
    """Return the runs in which an algorithm's test AUC is further than `_AGREEMENT` from that of the optimum."""
    return [
        row
        for row in rows
        if row["kind"] == "result" and row["algorithm"].startswith(prefix) and _difference(row) > _AGREEMENT
    ]


def format_auc(value: float) -> str:
    """Write an AUC with four decimals, without the leading zero.

    >>> format_auc(0.92345), format_auc(1.0)
    ('.9234', '1.0000')
    """
    text = f"{value:.4f}"
    return text[1:] if text.startswith("0.") else text


def _cell(name: str, algorithm: str, rows: list[Row], ceiling: Summary | None) -> CellResult:
    """One cell from the rows of its runs."""
    paper = Summary(*paper_cells()[name, algorithm], 20) if (name, algorithm) in paper_cells() else None
    optimum = Summary.of(row["auc_exact"] for row in rows)
    mark, reason = _mark(paper, optimum, ceiling)
    passes = [row["passes"] for row in rows if row["passes"] is not None]  # the exact fit has none
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
        passes=float(np.median(passes)) if passes else None,
        seconds=float(np.median([row["seconds"] for row in rows])) if rows else None,
    )


def _mark(paper: Summary | None, optimum: Summary | None, ceiling: Summary | None) -> tuple[str, str]:
    """Whether the objective cannot give the paper's cell, up to two standard errors, and why; else two empty texts."""
    if paper is None or optimum is None or ceiling is None or min(optimum.runs, ceiling.runs) < 2:
        return "", ""
    if paper.mean > ceiling.mean + _margin(paper, ceiling):
        best = format_auc(ceiling.mean)
        return "above", f"no penalty of the grid reaches it: {best} is the best even if chosen on the test part"
    if paper.mean < optimum.mean - _margin(paper, optimum):
        return "below", f"the minimiser of the same objective reaches {format_auc(optimum.mean)}"
    return "", ""


def _margin(a: Summary, b: Summary) -> float:
    """Two standard errors of the difference of two means, but no less than what counts as agreement."""
    return max(2 * math.hypot(a.error, b.error), _AGREEMENT)


def _difference(row: Row) -> float:
    return abs(row["auc"] - row["auc_exact"])


Cells = Mapping[tuple[str, str], CellResult]
Way = dict[str, Any]  # describes how some rows were computed


def publish(directory: str | os.PathLike[str]) -> dict[str, list[Path]]:
    """Write table, figures and report of a directory of results; return the paths of the files.

    Parameters
    ----------
    directory : path
        The directory that `run_experiment` has filled; only its stored rows are read.

    Returns
    -------
    dict
        Lists of paths under "table", "figure" and "report". Warnings name runs whose results are missing or cannot be
        read, and so do not count; the report lists them too.
    """
    folder = Path(directory)
    rows, ways, unreadable = read_all(folder / ROWS)
    if not rows:
        raise ValueError(f"{folder} holds no results: run  vrspam reproduce --out {folder}  first.")
    protocol = Protocol.from_dict(ways[-1]["protocol"])
    gaps = [f"{path.name} is cut off, damaged, or holds another run: it does not count" for path in unreadable]
    gaps += describe_missing_runs(rows, ways)
    for gap in gaps:
        warn(f"{gap}; run the same command again")
    grid = _grid_of(rows, ways)
    table = auc_table(grid)
    markdown = f"{as_markdown(table)}\n\n{legend(grid.cells)}\n"
    figures = draw_all(rows, protocol, folder)
    page = _report(rows, ways, protocol, grid, figures, gaps)
    return {
        "table": [
            write_text(folder / "table.md", markdown),
            write_text(folder / "table.csv", _csv(grid.cells.values())),
        ],
        "figure": [path for paths, _, _ in figures for path in paths],
        "report": [page.write(folder / "report.html")],
    }


class Grid(NamedTuple):
    """All cells, and the order of sets and algorithms in tables."""

    cells: Cells
    sets: Sequence[str]
    algorithms: Sequence[str]


def _grid_of(rows: Sequence[Row], ways: Sequence[Way]) -> Grid:
    """The cells of all sets and algorithms; what was not run has the paper's cell alone."""
    planned_sets = [name for way in ways for name in way["protocol"]["sets"]]
    planned = [algorithm["name"] for way in ways for algorithm in way["protocol"]["algorithms"]]
    sets = _ordered([row["set"] for row in rows] + planned_sets, [*paper_protocol().sets, *planned_sets])
    algorithms = _ordered([row["algorithm"] for row in rows if row["task"] == "score"], planned)
    cells = {(cell.set, cell.algorithm): cell for cell in summarise(rows)}
    for name, algorithm in product(sets, algorithms):
        cells.setdefault((name, algorithm), _cell(name, algorithm, [], None))
    return Grid(cells, sets, algorithms)


def auc_table(grid: Grid) -> Table:
    """The table of test AUCs, a row for each set; the exact minimiser stands in each cell."""
    shown = [name for name in grid.algorithms if not name.startswith("exact")]
    rows: list[blocks.Row] = []
    for name in grid.sets:
        rows.append([name, *(_table_cell(grid.cells[name, algorithm]) for algorithm in shown)])
    return Table(["set", *shown], rows)


COST = (
    "Median over runs. A pass is one reading of all training rows: set-up, anchor gradients, inner steps / n. "
    "SPAM, SOLAM and OPAUC count two per epoch: the steps, and the evaluation of the objective for the curve and "
    "the certificate (OPAUC evaluates it from its matrices). Seconds are those of the solver on one core with "
    "these evaluations, without the time for class means and covariances before the first step (for exact: the "
    "whole fit); the code was compiled beforehand."
)


def _report(
    rows: Sequence[Row],
    ways: Sequence[Way],
    protocol: Protocol,
    grid: Grid,
    figures: Sequence[DrawnFigure],
    gaps: Sequence[str],
) -> Page:
    """The page: the table, whether VRSPAM reaches the optimum, figures, costs, and how all was made."""
    results = [row for row in rows if row["kind"] == "result"]
    n_sets, n_models = len({row["set"] for row in results}), sum(row["task"] == "score" for row in results)
    summary = f"{n_models} trained models on {n_sets} of {len(grid.sets)} data sets"
    page = Page(
        "AUC maximisation: the paper's experiments repeated", f"{summary}, each tested on rows it has not seen."
    )
    legend_of_table = blocks.Paragraph(legend(grid.cells))
    page.add("Test AUC", legend_of_table, auc_table(grid), *remarks(grid.cells, grid.sets))
    page.add("Does VRSPAM reach the optimum?", *agreement(rows))
    if figures:
        drawn = [blocks.Figure(svg, caption, alt) for (_, svg), caption, alt in figures]
        page.add("Figures", blocks.Grid(drawn, "large"))
    page.add("Passes and seconds", blocks.Paragraph(COST), cost_table(*grid))
    page.add("Protocol", blocks.Facts(protocol_facts(protocol, rows)), algorithm_table(ways))
    page.add("Data", data_table(ways))
    page.add("Versions and machine", *(blocks.Facts(machine) for machine in unique([way["machine"] for way in ways])))
    problems = [*_failures(rows), *gaps]
    if problems:
        page.add("What failed or is missing", blocks.Bullets(problems))
    return page


def _failures(rows: Sequence[Row]) -> list[str]:
    """The runs that failed, and why."""
    failed = [row for row in rows if row["kind"] == "failed"]
    return [f"{row['set']}, {row['algorithm']}, {row['task']} {row['split']}: {row['message']}" for row in failed]


def describe_missing_runs(rows: Sequence[Row], ways: Sequence[Way]) -> list[str]:
    """Name the planned runs without results, of the sets and algorithms of which other runs have some."""
    planned: dict[tuple[str, str], set[int]] = {}
    for way in ways:
        for run in make_plan(Protocol.from_dict(way["protocol"])):
            if run.task == "score":
                planned.setdefault((run.set, run.algorithm), set()).add(run.split)
    done: dict[tuple[str, str], set[int]] = {}
    for row in rows:
        if row["task"] == "score":
            done.setdefault((row["set"], row["algorithm"]), set()).add(row["split"])
    sets = {name for name, _ in done}
    gaps = []
    for (name, algorithm), splits in planned.items():
        found = done.get((name, algorithm), set())
        if name in sets and splits - found:
            lost = ", ".join(str(split) for split in sorted(splits - found))
            gaps.append(f"{name}, {algorithm}: {len(splits & found)} of {len(splits)} runs have results, not {lost}")
    return gaps


def legend(cells: Cells) -> str:
    """Return an explanation of the table of AUCs, and of the marks that occur in it."""
    marks = {cell.mark for cell in cells.values()}
    paper = "; then the paper's cell" if any(cell.paper for cell in cells.values()) else ""
    words = (
        f"Each cell: our mean ± standard deviation over runs; then the exact optimum with the same penalties{paper}."
    )
    if "above" in marks:
        words += (
            f" {MARKS['above']}: the paper's cell lies above what any penalty of its grid gives, even one chosen by "
            "looking at the test part."
        )
    if "below" in marks:
        words += f" {MARKS['below']}: it lies below the minimiser of its own objective."
    if marks & set(MARKS):
        words += (
            " A cell is marked only where the two means differ by more than twice the standard error of their "
            f"difference and by more than {_AGREEMENT:g}."
        )
    return words


def _table_cell(cell: CellResult) -> Cell:
    paper = f"paper {cell.paper}" if cell.paper else ""
    if cell.mark:
        paper += f" {MARKS[cell.mark]}"
    if cell.ours is None or cell.optimum is None:
        return Cell("not run", None, paper)
    note = f"optimum {format_auc(cell.optimum.mean)}" + (f"\n{paper}" if paper else "")
    return Cell(str(cell.ours), cell.ours.mean, note, cell.mark)


def remarks(cells: Cells, sets: Sequence[str]) -> list[Shown]:
    """Return the reasons why cells are marked, and notes about the paper's cells."""
    notes = [
        f"{MARKS[cell.mark]} {cell.set}, {cell.algorithm}: paper {format_auc(cell.paper.mean)}; {cell.reason}."
        for cell in cells.values()
        if cell.mark and cell.paper
    ]
    for name in sets:
        if all(cell.ours is None for key, cell in cells.items() if key[0] == name):
            notes.append(f"{name}: no results (its data were not available, or its runs failed or have not run yet).")
    if any((name, "OPAUC") in paper_cells() for name in sets):
        notes.append(
            "The paper took its SPAM, SOLAM and OPAUC cells from Natole, Ying and Lyu (2018) and did not run those "
            "algorithms again; it does not say whether they share splits or scaling with its VRSPAM cells."
        )
    if "w8a" in sets:
        notes.append(
            "w8a: in the 64,700 rows of the paper (w8a and w8a.t) the 14,951 rows of w8a.t occur twice, so a test part "
            "holds rows that were trained on; w8a-clean holds each row once."
        )
    return [blocks.Bullets(notes)] if notes else []


def describe_agreement(rows: Sequence[Row]) -> str:
    """Say in how many runs VRSPAM reaches the AUC of the exact minimiser."""
    differences = []
    for row in rows:
        if row["kind"] == "result" and row["algorithm"].startswith("VRSPAM"):
            differences.append(_difference(row))
    if not differences:
        return "There are no runs of VRSPAM."
    runs, worst = len(differences), max(differences)
    far = len(disagreements(rows))
    if not far:
        near = f"within {worst:.1e} of" if worst else "equal to"
        return f"Yes: in all {runs} runs its test AUC is {near} that of the exact minimiser."
    return (
        f"In {runs - far} of {runs} runs its test AUC is within {_AGREEMENT} of that of the exact minimiser with the "
        "same penalties."
    )


def agreement(rows: Sequence[Row]) -> list[Shown]:
    """Say in how many runs VRSPAM reaches the AUC of the exact minimiser, and list the other runs."""
    words, far = describe_agreement(rows), disagreements(rows)
    if not far:
        return [blocks.Paragraph(words)]
    text = f"{words} In the runs below its test AUC was further away after its last epoch."
    columns = ["set", "algorithm", "run", "l2", "l1", "AUC", "optimum", "difference", "gap / F(0)", "passes"]
    body: list[blocks.Row] = []
    for row in far:
        difference = row["auc"] - row["auc_exact"]
        gap = row["gap"] / (row["positive_share"] * (1 - row["positive_share"]))
        body.append(
            [
                row["set"],
                row["algorithm"],
                Cell(f"{row['split']:d}", row["split"]),
                Cell(f"{row['l2']:g}", row["l2"]),
                Cell(f"{row['l1']:g}", row["l1"]),
                Cell(f"{row['auc']:.4f}", row["auc"]),
                Cell(f"{row['auc_exact']:.4f}", row["auc_exact"]),
                Cell(f"{difference:.4f}", difference),
                Cell(f"{gap:.1e}", gap),
                Cell(f"{row['passes']:.0f}", row["passes"]),
            ]
        )
    return [blocks.Paragraph(text), Table(columns, body)]


def cost_table(cells: Cells, sets: Sequence[str], algorithms: Sequence[str]) -> Table:
    """Seconds and passes of each cell."""
    rows: list[blocks.Row] = []
    for name in sets:
        row: list[Cell | str] = [name]
        for algorithm in algorithms:
            cell = cells[name, algorithm]
            passes = "one pass" if cell.passes is None else f"{cell.passes:.0f} passes"
            row.append("" if cell.seconds is None else Cell(f"{cell.seconds:.3g} s", cell.seconds, passes))
        rows.append(row)
    return Table(["set", *algorithms], rows)


def protocol_facts(protocol: Protocol, rows: Sequence[Row]) -> dict[str, str]:
    runs = len({row["split"] for row in rows if row["task"] == "score"})
    who = "the exact minimiser of the same objective, once per split for all algorithms"
    return {
        "Runs": f"{runs}; run i uses seed {protocol.first_seed} + i for the split, the folds and the algorithm",
        "Split": f"{1 - protocol.test_share:.0%} training, {protocol.test_share:.0%} test, stratified",
        "Penalties": f"by {protocol.folds}-fold cross-validation on the training part, over l2 (β) and l1 (β₁) in "
        f"{protocol.l2[0]:g} ... {protocol.l2[-1]:g}",
        "Cross-validated by": who if protocol.cv == "exact" else "each algorithm with its own fits",
        "Features": f"{protocol.scaling}",
        "Objective": "pq · mean over pairs of (1 - w·(x₊ - x₋))² + l2/2 ‖w‖² + l1 ‖w‖₁",
    }


def algorithm_table(ways: Sequence[Way]) -> Table:
    rows: list[blocks.Row] = []
    for algorithm in unique([a for way in ways for a in way["protocol"]["algorithms"]]):
        parameters = ", ".join(f"{name}={value}" for name, value in algorithm["parameters"])
        tune = algorithm["tune"]
        tuned = f"{tune[0]} from {', '.join(map(str, tune[1]))}, on the first split" if tune else ""
        rows.append([algorithm["name"], algorithm["estimator"], algorithm["penalty"], parameters, tuned])
    return Table(["algorithm", "estimator", "penalty", "parameters", "tuned"], rows)


def data_table(ways: Sequence[Way]) -> Table:
    rows: list[blocks.Row] = []
    for data in unique([way["data"] for way in ways if "data" in way]):
        hashes = " ".join(f"{name} {digest[:16]}…" for name, digest in zip(data["files"], data["sha256"], strict=True))
        share = data["positives"] / data["n"]
        counts = [Cell(f"{data[name]:,}", data[name]) for name in ("n", "d")]
        rows.append([data["name"], data["title"], *counts, Cell(f"{share:.1%}", share), hashes])
    return Table(["set", "what it is", "rows", "features", "positive", "files, sha256 of their text"], rows)


def unique(values: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each value once, in order of first occurrence."""
    return [value for i, value in enumerate(values) if value not in values[:i]]


CSV_COLUMNS = (
    "set algorithm mean std runs optimum_mean optimum_std ceiling_mean paper_mean paper_std mark worst_difference "
    "median_passes median_seconds"
)


def _csv(cells: Iterable[CellResult]) -> str:
    """All cells as CSV; what is not known is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS.split())
    for cell in cells:
        values: list[Any] = [
            *_mean_and_std(cell.ours),
            0 if cell.ours is None else cell.ours.runs,
            *_mean_and_std(cell.optimum),
            None if cell.ceiling is None else cell.ceiling.mean,
            *_mean_and_std(cell.paper),
            cell.mark,
            cell.worst,
            cell.passes,
            cell.seconds,
        ]
        shown = [f"{value:.6g}" if isinstance(value, float) else value for value in values]
        writer.writerow([cell.set, cell.algorithm, *shown])
    return text.getvalue()


def _mean_and_std(summary: Summary | None) -> tuple[float | None, float | None]:
    return (None, None) if summary is None else (summary.mean, summary.std)


def _ordered(found: Sequence[str], order: Sequence[str]) -> list[str]:
    """Return each name once, in the given order; names that are not in that order come last."""
    return sorted(set(found), key=lambda name: (order.index(name) if name in order else len(order), name))
