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
from typing import Any

import numpy as np

from vrspam._utils.atomic import write_text
from vrspam._utils.warnings import warn
from vrspam.paper.figures import draw_all
from vrspam.paper.protocol import GRID, Protocol, Row, make_plan, paper_cells, paper_protocol
from vrspam.paper.run import ROWS, read_all
from vrspam.report import page as html
from vrspam.report.html import Html
from vrspam.report.page import Cell, Page, markdown_table

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
    best: dict[tuple[str, bool], dict[int, float]] = {}  # set and whether there is an l1 -> the best AUC of each split
    for row in rows:
        if row["kind"] == "result" and row["task"] == "score":
            by_cell.setdefault((row["set"], row["algorithm"]), []).append(row)
        elif row["kind"] == "grid" and row["algorithm"] == GRID:
            splits = best.setdefault((row["set"], bool(row["l1"])), {})
            splits[row["split"]] = max(splits.get(row["split"], 0.0), row["auc"])
    ceilings = {key: Summary.of(splits.values()) for key, splits in best.items()}
    pairs = product(dict.fromkeys(row["set"] for row in rows), dict.fromkeys(algorithm for _, algorithm in by_cell))
    return [
        _cell(name, algorithm, by_cell.get((name, algorithm), []), ceilings.get((name, algorithm.endswith("NET"))))
        for name, algorithm in pairs
    ]


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
    paper = Summary(*paper_cells()[name, algorithm], 20) if (name, algorithm) in paper_cells() else None
    optimum = Summary.of(row["auc_exact"] for row in rows)
    mark = reason = ""  # set if the objective cannot give the paper's cell, up to two standard errors
    if paper is not None and optimum is not None and ceiling is not None and min(optimum.runs, ceiling.runs) > 1:
        if paper.mean > ceiling.mean + max(2 * math.hypot(paper.error, ceiling.error), _AGREEMENT):
            mark, best = "above", format_auc(ceiling.mean)
            reason = f"no penalty of the grid reaches it: {best} is the best even if chosen on the test part"
        elif paper.mean < optimum.mean - max(2 * math.hypot(paper.error, optimum.error), _AGREEMENT):
            mark, reason = "below", f"the minimiser of the same objective reaches {format_auc(optimum.mean)}"
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


def _difference(row: Row) -> float:
    return abs(row["auc"] - row["auc_exact"])


Cells = Mapping[tuple[str, str], CellResult]
TableParts = tuple[list[str], list[html.Row]]
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
    wanted = [name for way in ways for name in way["protocol"]["sets"]]
    sets = _ordered([row["set"] for row in rows] + wanted, [*paper_protocol().sets, *wanted])
    names = [algorithm["name"] for way in ways for algorithm in way["protocol"]["algorithms"]]
    algorithms = _ordered([row["algorithm"] for row in rows if row["task"] == "score"], names)
    cells = {(cell.set, cell.algorithm): cell for cell in summarise(rows)}
    for name, algorithm in product(sets, algorithms):  # what was not run has the paper's cell alone
        cells.setdefault((name, algorithm), _cell(name, algorithm, [], None))
    shown = [name for name in algorithms if not name.startswith("exact")]
    columns = ["set", *shown]
    grid: list[html.Row] = [[name, *(_table_cell(cells[name, algorithm]) for algorithm in shown)] for name in sets]
    written = {
        "table": [
            write_text(folder / "table.md", markdown_table(columns, grid) + f"\n\n{legend(cells)}\n"),
            write_text(folder / "table.csv", _csv(cells.values())),
        ]
    }
    figures = draw_all(rows, protocol, folder)
    written["figure"] = [path for paths, _, _ in figures for path in paths]
    results = [row for row in rows if row["kind"] == "result"]
    done, runs = {row["set"] for row in results}, sum(row["task"] == "score" for row in results)
    found = f"{runs} trained models on {len(done)} of {len(sets)} data sets, each tested on rows it has not seen."
    page = Page("AUC maximisation: the paper's experiments repeated", found)
    page.add("Test AUC", html.paragraph(legend(cells)), html.table(columns, grid), *remarks(cells, sets))
    page.add("Does VRSPAM reach the optimum?", *agreement(rows))
    if figures:
        drawn = (html.figure(svg, caption, alt) for (_, svg), caption, alt in figures)
        page.add("Figures", html.grid(drawn, "large"))
    cost = (
        "Median over runs. A pass is one reading of all training rows: set-up, anchor gradients, inner steps / n. "
        "SPAM, SOLAM and OPAUC count two per epoch: the steps, and the evaluation of the objective for the curve and "
        "the certificate (OPAUC evaluates it from its matrices). Seconds are those of the solver on one core with "
        "these evaluations, without the time for class means and covariances before the first step (for exact: the "
        "whole fit); the code was compiled beforehand."
    )
    page.add("Passes and seconds", html.paragraph(cost), html.table(*cost_table(cells, sets, algorithms)))
    page.add("Protocol", html.facts(protocol_facts(protocol, rows)), html.table(*algorithm_table(ways)))
    page.add("Data", html.table(*data_table(ways)))
    page.add("Versions and machine", *(html.facts(machine) for machine in unique([way["machine"] for way in ways])))
    gaps = [f"{path.name} is cut off, damaged, or holds another run: it does not count" for path in unreadable]
    gaps += describe_missing_runs(rows, ways)
    for gap in gaps:
        warn(f"{gap}; run the same command again")
    failed = [row for row in rows if row["kind"] == "failed"]
    problems = [f"{row['set']}, {row['algorithm']}, {row['task']} {row['split']}: {row['message']}" for row in failed]
    if problems + gaps:
        page.add("What failed or is missing", html.bullets(problems + gaps))
    written["report"] = [page.write(folder / "report.html")]
    return written


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


def remarks(cells: Cells, sets: Sequence[str]) -> list[Html]:
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
    return [html.bullets(notes)] if notes else []


def describe_agreement(rows: Sequence[Row]) -> str:
    """Say in how many runs VRSPAM reaches the AUC of the exact minimiser."""
    differences = [
        _difference(row) for row in rows if row["kind"] == "result" and row["algorithm"].startswith("VRSPAM")
    ]
    if not differences:
        return "There are no runs of VRSPAM."
    runs, worst, far = len(differences), max(differences), len(disagreements(rows))
    if not far:
        near = f"within {worst:.1e} of" if worst else "equal to"
        return f"Yes: in all {runs} runs its test AUC is {near} that of the exact minimiser."
    return (
        f"In {runs - far} of {runs} runs its test AUC is within {_AGREEMENT} of that of the exact minimiser with the "
        "same penalties."
    )


def agreement(rows: Sequence[Row]) -> list[Html]:
    """Say in how many runs VRSPAM reaches the AUC of the exact minimiser, and list the other runs."""
    words, far = describe_agreement(rows), disagreements(rows)
    if not far:
        return [html.paragraph(words)]
    text = f"{words} In the runs below its test AUC was further away after its last epoch."
    columns = ["set", "algorithm", "run", "l2", "l1", "AUC", "optimum", "difference", "gap / F(0)", "passes"]
    body = []
    for row in far:
        gap = row["gap"] / (row["positive_share"] * (1 - row["positive_share"]))
        values = [row[name] for name in ("split", "l2", "l1", "auc", "auc_exact")]
        values += [row["auc"] - row["auc_exact"], gap, row["passes"]]
        shown = zip(("d", "g", "g", ".4f", ".4f", ".4f", ".1e", ".0f"), values, strict=True)
        body.append([row["set"], row["algorithm"], *(Cell(f"{value:{form}}", value) for form, value in shown)])
    return [html.paragraph(text), html.table(columns, body)]


def cost_table(cells: Cells, sets: Sequence[str], algorithms: Sequence[str]) -> TableParts:
    rows: list[html.Row] = []
    for name in sets:
        row: list[Cell | str] = [name]
        for cell in (cells[name, algorithm] for algorithm in algorithms):
            passes = f"{cell.passes:.0f} passes" if cell.passes is not None else "one pass"
            row.append("" if cell.seconds is None else Cell(f"{cell.seconds:.3g} s", cell.seconds, passes))
        rows.append(row)
    return ["set", *algorithms], rows


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


def algorithm_table(ways: Sequence[Way]) -> TableParts:
    rows: list[html.Row] = []
    for algorithm in unique([a for way in ways for a in way["protocol"]["algorithms"]]):
        parameters = ", ".join(f"{name}={value}" for name, value in algorithm["parameters"])
        tune = algorithm["tune"]
        tuned = f"{tune[0]} from {', '.join(map(str, tune[1]))}, on the first split" if tune else ""
        rows.append([algorithm["name"], algorithm["estimator"], algorithm["penalty"], parameters, tuned])
    return ["algorithm", "estimator", "penalty", "parameters", "tuned"], rows


def data_table(ways: Sequence[Way]) -> TableParts:
    rows: list[html.Row] = []
    for data in unique([way["data"] for way in ways if "data" in way]):
        hashes = " ".join(f"{name} {digest[:16]}…" for name, digest in zip(data["files"], data["sha256"], strict=True))
        share = data["positives"] / data["n"]
        counts = [Cell(f"{data[name]:,}", data[name]) for name in ("n", "d")]
        rows.append([data["name"], data["title"], *counts, Cell(f"{share:.1%}", share), hashes])
    return ["set", "what it is", "rows", "features", "positive", "files, sha256 of their text"], rows


def unique(values: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each value once, in order of first occurrence."""
    return [value for i, value in enumerate(values) if value not in values[:i]]


def _csv(cells: Iterable[CellResult]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = (
        "set algorithm mean std runs optimum_mean optimum_std ceiling_mean paper_mean paper_std mark worst_difference "
        "median_passes median_seconds"
    )
    writer.writerow(names.split())
    for cell in cells:
        ours, optimum, ceiling, paper = cell.ours, cell.optimum, cell.ceiling, cell.paper
        values: list[Any] = [ours and ours.mean, ours and ours.std, ours.runs if ours else 0]
        values += [optimum and optimum.mean, optimum and optimum.std, ceiling and ceiling.mean]
        values += [paper and paper.mean, paper and paper.std, cell.mark, cell.worst, cell.passes, cell.seconds]
        shown = [f"{value:.6g}" if isinstance(value, float) else value for value in values]  # None is an empty field
        writer.writerow([cell.set, cell.algorithm, *shown])
    return text.getvalue()


def _ordered(found: Sequence[str], order: Sequence[str]) -> list[str]:
    """Return each name once, in the given order; names that are not in that order come last."""
    return sorted(set(found), key=lambda name: (order.index(name) if name in order else len(order), name))
