"""`vrspam demo`: first a table becomes a report, then the paper's algorithms run on two small sets."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from vrspam._utils.collector import without_collector
from vrspam._utils.messages import require
from vrspam.cli import options
from vrspam.cli.options import INTERRUPTED, err, out, print_json, say, show_table, tell, warn, warnings_as_lines

if TYPE_CHECKING:
    from vrspam.cli.background import Background
    from vrspam.tool.report import Report

NAME, TARGET, POSITIVE = "breast-cancer", "diagnosis", "malignant"
INDENT = 3


class DemoReport(NamedTuple):
    """The table, the page that was made of it, and what is on it."""

    table: Path
    page: Path
    found: Report


def demo(
    directory: Annotated[Path, typer.Option("--out", help="The directory to write everything to.")] = Path(
        "vrspam-demo"
    ),
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="Number of processes; by default one for each core.")
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Do not open the report in a browser, which a terminal does.")
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Show what vrspam does: a table goes in and a report comes out; then all algorithms of the paper on two sets.

    The tables come with scikit-learn. Takes about a minute.

    Example:  vrspam demo --out /tmp/demo
    """
    require("data", "pyarrow")
    require("plots", "matplotlib")
    if directory.exists() and not directory.is_dir():
        raise typer.BadParameter(f"{directory} is a file: give the name of a directory", param_hint="--out")
    directory.mkdir(parents=True, exist_ok=True)
    if not as_json:
        _title("1. A table goes in, a report comes out")
    with _paper_runs(directory, jobs) as runs:
        report = demo_report(directory)
        if not as_json:
            _describe_report(report)
            if not no_browser and _has_screen():
                webbrowser.open(report.page.resolve().as_uri())
            say("")
            _title("2. The algorithms of the paper, on two small sets")
        _show_paper(directory, as_json, report, runs)


def _paper_runs(directory: Path, jobs: int | None) -> Background:
    """The runs of the second part, which go on while the report is made."""
    from vrspam.experiments.processes import start_early

    start_early()
    with without_collector():
        import vrspam.kernels  # noqa: F401 (with its compiler, which the report needs)
        from vrspam.cli.background import Background
        from vrspam.experiments.protocol import demo_protocol
        from vrspam.experiments.run import run_experiment
        from vrspam.tool import pages, report  # noqa: F401 (imported here, and not by two threads at once)
    protocol = demo_protocol()
    return Background(
        lambda watcher: run_experiment(protocol, directory, n_jobs=jobs, skip_missing=False, watcher=watcher)
    )


def demo_report(directory: Path) -> DemoReport:
    """Write a table of patients, and the report of it."""
    from vrspam.tool.pages import report_page
    from vrspam.tool.report import make_report

    table, page = write_table(directory), directory / f"{NAME}.html"
    with warnings_as_lines():
        found = make_report(table, TARGET, POSITIVE, progress=err.is_terminal)
        command = " ".join(("vrspam", *_again(table, page)))
        report_page(found, data_name=table.name, parameter=options.as_option, command=command).write(page)
    return DemoReport(table, page, found)


def _again(table: Path, page: Path) -> tuple[str, ...]:
    """The words of the command that makes the page."""
    return "report", str(table), "--target", TARGET, "--positive", POSITIVE, "--html", str(page)


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


def _describe_report(report: DemoReport) -> None:
    from vrspam.tool.explanation import describe_auc

    expected = report.found.expected
    tell(
        f"{report.table.name}: {report.found.evaluation.n:,} breast tumours that come with scikit-learn, 30 "
        f"measurements of each. The model learns which are {POSITIVE}; each is judged by a model that has not seen it.",
        INDENT,
    )
    interval = f"95 % interval {expected.low:.4f} to {expected.high:.4f}"
    tell(f"AUC {expected.auc:.4f}, {interval}: {describe_auc(expected.auc)}.", INDENT)
    say(f"{' ' * INDENT}report   {report.page}")
    tell("with a table of your own:", INDENT)
    say(f"{' ' * INDENT}  vrspam {' '.join(_again(report.table, Path('report.html')))}")


def _show_paper(directory: Path, as_json: bool, report: DemoReport, runs: Background) -> None:
    with without_collector():
        from vrspam.cli.watching import duration, watching
        from vrspam.experiments.publish import describe_agreement, publish
        from vrspam.experiments.run import ROWS
        from vrspam.experiments.store import read_all

    try:
        with watching(few_lines=True, clock=runs.clock) as watcher:
            done = runs.result(watcher)
    except KeyboardInterrupt:
        warn("vrspam: stopped; the same command goes on from here")
        raise typer.Exit(INTERRUPTED) from None
    written = publish(directory)
    if as_json:
        files = {"example": [report.page], **written}
        print_json({kind: [str(path) for path in paths] for kind, paths in files.items()})
    else:
        again = f", {done.skipped} had been done before" if done.skipped else ""
        tell(f"{done.done} runs in {duration(runs.seconds)}{again}.", INDENT)
        rows = read_all(directory / ROWS)[0]
        _show_aucs(rows)
        tell(f"Does VRSPAM, the paper's algorithm, reach the optimum? {describe_agreement(rows)}", INDENT)
        for kind, paths in written.items():
            for path in paths:
                if path.suffix != ".svg":
                    say(f"{' ' * INDENT}{kind:8} {path}")
    if done.failed:
        warn(f"vrspam: {len(done.failed)} runs failed: the report lists them, and the same command tries them again")
        raise typer.Exit(1)


def _show_aucs(rows: Sequence[dict[str, Any]]) -> None:
    """The mean test AUC of each algorithm on each set, with that of the exact optimum."""
    from vrspam.experiments.tables import summarise

    cells = {(cell.algorithm, cell.set): cell for cell in summarise(rows)}
    if not cells:  # all runs failed
        return
    algorithms, sets = (list(dict.fromkeys(names)) for names in zip(*cells, strict=True))
    lines = []
    for algorithm in algorithms:
        means = [cells[algorithm, name].ours if (algorithm, name) in cells else None for name in sets]
        lines.append([algorithm, *("" if mean is None else f"{mean.mean:.4f}" for mean in means)])
    tell("test AUC, mean over the runs:", INDENT)
    show_table(["algorithm", *sets], lines, margin=INDENT + 2)
    tell("L2 and NET: the penalty; exact: the optimum itself; accelerated: a faster variant of VRSPAM", INDENT + 2)


def _title(text: str) -> None:
    out.print(text, style="bold", markup=False)


def _has_screen() -> bool:
    """Whether a person sits at an interactive terminal with a screen that a browser can open on."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("SSH_CONNECTION"):
        return False
    return sys.platform in ("win32", "darwin") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
