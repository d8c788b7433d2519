"""From stored rows to files: table (Markdown, CSV), figures (PNG, SVG) and one HTML report."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vrspam.experiments import table
from vrspam.experiments.figures import draw_all
from vrspam.experiments.harness import ROWS
from vrspam.experiments.protocol import Protocol, paper_cells
from vrspam.experiments.store import Row, read_all
from vrspam.report import Bullets, Cell, Facts, Figure, Page, Table, Text, markdown_table, write_whole

MARKS = {"above": "▲", "below": "▼"}
LEGEND = (
    "Each cell: our mean ± standard deviation over runs; then the exact optimum with the same penalties; then the "
    "paper's cell. ▲: the paper's cell lies above what any penalty of its grid gives, even one chosen by looking at "
    "the test part. ▼: it lies below the minimiser of its own objective. Both allow for two standard errors."
)
COPIED = (
    "The paper took its SPAM, SOLAM and OPAUC cells from Natole, Ying and Lyu (2018) and did not run those algorithms "
    "again; its VRSPAM cells and those come from different splits."
)
W8A = (
    "w8a: in the 64,700 rows of the paper (w8a and w8a.t) the 14,951 rows of w8a.t occur twice, so a test part "
    "holds rows that were trained on; w8a-clean holds each row once."
)


def publish(directory: str | os.PathLike[str]) -> dict[str, list[Path]]:
    """Write table, figures and report of a directory of results; return what was written.

    Parameters
    ----------
    directory : path
        As filled by `vrspam.experiments.harness.run_experiment`; only its rows are read.

    Returns
    -------
    dict
        Lists of paths under "table", "figure" and "report".
    """
    folder = Path(directory)
    rows, ways, unreadable = read_all(folder / ROWS)
    if not rows:
        raise ValueError(f"{folder} holds no results: run  vrspam reproduce --out {folder}  first.")
    protocol = Protocol.from_dict(ways[-1]["protocol"])
    wanted = [name for way in ways for name in way["protocol"]["sets"]]
    sets = _ordered([row["set"] for row in rows] + wanted, Protocol.from_dict(ways[0]["protocol"]).sets)
    algorithms = _ordered([row["algorithm"] for row in rows if row["task"] == "score"], _names(ways))
    cells = {(cell.set, cell.algorithm): cell for cell in table.summarise(rows)}
    for cell in table.paper_only(sets, algorithms):
        cells.setdefault((cell.set, cell.algorithm), cell)
    columns, grid = _grid(cells, sets, algorithms)
    written = {
        "table": [
            write_whole(folder / "table.md", markdown_table(columns, grid) + f"\n\n{LEGEND}\n"),
            write_whole(folder / "table.csv", _csv(list(cells.values()))),
        ]
    }
    figures = draw_all(rows, protocol, folder)
    written["figure"] = [path for figure in figures for path in figure.paths]
    page = Page("AUC maximisation: the paper's experiments, done again", _summary(rows, sets))
    page.add("Test AUC", Text(LEGEND), Table(columns, grid), *_remarks(cells, sets))
    page.add("Does VRSPAM reach the optimum?", *_agreement(rows))
    if figures:
        page.add("Figures", *(Figure(figure.paths[-1], figure.caption, figure.alt) for figure in figures))
    page.add("Passes and seconds", Text(_COST), Table(*_cost(cells, sets, algorithms)))
    page.add("Protocol", Facts(_protocol_facts(protocol, rows)), Table(*_algorithm_table(ways)))
    page.add("Data", Table(*_data_table(ways)))
    page.add("Versions and machine", *(Facts(machine) for machine in _unique([way["machine"] for way in ways])))
    problems = [
        f"{row['set']}, {row['algorithm']}, {row['task']} {row['split']}: {row['message']}"
        for row in table.failures(rows)
    ] + [f"{path.name} cannot be read; run the same command again" for path in unreadable]
    if problems:
        page.add("What failed", Bullets(problems))
    written["report"] = [page.write(folder / "report.html")]
    return written


_CSV_COLUMNS = (
    "set algorithm mean std runs optimum_mean optimum_std ceiling_mean paper_mean paper_std mark worst_difference "
    "median_passes median_seconds"
)
_COST = (
    "Median over runs. A pass is one reading of all training rows, set-up and anchor gradients counted; seconds are "
    "those of the solver alone, one core, code already compiled."
)


def _grid(cells: dict[tuple[str, str], table.CellResult], sets: Sequence[str], algorithms: Sequence[str]):
    shown = [name for name in algorithms if not name.startswith("exact")]
    rows = [[name, *(_table_cell(cells[name, algorithm]) for algorithm in shown)] for name in sets]
    return ["set", *shown], rows


def _table_cell(cell: table.CellResult) -> Cell:
    paper = f"paper {cell.paper}" if cell.paper else ""
    if cell.mark:
        paper += f" {MARKS[cell.mark]}"
    if cell.ours is None or cell.optimum is None:
        return Cell("not run", None, paper)
    note = f"optimum {table.format_auc(cell.optimum.mean)}" + (f"\n{paper}" if paper else "")
    return Cell(str(cell.ours), cell.ours.mean, note, cell.mark)


def _remarks(cells: dict[tuple[str, str], table.CellResult], sets: Sequence[str]) -> list[Bullets | Text]:
    marked = [cell for cell in cells.values() if cell.mark and cell.set in sets]
    remarks = [
        f"{MARKS[cell.mark]} {cell.set}, {cell.algorithm}: paper {table.format_auc(cell.paper.mean)}; {cell.reason}."
        for cell in marked
        if cell.paper
    ]
    missing = [name for name in sets if all(cell.ours is None for key, cell in cells.items() if key[0] == name)]
    notes = [f"{name} was not run: no copy of the data at hand." for name in missing]
    if any((name, "OPAUC") in paper_cells() for name in sets):
        notes.append(COPIED)
    if "w8a" in sets:
        notes.append(W8A)
    return [Bullets(remarks + notes)] if remarks or notes else []


def _agreement(rows: Sequence[Row]) -> list[Text | Table]:
    runs = [row for row in rows if row["kind"] == "result" and row["algorithm"].startswith("VRSPAM")]
    far = table.disagreements(rows)
    if not runs:
        return [Text("No run of VRSPAM is here.")]
    if not far:
        worst = max(abs(row["auc"] - row["auc_exact"]) for row in runs)
        return [
            Text(f"Yes: in all {len(runs)} runs its test AUC is within {worst:.1e} of that of the exact minimiser.")
        ]
    text = (
        f"In {len(runs) - len(far)} of {len(runs)} runs its test AUC is within {table.AGREEMENT} of that of the exact "
        "minimiser with the same penalties. In the runs below it stopped, after its last epoch, further away."
    )
    columns = ["set", "algorithm", "run", "l2", "l1", "AUC", "optimum", "difference", "gap / F(0)", "passes"]
    body = []
    for row in far:
        start = row["positive_share"] * (1 - row["positive_share"])
        values = (row["auc"], row["auc_exact"], row["auc"] - row["auc_exact"])
        body.append(
            [row["set"], row["algorithm"], Cell(str(row["split"]), row["split"])]
            + [Cell(f"{row[name]:g}", row[name]) for name in ("l2", "l1")]
            + [Cell(f"{value:.4f}", value) for value in values]
            + [Cell(f"{row['gap'] / start:.1e}", row["gap"] / start), Cell(f"{row['passes']:.0f}", row["passes"])]
        )
    return [Text(text), Table(columns, body)]


def _cost(cells: dict[tuple[str, str], table.CellResult], sets: Sequence[str], algorithms: Sequence[str]):
    rows: list[list[Cell | str]] = []
    for name in sets:
        row: list[Cell | str] = [name]
        for algorithm in algorithms:
            cell = cells[name, algorithm]
            if cell.seconds is None:
                row.append("")
                continue
            passes = f"{cell.passes:.0f} passes" if cell.passes is not None else "one pass"
            row.append(Cell(f"{cell.seconds:.3g} s", cell.seconds, passes))
        rows.append(row)
    return ["set", *algorithms], rows


def _protocol_facts(protocol: Protocol, rows: Sequence[Row]) -> dict[str, str]:
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


def _algorithm_table(ways: Sequence[dict[str, Any]]):
    rows = []
    for algorithm in _unique([a for way in ways for a in way["protocol"]["algorithms"]]):
        parameters = ", ".join(f"{name}={value}" for name, value in algorithm["parameters"])
        tune = algorithm["tune"]
        tuned = f"{tune[0]} from {', '.join(map(str, tune[1]))}, on the first split" if tune else ""
        rows.append([algorithm["name"], algorithm["estimator"], algorithm["penalty"], parameters, tuned])
    return ["algorithm", "estimator", "penalty", "parameters", "tuned"], rows


def _data_table(ways: Sequence[dict[str, Any]]):
    rows = []
    for data in _unique([way["data"] for way in ways if "data" in way]):
        hashes = " ".join(f"{name} {digest[:16]}…" for name, digest in zip(data["files"], data["sha256"], strict=True))
        share = data["positives"] / data["n"]
        counts = [Cell(f"{data[name]:,}", data[name]) for name in ("n", "d")]
        rows.append([data["name"], data["title"], *counts, Cell(f"{share:.1%}", share), hashes])
    return ["set", "what it is", "rows", "features", "positive", "files, sha256 of their text"], rows


def _summary(rows: Sequence[Row], sets: Sequence[str]) -> str:
    done = {row["set"] for row in rows if row["kind"] == "result"}
    runs = sum(row["kind"] == "result" and row["task"] == "score" for row in rows)
    return f"{runs} trained models on {len(done)} of {len(sets)} data sets, each tested on rows it has not seen."


def _csv(cells: Sequence[table.CellResult]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_CSV_COLUMNS.split())
    for cell in cells:
        ours, optimum, ceiling, paper = cell.ours, cell.optimum, cell.ceiling, cell.paper
        values: list[Any] = [ours and ours.mean, ours and ours.std, ours.runs if ours else 0]
        values += [optimum and optimum.mean, optimum and optimum.std, ceiling and ceiling.mean]
        values += [paper and paper.mean, paper and paper.std, cell.mark, cell.worst, cell.passes, cell.seconds]
        shown = [f"{value:.6g}" if isinstance(value, float) else value for value in values]
        writer.writerow([cell.set, cell.algorithm, *("" if value is None else value for value in shown)])
    return text.getvalue()


def _names(ways: Sequence[dict[str, Any]]) -> list[str]:
    return [algorithm["name"] for way in ways for algorithm in way["protocol"]["algorithms"]]


def _ordered(found: Sequence[str], order: Sequence[str]) -> list[str]:
    """Each name once, in the given order, those it does not know at the end."""
    return sorted(set(found), key=lambda name: (order.index(name) if name in order else len(order), name))


def _unique(values: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [value for i, value in enumerate(values) if value not in values[:i]]
