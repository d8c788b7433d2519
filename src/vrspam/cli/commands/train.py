"""`vrspam train`: from a file to a model file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vrspam._utils.extras import require
from vrspam.cli import errors, options, output
from vrspam.cli.files import check_output
from vrspam.tool.options import PAGE, PANELS
from vrspam.tool.plan import OPTIONS, options_of

if TYPE_CHECKING:
    from vrspam.tool import Model


@options.with_options(*options_of("train"), panels=PANELS)
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
        ),
    ] = None,
    as_json: options.AsJson = False,
    **given: Any,
) -> None:
    """Train a model on a file and write it to a model file.

    Text columns become categories, and all features are standardised.
    Text that is numbers is read as numbers, and dates become features.
    Cross-validation compares seven kinds of models, blends the best, and chooses penalties.
    Columns that look like identifiers are left out.
    Warnings say what looks wrong with the data.

    Example:  vrspam train patients.csv --target sick --positive yes --model patients.json

    Example:  vrspam train patients.csv --target sick --html report.html

    Example:  vrspam train patients.csv --target sick --features additive

    Example:  vrspam train patients.csv --target sick --max-fpr 0.1

    Example:  vrspam train visits.xlsx --target readmitted --groups patient

    Example:  vrspam train trial.csv --target months --event died

    Example:  vrspam train clicks.csv --target clicked --within query

    Example:  vrspam train "part-*.parquet" --target churned --l1 auto --drop signup,notes

    Example:  vrspam train clicks.libsvm.gz --zero-based --streaming --model clicks.json
    """
    require("data", "pyarrow")
    check_output("--model", model, data)
    check_output("--html", html, data, model)
    if html is None:
        for name, option in OPTIONS.items():
            source = context.get_parameter_source(name)
            if option.panel == PAGE and source is not None and source.name == "COMMANDLINE":
                raise errors.Misuse(f"{option.flag} is about the report: name its file with --html")
    plan = options.plan_of(data, given)
    from vrspam.model.file import save_model
    from vrspam.tool.training import fit_file

    with output.warnings_as_lines():
        if html is None:
            trained, opened, *_ = fit_file(data, plan)
            save_model(trained, model, opened.first_rows())
        else:
            from vrspam.tool.report import make_report

            found = make_report(data, plan=replace(plan, rows=0) if plan.private else plan)
            trained = found.model
            save_model(trained, model)
            from vrspam.cli.commands.report import write_report

            write_report(found, html, data, context)
    if as_json:
        from vrspam.report.words.auc import expected_auc
        from vrspam.report.words.names import name_measure

        notes = trained.training["warnings"]
        doubts = output.worries(expected_auc(trained), notes, name_measure(trained.outcome))
        chosen = None if trained.threshold is None else vars(trained.threshold)
        facts = {"threshold": chosen, **trained.training, "warnings": doubts, "findings": output.findings(notes)}
        output.print_json({"model": str(model), "positive": trained.positive, **facts})
    else:
        _describe(trained, model)
        if html is not None:
            output.say(f"report               {html}")


def _describe(model: Model, path: Path) -> None:
    from vrspam._utils.texts import auc_text, interval_text
    from vrspam.model.effects import find_strongest
    from vrspam.report.words.auc import NOT_CORRECTED, describe_auc, expected_auc, other_aucs
    from vrspam.report.words.model import describe_size
    from vrspam.report.words.names import class_names, describe_balance, name_measure
    from vrspam.report.words.training import describe_candidate, describe_result, describe_rows_held, training_facts

    facts = model.training
    expected = expected_auc(model)
    output.show_worries(expected, facts["warnings"], name_measure(model.outcome))
    shown = [("rows", describe_balance(model.outcome, facts["rows"], facts["positives"]))]
    if expected is not None:
        interval = f"95 % interval {interval_text(expected.low, expected.high, 4)} ({facts['folds']} folds)"
        meaning = describe_auc(expected.auc, class_names(model.outcome) if model.ranks else None)
        shown.append((f"{name_measure(model.outcome)} to expect", f"{auc_text(expected.auc, 4)}, {interval}"))
        shown += [("", expected.remark), ("", meaning)]
        shown += other_aucs(model).items()
    if "max_fpr" in facts:
        interval = interval_text(facts["cv_partial_auc_low"], facts["cv_partial_auc_high"], 4)
        interval += f" (up to {100 * facts['max_fpr']:g} % false positives, standardised)"
        shown.append(("partial AUC", f"{auc_text(facts['cv_partial_auc'], 4)}, 95 % interval {interval}"))
        shown.append(("", NOT_CORRECTED))
    told = training_facts(model)
    shown += [(name, told[name]) for name in ("threshold", "model", "loss", "penalty", "fit") if name in told]
    output.show_facts(shown)
    output.say("")
    what = "features" if model.is_linear else "columns"
    output.tell(f"strongest {what}: {describe_size(model)}")
    sign = "+" if model.shapes is None else ""
    found = find_strongest(model, 10)
    output.show_table([what[:-1], "size"], [[feature, f"{effect:{sign}.4f}"] for feature, effect in found], margin=2)
    if len(facts["selection"]) > 1:
        measure = "partial AUC" if "max_fpr" in facts else name_measure(model.outcome)
        output.say("")
        output.tell(f"models compared: mean {measure} of the folds ± standard error")
        candidates = [(describe_candidate(row["features"]), row) for row in facts["selection"]]
        rows = [[name, *describe_result(row, facts["rows"])] for name, row in candidates]
        output.show_table(["model", measure, "taken"], rows, texts=(0, 2), margin=2)
    output.say("")
    written = [("written to", str(path))]
    if facts["rows_held"]:
        written.append(("", describe_rows_held(facts["rows_held"])))
    output.show_facts(written)
