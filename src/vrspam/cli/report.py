"""`vrspam report`: from a table to one page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vrspam._utils.choices import SELECTION_RULES
from vrspam._utils.collector import without_collector
from vrspam._utils.messages import require
from vrspam.cli import options, paper, training
from vrspam.cli.options import err, in_options, print_json, say, warn, warnings_as_lines

if TYPE_CHECKING:
    from vrspam.tool.report import Report


def register(app: typer.Typer) -> None:
    app.command("report")(report)


def report(
    context: typer.Context,
    data: options.Data,
    target: options.Target = None,
    positive: options.Positive = None,
    html: Annotated[Path, typer.Option("--html", help="The page to write.")] = Path("report.html"),
    holdout: Annotated[
        float | None,
        typer.Option(
            help="Keep this share of the rows from the training and judge by them, like 0.3; by default every row is "
            "judged by cross-validation.",
            show_default=False,
        ),
    ] = None,
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
    format: options.FileFormat = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    zero_based: options.ZeroBased = None,
    skip_errors: options.SkipErrors = False,
    as_json: options.AsJson = False,
) -> None:
    """Make one page of a table: what predicts the target, how well, and which threshold to take.

    The page needs no other file and no network, and can be mailed.
    A model is trained as by `vrspam train`; every row is judged by a model that was trained without it.
    The reader moves a threshold and sees what follows from it.

    Example:  vrspam report patients.csv --target sick --html report.html

    Example:  vrspam report patients.csv --target sick --by sex,clinic --cost-ratio 10

    Example:  vrspam report visits.xlsx --target readmitted --groups patient --holdout 0.3
    """
    if target is None and Path(data).is_dir():
        paper.publish(Path(data), as_json)
        return warn(f"note: results of experiments are now published by  vrspam publish {data}")
    require("data", "pyarrow")
    options.check_output("--html", html, data)
    options.check_positive("--cost-ratio", cost_ratio)
    opening: dict[str, Any] = {"weights": weights, "groups": groups, "time": time, "dates": dates.value}
    opening |= {"drop": drop or (), "include": include or (), "categorical": categorical or ()}
    opening |= {"format": format, "delimiter": delimiter, "encoding": encoding, "zero_based": zero_based}
    opening |= {"max_categories": max_categories, "skip_errors": skip_errors, "streaming": streaming}
    with without_collector():
        from vrspam.tool.report import check_holdout, make_report

    with options.misuse_of("--holdout"):
        check_holdout(holdout, streaming)
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
    )
    with warnings_as_lines():
        found = make_report(
            data,
            target,
            positive,
            plan=plan,
            holdout=holdout,
            by=by or (),
            rows=rows,
            cost_ratio=cost_ratio,
            progress=err.is_terminal,
            **opening,
        )
        training.write_report(found, html, data, context)
    if as_json:
        print_json(_numbers(found, html))
    else:
        _describe(found, html)


def _numbers(found: Report, html: Path) -> dict[str, object]:
    """All numbers of the page under flat keys, for scripts."""
    expected, groups = found.expected, []
    for group in found.groups:
        plain = {name: value for name, value in vars(group).items() if name not in ("auc", "worse")}
        interval = {} if group.auc is None else {name: getattr(group.auc, name) for name in ("auc", "low", "high")}
        groups.append({**plain, **interval})
    return {
        "page": str(html),
        "expected_auc": expected.auc,
        "expected_auc_low": expected.low,
        "expected_auc_high": expected.high,
        "judged_by": "holdout" if found.folds is None else "cross-validation",
        **found.evaluation.flat(),
        "groups": groups,
        "left_out": list(found.left_out),
        "warnings": _warnings(found),
    }


def _warnings(found: Report) -> list[str]:
    """What to worry about, in options."""
    from vrspam.tool.explanation import doubt_of

    notes = [in_options(note) for note in found.model.training["warnings"]]
    return [*doubt_of(found.expected.low, found.expected.high), *notes]


def _describe(found: Report, html: Path) -> None:
    expected, evaluation = found.expected, found.evaluation
    share = evaluation.positives / evaluation.n
    how = "kept from the training" if found.folds is None else f"{found.folds} folds"
    say(f"AUC      {expected.auc:.4f}, 95 % interval {expected.low:.4f} to {expected.high:.4f}")
    say(f"         {expected.remark}")
    say(f"judged   {evaluation.n:,} rows ({how}), of which {evaluation.positives:,} positive ({share:.2%})")
    for group in found.groups:
        if group.ranked_differently or group.predicted_wrongly:
            say(f"group    {group.column} = {group.name} differs from the other rows by more than noise")
    for note in _warnings(found):
        warn(f"warning: {note}")
    say(f"page     {html}")
