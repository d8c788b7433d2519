"""`vrspam demo`: a table becomes a report, then the algorithms of the paper run on two small sets."""

from __future__ import annotations

import os
import shlex
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from vrspam._utils.progress import is_terminal
from vrspam.cli import options, output
from vrspam.cli.experiments import Jobs, Out, print_written, require_all, run_protocol
from vrspam.cli.typed import typed

# the table of the demo
NAME = "breast-cancer"
TARGET = "diagnosis"
POSITIVE = "malignant"
INDENT = 3


def demo(
    directory: Out = Path("vrspam-demo"),
    jobs: Jobs = None,
    no_browser: Annotated[
        bool,
        typer.Option("--no-browser", help="Do not open the report in a browser; on a terminal it opens.", metavar=""),
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Show what vrspam does: a table goes in and a report comes out; then all algorithms of the paper on two sets.

    The tables come with scikit-learn. Takes about a minute.

    Example:  vrspam demo --out /tmp/demo
    """
    require_all(directory)
    from vrspam._utils.texts import auc_text, interval_text
    from vrspam.paper.protocol import demo_protocol
    from vrspam.paper.run import start_early
    from vrspam.report.pages.report import report_page
    from vrspam.report.words.auc import describe_auc
    from vrspam.report.words.names import class_names
    from vrspam.tool.report import make_report

    start_early()
    directory.mkdir(parents=True, exist_ok=True)
    if not as_json:
        output.out.print("1. A table goes in, a report comes out", style="bold", markup=False)
    table, page = write_table(directory), directory / f"{NAME}.html"
    again = shlex.join(["vrspam", "report", str(table), "--target", TARGET, "--positive", POSITIVE, "--html"])
    with output.warnings_as_lines():
        report = make_report(table, TARGET, POSITIVE, progress=output.err.is_terminal)
        report_page(report, data_name=table.name, parameter=typed, command=f"{again} {shlex.quote(str(page))}").write(
            page
        )
    if not as_json:
        expected = report.expected
        output.tell(
            f"{table.name}: {report.evaluation.n:,} breast tumours that come with scikit-learn, 30 measurements of "
            f"each. The model learns which are {POSITIVE}; each is scored by a model that has not seen it.",
            INDENT,
        )
        interval = f"95 % interval {interval_text(expected.low, expected.high, 4)}"
        meaning = describe_auc(expected.auc, class_names(report.model.outcome))
        output.tell(f"AUC {auc_text(expected.auc, 4)}, {interval}. {meaning}", INDENT)
        output.say(f"{' ' * INDENT}report   {page}")
        output.tell("with a table of your own:", INDENT)
        output.say(f"{' ' * INDENT}  {again} report.html")
        if not no_browser and _has_screen():
            webbrowser.open(page.resolve().as_uri())
        output.say("")
        output.out.print("2. The algorithms of the paper, on two small sets", style="bold", markup=False)
    done, words, written = run_protocol(demo_protocol(), directory, jobs, few_lines=True)
    if as_json:
        written = {"example": [page], **written}
    else:
        output.tell(f"{words}.", INDENT)
        _describe_runs(directory)
    print_written(written, as_json, INDENT, done.failed)


def write_table(directory: Path) -> Path:
    """Write scikit-learn's table of breast tumours as a CSV file."""
    from sklearn.datasets import load_breast_cancer

    from vrspam._utils.atomic import write_text

    data = load_breast_cancer()
    names = [*map(str, data.feature_names), TARGET]
    labels = [str(data.target_names[label]) for label in data.target]
    lines = [",".join([*(f"{value:g}" for value in row), label]) for row, label in zip(data.data, labels, strict=True)]
    path = directory / f"{NAME}.csv"
    write_text(path, "\n".join([",".join(names), *lines, ""]))
    return path


def _describe_runs(directory: Path) -> None:
    """The mean test AUC of each algorithm on each set, and whether VRSPAM reaches that of the exact optimum."""
    from vrspam.paper.publish import describe_agreement, summarise
    from vrspam.paper.run import ROWS, read_all

    rows = read_all(directory / ROWS)[0]
    if cells := {(cell.algorithm, cell.set): cell for cell in summarise(rows)}:  # empty if all runs failed
        algorithms, sets = (list(dict.fromkeys(names)) for names in zip(*cells, strict=True))
        lines = []
        for algorithm in algorithms:
            means = [cells[algorithm, name].ours if (algorithm, name) in cells else None for name in sets]
            lines.append([algorithm, *("" if mean is None else f"{mean.mean:.4f}" for mean in means)])
        output.tell("test AUC, mean over the runs:", INDENT)
        output.show_table(["algorithm", *sets], lines, margin=INDENT + 2)
        output.tell(
            "L2 and NET: the penalty; exact: the optimum itself; accelerated: a faster variant of VRSPAM", INDENT + 2
        )
    output.tell(f"Does VRSPAM, the paper's algorithm, reach the optimum? {describe_agreement(rows)}", INDENT)


def _has_screen() -> bool:
    """Whether a person sits at an interactive terminal with a screen that a browser can open on."""
    if not (is_terminal(sys.stdin) and is_terminal(sys.stdout)) or os.environ.get("SSH_CONNECTION"):
        return False
    return sys.platform in ("win32", "darwin") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
