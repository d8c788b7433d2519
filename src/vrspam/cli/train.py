"""`vrspam train` and `vrspam report`: from a file to a model, and to a page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vrspam._utils.messages import require
from vrspam.cli import options
from vrspam.cli.options import (
    in_options,
    print_json,
    say,
    show_facts,
    show_table,
    tell,
    warn,
    warnings_as_lines,
    with_options,
)
from vrspam.tool.plan import OPTIONS, PAGE, PANELS, ReportPlan, declared, flag_of, options_of

if TYPE_CHECKING:
    from vrspam.tool import Model, Report


@with_options(*options_of(ReportPlan, "train"), panels=PANELS)
def train(
    context: typer.Context,
    data: options.Data,
    model: Annotated[Path, typer.Option(help="The file to write the model to.")] = Path("model.json"),
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            help="Write the page of `vrspam report`: each row is scored by a model trained without it.",
            rich_help_panel=PAGE,
            show_default=False,
        ),
    ] = None,
    as_json: options.AsJson = False,
    **given: Any,
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
    if html is None:
        for name in (name for name in OPTIONS if declared(name)[1].panel == PAGE):
            source = context.get_parameter_source(name)
            if source is not None and source.name == "COMMANDLINE":
                raise options.Misuse(f"{flag_of(name)} is about the report: name its file with --html")
    plan = options.plan_of(data, given)
    from vrspam.tool.modelfile import save_model
    from vrspam.tool.training import fit_file

    with warnings_as_lines():
        found = fit_file(data, plan, by=None if html is None else plan.by)
        trained = found.model
        if html is not None:
            from vrspam.tool.report import report_of

            rows = 0 if plan.private else plan.rows
            report = report_of(found, by=plan.by, rows=rows, cost_ratio=plan.cost_ratio)
            write_report(report, html, data, context)
        save_model(trained, model)
    if as_json:
        facts = {**trained.training, "warnings": _warnings(trained)}
        print_json({"model": str(model), "positive": trained.positive, **facts})
    else:
        _describe(trained, model)
        if html is not None:
            say(f"report               {html}")


def write_report(report: Report, html: Path, data: str, context: typer.Context) -> None:
    """Write the page, with the command that makes it again."""
    from vrspam.report.sections import report_page

    report_page(
        report,
        data_name="standard input" if data == "-" else Path(data).name,
        parameter=options.as_option,
        command=options.command_line(context),
    ).write(html)


def _describe(model: Model, path: Path) -> None:
    from vrspam.model.drawing import find_strongest
    from vrspam.report.words import (
        NOT_CORRECTED,
        describe_auc,
        describe_fit,
        describe_model,
        describe_penalty,
        describe_rows_held,
        describe_size,
        expected_auc,
    )

    facts = model.training
    share = facts["positives"] / facts["rows"]
    name = f"{model.schema.target} = " if model.schema.target else ""
    balance = f"{facts['positives']:,} positive ({share:.2%}: {name}{model.positive})"
    shown = [("rows", f"{facts['rows']:,}, of which {balance}")]
    if (expected := expected_auc(model)) is not None:
        interval = f"95 % interval {expected.low:.4f} to {expected.high:.4f}"
        shown.append(("AUC to expect", f"{expected.auc:.4f}, {interval} ({facts['folds']} folds)"))
        shown += [("", expected.remark), ("", describe_auc(expected.auc))]
    if "max_fpr" in facts:
        interval = f"{facts['cv_partial_auc_low']:.4f} to {facts['cv_partial_auc_high']:.4f}"
        part = f"up to {100 * facts['max_fpr']:g} % false positives, standardised"
        shown.append(("partial AUC", f"{facts['cv_partial_auc']:.4f}, 95 % interval {interval} ({part})"))
        shown.append(("", NOT_CORRECTED))
    shown.append(("model", describe_model(model)))
    if facts["loss"] != "squared":
        shown.append(("loss", facts["loss"]))
    shown += [("penalty", describe_penalty(facts)), ("fit", (describe_fit(facts) or ("",))[0])]
    show_facts(shown)
    say("")
    what = "features" if model.features is None else "columns"
    tell(f"strongest {what}: {describe_size(model)}")
    sign = "+" if model.shapes is None else ""
    found = find_strongest(model, 10)
    show_table([what[:-1], "size"], [[feature, f"{effect:{sign}.4f}"] for feature, effect in found], margin=2)
    _show_candidates(facts)
    say("")
    for note in _warnings(model):
        warn(f"warning: {note}")
    written = [("written to", str(path))]
    if facts["rows_held"]:
        written.append(("", describe_rows_held(facts["rows_held"])))
    show_facts(written)


def _warnings(model: Model) -> list[str]:
    """What to worry about, in options, an AUC that may be that of guessing first."""
    from vrspam.report.words import doubt_of, expected_auc

    expected = expected_auc(model)
    doubt = [] if expected is None else doubt_of(expected.low, expected.high)
    return [in_options(note) for note in [*doubt, *model.training["warnings"]]]


def _show_candidates(facts: Mapping[str, Any]) -> None:
    """The models that were compared, if there were several."""
    from vrspam.report.words import describe_candidate, describe_folds, describe_part

    if len(facts["selection"]) < 2:
        return
    measure = "partial AUC" if "max_fpr" in facts else "AUC"
    say("")
    tell(f"models compared: mean {measure} of the folds ± standard error")
    rows = [
        [
            describe_candidate(row["features"]),
            describe_folds(row, facts["rows"]),
            describe_part(row, facts["rows"]),
        ]
        for row in facts["selection"]
    ]
    show_table(["model", measure, "taken"], rows, texts=(0, 2), margin=2)


@with_options(*options_of(ReportPlan, "report"), panels=PANELS)
def report(
    context: typer.Context,
    data: options.Data,
    html: Annotated[Path, typer.Option("--html", help="The page to write.", rich_help_panel=PAGE)] = Path(
        "report.html"
    ),
    as_json: options.AsJson = False,
    **given: Any,
) -> None:
    """Make one page of a table: what predicts the target, how well, and which threshold to take.

    The page needs no other file and no network, and can be mailed.
    A model is trained as by `vrspam train`; every row is scored by a model that was trained without it.
    The reader moves a threshold and sees what follows from it.

    Example:  vrspam report patients.csv --target sick --html report.html

    Example:  vrspam report patients.csv --target sick --by sex,clinic --cost-ratio 10

    Example:  vrspam report visits.xlsx --target readmitted --groups patient --holdout 0.3
    """
    if given["target"] is None and Path(data).is_dir():
        from vrspam.cli.paper import publish

        publish(Path(data), as_json)
        return warn(f"note: results of experiments are now published by  vrspam publish {data}")
    require("data", "pyarrow")
    options.check_output("--html", html, data)
    plan = options.plan_of(data, given)
    from vrspam.tool.report import make_report

    with warnings_as_lines():
        found = make_report(data, plan=plan)
        write_report(found, html, data, context)
    if as_json:
        print_json(_numbers(found, html))
    else:
        _describe_report(found, html)


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
        "warnings": _warnings_of(found),
    }


def _warnings_of(found: Report) -> list[str]:
    """What to worry about, in options."""
    from vrspam.report.words import doubt_of

    notes = [in_options(note) for note in found.model.training["warnings"]]
    return [*doubt_of(found.expected.low, found.expected.high), *notes]


def _describe_report(found: Report, html: Path) -> None:
    expected, evaluation = found.expected, found.evaluation
    share = evaluation.positives / evaluation.n
    how = "kept from the training" if found.folds is None else f"{found.folds} folds"
    on = "of these rows" if found.folds is None else "to expect on new rows"
    say(f"AUC      {expected.auc:.4f} {on}, 95 % interval {expected.low:.4f} to {expected.high:.4f}")
    say(f"         {expected.remark}")
    say(f"scored   {evaluation.n:,} rows ({how}), of which {evaluation.positives:,} positive ({share:.2%})")
    for group in found.groups:
        if group.ranked_differently or group.predicted_wrongly:
            say(f"group    {group.column} = {group.name} differs from the other rows by more than chance")
    for note in _warnings_of(found):
        warn(f"warning: {note}")
    say(f"page     {html}")
