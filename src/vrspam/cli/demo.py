"""`vrspam demo`: first a table becomes a report, then the paper's algorithms run on two small sets."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from vrspam._utils.messages import require
from vrspam.cli import options
from vrspam.cli.options import INTERRUPTED, out, print_json, say, warn, warnings_as_lines
from vrspam.cli.tables import show_table, tell

if TYPE_CHECKING:
    from vrspam.tool.evaluation import Evaluation

NAME, TARGET, POSITIVE = "breast-cancer", "diagnosis", "malignant"
HELD_OUT = 0.3
INDENT = 3


class DemoReport(NamedTuple):
    """The report of the table, what was found, and how many rows were trained on."""

    page: Path
    found: Evaluation
    trained_on: int


def register(app: typer.Typer) -> None:
    app.command("demo")(demo)


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
    report = demo_report(directory)
    if not as_json:
        _describe_report(report, directory)
        if not no_browser and _has_screen():
            webbrowser.open(report.page.resolve().as_uri())
        say("")
        _title("2. The algorithms of the paper, on two small sets")
    _run_paper(directory, jobs, as_json, report)


def demo_report(directory: Path) -> DemoReport:
    """Write a table of patients, train on a part of it, and write the report of the rest: the one page of the demo."""
    from vrspam.tool import evaluate, load_model, save_model, train
    from vrspam.tool.evaluation import score_rows
    from vrspam.tool.pages import evaluation_page

    training, held_out = write_table(directory)
    model_path, page = directory / f"{NAME}.json", directory / f"{NAME}.html"
    with warnings_as_lines():
        save_model(train(training, TARGET, POSITIVE), model_path)
        model = load_model(model_path)
        rows = score_rows(model, held_out)
        found = evaluate(model, rows.positive, rows.scores, notes=rows.notes)
        with tempfile.TemporaryDirectory() as folder:
            evaluation_page(
                model,
                found,
                Path(folder),
                model_name=model_path.name,
                data_name=held_out.name,
                parameter=options.as_option,
            ).write(page)
    return DemoReport(page, found, model.training["rows"])


def write_table(directory: Path) -> tuple[Path, Path]:
    """Write scikit-learn's table of breast tumours as two CSV files: rows to train on, and rows that are held out."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    from vrspam._utils.atomic import write_text

    data = load_breast_cancer()
    names = [*map(str, data.feature_names), TARGET]
    labels = [str(data.target_names[label]) for label in data.target]
    lines = [",".join([*(f"{value:g}" for value in row), label]) for row, label in zip(data.data, labels, strict=True)]
    parts = train_test_split(lines, test_size=HELD_OUT, stratify=labels, random_state=0)
    paths = directory / f"{NAME}.csv", directory / f"{NAME}-new.csv"
    for path, part in zip(paths, parts, strict=True):
        write_text(path, "\n".join([",".join(names), *part, ""]))
    return paths


def _describe_report(report: DemoReport, directory: Path) -> None:
    from vrspam.tool.explanation import describe_auc

    found, table = report.found, directory / f"{NAME}.csv"
    tell(
        f"{table.name}: {report.trained_on:,} breast tumours that come with scikit-learn, 30 measurements of each. "
        f"The model learns which are {POSITIVE}, and is tested on {found.n:,} others ({NAME}-new.csv).",
        INDENT,
    )
    interval = f"95 % interval {found.auc.low:.4f} to {found.auc.high:.4f}"
    tell(f"AUC {found.auc.auc:.4f}, {interval}: {describe_auc(found.auc.auc)}.", INDENT)
    say(f"{' ' * INDENT}report   {report.page}")
    tell("with a table of your own:", INDENT)
    say(f"{' ' * INDENT}  vrspam train {table} --target {TARGET} --positive {POSITIVE} --model model.json")
    say(f"{' ' * INDENT}  vrspam evaluate model.json {directory / f'{NAME}-new.csv'} --html report.html")


def _run_paper(directory: Path, jobs: int | None, as_json: bool, report: DemoReport) -> None:
    from vrspam.cli.watching import duration, watching
    from vrspam.experiments.protocol import demo_protocol
    from vrspam.experiments.publish import describe_agreement, publish
    from vrspam.experiments.run import ROWS, run_experiment
    from vrspam.experiments.store import read_all

    start = time.monotonic()
    try:
        with watching(few_lines=True) as watcher:
            done = run_experiment(demo_protocol(), directory, n_jobs=jobs, skip_missing=False, watcher=watcher)
    except KeyboardInterrupt:
        warn("vrspam: stopped; the same command goes on from here")
        raise typer.Exit(INTERRUPTED) from None
    written = publish(directory)
    if as_json:
        files = {"example": [report.page], **written}
        print_json({kind: [str(path) for path in paths] for kind, paths in files.items()})
    else:
        again = f", {done.skipped} had been done before" if done.skipped else ""
        tell(f"{done.done} runs in {duration(time.monotonic() - start)}{again}.", INDENT)
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
