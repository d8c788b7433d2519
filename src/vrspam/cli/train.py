"""`vrspam train`: from a file to a model."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vrspam._utils.choices import SELECTION_RULES
from vrspam._utils.messages import require
from vrspam.cli import options
from vrspam.cli.options import err, in_options, print_json, say, warn, warnings_as_lines
from vrspam.cli.tables import show_facts, show_table, tell

if TYPE_CHECKING:
    from vrspam.tool import Model


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


STRONGEST = 10


def register(app: typer.Typer) -> None:
    app.command("train")(train)


def train(
    data: options.Data,
    target: options.Target = None,
    positive: options.Positive = None,
    model: Annotated[Path, typer.Option(help="The file to write the model to.")] = Path("model.json"),
    l1: Annotated[
        str,
        typer.Option(
            help="The penalty that leaves features out: numbers to try, separated by commas, or 'auto' to search."
        ),
    ] = "0",
    penalty: Annotated[
        Penalty,
        typer.Option(help="How --l1 acts: mcp and scad leave features out without shrinking the others."),
    ] = Penalty.elasticnet,
    loss: Annotated[
        Loss,
        typer.Option(
            help="What a pair of rows costs: squared, or squared_hinge, which does not count pairs that are ranked "
            "right by more than the margin (not with --streaming)."
        ),
    ] = Loss.squared,
    features: Annotated[
        Features | None,
        typer.Option(
            help="Straight lines (linear), a smooth curve for each column (additive), curves and interactions "
            "(kernel), interactions of random trees (trees), or a blend of all of these (auto). By default auto; "
            "linear with --streaming, with --l1, and for more than 1,000 features.",
            show_default=False,
        ),
    ] = None,
    max_fpr: options.MaxFpr = None,
    calibration: Annotated[
        Calibrate, typer.Option(help="How scores become probabilities; isotonic needs thousands of rows.")
    ] = Calibrate.sigmoid,
    drop: options.Drop = None,
    include: options.Include = None,
    categorical: options.Categorical = None,
    max_categories: options.MaxCategories = 1000,
    dates: Annotated[
        Dates,
        typer.Option(help="Whether dates become features (position in time, month, weekday, hour) or are left out."),
    ] = Dates.features,
    weights: options.Weights = None,
    groups: Annotated[
        str | None,
        typer.Option(
            help="A column of groups that folds keep together, such as the patient of repeated visits.",
            show_default=False,
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            help="A column of times or dates: each fold is trained on earlier rows and tested on later ones.",
            show_default=False,
        ),
    ] = None,
    selection: Annotated[
        str,
        typer.Option(
            help=f"How the penalty and the features are chosen by the folds: {', '.join(SELECTION_RULES)}.",
            metavar="<rule>",
        ),
    ] = SELECTION_RULES[0],
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Folds that are computed at the same time; by default one.", show_default=False),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Number of folds of the cross-validation.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random numbers that draw the folds.")] = 0,
    streaming: Annotated[
        bool,
        typer.Option("--streaming", help="For files larger than memory: read the file block by block, several times."),
    ] = False,
    private: Annotated[
        bool,
        typer.Option(
            "--private",
            help="Hold no row of the table in the model file: interactions then rank a little worse.",
        ),
    ] = False,
    no_fingerprint: Annotated[
        bool,
        typer.Option(
            "--no-fingerprint",
            help="Keep no hashes of training rows in the model; evaluate then cannot tell the training file.",
        ),
    ] = False,
    format: options.FileFormat = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    zero_based: options.ZeroBased = None,
    skip_errors: options.SkipErrors = False,
    as_json: options.AsJson = False,
) -> None:
    """Train a model on a file and write it to a model file.

    Text columns become categories, and all features are standardised.
    Text that is numbers is read as numbers, and dates become features.
    Cross-validation chooses straight lines, curves or interactions, and the penalty.
    Columns that look like identifiers are left out.
    Warnings say what looks wrong with the data.

    Example:  vrspam train patients.csv --target sick --positive yes --model patients.json

    Example:  vrspam train patients.csv --target sick --features additive

    Example:  vrspam train patients.csv --target sick --max-fpr 0.1

    Example:  vrspam train visits.xlsx --target readmitted --groups patient

    Example:  vrspam train "part-*.parquet" --target churned --l1 auto --drop signup,notes

    Example:  vrspam train clicks.libsvm.gz --zero-based --streaming --model clicks.json
    """
    require("data", "pyarrow")
    from vrspam.tool.modelfile import save_model
    from vrspam.tool.training import check_folds, check_penalty, check_straight, check_sums
    from vrspam.tool.training import train as train_model

    if streaming:
        with options.misuse_of("--features"):
            check_straight(None if features is None else features.value)
        with options.misuse_of("--loss"):
            check_sums(loss.value)
    options.check_max_fpr(max_fpr)
    options.check_output("--model", model, data)
    grid = _l1(l1)
    with options.misuse_of("--penalty"):
        check_penalty(penalty.value, grid)
    columns = {"weights": weights, "groups": groups, "time": time}
    with options.misuse_of("--weights, --groups, --time"):
        check_folds(columns, streaming, max_fpr)
    if selection not in SELECTION_RULES:
        known = ", ".join(SELECTION_RULES)
        raise typer.BadParameter(f"{selection!r} is none of {known}", param_hint="--selection")
    read = {"format": format, "delimiter": delimiter, "encoding": encoding, "zero_based": zero_based}
    if target is None:
        options.ask_for_target(data, read)
    with warnings_as_lines():
        trained = train_model(
            data,
            target,
            positive,
            l1=grid,
            penalty=penalty.value,
            loss=loss.value,
            features=None if features is None else features.value,
            max_fpr=max_fpr,
            calibration=calibration.value,
            n_splits=folds,
            seed=seed,
            streaming=streaming,
            private=private,
            say=lambda stage: warn(f"{stage} ..."),
            progress=err.is_terminal,
            max_categories=max_categories,
            skip_errors=skip_errors,
            drop=drop or (),
            include=include or (),
            categorical=categorical or (),
            dates=dates.value,
            selection=selection,
            n_jobs=jobs,
            fingerprint=not no_fingerprint,
            **columns,
            **read,
        )
        save_model(trained, model)
    if as_json:
        facts = {**trained.training, "warnings": [in_options(note) for note in trained.training["warnings"]]}
        print_json({"model": str(model), "positive": trained.positive, **facts})
    else:
        _describe(trained, model)


def _l1(text: str) -> Any:
    if text.strip() == "auto":
        return "auto"
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is neither 'auto' nor numbers", param_hint="--l1") from error
    if not all(0.0 <= value < float("inf") for value in values):
        raise typer.BadParameter("the numbers must not be negative", param_hint="--l1")
    return values


def _describe(model: Model, path: Path) -> None:
    from vrspam.tool.explanation import (
        NOT_CORRECTED,
        describe_accuracy,
        describe_auc,
        describe_model,
        describe_size,
        expected_auc,
        find_strongest,
    )

    facts = model.training
    share = facts["positives"] / facts["rows"]
    name = f"{model.schema.target} = " if model.schema.target else ""
    balance = f"{facts['positives']:,} positive ({share:.2%}: {name}{model.positive})"
    shown = [("rows", f"{facts['rows']:,}, of which {balance}")]
    if (expected := expected_auc(model)) is not None:
        interval = f"95 % interval {expected.low:.4f} to {expected.high:.4f}"
        shown.append(("cross-validated AUC", f"{expected.auc:.4f}, {interval} ({facts['folds']} folds)"))
        shown += [("", expected.remark), ("", describe_auc(expected.auc))]
    if "max_fpr" in facts:
        interval = f"{facts['cv_partial_auc_low']:.4f} to {facts['cv_partial_auc_high']:.4f}"
        part = f"up to {100 * facts['max_fpr']:g} % false positives, standardised"
        shown.append(("partial AUC", f"{facts['cv_partial_auc']:.4f}, 95 % interval {interval} ({part})"))
        shown.append(("", f"{NOT_CORRECTED}, which was made by it"))
    shown.append(("model", describe_model(model)))
    if facts["loss"] != "squared":
        shown.append(("loss", facts["loss"]))
    shown += [("penalty", _penalty(facts)), ("certificate", describe_accuracy(facts) or "")]
    show_facts(shown)
    _show_candidates(facts)
    say("")
    what = "features" if model.features is None else "columns"
    tell(f"strongest {what}: {describe_size(model)}")
    sign = "+" if model.shapes is None else ""
    found = find_strongest(model, STRONGEST)
    show_table([what[:-1], "size"], [[feature, f"{effect:{sign}.4f}"] for feature, effect in found], margin=2)
    say("")
    for note in facts["warnings"]:
        warn(f"warning: {in_options(note)}")
    written = [("written to", str(path))]
    if facts["rows_held"]:
        held = f"{facts['rows_held']:,} rows of the table"
        written.append(("", f"it tells the values of {held}; --private keeps rows out"))
    show_facts(written)


def _penalty(facts: Mapping[str, Any]) -> str:
    """The penalties that the folds have chosen, and what they do."""
    if facts["map"] == "stacked":
        return "each model of the blend has its own, chosen by the folds"
    kind = "" if facts["penalty"] == "elasticnet" else f"{facts['penalty']}, "
    used = "keeps coefficients small; chosen by the folds"
    if facts["l1"]:
        used = "l2 keeps coefficients small, l1 sets some to 0; chosen by the folds"
    return f"{kind}l2 = {facts['l2']:.3g}, l1 = {facts['l1']:.3g} ({used})"


def _show_candidates(facts: Mapping[str, Any]) -> None:
    """The models that were compared, if there were several."""
    from vrspam.tool.explanation import describe_candidate, describe_part

    if len(facts["selection"]) < 2:
        return
    measure = "partial AUC" if "max_fpr" in facts else "AUC"
    say("")
    tell(f"models compared: mean {measure} of the folds ± standard error")
    rows = [
        [
            describe_candidate(row["features"]),
            f"{row.get('score', row['auc']):.4f} ± {row['standard_error']:.4f}",
            describe_part(row, facts["rows"]),
        ]
        for row in facts["selection"]
    ]
    show_table(["model", measure, "taken"], rows, texts=(0, 2), margin=2)
    names = [row["features"] for row in facts["selection"]]
    if any(name.startswith(("kernel", "trees")) for name in names):
        tell("width: how far apart two rows may lie and still count as alike; depth: how often a tree asks", margin=2)
