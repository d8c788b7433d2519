"""Options and checks of the commands that train a model: `train` and `report`."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vrspam._utils.choices import SELECTION_RULES
from vrspam._utils.collector import without_collector
from vrspam.cli import options
from vrspam.cli.options import in_options, warn

if TYPE_CHECKING:
    from vrspam.tool.fitting import Plan
    from vrspam.tool.report import Report


class Calibrate(StrEnum):
    sigmoid = "sigmoid"
    isotonic = "isotonic"
    none = "none"


class Loss(StrEnum):
    squared = "squared"
    squared_hinge = "squared_hinge"


class Penalty(StrEnum):
    elasticnet = "elasticnet"
    mcp = "mcp"
    scad = "scad"


class Dates(StrEnum):
    features = "features"
    drop = "drop"


class Features(StrEnum):
    linear = "linear"
    additive = "additive"
    kernel = "kernel"
    trees = "trees"
    auto = "auto"


L1 = Annotated[
    str,
    typer.Option(
        help="The penalty that leaves features out: numbers to try, separated by commas, or 'auto' to search."
    ),
]
PenaltyKind = Annotated[
    Penalty, typer.Option(help="How --l1 acts: mcp and scad leave features out without shrinking the others.")
]
LossKind = Annotated[
    Loss,
    typer.Option(
        help="What a pair of rows costs: squared, or squared_hinge, which does not count pairs that are ranked "
        "right by more than the margin (not with --streaming)."
    ),
]
FeatureKind = Annotated[
    Features | None,
    typer.Option(
        help="Straight lines (linear), a smooth curve for each column (additive), curves and interactions "
        "(kernel), interactions of random trees (trees), or a blend of all of these (auto). By default auto; "
        "linear with --streaming, with --l1, and for more than 1,000 features.",
        show_default=False,
    ),
]
CalibrationKind = Annotated[
    Calibrate, typer.Option(help="How scores become probabilities; isotonic needs thousands of rows.")
]
DateKind = Annotated[
    Dates,
    typer.Option(help="Whether dates become features (position in time, month, weekday, hour) or are left out."),
]
Groups = Annotated[
    str | None,
    typer.Option(
        help="A column of groups that folds keep together, such as the patient of repeated visits.",
        show_default=False,
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        help="A column of times or dates: each fold is trained on earlier rows and tested on later ones.",
        show_default=False,
    ),
]
Selection = Annotated[
    str,
    typer.Option(
        help=f"How the penalty and the features are chosen by the folds: {', '.join(SELECTION_RULES)}.",
        metavar="<rule>",
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(min=1, help="Folds that are computed at the same time; by default one.", show_default=False),
]
Folds = Annotated[int, typer.Option(min=2, help="Number of folds of the cross-validation.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the random numbers that draw the folds.")]
Streaming = Annotated[
    bool,
    typer.Option("--streaming", help="For files larger than memory: read the file block by block, several times."),
]
ReportOut = Annotated[
    Path | None,
    typer.Option(
        "--html",
        help="Write a report, one self-contained HTML page: the AUC to expect, curves, a threshold slider, the model, "
        "single rows. Every row is scored by a model that was trained without it.",
        show_default=False,
    ),
]
By = Annotated[
    Any,
    typer.Option(
        help="Columns whose levels the report looks at one by one: AUC, probabilities, size; like sex,clinic.",
        parser=options.parse_column_names,
        metavar="<names>",
        show_default=False,
    ),
]
SingleRows = Annotated[
    int,
    typer.Option(
        min=0,
        help="Rows that the report explains beside the highest, the lowest and the most wrong; 0 shows no row at all.",
    ),
]


def parse_l1(text: str) -> Any:
    if text.strip() == "auto":
        return "auto"
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is neither 'auto' nor numbers", param_hint="--l1") from error
    if not all(0.0 <= value < float("inf") for value in values):
        raise typer.BadParameter("the numbers must not be negative", param_hint="--l1")
    return values


def plan_of(
    data: str,
    target: str | None,
    opening: Mapping[str, Any],
    *,
    l1: str,
    penalty: Penalty,
    loss: Loss,
    features: Features | None,
    max_fpr: float | None,
    calibration: Calibrate,
    selection: str,
    n_jobs: int | None,
    n_splits: int,
    seed: int,
    private: bool = False,
) -> Plan:
    """How a model is to be trained; what cannot be is refused before the file is read."""
    with without_collector():
        from vrspam.tool.fitting import Plan
        from vrspam.tool.training import check_folds, check_penalty, check_straight, check_sums

    if opening["streaming"]:
        with options.misuse_of("--features"):
            check_straight(None if features is None else features.value)
        with options.misuse_of("--loss"):
            check_sums(loss.value)
    options.check_max_fpr(max_fpr)
    grid = parse_l1(l1)
    with options.misuse_of("--penalty"):
        check_penalty(penalty.value, grid)
    with options.misuse_of("--weights, --groups, --time"):
        check_folds(opening, opening["streaming"], max_fpr)
    if selection not in SELECTION_RULES:
        known = ", ".join(SELECTION_RULES)
        raise typer.BadParameter(f"{selection!r} is none of {known}", param_hint="--selection")
    if target is None:
        reading = {name: opening[name] for name in ("format", "delimiter", "encoding", "zero_based")}
        options.ask_for_target(data, reading)
    return Plan(
        l1=grid,
        features=None if features is None else features.value,
        n_splits=n_splits,
        seed=seed,
        say=lambda stage: warn(f"{in_options(stage)} ..."),
        max_fpr=max_fpr,
        loss=loss.value,
        penalty=penalty.value,
        private=private,
        calibration=calibration.value,
        selection=selection,
        n_jobs=n_jobs,
    )


def check_no_page(context: typer.Context) -> None:
    """Refuse options that concern the page where none is to be written."""
    for name, option in (("by", "--by"), ("rows", "--rows"), ("cost_ratio", "--cost-ratio")):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise typer.BadParameter("this is about the report: name its file with --html", param_hint=option)


def write_report(report: Report, html: Path, data: str, context: typer.Context) -> None:
    """Write the page, with the command that makes it again."""
    from vrspam.report.sections import report_page

    report_page(
        report,
        data_name="standard input" if data == "-" else Path(data).name,
        parameter=options.as_option,
        command=options.command_line(context),
    ).write(html)
