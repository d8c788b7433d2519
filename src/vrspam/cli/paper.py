"""The commands of the paper: `reproduce`, `publish`, `datasets`, `theory`, and `demo`, which begins with a report."""

from __future__ import annotations

import os
import shlex
import sys
import time
import webbrowser
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from vrspam._utils.findings import Finding, text_of
from vrspam._utils.messages import require
from vrspam._utils.progress import StatusLine, is_terminal
from vrspam.cli import app
from vrspam.cli.typed import typed
from vrspam.tool.plan import PANELS, check_option, positive_number, read_names, share

if TYPE_CHECKING:
    from vrspam.paper.protocol import Protocol, Run
    from vrspam.paper.run import Experiment, Outcome

NAME, TARGET, POSITIVE = "breast-cancer", "diagnosis", "malignant"  # the table of the demo
INDENT = 3

Scaling = Literal["published", "standardised", "standardized", "unit-rows"]  # two are the same, see `usual_spelling`
Out = Annotated[Path, typer.Option("--out", help="The directory to write everything to.")]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", min=1, help="Number of processes; by default one for each core.", metavar="<int>"),
]


def reproduce(
    sets: Annotated[
        str | None, typer.Option(help="Data sets, separated by commas; by default all in the paper's table.")
    ] = None,
    runs: Annotated[
        int, typer.Option(min=1, help="Random splits into a training and a test part.", metavar="<int>")
    ] = 20,
    directory: Out = Path("vrspam-results"),
    cv: Annotated[
        Literal["exact", "own"],
        typer.Option(help="Which solver the cross-validation uses: the exact one, or each algorithm its own (slow)."),
    ] = "exact",
    scaling: Annotated[
        Scaling,
        typer.Option(help="The features: published (as they are), standardised or unit-rows.", metavar="<name>"),
    ] = "published",
    algorithms: Annotated[str | None, typer.Option(help="Algorithms, separated by commas; by default all.")] = None,
    jobs: Jobs = None,
    as_json: app.AsJson = False,
) -> None:
    """Repeat the paper's experiments: its table, its figures, one report.

    You can stop it at any moment (Ctrl-C, kill, power cut): the same command continues where it stopped.

    Example:  vrspam reproduce --sets diabetes,german --runs 20 --out results
    """
    _require_all(directory)
    from vrspam.paper.protocol import paper_protocol

    with app.misuse():
        chosen, wanted = (
            None if names is None else tuple(dict.fromkeys(map(str.strip, read_names(names))))
            for names in (sets, algorithms)
        )
    try:
        protocol = paper_protocol(runs=runs, cv=cv, scaling=scaling, **({"sets": chosen} if chosen else {}))
        protocol = protocol.with_algorithms(wanted) if wanted else protocol
    except ValueError as error:
        raise typer.BadParameter(text_of(error, typed)) from error
    done, words, written = _run(protocol, directory, jobs, skip_missing=chosen is None)
    if not as_json:
        app.say(words)
    _print_written(written, as_json, failed=done.failed)


def publish(
    directory: Annotated[
        Path, typer.Argument(help="A directory that `vrspam demo` or `vrspam reproduce` has written.")
    ],
    as_json: app.AsJson = False,
) -> None:
    """Write table, figures and report of the experiments again from stored results, without running anything.

    Example:  vrspam publish vrspam-results
    """
    _require_all()
    from vrspam.paper.publish import publish as publish_results

    with app.warnings_as_lines():
        written = publish_results(directory)
    _print_written(written, as_json)


def datasets(as_json: app.AsJson = False) -> None:
    """List the data sets known by name, with their size and where each would be read from.

    A set is read from the directory that VRSPAM_DATA names, else from the user's cache, else downloaded on first use.

    Example:  vrspam datasets --json
    """
    from vrspam.data import available

    rows = available()
    if as_json:
        app.print_json(rows)
        return
    lines = []
    for row in rows:
        share = f"{row['positives'] / row['n']:.1%}" if row["positives"] is not None else ""
        sizes = (f"{row['n']:,}", f"{row['d']:,}", share)
        lines.append([row["name"], *sizes, "yes" if row["paper"] else "", row["where"], row["title"]])
    names = ("name", "rows", "features", "positive", "paper", "from", "what it is")
    app.show_table(names, lines, texts=(0, 4, 5, 6))


@app.with_options(
    *("target", "positive", "drop", "include", "categorical", "max_categories", "dates", *app.READING, "skip_errors"),
    panels=PANELS,
)
def theory(
    data: app.Data,
    l2: Annotated[
        float | None, typer.Option(help="The penalty, the paper's β; by default that of AUCClassifier.")
    ] = None,
    theta: Annotated[float, typer.Option(help="Step size, as a fraction of the largest proven one.")] = 0.5,
    epsilon: Annotated[float, typer.Option(help="Accuracy to reach, relative to the start.")] = 1e-6,
    raw: Annotated[bool, typer.Option("--raw", help="Do not standardise the features.", metavar="")] = False,
    as_json: app.AsJson = False,
    **given: Any,
) -> None:
    """Compute the constants and rates of the paper for a file: as printed, sharpened, and from the rows themselves.

    Example:  vrspam theory patients.csv --target sick --theta 0.5
    """
    require("data", "pyarrow")
    with app.misuse():
        check_option("theta", theta, share)
        check_option("epsilon", epsilon, share)
        check_option("l2", l2, positive_number)
    plan = app.plan_of(data, given)
    from scipy.sparse import issparse

    from vrspam import AUCClassifier, ClassMoments
    from vrspam.checks.diagnose import merged
    from vrspam.checks.unlabelled import describe_unlabelled
    from vrspam.paper.rates import describe
    from vrspam.tool.model import Scaling
    from vrspam.tool.table import open_labelled

    with app.warnings_as_lines():
        opened = open_labelled(data, plan)
        rows, labels = opened.load_rows()
        findings: list[Finding] = [*opened.notes]
        if opened.unlabelled:
            findings.append(describe_unlabelled(opened.unlabelled, labels.size))
        app.show_worries(None, merged(findings))
        X = opened.encode(rows)
        if not raw:
            moments = ClassMoments(X.shape[1], classes=[False, True], scatter=False).update(X, labels)
            X = Scaling.of(moments, issparse(X))(X)
        fitted = AUCClassifier("auto" if l2 is None else l2).fit(X, labels)
        coef = fitted.coef_[0] if fitted.coef_.any() else None
        table = describe(X, labels, fitted.l2_, theta=theta, epsilon=epsilon, coef=coef)
    if as_json:
        app.print_json({name: None if value != value else value for name, value in table.items()})
    else:
        for line in str(table).split("\n"):
            app.say(line)


def demo(
    directory: Out = Path("vrspam-demo"),
    jobs: Jobs = None,
    no_browser: Annotated[
        bool,
        typer.Option("--no-browser", help="Do not open the report in a browser; on a terminal it opens.", metavar=""),
    ] = False,
    as_json: app.AsJson = False,
) -> None:
    """Show what vrspam does: a table goes in and a report comes out; then all algorithms of the paper on two sets.

    The tables come with scikit-learn. Takes about a minute.

    Example:  vrspam demo --out /tmp/demo
    """
    _require_all(directory)
    from vrspam._utils.texts import auc_text, interval_text
    from vrspam.paper.protocol import demo_protocol
    from vrspam.paper.run import start_early
    from vrspam.report.pages.report import report_page
    from vrspam.report.words.auc import describe_auc
    from vrspam.tool.report import make_report

    start_early()
    directory.mkdir(parents=True, exist_ok=True)
    if not as_json:
        app.out.print("1. A table goes in, a report comes out", style="bold", markup=False)
    table, page = write_table(directory), directory / f"{NAME}.html"
    again = shlex.join(["vrspam", "report", str(table), "--target", TARGET, "--positive", POSITIVE, "--html"])
    with app.warnings_as_lines():
        report = make_report(table, TARGET, POSITIVE, progress=app.err.is_terminal)
        report_page(report, data_name=table.name, parameter=typed, command=f"{again} {shlex.quote(str(page))}").write(
            page
        )
    if not as_json:
        expected = report.expected
        app.tell(
            f"{table.name}: {report.evaluation.n:,} breast tumours that come with scikit-learn, 30 measurements of "
            f"each. The model learns which are {POSITIVE}; each is scored by a model that has not seen it.",
            INDENT,
        )
        interval = f"95 % interval {interval_text(expected.low, expected.high, 4)}"
        app.tell(f"AUC {auc_text(expected.auc, 4)}, {interval}: {describe_auc(expected.auc)}.", INDENT)
        app.say(f"{' ' * INDENT}report   {page}")
        app.tell("with a table of your own:", INDENT)
        app.say(f"{' ' * INDENT}  {again} report.html")
        if not no_browser and _has_screen():
            webbrowser.open(page.resolve().as_uri())
        app.say("")
        app.out.print("2. The algorithms of the paper, on two small sets", style="bold", markup=False)
    done, words, written = _run(demo_protocol(), directory, jobs, few_lines=True)
    if as_json:
        written = {"example": [page], **written}
    else:
        app.tell(f"{words}.", INDENT)
        _describe_runs(directory)
    _print_written(written, as_json, INDENT, done.failed)


def _run(
    protocol: Protocol, directory: Path, jobs: int | None, *, skip_missing: bool = False, few_lines: bool = False
) -> tuple[Experiment, str, dict[str, list[Path]]]:
    """Do the runs of a protocol and publish them; return what was done, the same in words, and the files."""
    from vrspam.paper.publish import publish
    from vrspam.paper.run import run_experiment

    start = time.monotonic()
    try:
        status: Any = StatusLine("", transient=True) if app.err.is_terminal else nullcontext()
        with status as line:
            watcher = RunDisplay(line, few_lines=few_lines)
            done = run_experiment(protocol, directory, n_jobs=jobs, skip_missing=skip_missing, watcher=watcher)
    except KeyboardInterrupt:
        app.warn("vrspam: stopped; the same command goes on from here")
        raise typer.Exit(app.INTERRUPTED) from None
    again = f", {done.skipped} had been done before" if done.skipped else ""
    words = f"{done.done} runs in {duration(time.monotonic() - start)}{again}"
    with app.warnings_as_lines():
        return done, words, publish(directory)


def _print_written(written: dict[str, list[Path]], as_json: bool, margin: int = 0, failed: Sequence[Any] = ()) -> None:
    """Print the files that were written; where runs failed, say so and end with the exit code 1."""
    if as_json:
        app.print_json({kind: [str(path) for path in paths] for kind, paths in written.items()})
    for kind, path in ((kind, path) for kind, paths in written.items() for path in paths if not as_json):
        if path.suffix != ".svg":
            app.say(f"{' ' * margin}{kind:8} {path}")
    if failed:
        app.warn(f"vrspam: {len(failed)} runs failed: the report lists them, and the same command tries them again")
        raise typer.Exit(1)


def _require_all(directory: Path | None = None) -> None:
    """Refuse to begin without the extras, or with the name of a file as the directory to write to."""
    require("data", "pyarrow")
    require("plots", "matplotlib")
    if directory is not None and directory.exists() and not directory.is_dir():
        raise typer.BadParameter(f"{directory} is a file: give the name of a directory", param_hint="--out")


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
        app.tell("test AUC, mean over the runs:", INDENT)
        app.show_table(["algorithm", *sets], lines, margin=INDENT + 2)
        app.tell(
            "L2 and NET: the penalty; exact: the optimum itself; accelerated: a faster variant of VRSPAM", INDENT + 2
        )
    app.tell(f"Does VRSPAM, the paper's algorithm, reach the optimum? {describe_agreement(rows)}", INDENT)


def _has_screen() -> bool:
    """Whether a person sits at an interactive terminal with a screen that a browser can open on."""
    if not (is_terminal(sys.stdin) and is_terminal(sys.stdout)) or os.environ.get("SSH_CONNECTION"):
        return False
    return sys.platform in ("win32", "darwin") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))


class RunDisplay:
    """A line for each run that has ended; with a `StatusLine` it is redrawn, and only failures and messages stay.

    With `few_lines` the runs are not named, and without a `StatusLine` there is one line for each quarter of them.
    """

    def __init__(self, line: StatusLine | None = None, *, few_lines: bool = False):
        self.line, self.few_lines = line, few_lines

    def start(self, todo: list[Run], done: int) -> None:
        from vrspam.paper.protocol import cost

        self.cost, self.to_do, self.worked, self.begun = cost, sum(map(cost, todo)), 0.0, time.monotonic()
        self.number, self.total = done, done + len(todo)
        if done:
            self.message(f"{done} of {self.total} runs are there already")

    def step(self, outcome: Outcome) -> None:
        self.number += 1
        self.worked += self.cost(outcome.run)
        to_do, left = max(self.to_do - self.worked, 0.0), ""  # every run counts by its guessed cost
        if self.worked >= 0.03 * to_do:  # before, the start-up of the processes would mislead
            left = f", {duration((time.monotonic() - self.begun) * to_do / self.worked)} left"
        run, auc = outcome.run, "" if outcome.auc is None else f" AUC {outcome.auc:.4f}"
        ended = f" FAILED: {outcome.message}" if outcome.message else f"{auc} ({outcome.seconds:.1f} s)"
        text = f"{self.number}/{self.total}  {run.set} {run.algorithm} {run.task} {run.split}{ended}{left}"
        short = f"{self.number} of {self.total} runs are done{left}"
        if self.line:
            self.line.show(short if self.few_lines else text, self.number, self.total)
        quarter = self.total // 4 or 1
        if outcome.message or (self.line is None and not self.few_lines):
            self.message(text)
        elif self.line is None and self.number % quarter == 0 and self.number + quarter <= self.total:
            self.message(short)

    def message(self, text: str) -> None:
        if self.line:
            self.line.message(text)
        else:
            app.warn(text)


def duration(seconds: float) -> str:
    """A time in words.

    >>> duration(42), duration(200), duration(8000)
    ('42 s', '3 min', '2 h 13 min')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"
