"""From stored rows to files: table (Markdown, CSV), figures (PNG, SVG) and one HTML report."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vrspam._utils.atomic import write_text
from vrspam.experiments import page as page_parts
from vrspam.experiments import table
from vrspam.experiments.figures import draw_all
from vrspam.experiments.harness import ROWS
from vrspam.experiments.protocol import Protocol, paper_protocol
from vrspam.experiments.store import read_all
from vrspam.report import Bullets, Facts, Figure, Page, Table, Text, markdown_table


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
    sets = _ordered([row["set"] for row in rows] + wanted, [*paper_protocol().sets, *wanted])
    algorithms = _ordered([row["algorithm"] for row in rows if row["task"] == "score"], _names(ways))
    cells = {(cell.set, cell.algorithm): cell for cell in table.summarise(rows)}
    for cell in table.paper_only(sets, algorithms):
        cells.setdefault((cell.set, cell.algorithm), cell)
    columns, grid = page_parts.auc_table(cells, sets, algorithms)
    written = {
        "table": [
            write_text(folder / "table.md", markdown_table(columns, grid) + f"\n\n{page_parts.LEGEND}\n"),
            write_text(folder / "table.csv", _csv(list(cells.values()))),
        ]
    }
    figures = draw_all(rows, protocol, folder)
    written["figure"] = [path for figure in figures for path in figure.paths]
    page = Page("AUC maximisation: the paper's experiments, done again", page_parts.summary(rows, sets))
    page.add("Test AUC", Text(page_parts.LEGEND), Table(columns, grid), *page_parts.remarks(cells, sets))
    page.add("Does VRSPAM reach the optimum?", *page_parts.agreement(rows))
    if figures:
        page.add("Figures", *(Figure(figure.paths[-1], figure.caption, figure.alt) for figure in figures))
    page.add("Passes and seconds", Text(page_parts.COST), Table(*page_parts.cost_table(cells, sets, algorithms)))
    page.add("Protocol", Facts(page_parts.protocol_facts(protocol, rows)), Table(*page_parts.algorithm_table(ways)))
    page.add("Data", Table(*page_parts.data_table(ways)))
    page.add(
        "Versions and machine", *(Facts(machine) for machine in page_parts.unique([way["machine"] for way in ways]))
    )
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
