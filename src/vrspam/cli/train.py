"""`vrspam train`: from a file to a model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vrspam._utils.choices import SELECTION_RULES
from vrspam._utils.collector import without_collector
from vrspam._utils.messages import require
from vrspam.cli import options, training
from vrspam.cli.options import err, in_options, print_json, say, warn, warnings_as_lines
from vrspam.cli.tables import show_facts, show_table, tell

if TYPE_CHECKING:
    from vrspam.tool import Model


STRONGEST = 10


def register(app: typer.Typer) -> None:
    app.command("train")(train)


def train(
    context: typer.Context,
    data: options.Data,
    target: options.Target = None,
    positive: options.Positive = None,
    model: Annotated[Path, typer.Option(help="The file to write the model to.")] = Path("model.json"),
    html: training.ReportOut = None,
    by: training.By = None,
    rows: training.SingleRows = 10,
    cost_ratio: options.CostRatio = None,
    l1: training.L1 = "0",
    penalty: training.PenaltyKind = training.Penalty.elasticnet,
    loss: training.LossKind = training.Loss.squared,
    features: training.FeatureKind = None,
    max_fpr: options.MaxFpr = None,
    calibration: training.CalibrationKind = training.Calibrate.sigmoid,
    drop: options.Drop = None,
    include: options.Include = None,
    categorical: options.Categorical = None,
    max_categories: options.MaxCategories = 1000,
    dates: training.DateKind = training.Dates.features,
    weights: options.Weights = None,
    groups: training.Groups = None,
    time: training.Time = None,
    selection: training.Selection = SELECTION_RULES[0],
    jobs: training.Jobs = None,
    folds: training.Folds = 5,
    seed: training.Seed = 0,
    streaming: training.Streaming = False,
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

    Example:  vrspam train patients.csv --target sick --html report.html

    Example:  vrspam train patients.csv --target sick --features additive

    Example:  vrspam train patients.csv --target sick --max-fpr 0.1

    Example:  vrspam train visits.xlsx --target readmitted --groups patient

    Example:  vrspam train "part-*.parquet" --target churned --l1 auto --drop signup,notes

    Example:  vrspam train clicks.libsvm.gz --zero-based --streaming --model clicks.json
    """
    require("data", "pyarrow")
    options.check_output("--model", model, data)
    options.check_output("--html", html, data, model)
    options.check_positive("--cost-ratio", cost_ratio)
    if html is None:
        training.check_no_page(context)
    opening: dict[str, Any] = {"weights": weights, "groups": groups, "time": time, "dates": dates.value}
    opening |= {"drop": drop or (), "include": include or (), "categorical": categorical or ()}
    opening |= {"format": format, "delimiter": delimiter, "encoding": encoding, "zero_based": zero_based}
    opening |= {"max_categories": max_categories, "skip_errors": skip_errors, "streaming": streaming}
    plan = training.plan_of(
        data,
        target,
        opening,
        l1=l1,
        penalty=penalty,
        loss=loss,
        features=features,
        max_fpr=max_fpr,
        calibration=calibration,
        selection=selection,
        n_jobs=jobs,
        n_splits=folds,
        seed=seed,
        private=private,
    )
    with without_collector():
        import vrspam.kernels  # noqa: F401 (with its compiler: any fit needs it)
        from vrspam.tool.modelfile import save_model
        from vrspam.tool.training import fit_file

    with warnings_as_lines():
        opening["progress"] = err.is_terminal
        wanted = None if html is None else by or ()
        found = fit_file(data, target, positive, plan, fingerprint=not no_fingerprint, by=wanted, **opening)
        trained = found.model
        if html is not None:
            from vrspam.tool.report import report_of

            report = report_of(found, by=by or (), rows=0 if private else rows, cost_ratio=cost_ratio)
            training.write_report(report, html, data, context)
        save_model(trained, model)
    if as_json:
        facts = {**trained.training, "warnings": _warnings(trained)}
        print_json({"model": str(model), "positive": trained.positive, **facts})
    else:
        _describe(trained, model)
        if html is not None:
            say(f"report               {html}")


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
    for note in _warnings(model):
        warn(f"warning: {note}")
    written = [("written to", str(path))]
    if facts["rows_held"]:
        held = f"{facts['rows_held']:,} rows of the table"
        written.append(("", f"it tells the values of {held}; --private keeps rows out"))
    show_facts(written)


def _warnings(model: Model) -> list[str]:
    """What to worry about, in options, an AUC that may be that of guessing first."""
    from vrspam.tool.explanation import doubt_of, expected_auc

    expected = expected_auc(model)
    doubt = [] if expected is None else doubt_of(expected.low, expected.high)
    return [in_options(note) for note in [*doubt, *model.training["warnings"]]]


def _penalty(facts: Mapping[str, Any]) -> str:
    """The penalties that the folds have chosen, and what they do."""
    from vrspam.tool.explanation import OWN_PENALTIES

    if facts["map"] == "stacked":
        return OWN_PENALTIES
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
